/* FFTs on the processor through FFTW. Plans are estimated, never timed, and made for one thread, so that the same build
 * gives the same bits with any number of threads: these share lines. Arrays of several axes are transformed axis by
 * axis in groups of contiguous lines, which columns are copied to and from: FFTW's own estimate for them is several
 * times slower, and a band leaves lines out. A single long line becomes an array of two axes (Bailey, J. Supercomput.
 * 4, 23 (1990)). SPDX-License-Identifier: Apache-2.0 */
#include <fftw3.h>
#include <math.h>
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

/* Lines at a time; the longest line that is transformed as such, and the least side of the array that a longer one
 * becomes; the longest lines of an array of which TOGETHER are copied at a time; cells that are not worth a second
 * thread; bytes of an array that one thread does as a whole; powers of a root that are looked up at a time. */
enum {
    TOGETHER = 8,
    LONGEST = 1 << 16,
    LEAST_SIDE = 16,
    LONGEST_OF_MANY = 1 << 17,
    SERIAL_WORK = 1 << 13,
    MOST_BYTES = 4 << 20,
    POWERS = 16
};

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
    FFTW(plan) in_place[2];           /* forward, backward: a line as it lies there; NULL with: */
    FFTW(plan) one[3][2], many[3][2]; /* one line of an axis, and `together` ones */
    int64_t pitch, together;          /* between the lines of a bench, and how many these are */
    pair *memory;                     /* the benches; NULL for an empty transform, or lines in place */
    int64_t side[2];                  /* of the array that a line becomes; 0: it does not */
    pair *line;                       /* [side[0], side[1]]: that array between its axes */
    double *root[2]; /* exp(2 pi i k / n) for k < step, and for its multiples by step: n / step + 1 */
    int64_t step;
} transform;

/* FFTW's planner is the one part of it that is not safe to call from several threads. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static int threads_work;

static void init_threads(void)
{
    threads_work = FFTW(init_threads)();
}

/* Plans for one thread, whatever the program has told FFTW. */
static void begin_planning(void)
{
    pthread_once(&once, init_threads);
    pthread_mutex_lock(&planner);
    if (threads_work) FFTW(plan_with_nthreads)(1);
}

/* ---- plans ---- */

static void destroy(void *ctx, void *plan)
{
    (void)ctx;
    transform *t = plan;
    if (!t) return;
    pthread_mutex_lock(&planner);
    for (int s = 0; s < 2; s++) {
        if (t->in_place[s]) FFTW(destroy_plan)(t->in_place[s]);
        for (int a = 0; a < 3; a++) {
            if (t->one[a][s]) FFTW(destroy_plan)(t->one[a][s]);
            if (t->many[a][s]) FFTW(destroy_plan)(t->many[a][s]);
        }
    }
    pthread_mutex_unlock(&planner);
    free(t->memory), free(t->line), free(t->root[0]), free(t->root[1]), free(t);
}

static larmor_status no_plan(int64_t n)
{
    return LMR_FAIL(LARMOR_ERR_BACKEND, "fft: FFTW has no plan for %lld numbers", (long long)n);
}

/* Lines of an odd number of single precision numbers begin at addresses that FFTW's vectors do not take. */
static larmor_status plan_in_place(transform *t, void *probe)
{
    const FFTW(iodim64) line = {t->dim[0], 1, 1};
    const unsigned flags = FFTW_ESTIMATE | (t->dim[0] % 2 && t->batch > 1 ? FFTW_UNALIGNED : 0);
    for (int s = 0; s < 2; s++) {
        t->in_place[s] = FFTW(plan_guru64_dft)(1, &line, 0, NULL, probe, probe, s ? 1 : -1, flags);
        if (!t->in_place[s]) return no_plan(t->dim[0]);
    }
    return LARMOR_OK;
}

static larmor_status plan_axis(transform *t, int a, int64_t n, void *in, void *out)
{
    const FFTW(iodim64) line = {n, 1, 1}, many = {t->together, t->pitch, t->pitch};
    for (int s = 0; s < 2; s++) {
        t->one[a][s] = FFTW(plan_guru64_dft)(1, &line, 0, NULL, in, out, s ? 1 : -1, FFTW_ESTIMATE);
        t->many[a][s] = FFTW(plan_guru64_dft)(1, &line, 1, &many, in, out, s ? 1 : -1, FFTW_ESTIMATE);
        if (!t->one[a][s] || !t->many[a][s]) return no_plan(n);
    }
    return LARMOR_OK;
}

