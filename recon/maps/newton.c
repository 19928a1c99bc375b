/* The iteratively regularised Gauss-Newton method of nonlinear inversion, on the normal equations of each step
 * (Uecker et al. 2008 and 2010). SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"
#include "recon/solve/solve.h"

/* Root mean square of the coil images, added over the coils, that the data are scaled to: the images begin at 1, and
 * maps are then of that size. */
static const double norm_of_data = 0.4;

void lmr_newton_free(lmr_newton *s)
{
    larmor_array *const arrays[] = {s->data, s->x, s->dx, s->rhs, s->p, s->q, s->centre};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) larmor_array_free(arrays[i]);
    lmr_nlinv_free(&s->model);
}

/* ---- inputs ---- */

static larmor_status check_opts(const larmor_nlinv_opts *o)
{
    const struct {
        const char *name;
        double value, low, high;
    } ranges[] = {{"steps", o->steps, 1, 1000},         {"alpha", o->alpha, 1e-30, 1e30},
                  {"reduction", o->reduction, 1, 1e6},  {"smoothness", o->smoothness, 1e-6, 1e9},
                  {"order", o->order, 1e-3, 1e3},       {"sets", (double)o->sets, 1, 16},
                  {"inner", o->inner, 1, 1e6},          {"inner_tol", o->inner_tol, 0, 1},
                  {"least_gain", o->least_gain, -1, 1}, {"side", (double)o->side, 0, 1e9}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        LMR_REFUSE(!(ranges[i].value >= ranges[i].low && ranges[i].value <= ranges[i].high), LARMOR_ERR_ARG,
                   "nlinv: %s is %g, expected %g to %g", ranges[i].name, ranges[i].value, ranges[i].low,
                   ranges[i].high);
    return LARMOR_OK;
}

larmor_status lmr_newton_opts(const larmor_nlinv_opts *given, larmor_nlinv_opts *o)
{
    *o = given ? *given : (larmor_nlinv_opts){0};
    if (!o->steps) o->steps = 26;
    if (o->least_gain == 0) o->least_gain = 0.01;
    if (o->alpha == 0) o->alpha = 1;
    if (o->reduction == 0) o->reduction = 1.5;
    if (o->smoothness == 0) o->smoothness = 0.15;
    if (o->order == 0) o->order = 16;
    if (!o->sets) o->sets = 1;
    if (!o->inner) o->inner = 100;
    if (o->inner_tol == 0) o->inner_tol = 0.1;
    if (o->nufft_tol == 0) o->nufft_tol = 1e-4;
    return check_opts(o);
}

larmor_status lmr_newton_check(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                               const larmor_array *weights)
{
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->shape.ndim != 3 || kspace->shape.dim[2] < 1,
               LARMOR_ERR_SHAPE, "nlinv: kspace is %s, expected complex [samples, readouts, coils]",
               kspace ? lmr_describe(kspace).s : "missing");
    const larmor_shape samples = larmor_shape_of(2, kspace->shape.dim);
    LMR_REFUSE(image.ndim < 2, LARMOR_ERR_SHAPE, "nlinv: image has %d dimensions, expected 2 or 3", image.ndim);
    LMR_REFUSE(!traj || traj->shape.ndim != 3 || !larmor_shape_equal(lmr_weights_shape(traj), samples),
               LARMOR_ERR_SHAPE, "nlinv: traj is %s, expected [%d, samples, readouts] of kspace %s",
               traj ? lmr_describe(traj).s : "missing", image.ndim, lmr_describe(kspace).s);
    if (!weights) return LARMOR_OK;
    return lmr_expect("nlinv", "weight array", weights, kspace->dev, weights->dtype, samples);
}

/* ---- data ---- */

/* y <- w y */
static larmor_status weigh(const larmor_array *weights, larmor_array *y)
{
    LMR_OWN(larmor_array, w, larmor_array_convert(weights, y->dtype, &w));
    return larmor_mul(w, 0, y);
}

