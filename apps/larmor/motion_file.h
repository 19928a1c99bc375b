/* Tracking files: poses of an object that moves. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common.h"

/* Rows of a file for larmor_motion_rows: .npy, or lines of 6 or 7 numbers with blanks, tabs or commas between,
 * comments behind # and, as the first line, names of columns. Returns an exit code; errors name --motion. */
int motion_read(const char *path, larmor_array **rows);
