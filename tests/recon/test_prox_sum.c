/* recon/prox/sum.c, recon/prox/terms.c: several penalties at once. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/regulariser_support.h"

enum { N = 12, COUNT = N * N, KEPT = 90, FRAMES = 3 };
#define IMAGE LARMOR_SHAPE(N, N)
#define SERIES LARMOR_SHAPE(N, N, FRAMES)

static larmor_regulariser *create(const char *name, larmor_shape shape)
{
    return MADE(larmor_regulariser, larmor_regulariser_create(dev, name, NULL, LARMOR_C128, shape, &made));
}

/* ---- names ---- */

TEST(a_name_that_is_none_is_refused_in_a_line)
{
    static const struct {
        const char *name, *message;
        int ndim;
    } cases[] = {
        {"tv:xy+tvv", "regulariser: got \"tvv\", expected ", 2},
        {"tv:xq", "tv: dimensions are \"xq\", expected some of x, y, z, t, h and b, each once", 2},
        {"tv:xx", "tv: dimensions are \"xx\", expected some of x, y, z, t, h and b, each once", 2},
        {"tv:", "tv: no dimensions behind the colon, expected some of x, y, z, t, h and b", 2},
        {"l1:x", "l1: got dimensions \"x\", it takes none", 2},
        {"tv:xyz", "tv: the image has no dimension z, but 2 of them", 2},
        {"tv:xyz+tv:t", "tv: the image has no dimension z, but 2 of them", 3},
        {"tv:h", "tv: the image has no dimension h, but 2 of them and its series others", 3},
        {"tv:xy+l1+tv:yx", "regulariser: \"tv:xy+l1+tv:yx\" has tv twice; leave one out", 2},
        {"tv=-1+l1", "tv: the ratio is \"-1\", expected a finite number > 0", 2},
        {"tv=2x+l1", "tv: the ratio is \"2x\", expected a finite number > 0", 2},
        {"tv+tgv+l1+wavelet+fft", "expected at most 4 penalties", 2},
        {"tv+", "regulariser: got \"\", expected ", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_none_made(larmor_regulariser,
                         larmor_regulariser_create(dev, cases[i].name, NULL, LARMOR_C128,
                                                   cases[i].ndim == 3 ? SERIES : IMAGE, &made),
                         LARMOR_ERR_ARG, cases[i].message);
    }
}

/* ---- K and g ---- */

static const char *const sums[] = {"tv:xy+tv:t+l1", "wavelet:xy+llr=3", "tv+fft:t=0.25", "tgv+tv:t=2+l1",
                                   "wavelet:t+tv:xt"};
enum { SUMS = sizeof sums / sizeof *sums };

TEST(the_operators_of_a_sum_have_their_adjoints)
{
    for (int i = 0; i < SUMS; i++) {
        OWNED(larmor_regulariser) *r = create(sums[i], SERIES);
        assert_at_most(adjoint_error(larmor_regulariser_penalty(r).K, 3), 1e-13);
    }
}

TEST(the_normal_map_of_a_sum_is_the_adjoint_after_the_forward_map)
{
    for (int i = 0; i < SUMS; i++) {
        OWNED(larmor_regulariser) *r = create(sums[i], SERIES);
        assert_at_most(normal_apart(larmor_regulariser_penalty(r).K), 1e-13);
    }
}

TEST(a_sum_has_the_value_of_its_parts_times_their_ratios)
{
    HEAP cplx *x = random_values(COUNT * FRAMES, 4);
    const larmor_regulariser_opts series = {.series = 1};
    const double parts = penalty_of("tv:xy", &series, SERIES, x) + 4 * penalty_of("tv:t", NULL, SERIES, x) +
                         0.5 * penalty_of("llr", NULL, SERIES, x);
    const double sum = penalty_of("tv:xy+tv:t=4+llr=0.5", NULL, SERIES, x);
    assert_at_most(fabs(sum / parts - 1), 1e-13);
}

TEST(dimensions_are_those_of_their_letters)
{
    cplx x[COUNT * FRAMES];
    for (int i = 0; i < COUNT * FRAMES; i++) x[i] = 1.0 * (i % N) + 10.0 * (i / N % N) + 100.0 * (i / COUNT);
    const double steps = (double)(N - 1) * N * FRAMES;
    assert_at_most(fabs(penalty_of("tv:x", NULL, SERIES, x) / steps - 1), 1e-12);
    assert_at_most(fabs(penalty_of("tv:y", NULL, SERIES, x) / (10 * steps) - 1), 1e-12);
    assert_at_most(fabs(penalty_of("tv:t", NULL, SERIES, x) / (100.0 * COUNT * (FRAMES - 1)) - 1), 1e-12);
    for (int i = 0; i < COUNT * FRAMES; i++) x[i] = i / COUNT == 0; /* along t: one coefficient of 1 in each of 3 */
    assert_at_most(fabs(penalty_of("fft:t", NULL, SERIES, x) / (COUNT * sqrt(FRAMES)) - 1), 1e-12);
    assert_at_most(fabs(penalty_of("l1", NULL, SERIES, x) / COUNT - 1), 1e-12);
}

/* ---- a series of several dimensions ---- */

enum { HEART = 4, BREATH = 3, TIMES = 2, STATES = HEART * BREATH * TIMES };
#define STATES_SHAPE LARMOR_SHAPE(N, N, STATES)

static const larmor_regulariser_opts states = {
    .series = 1, .frames = {HEART, BREATH, TIMES}, .letter = {'h', 'b', 't'}};

/* Differences from frame to frame, each step of a dimension by itself. */
static double steps_between(const cplx *x, int step, int length, int wraps)
{
    double sum = 0;
    for (int f = 0; f < STATES; f++) {
        const int place = f / step % length;
        const int next = place + 1 < length ? f + step : f - step * (length - 1);
        for (int i = 0; i < COUNT && (wraps || place + 1 < length); i++)
            sum += cabs(x[next * COUNT + i] - x[f * COUNT + i]);
    }
    return sum;
}

TEST(differences_along_the_heart_wrap_and_those_along_breath_and_time_do_not)
{
    HEAP cplx *x = random_values(COUNT * STATES, 9);
    assert_at_most(fabs(penalty_of("tv:h", &states, STATES_SHAPE, x) / steps_between(x, 1, HEART, 1) - 1), 1e-13);
    assert_at_most(fabs(penalty_of("tv:b", &states, STATES_SHAPE, x) / steps_between(x, HEART, BREATH, 0) - 1),
                   1e-13);
    assert_at_most(
        fabs(penalty_of("tv:t", &states, STATES_SHAPE, x) / steps_between(x, HEART * BREATH, TIMES, 0) - 1), 1e-13);
    const larmor_regulariser_opts two = {.series = 1, .frames = {2, BREATH, 2 * TIMES}, .letter = {'h', 'b', 0}};
    assert_at_most(fabs(penalty_of("tv:h", &two, STATES_SHAPE, x) / steps_between(x, 1, 2, 0) - 1), 1e-13);
}

TEST(operators_along_the_dimensions_of_a_series_have_their_adjoints_and_normal_maps)
{
    static const char *const names[] = {"tv:h", "tv:xhb", "tv:xy+tv:h+tv:b", "fft:h+wavelet:b=2+tv:t"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, names[i], &states, LARMOR_C128, STATES_SHAPE, &r));
        assert_at_most(adjoint_error(larmor_regulariser_penalty(r).K, 3), 1e-13);
        assert_at_most(normal_apart(larmor_regulariser_penalty(r).K), 1e-13);
    }
}

