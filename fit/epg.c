/* Signals of FISP by extended phase graphs (Weigel, J. Magn. Reson. Imaging 41, 266 (2015)). Pulses are about y, so
 * that all states are real. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

typedef struct job {
    const larmor_fisp *s;
    int64_t entries;
    const double *table; /* [entries, 2] */
    float *signals;      /* [entries, pulses] */
    int fails;
} job;

/* One repetition of the states up to order `most`: dephased transverse ones, up and down, and longitudinal ones. */
static double repeat(const larmor_fisp *s, int64_t n, int64_t most, double t1, double t2, double *state)
{
    double *up = state, *down = up + s->pulses + 2, *along = down + s->pulses + 2;
    const double angle = s->degrees[n] * M_PI / 180, sine = sin(angle), cosine = cos(angle);
    const double even = 0.5 * (1 + cosine), odd = 0.5 * (1 - cosine);
    const double e1 = exp(-s->tr_ms[n] / t1), e2 = exp(-s->tr_ms[n] / t2);
    double echo = 0;
    for (int64_t k = 0; k <= most; k++) {
        const double u = up[k], d = down[k], z = along[k];
        up[k] = even * u - odd * d + sine * z;
        down[k] = even * d - odd * u + sine * z;
        along[k] = cosine * z - 0.5 * sine * (u + d);
        if (!k) echo = up[0] * exp(-s->te_ms / t2);
        up[k] *= e2;
        down[k] *= e2;
        along[k] *= e1;
    }
    along[0] += 1 - e1;
    for (int64_t k = most + 1; k > 0; k--) up[k] = up[k - 1];
    for (int64_t k = 0; k <= most; k++) down[k] = down[k + 1];
    up[0] = down[0];
    return echo;
}

static void simulate(void *self, int64_t e)
{
    job *b = self;
    const larmor_fisp *s = b->s;
    const double t1 = b->table[e], t2 = b->table[e + b->entries];
    LMR_HEAP double *state = calloc((size_t)(3 * (s->pulses + 2)), sizeof *state);
    if (!state) {
        b->fails = 1;
        return;
    }
    state[2 * (s->pulses + 2)] = s->inversion_ms > 0 ? 1 - 2 * exp(-s->inversion_ms / t1) : 1;
    for (int64_t n = 0; n < s->pulses; n++) {
        const int64_t left = s->pulses - n; /* states of a higher order are not refocused before the end */
        b->signals[e + b->entries * n] = (float)repeat(s, n, n < left ? n : left, t1, t2, state);
    }
}

static larmor_status check_inputs(const larmor_array *table, const larmor_fisp *s, const double *values)
{
    const int64_t entries = table->shape.dim[0];
    int are_fine = isfinite(s->te_ms) && s->te_ms >= 0 && isfinite(s->inversion_ms) && s->inversion_ms >= 0;
    for (int64_t n = 0; n < s->pulses; n++)
        are_fine = are_fine && isfinite(s->degrees[n]) && isfinite(s->tr_ms[n]) && s->tr_ms[n] >= s->te_ms;
    LMR_REFUSE(!are_fine, LARMOR_ERR_ARG,
               "sequence: got a number that is not finite, a time below 0 or a repetition "
               "below the echo time, expected none");
    for (int64_t i = 0; i < 2 * entries; i++)
        LMR_REFUSE(!(values[i] > 0), LARMOR_ERR_ARG, "table: got %g in entry %lld, expected T1 and T2 above 0 ms",
                   values[i], (long long)(i % entries));
    return LARMOR_OK;
}

larmor_status larmor_epg_fisp(const larmor_array *table, const larmor_fisp *sequence, larmor_array **signals)
{
    LMR_NEED(signals);
    *signals = NULL;
    LMR_NEED(table, sequence, sequence->degrees, sequence->tr_ms);
    LMR_REFUSE(!lmr_is_real(table->dtype) || table->shape.ndim != 2 || table->shape.dim[0] < 1 ||
                   table->shape.dim[1] != 2,
               LARMOR_ERR_SHAPE, "table: got %s, expected real numbers [entries, 2]: T1 and T2 in ms",
               lmr_describe(table).s);
    LMR_REFUSE(sequence->pulses < 1 || sequence->pulses > 1 << 20, LARMOR_ERR_ARG,
               "sequence.pulses: got %lld, expected 1 to %d", (long long)sequence->pulses, 1 << 20);
    job b = {.s = sequence, .entries = table->shape.dim[0]};
    LMR_TRY(larmor_array_expect_finite(table, "table"));
    LMR_OWN_MEMORY(double, values, larmor_array_download(table, LARMOR_F64, &values));
    LMR_TRY(check_inputs(table, sequence, values));
    LMR_HEAP LMR_NEW(float, made, b.entries * sequence->pulses);
    b.table = values;
    b.signals = made;
    LMR_TRY(lmr_parallel(lmr_device_threads(table->dev), b.entries, simulate, &b));
    if (b.fails) return LMR_NO_MEMORY();
    return larmor_array_upload(table->dev, LARMOR_F32, LARMOR_SHAPE(b.entries, sequence->pulses), LARMOR_F32, made,
                               signals);
}
