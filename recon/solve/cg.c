/* Conjugate gradients on the normal equations (Hestenes and Stiefel 1952). A model of a solver: it needs operators
 * and arrays alone. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/measure.h"
#include "recon/solve/solve.h"

enum {
    DEFAULT_ITERS = 12,
    FEW = 3,   /* last steps whose lengths say how x goes on, */
    MANY = 8,  /* so many where there are, and */
    POWER = 4, /* all of them, step j of k with the weight (j / k)^4: the later slow tails come, the more steps show
                * them. All three tuned on the grid of docs/solvers.md, where 2 and 4 do better than 6 and 8 */
};

/* Divergence, relative to the residual at x = 0, or to the start's where that is larger: far above the normal rise
 * and fall of residuals. */
#define DIVERGENCE_FACTOR 1e3
/* Of |p| |A^H A p|: what rounding makes of a product that should be positive. */
#define ROUNDING 1e-3
/* The last iterate is the best unless its residual is this much above the smallest. Not
 * measured: residuals of cg rise and fall. */
#define MAX_RESIDUAL_RATIO 2
/* The ratio of a step's length to that of the one before is taken for this at most: the rest of a sum of steps
 * that do not shrink is not known. */
#define MAX_STEP_RATIO 0.999
#define MIN_STEP_RATIO 0.1 /* the same where the iterations to come are counted */

/* The objective costs nothing more: a step takes alpha r^H M r from it. */

/* Weighted sums over steps: of 1, t, t^2, log l and t log l, t the steps since then and l their lengths. */
typedef struct trend {
    double one, t, tt, log, tlog;
} trend;

typedef struct state {
    larmor_array *r, *p, *q; /* residual, direction, (A^H A + lambda) p */
    larmor_array *best;      /* the iterate with the smallest residual, where that is not x */
    larmor_array *z;         /* M r; r itself without a preconditioner */
    larmor_op *M;
    double rhs, residual, best_residual, rz; /* rz: <r, M r> */
    double error;                            /* |M r|, or that of another map; INFINITY where it is not asked for */
    double length[MANY];                     /* of the last steps, the last one first; where change is asked for */
    trend all;                               /* of all steps' lengths */
    double said;                             /* by the last step, of what further ones change x by */
    double left, size;                       /* what they are expected to change x by; |x| */
    double done;                             /* the part of the iterations that the monitor was told of */
    double objective, best_objective;
    int iters;
    larmor_end end;
    lmr_state list; /* what of it goes from one step to the next */
} state;

static void list_state(larmor_array *x, state *s)
{
    lmr_state_begin(&s->list, "cg");
    LMR_STATE_ARRAYS(&s->list, x, s->r, s->p, s->best);
    LMR_STATE_NUMBERS(&s->list, &s->rhs, &s->residual, &s->best_residual, &s->rz, &s->error, &s->objective,
                      &s->best_objective);
    for (int i = 0; i < MANY; i++) LMR_STATE_NUMBERS(&s->list, &s->length[i]);
    LMR_STATE_NUMBERS(&s->list, &s->all.one, &s->all.t, &s->all.tt, &s->all.log, &s->all.tlog);
    LMR_STATE_NUMBERS(&s->list, &s->said, &s->left);
    LMR_STATE_COUNTS(&s->list, &s->iters);
}

/* q <- (A^H A + lambda) x; product <- x^H q */
static larmor_status normal(larmor_op *A, double lambda, const larmor_array *x, larmor_array *q, double *product)
{
    double both[2];
    LMR_TRY(larmor_op_normal(A, x, q));
    LMR_TRY(lambda > 0 ? lmr_add_dot(lambda, x, q, both) : larmor_dot(x, q, both));
    *product = both[0];
    return LARMOR_OK;
}

static int x_is_best(const state *s)
{
    return s->residual == s->best_residual;
}

/* error <- what the residual says of the error of x. */
static larmor_status judge(const larmor_solve_opts *o, state *s)
{
    s->error = INFINITY;
    if (!(o->error > 0)) return LARMOR_OK;
    const int other = o->judge && o->judge != s->M;              /* z is M r already */
    if (other) LMR_TRY(larmor_op_forward(o->judge, s->r, s->q)); /* q is free between steps */
    return larmor_nrm2(other ? s->q : s->z, &s->error);
}

/* ---- what is left to do ---- */

static int asks_for_change(const larmor_solve_opts *o)
{
    return o->change > 0 || o->relative > 0;
}

