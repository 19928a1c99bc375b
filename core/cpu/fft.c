/* FFTs on the processor through FFTW. Plans are estimated, never timed, so that the same build gives the same bits.
 * Arrays of several axes are transformed axis by axis in groups of contiguous lines, which columns are copied to and
 * from: FFTW's own estimate for them is several times slower, and a band leaves lines out.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fftw3.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/real.h"
#include "core/status.h"

#if LMR_REAL == 32
#define FFTW(name) fftwf_##name
#else
#define FFTW(name) fftw_##name
#endif

/* Lines at a time; the longest lines, beyond which FFTW arranges its own; cells that are not worth a second thread;
 * bytes of an array that one thread does as a whole. */
enum { TOGETHER = 8, LONGEST = 1 << 15, SERIAL_WORK = 1 << 13, MOST_BYTES = 4 << 20 };

typedef struct pair {
    real re, im;
} pair;

/* What a thread works with: TOGETHER lines before and after their transform. */
typedef struct bench {
    pair *in, *out;
} bench;

typedef struct transform {
    int ndim, threads;
    int64_t dim[3], batch;
    FFTW(plan) whole[2];              /* forward, backward: all axes by FFTW; NULL for an empty transform, or with: */
    FFTW(plan) one[3][2], many[3][2]; /* one line of an axis, and TOGETHER ones */
    int64_t pitch;                    /* between the lines of a bench */
    char *memory;
} transform;

/* FFTW's planner is the one part of it that is not safe to call from several threads. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int threads_work;

static void init_threads(void)
{
    threads_work = FFTW(init_threads)();
}

/* ---- plans ---- */

static void destroy(void *ctx, void *plan)
{
    (void)ctx;
    transform *t = plan;
    if (!t) return;
    pthread_mutex_lock(&planner);
    for (int s = 0; s < 2; s++) {
        if (t->whole[s]) FFTW(destroy_plan)(t->whole[s]);
        for (int a = 0; a < 3; a++) {
            if (t->one[a][s]) FFTW(destroy_plan)(t->one[a][s]);
            if (t->many[a][s]) FFTW(destroy_plan)(t->many[a][s]);
        }
    }
    pthread_mutex_unlock(&planner);
    free(t->memory), free(t);
}

static larmor_status plan_whole(transform *t, void *probe)
{
    FFTW(iodim64) dims[3];
    int64_t stride = 1;
    for (int a = 0; a < t->ndim; a++) {
        dims[t->ndim - 1 - a] = (FFTW(iodim64)){t->dim[a], stride, stride}; /* FFTW wants the slowest first */
        stride *= t->dim[a];
    }
    const FFTW(iodim64) many = {t->batch, stride, stride};
    /* threads hardly help a short line, and FFTW rounds otherwise with some numbers of them */
    if (threads_work) FFTW(plan_with_nthreads)(t->batch == 1 && stride <= LONGEST ? 1 : t->threads);
    for (int s = 0; s < 2; s++) {
        t->whole[s] = FFTW(plan_guru64_dft)(t->ndim, dims, 1, &many, probe, probe, s ? 1 : -1, FFTW_ESTIMATE);
        if (!t->whole[s]) return LMR_FAIL(LARMOR_ERR_BACKEND, "fft: FFTW has no plan for this size");
    }
    return LARMOR_OK;
}

static larmor_status plan_axis(transform *t, int a, void *in, void *out)
{
    const FFTW(iodim64) line = {t->dim[a], 1, 1}, many = {TOGETHER, t->pitch, t->pitch};
    if (threads_work) FFTW(plan_with_nthreads)(1);
    for (int s = 0; s < 2; s++) {
        t->one[a][s] = FFTW(plan_guru64_dft)(1, &line, 0, NULL, in, out, s ? 1 : -1, FFTW_ESTIMATE);
        t->many[a][s] = FFTW(plan_guru64_dft)(1, &line, 1, &many, in, out, s ? 1 : -1, FFTW_ESTIMATE);
        if (!t->one[a][s] || !t->many[a][s])
            return LMR_FAIL(LARMOR_ERR_BACKEND, "fft: FFTW has no plan for %lld numbers", (long long)t->dim[a]);
    }
    return LARMOR_OK;
}

/* An estimate looks at the addresses' alignment, not at the memory. */
static larmor_status make_plans(transform *t, int by_lines)
{
    char *probe = aligned_alloc(64, 128);
    larmor_status st = LARMOR_OK;
    if (!probe) return LMR_NO_MEMORY();
    pthread_once(&once, init_threads);
    pthread_mutex_lock(&planner);
    if (!by_lines) st = plan_whole(t, probe);
    for (int a = 0; a < 3 && by_lines && !st; a++)
        if (t->dim[a] > 1) st = plan_axis(t, a, probe, probe + 64);
    pthread_mutex_unlock(&planner);
    free(probe);
    return st;
}

