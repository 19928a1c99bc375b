/* Timing plans against each other. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/tune.h"

#include <math.h>

#include "nufft/cpu/tiles.h"
#include "nufft/wisdom.h"

/* Rounds of a duel: at least these, more where they are short, and twice as many where both are close. */
enum { ROUNDS = 3, MOST_ROUNDS = 8 };
static const double short_duel = 0.02; /* seconds */
static const double close_call = 1.08, hopeless = 1.5;
static const double better = 0.98; /* what a challenger needs, so that noise does not elect one */
/* MEASURE: what the model puts within this factor of the best, so many of them, for so many seconds. */
static const double promising = 1.6, budget[] = {0, 1, 60};
enum { PROMISING = 6 };
static const double least_run = 4e-4; /* seconds of a run: shorter executes are repeated */
static const double step = 1.05;      /* between the upsampling factors of an exhaustive search */

/* ---- what is tried ---- */

/* A grid and its way of work. */
typedef struct option {
    lmr_nufft_choice choice;
    lmr_nufft_way way;
} option;

static int add_factor(const lmr_nufft_request *r, const int64_t modes[3], double factor, int wider,
                      lmr_tune_grid *grid)
{
    lmr_nufft_choice choice;
    int kept = 0;
    if (lmr_nufft_narrowest(r, modes, factor, &choice, &kept) || !kept) return 0;
    if (wider && !lmr_nufft_choose_at(r, modes, choice.cells, choice.window.width + 1, &choice)) return 0;
    for (int d = 0; d < 3; d++) grid->cells[d] = choice.cells[d];
    grid->width = choice.window.width, grid->seconds = lmr_nufft_predict(r, modes, &choice);
    return 1;
}

static int is_new(const lmr_tune_grid *grids, int count, const lmr_tune_grid *mine)
{
    for (int i = 0; i < count; i++)
        if (grids[i].width == mine->width && grids[i].cells[0] == mine->cells[0] &&
            grids[i].cells[1] == mine->cells[1] && grids[i].cells[2] == mine->cells[2])
            return 0;
    return 1;
}

static int insert(lmr_tune_grid *grids, int count, const lmr_tune_grid *mine)
{
    if (count == LMR_TUNE_GRIDS || !is_new(grids, count, mine)) return count;
    int at = count;
    for (; at > 0 && grids[at - 1].seconds > mine->seconds; at--) grids[at] = grids[at - 1];
    grids[at] = *mine;
    return count + 1;
}

int lmr_tune_grids(const lmr_nufft_request *r, const int64_t modes[3], int effort,
                   lmr_tune_grid grids[LMR_TUNE_GRIDS])
{
    lmr_nufft_candidate list[LMR_NUFFT_CANDIDATES];
    lmr_tune_grid mine;
    int count = 0;
    const int factors = lmr_nufft_rank(r, modes, list);
    for (int i = 0; i < factors; i++)
        if (add_factor(r, modes, list[i].upsample, 0, &mine)) count = insert(grids, count, &mine);
    if (effort == LARMOR_PLAN_MEASURE) {
        int most = 0;
        while (most < count && most < PROMISING && grids[most].seconds <= promising * grids[0].seconds) most++;
        return most;
    }
    for (double factor = 1.15; factor <= 2.5 && r->upsample <= 0; factor *= step)
        for (int wider = 0; wider < 2; wider++)
            if (add_factor(r, modes, factor, wider, &mine)) count = insert(grids, count, &mine);
    if (r->upsample > 0 && add_factor(r, modes, r->upsample, 1, &mine)) count = insert(grids, count, &mine);
    return count;
}

/* ---- timing ---- */

typedef struct trial {
    const larmor_nufft *plan; /* whose options count */
    const larmor_array *points;
    int64_t m;
    larmor_array *values, *modes;
    larmor_timer *timer, *clock; /* of a run, and of the whole search */
    larmor_nufft *best;
    option best_option;
    double best_seconds;
    int tried, runs;
} trial;

static larmor_status make_trial(const larmor_nufft *plan, const larmor_array *points, int64_t m, trial *t)
{
    const larmor_nufft_opts *o = &plan->opts;
    const lmr_vec *vec = plan->dev->be->vec[plan->precision];
    *t = (trial){.plan = plan, .points = points, .m = m};
    LMR_TRY(larmor_timer_create(plan->dev, &t->timer));
    LMR_TRY(larmor_timer_create(plan->dev, &t->clock));
    LMR_TRY(larmor_array_create(plan->dev, o->dtype, LARMOR_SHAPE(m, o->batch), &t->values));
    LMR_TRY(larmor_array_create(plan->dev, o->dtype, LARMOR_SHAPE(plan->mode_count, o->batch), &t->modes));
    LMR_TRY(vec->random(plan->dev->ctx, m * o->batch, 1, t->values->data));
    LMR_TRY(vec->random(plan->dev->ctx, plan->mode_count * o->batch, 2, t->modes->data));
    return larmor_timer_start(t->clock);
}

static void end_trial(trial *t)
{
    larmor_timer_free(t->timer), larmor_timer_free(t->clock);
    larmor_array_free(t->values), larmor_array_free(t->modes);
    larmor_nufft_free(t->best);
}

