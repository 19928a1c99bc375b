/* Trajectories of files, with times and weights, readout by readout. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/mrd/mrd.h"
#include "io/reader/source.h"

LMR_OWNS(larmor_raw, larmor_raw_free)

void larmor_trajectory_free(larmor_trajectory *t)
{
    if (!t) return;
    LMR_FREE(t->first, t->k, t->time_s, t->weight, t->phase);
    *t = (larmor_trajectory){0};
}

static const char *suffix_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot : "";
}

static void name_after(const char *path, larmor_trajectory *t)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    snprintf(t->name, sizeof t->name, "%s", lmr_printable(name, (int64_t)strlen(name), 120).s);
}

/* ---- arrays ---- */

/* The real numbers of a file, and its shape. */
static larmor_status read_numbers(const char *path, larmor_device *dev, larmor_shape *shape, double **values)
{
    *values = NULL;
    LMR_OWN(larmor_array, stored, larmor_image_read(path, dev, &stored));
    LMR_TRY(larmor_array_expect_finite(stored, path));
    const int step = lmr_is_complex(larmor_array_dtype(stored)) ? 2 : 1;
    const int64_t count = larmor_array_count(stored);
    *shape = larmor_array_shape(stored);
    LMR_OWN_MEMORY(double, all, larmor_array_download(stored, step == 2 ? LARMOR_C128 : LARMOR_F64, &all));
    for (int64_t i = 0; step == 2 && i < count; i++)
        LMR_REFUSE(all[2 * i + 1] != 0, LARMOR_ERR_FORMAT,
                   "%s: number %lld has an imaginary part, real numbers expected.", path, (long long)i);
    for (int64_t i = 0; step == 2 && i < count; i++) all[i] = all[2 * i];
    return LMR_HAND_ON(*values, all);
}

static larmor_status read_array(const char *path, larmor_device *dev, larmor_trajectory *t)
{
    larmor_shape shape;
    LMR_TRY(read_numbers(path, dev, &shape, &t->k));
    LMR_REFUSE(shape.ndim < 2 || shape.dim[0] < 2 || shape.dim[0] > 3 || shape.dim[1] < 1, LARMOR_ERR_SHAPE,
               "%s: [2 or 3, samples, readouts] expected, its first dimension is %lld.", path,
               shape.ndim ? (long long)shape.dim[0] : 0LL);
    t->dims = (int)shape.dim[0];
    t->readouts = larmor_shape_count(shape) / shape.dim[0] / shape.dim[1];
    LMR_ALLOCATE(t->first, t->readouts + 1);
    for (int64_t r = 0; r <= t->readouts; r++) t->first[r] = r * shape.dim[1];
    return LARMOR_OK;
}

/* A number for each sample. */
static larmor_status read_beside(const char *path, const larmor_trajectory *t, larmor_device *dev, double **values)
{
    larmor_shape shape;
    if (!path) return LARMOR_OK;
    LMR_TRY(read_numbers(path, dev, &shape, values));
    const int64_t count = larmor_shape_count(shape), samples = t->first[t->readouts];
    if (count == samples) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "%s: %lld numbers, expected %lld, one for each sample of trajectory %s.", path,
                    (long long)count, (long long)samples, t->name);
}

static larmor_status check_weights(const char *path, const larmor_trajectory *t)
{
    for (int64_t s = 0; t->weight && s < t->first[t->readouts]; s++)
        LMR_REFUSE(t->weight[s] < 0, LARMOR_ERR_FORMAT, "%s: weight %lld is %.4g, expected 0 or more.", path,
                   (long long)s, t->weight[s]);
    return LARMOR_OK;
}

/* ---- of another scan ---- */

static int is_taken(const larmor_raw *raw, int64_t i)
{
    return (raw->readout[i].use & LMR_IMAGING) && raw->head[i].traj_dims;
}

