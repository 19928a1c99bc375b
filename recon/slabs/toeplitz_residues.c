/* The normal map of a volume of which each of few ranks has a slab, without an exchange of padded numbers. Of p
 * ranks, rank r has the frequencies k = p m + r of the last axis, padded to p M >= 2 n planes: the transform there of
 * a line x is sum_z [x(z) exp(-2 pi i z r / (p M))] exp(-2 pi i z m / M), one of M numbers to which the line is
 * folded, so that each rank convolves all planes, times a phase, with its frequencies, and the sum of what they find,
 * times the phases back, is the convolution (decimation in frequency: Gentleman and Sande 1966).
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/slabs/toeplitz_residues.h"

#include "core/core.h"
#include "core/ranks/ranks.h"
#include "nufft/choose/sizes.h"
#include "nufft/kernels.h"
#include "recon/bytes.h"
#include "recon/slabs/lags.h"

typedef struct sizes {
    int ranks, residue;
    int64_t modes[3], cells[3]; /* cells[2]: M */
    int64_t plane;              /* voxels of one */
    int64_t own, first;         /* planes of this rank */
} sizes;

typedef struct residues {
    sizes s;
    larmor_device *dev;
    larmor_ranks *ranks;
    larmor_dtype dtype;
    int64_t batch;
    const lmr_conv *conv;
    void *plan;
    larmor_array *phases;        /* [plane, own]: exp(-2 pi i z / (p M)) */
    larmor_array *sent;          /* [plane, own, ranks] */
    larmor_array *gathered;      /* [plane, n2] */
    larmor_array *folded;        /* [plane, M]; NULL: M planes have room for all, and gathered is it */
    int64_t *of_own, *of_planes; /* [ranks] bytes */
} residues;

static void destroy(void *self)
{
    residues *n = self;
    if (n->plan) n->conv->destroy(n->dev->ctx, n->plan);
    LMR_FREE(n->phases, n->sent, n->gathered, n->folded, n->dev, n->of_own, n->of_planes, n);
}

static sizes sizes_of(const int64_t modes[3], int ranks, int number)
{
    sizes s = {.ranks = ranks, .residue = number, .plane = modes[0] * modes[1]};
    for (int d = 0; d < 3; d++) s.modes[d] = modes[d];
    for (int d = 0; d < 2; d++) s.cells[d] = lmr_nufft_good_size(2 * modes[d]);
    s.cells[2] = lmr_nufft_good_size((2 * modes[2] + ranks - 1) / ranks);
    s.own = lmr_slab_share(modes[2], ranks, number, &s.first);
    return s;
}

static int is_folded(const sizes *s)
{
    return s->cells[2] < s->modes[2];
}

static lmr_conv_shape conv_shape(const sizes *s)
{
    return (lmr_conv_shape){.ndim = 3,
                            .batch = 1,
                            .mixed = 1,
                            .spectra = 1,
                            .dim = {s->cells[0], s->cells[1], s->cells[2]},
                            .keep = {s->modes[0], s->modes[1], is_folded(s) ? s->cells[2] : s->modes[2]}};
}

/* exp(-2 pi i z residue / (p M)) */
static void phase_at(const sizes *s, int64_t z, int residue, double phase[2])
{
    const int64_t period = s->ranks * s->cells[2];
    const double angle = -2 * M_PI * (double)(z * residue % period) / (double)period;
    phase[0] = cos(angle);
    phase[1] = sin(angle);
}

/* ---- the operator ---- */

static char *plane_of(const residues *n, const larmor_array *x, int64_t i)
{
    return (char *)x->data + (size_t)(i * n->s.plane) * larmor_dtype_size(n->dtype);
}

