/* SENSE of a volume of which each rank has a slab, one coil at a time: the NUFFT in slabs, and between the coils
 * the Toeplitz normal map in slabs. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/choose/sizes.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/ops/ops.h"
#include "recon/slabs/nufft_slabs.h"
#include "recon/slabs/slabs.h"
#include "recon/slabs/toeplitz_residues.h"

static larmor_nufft_opts nufft_of(const int64_t modes[3], double tol, larmor_dtype dtype)
{
    return (larmor_nufft_opts){
        .type = 2, .ndim = 3, .modes = {modes[0], modes[1], modes[2]}, .tol = tol, .dtype = dtype};
}

static larmor_status check_arguments(const larmor_ranks *ranks, const larmor_array *maps, int64_t planes,
                                     const larmor_sense_opts *opts)
{
    LMR_REFUSE(!maps || !opts || !opts->traj, LARMOR_ERR_ARG,
               "sense: slabs: maps and options with a trajectory are needed");
    LMR_REFUSE(opts->displacement, LARMOR_ERR_UNSUPPORTED, "sense: slabs: not with a displacement");
    LMR_REFUSE(opts->off_resonance, LARMOR_ERR_UNSUPPORTED, "sense: slabs: not with off-resonance");
    LMR_REFUSE(planes < ranks->count, LARMOR_ERR_SHAPE,
               "sense: slabs: %lld planes for %d ranks, expected one for each at least", (long long)planes,
               ranks->count);
    const int64_t own = lmr_slab_share(planes, ranks->count, ranks->number, NULL);
    LMR_REFUSE(!lmr_is_complex(maps->dtype) || maps->shape.ndim != 4 || maps->shape.dim[2] != own ||
                   larmor_array_count(maps) < 1,
               LARMOR_ERR_SHAPE, "sense: slabs: maps are %s, expected complex [n0, n1, %lld, coils]",
               lmr_describe(maps).s, (long long)own);
    return LARMOR_OK;
}

/* ---- the operator ---- */

typedef struct sense {
    lmr_slab_nufft *nufft;
    larmor_op *T; /* the normal map of a coil's NUFFT; or NULL */
    larmor_array *maps;
    larmor_shape slab;
    int64_t coils, points;
} sense;

static void destroy(void *self)
{
    sense *s = self;
    lmr_slab_nufft_free(s->nufft);
    LMR_FREE(s->T, s->maps, s);
}

/* An image, and the maps of the coils from `first` on through which it is seen. */
typedef struct seen {
    const sense *s;
    int64_t first;
    larmor_array *image;
} seen;

static larmor_status map_of(const sense *s, int64_t coil, larmor_array **map)
{
    return larmor_array_part(s->maps, coil, 1, s->slab, map);
}

/* slab <- the coil's map times the image */
static larmor_status give(void *user, int64_t b, larmor_array *slab)
{
    const seen *x = user;
    LMR_OWN(larmor_array, map, map_of(x->s, x->first + b, &map));
    return lmr_vec_of(slab)->mul(slab->dev->ctx, larmor_array_count(slab), 1, map->data, x->image->data, 0,
                                 slab->data);
}

/* The image grows by the conjugate map times slab. */
static larmor_status take(void *user, int64_t b, larmor_array *slab)
{
    const seen *x = user;
    LMR_OWN(larmor_array, map, map_of(x->s, x->first + b, &map));
    LMR_TRY(larmor_mul(map, 1, slab));
    return larmor_axpby(1, slab, 1, x->image);
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const sense *s = self;
    LMR_OWN(larmor_array, image, larmor_array_reshape(x, s->slab, &image));
    seen of = {s, 0, image};
    return lmr_slab_nufft_forward(s->nufft, &(lmr_slab_images){s->coils, &of, give, take}, y);
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const sense *s = self;
    seen of = {s, 0, x};
    LMR_TRY(larmor_zero(x));
    return lmr_slab_nufft_adjoint(s->nufft, y, &(lmr_slab_images){s->coils, &of, give, take});
}

