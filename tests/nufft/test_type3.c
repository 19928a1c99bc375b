/* Type 3: accuracy against the direct sum, adjointness, points of all kinds, refusals. SPDX-License-Identifier:
 * Apache-2.0
 */
#include "core/device.h"
#include "tests/nufft/direct.h"

typedef struct problem {
    int ndim;
    int64_t m, n, batch;
    double *points, *targets;
} problem;

/* m points of this half-width about `at`, n targets of that about `to`; the first ones reach the edges. */
static problem problem_create(int ndim, int64_t m, double at, double points, int64_t n, double to, double targets)
{
    uint64_t state = 4711 + (uint64_t)ndim;
    problem p = {.ndim = ndim, .m = m, .n = n, .batch = 1};
    p.points = malloc((size_t)(m * ndim + 1) * sizeof *p.points);
    p.targets = malloc((size_t)(n * ndim + 1) * sizeof *p.targets);
    for (int64_t i = 0; i < m * ndim; i++) {
        const double u = test_random(&state);
        const double end = i < ndim ? -1 : 1;
        p.points[i] = at + points * (i < 2 * ndim ? end : u);
    }
    for (int64_t i = 0; i < n * ndim; i++) {
        const double u = test_random(&state);
        const double end = i < ndim ? 1 : -1;
        p.targets[i] = to + targets * (i < 2 * ndim ? end : u);
    }
    return p;
}

LMR_FREES(end_problem, problem, points, targets)

static larmor_nufft *plan_for(const problem *p, larmor_nufft_opts o)
{
    o.type = 3;
    o.ndim = p->ndim;
    o.batch = p->batch;
    larmor_nufft *plan = MADE(larmor_nufft, larmor_nufft_create(dev, &o, &made));
    OWNED(larmor_array) *points = points_on_device(p->ndim, p->m, p->points),
                        *targets = points_on_device(p->ndim, p->n, p->targets);
    assert_ok(larmor_nufft_set_points(plan, points, targets));
    return plan;
}

static void apply(larmor_nufft *plan, const problem *p, larmor_dtype dtype, int adjoint, const double _Complex *in,
                  double _Complex *out)
{
    const int64_t from = adjoint ? p->n : p->m;
    const int64_t to = adjoint ? p->m : p->n;
    OWNED(larmor_array) *x = to_device(dtype, from * p->batch, in), *y;
    assert_ok(larmor_array_create(dev, dtype, LARMOR_SHAPE(to, p->batch), &y));
    assert_ok((adjoint ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, x, y));
    to_host(y, out);
}

/* Both directions, both signs, against the direct sum, relative to what random values give: few of them may cancel.
 */
static void check(const problem *p, double tol, larmor_dtype dtype, double limit)
{
    const int64_t most = p->m > p->n ? p->m : p->n;
    uint64_t state = 5;
    HEAP double _Complex *in = random_values(most, dtype, &state), *out = random_values(most, dtype, &state);
    HEAP double _Complex *truth = random_values(most, dtype, &state);
    for (int sign = -1; sign <= 1; sign += 2) {
        OWNED(larmor_nufft) *plan = plan_for(p, (larmor_nufft_opts){.sign = sign, .tol = tol, .dtype = dtype});
        for (int adjoint = 0; adjoint < 2; adjoint++) {
            direct_type3(adjoint, sign, p->ndim, p->m, p->points, p->n, p->targets, in, truth);
            apply(plan, p, dtype, adjoint, in, out);
            const int64_t from = adjoint ? p->n : p->m;
            const int64_t to = adjoint ? p->m : p->n;
            double size = 0, norm = 0;
            for (int64_t i = 0; i < from; i++) norm += creal(in[i] * conj(in[i]));
            for (int64_t i = 0; i < to; i++) size += creal(truth[i] * conj(truth[i]));
            assert_at_most(relative_l2(to, out, truth) * fmin(1, sqrt(size / (norm * (double)to))), limit);
        }
    }
}

/* ---- accuracy ---- */

