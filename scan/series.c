/* Which images make a series, and the order of the series. SPDX-License-Identifier: Apache-2.0 */
#include "scan/series.h"

#include "core/core.h"
#include "scan/source.h"

int lmr_is_wanted(const larmor_counters *only, const larmor_group *g)
{
    return (only->encoding < 1 || only->encoding == g->encoding + 1) &&
           (only->slice < 0 || only->slice == g->slice) && (only->contrast < 0 || only->contrast == g->contrast) &&
           (only->phase < 0 || only->phase == g->phase) &&
           (only->repetition < 0 || only->repetition == g->repetition) && (only->set < 0 || only->set == g->set);
}

void lmr_series_free(lmr_series *list)
{
    LMR_FREE(list->group, list->first, list->is_weak);
    *list = (lmr_series){.group = NULL};
}

/* Group i, and all later ones that go with it. */
static larmor_status gather_from(const lmr_job *job, const larmor_counters *only, int i, char *taken,
                                 lmr_series *list)
{
    larmor_group g, other;
    LMR_TRY(lmr_source_group(job->facts->source, i, &g));
    if (taken[i] || !lmr_is_wanted(only, &g)) return LARMOR_OK;
    list->group[list->groups++] = i;
    for (int j = i + 1; job->settings->joint && j < job->facts->info.groups; j++) {
        LMR_TRY(lmr_source_group(job->facts->source, j, &other));
        if (taken[j] || !lmr_is_wanted(only, &other) || !lmr_joint(job, &g, &other)) continue;
        list->group[list->groups++] = j;
        taken[j] = 1;
    }
    list->first[++list->series] = list->groups;
    return LARMOR_OK;
}

/* 1 if the series has every phase of every repetition, as its dimensions h and b say. */
static int is_whole(const lmr_job *job, const int *group, int count)
{
    const int *bins = job->facts->info.bins, split = job->settings->is_split;
    larmor_group g;
    for (int i = 0; i < count; i++) {
        if (lmr_source_group(job->facts->source, group[i], &g)) return 0;
        if (bins[0] > 1 && g.phase != i % bins[0]) return 0;
        if (!split && g.repetition % bins[1] != i / bins[0] % bins[1]) return 0;
    }
    return count % (split ? bins[0] : bins[0] * bins[1]) == 0;
}

int lmr_series_are_bins(const lmr_job *job, const larmor_counters *only)
{
    const larmor_raw_info *info = &job->facts->info;
    const int bins = info->bins[0] * info->bins[1];
    larmor_group g;
    if (bins < 2 || info->groups % bins) return 0;
    for (int i = 0; i < info->groups; i++) {
        if (lmr_source_group(job->facts->source, i, &g) || !lmr_is_wanted(only, &g)) return 0;
        if (info->bins[0] > 1 && g.phase != i % info->bins[0]) return 0;
        if (g.repetition % info->bins[1] != i / info->bins[0] % info->bins[1]) return 0;
    }
    return 1;
}

/* Penalties along t, h and b need a series that has them. */
static larmor_status check_dimensions(const lmr_job *job, const lmr_series *list)
{
    static const char letters[] = "thb";
    const char *name = job->found.method.name;
    const larmor_raw_info *info = &job->facts->info;
    larmor_penalties p;
    if (job->found.method.kind != LMR_METHOD_REGULARISED) return LARMOR_OK;
    LMR_TRY(larmor_regulariser_read(name, &p));
    const unsigned asked = p.axes >> 3;
    for (int i = 0; letters[i]; i++) {
        const int sorted = info->bins[0] && memchr(info->bins_letter, letters[i], 2);
        LMR_REFUSE(asked >> i & 1 && !sorted && (info->bins[0] || i), LARMOR_ERR_ARG,
                   "opts.method %s: the series of %s has no dimension %c; bins of time, the "
                   "heart and the breath are dimensions t, h and b.",
                   name, lmr_source_name(job->facts->source), letters[i]);
    }
    for (int s = 0; asked && info->bins[0] && s < list->series; s++)
        LMR_REFUSE(!is_whole(job, list->group + list->first[s], list->first[s + 1] - list->first[s]), LARMOR_ERR_ARG,
                   "opts.method %s: a series of %s lacks some of its %d x %d bins; ask for fewer.", name,
                   lmr_source_name(job->facts->source), info->bins[0], info->bins[1]);
    return LARMOR_OK;
}

