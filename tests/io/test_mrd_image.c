#define _GNU_SOURCE /* memmem */
/* ISMRMRD images: read back by the format's reference library and by larmor. SPDX-License-Identifier: Apache-2.0 */
#include <ismrmrd/dataset.h>
#include <ismrmrd/ismrmrd.h>

#include "tests/io/files.h"

#include <hdf5.h>
#include <locale.h>

static const larmor_image_meta meta = {.fov_mm = {220, 110.5, 40},
                                       .position_mm = {1.5, -20.25, 300},
                                       .read_dir = {.6, .8, 0},
                                       .phase_dir = {-.48, .36, .8},
                                       .slice_dir = {.64, -.48, .6},
                                       .table_mm = {0, 0, -1760},
                                       .slice = 3,
                                       .contrast = 4,
                                       .phase = 5,
                                       .repetition = 6,
                                       .set = 7,
                                       .average = 8,
                                       .measurement_uid = 4000000001u,
                                       .time_stamp = 123456789,
                                       .physiology_stamp = {11, 22, 33}};

/* The reference library opens files for writing, so it gets a copy. */
static void open_copy(const char *path, ISMRMRD_Dataset *dataset)
{
    size_t bytes;
    HEAP unsigned char *data = get_file(path, &bytes);
    const char *copy = in_folder("copy.h5");
    put_file(copy, data, bytes);
    assert_int_equal(ismrmrd_init_dataset(dataset, copy, "dataset"), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_open_dataset(dataset, false), ISMRMRD_NOERROR);
}

static void assert_three(const void *packed, const double *expected)
{
    float got[3];
    memcpy(got, packed, sizeof got);
    for (int k = 0; k < 3; k++) assert_true(got[k] == (float)expected[k]);
}

static void write_two(const char *path, const larmor_array *const x[2], const larmor_write_opts *opts)
{
    larmor_image images[2] = {{.data = x[0], .meta = meta}, {.data = x[1], .meta = meta}};
    images[1].meta.repetition = 7;
    OWN(larmor_output, *out, larmor_output_open(path, 1, &out));
    assert_ok(larmor_image_write(out, images, 2, opts));
}