/* So many tolerances a decade: kept down to `reach`; below that nearly kept, or refused. */
static void check_sweep(larmor_dtype dtype, double upsample, int steps, double reach)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        OWNED(sweep3) s = sweep3_create(ndim, dtype);
        for (int k = steps;; k++) {
            const double tol = pow(10, -(double)k / steps);
            larmor_nufft_info info;
            double error[2];
            if (sweep3_run(&s, tol, upsample, &info, error)) {
                if (tol >= reach * 0.999) fail_msg("%dD at %g: %s", ndim, tol, larmor_last_error());
                assert_non_null(strstr(larmor_last_error(), "is out of reach"));
                break;
            }
            /* a GPU adds in another order, which shows near rounding */
            const double limit = (tol < reach ? 1.1 : 1) * (dev->be->threads(dev->ctx) ? 1 : 1.2) * tol;
            assert_at_most(error[0], limit);
            assert_at_most(error[1], limit);
            assert_at_most(info.error, tol);
            if (upsample > 0) assert_true(info.upsample >= upsample);
        }
    }
}

TEST(single_precision_keeps_every_tolerance_down_to_1e_6)
{
    check_sweep(LARMOR_C64, 0, 8, 1e-6);
}

TEST(double_precision_keeps_every_tolerance_down_to_1e_14)
{
    check_sweep(LARMOR_C128, 0, 8, 1e-14);
}

TEST(an_upsampling_that_is_asked_for_keeps_what_it_accepts)
{
    check_sweep(LARMOR_C64, 1.25, 1, 1e-4);
    check_sweep(LARMOR_C128, 1.25, 1, 1e-8);
    check_sweep(LARMOR_C128, 2, 1, 1e-14);
}

TEST(few_points_and_targets_in_the_corners_keep_three_times_the_tolerance)
{
    static const int64_t counts[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 400}, {400, 3}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            OWNED(problem) p = problem_create(ndim, counts[i][0], 0.2, 1.5, counts[i][1], -3, 4);
            for (double tol = 1e-2; tol > 1e-13; tol *= 1e-3) check(&p, tol, LARMOR_C128, 3 * tol);
            check(&p, 1e-5, LARMOR_C64, 3e-5);
        }
}

/* Most of the points, of the targets or of both in the corners of their boxes. */
static problem cornered_problem(int ndim, int which, double product)
{
    uint64_t state = 100 + (uint64_t)(ndim + which);
    problem p = problem_create(ndim, 300, 0.3, 0.5, 320, 1.7, 0.5 * product);
    for (int64_t i = 0; i < p.m && which != 1; i++)
        for (int d = 0; d < ndim && i % 20; d++) p.points[i * ndim + d] = test_random(&state) < 0 ? -0.2 : 0.8;
    for (int64_t i = 0; i < p.n && which != 0; i++)
        for (int d = 0; d < ndim && i % 20; d++)
            p.targets[i * ndim + d] = 1.7 + (test_random(&state) < 0 ? -0.5 : 0.5) * product;
    return p;
}

TEST(many_points_or_targets_at_the_ends_of_their_boxes_keep_twice_the_tolerance)
{
    static const double products[3][2] = {{17.3, 120}, {12.6, 25}, {7.7, 16}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int which = of_all(ndim - 1, 0); which <= of_all(ndim - 1, 2); which++)
            for (int i = 0; i < 2; i++) { /* each of the two has every second decade */
                OWNED(problem) p = cornered_problem(ndim, which, products[ndim - 1][i]);
                for (double tol = i ? 1e-3 : 1e-4; tol > 5e-13; tol *= 0.01) check(&p, tol, LARMOR_C128, 2 * tol);
                for (double tol = i ? 1e-4 : 1e-3; tol > 5e-6; tol *= 0.01) check(&p, tol, LARMOR_C64, 2 * tol);
            }
}

TEST(long_and_thin_boxes_are_right)
{
    problem p = problem_create(1, 80, 10, 300, 70, 5, 20); /* 24000 cycles across both */
    check(&p, 1e-5, LARMOR_C64, 2e-5);
    check(&p, 1e-11, LARMOR_C128, 2e-11);
    end_problem(&p);
    p = problem_create(3, 200, 0, 1, 150, 0, 1);
    for (int64_t i = 0; i < p.m; i++) {
        p.points[3 * i] *= 40;
        p.points[3 * i + 1] *= 1e-3;
        p.points[3 * i + 2] = 7;
    }
    for (int64_t i = 0; i < p.n; i++) {
        p.targets[3 * i + 1] *= 20;
        p.targets[3 * i + 2] *= 50;
    }
    check(&p, 1e-5, LARMOR_C64, 2e-5);
    check(&p, 1e-11, LARMOR_C128, 2e-11);
    end_problem(&p);
}

