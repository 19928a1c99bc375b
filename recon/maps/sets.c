/* The images of several sets of maps: their scale, and one image of all. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/inputs.h"

/* maps [image..., coils, sets] of images of like's shape. */
static larmor_status expect_sets(const char *who, const larmor_array *maps, const larmor_array *like)
{
    const int last = maps ? maps->shape.ndim - 1 : -1;
    LMR_REFUSE(!like || !lmr_is_complex(like->dtype) || last < 2, LARMOR_ERR_SHAPE,
               "%s: maps are %s and an image is %s, expected complex [image..., coils, sets]", who,
               lmr_describe(maps).s, lmr_describe(like).s);
    const larmor_shape coils = larmor_shape_append(like->shape, maps->shape.dim[last - 1]);
    return lmr_expect(who, "maps", maps, like->dev, like->dtype, larmor_shape_append(coils, maps->shape.dim[last]));
}

/* e, like an image, <- the largest of the sets' sum_c |s_c|^2. */
static larmor_status peak_energy(const larmor_array *maps, const larmor_array *like, larmor_array **e)
{
    const int64_t sets = maps->shape.dim[maps->shape.ndim - 1], voxels = larmor_array_count(like);
    const int64_t coils = maps->shape.dim[maps->shape.ndim - 2];
    LMR_HEAP double complex *peak = NULL;
    LMR_OWN(larmor_array, energy, larmor_array_create(like->dev, like->dtype, like->shape, &energy));
    if (sets > 1) LMR_ALLOCATE_ZEROS(peak, voxels);
    for (int64_t m = 0; m < sets; m++) {
        LMR_OWN(larmor_array, set, lmr_one_of(maps, m, &set));
        LMR_TRY(lmr_vec_of(set)->combine(set->dev->ctx, voxels, coils, set->data, set->data, energy->data));
        if (sets == 1) return LMR_HAND_ON(*e, energy);
        LMR_OWN_MEMORY(double complex, of_set, larmor_array_download(energy, LARMOR_C128, &of_set));
        for (int64_t i = 0; i < voxels; i++) peak[i] = fmax(creal(peak[i]), creal(of_set[i]));
    }
    return larmor_array_upload(like->dev, like->dtype, like->shape, LARMOR_C128, peak, e);
}

/* *e <- the power of the sets' largest energy, 0 where that is at most `least` of its maximum. */
static larmor_status peak_power(const larmor_array *maps, const larmor_array *like, int halves, double least,
                                larmor_array **e)
{
    const lmr_recon_kernels *kernels;
    const int64_t voxels = larmor_array_count(like);
    double most;
    LMR_OWN(larmor_array, power, peak_energy(maps, like, &power));
    LMR_TRY(lmr_recon_kernels_of(like->dev, like->dtype, &kernels));
    LMR_TRY(kernels->largest(like->dev->ctx, voxels, power->data, &most));
    LMR_TRY(kernels->power(like->dev->ctx, voxels, halves, least * most, power->data));
    return LMR_HAND_ON(*e, power);
}

/* maps [image..., coils, sets], x [image..., sets] */
static larmor_status divide_images(const larmor_array *maps, double least, larmor_array *x)
{
    LMR_OWN(larmor_array, first, lmr_one_of(x, 0, &first));
    LMR_TRY(expect_sets("divide by energy", maps, first));
    LMR_OWN(larmor_array, factor, peak_power(maps, first, -2, least, &factor));
    for (int64_t m = 0; m < maps->shape.dim[maps->shape.ndim - 1]; m++) {
        LMR_OWN(larmor_array, image, lmr_one_of(x, m, &image));
        LMR_TRY(larmor_mul(factor, 0, image));
    }
    return LARMOR_OK;
}

