/* The NUFFT as callers see it: a handle asks choose/ or tune/ for a grid, hands the choice to plan.c or type3.c, and
 * runs what they made. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/nufft.h"

#include "core/core.h"
#include "core/gate.h"
#include "nufft/coordinates.h"
#include "nufft/options.h"
#include "nufft/plan.h"
#include "nufft/tune/survey.h"
#include "nufft/tune/tune.h"
#include "nufft/tune/wisdom.h"
#include "nufft/type3.h"

struct larmor_nufft {
    lmr_nufft_device on;
    larmor_nufft_opts opts; /* filled in */
    lmr_nufft_rates rates;
    lmr_nufft_choice choice; /* types 1 and 2: the grid, for so many points: */
    double chosen_for;
    int lattice;          /* 1: and for points on a lattice */
    lmr_nufft_plan *plan; /* types 1 and 2 once points are set */
    lmr_type3 *type3;     /* type 3 once points are set */
    larmor_nufft_info info;
    lmr_gate gate; /* around set_points and execute, whose grids serve one call at a time */
};

/* ---- create ---- */

/* The grid of types 1 and 2 for so many points by the model; 0: as many as modes. */
static larmor_status choose(const larmor_nufft *handle, double points, int lattice, lmr_nufft_choice *choice)
{
    const larmor_nufft_opts *o = &handle->opts;
    lmr_nufft_request request = lmr_nufft_request_of(o, points, &handle->rates);
    request.lattice = lattice;
    return o->spread_only ? lmr_nufft_choose_spreading(&request, o->modes, choice)
                          : lmr_nufft_choose(&request, o->modes, choice);
}

/* Seconds of an execute by the model. */
static double predict(const larmor_nufft *handle, double points, const lmr_nufft_choice *choice)
{
    const lmr_nufft_request request = lmr_nufft_request_of(&handle->opts, points, &handle->rates);
    return handle->opts.spread_only ? 0 : lmr_nufft_predict(&request, handle->opts.modes, choice);
}

/* Types 1 and 2: a grid for as many points as modes, so that errors come early and describe has something to say. */
static larmor_status outline(larmor_nufft *handle)
{
    const lmr_nufft_way way = lmr_nufft_way_of(handle->on.kernels, &handle->opts);
    lmr_nufft_geometry geometry;
    LMR_TRY(choose(handle, 0, 0, &handle->choice));
    LMR_TRY(lmr_nufft_plan_sizes(&handle->on, &handle->opts, &handle->choice, &way, &geometry));
    handle->info = lmr_nufft_plan_outline(&handle->on, &handle->opts, &handle->choice, &way, &geometry);
    handle->info.seconds = predict(handle, 0, &handle->choice);
    return LARMOR_OK;
}

/* What type 3 is tried with before its points and targets are known: how many there are, and their widths
 * multiplied. */
static const double usual_count = 1e6, usual_product[3] = {16, 16, 16};

/* Type 3 makes its grids when it knows the points; that the tolerance is within reach can be said before. */
static larmor_status outline_type3(larmor_nufft *handle)
{
    const lmr_nufft_request request = lmr_nufft_request_of(&handle->opts, usual_count, &handle->rates);
    const lmr_nufft_way way = lmr_nufft_way_of(handle->on.kernels, &handle->opts);
    lmr_type3_choice choice;
    LMR_TRY(lmr_type3_choose(&request, usual_product, usual_count, &choice));
    handle->info =
        (larmor_nufft_info){.threads = handle->on.threads, .tiles = way.tiles + 1, .precompute = way.precompute};
    return LARMOR_OK;
}

LMR_OWNS(larmor_nufft, larmor_nufft_free)

larmor_status larmor_nufft_create(larmor_device *dev, const larmor_nufft_opts *opts, larmor_nufft **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_nufft_create: plan is NULL");
    *out = NULL;
    LMR_REFUSE(!dev || !opts, LARMOR_ERR_ARG, "larmor_nufft_create: a device and options are needed");
    larmor_nufft_opts filled;
    LMR_TRY(lmr_nufft_fill_options(dev, opts, &filled));
    LMR_OWNED(larmor_nufft) *handle = calloc(1, sizeof *handle);
    if (!handle) return LMR_NO_MEMORY();
    handle->opts = filled;
    lmr_gate_init(&handle->gate);
    LMR_TRY(lmr_nufft_attach(dev, &filled, &handle->on));
    handle->rates = lmr_wisdom_rates(dev, handle->on.kernels, handle->on.precision, handle->on.threads);
    LMR_TRY(filled.type == 3 ? outline_type3(handle) : outline(handle));
    return LMR_HAND_ON(*out, handle);
}

