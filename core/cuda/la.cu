/* Dense linear algebra on the GPU through cuBLAS and cuSOLVER, in the arrays' own precision: default math is free of
 * TF32. SPDX-License-Identifier: Apache-2.0 */
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>

#include "core/cuda/tables.cuh"

namespace
{

larmor_status lmr_cuda_failed(cublasStatus_t code, const char *call, const char *function, int line)
{
    (void)cudaGetLastError();
    const larmor_status status = code == CUBLAS_STATUS_ALLOC_FAILED ? LARMOR_ERR_MEMORY : LARMOR_ERR_BACKEND;
    return lmr_cuda_failed_as(status, call, cublasGetStatusString(code), function, line);
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

larmor_status multiply(cublasHandle_t blas, const product &p, const cx<float> *a, const cx<float> *b, cx<float> *c)
{
    static constexpr cuComplex one = {1, 0}, none = {0, 0};
    using number = cuComplex;
    CUDA_TRY(cublasCgemm_64(blas, p.opa, p.opb, p.m, p.n, p.k, &one, reinterpret_cast<const number *>(a), p.lda,
                            reinterpret_cast<const number *>(b), p.ldb, &none, reinterpret_cast<number *>(c), p.ldc));
    return LARMOR_OK;
}

larmor_status multiply(cublasHandle_t blas, const product &p, const cx<double> *a, const cx<double> *b, cx<double> *c)
{
    static constexpr cuDoubleComplex one = {1, 0}, none = {0, 0};
    using number = cuDoubleComplex;
    CUDA_TRY(cublasZgemm_64(blas, p.opa, p.opb, p.m, p.n, p.k, &one, reinterpret_cast<const number *>(a), p.lda,
                            reinterpret_cast<const number *>(b), p.ldb, &none, reinterpret_cast<number *>(c), p.ldc));
    return LARMOR_OK;
}

larmor_status open_blas(lmr_cuda *c)
{
    if (!c->blas) CUDA_TRY(cublasCreate(&c->blas));
    CUDA_TRY(cublasSetStream(c->blas, c->stream));
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
    LMR_TRY(open_blas(c));
    return multiply(c->blas, p, static_cast<const cx<T> *>(a), static_cast<const cx<T> *>(b),
                    static_cast<cx<T> *>(result));
}

/* ---- eigenvalues ---- */

larmor_status open_solver(lmr_cuda *c)
{
    if (!c->solver) CUDA_TRY(cusolverDnCreate(&c->solver));
    CUDA_TRY(cusolverDnSetStream(c->solver, c->stream));
    return LARMOR_OK;
}

/* *worst <- the largest code of any matrix; 1 at least for an eigenvalue that is not finite. */
template <typename T>
__global__ void check_kernel(int64_t batch, const int *info, int64_t values, const T *w, int *worst)
{
    for (int64_t i = first_index(); i < batch; i += index_stride())
        if (info[i]) atomicMax(worst, abs(info[i]));
    for (int64_t i = first_index(); i < values; i += index_stride())
        if (!isfinite(w[i])) atomicMax(worst, 1);
}

/* What one call of the solver needs, kept for all blocks of the batch. */
template <typename T> struct eigen_solver {
    static constexpr cudaDataType matrix = sizeof(T) == 4 ? CUDA_C_32F : CUDA_C_64F;
    static constexpr cudaDataType value = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
    lmr_cuda *c;
    int64_t n;
    cusolverDnParams_t params = nullptr;
    size_t bytes = 0, host_bytes = 0;
    lmr_cuda_scratch<char> work = {};
    lmr_cuda_scratch<int> info = {}; /* one per matrix of a block, and after them the worst of all */
    std::unique_ptr<char[]> host_work = {};

    ~eigen_solver()
    {
        if (params) (void)cusolverDnDestroyParams(params);
    }

    larmor_status prepare(int64_t block, cx<T> *a, T *w)
    {
        CUDA_TRY(cusolverDnCreateParams(&params));
        CUDA_TRY(cusolverDnXsyevBatched_bufferSize(c->solver, params, CUSOLVER_EIG_MODE_VECTOR,
                                                   CUBLAS_FILL_MODE_UPPER, n, matrix, a, n, value, w, matrix, &bytes,
                                                   &host_bytes, block));
        LMR_TRY(work.allocate(c, (int64_t)bytes));
        LMR_TRY(info.allocate(c, block + 1));
        CUDA_TRY(cudaMemsetAsync(info.get(), 0, (block + 1) * sizeof(int), c->stream));
        host_work.reset(new (std::nothrow) char[host_bytes + 1]);
        if (!host_work) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
        return LARMOR_OK;
    }

    larmor_status solve(int64_t count, int *worst, cx<T> *a, T *w)
    {
        CUDA_TRY(cusolverDnXsyevBatched(c->solver, params, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, n,
                                        matrix, a, n, value, w, matrix, work.get(), bytes, host_work.get(),
                                        host_bytes, info.get(), count));
        check_kernel<T><<<blocks(count * n), THREADS, 0, c->stream>>>(count, info.get(), count * n, w, worst);
        CUDA_TRY(cudaGetLastError());
        return LARMOR_OK;
    }
};

enum { MOST_ROWS = 32767, BLOCK_NUMBERS = 1 << 24 }; /* a block bounds the work area and keeps 32-bit sizes far off */

/* Waits: only the device knows whether all matrices converged. */
template <typename T> larmor_status heev(void *ctx, int64_t n, int64_t batch, void *a_, void *w_)
{
    LMR_CUDA_ENTER(c, ctx);
    if (n < 0 || batch < 0 || n > MOST_ROWS)
        return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "heev: matrices of %lld rows", (long long)n);
    if (!n || !batch) return LARMOR_OK;
    LMR_TRY(open_solver(c));
    auto *a = static_cast<cx<T> *>(a_);
    auto *w = static_cast<T *>(w_);
    int64_t block = BLOCK_NUMBERS / (n * n);
    block = std::max<int64_t>(1, std::min(block, batch));
    eigen_solver<T> solver = {.c = c, .n = n};
    LMR_TRY(solver.prepare(block, a, w));
    int *const worst = solver.info.get() + block;
    for (int64_t first = 0; first < batch; first += block)
        LMR_TRY(solver.solve(batch - first < block ? batch - first : block, worst, a + first * n * n, w + first * n));
    int code;
    CUDA_TRY(cudaMemcpyAsync(&code, worst, sizeof code, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    if (!code) return LARMOR_OK;
    return LMR_CUDA_FAIL(LARMOR_ERR_NUMERIC, "heev: no convergence or a non-finite matrix (code %d)", code);
}

template <typename T> constexpr lmr_la table = {gemm<T>, heev<T>};

} // namespace

const lmr_la lmr_cuda_la_f32 = table<float>, lmr_cuda_la_f64 = table<double>;

void lmr_cuda_close_la(lmr_cuda *c)
{
    if (c->blas) (void)cublasDestroy(c->blas);
    if (c->solver) (void)cusolverDnDestroy(c->solver);
    c->blas = nullptr;
    c->solver = nullptr;
}
