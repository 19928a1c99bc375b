/* Functions of place that fields are made of, and what gradients make of them. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"

#define GAMMA_BAR_PROTON_HZ_PER_T 42.577478518e6 /* CODATA 2018, of the free proton */

/* Function l at (x, y, z). */
typedef double (*function)(int l, double x, double y, double z);

static double harmonic(int l, double x, double y, double z)
{
    const double xx = x * x, yy = y * y, zz = z * z;
    switch (l) {
    case 1:
        return x;
    case 2:
        return y;
    case 3:
        return z;
    case 4:
        return x * y;
    case 5:
        return z * y;
    case 6:
        return 2 * zz - xx - yy;
    case 7:
        return x * z;
    case 8:
        return xx - yy;
    case 9:
        return 3 * y * xx - yy * y;
    case 10:
        return x * y * z;
    case 11:
        return y * (4 * zz - xx - yy);
    case 12:
        return 2 * zz * z - 3 * z * (xx + yy);
    case 13:
        return x * (4 * zz - xx - yy);
    case 14:
        return z * (xx - yy);
    case 15:
        return xx * x - 3 * x * yy;
    default:
        return 1;
    }
}

static double concomitant(int l, double x, double y, double z)
{
    switch (l) {
    case 0:
        return z * z;
    case 1:
        return x * x + y * y;
    case 2:
        return x * z;
    default:
        return y * z;
    }
}

static larmor_status tabulate(const larmor_array *position, function f, int count, larmor_array **h)
{
    LMR_OWN(larmor_array, real, lmr_input_real("fields", "the array of positions", position, &real));
    const larmor_shape shape = larmor_array_shape(position);
    LMR_REFUSE(shape.ndim < 2 || shape.dim[0] != 3 || shape.ndim >= LARMOR_MAX_DIMS, LARMOR_ERR_SHAPE,
               "fields: positions are %s, expected [3, image...]", lmr_describe(position).s);
    const int64_t voxels = larmor_array_count(position) / 3;
    LMR_HEAP LMR_NEW(double, value, voxels *count);
    LMR_OWN_MEMORY(double, r, larmor_array_download(real, LARMOR_F64, &r));
    for (int l = 0; l < count; l++)
        for (int64_t i = 0; i < voxels; i++) value[i + voxels * l] = f(l, r[3 * i], r[3 * i + 1], r[3 * i + 2]);
    const larmor_shape image = larmor_shape_of(shape.ndim - 1, shape.dim + 1);
    return larmor_array_upload(larmor_array_device(position), LARMOR_F64, larmor_shape_append(image, count),
                               LARMOR_F64, value, h);
}

larmor_status larmor_solid_harmonics(const larmor_array *position, int order, larmor_array **h)
{
    LMR_NEED_OUT(h, position);
    LMR_REFUSE(order < 0 || order > 3, LARMOR_ERR_ARG, "fields: order is %d, expected 0 to 3", order);
    return tabulate(position, harmonic, (order + 1) * (order + 1), h);
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
