/* Sources: scans behind a table of functions, so that the pipeline need not know where data come from.
 * SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* recursive mutexes */
#include "scan/source.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/core.h"
#include "larmor/image.h"

struct larmor_source {
    larmor_source_impl impl;
    void *self;
    larmor_source *const *inner; /* that it stands before, which has what impl lacks; or NULL */
    char *name;
    pthread_mutex_t *turn; /* held during a call, unless several are fine: the devices of a group read in turn */
    int corrects_ghosts;
    int any_thread; /* 1: it is larmor's own, which may be called from any thread; 2: by several at the same time */
    atomic_int refs;
};

/* status = s->impl.function(s->self, ...), one call at a time unless several are fine */
#define IN_TURN(s, call, status)                                                                                     \
    do {                                                                                                             \
        const int alone_ = (s)->any_thread < 2;                                                                      \
        if (alone_) pthread_mutex_lock((s)->turn);                                                                   \
        (status) = (call);                                                                                           \
        if (alone_) pthread_mutex_unlock((s)->turn);                                                                 \
    } while (0)

/* Return the status of such a call. */
#define ASK(s, call)                                                                                                 \
    do {                                                                                                             \
        larmor_status asked_;                                                                                        \
        IN_TURN(s, call, asked_);                                                                                    \
        return asked_;                                                                                               \
    } while (0)

/* s is from here on the one of those before each other that has the function, or the last of them. */
#define TO_OWNER(s, function)                                                                                        \
    while (!(s)->impl.function && (s)->inner) (s) = *(s)->inner

static larmor_status create(const char *name, const larmor_source_impl *impl, void *self, larmor_source **source)
{
    larmor_source *s = calloc(1, sizeof *s);
    if (s) s->name = strdup(name);
    if (s) s->turn = malloc(sizeof(pthread_mutex_t));
    if (!s || !s->name || !s->turn) {
        if (s) free(s->turn);
        if (s) free(s->name);
        free(s);
        return LMR_NO_MEMORY();
    }
    s->impl = *impl;
    s->self = self;
    pthread_mutexattr_t recursive; /* a source may ask itself */
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(s->turn, &recursive);
    pthread_mutexattr_destroy(&recursive);
    atomic_init(&s->refs, 1);
    *source = s;
    return LARMOR_OK;
}

larmor_status larmor_source_create(const char *name, const larmor_source_impl *impl, void *self,
                                   larmor_source **source)
{
    LMR_REFUSE(!source, LARMOR_ERR_ARG, "source: nowhere to put it");
    *source = NULL;
    LMR_REFUSE(!name || !impl || !impl->describe || !impl->encoding || !impl->group || !impl->samples || !impl->meta,
               LARMOR_ERR_ARG, "source: a name, describe, encoding, group, samples and meta expected");
    return create(name, impl, self, source);
}

larmor_status lmr_source_create_before(larmor_source *const *inner, const larmor_source_impl *impl, void *self,
                                       larmor_source **source)
{
    *source = NULL;
    LMR_TRY(create((*inner)->name, impl, self, source));
    (*source)->inner = inner;
    return LARMOR_OK;
}

larmor_source *larmor_source_ref(larmor_source *source)
{
    if (source) atomic_fetch_add(&source->refs, 1);
    return source;
}

void larmor_source_free(larmor_source *source)
{
    if (!source || atomic_fetch_sub(&source->refs, 1) > 1) return;
    if (source->impl.destroy) source->impl.destroy(source->self);
    pthread_mutex_destroy(source->turn);
    free(source->turn); /* opaque: LMR_FREE looks at sizes */
    LMR_FREE(source->name, source);
}

/* ---- what the pipeline asks ---- */

int lmr_source_any_thread(const larmor_source *s)
{
    return s->any_thread;
}

void lmr_source_set_any_thread(larmor_source *s)
{
    s->any_thread = 1;
}

void lmr_source_set_parallel(larmor_source *s)
{
    s->any_thread = 2;
}

void lmr_source_call_as(larmor_source *s, const larmor_source *inner)
{
    s->any_thread = inner->any_thread;
}

void lmr_source_set_corrected(larmor_source *s, const larmor_source *inner)
{
    lmr_source_call_as(s, inner);
    s->corrects_ghosts = 1;
}