static larmor_status arrange(transform *t)
{
    int64_t cells = 1, total, longest = 1;
    for (int a = 0; a < t->ndim; a++) {
        if (!lmr_mul(cells, t->dim[a], &cells)) return LMR_FAIL(LARMOR_ERR_SHAPE, "fft: the array is too large");
        if (t->dim[a] > longest) longest = t->dim[a];
    }
    if (!lmr_mul(cells, t->batch, &total) || total > PTRDIFF_MAX / (int64_t)sizeof(pair))
        return LMR_FAIL(LARMOR_ERR_SHAPE, "fft: the array is too large");
    if (!total) return LARMOR_OK;
    const int by_lines = t->ndim > 1 && longest <= LONGEST;
    if (by_lines) {
        t->pitch = longest / TOGETHER * TOGETHER + 2 * TOGETHER; /* whole cache lines, never a power of two */
        t->memory = aligned_alloc(64, (size_t)(2 * TOGETHER * t->pitch * t->threads) * sizeof(pair));
        if (!t->memory) return LMR_NO_MEMORY();
    }
    return make_plans(t, by_lines);
}

static larmor_status plan(void *ctx, int ndim, const int64_t dim[3], int64_t batch, void **out)
{
    *out = NULL;
    if (ndim < 1 || ndim > 3 || batch < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "fft: %d dimensions, batch %lld", ndim, (long long)batch);
    transform *t = calloc(1, sizeof *t);
    if (!t) return LMR_NO_MEMORY();
    t->ndim = ndim, t->batch = batch, t->threads = ((const lmr_cpu *)ctx)->threads;
    for (int a = 0; a < 3; a++) t->dim[a] = a < ndim ? dim[a] : 1;
    const larmor_status st = arrange(t);
    if (st) {
        destroy(ctx, t);
        return st;
    }
    *out = t;
    return LARMOR_OK;
}

/* ---- one axis by lines ---- */

/* Part of an axis in which a line has numbers: the first `low`, and those from `high` on; zeros between. */
typedef struct part {
    int64_t low, high;
} part;

/* What one call does: where the lines of each axis have numbers before and after their transform. */
typedef struct task {
    const transform *t;
    pair *data;
    part from[3], to[3], lines[3]; /* lines: which indices of an axis the lines of an earlier axis have */
    int64_t count[3];              /* of those */
    int inward, sign;
} task;

/* The part of n that the lowest `keep` frequencies take. */
static part part_of(int64_t n, int64_t keep)
{
    return (part){keep - keep / 2, n - keep / 2};
}

/* Index of its i-th frequency. */
static int64_t member(part p, int64_t i)
{
    return i < p.low ? i : i - p.low + p.high;
}

static void turn(const task *k, int a, const bench *b, int64_t count)
{
    const transform *t = k->t;
    if (count == TOGETHER)
        FFTW(execute_dft)(t->many[a][k->sign], (void *)b->in, (void *)b->out);
    else
        for (int64_t i = 0; i < count; i++)
            FFTW(execute_dft)(t->one[a][k->sign], (void *)(b->in + i * t->pitch), (void *)(b->out + i * t->pitch));
}

static int64_t group(int64_t total, int64_t first)
{
    return total - first < TOGETHER ? total - first : TOGETHER;
}

/* The rows `first` and the following of a plane. */
static void turn_rows(const task *k, const bench *b, pair *plane, int64_t first)
{
    const int64_t n = k->t->dim[0], count = group(k->count[1], first);
    const part from = k->from[0], to = k->to[0];
    if (n == 1) return;
    for (int64_t i = 0; i < count; i++) {
        pair *line = b->in + i * k->t->pitch;
        const pair *row = plane + member(k->lines[1], first + i) * n;
        memcpy(line, row, (size_t)from.low * sizeof *row);
        memset(line + from.low, 0, (size_t)(from.high - from.low) * sizeof *row);
        memcpy(line + from.high, row + from.high, (size_t)(n - from.high) * sizeof *row);
    }
    turn(k, 0, b, count);
    for (int64_t i = 0; i < count; i++) {
        const pair *line = b->out + i * k->t->pitch;
        pair *row = plane + member(k->lines[1], first + i) * n;
        memcpy(row, line, (size_t)to.low * sizeof *row);
        memcpy(row + to.high, line + to.high, (size_t)(n - to.high) * sizeof *row);
    }
}

