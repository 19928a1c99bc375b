/* Gradient delays from the samples: intersections of spokes, refined to the likeliest delays.
 * With the right delays samples that are neighbours in k-space predict each other as an object of limited size lets
 * them. Delays, size and noise are fitted together, by all samples of spokes near the centre. Blocks of spokes give
 * independent estimates, and so their standard deviation.
 * Source: Rosenzweig, Holme, Uecker, Magn. Reson. Med. 81, 1898 (2019) for the start.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/gradients/delay_fit.h"
#include "recon/gradients/likelihood.h"
#include "recon/gradients/spokes.h"

/* Lower bound of the noise's variance, relative to the signal's: the last of the floors below. */
static const double min_noise_variance = 1e-9;

/* The search of spirals starts with a larger bound, because without noise the minimum is narrow, and lowers it in
 * these steps. */
static const double noise_floor[] = {1e-2, 1e-4, 1e-6, 1e-9};
enum { FLOORS = sizeof noise_floor / sizeof *noise_floor };

/* Delays are significant if all of these hold (docs/records/delays.md has the scans). */
static const double min_gain_per_number = 0.02; /* of the log likelihood, for each sample of each coil */
static const double min_delay_over_std = 5;     /* a delay over its standard deviation */
static const double min_shift = 0.0125;         /* 1/FOV: of a readout */
static const double max_unexplained = 0.5;      /* of the samples' power, with the delays */
static const double min_distance_kept = 0.5;    /* distance to samples of other readouts, with over without delays */

/* The gain per number of spirals' delays: at most .05 in scans without delays, at least .15 in scans with delays, at
 * SNR 5 and more. */
static const double min_gain_per_number_curved = 0.1;

/* Gain per number that is required without noise, where any delay explains some of the samples. No
 * record has the scans. */
static const double min_gain_without_noise = 0.5;

/* Unexplained power with delays, relative to that without, at most (docs/records/delays.md, "How they are found"). */
static const double max_unexplained_ratio = 0.9;

/* Unexplained part of the power below which delays are clear; above it the search tries other starts. Not
 * measured. */
static const double max_unexplained_clear = 0.1;
/* 1/FOV between starts: samples of an object that fills the field of view are independent at 1. */
static const double start_distance = 0.9;
enum { STARTS = 4 };

/* Spirals: the grid of starts, for the mean of the delays and for their difference. */
static const double curved_start_distance = 0.25; /* 1/FOV */
static const double coupling_start = 0.15;        /* samples: distance of other starts for couplings */

enum { MEAN_STARTS = 13, DIFFERENCE_STARTS = 7 }; /* 3/FOV and 1.5/FOV wide */

/* Part of the first block's spokes with which delays in 3D are searched; the cost grows with its cube
 * (docs/records/delays.md: 0.2 s of a kooshball of 1000 spokes). */
static const double part_of_block_3d = 0.6;

/* Results of two starts that differ by less are the same delays. Not measured: starts are nine times as far apart. */
static const double same_result_distance = 0.1; /* 1/FOV */
/* Gain per number by which the best result of center-out spokes must exceed every other one. No record has
 * the scans. */
static const double min_lead_per_number = 0.1;

/* If center-out spokes start early, no sample lies within this radius of k = 0; the delay is then ambiguous
 * (docs/delays.md, "Limits"). */
static const double max_hole_radius = 0.35; /* 1/FOV */
enum { FEWEST_FROM_CENTRE = 16, FEWEST_CURVED = 4 };

/* Minimum fraction of echoes that must agree with the estimate (docs/records/delays.md, "How they are found"). */
static const double min_echo_fraction = 0.6;

/* Minimum fraction of intersections that must agree with the estimate. Not measured: most of them. */
static const double min_intersection_fraction = 0.5;

/* Unexplained amplitude of spokes of the same strength over that of spokes as they are, below which the signal
 * drifts (docs/records/delays.md, "A signal that drifts"). */
static const double max_unexplained_of_drift = 0.8;

