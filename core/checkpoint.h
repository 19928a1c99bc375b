/* The calls of a checkpoint's place for the pipeline. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/checkpoint.h"

const char *lmr_checkpoint_name(const larmor_checkpoint *c);
larmor_status lmr_checkpoint_open(const larmor_checkpoint *c, int64_t *bytes);
larmor_status lmr_checkpoint_get(const larmor_checkpoint *c, int64_t first, void *to, size_t bytes);
larmor_status lmr_checkpoint_begin(const larmor_checkpoint *c, int64_t bytes);
larmor_status lmr_checkpoint_put(const larmor_checkpoint *c, const void *from, size_t bytes);
larmor_status lmr_checkpoint_commit(const larmor_checkpoint *c);
