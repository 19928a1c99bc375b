/* The files of each --output: which images go to which of them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon.h"

/* Begin the file of --output number i, as it was typed. This and the others return an exit code, having said what is
 * wrong. */
int recon_open_files(recon_run *r, int i);

/* Where a format cannot hold all images in one file, begin several in its place, or refuse what no file of it
 * holds; reserve the space that they will take. */
int recon_divide_files(recon_run *r);

void recon_free_files(recon_files *files);
