/* The forms between all on the fly and all precomputed. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_PRECOMPUTE_H
#define LMR_NUFFT_PRECOMPUTE_H

#include "nufft/plan.h"
#include "nufft/precompute_kernels.h"

struct lmr_precompute {
    const lmr_precompute_kernels *kernels;
    void *made;
    int64_t bytes;
};

/* What a form is made for. */
typedef struct lmr_precompute_size {
    int ndim, width, is_gpu;
    size_t real;
    int64_t points, cells, together;
} lmr_precompute_size;

/* Whether the matrices' indices need 64 bits. */
int lmr_precompute_is_wide(const lmr_precompute_size *s);

/* Device memory that a form keeps, from above: what libraries add on a GPU is not known before; and what making it
 * takes besides, for a moment. 0 for AUTO and NONE, INT64_MAX beyond 2^63. */
int64_t lmr_precompute_bytes(const lmr_precompute_size *s, larmor_precompute form);
int64_t lmr_precompute_scratch(const lmr_precompute_size *s, larmor_precompute form);

/* LARMOR_ERR_MEMORY, with the bytes, if the form of so many points passes the plan's limit. */
larmor_status lmr_precompute_check(const larmor_nufft *plan, larmor_precompute form, int64_t points);

/* The form that the plan's info names, for sorted points, which must outlive it; *out is NULL for NONE. */
larmor_status lmr_precompute_make(const larmor_nufft *plan, int64_t points, const void *sorted, lmr_precompute **out);
void lmr_precompute_free(const larmor_nufft *plan, lmr_precompute *p); /* NULL is fine */

/* spread and interp of the kernels, by what the plan has. */
larmor_status lmr_precompute_spread(const larmor_nufft *plan, int64_t now, const void *values, void *cells);
larmor_status lmr_precompute_interp(const larmor_nufft *plan, int64_t now, const void *cells, void *values);

#endif
