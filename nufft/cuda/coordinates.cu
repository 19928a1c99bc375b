/* Coordinates that lie apart become points, on the GPU. SPDX-License-Identifier: Apache-2.0 */
#include "core/cuda/cuda.cuh"
#include "nufft/coordinates.h"

namespace
{

template <typename T> struct apart {
    const T *from[3];
    double scale[3];
};

template <typename T> __global__ void join_kernel(int ndim, int64_t m, const __grid_constant__ apart<T> x, double *to)
{
    for (int64_t j = first_index(); j < m; j += index_stride())
        for (int d = 0; d < 3; d++)
            if (d < ndim) to[j * ndim + d] = (double)x.from[d][j] * x.scale[d];
}

template <typename T>
larmor_status join(void *ctx, int ndim, int64_t m, const void *const from[3], const double scale[3], double *to)
{
    LMR_CUDA_ENTER(c, ctx);
    if (m == 0) return LARMOR_OK;
    apart<T> x = {};
    for (int d = 0; d < ndim; d++) {
        x.from[d] = static_cast<const T *>(from[d]);
        x.scale[d] = scale[d];
    }
    join_kernel<T><<<blocks(m), THREADS, 0, c->stream>>>(ndim, m, x, to);
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> constexpr lmr_coordinates_kernels kernels = {.join = join<T>};

const lmr_cuda_table table("coordinates", LMR_COORDINATES_ABI, &kernels<float>, &kernels<double>);

} // namespace
