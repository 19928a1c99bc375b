/* NIfTI-1 in one file, plain or gzipped: voxels of any of its simple types, geometry, description.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <nifti1_io.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "io/reader/numbers.h"
#include "io/reader/parsers.h"

#define DATA_OFFSET 352
#define MOST_AT_ONCE (1 << 30)
#define AT_ONCE 4096 /* voxels */

typedef struct voxel_type {
    int code, bytes;
    larmor_dtype dtype;                            /* that they become */
    double (*value_of)(const unsigned char *from); /* NULL: they are that */
} voxel_type;

typedef struct nifti { /* an opened file, positioned behind the header */
    gzFile file;
    nifti_1_header header;
    int axes;
    int64_t dim[7], count;
    voxel_type type;
} nifti;

static larmor_status damaged(const lmr_source *source)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: file cut short or damaged. Copy it again.", source->path);
}

static larmor_status take(const lmr_source *source, gzFile file, void *to, size_t bytes)
{
    char *p = to;
    while (bytes) {
        const int done = gzread(file, p, bytes < MOST_AT_ONCE ? (unsigned)bytes : MOST_AT_ONCE);
        if (done <= 0) return damaged(source);
        p += done;
        bytes -= (size_t)done;
    }
    return LARMOR_OK;
}

/* After the last voxel: the end of a gzip stream, where its checksum is. */
static larmor_status check_end(const lmr_source *source, gzFile file)
{
    char more;
    int error = Z_OK;
    const int got = gzread(file, &more, 1);
    gzerror(file, &error);
    if (got < 0 || (error != Z_OK && error != Z_STREAM_END)) return damaged(source);
    return LARMOR_OK;
}

LMR_NUMBERS(double)

/* NIfTI's types that are read. */
static const voxel_type voxel_types[] = {
    {DT_UINT8, 1, LARMOR_F32, from_uint8_t},   {DT_INT8, 1, LARMOR_F32, from_int8_t},
    {DT_INT16, 2, LARMOR_F32, from_int16_t},   {DT_UINT16, 2, LARMOR_F32, from_uint16_t},
    {DT_FLOAT32, 4, LARMOR_F32, from_float},   {DT_INT32, 4, LARMOR_F64, from_int32_t},
    {DT_UINT32, 4, LARMOR_F64, from_uint32_t}, {DT_FLOAT64, 8, LARMOR_F64, from_double},
    {DT_COMPLEX64, 8, LARMOR_C64, NULL},       {DT_COMPLEX128, 16, LARMOR_C128, NULL}};

static larmor_status check_header(const lmr_source *source, nifti *n)
{
    const nifti_1_header *h = &n->header;
    const char *path = source->path;
    LMR_REFUSE(h->sizeof_hdr != (int)sizeof *h || memcmp(h->magic, "n+1", 4), LARMOR_ERR_FORMAT,
               "%s: not a little-endian NIfTI-1 file with its data inside.", path);
    n->axes = h->dim[0];
    LMR_REFUSE(n->axes < 1 || n->axes > 7, LARMOR_ERR_FORMAT, "%s: %d dimensions; 1 to 7 expected.", path, n->axes);
    for (size_t i = 0; i < sizeof voxel_types / sizeof *voxel_types; i++)
        if (voxel_types[i].code == h->datatype) n->type = voxel_types[i];
    LMR_REFUSE(!n->type.bytes || h->bitpix != 8 * n->type.bytes, LARMOR_ERR_FORMAT,
               "%s: type %d with %d bits is not read.", path, h->datatype, h->bitpix);
    n->count = 1;
    for (int d = 0; d < n->axes; d++) {
        n->dim[d] = h->dim[d + 1];
        LMR_REFUSE(n->dim[d] < 1 || !lmr_mul(n->count, n->dim[d], &n->count), LARMOR_ERR_FORMAT,
                   "%s: size %d is %d; 1 or more expected.", path, d + 1, h->dim[d + 1]);
    }
    LMR_REFUSE(!(h->vox_offset >= DATA_OFFSET && h->vox_offset <= 1e9f) || h->vox_offset != floorf(h->vox_offset),
               LARMOR_ERR_FORMAT, "%s: data offset %g; %d or more expected.", path, (double)h->vox_offset,
               DATA_OFFSET);
    LMR_REFUSE(!lmr_could_hold(source->size, n->count, n->type.bytes, 1), LARMOR_ERR_FORMAT,
               "%s: claims %" PRId64 " voxels but has %" PRId64 " bytes.", path, n->count, source->size);
    return LARMOR_OK;
}

static larmor_status open_nifti(const lmr_source *source, nifti *n)
{
    *n = (nifti){0};
    const int fd = dup(source->fd);
    if (fd >= 0 && lseek(fd, 0, SEEK_SET) == 0) n->file = gzdopen(fd, "rb"); /* reads plain files as they are */
    if (!n->file) {
        if (fd >= 0) close(fd);
        return LMR_NO_MEMORY();
    }
    larmor_status st = take(source, n->file, &n->header, sizeof n->header);
    if (!st) st = check_header(source, n);
    if (st) gzclose(n->file);
    return st;
}

