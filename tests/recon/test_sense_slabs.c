/* recon/slabs/nufft_slabs.c, recon/slabs/sense_slabs.c and larmor_ranks_sum_over, by mpirun: what ranks have
 * together against the whole on one. SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "core/device.h"
#include "core/random.h"
#include "tests/support/ranks.h"

enum { NX = 11, NY = 12, NZ = 13, COILS = 3, POINTS = 4000 };

/* The whole on a device of its own, and this rank's part on dev. */
typedef struct scene {
    larmor_device *alone;
    larmor_array *traj[2], *maps[2], *image[2], *samples[2]; /* 0: whole; samples: [points, coils] */
    int64_t first, planes, point, points;                    /* of this rank */
} scene;

/* Numbers first .. first + count - 1 of the last but one dimension of x, of each index of the last. */
static larmor_array *part_of(const larmor_array *x, int64_t before, int64_t all, int64_t first, int64_t count,
                             larmor_shape shape)
{
    const int64_t last = larmor_array_count(x) / (before * all);
    HEAP double *values, *part = malloc((size_t)(2 * before * count * last + 1) * sizeof *part);
    assert_non_null(part);
    assert_ok(larmor_array_download(x, LARMOR_C128, &values));
    for (int64_t i = 0; i < last; i++)
        memcpy(part + 2 * i * before * count, values + 2 * before * (i * all + first),
               (size_t)(2 * before * count) * sizeof *part);
    return MADE(larmor_array, larmor_array_upload(dev, larmor_array_dtype(x), shape, LARMOR_C128, part, &made));
}

static larmor_array *random_array(larmor_device *on, larmor_shape shape, uint64_t seed)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(on, LARMOR_C128, shape, &made));
    assert_ok(lmr_random_fill(x, seed));
    return x;
}

static scene make_scene(void)
{
    static double k[3 * POINTS];
    const double n[3] = {NX, NY, NZ};
    uint64_t seed = 5;
    scene s;
    for (int i = 0; i < 3 * POINTS; i++) k[i] = n[i % 3] / 2 * test_random(&seed);
    assert_ok(larmor_device_open("cpu:1", &s.alone));
    assert_ok(larmor_ranks_part(ranks, NZ, &s.first, &s.planes));
    assert_ok(larmor_ranks_part(ranks, POINTS, &s.point, &s.points));
    assert_ok(larmor_array_upload(s.alone, LARMOR_F64, LARMOR_SHAPE(3, POINTS), LARMOR_F64, k, &s.traj[0]));
    assert_ok(
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, s.points), LARMOR_F64, k + 3 * s.point, &s.traj[1]));
    s.maps[0] = random_array(s.alone, LARMOR_SHAPE(NX, NY, NZ, COILS), 3);
    s.image[0] = random_array(s.alone, LARMOR_SHAPE(NX, NY, NZ), 4);
    s.samples[0] = random_array(s.alone, LARMOR_SHAPE(POINTS, COILS), 5);
    s.maps[1] = part_of(s.maps[0], NX * NY, NZ, s.first, s.planes, LARMOR_SHAPE(NX, NY, s.planes, COILS));
    s.image[1] = part_of(s.image[0], NX * NY, NZ, s.first, s.planes, LARMOR_SHAPE(NX, NY, s.planes));
    s.samples[1] = part_of(s.samples[0], 1, POINTS, s.point, s.points, LARMOR_SHAPE(s.points, COILS));
    return s;
}

static void end_scene(scene *s)
{
    for (int i = 0; i < 2; i++) LMR_FREE(s->traj[i], s->maps[i], s->image[i], s->samples[i]);
    larmor_device_free(s->alone);
}

static larmor_array *like(const larmor_array *x)
{
    return MADE(larmor_array,
                larmor_array_create(larmor_array_device(x), larmor_array_dtype(x), larmor_array_shape(x), &made));
}

/* got is this rank's part of expected, to a tolerance relative to the whole. */
static void expect_part(const larmor_array *expected, int64_t before, int64_t all, int64_t first, int64_t count,
                        const larmor_array *got, double tol)
{
    double size, error;
    OWNED(larmor_array) *part = part_of(expected, before, all, first, count, larmor_array_shape(got));
    assert_ok(larmor_nrm2(expected, &size));
    assert_ok(larmor_axpby(-1, got, 1, part));
    assert_ok(larmor_nrm2(part, &error));
    assert_true(size > 0);
    assert_at_most(error, tol * size);
}

