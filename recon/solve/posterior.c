/* Samples of the posterior distribution of an image: perturb and optimise, and for penalties of magnitudes a Gibbs
 * sampler over the variances of the differences or coefficients. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/precond/circulant.h"
#include "recon/prox/prox.h"
#include "recon/prox/regulariser.h"
#include "recon/solve/solve.h"

/* What further steps change a sample by, of its distance from the one before: of second order in a deviation. */
#define MAX_REL_CHANGE 0.05
/* The precision of a difference that is near 0 is at most this many times the median of all: more holds it no better,
 * and makes the problem harder to solve. */
#define MOST_OVER_MEDIAN 1e4
enum {
    DEFAULT_STEPS = 60,
    FILLS =
        4 /* sums of so many uniform numbers are near enough to a normal distribution: within 1 % to 2.5 deviations */
};

struct larmor_posterior {
    larmor_op *A, *K, *B; /* B: A above the root of the precisions times K */
    const larmor_regulariser *r;
    const larmor_circulant *circulant;
    larmor_array *data;
    double weight, deviation, scale; /* scale: of magnitudes in the penalty */
    int64_t groups;                  /* numbers of K x that have one magnitude; 0: a Gaussian prior */
    int max_iter;
    uint64_t seed, drawn;
    larmor_array *b, *root, *Kx; /* b: of B; root: of the precisions, like K x */
};

/* ---- A above the weighted K ---- */

static larmor_status split(const larmor_posterior *p, const larmor_array *y, larmor_array **top, larmor_array **below)
{
    const int64_t data = larmor_shape_count(larmor_op_out_shape(p->A));
    LMR_OWN(larmor_array, first, larmor_array_slice(y, 0, data, &first));
    LMR_OWN(larmor_array, second, larmor_array_slice(y, data, larmor_array_count(y) - data, &second));
    LMR_TRY(larmor_array_reshape(first, larmor_op_out_shape(p->A), top));
    const larmor_status st = larmor_array_reshape(second, larmor_array_shape(p->root), below);
    if (st) larmor_array_free(*top);
    return st;
}

static larmor_status stacked_forward(void *self, const larmor_array *x, larmor_array *y)
{
    const larmor_posterior *p = self;
    LMR_OWNED(larmor_array) *top = NULL, *below = NULL;
    LMR_TRY(split(p, y, &top, &below));
    LMR_TRY(larmor_op_forward(p->A, x, top));
    LMR_TRY(lmr_map(p->K, x, below));
    return larmor_mul(p->root, 0, below);
}

static larmor_status stacked_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const larmor_posterior *p = self;
    LMR_OWNED(larmor_array) *top = NULL, *below = NULL, *more = NULL;
    LMR_TRY(split(p, y, &top, &below));
    LMR_TRY(larmor_copy(below, p->Kx));
    LMR_TRY(larmor_mul(p->root, 1, p->Kx));
    LMR_TRY(larmor_array_create(x->dev, x->dtype, x->shape, &more));
    LMR_TRY(lmr_map_back(p->K, p->Kx, more));
    LMR_TRY(larmor_op_adjoint(p->A, top, x));
    return larmor_axpby(1, more, 1, x);
}

static larmor_status stacked_normal(void *self, const larmor_array *x, larmor_array *z)
{
    const larmor_posterior *p = self;
    LMR_TRY(lmr_map(p->K, x, p->Kx));
    LMR_TRY(larmor_mul(p->root, 0, p->Kx));
    LMR_TRY(larmor_mul(p->root, 1, p->Kx));
    LMR_OWN(larmor_array, more, larmor_array_create(x->dev, x->dtype, x->shape, &more));
    LMR_TRY(lmr_map_back(p->K, p->Kx, more));
    LMR_TRY(larmor_op_normal(p->A, x, z));
    return larmor_axpby(1, more, 1, z);
}

/* ---- numbers by chance ---- */

/* x <- near normal numbers, of this deviation of the real and of the imaginary part. */
static larmor_status fill_normal(larmor_posterior *p, larmor_array *x)
{
    LMR_OWN(larmor_array, one, larmor_array_create(x->dev, x->dtype, x->shape, &one));
    for (int i = 0; i < FILLS; i++) {
        LMR_TRY(larmor_noise_fill(one, p->deviation / sqrt(FILLS), p->seed + ++p->drawn));
        LMR_TRY(larmor_axpby(1, one, i > 0, x));
    }
    return LARMOR_OK;
}

