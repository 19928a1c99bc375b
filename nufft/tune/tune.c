/* Timing plans against each other: a table of candidates, each run a few times, is filled one axis after the other
 * (grids, methods, batches, tiles, forms of precomputation), always from its best entries on; its upper part is run
 * again, and the best few meet in duels. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/tune/tune.h"

#include <math.h>
#include <stdlib.h>

#include "nufft/precompute.h"
#include "nufft/tune/race.h"
#include "nufft/tune/survey.h"
#include "nufft/tune/wisdom.h"

/* MEASURE: grids that the model puts within this factor of the best, so many of them. */
static const double promising = 2;
enum { PROMISING = 24 };
static const double step = 1.05; /* EXHAUSTIVE: between the upsampling factors of wider windows */
/* By effort: entries from which an axis is varied, and duels of the best at the end. */
static const int seeds_of[] = {0, 3, 6}, duels_of[] = {0, 4, 8};
enum { MOST_SEEDS = 6, MOST_DUELS = 8, MOST_VARIANTS = 8, MOST_CANDIDATES = 512 };

/* ---- grids ---- */

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
    const int factors = lmr_nufft_rank(r, modes, 1, list);
    for (int i = 0; i < factors; i++)
        if (add_factor(r, modes, list[i].upsample, 0, &mine)) count = insert(grids, count, &mine);
    if (effort == LARMOR_PLAN_MEASURE) {
        int most = 0;
        while (most < count && most < PROMISING && grids[most].seconds <= promising * grids[0].seconds) most++;
        return most;
    }
    const int fixed = r->upsample > 0 || r->cells[0] > 0;
    for (double factor = 1.15; factor <= 2.5 && !fixed; factor *= step)
        if (add_factor(r, modes, factor, 1, &mine)) count = insert(grids, count, &mine);
    if (fixed && add_factor(r, modes, list[0].upsample, 1, &mine)) count = insert(grids, count, &mine);
    return count;
}

/* ---- candidates ---- */

typedef struct candidate {
    int grid; /* of the trial's */
    lmr_nufft_way way;
    int64_t together; /* transforms that share a pass, by its way */
    double seconds;
} candidate;

typedef struct trial {
    const larmor_nufft *plan; /* whose options count */
    const larmor_array *points;
    int64_t m;
    int effort, grid_count, count;
    lmr_nufft_choice *choices; /* the grids */
    candidate *table;          /* what was timed, the quickest first */
    larmor_array *in, *out;
    larmor_timer *timer, *clock; /* of a run, and of the whole search */
    double dearest;              /* seconds of the longest screening so far */
    larmor_nufft *best;          /* of champion, with the points */
    candidate champion;
    larmor_status left_out; /* why something was: it does not matter if anything else is in */
} trial;

static int is_processor(const larmor_nufft *plan)
{
    return plan->info.threads > 0;
}

static larmor_status make_grids(trial *t, const lmr_nufft_request *r)
{
    lmr_tune_grid grids[LMR_TUNE_GRIDS];
    const int count = lmr_tune_grids(r, t->plan->opts.modes, t->effort, grids);
    for (int i = 0; i < count; i++)
        t->grid_count +=
            lmr_nufft_choose_at(r, t->plan->opts.modes, grids[i].cells, grids[i].width, &t->choices[t->grid_count]);
    return t->grid_count ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: no grid keeps tolerance %.3g", r->tol);
}

static larmor_status begin(trial *t, const lmr_nufft_request *r)
{
    const larmor_nufft *plan = t->plan;
    const larmor_nufft_opts *o = &plan->opts;
    const lmr_vec *vec = plan->dev->be->vec[plan->precision];
    const int64_t from = o->type == 1 ? t->m : plan->mode_count, to = o->type == 1 ? plan->mode_count : t->m;
    t->choices = malloc(LMR_TUNE_GRIDS * sizeof *t->choices), t->table = malloc(MOST_CANDIDATES * sizeof *t->table);
    if (!t->choices || !t->table) return LMR_NO_MEMORY();
    LMR_TRY(make_grids(t, r));
    LMR_TRY(larmor_timer_create(plan->dev, &t->timer));
    LMR_TRY(larmor_timer_create(plan->dev, &t->clock));
    LMR_TRY(larmor_array_create(plan->dev, o->dtype, LARMOR_SHAPE(from, o->batch), &t->in));
    LMR_TRY(larmor_array_create(plan->dev, o->dtype, LARMOR_SHAPE(to, o->batch), &t->out));
    LMR_TRY(vec->random(plan->dev->ctx, from * o->batch, 1, t->in->data));
    return larmor_timer_start(t->clock);
}

