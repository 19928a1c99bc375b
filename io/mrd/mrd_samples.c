/* The samples of a raw file as arrays: k-space and trajectory of a group, times, noise, coils that are kept.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"
#include "io/parts.h"

/* ---- which readouts ---- */

typedef struct selection {
    int64_t *readout;              /* [count] acquisitions, as in the file */
    int64_t *first;                /* [count] of each readout's samples among all */
    int64_t count, total, longest; /* readouts, samples, samples of the longest */
    int regular;
} selection;

LMR_FREES(free_selection, selection, readout, first)

/* Samples of the selection's readouts. */
static larmor_status measure(const larmor_raw *raw, selection *s)
{
    LMR_ALLOCATE(s->first, s->count + 1);
    for (int64_t r = 0; r < s->count; r++) {
        const int64_t kept = lmr_head_kept(&raw->head[s->readout[r]]);
        s->first[r] = s->total;
        s->regular &= !r || kept == s->longest;
        s->total += kept;
        if (kept > s->longest) s->longest = kept;
    }
    return LARMOR_OK;
}

static larmor_status select_readouts(const larmor_raw *raw, int group, int calibration, selection *s)
{
    *s = (selection){.regular = 1, .count = raw->group[group].readouts};
    if (calibration) {
        LMR_TRY(lmr_mrd_calibration(raw, group, &s->readout, &s->count));
    } else {
        LMR_ALLOCATE_ZEROS(s->readout, s->count);
        memcpy(s->readout, raw->order + raw->first_in_order[group], (size_t)s->count * sizeof *s->readout);
    }
    return measure(raw, s);
}

/* Those of the group's readouts that are named. */
static larmor_status select_some(const larmor_raw *raw, int group, const int64_t *readout, int64_t count,
                                 selection *s)
{
    const int64_t *order = raw->order + raw->first_in_order[group], there = raw->group[group].readouts;
    *s = (selection){.regular = 1, .count = count};
    LMR_ALLOCATE_ZEROS(s->readout, (size_t)count + 1);
    for (int64_t r = 0; r < count; r++) {
        LMR_REFUSE(readout[r] < 0 || readout[r] >= there, LARMOR_ERR_ARG,
                   "raw: readout %lld of group %d, which has %lld", (long long)readout[r], group, (long long)there);
        s->readout[r] = order[readout[r]];
    }
    return measure(raw, s);
}

/* ---- trajectory ---- */

/* k of one sample in cycles per field of view of the grid. */
static void place_sample(const larmor_raw *raw, int64_t i, int64_t s, const larmor_grid *grid, double *k)
{
    const lmr_mrd_head *h = &raw->head[i];
    const lmr_mrd_traj *t = &raw->traj_of[h->encoding];
    const larmor_encoding *space = &raw->header.encoding[h->encoding].space;
    const float *stored = raw->traj + raw->readout[i].traj + s * h->traj_dims;
    const lmr_mrd_line line =
        h->traj_dims ? (lmr_mrd_line){0, 0} : lmr_mrd_line_of(h, raw->readout[i].centre, space->matrix[0], 0);
    for (int d = 0; d < grid->ndim; d++) {
        if (h->traj_dims && d < t->spatial)
            k[d] = t->scale[d] * ((double)stored[d] - (d == 2 ? t->offset : 0));
        else if (d == 0)
            k[d] = space->ramp.flat_us > 0 ? lmr_mrd_ramp_k(space, h, raw->readout[i].centre, (double)s)
                                           : line.first + line.step * (double)s;
        else
            k[d] = h->counter[d - 1] - t->center[d];
        k[d] *= grid->fov_mm[d] / space->fov_mm[d];
    }
}

/* 1 if the selection has a trajectory or one can be made from the counters. */
static int has_trajectory(const larmor_raw *raw, const selection *s)
{
    const lmr_mrd_head *h = &raw->head[s->readout[0]];
    const char *kind = raw->header.encoding[h->encoding].space.trajectory;
    return h->traj_dims || !strcmp(kind, "cartesian") || !strcmp(kind, "epi");
}

