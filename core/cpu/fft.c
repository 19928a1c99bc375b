/* FFTs on the processor through FFTW. SPDX-License-Identifier: Apache-2.0
 *
 * Plans are estimated, never timed, so that the same build gives the same bits. Arrays are transformed axis by
 * axis, in groups of contiguous lines; columns are copied to such lines and back. FFTW's own estimate for columns
 * is several times slower, and a band needs only some of the lines. A single long line becomes a matrix, whose
 * columns and rows are transformed (Bailey, J. Supercomputing 4, 23 (1990)). The threads are OpenMP's: FFTW's
 * choice of algorithm depends on the number of its own threads. */
#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/owned.h"
#include "core/real.h"
#include "core/status.h"

#if LMR_REAL == 32
#define FFTW(name) fftwf_##name
#else
#define FFTW(name) fftw_##name
#endif

enum {
    GROUP = 8,              /* lines that a thread transforms at a time */
    LONGEST = 1 << 15,      /* the longest line that is transformed as it is; a longer one becomes a matrix */
    LONGEST_SIDE = 1 << 18, /* of that matrix */
    SERIAL_WORK = 1 << 13,  /* cells that are not worth a second thread */
    MOST_BYTES = 4 << 20,   /* of an array that one thread transforms alone */
    PLANNER_LINE = 1 << 15  /* numbers of a line: what FFTW's planner takes at first, amply */
};

typedef struct number {
    real re, im;
} number;

/* One thread's buffers: GROUP lines before and after their transform. */
typedef struct workspace {
    number *in, *out;
} workspace;

typedef struct transform {
    int ndim, threads;
    int64_t dim[3], batch;            /* lines of one axis are the rows of one plane: their batch is dim[1] */
    FFTW(plan) whole[2];              /* forward, backward: all axes of one array by FFTW; or */
    FFTW(plan) one[3][2], many[3][2]; /* one line of an axis, and GROUP ones; NULL for an axis of 1 */
    int64_t side[2];                  /* of the matrix that a long line is; else 0 */
    int64_t pitch;                    /* between the lines of a workspace */
    char *memory;                     /* the threads' workspaces */
    number *matrix;
    double (*roots)[2]; /* exp(2 pi i j / n) for j below step, then for all multiples of step */
    int64_t step;
} transform;

/* Threads that the host program has asked FFTW for; FFTW has had the question since 3.3.9. */
extern int FFTW(planner_nthreads)(void) __attribute__((weak));

/* FFTW ends the process where it gets no memory. So what an estimate for lines of n numbers takes, at most, is
 * asked for first: its tables of roots, and nodes that are small. */
static larmor_status expect_room(int64_t n)
{
    void *room = malloc(4096 + 4 * sizeof(number) * (size_t)n);
    if (!room) return LMR_NO_MEMORY();
    free(room);
    return LARMOR_OK;
}

static int is_shared; /* 1: the planner is there, and safe; under larmor's lock */

/* FFTW's planner serves the whole process, the host program's own plans too. It comes into being with the first
 * question, which FFTW answers without its own lock. */
static void share_planner(void)
{
    if (is_shared) return;
    lmr_cpu_fftw_enter();
    FFTW(make_planner_thread_safe)();
    if (FFTW(planner_nthreads)) FFTW(planner_nthreads)();
    lmr_cpu_fftw_leave();
    is_shared = 1;
}

larmor_status R(lmr_cpu_fftw_share)(void)
{
    LMR_TRY(expect_room(PLANNER_LINE));
    lmr_cpu_fftw_lock();
    share_planner();
    lmr_cpu_fftw_unlock();
    return LARMOR_OK;
}

/* Between begin and end FFTW plans for one thread, however many the host program has asked it for. */
static int begin_planning(void)
{
    lmr_cpu_fftw_lock();
    share_planner();
    lmr_cpu_fftw_enter();
    const int threads = FFTW(planner_nthreads) ? FFTW(planner_nthreads)() : 1;
    if (threads > 1) FFTW(plan_with_nthreads)(1);
    return threads;
}

static void end_planning(int threads)
{
    if (threads > 1) FFTW(plan_with_nthreads)(threads);
    lmr_cpu_fftw_leave();
    lmr_cpu_fftw_unlock();
}

/* ---- plans ---- */

