/* The structure of ISMRMRD files, composed by HDF5 in memory. Elements of images are not in it: their places are
 * noted. SPDX-License-Identifier: Apache-2.0 */
#include "io/reader/compose.h"

#include "core/core.h"
#include "io/reader/checksum.h"
#include "io/reader/h5.h"
#include "io/reader/h5_memory.h"
#include "io/reader/mrd_types.h"

#define CHUNK_BYTES ((int64_t)16 << 20)
#define BATCH 64 /* acquisitions in a chunk */

struct lmr_composer {
    lmr_memory_file memory;
    hid_t file;             /* -1: complete */
    hid_t type, data;       /* of acquisitions */
    int64_t written;        /* acquisitions */
    hid_t wave_type, waves; /* of waveforms, -1: there are none yet */
    int64_t blocks;         /* of them, written */
    lmr_reader_piece *piece;
    int64_t pieces, room;
};

/* ---- what comes ---- */

typedef struct work { /* bytes that are taken one after the other */
    const unsigned char *next;
    size_t left;
} work;

static const void *take(work *w, size_t bytes)
{
    const void *here = w->next;
    if (bytes > w->left) return NULL;
    w->next += bytes;
    w->left -= bytes;
    return here;
}

static larmor_status nonsense(void)
{
    return LMR_FAIL(LARMOR_ERR_ARG, "reader: what is to be composed makes no sense");
}

static larmor_status failed(const char *what)
{
    if (lmr_h5_lacks_memory()) return LMR_NO_MEMORY();
    return LMR_FAIL(LARMOR_ERR_IO, "HDF5 could not %s", what);
}

/* ---- datasets ---- */

/* Properties for new datasets: without the time of their making, so that the same content gives the same file. */
static hid_t dataset_plan(void)
{
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    if (plan >= 0 && H5Pset_obj_track_times(plan, 0) >= 0) return plan;
    lmr_h5_close(plan);
    return -1;
}

/* A dataset of one variable-length ASCII string, as ISMRMRD's headers are. */
static larmor_status write_header(hid_t file, const char *text)
{
    const hsize_t one = 1;
    LMR_HID type = H5Tcopy(H5T_C_S1), space = H5Screate_simple(1, &one, NULL), plan = dataset_plan();
    const int good = type >= 0 && space >= 0 && plan >= 0 && H5Tset_size(type, H5T_VARIABLE) >= 0;
    LMR_HID data = good ? H5Dcreate2(file, "/dataset/xml", type, space, H5P_DEFAULT, plan, H5P_DEFAULT) : -1;
    if (data >= 0 && H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, &text) >= 0) return LARMOR_OK;
    return failed("write a text");
}

/* The sides of chunks of about CHUNK_BYTES of at most one image, each of which is elements in a row. */
static void choose_chunk(int rank, int64_t element, const hsize_t *dim, hsize_t *chunk)
{
    int64_t bytes = element;
    for (int d = rank - 1; d >= 0; d--) {
        const int64_t fit = bytes < CHUNK_BYTES ? CHUNK_BYTES / bytes : 1;
        chunk[d] = dim[d] < (hsize_t)fit ? dim[d] : (hsize_t)fit;
        if (rank == LMR_MRD_RANK && d == 0) chunk[d] = 1;
        bytes *= (int64_t)chunk[d];
    }
}

/* A dataset whose first dimension can grow. */
static hid_t create_dataset(hid_t file, const char *path, hid_t type, int rank, const hsize_t *dim, hsize_t *chunk,
                            int checksums)
{
    hsize_t most[LMR_MRD_RANK];
    choose_chunk(rank, (int64_t)H5Tget_size(type), dim, chunk);
    for (int d = 0; d < rank; d++) most[d] = d ? dim[d] : H5S_UNLIMITED;
    LMR_HID space = H5Screate_simple(rank, dim, most), plan = dataset_plan();
    const int good = space >= 0 && plan >= 0 && H5Pset_chunk(plan, rank, chunk) >= 0 &&
                     (!checksums || H5Pset_fletcher32(plan) >= 0);
    return good ? H5Dcreate2(file, path, type, space, H5P_DEFAULT, plan, H5P_DEFAULT) : -1;
}