/* What each rank is to have of this slab: the planes times the phases of its residue. */
static larmor_status turn(const residues *n, const void *x)
{
    const int64_t count = n->s.plane * n->s.own;
    void *ctx = n->dev->ctx;
    LMR_TRY(lmr_go_on());
    if (!count) return LARMOR_OK;
    LMR_TRY(n->dev->be->copy(ctx, LMR_ON_DEVICE, n->sent->data, x, (size_t)n->of_own[0]));
    for (int r = 1; r < n->s.ranks; r++)
        LMR_TRY(lmr_vec_of(n->sent)->mul(ctx, count, 1, n->phases->data, plane_of(n, n->sent, (r - 1) * n->s.own), 0,
                                         plane_of(n, n->sent, r * n->s.own)));
    return LARMOR_OK;
}

/* y <- the sum of what the ranks have found of this slab, times the phases back. */
static larmor_status turn_back(const residues *n, void *y)
{
    const lmr_vec *vec = lmr_vec_of(n->sent);
    const int64_t count = n->s.plane * n->s.own;
    void *ctx = n->dev->ctx;
    const void *last = plane_of(n, n->sent, (n->s.ranks - 1) * n->s.own);
    if (n->s.ranks == 1) return n->dev->be->copy(ctx, LMR_ON_DEVICE, y, last, (size_t)n->of_own[0]);
    for (int r = n->s.ranks - 2; r >= 0 && count; r--) {
        LMR_TRY(vec->mul(ctx, count, 1, n->phases->data, last, 1, y));
        LMR_TRY(vec->axpby(ctx, count, 1, plane_of(n, n->sent, r * n->s.own), 1, y));
        last = y;
    }
    return LARMOR_OK;
}

/* The planes that lie on each other: added, or back where they came from. */
static larmor_status fold(const residues *n, int back)
{
    const int64_t all = n->s.modes[2], most = n->s.cells[2];
    void *ctx = n->dev->ctx;
    if (!n->folded) return LARMOR_OK;
    for (int64_t z = 0; z < all; z += most) {
        const int64_t count = n->s.plane * (all - z < most ? all - z : most);
        const size_t bytes = (size_t)count * larmor_dtype_size(n->dtype);
        void *some = plane_of(n, n->gathered, z), *folded = n->folded->data;
        if (back || !z)
            LMR_TRY(n->dev->be->copy(ctx, LMR_ON_DEVICE, back ? some : folded, back ? folded : some, bytes));
        else
            LMR_TRY(lmr_vec_of(n->folded)->axpby(ctx, count, 1, some, 1, folded));
    }
    return LARMOR_OK;
}

static larmor_status convolve_all(const residues *n)
{
    void *planes = n->folded ? n->folded->data : n->gathered->data;
    LMR_TRY(fold(n, 0));
    LMR_TRY(n->conv->exec(n->dev->ctx, n->plan, 0, planes, planes));
    return fold(n, 1);
}

/* One volume; all ranks take part in both exchanges, whatever fails. */
static larmor_status convolve(const residues *n, const void *x, void *y)
{
    larmor_status own = turn(n, x);
    larmor_status st = lmr_ranks_exchange(n->ranks, n->sent, n->of_own, n->gathered, n->of_planes);
    if (!own) own = st;
    if (!own) own = convolve_all(n);
    st = lmr_ranks_exchange(n->ranks, n->gathered, n->of_planes, n->sent, n->of_own);
    if (!own) own = st;
    return own ? own : turn_back(n, y);
}

static larmor_status apply(void *self, const larmor_array *x, larmor_array *y)
{
    const residues *n = self;
    larmor_status own = LARMOR_OK;
    LMR_TRY(lmr_ranks_agree(n->ranks, LARMOR_OK, NULL, NULL)); /* a rank that has failed takes part in no exchange */
    for (int64_t i = 0; i < n->batch; i++) {
        const larmor_status st = convolve(n, plane_of(n, x, i * n->s.own), plane_of(n, y, i * n->s.own));
        if (!own) own = st;
    }
    return own;
}

/* ---- the point spread function ---- */

typedef struct making {
    lmr_lag_points points;
    larmor_array *edges;  /* 0 for the first lag, -n, which meets no two voxels */
    larmor_array *folded; /* [cells...], in the operator's type */
    void *fft;
} making;

