/* An image with a penalty by name, by the solver that suits it. SPDX-License-Identifier: Apache-2.0 */
#include "recon/solve/regularised.h"

#include "core/core.h"
#include "recon/bytes.h"
#include "recon/measure.h"

/* Without any weight the split would leave out the set, too. */
#define LEAST_WEIGHT_OF_SET 1e-30
/* With a block circulant: steps of each inner problem, in whose residual the field hardly counts, and iterations at
 * most. A spiral of one coil ended at .15 of error after 100 iterations of two and more steps, .032 now
 * (docs/records/regularisers.md, "What tgv leaves"). */
enum { INNER_OF_BLOCK = 3, ITERS_OF_BLOCK = 300 };

/* ---- the unit of lambda ---- */

/* The norm of |x|^2 / size^2 of a part of x. */
static larmor_status norm_of_squares(const larmor_array *x, double size, double *norm)
{
    LMR_OWN(larmor_array, unit, larmor_array_create(x->dev, x->dtype, x->shape, &unit));
    LMR_OWN(larmor_array, square, larmor_array_create(x->dev, x->dtype, x->shape, &square));
    LMR_TRY(larmor_axpby(1 / size, x, 0, unit));
    LMR_TRY(larmor_copy(unit, square));
    LMR_TRY(larmor_mul(unit, 1, square));
    return larmor_nrm2(square, norm);
}

larmor_status lmr_typical(const larmor_array *x, double *magnitude)
{
    enum { AT_ONCE = 1 << 22 };
    const int64_t count = larmor_array_count(x);
    double norm, fourth = 0;
    *magnitude = 0;
    LMR_TRY(larmor_nrm2(x, &norm));
    LMR_REFUSE(!isfinite(norm), LARMOR_ERR_NUMERIC,
               "lambda: |A^H b| is %g, expected a finite number; look for NaN or Inf", norm);
    if (norm == 0) return LARMOR_OK;
    LMR_OWN(larmor_array, line, larmor_array_reshape(x, LARMOR_SHAPE(count), &line));
    for (int64_t first = 0; first < count; first += AT_ONCE) {
        const int64_t some = count - first < AT_ONCE ? count - first : AT_ONCE;
        double own;
        LMR_OWN(larmor_array, part, larmor_array_part(line, first, some, LARMOR_SHAPE(some), &part));
        LMR_TRY(norm_of_squares(part, norm, &own));
        fourth = hypot(fourth, own);
    }
    *magnitude = norm * fourth;
    return LARMOR_OK;
}

larmor_status larmor_lambda_unit(larmor_op *A, const larmor_array *b, double *unit)
{
    LMR_NEED(unit);
    *unit = 0;
    LMR_REFUSE(!A || !b, LARMOR_ERR_ARG, "lambda: A and b are needed");
    LMR_OWN(larmor_array, r, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &r));
    LMR_TRY(larmor_op_adjoint(A, b, r));
    return lmr_typical(r, unit);
}

/* ---- a run ---- */

static int show_image(void *user, const larmor_progress *p)
{
    const lmr_regularised *u = user;
    larmor_progress shown = *p;
    if (larmor_op_forward(u->E, p->x, u->x)) return 1;
    shown.x = u->x;
    return u->monitor(u->user, &shown);
}

static larmor_status resume(void *user, const larmor_solver_state *state, int *resumed)
{
    const lmr_regularised *u = user;
    return u->resume(u->user, state, resumed);
}

/* o's monitor sees images; the state is that of z. */
static void watch_images(lmr_regularised *u, larmor_solve_opts *o)
{
    if (!u->E) return;
    u->monitor = o->monitor;
    u->resume = o->resume;
    u->user = o->user;
    if (o->monitor) o->monitor = show_image;
    if (o->resume) o->resume = resume;
    o->user = u;
}

void lmr_regularised_free(lmr_regularised *u)
{
    LMR_FREE(u->AE, u->z);
    lmr_block_free(u->block);
    u->block = NULL;
}

larmor_status lmr_regularised_create(const larmor_regulariser *r, larmor_op *A, larmor_array *x, lmr_regularised *u)
{
    const larmor_penalty *p = &r->penalty;
    *u = (lmr_regularised){.r = r, .E = p->E, .x = x};
    if (!p->E) {
        u->AE = larmor_op_ref(A);
        u->z = larmor_array_ref(x);
        return LARMOR_OK;
    }
    LMR_TRY(larmor_op_chain(A, p->E, &u->AE));
    LMR_TRY(larmor_array_create(r->dev, r->dtype, larmor_op_in_shape(p->E), &u->z));
    return larmor_op_adjoint(p->E, x, u->z);
}

/* ---- preconditioners for what is more than an image ---- */

