/* recon/field: terms of a model as sums of products, solid harmonics, concomitant fields. SPDX-License-Identifier:
 * Apache-2.0 */
#include "recon/cpu/exponents.h"
#include "tests/recon/support.h"

#define FOV_M 0.2

/* A disc or ball of voxels, and spirals of `seconds`; terms of a field, of second and third order, as field cameras
 * see them, of concomitant fields at .55 T, and of decay. */
typedef struct scene {
    larmor_shape shape;
    int64_t voxels, samples, readouts, m;
    double *k, *position, *h, *space[6], *time[6];
    int terms;
    larmor_model_term term[6];
    larmor_op *F;
} scene;

static void end_scene(scene *s)
{
    for (int l = 0; l < s->terms; l++) LMR_FREE(s->term[l].space, s->term[l].time, s->space[l], s->time[l]);
    LMR_FREE(s->F, s->k, s->position, s->h);
}

static double *numbers(int64_t count)
{
    NEW_ZEROS(double, x, count);
    return x;
}

enum { FIELD, ORDER2, ORDER3, CONCOMITANT, DECAY, KINDS };

static void add_term(scene *s, int is_decay, const double *space, const double *time)
{
    const int l = s->terms++;
    s->space[l] = numbers(s->voxels);
    s->time[l] = numbers(s->m);
    for (int64_t i = 0; i < s->voxels; i++) s->space[l][i] = space[i];
    for (int64_t j = 0; j < s->m; j++) s->time[l][j] = time[j];
    s->term[l] = (larmor_model_term){real_array(s->shape, space),
                                     real_array(LARMOR_SHAPE(s->samples, s->readouts), time), is_decay};
}

static void add_kind(scene *s, int kind, double seconds)
{
    HEAP double *space = numbers(s->voxels), *time = numbers(s->m);
    for (int64_t i = 0; i < s->voxels; i++) {
        const double *r = s->position + 3 * i, *h = s->h + i;
        const double far = (r[0] - .02) * (r[0] - .02) + (r[1] - .07) * (r[1] - .07) + r[2] * r[2];
        const double f = 120 * exp(-far / .0009) - 250 * r[1] + 100 * r[2];
        const double value[KINDS] = {2 * M_PI * f, h[6 * s->voxels] / .01, h[9 * s->voxels] / .001,
                                     (.05 + r[2]) * (.05 + r[2]), 1 / (.03 + .02 * cos(30 * r[0]))};
        space[i] = value[kind];
    }
    for (int64_t j = 0; j < s->m; j++) {
        const double t = seconds * (double)(j % s->samples) / (double)s->samples, u = t / seconds;
        const double n = (double)(j / s->samples);
        const double value[KINDS] = {t, .8 * u + .25 * sin(2 * M_PI * 3 * u + n), .3 * u * cos(n) + .1 * sin(12 * u),
                                     -4000 * u * (1 + .1 * sin(5 * u)), t};
        time[j] = value[kind];
    }
    add_term(s, kind == DECAY, space, time);
}

static scene new_scene(int nd, int64_t n, larmor_dtype dtype, double tol, int64_t samples, int64_t readouts)
{
    scene s = {
        .shape = nd == 3 ? LARMOR_SHAPE(n, n, n) : LARMOR_SHAPE(n, n), .samples = samples, .readouts = readouts};
    s.m = samples * readouts;
    s.voxels = larmor_shape_count(s.shape);
    s.k = random_points(s.shape, s.m, 1);
    s.position = numbers(3 * s.voxels);
    for (int64_t i = 0; i < s.voxels; i++)
        for (int64_t d = 0, rest = i; d < nd; d++, rest /= n)
            s.position[3 * i + d] = FOV_M * ((double)(rest % n) / (double)n - .5);
    OWNED(larmor_array) *position = real_array(larmor_shape_of(nd + 1, (int64_t[]){3, n, n, n}), s.position), *h;
    assert_ok(larmor_solid_harmonics(position, 3, &h));
    s.h = numbers(s.voxels * LARMOR_HARMONICS);
    assert_ok(larmor_array_read(h, s.h, larmor_array_bytes(h)));
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(nd, samples, readouts), s.k);
    const larmor_nufft_opts opts = {.ndim = nd, .modes = {n, n, n}, .tol = tol, .dtype = dtype};
    assert_ok(larmor_op_nufft(dev, &opts, traj, &s.F));
    return s;
}

