/* recon/prox/regulariser.c: regularisers by name, and their units. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/regulariser_support.h"

enum { N = 16, COILS = 2, SAMPLES = 24, READOUTS = 9, M = SAMPLES * READOUTS, FRAMES = 2 };
#define IMAGE LARMOR_SHAPE(N, N)

static const char *name_at(int i)
{
    return larmor_regulariser_entry(i).name;
}

/* A single image, or frames of it where entry i needs them. */
static int is_series(int i)
{
    return (larmor_regulariser_entry(i).takes & LARMOR_NEEDS_SERIES) != 0;
}

static larmor_shape shape_of(int i)
{
    return is_series(i) ? LARMOR_SHAPE(N, N, FRAMES) : IMAGE;
}

TEST(they_are_listed_and_described)
{
    int count = 0;
    for (; name_at(count); count++) {
        assert_true(strlen(larmor_regulariser_entry(count).help) > 20);
        for (int i = 0; i < count; i++) assert_string_not_equal(name_at(i), name_at(count));
    }
    assert_true(count >= 4);
    assert_null(name_at(-1));
}

TEST(an_unknown_name_lists_the_known)
{
    assert_none_made(larmor_regulariser, larmor_regulariser_create(dev, "tvv", NULL, LARMOR_C64, IMAGE, &made),
                     LARMOR_ERR_ARG, "regulariser: got \"tvv\", expected ");
    for (int i = 0; name_at(i); i++) assert_non_null(strstr(larmor_last_error(), name_at(i)));
    assert_none_made(
        larmor_regulariser,
        larmor_regulariser_create(dev, "tv", &(larmor_regulariser_opts){.lambda = NAN}, LARMOR_C64, IMAGE, &made),
        LARMOR_ERR_ARG, "tv: lambda is nan, expected a finite number");
    assert_none_made(
        larmor_regulariser,
        larmor_regulariser_create(dev, "tv", &(larmor_regulariser_opts){.voxel = {1, -2}}, LARMOR_C64, IMAGE, &made),
        LARMOR_ERR_ARG, "tv: voxel[1] is -2, expected a finite number > 0, or 0 where all are alike");
    assert_none_made(larmor_regulariser, larmor_regulariser_create(dev, "tv", NULL, LARMOR_F32, IMAGE, &made),
                     LARMOR_ERR_ARG, "complex type");
}

/* ---- the laws of what they are made of ---- */

typedef struct part {
    larmor_regulariser *r;
    larmor_penalty p;
    larmor_shape shape; /* of K x */
} part;

static part part_of(int i)
{
    part t;
    assert_ok(larmor_regulariser_create(dev, name_at(i), NULL, LARMOR_C128, shape_of(i), &t.r));
    t.p = larmor_regulariser_penalty(t.r);
    t.shape = t.p.K ? larmor_op_out_shape(t.p.K) : shape_of(i);
    return t;
}

TEST(every_operator_has_its_adjoint)
{
    for (int i = 0; name_at(i); i++) {
        const part t = part_of(i);
        double error = 0;
        if (t.p.K) assert_ok(larmor_op_adjoint_error(t.p.K, 3, &error));
        assert_at_most(error, 1e-13);
        if (t.p.E) assert_ok(larmor_op_adjoint_error(t.p.E, 3, &error));
        assert_at_most(error, 1e-13);
        larmor_regulariser_free(t.r);
    }
}

static larmor_array *random_array(larmor_shape shape, double size, unsigned seed)
{
    HEAP cplx *values = random_values((int)larmor_shape_count(shape), seed);
    for (int64_t i = 0; i < larmor_shape_count(shape); i++) values[i] *= size;
    larmor_array *x = complex_array(LARMOR_C128, shape, values);
    return x;
}

