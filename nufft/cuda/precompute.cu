/* The precomputed forms on the GPU. Partial: the plan's kernels read window values where they would compute them,
 * ndim * width numbers a point in place of ndim, once for the transforms that share a block. Full: cuSPARSE
 * multiplies real matrices by complex numbers as two real columns for each transform, rows first; in order: larmor's
 * own kernel does. SPDX-License-Identifier: Apache-2.0 */
#include <cusparse.h>

#include <cub/device/device_radix_sort.cuh>
#include <new>

#include "core/cuda/library.cuh"
#include "nufft/cuda/points.cuh"

namespace
{

#define SPARSE_FUNCTIONS(X)                                                                                          \
    X(cusparseCreate)                                                                                                \
    X(cusparseDestroy)                                                                                               \
    X(cusparseSetStream) X(cusparseGetErrorString) X(cusparseCreateCsr) X(cusparseCreateDnMat)                       \
        X(cusparseDestroySpMat) X(cusparseDestroyDnMat) X(cusparseDnMatSetValues) X(cusparseSpMM)                    \
            X(cusparseSpMM_bufferSize) X(cusparseSpMM_preprocess)
LMR_CUDA_LIBRARY(sparse_library, SPARSE_FUNCTIONS);
sparse_library sparse;

larmor_status lmr_cuda_failed(cusparseStatus_t code, const char *call, const char *function, int line)
{
    (void)cudaGetLastError();
    const bool memory = code == CUSPARSE_STATUS_ALLOC_FAILED || code == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES;
    return lmr_cuda_failed_as(memory ? LARMOR_ERR_MEMORY : LARMOR_ERR_BACKEND, call,
                              sparse.cusparseGetErrorString(code), function, line);
}

using ::lmr_cuda_failed;

enum { THREADS = 256 };

/* ---- what is made ---- */

/* Compressed sparse rows on the device. */
struct matrix {
    int64_t rows, columns, entries;
    void *offset, *column, *value;
};

/* y = a x for one number of transforms, with what cuSPARSE knows of it; it keeps notes about a in the buffer. */
struct product {
    int64_t batch;
    cusparseSpMatDescr_t a;
    cusparseDnMatDescr_t x, y;
    void *buffer;
};

struct made {
    const lmr_cuda_points *points;
    int64_t bytes;
    void *stored;                /* partial: as in lmr_cuda_points */
    lmr_cuda_points with_values; /* partial: points and stored */
    uint32_t *bin_of;            /* full: [m], where the points have none, for a while */
    matrix rows, columns;
    void *values, *cells; /* of a pass, transforms fastest; cells only if there are several */
    cusparseHandle_t sparse;
    product forward[2], back[2]; /* by rows, by columns: for a whole pass and for the rest of the batch */
    bool in_order, long_index;   /* in_order: products are larmor's own */
};

/* Memory for count elements, added to m->bytes. */
larmor_status allocate(lmr_cuda *c, made *m, int64_t count, int64_t size, void **out)
{
    int64_t bytes;
    if (!lmr_mul(count, size, &bytes))
        return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of device memory: %lld numbers asked for", (long long)count);
    LMR_TRY(lmr_cuda_alloc(c, (size_t)bytes, out));
    m->bytes += bytes;
    return LARMOR_OK;
}

void release_product(lmr_cuda *c, const product &p)
{
    if (p.a) (void)sparse.cusparseDestroySpMat(p.a);
    if (p.x) (void)sparse.cusparseDestroyDnMat(p.x);
    if (p.y) (void)sparse.cusparseDestroyDnMat(p.y);
    lmr_cuda_release(c, p.buffer);
}

void release(void *ctx, void *of)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    auto *m = static_cast<made *>(of);
    if (!m) return;
    (void)cudaSetDevice(c->ordinal);
    for (int i = 0; i < 2; i++) {
        release_product(c, m->forward[i]);
        release_product(c, m->back[i]);
    }
    void *const memory[] = {m->stored,      m->bin_of,     m->values,         m->cells,          m->rows.offset,
                            m->rows.column, m->rows.value, m->columns.offset, m->columns.column, m->columns.value};
    for (void *each : memory) lmr_cuda_release(c, each);
    if (m->sparse) (void)sparse.cusparseDestroy(m->sparse);
    delete m;
}

