"""larmor: images from non-Cartesian k-space. docs/python.md in larmor's sources is the manual.

Every shape is that of the C library in NumPy's order: images are [y, x] or [z, y, x], and the columns of trajectories
and points go with the axes of images, so they are (ky, kx) or (kz, ky, kx). SPDX-License-Identifier: Apache-2.0
"""

from larmor import linop, nufft, prox, solve
from larmor._arrays import Device, device, devices
from larmor._calibration import (
    aliasing,
    band_limit,
    basis,
    centre_phase,
    colouring,
    compare,
    compare_descriptions,
    compare_maps,
    compression,
    consistency,
    crop_readouts,
    delayed,
    delays,
    espirit,
    extent,
    field_map,
    girf,
    nlinv,
    noise_level,
    normalise,
    off_phase,
    predict_field_of_view,
    resize,
    whiten,
    whitening,
    write_scan,
)
from larmor._library import (
    ArgumentError,
    BackendError,
    Error,
    FileError,
    FormatError,
    NumericError,
    OutOfMemoryError,
    ShapeError,
    Stopped,
    UnsupportedError,
)
from larmor._library import version as __version__
from larmor._recon import (
    CoilMaps,
    FieldMaps,
    Finding,
    Reconstruction,
    ScanArrays,
    examine,
    field_maps,
    find_maps,
    plan,
    recon,
)
from larmor._scan import (
    Samples,
    Scan,
    Simulation,
    coil_maps,
    coverage,
    density,
    describe,
    is_cartesian,
    is_stack,
    phantom,
    phantom_coils,
    phantom_field_map,
    phantom_kspace,
    phantom_noise_level,
    phantoms,
    read,
    read_images,
    read_meta,
    read_traj,
    stack_images,
    traj,
    trajectories,
    write,
    write_images,
    write_traj,
)

__all__ = ["ArgumentError", "BackendError", "CoilMaps", "Device", "Error", "FieldMaps", "FileError", "Finding",
           "FormatError", "NumericError", "OutOfMemoryError", "Reconstruction", "Samples", "Scan", "ScanArrays",
           "ShapeError", "Simulation", "Stopped", "UnsupportedError", "__version__", "aliasing", "band_limit", "basis",
           "centre_phase", "coil_maps", "colouring", "compare", "compare_descriptions", "compare_maps", "compression",
           "consistency", "coverage", "crop_readouts", "delayed", "delays", "density", "describe", "device", "devices",
           "espirit", "examine", "extent", "field_map", "field_maps", "find_maps", "girf", "is_cartesian", "is_stack",
           "linop", "nlinv", "noise_level", "normalise", "nufft", "off_phase", "phantom", "phantom_coils",
           "phantom_field_map", "phantom_kspace", "phantom_noise_level", "phantoms", "plan", "predict_field_of_view",
           "prox", "read", "read_images", "read_meta", "read_traj", "recon", "resize", "solve", "stack_images", "traj",
           "trajectories", "whiten", "whitening", "write", "write_images", "write_scan", "write_traj"]
