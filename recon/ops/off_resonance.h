/* What SENSE needs of off-resonance: the normal map between segments, and memory. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RECON_OFF_RESONANCE_H
#define LMR_RECON_OFF_RESONANCE_H

#include "larmor/operators.h"

/* A map that does the work of one term of a normal map, y <- T_k x, for x and y of a common shape. */
typedef larmor_status (*lmr_term)(void *self, int k, const larmor_array *x, larmor_array *y);

/* N = sum_k diag(exp(-2 pi i f tau_k)) T_k diag(exp(2 pi i f tau_k)) with the segments of the normal map: the phases act on
 * the leading dimensions of `shape`, whatever the others are, coils or coefficients of a subspace.
 *
 * self     belongs to the operator from a successful return on; destroy may be NULL.
 * Errors   those of larmor_segments_terms. */
larmor_status lmr_op_between_phases(larmor_segments *segments, larmor_dtype dtype, larmor_shape shape, lmr_term term,
                                    void *self, void (*destroy)(void *self), larmor_op **N);

/* values <- b_k(times) .* base, the weights of term k of the normal map; both c128, of the samples' shape or a line of as
 * many. user: the larmor_segments. What lmr_toeplitz_weigh is for lmr_toeplitz_create. */
larmor_status lmr_segments_weigh(void *user, int k, const larmor_array *base, larmor_array *values);

/* Of the arrays of the operator larmor_op_segments, beyond F and the segments. */
double lmr_segments_op_bytes(const larmor_segments *segments, larmor_dtype dtype, larmor_shape in, larmor_shape out);

/* Of the segments themselves, and the terms of the normal map if they were found. */
double lmr_segments_bytes(const larmor_segments *segments);

#endif
