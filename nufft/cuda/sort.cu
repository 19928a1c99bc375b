/* Points into the GPU's order: by bins of the grid, by pieces of a bin, by cells within a piece.
 *
 * Bins are sorted by a radix sort of (bin, cell and index), whose time does not depend on how the points are spread,
 * and no counter is shared; it is stable, so that the order is the same in every run. Within a bin points keep their
 * own order, pieces cut it, and only within a piece cells decide: values of points that were neighbours stay so in
 * memory. 1e7 points in 3 dimensions: read coordinates twice, once at random, two or three radix passes of 24 bytes
 * each way, write 20 bytes: 2 GB, 0.5 ms on an H200. SPDX-License-Identifier: Apache-2.0 */
#include <cmath>
#include <cub/block/block_radix_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <new>

#include "nufft/cuda/bins.cuh"

namespace
{

/* ---- where a point goes ---- */

struct axis {
    int64_t cells;
    double modes, half;       /* half the window */
    double scale, scale_rest; /* cells per cycle, in two parts: n / modes to more than double precision */
    double per_bin;           /* 1 / bin */
    int bin;
};

struct folding {
    int ndim;
    bool is_double;
    const void *points;
    axis along[3];
    uint32_t bins[3];
};

folding folding_of(const lmr_nufft_geometry *g, const lmr_cuda_points *p, int is_double, const void *points)
{
    folding f = {};
    f.ndim = g->ndim;
    f.is_double = is_double != 0;
    f.points = points;
    for (int d = 0; d < 3; d++) {
        const auto cells = (double)g->cells[d], modes = (double)g->modes[d];
        const double scale = cells / modes;
        f.along[d] = {.cells = g->cells[d],
                      .modes = modes,
                      .half = 0.5 * g->width,
                      .scale = scale,
                      .scale_rest = std::fma(-scale, modes, cells) / modes,
                      .per_bin = 1.0 / p->bin[d],
                      .bin = p->bin[d]};
        f.bins[d] = p->bins[d];
    }
    return f;
}

/* First cell, folded, and the polynomials' argument; false if the coordinate is not finite. All in double, so that
 * float points lose nothing on large grids and double ones only what they never had. Each step is rounded as it is
 * written: several kernels ask for a point's cell, and where one would fuse what another rounds, a point at the
 * border of two cells would have two. */
__device__ bool fold(const axis &a, double k, int64_t *cell, double *t)
{
    if (!isfinite(k)) return false;
    if (fabs(k) > 0.5 * a.modes) k = remainder(k, a.modes);
    const double x = __dmul_rn(k, a.scale), rest = fma(k, a.scale, -x) + k * a.scale_rest;
    const double i = ceil(__dsub_rn(x, a.half));
    *t = 2 * ((i + a.half - x) - rest) - 1;
    *cell = (int64_t)i < 0 ? (int64_t)i + a.cells : (int64_t)i;
    return true;
}

struct placed {
    uint32_t bin;
    cell at;
    double t[3];
};

__device__ bool place_point(const folding &f, int64_t j, placed *p)
{
    int at[3] = {0, 0, 0};
    uint32_t stride = 1;
    p->bin = 0;
    for (int d = 0; d < 3; d++) {
        if (d >= f.ndim) continue;
        const axis &a = f.along[d];
        const int64_t i = j * f.ndim + d;
        const double k =
            f.is_double ? static_cast<const double *>(f.points)[i] : (double)static_cast<const float *>(f.points)[i];
        int64_t cell;
        if (!fold(a, k, &cell, &p->t[d])) return false;
        auto bin = (int64_t)((double)cell * a.per_bin); /* off by one at most */
        bin -= bin * a.bin > cell;
        bin += (bin + 1) * a.bin <= cell;
        at[d] = (int)(cell - bin * a.bin);
        p->bin += stride * (uint32_t)bin;
        stride *= f.bins[d];
    }
    p->at = {at[0], at[1], at[2]};
    return true;
}

/* ---- kernels ---- */

constexpr int sort_threads = 256;

/* What the radix sort moves: the number of a point, and above it its cell's number within the bin. */
__global__ void key_kernel(const __grid_constant__ folding f, int64_t m, uint32_t *key, uint64_t *load,
                           unsigned long long *bad)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        placed p;
        if (place_point(f, j, &p)) {
            const uint32_t cell = ((uint32_t)p.at.z * f.along[1].bin + p.at.y) * f.along[0].bin + p.at.x;
            key[j] = p.bin;
            load[j] = (uint64_t)cell << 32 | (uint64_t)j;
        } else {
            key[j] = 0;
            load[j] = (uint64_t)j;
            atomicMin(bad, (unsigned long long)j);
        }
    }
}

