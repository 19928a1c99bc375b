/* BART's two files: X.cfl holds complex floats, dim[0] fastest, X.hdr the 16 sizes as text. Several images are
 * stacked by their counters in the dimensions that BART has for them: echoes in 5, repetitions in 10, phases in
 * 11, slices in 13, averages in 14, sets in 15; those that differ in none, in 10. SPDX-License-Identifier:
 * Apache-2.0 */
#include <inttypes.h>

#include "core/core.h"
#include "io/bytes.h"
#include "io/images/bart_axes.h"

#define DIMS LMR_BART_AXES

/* ---- writing ---- */

static larmor_status put_header(larmor_output *out, const int64_t dims[DIMS])
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes text = {0};
    int64_t bytes = 2 * sizeof(float);
    lmr_bytes_print(&text, "# Dimensions\n");
    for (int d = 0; d < DIMS; d++) {
        lmr_bytes_print(&text, "%" PRId64 "%s", dims[d], d < DIMS - 1 ? " " : "\n");
        if (!lmr_mul(bytes, dims[d], &bytes)) return LMR_NO_MEMORY();
    }
    LMR_TRY(lmr_bytes_end(&text));
    LMR_TRY(lmr_output_reserve(out, 0, bytes));
    LMR_TRY(lmr_output_reserve(out, 1, (int64_t)text.size));
    return lmr_output_put(out, 1, text.data, text.size);
}

static larmor_status put_values(larmor_output *out, const larmor_array *x, lmr_as as)
{
    const int64_t count = larmor_array_count(x);
    LMR_HEAP LMR_NEW_ZEROS(float, host, 2 * count);
    LMR_TRY(lmr_values(x, as, host));
    LMR_TRY(lmr_finite(out, as == LMR_AS_COMPLEX ? LARMOR_C64 : LARMOR_F32, host, count));
    if (as == LMR_AS_MAGNITUDE) /* spread out in place, from the back */
        for (int64_t i = count - 1; i >= 0; i--) {
            host[2 * i] = host[i];
            host[2 * i + 1] = 0;
        }
    return lmr_output_put(out, 0, host, (size_t)count * 2 * sizeof *host);
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    const lmr_as as = images->opts->magnitude ? LMR_AS_MAGNITUDE : LMR_AS_COMPLEX;
    int64_t dims[DIMS];
    LMR_HEAP int *place = lmr_new(images->count, sizeof *place), *order = lmr_new(images->count, sizeof *order);
    LMR_TRY(place && order ? lmr_bart_axes(images, dims, place) : LMR_NO_MEMORY());
    for (int i = 0; i < images->count; i++) order[place[i]] = i;
    LMR_TRY(put_header(out, dims));
    for (int i = 0; i < images->count; i++) LMR_TRY(put_values(out, images->image[order[i]].data, as));
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

const lmr_format lmr_format_cfl = {
    .suffix = ".cfl",
    .second = ".hdr",
    .name = "BART",
    .bytes = 2 * sizeof(float),
    .write = write_images,
    .save = save,
    .can = LMR_CAN_READ | LMR_CAN_READ_META,
};
