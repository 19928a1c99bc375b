/* Frames of a long acquisition: the readouts of an image in windows of time, or in bins of the cardiac cycle.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "scan/source.h"

#define TICK_MS 2.5               /* of the stamps of Siemens */
#define MAX_CYCLE_OVER_MEDIAN 1.5 /* cycles, relative to the median: beyond, a trigger was missed */

enum { MOST_FRAMES = 65536 }; /* a counter has 16 bits */

typedef struct frame {
    int image;            /* of the inner source */
    int number;           /* its repetition or phase */
    int64_t first, count; /* of the list of readouts */
    larmor_stamp stamp;   /* of its first readout */
    larmor_group group;
} frame;

typedef struct frames {
    larmor_source *inner;
    larmor_frames_opts opts; /* zero where readouts have bins */
    lmr_bins bins;
    int64_t binned; /* readouts whose bins are read */
    larmor_raw_info info;
    frame *frame;
    int64_t *readout; /* numbers within the image, frame after frame */
    int64_t frames, readouts, frame_room, readout_room;
    int64_t left, empty; /* readouts that are left out; frames without any */
    int64_t unstamped;   /* readouts without a time stamp, whose time is that between others */
    int shuffled;        /* 1: readouts of an image are counted by their time stamps, not as they come */
    int64_t partitions;  /* of the image that has the most; 1 where none is a stack */
} frames;

/* ---- what the pipeline asks ---- */

static larmor_raw_info describe(void *self)
{
    return ((const frames *)self)->info;
}

static larmor_status find(const frames *f, int group, const frame **out)
{
    LMR_REFUSE(group < 0 || group >= f->frames, LARMOR_ERR_ARG, "frames: frame %d, there are %lld", group,
               (long long)f->frames);
    *out = &f->frame[group];
    return LARMOR_OK;
}

static larmor_status group_of(void *self, int group, larmor_group *out)
{
    const frame *one = NULL;
    LMR_TRY(find(self, group, &one));
    *out = one->group;
    return LARMOR_OK;
}

static larmor_status meta_of(void *self, int group, larmor_image_meta *meta)
{
    const frames *f = self;
    const frame *one = NULL;
    LMR_TRY(find(f, group, &one));
    LMR_TRY(lmr_source_meta(f->inner, one->image, meta));
    meta->repetition = one->group.repetition;
    meta->phase = one->group.phase;
    meta->time_stamp = one->stamp.time;
    memcpy(meta->physiology_stamp, one->stamp.physiology, sizeof meta->physiology_stamp);
    return LARMOR_OK;
}

/* All readouts of the image give the maps where the scan has none for them. */
static larmor_status samples_of(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *dev,
                                larmor_samples *out)
{
    const frames *f = self;
    const frame *one = NULL;
    *out = (larmor_samples){0};
    LMR_TRY(find(f, group, &one));
    const int64_t coils = f->info.coils;
    if (!calibration)
        return lmr_source_readouts(f->inner, one->image, f->readout + one->first, one->count, grid, dev, out);
    LMR_TRY(lmr_source_samples(f->inner, one->image, grid, 1, coils, dev, out));
    if (out->kspace) return LARMOR_OK;
    larmor_samples_free(out);
    return lmr_source_samples(f->inner, one->image, grid, 0, coils, dev, out);
}

static larmor_status stamps_of(void *self, int group, larmor_stamp *stamps)
{
    const frames *f = self;
    const frame *one = NULL;
    larmor_group whole;
    LMR_TRY(find(f, group, &one));
    LMR_TRY(lmr_source_group(f->inner, one->image, &whole));
    LMR_HEAP larmor_stamp *all = calloc((size_t)whole.readouts + 1, sizeof *all);
    LMR_TRY(all ? lmr_source_stamps(f->inner, one->image, all) : LMR_NO_MEMORY());
    for (int64_t i = 0; i < one->count; i++) stamps[i] = all[f->readout[one->first + i]];
    return LARMOR_OK;
}

