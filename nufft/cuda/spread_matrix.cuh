/* Spreading in three dimensions and double precision by matrix instructions.
 *
 * The instruction m16n8k8 adds eight points to 16 cells along x times 4 rows, real and imaginary parts side by
 * side: the points' values along x (16 cells times 8 points, zero where a cell is outside of a point's window)
 * times those along y with the strength and the value along z (8 points times 8). A warp owns two neighbouring
 * planes of the tile and keeps their cells in registers; the other warps own the pairs that follow, and when no
 * point is left that reaches a pair it is added to the grid, and the warp takes the pair after the last one. The
 * points of a piece come in the order of planes and rows, so that a pair's are consecutive, and rows of cells that
 * eight points do not reach are left out. Shared memory has only the window's values of some points, of two
 * batches in turn; nothing is added there, and threads wait for each other only between batches.
 *
 * Instructions for eight points: (width + 1) * (1 + (width + 2) / 4) where points are as dense as cells, each 8
 * clocks of a multiprocessor on an H200 at its peak: 1e7 points take 1.4 ms at width 9 and 2.3 ms at width 12.
 * Measured with 1e7 points at width 9 were 2.9 ms, beside 6.3 ms of the owners, whose threads multiply for cells
 * that a point does not reach, too; m16n8k4 took 4.2 ms, of which 0.1 ms for adding planes to the grid. Source:
 * PTX ISA, "Matrix fragments for mma.m16n8k8 with .f64"; the layout is larmor's. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "nufft/cuda/matrix.cuh"
#include "nufft/cuda/spread_owner.cuh"

namespace
{

template <int W> struct spread_matrix_size {
    static constexpr int pairs = W / 2 + 1; /* of planes: a pair is left before the next one's first point comes */
    static constexpr int threads = 32 * pairs;
    static constexpr int blocks = threads > 160 ? 2 : 3;
    static constexpr int tiles = (owner_bin(3, W) + W + 2) / 4; /* of four rows */
    static constexpr int batch = threads / 24 * 8;              /* points; a coordinate of one for each thread */
    static constexpr int record = (W + 2) | 1;                  /* strength, values along z */
    static constexpr int row_y = tiles > 4 ? 23 : 19;           /* spares banks in stores and in loads */
    static constexpr int numbers = batch * (record + matrix_columns + row_y);
    static constexpr size_t bytes = 2 * (numbers * sizeof(double) + (batch + batch % 2) * sizeof(int));
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900

/* What is staged of a batch. */
template <int W> struct spread_batch {
    using size = spread_matrix_size<W>;
    double *records, *rows_x, *rows_y;
    int *at; /* z + 2^16 y */
    __device__ __forceinline__ spread_batch(unsigned char *shared, int which)
    {
        records = reinterpret_cast<double *>(shared) + which * size::numbers;
        rows_x = records + size::batch * size::record;
        rows_y = rows_x + size::batch * matrix_columns;
        at = reinterpret_cast<int *>(shared + 2 * size::numbers * sizeof(double)) +
             which * (size::batch + size::batch % 2);
    }
    /* In the order of banks for 16 points that store one column, and for 4 points times 4 columns that are loaded. */
    __device__ __forceinline__ double *x(int point, int column) const
    {
        return rows_x + point * matrix_columns + ((column + 4 * (point % 4) + point / 4) % matrix_columns);
    }
    __device__ __forceinline__ double *y(int point, int row) const
    {
        return rows_y + point * size::row_y + row;
    }
};

__device__ __forceinline__ double along(const view<double> &v, int d, int64_t j)
{
    if (d == 0) return v.t[0][j];
    return d == 1 ? v.t[1][j] : v.t[2][j];
}

/* A thread's coordinate of its point of a batch, on its way to shared memory. */
struct spread_coordinate {
    double t;
    uint32_t at, index;
    __device__ __forceinline__ void load(const view<double> &v, int d, int64_t j)
    {
        t = v.stored ? 0 : along(v, d, j);
        at = v.at[j];
        index = v.index[j];
    }
};