/* Unexplained amplitude of spokes of the same strength, with their delays over that without, at most: noise of the
 * samples that their strength is taken from is explained by delays, too (0.67). */
static const double max_unexplained_ratio_of_drift = 0.5;

/* 1/FOV: echoes may be farther from where significant delays put them than from where none do by this, on average.
 * Spokes over 180 degrees whose signal drifts by a factor of 1.4 to 3: 0.4 to 0.6 (docs/records/delays.md). */
static const double max_echo_shift = 0.25;

/* ---- the search ---- */

typedef struct start {
    double all[LMR_DELAY_NUMBERS], value;
} start;

typedef struct ending { /* lead: by how much it is likelier than others that were found */
    double all[LMR_DELAY_NUMBERS], value, lead;
} ending;

/* Into its place, the likeliest first; the last one is lost. */
static void keep_start(const start *one, start kept[STARTS])
{
    start new = *one;
    for (int i = 0; i < STARTS; i++) {
        if (!(new.value < kept[i].value)) continue;
        const start less = kept[i];
        kept[i] = new;
        new = less;
    }
}

static larmor_status try_start(lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS], start kept[STARTS])
{
    start new = {.value = INFINITY};
    memcpy(new.all, all, sizeof new.all);
    f->values_only = 1;
    const larmor_status st = lmr_delay_value(f, all, &new.value);
    f->values_only = 0;
    if (st) return st == LARMOR_ERR_NUMERIC ? LARMOR_OK : st;
    keep_start(&new, kept);
    return LARMOR_OK;
}

static void clear_starts(start kept[STARTS])
{
    for (int i = 0; i < STARTS; i++) kept[i].value = INFINITY;
}

/* Delays of the axes on a coarse grid around those to begin with. */
static larmor_status try_grid(lmr_delay_fit *f, const double begin[LMR_DELAY_NUMBERS], start kept[STARTS])
{
    const lmr_spokes *s = f->s;
    double trial[LMR_DELAY_NUMBERS], square = 0;
    int places = 1;
    for (int d = 0; d < s->nd; d++) square += s->spoke[0].step[d] * s->spoke[0].step[d];
    for (int d = 0; d < s->nd; d++) places *= 5;
    for (int i = 0; i < places; i++) {
        memcpy(trial, begin, sizeof trial);
        for (int d = 0, rest = i; d < s->nd; d++, rest /= 5)
            trial[d] += (rest % 5 - 2) * start_distance / sqrt(square);
        LMR_TRY(try_start(f, trial, kept));
    }
    return LARMOR_OK;
}

/* How far one sample moves a readout in its window, at most, in cycles per field of view. */
static double fastest_step(const lmr_spokes *s)
{
    double fastest = 0;
    for (int64_t p = 0; p < s->count; p++) {
        const double *k = s->k + s->nd * (s->samples * s->spoke[p].readout + s->spoke[p].first);
        for (int64_t i = 0; i < s->stride * (s->spoke[p].count - 1); i++) {
            double square = 0;
            for (int d = 0; d < s->nd; d++) square += pow(k[s->nd * (i + 1) + d] - k[s->nd * i + d], 2);
            fastest = fmax(fastest, square);
        }
    }
    return sqrt(fastest);
}

/* Into `kept`: places of the grid that are likelier than those around them. */
static void keep_valleys(const start grid[MEAN_STARTS][DIFFERENCE_STARTS], start kept[STARTS])
{
    for (int i = 0; i < MEAN_STARTS; i++)
        for (int j = 0; j < DIFFERENCE_STARTS; j++) {
            int is_least = 1;
            for (int a = -1; a <= 1; a++)
                for (int b = -1; b <= 1; b++) {
                    const int inside = i + a >= 0 && i + a < MEAN_STARTS && j + b >= 0 && j + b < DIFFERENCE_STARTS;
                    if (inside && grid[i + a][j + b].value < grid[i][j].value) is_least = 0;
                }
            if (is_least) keep_start(&grid[i][j], kept);
        }
}

