/* NUFFTs in several threads: each with a plan of its own, and one plan or operator for all of them at the same time.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "nufft/toeplitz.h"
#include "tests/nufft/direct.h"

enum { ROUNDS = 3, MOST = 1 << 13, LINE = 1 << 16 };

typedef struct job {
    const char *device;
    larmor_nufft_opts opts;
    int64_t points;
    int toeplitz; /* 1: the operator instead of a plan */
    larmor_status st;
    int64_t bytes;
    char *out;
} job;

static const job kinds[] = {
    {.device = "cpu:2",
     .opts = {.type = 1, .ndim = 2, .modes = {24, 35}, .tol = 1e-9, .dtype = LARMOR_C128, .batch = 3},
     .points = 4000},
    {.device = "cpu:3",
     .opts = {.type = 2, .ndim = 2, .modes = {64, 48}, .tol = 1e-5, .dtype = LARMOR_C64},
     .points = MOST},
    {.device = "cpu:2",
     .opts = {.type = 2, .ndim = 3, .modes = {16, 18, 12}, .tol = 1e-4, .dtype = LARMOR_C64},
     .points = 3000},
    {.device = "cpu:1",
     .opts = {.type = 1, .ndim = 1, .modes = {LINE}, .tol = 1e-6, .dtype = LARMOR_C128},
     .points = MOST},
    {.device = "cpu:2", .opts = {.type = 3, .ndim = 2, .tol = 1e-6, .dtype = LARMOR_C128}, .points = 2000},
    {.device = "cpu:2",
     .opts = {.ndim = 2, .modes = {20, 31}, .tol = 1e-5, .dtype = LARMOR_C64, .batch = 2},
     .points = 3000,
     .toeplitz = 1},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int64_t modes_of(const larmor_nufft_opts *o)
{
    int64_t n = 1;
    for (int d = 0; d < o->ndim; d++) n *= o->modes[d];
    return n;
}

/* Numbers that depend on the seed alone, in an array of this type and shape. */
static larmor_status numbers(larmor_device *on, larmor_dtype dtype, larmor_shape shape, uint64_t seed, double scale,
                             larmor_array **x)
{
    larmor_status st = larmor_array_create(on, dtype, shape, x);
    if (st) return st;
    const int64_t bytes = (int64_t)larmor_array_bytes(*x);
    const int single = dtype == LARMOR_C64;
    HEAP char *values = malloc((size_t)bytes);
    for (int64_t i = 0; i < bytes / (single ? 4 : 8); i++) {
        const double value = scale * test_random(&seed);
        if (single)
            ((float *)values)[i] = (float)value;
        else
            ((double *)values)[i] = value;
    }
    st = larmor_array_write(*x, values, (size_t)bytes);
    return st;
}

/* Points within the modes of the smallest side. */
static larmor_status points_of(const job *j, larmor_device *on, larmor_array **points)
{
    double side = j->opts.type == 3 ? 10 : 1e9;
    for (int d = 0; d < j->opts.ndim && j->opts.type != 3; d++) side = fmin(side, (double)j->opts.modes[d]);
    return numbers(on, LARMOR_F64, LARMOR_SHAPE(j->opts.ndim, j->points), 11, side / 2, points);
}

static larmor_status execute(larmor_nufft *plan, const job *j, larmor_device *on)
{
    OWNED(larmor_array) *points = NULL, *targets = NULL, *x = NULL, *y = NULL;
    const larmor_nufft_opts *o = &j->opts;
    const int64_t n = o->type == 3 ? j->points : modes_of(o);
    const int64_t batch = o->batch ? o->batch : 1;
    const larmor_shape values = LARMOR_SHAPE(j->points, batch), modes = LARMOR_SHAPE(n, batch);
    larmor_status st = points_of(j, on, &points);
    if (!st && o->type == 3) st = points_of(j, on, &targets);
    if (!st) st = larmor_nufft_set_points(plan, points, targets);
    if (!st) st = numbers(on, o->dtype, o->type == 2 ? modes : values, 22, 1, &x);
    if (!st) st = larmor_array_create(on, o->dtype, o->type == 2 ? values : modes, &y);
    if (!st) st = larmor_nufft_execute(plan, x, y);
    if (!st) st = larmor_array_read(y, j->out, (size_t)j->bytes);
    return st;
}

static larmor_status execute_toeplitz(const job *j, larmor_device *on)
{
    OWNED(larmor_array) *points = NULL, *x = NULL, *y = NULL;
    OWNED(larmor_op) *op = NULL;
    larmor_status st = points_of(j, on, &points);
    if (!st) st = larmor_op_toeplitz(on, &j->opts, points, NULL, &op);
    if (!st) st = numbers(on, j->opts.dtype, larmor_op_in_shape(op), 22, 1, &x);
    if (!st) st = larmor_array_create(on, j->opts.dtype, larmor_op_out_shape(op), &y);
    if (!st) st = larmor_op_forward(op, x, y);
    if (!st) st = larmor_array_read(y, j->out, (size_t)j->bytes);
    return st;
}

static void *run(void *arg)
{
    job *j = arg;
    OWNED(larmor_device) *on = NULL;
    j->st = larmor_device_open(j->device, &on);
    for (int i = 0; i < ROUNDS && !j->st; i++) {
        OWNED(larmor_nufft) *plan = NULL;
        if (j->toeplitz) {
            j->st = execute_toeplitz(j, on);
            continue;
        }
        j->st = larmor_nufft_create(on, &j->opts, &plan);
        if (!j->st) j->st = execute(plan, j, on);
    }
    return NULL;
}

static job job_of(int kind)
{
    job j = kinds[kind];
    const int64_t batch = j.opts.batch ? j.opts.batch : 1;
    const int64_t n = !j.toeplitz && j.opts.type != 1 ? j.points : modes_of(&j.opts);
    j.bytes = n * batch * (j.opts.dtype == LARMOR_C64 ? 8 : 16);
    j.out = calloc(1, (size_t)j.bytes);
    assert_non_null(j.out);
    return j;
}

/* ---- a host program that gives its lock around FFTW and takes it back all the time ---- */

static pthread_mutex_t of_host = PTHREAD_MUTEX_INITIALIZER;
static atomic_int over;

static void lock(void *user)
{
    pthread_mutex_lock(user);
}

static void unlock(void *user)
{
    pthread_mutex_unlock(user);
}

static void *change_lock(void *unused)
{
    while (!atomic_load(&over)) {
        larmor_set_fftw_lock(lock, unlock, &of_host);
        sched_yield();
        larmor_set_fftw_lock(NULL, NULL, NULL);
    }
    return unused;
}

TEST(plans_of_different_threads_give_what_each_gives_alone)
{
    pthread_t thread[2 * KINDS], host;
    job alone[KINDS], together[2 * KINDS];
    for (int i = 0; i < KINDS; i++) {
        alone[i] = job_of(i);
        run(&alone[i]);
        assert_int_equal(alone[i].st, LARMOR_OK);
    }
    assert_int_equal(pthread_create(&host, NULL, change_lock, NULL), 0);
    for (int i = 0; i < 2 * KINDS; i++) {
        together[i] = job_of(i % KINDS);
        assert_int_equal(pthread_create(&thread[i], NULL, run, &together[i]), 0);
    }
    for (int i = 0; i < 2 * KINDS; i++) assert_int_equal(pthread_join(thread[i], NULL), 0);
    atomic_store(&over, 1);
    pthread_join(host, NULL);
    for (int i = 0; i < 2 * KINDS; i++) {
        assert_int_equal(together[i].st, LARMOR_OK);
        assert_memory_equal(together[i].out, alone[i % KINDS].out, (size_t)alone[i % KINDS].bytes);
        free(together[i].out);
    }
    for (int i = 0; i < KINDS; i++) free(alone[i].out);
}

/* ---- one plan, and one operator ---- */

typedef struct guest {
    larmor_nufft *plan; /* or */
    larmor_op *op;
    larmor_array *x;
    larmor_device *on;
    job j;
} guest;

/* With points that are set again before each transform, so that both meet those of other threads. */
static void *visit(void *arg)
{
    guest *g = arg;
    OWNED(larmor_array) *y = NULL;
    if (g->op) g->j.st = larmor_array_create(g->on, g->j.opts.dtype, larmor_op_out_shape(g->op), &y);
    for (int i = 0; i < 4 * ROUNDS && !g->j.st; i++) {
        if (g->op) {
            g->j.st = larmor_op_forward(g->op, g->x, y);
            if (!g->j.st) g->j.st = larmor_array_read(y, g->j.out, (size_t)g->j.bytes);
        } else {
            g->j.st = execute(g->plan, &g->j, g->on);
        }
    }
    return NULL;
}

TEST(threads_that_share_a_plan_or_an_operator_get_what_one_gets)
{
    enum { GUESTS = 4 };
    for (int kind = 0; kind < KINDS; kind++) {
        pthread_t thread[GUESTS];
        guest g[GUESTS];
        job alone = job_of(kind);
        OWNED(larmor_nufft) *plan = NULL;
        OWNED(larmor_op) *op = NULL;
        OWNED(larmor_array) *points = NULL, *x = NULL;
        run(&alone);
        assert_int_equal(alone.st, LARMOR_OK);
        OWN(larmor_device, *on, larmor_device_open(alone.device, &on));
        if (alone.toeplitz) {
            assert_ok(points_of(&alone, on, &points));
            assert_ok(larmor_op_toeplitz(on, &alone.opts, points, NULL, &op));
            assert_ok(numbers(on, alone.opts.dtype, larmor_op_in_shape(op), 22, 1, &x));
        } else {
            assert_ok(larmor_nufft_create(on, &alone.opts, &plan));
        }
        for (int i = 0; i < GUESTS; i++) {
            g[i] = (guest){.plan = plan, .op = op, .x = x, .on = on, .j = job_of(kind)};
            assert_int_equal(pthread_create(&thread[i], NULL, visit, &g[i]), 0);
        }
        for (int i = 0; i < GUESTS; i++) {
            assert_int_equal(pthread_join(thread[i], NULL), 0);
            assert_int_equal(g[i].j.st, LARMOR_OK);
            assert_memory_equal(g[i].j.out, alone.out, (size_t)alone.bytes);
            free(g[i].j.out);
        }
        free(alone.out);
    }
}