/* The first of the ascending x[0 .. n - 1] that is >= value, or n. */
__device__ uint32_t lower_bound(const uint32_t *x, uint32_t n, uint32_t value)
{
    uint32_t from = 0;
    while (from < n) {
        const uint32_t middle = from + (n - from) / 2;
        if (x[middle] < value)
            from = middle + 1;
        else
            n = middle;
    }
    return from;
}

/* first[b]: where bin b begins, b = 0 .. bins. */
__global__ void bin_kernel(int64_t bins, uint32_t m, const uint32_t *key, uint32_t *first)
{
    for (int64_t b = first_index(); b <= bins; b += index_stride()) first[b] = lower_bound(key, m, (uint32_t)b);
}

__global__ void piece_count_kernel(int64_t bins, uint32_t most, const uint32_t *first, uint32_t *count)
{
    for (int64_t b = first_index(); b <= bins; b += index_stride())
        count[b] = b < bins ? (first[b + 1] - first[b]) / most + ((first[b + 1] - first[b]) % most > 0) : 0;
}

/* Bins are cut into equal pieces; piece_first[b] is the number of bin b's first one. */
struct cut {
    uint32_t bin, part, parts;
};

__device__ cut cut_of(int64_t bins, const uint32_t *piece_first, uint32_t i)
{
    const uint32_t bin = lower_bound(piece_first, (uint32_t)bins + 1, i + 1) - 1;
    return {bin, i - piece_first[bin], piece_first[bin + 1] - piece_first[bin]};
}

/* Which of 2^round_bits equal parts of its bin a piece lies in. */
constexpr int round_bits = 6;

__global__ void round_kernel(int64_t pieces, int64_t bins, const uint32_t *piece_first, uint8_t *round,
                             uint32_t *number)
{
    for (int64_t i = first_index(); i < pieces; i += index_stride()) {
        const cut c = cut_of(bins, piece_first, (uint32_t)i);
        round[i] = (uint8_t)(((uint64_t)c.part << round_bits) / c.parts);
        number[i] = (uint32_t)i;
    }
}

/* order: the numbers of pieces in their order, or NULL for ascending ones. */
__global__ void piece_kernel(int64_t pieces, int64_t bins, const uint32_t *first, const uint32_t *piece_first,
                             const uint32_t *order, lmr_cuda_piece *piece)
{
    for (int64_t i = first_index(); i < pieces; i += index_stride()) {
        const cut c = cut_of(bins, piece_first, order ? order[i] : (uint32_t)i);
        const uint64_t count = first[c.bin + 1] - first[c.bin], begin = count * c.part / c.parts;
        piece[i] = {c.bin, first[c.bin] + (uint32_t)begin, (uint32_t)(count * (c.part + 1) / c.parts - begin)};
    }
}

/* Where kernels read a point. */
template <typename T> struct target {
    uint32_t *index, *at;
    T *t[3];
    int ndim;
    __device__ void store(int64_t to, int64_t j, const placed &p) const
    {
        index[to] = (uint32_t)j;
        at[to] = pack(p.at);
        for (int d = 0; d < 3; d++)
            if (d < ndim) t[d][to] = (T)p.t[d];
    }
};

