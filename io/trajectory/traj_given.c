/* A trajectory in the place of what the acquisitions of a raw file have: which of them each of its readouts is, and
 * its numbers in their places. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"

typedef struct lot { /* acquisitions that a trajectory may be of */
    const char *name;
    int (*has)(const larmor_raw *raw, int64_t i);
} lot;

static int is_written(const larmor_raw *raw, int64_t i)
{
    return !raw->head[i].unwritten;
}

static int is_no_noise(const larmor_raw *raw, int64_t i)
{
    return is_written(raw, i) && !(raw->head[i].flags & LARMOR_ACQ_NOISE);
}

static int is_used(const larmor_raw *raw, int64_t i)
{
    return (raw->readout[i].use & (LMR_IMAGING | LMR_CALIBRATION)) != 0;
}

static int makes_images(const larmor_raw *raw, int64_t i)
{
    return (raw->readout[i].use & LMR_IMAGING) != 0;
}

static const lot lots[] = {{"each acquisition", is_written},
                           {"each but noise", is_no_noise},
                           {"each that is not left out", is_used},
                           {"each that makes images", makes_images}};
enum { LOTS = sizeof lots / sizeof *lots };

typedef struct fit { /* where each acquisition's samples are in the trajectory */
    int64_t *at;     /* [acquisitions] of its first sample, or -1 */
    int64_t *list;   /* [acquisitions] those of a lot, in an order */
    int64_t count, images;
    int is_cut; /* 1: the trajectory may have more readouts */
    int kept;   /* 1: the trajectory has the samples that are left after discards */
} fit;

LMR_FREES(free_fit, fit, at, list)

static int64_t samples_of(const larmor_raw *raw, int64_t i, int kept)
{
    return kept ? lmr_head_kept(&raw->head[i]) : raw->head[i].samples;
}

/* 1 if list[first .. end - 1] are the trajectory's readouts, each of one acquisition or of consecutive ones. */
static int covers(const larmor_raw *raw, const larmor_trajectory *t, const fit *f, int64_t first, int64_t end)
{
    int64_t readout = 0, within = 0;
    for (int64_t n = first; n < end; n++) {
        if (readout == t->readouts) return 0;
        const int64_t length = t->first[readout + 1] - t->first[readout];
        f->at[f->list[n]] = t->first[readout] + within;
        within += samples_of(raw, f->list[n], f->kept);
        if (within > length) return 0;
        if (within < length) continue;
        readout++;
        within = 0;
    }
    return readout == t->readouts || (f->is_cut && readout > 0 && !within);
}

/* Counters that tell images apart, whichever of them are joined in the end. */
static const int images_by[] = {LMR_SLICE, LMR_CONTRAST, LMR_PHASE, LMR_REPETITION, LMR_SET, LMR_AVERAGE};
enum { IMAGES_BY = sizeof images_by / sizeof *images_by };

typedef struct keyed {
    uint16_t key[IMAGES_BY + 1];
    int64_t i;
} keyed;

static int same_image(const keyed *a, const keyed *b)
{
    return !memcmp(a->key, b->key, sizeof a->key);
}

static int by_image(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    const int order = memcmp(x->key, y->key, sizeof x->key); /* any order will do */
    return order ? order : (x->i > y->i) - (x->i < y->i);
}

/* 1 if the acquisitions of each image, in the order of the file, are the trajectory's readouts. */
static larmor_status covers_images(const larmor_raw *raw, const larmor_trajectory *t, fit *f, int *fits)
{
    LMR_NEW(keyed, k, f->count);
    for (int64_t n = 0; n < f->count; n++) {
        const lmr_mrd_head *h = &raw->head[f->list[n]];
        for (int c = 0; c < IMAGES_BY; c++) k[n].key[c] = h->counter[images_by[c]];
        k[n].key[IMAGES_BY] = h->encoding;
        k[n].i = f->list[n];
    }
    qsort(k, (size_t)f->count, sizeof *k, by_image);
    for (int64_t n = 0; n < f->count; n++) f->list[n] = k[n].i;
    *fits = 1;
    f->images = 0;
    for (int64_t first = 0, end; first < f->count && *fits; first = end) {
        for (end = first + 1; end < f->count && same_image(&k[first], &k[end]);) end++;
        *fits = covers(raw, t, f, first, end);
        f->images++;
    }
    free(k);
    return LARMOR_OK;
}

