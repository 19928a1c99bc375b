/* The normal operator of the NUFFT as a convolution with the point spread function (Wajer and Pruessmann 2001;
 * Fessler et al. 2005), and that of several images whose k-space is mixed (Mani et al. 2015; Tamir et al. 2017).
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/toeplitz.h"

#include "core/core.h"
#include "nufft/choose/choose.h"
#include "nufft/options.h"

struct lmr_toeplitz {
    larmor_device *dev;
    const lmr_conv *conv;
    void *plan;
    larmor_dtype dtype;
    larmor_shape shape;
    int64_t arrays; /* 0 where they are mixed or have several spectra */
};

/* Sizes, and how the point spread function is made. */
typedef struct design {
    larmor_nufft_opts opts;  /* of the operator, defaults filled in */
    larmor_nufft_opts psf;   /* type 1 onto twice the modes: its lags go from -N to N - 1 */
    lmr_nufft_geometry wrap; /* from those lags to the grid, lag 0 first */
    int64_t lags, cells;
} design;

/* The error of the point spread function is one of N, whose own tolerance it must not spend: a tenth of it, in double
 * precision, and no smaller than that can be. There are few samples for so many modes, so that the finest grid is the
 * dearest part, and the smallest one the best where it will do. */
larmor_status lmr_toeplitz_choose_psf(double tol, larmor_nufft_opts *psf)
{
    const struct {
        double tol, upsample;
    } tries[] = {{tol / 10, 1.25}, {tol / 10, 0}, {tol, 0}};
    lmr_nufft_choice choice;
    larmor_status st = LARMOR_ERR_NUMERIC;
    for (int i = 0; i < 3 && st == LARMOR_ERR_NUMERIC; i++) {
        const lmr_nufft_request request = {.ndim = psf->ndim, .tol = tries[i].tol, .upsample = tries[i].upsample};
        psf->tol = request.tol;
        psf->upsample = request.upsample;
        st = lmr_nufft_choose(&request, psf->modes, &choice);
    }
    return st;
}

static larmor_status choose_psf(design *d)
{
    for (int i = 0; i < 3; i++) d->psf.modes[i] = d->wrap.modes[i];
    return lmr_toeplitz_choose_psf(d->opts.tol, &d->psf);
}

static larmor_status make_design(const larmor_nufft_opts *opts, design *d)
{
    *d = (design){.lags = 1, .cells = 1};
    LMR_TRY(lmr_nufft_read_options(opts, &d->opts));
    larmor_nufft_opts *o = &d->opts;
    LMR_REFUSE(o->ndim < 1 || o->ndim > 3, LARMOR_ERR_ARG, "toeplitz: ndim: got %d, expected 1 .. 3", o->ndim);
    if (o->tol == 0) o->tol = 1e-5;
    LMR_REFUSE(!(o->tol > 0 && o->tol < 1), LARMOR_ERR_ARG, "toeplitz: tol: got %g, expected 0 < tol < 1", o->tol);
    LMR_REFUSE(o->mode_order || o->spread_only, LARMOR_ERR_ARG, "toeplitz: %s is not for the normal map; leave it 0",
               o->mode_order ? "mode_order" : "spread_only");
    LMR_REFUSE(o->batch < 0, LARMOR_ERR_ARG, "toeplitz: batch: got %lld, expected >= 0", (long long)o->batch);
    o->dtype = lmr_precision(o->dtype) == LMR_F64 ? LARMOR_C128 : LARMOR_C64;
    d->wrap.ndim = o->ndim;
    d->wrap.batch = 1;
    for (int i = 0; i < 3; i++) {
        const int64_t modes = i < o->ndim ? o->modes[i] : 1;
        LMR_REFUSE(modes < 1 || modes > INT64_C(1) << 30, LARMOR_ERR_ARG,
                   "toeplitz: modes[%d]: got %lld, expected 1 .. 2^30", i, (long long)modes);
        o->modes[i] = modes;
        d->wrap.modes[i] = i < o->ndim ? 2 * modes : 1;
        d->wrap.cells[i] = i < o->ndim ? lmr_nufft_good_size(2 * modes) : 1;
        LMR_REFUSE(!lmr_mul(d->lags, d->wrap.modes[i], &d->lags) || !lmr_mul(d->cells, d->wrap.cells[i], &d->cells) ||
                       d->cells > INT64_C(1) << 54,
                   LARMOR_ERR_ARG, "toeplitz: the modes are too many");
    }
    d->psf = (larmor_nufft_opts){
        .type = 1, .ndim = o->ndim, .batch = 1, .sign = o->sign > 0 ? -1 : 1, .dtype = LARMOR_C128};
    return choose_psf(d);
}

