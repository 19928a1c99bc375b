/* Precomputed forms: the same results as on the fly, whatever the options. SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/precompute.h"

/* execute's result for random input, from a seed. */
static double _Complex *result_of(larmor_nufft *plan, const larmor_nufft_opts *o, int64_t m, int64_t *count)
{
    uint64_t state = 5;
    const int64_t batch = o->batch ? o->batch : 1;
    const int64_t modes = mode_count(o) * batch;
    const int64_t in = o->type == 1 ? m * batch : modes;
    const int64_t out = o->type == 1 ? modes : m * batch;
    double _Complex *x = random_values(in, o->dtype, &state), *y = random_values(out, o->dtype, &state);
    larmor_array *from = to_device(o->dtype, in, x), *to = to_device(o->dtype, out, y); /* not zero before */
    assert_ok(larmor_nufft_execute(plan, from, to));
    to_host(to, y);
    LMR_FREE(from, to, x);
    *count = out;
    return y;
}

/* Both forms against none, for m points k. */
static void compare_forms(larmor_nufft_opts o, int64_t m, const larmor_array *k, double rounding)
{
    int64_t count;
    larmor_nufft *plan = make_plan(o, LARMOR_PRECOMPUTE_NONE, k);
    HEAP double _Complex *truth = result_of(plan, &o, m, &count);
    larmor_nufft_free(plan);
    for (int i = 0; i < 2; i++) {
        plan = make_plan(o, forms[i], k);
        assert_int_equal(larmor_nufft_describe(plan).precompute, forms[i]);
        HEAP double _Complex *y = result_of(plan, &o, m, &count);
        assert_at_most(relative_l2(count, y, truth), rounding);
        larmor_nufft_free(plan);
    }
}

/* At points over all of k-space. */
static void check_forms(larmor_nufft_opts o, int64_t m)
{
    uint64_t state = 77;
    OWNED(larmor_array) *k = make_points(o.ndim, o.modes, m, &state);
    compare_forms(o, m, k, o.dtype == LARMOR_C64 ? 2e-6 : 1e-14);
}

/* ---- results ---- */

TEST(forms_agree_in_all_types_dimensions_precisions_and_batches)
{
    static const int64_t batches[][2] = {{1, 0}, {3, 0}, {11, 4}, {8, 0}, {19, 18}};
    for (int type = 1; type <= 2; type++)
        for (int ndim = 1; ndim <= 3; ndim++)
            for (int is_double = 0; is_double < 2; is_double++)
                for (int b = 0; b < (ndim < 3 ? 5 : 3); b++) {
                    larmor_nufft_opts o = options(type, ndim, is_double ? LARMOR_C128 : LARMOR_C64);
                    o.batch = batches[b][0];
                    o.max_batch = batches[b][1];
                    check_forms(o, POINTS);
                }
}

/* Of a GPU; each has kernels of its own for one of the directions at least. */
static const larmor_nufft_method methods[] = {LARMOR_NUFFT_GM, LARMOR_NUFFT_GM_SORT, LARMOR_NUFFT_SM,
                                              LARMOR_NUFFT_OWNER};
enum { method_count = sizeof methods / sizeof *methods };

/* Most points in a few bins, which are cut: what a GPU stages in parts, and what it does in one go. */
static void check_every_method(int ndim)
{
    static const int64_t middle[3] = {5, 3, 4};
    const int64_t m = 3001;
    uint64_t seed = 78;
    if (is_processor()) skip(); /* which has but one */
    OWNED(larmor_array) *k = make_points(ndim, middle, m, &seed);
    for (int is_double = 0; is_double < 2; is_double++)
        for (int i = 0; i < method_count; i++)
            for (int64_t batch = 1; batch <= 5; batch += 4)
                for (int type = 1; type <= 2; type++) {
                    larmor_nufft_opts o = options(type, ndim, is_double ? LARMOR_C128 : LARMOR_C64);
                    o.method = methods[i];
                    o.batch = batch;
                    compare_forms(o, m, k, is_double ? 1e-13 : 2e-5);
                }
}

