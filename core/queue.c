/* A device's queue of work: timers between two places in it, and graphs that replay a part of it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/device.h"
#include "core/owned.h"
#include "core/status.h"

/* ---- timers ---- */

struct larmor_timer {
    larmor_device *dev;
    void *from, *to;
    int started;
};

larmor_status larmor_timer_create(larmor_device *dev, larmor_timer **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_timer_create: out is NULL");
    *out = NULL;
    LMR_REFUSE(!dev, LARMOR_ERR_ARG, "larmor_timer_create: a device is needed");
    LMR_NEW_ZEROS(larmor_timer, timer, 1);
    timer->dev = lmr_device_ref(dev);
    larmor_status st = dev->be->mark->create(dev->ctx, &timer->from);
    if (!st) st = dev->be->mark->create(dev->ctx, &timer->to);
    if (st) {
        larmor_timer_free(timer);
        return st;
    }
    *out = timer;
    return LARMOR_OK;
}

void larmor_timer_free(larmor_timer *timer)
{
    if (!timer) return;
    const larmor_device *dev = timer->dev;
    dev->be->mark->destroy(dev->ctx, timer->from);
    dev->be->mark->destroy(dev->ctx, timer->to);
    LMR_FREE(timer->dev, timer);
}

static larmor_status expect_no_recording(const larmor_device *dev, const char *call)
{
    if (!dev->recording) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: %s records a graph; end it first", call, dev->spec);
}

larmor_status larmor_timer_start(larmor_timer *timer)
{
    LMR_REFUSE(!timer, LARMOR_ERR_ARG, "larmor_timer_start: a timer is needed");
    LMR_TRY(expect_no_recording(timer->dev, "larmor_timer_start"));
    timer->started = 0;
    LMR_TRY(timer->dev->be->mark->put(timer->dev->ctx, timer->from));
    timer->started = 1;
    return LARMOR_OK;
}

larmor_status larmor_timer_stop(larmor_timer *timer, double *seconds)
{
    LMR_REFUSE(!timer || !seconds, LARMOR_ERR_ARG, "larmor_timer_stop: a timer and room for the seconds are needed");
    const larmor_device *dev = timer->dev;
    LMR_REFUSE(!timer->started, LARMOR_ERR_ARG, "larmor_timer_stop: the timer was not started");
    LMR_TRY(expect_no_recording(dev, "larmor_timer_stop"));
    LMR_TRY(dev->be->mark->put(dev->ctx, timer->to));
    return dev->be->mark->seconds(dev->ctx, timer->from, timer->to, seconds);
}

/* ---- streams ---- */

larmor_status larmor_device_set_stream(larmor_device *dev, void *stream)
{
    LMR_REFUSE(!dev, LARMOR_ERR_ARG, "larmor_device_set_stream: a device is needed");
    LMR_REFUSE(!dev->be->set_stream, LARMOR_ERR_UNSUPPORTED, "larmor_device_set_stream: %s has no streams; GPUs have",
               dev->spec);
    LMR_TRY(expect_no_recording(dev, "larmor_device_set_stream"));
    return dev->be->set_stream(dev->ctx, stream);
}

/* ---- graphs ---- */

struct larmor_graph {
    larmor_device *dev;
    void *recorded;
};

larmor_status larmor_graph_begin(larmor_device *dev)
{
    LMR_REFUSE(!dev, LARMOR_ERR_ARG, "larmor_graph_begin: a device is needed");
    LMR_REFUSE(!dev->be->graph, LARMOR_ERR_UNSUPPORTED,
               "larmor_graph_begin: %s runs every call at once and records none; make the calls again instead",
               dev->spec);
    LMR_TRY(expect_no_recording(dev, "larmor_graph_begin"));
    LMR_TRY(dev->be->graph->begin(dev->ctx));
    dev->recording = 1;
    return LARMOR_OK;
}

larmor_status larmor_graph_end(larmor_device *dev, larmor_graph **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_graph_end: graph is NULL");
    *out = NULL;
    LMR_REFUSE(!dev || !dev->recording, LARMOR_ERR_ARG,
               "larmor_graph_end: nothing is recorded; call larmor_graph_begin first");
    larmor_graph *graph = calloc(1, sizeof *graph);
    void *recorded = NULL;
    const larmor_status st = dev->be->graph->end(dev->ctx, &recorded);
    dev->recording = 0;
    if (st || !graph) {
        dev->be->graph->destroy(dev->ctx, recorded);
        free(graph);
        return st ? st : LMR_NO_MEMORY();
    }
    graph->dev = lmr_device_ref(dev);
    graph->recorded = recorded;
    *out = graph;
    return LARMOR_OK;
}

larmor_status larmor_graph_launch(larmor_graph *graph)
{
    LMR_REFUSE(!graph, LARMOR_ERR_ARG, "larmor_graph_launch: a graph is needed");
    LMR_TRY(expect_no_recording(graph->dev, "larmor_graph_launch"));
    return graph->dev->be->graph->launch(graph->dev->ctx, graph->recorded);
}

void larmor_graph_free(larmor_graph *graph)
{
    if (!graph) return;
    graph->dev->be->graph->destroy(graph->dev->ctx, graph->recorded);
    LMR_FREE(graph->dev, graph);
}
