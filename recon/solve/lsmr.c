/* LSMR (Fong and Saunders 2011), the Golub-Kahan process in a weighted inner product of the data.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/solve/solve.h"

enum { DEFAULT_ITERS = 20 };

/* The matrix is [A; sqrt(lambda)] and u = (p, q), so that any start serves. W u is what A^H needs: Wp. */
typedef struct state {
    larmor_op *A;
    larmor_array *weights; /* complex, or NULL */
    double root;           /* of lambda */
    larmor_array *p, *Wp;  /* like b; the same array without weights */
    larmor_array *q, *v, *h, *hbar, *image, *samples;
    double alpha, beta;
    /* the rotations' names are the paper's */
    double alphabar, rho, rhobar, cbar, sbar, zeta, zetabar;
    double betadd, betad, rhodold, tautildeold, thetatilde; /* of |r|, section 3 */
    double rhs;                                             /* |A^H W b|, of x = 0 */
} state;

static void list_state(larmor_array *x, state *s, lmr_state *list)
{
    LMR_STATE_ARRAYS(list, x, s->p, s->Wp, s->q, s->v, s->h, s->hbar);
    LMR_STATE_NUMBERS(list, &s->alpha, &s->beta, &s->alphabar, &s->rho, &s->rhobar, &s->cbar, &s->sbar, &s->zeta,
                      &s->zetabar, &s->betadd, &s->betad, &s->rhodold, &s->tautildeold, &s->thetatilde, &s->rhs);
}

static void rotation(double a, double b, double *c, double *s, double *r)
{
    *r = hypot(a, b);
    *c = *r > 0 ? a / *r : 1;
    *s = *r > 0 ? b / *r : 0;
}

/* Wp <- W p, beta <- |u|, u <- u / beta */
static larmor_status normalise_left(state *s)
{
    double data, image = 0;
    if (s->weights) {
        LMR_TRY(larmor_copy(s->p, s->Wp));
        LMR_TRY(larmor_mul(s->weights, 0, s->Wp));
    }
    LMR_TRY(lmr_real_dot(s->p, s->Wp, &data));
    if (s->root > 0) LMR_TRY(larmor_nrm2(s->q, &image));
    s->beta = sqrt(fmax(0, data) + image * image);
    if (isnan(data) || isnan(image)) s->beta = NAN;
    if (!(s->beta > 0)) return LARMOR_OK;
    LMR_TRY(larmor_axpby(1 / s->beta, s->p, 0, s->p));
    if (s->weights) LMR_TRY(larmor_axpby(1 / s->beta, s->Wp, 0, s->Wp));
    return s->root > 0 ? larmor_axpby(1 / s->beta, s->q, 0, s->q) : LARMOR_OK;
}

/* v <- A^H W p + root q - beta v, alpha <- |v|, v <- v / alpha */
static larmor_status next_right(state *s, double beta)
{
    LMR_TRY(larmor_op_adjoint(s->A, s->Wp, s->image));
    LMR_TRY(larmor_axpby(-beta, s->v, 1, s->image));
    if (s->root > 0) LMR_TRY(larmor_axpby(s->root, s->q, 1, s->image));
    LMR_TRY(larmor_nrm2(s->image, &s->alpha));
    return s->alpha > 0 ? larmor_axpby(1 / s->alpha, s->image, 0, s->v) : LARMOR_OK;
}

/* u <- A v - alpha u, of which <u, A v> is checked against alpha = <A^H u, v> where check is 1 */
static larmor_status next_left(state *s, int check)
{
    double product[2], image[2] = {0, 0};
    LMR_TRY(larmor_op_forward(s->A, s->v, s->samples));
    if (check) {
        LMR_TRY(larmor_dot(s->Wp, s->samples, product));
        if (s->root > 0) LMR_TRY(larmor_dot(s->q, s->v, image));
        const double forward = product[0] + s->root * image[0];
        LMR_REFUSE(!(hypot(forward - s->alpha, product[1] + s->root * image[1]) <= 0.01 * s->alpha),
                   LARMOR_ERR_NUMERIC,
                   "lsmr: <u, A v> is %g and <A^H u, v> %g, expected the same; is the adjoint that of the "
                   "forward map, and is all of it finite?",
                   forward, s->alpha);
    }
    LMR_TRY(larmor_axpby(1, s->samples, -s->alpha, s->p));
    if (s->root > 0) LMR_TRY(larmor_axpby(s->root, s->v, -s->alpha, s->q));
    return normalise_left(s);
}

/* Both rotations, the step of x, and the estimate of |r|. */
static larmor_status update(state *s, larmor_array *x, double *objective)
{
    const double rhoold = s->rho, rhobarold = s->rhobar, zetaold = s->zeta, thetatildeold = s->thetatilde;
    double c, sine, ctilde, stilde, rhotilde;
    rotation(s->alphabar, s->beta, &c, &sine, &s->rho);
    const double thetanew = sine * s->alpha, thetabar = s->sbar * s->rho;
    s->alphabar = c * s->alpha;
    rotation(s->cbar * s->rho, thetanew, &s->cbar, &s->sbar, &s->rhobar);
    s->zeta = s->cbar * s->zetabar;
    s->zetabar *= -s->sbar;
    LMR_TRY(larmor_axpby(1, s->h, -thetabar * s->rho / (rhoold * rhobarold), s->hbar));
    LMR_TRY(larmor_axpby(s->zeta / (s->rho * s->rhobar), s->hbar, 1, x));
    LMR_TRY(larmor_axpby(1, s->v, -thetanew / s->rho, s->h));

    const double betahat = c * s->betadd;
    s->betadd *= -sine;
    rotation(s->rhodold, thetabar, &ctilde, &stilde, &rhotilde);
    s->thetatilde = stilde * s->rhobar;
    s->rhodold = ctilde * s->rhobar;
    s->betad = -stilde * s->betad + ctilde * betahat;
    s->tautildeold = (zetaold - thetatildeold * s->tautildeold) / rhotilde;
    const double taud = (s->zeta - s->thetatilde * s->tautildeold) / s->rhodold;
    *objective = (s->betad - taud) * (s->betad - taud) + s->betadd * s->betadd;
    return LARMOR_OK;
}

