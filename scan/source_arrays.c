/* Arrays in memory as a scan. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/coils.h"
#include "core/hash.h"
#include "core/owned.h"
#include "scan/arrays_given.h"
#include "scan/source.h"
#include "schedule/archive.h"

/* ---- what the pipeline asks ---- */

static larmor_status hash_readouts(const larmor_readouts *r, uint64_t *hash)
{
    larmor_array *const arrays[] = {r->kspace, r->traj, r->density, r->calibration, r->calibration_traj, r->times};
    const larmor_image_meta *m = &r->meta;
    const int counters[] = {m->slice, m->contrast, m->phase, m->repetition, m->set};
    *hash = lmr_hash(*hash, counters, sizeof counters);
    const size_t readouts = (size_t)larmor_array_shape(r->kspace).dim[1];
    if (r->step1) *hash = lmr_hash(*hash, r->step1, sizeof(int) * readouts);
    if (r->stamps) *hash = lmr_hash(*hash, r->stamps, sizeof *r->stamps * readouts);
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) LMR_TRY(lmr_hash_array(arrays[i], hash));
    return LARMOR_OK;
}

static larmor_status fingerprint(void *self, uint64_t *hash)
{
    const lmr_array_scan *s = self;
    *hash = lmr_hash(0, &s->encoding, offsetof(larmor_encoding, ndim));
    LMR_TRY(lmr_hash_array(s->noise, hash));
    for (int i = 0; i < s->info.groups; i++) LMR_TRY(hash_readouts(&s->image[i], hash));
    return LARMOR_OK;
}

static larmor_raw_info describe(void *self)
{
    return ((const lmr_array_scan *)self)->info;
}

static larmor_status no_such(const char *what, int index, int count)
{
    return LMR_FAIL(LARMOR_ERR_ARG, "arrays: %s %d, there are %d", what, index, count);
}

static larmor_status encoding_of(void *self, int encoding, larmor_encoding *out)
{
    const lmr_array_scan *s = self;
    if (encoding) return no_such("encoding", encoding, 1);
    *out = s->encoding;
    return LARMOR_OK;
}

static larmor_status group_of(void *self, int group, larmor_group *out)
{
    const lmr_array_scan *s = self;
    if (group < 0 || group >= s->info.groups) return no_such("image", group, s->info.groups);
    *out = s->group[group];
    return LARMOR_OK;
}

static larmor_status meta_of(void *self, int group, larmor_image_meta *meta)
{
    const lmr_array_scan *s = self;
    if (group < 0 || group >= s->info.groups) return no_such("image", group, s->info.groups);
    *meta = s->image[group].meta;
    return LARMOR_OK;
}

/* A new array with x's values, which the caller may overwrite. */
static larmor_status copy_of(larmor_array *x, larmor_dtype dtype, larmor_device *dev, larmor_array **copy)
{
    LMR_OWNED(larmor_array) *converted = NULL, *moved = NULL;
    *copy = NULL;
    LMR_TRY(larmor_array_convert(x, dtype, &converted));
    LMR_TRY(larmor_array_to(converted, dev, &moved));
    if (moved != x) {
        *copy = larmor_array_ref(moved);
        return LARMOR_OK;
    }
    LMR_TRY(larmor_array_create(dev, dtype, larmor_array_shape(x), copy));
    return larmor_copy(x, *copy);
}

/* x of all channels, or of the coils, as an array of the coils. */
static larmor_status coils_of(const lmr_array_scan *s, larmor_array *x, int axis, larmor_array **coils)
{
    const lmr_coil_list list = {s->info.channels, s->info.coils, s->kept};
    return lmr_convert_coils(&list, x, axis, 0, coils);
}

static larmor_status noise_of(void *self, larmor_device *dev, larmor_array **noise)
{
    const lmr_array_scan *s = self;
    LMR_OWNED(larmor_array) *coils = NULL;
    *noise = NULL;
    if (!s->noise) return LARMOR_OK;
    LMR_TRY(coils_of(s, s->noise, 1, &coils));
    return copy_of(coils, LARMOR_C64, dev, noise);
}

static larmor_status keep_coils(void *self, larmor_array *all, int axis, larmor_array **kept)
{
    return coils_of(self, all, axis, kept);
}

static larmor_status restore_coils(void *self, larmor_array *kept, int axis, larmor_array **all)
{
    const lmr_array_scan *s = self;
    const lmr_coil_list list = {s->info.channels, s->info.coils, s->kept};
    return lmr_convert_coils(&list, kept, axis, 1, all);
}

/* Of a trajectory in cycles per field of view of the scan: that of the grid, without the points beyond its k-space,
 * and which those are. Half a sample beyond its edge is within. */