larmor_status larmor_nufft_least_tol(const larmor_device *dev, const larmor_nufft_opts *opts, double *tol)
{
    LMR_REFUSE(!tol, LARMOR_ERR_ARG, "larmor_nufft_least_tol: tol is NULL");
    *tol = 0;
    LMR_REFUSE(!dev || !opts, LARMOR_ERR_ARG, "larmor_nufft_least_tol: a device and options are needed");
    larmor_nufft_opts any = {.type = 0}, filled;
    double least;
    LMR_TRY(lmr_nufft_read_options(opts, &any));
    any.tol = 0;
    LMR_TRY(lmr_nufft_fill_options(dev, &any, &filled));
    const lmr_nufft_request r = lmr_nufft_request_of(&filled, filled.type == 3 ? usual_count : 0, NULL);
    if (filled.type == 3)
        LMR_TRY(lmr_type3_least(&r, usual_product, usual_count, &least));
    else if (filled.spread_only)
        LMR_TRY(lmr_nufft_least_spreading(&r, &least));
    else
        LMR_TRY(lmr_nufft_least(&r, filled.modes, &least));
    LMR_REFUSE(!(least < 1), LARMOR_ERR_NUMERIC, "nufft: these options keep no tolerance below 1");
    *tol = least;
    return LARMOR_OK;
}

void larmor_nufft_free(larmor_nufft *handle)
{
    if (!handle) return;
    lmr_nufft_plan_free(handle->plan);
    lmr_type3_free(handle->type3);
    lmr_nufft_detach(&handle->on);
    lmr_gate_destroy(&handle->gate);
    free(handle);
}

larmor_nufft_info larmor_nufft_describe(const larmor_nufft *handle)
{
    return handle ? handle->info : (larmor_nufft_info){0};
}

/* ---- points ---- */

/* What the handle runs from now on; chosen_for: points, 0 where the model did not choose. */
static void keep_plan(larmor_nufft *handle, lmr_nufft_plan *plan, double chosen_for)
{
    if (plan != handle->plan) lmr_nufft_plan_free(handle->plan);
    handle->plan = plan;
    handle->choice = plan->choice;
    handle->chosen_for = chosen_for;
    handle->info = lmr_nufft_plan_describe(plan);
}

/* Types 1 and 2 by timing. */
static larmor_status tune(larmor_nufft *handle, const larmor_array *points, int64_t m, int lattice)
{
    lmr_nufft_request request = lmr_nufft_request_of(&handle->opts, (double)m, &handle->rates);
    request.lattice = lattice;
    lmr_tuned best;
    LMR_TRY(lmr_tune(&handle->on, &handle->opts, &request, points, m, &best));
    keep_plan(handle, best.plan, handle->chosen_for);
    handle->info.source = best.source;
    handle->info.seconds = best.seconds;
    handle->info.tried = best.tried;
    return LARMOR_OK;
}

static int same_grid(const lmr_nufft_choice *a, const lmr_nufft_choice *b)
{
    for (int d = 0; d < 3; d++)
        if (a->cells[d] != b->cells[d]) return 0;
    return a->window.width == b->window.width;
}

/* The grid by the model: that of the plan which is there, if it takes less than a tenth longer than the best. */
static larmor_status estimate(const larmor_nufft *handle, double m, int lattice, lmr_nufft_choice *choice,
                              double *chosen_for)
{
    const int suits = lattice <= handle->lattice;
    *choice = handle->choice;
    *chosen_for = handle->chosen_for;
    if (handle->opts.spread_only || (suits && (m == handle->chosen_for || handle->opts.upsample > 0)))
        return LARMOR_OK;
    lmr_nufft_choice best;
    LMR_TRY(choose(handle, m, lattice, &best));
    if (handle->plan && suits && predict(handle, m, choice) < 1.1 * predict(handle, m, &best)) return LARMOR_OK;
    *choice = best;
    *chosen_for = m;
    return LARMOR_OK;
}

