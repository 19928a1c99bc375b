/* The level of the noise from the eigenvalues of windows of samples. SPDX-License-Identifier: Apache-2.0 */
#include "recon/samples/noise_windows.h"

#include <complex.h>
#include <math.h>

#include "core/owned.h"
#include "core/select.h"
#include "larmor/device.h"
#include "recon/lapack.h"

enum {
    MOST_COILS = 8, /* that are looked at; more take time and do not change the level */
    MOST_ROWS = MOST_COILS * LMR_NOISE_WINDOW,
    LEAST_WINDOWS = 3, /* for each row */
    PART = 4,          /* the smallest eigenvalues: one of so many */
    ANGLES = 512       /* of a sum */
};

/* Coils whose own deviation is further from the median than this are left out: dead ones, loud ones. */
#define MOST_APART 3.0

/* ---- eigenvalues of noise alone ---- */

/* The mean of the smallest ones, where their mean is 1, of `rows` rows and many more windows: by Marchenko and
 * Pastur's density, 2 sin^2 / (pi x) of an angle by which x = 1 + g + 2 sqrt(g) cos, g = rows / windows. */
static double smallest_of_noise(double rows, double windows)
{
    const double g = rows / windows;
    double part = 0, sum = 0;
    for (int i = ANGLES - 1; i >= 0 && part < 1.0 / PART; i--) {
        const double angle = M_PI * (i + .5) / ANGLES, x = 1 + g + 2 * sqrt(g) * cos(angle);
        const double weight = 2 * pow(sin(angle), 2) / (M_PI * x) * (M_PI / ANGLES);
        part += weight;
        sum += weight * x;
    }
    return sum / part;
}

/* ---- the matrix ---- */

/* Which coils are looked at: as far from each other as there are more than enough. Their number is returned. */
static int choose_coils(int64_t coils, const double *deviation, int64_t chosen[MOST_COILS])
{
    float sorted[MOST_COILS];
    int64_t of_all[MOST_COILS];
    const int64_t looked_at = coils < MOST_COILS ? coils : MOST_COILS;
    int count = 0;
    for (int64_t i = 0; i < looked_at; i++) {
        of_all[i] = i * coils / looked_at;
        sorted[i] = (float)deviation[of_all[i]];
    }
    const double median = looked_at ? (double)lmr_median_f32(sorted, looked_at) : 0;
    for (int64_t i = 0; i < looked_at; i++) {
        const double own = deviation[of_all[i]];
        if (own > 0 && own < MOST_APART * median && own > median / MOST_APART) chosen[count++] = of_all[i];
    }
    return count;
}

/* matrix [rows, rows] <- the sum over windows of their numbers' products, in units of the coils' deviations, its
 * upper triangle. */
static void add_windows(int64_t count, const float *y, int coils, const int64_t *chosen, const double *deviation,
                        double complex *matrix)
{
    enum { W = LMR_NOISE_WINDOW };
    const int rows = coils * W;
    float complex of_one[MOST_ROWS];
    for (int64_t w = 0; w < count; w++) {
        for (int row = 0; row < rows; row++) {
            const float *from = y + 2 * ((chosen[row / W] * count + w) * W + row % W);
            of_one[row] = CMPLXF(from[0], from[1]) / (float)deviation[chosen[row / W]];
        }
        for (int j = 0; j < rows; j++)
            for (int i = 0; i <= j; i++) matrix[j * rows + i] += of_one[i] * conjf(of_one[j]);
    }
}

/* matrix <- the sum of all ranks', at rank 0. */
static larmor_status sum_of_ranks(larmor_device *dev, larmor_ranks *ranks, int rows, double complex *matrix)
{
    if (!ranks) return LARMOR_OK;
    const larmor_shape shape = LARMOR_SHAPE(rows, rows);
    LMR_OWN(larmor_array, all, larmor_array_upload(dev, LARMOR_C128, shape, LARMOR_C128, matrix, &all));
    LMR_TRY(lmr_ranks_sum(ranks, 0, all));
    return larmor_array_read(all, matrix, larmor_array_bytes(all));
}

larmor_status lmr_noise_below_signal(larmor_device *dev, larmor_ranks *ranks, int64_t coils, int64_t count,
                                     const float *y, const double *deviation, double *ratio)
{
    int64_t chosen[MOST_COILS];
    double total[2] = {(double)count, 0}, value[MOST_ROWS], sum = 0;
    int solved;
    *ratio = 1;
    const int number = choose_coils(coils, deviation, chosen), rows = number * LMR_NOISE_WINDOW;
    if (ranks) LMR_TRY(lmr_ranks_total(ranks, LARMOR_OK, total));
    if (number < 2 || total[0] < LEAST_WINDOWS * rows) return LARMOR_OK;
    LMR_HEAP LMR_NEW_ZEROS(double complex, matrix, rows *rows);
    add_windows(count, y, number, chosen, deviation, matrix);
    LMR_TRY(sum_of_ranks(dev, ranks, rows, matrix));
    if (larmor_ranks_number(ranks)) return LARMOR_OK;
    LMR_TRY(lmr_lapack_eigen(rows, matrix, value, &solved));
    for (int i = 0; i < rows / PART; i++) sum += value[i];
    const double mean = sum / (rows / PART) / total[0] / smallest_of_noise(rows, total[0]);
    if (solved && mean > 0) *ratio = sqrt(mean / 2);
    return LARMOR_OK;
}
