/* What `larmor recon` says on stderr while it works. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_LOG_H
#define APP_RECON_LOG_H

#include "run.h"

/* The scan: readouts, trajectory, and what its reader warns of. */
void recon_log_input(const recon_run *r);

/* The image and the grid of the first group. */
void recon_log_grid(const recon_run *r);

/* The method with its parameters, the device and where coil maps come from. */
void recon_log_method(const recon_run *r);

/* How the last images went. what: their name in the log; before: how the images before them did, whose doubts
 * are not said again, or NULL. */
void recon_log_result(const recon_run *r, const char *what, const recon_result *before);

#endif
