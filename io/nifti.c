/* NIfTI-1 in one file, plain or gzipped: magnitude (or real values) as float, RAS, mm, qform and sform alike. Slices
 * are stacked into volumes, other groups become the fourth dimension. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <nifti1_io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "io/bytes.h"
#include "io/volume.h"

#define DATA_OFFSET 352
#define MAX_SIZE 32767 /* sizes are 16 bit numbers */
#define GZIP_WINDOW (15 + 16)
#define MOST_AT_ONCE (1 << 30)

/* ---- writing ---- */

static larmor_status make_header(const lmr_volumes *v, const int64_t dim[3], nifti_1_header *header)
{
    nifti_image *n = nifti_simple_init_nim();
    if (!n) return LMR_NO_MEMORY();
    mat44 ras = {{{0}}};
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++) ras.m[k][c] = (float)(k < 2 ? -v->affine[k][c] : v->affine[k][c]);
    ras.m[3][3] = 1;
    n->sto_xyz = n->qto_xyz = ras;
    nifti_mat44_to_quatern(ras, &n->quatern_b, &n->quatern_c, &n->quatern_d, &n->qoffset_x, &n->qoffset_y,
                           &n->qoffset_z, NULL, NULL, NULL, &n->qfac);
    n->qform_code = n->sform_code = NIFTI_XFORM_SCANNER_ANAT;
    n->ndim = n->dim[0] = v->volumes > 1 ? 4 : 3;
    n->nx = n->dim[1] = (int)dim[0], n->ny = n->dim[2] = (int)dim[1];
    n->nz = n->dim[3] = (int)dim[2] * v->slices, n->nt = n->dim[4] = v->volumes;
    for (int c = 0; c < 3; c++)
        n->pixdim[c + 1] = (float)sqrt(pow(v->affine[0][c], 2) + pow(v->affine[1][c], 2) + pow(v->affine[2][c], 2));
    n->dx = n->pixdim[1], n->dy = n->pixdim[2], n->dz = n->pixdim[3], n->dt = n->pixdim[4] = 1;
    n->datatype = DT_FLOAT32, n->nbyper = 4;
    n->nifti_type = NIFTI_FTYPE_NIFTI1_1, n->iname_offset = DATA_OFFSET;
    n->xyz_units = NIFTI_UNITS_MM;
    n->scl_slope = 1, n->scl_inter = 0;
    memcpy(n->descrip, "larmor", sizeof "larmor");
    *header = nifti_convert_nim2nhdr(n);
    nifti_image_free(n);
    return LARMOR_OK;
}

static larmor_status compress_to(z_stream *z, lmr_bytes *packed, const void *data, size_t bytes, int last)
{
    unsigned char buffer[65536];
    const unsigned char *from = data;
    do {
        const size_t now = bytes < MOST_AT_ONCE ? bytes : MOST_AT_ONCE;
        z->next_in = (unsigned char *)(uintptr_t)from, z->avail_in = (uInt)now;
        from += now, bytes -= now;
        const int flush = last && !bytes ? Z_FINISH : Z_NO_FLUSH;
        do {
            z->next_out = buffer, z->avail_out = sizeof buffer;
            if (deflate(z, flush) == Z_STREAM_ERROR) return LMR_FAIL(LARMOR_ERR_BACKEND, "zlib: stream error");
            lmr_bytes_add(packed, buffer, sizeof buffer - z->avail_out);
        } while (!z->avail_out);
    } while (bytes);
    return LARMOR_OK;
}

/* Header and voxels in the order of the file, to z and packed or, if z is NULL, to the output. */
static larmor_status emit(larmor_output *out, const lmr_images *images, const lmr_volumes *v, z_stream *z,
                          lmr_bytes *packed)
{
    nifti_1_header header;
    LMR_TRY(make_header(v, images->dim, &header));
    unsigned char start[DATA_OFFSET] = {0};
    memcpy(start, &header, sizeof header);
    LMR_TRY(z ? compress_to(z, packed, start, sizeof start, 0) : lmr_output_put(out, 0, start, sizeof start));
    const size_t bytes = (size_t)images->voxels * sizeof(float);
    float *voxels = malloc(bytes);
    if (!voxels) return LMR_NO_MEMORY();
    const lmr_as as = images->is_complex || images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_REAL;
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < images->count && !st; i++) {
        st = lmr_values(images->image[v->order[i]].data, as, voxels);
        if (!st) st = lmr_finite(out, LARMOR_F32, voxels, images->voxels);
        if (st) break;
        st =
            z ? compress_to(z, packed, voxels, bytes, i == images->count - 1) : lmr_output_put(out, 0, voxels, bytes);
    }
    free(voxels);
    return st;
}