IN_FOLDER(reference_library_reads_every_header_field_and_value)
{
    larmor_array *x[2];
    for (int i = 0; i < 2; i++) x[i] = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5, 4), 7 + (uint64_t)i);
    const char *const keys[] = {"DataRole", "a<b>&\"c\""}, *const values[] = {"Image", "1 < 2 & \x01 \"quoted\""};
    const char *const own_key[] = {"Iterations"}, *const own_value[2][1] = {{"7"}, {"12"}};
    const larmor_notes each[2] = {{own_key, own_value[0], 1}, {own_key, own_value[1], 1}};
    const larmor_write_opts opts = {.header = "<ismrmrdHeader/>", .notes = {keys, values, 2}, .each = each};
    write_two(in_folder("x.h5"), (const larmor_array *const *)x, &opts);

    ISMRMRD_Dataset dataset;
    open_copy(in_folder("x.h5"), &dataset);
    assert_int_equal(ismrmrd_get_number_of_images(&dataset, "image_0"), 2);
    HEAP char *header = ismrmrd_read_header(&dataset);
    assert_string_equal(header, "<ismrmrdHeader/>");
    for (uint32_t i = 0; i < 2; i++) {
        ISMRMRD_Image image;
        ismrmrd_init_image(&image);
        assert_int_equal(ismrmrd_read_image(&dataset, "image_0", i, &image), ISMRMRD_NOERROR);
        const ISMRMRD_ImageHeader *h = &image.head;
        assert_int_equal(h->version, 1);
        assert_int_equal(h->data_type, ISMRMRD_CXFLOAT);
        assert_int_equal(h->flags, 0);
        assert_int_equal(h->measurement_uid, 4000000001u);
        assert_int_equal(h->matrix_size[0], 6);
        assert_int_equal(h->matrix_size[1], 5);
        assert_int_equal(h->matrix_size[2], 4);
        assert_int_equal(h->channels, 1);
        assert_three(h->field_of_view, meta.fov_mm);
        assert_three(h->position, meta.position_mm);
        assert_three(h->read_dir, meta.read_dir);
        assert_three(h->phase_dir, meta.phase_dir);
        assert_three(h->slice_dir, meta.slice_dir);
        assert_three(h->patient_table_position, meta.table_mm);
        assert_int_equal(h->slice, 3);
        assert_int_equal(h->contrast, 4);
        assert_int_equal(h->phase, 5);
        assert_int_equal(h->repetition, 6 + i);
        assert_int_equal(h->set, 7);
        assert_int_equal(h->average, 8);
        assert_int_equal(h->acquisition_time_stamp, 123456789);
        assert_int_equal(h->physiology_time_stamp[0], 11);
        assert_int_equal(h->physiology_time_stamp[2], 33);
        assert_int_equal(h->image_type, ISMRMRD_IMTYPE_COMPLEX);
        assert_int_equal(h->image_index, i + 1);
        assert_int_equal(h->image_series_index, 0);
        assert_int_equal(h->attribute_string_len, strlen(image.attribute_string));
        assert_non_null(strstr(image.attribute_string, "<meta><name>DataRole</name><value>Image</value></meta>"));
        assert_non_null(strstr(image.attribute_string, "<name>a&lt;b&gt;&amp;&quot;c&quot;</name>"
                                                       "<value>1 &lt; 2 &amp; ? &quot;quoted&quot;</value>"));
        assert_non_null(strstr(image.attribute_string, i ? "<name>Iterations</name><value>12</value>"
                                                         : "<name>Iterations</name><value>7</value>"));
        HEAP void *v = host_of(x[i]);
        assert_memory_equal(image.data, v, larmor_array_bytes(x[i]));
        ismrmrd_cleanup_image(&image);
    }
    assert_int_equal(ismrmrd_close_dataset(&dataset), ISMRMRD_NOERROR);
    LMR_FREE(x[0], x[1]);
}

IN_FOLDER(magnitude_and_real_images_are_marked_as_such)
{
    OWNED(larmor_array) *z = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5), 7),
                        *r = random_array(LARMOR_F64, LARMOR_SHAPE(6, 5), 7);
    for (int magnitude = 0; magnitude < 2; magnitude++) {
        const larmor_array *x[2] = {magnitude ? z : r, magnitude ? z : r};
        write_two(in_folder("x.h5"), x, &(larmor_write_opts){.magnitude = magnitude});
        ISMRMRD_Dataset dataset;
        open_copy(in_folder("x.h5"), &dataset);
        ISMRMRD_Image image;
        ismrmrd_init_image(&image);
        assert_int_equal(ismrmrd_read_image(&dataset, "image_0", 0, &image), ISMRMRD_NOERROR);
        assert_int_equal(image.head.data_type, ISMRMRD_FLOAT);
        assert_int_equal(image.head.image_type, magnitude ? ISMRMRD_IMTYPE_MAGNITUDE : ISMRMRD_IMTYPE_REAL);
        HEAP float *zv = host_of(z);
        HEAP double *rv = host_of(r);
        for (int i = 0; i < 30; i++) {
            const double expected = magnitude ? hypot(zv[2 * i], zv[2 * i + 1]) : (double)(float)rv[i];
            assert_at_most(fabs(((const float *)image.data)[i] - expected), magnitude ? 1e-7 : 0);
        }
        ismrmrd_cleanup_image(&image);
        ismrmrd_close_dataset(&dataset);
    }
}

