/* Films: their frames, how long each is shown, and what is where. SPDX-License-Identifier: Apache-2.0 */
#include <gif_lib.h>

#include "core/mutable.h"
#include "tests/io/files.h"

enum { SIDE = 128, FRAMES = 3, STAMP = 400 /* ticks of 2.5 ms from one to the next: one second */ };

/* Repetitions, the last one first; image r is r + 1 everywhere, but 4 in voxel (2, 1). */
static void write_film(const char *path, int slices, const larmor_write_opts *opts)
{
    larmor_image image[FRAMES * 2] = {0};
    float v[SIDE * SIDE];
    for (int i = 0; i < FRAMES * slices; i++) {
        const int r = FRAMES - 1 - i / slices, s = i % slices;
        larmor_array *x;
        for (int k = 0; k < SIDE * SIDE; k++) v[k] = (float)(r + 1);
        v[1 * SIDE + 2] = 4;
        assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(SIDE, SIDE), &x));
        assert_ok(larmor_array_write(x, v, sizeof v));
        image[i] = (larmor_image){x, {.repetition = r, .slice = s, .position_mm = {0, 0, 5. * s}}};
        image[i].meta.time_stamp = (uint32_t)(1000 + STAMP * r);
    }
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    assert_ok(larmor_image_write(out, image, FRAMES * slices, opts));
    for (int i = 0; i < FRAMES * slices; i++) larmor_array_free(lmr_mutable(image[i].data));
}

static GifFileType *read_gif(const char *path)
{
    int error;
    GifFileType *gif = DGifOpenFileName(path, &error);
    assert_non_null(gif);
    assert_int_equal(DGifSlurp(gif), GIF_OK);
    return gif;
}

static void assert_delays(const GifFileType *gif, int hundredths)
{
    for (int f = 0; f < gif->ImageCount; f++) {
        GraphicsControlBlock control;
        assert_int_equal(DGifSavedExtensionToGCB(lmr_mutable(gif), f, &control), GIF_OK);
        assert_int_equal(control.DelayTime, hundredths);
    }
}

static int grey_at(const GifFileType *gif, int frame, int x, int y)
{
    const SavedImage *image = &gif->SavedImages[frame];
    const GifColorType c = gif->SColorMap->Colors[image->RasterBits[y * image->ImageDesc.Width + x]];
    assert_true(c.Red == c.Green && c.Green == c.Blue);
    return c.Red;
}

static void close_gif(GifFileType *gif)
{
    int error;
    assert_int_equal(DGifCloseFile(gif, &error), GIF_OK);
}

IN_FOLDER(a_film_shows_repetitions_in_their_order_as_fast_as_they_were_acquired)
{
    write_film(in_folder("x.gif"), 1, &(larmor_write_opts){.window = {0, 5}});
    GifFileType *gif = read_gif(in_folder("x.gif"));
    assert_int_equal(gif->ImageCount, FRAMES);
    assert_int_equal(gif->SWidth, SIDE);
    assert_int_equal(gif->SHeight, SIDE + 9);
    assert_delays(gif, 100);
    for (int f = 0; f < FRAMES; f++)
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++)
                assert_int_equal(grey_at(gif, f, x, 9 + y), 51 * (x == 2 && y == 1 ? 4 : f + 1));
    assert_int_equal(gif->SavedImages[0].ExtensionBlockCount > 1, 1);
    assert_memory_equal(gif->SavedImages[0].ExtensionBlocks[0].Bytes, "NETSCAPE2.0", 11); /* over and over */
    close_gif(gif);
}

IN_FOLDER(a_film_has_the_slices_of_a_repetition_beside_each_other_and_as_many_frames_per_second_as_asked)
{
    write_film(in_folder("x.gif"), 2, &(larmor_write_opts){.window = {0, 5}, .frames_per_s = 4});
    GifFileType *gif = read_gif(in_folder("x.gif"));
    assert_int_equal(gif->ImageCount, FRAMES);
    assert_int_equal(gif->SWidth, 2 * SIDE);
    assert_delays(gif, 25);
    for (int f = 0; f < FRAMES; f++)
        for (int s = 0; s < 2; s++) assert_int_equal(grey_at(gif, f, s * SIDE + 2, 9 + 1), 204);
    close_gif(gif);
}

IN_FOLDER(a_film_of_a_volume_goes_through_its_slices_and_in_colour_has_the_hue_of_the_phase)
{
    float v[2 * SIDE * SIDE * 4] = {0};
    for (int i = 0; i < SIDE * SIDE * 4; i++) v[2 * i + i / (SIDE * SIDE) % 2] = i / (SIDE * SIDE) < 2 ? 1.f : -1.f;
    OWN(larmor_array, *x, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(SIDE, SIDE, 4), &x));
    assert_ok(larmor_array_write(x, v, sizeof v));
    OWN(larmor_output, *out, larmor_output_open(in_folder("x.gif"), 0, &out));
    assert_ok(larmor_image_write(out, &(larmor_image){.data = x}, 1, &(larmor_write_opts){.colour = 1}));
    GifFileType *gif = read_gif(in_folder("x.gif"));
    assert_int_equal(gif->ImageCount, 4);
    assert_delays(gif, 10);
    static const int rgb[4][3] = {{0, 255, 255}, {128, 0, 255}, {255, 0, 0}, {128, 255, 0}}; /* 0, 90, 180, -90 deg */
    for (int f = 0; f < 4; f++) {
        const GifColorType c = gif->SColorMap->Colors[gif->SavedImages[f].RasterBits[SIDE * 64]];
        assert_at_most(abs(c.Red - rgb[f][0]), 1);
        assert_at_most(abs(c.Green - rgb[f][1]), 1);
        assert_at_most(abs(c.Blue - rgb[f][2]), 1);
    }
    close_gif(gif);
}