/* One block per piece: order it by cells and store its points. */
template <typename T, int ITEMS> __global__ void __launch_bounds__(sort_threads)
    order_kernel(const __grid_constant__ folding f, const __grid_constant__ target<T> to, const lmr_cuda_piece *piece,
                 int cell_bits, const uint64_t *load)
{
    using sorter = cub::BlockRadixSort<uint64_t, sort_threads, ITEMS>;
    __shared__ typename sorter::TempStorage temporary;
    const lmr_cuda_piece job = piece[blockIdx.x];
    uint64_t item[ITEMS];
    for (int i = 0; i < ITEMS; i++) {
        const uint32_t p = threadIdx.x * ITEMS + i;
        item[i] = p < job.count ? load[(int64_t)job.first + p] : UINT64_MAX;
    }
    sorter(temporary).SortBlockedToStriped(item, 32, 32 + cell_bits);
    for (int i = 0; i < ITEMS; i++) {
        const uint32_t p = threadIdx.x + i * sort_threads;
        if (p >= job.count) continue;
        const int64_t j = (uint32_t)item[i];
        placed point;
        place_point(f, j, &point);
        to.store((int64_t)job.first + p, j, point);
    }
}

/* GM: the points' own order. */
template <typename T> __global__ void keep_kernel(const __grid_constant__ folding f,
                                                  const __grid_constant__ target<T> to, int64_t m, uint32_t *bin_of,
                                                  unsigned long long *bad)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        placed p = {};
        if (!place_point(f, j, &p)) atomicMin(bad, (unsigned long long)j);
        bin_of[j] = p.bin;
        to.store(j, j, p);
    }
}

/* ---- the window ---- */

/* Lower the degree of sum a[k] t^k from n to `to` with the least error on [-1, 1]: the highest power goes with a
 * multiple of the Chebyshev polynomial that it leads. */
void economize(int n, int to, double *a)
{
    for (; n > to; n--) {
        double before[LMR_WINDOW_DEGREE + 2] = {1}, now[LMR_WINDOW_DEGREE + 2] = {0, 1};
        for (int k = 1; k < n; k++)
            for (int i = k + 1; i >= 0; i--) {
                const double next = (i ? 2 * now[i - 1] : 0) - before[i];
                before[i] = now[i];
                now[i] = next;
            }
        const double excess = a[n] / now[n];
        for (int i = 0; i <= n; i++) a[i] -= excess * now[i];
    }
}

template <typename T> int fit_degree(int width)
{
    int degree = 0;
    with_width(width, [&](auto w) {
        degree = window_degree<T, decltype(w)::value>;
        return LARMOR_OK;
    });
    return degree;
}

