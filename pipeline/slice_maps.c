/* Coil maps by parts: of slices that were excited together, which are not neighbours, so that each has its own in 2D,
 * and of given maps within those of a larger image. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/slice_maps.h"

#include <complex.h>

#include "core/core.h"

/* Of the point spread function of the centre of k-space, slices included: its energy beside the peak over that of the
 * peak. Of 16 scans of 2 and 3 slices images by their own maps had up to 1.3 times the error of images by true maps
 * below this, and 1.6 to 7 times above (docs/records/multiband.md). */
#define MAX_ALIASING 0.3

/* Places of partitions and of readouts in the plane, in 1/FOV, that are one. */
#define SAME_PLACE 1e-4

/* ---- the samples of a slice ---- */

/* The trajectory of all slices on the host, f64 [3, count]. */
typedef struct places {
    int64_t n, count, slices;
    double *k;
} places;

LMR_FREES(free_places, places, k)

static larmor_status take_places(const lmr_maps_task *all, places *p)
{
    const larmor_shape shape = larmor_array_shape(all->samples->traj);
    *p = (places){.n = shape.dim[1], .count = shape.dim[1] * shape.dim[2], .slices = all->image.dim[2]};
    return larmor_array_download(all->samples->traj, LARMOR_F64, &p->k);
}

/* 1 if partitions follow each other with the same readouts, so that their sum with a slice's phases is it alone. */
static int has_all_partitions(const places *p)
{
    const int64_t plane = p->count / p->slices;
    if (plane % p->n) return 0;
    for (int64_t i = plane; i < p->count; i++) {
        const double *k = p->k + 3 * i, *first = p->k + 3 * (i % plane);
        const double from_first[3] = {k[0] - first[0], k[1] - first[1], k[2] - p->k[2] - (double)(i / plane)};
        for (int d = 0; d < 3; d++)
            if (fabs(from_first[d]) > SAME_PLACE) return 0;
    }
    return 1;
}

/* The first `count` samples' places in the plane. */
static larmor_status upload_plane(const places *p, int64_t count, larmor_device *dev, larmor_array **flat)
{
    LMR_HEAP LMR_NEW(double, k, 2 * count);
    for (int64_t i = 0; i < count; i++) {
        k[2 * i] = p->k[3 * i];
        k[2 * i + 1] = p->k[3 * i + 1];
    }
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, p->n, count / p->n), LARMOR_F64, k, flat);
}

/* Without the phase that a slice has in the samples; place: of its centre from the middle one's, over the number of
 * slices. plane: so many samples remain, the sums over the partitions, whose noise is that of a sample. */
static larmor_status turn(const places *p, const larmor_array *kspace, double place, int64_t plane,
                          larmor_array **turned)
{
    const int64_t coils = larmor_array_count(kspace) / p->count;
    LMR_HEAP LMR_NEW_ZEROS(float complex, y, plane *coils);
    LMR_OWN_MEMORY(float complex, x, larmor_array_download(kspace, LARMOR_C64, &x));
    const double scale = 1 / sqrt((double)(p->count / plane));
    for (int64_t i = 0; i < p->count; i++) {
        const float complex w = (float complex)(scale * cexp(2 * M_PI * I * p->k[3 * i + 2] * place));
        for (int64_t c = 0; c < coils; c++) y[i % plane + plane * c] += w * x[i + p->count * c];
    }
    return larmor_array_upload(larmor_array_device(kspace), LARMOR_C64, LARMOR_SHAPE(p->n, plane / p->n, coils),
                               LARMOR_C64, y, turned);
}

larmor_status lmr_slice_task(const lmr_maps_task *all, int64_t slice, larmor_samples *own, lmr_maps_task *task)
{
    const larmor_array *kspace = all->samples->kspace;
    const int64_t slices = all->image.dim[2];
    LMR_FREED_BY(free_places) places p = {.count = 0};
    *own = (larmor_samples){0};
    LMR_TRY(take_places(all, &p));
    const int is_alone = has_all_partitions(&p);
    const int64_t plane = is_alone ? p.count / slices : p.count;
    LMR_TRY(upload_plane(&p, plane, larmor_array_device(kspace), &own->traj));
    LMR_TRY(turn(&p, kspace, (double)(slice - slices / 2) / (double)slices, plane, &own->kspace));
    *task = *all;
    task->samples = own;
    task->image = larmor_shape_of(2, all->image.dim);
    task->apart = 0;
    task->shared = is_alone ? 0 : slices;
    return LARMOR_OK;
}

/* ---- the maps ---- */

/* to [x, y, slices, ...] <- from [x, y, ...]; *to is made first where it is NULL. */
static larmor_status put_slice(larmor_array *from, int64_t slice, int64_t slices, larmor_array **to)
{
    const larmor_shape shape = larmor_array_shape(from);
    const int64_t voxels = shape.dim[0] * shape.dim[1], rest = larmor_shape_count(shape) / voxels;
    if (!*to) {
        larmor_shape whole = LARMOR_SHAPE(shape.dim[0], shape.dim[1], slices);
        for (int d = 2; d < shape.ndim; d++) whole = larmor_shape_append(whole, shape.dim[d]);
        LMR_TRY(larmor_array_create(larmor_array_device(from), larmor_array_dtype(from), whole, to));
    }
    LMR_OWN(larmor_array, images, larmor_array_reshape(from, LARMOR_SHAPE(voxels, rest), &images));
    LMR_OWN(larmor_array, planes, larmor_array_reshape(*to, LARMOR_SHAPE(voxels, slices * rest), &planes));
    for (int64_t c = 0; c < rest; c++) {
        LMR_OWN(larmor_array, one, larmor_array_slice(images, c, 1, &one));
        LMR_OWN(larmor_array, place, larmor_array_slice(planes, slice + slices * c, 1, &place));
        LMR_TRY(larmor_copy(one, place));
    }
    return LARMOR_OK;
}