static larmor_status place(const lmr_array_scan *s, const larmor_grid *grid, double *k, int64_t points,
                           unsigned char *inside, int64_t *kept)
{
    const int nd = grid->ndim;
    *kept = 0;
    for (int64_t i = 0; i < points; i++) {
        int in = 1;
        for (int d = 0; d < nd; d++) {
            const double scaled = k[i * nd + d] * (grid->fov_mm[d] / s->encoding.fov_mm[d]);
            if (!isfinite(scaled))
                return LMR_FAIL(LARMOR_ERR_NUMERIC, "arrays: trajectory: point %lld is not finite", (long long)i);
            in &= fabs(scaled) <= (double)grid->matrix[d] / 2 + .5;
            k[*kept * nd + d] = scaled;
        }
        inside[i] = (unsigned char)in;
        *kept += in;
    }
    if (*kept) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "arrays: trajectory: no sample lies within the k-space of the grid");
}

/* x [points, batch] of values of this size on the host, without those outside. */
static void drop_outside(unsigned char *x, size_t size, const unsigned char *inside, int64_t points, int64_t batch)
{
    unsigned char *to = x;
    for (int64_t i = 0; i < points * batch; i++) {
        if (!inside[i % points]) continue;
        memmove(to, x + (size_t)i * size, size);
        to += size;
    }
}

/* A copy of x [samples, readouts(, coils)] with the samples inside: as it is if all are, else [kept, 1(, coils)]. */
static larmor_status take(larmor_array *x, larmor_dtype dtype, const unsigned char *inside, int64_t kept,
                          larmor_device *dev, larmor_array **out)
{
    larmor_shape shape = larmor_array_shape(x);
    const int64_t points = shape.dim[0] * shape.dim[1];
    const int64_t batch = shape.ndim > 2 ? shape.dim[2] : 1;
    if (kept == points) return copy_of(x, dtype, dev, out);
    LMR_HEAP void *values = NULL;
    LMR_TRY(larmor_array_download(x, dtype, &values));
    drop_outside(values, larmor_dtype_size(dtype), inside, points, batch);
    shape.dim[0] = kept;
    shape.dim[1] = 1;
    return larmor_array_upload(dev, dtype, shape, dtype, values, out);
}

/* Where each readout begins among the points that are left. */
static larmor_status find_first(const unsigned char *inside, int64_t samples, int64_t readouts, larmor_samples *out)
{
    int64_t kept = 0;
    LMR_ALLOCATE(out->first, readouts + 1);
    out->readouts = readouts;
    for (int64_t i = 0; i < samples * readouts; i++) {
        if (i % samples == 0) out->first[i / samples] = kept;
        kept += inside[i];
    }
    out->first[readouts] = kept;
    return LARMOR_OK;
}

/* Samples with their trajectory, which are one readout where some are left out. */
static larmor_status placed_samples(const lmr_array_scan *s, larmor_array *kspace, larmor_array *traj,
                                    larmor_array *density, const larmor_grid *grid, larmor_device *dev,
                                    larmor_samples *out)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t points = shape.dim[0] * shape.dim[1];
    LMR_HEAP void *k = NULL;
    LMR_HEAP unsigned char *inside = malloc((size_t)points + 1);
    int64_t kept = points;
    if (!inside) LMR_TRY(LMR_NO_MEMORY());
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    LMR_TRY(place(s, grid, k, points, inside, &kept));
    out->outside = points - kept;
    const int whole = kept == points;
    const larmor_shape placed = LARMOR_SHAPE(grid->ndim, whole ? shape.dim[0] : kept, whole ? shape.dim[1] : 1);
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, placed, LARMOR_F64, k, &out->traj));
    LMR_TRY(take(kspace, LARMOR_C64, inside, kept, dev, &out->kspace));
    if (density) LMR_TRY(take(density, LARMOR_F64, inside, kept, dev, &out->density));
    if (!whole) LMR_TRY(find_first(inside, shape.dim[0], shape.dim[1], out));
    return LARMOR_OK;
}

static larmor_status steps_of(const larmor_readouts *image, int64_t readouts, larmor_samples *out)
{
    out->step1 = calloc((size_t)readouts + 1, sizeof *out->step1);
    out->step2 = calloc((size_t)readouts + 1, sizeof *out->step2);
    if (!out->step1 || !out->step2) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < readouts; i++) out->step1[i] = image->step1 ? image->step1[i] : (int)i;
    return LARMOR_OK;
}

/* The calibration of the group's slice, whichever image has it. */
static larmor_status calibration_of(const lmr_array_scan *s, int group, const larmor_grid *grid, larmor_device *dev,
                                    larmor_samples *out)
{
    for (int i = 0; i < s->info.groups; i++) {
        const larmor_readouts *image = &s->image[(group + i) % s->info.groups];
        LMR_OWNED(larmor_array) *coils = NULL;
        if (!image->calibration || image->meta.slice != s->image[group].meta.slice) continue;
        LMR_TRY(coils_of(s, image->calibration, 2, &coils));
        return placed_samples(s, coils, image->calibration_traj, NULL, grid, dev, out);
    }
    return LARMOR_OK;
}

