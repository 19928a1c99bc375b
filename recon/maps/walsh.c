/* Coil maps as dominant eigenvectors of local coil covariances (Walsh, Gmitro, Marcellin 2000).
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/bytes.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

/* The tail's weight falls by this factor with every doubling of the distance: it decides only where there is no
 * signal. */
#define TAIL_FALL_PER_DOUBLING 0.03

/* All that smoothing needs. The products of `count` pairs are in x; filters write to spare and swap. */
typedef struct smoother {
    larmor_device *dev;
    const lmr_recon_kernels *kernels;
    int64_t n[3], pixels, fine, coils, count, window;
    int64_t at_once; /* pairs of coils whose products are smoothed at a time, so that the workspace stays small */
    larmor_array *taps, *binomial; /* f64 [window], f64 [5] */
    larmor_array *work[3], *cov;   /* c128 [fine, at_once] twice, [pixels, at_once]; [coils, coils, pixels + 1] */
    void *x, *spare, *sum;
} smoother;

/* x <- x [dim..., count] filtered along an axis to n there, about stride i + shift. */
static larmor_status filter_axis(smoother *s, const larmor_array *taps, int64_t step, const int64_t dim[3], int axis,
                                 int64_t n, int64_t stride, int64_t shift)
{
    int64_t rows[3] = {1, dim[axis], s->count};
    for (int d = 0; d < 3; d++)
        if (d != axis) rows[d < axis ? 0 : 2] *= dim[d];
    LMR_TRY(s->kernels->filter(s->dev->ctx, rows, n, larmor_array_count(taps), taps->data, step, stride, shift, s->x,
                               s->spare));
    void *const filtered = s->spare;
    s->spare = s->x;
    s->x = filtered;
    return LARMOR_OK;
}

/* x [n...] <- filtered along every axis that has more than one pixel. */
static larmor_status blur(smoother *s, const larmor_array *taps, int64_t step)
{
    for (int axis = 0; axis < 3; axis++)
        if (s->n[axis] > 1) LMR_TRY(filter_axis(s, taps, step, s->n, axis, s->n[axis], 1, 0));
    return LARMOR_OK;
}

/* x [n...] <- x on the fine grid, without aliasing. */
static larmor_status halve(smoother *s)
{
    int64_t dim[3];
    for (int d = 0; d < 3; d++) dim[d] = lmr_fine_size(s->n[d]);
    for (int axis = 0; axis < 3; axis++) {
        if (s->n[axis] == 1) continue;
        LMR_TRY(filter_axis(s, s->binomial, 1, dim, axis, s->n[axis], 2, s->n[axis] % 2));
        dim[axis] = s->n[axis];
    }
    return LARMOR_OK;
}

/* sum <- products of coil images, smoothed over the window and, ever more weakly, over wider ones, so that maps go on
 * smoothly where there is no signal. */
static larmor_status smooth_products(smoother *s, const larmor_array *images, int64_t first)
{
    const lmr_vec *vec = lmr_vec_of(images);
    int64_t longest = 1;
    for (int d = 0; d < 3; d++)
        if (s->n[d] > longest) longest = s->n[d];
    LMR_TRY(s->kernels->products(s->dev->ctx, s->fine, first, s->count, images->data, s->x));
    LMR_TRY(halve(s));
    LMR_TRY(blur(s, s->taps, 1));
    LMR_TRY(vec->axpby(s->dev->ctx, s->pixels * s->count, 1, s->x, 0, s->sum));
    double weight = TAIL_FALL_PER_DOUBLING;
    for (int64_t step = 1; step < longest; step *= 2, weight *= TAIL_FALL_PER_DOUBLING) {
        LMR_TRY(blur(s, s->binomial, step));
        LMR_TRY(vec->axpby(s->dev->ctx, s->pixels * s->count, weight, s->x, 1, s->sum));
    }
    return LARMOR_OK;
}

/* Its sizes. */
static smoother smoother_of(const int64_t n[3], int64_t coils)
{
    smoother s = {.pixels = 1, .fine = 1, .coils = coils};
    for (int d = 0; d < 3; d++) {
        s.n[d] = n[d];
        s.pixels *= n[d];
        s.fine *= lmr_fine_size(n[d]);
    }
    const int64_t pairs = coils * (coils + 1) / 2;
    const int64_t fitting = (INT64_C(1) << 21) / (s.fine > 0 ? s.fine : 1);
    s.at_once = lmr_clamp(fitting, 1, pairs);
    return s;
}

