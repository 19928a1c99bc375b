/* SENSE on one device, whether others could share it or not. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/recon.h"

/* What larmor_op_sense asks of its inputs; p: their sizes. */
larmor_status lmr_sense_check(larmor_array *maps, const larmor_sense_opts *opts, larmor_problem *p);

/* larmor_op_sense by this process on this device. */
larmor_status lmr_sense_alone(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A);

/* The memory that this takes, of a problem that lmr_bytes_begin has checked. */
larmor_status lmr_sense_alone_memory(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                     int64_t *bytes);

/* The name of operators of larmor_op_sense_states whose normal maps are Toeplitz. */
extern const char lmr_sense_states_toeplitz[];
