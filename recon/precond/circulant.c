/* The circulant matrix nearest to A^H A of non-Cartesian SENSE (T. Chan 1988), and inverses of it as preconditioners.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "recon/precond/precond.h"

/* What is added to the eigenvalues, relative to the largest. Without it the preconditioner amplifies what the samples
 * hardly see before the rest has converged. Chosen on 12 coils with 96 to 24 spokes: anything from 5e-3 to 1.2e-2 is
 * about as good, less is slower. */
#define FLOOR 8e-3

enum { COARSE = 64 }; /* voxels of the maps in each dimension that the autocorrelation is found from, at most */

struct larmor_circulant {
    larmor_array *eigenvalues; /* in the FFT's order, complex with imaginary parts of rounding */
    double largest;
};

/* ---- the eigenvalues ---- */

static larmor_status fft(larmor_array *x, int sign)
{
    int64_t dim[3] = {1, 1, 1};
    for (int d = 0; d < x->shape.ndim; d++) dim[d] = x->shape.dim[d];
    void *plan;
    LMR_TRY(lmr_fft_of(x)->plan(x->dev->ctx, x->shape.ndim, dim, 1, &plan));
    const larmor_status st = lmr_fft_of(x)->exec(x->dev->ctx, plan, sign, x->data);
    lmr_fft_of(x)->destroy(x->dev->ctx, plan);
    return st;
}

/* The mean of each diagonal of A^H A, wrapped around: psf(r) conj(a(r)) summed over r modulo N, whose FFT it takes. Index
 * i of the doubled grid is r = i - N, so i modulo N. Overwrites psf. */
static larmor_status find_eigenvalues(larmor_array *psf, const larmor_array *a, larmor_shape image,
                                      larmor_circulant *c)
{
    const lmr_recon_kernels *kernels;
    const larmor_shape grid = psf->shape;
    int64_t from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
    for (int d = 0; d < image.ndim; d++) from[d] = grid.dim[d], to[d] = image.dim[d];
    LMR_TRY(lmr_recon_kernels_of(psf->dev, psf->dtype, &kernels));
    LMR_TRY(larmor_mul(a, 1, psf));
    LMR_TRY(larmor_array_create(psf->dev, psf->dtype, image, &c->eigenvalues));
    LMR_TRY(kernels->fold(psf->dev->ctx, from, to, 1 / (double)larmor_shape_count(image), psf->data,
                          c->eigenvalues->data));
    LMR_TRY(fft(c->eigenvalues, -1));
    LMR_TRY(kernels->largest(psf->dev->ctx, larmor_array_count(c->eigenvalues), c->eigenvalues->data, &c->largest));
    if (isfinite(c->largest)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "circulant: the largest eigenvalue is %g; look for NaN or Inf in the maps",
                    c->largest);
}

/* y <- x [..., last], interpolated over the same field of view to `to` in the dimensions of that. */
static larmor_status resize(larmor_array *x, larmor_shape to, larmor_array **y)
{
    const lmr_recon_kernels *kernels;
    *y = NULL;
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    larmor_array *from = larmor_array_ref(x), *next;
    for (int d = 0; d < to.ndim; d++) {
        larmor_shape shape = from->shape;
        int64_t dim[3] = {1, shape.dim[d], 1};
        for (int e = 0; e < shape.ndim; e++)
            if (e != d) dim[e < d ? 0 : 2] *= shape.dim[e];
        if (shape.dim[d] == to.dim[d]) continue;
        shape.dim[d] = to.dim[d];
        larmor_status st = larmor_array_create(x->dev, x->dtype, shape, &next);
        if (!st) st = kernels->resize(x->dev->ctx, dim, to.dim[d], from->data, next->data);
        larmor_array_free(from), from = next;
        if (st) {
            larmor_array_free(from);
            return st;
        }
    }
    *y = from;
    return LARMOR_OK;
}