static void destroy(void *ctx LMR_UNUSED, void *plan)
{
    transform *t = plan;
    if (!t) return;
    lmr_cpu_fftw_lock();
    for (int s = 0; s < 2; s++) {
        if (t->whole[s]) FFTW(destroy_plan)(t->whole[s]);
        for (int a = 0; a < 3; a++) {
            if (t->one[a][s]) FFTW(destroy_plan)(t->one[a][s]);
            if (t->many[a][s]) FFTW(destroy_plan)(t->many[a][s]);
        }
    }
    lmr_cpu_fftw_unlock();
    LMR_FREE(t->roots, t->matrix, t->memory, t);
}

static larmor_status plan_whole(transform *t, int64_t cells, void *probe)
{
    FFTW(iodim64) dims[3];
    int64_t stride = 1;
    for (int a = 0; a < t->ndim; a++) {
        dims[t->ndim - 1 - a] = (FFTW(iodim64)){t->dim[a], stride, stride}; /* FFTW wants the slowest first */
        stride *= t->dim[a];
    }
    const int alike = t->batch == 1 || cells * (int64_t)sizeof(number) % 16 == 0; /* the arrays' alignment */
    const unsigned flags = FFTW_ESTIMATE | (alike ? 0 : FFTW_UNALIGNED);
    for (int s = 0; s < 2; s++) {
        t->whole[s] = FFTW(plan_guru64_dft)(t->ndim, dims, 0, NULL, probe, probe, s ? 1 : -1, flags);
        LMR_REFUSE(!t->whole[s], LARMOR_ERR_BACKEND, "fft: FFTW has no plan for this size");
    }
    return LARMOR_OK;
}

static larmor_status plan_axis(transform *t, int a, int64_t n, void *in, void *out)
{
    const FFTW(iodim64) line = {n, 1, 1}, many = {GROUP, t->pitch, t->pitch};
    for (int s = 0; s < 2; s++) {
        t->one[a][s] = FFTW(plan_guru64_dft)(1, &line, 0, NULL, in, out, s ? 1 : -1, FFTW_ESTIMATE);
        t->many[a][s] = FFTW(plan_guru64_dft)(1, &line, 1, &many, in, out, s ? 1 : -1, FFTW_ESTIMATE);
        LMR_REFUSE(!t->one[a][s] || !t->many[a][s], LARMOR_ERR_BACKEND, "fft: FFTW has no plan for %lld numbers",
                   (long long)n);
    }
    return LARMOR_OK;
}

/* An estimate looks at the addresses' alignment, not at the memory. */
static larmor_status make_plans(transform *t, int64_t cells)
{
    larmor_status st = LARMOR_OK;
    for (int a = 0; a < t->ndim; a++) LMR_TRY(expect_room(t->dim[a]));
    LMR_HEAP char *probe = aligned_alloc(64, 128);
    if (!probe) return LMR_NO_MEMORY();
    const int threads = begin_planning();
    if (!t->memory) st = plan_whole(t, cells, probe);
    for (int a = 0; a < t->ndim && t->memory && !t->side[0] && !st; a++)
        if (t->dim[a] > 1) st = plan_axis(t, a, t->dim[a], probe, probe + 64);
    for (int a = 0; a < 2 && t->side[0] && !st; a++) st = plan_axis(t, a, t->side[a], probe, probe + 64);
    end_planning(threads);
    return st;
}

/* The sides of a matrix of n cells, nearly square; 0 if n has no such factors. */
static void find_sides(int64_t n, int64_t side[2])
{
    int64_t first = (int64_t)sqrt((double)n);
    while (first > 1 && n % first) first--;
    if (n / first <= LONGEST_SIDE) {
        side[0] = first;
        side[1] = n / first;
    }
}

static larmor_status make_matrix(transform *t, int64_t n)
{
    t->step = 1;
    while (t->step * t->step < n) t->step *= 2;
    const int64_t multiples = (n - 1) / t->step + 1;
    LMR_ALLOCATE(t->matrix, n);
    LMR_ALLOCATE(t->roots, t->step + multiples);
    for (int64_t i = 0; i < t->step + multiples; i++) {
        const double cycles = (double)(i < t->step ? i : (i - t->step) * t->step) / (double)n;
        t->roots[i][0] = cos(6.283185307179586477 * cycles);
        t->roots[i][1] = sin(6.283185307179586477 * cycles);
    }
    return LARMOR_OK;
}

