/* NIfTI-1 in one file, plain or gzipped: magnitude (or real values) as float, RAS, mm, qform and sform alike. Slices
 * are stacked into volumes, other groups become the fourth dimension. SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <nifti1_io.h>
#define ZLIB_CONST /* what is compressed is read only */
#include <zlib.h>

#include "core/core.h"
#include "io/bytes.h"
#include "io/images/volume.h"

#define DATA_OFFSET 352
#define MAX_SIZE 32767 /* sizes are 16 bit numbers */
#define GZIP_WINDOW (15 + 16)
#define MOST_AT_ONCE (1 << 30)

/* By an image of its own: the library's does not look whether there was memory for it. */
static nifti_1_header make_header(const lmr_volumes *v, const int64_t dim[3])
{
    nifti_image n = {.ndim = 0};
    mat44 ras = {{{0}}};
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 3; k++) ras.m[k][c] = (float)(k < 2 ? -v->affine[k][c] : v->affine[k][c]);
    ras.m[3][3] = 1;
    n.sto_xyz = n.qto_xyz = ras;
    nifti_mat44_to_quatern(ras, &n.quatern_b, &n.quatern_c, &n.quatern_d, &n.qoffset_x, &n.qoffset_y, &n.qoffset_z,
                           NULL, NULL, NULL, &n.qfac);
    n.qform_code = n.sform_code = NIFTI_XFORM_SCANNER_ANAT; /* matrices of code 0 would not be filled in */
    n.ndim = n.dim[0] = v->volumes > 1 ? 4 : 3;
    n.nx = n.dim[1] = (int)dim[0];
    n.ny = n.dim[2] = (int)dim[1];
    n.nz = n.dim[3] = (int)dim[2] * v->slices;
    n.nt = n.dim[4] = v->volumes;
    for (int c = 0; c < 3; c++)
        n.pixdim[c + 1] = (float)sqrt(pow(v->affine[0][c], 2) + pow(v->affine[1][c], 2) + pow(v->affine[2][c], 2));
    n.dx = n.pixdim[1];
    n.dy = n.pixdim[2];
    n.dz = n.pixdim[3];
    n.dt = n.pixdim[4] = v->step_s > 0 ? (float)v->step_s : 1;
    if (v->step_s > 0) n.time_units = NIFTI_UNITS_SEC;
    n.datatype = DT_FLOAT32;
    n.nbyper = 4;
    n.nifti_type = NIFTI_FTYPE_NIFTI1_1;
    n.iname_offset = DATA_OFFSET;
    n.xyz_units = NIFTI_UNITS_MM;
    n.scl_slope = 1;
    n.scl_inter = 0;
    snprintf(n.descrip, sizeof n.descrip, "larmor%s", v->slices > 1 ? ", 2D slices" : "");
    nifti_1_header header = nifti_convert_nim2nhdr(&n);
    if (v->place_unknown) header.qform_code = header.sform_code = NIFTI_XFORM_UNKNOWN;
    return header;
}

static larmor_status compress_to(z_stream *z, lmr_bytes *packed, const void *data, size_t bytes, int last)
{
    unsigned char buffer[8192];
    const unsigned char *from = data;
    do {
        const size_t now = bytes < MOST_AT_ONCE ? bytes : MOST_AT_ONCE;
        z->next_in = from;
        z->avail_in = (uInt)now;
        from += now;
        bytes -= now;
        const int flush = last && !bytes ? Z_FINISH : Z_NO_FLUSH;
        do {
            z->next_out = buffer;
            z->avail_out = sizeof buffer;
            LMR_REFUSE(deflate(z, flush) == Z_STREAM_ERROR, LARMOR_ERR_BACKEND, "zlib: stream error");
            lmr_bytes_add(packed, buffer, sizeof buffer - z->avail_out);
        } while (!z->avail_out);
    } while (bytes);
    return LARMOR_OK;
}

static lmr_as written_as(const lmr_images *images)
{
    static const lmr_as parts[] = {[LARMOR_PART_MAGNITUDE] = LMR_AS_MAGNITUDE,
                                   [LARMOR_PART_PHASE] = LMR_AS_PHASE,
                                   [LARMOR_PART_REAL] = LMR_AS_REAL,
                                   [LARMOR_PART_IMAGINARY] = LMR_AS_IMAGINARY};
    if (images->is_complex) return parts[images->opts->part];
    return images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_REAL;
}

