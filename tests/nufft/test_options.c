/* Options of a plan: each does what it says, and what contradicts another is refused. SPDX-License-Identifier: Apache-2.0
 */
#include "tests/nufft/direct.h"

static const int64_t sizes[3][3] = {{40, 1, 1}, {18, 15, 1}, {8, 9, 7}};
enum { M = 150 };

static int is_cpu(void)
{
    return strncmp(larmor_device_spec(dev), "cpu", 3) == 0;
}

static int64_t count_of(const int64_t *modes)
{
    return modes[0] * modes[1] * modes[2];
}

static larmor_nufft_opts options(int type, int ndim, double tol)
{
    larmor_nufft_opts o = {.type = type, .ndim = ndim, .tol = tol, .dtype = LARMOR_C128};
    memcpy(o.modes, sizes[ndim - 1], sizeof o.modes);
    return o;
}

static double *random_points(const larmor_nufft_opts *o)
{
    uint64_t state = 31;
    double *points = malloc(M * 3 * sizeof *points);
    for (int64_t i = 0; i < M * o->ndim; i++)
        points[i] = test_random(&state) * (double)(o->type == 3 ? 3 : o->modes[i % o->ndim]) / 2;
    return points;
}

/* What a plan makes of `in`, to_modes or back; type 3 uses the points as targets, too. */
static larmor_nufft_info apply(larmor_nufft_opts o, const double *points, int adjoint, const double _Complex *in,
                               double _Complex *out)
{
    const int to_modes = (o.type == 1) != (adjoint != 0);
    const int64_t batch = o.batch ? o.batch : 1, modes = o.type == 3 ? M : count_of(o.modes);
    larmor_nufft *plan;
    assert_ok(larmor_nufft_create(dev, &o, &plan));
    larmor_array *k = points_on_device(o.ndim, M, points);
    larmor_array *x = to_device(o.dtype, batch * (o.type == 3 || to_modes ? M : modes), in), *y;
    assert_ok(larmor_nufft_set_points(plan, k, o.type == 3 ? k : NULL));
    assert_ok(larmor_array_create(dev, o.dtype, LARMOR_SHAPE(o.type != 3 && to_modes ? modes : M, batch), &y));
    assert_ok((adjoint ? larmor_nufft_execute_adjoint : larmor_nufft_execute)(plan, x, y));
    to_host(y, out);
    const larmor_nufft_info info = larmor_nufft_describe(plan);
    larmor_array_free(k);
    larmor_array_free(x);
    larmor_array_free(y);
    larmor_nufft_free(plan);
    return info;
}

static void expect_refusal(larmor_nufft_opts o, larmor_status status, const char *text)
{
    larmor_nufft *plan = (larmor_nufft *)&plan;
    assert_refused(larmor_nufft_create(dev, &o, &plan), status, text);
    assert_null(plan);
}

/* ---- mode order ---- */

/* Index in FFT order of centred index i. */
static int64_t fft_index(int64_t i, int64_t n)
{
    return (i + n - n / 2) % n;
}

static void fft_order_is_the_centred_one_turned_round(void **state)
{
    (void)state;
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 2; type++)
            for (int adjoint = 0; adjoint < 2; adjoint++) {
                enum { MOST = 8 * 9 * 7 };
                larmor_nufft_opts o = options(type, ndim, 1e-8);
                const int64_t *n = o.modes, count = count_of(n);
                const int to_modes = (type == 1) != adjoint;
                uint64_t seed = 3;
                double *points = random_points(&o);
                double _Complex *in = random_values(MOST, LARMOR_C128, &seed), turned[MOST], a[MOST], b[MOST];
                for (int64_t i = 0; i < MOST; i++) turned[i] = in[i];
                int64_t to[MOST];
                for (int64_t i = 0; i < count; i++)
                    to[i] = fft_index(i % n[0], n[0]) +
                            n[0] * (fft_index(i / n[0] % n[1], n[1]) + n[1] * fft_index(i / (n[0] * n[1]), n[2]));
                for (int64_t i = 0; i < count && !to_modes; i++) turned[to[i]] = in[i];
                apply(o, points, adjoint, in, a);
                o.mode_order = LARMOR_MODES_FFT;
                apply(o, points, adjoint, turned, b);
                for (int64_t i = 0; i < (to_modes ? count : M); i++)
                    assert_at_most(cabs(a[i] - b[to_modes ? to[i] : i]), 1e-12);
                free(points);
                free(in);
            }
}