/* Which lines the threads transform, and how many threads; a pitch of 0: FFTW has whole arrays. */
static void lay_out(transform *t)
{
    int64_t longest = 1;
    for (int a = 0; a < t->ndim; a++) longest = t->dim[a] > longest ? t->dim[a] : longest;
    /* with several lines, one that fits into a thread's cache is left to one thread */
    if (t->ndim == 1 && longest > (t->batch > 1 ? MOST_BYTES / (int64_t)sizeof(number) : LONGEST))
        find_sides(longest, t->side);
    if (t->side[0]) {
        longest = t->side[1];
    } else if (t->ndim == 1 && longest <= LONGEST) {
        const int64_t groups = (t->batch + GROUP - 1) / GROUP;
        if (groups < t->threads) t->threads = (int)groups; /* an idle thread needs no workspace */
        t->dim[1] = t->batch;
        t->batch = 1;
    }
    if (t->side[0] || longest <= LONGEST)
        t->pitch = longest / GROUP * GROUP + 2 * GROUP; /* whole cache lines, never a power of two */
}

static larmor_status arrange(transform *t)
{
    int64_t cells = 1, total;
    for (int a = 0; a < t->ndim; a++)
        LMR_REFUSE(!lmr_mul(cells, t->dim[a], &cells), LARMOR_ERR_SHAPE, "fft: the array is too large");
    LMR_REFUSE(!lmr_mul(cells, t->batch, &total) || total > PTRDIFF_MAX / (int64_t)sizeof(number), LARMOR_ERR_SHAPE,
               "fft: the array is too large");
    if (!total) return LARMOR_OK;
    lay_out(t);
    if (t->side[0]) LMR_TRY(make_matrix(t, t->side[0] * t->side[1]));
    if (t->pitch) {
        t->memory = aligned_alloc(64, (size_t)(2 * GROUP * t->pitch * t->threads) * sizeof(number));
        if (!t->memory) return LMR_NO_MEMORY();
    }
    return make_plans(t, cells);
}

static larmor_status plan(void *ctx, int ndim, const int64_t dim[3], int64_t batch, void **out)
{
    *out = NULL;
    LMR_REFUSE(ndim < 1 || ndim > 3 || batch < 0, LARMOR_ERR_ARG, "fft: %d dimensions, batch %lld", ndim,
               (long long)batch);
    LMR_NEW_ZEROS(transform, t, 1);
    t->ndim = ndim;
    t->batch = batch;
    t->threads = ((const lmr_cpu *)ctx)->threads;
    for (int a = 0; a < 3; a++) t->dim[a] = a < ndim ? dim[a] : 1;
    const larmor_status st = arrange(t);
    if (st)
        destroy(ctx, t);
    else
        *out = t;
    return st;
}

/* ---- one axis by lines ---- */

/* Part of an axis in which a line has numbers: the first `low`, and those from `high` on; zeros between. */
typedef struct part {
    int64_t low, high;
} part;

/* What one call does: where the lines of each axis have numbers before and after their transform. */
typedef struct task {
    const transform *t;
    number *data;
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

static void execute(const FFTW(plan) plan, number *in, number *out)
{
    lmr_cpu_fftw_enter();
    FFTW(execute_dft)(plan, (void *)in, (void *)out);
    lmr_cpu_fftw_leave();
}

static void transform_lines(const transform *t, int sign, int a, const workspace *w, int64_t count)
{
    if (count == GROUP)
        execute(t->many[a][sign], w->in, w->out);
    else
        for (int64_t i = 0; i < count; i++) execute(t->one[a][sign], w->in + i * t->pitch, w->out + i * t->pitch);
}

static int64_t group(int64_t total, int64_t first)
{
    return total - first < GROUP ? total - first : GROUP;
}

/* The rows `first` and the following of a plane. */
static void transform_rows(const task *k, const workspace *w, number *plane, int64_t first)
{
    const int64_t n = k->t->dim[0], count = group(k->count[1], first);
    const part from = k->from[0], to = k->to[0];
    if (!k->t->one[0][0]) return;
    for (int64_t i = 0; i < count; i++) {
        number *line = w->in + i * k->t->pitch;
        const number *row = plane + member(k->lines[1], first + i) * n;
        memcpy(line, row, (size_t)from.low * sizeof *row);
        memset(line + from.low, 0, (size_t)(from.high - from.low) * sizeof *row);
        memcpy(line + from.high, row + from.high, (size_t)(n - from.high) * sizeof *row);
    }
    transform_lines(k->t, k->sign, 0, w, count);
    for (int64_t i = 0; i < count; i++) {
        const number *line = w->out + i * k->t->pitch;
        number *row = plane + member(k->lines[1], first + i) * n;
        memcpy(row, line, (size_t)to.low * sizeof *row);
        memcpy(row + to.high, line + to.high, (size_t)(n - to.high) * sizeof *row);
    }
}

static void gather(number *lines, int64_t pitch, const number *columns, int64_t stride, int64_t count, int64_t begin,
                   int64_t end)
{
    if (count == GROUP)
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < GROUP; c++) lines[c * pitch + i] = columns[i * stride + c];
    else
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < count; c++) lines[c * pitch + i] = columns[i * stride + c];
}

