/* A backend's queue of work: marks of time in it, and its recording as a graph. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/backend/buffers.h"

TEST(times_between_marks_in_the_queue_are_positive_and_add_up)
{
    const lmr_mark *m = dev->be->mark;
    const int64_t n = 1 << 17;
    const lmr_vec *vec = dev->be->vec[LMR_F64];
    void *x, *mark[3];
    double whole, first, second, nothing;
    assert_ok(dev->be->alloc(dev->ctx, (size_t)n * 16, &x));
    for (int i = 0; i < 3; i++) assert_ok(m->create(dev->ctx, &mark[i]));
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 10 && i; k++) assert_ok(vec->axpby(dev->ctx, n, 1, x, 1, x));
        assert_ok(m->put(dev->ctx, mark[i]));
    }
    assert_ok(m->seconds(dev->ctx, mark[0], mark[2], &whole));
    assert_ok(m->seconds(dev->ctx, mark[0], mark[1], &first));
    assert_ok(m->seconds(dev->ctx, mark[1], mark[2], &second));
    assert_ok(m->seconds(dev->ctx, mark[1], mark[1], &nothing));
    assert_true(first > 0 && second > 0 && nothing == 0);
    assert_at_most(fabs(whole - first - second), 2e-6); /* a GPU's clock ticks in half microseconds */
    assert_ok(m->put(dev->ctx, mark[0]));               /* a second time: it is here now */
    assert_ok(m->put(dev->ctx, mark[1]));
    assert_ok(m->seconds(dev->ctx, mark[0], mark[1], &nothing));
    assert_true(nothing >= 0);
    for (int i = 0; i < 3; i++) m->destroy(dev->ctx, mark[i]);
    m->destroy(dev->ctx, NULL);
    release(x);
}

/* On a device that can record. */
TEST(a_graph_records_without_running_and_runs_at_each_launch)
{
    const lmr_graph *g = dev->be->graph;
    const lmr_vec *vec = dev->be->vec[LMR_F32];
    if (!g) skip();
    enum { N = 1000 };
    HEAP cx *x = random_values(N, 31), *y = random_values(N, 32);
    OWNED(void) *dx = upload(LMR_F32, x, N), *dy = upload(LMR_F32, y, N);
    void *graph, *refused;
    assert_ok(vec->axpby(dev->ctx, N, 0, dx, 1, dy)); /* so that its code is loaded */
    assert_ok(g->begin(dev->ctx));
    assert_ok(vec->axpby(dev->ctx, N, 0.5, dx, 1, dy));
    assert_int_equal(dev->be->alloc(dev->ctx, 100, &refused), LARMOR_ERR_UNSUPPORTED);
    assert_null(refused);
    assert_int_equal(g->end(dev->ctx, &graph), LARMOR_ERR_UNSUPPORTED); /* for the memory that was asked for */
    assert_null(graph);
    assert_close(LMR_F32, dy, y, N, 0);
    assert_ok(g->begin(dev->ctx));
    assert_ok(vec->axpby(dev->ctx, N, 0.5, dx, 1, dy));
    assert_ok(g->end(dev->ctx, &graph));
    assert_close(LMR_F32, dy, y, N, 0);
    for (int launches = 1; launches <= 3; launches++) {
        for (int i = 0; i < N; i++) y[i] += 0.5 * x[i];
        assert_ok(g->launch(dev->ctx, graph));
        assert_close(LMR_F32, dy, y, N, 4);
    }
    assert_ok(dev->be->zero(dev->ctx, dx, N * 8)); /* what is read is what is there then */
    assert_ok(g->launch(dev->ctx, graph));
    assert_close(LMR_F32, dy, y, N, 4);
    g->destroy(dev->ctx, graph);
    g->destroy(dev->ctx, NULL);
}