static void end(trial *t)
{
    larmor_timer_free(t->timer), larmor_timer_free(t->clock);
    larmor_array_free(t->in), larmor_array_free(t->out);
    larmor_nufft_free(t->best);
    free(t->choices), free(t->table);
}

/* ---- timing ---- */

static larmor_status make(const trial *t, const candidate *c, larmor_nufft **plan)
{
    LMR_TRY(lmr_nufft_make_beside(t->plan, &t->choices[c->grid], &c->way, plan));
    const larmor_status st = lmr_nufft_sort_points(*plan, t->points, t->m);
    if (!st) return LARMOR_OK;
    larmor_nufft_free(*plan);
    *plan = NULL;
    return st;
}

/* A device may have no room for a candidate, or no such method for it, as shared memory is too small for a wide
 * window. */
static larmor_status leave_out(trial *t, larmor_status st)
{
    if (st != LARMOR_ERR_MEMORY && st != LARMOR_ERR_UNSUPPORTED) return st;
    t->left_out = st;
    return LARMOR_OK;
}

static void insert_candidate(trial *t, const candidate *c)
{
    int at = t->count++;
    for (; at > 0 && t->table[at - 1].seconds > c->seconds; at--) t->table[at] = t->table[at - 1];
    t->table[at] = *c;
}

/* The plan is the trial's from now on. */
static void crown(trial *t, const candidate *c, larmor_nufft *plan)
{
    larmor_nufft_free(t->best);
    t->best = plan, t->champion = *c;
}

static int is_known(const trial *t, const candidate *c)
{
    for (int i = 0; i < t->count; i++) {
        const candidate *other = &t->table[i];
        if (other->grid == c->grid && other->together == c->together && other->way.method == c->way.method &&
            other->way.tiles == c->way.tiles && other->way.precompute == c->way.precompute)
            return 1;
    }
    return t->count == MOST_CANDIDATES;
}

static larmor_status is_late(const trial *t, double needed, double limit, int *late)
{
    double spent;
    LMR_TRY(larmor_timer_stop(t->clock, &spent));
    *late = spent + needed > limit;
    return LARMOR_OK;
}

/* The least of its times so far and of a new screening. */
static larmor_status time_candidate(trial *t, candidate *c)
{
    larmor_nufft *plan;
    double seconds;
    LMR_TRY(make(t, c, &plan));
    lmr_race_plan self = {plan, t->in, t->out};
    const larmor_status st = lmr_race_screen(t->timer, (lmr_run){lmr_race_execute, &self},
                                             t->best ? t->champion.seconds : INFINITY, &seconds);
    if (!st) c->seconds = fmin(c->seconds, seconds);
    if (!st && (!t->best || seconds < t->champion.seconds))
        crown(t, c, plan);
    else
        larmor_nufft_free(plan);
    return st;
}

/* Time it if it is new and there is time. */
static larmor_status screen(trial *t, candidate c)
{
    double before, after;
    int late = 0;
    int64_t grid = (int64_t)larmor_dtype_size(t->plan->opts.dtype);
    for (int d = 0; d < 3; d++) grid *= t->choices[c.grid].cells[d];
    c.together = lmr_nufft_together(t->plan->opts.batch, grid, c.way.max_batch);
    if (is_known(t, &c)) return LARMOR_OK;
    if (t->best) LMR_TRY(is_late(t, t->dearest, lmr_race_screening(t->effort), &late));
    if (late) return LARMOR_OK;
    LMR_TRY(larmor_timer_stop(t->clock, &before));
    c.seconds = INFINITY;
    const larmor_status st = time_candidate(t, &c);
    if (st) return leave_out(t, st);
    insert_candidate(t, &c);
    LMR_TRY(larmor_timer_stop(t->clock, &after));
    t->dearest = fmax(t->dearest, after - before);
    return LARMOR_OK;
}