/* ---- where points are, and their window values ---- */

/* The window for any width: kernels here run once, or wait for memory. */
template <typename T> struct any_window {
    int ndim, width;
    T c[LMR_WINDOW_DEGREE + 1][LMR_WINDOW_MAX];
    __device__ T at(int l, T t) const
    {
        T sum = c[LMR_WINDOW_DEGREE][l];
        for (int k = LMR_WINDOW_DEGREE - 1; k >= 0; k--) sum = sum * t + c[k][l];
        return sum;
    }
};

template <typename T> any_window<T> any_window_of(const lmr_nufft_geometry *g, const lmr_cuda_points *p)
{
    any_window<T> w = {};
    w.ndim = g->ndim;
    w.width = g->width;
    for (int k = 0; k <= LMR_WINDOW_DEGREE; k++)
        for (int l = 0; l < g->width; l++) w.c[k][l] = (T)p->window[k][l];
    return w;
}

template <typename T> __device__ __forceinline__ place corner_of(const view<T> &v, int64_t j)
{
    const place origin = origin_of(v, v.bin_of[j]);
    const cell at = unpack(v.at[j]);
    return {origin.x + at.x, origin.y + at.y, origin.z + at.z};
}

template <typename T>
__device__ __forceinline__ int64_t cell_at(const view<T> &v, const place &corner, int x, int y, int z)
{
    return (wrap(corner.z + z, v.cells[2]) * v.cells[1] + wrap(corner.y + y, v.cells[1])) * v.cells[0] +
           wrap(corner.x + x, v.cells[0]);
}

__global__ void bin_of_kernel(const lmr_cuda_piece *piece, uint32_t *bin_of)
{
    const lmr_cuda_piece job = piece[blockIdx.x];
    for (uint32_t i = threadIdx.x; i < job.count; i += blockDim.x) bin_of[(int64_t)job.first + i] = job.bin;
}

