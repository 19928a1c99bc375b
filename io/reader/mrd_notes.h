/* The attributes of ISMRMRD images. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "core/status.h"

/* Names and values of an <ismrmrdMeta> as printable lines "name: value\n". What does not fit, or follows a fault
 * in the XML, is left out.
 *
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_mrd_notes(const char *xml, size_t bytes, char *notes, size_t room);