TEST(forms_agree_for_every_method_of_a_gpu_where_points_are_dense_in_1d)
{
    check_every_method(1);
}

TEST(forms_agree_for_every_method_of_a_gpu_where_points_are_dense_in_2d)
{
    check_every_method(2);
}

TEST(forms_agree_for_every_method_of_a_gpu_where_points_are_dense_in_3d)
{
    check_every_method(3);
}

/* On the grid itself: deconvolution would enlarge the rounding. */
TEST(forms_agree_for_windows_of_2_to_16_cells)
{
    for (int ndim = 1; ndim <= 3; ndim++) {
        unsigned seen = 0;
        for (double tol = 0.3; tol > 1e-15; tol *= 0.3)
            for (int fine = 0; fine < 2; fine++) {
                larmor_nufft_opts o = options(1, ndim, LARMOR_C128);
                larmor_nufft *plan;
                for (int d = 0; d < ndim; d++) o.modes[d] = 32 + 2 * (d % 2);
                o.tol = tol;
                o.upsample = fine ? 2 : 1.25;
                o.spread_only = 1;
                if (larmor_nufft_create(dev, &o, &plan)) continue;
                const int width = larmor_nufft_describe(plan).width;
                larmor_nufft_free(plan);
                if (seen >> width & 1) continue;
                seen |= 1u << width;
                for (int i = 0; i < (is_processor() ? 1 : method_count); i++)
                    for (o.type = 1; o.type <= 2; o.type++) {
                        if (!is_processor()) o.method = methods[i];
                        check_forms(o, 55);
                    }
            }
        assert_int_equal(seen, 0x1fffc);
    }
}

TEST(forms_agree_without_fft_and_in_fft_order)
{
    larmor_nufft_opts o = options(1, 2, LARMOR_C128);
    o.spread_only = 1;
    o.batch = 3;
    check_forms(o, POINTS);
    o.type = 2;
    o.mode_order = LARMOR_MODES_FFT;
    check_forms(o, POINTS);
    o.spread_only = 0;
    check_forms(o, POINTS);
}

TEST(forms_agree_for_the_caller_s_own_order_of_points)
{
    if (is_processor()) skip(); /* which orders points by itself */
    larmor_nufft_opts o = options(1, 3, LARMOR_C64);
    o.sort = LARMOR_NUFFT_SORT_OFF;
    o.batch = 2;
    check_forms(o, POINTS);
    o.type = 2;
    check_forms(o, POINTS);
}

TEST(forward_and_adjoint_are_adjoint_to_each_other)
{
    uint64_t seed = 3;
    for (int i = 0; i < 2; i++)
        for (int ndim = 1; ndim <= 3; ndim++) {
            larmor_nufft_opts o = options(2, ndim, LARMOR_C128);
            o.precompute = forms[i];
            o.batch = 2;
            o.tol = 1e-2;
            OWNED(larmor_array) *k = make_points(ndim, o.modes, POINTS, &seed);
            OWN(larmor_op, *A, larmor_op_nufft(dev, &o, k, &A));
            assert_at_most(adjoint_error(A, 4), 1e-14);
        }
}