/* M of the image, and 1 / of what has no data. */
typedef struct extended {
    larmor_op *E, *M;
    double rest;
    larmor_array *x, *y; /* like the image */
} extended;

static larmor_status extended_apply(void *self, const larmor_array *x, larmor_array *y)
{
    const extended *s = self;
    LMR_TRY(larmor_op_forward(s->E, x, s->x));
    LMR_TRY(larmor_op_forward(s->M, s->x, s->y));
    LMR_TRY(larmor_axpby(-1 / s->rest, s->x, 1, s->y));
    LMR_TRY(larmor_op_adjoint(s->E, s->y, y));
    return larmor_axpby(1 / s->rest, x, 1, y);
}

LMR_DESTROYS(extended_destroy, extended, E, M, x, y)

static larmor_status precondition_extended(const larmor_regulariser *r, larmor_op *M, double rest, larmor_op **out)
{
    static const larmor_op_impl impl = {"extended", extended_apply, extended_apply, NULL, extended_destroy};
    const larmor_shape shape = larmor_op_in_shape(r->penalty.E);
    LMR_MAKE(extended, s, extended_destroy);
    *s = (extended){.E = larmor_op_ref(r->penalty.E), .M = larmor_op_ref(M), .rest = rest};
    LMR_TRY(larmor_array_create(r->dev, r->dtype, r->shape, &s->x));
    LMR_TRY(larmor_array_create(r->dev, r->dtype, r->shape, &s->y));
    return lmr_hand_on(&s_made, larmor_op_create(r->dev, &impl, s, r->dtype, shape, shape, out));
}

larmor_status lmr_regularised_inverse(const void *regularised, double penalty, larmor_op **M)
{
    const lmr_regularised *u = regularised;
    const larmor_regulariser *r = u->r;
    if (u->block) return lmr_block_inverse(u->circulant, u->block, u->lambda, penalty, M);
    const int series = u->circulant->eigenvalues->shape.ndim < r->shape.ndim;
    const double curvature = r->kind.curvature * penalty;
    if (!r->penalty.E && !series) return larmor_circulant_inverse(u->circulant, u->lambda, r->penalty.K, penalty, M);
    LMR_OWN(larmor_op, one,
            (u->by_mean ? lmr_circulant_inverse_by_mean : lmr_circulant_inverse_of)(u->circulant, u->lambda,
                                                                                    curvature, r->shape, &one));
    if (!r->penalty.E) {
        return LMR_HAND_ON(*M, one);
    }
    return precondition_extended(r, one, r->kind.beside * penalty, M);
}

/* ---- the solution ---- */

/* 1 if all that the regulariser adds to the image can be preconditioned with it. */
static int has_block(const lmr_regularised *u, const larmor_circulant *c)
{
    return c && u->r->kind.is_block && !c->slabs && c->eigenvalues->shape.ndim >= u->r->shape.ndim;
}

larmor_status lmr_regularised_settings(larmor_op *A, larmor_solve_opts *o, lmr_regularised *u)
{
    const int is_block = has_block(u, o->circulant);
    double largest = o->largest;
    u->takes_default = o->max_iter == 0 && o->tol == 0;
    if (o->max_iter == 0) o->max_iter = is_block ? ITERS_OF_BLOCK : LMR_REGULARISER_ITERS;
    if (o->tol == 0) o->tol = LMR_REGULARISER_TOL;
    if (o->inner == 0 && is_block) o->inner = INNER_OF_BLOCK;
    if (largest == 0 && o->penalty == 0) LMR_TRY(larmor_opnorm(A, 6, &largest));
    if (o->penalty == 0) o->penalty = LMR_REGULARISER_PENALTY * largest;
    o->largest = largest;
    watch_images(u, o);
    u->circulant = o->circulant;
    u->lambda = o->lambda;
    return is_block ? lmr_block_create(u->circulant, u->r->penalty.K, &u->block) : LARMOR_OK;
}

larmor_status lmr_regularised_check(const larmor_op *A, const larmor_array *b, const larmor_regulariser *r,
                                    const larmor_array *x)
{
    LMR_REFUSE(!A || !b || !r || !x, LARMOR_ERR_ARG, "regularised: A, b, r and x are needed");
    return lmr_expect(r->kind.name, "image", x, r->dev, r->dtype, r->shape);
}

larmor_status lmr_regularised_image(lmr_regularised *u, larmor_status st)
{
    if (!u->z || (st && st != LARMOR_STOPPED && st != LARMOR_ERR_NUMERIC)) return st;
    if (u->E) LMR_TRY(larmor_op_forward(u->E, u->z, u->x));
    if (u->r->set) LMR_TRY(larmor_prox_apply(u->r->set, 1, u->x, u->x));
    return st;
}

