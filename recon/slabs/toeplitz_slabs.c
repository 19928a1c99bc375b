/* The normal map of a volume that no rank holds by itself, as a convolution in slabs along the last axis: an FFT
 * of the first two axes in the slab, an exchange after which each rank has some lines of the last axis, these
 * times the spectrum, and back. The point spread function is made slab by slab, too: a slab's lags are modes
 * around another centre, which is a phase at each point, so that a NUFFT of a rank's points needs no grid larger
 * than the slab's. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/ranks/ranks.h"
#include "nufft/choose/sizes.h"
#include "nufft/kernels.h"
#include "nufft/toeplitz.h"
#include "recon/inputs.h"
#include "recon/slabs/lags.h"
#include "recon/slabs/slab_transpose.h"
#include "recon/slabs/slabs.h"
#include "recon/slabs/toeplitz_residues.h"
#include "recon/sparse.h"

/* ---- the stages ---- */

/* FFTs of one precision: of the planes of a slab, and of some lines. */
typedef struct stages {
    larmor_device *dev;
    larmor_dtype dtype;
    const lmr_nufft_kernels *kernels;
    const lmr_sparse_kernels *sparse;
    const lmr_fft *fft;
    lmr_nufft_geometry plane, line; /* from modes to cells, and back */
    void *plane_plan, *line_plan;   /* of the slab's planes, and of some lines */
    lmr_slab_transpose transpose;
    int64_t together;            /* lines that are transformed at a time */
    larmor_array *a, *b, *lines; /* lines: [cells, together] */
} stages;

static void free_stages(stages *s)
{
    if (s->fft) s->fft->destroy(s->dev->ctx, s->plane_plan);
    if (s->fft) s->fft->destroy(s->dev->ctx, s->line_plan);
    LMR_FREE(s->a, s->b, s->lines);
    lmr_slab_transpose_free(&s->transpose);
    *s = (stages){.dev = NULL};
}

/* modes: of the slab's arrays, with all planes; factor: real, as long as the longest; together: lines at a time at
 * most. */
static larmor_status make_stages(larmor_device *dev, larmor_ranks *ranks, larmor_dtype dtype, const int64_t modes[3],
                                 const int64_t cells[3], int64_t together, const larmor_array *factor, stages *s)
{
    const int precision = lmr_precision(dtype);
    *s = (stages){.dev = dev, .dtype = dtype, .fft = dev->be->fft[precision]};
    s->kernels = LMR_KERNELS(dev, nufft, LMR_NUFFT_ABI, precision);
    LMR_REFUSE(!s->kernels, LARMOR_ERR_UNSUPPORTED, "toeplitz: %s has no kernels for it", larmor_device_spec(dev));
    LMR_TRY(lmr_sparse_kernels_of(dev, dtype, &s->sparse));
    LMR_TRY(lmr_slab_transpose_make(ranks, cells[0] * cells[1], modes[2], dtype, &s->transpose));
    s->plane = (lmr_nufft_geometry){.ndim = 2,
                                    .batch = s->transpose.own_planes,
                                    .modes = {modes[0], modes[1], 1},
                                    .cells = {cells[0], cells[1], 1},
                                    .factor = {factor->data, factor->data}};
    s->together = together;
    s->line = (lmr_nufft_geometry){
        .ndim = 1, .batch = together, .modes = {modes[2], 1, 1}, .cells = {cells[2], 1, 1}, .factor = {factor->data}};
    if (s->transpose.own_planes)
        LMR_TRY(s->fft->plan(dev->ctx, 2, s->plane.cells, s->transpose.own_planes, &s->plane_plan));
    LMR_TRY(s->fft->plan(dev->ctx, 1, s->line.cells, together, &s->line_plan));
    LMR_TRY(larmor_array_create(dev, dtype, LARMOR_SHAPE(lmr_slab_transpose_size(&s->transpose)), &s->a));
    LMR_TRY(larmor_array_create(dev, dtype, LARMOR_SHAPE(lmr_slab_transpose_size(&s->transpose)), &s->b));
    return larmor_array_create(dev, dtype, LARMOR_SHAPE(cells[2], together), &s->lines);
}

/* a <- the transforms of x [modes of a plane, own planes]. */
static larmor_status transform_planes(const stages *s, const void *x)
{
    if (!s->transpose.own_planes) return LARMOR_OK;
    LMR_TRY(lmr_go_on());
    LMR_TRY(s->kernels->pad(s->dev->ctx, &s->plane, s->transpose.own_planes, x, s->a->data));
    return s->fft->band(s->dev->ctx, s->plane_plan, -1, 0, s->plane.modes, s->a->data);
}