/* In cycles per metre. */
static void take_readout(const larmor_raw *raw, int64_t i, larmor_trajectory *t, int64_t at)
{
    const lmr_mrd_head *h = &raw->head[i];
    const lmr_mrd_traj *of = &raw->traj_of[h->encoding];
    const larmor_encoding *space = &raw->header.encoding[h->encoding].space;
    const float *k = raw->traj + raw->readout[i].traj;
    for (int64_t s = h->discard_pre; s < h->samples - h->discard_post; s++, at++) {
        for (int d = 0; d < of->spatial; d++) {
            const double stored = (double)k[s * h->traj_dims + d] - (d == 2 ? of->offset : 0);
            t->k[at * t->dims + d] = 1e3 * of->scale[d] * stored / space->fov_mm[d];
        }
        if (of->spatial == 2 && t->dims == 3)
            t->k[at * t->dims + 2] =
                space->ndim == 3 ? 1e3 * (h->counter[LMR_STEP2] - of->center[2]) / space->fov_mm[2] : 0;
        if (t->weight) t->weight[at] = (double)k[s * h->traj_dims + 2];
    }
}

static larmor_status take_scan(const larmor_raw *raw, const char *path, larmor_trajectory *t)
{
    int64_t samples = 0;
    int weights = 1;
    t->dims = 2;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_taken(raw, i)) continue;
        t->readouts++;
        samples += lmr_head_kept(&raw->head[i]);
        const int e = raw->head[i].encoding;
        if (raw->header.encoding[e].space.ndim == 3) t->dims = 3;
        weights &= raw->traj_of[e].density;
    }
    LMR_REFUSE(!t->readouts, LARMOR_ERR_FORMAT, "%s: stores no trajectory.", path);
    t->first = lmr_new(t->readouts + 1, sizeof *t->first);
    t->k = lmr_new(samples * t->dims, sizeof *t->k);
    if (weights) t->weight = lmr_new(samples, sizeof *t->weight);
    if (!t->first || !t->k || (weights && !t->weight)) return LMR_NO_MEMORY();
    int64_t readout = 0, at = 0;
    for (int64_t i = 0; i < raw->info.acquisitions; i++) {
        if (!is_taken(raw, i)) continue;
        t->first[readout++] = at;
        take_readout(raw, i, t, at);
        at += lmr_head_kept(&raw->head[i]);
    }
    t->first[readout] = at;
    snprintf(t->units, sizeof t->units, "1/m");
    return LARMOR_OK;
}

static larmor_status read_scan(const char *path, const char *units, larmor_trajectory *t)
{
    const larmor_raw_opts opts = {.traj_units = units};
    LMR_OWN(larmor_raw, raw, larmor_raw_open(path, &opts, &raw));
    return take_scan(raw, path, t);
}

static larmor_status read_all(const char *path, const larmor_trajectory_opts *opts, larmor_device *host,
                              larmor_trajectory *out)
{
    if (!strcmp(suffix_of(path), ".h5"))
        LMR_TRY(read_scan(path, opts->units, out));
    else
        LMR_TRY(read_array(path, host, out));
    if (opts->weights) LMR_CLEAR(out->weight);
    LMR_TRY(read_beside(opts->times, out, host, &out->time_s));
    LMR_TRY(read_beside(opts->weights, out, host, &out->weight));
    return check_weights(opts->weights ? opts->weights : path, out);
}

larmor_status larmor_trajectory_read(const char *path, const larmor_trajectory_opts *opts, larmor_trajectory *out)
{
    static const larmor_trajectory_opts defaults;
    LMR_NEED(out);
    *out = (larmor_trajectory){0};
    LMR_NEED(path);
    LMR_OWN(larmor_device, host, larmor_device_open("cpu:1", &host));
    name_after(path, out);
    const larmor_status st = read_all(path, opts ? opts : &defaults, host, out);
    if (st) larmor_trajectory_free(out);
    return st;
}