/* ---- the point spread function ---- */

/* points [nd, m] <- 2 traj, in double: the same positions in periods of the doubled modes. */
static larmor_status double_points(const larmor_array *traj, larmor_array **points)
{
    const lmr_backend *be = traj->dev->be;
    const int64_t count = larmor_array_count(traj), nd = traj->shape.dim[0];
    LMR_TRY(larmor_array_create(traj->dev, LARMOR_F64, LARMOR_SHAPE(nd, count / nd + 1), points));
    void *ctx = traj->dev->ctx, *k = (*points)->data;
    /* pairs of real numbers are complex ones; room for one point more makes their number even */
    LMR_TRY(be->convert(ctx, count, traj->dtype, traj->data, LARMOR_F64, k));
    return be->vec[LMR_F64]->axpby(ctx, (count + 1) / 2, 2, k, 0, k);
}

/* What the spectra are made from, one after the other. */
typedef struct kernels {
    larmor_array *points, *room; /* room: that the points lie in */
    larmor_nufft *plan;
    larmor_array *values, *lags; /* [points] and [lags], in double */
    larmor_array *edges;         /* 0 for lag -N, which meets no two voxels of an image, and 1 for the others */
    larmor_array *grid;          /* [cells], in double */
    larmor_array *cells;         /* the same in the operator's type */
    larmor_array *base;          /* [points], in double: what several kernels multiply by weights of their own */
    larmor_array *weights, *factor[2]; /* [points], in double, where there are several kernels */
    void *fft;
} kernels;

/* What is needed for the values alone. */
static void free_points(kernels *k)
{
    larmor_array **const of[] = {&k->values,  &k->points,    &k->room,     &k->base,
                                 &k->weights, &k->factor[0], &k->factor[1]};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) LMR_CLEAR(*of[i]);
    larmor_nufft_free(k->plan);
    k->plan = NULL;
}

static void free_transform(const design *d, larmor_device *dev, kernels *k)
{
    if (k->fft) dev->be->fft[lmr_precision(d->psf.dtype)]->destroy(dev->ctx, k->fft);
    larmor_array_free(k->grid);
    k->fft = NULL;
    k->grid = NULL;
}

static void free_kernels(const design *d, larmor_device *dev, kernels *k)
{
    free_transform(d, dev, k);
    free_points(k);
    LMR_FREE(k->cells, k->edges, k->lags);
    *k = (kernels){.points = NULL};
}

static larmor_status make_edges(const design *d, larmor_device *dev, larmor_array **edges)
{
    int64_t longest = 1;
    for (int i = 0; i < d->wrap.ndim; i++) longest = d->wrap.modes[i] > longest ? d->wrap.modes[i] : longest;
    LMR_TRY(larmor_array_create(dev, lmr_real_of(d->psf.dtype), LARMOR_SHAPE(longest), edges));
    LMR_TRY(larmor_fill(*edges, 1));
    LMR_OWN(larmor_array, first, larmor_array_slice(*edges, 0, 1, &first));
    return larmor_fill(first, 0);
}

static larmor_status make_kernels(const design *d, const larmor_array *traj, kernels *k)
{
    larmor_device *dev = traj->dev;
    const int64_t m = larmor_array_count(traj) / d->psf.ndim;
    LMR_TRY(double_points(traj, &k->room));
    LMR_TRY(larmor_array_slice(k->room, 0, m, &k->points));
    LMR_TRY(larmor_nufft_create(dev, &d->psf, &k->plan));
    LMR_TRY(larmor_nufft_set_points(k->plan, k->points, NULL));
    LMR_TRY(larmor_array_create(dev, d->psf.dtype, LARMOR_SHAPE(m), &k->values));
    LMR_TRY(larmor_array_create(dev, d->psf.dtype, LARMOR_SHAPE(d->lags), &k->lags));
    return make_edges(d, dev, &k->edges);
}

