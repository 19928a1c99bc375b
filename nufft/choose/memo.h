/* What was chosen lately, for a whole process. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/choose/request.h"

/* rates: those of the request, also where it has none of its own. 1: *choice is what was chosen for such a
 * request. */
int lmr_nufft_recall(const lmr_nufft_request *request, const lmr_nufft_rates *rates, const int64_t modes[3],
                     lmr_nufft_choice *choice);

void lmr_nufft_remember(const lmr_nufft_request *request, const lmr_nufft_rates *rates, const int64_t modes[3],
                        const lmr_nufft_choice *choice);

/* The tuned window (lmr_window_tune) and its error for these modes and cells (lmr_window_predict), which batches of
 * all sizes and any points have in common. */
void lmr_nufft_tune_window(int width, int64_t modes, int64_t cells, lmr_window *window, lmr_window_error *error);