/* The trend with one more step of this length, the k-th. */
static trend with_step(trend all, double length, int k)
{
    const double keep = pow((k - 1.) / k, POWER), y = log(length);
    return (trend){.one = keep * all.one + 1,
                   .t = keep * (all.t + all.one),
                   .tt = keep * (all.tt + 2 * all.t + all.one),
                   .log = keep * all.log + y,
                   .tlog = keep * (all.tlog + all.log)};
}

static trend of_last(const double *length, int count)
{
    trend all = {.one = count};
    for (int i = 0; i < count; i++) {
        const double y = log(length[i]);
        all.t += i;
        all.tt += i * i;
        all.log += y;
        all.tlog += i * y;
    }
    return all;
}

/* The sum of all steps to come if they go on by a straight line through the logarithms of the lengths so far. */
static double rest_of(const trend *all, double *ratio)
{
    const double slope = (all->t * all->log - all->one * all->tlog) / (all->one * all->tt - all->t * all->t);
    const double last = (all->log + slope * all->t) / all->one;
    *ratio = fmin(exp(slope), MAX_STEP_RATIO);
    return exp(last) * *ratio / (1 - *ratio);
}

/* The largest of what few, more and all steps say. */
static double rest(const state *s)
{
    double ratio;
    if (s->iters < FEW) return INFINITY;
    if (!(s->length[0] > 0)) return 0;
    const trend few = of_last(s->length, FEW);
    const double by_few = rest_of(&few, &ratio);
    if (s->iters < MANY) return by_few;
    const trend many = of_last(s->length, MANY);
    return fmax(by_few, fmax(rest_of(&many, &ratio), rest_of(&s->all, &ratio)));
}

/* left <- what this step says or the one before, whichever is more: lengths rise and fall, and a single short step
 * says little. */
static void look_ahead(state *s)
{
    const double now = rest(s);
    s->left = fmax(now, s->said);
    s->said = now;
}

static double change_allowed(const larmor_solve_opts *o, const state *s)
{
    const double noise = o->noise > 0 ? fmin(1, sqrt(fmax(0, s->objective)) / o->noise) : 1;
    return fmax(o->change * noise, o->relative * s->size);
}

/* 1 if all that the caller asks for but the tolerance says so. */
static int is_near(const larmor_solve_opts *o, const state *s)
{
    if (!(o->error > 0) && !asks_for_change(o)) return 0;
    if (o->error > 0 && !(s->error <= fmax(o->error, o->relative * s->size))) return 0;
    return !asks_for_change(o) || s->left <= change_allowed(o, s);
}

/* The number of iterations that will be enough if they go on as they did; 0 where that is not known. */
static int expected_iters(const larmor_solve_opts *o, const state *s)
{
    double ratio;
    const double allowed = change_allowed(o, s);
    if (s->iters < FEW || !(allowed > 0)) return 0;
    if (!(s->left > allowed)) return s->iters;
    const trend few = of_last(s->length, FEW);
    rest_of(s->iters < MANY ? &few : &s->all, &ratio);
    const double more = ceil(log(s->left / allowed) / -log(fmax(ratio, MIN_STEP_RATIO)));
    return more < o->max_iter - s->iters ? s->iters + (int)more : o->max_iter;
}

/* What the monitor is told of it: the part that is done never falls. */
static int foreseen(const larmor_solve_opts *o, state *s)
{
    if (!asks_for_change(o)) return o->max_iter;
    int iters = expected_iters(o, s);
    if (iters < 1) return 0;
    if (s->iters < s->done * iters) iters = (int)(s->iters / s->done);
    s->done = fmax(s->done, (double)s->iters / iters);
    return iters;
}

/* ---- steps ---- */

/* z <- M r */
static larmor_status precondition(state *s)
{
    if (!s->M) {
        s->rz = s->residual * s->residual;
        return LARMOR_OK;
    }
    LMR_TRY(larmor_op_forward(s->M, s->r, s->z));
    LMR_TRY(lmr_real_dot(s->r, s->z, &s->rz));
    if (s->rz > 0 || s->residual == 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC,
                    "cg: r^H M r is %g in iteration %d, expected > 0; the preconditioner must be positive definite",
                    s->rz, s->iters);
}

