/* From a tolerance to a fine grid and a window. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clamp.h"
#include "core/status.h"

/* Rounding errors, in units of half the last place, relative to the values on the fine grid, and the least of them
 * relative to the result; measured, see docs/nufft-accuracy.md. */
static const double rounding = 7, least_rounding = 4.5;

/* The same of a sum of stored products, one after the other, over the root of their number; measured. */
static const double product_rounding = 0.17;

/* Where many terms lie at the edges of their band, their few errors may agree, and what they share of the edge's
 * rounding, as windows keep points of the inner grid off its edge; measured. */
static const double many_at_ends = 4, gain_at_ends = 0.2;

/* What the mean over points of a lattice is passed by; measured. */
static const double on_lattice = 1.3;

/* What the model chooses from: it cannot tell neighbours apart, and of more of them it would the more often choose one
 * whose FFT is slower than it thinks. */
static const double factors[] = {1.15, 1.2, 1.25, 1.3, 1.35, 1.4, 1.45, 1.5,  1.55,
                                 1.6,  1.7, 1.8,  1.9, 2,    2.1, 2.2,  2.35, 2.5};
enum { FACTORS = sizeof factors / sizeof *factors };
static const double most_side = 0x1p58;
static const double fine_step = 1.02; /* between those that are timed as well */
enum { FINE_FACTORS = 40 };
_Static_assert((int)FACTORS + (int)FINE_FACTORS <= (int)LMR_NUFFT_CANDIDATES, "room for all factors");

/* Of sizes with one factor 2 alone FFTs are often half as slow again. */
int lmr_nufft_is_good_size(int64_t n)
{
    if (n < 2 || n % (n <= 16 ? 2 : 4)) return 0;
    for (int prime = 2; prime <= 7; prime += prime == 2 ? 1 : 2)
        while (n % prime == 0) n /= prime;
    return n == 1;
}

int64_t lmr_nufft_good_size(int64_t n)
{
    int64_t least = INT64_MAX;
    for (int64_t seven = n <= 16 ? 2 : 4; seven < least; seven *= 7)
        for (int64_t five = seven; five < least; five *= 5)
            for (int64_t three = five; three < least; three *= 3) {
                int64_t size = three;
                while (size < n) size *= 2;
                if (size < least) least = size;
            }
    return least;
}

static int is_nearer(int64_t n, int64_t size, int64_t than)
{
    const int64_t a = llabs(size - n), b = llabs(than - n);
    return a < b || (a == b && size > than);
}

int64_t lmr_nufft_nearest_size(int64_t n, int64_t least, int64_t most)
{
    int64_t nearest = 0;
    n = lmr_clamp(n, least, most);
    for (int64_t seven = 2; seven <= most; seven *= 7)
        for (int64_t five = seven; five <= most; five *= 5)
            for (int64_t three = five; three <= most; three *= 3)
                for (int64_t size = three; size <= most; size *= 2)
                    if (size >= least && lmr_nufft_is_good_size(size) && (!nearest || is_nearer(n, size, nearest)))
                        nearest = size;
    return nearest;
}

/* The smallest window wants room for two of it; more than `most` is no upsampling of these modes. */
void lmr_nufft_sides(int64_t modes, int width, int64_t *least, int64_t *most)
{
    const int64_t windows = 2 * (width > 0 ? width : LMR_WINDOW_MIN),
                  upsampled = (int64_t)fmin(ceil(factors[0] * (double)modes * (1 - 1e-12)), most_side);
    *least = windows > upsampled ? windows : upsampled;
    *most = (int64_t)fmin(fmax(2.6 * (double)modes, 4.0 * LMR_WINDOW_MAX) + 64, most_side);
}

