/* recon/prox/regulariser.c: regularisers by name, and their units. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/regulariser_support.h"

enum { N = 16, COILS = 2, SAMPLES = 24, READOUTS = 9, M = SAMPLES * READOUTS, FRAMES = 2 };
#define IMAGE LARMOR_SHAPE(N, N)

static const char *const names[] = {"tv", "tgv", "wavelet", "llr"};
enum { KINDS = 4 };

static void they_are_listed_and_described(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        assert_string_equal(larmor_regulariser_name(i), names[i]);
        assert_true(strlen(larmor_regulariser_help(i)) > 20);
    }
    assert_null(larmor_regulariser_name(KINDS));
    assert_null(larmor_regulariser_help(-1));
}

static void an_unknown_name_lists_the_known(void **state)
{
    (void)state;
    larmor_regulariser *r = (larmor_regulariser *)1;
    assert_refused(larmor_regulariser_create(dev, "tvv", NULL, LARMOR_C64, IMAGE, &r), LARMOR_ERR_ARG,
                   "regulariser: got \"tvv\", expected tv, tgv, wavelet or llr");
    assert_null(r);
    assert_refused(
        larmor_regulariser_create(dev, "tv", &(larmor_regulariser_opts){.lambda = NAN}, LARMOR_C64, IMAGE, &r),
        LARMOR_ERR_ARG, "tv: lambda is nan, expected a finite number");
    assert_refused(larmor_regulariser_create(dev, "tv", NULL, LARMOR_F32, IMAGE, &r), LARMOR_ERR_ARG, "complex type");
    larmor_regulariser_opts opts;
    assert_refused(larmor_regulariser_defaults("none", &opts, NULL), LARMOR_ERR_ARG, "got \"none\"");
}

static void lambda_has_a_default_and_may_be_none(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        const larmor_shape shape = i == 3 ? LARMOR_SHAPE(N, N, FRAMES) : IMAGE;
        larmor_regulariser_opts opts = {0};
        larmor_solve_opts solve = {0};
        larmor_regulariser *r;
        assert_ok(larmor_regulariser_defaults(names[i], &opts, &solve));
        assert_true(opts.lambda > 0 && solve.max_iter > 0 && solve.tol > 0);
        assert_ok(larmor_regulariser_create(dev, names[i], NULL, LARMOR_C64, shape, &r));
        assert_true(larmor_regulariser_penalty(r).lambda == opts.lambda);
        larmor_regulariser_free(r);
        assert_ok(larmor_regulariser_create(dev, names[i], &(larmor_regulariser_opts){.lambda = -1}, LARMOR_C64,
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
    cplx *truth = malloc(sizeof *truth * N * N), *seen = malloc(sizeof *seen * N * N),
         *noise = random_values(M * COILS, 3);
    for (int i = 0; i < N * N; i++) truth[i] = hypot(i % N - 7, i / N - 8) < 5 ? 1 + 0.5 * I : 0.1;
    for (int c = 0; c < COILS; c++) {
        for (int i = 0; i < N * N; i++) seen[i] = s.maps[i + N * N * c] * truth[i];
        direct_forward(seen, IMAGE, s.k, M, s.kspace + M * c);
    }
    for (int j = 0; j < M * COILS; j++) s.kspace[j] += 0.5 * noise[j];
    free(truth), free(seen), free(noise);
    return s;
}

static void free_scan(scan *s)
{
    free(s->maps), free(s->kspace), free(s->k);
}

/* The image of the scan with data times `data`, A times `gain` and every readout `times` over; free it. */
static cplx *reconstruct(const char *name, const scan *s, double data, double gain, int times, double *weight)
{
    const int64_t m = (int64_t)M * times;
    const larmor_shape kspace = LARMOR_SHAPE(SAMPLES, READOUTS * times, COILS);
    double *k = malloc(sizeof *k * 2 * (size_t)m);
    cplx *y = malloc(sizeof *y * COILS * (size_t)m), *maps = malloc(sizeof *maps * N * N * COILS);
    for (int t = 0; t < times; t++) {
        memcpy(k + 2 * M * t, s->k, sizeof *k * 2 * M);
        for (int c = 0; c < COILS; c++)
            for (int j = 0; j < M; j++) y[j + M * t + m * c] = data * gain * s->kspace[j + M * c];
    }
    for (int i = 0; i < N * N * COILS; i++) maps[i] = gain * s->maps[i];
    larmor_array *traj = real_array(LARMOR_SHAPE(2, SAMPLES, READOUTS * times), k),
                 *sense = complex_array(LARMOR_C128, LARMOR_SHAPE(N, N, COILS), maps),
                 *b = complex_array(LARMOR_C128, kspace, y), *all, *x;
    const int series = !strcmp(name, "llr");
    const larmor_shape shape = series ? LARMOR_SHAPE(N, N, FRAMES) : IMAGE;
    larmor_op *A, *one;
    larmor_circulant *C;
    larmor_regulariser *r;
    assert_ok(larmor_op_sense(sense, &(larmor_sense_opts){.traj = traj, .nufft_tol = 1e-12}, &one));
    assert_ok(larmor_circulant_create(sense, traj, NULL, IMAGE, LARMOR_C128, &C));
    if (series) {
        assert_ok(larmor_op_frames((larmor_op *[]){one, one}, FRAMES, &A));
        cplx *twice = malloc(sizeof *twice * 2 * COILS * (size_t)m);
        for (int64_t j = 0; j < COILS * m; j++) twice[j] = y[j], twice[j + COILS * m] = 0.8 * y[j];
        all = complex_array(LARMOR_C128, larmor_op_out_shape(A), twice);
        free(twice);
    } else {
        A = larmor_op_ref(one), all = larmor_array_ref(b);
    }
    x = zeros(LARMOR_C128, shape);
    assert_ok(larmor_regulariser_create(dev, name, NULL, LARMOR_C128, shape, &r));
    assert_ok(larmor_regularised(A, all, r, x, &(larmor_solve_opts){.circulant = C}, NULL));
    *weight = larmor_regulariser_weight(r);
    cplx *image = values_of(x);
    larmor_regulariser_free(r), larmor_circulant_free(C);
    larmor_op_free(A), larmor_op_free(one);
    larmor_array_free(traj), larmor_array_free(sense), larmor_array_free(b), larmor_array_free(all),
        larmor_array_free(x);
    free(k), free(y), free(maps);
    return image;
}