/* The sum of the coils' autocorrelations, all on the grid of the maps. */
static larmor_status correlate_coils(larmor_array *maps, larmor_shape grid, larmor_array **sum)
{
    larmor_array *one = NULL, *flat = NULL;
    lmr_autocorrelation a;
    *sum = NULL;
    LMR_TRY(lmr_autocorrelation_begin(maps->dev, maps->dtype, grid, &a));
    larmor_status st;
    for (int64_t c = 0; c < maps->shape.dim[grid.ndim]; c++) {
        LMR_OR(done, larmor_array_slice(maps, c, 1, &one));
        LMR_OR(done, larmor_array_reshape(one, grid, &flat));
        LMR_OR(done, lmr_autocorrelation_add(&a, flat));
        larmor_array_free(flat), larmor_array_free(one);
        flat = one = NULL;
    }
    st = lmr_autocorrelation_end(&a, sum);
done:
    larmor_array_free(flat), larmor_array_free(one);
    lmr_autocorrelation_free(&a);
    return st;
}

/* The autocorrelation of the maps; without any, of a constant. Maps are smooth, so that few voxels are enough. */
static larmor_status coil_autocorrelation(larmor_device *dev, larmor_array *maps, larmor_dtype dtype,
                                          larmor_shape image, larmor_array **sum)
{
    larmor_array *constant = NULL, *coarse = NULL, *small = NULL, *wide = NULL;
    larmor_shape grid = image;
    larmor_status st;
    double scale = 1;
    *sum = NULL;
    for (int d = 0; d < image.ndim; d++) {
        if (grid.dim[d] > COARSE) grid.dim[d] = COARSE;
        scale *= (double)image.dim[d] / (double)grid.dim[d];
    }
    if (!maps) {
        LMR_OR(done, larmor_array_create(dev, dtype, larmor_shape_append(grid, 1), &constant));
        LMR_OR(done, larmor_fill(constant, 1));
    }
    LMR_OR(done, resize(maps ? maps : constant, grid, &coarse));
    LMR_OR(done, correlate_coils(coarse, grid, &small));
    LMR_OR(done, resize(small, lmr_doubled(image), &wide));
    LMR_OR(done, larmor_axpby(scale, wide, 0, wide));
    *sum = wide, wide = NULL;
done:
    larmor_array_free(wide), larmor_array_free(small), larmor_array_free(coarse), larmor_array_free(constant);
    return st;
}

larmor_status larmor_circulant_create(larmor_array *maps, const larmor_array *traj, const larmor_array *weights,
                                      larmor_shape image, larmor_dtype dtype, larmor_circulant **out)
{
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "circulant: out is NULL");
    *out = NULL;
    larmor_array *k, *psf = NULL, *sum = NULL;
    larmor_nufft *plan = NULL;
    LMR_TRY(lmr_precond_inputs("circulant", maps, traj, weights, image, dtype, &k));
    larmor_status st = LARMOR_OK;
    larmor_circulant *c = calloc(1, sizeof *c);
    if (!c) LMR_OR(done, LMR_NO_MEMORY());
    LMR_OR(done, lmr_doubled_nufft(k, dtype, image, &plan));
    LMR_OR(done, lmr_point_spread(plan, k, weights, dtype, image, &psf));
    larmor_nufft_free(plan), plan = NULL;
    LMR_OR(done, coil_autocorrelation(k->dev, maps, dtype, image, &sum));
    LMR_OR(done, find_eigenvalues(psf, sum, image, c));
    *out = c, c = NULL;
done:
    larmor_circulant_free(c);
    larmor_nufft_free(plan);
    larmor_array_free(sum), larmor_array_free(psf), larmor_array_free(k);
    return st;
}

void larmor_circulant_free(larmor_circulant *c)
{
    if (!c) return;
    larmor_array_free(c->eigenvalues);
    free(c);
}

/* ---- inverses ---- */

typedef struct inverse {
    larmor_array *factors; /* 1 / (eigenvalues + ...), with the FFT's 1 / voxels */
    void *plan;
} inverse;

static larmor_status inverse_apply(void *self, const larmor_array *x, larmor_array *y)
{
    const inverse *m = self;
    LMR_TRY(larmor_copy(x, y));
    LMR_TRY(lmr_fft_of(y)->exec(y->dev->ctx, m->plan, -1, y->data));
    LMR_TRY(larmor_mul(m->factors, 0, y));
    return lmr_fft_of(y)->exec(y->dev->ctx, m->plan, 1, y->data);
}

static void inverse_destroy(void *self)
{
    inverse *m = self;
    if (m->plan) lmr_fft_of(m->factors)->destroy(m->factors->dev->ctx, m->plan);
    larmor_array_free(m->factors);
    free(m);
}

