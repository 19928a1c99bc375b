/* Products of matrices that are long in one direction and at most 64 in the others, as coils make them: whitening
 * and virtual coils, [samples, coils] times [coils, coils], and covariances, the sum over samples. They move each
 * number once, and need no library, nor do products of few numbers in all. SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>

#include "core/cuda/tables.cuh"

namespace
{

enum { MOST = 64, LEAST_LONG = 256 }; /* a small side; a long one */

template <typename T> __device__ void add_product(cx<T> &sum, cx<T> a, cx<T> b)
{
    sum.re += a.re * b.re - a.im * b.im;
    sum.im += a.re * b.im + a.im * b.re;
}

/* ---- long times small ---- */

enum { COLUMNS = 8 }; /* that a thread sums at a time */

/* A row of C for each thread, from the small matrix in shared memory. op: of b. */
template <typename T> __global__ void rows_kernel(int64_t m, int n, int k, const cx<T> *a, int64_t lda,
                                                  const cx<T> *b, int64_t ldb, char op, cx<T> *c, int64_t ldc)
{
    extern __shared__ char room[];
    auto *small = reinterpret_cast<cx<T> *>(room); /* [n, k], n being counted to a whole number of COLUMNS */
    const int padded = (n + COLUMNS - 1) / COLUMNS * COLUMNS;
    for (int i = (int)threadIdx.x; i < padded * k; i += (int)blockDim.x) {
        const int column = i % padded, l = i / padded;
        cx<T> v = {0, 0};
        if (column < n) v = op == 'N' ? b[l + column * ldb] : b[column + l * ldb];
        if (op == 'C') v.im = -v.im;
        small[i] = v;
    }
    __syncthreads();
    for (int64_t i = first_index(); i < m; i += index_stride())
        for (int j = 0; j < padded; j += COLUMNS) {
            cx<T> sum[COLUMNS] = {};
            for (int l = 0; l < k; l++) {
                const cx<T> v = a[i + l * lda];
#pragma unroll
                for (int u = 0; u < COLUMNS; u++) add_product(sum[u], v, small[l * padded + j + u]);
            }
#pragma unroll
            for (int u = 0; u < COLUMNS; u++)
                if (j + u < n) c[i + (j + u) * ldc] = sum[u];
        }
}