/* Numbers within the image of a frame's readouts; readout NULL: of all of them, which sets *count. */
static larmor_status numbers_of(const frames *f, int group, const int64_t *readout, int64_t *count, int64_t **inner)
{
    const frame *one = NULL;
    LMR_TRY(find(f, group, &one));
    if (!readout) *count = one->count;
    LMR_ALLOCATE_ZEROS(*inner, (size_t)*count + 1);
    for (int64_t i = 0; i < *count; i++) {
        const int64_t r = readout ? readout[i] : i;
        LMR_REFUSE(r < 0 || r >= one->count, LARMOR_ERR_ARG, "frames: readout %lld of frame %d, which has %lld",
                   (long long)r, group, (long long)one->count);
        (*inner)[i] = f->readout[one->first + r];
    }
    return LARMOR_OK;
}

static larmor_status readouts_of(void *self, int group, const int64_t *readout, int64_t count,
                                 const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    const frames *f = self;
    *out = (larmor_samples){0};
    LMR_OWN_MEMORY(int64_t, inner, numbers_of(f, group, readout, &count, &inner));
    return lmr_source_readouts(f->inner, f->frame[group].image, inner, count, grid, dev, out);
}

static larmor_status times_of(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                              larmor_device *dev, larmor_array **times)
{
    const frames *f = self;
    *times = NULL;
    LMR_OWN_MEMORY(int64_t, inner, numbers_of(f, group, readout, &count, &inner));
    return lmr_source_times(f->inner, f->frame[group].image, inner, count, grid, dev, times);
}

static larmor_status phases_of(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                               larmor_device *dev, larmor_array **phases)
{
    const frames *f = self;
    *phases = NULL;
    LMR_OWN_MEMORY(int64_t, inner, numbers_of(f, group, readout, &count, &inner));
    return lmr_source_phases(f->inner, f->frame[group].image, inner, count, grid, dev, phases);
}

static larmor_status fingerprint_of(void *self, uint64_t *fingerprint)
{
    const frames *f = self;
    LMR_TRY(lmr_source_fingerprint(f->inner, fingerprint));
    for (int64_t i = 0; i < f->frames; i++) {
        const int64_t numbers[] = {f->frame[i].image, f->frame[i].number, f->frame[i].count};
        *fingerprint = lmr_hash(*fingerprint, numbers, sizeof numbers);
    }
    *fingerprint = lmr_hash(*fingerprint, f->readout, sizeof *f->readout * (size_t)f->readouts);
    return LARMOR_OK;
}

static void destroy(void *self)
{
    frames *f = self;
    larmor_source_free(f->inner);
    LMR_FREE(f->frame, f->readout, f);
}

/* ---- one image ---- */

typedef struct timed { /* a readout of the image */
    /* What the list is sorted by: acquired_ms, or its number within its partition, as if each had as many as the
     * fullest. */
    double key;
    int64_t readout;
    double acquired_ms;   /* since the first readout */
    double since_trigger; /* ms */
    int cycle;
} timed;

typedef struct image {
    int index;
    larmor_group group;
    larmor_stamp *stamp; /* [group.readouts] */
    timed *at;           /* [group.readouts], in the order of acquisition */
    int clock;           /* 1: the time stamps differ */
    int64_t unstamped;   /* readouts that have none, while others do */
    int shuffled;        /* 1: all have one, and they do not follow each other as the readouts do */
    int next;            /* the number of its next frame */
} image;

static larmor_status read_clock(const frames *f, image *m)
{
    const int64_t count = m->group.readouts;
    LMR_HEAP LMR_NEW(double, ms, count + 1);
    m->unstamped = lmr_stamps_read(m->stamp, count, f->opts.tick_ms, ms, &m->clock);
    for (int64_t i = 0; i < count; i++) {
        m->at[i] = (timed){ms[i], i, ms[i], f->opts.tick_ms * m->stamp[i].physiology[f->opts.gate], 0};
        m->shuffled |= m->clock && !m->unstamped && i > 0 && ms[i] < ms[i - 1];
    }
    return LARMOR_OK;
}

