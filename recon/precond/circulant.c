/* The circulant matrix nearest to A^H A of non-Cartesian SENSE (T. Chan 1988), and inverses of it as preconditioners.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/precond/circulant.h"
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/measure.h"

/* What is added to the eigenvalues, relative to their mean: without it the preconditioner amplifies what the samples
 * hardly see before the rest has converged. Relative to the largest it would grow with the density of the samples in
 * the centre of k-space, and leave nothing to precondition in three dimensions. */
#define FLOOR_OVER_MEAN 0.1

/* The same where M tells how strong noise is. On the grid of docs/solvers.md it gives .5 to 1.5 of the noise of
 * images whose lambda is chosen; FLOOR_OVER_MEAN gives .3 to 1.1. */
#define NOISE_FLOOR_OVER_MEAN 0.01

/* Voxels with less than this part of the largest coil energy are taken for voxels that no coil sees: 1 % of
 * the largest map. */
#define MIN_COIL_ENERGY 1e-4
/* Of the largest energy: what is added before its root is divided by, so that dark voxels are not blown up. */
#define COIL_ENERGY_ADDED 0.02

enum { COARSE = 64 }; /* voxels of the maps in each dimension that the autocorrelation is found from, at most */

/* ---- the eigenvalues ---- */

larmor_status lmr_circulant_fft(larmor_array *x, int sign)
{
    int64_t dim[3] = {1, 1, 1};
    for (int d = 0; d < x->shape.ndim; d++) dim[d] = x->shape.dim[d];
    void *plan;
    LMR_TRY(lmr_fft_of(x)->plan(x->dev->ctx, x->shape.ndim, dim, 1, &plan));
    const larmor_status st = lmr_fft_of(x)->exec(x->dev->ctx, plan, sign, x->data);
    lmr_fft_of(x)->destroy(x->dev->ctx, plan);
    return st;
}

