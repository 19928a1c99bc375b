/* SENSE of coefficient images (Tamir et al. 2017): the basis acts on samples, or, in the normal map, on the images'
 * transforms on the doubled grid. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "nufft/toeplitz.h"
#include "recon/bytes.h"
#include "recon/field/off_resonance.h"
#include "recon/inputs.h"

typedef struct subspace_sense {
    larmor_op *A;          /* of one image */
    larmor_array *maps;    /* [image..., coils] */
    larmor_array *factors; /* [samples..., rank] */
    larmor_array *column;  /* one of them, complex */
    larmor_array *more;    /* samples of all coils */
    int64_t rank, coils, voxels, samples;
    int64_t block; /* coils at a time in the normal map */
    larmor_op *T;  /* of a block, or NULL */
    larmor_op *rest;
    larmor_array *before, *after; /* coil images of a block, [image..., block, rank] */
    larmor_array *sum;            /* an image, where there are several blocks */
} subspace_sense;

/* ---- forward and adjoint ---- */

/* column <- factors(:, k) */
static larmor_status take_factor(const subspace_sense *s, int64_t k)
{
    larmor_device *dev = s->column->dev;
    const size_t size = larmor_dtype_size(s->factors->dtype);
    const char *from = (const char *)s->factors->data + (size_t)(k * s->samples) * size;
    return dev->be->convert(dev->ctx, s->samples, s->factors->dtype, from, s->column->dtype, s->column->data);
}

/* to_c <- column .* from_c, or its conjugate, for all coils */
static larmor_status weigh(const subspace_sense *s, int conj, const larmor_array *from, larmor_array *to)
{
    const size_t coil = (size_t)s->samples * larmor_dtype_size(from->dtype);
    for (int64_t c = 0; c < s->coils; c++)
        LMR_TRY(lmr_vec_of(from)->mul(from->dev->ctx, s->samples, 1, s->column->data,
                                      (const char *)from->data + (size_t)c * coil, conj,
                                      (char *)to->data + (size_t)c * coil));
    return LARMOR_OK;
}

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    const subspace_sense *s = self;
    const larmor_shape image = larmor_op_in_shape(s->A);
    for (int64_t k = 0; k < s->rank; k++) {
        LMR_OWN(larmor_array, one, larmor_array_part(x, k, 1, image, &one));
        LMR_TRY(larmor_op_forward(s->A, one, s->more));
        LMR_TRY(take_factor(s, k));
        LMR_TRY(weigh(s, 0, s->more, k ? s->more : y));
        if (k) LMR_TRY(larmor_axpby(1, s->more, 1, y));
    }
    return LARMOR_OK;
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    const subspace_sense *s = self;
    const larmor_shape image = larmor_op_in_shape(s->A);
    for (int64_t k = 0; k < s->rank; k++) {
        LMR_TRY(take_factor(s, k));
        LMR_TRY(weigh(s, 1, y, s->more));
        LMR_OWN(larmor_array, one, larmor_array_part(x, k, 1, image, &one));
        LMR_TRY(larmor_op_adjoint(s->A, s->more, one));
    }
    return LARMOR_OK;
}

/* ---- the normal map ---- */

static void *at(const larmor_array *x, int64_t number)
{
    return (char *)x->data + (size_t)number * larmor_dtype_size(x->dtype);
}

/* z <- z + the part of coils first .. first + count - 1, or z <- that part if it is the first. */
static larmor_status normal_block(const subspace_sense *s, larmor_op *T, int64_t first, int64_t count,
                                  const larmor_array *x, larmor_array *z)
{
    const lmr_vec *vec = lmr_vec_of(x);
    void *ctx = x->dev->ctx;
    const void *maps = at(s->maps, first * s->voxels);
    const int64_t images = s->voxels * count;
    LMR_OWN(larmor_array, from, larmor_array_part(s->before, 0, count * s->rank, larmor_op_in_shape(T), &from));
    LMR_OWN(larmor_array, to, larmor_array_part(s->after, 0, count * s->rank, larmor_op_in_shape(T), &to));
    for (int64_t k = 0; k < s->rank; k++)
        LMR_TRY(vec->expand(ctx, s->voxels, count, maps, at(x, k * s->voxels), at(from, k * images)));
    LMR_TRY(larmor_op_forward(T, from, to));
    for (int64_t k = 0; k < s->rank; k++) {
        void *sum = first ? s->sum->data : at(z, k * s->voxels);
        LMR_TRY(vec->combine(ctx, s->voxels, count, maps, at(to, k * images), sum));
        if (first) LMR_TRY(vec->axpby(ctx, s->voxels, 1, sum, 1, at(z, k * s->voxels)));
    }
    return LARMOR_OK;
}

static larmor_status normal(void *self, const larmor_array *x, larmor_array *z)
{
    const subspace_sense *s = self;
    for (int64_t first = 0; first < s->coils; first += s->block) {
        const int64_t left = s->coils - first;
        const int64_t count = left < s->block ? left : s->block;
        LMR_TRY(normal_block(s, count < s->block ? s->rest : s->T, first, count, x, z));
    }
    return LARMOR_OK;
}