static larmor_status open_image(const frames *f, int index, image *m)
{
    *m = (image){.index = index};
    LMR_TRY(lmr_source_group(f->inner, index, &m->group));
    LMR_ALLOCATE_ZEROS(m->stamp, m->group.readouts + 1);
    LMR_ALLOCATE_ZEROS(m->at, m->group.readouts + 1);
    LMR_TRY(lmr_source_stamps(f->inner, index, m->stamp));
    return read_clock(f, m);
}

LMR_FREES(close_image, image, stamp, at)

/* ---- lists that grow ---- */

static larmor_status add_readout(frames *f, int64_t readout)
{
    LMR_TRY(lmr_grow(&f->readout, f->readouts, &f->readout_room, sizeof *f->readout));
    f->readout[f->readouts++] = readout;
    return LARMOR_OK;
}

/* The readouts from `first` of the list on become a frame. */
static larmor_status add_frame(frames *f, image *m, int64_t first)
{
    LMR_REFUSE(f->frames == INT32_MAX || m->next == MOST_FRAMES, LARMOR_ERR_ARG,
               "%s: more than %d frames of an image; make them longer.", lmr_source_name(f->inner), MOST_FRAMES);
    LMR_TRY(lmr_grow(&f->frame, f->frames, &f->frame_room, sizeof *f->frame));
    frame *one = &f->frame[f->frames];
    *one = (frame){m->index, m->next++, first, f->readouts - first, m->stamp[f->readout[first]], m->group};
    larmor_group *g = &one->group;
    g->readouts = one->count;
    g->total = g->samples = 0;
    g->regular = 1;
    for (int64_t i = first; i < f->readouts; i++) {
        const int64_t samples = m->stamp[f->readout[i]].samples;
        g->regular &= i == first || samples == g->samples;
        g->total += samples;
        if (samples > g->samples) g->samples = samples;
    }
    if (f->opts.phases)
        g->phase = one->number;
    else
        g->repetition = one->number;
    f->frames++;
    return LARMOR_OK;
}

/* Readouts from .. to - 1 of the image, in their order of acquisition. */
static larmor_status add_range(frames *f, image *m, int64_t from, int64_t to)
{
    const int64_t first = f->readouts;
    for (int64_t i = from; i < to; i++) LMR_TRY(add_readout(f, m->at[i].readout));
    return add_frame(f, m, first);
}

/* ---- windows ---- */

#define MAX_KZ_DIFFERENCE 1e-2 /* cycles per field of view: readouts so close are of one partition */

/* Past the end of the partition that begins at `first` of a list by kz. */
static int64_t end_of_partition(const lmr_ranked *list, int64_t first, int64_t count)
{
    int64_t end = first + 1;
    while (end < count && list[end].value - list[end - 1].value <= MAX_KZ_DIFFERENCE) end++;
    return end;
}

/* All readouts by kz, *partitions and the most readouts that one of them has; 1 partition where it is no stack. */
static larmor_status find_partitions(const image *m, lmr_ranked **by_kz, int64_t *partitions, int64_t *most)
{
    const int64_t all = m->group.readouts;
    *partitions = *most = 0;
    LMR_ALLOCATE_ZEROS(*by_kz, all + 1);
    lmr_ranked *const list = *by_kz;
    int flat = 1;
    for (int64_t i = 0; i < all; i++) flat &= isfinite(m->stamp[i].kz) != 0;
    for (int64_t i = 0; i < all; i++) list[i] = (lmr_ranked){flat ? m->stamp[i].kz : 0, i};
    lmr_sort_ranked(list, all);
    for (int64_t first = 0, end = 0; first < all; first = end) {
        end = end_of_partition(list, first, all);
        if (end - first > *most) *most = end - first;
        ++*partitions;
    }
    if (*most > 1) return LARMOR_OK;
    *partitions = 1; /* each readout has a kz of its own: not a stack */
    *most = all;
    return LARMOR_OK;
}

