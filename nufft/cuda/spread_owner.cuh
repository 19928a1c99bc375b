/* Spreading without atomics between threads: every thread owns a column of the tile, its cells in registers.
 *
 * The threads of a block span the tile's cells in all dimensions but the last one, in which a window of `width` cells
 * slides over the points: they come sorted by their last coordinate, and the plane that falls behind is added to the
 * grid. A batch of points is staged in shared memory: window values along x and y as rows of zeros with the values in
 * place, so that a thread reads its own number without asking whether the point reaches it, and along the last
 * dimension as they are. Then each thread does 2 multiply-adds per cell of its column that the point touches:
 * nothing is read back, shared memory sees 2 + ceil((2 + width) / 4) loads per thread and point. Warps pass over the
 * points whose rows in y they do not own.
 *
 * Instructions per point and multiprocessor, one transform, float: 2 dimensions, about 8 + 2 w; 3 dimensions, as many
 * in half of the (w + 7)^2 / 32 warps. At w = 6 and 4 per clock that is 45 and 12 Gpoints/s on an H200; the gather of
 * the values (32 bytes each, 0.26 ms for 1e7 points spread at random) and the planes added to the grid come on top.
 * In double multiply-adds bound it: w = 14 in 3 dimensions, 1 Gpoint/s. Source: the output-driven idea of cuFINUFFT
 * (Shih et al., 2021) and NonuniformFFTs.jl, with registers in place of shared memory.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "nufft/cuda/points.cuh"

namespace
{

/* What a multiprocessor holds at most, of the generation that is compiled for: launch bounds must not ask for more
 * (CUDA Programming Guide, compute capabilities). */
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ == 800 || (__CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1100)
constexpr int resident_threads = 2048, resident_blocks = 32;
#elif __CUDA_ARCH__ < 800
constexpr int resident_threads = 1024, resident_blocks = 16;
#else
constexpr int resident_threads = 1536, resident_blocks = 16;
#endif

constexpr int owner_shared = 56 << 10; /* bytes, for the points */

/* Window values are computed in parts while they are staged: fewer registers beside the columns'. */
constexpr int part = 8;

constexpr int round_up(int n, int to)
{
    return (n + to - 1) / to * to;
}

/* 16 bytes as numbers. */
template <typename T> struct alignas(16) quad {
    T v[16 / sizeof(T)];
};

/* Sizes of the kernel for B transforms at once. */
template <typename T, int D, int W, int B> struct owner {
    static constexpr int extent = owner_bin(D, W) + W - 1; /* of the largest tile, in x and in y */
    static constexpr int threads = D == 3 ? round_up(extent * extent, 32) : 32;
    static constexpr int slide = D == 1 ? 1 : W; /* cells of a thread's window */

    /* A point's record: strengths and sliding values, then its rows; pitches that spare shared memory's banks. */
    static constexpr int per_quad = 16 / sizeof(T);
    static constexpr int quads = (2 * B + (D == 1 ? 0 : W) + per_quad - 1) / per_quad | 1;
    static constexpr int record = quads * per_quad;
    static constexpr int row = extent | 1;
    static constexpr int rows = D == 3 ? 2 : 1;
    static constexpr int point_bytes = (int)sizeof(T) * (record + row * rows);

    /* Points staged at once, a coordinate a thread, in shared memory that all GPUs have; coordinates of a thread. */
    static constexpr int most = owner_shared / point_bytes / 32 * 32, wanted = threads / D / 32 * 32;
    static constexpr int batch = std::max(32, std::min(wanted, most));
    static constexpr int items = round_up(batch * D, threads) / threads;
    struct assignment {
        int dimension, point;
    };
    static __device__ assignment item(int thread, int i)
    {
        if constexpr (batch == threads)
            return {i, thread};
        else
            return {(thread + i * threads) / batch, (thread + i * threads) % batch};
    }
    static constexpr size_t bytes(int first)
    {
        return (size_t)batch * point_bytes + sizeof(uint32_t) * (first + 1);
    }

    /* Registers of a thread, roughly; each quarter of a multiprocessor has 512 for every lane. */
    static constexpr int words = (2 * B * (slide + 1) + (W < part ? W : part)) * (int)sizeof(T) / 4 + 44;
    static constexpr int fitting = 4 * (512 / round_up(words, 8)) / (threads / 32);
    static constexpr int allowed = std::min(resident_blocks, resident_threads / threads);
    static constexpr int blocks = std::max(1, std::min(fitting, allowed));
};

