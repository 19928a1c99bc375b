/* Direct sums for a random subset of a NUFFT's outputs. SPDX-License-Identifier: Apache-2.0 */
#include "direct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "try.h"

enum { STREAM_OUTPUTS = 3, BLOCKS = 256, CHUNK = 512 };

static double _Complex value_at(const void *x, int is_double, int64_t i)
{
    return is_double ? ((const double _Complex *)x)[i] : ((const float _Complex *)x)[i];
}

/* The last of n coefficients has the highest power. */
static inline double polynomial(int n, const double *coefficient, double y)
{
    double sum = coefficient[n - 1];
    for (int k = n - 2; k >= 0; k--) sum = sum * y + coefficient[k];
    return sum;
}

/* exp(2 pi i cycles), in a form that compilers vectorise, to 3e-16. The nearest quarter of a cycle is taken off
 * and the series of the rest, at most pi / 4, have no further terms above 2^-54. */
static inline void unit_at(double cycles, double *re, double *im)
{
    static const double cosine[] = {1,
                                    -1. / 2,
                                    1. / 24,
                                    -1. / 720,
                                    1. / 40320,
                                    -1. / 3628800,
                                    1. / 479001600,
                                    -1. / 87178291200,
                                    1. / 20922789888000};
    static const double sine[] = {1,           -1. / 6,        1. / 120,        -1. / 5040,
                                  1. / 362880, -1. / 39916800, 1. / 6227020800, -1. / 1307674368000};
    const double round = 0x1.8p52; /* adding it rounds to a whole number */
    const double t = cycles - ((cycles + round) - round), quarter = (4 * t + round) - round;
    const double a = 2 * M_PI * (t - 0.25 * quarter);
    const double c = polynomial(9, cosine, a * a), s = a * polynomial(8, sine, a * a);
    const double even = 1 - fabs(quarter), odd = quarter * (2 - fabs(quarter)); /* cosine and sine of the quarter */
    *re = even * c - odd * s;
    *im = even * s + odd * c;
}

/* As many outputs as a budget of terms allows, at least 8. */
static void choose_outputs(const bench_case *c, bench_direct *direct)
{
    const int from_modes = c->type == 2;
    const int64_t terms = from_modes ? bench_case_modes(c) : c->points;
    const int64_t most = from_modes ? BENCH_MOST_OUTPUTS : 50;
    const int64_t budget = 1000000000;
    const int64_t outputs = c->batch * (from_modes ? c->points : bench_case_modes(c));
    const int64_t affordable = terms > budget / most ? budget / terms : most;
    direct->count = (int)(affordable > 8 ? affordable : 8);
    for (int i = 0; i < direct->count; i++)
        direct->output[i] = (int64_t)(bench_random(STREAM_OUTPUTS, i) * (double)outputs);
}

/* The frequency in each dimension of output i: of type 1 a mode's, of type 3 a target's; in cycles over the unit of
 * the points. */
static void find_frequency(const bench_case *c, const double *targets, int64_t i, double r[3])
{
    int64_t mode = i % bench_case_modes(c);
    for (int d = 0; d < c->ndim; d++) {
        if (c->type == 3) {
            r[d] = targets[c->ndim * (i % bench_case_modes(c)) + d];
        } else {
            r[d] = (double)(mode % c->modes[d] - c->modes[d] / 2);
            mode /= c->modes[d];
        }
    }
}

#if defined(__has_feature)
#define IN_CLANG(feature) __has_feature(feature)
#else
#define IN_CLANG(feature) 0
#endif

/* Chosen as the program starts, before ThreadSanitizer does, whose calls in what chooses would crash it. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__) && !IN_CLANG(thread_sanitizer)
#define QUICK __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define QUICK
#endif

/* Some points, a dimension each, with one transform's values. */
typedef struct chunk {
    double k[3][CHUNK], re[CHUNK], im[CHUNK];
} chunk;

static void take_points(const bench_case *c, const double *points, int64_t first, int count, chunk *of)
{
    for (int j = 0; j < count; j++)
        for (int d = 0; d < c->ndim; d++)
            of->k[d][j] = points[c->ndim * (first + j) + d] / (c->type == 3 ? 1 : (double)c->modes[d]);
}

static void take_values(const bench_case *c, const void *in, int64_t first, int count, chunk *of)
{
    for (int j = 0; j < count; j++) {
        const double _Complex v = value_at(in, c->is_double, first + j);
        of->re[j] = creal(v);
        of->im[j] = cimag(v);
    }
}

QUICK static double _Complex sum_chunk(const chunk *of, int count, const double r[3])
{
    double re = 0, im = 0;
#pragma omp simd reduction(+ : re, im)
    for (int j = 0; j < count; j++) {
        double wave_re, wave_im;
        unit_at(of->k[0][j] * r[0] + of->k[1][j] * r[1] + of->k[2][j] * r[2], &wave_re, &wave_im);
        re += of->re[j] * wave_re - of->im[j] * wave_im;
        im += of->re[j] * wave_im + of->im[j] * wave_re;
    }
    return CMPLX(re, im);
}