/* A penalty of series is refused for a single frame before any work. */
static larmor_status check(const lmr_job *job, const lmr_series *list)
{
    const char *name = lmr_source_name(job->facts->source);
    LMR_REFUSE(
        !list->groups, LARMOR_ERR_ARG,
        "%s: no image has the encoding, slice, contrast, phase, repetition and set asked for; see larmor info.",
        name);
    for (int s = 0; job->facts->basis && s < list->series; s++) {
        const int64_t frames = larmor_array_shape(job->facts->basis).dim[0];
        const int count = list->first[s + 1] - list->first[s];
        LMR_REFUSE(count != frames, LARMOR_ERR_SHAPE,
                   "opts.%s: has %lld frames, and %s has %d of a slice; frames are repetitions, phases and "
                   "contrasts, or are cut by opts.spokes.",
                   job->settings->opts.motion_fields ? "motion_fields" : "basis", (long long)frames, name, count);
    }
    if (lmr_solves_coils(job)) {
        if (job->facts->info.coils > 1) return LARMOR_OK;
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.method %s: %s has one coil, %s needs several; use tv or wavelet.",
                        job->found.method.name, name, job->found.method.name);
    }
    for (int s = 0; job->found.method.takes & LARMOR_NEEDS_SERIES && !job->facts->basis && s < list->series; s++)
        LMR_REFUSE(list->first[s + 1] - list->first[s] < 2, LARMOR_ERR_ARG,
                   "opts.method %s: %s has one frame of a slice, %s needs several repetitions, phases or "
                   "contrasts; use tv or wavelet.",
                   job->found.method.name, name, job->found.method.name);
    return check_dimensions(job, list);
}

larmor_status lmr_series_gather(const lmr_job *job, const larmor_counters *only, lmr_series *list)
{
    const size_t room = (size_t)job->facts->info.groups + 1;
    *list = (lmr_series){.group = calloc(room, sizeof *list->group), .first = calloc(room, sizeof *list->first)};
    LMR_HEAP char *taken = calloc(room, 1);
    larmor_status st = LARMOR_OK;
    if (!list->group || !list->first || !taken) st = LMR_NO_MEMORY();
    for (int i = 0; i < job->facts->info.groups && !st; i++) st = gather_from(job, only, i, taken, list);
    return st ? st : check(job, list);
}

/* ---- which series decides ---- */

enum { ASKED = 8, MOST_SERIES = 64 }; /* readouts of a series, and series of which they are read */

/* The first series decides where it has so much of the energy of the strongest one, and of the samples of the longest
 * one: between repetitions, contrasts and slices of an object both differ less. */
#define LEAST_ENERGY 0.1
#define LEAST_SAMPLES 0.7

typedef struct content {
    int64_t samples;
    double energy; /* of a readout */
    int has_hole;
} content;

/* At most so many readouts of a group, evenly between its first and its last one; what is wrong with an image is said
 * where it is made. */
static larmor_status some_readouts(const lmr_job *job, int index, const larmor_group *group, int64_t most,
                                   larmor_samples *samples)
{
    const int64_t count = group->readouts < most ? group->readouts : most;
    LMR_HEAP LMR_NEW(int64_t, readout, count + 1);
    for (int64_t i = 0; i < count; i++) readout[i] = i * group->readouts / count;
    const larmor_status st = lmr_source_readouts(job->facts->source, index, readout, count, &job->facts->grid[index],
                                                 job->facts->dev, samples);
    if (st) larmor_samples_free(samples);
    return st == LARMOR_STOPPED || st == LARMOR_ERR_MEMORY ? st : LARMOR_OK;
}

static larmor_status look(const lmr_job *job, int index, content *c)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples samples = {.kspace = NULL};
    double size;
    larmor_group group;
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    *c = (content){.samples = group.total, .has_hole = group.hole > 0};
    LMR_TRY(some_readouts(job, index, &group, ASKED, &samples));
    if (!samples.kspace) return LARMOR_OK;
    const int64_t count = larmor_array_shape(samples.kspace).dim[1];
    LMR_TRY(larmor_nrm2(samples.kspace, &size));
    if (isfinite(size)) c->energy = size * size / (double)count;
    return LARMOR_OK;
}

