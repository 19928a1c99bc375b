/* What the files of denoisers share. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/prior.h"
#include "recon/solve/solve.h"

/* z <- apply(x), x in the form that it is told. */
larmor_status lmr_denoise_in_form(const larmor_denoiser_impl *impl, void *self, double sigma, const larmor_array *x,
                                  larmor_array *z);

/* ---- the solver ---- */

/* A run: f has the data term without a weight. */
typedef struct lmr_pnp {
    lmr_data f;
    larmor_denoiser *d;
    larmor_pnp_opts o;
    larmor_op *M;         /* close to the inverse of A^H A + weight, or NULL */
    double sigma, weight; /* of this iteration */
    double made;          /* the weight that M is made for; negative: none */
    double largest;       /* eigenvalue of A^H A, from above */
    double step;          /* RED: over the gradient */
    double age;           /* of the momentum: the t of Beck and Teboulle */
    double last;          /* the weight of the multipliers, or of step; 0: none yet */
    double change, split; /* of the last iteration */
    double misfit;        /* |A x - b|^2 / 2 */
    int iters, denoised, normals;
    larmor_array *x, *Nx;                        /* x: the caller's */
    larmor_array *before, *Nbefore, *y, *Ny, *r; /* ADMM: y has v of least squares, Ny the multipliers */
} lmr_pnp;

/* z <- N x, which is counted. */
static inline larmor_status lmr_pnp_normal(lmr_pnp *s, const larmor_array *x, larmor_array *z)
{
    s->normals++;
    return lmr_data_normal(&s->f, x, z);
}

/* z <- x without noise of s->sigma, which is counted. */
static inline larmor_status lmr_pnp_denoise(lmr_pnp *s, const larmor_array *x, larmor_array *z)
{
    s->denoised++;
    return larmor_denoiser_apply(s->d, s->sigma, x, z);
}

/* What precedes the first iteration, and an iteration: x, N x, and what moved. */
larmor_status lmr_pnp_admm_begin(lmr_pnp *s);
larmor_status lmr_pnp_admm(lmr_pnp *s);
larmor_status lmr_pnp_momentum_begin(lmr_pnp *s);
larmor_status lmr_pnp_momentum(lmr_pnp *s);