/* The points' view with a bin for each. */
template <typename T> larmor_status find_bins(lmr_cuda *c, const lmr_nufft_geometry *g, made *m, view<T> *v)
{
    const lmr_cuda_points *p = m->points;
    *v = view_of<T>(g, p);
    if (p->bin_of || !p->m) return LARMOR_OK;
    void *memory;
    LMR_TRY(lmr_cuda_alloc(c, (size_t)p->m * sizeof(uint32_t), &memory));
    v->bin_of = m->bin_of = static_cast<uint32_t *>(memory);
    bin_of_kernel<<<(unsigned)p->pieces, THREADS, 0, c->stream>>>(p->piece, m->bin_of);
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- partial ---- */

/* A thread for each point; nothing reads what the last group has beyond it. */
template <typename T>
__global__ void store_kernel(const __grid_constant__ view<T> v, const __grid_constant__ any_window<T> w, T *stored)
{
    for (int64_t j = first_index(); j < v.m; j += index_stride())
        for (int d = 0; d < w.ndim; d++) {
            const T t = v.t[d][j];
            T *const to = stored + (j / stored_group * w.ndim + d) * w.width * stored_group + j % stored_group;
            for (int l = 0; l < w.width; l++) to[l * stored_group] = w.at(l, t);
        }
}

/* The points once more, for the same kernels, with their values. */
template <typename T> larmor_status store_values(lmr_cuda *c, const lmr_nufft_geometry *g, made *m)
{
    const int64_t points = m->points->m, groups = (points + stored_group - 1) / stored_group;
    LMR_TRY(allocate(c, m, groups, (int64_t)stored_group * g->ndim * g->width * sizeof(T), &m->stored));
    if (points)
        store_kernel<T><<<blocks(points, THREADS), THREADS, 0, c->stream>>>(
            view_of<T>(g, m->points), any_window_of<T>(g, m->points), static_cast<T *>(m->stored));
    CUDA_TRY(cudaGetLastError());
    m->with_values = *m->points;
    m->with_values.stored = m->stored;
    return LARMOR_OK;
}

/* ---- the matrices ---- */

/* A thread for each row of cells in a point's box. */
template <typename T, typename I> __global__ void
rows_kernel(const __grid_constant__ view<T> v, const __grid_constant__ any_window<T> w, I *column, T *value)
{
    const int wy = w.ndim > 1 ? w.width : 1;
    const int each = w.ndim > 2 ? wy * w.width : wy;
    for (int64_t i = first_index(); i < v.m * each; i += index_stride()) {
        const int64_t j = i / each;
        const int row = (int)(i % each), y = row % wy, z = row / wy;
        const place corner = corner_of(v, j);
        const T side = (w.ndim > 1 ? w.at(y, v.t[1][j]) : 1) * (w.ndim > 2 ? w.at(z, v.t[2][j]) : 1);
        for (int x = 0; x < w.width; x++) {
            column[i * w.width + x] = (I)cell_at(v, corner, x, y, z);
            value[i * w.width + x] = w.at(x, v.t[0][j]) * side;
        }
    }
}

/* x[i] <- i step for i = 0 .. count - 1 */
template <typename I> __global__ void count_kernel(int64_t count, int64_t step, I *x)
{
    for (int64_t i = first_index(); i < count; i += index_stride()) x[i] = (I)(i * step);
}

/* offset[r]: the first of the ascending keys that is r or more. */
template <typename I> __global__ void offset_kernel(int64_t rows, int64_t entries, const I *key, I *offset)
{
    for (int64_t r = first_index(); r <= rows; r += index_stride()) {
        int64_t from = 0, end = entries;
        while (from < end) {
            const int64_t middle = from + (end - from) / 2;
            if (key[middle] < r)
                from = middle + 1;
            else
                end = middle;
        }
        offset[r] = (I)from;
    }
}

/* Entries in their new order; `from` may be `column`. */
template <typename T, typename I>
__global__ void move_kernel(int64_t entries, int64_t each, const I *from, const T *value, I *column, T *moved)
{
    for (int64_t e = first_index(); e < entries; e += index_stride()) {
        const I at = from[e];
        moved[e] = value[at];
        column[e] = (I)(at / each);
    }
}

template <typename T, typename I>
larmor_status allocate_matrix(lmr_cuda *c, made *m, int64_t rows, int64_t columns, int64_t entries, matrix *a)
{
    a->rows = rows;
    a->columns = columns;
    a->entries = entries;
    LMR_TRY(allocate(c, m, rows + 1, sizeof(I), &a->offset));
    LMR_TRY(allocate(c, m, entries, sizeof(I), &a->column));
    return allocate(c, m, entries, sizeof(T), &a->value);
}

/* The entries of a by columns, by a stable sort: in a row of t points keep their order. */
template <typename T, typename I> larmor_status transpose(lmr_cuda *c, const matrix &a, int64_t each, const matrix &t)
{
    lmr_cuda_scratch<I> key[2], place;
    lmr_cuda_scratch<char> temporary;
    for (auto &k : key) LMR_TRY(k.allocate(c, a.entries));
    LMR_TRY(place.allocate(c, a.entries));
    auto *column = static_cast<I *>(t.column);
    CUDA_TRY(cudaMemcpyAsync(key[0].get(), a.column, a.entries * sizeof(I), cudaMemcpyDeviceToDevice, c->stream));
    count_kernel<I><<<blocks(a.entries), THREADS, 0, c->stream>>>(a.entries, 1, column);
    CUDA_TRY(cudaGetLastError());
    cub::DoubleBuffer<I> keys(key[0].get(), key[1].get()), places(column, place.get());
    int bits = 1;
    while (bits < (int)sizeof(I) * 8 - 1 && a.columns > int64_t{1} << bits) bits++;
    size_t bytes = 0;
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, places, a.entries, 0, bits, c->stream));
    LMR_TRY(temporary.allocate(c, (int64_t)bytes));
    CUDA_TRY(cub::DeviceRadixSort::SortPairs(temporary.get(), bytes, keys, places, a.entries, 0, bits, c->stream));
    offset_kernel<I><<<blocks(t.rows + 1), THREADS, 0, c->stream>>>(t.rows, a.entries, keys.Current(),
                                                                    static_cast<I *>(t.offset));
    CUDA_TRY(cudaGetLastError());
    move_kernel<T, I><<<blocks(a.entries), THREADS, 0, c->stream>>>(
        a.entries, each, places.Current(), static_cast<const T *>(a.value), column, static_cast<T *>(t.value));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T, typename I> larmor_status make_matrices(lmr_cuda *c, const lmr_nufft_geometry *g, made *m)
{
    const int64_t points = m->points->m, cells = g->cells[0] * g->cells[1] * g->cells[2];
    int64_t each = 1, entries, values, work;
    for (int d = 0; d < g->ndim; d++) each *= g->width;
    if (!lmr_mul(points, each, &entries) || !lmr_mul(points, g->batch, &values) || !lmr_mul(cells, g->batch, &work))
        return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of device memory: %lld points", (long long)points);
    LMR_TRY((allocate_matrix<T, I>(c, m, points, cells, entries, &m->rows)));
    LMR_TRY((allocate_matrix<T, I>(c, m, cells, points, entries, &m->columns)));
    LMR_TRY(allocate(c, m, values, sizeof(cx<T>), &m->values));
    if (g->batch > 1) LMR_TRY(allocate(c, m, work, sizeof(cx<T>), &m->cells));
    if (!points) return LARMOR_OK;
    view<T> v;
    LMR_TRY(find_bins(c, g, m, &v));
    count_kernel<I>
        <<<blocks(points + 1), THREADS, 0, c->stream>>>(points + 1, each, static_cast<I *>(m->rows.offset));
    CUDA_TRY(cudaGetLastError());
    rows_kernel<T, I><<<blocks(entries / g->width), THREADS, 0, c->stream>>>(
        v, any_window_of<T>(g, m->points), static_cast<I *>(m->rows.column), static_cast<T *>(m->rows.value));
    CUDA_TRY(cudaGetLastError());
    lmr_cuda_release(c, m->bin_of);
    m->bin_of = nullptr;
    return transpose<T, I>(c, m->rows, each, m->columns);
}