static void end_making(const residues *n, making *m)
{
    if (m->fft) n->dev->be->fft[lmr_precision(n->dtype)]->destroy(n->dev->ctx, m->fft);
    lmr_lags_end(&m->points);
    LMR_FREE(m->edges, m->folded);
    m->fft = NULL;
}

static larmor_status begin_making(const residues *n, const larmor_array *traj, const larmor_array *weights, making *m)
{
    const int64_t *cells = n->s.cells, lags[3] = {2 * n->s.modes[0], 2 * n->s.modes[1], 1};
    LMR_TRY(lmr_lags_edges(n->dev, lags, &m->edges));
    LMR_TRY(larmor_array_create(n->dev, n->dtype, LARMOR_SHAPE(cells[0], cells[1], cells[2]), &m->folded));
    return lmr_lags_begin(n->dev, traj, weights, LARMOR_C128, &m->points);
}

/* lags [2 n0, 2 n1, count] in cells, lag 0 first, in the operator's type. */
static larmor_status wrap_planes(const residues *n, const making *m, const larmor_array *lags, larmor_array **wrapped)
{
    const int64_t *modes = n->s.modes, *cells = n->s.cells, count = larmor_array_shape(lags).dim[2];
    const lmr_nufft_kernels *kernels = LMR_KERNELS(n->dev, nufft, LMR_NUFFT_ABI, LMR_F64);
    const lmr_nufft_geometry plane = {.ndim = 2,
                                      .batch = count,
                                      .modes = {2 * modes[0], 2 * modes[1], 1},
                                      .cells = {cells[0], cells[1], 1},
                                      .factor = {m->edges->data, m->edges->data}};
    *wrapped = NULL;
    LMR_REFUSE(!kernels, LARMOR_ERR_UNSUPPORTED, "toeplitz: %s has no kernels for it", larmor_device_spec(n->dev));
    LMR_OWN(larmor_array, grid,
            larmor_array_create(n->dev, LARMOR_C128, LARMOR_SHAPE(cells[0], cells[1], count), &grid));
    LMR_TRY(kernels->pad(n->dev->ctx, &plane, count, lags->data, grid->data));
    return larmor_array_convert(grid, n->dtype, wrapped);
}

/* Lags `first` and the following of the last axis, which begin with -n, times the residue's phases. No two planes are
 * -n apart. */
static larmor_status fold_lags(const residues *n, const making *m, int64_t first, const larmor_array *lags)
{
    static const double one[2] = {1, 0};
    const int64_t each = n->s.cells[0] * n->s.cells[1], period = n->s.ranks * n->s.cells[2];
    const size_t bytes = (size_t)each * larmor_dtype_size(n->dtype);
    LMR_OWN(larmor_array, wrapped, wrap_planes(n, m, lags, &wrapped));
    for (int64_t i = 0; i < larmor_array_shape(lags).dim[2]; i++) {
        const int64_t lag = first + i - n->s.modes[2], at = (lag + period) % n->s.cells[2];
        double phase[2];
        phase_at(&n->s, (lag + period) % period, n->s.residue, phase);
        LMR_TRY(lmr_vec_of(wrapped)->axpby_complex(n->dev->ctx, each, phase,
                                                   (char *)wrapped->data + (size_t)i * bytes, one,
                                                   (char *)m->folded->data + (size_t)at * bytes));
    }
    return LARMOR_OK;
}

/* A piece of the lags, from the points of all. */
static larmor_status add_piece(const residues *n, const making *m, const larmor_nufft_opts *psf,
                               const lmr_lag_piece *piece)
{
    const larmor_shape shape = LARMOR_SHAPE(psf->modes[0], psf->modes[1], piece->count);
    LMR_OWNED(larmor_array) *lags = NULL;
    larmor_status own = larmor_array_create(n->dev, LARMOR_C128, shape, &lags);
    own = lmr_lags_sum(n->ranks, &m->points, psf, n->s.modes, piece, own, lags);
    LMR_TRY(lmr_ranks_agree(n->ranks, own, NULL, NULL));
    LMR_TRY(lmr_ranks_spread(n->ranks, piece->rank, lags));
    return fold_lags(n, m, piece->first, lags);
}