/* From r = A^H b and the objective |b|^2: r <- A^H b - (A^H A + lambda) x, p <- M r */
static larmor_status start(larmor_op *A, const larmor_array *x, double lambda, state *s)
{
    double norm, linear, quadratic;
    LMR_TRY(larmor_nrm2(s->r, &s->rhs));
    LMR_TRY(larmor_nrm2(x, &norm));
    if (norm != 0) {
        LMR_TRY(normal(A, lambda, x, s->q, &quadratic));
        LMR_TRY(lmr_real_dot(x, s->r, &linear));
        s->objective += quadratic - 2 * linear;
        LMR_TRY(larmor_axpby(-1, s->q, 1, s->r));
    }
    LMR_TRY(larmor_nrm2(s->r, &s->residual));
    LMR_REFUSE(!isfinite(s->rhs) || !isfinite(s->residual), LARMOR_ERR_NUMERIC,
               "cg: |A^H b| is %g and the start's residual %g, expected finite numbers; "
               "look for NaN or Inf in the data, the maps and the start",
               s->rhs, s->residual);
    s->best_residual = s->residual;
    s->best_objective = s->objective;
    LMR_TRY(precondition(s));
    return larmor_copy(s->z, s->p);
}

/* What follows from the length of a step. */
static void note_step(double length, state *s)
{
    for (int i = MANY - 1; i > 0; i--) s->length[i] = s->length[i - 1];
    s->length[0] = length;
    s->all = with_step(s->all, length, s->iters + 1);
}

/* x <- x + alpha p, r <- r - alpha q, p <- M r + beta p; done is 1 when p has nothing left to give */
static larmor_status step(larmor_op *A, const larmor_solve_opts *o, larmor_array *x, state *s, int *done)
{
    double pq, norm[3];
    LMR_TRY(normal(A, o->lambda, s->p, s->q, &pq));
    if (!(pq > 0)) {
        double p, q;
        LMR_TRY(larmor_nrm2(s->p, &p));
        LMR_TRY(larmor_nrm2(s->q, &q));
        *done = pq >= -ROUNDING * p * q;
        s->end = LARMOR_END_PRECISION;
        if (*done) return LARMOR_OK;
        return LMR_FAIL(LARMOR_ERR_NUMERIC,
                        "cg: p^H A^H A p is %g in iteration %d, expected > 0; A's normal map is not positive, or not "
                        "finite",
                        pq, s->iters + 1);
    }
    const double before = s->rz, alpha = before / pq;
    s->objective -= alpha * before;
    LMR_TRY(lmr_advance(alpha, s->p, s->q, x, s->r, x_is_best(s) ? s->best : NULL, norm));
    s->size = norm[0];
    s->residual = norm[1];
    if (asks_for_change(o)) note_step(alpha * norm[2], s);
    s->iters++;
    LMR_TRY(precondition(s));
    return larmor_axpby(1, s->z, s->rz / before, s->p);
}

static larmor_status iterate(larmor_op *A, larmor_array *x, const larmor_solve_opts *o, state *s)
{
    const double begin = lmr_seconds();
    int done = 0, resumed;
    const double square = s->objective;
    list_state(x, s);
    LMR_TRY(lmr_state_resume(&s->list, o, &resumed));
    if (!resumed) LMR_TRY(start(A, x, o->lambda, s));
    if (!resumed) LMR_TRY(judge(o, s));
    if (s->rhs == 0) { /* b is orthogonal to the range of A: the solution is 0 */
        s->residual = s->best_residual = 0;
        s->rhs = 1;
        s->objective = square;
        return larmor_zero(x);
    }
    /* below rounding the recurrence's residual still shrinks, but x does not improve */
    const double rounding = larmor_op_dtype(A) == LARMOR_C128 ? 0x1p-53 : 0x1p-24;
    const double enough = fmax(o->tol, rounding) * s->rhs;
    s->end = LARMOR_END_TOLERANCE;
    if (resumed && asks_for_change(o)) LMR_TRY(larmor_nrm2(x, &s->size));
    while (s->residual > enough && !is_near(o, s)) {
        if (s->iters >= o->max_iter) {
            s->end = LARMOR_END_ITERATIONS;
            break;
        }
        LMR_TRY(step(A, o, x, s, &done));
        if (done) break;
        LMR_REFUSE(!(s->residual <= DIVERGENCE_FACTOR * fmax(s->rhs, s->best_residual)), LARMOR_ERR_NUMERIC,
                   "cg: diverges: residual %.3e after %d iterations, smallest %.3e; raise lambda",
                   s->residual / s->rhs, s->iters, s->best_residual / s->rhs);
        LMR_TRY(judge(o, s));
        look_ahead(s);
        if (s->residual < s->best_residual) {
            s->best_residual = s->residual;
            s->best_objective = s->objective;
        }
        larmor_solve_opts told = *o;
        told.max_iter = foreseen(o, s);
        LMR_TRY(lmr_run_report(&s->list, &told, s->iters, s->residual / s->rhs, s->objective, begin, x));
    }
    return LARMOR_OK;
}

