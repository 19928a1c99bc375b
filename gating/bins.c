/* Readouts sorted by breath and heart, as the images of a source. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/status.h"
#include "gating/gating.h"
#include "scan/source.h"

#define TICK_MS 2.5   /* of the stamps of Siemens */
#define DAY_S 86400.0 /* after which the clock begins anew */
#define FARTHEST 1.0  /* cycles per field of view: of the sample that stands for the centre */

enum { MOST_BINS = 65535, AHEAD = 4 /* samples from the centre, towards which a readout goes */ };

typedef struct view { /* what one image's readouts say */
    int64_t readouts;
    larmor_array *centre;
    double *direction, *seconds;
    larmor_stamp *stamp;
} view;

static void free_view(view *v)
{
    larmor_array_free(v->centre);
    free(v->direction);
    free(v->seconds);
    free(v->stamp);
}

/* Where readouts go, and which of their samples are nearest to the centre of k-space. */
static larmor_status aim(const char *name, const double *k, larmor_shape shape, double *direction, int64_t *nearest)
{
    const int64_t nd = shape.dim[0], samples = shape.dim[1], readouts = shape.dim[2];
    for (int64_t r = 0; r < readouts; r++) {
        const double *line = k + r * samples * nd;
        double least = INFINITY, length = 0, towards[3] = {0};
        for (int64_t i = 0; i < samples; i++) {
            double square = 0;
            for (int64_t d = 0; d < nd; d++) square += line[i * nd + d] * line[i * nd + d];
            if (square >= least) continue;
            least = square;
            nearest[r] = i;
        }
        if (!(least <= FARTHEST * FARTHEST))
            return LMR_FAIL(LARMOR_ERR_ARG,
                            "bins: readout %lld of %s does not pass the centre of k-space; give signals, or use "
                            "stamps.",
                            (long long)r, name);
        const int64_t ahead = nearest[r] + AHEAD, other = ahead < samples ? ahead : (samples - 1) / 2;
        for (int64_t d = 0; d < nd; d++) {
            towards[d] = (other < nearest[r] ? -1 : 1) * (line[other * nd + d] - line[nearest[r] * nd + d]);
            length += towards[d] * towards[d];
        }
        for (int64_t d = 0; d < 3; d++) direction[3 * r + d] = length > 0 ? towards[d] / sqrt(length) : 0;
    }
    return LARMOR_OK;
}

static larmor_status look_at_centre(larmor_source *inner, int image, larmor_device *dev, view *v)
{
    larmor_grid grid;
    LMR_FREED_BY(larmor_samples_free) larmor_samples samples = {0};
    LMR_OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    LMR_HEAP double *k = NULL, *y = NULL, *centre = NULL;
    LMR_TRY(larmor_source_samples(inner, image, NULL, dev, &grid, &samples));
    LMR_TRY(larmor_samples_align(&samples, &kspace, &traj));
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t readouts = shape.dim[1], coils = shape.ndim > 2 ? shape.dim[2] : 1;
    if (readouts != v->readouts)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "bins: %s has %lld readouts with samples and %lld with stamps",
                        lmr_source_name(inner), (long long)readouts, (long long)v->readouts);
    LMR_HEAP int64_t *nearest = calloc((size_t)readouts + 1, sizeof *nearest);
    centre = calloc((size_t)(2 * readouts * coils) + 1, sizeof *centre);
    v->direction = calloc((size_t)(3 * readouts) + 1, sizeof *v->direction);
    if (!nearest || !centre || !v->direction) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    LMR_TRY(aim(lmr_source_name(inner), k, larmor_array_shape(traj), v->direction, nearest));
    LMR_TRY(larmor_array_download(kspace, LARMOR_C128, &y));
    for (int64_t c = 0; c < coils; c++)
        for (int64_t r = 0; r < readouts; r++) {
            const int64_t from = nearest[r] + shape.dim[0] * (r + c * readouts), to = r + c * readouts;
            centre[2 * to] = y[2 * from];
            centre[2 * to + 1] = y[2 * from + 1];
        }
    return larmor_array_upload(dev, LARMOR_C128, LARMOR_SHAPE(readouts, coils), LARMOR_C128, centre, &v->centre);
}

static larmor_status read_stamps(larmor_source *inner, int image, double tick_ms, view *v)
{
    larmor_group group;
    LMR_TRY(lmr_source_group(inner, image, &group));
    v->readouts = group.readouts;
    v->stamp = calloc((size_t)group.readouts + 1, sizeof *v->stamp);
    v->seconds = calloc((size_t)group.readouts + 1, sizeof *v->seconds);
    if (!v->stamp || !v->seconds) return LMR_NO_MEMORY();
    LMR_TRY(lmr_source_stamps(inner, image, v->stamp));
    for (int64_t i = 0; i < group.readouts; i++) {
        const double s = 1e-3 * tick_ms * ((double)v->stamp[i].time - (double)v->stamp[0].time);
        v->seconds[i] = s < -DAY_S / 2 ? s + DAY_S : s > DAY_S / 2 ? s - DAY_S : s;
    }
    return LARMOR_OK;
}

