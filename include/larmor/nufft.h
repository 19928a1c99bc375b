/* The non-uniform fast Fourier transform. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_NUFFT_H
#define LARMOR_NUFFT_H

#include "larmor/op.h"

LARMOR_C_BEGIN

typedef struct larmor_nufft larmor_nufft; /* a plan; calls from several threads take turns */

/* In what order modes lie in memory, in each dimension. */
typedef enum larmor_mode_order {
    LARMOR_MODES_CENTRED, /* -floor(N/2) first, 0 at index floor(N/2) */
    LARMOR_MODES_FFT      /* 0 first, then upwards, the negative ones last: the order of an FFT's output */
} larmor_mode_order;

/* How a GPU spreads and interpolates. A processor has a single method, AUTO. */
typedef enum larmor_nufft_method {
    LARMOR_NUFFT_AUTO,
    LARMOR_NUFFT_GM,      /* a point adds to the grid, in the points' own order */
    LARMOR_NUFFT_GM_SORT, /* the same, in an order that keeps neighbours together */
    LARMOR_NUFFT_SM,   /* a tile of the grid in shared memory serves some points; spreading adds to it by atomics */
    LARMOR_NUFFT_OWNER /* in spreading every thread owns a column of the tile; interpolation is that of SM */
} larmor_nufft_method;

/* Whether points are sorted into the order of the grid.
 * OFF: a GPU keeps the caller's order (method GM), which pays for points that are in a good order already.
 * AUTO: a GPU keeps the caller's order for 1D type 2 alone.
 * A processor decides by itself and refuses OFF. */
typedef enum larmor_nufft_sort {
    LARMOR_NUFFT_SORT_AUTO,
    LARMOR_NUFFT_SORT_ON,
    LARMOR_NUFFT_SORT_OFF
} larmor_nufft_sort;

/* How much work set_points puts into choosing the grid, the window and the method. What is explicit in the options is
 * never changed, and tol is kept by whatever is chosen; docs/reference/planner.md. */
typedef enum larmor_plan_effort {
    LARMOR_PLAN_ESTIMATE,  /* by a model of the device: nothing is timed, the same request gives the same plan */
    LARMOR_PLAN_MEASURE,   /* by timing the model's best few on these points, for about three seconds at most */
    LARMOR_PLAN_EXHAUSTIVE /* by timing all grids, widths, methods, tiles and batch sizes; seconds to a minute */
} larmor_plan_effort;

/* What set_points makes once so that every execute does less. The forms differ in rounding only. */
typedef enum larmor_precompute {
    LARMOR_PRECOMPUTE_AUTO,    /* none, unless the effort is to time and precompute_memory is given: then the quickest
                                  of all within that memory */
    LARMOR_PRECOMPUTE_NONE,    /* the window's values are computed in every execute */
    LARMOR_PRECOMPUTE_PARTIAL, /* they are stored: ndim * width numbers for each point */
    LARMOR_PRECOMPUTE_FULL /* the sparse matrix from cells to points, of width^ndim numbers for each point, and its
                                  transpose: no sums are shared by threads, and all transforms of a pass share them */
} larmor_precompute;

/* Zero means default in every field but type, ndim and modes. A struct that is larger than this version's is
 * refused if it sets what this version does not know. */
