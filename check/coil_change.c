/* A step in how the coils share the signal, and a trend of its size, in the course of a scan.
 * SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "core/core.h"

enum {
    MOST_READOUTS = 512, /* that are looked at, evenly spread; the rest spares time */
    LEAST_READOUTS = 10,
    LEAST_BESIDE = 4 /* readouts on each side of a step */
};

/* Right simulated and real scans: docs/records/validation.md, "Steps in the coils' shares". */
static const double max_radius = 0.6;       /* 1/FOV, of the sample that is nearest to the centre */
static const double max_usual_radius = 1.0; /* the same of the one that is nearest in most readouts */
static const double max_radius_3d = 0.3;    /* of both: partitions beside the central one see other shares */
static const double min_change = 0.05;      /* of the vector of the coils' magnitudes, whose length is 1 */
static const double min_over_spread = 8;    /* of the change, in units of what readouts of one side differ by */
static const double min_part = 0.1;         /* of the readouts, that are compared on each side of a step */

/* The same, "A signal that drifts". */
static const double max_drift_radius = 0.15;   /* 1/FOV: the size of all coils' signal depends little on the angle */
static const double min_drift = 0.1;           /* of the logarithm of the size, from the first readout to the last */
static const double min_drift_over_spread = 5; /* in units of what a readout is off that */

typedef struct shares {
    int64_t readouts; /* that pass the centre, of those that are looked at */
    int coils;
    double *share;        /* [coils, readouts], of length 1 for each readout */
    double *size;         /* [coils, readouts], before that */
    double *at;           /* [readouts], part of the scan that is before it */
    int64_t in_centre;    /* readouts whose size is compared: */
    double *level, *when; /* [in_centre] its logarithm, and `at` */
} shares;

LMR_FREES(free_shares, shares, share, size, at, level, when)

static double radius_of(const double *k, int nd, int64_t point)
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += pow(k[d + nd * point], 2);
    return sqrt(square);
}

/* The sample of a readout nearest to the centre. */
static int64_t nearest_of(const double *k, int nd, int64_t n, int64_t r)
{
    int64_t nearest = 0;
    for (int64_t i = 1; i < n; i++)
        if (radius_of(k, nd, i + n * r) < radius_of(k, nd, nearest + n * r)) nearest = i;
    return nearest;
}

/* The same of most readouts: delays that were found in samples of two objects move the nearest one. */
static larmor_status usual_nearest(const double *k, int nd, int64_t n, int64_t readouts, int64_t every,
                                   int64_t *usual)
{
    LMR_HEAP double *nearest = lmr_new(MOST_READOUTS, sizeof *nearest);
    int64_t count = 0;
    if (!nearest) return LMR_NO_MEMORY();
    for (int64_t r = 0; r < readouts; r += every) nearest[count++] = (double)nearest_of(k, nd, n, r);
    *usual = (int64_t)lmr_median_f64(nearest, count);
    return LARMOR_OK;
}

/* Of a sample, number i of count; left out where there is no signal. */
static void add_readout(const float *x, int64_t i, int64_t count, double part, int in_centre, shares *s)
{
    double *size = s->size + s->coils * s->readouts, *share = s->share + s->coils * s->readouts, square = 0;
    for (int c = 0; c < s->coils; c++) {
        const float *z = x + 2 * (i + count * c);
        size[c] = hypot((double)z[0], (double)z[1]);
        square += size[c] * size[c];
    }
    if (!(square > 0) || !isfinite(square)) return;
    for (int c = 0; c < s->coils; c++) share[c] = size[c] / sqrt(square);
    s->at[s->readouts++] = part;
    if (!in_centre) return;
    s->level[s->in_centre] = log(square) / 2;
    s->when[s->in_centre++] = part;
}