template <typename T> larmor_status rows(lmr_cuda *c, char opb, int64_t m, int64_t n, int64_t k, const cx<T> *a,
                                         int64_t lda, const cx<T> *b, int64_t ldb, cx<T> *result, int64_t ldc)
{
    const int64_t padded = (n + COLUMNS - 1) / COLUMNS * COLUMNS;
    const auto bytes = (size_t)(padded * k) * sizeof(cx<T>);
    if (bytes > 48 * 1024)
        CUDA_TRY(cudaFuncSetAttribute(rows_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes));
    const unsigned most = 8u * (unsigned)c->properties.multiProcessorCount;
    rows_kernel<T><<<std::min(blocks(m), most), THREADS, bytes, c->stream>>>(m, (int)n, (int)k, a, lda, b, ldb, opb,
                                                                             result, ldc);
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- few numbers ---- */

enum { MOST_PRODUCTS = 1 << 22 }; /* of two numbers; 704 x 256 x 11 were measured (docs/records/performance.md) */

/* A number of C for each thread. */
template <typename T> __global__ void numbers_kernel(int64_t m, int64_t n, int k, const cx<T> *a, int64_t lda,
                                                     const cx<T> *b, int64_t ldb, cx<T> *c, int64_t ldc)
{
    for (int64_t o = first_index(); o < m * n; o += index_stride()) {
        const int64_t row = o % m, column = o / m;
        cx<T> sum = {0, 0};
        for (int l = 0; l < k; l++) add_product(sum, a[row + l * lda], b[l + column * ldb]);
        c[row + column * ldc] = sum;
    }
}

template <typename T> larmor_status numbers(lmr_cuda *c, int64_t m, int64_t n, int64_t k, const cx<T> *a, int64_t lda,
                                            const cx<T> *b, int64_t ldb, cx<T> *result, int64_t ldc)
{
    numbers_kernel<T><<<blocks(m * n), THREADS, 0, c->stream>>>(m, n, (int)k, a, lda, b, ldb, result, ldc);
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- sums over a long side ---- */

enum {
    TILE = 16,                         /* rows in shared memory at a time */
    SUMS = MOST * MOST / (int)THREADS, /* that a thread has */
    LEAST_ROWS = 512,
    MOST_PARTS = 256 /* of a block; blocks, whose sums are added in their order */
};

/* part [m, n, blocks] <- what the rows of each block give to the m x n sums. conjugate: a's. */
template <typename T> __global__ void sums_kernel(int m, int n, int64_t k, const cx<T> *a, int64_t lda,
                                                  const cx<T> *b, int64_t ldb, bool conjugate, int64_t rows,
                                                  cx<T> *part)
{
    extern __shared__ char room[];
    auto *left = reinterpret_cast<cx<T> *>(room), *right = left + TILE * m;
    const int64_t first = blockIdx.x * rows, end = min(first + rows, k);
    cx<T> sum[SUMS] = {};
    for (int64_t at = first; at < end; at += TILE) {
        const int now = (int)min((int64_t)TILE, end - at);
        __syncthreads();
        for (int i = (int)threadIdx.x; i < TILE * (m + n); i += (int)blockDim.x) { /* [TILE, columns of both] */
            const int row = i % TILE, column = i / TILE;
            cx<T> v = {0, 0};
            if (row < now) v = column < m ? a[at + row + column * lda] : b[at + row + (column - m) * ldb];
            if (conjugate && column < m) v.im = -v.im;
            if (column < m)
                left[row * m + column] = v;
            else
                right[row * n + column - m] = v;
        }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < SUMS; u++) {
            const int o = (int)threadIdx.x + u * THREADS;
            if (o >= m * n) break;
            const cx<T> *x = left + o % m, *y = right + o / m;
            for (int row = 0; row < TILE; row++) add_product(sum[u], x[row * m], y[row * n]);
        }
    }
#pragma unroll
    for (int u = 0; u < SUMS; u++) {
        const int o = (int)threadIdx.x + u * THREADS;
        if (o < m * n) part[o + (int64_t)blockIdx.x * m * n] = sum[u];
    }
}

template <typename T>
__global__ void add_parts_kernel(int m, int n, int parts, const cx<T> *part, cx<T> *c, int64_t ldc)
{
    for (int64_t o = first_index(); o < m * n; o += index_stride()) {
        double re = 0, im = 0;
        for (int p = 0; p < parts; p++) {
            re += (double)part[o + (int64_t)p * m * n].re;
            im += (double)part[o + (int64_t)p * m * n].im;
        }
        c[o % m + o / m * ldc] = {(T)re, (T)im};
    }
}

template <typename T> larmor_status sums(lmr_cuda *c, bool conjugate, int64_t m, int64_t n, int64_t k, const cx<T> *a,
                                         int64_t lda, const cx<T> *b, int64_t ldb, cx<T> *result, int64_t ldc)
{
    const int64_t each = std::max<int64_t>(LEAST_ROWS, (k + MOST_PARTS - 1) / MOST_PARTS),
                  parts = (k + each - 1) / each;
    const auto bytes = (size_t)(TILE * (m + n)) * sizeof(cx<T>);
    lmr_cuda_scratch<cx<T>> part;
    LMR_TRY(part.allocate(c, parts * m * n));
    sums_kernel<T><<<(unsigned)parts, THREADS, bytes, c->stream>>>((int)m, (int)n, k, a, lda, b, ldb, conjugate, each,
                                                                   part.get());
    CUDA_TRY(cudaGetLastError());
    add_parts_kernel<T>
        <<<blocks(m * n), THREADS, 0, c->stream>>>((int)m, (int)n, (int)parts, part.get(), result, ldc);
    return CUDA_STATUS(cudaGetLastError());
}

} // namespace

template <typename T> larmor_status lmr_cuda_small_product(lmr_cuda *c, char opa, char opb, int64_t m, int64_t n,
                                                           int64_t k, const void *a_, int64_t lda, const void *b_,
                                                           int64_t ldb, void *result_, int64_t ldc, bool *done)
{
    const auto *a = static_cast<const cx<T> *>(a_), *b = static_cast<const cx<T> *>(b_);
    auto *result = static_cast<cx<T> *>(result_);
    const bool is_rows = opa == 'N' && m >= LEAST_LONG && n <= MOST && k <= MOST;
    const bool is_short = m <= MOST && n <= MOST;
    const bool is_sum = opa != 'N' && opb == 'N' && k >= LEAST_LONG && is_short && !lmr_cuda_is_recording(c);
    const bool is_few = opa == 'N' && opb == 'N' && k <= MOST && m <= MOST_PRODUCTS && n <= MOST_PRODUCTS / m / k;
    *done = is_rows || is_sum || is_few;
    if (is_rows) return rows(c, opb, m, n, k, a, lda, b, ldb, result, ldc);
    if (is_sum) return sums(c, opa == 'C', m, n, k, a, lda, b, ldb, result, ldc);
    return is_few ? numbers(c, m, n, k, a, lda, b, ldb, result, ldc) : LARMOR_OK;
}

template larmor_status lmr_cuda_small_product<float>(lmr_cuda *, char, char, int64_t, int64_t, int64_t, const void *,
                                                     int64_t, const void *, int64_t, void *, int64_t, bool *);
template larmor_status lmr_cuda_small_product<double>(lmr_cuda *, char, char, int64_t, int64_t, int64_t, const void *,
                                                      int64_t, const void *, int64_t, void *, int64_t, bool *);