/* Cycles by the time since the last trigger, in the order of the readouts; the last one is as long as the mean. */
static larmor_status count_triggers(const char *name, const view *v, int gate, double tick_ms, double *phase)
{
    const int64_t n = v->readouts;
    int64_t cycles = 0;
    LMR_HEAP double *begin = calloc((size_t)n + 1, sizeof *begin);
    if (!begin) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) {
        const double since = 1e-3 * tick_ms * v->stamp[i].physiology[gate], at = v->seconds[i] - since;
        if (i && v->stamp[i].physiology[gate] < v->stamp[i - 1].physiology[gate]) cycles++;
        begin[cycles] = phase[i] = at; /* of ticks, the last one stands for all */
    }
    if (cycles < 1)
        return LMR_FAIL(LARMOR_ERR_ARG, "bins: physiology stamp %d of the readouts of %s never restarts", gate, name);
    const double mean = (begin[cycles] - begin[0]) / (double)cycles;
    for (int64_t i = 0, c = 0; i < n; i++) {
        if (i && v->stamp[i].physiology[gate] < v->stamp[i - 1].physiology[gate]) c++;
        const double length = c < cycles ? begin[c + 1] - begin[c] : mean;
        phase[i] = (double)c + fmin(fmax((v->seconds[i] - begin[c]) / length, 0), 1 - 1e-9);
    }
    return LARMOR_OK;
}

typedef struct ranked {
    double value;
    int64_t readout;
} ranked;

static int by_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->readout > y->readout) - (x->readout < y->readout);
}

/* Bins of equally many readouts by the signal. */
static larmor_status by_rank(const double *signal, int64_t n, int bins, int *bin)
{
    LMR_HEAP ranked *list = calloc((size_t)n + 1, sizeof *list);
    if (!list) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < n; i++) list[i] = (ranked){signal[i], i};
    qsort(list, (size_t)n, sizeof *list, by_value);
    for (int64_t i = 0; i < n; i++) bin[list[i].readout] = (int)(i * bins / n);
    return LARMOR_OK;
}

static void by_phase(const double *phase, int64_t n, int bins, int *bin)
{
    const double rounding = 1e-9; /* ticks often begin a bin exactly */
    for (int64_t i = 0; i < n; i++) bin[i] = (int)((phase[i] - floor(phase[i])) * bins + rounding) % bins;
}

/* One image: its bins, and what they rest on. */
typedef struct sorting {
    larmor_source *inner;
    larmor_device *dev;
    const larmor_bins_opts *o;
    int *bin;  /* of the image's readouts */
    int image; /* of inner */
    larmor_bins_found *found;
} sorting;

static larmor_status join(const sorting *s, const double *breath, int breath_is_phase, const double *heart, int64_t n)
{
    LMR_HEAP int *other = calloc((size_t)n + 1, sizeof *other);
    if (!other) return LMR_NO_MEMORY();
    if (s->o->breath && breath_is_phase)
        by_phase(breath, n, s->o->breath, other);
    else if (s->o->breath)
        LMR_TRY(by_rank(breath, n, s->o->breath, other));
    if (s->o->heart) by_phase(heart, n, s->o->heart, s->bin);
    for (int64_t i = 0; i < n; i++) s->bin[i] += other[i] * (s->o->heart ? s->o->heart : 1);
    return LARMOR_OK;
}

static larmor_status sort_by_stamps(const sorting *s, const view *v, double tick_ms)
{
    const char *name = lmr_source_name(s->inner);
    LMR_HEAP double *phase = calloc((size_t)(2 * v->readouts) + 1, sizeof *phase);
    if (!phase) return LMR_NO_MEMORY();
    if (s->o->heart) LMR_TRY(count_triggers(name, v, 0, tick_ms, phase));
    if (s->o->breath) LMR_TRY(count_triggers(name, v, 1, tick_ms, phase + v->readouts));
    return join(s, phase + v->readouts, 1, phase, v->readouts);
}

