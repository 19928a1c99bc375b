/* The circulant of a volume of which each rank has a slab and some of the points. Of the maps each coil's
 * autocorrelation is found by one rank, on the coarse grid that holds them all; lags of the points are folded slab
 * by slab. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/bytes.h"
#include "recon/precond/circulant.h"
#include "recon/slabs/lags.h"

#define ROUGH 1e-4 /* of the lags, as where the volume is whole */

/* What it is made of. */
typedef struct making {
    larmor_ranks *ranks;
    const larmor_array *maps; /* [n0, n1, own planes, coils] */
    int64_t n[3], first, own; /* of the volume; of this rank's planes */
    larmor_shape coarse;
    int64_t coils, kept_coils; /* kept_coils: of this rank */
    larmor_array *kept;        /* [coarse..., kept coils], then times E */
    larmor_array *line;        /* their autocorrelation, [2 coarse0, 2 coarse1, 2 n2] */
    lmr_lag_points points;
    larmor_array *response; /* [n0, n1, own planes] what C does to a point */
} making;

static void free_making(making *m)
{
    lmr_lags_end(&m->points);
    LMR_FREE(m->kept, m->line, m->response);
}

/* ---- the support of the coil maps ---- */

static larmor_status find_support(const making *m, larmor_circulant *c)
{
    double most = 0, norm;
    LMR_TRY(lmr_circulant_energy(m->maps, c->image, &c->support, &most));
    LMR_TRY(lmr_ranks_most(m->ranks, &most));
    LMR_TRY(lmr_object_support(c->support, most, &c->support_voxels));
    LMR_TRY(larmor_nrm2(c->support, &norm));
    c->square = c->support_voxels > 0 ? norm * norm / c->support_voxels : 1;
    if (c->support_voxels < 1) c->support_voxels = 1; /* maps of zeros: all eigenvalues are 0 */
    return LARMOR_OK;
}

/* ---- the autocorrelation of the maps ---- */

/* One coil's planes of this rank, on the coarse grid of a plane. */
static larmor_status shrink_planes(const making *m, int64_t coil, larmor_array **planes)
{
    const larmor_shape slab = LARMOR_SHAPE(m->n[0], m->n[1], m->own);
    const larmor_shape to = LARMOR_SHAPE(m->coarse.dim[0], m->coarse.dim[1], m->own);
    *planes = NULL;
    LMR_OWN(larmor_array, one, larmor_array_part(m->maps, coil, 1, slab, &one));
    return larmor_resize(one, to, planes);
}

/* Rank i's planes to their place in `all` of rank `to`, which has room for those of the volume. */
static larmor_status pass_planes(const making *m, int i, int to, larmor_array *planes, larmor_array *all)
{
    const int me = m->ranks->number;
    int64_t first;
    const int64_t count = lmr_slab_share(m->n[2], m->ranks->count, i, &first);
    LMR_OWNED(larmor_array) *place = NULL;
    if (!count || (me != i && me != to)) return LARMOR_OK;
    if (me == to) LMR_TRY(larmor_array_slice(all, first, count, &place));
    return i == to ? larmor_copy(planes, place) : lmr_ranks_pass(m->ranks, i, to, place ? place : planes);
}

/* `all` [coarse0, coarse1, n2] of one coil to its place among those that this rank keeps. */
static larmor_status keep_coil(making *m, int64_t coil, larmor_array *all)
{
    LMR_OWN(larmor_array, small, larmor_resize(all, m->coarse, &small));
    LMR_OWN(larmor_array, place, larmor_array_part(m->kept, coil / m->ranks->count, 1, m->coarse, &place));
    return larmor_copy(small, place);
}

/* Coil by coil to the rank that keeps it. */
static larmor_status share_coil(making *m, int64_t coil)
{
    const int to = (int)(coil % m->ranks->count), mine = to == m->ranks->number;
    const larmor_shape shape = LARMOR_SHAPE(m->coarse.dim[0], m->coarse.dim[1], m->n[2]);
    LMR_OWNED(larmor_array) *planes = NULL, *all = NULL;
    larmor_status st = lmr_go_on();
    if (!st) st = shrink_planes(m, coil, &planes);
    if (!st && mine) st = larmor_array_create(m->maps->dev, m->maps->dtype, shape, &all);
    st = lmr_ranks_agree(m->ranks, st, NULL, NULL);
    for (int i = 0; planes && i < m->ranks->count && !m->ranks->agreed; i++) {
        const larmor_status one = pass_planes(m, i, to, planes, all);
        if (!st) st = one;
    }
    if (!st && mine) st = keep_coil(m, coil, all);
    return st;
}

