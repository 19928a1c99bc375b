/* What is written can be read back: .npy, .cfl and the rules that all formats share. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/io/files.h"

#include <locale.h>

static const larmor_dtype dtypes[] = {LARMOR_F32, LARMOR_F64, LARMOR_C64, LARMOR_C128, LARMOR_I64};

/* Same dtype, shape and bits. */
static void assert_same(const larmor_array *x, const larmor_array *y)
{
    assert_string_equal(larmor_dtype_name(larmor_array_dtype(x)), larmor_dtype_name(larmor_array_dtype(y)));
    assert_true(larmor_shape_equal(larmor_array_shape(x), larmor_array_shape(y)));
    HEAP void *a = host_of(x), *b = host_of(y);
    assert_memory_equal(a, b, larmor_array_bytes(x));
}

static void save(const char *path, const larmor_array *x)
{
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    assert_ok(larmor_array_save(out, x));
}

IN_FOLDER(npy_keeps_every_type_and_shape_bit_for_bit)
{
    const larmor_shape shapes[] = {LARMOR_SHAPE(5, 4), LARMOR_SHAPE(7), LARMOR_SHAPE(3, 4, 1, 2),
                                   LARMOR_SHAPE(2, 1, 2, 1, 2, 1, 2, 3)};
    for (size_t t = 0; t < 5; t++)
        for (size_t s = 0; s < 4; s++) {
            OWNED(larmor_array) *x = random_array(dtypes[t], shapes[s], 3), *y;
            save(in_folder("x.npy"), x);
            assert_ok(larmor_image_read(in_folder("x.npy"), dev, &y));
            assert_same(x, y);
        }
}

IN_FOLDER(npy_header_is_numpys_own)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(5, 4), 3);
    save(in_folder("x.npy"), x);
    size_t bytes;
    HEAP unsigned char *data = get_file(in_folder("x.npy"), &bytes);
    assert_int_equal(bytes, 128 + 20 * 8);
    assert_memory_equal(data, "\x93NUMPY\x01\x00\x76\x00", 10);
    assert_memory_equal(data + 10, "{'descr': '<c8', 'fortran_order': True, 'shape': (5, 4), }", 58);
    assert_int_equal(data[127], '\n');
}