/* The report of all slices is that of the worst. */
static void join(const larmor_coils_report *one, int is_first, larmor_coils_report *all)
{
    if (is_first || one->warning > all->warning || (one->warning == all->warning && one->dominance < all->dominance))
        *all = *one;
}

/* Whether the slices' phases tell them apart in the centre of k-space. */
static larmor_status judge(const lmr_maps_task *task, larmor_coils_report *report)
{
    double aliasing;
    LMR_TRY(larmor_calibration_aliasing(task->samples->traj, task->image, task->encoded, &aliasing));
    report->sampled = fmin(report->sampled, 1 / (1 + aliasing));
    if (aliasing > MAX_ALIASING) report->warning = LARMOR_MAPS_UNDERSAMPLED;
    return LARMOR_OK;
}

/* Of one slice; its eigenvalues, if the job keeps them, go to those of all. */
static larmor_status make_slice(const lmr_maps_task *all, const lmr_maps_method *method, int64_t slice,
                                larmor_array **maps, larmor_array **values, larmor_coils_report *report)
{
    const int64_t slices = all->image.dim[2];
    larmor_array **found = &all->job->found.maps.eigenvalues;
    lmr_maps_task task;
    larmor_coils_report one = {0};
    LMR_FREED_BY(larmor_samples_free) larmor_samples own = {0};
    LMR_TRY(lmr_slice_task(all, slice, &own, &task));
    LMR_OWN(larmor_array, of_slice, method->make(&task, &of_slice, &one));
    join(&one, !slice, report);
    if (task.shared && slice == slices - 1) LMR_TRY(judge(all, report));
    LMR_TRY(put_slice(of_slice, slice, slices, maps));
    if (!*found) return LARMOR_OK;
    LMR_TRY(put_slice(*found, slice, slices, values));
    LMR_CLEAR(*found);
    return LARMOR_OK;
}

larmor_status lmr_slice_maps(const lmr_maps_task *task, const lmr_maps_method *method, larmor_array **maps,
                             larmor_coils_report *report)
{
    LMR_OWNED(larmor_array) *all = NULL, *values = NULL;
    for (int64_t s = 0; s < task->image.dim[2]; s++) LMR_TRY(make_slice(task, method, s, &all, &values, report));
    task->job->found.maps.eigenvalues = values;
    values = NULL;
    return LMR_HAND_ON(*maps, all);
}

larmor_status lmr_slice_maps_bytes(const lmr_job *job, const lmr_maps_method *method, const larmor_problem *p,
                                   int64_t *bytes)
{
    larmor_problem slice = *p;
    slice.image = larmor_shape_of(2, p->image.dim);
    LMR_TRY(method->bytes(job, &slice, 0, bytes));
    const int64_t voxels = larmor_shape_count(slice.image) * (job->facts->sets ? job->facts->sets : 1);
    *bytes += 8 * (p->coils * (p->samples + voxels) + 2 * p->samples);
    return LARMOR_OK;
}

/* ---- within a larger image ---- */

/* Sum of squares over the coils, at a voxel. */
static double energy_at(const float complex *maps, int64_t voxel, int64_t voxels, int64_t coils)
{
    double sum = 0;
    for (int64_t c = 0; c < coils; c++) {
        const float complex v = maps[voxel + c * voxels];
        sum += pow(crealf(v), 2) + pow(cimagf(v), 2);
    }
    return sum;
}

/* Where voxel i of the smaller image is in the larger one, with the same centre. */
static int64_t inside(larmor_shape small, larmor_shape large, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int d = 0; d < small.ndim; d++) {
        at += stride * (i % small.dim[d] + large.dim[d] / 2 - small.dim[d] / 2);
        i /= small.dim[d];
        stride *= large.dim[d];
    }
    return at;
}

void lmr_put_maps_inside(const float complex *given, larmor_shape small, larmor_shape large, int64_t coils,
                         float complex *own)
{
    const int64_t from = larmor_shape_count(small), to = larmor_shape_count(large);
    double wanted = 0, has = 0;
    for (int64_t i = 0; i < from; i++) {
        const double energy = energy_at(given, i, from, coils);
        if (energy > 0) has += energy_at(own, inside(small, large, i), to, coils);
        wanted += energy;
    }
    const float scale = has > 0 && wanted > 0 ? (float)sqrt(wanted / has) : 1;
    for (int64_t i = 0; i < to * coils; i++) own[i] *= scale;
    for (int64_t i = 0; i < from; i++) {
        const int64_t at = inside(small, large, i);
        for (int64_t c = 0; c < coils; c++) own[at + c * to] = given[i + c * from];
    }
}
