/* Images by a denoiser: options, the run, and when it ends (docs/reference/priors.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prior/prior.h"

enum { DEFAULT_ITERS = 50, DEFAULT_INNER = 30, DEFAULT_FALLING = 10, POWER_STEPS = 15 };
#define DEFAULT_TOL 1e-4
/* Of the power method, which finds the largest eigenvalue from below. */
#define MARGIN 1.05
/* |A x - b| over the larger of |b| and its value at the start: far above what first steps make of it. */
#define DIVERGENCE_FACTOR 10.

/* s->M is close to the inverse of A^H A + s->weight, where there is a circulant. */
static larmor_status precondition(lmr_pnp *s)
{
    const larmor_shape image = larmor_op_in_shape(s->f.A);
    if (!s->o.circulant || s->made == s->weight) return LARMOR_OK;
    larmor_op_free(s->M);
    s->M = NULL;
    LMR_TRY(larmor_circulant_inverse(s->o.circulant, 0, NULL, s->weight, &s->M));
    s->made = s->weight;
    if (larmor_shape_equal(larmor_op_in_shape(s->M), image)) return LARMOR_OK;
    larmor_op_free(s->M);
    s->M = NULL;
    return larmor_circulant_inverse_frames(s->o.circulant, 0, s->weight, image.dim[image.ndim - 1], &s->M);
}

/* ---- the options ---- */

static larmor_status check(larmor_op *A, const larmor_array *b, const larmor_denoiser *d, const larmor_array *x,
                           const larmor_pnp_opts *o)
{
    LMR_REFUSE(!d, LARMOR_ERR_ARG, "pnp: a denoiser is needed");
    LMR_TRY(lmr_run_check("pnp", A, b, x,
                          &(larmor_solve_opts){.max_iter = o->max_iter, .tol = o->tol, .inner = o->inner}));
    LMR_TRY(lmr_expect("pnp", "x", x, larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A)));
    LMR_REFUSE(o->method < LARMOR_PNP_ADMM || o->method > LARMOR_PNP_FISTA, LARMOR_ERR_ARG,
               "pnp: method is %d, expected 0 to %d", (int)o->method, LARMOR_PNP_FISTA);
    LMR_REFUSE(o->falling < 0, LARMOR_ERR_ARG, "pnp: falling is %d, expected at least 0", o->falling);
    LMR_REFUSE(!(o->sigma > 0) || !isfinite(o->sigma), LARMOR_ERR_ARG,
               "pnp: sigma is %g, expected a finite number > 0", o->sigma);
    const double at_least_0[] = {o->noise, o->first, o->weight, o->deviation, o->largest};
    const char *const what[] = {"noise", "first", "weight", "deviation", "largest"};
    for (int i = 0; i < 5; i++)
        LMR_REFUSE(!(at_least_0[i] >= 0) || !isfinite(at_least_0[i]), LARMOR_ERR_ARG,
                   "pnp: %s is %g, expected a finite number >= 0", what[i], at_least_0[i]);
    LMR_REFUSE(o->first > 0 && o->first < o->sigma, LARMOR_ERR_ARG,
               "pnp: first is %g, expected at least sigma, %g, to which it falls", o->first, o->sigma);
    return LARMOR_OK;
}

static larmor_pnp_opts with_defaults(const larmor_pnp_opts *given, larmor_dtype dtype)
{
    larmor_pnp_opts o = *given;
    if (o.max_iter == 0) o.max_iter = DEFAULT_ITERS;
    if (o.inner == 0) o.inner = DEFAULT_INNER;
    if (o.tol == 0) o.tol = DEFAULT_TOL;
    o.tol = fmax(o.tol, dtype == LARMOR_C128 ? 0x1p-52 : 0x1p-23); /* below its rounding an image gets no better */
    if (o.first > o.sigma && o.falling == 0) o.falling = DEFAULT_FALLING;
    if (!(o.first > o.sigma)) o.falling = 0;
    return o;
}

/* ---- one iteration ---- */

/* sigma, and the weight of the denoiser beside the data. */
static void choose_weight(lmr_pnp *s)
{
    const larmor_pnp_opts *o = &s->o;
    s->sigma = o->sigma;
    if (s->iters < o->falling) s->sigma = o->first * pow(o->sigma / o->first, (double)s->iters / o->falling);
    s->weight = o->deviation > 0 ? pow(o->deviation / s->sigma, 2) : s->largest;
    if (o->weight > 0) s->weight = o->weight;
    if (o->method != LARMOR_PNP_FISTA || s->weight >= s->largest) return;
    s->weight = s->largest;
    if (o->deviation > 0) s->sigma = fmin(s->sigma, o->deviation / sqrt(s->weight));
}

static larmor_status find_largest(lmr_pnp *s)
{
    const int unused = s->o.method == LARMOR_PNP_ADMM && (s->o.weight > 0 || s->o.deviation > 0);
    s->largest = s->o.largest;
    if (unused) return LARMOR_OK;
    if (s->largest == 0) LMR_TRY(larmor_opnorm(s->f.A, POWER_STEPS, &s->largest));
    s->largest *= MARGIN;
    if (!(s->largest > 0)) s->largest = 1;
    return LARMOR_OK;
}