/* Of a loop that touches so many bytes of each sample. */
static int parts_for(const selection *s, int64_t bytes)
{
    return lmr_parts_for(s->total * bytes);
}

typedef struct placing {
    const larmor_raw *raw;
    const selection *s;
    const larmor_grid *grid;
    double *k;             /* [nd, total] */
    unsigned char *inside; /* [total] */
    int64_t kept[LMR_MOST_PARTS];
} placing;

/* Half a sample beyond the edge of the grid's k-space is within. */
static larmor_status place_part(void *user, int part, int64_t first, int64_t end)
{
    enum { ASK_EVERY = 64 };
    placing *p = user;
    const int nd = p->grid->ndim;
    int64_t kept = 0;
    for (int64_t r = first; r < end; r++) {
        const lmr_mrd_head *h = &p->raw->head[p->s->readout[r]];
        int64_t at = p->s->first[r];
        if (r % ASK_EVERY == 0) LMR_TRY(lmr_go_on());
        for (int64_t n = h->discard_pre; n < h->samples - h->discard_post; n++, at++) {
            double *k = p->k + at * nd;
            int in = 1;
            place_sample(p->raw, p->s->readout[r], n, p->grid, k);
            for (int d = 0; d < nd; d++) in &= fabs(k[d]) <= (double)p->grid->matrix[d] / 2 + .5;
            p->inside[at] = (unsigned char)in;
            kept += in;
        }
    }
    p->kept[part] = kept;
    return LARMOR_OK;
}

/* Those inside move to the front. */
static void close_gaps(int64_t total, int nd, const unsigned char *inside, double *k)
{
    int64_t to = 0;
    for (int64_t i = 0; i < total; i++) {
        if (!inside[i]) continue;
        if (to < i) memcpy(k + to * nd, k + i * nd, (size_t)nd * sizeof *k);
        to++;
    }
}

/* Trajectory of the samples that lie within the grid's k-space, and which these are. */
static larmor_status place_all(const larmor_raw *raw, const selection *s, const larmor_grid *grid, double **traj,
                               unsigned char **inside, int64_t *outside)
{
    *traj = calloc((size_t)(s->total * grid->ndim), sizeof **traj);
    *inside = calloc((size_t)s->total, 1);
    if (!*traj || !*inside) return LMR_NO_MEMORY();
    placing p = {raw, s, grid, *traj, *inside, {0}};
    LMR_TRY(lmr_in_parts(s->count, parts_for(s, 8 * grid->ndim), place_part, &p));
    int64_t kept = 0;
    for (int i = 0; i < LMR_MOST_PARTS; i++) kept += p.kept[i];
    if (kept < s->total) close_gaps(s->total, grid->ndim, *inside, *traj);
    *outside = s->total - kept;
    if (kept) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "no sample lies within the k-space of matrix %lld x %lld x %lld. Use opts.traj_units.",
                    (long long)grid->matrix[0], (long long)grid->matrix[1], (long long)grid->matrix[2]);
}

/* ---- arrays ---- */

typedef struct copying {
    const larmor_raw *raw;
    const selection *s;
    const unsigned char *inside; /* [total], or NULL: all are */
    const int64_t *first;        /* [readouts] of their samples among those that are kept */
    int coil;
    float *host;
    const double *k; /* [nd, those that are kept] in cycles per field of view, where this is shifted; else NULL */
    int nd;
    double shift[3]; /* in fields of view */
} copying;

/* Sample `at` of a field of view that is moved. */
static void shift_sample(const copying *c, int64_t at, float *x)
{
    double cycles = 0;
    for (int d = 0; d < c->nd; d++) cycles += c->k[at * c->nd + d] * c->shift[d];
    const double re = cos(2 * M_PI * cycles), im = sin(2 * M_PI * cycles);
    const float real = (float)(re * (double)x[0] - im * (double)x[1]);
    x[1] = (float)(re * (double)x[1] + im * (double)x[0]);
    x[0] = real;
}

