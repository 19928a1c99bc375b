/* Interpolation in three dimensions and double precision by matrix instructions.
 *
 * A warp takes 16 points that are neighbours. For four rows of the tile at a time and each plane, instructions
 * m16n8k16, k8 and k4 multiply the points' values along x (16 points times the cells, kept in registers, zero
 * where a cell is outside of a point's window) by the tile (cells times 4 rows, real and imaginary parts side by
 * side). Then each lane has the sums over x of two points in one row: it weights them with the values along z, and
 * at last along y. So 16 points share what they read from shared memory, and nothing is read at random.
 *
 * Four cells at a time those are width * ceil((width + 2) / 4) * ceil((width + bin - 1) / 4) for 16 points, where
 * points are as dense as cells, each 4 clocks of a multiprocessor on an H200 and 2 of its shared memory: 1e7
 * points take 1.1 ms at width 9 and 2.6 ms at width 12, beside 4 and 9 ms that shared memory needs where each
 * point reads for itself. In single precision, with m16n8k8 of 11-bit numbers and each number split in two, as
 * much was gained as lost (measured with 1e7 uniform points and on trajectories of 5.6 million). Source: PTX ISA,
 * "Matrix fragments for mma.m16n8k4 with .f64". SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cuda_pipeline_primitives.h>

#include "nufft/cuda/matrix.cuh"
#include "nufft/cuda/tile.cuh"

namespace
{

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* ---- groups of points ---- */

/* Up to 16 points of a piece. */
struct matrix_group {
    uint16_t first, count;
};

/* A piece's groups, in their order, so that the points of each are in one slab, of some planes of the bin. */
struct matrix_groups {
    uint32_t begin[most_matrix_slabs + 1]; /* the first point whose window begins in this slab or after it */
    matrix_group group[most_matrix_groups];
    int count;
};

__device__ __forceinline__ int groups_of(uint32_t points)
{
    return (int)(points + 15) / 16;
}

__device__ __forceinline__ void find_groups(const view<double> &v, const lmr_cuda_piece &job, matrix_groups &g)
{
    /* a plane where that has points enough */
    const int thick = max(1, min(most_matrix_planes, (16 * v.bin[2] + (int)job.count / 2) / (int)job.count));
    const int slabs = (v.bin[2] + thick - 1) / thick;
    for (uint32_t p = threadIdx.x; p <= job.count; p += blockDim.x) {
        const int before = p > 0 ? unpack(v.at[(int64_t)job.first + p - 1]).z / thick : -1;
        const int now = p < job.count ? unpack(v.at[(int64_t)job.first + p]).z / thick : slabs;
        for (int z = before + 1; z <= now; z++) g.begin[z] = p;
    }
    __syncthreads();
    for (int z = (int)threadIdx.x; z < slabs; z += (int)blockDim.x) {
        int to = 0;
        for (int i = 0; i < z; i++) to += groups_of(g.begin[i + 1] - g.begin[i]);
        const uint32_t end = g.begin[z + 1];
        for (uint32_t p = g.begin[z]; p < end; p += 16) g.group[to++] = {(uint16_t)p, (uint16_t)min(16u, end - p)};
        if (z == slabs - 1) g.count = to;
    }
}

/* What a lane knows of point number lane % 16 of a group. */
struct matrix_point {
    int64_t j;
    uint32_t at, index;
    double t[3];
    __device__ __forceinline__ void load(const view<double> &v, const lmr_cuda_piece &job, const matrix_group &g)
    {
        j = (int64_t)job.first + g.first + min((int)threadIdx.x % 16, g.count - 1);
        at = v.at[j];
        index = v.index[j];
#pragma unroll
        for (int d = 0; d < 3; d++) t[d] = v.stored ? 0 : v.t[d][j];
    }
};

/* ---- the kernel ---- */

/* The tile, and zeros in the columns up to whole steps, which are multiplied by zero. Each warp copies rows. */
template <int W> __device__ __forceinline__ void load_matrix_tile(const view<double> &v, uint32_t bin,
                                                                  const cx<double> *grid, cx<double> *tile)
{
    using size = matrix_size<W>;
    const int lane = (int)threadIdx.x % 32, planes = v.extent[2], height = v.extent[1];
    const place origin = origin_of(v, bin);
    const int64_t column = wrap(origin.x + lane, v.cells[0]);
    for (int row = (int)threadIdx.x / 32; row < planes * size::extent; row += size::threads / 32) {
        const int z = row / size::extent, y = row % size::extent;
        if (y >= height) continue;
        const int64_t line = wrap(origin.z + z, v.cells[2]) * v.cells[1] + wrap(origin.y + y, v.cells[1]);
        cx<double> *const to = tile + row * size::pitch + lane;
        if (lane < v.extent[0])
            __pipeline_memcpy_async(to, grid + line * v.cells[0] + column, sizeof *to);
        else if (lane < 4 * size::steps)
            *to = {0, 0};
    }
    __pipeline_commit();
}

