/* The XML header of an ISMRMRD file that larmor writes. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"
#include "larmor/io.h"

/* The header of a scan, valid by ISMRMRD's schema. path: for messages. *xml is the caller's, to be freed.
 *
 * Errors  LARMOR_ERR_ARG for sizes, fields of view, counts or a trajectory name that the schema cannot hold. */
larmor_status lmr_mrd_make_xml(const char *path, const larmor_scan *scan, char **xml);

/* Cut out what a header says of the patient and of the study, in place.
 *
 * Errors  LARMOR_ERR_FORMAT where some of it may remain, as their elements are written in an unusual way. */
larmor_status lmr_mrd_remove_person(char *xml);
