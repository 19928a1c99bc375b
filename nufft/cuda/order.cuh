/* The points of a piece in the order of cells. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cub/block/block_radix_sort.cuh>

#include "nufft/cuda/fold.cuh"

namespace
{

constexpr int sort_threads = 256;

struct ordering {
    folding f;
    key_bits bits;
    int64_t pieces;
    int per_block; /* pieces of a block, 1 .. sort_threads / 32 */
    const lmr_cuda_piece *piece;
    const uint32_t *key;
    uint32_t *number;
};

template <typename P> __device__ uint32_t cell_again(const folding &f, int64_t j)
{
    P k[3];
    placed p;
    read_point(f, j, k);
    place_point(f, k, &p);
    return cell_in_bin(f, p.at);
}

/* A cell of which bits are dropped. */
__device__ uint32_t whole_cell(const ordering &o, int64_t i)
{
    return o.f.is_double ? cell_again<double>(o.f, o.number[i]) : cell_again<float>(o.f, o.number[i]);
}

/* What is sorted within a piece: the cell, and the place in the piece, which keeps the order of equal ones. */
constexpr int place_bits = 11;
static_assert(most_points <= 1 << place_bits);
template <bool DROPPED> __device__ uint32_t piece_item(const ordering &o, const lmr_cuda_piece &job, uint32_t at)
{
    const int64_t i = (int64_t)job.first + at;
    const uint32_t cell_number = DROPPED ? whole_cell(o, i) : o.key[i] & ((1U << o.bits.of_cell) - 1);
    return cell_number << place_bits | at;
}

/* A piece of at most 32 points by a warp: each counts those before it. */
template <bool DROPPED> __device__ void order_in_warp(const ordering &o, const lmr_cuda_piece &job)
{
    const uint32_t lane = threadIdx.x % 32, at = min(lane, job.count - 1);
    uint32_t *const number = o.number + job.first;
    const uint32_t own = number[at], item = piece_item<DROPPED>(o, job, at);
    uint32_t before = 0;
    for (uint32_t i = 0; i < job.count; i++) before += __shfl_sync(~0U, item, (int)i) < item;
    __syncwarp();
    if (lane < job.count) number[before] = own;
}

template <int ITEMS> using block_sort = cub::BlockRadixSort<uint32_t, sort_threads, ITEMS>;

/* A piece by a block, ITEMS points for each thread. */
template <bool DROPPED, int ITEMS> __device__ void order_in_block(const ordering &o, const lmr_cuda_piece &job,
                                                                  typename block_sort<ITEMS>::TempStorage &temporary)
{
    uint32_t item[ITEMS];
    uint32_t *const number = o.number + job.first;
#pragma unroll
    for (int i = 0; i < ITEMS; i++) {
        const uint32_t p = threadIdx.x * ITEMS + i;
        item[i] = p < job.count ? piece_item<DROPPED>(o, job, p) : UINT32_MAX;
    }
    block_sort<ITEMS>(temporary).SortBlockedToStriped(item, place_bits, place_bits + o.bits.of_cell);
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (threadIdx.x + i * sort_threads < job.count) item[i] = number[item[i] % (1U << place_bits)];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < ITEMS; i++)
        if (threadIdx.x + i * sort_threads < job.count) number[threadIdx.x + i * sort_threads] = item[i];
}

/* Order the points of pieces by cells: small ones by a warp each, others by all of the block. */
template <bool DROPPED> __global__ void __launch_bounds__(sort_threads)
    order_kernel(const __grid_constant__ ordering o)
{
    constexpr int many = most_points / sort_threads;
    __shared__ union {
        typename block_sort<1>::TempStorage few;
        typename block_sort<many>::TempStorage many;
    } shared;
    const int64_t first = (int64_t)blockIdx.x * o.per_block;
    const int here = (int)min((int64_t)o.per_block, o.pieces - first), warp = (int)threadIdx.x / 32;
    if (warp < here && o.piece[first + warp].count <= 32) order_in_warp<DROPPED>(o, o.piece[first + warp]);
    for (int i = 0; i < here; i++) {
        const lmr_cuda_piece job = o.piece[first + i];
        if (job.count <= 32) continue;
        __syncthreads();
        if (job.count <= sort_threads)
            order_in_block<DROPPED, 1>(o, job, shared.few);
        else
            order_in_block<DROPPED, many>(o, job, shared.many);
    }
}

} // namespace
