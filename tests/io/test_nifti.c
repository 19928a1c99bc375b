/* NIfTI: geometry against corners worked out by hand, slices stacked by position, values unchanged.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/images/volume.h"
#include "tests/io/files.h"

typedef struct header { /* the fields of NIfTI-1 that are looked at, by their offsets */
    int16_t dim[8], datatype, qform, sform;
    float pixdim[8], quatern[3], qoffset[3], srow[3][4], vox_offset;
    char units;
} header;

static header read_header(const char *path)
{
    size_t bytes;
    HEAP unsigned char *f = get_file(path, &bytes);
    assert_true(bytes > 352);
    header h;
    memcpy(h.dim, f + 40, sizeof h.dim);
    memcpy(&h.datatype, f + 70, 2);
    memcpy(h.pixdim, f + 76, sizeof h.pixdim);
    memcpy(&h.vox_offset, f + 108, 4);
    h.units = (char)f[123];
    memcpy(&h.qform, f + 252, 2);
    memcpy(&h.sform, f + 254, 2);
    memcpy(h.quatern, f + 256, sizeof h.quatern);
    memcpy(h.qoffset, f + 268, sizeof h.qoffset);
    memcpy(h.srow, f + 280, sizeof h.srow);
    return h;
}

/* The matrix of the quaternion by NIfTI's definition. */
static void qform_of(const header *h, double m[3][4])
{
    const double b = h->quatern[0], c = h->quatern[1], d = h->quatern[2],
                 a = sqrt(fmax(0, 1 - b * b - c * c - d * d));
    const double r[3][3] = {{a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)},
                            {2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)},
                            {2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - b * b - c * c}};
    for (int k = 0; k < 3; k++) {
        for (int j = 0; j < 3; j++) m[k][j] = r[k][j] * h->pixdim[j + 1] * (j == 2 && h->pixdim[0] < 0 ? -1 : 1);
        m[k][3] = h->qoffset[k];
    }
}

static void assert_affine_of(const char *path, int code, const double expected[3][4])
{
    const header h = read_header(path);
    double q[3][4];
    qform_of(&h, q);
    assert_int_equal(h.qform, code);
    assert_int_equal(h.sform, code);
    assert_int_equal(h.units & 7, 2);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++) {
            assert_at_most(fabs((double)h.srow[k][c] - expected[k][c]), c == 3 ? 1e-4 : 1e-5);
            assert_at_most(fabs(q[k][c] - expected[k][c]), c == 3 ? 1e-4 : 1e-5);
        }
}

static void assert_affine(const char *path, const double expected[3][4])
{
    assert_affine_of(path, 1, expected);
}

/* read = (.6, .8, 0), phase = (-.48, .36, .8), slice = read x phase = (.64, -.48, .6): orthonormal and all exact in
 * decimals. Voxels 1.5 x 2 x 3 mm, matrix 8 x 6 x 5, so that voxel (4, 3, 2) is at the position (10, -20, 30) in LPS.
 *   corner = position - 4 (.9, 1.2, 0) - 3 (-.96, .72, 1.6) - 2 (1.92, -1.44, 1.8)
 *          = (10 - 3.6 + 2.88 - 3.84, -20 - 4.8 - 2.16 + 2.88, 30 - 4.8 - 3.6) = (5.44, -24.08, 21.6)
 * and RAS changes the sign of the first two. */
static const larmor_image_meta oblique = {.fov_mm = {12, 12, 15},
                                          .position_mm = {10, -20, 30},
                                          .read_dir = {.6, .8, 0},
                                          .phase_dir = {-.48, .36, .8},
                                          .slice_dir = {.64, -.48, .6}};
static const double oblique_ras[3][4] = {{-.9, .96, -1.92, -5.44}, {-1.2, -.72, 1.44, 24.08}, {0, 1.6, 1.8, 21.6}};

IN_FOLDER(oblique_anisotropic_volume_has_the_corner_worked_out_by_hand)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1);
    assert_ok(write_image(in_folder("x.nii"), 0, x, &oblique));
    assert_affine(in_folder("x.nii"), oblique_ras);
    const header h = read_header(in_folder("x.nii"));
    const int16_t dim[8] = {3, 8, 6, 5, 1, 1, 1, 1};
    assert_memory_equal(h.dim, dim, 4 * sizeof dim[0]);
    assert_int_equal(h.datatype, 16);
    assert_true(h.vox_offset == 352);
}