IN_FOLDER(larmor_reads_its_own_images_bit_for_bit)
{
    larmor_array *x[2], *y;
    for (int i = 0; i < 2; i++) x[i] = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5, 4), 7 + (uint64_t)i);
    write_two(in_folder("x.h5"), (const larmor_array *const *)x, NULL);
    assert_ok(larmor_image_read(in_folder("x.h5"), dev, &y));
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(6, 5, 4, 2)));
    HEAP char *all = host_of(y);
    for (int i = 0; i < 2; i++) {
        HEAP void *v = host_of(x[i]);
        assert_memory_equal(all + (size_t)i * larmor_array_bytes(x[i]), v, larmor_array_bytes(x[i]));
    }
    larmor_array_free(y);

    assert_ok(write_image(in_folder("one.h5"), 0, x[0], &meta));
    assert_ok(larmor_image_read(in_folder("one.h5"), dev, &y));
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(6, 5, 4)));
    LMR_FREE(y, x[0], x[1]);

    larmor_image_meta m;
    assert_ok(larmor_image_read_meta(in_folder("x.h5"), &m));
    assert_at_most(fabs(m.fov_mm[1] - 110.5), 0);
    assert_at_most(fabs(m.position_mm[1] + 20.25), 0);
    assert_at_most(fabs(m.table_mm[2] + 1760), 0);
    assert_int_equal(m.repetition, 6);
    assert_int_equal(m.measurement_uid, 4000000001u);
    assert_int_equal(m.physiology_stamp[1], 22);
}

/* What other programs write: another group, several series, real or integer values, more channels. */
static void append_image(ISMRMRD_Dataset *dataset, const char *series, int type, int channels, float first)
{
    ISMRMRD_Image image;
    ismrmrd_init_image(&image);
    image.head.data_type = (uint16_t)type;
    image.head.channels = (uint16_t)channels;
    image.head.matrix_size[0] = 4;
    image.head.matrix_size[1] = 3;
    image.head.matrix_size[2] = 1;
    ismrmrd_make_consistent_image(&image);
    for (int i = 0; i < 12 * channels; i++) {
        if (type == ISMRMRD_FLOAT) ((float *)image.data)[i] = first + (float)i;
        if (type == ISMRMRD_USHORT) ((uint16_t *)image.data)[i] = (uint16_t)(first + (float)i);
        if (type == ISMRMRD_CXDOUBLE) {
            ((double *)image.data)[2 * i] = i;
            ((double *)image.data)[2 * i + 1] = -i;
        }
    }
    assert_int_equal(ismrmrd_append_image(dataset, series, &image), ISMRMRD_NOERROR);
    ismrmrd_cleanup_image(&image);
}

static void assert_read(const char *path, larmor_shape shape, float re, float im)
{
    OWN(larmor_array, *x, larmor_image_read(path, dev, &x));
    assert_int_equal(larmor_array_dtype(x), LARMOR_C64);
    assert_true(larmor_shape_equal(larmor_array_shape(x), shape));
    HEAP float *v = host_of(x);
    assert_true(v[2] == re && v[3] == im);
}