TEST(boxes_far_from_the_origin_cost_neither_accuracy_nor_grid)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        OWNED(problem) p = problem_create(ndim, 60, 1e6, 1, 50, -3e5, 2),
                       near = problem_create(ndim, 60, 0, 1, 50, 0, 2);
        /* multiples of 2^-20, so that the boxes differ by their places alone */
        for (int64_t i = 0; i < 60 * ndim; i++) p.points[i] = rint(p.points[i] * 0x1p20) * 0x1p-20;
        for (int64_t i = 0; i < 50 * ndim; i++) p.targets[i] = rint(p.targets[i] * 0x1p20) * 0x1p-20;
        check(&p, 1e-6, LARMOR_C64, 1e-6);
        check(&p, 1e-10, LARMOR_C128, 1e-10);
        OWNED(larmor_nufft) *far_plan = plan_for(&p, (larmor_nufft_opts){.tol = 1e-6}),
                            *near_plan = plan_for(&near, (larmor_nufft_opts){.tol = 1e-6});
        const larmor_nufft_info a = larmor_nufft_describe(far_plan), b = larmor_nufft_describe(near_plan);
        assert_memory_equal(a.grid, b.grid, sizeof a.grid);
    }
}

TEST(type_1_and_2_problems_give_the_same_as_type_1_and_2)
{
    enum { N = 24, M = 90 };
    OWNED(problem) p = problem_create(1, M, 0, N / 2.0, N, 0, 0);
    for (int r = 0; r < N; r++) p.targets[r] = (r - N / 2) / (double)N;
    uint64_t seed = 8;
    HEAP double _Complex *in = random_values(M, LARMOR_C128, &seed), *out = random_values(M, LARMOR_C128, &seed);
    double _Complex truth[M];
    OWNED(larmor_nufft) *plan = plan_for(&p, (larmor_nufft_opts){.sign = 1, .tol = 1e-11, .dtype = LARMOR_C128});
    direct_nufft(1, 1, 1, (int64_t[]){N, 1, 1}, M, p.points, in, truth);
    apply(plan, &p, LARMOR_C128, 0, in, out);
    assert_at_most(relative_l2(N, out, truth), 1e-11);
    direct_nufft(2, -1, 1, (int64_t[]){N, 1, 1}, M, p.points, in, truth);
    apply(plan, &p, LARMOR_C128, 1, in, out);
    assert_at_most(relative_l2(M, out, truth), 1e-11);
}

/* ---- degenerate extents ---- */

TEST(equal_points_and_equal_targets_are_right)
{
    static const double widths[][2] = {{0, 0},           {0, 3},      {3, 0},     {1e-9, 1e-9},
                                       {1e-300, 1e-300}, {0, 1e-320}, {1e-320, 5}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
            problem p = problem_create(ndim, 7, 0, widths[i][0], 9, 0, widths[i][1]);
            check(&p, 1e-10, LARMOR_C128, 1e-10);
            check(&p, 1e-4, LARMOR_C64, 1e-4);
            end_problem(&p);
            p = problem_create(ndim, 7, 2.5, 0, 9, -1.25, widths[i][1]);
            check(&p, 1e-10, LARMOR_C128, 1e-10);
            end_problem(&p);
        }
}

TEST(no_points_give_zeros_and_no_targets_give_nothing)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        double _Complex in[12] = {1, 2, 3}, out[12];
        problem p = problem_create(ndim, 0, 0, 1, 12, 0, 1);
        larmor_nufft *plan = plan_for(&p, (larmor_nufft_opts){0});
        for (int i = 0; i < 12; i++) out[i] = 7;
        apply(plan, &p, LARMOR_C64, 0, in, out);
        for (int i = 0; i < 12; i++) assert_true(out[i] == 0);
        apply(plan, &p, LARMOR_C64, 1, in, out);
        larmor_nufft_free(plan);
        end_problem(&p);
        p = problem_create(ndim, 12, 0, 1, 0, 0, 1);
        plan = plan_for(&p, (larmor_nufft_opts){0});
        apply(plan, &p, LARMOR_C64, 0, in, out);
        for (int i = 0; i < 12; i++) out[i] = 7;
        apply(plan, &p, LARMOR_C64, 1, in, out);
        for (int i = 0; i < 12; i++) assert_true(out[i] == 0);
        larmor_nufft_free(plan);
        end_problem(&p);
    }
}

