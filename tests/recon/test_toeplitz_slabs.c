/* recon/slabs/toeplitz_slabs.c, by mpirun: the convolution in slabs against that of the whole volume.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "core/random.h"
#include "tests/support/ranks.h"

enum { POINTS = 900, BATCH = 2 };

typedef struct scene {
    larmor_nufft_opts opts;
    double k[3 * POINTS], w[POINTS];
    int64_t plane, first, count; /* voxels of a plane; this rank's planes */
    larmor_array *x;             /* the whole volume, the same on all ranks */
} scene;

static larmor_array *upload(const double *values, larmor_shape shape)
{
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, values, &made));
}

static void make_scene(scene *s, larmor_nufft_opts opts)
{
    uint64_t seed = 11;
    *s = (scene){.opts = opts};
    for (int i = 0; i < POINTS; i++) {
        for (int d = 0; d < 3; d++) s->k[3 * i + d] = (double)opts.modes[d] / 2 * test_random(&seed);
        s->w[i] = 1.5 + test_random(&seed);
    }
    s->plane = opts.modes[0] * opts.modes[1];
    assert_ok(larmor_ranks_part(ranks, opts.modes[2], &s->first, &s->count));
    larmor_shape shape = LARMOR_SHAPE(opts.modes[0], opts.modes[1], opts.modes[2]);
    if (opts.batch) shape = larmor_shape_append(shape, opts.batch);
    assert_ok(larmor_array_create(dev, opts.dtype, shape, &s->x));
    assert_ok(lmr_random_fill(s->x, 5));
}

/* Points first .. end - 1. */
static larmor_op *slabs_of(const scene *s, int first, int end, int weighted)
{
    OWNED(larmor_array) *traj = upload(s->k + 3 * first, LARMOR_SHAPE(3, end - first));
    OWNED(larmor_array) *weights = weighted ? upload(s->w + first, LARMOR_SHAPE(end - first)) : NULL;
    return MADE(larmor_op, larmor_op_toeplitz_slabs(dev, ranks, &s->opts, traj, weights, &made));
}

static larmor_op *whole_of(const scene *s, int weighted)
{
    OWNED(larmor_array) *traj = upload(s->k, LARMOR_SHAPE(3, POINTS));
    OWNED(larmor_array) *weights = weighted ? upload(s->w, LARMOR_SHAPE(POINTS)) : NULL;
    return MADE(larmor_op, larmor_op_toeplitz(dev, &s->opts, traj, weights, &made));
}

/* to [planes of the slab, batch] <- from [planes, batch], in doubles */
static void cut(const scene *s, const double *from, double *to)
{
    const int64_t batch = s->opts.batch ? s->opts.batch : 1;
    const int64_t size = 2 * s->plane;
    for (int64_t b = 0; b < batch; b++)
        memcpy(to + b * s->count * size, from + (b * s->opts.modes[2] + s->first) * size,
               (size_t)(s->count * size) * sizeof *to);
}

static double *apply_whole(const scene *s, larmor_op *N)
{
    OWN(larmor_array, *y, larmor_array_create(dev, s->opts.dtype, larmor_array_shape(s->x), &y));
    assert_ok(larmor_op_forward(N, s->x, y));
    return MADE(double, larmor_array_download(y, LARMOR_C128, &made));
}

static double *apply_slab(const scene *s, larmor_op *N)
{
    OWNED(larmor_array) *x, *y;
    const larmor_shape shape = larmor_op_in_shape(N);
    HEAP NEW(double, part, (size_t)larmor_shape_count(shape) * 2);
    OWN_MEMORY(double, *all, larmor_array_download(s->x, LARMOR_C128, &all));
    cut(s, all, part);
    assert_ok(larmor_array_upload(dev, s->opts.dtype, shape, LARMOR_C128, part, &x));
    assert_ok(larmor_array_create(dev, s->opts.dtype, shape, &y));
    assert_ok(larmor_op_forward(N, x, y));
    return MADE(double, larmor_array_download(y, LARMOR_C128, &made));
}

