/* The space that the windows of a calibration region span: eigenvectors of their Gram matrix, which is summed from
 * correlations of the coils, as neighbouring windows share most of their samples (Uecker et al., Magn. Reson. Med.
 * 71, 990 (2014)). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/maps/maps.h"

static int64_t windows_places(const lmr_windows *w)
{
    return w->kernel[0] * w->kernel[1] * w->kernel[2];
}

int64_t lmr_windows_lags(const lmr_windows *w)
{
    return (2 * w->kernel[0] - 1) * (2 * w->kernel[1] - 1) * (2 * w->kernel[2] - 1);
}

/* ---- the Gram matrix ---- */

typedef struct gram {
    const lmr_windows *w;
    float complex *matrix; /* [places coils, places coils], its upper triangle */
    int no_memory;
} gram;

/* Coils i <= j as pair number `pair`, counted as (0,0), (0,1), (1,1), (0,2), ... */
static void coils_of(int64_t pair, int64_t *i, int64_t *j)
{
    *j = (int64_t)((sqrt(8 * (double)pair + 1) - 1) / 2);
    while (*j * (*j + 1) / 2 > pair) --*j;
    while ((*j + 1) * (*j + 2) / 2 <= pair) ++*j;
    *i = pair - *j * (*j + 1) / 2;
}

/* Numbers [n...] become their sums over windows of `width` along one axis, count of them. */
static void slide(double complex *x, int64_t n[3], int axis, int64_t width, int64_t count)
{
    int64_t inner = 1, outer = 1;
    for (int d = 0; d < 3; d++)
        if (d != axis) *(d < axis ? &inner : &outer) *= n[d];
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            double complex *const from = x + i + inner * n[axis] * o, *const to = x + i + inner * count * o;
            double complex sum = 0;
            for (int64_t t = 0; t < width; t++) sum += from[inner * t];
            for (int64_t t = 0; t < count; t++) {
                const double complex leaves = from[inner * t];
                const double complex next = t + 1 < count ? from[inner * (t + width)] : 0;
                to[inner * t] = sum;
                sum += next - leaves;
            }
        }
    n[axis] = count;
}

/* All entries of the matrix for two coils and one difference of places: sums over windows of the product of one
 * coil with the other moved by that difference. */
static void correlate(const gram *g, int64_t i, int64_t j, const int64_t lag[3], double complex *z)
{
    const lmr_windows *w = g->w;
    const int64_t *side = w->side, *kernel = w->kernel, all = side[0] * side[1] * side[2];
    const int64_t places = windows_places(w), rows = places * w->coils;
    const double complex *a = w->data + all * i, *b = w->data + all * j;
    int64_t first[3], n[3], count[3];
    for (int d = 0; d < 3; d++) {
        first[d] = lag[d] < 0 ? -lag[d] : 0;
        n[d] = side[d] - llabs(lag[d]);
        count[d] = kernel[d] - llabs(lag[d]);
    }
    const int64_t moved = lag[0] + side[0] * (lag[1] + side[1] * lag[2]);
    for (int64_t c = 0; c < n[2]; c++)
        for (int64_t r = 0; r < n[1]; r++) {
            const int64_t at = first[0] + side[0] * (r + first[1] + side[1] * (c + first[2]));
            double complex *to = z + n[0] * (r + n[1] * c);
            for (int64_t q = 0; q < n[0]; q++) to[q] = a[at + q] * conj(b[at + moved + q]);
        }
    for (int d = 0; d < 3; d++) slide(z, n, d, side[d] - kernel[d] + 1, count[d]);
    for (int64_t p = 0; p < count[0] * count[1] * count[2]; p++) {
        const int64_t x = first[0] + p % count[0], y = first[1] + p / count[0] % count[1];
        const int64_t row = x + kernel[0] * (y + kernel[1] * (first[2] + p / count[0] / count[1]));
        const int64_t column = row + lag[0] + kernel[0] * (lag[1] + kernel[1] * lag[2]);
        g->matrix[row + places * i + rows * (column + places * j)] = (float complex)z[p];
    }
}

