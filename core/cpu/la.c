/* Dense linear algebra on the processor through CBLAS and LAPACKE. SPDX-License-Identifier: Apache-2.0 */
#include "core/owned.h"
#include "core/real.h"

#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/status.h"

#if LMR_REAL == 32
#define C(name) cblas_c##name
#define HEEV LAPACKE_cheev_work
#define HEEVD LAPACKE_cheevd_work
#define LARFG LAPACKE_clarfg_work
#define STEDC LAPACKE_sstedc_work
#define STERF LAPACKE_ssterf_work
#define UNMTR LAPACKE_cunmtr_work
#else
#define C(name) cblas_z##name
#define HEEV LAPACKE_zheev_work
#define HEEVD LAPACKE_zheevd_work
#define LARFG LAPACKE_zlarfg_work
#define STEDC LAPACKE_dstedc_work
#define STERF LAPACKE_dsterf_work
#define UNMTR LAPACKE_zunmtr_work
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
    LMR_REFUSE(ta < 0 || tb < 0, LARMOR_ERR_ARG, "gemm: operations '%c' and '%c', expected N, T or C", opa, opb);
    LMR_REFUSE(m < 0 || n < 0 || k < 0 || m > INT_MAX || n > INT_MAX || k > INT_MAX || lda > INT_MAX ||
                   ldb > INT_MAX || ldc > INT_MAX,
               LARMOR_ERR_SHAPE, "gemm: %lld x %lld x %lld is too large for BLAS; use blocks", (long long)m,
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
        C(gemm)
        (CblasColMajor, (CBLAS_TRANSPOSE)ta, (CBLAS_TRANSPOSE)tb, (int)count, (int)n, (int)k, &one,
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

/* Smaller matrices are many. LAPACK's own way to tridiagonal form calls hemv and her2 for every column, which take
 * a buffer of OpenBLAS by a lock of the whole process (driver/others/memory.c): two threads were no quicker than
 * one at 8 rows, and sixteen spent most of their time there at 64. gemv and gerc have theirs on the stack up to
 * about 60 rows. */
enum { LARGE = 128 };

/* What one thread solves with. */
typedef struct solver {
    lapack_int n, work_size, rwork_size, iwork_size;
    int vectors;
    cplx *matrix, *out, *work, *tau; /* out: where eigenvectors become the matrix's own; large matrices have none */
    real *rwork, *e, *z;
    lapack_int *iwork;
} solver;

/* The matrix to real tridiagonal form d, e by reflections, which stay below its diagonal with their factors tau,
 * as LAPACK's zhetd2 leaves them for a lower triangle. */
static void tridiagonalise(const solver *s, real *d)
{
    const lapack_int n = s->n;
    const cplx none = 0, minus = -1;
    cplx *a = s->matrix, *p = s->work;
    for (lapack_int j = 0; j < n; j++) {
        a[j + (int64_t)j * n] = (real)creal(a[j + (int64_t)j * n]);
        for (lapack_int i = 0; i < j; i++) a[j + (int64_t)i * n] = (cplx)conj(a[i + (int64_t)j * n]);
    }
    for (lapack_int i = 0; i + 1 < n; i++) {
        const lapack_int m = n - i - 1;
        cplx *v = a + i + 1 + (int64_t)i * n, *rest = v + n, head = v[0];
        LARFG(m, &head, v + 1, 1, &s->tau[i]);
        s->e[i] = (real)creal(head);
        d[i] = (real)creal(v[-1]);
        if (s->tau[i] != 0) {
            cplx half;
            v[0] = 1;
            C(gemv)(CblasColMajor, CblasNoTrans, m, m, &s->tau[i], rest, n, v, 1, &none, p, 1);
            C(dotc_sub)(m, p, 1, v, 1, &half);
            half *= (real)-0.5 * s->tau[i];
            C(axpy)(m, &half, v, 1, p, 1);
            C(gerc)(CblasColMajor, m, m, &minus, v, 1, p, 1, rest, n);
            C(gerc)(CblasColMajor, m, m, &minus, p, 1, v, 1, rest, n);
        }
        v[0] = s->e[i];
    }
    d[n - 1] = (real)creal(a[(int64_t)n * n - 1]);
}

static int is_finite(const solver *s, const real *d)
{
    int finite = isfinite(d[s->n - 1]);
    for (lapack_int i = 0; i + 1 < s->n; i++) finite &= isfinite(d[i]) && isfinite(s->e[i]);
    return finite;
}

/* A LAPACK code above 0 means no convergence. */
static int solve_small(const solver *s, real *w)
{
    const lapack_int n = s->n;
    tridiagonalise(s, w);
    if (!is_finite(s, w)) return 1;
    if (!s->vectors) return STERF(n, w, s->e);
    const int failed =
        STEDC(LAPACK_COL_MAJOR, 'I', n, w, s->e, s->z, n, s->rwork, s->rwork_size, s->iwork, s->iwork_size);
    if (failed) return failed;
    for (int64_t i = 0; i < (int64_t)n * n; i++) s->out[i] = s->z[i];
    return UNMTR(LAPACK_COL_MAJOR, 'L', 'L', 'N', n, n, s->matrix, n, s->tau, s->out, n, s->work, s->work_size);
}

/* Divide and conquer, where there are vectors: from a thousand rows on several times quicker. */
static int solve_large(const solver *s, real *w)
{
    if (s->vectors)
        return HEEVD(LAPACK_COL_MAJOR, 'V', 'U', s->n, s->matrix, s->n, w, s->work, s->work_size, s->rwork,
                     s->rwork_size, s->iwork, s->iwork_size);
    return HEEV(LAPACK_COL_MAJOR, 'N', 'U', s->n, s->matrix, s->n, w, s->work, s->work_size, s->rwork);
}

static int ask_sizes(solver *s)
{
    cplx best;
    real best_real;
    lapack_int best_whole;
    const int64_t n = s->n;
    enum { BLOCK = 64 }; /* no smaller than LAPACK's */
    if (n < LARGE) {
        s->work_size = (lapack_int)(n * BLOCK);
        s->rwork_size = (lapack_int)(1 + 4 * n + n * n);
        s->iwork_size = (lapack_int)(3 + 5 * n);
        return 0;
    }
    s->work = &best;
    s->rwork = &best_real;
    s->iwork = &best_whole;
    s->work_size = s->rwork_size = s->iwork_size = -1;
    const int failed = solve_large(s, NULL);
    /* beyond what LAPACK asks for, which leaves it no room to turn vectors back block by block */
    s->work_size = failed ? 1 : (lapack_int)(creal((double _Complex)best) + (double)BLOCK * (double)(n + BLOCK + 1));
    s->rwork_size = failed || !s->vectors ? 3 * s->n : (lapack_int)best_real;
    s->iwork_size = failed || !s->vectors ? 1 : best_whole;
    return failed;
}

static int open_solver(lapack_int n, int vectors, solver *s)
{
    *s = (solver){.n = n, .vectors = vectors};
    const int failed = ask_sizes(s), small = n < LARGE;
    const int64_t cells = (int64_t)n * n;
    s->matrix = lmr_new(cells + n + BEHIND, sizeof *s->matrix);
    s->out = lmr_new(small && vectors ? cells + n + BEHIND : 0, sizeof *s->out);
    s->work = lmr_new((int64_t)s->work_size + n + BEHIND, sizeof *s->work);
    s->tau = lmr_new(n, sizeof *s->tau);
    s->rwork = lmr_new((int64_t)s->rwork_size + n, sizeof *s->rwork);
    s->e = lmr_new(n, sizeof *s->e);
    s->z = lmr_new(small && vectors ? cells : 0, sizeof *s->z);
    s->iwork = lmr_new(s->iwork_size, sizeof *s->iwork);
    if (failed) return failed;
    const int there = s->matrix && s->out && s->work && s->tau && s->rwork && s->e && s->z && s->iwork;
    return there ? 0 : LAPACK_WORK_MEMORY_ERROR;
}

LMR_FREES(close_solver, solver, matrix, out, work, tau, rwork, e, z, iwork)

/* One thread's share of the batch. */
static int heev_range(lapack_int n, int64_t first, int64_t last, int vectors, cplx *a, real *w)
{
    const int64_t cells = (int64_t)n * n;
    LMR_FREED_BY(close_solver) solver s = {0};
    int failed = open_solver(n, vectors, &s);
    for (int64_t i = first; i < last && !failed; i++) {
        memcpy(s.matrix, a + i * cells, (size_t)cells * sizeof *a);
        failed = n < LARGE ? solve_small(&s, w + i * n) : solve_large(&s, w + i * n);
        if (vectors) memcpy(a + i * cells, n < LARGE ? s.out : s.matrix, (size_t)cells * sizeof *a);
    }
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
    LMR_REFUSE(n < 0 || batch < 0 || n > 32767, LARMOR_ERR_SHAPE, "heev: matrices of %lld rows", (long long)n);
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
    LMR_REFUSE(failed, LARMOR_ERR_NUMERIC, "heev: no convergence or a non-finite matrix (code %d)", failed);
    return LARMOR_OK;
}

const lmr_la R(lmr_cpu_la) = {gemm, heev};
