/* Pictures: what is where, which values are black and white, and what the tiles are called.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/images/png.h"

#include <png.h>

#include "tests/io/files.h"

typedef struct picture {
    unsigned width, height;
    unsigned char *pixel;
} picture;

static picture read_png(const char *path)
{
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, path));
    assert_int_equal(image.format, PNG_FORMAT_GRAY);
    picture p = {image.width, image.height, malloc(PNG_IMAGE_SIZE(image))};
    assert_true(png_image_finish_read(&image, NULL, p.pixel, 0, NULL));
    return p;
}

static larmor_array *real_array(larmor_shape shape, const float *values)
{
    larmor_array *x;
    assert_ok(larmor_array_create(dev, LARMOR_F32, shape, &x));
    assert_ok(larmor_array_write(x, values, larmor_array_bytes(x)));
    return x;
}

IN_FOLDER(png_shows_x_to_the_right_and_y_down)
{
    const float v[6] = {0, 51, 102, 153, -204, 255}; /* [3, 2] */
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(3, 2), v);
    assert_ok(write_image(in_folder("x.png"), 0, x, NULL));
    const picture p = read_png(in_folder("x.png"));
    assert_int_equal(p.width, 3);
    assert_int_equal(p.height, 2);
    /* white is the maximum of so few */
    for (int i = 0; i < 6; i++) assert_at_most(abs(p.pixel[i] - (int)fabsf(v[i])), 1);
    free(p.pixel);
}

IN_FOLDER(png_tiles_slices_row_by_row)
{
    float v[4 * 4 * 5];
    for (int i = 0; i < 80; i++) v[i] = (float)(i / 16 + 1);
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(4, 4, 5), v);
    assert_ok(write_image(in_folder("x.png"), 0, x, NULL));
    const picture p = read_png(in_folder("x.png"));
    assert_int_equal(p.width, 12);
    assert_int_equal(p.height, 8);
    for (int tile = 0; tile < 6; tile++) {
        const int grey = p.pixel[tile / 3 * 4 * 12 + tile % 3 * 4];
        assert_at_most(abs(grey - (tile < 5 ? 51 * (tile + 1) : 0)), 3);
    }
    free(p.pixel);
}

IN_FOLDER(png_of_zeros_is_black_and_outliers_do_not_darken)
{
    OWNED(float) *v = calloc(10000, sizeof *v);
    larmor_array *x = real_array(LARMOR_SHAPE(100, 100), v);
    assert_ok(write_image(in_folder("zero.png"), 0, x, NULL));
    picture p = read_png(in_folder("zero.png"));
    for (int i = 0; i < 10000; i++) assert_int_equal(p.pixel[i], 0);
    free(p.pixel);
    larmor_array_free(x);

    for (int i = 0; i < 10000; i++) v[i] = 1;
    v[0] = 1e30f;
    v[1] = 0;
    v[2] = 1e38f;
    v[3] = 0.5f;
    x = real_array(LARMOR_SHAPE(100, 100), v);
    assert_ok(write_image(in_folder("spike.png"), 0, x, NULL));
    p = read_png(in_folder("spike.png"));
    assert_int_equal(p.pixel[0], 255);
    assert_int_equal(p.pixel[1], 0);
    assert_int_equal(p.pixel[2], 255);
    assert_at_most(abs(p.pixel[3] - 127), 2);
    assert_at_most(255 - p.pixel[5000], 2);
    free(p.pixel);
    larmor_array_free(x);
}

IN_FOLDER(png_of_one_bright_voxel_shows_it)
{
    OWNED(float) *v = calloc(10000, sizeof *v);
    v[7] = 1e-20f;
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(100, 100), v);
    assert_ok(write_image(in_folder("x.png"), 0, x, NULL));
    const picture p = read_png(in_folder("x.png"));
    for (int i = 0; i < 10000; i++) assert_int_equal(p.pixel[i], i == 7 ? 255 : 0);
    free(p.pixel);
    larmor_array *none;
    assert_refused(larmor_image_read(in_folder("x.png"), dev, &none), LARMOR_ERR_ARG,
                   "use one of .h5, .nii, .nii.gz, .cfl, .npy");
}

/* ---- the window ---- */

enum { SIDE = 64 };

/* A head: a thin rim ten times as bright as what it surrounds, whose halves differ by a fifth, and faint noise. */
static larmor_array *head(void)
{
    float v[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double x = i % SIDE - SIDE / 2, y = i / SIDE - SIDE / 2, r = hypot(x, y);
        v[i] = (float)(0.02 * (i % 3));
        if (r < 26) v[i] = 10;
        if (r < 24) v[i] = x < 0 ? 1.f : 1.2f;
    }
    return real_array(LARMOR_SHAPE(SIDE, SIDE), v);
}

static int pixel_at(const picture *p, int x, int y)
{
    return p->pixel[(SIDE / 2 + y) * SIDE + SIDE / 2 + x];
}

IN_FOLDER(png_shows_what_a_bright_rim_surrounds)
{
    OWNED(larmor_array) *x = head();
    assert_ok(write_image(in_folder("x.png"), 0, x, NULL));
    const picture p = read_png(in_folder("x.png"));
    const int left = pixel_at(&p, -10, 0), right = pixel_at(&p, 10, 0);
    assert_true(left >= 64 && right <= 192);
    assert_true(right - left >= 12);
    assert_int_equal(pixel_at(&p, 25, 0), 255);
    assert_at_most(pixel_at(&p, 30, 30), 8); /* the background stays dark */
    free(p.pixel);
}