static larmor_status emit_gzipped(larmor_output *out, const lmr_images *images, const lmr_volumes *v)
{
    z_stream z = {0};
    lmr_bytes packed = {0};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return LMR_NO_MEMORY();
    larmor_status st = emit(out, images, v, &z, &packed);
    deflateEnd(&z);
    if (!st) st = lmr_bytes_end(&packed);
    if (!st) st = lmr_output_reserve(out, 0, (int64_t)packed.size);
    if (!st) st = lmr_output_put(out, 0, packed.data, packed.size);
    lmr_bytes_free(&packed);
    return st;
}

static larmor_status write_either(larmor_output *out, const lmr_images *images, int gzipped)
{
    lmr_volumes v;
    LMR_TRY(lmr_arrange(out->path, images, &v));
    const int64_t sizes[4] = {images->dim[0], images->dim[1], images->dim[2] * v.slices, v.volumes};
    int64_t bytes = sizeof(float);
    larmor_status st = LARMOR_OK;
    for (int d = 0; d < 4 && !st; d++)
        if (sizes[d] > MAX_SIZE || !lmr_mul(bytes, sizes[d], &bytes))
            st = LMR_FAIL(LARMOR_ERR_ARG,
                          "%s: NIfTI-1 holds at most %d voxels along an axis, got %" PRId64 "; use .h5", out->path,
                          MAX_SIZE, sizes[d]);
    if (!st && !gzipped) st = lmr_output_reserve(out, 0, bytes + DATA_OFFSET);
    if (!st) st = gzipped ? emit_gzipped(out, images, &v) : emit(out, images, &v, NULL, NULL);
    free(v.order);
    return st;
}

static larmor_status write_plain(larmor_output *out, const lmr_images *images)
{
    return write_either(out, images, 0);
}

static larmor_status write_packed(larmor_output *out, const lmr_images *images)
{
    return write_either(out, images, 1);
}

/* ---- reading ---- */

typedef struct nifti { /* an opened file, positioned behind the header */
    gzFile file;
    nifti_1_header header;
    int axes;
    int64_t dim[7], count;
    int64_t bytes; /* of a voxel */
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
        p += done, bytes -= (size_t)done;
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

/* The dtype for a NIfTI type and its bytes per voxel; 0 for those that are not read. */
static int64_t type_of(int datatype, larmor_dtype *dtype)
{
    *dtype = LARMOR_F32;
    switch (datatype) {
    case DT_UINT8:
    case DT_INT8:
        return 1;
    case DT_INT16:
    case DT_UINT16:
        return 2;
    case DT_FLOAT32:
        return 4;
    case DT_INT32:
    case DT_UINT32:
        *dtype = LARMOR_F64;
        return 4;
    case DT_FLOAT64:
        *dtype = LARMOR_F64;
        return 8;
    case DT_COMPLEX64:
        *dtype = LARMOR_C64;
        return 8;
    case DT_COMPLEX128:
        *dtype = LARMOR_C128;
        return 16;
    default:
        return 0;
    }
}

static larmor_status check_header(const lmr_source *source, nifti *n, larmor_dtype *dtype)
{
    const nifti_1_header *h = &n->header;
    const char *path = source->path;
    if (h->sizeof_hdr != (int)sizeof *h || memcmp(h->magic, "n+1", 4))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: not a little-endian NIfTI-1 file with its data inside.", path);
    n->axes = h->dim[0];
    if (n->axes < 1 || n->axes > 7)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %d dimensions; 1 to 7 expected.", path, n->axes);
    n->bytes = type_of(h->datatype, dtype);
    if (!n->bytes || h->bitpix != 8 * n->bytes)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: type %d with %d bits is not read.", path, h->datatype, h->bitpix);
    n->count = 1;
    for (int d = 0; d < n->axes; d++) {
        n->dim[d] = h->dim[d + 1];
        if (n->dim[d] < 1 || !lmr_mul(n->count, n->dim[d], &n->count))
            return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: size %d is %d; 1 or more expected.", path, d + 1, h->dim[d + 1]);
    }
    if (!(h->vox_offset >= DATA_OFFSET && h->vox_offset <= 1e9f) || h->vox_offset != floorf(h->vox_offset))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: data offset %g; %d or more expected.", path, (double)h->vox_offset,
                        DATA_OFFSET);
    if (!lmr_could_hold(source->size, n->count, n->bytes, 1))
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: claims %" PRId64 " voxels but has %" PRId64 " bytes.", path, n->count,
                        source->size);
    return LARMOR_OK;
}

static larmor_status open_nifti(const lmr_source *source, nifti *n, larmor_dtype *dtype)
{
    *n = (nifti){0};
    const int fd = dup(source->fd);
    n->file = fd < 0 ? NULL : gzdopen(fd, "rb"); /* reads plain files as they are */
    if (!n->file) {
        if (fd >= 0) close(fd);
        return LMR_NO_MEMORY();
    }
    larmor_status st = take(source, n->file, &n->header, sizeof n->header);
    if (!st) st = check_header(source, n, dtype);
    if (st) gzclose(n->file);
    return st;
}