static larmor_status planes_back(const stages *s, void *y)
{
    if (!s->transpose.own_planes) return LARMOR_OK;
    LMR_TRY(s->fft->band(s->dev->ctx, s->plane_plan, 1, 1, s->plane.modes, s->a->data));
    return s->kernels->crop(s->dev->ctx, &s->plane, s->transpose.own_planes, s->a->data, y);
}

/* Lines `first` and the following of b [planes, own lines], `count` of them, to s->lines and transformed. */
static larmor_status transform_lines(const stages *s, int64_t first, int64_t count)
{
    const size_t size = larmor_dtype_size(s->dtype);
    const char *from = (const char *)s->b->data + (size_t)(first * s->transpose.planes) * size;
    LMR_TRY(lmr_go_on());
    LMR_TRY(s->kernels->pad(s->dev->ctx, &s->line, count, from, s->lines->data));
    return s->fft->band(s->dev->ctx, s->line_plan, -1, 0, s->line.modes, s->lines->data);
}

static larmor_status lines_back(const stages *s, int64_t first, int64_t count)
{
    const size_t size = larmor_dtype_size(s->dtype);
    char *to = (char *)s->b->data + (size_t)(first * s->transpose.planes) * size;
    LMR_TRY(s->fft->band(s->dev->ctx, s->line_plan, 1, 1, s->line.modes, s->lines->data));
    return s->kernels->crop(s->dev->ctx, &s->line, count, s->lines->data, to);
}

static int64_t lines_now(const stages *s, int64_t first)
{
    const int64_t left = s->transpose.own_lines - first;
    return left < s->together ? left : s->together;
}

/* ---- the operator ---- */

typedef struct slabs {
    stages s;
    larmor_array *ones;
    larmor_array *spectrum; /* real [cells of a line, own lines] */
    int64_t batch;
} slabs;

static void destroy(void *self)
{
    slabs *n = self;
    larmor_device *dev = n->s.dev;
    free_stages(&n->s);
    LMR_FREE(n->spectrum, n->ones, dev, n);
}

/* b [planes, own lines] convolved with the spectrum along its lines */
static larmor_status filter_lines(const slabs *n)
{
    const stages *s = &n->s;
    const int64_t cells = s->line.cells[0];
    const size_t real = larmor_dtype_size(s->dtype) / 2;
    for (int64_t first = 0; first < s->transpose.own_lines; first += s->together) {
        const int64_t count = lines_now(s, first);
        const char *spectrum = (const char *)n->spectrum->data + (size_t)(first * cells) * real;
        LMR_TRY(transform_lines(s, first, count));
        LMR_TRY(s->sparse->weigh(s->dev->ctx, cells * count, 1, spectrum, s->lines->data, s->lines->data));
        LMR_TRY(lines_back(s, first, count));
    }
    return LARMOR_OK;
}

/* One volume; all ranks take part in both exchanges, whatever fails. */
static larmor_status convolve(const slabs *n, const void *x, void *y)
{
    const stages *s = &n->s;
    const lmr_slab_transpose *d = &s->transpose;
    larmor_status st = lmr_slab_transpose_to_lines(d, s->a, s->b, transform_planes(s, x));
    if (!st) st = lmr_slab_transpose_local(d, 1, s->a, s->b);
    if (!st) st = filter_lines(n);
    if (!st) st = lmr_slab_transpose_local(d, 0, s->b, s->a);
    st = lmr_slab_transpose_to_slab(d, s->a, s->b, st);
    return st ? st : planes_back(s, y);
}

static larmor_status apply(void *self, const larmor_array *x, larmor_array *y)
{
    const slabs *n = self;
    const stages *s = &n->s;
    const int64_t each = s->plane.modes[0] * s->plane.modes[1] * s->transpose.own_planes;
    const size_t bytes = (size_t)each * larmor_dtype_size(s->dtype);
    larmor_status own = LARMOR_OK;
    /* a rank that has failed takes part in no exchange */
    LMR_TRY(lmr_ranks_agree(s->transpose.ranks, LARMOR_OK, NULL, NULL));
    for (int64_t i = 0; i < n->batch; i++) {
        const larmor_status st =
            convolve(n, (const char *)x->data + (size_t)i * bytes, (char *)y->data + (size_t)i * bytes);
        if (!own) own = st;
    }
    return own;
}

