/* Maps of low resolution on the image's grid. SPDX-License-Identifier: Apache-2.0 */
#include "core/owned.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/kernels.h"
#include "recon/maps/maps.h"

/* Numbers that are there between one axis and the next, of all planes before the others are resized. */
static int64_t room_of(const int64_t n[3], larmor_shape image, int64_t planes)
{
    const int64_t voxels = larmor_shape_count(image);
    int64_t first = planes;
    for (int d = 0; d + 1 < image.ndim; d++) first *= n[d];
    return voxels > first ? voxels : first;
}

/* One coil: *out, in `work` [room, 2], is [image...] of low [n...], all c128. */
static larmor_status resize(const larmor_device *dev, const int64_t n[3], const double _Complex *low,
                            larmor_shape image, int64_t first, int64_t planes, larmor_array *work,
                            const double _Complex **out)
{
    const lmr_recon_kernels *kernels;
    int64_t dim[3] = {n[0], n[1], n[2]};
    double _Complex *to = work->data, *spare = to + room_of(n, image, planes), *filled;
    LMR_TRY(lmr_recon_kernels_of(dev, LARMOR_C128, &kernels));
    *out = low;
    for (int axis = image.ndim - 1; axis >= 0; axis--) { /* the fastest one last: till then it is done in long runs */
        const int is_last = axis == image.ndim - 1;
        const int64_t count = is_last ? planes : image.dim[axis];
        int64_t rows[3] = {1, dim[axis], 1};
        for (int d = 0; d < 3; d++)
            if (d != axis) rows[d < axis ? 0 : 2] *= dim[d];
        if (dim[axis] != count) {
            LMR_TRY(kernels->resize(dev->ctx, rows, count, *out, to));
            filled = to;
            to = spare;
            spare = filled;
            *out = filled;
        }
        if (is_last) *out += first * rows[0];
        dim[axis] = image.dim[axis];
    }
    return LARMOR_OK;
}

larmor_status lmr_maps_resize(const larmor_array *low, const int64_t n[3], int64_t first, int64_t planes,
                              larmor_array *maps)
{
    larmor_device *dev = maps->dev;
    const int nd = maps->shape.ndim - 1;
    const larmor_shape image = larmor_shape_of(nd, maps->shape.dim);
    const int64_t voxels = larmor_shape_count(image), pixels = n[0] * n[1] * n[2];
    LMR_OWNED(larmor_array) *work = NULL;
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(room_of(n, image, planes), 2), &work));
    for (int64_t i = 0; i < maps->shape.dim[nd]; i++) {
        const double _Complex *from;
        void *to = (char *)maps->data + (size_t)(i * voxels) * larmor_dtype_size(maps->dtype);
        LMR_TRY(lmr_go_on());
        LMR_TRY(resize(dev, n, (const double _Complex *)low->data + i * pixels, image, first, planes, work, &from));
        LMR_TRY(dev->be->convert(dev->ctx, voxels, LARMOR_C128, from, maps->dtype, to));
    }
    return LARMOR_OK;
}

larmor_status lmr_maps_interpolate(const larmor_array *low, const int64_t n[3], larmor_array *maps)
{
    return lmr_maps_interpolate_planes(low, n, 0, maps->shape.dim[maps->shape.ndim - 2], maps);
}

larmor_status lmr_maps_interpolate_planes(const larmor_array *low, const int64_t n[3], int64_t first, int64_t planes,
                                          larmor_array *maps)
{
    const lmr_recon_kernels *kernels;
    const int nd = maps->shape.ndim - 1;
    const larmor_shape image = larmor_shape_of(nd, maps->shape.dim);
    const int64_t voxels = larmor_shape_count(image);
    LMR_TRY(lmr_recon_kernels_of(maps->dev, maps->dtype, &kernels));
    LMR_TRY(lmr_maps_resize(low, n, first, planes, maps));
    LMR_OWN(larmor_array, energy, larmor_array_create(maps->dev, maps->dtype, image, &energy));
    LMR_TRY(
        lmr_vec_of(maps)->combine(maps->dev->ctx, voxels, maps->shape.dim[nd], maps->data, maps->data, energy->data));
    LMR_TRY(kernels->power(maps->dev->ctx, voxels, -1, 0, energy->data));
    return larmor_mul(energy, 0, maps);
}

double lmr_maps_interpolate_planes_bytes(larmor_dtype dtype, const int64_t n[3], larmor_shape image, int64_t planes)
{
    const int64_t all = image.dim[image.ndim - 1];
    image.dim[image.ndim - 1] = planes;
    return 32 * (double)room_of(n, image, all) + lmr_bytes_of(dtype, image);
}

double lmr_maps_interpolate_bytes(larmor_dtype dtype, larmor_shape image)
{
    return 2 * lmr_bytes_of(LARMOR_C128, image) + lmr_bytes_of(dtype, image);
}