/* The slab of the whole's result, to a tolerance that is relative to the whole; and the same bits again. */
static void expect_whole(const scene *s, larmor_op *N, int weighted, double tol)
{
    const int64_t count = 2 * larmor_shape_count(larmor_op_in_shape(N)), all = 2 * larmor_array_count(s->x);
    OWNED(larmor_op) *whole = whole_of(s, weighted);
    HEAP double *expected = apply_whole(s, whole), *got = apply_slab(s, N), *again = apply_slab(s, N);
    double error = 0, size = 0;
    HEAP NEW(double, slab, count);
    cut(s, expected, slab);
    for (int64_t i = 0; i < all; i++) size += expected[i] * expected[i];
    for (int64_t i = 0; i < count; i++) error += (got[i] - slab[i]) * (got[i] - slab[i]);
    assert_at_most(error, tol * tol * size);
    assert_true(size > 0);
    assert_memory_equal(got, again, (size_t)count * sizeof *got);
}

/* The points of this rank. */
static void share(int *first, int *end)
{
    const int count = larmor_ranks_count(ranks), number = larmor_ranks_number(ranks);
    *first = number * POINTS / count;
    *end = (number + 1) * POINTS / count;
}

TEST(slabs_convolve_as_the_whole_does)
{
    const struct {
        larmor_nufft_opts opts;
        int weighted;
        double tol;
    } cases[] = {
        {{.ndim = 3, .modes = {12, 9, 14}, .tol = 1e-5, .dtype = LARMOR_C64}, 1, 3e-6},
        {{.ndim = 3, .modes = {5, 16, 11}, .tol = 1e-5, .dtype = LARMOR_C64, .batch = BATCH}, 0, 3e-6},
        {{.ndim = 3, .modes = {8, 8, 10}, .tol = 1e-9, .dtype = LARMOR_C128, .sign = 1}, 1, 1e-9},
        {{.ndim = 3, .modes = {40, 70, 1}, .tol = 1e-5, .dtype = LARMOR_C64}, 1, 3e-6}, /* ranks without a plane */
    };
    int first, end;
    share(&first, &end);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s;
        make_scene(&s, cases[i].opts);
        OWNED(larmor_op) *N = slabs_of(&s, first, end, cases[i].weighted);
        expect_whole(&s, N, cases[i].weighted, cases[i].tol);
        LMR_FREE(s.x);
    }
}

TEST(all_points_may_be_on_one_rank)
{
    scene s;
    make_scene(&s, (larmor_nufft_opts){.ndim = 3, .modes = {9, 8, 7}, .tol = 1e-5, .dtype = LARMOR_C64});
    const int is_last = larmor_ranks_number(ranks) == larmor_ranks_count(ranks) - 1;
    OWNED(larmor_op) *N = slabs_of(&s, 0, is_last ? POINTS : 0, 1);
    expect_whole(&s, N, 1, 3e-6);
    LMR_FREE(s.x);
}

TEST(parts_follow_each_other)
{
    int64_t first, count;
    assert_ok(larmor_ranks_part(NULL, 7, &first, &count));
    assert_true(first == 0 && count == 7);
    assert_ok(larmor_ranks_part(ranks, 7, &first, &count));
    const int n = larmor_ranks_count(ranks), i = larmor_ranks_number(ranks);
    assert_true(first == i * 7 / n && count == (i + 1) * 7 / n - first);
    assert_refused(larmor_ranks_part(ranks, -1, &first, &count), LARMOR_ERR_ARG, "a part of -1");
}

/* Of the last rank alone, but all are told. */
TEST(what_one_rank_cannot_do_all_refuse_with_its_message)
{
    const int n = larmor_ranks_count(ranks), i = larmor_ranks_number(ranks);
    const larmor_nufft_opts opts = {.ndim = i == n - 1 ? 2 : 3, .modes = {8, 8, 8}, .tol = 1e-5};
    const double k[3] = {0, 0, 0};
    char message[64];
    OWNED(larmor_array) *traj = upload(k, LARMOR_SHAPE(3, 1));
    snprintf(message, sizeof message, "rank %d: toeplitz: slabs: got ndim 2", n - 1);
    assert_none_made(larmor_op, larmor_op_toeplitz_slabs(dev, ranks, &opts, traj, NULL, &made),
                     i ? LARMOR_STOPPED : LARMOR_ERR_ARG, message);
}

int main(void)
{
    if (open_ranks()) return 1;
    return close_ranks(run_claims(NULL, NULL));
}
