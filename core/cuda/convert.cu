/* From one type of numbers to another on the GPU. SPDX-License-Identifier: Apache-2.0 */
#include "core/cuda/tables.cuh"

namespace
{

/* Real numbers in, `parts` of them to a number; `stride` of them to a number out. */
template <typename X, typename Y> __global__ void convert_kernel(int64_t n, int parts, const X *x, int stride, Y *y)
{
    for (int64_t i = first_index(); i < n * stride; i += index_stride()) {
        const int64_t number = i / stride, part = i % stride;
        y[i] = part < parts ? (Y)x[number * parts + part] : (Y)0;
    }
}

template <typename Y> __global__ void fill_kernel(int64_t n, int parts, Y value, Y *y)
{
    for (int64_t i = first_index(); i < n * parts; i += index_stride()) y[i] = i % parts ? (Y)0 : value;
}

int parts_of(larmor_dtype type)
{
    return type == LARMOR_C64 || type == LARMOR_C128 ? 2 : 1;
}

bool is_double(larmor_dtype type)
{
    return type == LARMOR_F64 || type == LARMOR_C128;
}

template <typename X, typename Y>
void convert(const lmr_cuda *c, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y)
{
    const int stride = parts_of(to);
    convert_kernel<<<blocks(n * stride), THREADS, 0, c->stream>>>(n, parts_of(from), static_cast<const X *>(x),
                                                                  stride, static_cast<Y *>(y));
}

} // namespace

larmor_status lmr_cuda_convert(void *ctx, int64_t n, larmor_dtype from, const void *x, larmor_dtype to, void *y)
{
    LMR_CUDA_ENTER(c, ctx);
    if (from == LARMOR_I64 && is_double(to))
        convert<int64_t, double>(c, n, from, x, to, y);
    else if (from == LARMOR_I64)
        convert<int64_t, float>(c, n, from, x, to, y);
    else if (is_double(from) && is_double(to))
        convert<double, double>(c, n, from, x, to, y);
    else if (is_double(from))
        convert<double, float>(c, n, from, x, to, y);
    else if (is_double(to))
        convert<float, double>(c, n, from, x, to, y);
    else
        convert<float, float>(c, n, from, x, to, y);
    return CUDA_STATUS(cudaGetLastError());
}

larmor_status lmr_cuda_fill(void *ctx, int64_t n, larmor_dtype type, double value, void *x)
{
    LMR_CUDA_ENTER(c, ctx);
    const int parts = parts_of(type);
    if (type == LARMOR_I64)
        fill_kernel<<<blocks(n), THREADS, 0, c->stream>>>(n, 1, (int64_t)value, static_cast<int64_t *>(x));
    else if (is_double(type))
        fill_kernel<<<blocks(n * parts), THREADS, 0, c->stream>>>(n, parts, value, static_cast<double *>(x));
    else
        fill_kernel<<<blocks(n * parts), THREADS, 0, c->stream>>>(n, parts, (float)value, static_cast<float *>(x));
    return CUDA_STATUS(cudaGetLastError());
}
