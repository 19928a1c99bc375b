/* What precomputation needs from a device: window values or sparse matrices made once, and products with them.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/kernels.h"

#define LMR_PRECOMPUTE_ABI 3

typedef enum lmr_precompute_form {
    LMR_PRECOMPUTE_PARTIAL, /* ndim * width window values for each sorted point, in the device's own order */
    LMR_PRECOMPUTE_FULL,    /* the matrix of points and cells, width^ndim numbers a row, and its transpose, as CSR */
    LMR_PRECOMPUTE_IN_ORDER /* the same, and rows of the transpose are added up in one order, however long they are */
} lmr_precompute_form;

/* One table per precision. spread and interp are those of lmr_nufft_kernels, and equal to them but for rounding. */
typedef struct lmr_precompute_kernels {
    /* Beside the values themselves partial takes the points up to a multiple of `group`, and `margin` bytes at the
     * end. sorts_entries 1: while full is made, its entries' keys and places are there twice, and each point's
     * bin. */
    int group, margin, sorts_entries;

    /* sorted   from lmr_nufft_kernels.sort with the same geometry; must outlive *made.
     * long_index     indices of the matrices in 64 bits; else 32, in which cells and entries fit.
     * rest     besides g->batch the only number of transforms in a call of spread or interp; 0: there is none.
     * bytes    of device memory that *made keeps. */
    larmor_status (*build)(void *ctx, const lmr_nufft_geometry *g, lmr_precompute_form form, int long_index,
                           int64_t rest, const void *sorted, int64_t *bytes, void **made);
    void (*release)(void *ctx, void *made); /* NULL is fine */
    larmor_status (*spread)(void *ctx, const lmr_nufft_geometry *g, void *made, int64_t batch, const void *values,
                            void *cells);
    larmor_status (*interp)(void *ctx, const lmr_nufft_geometry *g, void *made, int64_t batch, const void *cells,
                            void *values);
} lmr_precompute_kernels;

extern const lmr_precompute_kernels lmr_cpu_precompute_f32, lmr_cpu_precompute_f64;
