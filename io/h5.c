/* HDF5 files that are composed in memory, so that no failing disk reaches HDF5, and images' files opened with care.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/h5.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_STEP ((size_t)16 << 20)
#define DEFLATE_RATIO 1032 /* deflate cannot do better */

lmr_h5_print lmr_h5_quiet(void)
{
    lmr_h5_print before = {NULL, NULL};
    H5Eget_auto2(H5E_DEFAULT, &before.function, &before.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    return before;
}

void lmr_h5_loud(lmr_h5_print before)
{
    H5Eset_auto2(H5E_DEFAULT, before.function, before.data);
}

void lmr_h5_close(hid_t id)
{
    if (id > 0) H5Idec_ref(id);
}

static larmor_status failed(const char *path, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_IO, "%s: HDF5 could not %s; nothing written.", path, what);
}

/* HDF5 1.10 cannot close a file whose writes fail (it keeps descriptors and may crash when the program ends), so
 * disks are left to lmr_output_put. */
larmor_status lmr_h5_create(const larmor_output *out, hid_t *file)
{
    char name[64]; /* of no file, and of no other one in memory */
    snprintf(name, sizeof name, "/larmor in memory/%p", (const void *)out);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    *file = -1;
    if (access >= 0 && H5Pset_fapl_core(access, MEMORY_STEP, 0) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        *file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    lmr_h5_close(access);
    return *file < 0 ? failed(out->path, "begin a file in memory") : LARMOR_OK;
}

/* How files are opened to be read. lock: ask for a shared lock where the file system has locks. */
static hid_t reading_access(int lock)
{
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    int good = access >= 0 && H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0;
#if H5_VERSION_GE(1, 10, 7)
    good = good && H5Pset_file_locking(access, lock != 0, 1) >= 0;
#else
    (void)lock;
#endif
    if (good) return access;
    lmr_h5_close(access);
    return -1;
}

/* Open what was written, by its descriptor, and read the dataset. */
static int verify(const larmor_output *out, const char *path, int elements)
{
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", out->part[0].fd);
    const hid_t access = reading_access(0), file = access < 0 ? -1 : H5Fopen(name, H5F_ACC_RDONLY, access);
    lmr_h5_close(access);
    const hid_t data = file < 0 ? -1 : H5Dopen2(file, path, H5P_DEFAULT);
    const hid_t space = data < 0 ? -1 : H5Dget_space(data), type = data < 0 ? -1 : H5Dget_type(data);
    hsize_t dim[H5S_MAX_RANK] = {0}, start[H5S_MAX_RANK] = {0}, one[H5S_MAX_RANK];
    const int rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, dim, NULL);
    int good = rank > 0 && dim[0] > 0 && type >= 0;
    if (good && elements) {
        hsize_t bytes = H5Tget_size(type); /* of one index of the first dimension */
        for (int d = 0; d < rank; d++) one[d] = d ? dim[d] : 1, bytes *= one[d];
        void *buffer = malloc(bytes);
        const hid_t memory = H5Screate_simple(rank, one, NULL);
        good = buffer && memory >= 0;
        for (; good && start[0] < dim[0]; start[0]++)
            good = H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, one, NULL) >= 0 &&
                   H5Dread(data, type, memory, space, H5P_DEFAULT, buffer) >= 0;
        lmr_h5_close(memory);
        free(buffer);
    }
    lmr_h5_close(type), lmr_h5_close(space), lmr_h5_close(data);
    if (file >= 0) H5Fclose(file);
    return good;
}

larmor_status lmr_h5_save(hid_t file, larmor_output *out, const char *dataset, int elements)
{
    void **memory = NULL;
    const ssize_t bytes = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    if (bytes <= 0 || H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&memory) < 0 || !memory || !*memory)
        return failed(out->path, "complete the file in memory");
    LMR_TRY(lmr_output_reserve(out, 0, bytes));
    LMR_TRY(lmr_output_put(out, 0, *memory, (size_t)bytes));
    return verify(out, dataset, elements) ? LARMOR_OK : failed(out->path, "read back what was written");
}

