/* Images in a data set of BIDS, the Brain Imaging Data Structure 1.10 (bids-specification.readthedocs.io): names,
 * folders and the files that describe the set. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_BIDS_H
#define LARMOR_BIDS_H

#include "larmor/io.h"

LARMOR_C_BEGIN

/* Where an image lies: "FOLDER/sub-01/ses-2/func/sub-01_ses-2_task-rest_echo-2_bold.nii.gz".
 *
 * name    entities in any order and a suffix, with _ between: "sub-01_task-rest_ses-2_bold", with .nii or without;
 *         .nii.gz is the default. Entities are sub, ses, task, acq, ce, rec, dir, run, echo, flip, inv, mt, part and
 *         chunk; suffixes those of MR images in anat, func, dwi, fmap and perf.
 * echo    0: as the name says; from 1: the image is this echo, which the name does not say.
 * path    [room] the same for the same name.
 * Errors  LARMOR_ERR_ARG for a name that BIDS forbids, and for one that does not fit. */
LARMOR_API larmor_status larmor_bids_path(const char *folder, const char *name, int echo, char *path, size_t room);

/* The part of complex images that a name's part- says, for larmor_write_opts.part; the magnitude without one.
 *
 * Errors  LARMOR_ERR_ARG for a name that BIDS forbids, whatever echo is added to it. */
LARMOR_API larmor_status larmor_bids_part(const char *name, larmor_part *part);

/* Begin the file of larmor_bids_path, with its sidecar, as larmor_output_open and larmor_output_add_sidecar do. The
 * folders that lead to it from FOLDER on are made; they stay, empty, where the image is never written.
 *
 * Errors  those of larmor_bids_path, larmor_output_open and larmor_output_add_sidecar; LARMOR_ERR_IO. */
LARMOR_API larmor_status larmor_bids_open(const char *folder, const char *name, int echo, int force,
                                          larmor_output **out);

typedef struct larmor_bids_opts { /* zero means default */
    const char *title;            /* of the data set; NULL: the last part of its folder's path */
    int derivative;               /* 1: DatasetType is "derivative"; else "raw", as of images from a scanner */
    int replace;                  /* 1: a dataset_description.json that is there is written anew */
} larmor_bids_opts;

/* Once images are there, what describes the set: dataset_description.json, unless it is there, with BIDSVersion,
 * Name, DatasetType and GeneratedBy; and a row of participants.tsv for the subject of the name, unless it has one.
 * Rows and columns that are there stay.
 *
 * opts    may be NULL.
 * Errors  LARMOR_ERR_ARG for a name; LARMOR_ERR_FORMAT for a participants.tsv that does not begin with
 *         participant_id; LARMOR_ERR_IO. */
LARMOR_API larmor_status larmor_bids_describe(const char *folder, const char *name, const larmor_bids_opts *opts);

LARMOR_C_END

#endif
