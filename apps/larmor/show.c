/* Images on a terminal: two pixels to a character, the upper one its colour, the lower one its background.
 * SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "try.h"

enum { COLUMNS = 80, LINES = 24, MOST_SIDE = 128, WHITE = 255 };

typedef struct plane {
    float *value; /* [2 * width * height] complex */
    int64_t width, height;
} plane;

static larmor_status middle_of(const larmor_image *image, plane *p)
{
    const larmor_shape shape = larmor_array_shape(image->data);
    float *all;
    TRY(larmor_array_download(image->data, LARMOR_C64, &all));
    p->value = all;
    p->width = shape.dim[0];
    p->height = shape.ndim > 1 ? shape.dim[1] : 1;
    const int64_t slices = shape.ndim > 2 ? shape.dim[2] : 1;
    const int64_t size = 2 * p->width * p->height;
    for (int64_t i = 0; i < size; i++) all[i] = all[slices / 2 * size + i];
    return LARMOR_OK;
}

static double magnitude(const plane *p, int64_t x, int64_t y)
{
    const float *v = &p->value[2 * (y * p->width + x)];
    return hypot((double)v[0], (double)v[1]);
}

static double largest_of(const plane *p)
{
    double largest = 0;
    for (int64_t y = 0; y < p->height; y++)
        for (int64_t x = 0; x < p->width; x++) largest = fmax(largest, magnitude(p, x, y));
    return largest;
}

/* The grey of pixel (x, y) of a picture of so many. */
static int grey(const show *s, const plane *p, int x, int y, int width, int height)
{
    const double value = magnitude(p, x * p->width / width, y * p->height / height);
    return s->white > 0 ? (int)fmin(WHITE, WHITE * value / s->white) : 0;
}

static int at_most(int64_t value, int64_t limit)
{
    return (int)(value < limit ? value : limit);
}

static void draw(show *s, const plane *p)
{
    struct winsize window = {.ws_col = COLUMNS, .ws_row = LINES};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) || window.ws_col < 4 || window.ws_row < 4)
        window = (struct winsize){.ws_col = COLUMNS, .ws_row = LINES};
    const int side = at_most(2 * (window.ws_row - 2), window.ws_col < MOST_SIDE ? window.ws_col : MOST_SIDE);
    const int64_t longest = p->width > p->height ? p->width : p->height;
    const int width = at_most((p->width * side + longest - 1) / longest, p->width);
    const int height = at_most((p->height * side + longest - 1) / longest, p->height);
    if (s->rows) printf("\033[%dA", s->rows);
    s->rows = (height + 1) / 2;
    for (int y = 0; y < height; y += 2) {
        for (int x = 0; x < width; x++) {
            const int up = grey(s, p, x, y, width, height);
            const int down = y + 1 < height ? grey(s, p, x, y + 1, width, height) : 0;
            printf("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm\xe2\x96\x80", up, up, up, down, down, down);
        }
        printf("\033[0m\n");
    }
}

larmor_status show_image(show *s, const larmor_image *image)
{
    plane p;
    TRY(middle_of(image, &p));
    if (!s->shown++) s->white = largest_of(&p);
    if (isatty(STDOUT_FILENO))
        draw(s, &p);
    else
        printf("image %d: %lld x %lld, largest magnitude %.3g\n", s->shown, (long long)p.width, (long long)p.height,
               largest_of(&p));
    fflush(stdout);
    free(p.value);
    return LARMOR_OK;
}
