/* Dense linear algebra on the GPU through cuBLAS and cuSOLVER, in the arrays' own precision: default math is free
 * of TF32. Both are loaded at their first use: most reconstructions do without them (products.cu), and loading and
 * beginning them takes a tenth of a second. SPDX-License-Identifier: Apache-2.0 */
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>

#include "core/cuda/library.cuh"
#include "core/cuda/tables.cuh"

namespace
{

/* ---- the libraries ---- */

#define BLAS_FUNCTIONS(X)                                                                                            \
    X(cublasCreate_v2)                                                                                               \
    X(cublasDestroy_v2) X(cublasSetStream_v2) X(cublasCgemm_v2_64) X(cublasZgemm_v2_64) X(cublasGetStatusString)
#define SOLVER_FUNCTIONS(X)                                                                                          \
    X(cusolverDnCreate)                                                                                              \
    X(cusolverDnDestroy) X(cusolverDnSetStream) X(cusolverDnCreateParams) X(cusolverDnDestroyParams)                 \
        X(cusolverDnXsyevBatched_bufferSize) X(cusolverDnXsyevd_bufferSize) X(cusolverDnXsyevBatched)                \
            X(cusolverDnXsyevd)
LMR_CUDA_LIBRARY(blas_library, BLAS_FUNCTIONS);
LMR_CUDA_LIBRARY(solver_library, SOLVER_FUNCTIONS);
blas_library blas;
solver_library solver;

larmor_status lmr_cuda_failed(cublasStatus_t code, const char *call, const char *function, int line)
{
    (void)cudaGetLastError();
    const larmor_status status = code == CUBLAS_STATUS_ALLOC_FAILED ? LARMOR_ERR_MEMORY : LARMOR_ERR_BACKEND;
    return lmr_cuda_failed_as(status, call, blas.cublasGetStatusString(code), function, line);
}

larmor_status lmr_cuda_failed(cusolverStatus_t code, const char *call, const char *function, int line)
{
    (void)cudaGetLastError();
    const larmor_status status = code == CUSOLVER_STATUS_ALLOC_FAILED ? LARMOR_ERR_MEMORY : LARMOR_ERR_BACKEND;
    char reason[32];
    snprintf(reason, sizeof reason, "cuSOLVER's code %d", (int)code);
    return lmr_cuda_failed_as(status, call, reason, function, line);
}

using ::lmr_cuda_failed;

/* ---- products ---- */

bool operation(char op, cublasOperation_t *out)
{
    switch (op) {
    case 'N':
        *out = CUBLAS_OP_N;
        return true;
    case 'T':
        *out = CUBLAS_OP_T;
        return true;
    case 'C':
        *out = CUBLAS_OP_C;
        return true;
    default:
        return false;
    }
}

struct product {
    cublasOperation_t opa = CUBLAS_OP_N, opb = CUBLAS_OP_N;
    int64_t m, n, k, lda, ldb, ldc;
};

larmor_status multiply(cublasHandle_t handle, const product &p, const cx<float> *a, const cx<float> *b, cx<float> *c)
{
    static constexpr cuComplex one = {1, 0}, none = {0, 0};
    using number = cuComplex;
    CUDA_TRY(blas.cublasCgemm_v2_64(handle, p.opa, p.opb, p.m, p.n, p.k, &one, reinterpret_cast<const number *>(a),
                                    p.lda, reinterpret_cast<const number *>(b), p.ldb, &none,
                                    reinterpret_cast<number *>(c), p.ldc));
    return LARMOR_OK;
}

larmor_status multiply(cublasHandle_t handle, const product &p, const cx<double> *a, const cx<double> *b,
                       cx<double> *c)
{
    static constexpr cuDoubleComplex one = {1, 0}, none = {0, 0};
    using number = cuDoubleComplex;
    CUDA_TRY(blas.cublasZgemm_v2_64(handle, p.opa, p.opb, p.m, p.n, p.k, &one, reinterpret_cast<const number *>(a),
                                    p.lda, reinterpret_cast<const number *>(b), p.ldb, &none,
                                    reinterpret_cast<number *>(c), p.ldc));
    return LARMOR_OK;
}

larmor_status open_blas(lmr_cuda *c)
{
    LMR_TRY(lmr_cuda_load(LMR_CUDA_SONAME("cublas", CUBLAS_VER_MAJOR), &blas));
    if (!c->blas) CUDA_TRY(blas.cublasCreate_v2(&c->blas));
    CUDA_TRY(blas.cublasSetStream_v2(c->blas, c->stream));
    return LARMOR_OK;
}

template <typename T> larmor_status gemm(void *ctx, char opa, char opb, int64_t m, int64_t n, int64_t k,
                                         const void *a, int64_t lda, const void *b, int64_t ldb, void *result,
                                         int64_t ldc)
{
    LMR_CUDA_ENTER(c, ctx);
    product p = {.m = m, .n = n, .k = k, .lda = lda, .ldb = ldb, .ldc = ldc};
    if (!operation(opa, &p.opa) || !operation(opb, &p.opb))
        return LMR_CUDA_FAIL(LARMOR_ERR_ARG, "gemm: operations '%c' and '%c', expected N, T or C", opa, opb);
    if (m < 0 || n < 0 || k < 0)
        return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "gemm: %lld x %lld x %lld", (long long)m, (long long)n, (long long)k);
    if (!m || !n) return LARMOR_OK;
    if (!k) {
        CUDA_TRY(cudaMemset2DAsync(result, ldc * sizeof(cx<T>), 0, m * sizeof(cx<T>), n, c->stream));
        return LARMOR_OK;
    }
    bool done;
    LMR_TRY(lmr_cuda_small_product<T>(c, opa, opb, m, n, k, a, lda, b, ldb, result, ldc, &done));
    if (done) return LARMOR_OK;
    LMR_TRY(open_blas(c));
    return multiply(c->blas, p, static_cast<const cx<T> *>(a), static_cast<const cx<T> *>(b),
                    static_cast<cx<T> *>(result));
}