/* The grid that is asked for, or else the smallest good one of this factor, with room for two windows. */
static larmor_status set_cells(const lmr_nufft_request *r, const int64_t modes[3], double upsample, int width,
                               int64_t cells[3])
{
    int64_t total = 1;
    for (int d = 0; d < 3; d++) {
        cells[d] = 1;
        if (d >= r->ndim) continue;
        const double wanted = ceil(upsample * (double)modes[d] * (1 - 1e-12));
        if (wanted > 0x1p40) return LMR_FAIL(LARMOR_ERR_ARG, "nufft: %lld modes are too many", (long long)modes[d]);
        cells[d] = r->cells[d] > 0 ? r->cells[d]
                                   : lmr_nufft_good_size((int64_t)wanted > 2 * width ? (int64_t)wanted : 2 * width);
        if (!lmr_mul(total, cells[d], &total) || total > INT64_C(1) << 58)
            return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the modes are too many: their grid passes 2^58 cells");
    }
    return LARMOR_OK;
}

/* Predict the error of the whole transform with the choice's window.
 *
 * The aliasing error is a sum over modes of independent terms for random data, so that its square scatters around the
 * mean by the inverse root of the number of modes that contribute: three times that is added. Where the band is that
 * of some points, two of them lie on its edges, where the error is largest, and maybe many more. */
