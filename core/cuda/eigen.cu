/* Eigenvalues and eigenvectors of many small Hermitian matrices, a block of threads for each, without a library.
 * SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>

#include "core/cuda/eigen.cuh"
#include "core/cuda/tables.cuh"

namespace
{

enum { MOST = 32 }; /* rows, beyond which cuSOLVER is quicker */

template <typename T>
__global__ void eigen_kernel(int n, int64_t batch, bool vectors, cx<T> *matrices, T *values, int *failed)
{
    extern __shared__ lmr_cuda_eigen::number shared[];
    const lmr_cuda_eigen::workspace w = lmr_cuda_eigen::workspace_of(n, shared);
    for (int64_t m = blockIdx.x; m < batch; m += gridDim.x)
        if (!lmr_cuda_eigen::solve(w, vectors, matrices + m * n * n, values + m * n)) *failed = 1;
}

} // namespace

template <typename T>
larmor_status lmr_cuda_small_eigen(lmr_cuda *c, int64_t n, int64_t batch, bool vectors, cx<T> *a, T *w, bool *done)
{
    int failed = 0;
    *done = n <= MOST;
    if (!*done) return LARMOR_OK;
    int threads = 128;
    if (n <= 16) threads = 64;
    if (n <= 8) threads = 32;
    const auto bytes = (size_t)lmr_cuda_eigen::bytes_of((int)n, threads); /* less than 48 kB */
    lmr_cuda_scratch<int> flag;
    LMR_TRY(flag.allocate(c, 1));
    CUDA_TRY(cudaMemsetAsync(flag.get(), 0, sizeof(int), c->stream));
    eigen_kernel<T><<<(unsigned)std::min<int64_t>(batch, INT_MAX), threads, bytes, c->stream>>>(
        (int)n, batch, vectors, a, w, flag.get());
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(&failed, flag.get(), sizeof failed, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    if (!failed) return LARMOR_OK;
    return LMR_CUDA_FAIL(LARMOR_ERR_NUMERIC, "heev: no convergence or a non-finite matrix");
}

template larmor_status lmr_cuda_small_eigen<float>(lmr_cuda *, int64_t, int64_t, bool, cx<float> *, float *, bool *);
template larmor_status lmr_cuda_small_eigen<double>(lmr_cuda *, int64_t, int64_t, bool, cx<double> *, double *,
                                                    bool *);
