/* Whether other descriptions of the scan explain its samples better. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* Compare the description of the first image's samples with others, and warn where one explains them clearly better.
 * What cannot be compared is logged. Errors: LARMOR_STOPPED. */
larmor_status lmr_describe_compare(larmor_recon *r);
