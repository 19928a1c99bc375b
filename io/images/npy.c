/* NumPy arrays, format version 1.0: little endian, Fortran order, so that dim[0] (fastest here) is NumPy's axis 0 and
 * image[x, y] means the same on both sides. Files in C order are read as NumPy means them, too.
 * Several images are [x, y(, z), slices, volumes] as in NIfTI, without what there is one of.
 * SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/bytes.h"
#include "io/images/volume.h"

static const struct {
    const char *name;
    larmor_dtype dtype;
} types[] = {
    {"<f4", LARMOR_F32}, {"<f8", LARMOR_F64}, {"<c8", LARMOR_C64}, {"<c16", LARMOR_C128}, {"<i8", LARMOR_I64}};
#define TYPES (sizeof types / sizeof types[0])

/* ---- writing ---- */

static larmor_status put_header(larmor_output *out, larmor_dtype dtype, larmor_shape shape)
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes dict = {0}, file = {0};
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) lmr_bytes_print(&dict, "{'descr': '%s', ", types[i].name);
    lmr_bytes_print(&dict, "'fortran_order': True, 'shape': (");
    for (int d = 0; d < shape.ndim; d++)
        lmr_bytes_print(&dict, "%s%" PRId64 "%s", d ? " " : "", shape.dim[d],
                        d < shape.ndim - 1 || d == 0 ? "," : "");
    lmr_bytes_print(&dict, "), }");
    while (!dict.failed && (10 + dict.size + 1) % 64) lmr_bytes_add(&dict, " ", 1);
    lmr_bytes_add(&dict, "\n", 1);
    const unsigned char length[2] = {(unsigned char)(dict.size & 255), (unsigned char)(dict.size >> 8)};
    lmr_bytes_add(&file, "\x93NUMPY\x01\x00", 8);
    lmr_bytes_add(&file, length, 2);
    lmr_bytes_add(&file, dict.data, dict.size);
    LMR_TRY(dict.failed ? LMR_NO_MEMORY() : lmr_bytes_end(&file));
    int64_t bytes = 0;
    if (!lmr_mul(larmor_shape_count(shape), (int64_t)larmor_dtype_size(dtype), &bytes)) return LMR_NO_MEMORY();
    LMR_TRY(lmr_output_reserve(out, 0, bytes + (int64_t)file.size));
    return lmr_output_put(out, 0, file.data, file.size);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    const int magnitude = images->opts->magnitude;
    const larmor_array *first = images->image[0].data;
    const larmor_dtype dtype = magnitude ? LARMOR_F32 : larmor_array_dtype(first);
    larmor_shape shape = larmor_array_shape(first);
    LMR_FREED_BY(lmr_volumes_free) lmr_volumes v = {.order = NULL};
    LMR_TRY(lmr_order(images, &v));
    if (v.slices > 1) shape = larmor_shape_append(shape, v.slices);
    if (v.volumes > 1) shape = larmor_shape_append(shape, v.volumes);
    const size_t bytes = (size_t)images->voxels * larmor_dtype_size(dtype);
    LMR_HEAP void *host = malloc(bytes);
    if (!host) return LMR_NO_MEMORY();
    LMR_TRY(put_header(out, dtype, shape));
    for (int i = 0; i < images->count; i++) {
        const larmor_array *x = images->image[v.order[i]].data;
        LMR_TRY(magnitude ? lmr_values(x, LMR_AS_MAGNITUDE, host) : larmor_array_read(x, host, bytes));
        LMR_TRY(lmr_finite(out, dtype, host, images->voxels));
        LMR_TRY(lmr_output_put(out, 0, host, bytes));
    }
    return LARMOR_OK;
}

static larmor_status save(larmor_output *out, const larmor_array *x)
{
    const size_t bytes = larmor_array_bytes(x);
    LMR_TRY(put_header(out, larmor_array_dtype(x), larmor_array_shape(x)));
    LMR_HEAP void *host = malloc(bytes);
    if (!host) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_read(x, host, bytes));
    LMR_TRY(lmr_finite(out, larmor_array_dtype(x), host, larmor_array_count(x)));
    return lmr_output_put(out, 0, host, bytes);
}

static int element(larmor_dtype dtype, int magnitude)
{
    return (int)larmor_dtype_size(magnitude ? LARMOR_F32 : dtype);
}

const lmr_format lmr_format_npy = {
    .suffix = ".npy",
    .name = "NumPy",
    .element = element,
    .write = write_images,
    .save = save,
    .can = LMR_CAN_READ | LMR_CAN_READ_META,
};