larmor_status lmr_circulant_mean(larmor_circulant *c)
{
    LMR_OWNED(larmor_array) *ones = NULL;
    double sum[2];
    LMR_TRY(larmor_array_create(c->eigenvalues->dev, c->eigenvalues->dtype, c->eigenvalues->shape, &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(larmor_dot(ones, c->eigenvalues, sum));
    c->mean = fmax(0, sum[0]) / c->count;
    return LARMOR_OK;
}

/* The mean of each diagonal of E A^H A E over the voxels of the support, wrapped around: psf(r) conj(a(r)) summed
 * over r modulo N, whose FFT it takes. Index i of the doubled grid is r = i - N, so i modulo N. Overwrites psf. */
static larmor_status find_eigenvalues(larmor_array *psf, const larmor_array *a, const larmor_circulant *c,
                                      larmor_array *eigenvalues)
{
    const lmr_recon_kernels *kernels;
    int64_t from[3] = {1, 1, 1}, to[3] = {1, 1, 1};
    for (int d = 0; d < c->image.ndim; d++) {
        from[d] = psf->shape.dim[d];
        to[d] = c->image.dim[d];
    }
    LMR_TRY(lmr_recon_kernels_of(psf->dev, psf->dtype, &kernels));
    LMR_TRY(larmor_mul(a, 1, psf));
    LMR_TRY(kernels->fold(psf->dev->ctx, from, to, 1 / c->support_voxels, psf->data, eigenvalues->data));
    return lmr_circulant_fft(eigenvalues, -1);
}

/* The largest of the eigenvalues, and their mean. */
static larmor_status measure_eigenvalues(larmor_circulant *c)
{
    const lmr_recon_kernels *kernels;
    const larmor_array *d = c->eigenvalues;
    LMR_TRY(lmr_recon_kernels_of(d->dev, d->dtype, &kernels));
    LMR_TRY(kernels->largest(d->dev->ctx, larmor_array_count(d), d->data, &c->largest));
    LMR_TRY(lmr_circulant_mean(c));
    if (isfinite(c->largest) && isfinite(c->mean)) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "circulant: the largest eigenvalue is %g; look for NaN or Inf in the maps",
                    c->largest);
}

/* ---- the support of the coil maps ---- */

larmor_status lmr_object_support(larmor_array *energy, double most, double *support_voxels)
{
    const lmr_recon_kernels *kernels;
    const int64_t voxels = larmor_array_count(energy);
    void *ctx = energy->dev->ctx;
    double norm = 0;
    LMR_TRY(lmr_recon_kernels_of(energy->dev, energy->dtype, &kernels));
    LMR_OWN(larmor_array, mask, larmor_array_create(energy->dev, energy->dtype, energy->shape, &mask));
    LMR_TRY(larmor_axpby(1, energy, 0, mask));
    LMR_TRY(kernels->power(ctx, voxels, -2, MIN_COIL_ENERGY * most, mask->data));
    LMR_TRY(larmor_mul(energy, 0, mask));
    LMR_TRY(larmor_nrm2(mask, &norm));
    LMR_TRY(larmor_axpby(COIL_ENERGY_ADDED * most, mask, 1, energy));
    LMR_TRY(larmor_mul(mask, 0, energy));
    LMR_TRY(kernels->power(ctx, voxels, -1, 0, energy->data));
    *support_voxels = norm * norm;
    return LARMOR_OK;
}

larmor_status lmr_circulant_energy(const larmor_array *maps, larmor_shape image, larmor_array **energy, double *most)
{
    const lmr_recon_kernels *kernels;
    const int64_t voxels = larmor_shape_count(image), coils = maps->shape.dim[image.ndim];
    void *ctx = maps->dev->ctx;
    LMR_TRY(lmr_recon_kernels_of(maps->dev, maps->dtype, &kernels));
    LMR_TRY(larmor_array_create(maps->dev, maps->dtype, image, energy));
    LMR_TRY(lmr_vec_of(maps)->combine(ctx, voxels, coils, maps->data, maps->data, (*energy)->data));
    return kernels->largest(ctx, voxels, (*energy)->data, most);
}

/* E of maps [image..., coils], and how many voxels it is not 0 for. */
static larmor_status support_of(larmor_array *maps, larmor_shape image, larmor_array **support,
                                double *support_voxels)
{
    double most;
    *support = NULL;
    larmor_status st = lmr_circulant_energy(maps, image, support, &most);
    if (!st) st = lmr_object_support(*support, most, support_voxels);
    if (st) LMR_CLEAR(*support);
    return st;
}

static larmor_status find_support(larmor_array *maps, larmor_shape image, larmor_circulant *c)
{
    double norm;
    c->support_voxels = (double)larmor_shape_count(image);
    c->square = 1;
    if (!maps) return LARMOR_OK;
    LMR_TRY(support_of(maps, image, &c->support, &c->support_voxels));
    LMR_TRY(larmor_nrm2(c->support, &norm));
    if (c->support_voxels > 0) c->square = norm * norm / c->support_voxels;
    if (c->support_voxels < 1) c->support_voxels = 1; /* maps of zeros: all eigenvalues are 0 */
    return LARMOR_OK;
}

larmor_shape lmr_circulant_coarse(larmor_shape image)
{
    for (int d = 0; d < image.ndim; d++)
        if (image.dim[d] > COARSE) image.dim[d] = COARSE;
    return image;
}

/* The sum of the coils' autocorrelations, all on the grid of the maps. */
static larmor_status correlate_coils(larmor_array *maps, larmor_shape grid, larmor_array **sum)
{
    LMR_OWNED(larmor_array) *one = NULL;
    LMR_FREED_BY(lmr_autocorrelation_free) lmr_autocorrelation a = {0};
    *sum = NULL;
    LMR_TRY(lmr_autocorrelation_begin(maps->dev, maps->dtype, grid, &a));
    for (int64_t c = 0; c < maps->shape.dim[grid.ndim]; c++) {
        LMR_TRY(lmr_go_on());
        LMR_TRY(larmor_array_part(maps, c, 1, grid, &one));
        LMR_TRY(lmr_autocorrelation_add(&a, one));
        LMR_CLEAR(one);
    }
    return lmr_autocorrelation_end(&a, sum);
}

static larmor_status copy_of(const larmor_array *x, larmor_array **copy)
{
    LMR_TRY(larmor_array_create(x->dev, x->dtype, x->shape, copy));
    return larmor_copy(x, *copy);
}

/* The autocorrelation of the maps times E; without any, of a constant. */
static larmor_status coil_autocorrelation(larmor_device *dev, larmor_array *maps, larmor_dtype dtype,
                                          larmor_shape image, larmor_array **sum)
{
    LMR_OWNED(larmor_array) *constant = NULL, *coarse = NULL, *own = NULL, *support = NULL, *small = NULL,
                            *on_doubled = NULL;
    const larmor_shape grid = lmr_circulant_coarse(image);
    double scale = 1, support_voxels;
    *sum = NULL;
    for (int d = 0; d < image.ndim; d++) scale *= (double)image.dim[d] / (double)grid.dim[d];
    if (!maps) {
        LMR_TRY(larmor_array_create(dev, dtype, larmor_shape_append(grid, 1), &constant));
        LMR_TRY(larmor_fill(constant, 1));
    }
    LMR_TRY(larmor_resize(maps ? maps : constant, grid, &coarse));
    if (maps) {
        LMR_TRY(support_of(coarse, grid, &support, &support_voxels));
        if (coarse == maps) LMR_TRY(copy_of(maps, &own));
        LMR_TRY(larmor_mul(support, 0, own ? own : coarse));
    }
    LMR_TRY(correlate_coils(own ? own : coarse, grid, &small));
    LMR_TRY(larmor_resize(small, lmr_doubled(image), &on_doubled));
    LMR_TRY(larmor_axpby(scale, on_doubled, 0, on_doubled));
    return LMR_HAND_ON(*sum, on_doubled);
}

static void circulant_destroy(void *circulant)
{
    larmor_circulant_free(circulant);
}

/* C without its eigenvalues, which are 0, and the maps' autocorrelation. */
static larmor_status begin_circulant(larmor_device *dev, larmor_array *maps, larmor_shape image, larmor_dtype dtype,
                                     larmor_circulant *c, larmor_array **sum)
{
    c->image = image;
    c->count = (double)larmor_shape_count(image);
    LMR_TRY(find_support(maps, image, c));
    LMR_TRY(larmor_array_create(dev, dtype, image, &c->eigenvalues));
    return coil_autocorrelation(dev, maps, dtype, image, sum);
}

/* C of the point spread function psf, which is overwritten. */
static larmor_status make(larmor_array *maps, larmor_array *psf, larmor_shape image, larmor_circulant **out)
{
    LMR_MAKE(larmor_circulant, c, circulant_destroy);
    LMR_OWN(larmor_array, sum, begin_circulant(psf->dev, maps, image, psf->dtype, c, &sum));
    LMR_TRY(find_eigenvalues(psf, sum, c, c->eigenvalues));
    LMR_TRY(measure_eigenvalues(c));
    *out = c;
    return lmr_hand_on(&c_made, LARMOR_OK);
}

/* maps: NULL, or those of a circulant, to be checked. */
static larmor_status spread_of(const larmor_array *maps, const larmor_array *traj, const larmor_array *weights,
                               larmor_shape image, larmor_dtype dtype, larmor_array **psf)
{
    LMR_OWN(larmor_array, k, lmr_precond_inputs("circulant", maps, traj, weights, image, dtype, &k));
    LMR_OWN(larmor_op, F, lmr_doubled_fourier(k, dtype, image, &F));
    return lmr_point_spread(F, k, weights, dtype, image, psf);
}

larmor_status larmor_circulant_create(larmor_array *maps, const larmor_array *traj, const larmor_array *weights,
                                      larmor_shape image, larmor_dtype dtype, larmor_circulant **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "circulant: out is NULL");
    *out = NULL;
    LMR_OWN(larmor_array, psf, spread_of(maps, traj, weights, image, dtype, &psf));
    return make(maps, psf, image, out);
}

