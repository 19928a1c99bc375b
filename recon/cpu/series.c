/* Blocks of low rank, stacks and off-resonance on the processor. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/cpu/cpu.h"
#include "core/real.h"
#include "recon/math_series.h"

#define THREADS(ctx) ((lmr_cpu *)(ctx))->threads

static int64_t product(const int64_t n[3])
{
    return n[0] * n[1] * n[2];
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- blocks of low rank ---- */

/* Between a series of images and blocks, each [voxels, frames]: the one that is not written to is NULL. */
static void copy_blocks(int threads, const lmr_blocks *cut, const cplx *from, cplx *blocks, cplx *series)
{
    const int64_t inside = product(cut->block), voxels = product(cut->dim), n = product(cut->count);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t b = 0; b < n; b++)
        for (int64_t v = 0; v < inside; v++) {
            const int64_t at = lmr_block_source(cut, v, b);
            for (int64_t t = 0; t < cut->frames; t++) {
                const int64_t in_block = v + inside * (t + cut->frames * b);
                if (blocks)
                    blocks[in_block] = at < 0 ? 0 : from[at + voxels * t];
                else if (at >= 0)
                    series[at + voxels * t] = from[in_block];
            }
        }
}

static larmor_status blocks(void *ctx, const lmr_blocks *cut, const void *x, void *y)
{
    copy_blocks(THREADS(ctx), cut, x, y, NULL);
    return LARMOR_OK;
}

static larmor_status unblocks(void *ctx, const lmr_blocks *cut, const void *y, void *x)
{
    copy_blocks(THREADS(ctx), cut, y, NULL, x);
    return LARMOR_OK;
}

enum { STRIP = 16, DEPTH = 32 }; /* columns of a Gram matrix at a time, and terms of its sums */

/* Columns first .. last-1 of sum_r conj(v_r) v_r^T above the diagonal, v_r [s] number r of depth vectors: the rows of
 * x [m, n], or the conjugates of its columns. work: 2 s (STRIP + DEPTH) doubles. */
static void gram_strip(int64_t m, int64_t s, int64_t depth, int left, int64_t first, int64_t last, const cplx *x,
                       double *work, double _Complex *g)
{
    double *re = work, *im = re + STRIP * s, *vr = im + STRIP * s, *vi = vr + DEPTH * s;
    memset(work, 0, sizeof *work * (size_t)(2 * STRIP * s));
    for (int64_t r0 = 0; r0 < depth; r0 += DEPTH) {
        const int64_t count = least(DEPTH, depth - r0);
        for (int64_t i = 0; i < last; i++)
            for (int64_t r = 0; r < count; r++) {
                const double _Complex v = left ? conj((double _Complex)x[i + m * (r0 + r)]) : x[r0 + r + m * i];
                vr[i + s * r] = creal(v);
                vi[i + s * r] = cimag(v);
            }
        for (int64_t j = first; j < last; j++) {
            double *sum_re = re + s * (j - first), *sum_im = im + s * (j - first);
            for (int64_t r = 0; r < count; r++) {
                const double *ar = vr + s * r, *ai = vi + s * r, br = ar[j], bi = ai[j];
                for (int64_t i = 0; i <= j; i++) {
                    sum_re[i] += ar[i] * br + ai[i] * bi;
                    sum_im[i] += ar[i] * bi - ai[i] * br;
                }
            }
        }
    }
    for (int64_t j = first; j < last; j++)
        for (int64_t i = 0; i <= j; i++) g[i + s * j] = CMPLX(re[i + s * (j - first)], im[i + s * (j - first)]);
}

static larmor_status gram(void *ctx, int64_t m, int64_t n, int64_t count, int left, const void *x_, void *g_)
{
    const cplx *x = x_;
    double _Complex *g = g_;
    const int64_t s = left ? m : n;
    const int64_t depth = left ? n : m;
    const int64_t strips = (s + STRIP - 1) / STRIP;
    int failed = 0;
#pragma omp parallel num_threads(THREADS(ctx)) reduction(| : failed)
    {
        double *work = malloc(sizeof *work * (size_t)(2 * (STRIP + DEPTH) * s + 1));
        failed |= !work;
#pragma omp for schedule(dynamic)
        for (int64_t at = 0; at < count * strips; at++) {
            const int64_t b = at / strips, first = at % strips * STRIP;
            if (work)
                gram_strip(m, s, depth, left, first, least(first + STRIP, s), x + m * n * b, work, g + s * s * b);
        }
        free(work);
    }
    return failed ? LMR_NO_MEMORY() : LARMOR_OK;
}

