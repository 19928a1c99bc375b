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

struct transform {
    cufftHandle handle = 0;
    bool made = false; /* false for a transform that does nothing: no elements, or all dimensions 1 */
    lmr_cuda_scratch<char> work;
    ~transform()
    {
        if (made) (void)cufftDestroy(handle);
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

/* batch arrays that begin `distance` numbers apart, their elements `stride` apart. */
template <typename T> larmor_status make_handle(lmr_cuda *c, int rank, long long sizes[3], int64_t stride,
                                                int64_t distance, int64_t batch, transform *t)
{
    size_t bytes;
    CUDA_TRY(cufftCreate(&t->handle));
    t->made = true;
    CUDA_TRY(cufftSetAutoAllocation(t->handle, 0));
    CUDA_TRY(cufftSetStream(t->handle, c->stream));
    const cufftType type = sizeof(T) == 4 ? CUFFT_C2C : CUFFT_Z2Z;
    CUDA_TRY(cufftMakePlanMany64(t->handle, rank, sizes, sizes, stride, distance, sizes, stride, distance, type,
                                 batch, &bytes));
    LMR_TRY(t->work.allocate(c, (int64_t)bytes));
    CUDA_TRY(cufftSetWorkArea(t->handle, t->work.get()));
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
    return make_handle<T>(c, rank, sizes, 1, each, batch, t);
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
    if (!t->made) return LARMOR_OK;
    CUDA_TRY(cufftSetStream(t->handle, c->stream)); /* which may have changed since the plan was made */
    return exec_one(t->handle, static_cast<cx<T> *>(data), sign);
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
    if (n > 1) LMR_TRY(make_handle<T>(c, 1, sizes, columns, 1, columns, t.get()));
    *out = t.release();
    return LARMOR_OK;
}

template larmor_status lmr_cuda_fft_columns<float>(lmr_cuda *, int64_t, int64_t, void **);
template larmor_status lmr_cuda_fft_columns<double>(lmr_cuda *, int64_t, int64_t, void **);

const lmr_fft lmr_cuda_fft_f32 = table<float>, lmr_cuda_fft_f64 = table<double>;