static larmor_status add_pieces(const residues *n, const making *m, const larmor_nufft_opts *psf)
{
    for (lmr_lag_piece piece = {0}; lmr_lags_next(n->s.ranks, 2 * n->s.modes[2], &piece);)
        LMR_TRY(lmr_ranks_agree(n->ranks, add_piece(n, m, psf, &piece), NULL, NULL));
    return LARMOR_OK;
}

static larmor_status set_spectrum(residues *n, making *m)
{
    const lmr_conv_shape shape = conv_shape(&n->s);
    const lmr_fft *fft = n->dev->be->fft[lmr_precision(n->dtype)];
    const double cells = (double)n->s.cells[0] * (double)n->s.cells[1] * (double)n->s.cells[2];
    LMR_TRY(fft->plan(n->dev->ctx, 3, n->s.cells, 1, &m->fft));
    LMR_TRY(fft->exec(n->dev->ctx, m->fft, -1, m->folded->data));
    fft->destroy(n->dev->ctx, m->fft);
    m->fft = NULL;
    LMR_TRY(n->conv->plan(n->dev->ctx, &shape, &n->plan));
    return n->conv->set(n->dev->ctx, n->plan, 0, 1 / (cells * n->s.ranks), 0, m->folded->data);
}

static larmor_status make_spectrum(residues *n, const larmor_nufft_opts *psf, const larmor_array *traj,
                                   const larmor_array *weights)
{
    making m = {.edges = NULL};
    larmor_status st = lmr_ranks_agree(n->ranks, begin_making(n, traj, weights, &m), NULL, NULL);
    if (!st) st = add_pieces(n, &m, psf);
    lmr_lags_end(&m.points); /* before the next that takes much */
    if (!st) st = lmr_ranks_agree(n->ranks, set_spectrum(n, &m), NULL, NULL);
    end_making(n, &m);
    return st;
}

/* ---- creation ---- */

static larmor_status make_phases(residues *n)
{
    static const double none[2] = {0, 0};
    const larmor_shape slab = LARMOR_SHAPE(n->s.modes[0], n->s.modes[1], n->s.own);
    LMR_TRY(larmor_array_create(n->dev, n->dtype, slab, &n->phases));
    LMR_TRY(larmor_fill(n->phases, 1));
    for (int64_t i = 0; i < n->s.own; i++) {
        double phase[2];
        char *plane = plane_of(n, n->phases, i);
        phase_at(&n->s, n->s.first + i, 1, phase);
        LMR_TRY(lmr_vec_of(n->phases)->axpby_complex(n->dev->ctx, n->s.plane, phase, plane, none, plane));
    }
    return LARMOR_OK;
}

/* After the spectrum, which takes most while it is made. */
static larmor_status allocate_buffers(residues *n)
{
    const int64_t *modes = n->s.modes, size = n->s.plane * (int64_t)larmor_dtype_size(n->dtype);
    LMR_ALLOCATE_ZEROS(n->of_own, n->s.ranks);
    LMR_ALLOCATE_ZEROS(n->of_planes, n->s.ranks);
    for (int i = 0; i < n->s.ranks; i++) {
        n->of_own[i] = n->s.own * size;
        n->of_planes[i] = lmr_slab_share(modes[2], n->s.ranks, i, NULL) * size;
    }
    LMR_TRY(make_phases(n));
    LMR_TRY(larmor_array_create(n->dev, n->dtype, LARMOR_SHAPE(n->s.plane, n->s.own, n->s.ranks), &n->sent));
    LMR_TRY(larmor_array_create(n->dev, n->dtype, LARMOR_SHAPE(n->s.plane, modes[2]), &n->gathered));
    if (!is_folded(&n->s)) return LARMOR_OK;
    return larmor_array_create(n->dev, n->dtype, LARMOR_SHAPE(n->s.plane, n->s.cells[2]), &n->folded);
}