static void assess(const lmr_nufft_request *r, const int64_t modes[3], const int64_t cells[3],
                   lmr_nufft_choice *choice)
{
    double count = 1, square = 0, fourth = 0, gain2 = 1, edges = 0, lattice = 0, own = 0;
    lmr_window_error e = {0};
    for (int d = 0; d < r->ndim; d++) {
        if (d == 0 || modes[d] != modes[d - 1] || cells[d] != cells[d - 1])
            e = lmr_window_predict(&choice->window, modes[d], cells[d]);
        const double at_ends = r->terms > 0 ? r->at_ends[d] : 0, few = r->terms > 0 ? fmin(1, 3 / r->terms) : 0;
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
    const double unit = r->single ? 0x1p-24 : 0x1p-53, usual = fmax(rounding * sqrt(gain2), least_rounding),
                 full = hypot(usual, product_rounding * pow(choice->window.width, 0.5 * r->ndim));
    const double aliasing = sqrt(square * (1 + 3 * scatter) + edges);
    choice->rounding = unit * (r->full ? full : usual);
    choice->error = hypot(choice->alias, choice->rounding);
    choice->bound = hypot(aliasing, choice->rounding) * 1.05;
    choice->full_bound = hypot(aliasing, unit * full) * 1.05;
    choice->lattice_bound = hypot(sqrt(fmax(square, lattice) * (1 + 3 * scatter) + edges), choice->rounding) * 1.05;
}

/* Tune the window of this width for the tightest dimension, and predict. */
static void evaluate(const lmr_nufft_request *r, const int64_t modes[3], const int64_t cells[3], int width,
                     lmr_nufft_choice *choice)
{
    int tightest = 0;
    for (int d = 1; d < r->ndim; d++)
        if ((double)cells[d] * (double)(modes[tightest] / 2) < (double)cells[tightest] * (double)(modes[d] / 2))
            tightest = d;
    lmr_window_tune(width, modes[tightest], cells[tightest], &choice->window);
    assess(r, modes, cells, choice);
}

/* The transform of a wide window nearly vanishes at the edge of the modes where the grid is small, and deconvolution
 * makes much of the rounding there, by which a transform and its adjoint differ. Where tol leaves room for aliases, a
 * larger bandlimit lowers that. */
static void lower_gain(const lmr_nufft_request *r, const int64_t modes[3], lmr_nufft_choice *choice)
{
    static const double step = 1.02, most_gain = 256, room = 0.5;
    const double limit = most_gain * rounding * (r->single ? 0x1p-24 : 0x1p-53),
                 whole = 3.14159265358979323846 * choice->window.width;
    while (choice->rounding > limit && step * choice->window.bandlimit < whole) {
        lmr_nufft_choice higher = *choice;
        lmr_window_make(choice->window.width, step * choice->window.bandlimit, &higher.window);
        assess(r, modes, choice->cells, &higher);
        if (!(fmax(higher.full_bound, higher.lattice_bound) <= room * r->tol)) return;
        *choice = higher;
    }
}

/* The width that the aliasing of a prolate window needs, by its leading order in the width; one less to be safe. */
static int first_width(double tol, double upsample)
{
    const double width = 1 + log(0.18 / tol) / (3.14159265358979323846 * sqrt(1 - 1 / upsample));
    if (width > LMR_WINDOW_MAX) return LMR_WINDOW_MAX;
    return width < LMR_WINDOW_MIN + 1 ? LMR_WINDOW_MIN : (int)width - 1;
}

static double least_factor(int ndim, const int64_t modes[3], const int64_t cells[3])
{
    double factor = INFINITY;
    for (int d = 0; d < ndim; d++) factor = fmin(factor, (double)cells[d] / (double)modes[d]);
    return factor;
}

/* As first_width, for the grid that the factor becomes when its sides are rounded up. */
static larmor_status first_width_on_grid(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                                         int *width)
{
    int64_t cells[3];
    LMR_TRY(set_cells(r, modes, upsample, first_width(r->tol, upsample), cells));
    *width = first_width(r->tol, least_factor(r->ndim, modes, cells));
    return LARMOR_OK;
}

/* The widths that come into question. */
static larmor_status widths(const lmr_nufft_request *r, const int64_t modes[3], double upsample, int *first,
                            int *last)
{
    LMR_TRY(first_width_on_grid(r, modes, upsample, first));
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

static int same_cells(const int64_t a[3], const int64_t b[3])
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
    LMR_TRY(set_cells(r, modes, upsample, width, wider.cells));
    for (int d = 0; d < r->ndim; d++)
        if (wider.cells[d] < 2 * width) return LARMOR_OK;
    evaluate(r, modes, wider.cells, width, &wider);
    if (wider.bound <= r->tol && wider.lattice_bound <= r->tol) *choice = wider;
    return LARMOR_OK;
}

/* The first width is that of an estimate, which is too wide where a grid is larger than its factor says or where
 * rounding, which grows with the width, is most of the error: then narrower ones may do. */
static larmor_status narrowest(const lmr_nufft_request *r, const int64_t modes[3], double upsample,
                               lmr_nufft_choice *choice, int *kept)
{
    static const double much_more = 8; /* error by aliasing at which narrower windows are in vain */
    int first, last, width;
    int64_t before[3] = {0}; /* the grid of the width before, which did not keep tol there */
    LMR_TRY(widths(r, modes, upsample, &first, &last));
    for (*kept = 0, width = first; width <= last; width++) {
        LMR_TRY(set_cells(r, modes, upsample, width, choice->cells));
        evaluate(r, modes, choice->cells, width, choice);
        *kept = choice->bound <= r->tol;
        if (*kept) { /* so may do a narrower one, where a wide window makes the grid larger */
            lmr_nufft_choice narrower = *choice;
            while (!same_cells(before, choice->cells) &&
                   lmr_nufft_choose_at(r, modes, choice->cells, narrower.window.width - 1, &narrower))
                *choice = narrower;
            return widen(r, modes, upsample, choice);
        }
        for (int d = 0; d < 3; d++) before[d] = choice->cells[d];
        if (choice->rounding > choice->alias) break; /* which grows with the width */
    }
    for (width = first - 1; width >= LMR_WINDOW_MIN && r->width <= 0; width--) {
        LMR_TRY(set_cells(r, modes, upsample, width, choice->cells));
        evaluate(r, modes, choice->cells, width, choice);
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

/* ---- what is cheap ---- */

static lmr_nufft_rates rates_of(const lmr_nufft_request *r)
{
    return r->rates ? *r->rates : lmr_nufft_builtin_rates(LMR_NUFFT_PROCESSOR, r->single ? LMR_F32 : LMR_F64, 1);
}

/* What there is to do; cells and the width are left to the caller. */
static lmr_nufft_work work_of(const lmr_nufft_request *r, double points)
{
    const double batch = r->batch > 0 ? r->batch : 1;
    return (lmr_nufft_work){.ndim = r->ndim,
                            .cells = {1, 1, 1},
                            .points = r->points > 0 ? r->points : points,
                            .batch = batch,
                            .together = fmin(batch, 8),
                            .types = r->types};
}

double lmr_nufft_predict(const lmr_nufft_request *r, const int64_t modes[3], const lmr_nufft_choice *choice)
{
    const lmr_nufft_rates rates = rates_of(r);
    double count = 1;
    for (int d = 0; d < r->ndim; d++) count *= (double)modes[d];
    lmr_nufft_work work = work_of(r, count);
    work.width = choice->window.width;
    for (int d = 0; d < r->ndim; d++) work.cells[d] = (double)choice->cells[d];
    return lmr_nufft_cost(&rates, &work);
}

/* Insert into a list that is sorted by cost. */
static void insert(lmr_nufft_candidate *list, int count, lmr_nufft_candidate mine)
{
    int at = count;
    for (; at > 0 && list[at - 1].seconds > mine.seconds; at--) list[at] = list[at - 1];
    list[at] = mine;
}

/* Ascending. */
static int list_factors(int finely, double list[LMR_NUFFT_CANDIDATES])
{
    int count = 0, next = 0;
    double fine = factors[0];
    for (int i = 0; i < FINE_FACTORS && finely; i++, fine *= fine_step) {
        while (next < FACTORS && factors[next] <= fine) list[count++] = factors[next++];
        if (fine < factors[FACTORS - 1]) list[count++] = fine;
    }
    while (next < FACTORS) list[count++] = factors[next++];
    return count;
}

/* A processor's vectors and the good sizes of grids make steps in the cost, so that both are taken as they are. */
int lmr_nufft_rank(const lmr_nufft_request *r, const int64_t modes[3], int finely,
                   lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES])
{
    int count = 0;
    int64_t before[3] = {0};
    double all[LMR_NUFFT_CANDIDATES];
    if (r->upsample > 0 || r->cells[0] > 0) {
        list[0].upsample = r->upsample > 0 ? r->upsample : least_factor(r->ndim, modes, r->cells);
        list[0].seconds = 0;
        return 1;
    }
    const int all_count = list_factors(finely, all);
    for (int i = 0; i < all_count; i++) {
        lmr_nufft_choice at;
        lmr_nufft_candidate mine = {all[i], INFINITY};
        int width;
        if (!first_width_on_grid(r, modes, all[i], &width) &&
            !set_cells(r, modes, all[i], r->width > 0 ? r->width : width + 1, at.cells)) {
            if (same_cells(at.cells, before)) continue;
            for (int d = 0; d < 3; d++) before[d] = at.cells[d];
            at.window.width = r->width > 0 ? r->width : width + 1;
            mine.seconds = lmr_nufft_predict(r, modes, &at);
        }
        insert(list, count++, mine);
    }
    return count;
}

enum { BAND = 1 << 16 }; /* so many modes are a continuum */

/* The error of a window of this width for bands of 1 / upsample in each dimension; choice->cells stay. */
static void evaluate_band(const lmr_nufft_request *r, const double upsample[3], int width, lmr_nufft_choice *choice)
{
    static const int64_t modes[3] = {BAND, BAND, BAND};
    int64_t cells[3] = {1, 1, 1};
    for (int d = 0; d < r->ndim; d++) cells[d] = (int64_t)(upsample[d] * BAND);
    evaluate(r, modes, cells, width, choice);
}

/* What is asked for, or what a window alone is made for. */
static double band_factor(const lmr_nufft_request *r)
{
    return r->upsample > 0 ? r->upsample : 2;
}

/* What lmr_nufft_choose_window looks for. */
static int narrowest_on_band(const lmr_nufft_request *r, lmr_nufft_choice *choice)
{
    const double factor = band_factor(r), all[3] = {factor, factor, factor};
    const int last = r->width > 0 ? r->width : LMR_WINDOW_MAX;
    for (int width = r->width > 0 ? r->width : first_width(r->tol, factor); width <= last; width++) {
        evaluate_band(r, all, width, choice);
        if (choice->bound <= r->tol) return 1;
    }
    return 0;
}

/* What lmr_nufft_choose looks for, or, with modes NULL, lmr_nufft_choose_window.
 *
 * What the candidates need is about what they were ranked by: once one is found, those count that should beat it by
 * more than looking at them is worth. */
static larmor_status cheapest(const lmr_nufft_request *r, const int64_t *modes, lmr_nufft_choice *choice, int *kept)
{
    static const double better = 0.97;
    double quickest = INFINITY;
    lmr_nufft_choice mine;
    lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES];
    *kept = modes ? 0 : narrowest_on_band(r, choice);
    const int count = modes ? lmr_nufft_rank(r, modes, 0, list) : 0;
    for (int i = 0; i < count && (quickest == INFINITY || list[i].seconds < better * quickest); i++) {
        int fine = 0;
        LMR_TRY(lmr_nufft_narrowest(r, modes, list[i].upsample, &mine, &fine));
        const double seconds = fine ? lmr_nufft_predict(r, modes, &mine) : INFINITY;
        if (seconds < quickest) {
            *choice = mine;
            quickest = seconds;
            *kept = 1;
        }
    }
    return LARMOR_OK;
}

/* ---- what is within reach ---- */

/* The least bound of a factor's windows, from one that hardly does for anything on until rounding is most of it. */
static larmor_status least_of_factor(const lmr_nufft_request *r, const int64_t *modes, double upsample, double *least)
{
    const double all[3] = {upsample, upsample, upsample};
    const int first = r->width > 0 ? r->width : first_width(r->single ? 1e-3 : 1e-7, upsample),
              last = r->width > 0 ? r->width : LMR_WINDOW_MAX;
    for (int width = first; width <= last; width++) {
        lmr_nufft_choice choice = {.cells = {1, 1, 1}};
        if (modes) LMR_TRY(set_cells(r, modes, upsample, width, choice.cells));
        for (int d = 0; d < r->ndim && modes; d++)
            if (choice.cells[d] < 2 * width) return LARMOR_OK; /* no room on the grid that is asked for */
        if (modes)
            evaluate(r, modes, choice.cells, width, &choice);
        else
            evaluate_band(r, all, width, &choice);
        *least = fmin(*least, choice.bound);
        if (choice.rounding > choice.alias) break;
    }
    return LARMOR_OK;
}

static larmor_status least_of(const lmr_nufft_request *r, const int64_t *modes, double *least)
{
    const int open = modes && r->upsample <= 0 && r->cells[0] <= 0;
    *least = INFINITY;
    for (int i = 0; i < (open ? FACTORS : 1); i++)
        LMR_TRY(least_of_factor(r, modes, open ? factors[i] : band_factor(r), least));
    for (;; *least *= 1.02) { /* of what the search for a grid finds */
        lmr_nufft_request milder = *r;
        lmr_nufft_choice choice;
        int kept;
        milder.tol = *least;
        if (!(*least < 1)) return LARMOR_OK;
        LMR_TRY(cheapest(&milder, modes, &choice, &kept));
        if (kept) return LARMOR_OK;
    }
}

larmor_status lmr_nufft_least(const lmr_nufft_request *r, const int64_t modes[3], double *least)
{
    return least_of(r, modes, least);
}

larmor_status lmr_nufft_least_spreading(const lmr_nufft_request *r, double *least)
{
    return least_of(r, NULL, least);
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

/* The width next to the one asked for that keeps tol in its place; 0 without. */
static int nearest_width(const lmr_nufft_request *r, const int64_t *modes)
{
    lmr_nufft_request other = *r;
    lmr_nufft_choice choice;
    int kept = 0;
    for (int i = 2; i < 2 * LMR_WINDOW_MAX && r->width > 0; i++) {
        other.width = i % 2 ? r->width - i / 2 : r->width + i / 2;
        if (other.width < LMR_WINDOW_MIN || other.width > LMR_WINDOW_MAX) continue;
        if (!cheapest(&other, modes, &choice, &kept) && kept) return other.width;
    }
    return 0;
}

typedef struct grid_text {
    char s[80];
} grid_text;

static grid_text describe_grid(int ndim, const int64_t cells[3])
{
    grid_text text = {""};
    for (int d = 0, n = 0; d < ndim; d++)
        n += snprintf(text.s + n, sizeof text.s - (size_t)n, "%s%lld", d ? " x " : "", (long long)cells[d]);
    return text;
}

/* Which of the things asked for is in the way, and what would do instead; or that nothing would, and the least
 * tolerance of all that is asked for. */
static larmor_status refuse(const lmr_nufft_request *r, const int64_t *modes)
{
    lmr_nufft_request other = *r;
    lmr_nufft_choice choice;
    double least, least_of_all;
    int kept;
    LMR_TRY(least_of(r, modes, &least));
    if (r->width <= 0 && r->cells[0] <= 0) return out_of_reach(r, least);
    const int width = nearest_width(r, modes);
    if (width)
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "nufft: width: got %d, which keeps %.0e at best, and tol is %.3g; use %d, or leave it 0",
                        r->width, round_up(least), r->tol, width);
    other.width = 0;
    for (int d = 0; d < 3; d++) other.cells[d] = 0;
    LMR_TRY(cheapest(&other, modes, &choice, &kept));
    if (!kept) {
        LMR_TRY(least_of(&other, modes, &least_of_all));
        const char *grid = r->width > 0 ? "grid and width" : "grid";
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "nufft: tolerance %.3g is out of reach in %s precision; %.0e is the least with this %s, %.0e "
                        "without it%s",
                        r->tol, r->single ? "single" : "double", round_up(least), r->cells[0] <= 0 ? "width" : grid,
                        round_up(least_of_all), r->single ? ", or use c128" : "");
    }
    return LMR_FAIL(
        LARMOR_ERR_NUMERIC, "nufft: grid: got %s, which keeps %.0e at best, and tol is %.3g; use %s, or leave it 0",
        describe_grid(r->ndim, r->cells).s, round_up(least), r->tol, describe_grid(r->ndim, choice.cells).s);
}

