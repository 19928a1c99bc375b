/* The Fourier transform at samples on the grid: an FFT whose numbers are gathered, and back again. What several
 * samples at one place add up to is gathered in turns, the first of every place, then the second ones, so that the
 * sum has an order of its own. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/op.h"
#include "nufft/options.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/measure.h"
#include "recon/ops/ops.h"

#define DEFAULT_TOL 1e-5
#define GRID_TOLERANCE_OVER_TOL (1. / 3) /* a coordinate off by e is a phase off by at most pi e */

/* ---- the grid ---- */

static int off_grid(const double *k, int64_t count, double tol)
{
    for (int64_t i = 0; i < count; i++)
        if (!(fabs(k[i] - nearbyint(k[i])) <= tol)) return 1;
    return 0;
}

static larmor_status look(const larmor_array *traj, double tol, int *is_grid)
{
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    *is_grid = !off_grid(k, larmor_array_count(traj), tol);
    return LARMOR_OK;
}

larmor_status larmor_traj_is_cartesian(const larmor_array *traj, double tol, int *is_grid)
{
    enum { FEW = 7 };
    LMR_NEED(is_grid);
    *is_grid = 0;
    LMR_NEED(traj);
    LMR_REFUSE(!(tol >= 0), LARMOR_ERR_ARG, "cartesian: tol is %g, expected at least 0", tol);
    LMR_OWN(larmor_array, real, lmr_input_real("cartesian", "trajectory", traj, &real));
    const int last = real->shape.ndim - 1;
    int good = last > 0 && larmor_array_count(real) > 0;
    for (int i = 0; i < FEW && good; i++) { /* most others are known by a few of their readouts */
        const int64_t at = i * (real->shape.dim[last] - 1) / (FEW - 1);
        LMR_OWN(larmor_array, one, larmor_array_slice(real, at, 1, &one));
        LMR_TRY(look(one, tol, &good));
    }
    return good ? look(real, tol, is_grid) : LARMOR_OK;
}

static double tolerance(const larmor_nufft_opts *opts)
{
    return GRID_TOLERANCE_OVER_TOL * (opts->tol > 0 ? opts->tol : DEFAULT_TOL);
}

larmor_status lmr_is_cartesian(const larmor_nufft_opts *opts, const larmor_array *traj, int *is_grid)
{
    larmor_nufft_opts o;
    *is_grid = 0;
    LMR_TRY(lmr_nufft_read_options(opts, &o));
    return o.sign > 0 ? LARMOR_OK : larmor_traj_is_cartesian(traj, tolerance(&o), is_grid);
}

/* What the operators are made of. */
typedef struct design {
    double tol; /* of a coordinate */
    int nd;
    int64_t n[3], cells, m, batch;
    int is_batch; /* 0: one image, without that dimension */
    larmor_dtype dtype;
    larmor_shape image, samples; /* with the batch, where there is one */
} design;

static larmor_status make_sizes(const larmor_nufft_opts *given, design *d)
{
    larmor_nufft_opts o;
    LMR_TRY(lmr_nufft_read_options(given, &o));
    const larmor_nufft_opts *opts = &o;
    *d = (design){.tol = tolerance(opts),
                  .nd = opts->ndim,
                  .n = {1, 1, 1},
                  .cells = 1,
                  .batch = opts->batch > 0 ? opts->batch : 1};
    LMR_REFUSE(d->nd < 1 || d->nd > 3 || opts->batch < 0 || opts->sign > 0, LARMOR_ERR_ARG,
               "cartesian: ndim is %d, batch %lld and sign %d, expected 1 to 3, at least 0 and not positive", d->nd,
               (long long)opts->batch, opts->sign);
    for (int i = 0; i < d->nd; i++) {
        d->n[i] = opts->modes[i];
        LMR_REFUSE(d->n[i] < 1 || !lmr_mul(d->cells, d->n[i], &d->cells) || d->cells > INT64_C(1) << 54,
                   LARMOR_ERR_ARG, "cartesian: modes[%d] is %lld, expected at least 1 and not too many", i,
                   (long long)d->n[i]);
    }
    d->dtype = opts->dtype == LARMOR_F64 || opts->dtype == LARMOR_C128 ? LARMOR_C128 : LARMOR_C64;
    d->image = larmor_shape_of(d->nd, d->n);
    d->is_batch = opts->batch > 0;
    if (d->is_batch) d->image = larmor_shape_append(d->image, d->batch);
    return LARMOR_OK;
}

