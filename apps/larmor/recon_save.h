/* What recon found on the way, for other runs and programs: coil maps and density weights.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_SAVE_H
#define APP_RECON_SAVE_H

#include "series.h"

/* One slice has one set of maps and one image one set of weights: more are refused before any work. This and the next
 * return an exit code, having said what is wrong. */
int recon_save_check(const recon_run *r, const recon_series *l);

/* Write what the options ask for. */
int recon_save(recon_run *r);

#endif