static void scatter(const number *lines, int64_t pitch, number *columns, int64_t stride, int64_t count, int64_t begin,
                    int64_t end)
{
    if (count == GROUP)
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < GROUP; c++) columns[i * stride + c] = lines[c * pitch + i];
    else
        for (int64_t i = begin; i < end; i++)
            for (int64_t c = 0; c < count; c++) columns[i * stride + c] = lines[c * pitch + i];
}

/* Of `total` neighbouring columns along axis a, those from `first` on. */
static void transform_columns(const task *k, int a, const workspace *w, number *columns, int64_t total, int64_t first)
{
    const int64_t n = k->t->dim[a], pitch = k->t->pitch, count = group(total, first);
    const part from = k->from[a], to = k->to[a];
    if (!k->t->one[a][0]) return;
    gather(w->in, pitch, columns + first, total, count, 0, from.low);
    for (int64_t c = 0; c < count; c++)
        memset(w->in + c * pitch + from.low, 0, (size_t)(from.high - from.low) * sizeof(number));
    gather(w->in, pitch, columns + first, total, count, from.high, n);
    transform_lines(k->t, k->sign, a, w, count);
    scatter(w->out, pitch, columns + first, total, count, 0, to.low);
    scatter(w->out, pitch, columns + first, total, count, to.high, n);
}

/* ---- all axes ---- */

/* Outward the first axis comes first, so that few lines precede many; inward it comes last. */
static void transform_plane(const task *k, const workspace *w, number *plane)
{
    for (int pass = 0; pass < 2; pass++)
        if (pass == k->inward)
            for (int64_t r = 0; r < k->count[1]; r += GROUP) transform_rows(k, w, plane, r);
        else
            for (int64_t c = 0; c < k->t->dim[0]; c += GROUP) transform_columns(k, 1, w, plane, k->t->dim[0], c);
}

static void transform_array(const task *k, const workspace *w, number *array)
{
    const int64_t plane = k->t->dim[0] * k->t->dim[1];
    for (int pass = 0; pass < 2; pass++)
        if (pass == k->inward)
            for (int64_t z = 0; z < k->count[2]; z++) transform_plane(k, w, array + member(k->lines[2], z) * plane);
        else if (k->t->dim[2] > 1)
            for (int64_t c = 0; c < plane; c += GROUP) transform_columns(k, 2, w, array, plane, c);
}

static number *plane_at(const task *k, int64_t i)
{
    const int64_t *n = k->t->dim;
    return k->data + (i / k->count[2] * n[2] + member(k->lines[2], i % k->count[2])) * n[0] * n[1];
}

/* What follows is called by every thread of a team. */

static void share_rows(const task *k, const workspace *w, int64_t planes)
{
    const int64_t groups = (k->count[1] + GROUP - 1) / GROUP;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < planes * groups; i++) transform_rows(k, w, plane_at(k, i / groups), i % groups * GROUP);
}

static void share_columns(const task *k, const workspace *w, int64_t planes)
{
    const int64_t n = k->t->dim[0], groups = (n + GROUP - 1) / GROUP;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < planes * groups; i++)
        transform_columns(k, 1, w, plane_at(k, i / groups), n, i % groups * GROUP);
}