/* ---- the adjoint, batches, threads, points ---- */

TEST(the_adjoint_is_the_conjugate_transpose_to_rounding)
{
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int precision = 0; precision < 2; precision++) {
            const larmor_dtype dtype = precision ? LARMOR_C128 : LARMOR_C64;
            OWNED(problem) p = problem_create(ndim, 300, 0.4, 2, 250, 3, 3);
            uint64_t seed = 21;
            HEAP double _Complex *x = random_values(300, dtype, &seed), *y = random_values(250, dtype, &seed);
            HEAP double _Complex *ax = random_values(250, dtype, &seed), *ay = random_values(300, dtype, &seed);
            /* a tolerance far above rounding: the pair must be exact all the same */
            OWNED(larmor_nufft) *plan = plan_for(&p, (larmor_nufft_opts){.tol = 1e-2, .dtype = dtype});
            apply(plan, &p, dtype, 0, x, ax);
            apply(plan, &p, dtype, 1, y, ay);
            double _Complex left = 0, right = 0;
            double norm_ax = 0, norm_y = 0;
            for (int i = 0; i < 250; i++) {
                left += conj(ax[i]) * y[i];
                norm_ax += creal(ax[i] * conj(ax[i]));
                norm_y += creal(y[i] * conj(y[i]));
            }
            for (int i = 0; i < 300; i++) right += conj(x[i]) * ay[i];
            assert_at_most(cabs(left - right), (precision ? 1e-15 : 5e-7) * sqrt(norm_ax * norm_y));
        }
}

TEST(a_batch_is_the_single_transforms)
{
    enum { BATCH = 11, M = 130, N = 90 };
    OWNED(problem) p = problem_create(2, M, 0.4, 2, N, 1, 3);
    uint64_t seed = 12;
    for (int adjoint = 0; adjoint < 2; adjoint++)
        for (int64_t most = 0; most <= 20; most += 4) {
            const int64_t from = adjoint ? N : M;
            const int64_t to = adjoint ? M : N;
            HEAP double _Complex *in = random_values(BATCH * from, LARMOR_C128, &seed);
            double _Complex *out = random_values(BATCH * to, LARMOR_C128, &seed), single[M];
            p.batch = BATCH;
            larmor_nufft *plan =
                plan_for(&p, (larmor_nufft_opts){.tol = 1e-9, .dtype = LARMOR_C128, .max_batch = most});
            apply(plan, &p, LARMOR_C128, adjoint, in, out);
            const int64_t per_pass = larmor_nufft_describe(plan).per_pass;
            const int64_t halves = most == 4 ? 4 : 6; /* of 11, as even as max_batch allows */
            assert_int_equal(per_pass, most < BATCH ? halves : BATCH);
            larmor_nufft_free(plan);
            p.batch = 1;
            plan = plan_for(&p, (larmor_nufft_opts){.tol = 1e-9, .dtype = LARMOR_C128});
            for (int b = 0; b < BATCH; b++) {
                apply(plan, &p, LARMOR_C128, adjoint, in + b * from, single);
                assert_at_most(relative_l2(to, out + b * to, single), dev->be->threads(dev->ctx) ? 2e-15 : 1e-13);
            }
            larmor_nufft_free(plan);
            free(out);
        }
}

TEST(points_can_be_set_again_and_a_failure_leaves_the_plan_as_it_was)
{
    OWNED(problem) first = problem_create(2, 50, 0, 1, 40, 0, 3), second = problem_create(2, 70, 5, 4, 20, 1, 2);
    uint64_t seed = 3;
    double _Complex *in = random_values(70, LARMOR_C128, &seed), out[70], truth[70];
    OWNED(larmor_nufft) *plan = plan_for(&first, (larmor_nufft_opts){.tol = 1e-9, .dtype = LARMOR_C128});
    for (int round = 0; round < 3; round++) {
        problem *p = round == 1 ? &second : &first;
        OWNED(larmor_array) *points = points_on_device(2, p->m, p->points),
                            *targets = points_on_device(2, p->n, p->targets);
        assert_ok(larmor_nufft_set_points(plan, points, targets));
        for (int i = 0; i < 2; i++) { /* refused in the points, then in the targets */
            double bad[8] = {0, 0, 0, 0, 0, i ? NAN : INFINITY, 0, NAN};
            OWNED(larmor_array) *wrong = points_on_device(2, 4, bad);
            assert_refused(larmor_nufft_set_points(plan, i ? points : wrong, i ? wrong : targets), LARMOR_ERR_NUMERIC,
                           i ? "nufft: target 2 is not finite" : "nufft: point 2 is not finite");
        }
        direct_type3(0, 1, 2, p->m, p->points, p->n, p->targets, in, truth);
        apply(plan, p, LARMOR_C128, 0, in, out);
        assert_at_most(relative_l2(p->n, out, truth), 1e-9);
    }
    free(in);
}

