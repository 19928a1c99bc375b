/* A plan's execute recorded once and replayed: in execute nothing is allocated and nothing waits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/nufft/direct.h"

enum { BATCH = 5 };
static const int64_t sizes[3][3] = {{300, 1, 1}, {30, 25, 1}, {12, 10, 9}};

static larmor_precompute form; /* of the plans that follow */

typedef struct transform {
    int64_t n_in, n_out;
    larmor_dtype dtype;
    larmor_nufft *plan;
    larmor_array *in, *out;
} transform;

/* Uniform in a box of these sizes about the centre. */
static larmor_array *random_points_on_device(int ndim, const int64_t *size, int64_t m, uint64_t *state)
{
    HEAP NEW(double, points, m *ndim);
    for (int64_t i = 0; i < m * ndim; i++) points[i] = test_random(state) * (double)size[i % ndim] / 2;
    larmor_array *k = points_on_device(ndim, m, points);
    return k;
}

/* Of type 3 there are as many targets as the other types have modes. */
static transform transform_create(int type, int ndim, larmor_dtype dtype, int64_t batch, int64_t m, uint64_t *state)
{
    larmor_nufft_opts o = {.type = type, .ndim = ndim, .batch = batch, .dtype = dtype, .tol = 1e-4};
    o.precompute = form;
    transform t = {.dtype = dtype};
    int64_t modes = 1;
    for (int d = 0; d < ndim; d++) {
        o.modes[d] = sizes[ndim - 1][d];
        modes *= o.modes[d];
    }
    t.n_in = batch * (type == 2 ? modes : m);
    t.n_out = batch * (type == 2 ? m : modes);
    OWNED(larmor_array) *k = random_points_on_device(ndim, o.modes, m, state), *targets = NULL;
    if (type == 3) targets = random_points_on_device(ndim, (int64_t[]){1, 1, 1}, modes, state);
    assert_ok(larmor_nufft_create(dev, &o, &t.plan));
    assert_ok(larmor_nufft_set_points(t.plan, k, targets));
    assert_ok(larmor_array_create(dev, dtype, LARMOR_SHAPE(t.n_in), &t.in));
    assert_ok(larmor_array_create(dev, dtype, LARMOR_SHAPE(t.n_out), &t.out));
    return t;
}

static void end_transform(transform *t)
{
    LMR_FREE(t->in, t->out);
    larmor_nufft_free(t->plan);
}

/* New contents for the input, in place. */
static void fill(const transform *t, uint64_t *state)
{
    HEAP double _Complex *x = random_values(t->n_in, t->dtype, state);
    OWNED(larmor_array) *fresh = to_device(t->dtype, t->n_in, x);
    assert_ok(larmor_copy(fresh, t->in));
    assert_ok(larmor_device_sync(dev));
}

static double _Complex *result(const transform *t)
{
    NEW(double _Complex, y, (size_t)t->n_out);
    to_host(t->out, y);
    return y;
}

/* The graph's output for inputs that came after the recording is that of a plain execute. */
static void check_replay(transform *t, uint64_t *state)
{
    const double rounding = t->dtype == LARMOR_C64 ? 5e-6 : 2e-14; /* tiles are added in any order */
    fill(t, state);
    assert_ok(larmor_nufft_execute(t->plan, t->in, t->out)); /* so that its code is loaded */
    assert_ok(larmor_zero(t->out));
    assert_ok(larmor_device_sync(dev));
    assert_ok(larmor_graph_begin(dev));
    assert_ok(larmor_nufft_execute(t->plan, t->in, t->out));
    OWN(larmor_graph, *graph, larmor_graph_end(dev, &graph));
    HEAP double _Complex *untouched = result(t);
    for (int64_t i = 0; i < t->n_out; i++) assert_true(untouched[i] == 0);
    for (int round = 0; round < 2; round++) {
        fill(t, state);
        assert_ok(larmor_graph_launch(graph));
        HEAP double _Complex *replayed = result(t);
        assert_ok(larmor_zero(t->out));
        assert_ok(larmor_nufft_execute(t->plan, t->in, t->out));
        HEAP double _Complex *plain = result(t);
        assert_at_most(relative_l2(t->n_out, replayed, plain), rounding);
    }
}