/* By the samples of a coil, or without them by Toeplitz. */
static larmor_status add_normal(seen *of, int64_t coil, larmor_array *samples, larmor_array *z)
{
    const sense *s = of->s;
    LMR_OWNED(larmor_array) *slab = NULL, *filtered = NULL;
    seen to = {s, coil, z};
    of->first = coil;
    if (!s->T) {
        LMR_TRY(lmr_slab_nufft_forward(s->nufft, &(lmr_slab_images){1, of, give, take}, samples));
        return lmr_slab_nufft_adjoint(s->nufft, samples, &(lmr_slab_images){1, &to, give, take});
    }
    LMR_TRY(larmor_array_create(z->dev, z->dtype, s->slab, &slab));
    LMR_TRY(larmor_array_create(z->dev, z->dtype, s->slab, &filtered));
    LMR_TRY(give(of, 0, slab));
    LMR_TRY(larmor_op_forward(s->T, slab, filtered));
    return take(&to, 0, filtered);
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const sense *s = self;
    LMR_OWNED(larmor_array) *samples = NULL;
    LMR_OWN(larmor_array, image, larmor_array_reshape(x, s->slab, &image));
    seen of = {s, 0, image};
    if (!s->T) LMR_TRY(larmor_array_create(z->dev, z->dtype, LARMOR_SHAPE(s->points, 1), &samples));
    LMR_TRY(larmor_zero(z));
    for (int64_t c = 0; c < s->coils; c++) LMR_TRY(add_normal(&of, c, samples, z));
    return LARMOR_OK;
}

/* ---- creation ---- */

static larmor_status make(larmor_ranks *ranks, larmor_array *maps, const larmor_nufft_opts *nufft,
                          const larmor_sense_opts *opts, larmor_op *T, larmor_op **A)
{
    static const larmor_op_impl impl = {"sense-slabs", forward, adjoint, normal, destroy};
    const larmor_shape shape = larmor_array_shape(maps);
    LMR_MAKE(sense, s, destroy);
    LMR_TRY(lmr_slab_nufft_create(maps->dev, ranks, nufft, opts->traj, opts->weights, &s->nufft));
    s->T = T ? larmor_op_ref(T) : NULL;
    s->maps = larmor_array_ref(maps);
    s->slab = larmor_shape_of(3, shape.dim);
    s->coils = shape.dim[3];
    s->points = larmor_array_count(opts->traj) / 3;
    const larmor_shape samples = larmor_shape_append(lmr_weights_shape(opts->traj), s->coils);
    return lmr_hand_on(&s_made, larmor_op_create(maps->dev, &impl, s, maps->dtype, s->slab, samples, A));
}

larmor_status larmor_op_sense_slabs(larmor_ranks *ranks, larmor_array *maps, int64_t planes,
                                    const larmor_sense_opts *opts, larmor_op **A)
{
    LMR_OWNED(larmor_op) *T = NULL;
    LMR_NEED_OUT(A, ranks);
    LMR_TRY(lmr_ranks_agree(ranks, check_arguments(ranks, maps, planes, opts), NULL, NULL));
    const int64_t modes[3] = {maps->shape.dim[0], maps->shape.dim[1], planes};
    const larmor_nufft_opts nufft = nufft_of(modes, opts->nufft_tol, maps->dtype);
    if (opts->toeplitz >= 0)
        LMR_TRY(larmor_op_toeplitz_slabs(maps->dev, ranks, &nufft, opts->traj, opts->weights, &T));
    const larmor_status st = lmr_ranks_agree(ranks, make(ranks, maps, &nufft, opts, T, A), NULL, NULL);
    if (st) LMR_CLEAR(*A);
    return st;
}

/* ---- memory ---- */

/* Of the largest slab of so many planes. */
static int64_t largest(int64_t planes, int ranks)
{
    return (planes + ranks - 1) / ranks;
}

/* Of the plans of its FFTs: `planes` planes, and so many lines at a time. */
static double fft_bytes(const larmor_device *dev, int precision, const int64_t cells[3], int64_t planes,
                        int64_t lines)
{
    const lmr_fft *fft = dev->be->fft[precision];
    const int64_t plane[3] = {cells[0], cells[1], 1}, line[3] = {cells[2], 1, 1};
    return fft->bytes(dev->ctx, 2, plane, planes) + fft->bytes(dev->ctx, 1, line, lines);
}

