/* Alternating directions (Boyd et al. 2011) with preconditioned inner conjugate gradients. SPDX-License-Identifier:
 * Apache-2.0 */
#include "recon/solve/admm.h"

#include "core/core.h"

enum {
    DEFAULT_ITERS = 50,
    LEAST_INNER = 2,
    LEAST_ROUGH_INNER = 1,
    MOST_INNER = 30,
    POWER_STEPS = 6,
    BALANCE_EVERY = 2,
    SETTLED = 40,
    AFRESH = 8,
    FEW = 4,               /* last steps whose lengths say how x goes on, and */
    MANY = LMR_ADMM_STEPS, /* so many */
    EARLIEST = 13,         /* iteration that counts, and */
    IN_A_ROW = 3,          /* iterations that say alike that x is near */
    EARLIEST_UNRESOLVED = 14,
};

/* Of the inner residual in one iteration, at least. Not measured. */
#define INNER_FALL 0.5
/* The same, after one step at least, where steps to come may change x by more than this part of it: a real scan of
 * 25 spokes and 12 coils then takes a third fewer normal maps for the same distance from the solution. */
#define ROUGH_INNER_FALL 0.7
#define ROUGH_CHANGE 0.01 /* of x */
/* Iterations that a run with deep inner problems takes at most: seven behind a deep one. Images of eight series of
 * bins had .97 to 1.00 of the error after up to 100 without (docs/records/gating.md, "A preconditioner for each
 * bin"). */
#define MOST_DEEP 47
/* The ratio of a step's length to that of the one before is taken for this at most: the rest of a sum of steps
 * that do not shrink is not known. */
#define MAX_STEP_RATIO 0.97
/* The least penalty, in units of lmr_admm.rounding, and that which is asked for where the weight is too small. Of 60
 * images by tv of samples without noise off the grid (scripts/measure/scenes.py, seeds 92 and 93) the error is 0.76
 * to 1.000 of what it was when such weights were found out after 100 iterations. */
#define MIN_PENALTY_OVER_ROUNDING 16.
#define UNRESOLVED_OVER_ROUNDING 13. /* below MIN_PENALTY_OVER_ROUNDING, which a penalty is raised to, by a margin */
/* While |K x - z| is a larger part of them, lengths of steps do not tell how far x is from the solution. No
 * record has a measurement of the part. */
#define MAX_SPLIT 0.01

/* M of s->penalty. */
static larmor_status make_inverse(lmr_admm *s)
{
    if (!s->make) return LARMOR_OK; /* M is the caller's, or NULL */
    LMR_CLEAR(s->M);
    return s->make(s->maker, s->penalty, &s->M);
}

static larmor_status set_penalty(lmr_admm *s, double penalty)
{
    if (s->penalty > 0) LMR_TRY(larmor_axpby(s->penalty / penalty, s->u, 0, s->u));
    s->penalty = penalty;
    return make_inverse(s);
}

/* r <- A^H b - N x - penalty K^H (K x - z + u); K x is overwritten, as x is about to change. */
static larmor_status inner_residual(lmr_admm *s)
{
    LMR_TRY(larmor_sum(3, (double[]){1, -1, -1}, (const larmor_array *[]){s->z, s->u, s->Kx}, s->Kx));
    LMR_TRY(lmr_map_back(s->K, s->Kx, s->r));
    return larmor_sum(3, (double[]){1, -1, s->penalty}, (const larmor_array *[]){s->f.rhs, s->Nx, s->r}, s->r);
}

/* N p <- M r, as N p is not needed any more. */
static larmor_status precondition(lmr_admm *s, double *product)
{
    if (s->M)
        LMR_TRY(larmor_op_forward(s->M, s->r, s->Np));
    else
        LMR_TRY(larmor_copy(s->r, s->Np));
    return lmr_real_dot(s->r, s->Np, product);
}

/* With M of each frame few steps halve the residual, and leave what takes many. */
static int is_deep(const lmr_admm *s)
{
    return s->deep && s->steps % LMR_ADMM_STEPS == LMR_ADMM_STEPS - 1;
}