/* ---- spreading alone ---- */

static void spreading_sums_the_window_around_each_point(void **state)
{
    (void)state;
    for (int order = 0; order < 2; order++)
        for (int64_t n = 40; n <= 41; n++) {
            larmor_nufft_opts o = options(1, 1, 1e-6);
            o.spread_only = 1;
            o.modes[0] = n;
            o.mode_order = order ? LARMOR_MODES_FFT : LARMOR_MODES_CENTRED;
            double *points = calloc(M, sizeof *points);
            points[0] = 7;
            points[1] = 3.25 + 10 * (double)n;
            double _Complex in[M] = {1}, out[41];
            const larmor_nufft_info info = apply(o, points, 0, in, out);
            assert_int_equal(info.grid[0], n);
            const int64_t centre = order ? 7 : 7 + n / 2;
            assert_at_most(cabs(out[centre] - 1), 1e-6); /* the window is 1 in its middle, and symmetric */
            for (int64_t i = 1; i <= n / 2; i++) {
                const double _Complex left = out[(centre + n - i) % n], right = out[(centre + i) % n];
                assert_at_most(cabs(left - right), 1e-12);
                if (2 * i > info.width) assert_true(right == 0);
                if (2 * i < info.width) assert_true(creal(right) > 0);
            }
            in[0] = 0;
            in[1] = 1;
            apply(o, points, 0, in, out);
            assert_at_most(cabs(out[(order ? 3 : 3 + n / 2)]), 1);
            assert_true(cabs(out[(order ? 3 : 3 + n / 2)]) > cabs(out[(order ? 4 : 4 + n / 2)]));
            free(points);
        }
}

static void interpolation_alone_is_the_transpose_of_spreading_alone(void **state)
{
    (void)state;
    static const int64_t grids[3][3] = {{33, 1, 1}, {20, 17, 1}, {14, 15, 16}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int order = 0; order < 2; order++) {
            larmor_nufft_opts o = options(1, ndim, 1e-4);
            memcpy(o.modes, grids[ndim - 1], sizeof o.modes);
            o.spread_only = 1;
            o.mode_order = order ? LARMOR_MODES_FFT : LARMOR_MODES_CENTRED;
            o.batch = 3;
            const int64_t count = 3 * count_of(o.modes);
            uint64_t seed = 5;
            double *points = random_points(&o);
            double _Complex *x = random_values(3 * M, LARMOR_C128, &seed),
                            *y = random_values(count, LARMOR_C128, &seed);
            double _Complex *sx = random_values(count, LARMOR_C128, &seed), left = 0, right = 0;
            double _Complex *sy = random_values(3 * M, LARMOR_C128, &seed),
                            *again = random_values(3 * M, LARMOR_C128, &seed);
            apply(o, points, 0, x, sx);
            apply(o, points, 1, y, sy);
            for (int64_t i = 0; i < count; i++) left += conj(sx[i]) * y[i];
            for (int64_t i = 0; i < 3 * M; i++) right += conj(x[i]) * sy[i];
            assert_at_most(cabs(left - right), 1e-12 * cabs(left) + 1e-10);
            o.type = 2;
            apply(o, points, 0, y, again);
            assert_memory_equal(sy, again, 3 * M * sizeof *sy);
            free(points);
            free(x);
            free(y);
            free(sx);
            free(sy);
            free(again);
        }
}

static void a_grid_for_spreading_must_hold_two_windows(void **state)
{
    (void)state;
    larmor_nufft_opts o = options(1, 2, 1e-6);
    o.spread_only = 1;
    o.modes[1] = 9;
    expect_refusal(o, LARMOR_ERR_ARG, "nufft: modes[1]: got 9 with spread_only, expected at least ");
}

/* ---- sign, batches, threads ---- */