/* The eigenvalues of K^H K as far as it is the same everywhere: the transform of its response to a point in the
 * middle. */
static larmor_status add_penalty(larmor_op *K, double penalty, larmor_array *sum)
{
    larmor_array *point = NULL, *response = NULL;
    double complex *values = calloc((size_t)larmor_array_count(sum) + 1, sizeof *values);
    larmor_status st = values ? LARMOR_OK : LMR_NO_MEMORY();
    if (st) goto done;
    int64_t middle = 0;
    for (int d = sum->shape.ndim - 1; d >= 0; d--) middle = middle * sum->shape.dim[d] + sum->shape.dim[d] / 2;
    values[middle] = 1;
    LMR_OR(done, lmr_from_host(sum->dev, sum->dtype, sum->shape, values, &point));
    LMR_OR(done, larmor_array_create(sum->dev, sum->dtype, sum->shape, &response));
    LMR_OR(done, larmor_op_normal(K, point, response));
    LMR_OR(done, fft(point, -1));
    LMR_OR(done, fft(response, -1));
    LMR_OR(done, larmor_mul(point, 1, response));
    st = larmor_axpby(penalty, response, 1, sum);
done:
    larmor_array_free(response), larmor_array_free(point);
    free(values);
    return st;
}

larmor_status larmor_circulant_inverse(const larmor_circulant *c, double lambda, larmor_op *K, double penalty,
                                       larmor_op **M)
{
    static const larmor_op_impl impl = {"circulant", inverse_apply, inverse_apply, NULL, inverse_destroy};
    if (!M) return LMR_FAIL(LARMOR_ERR_ARG, "circulant: M is NULL");
    *M = NULL;
    if (!c || !(lambda >= 0) || !isfinite(lambda) || !(penalty >= 0) || !isfinite(penalty))
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "circulant: lambda is %g and penalty %g, expected finite numbers >= 0, and a circulant",
                        lambda, penalty);
    const larmor_array *d = c->eigenvalues;
    const int64_t count = larmor_array_count(d);
    const double whole = c->largest > 0 ? c->largest : 1;
    const lmr_recon_kernels *kernels;
    inverse *m = calloc(1, sizeof *m);
    if (!m) return LMR_NO_MEMORY();
    larmor_status st;
    int64_t dim[3] = {1, 1, 1};
    for (int i = 0; i < d->shape.ndim; i++) dim[i] = d->shape.dim[i];
    LMR_OR(fail, lmr_recon_kernels_of(d->dev, d->dtype, &kernels));
    LMR_OR(fail, larmor_array_create(d->dev, d->dtype, d->shape, &m->factors));
    LMR_OR(fail, larmor_fill(m->factors, lambda + (K ? 0 : penalty) + FLOOR * whole));
    LMR_OR(fail, larmor_axpby(1, d, 1, m->factors));
    if (K && penalty > 0) LMR_OR(fail, add_penalty(K, penalty, m->factors));
    /* scaled first: a power of small numbers must not leave the range of single precision */
    LMR_OR(fail, larmor_axpby(1 / whole, m->factors, 0, m->factors));
    LMR_OR(fail, kernels->power(d->dev->ctx, count, -2, 0, m->factors->data));
    LMR_OR(fail, larmor_axpby(1 / (whole * (double)count), m->factors, 0, m->factors));
    LMR_OR(fail, lmr_fft_of(d)->plan(d->dev->ctx, d->shape.ndim, dim, 1, &m->plan));
    LMR_OR(fail, larmor_op_create(d->dev, &impl, m, d->dtype, d->shape, d->shape, M));
    return LARMOR_OK;
fail:
    inverse_destroy(m);
    return st;
}

larmor_status larmor_precondition_circulant(larmor_array *maps, const larmor_array *traj, const larmor_array *weights,
                                            larmor_shape image, larmor_dtype dtype, double lambda, larmor_op **M)
{
    if (!M) return LMR_FAIL(LARMOR_ERR_ARG, "circulant: M is NULL");
    *M = NULL;
    larmor_circulant *c;
    LMR_TRY(larmor_circulant_create(maps, traj, weights, image, dtype, &c));
    const larmor_status st = larmor_circulant_inverse(c, lambda, NULL, 0, M);
    larmor_circulant_free(c);
    return st;
}