/* The sum of all ranks' x becomes that of each. */
static larmor_status sum_of_all(larmor_ranks *ranks, larmor_status own, larmor_array *x)
{
    LMR_TRY(lmr_ranks_agree(ranks, own, NULL, NULL));
    LMR_TRY(lmr_ranks_sum(ranks, 0, x));
    return lmr_ranks_broadcast(ranks, x);
}

/* The coils that this rank keeps, times E of all coils. */
static larmor_status see_kept(making *m)
{
    const lmr_recon_kernels *kernels;
    LMR_OWNED(larmor_array) *energy = NULL;
    double most = 0, support_voxels;
    larmor_status st;
    if (m->kept_coils)
        st = lmr_circulant_energy(m->kept, m->coarse, &energy, &most);
    else
        st = larmor_array_create(m->maps->dev, m->maps->dtype, m->coarse, &energy);
    LMR_TRY(sum_of_all(m->ranks, st, energy));
    LMR_TRY(lmr_recon_kernels_of(energy->dev, energy->dtype, &kernels));
    LMR_TRY(kernels->largest(energy->dev->ctx, larmor_array_count(energy), energy->data, &most));
    LMR_TRY(lmr_object_support(energy, most, &support_voxels));
    return m->kept_coils ? larmor_mul(energy, 0, m->kept) : LARMOR_OK;
}

static larmor_status correlate_kept(const making *m, lmr_autocorrelation *a)
{
    for (int64_t c = 0; c < m->kept_coils; c++) {
        LMR_TRY(lmr_go_on());
        LMR_OWN(larmor_array, one, larmor_array_part(m->kept, c, 1, m->coarse, &one));
        LMR_TRY(lmr_autocorrelation_add(a, one));
    }
    return LARMOR_OK;
}

static larmor_status correlate(making *m)
{
    const larmor_shape doubled = lmr_doubled(m->coarse);
    const larmor_shape to = LARMOR_SHAPE(doubled.dim[0], doubled.dim[1], 2 * m->n[2]);
    lmr_autocorrelation a;
    LMR_OWNED(larmor_array) *sum = NULL;
    larmor_status st = lmr_autocorrelation_begin(m->maps->dev, m->maps->dtype, m->coarse, &a);
    if (!st) st = correlate_kept(m, &a);
    LMR_OR(done, sum_of_all(m->ranks, st, a.power));
    LMR_OR(done, lmr_autocorrelation_end(&a, &sum));
    lmr_autocorrelation_free(&a);
    st = larmor_resize(sum, to, &m->line);
done:
    lmr_autocorrelation_free(&a);
    return st;
}

static larmor_status correlate_maps(making *m)
{
    const int64_t count = (m->coils + m->ranks->count - 1 - m->ranks->number) / m->ranks->count;
    m->kept_coils = count; /* every so manieth */
    if (count)
        LMR_TRY(larmor_array_create(m->maps->dev, m->maps->dtype, larmor_shape_append(m->coarse, count), &m->kept));
    for (int64_t c = 0; c < m->coils; c++) LMR_TRY(share_coil(m, c));
    LMR_TRY(see_kept(m));
    const larmor_status st = correlate(m);
    LMR_CLEAR(m->kept);
    return st;
}

/* That of the planes `first` and the following of the doubled volume, but for the coarse grid's scale. */
static larmor_status correlation_of(const making *m, int64_t first, int64_t count, larmor_array **a)
{
    *a = NULL;
    LMR_OWN(larmor_array, planes, larmor_array_slice(m->line, first, count, &planes));
    return larmor_resize(planes, LARMOR_SHAPE(2 * m->n[0], 2 * m->n[1], count), a);
}

/* ---- lags, folded ---- */

/* The response of `count` planes from `from` of this rank's slab grows by lags [2 n0, 2 n1, count] times the
 * autocorrelation, folded. half: 0 for lags below 0, 1 for the others. */
static larmor_status fold_in(making *m, int64_t from, int64_t count, int half, double support_voxels,
                             larmor_array *lags)
{
    const lmr_recon_kernels *kernels;
    const int64_t all[3] = {2 * m->n[0], 2 * m->n[1], count}, to[3] = {m->n[0], m->n[1], count};
    double scale = 1 / support_voxels;
    LMR_OWNED(larmor_array) *a = NULL, *folded = NULL, *place = NULL;
    for (int d = 0; d < 3; d++) scale *= (double)m->n[d] / (double)m->coarse.dim[d];
    LMR_TRY(lmr_recon_kernels_of(lags->dev, lags->dtype, &kernels));
    LMR_TRY(correlation_of(m, half * m->n[2] + m->first + from, count, &a));
    LMR_TRY(larmor_mul(a, 1, lags));
    LMR_TRY(larmor_array_create(lags->dev, lags->dtype, LARMOR_SHAPE(to[0], to[1], to[2]), &folded));
    LMR_TRY(kernels->fold(lags->dev->ctx, all, to, scale, lags->data, folded->data));
    LMR_TRY(larmor_array_slice(m->response, from, count, &place));
    return larmor_axpby(1, folded, 1, place);
}