/* Delays of spirals: those of all axes, which are mostly nearly alike, and what these differ by; in space z by a
 * place on either side as well. */
static larmor_status try_curved(lmr_delay_fit *f, const double begin[LMR_DELAY_NUMBERS], start kept[STARTS])
{
    const double distance = curved_start_distance / fmax(fastest_step(f->s), LMR_MIN_SAMPLE_DISTANCE);
    const int sides = f->s->nd > 2 && lmr_delay_moves_along(f->s, 2);
    start grid[MEAN_STARTS][DIFFERENCE_STARTS];
    for (int i = 0; i < MEAN_STARTS; i++)
        for (int j = 0; j < DIFFERENCE_STARTS; j++) {
            start one[STARTS];
            clear_starts(one);
            for (int z = -sides; z <= sides; z++) {
                double trial[LMR_DELAY_NUMBERS];
                memcpy(trial, begin, sizeof trial);
                trial[0] += distance * (i - MEAN_STARTS / 2 + (j - DIFFERENCE_STARTS / 2) / 2.);
                trial[1] += distance * (i - MEAN_STARTS / 2 - (j - DIFFERENCE_STARTS / 2) / 2.);
                trial[2] += sides * distance * (i - MEAN_STARTS / 2 + DIFFERENCE_STARTS / 2 * z / 2.);
                LMR_TRY(try_start(f, trial, one));
            }
            grid[i][j] = one[0];
        }
    keep_valleys(grid, kept);
    return LARMOR_OK;
}

/* An end of the search: the likeliest one becomes the first, and its lead over the likeliest that means other
 * delays is kept. */
static void keep_end(const lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS], double value, ending *best)
{
    const int same = isfinite(best->value) && lmr_farthest_shift(f->s, all, best->all) < same_result_distance;
    const double lead = fabs(value - best->value);
    if (value < best->value) {
        if (!same) best->lead = isfinite(best->value) ? lead : INFINITY;
        if (same) best->lead += lead;
        best->value = value;
        memcpy(best->all, all, sizeof best->all);
        return;
    }
    if (!same) best->lead = fmin(best->lead, lead);
}

/* From one start after the other; where all ends are not wanted, until the samples agree. */
static larmor_status descend_from(lmr_delay_fit *f, start kept[STARTS], int to_all, ending *best)
{
    for (int i = 0; i < STARTS && isfinite(kept[i].value); i++) {
        double value;
        if (!to_all && isfinite(best->value) && lmr_delay_unexplained(f, best->all) < max_unexplained_clear) break;
        LMR_TRY(lmr_delay_descend(f, kept[i].all, 1e-3, 60, &value));
        keep_end(f, kept[i].all, value, best);
    }
    return LARMOR_OK;
}

/* From noise that is taken for so much at least to that of the last floor, whose valleys are narrow. What is taken
 * for noise does not jump. */
static larmor_status descend_floors(lmr_delay_fit *f, double all[LMR_DELAY_NUMBERS], int first, double *value)
{
    for (int i = first; i < FLOORS; i++) {
        const double noise = f->floor + exp(all[LMR_DELAY_NOISE]);
        const int last = i + 1 == FLOORS;
        f->floor = noise_floor[i];
        all[LMR_DELAY_NOISE] = log(fmax(noise - f->floor, f->floor));
        LMR_TRY(lmr_delay_descend(f, all, last ? 1e-3 : 1e-2, last ? 60 : 20, value));
    }
    return LARMOR_OK;
}

/* The likeliest delays of spirals by the first block: from a grid of starts, of which those that end alike are
 * one. */