/* Scaled as the header says; out has room for all voxels. */
static void to_real(const nifti *n, const void *raw, larmor_dtype dtype, void *out)
{
    double slope = (double)n->header.scl_slope, inter = (double)n->header.scl_inter;
    if (!isfinite(slope) || !isfinite(inter) || slope == 0) slope = 1, inter = 0;
    for (int64_t i = 0; i < n->count; i++) {
        double v = 0;
        switch (n->header.datatype) {
        case DT_UINT8:
            v = ((const uint8_t *)raw)[i];
            break;
        case DT_INT8:
            v = ((const int8_t *)raw)[i];
            break;
        case DT_INT16:
            v = ((const int16_t *)raw)[i];
            break;
        case DT_UINT16:
            v = ((const uint16_t *)raw)[i];
            break;
        case DT_INT32:
            v = ((const int32_t *)raw)[i];
            break;
        case DT_UINT32:
            v = ((const uint32_t *)raw)[i];
            break;
        case DT_FLOAT32:
            v = (double)((const float *)raw)[i];
            break;
        case DT_FLOAT64:
            v = ((const double *)raw)[i];
            break;
        default:
            break;
        }
        v = v * slope + inter;
        if (dtype == LARMOR_F64)
            ((double *)out)[i] = v;
        else
            ((float *)out)[i] = (float)v;
    }
}

static larmor_status read_images(const lmr_source *source, larmor_device *dev, larmor_array **x)
{
    nifti n;
    larmor_dtype dtype;
    LMR_TRY(open_nifti(source, &n, &dtype));
    const size_t bytes = (size_t)(n.count * n.bytes);
    void *raw = malloc(bytes), *out = NULL;
    larmor_status st = raw ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st && gzseek(n.file, (z_off_t)n.header.vox_offset, SEEK_SET) < 0) st = damaged(source);
    if (!st) st = take(source, n.file, raw, bytes);
    if (!st) st = check_end(source, n.file);
    if (!st && !lmr_is_complex(dtype)) {
        out = malloc((size_t)n.count * larmor_dtype_size(dtype));
        st = out ? LARMOR_OK : LMR_NO_MEMORY();
        if (!st) to_real(&n, raw, dtype, out);
    }
    larmor_shape shape;
    if (!st) st = lmr_shape_from(source->path, n.axes, n.dim, &shape);
    if (!st) st = larmor_array_upload(dev, dtype, shape, dtype, out ? out : raw, x);
    gzclose(n.file);
    free(raw), free(out);
    return st;
}

static larmor_status read_meta(const lmr_source *source, larmor_image_meta *meta)
{
    nifti n;
    larmor_dtype dtype;
    LMR_TRY(open_nifti(source, &n, &dtype));
    gzclose(n.file);
    const nifti_1_header *h = &n.header;
    double affine[3][4] = {{0}};
    if (h->sform_code > 0) {
        const float *const row[3] = {h->srow_x, h->srow_y, h->srow_z};
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
    for (int c = 0; c < 4; c++) affine[0][c] = -affine[0][c], affine[1][c] = -affine[1][c];
    const int64_t dim[3] = {n.dim[0], n.axes > 1 ? n.dim[1] : 1, n.axes > 2 ? n.dim[2] : 1};
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++)
            if (!isfinite(affine[k][c]))
                return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: geometry is not finite.", source->path);
    lmr_meta_from_affine((const double(*)[4])affine, dim, meta);
    return LARMOR_OK;
}

static larmor_status describe(const lmr_source *source, larmor_image_info *info)
{
    nifti n;
    larmor_dtype dtype;
    LMR_TRY(open_nifti(source, &n, &dtype));
    gzclose(n.file);
    info->has_geometry = 1;
    snprintf(info->type, sizeof info->type, "%s", nifti_datatype_string(n.header.datatype));
    const int length = (int)strnlen(n.header.descrip, sizeof n.header.descrip);
    if (length)
        snprintf(info->notes, sizeof info->notes, "description: %s\n",
                 lmr_printable(n.header.descrip, length, length).s);
    return LARMOR_OK;
}

static int element(larmor_dtype dtype, int magnitude)
{
    (void)dtype, (void)magnitude;
    return sizeof(float);
}

const lmr_format lmr_format_nii = {
    .suffix = ".nii",
    .name = "NIfTI-1",
    .element = element,
    .write = write_plain,
    .read = read_images,
    .read_meta = read_meta,
    .describe = describe,
};

const lmr_format lmr_format_nii_gz = {
    .suffix = ".nii.gz",
    .name = "NIfTI-1",
    .write = write_packed,
    .read = read_images,
    .read_meta = read_meta,
    .describe = describe,
};
