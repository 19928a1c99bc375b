/* The events of a reconstruction: one callback of the caller gets all of them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "scan/events.h"

#include <stdarg.h>

#include "core/core.h"

/* All series are taken to be equally long. done: how many are, with the part of the one that is not. What is solved
 * once more does not take back what was said. */
static void send(lmr_events *e, larmor_event *event, double done)
{
    if (e->count > 0) event->fraction = e->reached = fmax(e->reached, fmin(done / e->count, 1));
    const double here = e->count > 0 ? event->fraction - (double)e->kept / e->count : 0; /* done by this process */
    if (here > 0) event->remaining = (lmr_seconds() - e->began) * (1 - event->fraction) / here;
    if (e->listener(e->user, event)) e->stopped = 1;
}

static double part_of(const larmor_event *event)
{
    return event->steps > 0 ? fmin((double)event->step / event->steps, 1) : 0;
}

static void report(lmr_events *e, larmor_event_kind kind, const char *text, const larmor_progress *p)
{
    if (!e->listener) return;
    larmor_event event = {.kind = kind,
                          .stage = e->stage,
                          .text = text,
                          .series = e->series,
                          .count = e->count,
                          .residual = -1,
                          .objective = NAN,
                          .remaining = -1};
    if (p) {
        event.step = p->iter;
        event.steps = e->trial ? 0 : p->max_iter;
        event.residual = p->residual;
        event.objective = p->objective * e->energy;
    }
    send(e, &event, e->done + part_of(&event));
}

void lmr_relay(lmr_events *e, const larmor_event *heard, int ahead)
{
    larmor_event event = *heard;
    snprintf(e->stage, sizeof e->stage, "%s", heard->stage);
    if (!e->listener) return;
    event.stage = e->stage;
    event.text = "";
    event.series = e->series;
    event.count = e->count;
    event.remaining = -1;
    send(e, &event, e->done + ahead + part_of(&event));
}

static void report_line(lmr_events *e, larmor_event_kind kind, const char *format, va_list arguments)
{
    char line[1024];
    if (e->is_quiet) return;
    vsnprintf(line, sizeof line, format, arguments);
    report(e, kind, line, NULL);
}

void lmr_log(lmr_events *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report_line(e, LARMOR_EVENT_LOG, format, arguments);
    va_end(arguments);
}

void lmr_warn(lmr_events *e, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    report_line(e, LARMOR_EVENT_WARNING, format, arguments);
    va_end(arguments);
}

larmor_status lmr_enter(lmr_events *e, const char *stage)
{
    snprintf(e->stage, sizeof e->stage, "%s", stage);
    report(e, LARMOR_EVENT_STAGE, "", NULL);
    LMR_REFUSE(e->stopped, LARMOR_STOPPED, "stopped by the caller before this stage: %s", stage);
    return lmr_go_on();
}

int lmr_monitor(void *events, const larmor_progress *progress)
{
    lmr_events *e = events;
    e->stage[0] = 0;
    report(e, LARMOR_EVENT_STEP, "", progress);
    return e->stopped;
}

void lmr_begin_series(lmr_events *e, int series, int count)
{
    if (e->began == 0) e->began = lmr_seconds();
    e->series = series;
    e->count = count;
    e->stopped = e->trial = 0;
}

void lmr_end_series(lmr_events *e)
{
    e->stage[0] = 0;
    if (e->done < e->count) e->done++;
}
