/* Small ISMRMRD files, good ones and bad ones, written with HDF5 alone. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/io/files.h"

#include <hdf5.h>
#include <ismrmrd/ismrmrd.h>

enum { MOST_READOUTS = 200 };

typedef struct readout { /* the lengths are what is stored; they may lie */
    ISMRMRD_AcquisitionHeader head;
    hvl_t traj, data;
} readout;

typedef struct scan {
    int count;
    readout r[MOST_READOUTS];
    char xml[16384];
} scan;

typedef struct layout {                                /* how to write it; zero is what libismrmrd does */
    int utf8, fixed_length, xml_elements, xml_chunked; /* the header */
    int filters, contiguous, chunk; /* the acquisitions; filters: deflate, shuffle and fletcher32 */
    const char *leave_out;          /* a member of the acquisition type */
    int64_t claim;                  /* so many acquisitions, of which those of `only` are written, */
    uint64_t only;                  /* bits: readouts by their number, */
    int last;                       /* 1: and the last one, which is the scan's first */
    int libver;                     /* 1: structures of the newest release that HDF5 knows */
    hsize_t user_block;             /* bytes before HDF5's part */
} layout;

static char path[96]; /* of the file that the last scan was written to */

static int make_scan_folder(void **state)
{
    const int failed = make_folder(state);
    snprintf(path, sizeof path, "%s/scan.h5", folder);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return failed;
}

#define WITH_SCAN(claim) TEST_IN(claim, make_scan_folder, remove_folder)

/* ---- content ---- */

typedef struct space { /* of the header */
    int matrix[3], recon[3];
    double fov[3], recon_fov[3];
    const char *trajectory, *limits;
} space;

static const space plane64 = {{64, 64, 1}, {64, 64, 1}, {192, 192, 5}, {192, 192, 5}, "radial", ""};

static inline void add_encoding(scan *s, const space *e)
{
    char *end = strstr(s->xml, "</ismrmrdHeader>");
    if (!end) end = s->xml + sprintf(s->xml, "<?xml version=\"1.0\"?>\n<ismrmrdHeader>\n");
    sprintf(end,
            "<encoding>\n<encodedSpace><matrixSize><x>%d</x><y>%d</y><z>%d</z></matrixSize>"
            "<fieldOfView_mm><x>%.9g</x><y>%.9g</y><z>%.9g</z></fieldOfView_mm></encodedSpace>\n"
            "<reconSpace><matrixSize><x>%d</x><y>%d</y><z>%d</z></matrixSize>"
            "<fieldOfView_mm><x>%.9g</x><y>%.9g</y><z>%.9g</z></fieldOfView_mm></reconSpace>\n"
            "<encodingLimits>%s</encodingLimits>\n<trajectory>%s</trajectory>\n</encoding>\n</ismrmrdHeader>\n",
            e->matrix[0], e->matrix[1], e->matrix[2], e->fov[0], e->fov[1], e->fov[2], e->recon[0], e->recon[1],
            e->recon[2], e->recon_fov[0], e->recon_fov[1], e->recon_fov[2], e->limits, e->trajectory);
}

static inline float *data_of(scan *s, int i)
{
    return s->r[i].data.p;
}
static inline float *traj_of(scan *s, int i)
{
    return s->r[i].traj.p;
}

/* Append a readout; its number c of channel, n of sample is (1 + i + c/8, n/1024). Returns its index. */
static inline int add_readout(scan *s, int samples, int coils, int dims)
{
    const int i = s->count++;
    readout *r = &s->r[i];
    memset(r, 0, sizeof *r);
    r->head.version = 1;
    r->head.number_of_samples = (uint16_t)samples;
    r->head.active_channels = r->head.available_channels = (uint16_t)coils;
    r->head.trajectory_dimensions = (uint16_t)dims;
    r->head.center_sample = (uint16_t)(samples / 2);
    r->head.sample_time_us = 4;
    r->head.read_dir[0] = r->head.phase_dir[1] = r->head.slice_dir[2] = 1;
    r->head.idx.kspace_encode_step_1 = (uint16_t)i;
    r->data.len = 2 * (size_t)samples * (size_t)coils;
    r->traj.len = (size_t)samples * (size_t)dims;
    r->data.p = calloc(r->data.len + 1, sizeof(float));
    r->traj.p = calloc(r->traj.len + 1, sizeof(float));
    for (int c = 0; c < coils; c++) {
        for (int n = 0; n < samples; n++) {
            float *x = data_of(s, i) + 2 * (c * samples + n);
            x[0] = (float)(1 + i) + (float)c / 8;
            x[1] = (float)n / 1024;
        }
    }
    return i;
}