/* Which spoke of its partition each readout is, by the time stamps where they say another order than the file has;
 * the readouts are then in the order of spokes. */
static larmor_status number_spokes(frames *f, image *m, int64_t *spokes)
{
    const int64_t all = m->group.readouts;
    int64_t partitions;
    LMR_OWN_MEMORY(lmr_ranked, list, find_partitions(m, &list, &partitions, spokes));
    for (int64_t first = 0, end = 0; first < all; first = end) {
        end = partitions > 1 ? end_of_partition(list, first, all) : all;
        for (int64_t i = first; i < end; i++) list[i].value = m->shuffled ? m->at[list[i].index].acquired_ms : 0;
        lmr_sort_ranked(list + first, end - first);
        for (int64_t i = first; i < end; i++)
            m->at[list[i].index].key = (double)((i - first) * *spokes / (end - first));
    }
    qsort(m->at, (size_t)all, sizeof *m->at, lmr_by_rank);
    if (partitions > f->partitions) f->partitions = partitions;
    f->shuffled |= m->shuffled;
    return LARMOR_OK;
}

static larmor_status cut_by_spokes(frames *f, image *m)
{
    const int64_t length = f->opts.spokes, step = (int64_t)f->opts.step, all = m->group.readouts;
    int64_t spokes, from = 0, to = 0;
    LMR_TRY(number_spokes(f, m, &spokes));
    LMR_REFUSE(length > spokes, LARMOR_ERR_ARG, "opts.spokes %lld: the images of %s have %lld %s.", (long long)length,
               lmr_source_name(f->inner), (long long)spokes,
               f->partitions > 1 ? "spokes in each partition" : "readouts");
    for (int64_t first = 0; first + length <= spokes; first += step) {
        const int last = first + step + length > spokes;
        const int64_t end = last && f->opts.join_rest ? spokes : first + length;
        while (from < all && m->at[from].key < (double)first) from++;
        while (to < all && m->at[to].key < (double)end) to++;
        LMR_TRY(add_range(f, m, from, to));
        if (last) f->left += all - to;
    }
    return LARMOR_OK;
}

/* The typical time from one readout to the next. */
static larmor_status typical_step(const image *m, double *ms)
{
    const int64_t count = m->group.readouts - 1;
    LMR_HEAP LMR_NEW_ZEROS(double, steps, (size_t)count + 1);
    double sum = 0;
    int64_t usual = 0;
    for (int64_t i = 0; i < count; i++) steps[i] = m->at[i + 1].acquired_ms - m->at[i].acquired_ms;
    *ms = lmr_median_f64(steps, count);
    for (; usual < count && steps[usual] <= 2 * *ms; usual++) sum += steps[usual]; /* ticks are coarse */
    if (*ms > 0) *ms = sum / (double)usual;
    return LARMOR_OK;
}

static larmor_status cut_by_time(frames *f, image *m)
{
    const double length = f->opts.ms, step = f->opts.step;
    const int64_t all = m->group.readouts;
    double spacing;
    LMR_REFUSE(!m->clock, LARMOR_ERR_ARG,
               "opts.ms: the readouts of %s have no time stamps, or all the same; use opts.spokes.",
               lmr_source_name(f->inner));
    f->unstamped += m->unstamped;
    qsort(m->at, (size_t)all, sizeof *m->at, lmr_by_rank);
    LMR_TRY(typical_step(m, &spacing));
    const double start = m->at[0].acquired_ms, whole = m->at[all - 1].acquired_ms - start + spacing;
    LMR_REFUSE(length > whole * (1 + 1e-9), LARMOR_ERR_ARG, "opts.ms %g: the images of %s take %.4g ms.", length,
               lmr_source_name(f->inner), whole);
    const double count = floor((whole - length) / step + 1e-9) + 1;
    int64_t from = 0, used = 0;
    for (double i = 0; i < count; i++) {
        const double begin = start + i * step, end = begin + length;
        while (from < all && m->at[from].acquired_ms < begin - 1e-9) from++;
        int64_t to = from;
        while (to < all && m->at[to].acquired_ms < end - 1e-9) to++;
        if (i + 1 == count && f->opts.join_rest) to = all;
        f->empty += to == from;
        if (to > from) LMR_TRY(add_range(f, m, from, to));
        used = to;
    }
    f->left += all - used;
    return LARMOR_OK;
}