static void share_depth(const task *k, const workspace *w)
{
    const int64_t *n = k->t->dim, plane = n[0] * n[1], groups = (plane + GROUP - 1) / GROUP;
    if (n[2] == 1) return;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < k->t->batch * groups; i++)
        transform_columns(k, 2, w, k->data + i / groups * plane * n[2], plane, i % groups * GROUP);
}

/* Whether threads that take whole pieces end at about the same time. */
static int divides(int64_t pieces, int threads)
{
    return pieces % threads == 0 || pieces >= 4 * (int64_t)threads;
}

static void share_planes(const task *k, const workspace *w)
{
    const int64_t planes = k->t->batch * k->count[2];
    if (divides(planes, k->t->threads)) {
#pragma omp for schedule(static)
        for (int64_t i = 0; i < planes; i++) transform_plane(k, w, plane_at(k, i));
        return;
    }
    if (k->inward) share_columns(k, w, planes);
    share_rows(k, w, planes);
    if (!k->inward) share_columns(k, w, planes);
}

static void transform_all(const task *k)
{
    const transform *t = k->t;
    const int64_t cells = t->dim[0] * t->dim[1] * t->dim[2], size = 2 * GROUP * t->pitch;
    const int apart = divides(t->batch, t->threads) && cells <= MOST_BYTES / (int64_t)sizeof(number);
    const int team = cells * t->batch > SERIAL_WORK ? t->threads : 1;
#pragma omp parallel num_threads(team)
    {
        number *own = (number *)t->memory + omp_get_thread_num() * size;
        const workspace w = {own, own + GROUP * t->pitch};
        if (apart) {
#pragma omp for schedule(static)
            for (int64_t i = 0; i < t->batch; i++) transform_array(k, &w, k->data + i * cells);
        } else {
            if (k->inward) share_depth(k, &w);
            share_planes(k, &w);
            if (!k->inward) share_depth(k, &w);
        }
    }
}

/* ---- one long line ---- */

/* out[i, c] <- out[i, c] exp(+-2 pi i (first + c) i / n): what lies between the transforms of columns and rows. */
static void multiply_roots(const transform *t, int sign, const workspace *w, int64_t first, int64_t count)
{
    const double(*fine)[2] = (const double(*)[2])t->roots, (*coarse)[2] = fine + t->step;
    for (int64_t c = 0; c < count; c++) {
        number *line = w->out + c * t->pitch;
        for (int64_t i = 0, at = 0; i < t->side[1]; i++, at += first + c) {
            const double *f = fine[at % t->step], *g = coarse[at / t->step];
            const double re = f[0] * g[0] - f[1] * g[1];
            const double im = f[0] * g[1] + f[1] * g[0];
            const double signed_im = sign ? im : -im;
            const number v = line[i];
            line[i].re = (real)(v.re * re - v.im * signed_im);
            line[i].im = (real)(v.re * signed_im + v.im * re);
        }
    }
}

/* Number i of the line is cell (i % side[0], i / side[0]) of a matrix, and frequency k is cell (k / side[1], k %
 * side[1]). */
static void transform_line(const transform *t, int sign, number *line)
{
    const int64_t columns = t->side[0], rows = t->side[1], size = 2 * GROUP * t->pitch;
#pragma omp parallel num_threads(t->threads)
    {
        number *own = (number *)t->memory + omp_get_thread_num() * size;
        const workspace w = {own, own + GROUP * t->pitch};
#pragma omp for schedule(static)
        for (int64_t first = 0; first < columns; first += GROUP) {
            const int64_t count = group(columns, first);
            gather(w.in, t->pitch, line + first, columns, count, 0, rows);
            transform_lines(t, sign, 1, &w, count);
            multiply_roots(t, sign, &w, first, count);
            scatter(w.out, t->pitch, t->matrix + first, columns, count, 0, rows);
        }
#pragma omp for schedule(static)
        for (int64_t first = 0; first < rows; first += GROUP) {
            const int64_t count = group(rows, first);
            for (int64_t i = 0; i < count; i++)
                memcpy(w.in + i * t->pitch, t->matrix + (first + i) * columns, (size_t)columns * sizeof *line);
            transform_lines(t, sign, 0, &w, count);
            scatter(w.out, t->pitch, line + first, rows, count, 0, columns);
        }
    }
}