/* x <- the iterate with the smallest residual. */
static larmor_status restore(state *s, larmor_array *x)
{
    if (x_is_best(s)) return LARMOR_OK;
    s->residual = s->best_residual;
    s->objective = s->best_objective;
    return larmor_copy(s->best, x);
}

static larmor_status check(larmor_op *A, const larmor_array *b, const larmor_array *x, const larmor_solve_opts *o)
{
    LMR_TRY(lmr_run_check("cg", A, b, x, o));
    LMR_TRY(lmr_expect("cg", "x", x, larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A)));
    LMR_REFUSE(!(o->error >= 0), LARMOR_ERR_ARG, "cg: error is %g, expected at least 0", o->error);
    LMR_REFUSE(o->error > 0 && !o->judge && !o->precondition, LARMOR_ERR_ARG,
               "cg: error needs judge or precondition");
    LMR_REFUSE(!(o->change >= 0) || !(o->relative >= 0) || !(o->noise >= 0), LARMOR_ERR_ARG,
               "cg: change is %g, relative %g and noise %g, expected at least 0", o->change, o->relative, o->noise);
    return LARMOR_OK;
}

static void fill_report(const state *s, double begin, larmor_report *report)
{
    if (!report) return;
    *report = (larmor_report){.iters = s->iters,
                              .residual = s->rhs > 0 ? s->residual / s->rhs : 0,
                              .objective = s->objective,
                              .seconds = lmr_seconds() - begin,
                              .end = s->end,
                              .left = isfinite(s->left) && s->size > 0 ? s->left / s->size : 0};
}

/* Either b, or rhs = A^H b and square = |b|^2. */
static larmor_status take_data(larmor_op *A, const larmor_array *b, const larmor_array *rhs, double square, state *s)
{
    double norm;
    s->objective = square;
    if (rhs) return larmor_copy(rhs, s->r);
    LMR_TRY(larmor_nrm2(b, &norm));
    s->objective = norm * norm;
    return larmor_op_adjoint(A, b, s->r);
}

enum { WORK = 4 }; /* arrays; one more with a preconditioner */

static larmor_status solve(larmor_op *A, const larmor_array *b, const larmor_array *rhs, double square,
                           larmor_array *x, const larmor_solve_opts *o, larmor_report *report)
{
    const double begin = lmr_seconds();
    state s = {.rhs = 1, .M = o->precondition, .said = INFINITY, .left = INFINITY};
    larmor_array **work[WORK] = {&s.r, &s.p, &s.q, &s.best};
    larmor_status st = lmr_arrays_create(A, larmor_op_in_shape(A), WORK, work);
    if (!st && !s.M) s.z = larmor_array_ref(s.r);
    if (!st && s.M) st = larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &s.z);
    if (!st) st = take_data(A, b, rhs, square, &s);
    if (!st) st = iterate(A, x, o, &s);
    const int worse = !st && !is_near(o, &s) && s.residual > MAX_RESIDUAL_RATIO * s.best_residual;
    if ((st == LARMOR_ERR_NUMERIC && s.iters > 0) || worse) {
        const larmor_status restored = restore(&s, x);
        if (restored) st = restored;
    }
    fill_report(&s, begin, report);
    larmor_array_free(s.z);
    for (int i = 0; i < WORK; i++) larmor_array_free(*work[i]);
    return st;
}

larmor_status lmr_cg_normal(larmor_op *A, const larmor_array *rhs, double square, larmor_array *x,
                            const larmor_solve_opts *opts, larmor_report *report)
{
    return solve(A, NULL, rhs, square, x, opts, report);
}

larmor_status larmor_cg(larmor_op *A, const larmor_array *b, larmor_array *x, const larmor_solve_opts *opts,
                        larmor_report *report)
{
    larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    if (report) *report = (larmor_report){0};
    LMR_TRY(check(A, b, x, &o));
    if (o.max_iter == 0) o.max_iter = DEFAULT_ITERS;
    if (o.tol == 0) o.tol = 1e-4;
    return solve(A, b, NULL, 0, x, &o, report);
}

larmor_status larmor_cg_memory(larmor_dtype dtype, larmor_shape x, int64_t *bytes)
{
    LMR_FREED_BY(lmr_measure_problem_free) lmr_measure_problem m = {.A = NULL};
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_OWN(larmor_device, dev, lmr_recon_measure(NULL, &dev));
    LMR_TRY(lmr_measure_problem_create(dev, dtype, x, &m));
    lmr_measure_begin(dev);
    LMR_TRY(larmor_cg(m.A, m.b, m.x, &(larmor_solve_opts){.max_iter = 1, .precondition = m.A}, NULL));
    return lmr_bytes_store(lmr_measure_peak(dev), bytes);
}