typedef struct larmor_nufft_opts {
    size_t size; /* sizeof(larmor_nufft_opts) where the caller was compiled: what a later version adds is then its
                         default; 0: that of this version */
    int type;    /* what larmor_nufft_execute does: 1 points to modes, 2 modes to points, 3 points to targets */
    int ndim;    /* 1, 2 or 3 */
    int64_t modes[3]; /* N in each dimension; N >= 1; not looked at for type 3 */
    int64_t batch;    /* transforms over the same points; default 1 */
    int sign;         /* of the exponent in execute: -1 or +1; default -1 for type 2, +1 for types 1 and 3 */
    double tol;       /* relative l2 error asked for; default 1e-5 */
    double upsample;  /* fine grid / modes, 1.15 .. 2.5 (the grid is rounded up to a good FFT size); default: chosen;
                         for type 3 of both grids */
    int64_t grid[3];  /* instead of upsample the sides of the fine grid: products of 2, 3, 5 and 7 from 1.15 to about
                         2.6 of the modes (docs/reference/nufft.md); types 1 and 2; default: chosen */
    int width;        /* of the window, 2 .. 16 cells; types 1 and 2; default: chosen */
    larmor_dtype dtype; /* LARMOR_C64 or LARMOR_C128 of the values. The zero value LARMOR_F32 means LARMOR_C64, and
                           LARMOR_F64 means LARMOR_C128 */
    larmor_mode_order mode_order; /* types 1 and 2; default centred */
    int spread_only; /* 1: no FFT and no deconvolution; the modes are then the grid itself, see larmor_nufft_create */
    int threads;     /* of a processor, at most the device's; default: the device's */
    int64_t max_batch;            /* most transforms that share a pass, and its memory; default: chosen */
    larmor_nufft_method method;   /* default: chosen */
    larmor_nufft_sort sort;       /* default: chosen */
    int tiles;                    /* the shape of the tiles that points are sorted into, one of three: 1 .. 3, see
                                     docs/reference/nufft.md; default: 1, unless effort is to time them */
    larmor_precompute precompute; /* types 1 and 2; default: chosen */
    int64_t precompute_memory;    /* most bytes for it; default: half of what the device has free for a form that is
                                     asked for, and none for one that is chosen */
    larmor_plan_effort effort;    /* spread_only is always estimated */
    int both_directions; /* 1: the plan is chosen for execute and execute_adjoint; default: for execute alone */
} larmor_nufft_opts;

/* Make a plan: check the options and that tol can be kept. Memory is taken by larmor_nufft_set_points.
 *
 * Definition, with r_i = i - floor(N/2) for mode i in each dimension and points k in cycles per field of view:
 *   type 2  y_j = sum_r x_r exp(sign 2 pi i k_j . r / N)        type 1  x_r = sum_j y_j exp(sign 2 pi i k_j . r / N)
 * and with points x in any unit and targets s in cycles per that unit:
 *   type 3  f_k = sum_j c_j exp(sign 2 pi i s_k . x_j)
 * In other words the points of FINUFFT's convention are 2 pi k / N, and for type 3 its targets are 2 pi s.
 *
 * With spread_only the grid is exactly `modes` large, N >= twice the window's width, and cell i sits at k = r_i:
 *   type 1  x_r = sum_j y_j w(r - k_j)        type 2  y_j = sum_r x_r w(r - k_j)
 * Differences are modulo N, and w is a product over the dimensions of the window for tol at `upsample` (default 2),
 * with the least width that keeps tol or the one that is asked for, 1 in its centre.
 *
 * Errors  LARMOR_ERR_ARG for values out of range or that exclude each other; LARMOR_ERR_NUMERIC if the window cannot
 *         reach tol in this precision, or on the grid or with the width that is asked for (the message says what it
 *         can reach); LARMOR_ERR_MEMORY; LARMOR_ERR_UNSUPPORTED for an option that the device lacks.
 * Source  Dutt and Rokhlin, SIAM J. Sci. Comput. 14, 1368 (1993); Barnett, Magland, af Klinteberg, SIAM J. Sci.
 *         Comput. 41, C479 (2019); window: Slepian and Pollak, Bell Syst. Tech. J. 40, 43 (1961); type 3: Lee and
 *         Greengard, J. Comput. Phys. 206, 1 (2005). */
LARMOR_API larmor_status larmor_nufft_create(larmor_device *dev, const larmor_nufft_opts *opts, larmor_nufft **plan);

/* The least tol that larmor_nufft_create takes with otherwise these options, on a grid or with a width if these are
 * asked for. Of type 3 it is that for points and targets whose widths multiply to 16; larger widths have a larger
 * one.
 *
 * Errors  LARMOR_ERR_ARG and LARMOR_ERR_UNSUPPORTED, those of larmor_nufft_create; LARMOR_ERR_NUMERIC if there is no
 *         such tol below 1. */
LARMOR_API larmor_status larmor_nufft_least_tol(const larmor_device *dev, const larmor_nufft_opts *opts, double *tol);

