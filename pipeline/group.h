/* A group of readouts becomes an image: samples, density, coil maps, solution. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_GROUP_H
#define LMR_PIPELINE_GROUP_H

#include "pipeline/job.h"

/* Reconstruct groups of one encoding and slice as a series, or a single one.
 *
 * image   [count], c64, each cropped to the image's matrix and in units of the density; the caller's to free.
 * report  all but its status, message of a failure and time.
 * Errors  those of the library, and LARMOR_ERR_FORMAT if the trajectory is neither stored nor one that counters
 *         define. */
larmor_status lmr_solve_groups(lmr_job *job, const int *index, int count, larmor_array **image,
                               larmor_recon_report *report);

/* The job's maps from this group, and with keep_weights the density weights of the other, as after the series that they
 * are of; -1: none. */
larmor_status lmr_group_restore(lmr_job *job, int maps_from, int weights_from);

#endif
