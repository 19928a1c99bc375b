/* recon/ops/sense.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { SAMPLES = 6, READOUTS = 5, M = SAMPLES * READOUTS, COILS = 3 };

typedef struct scan {
    larmor_shape image, maps_shape, kspace_shape;
    int64_t voxels;
    cplx *maps;
    double *k, weights[M];
    larmor_array *maps_array, *traj, *weights_array;
    larmor_op *A;
} scan;

static scan random_scan(larmor_dtype dtype, larmor_shape image, double tol)
{
    scan s = {.image = image, .voxels = larmor_shape_count(image)};
    s.maps_shape = larmor_shape_append(image, COILS);
    s.kspace_shape = LARMOR_SHAPE(SAMPLES, READOUTS, COILS);
    s.maps = random_values(s.voxels * COILS, 1);
    s.k = random_points(image, M, 2);
    uint64_t seed = 3;
    for (int j = 0; j < M; j++) s.weights[j] = j == 7 ? 0 : 1 + test_random(&seed);
    s.maps_array = complex_array(dtype, s.maps_shape, s.maps);
    s.traj = real_array(LARMOR_SHAPE(image.ndim, SAMPLES, READOUTS), s.k);
    s.weights_array = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), s.weights);
    const larmor_sense_opts opts = {.traj = s.traj, .weights = s.weights_array, .nufft_tol = tol};
    assert_ok(larmor_op_sense(s.maps_array, &opts, &s.A));
    return s;
}

static void free_scan(scan *s)
{
    larmor_op_free(s->A);
    larmor_array_free(s->maps_array);
    larmor_array_free(s->traj);
    larmor_array_free(s->weights_array);
    free(s->maps);
    free(s->k);
}

static void expect_direct_sum(larmor_shape image)
{
    scan s = random_scan(LARMOR_C128, image, 1e-10);
    cplx *x = random_values(s.voxels, 4), *seen = malloc((size_t)s.voxels * sizeof *seen), expected[M * COILS];
    for (int c = 0; c < COILS; c++) {
        for (int64_t i = 0; i < s.voxels; i++) seen[i] = s.maps[i + s.voxels * c] * x[i];
        direct_forward(seen, image, s.k, M, expected + M * c);
        for (int j = 0; j < M; j++) expected[j + M * c] *= sqrt(s.weights[j]);
    }
    larmor_array *in = complex_array(LARMOR_C128, image, x), *out = zeros(LARMOR_C128, s.kspace_shape);
    assert_ok(larmor_op_forward(s.A, in, out));
    cplx *got = values_of(out);
    assert_at_most(difference(got, expected, M * COILS), 2e-10);
    free(got);
    free(seen);
    free(x);
    larmor_array_free(out);
    larmor_array_free(in);
    free_scan(&s);
}

static void it_is_the_weighted_fourier_sum_of_the_coil_images_in_2d(void **state)
{
    (void)state;
    expect_direct_sum(LARMOR_SHAPE(10, 7));
}

static void it_is_the_weighted_fourier_sum_of_the_coil_images_in_3d(void **state)
{
    (void)state;
    expect_direct_sum(LARMOR_SHAPE(6, 5, 8));
}

static void the_adjoint_is_exact(void **state)
{
    (void)state;
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    const double limit[] = {1e-6, 1e-14};
    for (int i = 0; i < 2; i++) {
        scan s = random_scan(dtype[i], LARMOR_SHAPE(10, 7), i ? 1e-10 : 1e-4);
        double error;
        assert_ok(larmor_op_adjoint_error(s.A, 5, &error));
        assert_at_most(error, limit[i]);
        free_scan(&s);
    }
}

static larmor_op *sense_of(const scan *s, int weighted, double tol, int64_t block, int toeplitz)
{
    larmor_op *A;
    const larmor_sense_opts opts = {.traj = s->traj,
                                    .weights = weighted ? s->weights_array : NULL,
                                    .nufft_tol = tol,
                                    .block = block,
                                    .toeplitz = toeplitz};
    assert_ok(larmor_op_sense(s->maps_array, &opts, &A));
    assert_int_equal(larmor_sense_uses_toeplitz(A), toeplitz > 0);
    return A;
}

static void the_normal_map_is_the_adjoint_after_the_forward_map(void **state)
{
    (void)state;
    for (int c = 0; c < 2 * 2 * 3; c++) { /* for Toeplitz to the tolerance, else to rounding */
        scan s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
        larmor_op *A = sense_of(&s, c % 2, 1e-10, c / 4, c / 2 % 2 ? 1 : -1);
        assert_at_most(normal_apart(A), c / 2 % 2 ? 2e-10 : 1e-14);
        larmor_op_free(A);
        free_scan(&s);
    }
}