/* A slab's lags are found in so many pieces, twice: those below 0, and the others. */
static int pieces_of(int64_t planes)
{
    return (lmr_slab_pieces(2 * planes) + 1) / 2;
}

static larmor_nufft_opts spread_of(const int64_t n[3], larmor_dtype dtype)
{
    return (larmor_nufft_opts){
        .type = 1, .ndim = 3, .modes = {2 * n[0], 2 * n[1], 1}, .sign = 1, .tol = ROUGH, .dtype = dtype};
}

/* A piece of rank i's slab. */
static larmor_status add_piece(making *m, int i, int half, int piece, double support_voxels, larmor_status own)
{
    const larmor_nufft_opts psf = spread_of(m->n, m->maps->dtype);
    int64_t first, from;
    const int64_t planes = lmr_slab_share(m->n[2], m->ranks->count, i, &first);
    const int64_t count = lmr_slab_share(planes, pieces_of(planes), piece, &from);
    const lmr_lag_piece part = {.rank = i, .first = half * m->n[2] + first + from, .count = count};
    const larmor_shape shape = LARMOR_SHAPE(psf.modes[0], psf.modes[1], count);
    LMR_OWNED(larmor_array) *lags = NULL;
    if (!own) own = lmr_go_on();
    if (!own && i == m->ranks->number) own = larmor_array_create(m->maps->dev, m->maps->dtype, shape, &lags);
    own = lmr_lags_sum(m->ranks, &m->points, &psf, m->n, &part, own, lags);
    if (!own && lags) own = fold_in(m, from, count, half, support_voxels, lags);
    return own;
}

static larmor_status respond(making *m, double support_voxels)
{
    larmor_status own = LARMOR_OK;
    for (int i = 0; i < m->ranks->count; i++) {
        const int64_t planes = lmr_slab_share(m->n[2], m->ranks->count, i, NULL);
        for (int half = 0; half < 2; half++)
            for (int piece = 0; planes && piece < pieces_of(planes); piece++) {
                own = add_piece(m, i, half, piece, support_voxels, own);
                if (m->ranks->agreed) return own;
            }
    }
    return own;
}

/* ---- the eigenvalues ---- */

static larmor_status transform(const making *m, larmor_circulant *c)
{
    const lmr_recon_kernels *kernels;
    const larmor_status st = lmr_slab_fft_create(m->maps->dev, m->ranks, m->maps->dtype, m->n, &c->slabs);
    LMR_TRY(lmr_ranks_agree(m->ranks, st, NULL, NULL));
    const larmor_shape shape = LARMOR_SHAPE(m->n[2], 1, c->slabs->transpose.own_lines);
    LMR_TRY(lmr_slab_fft_forward(c->slabs, m->response, LARMOR_OK));
    LMR_TRY(larmor_array_create(m->maps->dev, m->maps->dtype, shape, &c->eigenvalues));
    LMR_OWN(larmor_array, cells, larmor_array_part(c->slabs->b, 0, larmor_shape_count(shape), shape, &cells));
    LMR_TRY(larmor_copy(cells, c->eigenvalues));
    LMR_TRY(lmr_recon_kernels_of(cells->dev, cells->dtype, &kernels));
    LMR_TRY(kernels->largest(cells->dev->ctx, larmor_shape_count(shape), c->eigenvalues->data, &c->largest));
    LMR_TRY(lmr_ranks_most(m->ranks, &c->largest));
    LMR_TRY(lmr_circulant_mean(c));
    LMR_REFUSE(!isfinite(c->largest) || !isfinite(c->mean), LARMOR_ERR_NUMERIC,
               "circulant: the largest eigenvalue is %g; look for NaN or Inf in the maps", c->largest);
    return LARMOR_OK;
}

static larmor_status make(making *m, const larmor_array *traj, larmor_circulant *c)
{
    c->image = LARMOR_SHAPE(m->n[0], m->n[1], m->own);
    c->count = (double)m->n[0] * (double)m->n[1] * (double)m->n[2];
    LMR_TRY(find_support(m, c));
    LMR_TRY(correlate_maps(m));
    LMR_TRY(lmr_lags_begin(m->maps->dev, traj, NULL, m->maps->dtype, &m->points));
    LMR_TRY(larmor_array_create(m->maps->dev, m->maps->dtype, c->image, &m->response));
    LMR_TRY(respond(m, c->support_voxels));
    lmr_lags_end(&m->points); /* before the next that take much */
    LMR_CLEAR(m->line);
    return transform(m, c);
}