/* Types 1 and 2 by the model; from: where coordinates lie, if points is NULL. */
static larmor_status set_points(larmor_nufft *handle, const larmor_array *points, const lmr_nufft_source *from,
                                int64_t m, int lattice)
{
    lmr_nufft_choice choice;
    double chosen_for;
    LMR_TRY(estimate(handle, m > 0 ? (double)m : 1, lattice, &choice, &chosen_for));
    lmr_nufft_plan *plan = handle->plan;
    const lmr_nufft_way way = plan ? plan->way : lmr_nufft_way_of(handle->on.kernels, &handle->opts);
    const int fits = plan && same_grid(&choice, &plan->choice);
    if (!fits) LMR_TRY(lmr_nufft_plan_make(&handle->on, &handle->opts, &choice, &way, &plan));
    const larmor_status st =
        points ? lmr_nufft_plan_set_points(plan, points, m) : lmr_nufft_plan_set_coordinates(plan, from, m);
    if (st) {
        if (!fits) lmr_nufft_plan_free(plan);
        return st;
    }
    keep_plan(handle, plan, chosen_for);
    handle->lattice = fits ? handle->lattice || lattice : lattice;
    handle->info.seconds = predict(handle, chosen_for, &choice);
    return LARMOR_OK;
}

static larmor_status make_type3(const larmor_nufft *handle, const lmr_type3_job *job, lmr_type3_tuned *best)
{
    lmr_nufft_request request = lmr_nufft_request_of(&handle->opts, (double)job->m, &handle->rates);
    const int ndim = handle->opts.ndim;
    lmr_type3_choice choice;
    *best = (lmr_type3_tuned){.source = LARMOR_PLAN_BY_MODEL};
    if (!job->m || !job->n) return lmr_type3_make(job, NULL, &best->type3);
    LMR_TRY(lmr_survey_ends(ndim, job->points, job->m, job->at.middle, job->at.half, request.at_ends));
    LMR_TRY(lmr_survey_ends(ndim, job->targets, job->n, job->to.middle, job->to.half, request.targets_at_ends));
    if (handle->opts.effort) return lmr_tune_type3(job, &request, best);
    LMR_TRY(lmr_type3_choose(&request, job->product, (double)job->n, &choice));
    return lmr_type3_make(job, &choice, &best->type3);
}

static larmor_status set_type3(larmor_nufft *handle, const larmor_array *points, const larmor_array *targets)
{
    lmr_type3_job job;
    lmr_type3_tuned best;
    LMR_TRY(lmr_type3_measure(&handle->on, &handle->opts, points, targets, &job));
    LMR_TRY(make_type3(handle, &job, &best));
    lmr_type3_free(handle->type3);
    handle->type3 = best.type3;
    handle->info = lmr_type3_describe(best.type3);
    handle->info.source = best.source;
    handle->info.seconds = best.seconds;
    handle->info.tried = best.tried;
    return LARMOR_OK;
}

static larmor_status set_type12(larmor_nufft *handle, const larmor_array *points)
{
    const larmor_nufft_opts *o = &handle->opts;
    int64_t m;
    int lattice;
    LMR_TRY(lmr_nufft_expect_points(&handle->on, o, "points", points, &m));
    LMR_TRY(lmr_survey_lattice(o->ndim, points, m, &lattice));
    return o->effort && !o->spread_only && m > 0 ? tune(handle, points, m, lattice)
                                                 : set_points(handle, points, NULL, m, lattice);
}

larmor_status larmor_nufft_set_points(larmor_nufft *handle, const larmor_array *points, const larmor_array *targets)
{
    LMR_REFUSE(!handle || !points, LARMOR_ERR_ARG, "larmor_nufft_set_points: a plan and points are needed");
    const larmor_nufft_opts *o = &handle->opts;
    LMR_REFUSE(o->type == 3 && !targets, LARMOR_ERR_ARG, "nufft: type 3 needs targets, got NULL");
    LMR_REFUSE(o->type != 3 && targets, LARMOR_ERR_ARG, "nufft: targets are for type 3 only, expected NULL");
    LMR_TRY(lmr_gate_enter(&handle->gate));
    const larmor_status st = o->type == 3 ? set_type3(handle, points, targets) : set_type12(handle, points);
    lmr_gate_leave(&handle->gate);
    return st;
}