template <int W>
__device__ __forceinline__ void stage_coordinate(const view<double> &v, const window_table<double, W> &table,
                                                 const spread_batch<W> &to, int d, int q, bool valid,
                                                 const spread_coordinate &c, cx<double> strength, int64_t j)
{
    const cell at = unpack(c.at);
    const double *const from = v.stored && valid ? stored_values<3, W>(v, d, (uint32_t)j) : nullptr;
    if (d == 0) {
#pragma unroll
        for (int i = 0; i < matrix_columns; i++) *to.x(q, i) = 0;
        if (valid) stage_values<0>(table, c.t, from, [&](int l, double value) { *to.x(q, at.x + l) = value; });
    } else if (d == 1) {
#pragma unroll
        for (int i = 0; i < 4 * spread_matrix_size<W>::tiles; i++) *to.y(q, i) = 0;
        if (valid) stage_values<0>(table, c.t, from, [&](int l, double value) { *to.y(q, at.y + l) = value; });
    } else {
        double *const record = to.records + q * spread_matrix_size<W>::record;
        record[0] = strength.re;
        record[1] = strength.im;
        if (valid)
            stage_values<0>(table, c.t, from, [&](int l, double value) { record[2 + l] = value; });
        else
            for (int l = 0; l < W; l++) record[2 + l] = 0;
        to.at[q] = valid ? at.z | at.y << 16 : 0;
    }
}

/* The sums of a warp's two planes: each lane has two columns, 8 apart, of one row in every tile. */
template <int W> struct plane_pair {
    using size = spread_matrix_size<W>;
    double sum[2][size::tiles][4];
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int k = 0; k < 2; k++)
#pragma unroll
            for (int t = 0; t < size::tiles; t++)
#pragma unroll
                for (int i = 0; i < 4; i++) sum[k][t][i] = 0;
    }
    /* Points 8 group .. 8 group + 7 of a batch, where `plane` is the first of the two. */
    __device__ __forceinline__ void add(const spread_batch<W> &from, int group, int plane)
    {
        const int lane = (int)threadIdx.x % 32, point = 8 * group + lane % 4;
        double x[4], side[2][2];
        int low = 0, high = 0;
#pragma unroll
        for (int i = 0; i < 2; i++) {
            const int at = from.at[point + 4 * i], z = plane - at % (1 << 16), y = at >> 16;
            const double *const record = from.records + (point + 4 * i) * size::record;
            const double strength = record[lane / 4 % 2];
            side[0][i] = z >= 0 && z < W ? record[2 + z] * strength : 0;
            side[1][i] = z >= -1 && z < W - 1 ? record[3 + z] * strength : 0;
            x[2 * i] = *from.x(point + 4 * i, lane / 4);
            x[2 * i + 1] = *from.x(point + 4 * i, lane / 4 + 8);
            low = i ? min(low, y) : y;
            high = i ? max(high, y) : y;
        }
        low = __reduce_min_sync(~0u, low) / 4;
        high = (__reduce_max_sync(~0u, high) + W - 1) / 4;
#pragma unroll
        for (int t = 0; t < size::tiles; t++) {
            if (t < low || t > high) continue;
            double y[2], b[2];
#pragma unroll
            for (int i = 0; i < 2; i++) y[i] = *from.y(point + 4 * i, 4 * t + lane / 8);
#pragma unroll
            for (int k = 0; k < 2; k++) {
#pragma unroll
                for (int i = 0; i < 2; i++) b[i] = y[i] * side[k][i];
                multiply_add(sum[k][t], x, b);
            }
        }
    }
    /* Add both to the grid. planes: those of the tile. */
    __device__ __forceinline__ void leave(const view<double> &v, const place &origin, int plane, int planes,
                                          cx<double> *cells) const
    {
        const int lane = (int)threadIdx.x % 32;
#pragma unroll
        for (int k = 0; k < 2; k++) {
            if (plane + k >= planes) break;
            const int64_t deep = wrap(origin.z + plane + k, v.cells[2]) * v.cells[1];
#pragma unroll
            for (int t = 0; t < size::tiles; t++) {
                const int y = 4 * t + lane % 4;
                if (y >= v.extent[1]) continue;
                cx<double> *const row = cells + (deep + wrap(origin.y + y, v.cells[1])) * v.cells[0];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    const int x = lane / 4 + 8 * i;
                    const cx<double> total = {sum[k][t][2 * i], sum[k][t][2 * i + 1]};
                    if (x < v.extent[0] && (total.re != 0 || total.im != 0))
                        add_to_grid(row + wrap(origin.x + x, v.cells[0]), total);
                }
            }
        }
    }
};

