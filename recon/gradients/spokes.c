/* The samples that gradient delays are estimated from: those of straight readouts near the centre of k-space.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/gradients/spokes.h"
#include "core/core.h"

/* Radius (1/FOV) of the region around k = 0 whose samples are used (docs/records/delays.md, step 1). */
static const double max_radius_2d = 3;
static const double max_radius_3d = 2.5;
/* Samples beyond a radius of 1/FOV that are used at least. Not measured. */
static const double min_samples_beyond = 4;

/* Minimum extent on each side of k = 0 (1/FOV) so that delayed readouts still intersect. */
static const double min_side = 1.5;

/* Distance (1/FOV) between samples that are used: an object that fills the field of view has independent samples at
 * 1. */
static const double sample_distance = 0.4;

/* Echoes farther than this from k = 0 (1/FOV) have the region around themselves
 * (docs/records/delays.md, step 1). */
static const double max_echo_radius = 1;

/* Maximum distance (1/FOV) from k = 0 at which spirals begin or end: half a cell. Not measured. */
static const double max_spiral_end = 0.5;

/* Distance from k = 0 at which readouts begin that are at rest there, over their step; as in
 * recon/gradients/delay.c. */
static const double at_rest_over_step = 1e-3;

/* Maximum first step of a readout whose gradient rises, over its mean step near k = 0. Not measured. */
static const double max_rising_step = 0.7;

enum {
    MOST_COILS = 8,   /* those with most energy: time grows with their number */
    MOST_BLOCK = 160, /* samples of a block: its time grows with the third power */
    LEAST_SPOKES = 3,
    LEAST_SAMPLES = 3,
};

void lmr_spokes_free(lmr_spokes *s)
{
    LMR_FREE(s->k, s->echo, s->spoke, s->value, s->begin);
    *s = (lmr_spokes){0};
}

static double length(int nd, const double *v)
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += v[d] * v[d];
    return sqrt(square);
}

/* ---- which readouts ---- */

/* How far a sample is from the centre with the delays to begin with. */
static double distance(const lmr_spokes *s, int64_t readout, int64_t i)
{
    double place[3];
    lmr_delay_place(s->k + s->nd * s->samples * readout, s->nd, s->samples, i, s->start, s->fov, place, NULL);
    return length(s->nd, place);
}

/* The readout's longest run of samples within the radius. */
static void find_window(const lmr_spokes *s, int64_t readout, double radius, int64_t *first, int64_t *count)
{
    int64_t run = 0;
    *count = 0;
    for (int64_t i = 0; i < s->samples; i++) {
        run = distance(s, readout, i) < radius ? run + 1 : 0;
        if (run <= *count) continue;
        *count = run;
        *first = i - run + 1;
    }
}

/* 1 if the samples of the window go straight on. */
static int is_straight(const lmr_spokes *s, const double *k, int64_t count, double step[3])
{
    const int nd = s->nd;
    double chord[3] = {0, 0, 0};
    for (int d = 0; d < nd; d++) chord[d] = k[nd * (count - 1) + d] - k[d];
    const double far = length(nd, chord);
    if (!(far > 0)) return 0;
    for (int64_t i = 1; i < count; i++) {
        double along = 0, off = 0;
        for (int d = 0; d < nd; d++) along += (k[nd * i + d] - k[d]) * chord[d] / far;
        for (int d = 0; d < nd; d++) {
            const double away = k[nd * i + d] - k[d] - along * chord[d] / far;
            off += away * away;
        }
        if (sqrt(off) > 0.02 * far) return 0;
    }
    for (int d = 0; d < nd; d++) step[d] = chord[d] / (double)(count - 1);
    return 1;
}

/* Straight near the centre, or, of spirals, from or to it. */
static int is_usable(const lmr_spokes *s, int64_t readout, double radius, lmr_spoke *spoke)
{
    *spoke = (lmr_spoke){.readout = readout};
    find_window(s, readout, radius, &spoke->first, &spoke->count);
    if (spoke->count < LEAST_SAMPLES) return 0;
    const double *k = s->k + s->nd * (s->samples * readout + spoke->first);
    if (!s->curved) return is_straight(s, k, spoke->count, spoke->step);
    for (int d = 0; d < s->nd; d++)
        spoke->step[d] = (k[s->nd * (spoke->count - 1) + d] - k[d]) / (double)(spoke->count - 1);
    const int begins = spoke->first == 0 && distance(s, readout, 0) < max_spiral_end;
    const int ends =
        spoke->first + spoke->count == s->samples && distance(s, readout, s->samples - 1) < max_spiral_end;
    return (begins || ends) && length(s->nd, spoke->step) > 0;
}

