/* Writing ISMRMRD images: /dataset/image_0 with header, data {N, channels, z, y, x} and attributes, and the scan's
 * XML header. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/bytes.h"
#include "io/images/formats.h"
#include "io/images/image_check.h"
#include "io/process/h5_write.h"

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

static larmor_status check_ranges(const char *path, const lmr_images *images)
{
    LMR_REFUSE(images->count > LMR_MRD_MAX_COUNTER, LARMOR_ERR_ARG, "%s: %d images, at most %d fit", path,
               images->count, LMR_MRD_MAX_COUNTER);
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(images->dim[d] > LMR_MRD_MAX_COUNTER, LARMOR_ERR_ARG,
                   "%s: %" PRId64 " voxels along an axis, at most %d fit", path, images->dim[d], LMR_MRD_MAX_COUNTER);
    for (int i = 0; i < images->count; i++) {
        const larmor_image_meta *m = &images->image[i].meta;
        const int counter[] = {m->average, m->slice, m->contrast, m->phase, m->repetition, m->set};
        for (size_t c = 0; c < sizeof counter / sizeof counter[0]; c++)
            LMR_REFUSE(counter[c] < 0 || counter[c] > LMR_MRD_MAX_COUNTER, LARMOR_ERR_ARG,
                       "%s: image %d has a counter of %d; 0 to %d expected", path, i + 1, counter[c],
                       LMR_MRD_MAX_COUNTER);
    }
    return LARMOR_OK;
}

static lmr_mrd_image header_of(const lmr_images *images, int i, int is_complex, size_t attributes)
{
    lmr_mrd_image h = lmr_mrd_image_of(&images->image[i].meta, images->dim, attributes);
    h.data_type = is_complex ? LMR_MRD_COMPLEX_FLOAT : LMR_MRD_FLOAT;
    h.image_index = (uint16_t)(i + 1);
    h.image_type = images->opts->magnitude ? LMR_MRD_MAGNITUDE : LMR_MRD_REAL;
    if (is_complex) h.image_type = LMR_MRD_COMPLEX;
    return h;
}

/* The numbers of image i, which HDF5 would convert: finite, or refused. */
static larmor_status values_of(const larmor_output *out, const lmr_images *images, int i, int is_complex,
                               float *values)
{
    const lmr_as real = images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_REAL;
    LMR_TRY(lmr_values(images->image[i].data, is_complex ? LMR_AS_COMPLEX : real, values));
    return lmr_finite(out, is_complex ? LARMOR_C64 : LARMOR_F32, values, images->voxels);
}

/* All pieces with elements of the images, each of which belongs to one image. edge: room for the longest. */
static larmor_status put_pieces(lmr_h5_new *file, const lmr_images *images, int is_complex, float *values, void *edge)
{
    const int64_t element = (is_complex ? 2 : 1) * (int64_t)sizeof *values;
    int now = -1;
    for (int64_t i = 0; i < file->pieces; i++) {
        const lmr_reader_piece *p = &file->piece[i];
        const int64_t image = p->first / images->voxels, first = p->first % images->voxels;
        if (image >= images->count || p->count > images->voxels - first || p->bytes < p->count * element)
            return lmr_reader_lies(file->reader);
        if (image != now) LMR_TRY(values_of(file->out, images, (int)image, is_complex, values));
        now = (int)image;
        LMR_TRY(lmr_h5_put_structure(file, i));
        const void *elements = (const char *)values + first * element;
        if (p->bytes > p->count * element) {
            memset(edge, 0, (size_t)p->bytes);
            memcpy(edge, elements, (size_t)(p->count * element));
            elements = edge;
        }
        LMR_TRY(lmr_h5_put_piece(file, i, elements));
    }
    return lmr_h5_put_structure(file, file->pieces);
}

static larmor_status put_images(lmr_h5_new *file, const lmr_images *images, int is_complex)
{
    const lmr_reader_piece *last = file->pieces ? &file->piece[file->pieces - 1] : NULL;
    int64_t longest = 0;
    if (!last || last->first + last->count != images->voxels * images->count) return lmr_reader_lies(file->reader);
    for (int64_t i = 0; i < file->pieces; i++)
        longest = file->piece[i].bytes > longest ? file->piece[i].bytes : longest;
    LMR_HEAP float *values = lmr_new(images->voxels, (is_complex ? 2 : 1) * sizeof *values);
    LMR_HEAP void *edge = lmr_new(longest, 1);
    return values && edge ? put_pieces(file, images, is_complex, values, edge) : LMR_NO_MEMORY();
}

/* All but the elements, as lmr_reader_images says. */
static larmor_status describe(const lmr_images *images, int is_complex, lmr_bytes *work)
{
    const int count = images->count;
    const char *xml = images->opts->header;
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes attributes = {0}, lengths = {0};
    lmr_reader_images head = {
        .count = count, .is_complex = is_complex, .xml_bytes = xml ? (int64_t)strlen(xml) + 1 : 0};
    memcpy(head.dim, images->dim, sizeof head.dim);
    lmr_bytes_add(work, &head, sizeof head);
    for (int i = 0; i < count; i++) {
        const size_t before = attributes.size;
        LMR_TRY(make_attributes(images->opts, i, &attributes));
        const lmr_mrd_image header = header_of(images, i, is_complex, attributes.size - before);
        lmr_bytes_add(&attributes, "", 1);
        const int64_t length = (int64_t)(attributes.size - before);
        lmr_bytes_add(&lengths, &length, sizeof length);
        lmr_bytes_add(work, &header, sizeof header);
    }
    LMR_TRY(lmr_bytes_end(&lengths));
    lmr_bytes_add(work, lengths.data, lengths.size);
    lmr_bytes_add(work, attributes.data, attributes.size);
    if (xml) lmr_bytes_add(work, xml, strlen(xml) + 1);
    return attributes.failed ? LMR_NO_MEMORY() : lmr_bytes_end(work);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    const int is_complex = images->is_complex && !images->opts->magnitude;
    lmr_bytes work = {0};
    LMR_FREED_BY(lmr_h5_end) lmr_h5_new file = {0};
    LMR_TRY(check_ranges(out->path, images));
    larmor_status st = describe(images, is_complex, &work);
    if (!st) st = lmr_h5_begin(out, (int64_t)work.size, &file);
    if (!st) st = lmr_h5_give(&file, LMR_ASK_IMAGES, &work);
    lmr_bytes_free(&work);
    if (!st) st = put_images(&file, images, is_complex);
    lmr_h5_end(&file); /* before another process reads them */
    return st ? st : lmr_images_read_back(out);
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
    .check = check_ranges,
    .can = LMR_CAN_READ | LMR_CAN_READ_META | LMR_CAN_DESCRIBE | LMR_CAN_LIST | LMR_CAN_PLACE,
};