larmor_status larmor_divide_by_energy_above(const larmor_array *maps, int sets, double least, larmor_array *x)
{
    LMR_REFUSE(!maps || !x, LARMOR_ERR_SHAPE, "divide by energy: maps are %s and an image is %s, expected both",
               lmr_describe(maps).s, lmr_describe(x).s);
    if (sets > 1) return divide_images(maps, least, x);
    LMR_OWN(larmor_array, set, larmor_array_reshape(maps, larmor_shape_append(maps->shape, 1), &set));
    LMR_OWN(larmor_array, image, larmor_array_reshape(x, larmor_shape_append(x->shape, 1), &image));
    return divide_images(set, least, image);
}

larmor_status larmor_divide_by_energy(const larmor_array *maps, larmor_array *x)
{
    return larmor_divide_by_energy_above(maps, 1, 1e-6, x);
}

larmor_status larmor_sets_normalise(larmor_array *maps)
{
    LMR_NEED(maps);
    LMR_REFUSE(maps->shape.ndim < 3 || !lmr_is_complex(maps->dtype), LARMOR_ERR_SHAPE,
               "normalise sets: maps are %s, expected complex [image..., coils, sets]", lmr_describe(maps).s);
    const int last = maps->shape.ndim - 1;
    const larmor_shape image = larmor_shape_of(last - 1, maps->shape.dim);
    const int64_t voxels = larmor_shape_count(image), count = maps->shape.dim[last - 1] * maps->shape.dim[last];
    LMR_OWN(larmor_array, like, larmor_array_create(maps->dev, maps->dtype, image, &like));
    LMR_OWN(larmor_array, factor, peak_power(maps, like, -1, 0, &factor));
    LMR_OWN(larmor_array, d, larmor_array_reshape(factor, LARMOR_SHAPE(voxels), &d));
    LMR_OWN(larmor_array, flat, larmor_array_reshape(maps, LARMOR_SHAPE(voxels, count), &flat));
    return larmor_mul(d, 0, flat);
}

/* coil <- sum_m s_cm x_m of one coil. */
static larmor_status coil_image(const larmor_array *maps, const larmor_array *x, int64_t c, larmor_array *product,
                                larmor_array *coil)
{
    const int64_t sets = x->shape.dim[x->shape.ndim - 1];
    LMR_TRY(larmor_zero(coil));
    for (int64_t m = 0; m < sets; m++) {
        LMR_OWN(larmor_array, set, lmr_one_of(maps, m, &set));
        LMR_OWN(larmor_array, map, lmr_one_of(set, c, &map));
        LMR_OWN(larmor_array, image, lmr_one_of(x, m, &image));
        LMR_TRY(larmor_copy(image, product));
        LMR_TRY(larmor_mul(map, 0, product));
        LMR_TRY(larmor_axpby(1, product, 1, coil));
    }
    return LARMOR_OK;
}

larmor_status larmor_sets_join(larmor_array *maps, larmor_array *x, larmor_array *joined)
{
    LMR_NEED(maps, x, joined);
    LMR_TRY(expect_sets("join sets", maps, joined));
    const int64_t coils = maps->shape.dim[maps->shape.ndim - 2];
    const larmor_shape sets = larmor_shape_append(joined->shape, maps->shape.dim[maps->shape.ndim - 1]);
    LMR_TRY(lmr_expect("join sets", "images", x, joined->dev, joined->dtype, sets));
    LMR_OWN(larmor_array, product, larmor_array_create(x->dev, x->dtype, joined->shape, &product));
    /* the root of what has been summed is one more image of the next sum */
    const larmor_shape two = larmor_shape_append(joined->shape, 2);
    LMR_OWN(larmor_array, pair, larmor_array_create(x->dev, x->dtype, two, &pair));
    LMR_OWN(larmor_array, coil, lmr_one_of(pair, 0, &coil));
    LMR_OWN(larmor_array, sum, lmr_one_of(pair, 1, &sum));
    for (int64_t c = 0; c < coils; c++) {
        LMR_TRY(coil_image(maps, x, c, product, coil));
        LMR_TRY(larmor_root_sum_of_squares(pair, joined));
        LMR_TRY(larmor_copy(joined, sum));
    }
    LMR_OWN(larmor_array, factor, peak_power(maps, joined, -1, 0, &factor));
    return larmor_mul(factor, 0, joined);
}