larmor_status larmor_circulant_spread(const larmor_array *traj, const larmor_array *weights, larmor_shape image,
                                      larmor_dtype dtype, larmor_array **spread)
{
    LMR_NEED_OUT(spread);
    return spread_of(NULL, traj, weights, image, dtype, spread);
}

larmor_status larmor_circulant_of_spread(larmor_array *maps, const larmor_array *spread, larmor_circulant **C)
{
    LMR_NEED_OUT(C, spread);
    larmor_shape image = spread->shape;
    int odd = image.ndim < 1 || image.ndim > 3 || larmor_array_count(spread) < 1;
    for (int d = 0; d < image.ndim && !odd; d++) {
        odd = image.dim[d] % 2 != 0;
        image.dim[d] /= 2;
    }
    LMR_REFUSE(odd || !lmr_is_complex(spread->dtype), LARMOR_ERR_SHAPE,
               "circulant: the point spread function is %s, expected complex [2 image...]", lmr_describe(spread).s);
    if (maps) {
        const int64_t coils = maps->shape.ndim == image.ndim + 1 ? maps->shape.dim[image.ndim] : 1;
        LMR_TRY(lmr_expect("circulant", "maps", maps, spread->dev, spread->dtype, larmor_shape_append(image, coils)));
    }
    LMR_OWN(larmor_array, psf, copy_of(spread, &psf));
    return make(maps, psf, image, C);
}