static void it_is_the_chain_of_a_nufft_with_a_toeplitz_normal_map_and_the_coils(void **state)
{
    (void)state;
    scan s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
    const larmor_nufft_opts nufft = {.ndim = 2, .modes = {10, 7}, .batch = COILS, .tol = 1e-10, .dtype = LARMOR_C128};
    larmor_op *F, *T, *FT, *S, *chain, *A[2] = {sense_of(&s, 0, 1e-10, 0, 1), sense_of(&s, 0, 1e-10, 2, -1)};
    assert_ok(larmor_op_nufft(dev, &nufft, s.traj, &F));
    assert_ok(larmor_op_toeplitz(dev, &nufft, s.traj, NULL, &T));
    assert_ok(larmor_op_with_normal(F, T, &FT));
    assert_ok(larmor_op_coils(s.maps_array, &S));
    assert_ok(larmor_op_chain(FT, S, &chain));
    cplx *x = random_values(70, 6);
    larmor_array *in = complex_array(LARMOR_C128, s.image, x), *z = zeros(LARMOR_C128, s.image);
    assert_ok(larmor_op_normal(chain, in, z));
    cplx *expected = values_of(z);
    for (int i = 0; i < 2; i++) {
        assert_ok(larmor_op_normal(A[i], in, z));
        cplx *got = values_of(z);
        assert_at_most(difference(got, expected, 70), i ? 2e-10 : 1e-14);
        free(got);
        larmor_op_free(A[i]);
    }
    assert_int_equal(larmor_sense_uses_toeplitz(chain), 0);
    free(expected);
    free(x);
    larmor_array_free(z);
    larmor_array_free(in);
    larmor_op_free(chain);
    larmor_op_free(S);
    larmor_op_free(FT);
    larmor_op_free(T);
    larmor_op_free(F);
    free_scan(&s);
}

/* Of three trajectories that differ in kz alone: partitions with the same angles, with their own, and none. On a
 * processor the first two go by planes; all are the NUFFT in 3D within the tolerance. */
static void partitions_go_by_planes_and_the_rest_by_the_volume(void **state)
{
    (void)state;
    enum { NZ = 4, SPOKES = 5, ALL = NZ * SPOKES };
    const larmor_shape image = LARMOR_SHAPE(10, 8, NZ);
    const larmor_nufft_opts nufft = {.ndim = 3, .modes = {10, 8, NZ}, .batch = COILS, .dtype = LARMOR_C128};
    cplx *maps = random_values(10 * 8 * NZ * COILS, 1), *values = random_values(10 * 8 * NZ, 2);
    larmor_array *m = complex_array(LARMOR_C128, larmor_shape_append(image, COILS), maps);
    larmor_array *x = complex_array(LARMOR_C128, image, values);
    for (int t = 0; t < 3; t++) {
        double k[ALL][SAMPLES][3];
        for (int j = 0; j < ALL; j++)
            for (int i = 0; i < SAMPLES; i++) {
                const double angle = 1.9 * (j / NZ) + (t ? j % NZ : 0);
                const double r = 8.0 * i / SAMPLES - 4;
                k[j][i][0] = r * cos(angle);
                k[j][i][1] = r * sin(angle);
                k[j][i][2] = j % NZ - NZ / 2 + (t == 2 && j == 7 ? 0.25 : 0);
            }
        larmor_array *traj = real_array(LARMOR_SHAPE(3, SAMPLES, ALL), &k[0][0][0]);
        larmor_op *A, *S, *F[2] = {NULL, NULL}, *chain;
        larmor_array *y = zeros(LARMOR_C128, LARMOR_SHAPE(SAMPLES, ALL, COILS));
        assert_ok(larmor_op_sense(m, &(larmor_sense_opts){.traj = traj, .nufft_tol = 1e-6, .toeplitz = -1}, &A));
        assert_ok(larmor_op_forward(A, x, y));
        cplx *got = values_of(y);
        assert_ok(larmor_op_coils(m, &S));
        larmor_nufft_opts opts = nufft;
        opts.tol = 1e-6;
        assert_ok(larmor_op_nufft(dev, &opts, traj, &F[0]));
        if (t < 2) assert_ok(larmor_op_stack_of_stars(dev, &opts, traj, &F[1]));
        const int is_cpu = !strncmp(larmor_device_spec(dev), "cpu", 3), planes = t < 2 && is_cpu;
        for (int i = 0; i < 2 && F[i]; i++) {
            assert_ok(larmor_op_chain(F[i], S, &chain));
            assert_ok(larmor_op_forward(chain, x, y));
            cplx *expected = values_of(y);
            assert_at_most(difference(got, expected, SAMPLES * ALL * COILS), 2e-6);
            if (is_cpu) /* the same bits say which way was taken */
                assert_int_equal(!memcmp(got, expected, sizeof *got * SAMPLES * ALL * COILS), i == planes);
            free(expected);
            larmor_op_free(chain);
            larmor_op_free(F[i]);
        }
        free(got);
        larmor_op_free(S);
        larmor_op_free(A);
        larmor_array_free(y);
        larmor_array_free(traj);
    }
    larmor_array_free(x);
    larmor_array_free(m);
    free(values);
    free(maps);
}