/* cells <- the transform of sum_j values_j exp(sign 2 pi i k_j . r / N), r from 1 - N to N - 1, each r in its cell:
 * real where the values are. last: 1 if no other values come. */
static larmor_status transform_values(const design *d, larmor_device *dev, kernels *k, int last)
{
    const int precision = lmr_precision(d->psf.dtype);
    const lmr_fft *fft = dev->be->fft[precision];
    const lmr_nufft_kernels *table = LMR_KERNELS(dev, nufft, LMR_NUFFT_ABI, precision);
    lmr_nufft_geometry wrap = d->wrap;
    for (int i = 0; i < wrap.ndim; i++) wrap.factor[i] = k->edges->data;
    LMR_TRY(larmor_nufft_execute(k->plan, k->values, k->lags));
    if (last) free_points(k);
    if (!k->grid) LMR_TRY(larmor_array_create(dev, d->psf.dtype, LARMOR_SHAPE(d->cells), &k->grid));
    if (!k->fft) LMR_TRY(fft->plan(dev->ctx, wrap.ndim, wrap.cells, 1, &k->fft));
    LMR_TRY(table->pad(dev->ctx, &wrap, 1, k->lags->data, k->grid->data));
    LMR_TRY(lmr_go_on());
    LMR_TRY(fft->band(dev->ctx, k->fft, -1, 0, wrap.modes, k->grid->data));
    larmor_array_free(k->cells);
    LMR_TRY(larmor_array_convert(k->grid, d->opts.dtype, &k->cells));
    if (!last) return LARMOR_OK;
    free_transform(d, dev, k);
    return LARMOR_OK;
}

/* ---- the values ---- */

static larmor_status to_double(const larmor_array *x, int64_t first, larmor_array *to)
{
    const int64_t m = larmor_array_count(to);
    const char *from = (const char *)x->data + (size_t)(first * m) * larmor_dtype_size(x->dtype);
    return x->dev->be->convert(x->dev->ctx, m, x->dtype, from, to->dtype, to->data);
}

/* to <- w, or 1 */
static larmor_status take_weights(const larmor_array *weights, larmor_array *to)
{
    return weights ? to_double(weights, 0, to) : larmor_fill(to, 1);
}

/* values <- w conj(b_row) b_column, or values <- values + i times that */
static larmor_status take_product(kernels *k, const larmor_array *factors, int row, int column, int second)
{
    static const double one[2] = {1, 0}, i[2] = {0, 1};
    const lmr_vec *vec = lmr_vec_of(k->values);
    void *ctx = k->values->dev->ctx, *product = k->factor[1]->data;
    const int64_t m = larmor_array_count(k->values);
    LMR_TRY(to_double(factors, row, k->factor[0]));
    LMR_TRY(to_double(factors, column, k->factor[1]));
    LMR_TRY(vec->mul(ctx, m, 1, k->factor[0]->data, product, 1, product));
    if (k->weights) LMR_TRY(vec->mul(ctx, m, 1, k->weights->data, product, 0, product));
    if (second) return vec->axpby_complex(ctx, m, i, product, one, k->values->data);
    return vec->axpby(ctx, m, 1, product, 0, k->values->data);
}

/* factor, and weights if there are any. */
static larmor_status make_room_for_products(kernels *k, int weighted)
{
    larmor_device *dev = k->values->dev;
    const larmor_dtype dtype = k->values->dtype;
    const larmor_shape shape = k->values->shape;
    for (int i = 0; i < 2; i++) LMR_TRY(larmor_array_create(dev, dtype, shape, &k->factor[i]));
    return weighted ? larmor_array_create(dev, dtype, shape, &k->weights) : LARMOR_OK;
}

/* ---- the operator ---- */