/* Window coefficients to the host, at the degree that kernels are compiled for; waits. */
template <typename T> larmor_status read_window(lmr_cuda *c, const lmr_nufft_geometry *g, lmr_cuda_points *p)
{
    const int w = g->width, degree = fit_degree<T>(w);
    T table[(LMR_WINDOW_DEGREE + 1) * LMR_WINDOW_MAX];
    CUDA_TRY(cudaMemcpyAsync(table, g->window, sizeof(T) * (size_t)(w * (g->degree + 1)), cudaMemcpyDeviceToHost,
                             c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    for (int l = 0; l < w; l++) {
        double a[LMR_WINDOW_DEGREE + 1] = {};
        for (int k = 0; k <= g->degree; k++) a[k] = table[k * w + l];
        economize(g->degree, degree, a);
        for (int k = 0; k <= degree; k++) p->window[k][l] = a[k];
    }
    return LARMOR_OK;
}

/* ---- the sort ---- */

int bits_of(uint64_t values)
{
    int bits = 1;
    while (bits < 32 && values > uint64_t{1} << bits) bits++;
    return bits;
}

template <typename T> target<T> target_of(const lmr_nufft_geometry *g, const lmr_cuda_points *p)
{
    return {
        p->index, p->at, {static_cast<T *>(p->t[0]), static_cast<T *>(p->t[1]), static_cast<T *>(p->t[2])}, g->ndim};
}

template <typename N> larmor_status allocate(lmr_cuda *c, int64_t count, N **out)
{
    lmr_cuda_scratch<N> fresh;
    LMR_TRY(fresh.allocate(c, count));
    *out = fresh.take();
    return LARMOR_OK;
}

/* Keys and loads by bin; *key and *load are swapped with their spares where the sort ends there. */
larmor_status sort_by_bin(lmr_cuda *c, int64_t m, int bits, lmr_cuda_scratch<uint32_t> key[2],
                          lmr_cuda_scratch<uint64_t> load[2], int *result)
{
    cub::DoubleBuffer<uint32_t> keys(key[0].get(), key[1].get());
    cub::DoubleBuffer<uint64_t> loads(load[0].get(), load[1].get());
    lmr_cuda_scratch<char> temporary;
    size_t bytes = 0;
    const auto count = (uint32_t)m;
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, loads, count, 0, bits, c->stream));
    LMR_TRY(temporary.allocate(c, (int64_t)bytes));
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(temporary.get(), bytes, keys, loads, count, 0, bits, c->stream));
    *result = keys.selector;
    if (keys.selector != loads.selector)
        return LMR_CUDA_FAIL(LARMOR_ERR_BACKEND, "nufft: the sort's keys and loads ended apart");
    return LARMOR_OK;
}

/* Pieces in rounds over the bins, whose parts of one round follow each other. Points of a bin are in their own
 * order, so that blocks at work at the same time ask for values that lie near each other, and the L2 cache has
 * whole sectors of them, where all pieces of one bin after the other would touch each sector for a single value. */
larmor_status order_pieces(lmr_cuda *c, int64_t bins, const uint32_t *piece_first, int64_t pieces,
                           lmr_cuda_scratch<uint32_t> &order)
{
    lmr_cuda_scratch<uint8_t> round[2];
    lmr_cuda_scratch<uint32_t> number;
    lmr_cuda_scratch<char> temporary;
    size_t bytes = 0;
    for (auto &r : round) LMR_TRY(r.allocate(c, pieces));
    LMR_TRY(number.allocate(c, pieces));
    LMR_TRY(order.allocate(c, pieces));
    round_kernel<<<blocks(pieces), sort_threads, 0, c->stream>>>(pieces, bins, piece_first, round[0].get(),
                                                                 number.get());
    CUDA_TRY(cudaGetLastError());
    const auto sort = [&](void *scratch) {
        return cub::DeviceRadixSort::SortPairs(scratch, bytes, round[0].get(), round[1].get(), number.get(),
                                               order.get(), (uint32_t)pieces, 0, round_bits, c->stream);
    };
    CUDA_TRY(sort(nullptr));
    LMR_TRY(temporary.allocate(c, (int64_t)bytes));
    CUDA_TRY(sort(temporary.get()));
    return LARMOR_OK;
}