static void list_lot(const larmor_raw *raw, const lot *l, fit *f)
{
    f->count = 0;
    f->images = 1;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        f->at[i] = -1;
        if (l->has(raw, i)) f->list[f->count++] = i;
    }
}

/* "32 readouts of 64 samples" of what is given and of a lot. */
static lmr_text count_text(int64_t count, const char *what, int64_t least, int64_t most)
{
    lmr_text text;
    const int n = snprintf(text.s, sizeof text.s, "%lld %s%s of %lld", (long long)count, what, count == 1 ? "" : "s",
                           (long long)least);
    if (most > least) snprintf(text.s + n, sizeof text.s - (size_t)n, " to %lld", (long long)most);
    return text;
}

static lmr_text lot_text(const larmor_raw *raw, const lot *l)
{
    int64_t count = 0, least = INT64_MAX, most = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!l->has(raw, i)) continue;
        const int64_t samples = raw->head[i].samples;
        least = samples < least ? samples : least;
        most = samples > most ? samples : most;
        count++;
    }
    return count_text(count, "acquisition", count ? least : 0, most);
}

static lmr_text given_text(const larmor_trajectory *t)
{
    int64_t least = INT64_MAX, most = 0;
    for (int64_t r = 0; r < t->readouts; r++) {
        const int64_t samples = t->first[r + 1] - t->first[r];
        least = samples < least ? samples : least;
        most = samples > most ? samples : most;
    }
    return count_text(t->readouts, "readout", least, most);
}

static larmor_status no_fit(const larmor_raw *raw, const larmor_trajectory *t)
{
    return LMR_FAIL(LARMOR_ERR_SHAPE,
                    "trajectory %s has %s samples, which fit neither all %s samples nor the %s that make images.",
                    t->name, given_text(t).s, lot_text(raw, &lots[0]).s, lot_text(raw, &lots[LOTS - 1]).s);
}

static int say_fit(larmor_raw *raw, const larmor_trajectory *t, const lot *l)
{
    return snprintf(raw->info.traj_given, sizeof raw->info.traj_given, "%s, %s samples, for %s", t->name,
                    given_text(t).s, l->name);
}

/* A sequence goes on where the scan was stopped. Which of its readouts those of the scan are is known if all of these
 * make images. */
static int covers_begin(larmor_raw *raw, const larmor_trajectory *t, fit *f)
{
    list_lot(raw, &lots[LOTS - 1], f);
    if (!t->of_sequence || f->count != raw->info.acquisitions) return 0;
    f->is_cut = 1;
    for (f->kept = 0; f->kept < 2; f->kept++) {
        if (!covers(raw, t, f, 0, f->count)) continue;
        LMR_MRD_WARN(raw, "%s has %s samples, and the scan %s: it may have been stopped. What there is is read.",
                     t->name, given_text(t).s, lot_text(raw, &lots[0]).s);
        say_fit(raw, t, &lots[LOTS - 1]);
        return 1;
    }
    return 0;
}

/* The first lot that fits as a whole, else the first whose images do. */
static larmor_status find_fit(larmor_raw *raw, const larmor_trajectory *t, fit *f)
{
    for (int pass = 0; pass < 4; pass++)
        for (int l = 0; l < LOTS; l++) {
            int fits = 0;
            f->kept = pass % 2;
            list_lot(raw, &lots[l], f);
            if (pass < 2)
                fits = covers(raw, t, f, 0, f->count);
            else
                LMR_TRY(covers_images(raw, t, f, &fits));
            if (!fits) continue;
            const int n = say_fit(raw, t, &lots[l]);
            if (f->images > 1 && n > 0 && (size_t)n < sizeof raw->info.traj_given)
                snprintf(raw->info.traj_given + n, sizeof raw->info.traj_given - (size_t)n, " of %lld images",
                         (long long)f->images);
            return LARMOR_OK;
        }
    return covers_begin(raw, t, f) ? LARMOR_OK : no_fit(raw, t);
}

/* ---- its numbers ---- */