/* The eigenvalues of each frame, and their mean. */
static larmor_status find_each(larmor_array *const *traj, larmor_array *const *weights, const larmor_array *sum,
                               larmor_circulant *c)
{
    const int64_t frames = c->each->shape.dim[c->image.ndim];
    for (int64_t i = 0; i < frames; i++) {
        LMR_OWNED(larmor_array) *psf = NULL, *own = NULL;
        LMR_TRY(lmr_go_on());
        LMR_TRY(spread_of(NULL, traj[i], weights ? weights[i] : NULL, c->image, c->each->dtype, &psf));
        LMR_TRY(larmor_array_part(c->each, i, 1, c->image, &own));
        LMR_TRY(find_eigenvalues(psf, sum, c, own));
        LMR_TRY(larmor_axpby(1 / (double)frames, own, 1, c->eigenvalues));
    }
    return measure_eigenvalues(c);
}

larmor_status larmor_circulant_create_frames(larmor_array *maps, larmor_array *const *traj,
                                             larmor_array *const *weights, int64_t frames, larmor_shape image,
                                             larmor_dtype dtype, larmor_circulant **C)
{
    LMR_NEED_OUT(C);
    LMR_OWNED(larmor_array) *sum = NULL, *k = NULL;
    LMR_REFUSE(!traj || frames < 1, LARMOR_ERR_ARG,
               "circulant: %lld frames, expected at least 1 with a trajectory each", (long long)frames);
    LMR_TRY(lmr_precond_inputs("circulant", maps, traj[0], weights ? weights[0] : NULL, image, dtype, &k));
    LMR_MAKE(larmor_circulant, c, circulant_destroy);
    LMR_TRY(begin_circulant(traj[0]->dev, maps, image, dtype, c, &sum));
    LMR_TRY(larmor_array_create(traj[0]->dev, dtype, larmor_shape_append(image, frames), &c->each));
    LMR_TRY(find_each(traj, weights, sum, c));
    *C = c;
    return lmr_hand_on(&c_made, LARMOR_OK);
}

larmor_status larmor_circulant_memory(const larmor_device *dev, const larmor_problem *p, int64_t *bytes)
{
    LMR_FREED_BY(lmr_measure_scan_free) lmr_measure_scan s = {.dev = NULL};
    larmor_circulant *c;
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    LMR_TRY(lmr_measure_scan_create(dev, p, &s));
    LMR_TRY(larmor_circulant_create(s.maps, s.traj, s.weights, p->image, p->dtype, &c));
    larmor_circulant_free(c);
    return lmr_bytes_store(lmr_measure_peak(s.dev), bytes);
}

void larmor_circulant_free(larmor_circulant *c)
{
    if (!c) return;
    LMR_FREE(c->eigenvalues, c->each, c->support);
    lmr_slab_fft_free(c->slabs);
    free(c);
}

