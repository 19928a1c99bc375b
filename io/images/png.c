/* PNG for a quick look, of 8 bits a channel. SPDX-License-Identifier: Apache-2.0 */
#include <png.h>

#include "core/core.h"
#include "io/images/picture.h"

enum { MOST_SIDE = 1000000 }; /* what readers of PNG accept by default */

static void collect(png_structp png, png_bytep data, png_size_t bytes)
{
    lmr_bytes_add(png_get_io_ptr(png), data, bytes);
}

static void flush(png_structp png LMR_UNUSED)
{
}

static void stop(png_structp png, png_const_charp message LMR_UNUSED)
{
    png_longjmp(png, 1);
}

static void quiet(png_structp png LMR_UNUSED, png_const_charp message LMR_UNUSED)
{
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
    return lmr_picture_check(path, images, 0, MOST_SIDE);
}

static larmor_status encode(lmr_picture *p, lmr_bytes *file)
{
    const int channels = p->paint == LMR_COLOUR ? 3 : 1;
    LMR_HEAP unsigned char *pixel = calloc((size_t)(p->width * channels), (size_t)p->height);
    if (!pixel) return LMR_NO_MEMORY();
    lmr_picture_paint(p, 0, pixel);
    return lmr_png_encode(pixel, p->width, p->height, channels, file);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    return lmr_picture_write(out, images, 0, MOST_SIDE, encode);
}

const lmr_format lmr_format_png = {
    .suffix = ".png",
    .name = "PNG",
    .is_picture = 1,
    .write = write_images,
    .check = check,
    .can = LMR_CAN_DESCRIBE,
};
