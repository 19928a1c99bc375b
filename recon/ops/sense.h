/* How larmor_op_sense applies its normal map. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RECON_SENSE_H
#define LMR_RECON_SENSE_H

#include "larmor/recon.h"

/* Coils that go through the NUFFT at a time. */
int64_t lmr_sense_block(const larmor_problem *p, const larmor_sense_opts *opts);

/* The NUFFT of so many coils. */
larmor_nufft_opts lmr_sense_nufft(const larmor_problem *p, const larmor_sense_opts *opts, int64_t coils);

/* Whether the normal map is to be Toeplitz, whatever the memory; MAYBE: to be timed against forward map and adjoint.
 * of_nufft: what these take of the time of the NUFFT's. */
enum { LMR_TOEPLITZ_NO, LMR_TOEPLITZ_YES, LMR_TOEPLITZ_MAYBE };
int lmr_sense_wants_toeplitz(const larmor_problem *p, const larmor_sense_opts *opts, double of_nufft);

#endif
