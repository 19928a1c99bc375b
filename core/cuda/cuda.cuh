/* What the CUDA backend's files share: the context, errors, memory, launches. Only for .cu and .cuh files.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cstddef>
#include <cstdint>

#include "core/backend.h"
#include "core/cuda/number.cuh"
#include "core/status.h"

/* An open GPU, the `ctx` of every entry. All work is queued on one stream; one thread at a time uses it. */
struct lmr_cuda {
    int ordinal;
    cudaStream_t stream; /* own, or the caller's */
    cudaStream_t own;
    cudaMemPool_t pool;                 /* the device's default one */
    cudaDeviceProp properties;          /* e.g. multiProcessorCount, sharedMemPerBlockOptin */
    double *partials;                   /* device, 2 LMR_CUDA_PARTIALS numbers: reductions' scratch */
    unsigned *arrived;                  /* device, 0: blocks that have added their partials */
    double *answer;                     /* host, page-locked, LMR_CUDA_ANSWERS numbers: where results arrive */
    struct lmr_cuda_lanes *lanes;       /* made at their first use, in copy.cu */
    struct cublasContext *blas;         /* likewise, in la.cu */
    struct cusolverDnContext *solver;   /* likewise */
    struct lmr_cuda_idle_fft *idle_ffts; /* handles of cuFFT that no plan has, in fft.cu */
    cudaEvent_t passed;                 /* where the queue was at the last copy to or from another GPU */
    uint64_t reached; /* the GPUs that may reach this one's memory, a bit for each of the first 64 */
    bool recording, spoiled;            /* a graph is recorded; what was asked for meanwhile cannot be */
    struct lmr_cuda_released *released; /* memory to give back when the recording ends */
};
enum { LMR_CUDA_PARTIALS = 1024, LMR_CUDA_ANSWERS = 512 };
struct lmr_cuda_released {
    void *ptr;
    lmr_cuda_released *next;
};

/* ---- errors ---- */

/* The host's own failure function and nothing else of larmor: a plugin imports no symbol of it. */
extern const lmr_host *lmr_cuda_host;

/* LMR_CUDA_FAIL(LARMOR_ERR_SHAPE, "subject: got %d, expected ...", n): what LMR_FAIL is elsewhere. */
#define LMR_CUDA_FAIL(status, ...) lmr_cuda_host->fail(status, __func__, __LINE__, __VA_ARGS__)

/* Set the message `cuda:0: call: CUDA's reason` and return LARMOR_ERR_MEMORY or LARMOR_ERR_BACKEND. Files that use
 * another library of CUDA's overload it for that library's codes. */
larmor_status lmr_cuda_failed(cudaError_t code, const char *call, const char *function, int line);

/* The same for any reason in words: "cuda:0: call: reason". */
larmor_status lmr_cuda_failed_as(larmor_status status, const char *call, const char *reason, const char *function,
                                 int line);
extern thread_local int lmr_cuda_current; /* the device that this thread entered last, for messages; -1: none */

/* What a function's last CUDA call means: `return CUDA_STATUS(cudaGetLastError());` after a launch. */
#define CUDA_STATUS(call) lmr_cuda_status((call), #call, __func__, __LINE__)
static inline larmor_status lmr_cuda_status(cudaError_t code, const char *call, const char *function, int line)
{
    return code ? lmr_cuda_failed(code, call, function, line) : LARMOR_OK;
}

/* Return from the function if a CUDA call fails; after a launch: CUDA_TRY(cudaGetLastError()). */
#define CUDA_TRY(call)                                                                                               \
    do {                                                                                                             \
        const auto cuda_code_ = (call);                                                                              \
        if (cuda_code_) return lmr_cuda_failed(cuda_code_, #call, __func__, __LINE__);                               \
    } while (0)

/* The first line of every entry: declares `lmr_cuda *c` for ctx and makes its device current. */
#define LMR_CUDA_ENTER(c, ctx)                                                                                       \
    lmr_cuda *const c = static_cast<lmr_cuda *>(ctx);                                                                \
    lmr_cuda_current = c->ordinal;                                                                                   \
    CUDA_TRY(cudaSetDevice(c->ordinal))

/* ---- memory, from the device's stream-ordered pool ---- */

/* *ptr <- bytes of device memory, not zeroed, aligned to 256 bytes, usable by what is queued from now on. If there is
 * none the pool's reserve is given back and it tries once more; then LARMOR_ERR_MEMORY, saying what was asked for and
 * is free. bytes may be 0. The device must be current. While a graph is recorded: LARMOR_ERR_UNSUPPORTED. */
larmor_status lmr_cuda_alloc(lmr_cuda *c, size_t bytes, void **ptr);

/* Give it back once all that is queued now is done, while a graph is recorded not before its end; NULL is fine. */
void lmr_cuda_release(lmr_cuda *c, void *ptr);

/* count numbers of device memory that are given back at the end of the scope, in the stream's order. */
template <typename T> class lmr_cuda_scratch
{
  public:
    lmr_cuda_scratch() = default;
    lmr_cuda_scratch(const lmr_cuda_scratch &) = delete;
    lmr_cuda_scratch &operator=(const lmr_cuda_scratch &) = delete;
    ~lmr_cuda_scratch()
    {
        if (data) lmr_cuda_release(owner, data);
    }
    larmor_status allocate(lmr_cuda *c, int64_t count)
    {
        int64_t bytes;
        if (!lmr_mul(count, sizeof(T), &bytes))
            return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of device memory: %lld numbers asked for", (long long)count);
        void *ptr;
        LMR_TRY(lmr_cuda_alloc(c, (size_t)bytes, &ptr));
        if (data) lmr_cuda_release(owner, data);
        owner = c;
        data = static_cast<T *>(ptr);
        return LARMOR_OK;
    }
    T *get() const
    {
        return data;
    }
    T *take() /* the caller releases it from now on */
    {
        T *const taken = data;
        data = nullptr;
        return taken;
    }

  private:
    lmr_cuda *owner = nullptr;
    T *data = nullptr;
};

/* ---- numbers and launches ---- */

/* A table's untyped arrays as complex numbers. */
template <typename T> static inline const cx<T> *in(const void *x)
{
    return static_cast<const cx<T> *>(x);
}
template <typename T> static inline cx<T> *out(void *y)
{
    return static_cast<cx<T> *>(y);
}

/* An array as a kernel's argument. */
template <typename N> struct three {
    N v[3];
};

enum { THREADS = 256 }; /* of a block, unless stated otherwise */

/* Blocks for a grid-stride loop over n: one pass if the grid can be that large, at least 1. */
static inline unsigned blocks(int64_t n, int threads = THREADS)
{
    const int64_t needed = n > 0 ? (n - 1) / threads + 1 : 1;
    return needed < INT_MAX ? (unsigned)needed : INT_MAX;
}

/* for (int64_t i = first_index(); i < n; i += index_stride()) in a one-dimensional grid. */
static __device__ inline int64_t first_index()
{
    return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ inline int64_t index_stride()
{
    return (int64_t)gridDim.x * blockDim.x;
}

/* ---- tables of the layers above ---- */

/* At file scope of a layer's table.cu: `static lmr_cuda_table table("nufft", LMR_NUFFT_ABI, &f32, &f64);`. */
class lmr_cuda_table
{
  public:
    lmr_cuda_table(const char *layer, uint32_t abi, const void *f32, const void *f64);
    static const void *find(const char *layer, uint32_t abi, int precision); /* NULL if there is none */

  private:
    const char *const layer;
    const uint32_t abi;
    const void *const tables[LMR_PRECISIONS];
    lmr_cuda_table *const next;
};