TEST(single_points_and_targets_serve_plans_of_either_precision)
{
    enum { M = 50, N = 30 };
    uint64_t seed = 4;
    float points[M], targets[N];
    double double_points[M], double_targets[N];
    for (int i = 0; i < M; i++) double_points[i] = points[i] = (float)(3 + test_random(&seed));
    for (int i = 0; i < N; i++) double_targets[i] = targets[i] = (float)(7 * test_random(&seed));
    for (int precision = 0; precision < 2; precision++) {
        const larmor_dtype dtype = precision ? LARMOR_C128 : LARMOR_C64;
        double _Complex *in = random_values(M, dtype, &seed), out[2][N];
        for (int k = 0; k < 2; k++) {
            const larmor_dtype real = k ? LARMOR_F64 : LARMOR_F32;
            OWNED(larmor_nufft) *plan;
            OWNED(larmor_array) *x, *s, *c = to_device(dtype, M, in), *f;
            assert_ok(larmor_nufft_create(dev, &(larmor_nufft_opts){.type = 3, .ndim = 1, .dtype = dtype}, &plan));
            assert_ok(larmor_array_create(dev, real, LARMOR_SHAPE(1, M), &x));
            assert_ok(larmor_array_create(dev, real, LARMOR_SHAPE(1, 6, N / 6), &s));
            assert_ok(larmor_array_create(dev, dtype, LARMOR_SHAPE(N), &f));
            assert_ok(larmor_array_write(x, k ? (void *)double_points : points, larmor_array_bytes(x)));
            assert_ok(larmor_array_write(s, k ? (void *)double_targets : targets, larmor_array_bytes(s)));
            assert_ok(larmor_nufft_set_points(plan, x, s));
            assert_ok(larmor_nufft_execute(plan, c, f));
            to_host(f, out[k]);
        }
        assert_memory_equal(out[0], out[1], sizeof out[0]);
        free(in);
    }
}

TEST(results_do_not_depend_on_the_number_of_threads)
{
    enum { M = 20000, N = 15000 };
    if (strncmp(larmor_device_spec(dev), "cpu", 3) != 0) skip();
    larmor_device *const before = dev;
    OWNED(problem) p = problem_create(2, M, 0.3, 5, N, 1, 8);
    uint64_t seed = 77;
    HEAP double _Complex *in = random_values(M, LARMOR_C64, &seed), *one = random_values(M, LARMOR_C64, &seed);
    HEAP double _Complex *several = random_values(M, LARMOR_C64, &seed);
    for (int adjoint = 0; adjoint < 2; adjoint++) {
        for (int threads = 1; threads <= 5; threads += 4) {
            assert_ok(larmor_device_open(threads == 1 ? "cpu:1" : "cpu:5", &dev));
            OWNED(larmor_nufft) *plan = plan_for(&p, (larmor_nufft_opts){.tol = 1e-4});
            apply(plan, &p, LARMOR_C64, adjoint, in, threads == 1 ? one : several);
            larmor_device_free(dev);
        }
        assert_memory_equal(one, several, (adjoint ? M : N) * sizeof *one);
    }
    dev = before;
}

/* ---- refusals ---- */