static larmor_status check_arguments(larmor_ranks *ranks, const larmor_array *maps, int64_t planes,
                                     const larmor_array *traj)
{
    LMR_REFUSE(!maps || !traj, LARMOR_ERR_ARG, "circulant: slabs: maps and a trajectory are needed");
    const int64_t own = lmr_slab_share(planes, ranks->count, ranks->number, NULL);
    LMR_REFUSE(!lmr_is_complex(maps->dtype) || maps->shape.ndim != 4 || maps->shape.dim[2] != own ||
                   planes < ranks->count || larmor_array_count(maps) < 1,
               LARMOR_ERR_SHAPE, "circulant: slabs: maps are %s, expected complex [n0, n1, %lld, coils]",
               lmr_describe(maps).s, (long long)own);
    const larmor_nufft_opts opts = {
        .ndim = 3, .modes = {maps->shape.dim[0], maps->shape.dim[1], planes}, .tol = ROUGH, .dtype = maps->dtype};
    return lmr_slabs_expect("circulant", maps->dev, ranks, &opts, traj);
}

larmor_status larmor_circulant_slabs(larmor_ranks *ranks, larmor_array *maps, int64_t planes,
                                     const larmor_array *traj, larmor_circulant **out)
{
    making m = {.ranks = ranks, .maps = maps};
    LMR_NEED_OUT(out, ranks);
    larmor_circulant *c = calloc(1, sizeof *c);
    larmor_status st = c ? check_arguments(ranks, maps, planes, traj) : LMR_NO_MEMORY();
    LMR_OR(done, lmr_ranks_agree(ranks, st, NULL, NULL));
    for (int d = 0; d < 3; d++) m.n[d] = d < 2 ? maps->shape.dim[d] : planes;
    m.own = lmr_slab_share(planes, ranks->count, ranks->number, &m.first);
    m.coils = maps->shape.dim[3];
    m.coarse = lmr_circulant_coarse(LARMOR_SHAPE(m.n[0], m.n[1], m.n[2]));
    st = make(&m, traj, c);
    if (!ranks->agreed)
        st = lmr_ranks_agree(ranks, st, NULL, NULL); /* also of one that failed where the others went on */
    if (!st) *out = c;
done:
    free_making(&m);
    if (st) larmor_circulant_free(c);
    return st;
}

/* ---- memory ---- */

static double most(double a, double b)
{
    return a > b ? a : b;
}

larmor_status larmor_circulant_slabs_memory(const larmor_device *dev, int ranks, const larmor_problem *p,
                                            int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    LMR_REFUSE(ranks < 1 || p->image.ndim != 3, LARMOR_ERR_ARG,
               "circulant: slabs: got %d ranks and %d dimensions, expected 1 at least and 3", ranks, p->image.ndim);
    const int64_t *n = p->image.dim, own = (n[2] + ranks - 1) / ranks,
                  count = (own + pieces_of(own) - 1) / pieces_of(own);
    const double size = (double)larmor_dtype_size(p->dtype);
    const larmor_shape g = lmr_circulant_coarse(p->image), doubled = lmr_doubled(g);
    const double slab = size * (double)n[0] * (double)n[1] * (double)own,
                 cells = size * (double)larmor_shape_count(g);
    const double plane = size * (double)g.dim[0] * (double)g.dim[1];
    const double line = size * (double)doubled.dim[0] * (double)doubled.dim[1] * 2 * (double)n[2];
    const double kept = (double)((p->coils + ranks - 1) / ranks) * cells;
    const double sharing = 2 * slab + 2 * plane * (double)n[2] + cells;
    const double correlating = most(2 * cells, lmr_autocorrelation_bytes(dev, p->dtype, g)) + cells;
    const double turning = size * (double)larmor_shape_count(doubled) + 2 * line;
    larmor_nufft_opts psf = spread_of(n, p->dtype);
    double nufft = 0;
    psf.modes[2] = count;
    LMR_TRY(lmr_bytes_add_nufft(dev, &psf, p->samples, &nufft));
    const double piece = size * 4 * (double)n[0] * (double)n[1] * (double)count;
    const double spreading = line + slab + 3.5 * piece + nufft + (24 + 2 * size) * (double)p->samples;
    const double transforming = 3 * slab + lmr_slab_fft_bytes(dev, ranks, p->dtype, n);
    const double maps = most(2 * slab, most(kept + most(sharing, correlating), kept + turning));
    return lmr_bytes_store(slab + most(maps, most(spreading, transforming)), bytes);
}
