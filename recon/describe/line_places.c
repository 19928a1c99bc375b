/* Lines along x among the samples of a scan. SPDX-License-Identifier: Apache-2.0 */
#include "recon/describe/line_places.h"

#include "core/core.h"

/* How many samples from k on follow each other along x at this step, in either direction. */
static int64_t length_of(const double *k, int nd, int64_t most, double step, int *down)
{
    int64_t length = 1;
    if (most < 2) return length;
    *down = k[nd] < k[0];
    for (int on_line = 1; length < most; length++) {
        const double *at = k + nd * length;
        on_line = fabs(at[0] - k[0] - (*down ? -step : step) * (double)length) < LMR_ON_GRID;
        for (int d = 1; d < nd; d++) on_line &= fabs(at[d] - k[d]) < LMR_ON_GRID;
        if (!on_line) break;
    }
    return length;
}

/* ---- whether there are any ---- */

enum { PIECES = 64 };

typedef struct runs {
    const double *k;
    int nd;
    int64_t points;
    double step;
    int64_t count[PIECES];
} runs;

/* Samples that follow each other along x, at least half as many as the windows are wide: of a line that is cut in two
 * one part is so long. */
static void count_runs(void *self, int64_t piece)
{
    runs *p = self;
    const int64_t end = p->points * (piece + 1) / PIECES;
    int64_t count = 0, length;
    int down;
    for (int64_t i = p->points * piece / PIECES; i < end; i += length) {
        length = length_of(p->k + p->nd * i, p->nd, end - i, p->step, &down);
        count += length > LMR_LINE_HALF;
    }
    p->count[piece] = count;
}

/* 1 if there may be LMR_LINES_LEAST lines: scans with other trajectories have few that are along x. */
static larmor_status may_have_lines(const double *k, int nd, int64_t points, double step, int threads, int *may)
{
    runs p = {.k = k, .nd = nd, .points = points, .step = step};
    int64_t count = 0;
    LMR_TRY(lmr_parallel(threads, PIECES, count_runs, &p));
    for (int i = 0; i < PIECES; i++) count += p.count[i];
    *may = count >= LMR_LINES_LEAST;
    return LARMOR_OK;
}

/* ---- all of them ---- */

static void find_lines(const double *k, int nd, int64_t points, double step, lmr_line *p, int64_t *count)
{
    *count = 0;
    for (int64_t i = 0; i < points;) {
        const double *at = k + nd * i;
        lmr_line one = {.at = nd > 1 ? at[1] : 0, .first = i};
        one.length = length_of(at, nd, points - i, step, &one.down);
        const double low = one.down ? at[0] - step * (double)(one.length - 1) : at[0];
        one.centre = -low / step;
        i += one.length;
        if (one.centre < LMR_LINE_HALF || one.centre + LMR_LINE_HALF >= (double)one.length) continue;
        if (nd < 3 || fabs(at[2]) < 0.5) p[(*count)++] = one;
    }
}

larmor_status lmr_lines_find(const larmor_array *traj, lmr_line **lines, int64_t *count, double *step)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int nd = (int)shape.dim[0];
    const int64_t points = shape.dim[1] * shape.dim[2];
    int may;
    *lines = NULL;
    *count = 0;
    *step = 0;
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int d = 0; d < nd && points > 1; d++) *step = fmax(*step, fabs(k[nd + d] - k[d]));
    if (nd < 2 || !(*step > 0)) return LARMOR_OK;
    LMR_TRY(may_have_lines(k, nd, points, *step, lmr_device_threads(larmor_array_device(traj)), &may));
    if (!may) return LARMOR_OK;
    LMR_HEAP LMR_NEW(lmr_line, found, points);
    find_lines(k, nd, points, *step, found, count);
    if (*count < LMR_LINES_LEAST) *count = 0;
    if (*count) LMR_ALLOCATE(*lines, *count);
    if (*count) memcpy(*lines, found, (size_t)*count * sizeof **lines);
    return LARMOR_OK;
}

void lmr_lines_sort(lmr_line *lines, int64_t *count)
{
    int64_t kept = 0;
    qsort(lines, (size_t)*count, sizeof *lines, lmr_by_rank);
    for (int64_t i = 0; i < *count; i++)
        if (!kept || lines[i].at > lines[kept - 1].at + LMR_ON_GRID) lines[kept++] = lines[i];
    *count = kept;
}
