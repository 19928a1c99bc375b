/* From a tolerance to a fine grid and a window. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose.h"

#include <math.h>

#include "core/status.h"

/* Rounding errors, in units of half the last place, relative to the values on the fine grid, and the least of them
 * relative to the result; measured, see docs/nufft-accuracy.md. */
static const double rounding = 7, least_rounding = 4.5;

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
 * mean by the inverse root of the number of modes that contribute: three times that is added. Where the band is that
 * of some points, two of them lie on its edges, where the error is largest. */
static void evaluate(const lmr_nufft_request *r, const int64_t modes[3], const int64_t cells[3], int width,
                     lmr_nufft_choice *choice)
{
    int tightest = 0;
    double count = 1, square = 0, fourth = 0, gain2 = 1, edges = 0;
    for (int d = 1; d < r->ndim; d++)
        if ((double)cells[d] * (double)(modes[tightest] / 2) < (double)cells[tightest] * (double)(modes[d] / 2))
            tightest = d;
    lmr_window_tune(width, modes[tightest], cells[tightest], &choice->window);
    lmr_window_error e = {0};
    for (int d = 0; d < r->ndim; d++) {
        if (d == 0 || modes[d] != modes[d - 1] || cells[d] != cells[d - 1])
            e = lmr_window_predict(&choice->window, modes[d], cells[d]);
        fourth += e.alias4 + 2 * square * e.alias2;
        square += e.alias2, gain2 *= e.gain2, count *= (double)modes[d], edges += e.edge2;
    }
    if (r->terms > 0) count = r->terms;
    const double scatter = square > 0 ? sqrt(fourth / count) / square : 0;
    const double on_edges = r->terms > 0 ? fmin(1, 2 / r->terms) * edges : 0;
    choice->alias = sqrt(square);
    choice->rounding = (r->single ? 0x1p-24 : 0x1p-53) * fmax(rounding * sqrt(gain2), least_rounding);
    choice->error = hypot(choice->alias, choice->rounding);
    choice->bound = hypot(sqrt(square * (1 + 3 * scatter) + on_edges), choice->rounding) * 1.05;
}

/* The width that the aliasing of a prolate window needs, by its leading order in the width; one less to be safe. */
static int first_width(double tol, double upsample)
{
    const double width = 1 + log(0.18 / tol) / (3.14159265358979323846 * sqrt(1 - 1 / upsample));
    return width < LMR_WINDOW_MIN + 1 ? LMR_WINDOW_MIN : width > LMR_WINDOW_MAX ? LMR_WINDOW_MAX : (int)width - 1;
}

/* The narrowest window that keeps tol at this upsampling; *kept says whether there is one. If not, choice->bound is
 * the least that any width reaches. */
static larmor_status narrowest(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                               lmr_nufft_choice *choice, int *kept)
{
    double least = INFINITY;
    for (int width = first_width(r->tol, upsample); width <= LMR_WINDOW_MAX; width++) {
        LMR_TRY(set_cells(r->ndim, modes, upsample, width, choice->cells));
        evaluate(r, modes, choice->cells, width, choice);
        *kept = choice->bound <= r->tol;
        if (*kept) return LARMOR_OK;
        if (choice->bound < least) least = choice->bound;
        if (choice->rounding > choice->alias) break; /* which grows with the width */
    }
    choice->bound = least;
    return LARMOR_OK;
}

/* Nanoseconds of one thread for the points, and for a grid; only ratios matter. Constants measured on x86-64. */
static double points_cost(const lmr_nufft_request *r, double points, double upsample)
{
    const double width = first_width(r->tol, upsample) + 1, lanes = r->single ? 8 : 4;
    return points * (25 + 0.6 * pow(width, r->ndim - 1) * ceil(2 * width / lanes));
}

static double grid_cost(const lmr_nufft_request *r, const double modes[3], double upsample)
{
    const double width = first_width(r->tol, upsample) + 1;
    double cells = 1;
    for (int d = 0; d < r->ndim; d++) cells *= fmax(upsample * modes[d], 2 * width);
    return cells * (r->single ? 0.25 : 0.5) * (4 + log2(cells));
}