/* An estimate looks at the addresses' alignment, not at the memory. */
static larmor_status make_plans(transform *t)
{
    char *probe = aligned_alloc(64, 128);
    const int64_t *n = t->side[0] ? t->side : t->dim;
    const int axes = !t->memory ? 0 : t->side[0] ? 2 : t->ndim;
    larmor_status st = LARMOR_OK;
    if (!probe) return LMR_NO_MEMORY();
    begin_planning();
    if (!t->memory) st = plan_in_place(t, probe);
    for (int a = 0; a < axes && !st; a++)
        if (n[a] > 1) st = plan_axis(t, a, n[a], probe, probe + 64);
    pthread_mutex_unlock(&planner);
    free(probe);
    return st;
}

/* Lines that a thread copies at a time, and the room of one: whole cache lines, never a power of two. */
static int64_t lines_of(int64_t longest)
{
    return longest <= LONGEST_OF_MANY ? TOGETHER : 1;
}

static int64_t pitch_of(int64_t longest)
{
    return longest / TOGETHER * TOGETHER + 2 * TOGETHER;
}

static larmor_status make_benches(transform *t, int64_t longest)
{
    t->together = lines_of(longest), t->pitch = pitch_of(longest);
    t->memory = aligned_alloc(64, (size_t)(2 * t->together * t->pitch * t->threads) * sizeof(pair));
    return t->memory ? LARMOR_OK : LMR_NO_MEMORY();
}

/* The largest divisor up to the root of n, if possible one that leaves factors of 4 on both sides, of which FFTW's
 * vectors make use; 0 where a line is left as it is. */
static int64_t side_of(int64_t n)
{
    const int64_t root = n <= LONGEST ? 1 : (int64_t)sqrt((double)n);
    for (int64_t side = root / 4 * 4; side > root / 4; side -= 4)
        if (n % (4 * side) == 0) return side;
    int64_t side = root;
    while (side > 1 && n % side) side--;
    return side < LEAST_SIDE ? 0 : side;
}

/* Powers 0 .. count - 1 of exp(2 pi i step / n). */
static larmor_status make_roots(int64_t n, int64_t step, int64_t count, double **root)
{
    *root = malloc((size_t)(2 * count) * sizeof **root);
    if (!*root) return LMR_NO_MEMORY();
    for (int64_t k = 0; k < count; k++) {
        const long double angle = 6.283185307179586476925286766559L * (long double)(k * step) / (long double)n;
        (*root)[2 * k] = (double)cosl(angle), (*root)[2 * k + 1] = (double)sinl(angle);
    }
    return LARMOR_OK;
}

static larmor_status fold_line(transform *t, int64_t side)
{
    const int64_t n = t->dim[0];
    t->side[0] = side, t->side[1] = n / side;
    for (t->step = 1; t->step * t->step < n;) t->step *= 2;
    t->line = aligned_alloc(64, (size_t)(n / TOGETHER + 1) * TOGETHER * sizeof(pair));
    if (!t->line) return LMR_NO_MEMORY();
    LMR_TRY(make_roots(n, 1, t->step, &t->root[0]));
    LMR_TRY(make_roots(n, t->step, n / t->step + 1, &t->root[1]));
    return make_benches(t, t->side[1]);
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
    t->dim[0] = total ? t->dim[0] : 0;
    if (!total) return LARMOR_OK;
    const int64_t side = t->ndim == 1 ? side_of(cells) : 0;
    if (side) LMR_TRY(fold_line(t, side));
    if (t->ndim > 1) LMR_TRY(make_benches(t, longest));
    return make_plans(t);
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
    if (count == t->together)
        FFTW(execute_dft)(t->many[a][k->sign], (void *)b->in, (void *)b->out);
    else
        for (int64_t i = 0; i < count; i++)
            FFTW(execute_dft)(t->one[a][k->sign], (void *)(b->in + i * t->pitch), (void *)(b->out + i * t->pitch));
}

static int64_t group(const transform *t, int64_t total, int64_t first)
{
    return total - first < t->together ? total - first : t->together;
}

/* The rows `first` and the following of a plane. */
static void turn_rows(const task *k, const bench *b, pair *plane, int64_t first)
{
    const int64_t n = k->t->dim[0], count = group(k->t, k->count[1], first);
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
    const int64_t n = k->t->dim[a], pitch = k->t->pitch, count = group(k->t, total, first);
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
            for (int64_t r = 0; r < k->count[1]; r += k->t->together) turn_rows(k, b, plane, r);
        else
            for (int64_t c = 0; c < k->t->dim[0]; c += k->t->together) turn_columns(k, 1, b, plane, k->t->dim[0], c);
}

static void turn_array(const task *k, const bench *b, pair *array)
{
    const int64_t plane = k->t->dim[0] * k->t->dim[1];
    for (int pass = 0; pass < 2; pass++)
        if (pass == k->inward)
            for (int64_t z = 0; z < k->count[2]; z++) turn_plane(k, b, array + member(k->lines[2], z) * plane);
        else if (k->t->dim[2] > 1)
            for (int64_t c = 0; c < plane; c += k->t->together) turn_columns(k, 2, b, array, plane, c);
}

