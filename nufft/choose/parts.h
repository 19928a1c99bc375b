/* What the files of this folder share and nobody else needs. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/status.h"
#include "nufft/choose/request.h"

/* The upsampling factors that the models choose from, ascending. */
enum { LMR_NUFFT_FACTORS = 18 };
extern const double lmr_nufft_factors[LMR_NUFFT_FACTORS];

/* The grid that is asked for, or else the smallest good one of this factor, with room for two windows. */
larmor_status lmr_nufft_set_cells(const lmr_nufft_request *r, const int64_t modes[3], double upsample, int width,
                                  int64_t cells[3]);
int lmr_nufft_same_cells(const int64_t a[3], const int64_t b[3]);
double lmr_nufft_least_factor(int ndim, const int64_t modes[3], const int64_t cells[3]);

/* Tune the window of this width for the tightest dimension, and predict the error. */
void lmr_nufft_evaluate(const lmr_nufft_request *r, const int64_t modes[3], const int64_t cells[3], int width,
                        lmr_nufft_choice *choice);

/* The error of a window of this width for bands of 1 / upsample in each dimension; choice->cells stay. */
void lmr_nufft_evaluate_band(const lmr_nufft_request *r, const double upsample[3], int width,
                             lmr_nufft_choice *choice);

/* The width that the aliasing of a prolate window needs, by its leading order in the width; one less to be safe. The
 * second one is for the grid that the factor becomes when its sides are rounded up. */
int lmr_nufft_first_width(double tol, double upsample);
larmor_status lmr_nufft_first_width_on_grid(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                                            int *width);

/* What the model of cost takes; cells and the width of the work are left to the caller. */
lmr_nufft_rates lmr_nufft_rates_of(const lmr_nufft_request *r);
lmr_nufft_work lmr_nufft_work_of(const lmr_nufft_request *r, double points);

/* Insert into a list that is sorted by cost. */
void lmr_nufft_insert(lmr_nufft_candidate *list, int count, lmr_nufft_candidate mine);

/* Set the message that tol is out of reach, and the least tolerance that is not. */
larmor_status lmr_nufft_out_of_reach(const lmr_nufft_request *r, double least);
