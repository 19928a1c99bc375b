/* What the third component of stored trajectories is: kz, weights of density, or nothing. Header and values
 * decide; what is not as the header says is said. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

enum { MOST_LEVELS = 4096 };

#define STEADY 1e-4 /* of the range: values of a readout that are so near to each other are one */
#define EVEN .02    /* of the step between levels, that a level may be off */

typedef struct third { /* of the readouts of an encoding */
    double low, high;
    int64_t readouts;
    int steady;             /* 1: one value for each readout */
    int levels;             /* then, if they are evenly spaced: how many; else 0 */
    double step;            /* between them */
    int steps2, slices;     /* 1: these counters vary */
    int by_step2, by_slice; /* 1: and each level has a value of its own of them */
} third;

static int has_dims(const larmor_raw *raw, int64_t i, int encoding, int use, int dims)
{
    const lmr_mrd_head *h = &raw->head[i];
    return raw->readout[i].use & use && h->encoding == encoding && h->traj_dims == dims;
}

static int is_of(const larmor_raw *raw, int64_t i, int encoding, int use)
{
    return has_dims(raw, i, encoding, use, 3);
}

static void range_along(const larmor_raw *raw, int64_t i, int component, double *low, double *high)
{
    const lmr_mrd_head *h = &raw->head[i];
    const float *k = raw->traj + raw->readout[i].traj;
    float least = INFINITY, most = -INFINITY;
    for (int64_t s = h->discard_pre; s < h->samples - h->discard_post; s++) {
        const float at = k[h->traj_dims * s + component];
        least = at < least ? at : least;
        most = at > most ? at : most;
    }
    *low = (double)least;
    *high = (double)most;
}

static void range_of(const larmor_raw *raw, int64_t i, double *low, double *high)
{
    range_along(raw, i, 2, low, high);
}

/* How many evenly spaced levels the values are on, and their distance; 0 if they are not. */
static int levels_of(double *value, int64_t count, double range, double *step)
{
    lmr_sort_f64(value, count);
    *step = range;
    for (int64_t i = 1; i < count; i++) {
        const double gap = value[i] - value[i - 1];
        if (gap > STEADY * range) *step = fmin(*step, gap);
    }
    const double levels = round(range / *step) + 1;
    if (!(range > 0) || levels > MOST_LEVELS) return 0;
    *step = range / (levels - 1);
    for (int64_t i = 0; i < count; i++) {
        const double place = (value[i] - value[0]) / *step;
        if (fabs(place - round(place)) > EVEN) return 0;
    }
    return (int)levels;
}

int lmr_mrd_levels(const larmor_raw *raw, int encoding, int use, int dims, int component, double *step)
{
    double *value = lmr_new(raw->info.acquisitions, sizeof *value), inside = 0, lowest = INFINITY,
           highest = -INFINITY;
    int64_t count = 0;
    int levels = 0;
    for (int64_t i = 0; value && i < raw->info.acquisitions; i++) {
        double low, high;
        if (!has_dims(raw, i, encoding, use, dims)) continue;
        range_along(raw, i, component, &low, &high);
        lowest = fmin(lowest, low);
        highest = fmax(highest, high);
        inside = fmax(inside, high - low);
        value[count++] = low;
    }
    if (count && inside <= STEADY * (highest - lowest)) levels = levels_of(value, count, highest - lowest, step);
    free(value);
    return levels;
}

/* 1 if each level has one value of the counter, which no other level has. */
static int follows(const larmor_raw *raw, int encoding, int use, const third *t, int counter)
{
    int *value = malloc((size_t)t->levels * sizeof *value), good = value != NULL;
    for (int l = 0; good && l < t->levels; l++) value[l] = -1;
    for (int64_t i = 0; good && i < raw->info.acquisitions; i++) {
        double low, high;
        if (!is_of(raw, i, encoding, use)) continue;
        range_of(raw, i, &low, &high);
        int *known = &value[(int)lround((low - t->low) / t->step)];
        good = *known < 0 || *known == raw->head[i].counter[counter];
        *known = raw->head[i].counter[counter];
    }
    for (int a = 0; good && a < t->levels; a++)
        for (int b = 0; good && b < a; b++) good = value[a] < 0 || value[a] != value[b];
    free(value);
    return good;
}

