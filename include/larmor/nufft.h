/* The non-uniform fast Fourier transform. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_NUFFT_H
#define LARMOR_NUFFT_H

#include "larmor/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larmor_nufft larmor_nufft; /* a plan; one thread at a time */

/* In what order modes lie in memory, in each dimension. */
typedef enum larmor_mode_order {
    LARMOR_MODES_CENTRED, /* -floor(N/2) first, 0 at index floor(N/2) */
    LARMOR_MODES_FFT      /* 0 first, then upwards, the negative ones last: the order of an FFT's output */
} larmor_mode_order;

/* How a GPU spreads and interpolates; a processor has one way, which it takes for AUTO. */
typedef enum larmor_nufft_method {
    LARMOR_NUFFT_AUTO,
    LARMOR_NUFFT_GM,      /* a point adds to the grid, in the points' own order */
    LARMOR_NUFFT_GM_SORT, /* the same, in an order that keeps neighbours together */
    LARMOR_NUFFT_SM,   /* a tile of the grid in shared memory serves some points; spreading adds to it by atomics */
    LARMOR_NUFFT_OWNER /* in spreading every thread owns a column of the tile; interpolation takes SM */
} larmor_nufft_method;

/* Whether points are brought into the order of the grid. Without, a GPU keeps the caller's order (method GM), which
 * pays for points that are in a good order already; a processor always sorts. */
typedef enum larmor_nufft_sort {
    LARMOR_NUFFT_SORT_AUTO,
    LARMOR_NUFFT_SORT_ON,
    LARMOR_NUFFT_SORT_OFF
} larmor_nufft_sort;

/* What set_points makes once so that every execute does less. The forms differ in rounding only. */
typedef enum larmor_precompute {
    LARMOR_PRECOMPUTE_AUTO,    /* none, unless it is known to be faster */
    LARMOR_PRECOMPUTE_NONE,    /* the window's values are computed in every execute */
    LARMOR_PRECOMPUTE_PARTIAL, /* they are stored: ndim * width numbers for each point */
    LARMOR_PRECOMPUTE_FULL /* the sparse matrix from cells to points, of width^ndim numbers for each point, and its
                                  transpose: no sums are shared by threads, and all transforms of a pass share them */
} larmor_precompute;

/* Zero means default in every field but type, ndim and modes. */
typedef struct larmor_nufft_opts {
    int type;         /* what larmor_nufft_execute does: 1 points to modes, 2 modes to points, 3 points to targets */
    int ndim;         /* 1, 2 or 3 */
    int64_t modes[3]; /* N in each dimension; N >= 1; not looked at for type 3 */
    int64_t batch;    /* transforms over the same points; default 1 */
    int sign;         /* of the exponent in execute: -1 or +1; default -1 for type 2, +1 for types 1 and 3 */
    double tol;       /* relative l2 error asked for; default 1e-5 */
    double upsample;  /* fine grid / modes, 1.15 .. 2.5 (the grid is rounded up to a good FFT size); default: chosen;
                         for type 3 of both grids */
    larmor_dtype dtype; /* LARMOR_C64 or LARMOR_C128 of the values. The zero value LARMOR_F32 means LARMOR_C64, and
                           LARMOR_F64 means LARMOR_C128 */
    larmor_mode_order mode_order; /* types 1 and 2; default centred */
    int spread_only; /* 1: no FFT and no deconvolution; the modes are then the grid itself, see larmor_nufft_create */
    int threads;     /* of a processor, at most the device's; default: the device's */
    int64_t max_batch;            /* most transforms that share a pass, and its memory; default: chosen */
    larmor_nufft_method method;   /* default: chosen */
    larmor_nufft_sort sort;       /* default: chosen */
    larmor_precompute precompute; /* types 1 and 2; default: chosen */
    int64_t precompute_memory;    /* most bytes for it; default: half of what the device has free */
} larmor_nufft_opts;