static larmor_status run_once(const trial *t, larmor_nufft *plan)
{
    larmor_array *in = plan->opts.type == 1 ? t->values : t->modes,
                 *out = plan->opts.type == 1 ? t->modes : t->values;
    LMR_TRY(larmor_nufft_execute(plan, in, out));
    return plan->opts.both_directions ? larmor_nufft_execute_adjoint(plan, out, in) : LARMOR_OK;
}

/* Seconds of an execute: the mean of `repeats`. */
static larmor_status time_run(trial *t, larmor_nufft *plan, int repeats, double *seconds)
{
    LMR_TRY(larmor_timer_start(t->timer));
    for (int i = 0; i < repeats; i++) LMR_TRY(run_once(t, plan));
    LMR_TRY(larmor_timer_stop(t->timer, seconds));
    *seconds /= repeats, t->runs++;
    return LARMOR_OK;
}

static int repeats_for(double seconds)
{
    return seconds * 50 < least_run ? 50 : seconds < least_run ? (int)ceil(least_run / seconds) : 1;
}

static int rounds_for(double seconds)
{
    return (int)fmin(fmax(short_duel / seconds, ROUNDS), MOST_ROUNDS);
}

/* Both in turn; each time is the least of its runs. */
static larmor_status duel(trial *t, larmor_nufft *challenger, double *mine, double *other)
{
    const int repeats = repeats_for(fmin(*mine, *other)), rounds = rounds_for(repeats * (*mine + *other));
    double seconds;
    *mine = *other = INFINITY;
    for (int round = 0; round < 2 * rounds; round++) {
        if (round == rounds && !(*mine < close_call * *other && *other < close_call * *mine)) break;
        LMR_TRY(time_run(t, t->best, repeats, &seconds));
        *other = fmin(*other, seconds);
        LMR_TRY(time_run(t, challenger, repeats, &seconds));
        *mine = fmin(*mine, seconds);
    }
    return LARMOR_OK;
}

/* Whether there is time for another challenger. */
static larmor_status has_time(const trial *t, int *yes)
{
    double spent;
    LMR_TRY(larmor_timer_stop(t->clock, &spent));
    /* what another one takes: its first run and a duel */
    *yes = spent + (2 * ROUNDS + 2) * t->best_seconds < budget[t->plan->opts.effort];
    return LARMOR_OK;
}

/* Let a plan that has the points challenge the best so far; it is the trial's from now on. */
static larmor_status challenge(trial *t, const option *o, larmor_nufft *challenger)
{
    double mine, best = t->best_seconds;
    larmor_status st = time_run(t, challenger, 1, &mine); /* cold: it loads code and touches memory */
    if (!st) st = time_run(t, challenger, 1, &mine);
    if (!st && t->best && mine <= hopeless * best) st = duel(t, challenger, &mine, &best);
    if (!st && t->best && mine <= hopeless * t->best_seconds) t->best_seconds = best;
    t->tried++;
    if (st || (t->best && mine >= better * best)) {
        larmor_nufft_free(challenger);
        return st;
    }
    larmor_nufft_free(t->best);
    t->best = challenger, t->best_option = *o, t->best_seconds = mine;
    return LARMOR_OK;
}

/* What the memory has no room for is left out, as long as something is in. */
static larmor_status try_option(trial *t, const option *o)
{
    larmor_nufft *challenger;
    int yes = 1;
    if (t->best) LMR_TRY(has_time(t, &yes));
    if (!yes) return LARMOR_OK;
    larmor_status st = lmr_nufft_make_beside(t->plan, &o->choice, &o->way, &challenger);
    if (!st) {
        st = lmr_nufft_sort_points(challenger, t->points, t->m);
        if (!st) return challenge(t, o, challenger);
        larmor_nufft_free(challenger);
    }
    return st == LARMOR_ERR_MEMORY && t->best ? LARMOR_OK : st;
}

/* ---- the search ---- */

static int has_tiles(const larmor_nufft *plan)
{
    return plan->info.threads > 0;
}

/* Methods that the options leave open: on a GPU all of them. */
static int methods_of(const larmor_nufft *plan, int effort, lmr_nufft_method methods[5])
{
    methods[0] = plan->geometry.method;
    if (effort < LARMOR_PLAN_EXHAUSTIVE || has_tiles(plan) || plan->opts.method) return 1;
    int count = 1;
    for (lmr_nufft_method m = LMR_NUFFT_GM; m <= LMR_NUFFT_OWNER; m++)
        if (m != LMR_NUFFT_GM || plan->opts.sort != LARMOR_NUFFT_SORT_ON) methods[count++] = m;
    return count;
}

/* A method may not serve a case, as shared memory a wide window: then it is left out. */
static larmor_status try_method(trial *t, option *o, lmr_nufft_method method)
{
    o->way.method = method;
    const larmor_status st = try_option(t, o);
    return st == LARMOR_ERR_UNSUPPORTED && t->best ? LARMOR_OK : st;
}