static larmor_status step(lmr_pnp *s)
{
    choose_weight(s);
    LMR_TRY(precondition(s));
    if (s->o.method == LARMOR_PNP_ADMM)
        LMR_TRY(lmr_pnp_admm(s));
    else
        LMR_TRY(lmr_pnp_momentum(s));
    LMR_TRY(lmr_data_value(&s->f, s->x, s->Nx, &s->misfit));
    s->misfit = fmax(0, s->misfit);
    s->iters++;
    return lmr_change(s->x, s->before, s->r, &s->change);
}

static double residual_of(const lmr_pnp *s)
{
    return sqrt(2 * s->misfit);
}

static larmor_status look_for_divergence(const lmr_pnp *s, double most)
{
    if (isfinite(s->change) && residual_of(s) <= most) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_NUMERIC,
        "pnp: diverges with prior %s: |A x - b| is %.3g after %d iterations, expected at most %.3g; raise "
        "the weight or lower sigma",
        larmor_denoiser_name(s->d), residual_of(s), s->iters, most);
}

/* 1 if the run ends here, and why. */
static int is_done(const lmr_pnp *s, larmor_pnp_end *end)
{
    const int settled = s->iters > s->o.falling && s->change <= s->o.tol && s->split <= s->o.tol;
    *end = LARMOR_PNP_END_ITERATIONS;
    if (settled) *end = LARMOR_PNP_END_TOLERANCE;
    if (s->o.noise > 0 && residual_of(s) <= s->o.noise) *end = LARMOR_PNP_END_NOISE;
    return *end != LARMOR_PNP_END_ITERATIONS || s->iters >= s->o.max_iter;
}

static larmor_status iterate(lmr_pnp *s, larmor_pnp_end *end)
{
    const double begin = lmr_seconds();
    lmr_state list;
    lmr_state_begin(&list, "pnp");
    const larmor_solve_opts told = {.max_iter = s->o.max_iter, .monitor = s->o.monitor, .user = s->o.user};
    LMR_TRY(lmr_pnp_normal(s, s->x, s->Nx));
    LMR_TRY(lmr_data_value(&s->f, s->x, s->Nx, &s->misfit));
    const double most = DIVERGENCE_FACTOR * fmax(residual_of(s), sqrt(s->f.square));
    if (s->o.method == LARMOR_PNP_ADMM)
        LMR_TRY(lmr_pnp_admm_begin(s));
    else
        LMR_TRY(lmr_pnp_momentum_begin(s));
    do {
        LMR_TRY(step(s));
        LMR_TRY(look_for_divergence(s, most));
        LMR_TRY(lmr_run_report(&list, &told, s->iters, s->change, s->misfit, begin, s->x));
    } while (!is_done(s, end));
    return LARMOR_OK;
}

/* ---- the run ---- */

enum { IMAGES = 6 };

static void fill_info(const lmr_pnp *s, double begin, larmor_pnp_end end, larmor_pnp_info *info)
{
    if (!info) return;
    *info = (larmor_pnp_info){.iters = s->iters,
                              .denoised = s->denoised,
                              .normals = s->normals,
                              .change = s->change,
                              .residual = residual_of(s),
                              .split = s->split,
                              .weight = s->weight,
                              .sigma = s->sigma,
                              .seconds = lmr_seconds() - begin,
                              .end = end};
}

larmor_status larmor_solve_pnp(larmor_op *A, const larmor_array *b, larmor_denoiser *d, larmor_array *x,
                               const larmor_pnp_opts *opts, larmor_pnp_info *info)
{
    static const larmor_pnp_opts none;
    const double begin = lmr_seconds();
    larmor_pnp_end end = LARMOR_PNP_END_ITERATIONS;
    if (info) *info = (larmor_pnp_info){0};
    LMR_TRY(check(A, b, d, x, opts ? opts : &none));
    lmr_pnp s = {.d = d, .o = with_defaults(opts, larmor_op_dtype(A)), .x = x, .made = -1};
    larmor_array **images[IMAGES] = {&s.Nx, &s.before, &s.Nbefore, &s.y, &s.Ny, &s.r};
    larmor_status st = lmr_arrays_create(A, larmor_op_in_shape(A), IMAGES, images);
    if (!st) st = lmr_data_create("pnp", A, b, 0, &s.f);
    if (!st) st = find_largest(&s);
    if (!st && s.o.precondition) {
        s.M = larmor_op_ref(s.o.precondition);
        s.o.circulant = NULL;
    }
    if (!st) st = iterate(&s, &end);
    lmr_data_free(&s.f);
    larmor_op_free(s.M);
    for (int i = 0; i < IMAGES; i++) larmor_array_free(*images[i]);
    fill_info(&s, begin, end, info);
    return st;
}