/* ---- the cardiac cycle ---- */

/* Numbers the cycles: a new one begins where the time since the trigger does not grow as the clock does. Their
 * lengths [cycles + 1]; the last one's, and those with missed triggers, are the median. */
static larmor_status find_cycles(const frames *f, image *m, double **length, double *median)
{
    const int64_t all = m->group.readouts;
    double spacing = 0;
    LMR_HEAP double *known = calloc((size_t)all + 1, sizeof *known);
    int cycles = 0;
    *length = calloc((size_t)all + 1, sizeof **length);
    if (!known || !*length) return LMR_NO_MEMORY();
    if (m->clock) LMR_TRY(typical_step(m, &spacing));
    for (int64_t i = 1; i < all; i++) {
        timed *now = &m->at[i];
        const timed *before = &m->at[i - 1];
        const double passed = m->clock ? now->acquired_ms - before->acquired_ms : spacing;
        const int next = now->since_trigger < before->since_trigger ||
                         (m->clock && now->since_trigger + 2 * spacing < before->since_trigger + passed);
        if (next) (*length)[cycles++] = before->since_trigger + passed - now->since_trigger;
        now->cycle = cycles;
    }
    LMR_REFUSE(!cycles, LARMOR_ERR_ARG,
               "opts.phases: physiology stamp %d of the readouts of %s never restarts; choose another "
               "one by opts.gate, or use opts.ms.",
               f->opts.gate, lmr_source_name(f->inner));
    memcpy(known, *length, (size_t)cycles * sizeof *known);
    *median = lmr_median_f64(known, cycles);
    for (int i = 0; i < cycles; i++)
        if ((*length)[i] > MAX_CYCLE_OVER_MEDIAN * *median) (*length)[i] = *median;
    (*length)[cycles] = fmax(*median, m->at[all - 1].since_trigger * (1 + 1e-9));
    if ((*length)[cycles] > MAX_CYCLE_OVER_MEDIAN * *median) (*length)[cycles] = *median;
    return LARMOR_OK;
}

static larmor_status cut_by_phase(frames *f, image *m)
{
    const int64_t all = m->group.readouts;
    double median = 0;
    if (m->clock) qsort(m->at, (size_t)all, sizeof *m->at, lmr_by_rank);
    LMR_OWN_MEMORY(double, length, find_cycles(f, m, &length, &median));
    for (int phase = 0; phase < f->opts.phases; phase++) {
        const int64_t first = f->readouts;
        for (int64_t i = 0; i < all; i++) {
            const double part = m->at[i].since_trigger / length[m->at[i].cycle];
            if (part < 1 && (int)(part * f->opts.phases) == phase) LMR_TRY(add_readout(f, m->at[i].readout));
        }
        LMR_REFUSE(f->readouts == first, LARMOR_ERR_ARG,
                   "opts.phases %d: bin %d of an image of %s, whose cycle lasts %.4g ms, has no readouts; "
                   "ask for fewer.",
                   f->opts.phases, phase, lmr_source_name(f->inner), median);
        LMR_TRY(add_frame(f, m, first));
    }
    for (int64_t i = 0; i < all; i++) f->left += m->at[i].since_trigger >= length[m->at[i].cycle];
    return LARMOR_OK;
}