/* Transforms in one pass: what registers hold. */
template <typename T, int D, int W> constexpr int owner_batch()
{
    const int one = 2 * (D == 1 ? 2 : W + 1) * (int)sizeof(T) / 4;
    if (one <= 10) return 8;
    if (one <= 20) return 4;
    return one <= 40 ? 2 : 1;
}

template <int THREADS> __device__ __forceinline__ void barrier()
{
    if constexpr (THREADS == 32)
        __syncwarp();
    else
        __syncthreads();
}

/* One coordinate of one point of the next batch, on its way to shared memory. */
template <typename T> struct coordinate {
    T t;
    int at;
    uint32_t index;
};

template <typename T, int D>
__device__ __forceinline__ coordinate<T> load_coordinate(const view<T> &v, int d, int64_t j)
{
    const cell at = unpack(v.at[j]);
    T t = 0;
    if (!v.stored && d == 0) t = v.t[0][j];
    if (!v.stored && d == 1) t = v.t[1][j];
    if (!v.stored && d == 2) t = v.t[2][j];
    return {t, d == 0 ? at.x : at.y, v.index[j]};
}

/* Call store(l, value l of the window) for all l: from t, or those at `from` if it is not NULL. */
template <int FROM, typename T, int W, typename Store>
__device__ __forceinline__ void stage_values(const window_table<T, W> &table, T t, const T *from, Store store)
{
    T k[part];
    if (from) {
#pragma unroll
        for (int l = 0; l < part; l++)
            if (FROM + l < W) k[l] = from[(FROM + l) * stored_group];
    } else {
        window_part<FROM>(table, t, k);
    }
#pragma unroll
    for (int l = 0; l < part; l++)
        if (FROM + l < W) store(FROM + l, k[l]);
    if constexpr (FROM + part < W) stage_values<FROM + part>(table, t, from, store);
}

/* Where the points of each row of cells begin, among the piece's; rows is (y, z) flat, the last of them its end. */
template <typename T, int D>
__device__ void find_rows(const view<T> &v, const lmr_cuda_piece &job, int rows, uint32_t *first)
{
    for (uint32_t p = threadIdx.x; p <= job.count; p += blockDim.x) {
        int before = -1, now = rows;
        if (p > 0) {
            const cell at = unpack(v.at[(int64_t)job.first + p - 1]);
            before = at.z * v.bin[1] + at.y;
        }
        if (p < job.count) {
            const cell at = unpack(v.at[(int64_t)job.first + p]);
            now = at.z * v.bin[1] + at.y;
        }
        for (int r = before + 1; r <= now; r++) first[r] = p;
    }
}

