/* Where the samples of a scan are, for scans that store no trajectory or a wrong one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_TRAJECTORY_H
#define LARMOR_TRAJECTORY_H

#include "larmor/array.h"

LARMOR_C_BEGIN

/* Readouts in the order of acquisition. All pointers are to memory of the host, which larmor_trajectory_free frees
 * after a call of the library that filled them; a caller who fills them keeps them. */
typedef struct larmor_trajectory {
    int dims;         /* components of a sample: 2 or 3 */
    int64_t readouts; /* at least 1 */
    int64_t *first;   /* [readouts + 1]: where each readout's samples begin among all; the last is their number */
    double *k;        /* [dims, samples] */
    double *time_s;   /* [samples] of its readout, in s from a moment that is the readout's own; NULL: by their dwell
                       * time */
    double *weight;   /* [samples] density, >= 0; NULL: none */
    double *phase;    /* [samples] rad by which the receiver turned a sample, which is turned back; NULL: none */
    double fov_mm[3]; /* that it was made for; 0: not known */
    char units[48];   /* of k, as in larmor_raw_opts; "": larmor_raw_opts.traj_units holds */
    char name[200];   /* for messages: its file */
    int of_sequence;  /* 1: of the sequence that ran: where it resolves more than the header's matrix, by up to twice,
                       * the matrix is that of the sequence */
} larmor_trajectory;

typedef struct larmor_trajectory_opts { /* zero means default */
    const char *times;   /* a .npy or .cfl: a time in s for each sample, in the order of the trajectory */
    const char *weights; /* such a file of density weights, as larmor dcf writes them */
    const char *units;   /* of an MRD file's trajectory, as in larmor_raw_opts; other files leave it to the scan */
} larmor_trajectory_opts;

/* Read a trajectory: .npy or .cfl, [2 or 3, samples, readouts...] of real numbers as larmor_traj_save writes it,
 * where further dimensions are readouts; or .h5, that of the readouts of another ISMRMRD scan which make its images,
 * in the order of the file, as cycles per metre by that scan's header.
 *
 * opts    may be NULL.
 * Errors  LARMOR_ERR_SHAPE: not such an array, or times or weights of another number of samples; LARMOR_ERR_FORMAT:
 *         not finite, weights below 0, or an ISMRMRD scan without a trajectory; those of larmor_image_read and
 *         larmor_raw_open. */
LARMOR_API larmor_status larmor_trajectory_read(const char *path, const larmor_trajectory_opts *opts,
                                                larmor_trajectory *out);
LARMOR_API void larmor_trajectory_free(larmor_trajectory *trajectory); /* also sets all to 0; NULL is fine */

LARMOR_C_END
#endif
