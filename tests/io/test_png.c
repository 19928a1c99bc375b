/* Pictures: what is where, which values are black and white, and what the tiles are called.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/images/picture.h"

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
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_F32, shape, &made));
    assert_ok(larmor_array_write(x, values, larmor_array_bytes(x)));
    return x;
}

static larmor_status write_with(const char *path, const larmor_array *x, const larmor_write_opts *opts)
{
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    const larmor_status st = larmor_image_write(out, &(larmor_image){.data = x}, 1, opts);
    return st;
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

/* Tiles of at least 128 pixels, so that a voxel of 4 has 32, below names of 9. */
enum { NAMED = 9, TILE = 128 };

IN_FOLDER(png_tiles_slices_row_by_row_below_their_names)
{
    float v[4 * 4 * 5];
    for (int i = 0; i < 80; i++) v[i] = (float)(i / 16 + 1);
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(4, 4, 5), v);
    assert_ok(write_image(in_folder("x.png"), 0, x, NULL));
    const picture p = read_png(in_folder("x.png"));
    assert_int_equal(p.width, 3 * TILE);
    assert_int_equal(p.height, 2 * (TILE + NAMED));
    for (int tile = 0; tile < 6; tile++)
        for (int y = NAMED; y < NAMED + TILE; y += TILE - 1)
            for (int i = 0; i < TILE; i += TILE - 1) {
                const int grey = p.pixel[(tile / 3 * (TILE + NAMED) + y) * 3 * TILE + tile % 3 * TILE + i];
                assert_at_most(abs(grey - (tile < 5 ? 51 * (tile + 1) : 0)), 3);
            }
    free(p.pixel);
}

/* Voxels of 1 x 1 x 2 mm, [4, 3, 2]: twice as high along z, which points up; the planes are x = 2, y = 1, z = 1. */
IN_FOLDER(three_planes_meet_in_the_middle_voxel_in_the_proportions_of_space)
{
    enum { NX = 4, NY = 3, NZ = 2, BIG = 32 };
    float v[NX * NY * NZ];
    for (int i = 0; i < NX * NY * NZ; i++) v[i] = (float)(10 * i);
    OWNED(larmor_array) *x = real_array(LARMOR_SHAPE(NX, NY, NZ), v);
    const larmor_image image = {.data = x, .meta = {.fov_mm = {NX, NY, 2 * NZ}}};
    const larmor_write_opts opts = {.planes = 1, .window = {0, 255}};
    OWN(larmor_output, *out, larmor_output_open(in_folder("x.png"), 0, &out));
    assert_ok(larmor_image_write(out, &image, 1, &opts));
    const picture p = read_png(in_folder("x.png"));
    assert_int_equal(p.width, 3 * TILE);
    assert_int_equal(p.height, NAMED + 2 * NZ * BIG);
    for (int y = 0; y < 2 * NZ * BIG; y++)
        for (int i = 0; i < TILE; i++) {
            const int x1 = i / BIG, y1 = y / BIG, up = NZ - 1 - y / (2 * BIG);
            const unsigned char *row = p.pixel + (NAMED + y) * 3 * TILE + i;
            assert_int_equal(row[0], y1 < NY ? 10 * (x1 + NX * (y1 + NY * 1)) : 0);
            assert_int_equal(row[TILE], 10 * (x1 + NX * (1 + NY * up)));
            assert_int_equal(row[2 * TILE], x1 < NY ? 10 * (2 + NX * (x1 + NY * up)) : 0);
        }
    free(p.pixel);
}

static larmor_array *phases(void) /* [6, 1], of pi, -2 pi/3, ..., 2 pi/3, each half as bright as white */
{
    static const float v[12] = {-1, 0, -.5f, -.8660254f, .5f, -.8660254f, 1, 0, .5f, .8660254f, -.5f, .8660254f};
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(6, 1), &made));
    assert_ok(larmor_array_write(x, v, sizeof v));
    return x;
}

static void assert_phase_colours(const unsigned char *rgb, int full)
{
    static const int wheel[6][3] = {{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}, {1, 0, 1}};
    for (int i = 0; i < 6; i++)
        for (int c = 0; c < 3; c++) assert_at_most(abs(rgb[3 * i + c] - full * wheel[i][c]), 1);
}

IN_FOLDER(colour_png_has_hues_for_phases_and_the_brightness_of_the_magnitude)
{
    OWNED(larmor_array) *x = phases();
    for (int bright = 1; bright <= 2; bright++) {
        assert_ok(write_with(in_folder("x.png"), x, &(larmor_write_opts){.colour = 1, .window = {0, bright}}));
        png_image image = {.version = PNG_IMAGE_VERSION};
        assert_true(png_image_begin_read_from_file(&image, in_folder("x.png")));
        assert_int_equal(image.format, PNG_FORMAT_RGB);
        assert_int_equal(image.width, 6);
        assert_int_equal(image.height, 1);
        unsigned char rgb[18];
        assert_true(png_image_finish_read(&image, NULL, rgb, 0, NULL));
        assert_phase_colours(rgb, bright == 1 ? 255 : 128);
    }
}

