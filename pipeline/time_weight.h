/* The weight of differences in time of a series that tv reconstructs jointly. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_TIME_WEIGHT_H
#define LMR_PIPELINE_TIME_WEIGHT_H

#include "pipeline/weight.h"

/* 1 if the regulariser of so many frames takes a weight in time, and the caller has not given it. */
int lmr_time_weight_is_open(const lmr_job *job, int frames);

/* Search the weight in space for one weight in time after the other, and take those whose series predicts best
 * what is held out: choice, with time_weight. */
larmor_status lmr_time_weight_choose(const lmr_job *job, const lmr_searched *p, larmor_choice *choice);

#endif
