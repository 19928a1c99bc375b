/* Points of coordinates that a program keeps apart. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/coordinates.h"

#include "core/array.h"
#include "larmor/nufft.h"

larmor_status lmr_coordinates_check(const char *who, int ndim, const larmor_array *const *coordinates)
{
    LMR_REFUSE(ndim < 1 || ndim > 3 || !coordinates, LARMOR_ERR_ARG, "%s: 1 to 3 coordinates are needed, got %d", who,
               ndim);
    const larmor_array *first = coordinates[0];
    for (int d = 0; d < ndim; d++) {
        const larmor_array *x = coordinates[d];
        LMR_REFUSE(!x, LARMOR_ERR_ARG, "%s: coordinate %d is NULL", who, d);
        LMR_REFUSE(!lmr_is_real(x->dtype) || x->dtype != first->dtype || x->dev != first->dev ||
                       larmor_array_count(x) != larmor_array_count(first),
                   LARMOR_ERR_SHAPE,
                   "%s: coordinate %d is %s, and coordinate 0 is %s; expected f32 or f64, as many, on one device",
                   who, d, lmr_describe(x).s, lmr_describe(first).s);
    }
    return LARMOR_OK;
}

larmor_status larmor_nufft_join_coordinates(int ndim, const larmor_array *const *coordinates, const double *scale,
                                            larmor_array **points)
{
    LMR_REFUSE(!points, LARMOR_ERR_ARG, "larmor_nufft_join_coordinates: points is NULL");
    *points = NULL;
    LMR_TRY(lmr_coordinates_check("larmor_nufft_join_coordinates", ndim, coordinates));
    const larmor_array *first = coordinates[0];
    larmor_device *dev = first->dev;
    const lmr_coordinates_kernels *kernels =
        LMR_KERNELS(dev, coordinates, LMR_COORDINATES_ABI, lmr_precision(first->dtype));
    LMR_REFUSE(!kernels, LARMOR_ERR_UNSUPPORTED, "larmor_nufft_join_coordinates: %s has no kernel for it; use cpu",
               larmor_device_spec(dev));
    const void *from[3] = {NULL, NULL, NULL};
    double factor[3] = {1, 1, 1};
    for (int d = 0; d < ndim; d++) {
        from[d] = coordinates[d]->data;
        if (scale) factor[d] = scale[d];
    }
    const int64_t m = larmor_array_count(first);
    LMR_TRY(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(ndim, m), points));
    const larmor_status st = kernels->join(dev->ctx, ndim, m, from, factor, (*points)->data);
    if (!st) return LARMOR_OK;
    larmor_array_free(*points);
    *points = NULL;
    return st;
}
