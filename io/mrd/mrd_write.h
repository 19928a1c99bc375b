/* Inside of a file that is being written. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/io.h"

/* What the file's header will say; valid as long as the writer. */
const larmor_encoding *lmr_raw_writer_encoding(const larmor_raw_writer *writer);