static void expect_same_image(double data, double gain, int times, double heavier)
{
    scan s = make_scan();
    for (int i = 0; i < KINDS; i++) {
        const int64_t count = N * N * (i == 3 ? FRAMES : 1);
        double before, after;
        cplx *once = reconstruct(names[i], &s, 1, 1, 1, &before),
             *again = reconstruct(names[i], &s, data, gain, times, &after);
        for (int64_t j = 0; j < count; j++) again[j] /= data;
        assert_at_most(difference(again, once, count), 1e-6);
        assert_at_most(fabs(after / before - heavier), 1e-9 * heavier);
        free(once), free(again);
    }
    free_scan(&s);
}

static void data_a_thousand_times_as_large_make_the_same_image_a_thousand_times_as_large(void **state)
{
    (void)state;
    expect_same_image(1000, 1, 1, 1000);
    expect_same_image(1e-6, 1, 1, 1e-6);
}

static void readouts_measured_twice_leave_the_image_alone(void **state)
{
    (void)state;
    expect_same_image(1, 1, 2, 2);
}

static void another_unit_of_k_space_leaves_the_image_alone(void **state)
{
    (void)state;
    expect_same_image(1, 300, 1, 300 * 300);
}

static void empty_space_leaves_the_unit_alone(void **state)
{
    (void)state;
    double unit[2];
    for (int i = 0; i < 2; i++) {
        const larmor_shape shape = LARMOR_SHAPE(i ? 100 : 10);
        cplx *b = calloc(100, sizeof *b), *some = random_values(10, 4);
        memcpy(b, some, 10 * sizeof *b);
        larmor_op *A = identity(LARMOR_C128, shape);
        larmor_array *data = complex_array(LARMOR_C128, shape, b);
        assert_ok(larmor_lambda_unit(A, data, &unit[i]));
        larmor_op_free(A), larmor_array_free(data);
        free(b), free(some);
    }
    assert_at_most(fabs(unit[1] - unit[0]), 1e-14);
}

