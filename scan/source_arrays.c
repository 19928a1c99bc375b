/* Arrays in memory as a scan. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "scan/arrays_given.h"
#include "scan/ragged.h"
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
    *copy = NULL;
    LMR_OWN(larmor_array, converted, larmor_array_convert(x, dtype, &converted));
    LMR_OWN(larmor_array, moved, larmor_array_to(converted, dev, &moved));
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
    *noise = NULL;
    if (!s->noise) return LARMOR_OK;
    LMR_OWN(larmor_array, coils, coils_of(s, s->noise, 1, &coils));
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

/* A trajectory in cycles per field of view of the scan becomes that of the grid. */
static larmor_status place(const lmr_array_scan *s, const larmor_grid *grid, double *k, int64_t points)
{
    const int nd = grid->ndim;
    for (int64_t i = 0; i < points * nd; i++) {
        k[i] *= grid->fov_mm[i % nd] / s->encoding.fov_mm[i % nd];
        LMR_REFUSE(!isfinite(k[i]), LARMOR_ERR_NUMERIC, "arrays: trajectory: point %lld is not finite",
                   (long long)(i / nd));
    }
    return LARMOR_OK;
}

/* Samples with their trajectory, which are one readout where some are left out. */
static larmor_status placed_samples(const lmr_array_scan *s, larmor_array *kspace, larmor_array *traj,
                                    larmor_array *density, const larmor_grid *grid, larmor_device *dev,
                                    larmor_samples *out)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_TRY(place(s, grid, k, shape.dim[0] * shape.dim[1]));
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(grid->ndim, shape.dim[0], shape.dim[1]), LARMOR_F64, k,
                                &out->traj));
    LMR_TRY(copy_of(kspace, LARMOR_C64, dev, &out->kspace));
    if (density) LMR_TRY(copy_of(density, LARMOR_F64, dev, &out->density));
    return lmr_samples_cut(out, k, grid);
}

static larmor_status steps_of(const larmor_readouts *image, int64_t readouts, larmor_samples *out)
{
    LMR_ALLOCATE_ZEROS(out->step1, readouts + 1);
    LMR_ALLOCATE_ZEROS(out->step2, readouts + 1);
    for (int64_t i = 0; i < readouts; i++) out->step1[i] = image->step1 ? image->step1[i] : (int)i;
    return LARMOR_OK;
}

/* The calibration of the group's slice, whichever image has it. */
static larmor_status calibration_of(const lmr_array_scan *s, int group, const larmor_grid *grid, larmor_device *dev,
                                    larmor_samples *out)
{
    for (int i = 0; i < s->info.groups; i++) {
        const larmor_readouts *image = &s->image[(group + i) % s->info.groups];
        if (!image->calibration || image->meta.slice != s->image[group].meta.slice) continue;
        LMR_OWN(larmor_array, coils, coils_of(s, image->calibration, 2, &coils));
        LMR_TRY(larmor_array_expect_finite(coils, "arrays: calibration"));
        return placed_samples(s, coils, image->calibration_traj, NULL, grid, dev, out);
    }
    return LARMOR_OK;
}

/* The samples of all its readouts. */
static larmor_status image_of(const lmr_array_scan *s, int group, const larmor_grid *grid, larmor_device *dev,
                              larmor_samples *out)
{
    const larmor_readouts *image = &s->image[group];
    LMR_OWN(larmor_array, coils, coils_of(s, image->kspace, 2, &coils));
    LMR_TRY(larmor_array_expect_finite(coils, "arrays: kspace"));
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
    *out = NULL;
    shape.dim[axis] = count;
    LMR_OWN(larmor_array, lines, larmor_array_reshape(x, flat, &lines));
    flat.dim[1] = flat.dim[1] / readouts * count;
    LMR_OWN(larmor_array, chosen, larmor_array_create(larmor_array_device(x), larmor_array_dtype(x), flat, &chosen));
    for (int64_t i = 0, run; i < flat.dim[1]; i += run) {
        const int64_t r = i % count;
        run = 1;
        while (r + run < count && readout[r + run] == readout[r] + run) run++;
        LMR_OWN(larmor_array, from, larmor_array_slice(lines, i / count * readouts + readout[r], run, &from));
        LMR_OWN(larmor_array, to, larmor_array_slice(chosen, i, run, &to));
        LMR_TRY(larmor_copy(from, to));
    }
    return larmor_array_reshape(chosen, shape, out);
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
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < readouts; i++) {
        const double *kz = k + 3 * samples * i + 2;
        stamps[i].kz = kz[0];
        for (int64_t j = 0; j < samples; j++)
            if (!(fabs(kz[3 * j] - kz[0]) <= MAX_PLANE_DISTANCE)) stamps[i].kz = NAN;
    }
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

static larmor_status times_on_grid(const lmr_array_scan *s, larmor_array *all, const larmor_array *traj,
                                   const larmor_grid *grid, larmor_device *dev, larmor_array **times)
{
    const int64_t points = larmor_array_count(all);
    LMR_HEAP LMR_NEW(unsigned char, inside, points + 1);
    LMR_TRY(copy_of(all, LARMOR_F64, dev, times));
    if (!traj) return LARMOR_OK;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_TRY(place(s, grid, k, points));
    const int64_t kept = lmr_find_inside(grid, k, points, inside);
    return kept < points ? lmr_keep_inside(times, 0, inside, points, kept) : LARMOR_OK;
}

static larmor_status times_of(void *self, int group, const int64_t *readout, int64_t count, const larmor_grid *grid,
                              larmor_device *dev, larmor_array **times)
{
    const lmr_array_scan *s = self;
    LMR_OWNED(larmor_array) *some = NULL, *traj = NULL;
    *times = NULL;
    LMR_TRY(check_request(s, group, readout, count));
    const larmor_readouts *image = &s->image[group];
    LMR_REFUSE(!image->times, LARMOR_ERR_ARG, "arrays: image %d has no times, which b0 needs", group);
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
    LMR_REFUSE(!source, LARMOR_ERR_ARG, "source: nowhere to put it");
    *source = NULL;
    LMR_REFUSE(!given || given->images < 1 || !given->image, LARMOR_ERR_ARG,
               "arrays: the readouts of one image at least expected");
    LMR_NEW_ZEROS(lmr_array_scan, s, 1);
    larmor_status st = lmr_arrays_take(given, s);
    if (!st) st = larmor_source_create("arrays", &impl, s, source);
    if (st)
        destroy(s);
    else
        lmr_source_set_any_thread(*source);
    return st;
}