/* Cut the sorted bins into pieces; *bad is read with their number, and if there is a bad point nothing is cut. */
larmor_status cut_pieces(lmr_cuda *c, int64_t bins, const uint32_t *key, const int64_t *bad_on_device, bool in_rounds,
                         int64_t *bad, lmr_cuda_points *p)
{
    const int64_t share = p->m / (8 * c->properties.multiProcessorCount);
    const auto most = (uint32_t)std::min<int64_t>(most_points, std::max<int64_t>(256, share));
    lmr_cuda_scratch<uint32_t> first, count, piece_first;
    lmr_cuda_scratch<char> temporary;
    LMR_TRY(first.allocate(c, bins + 1));
    LMR_TRY(count.allocate(c, bins + 1));
    LMR_TRY(piece_first.allocate(c, bins + 1));
    bin_kernel<<<blocks(bins + 1), sort_threads, 0, c->stream>>>(bins, (uint32_t)p->m, key, first.get());
    CUDA_TRY(cudaGetLastError());
    piece_count_kernel<<<blocks(bins + 1), sort_threads, 0, c->stream>>>(bins, most, first.get(), count.get());
    CUDA_TRY(cudaGetLastError());
    size_t bytes = 0;
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(nullptr, bytes, count.get(), piece_first.get(), bins + 1, c->stream));
    LMR_TRY(temporary.allocate(c, (int64_t)bytes));
    CUDA_TRY(
        cub::DeviceScan::ExclusiveSum(temporary.get(), bytes, count.get(), piece_first.get(), bins + 1, c->stream));
    uint32_t pieces;
    CUDA_TRY(cudaMemcpyAsync(&pieces, piece_first.get() + bins, sizeof pieces, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaMemcpyAsync(bad, bad_on_device, sizeof *bad, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    if (*bad >= 0) return LARMOR_OK;
    p->pieces = pieces;
    LMR_TRY(allocate(c, p->pieces, &p->piece));
    lmr_cuda_scratch<uint32_t> order;
    if (in_rounds) LMR_TRY(order_pieces(c, bins, piece_first.get(), p->pieces, order));
    piece_kernel<<<blocks(p->pieces), sort_threads, 0, c->stream>>>(p->pieces, bins, first.get(), piece_first.get(),
                                                                    order.get(), p->piece);
    CUDA_TRY(cudaGetLastError());
    return LARMOR_OK;
}

template <typename T> larmor_status allocate_points(lmr_cuda *c, int ndim, lmr_cuda_points *p)
{
    LMR_TRY(allocate(c, p->m, &p->index));
    LMR_TRY(allocate(c, p->m, &p->at));
    for (int d = 0; d < ndim; d++) {
        T *t;
        LMR_TRY(allocate(c, p->m, &t));
        p->t[d] = t;
    }
    return LARMOR_OK;
}

template <typename T> larmor_status order(lmr_cuda *c, const lmr_nufft_geometry *g, const folding &f, bool tile_fits,
                                          lmr_cuda_scratch<int64_t> &bad_on_device, int64_t *bad, lmr_cuda_points *p)
{
    lmr_cuda_scratch<uint32_t> key[2];
    lmr_cuda_scratch<uint64_t> load[2];
    const int64_t bins = (int64_t)p->bins[0] * p->bins[1] * p->bins[2];
    for (int i = 0; i < 2; i++) {
        LMR_TRY(key[i].allocate(c, p->m));
        LMR_TRY(load[i].allocate(c, p->m));
    }
    key_kernel<<<blocks(p->m), sort_threads, 0, c->stream>>>(
        f, p->m, key[0].get(), load[0].get(), reinterpret_cast<unsigned long long *>(bad_on_device.get()));
    CUDA_TRY(cudaGetLastError());
    int sorted = 0;
    LMR_TRY(sort_by_bin(c, p->m, bits_of((uint64_t)bins), key, load, &sorted));
    const bool in_rounds = p->m * (int64_t)sizeof(cx<T>) > c->properties.l2CacheSize / 4;
    LMR_TRY(cut_pieces(c, bins, key[sorted].get(), bad_on_device.get(), in_rounds, bad, p));
    if (*bad >= 0) return LARMOR_OK;
    choose_methods<T>(g, tile_fits, p);
    LMR_TRY(allocate_points<T>(c, g->ndim, p));
    const int cell_bits = bits_of((uint64_t)p->bin[0] * p->bin[1] * p->bin[2]);
    order_kernel<T, most_points / sort_threads><<<(unsigned)p->pieces, sort_threads, 0, c->stream>>>(
        f, target_of<T>(g, p), p->piece, cell_bits, load[sorted].get());
    CUDA_TRY(cudaGetLastError());
    if (p->spread == LMR_NUFFT_GM_SORT || p->interp == LMR_NUFFT_GM_SORT) p->bin_of = key[sorted].take();
    return LARMOR_OK;
}

template <typename T> larmor_status keep_order(lmr_cuda *c, const lmr_nufft_geometry *g, const folding &f,
                                               lmr_cuda_scratch<int64_t> &bad_on_device, int64_t *bad,
                                               lmr_cuda_points *p)
{
    choose_methods<T>(g, false, p);
    LMR_TRY(allocate_points<T>(c, g->ndim, p));
    LMR_TRY(allocate(c, p->m, &p->bin_of));
    keep_kernel<T><<<blocks(p->m), sort_threads, 0, c->stream>>>(
        f, target_of<T>(g, p), p->m, p->bin_of, reinterpret_cast<unsigned long long *>(bad_on_device.get()));
    CUDA_TRY(cudaGetLastError());
    CUDA_TRY(cudaMemcpyAsync(bad, bad_on_device.get(), sizeof *bad, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    return LARMOR_OK;
}

template <typename T> larmor_status fill(lmr_cuda *c, const lmr_nufft_geometry *g, int is_double, const void *points,
                                         int64_t *bad, lmr_cuda_points *p)
{
    int64_t bins = 1;
    const bool tile_fits = choose_bins<T>(c, g, p->m, p);
    for (int d = 0; d < 3; d++) bins *= (g->cells[d] + p->bin[d] - 1) / p->bin[d];
    if (p->m > INT_MAX || bins >= INT_MAX)
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED,
                             "nufft: got %lld points in %lld bins, expected fewer than 2^31 of each on a GPU",
                             (long long)p->m, (long long)bins);
    LMR_TRY(read_window<T>(c, g, p));
    if (p->m == 0) return LARMOR_OK;
    lmr_cuda_scratch<int64_t> bad_on_device;
    LMR_TRY(bad_on_device.allocate(c, 1));
    CUDA_TRY(cudaMemsetAsync(bad_on_device.get(), 0xff, sizeof *bad, c->stream)); /* -1, and the largest unsigned */
    const folding f = folding_of(g, p, is_double, points);
    if (g->method == LMR_NUFFT_GM) return keep_order<T>(c, g, f, bad_on_device, bad, p);
    return order<T>(c, g, f, tile_fits, bad_on_device, bad, p);
}

} // namespace

void lmr_cuda_release_points(void *ctx, void *sorted)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    auto *p = static_cast<lmr_cuda_points *>(sorted);
    if (!p) return;
    lmr_cuda_release(c, p->piece);
    lmr_cuda_release(c, p->index);
    lmr_cuda_release(c, p->at);
    lmr_cuda_release(c, p->bin_of);
    for (int d = 0; d < 3; d++) lmr_cuda_release(c, p->t[d]);
    delete p;
}

template <typename T> larmor_status lmr_cuda_sort(void *ctx, const lmr_nufft_geometry *g, int64_t m, int is_double,
                                                  const void *points, int64_t *bad, void **sorted)
{
    *sorted = nullptr;
    *bad = -1;
    LMR_CUDA_ENTER(c, ctx);
    auto *p = new (std::nothrow) lmr_cuda_points{};
    if (!p) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    p->m = m;
    const larmor_status st = fill<T>(c, g, is_double, points, bad, p);
    if (st || *bad >= 0)
        lmr_cuda_release_points(ctx, p);
    else
        *sorted = p;
    return st;
}

template larmor_status lmr_cuda_sort<float>(void *, const lmr_nufft_geometry *, int64_t, int, const void *, int64_t *,
                                            void **);
template larmor_status lmr_cuda_sort<double>(void *, const lmr_nufft_geometry *, int64_t, int, const void *,
                                             int64_t *, void **);
