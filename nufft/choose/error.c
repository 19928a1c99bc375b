/* The error of a grid and a window, and the narrowest window that keeps a tolerance on a grid: the model of
 * docs/records/nufft.md. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/choose/choose.h"
#include "nufft/choose/memo.h"
#include "nufft/choose/parts.h"

/* Rounding errors, in units of half the last place, relative to the values on the fine grid, and the least of them
 * relative to the result; measured, see docs/records/nufft.md. */
static const double rounding = 7, least_rounding = 4.5;

/* The same of a sum of stored products, one after the other, over the root of their number; measured. */
static const double product_rounding = 0.17;

/* Where many terms lie at the edges of their band, their few errors may agree, and what they share of the edge's
 * rounding, as windows keep points of the inner grid off its edge; measured. */
static const double many_at_ends = 4, gain_at_ends = 0.2;

/* What the mean over points of a lattice is passed by; measured. */
static const double on_lattice = 1.3;

/* What the model chooses from: it cannot tell neighbours apart, and of more of them it would the more often choose
 * one whose FFT is slower than it thinks. */
const double lmr_nufft_factors[LMR_NUFFT_FACTORS] = {1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5,  1.55,
                                                     1.6,  1.7, 1.8,  1.9, 2,    2.1, 2.2,  2.35, 2.5};
static const double most_side = 0x1p58;

/* The smallest window wants room for two of it; more than `most` is no upsampling of these modes. */
void lmr_nufft_sides(int64_t modes, int width, int64_t *least, int64_t *most)
{
    const int64_t windows = 2 * (width > 0 ? width : LMR_WINDOW_MIN);
    const int64_t upsampled = (int64_t)fmin(ceil(lmr_nufft_factors[0] * (double)modes * (1 - 1e-12)), most_side);
    *least = windows > upsampled ? windows : upsampled;
    *most = (int64_t)fmin(fmax(2.6 * (double)modes, 4.0 * LMR_WINDOW_MAX) + 64, most_side);
}

/* The grid that is asked for, or else the smallest good one of this factor, with room for two windows. */
larmor_status lmr_nufft_set_cells(const lmr_nufft_request *r, const int64_t modes[3], double upsample, int width,
                                  int64_t cells[3])
{
    int64_t total = 1;
    for (int d = 0; d < 3; d++) {
        cells[d] = 1;
        if (d >= r->ndim) continue;
        const double wanted = ceil(upsample * (double)modes[d] * (1 - 1e-12));
        LMR_REFUSE(wanted > 0x1p40, LARMOR_ERR_ARG, "nufft: %lld modes are too many", (long long)modes[d]);
        cells[d] = r->cells[d] > 0 ? r->cells[d]
                                   : lmr_nufft_good_size((int64_t)wanted > 2 * width ? (int64_t)wanted : 2 * width);
        LMR_REFUSE(!lmr_mul(total, cells[d], &total) || total > INT64_C(1) << 58, LARMOR_ERR_ARG,
                   "nufft: the modes are too many: their grid passes 2^58 cells");
    }
    return LARMOR_OK;
}

/* Predict the error of the whole transform with the choice's window.
 *
 * The aliasing error is a sum over modes of independent terms for random data, so that its square scatters around the
 * mean by the inverse root of the number of modes that contribute: three times that is added. Where the band is that
 * of some points, two of them lie on its edges, where the error is largest, and maybe many more.
 *
 * known: the window's error along axis `of`, or NULL. */
static void assess(const lmr_nufft_request *r, const int64_t modes[3], const int64_t cells[3],
                   const lmr_window_error *known, int of, lmr_nufft_choice *choice)
{
    double count = 1, square = 0, fourth = 0, gain2 = 1, edges = 0, lattice = 0, own = 0;
    lmr_window_error e = {0};
    for (int d = 0; d < r->ndim; d++) {
        if (known && modes[d] == modes[of] && cells[d] == cells[of])
            e = *known;
        else if (d == 0 || modes[d] != modes[d - 1] || cells[d] != cells[d - 1])
            e = lmr_window_predict(&choice->window, modes[d], cells[d]);
        const double at_ends = r->terms > 0 ? r->at_ends[d] : 0;
        const double few = r->terms > 0 ? fmin(1, 3 / r->terms) : 0;
        fourth += e.alias4 + 2 * square * e.alias2;
        lattice += on_lattice * e.lattice2 + 2 * own * e.own;
        own += e.own;
        square += e.alias2;
        count *= (double)modes[d];
        gain2 *= e.gain2 + gain_at_ends * at_ends * (e.edge_gain2 - e.gain2);
        edges += (few + many_at_ends * at_ends) * e.edge2;
    }
    if (r->terms > 0) count = r->terms;
    const double scatter = square > 0 ? sqrt(fourth / count) / square : 0;
    choice->alias = sqrt(square);
    const double unit = r->single ? 0x1p-24 : 0x1p-53;
    const double usual = fmax(rounding * sqrt(gain2), least_rounding);
    const double full = hypot(usual, product_rounding * pow(choice->window.width, 0.5 * r->ndim));
    const double aliasing = sqrt(square * (1 + 3 * scatter) + edges);
    choice->rounding = unit * (r->full ? full : usual);
    choice->error = hypot(choice->alias, choice->rounding);
    choice->bound = hypot(aliasing, choice->rounding) * 1.05;
    choice->full_bound = hypot(aliasing, unit * full) * 1.05;
    choice->lattice_bound = hypot(sqrt(fmax(square, lattice) * (1 + 3 * scatter) + edges), choice->rounding) * 1.05;
}

