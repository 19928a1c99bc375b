/* Where the program larmor-reader is. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

enum { LMR_READER_PATH = 1024 };

/* LARMOR_READER, if it is an absolute path; else what is found from where the library is. Errors:
 * LARMOR_ERR_UNSUPPORTED, naming the places. */
larmor_status lmr_reader_path(char path[LMR_READER_PATH]);