/* ---- what solving promises ---- */

static void no_data_make_no_image(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        const larmor_shape shape = i == 3 ? LARMOR_SHAPE(N, N, FRAMES) : IMAGE;
        larmor_op *A = identity(LARMOR_C64, shape);
        larmor_array *b = zeros(LARMOR_C64, shape), *x = zeros(LARMOR_C64, shape);
        larmor_regulariser *r;
        double norm;
        assert_ok(larmor_regulariser_create(dev, names[i], NULL, LARMOR_C64, shape, &r));
        assert_ok(larmor_regularised(A, b, r, x, NULL, NULL));
        assert_ok(larmor_nrm2(x, &norm));
        assert_true(norm == 0 && larmor_regulariser_weight(r) == 0);
        larmor_regulariser_free(r), larmor_op_free(A), larmor_array_free(b), larmor_array_free(x);
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

static void the_monitor_sees_images_and_can_stop(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        larmor_op *A = identity(LARMOR_C64, IMAGE);
        cplx *values = random_values(N * N, 2);
        larmor_array *b = complex_array(LARMOR_C64, IMAGE, values), *x = zeros(LARMOR_C64, IMAGE);
        larmor_regulariser *r;
        larmor_report report;
        seen s = {.stop_at = 3};
        double norm;
        assert_ok(larmor_regulariser_create(dev, names[i], NULL, LARMOR_C64, IMAGE, &r));
        const larmor_solve_opts solve = {.monitor = watch, .user = &s, .tol = -1};
        assert_int_equal(larmor_regularised(A, b, r, x, &solve, &report), LARMOR_STOPPED);
        assert_int_equal(s.calls, 3);
        assert_int_equal(report.iters, 3);
        assert_true(larmor_shape_equal(s.shape, IMAGE));
        assert_ok(larmor_nrm2(x, &norm));
        assert_true(norm > 1);
        free(values);
        larmor_regulariser_free(r), larmor_op_free(A), larmor_array_free(b), larmor_array_free(x);
    }
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    larmor_op *A = identity(LARMOR_C64, IMAGE);
    larmor_array *b = zeros(LARMOR_C64, IMAGE), *x = zeros(LARMOR_C64, LARMOR_SHAPE(N, N - 1));
    larmor_regulariser *r;
    assert_ok(larmor_regulariser_create(dev, "tv", NULL, LARMOR_C64, IMAGE, &r));
    assert_refused(larmor_regularised(A, b, r, x, NULL, NULL), LARMOR_ERR_SHAPE, "tv: image is c64 [16, 15]");
    assert_refused(larmor_regularised(A, b, NULL, x, NULL, NULL), LARMOR_ERR_ARG,
                   "regularised: A, b, r and x are needed");
    assert_ok(larmor_fill(b, INFINITY));
    larmor_array_free(x), x = zeros(LARMOR_C64, IMAGE);
    assert_refused(larmor_regularised(A, b, r, x, NULL, NULL), LARMOR_ERR_NUMERIC, "expected a finite number");
    larmor_regulariser_free(r), larmor_op_free(A), larmor_array_free(b), larmor_array_free(x);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(they_are_listed_and_described),
    cmocka_unit_test(an_unknown_name_lists_the_known),
    cmocka_unit_test(lambda_has_a_default_and_may_be_none),
    cmocka_unit_test(data_a_thousand_times_as_large_make_the_same_image_a_thousand_times_as_large),
    cmocka_unit_test(readouts_measured_twice_leave_the_image_alone),
    cmocka_unit_test(another_unit_of_k_space_leaves_the_image_alone),
    cmocka_unit_test(empty_space_leaves_the_unit_alone),
    cmocka_unit_test(no_data_make_no_image),
    cmocka_unit_test(the_monitor_sees_images_and_can_stop),
    cmocka_unit_test(what_does_not_fit_is_refused),
};

int main(void)
{
    RUN_TESTS(tests);
}