static larmor_status copy_part(void *user, int part LMR_UNUSED, int64_t first, int64_t end)
{
    enum { ASK_EVERY = 64 };
    const copying *c = user;
    const larmor_raw *raw = c->raw;
    const float sign = raw->conjugate ? -1.f : 1.f;
    for (int64_t r = first; r < end; r++) {
        const lmr_mrd_head *h = &raw->head[c->s->readout[r]];
        const float *x =
            raw->data + raw->readout[c->s->readout[r]].data + 2 * (int64_t)raw->kept[c->coil] * h->samples;
        float *to = c->host + 2 * c->first[r];
        int64_t at = c->s->first[r];
        if (r % ASK_EVERY == 0) LMR_TRY(lmr_go_on());
        for (int64_t n = h->discard_pre; n < h->samples - h->discard_post; n++, at++)
            if (!c->inside || c->inside[at]) {
                to[0] = x[2 * n];
                to[1] = sign * x[2 * n + 1];
                if (c->k) shift_sample(c, (to - c->host) / 2, to);
                to += 2;
            }
    }
    return LARMOR_OK;
}

/* Copy the samples of the selection's readouts, those that are inside (NULL: all), one coil after the other.
 * first: where each readout's begin among them. grid, k: of a field of view that may be shifted; NULL: of noise. */
static larmor_status fill_coils(const larmor_raw *raw, const selection *s, const unsigned char *inside,
                                const int64_t *first, const larmor_grid *grid, const double *k, larmor_shape shape,
                                larmor_device *dev, larmor_array **out)
{
    LMR_OWNED(larmor_array) *one = NULL;
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP LMR_NEW_ZEROS(float, host, 2 * count);
    LMR_TRY(larmor_array_create(dev, LARMOR_C64, larmor_shape_append(shape, raw->info.coils), out));
    for (int c = 0; c < raw->info.coils; c++) {
        copying all = {raw, s, inside, first, c, host, .k = grid && lmr_mrd_is_shifted(raw, grid->ndim) ? k : NULL};
        for (int d = 0; grid && d < grid->ndim; d++) all.shift[d] = raw->shift_mm[d] / grid->fov_mm[d];
        all.nd = grid ? grid->ndim : 0;
        LMR_TRY(lmr_in_parts(s->count, parts_for(s, 8), copy_part, &all));
        LMR_TRY(larmor_array_slice(*out, c, 1, &one));
        LMR_TRY(larmor_array_write(one, host, (size_t)count * 2 * sizeof *host));
        LMR_CLEAR(one);
    }
    return LARMOR_OK;
}

static larmor_status fill_density(const larmor_raw *raw, const selection *s, const unsigned char *inside,
                                  larmor_shape shape, larmor_device *dev, larmor_array **out)
{
    LMR_HEAP LMR_NEW_ZEROS(double, host, (size_t)larmor_shape_count(shape));
    int64_t at = 0, to = 0;
    for (int64_t r = 0; r < s->count; r++) {
        const lmr_mrd_head *h = &raw->head[s->readout[r]];
        const int64_t begin = raw->readout[s->readout[r]].traj;
        const float *k = raw->traj + begin;
        for (int64_t n = h->discard_pre; n < h->samples - h->discard_post; n++, at++) {
            if (!inside[at]) continue;
            host[to++] = raw->weight ? raw->weight[begin / h->traj_dims + n] : (double)k[n * h->traj_dims + 2];
        }
    }
    return larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, host, out);
}

static larmor_status fill_steps(const larmor_raw *raw, const selection *s, larmor_samples *out)
{
    LMR_ALLOCATE_ZEROS(out->step1, s->count);
    LMR_ALLOCATE_ZEROS(out->step2, s->count);
    for (int64_t r = 0; r < s->count; r++) {
        out->step1[r] = raw->head[s->readout[r]].counter[LMR_STEP1];
        out->step2[r] = raw->head[s->readout[r]].counter[LMR_STEP2];
    }
    return LARMOR_OK;
}

