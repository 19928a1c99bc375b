/* Files that are not what they claim to be: refused with a reason, never a crash. SPDX-License-Identifier: Apache-2.0
 */
#define OWN_MAIN
#include "tests/io/files.h"

#include <hdf5.h>
#include <inttypes.h>

static void refused(const char *path, larmor_status status, const char *text)
{
    larmor_image_meta meta;
    assert_none_made(larmor_array, larmor_image_read(path, dev, &made), status, text);
    larmor_image_read_meta(path, &meta); /* may find nothing wrong in a header, must end */
}

IN_FOLDER(missing_empty_and_irregular_files_are_named)
{
    static const char *const names[] = {"x.h5", "x.nii", "x.nii.gz", "x.cfl", "x.npy"};
    for (int i = 0; i < 5; i++) {
        refused(in_folder(names[i]), LARMOR_ERR_IO, ": no such file.");
        put_file(in_folder(names[i]), "", 0);
        refused(in_folder(names[i]), LARMOR_ERR_FORMAT, ": empty file.");
        remove(in_folder(names[i]));
        assert_int_equal(mkfifo(in_folder(names[i]), 0600), 0);
        refused(in_folder(names[i]), LARMOR_ERR_IO, ": not a regular file (device or pipe).");
        remove(in_folder(names[i]));
        assert_int_equal(mkdir(in_folder(names[i]), 0700), 0);
        refused(in_folder(names[i]), LARMOR_ERR_IO, ": is a directory, not a file.");
    }
    put_file(in_folder("x.tiff"), "II", 2);
    refused(in_folder("x.tiff"), LARMOR_ERR_ARG, "the suffix names no format that can be read");
    refused(NULL, LARMOR_ERR_ARG, "no path given");
}

/* ---- .cfl ---- */

static void put_cfl(const char *dims, size_t bytes)
{
    char text[512];
    const int length = snprintf(text, sizeof text, "# Dimensions\n%s\n", dims);
    put_file(in_folder("k.hdr"), text, (size_t)length);
    HEAP void *zeros = calloc(bytes + 1, 1);
    put_file(in_folder("k.cfl"), zeros, bytes);
}

IN_FOLDER(cfl_that_disagrees_with_its_header_is_refused)
{
    const char *path = in_folder("k.cfl");
    put_cfl("128 128 1 1", 100000);
    refused(path, LARMOR_ERR_FORMAT, "k.cfl: 100000 bytes, header says 131072.");
    put_cfl("128 -5 1", 1000);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: dimension 1 is \"-5\"; a number of 1 or more expected.");
    put_cfl("128 0", 1000);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: dimension 1 is \"0\";");
    put_cfl("1 2 3 4x", 1000);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: dimension 3 is \"4x\";");
    put_cfl("1 2.5", 1000);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: dimension 1 is \"2.5\";");
    put_cfl("99999999999999999999", 1000);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: dimension 0 is \"99999999999999999999\";");
    put_cfl("4294967296 4294967296 4294967296", 1000);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: the product of the dimensions passes 2^63.");
    put_cfl("1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", 8);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: more than 16 dimensions.");
    put_cfl("", 8);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: no dimensions.");
    put_cfl("2 2 2 2 2 2 2 2 2 1 1", 4096);
    refused(path, LARMOR_ERR_FORMAT, "k.cfl: has more than 8 dimensions larger than 1.");
    put_file(in_folder("k.hdr"), "128 128\n", 8);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: no line \"# Dimensions\".");
    HEAP char *large = calloc(70000, 1);
    put_file(in_folder("k.hdr"), large, 70000);
    refused(path, LARMOR_ERR_FORMAT, "k.hdr: larger than 65536 bytes");
    remove(in_folder("k.hdr"));
    refused(path, LARMOR_ERR_IO, "k.hdr: no such file.");
}

IN_FOLDER(cfl_whose_header_has_the_line_ends_of_windows_is_read)
{
    static const char header[] = "# Dimensions\r\n2 3 1\r\n";
    put_cfl("2 3 1", 2 * 3 * 8);
    put_file(in_folder("k.hdr"), header, sizeof header - 1);
    OWN(larmor_array, *a, larmor_image_read(in_folder("k.cfl"), dev, &a));
    assert_true(larmor_shape_equal(larmor_array_shape(a), LARMOR_SHAPE(2, 3)));
}