/* The strongest of a series' groups, if the first has far less signal: *lead is which, from 0. */
static larmor_status look_at_series(const lmr_job *job, const int *group, int count, int *lead, content *c)
{
    const int asked = count < MOST_SERIES ? count : MOST_SERIES;
    content first;
    *lead = 0;
    LMR_TRY(look(job, group[0], &first));
    *c = first;
    for (int i = 1; i < asked; i++) {
        const int at = (int)((int64_t)i * count / asked);
        content other;
        LMR_TRY(look(job, group[at], &other));
        if (!(first.energy < LEAST_ENERGY * other.energy) || !(other.energy > c->energy)) continue;
        *lead = at;
        *c = other;
    }
    return LARMOR_OK;
}

/* Where there is noise alone the mean power at each place along readouts is that of all places, to so many deviations
 * of the mean of as many numbers as readouts and coils have there. */
#define NOISE_DEVIATIONS 5

/* power[0 .. n-1] += at each place along the readouts of a coil, over the mean of all; y [n, readouts] complex. */
static void add_power(const float *y, int64_t n, int64_t readouts, double *power)
{
    double sum = 0;
    for (int64_t i = 0; i < n * readouts; i++) sum += pow((double)y[2 * i], 2) + pow((double)y[2 * i + 1], 2);
    const double mean = sum / (double)(n * readouts);
    for (int64_t i = 0; i < n * readouts && mean > 0; i++)
        power[i % n] += (pow((double)y[2 * i], 2) + pow((double)y[2 * i + 1], 2)) / mean;
}

/* 1 if no place along the readouts has more than noise. */
static larmor_status is_silent(const lmr_job *job, int index, int *silent)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples samples = {.kspace = NULL};
    larmor_group group;
    *silent = 0;
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    LMR_TRY(some_readouts(job, index, &group, group.readouts, &samples));
    if (!samples.kspace) return LARMOR_OK;
    const larmor_shape shape = larmor_array_shape(samples.kspace);
    const int64_t n = shape.dim[0], readouts = shape.dim[1], coils = shape.dim[2];
    const double count = (double)(readouts * coils);
    LMR_HEAP LMR_NEW_ZEROS(double, power, n);
    LMR_OWN_MEMORY(float, y, larmor_array_download(samples.kspace, LARMOR_C64, &y));
    for (int64_t c = 0; c < coils; c++) add_power(y + 2 * n * readouts * c, n, readouts, power);
    *silent = 1;
    for (int64_t i = 0; i < n; i++) *silent &= power[i] / count <= 1 + NOISE_DEVIATIONS / sqrt(count);
    return LARMOR_OK;
}

/* Each of a series' groups: silent[i] is 1 of those with far less energy than others, all of it noise. */
static larmor_status find_silent(const lmr_job *job, const int *group, int count, int *silent, int *found)
{
    double most = 0;
    LMR_HEAP LMR_NEW(content, c, count);
    *found = 0;
    for (int i = 0; i < count; i++) {
        LMR_TRY(look(job, group[i], &c[i]));
        most = fmax(most, c[i].energy);
    }
    for (int i = 0; i < count; i++) {
        silent[i] = 0;
        if (c[i].energy < LEAST_ENERGY * most) LMR_TRY(is_silent(job, group[i], &silent[i]));
        *found += silent[i];
    }
    return LARMOR_OK;
}

/* Whether a series may be other images than all of a slice. */
static int may_part(const lmr_job *job)
{
    const larmor_recon_opts *o = &job->settings->opts;
    return o->joint && !job->facts->basis && !job->facts->slabs && !o->motion_fields && !job->facts->info.bins[0] &&
           !(job->found.method.takes & LARMOR_NEEDS_SERIES) && lmr_source_has_readouts(job->facts->source);
}