/* x, N x <- after some conjugate gradient steps on (N + penalty K^H K) x = A^H b + penalty K^H (z - u). */
static larmor_status solve_x(lmr_admm *s, larmor_array *x)
{
    double rm, first, before, curvature, other;
    int taken = 0;
    const int most = is_deep(s) ? LMR_ADMM_STEPS : s->most;
    const int least = is_deep(s) ? LMR_ADMM_STEPS : s->least;
    LMR_TRY(inner_residual(s));
    LMR_TRY(precondition(s, &rm));
    LMR_TRY(larmor_copy(s->Np, s->p));
    first = rm;
    while (taken < most && rm > 0) {
        LMR_TRY(lmr_data_normal(&s->f, s->p, s->Np));
        if (s->K)
            LMR_TRY(larmor_op_normal(s->K, s->p, s->Kp));
        else
            LMR_TRY(larmor_copy(s->p, s->Kp));
        LMR_TRY(lmr_real_dot(s->p, s->Np, &curvature));
        LMR_TRY(lmr_real_dot(s->p, s->Kp, &other));
        const double all = curvature + s->penalty * other;
        LMR_REFUSE(!(curvature > -1e-5 * all && all > 0), LARMOR_ERR_NUMERIC,
                   "admm: p^H A^H A p is %g, expected at least 0; A's normal map is not positive", curvature);
        const double step = rm / all;
        LMR_TRY(larmor_axpby(step, s->p, 1, x));
        LMR_TRY(larmor_axpby(step, s->Np, 1, s->Nx));
        if (++taken == most) break;
        LMR_TRY(larmor_sum(3, (double[]){1, -step, -step * s->penalty}, (const larmor_array *[]){s->r, s->Np, s->Kp},
                           s->r));
        before = rm;
        LMR_TRY(precondition(s, &rm));
        if (taken >= least && rm <= s->fall * s->fall * first) break;
        LMR_TRY(larmor_axpby(1, s->Np, rm / before, s->p));
    }
    s->easy = taken <= LEAST_INNER ? s->easy + 1 : 0;
    return lmr_map(s->K, x, s->Kx);
}

/* Whether the penalty is looked at after so many steps. */
static int balances_after(int steps)
{
    const int rarely = steps > SETTLED && (steps & (steps - 1)); /* each change is a new start */
    return !rarely && steps % BALANCE_EVERY == 0;
}

/* z <- prox of g / penalty at h + u, u <- u + h - z, with h = 1.6 K x - 0.6 z */
static larmor_status solve_z(lmr_admm *s)
{
    const double relax = 1.6; /* 1.5 to 1.8 are customary (Boyd et al., section 3.4.3) */
    if (balances_after(s->steps + 1)) LMR_TRY(lmr_map_back(s->K, s->z, s->p));
    LMR_TRY(larmor_sum(3, (double[]){1, relax, 1 - relax}, (const larmor_array *[]){s->u, s->Kx, s->z}, s->u));
    if (s->weight > 0)
        LMR_TRY(larmor_prox_apply(s->g, s->weight / s->penalty, s->u, s->z));
    else
        LMR_TRY(larmor_copy(s->u, s->z));
    return larmor_axpby(-1, s->z, 1, s->u);
}

/* |K x - z| / max(|K x|, |z|) */
static larmor_status primal_residual(lmr_admm *s, double *residual)
{
    double norm[3];
    LMR_TRY(larmor_distance(s->Kx, s->z, norm));
    *residual = norm[2] > 0 ? norm[2] / fmax(norm[0], norm[1]) : norm[2];
    return LARMOR_OK;
}

