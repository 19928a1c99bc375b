/* Which readouts of a raw file make one image: those with the same encoding and counters, without counters that
 * are implausible. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"
#include "io/reader/source.h"

/* Samples for a voxel. Images with fewer show that a counter beyond its limits is wrong. */
#define FEWEST_SAMPLES (1. / 20)
/* Samples of one readout for each voxel of the longest axis. A line through k-space has no more, a single-shot image
 * has, from 16 x 16 on and undersampled by 4 as well. */
#define LINE_SAMPLES 4
/* A part of so many of a scan's images may be missing; where it is more, the counters mean something else. */
#define MOST_MISSING 4

static const char *const counter_names[LMR_COUNTERS] = {"kspace_encode_step_1",
                                                        "kspace_encode_step_2",
                                                        "average",
                                                        "slice",
                                                        "contrast",
                                                        "phase",
                                                        "repetition",
                                                        "set",
                                                        "segment"};
#define JOINED_NAMES "slice, contrast, phase, repetition, set or segment"

/* The counters that can be joined: those that make images, in the order of a key, and segments of a readout. */
static const int key_counter[LMR_KEY] = {LMR_SLICE, LMR_CONTRAST, LMR_PHASE, LMR_REPETITION, LMR_SET, LMR_SEGMENT};

void lmr_mrd_key(const larmor_raw *raw, int64_t i, uint16_t key[LMR_KEY])
{
    const lmr_mrd_head *h = &raw->head[i];
    key[0] = h->encoding;
    for (int k = 1; k < LMR_KEY; k++) {
        const int c = key_counter[k - 1];
        key[k] = raw->joined[h->encoding] >> c & 1 ? 0 : h->counter[c];
    }
}

int lmr_mrd_by_key(const void *a, const void *b)
{
    const lmr_mrd_keyed *x = a, *y = b;
    for (int k = 0; k < LMR_KEY; k++)
        if (x->key[k] != y->key[k]) return x->key[k] < y->key[k] ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

larmor_status lmr_mrd_sort(const larmor_raw *raw, int use, lmr_mrd_keyed **list, int64_t *count)
{
    size_t found = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) found += (raw->readout[i].use & use) != 0;
    *count = 0;
    LMR_ALLOCATE_ZEROS(*list, found + 1);
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!(raw->readout[i].use & use)) continue;
        lmr_mrd_keyed *s = &(*list)[(*count)++];
        lmr_mrd_key(raw, i, s->key);
        s->i = i;
    }
    qsort(*list, (size_t)*count, sizeof **list, lmr_mrd_by_key);
    return LARMOR_OK;
}

int64_t lmr_mrd_run(const lmr_mrd_keyed *list, int64_t first, int64_t count)
{
    int64_t end = first + 1;
    while (end < count && !memcmp(list[end].key, list[first].key, sizeof list->key)) end++;
    return end;
}

/* ---- counters that are ignored ---- */

typedef struct content { /* of the imaging readouts of an encoding, as its counters stand */
    int64_t readouts, samples, images;
    int low[LMR_COUNTERS], high[LMR_COUNTERS];
    int moves; /* 1: positions differ */
} content;

static void look_at(const lmr_mrd_head *h, const float first[3], content *c)
{
    c->readouts++;
    c->samples += lmr_head_kept(h);
    for (int k = 0; k < LMR_COUNTERS; k++) {
        if (h->counter[k] > c->high[k]) c->high[k] = h->counter[k];
        if (c->readouts == 1 || h->counter[k] < c->low[k]) c->low[k] = h->counter[k];
    }
    for (int d = 0; d < 3; d++) c->moves |= fabsf(h->position[d] - first[d]) > 1e-3f;
}

static content look(const larmor_raw *raw, const lmr_mrd_keyed *list, int64_t n, int encoding)
{
    const float *first = NULL;
    content c = {0};
    for (int64_t r = 0; r < n; r++) {
        const lmr_mrd_head *h = &raw->head[list[r].i];
        if (h->encoding != encoding) continue;
        if (!first) first = h->position;
        c.images += !r || memcmp(list[r].key, list[r - 1].key, sizeof list->key) != 0;
        look_at(h, first, &c);
    }
    return c;
}