/* u <- (b - A x, -root x) and the first v. */
static larmor_status start(state *s, const larmor_array *b, const larmor_array *x)
{
    double size;
    LMR_TRY(larmor_nrm2(x, &size));
    LMR_TRY(larmor_copy(b, s->p));
    if (size != 0) {
        LMR_TRY(normalise_left(s));
        LMR_TRY(next_right(s, 0));
        s->rhs = s->alpha * s->beta;
        LMR_TRY(larmor_op_forward(s->A, x, s->samples));
        LMR_TRY(larmor_copy(b, s->p));
        LMR_TRY(larmor_axpby(-1, s->samples, 1, s->p));
        if (s->root > 0) LMR_TRY(larmor_axpby(-s->root, x, 0, s->q));
    }
    LMR_TRY(normalise_left(s));
    LMR_TRY(next_right(s, 0));
    if (size == 0) s->rhs = s->alpha * s->beta;
    LMR_TRY(larmor_copy(s->v, s->h));
    s->zetabar = s->alpha * s->beta;
    s->alphabar = s->alpha;
    s->betadd = s->beta;
    s->rho = s->rhobar = s->cbar = s->rhodold = 1;
    if (isfinite(s->zetabar) && isfinite(s->rhs)) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_NUMERIC,
        "lsmr: |A^H r| is %g at the start, expected a finite number; look for NaN or Inf in the data, the "
        "weights, the maps and the start",
        s->zetabar);
}

static larmor_status iterate(lmr_run *run, state *s, const larmor_array *b, larmor_array *x)
{
    double objective;
    int resumed;
    list_state(x, s, &run->state);
    LMR_TRY(lmr_run_resume(run, &resumed));
    if (!resumed) {
        LMR_TRY(start(s, b, x));
        LMR_TRY(lmr_run_start(run, x, s->beta * s->beta, INFINITY));
        run->residual = s->rhs > 0 ? fabs(s->zetabar) / s->rhs : 0;
    }
    while (run->iters < run->o.max_iter && run->residual > run->o.tol) {
        LMR_TRY(next_left(s, run->iters == 0));
        if (s->beta > 0) LMR_TRY(next_right(s, s->beta));
        LMR_REFUSE(!isfinite(s->beta) || !isfinite(s->alpha), LARMOR_ERR_NUMERIC,
                   "lsmr: |u| is %g and |v| %g after %d iterations, expected finite numbers", s->beta, s->alpha,
                   run->iters);
        if (s->beta == 0) s->alpha = 0; /* the space is exhausted: this step ends it */
        LMR_TRY(update(s, x, &objective));
        LMR_TRY(lmr_run_step(run, x, fabs(s->zetabar) / s->rhs, objective));
    }
    return LARMOR_OK;
}

/* The weights in A's dtype. */
static larmor_status convert_weights(larmor_op *A, const larmor_array *weights, larmor_array **out)
{
    *out = NULL;
    if (!weights) return LARMOR_OK;
    const larmor_dtype dtype = larmor_array_dtype(weights);
    LMR_REFUSE(dtype == LARMOR_C64 || dtype == LARMOR_C128, LARMOR_ERR_ARG,
               "lsmr: weights are %s, expected real ones", larmor_dtype_name(dtype));
    return larmor_array_convert(weights, larmor_op_dtype(A), out); /* only referenced */
}

enum { IMAGES = 5, DATA = 2 }; /* arrays like x and like b; of the latter one more with weights */

larmor_status larmor_lsmr(larmor_op *A, const larmor_array *b, larmor_array *x, const larmor_solve_opts *opts,
                          larmor_report *report)
{
    lmr_run run;
    LMR_TRY(lmr_run_begin("lsmr", A, b, x, opts, DEFAULT_ITERS, 1e-4, report, &run));
    state s = {.A = A, .root = sqrt(run.o.lambda)};
    larmor_array **images[] = {&s.q, &s.v, &s.h, &s.hbar, &s.image}, **data[] = {&s.p, &s.samples, &s.Wp};
    larmor_status st;
    LMR_OR(done, convert_weights(A, run.o.weights, &s.weights));
    LMR_OR(done, lmr_arrays_create(A, larmor_op_in_shape(A), IMAGES, images));
    LMR_OR(done, lmr_arrays_create(A, larmor_op_out_shape(A), s.weights ? DATA + 1 : DATA, data));
    if (!s.weights) s.Wp = larmor_array_ref(s.p);
    st = iterate(&run, &s, b, x);
done:
    for (int i = 0; i < IMAGES; i++) larmor_array_free(*images[i]);
    for (int i = 0; i < DATA + 1; i++) larmor_array_free(*data[i]);
    larmor_array_free(s.weights);
    return lmr_run_end(&run, st, x, report);
}