IN_FOLDER(left_handed_frame_is_kept_by_both_forms)
{
    larmor_image_meta meta = oblique;
    for (int k = 0; k < 3; k++) meta.slice_dir[k] = -meta.slice_dir[k];
    /* the corner moves by 2 * 2 slices of 3 mm along the old slice direction */
    const double expected[3][4] = {
        {-.9, .96, 1.92, -5.44 - 4 * 1.92}, {-1.2, -.72, -1.44, 24.08 + 4 * 1.44}, {0, 1.6, -1.8, 21.6 + 4 * 1.8}};
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1);
    assert_ok(write_image(in_folder("x.nii"), 0, x, &meta));
    assert_affine(in_folder("x.nii"), expected);
}

IN_FOLDER(geometry_comes_back_from_the_file)
{
    static const char *const names[] = {"x.nii", "x.nii.gz", "x.h5"};
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1);
    for (int f = 0; f < 3; f++) {
        larmor_image_meta m;
        assert_ok(write_image(in_folder(names[f]), 0, x, &oblique));
        assert_ok(larmor_image_read_meta(in_folder(names[f]), &m));
        for (int k = 0; k < 3; k++) {
            assert_at_most(fabs(m.fov_mm[k] - oblique.fov_mm[k]), 1e-4);
            assert_at_most(fabs(m.position_mm[k] - oblique.position_mm[k]), 1e-4);
            assert_at_most(fabs(m.read_dir[k] - oblique.read_dir[k]), 1e-6);
            assert_at_most(fabs(m.phase_dir[k] - oblique.phase_dir[k]), 1e-6);
            assert_at_most(fabs(m.slice_dir[k] - oblique.slice_dir[k]), 1e-6);
        }
    }
}

IN_FOLDER(values_come_back_with_and_without_gzip)
{
    static const char *const names[] = {"x.nii", "x.nii.gz"};
    larmor_array *z = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1), *y;
    OWNED(larmor_array) *r = random_array(LARMOR_F32, LARMOR_SHAPE(70, 60), 1);
    HEAP float *zv = host_of(z), *rv = host_of(r);
    for (int f = 0; f < 2; f++) {
        assert_ok(write_image(in_folder(names[f]), 1, z, &oblique));
        assert_ok(larmor_image_read(in_folder(names[f]), dev, &y));
        assert_int_equal(larmor_array_dtype(y), LARMOR_F32);
        assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(8, 6, 5)));
        float *v = host_of(y);
        for (int i = 0; i < 240; i++) assert_at_most(fabs(v[i] - hypot(zv[2 * i], zv[2 * i + 1])), 1e-7);
        LMR_FREE(v, y);

        assert_ok(write_image(in_folder(names[f]), 1, r, NULL)); /* real values keep their sign */
        assert_ok(larmor_image_read(in_folder(names[f]), dev, &y));
        v = host_of(y);
        assert_int_equal(larmor_array_bytes(y), larmor_array_bytes(r));
        assert_memory_equal(v, rv, larmor_array_bytes(r));
        LMR_FREE(v, y);
    }
    larmor_array_free(z);
}

/* Slices at the given distances along the oblique slice direction; voxels of slice i hold i + 1. */
static larmor_status write_slices(const char *path, int count, const double *along, const int *repetition,
                                  double shift)
{
    larmor_image images[16];
    larmor_array *x[16];
    for (int i = 0; i < count; i++) {
        float v[48];
        for (int k = 0; k < 48; k++) v[k] = (float)(i + 1);
        assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(8, 6), &x[i]));
        assert_ok(larmor_array_write(x[i], v, sizeof v));
        images[i] = (larmor_image){.data = x[i], .meta = oblique};
        images[i].meta.fov_mm[2] = 3; /* thickness */
        images[i].meta.slice = i;
        images[i].meta.repetition = repetition ? repetition[i] : 0;
        for (int k = 0; k < 3; k++)
            images[i].meta.position_mm[k] += along[i] * oblique.slice_dir[k] + (i == 1) * shift * oblique.read_dir[k];
    }
    larmor_output *out = MADE(larmor_output, larmor_output_open(path, 1, &made));
    const larmor_status st = larmor_image_write(out, images, count, NULL);
    larmor_output_free(out);
    for (int i = 0; i < count; i++) larmor_array_free(x[i]);
    return st;
}

IN_FOLDER(slices_are_sorted_by_position_with_the_step_between_them)
{
    const double along[4] = {0, 9, -4.5, 4.5}; /* interleaved, with gaps: 4.5 mm steps of 3 mm slices */
    assert_ok(write_slices(in_folder("x.nii"), 4, along, NULL, 0));
    /* corner of the lowest slice: position - 4.5 slice - 4 read columns - 3 phase columns */
    const double lps[3] = {10 - 4.5 * .64 - 3.6 + 2.88, -20 + 4.5 * .48 - 4.8 - 2.16, 30 - 4.5 * .6 - 4.8};
    const double expected[3][4] = {
        {-.9, .96, -4.5 * .64, -lps[0]}, {-1.2, -.72, 4.5 * .48, -lps[1]}, {0, 1.6, 4.5 * .6, lps[2]}};
    assert_affine(in_folder("x.nii"), expected);
    OWN(larmor_array, *y, larmor_image_read(in_folder("x.nii"), dev, &y));
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(8, 6, 4)));
    HEAP float *v = host_of(y);
    const float order[4] = {3, 1, 4, 2};
    for (int s = 0; s < 4; s++) assert_true(v[48 * s] == order[s] && v[48 * s + 47] == order[s]);
}