static void toeplitz_is_chosen_where_it_pays(void **state)
{
    (void)state;
    const struct {
        int64_t side, coils, samples, iters;
        int expected;
    } cases[] = {{32, 4, 40000, 30, 1}, {32, 4, 40000, 0, 1}, {32, 1, 40000, 1, 0}, {128, 2, 50, 30, 0}};
    for (int i = 0; i < 4; i++) {
        const larmor_shape image = LARMOR_SHAPE(cases[i].side, cases[i].side);
        double *k = random_points(image, cases[i].samples, 2);
        larmor_array *traj = real_array(LARMOR_SHAPE(2, cases[i].samples, 1), k);
        larmor_array *maps = zeros(LARMOR_C64, larmor_shape_append(image, cases[i].coils));
        larmor_op *A;
        assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .iters = cases[i].iters}, &A));
        assert_int_equal(larmor_sense_uses_toeplitz(A), cases[i].expected);
        larmor_op_free(A);
        larmor_array_free(maps);
        larmor_array_free(traj);
        free(k);
    }
}

/* With an effort either may win; both are the same map within the tolerance. */
static void what_is_timed_is_adjoint_of_forward_still(void **state)
{
    (void)state;
    const int64_t block[] = {0, 2};
    for (int effort = LARMOR_PLAN_MEASURE; effort <= LARMOR_PLAN_EXHAUSTIVE; effort++)
        for (int i = 0; i < 2; i++)
            for (int toeplitz = -1; toeplitz <= 1; toeplitz++) {
                scan s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
                larmor_op *A;
                const larmor_sense_opts opts = {.traj = s.traj,
                                                .weights = i ? s.weights_array : NULL,
                                                .nufft_tol = 1e-8,
                                                .block = block[i],
                                                .toeplitz = toeplitz,
                                                .effort = (larmor_plan_effort)effort};
                assert_ok(larmor_op_sense(s.maps_array, &opts, &A));
                if (toeplitz) assert_int_equal(larmor_sense_uses_toeplitz(A), toeplitz > 0);
                const larmor_shape image = larmor_op_in_shape(A);
                larmor_array *x = zeros(LARMOR_C128, image), *y = zeros(LARMOR_C128, larmor_op_out_shape(A)),
                             *z = zeros(LARMOR_C128, image), *two = zeros(LARMOR_C128, image);
                assert_ok(larmor_fill(x, 1.5));
                assert_ok(larmor_op_normal(A, x, z));
                assert_ok(larmor_op_forward(A, x, y));
                assert_ok(larmor_op_adjoint(A, y, two));
                double norm, off;
                assert_ok(larmor_nrm2(two, &norm));
                assert_ok(larmor_axpby(-1, two, 1, z));
                assert_ok(larmor_nrm2(z, &off));
                assert_at_most(off, 4e-8 * norm);
                larmor_array_free(x);
                larmor_array_free(y);
                larmor_array_free(z);
                larmor_array_free(two);
                larmor_op_free(A);
                free_scan(&s);
            }
    larmor_wisdom_forget(dev);
}