larmor_status lmr_toeplitz_apply(lmr_toeplitz *t, int k, const larmor_array *x, larmor_array *y)
{
    LMR_TRY(lmr_go_on());
    return t->conv->exec(t->dev->ctx, t->plan, k, x->data, y->data);
}

larmor_dtype lmr_toeplitz_dtype(const lmr_toeplitz *t)
{
    return t->dtype;
}

larmor_shape lmr_toeplitz_shape(const lmr_toeplitz *t)
{
    return t->shape;
}

void lmr_toeplitz_free(lmr_toeplitz *t)
{
    if (!t) return;
    t->conv->destroy(t->dev->ctx, t->plan);
    LMR_FREE(t->dev, t);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    return lmr_toeplitz_apply(self, 0, x, y);
}

static void destroy(void *self)
{
    lmr_toeplitz_free(self);
}

larmor_status lmr_toeplitz_coils(larmor_op *N, const larmor_array *maps, const larmor_array *x, larmor_array *room,
                                 larmor_array *z, int *done)
{
    const lmr_toeplitz *t = lmr_op_self(N, forward);
    const int64_t count = maps->shape.dim[maps->shape.ndim - 1];
    *done = 0;
    if (!t || !t->conv->coils || count > t->arrays) return LARMOR_OK;
    *done = 1;
    LMR_TRY(lmr_go_on());
    return t->conv->coils(t->dev->ctx, t->plan, count, maps->data, x->data, room->data, z->data);
}

static larmor_status expect_inputs(const design *d, const larmor_array *traj, const larmor_array *weights)
{
    const larmor_shape points = larmor_array_shape(traj);
    LMR_REFUSE(!lmr_is_real(traj->dtype) || points.ndim < 2 || points.ndim >= LARMOR_MAX_DIMS ||
                   points.dim[0] != d->opts.ndim,
               LARMOR_ERR_SHAPE, "toeplitz: traj is %s, expected real [%d, samples, readouts] or [%d, points]",
               lmr_describe(traj).s, d->opts.ndim, d->opts.ndim);
    if (!weights) return LARMOR_OK;
    LMR_REFUSE(!lmr_is_real(weights->dtype), LARMOR_ERR_ARG, "toeplitz: weights are %s, expected real ones",
               lmr_describe(weights).s);
    return lmr_expect("toeplitz", "weight array", weights, traj->dev, weights->dtype,
                      larmor_shape_of(points.ndim - 1, points.dim + 1));
}

static lmr_conv_shape conv_shape(const design *d)
{
    lmr_conv_shape s = {.ndim = d->opts.ndim, .batch = d->opts.batch ? d->opts.batch : 1, .mixed = 1, .spectra = 1};
    for (int i = 0; i < 3; i++) {
        s.dim[i] = d->wrap.cells[i];
        s.keep[i] = d->opts.modes[i];
    }
    return s;
}

/* What the kernels are made with; more than one where there are several weights, a matrix of them where there are
 * factors. */
typedef struct recipe {
    const larmor_array *weights;         /* or NULL */
    const lmr_toeplitz_weights *several; /* or NULL */
    const larmor_array *factors;         /* or NULL */
} recipe;

static lmr_conv_shape conv_shape_of(const design *d, const recipe *r)
{
    lmr_conv_shape s = conv_shape(d);
    if (r->several) s.spectra = r->several->count;
    if (!r->factors) return s;
    s.mixed = (int)r->factors->shape.dim[r->factors->shape.ndim - 1];
    s.is_complex = lmr_is_complex(r->factors->dtype);
    return s;
}

static larmor_shape shape_of_images(const design *d, const recipe *r)
{
    larmor_shape shape = larmor_shape_of(d->opts.ndim, d->opts.modes);
    if (d->opts.batch) shape = larmor_shape_append(shape, d->opts.batch);
    return r->factors ? larmor_shape_append(shape, r->factors->shape.dim[r->factors->shape.ndim - 1]) : shape;
}

static larmor_status set_plane(const design *d, lmr_toeplitz *t, const kernels *k, int plane, int part)
{
    return t->conv->set(t->dev->ctx, t->plan, plane, 1 / (double)d->cells, part, k->cells->data);
}

