/* The error of one image against another, up to a factor. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"

typedef struct picture {
    larmor_shape shape; /* without dimensions of 1 */
    double _Complex *value;
    int64_t count;
} picture;

LMR_FREES(free_picture, picture, value)

static larmor_shape squeeze(larmor_shape shape)
{
    larmor_shape squeezed = {0};
    for (int d = 0; d < shape.ndim; d++)
        if (shape.dim[d] != 1) squeezed.dim[squeezed.ndim++] = shape.dim[d];
    return squeezed;
}

/* A reference that is zero is none: errors are relative to it. */
static larmor_status take(const larmor_array *x, const char *what, int is_reference, picture *p)
{
    double energy = 0;
    p->shape = squeeze(larmor_array_shape(x));
    p->count = larmor_array_count(x);
    LMR_TRY(larmor_array_download(x, LARMOR_C128, &p->value));
    for (int64_t i = 0; i < p->count; i++) energy += creal(p->value[i] * conj(p->value[i]));
    if (!isfinite(energy)) {
        char name[64];
        snprintf(name, sizeof name, "compare: the %s", what);
        LMR_TRY(larmor_array_expect_finite(x, name));
        return LMR_FAIL(LARMOR_ERR_NUMERIC, "compare: the %s holds values that are too large", what);
    }
    LMR_REFUSE(is_reference && !(energy > 0), LARMOR_ERR_NUMERIC, "compare: the %s is all zero", what);
    return LARMOR_OK;
}

/* The first two dimensions change places. */
static larmor_status transpose(picture *p)
{
    const int64_t nx = p->shape.dim[0], ny = p->shape.dim[1];
    LMR_NEW(double _Complex, transposed, p->count);
    for (int64_t i = 0; i < p->count; i++) {
        const int64_t x = i % nx, y = i / nx % ny, rest = i / (nx * ny);
        transposed[(rest * nx + x) * ny + y] = p->value[i];
    }
    free(p->value);
    p->value = transposed;
    p->shape.dim[0] = ny;
    p->shape.dim[1] = nx;
    return LARMOR_OK;
}

/* As a format or a program that keeps magnitudes alone leaves an image. */
static int is_without_phase(const picture *p)
{
    for (int64_t i = 0; i < p->count; i++)
        if (cimag(p->value[i]) != 0 || creal(p->value[i]) < 0) return 0;
    return 1;
}

static void take_magnitude(picture *p)
{
    for (int64_t i = 0; i < p->count; i++) p->value[i] = cabs(p->value[i]);
}

static larmor_status keep_inside(larmor_device *dev, int dims, picture *p)
{
    LMR_OWN(larmor_array, x, larmor_array_upload(dev, LARMOR_C128, p->shape, LARMOR_C128, p->value, &x));
    LMR_TRY(larmor_band_limit(x, (1u << dims) - 1));
    return larmor_array_read(x, p->value, larmor_array_bytes(x));
}

/* The factor s that makes |s a - b| least, and what then remains. */
static void measure(const picture *a, const picture *b, larmor_comparison *found)
{
    double _Complex ab = 0;
    double aa = 0, bb = 0, rest = 0, most = 0, top = 0;
    for (int64_t i = 0; i < a->count; i++) {
        ab += conj(a->value[i]) * b->value[i];
        aa += creal(a->value[i] * conj(a->value[i]));
        bb += creal(b->value[i] * conj(b->value[i]));
    }
    const double _Complex factor = aa > 0 ? ab / aa : 0;
    for (int64_t i = 0; i < a->count; i++) {
        const double error = cabs(factor * a->value[i] - b->value[i]);
        rest += error * error;
        most = fmax(most, error);
        top = fmax(top, cabs(b->value[i]));
    }
    found->factor[0] = creal(factor);
    found->factor[1] = cimag(factor);
    found->nrmse = sqrt(rest / bb);
    found->largest = most / top;
}

static void take_magnitudes(picture *p, picture *q)
{
    take_magnitude(p);
    take_magnitude(q);
}

larmor_status larmor_compare(const larmor_array *a, const larmor_array *b, const larmor_compare_opts *opts,
                             larmor_comparison *found)
{
    LMR_NEED(a, b, found);
    const larmor_compare_opts o = opts ? *opts : (larmor_compare_opts){.inside = 0};
    LMR_FREED_BY(free_picture) picture p = {.value = NULL}, q = {.value = NULL};
    *found = (larmor_comparison){.without_phase = 0};
    LMR_TRY(take(a, "image", 0, &p));
    LMR_TRY(take(b, "reference", 1, &q));
    if (o.transpose && p.shape.ndim > 1) LMR_TRY(transpose(&p));
    LMR_REFUSE(!larmor_shape_equal(p.shape, q.shape), LARMOR_ERR_SHAPE,
               "compare: the image is %s, the reference %s; both must have one shape", lmr_describe(a).s,
               lmr_describe(b).s);
    LMR_REFUSE(o.inside < 0 || o.inside > p.shape.ndim, LARMOR_ERR_ARG,
               "compare: inside is %d, the image has %d dimensions", o.inside, p.shape.ndim);
    const int alone = is_without_phase(&p), reference = is_without_phase(&q);
    if (alone != reference) found->without_phase = alone ? 1 : 2;
    /* Magnitudes have a wider band; where one image is a magnitude already, that of both is limited. */
    if (found->without_phase) take_magnitudes(&p, &q);
    if (o.inside) LMR_TRY(keep_inside(a->dev, o.inside, &p));
    if (o.inside) LMR_TRY(keep_inside(a->dev, o.inside, &q));
    if (o.magnitude && !found->without_phase) take_magnitudes(&p, &q);
    measure(&p, &q, found);
    return LARMOR_OK;
}