static larmor_status find_first_curved(lmr_delay_fit *f, const double begin[LMR_DELAY_NUMBERS], ending *best)
{
    start kept[STARTS];
    double value;
    *best = (ending){.value = INFINITY, .lead = INFINITY};
    clear_starts(kept);
    lmr_delay_set_free(f, LMR_FREE_DELAYS | LMR_FREE_OTHERS);
    f->floor = noise_floor[0];
    LMR_TRY(try_start(f, begin, kept));
    LMR_TRY(try_curved(f, begin, kept));
    for (int i = 0; i < STARTS; i++) {
        int is_new = 1;
        if (!isfinite(kept[i].value)) continue;
        LMR_TRY(lmr_delay_descend(f, kept[i].all, 1e-2, 20, &kept[i].value));
        for (int j = 0; j < i; j++)
            if (isfinite(kept[j].value) && lmr_farthest_shift(f->s, kept[i].all, kept[j].all) < same_result_distance)
                is_new = 0;
        if (!is_new) kept[i].value = INFINITY;
    }
    lmr_delay_set_free(f, LMR_FREE_DELAYS | LMR_FREE_COUPLINGS | LMR_FREE_OTHERS);
    for (int i = 0; i < STARTS; i++) {
        if (!isfinite(kept[i].value)) continue;
        f->floor = noise_floor[0];
        LMR_TRY(descend_floors(f, kept[i].all, 1, &value));
        keep_end(f, kept[i].all, value, best);
    }
    const int moved = isfinite(best->value) && lmr_farthest_shift(f->s, best->all, NULL) > min_shift;
    for (int e = 3; e < LMR_DELAYS && moved; e++)
        for (int side = -1; side <= 1 && lmr_delay_is_free(f, e); side += 2) {
            double trial[LMR_DELAY_NUMBERS];
            memcpy(trial, best->all, sizeof trial);
            trial[e] += side * coupling_start;
            LMR_TRY(lmr_delay_descend(f, trial, 1e-3, 60, &value));
            keep_end(f, trial, value, best);
        }
    return isfinite(best->value) ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_NUMERIC, "delays: nowhere to begin");
}

/* The likeliest delays by the first block: from those to begin with and from the intersections; from elsewhere
 * where samples contradict each other then, and where spokes begin in the centre, which other delays may explain. */
static larmor_status find_first(lmr_delay_fit *f, const double begin[LMR_DELAY_NUMBERS], ending *best)
{
    start kept[STARTS];
    double trial[LMR_DELAY_NUMBERS];
    const int from_centre = 2 * f->s->through <= f->s->count;
    *best = (ending){.value = INFINITY, .lead = INFINITY};
    clear_starts(kept);
    lmr_delay_set_free(f, LMR_FREE_DELAYS | LMR_FREE_COUPLINGS | LMR_FREE_OTHERS);
    memcpy(trial, begin, sizeof trial);
    LMR_TRY(lmr_intersections(f->s, trial));
    LMR_TRY(try_start(f, begin, kept));
    LMR_TRY(try_start(f, trial, kept));
    LMR_TRY(descend_from(f, kept, from_centre, best));
    const int agree = isfinite(best->value) && lmr_delay_unexplained(f, best->all) < max_unexplained_clear;
    if (agree && !(from_centre && lmr_farthest_shift(f->s, best->all, NULL) > min_shift)) return LARMOR_OK;
    clear_starts(kept);
    LMR_TRY(try_grid(f, begin, kept));
    LMR_TRY(descend_from(f, kept, from_centre, best));
    const int moved = isfinite(best->value) && lmr_farthest_shift(f->s, best->all, NULL) > min_shift;
    if (from_centre && moved) { /* once more, by the size and the noise that were found */
        memcpy(trial + LMR_DELAY_SIZE, best->all + LMR_DELAY_SIZE,
               (LMR_DELAY_NUMBERS - LMR_DELAY_SIZE) * sizeof *trial);
        memcpy(trial, begin, sizeof *trial * LMR_DELAY_SIZE);
        clear_starts(kept);
        LMR_TRY(try_grid(f, trial, kept));
        LMR_TRY(descend_from(f, kept, 1, best));
    }
    return isfinite(best->value) ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_NUMERIC, "delays: nowhere to begin");
}

/* ---- whether delays are significant ---- */