/* While it is made, in double, and after. */
static larmor_status toeplitz_bytes(const larmor_device *dev, const larmor_problem *p, int ranks, double tol,
                                    double *making, double *held)
{
    const int64_t *n = p->image.dim;
    int64_t cells[3];
    for (int d = 0; d < 3; d++) cells[d] = lmr_nufft_good_size(2 * n[d]);
    const double plane = (double)cells[0] * (double)cells[1];
    const double size = (double)larmor_dtype_size(p->dtype);
    const double lines = (double)largest(cells[0] * cells[1], ranks);
    const double spectrum = size / 2 * (double)cells[2] * lines;
    const double few = LMR_SLAB_LINES * (double)cells[2], together = (double)lmr_slab_lines(dev) * (double)cells[2];
    const double slab = plane * (double)largest(n[2], ranks), lags = plane * (double)largest(2 * n[2], ranks);
    const int64_t modes[3] = {2 * n[0], 2 * n[1], 2 * n[2]}, most = largest(2 * n[2], ranks);
    larmor_nufft_opts psf = nufft_of(modes, 0, LARMOR_C128);
    double nufft = 0;
    LMR_TRY(lmr_toeplitz_choose_psf(tol > 0 ? tol : 1e-5, &psf));
    psf.type = 1;
    psf.batch = 0;
    if (ranks <= LMR_MOST_RESIDUES)
        return lmr_toeplitz_residues_bytes(dev, ranks, n, p->dtype, &psf, p->samples, making, held);
    psf.modes[2] = largest(most, lmr_slab_pieces(most));
    LMR_TRY(lmr_bytes_add_nufft(dev, &psf, p->samples, &nufft));
    const double lag = 16 * (double)modes[0] * (double)modes[1], own = lag * (double)most;
    const double spreading = own + lag * (double)psf.modes[2] + nufft + 56 * (double)p->samples;
    const double turning = own + 2 * 16 * fmax(lags, 2 * (double)n[2] * lines) + 3 * 16 * few;
    *making = spectrum + fmax(spreading, turning + fft_bytes(dev, LMR_F64, cells, most, LMR_SLAB_LINES));
    *held = spectrum + 2 * size * fmax(slab, (double)n[2] * lines) + size * together +
            fft_bytes(dev, lmr_precision(p->dtype), cells, largest(n[2], ranks), lmr_slab_lines(dev));
    return LARMOR_OK;
}

larmor_status larmor_sense_slabs_memory(const larmor_device *dev, int ranks, const larmor_problem *p,
                                        const larmor_sense_opts *opts, int64_t *bytes, int64_t *kept)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    if (kept) *kept = 0;
    LMR_REFUSE(ranks < 1 || p->image.ndim != 3, LARMOR_ERR_ARG,
               "sense: slabs: got %d ranks and %d dimensions, expected 1 at least and 3", ranks, p->image.ndim);
    const double tol = opts ? opts->nufft_tol : 0;
    const double size = (double)larmor_dtype_size(p->dtype);
    const int64_t modes[3] = {p->image.dim[0], p->image.dim[1], largest(p->image.dim[2], ranks)};
    const double slab = size * (double)modes[0] * (double)modes[1] * (double)modes[2];
    const larmor_nufft_opts box = nufft_of(modes, tol, p->dtype);
    double nufft = 0, making = 0, held = 0;
    LMR_TRY(lmr_bytes_add_nufft(dev, &box, p->samples, &nufft));
    if (!opts || opts->toeplitz >= 0) LMR_TRY(toeplitz_bytes(dev, p, ranks, tol, &making, &held));
    /* two slabs of a coil beside Toeplitz; a view's slab, values, points and phases */
    double view = nufft + slab + (2 * size + 24) * (double)p->samples;
    if (!opts || opts->toeplitz < 0) view += size * (double)p->samples; /* of a coil, between both maps */
    if (p->weighted) held += size / 2 * (double)p->samples;
    if (kept) LMR_TRY(lmr_bytes_store(held, kept));
    return lmr_bytes_store(fmax(making, held + 3 * slab + view), bytes);
}
