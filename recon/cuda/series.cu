/* Blocks of low rank, stacks and off-resonance on the GPU. SPDX-License-Identifier: Apache-2.0 */
#include <algorithm>

#include "recon/cuda/recon.cuh"
#include "recon/math_series.h"

namespace
{

template <typename T> __device__ cx<T> times(cx<T> a, cx<T> b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Blocks of threads for a loop over so many pieces of work. */
unsigned pieces(int64_t count)
{
    return (unsigned)std::clamp<int64_t>(count, 1, INT_MAX);
}

int64_t product(const int64_t n[3])
{
    return n[0] * n[1] * n[2];
}

/* ---- blocks of low rank: one thread per number that is written ---- */

template <typename T>
__global__ void blocks_kernel(lmr_blocks cut, int64_t inside, int64_t voxels, int64_t total, const cx<T> *x, cx<T> *y)
{
    for (int64_t at = first_index(); at < total; at += index_stride()) {
        const int64_t column = at / inside, t = column % cut.frames;
        const int64_t source = lmr_block_source(&cut, at % inside, column / cut.frames);
        const cx<T> zero = {0, 0};
        y[at] = source < 0 ? zero : x[source + voxels * t];
    }
}

template <typename T> __global__ void unblocks_kernel(lmr_blocks cut, int64_t inside, int64_t voxels, int64_t total,
                                                      const cx<T> *y, cx<T> *x)
{
    for (int64_t at = first_index(); at < total; at += index_stride()) {
        int64_t v, b;
        lmr_block_place(&cut, at % voxels, &v, &b);
        x[at] = y[v + inside * (at / voxels + cut.frames * b)];
    }
}

template <typename T> larmor_status cut_blocks(void *ctx, const lmr_blocks *cut, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    const int64_t inside = product(cut->block), voxels = product(cut->dim);
    const int64_t total = inside * cut->frames * product(cut->count);
    blocks_kernel<<<blocks(total), THREADS, 0, c->stream>>>(*cut, inside, voxels, total, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status unblocks(void *ctx, const lmr_blocks *cut, const void *y, void *x)
{
    LMR_CUDA_ENTER(c, ctx);
    const int64_t inside = product(cut->block), voxels = product(cut->dim), total = voxels * cut->frames;
    unblocks_kernel<<<blocks(total), THREADS, 0, c->stream>>>(*cut, inside, voxels, total, in<T>(y), out<T>(x));
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- products of many small matrices: a tile of one per block of threads, in shared memory ---- */

enum { TILE = 16 };
static_assert(TILE * TILE == THREADS, "a thread for each number of a tile");

template <typename T>
__global__ void gram_kernel(int64_t m, int64_t n, int64_t count, int left, const cx<T> *x, cx<double> *g)
{
    __shared__ cx<double> a[TILE][TILE + 1], b[TILE][TILE + 1]; /* [term of the sum][row or column] */
    const int64_t s = left ? m : n;
    const int64_t depth = left ? n : m;
    const int64_t tiles = (s - 1) / TILE + 1;
    const int64_t pairs = tiles * (tiles + 1) / 2;
    const int tx = threadIdx.x % TILE, ty = threadIdx.x / TILE;
    const int r = left ? ty : tx;
    const int place = left ? tx : ty; /* so that neighbours load neighbours */
    for (int64_t at = blockIdx.x; at < pairs * count; at += gridDim.x) {
        int64_t ti, tj;
        lmr_pair(at % pairs, &ti, &tj);
        const cx<T> *from = x + m * n * (at / pairs);
        cx<double> sum = {0, 0};
        for (int64_t r0 = 0; r0 < depth; r0 += TILE) {
            for (int side = 0; side < 2; side++) {
                const int64_t i = TILE * (side ? tj : ti) + place;
                cx<double> v = {0, 0};
                if (i < s && r0 + r < depth) {
                    const cx<T> u = from[left ? i + m * (r0 + r) : r0 + r + m * i];
                    v = {(double)u.re, left ? -(double)u.im : (double)u.im};
                }
                (side ? b : a)[r][place] = v;
            }
            __syncthreads();
            for (int l = 0; l < TILE; l++) {
                const cx<double> p = a[l][tx], q = b[l][ty];
                sum.re += p.re * q.re + p.im * q.im;
                sum.im += p.re * q.im - p.im * q.re;
            }
            __syncthreads();
        }
        const int64_t i = TILE * ti + tx, j = TILE * tj + ty;
        if (i < s && j < s) g[i + s * (j + s * (at / pairs))] = sum;
    }
}

template <typename T>
larmor_status gram(void *ctx, int64_t m, int64_t n, int64_t count, int left, const void *x, void *g)
{
    LMR_CUDA_ENTER(c, ctx);
    const int64_t s = left ? m : n;
    const int64_t tiles = (s + TILE - 1) / TILE;
    if (!s) return LARMOR_OK;
    gram_kernel<<<pieces(count * tiles * (tiles + 1) / 2), THREADS, 0, c->stream>>>(m, n, count, left, in<T>(x),
                                                                                    out<double>(g));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T>
__global__ void project_kernel(int64_t s, int64_t count, double t, const cx<double> *v, const double *w, cx<T> *p)
{
    for (int64_t at = first_index(); at < s * s * count; at += index_stride()) {
        const int64_t i = at % s, j = at / s % s, b = at / s / s;
        const cx<double> *vectors = v + s * s * b;
        const double *value = w + s * b;
        cx<double> sum = {0, 0};
        for (int64_t k = s - 1; k >= 0; k--) {
            const double f = lmr_shrunk(value[k], t);
            if (!(f > 0)) break; /* all below are smaller */
            const cx<double> q = vectors[i + s * k], u = vectors[j + s * k];
            sum.re += f * (q.re * u.re + q.im * u.im);
            sum.im += f * (q.im * u.re - q.re * u.im);
        }
        p[at] = {(T)sum.re, (T)sum.im};
    }
}

template <typename T>
larmor_status project(void *ctx, int64_t s, int64_t count, double t, const void *v, const double *w, void *p)
{
    LMR_CUDA_ENTER(c, ctx);
    project_kernel<<<blocks(s * s * count), THREADS, 0, c->stream>>>(s, count, t, in<double>(v), w, out<T>(p));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void multiply_kernel(int64_t m, int64_t n, int64_t k, int64_t count, const cx<T> *a,
                                                      const cx<T> *b, cx<T> *c)
{
    __shared__ cx<T> left[TILE][TILE + 1], right[TILE][TILE + 1]; /* [term of the sum][row or column] */
    const int64_t tall = (m - 1) / TILE + 1, tiles = tall * ((n - 1) / TILE + 1);
    const int tx = threadIdx.x % TILE, ty = threadIdx.x / TILE;
    const cx<T> zero = {0, 0};
    for (int64_t at = blockIdx.x; at < tiles * count; at += gridDim.x) {
        const int64_t matrix = at / tiles, i = TILE * (at % tiles % tall) + tx, j = TILE * (at % tiles / tall) + ty;
        const cx<T> *from = a + m * k * matrix, *by = b + k * n * matrix;
        cx<T> sum = zero;
        for (int64_t l0 = 0; l0 < k; l0 += TILE) {
            left[ty][tx] = i < m && l0 + ty < k ? from[i + m * (l0 + ty)] : zero;
            right[tx][ty] = j < n && l0 + tx < k ? by[l0 + tx + k * j] : zero;
            __syncthreads();
            for (int l = 0; l < TILE; l++) {
                const cx<T> v = times(left[l][tx], right[l][ty]);
                sum.re += v.re;
                sum.im += v.im;
            }
            __syncthreads();
        }
        if (i < m && j < n) c[i + m * (j + n * matrix)] = sum;
    }
}

template <typename T> larmor_status multiply(void *ctx, int64_t m, int64_t n, int64_t k, int64_t count, const void *a,
                                             const void *b, void *result)
{
    LMR_CUDA_ENTER(c, ctx);
    if (!m || !n) return LARMOR_OK;
    const int64_t tiles = ((m - 1) / TILE + 1) * ((n - 1) / TILE + 1);
    multiply_kernel<<<pieces(tiles * count), THREADS, 0, c->stream>>>(m, n, k, count, in<T>(a), in<T>(b),
                                                                      out<T>(result));
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- stacks ---- */

/* The two ways between x [n, voxels, batch] and y [voxels, count, batch], through a tile in shared memory so that
 * both are touched along their fast dimension. */
template <typename T, bool FORWARD> __global__ void transpose_kernel(int64_t n, int64_t voxels, int64_t count,
                                                                     int64_t batch, const int64_t *index,
                                                                     const cx<T> *factor, cx<T> *x, cx<T> *y)
{
    __shared__ cx<T> tile[TILE][TILE + 1]; /* [plane][voxel] */
    const int64_t across = (voxels - 1) / TILE + 1, tiles = across * ((count - 1) / TILE + 1);
    const int tx = threadIdx.x % TILE, ty = threadIdx.x / TILE;
    for (int64_t at = blockIdx.x; at < tiles * batch; at += gridDim.x) {
        const int64_t b = at / tiles, v0 = TILE * (at % tiles % across), p0 = TILE * (at % tiles / across);
        const int64_t px = p0 + tx, vy = v0 + ty, vx = v0 + tx, py = p0 + ty;
        const bool inside_x = px < count && vy < voxels, inside_y = py < count && vx < voxels;
        const int64_t plane = index && inside_x ? index[px] : px;
        const int64_t in_x = inside_x ? plane + n * (vy + voxels * b) : 0;
        const int64_t in_y = vx + voxels * (py + count * b);
        cx<T> f = {1, 0};
        if (factor && inside_x) f = factor[px];
        if (FORWARD) {
            if (inside_x) tile[tx][ty] = times(f, x[in_x]);
            __syncthreads();
            if (inside_y) y[in_y] = tile[ty][tx];
        } else {
            if (inside_y) tile[ty][tx] = y[in_y];
            __syncthreads();
            f.im = -f.im;
            if (inside_x) x[in_x] = times(f, tile[tx][ty]);
        }
        __syncthreads(); /* the tile is written again */
    }
}

template <typename T, bool FORWARD> larmor_status transpose(lmr_cuda *c, int64_t n, int64_t voxels, int64_t count,
                                                            int64_t batch, const int64_t *index, const void *factor,
                                                            cx<T> *x, cx<T> *y)
{
    if (!voxels || !count) return LARMOR_OK;
    const int64_t tiles = ((voxels - 1) / TILE + 1) * ((count - 1) / TILE + 1);
    transpose_kernel<T, FORWARD>
        <<<pieces(tiles * batch), THREADS, 0, c->stream>>>(n, voxels, count, batch, index, in<T>(factor), x, y);
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status planes(void *ctx, int64_t n, int64_t voxels, int64_t count, int64_t batch,
                                           const int64_t *index, const void *factor, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    return transpose<T, true>(c, n, voxels, count, batch, index, factor, const_cast<cx<T> *>(in<T>(x)), out<T>(y));
}

template <typename T> larmor_status lines(void *ctx, int64_t n, int64_t voxels, int64_t count, int64_t batch,
                                          const int64_t *index, const void *factor, const void *y, void *x)
{
    LMR_CUDA_ENTER(c, ctx);
    return transpose<T, false>(c, n, voxels, count, batch, index, factor, out<T>(x), const_cast<cx<T> *>(in<T>(y)));
}

template <typename T, bool FORWARD> __global__ void
columns_kernel(int64_t m, int64_t count, int64_t total, int64_t batch, const int64_t *index, cx<T> *x, cx<T> *y)
{
    for (int64_t at = first_index(); at < m * count * batch; at += index_stride()) {
        const int64_t column = at / m, other = at % m + m * (index[column % count] + total * (column / count));
        if (FORWARD)
            y[other] = x[at];
        else
            x[at] = y[other];
    }
}

template <typename T> larmor_status scatter_columns(void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch,
                                                    const int64_t *index, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    columns_kernel<T, true><<<blocks(m * count * batch), THREADS, 0, c->stream>>>(
        m, count, total, batch, index, const_cast<cx<T> *>(in<T>(x)), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> larmor_status gather_columns(void *ctx, int64_t m, int64_t count, int64_t total, int64_t batch,
                                                   const int64_t *index, const void *y, void *x)
{
    LMR_CUDA_ENTER(c, ctx);
    columns_kernel<T, false><<<blocks(m * count * batch), THREADS, 0, c->stream>>>(
        m, count, total, batch, index, out<T>(x), const_cast<cx<T> *>(in<T>(y)));
    return CUDA_STATUS(cudaGetLastError());
}

/* ---- off-resonance ---- */

template <typename T> __device__ void store(cx<T> v, int add, cx<T> *to)
{
    *to = add ? cx<T>{to->re + v.re, to->im + v.im} : v;
}

template <typename T> __global__ void evolve_kernel(int64_t n, int64_t batch, double time, const double *f, int add,
                                                    const cx<T> *x, cx<T> *y)
{
    for (int64_t i = first_index(); i < n; i += index_stride()) {
        const double cycles = time * f[i];
        T re, im;
        if constexpr (sizeof(T) == 4)
            sincospif((float)(2 * (cycles - rint(cycles))), &im, &re);
        else
            sincospi(2 * (cycles - rint(cycles)), &im, &re);
        const cx<T> by = {re, im};
        for (int64_t at = i; at < n * batch; at += n) store(times(by, x[at]), add, y + at);
    }
}

template <typename T> larmor_status evolve(void *ctx, int64_t n, int64_t batch, double time, const double *f, int add,
                                           const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    evolve_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, batch, time, f, add, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> __global__ void weigh_kernel(int64_t m, int64_t batch, const int64_t *index, const cx<T> *b,
                                                   int conj, int add, const cx<T> *x, cx<T> *y)
{
    for (int64_t j = first_index(); j < m; j += index_stride()) {
        cx<T> by = b[index[j]];
        if (conj) by.im = -by.im;
        for (int64_t at = j; at < m * batch; at += m) store(times(by, x[at]), add, y + at);
    }
}

template <typename T> larmor_status weigh(void *ctx, int64_t m, int64_t batch, const int64_t *index, const void *b,
                                          int conj, int add, const void *x, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    weigh_kernel<<<blocks(m), THREADS, 0, c->stream>>>(m, batch, index, in<T>(b), conj, add, in<T>(x), out<T>(y));
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T> constexpr lmr_series_kernels kernels = {
    .blocks = cut_blocks<T>,
    .unblocks = unblocks<T>,
    .gram = gram<T>,
    .project = project<T>,
    .multiply = multiply<T>,
    .planes = planes<T>,
    .lines = lines<T>,
    .scatter_columns = scatter_columns<T>,
    .gather_columns = gather_columns<T>,
    .evolve = evolve<T>,
    .weigh = weigh<T>,
};

const lmr_cuda_table table("series", LMR_SERIES_ABI, &kernels<float>, &kernels<double>);

} // namespace
