/* HDF5 files: composed in memory, so that no failing disk reaches HDF5, or opened with care.
 * SPDX-License-Identifier: Apache-2.0 */
#include "io/h5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/h5_driver.h"

#define MEMORY_STEP ((size_t)16 << 20)

static _Thread_local int lacks_memory; /* a call of HDF5 failed for want of it since it was made quiet */

static herr_t look_for_memory(unsigned n, const H5E_error2_t *error, void *user)
{
    (void)n, (void)user;
    lacks_memory |=
        error->maj_num == H5E_RESOURCE || error->min_num == H5E_NOSPACE || error->min_num == H5E_CANTALLOC;
    return 0;
}

/* HDF5 calls it for each of its calls that fails, while it still knows why. */
static herr_t note_failure(hid_t stack, void *user)
{
    return H5Ewalk2(stack, H5E_WALK_UPWARD, look_for_memory, user);
}

lmr_h5_print lmr_h5_quiet(void)
{
    lmr_h5_print before = {NULL, NULL};
    H5Eget_auto2(H5E_DEFAULT, &before.function, &before.data);
    H5Eset_auto2(H5E_DEFAULT, note_failure, NULL);
    lacks_memory = 0;
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

larmor_status lmr_h5_failed(const char *path, const char *what)
{
    if (lacks_memory) return LMR_FAIL(LARMOR_ERR_MEMORY, "%s: out of host memory; nothing written.", path);
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
    return *file < 0 ? lmr_h5_failed(out->path, "begin a file in memory") : LARMOR_OK;
}

/* Open what was written, by its descriptor, and read the dataset. */
static int verify(const larmor_output *out, const char *path, int elements)
{
    const hid_t file = lmr_h5_open_descriptor(out->part[0].fd, 0);
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
    if (file >= 0) lmr_h5_close_descriptor(file);
    return good;
}

larmor_status lmr_h5_save(hid_t file, larmor_output *out, const char *dataset, int elements)
{
    void **memory = NULL;
    const ssize_t bytes = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? -1 : H5Fget_file_image(file, NULL, 0);
    if (bytes <= 0 || H5Fget_vfd_handle(file, H5P_DEFAULT, (void **)&memory) < 0 || !memory || !*memory)
        return lmr_h5_failed(out->path, "complete the file in memory");
    LMR_TRY(lmr_output_reserve(out, 0, bytes));
    LMR_TRY(lmr_output_put(out, 0, *memory, (size_t)bytes));
    return verify(out, dataset, elements) ? LARMOR_OK : lmr_h5_failed(out->path, "read back what was written");
}

hid_t lmr_h5_dataset_plan(void)
{
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    if (plan >= 0 && H5Pset_obj_track_times(plan, 0) >= 0) return plan;
    lmr_h5_close(plan);
    return -1;
}

larmor_status lmr_h5_write_string(hid_t file, const char *path, const char *text)
{
    const hsize_t one = 1;
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &one, NULL), plan = lmr_h5_dataset_plan();
    hid_t data = -1;
    int good = type >= 0 && space >= 0 && plan >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0;
    if (good) data = H5Dcreate2(file, path, type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    good = data >= 0 && H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0;
    lmr_h5_close(data), lmr_h5_close(plan), lmr_h5_close(space), lmr_h5_close(type);
    return good ? LARMOR_OK : lmr_h5_failed(path, "write a text");
}

/* ---- reading ---- */

/* HDF5 1.12 gave calls that tell of links a second version; which one a bare name means is up to HDF5's build. */
#if H5_VERSION_GE(1, 12, 0)
typedef H5L_info2_t link_info;
#define get_link H5Lget_info2
#define iterate H5Literate_by_name2
#else
typedef H5L_info_t link_info;
#define get_link H5Lget_info
#define iterate H5Literate_by_name
#endif

/* Recognise what is not HDF5, and a file that ends before HDF5's own end-of-file address. */
static larmor_status check_superblock(const lmr_source *source, const char *needed)
{
    static const unsigned char signature[] = "\211HDF\r\n\032\n";
    unsigned char b[64] = {0};
    const int64_t got = lmr_source_get(source, 0, b, sizeof b);
    if (got < 0) return LMR_FAIL(LARMOR_ERR_IO, "cannot be read.");
    if (got < 8 || memcmp(b, signature, 8))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "not HDF5 (first bytes are \"%s\"). %s needed.",
                        lmr_printable((char *)b, got < 4 ? got : 4, 4).s, needed);
    const int version = b[8], old = version < 2;
    const int offset_bytes = old ? b[13] : b[9], length_bytes = old ? b[14] : b[10];
    if (version > 3 || (got >= 48 && (offset_bytes != 8 || length_bytes != 8)))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (superblock). Copy it again.");
    const uint64_t end = got < 48 ? 48 : lmr_little_endian(b + (version == 0 ? 40 : version == 1 ? 44 : 28), 8);
    if (end > (uint64_t)source->size)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "file cut short: %lld of %llu bytes. Copy it again.",
                        (long long)source->size, (unsigned long long)end);
    return LARMOR_OK;
}