static larmor_status cut_by_bins(frames *f, image *m)
{
    const int64_t all = m->group.readouts;
    const int *bin = f->bins.bin + f->binned;
    if (m->clock) qsort(m->at, (size_t)all, sizeof *m->at, lmr_by_rank); /* images are those of any order of a file */
    for (int b = 0; b < f->bins.phases * f->bins.repetitions; b++) {
        const int64_t first = f->readouts;
        for (int64_t i = 0; i < all; i++)
            if (bin[m->at[i].readout] == b) LMR_TRY(add_readout(f, m->at[i].readout));
        f->empty += f->readouts == first;
        if (f->readouts == first) continue;
        LMR_TRY(add_frame(f, m, first));
        larmor_group *g = &f->frame[f->frames - 1].group;
        g->repetition = m->group.repetition * f->bins.repetitions + b / f->bins.phases;
        if (f->bins.phases > 1) g->phase = b % f->bins.phases;
    }
    for (int64_t i = 0; i < all; i++) f->left += bin[i] < 0;
    f->binned += all;
    return LARMOR_OK;
}

/* ---- all images ---- */

/* The numbers of this image's frames continue those of an earlier image that differs from it in the counter of frames
 * alone. */
static larmor_status continue_numbering(const frames *f, image *m)
{
    for (int64_t i = f->frames - 1; i >= 0; i--) {
        larmor_group before;
        LMR_TRY(lmr_source_group(f->inner, f->frame[i].image, &before));
        const larmor_group *g = &m->group;
        const int other = f->opts.phases ? before.repetition != g->repetition : before.phase != g->phase;
        if (other || before.encoding != g->encoding || before.slice != g->slice || before.contrast != g->contrast ||
            before.set != g->set)
            continue;
        m->next = f->frame[i].number + 1;
        return LARMOR_OK;
    }
    return LARMOR_OK;
}

static larmor_status cut(frames *f, int index)
{
    LMR_FREED_BY(close_image) image m = {0};
    LMR_TRY(open_image(f, index, &m));
    if (!f->bins.bin) LMR_TRY(continue_numbering(f, &m));
    if (m.group.total > f->info.averaged) f->info.averaged = m.group.total;
    if (f->bins.bin) return cut_by_bins(f, &m);
    if (f->opts.spokes) return cut_by_spokes(f, &m);
    return f->opts.phases ? cut_by_phase(f, &m) : cut_by_time(f, &m);
}

static const char *name_of(char letter)
{
    if (letter == 'h') return "the heart";
    return letter == 'b' ? "the breath" : "time";
}

static void report(frames *f)
{
    lmr_stamps_warn(f->unstamped, f->info.warnings, sizeof f->info.warnings);
    const larmor_frames_opts *o = &f->opts;
    char *text = f->info.frames_report;
    const size_t room = sizeof f->info.frames_report;
    const long long count = f->frames, left = f->left, empty = f->empty;
    const lmr_bins *b = &f->bins;
    if (b->bin && b->letter[0] && b->letter[1])
        snprintf(text, room, "%d bins of %s x %d of %s", b->phases, name_of(b->letter[0]), b->repetitions,
                 name_of(b->letter[1]));
    else if (b->bin)
        snprintf(text, room, "%d bins of %s", b->phases * b->repetitions,
                 name_of(b->letter[0] ? b->letter[0] : b->letter[1]));
    else if (o->phases)
        snprintf(text, room, "%lld bins of the cardiac cycle", count);
    else if (o->spokes && f->partitions > 1)
        snprintf(text, room, "%lld of %lld spokes in each of %lld partitions, one every %g", count,
                 (long long)o->spokes, (long long)f->partitions, o->step);
    else if (o->spokes)
        snprintf(text, room, "%lld of %lld readouts, one every %g", count, (long long)o->spokes, o->step);
    else
        snprintf(text, room, "%lld of %g ms, one every %g ms", count, o->ms, o->step);
    if (f->shuffled) lmr_append(text, room, ", in the order of their time stamps, in which they do not come");
    if (left) lmr_append(text, room, "; %lld readouts left out", left);
    if (empty) lmr_append(text, room, "; %lld have no readouts and are left out", empty);
}