static cplx factor_of(const scene *s, int64_t i, int64_t j)
{
    cplx exponent = 0;
    for (int l = 0; l < s->terms; l++) exponent += (s->term[l].is_decay ? -1 : I) * s->space[l][i] * s->time[l][j];
    return cexp(exponent);
}

/* The relative error of the operator of the scene's terms against its sum. */
static double error_of(const scene *s, double bound, larmor_segments_info *info)
{
    OWNED(larmor_segments) *segments;
    HEAP cplx *x = random_values(s->voxels, 3), *expected = random_values(s->m, 0);
    const int nd = s->shape.ndim;
    assert_ok(larmor_segments_of_terms(s->term, s->terms, &(larmor_off_resonance_opts){.error = bound}, &segments));
    assert_ok(larmor_segments_describe(segments, info));
    OWN(larmor_op, *A, larmor_op_segments(s->F, segments, &A));
    for (int64_t j = 0; j < s->m; j++) {
        expected[j] = 0;
        for (int64_t i = 0; i < s->voxels; i++)
            expected[j] += cexp(-2 * M_PI * I * cycles(s->k + nd * j, s->shape, i)) * factor_of(s, i, j) * x[i];
    }
    OWNED(larmor_array) *in = complex_array(larmor_op_dtype(A), s->shape, x),
                        *out = zeros(larmor_op_dtype(A), LARMOR_SHAPE(s->samples, s->readouts));
    assert_ok(larmor_fill(out, NAN));
    assert_ok(larmor_op_forward(A, in, out));
    return away(out, expected, s->m);
}

TEST(each_term_and_all_of_them_are_within_the_bound_of_the_sum)
{
    const double bound[] = {1e-2, 1e-3, 1e-5};
    for (int nd = 2; nd <= 3; nd++)
        for (int kind = 0; kind <= KINDS; kind++) {
            OWNED(scene) s = new_scene(nd, nd == 3 ? 9 : 24, LARMOR_C128, 1e-9, 60, 5);
            larmor_segments_info info;
            int before = 0;
            for (int k = 0; k < KINDS; k++)
                if (kind == KINDS || k == kind) add_kind(&s, k, 20e-3);
            for (int b = 0; b < (nd == 3 && kind == KINDS ? 2 : 3); b++) {
                assert_at_most(error_of(&s, bound[b], &info), 1.2 * bound[b]);
                assert_at_most(info.error, bound[b]);
                assert_true(info.segments >= before && info.segments < 80);
                assert_int_equal(info.terms, 0);
                before = info.segments;
            }
        }
}

/* Some of all voxels, or of all samples, have a phase of their own, of up to 3 rad. */
static void add_rare_phase(scene *s, int is_of_place)
{
    HEAP double *space = numbers(s->voxels), *time = numbers(s->m);
    const int64_t all = is_of_place ? s->voxels : s->m;
    for (int64_t i = 0; i < s->voxels; i++) space[i] = is_of_place ? 0 : s->position[3 * i] / .1;
    for (int64_t j = 0; j < s->m; j++) time[j] = is_of_place ? (double)(j % s->samples) / (double)s->samples : 0;
    for (int n = 1; n <= 3; n++) (is_of_place ? space : time)[all * n / 4 + 7 * n] = n;
    add_term(s, 0, space, time);
}

TEST(a_few_voxels_or_samples_with_a_phase_of_their_own_are_within_the_bound)
{
    for (int is_of_place = 0; is_of_place < 2; is_of_place++) {
        OWNED(scene) s =
            is_of_place ? new_scene(2, 80, LARMOR_C128, 1e-9, 60, 5) : new_scene(2, 24, LARMOR_C128, 1e-9, 1500, 4);
        larmor_segments_info info;
        add_kind(&s, ORDER2, 20e-3);
        add_rare_phase(&s, is_of_place);
        for (double bound = 1e-3; bound > 1e-6; bound /= 100) {
            assert_at_most(error_of(&s, bound, &info), 1.5 * bound);
            assert_at_most(info.error, bound);
        }
    }
}