/* ---- axes: candidates that differ from one in a single thing; how many ---- */

typedef int (*axis)(const trial *t, const candidate *from, candidate to[MOST_VARIANTS]);

/* On a GPU, where the options leave it open. */
static int vary_method(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    const larmor_nufft_opts *o = &t->plan->opts;
    int count = 0;
    for (lmr_nufft_method m = LMR_NUFFT_AUTO; m <= LMR_NUFFT_OWNER && !is_processor(t->plan) && !o->method; m++) {
        if (m == LMR_NUFFT_GM && o->sort == LARMOR_NUFFT_SORT_ON) continue;
        to[count] = *from, to[count++].way.method = m;
    }
    return count;
}

/* Where there are any: a GPU has none in the caller's own order, and in 1D only those of the method SM differ. */
static int vary_tiles(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    const larmor_nufft_opts *o = &t->plan->opts;
    const lmr_nufft_method method = from->way.method;
    const int vain = o->ndim == 1 ? method != LMR_NUFFT_SM : method == LMR_NUFFT_GM;
    if (o->tiles || (vain && !is_processor(t->plan))) return 0;
    for (int i = 0; i < LMR_NUFFT_SHAPES; i++) to[i] = *from, to[i].way.tiles = i;
    return LMR_NUFFT_SHAPES;
}

static int vary_batch(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    const int64_t batch = t->plan->opts.batch;
    int count = 0;
    for (int64_t most = 1; most <= 32 && most < 2 * batch && !t->plan->opts.max_batch; most *= 2)
        to[count] = *from, to[count++].way.max_batch = most < batch ? most : batch;
    return count;
}

/* Within the memory that the options grant. */
static int vary_form(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    int count = 0;
    for (larmor_precompute form = LARMOR_PRECOMPUTE_PARTIAL; form <= LARMOR_PRECOMPUTE_FULL; form++)
        if (t->plan->opts.precompute == LARMOR_PRECOMPUTE_AUTO) to[count] = *from, to[count++].way.precompute = form;
    return count;
}

/* Along the axis from the best entries that are not hopeless; apart: from the best one of each method. */
static larmor_status vary(trial *t, axis along, int most, int apart)
{
    candidate seeds[MOST_SEEDS], variants[MOST_VARIANTS];
    int count = 0;
    unsigned seen = 0;
    for (int i = 0; i < t->count && count < most; i++) {
        const unsigned method = 1U << t->table[i].way.method;
        if (t->table[i].seconds > lmr_race_hopeless * t->table[0].seconds) break;
        if (apart && seen & method) continue;
        seeds[count++] = t->table[i], seen |= method;
    }
    for (int i = 0; i < count; i++) {
        const int n = along(t, &seeds[i], variants);
        for (int k = 0; k < n; k++) LMR_TRY(screen(t, variants[k]));
    }
    return LARMOR_OK;
}

/* ---- the search ---- */

static larmor_status screen_grids(trial *t, lmr_nufft_method method)
{
    const larmor_nufft_opts *o = &t->plan->opts;
    const larmor_precompute form = o->precompute ? o->precompute : LARMOR_PRECOMPUTE_NONE;
    for (int i = 0; i < t->grid_count; i++)
        LMR_TRY(screen(t, (candidate){.grid = i, .way = {method, lmr_nufft_shape(o), o->max_batch, form}}));
    return LARMOR_OK;
}

/* Grids by the method that is automatic or asked for, methods for the best grids, grids again by the best method; an
 * exhaustive search takes all by all. */