static int create_groups(hid_t file, int with_series)
{
    LMR_HID group = H5Gcreate2(file, "/dataset", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (group < 0 || !with_series) return group >= 0;
    LMR_HID series = H5Gcreate2(file, LMR_MRD_SERIES, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    return series >= 0;
}

/* Create a dataset of one record per image and write it; type: negative where HDF5 has failed. */
static larmor_status write_records(hid_t file, const char *path, hid_t type, int count, const void *records)
{
    const hsize_t dim = (hsize_t)count;
    hsize_t chunk;
    LMR_HID data = type < 0 ? -1 : create_dataset(file, path, type, 1, &dim, &chunk, 0);
    if (data >= 0 && H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, records) >= 0) return LARMOR_OK;
    return failed("compose the images");
}

/* ---- images ---- */

static larmor_status note_piece(lmr_composer *c, lmr_reader_piece piece)
{
    const lmr_reader_piece *last = c->pieces ? &c->piece[c->pieces - 1] : NULL;
    if (last && piece.at < last->at + last->bytes + LMR_CHECKSUM_BYTES) return failed("put the images in order");
    LMR_TRY(lmr_grow(&c->piece, c->pieces, &c->room, sizeof *c->piece));
    c->piece[c->pieces++] = piece;
    return LARMOR_OK;
}

/* Let HDF5 write a chunk, whose bytes nobody keeps, and note where. */
static larmor_status place_chunk(lmr_composer *c, hid_t data, const hsize_t *origin, const void *nothing,
                                 int64_t bytes, int64_t first, int64_t count)
{
    c->memory.dropping = 1;
    c->memory.dropped = -1;
    const herr_t bad = H5Dwrite_chunk(data, H5P_DEFAULT, 0, origin, (size_t)bytes + LMR_CHECKSUM_BYTES, nothing);
    c->memory.dropping = 0;
    if (bad < 0 || c->memory.dropped < 0) return failed("compose the images");
    return note_piece(c, (lmr_reader_piece){c->memory.dropped, bytes, first, count});
}

/* Chunks in the order of their elements: each is cut along one dimension, and 1 along those before it. */
static larmor_status place_chunks(lmr_composer *c, hid_t data, const hsize_t *dim, const hsize_t *chunk,
                                  int64_t element)
{
    int64_t in_chunk = 1, first = 0;
    int cut = 0;
    hsize_t origin[LMR_MRD_RANK] = {0};
    for (int d = 0; d < LMR_MRD_RANK; d++) in_chunk *= (int64_t)chunk[d];
    for (int d = 0; d < LMR_MRD_RANK; d++)
        if (chunk[d] < dim[d]) cut = d;
    LMR_HEAP void *nothing = calloc(1, (size_t)(in_chunk * element) + LMR_CHECKSUM_BYTES);
    if (!nothing) return LMR_NO_MEMORY();
    while (origin[0] < dim[0]) {
        const hsize_t left = dim[cut] - origin[cut];
        const hsize_t here = left < chunk[cut] ? left : chunk[cut];
        const int64_t count = in_chunk / (int64_t)chunk[cut] * (int64_t)here;
        LMR_TRY(place_chunk(c, data, origin, nothing, in_chunk * element, first, count));
        first += count;
        origin[cut] += chunk[cut];
        for (int d = cut; d > 0 && origin[d] >= dim[d]; d--) {
            origin[d] = 0;
            origin[d - 1]++;
        }
    }
    return LARMOR_OK;
}

static larmor_status place_data(lmr_composer *c, const lmr_reader_images *images)
{
    const hsize_t dim[LMR_MRD_RANK] = {(hsize_t)images->count, 1, (hsize_t)images->dim[2], (hsize_t)images->dim[1],
                                       (hsize_t)images->dim[0]};
    hsize_t chunk[LMR_MRD_RANK];
    LMR_HID type = images->is_complex ? lmr_mrd_complex_type() : H5Tcopy(H5T_NATIVE_FLOAT);
    LMR_HID data = type < 0 ? -1 : create_dataset(c->file, LMR_MRD_SERIES "/data", type, LMR_MRD_RANK, dim, chunk, 1);
    return data < 0 ? failed("compose the images") : place_chunks(c, data, dim, chunk, (int64_t)H5Tget_size(type));
}

static larmor_status write_attributes(lmr_composer *c, int count, const int64_t *lengths, work *w)
{
    LMR_HEAP LMR_NEW_ZEROS(const char *, texts, count);
    for (int i = 0; i < count; i++) {
        int64_t length;
        memcpy(&length, lengths + i, sizeof length);
        texts[i] = length > 0 ? take(w, (size_t)length) : NULL;
        if (!texts[i] || texts[i][length - 1]) return nonsense();
    }
    LMR_HID string = H5Tcopy(H5T_C_S1);
    const int good = string >= 0 && H5Tset_size(string, H5T_VARIABLE) >= 0;
    return write_records(c->file, LMR_MRD_SERIES "/attributes", good ? string : -1, count, texts);
}

static larmor_status compose_images(lmr_composer *c, work *w)
{
    const lmr_reader_images *given = take(w, sizeof *given);
    if (!given) return nonsense();
    const lmr_reader_images images = *given;
    for (int d = 0; d < 3; d++)
        if (images.dim[d] < 1 || images.dim[d] > LMR_MRD_MAX_COUNTER) return nonsense();
    if (images.count < 1 || images.count > LMR_MRD_MAX_COUNTER) return nonsense();
    const void *headers = take(w, (size_t)images.count * sizeof(lmr_mrd_image));
    const int64_t *lengths = take(w, (size_t)images.count * sizeof *lengths);
    if (!headers || !lengths) return nonsense();
    if (!create_groups(c->file, 1)) return failed("compose the images");
    LMR_HID header = lmr_mrd_image_type();
    LMR_TRY(write_records(c->file, LMR_MRD_SERIES "/header", header, images.count, headers));
    LMR_TRY(write_attributes(c, images.count, lengths, w));
    LMR_TRY(place_data(c, &images));
    if (!images.xml_bytes) return LARMOR_OK;
    const char *xml = images.xml_bytes > 0 ? take(w, (size_t)images.xml_bytes) : NULL;
    if (!xml || xml[images.xml_bytes - 1]) return nonsense();
    return write_header(c->file, xml);
}

/* ---- scans ---- */

/* A dataset of records that follow one another; -1 where HDF5 fails. */
static hid_t create_list(hid_t file, const char *path, hid_t type)
{
    const hsize_t none = 0, most = H5S_UNLIMITED, chunk = BATCH;
    LMR_HID space = H5Screate_simple(1, &none, &most), plan = dataset_plan();
    LMR_HID packed = type < 0 ? -1 : H5Tcopy(type);
    const int good =
        space >= 0 && plan >= 0 && packed >= 0 && H5Tpack(packed) >= 0 && H5Pset_chunk(plan, 1, &chunk) >= 0;
    return good ? H5Dcreate2(file, path, packed, space, H5P_DEFAULT, plan, H5P_DEFAULT) : -1;
}

static larmor_status create_scan(lmr_composer *c)
{
    const int good = create_groups(c->file, 0);
    c->type = lmr_mrd_acquisition_type();
    if (good) c->data = create_list(c->file, "/dataset/data", c->type);
    return c->data < 0 ? failed("compose the acquisitions") : LARMOR_OK;
}

/* Records behind those that are there. */
static int append_records(hid_t data, hid_t type, int64_t written, const void *records, hsize_t count)
{
    const hsize_t first = (hsize_t)written, total = first + count;
    LMR_HID space = H5Dset_extent(data, &total) >= 0 ? H5Dget_space(data) : -1;
    LMR_HID memory = H5Screate_simple(1, &count, NULL);
    return space >= 0 && memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &count, NULL) >= 0 &&
           H5Dwrite(data, type, memory, space, H5P_DEFAULT, records) >= 0;
}

