/* Normal equations of few parameters. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "fit/fit.h"

int lmr_fit_solve(int n, const double *H, double damping, const double *b, double *x)
{
    double L[LMR_FIT_PARAMETERS][LMR_FIT_PARAMETERS], unit[LMR_FIT_PARAMETERS];
    for (int a = 0; a < n; a++) {
        if (!(H[a * n + a] > 0)) return 0;
        unit[a] = 1 / sqrt(H[a * n + a]);
        for (int c = 0; c <= a; c++) {
            double sum = H[a * n + c] * unit[a] * unit[c] * (a == c ? 1 + damping : 1);
            for (int k = 0; k < c; k++) sum -= L[a][k] * L[c][k];
            if (a == c && !(sum > 1e-12)) return 0;
            L[a][c] = a == c ? sqrt(sum) : sum / L[c][c];
        }
    }
    for (int a = 0; a < n; a++) {
        x[a] = b[a] * unit[a];
        for (int k = 0; k < a; k++) x[a] -= L[a][k] * x[k];
        x[a] /= L[a][a];
    }
    for (int a = n - 1; a >= 0; a--) {
        for (int k = a + 1; k < n; k++) x[a] -= L[k][a] * x[k];
        x[a] /= L[a][a];
    }
    for (int a = 0; a < n; a++) x[a] *= unit[a];
    return 1;
}

double lmr_fit_deviation(int n, const double *H, double variance, const double *by)
{
    double x[LMR_FIT_PARAMETERS], sum = 0;
    if (!lmr_fit_solve(n, H, 0, by, x)) return NAN;
    for (int a = 0; a < n; a++) sum += by[a] * x[a];
    return sqrt(variance * fmax(sum, 0));
}