/* How near samples of the first block are to those of other readouts: the mean of the largest correlation. */
static double nearness(lmr_delay_fit *f, const double all[LMR_DELAY_NUMBERS])
{
    const lmr_spokes *s = f->s;
    const int nd = s->nd;
    const int64_t m = lmr_delay_samples(s, 0);
    const double rate = 2 * M_PI * M_PI * LMR_TYPICAL_SIZE * LMR_TYPICAL_SIZE;
    double *place = f->work, sum = 0;
    memcpy(f->all, all, sizeof f->all);
    lmr_delay_place_samples(f, 0, place, place + nd * m);
    for (int64_t p = s->begin[0]; p < s->begin[1]; p++)
        for (int64_t i = s->spoke[p].at; i < s->spoke[p].at + s->spoke[p].count; i++) {
            double nearest = INFINITY;
            for (int64_t j = 0; j < m; j++) {
                double square = 0;
                if (j >= s->spoke[p].at && j < s->spoke[p].at + s->spoke[p].count) continue;
                for (int d = 0; d < nd; d++) square += pow(place[nd * i + d] - place[nd * j + d], 2);
                nearest = fmin(nearest, square);
            }
            sum += exp(-rate * nearest);
        }
    return sum / (double)m;
}

/* How far the sample that is nearest to the centre is from it. */
static double hole(const lmr_spokes *s, const double delay[LMR_DELAYS])
{
    double least = INFINITY;
    for (int64_t p = 0; p < s->count; p++)
        for (int64_t i = 0; i < s->spoke[p].count; i++) {
            const double *k = s->k + s->nd * s->samples * s->spoke[p].readout;
            double place[3], square = 0;
            lmr_delay_place(k, s->nd, s->samples, s->spoke[p].first + s->stride * i, delay, s->fov, place, NULL);
            for (int d = 0; d < s->nd; d++) square += place[d] * place[d];
            least = fmin(least, square);
        }
    return sqrt(least);
}

/* 1 if delays are large beside their standard deviation and explain the samples. */
static int is_sure(const larmor_delays *found)
{
    double surest = 0;
    for (int e = 0; e < LMR_DELAYS; e++)
        if (found->deviation[e] > 0) surest = fmax(surest, fabs(found->delay[e]) / found->deviation[e]);
    return surest > min_delay_over_std && found->shift > min_shift && found->after < max_unexplained;
}

/* Whether delays are significant: with them clearly more of the samples is explained. If samples hardly predict
 * each other even then, the scan has another fault. */
static int is_significant(const lmr_delay_fit *f, const larmor_delays *found, double gain)
{
    const double numbers = (double)f->s->total * f->s->coils;
    return gain > min_gain_per_number * numbers && is_sure(found) &&
           found->after < max_unexplained_ratio * found->before;
}

/* Arms of spirals do not cross, so that a delay leaves little more unexplained, but it does so clearly. Early ones
 * leave a hole in the centre. */
static int is_significant_curved(const lmr_delay_fit *f, const larmor_delays *found, double gain, double lead)
{
    const double numbers = (double)f->s->total * f->s->coils;
    const int less = found->after < max_unexplained_ratio * found->before || gain > min_gain_without_noise * numbers;
    return f->s->count >= FEWEST_CURVED && gain > min_gain_per_number_curved * numbers && is_sure(found) && less &&
           lead > min_lead_per_number && hole(f->s, found->delay) < max_hole_radius;
}