static larmor_status check(const larmor_trajectory *t)
{
    LMR_REFUSE(t->dims < 2 || t->dims > 3, LARMOR_ERR_SHAPE, "trajectory %s has %d component%s, expected 2 or 3.",
               t->name, t->dims, t->dims == 1 ? "" : "s");
    LMR_REFUSE(t->readouts < 1 || !t->first || !t->k || t->first[0] != 0, LARMOR_ERR_ARG,
               "trajectory %s: no readouts, or the first does not begin at 0", t->name);
    for (int64_t r = 0; r < t->readouts; r++)
        LMR_REFUSE(t->first[r + 1] <= t->first[r], LARMOR_ERR_ARG, "trajectory %s: readout %lld has no samples",
                   t->name, (long long)r);
    for (int64_t r = 0; r < t->readouts; r++)
        for (int64_t s = t->first[r]; s < t->first[r + 1]; s++) {
            int good = !t->time_s || isfinite(t->time_s[s]);
            good &= !t->phase || isfinite(t->phase[s]);
            good &= !t->weight || (isfinite(t->weight[s]) && t->weight[s] >= 0);
            for (int d = 0; d < t->dims; d++) good &= isfinite((float)t->k[s * t->dims + d]);
            if (good) continue;
            return LMR_FAIL(LARMOR_ERR_FORMAT,
                            "trajectory %s: readout %lld, sample %lld is not finite, or its weight is below 0.",
                            t->name, (long long)r, (long long)(s - t->first[r]));
        }
    return LARMOR_OK;
}

static int is_given(const larmor_raw *raw, const fit *f, int64_t i)
{
    return is_used(raw, i) && f->at[i] >= 0;
}

/* Navigators are read along lines of a grid. */
static void leave_out_navigators(larmor_raw *raw)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (raw->readout[i].use == LMR_NAVIGATOR) raw->readout[i].use = 0;
    if (raw->info.navigators)
        LMR_MRD_WARN(raw, "%lld phase correction readouts are left out: the trajectory is given.",
                     (long long)raw->info.navigators);
    raw->info.dropped += raw->info.navigators;
    raw->info.navigators = 0;
}

/* New pools; acquisitions that it is not for have no trajectory from now on. */
static larmor_status make_pools(larmor_raw *raw, const larmor_trajectory *t, const fit *f)
{
    int64_t samples = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        lmr_mrd_head *h = &raw->head[i];
        h->traj_dims = (uint16_t)(is_given(raw, f, i) ? t->dims : 0);
        raw->readout[i].traj = samples * t->dims;
        if (h->traj_dims) samples += h->samples;
    }
    free(raw->traj);
    raw->traj = lmr_new(samples * t->dims + 1, sizeof *raw->traj);
    if (t->time_s) raw->time_s = lmr_new(samples + 1, sizeof *raw->time_s);
    if (t->weight) raw->weight = lmr_new(samples + 1, sizeof *raw->weight);
    if (!raw->traj || (t->time_s && !raw->time_s) || (t->weight && !raw->weight)) return LMR_NO_MEMORY();
    return LARMOR_OK;
}

/* Sample `to` of an acquisition is sample `from` of the trajectory. */
static void put_sample(larmor_raw *raw, const larmor_trajectory *t, int64_t i, int64_t from, int64_t to)
{
    const lmr_mrd_head *h = &raw->head[i];
    const int64_t at = raw->readout[i].traj / t->dims + to;
    for (int d = 0; d < t->dims; d++) raw->traj[at * t->dims + d] = (float)t->k[from * t->dims + d];
    if (t->time_s) raw->time_s[at] = t->time_s[from];
    if (t->weight) raw->weight[at] = t->weight[from];
    if (!t->phase || t->phase[from] == 0) return;
    const double turn = raw->conjugate ? t->phase[from] : -t->phase[from];
    const double re = cos(turn), im = sin(turn);
    for (int c = 0; c < h->channels; c++) {
        float *x = raw->data + raw->readout[i].data + 2 * ((int64_t)c * h->samples + to);
        const double real = re * (double)x[0] - im * (double)x[1];
        x[1] = (float)(re * (double)x[1] + im * (double)x[0]);
        x[0] = (float)real;
    }
}