/* A spoke at an angle through the centre, from -edge to edge * (1 - 2 / samples). */
static inline void set_spoke(scan *s, int i, double angle, double edge_x, double edge_y)
{
    const int n = s->r[i].head.number_of_samples, dims = s->r[i].head.trajectory_dimensions;
    for (int k = 0; k < n; k++) {
        const double at = 2. * k / n - 1;
        traj_of(s, i)[k * dims] = (float)(at * cos(angle) * edge_x);
        traj_of(s, i)[k * dims + 1] = (float)(at * sin(angle) * edge_y);
    }
}

static inline void free_scan(scan *s)
{
    for (int i = 0; s && i < s->count; i++) LMR_FREE(s->r[i].traj.p, s->r[i].data.p);
    free(s);
}

ENDS_BY(free_scan, scan)

static inline scan *empty_scan(const space *e)
{
    scan *s = calloc(1, sizeof *s);
    add_encoding(s, e);
    return s;
}

static inline void assert_shape(const larmor_array *x, larmor_shape shape)
{
    const larmor_shape got = larmor_array_shape(x);
    assert_int_equal(got.ndim, shape.ndim);
    for (int d = 0; d < shape.ndim; d++) assert_int_equal(got.dim[d], shape.dim[d]);
}

/* Spokes of 64 samples in 1/FOV on plane64. */
static inline scan *radial_scan(int spokes, int coils)
{
    scan *s = empty_scan(&plane64);
    for (int i = 0; i < spokes; i++) set_spoke(s, add_readout(s, 64, coils, 2), M_PI * i / spokes, 32, 32);
    return s;
}

static inline scan *cartesian_scan(const space *e, int coils)
{
    scan *s = empty_scan(e);
    for (int i = 0; i < e->matrix[1]; i++) add_readout(s, e->matrix[0], coils, 0);
    return s;
}

/* ---- the file ---- */

static inline void insert_array(hid_t to, const char *name, size_t at, hid_t base, hsize_t n)
{
    const hid_t type = H5Tarray_create2(base, 1, &n);
    H5Tinsert(to, name, at, type);
    H5Tclose(type);
}

static inline hid_t head_type(void)
{
#define AT(field) offsetof(ISMRMRD_AcquisitionHeader, field)
#define IDX(field) offsetof(ISMRMRD_EncodingCounters, field)
    const hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(ISMRMRD_AcquisitionHeader));
    const hid_t idx = H5Tcreate(H5T_COMPOUND, sizeof(ISMRMRD_EncodingCounters));
    static const char *const counters[] = {"kspace_encode_step_1",
                                           "kspace_encode_step_2",
                                           "average",
                                           "slice",
                                           "contrast",
                                           "phase",
                                           "repetition",
                                           "set",
                                           "segment"};
    for (size_t i = 0; i < 9; i++) H5Tinsert(idx, counters[i], 2 * i, H5T_NATIVE_UINT16);
    insert_array(idx, "user", IDX(user), H5T_NATIVE_UINT16, 8);
    H5Tinsert(t, "version", AT(version), H5T_NATIVE_UINT16);
    H5Tinsert(t, "flags", AT(flags), H5T_NATIVE_UINT64);
    H5Tinsert(t, "measurement_uid", AT(measurement_uid), H5T_NATIVE_UINT32);
    H5Tinsert(t, "scan_counter", AT(scan_counter), H5T_NATIVE_UINT32);
    H5Tinsert(t, "acquisition_time_stamp", AT(acquisition_time_stamp), H5T_NATIVE_UINT32);
    insert_array(t, "physiology_time_stamp", AT(physiology_time_stamp), H5T_NATIVE_UINT32, 3);
    H5Tinsert(t, "number_of_samples", AT(number_of_samples), H5T_NATIVE_UINT16);
    H5Tinsert(t, "available_channels", AT(available_channels), H5T_NATIVE_UINT16);
    H5Tinsert(t, "active_channels", AT(active_channels), H5T_NATIVE_UINT16);
    insert_array(t, "channel_mask", AT(channel_mask), H5T_NATIVE_UINT64, 16);
    H5Tinsert(t, "discard_pre", AT(discard_pre), H5T_NATIVE_UINT16);
    H5Tinsert(t, "discard_post", AT(discard_post), H5T_NATIVE_UINT16);
    H5Tinsert(t, "center_sample", AT(center_sample), H5T_NATIVE_UINT16);
    H5Tinsert(t, "encoding_space_ref", AT(encoding_space_ref), H5T_NATIVE_UINT16);
    H5Tinsert(t, "trajectory_dimensions", AT(trajectory_dimensions), H5T_NATIVE_UINT16);
    H5Tinsert(t, "sample_time_us", AT(sample_time_us), H5T_NATIVE_FLOAT);
    insert_array(t, "position", AT(position), H5T_NATIVE_FLOAT, 3);
    insert_array(t, "read_dir", AT(read_dir), H5T_NATIVE_FLOAT, 3);
    insert_array(t, "phase_dir", AT(phase_dir), H5T_NATIVE_FLOAT, 3);
    insert_array(t, "slice_dir", AT(slice_dir), H5T_NATIVE_FLOAT, 3);
    insert_array(t, "patient_table_position", AT(patient_table_position), H5T_NATIVE_FLOAT, 3);
    H5Tinsert(t, "idx", AT(idx), idx);
    insert_array(t, "user_int", AT(user_int), H5T_NATIVE_INT32, 8);
    insert_array(t, "user_float", AT(user_float), H5T_NATIVE_FLOAT, 8);
    H5Tclose(idx);
    return t;
