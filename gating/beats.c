/* Beats that gaps of a waveform took, and the rate of the others. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/waves.h"

#define MAX_CYCLE_OVER_MEDIAN 1.5 /* as lmr_gating_phase has it */
#define MAX_OFF 0.25              /* of a cycle, by which what is between two beats may differ from whole cycles */

enum { MOST_LOST = 2 }; /* beats in a row that are put in */

/* Lengths of cycles [count - 1], negative of those with a gap; returns how many have none. */
static int64_t measure(const lmr_track *t, const double *times, int64_t count, double *length)
{
    int64_t whole = 0;
    for (int64_t c = 0; c + 1 < count; c++) {
        const int is_whole = !lmr_track_is_parted(t, times[c], times[c + 1]);
        length[c] = (is_whole ? 1 : -1) * (times[c + 1] - times[c]);
        whole += is_whole;
    }
    return whole;
}

static double usual_length(const double *length, int64_t cycles, double *room)
{
    int64_t whole = 0;
    for (int64_t c = 0; c < cycles; c++)
        if (length[c] > 0) room[whole++] = length[c];
    return whole ? lmr_median_f64(room, whole) : 0;
}

/* The mean of the next whole cycles on both sides of cycle c, of those that miss no beat. */
static double length_near(const double *length, int64_t cycles, int64_t c, double usual)
{
    double sum = 0;
    int sides = 0;
    for (int side = -1; side <= 1; side += 2)
        for (int64_t i = c + side; i >= 0 && i < cycles; i += side) {
            if (!(length[i] > 0 && length[i] <= MAX_CYCLE_OVER_MEDIAN * usual)) continue;
            sum += length[i];
            sides++;
            break;
        }
    return sides ? sum / sides : usual;
}

/* How many beats are put into a cycle of this length, each of them in a gap; 0: none. */
static int lost_beats(const lmr_track *t, double from, double length, double near)
{
    const int beats = (int)fmin(round(length / near), MOST_LOST + 2) - 1;
    if (beats < 1 || beats > MOST_LOST || fabs(length - (beats + 1) * near) > MAX_OFF * near) return 0;
    for (int b = 1; b <= beats; b++)
        if (!lmr_track_lacks(t, from + length * b / (beats + 1), 0, MAX_OFF * near)) return 0;
    return beats;
}

static void sum_up(const double *times, int64_t count, lmr_beats *b)
{
    double known = 0, unknown = 0;
    int64_t cycles = 0;
    for (int64_t c = 0; c + 1 < count; c++) {
        const double length = times[c + 1] - times[c];
        const int is_known = length <= MAX_CYCLE_OVER_MEDIAN * b->cycle;
        if (is_known) known += length;
        if (!is_known) unknown += length - b->cycle;
        cycles += is_known;
    }
    b->hz = cycles ? (double)cycles / known : 0;
    b->known = cycles ? 1 - unknown / (times[count - 1] - times[0]) : 0;
}

larmor_status lmr_track_bridge(const lmr_track *t, double **times, int64_t *count, lmr_beats *beats)
{
    const int64_t n = *count;
    *beats = (lmr_beats){.whole = 0};
    if (n < 2) return LARMOR_OK;
    LMR_HEAP LMR_NEW_ZEROS(double, length, n);
    LMR_HEAP LMR_NEW_ZEROS(double, all, (MOST_LOST + 1) * n);
    beats->whole = measure(t, *times, n, length);
    beats->cycle = usual_length(length, n - 1, all);
    if (!beats->whole) return LARMOR_OK;
    *count = 0;
    for (int64_t c = 0; c < n; c++) {
        const double from = (*times)[c];
        all[(*count)++] = from;
        if (c + 1 == n || length[c] > 0) continue;
        const int lost = lost_beats(t, from, -length[c], length_near(length, n - 1, c, beats->cycle));
        for (int b = 1; b <= lost; b++) all[(*count)++] = from - length[c] * b / (lost + 1);
    }
    sum_up(all, *count, beats);
    double *const old = *times;
    *times = all;
    all = old;
    return LARMOR_OK;
}
