/* Coils mixed by a matrix for each place along readouts, in images and in k-space. SPDX-License-Identifier:
 * Apache-2.0
 *
 * Lines are taken by blocks. Those of a block lie one beside the other, [lines, places, coils], so that what
 * belongs to a place is a matrix, and all that is done are transforms, moves and products of matrices. */
#include "recon/compress/compress_along_readout.h"

#include "core/core.h"
#include "recon/inputs.h"
#include "recon/kernels.h"

#define POSITION_TOLERANCE 1e-3 /* of the distance between samples; not measured */
enum { AT_A_TIME = 1 << 17 };

/* Numbers of one coil that go elsewhere. */
typedef struct route {
    larmor_array *index, *factor;
} route;

LMR_FREES(route_free, route, index, factor)

/* index[i] < 0: a zero goes there. */
static larmor_status route_create(larmor_device *dev, int64_t count, int64_t *index, double *factor, route *r)
{
    for (int64_t i = 0; i < count; i++) {
        factor[i] = index[i] < 0 ? 0 : 1;
        if (index[i] < 0) index[i] = 0;
    }
    LMR_TRY(larmor_array_upload(dev, LARMOR_I64, LARMOR_SHAPE(count), LARMOR_I64, index, &r->index));
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(count), LARMOR_F64, factor, &r->factor);
}

/* to <- the numbers of one coil, which are `numbers` ones. */
static larmor_status go(const route *r, const larmor_array *like, int64_t numbers, const void *from, void *to)
{
    const lmr_recon_kernels *kernels;
    LMR_TRY(lmr_recon_kernels_of(like->dev, like->dtype, &kernels));
    return kernels->gather(like->dev->ctx, numbers, larmor_array_count(r->index), 1, r->index->data, r->factor->data,
                           from, to);
}

/* Lines [samples, lines, ...] of which each sample is at a place; NULL: sample i at place i. */
typedef struct lines {
    int64_t samples, lines, places;
    const int64_t *place; /* [samples, lines] */
} lines;

/* A block of `count` lines: to the grid [places, count], across [count, places], back, and to the samples. */
typedef struct block {
    int64_t count;
    route in, across, back, out;
    larmor_op *fft;                               /* or NULL */
    larmor_array *line, *transformed, *from, *to; /* [places, count] twice; [count, places, coils] of both kinds */
} block;

static void block_free(block *b)
{
    route_free(&b->in);
    route_free(&b->across);
    route_free(&b->back);
    route_free(&b->out);
    LMR_FREE(b->fft, b->line, b->transformed, b->from, b->to);
    *b = (block){0};
}

static larmor_status find_routes(larmor_device *dev, const lines *l, int64_t first, block *b)
{
    const int64_t n = l->places, whole = n * b->count, kept = l->samples * b->count;
    const int64_t most = whole > kept ? whole : kept;
    LMR_HEAP int64_t *index = lmr_new(2 * most, sizeof *index);
    int64_t *place = index + most;
    LMR_HEAP double *factor = lmr_new(most, sizeof *factor);
    if (!index || !factor) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < kept; i++) {
        const int64_t at = l->place ? l->place[i + first * l->samples] : i % l->samples;
        place[i] = i / l->samples * n + at;
    }
    for (int64_t i = 0; i < whole; i++) index[i] = -1;
    for (int64_t i = 0; i < kept; i++) index[place[i]] = i;
    LMR_TRY(route_create(dev, whole, index, factor, &b->in));
    for (int64_t i = 0; i < whole; i++) index[i] = i / b->count + n * (i % b->count);
    LMR_TRY(route_create(dev, whole, index, factor, &b->across));
    for (int64_t i = 0; i < whole; i++) index[i] = i / n + b->count * (i % n);
    LMR_TRY(route_create(dev, whole, index, factor, &b->back));
    return route_create(dev, kept, place, factor, &b->out);
}

