/* What bins rest on, kept for a picture. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

void larmor_gating_signal_free(larmor_gating_signal *signal)
{
    if (!signal) return;
    LMR_FREE(signal->at, signal->value, signal->trigger);
    *signal = (larmor_gating_signal){.from = LARMOR_GATED_BY_NOTHING};
}

void larmor_gating_trace_free(larmor_gating_trace *trace)
{
    if (!trace) return;
    larmor_gating_signal_free(&trace->heart);
    larmor_gating_signal_free(&trace->breath);
    LMR_FREE(trace->seconds, trace->bin);
    *trace = (larmor_gating_trace){.readouts = 0};
}

static larmor_status copy(const double *from, int64_t count, double **to)
{
    if (!from) return LARMOR_OK;
    LMR_ALLOCATE_ZEROS(*to, count + 1);
    memcpy(*to, from, (size_t)count * sizeof **to);
    return LARMOR_OK;
}

larmor_status lmr_trace_copy(const larmor_gating_signal *from, larmor_gating_signal *to)
{
    *to = *from;
    to->at = to->value = to->trigger = NULL;
    LMR_TRY(copy(from->at, from->points, &to->at));
    LMR_TRY(copy(from->value, from->points, &to->value));
    return copy(from->trigger, from->triggers, &to->trigger);
}

larmor_status lmr_trace_rhythm(const larmor_rhythm *rhythm, const double *seconds, int64_t readouts, int beats,
                               larmor_gating_signal *s)
{
    LMR_HEAP lmr_ranked *list = calloc((size_t)readouts + 1, sizeof *list);
    *s = (larmor_gating_signal){.from = LARMOR_GATED_BY_SAMPLES,
                                .report = "samples in the centre of k-space",
                                .at = calloc((size_t)readouts + 1, sizeof *s->at),
                                .value = calloc((size_t)readouts + 1, sizeof *s->value),
                                .points = readouts,
                                .trigger = beats ? calloc((size_t)readouts + 1, sizeof *s->trigger) : NULL,
                                .rate = rhythm->rate,
                                .reliability = rhythm->reliability};
    if (!list || !s->at || !s->value || (beats && !s->trigger)) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < readouts; i++) list[i] = (lmr_ranked){seconds[i], i};
    lmr_sort_ranked(list, readouts);
    double before = 0;
    for (int64_t i = 0; i < readouts; i++) {
        const double phase = rhythm->phase[list[i].index];
        s->at[i] = list[i].value;
        s->value[i] = rhythm->signal[list[i].index];
        if (beats && i && floor(phase) > floor(before)) s->trigger[s->triggers++] = s->at[i];
        before = phase;
    }
    return LARMOR_OK;
}

larmor_status lmr_trace_take(const larmor_bins_opts *o, const double *seconds, const int *bin, int64_t readouts,
                             larmor_gating_signal *heart, larmor_gating_signal *breath)
{
    larmor_gating_trace *t = o->trace;
    *t = (larmor_gating_trace){.heart = *heart,
                               .breath = *breath,
                               .bin = calloc((size_t)readouts + 1, sizeof *t->bin),
                               .readouts = readouts,
                               .heart_bins = o->heart,
                               .breath_bins = o->breath,
                               .time_bins = o->time};
    *heart = *breath = (larmor_gating_signal){.from = LARMOR_GATED_BY_NOTHING};
    if (!t->bin) return LMR_NO_MEMORY();
    memcpy(t->bin, bin, (size_t)readouts * sizeof *t->bin);
    return copy(seconds, readouts, &t->seconds);
}