TEST(a_field_alone_needs_no_more_products_than_segments_and_has_their_phases)
{
    OWNED(scene) s = new_scene(2, 24, LARMOR_C128, 1e-9, 300, 2);
    add_kind(&s, FIELD, 20e-3);
    larmor_segments_info terms, time;
    HEAP double *hz = numbers(s.voxels);
    for (int64_t i = 0; i < s.voxels; i++) hz[i] = s.space[0][i] / (2 * M_PI);
    OWNED(larmor_array) *field = real_array(s.shape, hz);
    OWN(larmor_segments, *by_terms, larmor_segments_of_terms(s.term, 1, NULL, &by_terms));
    OWN(larmor_segments, *by_time, larmor_segments_create(field, s.term[0].time, NULL, &by_time));
    assert_ok(larmor_segments_describe(by_terms, &terms));
    assert_ok(larmor_segments_describe(by_time, &time));
    assert_true(terms.segments <= time.segments);
    OWN(larmor_op, *A, larmor_op_segments(s.F, by_terms, &A));
    OWN(larmor_op, *B, larmor_op_segments(s.F, by_time, &B));
    OWNED(larmor_array) *in = drawn(LARMOR_C128, s.shape, 3), *y = zeros(LARMOR_C128, larmor_op_out_shape(A)),
                        *z = zeros(LARMOR_C128, larmor_op_out_shape(A));
    assert_ok(larmor_op_forward(A, in, y));
    assert_ok(larmor_op_forward(B, in, z));
    assert_at_most(apart(y, z), 2e-3);
}

TEST(the_adjoint_is_exact_in_both_precisions)
{
    for (int p = 0; p < 2; p++) {
        OWNED(scene) s = new_scene(2, 24, p ? LARMOR_C128 : LARMOR_C64, 1e-4, 60, 5);
        for (int k = 0; k < KINDS; k++) add_kind(&s, k, 20e-3);
        OWN(larmor_segments, *segments, larmor_segments_of_terms(s.term, s.terms, NULL, &segments));
        OWN(larmor_op, *A, larmor_op_segments(s.F, segments, &A));
        assert_at_most(adjoint_error(A, 5), p ? 1e-13 : 3e-6);
    }
}

/* Of the products of one kind of term. */
static larmor_segments *segments_of(scene *s, int kind)
{
    add_kind(s, kind, 20e-3);
    return MADE(larmor_segments, larmor_segments_of_terms(s->term, s->terms, NULL, &made));
}

TEST(the_normal_map_of_products_by_kernels_is_the_adjoint_of_the_weighted_samples)
{
    for (int nd = 2; nd <= 3; nd++)
        for (int kind = ORDER2; kind < KINDS; kind++) {
            OWNED(scene) s = new_scene(nd, nd == 3 ? 9 : 24, LARMOR_C128, 1e-9, 60, 5);
            OWNED(larmor_segments) *segments = segments_of(&s, kind);
            double *of_sample = numbers(s.m);
            for (int64_t j = 0; j < s.m; j++) of_sample[j] = 1 + .5 * sin((double)j);
            OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(nd, s.samples, s.readouts), s.k),
                                *weights = real_array(LARMOR_SHAPE(s.samples, s.readouts), of_sample),
                                *in = drawn(LARMOR_C128, s.shape, 3), *z = zeros(LARMOR_C128, s.shape),
                                *y = zeros(LARMOR_C128, LARMOR_SHAPE(s.samples, s.readouts)),
                                *got = zeros(LARMOR_C128, s.shape), *factor;
            const int64_t n = s.shape.dim[0];
            const larmor_nufft_opts opts = {.ndim = nd, .modes = {n, n, n}, .tol = 1e-9, .dtype = LARMOR_C128};
            free(of_sample);
            OWN(larmor_op, *A, larmor_op_segments(s.F, segments, &A));
            OWN(larmor_op, *N, larmor_op_segments_toeplitz(&opts, traj, weights, segments, &N));
            assert_ok(larmor_array_convert(weights, LARMOR_C128, &factor));
            assert_ok(larmor_op_forward(A, in, y));
            assert_ok(larmor_mul(factor, 0, y));
            assert_ok(larmor_op_adjoint(A, y, z));
            assert_ok(larmor_fill(got, NAN));
            assert_ok(larmor_op_forward(N, in, got));
            assert_at_most(apart(got, z), 1e-7);
            assert_at_most(adjoint_error(N, 5), 1e-13);
        }
}