static larmor_status measure(const larmor_raw *raw, int encoding, int use, third *t)
{
    double *value = lmr_new(raw->info.acquisitions, sizeof *value), inside = 0;
    int64_t first = -1;
    *t = (third){.low = INFINITY, .high = -INFINITY};
    if (!value) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        double low, high;
        if (!is_of(raw, i, encoding, use)) continue;
        if (first < 0) first = i;
        range_of(raw, i, &low, &high);
        t->low = fmin(t->low, low);
        t->high = fmax(t->high, high);
        inside = fmax(inside, high - low);
        t->steps2 |= raw->head[i].counter[LMR_STEP2] != raw->head[first].counter[LMR_STEP2];
        t->slices |= raw->head[i].counter[LMR_SLICE] != raw->head[first].counter[LMR_SLICE];
        value[t->readouts++] = low;
    }
    t->steady = inside <= STEADY * (t->high - t->low);
    if (t->steady && t->readouts) t->levels = levels_of(value, t->readouts, t->high - t->low, &t->step);
    free(value);
    t->by_step2 = t->levels > 1 && t->steps2 && follows(raw, encoding, use, t, LMR_STEP2);
    t->by_slice = t->levels > 1 && t->slices && follows(raw, encoding, use, t, LMR_SLICE);
    return LARMOR_OK;
}

static int is_whole(double x)
{
    return fabs(x - round(x)) <= EVEN;
}

/* The value at kz = 0: of levels from 0 or above that of the counter's centre or the middle one, else 0. */
static double middle_of(const lmr_mrd_encoding *e, const third *x)
{
    const int center = e->limit[LMR_STEP2][LMR_CENTER];
    if (x->low < 0) return 0;
    return x->low + x->step * (center >= 0 && center < x->levels ? center : x->levels / 2);
}

/* ---- times in the place of weights ---- */

#define SAME_STEP .02 /* of each other: a step of time and the time per sample */
#define LINEAR .01    /* of the range, that a value may be off a line */

/* 1 if the values grow evenly from the first kept sample to the last. */
static int grows_evenly(const double *value, int64_t count)
{
    const double range = value[count - 1] - value[0];
    int even = range > 0;
    for (int64_t i = 0; even && i < count; i++)
        even = fabs(value[i] - value[0] - range * (double)i / (double)(count - 1)) <= LINEAR * range;
    return even;
}

/* The third component of a readout, and how far its samples are from the centre. */
static void copy_third(const larmor_raw *raw, int64_t i, double *value, double *radius)
{
    const lmr_mrd_head *h = &raw->head[i];
    const float *k = raw->traj + raw->readout[i].traj + (int64_t)h->discard_pre * h->traj_dims;
    for (int64_t s = 0; s < lmr_head_kept(h); s++) {
        value[s] = (double)k[3 * s + 2];
        radius[s] = hypot((double)k[3 * s], (double)k[3 * s + 1]);
    }
}

static int is_dwell(double step, double dwell_us)
{
    for (double unit = 1; unit >= 1e-6; unit /= 1000)
        if (fabs(step - unit * dwell_us) <= SAME_STEP * unit * dwell_us) return 1;
    return 0;
}

/* *times <- 1 if it grows evenly from sample to sample, alike in all readouts, and is no weight, which grows so where
 * readouts leave the centre: then a step is the time per sample, in us, ms or s. */
static larmor_status is_time(const larmor_raw *raw, int encoding, int use, int *times)
{
    LMR_HEAP LMR_NEW(double, first, UINT16_MAX + 1);
    LMR_HEAP LMR_NEW(double, value, UINT16_MAX + 1);
    LMR_HEAP LMR_NEW(double, radius, UINT16_MAX + 1);
    int64_t count = 0;
    *times = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_of(raw, i, encoding, use)) continue;
        const int64_t kept = lmr_head_kept(&raw->head[i]);
        copy_third(raw, i, value, radius);
        if (!count) {
            if (kept < 3 || !grows_evenly(value, kept)) return LARMOR_OK;
            const double step = (value[kept - 1] - value[0]) / (double)(kept - 1);
            if (grows_evenly(radius, kept) && !is_dwell(step, (double)raw->head[i].dwell_us)) return LARMOR_OK;
            memcpy(first, value, (size_t)kept * sizeof *first);
            count = kept;
        }
        for (int64_t s = 0; s < kept && s < count; s++)
            if (fabs(value[s] - first[s]) > LINEAR * (first[count - 1] - first[0])) return LARMOR_OK;
    }
    *times = count > 0;
    return LARMOR_OK;
}