static double uniform(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t x = *state;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return ((double)((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
}

/* Of the inverse Gaussian distribution with this mean and shape. Source: Michael, Schucany, Haas, Am. Stat. 30, 88
 * (1976), whose smaller root is written without a difference of large numbers. */
static double inverse_gaussian(double mean, double shape, uint64_t *state)
{
    const double normal = sqrt(-2 * log(uniform(state))) * cos(2 * M_PI * uniform(state));
    const double t = mean * normal * normal / (2 * shape), small = mean / (1 + t + sqrt(t * t + 2 * t));
    return uniform(state) * (mean + small) <= mean ? small : mean * mean / small;
}

/* ---- precisions of K x ---- */

static void limit(double *precision, int64_t count)
{
    LMR_HEAP double *copy = malloc((size_t)count * sizeof *copy);
    if (!copy) return;
    for (int64_t i = 0; i < count; i++) copy[i] = precision[i];
    const double most = MOST_OVER_MEDIAN * lmr_median_f64(copy, count);
    for (int64_t i = 0; i < count; i++) precision[i] = fmin(precision[i], most);
}

/* exp(-m |z|) is a mean of normal distributions over their variances; given z, one over the variance is inverse
 * Gaussian of mean m / |z| and shape m^2. Source: Park and Casella, J. Am. Stat. Assoc. 103, 681 (2008); of groups:
 * Kyung et al., Bayesian Anal. 5, 369 (2010). *mean <- that of the precisions. */
static larmor_status draw_precisions(larmor_posterior *p, const larmor_array *x, double *mean)
{
    LMR_TRY(lmr_map(p->K, x, p->Kx));
    LMR_OWN_MEMORY(double, z, larmor_array_download(p->Kx, LARMOR_C128, &z));
    const int64_t all = larmor_array_count(p->Kx), count = all / p->groups;
    const double variance = p->deviation * p->deviation, m = p->weight * p->scale / variance;
    uint64_t state = p->seed + (++p->drawn << 32);
    LMR_HEAP LMR_NEW(double, precision, count + 1);
    for (int64_t i = 0; i < count; i++) {
        double square = 0;
        for (int64_t g = 0; g < p->groups; g++)
            square += z[2 * (i + count * g)] * z[2 * (i + count * g)] +
                      z[2 * (i + count * g) + 1] * z[2 * (i + count * g) + 1];
        precision[i] = variance * inverse_gaussian(m / fmax(sqrt(square), 1e-12 / m), m * m, &state);
    }
    limit(precision, count);
    *mean = 0;
    for (int64_t i = 0; i < count; i++) *mean += precision[i] / (double)count;
    for (int64_t i = 0; i < all; i++) {
        z[2 * i] = sqrt(precision[i % count]);
        z[2 * i + 1] = 0;
    }
    LMR_OWN(larmor_array, root, larmor_array_upload(p->Kx->dev, p->Kx->dtype, p->Kx->shape, LARMOR_C128, z, &root));
    return larmor_copy(root, p->root);
}

/* ---- samples ---- */

static larmor_status draw_data(larmor_posterior *p)
{
    LMR_OWNED(larmor_array) *top = NULL, *below = NULL;
    LMR_TRY(split(p, p->b, &top, &below));
    LMR_TRY(fill_normal(p, top));
    LMR_TRY(larmor_axpby(1, p->data, 1, top));
    return fill_normal(p, below);
}

/* b <- b - B x: what is left to find is of the noise's size. */
static larmor_status subtract_start(larmor_posterior *p, const larmor_array *x)
{
    LMR_OWN(larmor_array, known, larmor_array_create(p->b->dev, p->b->dtype, p->b->shape, &known));
    LMR_TRY(larmor_op_forward(p->B, x, known));
    return larmor_axpby(-1, known, 1, p->b);
}

static larmor_status precondition(const larmor_posterior *p, double mean, larmor_op **M)
{
    const larmor_shape image = larmor_op_in_shape(p->A);
    if (!p->circulant) return LARMOR_OK;
    if (!p->groups) return larmor_circulant_inverse(p->circulant, p->weight, NULL, 0, M);
    if (p->circulant->eigenvalues->shape.ndim == image.ndim)
        return larmor_circulant_inverse(p->circulant, 0, p->K, mean, M);
    return lmr_circulant_inverse_of(p->circulant, 0, p->r->kind.curvature * mean, image, M);
}

larmor_status larmor_posterior_next(larmor_posterior *p, larmor_array *x)
{
    double mean = p ? p->weight : 0;
    LMR_REFUSE(!p || !x, LARMOR_ERR_ARG, "posterior: p and x are needed");
    LMR_TRY(
        lmr_expect("posterior", "image", x, larmor_op_device(p->A), larmor_op_dtype(p->A), larmor_op_in_shape(p->A)));
    if (p->groups) LMR_TRY(draw_precisions(p, x, &mean));
    LMR_TRY(draw_data(p));
    LMR_OWN(larmor_op, M, precondition(p, mean, &M));
    const larmor_solve_opts o = {.max_iter = p->max_iter, .tol = -1, .relative = MAX_REL_CHANGE, .precondition = M};
    LMR_TRY(subtract_start(p, x));
    LMR_OWN(larmor_array, step, larmor_array_create(x->dev, x->dtype, x->shape, &step));
    LMR_TRY(larmor_cg(p->B, p->b, step, &o, NULL));
    return larmor_axpby(1, step, 1, x);
}

static larmor_status begin(larmor_posterior *p)
{
    static const larmor_op_impl impl = {"posterior", stacked_forward, stacked_adjoint, stacked_normal, NULL};
    larmor_device *dev = larmor_op_device(p->A);
    const larmor_dtype dtype = larmor_op_dtype(p->A);
    const larmor_shape below = p->K ? larmor_op_out_shape(p->K) : larmor_op_in_shape(p->A);
    const larmor_shape all = LARMOR_SHAPE(larmor_shape_count(larmor_op_out_shape(p->A)) + larmor_shape_count(below));
    LMR_TRY(larmor_array_create(dev, dtype, below, &p->root));
    LMR_TRY(larmor_array_create(dev, dtype, below, &p->Kx));
    LMR_TRY(larmor_array_create(dev, dtype, all, &p->b));
    LMR_TRY(larmor_fill(p->root, sqrt(p->weight)));
    return larmor_op_create(dev, &impl, p, dtype, larmor_op_in_shape(p->A), all, &p->B);
}

static larmor_status take_prior(larmor_posterior *p)
{
    if (!p->r) return LARMOR_OK;
    LMR_REFUSE(p->r->penalty.E || !lmr_prox_magnitudes(p->r->penalty.g, &p->scale, &p->groups), LARMOR_ERR_ARG,
               "posterior: %s is no sum of magnitudes; tv, wavelet and conjugate gradients have samples",
               p->r->kind.name);
    p->K = p->r->penalty.K;
    return LARMOR_OK;
}

larmor_status larmor_posterior_create(larmor_op *A, const larmor_array *b, const larmor_regulariser *r,
                                      const larmor_posterior_opts *opts, larmor_posterior **out)
{
    LMR_NEED(out);
    *out = NULL;
    LMR_REFUSE(!A || !b || !opts, LARMOR_ERR_ARG, "posterior: A, b and opts are needed");
    LMR_TRY(lmr_expect("posterior", "data", b, larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A)));
    LMR_REFUSE(!(opts->weight > 0) || isinf(opts->weight) || !(opts->deviation > 0) || isinf(opts->deviation),
               LARMOR_ERR_ARG, "posterior: a weight of %g and a deviation of %g, expected finite numbers above 0",
               opts->weight, opts->deviation);
    LMR_REFUSE(opts->max_iter < 0, LARMOR_ERR_ARG, "posterior: max_iter is %d, expected at least 0", opts->max_iter);
    LMR_NEW_ZEROS(larmor_posterior, p, 1);
    *p = (larmor_posterior){.A = larmor_op_ref(A),
                            .r = r,
                            .circulant = opts->circulant,
                            .weight = opts->weight,
                            .deviation = opts->deviation,
                            .max_iter = opts->max_iter ? opts->max_iter : DEFAULT_STEPS,
                            .seed = opts->seed};
    larmor_status st = take_prior(p);
    if (!st) st = larmor_array_create(b->dev, b->dtype, b->shape, &p->data);
    if (!st) st = larmor_copy(b, p->data);
    if (!st) st = begin(p);
    if (st)
        larmor_posterior_free(p);
    else
        *out = p;
    return st;
}

void larmor_posterior_free(larmor_posterior *p)
{
    if (!p) return;
    LMR_FREE(p->B, p->A, p->b, p->root, p->Kx, p->data, p);
}
