/* A file driver for HDF5. SPDX-License-Identifier: Apache-2.0
 *
 * H5Dread_chunk takes a buffer but not its size: it writes as many bytes as the chunk's index says, a number of the
 * file's own, which H5Dget_chunk_storage_size does not return for chunks without filters (HDF5 1.10 and 1.14). All
 * reads of HDF5 pass this driver, so it can compare that number with the size of the buffer. */
#include "io/reader/h5_driver.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "io/reader/h5_header.h"
#include "io/reader/source.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

typedef struct input {
    H5FD_t base; /* HDF5's part, first */
    lmr_source source;
    lmr_h5_headers headers;
    haddr_t end; /* of the part that HDF5 uses */
    int limited; /* a chunk is being read, into `room` bytes */
    int looking; /* 1: not even that, but where it is */
    size_t room, got;
    haddr_t at;
} input;

static H5FD_t *open_input(const char *name LMR_UNUSED, unsigned flags, hid_t access, haddr_t most LMR_UNUSED)
{
    const lmr_source *const *source = H5Pget_driver_info(access);
    if (!source || flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) return NULL;
    input *in = calloc(1, sizeof *in);
    if (!in) return NULL;
    in->source = **source;
    if (lmr_h5_headers_reopen(&in->headers, &in->source)) return &in->base;
    free(in);
    return NULL;
}

static herr_t close_input(H5FD_t *file)
{
    lmr_h5_headers_free(&((input *)file)->headers);
    free((input *)file);
    return 0;
}

/* Metadata are not accumulated: an object's header must be read from its beginning. */
static herr_t query(const H5FD_t *file LMR_UNUSED, unsigned long *flags)
{
    *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
    return 0;
}

static haddr_t get_end(const H5FD_t *file, H5FD_mem_t type LMR_UNUSED)
{
    return ((const input *)file)->end;
}

static herr_t set_end(H5FD_t *file, H5FD_mem_t type LMR_UNUSED, haddr_t end)
{
    ((input *)file)->end = end;
    return 0;
}

static haddr_t get_size(const H5FD_t *file, H5FD_mem_t type LMR_UNUSED)
{
    return (haddr_t)((const input *)file)->source.size;
}

static herr_t get_handle(H5FD_t *file, hid_t access LMR_UNUSED, void **handle)
{
    *handle = file;
    return 0;
}

static herr_t get_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer LMR_UNUSED, haddr_t at, size_t bytes, void *to)
{
    input *in = (input *)file;
    const haddr_t size = (haddr_t)in->source.size;
    if (at > size || bytes > size - at) return -1;
    if (in->limited && type == H5FD_MEM_DRAW) {
        if (bytes > in->room || in->got) return -1;
        in->got = bytes;
        in->at = at;
        if (in->looking) return 0;
    }
    if (lmr_source_get(&in->source, (int64_t)at, to, bytes) != (int64_t)bytes) return -1;
    if (type == H5FD_MEM_DRAW) return 0;
    if (bytes >= 4 && !memcmp(to, "OHDR", 4) && !lmr_h5_headers_look(&in->headers, &in->source, (int64_t)at))
        return -1;
    lmr_h5_headers_apply(&in->headers, (int64_t)at, (int64_t)bytes, to);
    return 0;
}

static herr_t put_nothing(H5FD_t *file LMR_UNUSED, H5FD_mem_t type LMR_UNUSED, hid_t transfer LMR_UNUSED,
                          haddr_t at LMR_UNUSED, size_t bytes LMR_UNUSED, const void *from LMR_UNUSED)
{
    return -1;
}

/* A file has a driver of its own, so that no state outlives it. */
static hid_t make_driver(void)
{
    static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
        .version = H5FD_CLASS_VERSION,
        .value = 256 + 'l', /* of those for private use */
#endif
        .name = "larmor",
        .maxaddr = INT64_MAX,
        .fc_degree = H5F_CLOSE_STRONG,
        .fapl_size = sizeof(lmr_source *),
        .open = open_input,
        .close = close_input,
        .query = query,
        .get_eoa = get_end,
        .set_eoa = set_end,
        .get_eof = get_size,
        .get_handle = get_handle,
        .read = get_bytes,
        .write = put_nothing,
        .fl_map = H5FD_FLMAP_DICHOTOMY,
    };
    return H5FDregister(&driver);
}

/* HDF5 loads filters as plugins, from folders that the environment names, if a file asks for them. None is loaded
 * while a file of larmor's is open; then the state is the host program's again. */
static pthread_mutex_t loading_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned loading_state;
static int open_files;

static void hold_plugins(int more)
{
    pthread_mutex_lock(&loading_lock);
    if (more > 0 && !open_files) {
        H5PLget_loading_state(&loading_state);
        H5PLset_loading_state(0);
    }
    open_files += more;
    if (more < 0 && !open_files) H5PLset_loading_state(loading_state);
    pthread_mutex_unlock(&loading_lock);
}

hid_t lmr_h5_open_descriptor(const lmr_source *source)
{
    hold_plugins(1);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), driver = make_driver();
    int good = access >= 0 && driver >= 0 && H5Pset_driver(access, driver, &source) >= 0 &&
               H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0;
    const hid_t file = good ? H5Fopen("larmor's own descriptor", H5F_ACC_RDONLY, access) : -1;
    if (access >= 0) H5Pclose(access);
    if (file < 0 && driver >= 0) H5FDunregister(driver);
    if (file < 0) hold_plugins(-1);
    return file;
}

/* HDF5 1.10 reads the driver's class after the file has given the driver up, so something else must hold it until the
 * file is closed. A file that cannot be closed may still need it. */
void lmr_h5_close_descriptor(hid_t file)
{
    void *handle = NULL;
    const int known = H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 && handle;
    const hid_t driver = known ? ((const input *)handle)->base.driver_id : -1;
    if (H5Fclose(file) >= 0 && driver >= 0) H5FDunregister(driver);
    hold_plugins(-1);
}

static input *input_of(hid_t file)
{
    void *handle = NULL;
    return H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 ? NULL : handle;
}

int lmr_h5_is_newer(hid_t file)
{
    const input *in = input_of(file);
    return in && in->headers.is_newer;
}

int lmr_h5_is_unclosed(hid_t file)
{
    const input *in = input_of(file);
    return in && in->headers.is_unclosed;
}

/* The chunk's length in its index, 0 if that fails. */
static size_t get_chunk(input *in, hid_t dataset, const hsize_t *offset, void *to, size_t room, uint32_t *mask)
{
    in->limited = 1;
    in->room = room;
    in->got = 0;
    const herr_t failed = H5Dread_chunk(dataset, H5P_DEFAULT, offset, mask, to);
    in->limited = 0;
    return failed < 0 ? 0 : in->got;
}

size_t lmr_h5_get_chunk(hid_t file, hid_t dataset, const hsize_t *offset, void *to, size_t room, uint32_t *mask)
{
    input *in = input_of(file);
    return in ? get_chunk(in, dataset, offset, to, room, mask) : 0;
}

int lmr_h5_find_chunk(hid_t file, hid_t dataset, const hsize_t *offset, int64_t *at, int64_t *bytes, uint32_t *mask)
{
    input *in = input_of(file);
    unsigned char nothing[1]; /* HDF5 wants a place for what the driver does not write */
    if (!in) return 0;
    in->looking = 1;
    *bytes = (int64_t)get_chunk(in, dataset, offset, nothing, SIZE_MAX, mask);
    in->looking = 0;
    *at = (int64_t)in->at;
    return *bytes > 0;
}