/* |K^H (z - before)| / |K^H u|; p is K^H before. */
static larmor_status dual_residual(lmr_admm *s, double *residual)
{
    double moved, multipliers;
    LMR_TRY(lmr_map_back(s->K, s->z, s->r));
    LMR_TRY(larmor_axpby(-1, s->r, 1, s->p));
    LMR_TRY(larmor_nrm2(s->p, &moved));
    LMR_TRY(lmr_map_back(s->K, s->u, s->p));
    LMR_TRY(larmor_nrm2(s->p, &multipliers));
    *residual = multipliers > 0 ? moved / multipliers : 0;
    return LARMOR_OK;
}

/* The penalty grows where the primal residual is larger than the dual one, and the reverse. */
static larmor_status balance(lmr_admm *s, double primal)
{
    const double most = 3, enough = 1.5;
    double dual;
    LMR_TRY(dual_residual(s, &dual));
    if (!(primal > 0 || dual > 0)) return LARMOR_OK;
    const double factor = sqrt(primal / dual); /* one of them may be 0 */
    if (factor < enough && factor > 1 / enough) return LARMOR_OK;
    const double least = MIN_PENALTY_OVER_ROUNDING * s->rounding;
    const double next = fmax(least, s->penalty * fmin(most, fmax(1 / most, factor)));
    s->unresolved = s->steps >= EARLIEST_UNRESOLVED && s->penalty * factor < UNRESOLVED_OVER_ROUNDING * s->rounding;
    return next == s->penalty ? LARMOR_OK : set_penalty(s, next);
}

/* Where nothing is known: the scale of N over that of K^H K. It is the balance that finds the right one. */
static larmor_status first_penalty(const larmor_solve_opts *o, lmr_admm *s)
{
    double data = o->largest, map = 1, penalty = o->penalty;
    if (penalty == 0) {
        if (data == 0) LMR_TRY(larmor_opnorm(s->f.A, POWER_STEPS, &data));
        if (s->K) LMR_TRY(larmor_opnorm(s->K, POWER_STEPS, &map));
        penalty = data > 0 && map > 0 ? 0.08 * data / map : 1;
    }
    return set_penalty(s, penalty);
}

enum { IMAGES = 6, SPLITS = 3 };

/* The arrays like x and those like K x. */
typedef struct arrays {
    larmor_array **image[IMAGES], **split[SPLITS];
} arrays;

static arrays arrays_of(lmr_admm *s)
{
    return (arrays){{&s->Nx, &s->before, &s->r, &s->p, &s->Np, &s->Kp}, {&s->Kx, &s->z, &s->u}};
}

larmor_status lmr_admm_create(larmor_op *K, larmor_prox *g, double weight, const larmor_solve_opts *o, lmr_admm *s)
{
    larmor_op *A = s->f.A;
    const arrays all = arrays_of(s);
    s->K = K;
    s->g = g;
    s->weight = weight;
    s->least = o->inner ? o->inner : LEAST_INNER;
    s->most = o->inner ? o->inner : MOST_INNER;
    s->fall = INNER_FALL;
    s->may_be_rough = !o->inner && !o->precondition;
    if (o->resolve) s->rounding = o->largest * (larmor_op_dtype(A) == LARMOR_C128 ? 0x1p-52 : 0x1p-23);
    if (!s->make) s->M = larmor_op_ref(o->precondition);
    LMR_TRY(lmr_arrays_create(A, larmor_op_in_shape(A), IMAGES, all.image));
    LMR_TRY(lmr_arrays_create(A, K ? larmor_op_out_shape(K) : larmor_op_in_shape(A), SPLITS, all.split));
    return first_penalty(o, s);
}

void lmr_admm_free(lmr_admm *s)
{
    const arrays all = arrays_of(s);
    for (int i = 0; i < IMAGES; i++) larmor_array_free(*all.image[i]);
    for (int i = 0; i < SPLITS; i++) larmor_array_free(*all.split[i]);
    lmr_data_free(&s->f);
    larmor_op_free(s->M);
    *s = (lmr_admm){.penalty = 0};
}

larmor_status lmr_admm_start(lmr_admm *s, const larmor_array *x)
{
    LMR_TRY(lmr_map(s->K, x, s->Kx));
    LMR_TRY(larmor_copy(s->Kx, s->z));
    return lmr_data_normal(&s->f, x, s->Nx);
}

