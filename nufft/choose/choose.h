/* From a tolerance to a fine grid and a window. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/status.h"
#include "nufft/choose/request.h"
#include "nufft/choose/sizes.h"

/* The cheapest grid and width whose error keeps tol; for a lattice of points with a window one cell wider where that
 * one keeps it there as well.
 *
 * Errors  LARMOR_ERR_NUMERIC if none keeps tol; the message names the least tolerance that is kept, and a width or a
 * grid that would do if one is asked for that does not. LARMOR_ERR_ARG if the grid is too large for the address
 * space. */
larmor_status lmr_nufft_choose(const lmr_nufft_request *request, const int64_t modes[3], lmr_nufft_choice *choice);

/* The candidate factors, cheapest first, and how many: the one that was asked for, or all whose grids differ; finely:
 * more of them. They need not keep tol. */
int lmr_nufft_rank(const lmr_nufft_request *request, const int64_t modes[3], int finely,
                   lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES]);

/* As lmr_nufft_choose for the one factor; *kept: whether tol is kept. Errors: LARMOR_ERR_ARG. */
larmor_status lmr_nufft_narrowest(const lmr_nufft_request *request, const int64_t modes[3], double upsample,
                                  lmr_nufft_choice *choice, int *kept);

/* The choice of a given grid, which may be choice's own, and width; 1 if it is what was asked for, kernels can
 * work on it, and it keeps tol. */
int lmr_nufft_choose_at(const lmr_nufft_request *request, const int64_t modes[3], const int64_t cells[3], int width,
                        lmr_nufft_choice *choice);

/* Seconds of an execute by the model. */
double lmr_nufft_predict(const lmr_nufft_request *request, const int64_t modes[3], const lmr_nufft_choice *choice);

/* The narrowest window that keeps tol, or that of the width asked for, where it serves a continuous band of
 * 1 / upsample of what the grid can hold; upsample 0 means 2. cells are left alone. Errors: LARMOR_ERR_NUMERIC. */
larmor_status lmr_nufft_choose_window(const lmr_nufft_request *request, lmr_nufft_choice *choice);

/* The least tolerance that lmr_nufft_choose keeps for such a request, whatever its own; 1 or more if it keeps
 * none. The second one is for lmr_nufft_choose_window. Errors: LARMOR_ERR_ARG. */
larmor_status lmr_nufft_least(const lmr_nufft_request *request, const int64_t modes[3], double *least);
larmor_status lmr_nufft_least_spreading(const lmr_nufft_request *request, double *least);

/* The grid that is asked for by `modes`, for spreading without FFT, with the window of lmr_nufft_choose_window.
 * Errors  LARMOR_ERR_NUMERIC; LARMOR_ERR_ARG if it has no room for two windows. */
larmor_status lmr_nufft_choose_spreading(const lmr_nufft_request *request, const int64_t modes[3],
                                         lmr_nufft_choice *choice);

/* Type 3: points onto the outer grid, from there by a type 2 with the inner one. */
typedef struct lmr_type3_choice {
    lmr_nufft_choice outer, inner;
    double inner_tol;
    double upsample[3]; /* outer cells per period of the highest frequency, halved; 1 beyond ndim */
    double error;
} lmr_type3_choice;

/* product  of the widths of points and targets in each dimension; below 1 it counts as 1.
 * points, targets  how many.
 * Errors   LARMOR_ERR_NUMERIC; LARMOR_ERR_MEMORY if the grids are too large for any machine. */
larmor_status lmr_type3_choose(const lmr_nufft_request *request, const double product[3], double targets,
                               lmr_type3_choice *choice);

/* The least tolerance that lmr_type3_choose keeps, within a quarter of it, whatever its own. Errors:
 * LARMOR_ERR_MEMORY. */
larmor_status lmr_type3_least(const lmr_nufft_request *request, const double product[3], double targets,
                              double *least);

/* All of them that keep the tolerance, the one above first; *count is 0 if there are none. */
larmor_status lmr_type3_list(const lmr_nufft_request *request, const double product[3], double targets,
                             lmr_type3_choice list[LMR_NUFFT_CANDIDATES], int *count);

/* What a grid's side may be for so many modes and a window of this width (0: any). */
void lmr_nufft_sides(int64_t modes, int width, int64_t *least, int64_t *most);

/* Transforms that go through the fine grids together, of `batch` with grids of `grid` bytes, at most `most` (0: no
 * limit): they share window values, and the workspace is limited. */
int64_t lmr_nufft_per_pass(int64_t batch, int64_t grid, int64_t most);
