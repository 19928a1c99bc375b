/* Inside of a plan, for plan.c and type3.c. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_PLAN_H
#define LMR_NUFFT_PLAN_H

#include "core/array.h"
#include "larmor/nufft.h"
#include "nufft/choose/choose.h"
#include "nufft/kernels.h"

typedef struct lmr_type3 lmr_type3;
typedef struct lmr_precompute lmr_precompute;

struct larmor_nufft {
    larmor_device *dev;
    void *ctx;              /* the device's, or an own one with fewer threads */
    larmor_nufft_opts opts; /* with all defaults filled in */
    int precision;
    double terms; /* as in lmr_nufft_request */
    lmr_nufft_rates rates;
    lmr_nufft_choice choice; /* types 1 and 2: the grid, for so many points: */
    double chosen_for;
    int64_t max_batch; /* the options' or the planner's */
    int ready;         /* 1: what execute needs is there; before set_points only the choice is */
    const lmr_nufft_kernels *kernels;
    lmr_nufft_geometry geometry;
    void *window, *factor[3];
    int64_t mode_count, cell_count;
    void *fft[2];   /* for geometry.batch grids, and for the rest of the batch */
    void *cells;    /* the fine grids, [cells..., geometry.batch] */
    int64_t points; /* -1 before set_points */
    void *sorted;
    lmr_precompute *precompute; /* of sorted; NULL: on the fly */
    lmr_type3 *type3;           /* NULL for other types, and before set_points */
    larmor_nufft_info info;
};

/* The options with all defaults filled in, checked one by one, against each other and against the device. */
larmor_status lmr_nufft_fill_options(const larmor_device *dev, const larmor_nufft_opts *opts,
                                     larmor_nufft_opts *filled);

/* Only width, grid and tiles are looked at, and what they are checked against; ndim and modes must be in range. */
larmor_status lmr_nufft_check_choices(const larmor_nufft_opts *opts);

/* A plan from options that are complete and checked; terms and points as in lmr_nufft_request. */
larmor_status lmr_nufft_make(larmor_device *dev, const larmor_nufft_opts *filled, double terms, double points,
                             larmor_nufft **plan);

/* What is asked of the plan's grid for so many points; it keeps a pointer to the plan's rates. */
lmr_nufft_request lmr_nufft_request_of(const larmor_nufft *plan, double points);

/* How a grid is worked on. */
typedef struct lmr_nufft_way {
    lmr_nufft_method method;
    int tiles;
    int64_t max_batch; /* 0: by the workspace */
    larmor_precompute precompute;
} lmr_nufft_way;

/* The way's tiles that the options ask for, or else the first. */
static inline int lmr_nufft_shape(const larmor_nufft_opts *opts)
{
    return opts->tiles > 0 ? opts->tiles - 1 : 0;
}

/* A plan with the same options and another grid, ready for points. */
larmor_status lmr_nufft_make_beside(const larmor_nufft *plan, const lmr_nufft_choice *choice,
                                    const lmr_nufft_way *way, larmor_nufft **out);

/* Sort points into a plan that is ready; it is left as it was by an error. */
larmor_status lmr_nufft_sort_points(larmor_nufft *plan, const larmor_array *points, int64_t m);

/* The window's polynomials to the device, at the precision that its error asks for; sets the geometry's width, degree
 * and window. *out is to be released by the caller, also after an error. */
larmor_status lmr_nufft_upload_window(const larmor_nufft *plan, const lmr_nufft_choice *choice,
                                      lmr_nufft_geometry *geometry, void **out);

/* One pass of type 1 (values to modes) or 2 of `now` transforms, at most geometry.batch of them. */
larmor_status lmr_nufft_pass(const larmor_nufft *plan, int type, int sign, int64_t now, void *values, void *modes);

/* LARMOR_ERR_SHAPE unless x holds `each` elements of the plan's type for every transform. */
larmor_status lmr_nufft_expect(const larmor_nufft *plan, const char *what, const larmor_array *x, int64_t each);

/* LARMOR_ERR_SHAPE unless x is a real array of [ndim, ...] on the plan's device; *count is how many points. */
larmor_status lmr_nufft_expect_points(const larmor_nufft *plan, const char *what, const larmor_array *x,
                                      int64_t *count);

/* ---- type 3 ---- */

larmor_status lmr_type3_set_points(larmor_nufft *plan, const larmor_array *points, const larmor_array *targets);
larmor_status lmr_type3_run(const larmor_nufft *plan, int adjoint, const larmor_array *in, larmor_array *out);
void lmr_type3_free(const larmor_nufft *plan, lmr_type3 *t); /* NULL is fine */

#endif