static double cost(const lmr_nufft_request *r, const double modes[3], double upsample)
{
    double points = 1;
    for (int d = 0; d < r->ndim; d++) points *= modes[d];
    return points_cost(r, r->points > 0 ? r->points : points, upsample) + grid_cost(r, modes, upsample);
}

/* Upsampling factors to try, cheapest first, and how many: the one that was asked for or all. */
static int rank(const lmr_nufft_request *r, double (*price)(const lmr_nufft_request *, const double[3], double),
                const double sizes[3], double factor[CANDIDATES])
{
    double prices[CANDIDATES];
    if (r->upsample > 0) {
        factor[0] = r->upsample;
        return 1;
    }
    for (int i = 0; i < CANDIDATES; i++) {
        const double mine = price(r, sizes, candidates[i]);
        int at = i;
        for (; at > 0 && prices[at - 1] > mine; at--) prices[at] = prices[at - 1], factor[at] = factor[at - 1];
        prices[at] = mine, factor[at] = candidates[i];
    }
    return CANDIDATES;
}

/* x rounded up to one digit. */
static double round_up(double x)
{
    const double unit = pow(10, floor(log10(x)));
    return ceil(x / unit * (1 - 1e-9)) * unit;
}

static larmor_status out_of_reach(const lmr_nufft_request *r, double least)
{
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: tolerance %.3g is out of reach in %s precision; %.0e is the least%s",
                    r->tol, r->single ? "single" : "double", round_up(least), r->single ? ", or use c128" : "");
}

larmor_status lmr_nufft_choose(const lmr_nufft_request *r, const int64_t modes[3], lmr_nufft_choice *choice)
{
    double least = INFINITY, factor[CANDIDATES], sizes[3] = {1, 1, 1};
    for (int d = 0; d < r->ndim; d++) sizes[d] = (double)modes[d];
    const int factors = rank(r, cost, sizes, factor);
    for (int i = 0; i < factors; i++) {
        int kept = 0;
        LMR_TRY(narrowest(r, modes, factor[i], choice, &kept));
        if (kept) return LARMOR_OK;
        if (choice->bound < least) least = choice->bound;
    }
    return out_of_reach(r, least);
}

/* ---- a continuous band ---- */

enum { BAND = 1 << 16 }; /* so many modes are a continuum */

/* The error of a window of this width for bands of 1 / upsample in each dimension; choice->cells stay. */
static void evaluate_band(const lmr_nufft_request *r, const double upsample[3], int width, lmr_nufft_choice *choice)
{
    static const int64_t modes[3] = {BAND, BAND, BAND};
    int64_t cells[3] = {1, 1, 1};
    for (int d = 0; d < r->ndim; d++) cells[d] = (int64_t)(upsample[d] * BAND);
    evaluate(r, modes, cells, width, choice);
}

larmor_status lmr_nufft_choose_window(const lmr_nufft_request *r, lmr_nufft_choice *choice)
{
    const double factor = r->upsample > 0 ? r->upsample : 2, all[3] = {factor, factor, factor};
    double least = INFINITY;
    for (int width = first_width(r->tol, factor); width <= LMR_WINDOW_MAX; width++) {
        evaluate_band(r, all, width, choice);
        if (choice->bound <= r->tol) return LARMOR_OK;
        if (choice->bound < least) least = choice->bound;
    }
    return out_of_reach(r, least);
}

/* ---- type 3 ---- */

static const double most_upsample = 2.5; /* more does not help */
/* Of the tolerance; errors add in squares, widths are whole numbers, and both errors scatter. */
static const double outer_share = 0.55, inner_share = 0.9;
static const double inner_rounding = 1.5; /* of both stages together against that of the outer one; measured */