static larmor_status sort_by_samples(const sorting *s, view *v)
{
    LMR_FREED_BY(larmor_gating_free) larmor_gating g = {.readouts = 0};
    larmor_bins_found *f = s->found;
    LMR_TRY(look_at_centre(s->inner, s->image, s->dev, v));
    LMR_TRY(larmor_gating_find(v->centre, v->direction, v->seconds, &g));
    f->breath_rate = s->o->breath ? g.breath.rate : 0;
    f->heart_rate = s->o->heart ? g.heart.rate : 0;
    if (s->o->breath) f->breath_reliable = fmin(f->breath_reliable, g.breath.reliability);
    if (s->o->heart) f->heart_reliable = fmin(f->heart_reliable, g.heart.reliability);
    return join(s, g.breath.signal, 0, g.heart.phase, v->readouts);
}

static larmor_status sort_image(sorting *s, int image, int64_t offset)
{
    LMR_FREED_BY(free_view) view v = {0};
    const larmor_bins_opts *o = s->o;
    const double tick_ms = o->tick_ms > 0 ? o->tick_ms : TICK_MS;
    s->image = image;
    LMR_TRY(read_stamps(s->inner, image, tick_ms, &v));
    if (o->signal && offset + v.readouts > o->signals)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "bins: got signals of %lld readouts, %s has more", (long long)o->signals,
                        lmr_source_name(s->inner));
    if (o->signal) return join(s, o->signal + offset, 0, o->signal + o->signals + offset, v.readouts);
    return o->way == LARMOR_GATING_HEADER ? sort_by_stamps(s, &v, tick_ms) : sort_by_samples(s, &v);
}

static larmor_status check(const larmor_bins_opts *o)
{
    const int64_t heart = o->heart ? o->heart : 1, breath = o->breath ? o->breath : 1;
    if (o->heart < 0 || o->breath < 0 || (!o->heart && !o->breath) || heart * breath > MOST_BINS)
        return LMR_FAIL(LARMOR_ERR_ARG, "bins: got %d of the heart and %d of the breath, expected 1 to %d together",
                        o->heart, o->breath, MOST_BINS);
    if (!(o->tick_ms >= 0 && o->tick_ms <= 1e6))
        return LMR_FAIL(LARMOR_ERR_ARG, "bins: tick_ms is %g, expected a time above 0", o->tick_ms);
    for (int64_t i = 0; o->signal && i < 2 * o->signals; i++)
        if (!isfinite(o->signal[i]))
            return LMR_FAIL(LARMOR_ERR_NUMERIC, "bins: number %lld of the signals is not finite", (long long)i);
    return LARMOR_OK;
}

static larmor_status check_reliability(const larmor_bins_opts *o, const larmor_bins_found *f)
{
    const int poor_breath = o->breath && f->breath_reliable < LARMOR_RELIABLE;
    if (!poor_breath && !(o->heart && f->heart_reliable < LARMOR_RELIABLE)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "bins: the %s that was found in the samples has a reliability of %.2f",
                    poor_breath ? "breath" : "heartbeat", poor_breath ? f->breath_reliable : f->heart_reliable);
}

/* How many readouts each bin has. */
static larmor_status count_bins(const larmor_source *source, larmor_bins_found *f, int bins)
{
    const int images = larmor_source_describe(source).groups;
    f->bins = bins;
    f->empty = bins - images;
    for (int i = 0; i < images; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(source, i, &g));
        if (!i || g.readouts < f->fewest) f->fewest = g.readouts;
        if (g.readouts > f->most) f->most = g.readouts;
    }
    return LARMOR_OK;
}

larmor_status larmor_source_of_bins(larmor_source *inner, larmor_device *dev, const larmor_bins_opts *opts,
                                    larmor_bins_found *found, larmor_source **source)
{
    larmor_bins_found own = {.breath_reliable = 1, .heart_reliable = 1};
    LMR_NEED(source);
    *source = NULL;
    if (found) *found = own;
    LMR_NEED(inner);
    LMR_NEED(dev);
    LMR_NEED(opts);
    LMR_TRY(check(opts));
    const int images = larmor_source_describe(inner).groups;
    const int heart = opts->heart ? opts->heart : 1, breath = opts->breath ? opts->breath : 1;
    int64_t all = 0;
    for (int i = 0; i < images; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(inner, i, &g));
        all += g.readouts;
    }
    LMR_HEAP int *bin = calloc((size_t)all + 1, sizeof *bin);
    if (!bin) return LMR_NO_MEMORY();
    sorting s = {inner, dev, opts, bin, 0, &own};
    int64_t offset = 0;
    for (int i = 0; i < images; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(inner, i, &g));
        s.bin = bin + offset;
        LMR_TRY(sort_image(&s, i, offset));
        offset += g.readouts;
    }
    if (!found) LMR_TRY(check_reliability(opts, &own));
    LMR_TRY(lmr_source_of_bins(inner, &(lmr_bins){heart, breath, bin}, source));
    LMR_TRY(count_bins(*source, &own, images * heart * breath));
    if (found) *found = own;
    return LARMOR_OK;
}
