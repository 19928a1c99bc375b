/* Grids and ways of working on them, chosen by timing. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/plan.h"
#include "nufft/type3.h"

/* ---- types 1 and 2 ---- */

/* The quickest plan, with its points in it. */
typedef struct lmr_tuned {
    lmr_nufft_plan *plan;
    larmor_plan_source source;
    double seconds; /* of an execute */
    int tried;      /* plans that were timed */
} lmr_tuned;

/* The plan that is quickest for these points, by the options' effort. What the device's wisdom knows is not timed
 * again; what is timed becomes wisdom. m >= 1; the request is that of the options for m points. */
larmor_status lmr_tune(const lmr_nufft_device *on, const larmor_nufft_opts *filled, const lmr_nufft_request *request,
                       const larmor_array *points, int64_t m, lmr_tuned *best);

/* Bytes of device memory at most while so many points are tuned for, and after. */
larmor_status lmr_tune_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                             const lmr_nufft_request *request, double *bytes);

enum { LMR_TUNE_GRIDS = 96 };

typedef struct lmr_tune_grid {
    int64_t cells[3]; /* 1 beyond ndim */
    int width;
    double seconds; /* by the model */
} lmr_tune_grid;

/* The grids that are timed with MEASURE or EXHAUSTIVE, those first that the model takes for the quickest; all keep
 * the tolerance. Returns how many. */
int lmr_tune_grids(const lmr_nufft_request *request, const int64_t modes[3], int effort,
                   lmr_tune_grid grids[LMR_TUNE_GRIDS]);

/* ---- type 3 ---- */

typedef struct lmr_type3_tuned {
    lmr_type3 *type3;
    larmor_plan_source source;
    double seconds;
    int tried;
} lmr_type3_tuned;

/* The pair of grids that is quickest for these points and targets, of which there are some. Nothing is remembered. */
larmor_status lmr_tune_type3(const lmr_type3_job *job, const lmr_nufft_request *request, lmr_type3_tuned *best);

/* Bytes at most for points and targets together as the request has them, whose widths multiply to product. */
larmor_status lmr_tune_type3_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *filled,
                                   const lmr_nufft_request *request, const double product[3], double *bytes);