/* Partitions beside a matrix of one: the volume has as many voxels along z. */
static larmor_status make_volume(larmor_raw *raw, int encoding, const third *x, lmr_mrd_traj *t)
{
    lmr_mrd_encoding *e = &raw->header.encoding[encoding];
    larmor_grid grid;
    t->spatial = 3;
    t->step = x->step;
    t->offset = middle_of(e, x);
    e->space.matrix[2] = e->space.recon_matrix[2] = x->levels;
    e->space.ndim = 3;
    LMR_MRD_WARN(raw,
                 "the third component of the trajectory has %d levels, one for each readout, but the matrix has one "
                 "partition: it is kz of %d partitions, in %.4g mm.",
                 x->levels, x->levels, e->space.fov_mm[2]);
    return lmr_mrd_grid(raw, encoding, NULL, &grid);
}

/* Beside a matrix of one partition. */
static larmor_status of_plane(larmor_raw *raw, int encoding, int use, const third *x, double plane, lmr_mrd_traj *t)
{
    const larmor_encoding *space = &raw->header.encoding[encoding].space;
    t->spatial = 2;
    if (!(x->high > x->low) || !(x->high - x->low > 1e-9 * plane)) return LARMOR_OK;
    if (x->by_slice) {
        LMR_MRD_WARN(raw, "the third component of the trajectory numbers the slices; it is not used.");
        return LARMOR_OK;
    }
    const int counts = is_whole(x->low) && is_whole(x->step) && x->step > .5 && x->high > 1.5;
    if (x->levels > 1 && (x->by_step2 || counts)) return make_volume(raw, encoding, x, t);
    int times;
    LMR_TRY(is_time(raw, encoding, use, &times));
    if (times) {
        LMR_MRD_WARN(raw,
                     "the third component of the trajectory grows evenly along all readouts alike: it is taken for "
                     "the times of samples and not used, as the acquisitions have their time per sample.");
        return LARMOR_OK;
    }
    t->density = x->low >= 0;
    if (t->density || fmax(fabs(x->low), fabs(x->high)) <= 1e-3 * plane) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "trajectory has a third component (%.4g to %.4g), but the matrix is %lld x "
                    "%lld x 1. Correct matrixSize z.",
                    x->low, x->high, (long long)space->matrix[0], (long long)space->matrix[1]);
}

/* Beside a matrix of several. */
static void of_volume(larmor_raw *raw, int encoding, const third *x, lmr_mrd_traj *t)
{
    const lmr_mrd_encoding *e = &raw->header.encoding[encoding];
    t->spatial = 3;
    if (x->low == x->high && x->steps2) {
        t->spatial = 2;
        LMR_MRD_WARN(raw,
                     "the third component of the trajectory is %.4g everywhere; kz is taken from "
                     "kspace_encode_step_2.",
                     x->low);
    } else if (!x->steady && x->steps2 && x->low >= 0 && x->high <= 1 + 1e-4) {
        t->spatial = 2;
        t->density = 1;
        LMR_MRD_WARN(raw, "the third component of the trajectory is from 0 to 1: density weights; kz is taken from "
                          "kspace_encode_step_2.");
    } else if (x->low >= 0 && 2 * x->levels > e->space.matrix[2] + 2 && is_whole(x->low) && is_whole(x->step)) {
        t->step = x->step;
        t->offset = middle_of(e, x);
        LMR_MRD_WARN(raw,
                     "the third component of the trajectory counts partitions from %.4g to %.4g; kz = 0 is taken "
                     "to be at %.4g.",
                     x->low, x->high, t->offset);
    }
}

larmor_status lmr_mrd_third_component(larmor_raw *raw, int encoding, int use, double plane, lmr_mrd_traj *t)
{
    third x;
    t->spatial = t->dims;
    if (t->dims < 3) return LARMOR_OK;
    LMR_TRY(measure(raw, encoding, use, &x));
    if (raw->header.encoding[encoding].space.matrix[2] > 1)
        of_volume(raw, encoding, &x, t);
    else
        LMR_TRY(of_plane(raw, encoding, use, &x, plane, t));
    raw->info.density_stored |= t->density;
    return LARMOR_OK;
}