static larmor_status find(lmr_delay_fit *f, larmor_delays *found)
{
    double none[LMR_DELAY_NUMBERS] = {0}, begin[LMR_DELAY_NUMBERS], all[LMR_DELAY_NUMBERS] = {0}, before, value = 0;
    double agreeing;
    ending first;
    none[LMR_DELAY_SIZE] = log(LMR_TYPICAL_SIZE);
    none[LMR_DELAY_NOISE] = log(1e-2);
    memcpy(begin, none, sizeof begin);
    f->blocks = 1;
    f->floor = f->s->curved ? noise_floor[0] : min_noise_variance;
    lmr_delay_set_free(f, LMR_FREE_OTHERS);
    LMR_TRY(lmr_delay_descend(f, none, 1e-2, 30, &before));
    if (lmr_delay_unexplained(f, none) < max_unexplained) memcpy(begin, none, sizeof begin);
    memcpy(begin, f->s->start, sizeof f->s->start);
    const lmr_spokes *all_spokes = f->s;
    int64_t few_begin[2] = {0, all_spokes->begin[1]};
    lmr_spokes few = *all_spokes;
    if (few.nd > 2 || few.curved) few_begin[1] = (int64_t)ceil(part_of_block_3d * (double)few_begin[1]);
    few.begin = few_begin;
    f->s = &few;
    const double numbers = (double)lmr_delay_samples(f->s, 0) * f->s->coils;
    const larmor_status searched = few.curved ? find_first_curved(f, begin, &first) : find_first(f, begin, &first);
    f->s = all_spokes;
    LMR_TRY(searched);
    memcpy(all, first.all, sizeof all);
    lmr_delay_set_free(f, LMR_FREE_DELAYS | LMR_FREE_COUPLINGS | LMR_FREE_OTHERS);
    const int clear = lmr_farthest_shift(f->s, all, NULL) > min_shift / 2;
    if (clear) {
        f->blocks = f->s->blocks;
        LMR_TRY(lmr_delay_descend(f, all, 1e-4, 60, &value));
    }
    LMR_TRY(lmr_delay_deviations(f, all, found->deviation));
    lmr_delay_set_free(f, LMR_FREE_OTHERS);
    if (f->s->curved) {
        f->floor = noise_floor[0];
        LMR_TRY(descend_floors(f, none, 0, &before));
    }
    if (clear && !f->s->curved) LMR_TRY(lmr_delay_descend(f, none, 1e-2, 30, &before));
    memcpy(found->delay, all, sizeof found->delay);
    found->shift = lmr_farthest_shift(f->s, all, NULL);
    found->before = lmr_delay_unexplained(f, none);
    found->after = lmr_delay_unexplained(f, all);
    /* spokes through the centre that agree so well have no other explanation; those from the centre may have one */
    const int through = 2 * f->s->through > f->s->count;
    const int alone = f->s->count >= FEWEST_FROM_CENTRE && first.lead > min_lead_per_number * numbers;
    const int certain =
        found->after < max_unexplained_clear && (through || (alone && hole(f->s, all) < max_hole_radius));
    if (f->s->curved) {
        found->significant = clear && is_significant_curved(f, found, before - value, first.lead / numbers);
        return LARMOR_OK;
    }
    LMR_TRY(lmr_intersections_agree(f->s, all, &agreeing));
    found->significant = clear && lmr_echoes_agree(f->s, all) > min_echo_fraction &&
                         (certain || agreeing > min_intersection_fraction) &&
                         is_significant(f, found, before - value) &&
                         nearness(f, all) > min_distance_kept * nearness(f, begin);
    return LARMOR_OK;
}

/* Not 0 if the echoes of readouts are clearly nearer to where they are without the delays. */
static int echoes_contradict(const lmr_spokes *s, const larmor_delays *found)
{
    static const double none[LMR_DELAYS] = {0};
    return lmr_echoes_residual(s, found->delay) > lmr_echoes_residual(s, none) + max_echo_shift;
}

/* Not 0 if it may be a drift of the signal that the samples contradict each other by, or that delays explain. */
static int may_drift(const lmr_spokes *s, const larmor_delays *found)
{
    const int contradict = found->significant || found->before > max_unexplained_clear;
    return contradict && !s->curved && 2 * s->through > s->count;
}

/* 1 if spokes of the same strength, whose delays are `other`, are to be believed rather than spokes as they are. */
static int is_drift(const larmor_delays *found, const larmor_delays *other)
{
    const double most = found->significant ? max_unexplained_of_drift : 1;
    return other->after < most * found->after;
}

/* Spokes in order whose signal drifts: the first and the last one run in reverse and differ by a factor, which
 * delays explain that are not there. Spokes of the same strength, where they fit better, decide. */
