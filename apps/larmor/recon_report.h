/* What comes out of a reconstruction: its images with their provenance, and a report. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_REPORT_H
#define APP_RECON_REPORT_H

#include "run.h"

/* Write the images to every output; returns an exit code, having said what is wrong. */
int recon_write(recon_run *r);

/* A JSON object on stdout. seconds: since the start. */
void recon_report(const recon_run *r, double seconds);

#endif