/* ---- filters ---- */

larmor_status lmr_circulant_affine(const larmor_circulant *c, double a, double b, larmor_array *factors)
{
    LMR_TRY(larmor_fill(factors, b));
    return larmor_axpby(a, c->eigenvalues, 1, factors);
}

larmor_status lmr_circulant_invert(double scale, larmor_array *factors)
{
    const lmr_recon_kernels *kernels;
    LMR_TRY(lmr_recon_kernels_of(factors->dev, factors->dtype, &kernels));
    LMR_TRY(larmor_axpby(1 / scale, factors, 0, factors));
    LMR_TRY(kernels->power(factors->dev->ctx, larmor_array_count(factors), -2, 0, factors->data));
    return larmor_axpby(1 / scale, factors, 0, factors);
}

/* ---- inverses ---- */

typedef struct inverse {
    larmor_array *factors; /* 1 / (eigenvalues + ...), with the FFT's 1 / voxels */
    larmor_array *each;    /* of a series with eigenvalues of each frame, from which factors are made; or NULL */
    double added, scale, voxels; /* to them; about what their sum is; the FFT's */
    larmor_array *support;       /* E, or NULL */
    void *plan;                  /* of so many images: */
    int64_t at_once;
    lmr_slab_fft *slabs; /* in its place, where each rank has a slab; or NULL */
} inverse;

/* In slabs; all ranks take part in both exchanges, whatever fails. */
static larmor_status filter_slab(const inverse *m, larmor_array *y)
{
    lmr_slab_fft *f = m->slabs;
    LMR_OWNED(larmor_array) *cells = NULL;
    /* a rank that failed takes part in no exchange */
    LMR_TRY(lmr_ranks_agree(f->transpose.ranks, LARMOR_OK, NULL, NULL));
    larmor_status st = lmr_slab_fft_forward(f, y, LARMOR_OK);
    if (!st) st = larmor_array_part(f->b, 0, larmor_array_count(m->factors), m->factors->shape, &cells);
    if (!st) st = larmor_mul(m->factors, 0, cells);
    return lmr_slab_fft_back(f, y, st);
}

static larmor_status filter_images(const inverse *m, larmor_array *y)
{
    LMR_TRY(lmr_fft_of(y)->exec(y->dev->ctx, m->plan, -1, y->data));
    LMR_TRY(larmor_mul(m->factors, 0, y));
    return lmr_fft_of(y)->exec(y->dev->ctx, m->plan, 1, y->data);
}

/* factors <- those of so many frames from the first one on: an array of all would be as large as the series. */
static larmor_status make_factors(const inverse *m, int64_t first)
{
    const larmor_shape some = m->factors->shape;
    LMR_OWN(larmor_array, own, larmor_array_part(m->each, first, m->at_once, some, &own));
    LMR_TRY(larmor_fill(m->factors, m->added));
    LMR_TRY(larmor_axpby(1, own, 1, m->factors));
    LMR_TRY(lmr_circulant_invert(m->scale, m->factors));
    return larmor_axpby(1 / m->voxels, m->factors, 0, m->factors);
}

static larmor_status filter_whole(const inverse *m, larmor_array *y)
{
    larmor_shape some = y->shape;
    const int last = some.ndim - 1, is_series = m->each || some.ndim > m->factors->shape.ndim;
    if (!m->each && (!is_series || m->at_once == some.dim[last])) return filter_images(m, y);
    some.dim[last] = m->at_once;
    for (int64_t i = 0; i < y->shape.dim[last]; i += m->at_once) {
        if (m->each) LMR_TRY(make_factors(m, i));
        LMR_OWN(larmor_array, images, larmor_array_part(y, i, m->at_once, some, &images));
        LMR_TRY(filter_images(m, images));
    }
    return LARMOR_OK;
}

/* Frames that share an FFT, whose memory grows with them: a part of all of them. */
static int64_t frames_at_once(int64_t frames, int64_t voxels)
{
    enum { MOST = 1 << 23 }; /* voxels, which keep a GPU busy */
    int64_t count = frames;
    while (count > 1 && (frames % count || count > MOST / voxels)) count--;
    return count;
}