static larmor_status make_design(const larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                 design *d)
{
    LMR_REFUSE(!dev || !opts || !traj, LARMOR_ERR_ARG, "cartesian: a device, options and a trajectory are needed");
    LMR_TRY(make_sizes(opts, d));
    const larmor_shape points = larmor_array_shape(traj);
    LMR_REFUSE(points.ndim < 2 || points.ndim >= LARMOR_MAX_DIMS || points.dim[0] != d->nd, LARMOR_ERR_SHAPE,
               "cartesian: traj is %s, expected [%d, samples, readouts] or [%d, points]", lmr_describe(traj).s, d->nd,
               d->nd);
    d->samples = larmor_shape_of(points.ndim - 1, points.dim + 1);
    d->m = larmor_shape_count(d->samples);
    if (d->is_batch) d->samples = larmor_shape_append(d->samples, d->batch);
    return LARMOR_OK;
}

/* cell [m] <- where on the grid each sample is, frequency 0 at `origin` of half the grid: 0 or 1. The caller's to
 * free. */
static larmor_status find_cells(const larmor_array *traj, const design *d, int origin, int64_t **cell)
{
    *cell = NULL;
    LMR_OWN(larmor_array, real, lmr_input_real("cartesian", "trajectory", traj, &real));
    LMR_OWN_MEMORY(double, k, larmor_array_download(real, LARMOR_F64, &k));
    LMR_HEAP LMR_NEW(int64_t, cells, d->m + 1);
    for (int64_t j = 0; j < d->m; j++) {
        const double *at = k + j * d->nd;
        LMR_REFUSE(off_grid(at, d->nd, d->tol) || !(fabs(at[0]) < 0x1p52), LARMOR_ERR_ARG,
                   "cartesian: sample %lld is at %g, %g, %g, not on the grid to %.1e", (long long)j, at[0],
                   d->nd > 1 ? at[1] : 0, d->nd > 2 ? at[2] : 0, d->tol);
        int64_t index = 0;
        for (int i = d->nd - 1; i >= 0; i--) {
            const double n = (double)d->n[i], turned = nearbyint(at[i]) + (double)(origin * (d->n[i] / 2));
            index = index * d->n[i] + (int64_t)(turned - n * floor(turned / n));
        }
        cells[j] = index;
    }
    return LMR_HAND_ON(*cell, cells);
}

/* ---- forward and adjoint ---- */

typedef struct turn {              /* at most one sample of each place */
    larmor_array *sample, *factor; /* [cells]; factor is 0 where there is none */
} turn;

typedef struct cartesian {
    larmor_op *fft;
    const lmr_recon_kernels *kernels;
    int64_t cells, m, batch, turns;
    larmor_array *cell, *ones; /* [m]: where each sample is, and 1 */
    turn *turn;
    larmor_array *spectrum, *more; /* [image...]; more: where there are several turns */
    larmor_array *traj;
    larmor_nufft_opts opts;
    larmor_op *normal; /* NULL until it is needed */
} cartesian;

static void destroy(void *self)
{
    cartesian *c = self;
    if (!c) return;
    for (int64_t t = 0; c->turn && t < c->turns; t++) LMR_FREE(c->turn[t].sample, c->turn[t].factor);
    LMR_FREE(c->turn, c->cell, c->ones, c->spectrum, c->more, c->traj, c->normal, c->fft);
    free(c);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const cartesian *c = self;
    LMR_TRY(larmor_op_forward(c->fft, x, c->spectrum));
    if (!c->m) return LARMOR_OK;
    return c->kernels->gather(x->dev->ctx, c->cells, c->m, c->batch, c->cell->data, c->ones->data, c->spectrum->data,
                              y->data);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const cartesian *c = self;
    if (!c->turns) LMR_TRY(larmor_zero(c->spectrum));
    for (int64_t t = 0; t < c->turns; t++) {
        larmor_array *to = t ? c->more : c->spectrum;
        LMR_TRY(c->kernels->gather(x->dev->ctx, c->m, c->cells, c->batch, c->turn[t].sample->data,
                                   c->turn[t].factor->data, y->data, to->data));
        if (t) LMR_TRY(larmor_axpby(1, c->more, 1, c->spectrum));
    }
    return larmor_op_adjoint(c->fft, c->spectrum, x);
}

static larmor_status count_turns(const int64_t *cell, const design *d, int64_t *turns)
{
    LMR_NEW(int64_t, count, d->cells);
    *turns = 0;
    for (int64_t i = 0; i < d->cells; i++) count[i] = 0;
    for (int64_t j = 0; j < d->m; j++)
        if (++count[cell[j]] > *turns) *turns = count[cell[j]];
    free(count);
    return LARMOR_OK;
}