static void the_sign_conjugates(void **state)
{
    (void)state;
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        uint64_t seed = 6;
        double *points = random_points(&o);
        double _Complex *in = random_values(18 * 15, LARMOR_C128, &seed), plus[18 * 15], minus[18 * 15],
                        usual[18 * 15];
        const int64_t n = type == 1 ? 18 * 15 : M;
        o.sign = 1;
        apply(o, points, 0, in, plus);
        o.sign = 0;
        apply(o, points, 0, in, usual);
        for (int i = 0; i < 18 * 15; i++) in[i] = conj(in[i]);
        o.sign = -1;
        apply(o, points, 0, in, minus);
        for (int64_t i = 0; i < n; i++) assert_at_most(cabs(plus[i] - conj(minus[i])), 1e-10);
        for (int i = 0; i < 18 * 15; i++) in[i] = conj(in[i]);
        apply(o, points, 0, in, minus);
        assert_memory_equal(usual, type == 2 ? minus : plus, (size_t)n * sizeof *usual);
        free(points);
        free(in);
    }
}

static void any_number_of_transforms_may_share_a_pass(void **state)
{
    (void)state;
    enum { BATCH = 7 };
    for (int type = 1; type <= 2; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        o.batch = BATCH;
        const int64_t n_in = BATCH * (type == 1 ? M : 18 * 15), n_out = BATCH * (type == 1 ? 18 * 15 : M);
        uint64_t seed = 7;
        double *points = random_points(&o);
        double _Complex *in = random_values(n_in, LARMOR_C128, &seed),
                        *one = random_values(n_out, LARMOR_C128, &seed);
        double _Complex *several = random_values(n_out, LARMOR_C128, &seed);
        o.max_batch = 1;
        assert_int_equal(apply(o, points, 0, in, one).together, 1);
        for (o.max_batch = 2; o.max_batch < 10; o.max_batch++) {
            const int64_t together = apply(o, points, 0, in, several).together;
            assert_true(together <= o.max_batch && together <= BATCH && together > 1);
            assert_at_most(relative_l2(n_out, several, one), 1e-14);
        }
        free(points);
        free(in);
        free(one);
        free(several);
    }
}

static void threads_change_nothing_but_their_number(void **state)
{
    (void)state;
    if (!is_cpu()) skip();
    larmor_device *before = dev;
    assert_ok(larmor_device_open("cpu:3", &dev));
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        uint64_t seed = 8;
        double *points = random_points(&o);
        double _Complex *in = random_values(18 * 15, LARMOR_C128, &seed), all[18 * 15], few[18 * 15];
        assert_int_equal(apply(o, points, 0, in, all).threads, 3);
        for (o.threads = 1; o.threads <= 3; o.threads++) {
            assert_int_equal(apply(o, points, 0, in, few).threads, o.threads);
            assert_memory_equal(all, few, (size_t)(type == 1 ? 18 * 15 : M) * sizeof *all);
        }
        free(points);
        free(in);
    }
    larmor_nufft_opts o = options(1, 2, 1e-9);
    o.threads = 4;
    expect_refusal(o, LARMOR_ERR_ARG, "nufft: threads: got 4, expected 1 .. 3 of cpu:3, or 0 for all");
    larmor_device_free(dev);
    dev = before;
}

/* ---- methods and sorting ---- */

static void every_method_gives_the_same_on_a_gpu(void **state)
{
    (void)state;
    if (is_cpu()) skip();
    static const larmor_nufft_method methods[] = {LARMOR_NUFFT_GM, LARMOR_NUFFT_GM_SORT, LARMOR_NUFFT_SM,
                                                  LARMOR_NUFFT_OWNER};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 3; type++) {
            larmor_nufft_opts o = options(type, ndim, 1e-9);
            const int64_t n = type == 1 ? count_of(o.modes) : M;
            uint64_t seed = 9;
            double *points = random_points(&o);
            double _Complex *in = random_values(8 * 9 * 7, LARMOR_C128, &seed), usual[8 * 9 * 7], out[8 * 9 * 7];
            const larmor_nufft_info chosen = apply(o, points, 0, in, usual);
            assert_true(chosen.spread_method != LARMOR_NUFFT_AUTO && chosen.interp_method != LARMOR_NUFFT_AUTO);
            for (int i = 0; i < 4; i++) {
                o.method = methods[i];
                const larmor_nufft_info info = apply(o, points, 0, in, out);
                assert_at_most(relative_l2(n, out, usual), 1e-13);
                if (i < 2) assert_true(info.spread_method == methods[i] && info.interp_method == methods[i]);
                if (i == 3) assert_int_equal(info.spread_method, LARMOR_NUFFT_OWNER);
            }
            o.method = LARMOR_NUFFT_AUTO;
            o.sort = LARMOR_NUFFT_SORT_OFF;
            assert_int_equal(apply(o, points, 0, in, out).spread_method, LARMOR_NUFFT_GM);
            assert_at_most(relative_l2(n, out, usual), 1e-13);
            o.sort = LARMOR_NUFFT_SORT_ON;
            assert_true(apply(o, points, 0, in, out).spread_method != LARMOR_NUFFT_GM);
            free(points);
            free(in);
        }
}