static larmor_status search_grids(trial *t, const lmr_nufft_request *r)
{
    const larmor_nufft *plan = t->plan;
    const int effort = (int)plan->opts.effort;
    lmr_tune_grid grids[LMR_TUNE_GRIDS];
    lmr_nufft_method methods[5];
    const int count = lmr_tune_grids(r, plan->opts.modes, effort, grids), ways = methods_of(plan, effort, methods);
    for (int i = 0; i < count; i++) {
        option o = {.way.max_batch = plan->opts.max_batch};
        if (!lmr_nufft_choose_at(r, plan->opts.modes, grids[i].cells, grids[i].width, &o.choice)) continue;
        for (int k = 0; k < ways; k++) LMR_TRY(try_method(t, &o, methods[k]));
    }
    return LARMOR_OK;
}

/* Tiles and the batch, for the best grid. */
static larmor_status search_ways(trial *t)
{
    option o = t->best_option;
    const int64_t batch = t->plan->opts.batch;
    for (int tiles = 1; tiles < TILE_SHAPES && has_tiles(t->plan); tiles++) {
        o.way.tiles = tiles;
        LMR_TRY(try_option(t, &o));
    }
    o = t->best_option;
    for (int64_t most = 1; most <= 32 && batch > 1 && !t->plan->opts.max_batch; most *= 2) {
        o.way.max_batch = most < batch ? most : batch;
        if (o.way.max_batch != t->best->geometry.batch) LMR_TRY(try_option(t, &o));
        if (most >= batch) break;
    }
    return LARMOR_OK;
}

static lmr_wisdom_key key_of(const larmor_nufft *plan, int64_t m)
{
    const larmor_nufft_opts *o = &plan->opts;
    lmr_wisdom_key key = {.types = o->both_directions ? 3 : o->type,
                          .ndim = o->ndim,
                          .precision = plan->precision,
                          .threads = plan->info.threads,
                          .modes = {1, 1, 1},
                          .batch = o->batch,
                          .max_batch = o->max_batch,
                          .tol = o->tol,
                          .upsample = o->upsample,
                          .method = plan->geometry.method,
                          .points_log2 = (int)floor(log2((double)m))};
    for (int d = 0; d < o->ndim; d++) key.modes[d] = o->modes[d];
    return key;
}

/* *best NULL if nothing is known, or nothing that keeps the tolerance. */
static larmor_status from_wisdom(const larmor_nufft *plan, const lmr_nufft_request *r, const lmr_wisdom_key *key,
                                 const larmor_array *points, int64_t m, larmor_nufft **best)
{
    lmr_nufft_choice choice;
    *best = NULL;
    const lmr_wisdom_plan *known = lmr_wisdom_find(plan->dev, key, (int)plan->opts.effort);
    if (!known || !lmr_nufft_choose_at(r, plan->opts.modes, known->cells, known->width, &choice)) return LARMOR_OK;
    if (has_tiles(plan) ? known->method != LMR_NUFFT_AUTO : known->tiles != 0) return LARMOR_OK;
    const lmr_nufft_way way = {(lmr_nufft_method)known->method, known->tiles, known->max_batch};
    LMR_TRY(lmr_nufft_make_beside(plan, &choice, &way, best));
    const larmor_status st = lmr_nufft_sort_points(*best, points, m);
    if (st) {
        larmor_nufft_free(*best);
        *best = NULL;
        return st;
    }
    (*best)->info.source = LARMOR_PLAN_BY_WISDOM, (*best)->info.seconds = known->seconds;
    return LARMOR_OK;
}

static void keep(const trial *t, const lmr_wisdom_key *key)
{
    const option *o = &t->best_option;
    lmr_wisdom_plan plan = {.effort = (int)t->plan->opts.effort,
                            .width = o->choice.window.width,
                            .method = (int)o->way.method,
                            .tiles = o->way.tiles,
                            .max_batch = o->way.max_batch,
                            .seconds = t->best_seconds};
    for (int d = 0; d < 3; d++) plan.cells[d] = o->choice.cells[d];
    lmr_wisdom_add(t->plan->dev, key, &plan);
}

static larmor_status search(trial *t, const lmr_nufft_request *r)
{
    LMR_TRY(search_grids(t, r));
    if (!t->best) return LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: no grid keeps tolerance %.3g", r->tol);
    return search_ways(t);
}

larmor_status lmr_nufft_tune(const larmor_nufft *plan, const larmor_array *points, int64_t m, larmor_nufft **best)
{
    trial t;
    const lmr_nufft_request request = lmr_nufft_request_of(plan, (double)m);
    const lmr_wisdom_key key = key_of(plan, m);
    LMR_TRY(from_wisdom(plan, &request, &key, points, m, best));
    if (*best) return LARMOR_OK;
    larmor_status st = make_trial(plan, points, m, &t);
    if (!st) st = search(&t, &request);
    if (!st) {
        keep(&t, &key);
        *best = t.best, t.best = NULL;
        (*best)->info.source = LARMOR_PLAN_BY_MEASUREMENT, (*best)->info.seconds = t.best_seconds;
        (*best)->info.tried = t.tried;
    }
    end_trial(&t);
    return st;
}
