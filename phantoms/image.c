/* Pictures of a phantom: averaged over voxels, or from exact coefficients. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/phantom.h"

typedef struct grid {
    int ndim;
    int64_t n[3];
} grid;

static grid grid_of(larmor_shape shape)
{
    grid g = {shape.ndim, {1, 1, 1}};
    for (int d = 0; d < shape.ndim; d++) g.n[d] = shape.dim[d];
    return g;
}

enum { SUB = 4 }; /* sub-samples of a voxel per direction */

/* How much of the voxel around r lies in e: q is r in e's coordinates, half the voxel's diagonal there. */
static double share(const lmr_ellipsoid *e, const grid *g, const double r[3], double half)
{
    double q[3];
    lmr_ellipsoid_point(e, g->ndim, r, q);
    const double distance = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
    if (distance > 1 + half) return 0;
    if (distance < 1 - half) return 1;
    const int depth = g->ndim == 3 ? SUB : 1;
    int inside = 0;
    for (int i = 0; i < SUB * SUB * depth; i++) {
        const int sub[3] = {i % SUB, i / SUB % SUB, i / (SUB * SUB)};
        double s[3] = {0, 0, 0};
        for (int d = 0; d < g->ndim; d++) s[d] = r[d] + ((sub[d] + 0.5) / SUB - 0.5) / (double)g->n[d];
        lmr_ellipsoid_point(e, g->ndim, s, q);
        inside += q[0] * q[0] + q[1] * q[1] + q[2] * q[2] <= 1;
    }
    return (double)inside / (SUB * SUB * depth);
}

static double half_diagonal(const lmr_ellipsoid *e, const grid *g)
{
    double sum = 0, least = e->half_axis[0];
    for (int d = 0; d < g->ndim; d++) {
        sum += 0.25 / ((double)g->n[d] * (double)g->n[d]);
        least = fmin(least, e->half_axis[d]);
    }
    return sqrt(sum) / least;
}

static void draw_line(const larmor_phantom *phantom, const grid *g, const double *half, int64_t y, int64_t z,
                      double *line)
{
    const double at[3] = {0, lmr_voxel(y, g->n[1]), g->ndim == 3 ? lmr_voxel(z, g->n[2]) : 0};
    for (int64_t x = 0; x < g->n[0]; x++) {
        line[x] = 0;
        for (int i = 0; i < phantom->parts; i++) {
            const lmr_ellipsoid *e = &phantom->part[i];
            const double r[3] = {lmr_voxel(x, g->n[0]) - e->centre[0], at[1] - e->centre[1], at[2] - e->centre[2]};
            line[x] += e->density * share(e, g, r, half[i]);
        }
    }
    lmr_blobs_add_line(phantom, g->n, y, z, SUB, line);
}

typedef struct drawing {
    const larmor_phantom *phantom;
    const grid *g;
    double half[LMR_PHANTOM_PARTS];
    double *picture; /* the density of each voxel */
} drawing;

static void draw_at(void *self, int64_t line)
{
    const drawing *p = self;
    const int64_t *n = p->g->n;
    draw_line(p->phantom, p->g, p->half, line % n[1], line / n[1], p->picture + n[0] * line);
}

static larmor_status draw(const larmor_phantom *phantom, const grid *g, int threads, double *picture)
{
    drawing p = {phantom, g, {0}, picture};
    for (int i = 0; i < phantom->parts; i++) p.half[i] = half_diagonal(&phantom->part[i], g);
    return lmr_parallel(threads, g->n[1] * g->n[2], draw_at, &p);
}

larmor_status larmor_phantom_image(const larmor_phantom *phantom, larmor_device *dev, larmor_dtype dtype,
                                   larmor_shape shape, larmor_array **image)
{
    LMR_NEED_OUT(image, phantom, dev);
    LMR_TRY(lmr_image_check("phantom image", phantom->ndim, dtype, shape));
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP double *picture = lmr_new(count, sizeof *picture);
    LMR_HEAP void *host = lmr_new(count, larmor_dtype_size(dtype));
    if (!host || !picture) return LMR_NO_MEMORY();
    const grid g = grid_of(shape);
    LMR_TRY(draw(phantom, &g, lmr_device_threads(dev), picture));
    for (int64_t i = 0; i < count; i++) lmr_put(host, dtype, i, picture[i], 0);
    return larmor_array_upload(dev, dtype, shape, dtype, host, image);
}

/* Coefficients in the FFT's order of a grid of g over `fields` fields of view, multiplied by exp(-2 pi i k
 * floor(N/2) / N) so that the FFT starts at voxel 0 and not at the centre. */
typedef struct coefficients {
    const lmr_spectrum *spectrum;
    const lmr_waves *waves;
    const grid *g;
    int fields;
    larmor_dtype dtype;
    void *host;
} coefficients;