TEST(sense_takes_kernels_where_products_are_few)
{
    const struct {
        int nd, kind, is_toeplitz;
    } of[] = {{2, DECAY, 1}, {2, ORDER2, 1}, {2, KINDS, 0}, {3, ORDER2, 1}, {3, KINDS, 0}};
    for (int i = 0; i < 5; i++) {
        const int nd = of[i].nd;
        OWNED(scene) s = new_scene(nd, nd == 3 ? 9 : 24, LARMOR_C64, 1e-4, 400, nd == 3 ? 5 : 10);
        for (int k = 0; of[i].kind == KINDS && k < DECAY; k++) add_kind(&s, k, 20e-3);
        OWNED(larmor_segments) *segments = segments_of(&s, of[i].kind == KINDS ? DECAY : of[i].kind);
        OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(nd, s.samples, s.readouts), s.k),
                            *maps = zeros(LARMOR_C64, larmor_shape_append(s.shape, 4));
        assert_ok(larmor_fill(maps, 1));
        OWN(larmor_op, *A,
            larmor_op_sense(maps, &(larmor_sense_opts){.traj = traj, .off_resonance = segments, .iters = 30}, &A));
        assert_int_equal(larmor_sense_uses_toeplitz(A), of[i].is_toeplitz);
    }
}

/* Terms that are one field in two halves, and times that repeat in every readout. */
TEST(terms_multiply_and_times_that_repeat_count_once)
{
    OWNED(scene) one = new_scene(2, 24, LARMOR_C128, 1e-9, 60, 5), two = new_scene(2, 24, LARMOR_C128, 1e-9, 60, 5);
    larmor_segments_info first, second;
    add_kind(&one, FIELD, 20e-3);
    HEAP double *half = numbers(one.voxels), *back = numbers(one.m);
    for (int64_t i = 0; i < one.voxels; i++) half[i] = .5 * one.space[0][i];
    for (int64_t j = 0; j < one.m; j++) back[j] = -one.time[0][j];
    add_term(&two, 0, half, one.time[0]);
    for (int64_t i = 0; i < one.voxels; i++) half[i] = -half[i];
    add_term(&two, 0, half, back);
    assert_at_most(error_of(&one, 1e-4, &first), 1.2e-4);
    assert_at_most(error_of(&two, 1e-4, &second), 1.2e-4);
    assert_int_equal(first.segments, second.segments);
    assert_at_most(fabs(first.error / second.error - 1), 1e-6);
}

/* A cube of 20 cm, a field, second and third order */
TEST(products_are_about_as_many_as_singular_values_ask_for)
{
    OWNED(scene) s = new_scene(3, 20, LARMOR_C64, 1e-4, 500, 1);
    for (int k = 0; k <= ORDER3; k++) add_kind(&s, k, 20e-3);
    larmor_segments_info coarse, fine;
    OWNED(larmor_segments) *a, *b;
    assert_ok(larmor_segments_of_terms(s.term, s.terms, &(larmor_off_resonance_opts){.error = 1e-2}, &a));
    assert_ok(larmor_segments_of_terms(s.term, s.terms, &(larmor_off_resonance_opts){.error = 1e-3}, &b));
    assert_ok(larmor_segments_describe(a, &coarse));
    assert_ok(larmor_segments_describe(b, &fine));
    assert_true(coarse.segments <= 24 && fine.segments <= 36);
    assert_true(fine.segments > coarse.segments);
}

