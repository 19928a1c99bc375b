/* FFTs between a grid and its low frequencies on the GPU, a pass for each axis (core/cuda/modes.cuh). Floor by
 * bytes of grids n0 n1 n2 and modes m0 m1 m2: each pass reads what the one before it wrote, n0 n1 n2, m0 n1 n2 and
 * m0 m1 n2 numbers, and the modes, so that 2 m0 n1 n2 + 2 m0 m1 n2 + n0 n1 n2 + m0 m1 m2 are moved. cuFFT of the
 * whole grid moves
 * 6 n0 n1 n2, and a crop or pad n0 n1 n2 or m0 m1 m2 numbers more; where that comes close, or lines are too long
 *   for shared
 * memory, it is taken. SPDX-License-Identifier: Apache-2.0 */
#include "core/cuda/modes.cuh"

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "core/cuda/tables.cuh"

namespace
{

/* ---- kernels ---- */

template <typename T> __device__ cx<T> *shared_numbers()
{
    extern __shared__ __align__(16) char modes_memory[];
    return reinterpret_cast<cx<T> *>(modes_memory);
}

template <typename T, int SIGN, bool BACK> __global__ void __launch_bounds__(THREADS, sizeof(T) == 4 ? 4 : 2)
    columns_kernel(const __grid_constant__ lmr_cuda_modes_pass c, const cx<T> *__restrict__ roots,
                   const int *__restrict__ order, const T *__restrict__ factor, const cx<T> *from, cx<T> *to)
{
    lmr_cuda_modes_columns<SIGN, BACK>(c, blockIdx.x, roots, order, factor, shared_numbers<T>(), from, to);
}

template <typename T, int SIGN, bool BACK> __global__ void __launch_bounds__(THREADS, sizeof(T) == 4 ? 4 : 2)
    rows_kernel(const __grid_constant__ lmr_cuda_modes_pass c, const cx<T> *__restrict__ roots,
                const int *__restrict__ order, const T *__restrict__ factor, cx<T> *grid)
{
    lmr_cuda_modes_rows<SIGN, BACK>(c, blockIdx.x, roots, order, factor, shared_numbers<T>(), grid);
}

/* ---- sizes ---- */

/* Of the bytes that the FFT of the whole grid moves, those that the passes may move to be quicker: cuFFT comes
 * closer to the memory's bandwidth than these kernels do. */
const double worth = 0.75;

template <typename T> bool measure(const lmr_cuda *c, const lmr_modes_shape *s, lmr_cuda_modes_sizes *v)
{
    const int64_t room = (int64_t)c->properties.sharedMemPerBlockOptin;
    if (s->ndim < 2 || s->ndim > 3 || s->batch < 0) return false;
    if (!lmr_cuda_modes_measure(s->ndim, s->cells, s->modes, s->fft_order, sizeof(cx<T>), room, v)) return false;
    for (int a = 0; a < s->ndim; a++)
        if (lmr_cuda_modes_pass_of(*v, a, s->batch ? s->batch : 1, INT_MAX / 2).blocks > INT_MAX) return false;
    return lmr_cuda_modes_moved(*v) <= worth * lmr_cuda_modes_moved_whole(*v);
}

template <typename T> struct transform {
    lmr_cuda *c;
    lmr_cuda_modes_sizes sizes;
    cx<T> *roots[3]; /* in tables */
    int *order[3];
    lmr_cuda_scratch<cx<T>> tables;
};

/* Numbers that an axis has in the tables: its roots, and the order of its last butterflies. */
template <typename T> int64_t table_count(const lmr_cuda_line &line)
{
    const int64_t ints = sizeof(cx<T>) / sizeof(int);
    return line.n + (line.stage[line.stages - 1].each - 1) / ints + 1;
}

template <typename T> larmor_status make_tables(transform<T> *t)
{
    int64_t count = 0;
    for (int a = 0; a < t->sizes.ndim; a++) count += table_count<T>(t->sizes.line[a]);
    LMR_TRY(t->tables.allocate(t->c, count));
    std::vector<cx<T>> all;
    for (int a = 0; a < t->sizes.ndim; a++) {
        const lmr_cuda_line &line = t->sizes.line[a];
        const std::vector<cx<T>> roots = lmr_cuda_line_roots<T>(line.n);
        const std::vector<int> order = lmr_cuda_line_order(line);
        t->roots[a] = t->tables.get() + all.size();
        t->order[a] = reinterpret_cast<int *>(t->roots[a] + line.n);
        all.insert(all.end(), roots.begin(), roots.end());
        const size_t begin = all.size();
        all.resize(begin - roots.size() + (size_t)table_count<T>(line));
        memcpy(static_cast<void *>(all.data() + begin), order.data(), order.size() * sizeof(int));
    }
    CUDA_TRY(cudaMemcpyAsync(t->tables.get(), all.data(), all.size() * sizeof(cx<T>), cudaMemcpyHostToDevice,
                             t->c->stream));
    return CUDA_STATUS(cudaStreamSynchronize(t->c->stream));
}

/* ---- launches ---- */

template <typename T> struct pass_arguments {
    const transform<T> *t;
    int axis;
    int64_t arrays;
    const T *factor;
    const cx<T> *from;
    cx<T> *to;
};

template <typename T, int SIGN, bool BACK> larmor_status run(const pass_arguments<T> &g)
{
    const transform<T> *t = g.t;
    const int a = g.axis;
    const lmr_cuda_modes_pass p = lmr_cuda_modes_pass_of(t->sizes, a, g.arrays, t->c->properties.multiProcessorCount);
    const auto number = (unsigned)p.blocks;
    if (a)
        columns_kernel<T, SIGN, BACK>
            <<<number, p.threads, p.bytes, t->c->stream>>>(p, t->roots[a], t->order[a], g.factor, g.from, g.to);
    else
        rows_kernel<T, SIGN, BACK>
            <<<number, p.threads, p.bytes, t->c->stream>>>(p, t->roots[a], t->order[a], g.factor, g.to);
    return CUDA_STATUS(cudaGetLastError());
}

template <typename T, bool BACK> larmor_status run(const pass_arguments<T> &g, int sign)
{
    return sign < 0 ? run<T, -1, BACK>(g) : run<T, 1, BACK>(g);
}

template <typename T> larmor_status crop(void *ctx, void *plan, int sign, int64_t batch, const void *const factor[3],
                                         void *cells_, void *modes)
{
    LMR_CUDA_ENTER(c, ctx);
    (void)c;
    const auto *t = static_cast<transform<T> *>(plan);
    const int last = t->sizes.ndim - 1;
    cx<T> *cells = out<T>(cells_);
    if (batch == 0) return LARMOR_OK;
    for (int a = 0; a <= last; a++) {
        cx<T> *to = a == last ? out<T>(modes) : cells;
        LMR_TRY((run<T, false>({t, a, batch, static_cast<const T *>(factor[a]), cells, to}, sign)));
    }
    return LARMOR_OK;
}

template <typename T> larmor_status pad(void *ctx, void *plan, int sign, int64_t batch, const void *const factor[3],
                                        const void *modes, void *cells_)
{
    LMR_CUDA_ENTER(c, ctx);
    (void)c;
    const auto *t = static_cast<transform<T> *>(plan);
    const int last = t->sizes.ndim - 1;
    cx<T> *cells = out<T>(cells_);
    if (batch == 0) return LARMOR_OK;
    for (int a = last; a >= 0; a--) {
        const cx<T> *from = a == last ? in<T>(modes) : cells;
        LMR_TRY((run<T, true>({t, a, batch, static_cast<const T *>(factor[a]), from, cells}, sign)));
    }
    return LARMOR_OK;
}

/* ---- life ---- */

/* All of a block's shared memory for the kernels, which any plan may need. */
template <typename T> larmor_status allow_memory(const lmr_cuda *c)
{
    const int most = (int)c->properties.sharedMemPerBlockOptin;
    const cudaFuncAttribute what = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CUDA_TRY(cudaFuncSetAttribute(columns_kernel<T, -1, false>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(columns_kernel<T, -1, true>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(columns_kernel<T, 1, false>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(columns_kernel<T, 1, true>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(rows_kernel<T, -1, false>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(rows_kernel<T, -1, true>, what, most));
    CUDA_TRY(cudaFuncSetAttribute(rows_kernel<T, 1, false>, what, most));
    return CUDA_STATUS(cudaFuncSetAttribute(rows_kernel<T, 1, true>, what, most));
}

template <typename T> larmor_status plan(void *ctx, const lmr_modes_shape *shape, void **out)
{
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    std::unique_ptr<transform<T>> t(new (std::nothrow) transform<T>);
    if (!t) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    if (!measure<T>(c, shape, &t->sizes))
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "fft of modes: a grid for the FFT as a whole");
    t->c = c;
    LMR_TRY(allow_memory<T>(c));
    LMR_TRY(make_tables(t.get()));
    *out = t.release();
    return LARMOR_OK;
}

template <typename T> void destroy(void *ctx, void *plan)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (plan && !cudaSetDevice(c->ordinal)) delete static_cast<transform<T> *>(plan);
}

template <typename T> double bytes(void *ctx, const lmr_modes_shape *shape)
{
    lmr_cuda_modes_sizes v;
    double count = 0;
    if (!measure<T>(static_cast<lmr_cuda *>(ctx), shape, &v)) return -1;
    for (int a = 0; a < v.ndim; a++) count += (double)table_count<T>(v.line[a]);
    return count * sizeof(cx<T>) + 0x1p20;
}

template <typename T> constexpr lmr_modes table = {plan<T>, crop<T>, pad<T>, destroy<T>, bytes<T>};

} // namespace

const lmr_modes lmr_cuda_modes_f32 = table<float>, lmr_cuda_modes_f64 = table<double>;
