/* Coil maps by parts: of slices that were excited together, which are not neighbours, so that each has its own in 2D,
 * and of given maps within those of a larger image. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/slice_maps.h"

#include <complex.h>

#include "core/core.h"

/* Of the point spread function of the centre of k-space, slices included: its energy beside the peak over that of the
 * peak. Of 16 scans of 2 and 3 slices images by their own maps had up to 1.3 times the error of images by true maps
 * below this, and 1.6 to 7 times above (docs/records/multiband.md). */
#define MAX_ALIASING 0.3

/* The trajectory in the plane, and where each sample is along kz. */
static larmor_status flatten(const larmor_array *traj, larmor_array **flat, double **kz)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t count = shape.dim[1] * shape.dim[2];
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_ALLOCATE(*kz, count);
    for (int64_t i = 0; i < count; i++) {
        (*kz)[i] = k[3 * i + 2];
        k[2 * i] = k[3 * i];
        k[2 * i + 1] = k[3 * i + 1];
    }
    return larmor_array_upload(larmor_array_device(traj), LARMOR_F64, LARMOR_SHAPE(2, shape.dim[1], shape.dim[2]),
                               LARMOR_F64, k, flat);
}

/* The samples without the phase that a slice has in them; place: of its centre from the middle one's, over the number
 * of slices. */
static larmor_status turn(const larmor_array *kspace, const double *kz, double place, larmor_array **turned)
{
    const larmor_shape shape = larmor_array_shape(kspace), one = larmor_shape_of(2, shape.dim);
    const int64_t count = larmor_shape_count(one);
    LMR_OWNED(larmor_array) *factor = NULL;
    LMR_HEAP LMR_NEW(double, phase, 2 * count);
    for (int64_t i = 0; i < count; i++) {
        phase[2 * i] = cos(2 * M_PI * kz[i] * place);
        phase[2 * i + 1] = sin(2 * M_PI * kz[i] * place);
    }
    larmor_device *dev = larmor_array_device(kspace);
    LMR_TRY(larmor_array_upload(dev, larmor_array_dtype(kspace), one, LARMOR_C128, phase, &factor));
    LMR_TRY(larmor_array_create(dev, larmor_array_dtype(kspace), shape, turned));
    LMR_TRY(larmor_copy(kspace, *turned));
    return larmor_mul(factor, 0, *turned);
}

/* to [x, y, slices, coils] <- from [x, y, coils] */
static larmor_status put_slice(larmor_array *from, int64_t slice, larmor_array *to)
{
    const larmor_shape all = larmor_array_shape(to);
    const int64_t voxels = all.dim[0] * all.dim[1];
    LMR_OWN(larmor_array, coils, larmor_array_reshape(from, LARMOR_SHAPE(voxels, all.dim[3]), &coils));
    LMR_OWN(larmor_array, planes, larmor_array_reshape(to, LARMOR_SHAPE(voxels, all.dim[2] * all.dim[3]), &planes));
    for (int64_t c = 0; c < all.dim[3]; c++) {
        LMR_OWN(larmor_array, one, larmor_array_slice(coils, c, 1, &one));
        LMR_OWN(larmor_array, place, larmor_array_slice(planes, slice + all.dim[2] * c, 1, &place));
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
static larmor_status judge(const larmor_array *traj, larmor_shape image, const double encoded[3],
                           larmor_coils_report *report)
{
    double aliasing;
    LMR_TRY(larmor_calibration_aliasing(traj, image, encoded, &aliasing));
    report->sampled = fmin(report->sampled, 1 / (1 + aliasing));
    if (aliasing > MAX_ALIASING) report->warning = LARMOR_MAPS_UNDERSAMPLED;
    return LARMOR_OK;
}

larmor_status lmr_slice_maps(const larmor_samples *samples, larmor_shape image, const larmor_coils_opts *opts,
                             larmor_array **maps, larmor_coils_report *report)
{
    const larmor_array *kspace = samples->kspace;
    const int64_t slices = image.dim[2];
    const larmor_shape plane = larmor_shape_of(2, image.dim), k = larmor_array_shape(kspace);
    LMR_OWNED(larmor_array) *flat = NULL, *all = NULL, *density = NULL;
    larmor_coils_opts own = *opts;
    LMR_OWN_MEMORY(double, kz, flatten(samples->traj, &flat, &kz));
    own.density = NULL;
    LMR_TRY(larmor_coils_density(flat, plane, &own, &density));
    own.density = density;
    LMR_TRY(larmor_array_create(larmor_array_device(kspace), larmor_array_dtype(kspace),
                                larmor_shape_append(image, k.dim[k.ndim - 1]), &all));
    for (int64_t s = 0; s < slices; s++) {
        larmor_coils_report found;
        LMR_OWN(larmor_array, turned, turn(kspace, kz, (double)(s - slices / 2) / (double)slices, &turned));
        LMR_OWN(larmor_array, one, larmor_coils_estimate(turned, flat, NULL, plane, &own, &one, &found));
        LMR_TRY(put_slice(one, s, all));
        join(&found, !s, report);
    }
    LMR_TRY(judge(samples->traj, image, opts->encoded, report));
    return LMR_HAND_ON(*maps, all);
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