/* Three terms, the second a decay; angles of up to 1e4 rad, where a rounding of the angle is 1e-12. */
TEST(exponentials_of_a_block_are_those_one_by_one)
{
    const lmr_exponents loops[] = {lmr_exponents_base, lmr_exponents_best()};
    const double factor[] = {1, .3, -.02};
    const char is_decay[] = {0, 1, 0};
    double own[3][LMR_EXPONENTS], out[2 * LMR_EXPONENTS];
    for (int k = 0; k < 2; k++)
        for (double most = 1; most <= 1e4; most *= 100) {
            for (int i = 0; i < LMR_EXPONENTS; i++) {
                const double at = 2 * (double)i / LMR_EXPONENTS - 1;
                own[0][i] = most * at / (2 * M_PI);
                own[1][i] = 5 * sin(7 * at);
                own[2][i] = 3 * at * at;
            }
            loops[k](3, (const double(*)[LMR_EXPONENTS])own, factor, is_decay, out);
            for (int i = 0; i < LMR_EXPONENTS; i++) {
                const cplx expected = cexp(2 * M_PI * I * (own[0][i] - .02 * own[2][i]) - .3 * own[1][i]);
                assert_at_most(cabs(CMPLX(out[2 * i], out[2 * i + 1]) - expected), 1e-14 * (10 + most));
            }
        }
}

TEST(a_sum_is_the_same_by_any_number_of_threads)
{
    OWNED(scene) s = new_scene(2, 40, LARMOR_C64, 1e-4, 200, 5);
    for (int k = 0; k < KINDS; k++) add_kind(&s, k, 20e-3);
    double error[2] = {0};
    for (int i = 0; i < 2; i++) {
        OWN(larmor_device, *other, larmor_device_open(i ? "cpu:3" : "cpu:1", &other));
        larmor_model_term term[KINDS];
        larmor_array *made[2 * KINDS];
        for (int l = 0; l < KINDS; l++) {
            term[l].is_decay = s.term[l].is_decay;
            assert_ok(larmor_array_upload(other, LARMOR_F64, s.shape, LARMOR_F64, s.space[l], &made[2 * l]));
            assert_ok(larmor_array_upload(other, LARMOR_F64, LARMOR_SHAPE(s.samples, s.readouts), LARMOR_F64,
                                          s.time[l], &made[2 * l + 1]));
            term[l].space = made[2 * l];
            term[l].time = made[2 * l + 1];
        }
        larmor_segments_info info;
        OWN(larmor_segments, *segments, larmor_segments_of_terms(term, KINDS, NULL, &segments));
        assert_ok(larmor_segments_describe(segments, &info));
        error[i] = info.error;
        for (int l = 0; l < KINDS; l++) LMR_FREE(made[2 * l], made[2 * l + 1]);
    }
    assert_true(error[0] > 0 && error[0] == error[1]);
}

TEST(harmonics_are_those_of_laplace_and_of_their_order)
{
    enum { POINTS = 7 };
    const double r[3] = {.31, -.27, .18}, e = 1e-3;
    double at[3 * POINTS * 2];
    for (int p = 0; p < POINTS; p++)
        for (int d = 0; d < 3; d++) {
            at[3 * p + d] = r[d];
            if (p && (p - 1) / 2 == d) at[3 * p + d] += p % 2 ? e : -e;
            at[3 * (p + POINTS) + d] = 2 * at[3 * p + d];
        }
    OWNED(larmor_array) *position = real_array(LARMOR_SHAPE(3, POINTS, 2), at), *h;
    assert_ok(larmor_solid_harmonics(position, 3, &h));
    assert_true(larmor_shape_equal(larmor_array_shape(h), LARMOR_SHAPE(POINTS, 2, 16)));
    HEAP cplx *all = values_of(h);
    for (int l = 0; l < LARMOR_HARMONICS; l++) {
        const cplx *value = all + 2 * POINTS * l;
        const int order = (l >= 1) + (l >= 4) + (l >= 9);
        double curvature = 0;
        for (int p = 1; p < POINTS; p++) curvature += creal(value[p] - value[0]) / (e * e);
        assert_at_most(fabs(curvature), 1e-8);
        assert_at_most(fabs(creal(value[POINTS]) - pow(2, order) * creal(value[0])), 1e-14);
        assert_true(fabs(creal(value[0])) > 1e-4);
    }
}

