/* What sparsity needs of a device: proximal maps of groups. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_KERNELS_SPARSE_H
#define LMR_KERNELS_SPARSE_H

#include <stdint.h>

#include "larmor/status.h"

#define LMR_SPARSE_ABI 1

/* One table per precision. All arrays are on the device and in the table's precision. Every sum is taken in an order
 * that depends on the sizes alone. Outputs never alias inputs but where said. */
typedef struct lmr_sparse_kernels {
    /* ---- groups: x and y are complex [n, groups], |x_i| = sqrt(sum_g |x[i,g]|^2); groups 1: single numbers ---- */

    /* y[i,g] <- x[i,g] max(0, 1 - t / |x_i|), 0 where x_i is 0; t >= 0; y may be x. The proximal map of t sum |x_i|.
     */
    larmor_status (*shrink_groups)(void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y);
    /* y[i,g] <- x[i,g] min(1, t / |x_i|); t >= 0; y may be x. The projection onto all |x_i| <= t. */
    larmor_status (*project_groups)(void *ctx, int64_t n, int64_t groups, double t, const void *x, void *y);
    /* out (host) <- sum_i |x_i|, summed in double; waits. */
    larmor_status (*sum_norms)(void *ctx, int64_t n, int64_t groups, const void *x, double *out);
} lmr_sparse_kernels;

extern const lmr_sparse_kernels lmr_cpu_sparse_f32, lmr_cpu_sparse_f64;

#endif