static int cannot_record(void)
{
    if (strncmp(larmor_device_spec(dev), "cpu", 3) != 0) return 0;
    assert_refused(larmor_graph_begin(dev), LARMOR_ERR_UNSUPPORTED, "runs every call at once and records none");
    return 1;
}

static void check_type(int type)
{
    uint64_t state = 41 + (uint64_t)type;
    if (cannot_record()) return;
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int is_double = 0; is_double < 2; is_double++)
            for (int64_t batch = 1; batch <= BATCH; batch += BATCH - 1) {
                OWNED(transform) t =
                    transform_create(type, ndim, is_double ? LARMOR_C128 : LARMOR_C64, batch, 2000, &state);
                check_replay(&t, &state);
            }
}

TEST(a_recorded_type_1_gives_what_execute_gives)
{
    check_type(1);
}

TEST(a_recorded_type_2_gives_what_execute_gives)
{
    check_type(2);
}

TEST(a_recorded_type_3_gives_what_execute_gives)
{
    check_type(3);
}

TEST(recorded_precomputed_forms_give_what_execute_gives)
{
    for (form = LARMOR_PRECOMPUTE_PARTIAL; form <= LARMOR_PRECOMPUTE_FULL; form++)
        for (int type = 1; type <= 2; type++) check_type(type);
    form = LARMOR_PRECOMPUTE_AUTO;
}

TEST(a_pair_and_algebra_between_are_recorded_together)
{
    uint64_t seed = 50;
    if (cannot_record()) return;
    OWNED(transform) t = transform_create(2, 2, LARMOR_C64, 1, 1000, &seed);
    OWNED(larmor_graph) *graph;
    OWN(larmor_array, *back, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(t.n_in), &back));
    HEAP double _Complex *recorded = malloc((size_t)t.n_in * sizeof *recorded),
                         *plain = malloc((size_t)t.n_in * sizeof *plain);
    for (int recording = 0; recording < 2; recording++) { /* back <- A^H A x + x / 2 */
        fill(&t, &seed);
        if (recording) assert_ok(larmor_graph_begin(dev));
        assert_ok(larmor_nufft_execute(t.plan, t.in, t.out));
        assert_ok(larmor_nufft_execute_adjoint(t.plan, t.out, back));
        assert_ok(larmor_axpby(0.5, t.in, 1, back));
        if (recording) assert_ok(larmor_graph_end(dev, &graph));
    }
    assert_ok(larmor_graph_launch(graph));
    to_host(back, recorded);
    assert_ok(larmor_nufft_execute(t.plan, t.in, t.out));
    assert_ok(larmor_nufft_execute_adjoint(t.plan, t.out, back));
    assert_ok(larmor_axpby(0.5, t.in, 1, back));
    to_host(back, plain);
    assert_at_most(relative_l2(t.n_in, recorded, plain), 5e-6);
}

TEST(points_cannot_be_set_while_recording_and_the_plan_keeps_its_own)
{
    uint64_t seed = 60;
    if (cannot_record()) return;
    OWNED(transform) t = transform_create(1, 2, LARMOR_C64, 1, 500, &seed);
    larmor_graph *graph = (larmor_graph *)&graph;
    double point[4] = {1, 2, 3, 4};
    OWNED(larmor_array) *k = points_on_device(2, 2, point);
    fill(&t, &seed);
    assert_ok(larmor_nufft_execute(t.plan, t.in, t.out));
    HEAP double _Complex *before = result(&t);
    assert_ok(larmor_graph_begin(dev));
    assert_int_not_equal(larmor_nufft_set_points(t.plan, k, NULL), LARMOR_OK);
    assert_int_not_equal(larmor_graph_end(dev, &graph), LARMOR_OK);
    assert_null(graph);
    assert_ok(larmor_nufft_execute(t.plan, t.in, t.out));
    HEAP double _Complex *after = result(&t);
    assert_at_most(relative_l2(t.n_out, after, before), 1e-6);
    check_replay(&t, &seed);
}