static larmor_status append(lmr_composer *c, const lmr_mrd_acquisition *batch, hsize_t count)
{
    const int good = append_records(c->data, c->type, c->written, batch, count);
    c->written += (int64_t)count;
    return good ? LARMOR_OK : failed("compose the acquisitions");
}

static larmor_status append_blocks(lmr_composer *c, work *w)
{
    while (w->left) {
        lmr_reader_block block;
        const void *given = take(w, sizeof block);
        if (!given) return nonsense();
        memcpy(&block, given, sizeof block);
        if (block.data < 0) return nonsense();
        void *data = lmr_mutable(take(w, (size_t)block.data * sizeof(uint32_t)));
        if (!data) return nonsense();
        if (c->waves < 0) {
            c->wave_type = lmr_mrd_waveform_type();
            c->waves = create_list(c->file, "/dataset/waveforms", c->wave_type);
        }
        const lmr_mrd_waveform one = {.head = block.head, .data = {(size_t)block.data, data}};
        if (c->waves < 0 || !append_records(c->waves, c->wave_type, c->blocks, &one, 1))
            return failed("compose the waveforms");
        c->blocks++;
    }
    return LARMOR_OK;
}

static larmor_status append_all(lmr_composer *c, work *w)
{
    while (w->left) {
        lmr_mrd_acquisition batch[BATCH];
        hsize_t count = 0;
        for (; count < BATCH && w->left; count++) {
            lmr_reader_readout readout;
            const void *given = take(w, sizeof readout);
            if (!given) return nonsense();
            memcpy(&readout, given, sizeof readout);
            if (readout.traj < 0 || readout.data < 0) return nonsense();
            void *traj = lmr_mutable(take(w, (size_t)readout.traj * sizeof(float)));
            void *data = lmr_mutable(take(w, (size_t)readout.data * sizeof(float)));
            if (!traj || !data) return nonsense();
            batch[count] = (lmr_mrd_acquisition){
                .head = readout.head, .traj = {(size_t)readout.traj, traj}, .data = {(size_t)readout.data, data}};
        }
        LMR_TRY(append(c, batch, count));
    }
    return LARMOR_OK;
}