/* Points first..last-1's share of all chosen outputs. */
static void add_points(const bench_case *c, const double *points, const double *targets, const void *in,
                       const bench_direct *direct, int64_t first, int64_t last, double _Complex *sum)
{
    double r[BENCH_MOST_OUTPUTS][3] = {0};
    chunk of = {.k = {{0}}};
    for (int i = 0; i < direct->count; i++) find_frequency(c, targets, direct->output[i], r[i]);
    for (int64_t j = first; j < last; j += CHUNK) {
        const int count = last - j < CHUNK ? (int)(last - j) : CHUNK;
        take_points(c, points, j, count, &of);
        int64_t taken = -1;
        for (int i = 0; i < direct->count; i++) {
            const int64_t transform = direct->output[i] / bench_case_modes(c);
            if (transform != taken) take_values(c, in, transform * c->points + j, count, &of);
            taken = transform;
            sum[i] += sum_chunk(&of, count, r[i]);
        }
    }
}

static larmor_status sum_points(const bench_case *c, const double *points, const double *targets, const void *in,
                                bench_direct *direct)
{
    double _Complex(*sums)[BENCH_MOST_OUTPUTS] = calloc(BLOCKS, sizeof *sums);
    if (!sums) return NO_MEMORY();
#pragma omp parallel for schedule(dynamic)
    for (int b = 0; b < BLOCKS; b++)
        add_points(c, points, targets, in, direct, c->points * b / BLOCKS, c->points * (b + 1) / BLOCKS, sums[b]);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < direct->count; i++) direct->exact[i] += sums[b][i];
    free(sums);
    return LARMOR_OK;
}

static double _Complex wave_at(double cycles)
{
    double re, im;
    unit_at(cycles, &re, &im);
    return CMPLX(re, im);
}

/* All modes at one point k: the exponential is a product over the dimensions. wave has room for all three. */
static double _Complex sum_modes(const bench_case *c, const double *k, const void *in, int64_t start,
                                 double _Complex *wave)
{
    const int64_t nx = c->modes[0], ny = c->modes[1], nz = c->modes[2];
    double _Complex *of[3] = {wave, wave + nx, wave + nx + ny}, total = 0;
    for (int d = 0; d < 3; d++)
        for (int64_t i = 0; i < c->modes[d]; i++)
            of[d][i] = d < c->ndim ? wave_at(-k[d] * (double)(i - c->modes[d] / 2) / (double)c->modes[d]) : 1;
    for (int64_t row = 0; row < ny * nz; row++) {
        double _Complex sum = 0;
        for (int64_t x = 0; x < nx; x++) sum += value_at(in, c->is_double, start + row * nx + x) * of[0][x];
        total += sum * of[1][row % ny] * of[2][row / ny];
    }
    return total;
}

static larmor_status sum_all_modes(const bench_case *c, const double *points, const void *in, bench_direct *direct)
{
    const size_t waves = (size_t)(c->modes[0] + c->modes[1] + c->modes[2]);
    int lacking = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : lacking)
    for (int i = 0; i < direct->count; i++) {
        const int64_t transform = direct->output[i] / c->points, j = direct->output[i] % c->points;
        APP_HEAP double _Complex *wave = malloc(waves * sizeof *wave);
        if (wave)
            direct->exact[i] = sum_modes(c, points + c->ndim * j, in, transform * bench_case_modes(c), wave);
        else
            lacking = 1;
    }
    return lacking ? NO_MEMORY() : LARMOR_OK;
}

larmor_status bench_direct_sum(const bench_case *c, const double *points, const double *targets, const void *in,
                               bench_direct *direct)
{
    memset(direct, 0, sizeof *direct);
    choose_outputs(c, direct);
    return c->type == 2 ? sum_all_modes(c, points, in, direct) : sum_points(c, points, targets, in, direct);
}

static larmor_status read_one(larmor_array *flat, int64_t i, double _Complex *value)
{
    float _Complex single;
    APP_OWN(larmor_array, one, larmor_array_slice(flat, i, 1, &one));
    const int is_double = larmor_array_dtype(one) == LARMOR_C128;
    TRY(larmor_array_read(one, is_double ? (void *)value : &single, larmor_array_bytes(one)));
    if (!is_double) *value = single;
    return LARMOR_OK;
}

larmor_status bench_direct_error(const bench_direct *direct, larmor_array *out, double *error)
{
    double wrong = 0, whole = 0;
    larmor_array *flat;
    larmor_status st = larmor_array_reshape(out, LARMOR_SHAPE(larmor_array_count(out)), &flat);
    for (int i = 0; i < direct->count && !st; i++) {
        double _Complex value = 0;
        st = read_one(flat, direct->output[i], &value);
        const double _Complex off = value - direct->exact[i];
        wrong += creal(off * conj(off));
        whole += creal(direct->exact[i] * conj(direct->exact[i]));
    }
    larmor_array_free(flat);
    *error = sqrt(wrong / whole);
    return st;
}
