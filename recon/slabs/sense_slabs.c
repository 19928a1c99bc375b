/* SENSE of a volume of which each rank has a slab, one coil at a time: the NUFFT in slabs, and between the coils
 * the Toeplitz normal map in slabs. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/choose/sizes.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/ops/ops.h"
#include "recon/slabs/slabs.h"
#include "recon/slabs/toeplitz_residues.h"

static larmor_nufft_opts nufft_of(const int64_t modes[3], double tol, larmor_dtype dtype)
{
    return (larmor_nufft_opts){
        .type = 2, .ndim = 3, .modes = {modes[0], modes[1], modes[2]}, .batch = 1, .tol = tol, .dtype = dtype};
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

/* The coils by themselves: S[c] is of [n0, n1, own planes] to [n0, n1, own planes, 1]. */
static larmor_status make_coils(larmor_array *maps, int64_t coils, larmor_op **S)
{
    for (int64_t c = 0; c < coils; c++) {
        LMR_OWN(larmor_array, one, larmor_array_slice(maps, c, 1, &one));
        LMR_TRY(larmor_op_coils(one, &S[c]));
    }
    return LARMOR_OK;
}

/* All rows have the same Fourier transform. */
static larmor_status join(larmor_array *maps, larmor_op *F, larmor_op *T, larmor_op **A)
{
    const int64_t coils = maps->shape.dim[3];
    larmor_op **S = calloc((size_t)coils, sizeof *S), **left = calloc((size_t)coils, sizeof *left);
    larmor_status st = S && left ? LARMOR_OK : LMR_NO_MEMORY();
    for (int64_t c = 0; c < coils && left; c++) left[c] = F;
    if (!st) st = make_coils(maps, coils, S);
    if (!st) st = lmr_op_blocks("sense-slabs", left, S, (int)coils, T, A);
    for (int64_t c = 0; c < coils && S; c++) larmor_op_free(S[c]);
    LMR_FREE(S, left);
    return st;
}

/* The root of the weights times F, or F. */
static larmor_status weigh(const larmor_array *weights, larmor_dtype dtype, larmor_op *F, larmor_op **P)
{
    const larmor_shape samples = larmor_op_out_shape(F);
    *P = weights ? NULL : larmor_op_ref(F);
    if (!weights) return LARMOR_OK;
    LMR_TRY(lmr_expect("sense", "weight array", weights, larmor_op_device(F), weights->dtype,
                       larmor_shape_of(samples.ndim - 1, samples.dim)));
    LMR_OWN(larmor_array, root, lmr_weights_copy("sense", "weights", weights, dtype, 1, &root));
    LMR_OWN(larmor_op, W, lmr_op_weigh("weights", root, dtype, 1, &W));
    return larmor_op_chain(W, F, P);
}

larmor_status larmor_op_sense_slabs(larmor_ranks *ranks, larmor_array *maps, int64_t planes,
                                    const larmor_sense_opts *opts, larmor_op **A)
{
    LMR_OWNED(larmor_op) *F = NULL, *P = NULL, *T = NULL;
    LMR_NEED_OUT(A, ranks);
    LMR_TRY(lmr_ranks_agree(ranks, check_arguments(ranks, maps, planes, opts), NULL, NULL));
    const int64_t modes[3] = {maps->shape.dim[0], maps->shape.dim[1], planes};
    const larmor_nufft_opts nufft = nufft_of(modes, opts->nufft_tol, maps->dtype);
    if (opts->toeplitz >= 0)
        LMR_TRY(larmor_op_toeplitz_slabs(maps->dev, ranks, &nufft, opts->traj, opts->weights, &T));
    LMR_TRY(larmor_op_nufft_slabs(maps->dev, ranks, &nufft, opts->traj, &F));
    LMR_TRY(lmr_ranks_agree(ranks, weigh(opts->weights, maps->dtype, F, &P), NULL, NULL));
    const larmor_status st = lmr_ranks_agree(ranks, join(maps, P, T, A), NULL, NULL);
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
    /* maps of a coil between Fourier transform and coils; a view's slab, values, points and phases */
    double view = nufft + slab + (2 * size + 24) * (double)p->samples;
    if (p->weighted) view += size * (double)p->samples; /* before they are weighted */
    if (p->weighted) held += size / 2 * (double)p->samples;
    if (kept) LMR_TRY(lmr_bytes_store(held, kept));
    return lmr_bytes_store(fmax(making, held + 3 * slab + view), bytes);
}