/* Where the samples of spokes are along them, whose angles are not known here. */
static larmor_status fill_lines(const larmor_raw *raw, const selection *s, larmor_samples *out)
{
    LMR_ALLOCATE_ZEROS(out->along, s->count);
    LMR_ALLOCATE_ZEROS(out->step, s->count);
    for (int64_t r = 0; r < s->count; r++) {
        const lmr_mrd_head *h = &raw->head[s->readout[r]];
        const int64_t matrix = raw->header.encoding[h->encoding].space.matrix[0];
        const lmr_mrd_line line = lmr_mrd_line_of(h, raw->readout[s->readout[r]].centre, matrix, 1);
        out->along[r] = (line.first + line.step * h->discard_pre) / (double)matrix;
        out->step[r] = line.step / (double)matrix;
    }
    return LARMOR_OK;
}

/* Where each readout's samples begin among those that are kept, and how many there are: [count + 1]. */
static larmor_status find_first(const larmor_raw *raw, const selection *s, const unsigned char *inside,
                                int64_t **first)
{
    int64_t at = 0, kept = 0;
    LMR_ALLOCATE(*first, s->count + 1);
    for (int64_t r = 0; r < s->count; r++) {
        const int64_t end = at + lmr_head_kept(&raw->head[s->readout[r]]);
        (*first)[r] = kept;
        if (!inside) kept += end - at;
        for (; at < end; at++) kept += inside && inside[at];
    }
    (*first)[s->count] = kept;
    return LARMOR_OK;
}

static larmor_status fill(const larmor_raw *raw, const selection *s, const larmor_grid *grid, larmor_device *dev,
                          larmor_samples *out)
{
    LMR_HEAP double *traj = NULL;
    LMR_HEAP unsigned char *inside = NULL;
    const int placed = has_trajectory(raw, s);
    LMR_REFUSE(!placed && lmr_mrd_is_shifted(raw, grid->ndim), LARMOR_ERR_UNSUPPORTED,
               "shift: readouts have no trajectory, and are no lines of a grid.");
    if (placed) LMR_TRY(place_all(raw, s, grid, &traj, &inside, &out->outside));
    const int64_t kept = s->total - out->outside;
    const larmor_shape shape =
        s->regular && !out->outside ? LARMOR_SHAPE(s->longest, s->count) : LARMOR_SHAPE(kept, 1);
    const unsigned char *some = out->outside ? inside : NULL;
    LMR_OWN_MEMORY(int64_t, first, find_first(raw, s, some, &first));
    LMR_TRY(fill_coils(raw, s, some, first, grid, traj, shape, dev, &out->kspace));
    if (placed)
        LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(grid->ndim, shape.dim[0], shape.dim[1]), LARMOR_F64,
                                    traj, &out->traj));
    const lmr_mrd_head *h = &raw->head[s->readout[0]];
    if (placed && h->traj_dims && (raw->weight || raw->traj_of[h->encoding].density))
        LMR_TRY(fill_density(raw, s, inside, shape, dev, &out->density));
    LMR_TRY(fill_steps(raw, s, out));
    if (!placed) LMR_TRY(fill_lines(raw, s, out));
    if (shape.dim[1] != s->count) {
        out->readouts = s->count;
        LMR_HAND_ON(out->first, first);
    }
    return LARMOR_OK;
}

/* The group is there, and the grid is one of its encoding. */
static larmor_status check_request(const larmor_raw *raw, int group, const larmor_grid *grid)
{
    LMR_REFUSE(group < 0 || group >= raw->info.groups, LARMOR_ERR_ARG, "raw: samples: group %d, the file has %d",
               group, raw->info.groups);
    const int nd = raw->header.encoding[raw->group[group].encoding].space.ndim;
    int good = grid->ndim == nd;
    for (int d = 0; d < nd; d++) good &= grid->matrix[d] > 0 && grid->fov_mm[d] > 0;
    LMR_REFUSE(!good, LARMOR_ERR_ARG, "raw: samples: grid has %d dimensions, expected %d of positive size",
               grid->ndim, nd);
    return LARMOR_OK;
}