larmor_status lmr_series_part_silent(const lmr_job *job, lmr_series *list)
{
    if (!may_part(job)) return LARMOR_OK;
    LMR_HEAP LMR_NEW(int, silent, list->groups);
    LMR_HEAP LMR_NEW(int, group, list->groups);
    LMR_HEAP LMR_NEW(int, first, list->groups + 1);
    int series = 0, at = 0;
    first[0] = 0;
    for (int s = 0; s < list->series; s++) {
        const int *of = list->group + list->first[s], count = list->first[s + 1] - list->first[s];
        int found = 0;
        LMR_TRY(find_silent(job, of, count, silent, &found));
        for (int i = 0; i < count; i++)
            if (!silent[i]) group[at++] = of[i];
        if (found < count) first[++series] = at;
        for (int i = 0; i < count; i++) {
            if (!silent[i]) continue;
            lmr_log(job->events, "image %d of the %d of a joint series has no signal: it is made by itself", i + 1,
                    count);
            group[at++] = of[i];
            first[++series] = at;
        }
    }
    memcpy(list->group, group, (size_t)list->groups * sizeof *group);
    memcpy(list->first, first, (size_t)(series + 1) * sizeof *first);
    list->series = series;
    return LARMOR_OK;
}

larmor_status lmr_series_image(const lmr_job *job, const int *group, int count, int *lead)
{
    content unused;
    *lead = 0;
    if (count < 2 || !lmr_source_has_readouts(job->facts->source)) return LARMOR_OK;
    return look_at_series(job, group, count, lead, &unused);
}

static larmor_status look_at_number(const lmr_job *job, const lmr_series *list, int s, int *lead, content *c)
{
    return look_at_series(job, list->group + list->first[s], list->first[s + 1] - list->first[s], lead, c);
}

static int is_whole_of(const content *c, int64_t most)
{
    return (double)c->samples >= LEAST_SAMPLES * (double)most && !c->has_hole;
}

/* Of the series that have about as many samples as the longest one; -1: there is none. */
static int strongest(const content *c, int count, int64_t most)
{
    int best = -1;
    for (int i = 0; i < count; i++)
        if (is_whole_of(&c[i], most) && (best < 0 || c[i].energy > c[best].energy)) best = i;
    return best;
}

larmor_status lmr_series_lead(const lmr_job *job, lmr_series *list)
{
    const int count = list->series < MOST_SERIES ? list->series : MOST_SERIES;
    content c[MOST_SERIES];
    int lead[MOST_SERIES] = {0};
    int64_t most = 0;
    list->lead = list->lead_image = 0;
    if (list->groups < 2 || !lmr_source_has_readouts(job->facts->source)) return LARMOR_OK;
    for (int i = 0; i < count; i++) {
        LMR_TRY(look_at_number(job, list, (int)((int64_t)i * list->series / count), &lead[i], &c[i]));
        if (c[i].samples > most) most = c[i].samples;
    }
    list->lead_image = lead[0];
    const int best = strongest(c, count, most);
    if (best < 0) return LARMOR_OK;
    const double least = LEAST_ENERGY * c[best].energy;
    const int is_weak = c[0].energy < least;
    for (int i = 0; i < count; i++) {
        if (!(c[i].energy < least)) continue;
        if (!list->is_weak) LMR_ALLOCATE_ZEROS(list->is_weak, list->series);
        list->is_weak[(int)((int64_t)i * list->series / count)] = 1;
    }
    if (!is_weak && is_whole_of(&c[0], most)) return LARMOR_OK;
    list->lead = (int)((int64_t)best * list->series / count);
    list->lead_image = lead[best];
    if (is_weak)
        lmr_log(job->events,
                "image %d of %d decides what suits all: the first one has %.2g of the energy of its readouts",
                list->lead + 1, list->series, c[0].energy / c[best].energy);
    else if (c[0].has_hole)
        lmr_log(job->events,
                "image %d of %d decides what suits all: k-space of the first one has a hole in its centre",
                list->lead + 1, list->series);
    else
        lmr_log(job->events, "image %d of %d decides what suits all: the first one has %lld of its %lld samples",
                list->lead + 1, list->series, (long long)c[0].samples, (long long)c[best].samples);
    return LARMOR_OK;
}

void lmr_series_name(const lmr_series *list, int s, char name[64])
{
    const int count = list->first[s + 1] - list->first[s];
    if (count > 1)
        snprintf(name, 64, "series %d of %d, %d images", s + 1, list->series, count);
    else
        snprintf(name, 64, "image %d of %d", s + 1, list->series);
}
