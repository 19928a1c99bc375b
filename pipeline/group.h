/* A group of readouts becomes an image: samples, density, coil maps, solution. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* Reconstruct groups of one encoding and slice as a series, or a single one.
 *
 * image   [count], c64, each cropped to the image's matrix and in units of the density; the caller's to free.
 * report  all but its status, message of a failure and time.
 * Errors  those of the library, and LARMOR_ERR_FORMAT if the trajectory is neither stored nor one that counters
 *         define. */
larmor_status lmr_solve_groups(lmr_job *job, const int *index, int count, larmor_array **image,
                               larmor_recon_report *report);

/* The inputs of the images of these groups; the maps become the job's.
 *
 * frame   [count], to be closed.
 * report  gets what is known before the images are solved for. */
larmor_status lmr_frames_open(lmr_job *job, const int *index, int count, lmr_frame **frame,
                              larmor_recon_report *report);
void lmr_frames_close(lmr_frame *frame, int count); /* NULL is fine */

/* The images of the solution x, as lmr_solve_groups has them. image: [lmr_outputs]. */
larmor_status lmr_frames_images(const lmr_job *job, const lmr_frame *frame, int count, larmor_array *x,
                                larmor_array **image);

/* The job's maps from this group, and with keep_weights the density weights of the other, as after the series that
 * they are of; -1: none. */
larmor_status lmr_group_restore(lmr_job *job, int maps_from, int weights_from);

larmor_status lmr_check_image(const larmor_array *x, const larmor_group *g);

/* The maps of a group become the job's, without its image. report: of the maps. */
larmor_status lmr_group_maps(lmr_job *job, int index, larmor_coils_report *report);