static void what_may_be_timed_is_in_the_estimate_of_memory(void **state)
{
    (void)state;
    const larmor_problem p = {
        .image = LARMOR_SHAPE(64, 64), .samples = 40000, .coils = 4, .dtype = LARMOR_C64, .weighted = 1};
    larmor_sense_opts opts = {.iters = 30, .toeplitz = -1, .effort = LARMOR_PLAN_MEASURE};
    int64_t pair, on, open;
    assert_ok(larmor_sense_memory(dev, &p, &opts, &pair));
    opts.toeplitz = 1;
    assert_ok(larmor_sense_memory(dev, &p, &opts, &on));
    opts.toeplitz = 0;
    assert_ok(larmor_sense_memory(dev, &p, &opts, &open));
    assert_true(open > on && open > pair); /* both are there at a time */
}

static void without_weights_they_are_one(void **state)
{
    (void)state;
    scan s = random_scan(LARMOR_C128, LARMOR_SHAPE(10, 7), 1e-10);
    double ones[M];
    for (int j = 0; j < M; j++) ones[j] = 1;
    larmor_array *w = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), ones);
    cplx *x = random_values(70, 6);
    larmor_array *in = complex_array(LARMOR_C128, s.image, x);
    larmor_array *y[2] = {zeros(LARMOR_C128, s.kspace_shape), zeros(LARMOR_C128, s.kspace_shape)};
    cplx *values[2];
    for (int i = 0; i < 2; i++) {
        larmor_op *A;
        assert_ok(larmor_op_sense(s.maps_array, &(larmor_sense_opts){.traj = s.traj, .weights = i ? w : NULL}, &A));
        assert_ok(larmor_op_forward(A, in, y[i]));
        values[i] = values_of(y[i]);
        larmor_op_free(A);
    }
    assert_at_most(difference(values[1], values[0], M * COILS), 0);
    for (int i = 0; i < 2; i++) {
        free(values[i]);
        larmor_array_free(y[i]);
    }
    free(x);
    larmor_array_free(in);
    larmor_array_free(w);
    free_scan(&s);
}

static void some_coils_at_a_time_give_the_same_to_rounding(void **state)
{
    (void)state;
    for (int c = 0; c < 2 * 2 * COILS * 2; c++) { /* a block of COILS and more is all coils at once */
        const larmor_dtype dtype = c % 2 ? LARMOR_C128 : LARMOR_C64;
        const double limit = c % 2 ? 1e-14 : 2e-6;
        scan s = random_scan(dtype, LARMOR_SHAPE(10, 7), 1e-4);
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = c / 2 % 2 ? s.weights_array : NULL,
                                        .nufft_tol = 1e-4,
                                        .block = c / 4 % COILS + 1,
                                        .toeplitz = c / 4 / COILS ? 1 : -1};
        larmor_sense_opts all = opts;
        all.block = 0;
        larmor_op *A[2];
        cplx *x = random_values(70, 6), *y[2], *back[2], *normal[2];
        larmor_array *in = complex_array(dtype, s.image, x);
        for (int i = 0; i < 2; i++) {
            larmor_array *out = zeros(dtype, s.kspace_shape), *z = zeros(dtype, s.image);
            assert_ok(larmor_op_sense(s.maps_array, i ? &opts : &all, &A[i]));
            assert_true(larmor_shape_equal(larmor_op_out_shape(A[i]), s.kspace_shape));
            assert_ok(larmor_op_forward(A[i], in, out));
            assert_ok(larmor_op_adjoint(A[i], out, z));
            y[i] = values_of(out);
            back[i] = values_of(z);
            assert_ok(larmor_op_normal(A[i], in, z));
            normal[i] = values_of(z);
            larmor_array_free(out);
            larmor_array_free(z);
            larmor_op_free(A[i]);
        }
        assert_at_most(difference(y[1], y[0], M * COILS), limit);
        assert_at_most(difference(back[1], back[0], 70), limit);
        assert_at_most(difference(normal[1], normal[0], 70), limit);
        for (int i = 0; i < 2; i++) {
            free(y[i]);
            free(back[i]);
            free(normal[i]);
        }
        free(x);
        larmor_array_free(in);
        free_scan(&s);
    }
}

/* Maps [image..., coils, sets] and, of each set, maps [image..., coils] and their operator. */
enum { SETS = 3 };

