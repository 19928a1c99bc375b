/* FFTs on the GPU through cuFFT. The work area comes from the device's pool when the plan is made, so that executing
 * allocates nothing. SPDX-License-Identifier: Apache-2.0 */
#include <cufft.h>

#include <cstdio>
#include <memory>
#include <new>

#include "core/cuda/tables.cuh"

namespace
{

const char *name_of(cufftResult code)
{
    switch (code) {
    case CUFFT_ALLOC_FAILED:
        return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_VALUE:
        return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR:
        return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED:
        return "CUFFT_EXEC_FAILED";
    case CUFFT_SETUP_FAILED:
        return "CUFFT_SETUP_FAILED";
    case CUFFT_INVALID_SIZE:
        return "CUFFT_INVALID_SIZE";
    case CUFFT_NOT_SUPPORTED:
        return "CUFFT_NOT_SUPPORTED";
    default:
        return "cuFFT's code";
    }
}

larmor_status lmr_cuda_failed(cufftResult code, const char *call, const char *function, int line)
{
    (void)cudaGetLastError();
    const larmor_status status = code == CUFFT_ALLOC_FAILED ? LARMOR_ERR_MEMORY : LARMOR_ERR_BACKEND;
    char reason[64];
    snprintf(reason, sizeof reason, "%s (%d)", name_of(code), (int)code);
    return lmr_cuda_failed_as(status, call, reason, function, line);
}

using ::lmr_cuda_failed;

/* What a handle of cuFFT is made for. */
struct layout {
    int rank;
    long long sizes[3];
    int64_t stride, distance, batch;
    cufftType type;
    bool operator==(const layout &) const = default;
};

} // namespace

/* A handle that no transform has: images of a scan make the same ones again and again, which takes longer than
 * they run. */
struct lmr_cuda_idle_fft {
    cufftHandle handle;
    layout of;
    size_t bytes;
    lmr_cuda_idle_fft *next;
};

namespace
{

enum { MOST_IDLE = 16 };

/* The handle of this layout out of those that are idle, or nullptr. */
lmr_cuda_idle_fft *find_idle(lmr_cuda *c, const layout &of)
{
    for (lmr_cuda_idle_fft **at = &c->idle_ffts; *at; at = &(*at)->next)
        if ((*at)->of == of) {
            lmr_cuda_idle_fft *const found = *at;
            *at = found->next;
            return found;
        }
    return nullptr;
}

void destroy_idle(lmr_cuda_idle_fft *idle)
{
    (void)cufftDestroy(idle->handle);
    delete idle;
}

/* The latest is first, and the oldest goes where there are too many. */
void keep_idle(lmr_cuda *c, lmr_cuda_idle_fft *idle)
{
    int count = 0;
    idle->next = c->idle_ffts;
    c->idle_ffts = idle;
    for (lmr_cuda_idle_fft **at = &c->idle_ffts; *at; at = &(*at)->next)
        if (++count > MOST_IDLE) {
            destroy_idle(*at);
            *at = nullptr;
            return;
        }
}

struct transform {
    lmr_cuda *owner = nullptr;
    lmr_cuda_idle_fft *by = nullptr; /* nullptr for a transform that does nothing: no elements, or all dimensions 1 */
    lmr_cuda_scratch<char> work;
    ~transform()
    {
        if (by) keep_idle(owner, by);
    }
};

larmor_status exec_one(cufftHandle handle, cx<float> *data, int sign)
{
    auto *x = reinterpret_cast<cufftComplex *>(data);
    CUDA_TRY(cufftExecC2C(handle, x, x, sign < 0 ? CUFFT_FORWARD : CUFFT_INVERSE));
    return LARMOR_OK;
}

larmor_status exec_one(cufftHandle handle, cx<double> *data, int sign)
{
    auto *x = reinterpret_cast<cufftDoubleComplex *>(data);
    CUDA_TRY(cufftExecZ2Z(handle, x, x, sign < 0 ? CUFFT_FORWARD : CUFFT_INVERSE));
    return LARMOR_OK;
}

larmor_status make_handle(lmr_cuda_idle_fft *idle)
{
    layout *l = &idle->of;
    CUDA_TRY(cufftCreate(&idle->handle));
    CUDA_TRY(cufftSetAutoAllocation(idle->handle, 0));
    CUDA_TRY(cufftMakePlanMany64(idle->handle, l->rank, l->sizes, l->sizes, l->stride, l->distance, l->sizes,
                                 l->stride, l->distance, l->type, l->batch, &idle->bytes));
    /* its tables are on their way by the default stream, which the device's own does not wait for */
    CUDA_TRY(cudaStreamSynchronize(cudaStreamLegacy));
    return LARMOR_OK;
}

/* batch arrays that begin `distance` numbers apart, their elements `stride` apart. */
template <typename T> larmor_status make_transform(lmr_cuda *c, int rank, const long long sizes[3], int64_t stride,
                                                   int64_t distance, int64_t batch, transform *t)
{
    const layout of = {rank,  {sizes[0], sizes[1], sizes[2]},        stride, distance,
                       batch, sizeof(T) == 4 ? CUFFT_C2C : CUFFT_Z2Z};
    lmr_cuda_idle_fft *by = find_idle(c, of);
    if (!by) {
        by = new (std::nothrow) lmr_cuda_idle_fft{0, of, 0, nullptr};
        if (!by) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
        const larmor_status st = make_handle(by);
        if (st) {
            destroy_idle(by);
            return st;
        }
    }
    t->owner = c;
    t->by = by;
    CUDA_TRY(cufftSetStream(by->handle, c->stream));
    LMR_TRY(t->work.allocate(c, (int64_t)by->bytes));
    CUDA_TRY(cufftSetWorkArea(by->handle, t->work.get()));
    return LARMOR_OK;
}

template <typename T>
larmor_status make_plan(lmr_cuda *c, int ndim, const int64_t dim[3], int64_t batch, transform *t)
{
    long long sizes[3] = {}; /* cuFFT wants the slowest first; dimensions of 1 need no transform */
    int rank = 0;
    int64_t each = 1, total;
    for (int d = ndim - 1; d >= 0; d--) {
        if (!lmr_mul(each, dim[d], &each)) return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "fft: the array is too large");
        if (dim[d] != 1) sizes[rank++] = dim[d];
    }
    if (!lmr_mul(each, batch, &total) || total > INT64_MAX / (int64_t)sizeof(cx<T>))
        return LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "fft: the array is too large");
    if (!total || !rank) return LARMOR_OK;
    return make_transform<T>(c, rank, sizes, 1, each, batch, t);
}

