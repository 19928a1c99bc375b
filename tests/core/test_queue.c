/* Timers and graphs as callers see them. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

/* Some work on the device: y <- y + x, often. */
static void work(larmor_array *x, larmor_array *y, int times)
{
    for (int i = 0; i < times; i++) assert_ok(larmor_axpby(1, x, 1, y));
}

static larmor_array *numbers(int64_t n)
{
    return MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(n), &made));
}

TEST(a_timer_measures_from_its_last_start_and_goes_on)
{
    larmor_timer *timer, *outer;
    OWNED(larmor_array) *x = numbers(100000), *y = numbers(100000);
    double inner_seconds, first, second;
    assert_ok(larmor_timer_create(dev, &timer));
    assert_ok(larmor_timer_create(dev, &outer));
    assert_ok(larmor_timer_start(timer));
    assert_ok(larmor_timer_start(outer));
    work(x, y, 20);
    assert_ok(larmor_timer_start(timer)); /* forgets the first one */
    work(x, y, 5);
    assert_ok(larmor_timer_stop(timer, &inner_seconds));
    assert_ok(larmor_timer_stop(outer, &first));
    work(x, y, 5);
    assert_ok(larmor_timer_stop(outer, &second));
    assert_true(inner_seconds > 0 && first > inner_seconds && second > first);
    larmor_timer_free(timer);
    larmor_timer_free(outer);
    larmor_timer_free(NULL);
}

TEST(a_timer_keeps_its_device_alive)
{
    double seconds = -1;
    larmor_device *own = MADE(larmor_device, larmor_device_open(larmor_device_spec(dev), &made));
    OWN(larmor_timer, *timer, larmor_timer_create(own, &timer));
    larmor_device_free(own);
    assert_ok(larmor_timer_start(timer));
    assert_ok(larmor_timer_stop(timer, &seconds));
    assert_true(seconds >= 0);
}

TEST(timers_used_wrongly_are_refused)
{
    OWNED(larmor_timer) *timer = (larmor_timer *)&timer;
    double seconds;
    assert_refused(larmor_timer_create(NULL, &timer), LARMOR_ERR_ARG, "a device is needed");
    assert_null(timer);
    assert_refused(larmor_timer_create(dev, NULL), LARMOR_ERR_ARG, "out is NULL");
    assert_ok(larmor_timer_create(dev, &timer));
    assert_refused(larmor_timer_stop(timer, &seconds), LARMOR_ERR_ARG,
                   "larmor_timer_stop: the timer was not started");
    assert_refused(larmor_timer_stop(timer, NULL), LARMOR_ERR_ARG, "room for the seconds");
    assert_refused(larmor_timer_start(NULL), LARMOR_ERR_ARG, "a timer is needed");
}

static int can_record(void)
{
    return strncmp(larmor_device_spec(dev), "cpu", 3) != 0;
}

TEST(a_processor_says_that_it_cannot_record)
{
    if (can_record()) skip();
    char text[128];
    snprintf(text, sizeof text,
             "larmor_graph_begin: %s runs every call at once and records none; make the calls again instead",
             larmor_device_spec(dev));
    assert_refused(larmor_graph_begin(dev), LARMOR_ERR_UNSUPPORTED, text);
    assert_none_made(larmor_graph, larmor_graph_end(dev, &made), LARMOR_ERR_ARG, "nothing is recorded");
}

TEST(graphs_used_wrongly_are_refused)
{
    OWNED(larmor_graph) *graph = (larmor_graph *)&graph;
    double seconds;
    assert_refused(larmor_graph_begin(NULL), LARMOR_ERR_ARG, "a device is needed");
    assert_refused(larmor_graph_end(dev, NULL), LARMOR_ERR_ARG, "graph is NULL");
    assert_refused(larmor_graph_end(dev, &graph), LARMOR_ERR_ARG, "call larmor_graph_begin first");
    assert_null(graph);
    assert_refused(larmor_graph_launch(NULL), LARMOR_ERR_ARG, "a graph is needed");
    larmor_graph_free(NULL);
    if (!can_record()) return;
    larmor_timer *timer = MADE(larmor_timer, larmor_timer_create(dev, &made));
    assert_ok(larmor_timer_start(timer));
    assert_ok(larmor_graph_begin(dev));
    assert_refused(larmor_graph_begin(dev), LARMOR_ERR_ARG, "records a graph; end it first");
    assert_refused(larmor_timer_start(timer), LARMOR_ERR_ARG, "records a graph; end it first");
    assert_refused(larmor_timer_stop(timer, &seconds), LARMOR_ERR_ARG, "records a graph; end it first");
    assert_ok(larmor_graph_end(dev, &graph)); /* an empty one */
    assert_ok(larmor_graph_launch(graph));
    assert_ok(larmor_device_sync(dev));
    larmor_timer_free(timer);
}

static float first_of(larmor_array *x)
{
    float value[2];
    OWN(larmor_array, *one, larmor_array_slice(x, 0, 1, &one));
    assert_ok(larmor_array_read(one, value, sizeof value));
    return value[0];
}

/* What waits, what moves numbers to the host, what allocates: each spoils its recording and nothing more. */
TEST(what_cannot_be_recorded_is_told_and_leaves_the_device_usable)
{
    if (!can_record()) skip();
    OWNED(larmor_array) *x = numbers(1), *y = numbers(1);
    larmor_array *fresh = NULL;
    float one[2] = {1, 0};
    double sum[2];
    assert_ok(larmor_array_write(x, one, sizeof one));
    assert_ok(larmor_dot(x, x, sum));
    work(x, y, 1);
    for (int what = 0; what < 4; what++) {
        larmor_graph *graph = (larmor_graph *)&graph;
        larmor_status refused = LARMOR_OK;
        assert_ok(larmor_graph_begin(dev));
        if (what == 0) refused = larmor_device_sync(dev);
        if (what == 1) refused = larmor_dot(x, x, sum);
        if (what == 2) refused = larmor_array_read(y, one, sizeof one);
        if (what == 3) refused = larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(7), &fresh);
        assert_int_not_equal(refused, LARMOR_OK);
        assert_int_not_equal(larmor_graph_end(dev, &graph), LARMOR_OK);
        assert_null(graph);
        assert_null(fresh);
        work(x, y, 1);
        assert_true(first_of(y) == (float)(what + 2));
    }
}

TEST(arrays_freed_while_recording_are_given_back_after)
{
    if (!can_record()) skip();
    OWNED(larmor_array) *x = numbers(1), *y = numbers(1);
    larmor_array *old = numbers(1 << 20);
    float one[2] = {1, 0};
    assert_ok(larmor_array_write(x, one, sizeof one));
    work(x, y, 1);
    assert_ok(larmor_graph_begin(dev));
    larmor_array_free(old);
    work(x, y, 2);
    OWN(larmor_graph, *graph, larmor_graph_end(dev, &graph));
    for (int i = 0; i < 3; i++) assert_ok(larmor_graph_launch(graph));
    assert_true(first_of(y) == 7);
}