static larmor_status smoother_create(larmor_device *dev, const int64_t n[3], int64_t coils, int64_t window,
                                     smoother *s)
{
    static const double binomial[5] = {1 / 16., 4 / 16., 6 / 16., 4 / 16., 1 / 16.};
    *s = smoother_of(n, coils);
    s->dev = dev;
    s->window = window | 1; /* odd: centred */
    const int64_t size[3] = {s->fine, s->fine, s->pixels};
    LMR_TRY(lmr_recon_kernels_of(dev, LARMOR_C128, &s->kernels));
    LMR_NEW(double, taps, s->window);
    for (int64_t t = 0; t < s->window; t++) taps[t] = pow(sin(M_PI * (double)(t + 1) / (double)(s->window + 1)), 2);
    const larmor_status st =
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(s->window), LARMOR_F64, taps, &s->taps);
    free(taps);
    LMR_TRY(st);
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(5), LARMOR_F64, binomial, &s->binomial));
    for (int i = 0; i < 3; i++)
        LMR_TRY(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(size[i], s->at_once), &s->work[i]));
    s->x = s->work[0]->data;
    s->spare = s->work[1]->data;
    s->sum = s->work[2]->data;
    return larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(coils, coils, s->pixels + 1), &s->cov);
}

static void smoother_free(smoother *s)
{
    for (int i = 0; i < 3; i++) larmor_array_free(s->work[i]);
    LMR_FREE(s->cov, s->binomial, s->taps);
}

/* Upper triangles of the covariances at all pixels; the last is the sum of all. */
static larmor_status covariances(smoother *s, const larmor_array *images)
{
    const int64_t pairs = s->coils * (s->coils + 1) / 2;
    for (int64_t first = 0; first < pairs; first += s->at_once) {
        LMR_TRY(lmr_go_on());
        s->count = pairs - first < s->at_once ? pairs - first : s->at_once;
        LMR_TRY(smooth_products(s, images, first));
        LMR_TRY(s->kernels->scatter(s->dev->ctx, s->pixels, s->coils, first, s->count, s->sum, s->cov->data));
    }
    return LARMOR_OK;
}

static larmor_status expect_energy(const smoother *s)
{
    const int64_t coils = s->coils;
    LMR_HEAP LMR_NEW(double complex, sum, coils *coils);
    const double complex *from = (const double complex *)s->cov->data + coils * coils * s->pixels;
    double energy = 0;
    LMR_TRY(s->dev->be->copy(s->dev->ctx, LMR_TO_HOST, sum, from, (size_t)(coils * coils) * sizeof *sum));
    for (int64_t c = 0; c < coils; c++) energy += creal(sum[c * (coils + 1)]);
    LMR_REFUSE(!(energy > 0 && isfinite(energy)), LARMOR_ERR_NUMERIC,
               "coils: the centre of k-space has energy %g, expected a finite number > 0", energy);
    return LARMOR_OK;
}

/* ---- dominant vectors ---- */

/* The part of all energy that the dominant eigenvectors hold; values [coils, pixels + 1], ascending for each
 * pixel. */
static larmor_status measure_dominance(const smoother *s, const larmor_array *values, double *dominance)
{
    const int64_t count = s->coils * s->pixels;
    double *value, largest = 0, all = 0;
    LMR_TRY(larmor_array_download(values, LARMOR_F64, &value));
    for (int64_t i = 0; i < count; i++) {
        all += value[i];
        if (i % s->coils == s->coils - 1) largest += value[i];
    }
    *dominance = all > 0 ? largest / all : 0;
    free(value);
    return LARMOR_OK;
}

/* lmr_walsh, with matrices of all coils. */
static larmor_status dominant(const larmor_array *images, const int64_t n[3], int64_t coils, int64_t window,
                              double *dominance, larmor_array **maps)
{
    *maps = NULL;
    larmor_device *dev = images->dev;
    LMR_FREED_BY(smoother_free) smoother s = {0};
    LMR_TRY(smoother_create(dev, n, coils, window, &s));
    LMR_TRY(covariances(&s, images));
    LMR_TRY(expect_energy(&s));
    LMR_OWN(larmor_array, values, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(coils, s.pixels + 1), &values));
    LMR_TRY(lmr_la_of(s.cov)->heev(dev->ctx, coils, s.pixels + 1, 1, s.cov->data, values->data));
    if (dominance) LMR_TRY(measure_dominance(&s, values, dominance));
    LMR_OWN(larmor_array, out, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(s.pixels, coils), &out));
    LMR_TRY(s.kernels->align(dev->ctx, s.pixels, coils, s.cov->data, out->data));
    return LMR_HAND_ON(*maps, out);
}