IN_FOLDER(cfl_with_distant_dimensions_is_squeezed_to_eight)
{
    put_cfl("2 1 1 3 1 1 1 1 1 1 4 1 1 5 1 1", 2 * 3 * 4 * 5 * 8);
    OWN(larmor_array, *x, larmor_image_read(in_folder("k.cfl"), dev, &x));
    assert_true(larmor_shape_equal(larmor_array_shape(x), LARMOR_SHAPE(2, 1, 3, 4, 5)));
}

/* ---- .npy ---- */

static void put_npy(const char *dict, size_t claimed, size_t bytes)
{
    unsigned char file[1024] = "\x93NUMPY\x01";
    file[7] = 0;
    file[8] = (unsigned char)(claimed & 255);
    file[9] = (unsigned char)(claimed >> 8);
    memcpy(file + 10, dict, strlen(dict));
    put_file(in_folder("x.npy"), file, 10 + strlen(dict) + bytes);
}

IN_FOLDER(npy_headers_that_lie_are_refused)
{
    static const struct {
        const char *dict, *text;
        size_t bytes;
    } bad[] = {
        {"{'descr': '<c8', 'fortran_order': True, 'shape': (3, 4), }\n", "95 bytes of data, header says 96.", 95},
        {"{'descr': '<c8', 'fortran_order': True, 'shape': (3, 4), }\n", "97 bytes of data, header says 96.", 97},
        {"{'descr': '<c8', 'fortran_order': True, 'shape': (-3, 4), }\n", "shape has a size that is not a pos", 96},
        {"{'descr': '<c8', 'fortran_order': True, 'shape': (0, 4), }\n", "shape has a size that is not a pos", 96},
        {"{'descr': '<c8', 'fortran_order': True, 'shape': (99999999999999999999,), }\n", "shape has a size", 96},
        {"{'descr': '<c8', 'fortran_order': True, 'shape': (4294967296, 4294967296), }\n", "passes 2^63", 96},
        {"{'descr': '<c8', 'fortran_order': True, 'shape': (3, 4\n", "shape is damaged", 96},
        {"{'descr': '<c8', 'fortran_order': True, 'shape': 3\n", "without a shape", 96},
        {"{'descr': '<c8', 'fortran_order': True}\n", "without a shape", 96},
        {"{'descr': '<c8', 'fortran_order': 1, 'shape': (3, 4), }\n", "without an order", 96},
        {"{'descr': '<f16', 'fortran_order': True, 'shape': (3, 4), }\n",
         "type '<f16'; bool, int8 to int64, uint8 to uint64, float16 to float64, complex64 or complex128 expected.",
         96},
        {"{'descr': '=f4', 'fortran_order': True, 'shape': (3, 4), }\n", "type '=f4'", 96},
        {"{'descr': '', 'fortran_order': True, 'shape': (3, 4), }\n", "type ''", 96},
        {"{'descr': '|O', 'fortran_order': True, 'shape': (3, 4), }\n", "type '|O'", 96},
        {"{'descr': [('a', '<f4')], 'fortran_order': True, 'shape': (3, 4), }\n", "without a simple type", 96},
        {"{'descr': '<c8\n", "type ''", 96},
        {"nonsense nonsense\n", "without a simple type", 96},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        put_npy(bad[i].dict, strlen(bad[i].dict), bad[i].bytes);
        refused(in_folder("x.npy"), LARMOR_ERR_FORMAT, bad[i].text);
    }
    put_npy(bad[0].dict, 60000, 96);
    refused(in_folder("x.npy"), LARMOR_ERR_FORMAT, "NumPy header longer than allowed");
    put_file(in_folder("x.npy"), "not a NumPy file at all", 23);
    refused(in_folder("x.npy"), LARMOR_ERR_FORMAT, "not a NumPy file.");
    put_file(in_folder("x.npy"), "\x93NUMPY\x01", 7);
    refused(in_folder("x.npy"), LARMOR_ERR_FORMAT, "too short for a NumPy file.");
    put_file(in_folder("x.npy"), "\x93NUMPY\x09\0\x10\0{'descr': '<f4'}", 26);
    refused(in_folder("x.npy"), LARMOR_ERR_FORMAT, "NumPy format version unknown.");
}

/* ---- NIfTI ---- */

