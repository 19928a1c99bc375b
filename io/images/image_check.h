/* A check of what was written. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/atomic.h"

/* Read an .h5 of images back from its temporary file: its structure by a reader, and all elements with their
 * checksums.
 *
 * Errors  LARMOR_ERR_IO; those of a reader that cannot be started; LARMOR_STOPPED. */
larmor_status lmr_images_read_back(const larmor_output *out);
