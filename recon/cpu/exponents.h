/* Many exponentials at once. SPDX-License-Identifier: Apache-2.0 */
#pragma once

enum { LMR_EXPONENTS = 256 };

/* out[i] <- exp(2 pi i sum of factor_l own_l[i] over phases - sum of factor_l own_l[i] over decays), for
 * i < LMR_EXPONENTS; out: pairs of real and imaginary part. Phases are to be below 2^50 cycles. */
typedef void (*lmr_exponents)(int terms, const double (*own)[LMR_EXPONENTS], const double *factor,
                              const char *is_decay, double *out);

extern const lmr_exponents lmr_exponents_base;
#if defined(__x86_64__)
extern const lmr_exponents lmr_exponents_avx2, lmr_exponents_avx512;
#endif

/* The quickest that this processor has. */
lmr_exponents lmr_exponents_best(void);