static void expect_planes(const scene *s, const larmor_array *expected, const larmor_array *got, double tol)
{
    expect_part(expected, NX * NY, NZ, s->first, s->planes, got, tol);
}

static void expect_samples(const scene *s, const larmor_array *expected, const larmor_array *got, double tol)
{
    expect_part(expected, 1, POINTS, s->point, s->points, got, tol);
}

/* A [image] to [samples, coils], whole and in slabs, both ways. */
static void expect_same_maps(const scene *s, larmor_op *const A[2], larmor_array *const x[2],
                             larmor_array *const y[2], double tol)
{
    larmor_array *forward[2], *adjoint[2];
    for (int i = 0; i < 2; i++) {
        forward[i] = like(y[i]);
        adjoint[i] = like(x[i]);
        assert_ok(larmor_op_forward(A[i], x[i], forward[i]));
        assert_ok(larmor_op_adjoint(A[i], y[i], adjoint[i]));
    }
    expect_samples(s, forward[0], forward[1], tol);
    expect_planes(s, adjoint[0], adjoint[1], tol);
    for (int i = 0; i < 2; i++) LMR_FREE(forward[i], adjoint[i]);
}

TEST(a_nufft_in_slabs_is_that_of_the_whole)
{
    OWNED(scene) s = make_scene();
    const larmor_nufft_opts opts = {
        .type = 2, .ndim = 3, .modes = {NX, NY, NZ}, .batch = COILS, .tol = 1e-9, .dtype = LARMOR_C128};
    for (int sign = -1; sign < 2; sign += 2) {
        larmor_nufft_opts signed_opts = opts;
        larmor_op *F[2];
        signed_opts.sign = sign;
        assert_ok(larmor_op_nufft(s.alone, &signed_opts, s.traj[0], &F[0]));
        assert_ok(larmor_op_nufft_slabs(dev, ranks, &signed_opts, s.traj[1], &F[1]));
        expect_same_maps(&s, F, s.maps, s.samples, 1e-8);
        LMR_FREE(F[0], F[1]);
    }
}

TEST(all_points_may_be_on_one_rank)
{
    OWNED(scene) s = make_scene();
    const int is_last = larmor_ranks_number(ranks) == larmor_ranks_count(ranks) - 1;
    const larmor_nufft_opts opts = {.type = 2, .ndim = 3, .modes = {NX, NY, NZ}, .tol = 1e-9, .dtype = LARMOR_C128};
    larmor_array *traj, *y[2];
    larmor_op *F[2];
    s.point = 0;
    s.points = is_last ? POINTS : 0;
    assert_ok(larmor_array_to(s.traj[0], dev, &traj));
    OWN(larmor_array, *own, larmor_array_slice(traj, 0, s.points, &own));
    y[0] = random_array(s.alone, LARMOR_SHAPE(POINTS), 6);
    y[1] = part_of(y[0], 1, POINTS, 0, s.points, LARMOR_SHAPE(s.points));
    assert_ok(larmor_op_nufft(s.alone, &opts, s.traj[0], &F[0]));
    assert_ok(larmor_op_nufft_slabs(dev, ranks, &opts, own, &F[1]));
    expect_same_maps(&s, F, s.image, y, 1e-8);
    for (int i = 0; i < 2; i++) LMR_FREE(F[i], y[i]);
    larmor_array_free(traj);
}

/* toeplitz: of those in slabs. */
static void make_sense(const scene *s, int toeplitz, larmor_op *A[2])
{
    larmor_sense_opts opts = {.traj = s->traj[0], .nufft_tol = 1e-9, .toeplitz = -1};
    assert_ok(larmor_op_sense(s->maps[0], &opts, &A[0]));
    opts.traj = s->traj[1];
    opts.toeplitz = toeplitz;
    assert_ok(larmor_op_sense_slabs(ranks, s->maps[1], NZ, &opts, &A[1]));
}

TEST(sense_in_slabs_is_that_of_the_whole)
{
    OWNED(scene) s = make_scene();
    for (int toeplitz = -1; toeplitz < 2; toeplitz += 2) {
        larmor_op *A[2];
        larmor_array *z[2];
        make_sense(&s, toeplitz, A);
        expect_same_maps(&s, A, s.image, s.samples, 1e-8);
        for (int i = 0; i < 2; i++) {
            z[i] = like(s.image[i]);
            assert_ok(larmor_op_normal(A[i], s.image[i], z[i]));
        }
        expect_planes(&s, z[0], z[1], 1e-8);
        for (int i = 0; i < 2; i++) LMR_FREE(z[i], A[i]);
    }
}

