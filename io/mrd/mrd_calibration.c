/* Readouts for calibration (flags 20 and 21): which of them give the coil maps of a slice, and which complete an
 * image that lacks their lines. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

/* Of the energy of lines that were acquired twice, so much may differ beside the noise; drift is below, a contrast
 * above. */
#define SAME_SIGNAL .05
#define FLOOR .9 /* a part of readouts has less energy than this, beside the mean, where it is near the noise */
#define MOST_COMPARED 64 /* readouts with the same counters, for one of the same trajectory */

static uint32_t line_of(const lmr_mrd_head *h)
{
    return (uint32_t)h->counter[LMR_STEP2] << 16 | h->counter[LMR_STEP1];
}

typedef struct lined { /* a readout by its line, then by rank */
    uint32_t line;
    int rank;
    int64_t i;
} lined;

static int by_line(const void *a, const void *b)
{
    const lined *x = a, *y = b;
    if (x->line != y->line) return x->line < y->line ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* ---- lines that an image lacks ---- */

/* Why a readout for calibration is kept out of the image. The first ones are members of a key. */
typedef enum reason {
    ENCODING,
    SLICE,
    CONTRAST,
    OTHER_COUNTERS,
    DWELL,
    SAMPLES,
    CENTRE,
    POSITION,
    TRAJECTORY,
    SIGNAL,
    REASONS,
    NONE = REASONS
} reason;

static const char *const reason_names[REASONS] = {"encoding space",     "slice",
                                                  "contrast",           "phase, repetition or set",
                                                  "dwell time",         "number of samples",
                                                  "centre or discards", "position or direction",
                                                  "trajectory",         "signal on the same lines"};

static int differ(const float *a, const float *b)
{
    int differs = 0;
    for (int d = 0; d < 3; d++) differs |= fabsf(a[d] - b[d]) > 1e-3f;
    return differs;
}

/* 1 if both lines have the same samples and centre, in either direction and as either way of counting has it. */
static int same_place(const lmr_mrd_head *a, const lmr_mrd_head *b)
{
    const int turned = !a->traj_dims && ((a->flags ^ b->flags) & LARMOR_ACQ_REVERSE);
    const int pre = turned ? b->discard_post : b->discard_pre;
    const int post = turned ? b->discard_pre : b->discard_post;
    const int mirrored = turned && a->center_sample == b->samples - 1 - b->center_sample;
    if (a->discard_pre != pre || a->discard_post != post) return 0;
    return a->traj_dims || mirrored || a->center_sample == b->center_sample;
}

static reason compare_heads(const lmr_mrd_head *a, const lmr_mrd_head *b)
{
    if (fabsf(a->dwell_us - b->dwell_us) > 1e-3f * fabsf(a->dwell_us)) return DWELL;
    if (a->samples != b->samples) return SAMPLES;
    if (!same_place(a, b)) return CENTRE;
    if (differ(a->position, b->position) || differ(a->read_dir, b->read_dir)) return POSITION;
    if (differ(a->phase_dir, b->phase_dir) || differ(a->slice_dir, b->slice_dir)) return POSITION;
    return a->traj_dims != b->traj_dims ? TRAJECTORY : NONE;
}

/* 1 if both went the same way: always so without a trajectory, where the counters say all. */
static int same_trajectory(const larmor_raw *raw, int64_t a, int64_t b)
{
    const lmr_mrd_head *h = &raw->head[a];
    const float *x = raw->traj + raw->readout[a].traj, *y = raw->traj + raw->readout[b].traj;
    const int64_t count = (int64_t)h->samples * h->traj_dims;
    float most = 0, apart = 0;
    for (int64_t n = 0; n < count; n++) {
        most = fmaxf(most, fabsf(x[n]));
        apart = fmaxf(apart, fabsf(x[n] - y[n]));
    }
    return apart <= 1e-3f * most;
}

/* The imaging readout of the same line and trajectory, or -1. */
static int64_t find_twin(const larmor_raw *raw, const lined *lines, int64_t count, int64_t i)
{
    const uint32_t line = line_of(&raw->head[i]);
    int64_t low = 0, high = count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (lines[middle].line < line)
            low = middle + 1;
        else
            high = middle;
    }
    for (int64_t n = low; n < count && n < low + MOST_COMPARED && lines[n].line == line; n++)
        if (same_trajectory(raw, i, lines[n].i)) return lines[n].i;
    return -1;
}