/* Matrix by matrix p <- sum_k f_k v_k v_k^H. */
static larmor_status project(void *ctx, int64_t s, int64_t count, double t, const void *v_, const double *w, void *p_)
{
    const double _Complex *v = v_;
    cplx *p = p_;
#pragma omp parallel for schedule(static) num_threads(THREADS(ctx))
    for (int64_t at = 0; at < s * count; at++) {
        const int64_t b = at / s, j = at % s;
        const double _Complex *vectors = v + s * s * b;
        for (int64_t i = 0; i < s; i++) {
            double _Complex sum = 0;
            for (int64_t k = s - 1; k >= 0; k--) {
                const double f = lmr_shrunk(w[k + s * b], t);
                if (!(f > 0)) break; /* all below are smaller */
                sum += f * vectors[i + s * k] * conj(vectors[j + s * k]);
            }
            p[i + s * at] = (cplx)sum;
        }
    }
    return LARMOR_OK;
}

static larmor_status multiply(void *ctx, int64_t m, int64_t n, int64_t k, int64_t count, const void *a_,
                              const void *b_, void *c_)
{
    const cplx *a = a_, *b = b_;
    cplx *c = c_;
    const int64_t strip = 1024, strips = (m + strip - 1) / strip;
#pragma omp parallel for schedule(static) num_threads(THREADS(ctx))
    for (int64_t at = 0; at < count * strips; at++) {
        const int64_t matrix = at / strips, first = at % strips * strip, rows = least(strip, m - first);
        for (int64_t j = 0; j < n; j++) {
            cplx *to = c + first + m * (j + n * matrix);
            memset(to, 0, sizeof *to * (size_t)rows);
            for (int64_t l = 0; l < k; l++) {
                const cplx *from = a + first + m * (l + k * matrix), by = b[l + k * (j + n * matrix)];
                for (int64_t i = 0; i < rows; i++) to[i] += by * from[i];
            }
        }
    }
    return LARMOR_OK;
}

/* ---- stacks ---- */

static larmor_status planes(void *ctx, int64_t n, int64_t voxels, int64_t count, int64_t batch, const int64_t *index,
                            const void *factor_, const void *x_, void *y_)
{
    const cplx *factor = factor_, *x = x_;
    cplx *y = y_;
    const int64_t strip = 64, strips = (voxels + strip - 1) / strip; /* a strip's lines stay in the cache */
#pragma omp parallel for schedule(static) num_threads(THREADS(ctx))
    for (int64_t at = 0; at < batch * strips; at++) {
        const int64_t b = at / strips, first = at % strips * strip, last = least(first + strip, voxels);
        for (int64_t p = 0; p < count; p++) {
            const int64_t z = index ? index[p] : p;
            const cplx f = factor ? factor[p] : 1;
            for (int64_t v = first; v < last; v++) y[v + voxels * (p + count * b)] = f * x[z + n * (v + voxels * b)];
        }
    }
    return LARMOR_OK;
}

static larmor_status lines(void *ctx, int64_t n, int64_t voxels, int64_t count, int64_t batch, const int64_t *index,
                           const void *factor_, const void *y_, void *x_)
{
    const cplx *factor = factor_, *y = y_;
    cplx *x = x_;
    const int64_t strip = 64, strips = (voxels + strip - 1) / strip;
#pragma omp parallel for schedule(static) num_threads(THREADS(ctx))
    for (int64_t at = 0; at < batch * strips; at++) {
        const int64_t b = at / strips, first = at % strips * strip, last = least(first + strip, voxels);
        for (int64_t p = 0; p < count; p++) {
            const int64_t z = index ? index[p] : p;
            const cplx f = factor ? (cplx)conj((double _Complex)factor[p]) : 1;
            for (int64_t v = first; v < last; v++) x[z + n * (v + voxels * b)] = f * y[v + voxels * (p + count * b)];
        }
    }
    return LARMOR_OK;
}

