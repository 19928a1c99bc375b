/* Samples that are spoiled, on the GPU. SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>
#include <cmath>
#include <memory>
#include <new>

#include "core/cuda/tables.cuh"
#include "recon/cuda/recon.cuh"
#include "recon/math_faults.h"

namespace
{

/* A table's complex samples as parts. */
template <typename T> const T *parts(const void *x)
{
    return static_cast<const T *>(x);
}

/* ---- survey ---- */

enum { MOST_BLOCKS = 1024 };

__device__ lmr_survey larger(const lmr_survey &a, const lmr_survey &b)
{
    const bool second = b.largest > a.largest || (b.largest == a.largest && b.at < a.at);
    return {fmax(a.most, b.most), a.spikes + b.spikes, second ? b.largest : a.largest, second ? b.at : a.at};
}

/* What a block finds in coil blockIdx.y: one of its threads' after the other, so that it depends on sizes alone. */
__device__ void join_block(const lmr_survey &own, lmr_survey *to)
{
    __shared__ lmr_survey all[THREADS];
    all[threadIdx.x] = own;
    for (int half = THREADS / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) all[threadIdx.x] = larger(all[threadIdx.x], all[threadIdx.x + half]);
    }
    if (!threadIdx.x) *to = all[0];
}

/* of's arrays are the device's; found: [gridDim.x, coils]. */
template <typename T> __global__ void survey_kernel(lmr_survey_of of, const T *x, lmr_survey *found)
{
    const int64_t c = blockIdx.y, start = of.n * of.first;
    const T *own = x + 2 * of.n * of.readouts * c;
    lmr_survey mine = {0, 0, 0, 0};
    for (int64_t i = first_index(); i < of.n * of.count; i += index_stride()) {
        const int ring = lmr_ring_of(of.radius[i], of.rings);
        mine.most = fmax(mine.most, (double)lmr_larger_part(own, start + i));
        if (ring < of.from || !lmr_is_spike(own, &of, of.level[ring + of.rings * c], start + i)) continue;
        mine = larger(mine, {0, 1, lmr_size_at(own, start + i), (double)(start + i)});
    }
    join_block(mine, &found[gridDim.x * c + blockIdx.x]);
}

/* changed [count] <- 1 where a readout is not the one before. */
template <typename T>
__global__ void energy_kernel(lmr_survey_of of, const T *x, double *energy, unsigned char *changed)
{
    const int64_t start = of.n * of.first, points = of.n * of.readouts;
    for (int64_t i = first_index(); i < of.n * of.count; i += index_stride()) {
        const int64_t r = i / of.n;
        double sum = 0;
        bool same = of.first + r > 0;
        for (int64_t c = 0; c < of.coils; c++) {
            const T *at = x + 2 * (points * c + start + i);
            sum += lmr_energy_at(at, 0);
            if (same) same = (float)at[0] == (float)at[-2 * of.n] && (float)at[1] == (float)at[1 - 2 * of.n];
        }
        energy[i] = sum;
        if (!same) changed[r] = 1; /* whichever thread is the first */
    }
}

void join_blocks(const lmr_survey_of *of, unsigned grid, const lmr_survey *part, lmr_survey *found)
{
    for (int64_t c = 0; c < of->coils; c++) {
        lmr_survey all = {0, 0, 0, 0};
        for (const lmr_survey *p = part + grid * c; p < part + grid * (c + 1); p++) {
            all.most = std::max(all.most, p->most);
            all.spikes += p->spikes;
            if (p->largest < all.largest || (p->largest == all.largest && p->at >= all.at)) continue;
            all.largest = p->largest;
            all.at = p->at;
        }
        found[c] = all;
    }
}

/* ---- ceiling ---- */

template <typename T> __global__ void ceiling_kernel(int64_t points, int64_t room, const float *limit, const T *x,
                                                     lmr_part *part, unsigned long long *count)
{
    const int64_t c = blockIdx.y;
    const T *own = x + 2 * points * c;
    for (int64_t i = first_index(); i < 2 * points; i += index_stride()) {
        if (!(fabsf((float)own[i]) >= limit[c])) continue;
        const unsigned long long place = atomicAdd(&count[c], 1ULL);
        if (place < (unsigned long long)room)
            part[room * c + place] = {(double)i, (double)(float)own[i], (double)(float)own[i ^ 1]};
    }
}

/* ---- energies by ring ---- */

enum { WARP = 32, WARPS = 4, MOST_RINGS = 32 };

/* A warp for each readout of each coil; its threads have sums of their own, which are added in their order. */
template <typename T> __global__ void energies_kernel(int64_t n, int64_t readouts, int64_t coils, int rings,
                                                      const unsigned char *ring, const T *x, double *sum)
{
    __shared__ double part[WARPS][MOST_RINGS][WARP + 1];
    const int lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (int64_t r = (int64_t)blockIdx.x * WARPS + warp; r < readouts * coils; r += (int64_t)gridDim.x * WARPS) {
        const unsigned char *of = ring + r % readouts * n;
        for (int j = 0; j < rings; j++) part[warp][j][lane] = 0;
        for (int64_t i = lane; i < n; i += WARP) part[warp][of[i]][lane] += lmr_energy_at(x, n * r + i);
        __syncwarp();
        if (lane < rings) {
            double all = 0;
            for (int i = 0; i < WARP; i++) all += part[warp][lane][i];
            sum[rings * r + lane] = all;
        }
        __syncwarp();
    }
}

larmor_status to_device(lmr_cuda *c, void *device, const void *host, size_t bytes)
{
    return lmr_cuda_copy(c, LMR_TO_DEVICE, device, host, bytes);
}

