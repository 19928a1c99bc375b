/* Draws a plot into an array: a row per label, marks on a logarithmic axis. SPDX-License-Identifier: Apache-2.0 */
#include "plot.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "larmor/larmor.h"

enum { CELL_WIDTH = 6, CELL_HEIGHT = 8, ROW = 16, MARGIN = 12, AXIS = 640, MARK = 4, MOST_DECADES = 30 };

#define INK 0.0f
#define FAINT 0.85f
#define PAPER 1.0f

/* A font of 5 x 7 pixels: rows from above, the highest of 5 bits is left. */
static const struct {
    char letter;
    unsigned char row[7];
} font[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},      {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {31, 2, 4, 2, 1, 17, 14}},     {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},       {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},   {'A', {14, 17, 17, 31, 17, 17, 17}}, {'B', {30, 17, 17, 30, 17, 17, 30}},
    {'C', {14, 17, 16, 16, 16, 17, 14}}, {'D', {28, 18, 17, 17, 17, 18, 28}}, {'E', {31, 16, 16, 30, 16, 16, 31}},
    {'F', {31, 16, 16, 30, 16, 16, 16}}, {'G', {14, 17, 16, 23, 17, 17, 15}}, {'H', {17, 17, 17, 31, 17, 17, 17}},
    {'I', {14, 4, 4, 4, 4, 4, 14}},      {'J', {7, 2, 2, 2, 2, 18, 12}},      {'K', {17, 18, 20, 24, 20, 18, 17}},
    {'L', {16, 16, 16, 16, 16, 16, 31}}, {'M', {17, 27, 21, 21, 17, 17, 17}}, {'N', {17, 17, 25, 21, 19, 17, 17}},
    {'O', {14, 17, 17, 17, 17, 17, 14}}, {'P', {30, 17, 17, 30, 16, 16, 16}}, {'Q', {14, 17, 17, 17, 21, 18, 13}},
    {'R', {30, 17, 17, 30, 20, 18, 17}}, {'S', {15, 16, 16, 14, 1, 1, 30}},   {'T', {31, 4, 4, 4, 4, 4, 4}},
    {'U', {17, 17, 17, 17, 17, 17, 14}}, {'V', {17, 17, 17, 17, 17, 10, 4}},  {'W', {17, 17, 17, 21, 21, 21, 10}},
    {'X', {17, 17, 10, 4, 10, 17, 17}},  {'Y', {17, 17, 17, 10, 4, 4, 4}},    {'Z', {31, 1, 2, 4, 8, 16, 31}},
    {'_', {0, 0, 0, 0, 0, 0, 31}},       {'.', {0, 0, 0, 0, 0, 12, 12}},      {',', {0, 0, 0, 0, 12, 4, 8}},
    {'-', {0, 0, 0, 31, 0, 0, 0}},       {'+', {0, 4, 4, 31, 4, 4, 0}},       {'=', {0, 0, 31, 0, 31, 0, 0}},
    {':', {0, 12, 12, 0, 12, 12, 0}},    {'(', {2, 4, 8, 8, 8, 4, 2}},        {')', {8, 4, 2, 2, 2, 4, 8}},
    {'/', {0, 1, 2, 4, 8, 16, 0}},
};

typedef struct canvas {
    int width, height;
    float *pixel; /* [width, height] */
} canvas;

static void dot(canvas *c, int x, int y, float shade)
{
    if (x >= 0 && x < c->width && y >= 0 && y < c->height) c->pixel[(int64_t)y * c->width + x] = shade;
}

static void box(canvas *c, int x0, int y0, int x1, int y1, float shade)
{
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) dot(c, x, y, shade);
}

static void write_text(canvas *c, int x, int y, const char *text)
{
    for (; *text; text++, x += CELL_WIDTH)
        for (size_t g = 0; g < sizeof font / sizeof *font; g++) {
            if (font[g].letter != toupper((unsigned char)*text)) continue;
            for (int row = 0; row < 7; row++)
                for (int bit = 0; bit < 5; bit++)
                    if (font[g].row[row] >> (4 - bit) & 1) dot(c, x + bit, y + row, INK);
        }
}