/* g along x and z is constant: k = gamma g t, and the phase 2 pi gamma g^2 / (2 B0) t times the place. */
TEST(constant_gradients_have_the_concomitant_phase_of_the_formula)
{
    enum { SAMPLES = 50, READOUTS = 2 };
    const double gamma = 42.577478518e6, dwell = 4e-6, tesla = .55;
    const double g[READOUTS][3] = {{20e-3, 0, 10e-3}, {0, -15e-3, 8e-3}}, r[3] = {.05, .02, -.07};
    double k[3 * SAMPLES * READOUTS];
    for (int j = 0; j < SAMPLES * READOUTS; j++)
        for (int d = 0; d < 3; d++) k[3 * j + d] = 11 * d + gamma * g[j / SAMPLES][d] * dwell * (j % SAMPLES);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(3, SAMPLES, READOUTS), k), *time, *places,
                        *position = real_array(LARMOR_SHAPE(3, 1), r);
    assert_ok(larmor_concomitant_phase(traj, dwell, tesla, 0, &time));
    assert_ok(larmor_concomitant_places(position, &places));
    HEAP cplx *phase = values_of(time), *h = values_of(places);
    for (int j = 0; j < SAMPLES * READOUTS; j++) {
        const double *a = g[j / SAMPLES], t = dwell * (j % SAMPLES), b = 2 * tesla;
        const double field = (a[0] * a[0] + a[1] * a[1]) * r[2] * r[2] / b +
                             a[2] * a[2] * (r[0] * r[0] + r[1] * r[1]) / (8 * tesla) -
                             (a[0] * r[0] + a[1] * r[1]) * a[2] * r[2] / b;
        double got = 0;
        for (int l = 0; l < LARMOR_CONCOMITANT_PLACES; l++) got += creal(phase[j + SAMPLES * READOUTS * l] * h[l]);
        assert_at_most(fabs(got - 2 * M_PI * gamma * field * t), 1e-9);
    }
    larmor_array *none;
    assert_refused(larmor_concomitant_phase(traj, dwell, 0, 0, &none), LARMOR_ERR_ARG,
                   "fields: a dwell time of 4e-06 s at 0 T, expected numbers above 0");
    assert_refused(larmor_concomitant_phase(position, dwell, 3, 0, &none), LARMOR_ERR_SHAPE,
                   "fields: the trajectory is f64 [3, 1] on ");
    assert_refused(larmor_solid_harmonics(position, 4, &none), LARMOR_ERR_ARG, "fields: order is 4, expected 0 to 3");
}

TEST(terms_that_do_not_fit_are_refused)
{
    OWNED(scene) s = new_scene(2, 24, LARMOR_C128, 1e-9, 60, 5);
    larmor_segments *made;
    add_kind(&s, FIELD, 20e-3);
    add_kind(&s, ORDER2, 20e-3);
    const larmor_model_term bad[] = {s.term[0], {s.term[1].time, s.term[1].time, 0}}, none = {0};
    assert_refused(larmor_segments_of_terms(s.term, 0, NULL, &made), LARMOR_ERR_ARG,
                   "model: got 0 terms, expected 1 to 32");
    assert_null(made);
    assert_refused(larmor_segments_of_terms(&none, 1, NULL, &made), LARMOR_ERR_ARG,
                   "model: term 0 has no array of places or of times");
    assert_refused(larmor_segments_of_terms(bad, 2, NULL, &made), LARMOR_ERR_SHAPE,
                   "model: term 1 is f64 [60, 5] on ");
    s.time[0][7] = NAN;
    OWNED(larmor_array) *holds_nan = real_array(LARMOR_SHAPE(s.samples, s.readouts), s.time[0]);
    assert_refused(larmor_segments_of_terms(&(larmor_model_term){s.term[0].space, holds_nan, 0}, 1, NULL, &made),
                   LARMOR_ERR_NUMERIC, "model: a term's array of times holds nan at element 7");
    for (int64_t j = 0; j < s.m; j++) s.time[0][j] = 1e4 * (double)j;
    OWNED(larmor_array) *wild = real_array(LARMOR_SHAPE(s.samples, s.readouts), s.time[0]);
    assert_refused(larmor_segments_of_terms(&(larmor_model_term){s.term[0].space, wild, 1}, 1, NULL, &made),
                   LARMOR_ERR_NUMERIC, "model: the terms are not finite, or too large");
    assert_refused(larmor_segments_of_terms(&(larmor_model_term){s.term[0].space, wild, 0}, 1, NULL, &made),
                   LARMOR_ERR_NUMERIC, "rad need more than 512 products for an error of 1.0e-03; check their unit");
    assert_null(made);
}
