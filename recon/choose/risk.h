/* How far an image is from the truth, estimated without the truth (Stein 1981; Ramani et al. 2008, 2012).
 *
 * The error that is estimated is |M N (x - truth)|^2 with N = A^H A and M near its inverse on what the samples see: about
 * the squared error of the image itself, where that of the samples, |A (x - truth)|^2, would count what is sampled
 * densely many times. With g = A^H b - N x, e a second sample of the noise in b, and J the change of x with b,
 *
 *     E |M N (x - truth)|^2 = E |M g|^2 + 2 Re E <M A^H e, M N J e> + what does not depend on x,
 *
 * by Stein's lemma, whose trace one random e gives. A floor in M leaves out what the samples hardly see.
 * Public operators and arrays alone, but for the circulant. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RISK_H
#define LMR_RISK_H

#include "larmor/solve.h"
#include "recon/precond/circulant.h"

/* Of M, relative to the mean eigenvalue: what is sampled more thinly than that does not count. */
#define LMR_RISK_FLOOR 0.03

typedef struct lmr_risk {
    larmor_op *A, *M;
    larmor_array *rhs, *noise;   /* A^H b, A^H e */
    larmor_array *twice, *trace; /* M M A^H e; N times that */
    larmor_array *work[2];       /* like x */
    double square, noise_square; /* |b|^2; |M A^H e|^2 */
} lmr_risk;

/* c: of A^H A, or of that of one frame where A has several; noise: e, like b. */
larmor_status lmr_risk_create(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                              const larmor_circulant *c, lmr_risk *risk);
void lmr_risk_free(lmr_risk *risk);

/* Make the noise `factor` times as large. */
larmor_status lmr_risk_scale(lmr_risk *risk, double factor);

/* The estimate for x whose change with the noise e is J e, up to a constant. */
larmor_status lmr_risk_value(lmr_risk *risk, const larmor_array *x, const larmor_array *Je, double *value);

#endif
