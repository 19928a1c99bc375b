/* One DICOM file for all slices, and what larmor says of DICOM files and folders.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/dicom_read.h"
#include "tests/io/files.h"

enum { NX = 6, NY = 4, SLICES = 3, REPETITIONS = 2, ECHOES = 2, IMAGES = SLICES * REPETITIONS * ECHOES };
#define GAP_MM 7.0

#define FRAME_CONTENT 0x00209111
#define assert_near(value, expected, limit) assert_at_most(fabs((value) - (expected)), limit)

static const char header[] = "<?xml version=\"1.0\"?>\n<ismrmrdHeader xmlns=\"http://www.ismrm.org/ISMRMRD\">"
                             "<experimentalConditions><H1resonanceFrequency_Hz>123250000</H1resonanceFrequency_Hz>"
                             "</experimentalConditions><sequenceParameters><TR>8.5</TR><TE>2.5</TE><TE>5</TE>"
                             "<flipAngle_deg>15</flipAngle_deg></sequenceParameters></ismrmrdHeader>";

/* Oblique slices, the last ones first, of two repetitions of two echoes: image i is i + 1 and grows by voxels. */
typedef struct series {
    larmor_image image[IMAGES];
    larmor_array *data[IMAGES];
} series;

static float value_of(int i, int voxel)
{
    return (float)(i + 1) + 0.01f * (float)voxel;
}

static series make_series(void)
{
    static const double normal[3] = {0.36, -0.48, 0.8};
    series s;
    for (int i = 0; i < IMAGES; i++) {
        float v[NX * NY];
        for (int k = 0; k < NX * NY; k++) v[k] = value_of(i, k);
        assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(NX, NY), &s.data[i]));
        assert_ok(larmor_array_write(s.data[i], v, sizeof v));
        const int slice = SLICES - 1 - i % SLICES;
        larmor_image_meta m = {.fov_mm = {240, 200, 5},
                               .read_dir = {0.8, 0.6, 0},
                               .phase_dir = {-0.48, 0.64, 0.6},
                               .slice_dir = {0.36, -0.48, 0.8},
                               .slice = slice,
                               .repetition = i / SLICES % REPETITIONS,
                               .contrast = i / (SLICES * REPETITIONS)};
        for (int d = 0; d < 3; d++) m.position_mm[d] = 10.0 * d - 30 + GAP_MM * slice * normal[d];
        s.image[i] = (larmor_image){s.data[i], m};
    }
    return s;
}

static void end_series(series *s)
{
    for (int i = 0; i < IMAGES; i++) larmor_array_free(s->data[i]);
}

static larmor_status write_series(const series *s, const char *name)
{
    OWNED(larmor_output) *out = NULL;
    const larmor_status opened = larmor_output_open(in_folder(name), 1, &out);
    return opened ? opened : larmor_image_write(out, s->image, IMAGES, &(larmor_write_opts){.header = header});
}

IN_FOLDER(one_file_has_each_slice_at_its_place_with_its_time_and_echo)
{
    OWNED(series) s = make_series();
    assert_ok(write_series(&s, "x.dcm"));
    dicom *d = dicom_open(in_folder("x.dcm"));
    assert_non_null(d);
    assert_string_equal(dicom_text(d, 0x00080016), "1.2.840.10008.5.1.4.1.1.4.1");
    assert_near(dicom_number(d, 0x00280008, 0), IMAGES, 0);
    const double slope = dicom_of_frame(d, -1, 0x00289145, 0x00281053, 0);
    long count;
    const uint16_t *pixels = dicom_pixels(d, &count);
    assert_int_equal(count, IMAGES * NX * NY);
    assert_near(dicom_of_frame(d, -1, 0x00189112, 0x00180080, 0), 8.5, 0);
    assert_near(dicom_of_frame(d, -1, 0x00289110, 0x00180088, 0), GAP_MM, 1e-6);
    for (int f = 0; f < IMAGES; f++) {
        const int slice = f % SLICES, time = f / SLICES % REPETITIONS, echo = f / (SLICES * REPETITIONS);
        const int i = (echo * REPETITIONS + time) * SLICES + SLICES - 1 - slice;
        const int index[4] = {1, slice + 1, time + 1, echo + 1}; /* stack, place, time, echo */
        for (int k = 0; k < 4; k++) assert_near(dicom_of_frame(d, f, FRAME_CONTENT, 0x00209157, k), index[k], 0);
        assert_near(dicom_of_frame(d, f, 0x00189114, 0x00189082, 0), 2.5 * (echo + 1), 0);
        for (int k = 0; k < NX * NY; k++) assert_near(pixels[f * NX * NY + k] * slope, value_of(i, k), 0.6 * slope);
        const larmor_image_meta *m = &s.image[i].meta;
        for (int k = 0; k < 3; k++) {
            const double corner = m->position_mm[k] - 3 * 40 * m->read_dir[k] - 2 * 50 * m->phase_dir[k];
            assert_near(dicom_of_frame(d, f, 0x00209113, 0x00200032, k), corner, 1e-4);
            assert_near(dicom_of_frame(d, f, 0x00209116, 0x00200037, k), m->read_dir[k], 1e-6);
            assert_near(dicom_of_frame(d, f, 0x00209116, 0x00200037, 3 + k), m->phase_dir[k], 1e-6);
        }
    }
    dicom_close(d);
}