enum { PARTS = 8 }; /* of a readout */

typedef struct energies { /* of lines that were acquired twice */
    double both, apart;
    double part[PARTS], count[PARTS]; /* of both, along readouts; numbers that these are from */
} energies;

/* The energy of the noise in `both`, which is also that in `apart`: as in the weakest part of readouts, if that is
 * weaker than the others. */
static double noise_of(const energies *e)
{
    double least = INFINITY, count = 0;
    for (int p = 0; p < PARTS; p++) {
        count += e->count[p];
        if (e->count[p] > 0) least = fmin(least, e->part[p] / e->count[p]);
    }
    return least * count < FLOOR * e->both ? least * count : 0;
}

/* 1 if lines that were acquired twice have another signal, by more than noise. */
static int has_other_signal(const energies *e)
{
    const double noise = noise_of(e);
    return e->apart - noise > SAME_SIGNAL * e->both;
}

static void compare_signal(const larmor_raw *raw, int64_t a, int64_t b, energies *e)
{
    const lmr_mrd_head *h = &raw->head[a];
    const uint64_t differing = h->flags ^ raw->head[b].flags;
    if (differing & LARMOR_ACQ_REVERSE && !h->traj_dims) return; /* in the opposite order of time */
    const float *x = raw->data + raw->readout[a].data, *y = raw->data + raw->readout[b].data;
    for (int64_t n = 0; n < INT64_C(2) * h->samples * h->channels; n++) {
        const double u = (double)x[n], v = (double)y[n];
        const int64_t part = n / 2 % h->samples * PARTS / h->samples;
        e->both += u * u + v * v;
        e->apart += (u - v) * (u - v);
        e->part[part] += u * u + v * v;
        e->count[part]++;
    }
}

/* One image, its readouts image[0 .. images-1], and the readouts for calibration alone with the same key: those
 * that it lacks become its own unless lines that it has were acquired otherwise. */
static larmor_status complete_image(larmor_raw *raw, const lmr_mrd_keyed *image, int64_t images,
                                    const lmr_mrd_keyed *alone, int64_t count, int64_t kept_out[REASONS])
{
    lined *lines = calloc((size_t)images, sizeof *lines);
    int64_t *lacking = calloc((size_t)count, sizeof *lacking), found = 0;
    energies e = {0};
    for (int64_t n = 0; lines && n < images; n++) lines[n] = (lined){line_of(&raw->head[image[n].i]), 0, image[n].i};
    if (lines) qsort(lines, (size_t)images, sizeof *lines, by_line);
    for (int64_t n = 0; lines && lacking && n < count; n++) {
        const int64_t i = alone[n].i;
        const reason why = compare_heads(&raw->head[image->i], &raw->head[i]);
        const int64_t twin = why == NONE ? find_twin(raw, lines, images, i) : -1;
        if (twin >= 0)
            compare_signal(raw, i, twin, &e);
        else if (why == NONE)
            lacking[found++] = i;
        else
            kept_out[why]++;
    }
    const int other = has_other_signal(&e);
    if (other) kept_out[SIGNAL] += found;
    for (int64_t n = 0; !other && n < found; n++) raw->readout[lacking[n]].use |= LMR_IMAGING;
    if (!other) {
        raw->info.imaging += found;
        raw->info.completing += found;
    }
    const int done = lines && lacking;
    LMR_FREE(lines, lacking);
    return done ? LARMOR_OK : LMR_NO_MEMORY();
}

