/* One image of the images of all coils, by their own maps. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/ops/ops.h"

enum { SIDE = 32 }; /* of the centre of k-space that the maps are made from */

static larmor_shape centre_of(larmor_shape image)
{
    for (int d = 0; d < image.ndim; d++)
        if (image.dim[d] > SIDE) image.dim[d] = SIDE;
    return image;
}

/* All places of the centre, as one readout: [nd, places, 1]. */
static larmor_status make_places(larmor_device *dev, larmor_shape centre, larmor_array **places)
{
    const int64_t count = larmor_shape_count(centre);
    const int nd = centre.ndim;
    LMR_HEAP double *k = malloc(sizeof *k * (size_t)(nd * count) + 1);
    if (!k) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i;
        for (int d = 0; d < nd; d++) {
            k[nd * i + d] = (double)(rest % centre.dim[d] - centre.dim[d] / 2);
            rest /= centre.dim[d];
        }
    }
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, count, 1), LARMOR_F64, k, places);
}

static larmor_nufft_opts fourier_of(larmor_shape image, int64_t coils, larmor_dtype dtype)
{
    larmor_nufft_opts opts = {.ndim = image.ndim, .batch = coils, .dtype = dtype};
    for (int d = 0; d < image.ndim; d++) opts.modes[d] = image.dim[d];
    return opts;
}

static larmor_status find_maps(const larmor_array *x, larmor_shape image, larmor_array **maps)
{
    const larmor_shape centre = centre_of(image);
    const larmor_coils_opts opts = {.calibration = SIDE};
    const larmor_nufft_opts fourier = fourier_of(image, x->shape.dim[image.ndim], x->dtype);
    LMR_OWNED(larmor_array) *places = NULL, *kspace = NULL, *weights = NULL;
    LMR_TRY(make_places(x->dev, centre, &places));
    LMR_OWN(larmor_op, F, larmor_op_cartesian(x->dev, &fourier, places, &F));
    LMR_TRY(larmor_array_create(x->dev, x->dtype, larmor_op_out_shape(F), &kspace));
    LMR_TRY(larmor_op_forward(F, x, kspace));
    LMR_TRY(larmor_array_create(x->dev, LARMOR_F64, LARMOR_SHAPE(larmor_shape_count(centre), 1), &weights));
    LMR_TRY(larmor_fill(weights, 1));
    return larmor_coils_estimate(kspace, places, weights, image, &opts, maps, NULL);
}

larmor_status larmor_coils_combine(const larmor_array *images, larmor_array **combined)
{
    LMR_NEED_OUT(combined);
    LMR_REFUSE(!images || !lmr_is_complex(images->dtype) || images->shape.ndim < 3 || images->shape.ndim > 4,
               LARMOR_ERR_SHAPE, "combine: got %s, expected complex [x, y(, z), coils]", lmr_describe(images).s);
    const larmor_shape image = larmor_shape_of(images->shape.ndim - 1, images->shape.dim);
    LMR_OWN(larmor_array, maps, find_maps(images, image, &maps));
    LMR_OWN(larmor_op, S, larmor_op_coils(maps, &S));
    LMR_OWN(larmor_array, out, larmor_array_create(images->dev, images->dtype, image, &out));
    LMR_TRY(larmor_op_adjoint(S, images, out));
    return LMR_HAND_ON(*combined, out);
}

larmor_status larmor_coils_combine_memory(const larmor_device *dev, const larmor_problem *problem, int64_t *bytes)
{
    const larmor_coils_opts opts = {.calibration = SIDE};
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, problem, bytes));
    larmor_problem centre = *problem;
    int64_t maps;
    centre.samples = larmor_shape_count(centre_of(problem->image));
    centre.repeats = 1;
    LMR_TRY(larmor_coils_memory(dev, &centre, &opts, &maps));
    const double number = (double)larmor_dtype_size(problem->dtype), coils = (double)problem->coils;
    const double voxels = (double)larmor_shape_count(problem->image), places = (double)centre.samples;
    const larmor_nufft_opts fourier = fourier_of(problem->image, problem->coils, problem->dtype);
    double transform;
    LMR_TRY(lmr_cartesian_bytes(dev, &fourier, centre.samples, 1, &transform));
    /* k-space, then maps and the combination */
    const double arrays = number * ((coils + 1) * voxels + coils * places);
    return lmr_bytes_store((double)maps + transform + arrays + 8 * places * (problem->image.ndim + 1), bytes);
}
