/* Images that one file cannot hold go to as many as do hold them. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

enum { MOST = 24 };

typedef struct scene {
    larmor_image_place place[MOST];
    int count;
} scene;

/* An image of n x n x nz voxels of 2 mm at so many mm along z; turned: in another plane. */
static larmor_image_place *add(scene *s, int64_t n, int64_t nz, double at, int turned)
{
    larmor_image_place *p = &s->place[s->count++];
    *p = (larmor_image_place){.shape = nz > 1 ? LARMOR_SHAPE(n, n, nz) : LARMOR_SHAPE(n, n),
                              .meta = {.fov_mm = {2. * (double)n, 2. * (double)n, 5. * (double)nz}}};
    p->meta.position_mm[(2 + turned) % 3] = at;
    p->meta.read_dir[turned % 3] = 1;
    p->meta.phase_dir[(1 + turned) % 3] = 1;
    p->meta.slice_dir[(2 + turned) % 3] = 1;
    return p;
}

/* "0011": the file of each image. Each of these files can be written. */
static void assert_divided(const scene *s, const char *suffix, const char *expected)
{
    int file[MOST], files;
    char path[32], text[MOST + 1] = "";
    snprintf(path, sizeof path, "x%s", suffix);
    assert_ok(larmor_images_divide(in_folder(path), s->place, s->count, file, &files));
    for (int i = 0; i < s->count; i++) text[i] = (char)('0' + file[i]);
    assert_string_equal(text, expected);
    for (int f = 0; f < files; f++) {
        larmor_image image[MOST];
        larmor_output *out;
        int count = 0;
        char name[512];
        for (int i = 0; i < s->count; i++) {
            if (file[i] != f) continue;
            image[count].meta = s->place[i].meta;
            image[count++].data = random_array(LARMOR_F32, s->place[i].shape, 1 + (uint64_t)i);
        }
        assert_true(count > 0);
        assert_ok(larmor_divided_name(in_folder(path), f, name, sizeof name));
        assert_ok(larmor_output_open(name, 1, &out));
        assert_ok(larmor_image_write(out, image, count, NULL));
        larmor_output_free(out);
        for (int i = 0; i < count; i++) larmor_array_free(image[i].data);
    }
}

IN_FOLDER(planes_and_sizes_are_files_of_their_own)
{
    scene s = {.count = 0};
    for (int r = 0; r < 2; r++)
        for (int plane = 0; plane < 3; plane++) add(&s, 8, 1, 0, plane)->meta.repetition = r;
    add(&s, 4, 1, 0, 0);
    add(&s, 8, 1, 0, 0)->meta.fov_mm[0] = 20; /* other voxels */
    assert_divided(&s, ".nii", "01201234");
    assert_divided(&s, ".nii.gz", "01201234");
    assert_divided(&s, ".h5", "00000010");
    assert_divided(&s, ".npy", "00000010");
    assert_divided(&s, ".cfl", "00000010");
    assert_divided(&s, ".png", "00000010");
}

IN_FOLDER(slices_are_divided_where_their_distance_changes)
{
    static const double even[] = {7, 14, 0, 21}, gap[] = {22, 0, 14, 7}, packs[] = {0, 7, 14, 30, 37, 44};
    scene s = {.count = 0}, t = s, u = s, v = s;
    for (int i = 0; i < 4; i++) add(&s, 8, 1, even[i], 0)->meta.slice = i;
    for (int i = 0; i < 4; i++) add(&t, 8, 1, gap[i], 0)->meta.slice = i;
    for (int r = 0; r < 2; r++)
        for (int i = 0; i < 6; i++) {
            larmor_image_meta *m = &add(&u, 8, 1, packs[i], 0)->meta;
            m->slice = i;
            m->repetition = r;
        }
    assert_divided(&s, ".nii", "0000");
    assert_divided(&t, ".nii", "0111");
    assert_divided(&u, ".nii", "000111000111");
    for (int i = 0; i < 3; i++) add(&v, 8, 1, 7 * i, 0)->meta.slice = i;
    v.place[2].meta.position_mm[0] = 3; /* in its plane */
    assert_divided(&v, ".nii", "001");
}

/* The second repetition lacks a slice; the third has all. */
IN_FOLDER(volumes_of_other_slices_are_files_of_their_own)
{
    scene s = {.count = 0};
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) {
            if (r == 1 && i == 2) continue;
            larmor_image_meta *m = &add(&s, 8, 1, 6 * i, 0)->meta;
            m->slice = i;
            m->repetition = r;
        }
    assert_divided(&s, ".nii", "00011000");
    assert_divided(&s, ".h5", "00000000");
}

IN_FOLDER(volumes_elsewhere_are_files_of_their_own)
{
    scene s = {.count = 0};
    for (int i = 0; i < 4; i++) {
        larmor_image_meta *m = &add(&s, 4, 3, 20 * (i % 2), 0)->meta;
        m->slice = i % 2;
        m->repetition = i / 2;
    }
    assert_divided(&s, ".nii", "0101");
    assert_divided(&s, ".npy", "0000");
}

IN_FOLDER(what_no_file_holds_is_refused)
{
    scene s = {.count = 0};
    int file[MOST], files;
    char name[8];
    add(&s, 40000, 1, 0, 0);
    assert_refused(larmor_images_divide("x.nii", s.place, 1, file, &files), LARMOR_ERR_ARG,
                   "x.nii: NIfTI-1 holds at most 32767 voxels along an axis, got 40000; use .h5");
    s.place[0].meta.repetition = 70000;
    assert_refused(larmor_images_divide("x.h5", s.place, 1, file, &files), LARMOR_ERR_ARG,
                   "x.h5: image 1 has a counter of 70000; 0 to 65535 expected");
    s.place[0].shape = LARMOR_SHAPE(2000000, 2);
    assert_refused(larmor_images_divide("x.png", s.place, 1, file, &files), LARMOR_ERR_ARG,
                   "x.png: the picture of 1 tiles is wider or higher than 1000000 pixels; use .nii");
    s.place[0].shape = LARMOR_SHAPE(4);
    assert_refused(larmor_images_divide("x.png", s.place, 1, file, &files), LARMOR_ERR_SHAPE,
                   "x.png: image 1 is not [nx, ny] or [nx, ny, nz]");
    assert_refused(larmor_images_divide("x.jpg", s.place, 1, file, &files), LARMOR_ERR_ARG, "names no format");
    assert_refused(larmor_images_divide("x.png", s.place, 0, file, &files), LARMOR_ERR_ARG,
                   "x.png: no image to write");
    assert_ok(larmor_divided_name("a.NII.gz", 0, (char[16]){0}, 16));
    assert_refused(larmor_divided_name("abc.nii", 0, name, sizeof name), LARMOR_ERR_ARG,
                   "abc.nii: the name is too long");
}