/* The samples of all its readouts. */
static larmor_status image_of(const lmr_array_scan *s, int group, const larmor_grid *grid, larmor_device *dev,
                              larmor_samples *out)
{
    const larmor_readouts *image = &s->image[group];
    LMR_OWNED(larmor_array) *coils = NULL;
    LMR_TRY(coils_of(s, image->kspace, 2, &coils));
    if (image->traj)
        LMR_TRY(placed_samples(s, coils, image->traj, image->density, grid, dev, out));
    else
        LMR_TRY(copy_of(coils, LARMOR_C64, dev, &out->kspace));
    return steps_of(image, s->group[group].readouts, out);
}

static larmor_status samples_of(void *self, int group, const larmor_grid *grid, int calibration, larmor_device *dev,
                                larmor_samples *out)
{
    const lmr_array_scan *s = self;
    *out = (larmor_samples){0};
    if (group < 0 || group >= s->info.groups) return no_such("image", group, s->info.groups);
    const larmor_status st =
        calibration ? calibration_of(s, group, grid, dev, out) : image_of(s, group, grid, dev, out);
    if (st) larmor_samples_free(out);
    return st;
}

/* ---- some of the readouts ---- */

/* Of x [before..., readouts, after] those that are named, runs of neighbours at once. */
static larmor_status gather(larmor_array *x, int axis, const int64_t *readout, int64_t count, larmor_array **out)
{
    larmor_shape shape = larmor_array_shape(x), flat = {2, {1, 1}};
    const int64_t readouts = shape.dim[axis];
    for (int d = 0; d < shape.ndim; d++) flat.dim[d >= axis] *= shape.dim[d];
    LMR_OWNED(larmor_array) *lines = NULL, *chosen = NULL;
    larmor_status st;
    *out = NULL;
    shape.dim[axis] = count;
    LMR_OR(done, larmor_array_reshape(x, flat, &lines));
    flat.dim[1] = flat.dim[1] / readouts * count;
    LMR_OR(done, larmor_array_create(larmor_array_device(x), larmor_array_dtype(x), flat, &chosen));
    for (int64_t i = 0, run; i < flat.dim[1]; i += run) {
        larmor_array *from = NULL, *to = NULL;
        const int64_t r = i % count;
        run = 1;
        while (r + run < count && readout[r + run] == readout[r] + run) run++;
        st = larmor_array_slice(lines, i / count * readouts + readout[r], run, &from);
        if (!st) st = larmor_array_slice(chosen, i, run, &to);
        if (!st) st = larmor_copy(from, to);
        LMR_FREE(to, from);
        if (st) goto done;
    }
    st = larmor_array_reshape(chosen, shape, out);
done:
    return st;
}

static larmor_status some_readouts(const lmr_array_scan *s, const larmor_readouts *image, const int64_t *readout,
                                   int64_t count, const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    LMR_OWNED(larmor_array) *all = NULL, *kspace = NULL, *traj = NULL, *density = NULL;
    LMR_TRY(gather(image->kspace, 1, readout, count, &all));
    LMR_TRY(coils_of(s, all, 2, &kspace));
    if (image->traj) LMR_TRY(gather(image->traj, 2, readout, count, &traj));
    if (image->density) LMR_TRY(gather(image->density, 1, readout, count, &density));
    if (traj)
        LMR_TRY(placed_samples(s, kspace, traj, density, grid, dev, out));
    else
        LMR_TRY(copy_of(kspace, LARMOR_C64, dev, &out->kspace));
    LMR_TRY(steps_of(image, count, out));
    for (int64_t i = 0; i < count; i++) out->step1[i] = image->step1 ? image->step1[readout[i]] : (int)readout[i];
    return LARMOR_OK;
}

/* readout NULL: all. */
static larmor_status check_request(const lmr_array_scan *s, int group, const int64_t *readout, int64_t count)
{
    if (group < 0 || group >= s->info.groups) return no_such("image", group, s->info.groups);
    for (int64_t i = 0; readout && i < count; i++)
        if (readout[i] < 0 || readout[i] >= s->group[group].readouts)
            return no_such("readout", (int)readout[i], (int)s->group[group].readouts);
    return LARMOR_OK;
}

static larmor_status readouts_of(void *self, int group, const int64_t *readout, int64_t count,
                                 const larmor_grid *grid, larmor_device *dev, larmor_samples *out)
{
    const lmr_array_scan *s = self;
    *out = (larmor_samples){0};
    LMR_TRY(check_request(s, group, readout, count));
    const larmor_status st = some_readouts(s, &s->image[group], readout, count, grid, dev, out);
    if (st) larmor_samples_free(out);
    return st;
}