static larmor_status set_one(const design *d, lmr_toeplitz *t, const lmr_conv_shape *shape, kernels *k,
                             const larmor_array *weights)
{
    LMR_TRY(take_weights(weights, k->values));
    LMR_TRY(transform_values(d, t->dev, k, 1));
    LMR_TRY(t->conv->plan(t->dev->ctx, shape, &t->plan));
    return set_plane(d, t, k, 0, 0);
}

static larmor_status make_base(kernels *k, const larmor_array *weights)
{
    LMR_TRY(larmor_array_create(k->values->dev, k->values->dtype, k->values->shape, &k->base));
    return take_weights(weights, k->base);
}

static larmor_status set_several(const design *d, lmr_toeplitz *t, const lmr_conv_shape *shape, kernels *k,
                                 const recipe *r)
{
    LMR_TRY(make_base(k, r->weights));
    LMR_TRY(t->conv->plan(t->dev->ctx, shape, &t->plan));
    for (int i = 0; i < shape->spectra; i++) {
        LMR_TRY(r->several->weigh(r->several->user, i, k->base, k->values));
        LMR_TRY(transform_values(d, t->dev, k, 0));
        LMR_TRY(set_plane(d, t, k, i, 0));
    }
    return LARMOR_OK;
}

/* Two real products go through one transform, as its real and its imaginary part. first: the plane at which the
 * matrices begin. */
static larmor_status set_real(const design *d, lmr_toeplitz *t, const lmr_conv_shape *shape, kernels *k,
                              const larmor_array *factors, int first)
{
    int waiting = -1;
    int left = shape->is_complex ? shape->mixed : lmr_conv_planes(shape);
    for (int column = 0; column < shape->mixed; column++)
        for (int row = shape->is_complex ? column : 0; row <= column; row++) {
            const int plane = first + lmr_conv_plane(shape, row, column, 0);
            LMR_TRY(take_product(k, factors, row, column, waiting >= 0));
            left--;
            if (waiting < 0 && left) {
                waiting = plane;
                continue;
            }
            LMR_TRY(transform_values(d, t->dev, k, 0));
            if (waiting >= 0) LMR_TRY(set_plane(d, t, k, waiting, 0));
            LMR_TRY(set_plane(d, t, k, plane, waiting >= 0));
            waiting = -1;
        }
    return LARMOR_OK;
}

/* The matrices with k->weights, which begin at plane `first`. */
static larmor_status set_matrices(const design *d, lmr_toeplitz *t, const lmr_conv_shape *shape, kernels *k,
                                  const larmor_array *factors, int first)
{
    LMR_TRY(set_real(d, t, shape, k, factors, first));
    for (int column = 1; shape->is_complex && column < shape->mixed; column++)
        for (int row = 0; row < column; row++) {
            LMR_TRY(take_product(k, factors, row, column, 0));
            LMR_TRY(transform_values(d, t->dev, k, 0));
            for (int part = 0; part < 2; part++)
                LMR_TRY(set_plane(d, t, k, first + lmr_conv_plane(shape, row, column, part), part));
        }
    return LARMOR_OK;
}

static larmor_status set_mixed(const design *d, lmr_toeplitz *t, const lmr_conv_shape *shape, kernels *k,
                               const recipe *r)
{
    LMR_TRY(make_room_for_products(k, r->weights || r->several));
    LMR_TRY(t->conv->plan(t->dev->ctx, shape, &t->plan));
    if (!r->several) {
        if (r->weights) LMR_TRY(take_weights(r->weights, k->weights));
        return set_matrices(d, t, shape, k, r->factors, 0);
    }
    LMR_TRY(make_base(k, r->weights));
    for (int i = 0; i < shape->spectra; i++) {
        LMR_TRY(r->several->weigh(r->several->user, i, k->base, k->weights));
        LMR_TRY(set_matrices(d, t, shape, k, r->factors, i * lmr_conv_planes(shape)));
    }
    return LARMOR_OK;
}