larmor_status lmr_h5_open(const lmr_source *source, const char *needed, hid_t *file)
{
    *file = -1;
    LMR_TRY(check_superblock(source, needed));
    const hid_t opened = lmr_h5_open_descriptor(source->fd, 1);
    if (opened < 0) return lmr_h5_damaged("superblock or root group", "/");
    hsize_t user = 0;
    const hid_t plan = H5Fget_create_plist(opened);
    const int odd = plan < 0 || H5Pget_userblock(plan, &user) < 0 || user;
    lmr_h5_close(plan);
    if (!odd) {
        *file = opened;
        return LARMOR_OK;
    }
    lmr_h5_close_descriptor(opened);
    return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (superblock). Copy it again.");
}

larmor_status lmr_h5_damaged(const char *where, const char *path)
{
    if (lacks_memory) return LMR_NO_MEMORY();
    return LMR_FAIL(LARMOR_ERR_FORMAT, "damaged HDF5 structure (%s of %s). Copy it again.", where, path);
}

larmor_status lmr_h5_find(hid_t file, const char *path, hid_t *id)
{
    char part[288];
    *id = 0;
    for (const char *end = path + strspn(path, "/"); *end;) {
        end = strchr(end + 1, '/');
        if (!end) end = path + strlen(path);
        snprintf(part, sizeof part, "%.*s", (int)(end - path), path);
        const htri_t there = H5Lexists(file, part, H5P_DEFAULT);
        if (there == 0) return LARMOR_OK;
        link_info link;
        if (there < 0 || get_link(file, part, &link, H5P_DEFAULT) < 0) return lmr_h5_damaged("link", part);
        if (link.type != H5L_TYPE_HARD)
            return LMR_FAIL(LARMOR_ERR_FORMAT, "%s is %s link; only data inside the file is read.", part,
                            link.type == H5L_TYPE_SOFT ? "a soft" : "an external");
    }
    *id = H5Oopen(file, path, H5P_DEFAULT);
    if (*id > 0) return LARMOR_OK;
    *id = 0;
    return lmr_h5_damaged("object header", path);
}

typedef struct listing {
    void (*visit)(const char *name, void *user);
    void *user;
} listing;

static herr_t list_one(hid_t group, const char *name, const link_info *link, void *user)
{
    (void)group, (void)link;
    const listing *l = user;
    l->visit(name, l->user);
    return 0;
}

int lmr_h5_list(hid_t file, const char *group, void (*visit)(const char *name, void *user), void *user)
{
    listing l = {visit, user};
    return iterate(file, group, H5_INDEX_NAME, H5_ITER_INC, NULL, list_one, &l, H5P_DEFAULT) >= 0;
}
