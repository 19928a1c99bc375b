/* Images of any format come back one by one, each with its own geometry and counters, and as volumes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

enum { NX = 4, NY = 3, SLICES = 3, ECHOES = 2, REPETITIONS = 2, IMAGES = SLICES * ECHOES * REPETITIONS };

/* Oblique slices of 5 mm, 6 mm apart, the last of which comes first; echoes and repetitions of each. */
typedef struct scene {
    larmor_image image[IMAGES];
    float value[IMAGES][NX * NY];
} scene;

static void make_scene(scene *s)
{
    static const double along[3] = {0, .6, .8}, read[3] = {1, 0, 0}, phase[3] = {0, .8, -.6};
    for (int i = 0; i < IMAGES; i++) {
        const int slice = SLICES - 1 - i % SLICES;
        larmor_image_meta m = {.fov_mm = {80, 60, 5},
                               .slice = i % SLICES,
                               .contrast = i / SLICES % ECHOES,
                               .repetition = i / SLICES / ECHOES,
                               .time_stamp = (uint32_t)i};
        for (int k = 0; k < 3; k++) {
            m.read_dir[k] = read[k];
            m.phase_dir[k] = phase[k];
            m.slice_dir[k] = along[k];
            m.position_mm[k] = 10 * k + 6 * slice * along[k];
        }
        for (int v = 0; v < NX * NY; v++) s->value[i][v] = (float)(100 * i + v + 1);
        larmor_array *x = MADE(
            larmor_array, larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(NX, NY), LARMOR_F32, s->value[i], &made));
        s->image[i] = (larmor_image){.data = x, .meta = m};
    }
}

static void end_scene(scene *s)
{
    for (int i = 0; i < IMAGES; i++) larmor_array_free(s->image[i].data);
}

static void write_images(const char *path, const larmor_image *images, int count)
{
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    assert_ok(larmor_image_write(out, images, count, NULL));
}

static void assert_place(const double got[3], const double expected[3])
{
    for (int k = 0; k < 3; k++) assert_true(fabs(got[k] - expected[k]) < 1e-4);
}

IN_FOLDER(hdf5_images_keep_each_its_place_its_counters_and_its_signs)
{
    OWNED(scene) s;
    make_scene(&s);
    float minus[NX * NY];
    for (int v = 0; v < NX * NY; v++) minus[v] = -s.value[0][v];
    larmor_array *negative =
        MADE(larmor_array, larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(NX, NY), LARMOR_F32, minus, &made));
    larmor_array_free(s.image[0].data);
    s.image[0].data = negative;
    write_images(in_folder("x.h5"), s.image, IMAGES);
    OWN(larmor_image_set, set, larmor_images_read(in_folder("x.h5"), dev, &set));
    assert_int_equal(set.count, IMAGES);
    assert_int_equal(set.has_geometry, 1);
    for (int i = 0; i < IMAGES; i++) {
        const larmor_image_meta *m = &set.image[i].meta, *n = &s.image[i].meta;
        assert_int_equal(m->slice, n->slice);
        assert_int_equal(m->contrast, n->contrast);
        assert_int_equal(m->repetition, n->repetition);
        assert_int_equal(m->time_stamp, n->time_stamp);
        assert_place(m->position_mm, n->position_mm);
        assert_place(m->fov_mm, n->fov_mm);
        assert_place(m->slice_dir, n->slice_dir);
        assert_int_equal(larmor_array_dtype(set.image[i].data), LARMOR_F32);
        HEAP float *v = host_of(set.image[i].data);
        assert_memory_equal(v, i ? s.value[i] : minus, sizeof minus);
    }
}

/* What a volume must hold: of echo e and repetition r, slices by position. */
static const float *expected(const scene *s, int volume, int slice)
{
    const int e = volume / REPETITIONS, r = volume % REPETITIONS;
    return s->value[SLICES - 1 - slice + SLICES * (e + ECHOES * r)];
}

IN_FOLDER(images_stack_by_position_and_counters_whatever_their_order)
{
    OWNED(scene) s;
    make_scene(&s);
    larmor_image shuffled[IMAGES];
    for (int i = 0; i < IMAGES; i++) shuffled[i] = s.image[5 * i % IMAGES];
    for (int c = 0; c < 2; c++) {
        OWN(larmor_array, *x, larmor_images_stack(c ? shuffled : s.image, IMAGES, &x));
        assert_true(larmor_shape_equal(larmor_array_shape(x), LARMOR_SHAPE(NX, NY, SLICES, ECHOES * REPETITIONS)));
        HEAP float *v = host_of(x);
        for (int i = 0; i < IMAGES; i++)
            assert_memory_equal(v + (size_t)i * NX * NY, expected(&s, i / SLICES, i % SLICES), sizeof s.value[0]);
    }
}