larmor_status lmr_admm_weigh(lmr_admm *s, double weight)
{
    /* the multipliers of a penalty are bounded by the weight, and near that where K x is not 0 */
    const int64_t weighed = larmor_array_count(s->u) - s->unweighted;
    LMR_OWNED(larmor_array) *u = NULL;
    if (s->unweighted) LMR_TRY(larmor_array_part(s->u, 0, weighed, LARMOR_SHAPE(weighed), &u));
    if (s->weight > 0) LMR_TRY(larmor_axpby(weight / s->weight, u ? u : s->u, 0, u ? u : s->u));
    s->weight = weight;
    s->steps = 0;
    return LARMOR_OK;
}

larmor_status lmr_admm_step(lmr_admm *s, larmor_array *x, double *primal)
{
    LMR_TRY(larmor_copy(x, s->before));
    if (s->steps % AFRESH == AFRESH - 1) LMR_TRY(lmr_data_normal(&s->f, x, s->Nx)); /* its rounding adds up */
    larmor_status st = solve_x(s, x);
    if (!st) st = solve_z(s);
    if (!st) st = primal_residual(s, primal);
    if (st == LARMOR_STOPPED) LMR_TRY(larmor_copy(s->before, x)); /* the last whole iterate */
    return st;
}

larmor_status lmr_admm_balance(lmr_admm *s, double primal)
{
    s->steps++;
    return balances_after(s->steps) ? balance(s, primal) : LARMOR_OK;
}

/* The sum of all steps to come if they go on as the last `count`, the last one first: a straight line through the
 * logarithms of their lengths. */
static double rest_of(const double *length, int count)
{
    const double middle = 0.5 * (count - 1);
    double mean = 0, slope = 0, square = 0;
    for (int i = 0; i < count; i++) {
        if (!(length[i] > 0)) return length[0] > 0 ? INFINITY : 0;
        mean += log(length[i]) / count;
        slope += (middle - i) * log(length[i]);
        square += (middle - i) * (middle - i);
    }
    slope /= square;
    const double ratio = fmin(exp(slope), MAX_STEP_RATIO);
    return exp(mean + slope * middle) * ratio / (1 - ratio);
}

/* Inner problems that took few steps so far need not be solved as well where x need not. Harder ones would keep x
 * from settling. */
static void be_rough(lmr_admm *s, int rough)
{
    if (!s->may_be_rough) return;
    s->least = rough ? LEAST_ROUGH_INNER : LEAST_INNER;
    s->fall = rough ? ROUGH_INNER_FALL : INNER_FALL;
}

/* Whether further steps are expected to change x by no more than opts allow. size: |x|; change: of it, relative. */
static void look_ahead(lmr_run *run, lmr_admm *s, double size, double change, double primal)
{
    const double allowed = fmax(run->o.change, run->o.relative * size);
    for (int i = MANY - 1; i > 0; i--) s->length[i] = s->length[i - 1];
    s->length[0] = size > 0 ? change * size : 0;
    be_rough(s, s->easy >= FEW && allowed > ROUGH_CHANGE * size);
    if (!(allowed > 0) || run->iters + 1 < EARLIEST || !(size > 0)) return;
    const double left = fmax(rest_of(s->length, FEW), rest_of(s->length, MANY));
    s->near = left <= allowed && primal <= MAX_SPLIT ? s->near + 1 : 0;
    run->left = left / size;
    run->near = s->near >= IN_A_ROW;
}

/* A run that was given a number of iterations takes that. */
static void end_deep(lmr_run *run, const lmr_admm *s)
{
    if (s->deep && run->iters >= MOST_DEEP) run->near = 1;
}

