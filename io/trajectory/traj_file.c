/* Trajectories in files, as BART has them: three components, those that are not there zero.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

larmor_status larmor_traj_save(larmor_output *out, const larmor_array *traj)
{
    LMR_NEED(out, traj);
    const larmor_shape shape = larmor_array_shape(traj);
    LMR_REFUSE(shape.ndim != 3 || shape.dim[0] < 1 || shape.dim[0] > 3, LARMOR_ERR_SHAPE,
               "traj: %s, expected [1 to 3, samples, readouts]", lmr_describe(traj).s);
    const int64_t nd = shape.dim[0], points = shape.dim[1] * shape.dim[2];
    LMR_HEAP LMR_NEW(double, padded, 3 * points);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    memset(padded, 0, (size_t)(3 * points) * sizeof *padded);
    for (int64_t i = 0; i < points; i++) memcpy(padded + 3 * i, k + nd * i, (size_t)nd * sizeof *k);
    LMR_OWN(larmor_array, three,
            larmor_array_upload(traj->dev, LARMOR_F64, LARMOR_SHAPE(3, shape.dim[1], shape.dim[2]), LARMOR_F64,
                                padded, &three));
    return larmor_array_save(out, three);
}

larmor_status larmor_traj_read(const char *path, int ndim, larmor_device *dev, larmor_array **traj)
{
    LMR_NEED(path, dev);
    LMR_NEED_OUT(traj);
    LMR_REFUSE(ndim < 1 || ndim > 3, LARMOR_ERR_ARG, "traj: %d components are asked for, expected 1 to 3", ndim);
    LMR_HEAP double *values = NULL, *k = NULL;
    LMR_OWN(larmor_array, stored, larmor_image_read(path, dev, &stored));
    LMR_TRY(larmor_array_expect_finite(stored, path));
    const larmor_shape shape = larmor_array_shape(stored);
    const int step = lmr_is_complex(larmor_array_dtype(stored)) ? 2 : 1;
    const int64_t count = larmor_array_count(stored);
    LMR_REFUSE(shape.ndim < 2 || !count || shape.dim[0] < ndim || shape.dim[0] > 3, LARMOR_ERR_SHAPE,
               "%s: [%s, samples, readouts] expected, its first dimension is %lld", path,
               (const char *[]){"1 to 3", "2 or 3", "3"}[ndim - 1], shape.ndim ? (long long)shape.dim[0] : 0LL);
    const int64_t points = count / shape.dim[0], samples = shape.dim[1];
    LMR_TRY(larmor_array_download(stored, step == 2 ? LARMOR_C128 : LARMOR_F64, &values));
    LMR_ALLOCATE(k, points * ndim);
    for (int64_t i = 0; i < points; i++)
        for (int d = 0; d < ndim; d++) k[i * ndim + d] = values[(i * shape.dim[0] + d) * step];
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(ndim, samples, points / samples), LARMOR_F64, k, traj);
}