/* Types 1 and 2 at the least tolerance of these options against the direct sum. */
static void check_least(larmor_nufft_opts o, int64_t m)
{
    uint64_t seed = 5;
    int64_t count = 1;
    for (int d = 0; d < o.ndim; d++) count *= o.modes[d];
    HEAP double *points = malloc((size_t)(m * o.ndim) * sizeof *points);
    for (int64_t i = 0; i < m * o.ndim; i++) points[i] = 0.5 * test_random(&seed) * (double)o.modes[i % o.ndim];
    OWNED(larmor_array) *k = points_on_device(o.ndim, m, points);
    assert_ok(larmor_nufft_least_tol(dev, &o, &o.tol));
    OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
    assert_ok(larmor_nufft_set_points(plan, k, NULL));
    for (int type = 1; type <= 2; type++) {
        const int64_t from = type == 1 ? m : count;
        const int64_t to = type == 1 ? count : m;
        HEAP double _Complex *in = random_values(from, o.dtype, &seed), *out = random_values(to, o.dtype, &seed),
                             *truth = malloc((size_t)to * sizeof *truth);
        OWNED(larmor_array) *x = to_device(o.dtype, from, in), *y = to_device(o.dtype, to, out);
        direct_nufft(type, type == 1 ? 1 : -1, o.ndim, o.modes, m, points, in, truth);
        assert_ok((type == 1 ? larmor_nufft_execute : larmor_nufft_execute_adjoint)(plan, x, y));
        to_host(y, out);
        /* what is left there is rounding, whose size differs a little between FFTs */
        assert_at_most(relative_l2(to, out, truth), 1.05 * o.tol);
    }
}

TEST(the_full_form_keeps_the_least_tolerance_that_it_promises)
{
    static const int64_t modes[][3] = {{50, 1, 1}, {25, 40, 1}, {10, 11, 12}, {14, 12, 13}};
    for (int i = 0; i < 4; i++)
        for (int precision = 0; precision < 2; precision++) {
            larmor_nufft_opts o = {.type = 1, .ndim = i < 3 ? i + 1 : 3, .precompute = LARMOR_PRECOMPUTE_FULL};
            o.dtype = precision ? LARMOR_C128 : LARMOR_C64;
            memcpy(o.modes, modes[i], sizeof o.modes);
            check_least(o, 60);
            check_least(o, 500);
        }
}

TEST(type_1_of_the_full_form_is_the_same_to_the_bit_in_every_run)
{
    uint64_t seed = 8;
    larmor_nufft_opts o = options(1, 2, LARMOR_C64);
    o.batch = 3;
    int64_t count;
    OWNED(larmor_array) *k = make_points(2, o.modes, 5000, &seed);
    larmor_nufft *plan = make_plan(o, LARMOR_PRECOMPUTE_FULL, k);
    HEAP double _Complex *first = result_of(plan, &o, 5000, &count);
    for (int run = 0; run < 4; run++) {
        if (run > 1) { /* other threads, or the same matrix made anew */
            larmor_nufft_free(plan);
            if (is_processor()) o.threads = 1;
            plan = make_plan(o, LARMOR_PRECOMPUTE_FULL, k);
        }
        HEAP double _Complex *again = result_of(plan, &o, 5000, &count);
        assert_memory_equal(first, again, (size_t)count * sizeof *again);
    }
    larmor_nufft_free(plan);
}

