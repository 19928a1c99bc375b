/* The result of a reconstruction: the exit code, and the report as a JSON object. SPDX-License-Identifier: Apache-2.0
 * */
#pragma once

#include "recon.h"

/* The last series, number `series` from 0, failed or is suspect. */
void recon_note(recon_run *r, int series);

/* Say which were not made or are suspect, by number. Returns an exit code. */
int recon_judge(const recon_run *r);

/* Print the report on stdout. */
void recon_report(const recon_run *r, double seconds);
