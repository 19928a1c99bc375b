/* Names of the tiles of a picture. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/images/picture.h"

/* Characters of 5 x 7 points: rows from above, the highest of 5 bits is left. */
enum { COLUMNS = 5, ROWS = 7 };
static const struct {
    char letter;
    unsigned char row[ROWS];
} font[] = {
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},      {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {31, 2, 4, 2, 1, 17, 14}},     {'4', {2, 6, 10, 18, 31, 2, 2}},     {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {6, 8, 16, 30, 17, 17, 14}},   {'7', {31, 1, 2, 4, 8, 8, 8}},       {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 2, 12}},   {'a', {14, 17, 17, 31, 17, 17, 17}}, {'c', {14, 17, 16, 16, 16, 17, 14}},
    {'e', {31, 16, 16, 30, 16, 16, 31}}, {'g', {14, 17, 16, 23, 17, 17, 15}}, {'h', {17, 17, 17, 31, 17, 17, 17}},
    {'i', {14, 4, 4, 4, 4, 4, 14}},      {'l', {16, 16, 16, 16, 16, 16, 31}}, {'m', {17, 27, 21, 21, 17, 17, 17}},
    {'o', {14, 17, 17, 17, 17, 17, 14}}, {'p', {30, 17, 17, 30, 16, 16, 16}}, {'r', {30, 17, 17, 30, 20, 18, 17}},
    {'s', {15, 16, 16, 14, 1, 1, 30}},   {'t', {31, 4, 4, 4, 4, 4, 4}},       {'v', {17, 17, 17, 17, 17, 10, 4}},
    {'x', {17, 17, 10, 4, 10, 17, 17}},  {'y', {17, 17, 10, 4, 4, 4, 4}},     {'z', {31, 1, 2, 4, 8, 16, 31}},
};

/* The counters in the order in which they are named. */
enum { COUNTERS = 6 };
static const char *const names[COUNTERS] = {"slice", "echo", "phase", "rep", "set", "avg"};

static int counter(const larmor_image *image, int which)
{
    const larmor_image_meta *m = &image->meta;
    const int all[COUNTERS] = {m->slice, m->contrast, m->phase, m->repetition, m->set, m->average};
    return all[which];
}

unsigned lmr_label_counters(const lmr_images *images, int is_volume)
{
    unsigned differing = 0;
    for (int k = is_volume; k < COUNTERS; k++)
        for (int j = 1; j < images->count; j++)
            if (counter(&images->image[j], k) != counter(&images->image[0], k)) differing |= 1u << k;
    return differing;
}

lmr_label lmr_label_of(const lmr_images *images, int i, unsigned counters, char axis, int64_t at)
{
    lmr_label label = {""};
    for (int k = 0; k < COUNTERS; k++)
        if (counters >> k & 1)
            lmr_append_item(label.s, sizeof label.s, " ", "%s %d", names[k], counter(&images->image[i], k));
    if (images->is_coils) snprintf(label.s, sizeof label.s, "coil %d", i);
    if (!*label.s && images->count > 1 && axis != 'x' && axis != 'y')
        snprintf(label.s, sizeof label.s, "image %d", i);
    if (axis) lmr_append_item(label.s, sizeof label.s, " ", "%c %" PRId64, axis, at);
    return label;
}

static void draw_letter(char letter, int64_t scale, int64_t width, int channels, unsigned char *corner)
{
    size_t g = 0;
    while (g < sizeof font / sizeof *font && font[g].letter != letter) g++;
    if (g == sizeof font / sizeof *font) return;
    for (int64_t y = 0; y < ROWS * scale; y++)
        for (int64_t x = 0; x < COLUMNS * scale; x++)
            if (font[g].row[y / scale] >> (COLUMNS - 1 - x / scale) & 1)
                memset(corner + (y * width + x) * channels, 255, (size_t)channels);
}

void lmr_label_draw(const lmr_label *label, int64_t scale, int64_t width, int channels, unsigned char *corner)
{
    for (int64_t i = 0; label->s[i]; i++)
        draw_letter(label->s[i], scale, width, channels,
                    corner + (scale * width + (LMR_LETTER_WIDTH * i + 1) * scale) * channels);
}