/* From one sample to the next, in the middle of the middle readout. */
static double typical_step(const lmr_spokes *s)
{
    double step[3] = {0, 0, 0};
    const double *k = s->k + s->nd * (s->samples * (s->readouts / 2) + s->samples / 2);
    for (int d = 0; d < s->nd && s->samples > 1; d++) step[d] = k[d] - k[d - s->nd];
    return fmin(length(s->nd, step), 1);
}

/* 1 if the window reaches far on both sides of its sample that is nearest to the centre. */
static int goes_through(const lmr_spokes *s, const lmr_spoke *spoke)
{
    const int64_t last = s->stride * (spoke->count - 1);
    int64_t nearest = 0;
    double least = INFINITY;
    for (int64_t i = 0; i <= last; i++) {
        const double here = distance(s, spoke->readout, spoke->first + i);
        if (!(here < least)) continue;
        least = here;
        nearest = i;
    }
    const double step = length(s->nd, spoke->step);
    return fmin((double)nearest, (double)(last - nearest)) * step > min_side;
}

/* Readouts in an order in which each few of them are spread over all: multiples of the golden ratio. */
static int64_t spread(int64_t i, int64_t count)
{
    const double place = (double)i * 0.6180339887498949;
    return (int64_t)((double)count * (place - floor(place)));
}

static void forget_spokes(lmr_spokes *s)
{
    LMR_CLEAR(s->spoke);
    s->count = s->tried = s->stride = s->total = s->through = 0;
}

/* Spokes of which about `samples` samples are in a block, for as many blocks as there are. */
static larmor_status choose_spokes(lmr_spokes *s, double radius, int64_t samples)
{
    LMR_HEAP LMR_NEW_ZEROS(char, tried, s->readouts + 1);
    LMR_ALLOCATE(s->spoke, s->readouts);
    const int64_t enough = LMR_MOST_BLOCKS * samples;
    for (int64_t i = 0; i < 2 * s->readouts && s->total < enough; i++) {
        const int64_t readout = i < s->readouts ? spread(i, s->readouts) : i - s->readouts;
        lmr_spoke *spoke = &s->spoke[s->count];
        if (tried[readout]) continue;
        tried[readout] = 1;
        s->tried++;
        if (!is_usable(s, readout, radius, spoke)) continue;
        if (!s->stride) s->stride = (int64_t)fmax(1, floor(sample_distance / length(s->nd, spoke->step)));
        spoke->count = (spoke->count + s->stride - 1) / s->stride;
        spoke->at = s->total;
        s->total += spoke->count;
        s->through += goes_through(s, spoke);
        s->count++;
    }
    return LARMOR_OK;
}

/* Readouts must meet at angles, or in opposite directions. */
static larmor_status expect_angles(const lmr_spokes *s)
{
    double least = 1;
    for (int64_t i = 1; i < s->count; i++) {
        double product = 0;
        for (int d = 0; d < s->nd; d++) product += s->spoke[0].step[d] * s->spoke[i].step[d];
        least = fmin(least, product / length(s->nd, s->spoke[0].step) / length(s->nd, s->spoke[i].step));
    }
    if (s->count >= LEAST_SPOKES && least < 0.97) return LARMOR_OK;
    const int64_t usable = least < 0.97 ? s->count : 0;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "delays: %lld readout%s straight through the centre of k-space at different angles, at least %d "
                    "expected; delays of other trajectories do not show",
                    (long long)usable, usable == 1 ? " goes" : "s go", LEAST_SPOKES);
}

/* 1 if all spokes begin exactly in the centre, where they stay until their gradient begins: as arms of spirals
 *   they do not cross.
 * In space their gradient must rise there, too. */
static int all_begin_at_rest(const lmr_spokes *s)
{
    int64_t at_rest = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const double step = length(s->nd, s->spoke[i].step), first = distance(s, s->spoke[i].readout, 1);
        const int rises = s->nd == 2 || first < max_rising_step * step;
        at_rest += rises && distance(s, s->spoke[i].readout, 0) < at_rest_over_step * step;
    }
    return s->count >= LEAST_SPOKES && at_rest == s->count;
}

static larmor_status divide(lmr_spokes *s, int64_t samples)
{
    const int64_t blocks = (s->total + samples / 2) / samples;
    s->blocks = (int)(blocks < 1 ? 1 : blocks);
    if (s->blocks > LMR_MOST_BLOCKS) s->blocks = LMR_MOST_BLOCKS;
    LMR_ALLOCATE(s->begin, s->blocks + 1);
    for (int b = 0; b <= s->blocks; b++) s->begin[b] = b * s->count / s->blocks;
    return LARMOR_OK;
}

