/* Before a reconstruction: its outputs, the scan, the device, whitening, coil maps and memory. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_PREPARE_H
#define APP_RECON_PREPARE_H

#include "run.h"

/* Outputs first: what cannot be written is said before minutes of work. This and what follows return an exit code, having
 * said what is wrong. */
int recon_open_outputs(recon_run *r);

/* Open the scan and the device, and get what all groups share: the whitening matrix and coil maps from a file. */
int recon_prepare(recon_run *r);

/* Say what will be needed, before anything is done; choose how many coils go at a time. */
int recon_plan_memory(recon_run *r);

#endif