template <typename T, int D, int W, int B>
__global__ void __launch_bounds__((owner<T, D, W, B>::threads), (owner<T, D, W, B>::blocks))
    spread_owner_kernel(const __grid_constant__ view<T> v, const __grid_constant__ window_table<T, W> table,
                        int64_t batch, const cx<T> *__restrict__ values, cx<T> *__restrict__ cells)
{
    using size = owner<T, D, W, B>;
    extern __shared__ __align__(16) unsigned char shared[];
    T *const records = reinterpret_cast<T *>(shared);
    T *const rows_x = records + size::batch * size::record;
    T *const rows_y = rows_x + size::batch * size::row; /* 3 dimensions only */
    uint32_t *const first = reinterpret_cast<uint32_t *>(rows_x + size::batch * size::row * size::rows);

    const lmr_cuda_piece job = v.piece[blockIdx.x];
    const int thread = (int)threadIdx.x, count = (int)job.count;
    const int64_t transform = (int64_t)blockIdx.y * B;
    /* planes of the sliding dimension, rows within one of them */
    const int planes = D == 1 ? 1 : v.bin[D - 1];
    const int rows = D == 3 ? v.bin[1] : 1;

    /* ---- the first points ---- */
    coordinate<T> next[size::items];
    int placed[size::items];
#pragma unroll
    for (int i = 0; i < size::items; i++) {
        const auto [d, q] = size::item(thread, i);
        next[i] = {};
        placed[i] = -1;
        if (d < D && q < count) next[i] = load_coordinate<T, D>(v, d, (int64_t)job.first + q);
    }
    for (int i = thread; i < size::batch * size::row * size::rows; i += size::threads) rows_x[i] = 0;
    find_rows<T, D>(v, job, planes * rows, first);
    barrier<size::threads>();

    /* ---- the column ---- */
    const int column_y = D == 3 ? thread / v.extent[0] : 0;
    const int column_x = D == 3 ? thread % v.extent[0] : thread;
    const bool owning = column_x < v.extent[0] && (D < 3 || column_y < v.extent[1]);
    const int x = owning ? column_x : 0;
    const int y = owning ? column_y : 0;
    /* the rows of points that reach the rows of this warp */
    int from_row = 0, to_row = rows;
    if constexpr (D == 3) {
        const int top = thread / 32 * 32 / v.extent[0], bottom = (thread | 31) / v.extent[0];
        from_row = min(max(top - W + 1, 0), rows);
        to_row = max(min(bottom + 1, rows), from_row);
    }
    const place origin = origin_of(v, job.bin);
    const int64_t gx = wrap(origin.x + x, v.cells[0]);
    const int64_t gy = D == 3 ? wrap(origin.y + y, v.cells[1]) : 0;
    const int64_t grid = v.cells[0] * v.cells[1] * v.cells[2];
    const int64_t upper = D == 3 ? origin.z : origin.y;
    const int64_t origin_slide = D > 1 ? upper : 0;
    cx<T> *const mine = cells + transform * grid + gy * v.cells[0] + gx;
    const int64_t plane_stride = D == 3 ? v.cells[0] * v.cells[1] : v.cells[0];
    const int64_t slide_cells = D == 3 ? v.cells[2] : v.cells[1];

    cx<T> sum[B][size::slide];
#pragma unroll
    for (int b = 0; b < B; b++) {
#pragma unroll
        for (int l = 0; l < size::slide; l++) sum[b][l] = {0, 0};
    }
    /* add the plane that is left behind to the grid */
    const auto leave = [&](int plane) {
        cx<T> *const to = D == 1 ? mine : mine + wrap(origin_slide + plane, slide_cells) * plane_stride;
#pragma unroll
        for (int b = 0; b < B; b++) {
            const cx<T> total = sum[b][0];
            if (owning && (total.re != 0 || total.im != 0)) add_to_grid(to + b * grid, total);
#pragma unroll
            for (int l = 0; l + 1 < size::slide; l++) sum[b][l] = sum[b][l + 1];
            sum[b][size::slide - 1] = {0, 0};
        }
    };

    int plane = 0;
    for (int base = 0; base < count; base += size::batch) {
        /* ---- stage a batch ---- */
#pragma unroll
        for (int i = 0; i < size::items; i++) {
            const auto [d, q] = size::item(thread, i);
            if (d >= D || base + q >= count) continue;
            T *const record = records + q * size::record;
            const T *const from = v.stored ? stored_values<D, W>(v, d, job.first + (uint32_t)(base + q)) : nullptr;
            cx<T> strength[B];
            if (d == 0) {
#pragma unroll
                for (int b = 0; b < B; b++)
                    strength[b] = transform + b < batch ? values[(transform + b) * v.m + next[i].index] : cx<T>{0, 0};
            }
            if (D > 1 && d == D - 1) {
                stage_values<0>(table, next[i].t, from, [&](int l, T value) { record[2 * B + l] = value; });
            } else {
                T *const row = (d == 0 ? rows_x : rows_y) + q * size::row;
                if (placed[i] >= 0) {
#pragma unroll
                    for (int l = 0; l < W; l++) row[placed[i] + l] = 0;
                }
                placed[i] = next[i].at;
                stage_values<0>(table, next[i].t, from, [&](int l, T value) { row[placed[i] + l] = value; });
            }
            if (d == 0) {
#pragma unroll
                for (int b = 0; b < B; b++) reinterpret_cast<cx<T> *>(record)[b] = strength[b];
            }
            if (base + size::batch + q < count)
                next[i] = load_coordinate<T, D>(v, d, (int64_t)job.first + base + size::batch + q);
        }
        barrier<size::threads>();

        /* ---- add it to the columns, plane by plane ---- */
        const int end = min(base + size::batch, count);
        for (; plane < planes; plane++) {
            const int to = min((int)first[plane * rows + to_row], end) - base;
#pragma unroll(size::words > 110 ? 1 : 2)
            for (int q = max((int)first[plane * rows + from_row], base) - base; q < to; q++) {
                quad<T> record[size::quads];
#pragma unroll
                for (int i = 0; i < size::quads; i++)
                    record[i] = reinterpret_cast<const quad<T> *>(records + q * size::record)[i];
                const T *const u = record[0].v;
                T side = rows_x[q * size::row + x];
                if constexpr (D == 3) side *= rows_y[q * size::row + y];
#pragma unroll
                for (int b = 0; b < B; b++) {
                    const cx<T> value = {side * u[2 * b], side * u[2 * b + 1]};
                    if constexpr (D == 1) {
                        sum[b][0].re += value.re;
                        sum[b][0].im += value.im;
                    } else {
#pragma unroll
                        for (int l = 0; l < W; l++) {
                            sum[b][l].re += value.re * u[2 * B + l];
                            sum[b][l].im += value.im * u[2 * B + l];
                        }
                    }
                }
            }
            if ((int)first[(plane + 1) * rows] > end || D == 1) break;
            leave(plane);
        }
        barrier<size::threads>();
    }
    for (int last = planes + size::slide - 1; plane < last; plane++) leave(plane);
}