static larmor_status search(trial *t)
{
    const int seeds = seeds_of[t->effort];
    LMR_TRY(screen_grids(t, (lmr_nufft_method)t->plan->opts.method));
    if (!t->best) return t->left_out;
    LMR_TRY(vary(t, vary_method, seeds, 0));
    candidate all[MOST_VARIANTS];
    const int methods = t->effort == LARMOR_PLAN_EXHAUSTIVE ? vary_method(t, &t->champion, all) : 0;
    for (int i = 0; i < methods; i++) LMR_TRY(screen_grids(t, all[i].way.method));
    LMR_TRY(screen_grids(t, t->champion.way.method));
    LMR_TRY(vary(t, vary_batch, seeds, 1));
    LMR_TRY(vary(t, vary_tiles, seeds, 0));
    return vary(t, vary_form, 1, 0);
}

/* The upper part of the table once more: who met a moment when the machine was busy gets another chance. */
static larmor_status screen_again(trial *t)
{
    candidate upper[2 * MOST_DUELS];
    int count = 0, late = 0;
    for (; count < t->count && count < 2 * duels_of[t->effort]; count++) {
        if (t->table[count].seconds > lmr_race_hopeless * t->table[0].seconds) break;
        upper[count] = t->table[count];
    }
    t->count -= count;
    for (int i = 0; i < t->count; i++) t->table[i] = t->table[i + count];
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < count; i++) {
        if (!st && !late) st = is_late(t, t->dearest, lmr_race_screening(t->effort), &late);
        if (!st && !late) st = leave_out(t, time_candidate(t, &upper[i]));
        insert_candidate(t, &upper[i]);
    }
    return st;
}

/* The champion against another one, which takes its place if it is quicker. */
static larmor_status duel(trial *t, candidate challenger)
{
    larmor_nufft *plan;
    larmor_status st = make(t, &challenger, &plan);
    if (st) return leave_out(t, st);
    lmr_race_plan mine = {t->best, t->in, t->out}, other = {plan, t->in, t->out};
    const lmr_run runs[2] = {{lmr_race_execute, &mine}, {lmr_race_execute, &other}};
    double seconds[2] = {t->champion.seconds, challenger.seconds};
    st = lmr_race_execute(&other); /* cold */
    if (!st) st = lmr_race_duel(t->timer, runs, seconds);
    t->champion.seconds = seconds[0], challenger.seconds = seconds[1];
    if (!st && seconds[1] < seconds[0])
        crown(t, &challenger, plan);
    else
        larmor_nufft_free(plan);
    return st;
}

static larmor_status final_duels(trial *t)
{
    const candidate first = t->champion;
    int late = 0;
    for (int i = 1; i < t->count && i <= duels_of[t->effort]; i++) {
        if (t->table[i].seconds > lmr_race_close * first.seconds) break;
        LMR_TRY(is_late(t, t->dearest + 10 * first.seconds, lmr_race_budget(t->effort), &late));
        if (late) break;
        LMR_TRY(duel(t, t->table[i]));
    }
    return LARMOR_OK;
}

/* ---- wisdom ---- */

static larmor_status key_of(const larmor_nufft *plan, const larmor_array *points, int64_t m, lmr_wisdom_key *key)
{
    const larmor_nufft_opts *o = &plan->opts;
    lmr_survey survey;
    LMR_TRY(lmr_survey_points(o->ndim, o->modes, points, m, &survey));
    *key = (lmr_wisdom_key){.types = o->both_directions ? 3 : o->type,
                            .ndim = o->ndim,
                            .precision = plan->precision,
                            .threads = plan->info.threads,
                            .modes = {1, 1, 1},
                            .batch = o->batch,
                            .max_batch = o->max_batch,
                            .tol = o->tol,
                            .upsample = o->upsample,
                            .grid = {o->grid[0], o->grid[1], o->grid[2]},
                            .width = o->width,
                            .tiles = o->tiles,
                            .method = (int)o->method,
                            .sort = (int)o->sort,
                            .precompute = (int)o->precompute,
                            .precompute_memory = o->precompute_memory,
                            .points_log2 = (int)floor(log2((double)m)),
                            .crowding = survey.crowding,
                            .ordered = survey.ordered};
    for (int d = 0; d < o->ndim; d++) key->modes[d] = o->modes[d];
    return LARMOR_OK;
}