IN_FOLDER(files_of_the_reference_library_are_read)
{
    ISMRMRD_Dataset d;
    assert_int_equal(ismrmrd_init_dataset(&d, in_folder("other.h5"), "images"), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_open_dataset(&d, true), ISMRMRD_NOERROR);
    append_image(&d, "image_10", ISMRMRD_FLOAT, 1, 1000);
    append_image(&d, "image_2", ISMRMRD_FLOAT, 1, 200);
    append_image(&d, "image_2", ISMRMRD_FLOAT, 1, 300);
    append_image(&d, "short", ISMRMRD_USHORT, 2, 50);
    append_image(&d, "double", ISMRMRD_CXDOUBLE, 1, 0);
    assert_int_equal(ismrmrd_close_dataset(&d), ISMRMRD_NOERROR);
    assert_read(in_folder("other.h5:/images/image_10"), LARMOR_SHAPE(4, 3), 1001, 0);
    assert_read(in_folder("other.h5:/images/image_2/"), LARMOR_SHAPE(4, 3, 2), 201, 0);
    assert_read(in_folder("other.h5:/images/short"), LARMOR_SHAPE(4, 3, 2), 51, 0);
    assert_read(in_folder("other.h5:/images/double"), LARMOR_SHAPE(4, 3), 1, -1);
    assert_read(in_folder("other.h5:/images"), LARMOR_SHAPE(4, 3, 2), 51, 0); /* the shortest name comes first */
    assert_read(in_folder("other.h5"), LARMOR_SHAPE(4, 3, 2), 51, 0);
    larmor_array *x;
    assert_refused(larmor_image_read(in_folder("other.h5:/images/image_3"), dev, &x), LARMOR_ERR_FORMAT,
                   "other.h5: no images in /images/image_3.");

    assert_int_equal(ismrmrd_init_dataset(&d, in_folder("other.h5"), "more"), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_open_dataset(&d, true), ISMRMRD_NOERROR);
    append_image(&d, "image_0", ISMRMRD_FLOAT, 1, 0);
    ismrmrd_close_dataset(&d);
    assert_refused(larmor_image_read(in_folder("other.h5"), dev, &x), LARMOR_ERR_FORMAT,
                   "several groups hold images; name one, as in ");
    assert_int_equal(ismrmrd_init_dataset(&d, in_folder("other.h5"), "dataset"), ISMRMRD_NOERROR);
    assert_int_equal(ismrmrd_open_dataset(&d, true), ISMRMRD_NOERROR);
    append_image(&d, "image_0", ISMRMRD_FLOAT, 1, 70);
    ismrmrd_close_dataset(&d);
    assert_read(in_folder("other.h5"), LARMOR_SHAPE(4, 3), 71, 0);
}

/* The numbers 0, 1, ... as images of a type in the file, in chunks (or contiguous) and with all filters. */
static void write_numbers(hid_t type, const hsize_t *chunk, int filters)
{
    const hsize_t dim[5] = {2, 1, 3, 7, 8};
    float numbers[336];
    for (int i = 0; i < 336; i++) numbers[i] = (float)(i % 100);
    const hid_t f = H5Fcreate(in_folder("n.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(f, "/dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(f, "/dataset/image_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t space = H5Screate_simple(5, dim, NULL), none = H5Screate(H5S_NULL);
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk) H5Pset_chunk(plan, 5, chunk);
    if (filters) {
        H5Pset_shuffle(plan);
        H5Pset_deflate(plan, 6);
        H5Pset_fletcher32(plan);
    }
    const hid_t d = H5Dcreate2(f, "/dataset/image_0/data", type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    const hid_t h = H5Dcreate2(f, "/dataset/image_0/header", type, none, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(h >= 0 && H5Dwrite(d, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) >= 0);
    H5Dclose(d);
    H5Dclose(h);
    H5Pclose(plan);
    H5Sclose(space);
    H5Sclose(none);
    H5Fclose(f);
}

static void assert_numbers(void)
{
    OWN(larmor_array, *x, larmor_image_read(in_folder("n.h5"), dev, &x));
    assert_true(larmor_shape_equal(larmor_array_shape(x), LARMOR_SHAPE(8, 7, 3, 2)));
    HEAP float *v = host_of(x);
    for (int i = 0; i < 336; i++) assert_true(v[2 * i] == (float)(i % 100) && v[2 * i + 1] == 0);
}

IN_FOLDER(images_in_chunks_of_every_shape_are_read)
{
    static const hsize_t chunks[][5] = {{2, 1, 3, 7, 8}, {1, 1, 1, 7, 8}, {1, 1, 2, 3, 5}, {2, 1, 1, 1, 1}};
    write_numbers(H5T_NATIVE_FLOAT, NULL, 0);
    assert_numbers();
    for (int i = 0; i < 4; i++) {
        for (int filters = 0; filters < 2; filters++) {
            write_numbers(H5T_NATIVE_FLOAT, chunks[i], filters);
            assert_numbers();
        }
    }
}

IN_FOLDER(images_of_every_type_of_number_are_read)
{
    const hid_t types[] = {H5T_NATIVE_DOUBLE, H5T_NATIVE_INT8,   H5T_NATIVE_INT16,
                           H5T_NATIVE_INT32,  H5T_NATIVE_INT64,  H5T_NATIVE_UINT8,
                           H5T_NATIVE_UINT16, H5T_NATIVE_UINT32, H5T_NATIVE_UINT64};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        write_numbers(types[i], NULL, 0);
        assert_numbers();
    }
    larmor_array *x;
    write_numbers(H5T_IEEE_F32BE, NULL, 0);
    assert_refused(larmor_image_read(in_folder("n.h5"), dev, &x), LARMOR_ERR_FORMAT,
                   "/dataset/image_0/data holds numbers that are not read: integers, float or double,");
}

IN_FOLDER(reading_does_not_change_the_file)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5), 7), *y;
    assert_ok(write_image(in_folder("x.h5"), 0, x, NULL));
    assert_int_equal(chmod(in_folder("x.h5"), 0400), 0);
    struct stat before, after;
    size_t n, m;
    HEAP unsigned char *a = get_file(in_folder("x.h5"), &n);
    assert_int_equal(stat(in_folder("x.h5"), &before), 0);
    assert_ok(larmor_image_read(in_folder("x.h5"), dev, &y));
    assert_int_equal(stat(in_folder("x.h5"), &after), 0);
    HEAP unsigned char *b = get_file(in_folder("x.h5"), &m);
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}