static larmor_status set_spectra(const design *d, lmr_toeplitz *t, const larmor_array *traj, const recipe *r,
                                 kernels *k)
{
    const lmr_conv_shape shape = conv_shape_of(d, r);
    LMR_TRY(make_kernels(d, traj, k));
    if (r->factors) return set_mixed(d, t, &shape, k, r);
    return r->several ? set_several(d, t, &shape, k, r) : set_one(d, t, &shape, k, r->weights);
}

static larmor_status create(larmor_device *dev, const design *d, const larmor_array *traj, const recipe *r,
                            lmr_toeplitz **out)
{
    kernels k = {.points = NULL};
    LMR_NEW_ZEROS(lmr_toeplitz, t, 1);
    t->dev = lmr_device_ref(dev);
    t->conv = dev->be->conv[lmr_precision(d->opts.dtype)];
    t->dtype = d->opts.dtype;
    t->shape = shape_of_images(d, r);
    if (!r->several && !r->factors) t->arrays = d->opts.batch ? d->opts.batch : 1;
    const larmor_status st = set_spectra(d, t, traj, r, &k);
    free_kernels(d, dev, &k);
    if (st)
        lmr_toeplitz_free(t);
    else
        *out = t;
    return st;
}

static larmor_status expect_factors(const larmor_array *factors, const larmor_array *traj)
{
    if (!factors) return LARMOR_OK;
    const int64_t mixed = factors->shape.ndim > 0 ? factors->shape.dim[factors->shape.ndim - 1] : 0;
    LMR_TRY(lmr_expect("toeplitz", "array of factors", factors, traj->dev, factors->dtype,
                       larmor_shape_append(larmor_shape_of(traj->shape.ndim - 1, traj->shape.dim + 1), mixed)));
    if (mixed >= 1 && mixed <= LMR_CONV_MOST_MIXED) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "toeplitz: factors of %lld images, expected 1 to %d", (long long)mixed,
                    LMR_CONV_MOST_MIXED);
}

larmor_status lmr_toeplitz_create(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                  const larmor_array *weights, const lmr_toeplitz_weights *several,
                                  const larmor_array *factors, lmr_toeplitz **out)
{
    design d;
    const recipe r = {weights, several, factors};
    *out = NULL;
    LMR_TRY(make_design(opts, &d));
    LMR_TRY(expect_inputs(&d, traj, weights));
    LMR_TRY(expect_factors(factors, traj));
    return create(dev, &d, traj, &r, out);
}

static larmor_status as_operator(lmr_toeplitz *t, larmor_op **N)
{
    static const larmor_op_impl impl = {"toeplitz", forward, forward, NULL, destroy};
    const larmor_status st = larmor_op_create(t->dev, &impl, t, t->dtype, t->shape, t->shape, N);
    if (st) lmr_toeplitz_free(t);
    return st;
}

larmor_status larmor_op_toeplitz(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                 const larmor_array *weights, larmor_op **N)
{
    LMR_REFUSE(!N, LARMOR_ERR_ARG, "larmor_op_toeplitz: N is NULL");
    *N = NULL;
    LMR_REFUSE(!dev || !opts || !traj, LARMOR_ERR_ARG, "larmor_op_toeplitz: a device, options and traj are needed");
    lmr_toeplitz *t;
    LMR_TRY(lmr_toeplitz_create(dev, opts, traj, weights, NULL, NULL, &t));
    return as_operator(t, N);
}

larmor_status larmor_op_toeplitz_mixed(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                       const larmor_array *weights, const larmor_array *factors, larmor_op **N)
{
    lmr_toeplitz *t;
    LMR_REFUSE(!N, LARMOR_ERR_ARG, "larmor_op_toeplitz_mixed: N is NULL");
    *N = NULL;
    LMR_REFUSE(!dev || !opts || !traj || !factors, LARMOR_ERR_ARG,
               "larmor_op_toeplitz_mixed: a device, options, traj and factors are needed");
    LMR_TRY(lmr_toeplitz_create(dev, opts, traj, weights, NULL, factors, &t));
    return as_operator(t, N);
}

/* ---- what pays ---- */

