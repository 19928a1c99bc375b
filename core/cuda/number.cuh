/* Complex numbers, and functions that the host compiles as well as the GPU: what kernels compute can then be tried
 * without one (tests/backend/modes_host.cpp). Needs nothing of CUDA's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define LMR_BOTH __host__ __device__
#else
#define LMR_BOTH
#endif

/* A complex number, loaded and stored in one piece. */
template <typename T> struct alignas(2 * sizeof(T)) cx {
    T re, im;
};

/* The work of a block is shared by its threads; on the host there is one. */
LMR_BOTH inline int lmr_cuda_thread()
{
#ifdef __CUDA_ARCH__
    return (int)threadIdx.x;
#else
    return 0;
#endif
}
LMR_BOTH inline int lmr_cuda_threads()
{
#ifdef __CUDA_ARCH__
    return (int)blockDim.x;
#else
    return 1;
#endif
}

/* Until all threads of the block are here. */
LMR_BOTH inline void lmr_cuda_meet()
{
#ifdef __CUDA_ARCH__
    __syncthreads();
#endif
}

/* The upper half of a product. */
LMR_BOTH inline unsigned lmr_cuda_high(unsigned a, unsigned b)
{
#ifdef __CUDA_ARCH__
    return __umulhi(a, b);
#else
    return (unsigned)((uint64_t)a * b >> 32);
#endif
}