static larmor_status choose(const lmr_nufft_request *r, const int64_t *modes, lmr_nufft_choice *choice)
{
    int kept;
    LMR_TRY(cheapest(r, modes, choice, &kept));
    return kept ? LARMOR_OK : refuse(r, modes);
}

larmor_status lmr_nufft_choose(const lmr_nufft_request *r, const int64_t modes[3], lmr_nufft_choice *choice)
{
    return choose(r, modes, choice);
}

larmor_status lmr_nufft_choose_window(const lmr_nufft_request *r, lmr_nufft_choice *choice)
{
    return choose(r, NULL, choice);
}

larmor_status lmr_nufft_choose_spreading(const lmr_nufft_request *r, const int64_t modes[3], lmr_nufft_choice *choice)
{
    LMR_TRY(lmr_nufft_choose_window(r, choice));
    const int width = choice->window.width;
    for (int d = 0; d < 3; d++) {
        choice->cells[d] = d < r->ndim ? modes[d] : 1;
        if (d < r->ndim && choice->cells[d] < 2 * width)
            return LMR_FAIL(
                LARMOR_ERR_ARG,
                "nufft: modes[%d]: got %lld with spread_only, expected at least %d, twice the window; use "
                "a %s",
                d, (long long)choice->cells[d], 2 * width, r->width ? "smaller width" : "larger tol");
    }
    return LARMOR_OK;
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
    evaluate(r, modes, choice->cells, width, choice);
    if (choice->bound > r->tol) return 0;
    lower_gain(r, modes, choice);
    return 1;
}

