/* HDF5 files, opened with care. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5.h"

#include <stdio.h>
#include <string.h>

#include "io/reader/h5_driver.h"

enum { LEAST_USER_BLOCK = 512 }; /* bytes; any other is twice as long, four times, and so on */

static _Thread_local int lacks_memory; /* a call of HDF5 failed for want of it since it was made quiet */

static herr_t look_for_memory(unsigned n LMR_UNUSED, const H5E_error2_t *error, void *user LMR_UNUSED)
{
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

int lmr_h5_lacks_memory(void)
{
    return lacks_memory;
}

void lmr_h5_close(hid_t id)
{
    if (id > 0) H5Idec_ref(id);
}

/* HDF5 1.12 gave calls that describe links a second version; which one a bare name means is up to HDF5's build. */
#if H5_VERSION_GE(1, 12, 0)
typedef H5L_info2_t link_info;
#define get_link H5Lget_info2
#define iterate H5Literate_by_name2
#else
typedef H5L_info_t link_info;
#define get_link H5Lget_info
#define iterate H5Literate_by_name
#endif

static const unsigned char signature[] = "\211HDF\r\n\032\n";

void lmr_h5_find_base(lmr_source *source)
{
    unsigned char b[8];
    source->base = 0;
    for (int64_t at = 0; at < source->size; at = at ? 2 * at : LEAST_USER_BLOCK)
        if (lmr_source_get(source, at, b, sizeof b) == sizeof b && !memcmp(b, signature, sizeof b)) {
            source->base = at;
            return;
        }
}

/* Recognise what is not HDF5, and a file that ends before HDF5's own end-of-file address. */
static larmor_status is_not_hdf5(const lmr_source *source, const char *needed)
{
    char b[5];
    const int64_t got = lmr_source_get(source, 0, b, sizeof b);
    LMR_REFUSE(got == sizeof b && !memcmp(b, "yardl", sizeof b), LARMOR_ERR_FORMAT,
               "MRD version 2 of another schema than that of 2.1, or cut short in it. Convert it to "
               "HDF5 of version 1 by mrd_to_ismrmrd and ismrmrd_stream_to_hdf5.");
    const int64_t shown = got < 4 ? got : 4;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "not HDF5 (first bytes are \"%s\"). %s needed.",
                    lmr_printable(b, shown < 0 ? 0 : shown, 4).s, needed);
}

static larmor_status check_superblock(const lmr_source *source, const char *needed)
{
    unsigned char b[64] = {0};
    const int64_t got = lmr_source_get(source, source->base, b, sizeof b);
    LMR_REFUSE(got < 0, LARMOR_ERR_IO, "cannot be read.");
    if (got < 8 || memcmp(b, signature, 8)) return is_not_hdf5(source, needed);
    const int version = b[8], old = version < 2;
    const int offset_bytes = old ? b[13] : b[9];
    const int length_bytes = old ? b[14] : b[10];
    if (version > 3 && version < 10) /* else rather a byte that is wrong */
        return LMR_FAIL(
            LARMOR_ERR_FORMAT,
            "written by a newer HDF5 (superblock of version %d), which HDF5 %d.%d does not read. Write it "
            "with libver \"v114\", or use the h5repack of a newer HDF5.",
            version, H5_VERS_MAJOR, H5_VERS_MINOR);
    LMR_REFUSE(version > 3 || (got >= 48 && (offset_bytes != 8 || length_bytes != 8)), LARMOR_ERR_FORMAT,
               "damaged HDF5 structure (superblock). Copy it again.");
    static const int place_of_end[] = {40, 44, 28, 28};
    const uint64_t end = got < 48 ? 48 : lmr_little_endian(b + place_of_end[version], 8);
    LMR_REFUSE(end > (uint64_t)source->size, LARMOR_ERR_FORMAT, "file cut short: %lld of %llu bytes. Copy it again.",
               (long long)source->size, (unsigned long long)end);
    return LARMOR_OK;
}

larmor_status lmr_h5_open(const lmr_source *source, const char *needed, hid_t *file)
{
    *file = -1;
    LMR_TRY(check_superblock(source, needed));
    LMR_REFUSE(source->is_written, LARMOR_ERR_IO, "is being written by another program. Wait until it is complete.");
    const hid_t opened = lmr_h5_open_descriptor(source);
    if (opened < 0) return lmr_h5_damaged("superblock or root group", "/");
    hsize_t user = 0;
    LMR_HID plan = H5Fget_create_plist(opened);
    if (plan >= 0 && H5Pget_userblock(plan, &user) >= 0 && user == (hsize_t)source->base) {
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

static larmor_status is_newer(const char *path)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "%s was written by a newer HDF5, in a form that HDF5 %d.%d does not read. Write it with libver "
                    "\"v114\", or use the h5repack of a newer HDF5.",
                    path, H5_VERS_MAJOR, H5_VERS_MINOR);
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
        LMR_REFUSE(link.type != H5L_TYPE_HARD, LARMOR_ERR_FORMAT, "%s is %s link; only data inside the file is read.",
                   part, link.type == H5L_TYPE_SOFT ? "a soft" : "an external");
    }
    *id = H5Oopen(file, path, H5P_DEFAULT);
    if (*id > 0) return LARMOR_OK;
    *id = 0;
    if (!lacks_memory && lmr_h5_is_newer(file)) return is_newer(path);
    return lmr_h5_damaged("object header", path);
}

int lmr_h5_leads_to(hid_t file, const char *path, H5I_type_t kind)
{
    hid_t id;
    if (lmr_h5_find(file, path, &id)) return !lacks_memory && lmr_h5_is_newer(file); /* its reader says so */
    const int found = id && H5Iget_type(id) == kind;
    lmr_h5_close(id);
    return found;
}

typedef struct listing {
    void (*visit)(const char *name, void *user);
    void *user;
} listing;

static herr_t list_one(hid_t group LMR_UNUSED, const char *name, const link_info *link LMR_UNUSED, void *user)
{
    const listing *l = user;
    l->visit(name, l->user);
    return 0;
}

int lmr_h5_list(hid_t file, const char *group, void (*visit)(const char *name, void *user), void *user)
{
    listing l = {visit, user};
    return iterate(file, group, H5_INDEX_NAME, H5_ITER_INC, NULL, list_one, &l, H5P_DEFAULT) >= 0;
}