/* Half of the window's values along d of the lane's point go to row[l] for value l: the lanes from 16 on have the
 * other half, which is the mirror image. */
template <int W, bool STORED> __device__ __forceinline__ void
stage_half(const view<double> &v, const window_table<double, W> &table, const matrix_point &point, int d, double *row)
{
    constexpr int half = (W + 1) / 2;
    const bool mirrored = threadIdx.x % 32 >= 16;
    double k[half];
    if constexpr (STORED) {
        const double *const from = stored_values<3, W>(v, d, (uint32_t)point.j);
#pragma unroll
        for (int l = 0; l < half; l++) k[l] = from[(mirrored ? W - 1 - l : l) * (int)stored_group];
    } else {
        window_part<0>(table, mirrored ? -point.t[d] : point.t[d], k);
    }
    const int step = mirrored ? -1 : 1;
    double *const to = row + (mirrored ? W - 1 : 0);
#pragma unroll
    for (int l = 0; l < half; l++)
        if (l < W / 2 || !mirrored) to[l * step] = k[l];
}

/* Rows of zeros, with the values along d from begin on. */
template <int W, bool STORED>
__device__ __forceinline__ void stage_row(const view<double> &v, const window_table<double, W> &table,
                                          const matrix_point &point, int d, double *row, int begin)
{
    __syncwarp();
#pragma unroll
    for (int i = 0; i < matrix_size<W>::row / 2; i++) row[2 * i + (int)threadIdx.x % 32 / 16] = 0;
    __syncwarp();
    stage_half<W, STORED>(v, table, point, d, row + begin);
    __syncwarp();
}

/* c += the points' values along x times the cells, from step FROM on, by the widest instructions. */
template <int FROM, int STEPS>
__device__ __forceinline__ void add_cells(double (&c)[4], const double (&along_x)[STEPS][2], const double *from)
{
    constexpr int left = STEPS - FROM;
    constexpr int two = left >= 2 ? 2 : 1;
    constexpr int now = left >= 4 ? 4 : two;
    double a[2 * now], b[now];
#pragma unroll
    for (int k = 0; k < now; k++) {
        a[2 * k] = along_x[FROM + k][0];
        a[2 * k + 1] = along_x[FROM + k][1];
        b[k] = from[8 * (FROM + k)];
    }
    multiply_add(c, a, b);
    if constexpr (left > now) add_cells<FROM + now>(c, along_x, from);
}