TEST(sums_and_random_numbers_are_those_of_the_whole)
{
    OWNED(scene) s = make_scene();
    double whole, parts, product[2], of_parts[2], apart[3], near[3];
    OWNED(larmor_array) *x = like(s.image[1]), *y = like(s.image[0]);
    assert_ok(larmor_ranks_sum_over(dev, ranks));
    assert_ok(lmr_random_fill(x, 4));
    assert_ok(larmor_nrm2(s.image[1], &parts));
    assert_ok(larmor_dot(x, s.image[1], of_parts));
    assert_ok(larmor_axpby(0.5, x, 0, x));
    assert_ok(larmor_distance(s.image[1], x, near));
    assert_ok(larmor_ranks_sum_over(dev, NULL));
    assert_ok(larmor_nrm2(s.image[0], &whole));
    assert_ok(larmor_dot(s.image[0], s.image[0], product));
    assert_ok(larmor_axpby(0.5, s.image[0], 0, y));
    assert_ok(larmor_distance(s.image[0], y, apart));
    for (int i = 0; i < 3; i++) assert_at_most(fabs(near[i] - apart[i]), 1e-13 * apart[i]);
    assert_at_most(fabs(parts - whole), 1e-13 * whole);
    assert_at_most(fabs(of_parts[0] - product[0]), 1e-13 * product[0]);
    expect_planes(&s, y, x, 0);
}

TEST(solvers_in_slabs_find_the_solution_of_the_whole)
{
    OWNED(scene) s = make_scene();
    larmor_op *A[2];
    larmor_array *x[2];
    larmor_report report[2];
    double largest[2];
    make_sense(&s, 1, A);
    for (int i = 0; i < 2; i++) {
        x[i] = like(s.image[i]);
        assert_ok(larmor_zero(x[i]));
        if (i) assert_ok(larmor_ranks_sum_over(dev, ranks));
        assert_ok(larmor_opnorm(A[i], 6, &largest[i]));
        const larmor_solve_opts opts = {.max_iter = 40, .tol = 1e-9, .lambda = 0.01 * largest[0]};
        assert_ok(larmor_cg(A[i], s.samples[i], x[i], &opts, &report[i]));
    }
    assert_ok(larmor_ranks_sum_over(dev, NULL));
    assert_at_most(fabs(largest[1] - largest[0]), 1e-8 * largest[0]);
    expect_planes(&s, x[0], x[1], 1e-7);
    for (int i = 0; i < 2; i++) LMR_FREE(x[i], A[i]);
}

/* Of the last rank alone, but all are told. */
TEST(what_one_rank_cannot_do_all_refuse_with_its_message)
{
    OWNED(scene) s = make_scene();
    const int n = larmor_ranks_count(ranks), i = larmor_ranks_number(ranks);
    char message[64];
    double size;
    const larmor_sense_opts opts = {.traj = s.traj[1], .weights = i == n - 1 ? s.traj[1] : NULL};
    snprintf(message, sizeof message, "rank %d: toeplitz: weight array", n - 1);
    assert_none_made(larmor_op, larmor_op_sense_slabs(ranks, s.maps[1], NZ, &opts, &made),
                     i ? LARMOR_STOPPED : LARMOR_ERR_SHAPE, message);
    /* where one rank is not well in the place of a sum, and of an operator */
    const larmor_nufft_opts nufft = {.type = 2, .ndim = 3, .modes = {NX, NY, NZ}, .tol = 1e-5, .dtype = LARMOR_C128};
    OWN(larmor_op, *F, larmor_op_nufft_slabs(dev, ranks, &nufft, s.traj[1], &F));
    OWN(larmor_array, *y, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(s.points), &y));
    assert_ok(larmor_ranks_sum_over(dev, ranks));
    for (int k = 0; k < 2; k++) {
        larmor_status st;
        if (i == n - 1)
            st = larmor_ranks_agree(ranks, larmor_fail(LARMOR_ERR_NUMERIC, "not well"), NULL);
        else
            st = k ? larmor_op_forward(F, s.image[1], y) : larmor_nrm2(s.image[1], &size);
        snprintf(message, sizeof message, "rank %d: not well", n - 1);
        assert_refused(st, i ? LARMOR_STOPPED : LARMOR_ERR_NUMERIC, message);
    }
    assert_ok(larmor_ranks_sum_over(dev, NULL));
}

int main(void)
{
    if (open_ranks()) return 1;
    return close_ranks(run_claims(NULL, NULL));
}
