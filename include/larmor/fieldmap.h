/* Maps of off-resonance from images of several echoes. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_FIELDMAP_H
#define LARMOR_FIELDMAP_H

#include "larmor/array.h"

LARMOR_C_BEGIN

typedef struct larmor_field_map_opts { /* zero means default */
    double smooth; /* voxels: where all of the object is equally bright, structure finer than about 2 pi of these is
                        * smoothed away; darker voxels are smoothed more; default 1.5; negative: hardly */
    double threshold;  /* magnitude of the object relative to its brightest part, 0 to 1; default 0.1 */
    double spacing[3]; /* distances of neighbours, of which only ratios matter; default 1 */
} larmor_field_map_opts;

typedef struct larmor_field_map_report {
    double object;      /* part of the voxels that are object */
    int regions;        /* that do not touch each other */
    int64_t wraps;      /* voxels of the object whose phase was unwrapped by other than 0 cycles */
    double low, high;   /* of the map within the object, Hz */
    double unambiguous; /* Hz; the map as a whole is known up to multiples of this, and is the one nearest to 0 */
    double residual;    /* root mean square of measured minus smoothed in the object, weighted, Hz */
} larmor_field_map_report;

/* The field map in Hz of echoes of one object, in the sign of larmor_op_off_resonance: a phase that rises from
 * echo to echo is a positive frequency.
 *
 * The pair of echoes that are closest in time gives frequencies up to a multiple of 1 over their distance; these
 * are unwrapped in space, in the order of how smooth the phase is around each voxel. With them further echoes are
 * unwrapped in time, and each voxel's frequency is the weighted least squares fit to all. The map minimises
 *
 *   sum_r w(r) (f(r) - measured(r))^2 + beta |second differences of f|^2 + beta / 64 |first differences of f|^2
 *
 * with w the inverse variance of the fit, 0 outside of the object, where f is so continued; it stays within the
 * range that it has inside. The images of an echo may have any phase of their own as long as all echoes share it:
 * coils are to be combined with the same maps.
 *
 * echoes   complex [nx, ny, E] or [nx, ny, nz, E], 2 <= E <= 64.
 * ndim     2 or 3.
 * seconds  [E] echo times, distinct and finite, in any order.
 * opts     may be NULL.
 * map      f32 [nx, ny(, nz)] on the echoes' device.
 * report   may be NULL.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite, and images without
 *          any object; LARMOR_ERR_MEMORY.
 * Source   unwrapping: Herraez et al., Appl. Opt. 41, 7437 (2002); in 3D Abdul-Rahman et al., Appl. Opt. 46, 6623
 *          (2007); regularised maps: Funai et al., IEEE Trans. Med. Imaging 27, 1484 (2008). */
LARMOR_API larmor_status larmor_field_map(const larmor_array *echoes, int ndim, const double *seconds,
                                          const larmor_field_map_opts *opts, larmor_array **map,
                                          larmor_field_map_report *report);

LARMOR_C_END
#endif