typedef struct sets {
    larmor_array *maps, *own[SETS];
    larmor_op *A[SETS];
} sets;

static sets random_sets(const scan *s, larmor_dtype dtype, const larmor_sense_opts *opts)
{
    sets all;
    const int64_t each = s->voxels * COILS;
    cplx *values = random_values(each * SETS, 11);
    all.maps = complex_array(dtype, larmor_shape_append(s->maps_shape, SETS), values);
    for (int m = 0; m < SETS; m++) {
        all.own[m] = complex_array(dtype, s->maps_shape, values + m * each);
        assert_ok(larmor_op_sense(all.own[m], opts, &all.A[m]));
    }
    free(values);
    return all;
}

static void free_sets(sets *all)
{
    larmor_array_free(all->maps);
    for (int m = 0; m < SETS; m++) {
        larmor_array_free(all->own[m]);
        larmor_op_free(all->A[m]);
    }
}

/* Coil images of several sets add up; the adjoint gives each set its own. */
static void several_sets_of_maps_are_a_sum_of_operators(void **state)
{
    (void)state;
    const larmor_shape images[] = {LARMOR_SHAPE(12), LARMOR_SHAPE(10, 7), LARMOR_SHAPE(6, 5, 4)};
    for (int c = 0; c < 3 * (COILS + 1) * 2; c++) {
        scan s = random_scan(LARMOR_C128, images[c % 3], 1e-6);
        const larmor_sense_opts opts = {.traj = s.traj,
                                        .weights = s.weights_array,
                                        .nufft_tol = 1e-6,
                                        .block = c / 3 % (COILS + 1),
                                        .toeplitz = c / 3 / (COILS + 1) ? 1 : -1};
        sets all = random_sets(&s, LARMOR_C128, &opts);
        larmor_op *A;
        double error;
        assert_ok(larmor_op_sense(all.maps, &opts, &A));
        const larmor_shape in = larmor_shape_append(s.image, SETS);
        assert_true(larmor_shape_equal(larmor_op_in_shape(A), in));
        assert_true(larmor_shape_equal(larmor_op_out_shape(A), s.kspace_shape));
        assert_ok(larmor_op_adjoint_error(A, 5, &error));
        assert_at_most(error, 1e-14);

        cplx *x = random_values(s.voxels * SETS, 6);
        larmor_array *X = complex_array(LARMOR_C128, in, x), *y = zeros(LARMOR_C128, s.kspace_shape);
        larmor_array *sum = zeros(LARMOR_C128, s.kspace_shape), *part = zeros(LARMOR_C128, s.kspace_shape);
        larmor_array *back = zeros(LARMOR_C128, in), *normal = zeros(LARMOR_C128, in);
        assert_ok(larmor_op_forward(A, X, y));
        assert_ok(larmor_op_adjoint(A, y, back));
        assert_ok(larmor_op_normal(A, X, normal));
        cplx *got = values_of(back), *quick = values_of(normal);
        for (int m = 0; m < SETS; m++) {
            larmor_array *one = complex_array(LARMOR_C128, s.image, x + m * s.voxels),
                         *z = zeros(LARMOR_C128, s.image);
            assert_ok(larmor_op_forward(all.A[m], one, part));
            assert_ok(larmor_axpby(1, part, 1, sum));
            assert_ok(larmor_op_adjoint(all.A[m], y, z));
            cplx *expected = values_of(z);
            assert_at_most(difference(got + m * s.voxels, expected, (int)s.voxels), 1e-13);
            assert_at_most(difference(quick + m * s.voxels, expected, (int)s.voxels),
                           opts.toeplitz > 0 ? 1e-5 : 1e-13);
            free(expected);
            larmor_array_free(one);
            larmor_array_free(z);
        }
        cplx *whole = values_of(y), *added = values_of(sum);
        assert_at_most(difference(whole, added, M * COILS), 1e-13);
        free(whole);
        free(added);
        free(got);
        free(quick);
        free(x);
        larmor_array_free(X);
        larmor_array_free(y);
        larmor_array_free(sum);
        larmor_array_free(part);
        larmor_array_free(back);
        larmor_array_free(normal);
        larmor_op_free(A);
        free_sets(&all);
        free_scan(&s);
    }
}

