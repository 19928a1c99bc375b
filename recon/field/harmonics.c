/* Functions of place that fields are made of, and what gradients make of them. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

enum { MOST_FUNCTIONS = 16 };                    /* of third order */
#define GAMMA_BAR_PROTON_HZ_PER_T 42.577478518e6 /* CODATA 2018, of the free proton */

/* The first functions at (x, y, z). */
typedef void functions(double x, double y, double z, int count, double *h);

static void harmonics(double x, double y, double z, int count, double *h)
{
    const double xx = x * x, yy = y * y, zz = z * z;
    const double all[] = {1,
                          x,
                          y,
                          z,
                          x * y,
                          z * y,
                          2 * zz - xx - yy,
                          x * z,
                          xx - yy,
                          3 * y * xx - yy * y,
                          x * y * z,
                          y * (4 * zz - xx - yy),
                          2 * zz * z - 3 * z * (xx + yy),
                          x * (4 * zz - xx - yy),
                          z * (xx - yy),
                          xx * x - 3 * x * yy};
    memcpy(h, all, sizeof *h * (size_t)count);
}

static void concomitant(double x, double y, double z, int count, double *h)
{
    const double all[LARMOR_CONCOMITANT_PLACES] = {z * z, x * x + y * y, x * z, y * z};
    memcpy(h, all, sizeof *h * (size_t)count);
}

static larmor_status tabulate(const larmor_array *position, functions *f, int count, larmor_array **h)
{
    LMR_OWN(larmor_array, real, lmr_input_real("fields", "the array of positions", position, &real));
    const larmor_shape shape = larmor_array_shape(position);
    LMR_REFUSE(shape.ndim < 2 || shape.dim[0] != 3 || shape.ndim >= LARMOR_MAX_DIMS, LARMOR_ERR_SHAPE,
               "fields: positions are %s, expected [3, image...]", lmr_describe(position).s);
    const int64_t voxels = larmor_array_count(position) / 3;
    LMR_HEAP LMR_NEW(double, value, voxels *count);
    LMR_OWN_MEMORY(double, r, larmor_array_download(real, LARMOR_F64, &r));
    for (int64_t i = 0; i < voxels; i++) {
        double of_voxel[MOST_FUNCTIONS];
        f(r[3 * i], r[3 * i + 1], r[3 * i + 2], count, of_voxel);
        for (int l = 0; l < count; l++) value[i + voxels * l] = of_voxel[l];
    }
    const larmor_shape image = larmor_shape_of(shape.ndim - 1, shape.dim + 1);
    return larmor_array_upload(larmor_array_device(position), LARMOR_F64, larmor_shape_append(image, count),
                               LARMOR_F64, value, h);
}

larmor_status larmor_solid_harmonics(const larmor_array *position, int order, larmor_array **h)
{
    LMR_NEED_OUT(h, position);
    LMR_REFUSE(order < 0 || order > 3, LARMOR_ERR_ARG, "fields: order is %d, expected 0 to 3", order);
    return tabulate(position, harmonics, (order + 1) * (order + 1), h);
}

larmor_status larmor_concomitant_places(const larmor_array *position, larmor_array **h)
{
    LMR_NEED_OUT(h, position);
    return tabulate(position, concomitant, LARMOR_CONCOMITANT_PLACES, h);
}

larmor_status larmor_concomitant_phase(const larmor_array *traj, double dwell_s, double tesla, double gamma_hz,
                                       larmor_array **time)
{
    LMR_NEED_OUT(time, traj);
    const double gamma = gamma_hz != 0 ? gamma_hz : GAMMA_BAR_PROTON_HZ_PER_T;
    LMR_REFUSE(!(dwell_s > 0) || !(tesla > 0) || !isfinite(dwell_s * tesla) || !isfinite(gamma), LARMOR_ERR_ARG,
               "fields: a dwell time of %g s at %g T, expected numbers above 0", dwell_s, tesla);
    LMR_OWN(larmor_array, real, lmr_input_real("fields", "the trajectory", traj, &real));
    const larmor_shape shape = larmor_array_shape(traj);
    LMR_REFUSE(shape.ndim != 3 || shape.dim[0] != 3, LARMOR_ERR_SHAPE,
               "fields: the trajectory is %s, expected [3, samples, readouts]", lmr_describe(traj).s);
    const int64_t samples = shape.dim[1], readouts = shape.dim[2], count = samples * readouts;
    LMR_HEAP LMR_NEW(double, phase, count *LARMOR_CONCOMITANT_PLACES);
    LMR_OWN_MEMORY(double, k, larmor_array_download(real, LARMOR_F64, &k));
    const double scale = M_PI / (gamma * tesla) / dwell_s; /* 2 pi gamma / (2 B0) (dk / (gamma dwell))^2 dwell */
    for (int64_t j = 0; j < count; j++) {
        const int begins = j % samples == 0;
        double dk[3];
        for (int d = 0; d < 3; d++) dk[d] = begins ? 0 : k[3 * j + d] - k[3 * (j - 1) + d];
        const double step[LARMOR_CONCOMITANT_PLACES] = {dk[0] * dk[0] + dk[1] * dk[1], dk[2] * dk[2] / 4,
                                                        -dk[0] * dk[2], -dk[1] * dk[2]};
        for (int l = 0; l < LARMOR_CONCOMITANT_PLACES; l++)
            phase[j + count * l] = (begins ? 0 : phase[j - 1 + count * l]) + scale * step[l];
    }
    return larmor_array_upload(larmor_array_device(traj), LARMOR_F64,
                               LARMOR_SHAPE(samples, readouts, LARMOR_CONCOMITANT_PLACES), LARMOR_F64, phase, time);
}