/* With the options' defaults: a GPU takes the full form, a processor has the same bits anyway. */
TEST(a_repeatable_device_gives_the_same_bits_in_every_run)
{
    uint64_t seed = 8;
    int64_t count;
    enum { POINTS_IN_ALL = 20000, IN_THE_CENTRE = 4 };
    larmor_device *const usual = dev;
    if (is_processor()) assert_ok(larmor_device_open("cpu:2", &dev)); /* also where the usual one has one thread */
    larmor_array *all = make_points(3, (int64_t[]){20, 18, 16}, POINTS_IN_ALL, &seed), *k;
    OWN_MEMORY(double, *at, larmor_array_download(all, LARMOR_F64, &at));
    for (int64_t i = 0; i < 3 * POINTS_IN_ALL; i++) /* a part of them in a few cells, as where spokes cross */
        if (i / 3 % IN_THE_CENTRE == 0) at[i] *= 0.02;
    assert_ok(larmor_array_upload(dev, larmor_array_dtype(all), larmor_array_shape(all), LARMOR_F64, at, &k));
    larmor_array_free(all);
    larmor_device_set_repeatable(dev, 1);
    for (int of = 0; of < 4; of++) { /* both types in both precisions */
        HEAP double _Complex *first = NULL;
        for (int run = 0; run < 5; run++) {
            larmor_nufft_opts o = options(1 + of % 2, 3, of < 2 ? LARMOR_C64 : LARMOR_C128);
            o.both_directions = 1;
            memcpy(o.modes, (int64_t[]){20, 18, 16}, sizeof o.modes);
            if (is_processor()) o.threads = 1 + run % 2;
            OWNED(larmor_nufft) *plan = make_plan(o, LARMOR_PRECOMPUTE_AUTO, k);
            assert_int_equal(larmor_nufft_describe(plan).precompute,
                             is_processor() ? LARMOR_PRECOMPUTE_NONE : LARMOR_PRECOMPUTE_FULL);
            double _Complex *again = result_of(plan, &o, POINTS_IN_ALL, &count);
            if (first) assert_memory_equal(first, again, (size_t)count * sizeof *again);
            if (first) free(again);
            if (!first) first = again;
        }
    }
    larmor_nufft *plan;
    larmor_nufft_opts o = options(1, 3, LARMOR_C64);
    if (!is_processor()) {
        o.precompute = LARMOR_PRECOMPUTE_PARTIAL;
        assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG,
                       "is set to be repeatable, which takes the full");
        o.precompute = LARMOR_PRECOMPUTE_AUTO;
        o.effort = LARMOR_PLAN_MEASURE;
        assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG,
                       "nufft: effort: a grid that is chosen by times");
        o.effort = LARMOR_PLAN_ESTIMATE;
        o.type = 3;
        assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_UNSUPPORTED, "nufft: type 3 on");
        o.type = 2;
        memcpy(o.modes, (int64_t[]){20, 18, 16}, sizeof o.modes);
        plan = make_plan(o, LARMOR_PRECOMPUTE_AUTO, k);
        OWN(larmor_array, *values, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(POINTS_IN_ALL), &values));
        OWN(larmor_array, *modes, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(20, 18, 16), &modes));
        assert_ok(larmor_nufft_execute(plan, modes, values));
        assert_refused(larmor_nufft_execute_adjoint(plan, values, modes), LARMOR_ERR_UNSUPPORTED,
                       "nufft: this plan adds in any order");
        larmor_nufft_free(plan);
    }
    larmor_device_set_repeatable(dev, 0);
    larmor_array_free(k);
    if (dev != usual) larmor_device_free(dev);
    dev = usual;
}

/* Types 1 and 2 of a plan of type 1: the second one as its adjoint. */
static double _Complex *run_open_plan(const open_plan *p, int type, int64_t *count)
{
    uint64_t seed = 21;
    const int64_t modes = p->plan->mode_count;
    const int64_t from = type == 1 ? POINTS : modes;
    *count = type == 1 ? modes : POINTS;
    double _Complex *in = random_values(from, LARMOR_C64, &seed), *out = malloc((size_t)*count * sizeof *out);
    OWNED(larmor_array) *x = to_device(LARMOR_C64, from, in), *y;
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(*count), &y));
    assert_ok(lmr_nufft_plan_execute(p->plan, type == 2, x, y));
    to_host(y, out);
    free(in);
    return out;
}

/* The plan's matrices made once more with indices of 64 bits. */
TEST(indices_of_64_bits_give_what_those_of_32_give)
{
    uint64_t seed = 9;
    const larmor_nufft_opts o = options(1, 2, LARMOR_C64);
    int64_t count, bytes;
    void *made;
    OWNED(larmor_array) *k = make_points(2, o.modes, POINTS, &seed);
    OWNED(open_plan) plan;
    make_open_plan(o, LARMOR_PRECOMPUTE_FULL, &plan);
    assert_ok(lmr_nufft_plan_set_points(plan.plan, k, POINTS));
    double _Complex *short_index[2], *long_index[2];
    for (int type = 1; type <= 2; type++) short_index[type - 1] = run_open_plan(&plan, type, &count);
    lmr_precompute *p = plan.plan->precompute;
    const lmr_nufft_geometry *g = &plan.plan->geometry;
    assert_ok(p->kernels->build(plan.on.ctx, g, LMR_PRECOMPUTE_FULL, 1, 0, plan.plan->sorted, &bytes, &made));
    p->kernels->release(plan.on.ctx, p->made);
    assert_true(bytes - p->bytes >= (int64_t)8 * POINTS * g->width * g->width);
    p->made = made;
    for (int type = 1; type <= 2; type++) {
        long_index[type - 1] = run_open_plan(&plan, type, &count);
        assert_at_most(relative_l2(count, long_index[type - 1], short_index[type - 1]), is_processor() ? 0 : 1e-6);
        LMR_FREE(short_index[type - 1], long_index[type - 1]);
    }
}