static void a_processor_has_one_method_and_orders_points_by_itself(void **state)
{
    (void)state;
    if (!is_cpu()) skip();
    larmor_nufft_opts o = options(2, 2, 1e-6);
    o.sort = LARMOR_NUFFT_SORT_ON;
    uint64_t seed = 4;
    double *points = random_points(&o);
    double _Complex *in = random_values(18 * 15, LARMOR_C128, &seed), out[M];
    const larmor_nufft_info info = apply(o, points, 0, in, out);
    assert_true(info.spread_method == LARMOR_NUFFT_AUTO && info.interp_method == LARMOR_NUFFT_AUTO);
    o.sort = LARMOR_NUFFT_SORT_OFF;
    expect_refusal(o, LARMOR_ERR_UNSUPPORTED, "nufft: sort: got off, but cpu:");
    o.sort = 0;
    o.method = LARMOR_NUFFT_SM;
    expect_refusal(o, LARMOR_ERR_UNSUPPORTED, "nufft: method: got SM, but cpu:");
    free(points);
    free(in);
}

static void a_caller_s_stream_gives_the_same(void **state)
{
    (void)state;
    if (is_cpu()) {
        assert_refused(larmor_device_set_stream(dev, NULL), LARMOR_ERR_UNSUPPORTED, "has no streams");
        assert_refused(larmor_device_set_stream(NULL, NULL), LARMOR_ERR_ARG, "a device is needed");
        return;
    }
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        o.batch = 2;
        uint64_t seed = 8;
        double *points = random_points(&o);
        double _Complex *in = random_values(2 * 18 * 15, LARMOR_C128, &seed), own[2 * 18 * 15], other[2 * 18 * 15];
        const size_t bytes = 2 * (size_t)(type == 1 ? 18 * 15 : M) * sizeof *own;
        apply(o, points, 0, in, own);
        larmor_nufft *plan; /* one that outlives the change */
        larmor_array *k = points_on_device(2, M, points);
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        assert_ok(larmor_nufft_set_points(plan, k, type == 3 ? k : NULL));
        larmor_array *x = to_device(LARMOR_C128, 2 * (type == 2 ? 18 * 15 : M), in), *y;
        assert_ok(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE((int64_t)(bytes / sizeof *own)), &y));
        for (uintptr_t stream = 0; stream <= 2; stream++) { /* own, cudaStreamLegacy, cudaStreamPerThread */
            assert_ok(larmor_device_set_stream(dev, (void *)stream));
            assert_ok(larmor_nufft_execute(plan, x, y));
            to_host(y, other);
            assert_memory_equal(own, other, bytes);
            apply(o, points, 0, in, other);
            assert_memory_equal(own, other, bytes);
        }
        assert_ok(larmor_device_set_stream(dev, NULL));
        larmor_array_free(k);
        larmor_array_free(x);
        larmor_array_free(y);
        larmor_nufft_free(plan);
        free(points);
        free(in);
    }
}

/* ---- the grid, the window, the tiles ---- */

typedef struct explicit
{
    int64_t grid[3];
    int width, tiles;
}
explicit;

static larmor_nufft_opts with(larmor_nufft_opts o, explicit asked)
{
    for (int d = 0; d < 3; d++) o.grid[d] = asked.grid[d];
    o.width = asked.width;
    o.tiles = asked.tiles;
    return o;
}

