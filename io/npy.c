/* NumPy arrays, format version 1.0: little endian, Fortran order, so that dim[0] (fastest here) is NumPy's axis 0 and
 * image[x, y] means the same on both sides. C order is read with its axes reversed. SPDX-License-Identifier:
 * Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/bytes.h"
#include "io/formats.h"

#define MAX_HEADER 65536
#define MAX_AXES 32

static const struct {
    const char *name;
    larmor_dtype dtype;
} types[] = {
    {"<f4", LARMOR_F32}, {"<f8", LARMOR_F64}, {"<c8", LARMOR_C64}, {"<c16", LARMOR_C128}, {"<i8", LARMOR_I64}};
#define TYPES (sizeof types / sizeof types[0])

/* ---- writing ---- */

static larmor_status put_header(larmor_output *out, larmor_dtype dtype, larmor_shape shape)
{
    lmr_bytes dict = {0}, file = {0};
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
    larmor_status st = dict.failed ? LMR_NO_MEMORY() : lmr_bytes_end(&file);
    int64_t bytes = 0;
    if (!st && !lmr_mul(larmor_shape_count(shape), (int64_t)larmor_dtype_size(dtype), &bytes)) st = LMR_NO_MEMORY();
    if (!st) st = lmr_output_reserve(out, 0, bytes + (int64_t)file.size);
    if (!st) st = lmr_output_put(out, 0, file.data, file.size);
    lmr_bytes_free(&dict), lmr_bytes_free(&file);
    return st;
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    const int magnitude = images->opts->magnitude;
    const larmor_array *first = images->image[0].data;
    const larmor_dtype dtype = magnitude ? LARMOR_F32 : larmor_array_dtype(first);
    larmor_shape shape = larmor_array_shape(first);
    if (images->count > 1) shape = larmor_shape_append(shape, images->count);
    LMR_TRY(put_header(out, dtype, shape));
    const size_t bytes = (size_t)images->voxels * larmor_dtype_size(dtype);
    void *host = malloc(bytes);
    if (!host) return LMR_NO_MEMORY();
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < images->count && !st; i++) {
        const larmor_array *x = images->image[i].data;
        st = magnitude ? lmr_values(x, LMR_AS_MAGNITUDE, host) : larmor_array_read(x, host, bytes);
        if (!st) st = lmr_finite(out, dtype, host, images->voxels);
        if (!st) st = lmr_output_put(out, 0, host, bytes);
    }
    free(host);
    return st;
}

static larmor_status save(larmor_output *out, const larmor_array *x)
{
    const size_t bytes = larmor_array_bytes(x);
    LMR_TRY(put_header(out, larmor_array_dtype(x), larmor_array_shape(x)));
    void *host = malloc(bytes);
    if (!host) return LMR_NO_MEMORY();
    larmor_status st = larmor_array_read(x, host, bytes);
    if (!st) st = lmr_finite(out, larmor_array_dtype(x), host, larmor_array_count(x));
    if (!st) st = lmr_output_put(out, 0, host, bytes);
    free(host);
    return st;
}

/* ---- reading ---- */

typedef struct npy {
    larmor_dtype dtype;
    int fortran, axes;
    int64_t dim[MAX_AXES]; /* fastest first */
    int64_t data, bytes;   /* where and how many */
} npy;

static larmor_status damaged(const lmr_source *source, const char *what)
{
    return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s.", source->path, what);
}

/* What follows 'key': in the header's dictionary, or NULL. */
static const char *value_of(const char *dict, const char *key)
{
    const char *p = strstr(dict, key);
    if (!p) return NULL;
    p += strlen(key);
    while (*p == ' ') p++;
    if (*p++ != ':') return NULL;
    while (*p == ' ') p++;
    return p;
}

