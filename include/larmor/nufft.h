/* The non-uniform fast Fourier transform. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_NUFFT_H
#define LARMOR_NUFFT_H

#include "larmor/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct larmor_nufft larmor_nufft; /* a plan; one thread at a time */

/* Zero means default in every field but type, ndim and modes. */
typedef struct larmor_nufft_opts {
    int type;         /* what larmor_nufft_execute does: 1 points to modes, 2 modes to points */
    int ndim;         /* 1, 2 or 3 */
    int64_t modes[3]; /* N in each dimension; N >= 1 */
    int64_t batch;    /* transforms over the same points; default 1 */
    int sign;         /* of the exponent in execute: -1 or +1; default -1 for type 2, +1 for type 1 */
    double tol;       /* relative l2 error asked for; default 1e-5 */
    double upsample; /* fine grid / modes, 1.15 .. 2.5 (the grid is rounded up to a good FFT size); default: chosen */
    larmor_dtype dtype; /* LARMOR_C64 or LARMOR_C128 of the values. The zero value LARMOR_F32 means LARMOR_C64, and
                           LARMOR_F64 means LARMOR_C128 */
} larmor_nufft_opts;

/* Make a plan: the window, its deconvolution factors, the FFT.
 *
 * Definition, with r_i = i - floor(N/2) for mode i in each dimension and points k in cycles per field of view:
 *   type 2  y_j = sum_r x_r exp(sign 2 pi i k_j . r / N)        type 1  x_r = sum_j y_j exp(sign 2 pi i k_j . r / N)
 * In other words the points of FINUFFT's convention are 2 pi k / N.
 * Errors  LARMOR_ERR_ARG for values out of range; LARMOR_ERR_NUMERIC if the window cannot reach tol in this precision
 *         (the message says what it can reach); LARMOR_ERR_MEMORY; LARMOR_ERR_UNSUPPORTED for type 3.
 * Source  Dutt and Rokhlin, SIAM J. Sci. Comput. 14, 1368 (1993); Barnett, Magland, af Klinteberg, SIAM J. Sci.
 *         Comput. 41, C479 (2019); window: Slepian and Pollak, Bell Syst. Tech. J. 40, 43 (1961). */
LARMOR_API larmor_status larmor_nufft_create(larmor_device *dev, const larmor_nufft_opts *opts, larmor_nufft **plan);

/* Set the points; they are copied and sorted, so the array may be freed.
 *
 * points   [ndim, ...] f32 or f64 (whatever the plan's precision), cycles per field of view, any finite value: folded
 *          to the period N. m = product of the other dimensions; m = 0 is legal.
 * targets  NULL (type 3 only).
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for a NaN or infinite point (its index is named); LARMOR_ERR_MEMORY.
 */
LARMOR_API larmor_status larmor_nufft_set_points(larmor_nufft *plan, const larmor_array *points,
                                                 const larmor_array *targets);

/* Run the plan: type 1 from values to modes, type 2 from modes to values; the input is not changed.
 *
 * values   count m * batch, points fastest. modes  count prod(modes) * batch, first mode dimension fastest, from -N/2
 * up. Errors   LARMOR_ERR_ARG before set_points; LARMOR_ERR_SHAPE if counts, dtype or device differ from the plan's.
 */
LARMOR_API larmor_status larmor_nufft_execute(larmor_nufft *plan, const larmor_array *in, larmor_array *out);

/* The exact conjugate transpose of larmor_nufft_execute, from the same plan. */
LARMOR_API larmor_status larmor_nufft_execute_adjoint(larmor_nufft *plan, const larmor_array *in, larmor_array *out);

/* What the plan chose: fine grid per dimension, window width, upsampling factor, the error it expects. */
typedef struct larmor_nufft_info {
    int64_t grid[3];
    int width;
    double upsample, error;
} larmor_nufft_info;
LARMOR_API larmor_nufft_info larmor_nufft_describe(const larmor_nufft *plan);

/* Bytes of device memory that a plan with so many points takes at most, from create to free, without its inputs and
 * outputs. An estimate from above, before anything is made; opts as for create. */
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
