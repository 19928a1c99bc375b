/* How large a calibration region may be. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/maps.h"

/* Its most samples along each axis, 1 in unused dimensions; opts may be NULL. */
void lmr_region_most(const larmor_region_opts *opts, larmor_shape image, int64_t most[3]);

/* Bytes that larmor_calibration_region takes, the region among them. */
larmor_status lmr_region_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_region_opts *opts,
                               double *bytes);
