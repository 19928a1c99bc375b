/* Draws a plot into a picture: a row per label, marks on a logarithmic axis. SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "larmor/larmor.h"

enum { ROW = 16, MARGIN = 12, AXIS = 640, MARK = 4, MOST_DECADES = 30 };

/* Of the first series a full square, of the second a hollow one, of the third a cross. */
static void draw_mark(canvas *c, int series, int x, int y)
{
    if (series == 0) canvas_box(c, x - MARK + 1, y - MARK + 1, x + MARK - 1, y + MARK - 1, CANVAS_INK);
    for (int i = -MARK; i <= MARK && series == 1; i++) {
        canvas_dot(c, x + i, y - MARK, CANVAS_INK);
        canvas_dot(c, x + i, y + MARK, CANVAS_INK);
        canvas_dot(c, x - MARK, y + i, CANVAS_INK);
        canvas_dot(c, x + MARK, y + i, CANVAS_INK);
    }
    for (int i = -MARK; i <= MARK && series == 2; i++) {
        canvas_dot(c, x + i, y + i, CANVAS_INK);
        canvas_dot(c, x + i, y - i, CANVAS_INK);
    }
}

/* The decades that hold all values, at least one. */
static void find_decades(const plot *p, int *low, int *high)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < p->count; i++)
        for (int s = 0; s < PLOT_SERIES; s++) {
            const double v = p->rows[i].value[s];
            if (!(v > 0) || !isfinite(v)) continue;
            least = fmin(least, v);
            most = fmax(most, v);
        }
    *low = most > 0 ? (int)floor(log10(least)) : 0;
    *high = most > 0 ? (int)ceil(log10(most)) : 1;
    if (*high == *low) ++*high;
    if (*high - *low > MOST_DECADES) *low = *high - MOST_DECADES;
}

static int axis_at(double value, int left, int low, int high)
{
    return left + (int)lrint(AXIS * (log10(value) - low) / (high - low));
}

static void draw_axis(canvas *c, const plot *p, int left, int top, int low, int high)
{
    const int bottom = top + ROW * p->count;
    for (int decade = low; decade <= high; decade++) {
        for (int unit = 1; unit < 10 && (decade < high || unit == 1); unit++) {
            const int x = axis_at(unit * pow(10, decade), left, low, high);
            canvas_box(c, x, top, x, bottom, unit == 1 ? CANVAS_FAINT - 0.25f : CANVAS_FAINT);
        }
        char text[16];
        const int letters = snprintf(text, sizeof text, "1E%d", decade);
        canvas_text(c, axis_at(pow(10, decade), left, low, high) - letters * CANVAS_CELL_WIDTH / 2, bottom + 6, text);
    }
    canvas_box(c, left, bottom, left + AXIS, bottom, CANVAS_INK);
    canvas_text(c, left + (AXIS - CANVAS_CELL_WIDTH * (int)strlen(p->axis)) / 2, bottom + 6 + 2 * CANVAS_CELL_HEIGHT,
                p->axis);
}

static void draw(canvas *c, const plot *p, int left, int top)
{
    int low, high, legend = left;
    find_decades(p, &low, &high);
    canvas_text(c, MARGIN, MARGIN, p->title);
    draw_axis(c, p, left, top, low, high);
    for (int s = 0; s < PLOT_SERIES; s++) {
        if (!p->series[s]) continue;
        draw_mark(c, s, legend, MARGIN + ROW + MARK);
        canvas_text(c, legend + 2 * MARK + 2, MARGIN + ROW, p->series[s]);
        legend += CANVAS_CELL_WIDTH * ((int)strlen(p->series[s]) + 6);
    }
    for (int i = 0; i < p->count; i++) {
        const int y = top + ROW * i + ROW / 2;
        canvas_text(c, left - MARGIN - CANVAS_CELL_WIDTH * (int)strlen(p->rows[i].label), y - 3, p->rows[i].label);
        for (int s = 0; s < PLOT_SERIES; s++)
            if (p->rows[i].value[s] > 0) draw_mark(c, s, axis_at(p->rows[i].value[s], left, low, high), y);
    }
}

larmor_status plot_write(const plot *p, larmor_output *out)
{
    int letters = 0;
    for (int i = 0; i < p->count; i++)
        letters = (int)strlen(p->rows[i].label) > letters ? (int)strlen(p->rows[i].label) : letters;
    const int left = 2 * MARGIN + CANVAS_CELL_WIDTH * letters, top = MARGIN + 3 * ROW;
    canvas c;
    larmor_status st =
        canvas_create(left + AXIS + 3 * MARGIN, top + ROW * p->count + 6 + 4 * CANVAS_CELL_HEIGHT + MARGIN, &c);
    if (st) return st;
    draw(&c, p, left, top);
    st = canvas_write(&c, out);
    canvas_free(&c);
    return st;
}