/* Header and voxels in the order of the file, to z and packed or, if z is NULL, to the output. */
static larmor_status emit(larmor_output *out, const lmr_images *images, const lmr_volumes *v, z_stream *z,
                          lmr_bytes *packed)
{
    const nifti_1_header header = make_header(v, images->dim);
    unsigned char start[DATA_OFFSET] = {0};
    memcpy(start, &header, sizeof header);
    LMR_TRY(z ? compress_to(z, packed, start, sizeof start, 0) : lmr_output_put(out, 0, start, sizeof start));
    const size_t bytes = (size_t)images->voxels * sizeof(float);
    LMR_HEAP LMR_NEW(float, voxels, images->voxels);
    for (int i = 0; i < images->count; i++) {
        const int last = i == images->count - 1;
        LMR_TRY(lmr_values(images->image[v->order[i]].data, written_as(images), voxels));
        LMR_TRY(lmr_finite(out, LARMOR_F32, voxels, images->voxels));
        LMR_TRY(z ? compress_to(z, packed, voxels, bytes, last) : lmr_output_put(out, 0, voxels, bytes));
    }
    return LARMOR_OK;
}

static larmor_status emit_gzipped(larmor_output *out, const lmr_images *images, const lmr_volumes *v)
{
    z_stream z = {0};
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes packed = {0};
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return LMR_NO_MEMORY();
    const larmor_status st = emit(out, images, v, &z, &packed);
    deflateEnd(&z);
    LMR_TRY(st);
    LMR_TRY(lmr_bytes_end(&packed));
    LMR_TRY(lmr_output_reserve(out, 0, (int64_t)packed.size));
    return lmr_output_put(out, 0, packed.data, packed.size);
}

/* bytes: of the voxels. */
static larmor_status arrange(const char *path, const lmr_images *images, lmr_volumes *v, int64_t *bytes)
{
    LMR_TRY(lmr_arrange(path, images, v));
    const int64_t sizes[4] = {images->dim[0], images->dim[1], images->dim[2] * v->slices, v->volumes};
    *bytes = sizeof(float);
    for (int d = 0; d < 4; d++)
        LMR_REFUSE(sizes[d] > MAX_SIZE || !lmr_mul(*bytes, sizes[d], bytes), LARMOR_ERR_ARG,
                   "%s: NIfTI-1 holds at most %d voxels along an axis, got %" PRId64 "; use .h5", path, MAX_SIZE,
                   sizes[d]);
    return LARMOR_OK;
}

static larmor_status check(const char *path, const lmr_images *images)
{
    LMR_FREED_BY(lmr_volumes_free) lmr_volumes v = {.order = NULL};
    int64_t bytes;
    return arrange(path, images, &v, &bytes);
}

static larmor_status write_either(larmor_output *out, const lmr_images *images, int gzipped)
{
    LMR_FREED_BY(lmr_volumes_free) lmr_volumes v = {.order = NULL};
    int64_t bytes;
    LMR_TRY(arrange(out->path, images, &v, &bytes));
    if (!gzipped) LMR_TRY(lmr_output_reserve(out, 0, bytes + DATA_OFFSET));
    LMR_TRY(gzipped ? emit_gzipped(out, images, &v) : emit(out, images, &v, NULL, NULL));
    return out->parts > 1 ? lmr_sidecar(out, images, &v) : LARMOR_OK;
}

static larmor_status write_plain(larmor_output *out, const lmr_images *images)
{
    return write_either(out, images, 0);
}

static larmor_status write_packed(larmor_output *out, const lmr_images *images)
{
    return write_either(out, images, 1);
}

const lmr_format lmr_format_nii = {
    .suffix = ".nii",
    .name = "NIfTI-1",
    .sidecar = ".json",
    .bytes = sizeof(float),
    .write = write_plain,
    .check = check,
    .divide = lmr_divide,
    .can = LMR_CAN_READ | LMR_CAN_READ_META | LMR_CAN_DESCRIBE | LMR_CAN_PLACE,
};

const lmr_format lmr_format_nii_gz = {
    .suffix = ".nii.gz",
    .name = "NIfTI-1",
    .sidecar = ".json",
    .write = write_packed,
    .check = check,
    .divide = lmr_divide,
    .can = LMR_CAN_READ | LMR_CAN_READ_META | LMR_CAN_DESCRIBE | LMR_CAN_PLACE,
};