static void fill_pair(void *self, int64_t pair)
{
    gram *g = self;
    const lmr_windows *w = g->w;
    int64_t i, j, lag[3];
    LMR_HEAP double complex *z = malloc((size_t)(w->side[0] * w->side[1] * w->side[2]) * sizeof *z);
    if (!z) {
        g->no_memory = 1;
        return;
    }
    coils_of(pair, &i, &j);
    for (lag[2] = 1 - w->kernel[2]; lag[2] < w->kernel[2]; lag[2]++)
        for (lag[1] = 1 - w->kernel[1]; lag[1] < w->kernel[1]; lag[1]++)
            for (lag[0] = 1 - w->kernel[0]; lag[0] < w->kernel[0]; lag[0]++) correlate(g, i, j, lag, z);
}

/* *sums [rows, rows], to be freed. */
static larmor_status make_gram(const larmor_device *dev, const lmr_windows *w, float complex **sums)
{
    const int64_t rows = windows_places(w) * w->coils;
    *sums = calloc((size_t)(rows * rows), sizeof **sums);
    gram g = {.w = w, .matrix = *sums};
    if (!*sums) return LMR_NO_MEMORY();
    LMR_TRY(lmr_parallel(lmr_device_threads(dev), w->coils * (w->coils + 1) / 2, fill_pair, &g));
    return g.no_memory ? LMR_NO_MEMORY() : LARMOR_OK;
}

/* ---- its space ---- */

/* Rows up to which the processor decomposes a matrix for a GPU, whose library for it takes a tenth of a second to
 * load: 10 ms of 288 rows, 20 of 432, 190 of 1000 (docs/records/performance.md, "Maps without libraries"). */
#define MOST_ROWS_ON_HOST 512

/* Eigenvectors, c64 [rows, rows], and values, f32 [rows], of a Gram matrix. */
static larmor_status decompose(larmor_device *dev, const float complex *sums, int64_t rows, larmor_array **vectors,
                               larmor_array **values)
{
    const larmor_shape square = LARMOR_SHAPE(rows, rows), line = LARMOR_SHAPE(rows);
    const int on_host = !lmr_device_is_processor(dev) && rows <= MOST_ROWS_ON_HOST;
    LMR_OWNED(larmor_device) *host = NULL;
    if (on_host) LMR_TRY(larmor_device_open("cpu:1", &host));
    larmor_device *by = on_host ? host : dev;
    LMR_OWN(larmor_array, matrix, larmor_array_upload(by, LARMOR_C64, square, LARMOR_C64, sums, &matrix));
    LMR_OWN(larmor_array, value, larmor_array_create(by, LARMOR_F32, line, &value));
    LMR_TRY(lmr_la_of(matrix)->heev(by->ctx, rows, 1, 1, matrix->data, value->data));
    if (on_host) {
        LMR_TRY(larmor_array_upload(dev, LARMOR_C64, square, LARMOR_C64, matrix->data, vectors));
        return larmor_array_upload(dev, LARMOR_F32, line, LARMOR_F32, value->data, values);
    }
    LMR_HAND_ON(*vectors, matrix);
    return LMR_HAND_ON(*values, value);
}

/* The sum of noise alone over all windows, from the median of all eigenvalues or, where most of them are signal, from
 * their quarter. Rows that are about independent have eigenvalues by the law of Marchenko and Pastur (Math. USSR Sb.
 * 1, 457 (1967)), whose upper edge is (1 + sqrt(rows / windows))^2 and whose median and quarter are fitted to 5 %. */
static double noise_of(const double *value, int64_t rows, int64_t windows)
{
    const int64_t rank = rows < windows ? rows : windows; /* the others are 0 */
    const double ratio = (double)rows / (double)windows;
    const double median = ratio < 1 ? 1 - ratio / 3 : ratio - 1. / 3;
    const double quarter = ratio < 1 ? 1 - 0.845 * sqrt(ratio) : ratio - 0.845 * sqrt(ratio);
    return fmin(fmax(value[rows - 1 - rank / 2], 0) / median, fmax(value[rows - 1 - 3 * rank / 4], 0) / quarter);
}

