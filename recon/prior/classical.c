/* Denoisers from larmor's penalties. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prior/prior.h"

LMR_OWNS(larmor_regulariser, larmor_regulariser_free)

enum { STEPS = 40 }; /* of the split; of noise nothing is known beyond a few digits */
#define DENOISED_TOL 1e-4

typedef struct by_penalty {
    char *name;
    double weight;
} by_penalty;

static larmor_status same(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    return larmor_copy(x, y);
}

/* min |z - x|^2 / 2 + sigma weight R(z), from z = x. */
static larmor_status penalise(void *self, double sigma, const larmor_array *x, larmor_array *z)
{
    static const larmor_op_impl identity = {"identity", same, same, same, NULL};
    const by_penalty *p = self;
    const larmor_solve_opts opts = {.max_iter = STEPS, .tol = DENOISED_TOL, .largest = 1};
    LMR_TRY(larmor_copy(x, z));
    if (!(sigma > 0)) return LARMOR_OK;
    LMR_OWN(larmor_op, I, larmor_op_create(x->dev, &identity, NULL, x->dtype, x->shape, x->shape, &I));
    LMR_OWN(larmor_regulariser, r, larmor_regulariser_create(x->dev, p->name, NULL, x->dtype, x->shape, &r));
    LMR_TRY(larmor_regulariser_set_weight(r, sigma * p->weight));
    return larmor_regularised(I, x, r, z, &opts, NULL);
}

LMR_DESTROYS(free_penalty, by_penalty, name)

larmor_status larmor_denoiser_named(const char *name, double weight, larmor_denoiser **d)
{
    larmor_penalties unused;
    LMR_NEED_OUT(d);
    LMR_REFUSE(!name, LARMOR_ERR_ARG, "larmor_denoiser_named: name is NULL");
    LMR_REFUSE(!(weight >= 0) || !isfinite(weight), LARMOR_ERR_ARG,
               "prior %s: weight is %g, expected a finite number >= 0", name, weight);
    LMR_TRY(larmor_regulariser_read(name, &unused));
    by_penalty *p = calloc(1, sizeof *p);
    if (p) p->name = strdup(name);
    if (!p || !p->name) {
        free(p);
        return LMR_NO_MEMORY();
    }
    p->weight = weight > 0 ? weight : 1;
    const larmor_denoiser_impl impl = {.name = p->name, .apply = penalise, .destroy = free_penalty};
    const larmor_status st = larmor_denoiser_create(&impl, p, d);
    if (st) free_penalty(p);
    return st;
}
