/* Trajectories of delayed gradients. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/device.h"
#include "larmor/recon.h"

/* x[stride i], i in 0 .. n-1, at a place between samples: the cubic through the four around it. */
static double cubic_at(const double *x, int64_t stride, int64_t n, double place)
{
    int64_t first = (int64_t)floor(place) - 1;
    if (first > n - 4) first = n - 4;
    if (first < 0) first = 0;
    const double t = place - (double)first;
    const double weight[4] = {-(t - 1) * (t - 2) * (t - 3) / 6, t * (t - 2) * (t - 3) / 2, -t * (t - 1) * (t - 3) / 2,
                              t * (t - 1) * (t - 2) / 6};
    double sum = 0;
    for (int64_t i = 0; i < 4; i++) sum += weight[i] * x[stride * (first + i)];
    return sum;
}

/* The same, along a straight line where there are too few samples for a cubic or none on one side. */
static double value_at(const double *x, int64_t stride, int64_t n, double place)
{
    if (n == 1) return x[0];
    if (n >= 4 && place >= 0 && place <= (double)(n - 1)) return cubic_at(x, stride, n, place);
    int64_t first = place < 0 ? 0 : (int64_t)fmin(floor(place), (double)(n - 2));
    const double a = x[stride * first], b = x[stride * (first + 1)];
    return a + (place - (double)first) * (b - a);
}

larmor_status larmor_traj_delay(const larmor_array *traj, const double delay[3], larmor_array **delayed)
{
    LMR_NEED(delayed);
    *delayed = NULL;
    const larmor_shape shape = larmor_array_shape(traj);
    if (!lmr_is_real(larmor_array_dtype(traj)) || shape.ndim != 3 || shape.dim[0] < 1 || shape.dim[0] > 3)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "traj delay: got %s, expected f32 or f64 [nd, samples, readouts]",
                        lmr_describe(traj).s);
    const int64_t nd = shape.dim[0], n = shape.dim[1], readouts = shape.dim[2];
    for (int64_t d = 0; d < nd; d++)
        if (!isfinite(delay[d]) || fabs(delay[d]) > (double)n)
            return LMR_FAIL(LARMOR_ERR_ARG, "traj delay: got %g samples, expected at most the %lld of a readout",
                            delay[d], (long long)n);
    double *from;
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &from));
    double *to = lmr_new(nd * n * readouts, sizeof *to);
    larmor_status st = to ? LARMOR_OK : LMR_NO_MEMORY();
    for (int64_t i = 0; !st && i < nd * n * readouts; i++) {
        const int64_t d = i % nd, sample = i / nd % n;
        const double *readout = from + (i - d - nd * sample) + d;
        to[i] = value_at(readout, nd, n, (double)sample - delay[d]);
    }
    if (!st) st = larmor_array_upload(larmor_array_device(traj), LARMOR_F64, shape, LARMOR_F64, to, delayed);
    free(to);
    free(from);
    return st;
}
