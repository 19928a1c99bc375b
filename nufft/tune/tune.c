/* Timing plans against each other: a table of candidates, each run a few times, is filled one axis after the other
 * (grids, methods, batches, tiles, forms of precomputation), always from its best entries on. The upper part of the
 * table is run again, and the best few are compared with the best one. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/tune/tune.h"

#include "core/core.h"
#include "nufft/tune/race.h"
#include "nufft/tune/survey.h"
#include "nufft/tune/wisdom.h"

/* MEASURE: grids that the model puts within this factor of the best, so many of them. */
static const double promising = 2;
enum { PROMISING = 24 };
static const double step = 1.05; /* EXHAUSTIVE: between the upsampling factors of wider windows */
/* By effort: entries from which an axis is varied, and those that are compared with the best at the end. */
static const int seeds_of[] = {0, 3, 6}, compared_of[] = {0, 4, 8};
enum { MOST_BATCH = 32 }; /* transforms that share a pass */
enum { MOST_SEEDS = 6, MOST_COMPARED = 8, MOST_VARIANTS = 8, MOST_CANDIDATES = 512 };

/* ---- grids ---- */

static int add_factor(const lmr_nufft_request *r, const int64_t modes[3], double factor, int wider,
                      lmr_tune_grid *grid)
{
    lmr_nufft_choice choice;
    int kept = 0;
    if (lmr_nufft_narrowest(r, modes, factor, &choice, &kept) || !kept) return 0;
    if (wider && !lmr_nufft_choose_at(r, modes, choice.cells, choice.window.width + 1, &choice)) return 0;
    for (int d = 0; d < 3; d++) grid->cells[d] = choice.cells[d];
    grid->width = choice.window.width;
    grid->seconds = lmr_nufft_predict(r, modes, &choice);
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
    int64_t per_pass; /* transforms that share a pass, as the way has it */
    double seconds;
} candidate;

typedef struct trial {
    const lmr_nufft_device *on;
    const larmor_nufft_opts *opts;
    const larmor_array *points;
    int64_t m;
    int effort, grid_count, count;
    lmr_nufft_choice *choices; /* the grids */
    candidate *table;          /* what was timed, the quickest first */
    larmor_array *in, *out;
    larmor_timer *timer, *clock; /* of a run, and of the whole search */
    double longest;              /* seconds that a candidate took so far, with making it */
    lmr_nufft_plan *plan;        /* of the best candidate, with the points; NULL before */
    candidate best;
    larmor_status left_out; /* why something was: it does not matter if anything else is in */
} trial;

/* An execute of a plan, and its adjoint where both are to be quick. */
typedef struct runner {
    const trial *t;
    const lmr_nufft_plan *plan;
} runner;

static larmor_status execute(void *self)
{
    const runner *r = self;
    LMR_TRY(lmr_nufft_plan_execute(r->plan, 0, r->t->in, r->t->out));
    return r->t->opts->both_directions ? lmr_nufft_plan_execute(r->plan, 1, r->t->out, r->t->in) : LARMOR_OK;
}

static larmor_status make_grids(trial *t, const lmr_nufft_request *r)
{
    lmr_tune_grid grids[LMR_TUNE_GRIDS];
    const int count = lmr_tune_grids(r, t->opts->modes, t->effort, grids);
    for (int i = 0; i < count; i++)
        t->grid_count +=
            lmr_nufft_choose_at(r, t->opts->modes, grids[i].cells, grids[i].width, &t->choices[t->grid_count]);
    return t->grid_count ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_NUMERIC, "nufft: no grid keeps tolerance %.3g", r->tol);
}

static larmor_status begin(trial *t, const lmr_nufft_request *r)
{
    const larmor_nufft_opts *o = t->opts;
    larmor_device *dev = t->on->dev;
    int64_t modes = 1;
    for (int d = 0; d < o->ndim; d++) modes *= o->modes[d];
    const int64_t from = o->type == 1 ? t->m : modes;
    const int64_t to = o->type == 1 ? modes : t->m;
    t->choices = malloc(LMR_TUNE_GRIDS * sizeof *t->choices);
    t->table = malloc(MOST_CANDIDATES * sizeof *t->table);
    if (!t->choices || !t->table) return LMR_NO_MEMORY();
    LMR_TRY(make_grids(t, r));
    LMR_TRY(larmor_timer_create(dev, &t->timer));
    LMR_TRY(larmor_timer_create(dev, &t->clock));
    LMR_TRY(larmor_array_create(dev, o->dtype, LARMOR_SHAPE(from, o->batch), &t->in));
    LMR_TRY(larmor_array_create(dev, o->dtype, LARMOR_SHAPE(to, o->batch), &t->out));
    LMR_TRY(dev->be->vec[t->on->precision]->random(dev->ctx, from * o->batch, 1, t->in->data));
    return larmor_timer_start(t->clock);
}

