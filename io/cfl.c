/* BART's two files: X.cfl holds complex floats, dim[0] fastest, X.hdr the 16 sizes as text. Several images are
 * stacked at dimension 13 (slice) if their slice counters differ, else at 10 (time).
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "io/bytes.h"
#include "io/formats.h"

#define DIMS 16
#define TIME_DIM 10
#define SLICE_DIM 13
#define MAX_HEADER 65536

/* ---- writing ---- */

static larmor_status put_header(larmor_output *out, const int64_t dims[DIMS])
{
    lmr_bytes text = {0};
    int64_t bytes = 2 * sizeof(float);
    lmr_bytes_print(&text, "# Dimensions\n");
    larmor_status st = LARMOR_OK;
    for (int d = 0; d < DIMS; d++) {
        lmr_bytes_print(&text, "%" PRId64 "%s", dims[d], d < DIMS - 1 ? " " : "\n");
        if (!lmr_mul(bytes, dims[d], &bytes)) st = LMR_NO_MEMORY();
    }
    if (!st) st = lmr_bytes_end(&text);
    if (!st) st = lmr_output_reserve(out, 0, bytes);
    if (!st) st = lmr_output_reserve(out, 1, (int64_t)text.size);
    if (!st) st = lmr_output_put(out, 1, text.data, text.size);
    lmr_bytes_free(&text);
    return st;
}

static larmor_status put_values(larmor_output *out, const larmor_array *x, lmr_as as)
{
    const int64_t count = larmor_array_count(x);
    float *host = calloc((size_t)count, 2 * sizeof *host);
    if (!host) return LMR_NO_MEMORY();
    larmor_status st = lmr_values(x, as, host);
    if (!st) st = lmr_finite(out, as == LMR_AS_COMPLEX ? LARMOR_C64 : LARMOR_F32, host, count);
    if (!st && as == LMR_AS_MAGNITUDE) /* spread out in place, from the back */
        for (int64_t i = count - 1; i >= 0; i--) host[2 * i] = host[i], host[2 * i + 1] = 0;
    if (!st) st = lmr_output_put(out, 0, host, (size_t)count * 2 * sizeof *host);
    free(host);
    return st;
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    int64_t dims[DIMS];
    for (int d = 0; d < DIMS; d++) dims[d] = d < 3 ? images->dim[d] : 1;
    int stack = TIME_DIM;
    for (int i = 1; i < images->count; i++)
        if (images->image[i].meta.slice != images->image[0].meta.slice) stack = SLICE_DIM;
    dims[stack] = images->count;
    LMR_TRY(put_header(out, dims));
    for (int i = 0; i < images->count; i++)
        LMR_TRY(put_values(out, images->image[i].data, images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_COMPLEX));
    return LARMOR_OK;
}

static larmor_status save(larmor_output *out, const larmor_array *x)
{
    const larmor_shape shape = larmor_array_shape(x);
    int64_t dims[DIMS];
    for (int d = 0; d < DIMS; d++) dims[d] = d < shape.ndim ? shape.dim[d] : 1;
    LMR_TRY(put_header(out, dims));
    return put_values(out, x, LMR_AS_COMPLEX);
}

/* ---- reading ---- */

/* The numbers of the line after "# Dimensions". */
static larmor_status parse_dims(const char *path, const char *text, int *count, int64_t dims[DIMS])
{
    const char *p = strstr(text, "# Dimensions\n");
    if (!p) return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: no line \"# Dimensions\".", path);
    p += strlen("# Dimensions\n");
    for (*count = 0;; ++*count) {
        while (*p == ' ' || *p == '\t' || *p == '\r') p++;
        if (!*p || *p == '\n') break;
        char *end;
        errno = 0;
        const long long size = strtoll(p, &end, 10);
        const int length = (int)strcspn(p, " \t\r\n");
        if (end != p + length || errno || size < 1)
            return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: dimension %d is \"%s\"; a number of 1 or more expected.", path,
                            *count, lmr_printable(p, length, 32).s);
        if (*count == DIMS) return LMR_FAIL(LARMOR_ERR_FORMAT, "%s: more than %d dimensions.", path, DIMS);
        dims[*count] = size;
        p = end;
    }
    return *count ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_FORMAT, "%s: no dimensions.", path);
}

static larmor_status read_header(const lmr_source *source, int *count, int64_t dims[DIMS], int64_t *bytes)
{
    const size_t stem = strlen(source->path) - strlen(".cfl");
    char *path = malloc(stem + sizeof ".hdr");
    if (!path) return LMR_NO_MEMORY();
    memcpy(path, source->path, stem);
    memcpy(path + stem, ".hdr", sizeof ".hdr");
    lmr_source header;
    larmor_status st = lmr_source_open(path, "a file", &header);
    if (!st) {
        static const char limit[] = "larger than 65536 bytes, no header of a .cfl file";
        char *text = header.size > MAX_HEADER ? NULL : calloc((size_t)header.size + 1, 1);
        if (!text)
            st = header.size > MAX_HEADER ? LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %s.", path, limit) : LMR_NO_MEMORY();
        if (!st) st = lmr_source_read(&header, 0, text, (size_t)header.size);
        if (!st) st = parse_dims(path, text, count, dims);
        free(text);
        lmr_source_close(&header);
    }
    *bytes = 2 * sizeof(float);
    for (int d = 0; !st && d < *count; d++)
        if (!lmr_mul(*bytes, dims[d], bytes))
            st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: the product of the dimensions passes 2^63.", path);
    free(path);
    if (!st && *bytes != source->size)
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "%s: %" PRId64 " bytes, header says %" PRId64 ".", source->path,
                      source->size, *bytes);
    return st;
}

static larmor_status read_array(const lmr_source *source, larmor_device *dev, larmor_array **x)
{
    int count = 0;
    int64_t dims[DIMS], bytes;
    larmor_shape shape;
    LMR_TRY(read_header(source, &count, dims, &bytes));
    LMR_TRY(lmr_shape_from(source->path, count, dims, &shape));
    void *host = malloc((size_t)bytes);
    if (!host) return LMR_NO_MEMORY();
    larmor_status st = lmr_source_read(source, 0, host, (size_t)bytes);
    if (!st) st = larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, host, x);
    free(host);
    return st;
}

static larmor_status read_meta(const lmr_source *source, larmor_image_meta *meta)
{
    int count = 0;
    int64_t dims[DIMS], bytes;
    LMR_TRY(read_header(source, &count, dims, &bytes));
    for (int d = 0; d < 3 && d < count; d++) meta->fov_mm[d] = (double)dims[d];
    return LARMOR_OK;
}

static int element(larmor_dtype dtype, int magnitude)
{
    (void)dtype, (void)magnitude;
    return 2 * sizeof(float);
}

const lmr_format lmr_format_cfl = {
    .suffix = ".cfl",
    .second = ".hdr",
    .name = "BART",
    .element = element,
    .write = write_images,
    .save = save,
    .read = read_array,
    .read_meta = read_meta,
};