/* What numpy.save writes of an array in C order, whose last axis is the fastest. */
static void put_c_order(const char *path, const char *descr, size_t element, larmor_shape shape, const void *values)
{
    const size_t bytes = (size_t)larmor_shape_count(shape) * element;
    HEAP char *file = malloc(128 + bytes);
    assert_non_null(file);
    memset(file, ' ', 128);
    memcpy(file, "\x93NUMPY\x01\x00\x76\x00", 10);
    int used = 10 + sprintf(file + 10, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
    for (int d = 0; d < shape.ndim; d++) used += sprintf(file + used, "%d, ", (int)shape.dim[d]);
    file[used + sprintf(file + used, "), }")] = ' ';
    file[127] = '\n';
    memcpy(file + 128, values, bytes);
    put_file(path, file, 128 + bytes);
}

/* The index in C order of element i of an array whose dim[0] is the fastest. */
static int64_t in_c_order(larmor_shape shape, int64_t i)
{
    int64_t index[LARMOR_MAX_DIMS], place = 0;
    for (int d = 0; d < shape.ndim; d++) {
        index[d] = i % shape.dim[d];
        i /= shape.dim[d];
    }
    for (int d = 0; d < shape.ndim; d++) place = place * shape.dim[d] + index[d];
    return place;
}

/* The bytes that numpy.save writes of 0, 1, -2 and so on, each type in both orders of bytes. */
IN_FOLDER(npy_of_numbers_of_all_sizes_and_in_both_orders_of_bytes_are_these_numbers)
{
    static const struct {
        const char *descr, *bytes;
        int size, part;
        larmor_dtype dtype;
        double value[4];
    } t[] = {
        {"b1", "\0\1\1\0", 1, 1, LARMOR_F32, {0, 1, 1, 0}},
        {"u1", "\0\1\xff\x80", 1, 1, LARMOR_F32, {0, 1, 255, 128}},
        {"i1", "\0\1\xff\x80", 1, 1, LARMOR_F32, {0, 1, -1, -128}},
        {"u2", "\0\0\1\2\xff\xff\0\x80", 2, 2, LARMOR_F32, {0, 513, 65535, 32768}},
        {"i2", "\0\0\1\2\xff\xff\0\x80", 2, 2, LARMOR_F32, {0, 513, -1, -32768}},
        {"f2", "\0\x3c\x01\0\xff\x7b\0\xc1", 2, 2, LARMOR_F32, {1, 0x1p-24, 65504, -2.5}},
        {"u4",
         "\1\0\0\0\1\0\0\1\xff\xff\xff\xff\0\0\0\x80",
         4,
         4,
         LARMOR_F64,
         {1, 16777217, 4294967295., 2147483648.}},
        {"i4", "\1\0\0\0\1\0\0\1\xff\xff\xff\xff\0\0\0\x80", 4, 4, LARMOR_F64, {1, 16777217, -1, -2147483648.}},
        {"u8",
         "\1\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\x1f\0\0\0\0\0\0\0\0\x80\0\xf8\xff\xff\xff\xff\xff\xff",
         8,
         8,
         LARMOR_F64,
         {1, 9007199254740991., 0x1p63, 0x1p64 - 2048}},
        {"f4", "\0\0\x80\x3f\0\0\0\xc0\0\0\x80\x3e\0\0\0\0", 4, 4, LARMOR_F32, {1, -2, .25, 0}},
        {"f8",
         "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0\1\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0",
         8,
         8,
         LARMOR_F64,
         {1, -2, 1 + 0x1p-52, 0}},
        {"c8", "\0\0\x80\x3f\0\0\0\xc0\0\0\x80\x3e\0\0\0\0", 8, 4, LARMOR_C64, {1, -2, .25, 0}},
        {"c16",
         "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0\1\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\0",
         16,
         8,
         LARMOR_C128,
         {1, -2, 1 + 0x1p-52, 0}},
    };
    for (size_t k = 0; k < sizeof t / sizeof *t; k++)
        for (int big = 0; big < 2; big++) {
            OWNED(larmor_array) *x = NULL, *wide = NULL;
            const int parts = 4 * t[k].part / t[k].size;
            char descr[8], bytes[32];
            snprintf(descr, sizeof descr, "%c%s", big ? '>' : "<|"[t[k].part == 1], t[k].descr);
            for (int i = 0; i < 4 * t[k].part; i++)
                bytes[i] = t[k].bytes[big ? i / t[k].part * t[k].part + t[k].part - 1 - i % t[k].part : i];
            put_c_order(in_folder("m.npy"), descr, (size_t)t[k].size, LARMOR_SHAPE(parts), bytes);
            assert_ok(larmor_image_read(in_folder("m.npy"), dev, &x));
            assert_int_equal(larmor_array_dtype(x), t[k].dtype);
            assert_int_equal(larmor_array_count(x), parts);
            assert_ok(larmor_array_convert(x, parts < 4 ? LARMOR_C128 : LARMOR_F64, &wide));
            HEAP double *own = host_of(wide);
            for (int i = 0; i < 4; i++) assert_true(own[i] == t[k].value[i]);
        }
}

/* 6 numbers in C order, and more than are converted at a time. */
IN_FOLDER(npy_of_small_numbers_has_the_order_of_its_elements)
{
    enum { MANY = 5001 };
    static const unsigned char value[] = {0, 1, 2, 3, 4, 255};
    OWNED(larmor_array) *x = NULL, *y = NULL;
    int16_t many[MANY];
    put_c_order(in_folder("m.npy"), "|u1", 1, LARMOR_SHAPE(2, 3), value);
    assert_ok(larmor_image_read(in_folder("m.npy"), dev, &x));
    assert_true(larmor_shape_equal(larmor_array_shape(x), LARMOR_SHAPE(2, 3)));
    float *own = host_of(x);
    for (int64_t i = 0; i < 6; i++) assert_true(own[i] == value[in_c_order(LARMOR_SHAPE(2, 3), i)]);
    free(own);
    for (int i = 0; i < MANY; i++) many[i] = (int16_t)(7 * i - 17000);
    put_c_order(in_folder("n.npy"), "<i2", 2, LARMOR_SHAPE(MANY), many);
    assert_ok(larmor_image_read(in_folder("n.npy"), dev, &y));
    own = host_of(y);
    for (int i = 0; i < MANY; i++) assert_true(own[i] == 7 * i - 17000);
    free(own);
}

IN_FOLDER(npy_of_numbers_that_double_precision_does_not_hold_is_refused)
{
    static const uint64_t value[][2] = {{1, (UINT64_C(1) << 53) + 1}, {1, UINT64_MAX}};
    for (int i = 0; i < 2; i++) {
        larmor_array *x;
        put_c_order(in_folder("m.npy"), "<u8", 8, LARMOR_SHAPE(2), value[i]);
        assert_refused(larmor_image_read(in_folder("m.npy"), dev, &x), LARMOR_ERR_FORMAT,
                       "m.npy: has a whole number that double precision does not hold.");
    }
}

/* numpy.array_equal of numpy.asfortranarray(x) and numpy.ascontiguousarray(x) is true, and so it is here. */
IN_FOLDER(npy_in_c_order_is_the_array_that_numpy_loads)
{
    static const char *const descr[] = {"<f4", "<f8", "<c8", "<c16", "<i8"};
    const larmor_shape shapes[] = {LARMOR_SHAPE(2, 3),       LARMOR_SHAPE(7),
                                   LARMOR_SHAPE(5, 5),       LARMOR_SHAPE(40, 19),
                                   LARMOR_SHAPE(3, 4, 5),    LARMOR_SHAPE(17, 2, 3, 33),
                                   LARMOR_SHAPE(1, 6, 1, 2), LARMOR_SHAPE(2, 3, 1, 4, 2, 1, 3, 2)};
    for (size_t t = 0; t < 5; t++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const size_t element = larmor_dtype_size(dtypes[t]);
            OWNED(larmor_array) *x = random_array(dtypes[t], shapes[s], 3), *y;
            HEAP char *fortran = host_of(x), *c = malloc(larmor_array_bytes(x));
            assert_non_null(c);
            for (int64_t i = 0; i < larmor_array_count(x); i++)
                memcpy(c + (size_t)in_c_order(shapes[s], i) * element, fortran + (size_t)i * element, element);
            put_c_order(in_folder("c.npy"), descr[t], element, shapes[s], c);
            assert_ok(larmor_image_read(in_folder("c.npy"), dev, &y));
            assert_same(x, y);
        }
}

/* numpy.save(path, numpy.float32(2)): no axes. */
IN_FOLDER(npy_of_a_number_is_an_array_of_one)
{
    const float two = 2;
    put_c_order(in_folder("c.npy"), "<f4", 4, LARMOR_SHAPE(1), &two);
    size_t bytes;
    HEAP char *file = (char *)get_file(in_folder("c.npy"), &bytes);
    char *one = strstr(file + 10, "(1, )");
    assert_non_null(one);
    memcpy(one, "()   ", 5);
    put_file(in_folder("c.npy"), file, bytes);
    OWN(larmor_array, *x, larmor_image_read(in_folder("c.npy"), dev, &x));
    assert_true(larmor_shape_equal(larmor_array_shape(x), LARMOR_SHAPE(1)));
}

IN_FOLDER(cfl_keeps_complex_arrays_bit_for_bit_with_inner_ones)
{
    larmor_array *x = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5, 1, 3), 9), *y;
    save(in_folder("maps.cfl"), x);
    assert_ok(larmor_image_read(in_folder("maps.cfl"), dev, &y));
    assert_same(x, y);
    larmor_array_free(y);
    size_t bytes;
    HEAP unsigned char *header = get_file(in_folder("maps.hdr"), &bytes);
    static const char expected[] = "# Dimensions\n6 5 1 3 1 1 1 1 1 1 1 1 1 1 1 1\n";
    assert_int_equal(bytes, sizeof expected - 1);
    assert_memory_equal(header, expected, bytes);
    LMR_FREE(x);
}