/* Eigenvalues above the threshold, and above what is noise. */
static larmor_status count_signal(const larmor_array *values, const lmr_windows *w, double threshold, int64_t *signal,
                                  double *noise)
{
    const int64_t rows = larmor_array_count(values);
    int64_t windows = 1;
    double *value;
    for (int d = 0; d < 3; d++) windows *= w->side[d] - w->kernel[d] + 1;
    LMR_TRY(larmor_array_download(values, LARMOR_F64, &value));
    double level = noise_of(value, rows, windows);
    if (w->noise > 0) level = fmin(level, w->noise * (double)windows);
    const double edge = level * pow(1 + sqrt((double)rows / (double)windows), 2);
    const double largest = value[rows - 1], least = fmax(threshold * largest, edge);
    *noise = level / (double)windows;
    *signal = 0;
    for (int64_t i = 0; i < rows; i++) *signal += value[i] > least;
    free(value);
    LMR_REFUSE(!(largest > 0 && isfinite(largest)), LARMOR_ERR_NUMERIC,
               "espirit: the calibration region has energy %g, expected a finite number > 0", largest);
    if (*signal) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_NUMERIC, "espirit: the calibration region is noise alone, no signal is above it");
}

typedef struct lag_sums {
    const lmr_windows *w;
    const float complex *projector; /* [rows, places of coil j] */
    double complex *lags;
    int64_t j;
} lag_sums;

static void sum_lags(void *self, int64_t i)
{
    const lag_sums *s = self;
    const int64_t *kernel = s->w->kernel, places = windows_places(s->w), coils = s->w->coils;
    const int64_t width[2] = {2 * kernel[0] - 1, 2 * kernel[1] - 1};
    for (int64_t q = 0; q < places; q++)
        for (int64_t p = 0; p < places; p++) {
            const int64_t x = p % kernel[0] - q % kernel[0] + kernel[0] - 1;
            const int64_t y = p / kernel[0] % kernel[1] - q / kernel[0] % kernel[1] + kernel[1] - 1;
            const int64_t z = p / kernel[0] / kernel[1] - q / kernel[0] / kernel[1] + kernel[2] - 1;
            const int64_t lag = x + width[0] * (y + width[1] * z);
            s->lags[i + coils * (s->j + coils * lag)] +=
                (double complex)s->projector[p + places * (i + coils * q)] / (double)places;
        }
}

/* *lags <- sums of the projection V V^H, coil by coil, V [rows, signal] the last columns of vectors. */
static larmor_status project(const larmor_array *vectors, const lmr_windows *w, int64_t signal, larmor_array **lags)
{
    larmor_device *dev = vectors->dev;
    const int64_t coils = w->coils, places = windows_places(w), rows = places * coils;
    const int64_t count = lmr_windows_lags(w);
    const float complex *first = (const float complex *)vectors->data + rows * (rows - signal);
    LMR_HEAP void *all = calloc((size_t)(coils * coils * count), sizeof(double complex));
    lag_sums sums = {.w = w, .lags = all};
    if (!all) return LMR_NO_MEMORY();
    LMR_OWN(larmor_array, block, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(rows, places), &block));
    for (sums.j = 0; sums.j < coils; sums.j++) {
        LMR_TRY(lmr_la_of(vectors)->gemm(dev->ctx, 'N', 'C', rows, places, signal, first, rows,
                                         first + places * sums.j, rows, block->data, rows));
        LMR_OWN_MEMORY(void, host, larmor_array_download(block, LARMOR_C64, &host));
        sums.projector = host;
        LMR_TRY(lmr_parallel(lmr_device_threads(dev), coils, sum_lags, &sums));
    }
    return larmor_array_upload(dev, LARMOR_C128, LARMOR_SHAPE(coils, coils, count), LARMOR_C128, all, lags);
}

larmor_status lmr_windows_space(larmor_device *dev, const lmr_windows *w, double threshold, larmor_array **lags,
                                int64_t *signal, double *noise)
{
    const int64_t rows = windows_places(w) * w->coils;
    *lags = NULL;
    LMR_OWNED(larmor_array) *matrix = NULL, *values = NULL;
    LMR_OWN_MEMORY(float complex, sums, make_gram(dev, w, &sums));
    LMR_TRY(lmr_go_on());
    LMR_TRY(decompose(dev, sums, rows, &matrix, &values));
    LMR_TRY(count_signal(values, w, threshold, signal, noise));
    LMR_TRY(lmr_go_on());
    return project(matrix, w, *signal, lags);
}

double lmr_windows_bytes(const lmr_windows *w)
{
    const double places = (double)windows_places(w), rows = places * (double)w->coils;
    const double copies = 4; /* the eigenvalue solvers' own, and their work */
    const double matrix = 8 * rows * rows * copies + 1024 * rows, block = 16 * rows * places;
    return matrix + block + 32 * (double)(w->coils * w->coils * lmr_windows_lags(w));
}
