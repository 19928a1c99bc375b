/* Which options of samples that decay go together. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

#define MAX_T2STAR_MS 1e6

static larmor_status check_others(const larmor_simulation_opts *o)
{
    LMR_REFUSE(o->signal || o->r2star != 0 || o->epi || o->bands, LARMOR_ERR_ARG,
               "simulation: got T2*, expected no signal of tissues, epi and bands beside it");
    if (o->t2stars == 1) return LARMOR_OK;
    LMR_REFUSE(strcmp(o->phantom, "tissues"), LARMOR_ERR_ARG,
               "simulation: got %d T2* of %s, expected 1, or %d of the phantom tissues", o->t2stars, o->phantom,
               LARMOR_TISSUES);
    LMR_REFUSE(o->contrast != 0, LARMOR_ERR_ARG,
               "simulation: got T2* of each tissue, expected no contrast agent beside it");
    return LARMOR_OK;
}

larmor_status lmr_decay_check(const larmor_simulation_opts *o)
{
    if (!o->t2stars) return LARMOR_OK;
    LMR_REFUSE((o->t2stars != 1 && o->t2stars != LARMOR_TISSUES) || !o->t2star_ms, LARMOR_ERR_ARG,
               "simulation: got %d T2*, expected 1, or %d of the phantom tissues", o->t2stars, LARMOR_TISSUES);
    for (int i = 0; i < o->t2stars; i++)
        LMR_REFUSE(!(o->t2star_ms[i] > 0 && o->t2star_ms[i] <= MAX_T2STAR_MS), LARMOR_ERR_ARG,
                   "simulation: got a T2* of %g ms, expected more than 0, at most %g", o->t2star_ms[i],
                   MAX_T2STAR_MS);
    return check_others(o);
}
