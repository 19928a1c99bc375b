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

/* partials[0] <- the sum of count partials; one block. */
template <typename V> __global__ void add_partials_kernel(int count, V *partials)
{
    V sum = {};
    for (int i = threadIdx.x; i < count; i += THREADS) sum = plus(sum, partials[i]);
    sum = block_sum(sum);
    if (!threadIdx.x) partials[0] = sum; /* all have read: block_sum has waited for them */
}

} // namespace
