/* Edges of the field of view of which one goes on at the other. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "check/check.h"
#include "core/core.h"

/* Of 76 right scans on grids both edges of an axis have 0.26 at most, noise at SNR 10; of two that fold 0.64 and
 * more, and a correlation of 0.85 and more. */
#define MIN_EDGE 0.5        /* of the root mean square of a plane: both edges */
#define MIN_CORRELATION 0.7 /* of 1: the correlation of the edges */
enum { FEWEST_PLANES = 16 };

/* 1 if planes of `inner` numbers in a row, of which there are `outer`, are such edges along an axis of n. */
static int goes_on(const float complex *x, int64_t inner, int64_t n, int64_t outer, double mean)
{
    double first = 0, last = 0;
    double complex product = 0;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const double complex a = x[i + inner * n * o], b = x[i + inner * (n - 1 + n * o)];
            first += creal(a * conj(a));
            last += creal(b * conj(b));
            product += a * conj(b);
        }
    return n >= FEWEST_PLANES && fmin(first, last) > MIN_EDGE * MIN_EDGE * mean &&
           cabs(product) > MIN_CORRELATION * sqrt(first * last);
}

larmor_status lmr_fold_find(const larmor_array *x, int ndim, int *axes)
{
    const larmor_shape shape = larmor_array_shape(x);
    const int64_t count = larmor_array_count(x);
    double energy = 0;
    int64_t inner = 1;
    const int wanted = *axes;
    *axes = 0;
    LMR_OWN_MEMORY(float, values, larmor_array_download(x, LARMOR_C64, &values));
    for (int64_t i = 0; i < 2 * count; i++) energy += (double)values[i] * values[i];
    for (int d = 0; d < ndim; d++) {
        const int64_t n = shape.dim[d];
        const float complex *numbers = (const float complex *)values;
        if (wanted >> d & 1 && goes_on(numbers, inner, n, count / inner / n, energy / (double)n)) *axes |= 1 << d;
        inner *= n;
    }
    return LARMOR_OK;
}

static int is_beyond(const double edge[2], double voxel_mm, double at_mm)
{
    const double low = fmin(edge[0], edge[1]), high = fmax(edge[0], edge[1]);
    return low < high && (at_mm < low - voxel_mm || at_mm > high + voxel_mm);
}

/* The sum of the products of neighbours in a row, to which noise adds nothing. */
static double row_energy(const float complex *row, int64_t first, int64_t last)
{
    double sum = 0;
    for (int64_t i = first; i < last; i++)
        sum += (double)crealf(row[i]) * crealf(row[i + 1]) + (double)cimagf(row[i]) * cimagf(row[i + 1]);
    return sum;
}

larmor_status lmr_energy_beyond(const larmor_array *x, const larmor_grid *grid, const double edge[3][2], double *part)
{
    const larmor_shape shape = larmor_array_shape(x);
    const int64_t count = larmor_array_count(x), n = shape.dim[0];
    double all = 0, beyond = 0;
    int64_t inside[2] = {0, n}; /* of a row, from and to */
    *part = 0;
    LMR_OWN_MEMORY(float complex, values, larmor_array_download(x, LARMOR_C64, &values));
    const double along = grid->fov_mm[0] / (double)grid->matrix[0];
    while (inside[0] < n && is_beyond(edge[0], along, along * (double)(inside[0] - n / 2))) inside[0]++;
    while (inside[1] > inside[0] && is_beyond(edge[0], along, along * (double)(inside[1] - 1 - n / 2))) inside[1]--;
    for (int64_t row = 0; row < count / n; row++) {
        const float complex *numbers = values + row * n;
        int64_t rest = row;
        int outside = 0;
        for (int d = 1; d < grid->ndim; d++) {
            const double voxel = grid->fov_mm[d] / (double)grid->matrix[d];
            outside |= is_beyond(edge[d], voxel, voxel * (double)(rest % shape.dim[d] - shape.dim[d] / 2));
            rest /= shape.dim[d];
        }
        const double whole = row_energy(numbers, 0, n - 1);
        const int64_t last = inside[1] < n ? inside[1] : n - 1;
        all += whole;
        beyond += outside ? whole : whole - row_energy(numbers, inside[0], last);
    }
    if (all > 0) *part = beyond / all;
    return LARMOR_OK;
}

/* The fewest whole steps from one place of samples along axis d to the next one. */
static larmor_status least_step(const double *k, int64_t points, int nd, int d, int64_t *step)
{
    int64_t reach = 0, before = -1;
    for (int64_t i = 0; i < points; i++) reach = (int64_t)fmax((double)reach, fabs(nearbyint(k[d + nd * i])));
    LMR_HEAP LMR_NEW_ZEROS(unsigned char, there, 2 * reach + 1);
    for (int64_t i = 0; i < points; i++) there[reach + (int64_t)nearbyint(k[d + nd * i])] = 1;
    *step = 0;
    for (int64_t at = 0; at <= 2 * reach; at++) {
        if (!there[at]) continue;
        if (before >= 0 && (*step == 0 || at - before < *step)) *step = at - before;
        before = at;
    }
    return LARMOR_OK;
}

larmor_status lmr_fold_steps(const larmor_array *traj, int64_t step[3])
{
    const int nd = (int)larmor_array_shape(traj).dim[0];
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int d = 0; d < nd; d++) LMR_TRY(least_step(k, larmor_array_count(traj) / nd, nd, d, &step[d]));
    return LARMOR_OK;
}
