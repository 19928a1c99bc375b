/* PNG for a quick look: magnitude, 8-bit grey, x to the right and y down, slices and images tiled row by row in a
 * mosaic as near to a square as possible, each with its name. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>

#include "core/owned.h"
#include "io/bytes.h"
#include "io/images/png.h"

#define MAX_SIDE 1000000 /* what readers of PNG accept by default */

typedef struct mosaic {
    int64_t nx, ny, tiles, columns, rows;
    unsigned char *pixel; /* [columns nx, rows ny] */
} mosaic;

/* Rounded and clipped; NaN is black. */
static unsigned char grey(float value, const double window[2])
{
    if (!(value > window[0])) return 0;
    if (value >= window[1]) return 255;
    return (unsigned char)lrint(255 * (value - window[0]) / (window[1] - window[0]));
}

static larmor_status lay_out(const char *path, const lmr_images *images, mosaic *m)
{
    *m = (mosaic){.nx = images->dim[0], .ny = images->dim[1], .tiles = images->dim[2] * images->count};
    m->columns = (int64_t)ceil(sqrt((double)m->tiles * (double)m->ny / (double)m->nx));
    if (m->columns < 1) m->columns = 1;
    if (m->columns > m->tiles) m->columns = m->tiles;
    m->rows = (m->tiles + m->columns - 1) / m->columns;
    if (m->columns > MAX_SIDE / m->nx || m->rows > MAX_SIDE / m->ny)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "%s: the mosaic of %" PRId64 " slices is wider or higher than %d pixels; use "
                        ".nii",
                        path, m->tiles, MAX_SIDE);
    return LARMOR_OK;
}

static larmor_status paint(const larmor_output *out, const lmr_images *images, mosaic *m)
{
    const int64_t plane = m->nx * m->ny, width = m->columns * m->nx;
    double window[2] = {images->opts->window[0], images->opts->window[1]};
    LMR_HEAP float *voxels = NULL;
    LMR_TRY(lmr_magnitudes(images, &voxels));
    LMR_TRY(lmr_finite(out, LARMOR_F32, voxels, plane * m->tiles));
    if (window[0] == 0 && window[1] == 0) LMR_TRY(lmr_window(voxels, plane * m->tiles, window));
    for (int64_t t = 0; t < m->tiles; t++) {
        unsigned char *corner = m->pixel + t / m->columns * m->ny * width + t % m->columns * m->nx;
        for (int64_t y = 0; y < m->ny; y++)
            for (int64_t x = 0; x < m->nx; x++)
                corner[y * width + x] = grey(voxels[t * plane + y * m->nx + x], window);
        const lmr_label label = lmr_label_of(images, (int)(t / images->dim[2]), t % images->dim[2]);
        lmr_label_draw(&label, m->nx, m->ny, width, corner);
    }
    return LARMOR_OK;
}

static void collect(png_structp png, png_bytep data, png_size_t bytes)
{
    lmr_bytes_add(png_get_io_ptr(png), data, bytes);
}

static void flush(png_structp png)
{
    (void)png;
}

static void stop(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void quiet(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

larmor_status lmr_png_encode(const unsigned char *pixel, int64_t width, int64_t height, int channels, lmr_bytes *file)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, stop, quiet);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    if (!info) {
        png_destroy_write_struct(&png, NULL);
        return LMR_NO_MEMORY();
    }
    if (setjmp(png_jmpbuf(png))) {
        png_destroy_write_struct(&png, &info);
        return LMR_FAIL(LARMOR_ERR_BACKEND, "libpng: the picture could not be encoded");
    }
    png_set_write_fn(png, file, collect, flush);
    png_set_IHDR(png, info, (png_uint_32)width, (png_uint_32)height, 8,
                 channels == 3 ? PNG_COLOR_TYPE_RGB : PNG_COLOR_TYPE_GRAY, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (int64_t y = 0; y < height; y++) png_write_row(png, pixel + y * width * channels);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return LARMOR_OK;
}

static larmor_status check(const char *path, const lmr_images *images)
{
    mosaic m;
    return lay_out(path, images, &m);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    mosaic m;
    lmr_bytes file = {0};
    larmor_status st = lay_out(out->path, images, &m);
    if (!st) m.pixel = calloc((size_t)(m.columns * m.nx), (size_t)(m.rows * m.ny));
    if (!st && !m.pixel) st = LMR_NO_MEMORY();
    if (!st) st = paint(out, images, &m);
    if (!st) st = lmr_png_encode(m.pixel, m.columns * m.nx, m.rows * m.ny, 1, &file);
    if (!st) st = lmr_bytes_end(&file);
    if (!st) st = lmr_output_reserve(out, 0, (int64_t)file.size);
    if (!st) st = lmr_output_put(out, 0, file.data, file.size);
    free(m.pixel);
    lmr_bytes_free(&file);
    return st;
}

const lmr_format lmr_format_png = {
    .suffix = ".png",
    .name = "PNG",
    .is_picture = 1,
    .write = write_images,
    .check = check,
    .can = LMR_CAN_DESCRIBE,
};