int lmr_source_is_corrected(const larmor_source *s)
{
    return s->corrects_ghosts;
}

const char *lmr_source_name(const larmor_source *s)
{
    return s->name;
}

larmor_raw_info larmor_source_describe(const larmor_source *source)
{
    larmor_raw_info info = {0};
    if (!source) return info;
    TO_OWNER(source, describe);
    IN_TURN(source, source->impl.describe(source->self), info);
    return info;
}

larmor_status lmr_source_encoding(const larmor_source *s, int encoding, larmor_encoding *out)
{
    TO_OWNER(s, encoding);
    ASK(s, s->impl.encoding(s->self, encoding, out));
}

larmor_status lmr_source_group(const larmor_source *s, int group, larmor_group *out)
{
    TO_OWNER(s, group);
    ASK(s, s->impl.group(s->self, group, out));
}

larmor_status lmr_source_meta(const larmor_source *s, int group, larmor_image_meta *meta)
{
    TO_OWNER(s, meta);
    ASK(s, s->impl.meta(s->self, group, meta));
}

static larmor_status hash_lists(const larmor_source *s, uint64_t *hash)
{
    const larmor_raw_info info = larmor_source_describe(s);
    for (int i = 0; i < info.encodings; i++) {
        larmor_encoding e;
        LMR_TRY(lmr_source_encoding(s, i, &e));
        *hash = lmr_hash(*hash, &e, offsetof(larmor_encoding, ndim));
    }
    for (int i = 0; i < info.groups; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(s, i, &g));
        const int64_t lines[] = {g.encoding, g.slice, g.contrast, g.phase, g.repetition, g.set, g.readouts, g.total};
        *hash = lmr_hash(*hash, lines, sizeof lines);
    }
    return LARMOR_OK;
}

larmor_status lmr_source_fingerprint(const larmor_source *s, uint64_t *fingerprint)
{
    *fingerprint = 0;
    TO_OWNER(s, fingerprint);
    if (!s->impl.fingerprint) return hash_lists(s, fingerprint);
    ASK(s, s->impl.fingerprint(s->self, fingerprint));
}

larmor_status lmr_source_grid(const larmor_source *s, int encoding, const larmor_grid_opts *opts, larmor_grid *out)
{
    larmor_encoding e;
    LMR_TRY(lmr_source_encoding(s, encoding, &e));
    return larmor_encoding_grid(&e, opts, out);
}

static larmor_status check_samples(const larmor_source *s, const larmor_samples *x, const larmor_grid *grid,
                                   int64_t coils, const larmor_device *dev)
{
    const larmor_shape k = larmor_array_shape(x->kspace);
    LMR_REFUSE(k.ndim != 3 || k.dim[2] != coils, LARMOR_ERR_SHAPE,
               "%s: source gives samples %s, expected [samples, readouts, %lld]", s->name, lmr_describe(x->kspace).s,
               (long long)coils);
    LMR_TRY(lmr_expect(s->name, "kspace", x->kspace, dev, LARMOR_C64, k));
    if (x->traj)
        LMR_TRY(lmr_expect(s->name, "traj", x->traj, dev, LARMOR_F64, LARMOR_SHAPE(grid->ndim, k.dim[0], k.dim[1])));
    if (x->density)
        LMR_TRY(lmr_expect(s->name, "density", x->density, dev, LARMOR_F64, LARMOR_SHAPE(k.dim[0], k.dim[1])));
    return LARMOR_OK;
}

larmor_status lmr_source_samples(const larmor_source *s, int group, const larmor_grid *grid, int calibration,
                                 int64_t coils, larmor_device *dev, larmor_samples *out)
{
    *out = (larmor_samples){0};
    larmor_status st;
    IN_TURN(s, s->impl.samples(s->self, group, grid, calibration, dev, out), st);
    if (!st && out->kspace) st = check_samples(s, out, grid, coils, dev);
    if (!st && !out->kspace && !calibration)
        st = LMR_FAIL(LARMOR_ERR_SHAPE, "%s: source gives no samples of group %d", s->name, group);
    if (st) larmor_samples_free(out);
    return st;
}