static larmor_status open_shares(const larmor_array *kspace, const larmor_array *traj, shares *s)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t n = shape.dim[0], readouts = shape.dim[1], every = 1 + (readouts - 1) / MOST_READOUTS;
    LMR_HEAP int64_t *chosen = lmr_new(MOST_READOUTS, sizeof *chosen);
    int64_t count = 0;
    const int nd = (int)larmor_array_shape(traj).dim[0];
    const double radius = nd == 3 ? max_radius_3d : max_radius;
    const double usual_radius = nd == 3 ? max_radius_3d : max_usual_radius;
    int64_t usual = 0;
    *s = (shares){.coils = (int)shape.dim[2]};
    s->share = lmr_new(MOST_READOUTS * shape.dim[2], sizeof *s->share);
    s->size = lmr_new(MOST_READOUTS * shape.dim[2], sizeof *s->size);
    s->at = lmr_new(MOST_READOUTS, sizeof *s->at);
    s->level = lmr_new(MOST_READOUTS, sizeof *s->level);
    s->when = lmr_new(MOST_READOUTS, sizeof *s->when);
    if (!s->share || !s->size || !s->at || !s->level || !s->when || !chosen) return LMR_NO_MEMORY();
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_TRY(usual_nearest(k, nd, n, readouts, every, &usual));
    for (int64_t r = 0; r < readouts; r += every) {
        int64_t at = usual + n * r;
        if (radius_of(k, nd, at) > usual_radius) at = nearest_of(k, nd, n, r) + n * r;
        if (radius_of(k, nd, at) > (at == usual + n * r ? usual_radius : radius)) continue;
        chosen[count++] = at;
    }
    if (!count) return LARMOR_OK;
    LMR_OWN_MEMORY(float, x, larmor_pick_samples(kspace, chosen, count, &x));
    for (int64_t i = 0; i < count; i++)
        add_readout(x, i, count, (double)(chosen[i] / n) / (double)readouts,
                    radius_of(k, nd, chosen[i]) <= max_drift_radius, s);
    return LARMOR_OK;
}

/* mean [coils] <- of the values of readouts from first to end. */
static void average(const shares *s, const double *values, int64_t first, int64_t end, double *mean)
{
    for (int c = 0; c < s->coils; c++) {
        double sum = 0;
        for (int64_t r = first; r < end; r++) sum += values[c + s->coils * r];
        mean[c] = sum / (double)(end - first);
    }
}

/* The squared deviation of the shares of readouts from first to end from their mean. */
static double variance(const shares *s, const double *mean, int64_t first, int64_t end)
{
    double sum = 0;
    for (int64_t r = first; r < end; r++)
        for (int c = 0; c < s->coils; c++) sum += pow(s->share[c + s->coils * r] - mean[c], 2);
    return sum / (double)(end - first);
}

/* The coil whose magnitude changes most beside the median of all; before, after: room for [coils] each. */
static larmor_status name_coil(const shares *s, int64_t step, int64_t beside, double *before, double *after,
                               lmr_coil_change *found)
{
    double most = -1;
    LMR_HEAP LMR_NEW(double, gain, s->coils);
    average(s, s->size, step - beside, step, before);
    average(s, s->size, step, step + beside, after);
    for (int c = 0; c < s->coils; c++) after[c] = gain[c] = (after[c] + 1e-300) / (before[c] + 1e-300);
    const double usual = lmr_median_f64(after, s->coils);
    for (int c = 0; c < s->coils; c++) {
        if (!(fabs(log(gain[c] / usual)) > most)) continue;
        most = fabs(log(gain[c] / usual));
        found->coil = c;
        found->gain = gain[c] / usual;
    }
    return LARMOR_OK;
}

/* The step with the largest change. */
static larmor_status find_step(const shares *s, lmr_coil_change *found)
{
    LMR_HEAP double *before = lmr_new(s->coils, sizeof *before), *after = lmr_new(s->coils, sizeof *after);
    if (!before || !after) return LMR_NO_MEMORY();
    const int64_t beside = (int64_t)fmax(LEAST_BESIDE, ceil(min_part * (double)s->readouts));
    int64_t best = 0;
    for (int64_t step = beside; step <= s->readouts - beside; step++) {
        double square = 0;
        average(s, s->share, step - beside, step, before);
        average(s, s->share, step, step + beside, after);
        for (int c = 0; c < s->coils; c++) square += pow(after[c] - before[c], 2);
        const double spread = fmax(variance(s, before, step - beside, step), variance(s, after, step, step + beside));
        const double change = sqrt(square);
        if (change < min_change || change < min_over_spread * sqrt(spread) || change <= found->change) continue;
        found->change = change;
        found->after = s->at[step];
        best = step;
    }
    return best ? name_coil(s, best, beside, before, after, found) : LARMOR_OK;
}

