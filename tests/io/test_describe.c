/* What an image file is said to be, of every format, and of files that are not what they claim.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"

#include <hdf5.h>

static const larmor_image_meta meta = {.fov_mm = {220, 110, 40},
                                       .position_mm = {1.5, -20.25, 300},
                                       .read_dir = {1, 0, 0},
                                       .phase_dir = {0, 0, 1},
                                       .slice_dir = {0, -1, 0},
                                       .slice = 3,
                                       .repetition = 6};

static larmor_image_info described(const char *path)
{
    static larmor_image_info info;
    assert_ok(larmor_image_describe(path, dev, &info));
    return info;
}

/* 4 x 3 numbers whose magnitudes are 1 to 12. */
static larmor_array *numbers(void)
{
    float host[24];
    for (int i = 0; i < 12; i++) {
        host[2 * i] = i % 2 ? 0 : -(float)(i + 1);
        host[2 * i + 1] = i % 2 ? (float)(i + 1) : 0;
    }
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(4, 3), &made));
    assert_ok(larmor_array_write(x, host, sizeof host));
    return x;
}

IN_FOLDER(each_format_tells_its_size_type_and_range)
{
    static const struct {
        const char *name, *format, *type;
        int range, geometry;
    } files[] = {{"x.h5", "ISMRMRD images", "complex", 1, 1},
                 {"x.nii", "NIfTI-1", "FLOAT32", 1, 1},
                 {"x.nii.gz", "NIfTI-1", "FLOAT32", 1, 1},
                 {"x.cfl", "BART", "c64", 1, 0},
                 {"x.npy", "NumPy", "c64", 1, 0},
                 {"x.png", "PNG", "8 bit grey", 0, 0}};
    OWNED(larmor_array) *x = numbers();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = in_folder(files[i].name);
        assert_ok(write_image(path, 0, x, &meta));
        const larmor_image_info info = described(path);
        assert_string_equal(info.format, files[i].format);
        assert_string_equal(info.type, files[i].type);
        assert_true(info.shape.ndim == 2 && info.shape.dim[0] == 4 && info.shape.dim[1] == 3);
        assert_int_equal(info.has_range, files[i].range);
        if (files[i].range) assert_true(info.lowest == 1 && info.highest == 12 && !info.nonfinite);
        assert_int_equal(info.has_geometry, files[i].geometry);
        if (!files[i].geometry) continue;
        for (int d = 0; d < 3; d++) {
            assert_at_most(fabs(info.meta.fov_mm[d] - meta.fov_mm[d]), 1e-4);
            assert_at_most(fabs(info.meta.position_mm[d] - meta.position_mm[d]), 1e-4);
            assert_at_most(fabs(info.meta.phase_dir[d] - meta.phase_dir[d]), 1e-6);
        }
    }
    const larmor_image_info info = described(in_folder("x.h5"));
    assert_string_equal(info.inside, "/dataset/image_0");
    assert_true(info.images == 1 && info.has_counters && info.meta.slice == 3 && info.meta.repetition == 6);
}

IN_FOLDER(numbers_that_are_not_finite_are_counted)
{
    OWNED(larmor_array) *x = numbers();
    const float nan = NAN;
    assert_ok(write_image(in_folder("x.npy"), 0, x, &meta));
    FILE *f = fopen(in_folder("x.npy"), "r+");
    assert_true(f && !fseek(f, -(long)(18 * sizeof nan), SEEK_END) && fwrite(&nan, sizeof nan, 1, f) == 1);
    assert_int_equal(fclose(f), 0);
    const larmor_image_info info = described(in_folder("x.npy"));
    assert_true(info.nonfinite == 1 && info.has_range && info.lowest == 1 && info.highest == 12);
}

/* ---- notes ---- */

