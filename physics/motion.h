/* An image whose object moves between its readouts. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* Readouts of a frame in several states. */
struct lmr_frame_motion {
    int states;
    int *state;                 /* [readouts] */
    larmor_array **maps;        /* [states], as the object sees them in each */
    larmor_segments **segments; /* [states], of each one's readouts; NULL: there is nothing beside the transform */
};

/* 1 if the object moves, as the caller has said. */
int lmr_moves(const lmr_job *job);

/* The most states that an image may have, for the plan of memory; 1: none that move. */
larmor_status lmr_motion_count(const lmr_job *job, int index, int64_t readouts, int *states);

/* Maps from the data are those of places as images show them; they become those of the places themselves. */
larmor_status lmr_maps_to_places(lmr_job *job, int index);

/* New maps go on where they are zero, as the object may move there. */
larmor_status lmr_motion_extend_maps(lmr_job *job, const larmor_grid *grid);

/* Readouts that differ in length become readouts of one sample each, [1, total], which have the pose of theirs;
 * samples.first still tells them. Before segments are found. */
larmor_status lmr_motion_lay_out(const lmr_job *job, lmr_frame *frame);

/* The frame's samples and trajectory become those that the object sees, and its maps those of each state. Its maps
 * are the job's, in the frame of the scanner. */
larmor_status lmr_motion_correct(lmr_job *job, int index, lmr_frame *frame, larmor_recon_report *result);
void lmr_frame_motion_free(struct lmr_frame_motion *motion); /* NULL is fine */

/* SENSE of the frame, in as many states as it has. */
larmor_status lmr_motion_operator(const lmr_frame *frame, const larmor_array *maps, const larmor_sense_opts *opts,
                                  larmor_op **A);