/* Choose the grid for so many points (see larmor_plan_effort) and set them. They are copied and sorted, so the array
 * may be freed. May be called again with other points. A call that fails leaves the plan as it was.
 *
 * points   [ndim, ...] f32 or f64 (whatever the plan's precision). m = product of the other dimensions; m = 0 is
 *          legal. Types 1 and 2: cycles per field of view, any finite value: folded to the period N.
 * targets  NULL for types 1 and 2. Type 3: [ndim, ...] f32 or f64, n of them, n = 0 is legal.
 *
 * Type 3 makes its grids here. They have about upsample^2 A B cells in each dimension, where A is the width of the
 * points (largest minus least) and B that of the targets. Distance from the origin costs nothing; distance between
 * the points, or between the targets, does.
 *
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for a NaN or infinite point (its index is named); LARMOR_ERR_MEMORY,
 *          for type 3 also before anything is allocated, with the grid that would be needed, and for a precomputed
 *          form that passes its limit, with its bytes. */
LARMOR_API larmor_status larmor_nufft_set_points(larmor_nufft *plan, const larmor_array *points,
                                                 const larmor_array *targets);

/* Points for larmor_nufft_set_points of coordinates that a program keeps apart, such as x, y and z.
 *
 * ndim         1, 2 or 3.
 * coordinates  [ndim] arrays of m elements each, all f32 or all f64, on one device.
 * scale        [ndim] factors: N / (2 pi) makes cycles per field of view of radians; NULL: 1.
 * points       becomes a new array [ndim, m] f64 on that device.
 * Errors       LARMOR_ERR_ARG; LARMOR_ERR_SHAPE for arrays that differ; LARMOR_ERR_MEMORY; LARMOR_ERR_UNSUPPORTED. */
LARMOR_API larmor_status larmor_nufft_join_coordinates(int ndim, const larmor_array *const *coordinates,
                                                       const double *scale, larmor_array **points);

/* larmor_nufft_set_points, for types 1 and 2, of coordinates that a program keeps apart: the same points as those of
 * larmor_nufft_join_coordinates, and the same results. A processor reads them where they lie, which takes half the
 * time and no memory; other devices, plans that are timed and plans without FFT join them first.
 *
 * coordinates  [ndim] arrays of m elements each, all f32 or all f64, on the plan's device. They may be freed then.
 * scale        [ndim] factors, as for larmor_nufft_join_coordinates; NULL: 1.
 * Errors       LARMOR_ERR_ARG, for a plan of type 3, too; otherwise those of larmor_nufft_join_coordinates and
 *              larmor_nufft_set_points. */
LARMOR_API larmor_status larmor_nufft_set_coordinates(larmor_nufft *plan, const larmor_array *const *coordinates,
                                                      const double *scale);

/* larmor_nufft_set_points, for types 1 and 2, of points whose coordinates are in another order or unit, such as those
 * of a row-major array of radians. A processor reads them where they lie; other devices, plans that are timed and
 * plans without FFT copy them first.
 *
 * points  as of larmor_nufft_set_points: [ndim, ...] f32 or f64 on the plan's device.
 * order   [ndim]: coordinate d is number order[d] of a point; NULL: as they are.
 * scale   [ndim] factors of the coordinates; NULL: 1.
 * Errors  LARMOR_ERR_ARG, for a plan of type 3, too, and those of larmor_nufft_set_points. */
LARMOR_API larmor_status larmor_nufft_set_columns(larmor_nufft *plan, const larmor_array *points, const int *order,
                                                  const double *scale);

/* Run the plan: type 1 from values to modes, type 2 from modes to values, type 3 from values to values at the
 * targets; the input is not changed. On a GPU nothing is allocated and nothing waited for.
 *
 * values   count m * batch, points fastest.
 * modes    count prod(modes) * batch, the first mode dimension fastest, from -floor(N/2) up (or in FFT order).
 * targets  values there: count n * batch, targets fastest.
 * Errors   LARMOR_ERR_ARG before set_points; LARMOR_ERR_SHAPE if counts, dtype or device differ from the plan's. */
LARMOR_API larmor_status larmor_nufft_execute(larmor_nufft *plan, const larmor_array *in, larmor_array *out);