/* Whether coordinates lie on a lattice, as the first of their points tell. */
static larmor_status survey_apart(int ndim, const larmor_array *const *coordinates, const double *scale, int *lattice)
{
    const int64_t m = larmor_array_count(coordinates[0]);
    const int64_t some = m < LMR_LATTICE ? m : LMR_LATTICE;
    larmor_array *first[3] = {NULL, NULL, NULL}, *points = NULL;
    larmor_status st = LARMOR_OK;
    for (int d = 0; d < ndim && !st; d++)
        st = larmor_array_wrap(coordinates[d]->dev, coordinates[d]->dtype, LARMOR_SHAPE(some),
                               lmr_mutable(coordinates[d]->data), NULL, NULL, &first[d]);
    if (!st) st = larmor_nufft_join_coordinates(ndim, (const larmor_array *const *)first, scale, &points);
    if (!st) st = lmr_survey_lattice(ndim, points, some, lattice);
    larmor_array_free(points);
    for (int d = 0; d < ndim; d++) larmor_array_free(first[d]);
    return st;
}

static larmor_status set_apart(larmor_nufft *handle, const larmor_array *const *coordinates, const double *scale)
{
    const int ndim = handle->opts.ndim;
    const int64_t m = larmor_array_count(coordinates[0]);
    lmr_nufft_source from = {.is_double = coordinates[0]->dtype == LARMOR_F64, .stride = 1};
    int64_t values;
    int lattice;
    LMR_REFUSE(!lmr_mul(m, handle->opts.batch * 2, &values), LARMOR_ERR_SHAPE, "nufft: %lld points are too many",
               (long long)m);
    for (int d = 0; d < ndim; d++) {
        from.first[d] = coordinates[d]->data;
        from.factor[d] = scale ? scale[d] : 1;
    }
    LMR_TRY(survey_apart(ndim, coordinates, scale, &lattice));
    return set_points(handle, NULL, &from, m, lattice);
}

/* By points in the plain layout. */
static larmor_status set_joined(larmor_nufft *handle, const larmor_array *const *coordinates, const double *scale)
{
    LMR_OWN(larmor_array, points, larmor_nufft_join_coordinates(handle->opts.ndim, coordinates, scale, &points));
    return larmor_nufft_set_points(handle, points, NULL);
}

larmor_status larmor_nufft_set_coordinates(larmor_nufft *handle, const larmor_array *const *coordinates,
                                           const double *scale)
{
    LMR_REFUSE(!handle, LARMOR_ERR_ARG, "larmor_nufft_set_coordinates: a plan is needed, got NULL");
    const larmor_nufft_opts *o = &handle->opts;
    LMR_REFUSE(o->type == 3, LARMOR_ERR_ARG,
               "larmor_nufft_set_coordinates: the plan is of type 3, which has targets, too; join both by "
               "larmor_nufft_join_coordinates");
    LMR_TRY(lmr_coordinates_check("larmor_nufft_set_coordinates", o->ndim, coordinates));
    LMR_REFUSE(coordinates[0]->dev != handle->on.dev, LARMOR_ERR_SHAPE,
               "larmor_nufft_set_coordinates: coordinates are %s, expected them on %s",
               lmr_describe(coordinates[0]).s, larmor_device_spec(handle->on.dev));
    if (o->effort || !lmr_nufft_plan_takes_coordinates(&handle->on, o)) return set_joined(handle, coordinates, scale);
    LMR_TRY(lmr_gate_enter(&handle->gate));
    const larmor_status st = set_apart(handle, coordinates, scale);
    lmr_gate_leave(&handle->gate);
    return st;
}

/* ---- points whose coordinates are in another order, or scaled ---- */

/* Coordinate d of a point is number order[d] of it times scale[d]. */
typedef struct columns {
    int ndim, order[3];
    double scale[3];
} columns;