static larmor_status inverse_apply(void *self, const larmor_array *x, larmor_array *y)
{
    const inverse *m = self;
    LMR_TRY(larmor_copy(x, y));
    if (m->support) LMR_TRY(larmor_mul(m->support, 0, y));
    LMR_TRY(m->slabs ? filter_slab(m, y) : filter_whole(m, y));
    return m->support ? larmor_mul(m->support, 0, y) : LARMOR_OK;
}

static void inverse_destroy(void *self)
{
    inverse *m = self;
    if (m->plan) lmr_fft_of(m->factors)->destroy(m->factors->dev->ctx, m->plan);
    lmr_slab_fft_free(m->slabs);
    LMR_FREE(m->factors, m->each, m->support, m);
}

larmor_status lmr_circulant_point(const larmor_array *like, larmor_array **point)
{
    int64_t middle = 0;
    for (int d = like->shape.ndim - 1; d >= 0; d--) middle = middle * like->shape.dim[d] + like->shape.dim[d] / 2;
    LMR_TRY(larmor_array_create(like->dev, like->dtype, like->shape, point));
    LMR_OWN(larmor_array, line, larmor_array_reshape(*point, LARMOR_SHAPE(larmor_array_count(like)), &line));
    LMR_OWN(larmor_array, one, larmor_array_slice(line, middle, 1, &one));
    return larmor_fill(one, 1);
}

/* The eigenvalues of K^H K as far as it is the same everywhere: the transform of its response to a point in the
 * middle. */
static larmor_status add_penalty(larmor_op *K, double penalty, larmor_array *sum)
{
    LMR_OWN(larmor_array, point, lmr_circulant_point(sum, &point));
    LMR_OWN(larmor_array, response, larmor_array_create(sum->dev, sum->dtype, sum->shape, &response));
    LMR_TRY(larmor_op_normal(K, point, response));
    LMR_TRY(lmr_circulant_fft(point, -1));
    LMR_TRY(lmr_circulant_fft(response, -1));
    LMR_TRY(larmor_mul(point, 1, response));
    return larmor_axpby(penalty, response, 1, sum);
}

double lmr_circulant_added(const larmor_circulant *c, double lambda)
{
    return FLOOR_OVER_MEAN * (c->mean > 0 ? c->mean : 1) + c->square * lambda;
}

/* 1 if frames are told apart: not where M tells how strong noise is, or what the mean of all frames lets expect. */
static int has_each(const larmor_circulant *c, double penalty, int64_t frames)
{
    return c->each && penalty > 0 && c->each->shape.dim[c->image.ndim] == frames;
}

/* Those of all images. */
static larmor_status find_factors(const larmor_circulant *c, larmor_op *K, double penalty, inverse *m)
{
    LMR_TRY(lmr_circulant_affine(c, 1, m->added, m->factors));
    if (K && penalty > 0) LMR_TRY(add_penalty(K, penalty, m->factors));
    LMR_TRY(lmr_circulant_invert(m->scale, m->factors));
    return larmor_axpby(1 / m->voxels, m->factors, 0, m->factors);
}

