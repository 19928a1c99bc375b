/* Whether and how the coils of a scan are compressed. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* Decide whether the coils are compressed, and find the matrix: the job's compression, compressed and coils. One
 * for all images of the scan, whichever are wanted; from samples that are whitened. */
larmor_status lmr_find_compression(larmor_recon *r);