/* first[z]: the first of the piece's points whose window begins in plane z of the bin or after it. */
__device__ __forceinline__ void find_planes(const view<double> &v, const lmr_cuda_piece &job, uint32_t *first)
{
    for (uint32_t p = threadIdx.x; p <= job.count; p += blockDim.x) {
        const int before = p > 0 ? unpack(v.at[(int64_t)job.first + p - 1]).z : -1;
        const int now = p < job.count ? unpack(v.at[(int64_t)job.first + p]).z : v.bin[2];
        for (int z = before + 1; z <= now; z++) first[z] = p;
    }
}

template <int W> __global__ void __launch_bounds__((spread_matrix_size<W>::threads), (spread_matrix_size<W>::blocks))
    spread_matrix_kernel(const __grid_constant__ view<double> v,
                         const __grid_constant__ window_table<double, W> table, const cx<double> *__restrict__ values,
                         cx<double> *__restrict__ cells)
{
    using size = spread_matrix_size<W>;
    extern __shared__ __align__(16) unsigned char shared[];
    __shared__ uint32_t first[most_matrix_slabs + 1];
    const lmr_cuda_piece job = v.piece[blockIdx.x];
    const int count = (int)job.count, thread = (int)threadIdx.x, planes = v.extent[2];
    const int d = thread / size::batch, q = thread % size::batch;
    values += (int64_t)blockIdx.y * v.m;
    cells += (int64_t)blockIdx.y * v.cells[0] * v.cells[1] * v.cells[2];

    /* coordinates are loaded two batches ahead, and strengths, which lie anywhere, one */
    const auto load = [&](int begin, spread_coordinate *c) {
        if (d < 3 && begin + q < count) c->load(v, d, (int64_t)job.first + begin + q);
    };
    const auto load_strength = [&](int begin, const spread_coordinate &c) {
        return d == 2 && begin + q < count ? values[c.index] : cx<double>{0, 0};
    };
    const auto stage = [&](int begin, int which, const spread_coordinate &c, cx<double> strength) {
        if (d < 3)
            stage_coordinate<W>(v, table, spread_batch<W>(shared, which), d, q, begin + q < count, c, strength,
                                (int64_t)job.first + begin + q);
    };
    spread_coordinate now = {}, next = {};
    load(0, &now);
    load(size::batch, &next);
    find_planes(v, job, first);
    stage(0, 0, now, load_strength(0, now));
    __syncthreads();

    const place origin = origin_of(v, job.bin);
    plane_pair<W> pair;
    pair.clear();
    int plane = thread / 32 * 2, which = 0;
    for (int begin = 0; begin < count; begin += size::batch, which ^= 1) {
        const int end = min(begin + size::batch, count);
        now = next;
        const cx<double> strength = load_strength(begin + size::batch, now);
        load(begin + 2 * size::batch, &next);
        const spread_batch<W> staged(shared, which);
        while (plane < planes) {
            const int last = (int)first[min(plane + 2, v.bin[2])];
            const int from = max((int)first[min(max(plane - W + 1, 0), v.bin[2])], begin) - begin;
            const int to = min(last, end) - begin;
            for (int group = from / 8; 8 * group < to; group++) pair.add(staged, group, plane);
            if (last > end) break;
            pair.leave(v, origin, plane, planes, cells);
            pair.clear();
            plane += 2 * size::pairs;
        }
        if (end < count) stage(end, which ^ 1, now, strength);
        __syncthreads();
    }
}

#else

template <int W> /* never launched */
__global__ void spread_matrix_kernel(const __grid_constant__ view<double>,
                                     const __grid_constant__ window_table<double, W>, const cx<double> *__restrict__,
                                     cx<double> *__restrict__)
{
}

#endif

template <int W> larmor_status spread_matrix(lmr_cuda *c, const lmr_nufft_geometry *g, const lmr_cuda_points *p,
                                             int64_t batch, const cx<double> *values, cx<double> *cells)
{
    using size = spread_matrix_size<W>;
    const int64_t grid = g->cells[0] * g->cells[1] * g->cells[2];
    LMR_TRY(allow_shared(spread_matrix_kernel<W>, size::bytes));
    return for_batches(batch, 1, [&](int64_t b, int64_t now) {
        const dim3 launch((unsigned)p->pieces, (unsigned)now);
        spread_matrix_kernel<W><<<launch, size::threads, size::bytes, c->stream>>>(
            view_of<double>(g, p), window_of<double, W>(p), values + b * p->m, cells + b * grid);
        CUDA_TRY(cudaGetLastError());
        return LARMOR_OK;
    });
}

} // namespace
