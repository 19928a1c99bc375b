/* What operators on many images, and off-resonance, need from a device. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/status.h"

#define LMR_SERIES_ABI 1

/* How an image of frames is cut into blocks: block (0, 0, 0) begins at voxel `shift` of an image that continues
 * around its edges; the last block of a dimension may reach past the image. */
typedef struct lmr_blocks {
    int64_t dim[3], block[3], count[3];
    int64_t shift[3]; /* in [0, dim) */
    int64_t frames;
} lmr_blocks;

/* One table per precision, as in recon/kernels.h. Arrays are on the device. Complex numbers are two reals of the
 * table's precision unless stated otherwise. Outputs never alias inputs. The order of sums depends on sizes alone.
 * Indices are distinct. */
typedef struct lmr_series_kernels {
    /* ---- blocks of low rank ---- */

    /* y [prod(block), frames, prod(count)] <- x [dim..., frames]; 0 beyond the image. */
    larmor_status (*blocks)(void *ctx, const lmr_blocks *cut, const void *x, void *y);
    /* The adjoint of blocks: x <- y, each voxel from the one place where it went. */
    larmor_status (*unblocks)(void *ctx, const lmr_blocks *cut, const void *y, void *x);
    /* g, complex double, <- x^H x [n, n, count] of x [m, n, count], or with `left` x x^H [m, m, count]; at least the
     * upper triangles. Sums in double. */
    larmor_status (*gram)(void *ctx, int64_t m, int64_t n, int64_t count, int left, const void *x, void *g);
    /* p [s, s, count] <- V max(0, 1 - t / sqrt(w)) V^H of V, complex double [s, s, count], and w, double [s, count],
     * ascending. */
    larmor_status (*project)(void *ctx, int64_t s, int64_t count, double t, const void *v, const double *w, void *p);
    /* c [m, n, count] <- a [m, k, count] b [k, n, count], matrix by matrix. */
    larmor_status (*multiply)(void *ctx, int64_t m, int64_t n, int64_t k, int64_t count, const void *a, const void *b,
                              void *c);

    /* ---- stacks ---- */

    /* y [voxels, count, batch] <- factor[p] x[index[p], v, b] of x [n, voxels, batch]; index, factor NULL: p, 1. */
    larmor_status (*planes)(void *ctx, int64_t n, int64_t voxels, int64_t count, int64_t batch, const int64_t *index,
                            const void *factor, const void *x, void *y);
    /* The adjoint of planes, but only what index names is written: x[index[p], v, b] <- conj(factor[p]) y[v, p, b].
     */
    larmor_status (*lines)(void *ctx, int64_t n, int64_t voxels, int64_t count, int64_t batch, const int64_t *index,
                           const void *factor, const void *y, void *x);
    /* y[., index[l], b] <- x[., l, b] of x [m, count, batch] and y [m, total, batch]. */
    larmor_status (*scatter_columns)(void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch,
                                     const int64_t *index, const void *x, void *y);
    /* Its adjoint: x[., l, b] <- y[., index[l], b]. */
    larmor_status (*gather_columns)(void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch,
                                    const int64_t *index, const void *y, void *x);

    /* ---- off-resonance ---- */

    /* y[i, c] <- exp(2 pi i time f[i]) x[i, c], or with `add` y + that; x, y [n, batch]. */
    larmor_status (*evolve)(void *ctx, int64_t n, int64_t batch, double time, const double *f, int add, const void *x,
                            void *y);
    /* y[j, c] <- b[index[j]] x[j, c], or with `conj` its adjoint, with `add` y + that; x, y [m, batch]. index here
     * may repeat. */
    larmor_status (*weigh)(void *ctx, int64_t m, int64_t batch, const int64_t *index, const void *b, int conj,
                           int add, const void *x, void *y);
} lmr_series_kernels;

extern const lmr_series_kernels lmr_cpu_series_f32, lmr_cpu_series_f64;