/* Images whose attributes are this text. */
static void put_attributes(const char *path, const char *text)
{
    const hsize_t one = 1;
    OWNED(larmor_array) *x = numbers();
    assert_ok(write_image(path, 1, x, &meta));
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT), type = H5Tcopy(H5T_C_S1),
                space = H5Screate_simple(1, &one, NULL);
    H5Ldelete(file, "/dataset/image_0/attributes", H5P_DEFAULT);
    if (text) {
        H5Tset_size(type, H5T_VARIABLE);
        const hid_t set =
            H5Dcreate2(file, "/dataset/image_0/attributes", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0);
        H5Dclose(set);
    }
    H5Sclose(space);
    H5Tclose(type);
    H5Fclose(file);
}

IN_FOLDER(notes_are_printable_lines_and_faults_end_them)
{
    char longest[9000] = "<ismrmrdMeta>";
    for (int i = 0; i < 64; i++)
        snprintf(longest + strlen(longest), sizeof longest - strlen(longest),
                 "<meta><name>%02d</name><value>%062d</value></meta>", i, i);
    static const struct {
        const char *text, *notes;
    } cases[] = {
        {"<ismrmrdMeta><meta><name>A</name><value>1 &lt; 2</value></meta><meta><name>B</name><value>x</value></meta>"
         "</ismrmrdMeta>",
         "A: 1 < 2\nB: x\n"},
        {"<ismrmrdMeta><meta><name>A</name><value>two\nlines\x01</value></meta><meta><name>B", ""},
        {"<ismrmrdMeta><meta><name>A</name><value>two\nlines</value></meta><meta><name>B", "A: two?lines\n"},
        {"<ismrmrdMeta><meta><value>nameless</value></meta><meta><name>B</name></meta></ismrmrdMeta>", "B: \n"},
        {"<!DOCTYPE a [<!ENTITY b \"c\">]><ismrmrdMeta><meta><name>A</name><value>&b;</value></meta></ismrmrdMeta>",
         ""},
        {"no XML", ""},
        {"", ""},
        {NULL, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_attributes(in_folder("x.h5"), cases[i].text);
        assert_string_equal(described(in_folder("x.h5")).notes, cases[i].notes);
    }
    put_attributes(in_folder("x.h5"), longest); /* of 64, without its end: as many as fit */
    assert_int_equal(strlen(described(in_folder("x.h5")).notes), 61 * (2 + 2 + 62 + 1));
}

IN_FOLDER(a_long_note_is_cut)
{
    char text[1200] = "<ismrmrdMeta><meta><name>command</name><value>";
    memset(text + strlen(text), 'x', 1000);
    strcat(text, "</value></meta></ismrmrdMeta>");
    put_attributes(in_folder("x.h5"), text);
    const larmor_image_info info = described(in_folder("x.h5"));
    assert_true(strlen(info.notes) > 100 && strlen(info.notes) < 300);
    assert_int_equal(info.notes[strlen(info.notes) - 1], '\n');
}

/* ---- what is no image ---- */

IN_FOLDER(what_is_no_image_is_refused)
{
    static const struct {
        const char *name, *bytes, *line;
        size_t size;
        larmor_status status;
    } files[] = {{"a.png", "not a picture", "not a PNG picture.", 13, LARMOR_ERR_FORMAT},
                 {"b.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDX\0\0\0\1\0\0\0\1\10\0\0\0\0\0\0\0\0", "not a PNG picture.",
                  33, LARMOR_ERR_FORMAT},
                 {"c.png", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\10\xff\0\0\0\0\0\0\0", "not a PNG picture.",
                  33, LARMOR_ERR_FORMAT},
                 {"d.npy", "RIFF and more than that", "not a NumPy file", 23, LARMOR_ERR_FORMAT},
                 {"e.h5", "RIFF", "not HDF5", 4, LARMOR_ERR_FORMAT},
                 {"f.tiff", "II", "the suffix names no format", 2, LARMOR_ERR_ARG}};
    larmor_image_info info;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        put_file(in_folder(files[i].name), files[i].bytes, files[i].size);
        assert_refused(larmor_image_describe(in_folder(files[i].name), dev, &info), files[i].status, files[i].line);
    }
    assert_refused(larmor_image_describe(in_folder("g.npy"), dev, &info), LARMOR_ERR_IO, "no such file");
}
