/* recon/choose/part.c: the samples held out by themselves. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { N = 24, COILS = 3 };

typedef struct scan {
    larmor_array *traj, *weights, *maps, *b, *noise, *kept, *factors, *folded;
    larmor_op *A;
    larmor_circulant *C;
    larmor_held_out held;
} scan;

static larmor_array *make_maps(void)
{
    static cplx maps[N * N * COILS];
    for (int i = 0; i < N * N * COILS; i++) {
        const double u = (double)(i % N - N / 2) / N, v = (double)(i / N % N - N / 2) / N,
                     angle = 2.1 * (i / (N * N));
        maps[i] = exp(-2 * (pow(u - cos(angle) / 2, 2) + pow(v - sin(angle) / 2, 2))) * cexp(I * (u + angle));
    }
    return complex_array(LARMOR_C64, LARMOR_SHAPE(N, N, COILS), maps);
}

static larmor_array *make_image(void)
{
    cplx image[N * N];
    for (int i = 0; i < N * N; i++) {
        const double u = (double)(i % N - N / 2) / N, v = (double)(i / N - N / 2) / N;
        image[i] = (hypot(u, v) < 0.4) - 0.5 * (hypot(u - 0.1, v) < 0.12);
    }
    return complex_array(LARMOR_C64, LARMOR_SHAPE(N, N), image);
}

static void add_noise(scan *s, double relative)
{
    const double deviation = relative * norm_of(s->b) / sqrt((double)larmor_array_count(s->b));
    s->noise = zeros(LARMOR_C64, larmor_op_out_shape(s->A));
    assert_ok(larmor_noise_fill(s->noise, deviation, 7));
    assert_ok(larmor_axpby(1, s->noise, 1, s->b));
    assert_ok(larmor_noise_fill(s->noise, deviation, 8));
}

/* Two discs with noise of this deviation relative to the mean sample; weighted: samples have weights, some of 0. */
static scan scan_of(const char *traj, int64_t readouts, double relative, int weighted)
{
    const larmor_traj_opts opts = {.matrix = {N, N, 1}, .readouts = readouts};
    scan s = {.maps = make_maps()};
    OWNED(larmor_array) *x = make_image();
    assert_ok(larmor_traj_create(dev, traj, &opts, &s.traj));
    const larmor_shape all = larmor_array_shape(s.traj), shape = LARMOR_SHAPE(all.dim[1], all.dim[2]);
    if (weighted) {
        HEAP double *w = malloc(sizeof *w * (size_t)larmor_shape_count(shape));
        for (int64_t i = 0; i < larmor_shape_count(shape); i++) w[i] = i % 7 ? 0.5 + (double)(i % 3) : 0;
        s.weights = real_array(shape, w);
    }
    assert_ok(larmor_op_sense(s.maps, &(larmor_sense_opts){.traj = s.traj, .weights = s.weights}, &s.A));
    s.b = zeros(LARMOR_C64, larmor_op_out_shape(s.A));
    assert_ok(larmor_op_forward(s.A, x, s.b));
    add_noise(&s, relative);
    assert_ok(larmor_circulant_create(s.maps, s.traj, s.weights, LARMOR_SHAPE(N, N), LARMOR_C64, &s.C));
    assert_ok(larmor_hold_out(s.traj, s.weights, s.C, 3, &s.kept, &s.factors));
    assert_ok(larmor_op_sense(s.maps, &(larmor_sense_opts){.traj = s.traj, .weights = s.kept}, &s.held.A));
    s.held.factors = s.factors;
    s.held.noise = s.noise;
    const larmor_sense_opts sense = {.traj = s.traj, .weights = s.weights};
    assert_ok(larmor_hold_part(s.maps, &sense, s.b, &s.held, &s.held.part));
    return s;
}

static void end_scan(scan *s)
{
    larmor_held_part_free(&s->held.part);
    LMR_FREE(s->folded, s->held.A);
    larmor_circulant_free(s->C);
    larmor_op_free(s->A);
    larmor_array *const of[] = {s->traj, s->weights, s->maps, s->b, s->noise, s->kept, s->factors};
    for (int i = 0; i < 7; i++) larmor_array_free(of[i]);
}

/* sqrt(f) x of the samples with f > 0, from all of them. */
static cplx *expected_of(const scan *s, const larmor_array *x, int64_t *count)
{
    HEAP cplx *all = values_of(x), *f = values_of(s->factors);
    const int64_t samples = larmor_array_count(s->factors);
    cplx *to = malloc(sizeof *to * (size_t)(samples * COILS));
    *count = 0;
    for (int64_t i = 0; i < samples * COILS; i++)
        if (creal(f[i % samples]) > 0) to[(*count)++] = sqrt(creal(f[i % samples])) * all[i];
    return to;
}