/* taken [ndim, count] f64 of the first points, as the plan takes them. */
static larmor_status take_columns(const larmor_array *points, int64_t count, const columns *c, larmor_array **taken)
{
    const int64_t ndim = c->ndim;
    LMR_OWN(larmor_array, part,
            larmor_array_wrap(points->dev, points->dtype, LARMOR_SHAPE(ndim, count), lmr_mutable(points->data), NULL,
                              NULL, &part));
    LMR_OWN_MEMORY(double, from, larmor_array_download(part, LARMOR_F64, &from));
    LMR_HEAP LMR_NEW(double, to, ndim *count);
    for (int64_t j = 0; j < count; j++)
        for (int64_t d = 0; d < ndim; d++) to[ndim * j + d] = from[ndim * j + c->order[d]] * c->scale[d];
    return larmor_array_upload(points->dev, LARMOR_F64, LARMOR_SHAPE(ndim, count), LARMOR_F64, to, taken);
}

static larmor_status set_columns(larmor_nufft *handle, const larmor_array *points, const columns *c)
{
    const int ndim = c->ndim;
    const size_t number = larmor_dtype_size(points->dtype);
    lmr_nufft_source from = {.is_double = points->dtype == LARMOR_F64, .stride = ndim};
    int64_t m;
    int lattice;
    LMR_TRY(lmr_nufft_expect_points(&handle->on, &handle->opts, "points", points, &m));
    for (int d = 0; d < ndim; d++) {
        from.first[d] = (const char *)points->data + number * (size_t)c->order[d];
        from.factor[d] = c->scale[d];
    }
    LMR_OWN(larmor_array, some, take_columns(points, m < LMR_LATTICE ? m : LMR_LATTICE, c, &some));
    LMR_TRY(lmr_survey_lattice(ndim, some, larmor_array_count(some) / ndim, &lattice));
    return set_points(handle, NULL, &from, m, lattice);
}

larmor_status larmor_nufft_set_columns(larmor_nufft *handle, const larmor_array *points, const int *order,
                                       const double *scale)
{
    LMR_REFUSE(!handle || !points, LARMOR_ERR_ARG, "larmor_nufft_set_columns: a plan and points are needed");
    const larmor_nufft_opts *o = &handle->opts;
    LMR_REFUSE(o->type == 3, LARMOR_ERR_ARG,
               "larmor_nufft_set_columns: the plan is of type 3, which has targets, too");
    columns c = {.ndim = o->ndim};
    unsigned seen = 0;
    for (int d = 0; d < o->ndim; d++) {
        c.order[d] = order ? order[d] : d;
        c.scale[d] = scale ? scale[d] : 1;
        LMR_REFUSE(c.order[d] < 0 || c.order[d] >= o->ndim || seen >> c.order[d] & 1, LARMOR_ERR_ARG,
                   "larmor_nufft_set_columns: order[%d] is %d, expected each of 0 to %d once", d, c.order[d],
                   o->ndim - 1);
        seen |= 1u << c.order[d];
    }
    if (o->effort || !lmr_nufft_plan_takes_coordinates(&handle->on, o)) {
        int64_t m;
        LMR_TRY(lmr_nufft_expect_points(&handle->on, o, "points", points, &m));
        LMR_OWN(larmor_array, taken, take_columns(points, m, &c, &taken));
        return larmor_nufft_set_points(handle, taken, NULL);
    }
    LMR_TRY(lmr_gate_enter(&handle->gate));
    const larmor_status st = set_columns(handle, points, &c);
    lmr_gate_leave(&handle->gate);
    return st;
}

/* ---- execute ---- */

/* A plan of type 2 alone has no full form, and neither has one from before the device was set to be repeatable. */
static larmor_status expect_repeatable(const lmr_nufft_plan *plan, int adjoint)
{
    const larmor_device *dev = plan->on->dev;
    const int spreads = (plan->opts.type == 1) != adjoint;
    if (!dev->repeatable || !spreads || plan->precompute || lmr_device_is_processor(dev)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                    "nufft: this plan adds in any order, and %s is set to be repeatable; make the plan again, with "
                    "both_directions where its type is 2",
                    larmor_device_spec(dev));
}

static larmor_status run(const larmor_nufft *handle, int adjoint, const larmor_array *in, larmor_array *out)
{
    if (handle->type3) return lmr_type3_execute(handle->type3, adjoint, in, out);
    if (handle->plan) {
        LMR_TRY(expect_repeatable(handle->plan, adjoint));
        return lmr_nufft_plan_execute(handle->plan, adjoint, in, out);
    }
    return LMR_FAIL(LARMOR_ERR_ARG, "nufft: the plan has no points; call larmor_nufft_set_points first");
}

