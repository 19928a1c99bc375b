/* Readouts whose signal has another size, as in the approach to a steady state: in spokes one after the other by
 * angle the first and the last one are neighbours, whose difference a delay makes up for.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/owned.h"
#include "core/select.h"
#include "recon/gradients/spokes.h"

/* The squared magnitude of a sample in all coils. */
static double energy_of(const lmr_spokes *s, int64_t at)
{
    const double *x = s->value + 2 * s->coils * at;
    double sum = 0;
    for (int i = 0; i < 2 * s->coils; i++) sum += x[i] * x[i];
    return sum;
}

/* The largest magnitude along a spoke, between samples by a parabola through the logarithms. */
static double peak_of(const lmr_spokes *s, const lmr_spoke *p)
{
    int64_t best = 0;
    for (int64_t i = 1; i < p->count; i++)
        if (energy_of(s, p->at + i) > energy_of(s, p->at + best)) best = i;
    const double middle = energy_of(s, p->at + best);
    if (best == 0 || best == p->count - 1 || !(middle > 0)) return sqrt(middle);
    const double below = energy_of(s, p->at + best - 1), above = energy_of(s, p->at + best + 1);
    if (!(below > 0) || !(above > 0)) return sqrt(middle);
    const double a = log(below), b = log(middle), c = log(above), bend = a - 2 * b + c;
    return bend < 0 ? exp((b - (a - c) * (a - c) / (8 * bend)) / 2) : sqrt(middle);
}

larmor_status lmr_spokes_even(lmr_spokes *s, double *ratio)
{
    LMR_HEAP double *peak = lmr_new(2 * s->count, sizeof *peak);
    if (!peak) return LMR_NO_MEMORY();
    double *sorted = peak + s->count;
    for (int64_t p = 0; p < s->count; p++) sorted[p] = peak[p] = peak_of(s, &s->spoke[p]);
    lmr_sort_f64(sorted, s->count);
    const double low = sorted[s->count / 10], high = sorted[s->count - 1 - s->count / 10];
    const double middle = sorted[s->count / 2];
    *ratio = low > 0 ? high / low : 1;
    if (!(low > 0)) return LARMOR_OK;
    for (int64_t p = 0; p < s->count; p++) {
        double *x = s->value + 2 * s->coils * s->spoke[p].at;
        for (int64_t i = 0; i < 2 * s->coils * s->spoke[p].count && peak[p] > 0; i++) x[i] *= middle / peak[p];
    }
    return LARMOR_OK;
}