/* frames: 0 for a single image. */
static larmor_status make_inverse(const larmor_circulant *c, double lambda, larmor_op *K, double penalty,
                                  double floor, int64_t frames, larmor_op **M)
{
    static const larmor_op_impl impl = {"circulant", inverse_apply, inverse_apply, NULL, inverse_destroy};
    LMR_REFUSE(!M, LARMOR_ERR_ARG, "circulant: M is NULL");
    *M = NULL;
    LMR_REFUSE(!c || !(lambda >= 0) || !isfinite(lambda) || !(penalty >= 0) || !isfinite(penalty), LARMOR_ERR_ARG,
               "circulant: lambda is %g and penalty %g, expected finite numbers >= 0, and a circulant", lambda,
               penalty);
    LMR_REFUSE(c->slabs && penalty > 0, LARMOR_ERR_UNSUPPORTED, "circulant: no penalty in slabs");
    const larmor_array *d = c->eigenvalues;
    const double whole = c->mean > 0 ? c->mean : 1;
    LMR_MAKE(inverse, m, inverse_destroy);
    int64_t dim[3] = {1, 1, 1};
    for (int i = 0; i < d->shape.ndim; i++) dim[i] = d->shape.dim[i];
    m->support = larmor_array_ref(c->support);
    m->at_once = frames_at_once(frames ? frames : 1, larmor_shape_count(c->image));
    m->added = floor * whole + c->square * (lambda + (K ? 0 : penalty));
    m->scale = whole;
    m->voxels = c->count;
    if (has_each(c, penalty, frames)) {
        m->each = larmor_array_ref(c->each);
        LMR_TRY(larmor_array_create(d->dev, d->dtype, larmor_shape_append(c->image, m->at_once), &m->factors));
    } else {
        LMR_TRY(larmor_array_create(d->dev, d->dtype, d->shape, &m->factors));
        LMR_TRY(find_factors(c, K, c->square * penalty, m));
    }
    if (c->slabs)
        m->slabs = lmr_slab_fft_ref(c->slabs);
    else
        LMR_TRY(lmr_fft_of(d)->plan(d->dev->ctx, d->shape.ndim, dim, m->at_once, &m->plan));
    const larmor_shape shape = frames ? larmor_shape_append(c->image, frames) : c->image;
    return lmr_hand_on(&m_made, larmor_op_create(d->dev, &impl, m, d->dtype, shape, shape, M));
}

larmor_status larmor_circulant_inverse(const larmor_circulant *c, double lambda, larmor_op *K, double penalty,
                                       larmor_op **M)
{
    return make_inverse(c, lambda, K, penalty, FLOOR_OVER_MEAN, 0, M);
}

larmor_status larmor_circulant_inverse_frames(const larmor_circulant *c, double lambda, double penalty,
                                              int64_t frames, larmor_op **M)
{
    if (M) *M = NULL;
    LMR_REFUSE(frames < 1, LARMOR_ERR_ARG, "circulant: %lld frames, expected at least 1", (long long)frames);
    LMR_REFUSE(c && c->slabs, LARMOR_ERR_UNSUPPORTED, "circulant: no frames in slabs");
    return make_inverse(c, lambda, NULL, penalty, FLOOR_OVER_MEAN, frames, M);
}

larmor_status larmor_circulant_noise(const larmor_circulant *c, double lambda, const larmor_array *folded,
                                     double *norm)
{
    LMR_OWNED(larmor_array) *image = NULL;
    LMR_NEED(norm);
    *norm = 0;
    LMR_REFUSE(!c || !folded, LARMOR_ERR_ARG, "circulant noise: a circulant and A^H e are needed");
    const larmor_shape shape = folded->shape;
    const int64_t frames = shape.ndim > c->image.ndim ? shape.dim[shape.ndim - 1] : 0;
    LMR_OWN(larmor_op, M, make_inverse(c, lambda, NULL, 0, NOISE_FLOOR_OVER_MEAN, frames, &M));
    LMR_TRY(larmor_array_create(folded->dev, folded->dtype, shape, &image));
    LMR_TRY(larmor_op_forward(M, folded, image));
    return larmor_nrm2(image, norm);
}

larmor_status lmr_circulant_inverse_of(const larmor_circulant *c, double lambda, double penalty, larmor_shape shape,
                                       larmor_op **M)
{
    if (shape.ndim <= c->image.ndim) return larmor_circulant_inverse(c, lambda, NULL, penalty, M);
    return larmor_circulant_inverse_frames(c, lambda, penalty, shape.dim[shape.ndim - 1], M);
}

larmor_status lmr_circulant_inverse_by_mean(const larmor_circulant *c, double lambda, double penalty,
                                            larmor_shape shape, larmor_op **M)
{
    larmor_circulant mean = *c;
    mean.each = NULL;
    return lmr_circulant_inverse_of(&mean, lambda, penalty, shape, M);
}