/* ---- eigenvalues ---- */

larmor_status open_solver(lmr_cuda *c)
{
    LMR_TRY(lmr_cuda_load(LMR_CUDA_SONAME("cusolver", CUSOLVER_VER_MAJOR), &solver));
    if (!c->solver) CUDA_TRY(solver.cusolverDnCreate(&c->solver));
    CUDA_TRY(solver.cusolverDnSetStream(c->solver, c->stream));
    return LARMOR_OK;
}

/* info[i] <- not 0 where a value of matrix i is not finite; *failed <- how many matrices have such a code. */
template <typename T> __global__ void check_kernel(int64_t batch, int64_t n, const T *w, int *info, int *failed)
{
    for (int64_t i = first_index(); i < batch; i += index_stride()) {
        for (int64_t j = 0; j < n; j++)
            if (!isfinite(w[j + n * i])) info[i] = 1;
        if (info[i]) atomicAdd(failed, 1);
    }
}

/* Matrices of one order, block after block. The batched solver does not converge for some rank-deficient matrices
 * (seen with the cuSOLVER of CUDA 13): those are solved again, one by one, by the solver for a single matrix. */
template <typename T> struct eigen_solver {
    static constexpr cudaDataType matrix = sizeof(T) == 4 ? CUDA_C_32F : CUDA_C_64F;
    static constexpr cudaDataType value = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
    static constexpr cublasFillMode_t upper = CUBLAS_FILL_MODE_UPPER;
    lmr_cuda *c;
    int64_t n, block;
    cusolverEigMode_t vectors;
    cusolverDnParams_t params = nullptr;
    size_t bytes = 0, host_bytes = 0; /* of work and host_work: for a batch and for a single matrix */
    lmr_cuda_scratch<char> work = {};
    lmr_cuda_scratch<cx<T>> given = {}; /* a block's matrices as they were */
    lmr_cuda_scratch<int> info = {};    /* one per matrix of a block, and after them how many failed */
    std::unique_ptr<char[]> host_work = {};
    std::unique_ptr<int[]> codes = {}; /* info on the host */

    ~eigen_solver()
    {
        if (params) (void)solver.cusolverDnDestroyParams(params);
    }

    larmor_status prepare(cx<T> *a, T *w)
    {
        size_t single = 0, host_single = 0;
        CUDA_TRY(solver.cusolverDnCreateParams(&params));
        CUDA_TRY(solver.cusolverDnXsyevBatched_bufferSize(c->solver, params, vectors, upper, n, matrix, a, n, value,
                                                          w, matrix, &bytes, &host_bytes, block));
        CUDA_TRY(solver.cusolverDnXsyevd_bufferSize(c->solver, params, vectors, upper, n, matrix, a, n, value, w,
                                                    matrix, &single, &host_single));
        bytes = std::max(bytes, single);
        host_bytes = std::max(host_bytes, host_single);
        LMR_TRY(work.allocate(c, (int64_t)bytes));
        LMR_TRY(given.allocate(c, n * n * block));
        LMR_TRY(info.allocate(c, block + 1));
        host_work.reset(new (std::nothrow) char[host_bytes + 1]);
        codes.reset(new (std::nothrow) int[block + 1]);
        if (!host_work || !codes) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
        return LARMOR_OK;
    }

    /* Waits: only the device knows whether all matrices converged. */
    larmor_status failures(int64_t count, const T *w, int *failed)
    {
        int *const sum = info.get() + block;
        CUDA_TRY(cudaMemsetAsync(sum, 0, sizeof *sum, c->stream));
        check_kernel<<<blocks(count), THREADS, 0, c->stream>>>(count, n, w, info.get(), sum);
        CUDA_TRY(cudaGetLastError());
        CUDA_TRY(cudaMemcpyAsync(failed, sum, sizeof *failed, cudaMemcpyDeviceToHost, c->stream));
        CUDA_TRY(cudaStreamSynchronize(c->stream));
        return LARMOR_OK;
    }

    larmor_status solve_one(int64_t i, cx<T> *a, T *w)
    {
        int failed;
        CUDA_TRY(cudaMemcpyAsync(a, given.get() + n * n * i, n * n * sizeof *a, cudaMemcpyDeviceToDevice, c->stream));
        CUDA_TRY(solver.cusolverDnXsyevd(c->solver, params, vectors, upper, n, matrix, a, n, value, w, matrix,
                                         work.get(), bytes, host_work.get(), host_bytes, info.get()));
        LMR_TRY(failures(1, w, &failed));
        if (!failed) return LARMOR_OK;
        return LMR_CUDA_FAIL(LARMOR_ERR_NUMERIC, "heev: no convergence or a non-finite matrix (code %d)", codes[i]);
    }

    larmor_status solve(int64_t count, cx<T> *a, T *w)
    {
        int failed;
        CUDA_TRY(cudaMemcpyAsync(given.get(), a, n * n * count * sizeof *a, cudaMemcpyDeviceToDevice, c->stream));
        CUDA_TRY(cudaMemsetAsync(info.get(), 0, (block + 1) * sizeof(int), c->stream));
        CUDA_TRY(solver.cusolverDnXsyevBatched(c->solver, params, vectors, upper, n, matrix, a, n, value, w, matrix,
                                               work.get(), bytes, host_work.get(), host_bytes, info.get(), count));
        LMR_TRY(failures(count, w, &failed));
        if (!failed) return LARMOR_OK;
        CUDA_TRY(cudaMemcpyAsync(codes.get(), info.get(), count * sizeof(int), cudaMemcpyDeviceToHost, c->stream));
        CUDA_TRY(cudaStreamSynchronize(c->stream));
        for (int64_t i = 0; i < count; i++)
            if (codes[i]) LMR_TRY(solve_one(i, a + n * n * i, w + n * i));
        return LARMOR_OK;
    }
};

