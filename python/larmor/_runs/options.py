"""The options of larmor.recon by their types, made by scripts/python_options.py from the library's table.
SPDX-License-Identifier: Apache-2.0"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict


class ReconOptions(TypedDict, total=False):
    """What `larmor.recon` takes beside its own arguments; `larmor.settings` says more of each."""

    joint: bool | str
    iterations: int | str
    tol: float | str
    time_weight: float | str
    llr_block: int | str
    matrix: int | Sequence[int] | str
    fov_mm: float | Sequence[float] | str
    oversample: float | Sequence[float] | str
    maps_name: str
    no_maps: int
    b0: Any
    b0_name: str
    b0_place: Any
    b0_error: float | str
    segments: int | str
    t2star: Any
    t2star_name: str
    t2star_place: Any
    phase_terms: Any
    gradient_field: Any
    displacement: Any
    motion_fields: Any
    concomitant: Literal["auto", "on", "off"]
    field_tesla: float | str
    readout_start_ms: Any
    calibration: int | str
    no_whitening: Literal["auto", "off"] | bool | int
    compress: float | str
    delays: Literal["given", "off", "auto"]
    delay: Sequence[float]
    girf: Any
    girf_spacing_hz: float | str
    girf_b0: Any
    basis: Any
    coefficients: int | str
    basis_frames: Literal["coefficients", "frames"] | bool | int
    density: Literal["auto", "ramp", "pipe", "file", "none", "voronoi", "spiral", "stored"]
    weighted: bool | str
    keep_density: int
    eps: float | str
    effort: Literal["exhaustive", "measure", "estimate"]
    toeplitz: Literal["auto", "on", "off"] | bool | int
    precondition: Literal["auto", "circulant", "none"] | bool | int
    memory: int | str
    only: Any
    checkpoint_every: float | str
    maps_method: str
    map_sets: Literal["auto", "1", "2"] | bool | int
    crop: Literal["auto", "soft", "hard", "none", "noise", "default"]
    normalise: Literal["rss", "sum", "body"]
    keep_eigenvalues: int
    partial_fourier: Literal["auto", "homodyne", "pocs", "zero"]
    ranks: Any
    at_once: int | str
    compress_method: Literal["auto", "svd", "geometric"]
    scale: Literal["integral", "sum"]
    maps_place: Mapping[str, Any]
    no_ghost: Literal["auto", "off"] | bool | int
    repeatable: bool | str
    damping: float | str
    median: int | str
    reg: str | Sequence[str]
    constraint: str | Sequence[str]
    support: Any
    motion: Any
    prior_method: Literal["admm", "red", "fista"]
    prior_sigma: float | str
    motion_states: int | str
    bins: str
    gating: Literal["auto", "waveforms", "header", "self"]
    tick: float | str
    spokes_per_frame: int | str
    frame_time: float | str
    cardiac_phases: int | str
    frame_step: float | str
    frame_rest: Literal["drop", "join"]
    gate: int | str


HELP = """joint               flag: tv: the repetitions, phases and contrasts of a slice as one series, with
                            differences in time; llr always does so
        iterations          integer: most iterations (default: of cg 1000, more without a preconditioner; they end
                            earlier, where others would change the image by little of its noise)
        tol                 number: where to stop: for cg the relative residual, else the relative change of the
                            image; 0: at rounding (default: where the error is small relative to the noise of the
                            image)
        time_weight         number: tv joint: weight of a difference in time relative to one in space (default:
                            chosen from the data where lambda is, else 4)
        llr_block           integer: llr and clear: side of the blocks in voxels (default: 8, of clear 3)
        matrix              sizes: voxels of the image; X alone: for all axes that are as long as x in the header
                            (default: the header's)
        fov_mm              numbers: field of view of the image in mm; X alone: for all axes that are as long as x
                            in the header (default: the header's); in mm
        oversample          numbers: reconstruct on a field of view this many times the encoded one or the image's,
                            then crop; one number: for all axes (default: 1, or more if the object is larger)
        maps_name           what messages call maps
        no_maps             as maps=False
        b0                  array: off-resonance in Hz, [image...] or of all slices
        b0_name             what messages call b0
        b0_place            members of larmor_image_meta: where b0 is; default: it covers the image's field of view
        b0_error            number: most error of the phases of off-resonance, which sets the number of time
                            segments; default 1e-3
        segments            integer: time segments of off-resonance (default: the least that keep b0_error)
        t2star              array: T2* in ms, a map as b0
        t2star_name         what messages call t2star
        t2star_place        as b0_place
        phase_terms         array: phases of a field camera in rad, [9 or 16, readouts, samples]; or text, of paths:
                            trajectory, those in its rows, as of larmor.Scan
        gradient_field      array of larmor.gradient_field: what gradients that are not linear displace
        displacement        array: mm along the image's axes, [3 or 2, image...]
        motion_fields       array: of each frame a displacement in mm, [frames, 3 or 2, image...]
        concomitant         auto, on, off: phases of concomitant fields in the model; auto: as the samples decide,
                            where they are above 0.1 rad, of stored trajectories; default auto
        field_tesla         number: of the magnet, for concomitant (default: the header's); in T
        readout_start_ms    number: when a readout's first sample is taken, in ms after the image has its phase
        calibration         integer: side of the centre of k-space that gives the maps (default: 32); in samples of
                            1/FOV
        no_whitening        auto, off: use the scan's noise readouts to whiten the coils, if it has any; default
                            auto
        compress            virtual coils in the place of the coils: their number, or below 1 the part of the
                            signal's energy that they keep; auto: above 12 coils, 0.999999; off: none; default auto
        delays              gradient delays: given, off, auto; default auto
        delay               six numbers: delays that are given, in samples
        girf                array: impulse response of the gradients along x, y and z of the patient
        girf_spacing_hz     number: from one frequency of girf to the next; in Hz
        girf_b0             array: that of order 0 in rad m, [axes, frequencies]
        basis               array: functions of time, [coefficients, frames]
        coefficients        integer: coefficients: the first ones of basis, or those of a dictionary that hold most
                            of its energy (default: all, or as many as hold 0.9999 of it)
        basis_frames        coefficients, frames: write the coefficients, or the frames that they give; default
                            coefficients
        density             auto, ramp, pipe, file, none, voronoi, spiral: density compensation for grid and
                            weighted; auto: ramp for straight readouts where it is good, else pipe; larmor dcf says
                            what the others are; default auto
        weighted            flag: weight the data by density in the iterative methods, too: fewer iterations, more
                            noise
        keep_density        flag: the result has the density weights
        eps                 number: accuracy of the NUFFT; below 1e-6 everything is in double precision (default:
                            1e-5)
        effort              of the NUFFT's planner: exhaustive, measure, estimate; default estimate
        toeplitz            auto, on, off: iterate by FFTs of the doubled grid instead of NUFFTs; auto: where that
                            is quicker and fits; default auto
        precondition        auto, circulant, none: precondition the iterations: circulant, by the matrix nearest to
                            A^H A that an FFT inverts; auto: where it fits; default auto
        memory              bytes: most memory to use on the device, e.g. 512M or 8G: coils are done in blocks that
                            fit (default: what is free); in bytes
        only                members of larmor_counters: images of these counters alone, as {"slice": 0}
        checkpoint_every    number: from one checkpoint to the next, at least; 0: after each step; in s; default 60
        maps_method         how maps are found; auto: by what suits the data; default auto
        map_sets            auto, 1, 2: espirit, nlinv: sets of maps; a second one takes what folds within the field
                            of view; auto: 2 if it folds; default auto
        crop                auto, soft, hard, none, noise: espirit: maps where the eigenvalue shows no signal: soft
                            (weighted down), hard (zero), none (as elsewhere) or noise (zero where the calibration
                            region shows noise alone, too); auto: noise for samples on a grid, else none; default
                            auto
        normalise           rss, sum, body: shading that stays in the image: rss (that of the root sum of squares of
                            the coils), sum (that of the sum of magnitudes, flatter beside near coils) or body (that
                            of the coils' dominant combination); default rss
        keep_eigenvalues    flag: the result has the eigenvalues of espirit's maps
        partial_fourier     auto, homodyne, pocs, zero: Cartesian k-space with less on one side of its centre:
                            homodyne, the image has the centre's phase; pocs, what is missing has; zero, nothing is
                            filled in; auto: by how smooth the phase is; default auto
        ranks               of MPI, in C alone
        at_once             integer: the most images, or series, that a device computes at the same time; 1: one
                            after the other (default: as many as keep a processor's threads busy, or 4 on a GPU, and
                            fit into half of the memory)
        compress_method     auto, svd, geometric: svd, one matrix; geometric, one for each place along fully sampled
                            Cartesian readouts; auto: geometric where that needs fewer coils; default auto
        scale               integral, sum: k-space of an image is its Fourier integral over the field of view, or
                            the sum over its voxels; default integral
        maps_place          as b0_place, of maps
        no_ghost            auto, off: phase and shift between lines of both directions of echo-planar scans: auto
                            (corrected, by navigators and by the image with the least ghost), off; default auto
        repeatable          flag: the same bits whenever this is run on the same kind of device with the same
                            memory, which decides what fits; a GPU takes more time and memory for it
        damping             number: nlinv: of the frame before, which the next one is held to (default: 0.9)
        median              integer: nlinv: images are the median of so many frames, the last one among them
                            (default: 1); in frames
        reg                 list: a penalty of the image; given several times, their sum, as method lists it
        constraint          list: what images are held to, by cg and by penalties: nonnegative; real; support:FILE,
                            zero outside of a mask; box:LOW,HIGH, real and between bounds; several times: all of
                            them
        support             array: a mask; images are 0 outside of it
        motion              poses [readouts, 6] in mm and degrees, or rows [rows, 7] from a readout on
        prior_method        admm, red: how prior and the samples are brought together; default admm
        prior_sigma         number: what prior is told of the noise: in units of that in the image by cg (default:
                            1)
        motion_states       integer: the object moves as a whole, and its poses in N groups of readouts that follow
                            one another are found from the samples (default: none)
        bins                text: images by heart, breath and time, as heart:20,breath:4
        gating              auto, waveforms, header, self: of bins, what rests on the file's waveforms, its stamps
                            or its samples; default auto
        tick                number: a tick of the stamps in ms, of bins and frames by time; default 2.5
        spokes_per_frame    integer: frames of so many readouts, as frames={'spokes': N}
        frame_time          number: frames of so many ms
        cardiac_phases      integer: frames of the cardiac cycle, by the physiology stamps
        frame_step          number: from the start of a frame to that of the next, in readouts or ms
        frame_rest          drop, join: readouts after the last whole frame; default drop
        gate                integer: the physiology stamp with the time since the trigger, 0 to 2; default 0
"""
