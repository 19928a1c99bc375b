/* The options of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_OPTIONS_H
#define LMR_PIPELINE_OPTIONS_H

#include "pipeline/state.h"

/* The caller's options, checked and copied into r and its job.
 *
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_MEMORY. */
larmor_status lmr_options_read(const larmor_recon_opts *opts, larmor_recon *r);

/* *opts <- what was given, in this version's size: members that this version does not know must be zero, those that the caller
 * does not know are. Pointers stay the caller's. */
larmor_status lmr_options_copy(const larmor_recon_opts *given, larmor_recon_opts *opts);

#endif
