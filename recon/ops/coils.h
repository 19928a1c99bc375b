/* The maps of an operator of coils. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/recon.h"

/* Those that larmor_op_coils made S of; NULL for another operator. */
const larmor_array *lmr_coils_maps(const larmor_op *S);