/* ---- cuSPARSE ---- */

template <typename T> constexpr cudaDataType real_type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F;
constexpr cusparseSpMMAlg_t fixed_order = CUSPARSE_SPMM_CSR_ALG3;

/* All that a product needs before it is queued. x and y are set in every call, and not looked at here. */
template <typename T>
larmor_status prepare(lmr_cuda *c, made *m, const matrix &a, bool long_index, int64_t batch, product *p)
{
    static constexpr T one = 1, none = 0;
    constexpr cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
    const cusparseIndexType_t index = long_index ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I;
    size_t bytes = 0;
    p->batch = batch;
    CUDA_TRY(sparse.cusparseCreateCsr(&p->a, a.rows, a.columns, a.entries, a.offset, a.column, a.value, index, index,
                                      CUSPARSE_INDEX_BASE_ZERO, real_type<T>));
    CUDA_TRY(sparse.cusparseCreateDnMat(&p->x, a.columns, 2 * batch, 2 * batch, m->values, real_type<T>,
                                        CUSPARSE_ORDER_ROW));
    CUDA_TRY(
        sparse.cusparseCreateDnMat(&p->y, a.rows, 2 * batch, 2 * batch, m->values, real_type<T>, CUSPARSE_ORDER_ROW));
    CUDA_TRY(sparse.cusparseSpMM_bufferSize(m->sparse, as_is, as_is, &one, p->a, p->x, &none, p->y, real_type<T>,
                                            fixed_order, &bytes));
    LMR_TRY(allocate(c, m, (int64_t)bytes, 1, &p->buffer));
    CUDA_TRY(sparse.cusparseSpMM_preprocess(m->sparse, as_is, as_is, &one, p->a, p->x, &none, p->y, real_type<T>,
                                            fixed_order, p->buffer));
    return LARMOR_OK;
}