/* The samples that are number t of their places. seen [cells] is overwritten. */
static larmor_status make_turn(larmor_device *dev, const int64_t *cell, const design *d, int64_t t, int64_t *seen,
                               int64_t *sample, double *factor, turn *out)
{
    for (int64_t i = 0; i < d->cells; i++) {
        seen[i] = sample[i] = 0;
        factor[i] = 0;
    }
    for (int64_t j = 0; j < d->m; j++) {
        if (seen[cell[j]]++ != t) continue;
        sample[cell[j]] = j;
        factor[cell[j]] = 1;
    }
    const larmor_shape shape = LARMOR_SHAPE(d->cells);
    LMR_TRY(larmor_array_upload(dev, LARMOR_I64, shape, LARMOR_I64, sample, &out->sample));
    return larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, factor, &out->factor);
}

static larmor_status make_turns(larmor_device *dev, const int64_t *cell, const design *d, cartesian *c)
{
    LMR_TRY(count_turns(cell, d, &c->turns));
    LMR_ALLOCATE_ZEROS(c->turn, c->turns + 1);
    LMR_HEAP LMR_NEW(int64_t, work, 2 * d->cells);
    LMR_HEAP LMR_NEW(double, factor, d->cells);
    for (int64_t t = 0; t < c->turns; t++)
        LMR_TRY(make_turn(dev, cell, d, t, work, work + d->cells, factor, &c->turn[t]));
    return LARMOR_OK;
}

/* ---- the normal map ---- */

typedef struct normal {
    larmor_device *dev;
    const lmr_conv *conv;
    void *plan;
    double factor; /* without a plan: the map is a product with it */
} normal;

static larmor_status apply(void *self, const larmor_array *x, larmor_array *y)
{
    const normal *n = self;
    LMR_TRY(lmr_go_on());
    if (!n->plan) return larmor_axpby(n->factor, x, 0, y);
    return n->conv->exec(n->dev->ctx, n->plan, 0, x->data, y->data);
}

static void normal_destroy(void *self)
{
    normal *n = self;
    n->conv->destroy(n->dev->ctx, n->plan);
    free(n);
}

/* sum [cells] <- the weights of the samples at each place, frequency 0 first; the caller's to free. */
static larmor_status sum_weights(const larmor_array *traj, const larmor_array *weights, const design *d, double **sum)
{
    LMR_OWNED(larmor_array) *real = NULL;
    LMR_HEAP double *w = NULL;
    *sum = NULL;
    LMR_OWN_MEMORY(int64_t, cell, find_cells(traj, d, 0, &cell));
    if (weights) {
        LMR_TRY(lmr_input_real("cartesian", "weights", weights, &real));
        LMR_TRY(lmr_expect("cartesian", "weight array", real, traj->dev, LARMOR_F64, lmr_weights_shape(traj)));
        LMR_TRY(larmor_array_download(real, LARMOR_F64, &w));
    }
    LMR_ALLOCATE(*sum, d->cells);
    for (int64_t i = 0; i < d->cells; i++) (*sum)[i] = 0;
    for (int64_t j = 0; j < d->m; j++) (*sum)[cell[j]] += w ? w[j] : 1;
    return LARMOR_OK;
}

/* Its own grid, of the image's size: nothing is padded. */
static lmr_conv_shape conv_shape(const design *d)
{
    lmr_conv_shape s = {.ndim = d->nd, .batch = d->batch, .mixed = 1, .spectra = 1};
    for (int i = 0; i < d->nd; i++) s.dim[i] = s.keep[i] = d->n[i];
    return s;
}

static int all_equal(const double *x, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (x[i] != x[0]) return 0;
    return 1;
}

larmor_status larmor_op_cartesian_normal(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                         const larmor_array *weights, larmor_op **N)
{
    static const larmor_op_impl impl = {"cartesian-normal", apply, apply, NULL, normal_destroy};
    LMR_NEED_OUT(N);
    design d;
    LMR_OWNED(larmor_array) *cells = NULL;
    LMR_TRY(make_design(dev, opts, traj, &d));
    LMR_MAKE(normal, n, normal_destroy);
    n->dev = dev;
    n->conv = dev->be->conv[lmr_precision(d.dtype)];
    LMR_OWN_MEMORY(double, sum, sum_weights(traj, weights, &d, &sum));
    if (all_equal(sum, d.cells)) {
        n->factor = sum[0] * (double)d.cells;
    } else {
        LMR_TRY(larmor_array_upload(dev, d.dtype, LARMOR_SHAPE(d.cells), LARMOR_F64, sum, &cells));
        const lmr_conv_shape shape = conv_shape(&d);
        LMR_TRY(n->conv->plan(dev->ctx, &shape, &n->plan));
        LMR_TRY(n->conv->set(dev->ctx, n->plan, 0, 1, 0, cells->data));
    }
    return lmr_hand_on(&n_made, larmor_op_create(dev, &impl, n, d.dtype, d.image, d.image, N));
}