TEST(a_series_whose_dimensions_are_not_its_length_is_refused)
{
    larmor_regulariser *r;
    assert_refused(larmor_regulariser_create(dev, "tv:h", &states, LARMOR_C128, SERIES, &r), LARMOR_ERR_SHAPE,
                   "tv: the series has 3 frames, its dimensions have 24");
    const larmor_regulariser_opts hearts = {.series = 1, .frames = {FRAMES, 1, 1}, .letter = {'h', 0, 0}};
    assert_refused(larmor_regulariser_create(dev, "tv:t", &hearts, LARMOR_C128, SERIES, &r), LARMOR_ERR_ARG,
                   "tv: the image has no dimension t, but 2 of them and its series others");
}

/* ---- images ---- */

static problem problem_of(larmor_shape shape)
{
    const int count = (int)larmor_shape_count(shape);
    HEAP NEW(double, kept, count);
    HEAP NEW(cplx, truth, count);
    for (int i = 0; i < count; i++) {
        const double radius = 4 + 0.5 * (i / COUNT);
        kept[i] = i * 37 % COUNT < KEPT;
        truth[i] = hypot(i % N - 5, i / N % N - 6) < radius ? 1 + 0.3 * I : 0;
    }
    return problem_from(shape, truth, kept);
}

static cplx *solution(const problem *p, const char *name, double weight)
{
    OWNED(larmor_regulariser) *r = create(name, p->shape);
    OWNED(larmor_array) *x = zeros(LARMOR_C128, p->shape);
    assert_ok(larmor_regulariser_set_weight(r, weight));
    const larmor_solve_opts solve = {.max_iter = 1500, .tol = 1e-9};
    assert_ok(larmor_regularised(p->A, p->b, r, x, &solve, NULL));
    return values_of(x);
}

static void alike(const problem *p, const char *a, double wa, const char *b, double wb, double most)
{
    HEAP cplx *x = solution(p, a, wa), *y = solution(p, b, wb);
    assert_at_most(difference(x, y, larmor_shape_count(p->shape)), most);
}

TEST(a_sum_of_one_is_that_penalty)
{
    OWNED(problem) image = problem_of(IMAGE), series = problem_of(SERIES);
    alike(&image, "tv=2", 0.05, "tv", 0.1, 1e-6);
    alike(&image, "tgv=2", 0.05, "tgv", 0.1, 1e-6);
    alike(&image, "tv:xy", 0.1, "tv", 0.1, 0);
    alike(&series, "llr=4", 0.05, "llr", 0.2, 1e-6);
}