static larmor_status begin(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts, residues **out)
{
    LMR_NEW_ZEROS(residues, n, 1);
    n->dev = lmr_device_ref(dev);
    n->ranks = ranks;
    n->dtype = lmr_precision(opts->dtype) == LMR_F64 ? LARMOR_C128 : LARMOR_C64;
    n->s = sizes_of(opts->modes, ranks->count, ranks->number);
    n->batch = opts->batch ? opts->batch : 1;
    n->conv = dev->be->conv[lmr_precision(n->dtype)];
    *out = n;
    return LARMOR_OK;
}

static larmor_status make(residues *n, const larmor_nufft_opts *psf, const larmor_nufft_opts *opts,
                          const larmor_array *traj, const larmor_array *weights, larmor_op **N)
{
    static const larmor_op_impl impl = {"toeplitz-slabs", apply, apply, NULL, destroy};
    larmor_shape shape = LARMOR_SHAPE(n->s.modes[0], n->s.modes[1], n->s.own);
    if (opts->batch) shape = larmor_shape_append(shape, opts->batch);
    LMR_TRY(make_spectrum(n, psf, traj, weights));
    LMR_TRY(lmr_ranks_agree(n->ranks, allocate_buffers(n), NULL, NULL));
    return larmor_op_create(n->dev, &impl, n, n->dtype, shape, shape, N);
}

larmor_status lmr_toeplitz_residues(larmor_device *dev, larmor_ranks *ranks, const larmor_nufft_opts *opts,
                                    const larmor_nufft_opts *psf, const larmor_array *traj,
                                    const larmor_array *weights, larmor_op **N)
{
    residues *n = NULL;
    larmor_status st = lmr_ranks_agree(ranks, begin(dev, ranks, opts, &n), NULL, NULL);
    if (!st) st = make(n, psf, opts, traj, weights, N);
    if (st && n) destroy(n);
    return st;
}

/* ---- memory ---- */

larmor_status lmr_toeplitz_residues_bytes(const larmor_device *dev, int ranks, const int64_t modes[3],
                                          larmor_dtype dtype, const larmor_nufft_opts *psf, int64_t samples,
                                          double *during, double *held)
{
    const sizes s = sizes_of(modes, ranks, ranks - 1); /* the last rank has as many planes as any */
    const lmr_conv_shape shape = conv_shape(&s);
    const int precision = lmr_precision(dtype);
    const double size = (double)larmor_dtype_size(dtype), grid = (double)s.cells[0] * (double)s.cells[1];
    const double folded = size * grid * (double)s.cells[2], conv = dev->be->conv[precision]->bytes(dev->ctx, &shape);
    larmor_nufft_opts piece = *psf;
    double nufft = 0;
    const int64_t share = (2 * modes[2] + ranks - 1) / ranks, pieces = lmr_slab_pieces(share);
    piece.modes[2] = (share + pieces - 1) / pieces;
    LMR_TRY(lmr_bytes_add_nufft(dev, &piece, samples, &nufft));
    const double planes = (double)piece.modes[2], lags = 16 * (double)psf->modes[0] * (double)psf->modes[1] * planes;
    const double wrapping = (16 + size) * grid * planes;
    const double spreading = 56 * (double)samples + lags + fmax(nufft, wrapping);
    const double turning = fmax(dev->be->fft[precision]->bytes(dev->ctx, 3, s.cells, 1), conv);
    const double slabs = (double)s.own * (ranks + 1) + (double)modes[2] + (is_folded(&s) ? (double)s.cells[2] : 0);
    *during = folded + fmax(spreading, turning);
    *held = conv + size * (double)s.plane * slabs;
    return LARMOR_OK;
}
