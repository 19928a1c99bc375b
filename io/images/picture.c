/* Pictures of images: x to the right and y down; the planes of images as tiles row by row, as near to a square as
 * possible, or three planes through the middle of each volume, where z points up.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/images/picture.h"

#include <inttypes.h>

#include "core/core.h"

#define PI 3.14159265358979323846

enum { LEAST_TILE = 128 };      /* pixels of a tile with a name, whose voxels are enlarged for it */
enum { MOST_PIXELS = 1 << 26 }; /* of a picture whose voxels are enlarged */
enum { HUES = 36, LEVELS = 7, WHITE = 255 };

typedef struct tile { /* where a tile comes from: axes to the right and down, and the third one's place */
    int64_t volume, at;
    int right, down, through;
} tile;

static tile tile_of(const lmr_picture *p, int64_t t)
{
    static const int planes[3][3] = {{0, 1, 2}, {0, 2, 1}, {1, 2, 0}};
    const int64_t n[3] = {p->images->dim[0], p->images->dim[1], p->planes}, k = t % p->tiles;
    if (!p->images->opts->planes) return (tile){t / p->tiles, k, 0, 1, 2};
    const int *axis = planes[k];
    return (tile){t / p->tiles, n[axis[2]] / 2, axis[0], axis[1], axis[2]};
}

static lmr_label name_of(const lmr_picture *p, int64_t t)
{
    const tile where = tile_of(p, t);
    const int in_stack = p->images->dim[2] < 2;
    const int64_t slice = in_stack && where.through == 2 && !p->images->opts->planes ? where.at : 0;
    const int i = p->order.order[where.volume * p->order.slices + slice];
    const int has_axis = p->images->opts->planes || !in_stack;
    return lmr_label_of(p->images, i, p->counters, has_axis ? "xyz"[where.through] : 0, where.at);
}

/* ---- where tiles lie ---- */

static larmor_status keep_order(const lmr_images *images, lmr_volumes *v)
{
    *v = (lmr_volumes){.slices = 1, .volumes = images->count, .order = lmr_new(images->count, sizeof *v->order)};
    if (!v->order) return LMR_NO_MEMORY();
    for (int i = 0; i < images->count; i++) v->order[i] = i;
    return LARMOR_OK;
}

/* Slices that make no volume, as uneven ones, are in their order, apart by their thickness. */
static larmor_status order_volumes(const char *path, const lmr_images *images, lmr_volumes *v)
{
    const larmor_status st = lmr_arrange(path, images, v);
    if (st != LARMOR_ERR_ARG) return st;
    lmr_volumes_free(v);
    LMR_TRY(lmr_order(images, v));
    lmr_image_affine(&images->image[v->order[0]].meta, images->dim, v->affine);
    return LARMOR_OK;
}

/* Pixels of a voxel along each axis, the smallest 1. */
static void compare_sides(const lmr_picture *p, double ratio[3])
{
    double least = INFINITY;
    for (int d = 0; d < 3; d++) {
        ratio[d] = 1;
        if (p->images->opts->planes)
            ratio[d] =
                sqrt(pow(p->order.affine[0][d], 2) + pow(p->order.affine[1][d], 2) + pow(p->order.affine[2][d], 2));
        least = fmin(least, ratio[d]);
    }
    for (int d = 0; d < 3; d++) ratio[d] /= least;
}

static void enlarge(lmr_picture *p, const double ratio[3], int64_t zoom, int64_t longest)
{
    const int64_t n[3] = {p->images->dim[0], p->images->dim[1], p->planes};
    const int64_t unit = p->images->opts->planes ? 3 : 1;
    const int64_t units = p->per_frame / unit;
    const int64_t letters = LMR_LETTER_WIDTH * longest + 1;
    for (int d = 0; d < 3; d++) p->size[d] = (int64_t)fmax(1, rint((double)n[d] * ratio[d] * (double)zoom));
    for (int i = 0; i < 2; i++) p->cell[i] = p->size[i];
    for (int i = 0; i < 2 && unit == 3; i++) p->cell[i] = (int64_t)fmax((double)p->size[i], (double)p->size[i + 1]);
    const double fitting = (double)(p->cell[0] / letters), wanted = (double)(p->cell[0] / LEAST_TILE);
    p->scale = longest ? (int64_t)fmin(fitting, fmax(1, wanted)) : 0;
    const double shape = (double)p->cell[1] / (double)(p->cell[0] * unit); /* as if there were no names */
    p->columns = unit * (int64_t)fmax(1, fmin((double)units, ceil(sqrt((double)units * shape))));
    p->cell[1] += LMR_LETTER_HEIGHT * p->scale;
}