static double voxels_of(const larmor_raw *raw, int encoding)
{
    const int64_t *n = raw->header.encoding[encoding].space.matrix;
    return (double)n[0] * (double)n[1] * (double)n[2];
}

/* 1 if each image is a line through k-space, where that is no image. */
static int are_lines(const larmor_raw *raw, int encoding, const content *c)
{
    const int64_t *n = raw->header.encoding[encoding].space.matrix;
    const int64_t longest = n[0] > n[1] ? n[0] : n[1];
    const int64_t samples = c->samples / c->images;
    return c->images == c->readouts && samples <= LINE_SAMPLES * longest &&
           2. * (double)samples < voxels_of(raw, encoding);
}

static int too_few_samples(const larmor_raw *raw, int encoding, const content *c)
{
    if (c->images < 2) return 0;
    const double fewest = FEWEST_SAMPLES * voxels_of(raw, encoding) * (double)c->images;
    return (double)c->samples < fewest || are_lines(raw, encoding, c);
}

static int makes_images(int counter)
{
    for (int k = 0; k < LMR_KEY - 1; k++)
        if (key_counter[k] == counter) return 1;
    return 0;
}

/* A counter that exceeds its limit. Slices at different positions are accepted, and counters whose images have enough
 * samples. */
static void judge(larmor_raw *raw, int encoding, int counter, const content *c)
{
    const char *name = counter_names[counter];
    char beyond[120];
    snprintf(beyond, sizeof beyond, "counter %s reaches %d, encodingLimits end at %d", name, c->high[counter],
             raw->header.encoding[encoding].limit[counter][LMR_MAXIMUM]);
    if (!makes_images(counter) || raw->joined[encoding] >> counter & 1) {
        LMR_MRD_WARN(raw, "%s; all readouts are used.", beyond);
    } else if (!too_few_samples(raw, encoding, c) || (counter == LMR_SLICE && c->moves)) {
        LMR_MRD_WARN(raw, "%s; it is accepted, opts.join %s ignores it.", beyond, name);
    } else {
        raw->joined[encoding] |= 1u << counter;
        LMR_MRD_WARN(raw,
                     "%s; it is ignored: %lld images of its %lld readouts would have too few samples, opts.join none "
                     "makes them.",
                     beyond, (long long)c->images, (long long)c->readouts);
    }
}

/* Names the option that joins counters within their limits, or without limits, where no image has enough samples. */
static void name_joinable(larmor_raw *raw, int encoding, const content *c)
{
    char names[64] = "";
    for (int k = 0; k < LMR_KEY - 1; k++) {
        const int counter = key_counter[k];
        if (c->high[counter] > c->low[counter] && !(raw->joined[encoding] >> counter & 1))
            lmr_append_item(names, sizeof names, ",", "%s", counter_names[counter]);
    }
    LMR_MRD_WARN(raw, "%lld images of %lld samples for %.0f voxels: opts.join %s makes one of them.",
                 (long long)c->images, (long long)(c->samples / c->images), voxels_of(raw, encoding), names);
}

/* All counters of an encoding that pass their limits, from the readouts as they are sorted without any joined; ask: 0
 * if the user has said which are. */
static larmor_status judge_counters(larmor_raw *raw, const lmr_mrd_keyed *list, int64_t n, int encoding, int ask)
{
    content c = look(raw, list, n, encoding);
    for (int k = 0; k < LMR_COUNTERS; k++) {
        const int limit = raw->header.encoding[encoding].limit[k][LMR_MAXIMUM];
        if (limit >= 0 && c.high[k] > limit && (ask || !makes_images(k))) judge(raw, encoding, k, &c);
    }
    if (ask && raw->joined[encoding]) {
        int64_t count;
        LMR_OWN_MEMORY(lmr_mrd_keyed, joined, lmr_mrd_sort(raw, LMR_IMAGING, &joined, &count));
        c = look(raw, joined, count, encoding);
    }
    if (ask && too_few_samples(raw, encoding, &c)) name_joinable(raw, encoding, &c);
    return LARMOR_OK;
}