/* ---- their samples ---- */

/* The samples of the list, of all coils. */
static larmor_status gather(const lmr_spokes *s, const larmor_array *kspace, lmr_complex_samples *all)
{
    LMR_HEAP LMR_NEW(int64_t, index, s->total);
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t j = 0; j < s->spoke[i].count; j++)
            index[s->spoke[i].at + j] = s->samples * s->spoke[i].readout + s->spoke[i].first + s->stride * j;
    return lmr_spokes_fetch(s, kspace, index, s->total, all);
}

static double energy_of(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

/* The strongest coils, one sample after the other. */
static larmor_status arrange(lmr_spokes *s, const double *all, int64_t coils)
{
    LMR_HEAP LMR_NEW(double, energy, coils);
    s->coils = (int)(coils < MOST_COILS ? coils : MOST_COILS);
    LMR_ALLOCATE(s->value, 2 * s->coils * s->total);
    double sum = 0;
    for (int64_t c = 0; c < coils; c++) {
        energy[c] = energy_of(all + 2 * s->total * c, 2 * s->total);
        sum += energy[c];
    }
    const double scale = 1 / sqrt(sum);
    for (int c = 0; c < s->coils; c++) {
        int64_t most = 0;
        for (int64_t i = 1; i < coils; i++)
            if (energy[i] > energy[most]) most = i;
        energy[most] = -1;
        for (int64_t j = 0; j < s->total; j++)
            for (int part = 0; part < 2; part++)
                s->value[2 * (s->coils * j + c) + part] = scale * all[2 * (s->total * most + j) + part];
    }
    if (sum > 0 && isfinite(sum)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "delays: the centre of k-space is %s", sum == 0 ? "zero" : "not finite");
}

void lmr_spokes_equalise(lmr_spokes *s)
{
    const int64_t columns = 2 * s->coils;
    for (int64_t i = 0; i < s->count; i++) {
        double *x = s->value + columns * s->spoke[i].at, most = 0;
        for (int64_t j = 0; j < s->spoke[i].count; j++) most = fmax(most, energy_of(x + columns * j, columns));
        const double scale = most > 0 ? 1 / sqrt(most) : 0;
        for (int64_t j = 0; j < columns * s->spoke[i].count; j++) x[j] *= scale;
    }
}

/* Where echoes are far from the centre, the samples around them determine the delays. */
static larmor_status begin_at_echoes(lmr_spokes *s, const larmor_array *kspace, double radius, int64_t samples)
{
    double delay[LMR_DELAYS];
    LMR_TRY(lmr_echoes(s, kspace, s->spoke, s->count));
    if (!lmr_echoes_delays(s, delay) || !(lmr_farthest_shift(s, delay, NULL) > max_echo_radius)) return LARMOR_OK;
    memcpy(s->start, delay, sizeof s->start);
    forget_spokes(s);
    LMR_TRY(choose_spokes(s, radius, samples));
    return expect_angles(s);
}

larmor_status lmr_spokes_choose(const larmor_array *kspace, const larmor_array *traj, const double *fov,
                                lmr_spokes *s)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t samples = MOST_BLOCK;
    lmr_complex_samples all = {0};
    *s = (lmr_spokes){.nd = (int)shape.dim[0], .samples = shape.dim[1], .readouts = shape.dim[2], .fov = fov};
    larmor_status st;
    LMR_OR(done, larmor_array_download(traj, LARMOR_F64, &s->k));
    const double radius =
        fmax(shape.dim[0] > 2 ? max_radius_3d : max_radius_2d, 1 + min_samples_beyond * typical_step(s));
    LMR_OR(done, choose_spokes(s, radius, samples));
    if (2 * s->count < s->tried) { /* few are straight */
        forget_spokes(s);
        s->curved = 1;
        LMR_OR(done, choose_spokes(s, radius, samples));
        if (!s->count) {
            forget_spokes(s);
            s->curved = 0;
            LMR_OR(done, choose_spokes(s, radius, samples));
        }
    }
    s->curved |= all_begin_at_rest(s);
    LMR_OR(done, expect_angles(s));
    if (!s->curved) LMR_OR(done, begin_at_echoes(s, kspace, radius, samples));
    LMR_OR(done, divide(s, samples));
    LMR_OR(done, gather(s, kspace, &all));
    st = arrange(s, all.value, all.coils);
done:
    free(all.value);
    if (st) lmr_spokes_free(s);
    return st;
}