static int fits(lmr_picture *p, int64_t most)
{
    const int64_t rows = (p->per_frame + p->columns - 1) / p->columns;
    if (p->columns > most / p->cell[0] || rows > most / p->cell[1]) return 0;
    p->width = p->columns * p->cell[0];
    p->height = rows * p->cell[1];
    return 1;
}

static larmor_status choose_size(const char *path, int64_t most, lmr_picture *p)
{
    double ratio[3];
    int64_t longest = 0, zoom = 1;
    p->counters = lmr_label_counters(p->images, p->images->opts->planes);
    for (int64_t t = 0; t < p->frames * p->per_frame; t++) {
        const int64_t length = (int64_t)strlen(name_of(p, t).s);
        if (length > longest) longest = length;
    }
    compare_sides(p, ratio);
    enlarge(p, ratio, 1, 0);
    const double wanted = fmax(LEAST_TILE, (double)(LMR_LETTER_WIDTH * longest + 1));
    if (longest) zoom = (int64_t)ceil(wanted / (double)p->cell[0]);
    for (; zoom > 0; zoom--) {
        enlarge(p, ratio, zoom, longest);
        if (fits(p, most) && (zoom == 1 || p->width <= MOST_PIXELS / p->height)) return LARMOR_OK;
    }
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "%s: the picture of %" PRId64 " tiles is wider or higher than %" PRId64 " pixels; use .nii", path,
                    p->per_frame, most);
}

/* Where tiles lie; data are not looked at. is_series: volumes, or the planes of a single one, are frames; else there
 * is one frame. most: pixels of a side. Errors: LARMOR_ERR_ARG for too many tiles; LARMOR_ERR_MEMORY. Free it in
 * any case. */
static larmor_status picture_lay_out(const char *path, const lmr_images *images, int is_series, int64_t most,
                                     lmr_picture *p)
{
    *p = (lmr_picture){.images = images, .paint = images->opts->colour ? LMR_COLOUR : LMR_GREY};
    if (images->opts->planes)
        LMR_TRY(order_volumes(path, images, &p->order));
    else
        LMR_TRY(is_series ? lmr_order(images, &p->order) : keep_order(images, &p->order));
    const int64_t volumes = p->order.volumes;
    p->planes = p->order.slices * images->dim[2];
    p->tiles = images->opts->planes ? 3 : p->planes;
    p->frames = volumes > 1 || images->opts->planes ? volumes : p->tiles;
    if (!is_series) p->frames = 1;
    p->per_frame = volumes * p->tiles / p->frames;
    return choose_size(path, most, p);
}

static void picture_free(lmr_picture *p)
{
    LMR_FREE(p->order.order, p->value, p->phase);
    *p = (lmr_picture){.images = NULL};
}

larmor_status lmr_picture_check(const char *path, const lmr_images *images, int is_series, int64_t most)
{
    LMR_FREED_BY(picture_free) lmr_picture p;
    return picture_lay_out(path, images, is_series, most, &p);
}

larmor_status lmr_picture_write(larmor_output *out, const lmr_images *images, int is_series, int64_t most,
                                larmor_status (*encode)(lmr_picture *p, lmr_bytes *file))
{
    LMR_FREED_BY(picture_free) lmr_picture p;
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes file = {0};
    LMR_TRY(picture_lay_out(out->path, images, is_series, most, &p));
    LMR_TRY(lmr_picture_load(out, &p));
    LMR_TRY(encode(&p, &file));
    LMR_TRY(lmr_bytes_end(&file));
    LMR_TRY(lmr_output_reserve(out, 0, (int64_t)file.size));
    return lmr_output_put(out, 0, file.data, file.size);
}

/* ---- values ---- */

static larmor_status load_phases(lmr_picture *p)
{
    const int64_t voxels = p->images->voxels;
    LMR_HEAP float *complex_values = lmr_new(voxels, 2 * sizeof *complex_values);
    p->phase = lmr_new(voxels, (size_t)p->images->count * sizeof *p->phase);
    if (!complex_values || !p->phase) return LMR_NO_MEMORY();
    for (int j = 0; j < p->images->count; j++) {
        LMR_TRY(lmr_values(p->images->image[p->order.order[j]].data, LMR_AS_COMPLEX, complex_values));
        for (int64_t v = 0; v < voxels; v++)
            p->phase[j * voxels + v] = atan2f(complex_values[2 * v + 1], complex_values[2 * v]);
    }
    return LARMOR_OK;
}