static void grid_width_and_tiles_are_those_asked_for_and_keep_the_tolerance(void **state)
{
    (void)state;
    enum { ALL = 6, MOST = 8 * 9 * 7 };
    static const explicit asked[3][ALL] = {{{.width = 9},
                                            {.width = 16},
                                            {.tiles = 3},
                                            {.grid = {60}},
                                            {.grid = {160}, .width = 8},
                                            {.grid = {84}, .width = 12, .tiles = 2}},
                                           {{.width = 9},
                                            {.width = 16},
                                            {.tiles = 3},
                                            {.grid = {28, 40}},
                                            {.grid = {36, 32}, .width = 9},
                                            {.grid = {36, 28}, .width = 13, .tiles = 2}},
                                           {{.width = 9},
                                            {.width = 16},
                                            {.tiles = 3},
                                            {.grid = {16, 20, 16}},
                                            {.grid = {20, 24, 20}, .width = 9},
                                            {.grid = {28, 24, 24}, .width = 12, .tiles = 2}}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 2; type++)
            for (int i = 0; i < ALL; i++) {
                const explicit e = asked[ndim - 1][i];
                const larmor_nufft_opts plain = options(type, ndim, 1e-6), o = with(plain, e);
                const int64_t n = type == 1 ? count_of(o.modes) : M;
                uint64_t seed = 12;
                double *points = random_points(&o);
                double _Complex *in = random_values(MOST, LARMOR_C128, &seed), out[MOST], truth[MOST];
                const larmor_nufft_info info = apply(o, points, 0, in, out);
                for (int d = 0; d < ndim && e.grid[0]; d++) assert_int_equal(info.grid[d], e.grid[d]);
                if (e.width) assert_int_equal(info.width, e.width);
                assert_int_equal(info.tiles, e.tiles ? e.tiles : 1);
                direct_nufft(type, type == 1 ? 1 : -1, ndim, o.modes, M, points, in, truth);
                assert_at_most(relative_l2(n, out, truth), o.tol);
                assert_at_most(info.error, o.tol);
                free(points);
                free(in);
            }
}

/* On grids of several tiles of each shape, and which do not amplify rounding. */
static void shapes_of_tiles_differ_in_rounding_only(void **state)
{
    (void)state;
    static const int64_t modes[3][3] = {{3000, 1, 1}, {70, 90, 1}, {30, 26, 28}};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 3; type++) {
            larmor_nufft_opts o = options(type, ndim, 1e-9);
            memcpy(o.modes, modes[ndim - 1], sizeof o.modes);
            o.upsample = 2;
            const int64_t count = count_of(o.modes), n = type == 1 ? count : M;
            uint64_t seed = 13;
            double *points = random_points(&o);
            double _Complex *in = random_values(count, LARMOR_C128, &seed),
                            *usual = random_values(count, LARMOR_C128, &seed),
                            *out = random_values(count, LARMOR_C128, &seed);
            assert_int_equal(apply(o, points, 0, in, usual).tiles, 1);
            for (o.tiles = 1; o.tiles <= 3; o.tiles++) {
                assert_int_equal(apply(o, points, 0, in, out).tiles, o.tiles);
                assert_at_most(relative_l2(n, out, usual), 1e-13);
            }
            free(points);
            free(in);
            free(usual);
            free(out);
        }
}

static void spreading_alone_takes_the_width_that_is_asked_for(void **state)
{
    (void)state;
    larmor_nufft_opts o = options(1, 1, 1e-4);
    o.spread_only = 1;
    o.modes[0] = 64;
    double *points = calloc(M, sizeof *points);
    double _Complex in[M] = {1}, out[64];
    for (o.width = 8; o.width <= 16; o.width++) {
        assert_int_equal(apply(o, points, 0, in, out).width, o.width);
        int touched = 0;
        for (int i = 0; i < 64; i++) touched += out[i] != 0;
        assert_in_range(touched, o.width - 1, o.width); /* an even window may be 0 in its outermost cell */
    }
    o.width = 3;
    expect_refusal(o, LARMOR_ERR_NUMERIC,
                   "nufft: width: got 3, which keeps 4e-03 at best, and tol is 0.0001; use 5, or leave it 0");
    o.width = 16;
    o.modes[0] = 30;
    expect_refusal(
        o, LARMOR_ERR_ARG,
        "nufft: modes[0]: got 30 with spread_only, expected at least 32, twice the window; use a smaller width");
    free(points);
}