IN_FOLDER(phases_go_to_a_second_file_within_half_a_step)
{
    enum { COUNT = NX * NY };
    OWNED(larmor_output) *out = NULL;
    OWNED(larmor_array) *x = NULL;
    float v[2 * COUNT];
    for (int k = 0; k < COUNT; k++) {
        v[2 * k] = (float)(k + 1) * cosf((float)k);
        v[2 * k + 1] = (float)(k + 1) * sinf((float)k);
    }
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(NX, NY), &x));
    assert_ok(larmor_array_write(x, v, sizeof v));
    const larmor_image image = {x, {.fov_mm = {NX, NY, 1}}};
    assert_ok(larmor_output_open(in_folder("x.dcm"), 0, &out));
    assert_ok(larmor_output_add_phase(out));
    assert_ok(larmor_image_write(out, &image, 1, NULL));
    dicom *d = dicom_open(in_folder("x_phase.dcm"));
    assert_non_null(d);
    assert_string_equal(dicom_text(d, 0x00089208), "PHASE");
    assert_near(dicom_number(d, 0x00280103, 0), 1, 0); /* signed */
    const double slope = dicom_of_frame(d, -1, 0x00289145, 0x00281053, 0);
    assert_near(slope, acos(-1) / 32767, 1e-13);
    long count;
    const uint16_t *pixels = dicom_pixels(d, &count);
    assert_int_equal(count, COUNT);
    for (int k = 0; k < COUNT; k++) {
        const double angle = atan2((double)v[2 * k + 1], (double)v[2 * k]);
        assert_near((int16_t)pixels[k] * slope, angle, 0.51 * slope);
    }
    dicom_close(d);
    d = dicom_open(in_folder("x.dcm"));
    assert_string_equal(dicom_text(d, 0x00089208), "MAGNITUDE");
    dicom_close(d);
}

IN_FOLDER(phases_of_real_images_and_of_other_formats_are_refused)
{
    OWNED(larmor_output) *out = NULL, *folder_of = NULL;
    OWNED(series) s = make_series();
    assert_ok(larmor_output_open(in_folder("x.dcm"), 0, &out));
    assert_ok(larmor_output_add_phase(out));
    assert_int_equal(larmor_image_write(out, s.image, IMAGES, NULL), LARMOR_ERR_ARG);
    assert_int_equal(files_in_folder(), 0);
    assert_ok(larmor_output_open(in_folder("y.dcm/"), 0, &folder_of));
    assert_int_equal(larmor_output_add_phase(folder_of), LARMOR_ERR_ARG);
}

IN_FOLDER(one_file_is_the_same_bytes_again)
{
    size_t bytes[2];
    OWNED(series) s = make_series();
    assert_ok(write_series(&s, "x.dcm"));
    assert_ok(write_series(&s, "y.dcm"));
    unsigned char *a = get_file(in_folder("x.dcm"), &bytes[0]), *b = get_file(in_folder("y.dcm"), &bytes[1]);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(a, b, bytes[0]);
    LMR_FREE(a, b);
}