larmor_status larmor_raw_samples(const larmor_raw *raw, int group, const larmor_grid *grid, int calibration,
                                 larmor_device *dev, larmor_samples *out)
{
    LMR_NEED(out);
    *out = (larmor_samples){0};
    LMR_NEED(raw, grid, dev);
    LMR_TRY(check_request(raw, group, grid));
    selection s;
    larmor_status st = select_readouts(raw, group, calibration, &s);
    if (!st && s.count) st = fill(raw, &s, grid, dev, out);
    free_selection(&s);
    if (st) larmor_samples_free(out);
    return st;
}

larmor_status larmor_raw_readouts(const larmor_raw *raw, int group, const int64_t *readout, int64_t count,
                                  const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    LMR_NEED(out);
    *out = (larmor_samples){0};
    LMR_NEED(raw, readout, grid, dev);
    LMR_TRY(check_request(raw, group, grid));
    LMR_REFUSE(count < 1, LARMOR_ERR_ARG, "raw: %lld readouts, expected 1 at least", (long long)count);
    selection s;
    larmor_status st = select_some(raw, group, readout, count, &s);
    if (!st) st = fill(raw, &s, grid, dev, out);
    free_selection(&s);
    if (st) larmor_samples_free(out);
    return st;
}

/* ---- times ---- */

static larmor_status fill_times(const larmor_raw *raw, const selection *s, const unsigned char *inside, double *times)
{
    int64_t at = 0, to = 0;
    for (int64_t r = 0; r < s->count; r++) {
        const lmr_mrd_head *h = &raw->head[s->readout[r]];
        const double *given = NULL;
        if (raw->time_s && h->traj_dims) given = raw->time_s + raw->readout[s->readout[r]].traj / h->traj_dims;
        LMR_REFUSE(!given && !(h->dwell_us > 0 && isfinite(h->dwell_us)), LARMOR_ERR_FORMAT,
                   "acquisition %lld has no sample_time_us, so that it is not known when its samples were "
                   "taken. State it in the file.",
                   (long long)s->readout[r]);
        for (int64_t n = h->discard_pre; n < h->samples - h->discard_post; n++, at++)
            if (!inside || inside[at]) times[to++] = given ? given[n] : 1e-6 * (double)h->dwell_us * (double)n;
    }
    return LARMOR_OK;
}

/* Phases [terms] one after the other, of `kept` samples each. */
static larmor_status fill_phases(const larmor_raw *raw, const selection *s, const unsigned char *inside, int64_t kept,
                                 double *phases)
{
    const int terms = raw->info.phase_terms;
    int64_t at = 0, to = 0;
    for (int64_t r = 0; r < s->count; r++) {
        const lmr_mrd_head *h = &raw->head[s->readout[r]];
        const float *own = raw->phase + raw->readout[s->readout[r]].phase;
        for (int64_t n = h->discard_pre; n < h->samples - h->discard_post; n++, at++) {
            if (inside && !inside[at]) continue;
            for (int l = 0; l < terms; l++) phases[to + kept * l] = (double)own[n * terms + l];
            to++;
        }
    }
    return LARMOR_OK;
}