/* A file may say anything: it is followed as far as the options and the device allow. */
static int is_allowed(const larmor_nufft *plan, const lmr_wisdom_plan *known)
{
    const larmor_nufft_opts *o = &plan->opts;
    if (is_processor(plan) && known->method != LMR_NUFFT_AUTO) return 0;
    if (o->tiles && known->tiles != o->tiles - 1) return 0;
    if (o->method && known->method != (int)o->method) return 0;
    if (o->sort == LARMOR_NUFFT_SORT_ON && known->method == LMR_NUFFT_GM) return 0;
    if (o->max_batch && known->max_batch != o->max_batch) return 0;
    for (int d = 0; d < 3 && o->upsample > 0; d++)
        if (known->cells[d] != plan->choice.cells[d]) return 0;
    return o->precompute ? known->precompute == (int)o->precompute : known->precompute != LARMOR_PRECOMPUTE_AUTO;
}

/* *best NULL if nothing is known, or nothing that keeps the tolerance and, for these points, the memory. */
static larmor_status from_wisdom(const larmor_nufft *plan, const lmr_nufft_request *r, const lmr_wisdom_key *key,
                                 const larmor_array *points, int64_t m, larmor_nufft **best)
{
    lmr_nufft_choice choice;
    *best = NULL;
    const lmr_wisdom_plan *known = lmr_wisdom_find(plan->dev, key, (int)plan->opts.effort);
    if (!known || !is_allowed(plan, known) ||
        !lmr_nufft_choose_at(r, plan->opts.modes, known->cells, known->width, &choice))
        return LARMOR_OK;
    const candidate c = {.way = {(lmr_nufft_method)known->method, known->tiles, known->max_batch,
                                 (larmor_precompute)known->precompute}};
    const larmor_status st = make(&(trial){.plan = plan, .points = points, .m = m, .choices = &choice}, &c, best);
    if (st) return st == LARMOR_ERR_MEMORY || st == LARMOR_ERR_UNSUPPORTED ? LARMOR_OK : st;
    (*best)->info.source = LARMOR_PLAN_BY_WISDOM, (*best)->info.seconds = known->seconds;
    return LARMOR_OK;
}

static void keep(const trial *t, const lmr_wisdom_key *key)
{
    const candidate *c = &t->champion;
    lmr_wisdom_plan plan = {.effort = t->effort,
                            .width = t->choices[c->grid].window.width,
                            .method = (int)c->way.method,
                            .tiles = c->way.tiles,
                            .max_batch = c->way.max_batch,
                            .precompute = (int)c->way.precompute,
                            .seconds = c->seconds};
    for (int d = 0; d < 3; d++) plan.cells[d] = t->choices[c->grid].cells[d];
    lmr_wisdom_add(t->plan->dev, key, &plan);
}

larmor_status lmr_nufft_tune(const larmor_nufft *plan, const larmor_array *points, int64_t m, larmor_nufft **best)
{
    const lmr_nufft_request request = lmr_nufft_request_of(plan, (double)m);
    lmr_wisdom_key key;
    *best = NULL;
    LMR_TRY(key_of(plan, points, m, &key));
    LMR_TRY(from_wisdom(plan, &request, &key, points, m, best));
    if (*best) return LARMOR_OK;
    trial t = {.plan = plan, .points = points, .m = m, .effort = (int)plan->opts.effort};
    larmor_status st = begin(&t, &request);
    if (!st) st = search(&t);
    if (!st) st = screen_again(&t);
    if (!st) st = final_duels(&t);
    if (!st) {
        keep(&t, &key);
        *best = t.best, t.best = NULL;
        (*best)->info.source = LARMOR_PLAN_BY_MEASUREMENT, (*best)->info.seconds = t.champion.seconds;
        (*best)->info.tried = t.count;
    }
    end(&t);
    return st;
}