static void what_cannot_keep_the_tolerance_is_refused_with_what_would(void **state)
{
    (void)state;
    static const struct {
        larmor_nufft_opts opts;
        const char *text;
    } cases[] = {
        {{.type = 1, .tol = 1e-6, .width = 3},
         "nufft: width: got 3, which keeps 4e-03 at best, and tol is 1e-06; use 7, or leave it 0"},
        {{.type = 1, .tol = 1e-6, .width = 7, .upsample = 1.25},
         "nufft: tolerance 1e-06 is out of reach in single precision; 3e-05 is the least with this width, 7e-06 "
         "without "
         "it, or use c128"},
        {{.type = 2,
          .tol = 1e-12,
          .grid = {48, 36},
          .dtype = LARMOR_C128}, /* and a grid that the device's rates say */
         "nufft: grid: got 48 x 36, which keeps 8e-10 at best, and tol is 1e-12; use "},
        {{.type = 2, .tol = 1e-6, .grid = {48, 36}, .width = 5, .dtype = LARMOR_C128},
         "nufft: width: got 5, which keeps 3e-03 at best, and tol is 1e-06; use 11, or leave it 0"},
        {{.type = 1, .tol = 1e-9, .width = 8},
         "nufft: tolerance 1e-09 is out of reach in single precision; 3e-07 is the least with this width, 3e-07 "
         "without it, or use c128"},
        {{.type = 1, .tol = 1e-9, .grid = {80, 60}},
         "nufft: tolerance 1e-09 is out of reach in single precision; 4e-07 is the least with this grid, 3e-07 "
         "without "
         "it, or use c128"},
        {{.type = 1, .tol = 1e-9, .grid = {80, 60}, .width = 6},
         "nufft: tolerance 1e-09 is out of reach in single precision; 7e-06 is the least with this grid and width, "
         "3e-07 without it, or use c128"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        larmor_nufft_opts o = cases[i].opts;
        int64_t bytes;
        o.ndim = 2;
        o.modes[0] = 40;
        o.modes[1] = 30;
        expect_refusal(o, LARMOR_ERR_NUMERIC, cases[i].text);
        assert_refused(larmor_nufft_memory(dev, &o, M, &bytes), LARMOR_ERR_NUMERIC, cases[i].text);
    }
}

/* Types 1 and 2: what is asked for beside the tolerance, in 1 to 3 dimensions. */
static void the_least_tolerance_is_taken_and_less_is_not(void **state)
{
    (void)state;
    static const larmor_nufft_opts cases[] = {
        {.type = 1, .ndim = 3, .modes = {12, 11, 10}, .upsample = 1.25},
        {.type = 2, .ndim = 3, .modes = {12, 11, 10}},
        {.type = 1, .ndim = 3, .modes = {12, 11, 10}, .width = 5},
        {.type = 1, .ndim = 1, .modes = {50}, .upsample = 1.15},
        {.type = 2, .ndim = 2, .modes = {40, 30}, .upsample = 1.3},
        {.type = 2, .ndim = 2, .modes = {40, 30}, .grid = {48, 36}},
        {.type = 1, .ndim = 2, .modes = {40, 30}, .grid = {80, 60}, .width = 7},
        {.type = 1, .ndim = 2, .modes = {300, 7}, .upsample = 2},
        {.type = 1, .ndim = 1, .modes = {5000}, .width = 3},
        {.type = 2, .ndim = 1, .modes = {1}},
        {.type = 1, .ndim = 2, .modes = {64, 64}, .spread_only = 1},
        {.type = 1, .ndim = 2, .modes = {64, 64}, .spread_only = 1, .width = 4, .upsample = 1.5},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        larmor_nufft_opts o = cases[i / 2];
        larmor_nufft *plan;
        double least;
        o.dtype = i % 2 ? LARMOR_C128 : LARMOR_C64;
        assert_ok(larmor_nufft_least_tol(dev, &o, &least));
        o.tol = least;
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        larmor_nufft_free(plan);
        o.tol = 0.95 * least;
        assert_int_equal(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_NUMERIC);
        o.tol = 1e-30; /* and what the message says is its first digit, rounded up */
        assert_int_equal(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_NUMERIC);
        const char *keeps = strstr(larmor_last_error(), "which keeps "),
                   *said = strstr(larmor_last_error(), "double precision; ");
        if (!said) said = strstr(larmor_last_error(), "single precision; ");
        o.tol = strtod(keeps ? keeps + strlen("which keeps ") : said + strlen("double precision; "), NULL);
        assert_true(o.tol >= least && o.tol <= 2 * least);
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        larmor_nufft_free(plan);
    }
    larmor_nufft_opts o = {.type = 3, .ndim = 2};
    double least;
    assert_ok(larmor_nufft_least_tol(dev, &o, &least));
    assert_in_range((int)(1e9 * least), 200, 2000);
}

/* As a program was compiled with fewer members, or with more. */
static void options_of_other_versions_are_understood(void **state)
{
    (void)state;
    struct {
        larmor_nufft_opts known;
        char more[24];
    } o = {.known = {.type = 1, .ndim = 1, .modes = {64}, .both_directions = 7, .effort = (larmor_plan_effort)9}};
    larmor_nufft *plan;
    o.known.size = offsetof(larmor_nufft_opts, effort);
    assert_ok(larmor_nufft_create(dev, &o.known, &plan)); /* what comes after is not looked at */
    larmor_nufft_free(plan);
    o.known.both_directions = 0;
    o.known.effort = LARMOR_PLAN_ESTIMATE;
    o.known.size = sizeof o;
    assert_ok(larmor_nufft_create(dev, &o.known, &plan));
    larmor_nufft_free(plan);
    o.more[5] = 1;
    assert_refused(larmor_nufft_create(dev, &o.known, &plan), LARMOR_ERR_ARG, "of the options is not 0");
    o.known.size = 3;
    expect_refusal(o.known, LARMOR_ERR_ARG, "nufft: size: got 3, expected sizeof(larmor_nufft_opts)");
}

static void what_a_message_offers_is_taken(void **state)
{
    (void)state;
    larmor_nufft *plan;
    larmor_nufft_opts o = {.type = 1, .ndim = 2, .modes = {40, 30}, .dtype = LARMOR_C128};
    for (int i = 0; i < 3; i++) {
        int width = 0;
        long long grid[2] = {0};
        o.width = i != 1 ? 3 : 0;
        o.grid[0] = i ? 48 : 0;
        o.grid[1] = i ? 36 : 0;
        o.tol = i == 1 ? 1e-12 : 1e-6;
        assert_int_equal(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_NUMERIC);
        const char *use = strstr(larmor_last_error(), "; use ");
        assert_non_null(use);
        if (i == 1)
            assert_int_equal(sscanf(use, "; use %lld x %lld,", &grid[0], &grid[1]), 2);
        else
            assert_int_equal(sscanf(use, "; use %d,", &width), 1);
        for (int d = 0; d < 2 && i == 1; d++) o.grid[d] = grid[d];
        o.width = width;
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        larmor_nufft_free(plan);
    }
}

/* ---- refusals ---- */

static void options_out_of_range_are_named(void **state)
{
    (void)state;
    static const struct {
        larmor_nufft_opts opts;
        const char *text;
    } cases[] = {
        {{.type = 1, .mode_order = (larmor_mode_order)2}, "nufft: mode_order: got 2, expected"},
        {{.type = 1, .spread_only = 2}, "nufft: spread_only: got 2, expected 0 or 1"},
        {{.type = 1, .max_batch = -1}, "nufft: max_batch: got -1, expected >= 1, or 0"},
        {{.type = 1, .method = (larmor_nufft_method)5}, "nufft: method: got 5, expected"},
        {{.type = 1, .sort = (larmor_nufft_sort)3}, "nufft: sort: got 3, expected"},
        {{.type = 1, .threads = -1}, "nufft: threads: got -1, expected"},
        {{.type = 1, .width = 1}, "nufft: width: got 1, expected 2 .. 16, or 0 for automatic"},
        {{.type = 1, .width = 17}, "nufft: width: got 17, expected 2 .. 16, or 0 for automatic"},
        {{.type = 3, .width = 8}, "nufft: width: got 8 with type 3, which has two grids; leave it 0"},
        {{.type = 1, .tiles = 4}, "nufft: tiles: got 4, expected 1 .. 3, or 0 for automatic"},
        {{.type = 3, .tiles = -1}, "nufft: tiles: got -1, expected 1 .. 3, or 0 for automatic"},
        {{.type = 3, .grid = {128}}, "nufft: grid: got one with type 3, which has two grids; leave it 0"},
        {{.type = 2, .spread_only = 1, .grid = {128}},
         "nufft: grid: got one with spread_only, whose grid is modes; leave it 0"},
        {{.type = 2, .upsample = 2, .grid = {128}}, "nufft: grid: got one with upsample 2; leave either of them 0"},
        {{.type = 2, .grid = {72}},
         "nufft: grid[0]: got 72 for 64 modes, expected 74 .. 230; 80 is the nearest good size"},
        {{.type = 2, .grid = {-3}},
         "nufft: grid[0]: got -3 for 64 modes, expected 74 .. 230; 80 is the nearest good size"},
        {{.type = 2, .grid = {256}},
         "nufft: grid[0]: got 256 for 64 modes, expected 74 .. 230; 224 is the nearest good size"},
        {{.type = 2, .grid = {94}},
         "nufft: grid[0]: got 94, expected a product of 2, 3, 5 and 7 that is a multiple of 4; 96 is the nearest "
         "good "
         "size"},
        {{.type = 2, .grid = {132}},
         "nufft: grid[0]: got 132, expected a product of 2, 3, 5 and 7 that is a multiple of 4; 128 is the nearest "
         "good "
         "size"},
        {{.type = 3, .spread_only = 1}, "nufft: spread_only: got 1 with type 3"},
        {{.type = 3, .mode_order = LARMOR_MODES_FFT}, "nufft: mode_order: got FFT order with type 3"},
        {{.type = 1, .sort = LARMOR_NUFFT_SORT_OFF, .method = LARMOR_NUFFT_SM},
         "nufft: sort: got off with method SM"},
        {{.type = 1, .sort = LARMOR_NUFFT_SORT_ON, .method = LARMOR_NUFFT_GM}, "nufft: sort: got on with method GM;"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        larmor_nufft_opts o = cases[i].opts;
        o.ndim = 1;
        o.modes[0] = 64;
        expect_refusal(o, LARMOR_ERR_ARG, cases[i].text);
    }
    larmor_nufft_opts o = {.type = 1, .ndim = 2, .modes = {64, 5}, .grid = {128, 0, 0}};
    expect_refusal(o, LARMOR_ERR_ARG,
                   "nufft: grid[1]: got 0 beside other sides, expected all of them; 6 is the least");
    o.grid[1] = 7;
    expect_refusal(
        o, LARMOR_ERR_ARG,
        "nufft: grid[1]: got 7, expected a product of 2, 3, 5 and 7 that is even; 8 is the nearest good size");
    o.width = 5;
    expect_refusal(
        o, LARMOR_ERR_ARG,
        "nufft: grid[1]: got 7, expected at least 10, two windows of width 5; 10 is the nearest good size");
    int64_t bytes;
    assert_refused(larmor_nufft_memory(dev, &o, M, &bytes), LARMOR_ERR_ARG, "nufft: grid[1]: got 7, expected at");
    o = (larmor_nufft_opts){.type = 1, .ndim = 1, .modes = {64}, .threads = 2};
    if (!is_cpu()) expect_refusal(o, LARMOR_ERR_UNSUPPORTED, "nufft: threads: got 2, but cuda:");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(fft_order_is_the_centred_one_turned_round),
    cmocka_unit_test(spreading_sums_the_window_around_each_point),
    cmocka_unit_test(interpolation_alone_is_the_transpose_of_spreading_alone),
    cmocka_unit_test(a_grid_for_spreading_must_hold_two_windows),
    cmocka_unit_test(the_sign_conjugates),
    cmocka_unit_test(any_number_of_transforms_may_share_a_pass),
    cmocka_unit_test(threads_change_nothing_but_their_number),
    cmocka_unit_test(every_method_gives_the_same_on_a_gpu),
    cmocka_unit_test(a_processor_has_one_method_and_orders_points_by_itself),
    cmocka_unit_test(a_caller_s_stream_gives_the_same),
    cmocka_unit_test(grid_width_and_tiles_are_those_asked_for_and_keep_the_tolerance),
    cmocka_unit_test(shapes_of_tiles_differ_in_rounding_only),
    cmocka_unit_test(spreading_alone_takes_the_width_that_is_asked_for),
    cmocka_unit_test(what_cannot_keep_the_tolerance_is_refused_with_what_would),
    cmocka_unit_test(the_least_tolerance_is_taken_and_less_is_not),
    cmocka_unit_test(options_of_other_versions_are_understood),
    cmocka_unit_test(what_a_message_offers_is_taken),
    cmocka_unit_test(options_out_of_range_are_named),
};

int main(void)
{
    RUN_TESTS(tests);
}