static pair *plane_at(const task *k, int64_t i)
{
    const int64_t *n = k->t->dim;
    return k->data + (i / k->count[2] * n[2] + member(k->lines[2], i % k->count[2])) * n[0] * n[1];
}

/* What follows is called by every thread of a team. */

static void share_rows(const task *k, const bench *b, int64_t planes)
{
    const int64_t together = k->t->together, groups = (k->count[1] + together - 1) / together;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < planes * groups; i++) turn_rows(k, b, plane_at(k, i / groups), i % groups * together);
}

static void share_columns(const task *k, const bench *b, int64_t planes)
{
    const int64_t n = k->t->dim[0], together = k->t->together, groups = (n + together - 1) / together;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < planes * groups; i++)
        turn_columns(k, 1, b, plane_at(k, i / groups), n, i % groups * together);
}

static void share_depth(const task *k, const bench *b)
{
    const int64_t *n = k->t->dim, plane = n[0] * n[1], together = k->t->together,
                  groups = (plane + together - 1) / together;
    if (n[2] == 1) return;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < k->t->batch * groups; i++)
        turn_columns(k, 2, b, k->data + i / groups * plane * n[2], plane, i % groups * together);
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
    const int64_t cells = t->dim[0] * t->dim[1] * t->dim[2], size = 2 * t->together * t->pitch;
    const int apart = divides(t->batch, t->threads) && cells <= MOST_BYTES / (int64_t)sizeof(pair);
    const int team = cells * t->batch > SERIAL_WORK ? t->threads : 1;
#pragma omp parallel num_threads(team)
    {
        pair *own = t->memory + omp_get_thread_num() * size;
        const bench b = {own, own + t->together * t->pitch};
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

/* ---- a long line ----
 *
 * With j = j1 n2 + j2 and k = k1 + n1 k2 the sum over j1 is a transform of columns, that over j2 one of rows, and
 * between them each number is multiplied by exp(2 pi i sign j2 k1 / n). */

/* exp(2 pi i k / n), k < n. */
static inline void root_at(const transform *t, int64_t k, double r[2])
{
    const double *a = t->root[0] + 2 * (k & (t->step - 1)), *b = t->root[1] + 2 * (k / t->step);
    r[0] = a[0] * b[0] - a[1] * b[1], r[1] = a[0] * b[1] + a[1] * b[0];
}

/* Number k1 of a column times exp(2 pi i sign j2 k1 / n), POWERS of them for each root that is looked up. */
static void rotate_column(const transform *t, int sign, int64_t j2, pair *restrict column)
{
    const int64_t n1 = t->side[0];
    const double flip = sign ? 1 : -1;
    double low[2][POWERS] = {{0}}, r[2];
    for (int i = 0; i < POWERS && i < n1; i++) {
        root_at(t, j2 * i, r);
        low[0][i] = r[0], low[1][i] = r[1];
    }
    for (int64_t first = 0; first < n1; first += POWERS) {
        real c[POWERS], s[POWERS];
        const int count = n1 - first < POWERS ? (int)(n1 - first) : POWERS;
        root_at(t, j2 * first, r);
        for (int i = 0; i < POWERS; i++) {
            c[i] = (real)(r[0] * low[0][i] - r[1] * low[1][i]);
            s[i] = (real)(flip * (r[0] * low[1][i] + r[1] * low[0][i]));
        }
        for (int i = 0; i < count; i++) {
            const pair x = column[first + i];
            column[first + i] = (pair){x.re * c[i] - x.im * s[i], x.re * s[i] + x.im * c[i]};
        }
    }
}

/* Columns first .. of the data, which has numbers in rows before `low` and from `high` on alone. */
static void long_columns(const transform *t, int sign, const bench *b, const pair *data, int64_t first, int64_t low,
                         int64_t high)
{
    const int64_t n1 = t->side[0], n2 = t->side[1], count = group(t, n2, first);
    gather(b->in, t->pitch, data + first, n2, count, 0, low);
    for (int64_t c = 0; c < count; c++) memset(b->in + c * t->pitch + low, 0, (size_t)(high - low) * sizeof(pair));
    gather(b->in, t->pitch, data + first, n2, count, high, n1);
    turn(&(task){.t = t, .sign = sign}, 0, b, count);
    for (int64_t c = 0; c < count; c++) rotate_column(t, sign, first + c, b->out + c * t->pitch);
    scatter(b->out, t->pitch, t->line + first, n2, count, 0, n1);
}

/* Rows first .. into their columns of the data, of which only rows before `low` and from `high` on are wanted. */
static void long_rows(const transform *t, int sign, const bench *b, pair *data, int64_t first, int64_t low,
                      int64_t high)
{
    const int64_t n1 = t->side[0], n2 = t->side[1], count = group(t, n1, first);
    for (int64_t c = 0; c < count; c++)
        memcpy(b->in + c * t->pitch, t->line + (first + c) * n2, (size_t)n2 * sizeof(pair));
    turn(&(task){.t = t, .sign = sign}, 1, b, count);
    scatter(b->out, t->pitch, data + first, n1, count, 0, low);
    scatter(b->out, t->pitch, data + first, n1, count, high, n2);
}

/* The rows of `width` numbers that hold none of the band. */
static part empty_rows(part band, int64_t width)
{
    const int64_t low = (band.low + width - 1) / width, high = band.high / width;
    return low < high ? (part){low, high} : (part){low, low};
}

static void long_line(const transform *t, int sign, part from, part to, pair *data)
{
    const int64_t n1 = t->side[0], n2 = t->side[1];
    const part columns = empty_rows(from, n2), rows = empty_rows(to, n1);
    memset(data + from.low, 0, (size_t)(from.high - from.low) * sizeof(pair));
#pragma omp parallel num_threads(t->threads)
    {
        pair *own = t->memory + omp_get_thread_num() * 2 * t->together * t->pitch;
        const bench b = {own, own + t->together * t->pitch};
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n2; i += TOGETHER) {
            const int64_t end = i + TOGETHER < n2 ? i + TOGETHER : n2;
            for (int64_t c = i; c < end; c += t->together)
                long_columns(t, sign, &b, data, c, columns.low, columns.high);
        }
#pragma omp for schedule(static)
        for (int64_t i = 0; i < n1; i += TOGETHER) {
            const int64_t end = i + TOGETHER < n1 ? i + TOGETHER : n1;
            for (int64_t r = i; r < end; r += t->together) long_rows(t, sign, &b, data, r, rows.low, rows.high);
        }
    }
}

