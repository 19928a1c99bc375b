/* Dense linear algebra on the processor through CBLAS and LAPACKE. SPDX-License-Identifier: Apache-2.0 */
#include "core/real.h"

#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/status.h"

#if LMR_REAL == 32
#define GEMM cblas_cgemm
#define HEEV LAPACKE_cheev_work
#define HEEVD LAPACKE_cheevd_work
#else
#define GEMM cblas_zgemm
#define HEEV LAPACKE_zheev_work
#define HEEVD LAPACKE_zheevd_work
#endif

static int transpose(char op)
{
    switch (op) {
    case 'N':
        return CblasNoTrans;
    case 'T':
        return CblasTrans;
    case 'C':
        return CblasConjTrans;
    default:
        return -1;
    }
}

static larmor_status gemm(void *ctx, char opa, char opb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                          const void *b, int64_t ldb, void *c, int64_t ldc)
{
    const int ta = transpose(opa), tb = transpose(opb);
    if (ta < 0 || tb < 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "gemm: operations '%c' and '%c', expected N, T or C", opa, opb);
    if (m < 0 || n < 0 || k < 0 || m > INT_MAX || n > INT_MAX || k > INT_MAX || lda > INT_MAX || ldb > INT_MAX ||
        ldc > INT_MAX)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "gemm: %lld x %lld x %lld is too large for BLAS; use blocks", (long long)m,
                        (long long)n, (long long)k);
    if (!m || !n) return LARMOR_OK;
    const cplx one = 1, none = 0;
    const int64_t rows = 256, blocks = (m + rows - 1) / rows; /* the same blocks with any number of threads */
    int threads = ((lmr_cpu *)ctx)->threads;
    LMR_TRY(lmr_cpu_blas_threads(threads < blocks ? threads : (int)blocks, &threads));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < blocks; i++) {
        const int64_t first = i * rows;
        const int64_t count = m - first < rows ? m - first : rows;
        lmr_cpu_blas_enter();
        GEMM(CblasColMajor, (CBLAS_TRANSPOSE)ta, (CBLAS_TRANSPOSE)tb, (int)count, (int)n, (int)k, &one,
             (const cplx *)a + (opa == 'N' ? first : first * lda), (int)lda, b, (int)ldb, &none, (cplx *)c + first,
             (int)ldc);
        lmr_cpu_blas_leave();
    }
    return LARMOR_OK;
}

/* OpenBLAS before 0.3.24, built by GCC 12 as in Debian 12, reads a column of a matrix too far in cgemv and zgemv, and
 * makes no use of what it reads (OpenBLAS issues 4013 and 5000). So matrix and workspace are larmor's own, with room
 * behind them. */
enum { BEHIND = 4 }; /* numbers, beside the column */

/* From there on eigenvectors are quicker by divide and conquer: twice at 64 rows, several times from a thousand on. */
enum { LARGE = 32 };

/* What one thread solves with. */
typedef struct solver {
    lapack_int n, work_size, rwork_size, iwork_size;
    char job;      /* 'V' or 'N' */
    int by_halves; /* 1: divide and conquer */
    cplx *matrix, *work;
    real *rwork;
    lapack_int *iwork;
} solver;

/* A LAPACK code above 0 means no convergence. */
static int solve(solver *s, real *w)
{
    if (s->by_halves)
        return HEEVD(LAPACK_COL_MAJOR, s->job, 'U', s->n, s->matrix, s->n, w, s->work, s->work_size, s->rwork,
                     s->rwork_size, s->iwork, s->iwork_size);
    return HEEV(LAPACK_COL_MAJOR, s->job, 'U', s->n, s->matrix, s->n, w, s->work, s->work_size, s->rwork);
}

static int open_solver(lapack_int n, int vectors, solver *s)
{
    cplx best;
    real best_real;
    lapack_int best_whole;
    *s = (solver){.n = n,
                  .job = vectors ? 'V' : 'N',
                  .by_halves = vectors && n >= LARGE,
                  .work = &best,
                  .rwork = &best_real,
                  .iwork = &best_whole,
                  .work_size = -1,
                  .rwork_size = -1,
                  .iwork_size = -1};
    const int failed = solve(s, NULL);
    const int64_t size = failed ? 0 : (int64_t)creal((double _Complex)best);
    s->work_size = (lapack_int)(size > 1 ? size : 1);
    s->rwork_size = s->by_halves && !failed ? (lapack_int)best_real : 3 * n;
    s->iwork_size = s->by_halves && !failed ? best_whole : 1;
    s->matrix = lmr_new((int64_t)n * n + n + BEHIND, sizeof *s->matrix);
    s->work = lmr_new((int64_t)s->work_size + n + BEHIND, sizeof *s->work);
    s->rwork = lmr_new((int64_t)s->rwork_size + n, sizeof *s->rwork);
    s->iwork = lmr_new(s->iwork_size, sizeof *s->iwork);
    if (failed) return failed;
    return s->matrix && s->work && s->rwork && s->iwork ? 0 : LAPACK_WORK_MEMORY_ERROR;
}

static void close_solver(solver *s)
{
    free(s->matrix);
    free(s->work);
    free(s->rwork);
    free(s->iwork);
}

/* One thread's share of the batch. */
static int heev_range(lapack_int n, int64_t first, int64_t last, int vectors, cplx *a, real *w)
{
    const int64_t cells = (int64_t)n * n;
    solver s;
    int failed = open_solver(n, vectors, &s);
    for (int64_t i = first; i < last && !failed; i++) {
        memcpy(s.matrix, a + i * cells, (size_t)cells * sizeof *a);
        failed = solve(&s, w + i * n);
        if (vectors) memcpy(a + i * cells, s.matrix, (size_t)cells * sizeof *a);
    }
    close_solver(&s);
    return failed;
}

/* Matrices that a thread takes at a time: the larger ones are fewer, so that all threads have some. */
static int64_t share_of(int64_t n)
{
    enum { MOST = 256, NUMBERS = 1 << 15 };
    const int64_t share = NUMBERS / (n * n);
    if (share < 1) return 1;
    return share < MOST ? share : MOST;
}

static larmor_status heev(void *ctx, int64_t n, int64_t batch, int vectors, void *a, void *w)
{
    if (n < 0 || batch < 0 || n > 32767)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "heev: matrices of %lld rows", (long long)n);
    if (!n || !batch) return LARMOR_OK;
    const int64_t block = share_of(n), blocks = (batch + block - 1) / block;
    int failed = 0, threads = ((lmr_cpu *)ctx)->threads;
    LMR_TRY(lmr_cpu_blas_threads(threads < blocks ? threads : (int)blocks, &threads));
#pragma omp parallel for schedule(dynamic) num_threads(threads) reduction(max : failed)
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t first = b * block;
        const int64_t last = first + block < batch ? first + block : batch;
        lmr_cpu_blas_enter();
        const int code = heev_range((lapack_int)n, first, last, vectors, a, w);
        lmr_cpu_blas_leave();
        if (abs(code) > failed) failed = abs(code);
    }
    if (failed == abs(LAPACK_WORK_MEMORY_ERROR)) return LMR_NO_MEMORY();
    if (failed) return LMR_FAIL(LARMOR_ERR_NUMERIC, "heev: no convergence or a non-finite matrix (code %d)", failed);
    return LARMOR_OK;
}

const lmr_la R(lmr_cpu_la) = {gemm, heev};