static void refuse_nifti_with(const unsigned char *good, size_t bytes, size_t at, const void *value, size_t size,
                              const char *text)
{
    HEAP unsigned char *f = malloc(bytes);
    assert_non_null(f);
    memcpy(f, good, bytes);
    memcpy(f + at, value, size);
    put_file(in_folder("bad.nii"), f, bytes);
    refused(in_folder("bad.nii"), LARMOR_ERR_FORMAT, text);
}

IN_FOLDER(nifti_headers_that_lie_are_refused)
{
    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(8, 6, 5), 1);
    assert_ok(write_image(in_folder("x.nii"), 0, x, NULL));
    size_t n;
    HEAP unsigned char *good = get_file(in_folder("x.nii"), &n);
    refuse_nifti_with(good, n, 0, &(int32_t){540}, 4, "not a little-endian NIfTI-1 file");
    refuse_nifti_with(good, n, 344, "ni1", 4, "not a little-endian NIfTI-1 file");
    refuse_nifti_with(good, n, 40, &(int16_t){8}, 2, "8 dimensions; 1 to 7 expected.");
    refuse_nifti_with(good, n, 40, &(int16_t){-1}, 2, "-1 dimensions; 1 to 7 expected.");
    refuse_nifti_with(good, n, 44, &(int16_t){0}, 2, "size 2 is 0; 1 or more expected.");
    refuse_nifti_with(good, n, 44, &(int16_t){-6}, 2, "size 2 is -6; 1 or more expected.");
    const int16_t large[8] = {7, 32767, 32767, 32767, 32767, 32767, 32767, 32767}, much[4] = {3, 32767, 32767, 32767};
    refuse_nifti_with(good, n, 40, large, sizeof large, "size 5 is 32767; 1 or more expected.");
    refuse_nifti_with(good, n, 40, much, sizeof much, "claims 35181150961663 voxels but has 1312 bytes.");
    refuse_nifti_with(good, n, 42, &(int16_t){9}, 2, "file cut short or damaged.");
    refuse_nifti_with(good, n, 70, &(int16_t){1}, 2, "type 1 with 32 bits is not read.");
    refuse_nifti_with(good, n, 72, &(int16_t){8}, 2, "type 16 with 8 bits is not read.");
    refuse_nifti_with(good, n, 108, &(float){NAN}, 4, "data offset nan; 352 or more expected.");
    refuse_nifti_with(good, n, 108, &(float){-352}, 4, "data offset -352; 352 or more expected.");
    refuse_nifti_with(good, n, 108, &(float){1e20f}, 4, "data offset 1e+20;");
    refuse_nifti_with(good, n, 108, &(float){1e8f}, 4, "file cut short or damaged.");
    larmor_image_meta meta;
    memcpy(good + 280, &(float){INFINITY}, 4);
    put_file(in_folder("inf.nii"), good, n);
    assert_refused(larmor_image_read_meta(in_folder("inf.nii"), &meta), LARMOR_ERR_FORMAT, "geometry is not finite.");
}

/* ---- HDF5 ---- */