int lmr_source_has_readouts(const larmor_source *s)
{
    return s->impl.readouts != NULL;
}

larmor_status lmr_source_stamps(const larmor_source *s, int group, larmor_stamp *stamps)
{
    const int has_readouts = lmr_source_has_readouts(s);
    TO_OWNER(s, stamps);
    LMR_REFUSE(!has_readouts || !s->impl.stamps || !s->impl.readouts, LARMOR_ERR_ARG,
               "%s: the source cannot give single readouts, so no frames can be cut from it", s->name);
    ASK(s, s->impl.stamps(s->self, group, stamps));
}

/* Readouts without a stamp, while others have one. *known: the first one with. */
static int64_t count_unstamped(const larmor_stamp *stamp, int64_t count, int64_t *known)
{
    uint32_t least = UINT32_MAX, most = 0;
    int64_t zeros = 0;
    *known = 0;
    for (int64_t i = count - 1; i >= 0; i--) {
        const uint32_t time = stamp[i].time;
        zeros += !time;
        if (!time) continue;
        *known = i;
        least = time < least ? time : least;
        most = time > most ? time : most;
    }
    if (zeros && most > 0 && least > most - least) return zeros;
    *known = 0;
    return 0;
}

static void fill_gaps(const larmor_stamp *stamp, int64_t count, int64_t known, double *ms)
{
    int64_t last = known, before = known;
    for (int64_t i = known; i < count; i++)
        if (stamp[i].time) last = i;
    const double mean = last > known ? (ms[last] - ms[known]) / (double)(last - known) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t next = i;
        double step = mean;
        if (stamp[i].time) before = i;
        if (stamp[i].time) continue;
        while (next < last && !stamp[next].time) next++;
        if (i > known && i < last) step = (ms[next] - ms[before]) / (double)(next - before);
        ms[i] = ms[before] + step * (double)(i - before);
    }
}

int64_t lmr_stamps_read(const larmor_stamp *stamp, int64_t count, double tick_ms, double *ms, int *runs)
{
    int64_t known;
    const int64_t unstamped = count_unstamped(stamp, count, &known);
    *runs = 0;
    for (int64_t i = 0; i < count; i++) {
        ms[i] = tick_ms * ((double)stamp[i].time - (double)stamp[known].time);
        if (ms[i] < -LMR_CLOCK_WRAP_MS / 2) ms[i] += LMR_CLOCK_WRAP_MS;
        if (ms[i] > LMR_CLOCK_WRAP_MS / 2) ms[i] -= LMR_CLOCK_WRAP_MS;
        *runs |= stamp[i].time != stamp[known].time && (stamp[i].time || !unstamped);
    }
    if (unstamped) fill_gaps(stamp, count, known, ms);
    return unstamped;
}

void lmr_stamps_warn(int64_t unstamped, char *warnings, size_t room)
{
    if (unstamped)
        lmr_append(warnings, room,
                   "%lld readouts have no time stamp, while others do: they are taken to be evenly between their "
                   "neighbours, and as far apart at the ends.\n",
                   (long long)unstamped);
}

larmor_status lmr_source_readouts(const larmor_source *s, int group, const int64_t *readout, int64_t count,
                                  const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    ASK(s, s->impl.readouts(s->self, group, readout, count, grid, dev, out));
}

/* What has answered with st is an array of numbers on the device, or none. */
static larmor_status check_numbers(const larmor_source *s, const char *what, larmor_status st,
                                   const larmor_device *dev, larmor_array **x)
{
    if (!st) st = lmr_expect(s->name, what, *x, dev, LARMOR_F64, larmor_array_shape(*x));
    if (st) LMR_CLEAR(*x);
    return st;
}

larmor_status lmr_source_times(const larmor_source *s, int group, const int64_t *readout, int64_t count,
                               const larmor_grid *grid, larmor_device *dev, larmor_array **times)
{
    larmor_status st;
    *times = NULL;
    TO_OWNER(s, times);
    LMR_REFUSE(!s->impl.times, LARMOR_ERR_UNSUPPORTED, "%s: the source does not know when its samples were taken",
               s->name);
    IN_TURN(s, s->impl.times(s->self, group, readout, count, grid, dev, times), st);
    return check_numbers(s, "times", st, dev, times);
}

