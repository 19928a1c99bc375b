/* The noise of images that are weighted sums of samples: by one Fourier transform. SPDX-License-Identifier:
 * Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "noise/noise.h"
#include "scan/compress.h"

/* *sum <- that of the squares of the weights of a coil's samples. */
static larmor_status sum_of_squares(const lmr_frame *frame, const lmr_job *job, double *sum)
{
    const int64_t count = larmor_array_count(frame->samples.kspace) / job->facts->coils;
    *sum = (double)count;
    if (!frame->weights) return LARMOR_OK;
    LMR_OWN_MEMORY(double, weight, larmor_array_download(frame->weights, LARMOR_F64, &weight));
    *sum = 0;
    for (int64_t i = 0; i < count; i++) *sum += weight[i] * weight[i];
    return LARMOR_OK;
}

typedef struct of_unit {
    const lmr_noisy *n;
    double **unit;
} of_unit;

static larmor_status take_unit(void *user, int image, const float *value)
{
    const of_unit *u = user;
    for (int64_t v = 0; v < u->n->voxels[image]; v++) u->unit[image][v] = u->n->deviation * value[2 * v];
    return LARMOR_OK;
}

/* x <- x / |C^H s|^2 with the colouring C and the maps s of all coils. */
static larmor_status divide_by_noise(const lmr_job *job, larmor_array *x)
{
    const int64_t coils = job->facts->info.coils;
    LMR_OWNED(larmor_array) *mixed = NULL, *wide = NULL, *mix = NULL, *all = NULL;
    LMR_HEAP double _Complex *C = NULL, *adjoint = malloc((size_t)(coils * coils) * sizeof *adjoint);
    if (!adjoint) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(job->facts->colouring, LARMOR_C128, &C));
    for (int64_t i = 0; i < coils; i++)
        for (int64_t j = 0; j < coils; j++) adjoint[i + coils * j] = conj(C[j + coils * i]);
    LMR_TRY(
        larmor_array_upload(job->facts->dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), LARMOR_C128, adjoint, &mix));
    if (job->facts->compression)
        LMR_TRY(lmr_expand_maps(job, job->found.maps.array, &mixed));
    else
        mixed = larmor_array_ref(job->found.maps.array);
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C128, larmor_array_shape(mixed), &all));
    LMR_TRY(larmor_array_convert(mixed, LARMOR_C128, &wide));
    LMR_TRY(larmor_copy(wide, all));
    LMR_TRY(larmor_whiten(mix, all));
    return larmor_divide_by_energy(all, x);
}

/* x <- the deviation of sum_c conj(s_c) y_c / sum_c |s_c|^2 for noise of deviation 1 in y, of every image: 1 / the
 * root of the coils' energy where that is white. */
static larmor_status fill_roots(const lmr_noisy *n, larmor_array **x)
{
    const lmr_job *job = n->job;
    const larmor_shape grid = lmr_grid_shape(&n->frames->grid);
    const larmor_shape shape = larmor_shape_append(grid, n->count);
    LMR_HEAP double *value = NULL, *over_noise = NULL;
    LMR_OWN(larmor_array, one, larmor_array_create(job->facts->dev, LARMOR_C128, grid, &one));
    LMR_TRY(larmor_fill(one, 1));
    LMR_OWN(larmor_array, maps, larmor_array_convert(job->found.maps.array, LARMOR_C128, &maps));
    LMR_TRY(larmor_divide_by_energy(maps, one));
    LMR_TRY(larmor_array_download(one, LARMOR_C128, &value));
    if (job->facts->colouring) {
        LMR_TRY(larmor_fill(one, 1));
        LMR_TRY(divide_by_noise(job, one));
        LMR_TRY(larmor_array_download(one, LARMOR_C128, &over_noise));
    }
    for (int64_t v = 0; v < larmor_shape_count(grid); v++) {
        const double energy = value[2 * v];
        value[2 * v] = over_noise && over_noise[2 * v] > 0 ? energy / sqrt(over_noise[2 * v]) : sqrt(energy);
    }
    LMR_TRY(larmor_array_write(one, value, larmor_array_bytes(one)));
    if (n->count == 1) {
        *x = larmor_array_ref(one);
        return LARMOR_OK;
    }
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C128, shape, x));
    for (int i = 0; i < n->count; i++) {
        LMR_OWN(larmor_array, part, larmor_array_part(*x, i, 1, grid, &part));
        LMR_TRY(larmor_copy(one, part));
    }
    return LARMOR_OK;
}

larmor_status lmr_noise_unit(const lmr_noisy *n, double **unit)
{
    of_unit u = {n, unit};
    LMR_OWN(larmor_array, x, fill_roots(n, &x));
    return lmr_noise_each_image(n, n->frames, x, take_unit, &u);
}

/* x = (sum_c |s_c|^2)^-1 sum_c conj(s_c) F^H D y_c / voxels, with the weights D: pipeline/gridding.c. */
larmor_status lmr_noise_exact(const lmr_noisy *n, double **deviation)
{
    const lmr_frame *frame = &n->frames[0];
    const double repeats = n->report->direct ? (double)frame->cartesian.repeats : 1;
    double sum;
    LMR_TRY(sum_of_squares(frame, n->job, &sum));
    LMR_TRY(lmr_noise_unit(n, deviation));
    const double factor = sqrt(sum) / repeats / (double)larmor_shape_count(lmr_grid_shape(&frame->grid));
    for (int64_t v = 0; v < n->voxels[0]; v++) deviation[0][v] *= factor;
    return LARMOR_OK;
}