/* ---- lines ---- */

static void all_lines(const transform *t, int sign, int inward, part band, pair *data)
{
    const int64_t n = t->dim[0];
    const part all = part_of(n, n);
    for (int64_t i = 0; i < t->batch && t->side[0]; i++)
        long_line(t, sign, inward ? all : band, inward ? band : all, data + i * n);
    if (t->side[0]) return;
#pragma omp parallel for num_threads(n * t->batch > SERIAL_WORK ? t->threads : 1) schedule(static)
    for (int64_t i = 0; i < t->batch; i++) {
        pair *line = data + i * n;
        if (!inward) memset(line + band.low, 0, (size_t)(band.high - band.low) * sizeof(pair));
        FFTW(execute_dft)(t->in_place[sign], (void *)line, (void *)line);
    }
}

static larmor_status band(void *ctx, void *plan_, int sign, int inward, const int64_t keep[3], void *data)
{
    (void)ctx;
    const transform *t = plan_;
    if (!t->dim[0]) return LARMOR_OK;
    if ((uintptr_t)data % 16) return LMR_FAIL(LARMOR_ERR_ARG, "fft: data must be aligned to 16 bytes");
    if (t->ndim == 1) {
        all_lines(t, sign > 0, inward, part_of(t->dim[0], keep[0]), data);
        return LARMOR_OK;
    }
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

static larmor_status exec(void *ctx, void *plan, int sign, void *data)
{
    return band(ctx, plan, sign, 1, ((const transform *)plan)->dim, data);
}

static double bytes(void *ctx, int ndim, const int64_t dim[3], int64_t batch)
{
    (void)batch;
    int64_t longest = 1;
    for (int a = 0; a < ndim; a++) longest = dim[a] > longest ? dim[a] : longest;
    const int64_t side = ndim == 1 ? side_of(longest) : 0;
    if (ndim == 1 && !side) return 0;
    const double line = side ? (double)longest + TOGETHER + 32 * sqrt((double)longest) : 0;
    if (side) longest /= side;
    const double benches = 2.0 * (double)(lines_of(longest) * pitch_of(longest)) * ((const lmr_cpu *)ctx)->threads;
    return (benches + line) * (double)sizeof(pair);
}

const lmr_fft R(lmr_cpu_fft) = {plan, exec, band, destroy, bytes};

/* ---- single lines ---- */

static larmor_status line_plan(int64_t n, int sign, void **out)
{
    const FFTW(iodim64) dim = {n, 1, 1};
    char *probe = aligned_alloc(64, 128); /* looked at as above: two places that differ */
    *out = NULL;
    if (!probe) return LMR_NO_MEMORY();
    begin_planning();
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