static larmor_status parse_shape(const lmr_source *source, const char *p, npy *file)
{
    if (!p || *p++ != '(') return damaged(source, "NumPy header without a shape");
    while (1) {
        while (*p == ' ') p++;
        if (*p == ')') break;
        char *end;
        errno = 0;
        const long long size = strtoll(p, &end, 10);
        if (end == p || errno || size < 1)
            return damaged(source, "NumPy header: shape has a size that is not a positive number");
        if (file->axes == MAX_AXES) return damaged(source, "NumPy header: more than 32 axes");
        file->dim[file->axes++] = size;
        p = end;
        while (*p == ' ') p++;
        if (*p == ',')
            p++;
        else if (*p != ')')
            return damaged(source, "NumPy header: shape is damaged");
    }
    for (int d = 0; !file->fortran && d < file->axes / 2; d++) {
        const int64_t other = file->dim[file->axes - 1 - d];
        file->dim[file->axes - 1 - d] = file->dim[d], file->dim[d] = other;
    }
    return LARMOR_OK;
}

static larmor_status parse_dictionary(const lmr_source *source, const char *dict, npy *file)
{
    const char *descr = value_of(dict, "'descr'"), *order = value_of(dict, "'fortran_order'");
    if (!descr || *descr++ != '\'') return damaged(source, "NumPy header without a simple type");
    const char *quote = strchr(descr, '\'');
    size_t t = 0;
    while (t < TYPES && !(quote && (size_t)(quote - descr) == strlen(types[t].name) &&
                          !strncmp(descr, types[t].name, strlen(types[t].name))))
        t++;
    if (t == TYPES)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: type '%.*s'; '<f4', '<f8', '<c8', '<c16' or '<i8' expected.",
                        source->path, quote && quote - descr < 16 ? (int)(quote - descr) : 0, descr);
    file->dtype = types[t].dtype;
    if (order && !strncmp(order, "True", 4))
        file->fortran = 1;
    else if (!order || strncmp(order, "False", 5))
        return damaged(source, "NumPy header without an order");
    return parse_shape(source, value_of(dict, "'shape'"), file);
}

static larmor_status check_size(const lmr_source *source, npy *file)
{
    file->bytes = (int64_t)larmor_dtype_size(file->dtype);
    for (int d = 0; d < file->axes; d++)
        if (!lmr_mul(file->bytes, file->dim[d], &file->bytes))
            return damaged(source, "NumPy header: the product of the shape passes 2^63");
    if (file->bytes != source->size - file->data)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %" PRId64 " bytes of data, header says %" PRId64 ".", source->path,
                        source->size - file->data, file->bytes);
    return LARMOR_OK;
}

static larmor_status read_header(const lmr_source *source, npy *file)
{
    *file = (npy){0};
    unsigned char start[12];
    if (source->size < 16) return damaged(source, "too short for a NumPy file");
    LMR_TRY(lmr_source_read(source, 0, start, sizeof start));
    if (memcmp(start, "\x93NUMPY", 6)) return damaged(source, "not a NumPy file");
    if (start[6] < 1 || start[6] > 3) return damaged(source, "NumPy format version unknown");
    const int64_t at = start[6] > 1 ? 12 : 10, length = (int64_t)lmr_little_endian(start + 8, (int)at - 8);
    if (length > MAX_HEADER || length > source->size - at) return damaged(source, "NumPy header longer than allowed");
    char *dict = calloc((size_t)length + 1, 1);
    if (!dict) return LMR_NO_MEMORY();
    larmor_status st = lmr_source_read(source, at, dict, (size_t)length);
    if (!st) st = parse_dictionary(source, dict, file);
    file->data = at + length;
    if (!st) st = check_size(source, file);
    free(dict);
    return st;
}

static larmor_status read_array(const lmr_source *source, larmor_device *dev, larmor_array **x)
{
    npy file;
    larmor_shape shape;
    LMR_TRY(read_header(source, &file));
    LMR_TRY(lmr_shape_from(source->path, file.axes, file.dim, &shape));
    void *host = malloc((size_t)file.bytes);
    if (!host) return LMR_NO_MEMORY();
    larmor_status st = lmr_source_read(source, file.data, host, (size_t)file.bytes);
    if (!st) st = larmor_array_upload(dev, file.dtype, shape, file.dtype, host, x);
    free(host);
    return st;
}

static larmor_status read_meta(const lmr_source *source, larmor_image_meta *meta)
{
    npy file;
    LMR_TRY(read_header(source, &file));
    for (int d = 0; d < 3 && d < file.axes; d++) meta->fov_mm[d] = (double)file.dim[d];
    return LARMOR_OK;
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
    .read = read_array,
    .read_meta = read_meta,
};