/* The grid on which points reach `product` times half a cell's frequency, and no window wraps around. */
static larmor_status set_outer_cells(int ndim, const double product[3], double upsample, int width,
                                     lmr_type3_choice *c)
{
    double cells[3] = {1, 1, 1}, total = 1;
    for (int d = 0; d < ndim; d++) {
        cells[d] = fmax(ceil(upsample * fmax(product[d], 1)) + width + 1, 2 * width);
        total *= cells[d];
    }
    if (!(total < 0x1p53))
        return LMR_FAIL(LARMOR_ERR_MEMORY,
                        "nufft: points and targets are too far apart: type 3 needs a grid of %.3g x %.3g x %.3g "
                        "cells; split them into clusters",
                        cells[0], cells[1], cells[2]);
    for (int d = 0; d < 3; d++) {
        c->outer.cells[d] = 1, c->upsample[d] = 1;
        if (d >= ndim) continue;
        c->outer.cells[d] = lmr_nufft_good_size((int64_t)cells[d]);
        c->upsample[d] = fmin((double)(c->outer.cells[d] - width - 1) / fmax(product[d], 1), most_upsample);
    }
    return LARMOR_OK;
}

/* As narrowest, for both grids. */
static larmor_status narrowest_pair(const lmr_nufft_request *r, const double product[3], double targets,
                                    double upsample, lmr_type3_choice *c, int *kept)
{
    lmr_nufft_request outer = *r, inner = *r;
    outer.tol = outer_share * r->tol, outer.terms = fmax(targets, 1);
    inner.terms = fmax(r->points, 1), inner.points = fmax(targets, 1);
    *kept = 0;
    for (int width = first_width(outer.tol, upsample); width <= LMR_WINDOW_MAX && !*kept; width++) {
        LMR_TRY(set_outer_cells(r->ndim, product, upsample, width, c));
        evaluate_band(&outer, c->upsample, width, &c->outer);
        const double more = c->outer.rounding * sqrt(inner_rounding * inner_rounding - 1),
                     used = hypot(c->outer.bound, more);
        if (c->outer.bound > outer.tol || used >= r->tol) {
            if (c->outer.rounding > c->outer.alias) break;
            continue;
        }
        inner.tol = inner_share * sqrt(r->tol * r->tol - used * used);
        const larmor_status st = lmr_nufft_choose(&inner, c->outer.cells, &c->inner);
        if (st && st != LARMOR_ERR_NUMERIC) return st;
        *kept = !st;
        c->error = hypot(hypot(c->outer.error, more), c->inner.error), c->inner_tol = inner.tol;
        if (st) break; /* a wider window leaves hardly more to the inner transform */
    }
    return LARMOR_OK;
}

/* Of the points and of the inner grid; the targets' share hardly depends on the outer upsampling. */
static double pair_cost(const lmr_nufft_request *r, const double product[3], double upsample)
{
    double modes[3] = {1, 1, 1};
    const double width = first_width(r->tol, upsample) + 1;
    for (int d = 0; d < r->ndim; d++) modes[d] = fmax(upsample * fmax(product[d], 1) + width + 1, 2 * width);
    return points_cost(r, r->points, upsample) + grid_cost(r, modes, r->upsample > 0 ? r->upsample : 1.5);
}

static larmor_status cheapest_pair(const lmr_nufft_request *r, const double product[3], double targets,
                                   lmr_type3_choice *c, int *kept)
{
    double factor[CANDIDATES];
    const int factors = rank(r, pair_cost, product, factor);
    for (int i = 0; i < factors && !*kept; i++) LMR_TRY(narrowest_pair(r, product, targets, factor[i], c, kept));
    return LARMOR_OK;
}

larmor_status lmr_type3_choose(const lmr_nufft_request *r, const double product[3], double targets,
                               lmr_type3_choice *c)
{
    int kept = 0;
    LMR_TRY(cheapest_pair(r, product, targets, c, &kept));
    if (kept) return LARMOR_OK;
    lmr_nufft_request milder = *r;
    milder.tol = fmax(r->tol, r->single ? 0x1p-24 : 0x1p-53); /* nobody does better */
    while (!kept && milder.tol < 1) {
        milder.tol *= 1.25;
        LMR_TRY(cheapest_pair(&milder, product, targets, c, &kept));
    }
    return out_of_reach(r, milder.tol);
}