TEST(grids_without_room_are_refused_with_their_sizes)
{
    static const struct {
        double points, targets;
        larmor_status status;
        const char *text;
    } cases[] = {
        {30, 1e3, LARMOR_ERR_MEMORY,
         "widths of points and targets multiply to 1.2e+05 x 1.2e+05 x 1.2e+05: type 3 needs grids of "},
        {1e6, 1e6, LARMOR_ERR_MEMORY, "points and targets are too far apart: type 3 needs a grid of "},
        {1e200, 1e200, LARMOR_ERR_MEMORY, "type 3 needs a grid of inf x inf x inf cells; split them into clusters"},
    };
    larmor_nufft *plan =
        MADE(larmor_nufft, larmor_nufft_create(dev, &(larmor_nufft_opts){.type = 3, .ndim = 3}, &made));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(problem) p = problem_create(3, 5, 0, cases[i].points, 6, 0, cases[i].targets);
        OWNED(larmor_array) *x = points_on_device(3, p.m, p.points), *s = points_on_device(3, p.n, p.targets);
        assert_refused(larmor_nufft_set_points(plan, x, s), cases[i].status, cases[i].text);
    }
    problem p = problem_create(3, 5, 1e200, 1, 6, 1e200, 1);
    larmor_array *x = points_on_device(3, p.m, p.points), *s = points_on_device(3, p.n, p.targets);
    assert_refused(larmor_nufft_set_points(plan, x, s), LARMOR_ERR_ARG, "their product overflows");
    LMR_FREE(x, s);
    end_problem(&p);
    larmor_nufft_free(plan);
    assert_ok(larmor_nufft_create(dev, &(larmor_nufft_opts){.type = 3, .ndim = 1}, &plan));
    p = problem_create(1, 5, 0, 1e7, 6, 0, 1e7);
    x = points_on_device(1, p.m, p.points);
    s = points_on_device(1, p.n, p.targets);
    assert_refused(larmor_nufft_set_points(plan, x, s), LARMOR_ERR_MEMORY,
                   "points and targets are too far apart: type 3 needs a grid of ");
    LMR_FREE(x, s);
    end_problem(&p);
    larmor_nufft_free(plan);
}

TEST(what_does_not_fit_is_refused)
{
    larmor_array *points, *targets, *flat, *values, *out;
    larmor_nufft *plan =
        MADE(larmor_nufft, larmor_nufft_create(dev, &(larmor_nufft_opts){.type = 3, .ndim = 2}, &made));
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(2, 5), &points));
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(2, 7), &targets));
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(3, 7), &flat));
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(5), &values));
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(7), &out));
    assert_refused(larmor_nufft_execute(plan, values, out), LARMOR_ERR_ARG, "has no points");
    assert_refused(larmor_nufft_set_points(plan, points, NULL), LARMOR_ERR_ARG, "type 3 needs targets");
    assert_refused(larmor_nufft_set_points(plan, points, flat), LARMOR_ERR_SHAPE, "targets are f32 [3, 7]");
    assert_refused(larmor_nufft_set_points(plan, values, targets), LARMOR_ERR_SHAPE, "points are c64 [5]");
    assert_ok(larmor_nufft_set_points(plan, points, targets));
    assert_refused(larmor_nufft_execute(plan, out, values), LARMOR_ERR_SHAPE, "nufft: values are c64 [7]");
    assert_refused(larmor_nufft_execute(plan, values, values), LARMOR_ERR_SHAPE,
                   "nufft: values at the targets are c64 [5]");
    assert_ok(larmor_nufft_execute(plan, values, out));
    assert_refused(larmor_nufft_execute_adjoint(plan, values, out), LARMOR_ERR_SHAPE,
                   "values at the targets are c64 [5]");
    LMR_FREE(points, targets, flat, values, out);
    larmor_nufft_free(plan);
    const larmor_nufft_opts o = {.type = 3, .ndim = 2, .tol = 1e-9};
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_NUMERIC,
                   "nufft: tolerance 1e-09 is out of reach in single precision; ");
}

TEST(the_memory_that_is_foretold_covers_the_grids)
{
    OWNED(problem) p = problem_create(2, 400, 0, 8, 300, 0, 5); /* 16 x 10 cycles across both */
    int64_t bytes;
    larmor_nufft_opts o = {.type = 3, .ndim = 2, .modes = {160, 160}, .tol = 1e-6, .dtype = LARMOR_C128};
    assert_ok(larmor_nufft_memory(dev, &o, p.m + p.n, &bytes));
    OWNED(larmor_nufft) *plan = plan_for(&p, (larmor_nufft_opts){.tol = 1e-6, .dtype = LARMOR_C128});
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    assert_true(info.grid[0] >= 160 && info.inner_grid[0] > info.grid[0]);
    assert_true(bytes >= 16 * (info.grid[0] * info.grid[1] + info.inner_grid[0] * info.inner_grid[1]));
    o.modes[1] = 0;
    assert_refused(larmor_nufft_memory(dev, &o, p.m, &bytes), LARMOR_ERR_ARG,
                   "nufft memory: modes[1]: got 0, expected the widths of points and targets multiplied");
}