/* ---- many coils ---- */

/* Neighbouring coils of large arrays see nearly the same: so many mixtures of them hold what is more than noise,
 * and a matrix for each pixel takes memory by the square and time by the third power of their number. */
enum { MOST_COILS = 64 };

larmor_status lmr_mix_coils(const larmor_array *images, int64_t fine, int64_t coils, int64_t kept,
                            larmor_array **vectors, larmor_array **mixed, double *part)
{
    larmor_device *dev = images->dev;
    const lmr_la *la = lmr_la_of(images);
    double all = 0;
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(coils, coils), vectors));
    LMR_OWN(larmor_array, values, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(coils), &values));
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(fine, kept), mixed));
    LMR_TRY(la->gemm(dev->ctx, 'C', 'N', coils, coils, fine, images->data, fine, images->data, fine, (*vectors)->data,
                     coils));
    LMR_TRY(lmr_go_on());
    LMR_TRY(la->heev(dev->ctx, coils, 1, 1, (*vectors)->data, values->data));
    LMR_OWN_MEMORY(double, value, larmor_array_download(values, LARMOR_F64, &value));
    *part = 0;
    for (int64_t c = 0; c < coils; c++) {
        all += value[c];
        if (c >= coils - kept) *part += value[c];
    }
    *part = all > 0 ? *part / all : 1;
    const double complex *last = (const double complex *)(*vectors)->data + coils * (coils - kept);
    return la->gemm(dev->ctx, 'N', 'N', fine, kept, coils, images->data, fine, last, coils, (*mixed)->data, fine);
}

larmor_status lmr_walsh(const larmor_array *images, const int64_t n[3], int64_t coils, int64_t window,
                        double *dominance, larmor_array **maps)
{
    if (coils <= MOST_COILS) return dominant(images, n, coils, window, dominance, maps);
    const smoother s = smoother_of(n, MOST_COILS);
    larmor_device *dev = images->dev;
    LMR_OWNED(larmor_array) *vectors = NULL, *mixed = NULL, *few = NULL, *out = NULL;
    double part;
    *maps = NULL;
    LMR_TRY(lmr_mix_coils(images, s.fine, coils, MOST_COILS, &vectors, &mixed, &part));
    LMR_TRY(dominant(mixed, n, MOST_COILS, window, dominance, &few));
    if (dominance) *dominance *= part;
    LMR_TRY(larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(s.pixels, coils), &out));
    const double complex *last = (const double complex *)vectors->data + coils * (coils - MOST_COILS);
    LMR_TRY(lmr_la_of(few)->gemm(dev->ctx, 'N', 'C', s.pixels, coils, MOST_COILS, few->data, s.pixels, last, coils,
                                 out->data, s.pixels));
    return LMR_HAND_ON(*maps, out);
}

double lmr_walsh_bytes(const larmor_device *dev, const int64_t n[3], int64_t coils)
{
    const int on_gpu = !dev->be->threads(dev->ctx); /* whose eigenvalue solver works in a copy */
    const int64_t kept = coils < MOST_COILS ? coils : MOST_COILS;
    const smoother s = smoother_of(n, kept);
    const double work = 2 * (double)s.fine + (double)s.pixels, matrices = (double)kept * ((double)s.pixels + 1);
    const double all = (double)coils * (double)coils;
    double numbers = work * (double)s.at_once + ((double)kept + 1) * matrices + (double)s.pixels * (double)kept;
    if (on_gpu) numbers += (double)kept * matrices;
    const double solver = lmr_bytes_for_eigenvectors(dev, kept);
    if (coils == kept) return 16 * numbers + solver;
    numbers = fmax(numbers, (double)s.pixels * (double)(kept + coils));
    numbers = fmax(numbers, (on_gpu ? all : 0) + (double)coils);
    return 16 * (all + (double)s.fine * (double)kept + numbers) + solver;
}