/* Real voxels, scaled as the header says. */
static larmor_status take_real(const lmr_source *source, const nifti *n, void *out)
{
    double slope = (double)n->header.scl_slope, inter = (double)n->header.scl_inter;
    if (!isfinite(slope) || !isfinite(inter) || slope == 0) {
        slope = 1;
        inter = 0;
    }
    _Alignas(double) unsigned char raw[AT_ONCE * sizeof(double)];
    for (int64_t first = 0; first < n->count; first += AT_ONCE) {
        const int64_t now = n->count - first < AT_ONCE ? n->count - first : AT_ONCE;
        LMR_TRY(take(source, n->file, raw, (size_t)(now * n->type.bytes)));
        for (int64_t i = 0; i < now; i++) {
            const double v = n->type.value_of(raw + i * n->type.bytes) * slope + inter;
            if (n->type.dtype == LARMOR_F64)
                ((double *)out)[first + i] = v;
            else
                ((float *)out)[first + i] = (float)v;
        }
    }
    return LARMOR_OK;
}

static larmor_status read_voxels(const lmr_input *input, const nifti *n, lmr_reader_array *array)
{
    const lmr_source *source = &input->source;
    void *room;
    *array = (lmr_reader_array){
        .dtype = (int)n->type.dtype, .axes = n->axes, .bytes = n->count * lmr_element_bytes(n->type.dtype)};
    for (int d = 0; d < n->axes; d++) array->dim[d] = n->dim[d];
    LMR_TRY(input->room(input->user, array->bytes, &room));
    if (gzseek(n->file, (z_off_t)n->header.vox_offset, SEEK_SET) < 0) return damaged(source);
    LMR_TRY(n->type.value_of ? take_real(source, n, room) : take(source, n->file, room, (size_t)array->bytes));
    return check_end(source, n->file);
}

static larmor_status read_images(const lmr_input *input, lmr_reader_array *array)
{
    nifti n;
    LMR_TRY(open_nifti(&input->source, &n));
    const larmor_status st = read_voxels(input, &n, array);
    gzclose(n.file);
    return st;
}

/* Fields of view, directions and position of a volume of dim voxels from its affine, LPS. */
static void set_geometry(double affine[3][4], const int64_t dim[3], larmor_image_meta *meta)
{
    double *const direction[3] = {meta->read_dir, meta->phase_dir, meta->slice_dir};
    for (int d = 0; d < 3; d++) {
        const double length =
            sqrt(affine[0][d] * affine[0][d] + affine[1][d] * affine[1][d] + affine[2][d] * affine[2][d]);
        for (int k = 0; k < 3; k++) direction[d][k] = length > 0 && isfinite(length) ? affine[k][d] / length : k == d;
        meta->fov_mm[d] = length * (double)dim[d];
    }
    for (int k = 0; k < 3; k++) {
        meta->position_mm[k] = affine[k][3];
        for (int d = 0; d < 3; d++) meta->position_mm[k] += (double)(dim[d] / 2) * affine[k][d];
    }
}

/* 1 if the rows of a matrix of code 0 are filled in all the same, as larmor does: relative to images of the same
 *   scan they
 * are right. */
static int has_axes(const float *const row[3])
{
    int axes = 1;
    for (int c = 0; c < 3; c++) axes &= row[0][c] != 0 || row[1][c] != 0 || row[2][c] != 0;
    return axes;
}

static larmor_status read_meta(const lmr_input *input, larmor_image_meta *meta)
{
    const lmr_source *source = &input->source;
    nifti n;
    LMR_TRY(open_nifti(source, &n));
    gzclose(n.file);
    const nifti_1_header *h = &n.header;
    double affine[3][4] = {{0}};
    const float *const row[3] = {h->srow_x, h->srow_y, h->srow_z};
    const int unknown = h->sform_code <= 0 && h->qform_code <= 0;
    if (h->sform_code > 0 || (unknown && has_axes(row))) {
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 4; c++) affine[k][c] = (double)row[k][c];
    } else if (h->qform_code > 0) {
        const mat44 q =
            nifti_quatern_to_mat44(h->quatern_b, h->quatern_c, h->quatern_d, h->qoffset_x, h->qoffset_y, h->qoffset_z,
                                   h->pixdim[1], h->pixdim[2], h->pixdim[3], h->pixdim[0] < 0 ? -1 : 1);
        for (int k = 0; k < 3; k++)
            for (int c = 0; c < 4; c++) affine[k][c] = (double)q.m[k][c];
    } else {
        for (int k = 0; k < 3; k++) affine[k][k] = (double)h->pixdim[k + 1];
    }
    for (int c = 0; c < 4; c++) {
        affine[0][c] = -affine[0][c];
        affine[1][c] = -affine[1][c];
    }
    const int64_t dim[3] = {n.dim[0], n.axes > 1 ? n.dim[1] : 1, n.axes > 2 ? n.dim[2] : 1};
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++)
            LMR_REFUSE(!isfinite(affine[k][c]), LARMOR_ERR_FORMAT, "%s: geometry is not finite.", source->path);
    set_geometry(affine, dim, meta);
    meta->place_unknown = unknown;
    return LARMOR_OK;
}

static larmor_status describe(const lmr_input *input, larmor_image_info *info)
{
    nifti n;
    LMR_TRY(open_nifti(&input->source, &n));
    gzclose(n.file);
    info->has_geometry = 1;
    snprintf(info->type, sizeof info->type, "%s", nifti_datatype_string(n.header.datatype));
    const int length = (int)strnlen(n.header.descrip, sizeof n.header.descrip);
    if (length)
        snprintf(info->notes, sizeof info->notes, "description: %s\n",
                 lmr_printable(n.header.descrip, length, length).s);
    return LARMOR_OK;
}

const lmr_parser lmr_parser_nii = {
    .suffix = ".nii",
    .read = read_images,
    .read_meta = read_meta,
    .describe = describe,
};

const lmr_parser lmr_parser_nii_gz = {
    .suffix = ".nii.gz",
    .read = read_images,
    .read_meta = read_meta,
    .describe = describe,
};