/* Made at its first use: most users have a normal map of their own. */
static larmor_status normal_map(void *self, const larmor_array *x, larmor_array *z)
{
    cartesian *c = self;
    if (!c->normal) LMR_TRY(larmor_op_cartesian_normal(x->dev, &c->opts, c->traj, NULL, &c->normal));
    return larmor_op_forward(c->normal, x, z);
}

larmor_status larmor_op_cartesian(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                  larmor_op **A)
{
    static const larmor_op_impl impl = {"cartesian", forward, adjoint, normal_map, destroy};
    LMR_NEED_OUT(A);
    design d;
    LMR_TRY(make_design(dev, opts, traj, &d));
    LMR_MAKE(cartesian, c, destroy);
    const larmor_fft_opts centred = {.centred = 1};
    c->cells = d.cells;
    c->m = d.m;
    c->batch = d.batch;
    c->traj = larmor_array_ref(traj);
    LMR_TRY(lmr_nufft_read_options(opts, &c->opts));
    LMR_TRY(lmr_recon_kernels_of(dev, d.dtype, &c->kernels));
    LMR_OWN_MEMORY(int64_t, cell, find_cells(traj, &d, 1, &cell));
    LMR_TRY(make_turns(dev, cell, &d, c));
    LMR_TRY(larmor_array_upload(dev, LARMOR_I64, LARMOR_SHAPE(d.m), LARMOR_I64, cell, &c->cell));
    LMR_TRY(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(d.m), &c->ones));
    LMR_TRY(larmor_fill(c->ones, 1));
    LMR_TRY(larmor_array_create(dev, d.dtype, d.image, &c->spectrum));
    if (c->turns > 1) LMR_TRY(larmor_array_create(dev, d.dtype, d.image, &c->more));
    LMR_TRY(larmor_op_fft(dev, d.dtype, d.image, (1u << d.nd) - 1, &centred, &c->fft));
    return lmr_hand_on(&c_made, larmor_op_create(dev, &impl, c, d.dtype, d.image, d.samples, A));
}

/* On a device that counts. */
static larmor_status measured_fourier(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                                      larmor_op **A)
{
    const larmor_device *like = lmr_measure_like(dev);
    const int64_t points = larmor_array_count(traj) / opts->ndim, repeats = lmr_measure_repeats(dev);
    double bytes = 0;
    LMR_TRY(repeats ? lmr_cartesian_bytes(like, opts, points, repeats, &bytes)
                    : lmr_bytes_add_nufft(like, opts, points, &bytes));
    return lmr_measure_op(dev, bytes, opts->dtype, larmor_shape_of(opts->ndim, opts->modes),
                          larmor_shape_of(traj->shape.ndim - 1, traj->shape.dim + 1), A);
}

larmor_status lmr_op_fourier(larmor_device *dev, const larmor_nufft_opts *opts, const larmor_array *traj,
                             larmor_op **A)
{
    int is_grid;
    *A = NULL;
    if (lmr_measure_is(dev)) return measured_fourier(dev, opts, traj, A);
    LMR_TRY(lmr_is_cartesian(opts, traj, &is_grid));
    return is_grid ? larmor_op_cartesian(dev, opts, traj, A) : lmr_op_nufft_forward(dev, opts, traj, A);
}

/* ---- memory ---- */

larmor_status lmr_cartesian_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, int64_t points,
                                  int64_t repeats, double *bytes)
{
    design d;
    LMR_TRY(make_sizes(opts, &d));
    const double cells = (double)d.cells, m = (double)points, image = lmr_bytes_of(d.dtype, d.image);
    const double fft = dev->be->fft[lmr_precision(d.dtype)]->bytes(dev->ctx, d.nd, d.n, d.batch);
    const double held = 16 * m + 16 * cells * (double)repeats + (repeats > 1 ? 2 : 1) * image + fft +
                        (double)larmor_dtype_size(d.dtype) * (double)(d.n[0] + d.n[1] + d.n[2]);
    const double made = 8 * m * (2 * d.nd + 1) + 24 * cells; /* the host's arrays, too */
    *bytes = held + made;
    return LARMOR_OK;
}

larmor_status lmr_cartesian_normal_bytes(const larmor_device *dev, const larmor_nufft_opts *opts, double *making,
                                         double *held)
{
    design d;
    LMR_TRY(make_sizes(opts, &d));
    const lmr_conv_shape shape = conv_shape(&d);
    *held = dev->be->conv[lmr_precision(d.dtype)]->bytes(dev->ctx, &shape);
    *making = *held + (16 + (double)larmor_dtype_size(d.dtype)) * (double)d.cells;
    return LARMOR_OK;
}
