/* From a tolerance to the two grids of a type 3: points onto the outer one, from there by a type 2 with the inner
 * one. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/choose/choose.h"
#include "nufft/choose/parts.h"

static const double most_upsample = 2.5; /* more does not help */
/* Of the tolerance; errors add in squares, widths are whole numbers, and both errors scatter. */
static const double outer_share = 0.55;
static const double inner_share[2] = {0.85,
                                      0.9}; /* [single]: there rounding, which hardly scatters, has most of it */
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
    LMR_REFUSE(!(total < 0x1p53 && longest < 0x1p38), LARMOR_ERR_MEMORY,
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
    for (int width = lmr_nufft_first_width(outer.tol, upsample); width <= LMR_WINDOW_MAX && !*kept; width++) {
        LMR_TRY(set_outer_cells(r->ndim, product, upsample, width, c));
        lmr_nufft_evaluate_band(&outer, c->upsample, width, &c->outer);
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
    const lmr_nufft_rates rates = lmr_nufft_rates_of(r);
    const double width = lmr_nufft_first_width(r->tol, upsample) + 1;
    const double inner = r->upsample > 0 ? r->upsample : 1.5;
    lmr_nufft_work outer = lmr_nufft_work_of(r, 1), grid = outer;
    outer.width = (int)width;
    for (int d = 0; d < r->ndim; d++) {
        outer.cells[d] = fmax(upsample * fmax(product[d], 1) + width + 1, 2 * width);
        grid.cells[d] = fmax(inner * outer.cells[d], 2 * width);
        grid.modes[d] = outer.cells[d];
    }
    return lmr_nufft_cost_points(&rates, &outer, 1) + lmr_nufft_cost_grid(&rates, &grid);
}

/* The candidate outer factors, cheapest first. */
static int rank_pairs(const lmr_nufft_request *r, const double product[3],
                      lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES])
{
    int count = r->upsample > 0;
    list[0] = (lmr_nufft_candidate){r->upsample, 0};
    for (int i = 0; i < LMR_NUFFT_FACTORS && r->upsample <= 0; i++)
        if (lmr_nufft_factors[i] >= 1.25 && lmr_nufft_factors[i] <= 2) /* where inner_rounding was measured */
            lmr_nufft_insert(
                list, count++,
                (lmr_nufft_candidate){lmr_nufft_factors[i], pair_cost(r, product, lmr_nufft_factors[i])});
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
    return lmr_nufft_out_of_reach(r, least);
}