#undef AT
#undef IDX
}

static inline hid_t readout_type(const char *leave_out)
{
    const hid_t t = H5Tcreate(H5T_COMPOUND, sizeof(readout)), head = head_type(),
                list = H5Tvlen_create(H5T_NATIVE_FLOAT);
    if (!leave_out || strcmp(leave_out, "head") != 0) H5Tinsert(t, "head", offsetof(readout, head), head);
    if (!leave_out || strcmp(leave_out, "traj") != 0) H5Tinsert(t, "traj", offsetof(readout, traj), list);
    if (!leave_out || strcmp(leave_out, "data") != 0) H5Tinsert(t, "data", offsetof(readout, data), list);
    H5Tclose(head);
    H5Tclose(list);
    return t;
}

static inline void write_xml(hid_t file, const scan *s, const layout *l)
{
    const hsize_t n = l->xml_elements ? (hsize_t)l->xml_elements : 1;
    const hid_t type = H5Tcopy(H5T_C_S1), data_space = H5Screate_simple(1, &n, NULL),
                list = H5Pcreate(H5P_DATASET_CREATE);
    H5Tset_size(type, l->fixed_length ? strlen(s->xml) + 1 : H5T_VARIABLE);
    if (l->utf8) H5Tset_cset(type, H5T_CSET_UTF8);
    if (l->xml_chunked) H5Pset_chunk(list, 1, &n);
    const hid_t d = H5Dcreate2(file, "dataset/xml", type, data_space, H5P_DEFAULT, list, H5P_DEFAULT);
    const char *texts[8] = {s->xml, s->xml, s->xml, s->xml, s->xml, s->xml, s->xml, s->xml};
    H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, l->fixed_length ? (const void *)s->xml : texts);
    H5Dclose(d);
    H5Pclose(list);
    H5Sclose(data_space);
    H5Tclose(type);
}

static inline void write_readout(hid_t d, hid_t type, hsize_t i, const readout *r)
{
    const hid_t where = H5Dget_space(d), one = H5Screate_simple(1, (hsize_t[]){1}, NULL);
    H5Sselect_elements(where, H5S_SELECT_SET, 1, &i);
    assert_true(H5Dwrite(d, type, one, where, H5P_DEFAULT, r) >= 0);
    H5Sclose(one);
    H5Sclose(where);
}

