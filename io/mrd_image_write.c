/* Writing ISMRMRD images: /dataset/image_0 with header, data {N, channels, z, y, x} and attributes, and the scan's
 * XML header. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/bytes.h"
#include "io/formats.h"
#include "io/h5_write.h"
#include "io/reader/mrd_types.h"

#define CHUNK_BYTES ((int64_t)16 << 20)

static larmor_status hdf5_failed(const larmor_output *out)
{
    return lmr_h5_failed(out->path, "compose the images");
}

static void add_notes(const larmor_notes *notes, lmr_bytes *xml)
{
    for (int i = 0; i < notes->count; i++) {
        lmr_bytes_print(xml, "  <meta><name>");
        lmr_bytes_xml(xml, notes->keys[i] ? notes->keys[i] : "");
        lmr_bytes_print(xml, "</name><value>");
        lmr_bytes_xml(xml, notes->values[i] ? notes->values[i] : "");
        lmr_bytes_print(xml, "</value></meta>\n");
    }
}

/* The notes of image i as <ismrmrdMeta>. */
static larmor_status make_attributes(const larmor_write_opts *opts, int i, lmr_bytes *xml)
{
    lmr_bytes_print(xml, "<?xml version=\"1.0\"?>\n<ismrmrdMeta>\n");
    add_notes(&opts->notes, xml);
    if (opts->each) add_notes(&opts->each[i], xml);
    lmr_bytes_print(xml, "</ismrmrdMeta>\n");
    return lmr_bytes_end(xml);
}

static larmor_status check_ranges(const larmor_output *out, const lmr_images *images)
{
    if (images->count > LMR_MRD_MAX_COUNTER)
        return LMR_FAIL(LARMOR_ERR_ARG, "%s: %d images, at most %d fit", out->path, images->count,
                        LMR_MRD_MAX_COUNTER);
    for (int d = 0; d < 3; d++)
        if (images->dim[d] > LMR_MRD_MAX_COUNTER)
            return LMR_FAIL(LARMOR_ERR_ARG, "%s: %" PRId64 " voxels along an axis, at most %d fit", out->path,
                            images->dim[d], LMR_MRD_MAX_COUNTER);
    for (int i = 0; i < images->count; i++) {
        const larmor_image_meta *m = &images->image[i].meta;
        const int counter[] = {m->average, m->slice, m->contrast, m->phase, m->repetition, m->set};
        for (size_t c = 0; c < sizeof counter / sizeof counter[0]; c++)
            if (counter[c] < 0 || counter[c] > LMR_MRD_MAX_COUNTER)
                return LMR_FAIL(LARMOR_ERR_ARG, "%s: image %d has a counter of %d; 0 to %d expected", out->path,
                                i + 1, counter[c], LMR_MRD_MAX_COUNTER);
    }
    return LARMOR_OK;
}

static lmr_mrd_image header_of(const lmr_images *images, int i, int is_complex, size_t attributes)
{
    const larmor_image_meta *m = &images->image[i].meta;
    lmr_mrd_image h = {.version = LMR_MRD_VERSION,
                       .data_type = is_complex ? LMR_MRD_COMPLEX_FLOAT : LMR_MRD_FLOAT,
                       .measurement_uid = m->measurement_uid,
                       .channels = 1,
                       .average = (uint16_t)m->average,
                       .slice = (uint16_t)m->slice,
                       .contrast = (uint16_t)m->contrast,
                       .phase = (uint16_t)m->phase,
                       .repetition = (uint16_t)m->repetition,
                       .set = (uint16_t)m->set,
                       .acquisition_time_stamp = m->time_stamp,
                       .image_index = (uint16_t)(i + 1),
                       .attribute_string_len = (uint32_t)attributes};
    h.image_type = images->opts->magnitude ? LMR_MRD_MAGNITUDE : LMR_MRD_REAL;
    if (is_complex) h.image_type = LMR_MRD_COMPLEX;
    for (int k = 0; k < 3; k++) h.matrix_size[k] = (uint16_t)images->dim[k];
    memcpy(h.physiology_time_stamp, m->physiology_stamp, sizeof h.physiology_time_stamp);
    lmr_mrd_set_floats(h.field_of_view, m->fov_mm);
    lmr_mrd_set_floats(h.position, m->position_mm);
    lmr_mrd_set_floats(h.read_dir, m->read_dir);
    lmr_mrd_set_floats(h.phase_dir, m->phase_dir);
    lmr_mrd_set_floats(h.slice_dir, m->slice_dir);
    lmr_mrd_set_floats(h.patient_table_position, m->table_mm);
    return h;
}