static double fft_cost(const int64_t cells[3], int single)
{
    const double count = (double)cells[0] * (double)cells[1] * (double)cells[2];
    return count * (single ? 0.25 : 0.5) * (4 + log2(count));
}

static double window_cost(int ndim, int width, int single)
{
    return 5 + pow(width, ndim - 1) * ceil(2.0 * width / (single ? 8 : 4));
}

double lmr_toeplitz_ratio(const larmor_nufft_opts *opts, int64_t points, int64_t iters)
{
    design d;
    lmr_nufft_choice maps, psf;
    if (make_design(opts, &d)) return INFINITY;
    const int nd = d.opts.ndim, single = d.opts.dtype == LARMOR_C64;
    const lmr_nufft_request forward_request = {
        .ndim = nd, .single = single, .tol = d.opts.tol, .upsample = d.opts.upsample};
    const lmr_nufft_request psf_request = {.ndim = nd, .tol = d.psf.tol, .upsample = d.psf.upsample};
    if (lmr_nufft_choose(&forward_request, d.opts.modes, &maps) || lmr_nufft_choose(&psf_request, d.psf.modes, &psf))
        return INFINITY;
    const double m = (double)points;
    const double times = (double)iters * (double)(d.opts.batch ? d.opts.batch : 1);
    /* a point's; what of both FFTs is left where zeros are left out, beyond what a NUFFT leaves out */
    const double sort = 60, pruned = 0.5;
    const double both = 2 * (m * window_cost(nd, maps.window.width, single) + fft_cost(maps.cells, single));
    const double made =
        m * (sort + window_cost(nd, psf.window.width, 0)) + fft_cost(psf.cells, 0) + 2 * fft_cost(d.wrap.cells, 0);
    return (made / times + 2 * pruned * fft_cost(d.wrap.cells, single)) / both;
}

/* ---- memory ---- */

typedef struct counts {
    int spectra, mixed, is_complex; /* mixed: 0 for larmor_op_toeplitz */
} counts;

static larmor_status count_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points, counts of,
                                 double *making, double *held)
{
    design d;
    int64_t plan;
    LMR_TRY(make_design(opts, &d));
    LMR_TRY(larmor_nufft_memory(dev, &d.psf, points, &plan));
    lmr_conv_shape shape = conv_shape(&d);
    shape.spectra = of.spectra;
    shape.mixed = of.mixed ? of.mixed : 1;
    shape.is_complex = of.is_complex;
    const double size = (double)larmor_dtype_size(d.psf.dtype), own = (double)larmor_dtype_size(d.opts.dtype);
    const double lags = size * (double)d.lags, cells = size * (double)d.cells, m = (double)points + 1;
    const double values = (8.0 * d.opts.ndim + size) * m;
    const double work = dev->be->fft[lmr_precision(d.psf.dtype)]->bytes(dev->ctx, d.psf.ndim, d.wrap.cells, 1);
    const double converted = d.psf.dtype == d.opts.dtype ? 0 : own * (double)d.cells;
    const double edges = 8.0 * (double)(d.wrap.modes[0] + d.wrap.modes[1] + d.wrap.modes[2]) + 0x1p12;
    *held = dev->be->conv[lmr_precision(d.opts.dtype)]->bytes(dev->ctx, &shape);
    const double first = (double)plan + values + lags + edges, second = lags + cells + work + converted + edges;
    const double third = lags + own * (double)d.cells + *held + edges;
    *making = fmax(first, fmax(second, third));
    if (of.spectra > 1) *making = first + second + size * m + *held;
    if (of.mixed) *making = first + second + (of.spectra > 1 ? 4 : 3) * size * m + *held;
    return LARMOR_OK;
}

larmor_status lmr_toeplitz_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points, int count,
                                 double *making, double *held)
{
    return count_bytes(dev, opts, points, (counts){.spectra = count}, making, held);
}

larmor_status lmr_toeplitz_mixed_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                       int count, int mixed, int is_complex, double *making, double *held)
{
    return count_bytes(dev, opts, points, (counts){count, mixed, is_complex}, making, held);
}
