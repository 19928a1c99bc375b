/* Several scans in one call: --out-dir. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* Each scan by itself, in turn, and a table of them on standard output, unless that has the objects of --json. One
 * that fails leaves the others. Returns the exit code of the first that failed. */
int recon_several(const recon_settings *s, const app_files *files,
                  int (*run)(const recon_settings *s, const char *input, recon_row *row));