static larmor_status run_in_turn(larmor_nufft *handle, int adjoint, const larmor_array *in, larmor_array *out)
{
    LMR_REFUSE(!handle, LARMOR_ERR_ARG, "nufft: the plan is NULL");
    LMR_TRY(lmr_gate_enter(&handle->gate));
    const larmor_status st = run(handle, adjoint, in, out);
    lmr_gate_leave(&handle->gate);
    return st;
}

larmor_status larmor_nufft_execute(larmor_nufft *handle, const larmor_array *in, larmor_array *out)
{
    return run_in_turn(handle, 0, in, out);
}

larmor_status larmor_nufft_execute_adjoint(larmor_nufft *handle, const larmor_array *in, larmor_array *out)
{
    return run_in_turn(handle, 1, in, out);
}

/* ---- memory ---- */

/* Over the grids that the model may choose: for execute alone and with its adjoint, and for points on a lattice. */
static larmor_status most_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *opts, lmr_nufft_request *r,
                                double *most)
{
    const lmr_nufft_way way = lmr_nufft_way_of(on->kernels, opts);
    double bytes;
    *most = 0;
    for (int i = 0; i < 6; i++) {
        lmr_nufft_choice choice;
        r->types = i / 2;
        r->lattice = i % 2;
        LMR_TRY(opts->spread_only ? lmr_nufft_choose_spreading(r, opts->modes, &choice)
                                  : lmr_nufft_choose(r, opts->modes, &choice));
        LMR_TRY(lmr_nufft_plan_bytes(on, opts, &choice, &way, r->points, &bytes));
        *most = bytes > *most ? bytes : *most;
    }
    if (!opts->effort || opts->spread_only) return LARMOR_OK;
    LMR_TRY(lmr_tune_bytes(on, opts, r, &bytes));
    *most = bytes > *most ? bytes : *most;
    return LARMOR_OK;
}

static larmor_status most_type3_bytes(const lmr_nufft_device *on, const larmor_nufft_opts *opts,
                                      const lmr_nufft_request *r, double *most)
{
    const double product[3] = {(double)opts->modes[0], (double)opts->modes[1], (double)opts->modes[2]};
    lmr_type3_choice choice;
    LMR_TRY(lmr_type3_choose(r, product, r->points, &choice));
    return opts->effort ? lmr_tune_type3_bytes(on, opts, r, product, most)
                        : lmr_type3_bytes(on, opts, &choice, r->points, most);
}

larmor_status larmor_nufft_memory(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                  int64_t *bytes)
{
    LMR_REFUSE(!bytes, LARMOR_ERR_ARG, "larmor_nufft_memory: bytes is NULL");
    *bytes = 0;
    LMR_REFUSE(!dev || !opts || points < 0, LARMOR_ERR_ARG,
               "nufft memory: a device, options and a number of points are needed");
    larmor_nufft_opts filled;
    LMR_TRY(lmr_nufft_fill_options(dev, opts, &filled));
    for (int d = 0; d < filled.ndim; d++)
        LMR_REFUSE(
            filled.modes[d] < 1, LARMOR_ERR_ARG,
            "nufft memory: modes[%d]: got %lld, expected the widths of points and targets multiplied, at least 1", d,
            (long long)filled.modes[d]);
    const int precision = lmr_precision(filled.dtype);
    const lmr_nufft_device on = {.dev = lmr_mutable(dev),
                                 .ctx = dev->ctx,
                                 .precision = precision,
                                 .threads = dev->be->threads(dev->ctx),
                                 .kernels = lmr_nufft_kernels_of(dev, precision)};
    const lmr_nufft_rates rates =
        lmr_wisdom_rates(dev, on.kernels, precision, filled.threads ? filled.threads : on.threads);
    lmr_nufft_request request = lmr_nufft_request_of(&filled, points > 0 ? (double)points : 1, &rates);
    double total;
    LMR_TRY(filled.type == 3 ? most_type3_bytes(&on, &filled, &request, &total)
                             : most_bytes(&on, &filled, &request, &total));
    LMR_REFUSE(total > 0x1p60, LARMOR_ERR_ARG, "nufft: the modes are too many");
    *bytes = (int64_t)total;
    return LARMOR_OK;
}