static larmor_status find_in_drift(lmr_delay_fit *f, lmr_spokes *s, larmor_delays *found)
{
    larmor_delays other = {.significant = 0};
    larmor_status st = find(f, found);
    if (st == LARMOR_ERR_NUMERIC) *found = (larmor_delays){.before = INFINITY, .after = INFINITY};
    if (st && st != LARMOR_ERR_NUMERIC) return st;
    if (!may_drift(s, found)) return st;
    found->significant &= !echoes_contradict(s, found);
    lmr_spokes_equalise(s);
    const larmor_status again = find(f, &other);
    if (again) return again == LARMOR_ERR_NUMERIC ? st : again;
    if (!is_drift(found, &other)) return st;
    *found = other;
    found->significant &= other.after < max_unexplained_ratio_of_drift * other.before && !echoes_contradict(s, found);
    return LARMOR_OK;
}

static larmor_status check(const larmor_array *kspace, const larmor_array *traj)
{
    const larmor_shape t = larmor_array_shape(traj), y = larmor_array_shape(kspace);
    LMR_REFUSE(!traj || t.ndim != 3 || t.dim[0] < 2 || t.dim[0] > 3 || !lmr_is_real(larmor_array_dtype(traj)),
               LARMOR_ERR_SHAPE, "delays: trajectory is %s, expected real [2 or 3, samples, readouts]",
               traj ? lmr_describe(traj).s : "missing");
    LMR_REFUSE(!kspace || y.ndim < 2 || y.ndim > 3 || y.dim[0] != t.dim[1] || y.dim[1] != t.dim[2] ||
                   !lmr_is_complex(larmor_array_dtype(kspace)) || kspace->dev != traj->dev,
               LARMOR_ERR_SHAPE, "delays: k-space is %s, expected complex [%lld, %lld, coils] on %s",
               kspace ? lmr_describe(kspace).s : "missing", (long long)t.dim[1], (long long)t.dim[2],
               larmor_device_spec(traj->dev));
    return LARMOR_OK;
}

/* The processor's threads; of a GPU those of the host. */
static int threads_for(const larmor_device *dev)
{
    const int own = dev->be->threads(dev->ctx);
    return own > 0 && own < LMR_MOST_BLOCKS ? own : LMR_MOST_BLOCKS;
}

larmor_status larmor_delays_estimate(const larmor_array *kspace, const larmor_array *traj,
                                     const larmor_delays_opts *opts, larmor_delays *found)
{
    LMR_NEED(found);
    *found = (larmor_delays){{0}, {0}, 0, 0, 0, 0, 0};
    LMR_TRY(check(kspace, traj));
    lmr_spokes s;
    const double *fov = opts && opts->fov[0] > 0 ? opts->fov : NULL;
    int are_lines;
    double mean;
    for (int e = 0; e < LMR_DELAYS; e++) lmr_delay_prior(e, &mean, &found->deviation[e]);
    const larmor_status of_lines = lmr_delays_of_lines(kspace, traj, fov, found, &are_lines);
    if (of_lines || are_lines) return of_lines;
    memset(found, 0, sizeof *found);
    LMR_TRY(lmr_spokes_choose(kspace, traj, fov, &s));
    lmr_delay_fit f = {.s = &s, .threads = threads_for(traj->dev)};
    for (int b = 0; b < s.blocks; b++) {
        const int64_t m = lmr_delay_samples(&s, b);
        const int64_t room = m * (s.nd * (2 + LMR_DELAYS)) + lmr_likelihood_work(m, 2 * s.coils);
        if (room > f.room) f.room = room;
    }
    f.work = lmr_new(f.room * s.blocks, sizeof *f.work);
    larmor_status st = f.work ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) st = find_in_drift(&f, &s, found);
    if (st == LARMOR_ERR_NUMERIC) { /* samples that no object explains */
        memset(found, 0, sizeof *found);
        st = LARMOR_OK;
    }
    found->readouts = s.count;
    free(f.work);
    lmr_spokes_free(&s);
    if (st) memset(found, 0, sizeof *found);
    return st;
}
