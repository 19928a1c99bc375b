/* A pool of workers, one for each device, for the series of one reconstruction.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "schedule/state.h"

/* lmr_devices: the members of a group, each with a thread and a copy of the job on its own device; or ranks. */

/* Before memory is planned: the device gets the ranks that the options name, if they are to share coils. */
void lmr_devices_plan(larmor_recon *r);

/* After memory is planned: how many series one device, or each GPU of a group, computes at the same time, which is
 * then planned for. */
void lmr_devices_divide(larmor_recon *r);

/* Copy the job to so many parts of the processor, once. Where that fails one series goes on after the other. */
void lmr_devices_beside(larmor_recon *r);

/* Copy the job to each member of its device, a group, if there are several series, and to several queues of each
 * where these are GPUs; else nothing is done. */
larmor_status lmr_devices_open(larmor_recon *r);

/* 1 if those at work are parts of one device. */
int lmr_devices_are_one(const larmor_recon *r);

/* End what is computed, and the threads. */
void lmr_devices_close(larmor_recon *r);

/* The result of a series as the job itself would have it, in the caller's thread, which passes on the events of
 * the others. Later series are begun meanwhile and afterwards. What the series decides for others becomes the
 * job's.
 *
 * Errors  those of lmr_solve_groups. A device that fails is left, and others take over its series; its error is
 *         returned where it was the last. */
larmor_status lmr_devices_solve(larmor_recon *r, int series, larmor_recon_result *result);