static inline void write_readouts(hid_t file, const scan *s, const layout *l)
{
    const hsize_t n = l->claim ? (hsize_t)l->claim : (hsize_t)s->count;
    const hsize_t unlimited = H5S_UNLIMITED;
    const hsize_t chunk = l->chunk ? (hsize_t)l->chunk : 1;
    const hid_t type = readout_type(l->leave_out);
    const hid_t data_space = H5Screate_simple(1, &n, l->contiguous ? NULL : &unlimited);
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    if (!l->contiguous) H5Pset_chunk(list, 1, &chunk);
    if (l->filters) {
        H5Pset_shuffle(list);
        H5Pset_deflate(list, 6);
        H5Pset_fletcher32(list);
    }
    const hid_t d = H5Dcreate2(file, "dataset/data", type, data_space, H5P_DEFAULT, list, H5P_DEFAULT);
    for (hsize_t i = 0; l->claim && i < (hsize_t)s->count; i++)
        if (l->only >> i & 1) write_readout(d, type, i, &s->r[i]);
    if (l->last) write_readout(d, type, n - 1, &s->r[0]);
    if (!l->claim && s->count) H5Dwrite(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, s->r);
    H5Dclose(d);
    H5Pclose(list);
    H5Sclose(data_space);
    H5Tclose(type);
}

/* A new file with an empty group /dataset at `path`. */
static inline hid_t new_file_as(const layout *l)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_FILE_CREATE);
    if (l->libver) H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    if (l->user_block) H5Pset_userblock(creation, l->user_block);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, creation, access);
    H5Pclose(access);
    H5Pclose(creation);
    H5Gclose(H5Gcreate2(file, "dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    return file;
}

static inline hid_t new_file(void)
{
    return new_file_as(&(layout){0});
}

static inline void write_scan_as(const scan *s, const layout *l)
{
    const hid_t file = new_file_as(l);
    write_xml(file, s, l);
    write_readouts(file, s, l);
    H5Fclose(file);
}

static inline void write_scan(const scan *s)
{
    write_scan_as(s, &(layout){0});
}

/* ---- opening it ---- */

/* Everything in files that HDF5 holds open, and the files. */
static inline int64_t open_objects(void)
{
    return H5Fget_obj_count((hid_t)H5F_OBJ_ALL, H5F_OBJ_ALL);
}

/* The file at `path` is refused with exactly this line after its name, and stays as it was. */
static inline void refused_with(const larmor_raw_opts *opts, larmor_status status, const char *line)
{
    larmor_raw *raw = (larmor_raw *)folder;
    const int64_t before = open_objects();
    const larmor_status got = larmor_raw_open(path, opts, &raw);
    assert_int_equal(open_objects(), before);
    char expected[512];
    snprintf(expected, sizeof expected, "%s: %s", path, line);
    assert_string_equal(larmor_last_error(), expected);
    assert_int_equal(got, status);
    assert_null(raw);
}

static inline void refused(const char *line)
{
    refused_with(NULL, LARMOR_ERR_FORMAT, line);
}

static inline larmor_raw *opened_with(const larmor_raw_opts *opts)
{
    return MADE(larmor_raw, larmor_raw_open(path, opts, &made));
}

/* The scan as its file is read. */
static inline larmor_raw *written(const scan *s)
{
    write_scan(s);
    return opened_with(NULL);
}

/* What came from the device under test as an array that the host may look into. */
static inline void bring_to_host(larmor_array **x)
{
    if (!*x) return;
    OWN(larmor_device, *host, larmor_device_open("cpu:1", &host));
    larmor_array *copy = MADE(larmor_array, larmor_array_to(*x, host, &made));
    LMR_FREE(*x);
    *x = copy;
}

/* Samples of a group on its own grid, by way of the device under test. */
static inline larmor_samples samples_of(const larmor_raw *raw, int group, int calibration)
{
    larmor_group g;
    larmor_grid grid;
    larmor_samples s;
    assert_ok(larmor_raw_group(raw, group, &g));
    assert_ok(larmor_raw_grid(raw, g.encoding, NULL, &grid));
    assert_ok(larmor_raw_samples(raw, group, &grid, calibration, dev, &s));
    bring_to_host(&s.kspace);
    bring_to_host(&s.traj);
    bring_to_host(&s.density);
    return s;
}

static inline const float *kspace(const larmor_samples *s)
{
    return larmor_array_data(s->kspace);
}
static inline const double *traj(const larmor_samples *s)
{
    return larmor_array_data(s->traj);
}
