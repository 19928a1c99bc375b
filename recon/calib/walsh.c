/* Coil maps as dominant eigenvectors of local coil covariances (Walsh, Gmitro, Marcellin 2000).
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/calib/walsh.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- filters along one axis ---- */

typedef struct filter {
    const double *taps;
    int64_t count, step;   /* step: distance of taps in the input */
    int64_t stride, shift; /* output o is centred at input stride o + shift */
} filter;

/* out (n_out along axis) <- filtered in; what is beyond the edges counts as 0. */
static void filter_axis(const filter *f, const double complex *in, const int64_t dim[3], int axis, int64_t n_out,
                        double complex *out)
{
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < 3; d++)
        if (d < axis)
            inner *= dim[d];
        else if (d > axis)
            outer *= dim[d];
    const int64_t n = dim[axis];
    memset(out, 0, (size_t)(inner * n_out * outer) * sizeof *out);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n_out; i++)
            for (int64_t t = 0; t < f->count; t++) {
                const int64_t from = f->stride * i + f->shift + (t - f->count / 2) * f->step;
                if (from < 0 || from >= n) continue;
                const double complex *x = in + inner * (from + n * o);
                double complex *y = out + inner * (i + n_out * o);
                for (int64_t k = 0; k < inner; k++) y[k] += f->taps[t] * x[k];
            }
}

/* x <- filtered along every axis that has more than one pixel; spare is of x's size. */
static void blur(const double *taps, int64_t count, int64_t step, const int64_t n[3], double complex *x,
                 double complex *spare)
{
    const filter f = {taps, count, step, 1, 0};
    for (int axis = 0; axis < 3; axis++) {
        if (n[axis] == 1) continue;
        filter_axis(&f, x, n, axis, n[axis], spare);
        memcpy(x, spare, (size_t)(n[0] * n[1] * n[2]) * sizeof *x);
    }
}

static const double binomial[5] = {1 / 16., 4 / 16., 6 / 16., 4 / 16., 1 / 16.};

/* x [n] <- x on the fine grid, without aliasing. */
static void halve(const int64_t n[3], double complex *x, double complex *spare)
{
    int64_t dim[3];
    for (int d = 0; d < 3; d++) dim[d] = lmr_fine_size(n[d]);
    for (int axis = 0; axis < 3; axis++) {
        if (n[axis] == 1) continue;
        const filter f = {binomial, 5, 1, 2, n[axis] % 2};
        filter_axis(&f, x, dim, axis, n[axis], spare);
        dim[axis] = n[axis];
        memcpy(x, spare, (size_t)(dim[0] * dim[1] * dim[2]) * sizeof *x);
    }
}

/* ---- covariances ---- */

/* The tail's weight falls by this factor with every doubling of the distance: it decides only where there is no
 * signal. */
#define TAIL 0.03

/* sum <- a b^H of two coil images, smoothed over the window and, ever more weakly, over wider ones, so that maps go
 * on smoothly where there is no signal. work: three times the size of an image. */
static void smooth_product(const double complex *a, const double complex *b, const int64_t n[3], const double *taps,
                           int64_t window, double complex *sum, double complex *work)
{
    int64_t pixels = 1, fine = 1, longest = 1;
    for (int d = 0; d < 3; d++) {
        pixels *= n[d], fine *= lmr_fine_size(n[d]);
        if (n[d] > longest) longest = n[d];
    }
    double complex *x = work, *spare = work + fine;
    for (int64_t i = 0; i < fine; i++) x[i] = a[i] * conj(b[i]);
    halve(n, x, spare);
    blur(taps, window, 1, n, x, spare);
    memcpy(sum, x, (size_t)pixels * sizeof *x);
    double weight = TAIL;
    for (int64_t step = 1; step < longest; step *= 2, weight *= TAIL) {
        blur(binomial, 5, step, n, x, spare);
        for (int64_t i = 0; i < pixels; i++) sum[i] += weight * x[i];
    }
}

/* Upper triangles of the covariances at all pixels, [coils, coils, pixels + 1]; the last is the sum of all. */
static larmor_status covariances(const double complex *images, const int64_t n[3], int64_t coils, int64_t window,
                                 int threads, double complex *cov)
{
    int64_t pixels = 1, fine = 1;
    for (int d = 0; d < 3; d++) pixels *= n[d], fine *= lmr_fine_size(n[d]);
    window |= 1; /* odd: centred */
    double *taps = malloc((size_t)window * sizeof *taps);
    if (!taps) return LMR_NO_MEMORY();
    for (int64_t t = 0; t < window; t++) taps[t] = pow(sin(M_PI * (double)(t + 1) / (double)(window + 1)), 2);
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(| : failed)
    {
        double complex *work = malloc((size_t)(3 * fine) * sizeof *work);
        failed = !work;
#pragma omp for schedule(dynamic)
        for (int64_t pair = 0; pair < coils * coils; pair++) {
            const int64_t i = pair % coils, j = pair / coils;
            if (!work || i > j) continue;
            double complex *sum = work + 2 * fine, *at = cov + i + coils * j, all = 0;
            smooth_product(images + i * fine, images + j * fine, n, taps, window, sum, work);
            for (int64_t p = 0; p < pixels; p++) {
                at[coils * coils * p] = sum[p];
                all += sum[p];
            }
            at[coils * coils * pixels] = all;
        }
        free(work);
    }
    free(taps);
    return failed ? LMR_NO_MEMORY() : LARMOR_OK;
}

/* ---- eigenvectors ---- */

