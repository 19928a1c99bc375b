/* Between the fine grid's frequencies and the modes, on the GPU: crop and pad, each one pass that deconvolves on the
 * way. A row of threads along x, rows and planes as further dimensions of the launch: no division of element numbers.
 * Floors by bytes: crop reads and writes the modes, pad reads the modes and writes the grid.
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/cuda/points.cuh"

namespace
{

enum { ACROSS = 64, DOWN = 4 };

template <typename T> struct sizes {
    int64_t modes[3], cells[3];
    const T *factor[3]; /* NULL beyond ndim */
    int fft_order;
};

template <typename T> sizes<T> sizes_of(const lmr_nufft_geometry *g)
{
    sizes<T> s;
    s.fft_order = g->fft_order;
    for (int d = 0; d < 3; d++) {
        s.modes[d] = g->modes[d];
        s.cells[d] = g->cells[d];
        s.factor[d] = d < g->ndim ? static_cast<const T *>(g->factor[d]) : nullptr;
    }
    return s;
}

template <typename T> __device__ T factor_at(const T *factor, int64_t i)
{
    return factor ? factor[i] : 1;
}

/* The place among centred modes of the one that lies at i, in either order; and its inverse, for a place of -1, too.
 */
__device__ int64_t centred(int fft_order, int64_t modes, int64_t i)
{
    if (!fft_order) return i;
    return i < modes - modes / 2 ? i + modes / 2 : i - (modes - modes / 2);
}
__device__ int64_t place_of(int fft_order, int64_t modes, int64_t mode)
{
    if (!fft_order || mode < 0) return mode;
    return mode < modes / 2 ? mode + (modes - modes / 2) : mode - modes / 2;
}

/* Index in a grid of n cells of centred mode i, whose frequency is i - modes / 2. */
__device__ int64_t cell_of(int64_t i, int64_t modes, int64_t n)
{
    const int64_t frequency = i - modes / 2;
    return frequency < 0 ? frequency + n : frequency;
}

/* The centred mode in cell i, or -1 if the modes do not reach there. */
__device__ int64_t mode_of(int64_t i, int64_t modes, int64_t n)
{
    if (i < modes - modes / 2) return i + modes / 2;
    return i >= n - modes / 2 ? i - (n - modes / 2) : -1;
}

template <typename T> __global__ void crop_kernel(const __grid_constant__ sizes<T> s, int64_t batch,
                                                  const cx<T> *__restrict__ cells, cx<T> *__restrict__ modes)
{
    const int64_t x = (int64_t)blockIdx.x * ACROSS + threadIdx.x;
    if (x >= s.modes[0]) return;
    const int64_t mode_x = centred(s.fft_order, s.modes[0], x), from_x = cell_of(mode_x, s.modes[0], s.cells[0]);
    const T along = s.factor[0][mode_x];
    for (int64_t zb = blockIdx.z; zb < s.modes[2] * batch; zb += gridDim.z) {
        const int64_t b = zb / s.modes[2], z = centred(s.fft_order, s.modes[2], zb - b * s.modes[2]);
        const int64_t from_z = b * s.cells[2] + cell_of(z, s.modes[2], s.cells[2]);
        const T plane = along * factor_at(s.factor[2], z);
        for (int64_t y = (int64_t)blockIdx.y * DOWN + threadIdx.y; y < s.modes[1]; y += (int64_t)gridDim.y * DOWN) {
            const int64_t mode_y = centred(s.fft_order, s.modes[1], y);
            const int64_t from_y = cell_of(mode_y, s.modes[1], s.cells[1]);
            const cx<T> v = cells[(from_z * s.cells[1] + from_y) * s.cells[0] + from_x];
            const T f = plane * factor_at(s.factor[1], mode_y);
            modes[(zb * s.modes[1] + y) * s.modes[0] + x] = {f * v.re, f * v.im};
        }
    }
}

template <typename T> __global__ void pad_kernel(const __grid_constant__ sizes<T> s, int64_t batch,
                                                 const cx<T> *__restrict__ modes, cx<T> *__restrict__ cells)
{
    const int64_t x = (int64_t)blockIdx.x * ACROSS + threadIdx.x;
    if (x >= s.cells[0]) return;
    const int64_t mode_x = mode_of(x, s.modes[0], s.cells[0]), from_x = place_of(s.fft_order, s.modes[0], mode_x);
    const T along = mode_x < 0 ? 0 : s.factor[0][mode_x];
    for (int64_t zb = blockIdx.z; zb < s.cells[2] * batch; zb += gridDim.z) {
        const int64_t b = zb / s.cells[2], z = mode_of(zb - b * s.cells[2], s.modes[2], s.cells[2]);
        const int64_t from_z = place_of(s.fft_order, s.modes[2], z);
        const T plane = z < 0 ? 0 : along * factor_at(s.factor[2], z);
        for (int64_t y = (int64_t)blockIdx.y * DOWN + threadIdx.y; y < s.cells[1]; y += (int64_t)gridDim.y * DOWN) {
            const int64_t mode_y = mode_of(y, s.modes[1], s.cells[1]);
            const int64_t from_y = place_of(s.fft_order, s.modes[1], mode_y);
            cx<T> out = {0, 0};
            if (from_x >= 0 && from_y >= 0 && z >= 0) {
                const cx<T> v = modes[((b * s.modes[2] + from_z) * s.modes[1] + from_y) * s.modes[0] + from_x];
                const T f = plane * factor_at(s.factor[1], mode_y);
                out = {f * v.re, f * v.im};
            }
            cells[(zb * s.cells[1] + y) * s.cells[0] + x] = out;
        }
    }
}

/* A launch over size[0] x size[1] x size[2] batch numbers; what does not fit in y and z the kernels loop over. */
dim3 launch_over(const int64_t size[3], int64_t batch)
{
    const auto most = [](int64_t n) { return (unsigned)std::min<int64_t>(n, 65535); };
    return {(unsigned)((size[0] + ACROSS - 1) / ACROSS), most((size[1] + DOWN - 1) / DOWN), most(size[2] * batch)};
}

} // namespace

template <typename T>
larmor_status lmr_cuda_crop(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *cells, void *modes)
{
    LMR_CUDA_ENTER(c, ctx);
    if (batch == 0) return LARMOR_OK;
    crop_kernel<T><<<launch_over(g->modes, batch), dim3(ACROSS, DOWN), 0, c->stream>>>(
        sizes_of<T>(g), batch, static_cast<const cx<T> *>(cells), static_cast<cx<T> *>(modes));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
larmor_status lmr_cuda_pad(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *modes, void *cells)
{
    LMR_CUDA_ENTER(c, ctx);
    if (batch == 0) return LARMOR_OK;
    pad_kernel<T><<<launch_over(g->cells, batch), dim3(ACROSS, DOWN), 0, c->stream>>>(
        sizes_of<T>(g), batch, static_cast<const cx<T> *>(modes), static_cast<cx<T> *>(cells));
    return CUDA_STATUS(cudaGetLastError());
}

template larmor_status lmr_cuda_crop<float>(void *, const lmr_nufft_geometry *, int64_t, const void *, void *);
template larmor_status lmr_cuda_crop<double>(void *, const lmr_nufft_geometry *, int64_t, const void *, void *);
template larmor_status lmr_cuda_pad<float>(void *, const lmr_nufft_geometry *, int64_t, const void *, void *);
template larmor_status lmr_cuda_pad<double>(void *, const lmr_nufft_geometry *, int64_t, const void *, void *);