/* Maps of [nx, ny, coils] have a 1 for z before their coils, and are read back as they are written. */
IN_FOLDER(maps_of_a_slice_have_their_coils_in_the_dimension_of_bart)
{
    larmor_array *flat = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5, 3), 9), *x, *y;
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("maps.cfl"), 0, &made));
    assert_ok(larmor_maps_save(out, flat, NULL));
    larmor_output_free(out);
    size_t bytes;
    HEAP unsigned char *header = get_file(in_folder("maps.hdr"), &bytes);
    static const char expected[] = "# Dimensions\n6 5 1 3 1 1 1 1 1 1 1 1 1 1 1 1\n";
    assert_int_equal(bytes, sizeof expected - 1);
    assert_memory_equal(header, expected, bytes);
    assert_ok(larmor_image_read(in_folder("maps.cfl"), dev, &y));
    assert_ok(larmor_array_reshape(flat, LARMOR_SHAPE(6, 5, 1, 3), &x));
    assert_same(x, y);
    LMR_FREE(y, x);
    assert_ok(larmor_output_open(in_folder("maps.npy"), 0, &out));
    assert_ok(larmor_maps_save(out, flat, NULL));
    larmor_output_free(out);
    assert_ok(larmor_image_read(in_folder("maps.npy"), dev, &y));
    assert_same(flat, y);
    larmor_array_free(y);
    assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(6, 5), &x));
    assert_ok(larmor_output_open(in_folder("two.cfl"), 0, &out));
    assert_refused(larmor_maps_save(out, x, NULL), LARMOR_ERR_SHAPE,
                   "expected [nx, ny, coils], [nx, ny, nz, coils] or [nx, ny, nz, coils, sets]");
    larmor_output_free(out);
    LMR_FREE(x, flat);
}