/* The same volumes from each format, and the place of the first where there is one. */
IN_FOLDER(every_format_gives_the_same_volumes_back)
{
    static const char *const names[] = {"x.h5", "x.nii", "x.nii.gz", "x.npy", "x.cfl"};
    OWNED(scene) s;
    make_scene(&s);
    for (int f = 0; f < 5; f++)
        for (int again = 0; again < 5; again++) {
            char other[16];
            write_images(in_folder(names[f]), s.image, IMAGES);
            OWN(larmor_image_set, set, larmor_images_read(in_folder(names[f]), dev, &set));
            snprintf(other, sizeof other, "again%s", names[again] + 1);
            write_images(in_folder(other), set.image, set.count);
            OWN(larmor_image_set, second, larmor_images_read(in_folder(other), dev, &second));
            assert_int_equal(second.has_geometry, again < 3);
            OWN(larmor_array, *x, larmor_images_stack(second.image, second.count, &x));
            assert_int_equal(larmor_array_count(x), IMAGES * NX * NY);
            HEAP float *magnitude = host_of(x);
            const int step = larmor_array_dtype(x) == LARMOR_C64 ? 2 : 1; /* a .cfl holds complex numbers alone */
            for (int i = 0; i < IMAGES; i++)
                for (int v = 0; v < NX * NY; v++)
                    assert_true(magnitude[(i * NX * NY + v) * step] == expected(&s, i / SLICES, i % SLICES)[v]);
        }
}

/* From slices with a gap by .h5, .nii or back the volume is where a direct write puts it. */
IN_FOLDER(geometry_is_that_of_a_direct_write_whatever_the_way)
{
    static const char *const way[] = {"a.h5", "b.nii", "c.h5", "d.nii.gz", "e.nii"};
    OWNED(scene) s;
    larmor_image_meta direct, there;
    make_scene(&s);
    write_images(in_folder("direct.nii"), s.image, IMAGES);
    write_images(in_folder("a.h5"), s.image, IMAGES);
    assert_ok(larmor_image_read_meta(in_folder("direct.nii"), &direct));
    assert_true(fabs(direct.fov_mm[2] - 18) < 1e-4);
    for (int i = 1; i < 5; i++) {
        OWN(larmor_image_set, set, larmor_images_read(in_folder(way[i - 1]), dev, &set));
        write_images(in_folder(way[i]), set.image, set.count);
        assert_ok(larmor_image_read_meta(in_folder(way[i]), &there));
        assert_place(there.fov_mm, direct.fov_mm);
        assert_place(there.position_mm, direct.position_mm);
        assert_place(there.read_dir, direct.read_dir);
        assert_place(there.phase_dir, direct.phase_dir);
        assert_place(there.slice_dir, direct.slice_dir);
    }
}

/* Echoes in 5, repetitions in 10, slices in 13, by position. */
IN_FOLDER(bart_gets_the_counters_in_its_dimensions)
{
    OWNED(scene) s;
    make_scene(&s);
    write_images(in_folder("x.cfl"), s.image, IMAGES);
    size_t bytes;
    HEAP char *header = (char *)get_file(in_folder("x.hdr"), &bytes);
    static const char wanted[] = "# Dimensions\n4 3 1 1 1 2 1 1 1 1 2 1 1 3 1 1\n";
    assert_int_equal(bytes, sizeof wanted - 1);
    assert_memory_equal(header, wanted, bytes);
    OWN(larmor_image_set, set, larmor_images_read(in_folder("x.cfl"), dev, &set));
    assert_int_equal(set.count, IMAGES);
    assert_int_equal(set.has_geometry, 0);
    assert_int_equal(set.has_counters, 1);
    for (int i = 0; i < IMAGES; i++) {
        const larmor_image_meta *m = &set.image[i].meta;
        assert_int_equal(m->contrast, i % ECHOES);
        assert_int_equal(m->repetition, i / ECHOES % REPETITIONS);
        assert_int_equal(m->slice, i / ECHOES / REPETITIONS);
        HEAP float *v = host_of(set.image[i].data);
        for (int k = 0; k < NX * NY; k++)
            assert_true(v[2 * k] == expected(&s, m->contrast * REPETITIONS + m->repetition, m->slice)[k]);
    }
}

/* A file of three planes: no volume, but all of it comes back. */
IN_FOLDER(planes_that_are_not_parallel_come_back_from_hdf5)
{
    OWNED(scene) s;
    larmor_array *x;
    make_scene(&s);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            s.image[i].meta.read_dir[k] = k == i;
            s.image[i].meta.phase_dir[k] = k == (i + 1) % 3;
            s.image[i].meta.slice_dir[k] = k == (i + 2) % 3;
        }
    }
    write_images(in_folder("x.h5"), s.image, 3);
    OWN(larmor_image_set, set, larmor_images_read(in_folder("x.h5"), dev, &set));
    for (int i = 0; i < 3; i++) assert_place(set.image[i].meta.read_dir, s.image[i].meta.read_dir);
    assert_ok(larmor_images_stack(set.image, 3, &x));
    assert_true(larmor_shape_equal(larmor_array_shape(x), LARMOR_SHAPE(NX, NY, 3)));
    HEAP float *v = host_of(x);
    assert_memory_equal(v, s.value, 3 * sizeof s.value[0]);
    larmor_array_free(x);
    OWN(larmor_output, *out, larmor_output_open(in_folder("x.nii"), 0, &out));
    assert_refused(larmor_image_write(out, set.image, 3, NULL), LARMOR_ERR_ARG, "is not parallel to the first");
}