/* An object that folds: two sets of maps separate what two places have put into one voxel, one set does not. */
static void two_sets_unfold_what_one_cannot(void **state)
{
    (void)state;
    scan s = random_scan(LARMOR_C128, LARMOR_SHAPE(5, 4), 1e-10);
    cplx *maps = random_values(s.voxels * COILS * 2, 11), *x = random_values(s.voxels * 2, 6);
    const larmor_shape shape = larmor_shape_append(s.maps_shape, 2), in = larmor_shape_append(s.image, 2);
    const larmor_sense_opts opts = {.traj = s.traj, .nufft_tol = 1e-10};
    const larmor_solve_opts solve = {.max_iter = 500, .tol = 1e-8};
    larmor_array *both = complex_array(LARMOR_C128, shape, maps),
                 *one = complex_array(LARMOR_C128, s.maps_shape, maps);
    larmor_array *X = complex_array(LARMOR_C128, in, x), *y = zeros(LARMOR_C128, s.kspace_shape);
    larmor_array *found = zeros(LARMOR_C128, in), *single = zeros(LARMOR_C128, s.image);
    larmor_array *rest = zeros(LARMOR_C128, s.kspace_shape);
    larmor_op *A, *B;
    larmor_report report;
    double left = 0, all = 0;
    assert_ok(larmor_op_sense(both, &opts, &A));
    assert_ok(larmor_op_sense(one, &opts, &B));
    assert_ok(larmor_op_forward(A, X, y));
    assert_ok(larmor_cg(A, y, found, &solve, &report));
    cplx *got = values_of(found);
    assert_at_most(difference(got, x, (int)s.voxels * 2), 1e-5);
    assert_ok(larmor_cg(B, y, single, &solve, &report));
    assert_ok(larmor_op_forward(B, single, rest));
    assert_ok(larmor_axpby(1, y, -1, rest));
    assert_ok(larmor_nrm2(rest, &left));
    assert_ok(larmor_nrm2(y, &all));
    assert_true(left > 0.2 * all);
    free(got);
    free(x);
    free(maps);
    larmor_array_free(both);
    larmor_array_free(one);
    larmor_array_free(X);
    larmor_array_free(y);
    larmor_array_free(found);
    larmor_array_free(single);
    larmor_array_free(rest);
    larmor_op_free(A);
    larmor_op_free(B);
    free_scan(&s);
}

static void unusable_inputs_are_named(void **state)
{
    (void)state;
    scan s = random_scan(LARMOR_C64, LARMOR_SHAPE(10, 7), 0);
    larmor_op *A;
    assert_refused(larmor_op_sense(s.maps_array, NULL, &A), LARMOR_ERR_ARG, "sense: no trajectory given");
    assert_null(A);
    assert_refused(larmor_op_sense(s.maps_array, &(larmor_sense_opts){.traj = s.traj, .iters = -1}, &A),
                   LARMOR_ERR_ARG, "sense: iters is -1");
    const larmor_sense_opts backwards = {.traj = s.traj, .block = -1};
    assert_refused(larmor_op_sense(s.maps_array, &backwards, &A), LARMOR_ERR_ARG, "sense: block is -1 coils");
    larmor_array *image; /* maps without coils */
    assert_ok(larmor_array_reshape(s.maps_array, LARMOR_SHAPE(10, larmor_array_count(s.maps_array) / 10), &image));
    for (int toeplitz = -1; toeplitz <= 1; toeplitz++) {
        const larmor_sense_opts opts = {.traj = s.traj, .toeplitz = toeplitz};
        assert_refused(larmor_op_sense(image, &opts, &A), LARMOR_ERR_SHAPE, "sense: maps are c64 [10, ");
        assert_null(A);
    }
    larmor_array_free(image);
    larmor_array *no_coils = zeros(LARMOR_C64, LARMOR_SHAPE(10, 7, 0));
    assert_refused(larmor_op_sense(no_coils, &(larmor_sense_opts){.traj = s.traj}, &A), LARMOR_ERR_SHAPE,
                   "sense: maps are c64 [10, 7, 0]");
    larmor_array_free(no_coils);
    s.weights[11] = -2;
    larmor_array *negative = real_array(LARMOR_SHAPE(SAMPLES, READOUTS), s.weights);
    const larmor_sense_opts bad = {.traj = s.traj, .weights = negative};
    assert_refused(larmor_op_sense(s.maps_array, &bad, &A), LARMOR_ERR_ARG,
                   "sense: element 11 of the weights is -2, expected");
    larmor_array *few = real_array(LARMOR_SHAPE(SAMPLES, READOUTS - 1), s.weights);
    const larmor_sense_opts short_weights = {.traj = s.traj, .weights = few};
    assert_refused(larmor_op_sense(s.maps_array, &short_weights, &A), LARMOR_ERR_SHAPE,
                   "sense: weight array is f64 [6, 4] on");
    assert_null(A);
    larmor_array_free(few);
    larmor_array_free(negative);
    free_scan(&s);
}

