/* Points into the GPU's order: by bins of the grid, by pieces of a bin, by cells within a piece.
 *
 * Bins are sorted by a radix sort of keys (bin, cell) and the points' numbers, by the bits of the bin alone: its time
 * does not depend on how the points are spread, and no counter is shared; it is stable, so that the order is the same
 * in every run. Within a bin points keep their own order, pieces cut it, and only within a piece cells decide: values
 * of points that were neighbours stay so in memory. 1e7 points in 2 dimensions, float: write keys and numbers, two or
 * three radix passes of 16 bytes, read coordinates at random, write 16 bytes: 1 GB, 0.25 ms on an H200; it waits for
 * the device once. SPDX-License-Identifier: Apache-2.0 */
#include <cmath>
#include <cstring>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <new>

#include "nufft/cuda/bins.cuh"
#include "nufft/cuda/order.cuh"

namespace
{

/* ---- kernels ---- */

template <typename P> __global__ void key_kernel(const __grid_constant__ folding f, key_bits bits, int64_t m,
                                                 uint32_t *key, uint32_t *number, unsigned long long *bad)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        placed p;
        P k[3];
        read_point(f, j, k);
        const bool finite = place_point(f, k, &p);
        if (!finite) atomicMin(bad, (unsigned long long)j);
        key[j] = finite ? bits.join(p.bin, cell_in_bin(f, p.at)) : 0;
        number[j] = (uint32_t)j;
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

/* first[b]: the first of the ascending keys whose bin is >= b, or m; b = 0 .. bins. Eight lanes look at as many keys
 * at once, so that few loads wait for each other; `rounds` is how often an eighth of m is left. */
__global__ void bin_kernel(int64_t bins, uint32_t m, int rounds, key_bits bits, const uint32_t *key, uint32_t *first)
{
    constexpr uint32_t lanes = 8;
    const uint32_t lane = threadIdx.x % lanes, group = threadIdx.x % 32 / lanes * lanes;
    const int64_t b = first_index() / lanes;
    uint32_t from = 0;
    uint32_t left = b <= bins ? m : 0;
    for (int i = 0; i < rounds; i++) {
        const uint32_t step = left ? (left - 1) / lanes + 1 : 1;
        const uint32_t at = lane * step;
        const bool below = at < left && bits.bin(key[from + at]) < (uint32_t)b;
        const uint32_t count = (uint32_t)__popc(__ballot_sync(~0U, below) >> group & ((1U << lanes) - 1));
        const uint32_t behind = count ? (count - 1) * step + 1 : 0;
        left = count ? min(step - 1, left - behind) : 0; /* those looked at ascend */
        from += behind;
    }
    if (lane == 0 && b <= bins) first[b] = from;
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

/* Store points in the order of number, or in their own if it is NULL, and *bad if it is not: the first that is not
 * finite. bin_of: their bins, or NULL. */
template <typename T, typename P>
__global__ void store_kernel(const __grid_constant__ folding f, const __grid_constant__ target<T> to, int64_t m,
                             const uint32_t *number, uint32_t *bin_of, unsigned long long *bad)
{
    for (int64_t i = first_index(); i < m; i += index_stride()) {
        const int64_t j = number ? number[i] : i;
        placed p = {};
        P k[3];
        read_point(f, j, k);
        if (!place_point(f, k, &p) && bad) atomicMin(bad, (unsigned long long)j);
        if (bin_of) bin_of[i] = p.bin;
        to.store(i, j, p);
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

/* Ask for the window's coefficients; they are there when the stream's work is done. The device's answer comes behind
 * them. */
template <typename T> larmor_status ask_window(lmr_cuda *c, const lmr_nufft_geometry *g)
{
    static_assert(sizeof(T) * (LMR_WINDOW_DEGREE + 1) * LMR_WINDOW_MAX + 2 * sizeof(double) <=
                  sizeof(double) * LMR_CUDA_ANSWERS);
    CUDA_TRY(cudaMemcpyAsync(c->answer + 2, g->window, sizeof(T) * (size_t)(g->width * (g->degree + 1)),
                             cudaMemcpyDeviceToHost, c->stream));
    return LARMOR_OK;
}

/* They, at the degree that kernels are compiled for. */
template <typename T> void take_window(const lmr_cuda *c, const lmr_nufft_geometry *g, lmr_cuda_points *p)
{
    const int w = g->width, degree = fit_degree<T>(w);
    const T *const table = reinterpret_cast<const T *>(c->answer + 2);
    for (int l = 0; l < w; l++) {
        double a[LMR_WINDOW_DEGREE + 1] = {};
        for (int k = 0; k <= g->degree; k++) a[k] = table[k * w + l];
        economize(g->degree, degree, a);
        for (int k = 0; k <= degree; k++) p->window[k][l] = a[k];
    }
}

/* Wait for the number of the first point that is not finite, or -1, and for *pieces, NULL: not wanted. */
larmor_status wait_for_answer(lmr_cuda *c, const int64_t *bad_on_device, const uint32_t *pieces, int64_t *bad,
                              lmr_cuda_points *p)
{
    CUDA_TRY(cudaMemcpyAsync(c->answer, bad_on_device, sizeof *bad, cudaMemcpyDeviceToHost, c->stream));
    if (pieces) CUDA_TRY(cudaMemcpyAsync(c->answer + 1, pieces, sizeof *pieces, cudaMemcpyDeviceToHost, c->stream));
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    std::memcpy(bad, c->answer, sizeof *bad);
    uint32_t count = 0;
    if (pieces) std::memcpy(&count, c->answer + 1, sizeof count);
    p->pieces = count;
    return LARMOR_OK;
}

/* ---- the sort ---- */

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

/* Arrays of one block of memory, each aligned to 256 bytes. Without memory they are only counted. */
class shelf
{
  public:
    explicit shelf(char *block) : memory(block)
    {
    }
    template <typename N> void put(int64_t count, N **array)
    {
        if (memory) *array = reinterpret_cast<N *>(memory + bytes);
        bytes += (count * (int64_t)sizeof(N) + 255) & ~int64_t{255};
    }
    int64_t bytes = 0;

  private:
    char *memory;
};

/* What a sort takes for a moment. The arrays of all points have memory of their own: blocks of one size are what the
 * pool finds again at once. */
struct sorting {
    int64_t m, bins;
    uint32_t most; /* points of a piece */
    key_bits bits;
    lmr_cuda_scratch<uint32_t> key[2] = {}, number[2] = {}; /* [m]: [sorted] are in order in the end */
    lmr_cuda_scratch<char> memory = {};                     /* of what follows */
    int64_t *bad = nullptr;
    uint32_t *first = nullptr, *count = nullptr, *piece_first = nullptr; /* [bins + 1] */
    char *temporary = nullptr;                                           /* of cub */
    size_t temporary_bytes = 0;
    int sorted = 0;
};

larmor_status radix_sort(lmr_cuda *c, sorting *s)
{
    cub::DoubleBuffer<uint32_t> keys(s->key[0].get(), s->key[1].get()),
        numbers(s->number[0].get(), s->number[1].get());
    const int from = s->bits.of_cell - s->bits.dropped;
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(s->temporary, s->temporary_bytes, keys, numbers, (uint32_t)s->m, from,
                                             from + s->bits.of_bin, c->stream));
    s->sorted = keys.selector;
    if (keys.selector != numbers.selector)
        return LMR_CUDA_FAIL(LARMOR_ERR_BACKEND, "nufft: the sort's keys and numbers ended apart");
    return LARMOR_OK;
}

/* piece_first[b]: the pieces of all bins before b. */
larmor_status sum_pieces(lmr_cuda *c, sorting *s)
{
    CUDA_TRY(cub::DeviceScan::ExclusiveSum(s->temporary, s->temporary_bytes, s->count, s->piece_first, s->bins + 1,
                                           c->stream));
    return LARMOR_OK;
}

/* What does not grow with the points. */
int64_t lay_out(sorting *s, char *memory)
{
    shelf room(memory);
    room.put(1, &s->bad);
    room.put(s->bins + 1, &s->first);
    room.put(s->bins + 1, &s->count);
    room.put(s->bins + 1, &s->piece_first);
    room.put((int64_t)s->temporary_bytes, &s->temporary);
    return room.bytes;
}

/* Its memory, and -1, which is the largest unsigned number, where the first bad point will stand. */
larmor_status prepare(lmr_cuda *c, sorting *s)
{
    LMR_TRY(radix_sort(c, s)); /* without memory both only say how much they need */
    const size_t of_sort = s->temporary_bytes;
    LMR_TRY(sum_pieces(c, s));
    s->temporary_bytes = std::max(of_sort, s->temporary_bytes);
    LMR_TRY(s->memory.allocate(c, lay_out(s, nullptr)));
    lay_out(s, s->memory.get());
    for (int i = 0; i < 2; i++) {
        LMR_TRY(s->key[i].allocate(c, s->m));
        LMR_TRY(s->number[i].allocate(c, s->m));
    }
    return CUDA_STATUS(cudaMemsetAsync(s->bad, 0xff, sizeof *s->bad, c->stream));
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
larmor_status cut_pieces(lmr_cuda *c, sorting *s, bool in_rounds, int64_t *bad, lmr_cuda_points *p)
{
    const int rounds = bits_of((uint64_t)s->m) / 3 + 1;
    bin_kernel<<<(unsigned)(8 * s->bins / sort_threads + 1), sort_threads, 0, c->stream>>>(
        s->bins, (uint32_t)s->m, rounds, s->bits, s->key[s->sorted].get(), s->first);
    CUDA_TRY(cudaGetLastError());
    piece_count_kernel<<<blocks(s->bins + 1), sort_threads, 0, c->stream>>>(s->bins, s->most, s->first, s->count);
    CUDA_TRY(cudaGetLastError());
    LMR_TRY(sum_pieces(c, s));
    LMR_TRY(wait_for_answer(c, s->bad, s->piece_first + s->bins, bad, p));
    if (*bad >= 0) return LARMOR_OK;
    LMR_TRY(allocate(c, p->pieces, &p->piece));
    lmr_cuda_scratch<uint32_t> order;
    if (in_rounds) LMR_TRY(order_pieces(c, s->bins, s->piece_first, p->pieces, order));
    piece_kernel<<<blocks(p->pieces), sort_threads, 0, c->stream>>>(p->pieces, s->bins, s->first, s->piece_first,
                                                                    order.get(), p->piece);
    return CUDA_STATUS(cudaGetLastError());
}

/* The arrays that transforms read; methods are chosen. */
template <typename T> larmor_status allocate_points(lmr_cuda *c, int ndim, lmr_cuda_points *p)
{
    LMR_TRY(allocate(c, p->m, &p->index));
    LMR_TRY(allocate(c, p->m, &p->at));
    for (int d = 0; d < ndim; d++) {
        T *t;
        LMR_TRY(allocate(c, p->m, &t));
        p->t[d] = t;
    }
    const bool by_grid =
        p->spread == LMR_NUFFT_GM || p->spread == LMR_NUFFT_GM_SORT || p->interp == LMR_NUFFT_GM_SORT;
    return by_grid ? allocate(c, p->m, &p->bin_of) : LARMOR_OK;
}

/* Pieces of a block: several where they are many and have few points. */
int pieces_of_block(const lmr_cuda *c, const lmr_cuda_points *p)
{
    const int64_t enough = p->pieces / (8 * c->properties.multiProcessorCount);
    const int64_t fitting = 2 * sort_threads * p->pieces / p->m, most = sort_threads / 32;
    return (int)std::max<int64_t>(1, std::min(most, std::min(enough, fitting)));
}

template <typename T, typename P> larmor_status order(lmr_cuda *c, const lmr_nufft_geometry *g, const folding &f,
                                                      bool tile_fits, int64_t *bad, lmr_cuda_points *p)
{
    const int64_t bins = (int64_t)p->bins[0] * p->bins[1] * p->bins[2];
    const int64_t share = p->m / (8 * c->properties.multiProcessorCount);
    const auto most = (uint32_t)std::min<int64_t>(most_points, std::max<int64_t>(256, share));
    sorting s = {.m = p->m, .bins = bins, .most = most, .bits = bits_for(bins, p)};
    LMR_TRY(prepare(c, &s));
    key_kernel<P><<<blocks(p->m), sort_threads, 0, c->stream>>>(f, s.bits, p->m, s.key[0].get(), s.number[0].get(),
                                                                reinterpret_cast<unsigned long long *>(s.bad));
    CUDA_TRY(cudaGetLastError());
    LMR_TRY(radix_sort(c, &s));
    const bool in_rounds = p->m * (int64_t)sizeof(cx<T>) > c->properties.l2CacheSize / 4;
    LMR_TRY(cut_pieces(c, &s, in_rounds, bad, p));
    if (*bad >= 0) return LARMOR_OK;
    choose_methods<T>(g, tile_fits, p);
    LMR_TRY(allocate_points<T>(c, g->ndim, p));
    const ordering o = {.f = f,
                        .bits = s.bits,
                        .pieces = p->pieces,
                        .per_block = pieces_of_block(c, p),
                        .piece = p->piece,
                        .key = s.key[s.sorted].get(),
                        .number = s.number[s.sorted].get()};
    const auto kernel = s.bits.dropped ? order_kernel<true> : order_kernel<false>;
    kernel<<<(unsigned)((p->pieces - 1) / o.per_block + 1), sort_threads, 0, c->stream>>>(o);
    CUDA_TRY(cudaGetLastError());
    store_kernel<T, P>
        <<<blocks(p->m), sort_threads, 0, c->stream>>>(f, target_of<T>(g, p), p->m, o.number, p->bin_of, nullptr);
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T, typename P>
larmor_status keep_order(lmr_cuda *c, const lmr_nufft_geometry *g, const folding &f, int64_t *bad, lmr_cuda_points *p)
{
    lmr_cuda_scratch<int64_t> bad_on_device;
    LMR_TRY(bad_on_device.allocate(c, 1));
    CUDA_TRY(cudaMemsetAsync(bad_on_device.get(), 0xff, sizeof *bad, c->stream));
    choose_methods<T>(g, false, p);
    LMR_TRY(allocate_points<T>(c, g->ndim, p));
    store_kernel<T, P><<<blocks(p->m), sort_threads, 0, c->stream>>>(
        f, target_of<T>(g, p), p->m, nullptr, p->bin_of, reinterpret_cast<unsigned long long *>(bad_on_device.get()));
    CUDA_TRY(cudaGetLastError());
    return wait_for_answer(c, bad_on_device.get(), nullptr, bad, p);
}

template <typename T, typename P>
larmor_status fill(lmr_cuda *c, const lmr_nufft_geometry *g, const void *points, int64_t *bad, lmr_cuda_points *p)
{
    int64_t bins = 1;
    const bool tile_fits = choose_bins<T>(c, g, p->m, p);
    for (int d = 0; d < 3; d++) bins *= (g->cells[d] + p->bin[d] - 1) / p->bin[d];
    if (p->m > INT_MAX || bins >= INT_MAX)
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED,
                             "nufft: got %lld points in %lld bins, expected fewer than 2^31 of each on a GPU",
                             (long long)p->m, (long long)bins);
    if (p->m == 0) return LARMOR_OK;
    const folding f = folding_of(g, p, std::is_same_v<P, double>, points);
    LMR_TRY(ask_window<T>(c, g));
    if (g->method == LMR_NUFFT_GM)
        LMR_TRY((keep_order<T, P>(c, g, f, bad, p)));
    else
        LMR_TRY((order<T, P>(c, g, f, tile_fits, bad, p)));
    take_window<T>(c, g, p);
    return LARMOR_OK;
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
    const larmor_status st = is_double ? fill<T, double>(c, g, points, bad, p) : fill<T, float>(c, g, points, bad, p);
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
