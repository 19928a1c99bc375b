/* Rigid motion of the object during a scan: the trajectory that the object sees, its coil maps, and the operator of
 * readouts that were taken in several states of motion. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_MOTION_H
#define LARMOR_MOTION_H

#include "larmor/recon.h"

LARMOR_C_BEGIN

/* A pose is six numbers: shifts x, y, z in mm and rotations about x, y, z in degrees. What is at r in the pose of
 * zeros is at
 *
 *   R r + t,   R = Rz Ry Rx,
 *
 * with right-handed rotations about the axes of the image (its first, second and third dimension) through the voxel
 * floor(n / 2), first about x, then y, then z. In 2D shifts along x and y and the rotation about z are used.
 *
 * Source  Batchelor et al., Magn. Reson. Med. 54, 1273 (2005), for the model of all functions here. */
enum { LARMOR_POSE = 6, LARMOR_MOST_MOTION_STATES = 32 /* that are found from samples */ };

/* The pose as a map of positions u in fields of view from the centre: turn u + shift.
 *
 * pose, fov_mm  [6], [nd]; nd is 2 or 3.
 * turn          [9], row by row; in 2D the third row and column are those of 1.
 * shift         [3].
 * Errors        LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC. */
LARMOR_API larmor_status larmor_pose_map(const double *pose, int nd, const double *fov_mm, double *turn,
                                         double *shift);

/* The pose of each readout from rows of a tracking file.
 *
 * rows      real [rows, 6]: one row for each readout, or a single one for all; or [rows, 7], where the first number
 *           of a row is the readout, from 0, from which on its pose holds. Those ascend, and the first one is 0.
 * readouts  of which there are to be poses.
 * motion    f64 [readouts, 6].
 * Errors    LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite; LARMOR_ERR_ARG for readouts that do
 *           not ascend, shifts of more than 1e4 mm and rotations of more than 3600 degrees. */
LARMOR_API larmor_status larmor_motion_rows(const larmor_array *rows, int64_t readouts, larmor_array **motion);

/* Samples in the frame of the object: k becomes R^T k, and samples are multiplied by exp(2 pi i k.t).
 *
 * kspace  complex [samples, readouts, coils], changed in place; NULL: the trajectory alone.
 * traj    real [nd, samples, readouts], nd 2 or 3, cycles per field of view.
 * motion  real [readouts, 6].
 * fov_mm  [nd], the field of view.
 * moved   the trajectory, of traj's type.
 * Errors  LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_motion_apply(larmor_array *kspace, const larmor_array *traj,
                                             const larmor_array *motion, const double *fov_mm, larmor_array **moved);

/* Coil maps that the object sees in a pose: maps(R r + t) at r, as the coils stay where they are.
 *
 * Between voxels by cubic convolution (Keys, IEEE Trans. Acoust. Speech Signal Process. 29, 1153 (1981)); beyond the
 * field of view they go on as at its edge. Where all coils are zero, maps are continued from their neighbours first.
 *
 * maps    complex [image..., coils], 2D or 3D.
 * pose    [6].
 * fov_mm  [nd].
 * moved   like maps.
 * Errors  LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC for maps that are zero everywhere or a pose that is
 *         not finite, LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_maps_move(const larmor_array *maps, const double *pose, const double *fov_mm,
                                          larmor_array **moved);

typedef struct larmor_motion_states { /* free with larmor_motion_states_free */
    int count;
    int64_t readouts;
    int *state;                     /* [readouts] */
    double *pose;                   /* [6, count], of each state */
    double within_mm;               /* no point of the object is farther from where its state has it */
    double largest_mm, largest_deg; /* of all poses: shift, and angle of rotation */
} larmor_motion_states;