/* data <- F^H W y, square <- sum w |y|^2, both unscaled. */
static larmor_status grid(lmr_newton *s, const larmor_array *kspace, const larmor_array *traj)
{
    const larmor_shape image = s->model.image;
    larmor_nufft_opts nufft = {
        .ndim = image.ndim, .batch = s->model.coils, .tol = s->o.nufft_tol, .dtype = kspace->dtype};
    double dot[2];
    for (int d = 0; d < image.ndim; d++) nufft.modes[d] = image.dim[d];
    LMR_OWN(larmor_array, y, larmor_array_create(kspace->dev, kspace->dtype, kspace->shape, &y));
    LMR_TRY(larmor_copy(kspace, y));
    if (s->o.weights) LMR_TRY(weigh(s->o.weights, y));
    LMR_TRY(larmor_dot(kspace, y, dot));
    s->square = dot[0];
    LMR_REFUSE(!(s->square > 0) || !isfinite(s->square), LARMOR_ERR_NUMERIC,
               "nlinv: the samples' energy is %g, expected a finite number > 0", s->square);
    LMR_OWN(larmor_op, F, larmor_op_nufft(kspace->dev, &nufft, traj, &F));
    return larmor_op_adjoint(F, y, s->data);
}

/* With T of mean eigenvalue 1 the scaled energy of the samples is about that of the coil images. */
static larmor_status scale_data(lmr_newton *s)
{
    const double energy = s->square * s->model.scale / (double)s->model.voxels;
    if (s->factor == 0) s->factor = norm_of_data / sqrt(energy);
    s->square *= s->model.scale * s->factor * s->factor;
    return larmor_axpby(s->model.scale * s->factor, s->data, 0, s->data);
}

enum { SEED = 1 };

/* Images of 1, maps of 0. Sets that begin alike would stay so: coefficients of all but the first begin at random, far
 * below what they become. */
static larmor_status begin(lmr_newton *s)
{
    const lmr_nlinv *n = &s->model;
    const int64_t images = n->sets * n->voxels, set = n->coils * n->modes;
    LMR_OWN(larmor_array, of_images, larmor_array_slice(s->x, 0, images, &of_images));
    LMR_TRY(larmor_fill(of_images, 1));
    if (n->sets == 1) return LARMOR_OK;
    LMR_OWN(larmor_array, others, larmor_array_slice(s->x, images + set, (n->sets - 1) * set, &others));
    return lmr_random_fill(others, SEED);
}

static larmor_status prepare(lmr_newton *s, const larmor_array *kspace, const larmor_array *traj, larmor_shape image)
{
    const larmor_problem problem = {.image = image,
                                    .samples = kspace->shape.dim[0] * kspace->shape.dim[1],
                                    .coils = kspace->shape.dim[2],
                                    .dtype = kspace->dtype};
    larmor_array **const unknowns[] = {&s->x, &s->dx, &s->rhs, &s->p, &s->q};
    LMR_TRY(lmr_nlinv_create(kspace->dev, &problem, &s->o, traj, &s->model));
    LMR_TRY(larmor_array_create(kspace->dev, kspace->dtype, larmor_shape_append(image, problem.coils), &s->data));
    for (int i = 0; i < 5; i++)
        LMR_TRY(larmor_array_create(kspace->dev, kspace->dtype, LARMOR_SHAPE(lmr_nlinv_unknowns(&s->model)),
                                    unknowns[i]));
    return begin(s);
}

larmor_status lmr_newton_take(lmr_newton *s, const larmor_array *kspace, const larmor_array *traj, larmor_shape image)
{
    s->report = (larmor_nlinv_report){0};
    s->begin = lmr_seconds();
    LMR_TRY(s->x ? lmr_nlinv_sample(&s->model, &s->o, traj) : prepare(s, kspace, traj, image));
    LMR_TRY(grid(s, kspace, traj));
    return scale_data(s);
}

/* ---- a step ---- */

/* At x: backprojected <- F^H W (y - F s x), and what is left of the data. */
static larmor_status residual(lmr_newton *s)
{
    lmr_nlinv *n = &s->model;
    double like, own;
    LMR_TRY(lmr_nlinv_at(n, s->x));
    LMR_TRY(larmor_op_forward(n->T, n->sum, n->backprojected));
    LMR_TRY(larmor_axpby(n->scale, n->backprojected, 0, n->backprojected));
    LMR_TRY(lmr_real_dot(n->sum, s->data, &like));
    LMR_TRY(lmr_real_dot(n->sum, n->backprojected, &own));
    s->report.residual = sqrt(fmax(0, s->square - 2 * like + own) / s->square);
    LMR_REFUSE(!isfinite(own), LARMOR_ERR_NUMERIC, "nlinv: the iterate is not finite; check the samples");
    return larmor_axpby(1, s->data, -1, n->backprojected);
}

