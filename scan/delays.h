/* Gradient delays of a scan, which are found before anything is done with trajectories.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* The delays of every encoding, as the options say, for lmr_correct_trajectory. */
larmor_status lmr_delays_find(larmor_recon *r);

/* 1 if there are delays that move what one axis does to another. */
int lmr_delays_couple(const lmr_job *job);