/* ---- batches ---- */

enum { MOST_TOGETHER = 8 };
static const int64_t most_workspace = INT64_C(256) << 20;

int64_t lmr_nufft_together(int64_t batch, int64_t grid, int64_t most)
{
    int64_t together = most_workspace / grid;
    together = most > 0 ? most : lmr_clamp(together, 1, MOST_TOGETHER);
    const int64_t passes = batch / together + (batch % together > 0);
    return batch / passes + (batch % passes > 0);
}

/* ---- type 3 ---- */

static const double most_upsample = 2.5; /* more does not help */
/* Of the tolerance; errors add in squares, widths are whole numbers, and both errors scatter. */
static const double outer_share = 0.55,
                    inner_share[2] = {0.85,
                                      0.9}; /* [single]: there rounding, which hardly scatters, has the larger part */
static const double inner_rounding = 2.0;   /* of both stages together against that of the outer one; measured */
/* Points and targets on their grids are rounded to double precision: the error of a phase, in units of half the last
 * place, against the product of the widths. Measured: 0.4 to 0.7. */
static const double coordinates = 0.65;

/* The grid on which points reach `product` times half a cell's frequency, and no window wraps around. */
static larmor_status set_outer_cells(int ndim, const double product[3], double upsample, int width,
                                     lmr_type3_choice *c)
{
    double cells[3] = {1, 1, 1}, total = 1, longest = 1;
    for (int d = 0; d < ndim; d++) {
        cells[d] = fmax(ceil(upsample * fmax(product[d], 1)) + width + 1, 2 * width);
        total *= cells[d];
        longest = fmax(longest, cells[d]);
    }
    if (!(total < 0x1p53 && longest < 0x1p38))
        return LMR_FAIL(LARMOR_ERR_MEMORY,
                        "nufft: points and targets are too far apart: type 3 needs a grid of %.3g x %.3g x %.3g "
                        "cells; split them into clusters",
                        cells[0], cells[1], cells[2]);
    for (int d = 0; d < 3; d++) {
        c->outer.cells[d] = 1;
        c->upsample[d] = 1;
        if (d >= ndim) continue;
        c->outer.cells[d] = lmr_nufft_good_size((int64_t)cells[d]);
        c->upsample[d] = fmin((double)(c->outer.cells[d] - width - 1) / fmax(product[d], 1), most_upsample);
    }
    return LARMOR_OK;
}

