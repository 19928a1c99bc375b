/* Reading ISMRMRD images: finding them in a file, strict checks, geometry of the first. SPDX-License-Identifier:
 * Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/formats.h"
#include "io/h5.h"
#include "io/mrd_types.h"

#define SERIES "/dataset/image_0"
#define RANK 5

/* ---- finding the images of a file ---- */

typedef struct search {
    hid_t file;
    const char *group; /* being listed */
    int depth;         /* 1: look into the groups of the root, too */
    int series, groups;
    char path[256], group_found[256]; /* the first series in natural order */
} search;

static int is_series(hid_t file, const char *path)
{
    char inside[512];
    if (!lmr_h5_has(file, path, H5O_TYPE_GROUP)) return 0;
    snprintf(inside, sizeof inside, "%s/data", path);
    if (!lmr_h5_has(file, inside, H5O_TYPE_DATASET)) return 0;
    snprintf(inside, sizeof inside, "%s/header", path);
    return lmr_h5_has(file, inside, H5O_TYPE_DATASET);
}

/* image_2 comes before image_10. */
static int before(const char *a, const char *b)
{
    const size_t m = strlen(a), n = strlen(b);
    return m != n ? m < n : strcmp(a, b) < 0;
}

static herr_t visit(hid_t group, const char *name, const H5L_info_t *info, void *user)
{
    (void)group;
    search *s = user;
    char path[256];
    if (info->type != H5L_TYPE_HARD || snprintf(path, sizeof path, "%s/%s", s->group, name) >= (int)sizeof path ||
        !lmr_h5_has(s->file, path, H5O_TYPE_GROUP))
        return 0;
    if (is_series(s->file, path)) {
        if (!s->series || before(path, s->path)) snprintf(s->path, sizeof s->path, "%s", path);
        s->series++;
    } else if (s->depth) {
        search inner = {.file = s->file, .group = path};
        if (H5Literate_by_name(s->file, path, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, &inner, H5P_DEFAULT) >= 0 &&
            inner.series) {
            if (!s->groups) snprintf(s->group_found, sizeof s->group_found, "%s", inner.path);
            s->groups++;
        }
    }
    return 0;
}

static int list(hid_t file, const char *group, int depth, search *found)
{
    *found = (search){.file = file, .group = strcmp(group, "/") ? group : "", .depth = depth};
    return lmr_h5_has(file, group, H5O_TYPE_GROUP) &&
           H5Literate_by_name(file, group, H5_INDEX_NAME, H5_ITER_INC, NULL, visit, found, H5P_DEFAULT) >= 0;
}

/* The series to read: the one that was asked for, else /dataset/image_0, the first of /dataset, or that of the only
 * other group with images. */
static larmor_status choose(const lmr_source *source, hid_t file, char path[256])
{
    search found;
    if (source->inside) {
        snprintf(path, 256, "%s", source->inside);
        size_t length = strlen(path);
        while (length > 1 && path[length - 1] == '/') path[--length] = 0;
        if (is_series(file, path)) return LARMOR_OK;
        if (list(file, path, 0, &found) && found.series) {
            snprintf(path, 256, "%s", found.path);
            return LARMOR_OK;
        }
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: no images in %s.", source->path, source->inside);
    }
    if (is_series(file, SERIES)) {
        snprintf(path, 256, "%s", SERIES);
        return LARMOR_OK;
    }
    if (list(file, "/dataset", 0, &found) && found.series) {
        snprintf(path, 256, "%s", found.path);
        return LARMOR_OK;
    }
    if (!list(file, "/", 1, &found)) return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: cannot list its groups.", source->path);
    if (found.series + found.groups == 0) return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: holds no images.", source->path);
    if (found.groups > 1 || (found.groups && found.series))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: several groups hold images; name one, as in %s:%s", source->path,
                        source->path, found.group_found);
    snprintf(path, 256, "%s", found.series ? found.path : found.group_found);
    return LARMOR_OK;
}

/* ---- reading ---- */

/* Opened and checked; *is_complex says whether values have a real and an imaginary part. */
static larmor_status open_data(const lmr_source *source, hid_t file, const char *series, hid_t *data,
                               hsize_t dim[RANK], int *is_complex)
{
    char path[300];
    snprintf(path, sizeof path, "%s/data", series);
    *data = H5Dopen2(file, path, H5P_DEFAULT);
    if (*data < 0)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: damaged HDF5 structure (%s). Copy it again.", source->path, path);
    LMR_TRY(lmr_h5_check(source, *data, path));
    const hid_t space = H5Dget_space(*data), type = H5Dget_type(*data);
    const int rank = H5Sget_simple_extent_ndims(space);
    const H5T_class_t class = H5Tget_class(type);
    larmor_status st = LARMOR_OK;
    *is_complex = class == H5T_COMPOUND;
    if (rank != RANK || H5Sget_simple_extent_dims(space, dim, NULL) != RANK)
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s has %d dimensions, images have %d.", source->path, path, rank, RANK);
    else if (*is_complex && (H5Tget_nmembers(type) != 2 || H5Tget_member_index(type, "real") < 0 ||
                             H5Tget_member_index(type, "imag") < 0))
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s holds records that are not {real, imag}.", source->path, path);
    else if (!*is_complex && class != H5T_FLOAT && class != H5T_INTEGER)
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s holds no numbers.", source->path, path);
    lmr_h5_close(space), lmr_h5_close(type);
    return st;
}

