/* The weight of a penalty, of |x|^2 or of a regulariser, by trials that are made for it. SPDX-License-Identifier:
 * Apache-2.0 */
#include "recon/choose/choose.h"
#include "core/core.h"

/* Of the samples held out, beyond their noise, what the best image predicts; all where none are held out, or where
 * they are noise for the most part. */
static double part_predicted(const lmr_trial *t)
{
    const double signal = t->held_square - t->held_noise;
    if (t->disturbed || t->curve.count == 0 || !(signal > t->held_noise)) return 1;
    return (t->held_square - t->curve.value[lmr_curve_index(&t->curve)]) / signal;
}

larmor_status larmor_choose_weight(larmor_op *A, const larmor_array *b, const larmor_held_out *held,
                                   const larmor_circulant *C, const larmor_regulariser *r,
                                   const larmor_solve_opts *opts, larmor_choice *choice)
{
    const double begin = lmr_seconds();
    const larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    lmr_trial t = {
        .monitor = o.monitor, .user = o.user, .has_penalty = r != NULL, .set = r ? NULL : o.set, .best = o.best};
    LMR_NEED(choice);
    *choice = (larmor_choice){0};
    LMR_REFUSE(!A || !b || !held || !C || (held->A ? !held->factors : !held->noise), LARMOR_ERR_ARG,
               "choose: A, b, a circulant and samples held out, or a sample of the noise, are needed");
    LMR_REFUSE(held->part.A && (!held->part.b || !held->part.factors || (held->noise && !held->part.noise)),
               LARMOR_ERR_ARG, "choose: the part has no %s, expected it as larmor_hold_part gives it",
               held->part.b && held->part.factors ? "noise" : "samples or factors");
    larmor_status st = lmr_trial_create(A, b, held, C, &t);
    if (!st) st = r ? lmr_choose_regularised(&t, r, &o) : lmr_choose_tikhonov(&t);
    t.choice.predicted = part_predicted(&t);
    if (t.curve.count > 0 && t.held_square > 0)
        t.choice.misfit = t.curve.value[lmr_curve_index(&t.curve)] / t.held_square;
    if (t.intensity.count > 0) t.choice.intensity = lmr_curve_value(&t.intensity, log(t.choice.weight));
    t.choice.points = t.curve.count;
    for (int i = 0; i < t.curve.count; i++) {
        t.choice.weights[i] = exp(t.curve.at[i]);
        t.choice.misfits[i] = t.held_square > 0 ? t.curve.value[i] / t.held_square : t.curve.value[i];
    }
    t.choice.seconds = lmr_seconds() - begin;
    *choice = t.choice;
    lmr_trial_free(&t);
    return st;
}