static larmor_status check(const larmor_frames_opts *o)
{
    const int ways = (o->spokes != 0) + (o->ms != 0) + (o->phases != 0);
    LMR_REFUSE(ways != 1, LARMOR_ERR_ARG, "frames: got %d of spokes, ms and phases, expected one of them", ways);
    LMR_REFUSE(o->spokes < 0 || o->phases < 0 || o->phases > MOST_FRAMES ||
                   !(o->ms >= 0 && o->ms <= LMR_CLOCK_WRAP_MS),
               LARMOR_ERR_ARG, "frames: got %lld spokes, %g ms, %d phases; expected numbers above 0",
               (long long)o->spokes, o->ms, o->phases);
    LMR_REFUSE(!(o->step >= 0 && o->step <= 1e9) || (o->spokes && o->step != floor(o->step)) ||
                   (o->phases && o->step > 0),
               LARMOR_ERR_ARG, "frames: step is %g, expected %s", o->step,
               o->phases ? "none for phases" : "a number above 0, of spokes a whole one");
    LMR_REFUSE(o->gate < 0 || o->gate > 2, LARMOR_ERR_ARG, "frames: gate is %d, expected 0, 1 or 2", o->gate);
    LMR_REFUSE(!(o->tick_ms >= 0 && o->tick_ms <= 1e6), LARMOR_ERR_ARG,
               "frames: tick_ms is %g, expected a time above 0", o->tick_ms);
    return LARMOR_OK;
}

static const larmor_source_impl impl = {.describe = describe,
                                        .group = group_of,
                                        .samples = samples_of,
                                        .meta = meta_of,
                                        .destroy = destroy,
                                        .fingerprint = fingerprint_of,
                                        .stamps = stamps_of,
                                        .readouts = readouts_of,
                                        .times = times_of,
                                        .phases = phases_of};

static larmor_status make_source(larmor_source *inner, const frames *asked, larmor_source **source)
{
    larmor_status st = LARMOR_OK;
    LMR_NEW(frames, f, 1);
    *f = *asked;
    f->inner = larmor_source_ref(inner);
    if (f->opts.tick_ms == 0) f->opts.tick_ms = TICK_MS;
    f->info = larmor_source_describe(inner);
    for (int i = 0; i < f->info.groups && !st; i++) st = cut(f, i);
    if (!st) {
        f->info.groups = (int)f->frames;
        if (f->bins.bin) {
            f->info.bins[0] = f->bins.phases;
            f->info.bins[1] = f->bins.repetitions;
            memcpy(f->info.bins_letter, f->bins.letter, sizeof f->info.bins_letter);
        }
        report(f);
        st = lmr_source_create_before(&f->inner, &impl, f, source);
    }
    if (st)
        destroy(f);
    else
        lmr_source_call_as(*source, inner); /* nothing changes the list of frames */
    return st;
}

larmor_status larmor_source_of_frames(larmor_source *inner, const larmor_frames_opts *opts, larmor_source **source)
{
    LMR_REFUSE(!source, LARMOR_ERR_ARG, "frames: nowhere to put the source");
    *source = NULL;
    LMR_REFUSE(!inner || !opts, LARMOR_ERR_ARG, "frames: a source and options are needed");
    LMR_TRY(check(opts));
    frames f = {.opts = *opts};
    if (f.opts.step == 0) f.opts.step = opts->spokes ? (double)opts->spokes : opts->ms;
    return make_source(inner, &f, source);
}

larmor_status lmr_source_of_bins(larmor_source *inner, const lmr_bins *bins, larmor_source **source)
{
    const frames f = {.bins = *bins};
    return make_source(inner, &f, source);
}