static void data_are_weighed_by_the_root_of_the_weights(void **state)
{
    (void)state;
    const larmor_dtype dtype[] = {LARMOR_C64, LARMOR_C128};
    for (int p = 0; p < 2; p++) {
        scan s = random_scan(dtype[p], LARMOR_SHAPE(10, 7), 1e-5);
        cplx *values = random_values(M * COILS, 5);
        larmor_array *b = complex_array(dtype[p], s.kspace_shape, values);
        assert_ok(larmor_sense_weigh(NULL, b));
        cplx *same = values_of(b);
        assert_at_most(difference(same, values, M * COILS), 1e-7);
        assert_ok(larmor_sense_weigh(s.weights_array, b));
        for (int i = 0; i < M * COILS; i++) values[i] *= sqrt(s.weights[i % M]);
        cplx *got = values_of(b);
        assert_at_most(difference(got, values, M * COILS), p ? 1e-15 : 2e-7);
        assert_true(got[7] == 0);
        free(got);
        free(same);
        free(values);
        larmor_array_free(b);
        free_scan(&s);
    }
}

/* Data without noise and off the model have one solution, whatever their weights. */
static void weights_do_not_move_the_solution_of_data_that_fit(void **state)
{
    (void)state;
    scan s = random_scan(LARMOR_C128, LARMOR_SHAPE(5, 4), 1e-10);
    cplx *truth = random_values(s.voxels, 4);
    larmor_array *in = complex_array(LARMOR_C128, s.image, truth), *b = zeros(LARMOR_C128, s.kspace_shape);
    larmor_array *x = zeros(LARMOR_C128, s.image);
    larmor_op *plain;
    assert_ok(larmor_op_sense(s.maps_array, &(larmor_sense_opts){.traj = s.traj, .nufft_tol = 1e-10}, &plain));
    assert_ok(larmor_op_forward(plain, in, b));
    assert_ok(larmor_sense_weigh(s.weights_array, b));
    assert_ok(larmor_cg(s.A, b, x, &(larmor_solve_opts){.max_iter = 200, .tol = 1e-10}, NULL));
    cplx *got = values_of(x);
    assert_at_most(difference(got, truth, s.voxels), 1e-6);
    free(got);
    free(truth);
    larmor_op_free(plain);
    larmor_array_free(x);
    larmor_array_free(b);
    larmor_array_free(in);
    free_scan(&s);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(data_are_weighed_by_the_root_of_the_weights),
    cmocka_unit_test(weights_do_not_move_the_solution_of_data_that_fit),
    cmocka_unit_test(it_is_the_weighted_fourier_sum_of_the_coil_images_in_2d),
    cmocka_unit_test(it_is_the_weighted_fourier_sum_of_the_coil_images_in_3d),
    cmocka_unit_test(the_adjoint_is_exact),
    cmocka_unit_test(the_normal_map_is_the_adjoint_after_the_forward_map),
    cmocka_unit_test(it_is_the_chain_of_a_nufft_with_a_toeplitz_normal_map_and_the_coils),
    cmocka_unit_test(partitions_go_by_planes_and_the_rest_by_the_volume),
    cmocka_unit_test(toeplitz_is_chosen_where_it_pays),
    cmocka_unit_test(what_is_timed_is_adjoint_of_forward_still),
    cmocka_unit_test(what_may_be_timed_is_in_the_estimate_of_memory),
    cmocka_unit_test(without_weights_they_are_one),
    cmocka_unit_test(some_coils_at_a_time_give_the_same_to_rounding),
    cmocka_unit_test(several_sets_of_maps_are_a_sum_of_operators),
    cmocka_unit_test(two_sets_unfold_what_one_cannot),
    cmocka_unit_test(unusable_inputs_are_named),
};

int main(void)
{
    RUN_TESTS(tests);
}