/* g(z) + |z - x|^2 / (2 t) */
static double moreau(const part *p, double t, const larmor_array *x, const larmor_array *z)
{
    OWNED(larmor_array) *d = zeros(LARMOR_C128, p->shape);
    double g, norm;
    assert_ok(larmor_copy(z, d));
    assert_ok(larmor_axpby(-1, x, 1, d));
    assert_ok(larmor_nrm2(d, &norm));
    assert_ok(larmor_prox_value(p->p.g, z, &g));
    return g + norm * norm / (2 * t);
}

TEST(every_proximal_map_gives_the_least_of_its_sum)
{
    for (int i = 0; name_at(i); i++) {
        const part p = part_of(i);
        const double t = 0.2;
        OWNED(larmor_array) *x = random_array(p.shape, 1, 5), *z = zeros(LARMOR_C128, p.shape);
        larmor_array *near;
        assert_ok(larmor_prox_apply(p.p.g, t, x, z));
        const double least = moreau(&p, t, x, z);
        assert_true(least < moreau(&p, t, x, x));
        for (int k = 0; k < 12; k++) {
            near = random_array(p.shape, pow(10, -1 - k % 4), 20 + (unsigned)k);
            assert_ok(larmor_axpby(1, z, 1, near));
            assert_true(least <= moreau(&p, t, x, near) * (1 + 1e-12));
            larmor_array_free(near);
        }
        larmor_regulariser_free(p.r);
    }
}

/* |P x - P y|^2 <= Re <P x - P y, x - y> */
TEST(every_proximal_map_is_firmly_nonexpansive)
{
    for (int i = 0; name_at(i); i++) {
        const part p = part_of(i);
        OWNED(larmor_array) *x = random_array(p.shape, 1, 7), *y = random_array(p.shape, 1, 8);
        OWNED(larmor_array) *Px = zeros(LARMOR_C128, p.shape), *Py = zeros(LARMOR_C128, p.shape);
        double norm, inner[2];
        assert_ok(larmor_prox_apply(p.p.g, 0.3, x, Px));
        assert_ok(larmor_prox_apply(p.p.g, 0.3, y, Py));
        assert_ok(larmor_axpby(-1, y, 1, x));
        assert_ok(larmor_axpby(-1, Py, 1, Px));
        assert_ok(larmor_nrm2(Px, &norm));
        assert_ok(larmor_dot(Px, x, inner));
        assert_true(norm > 0 && norm * norm <= inner[0] * (1 + 1e-12));
        larmor_regulariser_free(p.r);
    }
}

/* What makes lambda a number without a unit. */
TEST(every_penalty_grows_in_proportion)
{
    for (int i = 0; name_at(i); i++) {
        const part p = part_of(i);
        OWNED(larmor_array) *x = random_array(p.shape, 1, 9);
        double once, twice;
        assert_ok(larmor_prox_value(p.p.g, x, &once));
        assert_ok(larmor_axpby(2, x, 0, x));
        assert_ok(larmor_prox_value(p.p.g, x, &twice));
        assert_true(once > 0);
        assert_at_most(fabs(twice / once - 2), 1e-12);
        larmor_regulariser_free(p.r);
    }
}

/* Denoised, an image that the penalty likes, here one of few values, is nearer to the truth. */
TEST(every_penalty_takes_noise_off_a_disc)
{
    for (int i = 0; name_at(i); i++) {
        const larmor_shape shape = shape_of(i);
        const int count = (int)larmor_shape_count(shape);
        HEAP cplx *noisy = random_values(count, 11), *truth = malloc((size_t)count * sizeof *truth);
        for (int j = 0; j < count; j++) {
            truth[j] = hypot(j % N - 7, j / N % N - 8) < 5 ? 1 : 0;
            noisy[j] = truth[j] + 0.2 * noisy[j];
        }
        HEAP cplx *image = denoise(name_at(i), &(larmor_regulariser_opts){.lambda = 0.1}, shape, noisy);
        assert_at_most(difference(image, truth, count), 0.9 * difference(noisy, truth, count));
    }
}

