/* larmor phantom --truth and --truth-maps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common.h"

/* Write the images to expect, or those of bins where their text is not NULL, and say so. Returns an exit code. */
int phantom_write_images(const larmor_simulation *simulation, const char *bins, const char *name, larmor_output *out);

/* Write the maps that a fit of a scan of tissues should find, "x_FF.npy" of "x.npy". Returns an exit code. */
int phantom_write_truth(const larmor_simulation *simulation, const char *prefix, int force);