#define MAX_PLANE_DISTANCE 1e-3 /* cycles per field of view: readouts that stay this close to their plane lie in it */

/* The kz of larmor_stamp, from a trajectory in three dimensions. */
static larmor_status find_planes(const larmor_array *traj, larmor_stamp *stamps)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t samples = shape.dim[1], readouts = shape.dim[2];
    double *k;
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < readouts; i++) {
        const double *kz = k + 3 * samples * i + 2;
        stamps[i].kz = kz[0];
        for (int64_t j = 0; j < samples; j++)
            if (!(fabs(kz[3 * j] - kz[0]) <= MAX_PLANE_DISTANCE)) stamps[i].kz = NAN;
    }
    free(k);
    return LARMOR_OK;
}

static larmor_status stamps_of(void *self, int group, larmor_stamp *stamps)
{
    const lmr_array_scan *s = self;
    if (group < 0 || group >= s->info.groups) return no_such("image", group, s->info.groups);
    const larmor_readouts *image = &s->image[group];
    const int lines = !strcmp(s->encoding.trajectory, "cartesian") || !strcmp(s->encoding.trajectory, "epi");
    for (int64_t i = 0; i < s->group[group].readouts; i++) {
        stamps[i] = image->stamps ? image->stamps[i] : (larmor_stamp){.time = 0};
        stamps[i].samples = s->group[group].samples;
        stamps[i].kz = 0;
    }
    const int volume = image->traj && larmor_array_shape(image->traj).dim[0] == 3;
    return volume && !lines ? find_planes(image->traj, stamps) : LARMOR_OK;
}

/* ---- when samples were taken ---- */

/* Which samples lie on the grid. */
static larmor_status find_inside(const lmr_array_scan *s, const larmor_array *traj, int64_t points,
                                 const larmor_grid *grid, unsigned char *inside, int64_t *kept)
{
    LMR_HEAP void *k = NULL;
    *kept = points;
    if (!traj) return LARMOR_OK;
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    return place(s, grid, k, points, inside, kept);
}

static larmor_status times_on_grid(const lmr_array_scan *s, larmor_array *all, const larmor_array *traj,
                                   const larmor_grid *grid, larmor_device *dev, larmor_array **times)
{
    int64_t kept;
    LMR_HEAP unsigned char *inside = malloc((size_t)larmor_array_count(all) + 1);
    if (!inside) return LMR_NO_MEMORY();
    LMR_TRY(find_inside(s, traj, larmor_array_count(all), grid, inside, &kept));
    return take(all, LARMOR_F64, inside, kept, dev, times);
}

static larmor_status times_of(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                              larmor_device *dev, larmor_array **times)
{
    const lmr_array_scan *s = self;
    LMR_OWNED(larmor_array) *some = NULL, *traj = NULL;
    *times = NULL;
    LMR_TRY(check_request(s, group, readout, count));
    const larmor_readouts *image = &s->image[group];
    if (!image->times) return LMR_FAIL(LARMOR_ERR_ARG, "arrays: image %d has no times, which b0 needs", group);
    if (!readout) return times_on_grid(s, image->times, image->traj, grid, dev, times);
    LMR_TRY(gather(image->times, 1, readout, count, &some));
    if (image->traj) LMR_TRY(gather(image->traj, 2, readout, count, &traj));
    return times_on_grid(s, some, traj, grid, dev, times);
}

/* ---- making one ---- */

static void destroy(void *self)
{
    lmr_arrays_free(self);
    free(self);
}

larmor_status larmor_source_of_arrays(const larmor_scan_arrays *given, larmor_source **source)
{
    static const larmor_source_impl impl = {.describe = describe,
                                            .encoding = encoding_of,
                                            .group = group_of,
                                            .samples = samples_of,
                                            .times = times_of,
                                            .meta = meta_of,
                                            .noise = noise_of,
                                            .keep_coils = keep_coils,
                                            .restore_coils = restore_coils,
                                            .destroy = destroy,
                                            .fingerprint = fingerprint,
                                            .stamps = stamps_of,
                                            .readouts = readouts_of};
    if (!source) return LMR_FAIL(LARMOR_ERR_ARG, "source: nowhere to put it");
    *source = NULL;
    if (!given || given->images < 1 || !given->image)
        return LMR_FAIL(LARMOR_ERR_ARG, "arrays: the readouts of one image at least expected");
    LMR_NEW_ZEROS(lmr_array_scan, s, 1);
    larmor_status st = lmr_arrays_take(given, s);
    if (!st) st = larmor_source_create("arrays", &impl, s, source);
    if (st)
        destroy(s);
    else
        lmr_source_set_any_thread(*source);
    return st;
}
