/* Options of a plan: each does what it says, and what contradicts another is refused. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/nufft/options.h"

/* ---- mode order ---- */

/* Index in FFT order of centred index i. */
static int64_t fft_index(int64_t i, int64_t n)
{
    return (i + n - n / 2) % n;
}

TEST(fft_order_is_the_centred_one_rotated)
{
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 2; type++)
            for (int adjoint = 0; adjoint < 2; adjoint++) {
                enum { MOST = 8 * 9 * 7 };
                larmor_nufft_opts o = options(type, ndim, 1e-8);
                const int64_t *n = o.modes, count = count_of(n);
                const int to_modes = (type == 1) != adjoint;
                uint64_t seed = 3;
                HEAP double *points = random_points(&o);
                double _Complex *in = random_values(MOST, LARMOR_C128, &seed), permuted[MOST], a[MOST], b[MOST];
                for (int64_t i = 0; i < MOST; i++) permuted[i] = in[i];
                int64_t to[MOST];
                for (int64_t i = 0; i < count; i++)
                    to[i] = fft_index(i % n[0], n[0]) +
                            n[0] * (fft_index(i / n[0] % n[1], n[1]) + n[1] * fft_index(i / (n[0] * n[1]), n[2]));
                for (int64_t i = 0; i < count && !to_modes; i++) permuted[to[i]] = in[i];
                apply(o, points, adjoint, in, a);
                o.mode_order = LARMOR_MODES_FFT;
                apply(o, points, adjoint, permuted, b);
                for (int64_t i = 0; i < (to_modes ? count : M); i++)
                    assert_at_most(cabs(a[i] - b[to_modes ? to[i] : i]), 1e-12);
                free(in);
            }
}

/* ---- spreading alone ---- */

TEST(spreading_sums_the_window_around_each_point)
{
    for (int order = 0; order < 2; order++)
        for (int64_t n = 40; n <= 41; n++) {
            larmor_nufft_opts o = options(1, 1, 1e-6);
            o.spread_only = 1;
            o.modes[0] = n;
            o.mode_order = order ? LARMOR_MODES_FFT : LARMOR_MODES_CENTRED;
            HEAP double *points = calloc(M, sizeof *points);
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
        }
}

TEST(interpolation_alone_is_the_transpose_of_spreading_alone)
{
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
            HEAP double *points = random_points(&o);
            HEAP double _Complex *x = random_values(3 * M, LARMOR_C128, &seed),
                                 *y = random_values(count, LARMOR_C128, &seed);
            double _Complex *sx = random_values(count, LARMOR_C128, &seed), left = 0, right = 0;
            HEAP double _Complex *sy = random_values(3 * M, LARMOR_C128, &seed),
                                 *again = random_values(3 * M, LARMOR_C128, &seed);
            apply(o, points, 0, x, sx);
            apply(o, points, 1, y, sy);
            for (int64_t i = 0; i < count; i++) left += conj(sx[i]) * y[i];
            for (int64_t i = 0; i < 3 * M; i++) right += conj(x[i]) * sy[i];
            assert_at_most(cabs(left - right), 1e-12 * cabs(left) + 1e-10);
            o.type = 2;
            apply(o, points, 0, y, again);
            assert_memory_equal(sy, again, 3 * M * sizeof *sy);
            free(sx);
        }
}

TEST(a_grid_for_spreading_must_hold_two_windows)
{
    larmor_nufft_opts o = options(1, 2, 1e-6);
    o.spread_only = 1;
    o.modes[1] = 9;
    expect_refusal(o, LARMOR_ERR_ARG, "nufft: modes[1]: got 9 with spread_only, expected at least ");
}

/* ---- sign, batches, threads ---- */

TEST(the_sign_conjugates)
{
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        uint64_t seed = 6;
        HEAP double *points = random_points(&o);
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
        free(in);
    }
}

TEST(any_number_of_transforms_may_share_a_pass)
{
    enum { BATCH = 7 };
    for (int type = 1; type <= 2; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        o.batch = BATCH;
        const int64_t n_in = BATCH * (type == 1 ? M : 18 * 15);
        const int64_t n_out = BATCH * (type == 1 ? 18 * 15 : M);
        uint64_t seed = 7;
        HEAP double *points = random_points(&o);
        HEAP double _Complex *in = random_values(n_in, LARMOR_C128, &seed),
                             *one = random_values(n_out, LARMOR_C128, &seed);
        HEAP double _Complex *several = random_values(n_out, LARMOR_C128, &seed);
        o.max_batch = 1;
        assert_int_equal(apply(o, points, 0, in, one).per_pass, 1);
        for (o.max_batch = 2; o.max_batch < 10; o.max_batch++) {
            const int64_t per_pass = apply(o, points, 0, in, several).per_pass;
            assert_true(per_pass <= o.max_batch && per_pass <= BATCH && per_pass > 1);
            assert_at_most(relative_l2(n_out, several, one), 1e-14);
        }
    }
}

TEST(threads_change_nothing_but_their_number)
{
    if (!is_cpu()) skip();
    larmor_device *before = dev;
    assert_ok(larmor_device_open("cpu:3", &dev));
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        uint64_t seed = 8;
        HEAP double *points = random_points(&o);
        double _Complex *in = random_values(18 * 15, LARMOR_C128, &seed), all[18 * 15], few[18 * 15];
        assert_int_equal(apply(o, points, 0, in, all).threads, 3);
        for (o.threads = 1; o.threads <= 3; o.threads++) {
            assert_int_equal(apply(o, points, 0, in, few).threads, o.threads);
            assert_memory_equal(all, few, (size_t)(type == 1 ? 18 * 15 : M) * sizeof *all);
        }
        free(in);
    }
    larmor_nufft_opts o = options(1, 2, 1e-9);
    o.threads = 4;
    expect_refusal(o, LARMOR_ERR_ARG, "nufft: threads: got 4, expected 1 .. 3 of cpu:3, or 0 for all");
    larmor_device_free(dev);
    dev = before;
}