/* Make a plan: the window, its deconvolution factors, the FFT.
 *
 * Definition, with r_i = i - floor(N/2) for mode i in each dimension and points k in cycles per field of view:
 *   type 2  y_j = sum_r x_r exp(sign 2 pi i k_j . r / N)        type 1  x_r = sum_j y_j exp(sign 2 pi i k_j . r / N)
 * and with points x in any unit and targets s in cycles per that unit:
 *   type 3  f_k = sum_j c_j exp(sign 2 pi i s_k . x_j)
 * In other words the points of FINUFFT's convention are 2 pi k / N, and for type 3 its targets are 2 pi s.
 *
 * With spread_only the grid is exactly `modes` large, N >= twice the window's width, and cell i sits at k = r_i:
 *   type 1  x_r = sum_j y_j w(r - k_j)        type 2  y_j = sum_r x_r w(r - k_j)
 * Differences are modulo N, and w is a product over the dimensions of the window for tol at `upsample` (default 2), 1
 * in its centre.
 *
 * Errors  LARMOR_ERR_ARG for values out of range or that exclude each other; LARMOR_ERR_NUMERIC if the window cannot
 *         reach tol in this precision (the message says what it can reach); LARMOR_ERR_MEMORY;
 *         LARMOR_ERR_UNSUPPORTED for an option that the device lacks.
 * Source  Dutt and Rokhlin, SIAM J. Sci. Comput. 14, 1368 (1993); Barnett, Magland, af Klinteberg, SIAM J. Sci.
 *         Comput. 41, C479 (2019); window: Slepian and Pollak, Bell Syst. Tech. J. 40, 43 (1961); type 3: Lee and
 *         Greengard, J. Comput. Phys. 206, 1 (2005). */
LARMOR_API larmor_status larmor_nufft_create(larmor_device *dev, const larmor_nufft_opts *opts, larmor_nufft **plan);

/* Set the points; they are copied and sorted, so the array may be freed. May be called again with others. A call that
 * fails leaves the plan as it was.
 *
 * points   [ndim, ...] f32 or f64 (whatever the plan's precision). m = product of the other dimensions; m = 0 is
 *          legal. Types 1 and 2: cycles per field of view, any finite value: folded to the period N.
 * targets  NULL for types 1 and 2. Type 3: [ndim, ...] f32 or f64, n of them, n = 0 is legal.
 *
 * Type 3 makes its grids here. They have about upsample^2 A B cells in each dimension, where A is the width of the
 * points (largest minus least) and B that of the targets: what is far from the origin costs nothing, what is far
 * apart does.
 *
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for a NaN or infinite point (its index is named); LARMOR_ERR_MEMORY,
 *          for type 3 also before anything is allocated, with the grid that would be needed, and for a precomputed
 *          form that passes its limit, with its bytes. */
LARMOR_API larmor_status larmor_nufft_set_points(larmor_nufft *plan, const larmor_array *points,
                                                 const larmor_array *targets);

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

/* What the plan chose. What depends on the points is 0 before they are set: all grids of type 3, and methods. */
typedef struct larmor_nufft_info {
    int64_t grid[3];        /* the fine grid, for type 3 that of the points */
    int width;              /* of its window, in cells */
    double upsample, error; /* the least of the dimensions; the relative l2 error that is expected */
    int64_t inner_grid[3];  /* type 3: the fine grid of the type 2 inside; else 0 */
    int inner_width;
    int64_t together;                                 /* transforms of a batch that share a pass */
    int threads;                                      /* of a processor; 0 elsewhere */
    larmor_nufft_method spread_method, interp_method; /* AUTO where there is only one */
    larmor_precompute precompute;                     /* never AUTO */
    int64_t precompute_bytes;                         /* of device memory; 0 before the points are set */
} larmor_nufft_info;
LARMOR_API larmor_nufft_info larmor_nufft_describe(const larmor_nufft *plan);

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

/* Bytes of device memory that larmor_op_toeplitz takes at most, while it is made and after, without inputs and
 * outputs. An estimate from above, before anything is made. */
LARMOR_API larmor_status larmor_toeplitz_memory(const larmor_device *dev, const larmor_nufft_opts *opts,
                                                int64_t points, int64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