/* The fewest states that were found so that each readout's pose is near that of its state: coil maps are smooth, so
 * that readouts may share them.
 *
 * motion        real [readouts, 6].
 * nd            2 or 3.
 * fov_mm        [nd]: the object is within half of the longest side from the centre.
 * tolerance_mm  within_mm is at most that, unless there would be more than `most` states: then it is doubled until
 *               there are not.
 * most          at least 1.
 * Errors        LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_motion_states_find(const larmor_array *motion, int nd, const double *fov_mm,
                                                   double tolerance_mm, int most, larmor_motion_states *states);
LARMOR_API void larmor_motion_states_free(larmor_motion_states *states); /* NULL is fine; also sets all to zero */

/* SENSE of readouts that see different coil maps: y of a readout in state m is that of larmor_op_sense with maps m.
 * The normal map is the sum of those of the states, each by Toeplitz or NUFFTs as larmor_op_sense chooses for the
 * first.
 *
 * maps    [states], each [image..., coils], alike; kept, not copied.
 * state   [readouts] of the trajectory, from 0 to states - 1.
 * opts    as for larmor_op_sense; without displacement. opts->traj is [nd, samples, readouts]; off_resonance is that
 *         of all readouts, and of what moves with the object.
 * A       [image...] to [samples, readouts, coils].
 * Errors  those of larmor_op_sense; LARMOR_ERR_ARG for states out of range, LARMOR_ERR_UNSUPPORTED for
 *         displacement. */
LARMOR_API larmor_status larmor_op_sense_states(larmor_array *const *maps, int states, const int *state,
                                                const larmor_sense_opts *opts, larmor_op **A);

/* The same where each state has segments of its own, as fields that stay where they are are others in the object's
 * frame: segments [states] of times [samples, readouts of the state]; opts->off_resonance is not used. NULL: as
 * there. */
LARMOR_API larmor_status larmor_op_sense_states_of(larmor_array *const *maps, larmor_segments *const *segments,
                                                   int states, const int *state, const larmor_sense_opts *opts,
                                                   larmor_op **A);

typedef struct larmor_motion_found {
    int states, helps; /* helps: 1 if the poses explain samples better that were held out; else motion is zeros */
    int steps;         /* of all levels */
    double reach;      /* 1/FOV: the part of k-space that the poses are from */
    /* What the image of the other readouts leaves of readouts that are held out, relative to them, of an object that
     * rests and of one that moves; and the fall of its square, in its standard errors over readouts. */
    double misfit_still, misfit, significance;
} larmor_motion_found;

/* The poses of a few states, groups of as many readouts that follow one another, with which one image explains the
 * samples best; that of the first is zeros. By Gauss and Newton's steps on the misfit of the image that fits best,
 * from the centre of k-space outwards, to 20/FOV in 2D and 8/FOV in 3D; where they help, farther by factors of 2, to
 * 64/FOV and 32/FOV at most, until a level moves nothing by more than a twentieth of a voxel. Every group has to
 * cover k-space: readouts of golden angles or in a random order do.
 *
 * kspace  complex [samples, readouts, coils], in the order of time.
 * traj    real [nd, samples, readouts], nd 2 or 3, cycles per field of view.
 * maps    complex [image..., coils] of the scanner; with one coil, ones.
 * fov_mm  [nd].
 * states  2 to 32, of at least 4 readouts each; 0: 4.
 * motion  f64 [readouts, 6]. found: how well.
 * Errors  LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC without samples in the centre, LARMOR_ERR_MEMORY,
 *         LARMOR_STOPPED.
 * Source  variable projection: Golub and Pereyra, SIAM J. Numer. Anal. 10, 413 (1973); motion from the misfit of
 *         several coils: Haskell et al., IEEE Trans. Med. Imaging 37, 1253 (2018). */
LARMOR_API larmor_status larmor_motion_find(const larmor_array *kspace, const larmor_array *traj,
                                            const larmor_array *maps, const double *fov_mm, int states,
                                            larmor_array **motion, larmor_motion_found *found);

LARMOR_C_END
#endif
