/* Names of the tiles in a mosaic. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "io/images/png.h"

/* Characters of 3 x 5 pixels: rows from above, the highest of 3 bits is left. */
static const struct {
    char letter;
    unsigned char row[5];
} font[] = {
    {'0', {7, 5, 5, 5, 7}}, {'1', {2, 6, 2, 2, 7}}, {'2', {7, 1, 7, 4, 7}}, {'3', {7, 1, 7, 1, 7}},
    {'4', {5, 5, 7, 1, 1}}, {'5', {7, 4, 7, 1, 7}}, {'6', {7, 4, 7, 5, 7}}, {'7', {7, 1, 2, 2, 2}},
    {'8', {7, 5, 7, 5, 7}}, {'9', {7, 5, 7, 1, 7}}, {'a', {0, 3, 5, 5, 3}}, {'c', {0, 3, 4, 4, 3}},
    {'e', {2, 5, 7, 4, 3}}, {'p', {6, 5, 6, 4, 4}}, {'r', {0, 5, 6, 4, 4}}, {'s', {3, 4, 2, 1, 6}},
    {'t', {2, 7, 2, 2, 1}}, {'z', {0, 7, 1, 2, 7}},
};
enum { CELL = 4, HEIGHT = 5 };

/* The counters in the order in which they are named. */
enum { COUNTERS = 6 };

static int counter(const larmor_image *image, int which)
{
    const larmor_image_meta *m = &image->meta;
    const int all[COUNTERS] = {m->slice, m->contrast, m->phase, m->repetition, m->set, m->average};
    return all[which];
}

lmr_label lmr_label_of(const lmr_images *images, int i, int64_t z)
{
    static const char *const names[COUNTERS] = {"s", "c", "p", "r", "set", "a"};
    lmr_label label = {""};
    int used = 0;
    for (int k = 0; k < COUNTERS; k++) {
        int differs = 0;
        for (int j = 1; j < images->count; j++)
            differs |= counter(&images->image[j], k) != counter(&images->image[0], k);
        if (differs)
            used += snprintf(label.s + used, sizeof label.s - (size_t)used, "%s%s%d", used ? " " : "", names[k],
                             counter(&images->image[i], k));
        if (used >= (int)sizeof label.s) return label;
    }
    if (!used && images->count > 1) used = snprintf(label.s, sizeof label.s, "%d", i);
    if (images->dim[2] > 1)
        snprintf(label.s + used, sizeof label.s - (size_t)used, "%sz%" PRId64, used ? " " : "", z);
    return label;
}

static void draw_letter(char letter, int64_t scale, int64_t width, unsigned char *corner)
{
    size_t g = 0;
    while (g < sizeof font / sizeof *font && font[g].letter != letter) g++;
    if (g == sizeof font / sizeof *font) return;
    for (int64_t y = 0; y < HEIGHT * scale; y++)
        for (int64_t x = 0; x < 3 * scale; x++)
            if (font[g].row[y / scale] >> (2 - x / scale) & 1) corner[y * width + x] = 255;
}

void lmr_label_draw(const lmr_label *label, int64_t nx, int64_t ny, int64_t width, unsigned char *tile)
{
    const int64_t length = (int64_t)strlen(label->s);
    int64_t scale = 1 + ny / 128; /* readable where the picture is shown as large as the screen */
    while (scale > 0 && ((CELL * length + 1) * scale > nx / 2 || (HEIGHT + 2) * scale > ny / 4)) scale--;
    if (!scale || !length) return;
    for (int64_t y = 0; y < (HEIGHT + 2) * scale; y++)
        memset(tile + y * width, 0, (size_t)((CELL * length + 1) * scale));
    for (int64_t i = 0; i < length; i++)
        draw_letter(label->s[i], scale, width, tile + scale * width + (CELL * i + 1) * scale);
}