/* ---- the point spread function ---- */

/* own [2 n0, 2 n1, own lags] <- the lags of this rank's slab, from the points of all. */
static larmor_status gather_lags(larmor_ranks *ranks, const lmr_lag_points *p, const larmor_nufft_opts *psf,
                                 const int64_t modes[3], larmor_array *own)
{
    for (lmr_lag_piece piece = {0}; lmr_lags_next(ranks->count, 2 * modes[2], &piece);) {
        LMR_OWNED(larmor_array) *lags = NULL;
        larmor_status st = LARMOR_OK;
        if (piece.rank == ranks->number) st = larmor_array_slice(own, piece.from, piece.count, &lags);
        LMR_TRY(lmr_lags_sum(ranks, p, psf, modes, &piece, st, lags));
    }
    return LARMOR_OK;
}

/* The real parts of lines [cells, count], over the number of cells of the volume, to their place in the spectrum. */
static larmor_status keep_spectrum(const stages *s, int64_t first, int64_t count, double scale,
                                   larmor_array *spectrum)
{
    const int64_t numbers = s->line.cells[0] * count;
    LMR_OWN(larmor_array, part, larmor_array_slice(s->lines, 0, count, &part));
    LMR_OWN_MEMORY(double, values, larmor_array_download(part, LARMOR_C128, &values));
    for (int64_t i = 0; i < numbers; i++) values[i] = scale * values[2 * i];
    LMR_OWN(larmor_array, real,
            larmor_array_upload(s->dev, spectrum->dtype, LARMOR_SHAPE(s->line.cells[0], count), LARMOR_F64, values,
                                &real));
    LMR_OWN(larmor_array, to, larmor_array_slice(spectrum, first, count, &to));
    return s->dev->be->copy(s->dev->ctx, LMR_ON_DEVICE, to->data, real->data, larmor_array_bytes(to));
}

static larmor_status spectrum_of_lines(const stages *s, double scale, larmor_array *spectrum)
{
    LMR_TRY(lmr_slab_transpose_local(&s->transpose, 1, s->a, s->b));
    for (int64_t first = 0; first < s->transpose.own_lines; first += s->together) {
        const int64_t count = lines_now(s, first);
        LMR_TRY(transform_lines(s, first, count));
        LMR_TRY(keep_spectrum(s, first, count, scale, spectrum));
    }
    return LARMOR_OK;
}

/* What the spectrum is made with, in double. */
typedef struct making {
    lmr_lag_points points;
    larmor_array *edges, *lags;
    stages s;
} making;

static larmor_status begin_making(larmor_device *dev, const larmor_ranks *ranks, const int64_t modes[3],
                                  const larmor_array *traj, const larmor_array *weights, making *m)
{
    const int64_t lags[3] = {2 * modes[0], 2 * modes[1], 2 * modes[2]};
    const int64_t own = lmr_slab_share(lags[2], ranks->count, ranks->number, NULL);
    LMR_TRY(lmr_lags_edges(dev, lags, &m->edges));
    LMR_TRY(lmr_lags_begin(dev, traj, weights, LARMOR_C128, &m->points));
    return larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(lags[0], lags[1], own), &m->lags);
}

static larmor_status make_spectrum(slabs *n, larmor_ranks *ranks, const larmor_nufft_opts *psf,
                                   const int64_t modes[3], const int64_t cells[3], const larmor_array *traj,
                                   const larmor_array *weights)
{
    making m = {.edges = NULL};
    const int64_t lags[3] = {2 * modes[0], 2 * modes[1], 2 * modes[2]};
    const double scale = 1 / ((double)cells[0] * (double)cells[1] * (double)cells[2]);
    larmor_status st = begin_making(n->s.dev, ranks, modes, traj, weights, &m);
    LMR_OR(done, lmr_ranks_agree(ranks, st, NULL, NULL));
    LMR_OR(done, gather_lags(ranks, &m.points, psf, modes, m.lags));
    lmr_lags_end(&m.points); /* before the next that take much */
    st = make_stages(n->s.dev, ranks, LARMOR_C128, lags, cells, LMR_SLAB_LINES, m.edges, &m.s);
    LMR_OR(done, lmr_ranks_agree(ranks, st, NULL, NULL));
    st = lmr_slab_transpose_to_lines(&m.s.transpose, m.s.a, m.s.b, transform_planes(&m.s, m.lags->data));
    if (!st) st = spectrum_of_lines(&m.s, scale, n->spectrum);
    st = lmr_ranks_agree(ranks, st, NULL, NULL);
done:
    free_stages(&m.s);
    lmr_lags_end(&m.points);
    LMR_FREE(m.lags, m.edges);
    return st;
}