/* As lmr_nufft_narrowest, for both grids. */
static larmor_status narrowest_pair(const lmr_nufft_request *r, const double product[3], double targets,
                                    double upsample, lmr_type3_choice *c, int *kept)
{
    lmr_nufft_request outer = *r, inner = *r;
    outer.tol = outer_share * r->tol;
    outer.terms = fmax(targets, 1);
    memcpy(outer.at_ends, r->targets_at_ends, sizeof outer.at_ends);
    inner.terms = fmax(r->points, 1);
    inner.points = fmax(targets, 1);
    for (int d = 0; d < r->ndim; d++) /* which all lie alike between the cells of the inner grid */
        inner.lattice |= r->targets_at_ends[d] > 0;
    double phases = 0;
    for (int d = 0; d < r->ndim; d++) phases = hypot(phases, coordinates * 0x1p-53 * product[d]);
    *kept = 0;
    for (int width = first_width(outer.tol, upsample); width <= LMR_WINDOW_MAX && !*kept; width++) {
        LMR_TRY(set_outer_cells(r->ndim, product, upsample, width, c));
        evaluate_band(&outer, c->upsample, width, &c->outer);
        const double more = hypot(c->outer.rounding * sqrt(inner_rounding * inner_rounding - 1), phases),
                     used = hypot(c->outer.bound, more);
        if (c->outer.bound > outer.tol || used >= r->tol) {
            if (c->outer.rounding > c->outer.alias) break;
            continue;
        }
        inner.tol = inner_share[r->single != 0] * sqrt(r->tol * r->tol - used * used);
        const larmor_status st = lmr_nufft_choose(&inner, c->outer.cells, &c->inner);
        if (st && st != LARMOR_ERR_NUMERIC) return st;
        *kept = !st;
        c->error = hypot(hypot(c->outer.error, more), c->inner.error);
        c->inner_tol = inner.tol;
        if (st) break; /* a wider window leaves hardly more to the inner transform */
    }
    return LARMOR_OK;
}

