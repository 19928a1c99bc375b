/* Letters, boxes and lines into an array of grey values. SPDX-License-Identifier: Apache-2.0 */
#include "canvas.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

#include "larmor/larmor.h"

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

void canvas_dot(canvas *c, int x, int y, float shade)
{
    if (x >= 0 && x < c->width && y >= 0 && y < c->height) c->pixel[(int64_t)y * c->width + x] = shade;
}

void canvas_box(canvas *c, int x0, int y0, int x1, int y1, float shade)
{
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) canvas_dot(c, x, y, shade);
}

void canvas_line(canvas *c, int x0, int y0, int x1, int y1, float shade)
{
    const int dx = abs(x1 - x0), dy = abs(y1 - y0), steps = dx > dy ? dx : dy;
    for (int i = 0; i <= steps; i++) {
        const double part = steps ? (double)i / steps : 0;
        canvas_dot(c, x0 + (int)lrint(part * (x1 - x0)), y0 + (int)lrint(part * (y1 - y0)), shade);
    }
}

void canvas_text(canvas *c, int x, int y, const char *text)
{
    for (; *text; text++, x += CANVAS_CELL_WIDTH)
        for (size_t g = 0; g < sizeof font / sizeof *font; g++) {
            if (font[g].letter != toupper((unsigned char)*text)) continue;
            for (int row = 0; row < 7; row++)
                for (int bit = 0; bit < 5; bit++)
                    if (font[g].row[row] >> (4 - bit) & 1) canvas_dot(c, x + bit, y + row, CANVAS_INK);
        }
}

larmor_status canvas_create(int width, int height, canvas *c)
{
    const int64_t pixels = (int64_t)width * height;
    *c = (canvas){width, height, malloc((size_t)pixels * sizeof *c->pixel)};
    if (!c->pixel) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int64_t i = 0; i < pixels; i++) c->pixel[i] = CANVAS_PAPER;
    return LARMOR_OK;
}

void canvas_free(canvas *c)
{
    free(c->pixel);
    c->pixel = NULL;
}

larmor_status canvas_write(const canvas *c, larmor_output *out)
{
    larmor_device *cpu = NULL;
    larmor_array *picture = NULL;
    larmor_status st = larmor_device_open("cpu", &cpu);
    if (!st) st = larmor_array_create(cpu, LARMOR_F32, LARMOR_SHAPE(c->width, c->height), &picture);
    if (!st) st = larmor_array_write(picture, c->pixel, larmor_array_bytes(picture));
    const larmor_image image = {.data = picture};
    if (!st) st = larmor_image_write(out, &image, 1, &(larmor_write_opts){.window = {CANVAS_INK, CANVAS_PAPER}});
    larmor_array_free(picture);
    larmor_device_free(cpu);
    return st;
}