enum { MOST_ROWS = 32767, BLOCK_NUMBERS = 1 << 22 }; /* a block bounds the work area and keeps 32-bit sizes far off */

template <typename T> larmor_status heev(void *ctx, int64_t n, int64_t batch, int vectors, void *a_, void *w_)
{
    LMR_CUDA_ENTER(c, ctx);
    if (n < 0 || batch < 0 || n > MOST_ROWS)
        return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "heev: matrices of %lld rows", (long long)n);
    if (!n || !batch) return LARMOR_OK;
    auto *a = static_cast<cx<T> *>(a_);
    auto *w = static_cast<T *>(w_);
    bool done;
    LMR_TRY(lmr_cuda_small_eigen<T>(c, n, batch, vectors != 0, a, w, &done));
    if (done) return LARMOR_OK;
    LMR_TRY(open_solver(c));
    const int64_t block = std::max<int64_t>(1, std::min<int64_t>(BLOCK_NUMBERS / (n * n), batch));
    const cusolverEigMode_t what = vectors ? CUSOLVER_EIG_MODE_VECTOR : CUSOLVER_EIG_MODE_NOVECTOR;
    eigen_solver<T> eigen = {.c = c, .n = n, .block = block, .vectors = what};
    LMR_TRY(eigen.prepare(a, w));
    for (int64_t first = 0; first < batch; first += block)
        LMR_TRY(eigen.solve(std::min(block, batch - first), a + first * n * n, w + first * n));
    return LARMOR_OK;
}

template <typename T> constexpr lmr_la table = {gemm<T>, heev<T>};

} // namespace

const lmr_la lmr_cuda_la_f32 = table<float>, lmr_cuda_la_f64 = table<double>;

void lmr_cuda_close_la(lmr_cuda *c)
{
    if (c->blas) (void)blas.cublasDestroy_v2(c->blas);
    if (c->solver) (void)solver.cusolverDnDestroy(c->solver);
    c->blas = nullptr;
    c->solver = nullptr;
}