TEST(lambda_has_a_default_and_may_be_none)
{
    for (int i = 0; name_at(i); i++) {
        const larmor_shape shape = shape_of(i);
        larmor_regulariser *r =
            MADE(larmor_regulariser, larmor_regulariser_create(dev, name_at(i), NULL, LARMOR_C64, shape, &made));
        assert_true(larmor_regulariser_penalty(r).lambda > 0);
        larmor_regulariser_free(r);
        assert_ok(larmor_regulariser_create(dev, name_at(i), &(larmor_regulariser_opts){.lambda = -1}, LARMOR_C64,
                                            shape, &r));
        assert_true(larmor_regulariser_penalty(r).lambda == 0);
        larmor_regulariser_free(r);
    }
}

/* ---- units ---- */

/* A small scan of SENSE with noise: FRAMES frames, which llr takes together and the others one of. */
typedef struct scan {
    cplx *maps, *kspace;
    double *k;
} scan;

static scan make_scan(void)
{
    scan s = {random_values(N * N * COILS, 1), malloc(sizeof(cplx) * M * COILS), random_points(IMAGE, M, 2)};
    HEAP cplx *truth = malloc(sizeof *truth * N * N), *seen = malloc(sizeof *seen * N * N),
              *noise = random_values(M * COILS, 3);
    for (int i = 0; i < N * N; i++) truth[i] = hypot(i % N - 7, i / N - 8) < 5 ? 1 + 0.5 * I : 0.1;
    for (int c = 0; c < COILS; c++) {
        for (int i = 0; i < N * N; i++) seen[i] = s.maps[i + N * N * c] * truth[i];
        direct_forward(seen, IMAGE, s.k, M, s.kspace + M * c);
    }
    for (int j = 0; j < M * COILS; j++) s.kspace[j] += 0.5 * noise[j];
    return s;
}

LMR_FREES(end_scan, scan, maps, kspace, k)

/* The image of the scan with data times `data`, A times `gain` and every readout `times` over; free it. */
static cplx *reconstruct(int entry, const scan *s, double data, double gain, int times, double *weight)
{
    const int64_t m = (int64_t)M * times;
    const larmor_shape kspace = LARMOR_SHAPE(SAMPLES, READOUTS * times, COILS);
    HEAP double *k = malloc(sizeof *k * 2 * (size_t)m);
    HEAP cplx *y = malloc(sizeof *y * COILS * (size_t)m), *maps = malloc(sizeof *maps * N * N * COILS);
    for (int t = 0; t < times; t++) {
        memcpy(k + 2 * M * t, s->k, sizeof *k * 2 * M);
        for (int c = 0; c < COILS; c++)
            for (int j = 0; j < M; j++) y[j + M * t + m * c] = data * gain * s->kspace[j + M * c];
    }
    for (int i = 0; i < N * N * COILS; i++) maps[i] = gain * s->maps[i];
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS * times), k),
                        *sense = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N, COILS), maps),
                        *b = complex_array(LARMOR_C128, kspace, y), *all, *x;
    const int series = is_series(entry);
    const larmor_shape shape = shape_of(entry);
    OWNED(larmor_op) *A, *one;
    assert_ok(larmor_op_sense(sense, &(larmor_sense_opts){.traj = traj, .nufft_tol = 1e-12}, &one));
    OWN(larmor_circulant, *C, larmor_circulant_create(sense, traj, NULL, IMAGE, LARMOR_C128, &C));
    if (series) {
        assert_ok(larmor_op_frames((larmor_op *[]){one, one}, FRAMES, &A));
        HEAP cplx *twice = malloc(sizeof *twice * 2 * COILS * (size_t)m);
        for (int64_t j = 0; j < COILS * m; j++) {
            twice[j] = y[j];
            twice[j + COILS * m] = 0.8 * y[j];
        }
        all = complex_array(LARMOR_C128, larmor_op_out_shape(A), twice);
    } else {
        A = larmor_op_ref(one);
        all = larmor_array_ref(b);
    }
    x = zeros(LARMOR_C128, shape);
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, name_at(entry), NULL, LARMOR_C128, shape, &r));
    assert_ok(larmor_regularised(A, all, r, x, &(larmor_solve_opts){.circulant = C}, NULL));
    *weight = larmor_regulariser_weight(r);
    cplx *image = values_of(x);
    return image;
}

