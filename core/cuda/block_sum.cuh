/* Sums over the threads of a block, and over the sums of blocks, always in the same order. Only for .cu files.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/cuda/cuda.cuh"

namespace
{

__device__ inline double plus(double a, double b)
{
    return a + b;
}
__device__ inline cx<double> plus(cx<double> a, cx<double> b)
{
    return {a.re + b.re, a.im + b.im};
}

/* The sum of v over a block of THREADS threads, for thread 0 alone; what the other threads get is not the sum.
 * Before the next call a block has to pass __syncthreads(), as the scratch is used again. */
template <typename V> __device__ inline V block_sum(V v)
{
    __shared__ V part[THREADS];
    V sum = v;
    part[threadIdx.x] = v;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            sum = plus(sum, part[threadIdx.x + half]);
            part[threadIdx.x] = sum;
        }
    }
    return sum; /* part[0] is the same, but other threads would read it while thread 0 writes it */
}

/* In the last block of a grid that comes here its threads get true, and see what thread 0 of each block has written
 * before. arrived: 0, and 0 again behind it. */
__device__ inline bool is_last_block(unsigned *arrived)
{
    __shared__ bool last;
    if (!threadIdx.x) {
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    return last;
}

__device__ inline void read_through(const double *from, double *to)
{
    *to = __ldcg(from);
}
__device__ inline void read_through(const cx<double> *from, cx<double> *to)
{
    *to = {__ldcg(&from->re), __ldcg(&from->im)};
}

/* The sum of the grid's partials, for thread 0 of the last block. */
template <typename V> __device__ inline V sum_of_blocks(const V *partials)
{
    V sum = {}, part;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += THREADS) {
        read_through(&partials[i], &part);
        sum = plus(sum, part);
    }
    return block_sum(sum);
}

} // namespace