static void expect_part(const scan *s, const larmor_array *all, const larmor_array *part, double tol)
{
    int64_t count;
    HEAP cplx *expected = expected_of(s, all, &count), *got = values_of(part);
    assert_int_equal(larmor_array_count(part), count);
    assert_true(count > 0);
    assert_at_most(difference(got, expected, count), tol);
}

TEST(the_part_is_what_the_whole_has_at_the_samples_held_out)
{
    for (int i = 0; i < 4; i++) {
        OWNED(scan) s = scan_of(i % 2 ? "spiral" : "radial", i % 2 ? 6 : 40, 0.3, i > 1);
        OWNED(larmor_array) *x = make_image(), *all = zeros(LARMOR_C64, larmor_op_out_shape(s.A));
        OWNED(larmor_array) *own = zeros(LARMOR_C64, larmor_op_out_shape(s.held.part.A));
        expect_part(&s, s.b, s.held.part.b, 1e-6);
        expect_part(&s, s.noise, s.held.part.noise, 1e-6);
        assert_ok(larmor_op_forward(s.A, x, all));
        assert_ok(larmor_op_forward(s.held.part.A, x, own));
        expect_part(&s, all, own, 2e-3); /* of NUFFTs with other grids */
        const larmor_shape shape = larmor_array_shape(s.held.part.b);
        assert_int_equal(shape.dim[1], i % 2 ? 1 : 4); /* whole readouts, where they are many */
    }
}

TEST(where_nothing_is_held_out_there_is_no_part)
{
    OWNED(scan) s = scan_of("radial", 40, 0.3, 0);
    larmor_held_part none = {.b = s.b};
    assert_ok(larmor_fill(s.factors, 0));
    assert_ok(larmor_hold_part(s.maps, &(larmor_sense_opts){.traj = s.traj}, s.b, &s.held, &none));
    assert_true(!none.A && !none.b && !none.noise && !none.factors);
}

static larmor_choice choose(const scan *s, const char *name, int by_part)
{
    larmor_held_out held = {.A = s->held.A, .factors = s->factors, .noise = s->noise};
    OWNED(larmor_regulariser) *r = NULL;
    larmor_choice choice;
    const larmor_solve_opts opts = {.circulant = s->C};
    if (name) assert_ok(larmor_regulariser_create(dev, name, NULL, LARMOR_C64, LARMOR_SHAPE(N, N), &r));
    assert_ok(larmor_choose_weight(s->A, s->b, by_part ? &s->held : &held, s->C, r, &opts, &choice));
    return choice;
}

TEST(the_part_and_what_is_known_lead_to_the_choice_of_all_samples)
{
    const double noise[] = {0.05, 0.5};
    const char *const names[] = {NULL, "tv"};
    for (int i = 0; i < 8; i++) {
        OWNED(scan) s = scan_of(i % 2 ? "spiral" : "radial", i % 2 ? 6 : 40, noise[i / 2 % 2], i > 3);
        s.folded = zeros(LARMOR_C64, LARMOR_SHAPE(N, N));
        assert_ok(larmor_op_adjoint(s.A, s.noise, s.folded));
        s.held.folded = s.folded;
        assert_ok(larmor_lambda_unit(s.A, s.b, &s.held.unit));
        for (int p = 0; p < 2; p++) {
            const larmor_choice all = choose(&s, names[p], 0);
            const larmor_choice part = choose(&s, names[p], 1);
            assert_int_equal(part.tried, all.tried);
            assert_at_most(fabs(part.weight / all.weight - 1), 1e-2);
            assert_at_most(fabs(part.misfit / all.misfit - 1), 5e-3);
            assert_at_most(fabs(part.intensity - all.intensity), 1e-3);
        }
    }
}

TEST(what_has_no_part_is_refused)
{
    OWNED(scan) s = scan_of("radial", 40, 0.3, 0);
    OWNED(larmor_array) *few = zeros(LARMOR_C64, LARMOR_SHAPE(2, 40, COILS));
    const larmor_sense_opts sense = {.traj = s.traj}, displaced = {.traj = s.traj, .displacement = s.traj};
    const larmor_held_out none = {.noise = s.noise}, quiet = {.factors = s.factors};
    larmor_held_part part;
    larmor_choice choice;
    assert_refused(larmor_hold_part(s.maps, &sense, s.b, &none, &part), LARMOR_ERR_ARG, "factors");
    assert_refused(larmor_hold_part(s.maps, &displaced, s.b, &s.held, &part), LARMOR_ERR_ARG, "displacement");
    assert_refused(larmor_hold_part(s.maps, &sense, few, &s.held, &part), LARMOR_ERR_SHAPE, "samples");
    assert_ok(larmor_hold_part(s.maps, &sense, s.b, &quiet, &part));
    larmor_held_out held = s.held;
    held.part = part;
    assert_refused(larmor_choose_weight(s.A, s.b, &held, s.C, NULL, NULL, &choice), LARMOR_ERR_ARG,
                   "part has no noise");
    larmor_held_part_free(&part);
    larmor_held_part_free(NULL);
    assert_true(!part.A && !part.b);
}