static void expect_same_image(double data, double gain, int times, double heavier)
{
    OWNED(scan) s = make_scan();
    for (int i = 0; name_at(i); i++) {
        const int64_t count = larmor_shape_count(shape_of(i));
        double before, after;
        HEAP cplx *once = reconstruct(i, &s, 1, 1, 1, &before),
                  *again = reconstruct(i, &s, data, gain, times, &after);
        for (int64_t j = 0; j < count; j++) again[j] /= data;
        assert_at_most(difference(again, once, count), 1e-6);
        assert_at_most(fabs(after / before - heavier), 1e-9 * heavier);
    }
}

TEST(data_a_thousand_times_as_large_make_the_same_image_a_thousand_times_as_large)
{
    expect_same_image(1000, 1, 1, 1000);
    expect_same_image(1e-6, 1, 1, 1e-6);
}

TEST(readouts_measured_twice_leave_the_image_alone)
{
    expect_same_image(1, 1, 2, 2);
}

TEST(another_unit_of_k_space_leaves_the_image_alone)
{
    expect_same_image(1, 300, 1, 300 * 300);
}

TEST(empty_space_leaves_the_unit_alone)
{
    double unit[2];
    for (int i = 0; i < 2; i++) {
        const larmor_shape shape = LARMOR_SHAPE(i ? 100 : 10);
        HEAP cplx *b = calloc(100, sizeof *b), *some = random_values(10, 4);
        memcpy(b, some, 10 * sizeof *b);
        OWNED(larmor_op) *A = identity(LARMOR_C128, shape);
        OWNED(larmor_array) *data = complex_array(LARMOR_C128, shape, b);
        assert_ok(larmor_lambda_unit(A, data, &unit[i]));
    }
    assert_at_most(fabs(unit[1] - unit[0]), 1e-14);
}

/* ---- what solving promises ---- */

TEST(no_data_make_no_image)
{
    for (int i = 0; name_at(i); i++) {
        const larmor_shape shape = shape_of(i);
        OWNED(larmor_op) *A = identity(LARMOR_C64, shape);
        OWNED(larmor_array) *b = zeros(LARMOR_C64, shape), *x = zeros(LARMOR_C64, shape);
        OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, name_at(i), NULL, LARMOR_C64, shape, &r));
        assert_ok(larmor_regularised(A, b, r, x, NULL, NULL));
        assert_true(norm_of(x) == 0 && larmor_regulariser_weight(r) == 0);
    }
}

typedef struct seen {
    int calls, stop_at;
    larmor_shape shape;
} seen;

static int watch(void *user, const larmor_progress *p)
{
    seen *s = user;
    s->shape = larmor_array_shape(p->x);
    if (!isfinite(p->objective)) return 1;
    return ++s->calls == s->stop_at;
}

TEST(the_monitor_sees_images_and_can_stop)
{
    for (int i = 0; name_at(i); i++) {
        if (is_series(i)) continue;
        OWNED(larmor_op) *A = identity(LARMOR_C64, IMAGE);
        OWNED(larmor_array) *b = drawn(LARMOR_C64, IMAGE, 2), *x = zeros(LARMOR_C64, IMAGE);
        larmor_report report;
        seen s = {.stop_at = 3};
        OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, name_at(i), NULL, LARMOR_C64, IMAGE, &r));
        const larmor_solve_opts solve = {.monitor = watch, .user = &s, .tol = -1};
        assert_int_equal(larmor_regularised(A, b, r, x, &solve, &report), LARMOR_STOPPED);
        assert_int_equal(s.calls, 3);
        assert_int_equal(report.iters, 3);
        assert_true(larmor_shape_equal(s.shape, IMAGE));
        assert_true(norm_of(x) > 1);
    }
}