static void gather(pair *lines, int64_t pitch, const pair *columns, int64_t stride, int64_t count, int64_t begin,
                   int64_t end)
{
    if (count == TOGETHER)
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < TOGETHER; c++) lines[c * pitch + i] = columns[i * stride + c];
    else
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < count; c++) lines[c * pitch + i] = columns[i * stride + c];
}

static void scatter(const pair *lines, int64_t pitch, pair *columns, int64_t stride, int64_t count, int64_t begin,
                    int64_t end)
{
    if (count == TOGETHER)
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < TOGETHER; c++) columns[i * stride + c] = lines[c * pitch + i];
    else
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < count; c++) columns[i * stride + c] = lines[c * pitch + i];
}

/* Of `total` neighbouring columns along axis a, those from `first` on. */
static void turn_columns(const task *k, int a, const bench *b, pair *columns, int64_t total, int64_t first)
{
    const int64_t n = k->t->dim[a], pitch = k->t->pitch, count = group(total, first);
    const part from = k->from[a], to = k->to[a];
    if (n == 1) return;
    gather(b->in, pitch, columns + first, total, count, 0, from.low);
    for (int64_t c = 0; c < count; c++)
        memset(b->in + c * pitch + from.low, 0, (size_t)(from.high - from.low) * sizeof(pair));
    gather(b->in, pitch, columns + first, total, count, from.high, n);
    turn(k, a, b, count);
    scatter(b->out, pitch, columns + first, total, count, 0, to.low);
    scatter(b->out, pitch, columns + first, total, count, to.high, n);
}

/* ---- all axes ---- */

/* Outward the first axis comes first, so that few lines precede many; inward it comes last. */
static void turn_plane(const task *k, const bench *b, pair *plane)
{
    for (int pass = 0; pass < 2; pass++)
        if (pass == k->inward)
            for (int64_t r = 0; r < k->count[1]; r += TOGETHER) turn_rows(k, b, plane, r);
        else
            for (int64_t c = 0; c < k->t->dim[0]; c += TOGETHER) turn_columns(k, 1, b, plane, k->t->dim[0], c);
}

static void turn_array(const task *k, const bench *b, pair *array)
{
    const int64_t plane = k->t->dim[0] * k->t->dim[1];
    for (int pass = 0; pass < 2; pass++)
        if (pass == k->inward)
            for (int64_t z = 0; z < k->count[2]; z++) turn_plane(k, b, array + member(k->lines[2], z) * plane);
        else if (k->t->dim[2] > 1)
            for (int64_t c = 0; c < plane; c += TOGETHER) turn_columns(k, 2, b, array, plane, c);
}

static pair *plane_at(const task *k, int64_t i)
{
    const int64_t *n = k->t->dim;
    return k->data + (i / k->count[2] * n[2] + member(k->lines[2], i % k->count[2])) * n[0] * n[1];
}

/* What follows is called by every thread of a team. */

static void share_rows(const task *k, const bench *b, int64_t planes)
{
    const int64_t groups = (k->count[1] + TOGETHER - 1) / TOGETHER;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < planes * groups; i++) turn_rows(k, b, plane_at(k, i / groups), i % groups * TOGETHER);
}

static void share_columns(const task *k, const bench *b, int64_t planes)
{
    const int64_t n = k->t->dim[0], groups = (n + TOGETHER - 1) / TOGETHER;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < planes * groups; i++)
        turn_columns(k, 1, b, plane_at(k, i / groups), n, i % groups * TOGETHER);
}

static void share_depth(const task *k, const bench *b)
{
    const int64_t *n = k->t->dim, plane = n[0] * n[1], groups = (plane + TOGETHER - 1) / TOGETHER;
    if (n[2] == 1) return;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < k->t->batch * groups; i++)
        turn_columns(k, 2, b, k->data + i / groups * plane * n[2], plane, i % groups * TOGETHER);
}

/* Whether threads that take whole pieces end at about the same time. */
static int divides(int64_t pieces, int threads)
{
    return pieces % threads == 0 || pieces >= 4 * (int64_t)threads;
}

static void share_planes(const task *k, const bench *b)
{
    const int64_t planes = k->t->batch * k->count[2];
    if (divides(planes, k->t->threads)) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < planes; i++) turn_plane(k, b, plane_at(k, i));
        return;
    }
    if (k->inward) share_columns(k, b, planes);
    share_rows(k, b, planes);
    if (!k->inward) share_columns(k, b, planes);
}