TEST(the_order_of_penalties_does_not_matter)
{
    OWNED(problem) series = problem_of(SERIES);
    alike(&series, "tv:xy+tv:t=2+l1=0.5", 0.05, "l1=0.5+tv:t=2+tv:xy", 0.05, 1e-5);
    alike(&series, "tgv+tv:t", 0.05, "tv:t+tgv", 0.05, 1e-5);
}

TEST(twice_all_ratios_at_half_the_weight_is_the_same)
{
    OWNED(problem) image = problem_of(IMAGE);
    alike(&image, "tv=1+l1=3", 0.08, "tv=2+l1=6", 0.04, 1e-6);
}

TEST(a_penalty_of_next_to_no_ratio_is_as_if_left_out)
{
    OWNED(problem) image = problem_of(IMAGE);
    alike(&image, "tv+l1=1e-6", 0.1, "tv", 0.1, 1e-4);
}

/* ---- a reference ---- */

/* Every column of A. */
static cplx *matrix_of(larmor_op *A)
{
    cplx *columns = malloc(sizeof *columns * COUNT * COUNT);
    for (int i = 0; i < COUNT; i++) {
        cplx unit[COUNT] = {0};
        unit[i] = 1;
        OWNED(larmor_array) *x = complex_array(LARMOR_C128, IMAGE, unit), *y = zeros(LARMOR_C128, IMAGE);
        assert_ok(larmor_op_forward(A, x, y));
        HEAP cplx *values = values_of(y);
        memcpy(columns + (ptrdiff_t)i * COUNT, values, sizeof *values * COUNT);
    }
    return columns;
}

static void differences(const cplx *x, cplx (*d)[2])
{
    for (int i = 0; i < COUNT; i++) {
        d[i][0] = i % N < N - 1 ? x[i + 1] - x[i] : 0;
        d[i][1] = i / N < N - 1 ? x[i + N] - x[i] : 0;
    }
}

/* 1/2 |A x - b|^2 + l1 |x|_1 + tv |x|_TV */
static double functional(const cplx *A, const cplx *b, double l1, double tv, const cplx *x)
{
    cplx r[COUNT], d[COUNT][2];
    double value = 0;
    memcpy(r, b, sizeof r);
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) r[j] -= A[i * COUNT + j] * x[i];
    differences(x, d);
    for (int i = 0; i < COUNT; i++) {
        value += creal(r[i] * conj(r[i])) / 2 + l1 * cabs(x[i]);
        value += tv * sqrt(creal(d[i][0] * conj(d[i][0]) + d[i][1] * conj(d[i][1])));
    }
    return value;
}

/* One step of Condat and Vu: forward in the data, backward in |x|_1, dual in the differences. */
static void condat_step(const cplx *A, const cplx *b, double l1, double tv, cplx *x, cplx (*p)[2])
{
    const double tau = 0.2, sigma = 0.45; /* 1 / tau - 8 sigma > |A|^2 / 2 */
    cplx r[COUNT], before[COUNT], d[COUNT][2];
    for (int j = 0; j < COUNT; j++) r[j] = -b[j];
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < COUNT; j++) r[j] += A[i * COUNT + j] * x[i];
    memcpy(before, x, sizeof before);
    for (int i = 0; i < COUNT; i++) {
        cplx g = -p[i][0] * (i % N < N - 1) - p[i][1] * (i / N < N - 1);
        if (i % N > 0) g += p[i - 1][0];
        if (i / N > 0) g += p[i - N][1];
        for (int j = 0; j < COUNT; j++) g += conj(A[i * COUNT + j]) * r[j];
        const cplx y = before[i] - tau * g;
        x[i] = cabs(y) > tau * l1 ? y * (1 - tau * l1 / cabs(y)) : 0;
    }
    for (int i = 0; i < COUNT; i++) before[i] = 2 * x[i] - before[i];
    differences(before, d);
    for (int i = 0; i < COUNT; i++) {
        for (int a = 0; a < 2; a++) p[i][a] += sigma * d[i][a];
        const double size = sqrt(creal(p[i][0] * conj(p[i][0]) + p[i][1] * conj(p[i][1])));
        for (int a = 0; a < 2 && size > tv; a++) p[i][a] *= tv / size;
    }
}

/* Condat, J. Optim. Theory Appl. 158, 460 (2013). */
TEST(the_functional_of_l1_and_tv_has_its_least_value)
{
    enum { STEPS = 4000 };
    const double weight = 0.1, ratios[] = {0.5, 4};
    OWNED(problem) p = problem_of(IMAGE);
    HEAP cplx *A = matrix_of(p.A), *b = values_of(p.b);
    for (int c = 0; c < 2; c++) {
        char name[32];
        cplx x[COUNT] = {0}, dual[COUNT][2] = {{0}};
        for (int i = 0; i < STEPS; i++) condat_step(A, b, weight * ratios[c], weight, x, dual);
        snprintf(name, sizeof name, "tv:xy+l1=%g", ratios[c]);
        HEAP cplx *image = solution(&p, name, weight);
        const double least = functional(A, b, weight * ratios[c], weight, x),
                     found = functional(A, b, weight * ratios[c], weight, image);
        assert_at_most(fabs(found / least - 1), 1e-4);
    }
}