larmor_status to_host(lmr_cuda *c, void *host, const void *device, size_t bytes)
{
    return lmr_cuda_copy(c, LMR_TO_HOST, host, device, bytes);
}

} // namespace

template <typename T> larmor_status lmr_cuda_recon_survey(void *ctx, const lmr_survey_of *of, const void *x,
                                                          double *energy, unsigned char *repeats, lmr_survey *found)
{
    LMR_CUDA_ENTER(c, ctx);
    const int64_t points = of->n * of->count;
    const unsigned grid = std::min(blocks(points), (unsigned)MOST_BLOCKS);
    lmr_cuda_scratch<float> radius;
    lmr_cuda_scratch<double> level, sums;
    lmr_cuda_scratch<unsigned char> changed;
    lmr_cuda_scratch<lmr_survey> part;
    lmr_survey_of own = *of;
    std::unique_ptr<lmr_survey[]> parts_found(new (std::nothrow) lmr_survey[grid * of->coils]);
    std::unique_ptr<unsigned char[]> flags(new (std::nothrow) unsigned char[of->count]);
    if (!parts_found || !flags) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    LMR_TRY(radius.allocate(c, points));
    LMR_TRY(level.allocate(c, of->rings * of->coils));
    LMR_TRY(sums.allocate(c, points));
    LMR_TRY(changed.allocate(c, of->count));
    LMR_TRY(part.allocate(c, grid * of->coils));
    LMR_TRY(to_device(c, radius.get(), of->radius, points * sizeof(float)));
    LMR_TRY(to_device(c, level.get(), of->level, of->rings * of->coils * sizeof(double)));
    own.radius = radius.get();
    own.level = level.get();
    CUDA_TRY(cudaMemsetAsync(changed.get(), 0, of->count, c->stream));
    survey_kernel<<<dim3(grid, (unsigned)of->coils), THREADS, 0, c->stream>>>(own, parts<T>(x), part.get());
    CUDA_TRY(cudaGetLastError());
    energy_kernel<<<blocks(points), THREADS, 0, c->stream>>>(own, parts<T>(x), sums.get(), changed.get());
    CUDA_TRY(cudaGetLastError());
    LMR_TRY(to_host(c, energy, sums.get(), points * sizeof(double)));
    LMR_TRY(to_host(c, flags.get(), changed.get(), of->count));
    LMR_TRY(to_host(c, parts_found.get(), part.get(), grid * of->coils * sizeof(lmr_survey)));
    for (int64_t r = 0; r < of->count; r++)
        if (flags[r]) repeats[of->first + r] = 0;
    join_blocks(of, grid, parts_found.get(), found);
    return LARMOR_OK;
}

template <typename T> larmor_status lmr_cuda_recon_ceiling(void *ctx, int64_t points, int64_t coils, int64_t room,
                                                           const float *limit, const void *x, lmr_part *part,
                                                           int64_t *count)
{
    LMR_CUDA_ENTER(c, ctx);
    lmr_cuda_scratch<float> limits;
    lmr_cuda_scratch<lmr_part> found;
    lmr_cuda_scratch<unsigned long long> counts;
    LMR_TRY(limits.allocate(c, coils));
    LMR_TRY(found.allocate(c, room * coils));
    LMR_TRY(counts.allocate(c, coils));
    LMR_TRY(to_device(c, limits.get(), limit, coils * sizeof *limit));
    CUDA_TRY(cudaMemsetAsync(counts.get(), 0, coils * sizeof *count, c->stream));
    const unsigned grid = std::min(blocks(2 * points), (unsigned)MOST_BLOCKS);
    ceiling_kernel<<<dim3(grid, (unsigned)coils), THREADS, 0, c->stream>>>(points, room, limits.get(), parts<T>(x),
                                                                           found.get(), counts.get());
    CUDA_TRY(cudaGetLastError());
    LMR_TRY(to_host(c, part, found.get(), room * coils * sizeof *part));
    LMR_TRY(to_host(c, count, counts.get(), coils * sizeof *count));
    for (int64_t i = 0; i < coils; i++)
        if (count[i] <= room)
            std::sort(part + room * i, part + room * i + count[i],
                      [](const lmr_part &a, const lmr_part &b) { return a.at < b.at; });
    return LARMOR_OK;
}

template <typename T> larmor_status lmr_cuda_recon_energies(void *ctx, int64_t n, int64_t readouts, int64_t coils,
                                                            int rings, const unsigned char *ring, const void *x,
                                                            double *sum)
{
    LMR_CUDA_ENTER(c, ctx);
    lmr_cuda_scratch<unsigned char> of;
    lmr_cuda_scratch<double> sums;
    LMR_TRY(of.allocate(c, n * readouts));
    LMR_TRY(sums.allocate(c, rings * readouts * coils));
    LMR_TRY(to_device(c, of.get(), ring, n * readouts));
    energies_kernel<<<blocks(readouts * coils, WARPS), WARP * WARPS, 0, c->stream>>>(
        n, readouts, coils, rings, of.get(), parts<T>(x), sums.get());
    CUDA_TRY(cudaGetLastError());
    return to_host(c, sum, sums.get(), rings * readouts * coils * sizeof *sum);
}

#define INSTANTIATE(T)                                                                                               \
    template larmor_status lmr_cuda_recon_survey<T>(void *, const lmr_survey_of *, const void *, double *,           \
                                                    unsigned char *, lmr_survey *);                                  \
    template larmor_status lmr_cuda_recon_ceiling<T>(void *, int64_t, int64_t, int64_t, const float *, const void *, \
                                                     lmr_part *, int64_t *);                                         \
    template larmor_status lmr_cuda_recon_energies<T>(void *, int64_t, int64_t, int64_t, int, const unsigned char *, \
                                                      const void *, double *);
INSTANTIATE(float)
INSTANTIATE(double)
