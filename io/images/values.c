/* Values and shapes of images, as all formats need them: checked before any is written, and converted.
 * SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "core/core.h"
#include "io/images/formats.h"
#include "io/parts.h"

typedef struct conversion {
    const void *host;
    larmor_dtype dtype;
    lmr_as as;
    float *out;
} conversion;

/* The squares of numbers in single precision stay well inside double, where a root takes a tenth of what hypot
 * does. */
static float magnitude(const double v[2], int is_single)
{
    return (float)(is_single ? sqrt(v[0] * v[0] + v[1] * v[1]) : hypot(v[0], v[1]));
}

static float part_of(const double v[2], lmr_as as, int is_single)
{
    switch (as) {
    case LMR_AS_REAL:
        return (float)v[0];
    case LMR_AS_IMAGINARY:
        return (float)v[1];
    case LMR_AS_PHASE:
        return isfinite(v[0]) && isfinite(v[1]) ? (float)atan2(v[1], v[0]) : NAN;
    default:
        return magnitude(v, is_single);
    }
}

static larmor_status convert_part(void *user, int part LMR_UNUSED, int64_t first, int64_t end)
{
    const conversion *c = user;
    const int is_single = c->dtype == LARMOR_C64;
    for (int64_t i = first; i < end; i++) {
        double v[2];
        lmr_element(c->host, c->dtype, i, v);
        if (c->as == LMR_AS_COMPLEX) {
            c->out[2 * i] = (float)v[0];
            c->out[2 * i + 1] = (float)v[1];
        } else
            c->out[i] = part_of(v, c->as, is_single);
    }
    return LARMOR_OK;
}

larmor_status lmr_values(const larmor_array *x, lmr_as as, float *out)
{
    enum { COST = 64 }; /* a magnitude takes as long as so many bytes that are read */
    const larmor_dtype dtype = larmor_array_dtype(x);
    const int64_t count = larmor_array_count(x);
    const size_t bytes = larmor_array_bytes(x);
    if ((dtype == LARMOR_C64 && as == LMR_AS_COMPLEX) || (dtype == LARMOR_F32 && as == LMR_AS_REAL))
        return larmor_array_read(x, out, bytes);
    LMR_OWN_MEMORY(void, host, larmor_array_download(x, dtype, &host));
    conversion c = {host, dtype, as, out};
    return lmr_in_parts(count, lmr_parts_for(count * COST), convert_part, &c);
}

static int64_t count_nonfinite(larmor_dtype dtype, const void *host, int64_t count)
{
    const int64_t n = lmr_is_complex(dtype) ? 2 * count : count;
    const int is_double = dtype == LARMOR_F64 || dtype == LARMOR_C128;
    int64_t bad = 0;
    if (dtype == LARMOR_I64) return 0;
    for (int64_t i = 0; i < n; i++)
        bad += !(is_double ? isfinite(((const double *)host)[i]) : isfinite(((const float *)host)[i]));
    return bad;
}

larmor_status lmr_finite(const larmor_output *out, larmor_dtype dtype, const void *host, int64_t count)
{
    const int64_t bad = count_nonfinite(dtype, host, count);
    if (!bad) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "%s: %lld value%s not finite; nothing written.", out->path, (long long)bad,
                    bad == 1 ? " is" : "s are");
}

larmor_status lmr_shape_from(const char *path, int n, const int64_t *dims, larmor_shape *shape)
{
    while (n > 2 && dims[n - 1] == 1) n--;
    *shape = (larmor_shape){0};
    for (int d = 0; d < n; d++) {
        if (n > LARMOR_MAX_DIMS && d >= 2 && dims[d] == 1) continue;
        LMR_REFUSE(shape->ndim == LARMOR_MAX_DIMS, LARMOR_ERR_FORMAT,
                   "%s: has more than %d dimensions larger than 1.", path, LARMOR_MAX_DIMS);
        shape->dim[shape->ndim++] = dims[d];
    }
    LMR_REFUSE(larmor_shape_count(*shape) < 0, LARMOR_ERR_FORMAT, "%s: the product of its sizes passes 2^62.", path);
    return LARMOR_OK;
}

larmor_status lmr_images_check(const char *what, const larmor_image *images, int count, const larmor_write_opts *opts,
                               lmr_images *set)
{
    LMR_REFUSE(!images || count < 1 || !images[0].data, LARMOR_ERR_ARG, "%s: no image to write", what);
    for (int i = -1; i < (opts->each ? count : 0); i++) {
        const larmor_notes *n = i < 0 ? &opts->notes : &opts->each[i];
        LMR_REFUSE(n->count < 0 || (n->count && (!n->keys || !n->values)), LARMOR_ERR_ARG,
                   "%s: keys or values are missing", what);
    }
    LMR_REFUSE(opts->part > LARMOR_PART_IMAGINARY, LARMOR_ERR_ARG, "%s: part is %d, expected 0 to 3", what,
               (int)opts->part);
    const double *window = opts->window;
    LMR_REFUSE((window[0] != 0 || window[1] != 0) && !(window[1] > window[0] && isfinite(window[1] - window[0])),
               LARMOR_ERR_ARG, "%s: window is %g to %g, expected two finite numbers, the smaller one first", what,
               window[0], window[1]);
    const larmor_array *first = images[0].data;
    const larmor_shape shape = larmor_array_shape(first);
    LMR_REFUSE(shape.ndim < 2 || shape.ndim > 3 || larmor_shape_count(shape) < 1, LARMOR_ERR_SHAPE,
               "%s: image is %s, expected [nx, ny] or [nx, ny, nz]", what, lmr_describe(first).s);
    for (int i = 1; i < count; i++) {
        const larmor_array *x = images[i].data;
        LMR_REFUSE(!x, LARMOR_ERR_ARG, "%s: image %d has no data", what, i + 1);
        LMR_REFUSE(!larmor_shape_equal(shape, larmor_array_shape(x)) ||
                       larmor_array_dtype(x) != larmor_array_dtype(first),
                   LARMOR_ERR_SHAPE, "%s: image %d is %s, the first is %s", what, i + 1, lmr_describe(x).s,
                   lmr_describe(first).s);
    }
    *set = (lmr_images){.image = images,
                        .count = count,
                        .dim = {shape.dim[0], shape.dim[1], shape.ndim > 2 ? shape.dim[2] : 1},
                        .voxels = larmor_shape_count(shape),
                        .is_complex = lmr_is_complex(larmor_array_dtype(first)),
                        .opts = opts};
    return LARMOR_OK;
}

const char *lmr_inside(const char *path)
{
    const char *colon = path ? strstr(path, ".h5:/") : NULL;
    return colon && access(path, F_OK) ? colon + strlen(".h5") : NULL;
}