static larmor_status complete_scan(lmr_composer *c, const work *w)
{
    const char *xml = (const char *)w->next;
    if (!w->left || xml[w->left - 1]) return nonsense();
    lmr_h5_close(c->data);
    lmr_h5_close(c->type);
    lmr_h5_close(c->waves);
    lmr_h5_close(c->wave_type);
    c->data = c->type = c->waves = c->wave_type = -1;
    return write_header(c->file, xml);
}

/* ---- */

static larmor_status begin(lmr_composer **out, int is_scan)
{
    LMR_NEW_ZEROS(lmr_composer, c, 1);
    c->type = c->data = c->waves = c->wave_type = -1;
    c->file = lmr_memory_create(&c->memory);
    *out = c; /* the process ends after one file, which frees all */
    if (c->file < 0) return failed("begin a file in memory");
    return is_scan ? create_scan(c) : LARMOR_OK;
}

static larmor_status finish(lmr_composer *c, lmr_reader_composed *composed)
{
    const hid_t file = c->file;
    c->file = -1;
    if (!lmr_memory_close(file)) return failed("complete the file in memory");
    *composed = (lmr_reader_composed){c->memory.size, c->pieces};
    return LARMOR_OK;
}

larmor_status lmr_compose(lmr_composer **composer, lmr_reader_ask ask, const unsigned char *bytes, size_t count,
                          lmr_reader_composed *composed)
{
    work w = {bytes, count};
    lmr_h5_quiet(); /* the process has no other use of HDF5 */
    if (!*composer) LMR_TRY(begin(composer, ask != LMR_ASK_IMAGES));
    lmr_composer *c = *composer;
    if (c->file < 0) return nonsense();
    if (ask == LMR_ASK_SAMPLES) return c->data < 0 ? nonsense() : append_all(c, &w);
    if (ask == LMR_ASK_BLOCKS) return c->data < 0 ? nonsense() : append_blocks(c, &w);
    if (ask == LMR_ASK_IMAGES)
        LMR_TRY(compose_images(c, &w));
    else
        LMR_TRY(c->data < 0 ? nonsense() : complete_scan(c, &w));
    return finish(c, composed);
}

const lmr_reader_piece *lmr_composed_pieces(const lmr_composer *c)
{
    return c->piece;
}

larmor_status lmr_composed_bytes(const lmr_composer *c, int64_t at, int64_t bytes, void *to)
{
    if (at < 0 || bytes < 0 || at > c->memory.size || bytes > c->memory.size - at) return nonsense();
    lmr_memory_read(&c->memory, at, (size_t)bytes, to);
    return LARMOR_OK;
}
