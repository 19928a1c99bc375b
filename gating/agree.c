/* Whether a given signal of the breath is that of the samples, or fits them at another time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "gating/gating.h"

/* s. A belt leads or follows the organs by less than a tenth of a cycle. Right and late signals:
 * docs/records/gating.md, "A signal of another time". */
static const double step_s = 0.1;
static const double min_reliability = 0.8; /* of the samples' own breath */
static const double min_moved = 0.9;       /* correlation at the other time */
static const double max_as_given = 0.75;   /* correlation as it is */

typedef struct course {
    double *own, *given; /* [count] means over steps */
    int *readouts;       /* [count] of each step */
    int64_t count;
} course;

LMR_FREES(free_course, course, own, given, readouts)

static larmor_status open_course(const double *own, const double *given, const double *seconds, int64_t n, course *c)
{
    double first = INFINITY, last = -INFINITY;
    for (int64_t i = 0; i < n; i++) {
        first = fmin(first, seconds[i]);
        last = fmax(last, seconds[i]);
    }
    c->count = (int64_t)((last - first) / step_s) + 1;
    LMR_ALLOCATE_ZEROS(c->own, c->count);
    LMR_ALLOCATE_ZEROS(c->given, c->count);
    LMR_ALLOCATE_ZEROS(c->readouts, c->count);
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = (int64_t)((seconds[i] - first) / step_s);
        if (isnan(given[i])) continue;
        c->own[at] += own[i];
        c->given[at] += given[i];
        c->readouts[at]++;
    }
    for (int64_t i = 0; i < c->count; i++) {
        c->own[i] /= c->readouts[i] ? c->readouts[i] : 1;
        c->given[i] /= c->readouts[i] ? c->readouts[i] : 1;
    }
    return LARMOR_OK;
}

/* Of the own signal with the given one so many steps later; its sign is that of a belt, or not. 0 of fewer steps than
 * `least`, which say nothing. */
static double correlation(const course *c, int64_t later, double least)
{
    double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
    for (int64_t i = later < 0 ? -later : 0; i < c->count && i + later < c->count; i++) {
        const double a = c->own[i], b = c->given[i + later];
        if (!c->readouts[i] || !c->readouts[i + later]) continue;
        n++;
        x += a;
        y += b;
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    const double spread = (n * xx - x * x) * (n * yy - y * y);
    return n >= least && spread > 0 ? fabs(n * xy - x * y) / sqrt(spread) : 0;
}

larmor_status lmr_gating_lateness(const larmor_rhythm *own, const double *given, const double *seconds, int64_t n,
                                  double *late)
{
    LMR_FREED_BY(free_course) course c = {.count = 0};
    double most = 0;
    int64_t best = 0;
    *late = 0;
    if (!(own->rate > 0) || own->reliability < min_reliability) return LARMOR_OK;
    LMR_TRY(open_course(own->signal, given, seconds, n, &c));
    const int64_t half = (int64_t)(30 / own->rate / step_s); /* of a cycle */
    double least = 0;
    for (int64_t i = 0; i < c.count; i++) least += 0.5 * (c.readouts[i] > 0);
    for (int64_t later = -half; later <= half; later++) {
        const double r = correlation(&c, later, least);
        if (r <= most) continue;
        most = r;
        best = later;
    }
    if (most >= min_moved && correlation(&c, 0, 0) <= max_as_given) *late = (double)best * step_s;
    return LARMOR_OK;
}