/* ---- methods and sorting ---- */

TEST(every_method_gives_the_same_on_a_gpu)
{
    if (is_cpu()) skip();
    static const larmor_nufft_method methods[] = {LARMOR_NUFFT_GM, LARMOR_NUFFT_GM_SORT, LARMOR_NUFFT_SM,
                                                  LARMOR_NUFFT_OWNER};
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int type = 1; type <= 3; type++) {
            larmor_nufft_opts o = options(type, ndim, 1e-9);
            const int64_t n = type == 1 ? count_of(o.modes) : M;
            uint64_t seed = 9;
            HEAP double *points = random_points(&o);
            double _Complex *in = random_values(8 * 9 * 7, LARMOR_C128, &seed), usual[8 * 9 * 7], out[8 * 9 * 7];
            const larmor_nufft_info chosen = apply(o, points, 0, in, usual);
            assert_true(chosen.spread_method != LARMOR_NUFFT_AUTO && chosen.interp_method != LARMOR_NUFFT_AUTO);
            for (int i = 0; i < 4; i++) {
                o.method = methods[i];
                const larmor_nufft_info info = apply(o, points, 0, in, out);
                assert_at_most(relative_l2(n, out, usual), 3e-13);
                if (i < 2) assert_true(info.spread_method == methods[i] && info.interp_method == methods[i]);
                if (i == 3) assert_int_equal(info.spread_method, LARMOR_NUFFT_OWNER);
            }
            o.method = LARMOR_NUFFT_AUTO;
            o.sort = LARMOR_NUFFT_SORT_OFF;
            assert_int_equal(apply(o, points, 0, in, out).spread_method, LARMOR_NUFFT_GM);
            assert_at_most(relative_l2(n, out, usual), 3e-13);
            o.sort = LARMOR_NUFFT_SORT_ON;
            assert_true(apply(o, points, 0, in, out).spread_method != LARMOR_NUFFT_GM);
            free(in);
        }
}

TEST(a_processor_has_one_method_and_orders_points_by_itself)
{
    if (!is_cpu()) skip();
    larmor_nufft_opts o = options(2, 2, 1e-6);
    o.sort = LARMOR_NUFFT_SORT_ON;
    uint64_t seed = 4;
    HEAP double *points = random_points(&o);
    double _Complex *in = random_values(18 * 15, LARMOR_C128, &seed), out[M];
    const larmor_nufft_info info = apply(o, points, 0, in, out);
    assert_true(info.spread_method == LARMOR_NUFFT_AUTO && info.interp_method == LARMOR_NUFFT_AUTO);
    o.sort = LARMOR_NUFFT_SORT_OFF;
    expect_refusal(o, LARMOR_ERR_UNSUPPORTED, "nufft: sort: got off, but cpu:");
    o.sort = 0;
    o.method = LARMOR_NUFFT_SM;
    expect_refusal(o, LARMOR_ERR_UNSUPPORTED, "nufft: method: got SM, but cpu:");
    free(in);
}

TEST(a_caller_s_stream_gives_the_same)
{
    if (is_cpu()) {
        assert_refused(larmor_device_set_stream(dev, NULL), LARMOR_ERR_UNSUPPORTED, "has no streams");
        assert_refused(larmor_device_set_stream(NULL, NULL), LARMOR_ERR_ARG, "a device is needed");
        return;
    }
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 2, 1e-9);
        o.batch = 2;
        uint64_t seed = 8;
        HEAP double *points = random_points(&o);
        double _Complex *in = random_values(2 * 18 * 15, LARMOR_C128, &seed), own[2 * 18 * 15], other[2 * 18 * 15];
        const size_t bytes = 2 * (size_t)(type == 1 ? 18 * 15 : M) * sizeof *own;
        apply(o, points, 0, in, own);
        larmor_nufft *plan; /* one that outlives the change */
        OWNED(larmor_array) *k = points_on_device(2, M, points);
        assert_ok(larmor_nufft_create(dev, &o, &plan));
        assert_ok(larmor_nufft_set_points(plan, k, type == 3 ? k : NULL));
        OWNED(larmor_array) *x = to_device(LARMOR_C128, 2 * (type == 2 ? 18 * 15 : M), in);
        OWN(larmor_array, *y,
            larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE((int64_t)(bytes / sizeof *own)), &y));
        for (uintptr_t stream = 0; stream <= 2; stream++) { /* own, cudaStreamLegacy, cudaStreamPerThread */
            assert_ok(larmor_device_set_stream(dev, (void *)stream));
            assert_ok(larmor_nufft_execute(plan, x, y));
            to_host(y, other);
            assert_memory_equal(own, other, bytes);
            apply(o, points, 0, in, other);
            assert_memory_equal(own, other, bytes);
        }
        assert_ok(larmor_device_set_stream(dev, NULL));
        larmor_nufft_free(plan);
        free(in);
    }
}

/* ---- refusals ---- */

TEST(options_out_of_range_are_named)
{
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