IN_FOLDER(maps_are_an_image_of_each_coil_in_hdf5)
{
    static const larmor_shape shapes[] = {{3, {6, 5, 3}}, {4, {6, 5, 4, 3}}};
    const larmor_image_meta meta = {
        .fov_mm = {30, 20, 10}, .read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}};
    for (int i = 0; i < 2; i++) {
        larmor_array *maps = random_array(LARMOR_C64, shapes[i], 9), *read;
        larmor_image_meta got;
        larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("maps.h5"), 1, &made));
        assert_ok(larmor_maps_save(out, maps, &meta));
        larmor_output_free(out);
        assert_ok(larmor_image_read(in_folder("maps.h5"), dev, &read));
        assert_same(maps, read);
        assert_ok(larmor_image_read_meta(in_folder("maps.h5"), &got));
        for (int d = 0; d < 3; d++) assert_true(got.fov_mm[d] == meta.fov_mm[d]);
        larmor_array_free(read);
        assert_ok(larmor_output_open(in_folder("maps.png"), 1, &out));
        assert_ok(larmor_maps_save(out, maps, NULL)); /* tests/io/test_png.c looks at it */
        larmor_output_free(out);
        larmor_array_free(maps);
    }
}

IN_FOLDER(trailing_ones_are_dropped)
{
    larmor_array *x = random_array(LARMOR_C64, LARMOR_SHAPE(6, 1, 1, 1), 9), *y;
    static const char *const names[] = {"x.cfl", "x.npy"};
    for (int i = 0; i < 2; i++) {
        save(in_folder(names[i]), x);
        assert_ok(larmor_image_read(in_folder(names[i]), dev, &y));
        assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(6, 1)));
        larmor_array_free(y);
    }
    larmor_array_free(x);
}