template <typename T, int D, int W, int B> larmor_status spread_owner_batch(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                                            const lmr_cuda_points *p, int64_t batch,
                                                                            const cx<T> *values, cx<T> *cells)
{
    using size = owner<T, D, W, B>;
    const auto kernel = spread_owner_kernel<T, D, W, B>;
    const size_t bytes = size::bytes(p->bin[1] * p->bin[2]);
    const int64_t grid = g->cells[0] * g->cells[1] * g->cells[2];
    LMR_TRY(allow_shared(kernel, bytes));
    return for_batches(batch, B, [&](int64_t b, int64_t now) {
        const dim3 launch((unsigned)p->pieces, (unsigned)((now + B - 1) / B));
        kernel<<<launch, size::threads, bytes, c->stream>>>(view_of<T>(g, p), window_of<T, W>(p), now,
                                                            values + b * p->m, cells + b * grid);
        CUDA_TRY(cudaGetLastError());
        return LARMOR_OK;
    });
}

template <typename T, int D, int W> larmor_status spread_owner(lmr_cuda *c, const lmr_nufft_geometry *g,
                                                               const lmr_cuda_points *p, int64_t batch,
                                                               const cx<T> *values, cx<T> *cells)
{
    constexpr int tile_batch = owner_batch<T, D, W>();
    if (tile_batch > 1 && 2 * batch >= tile_batch && batch > 1)
        return spread_owner_batch<T, D, W, tile_batch>(c, g, p, batch, values, cells);
    return spread_owner_batch<T, D, W, 1>(c, g, p, batch, values, cells);
}

} // namespace