template <typename T> larmor_status plan(void *ctx, int ndim, const int64_t dim[3], int64_t batch, void **out)
{
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    if (ndim < 1 || ndim > 3 || batch < 0)
        return LMR_CUDA_FAIL(LARMOR_ERR_ARG, "fft: %d dimensions, batch %lld", ndim, (long long)batch);
    std::unique_ptr<transform> t(new (std::nothrow) transform);
    if (!t) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    LMR_TRY(make_plan<T>(c, ndim, dim, batch, t.get()));
    *out = t.release();
    return LARMOR_OK;
}

template <typename T> larmor_status exec(void *ctx, void *plan, int sign, void *data)
{
    LMR_CUDA_ENTER(c, ctx);
    const auto *t = static_cast<transform *>(plan);
    if (!t->by) return LARMOR_OK;
    CUDA_TRY(cufftSetStream(t->by->handle, c->stream)); /* which may have changed since the plan was made */
    return exec_one(t->by->handle, static_cast<cx<T> *>(data), sign);
}

/* By the whole FFT: cuFFT leaves no lines out. */
template <typename T> larmor_status band(void *ctx, void *plan, int sign, int, const int64_t[3], void *data)
{
    return exec<T>(ctx, plan, sign, data);
}

void destroy(void *ctx, void *plan)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (plan && !cudaSetDevice(c->ordinal)) delete static_cast<transform *>(plan);
}

/* cuFFT's work area: as large as the data for the sizes of grids. */
template <typename T> double bytes(void *, int ndim, const int64_t dim[3], int64_t batch)
{
    double cells = (double)batch;
    for (int d = 0; d < ndim; d++) cells *= (double)dim[d];
    return cells * sizeof(cx<T>);
}

template <typename T> constexpr lmr_fft table = {plan<T>, exec<T>, band<T>, destroy, bytes<T>};

} // namespace

template <typename T> larmor_status lmr_cuda_fft_columns(lmr_cuda *c, int64_t columns, int64_t n, void **out)
{
    *out = nullptr;
    std::unique_ptr<transform> t(new (std::nothrow) transform);
    if (!t) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    long long sizes[3] = {n};
    if (n > 1) LMR_TRY(make_transform<T>(c, 1, sizes, columns, 1, columns, t.get()));
    *out = t.release();
    return LARMOR_OK;
}

template larmor_status lmr_cuda_fft_columns<float>(lmr_cuda *, int64_t, int64_t, void **);
template larmor_status lmr_cuda_fft_columns<double>(lmr_cuda *, int64_t, int64_t, void **);

void lmr_cuda_close_fft(lmr_cuda *c)
{
    while (c->idle_ffts) {
        lmr_cuda_idle_fft *const idle = c->idle_ffts;
        c->idle_ffts = idle->next;
        destroy_idle(idle);
    }
}

const lmr_fft lmr_cuda_fft_f32 = table<float>, lmr_cuda_fft_f64 = table<double>;