/* Discarded samples of a trajectory without them are where their neighbours are. */
static void put(larmor_raw *raw, const larmor_trajectory *t, const fit *f, int64_t i)
{
    const lmr_mrd_head *h = &raw->head[i];
    const int64_t skipped = f->kept ? h->discard_pre : 0;
    const int64_t count = samples_of(raw, i, f->kept);
    for (int64_t s = 0; s < h->samples; s++) {
        int64_t from = s - skipped;
        from = from < 0 ? 0 : from;
        from = from < count ? from : count - 1;
        put_sample(raw, t, i, f->at[i] + from, s);
    }
}

/* Readouts of these encodings are no lines of a grid by their counters any more. */
static void set_types(larmor_raw *raw, const fit *f)
{
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_given(raw, f, i) || !makes_images(raw, i)) continue;
        larmor_encoding *space = &raw->header.encoding[raw->head[i].encoding].space;
        if (!*space->trajectory || !strcmp(space->trajectory, "cartesian") || !strcmp(space->trajectory, "epi"))
            snprintf(space->trajectory, sizeof space->trajectory, "other");
    }
}

#define SAME_FOV .02 /* of each other */

static void compare_fov(larmor_raw *raw, const larmor_trajectory *t)
{
    const larmor_encoding *space = &raw->header.encoding[0].space;
    int differs = 0;
    for (int d = 0; d < 2; d++) {
        int near = !(t->fov_mm[d] > 0) || !(space->fov_mm[d] > 0);
        near |= fabs(t->fov_mm[d] - space->fov_mm[d]) <= SAME_FOV * space->fov_mm[d];
        near |= fabs(t->fov_mm[d] - space->recon_fov_mm[d]) <= SAME_FOV * space->recon_fov_mm[d];
        differs |= !near;
    }
    if (differs)
        LMR_MRD_WARN(raw,
                     "trajectory %s is for a field of view of %.4g x %.4g mm, but the header says %.4g x %.4g mm, "
                     "which is taken.",
                     t->name, t->fov_mm[0], t->fov_mm[1], space->fov_mm[0], space->fov_mm[1]);
}

#define SAME_DWELL .02 /* of each other; headers round to whole ns */

/* Of the first acquisition whose time per sample differs from that of its readout of the sequence. */
static void compare_dwell(larmor_raw *raw, const larmor_trajectory *t, const fit *f)
{
    for (int64_t i = 0; i < raw->info.acquisitions && t->of_sequence && t->time_s; i++) {
        const int64_t last = samples_of(raw, i, f->kept) - 1;
        const double own = (double)raw->head[i].dwell_us;
        if (!is_given(raw, f, i) || last < 1 || !(own > 0) || !isfinite(own)) continue;
        const double dwell = 1e6 * (t->time_s[f->at[i] + last] - t->time_s[f->at[i]]) / (double)last;
        if (fabs(dwell - own) <= SAME_DWELL * own) continue;
        LMR_MRD_WARN(raw,
                     "trajectory %s has %.4g us between the samples of a readout, and acquisition %lld says %.4g us: "
                     "it may be another sequence, or one with other options. Times of samples are those of the "
                     "trajectory.",
                     t->name, dwell, (long long)i, own);
        return;
    }
}

larmor_status lmr_mrd_give_trajectory(larmor_raw *raw, const larmor_trajectory *given)
{
    if (!given) return LARMOR_OK;
    const int64_t n = raw->info.acquisitions;
    LMR_TRY(check(given));
    LMR_FREED_BY(free_fit) fit f = {.at = lmr_new(n, sizeof *f.at), .list = lmr_new(n, sizeof *f.list)};
    if (!f.at || !f.list) return LMR_NO_MEMORY();
    LMR_TRY(find_fit(raw, given, &f));
    LMR_TRY(make_pools(raw, given, &f));
    for (int64_t i = 0; i < n; i++)
        if (is_given(raw, &f, i)) put(raw, given, &f, i);
    leave_out_navigators(raw);
    set_types(raw, &f);
    compare_fov(raw, given);
    compare_dwell(raw, given, &f);
    raw->info.density_stored |= given->weight != NULL;
    return LARMOR_OK;
}