/* dx <- (D^H T D + alpha)^-1 rhs by conjugate gradients; rhs becomes the residual. */
static larmor_status solve(lmr_newton *s, double alpha)
{
    double first, now, curvature;
    LMR_TRY(larmor_zero(s->dx));
    LMR_TRY(larmor_copy(s->rhs, s->p));
    LMR_TRY(lmr_real_dot(s->rhs, s->rhs, &first));
    now = first;
    for (int i = 0; i < s->o.inner && now > s->o.inner_tol * s->o.inner_tol * first; i++) {
        const double before = now;
        LMR_TRY(lmr_nlinv_normal(&s->model, s->p, s->q));
        LMR_TRY(larmor_axpby(alpha, s->p, 1, s->q));
        LMR_TRY(lmr_real_dot(s->p, s->q, &curvature));
        if (!(curvature > 0)) break; /* rounding is all that is left */
        LMR_TRY(larmor_axpby(now / curvature, s->p, 1, s->dx));
        LMR_TRY(larmor_axpby(-now / curvature, s->q, 1, s->rhs));
        LMR_TRY(lmr_real_dot(s->rhs, s->rhs, &now));
        LMR_TRY(larmor_axpby(1, s->rhs, now / before, s->p));
        s->report.inner++;
    }
    return LARMOR_OK;
}

/* What a step makes smaller; q is overwritten. */
static larmor_status objective(lmr_newton *s, double alpha, double *value)
{
    double size;
    if (s->centre) {
        LMR_TRY(larmor_copy(s->x, s->q));
        LMR_TRY(larmor_axpby(-1, s->centre, 1, s->q));
    }
    LMR_TRY(larmor_nrm2(s->centre ? s->q : s->x, &size));
    *value = alpha * size * size + s->square * s->report.residual * s->report.residual;
    return LARMOR_OK;
}

enum { HALVINGS = 5 }; /* a step of 1/32 that raises the objective has the wrong direction */

/* x <- x + t dx with t = 1, 1/2, ... until the objective falls: the model is quadratic in a step, and a whole one may
 * overshoot. */
static larmor_status go(lmr_newton *s, double alpha)
{
    double before, after, t = 1;
    LMR_TRY(objective(s, alpha, &before));
    LMR_TRY(larmor_axpby(1, s->dx, 1, s->x));
    for (int i = 0;; i++) {
        LMR_TRY(residual(s));
        LMR_TRY(objective(s, alpha, &after));
        if (after <= before || i == HALVINGS) return LARMOR_OK;
        t /= 2;
        LMR_TRY(larmor_axpby(-t, s->dx, 1, s->x));
    }
}

static larmor_status report_progress(const lmr_newton *s)
{
    if (!s->o.monitor) return LARMOR_OK;
    const larmor_progress progress = {.iter = s->report.steps,
                                      .max_iter = s->o.steps,
                                      .residual = s->report.residual,
                                      .objective = NAN,
                                      .seconds = lmr_seconds() - s->begin,
                                      .x = s->x};
    return s->o.monitor(s->o.user, &progress) ? lmr_stopped() : LARMOR_OK;
}

/* The first steps, whose penalty holds maps at 0, explain nothing and say nothing of convergence. */
static const double first_explained = 0.9;

/* Steps in a row that gain little: a single one may be short for overshooting. */
enum { SLOW_STEPS = 2 };

larmor_status lmr_newton_run(lmr_newton *s)
{
    double alpha = s->o.alpha;
    int slow = 0;
    LMR_TRY(residual(s));
    while (s->report.steps < s->o.steps && slow < SLOW_STEPS) {
        const double before = s->report.residual;
        LMR_TRY(lmr_nlinv_adjoint(&s->model, s->model.backprojected, s->rhs));
        LMR_TRY(larmor_axpby(-alpha, s->x, 1, s->rhs));
        if (s->centre) LMR_TRY(larmor_axpby(alpha, s->centre, 1, s->rhs));
        LMR_TRY(solve(s, alpha));
        LMR_TRY(go(s, alpha));
        s->report.steps++;
        s->report.alpha = alpha;
        alpha /= s->o.reduction;
        slow = before < first_explained && s->report.residual > (1 - s->o.least_gain) * before ? slow + 1 : 0;
        LMR_TRY(report_progress(s));
    }
    return LARMOR_OK;
}
