/* Prints the tables of docs/records/nufft.md: tolerance, grid, width, expected and measured error.
 *
 *   nufft_accuracy [UPSAMPLE] [STEPS]     upsampling factor (0: chosen), tolerances per decade (default 1)
 * SPDX-License-Identifier: Apache-2.0 */
#define OWN_MAIN
#include "tests/nufft/direct.h"

static void table(int ndim, larmor_dtype dtype, double upsample, int steps)
{
    static const char *const sizes[] = {"N = 50", "N = 25 x 40", "N = 10 x 11 x 12"};
    OWNED(sweep) s = sweep_create(ndim, dtype);
    printf("\n%dD, %s, %s, M = 500\n\n", ndim, larmor_dtype_name(dtype), sizes[ndim - 1]);
    printf("| tol | sigma | width | expected | type 1 | type 2 |\n|---|---|---|---|---|---|\n");
    for (int k = steps; k <= 16 * steps; k++) {
        const double tol = pow(10, -(double)k / steps);
        larmor_nufft_info info;
        double error[2];
        if (sweep_run(&s, tol, upsample, &info, error)) {
            printf("\nPast it: `%s`.\n", larmor_last_error());
            break;
        }
        printf("| %.1e | %.3f | %d | %.1e | %.1e%s | %.1e%s |\n", tol, info.upsample, info.width, info.error,
               error[0], error[0] <= tol ? "" : " (!)", error[1], error[1] <= tol ? "" : " (!)");
    }
}

static void table3(int ndim, larmor_dtype dtype, double upsample, int steps)
{
    OWNED(sweep3) s = sweep3_create(ndim, dtype);
    printf("\n%dD, type 3, %s, M = 500, %lld targets\n\n", ndim, larmor_dtype_name(dtype), (long long)s.n);
    printf("| tol | sigma | width | inner width | expected | type 3 | adjoint |\n|---|---|---|---|---|---|---|\n");
    for (int k = steps; k <= 16 * steps; k++) {
        const double tol = pow(10, -(double)k / steps);
        larmor_nufft_info info;
        double error[2];
        if (sweep3_run(&s, tol, upsample, &info, error)) {
            printf("\nPast it: `%s`.\n", larmor_last_error());
            break;
        }
        printf("| %.1e | %.3f | %d | %d | %.1e | %.1e%s | %.1e%s |\n", tol, info.upsample, info.width,
               info.inner_width, info.error, error[0], error[0] <= tol ? "" : " (!)", error[1],
               error[1] <= tol ? "" : " (!)");
    }
}

int main(int argc, char **argv)
{
    const double upsample = argc > 1 ? atof(argv[1]) : 0;
    const int steps = argc > 2 ? atoi(argv[2]) : 1;
    if (open_test_device()) return 1;
    for (int precision = 0; precision < 2; precision++)
        for (int ndim = 1; ndim <= 3; ndim++) table(ndim, precision ? LARMOR_C128 : LARMOR_C64, upsample, steps);
    for (int precision = 0; precision < 2; precision++)
        for (int ndim = 1; ndim <= 3; ndim++) table3(ndim, precision ? LARMOR_C128 : LARMOR_C64, upsample, steps);
    larmor_device_free(dev);
    return 0;
}