IN_FOLDER(flipped_bit_in_the_image_is_found_by_the_checksum)
{
    larmor_array *x = random_array(LARMOR_C64, LARMOR_SHAPE(64, 64), 7), *y;
    assert_ok(write_image(in_folder("x.h5"), 0, x, NULL));
    size_t n;
    HEAP unsigned char *f = get_file(in_folder("x.h5"), &n);
    HEAP unsigned char *v = host_of(x);
    unsigned char *at = memmem(f, n, v, 1024);
    assert_non_null(at);
    at[512] ^= 1;
    put_file(in_folder("flip.h5"), f, n);
    assert_refused(larmor_image_read(in_folder("flip.h5"), dev, &y), LARMOR_ERR_FORMAT,
                   "damaged data (checksum wrong, element 0). Copy it again.");
    LMR_FREE(x);
}

IN_FOLDER(counters_that_do_not_fit_are_refused)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5), 7);
    larmor_image_meta m = meta;
    m.slice = 65536;
    assert_refused(write_image(in_folder("x.h5"), 0, x, &m), LARMOR_ERR_ARG, "image 1 has a counter of 65536");
    m.slice = -1;
    assert_refused(write_image(in_folder("x.h5"), 0, x, &m), LARMOR_ERR_ARG, "image 1 has a counter of -1");
    assert_int_equal(files_in_folder(), 0);
}

IN_FOLDER(no_hdf5_object_stays_open)
{
    larmor_array *x = random_array(LARMOR_C64, LARMOR_SHAPE(6, 5), 7), *y;
    larmor_image_meta m;
    H5open();
    const ssize_t before = H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
    for (int i = 0; i < 20; i++) {
        assert_ok(write_image(in_folder("x.h5"), 1, x, &meta));
        assert_ok(larmor_image_read(in_folder("x.h5"), dev, &y));
        assert_ok(larmor_image_read_meta(in_folder("x.h5"), &m));
        larmor_array_free(y);
        assert_refused(larmor_image_read(in_folder("x.h5:/nothing"), dev, &y), LARMOR_ERR_FORMAT, "no images");
    }
    assert_int_equal(H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL), before);
    larmor_array_free(x);
}
