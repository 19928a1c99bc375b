/* From a tolerance to a fine grid and a window. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_CHOOSE_H
#define LMR_NUFFT_CHOOSE_H

#include "larmor/status.h"
#include "nufft/window.h"

typedef struct lmr_nufft_choice {
    lmr_window window;
    int64_t cells[3]; /* of the fine grid; 1 beyond ndim */
    double error;     /* relative l2 error to expect: aliasing and rounding together */
    double alias, rounding;
    double bound; /* what the error keeps for all but the rarest data: error and its scatter */
} lmr_nufft_choice;

/* The cheapest grid and width whose error keeps tol.
 *
 * upsample  0: chosen as if there were as many points as modes.
 * single    1: values in single precision.
 * Errors    LARMOR_ERR_NUMERIC if none keeps tol; the message names the least tolerance that is kept. LARMOR_ERR_ARG
 * if the grid is too large for the address space. */
larmor_status lmr_nufft_choose(int ndim, const int64_t modes[3], double tol, double upsample, int single,
                               lmr_nufft_choice *choice);

/* The least even 2^a 3^b 5^c 7^d >= n. */
int64_t lmr_nufft_good_size(int64_t n);

/* Transforms that go through the fine grids together, of `batch` with grids of `grid` bytes: they share window values,
 * and the workspace is limited. */
int64_t lmr_nufft_together(int64_t batch, int64_t grid);

#endif