/* A line through the logarithms of sizes. */
static void find_drift(const shares *s, lmr_coil_change *found)
{
    const double n = (double)s->in_centre;
    double when = 0, level = 0, square = 0, product = 0, left = 0;
    for (int64_t i = 0; i < s->in_centre; i++) {
        when += s->when[i] / n;
        level += s->level[i] / n;
    }
    for (int64_t i = 0; i < s->in_centre; i++) {
        square += pow(s->when[i] - when, 2);
        product += (s->when[i] - when) * (s->level[i] - level);
    }
    const double slope = square > 0 ? product / square : 0;
    for (int64_t i = 0; i < s->in_centre; i++) left += pow(s->level[i] - level - slope * (s->when[i] - when), 2) / n;
    if (fabs(slope) >= min_drift && fabs(slope) >= min_drift_over_spread * sqrt(left)) found->drift = exp(slope);
}

larmor_status lmr_coil_change_find(const larmor_array *kspace, const larmor_array *traj, lmr_coil_change *found)
{
    *found = (lmr_coil_change){.change = 0};
    LMR_FREED_BY(free_shares) shares s = {.readouts = 0};
    LMR_TRY(open_shares(kspace, traj, &s));
    if (s.in_centre >= LEAST_READOUTS) find_drift(&s, found);
    return s.readouts < LEAST_READOUTS || s.coils < 2 ? LARMOR_OK : find_step(&s, found);
}

void lmr_describe_coil_change(const lmr_coil_change *found, char *line, size_t room)
{
    snprintf(line, room,
             "from %.0f %% of the scan on the coils share the signal in the centre of k-space otherwise, by %.2g of "
             "it, most coil %d (from 0), which has %.2g times its part beside the others: the object moved, or the "
             "coil's gain changed. opts.motion_states finds motion of a rigid object.",
             100 * found->after, found->change, found->coil, found->gain);
}

void lmr_describe_drift(const lmr_coil_change *found, char *line, size_t room)
{
    snprintf(
        line, room,
        "the signal in the centre of k-space %s steadily, to %.2g of its size from the first readout to the last, "
        "which one image does not have: contrast that comes or goes, or gain. Readouts in the order of their "
        "angles or arms suffer most; divide them by it, or make frames.",
        found->drift < 1 ? "falls" : "rises", found->drift);
}

larmor_status lmr_coil_step_find(const larmor_array *kspace, const larmor_array *traj,
                                 const larmor_description *lines, larmor_description *found)
{
    LMR_TRY(larmor_compare_coil_steps(kspace, traj, found));
    if (lines->is_clear && (!strncmp(lines->name, "an object ", 10) || !strncmp(lines->name, "another phase", 13)))
        found->is_clear = 0;
    return LARMOR_OK;
}

void lmr_describe_coil_step(const larmor_description *found, char *line, size_t room)
{
    snprintf(line, room,
             "the samples fit better with %s: what the other coils predict across it leaves %.2g of them instead of "
             "%.2g. The receiver's gains or the order of its channels changed: undo it in the file, or leave the "
             "readouts of one part, or the coil, out.",
             found->name, found->better, found->misfit);
}

void lmr_describe_repeats(const larmor_description *found, char *line, size_t room)
{
    snprintf(
        line, room,
        "readouts that repeat the places of others contradict those: the samples fit better with %s, which "
        "leaves %.2g instead of %.2g of them in the centre of k-space. An image of all of them loses signal or is "
        "blurred: undo it in the file, leave readouts out, or make an image of each repeat.",
        found->name, found->better, found->misfit);
}