larmor_status lmr_source_phases(const larmor_source *s, int group, const int64_t *readout, int64_t count,
                                const larmor_grid *grid, larmor_device *dev, larmor_array **phases)
{
    larmor_status st;
    *phases = NULL;
    TO_OWNER(s, phases);
    LMR_REFUSE(!s->impl.phases, LARMOR_ERR_UNSUPPORTED, "%s: the source has no phases", s->name);
    IN_TURN(s, s->impl.phases(s->self, group, readout, count, grid, dev, phases), st);
    return check_numbers(s, "phases", st, dev, phases);
}

larmor_status lmr_source_navigators(const larmor_source *s, int group, const larmor_grid *grid, larmor_device *dev,
                                    larmor_navigators *out)
{
    *out = (larmor_navigators){0};
    if (s->impl.navigators) ASK(s, s->impl.navigators(s->self, group, grid, dev, out));
    return LARMOR_OK;
}

larmor_status lmr_source_noise(const larmor_source *s, larmor_device *dev, larmor_array **noise)
{
    *noise = NULL;
    TO_OWNER(s, noise);
    if (s->impl.noise) ASK(s, s->impl.noise(s->self, dev, noise));
    return LARMOR_OK;
}

larmor_status lmr_source_keep_coils(const larmor_source *s, larmor_array *all, int axis, larmor_array **kept)
{
    TO_OWNER(s, keep_coils);
    if (s->impl.keep_coils) ASK(s, s->impl.keep_coils(s->self, all, axis, kept));
    *kept = larmor_array_ref(all);
    return LARMOR_OK;
}

larmor_status lmr_source_restore_coils(const larmor_source *s, larmor_array *kept, int axis, larmor_array **all)
{
    TO_OWNER(s, restore_coils);
    if (s->impl.restore_coils) ASK(s, s->impl.restore_coils(s->self, kept, axis, all));
    *all = larmor_array_ref(kept);
    return LARMOR_OK;
}

void *lmr_source_self(const larmor_source *s, const larmor_source_impl *impl)
{
    return s->impl.describe == impl->describe ? s->self : NULL;
}

/* ---- slices in the order of files ---- */

/* The geometry of each slice, by its first image. */
static larmor_status find_slices(const larmor_source *source, int encoding, larmor_image_meta *slice, int *count)
{
    const int groups = larmor_source_describe(source).groups;
    LMR_HEAP unsigned char *known = calloc(UINT16_MAX + 1, 1);
    larmor_group g;
    if (!known) return LMR_NO_MEMORY();
    for (int i = 0; i < groups; i++) {
        LMR_TRY(lmr_source_group(source, i, &g));
        if (g.encoding != encoding || g.slice < 0 || g.slice > UINT16_MAX || known[g.slice]) continue;
        known[g.slice] = 1;
        LMR_TRY(lmr_source_meta(source, i, &slice[*count]));
        slice[(*count)++].slice = g.slice;
    }
    return LARMOR_OK;
}

larmor_status larmor_source_slices(const larmor_source *source, int encoding, int **slices, int *count)
{
    larmor_group first = {.encoding = 0};
    larmor_encoding e;
    LMR_NEED(source, slices, count);
    *slices = NULL;
    *count = 0;
    const int groups = larmor_source_describe(source).groups;
    LMR_REFUSE(groups < 1, LARMOR_ERR_ARG, "%s: there are no images.", lmr_source_name(source));
    LMR_TRY(lmr_source_group(source, 0, &first));
    if (encoding < 0) encoding = first.encoding;
    LMR_TRY(lmr_source_encoding(source, encoding, &e));
    if (e.ndim > 2) return LARMOR_OK;
    int found = 0;
    LMR_HEAP LMR_NEW(larmor_image_meta, slice, groups);
    LMR_TRY(find_slices(source, encoding, slice, &found));
    LMR_HEAP LMR_NEW(int, order, found + 1);
    if (found) LMR_TRY(larmor_slices_order(slice, found, order));
    for (int i = 0; i < found; i++) order[i] = slice[order[i]].slice;
    *count = found;
    return LMR_HAND_ON(*slices, order);
}