static void turn_all(const task *k)
{
    const transform *t = k->t;
    const int64_t cells = t->dim[0] * t->dim[1] * t->dim[2], size = 2 * TOGETHER * t->pitch;
    const int apart = divides(t->batch, t->threads) && cells <= MOST_BYTES / (int64_t)sizeof(pair);
    const int team = cells * t->batch > SERIAL_WORK ? t->threads : 1;
#pragma omp parallel num_threads(team)
    {
        pair *own = (pair *)t->memory + omp_get_thread_num() * size;
        const bench b = {own, own + TOGETHER * t->pitch};
        if (apart) {
#pragma omp for schedule(static)
            for (int64_t i = 0; i < t->batch; i++) turn_array(k, &b, k->data + i * cells);
        } else {
            if (k->inward) share_depth(k, &b);
            share_planes(k, &b);
            if (!k->inward) share_depth(k, &b);
        }
    }
}

/* Zeros where a line outside of the band, or a part of one, is. */
static void clear_beyond(const transform *t, const int64_t keep[3], pair *data)
{
    const int64_t *n = t->dim, rows = n[1] * n[2] * t->batch;
    const part x = part_of(n[0], keep[0]), y = part_of(n[1], t->ndim > 1 ? keep[1] : 1),
               z = part_of(n[2], t->ndim > 2 ? keep[2] : 1);
#pragma omp parallel for num_threads(rows *n[0] > SERIAL_WORK ? t->threads : 1) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t j = r % n[1], k = r / n[1] % n[2];
        const int out = (j >= y.low && j < y.high) || (k >= z.low && k < z.high);
        const int64_t low = out ? 0 : x.low, high = out ? n[0] : x.high;
        memset(data + r * n[0] + low, 0, (size_t)(high - low) * sizeof *data);
    }
}

static larmor_status band(void *ctx, void *plan_, int sign, int inward, const int64_t keep[3], void *data)
{
    (void)ctx;
    const transform *t = plan_;
    if (t->memory) {
        task k = {.t = t, .data = data, .inward = inward, .sign = sign > 0};
        for (int a = 0; a < 3; a++) {
            const int64_t n = t->dim[a], kept = a < t->ndim ? keep[a] : 1;
            k.lines[a] = part_of(n, kept), k.count[a] = kept;
            k.from[a] = inward ? part_of(n, n) : k.lines[a];
            k.to[a] = inward ? k.lines[a] : part_of(n, n);
        }
        turn_all(&k);
        return LARMOR_OK;
    }
    const FFTW(plan) chosen = t->whole[sign > 0];
    if (!chosen) return LARMOR_OK;
    if ((uintptr_t)data % 16) return LMR_FAIL(LARMOR_ERR_ARG, "fft: data must be aligned to 16 bytes");
    if (!inward) clear_beyond(t, keep, data);
    FFTW(execute_dft)(chosen, data, data);
    return LARMOR_OK;
}

static larmor_status exec(void *ctx, void *plan, int sign, void *data)
{
    return band(ctx, plan, sign, 1, ((const transform *)plan)->dim, data);
}

static double bytes(void *ctx, int ndim, const int64_t dim[3], int64_t batch)
{
    (void)batch;
    int64_t longest = 1;
    for (int a = 0; a < ndim; a++) longest = dim[a] > longest ? dim[a] : longest;
    const double lines = 2.0 * TOGETHER * (double)(longest + 2 * TOGETHER) * ((const lmr_cpu *)ctx)->threads;
    return ndim > 1 ? lines * (double)sizeof(pair) : 0;
}

const lmr_fft R(lmr_cpu_fft) = {plan, exec, band, destroy, bytes};

/* ---- single lines ---- */

static larmor_status line_plan(int64_t n, int sign, void **out)
{
    const FFTW(iodim64) dim = {n, 1, 1};
    char *probe = aligned_alloc(64, 128); /* looked at as above: two places that differ */
    *out = NULL;
    if (!probe) return LMR_NO_MEMORY();
    pthread_once(&once, init_threads);
    pthread_mutex_lock(&planner);
    if (threads_work) FFTW(plan_with_nthreads)(1);
    *out = FFTW(plan_guru64_dft)(1, &dim, 0, NULL, (void *)probe, (void *)(probe + 64), sign, FFTW_ESTIMATE);
    pthread_mutex_unlock(&planner);
    free(probe);
    return *out ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_BACKEND, "fft: FFTW has no plan for %lld numbers", (long long)n);
}

static void line_exec(void *plan, void *in, void *out)
{
    FFTW(execute_dft)(plan, in, out);
}

static void line_destroy(void *plan)
{
    if (!plan) return;
    pthread_mutex_lock(&planner);
    FFTW(destroy_plan)(plan);
    pthread_mutex_unlock(&planner);
}

const lmr_cpu_line R(lmr_cpu_line) = {line_plan, line_exec, line_destroy};
