/* What sparsity needs of a device: groups, differences, wavelets, and the passes around an FFT.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/status.h"

#define LMR_SPARSE_ABI 5

/* Axes of an array of n numbers along which differences are taken: element i has place i / step % length. */
typedef struct lmr_axes {
    int count;
    int64_t step[8], length[8];
    double weight[8]; /* what a difference is multiplied with */
    int cyclic[8];    /* of the gradient: 1: the first element is behind the last one; never where the step is 1 */
} lmr_axes;

/* The corner [extent...] of an array [dim...], at its first element. */
typedef struct lmr_box {
    int ndim;
    int64_t dim[8], extent[8];
} lmr_box;

/* An orthonormal low-pass filter of an even number of taps; its high-pass is (-1)^t low[taps - 1 - t]. */
#define LMR_MAX_TAPS 20
typedef struct lmr_filter {
    int taps;
    double low[LMR_MAX_TAPS];
} lmr_filter;

/* One table per precision. All arrays are on the device and in the table's precision. Every sum is taken in an order
 * that depends on the sizes alone. Outputs never alias inputs but where said. */
typedef struct lmr_sparse_kernels {
    /* ---- groups: x and y are complex [n, groups], |x_i| = sqrt(sum_g |x[i,g]|^2); groups 1: single numbers ---- */

    /* y[i,g] <- x[i,g] max(0, 1 - t / |x_i|), 0 where x_i is 0; t >= 0; y may be x. The proximal map of t sum |x_i|.
     */
    larmor_status (*shrink_groups)(void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y);
    /* out (host) <- sum_i |x_i|, summed in double; waits. */
    larmor_status (*sum_norms)(void *ctx, int64_t n, int64_t groups, const void *x, double *out);

    /* ---- products and moves ---- */

    /* y[i,b] <- w[i] x[i,b], w real [n], x complex [n, batch]; y may be x. */
    larmor_status (*weigh)(void *ctx, int64_t n, int64_t batch, const void *w, const void *x, void *y);
    /* y[i] <- the real part of x[i], but at least low and at most high; x and y are complex [n]; y may be x. */
    larmor_status (*clip)(void *ctx, int64_t n, double low, double high, const void *x, void *y);
    /* w, real [n], <- its square roots. */
    larmor_status (*root)(void *ctx, int64_t n, void *w);
    /* y <- scale p0[i] p1[j] p2[k] x[i,j,k,b], or the conjugate of the p's; x is [dim..., batch]; y may be x.
     * phases: p0, p1 and p2, complex, one after the other. */
    larmor_status (*modulate)(void *ctx, const int64_t dim[3], int64_t batch, const void *phases, int conj,
                              double scale, const void *x, void *y);
    /* y[j,i,k] <- x[i,j,k]; x is [dim...]. */
    larmor_status (*transpose)(void *ctx, const int64_t dim[3], const void *x, void *y);

    /* ---- differences of [n] arrays whose first dimension is row: a step is 1 or a multiple of row ---- */

    /* y[i,a] <- weight_a (x[i + step_a] - x[i]), 0 at the last place of an axis that is not cyclic; y is [n, count].
     * adjoint: y [n] <- its exact adjoint of x [n, count]. */
    larmor_status (*gradient)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes, int adjoint, const void *x,
                              void *y);
    /* y <- the adjoint of the gradient of x, both [n], at once; y is not x. */
    larmor_status (*gradient_normal)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes, const void *x, void *y);
    /* y[i,(a,a)] <- weight_a (x[i,a] - x[i - step_a,a]), 0 at the first and last place of axis a;
     * y[i,(a,b)] <- (weight_b (x[i + step_b,a] - x[i,a]) + weight_a (x[i + step_a,b] - x[i,b])) / sqrt(2), 0 at the
     * last place of either; pairs in the order (0,0), (0,1), (1,1), (0,2), ...; x is [n, count].
     * adjoint: y [n, count] <- its exact adjoint of x [n, pairs]. */
    larmor_status (*symmetrised)(void *ctx, int64_t n, int64_t row, const lmr_axes *axes, int adjoint, const void *x,
                                 void *y);

    /* ---- wavelets: one axis of a box, of extent n; m = n - n % 2, offset = taps/2 - 1 ---- */

    /* With x_j = from[(j + shift) % n] along the axis: to[k] <- sum_t low[t] x_((2k + t - offset) mod m) for k < m/2,
     * to[m/2] <- x_(n-1) if n is odd, to[n - m/2 + k] <- the same sum with the high-pass. 0 <= shift < n. */
    larmor_status (*analyse)(void *ctx, const lmr_box *box, int axis, const lmr_filter *filter, int64_t shift,
                             const void *from, void *to);
    /* The inverse, which is the adjoint. */
    larmor_status (*synthesise)(void *ctx, const lmr_box *box, int axis, const lmr_filter *filter, int64_t shift,
                                const void *from, void *to);
    larmor_status (*copy_box)(void *ctx, const lmr_box *box, const void *from, void *to);
} lmr_sparse_kernels;

extern const lmr_sparse_kernels lmr_cpu_sparse_f32, lmr_cpu_sparse_f64;