/* Columns of m numbers to their places among the total of each batch, or back from there. */
static void move_columns(void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch, const int64_t *index,
                         int collecting, const cplx *from, cplx *to)
{
#pragma omp parallel for schedule(static) num_threads(THREADS(ctx))
    for (int64_t at = 0; at < count * batch; at++) {
        const int64_t place = index[at % count] + total * (at / count);
        memcpy(to + m * (collecting ? at : place), from + m * (collecting ? place : at), sizeof *to * (size_t)m);
    }
}

static larmor_status scatter_columns(void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch,
                                     const int64_t *index, const void *x, void *y)
{
    move_columns(ctx, m, count, total, batch, index, 0, x, y);
    return LARMOR_OK;
}

static larmor_status gather_columns(void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch,
                                    const int64_t *index, const void *y, void *x)
{
    move_columns(ctx, m, count, total, batch, index, 1, y, x);
    return LARMOR_OK;
}

/* ---- off-resonance ---- */

/* Numbers that are alike for all columns of x and y [n, batch] are computed once for a stretch of rows. Columns lie
 * far apart, so that they follow one another there, not in each row. */
enum { STRETCH = 512 };

typedef struct factors {
    real re[STRETCH], im[STRETCH];
} factors;

/* y <- factor x over a stretch, or y + that */
static void apply_factors(const factors *f, int64_t n, int add, const real *x, real *y)
{
    for (int64_t i = 0; i < n && add; i++) {
        const real re = x[2 * i], im = x[2 * i + 1];
        y[2 * i] += f->re[i] * re - f->im[i] * im;
        y[2 * i + 1] += f->re[i] * im + f->im[i] * re;
    }
    for (int64_t i = 0; i < n && !add; i++) {
        const real re = x[2 * i], im = x[2 * i + 1];
        y[2 * i] = f->re[i] * re - f->im[i] * im;
        y[2 * i + 1] = f->re[i] * im + f->im[i] * re;
    }
}

static void apply_columns(const factors *f, int64_t first, int64_t count, int64_t n, int64_t batch, int add,
                          const real *x, real *y)
{
    for (int64_t c = 0; c < batch; c++)
        apply_factors(f, count, add, x + 2 * (first + n * c), y + 2 * (first + n * c));
}

static larmor_status evolve(void *ctx, int64_t n, int64_t batch, double time, const double *f, int add, const void *x,
                            void *y)
{
#pragma omp parallel for schedule(static) num_threads(THREADS(ctx))
    for (int64_t first = 0; first < n; first += STRETCH) {
        const int64_t count = least(STRETCH, n - first);
        factors phase;
        for (int64_t i = 0; i < count; i++) {
            const double cycles = time * f[first + i];
            const real angle = (real)(2 * LMR_PI * (cycles - rint(cycles)));
#if LMR_REAL == 32
            phase.re[i] = cosf(angle);
            phase.im[i] = sinf(angle);
#else
            phase.re[i] = cos(angle);
            phase.im[i] = sin(angle);
#endif
        }
        apply_columns(&phase, first, count, n, batch, add, x, y);
    }
    return LARMOR_OK;
}

static larmor_status weigh(void *ctx, int64_t m, int64_t batch, const int64_t *index, const void *b_, int conjugate,
                           int add, const void *x, void *y)
{
    const real *b = b_;
    const real sign = conjugate ? -1 : 1;
#pragma omp parallel for schedule(static) num_threads(THREADS(ctx))
    for (int64_t first = 0; first < m; first += STRETCH) {
        const int64_t count = least(STRETCH, m - first);
        factors by;
        for (int64_t i = 0; i < count; i++) {
            by.re[i] = b[2 * index[first + i]];
            by.im[i] = sign * b[2 * index[first + i] + 1];
        }
        apply_columns(&by, first, count, m, batch, add, x, y);
    }
    return LARMOR_OK;
}

const lmr_series_kernels R(lmr_cpu_series) = {
    .blocks = blocks,
    .unblocks = unblocks,
    .gram = gram,
    .project = project,
    .multiply = multiply,
    .planes = planes,
    .lines = lines,
    .scatter_columns = scatter_columns,
    .gather_columns = gather_columns,
    .evolve = evolve,
    .weigh = weigh,
};
