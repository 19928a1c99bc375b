/* SENSE whose coils the ranks of several processes share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/ranks/ranks.h"
#include "larmor/recon.h"

/* How many ranks share the coils of SENSE on this device: those that it has (core/device.h), where each gets a
 * coil; 1 without them, for several sets of maps and with off-resonance. */
int lmr_sense_ranks(const larmor_device *dev, int64_t coils, int64_t sets, const larmor_sense_opts *opts);

/* 1 if the device's other ranks wait for orders of this one. */
int lmr_sense_is_served(const larmor_device *dev);

/* Rank 0: larmor_op_sense of maps [image..., coils] of which each rank gets a part, with all of the trajectory. */
larmor_status lmr_sense_on_ranks(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A);