/* Three images that differ in one counter, written and read back: stacked last, whatever the format. */
IN_FOLDER(several_images_are_stacked_last)
{
    static const char *const names[] = {"x.cfl", "x.npy", "x.h5"};
    OWNED(larmor_array) *all = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5, 3), 4);
    for (int by_slice = 0; by_slice < 2; by_slice++)
        for (int f = 0; f < 3; f++) {
            larmor_image images[3];
            larmor_array *view[3], *y;
            for (int i = 0; i < 3; i++) {
                OWN(larmor_array, *one, larmor_array_slice(all, i, 1, &one));
                assert_ok(larmor_array_reshape(one, LARMOR_SHAPE(6, 5), &view[i]));
                images[i] = (larmor_image){.data = view[i]};
                if (by_slice)
                    images[i].meta.slice = i;
                else
                    images[i].meta.repetition = i;
            }
            larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder(names[f]), 1, &made));
            assert_ok(larmor_image_write(out, images, 3, NULL));
            larmor_output_free(out);
            assert_ok(larmor_image_read(in_folder(names[f]), dev, &y));
            HEAP void *a = host_of(all), *b = host_of(y);
            assert_int_equal(larmor_array_bytes(y), larmor_array_bytes(all));
            assert_memory_equal(a, b, larmor_array_bytes(all));
            if (f) assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(6, 5, 3)));
            larmor_array_free(y);
            if (!f) {
                size_t bytes;
                HEAP unsigned char *header = get_file(in_folder("x.hdr"), &bytes);
                header[bytes] = 0;
                assert_non_null(strstr((char *)header, by_slice ? "6 5 1 1 1 1 1 1 1 1 1 1 1 3 1 1"
                                                                : "6 5 1 1 1 1 1 1 1 1 3 1 1 1 1 1"));
            }
            for (int i = 0; i < 3; i++) larmor_array_free(view[i]);
        }
}

IN_FOLDER(magnitude_is_written_if_asked)
{
    static const char *const names[] = {"x.cfl", "x.npy", "x.h5"};
    larmor_array *x = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5), 4), *y;
    HEAP float *v = host_of(x);
    for (int f = 0; f < 3; f++) {
        larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder(names[f]), 0, &made));
        assert_ok(larmor_image_write(out, &(larmor_image){.data = x}, 1, &(larmor_write_opts){.magnitude = 1}));
        larmor_output_free(out);
        assert_ok(larmor_image_read(in_folder(names[f]), dev, &y));
        const int step = larmor_array_dtype(y) == LARMOR_C64 ? 2 : 1;
        HEAP float *m = host_of(y);
        for (int i = 0; i < 30; i++) assert_at_most(fabs(m[step * i] - hypot(v[2 * i], v[2 * i + 1])), 1e-7);
        for (int i = 0; i < 30 && step == 2; i++) assert_true(m[2 * i + 1] == 0);
        larmor_array_free(y);
    }
    larmor_array_free(x);
}

/* ---- every format of the table ---- */

/* "image" and the suffix; valid until the next call. */
static const char *path_of(larmor_format_info info)
{
    static char name[40];
    snprintf(name, sizeof name, "%s%s", info.is_folder ? "folder" : "image", info.suffix);
    return in_folder(name);
}

/* DICOM needs a plugin, and GIF a library, that are not everywhere. */
static int has_no_plugin(larmor_format_info info)
{
    larmor_output *out;
    const int may_lack = !strcmp(info.name, "DICOM") || !strcmp(info.name, "GIF");
    const larmor_status st = may_lack ? larmor_output_open(path_of(info), 0, &out) : LARMOR_OK;
    if (may_lack && !st) larmor_output_free(out);
    return st == LARMOR_ERR_UNSUPPORTED;
}

