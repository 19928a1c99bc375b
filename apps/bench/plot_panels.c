/* Draws panels of curves into a picture. SPDX-License-Identifier: Apache-2.0 */
#include "plot_panels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "canvas.h"

enum {
    WIDTH = 260,
    HEIGHT = 220,
    LEFT = 46,
    RIGHT = 40,
    TOP = 24,
    BOTTOM = 28,
    HEAD = 48,
    MOST_ACROSS = 4,
    MARK = 3
};

typedef struct axes {
    const plot_panels *p;
    int low, high; /* decades */
    int left, top; /* of the panel's field */
} axes;

static void find_decades(axes *a)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < a->p->curve_count; i++)
        for (int k = 0; k < a->p->curves[i].count; k++) {
            least = fmin(least, a->p->curves[i].y[k]);
            most = fmax(most, a->p->curves[i].y[k]);
        }
    a->low = most > 0 ? (int)floor(log10(least)) : 0;
    a->high = most > 0 ? (int)ceil(log10(most)) : 1;
    if (a->high == a->low) a->high++;
}

static int x_of(const axes *a, double x)
{
    const int width = WIDTH - LEFT - RIGHT;
    return a->left + (int)lrint(width * (x - a->p->low) / (a->p->high - a->p->low));
}

static int y_of(const axes *a, double y)
{
    const int height = HEIGHT - TOP - BOTTOM;
    return a->top + (int)lrint(height * (a->high - log10(y)) / (a->high - a->low));
}

static void draw_grid(canvas *c, const axes *a, const char *title)
{
    char text[24];
    const int right = x_of(a, a->p->high), bottom = y_of(a, pow(10, a->low));
    for (int decade = a->low; decade <= a->high; decade++) {
        const int y = y_of(a, pow(10, decade));
        canvas_box(c, a->left, y, right, y, CANVAS_FAINT);
        const int letters = snprintf(text, sizeof text, "1E%d", decade);
        canvas_text(c, a->left - (letters + 1) * CANVAS_CELL_WIDTH, y - 3, text);
    }
    for (int i = 0; i < a->p->tick_count; i++) {
        const int x = x_of(a, a->p->ticks[i]);
        canvas_box(c, x, a->top, x, bottom, CANVAS_FAINT);
        const int letters = snprintf(text, sizeof text, "%.4g", a->p->ticks[i]);
        canvas_text(c, x - letters * CANVAS_CELL_WIDTH / 2, bottom + 6, text);
    }
    canvas_box(c, a->left, bottom, right, bottom, CANVAS_INK);
    canvas_box(c, a->left, a->top, a->left, bottom, CANVAS_INK);
    canvas_text(c, a->left, a->top - 14, title);
}

static void draw_curve(canvas *c, const axes *a, const plot_curve *curve)
{
    for (int k = 0; k < curve->count; k++) {
        const int x = x_of(a, curve->x[k]), y = y_of(a, curve->y[k]);
        if (k) canvas_line(c, x_of(a, curve->x[k - 1]), y_of(a, curve->y[k - 1]), x, y, 0.4f);
        canvas_box(c, x - 1, y - 1, x + 1, y + 1, 0.4f);
    }
    if (curve->count)
        canvas_text(c, x_of(a, curve->x[curve->count - 1]) + 6, y_of(a, curve->y[curve->count - 1]) - 3,
                    curve->label);
    if (!(curve->mark_y > 0)) return;
    const int x = x_of(a, curve->mark_x), y = y_of(a, curve->mark_y);
    canvas_box(c, x - MARK, y - MARK, x + MARK, y + MARK, CANVAS_INK);
}

larmor_status plot_panels_write(const plot_panels *p, larmor_output *out)
{
    const int across = p->panel_count < MOST_ACROSS ? p->panel_count : MOST_ACROSS;
    const int down = (p->panel_count + across - 1) / across;
    canvas c;
    axes a = {.p = p};
    larmor_status st = canvas_create(WIDTH * across > 520 ? WIDTH * across : 520, HEAD + HEIGHT * down, &c);
    if (st) return st;
    find_decades(&a);
    canvas_text(&c, 12, 12, p->title);
    canvas_text(&c, 12, 28, p->y_axis);
    canvas_text(&c, 12 + CANVAS_CELL_WIDTH * ((int)strlen(p->y_axis) + 2), 28, p->x_axis);
    for (int i = 0; i < p->panel_count; i++) {
        a.left = WIDTH * (i % across) + LEFT, a.top = HEAD + HEIGHT * (i / across) + TOP;
        draw_grid(&c, &a, p->panel[i]);
        for (int k = 0; k < p->curve_count; k++)
            if (p->curves[k].panel == i) draw_curve(&c, &a, &p->curves[k]);
    }
    st = canvas_write(&c, out);
    canvas_free(&c);
    return st;
}
