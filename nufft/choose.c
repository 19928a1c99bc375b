/* From a tolerance to a fine grid and a window. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose.h"

#include <math.h>

#include "core/status.h"

/* Rounding errors, in units of half the last place, relative to the values on the fine grid; measured, see
 * docs/nufft-accuracy.md. */
static const double rounding = 7;

static const double candidates[] = {1.25, 1.5, 1.75, 2};
enum { CANDIDATES = sizeof candidates / sizeof *candidates };

int64_t lmr_nufft_good_size(int64_t n)
{
    for (int64_t size = n + n % 2;; size += 2) {
        int64_t rest = size;
        for (int prime = 2; prime <= 7; prime += prime == 2 ? 1 : 2)
            while (rest % prime == 0) rest /= prime;
        if (rest == 1) return size;
    }
}

static larmor_status set_cells(int ndim, const int64_t modes[3], double upsample, int width, int64_t cells[3])
{
    int64_t total = 1;
    for (int d = 0; d < 3; d++) {
        cells[d] = 1;
        if (d >= ndim) continue;
        const double wanted = ceil(upsample * (double)modes[d] * (1 - 1e-12));
        if (wanted > 0x1p40) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: %lld modes are too many", (long long)modes[d]);
        cells[d] = lmr_nufft_good_size((int64_t)wanted > 2 * width ? (int64_t)wanted : 2 * width);
        if (!lmr_mul(total, cells[d], &total) || total > INT64_C(1) << 58)
            return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the modes are too many: their grid passes 2^58 cells");
    }
    return LARMOR_OK;
}

/* Tune the window of this width for the tightest dimension and predict the error of the whole transform.
 *
 * The aliasing error is a sum over modes of independent terms for random data, so that its square scatters around the
 * mean by the inverse root of the number of modes that contribute: three times that is added. */
static void evaluate(int ndim, const int64_t modes[3], int width, int single, lmr_nufft_choice *choice)
{
    int tightest = 0;
    double count = 1, square = 0, fourth = 0, gain2 = 1;
    for (int d = 1; d < ndim; d++)
        if ((double)choice->cells[d] * (double)modes[tightest] < (double)choice->cells[tightest] * (double)modes[d])
            tightest = d;
    lmr_window_tune(width, modes[tightest], choice->cells[tightest], &choice->window);
    for (int d = 0; d < ndim; d++) {
        const lmr_window_error e = lmr_window_predict(&choice->window, modes[d], choice->cells[d]);
        fourth += e.alias4 + 2 * square * e.alias2;
        square += e.alias2, gain2 *= e.gain2, count *= (double)modes[d];
    }
    const double scatter = square > 0 ? sqrt(fourth / count) / square : 0;
    choice->alias = sqrt(square);
    choice->rounding = rounding * (single ? 0x1p-24 : 0x1p-53) * sqrt(gain2);
    choice->error = hypot(choice->alias, choice->rounding);
    choice->bound = hypot(choice->alias * sqrt(1 + 3 * scatter), choice->rounding) * 1.05;
}

/* The width that the aliasing of a prolate window needs, by its leading order in the width; one less to be safe. */
static int first_width(double tol, double upsample)
{
    const double width = 1 + log(0.18 / tol) / (3.14159265358979323846 * sqrt(1 - 1 / upsample));
    return width < LMR_WINDOW_MIN + 1 ? LMR_WINDOW_MIN : width > LMR_WINDOW_MAX ? LMR_WINDOW_MAX : (int)width - 1;
}

/* The narrowest window that keeps tol at this upsampling; *kept says whether there is one. If not, choice->bound is
 * the least that any width reaches. */
static larmor_status narrowest(int ndim, const int64_t modes[3], double tol, double upsample, int single,
                               lmr_nufft_choice *choice, int *kept)
{
    double least = INFINITY;
    for (int width = first_width(tol, upsample); width <= LMR_WINDOW_MAX; width++) {
        LMR_TRY(set_cells(ndim, modes, upsample, width, choice->cells));
        evaluate(ndim, modes, width, single, choice);
        *kept = choice->bound <= tol;
        if (*kept) return LARMOR_OK;
        if (choice->bound < least) least = choice->bound;
        if (choice->rounding > choice->alias) break; /* which grows with the width */
    }
    choice->bound = least;
    return LARMOR_OK;
}

/* Nanoseconds of one thread for as many points as modes; only ratios matter. Constants measured on x86-64. */
static double cost(int ndim, const int64_t modes[3], double tol, double upsample, int single)
{
    const double width = first_width(tol, upsample) + 1, lanes = single ? 8 : 4;
    double points = 1, cells = 1;
    for (int d = 0; d < ndim; d++) points *= (double)modes[d], cells *= fmax(upsample * (double)modes[d], 2 * width);
    const double rows = pow(width, ndim - 1), row = ceil(2 * width / lanes);
    return points * (25 + 0.6 * rows * row) + cells * (single ? 0.25 : 0.5) * (4 + log2(cells));
}

/* x rounded up to one digit. */
static double round_up(double x)
{
    const double unit = pow(10, floor(log10(x)));
    return ceil(x / unit * (1 - 1e-9)) * unit;
}

larmor_status lmr_nufft_choose(int ndim, const int64_t modes[3], double tol, double upsample, int single,
                               lmr_nufft_choice *choice)
{
    double least = INFINITY;
    int tried[CANDIDATES] = {0}, kept = 0;
    for (int round = 0; round < (upsample > 0 ? 1 : CANDIDATES); round++) {
        double factor = upsample;
        if (!(upsample > 0)) {
            int best = -1;
            for (int i = 0; i < CANDIDATES; i++)
                if (!tried[i] && (best < 0 || cost(ndim, modes, tol, candidates[i], single) <
                                                  cost(ndim, modes, tol, candidates[best], single)))
                    best = i;
            tried[best] = 1, factor = candidates[best];
        }
        LMR_TRY(narrowest(ndim, modes, tol, factor, single, choice, &kept));
        if (kept) return LARMOR_OK;
        if (choice->bound < least) least = choice->bound;
    }
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: tolerance %.3g is out of reach in %s precision; %.0e is the least%s",
                    tol, single ? "single" : "double", round_up(least), single ? ", or use c128" : "");
}