TEST(no_possible_shape_is_refused)
{
    const larmor_shape wrong[] = {{99, {N, N}}, {-1, {N, N}}, {2, {N, -1}}};
    int64_t none;
    for (int c = 0; c < 3; c++)
        assert_refused(larmor_choose_memory(LARMOR_C64, wrong[c], IMAGE, &none), LARMOR_ERR_SHAPE,
                       "no possible shape");
    for (int i = 0; larmor_regulariser_entry(i).name; i++)
        for (int c = 0; c < 3; c++) {
            const char *name = larmor_regulariser_entry(i).name;
            const larmor_regulariser_opts opts = {.series = 1};
            larmor_regulariser *r;
            int64_t bytes;
            assert_refused(larmor_regulariser_create(dev, name, &opts, LARMOR_C64, wrong[c], &r), LARMOR_ERR_SHAPE,
                           "no possible shape");
            assert_refused(larmor_regularised_memory(name, &opts, LARMOR_C64, wrong[c], &bytes), LARMOR_ERR_SHAPE,
                           "no possible shape");
        }
}

/* Every third voxel is measured, without noise, and the penalty alone decides the others. */
static larmor_end end_of(larmor_dtype dtype, double weight, int resolve)
{
    enum { SIDE = 24 };
    const larmor_shape shape = LARMOR_SHAPE(SIDE, SIDE);
    cplx measured[SIDE * SIDE], object[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        measured[i] = i % 3 == 0;
        object[i] = measured[i] * (1 + sin(0.4 * (i % SIDE)) + (i / SIDE > SIDE / 3));
    }
    OWNED(larmor_array) *mask = complex_array(dtype, shape, measured), *b = complex_array(dtype, shape, object),
                        *x = zeros(dtype, shape);
    larmor_report report;
    OWN(larmor_op, *A, larmor_op_diag(mask, &A));
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "tv", NULL, dtype, shape, &r));
    assert_ok(larmor_regulariser_set_weight(r, weight));
    assert_ok(larmor_regularised(A, b, r, x, &(larmor_solve_opts){.resolve = resolve, .tol = -1}, &report));
    return report.end;
}

TEST(a_weight_that_rounding_hides_ends_the_run_where_that_is_asked_for)
{
    assert_int_equal(end_of(LARMOR_C64, 1e-8, 1), LARMOR_END_PRECISION);
    assert_true(end_of(LARMOR_C64, 1e-8, 0) != LARMOR_END_PRECISION);
    assert_true(end_of(LARMOR_C64, 1e-2, 1) != LARMOR_END_PRECISION);
    assert_true(end_of(LARMOR_C128, 1e-8, 1) != LARMOR_END_PRECISION);
}

TEST(what_does_not_fit_is_refused)
{
    OWNED(larmor_op) *A = identity(LARMOR_C64, IMAGE);
    larmor_array *b = zeros(LARMOR_C64, IMAGE), *x = zeros(LARMOR_C64, LARMOR_SHAPE(N, N - 1));
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, "tv", NULL, LARMOR_C64, IMAGE, &r));
    assert_refused(larmor_regularised(A, b, r, x, NULL, NULL), LARMOR_ERR_SHAPE, "tv: image is c64 [16, 15]");
    assert_refused(larmor_regularised(A, b, NULL, x, NULL, NULL), LARMOR_ERR_ARG,
                   "regularised: A, b, r and x are needed");
    assert_ok(larmor_fill(b, INFINITY));
    larmor_array_free(x);
    x = zeros(LARMOR_C64, IMAGE);
    assert_refused(larmor_regularised(A, b, r, x, NULL, NULL), LARMOR_ERR_NUMERIC, "expected a finite number");
    LMR_FREE(b, x);
}