/* Sets to 0 what lies outside of the band. */
static void clear_beyond(const transform *t, const int64_t keep[3], number *data)
{
    const int64_t *n = t->dim, rows = n[1] * n[2] * t->batch;
    const part x = part_of(n[0], keep[0]);
    const part y = part_of(n[1], t->ndim > 1 ? keep[1] : 1);
    const part z = part_of(n[2], t->ndim > 2 ? keep[2] : 1);
#pragma omp parallel for num_threads(rows *n[0] > SERIAL_WORK ? t->threads : 1) schedule(static)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t j = r % n[1], k = r / n[1] % n[2];
        const int out = (j >= y.low && j < y.high) || (k >= z.low && k < z.high);
        const int64_t low = out ? 0 : x.low;
        const int64_t high = out ? n[0] : x.high;
        memset(data + r * n[0] + low, 0, (size_t)(high - low) * sizeof *data);
    }
}

static larmor_status band(void *ctx LMR_UNUSED, void *plan_, int sign, int inward, const int64_t keep[3], void *data)
{
    const transform *t = plan_;
    const int64_t cells = t->dim[0] * t->dim[1] * t->dim[2];
    if (t->memory && !t->side[0]) {
        task k = {.t = t, .data = data, .inward = inward, .sign = sign > 0};
        for (int a = 0; a < 3; a++) {
            const int64_t n = t->dim[a];
            const int64_t kept = a < t->ndim ? keep[a] : n;
            k.lines[a] = part_of(n, kept);
            k.count[a] = kept;
            k.from[a] = inward ? part_of(n, n) : k.lines[a];
            k.to[a] = inward ? k.lines[a] : part_of(n, n);
        }
        transform_all(&k);
        return LARMOR_OK;
    }
    const FFTW(plan) chosen = t->whole[sign > 0];
    LMR_REFUSE(chosen && (uintptr_t)data % 16, LARMOR_ERR_ARG, "fft: data must be aligned to 16 bytes");
    if (!inward) clear_beyond(t, keep, data);
    if (t->side[0])
        for (int64_t i = 0; i < t->batch; i++) transform_line(t, sign > 0, (number *)data + i * cells);
    if (!chosen) return LARMOR_OK;
#pragma omp parallel for num_threads(t->threads) schedule(static)
    for (int64_t i = 0; i < t->batch; i++) execute(chosen, (number *)data + i * cells, (number *)data + i * cells);
    return LARMOR_OK;
}

static larmor_status exec(void *ctx, void *plan, int sign, void *data)
{
    return band(ctx, plan, sign, 1, ((const transform *)plan)->dim, data);
}

static double bytes(void *ctx, int ndim, const int64_t dim[3], int64_t batch)
{
    transform t = {.ndim = ndim, .threads = ((const lmr_cpu *)ctx)->threads, .batch = batch};
    memcpy(t.dim, dim, (size_t)ndim * sizeof *dim);
    lay_out(&t);
    const double line = (double)(t.side[0] * t.side[1]);
    const double matrix = t.side[0] ? line * (double)sizeof(number) + 16 * (2 + 3 * sqrt(line)) : 0;
    return matrix + 2.0 * GROUP * (double)t.pitch * (double)t.threads * (double)sizeof(number);
}

const lmr_fft R(lmr_cpu_fft) = {plan, exec, band, destroy, bytes};

/* ---- single lines ---- */

static larmor_status line_plan(int64_t n, int sign, void **out)
{
    const FFTW(iodim64) dim = {n, 1, 1};
    *out = NULL;
    LMR_TRY(expect_room(n));
    LMR_HEAP char *probe = aligned_alloc(64, 128); /* looked at as above: two places that differ */
    if (!probe) return LMR_NO_MEMORY();
    const int threads = begin_planning();
    *out = FFTW(plan_guru64_dft)(1, &dim, 0, NULL, (void *)probe, (void *)(probe + 64), sign, FFTW_ESTIMATE);
    end_planning(threads);
    return *out ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_BACKEND, "fft: FFTW has no plan for %lld numbers", (long long)n);
}

static void line_exec(void *plan, void *in, void *out)
{
    execute(plan, in, out);
}

static void line_destroy(void *plan)
{
    if (!plan) return;
    lmr_cpu_fftw_lock();
    FFTW(destroy_plan)(plan);
    lmr_cpu_fftw_unlock();
}

const lmr_cpu_line R(lmr_cpu_line) = {line_plan, line_exec, line_destroy};