template <typename T> larmor_status prepare_all(lmr_cuda *c, made *m, bool long_index, const int64_t batches[2])
{
    if (!m->points->m) return LARMOR_OK;
    LMR_TRY(lmr_cuda_load(LMR_CUDA_SONAME("cusparse", CUSPARSE_VER_MAJOR), &sparse));
    CUDA_TRY(sparse.cusparseCreate(&m->sparse));
    CUDA_TRY(sparse.cusparseSetStream(m->sparse, c->stream));
    for (int i = 0; i < 2; i++) {
        if (!batches[i]) continue;
        LMR_TRY(prepare<T>(c, m, m->rows, long_index, batches[i], &m->forward[i]));
        LMR_TRY(prepare<T>(c, m, m->columns, long_index, batches[i], &m->back[i]));
    }
    return LARMOR_OK;
}

template <typename T>
larmor_status multiply(lmr_cuda *c, const made *m, const product p[2], int64_t batch, void *x, void *y)
{
    static constexpr T one = 1, none = 0;
    const product &of = p[p[0].batch != batch];
    if (of.batch != batch)
        return LMR_CUDA_FAIL(LARMOR_ERR_BACKEND, "nufft: nothing is precomputed for %lld transforms at once",
                             (long long)batch);
    CUDA_TRY(sparse.cusparseSetStream(m->sparse, c->stream));
    CUDA_TRY(sparse.cusparseDnMatSetValues(of.x, x));
    CUDA_TRY(sparse.cusparseDnMatSetValues(of.y, y));
    CUDA_TRY(sparse.cusparseSpMM(m->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                                 of.a, of.x, &none, of.y, real_type<T>, fixed_order, of.buffer));
    return LARMOR_OK;
}

/* ---- the same in order ---- */

constexpr int WARP = 32;

/* y = a x for numbers of which each row of x and y has `width`: a warp for each row of a. Lanes take numbers of a
 * row of x, and where these are few, entries side by side, whose sums are then added in a fixed order. */
template <typename T, typename I>
__global__ void in_order_kernel(int64_t rows, int width, int side_by_side, const I *__restrict__ offset,
                                const I *__restrict__ column, const T *__restrict__ value, const T *__restrict__ x,
                                T *__restrict__ y)
{
    const int lane = (int)(threadIdx.x % WARP), lanes = WARP / side_by_side;
    const int own = lane % lanes, first = lane / lanes;
    for (int64_t r = first_index() / WARP; r < rows; r += index_stride() / WARP)
        for (int from = 0; from < width; from += lanes) {
            const int at = from + own;
            T sum = 0;
            if (at < width)
                for (int64_t e = offset[r] + first; e < offset[r + 1]; e += side_by_side)
                    sum += value[e] * x[(int64_t)column[e] * width + at];
            for (int apart = WARP / 2; apart >= lanes; apart /= 2) sum += __shfl_down_sync(~0u, sum, apart);
            if (!first && at < width) y[r * width + at] = sum;
        }
}