/* Tune the window of this width for the tightest dimension, and predict. */
void lmr_nufft_evaluate(const lmr_nufft_request *r, const int64_t modes[3], const int64_t cells[3], int width,
                        lmr_nufft_choice *choice)
{
    int tightest = 0;
    lmr_window_error e;
    for (int d = 1; d < r->ndim; d++)
        if ((double)cells[d] * (double)(modes[tightest] / 2) < (double)cells[tightest] * (double)(modes[d] / 2))
            tightest = d;
    lmr_nufft_tune_window(width, modes[tightest], cells[tightest], &choice->window, &e);
    assess(r, modes, cells, &e, tightest, choice);
}

/* The transform of a wide window nearly vanishes at the edge of the modes where the grid is small, and deconvolution
 * makes much of the rounding there, by which a transform and its adjoint differ. Where tol leaves room for aliases, a
 * larger bandlimit lowers that. */
static void lower_gain(const lmr_nufft_request *r, const int64_t modes[3], lmr_nufft_choice *choice)
{
    static const double step = 1.02, most_gain = 256, room = 0.5;
    const double limit = most_gain * rounding * (r->single ? 0x1p-24 : 0x1p-53);
    const double whole = 3.14159265358979323846 * choice->window.width;
    while (choice->rounding > limit && step * choice->window.bandlimit < whole) {
        lmr_nufft_choice higher = *choice;
        lmr_window_make(choice->window.width, step * choice->window.bandlimit, &higher.window);
        assess(r, modes, choice->cells, NULL, 0, &higher);
        if (!(fmax(higher.full_bound, higher.lattice_bound) <= room * r->tol)) return;
        *choice = higher;
    }
}

/* The width that the aliasing of a prolate window needs, by its leading order in the width; one less to be safe. */
int lmr_nufft_first_width(double tol, double upsample)
{
    const double width = 1 + log(0.18 / tol) / (3.14159265358979323846 * sqrt(1 - 1 / upsample));
    if (width > LMR_WINDOW_MAX) return LMR_WINDOW_MAX;
    return width < LMR_WINDOW_MIN + 1 ? LMR_WINDOW_MIN : (int)width - 1;
}

double lmr_nufft_least_factor(int ndim, const int64_t modes[3], const int64_t cells[3])
{
    double factor = INFINITY;
    for (int d = 0; d < ndim; d++) factor = fmin(factor, (double)cells[d] / (double)modes[d]);
    return factor;
}

/* As first_width, for the grid that the factor becomes when its sides are rounded up. */
larmor_status lmr_nufft_first_width_on_grid(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                                            int *width)
{
    int64_t cells[3];
    LMR_TRY(lmr_nufft_set_cells(r, modes, upsample, lmr_nufft_first_width(r->tol, upsample), cells));
    *width = lmr_nufft_first_width(r->tol, lmr_nufft_least_factor(r->ndim, modes, cells));
    return LARMOR_OK;
}

/* The widths to try. */
static larmor_status widths(const lmr_nufft_request *r, const int64_t modes[3], double upsample, int *first,
                            int *last)
{
    LMR_TRY(lmr_nufft_first_width_on_grid(r, modes, upsample, first));
    *last = LMR_WINDOW_MAX;
    for (int d = 0; d < r->ndim; d++) /* a grid that is asked for must hold two windows */
        if (r->cells[d] > 0 && r->cells[d] < 2 * *last) *last = (int)(r->cells[d] / 2);
    if (*first > *last) *first = *last;
    if (r->width > 0) {
        *first = r->width;
        *last = r->width < *last ? r->width : *last;
    }
    return LARMOR_OK;
}