static larmor_status block_create(const larmor_array *M, const larmor_array *x, const lines *l, int64_t first,
                                  int64_t count, int transforms, block *b)
{
    const larmor_fft_opts centred = {.centred = 1, .unitary = 1};
    const larmor_shape grid = LARMOR_SHAPE(l->places, count);
    *b = (block){.count = count};
    LMR_TRY(find_routes(x->dev, l, first, b));
    if (transforms) LMR_TRY(larmor_op_fft(x->dev, x->dtype, grid, 1, &centred, &b->fft));
    LMR_TRY(larmor_array_create(x->dev, x->dtype, grid, &b->line));
    LMR_TRY(larmor_array_create(x->dev, x->dtype, grid, &b->transformed));
    LMR_TRY(larmor_array_create(x->dev, x->dtype, LARMOR_SHAPE(count, l->places, M->shape.dim[1]), &b->from));
    return larmor_array_create(x->dev, x->dtype, LARMOR_SHAPE(count, l->places, M->shape.dim[0]), &b->to);
}

/* to <- M from, place by place. */
static larmor_status mix_block(const larmor_array *M, const block *b)
{
    const int64_t rows = M->shape.dim[0], columns = M->shape.dim[1], stride = b->count * M->shape.dim[2];
    const size_t size = larmor_dtype_size(M->dtype);
    for (int64_t p = 0; p < M->shape.dim[2]; p++) {
        const size_t at = (size_t)(b->count * p) * size;
        const char *matrix = (const char *)M->data + (size_t)(rows * columns * p) * size;
        LMR_TRY(lmr_la_of(M)->gemm(M->dev->ctx, 'N', 'T', b->count, rows, columns, (const char *)b->from->data + at,
                                   stride, matrix, rows, (char *)b->to->data + at, stride));
    }
    return LARMOR_OK;
}

/* Lines first and the following of x to y. */
static larmor_status do_block(const larmor_array *M, const larmor_array *x, const lines *l, int64_t first,
                              const block *b, larmor_array *y)
{
    const size_t size = larmor_dtype_size(x->dtype);
    const int64_t coil = l->samples * l->lines, grid = l->places * b->count, kept = l->samples * b->count;
    for (int64_t c = 0; c < M->shape.dim[1]; c++) {
        const char *from = (const char *)x->data + (size_t)(coil * c + l->samples * first) * size;
        char *to = (char *)b->from->data + (size_t)(grid * c) * size;
        LMR_TRY(go(&b->in, x, kept, from, b->line->data));
        if (b->fft) LMR_TRY(larmor_op_adjoint(b->fft, b->line, b->transformed));
        LMR_TRY(go(&b->across, x, grid, b->fft ? b->transformed->data : b->line->data, to));
    }
    LMR_TRY(mix_block(M, b));
    for (int64_t c = 0; c < M->shape.dim[0]; c++) {
        const char *from = (const char *)b->to->data + (size_t)(grid * c) * size;
        char *to = (char *)y->data + (size_t)(coil * c + l->samples * first) * size;
        LMR_TRY(go(&b->back, x, grid, from, b->line->data));
        if (b->fft) LMR_TRY(larmor_op_forward(b->fft, b->line, b->transformed));
        LMR_TRY(go(&b->out, x, grid, b->fft ? b->transformed->data : b->line->data, to));
    }
    return LARMOR_OK;
}

/* y [..., rows] <- M x, all lines of x. */
static larmor_status mix_lines(const larmor_array *M, const larmor_array *x, const lines *l, int transforms,
                               larmor_array **y)
{
    const int64_t fits = AT_A_TIME / l->places;
    const int64_t most = fits < 1 ? 1 : fits;
    larmor_shape shape = x->shape;
    shape.dim[shape.ndim - 1] = M->shape.dim[0];
    LMR_OWN(larmor_array, matrix, larmor_array_convert(M, x->dtype, &matrix));
    LMR_OWN(larmor_array, mixed, larmor_array_create(x->dev, x->dtype, shape, &mixed));
    for (int64_t first = 0; first < l->lines; first += most) {
        const int64_t count = l->lines - first < most ? l->lines - first : most;
        LMR_FREED_BY(block_free) block b = {0};
        LMR_TRY(lmr_go_on());
        LMR_TRY(block_create(matrix, x, l, first, count, transforms, &b));
        LMR_TRY(do_block(matrix, x, l, first, &b, mixed));
    }
    return LMR_HAND_ON(*y, mixed);
}