/* ---- making one ---- */

static void destroy(void *self)
{
    subspace_sense *s = self;
    LMR_FREE(s->A, s->T, s->rest);
    larmor_array *const arrays[] = {s->maps, s->factors, s->column, s->more, s->before, s->after, s->sum};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) larmor_array_free(arrays[i]);
    free(s);
}

static larmor_nufft_opts nufft_of(const larmor_problem *p, const larmor_sense_opts *opts, int64_t coils)
{
    larmor_nufft_opts nufft = {
        .type = 2, .ndim = p->image.ndim, .batch = coils, .tol = opts ? opts->nufft_tol : 0, .dtype = p->dtype};
    for (int d = 0; d < p->image.ndim; d++) nufft.modes[d] = p->image.dim[d];
    return nufft;
}

static int64_t block_of(const larmor_problem *p, const larmor_sense_opts *opts)
{
    return opts && opts->block > 0 && opts->block < p->coils ? opts->block : p->coils;
}

/* The point spread functions take a transform for each or for each two, and the rest is alike for each image. */
static int wants_toeplitz(const larmor_problem *p, const larmor_sense_opts *opts, int64_t rank, int is_complex)
{
    int segments, terms;
    if (lmr_segments_count(opts, &segments, &terms) || !terms) return 0;
    if (opts && opts->toeplitz) return opts->toeplitz > 0;
    const larmor_nufft_opts all = nufft_of(p, opts, p->coils * rank);
    const double pairs = (double)(rank * (rank + 1)) / (is_complex ? 1 : 2) / 2;
    const double iters = opts && opts->iters > 0 ? (double)opts->iters : 10;
    return lmr_toeplitz_ratio(&all, p->samples, (int64_t)fmax(1, iters / fmax(1, pairs))) * terms / segments < 1;
}

static larmor_sense_opts without_toeplitz(const larmor_sense_opts *opts)
{
    larmor_sense_opts o = opts ? *opts : (larmor_sense_opts){0};
    o.toeplitz = -1;
    return o;
}

static larmor_status count_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                 int64_t rank, int is_complex, int toeplitz, double *total)
{
    const larmor_sense_opts one = without_toeplitz(opts);
    const int64_t block = block_of(p, opts), rest = p->coils % block;
    const double image = lmr_bytes_of(p->dtype, p->image);
    const double samples = lmr_bytes_of(p->dtype, LARMOR_SHAPE(p->samples));
    const larmor_nufft_opts full = nufft_of(p, opts, block), last = nufft_of(p, opts, rest);
    double making = 0, held = 0, another = 0, unused;
    int segments, terms;
    int64_t sense;
    LMR_TRY(larmor_sense_memory(dev, p, &one, &sense));
    *total = (double)sense + samples * (double)(p->coils + 1);
    if (!toeplitz) {
        *total += image * (double)rank; /* before the adjoint the normal map has samples of its own */
        *total += samples * (double)p->coils;
        return LARMOR_OK;
    }
    LMR_TRY(lmr_segments_count(opts, &segments, &terms));
    const int mixed = (int)rank;
    LMR_TRY(lmr_toeplitz_mixed_bytes(dev, &full, p->samples, terms, mixed, is_complex, &making, &held));
    if (rest) LMR_TRY(lmr_toeplitz_mixed_bytes(dev, &last, p->samples, terms, mixed, is_complex, &unused, &another));
    /* between phases there are arrays of its own */
    const double pairs = opts && opts->off_resonance ? 2 * (double)(block + rest) : 0;
    held += another + 2 * image * (double)(block * rank) + image + pairs * image * (double)rank;
    *total = fmax(making + another, *total + held);
    return LARMOR_OK;
}

larmor_status larmor_subspace_sense_memory(const larmor_device *dev, const larmor_problem *p,
                                           const larmor_sense_opts *opts, int64_t coefficients, int is_complex,
                                           int64_t *bytes)
{
    double total;
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    LMR_REFUSE(coefficients < 1 || coefficients > LMR_CONV_MOST_MIXED, LARMOR_ERR_ARG,
               "subspace: %lld coefficients, expected 1 to %d", (long long)coefficients, LMR_CONV_MOST_MIXED);
    const int toeplitz = wants_toeplitz(p, opts, coefficients, is_complex);
    LMR_TRY(count_bytes(dev, p, opts, coefficients, is_complex, toeplitz, &total));
    return lmr_bytes_store(total, bytes);
}

/* What is wanted, unless it is only a wish and the memory for it is not free. */
static larmor_status choose_toeplitz(larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                     int64_t rank, int is_complex, int *use)
{
    int64_t available, all;
    double needed;
    *use = wants_toeplitz(p, opts, rank, is_complex);
    if (!*use || opts->toeplitz) return LARMOR_OK;
    LMR_TRY(larmor_device_memory(dev, &available, &all));
    LMR_TRY(count_bytes(dev, p, opts, rank, is_complex, 1, &needed));
    if (available > 0 && needed > (double)available) *use = 0;
    return LARMOR_OK;
}