/* Of the first series a full square, of the second a hollow one, of the third a cross. */
static void draw_mark(canvas *c, int series, int x, int y)
{
    if (series == 0) box(c, x - MARK + 1, y - MARK + 1, x + MARK - 1, y + MARK - 1, INK);
    for (int i = -MARK; i <= MARK && series == 1; i++) {
        dot(c, x + i, y - MARK, INK);
        dot(c, x + i, y + MARK, INK);
        dot(c, x - MARK, y + i, INK);
        dot(c, x + MARK, y + i, INK);
    }
    for (int i = -MARK; i <= MARK && series == 2; i++) {
        dot(c, x + i, y + i, INK);
        dot(c, x + i, y - i, INK);
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
            box(c, x, top, x, bottom, unit == 1 ? FAINT - 0.25f : FAINT);
        }
        char text[16];
        const int letters = snprintf(text, sizeof text, "1E%d", decade);
        write_text(c, axis_at(pow(10, decade), left, low, high) - letters * CELL_WIDTH / 2, bottom + 6, text);
    }
    box(c, left, bottom, left + AXIS, bottom, INK);
    write_text(c, left + (AXIS - CELL_WIDTH * (int)strlen(p->axis)) / 2, bottom + 6 + 2 * CELL_HEIGHT, p->axis);
}

static void draw(canvas *c, const plot *p, int left, int top)
{
    int low, high, legend = left;
    find_decades(p, &low, &high);
    write_text(c, MARGIN, MARGIN, p->title);
    draw_axis(c, p, left, top, low, high);
    for (int s = 0; s < PLOT_SERIES; s++) {
        if (!p->series[s]) continue;
        draw_mark(c, s, legend, MARGIN + ROW + MARK);
        write_text(c, legend + 2 * MARK + 2, MARGIN + ROW, p->series[s]);
        legend += CELL_WIDTH * ((int)strlen(p->series[s]) + 6);
    }
    for (int i = 0; i < p->count; i++) {
        const int y = top + ROW * i + ROW / 2;
        write_text(c, left - MARGIN - CELL_WIDTH * (int)strlen(p->rows[i].label), y - 3, p->rows[i].label);
        for (int s = 0; s < PLOT_SERIES; s++)
            if (p->rows[i].value[s] > 0) draw_mark(c, s, axis_at(p->rows[i].value[s], left, low, high), y);
    }
}

larmor_status plot_write(const plot *p, larmor_output *out)
{
    int letters = 0;
    for (int i = 0; i < p->count; i++)
        letters = (int)strlen(p->rows[i].label) > letters ? (int)strlen(p->rows[i].label) : letters;
    const int left = 2 * MARGIN + CELL_WIDTH * letters, top = MARGIN + 3 * ROW;
    canvas c = {left + AXIS + 3 * MARGIN, top + ROW * p->count + 6 + 4 * CELL_HEIGHT + MARGIN, NULL};
    const int64_t pixels = (int64_t)c.width * c.height;
    larmor_device *cpu = NULL;
    larmor_array *picture = NULL;
    c.pixel = malloc((size_t)pixels * sizeof *c.pixel);
    larmor_status st =
        c.pixel ? larmor_device_open("cpu", &cpu) : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    if (!st) st = larmor_array_create(cpu, LARMOR_F32, LARMOR_SHAPE(c.width, c.height), &picture);
    if (!st) {
        for (int64_t i = 0; i < pixels; i++) c.pixel[i] = PAPER;
        draw(&c, p, left, top);
        st = larmor_array_write(picture, c.pixel, larmor_array_bytes(picture));
    }
    const larmor_image image = {.data = picture};
    if (!st) st = larmor_image_write(out, &image, 1, NULL);
    larmor_array_free(picture);
    larmor_device_free(cpu);
    free(c.pixel);
    return st;
}