larmor_status lmr_mix_places(const larmor_array *M, const larmor_array *x, larmor_array **y)
{
    const int64_t n = M->shape.dim[2];
    const lines l = {n, larmor_array_count(x) / (n * x->shape.dim[x->shape.ndim - 1]), n, NULL};
    return mix_lines(M, x, &l, 0, y);
}

/* place [samples, readouts] <- where each sample is on the transform's grid of n places. */
static larmor_status find_places(const double *k, int64_t nd, int64_t samples, int64_t readouts, int64_t n,
                                 int64_t *place)
{
    LMR_HEAP LMR_NEW_ZEROS(int64_t, taken, n);
    for (int64_t i = 0; i < samples * readouts; i++) {
        const double x = k[nd * i], whole = nearbyint(x);
        const int64_t readout = i / samples;
        if (!(fabs(x) < 0x1p40) || !(fabs(x - whole) <= POSITION_TOLERANCE)) {
            return LMR_FAIL(LARMOR_ERR_ARG, "compression: readout %lld has a sample at %g, expected whole numbers",
                            (long long)readout, x);
            break;
        }
        place[i] = ((int64_t)whole % n + n + n / 2) % n;
        LMR_REFUSE(taken[place[i]] == readout + 1, LARMOR_ERR_ARG,
                   "compression: readout %lld has two samples at one of %lld places", (long long)readout,
                   (long long)n);
        taken[place[i]] = readout + 1;
    }
    return LARMOR_OK;
}

static larmor_status check(const larmor_array *C, const larmor_array *kspace, const larmor_array *traj)
{
    LMR_REFUSE(!C || !lmr_is_complex(C->dtype) || C->shape.ndim != 3, LARMOR_ERR_SHAPE,
               "compression: C is %s, expected complex [virtual coils, coils, places]",
               C ? lmr_describe(C).s : "missing");
    LMR_REFUSE(!kspace || !lmr_is_complex(kspace->dtype) || kspace->dev != C->dev || kspace->shape.ndim != 3 ||
                   kspace->shape.dim[2] != C->shape.dim[1],
               LARMOR_ERR_SHAPE, "compression: k-space is %s, expected complex [samples, readouts, %lld]",
               kspace ? lmr_describe(kspace).s : "missing", (long long)C->shape.dim[1]);
    LMR_REFUSE(!traj || !lmr_is_real(traj->dtype) || traj->shape.ndim != 3 || traj->shape.dim[0] < 1 ||
                   traj->shape.dim[1] != kspace->shape.dim[0] || traj->shape.dim[2] != kspace->shape.dim[1],
               LARMOR_ERR_SHAPE, "compression: trajectory is %s, expected real [nd, samples, readouts]",
               traj ? lmr_describe(traj).s : "missing");
    return LARMOR_OK;
}

larmor_status larmor_compress_readouts(const larmor_array *C, const larmor_array *kspace, const larmor_array *traj,
                                       larmor_array **y)
{
    LMR_NEED_OUT(y);
    LMR_TRY(check(C, kspace, traj));
    lines l = {kspace->shape.dim[0], kspace->shape.dim[1], C->shape.dim[2], NULL};
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_HEAP LMR_NEW(int64_t, place, l.samples * l.lines);
    LMR_TRY(find_places(k, traj->shape.dim[0], l.samples, l.lines, l.places, place));
    l.place = place;
    return mix_lines(C, kspace, &l, 1, y);
}