/* The exact conjugate transpose of larmor_nufft_execute, from the same plan. */
LARMOR_API larmor_status larmor_nufft_execute_adjoint(larmor_nufft *plan, const larmor_array *in, larmor_array *out);

/* Where a plan's grid comes from. */
typedef enum larmor_plan_source {
    LARMOR_PLAN_BY_MODEL,       /* from the model, for the number of points */
    LARMOR_PLAN_BY_MEASUREMENT, /* timed by this set_points */
    LARMOR_PLAN_BY_WISDOM       /* timed before */
} larmor_plan_source;

/* What was chosen. What depends on the points is 0 before they are set: all grids of type 3, and methods. */
typedef struct larmor_nufft_info {
    int64_t grid[3];        /* the fine grid, for type 3 that of the points */
    int width;              /* of its window, in cells */
    double upsample, error; /* the least of the dimensions; the relative l2 error that is expected */
    int64_t inner_grid[3];  /* type 3: the fine grid of the type 2 inside; else 0 */
    int inner_width;
    int64_t per_pass;                                 /* transforms of a batch that share a pass */
    int threads;                                      /* of a processor; 0 elsewhere */
    int tiles;                                        /* their shape, 1 .. 3 */
    larmor_nufft_method spread_method, interp_method; /* AUTO where there is only one */
    larmor_precompute precompute;                     /* never AUTO */
    int64_t precompute_bytes;                         /* of device memory; 0 before the points are set */
    larmor_plan_source source;
    double seconds; /* of an execute: as predicted by the model, or as timed; 0 for type 3 that was not timed */
    int tried;      /* plans that were timed */
} larmor_nufft_info;
LARMOR_API larmor_nufft_info larmor_nufft_describe(const larmor_nufft *plan); /* of NULL: all 0 */

/* Bytes of device memory that a plan with so many points takes at most, from create to free, without its inputs and
 * outputs. An estimate from above, before anything is made; opts as for create.
 *
 * points   how many. Type 3: points and targets together, and opts->modes[d] is the product of their widths along d,
 *          rounded up.
 * Errors   LARMOR_ERR_ARG and LARMOR_ERR_NUMERIC, those of larmor_nufft_create. */
LARMOR_API larmor_status larmor_nufft_memory(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                             int64_t *bytes);

/* NULL is fine. */
LARMOR_API void larmor_nufft_free(larmor_nufft *plan);

/* The NUFFT as an operator: forward is type 2 (image to k-space, sign -1 by default), adjoint its conjugate
 * transpose.
 *
 * opts    type is ignored; ndim, modes, batch, tol, ... as above.
 * traj    [nd, samples, readouts] or [nd, m], f32 or f64, cycles per field of view.
 * A       [modes..., batch] to [samples, readouts, batch] (or [m, batch]); batch dimension absent if opts.batch is 0.
 * Errors  those of create and set_points. */
LARMOR_API larmor_status larmor_op_nufft(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                         larmor_op **A);

/* The same of voxels that are not where the grid has them: y(k) = sum_r x(r) exp(-2 pi i k.(r + d(r)) / N), by one
 * type 3 from the displaced voxels to k-space, whatever the displacement.
 *
 * Distortion by non-linear gradients and motion that is not rigid are of this form, where an image could be warped
 * after it has been made only if its coils were not folded and its samples were of one state.
 *
 * opts          as for larmor_op_nufft; upsample is that of both grids. grid and width are not for type 3.
 * displacement  real [modes..., ndim], in voxels; a voxel whose gradients are exact has 0. Finite, and
 *               along no axis above the image's voxels; copied.
 * A             shapes of larmor_op_nufft; its normal map is the adjoint after the forward map.
 * Errors        those of larmor_op_nufft; LARMOR_ERR_SHAPE and LARMOR_ERR_ARG for the displacement,
 *               LARMOR_ERR_NUMERIC where it is not finite.
 * Source        Tao et al., Med. Phys. 42, 7190 (2015), by type 1 and cubic grids; type 3: larmor_nufft_create. */
LARMOR_API larmor_status larmor_op_nufft_displaced(larmor_device *dev, const larmor_nufft_opts *opts,
                                                   const larmor_array *traj, const larmor_array *displacement,
                                                   larmor_op **A);