static void assert_described(const char *name, const series *s)
{
    static larmor_image_info info;
    assert_ok(larmor_image_describe(in_folder(name), dev, &info));
    assert_string_equal(info.format, "DICOM");
    assert_true(larmor_shape_equal(info.shape, LARMOR_SHAPE(NX, NY, SLICES)));
    assert_int_equal(info.images, REPETITIONS * ECHOES);
    assert_int_equal(info.has_geometry, 1);
    const larmor_image_meta *m = &info.meta, *middle = &s->image[1].meta; /* slice 1 of 3 */
    const double fov[3] = {240, 200, SLICES * GAP_MM};
    for (int d = 0; d < 3; d++) {
        assert_near(m->fov_mm[d], fov[d], 1e-4);
        assert_near(m->position_mm[d], middle->position_mm[d], 1e-4);
        assert_near(m->read_dir[d], middle->read_dir[d], 1e-6);
        assert_near(m->phase_dir[d], middle->phase_dir[d], 1e-6);
        assert_near(m->slice_dir[d], middle->slice_dir[d], 1e-6);
    }
}

IN_FOLDER(files_and_folders_tell_their_size_place_and_how_many_volumes_they_have)
{
    OWNED(series) s = make_series();
    assert_ok(write_series(&s, "one.dcm"));
    assert_ok(write_series(&s, "several.dcm/"));
    assert_described("one.dcm", &s);
    assert_described("several.dcm/", &s);
    assert_described("several.dcm", &s); /* without a slash, too */
    static larmor_image_info info;
    put_file(in_folder("several.dcm/IM_000099.dcm"), "no DICOM", 8);
    assert_refused(larmor_image_describe(in_folder("several.dcm/"), dev, &info), LARMOR_ERR_FORMAT,
                   "IM_000099.dcm: not a DICOM file.");
    assert_int_equal(mkdir(in_folder("empty.dcm"), 0700), 0);
    assert_refused(larmor_image_describe(in_folder("empty.dcm/"), dev, &info), LARMOR_ERR_FORMAT,
                   "holds no .dcm file");
}

IN_FOLDER(slices_that_are_no_volume_go_to_several_files)
{
    OWNED(series) s = make_series();
    int file[IMAGES], files;
    larmor_image_place place[IMAGES];
    for (int i = 0; i < IMAGES; i++) place[i] = (larmor_image_place){LARMOR_SHAPE(NX, NY), s.image[i].meta};
    assert_ok(larmor_images_divide("x.dcm", place, IMAGES, file, &files));
    assert_int_equal(files, 1);
    for (int d = 0; d < 3; d++) s.image[0].meta.position_mm[d] += place[0].meta.slice_dir[d];
    place[0].meta = s.image[0].meta; /* uneven */
    assert_ok(larmor_images_divide("x.dcm", place, IMAGES, file, &files));
    assert_true(files > 1);
    assert_int_equal(write_series(&s, "x.dcm"), LARMOR_ERR_ARG);
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(cut_and_changed_files_do_no_harm)
{
    static larmor_image_info info;
    size_t bytes;
    uint64_t seed = 5;
    OWNED(series) s = make_series();
    assert_ok(write_series(&s, "x.dcm"));
    HEAP unsigned char *file = get_file(in_folder("x.dcm"), &bytes);
    const size_t head = bytes - IMAGES * NX * NY * sizeof(uint16_t);
    for (size_t cut = 1; cut < head - 12; cut += 1 + head / 100) {
        put_file(in_folder("y.dcm"), file, cut);
        assert_int_equal(larmor_image_describe(in_folder("y.dcm"), dev, &info), LARMOR_ERR_FORMAT);
    }
    for (int i = 0; i < 200; i++) {
        const size_t at = 128 + (size_t)((test_random(&seed) + 1) / 2 * (double)(head - 128));
        const unsigned char was = file[at];
        file[at] = (unsigned char)(255 * (test_random(&seed) + 1) / 2);
        put_file(in_folder("y.dcm"), file, bytes);
        const larmor_status st = larmor_image_describe(in_folder("y.dcm"), dev, &info);
        assert_true(st == LARMOR_OK || st == LARMOR_ERR_FORMAT);
        file[at] = was;
    }
}
