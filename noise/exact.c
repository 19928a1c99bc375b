/* The noise of images that are weighted sums of samples: by one Fourier transform. SPDX-License-Identifier:
 * Apache-2.0 */
#include <math.h>

#include "core/owned.h"
#include "core/status.h"
#include "noise/noise.h"

/* *sum <- that of the squares of the weights of a coil's samples. */
static larmor_status sum_of_squares(const lmr_frame *frame, const lmr_job *job, double *sum)
{
    LMR_HEAP double *weight = NULL;
    const int64_t count = larmor_array_count(frame->samples.kspace) / job->facts->coils;
    *sum = (double)count;
    if (!frame->weights) return LARMOR_OK;
    LMR_TRY(larmor_array_download(frame->weights, LARMOR_F64, &weight));
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

/* x <- 1 / the root of the coils' energy, of every image. */
static larmor_status fill_roots(const lmr_noisy *n, larmor_array **x)
{
    const lmr_job *job = n->job;
    const larmor_shape grid = lmr_grid_shape(&n->frames->grid);
    const larmor_shape shape = larmor_shape_append(grid, n->count);
    LMR_OWNED(larmor_array) *one = NULL;
    LMR_HEAP double *value = NULL;
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C128, grid, &one));
    LMR_TRY(larmor_fill(one, 1));
    LMR_OWNED(larmor_array) *maps = NULL;
    LMR_TRY(larmor_array_convert(job->found.maps.array, LARMOR_C128, &maps));
    LMR_TRY(larmor_divide_by_energy(maps, one));
    LMR_TRY(larmor_array_download(one, LARMOR_C128, &value));
    for (int64_t v = 0; v < larmor_shape_count(grid); v++) value[2 * v] = sqrt(value[2 * v]);
    LMR_TRY(larmor_array_write(one, value, larmor_array_bytes(one)));
    if (n->count == 1) {
        *x = larmor_array_ref(one);
        return LARMOR_OK;
    }
    LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C128, shape, x));
    for (int i = 0; i < n->count; i++) {
        LMR_OWNED(larmor_array) *part = NULL;
        LMR_TRY(larmor_array_part(*x, i, 1, grid, &part));
        LMR_TRY(larmor_copy(one, part));
    }
    return LARMOR_OK;
}

larmor_status lmr_noise_unit(const lmr_noisy *n, double **unit)
{
    LMR_OWNED(larmor_array) *x = NULL;
    of_unit u = {n, unit};
    LMR_TRY(fill_roots(n, &x));
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
