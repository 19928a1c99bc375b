/* The report of a reconstruction as a JSON object. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_REPORT_H
#define APP_RECON_REPORT_H

#include "recon.h"

/* Print it on stdout. */
void recon_report(const recon_run *r, double seconds);

#endif
