/* What LAPACK may touch, and how many threads may call it at a time. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <complex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/device.h"
#include "tests/support/test.h"

typedef double _Complex cx;

/* Memory that ends, or begins, at a page that nobody may touch. */
typedef struct fence {
    char *pages, *start;
    size_t all;
} fence;

static fence fenced(size_t bytes, int at_end)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), body = (bytes + page - 1) / page * page;
    fence f = {.all = body + 2 * page};
    f.pages = mmap(NULL, f.all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(f.pages != MAP_FAILED);
    assert_int_equal(mprotect(f.pages + page, body, PROT_READ | PROT_WRITE), 0);
    f.start = f.pages + page + (at_end ? body - bytes : 0);
    return f;
}

static void set(int precision, void *a, int64_t i, cx value)
{
    if (precision == LMR_F64)
        ((cx *)a)[i] = value;
    else
        ((float _Complex *)a)[i] = (float _Complex)value;
}

/* Twice a unit matrix and 1 above and below the diagonal: eigenvalues 2 - 2 cos(pi k / (n + 1)). */
static void fill(int precision, int64_t n, void *a)
{
    for (int64_t i = 0; i < n * n; i++) {
        const int64_t row = i % n, column = i / n;
        const int apart = (int)llabs(row - column);
        set(precision, a, i, apart < 2 ? 2 - apart : 0);
    }
}

static double error_of(int precision, int64_t n, const void *w)
{
    double error = 0;
    for (int64_t k = 0; k < n; k++) {
        const double value = precision == LMR_F64 ? ((const double *)w)[k] : (double)((const float *)w)[k];
        error = fmax(error, fabs(value - (2 - 2 * cos(3.14159265358979 * (double)(k + 1) / (double)(n + 1)))));
    }
    return error;
}

/* Of 33 rows and more LAPACK works in blocks; OpenBLAS before 0.3.24 reads behind the last one where GCC 12 built
 * it. */
TEST(heev_touches_nothing_outside_its_arrays)
{
    for (int p = 0; p < LMR_PRECISIONS; p++)
        for (int at_end = 0; at_end < 2; at_end++)
            for (int64_t n = 1; n <= 90; n++) {
                const size_t real = p == LMR_F64 ? 8 : 4;
                fence a = fenced(2 * real * (size_t)(n * n), at_end), w = fenced(real * (size_t)n, at_end);
                fill(p, n, a.start);
                assert_ok(dev->be->la[p]->heev(dev->ctx, n, 1, 1, a.start, w.start));
                assert_at_most(error_of(p, n, w.start), p == LMR_F64 ? 1e-13 : 1e-4);
                munmap(a.pages, a.all);
                munmap(w.pages, w.all);
            }
}

enum { CALLERS = 300, ROUNDS = 3, ROWS = 48 };

static void *call_often(void *arg)
{
    int *wrong = arg;
    HEAP cx *a = malloc(ROWS * ROWS * sizeof *a);
    double w[ROWS];
    *wrong = !a;
    for (int i = 0; i < ROUNDS && !*wrong; i++) {
        fill(LMR_F64, ROWS, a);
        *wrong = dev->be->la[LMR_F64]->heev(dev->ctx, ROWS, 1, 1, a, w) || !(error_of(LMR_F64, ROWS, w) < 1e-13);
    }
    return NULL;
}

/* OpenBLAS has buffers for about as many callers as the processors that it was built for. */
TEST(heev_may_be_called_by_more_threads_than_blas_has_buffers)
{
    static pthread_t thread[CALLERS];
    static int wrong[CALLERS];
    pthread_attr_t small;
    assert_int_equal(pthread_attr_init(&small), 0);
    assert_int_equal(pthread_attr_setstacksize(&small, 1 << 20), 0);
    for (int i = 0; i < CALLERS; i++) assert_int_equal(pthread_create(&thread[i], &small, call_often, &wrong[i]), 0);
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_false(wrong[i]);
    }
    pthread_attr_destroy(&small);
}

/* In the place of OpenBLAS's own, which larmor looks for by name. */
static int asked[64], times, now = 7;

#define SHOWN __attribute__((visibility("default")))
SHOWN int openblas_get_parallel(void);
SHOWN int openblas_get_num_threads(void);
SHOWN void openblas_set_num_threads(int threads);

int openblas_get_parallel(void)
{
    return 1; /* threads of its own */
}

int openblas_get_num_threads(void)
{
    return now;
}

void openblas_set_num_threads(int threads)
{
    now = threads;
    if (times < 64) asked[times++] = threads;
}

TEST(openblas_adds_no_threads_and_keeps_the_callers_number)
{
    cx a[16], w[4];
    times = 0;
    fill(LMR_F64, 4, a);
    assert_ok(dev->be->la[LMR_F64]->heev(dev->ctx, 4, 1, 1, a, w));
    assert_ok(dev->be->la[LMR_F64]->gemm(dev->ctx, 'N', 'N', 1, 1, 1, a, 1, a + 1, 1, w, 1));
    assert_int_equal(times, 4);
    for (int i = 0; i < 4; i++) assert_int_equal(asked[i], i % 2 ? 7 : 1);
    assert_int_equal(now, 7);
}
