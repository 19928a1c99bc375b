/* New HDF5 files in memory: a file driver. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/h5_memory.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "core/core.h"

#define BLOCK ((size_t)1 << 16)

typedef struct output {
    H5FD_t base; /* HDF5's part, first */
    lmr_memory_file *memory;
    haddr_t end; /* of the part that HDF5 uses */
} output;

static H5FD_t *open_output(const char *name LMR_UNUSED, unsigned flags, hid_t access, haddr_t most LMR_UNUSED)
{
    lmr_memory_file *const *memory = H5Pget_driver_info(access);
    if (!memory || !(flags & H5F_ACC_CREAT)) return NULL;
    output *out = calloc(1, sizeof *out);
    if (!out) return NULL;
    out->memory = *memory;
    return &out->base;
}

static herr_t close_output(H5FD_t *file)
{
    free(file);
    return 0;
}

static herr_t query(const H5FD_t *file LMR_UNUSED, unsigned long *flags)
{
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_AGGREGATE_SMALLDATA;
    return 0;
}

static haddr_t get_end(const H5FD_t *file, H5FD_mem_t type LMR_UNUSED)
{
    return ((const output *)file)->end;
}

static herr_t set_end(H5FD_t *file, H5FD_mem_t type LMR_UNUSED, haddr_t end)
{
    output *out = (output *)file;
    out->end = end;
    out->memory->size = (int64_t)end;
    return 0;
}

static haddr_t get_size(const H5FD_t *file, H5FD_mem_t type LMR_UNUSED)
{
    return (haddr_t)((const output *)file)->memory->written;
}

static size_t part_of(int64_t at, size_t bytes)
{
    const size_t left = BLOCK - (size_t)at % BLOCK;
    return bytes < left ? bytes : left;
}

void lmr_memory_read(const lmr_memory_file *m, int64_t at, size_t bytes, void *to)
{
    for (unsigned char *next = to; bytes;) {
        const size_t now = part_of(at, bytes), b = (size_t)at / BLOCK;
        if (b < m->blocks && m->block[b])
            memcpy(next, m->block[b] + (size_t)at % BLOCK, now);
        else
            memset(next, 0, now);
        next += now;
        at += (int64_t)now;
        bytes -= now;
    }
}

static int grow(lmr_memory_file *m, size_t blocks)
{
    if (blocks <= m->blocks) return 1;
    const size_t room = blocks + blocks / 2;
    unsigned char **block = realloc(m->block, room * sizeof *block);
    if (!block) return 0;
    memset(block + m->blocks, 0, (room - m->blocks) * sizeof *block);
    m->block = block;
    m->blocks = room;
    return 1;
}

static int keep(lmr_memory_file *m, int64_t at, size_t bytes, const void *from)
{
    if (bytes && !grow(m, ((size_t)at + bytes - 1) / BLOCK + 1)) return 0;
    for (const unsigned char *next = from; bytes;) {
        const size_t now = part_of(at, bytes), b = (size_t)at / BLOCK;
        if (!m->block[b]) m->block[b] = calloc(1, BLOCK);
        if (!m->block[b]) return 0;
        memcpy(m->block[b] + (size_t)at % BLOCK, next, now);
        next += now;
        at += (int64_t)now;
        bytes -= now;
    }
    return 1;
}

static herr_t get_bytes(H5FD_t *file, H5FD_mem_t type LMR_UNUSED, hid_t transfer LMR_UNUSED, haddr_t at, size_t bytes,
                        void *to)
{
    const lmr_memory_file *m = ((const output *)file)->memory;
    lmr_memory_read(m, (int64_t)at, bytes, to);
    return 0;
}

static herr_t put_bytes(H5FD_t *file, H5FD_mem_t type, hid_t transfer LMR_UNUSED, haddr_t at, size_t bytes,
                        const void *from)
{
    lmr_memory_file *m = ((output *)file)->memory;
    if (at > INT64_MAX / 2 || bytes > INT64_MAX / 2) return -1;
    if ((int64_t)(at + bytes) > m->written) m->written = (int64_t)(at + bytes);
    if (m->dropping && type == H5FD_MEM_DRAW) {
        m->dropped = m->dropped < 0 ? (int64_t)at : -2; /* in one piece */
        return m->dropped < 0 ? -1 : 0;
    }
    return keep(m, (int64_t)at, bytes, from) ? 0 : -1;
}

hid_t lmr_memory_create(lmr_memory_file *memory)
{
    static const H5FD_class_t driver = {
#ifdef H5FD_CLASS_VERSION
        .version = H5FD_CLASS_VERSION,
        .value = 257 + 'l', /* of those for private use */
#endif
        .name = "larmor in memory",
        .maxaddr = INT64_MAX,
        .fc_degree = H5F_CLOSE_STRONG,
        .fapl_size = sizeof(lmr_memory_file *),
        .open = open_output,
        .close = close_output,
        .query = query,
        .get_eoa = get_end,
        .set_eoa = set_end,
        .get_eof = get_size,
        .read = get_bytes,
        .write = put_bytes,
        .fl_map = H5FD_FLMAP_DICHOTOMY,
    };
    *memory = (lmr_memory_file){.dropped = -1};
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), id = H5FDregister(&driver);
    hid_t file = -1;
    if (access >= 0 && id >= 0 && H5Pset_driver(access, id, &memory) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0)
        file = H5Fcreate("larmor in memory", H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (access >= 0) H5Pclose(access);
    return file;
}

int lmr_memory_close(hid_t file)
{
    return H5Fflush(file, H5F_SCOPE_GLOBAL) >= 0 && H5Fclose(file) >= 0;
}