int lmr_nufft_same_cells(const int64_t a[3], const int64_t b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* One width more, if that keeps tol on lattices of points and this one does not. */
static larmor_status widen(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                           lmr_nufft_choice *choice)
{
    const int width = choice->window.width + 1;
    lmr_nufft_choice wider = *choice;
    if (!r->lattice || choice->lattice_bound <= r->tol || r->width > 0 || width > LMR_WINDOW_MAX) return LARMOR_OK;
    LMR_TRY(lmr_nufft_set_cells(r, modes, upsample, width, wider.cells));
    for (int d = 0; d < r->ndim; d++)
        if (wider.cells[d] < 2 * width) return LARMOR_OK;
    lmr_nufft_evaluate(r, modes, wider.cells, width, &wider);
    if (wider.bound <= r->tol && wider.lattice_bound <= r->tol) *choice = wider;
    return LARMOR_OK;
}

/* The first width is that of an estimate, which is too wide where a grid is larger than its factor says or where
 * rounding, which grows with the width, is most of the error: then narrower ones may do. */
static larmor_status narrowest(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                               lmr_nufft_choice *choice, int *kept)
{
    static const double much_more = 8; /* error by aliasing, over tol, beyond which no narrower window is tried */
    int first, last, width;
    int64_t before[3] = {0}; /* the grid of the width before, which did not keep tol there */
    LMR_TRY(widths(r, modes, upsample, &first, &last));
    for (*kept = 0, width = first; width <= last; width++) {
        LMR_TRY(lmr_nufft_set_cells(r, modes, upsample, width, choice->cells));
        lmr_nufft_evaluate(r, modes, choice->cells, width, choice);
        *kept = choice->bound <= r->tol;
        if (*kept) { /* so may do a narrower one, where a wide window makes the grid larger */
            lmr_nufft_choice narrower = *choice;
            while (!lmr_nufft_same_cells(before, choice->cells) &&
                   lmr_nufft_choose_at(r, modes, choice->cells, narrower.window.width - 1, &narrower))
                *choice = narrower;
            return widen(r, modes, upsample, choice);
        }
        for (int d = 0; d < 3; d++) before[d] = choice->cells[d];
        if (choice->rounding > choice->alias) break; /* which grows with the width */
    }
    for (width = first - 1; width >= LMR_WINDOW_MIN && r->width <= 0; width--) {
        LMR_TRY(lmr_nufft_set_cells(r, modes, upsample, width, choice->cells));
        lmr_nufft_evaluate(r, modes, choice->cells, width, choice);
        *kept = choice->bound <= r->tol;
        if (*kept) return widen(r, modes, upsample, choice);
        if (choice->alias > much_more * r->tol) break;
    }
    return LARMOR_OK;
}

larmor_status lmr_nufft_narrowest(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                                  lmr_nufft_choice *choice, int *kept)
{
    LMR_TRY(narrowest(r, modes, upsample, choice, kept));
    if (*kept) lower_gain(r, modes, choice);
    return LARMOR_OK;
}

enum { BAND = 1 << 16 }; /* so many modes are a continuum */

/* The error of a window of this width for bands of 1 / upsample in each dimension; choice->cells stay. */
void lmr_nufft_evaluate_band(const lmr_nufft_request *r, const double upsample[3], int width,
                             lmr_nufft_choice *choice)
{
    static const int64_t modes[3] = {BAND, BAND, BAND};
    int64_t cells[3] = {1, 1, 1};
    for (int d = 0; d < r->ndim; d++) cells[d] = (int64_t)(upsample[d] * BAND);
    lmr_nufft_evaluate(r, modes, cells, width, choice);
}

int lmr_nufft_choose_at(const lmr_nufft_request *r, const int64_t modes[3], const int64_t cells[3], int width,
                        lmr_nufft_choice *choice)
{
    if (width < LMR_WINDOW_MIN || width > LMR_WINDOW_MAX || (r->width > 0 && width != r->width)) return 0;
    for (int d = 0; d < r->ndim; d++) {
        int64_t least, most;
        lmr_nufft_sides(modes[d], width, &least, &most);
        if (cells[d] < least || cells[d] > most || !lmr_nufft_is_good_size(cells[d]) ||
            (r->cells[d] > 0 && cells[d] != r->cells[d]))
            return 0;
    }
    for (int d = 0; d < 3; d++) choice->cells[d] = d < r->ndim ? cells[d] : 1;
    lmr_nufft_evaluate(r, modes, choice->cells, width, choice);
    if (choice->bound > r->tol) return 0;
    lower_gain(r, modes, choice);
    return 1;
}