/* Of the points and of the inner grid; the targets' share hardly depends on the outer upsampling. */
static double pair_cost(const lmr_nufft_request *r, const double product[3], double upsample)
{
    const lmr_nufft_rates rates = rates_of(r);
    const double width = first_width(r->tol, upsample) + 1, inner = r->upsample > 0 ? r->upsample : 1.5;
    lmr_nufft_work outer = work_of(r, 1), grid = outer;
    outer.width = (int)width;
    for (int d = 0; d < r->ndim; d++) {
        outer.cells[d] = fmax(upsample * fmax(product[d], 1) + width + 1, 2 * width);
        grid.cells[d] = fmax(inner * outer.cells[d], 2 * width);
    }
    return lmr_nufft_cost_points(&rates, &outer, 1) + lmr_nufft_cost_grid(&rates, &grid);
}

/* The outer factors that come into question, cheapest first. */
static int rank_pairs(const lmr_nufft_request *r, const double product[3],
                      lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES])
{
    int count = r->upsample > 0;
    list[0] = (lmr_nufft_candidate){r->upsample, 0};
    for (int i = 0; i < FACTORS && r->upsample <= 0; i++)
        if (factors[i] >= 1.25 && factors[i] <= 2) /* where inner_rounding was measured */
            insert(list, count++, (lmr_nufft_candidate){factors[i], pair_cost(r, product, factors[i])});
    return count;
}