/* "slice,contrast" as bits of counters. */
static larmor_status parse_join(const char *text, unsigned *bits)
{
    *bits = 0;
    if (!strcmp(text, "none")) return LARMOR_OK;
    for (const char *at = text;; at++) {
        const size_t length = strcspn(at, ",");
        int k = 0;
        while (k < LMR_KEY && (strlen(counter_names[key_counter[k]]) != length ||
                               strncmp(counter_names[key_counter[k]], at, length) != 0))
            k++;
        LMR_REFUSE(k == LMR_KEY, LARMOR_ERR_ARG,
                   "opts.join \"%s\": auto, none, or %s, with commas between, expected.",
                   lmr_printable(text, (int64_t)strlen(text), 40).s, JOINED_NAMES);
        *bits |= 1u << key_counter[k];
        at += length;
        if (!*at) return LARMOR_OK;
    }
}

larmor_status lmr_mrd_join(larmor_raw *raw, const char *join)
{
    unsigned bits = 0;
    const int ask = !join || !strcmp(join, "auto");
    int64_t n;
    const int apart = join && !strcmp(join, "none");
    if (!ask) LMR_TRY(parse_join(join, &bits));
    const int segments = bits >> LMR_SEGMENT & 1;
    if (!apart) LMR_TRY(lmr_mrd_join_segments(raw, segments));
    bits &= ~(1u << LMR_SEGMENT);
    LMR_OWN_MEMORY(lmr_mrd_keyed, list, lmr_mrd_sort(raw, LMR_IMAGING, &list, &n));
    for (int e = 0; e < raw->header.encodings; e++) {
        raw->joined[e] = bits;
        LMR_TRY(judge_counters(raw, list, n, e, ask));
    }
    return LARMOR_OK;
}

/* ---- groups ---- */

static void describe_group(const larmor_raw *raw, const lmr_mrd_keyed *s, int64_t readouts, larmor_group *g)
{
    unsigned char seen[65536 / 8] = {0};
    const lmr_mrd_head *first = &raw->head[s->i];
    *g = (larmor_group){.encoding = first->encoding,
                        .slice = first->counter[LMR_SLICE],
                        .contrast = first->counter[LMR_CONTRAST],
                        .phase = first->counter[LMR_PHASE],
                        .repetition = first->counter[LMR_REPETITION],
                        .set = first->counter[LMR_SET],
                        .readouts = readouts,
                        .regular = 1};
    for (int64_t r = 0; r < readouts; r++) {
        const lmr_mrd_head *h = &raw->head[s[r].i];
        const int average = h->counter[LMR_AVERAGE];
        const int64_t kept = lmr_head_kept(h);
        g->averages += !(seen[average / 8] >> average % 8 & 1);
        seen[average / 8] |= (unsigned char)(1 << average % 8);
        g->regular &= !r || kept == g->samples;
        g->total += kept;
        if (kept > g->samples) g->samples = kept;
    }
}

/* ---- images that are missing ---- */

/* Repetitions that are missing between others, where what there is has no step of its own. */
static void name_repetitions(larmor_raw *raw, const unsigned char *seen)
{
    enum { VALUES = UINT16_MAX + 1 };
    int low = -1, high = -1, count = 0, step = 0, is_even = 1, first = -1;
    for (int r = 0; r < VALUES; r++) {
        if (!seen[r]) continue;
        if (low < 0) low = r;
        if (count == 1) step = r - high;
        is_even &= count < 1 || r - high == step;
        if (count && r - high > 1 && first < 0) first = high + 1;
        high = r;
        count++;
    }
    const int missing = high - low + 1 - count;
    if (!is_even && missing < count)
        LMR_MRD_WARN(raw, "%d of the repetitions %d to %d have no readouts, the first of them %d.", missing, low,
                     high, first);
}

static int is_same_volume(const larmor_group *a, const larmor_group *b)
{
    return a->encoding == b->encoding && a->contrast == b->contrast && a->phase == b->phase &&
           a->repetition == b->repetition && a->set == b->set;
}