IN_FOLDER(repetitions_become_the_fourth_dimension)
{
    const double along[6] = {3, 0, 6, 0, 3, 6};
    const int repetition[6] = {1, 1, 1, 0, 0, 0};
    assert_ok(write_slices(in_folder("x.nii.gz"), 6, along, repetition, 0));
    OWN(larmor_array, *y, larmor_image_read(in_folder("x.nii.gz"), dev, &y));
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(8, 6, 3, 2)));
    HEAP float *v = host_of(y);
    const float order[6] = {4, 5, 6, 2, 1, 3};
    for (int s = 0; s < 6; s++) assert_true(v[48 * s] == order[s]);
}

IN_FOLDER(slices_that_nifti_cannot_hold_are_refused)
{
    const double uneven[3] = {0, 5, 12.5}, even[3] = {0, 5, 10}, four[4] = {0, 3, 0, 4};
    const int repetition[4] = {0, 0, 1, 1}, lone[3] = {0, 0, 1};
    assert_refused(write_slices(in_folder("x.nii"), 3, uneven, NULL, 0), LARMOR_ERR_ARG,
                   "slices are unevenly spaced (6.250 mm on average, 5.000 mm before slice 2)");
    assert_refused(write_slices(in_folder("x.nii"), 3, even, NULL, 0.5), LARMOR_ERR_ARG,
                   "slice 2 is shifted by 0.500 mm in its plane");
    assert_refused(write_slices(in_folder("x.nii"), 4, four, repetition, 0), LARMOR_ERR_ARG,
                   "repetitions or contrasts have different slices");
    assert_refused(write_slices(in_folder("x.nii"), 3, even, lone, 0), LARMOR_ERR_ARG,
                   "repetitions or contrasts have different slices");
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(slices_of_other_orientation_are_refused)
{
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(8, 6), 1);
    larmor_image images[2] = {{.data = x, .meta = oblique}, {.data = x, .meta = oblique}};
    images[1].meta.slice = 1;
    images[1].meta.read_dir[0] = 1;
    images[1].meta.read_dir[1] = 0;
    OWN(larmor_output, *out, larmor_output_open(in_folder("x.nii"), 0, &out));
    assert_refused(larmor_image_write(out, images, 2, NULL), LARMOR_ERR_ARG, "image 2 is not parallel to the first");
}

IN_FOLDER(slices_without_positions_are_stacked_by_counter_with_their_thickness)
{
    const double nowhere[3] = {0, 0, 0};
    assert_ok(write_slices(in_folder("x.nii"), 3, nowhere, NULL, 0));
    const header h = read_header(in_folder("x.nii"));
    assert_int_equal(h.dim[3], 3);
    assert_at_most(fabs((double)h.pixdim[3] - 3), 1e-6);
    assert_int_equal(h.sform, 0); /* they cannot all be there */
    assert_int_equal(h.qform, 0);
}

IN_FOLDER(image_without_geometry_gets_voxels_of_one_mm)
{
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(8, 6), 1);
    assert_ok(write_image(in_folder("x.nii"), 0, x, NULL));
    const double expected[3][4] = {{-1, 0, 0, 4}, {0, -1, 0, 3}, {0, 0, 1, 0}};
    assert_affine_of(in_folder("x.nii"), 0, expected);
}

/* The codes are 0, and stay so through a copy, whose matrix is the same. */
IN_FOLDER(a_place_that_is_not_known_is_said_by_code_0)
{
    larmor_image_meta unknown = oblique, again;
    unknown.place_unknown = 1;
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1);
    assert_ok(write_image(in_folder("x.nii"), 0, x, &unknown));
    assert_affine_of(in_folder("x.nii"), 0, oblique_ras);
    assert_ok(larmor_image_read_meta(in_folder("x.nii"), &again));
    assert_int_equal(again.place_unknown, 1);
    assert_ok(write_image(in_folder("y.nii"), 0, x, &again));
    assert_affine_of(in_folder("y.nii"), 0, oblique_ras);
    assert_ok(write_image(in_folder("x.h5"), 0, x, &unknown)); /* which has directions of 0 then */
    assert_ok(larmor_image_read_meta(in_folder("x.h5"), &again));
    assert_ok(write_image(in_folder("z.nii"), 0, x, &again));
    assert_int_equal(read_header(in_folder("z.nii")).sform, 0);
}