static larmor_status cheapest_pair(const lmr_nufft_request *r, const double product[3], double targets,
                                   lmr_type3_choice *c, int *kept)
{
    lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES];
    const int count = rank_pairs(r, product, list);
    for (int i = 0; i < count && !*kept; i++) LMR_TRY(narrowest_pair(r, product, targets, list[i].upsample, c, kept));
    return LARMOR_OK;
}

larmor_status lmr_type3_list(const lmr_nufft_request *r, const double product[3], double targets,
                             lmr_type3_choice choices[LMR_NUFFT_CANDIDATES], int *count)
{
    lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES];
    const int factors_in_question = rank_pairs(r, product, list);
    *count = 0;
    for (int i = 0, kept; i < factors_in_question; i++, *count += kept)
        LMR_TRY(narrowest_pair(r, product, targets, list[i].upsample, &choices[*count], &kept));
    return LARMOR_OK;
}

larmor_status lmr_type3_least(const lmr_nufft_request *r, const double product[3], double targets, double *least)
{
    lmr_nufft_request milder = *r;
    lmr_type3_choice choice;
    int kept = 0;
    milder.tol = r->single ? 0x1p-24 : 0x1p-53; /* nobody does better */
    while (!kept && milder.tol < 1) {
        milder.tol *= 1.25;
        LMR_TRY(cheapest_pair(&milder, product, targets, &choice, &kept));
    }
    *least = milder.tol;
    return LARMOR_OK;
}

larmor_status lmr_type3_choose(const lmr_nufft_request *r, const double product[3], double targets,
                               lmr_type3_choice *c)
{
    int kept = 0;
    double least;
    LMR_TRY(cheapest_pair(r, product, targets, c, &kept));
    if (kept) return LARMOR_OK;
    LMR_TRY(lmr_type3_least(r, product, targets, &least));
    return out_of_reach(r, least);
}
