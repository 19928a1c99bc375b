/* BART's two files: X.cfl holds complex floats, dim[0] fastest, X.hdr the 16 sizes as text. Several images are
 * stacked by their counters in the dimensions that BART has for them: echoes in 5, repetitions in 10, phases in
 * 11, slices in 13, averages in 14, sets in 15; those that differ in none, in 10. SPDX-License-Identifier:
 * Apache-2.0 */
#include <inttypes.h>
#include <stdlib.h>

#include "io/bytes.h"
#include "io/images/bart_axes.h"

#define DIMS LMR_BART_AXES

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
        for (int64_t i = count - 1; i >= 0; i--) {
            host[2 * i] = host[i];
            host[2 * i + 1] = 0;
        }
    if (!st) st = lmr_output_put(out, 0, host, (size_t)count * 2 * sizeof *host);
    free(host);
    return st;
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    const lmr_as as = images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_COMPLEX;
    int64_t dims[DIMS];
    int *place = lmr_new(images->count, sizeof *place), *order = lmr_new(images->count, sizeof *order);
    larmor_status st = place && order ? lmr_bart_axes(images, dims, place) : LMR_NO_MEMORY();
    for (int i = 0; i < images->count && !st; i++) order[place[i]] = i;
    if (!st) st = put_header(out, dims);
    for (int i = 0; i < images->count && !st; i++) st = put_values(out, images->image[order[i]].data, as);
    free(order);
    free(place);
    return st;
}

static larmor_status save(larmor_output *out, const larmor_array *x)
{
    const larmor_shape shape = larmor_array_shape(x);
    int64_t dims[DIMS];
    for (int d = 0; d < DIMS; d++) dims[d] = d < shape.ndim ? shape.dim[d] : 1;
    LMR_TRY(put_header(out, dims));
    return put_values(out, x, LMR_AS_COMPLEX);
}

static int element(larmor_dtype dtype, int magnitude)
{
    (void)dtype;
    (void)magnitude;
    return 2 * sizeof(float);
}

const lmr_format lmr_format_cfl = {
    .suffix = ".cfl",
    .second = ".hdr",
    .name = "BART",
    .element = element,
    .write = write_images,
    .save = save,
    .can = LMR_CAN_READ | LMR_CAN_READ_META,
};