/* Entries that are taken at once: as many as leave a lane for each number, a power of two. */
int entries_at_once(int width)
{
    int count = WARP;
    while (count > 1 && WARP / count < width) count /= 2;
    return count;
}

template <typename T, typename I>
larmor_status queue_in_order(lmr_cuda *c, const matrix &a, int64_t batch, const void *x, void *y)
{
    const int width = (int)(2 * batch);
    in_order_kernel<T, I><<<blocks(a.rows * WARP), THREADS, 0, c->stream>>>(
        a.rows, width, entries_at_once(width), static_cast<const I *>(a.offset), static_cast<const I *>(a.column),
        static_cast<const T *>(a.value), static_cast<const T *>(x), static_cast<T *>(y));
    return CUDA_STATUS(cudaGetLastError());
}

/* CUSPARSE_SPMM_CSR_ALG3 is said to have a fixed order, but the bits of rows with hundreds of entries, as points have
 * in 3D and cells where spokes cross, were seen to differ from run to run (H100 and H200, CUDA 13.0). */
template <typename T>
larmor_status multiply_in_order(lmr_cuda *c, const made *m, const matrix &a, int64_t batch, const void *x, void *y)
{
    return m->long_index ? queue_in_order<T, int64_t>(c, a, batch, x, y)
                         : queue_in_order<T, int32_t>(c, a, batch, x, y);
}

/* ---- between the orders of data ---- */

/* Values to or from the points' sorted order with transforms fastest: b fast in the threads' order, so that one side
 * is read or written in whole lines. */
template <typename T> __global__ void gather_kernel(int64_t m, int64_t batch, const uint32_t *__restrict__ index,
                                                    const cx<T> *__restrict__ values, cx<T> *__restrict__ to)
{
    for (int64_t i = first_index(); i < m * batch; i += index_stride())
        to[i] = values[i % batch * m + index[i / batch]];
}

template <typename T> __global__ void scatter_kernel(int64_t m, int64_t batch, const uint32_t *__restrict__ index,
                                                     const cx<T> *__restrict__ from, cx<T> *__restrict__ values)
{
    for (int64_t i = first_index(); i < m * batch; i += index_stride())
        values[i % batch * m + index[i / batch]] = from[i];
}

/* to [batch, n] <- from [n, batch], and back with the numbers exchanged. */
template <typename T>
__global__ void transpose_kernel(int64_t n, int64_t batch, const cx<T> *__restrict__ from, cx<T> *__restrict__ to)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        for (int64_t b = 0; b < batch; b++) to[i * batch + b] = from[b * n + i];
}

template <typename T> __global__ void transpose_back_kernel(int64_t n, int64_t batch, const cx<T> *__restrict__ from,
                                                            cx<T> *__restrict__ to)
{
    for (int64_t i = first_index(); i < n; i += index_stride())
        for (int64_t b = 0; b < batch; b++) to[b * n + i] = from[i * batch + b];
}