/* ---- the planner's memory ---- */

/* What larmor_wisdom_load found in a file. */
typedef struct larmor_wisdom_report {
    int found;           /* 1: there was a file */
    int used;            /* lines taken */
    int foreign_device;  /* lines left out, for another device or number of threads */
    int foreign_version; /* for another version of the file's format */
    int corrupt;         /* lines that are no wisdom; the rest of a file of more than 4 MiB counts as one */
} larmor_wisdom_report;

/* Wisdom is what MEASURE and EXHAUSTIVE found for types 1 and 2, and the calibration. It lives in the device's
 * handle: plans made on it look there first and add to it. Nothing is loaded or saved unless asked for.
 *
 * path    NULL: $XDG_CACHE_HOME/larmor/wisdom, or $HOME/.cache/larmor/wisdom; a missing file is no error.
 * report  may be NULL. Lines that cannot be used are left out, and counted here.
 * Errors  LARMOR_ERR_IO if the file cannot be read or is no regular file; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_wisdom_load(larmor_device *dev, const char *path, larmor_wisdom_report *report);

/* Write wisdom to a file, completely or not at all. What the file has about other devices stays. With path NULL
 * folders are made.
 *
 * Errors  LARMOR_ERR_IO; LARMOR_ERR_EXISTS for a folder or link; LARMOR_ERR_ARG if path is NULL and neither variable
 *         is set. */
LARMOR_API larmor_status larmor_wisdom_save(larmor_device *dev, const char *path);

/* Forget all of it, the calibration too. */
LARMOR_API void larmor_wisdom_forget(larmor_device *dev);

/* Fit the model's constants to this device by timing small transforms, in less than two seconds on an idle one; they
 * become part of the wisdom.
 *
 * Errors  LARMOR_ERR_UNSUPPORTED, LARMOR_ERR_MEMORY, LARMOR_ERR_BACKEND. */
LARMOR_API larmor_status larmor_nufft_calibrate(larmor_device *dev);

/* ---- Toeplitz ---- */

/* N = F^H W F of larmor_op_nufft as one convolution: two FFTs on the grid doubled in each dimension and a product
 * with the real transform of the point spread function, whatever the number of samples.
 *
 * opts     as for larmor_op_nufft; tol is kept with respect to the exact sums.
 * weights  [samples...], f32 or f64, or NULL for 1; any sign.
 * N        in and out [modes..., batch] (batch dimension absent if opts.batch is 0); self-adjoint to rounding.
 * Errors   those of larmor_op_nufft; LARMOR_ERR_SHAPE if traj and weights disagree.
 * Source   Wajer and Pruessmann, Proc. ISMRM 9, 767 (2001); Fessler et al., IEEE Trans. Signal Process. 53, 3393
 *          (2005), section III. */
LARMOR_API larmor_status larmor_op_toeplitz(larmor_device *dev, const larmor_nufft_opts *opts,
                                            const larmor_array *traj, const larmor_array *weights, larmor_op **N);

/* The same for several images that share their samples: N_kl = F^H diag(w conj(b_k) b_l) F for factors b_k of each
 * sample, the normal map of x_0, x_1, ... to sum_k b_k .* F x_k. A matrix mixes the images' transforms at each
 * frequency of the doubled grid, so that each is transformed once.
 *
 * factors  [samples..., n], n up to 32; real ones take half of the work and memory of complex ones.
 * N        in and out [modes..., batch, n] (batch dimension absent if opts.batch is 0); self-adjoint to rounding.
 * Errors   those of larmor_op_toeplitz; LARMOR_ERR_ARG for a number of images out of range; LARMOR_ERR_SHAPE.
 * Source   Mani et al., Magn. Reson. Med. 73, 1835 (2015); Tamir et al., Magn. Reson. Med. 77, 180 (2017),
 *          appendix. */
LARMOR_API larmor_status larmor_op_toeplitz_mixed(larmor_device *dev, const larmor_nufft_opts *opts,
                                                  const larmor_array *traj, const larmor_array *weights,
                                                  const larmor_array *factors, larmor_op **N);

LARMOR_C_END
#endif