IN_FOLDER(h5_that_is_none_or_holds_no_images_is_refused)
{
    put_file(in_folder("x.h5"), "RIFF\x01", 5);
    refused(in_folder("x.h5"), LARMOR_ERR_FORMAT, "x.h5: not HDF5 (first bytes are \"RIFF\").");
    const hid_t f = H5Fcreate(in_folder("e.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(f, "dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(f);
    refused(in_folder("e.h5"), LARMOR_ERR_FORMAT, "e.h5: holds no images.");
}

/* A file with /dataset/image_0/{header,data}, data as asked for. */
static void put_series(hid_t type, int rank, const hsize_t *dim, hid_t plan)
{
    const hid_t f = H5Fcreate(in_folder("s.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(f, "/dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Gclose(H5Gcreate2(f, "/dataset/image_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    const hid_t space = H5Screate_simple(rank, dim, NULL), one = H5Screate(H5S_SCALAR);
    const hid_t data = H5Dcreate2(f, "/dataset/image_0/data", type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    const hid_t header =
        H5Dcreate2(f, "/dataset/image_0/header", H5T_NATIVE_INT, one, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(data >= 0 && header >= 0);
    H5Dclose(data);
    H5Dclose(header);
    H5Sclose(space);
    H5Sclose(one);
    H5Fclose(f);
}

IN_FOLDER(h5_data_of_another_kind_is_refused)
{
    const hsize_t five[5] = {1, 1, 1, 4, 4};
    const hid_t now = H5Pcreate(H5P_DATASET_CREATE), text = H5Tcopy(H5T_C_S1);
    H5Pset_alloc_time(now, H5D_ALLOC_TIME_EARLY);
    H5Tset_size(text, 8);
    put_series(H5T_NATIVE_FLOAT, 4, five, now);
    refused(in_folder("s.h5"), LARMOR_ERR_FORMAT, "/dataset/image_0/data has 4 dimensions, images have 5.");
    put_series(text, 5, five, now);
    refused(in_folder("s.h5"), LARMOR_ERR_FORMAT, "/dataset/image_0/data holds no numbers.");
    const hid_t pair = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(pair, "r", 0, H5T_NATIVE_FLOAT);
    H5Tinsert(pair, "i", 4, H5T_NATIVE_FLOAT);
    put_series(pair, 5, five, now);
    refused(in_folder("s.h5"), LARMOR_ERR_FORMAT, "holds records that are not {real, imag}.");
    put_series(H5T_NATIVE_FLOAT, 5, five, now);
    larmor_image_meta meta;
    assert_refused(larmor_image_read_meta(in_folder("s.h5"), &meta), LARMOR_ERR_FORMAT,
                   "is no list of image headers.");
    H5Tclose(pair);
    H5Tclose(text);
    H5Pclose(now);
}

IN_FOLDER(h5_that_claims_more_than_it_has_is_refused)
{
    const hsize_t huge[5] = {100000, 1, 1, 1000, 1000}, chunk[5] = {1, 1, 1, 1000, 1000};
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plan, 5, chunk);
    put_series(H5T_NATIVE_FLOAT, 5, huge, plan);
    refused(in_folder("s.h5"), LARMOR_ERR_FORMAT, "claims 100000000000 voxels but has ");
    H5Pset_deflate(plan, 1);
    put_series(H5T_NATIVE_FLOAT, 5, huge, plan);
    refused(in_folder("s.h5"), LARMOR_ERR_FORMAT, "claims 100000000000 voxels but has ");
    H5Pclose(plan);
}

/* The second of three chunks and more are missing; or all, where HDF5 has given the data no place yet. */
IN_FOLDER(h5_that_was_not_written_to_its_end_is_refused)
{
    const hsize_t dim[5] = {1, 1, 1, 6, 4}, chunk[5] = {1, 1, 1, 2, 4}, from[5] = {0};
    const float value[8] = {1};
    for (int packed = 0; packed < 2; packed++) {
        const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(plan, 5, chunk);
        if (packed) H5Pset_deflate(plan, 1);
        put_series(H5T_NATIVE_FLOAT, 5, dim, plan);
        const hid_t f = H5Fopen(in_folder("s.h5"), H5F_ACC_RDWR, H5P_DEFAULT),
                    data = H5Dopen2(f, "/dataset/image_0/data", H5P_DEFAULT), space = H5Dget_space(data),
                    part = H5Screate_simple(5, chunk, NULL);
        H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, chunk, NULL);
        assert_true(H5Dwrite(data, H5T_NATIVE_FLOAT, part, space, H5P_DEFAULT, value) >= 0);
        H5Sclose(space);
        H5Sclose(part);
        H5Dclose(data);
        H5Fclose(f);
        H5Pclose(plan);
        refused(in_folder("s.h5"), LARMOR_ERR_FORMAT,
                "/dataset/image_0/data was not written to its end: element 8 of 24 is missing.");
    }
    put_series(H5T_NATIVE_FLOAT, 5, dim, H5P_DEFAULT);
    refused(in_folder("s.h5"), LARMOR_ERR_FORMAT,
            "/dataset/image_0/data was not written to its end: element 0 of 24 is missing.");
}

/* Two images, a chunk each; the index says that the first chunk is longer and the second shorter than they are. */
IN_FOLDER(h5_chunks_shorter_than_their_images_are_refused)
{
    enum { SIDE = 64, LENGTH = SIDE * SIDE * 4 };
    enum { KEY = 64 }; /* bytes: a length, a mask, six offsets, an address */
    const hsize_t dim[5] = {2, 1, 1, SIDE, SIDE}, chunk[5] = {1, 1, 1, SIDE, SIDE};
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(plan, 5, chunk);
    H5Pset_alloc_time(plan, H5D_ALLOC_TIME_EARLY);
    put_series(H5T_NATIVE_FLOAT, 5, dim, plan);
    H5Pclose(plan);
    OWN(larmor_array, *x, larmor_image_read(in_folder("s.h5"), dev, &x));
    size_t bytes;
    HEAP unsigned char *file = get_file(in_folder("s.h5"), &bytes);
    unsigned char *length = file + first_chunk_length(file, bytes);
    static const int more[] = {LENGTH - 16, 1, -1, 16 - LENGTH};
    for (int i = 0; i < 4; i++) {
        const uint32_t usual = LENGTH, first = usual + (uint32_t)more[i], second = usual - (uint32_t)more[i];
        assert_true(i || (!memcmp(length, &usual, 4) && !memcmp(length + KEY, &usual, 4)));
        memcpy(length, &first, 4);
        memcpy(length + KEY, &second, 4);
        put_file(in_folder("s.h5"), file, bytes);
        refused(in_folder("s.h5"), LARMOR_ERR_FORMAT,
                more[i] > 0 ? "damaged HDF5 structure (chunk index of /dataset/image_0/data). Copy it again."
                            : "damaged data (wrong size, element 0 of /dataset/image_0/data). Copy it again.");
    }
}

IN_FOLDER(h5_data_outside_the_file_is_not_read)
{
    const hsize_t five[5] = {1, 1, 1, 2, 4};
    put_file(in_folder("secret"), "a secret of eight words of four!", 32);
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(plan, in_folder("secret"), 0, 32);
    put_series(H5T_NATIVE_FLOAT, 5, five, plan);
    refused(in_folder("s.h5"), LARMOR_ERR_FORMAT,
            "is stored in an external file; only data inside the file is read.");
    H5Pclose(plan);

    OWNED(larmor_array) *x = random_array(LARMOR_F32, LARMOR_SHAPE(4, 2), 1);
    assert_ok(write_image(in_folder("other.h5"), 0, x, NULL));
    const hid_t f = H5Fcreate(in_folder("links.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(f, "/dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_external("other.h5", "/dataset/image_0", f, "/dataset/image_0", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/dataset", f, "/loop", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(f, "/", f, "/dataset/up", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(f);
    refused(in_folder("links.h5"), LARMOR_ERR_FORMAT, "links.h5: holds no images.");
    refused(in_folder("links.h5:/dataset/image_0"), LARMOR_ERR_FORMAT, "no images in /dataset/image_0.");
}

/* ---- all formats ---- */

static const char *const formats[] = {"x.h5", "x.nii", "x.nii.gz", "x.cfl", "x.npy"};

IN_FOLDER(every_cut_of_a_file_is_refused)
{
    larmor_array *x = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1), *y;
    for (int f = 0; f < 5; f++) {
        const char *path = in_folder(formats[f]);
        assert_ok(write_image(path, 1, x, NULL));
        size_t n;
        HEAP unsigned char *good = get_file(path, &n);
        for (size_t cut = 1; cut < n; cut += 1 + n / 41) {
            put_file(path, good, cut);
            assert_int_equal(larmor_image_read(path, dev, &y), LARMOR_ERR_FORMAT);
            assert_null(y);
        }
    }
    larmor_array_free(x);
}

/* One random byte of the header changed: read or refused, but never more than that. */
IN_FOLDER(changed_bytes_in_headers_do_no_harm)
{
    OWNED(larmor_array) *x = random_array(LARMOR_C64, LARMOR_SHAPE(8, 6, 5), 1);
    uint64_t seed = 77;
    static const char *const header_of[] = {"x.nii", "x.nii.gz", "x.hdr", "x.npy"};
    for (int f = 0; f < 4; f++) {
        const char *written = in_folder(formats[f + 1]), *header = in_folder(header_of[f]);
        assert_ok(write_image(written, 1, x, NULL));
        size_t n;
        HEAP unsigned char *good = get_file(header, &n);
        for (int i = 0; i < 100; i++) {
            HEAP unsigned char *bad = malloc(n);
            assert_non_null(bad);
            memcpy(bad, good, n);
            const size_t at = (size_t)((1 + test_random(&seed)) / 2 * (double)(n < 352 ? n : 352));
            bad[at] = (unsigned char)(128 + 127 * test_random(&seed));
            put_file(header, bad, n);
            OWNED(larmor_array) *y;
            larmor_image_meta meta;
            const larmor_status st = larmor_image_read(written, dev, &y);
            assert_true(st ? !y : y != NULL);
            larmor_image_read_meta(written, &meta);
        }
    }
}

int main(void)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return run_on_device();
}
