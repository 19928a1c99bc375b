/* The options of a reconstruction. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_OPTIONS_H
#define LMR_PIPELINE_OPTIONS_H

#include "pipeline/state.h"

/* The caller's options, checked and copied into r and its job.
 *
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_MEMORY. */
larmor_status lmr_options_read(const larmor_recon_opts *opts, larmor_recon *r);

#endif