/* A dataset whose first dimension can grow, in chunks of about CHUNK_BYTES of at most one image. */
static hid_t create_dataset(hid_t file, const char *path, hid_t type, int rank, const hsize_t *dim, int checksums)
{
    hsize_t most[LMR_MRD_RANK], chunk[LMR_MRD_RANK];
    int64_t bytes = (int64_t)H5Tget_size(type);
    for (int d = rank - 1; d >= 0; d--) {
        const int64_t fit = bytes > 0 && bytes < CHUNK_BYTES ? CHUNK_BYTES / bytes : 1; /* 0 bytes: no type */
        most[d] = d ? dim[d] : H5S_UNLIMITED;
        chunk[d] = dim[d] < (hsize_t)fit ? dim[d] : (hsize_t)fit;
        if (rank == LMR_MRD_RANK && d == 0) chunk[d] = 1;
        bytes *= (int64_t)chunk[d];
    }
    const hid_t space = H5Screate_simple(rank, dim, most), plan = lmr_h5_dataset_plan();
    hid_t data = -1;
    if (space >= 0 && plan >= 0 && H5Pset_chunk(plan, rank, chunk) >= 0 &&
        (!checksums || H5Pset_fletcher32(plan) >= 0))
        data = H5Dcreate2(file, path, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    lmr_h5_close(plan);
    lmr_h5_close(space);
    return data;
}

static larmor_status write_data(const larmor_output *out, hid_t file, const lmr_images *images, int is_complex)
{
    const hsize_t dim[LMR_MRD_RANK] = {(hsize_t)images->count, 1, (hsize_t)images->dim[2], (hsize_t)images->dim[1],
                                       (hsize_t)images->dim[0]};
    const hsize_t one[LMR_MRD_RANK] = {1, 1, dim[2], dim[3], dim[4]};
    const hid_t type = is_complex ? lmr_mrd_complex_type() : H5Tcopy(H5T_NATIVE_FLOAT);
    const hid_t data = type < 0 ? -1 : create_dataset(file, LMR_MRD_SERIES "/data", type, LMR_MRD_RANK, dim, 1);
    const hid_t space = data < 0 ? -1 : H5Dget_space(data), memory = H5Screate_simple(LMR_MRD_RANK, one, NULL);
    float *voxels = malloc((size_t)images->voxels * (is_complex ? 2 : 1) * sizeof *voxels);
    larmor_status st = LARMOR_OK;
    if (!voxels)
        st = LMR_NO_MEMORY();
    else if (space < 0 || memory < 0)
        st = hdf5_failed(out);
    const lmr_as real = images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_REAL;
    const lmr_as as = is_complex ? LMR_AS_COMPLEX : real;
    for (int i = 0; i < images->count && !st; i++) {
        const hsize_t start[LMR_MRD_RANK] = {(hsize_t)i};
        st = lmr_values(images->image[i].data, as, voxels);
        if (!st) st = lmr_finite(out, is_complex ? LARMOR_C64 : LARMOR_F32, voxels, images->voxels);
        if (!st && (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) < 0 ||
                    H5Dwrite(data, type, memory, space, H5P_DEFAULT, voxels) < 0))
            st = hdf5_failed(out);
    }
    free(voxels);
    lmr_h5_close(memory);
    lmr_h5_close(space);
    lmr_h5_close(data);
    lmr_h5_close(type);
    return st;
}

/* Create a dataset of one record per image and write it. */
static larmor_status write_records(const larmor_output *out, hid_t file, const char *path, hid_t type, int count,
                                   const void *records)
{
    const hsize_t dim = (hsize_t)count;
    const hid_t data = type < 0 ? -1 : create_dataset(file, path, type, 1, &dim, 0);
    const int good = data >= 0 && H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, records) >= 0;
    lmr_h5_close(data);
    lmr_h5_close(type);
    return good ? LARMOR_OK : hdf5_failed(out);
}

static larmor_status write_headers(const larmor_output *out, hid_t file, const lmr_images *images, int is_complex)
{
    const int count = images->count;
    lmr_mrd_image *headers = calloc((size_t)count, sizeof *headers);
    const char **texts = calloc((size_t)count, sizeof *texts);
    lmr_bytes *attributes = calloc((size_t)count, sizeof *attributes);
    larmor_status st = headers && texts && attributes ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = 0; i < count && !st; i++) {
        st = make_attributes(images->opts, i, &attributes[i]);
        headers[i] = header_of(images, i, is_complex, attributes[i].size);
        texts[i] = (const char *)attributes[i].data;
    }
    if (!st) st = write_records(out, file, LMR_MRD_SERIES "/header", lmr_mrd_image_type(), count, headers);
    const hid_t string = H5Tcopy(H5T_C_S1);
    if (!st && (string < 0 || H5Tset_size(string, H5T_VARIABLE) < 0)) st = hdf5_failed(out);
    if (!st)
        st = write_records(out, file, LMR_MRD_SERIES "/attributes", string, count, texts);
    else
        lmr_h5_close(string);
    for (int i = 0; attributes && i < count; i++) lmr_bytes_free(&attributes[i]);
    free(attributes);
    free(headers);
    free(texts);
    return st;
}

static larmor_status write_all(const larmor_output *out, hid_t file, const lmr_images *images)
{
    const hid_t group = H5Gcreate2(file, "/dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t series = group < 0 ? -1 : H5Gcreate2(file, LMR_MRD_SERIES, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const int good = series >= 0;
    lmr_h5_close(series);
    lmr_h5_close(group);
    if (!good) return hdf5_failed(out);
    const int is_complex = images->is_complex && !images->opts->magnitude;
    larmor_status st = write_headers(out, file, images, is_complex);
    if (!st) st = write_data(out, file, images, is_complex);
    if (!st && images->opts->header) st = lmr_h5_write_string(file, "/dataset/xml", images->opts->header);
    return st;
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    LMR_TRY(check_ranges(out, images));
    const lmr_h5_print before = lmr_h5_quiet();
    hid_t file;
    larmor_status st = lmr_h5_create(out, &file);
    if (!st) st = write_all(out, file, images);
    if (!st) st = lmr_h5_save(file, out, LMR_MRD_SERIES "/data", 1);
    if (file >= 0) H5Fclose(file);
    lmr_h5_loud(before);
    return st;
}

static int element(larmor_dtype dtype, int magnitude)
{
    return (lmr_is_complex(dtype) && !magnitude ? 2 : 1) * (int)sizeof(float);
}

const lmr_format lmr_format_h5 = {
    .suffix = ".h5",
    .name = "ISMRMRD images",
    .element = element,
    .write = write_images,
    .can = LMR_CAN_READ | LMR_CAN_READ_META | LMR_CAN_DESCRIBE,
};