IN_FOLDER(coil_maps_are_a_picture_in_colours)
{
    float v[2 * 2 * 2 * 3];
    for (int i = 0; i < 12; i++) {
        v[2 * i] = i < 4 ? -1.f : 0.f; /* coil 0: pi; coils 1 and 2: pi/2 and -pi/2 */
        v[2 * i + 1] = (float)((i >= 4) - 2 * (i >= 8));
    }
    OWN(larmor_array, *maps, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(2, 2, 3), &maps));
    assert_ok(larmor_array_write(maps, v, sizeof v));
    OWN(larmor_output, *out, larmor_output_open(in_folder("maps.png"), 0, &out));
    assert_ok(larmor_maps_save(out, maps, NULL));
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_true(png_image_begin_read_from_file(&image, in_folder("maps.png")));
    assert_int_equal(image.format, PNG_FORMAT_RGB);
    assert_int_equal(image.width, 2 * TILE);
    assert_int_equal(image.height, 2 * (TILE + NAMED));
    HEAP unsigned char *rgb = malloc(PNG_IMAGE_SIZE(image));
    assert_true(png_image_finish_read(&image, NULL, rgb, 0, NULL));
    static const int of_coil[3][3] = {{255, 0, 0}, {128, 0, 255}, {128, 255, 0}};
    for (int coil = 0; coil < 3; coil++) {
        const unsigned char *at = rgb + 3 * ((coil / 2 * (TILE + NAMED) + 60) * 2 * TILE + coil % 2 * TILE + 60);
        for (int c = 0; c < 3; c++) assert_at_most(abs(at[c] - of_coil[coil][c]), 1);
    }
}

IN_FOLDER(png_of_zeros_is_black_and_outliers_do_not_darken)
{
    HEAP float *v = calloc(10000, sizeof *v);
    larmor_array *x = real_array(LARMOR_SHAPE(100, 100), v);
    assert_ok(write_image(in_folder("zero.png"), 0, x, NULL));
    picture p = read_png(in_folder("zero.png"));
    for (int i = 0; i < 10000; i++) assert_int_equal(p.pixel[i], 0);
    LMR_FREE(p.pixel, x);

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
    LMR_FREE(p.pixel, x);
}

IN_FOLDER(png_of_one_bright_voxel_shows_it)
{
    HEAP float *v = calloc(10000, sizeof *v);
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
    HEAP float *v = calloc((size_t)(SIDE * SIDE * nz), sizeof *v);
    v[SIDE * SIDE * nz - 1] = 1;
    larmor_array *x = real_array(nz > 1 ? LARMOR_SHAPE(SIDE, SIDE, nz) : LARMOR_SHAPE(SIDE, SIDE), v);
    return x;
}

IN_FOLDER(names_of_tiles_are_words_for_the_counters_that_differ)
{
    larmor_image image[4] = {0};
    for (int i = 0; i < 4; i++) image[i].meta = (larmor_image_meta){.phase = 7, .slice = i / 2, .repetition = i % 2};
    lmr_images set = {.image = image, .count = 4, .dim = {SIDE, SIDE, 1}};
    unsigned counters = lmr_label_counters(&set, 0);
    assert_string_equal(lmr_label_of(&set, 0, counters, 0, 0).s, "slice 0 rep 0");
    assert_string_equal(lmr_label_of(&set, 3, counters, 0, 0).s, "slice 1 rep 1");
    assert_string_equal(lmr_label_of(&set, 2, counters, 'z', 19).s, "slice 1 rep 0 z 19");
    assert_string_equal(lmr_label_of(&set, 3, lmr_label_counters(&set, 1), 'y', 2).s, "rep 1 y 2");
    set.count = 1;
    counters = lmr_label_counters(&set, 0);
    assert_string_equal(lmr_label_of(&set, 0, counters, 'z', 3).s, "z 3");
    assert_string_equal(lmr_label_of(&set, 0, counters, 0, 0).s, "");
    memset(image, 0, sizeof image);
    set.count = 4;
    assert_string_equal(lmr_label_of(&set, 2, lmr_label_counters(&set, 0), 0, 0).s, "image 2");
    set.is_coils = 1;
    assert_string_equal(lmr_label_of(&set, 2, 0, 0, 0).s, "coil 2");
}

/* White pixels of the name above tile (column, row). */
static int letters_in(const picture *p, int column, int row)
{
    int white = 0;
    for (int y = 0; y < NAMED; y++)
        for (int x = 0; x < TILE; x++)
            white += p->pixel[(row * (TILE + NAMED) + y) * (int)p->width + column * TILE + x] == 255;
    return white;
}

IN_FOLDER(tiles_of_a_mosaic_have_names_and_a_single_slice_has_none)
{
    OWNED(larmor_array) *volume = nearly_empty(4), *slice = nearly_empty(1);
    assert_ok(write_image(in_folder("volume.png"), 0, volume, NULL));
    assert_ok(write_image(in_folder("slice.png"), 0, slice, NULL));
    picture p = read_png(in_folder("volume.png"));
    assert_int_equal(p.width, 2 * TILE);
    /* z has 15 points; 0, 1, 2 and 3 have 19, 10, 14 and 14 */
    assert_int_equal(letters_in(&p, 0, 0), 15 + 19);
    assert_int_equal(letters_in(&p, 1, 0), 15 + 10);
    assert_int_equal(letters_in(&p, 0, 1), 15 + 14);
    assert_int_equal(letters_in(&p, 1, 1), 15 + 14);
    free(p.pixel);
    p = read_png(in_folder("slice.png"));
    assert_int_equal(p.width, SIDE);
    assert_int_equal(p.height, SIDE);
    free(p.pixel);
}