/* Three repetitions by their stamps in ticks of 2.5 ms; contrasts are no series in time. What says when each was is
 * BIDS' sidecar, where they are no steps. */
IN_FOLDER(a_series_has_its_time_step_in_seconds)
{
    static const struct {
        int stamp[3], number[3], is_contrast;
        double step_s;
        const char *times;
    } cases[] = {
        {{1000, 1480, 1960}, {0, 1, 2}, 0, 1.2, "\"RepetitionTime\": 1.2,"},
        {{1000, 2440, 3880}, {0, 3, 6}, 0, 3.6, "\"RepetitionTime\": 3.6,"},
        {{1000, 1480, 2440}, {0, 1, 3}, 0, 0, "\"VolumeTiming\": [0, 1.2, 3.6],\n  \"AcquisitionDuration\": 1.2"},
        {{1000, 1480, 1960}, {0, 1, 2}, 1, 0, NULL},
        {{0, 0, 0}, {0, 1, 2}, 0, 0, NULL}};
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        larmor_image images[3];
        larmor_output *out;
        for (int i = 0; i < 3; i++) {
            images[i] = (larmor_image){.data = x, .meta = oblique};
            images[i].meta.time_stamp = (uint32_t)cases[c].stamp[i];
            *(cases[c].is_contrast ? &images[i].meta.contrast : &images[i].meta.repetition) = cases[c].number[i];
        }
        assert_ok(larmor_output_open(in_folder("x.nii"), 1, &out));
        assert_ok(larmor_output_add_sidecar(out));
        assert_ok(larmor_image_write(out, images, 3, NULL));
        larmor_output_free(out);
        const header h = read_header(in_folder("x.nii"));
        assert_int_equal(h.dim[4], 3);
        assert_at_most(fabs((double)h.pixdim[4] - (cases[c].step_s > 0 ? cases[c].step_s : 1)), 1e-6);
        assert_int_equal(h.units & 0x38, cases[c].step_s > 0 ? 8 : 0); /* NIfTI's code of seconds */
        size_t bytes;
        HEAP char *json = (char *)get_file(in_folder("x.json"), &bytes);
        json[bytes - 1] = 0;
        assert_true(cases[c].times ? strstr(json, cases[c].times) != NULL
                                   : !strstr(json, "\"RepetitionTime\"") && !strstr(json, "Timing"));
    }
}

IN_FOLDER(integers_are_scaled_to_real_numbers)
{
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(8, 6), 1), *y;
    assert_ok(write_image(in_folder("x.nii"), 0, x, NULL));
    size_t bytes;
    HEAP unsigned char *f = get_file(in_folder("x.nii"), &bytes);
    const int16_t type = 4, bits = 16;
    const float slope = .5f, inter = 10;
    memcpy(f + 70, &type, 2);
    memcpy(f + 72, &bits, 2);
    memcpy(f + 112, &slope, 4);
    memcpy(f + 116, &inter, 4);
    for (int i = 0; i < 48; i++) memcpy(f + 352 + 2 * i, &(int16_t){(int16_t)(i - 20)}, 2);
    put_file(in_folder("i.nii"), f, bytes);
    assert_ok(larmor_image_read(in_folder("i.nii"), dev, &y));
    HEAP float *v = host_of(y);
    for (int i = 0; i < 48; i++) assert_true(v[i] == .5f * (float)(i - 20) + 10);
}

/* Positions that are pairwise the same or not, as the tolerance has it, are no order: a before c before b by slice,
 * b before a by position. */
TEST(slices_at_one_place_are_ordered_by_counter_whatever_their_order_in_the_file)
{
    const double along[3] = {0, 0.0008, -0.0008};
    const int slice[3] = {1, 0, 2}, file[2][3] = {{0, 1, 2}, {0, 2, 1}};
    for (int c = 0; c < 2; c++) {
        larmor_image images[3] = {0};
        for (int i = 0; i < 3; i++)
            images[i].meta = (larmor_image_meta){.fov_mm = {4, 4, 1},
                                                 .position_mm = {0, 0, along[file[c][i]]},
                                                 .read_dir = {1, 0, 0},
                                                 .phase_dir = {0, 1, 0},
                                                 .slice_dir = {0, 0, 1},
                                                 .slice = slice[file[c][i]]};
        const lmr_images set = {.image = images, .count = 3, .dim = {4, 4, 1}};
        lmr_volumes v;
        assert_ok(lmr_arrange("x.nii", &set, &v));
        assert_int_equal(v.slices, 3);
        for (int s = 0; s < 3; s++) assert_int_equal(images[v.order[s]].meta.slice, s);
        free(v.order);
    }
}