static void coefficients_at(void *self, int64_t line)
{
    const coefficients *p = self;
    const grid *g = p->g;
    const double share_of_fields = pow(p->fields, -g->ndim);
    for (int64_t x = 0; x < g->n[0]; x++) {
        const int64_t at[3] = {x, line % g->n[1], line / g->n[1]};
        double k[3], cycles = 0, value[LMR_COIL_MODES][2], sum[2] = {0, 0};
        for (int d = 0; d < 3; d++) {
            const int64_t n = g->n[d];
            const int64_t half = n / 2;
            const int64_t i = at[d] < n - half ? at[d] : at[d] - n;
            k[d] = (double)i / p->fields;
            cycles -= (double)(i * half % n) / (double)n; /* exact quarter cycles stay exact */
        }
        for (int w = -p->waves->most; w <= p->waves->most; w++) {
            const double part = p->waves->part[w + LMR_MOST_WAVES];
            double moved[3];
            for (int d = 0; d < 3; d++) moved[d] = k[d] - w * p->waves->cycles[d];
            lmr_spectrum_at(p->spectrum, moved, value);
            for (int i = 0; i < 2; i++) sum[i] += part * value[0][i];
        }
        const double c = cos(2 * M_PI * cycles), s = sin(2 * M_PI * cycles);
        const double re = sum[0] * share_of_fields, im = sum[1] * share_of_fields;
        lmr_put(p->host, p->dtype, x + g->n[0] * line, re * c - im * s, re * s + im * c);
    }
}

static larmor_status transform(larmor_array *x, const grid *g)
{
    const lmr_fft *fft = lmr_fft_of(x);
    void *plan;
    LMR_TRY(fft->plan(x->dev->ctx, g->ndim, g->n, 1, &plan));
    larmor_status st = fft->exec(x->dev->ctx, plan, 1, x->data);
    if (!st) st = larmor_device_sync(x->dev);
    fft->destroy(x->dev->ctx, plan);
    return st;
}

/* The whole object on a grid of `fields` fields of view, so that nothing of it folds. */
static larmor_status draw_series(const larmor_phantom *phantom, const lmr_waves *waves, larmor_device *dev,
                                 larmor_dtype dtype, larmor_shape shape, int fields, larmor_array **image)
{
    const grid g = grid_of(shape);
    LMR_FREED_BY(lmr_coils_free) lmr_coils set = {0};
    LMR_FREED_BY(lmr_spectrum_free) lmr_spectrum spectrum = {0};
    LMR_HEAP void *host = lmr_new(larmor_shape_count(shape), larmor_dtype_size(dtype));
    if (!host) return LMR_NO_MEMORY();
    LMR_TRY(lmr_coils_create(phantom->ndim, 0, 1, &set));
    LMR_TRY(lmr_spectrum_make(phantom, &set, &spectrum));
    LMR_TRY(lmr_parallel(lmr_device_threads(dev), g.n[1] * g.n[2], coefficients_at,
                         &(coefficients){&spectrum, waves, &g, fields, dtype, host}));
    LMR_OWN(larmor_array, out, larmor_array_upload(dev, dtype, shape, dtype, host, &out));
    LMR_TRY(transform(out, &g));
    return LMR_HAND_ON(*image, out);
}

/* The middle of `from` in the place of *image: voxel floor(N/2) stays the centre. */
static larmor_status crop(const larmor_array *from, larmor_shape shape, larmor_array **image)
{
    const grid inner = grid_of(shape), outer = grid_of(larmor_array_shape(from));
    const size_t voxel = larmor_dtype_size(from->dtype), row = voxel * (size_t)inner.n[0];
    LMR_HEAP char *in = NULL, *host = malloc(row * (size_t)(inner.n[1] * inner.n[2]));
    LMR_TRY(larmor_array_download(from, from->dtype, &in));
    if (!host) return LMR_NO_MEMORY();
    int64_t first[3];
    for (int d = 0; d < 3; d++) first[d] = outer.n[d] / 2 - inner.n[d] / 2;
    for (int64_t line = 0; line < inner.n[1] * inner.n[2]; line++) {
        const int64_t y = line % inner.n[1] + first[1], z = line / inner.n[1] + first[2];
        const int64_t start = first[0] + outer.n[0] * (y + outer.n[1] * z);
        memcpy(host + row * (size_t)line, in + voxel * (size_t)start, row);
    }
    return larmor_array_upload(from->dev, from->dtype, shape, from->dtype, host, image);
}

static larmor_status bandlimited(const larmor_phantom *phantom, const lmr_waves *waves, larmor_device *dev,
                                 larmor_dtype dtype, larmor_shape shape, larmor_array **image)
{
    LMR_NEED_OUT(image, phantom, dev);
    LMR_TRY(lmr_image_check("phantom image", phantom->ndim, dtype, shape));
    const int fields = (int)fmax(1, ceil(2 * lmr_phantom_extent(phantom) - 1e-9));
    if (fields == 1) return draw_series(phantom, waves, dev, dtype, shape, 1, image);
    larmor_shape enlarged = shape;
    for (int d = 0; d < shape.ndim; d++) enlarged.dim[d] *= fields;
    LMR_OWN(larmor_array, whole, draw_series(phantom, waves, dev, dtype, enlarged, fields, &whole));
    return crop(whole, shape, image);
}

larmor_status larmor_phantom_bandlimited(const larmor_phantom *phantom, larmor_device *dev, larmor_dtype dtype,
                                         larmor_shape shape, larmor_array **image)
{
    const lmr_waves none = {.part[LMR_MOST_WAVES] = 1};
    return bandlimited(phantom, &none, dev, dtype, shape, image);
}

larmor_status larmor_phantom_bandlimited_phase(const larmor_phantom *phantom, const larmor_phantom_phase *phase,
                                               larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                               larmor_array **image)
{
    lmr_waves waves;
    LMR_NEED_OUT(image, phase);
    LMR_TRY(lmr_phase_waves(phase, &waves));
    return bandlimited(phantom, &waves, dev, dtype, shape, image);
}