/* The first image that is not before a key. */
static int64_t lower_bound(const lmr_mrd_keyed *list, int64_t count, const lmr_mrd_keyed *key)
{
    int64_t low = 0;
    while (low < count) {
        const int64_t middle = low + (count - low) / 2;
        if (memcmp(list[middle].key, key->key, sizeof key->key) && lmr_mrd_by_key(&list[middle], key) < 0)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* The first member in which a key differs from that of the image most like it, one of two neighbours in the order. */
static reason first_difference(const lmr_mrd_keyed *images, int64_t count, int64_t at, const lmr_mrd_keyed *key)
{
    int most = 0;
    for (int64_t n = at - 1; n <= at; n++) {
        int same = 0;
        if (n < 0 || n >= count) continue;
        while (same < LMR_KEY && images[n].key[same] == key->key[same]) same++;
        if (same > most) most = same;
    }
    return most < OTHER_COUNTERS ? (reason)most : OTHER_COUNTERS;
}

/* A scan of its own for calibration is ordinary; one that lies elsewhere, or has another signal, is not. */
static void report_kept_out(larmor_raw *raw, const int64_t kept_out[REASONS])
{
    char *report = raw->info.calibration_report;
    for (int k = 0; k < REASONS; k++) {
        char line[128];
        if (!kept_out[k]) continue;
        snprintf(line, sizeof line,
                 "%lld readouts for calibration give coil maps alone: their %s differ%s from the image's",
                 (long long)kept_out[k], reason_names[k],
                 k == OTHER_COUNTERS || k == CENTRE || k == POSITION ? "" : "s");
        if (k == SLICE || k == POSITION || k == SIGNAL)
            LMR_MRD_WARN(raw, "%s.", line);
        else
            lmr_append_item(report, sizeof raw->info.calibration_report, "; ", "%s", line);
    }
}

larmor_status lmr_mrd_complete_images(larmor_raw *raw)
{
    int64_t image_count = 0, count = 0, kept_out[REASONS] = {0};
    if (!raw->info.calibration) return LARMOR_OK;
    LMR_OWN_MEMORY(lmr_mrd_keyed, images, lmr_mrd_sort(raw, LMR_IMAGING, &images, &image_count));
    LMR_OWN_MEMORY(lmr_mrd_keyed, alone, lmr_mrd_sort(raw, LMR_CALIBRATION, &alone, &count));
    int64_t n = 0;
    for (int64_t r = 0; r < count; r++) /* without those that make an image already */
        if (raw->readout[alone[r].i].use == LMR_CALIBRATION) alone[n++] = alone[r];
    for (int64_t r = 0, end; r < n; r = end) {
        end = lmr_mrd_run(alone, r, n);
        const int64_t at = lower_bound(images, image_count, &alone[r]);
        if (at < image_count && !memcmp(images[at].key, alone[r].key, sizeof alone->key))
            LMR_TRY(complete_image(raw, images + at, lmr_mrd_run(images, at, image_count) - at, alone + r, end - r,
                                   kept_out));
        else
            kept_out[first_difference(images, image_count, at, &alone[r])] += end - r;
    }
    report_kept_out(raw, kept_out);
    return LARMOR_OK;
}

/* ---- coil maps ---- */

static int of_slice(const larmor_raw *raw, const larmor_group *g, const lmr_mrd_head *h)
{
    return h->counter[LMR_SLICE] == g->slice || raw->joined[g->encoding] >> LMR_SLICE & 1;
}

/* Where readouts for the slice's calibration are: the group's encoding if it has some, else the first that has; -1:
 * none. dims: components of their trajectories, if any has one. */
static int calibration_encoding(const larmor_raw *raw, const larmor_group *g, int *dims)
{
    int encoding = -1;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        const lmr_mrd_head *h = &raw->head[i];
        if (!(raw->readout[i].use & LMR_CALIBRATION) || !of_slice(raw, g, h)) continue;
        if (encoding < 0 || (h->encoding == g->encoding && encoding != g->encoding)) {
            encoding = h->encoding;
            *dims = 0;
        }
        if (h->encoding == encoding && h->traj_dims) *dims = h->traj_dims;
    }
    return encoding;
}

/* The readouts of the one image whose calibration has the most of them: *first .. *end-1 of the sorted list. */
static void largest_run(const lmr_mrd_keyed *list, int64_t count, int64_t *first, int64_t *end)
{
    *first = *end = 0;
    for (int64_t r = 0, next; r < count; r = next) {
        next = lmr_mrd_run(list, r, count);
        const int64_t more = next - r - (*end - *first);
        if (more > 0 || (more == 0 && list[r].i < list[*first].i)) {
            *first = r;
            *end = next;
        }
    }
}

typedef struct box { /* of lines, and of one image if it may lend its readouts */
    int low[2], high[2], lends;
    uint16_t key[LMR_KEY];
} box;

static box box_of(const larmor_raw *raw, const lmr_mrd_keyed *list, int64_t count)
{
    box b = {.low = {LMR_MRD_MAX_MATRIX, LMR_MRD_MAX_MATRIX}};
    memcpy(b.key, list->key, sizeof b.key);
    for (int64_t r = 0; r < count; r++) {
        b.lends |= raw->readout[list[r].i].use & LMR_IMAGING;
        for (int d = 0; d < 2; d++) {
            const int step = raw->head[list[r].i].counter[d ? LMR_STEP2 : LMR_STEP1];
            if (step < b.low[d]) b.low[d] = step;
            if (step > b.high[d]) b.high[d] = step;
        }
    }
    return b;
}

/* 1 if a readout that makes the image alone lies between the lines of its calibration. */
static int fills(const larmor_raw *raw, const box *b, int64_t i)
{
    const lmr_mrd_head *h = &raw->head[i];
    uint16_t key[LMR_KEY];
    if (raw->readout[i].use != LMR_IMAGING || !b->lends) return 0;
    lmr_mrd_key(raw, i, key);
    return !memcmp(key, b->key, sizeof key) && h->counter[LMR_STEP1] >= b->low[0] &&
           h->counter[LMR_STEP1] <= b->high[0] && h->counter[LMR_STEP2] >= b->low[1] &&
           h->counter[LMR_STEP2] <= b->high[1];
}

enum { OWN, OTHERS, IMAGING }; /* ranks: all of the first, and one of the others for each line without */

/* Of each line the readouts of rank OWN, or else the first; returns how many, as in the file. */
static int64_t choose(lined *lines, int64_t count, int64_t *list)
{
    int64_t chosen = 0;
    qsort(lines, (size_t)count, sizeof *lines, by_line);
    for (int64_t n = 0; n < count; n++)
        if (lines[n].rank == OWN || !n || lines[n].line != lines[n - 1].line) lines[chosen++] = lines[n];
    for (int64_t n = 0; n < chosen; n++) {
        lines[n].line = 0;
        lines[n].rank = 0;
    }
    qsort(lines, (size_t)chosen, sizeof *lines, by_line);
    for (int64_t n = 0; n < chosen; n++) list[n] = lines[n].i;
    return chosen;
}

/* *found: all readouts for calibration of the group's slice, sorted by key. */
static larmor_status find_all(const larmor_raw *raw, const larmor_group *g, lmr_mrd_keyed **found, int64_t *count)
{
    int dims = 0;
    int64_t kept = 0;
    const int encoding = calibration_encoding(raw, g, &dims);
    *found = NULL;
    *count = 0;
    if (encoding < 0) return LARMOR_OK;
    LMR_TRY(lmr_mrd_sort(raw, LMR_CALIBRATION, found, count));
    for (int64_t r = 0; r < *count; r++) {
        const lmr_mrd_head *h = &raw->head[(*found)[r].i];
        if (h->encoding == encoding && h->traj_dims == dims && of_slice(raw, g, h)) (*found)[kept++] = (*found)[r];
    }
    *count = kept;
    return LARMOR_OK;
}

larmor_status lmr_mrd_calibration(const larmor_raw *raw, int group, int64_t **list, int64_t *count)
{
    lmr_mrd_keyed *found;
    int64_t candidates, first, end, n = 0;
    *list = NULL;
    *count = 0;
    LMR_TRY(find_all(raw, &raw->group[group], &found, &candidates));
    if (!candidates) {
        free(found);
        return LARMOR_OK;
    }
    largest_run(found, candidates, &first, &end);
    const box b = box_of(raw, found + first, end - first);
    lined *lines = calloc((size_t)raw->info.acquisitions, sizeof *lines);
    *list = calloc((size_t)raw->info.acquisitions, sizeof **list);
    if (lines && *list) {
        for (int64_t r = 0; r < candidates; r++) {
            const int own = r >= first && r < end;
            lines[n++] = (lined){line_of(&raw->head[found[r].i]), own ? OWN : OTHERS, found[r].i};
        }
        for (int64_t i = 0; i < raw->info.acquisitions; i++)
            if (fills(raw, &b, i)) lines[n++] = (lined){line_of(&raw->head[i]), IMAGING, i};
        *count = choose(lines, n, *list);
    }
    const int done = lines && *list;
    LMR_FREE(lines, found);
    if (done) return LARMOR_OK;
    LMR_CLEAR(*list);
    return LMR_NO_MEMORY();
}