larmor_status lmr_h5_write_string(hid_t file, const char *path, const char *text)
{
    const hsize_t one = 1;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &one, NULL);
    hid_t data = -1;
    int good = type >= 0 && space >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0;
    if (good) data = H5Dcreate2(file, path, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    good = data >= 0 && H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0;
    lmr_h5_close(data), lmr_h5_close(space), lmr_h5_close(type);
    return good ? LARMOR_OK : failed(path, "write a text");
}

/* ---- reading ---- */

larmor_status lmr_h5_open(const lmr_source *source, hid_t *file)
{
    static const unsigned char signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    unsigned char start[8] = {0};
    *file = -1;
    LMR_TRY(lmr_source_read(source, 0, start, source->size < 8 ? (size_t)source->size : 8));
    if (memcmp(start, signature, sizeof start)) {
        char seen[5] = "";
        for (int i = 0; i < 4; i++) seen[i] = start[i] >= ' ' && start[i] < 127 ? (char)start[i] : '?';
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: not HDF5 (first bytes are \"%s\").", source->path, seen);
    }
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", source->fd);
    const hid_t access = reading_access(1);
    if (access >= 0) *file = H5Fopen(name, H5F_ACC_RDONLY, access);
    lmr_h5_close(access);
    return *file < 0 ? LMR_FAIL(LARMOR_ERR_FORMAT, "%s: damaged HDF5 structure or file cut short. Copy it again.",
                                source->path)
                     : LARMOR_OK;
}

int lmr_h5_has(hid_t file, const char *path, H5O_type_t type)
{
    char part[512];
    const size_t length = strlen(path);
    if (!length || length >= sizeof part) return 0;
    for (size_t end = 1; end <= length; end++) {
        if (end < length && path[end] != '/') continue;
        memcpy(part, path, end);
        part[end] = 0;
        H5L_info_t link;
        if (!strcmp(part, "/")) continue;
        if (H5Lexists(file, part, H5P_DEFAULT) <= 0 || H5Lget_info(file, part, &link, H5P_DEFAULT) < 0 ||
            link.type != H5L_TYPE_HARD)
            return 0;
    }
    H5O_info_t object;
    return H5Oget_info_by_name2(file, path, &object, H5O_INFO_BASIC, H5P_DEFAULT) >= 0 && object.type == type;
}

static larmor_status check_plan(const lmr_source *source, hid_t plan, const char *path, int *packed)
{
    *packed = 0;
    const H5D_layout_t layout = H5Pget_layout(plan);
    if ((layout != H5D_CHUNKED && layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) ||
        H5Pget_external_count(plan) != 0)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s lies in other files; only data inside the file is read.",
                        source->path, path);
    const int filters = layout == H5D_CHUNKED ? H5Pget_nfilters(plan) : 0;
    for (int i = 0; i < filters; i++) {
        size_t values = 0;
        unsigned flags, config;
        const H5Z_filter_t filter = H5Pget_filter2(plan, (unsigned)i, &flags, &values, NULL, 0, NULL, &config);
        if (filter == H5Z_FILTER_DEFLATE)
            *packed = 1;
        else if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
            return LMR_FAIL(LARMOR_ERR_FORMAT,
                            "%s: %s is packed by a filter that is not read; deflate, shuffle and "
                            "fletcher32 are.",
                            source->path, path);
    }
    return LARMOR_OK;
}

larmor_status lmr_h5_check(const lmr_source *source, hid_t dataset, const char *path)
{
    const hid_t plan = H5Dget_create_plist(dataset), space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    larmor_status st = LARMOR_OK;
    int packed = 0;
    if (plan < 0 || space < 0 || type < 0)
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: damaged HDF5 structure (%s). Copy it again.", source->path, path);
    if (!st) st = check_plan(source, plan, path, &packed);
    if (!st) {
        const hssize_t count = H5Sget_simple_extent_npoints(space);
        int64_t bytes = 0;
        const int64_t stored = (int64_t)H5Dget_storage_size(dataset);
        if (count < 1 || !lmr_mul((int64_t)count, (int64_t)H5Tget_size(type), &bytes) || stored > source->size ||
            (packed ? bytes / DEFLATE_RATIO : bytes) > stored)
            st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s claims %" PRId64 " elements but has %" PRId64 " bytes.",
                          source->path, path, (int64_t)count, stored);
    }
    lmr_h5_close(plan), lmr_h5_close(space), lmr_h5_close(type);
    return st;
}