static void end(trial *t)
{
    larmor_timer_free(t->timer);
    larmor_timer_free(t->clock);
    LMR_FREE(t->in, t->out);
    lmr_nufft_plan_free(t->plan);
    LMR_FREE(t->choices, t->table);
}

/* ---- timing ---- */

static larmor_status make(const trial *t, const candidate *c, lmr_nufft_plan **plan)
{
    LMR_TRY(lmr_nufft_plan_make(t->on, t->opts, &t->choices[c->grid], &c->way, plan));
    const larmor_status st = lmr_nufft_plan_set_points(*plan, t->points, t->m);
    if (!st) return LARMOR_OK;
    lmr_nufft_plan_free(*plan);
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
static void replace_best(trial *t, const candidate *c, lmr_nufft_plan *plan)
{
    lmr_nufft_plan_free(t->plan);
    t->plan = plan;
    t->best = *c;
}

static int is_known(const trial *t, const candidate *c)
{
    for (int i = 0; i < t->count; i++) {
        const candidate *other = &t->table[i];
        if (other->grid == c->grid && other->per_pass == c->per_pass && other->way.method == c->way.method &&
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

/* The least of its times so far and of a new one. */
static larmor_status time_candidate(trial *t, candidate *c)
{
    lmr_nufft_plan *plan;
    double seconds;
    LMR_TRY(make(t, c, &plan));
    runner self = {t, plan};
    const larmor_status st =
        lmr_race_time(t->timer, (lmr_run){execute, &self}, t->plan ? t->best.seconds : INFINITY, &seconds);
    if (!st) c->seconds = fmin(c->seconds, seconds);
    if (!st && (!t->plan || seconds < t->best.seconds))
        replace_best(t, c, plan);
    else
        lmr_nufft_plan_free(plan);
    return st;
}

/* Time it if it is new and there is time. */
static larmor_status try_candidate(trial *t, candidate c)
{
    double before, after;
    int late = 0;
    int64_t grid = (int64_t)larmor_dtype_size(t->opts->dtype);
    for (int d = 0; d < 3; d++) grid *= t->choices[c.grid].cells[d];
    c.per_pass = lmr_nufft_per_pass(t->opts->batch, grid, c.way.max_batch);
    if (is_known(t, &c)) return LARMOR_OK;
    if (t->plan) LMR_TRY(is_late(t, t->longest, lmr_race_budget_alone(t->effort), &late));
    if (late) return LARMOR_OK;
    LMR_TRY(larmor_timer_stop(t->clock, &before));
    c.seconds = INFINITY;
    const larmor_status st = time_candidate(t, &c);
    if (st) return leave_out(t, st);
    insert_candidate(t, &c);
    LMR_TRY(larmor_timer_stop(t->clock, &after));
    t->longest = fmax(t->longest, after - before);
    return LARMOR_OK;
}

/* ---- axes: candidates that differ from one in a single thing; how many ---- */

typedef int (*axis)(const trial *t, const candidate *from, candidate to[MOST_VARIANTS]);

/* Where the device has several and the options leave it open. */
static int vary_method(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    int count = 0;
    if (!t->on->kernels->has_methods || t->opts->method) return 0;
    for (lmr_nufft_method m = LMR_NUFFT_AUTO; m <= LMR_NUFFT_OWNER; m++) {
        if (m == LMR_NUFFT_GM && t->opts->sort == LARMOR_NUFFT_SORT_ON) continue;
        to[count] = *from;
        to[count++].way.method = m;
    }
    return count;
}

static int vary_tiles(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    if (t->opts->tiles || !t->on->kernels->has_shapes(t->opts->ndim, from->way.method)) return 0;
    for (int i = 0; i < LMR_NUFFT_SHAPES; i++) {
        to[i] = *from;
        to[i].way.tiles = i;
    }
    return LMR_NUFFT_SHAPES;
}

static int vary_batch(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    const int64_t batch = t->opts->batch;
    int count = 0;
    for (int64_t most = 1; most <= MOST_BATCH && most < 2 * batch && !t->opts->max_batch; most *= 2) {
        to[count] = *from;
        to[count++].way.max_batch = most < batch ? most : batch;
    }
    return count;
}

/* Within the memory that the options grant; products that are stored keep less. */
static int vary_form(const trial *t, const candidate *from, candidate to[MOST_VARIANTS])
{
    int count = 0;
    for (larmor_precompute form = LARMOR_PRECOMPUTE_PARTIAL; form <= LARMOR_PRECOMPUTE_FULL; form++)
        if (t->opts->precompute == LARMOR_PRECOMPUTE_AUTO &&
            (form < LARMOR_PRECOMPUTE_FULL || t->choices[from->grid].full_bound <= t->opts->tol)) {
            to[count] = *from;
            to[count++].way.precompute = form;
        }
    return count;
}

/* Along the axis from the best entries that are not much slower; apart: from the best one of each method. */
static larmor_status vary(trial *t, axis along, int most, int apart)
{
    candidate seeds[MOST_SEEDS], variants[MOST_VARIANTS];
    int count = 0;
    unsigned seen = 0;
    for (int i = 0; i < t->count && count < most; i++) {
        const unsigned method = 1U << t->table[i].way.method;
        if (t->table[i].seconds > lmr_race_slow * t->table[0].seconds) break;
        if (apart && seen & method) continue;
        seeds[count++] = t->table[i];
        seen |= method;
    }
    for (int i = 0; i < count; i++) {
        const int n = along(t, &seeds[i], variants);
        for (int k = 0; k < n; k++) LMR_TRY(try_candidate(t, variants[k]));
    }
    return LARMOR_OK;
}

/* ---- the search ---- */

static larmor_status try_grids(trial *t, lmr_nufft_method method)
{
    lmr_nufft_way way = lmr_nufft_way_of(t->on->kernels, t->opts);
    way.method = method;
    for (int i = 0; i < t->grid_count; i++) LMR_TRY(try_candidate(t, (candidate){.grid = i, .way = way}));
    return LARMOR_OK;
}

/* Grids by the method that is automatic or asked for, methods for the best grids, grids again by the best method; an
 * exhaustive search takes all by all. */
static larmor_status search(trial *t)
{
    const int seeds = seeds_of[t->effort];
    LMR_TRY(try_grids(t, (lmr_nufft_method)t->opts->method));
    if (!t->plan) return t->left_out;
    LMR_TRY(vary(t, vary_method, seeds, 0));
    candidate all[MOST_VARIANTS];
    const int methods = t->effort == LARMOR_PLAN_EXHAUSTIVE ? vary_method(t, &t->best, all) : 0;
    for (int i = 0; i < methods; i++) LMR_TRY(try_grids(t, all[i].way.method));
    LMR_TRY(try_grids(t, t->best.way.method));
    LMR_TRY(vary(t, vary_batch, seeds, 1));
    LMR_TRY(vary(t, vary_tiles, seeds, 0));
    return vary(t, vary_form, 1, 0);
}

/* The upper part of the table once more: what was timed while the machine was busy gets another chance. */
static larmor_status time_again(trial *t)
{
    candidate upper[2 * MOST_COMPARED];
    int count = 0, late = 0;
    for (; count < t->count && count < 2 * compared_of[t->effort]; count++) {
        if (t->table[count].seconds > lmr_race_slow * t->table[0].seconds) break;
        upper[count] = t->table[count];
    }
    t->count -= count;
    for (int i = 0; i < t->count; i++) t->table[i] = t->table[i + count];
    for (int i = 0; i < count; i++) {
        if (!late) LMR_TRY(is_late(t, t->longest, lmr_race_budget_alone(t->effort), &late));
        if (!late) LMR_TRY(leave_out(t, time_candidate(t, &upper[i])));
        insert_candidate(t, &upper[i]);
    }
    return LARMOR_OK;
}

/* The best against another one, which takes its place if it is quicker. */
static larmor_status compare(trial *t, candidate other)
{
    lmr_nufft_plan *plan;
    larmor_status st = make(t, &other, &plan);
    if (st) return leave_out(t, st);
    runner best = {t, t->plan}, mine = {t, plan};
    const lmr_run runs[2] = {{execute, &best}, {execute, &mine}};
    double seconds[2] = {t->best.seconds, other.seconds};
    st = execute(&mine); /* cold */
    if (!st) st = lmr_race_compare(t->timer, runs, seconds);
    t->best.seconds = seconds[0];
    other.seconds = seconds[1];
    if (!st && seconds[1] < seconds[0])
        replace_best(t, &other, plan);
    else
        lmr_nufft_plan_free(plan);
    return st;
}

static larmor_status compare_best(trial *t)
{
    const candidate first = t->best;
    int late = 0;
    for (int i = 1; i < t->count && i <= compared_of[t->effort]; i++) {
        if (t->table[i].seconds > lmr_race_close * first.seconds) break;
        LMR_TRY(is_late(t, t->longest + 10 * first.seconds, lmr_race_budget(t->effort), &late));
        if (late) break;
        LMR_TRY(compare(t, t->table[i]));
    }
    return LARMOR_OK;
}

/* ---- wisdom ---- */

static larmor_status key_of(const lmr_nufft_device *on, const larmor_nufft_opts *o, const larmor_array *points,
                            int64_t m, lmr_wisdom_key *key)
{
    lmr_survey survey;
    LMR_TRY(lmr_survey_points(o->ndim, o->modes, points, m, &survey));
    *key = (lmr_wisdom_key){.types = o->both_directions ? 3 : o->type,
                            .ndim = o->ndim,
                            .precision = on->precision,
                            .threads = on->threads,
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
static int is_allowed(const trial *t, const lmr_nufft_request *r, const lmr_wisdom_plan *known)
{
    const larmor_nufft_opts *o = t->opts;
    lmr_nufft_choice by_factor;
    if (!t->on->kernels->has_methods && known->method != LMR_NUFFT_AUTO) return 0;
    if (o->tiles && known->tiles != o->tiles - 1) return 0;
    if (o->method && known->method != (int)o->method) return 0;
    if (o->sort == LARMOR_NUFFT_SORT_ON && known->method == LMR_NUFFT_GM) return 0;
    if (o->max_batch && known->max_batch != o->max_batch) return 0;
    if (o->upsample > 0 && lmr_nufft_choose(r, o->modes, &by_factor)) return 0;
    for (int d = 0; d < 3 && o->upsample > 0; d++)
        if (known->cells[d] != by_factor.cells[d]) return 0;
    return o->precompute ? known->precompute == (int)o->precompute : known->precompute != LARMOR_PRECOMPUTE_AUTO;
}

/* best->plan NULL if nothing is known, or nothing that keeps the tolerance and, for these points, the memory. */
static larmor_status from_wisdom(const trial *of, const lmr_nufft_request *r, const lmr_wisdom_key *key,
                                 lmr_tuned *best)
{
    trial t = *of;
    lmr_nufft_choice choice;
    const lmr_wisdom_plan *known = lmr_wisdom_find(t.on->dev, key, t.effort);
    if (!known || !is_allowed(&t, r, known) ||
        !lmr_nufft_choose_at(r, t.opts->modes, known->cells, known->width, &choice))
        return LARMOR_OK;
    if (r->lattice && !r->width && choice.lattice_bound > r->tol) return LARMOR_OK; /* found for other points */
    if (known->precompute == LARMOR_PRECOMPUTE_FULL && choice.full_bound > r->tol) return LARMOR_OK;
    t.choices = &choice;
    const candidate c = {.way = {(lmr_nufft_method)known->method, known->tiles, known->max_batch,
                                 (larmor_precompute)known->precompute}};
    const larmor_status st = make(&t, &c, &best->plan);
    if (st) return st == LARMOR_ERR_MEMORY || st == LARMOR_ERR_UNSUPPORTED ? LARMOR_OK : st;
    best->source = LARMOR_PLAN_BY_WISDOM;
    best->seconds = known->seconds;
    return LARMOR_OK;
}

static void keep(const trial *t, const lmr_wisdom_key *key)
{
    const candidate *c = &t->best;
    lmr_wisdom_plan plan = {.effort = t->effort,
                            .width = t->choices[c->grid].window.width,
                            .method = (int)c->way.method,
                            .tiles = c->way.tiles,
                            .max_batch = c->way.max_batch,
                            .precompute = (int)c->way.precompute,
                            .seconds = c->seconds};
    for (int d = 0; d < 3; d++) plan.cells[d] = t->choices[c->grid].cells[d];
    lmr_wisdom_add(t->on->dev, key, &plan);
}

static larmor_status tune(const lmr_nufft_device *on, const larmor_nufft_opts *o, const lmr_nufft_request *request,
                          const larmor_array *points, int64_t m, lmr_tuned *best)
{
    LMR_FREED_BY(end) trial t = {.on = on, .opts = o, .points = points, .m = m, .effort = (int)o->effort};
    lmr_wisdom_key key;
    *best = (lmr_tuned){.source = LARMOR_PLAN_BY_MEASUREMENT};
    LMR_TRY(key_of(on, o, points, m, &key));
    LMR_TRY(from_wisdom(&t, request, &key, best));
    if (best->plan) return LARMOR_OK;
    LMR_TRY(begin(&t, request));
    LMR_TRY(search(&t));
    LMR_TRY(time_again(&t));
    LMR_TRY(compare_best(&t));
    keep(&t, &key);
    best->plan = t.plan;
    best->seconds = t.best.seconds;
    best->tried = t.count;
    t.plan = NULL;
    return LARMOR_OK;
}

/* One at a time on a device: what is known of it stays as it is, and nothing else is timed meanwhile. */
larmor_status lmr_tune(const lmr_nufft_device *on, const larmor_nufft_opts *o, const lmr_nufft_request *request,
                       const larmor_array *points, int64_t m, lmr_tuned *best)
{
    LMR_TRY(lmr_gate_enter(&on->dev->gate));
    const larmor_status st = tune(on, o, request, points, m, best);
    lmr_gate_leave(&on->dev->gate);
    return st;
}

/* ---- memory ---- */

/* Whether the search tries a form of precomputation. */
static int is_tried(const lmr_nufft_device *on, const larmor_nufft_opts *o, const lmr_nufft_geometry *g,
                    larmor_precompute form, double points)
{
    const lmr_precompute_kernels *kernels = lmr_precompute_kernels_of(on->dev, on->precision);
    const lmr_precompute_size s = lmr_precompute_size_of(on, g, (int64_t)points);
    if (o->precompute) return form == o->precompute;
    return form == LARMOR_PRECOMPUTE_NONE ||
           (kernels && lmr_precompute_bytes(kernels, &s, form) <= o->precompute_memory);
}

/* Over the tiles and forms that are tried. */
static larmor_status grid_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *o,
                                const lmr_nufft_choice *choice, lmr_nufft_way way, double points, double *most)
{
    lmr_nufft_geometry g;
    const int shapes = o->tiles ? 1 : LMR_NUFFT_SHAPES;
    LMR_TRY(lmr_nufft_plan_sizes(on, o, choice, &way, &g));
    for (int shape = 0; shape < shapes; shape++)
        for (larmor_precompute form = LARMOR_PRECOMPUTE_NONE; form <= LARMOR_PRECOMPUTE_FULL; form++) {
            double bytes = 0;
            if (shapes > 1) way.tiles = shape;
            way.precompute = form;
            if (is_tried(on, o, &g, form, points)) LMR_TRY(lmr_nufft_plan_bytes(on, o, choice, &way, points, &bytes));
            *most = fmax(*most, bytes);
        }
    return LARMOR_OK;
}

/* Two plans are there at a time, with an input and an output of their own. */
larmor_status lmr_tune_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *o, const lmr_nufft_request *r,
                             double *most)
{
    const lmr_nufft_way way = lmr_nufft_way_of(on->kernels, o);
    lmr_nufft_way widest = way;
    lmr_tune_grid grids[LMR_TUNE_GRIDS];
    lmr_nufft_choice choice;
    double modes = 1;
    *most = 0;
    const int found = lmr_tune_grids(r, o->modes, LARMOR_PLAN_EXHAUSTIVE, grids);
    if (!o->max_batch) widest.max_batch = o->batch < MOST_BATCH ? o->batch : MOST_BATCH;
    for (int i = 0; i < found; i++) {
        if (!lmr_nufft_choose_at(r, o->modes, grids[i].cells, grids[i].width, &choice)) continue;
        LMR_TRY(grid_bytes(on, o, &choice, way, r->points, most));
        LMR_TRY(grid_bytes(on, o, &choice, widest, r->points, most));
    }
    for (int d = 0; d < o->ndim; d++) modes *= (double)o->modes[d];
    *most = 2 * *most + (double)larmor_dtype_size(o->dtype) * (double)o->batch * (r->points + modes);
    return LARMOR_OK;
}
