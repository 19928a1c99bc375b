/* SENSE on a group of devices. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/recon.h"

/* How many devices share the coils of SENSE on this one: its members, at most one for each coil; 1 for a single
 * device, for several sets of maps and with off-resonance. */
int lmr_sense_devices(const larmor_device *dev, int64_t coils, int64_t sets, const larmor_sense_opts *opts);

/* larmor_op_sense of maps [image..., coils] on a group, which has so many coils of it on each of `count` members. */
larmor_status lmr_sense_spread(larmor_array *maps, const larmor_sense_opts *opts, int count, larmor_op **A);
