/* Echo-planar lines of both directions: what differs between them and makes a ghost. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_GHOST_H
#define LARMOR_GHOST_H

#include "larmor/array.h"

LARMOR_C_BEGIN

/* Samples y(k) of forward lines, along which k grows, are those at k + shift/2, turned by phase/2; those of the
 * others are at k - shift/2, turned by -phase/2. */
typedef struct larmor_ghost {
    double phase; /* rad */
    double shift; /* cycles per field of view */
} larmor_ghost;

typedef struct larmor_ghost_report {
    int64_t forward, backward; /* lines of each direction; both 0 where readouts are no lines of both directions */
    int64_t pairs; /* of lines of both directions at one place, where half of all places have one: then they say what
                    * the ghost is, and the sums below are the squares of what differs within them */
    double spacing, gap; /* of neighbouring lines, in 1/FOV: on average, and what one in ten exceeds */
    double before,
        after;  /* sum of the magnitudes of the coils' images, per voxel, as given and with what was found */
    double any; /* the same with any phase at each place along lines, if `turned` is given: a ghost needs no more */
    double
        reversed; /* the same as `after` with each backward line read from its other end: less than that where lines
                      * are not stored as they are described */
    int is_clear; /* 1: that sum becomes smaller than chance makes it */
} larmor_ghost_report;

/* How many readouts are lines along the axis that the first one goes along, in either direction. Here and below
 * readouts may differ in length, filled up as by larmor_samples_align.
 *
 * traj    real [nd, samples, readouts].
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_ghost_lines(const larmor_array *traj, int64_t *forward, int64_t *backward);

/* Lines that are all stored in one direction, as of a file whose writer has turned every second one and does not
 * say so: which ones these would be. Lines of a shot follow each other in time to one side across the lines, at
 * least four of them; the second, fourth, ... of each shot are said to be turned. Whether they were, the data tell:
 * larmor_ghost_estimate finds a ghost with `turned`.
 *
 * traj    real [nd, samples, lines], in the order of time.
 * turned  [lines] 1 or 0.
 * count   how many; 0 of other readouts.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_ghost_turned(const larmor_array *traj, unsigned char *turned, int64_t *count);

/* The phase and the shift between lines of both directions that leave the least ghost: those for which the sum of
 * the magnitudes of the coils' images is least, as a ghost adds to it where there is no object. Lines are parallel
 * to one axis. Phases that differ by pi move the image by half a field of view: of the two the one between -pi/2 and
 * pi/2 is found, or the other one if `known` is NULL and the image would lie around the edges with nothing in its
 * middle.
 *
 * kspace  complex [samples, lines, coils], in the order of time.
 * traj    real [nd, samples, lines], cycles per field of view, nd 2 or 3; samples outside the image's k-space are
 *         left out.
 * turned  [lines] 1: of a line that was acquired in the direction that k does not go; or NULL: none.
 * image   of the grid, of which central k-space is looked at.
 * known   [lines] what is corrected before, as navigators give it; or NULL.
 * found   zero where there are no lines of both directions, and where it is not clear.
 * report  or NULL.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_ghost_estimate(const larmor_array *kspace, const larmor_array *traj,
                                               const unsigned char *turned, larmor_shape image,
                                               const larmor_ghost *known, larmor_ghost *found,
                                               larmor_ghost_report *report);

typedef struct larmor_ghost_of_coils {
    larmor_ghost ghost;       /* of the image; zero where it is not clear */
    larmor_ghost calibration; /* of the calibration lines, likewise */
    int is_known;             /* 0: there is no dense centre, and the scan does not tell */
    int is_clear;
    double gain; /* by how much less the samples are off what the coils explain, relative to what is left */
} larmor_ghost_of_coils;

/* The same of lines of a plane that are too far apart for its image to show the ghost: the phase and the shift by
 * which several coils explain lines of both directions together best. Coils are known from 12 or more dense lines
 * around the centre of the calibration, after a ghost of its own. Of one coil the ghost is that of the image's own
 * dense lines, and gain is 0. Volumes are not looked at.
 *
 * kspace  complex [samples, lines, coils]; traj real [2, samples, lines], in the order of time.
 * calibration, calibration_traj  likewise, with as many coils; NULL: the image's own lines.
 * image   of the grid.
 * found   all zero where the scan does not tell.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_ghost_by_coils(const larmor_array *kspace, const larmor_array *traj,
                                               const larmor_array *calibration, const larmor_array *calibration_traj,
                                               larmor_shape image, larmor_ghost_of_coils *found);

/* The same from navigators: lines through ky = 0 of alternating directions. Each is compared with the mean of its
 * neighbours of the other direction, in which phases that grow with time cancel, summed over the coils.
 *
 * kspace  complex [samples, lines, coils]; traj real [samples, lines], along the lines, in cycles per field of
 *         view.
 * first, end  the lines of one shot: from first to before end.
 * found   zero for fewer than two lines, or lines of one direction.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for lines that are not there; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_ghost_navigators(const larmor_array *kspace, const larmor_array *traj, int64_t first,
                                                 int64_t end, larmor_ghost *found);

/* Correct lines of both directions: samples are turned back, and their coordinates moved to where they are. Evenly
 * spaced lines that cover both sides of the centre keep their coordinates: there the samples are interpolated, by
 * their Fourier transform. Readouts that are no such lines stay as they are.
 *
 * kspace  c64 [samples, lines, coils]; traj f64 [nd, samples, lines]: both are changed.
 * turned  [lines] as above; or NULL: lines that nearly all go one way stay as they are.
 * ghost   [lines].
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_ghost_correct(larmor_array *kspace, larmor_array *traj, const unsigned char *turned,
                                              const larmor_ghost *ghost);

LARMOR_C_END

#endif