IN_FOLDER(every_format_writes_images_and_reads_what_it_wrote)
{
    larmor_array *x = random_array(LARMOR_F32, LARMOR_SHAPE(6, 5), 4), *y;
    HEAP float *v = host_of(x);
    larmor_format_info info;
    int count = 0, files = 0;
    for (; (info = larmor_format_entry(count)).suffix; count++) {
        larmor_output *out;
        if (has_no_plugin(info)) continue;
        assert_true(info.suffix[0] == '.' && strlen(info.name) > 2);
        assert_string_equal(larmor_format_of(path_of(info)).suffix, info.suffix);
        assert_ok(larmor_output_open(path_of(info), 0, &out));
        assert_ok(larmor_image_write(out, &(larmor_image){.data = x}, 1, NULL));
        larmor_output_free(out);
        assert_true(files_in_folder() > files); /* the file, and for some a header beside it; nothing temporary */
        files = files_in_folder();
        if (!info.reads) {
            assert_refused(larmor_image_read(path_of(info), dev, &y), LARMOR_ERR_ARG, "no format that can be read");
            continue;
        }
        assert_ok(larmor_image_read(path_of(info), dev, &y));
        assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(6, 5)));
        const int step = larmor_array_dtype(y) == LARMOR_C64 ? 2 : 1;
        HEAP float *got = host_of(y);
        for (int i = 0; i < 30; i++) assert_true(got[step * i] == v[i]);
        larmor_array_free(y);
    }
    assert_true(count >= 6);
    assert_null(larmor_format_entry(-1).suffix);
    assert_null(larmor_format_of("image").suffix);
    assert_null(larmor_format_of(".npy").suffix);
    larmor_array_free(x);
}

IN_FOLDER(every_format_saves_arrays_bit_for_bit_or_refuses_them)
{
    larmor_array *x = random_array(LARMOR_C64, LARMOR_SHAPE(3, 4, 1, 2), 4), *y;
    larmor_format_info info;
    for (int i = 0; (info = larmor_format_entry(i)).suffix; i++) {
        if (has_no_plugin(info)) continue;
        OWN(larmor_output, *out, larmor_output_open(path_of(info), 0, &out));
        if (info.saves) {
            assert_ok(larmor_array_save(out, x));
            assert_ok(larmor_image_read(path_of(info), dev, &y));
            assert_same(x, y);
            larmor_array_free(y);
        } else {
            assert_refused(larmor_array_save(out, x), LARMOR_ERR_ARG, "use one of .cfl, .npy");
        }
    }
    larmor_array_free(x);
}

IN_FOLDER(images_that_do_not_fit_together_are_refused)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(4, 4), 1);
    OWNED(larmor_array) *y = random_array(LARMOR_C64, LARMOR_SHAPE(4, 5), 1);
    OWNED(larmor_array) *z = random_array(LARMOR_F32, LARMOR_SHAPE(4, 4), 1);
    OWNED(larmor_array) *line = random_array(LARMOR_F32, LARMOR_SHAPE(4), 1);
    larmor_output *out = MADE(larmor_output, larmor_output_open(in_folder("x.h5"), 0, &made));
    const larmor_image shapes[2] = {{.data = x}, {.data = y}}, types[2] = {{.data = x}, {.data = z}};
    const larmor_image one[1] = {{.data = line}};
    assert_refused(larmor_image_write(out, shapes, 2, NULL), LARMOR_ERR_SHAPE, "image 2 is c64 [4, 5] on");
    assert_refused(larmor_image_write(out, types, 2, NULL), LARMOR_ERR_SHAPE, "image 2 is f32 [4, 4] on");
    assert_refused(larmor_image_write(out, one, 1, NULL), LARMOR_ERR_SHAPE, "expected [nx, ny] or [nx, ny, nz]");
    assert_refused(larmor_image_write(out, one, 0, NULL), LARMOR_ERR_ARG, "no image to write");
    assert_refused(larmor_array_save(out, x), LARMOR_ERR_ARG,
                   "arrays cannot be written to .h5 files; use one of .cfl, .npy");
    assert_refused(larmor_image_write(out, types, 1, &(larmor_write_opts){.notes = {.count = 1}}), LARMOR_ERR_ARG,
                   "keys or values");
    larmor_output_free(out);
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(formats_without_geometry_have_unit_voxels)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5, 4), 9);
    static const char *const names[] = {"x.cfl", "x.npy"};
    for (int i = 0; i < 2; i++) {
        larmor_image_meta meta;
        save(in_folder(names[i]), x);
        assert_ok(larmor_image_read_meta(in_folder(names[i]), &meta));
        assert_true(meta.fov_mm[0] == 6 && meta.fov_mm[1] == 5 && meta.fov_mm[2] == 4);
        assert_true(meta.read_dir[0] == 1 && meta.phase_dir[1] == 1 && meta.slice_dir[2] == 1);
    }
}
