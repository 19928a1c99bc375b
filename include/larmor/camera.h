/* Fields and gradients as they were measured: field cameras, thin slices, impulse responses. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_CAMERA_H
#define LARMOR_CAMERA_H

#include "larmor/array.h"
#include "larmor/physics.h"

LARMOR_C_BEGIN

/* ---- a field camera's log ---- */

typedef struct larmor_camera_opts { /* zero means default */
    int order;    /* of the solid harmonics, 1 to 3; default: the highest that the probes determine */
    int relative; /* 1: phases count from the first sample of each readout */
} larmor_camera_opts;

/* In rad, of a readout: with more, turns are not right, or the harmonics are not those of the field. That of noise is
 * far below, one turn of one of 16 probes leaves 1.5. */
#define LARMOR_CAMERA_RESIDUAL 0.3

typedef struct larmor_camera_report {
    int order;
    double residual;  /* root mean square of the phases that the harmonics do not explain, in rad; of as many probes
                       * as harmonics 0 */
    double largest;   /* the same of the readout that has most */
    double condition; /* of the harmonics at the probes, each scaled to 1: largest over smallest singular value */
    double deviation[LARMOR_HARMONICS]; /* of each coefficient, in rad/m^n, for noise of 1 rad in each phase */
} larmor_camera_report;

/* The phases of solid harmonics that a camera's probes have seen, by least squares.
 *
 * phase     [samples, readouts, probes]: real, the phases in rad of signals exp(-i phase), or complex, these signals.
 *           Whole turns from a sample to the next are taken off; of readouts of which the harmonics then leave more
 *           than LARMOR_CAMERA_RESIDUAL, by steps that resemble the one before, if that leaves less.
 * position  real [3, probes] of x, y, z in m, along the axes of larmor_recon_opts.phase_terms.
 * opts      may be NULL.
 * terms     f64 [samples, readouts, 9, or 16 of order 3], in rad/m^n as larmor_recon_opts.phase_terms takes them; 0
 *           beyond the order.
 * report    may be NULL.
 * Errors    LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for an order that so many probes at such places do not determine;
 *           LARMOR_ERR_NUMERIC for values that are not finite; LARMOR_ERR_MEMORY.
 * Source    Barmet, De Zanche, Pruessmann, Magn. Reson. Med. 60, 187 (2008). */
LARMOR_API larmor_status larmor_field_camera(const larmor_array *phase, const larmor_array *position,
                                             const larmor_camera_opts *opts, larmor_array **terms,
                                             larmor_camera_report *report);

/* The trajectory of the terms of first order.
 *
 * terms      real [samples, readouts, 4 or more] as above.
 * direction  [nd][3] of the image's axes along those of the positions; NULL: the same.
 * fov_m      [nd] the field of view in m.
 * nd         2 or 3.
 * traj       f64 [nd, samples, readouts], cycles per field of view.
 * Errors     LARMOR_ERR_SHAPE, LARMOR_ERR_ARG, LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_camera_traj(const larmor_array *terms, const double (*direction)[3],
                                            const double *fov_m, int nd, larmor_array **traj);

/* ---- impulse responses ---- */

typedef struct larmor_girf_opts { /* zero means default */
    double dwell_s;               /* from a sample to the next; needed */
    double resolution_hz; /* the response is that of frequencies up to so far away together; default: each alone */
    double least; /* of an axis' strongest input, as power: where it has less the response goes over to that of a
                   * perfect gradient; default 1e-4 */
} larmor_girf_opts;

typedef struct larmor_girf_report {
    double spacing_hz;   /* from one frequency to the next */
    double band_hz;      /* the highest up to which all axes have inputs */
    double residual;     /* what the response does not explain of the measured numbers in the band, relative */
    double deviation[3]; /* of the response to each axis, root mean square over the band, from the residuals; 0: not
                          * known, as there are no more pulses than axes */
} larmor_girf_report;

/* The impulse response of gradients from pulses that were asked for and what came of them.
 *
 * nominal   real [samples, pulses, axes] k of 1 to 3 axes, the integral of what was asked for, such as chirps or
 *           triangles, at rest at both ends. One axis is driven at a time, or pulses are as many as axes and differ.
 * measured  real [samples, pulses, axes or axes + 1] k that was measured, in the same unit: of thin slices at d and
 *           -d the difference of their phases over 2 d, or the terms of larmor_field_camera; gradients are at rest
 *           again at its end. A last one is the phase of order 0 in rad, of signals
 *           exp(-i phase), for which k has to be in 1/m.
 * response  c128 [frequencies, axes, axes asked for], as larmor_girf has it; frequencies to the end of the band.
 * b0        c128 [frequencies, axes asked for] of order 0, as larmor_girf_phase takes it; NULL: not wanted.
 * report    may be NULL.
 * Errors    LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for options out of range, and b0 without its measurement;
 *           LARMOR_ERR_NUMERIC for values that are not finite, and for axes that no pulse drives;
 *           LARMOR_ERR_MEMORY.
 * Source    Vannesjo et al., Magn. Reson. Med. 69, 583 (2013); thin slices: Duyn et al., J. Magn. Reson. 132, 150
 *           (1998). */
LARMOR_API larmor_status larmor_girf_measure(const larmor_array *nominal, const larmor_array *measured,
                                             const larmor_girf_opts *opts, larmor_array **response, larmor_array **b0,
                                             larmor_girf_report *report);

LARMOR_C_END
#endif