/* A flat object of many sizes and scales, without any rim: its brightest parts are not lost. */
IN_FOLDER(png_window_of_an_even_object_ends_at_its_maximum)
{
    for (int size = 4; size <= SIDE; size *= 2) {
        float v[SIDE * SIDE] = {0};
        double window[2];
        const double most = 1e-4 * (1 - 0.2 / size) * (1 + 1e-6);
        for (int i = 0; i < SIDE * SIDE; i++)
            if (i % SIDE < size && i / SIDE < size) v[i] = 1e-4f * (float)(0.8 + 0.2 * (i % SIDE) / size);
        OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(SIDE, SIDE), v);
        assert_ok(larmor_image_window(&(larmor_image){.data = x}, 1, window));
        assert_int_equal(larmor_image_window(&(larmor_image){.data = x}, 1, NULL), LARMOR_ERR_ARG);
        assert_true(window[0] == 0);
        assert_true(window[1] > 0.98 * most && window[1] <= most);
    }
}

static larmor_status write_with(const char *path, const larmor_array *x, const larmor_write_opts *opts)
{
    OWNED(larmor_output) *out;
    assert_ok(larmor_output_open(path, 1, &out));
    const larmor_status st = larmor_image_write(out, &(larmor_image){.data = x}, 1, opts);
    return st;
}

IN_FOLDER(png_window_is_what_it_is_told)
{
    const float v[6] = {1, 2, 2.5f, 3, -4, 5};
    const int grey[6] = {0, 0, 64, 128, 255, 255};
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(3, 2), v);
    assert_ok(write_with(in_folder("x.png"), x, &(larmor_write_opts){.window = {2, 4}}));
    const picture p = read_png(in_folder("x.png"));
    for (int i = 0; i < 6; i++) assert_at_most(abs(p.pixel[i] - grey[i]), 1);
    free(p.pixel);
    const double wrong[][2] = {{4, 2}, {2, 2}, {NAN, 1}, {0, NAN}, {0, INFINITY}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_refused(write_with(in_folder("x.png"), x, &(larmor_write_opts){.window = {wrong[i][0], wrong[i][1]}}),
                       LARMOR_ERR_ARG, "expected two finite numbers, the smaller one first");
}

/* ---- labels ---- */

/* Some images [64, 64(, nz)] of zeros, one bright voxel in the last corner. */
static larmor_array *nearly_empty(int64_t nz)
{
    OWNED(float) *v = calloc((size_t)(SIDE * SIDE * nz), sizeof *v);
    v[SIDE * SIDE * nz - 1] = 1;
    larmor_array *x = real_array(nz > 1 ? LARMOR_SHAPE(SIDE, SIDE, nz) : LARMOR_SHAPE(SIDE, SIDE), v);
    return x;
}

IN_FOLDER(labels_name_the_counters_that_differ)
{
    larmor_image image[4] = {0};
    for (int i = 0; i < 4; i++) image[i].meta = (larmor_image_meta){.phase = 7, .slice = i / 2, .repetition = i % 2};
    lmr_images set = {.image = image, .count = 4, .dim = {SIDE, SIDE, 1}};
    assert_string_equal(lmr_label_of(&set, 0, 0).s, "s0 r0");
    assert_string_equal(lmr_label_of(&set, 3, 0).s, "s1 r1");
    set.dim[2] = 20;
    assert_string_equal(lmr_label_of(&set, 2, 19).s, "s1 r0 z19");
    set.count = 1;
    assert_string_equal(lmr_label_of(&set, 0, 3).s, "z3");
    set.dim[2] = 1;
    assert_string_equal(lmr_label_of(&set, 0, 0).s, "");
    memset(image, 0, sizeof image);
    set.count = 4;
    assert_string_equal(lmr_label_of(&set, 2, 0).s, "2");
}

/* How many white pixels the upper left corner of tile (column, row) has. */
static int letters_in(const picture *p, unsigned column, unsigned row)
{
    int white = 0;
    for (unsigned y = 0; y < SIDE / 4; y++)
        for (unsigned x = 0; x < SIDE / 2; x++)
            white += p->pixel[(row * SIDE + y) * p->width + column * SIDE + x] == 255;
    return white;
}

IN_FOLDER(tiles_of_a_mosaic_have_labels_and_a_single_slice_has_none)
{
    OWNED(larmor_array) *volume = nearly_empty(4), *slice = nearly_empty(1);
    assert_ok(write_image(in_folder("volume.png"), 0, volume, NULL));
    assert_ok(write_image(in_folder("slice.png"), 0, slice, NULL));
    picture p = read_png(in_folder("volume.png"));
    assert_int_equal(p.width, 2 * SIDE);
    /* z has 8 pixels; 0, 1, 2 and 3 have 12, 8, 11 and 11 */
    assert_int_equal(letters_in(&p, 0, 0), 8 + 12);
    assert_int_equal(letters_in(&p, 1, 0), 8 + 8);
    assert_int_equal(letters_in(&p, 0, 1), 8 + 11);
    assert_int_equal(letters_in(&p, 1, 1), 8 + 11);
    free(p.pixel);
    p = read_png(in_folder("slice.png"));
    assert_int_equal(letters_in(&p, 0, 0), 0);
    free(p.pixel);
}