static larmor_status iterate(lmr_run *run, lmr_admm *s, larmor_array *x)
{
    double value, penalty, change, primal, size;
    while (!lmr_run_done(run)) {
        LMR_TRY(lmr_admm_step(s, x, &primal));
        LMR_TRY(lmr_admm_balance(s, primal));
        run->unresolved = s->unresolved;
        LMR_TRY(lmr_change(x, s->before, s->r, &change));
        LMR_TRY(larmor_nrm2(x, &size));
        look_ahead(run, s, size, change, primal);
        LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
        LMR_TRY(larmor_prox_value(s->g, s->Kx, &penalty));
        value += s->weight * penalty;
        if (run->iters == 0) run->limit = fmax(run->limit, 10 * value); /* g may weigh any amount */
        LMR_TRY(lmr_run_step(run, x, isnan(primal) ? primal : fmax(change, primal), value));
        end_deep(run, s);
    }
    return LARMOR_OK;
}

/* Of x, which s knows already. */
static larmor_status objective_of(lmr_admm *s, const larmor_array *x, double *objective)
{
    double value, penalty;
    LMR_TRY(lmr_data_value(&s->f, x, s->Nx, &value));
    LMR_TRY(larmor_prox_value(s->g, s->Kx, &penalty));
    *objective = value + s->weight * penalty;
    return LARMOR_OK;
}

/* From x, or from the state that the caller has kept: K x and M follow from it. */
static larmor_status begin(lmr_run *run, lmr_admm *s, larmor_array *x)
{
    double objective;
    int resumed;
    LMR_STATE_ARRAYS(&run->state, x, s->Nx, s->z, s->u);
    LMR_STATE_NUMBERS(&run->state, &s->penalty);
    for (int i = 0; i < MANY; i++) LMR_STATE_NUMBERS(&run->state, &s->length[i]);
    LMR_STATE_NUMBERS(&run->state, &s->fall);
    LMR_STATE_COUNTS(&run->state, &s->steps, &s->near, &s->easy, &s->least);
    LMR_TRY(lmr_run_resume(run, &resumed));
    if (resumed) {
        LMR_TRY(make_inverse(s));
        return lmr_map(s->K, x, s->Kx);
    }
    LMR_TRY(lmr_admm_start(s, x));
    LMR_TRY(objective_of(s, x, &objective));
    return lmr_run_start(run, x, objective, s->f.square / 2);
}

larmor_status lmr_admm_run(lmr_admm *s, const larmor_array *b, larmor_array *x, const larmor_solve_opts *opts,
                           larmor_report *report)
{
    lmr_run run;
    LMR_TRY(lmr_run_begin(s->f.who, s->f.A, b, x, opts, DEFAULT_ITERS, 1e-4, report, &run));
    larmor_status st = begin(&run, s, x);
    if (!st) st = iterate(&run, s, x);
    return lmr_run_end(&run, st, x, report);
}

/* What larmor_admm makes M from. */
typedef struct image_problem {
    const larmor_circulant *circulant;
    larmor_op *K;
    double lambda;
} image_problem;

static larmor_status image_inverse(const void *maker, double penalty, larmor_op **M)
{
    const image_problem *p = maker;
    return larmor_circulant_inverse(p->circulant, p->lambda, p->K, penalty, M);
}

larmor_status larmor_admm(larmor_op *A, const larmor_array *b, larmor_op *K, larmor_prox *g, larmor_array *x,
                          const larmor_solve_opts *opts, larmor_report *report)
{
    const larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    LMR_REFUSE(!g, LARMOR_ERR_ARG, "admm: a proximal map is needed");
    LMR_TRY(lmr_run_check("admm", A, b, x, &o));
    const image_problem image = {o.circulant, K, o.lambda};
    LMR_FREED_BY(lmr_admm_free) lmr_admm s = {.make = o.circulant ? image_inverse : NULL, .maker = &image};
    larmor_status st = lmr_data_create("admm", A, b, o.lambda, &s.f);
    if (!st) st = lmr_admm_create(K, g, 1, &o, &s);
    if (!st)
        st = lmr_admm_run(&s, b, x, &o, report);
    else if (report)
        *report = (larmor_report){.objective = NAN};
    return st;
}