/* The weight: that which was set, or lambda in its unit. */
static larmor_status weigh(larmor_op *A, const larmor_array *b, const larmor_regulariser *r, double *weight)
{
    double unit;
    *weight = r->fixed;
    if (r->fixed > 0) return LARMOR_OK;
    LMR_TRY(larmor_lambda_unit(A, b, &unit));
    *weight = r->penalty.lambda * unit;
    if (r->set) *weight = fmax(*weight, LEAST_WEIGHT_OF_SET);
    return LARMOR_OK;
}

static larmor_status solve(const larmor_array *b, const larmor_regulariser *r, double weight,
                           const larmor_solve_opts *o, lmr_regularised *u, larmor_report *report)
{
    LMR_FREED_BY(lmr_admm_free) lmr_admm s = {.make = u->circulant ? lmr_regularised_inverse : NULL, .maker = u};
    LMR_TRY(lmr_run_check("admm", u->AE, b, u->z, o));
    LMR_TRY(lmr_data_create("admm", u->AE, b, o->lambda, &s.f));
    LMR_TRY(lmr_admm_create(r->penalty.K, r->penalty.g, weight, o, &s));
    if (r->set) s.unweighted = larmor_array_count(u->x);
    s.deep = u->circulant && u->circulant->each && r->penalty.K && !u->E && u->takes_default;
    s.may_be_rough &= !u->E; /* of more than an image the preconditioner knows less */
    return lmr_admm_run(&s, b, u->z, o, report);
}

larmor_status larmor_regularised(larmor_op *A, const larmor_array *b, larmor_regulariser *r, larmor_array *x,
                                 const larmor_solve_opts *opts, larmor_report *report)
{
    if (report) *report = (larmor_report){0};
    LMR_TRY(lmr_regularised_check(A, b, r, x));
    larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){0};
    LMR_FREED_BY(lmr_regularised_free) lmr_regularised u = {0};
    double weight; /* other threads may use r, too */
    LMR_TRY(weigh(A, b, r, &weight));
    r->weight = weight;
    larmor_status st = lmr_regularised_create(r, A, x, &u);
    if (!st) st = lmr_regularised_settings(A, &o, &u);
    if (!st) st = solve(b, r, weight, &o, &u, report);
    st = lmr_regularised_image(&u, st);
    return st;
}

/* ---- what it takes ---- */

LMR_OWNS(larmor_prox, larmor_prox_free)
LMR_OWNS(larmor_regulariser, larmor_regulariser_free)
LMR_OWNS(larmor_circulant, larmor_circulant_free)

/* A preconditioner of images of this shape, on the device that counts. */
static larmor_status circulant_of(larmor_device *dev, larmor_dtype dtype, larmor_shape image, larmor_circulant **out)
{
    larmor_circulant *c = calloc(1, sizeof *c);
    *out = c;
    if (!c) return LMR_NO_MEMORY();
    *c = (larmor_circulant){.largest = 1, .mean = 1, .support_voxels = 1, .square = 1, .count = 1, .image = image};
    LMR_TRY(larmor_array_create(dev, dtype, image, &c->eigenvalues));
    return larmor_array_create(dev, dtype, image, &c->support);
}

/* With a preconditioner, and until the split has balanced. */
static larmor_status run_to_measure(larmor_device *dev, larmor_regulariser *r, int series)
{
    LMR_FREED_BY(lmr_measure_problem_free) lmr_measure_problem m = {.A = NULL};
    larmor_shape image = r->shape;
    image.ndim -= series && image.ndim > 0;
    LMR_TRY(lmr_measure_problem_create(dev, r->dtype, r->shape, &m));
    LMR_OWN(larmor_circulant, C, circulant_of(dev, r->dtype, image, &C));
    lmr_measure_begin(dev);
    return larmor_regularised(m.A, m.b, r, m.x, &(larmor_solve_opts){.max_iter = 3, .tol = -1, .circulant = C}, NULL);
}

larmor_status larmor_regularised_memory(const char *name, const larmor_regulariser_opts *opts, larmor_dtype dtype,
                                        larmor_shape shape, int64_t *bytes)
{
    larmor_regulariser_opts o = opts ? *opts : (larmor_regulariser_opts){0};
    LMR_OWNED(larmor_prox) *set = NULL;
    LMR_NEED(bytes);
    *bytes = 0;
    o.lambda = 1;
    LMR_OWN(larmor_device, dev, lmr_recon_measure(NULL, &dev));
    if (o.set) LMR_TRY(larmor_prox_l1(dev, 1, dtype, shape, &set));
    o.set = set;
    LMR_OWN(larmor_regulariser, r, larmor_regulariser_create(dev, name, &o, dtype, shape, &r));
    const double kept = lmr_measure_held(dev);
    LMR_TRY(run_to_measure(dev, r, o.series));
    return lmr_bytes_store(kept + lmr_measure_peak(dev), bytes);
}