/* cov <- eigenvectors in columns, the dominant one last. */
static larmor_status eigenvectors(larmor_device *dev, int64_t coils, int64_t batch, double complex *cov)
{
    larmor_array *a = NULL, *values = NULL;
    larmor_status st;
    LMR_OR(done, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(coils, coils, batch), &a));
    LMR_OR(done, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(coils, batch), &values));
    LMR_OR(done, larmor_array_write(a, cov, larmor_array_bytes(a)));
    LMR_OR(done, lmr_la_of(a)->heev(dev->ctx, coils, batch, a->data, values->data));
    LMR_OR(done, larmor_array_read(a, cov, larmor_array_bytes(a)));
done:
    larmor_array_free(values), larmor_array_free(a);
    return st;
}

/* maps [pixels, coils] <- dominant vectors, turned so that reference^H v is real and positive. */
static void fix_phases(const double complex *vectors, int64_t coils, int64_t pixels, double complex *maps)
{
    const double complex *reference = vectors + coils * coils * (pixels + 1) - coils;
    for (int64_t p = 0; p < pixels; p++) {
        const double complex *v = vectors + coils * coils * (p + 1) - coils;
        double complex along = 0;
        for (int64_t c = 0; c < coils; c++) along += conj(reference[c]) * v[c];
        const double size = cabs(along);
        const double complex turn = size > 0 ? conj(along) / size : 1;
        for (int64_t c = 0; c < coils; c++) maps[p + pixels * c] = turn * v[c];
    }
}

larmor_status lmr_walsh(larmor_device *dev, const double complex *images, const int64_t n[3], int64_t coils,
                        int64_t window, double complex **maps)
{
    *maps = NULL;
    const int64_t pixels = n[0] * n[1] * n[2];
    int64_t square, elements, bytes;
    if (!lmr_mul(coils, coils, &square) || !lmr_mul(square, pixels + 1, &elements) ||
        !lmr_mul(elements, (int64_t)sizeof(double complex), &bytes))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: covariances of %lld coils do not fit into memory",
                        (long long)coils);
    double complex *cov = calloc((size_t)elements, sizeof *cov);
    double complex *out = malloc((size_t)(coils * pixels) * sizeof *out);
    larmor_status st = LARMOR_OK;
    double energy = 0;
    if (!cov || !out) {
        st = LMR_NO_MEMORY();
        goto done;
    }
    LMR_OR(done, covariances(images, n, coils, window, lmr_device_threads(dev), cov));
    for (int64_t c = 0; c < coils; c++) energy += creal(cov[square * pixels + c * (coils + 1)]);
    if (!(energy > 0) || !isfinite(energy)) {
        st = LMR_FAIL(LARMOR_ERR_NUMERIC, "coils: the centre of k-space has energy %g, expected a finite number > 0",
                      energy);
        goto done;
    }
    LMR_OR(done, eigenvectors(dev, coils, pixels + 1, cov));
    fix_phases(cov, coils, pixels, out);
    *maps = out;
    out = NULL;
done:
    free(out), free(cov);
    return st;
}

/* ---- interpolation ---- */

/* Weights of pixels base-1 .. base+2 at base + t. */
static void keys(double t, double w[4])
{
    w[0] = t * (-0.5 + t * (1 - 0.5 * t));
    w[1] = 1 + t * t * (-2.5 + 1.5 * t);
    w[2] = t * (0.5 + t * (2 - 1.5 * t));
    w[3] = t * t * (-0.5 + 0.5 * t);
}

/* out (n_out along axis) <- in, pixel floor(n/2) on pixel floor(n_out/2). */
static void resize_axis(const double complex *in, const int64_t dim[3], int axis, int64_t n_out, int threads,
                        double complex *out)
{
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < 3; d++)
        if (d < axis)
            inner *= dim[d];
        else if (d > axis)
            outer *= dim[d];
    const int64_t n = dim[axis];
#pragma omp parallel for num_threads(threads)
    for (int64_t row = 0; row < outer * n_out; row++) {
        const int64_t i = row % n_out, o = row / n_out;
        const double at = (double)(i - n_out / 2) * (double)n / (double)n_out + (double)(n / 2);
        const int64_t base = (int64_t)floor(at);
        double w[4];
        keys(at - (double)base, w);
        double complex *y = out + inner * row;
        memset(y, 0, (size_t)inner * sizeof *y);
        for (int t = 0; t < 4; t++) {
            const int64_t from = base - 1 + t, inside = from < 0 ? 0 : from >= n ? n - 1 : from;
            const double complex *x = in + inner * (inside + n * o);
            for (int64_t k = 0; k < inner; k++) y[k] += w[t] * x[k];
        }
    }
}

larmor_status lmr_resize(const double complex *x, const int64_t n[3], const int64_t to[3], int threads,
                         double complex **out)
{
    *out = NULL;
    int64_t dim[3] = {n[0], n[1], n[2]};
    const double complex *from = x;
    double complex *previous = NULL;
    for (int axis = 2; axis >= 0; axis--) { /* the fastest one last: it is done in long runs until then */
        const int64_t count = dim[0] * dim[1] * dim[2] / dim[axis] * to[axis];
        double complex *next = malloc((size_t)count * sizeof *next);
        if (next) resize_axis(from, dim, axis, to[axis], threads, next);
        free(previous);
        if (!next) return LMR_NO_MEMORY();
        from = previous = next;
        dim[axis] = to[axis];
    }
    *out = previous;
    return LARMOR_OK;
}