static larmor_status read_data(const lmr_source *source, hid_t file, const char *series, larmor_device *dev,
                               larmor_array **x)
{
    hsize_t dim[RANK] = {0};
    int is_complex = 0;
    hid_t data = -1;
    larmor_status st = open_data(source, file, series, &data, dim, &is_complex);
    int64_t dims[RANK], kept[RANK], count = 1;
    int n = 0;
    for (int d = 0; d < RANK && !st; d++) {
        dims[d] = (int64_t)dim[RANK - 1 - d];
        if (!lmr_mul(count, dims[d], &count)) st = LMR_NO_MEMORY();
        if (d < 2 || dims[d] != 1) kept[n++] = dims[d];
    }
    float *values = st ? NULL : calloc((size_t)count, 2 * sizeof *values);
    if (!st && !values) st = LMR_NO_MEMORY();
    const hid_t type = is_complex ? lmr_mrd_complex_type() : H5Tcopy(H5T_NATIVE_FLOAT);
    if (!st && (type < 0 || H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) < 0))
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s/data cannot be read: damaged, or not numbers. Copy it again.",
                      source->path, series);
    if (!st && !is_complex) /* spread out in place, from the back */
        for (int64_t i = count - 1; i >= 0; i--) values[2 * i] = values[i], values[2 * i + 1] = 0;
    larmor_shape shape;
    if (!st) st = lmr_shape_from(source->path, n, kept, &shape);
    if (!st) st = lmr_array_from(dev, LARMOR_C64, shape, values, x);
    free(values);
    lmr_h5_close(type), lmr_h5_close(data);
    return st;
}

/* from: three floats of a packed record, aligned to 2 bytes only. */
static void set_doubles(double to[3], const void *from)
{
    float f[3];
    memcpy(f, from, sizeof f);
    for (int k = 0; k < 3; k++) to[k] = (double)f[k];
}

/* The header of the series' first image. */
static larmor_status read_header(const lmr_source *source, hid_t file, const char *series, lmr_mrd_image *header)
{
    char path[300];
    snprintf(path, sizeof path, "%s/header", series);
    const hid_t data = H5Dopen2(file, path, H5P_DEFAULT), type = lmr_mrd_image_type();
    const hid_t stored = data < 0 ? -1 : H5Dget_type(data), space = data < 0 ? -1 : H5Dget_space(data);
    const hsize_t zero = 0, one = 1;
    const hid_t memory = H5Screate_simple(1, &one, NULL);
    larmor_status st = LARMOR_OK;
    if (stored < 0 || space < 0 || type < 0 || memory < 0 || H5Tget_class(stored) != H5T_COMPOUND ||
        H5Tget_size(stored) > 4096 || H5Sget_simple_extent_ndims(space) != 1)
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s is no list of image headers.", source->path, path);
    if (!st) st = lmr_h5_check(source, data, path);
    for (int i = 0, n = st ? 0 : H5Tget_nmembers(type); i < n && !st; i++) {
        char *name = H5Tget_member_name(type, (unsigned)i);
        if (!name || H5Tget_member_index(stored, name) < 0)
            st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s lacks member \"%s\".", source->path, path, name ? name : "?");
        H5free_memory(name);
    }
    if (!st && (H5Sselect_hyperslab(space, H5S_SELECT_SET, &zero, NULL, &one, NULL) < 0 ||
                H5Dread(data, type, memory, space, H5P_DEFAULT, header) < 0))
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s cannot be read. Copy it again.", source->path, path);
    lmr_h5_close(memory), lmr_h5_close(space), lmr_h5_close(stored), lmr_h5_close(type), lmr_h5_close(data);
    return st;
}

static larmor_status open_series(const lmr_source *source, hid_t *file, char path[256])
{
    LMR_TRY(lmr_h5_open(source, file));
    const larmor_status st = choose(source, *file, path);
    if (st) H5Fclose(*file);
    return st;
}

larmor_status lmr_read_mrd_images(const lmr_source *source, larmor_device *dev, larmor_array **x)
{
    const lmr_h5_print before_us = lmr_h5_quiet();
    hid_t file;
    char series[256];
    larmor_status st = open_series(source, &file, series);
    if (!st) {
        st = read_data(source, file, series, dev, x);
        H5Fclose(file);
    }
    lmr_h5_loud(before_us);
    return st;
}

larmor_status lmr_read_mrd_meta(const lmr_source *source, larmor_image_meta *meta)
{
    const lmr_h5_print before_us = lmr_h5_quiet();
    hid_t file;
    char series[256];
    lmr_mrd_image h = {0};
    larmor_status st = open_series(source, &file, series);
    if (!st) {
        st = read_header(source, file, series, &h);
        H5Fclose(file);
    }
    lmr_h5_loud(before_us);
    if (st) return st;
    *meta = (larmor_image_meta){.slice = h.slice,
                                .contrast = h.contrast,
                                .phase = h.phase,
                                .repetition = h.repetition,
                                .set = h.set,
                                .average = h.average,
                                .measurement_uid = h.measurement_uid,
                                .time_stamp = h.acquisition_time_stamp};
    memcpy(meta->physiology_stamp, h.physiology_time_stamp, sizeof meta->physiology_stamp);
    set_doubles(meta->fov_mm, h.field_of_view);
    set_doubles(meta->position_mm, h.position);
    set_doubles(meta->read_dir, h.read_dir);
    set_doubles(meta->phase_dir, h.phase_dir);
    set_doubles(meta->slice_dir, h.slice_dir);
    set_doubles(meta->table_mm, h.patient_table_position);
    return LARMOR_OK;
}