/* terms: phases of so many; 0: times. */
static larmor_status find_values(const larmor_raw *raw, const selection *s, const larmor_grid *grid, int terms,
                                 larmor_device *dev, larmor_array **out)
{
    LMR_HEAP double *traj = NULL;
    LMR_HEAP double *values = lmr_new((s->total + 1) * (1 + terms), sizeof *values);
    LMR_HEAP unsigned char *inside = NULL;
    int64_t outside = 0;
    if (!values) return LMR_NO_MEMORY();
    if (has_trajectory(raw, s)) LMR_TRY(place_all(raw, s, grid, &traj, &inside, &outside));
    const int64_t kept = s->total - outside;
    larmor_shape shape = s->regular && !outside ? LARMOR_SHAPE(s->longest, s->count) : LARMOR_SHAPE(kept, 1);
    LMR_TRY(terms ? fill_phases(raw, s, inside, kept, values) : fill_times(raw, s, inside, values));
    if (terms) shape = larmor_shape_append(shape, terms);
    return larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, values, out);
}

static larmor_status values_of(const larmor_raw *raw, int group, const int64_t *readout, int64_t count,
                               const larmor_grid *grid, int terms, larmor_device *dev, larmor_array **values)
{
    LMR_NEED(grid, dev);
    LMR_TRY(check_request(raw, group, grid));
    LMR_REFUSE(readout && count < 1, LARMOR_ERR_ARG, "raw: %lld readouts, expected 1 at least", (long long)count);
    LMR_FREED_BY(free_selection) selection s = {0};
    LMR_TRY(readout ? select_some(raw, group, readout, count, &s) : select_readouts(raw, group, 0, &s));
    return find_values(raw, &s, grid, terms, dev, values);
}

larmor_status larmor_raw_times(const larmor_raw *raw, int group, const int64_t *readout, int64_t count,
                               const larmor_grid *grid, larmor_device *dev, larmor_array **times)
{
    LMR_NEED_OUT(times, raw);
    return values_of(raw, group, readout, count, grid, 0, dev, times);
}

larmor_status larmor_raw_phase_terms(const larmor_raw *raw, int group, const int64_t *readout, int64_t count,
                                     const larmor_grid *grid, larmor_device *dev, larmor_array **phases)
{
    LMR_NEED_OUT(phases, raw);
    LMR_REFUSE(!raw->phase, LARMOR_ERR_ARG, "raw: the file was opened without opts.phase_terms");
    return values_of(raw, group, readout, count, grid, raw->info.phase_terms, dev, phases);
}

void larmor_samples_free(larmor_samples *samples)
{
    if (!samples) return;
    LMR_FREE(samples->kspace, samples->traj, samples->density, samples->step1, samples->step2, samples->first,
             samples->along, samples->step);
    *samples = (larmor_samples){0};
}

larmor_status larmor_raw_noise(const larmor_raw *raw, larmor_device *dev, larmor_array **noise)
{
    LMR_NEED_OUT(noise, raw, dev);
    if (!raw->info.noise) return LARMOR_OK;
    selection s = {.count = 0};
    LMR_ALLOCATE_ZEROS(s.readout, raw->info.noise);
    for (int64_t i = 0; i < raw->info.acquisitions; i++)
        if (raw->readout[i].use == LMR_NOISE) s.readout[s.count++] = i;
    larmor_status st = measure(raw, &s);
    if (!st) st = fill_coils(raw, &s, NULL, s.first, NULL, NULL, LARMOR_SHAPE(s.total), dev, noise);
    free_selection(&s);
    if (st) LMR_CLEAR(*noise);
    return st;
}

static larmor_status convert_coils(const larmor_raw *raw, larmor_array *x, int axis, int back, larmor_array **result)
{
    const lmr_coil_list list = {raw->info.channels, raw->info.coils, raw->kept};
    return lmr_convert_coils(&list, x, axis, back, result);
}

larmor_status larmor_raw_keep_coils(const larmor_raw *raw, larmor_array *all, int axis, larmor_array **kept)
{
    LMR_NEED(raw, all, kept);
    return convert_coils(raw, all, axis, 0, kept);
}

larmor_status larmor_raw_restore_coils(const larmor_raw *raw, larmor_array *kept, int axis, larmor_array **all)
{
    LMR_NEED(raw, kept, all);
    return convert_coils(raw, kept, axis, 1, all);
}
