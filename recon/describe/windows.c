/* How many dimensions windows of k-space span. SPDX-License-Identifier: Apache-2.0 */
#include "recon/describe/windows.h"

#include <math.h>

static const double floor_of_energy = 1e-5; /* of the mean eigenvalue, added to all: below it nothing is told apart */

double lmr_cholesky(double complex *a, int64_t rows)
{
    double sum = 0;
    for (int64_t j = 0; j < rows; j++) {
        double pivot = creal(a[j + rows * j]);
        for (int64_t k = 0; k < j; k++) pivot -= creal(a[j + rows * k] * conj(a[j + rows * k]));
        if (!(pivot > 0)) return -INFINITY;
        sum += log(pivot);
        for (int64_t i = j + 1; i < rows; i++) {
            double complex v = a[i + rows * j];
            for (int64_t k = 0; k < j; k++) v -= a[i + rows * k] * conj(a[j + rows * k]);
            a[i + rows * j] = v / sqrt(pivot);
        }
        a[j + rows * j] = sqrt(pivot);
    }
    return sum;
}

/* How many dimensions windows span: the mean logarithm of the eigenvalues of their Gram matrix, which is
 * overwritten, each relative to the mean of all, with a floor. */
double lmr_windows_spread(double complex *gram, int64_t rows)
{
    double trace = 0;
    for (int64_t i = 0; i < rows; i++) trace += creal(gram[i + rows * i]);
    if (!(trace > 0)) return INFINITY;
    const double mean = trace / (double)rows;
    for (int64_t j = 0; j < rows; j++) {
        for (int64_t i = j; i < rows; i++) gram[i + rows * j] /= mean;
        gram[j + rows * j] += floor_of_energy;
    }
    return lmr_cholesky(gram, rows) / (double)rows;
}