larmor_status lmr_picture_load(const larmor_output *out, lmr_picture *p)
{
    const lmr_images *images = p->images;
    const int64_t all = images->voxels * images->count;
    LMR_HEAP LMR_NEW(larmor_image, sorted, images->count);
    for (int j = 0; j < images->count; j++) sorted[j] = images->image[p->order.order[j]];
    const lmr_images in_order = {.image = sorted, .count = images->count, .voxels = images->voxels};
    LMR_TRY(lmr_magnitudes(&in_order, &p->value));
    LMR_TRY(lmr_finite(out, LARMOR_F32, p->value, all));
    memcpy(p->window, images->opts->window, sizeof p->window);
    if (p->window[0] == 0 && p->window[1] == 0) LMR_TRY(lmr_window(p->value, all, p->window));
    return p->paint == LMR_GREY ? LARMOR_OK : load_phases(p);
}

/* ---- pixels ---- */

void lmr_phase_colour(double phase, double value, unsigned char rgb[3])
{
    const double hue = (phase / PI + 1) * 3;
    for (int c = 0; c < 3; c++) {
        const double apart = fabs(fmod(hue - 2 * c + 9, 6) - 3);
        rgb[c] = (unsigned char)lrint(255 * value * fmax(0, fmin(1, 2 - apart)));
    }
}

/* 0 is black, then hues from -pi on for each brightness. */
static unsigned char index_of(double phase, double value)
{
    const int level = (int)lrint(LEVELS * value), hue = (int)lrint((phase / PI + 1) / 2 * HUES) % HUES;
    return level ? (unsigned char)(1 + (level - 1) * HUES + hue) : 0;
}

void lmr_picture_palette(unsigned char *rgb)
{
    memset(rgb, 0, 3 * 256);
    memset(rgb + (size_t)3 * WHITE, 255, 3);
    for (int i = 0; i < LEVELS * HUES; i++)
        lmr_phase_colour(2 * PI * (i % HUES) / HUES - PI, (1 + i / HUES) / (double)LEVELS, rgb + (size_t)3 * (1 + i));
}

static void set_pixel(const lmr_picture *p, int64_t voxel, unsigned char *pixel)
{
    const double range = p->window[1] - p->window[0], value = p->value[voxel];
    double bright = range > 0 ? fmax(0, fmin(1, (value - p->window[0]) / range)) : 0;
    if (p->paint == LMR_GREY)
        *pixel = (unsigned char)lrint(255 * bright);
    else if (p->paint == LMR_INDEX)
        *pixel = index_of(p->phase[voxel], bright);
    else
        lmr_phase_colour(p->phase[voxel], bright, pixel);
}

static void paint_tile(const lmr_picture *p, int64_t t, int channels, unsigned char *corner)
{
    const tile from = tile_of(p, t);
    const int64_t n[3] = {p->images->dim[0], p->images->dim[1], p->planes}, step[3] = {1, n[0], n[0] * n[1]};
    const int64_t first = from.volume * p->planes * step[2] + from.at * step[from.through];
    const int64_t wide = p->size[from.right], high = p->size[from.down];
    for (int64_t y = 0; y < high; y++) {
        const int64_t row = (from.down == 2 ? high - 1 - y : y) * n[from.down] / high * step[from.down];
        for (int64_t x = 0; x < wide; x++)
            set_pixel(p, first + row + x * n[from.right] / wide * step[from.right],
                      corner + (y * p->width + x) * channels);
    }
}

void lmr_picture_paint(const lmr_picture *p, int64_t frame, unsigned char *pixel)
{
    const int channels = p->paint == LMR_COLOUR ? 3 : 1;
    for (int64_t i = 0; i < p->per_frame; i++) {
        const int64_t t = frame * p->per_frame + i;
        unsigned char *corner =
            pixel + (i / p->columns * p->cell[1] * p->width + i % p->columns * p->cell[0]) * channels;
        const lmr_label name = name_of(p, t);
        if (p->scale) lmr_label_draw(&name, p->scale, p->width, channels, corner);
        paint_tile(p, t, channels, corner + LMR_LETTER_HEIGHT * p->scale * p->width * channels);
    }
}