static int by_volume(const void *left, const void *right)
{
    const larmor_group *a = left, *b = right;
    const int x[] = {a->encoding, a->contrast, a->phase, a->repetition, a->set, a->slice};
    const int y[] = {b->encoding, b->contrast, b->phase, b->repetition, b->set, b->slice};
    for (size_t k = 0; k < sizeof x / sizeof *x; k++)
        if (x[k] != y[k]) return x[k] - y[k];
    return 0;
}

/* Of a volume that has fewer slices than are seen. */
static int first_absent(const larmor_group *volume, int count, const unsigned char *seen)
{
    for (int slice = 0, i = 0;; slice++) {
        if (!seen[slice]) continue;
        if (i == count || volume[i].slice != slice) return slice;
        i++;
    }
}

/* Slices that few volumes lack. sorted: by volume, of one encoding. */
static void name_slices(larmor_raw *raw, const larmor_group *sorted, int count, const unsigned char *seen, int slices)
{
    const larmor_group *lacks = NULL;
    int64_t images = 0;
    int absent = 0;
    for (int i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && is_same_volume(&sorted[i], &sorted[end]);) end++;
        images += slices;
        if (end - i == slices || lacks) continue;
        lacks = &sorted[i];
        absent = first_absent(lacks, end - i, seen);
    }
    if (lacks && MOST_MISSING * (images - count) <= images)
        LMR_MRD_WARN(raw,
                     "%lld of %lld images have no readouts, the first of them slice %d of contrast %d, phase %d, "
                     "repetition %d, set %d.",
                     (long long)images - count, (long long)images, absent, lacks->contrast, lacks->phase,
                     lacks->repetition, lacks->set);
}

static larmor_status name_missing(larmor_raw *raw)
{
    const int n = raw->info.groups;
    LMR_HEAP LMR_NEW(larmor_group, sorted, n);
    LMR_HEAP LMR_NEW(unsigned char, repetition, UINT16_MAX + 1); // 64 KiB each: too much for small stacks
    LMR_HEAP LMR_NEW(unsigned char, slice, UINT16_MAX + 1);
    memcpy(sorted, raw->group, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_volume);
    for (int first = 0, end; first < n; first = end) {
        memset(repetition, 0, UINT16_MAX + 1);
        memset(slice, 0, UINT16_MAX + 1);
        int slices = 0;
        for (end = first; end < n && sorted[end].encoding == sorted[first].encoding; end++) {
            repetition[sorted[end].repetition] = 1;
            slices += !slice[sorted[end].slice];
            slice[sorted[end].slice] = 1;
        }
        const unsigned joined = raw->joined[sorted[first].encoding];
        if (!(joined >> LMR_REPETITION & 1)) name_repetitions(raw, repetition);
        if (!(joined >> LMR_SLICE & 1)) name_slices(raw, sorted + first, end - first, slice, slices);
    }
    return LARMOR_OK;
}

larmor_status lmr_mrd_group(larmor_raw *raw)
{
    int64_t n, groups = 0;
    LMR_OWN_MEMORY(lmr_mrd_keyed, s, lmr_mrd_sort(raw, LMR_IMAGING, &s, &n));
    for (int64_t r = 0; r < n; r = lmr_mrd_run(s, r, n)) groups++;
    raw->order = calloc((size_t)raw->info.imaging, sizeof *raw->order);
    raw->group = calloc((size_t)groups, sizeof *raw->group);
    raw->first_in_order = calloc((size_t)groups + 1, sizeof *raw->first_in_order);
    const int full = raw->order && raw->group && raw->first_in_order && groups <= INT32_MAX;
    for (int64_t r = 0; full && r < n; r++) raw->order[r] = s[r].i;
    for (int64_t r = 0, g = 0; full && r < n; g++) {
        const int64_t end = lmr_mrd_run(s, r, n);
        describe_group(raw, s + r, end - r, &raw->group[g]);
        raw->first_in_order[g] = r;
        raw->first_in_order[g + 1] = end;
        r = end;
    }
    raw->info.groups = (int)groups;
    return full ? name_missing(raw) : LMR_NO_MEMORY();
}
