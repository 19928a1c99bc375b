/* What the samples of a scan see beside the Fourier transform: off-resonance, decay, fields that a camera has
 * measured, concomitant fields. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/motion.h"
#include "scan/job.h"

/* The caller's maps and phases on the host, and sums of products that were found before. The job's; NULL: there is
 * nothing beside the Fourier transform. */
typedef struct lmr_physics lmr_physics;

/* Check and keep what the options say. Errors: LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC. */
larmor_status lmr_physics_open(const larmor_recon_opts *opts, lmr_scan_facts *facts);

/* Whether the scan asks for more: phases of slices. Once the grids are there. */
larmor_status lmr_physics_decide(const lmr_job *job, lmr_scan_facts *facts);

/* Concomitant fields are in the model, or not. */
larmor_status lmr_physics_set_concomitant(const larmor_recon_opts *opts, lmr_scan_facts *facts, int on);

/* What was decided for the facts of another device. */
larmor_status lmr_physics_follow(const lmr_scan_facts *decided, const larmor_recon_opts *opts, lmr_scan_facts *facts);

void lmr_physics_free(lmr_physics *physics); /* NULL is fine */

/* The sum for groups whose samples follow one another, frames of a basis for example. traj: their trajectory,
 * which tells when k = 0 was sampled; NULL where only their number matters. A reference for the caller; NULL where
 * there is nothing. */
larmor_status lmr_find_segments(const lmr_job *job, const int *index, int count, const larmor_array *traj,
                                larmor_segments **segments);

/* 1 if there are fields that stay where they are when the object moves: of a camera, and concomitant ones.
 * Off-resonance and decay move with it. */
int lmr_physics_stays(const lmr_job *job);

/* 1 if the model has phases of a field camera. */
int lmr_physics_has_camera(const lmr_job *job);

/* Words for the log: what moves with the object, and what stays. */
const char *lmr_physics_moves_by(const lmr_job *job);

/* Those of the states [states->count] of an object that moves, each of its readouts. traj: of the scanner; all: the
 * sum of all readouts at rest. References for the caller, also after errors. */
larmor_status lmr_find_state_segments(const lmr_job *job, int index, const larmor_array *traj, larmor_segments *all,
                                      const larmor_motion_states *states, larmor_segments **segments);

/* Where images would show the voxels of a group's grid: f64 [image..., ndim] in voxels of it, from where they are. A
 * reference for the caller; NULL where they are where images show them. */
larmor_status lmr_find_displacement(const lmr_job *job, int index, larmor_array **displacement);

/* The same of frame `frame` of a series, by the caller's motion; maps become those of a frame's voxels. */
larmor_status lmr_find_motion(const lmr_job *job, int index, int frame, larmor_array **displacement);