template <typename T>
larmor_status full_spread(lmr_cuda *c, const made *m, int64_t batch, const cx<T> *values, cx<T> *cells)
{
    const int64_t points = m->points->m, n = m->columns.rows;
    auto *sorted = static_cast<cx<T> *>(m->values), *transposed = static_cast<cx<T> *>(m->cells);
    gather_kernel<T>
        <<<blocks(points * batch), THREADS, 0, c->stream>>>(points, batch, m->points->index, values, sorted);
    CUDA_TRY(cudaGetLastError());
    void *const to = batch > 1 ? transposed : cells;
    LMR_TRY(m->in_order ? multiply_in_order<T>(c, m, m->columns, batch, sorted, to)
                        : multiply<T>(c, m, m->back, batch, sorted, to));
    if (batch == 1) return LARMOR_OK;
    transpose_back_kernel<T><<<blocks(n), THREADS, 0, c->stream>>>(n, batch, transposed, cells);
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
larmor_status full_interp(lmr_cuda *c, const made *m, int64_t batch, cx<T> *cells, cx<T> *values)
{
    const int64_t points = m->points->m, n = m->columns.rows;
    auto *sorted = static_cast<cx<T> *>(m->values), *transposed = static_cast<cx<T> *>(m->cells);
    if (batch > 1) {
        transpose_kernel<T><<<blocks(n), THREADS, 0, c->stream>>>(n, batch, cells, transposed);
        CUDA_TRY(cudaGetLastError());
    }
    void *const from = batch > 1 ? transposed : cells;
    LMR_TRY(m->in_order ? multiply_in_order<T>(c, m, m->rows, batch, from, sorted)
                        : multiply<T>(c, m, m->forward, batch, from, sorted));
    scatter_kernel<T>
        <<<blocks(points * batch), THREADS, 0, c->stream>>>(points, batch, m->points->index, sorted, values);
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- the table ---- */

template <typename T> larmor_status fill(lmr_cuda *c, const lmr_nufft_geometry *g, lmr_precompute_form form,
                                         bool long_index, int64_t rest, made *m)
{
    const int64_t batches[2] = {g->batch, rest};
    if (form == LMR_PRECOMPUTE_PARTIAL) return store_values<T>(c, g, m);
    m->in_order = form == LMR_PRECOMPUTE_IN_ORDER;
    m->long_index = long_index;
    if (long_index)
        LMR_TRY((make_matrices<T, int64_t>(c, g, m)));
    else
        LMR_TRY((make_matrices<T, int32_t>(c, g, m)));
    return m->in_order ? LARMOR_OK : prepare_all<T>(c, m, long_index, batches);
}

template <typename T> larmor_status build(void *ctx, const lmr_nufft_geometry *g, lmr_precompute_form form,
                                          int long_index, int64_t rest, const void *sorted, int64_t *bytes,
                                          void **out)
{
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    auto *m = new (std::nothrow) made{};
    if (!m) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    m->points = static_cast<const lmr_cuda_points *>(sorted);
    const larmor_status st = fill<T>(c, g, form, long_index != 0, rest, m);
    if (st) {
        release(ctx, m);
        return st;
    }
    *bytes = m->bytes;
    *out = m;
    return LARMOR_OK;
}

template <typename T>
larmor_status spread(void *ctx, const lmr_nufft_geometry *g, void *of, int64_t batch, const void *values, void *cells)
{
    LMR_CUDA_ENTER(c, ctx);
    const auto *m = static_cast<const made *>(of);
    if (m->stored) return lmr_cuda_spread_points<T>(c, g, &m->with_values, batch, values, cells);
    if (!m->points->m) return lmr_cuda_spread_points<T>(c, g, m->points, batch, values, cells);
    return full_spread<T>(c, m, batch, static_cast<const cx<T> *>(values), static_cast<cx<T> *>(cells));
}

template <typename T>
larmor_status interp(void *ctx, const lmr_nufft_geometry *g, void *of, int64_t batch, const void *cells, void *values)
{
    LMR_CUDA_ENTER(c, ctx);
    const auto *m = static_cast<const made *>(of);
    if (m->stored) return lmr_cuda_interp_points<T>(c, g, &m->with_values, batch, cells, values);
    if (!m->points->m) return LARMOR_OK;
    auto *from = static_cast<cx<T> *>(const_cast<void *>(cells)); /* cuSPARSE's matrices are not const */
    return full_interp<T>(c, m, batch, from, static_cast<cx<T> *>(values));
}

template <typename T> constexpr lmr_precompute_kernels kernels = {.group = stored_group,
                                                                  .margin = 0,
                                                                  .sorts_entries = 1,
                                                                  .build = build<T>,
                                                                  .release = release,
                                                                  .spread = spread<T>,
                                                                  .interp = interp<T>};

const lmr_cuda_table table("precompute", LMR_PRECOMPUTE_ABI, &kernels<float>, &kernels<double>);

} // namespace