/* Interpolate a group's points. rows: [2, 16, row] of shared memory that only this warp uses. */
template <int W, bool STORED>
__device__ __forceinline__ void interpolate_group(const view<double> &v, const window_table<double, W> &table,
                                                  const cx<double> *tile, double *rows, int count,
                                                  const matrix_point &point, cx<double> *__restrict__ values)
{
    using size = matrix_size<W>;
    const int lane = (int)threadIdx.x % 32, column = lane % 4;
    const cell at = unpack(point.at);
    /* points are in the order of planes */
    const int plane = __shfl_sync(~0u, at.z, 0), planes = __shfl_sync(~0u, at.z, count - 1) - plane + W;
    const int low = __reduce_min_sync(~0u, at.y), end = __reduce_max_sync(~0u, at.y) + W;
    double *const mine = rows + lane % 16 * size::row;
    /* those of the lane's two points in the instruction's layout */
    constexpr int other = 8 * size::row, second = 16 * size::row;
    const double *const row = rows + lane / 4 * size::row;

    double along_x[size::steps][2];
    stage_row<W, STORED>(v, table, point, 0, mine, at.x);
#pragma unroll
    for (int k = 0; k < size::steps; k++) {
        along_x[k][0] = row[4 * k + column];
        along_x[k][1] = row[other + 4 * k + column];
    }
    stage_row<W, STORED>(v, table, point, 1, mine, at.y - low);
    stage_row<W, STORED>(v, table, point, 2, mine + second, at.z - plane);

    double out[4] = {0, 0, 0, 0};
#pragma unroll 1
    for (int y = low; y < end; y += 4) {
        /* rows past the tile's end are multiplied by zero */
        const int line = min(y + lane / 8, v.extent[1] - 1);
        const double *from =
            reinterpret_cast<const double *>(tile + plane * size::plane + line * size::pitch + column) + lane / 4 % 2;
        double sum[4] = {0, 0, 0, 0};
#pragma unroll 4
        for (int z = 0; z < planes; z++, from += 2 * size::plane) {
            double c[4] = {0, 0, 0, 0};
            add_cells<0>(c, along_x, from);
            const double above = row[second + z], below = row[second + other + z];
            sum[0] += above * c[0];
            sum[1] += above * c[1];
            sum[2] += below * c[2];
            sum[3] += below * c[3];
        }
        const int at_y = min(y - low + column, size::row - 1); /* the last is always 0 */
        const double above = row[at_y], below = row[other + at_y];
        out[0] += above * sum[0];
        out[1] += above * sum[1];
        out[2] += below * sum[2];
        out[3] += below * sum[3];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
        out[i] += __shfl_xor_sync(~0u, out[i], 1);
        out[i] += __shfl_xor_sync(~0u, out[i], 2);
    }
    const int to = lane / 4 + 8 * column;
    const uint32_t index = __shfl_sync(~0u, point.index, to % 16);
    if (column < 2 && to < count) values[index] = {column ? out[2] : out[0], column ? out[3] : out[1]};
}

template <int W, bool STORED> __global__ void __launch_bounds__((matrix_size<W>::threads), (matrix_size<W>::blocks))
    interp_matrix_kernel(const __grid_constant__ view<double> v,
                         const __grid_constant__ window_table<double, W> table, const cx<double> *__restrict__ cells,
                         cx<double> *__restrict__ values)
{
    using size = matrix_size<W>;
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ matrix_groups groups;
    constexpr int warps = size::threads / 32;
    const int warp = (int)threadIdx.x / 32;
    cx<double> *const tile = reinterpret_cast<cx<double> *>(shared);
    double *const rows = reinterpret_cast<double *>(tile + size::plane * v.extent[2]) + warp * 32 * size::row;
    const lmr_cuda_piece job = v.piece[blockIdx.x];
    cells += (int64_t)blockIdx.y * v.cells[0] * v.cells[1] * v.cells[2];
    values += (int64_t)blockIdx.y * v.m;
    load_matrix_tile<W>(v, job.bin, cells, tile);
    find_groups(v, job, groups);
    __pipeline_wait_prior(0);
    __syncthreads();
    matrix_point next = {};
    if (warp < groups.count) next.load(v, job, groups.group[warp]);
    for (int i = warp; i < groups.count; i += warps) {
        const matrix_point now = next;
        if (i + warps < groups.count) next.load(v, job, groups.group[i + warps]);
        interpolate_group<W, STORED>(v, table, tile, rows, groups.group[i].count, now, values);
    }
}

#else

template <int W, bool STORED> /* never launched */
__global__ void interp_matrix_kernel(const __grid_constant__ view<double>,
                                     const __grid_constant__ window_table<double, W>, const cx<double> *__restrict__,
                                     cx<double> *__restrict__)
{
}

#endif

template <int W> larmor_status interp_matrix(lmr_cuda *c, const lmr_nufft_geometry *g, const lmr_cuda_points *p,
                                             int64_t batch, const cx<double> *cells, cx<double> *values)
{
    using size = matrix_size<W>;
    const auto kernel = p->stored ? interp_matrix_kernel<W, true> : interp_matrix_kernel<W, false>;
    const size_t bytes = matrix_bytes<W>(p->extent[2]);
    const int64_t grid = g->cells[0] * g->cells[1] * g->cells[2];
    LMR_TRY(allow_shared(kernel, bytes));
    return for_batches(batch, 1, [&](int64_t b, int64_t now) {
        const dim3 launch((unsigned)p->pieces, (unsigned)now);
        kernel<<<launch, size::threads, bytes, c->stream>>>(view_of<double>(g, p), window_of<double, W>(p),
                                                            cells + b * grid, values + b * p->m);
        CUDA_TRY(cudaGetLastError());
        return LARMOR_OK;
    });
}

} // namespace