/* ---- creation ---- */

static larmor_status check_arguments(const larmor_device *dev, const larmor_ranks *ranks,
                                     const larmor_nufft_opts *opts, const larmor_array *traj,
                                     const larmor_array *weights)
{
    LMR_TRY(lmr_slabs_expect("toeplitz", dev, ranks, opts, traj));
    if (!weights) return LARMOR_OK;
    LMR_REFUSE(!lmr_is_real(weights->dtype), LARMOR_ERR_ARG, "toeplitz: weights are %s, expected real ones",
               lmr_describe(weights).s);
    return lmr_expect("toeplitz", "weight array", weights, traj->dev, weights->dtype, lmr_weights_shape(traj));
}

static larmor_status begin(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts, larmor_dtype dtype,
                           const int64_t cells[3], slabs *n)
{
    int64_t longest = opts->modes[0] > opts->modes[1] ? opts->modes[0] : opts->modes[1];
    if (opts->modes[2] > longest) longest = opts->modes[2];
    LMR_TRY(larmor_array_create(dev, lmr_real_of(dtype), LARMOR_SHAPE(longest), &n->ones));
    LMR_TRY(larmor_fill(n->ones, 1));
    const int64_t lines = lmr_slab_share(cells[0] * cells[1], ranks->count, ranks->number, NULL);
    return larmor_array_create(dev, lmr_real_of(dtype), LARMOR_SHAPE(cells[2], lines), &n->spectrum);
}

/* Of more ranks than convolve by residues. */
static larmor_status by_transposes(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                   const larmor_nufft_opts *psf, const larmor_array *traj,
                                   const larmor_array *weights, larmor_op **N)
{
    static const larmor_op_impl impl = {"toeplitz-slabs", apply, apply, NULL, destroy};
    const larmor_dtype dtype = lmr_precision(opts->dtype) == LMR_F64 ? LARMOR_C128 : LARMOR_C64;
    slabs *n = calloc(1, sizeof *n);
    int64_t cells[3];
    larmor_status st = n ? LARMOR_OK : LMR_NO_MEMORY();
    for (int d = 0; d < 3; d++) cells[d] = lmr_nufft_good_size(2 * opts->modes[d]);
    if (n) n->s.dev = lmr_device_ref(dev);
    if (n) n->batch = opts->batch ? opts->batch : 1;
    if (!st) st = begin(dev, ranks, opts, dtype, cells, n);
    LMR_OR(done, lmr_ranks_agree(ranks, st, NULL, NULL));
    LMR_OR(done, make_spectrum(n, ranks, psf, opts->modes, cells, traj, weights));
    st = make_stages(dev, ranks, dtype, opts->modes, cells, lmr_slab_lines(dev), n->ones, &n->s);
    LMR_OR(done, lmr_ranks_agree(ranks, st, NULL, NULL));
    larmor_shape shape = LARMOR_SHAPE(opts->modes[0], opts->modes[1], n->s.transpose.own_planes);
    if (opts->batch) shape = larmor_shape_append(shape, opts->batch);
    st = larmor_op_create(dev, &impl, n, dtype, shape, shape, N);
done:
    if (st && n) destroy(n);
    return st;
}

larmor_status larmor_op_toeplitz_slabs(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                       const larmor_array *traj, const larmor_array *weights, larmor_op **N)
{
    LMR_NEED_OUT(N, ranks);
    larmor_nufft_opts psf = {.type = 1, .ndim = 3, .dtype = LARMOR_C128};
    larmor_status st = check_arguments(dev, ranks, opts, traj, weights);
    if (!st) {
        for (int d = 0; d < 3; d++) psf.modes[d] = 2 * opts->modes[d];
        psf.sign = opts->sign > 0 ? -1 : 1;
        st = lmr_toeplitz_choose_psf(opts->tol > 0 ? opts->tol : 1e-5, &psf);
    }
    LMR_TRY(lmr_ranks_agree(ranks, st, NULL, NULL));
    if (ranks->count > LMR_MOST_RESIDUES) return by_transposes(dev, ranks, opts, &psf, traj, weights, N);
    return lmr_toeplitz_residues(dev, ranks, opts, &psf, traj, weights, N);
}
