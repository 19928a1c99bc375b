/* Grids and methods by timing. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_TUNE_H
#define LMR_NUFFT_TUNE_H

#include "nufft/plan.h"

/* The plan beside this one that is quickest for these points, by its options' effort: with the points in it. What the
 * device's wisdom knows is not timed again; what is timed becomes wisdom. m >= 1. */
larmor_status lmr_nufft_tune(const larmor_nufft *plan, const larmor_array *points, int64_t m, larmor_nufft **best);

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

#endif