TEST(no_points_are_no_trouble)
{
    for (int i = 0; i < 2; i++)
        for (int64_t batch = 1; batch < 3; batch++) {
            larmor_nufft_opts o = options(1, 2, LARMOR_C64);
            int64_t count;
            o.batch = batch;
            OWNED(larmor_array) *k = points_on_device(2, 0, NULL);
            OWNED(larmor_nufft) *plan = make_plan(o, forms[i], k);
            HEAP double _Complex *y = result_of(plan, &o, 0, &count);
            for (int64_t c = 0; c < count; c++) assert_true(y[c] == 0);
        }
}

TEST(points_can_be_set_again_and_a_failure_changes_nothing)
{
    uint64_t seed = 10;
    for (int i = 0; i < 2; i++) {
        larmor_nufft_opts o = options(2, 2, LARMOR_C128);
        int64_t count;
        o.precompute_memory = 1 << 20;
        OWNED(larmor_array) *few = make_points(2, o.modes, 60, &seed), *k = make_points(2, o.modes, 200, &seed),
                            *many = make_points(2, o.modes, 50000, &seed);
        OWNED(larmor_nufft) *fresh = make_plan(o, forms[i], k), *plan = make_plan(o, forms[i], few);
        assert_ok(larmor_nufft_set_points(plan, k, NULL));
        assert_refused(larmor_nufft_set_points(plan, many, NULL), LARMOR_ERR_MEMORY, "precompute_memory");
        HEAP double _Complex *expected = result_of(fresh, &o, 200, &count), *got = result_of(plan, &o, 200, &count);
        assert_at_most(relative_l2(count, got, expected), 1e-15);
        assert_int_equal(larmor_nufft_describe(plan).precompute_bytes, larmor_nufft_describe(fresh).precompute_bytes);
    }
}

/* ---- options ---- */

TEST(options_that_make_no_sense_are_refused)
{
    larmor_nufft *plan;
    larmor_nufft_opts o = options(1, 2, LARMOR_C64);
    o.precompute = (larmor_precompute)4;
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG,
                   "nufft: precompute: got 4, expected LARMOR_PRECOMPUTE_AUTO, _NONE, _PARTIAL or _FULL");
    o.precompute = LARMOR_PRECOMPUTE_AUTO;
    o.precompute_memory = -1;
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG,
                   "nufft: precompute_memory: got -1 bytes, expected >= 1, or 0 for automatic");
    o.precompute_memory = 0;
    o.type = 3;
    o.precompute = LARMOR_PRECOMPUTE_FULL;
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG,
                   "nufft: precompute: got full with type 3, which has none; leave it 0");
    o.precompute = LARMOR_PRECOMPUTE_PARTIAL;
    assert_refused(larmor_nufft_create(dev, &o, &plan), LARMOR_ERR_ARG,
                   "nufft: precompute: got partial with type 3, which has none; leave it 0");
}

TEST(automatic_is_none_and_says_so)
{
    for (int type = 1; type <= 3; type++) {
        larmor_nufft_opts o = options(type, 2, LARMOR_C64);
        OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
        assert_int_equal(larmor_nufft_describe(plan).precompute, LARMOR_PRECOMPUTE_NONE);
    }
}