/* Of so many coils. */
static larmor_status op_mixed(const subspace_sense *s, const larmor_nufft_opts *nufft, const larmor_sense_opts *opts,
                              larmor_op **T)
{
    if (opts->off_resonance)
        return lmr_op_segments_toeplitz(nufft, opts->traj, opts->weights, s->factors, opts->off_resonance, T);
    return larmor_op_toeplitz_mixed(s->maps->dev, nufft, opts->traj, opts->weights, s->factors, T);
}

static larmor_status make_normal(subspace_sense *s, const larmor_problem *p, const larmor_sense_opts *opts)
{
    larmor_device *dev = s->maps->dev;
    const int64_t rest = s->coils % s->block;
    const larmor_nufft_opts full = nufft_of(p, opts, s->block), last = nufft_of(p, opts, rest);
    const larmor_shape images = larmor_shape_append(p->image, s->block * s->rank);
    LMR_TRY(op_mixed(s, &full, opts, &s->T));
    if (rest) LMR_TRY(op_mixed(s, &last, opts, &s->rest));
    LMR_TRY(larmor_array_create(dev, p->dtype, images, &s->before));
    LMR_TRY(larmor_array_create(dev, p->dtype, images, &s->after));
    return s->block < s->coils ? larmor_array_create(dev, p->dtype, p->image, &s->sum) : LARMOR_OK;
}

static larmor_status check(const larmor_array *maps, const larmor_array *factors, const larmor_sense_opts *opts)
{
    LMR_REFUSE(!maps || !factors || !opts || !opts->traj, LARMOR_ERR_ARG,
               "subspace: maps, factors and opts.traj are needed");
    const larmor_shape traj = opts->traj->shape;
    const int64_t rank = factors->shape.ndim > 0 ? factors->shape.dim[factors->shape.ndim - 1] : 0;
    LMR_REFUSE(rank < 1 || rank > LMR_CONV_MOST_MIXED, LARMOR_ERR_ARG,
               "subspace: %lld coefficients, expected 1 to %d", (long long)rank, LMR_CONV_MOST_MIXED);
    LMR_REFUSE(traj.ndim < 2 || traj.ndim >= LARMOR_MAX_DIMS || maps->shape.ndim != traj.dim[0] + 1, LARMOR_ERR_SHAPE,
               "subspace: maps are %s, expected [image..., coils] for the trajectory %s", lmr_describe(maps).s,
               lmr_describe(opts->traj).s);
    return lmr_expect("subspace", "array of factors", factors, maps->dev, factors->dtype,
                      larmor_shape_append(lmr_weights_shape(opts->traj), rank));
}

larmor_status larmor_op_subspace_sense(larmor_array *maps, const larmor_array *factors, const larmor_sense_opts *opts,
                                       larmor_op **A)
{
    static const larmor_op_impl plain = {"subspace sense", forward, adjoint, NULL, destroy};
    static const larmor_op_impl quick = {"subspace sense", forward, adjoint, normal, destroy};
    LMR_REFUSE(!A, LARMOR_ERR_ARG, "larmor_op_subspace_sense: A is NULL");
    *A = NULL;
    LMR_TRY(check(maps, factors, opts));
    LMR_REFUSE(opts->displacement, LARMOR_ERR_UNSUPPORTED, "subspace sense: not with a displacement");
    const larmor_sense_opts one = without_toeplitz(opts);
    const larmor_shape shape = factors->shape;
    const int ndim = maps->shape.ndim - 1;
    larmor_problem p = {.image = larmor_shape_of(ndim, maps->shape.dim),
                        .samples = larmor_array_count(opts->traj) / ndim,
                        .coils = maps->shape.dim[ndim],
                        .dtype = maps->dtype,
                        .weighted = opts->weights != NULL};
    LMR_MAKE(subspace_sense, s, destroy);
    int toeplitz;
    s->maps = larmor_array_ref(maps);
    s->factors = larmor_array_ref(factors);
    s->rank = shape.dim[shape.ndim - 1];
    s->coils = p.coils;
    s->voxels = larmor_shape_count(p.image);
    s->samples = p.samples;
    s->block = block_of(&p, opts);
    LMR_TRY(choose_toeplitz(maps->dev, &p, opts, s->rank, lmr_is_complex(factors->dtype), &toeplitz));
    if (toeplitz) LMR_TRY(make_normal(s, &p, opts)); /* first, as making it takes memory that is free again after */
    LMR_TRY(larmor_op_sense(maps, &one, &s->A));
    LMR_TRY(larmor_array_create(maps->dev, maps->dtype, LARMOR_SHAPE(p.samples), &s->column));
    LMR_TRY(larmor_array_create(maps->dev, maps->dtype, larmor_op_out_shape(s->A), &s->more));
    return lmr_hand_on(&s_made,
                       larmor_op_create(maps->dev, toeplitz ? &quick : &plain, s, maps->dtype,
                                        larmor_shape_append(p.image, s->rank), larmor_op_out_shape(s->A), A));
}

int larmor_subspace_uses_toeplitz(const larmor_op *A)
{
    const subspace_sense *s = lmr_op_self(A, forward);
    return s && s->T;
}
