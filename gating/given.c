/* Cycles by triggers, and signals that the caller has. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

#define DAY_S 86400.0             /* after which the clock begins anew */
#define MAX_CYCLE_OVER_MEDIAN 1.5 /* of a cycle's length: beyond, a trigger was missed */
#define ROUNDING_S 1e-9           /* a readout at a trigger is of the cycle that begins */

double lmr_clock_s(uint32_t stamp, uint32_t begin, double tick_ms)
{
    const double s = 1e-3 * tick_ms * ((double)stamp - (double)begin);
    if (s < -DAY_S / 2) return s + DAY_S;
    return s > DAY_S / 2 ? s - DAY_S : s;
}

/* The last cycle that begins at t or before; -1: none does. */
static int64_t cycle_at(const double *begin, int64_t cycles, double t)
{
    int64_t low = 0, high = cycles;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (begin[middle] <= t)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

larmor_status lmr_gating_phase(const double *begin, int64_t cycles, double cycle, const double *seconds,
                               int64_t count, double *phase)
{
    LMR_HEAP LMR_NEW_ZEROS(double, length, cycles + 1);
    for (int64_t c = 0; c + 1 < cycles; c++) length[c] = begin[c + 1] - begin[c];
    const double median = cycle > 0 ? cycle : lmr_median_f64(length, cycles - 1);
    for (int64_t i = 0; i < count; i++) {
        const double t = seconds[i] + ROUNDING_S;
        const int64_t c = cycle_at(begin, cycles, t);
        if (c < 0) {
            phase[i] = (t - begin[0]) / median;
            continue;
        }
        const double own = c + 1 < cycles ? begin[c + 1] - begin[c] : median;
        const double passed = (t - begin[c]) / (own > MAX_CYCLE_OVER_MEDIAN * median ? median : own);
        phase[i] = passed < 1 || c + 1 == cycles ? (double)c + passed : NAN;
    }
    return LARMOR_OK;
}

void lmr_given_free(lmr_given *given)
{
    free(given->number);
    *given = (lmr_given){.number = NULL};
}

static larmor_status check_numbers(const char *name, const lmr_given *g)
{
    for (int64_t i = 0; i < g->count; i++) {
        LMR_REFUSE(!isfinite(g->number[i]), LARMOR_ERR_NUMERIC, "bins: number %lld of the %s is not finite",
                   (long long)i, name);
        LMR_REFUSE(g->is_times && i && !(g->number[i] > g->number[i - 1]), LARMOR_ERR_ARG,
                   "bins: times of the %s: number %lld is not above the one before", name, (long long)i);
    }
    return LARMOR_OK;
}

larmor_status lmr_given_read(const char *name, const larmor_array *times, const larmor_array *numbers,
                             int64_t readouts, lmr_given *given)
{
    const larmor_array *array = times ? times : numbers;
    *given = (lmr_given){.number = NULL};
    if (!array) return LARMOR_OK;
    LMR_REFUSE(times && numbers, LARMOR_ERR_ARG, "bins: got times and a signal of the %s, expected one of them",
               name);
    const int64_t count = larmor_shape_count(larmor_array_shape(array));
    LMR_REFUSE(times ? count < 2 : count != readouts, LARMOR_ERR_SHAPE,
               "bins: got %lld numbers of the %s, expected %s", (long long)count, name,
               times ? "2 times at least" : "one of each readout");
    LMR_TRY(larmor_array_download(array, LARMOR_F64, &given->number));
    given->count = count;
    given->is_times = times != NULL;
    return check_numbers(name, given);
}

larmor_status lmr_gating_given(const lmr_given *given, const double *seconds, int64_t count, int64_t offset,
                               double **values)
{
    if (!given->number) return LARMOR_OK;
    LMR_ALLOCATE_ZEROS(*values, count + 1);
    if (given->is_times) return lmr_gating_phase(given->number, given->count, given->cycle, seconds, count, *values);
    for (int64_t i = 0; i < count; i++) (*values)[i] = given->number[offset + i];
    return LARMOR_OK;
}
