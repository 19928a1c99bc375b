/* What shading coil maps leave in the image. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/inputs.h"

/* The body coil's map is held at this part of its largest value: images divide by it. */
static const double min_body_part = 0.1;

/* maps of one set [voxels, coils]; d, [voxels], <- sum_c |s_c| / sqrt(coils). */
static larmor_status sum_magnitudes(larmor_array *set, larmor_array *d)
{
    const int64_t voxels = set->shape.dim[0], coils = set->shape.dim[1];
    LMR_OWN(larmor_array, size, larmor_array_create(set->dev, set->dtype, LARMOR_SHAPE(voxels), &size));
    for (int64_t c = 0; c < coils; c++) {
        LMR_OWN(larmor_array, one, larmor_array_part(set, c, 1, LARMOR_SHAPE(voxels), &one));
        LMR_TRY(larmor_abs(one, size));
        LMR_TRY(larmor_axpby(1 / sqrt((double)coils), size, 1, d));
    }
    return LARMOR_OK;
}

/* d <- the combination of coils with the conjugated dominant eigenvector of their covariance. */
static larmor_status combine_body(larmor_array *set, larmor_array *d)
{
    larmor_device *dev = set->dev;
    const int64_t voxels = set->shape.dim[0], coils = set->shape.dim[1];
    const lmr_recon_kernels *kernels;
    LMR_OWNED(larmor_array) *vectors = NULL, *values = NULL, *factors = NULL;
    LMR_TRY(lmr_recon_kernels_of(dev, set->dtype, &kernels));
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), &vectors));
    LMR_TRY(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(coils), &values));
    LMR_TRY(kernels->covariance(dev->ctx, voxels, coils, set->data, vectors->data));
    LMR_TRY(lmr_la_of(vectors)->heev(dev->ctx, coils, 1, 1, vectors->data, values->data));
    LMR_OWN_MEMORY(double complex, v, larmor_array_download(vectors, LARMOR_C128, &v));
    double complex *last = v + coils * (coils - 1);
    for (int64_t c = 0; c < coils; c++) last[c] = conj(last[c]);
    LMR_TRY(larmor_array_upload(dev, set->dtype, LARMOR_SHAPE(coils), LARMOR_C128, last, &factors));
    return lmr_la_of(set)->gemm(dev->ctx, 'N', 'N', voxels, 1, coils, set->data, voxels, factors->data, coils,
                                d->data, voxels);
}

/* d <- 1 / max(|d|, least times the largest), 0 where d is 0. */
static larmor_status invert(larmor_array **d, double least)
{
    double largest = 0;
    LMR_OWN_MEMORY(double complex, x, larmor_array_download(*d, LARMOR_C128, &x));
    const int64_t voxels = larmor_array_count(*d);
    for (int64_t i = 0; i < voxels; i++) largest = fmax(largest, cabs(x[i]));
    for (int64_t i = 0; i < voxels; i++) {
        const double size = fmax(cabs(x[i]), least * largest);
        x[i] = size > 0 ? 1 / size : 0;
    }
    larmor_device *dev = (*d)->dev;
    const larmor_dtype dtype = (*d)->dtype;
    LMR_CLEAR(*d);
    return larmor_array_upload(dev, dtype, LARMOR_SHAPE(voxels), LARMOR_C128, x, d);
}

static larmor_status check(const larmor_array *maps, int sets, larmor_normalise_mode mode)
{
    const int least = sets > 1 ? 3 : 2;
    LMR_REFUSE(mode < LARMOR_NORMALISE_RSS || mode > LARMOR_NORMALISE_BODY || sets < 1, LARMOR_ERR_ARG,
               "normalise: %d sets and mode %d, expected 1 or more and one of the known modes", sets, (int)mode);
    LMR_REFUSE(!maps || !lmr_is_complex(maps->dtype) || maps->shape.ndim < least ||
                   (sets > 1 && maps->shape.dim[maps->shape.ndim - 1] != sets),
               LARMOR_ERR_SHAPE, "normalise: maps are %s, expected complex [image..., coils%s]", lmr_describe(maps).s,
               sets > 1 ? ", sets" : "");
    return LARMOR_OK;
}

larmor_status larmor_maps_normalise(larmor_array *maps, int sets, larmor_normalise_mode mode)
{
    LMR_TRY(check(maps, sets, mode));
    const int64_t coils = maps->shape.dim[maps->shape.ndim - (sets > 1 ? 2 : 1)];
    const int64_t count = larmor_array_count(maps);
    const int64_t voxels = coils ? count / coils / sets : 0;
    if (mode == LARMOR_NORMALISE_RSS || !count) return LARMOR_OK;
    LMR_OWN(larmor_array, flat, larmor_array_reshape(maps, LARMOR_SHAPE(voxels, coils * sets), &flat));
    LMR_OWN(larmor_array, first, larmor_array_slice(flat, 0, coils, &first));
    LMR_OWN(larmor_array, d, larmor_array_create(maps->dev, maps->dtype, LARMOR_SHAPE(voxels), &d));
    LMR_TRY(mode == LARMOR_NORMALISE_SUM ? sum_magnitudes(first, d) : combine_body(first, d));
    LMR_TRY(invert(&d, mode == LARMOR_NORMALISE_BODY ? min_body_part : 0));
    return larmor_mul(d, 0, flat);
}
