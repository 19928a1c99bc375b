/* Off-resonance: the caller's map on a group's grid, and the times of its samples. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LMR_PIPELINE_OFF_RESONANCE_H
#define LMR_PIPELINE_OFF_RESONANCE_H

#include "scan/job.h"

/* The caller's map on the host, and segments that were found before. The job's; NULL: everything is on resonance. */
typedef struct lmr_field lmr_field;

/* Check and keep opts->b0. Errors: LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC. */
larmor_status lmr_field_open(const larmor_recon_opts *opts, lmr_scan_facts *facts);
void lmr_field_free(lmr_field *field); /* NULL is fine */

/* Segments for groups whose samples follow one another, frames of a basis for example. traj: their trajectory,
 * which tells when k = 0 was sampled; NULL where only their number matters. A reference for the caller; NULL
 * without a map. */
larmor_status lmr_find_segments(const lmr_job *job, const int *index, int count, const larmor_array *traj,
                                larmor_segments **segments);

#endif
