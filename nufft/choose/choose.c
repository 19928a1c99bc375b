/* From a tolerance to the cheapest fine grid and window that keep it, or to what is the least tolerance.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose/choose.h"

#include "core/core.h"
#include "nufft/choose/memo.h"
#include "nufft/choose/parts.h"

static const double fine_step = 1.02; /* between those that are timed as well */
enum { FINE_FACTORS = 40 };
_Static_assert((int)LMR_NUFFT_FACTORS + (int)FINE_FACTORS <= (int)LMR_NUFFT_CANDIDATES, "room for all factors");

/* ---- what is cheap ---- */

lmr_nufft_rates lmr_nufft_rates_of(const lmr_nufft_request *r)
{
    return r->rates ? *r->rates : lmr_nufft_builtin_rates(LMR_NUFFT_PROCESSOR, r->single ? LMR_F32 : LMR_F64, 1);
}

/* What there is to do; cells and the width are left to the caller. */
lmr_nufft_work lmr_nufft_work_of(const lmr_nufft_request *r, double points)
{
    const double batch = r->batch > 0 ? r->batch : 1;
    return (lmr_nufft_work){.ndim = r->ndim,
                            .cells = {1, 1, 1},
                            .points = r->points > 0 ? r->points : points,
                            .batch = batch,
                            .per_pass = fmin(batch, 8),
                            .types = r->types};
}

double lmr_nufft_predict(const lmr_nufft_request *r, const int64_t modes[3], const lmr_nufft_choice *choice)
{
    const lmr_nufft_rates rates = lmr_nufft_rates_of(r);
    double count = 1;
    for (int d = 0; d < r->ndim; d++) count *= (double)modes[d];
    lmr_nufft_work work = lmr_nufft_work_of(r, count);
    work.width = choice->window.width;
    for (int d = 0; d < r->ndim; d++) {
        work.cells[d] = (double)choice->cells[d];
        work.modes[d] = (double)modes[d];
    }
    return lmr_nufft_cost(&rates, &work);
}

/* Insert into a list that is sorted by cost. */
void lmr_nufft_insert(lmr_nufft_candidate *list, int count, lmr_nufft_candidate mine)
{
    int at = count;
    for (; at > 0 && list[at - 1].seconds > mine.seconds; at--) list[at] = list[at - 1];
    list[at] = mine;
}

/* Ascending. */
static int list_factors(int finely, double list[LMR_NUFFT_CANDIDATES])
{
    int count = 0, next = 0;
    double fine = lmr_nufft_factors[0];
    for (int i = 0; i < FINE_FACTORS && finely; i++, fine *= fine_step) {
        while (next < LMR_NUFFT_FACTORS && lmr_nufft_factors[next] <= fine) list[count++] = lmr_nufft_factors[next++];
        if (fine < lmr_nufft_factors[LMR_NUFFT_FACTORS - 1]) list[count++] = fine;
    }
    while (next < LMR_NUFFT_FACTORS) list[count++] = lmr_nufft_factors[next++];
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
        list[0].upsample = r->upsample > 0 ? r->upsample : lmr_nufft_least_factor(r->ndim, modes, r->cells);
        list[0].seconds = 0;
        return 1;
    }
    const int all_count = list_factors(finely, all);
    for (int i = 0; i < all_count; i++) {
        lmr_nufft_choice at;
        lmr_nufft_candidate mine = {all[i], INFINITY};
        int width;
        if (!lmr_nufft_first_width_on_grid(r, modes, all[i], &width) &&
            !lmr_nufft_set_cells(r, modes, all[i], r->width > 0 ? r->width : width + 1, at.cells)) {
            if (lmr_nufft_same_cells(at.cells, before)) continue;
            for (int d = 0; d < 3; d++) before[d] = at.cells[d];
            at.window.width = r->width > 0 ? r->width : width + 1;
            mine.seconds = lmr_nufft_predict(r, modes, &at);
        }
        lmr_nufft_insert(list, count++, mine);
    }
    return count;
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
    for (int width = r->width > 0 ? r->width : lmr_nufft_first_width(r->tol, factor); width <= last; width++) {
        lmr_nufft_evaluate_band(r, all, width, choice);
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

/* The least bound of a factor's windows, from the width for a loose tolerance to the one at which rounding is most of
 * it. */
static larmor_status least_of_factor(const lmr_nufft_request *r, const int64_t *modes, double upsample, double *least)
{
    const double all[3] = {upsample, upsample, upsample};
    const int first = r->width > 0 ? r->width : lmr_nufft_first_width(r->single ? 1e-3 : 1e-7, upsample);
    const int last = r->width > 0 ? r->width : LMR_WINDOW_MAX;
    for (int width = first; width <= last; width++) {
        lmr_nufft_choice choice = {.cells = {1, 1, 1}};
        if (modes) LMR_TRY(lmr_nufft_set_cells(r, modes, upsample, width, choice.cells));
        for (int d = 0; d < r->ndim && modes; d++)
            if (choice.cells[d] < 2 * width) return LARMOR_OK; /* no room on the grid that is asked for */
        if (modes)
            lmr_nufft_evaluate(r, modes, choice.cells, width, &choice);
        else
            lmr_nufft_evaluate_band(r, all, width, &choice);
        *least = fmin(*least, choice.bound);
        if (choice.rounding > choice.alias) break;
    }
    return LARMOR_OK;
}

static larmor_status least_of(const lmr_nufft_request *r, const int64_t *modes, double *least)
{
    const int open = modes && r->upsample <= 0 && r->cells[0] <= 0;
    *least = INFINITY;
    for (int i = 0; i < (open ? LMR_NUFFT_FACTORS : 1); i++)
        LMR_TRY(least_of_factor(r, modes, open ? lmr_nufft_factors[i] : band_factor(r), least));
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

larmor_status lmr_nufft_out_of_reach(const lmr_nufft_request *r, double least)
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
    if (r->width <= 0 && r->cells[0] <= 0) return lmr_nufft_out_of_reach(r, least);
    const int width = nearest_width(r, modes);
    LMR_REFUSE(width, LARMOR_ERR_NUMERIC,
               "nufft: width: got %d, which keeps %.0e at best, and tol is %.3g; use %d, or leave it 0", r->width,
               round_up(least), r->tol, width);
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
    const lmr_nufft_rates rates = lmr_nufft_rates_of(r);
    if (lmr_nufft_recall(r, &rates, modes, choice)) return LARMOR_OK;
    LMR_TRY(choose(r, modes, choice));
    lmr_nufft_remember(r, &rates, modes, choice);
    return LARMOR_OK;
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
        LMR_REFUSE(d < r->ndim && choice->cells[d] < 2 * width, LARMOR_ERR_ARG,
                   "nufft: modes[%d]: got %lld with spread_only, expected at least %d, twice the window; use a %s", d,
                   (long long)choice->cells[d], 2 * width, r->width ? "smaller width" : "larger tol");
    }
    return LARMOR_OK;
}

/* ---- batches ---- */

enum { MOST_PER_PASS = 8 };
static const int64_t most_workspace = INT64_C(256) << 20;

int64_t lmr_nufft_per_pass(int64_t batch, int64_t grid, int64_t most)
{
    int64_t per_pass = most_workspace / grid;
    per_pass = most > 0 ? most : lmr_clamp(per_pass, 1, MOST_PER_PASS);
    const int64_t passes = batch / per_pass + (batch % per_pass > 0);
    return batch / passes + (batch % passes > 0);
}
