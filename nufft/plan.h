/* A transform of type 1 or 2 on one grid, with its points: what is left when all is chosen.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/choose/choose.h"
#include "nufft/device.h"
#include "nufft/precompute.h"

/* How a grid is worked on. */
typedef struct lmr_nufft_way {
    lmr_nufft_method method;
    int tiles;                    /* their shape, from 0 */
    int64_t max_batch;            /* most transforms that share a pass; 0: by the workspace */
    larmor_precompute precompute; /* never AUTO */
} lmr_nufft_way;

typedef struct lmr_nufft_plan {
    const lmr_nufft_device *on; /* not owned */
    larmor_nufft_opts opts;     /* filled in */
    lmr_nufft_choice choice;
    lmr_nufft_way way;
    lmr_nufft_geometry geometry;
    void *window, *factor[3];
    int64_t mode_count;
    void *pruned;   /* by the backend's table `modes`; or NULL: */
    void *fft[2];   /* for geometry.batch grids, and for the rest of the batch */
    void *cells;    /* the fine grids, [cells..., geometry.batch] */
    int64_t points; /* -1 before they are set */
    void *sorted;
    lmr_precompute *precompute; /* of sorted; NULL: on the fly */
} lmr_nufft_plan;

/* The way that the options ask for, and the kernels' own where they leave it open. */
lmr_nufft_way lmr_nufft_way_of(const lmr_nufft_kernels *kernels, const larmor_nufft_opts *filled);

/* The sizes that a plan will have: all of the geometry but window and factors. LARMOR_ERR_ARG or LARMOR_ERR_MEMORY if
 * no machine has room for them. */
larmor_status lmr_nufft_plan_sizes(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                                   const lmr_nufft_choice *choice, const lmr_nufft_way *way,
                                   lmr_nufft_geometry *geometry);

/* Bytes of device memory at most, from make to free, with so many points. */
larmor_status lmr_nufft_plan_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                                   const lmr_nufft_choice *choice, const lmr_nufft_way *way, double points,
                                   double *bytes);

/* All but the points; `on` must outlive the plan. */
larmor_status lmr_nufft_plan_make(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                                  const lmr_nufft_choice *choice, const lmr_nufft_way *way, lmr_nufft_plan **plan);
void lmr_nufft_plan_free(lmr_nufft_plan *plan); /* NULL is fine */

/* points [ndim, m] of the types that a plan takes. After an error the plan is as it was. */
larmor_status lmr_nufft_plan_set_points(lmr_nufft_plan *plan, const larmor_array *points, int64_t m);

/* The same from where coordinates lie, if plans of these options take them on this device. */
int lmr_nufft_plan_takes_coordinates(const lmr_nufft_device *on, const larmor_nufft_opts *filled);
larmor_status lmr_nufft_plan_set_coordinates(lmr_nufft_plan *plan, const lmr_nufft_source *from, int64_t m);

/* One pass of type 1 (values to modes) or 2 of `now` transforms, at most geometry.batch of them. */
larmor_status lmr_nufft_plan_pass(const lmr_nufft_plan *plan, int type, int sign, int64_t now, void *values,
                                  void *modes);

/* modes <- FFT, crop and deconvolution of `now` fine grids, in which anything is left. */
larmor_status lmr_nufft_plan_crop(const lmr_nufft_plan *plan, int sign, int64_t now, void *modes);

/* All transforms, in one pass after the other. */
larmor_status lmr_nufft_plan_execute(const lmr_nufft_plan *plan, int adjoint, const larmor_array *in,
                                     larmor_array *out);

/* The window's polynomials to the device, at the precision that its error asks for; sets the geometry's width, degree
 * and window. *out is to be released by the caller, also after an error. */
larmor_status lmr_nufft_plan_upload_window(const lmr_nufft_device *on, const lmr_nufft_choice *choice,
                                           lmr_nufft_geometry *geometry, void **out);

/* What larmor_nufft_describe says of such a plan before it has points, and what the points add. */
larmor_nufft_info lmr_nufft_plan_outline(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                                         const lmr_nufft_choice *choice, const lmr_nufft_way *way,
                                         const lmr_nufft_geometry *geometry);
larmor_nufft_info lmr_nufft_plan_describe(const lmr_nufft_plan *plan);
