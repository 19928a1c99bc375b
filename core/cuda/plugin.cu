/* The CUDA backend: entry, memory and the table. SPDX-License-Identifier: Apache-2.0 */
#include <cstdio>
#include <cstring>
#include <mutex>
#include <new>

#include "core/cuda/tables.cuh"

/* ---- what the files share ---- */

const lmr_host *lmr_cuda_host;
thread_local int lmr_cuda_current = -1;

larmor_status lmr_cuda_failed_as(larmor_status status, const char *call, const char *reason, const char *function,
                                 int line)
{
    if (lmr_cuda_current < 0) return lmr_cuda_host->fail(status, function, line, "%s: %s", call, reason);
    return lmr_cuda_host->fail(status, function, line, "cuda:%d: %s: %s", lmr_cuda_current, call, reason);
}

larmor_status lmr_cuda_failed(cudaError_t code, const char *call, const char *function, int line)
{
    (void)cudaGetLastError(); /* so that an error that does not stick is not seen again */
    const larmor_status status = code == cudaErrorMemoryAllocation ? LARMOR_ERR_MEMORY : LARMOR_ERR_BACKEND;
    return lmr_cuda_failed_as(status, call, cudaGetErrorString(code), function, line);
}

static lmr_cuda_table *all_tables; /* filled while the plugin is loaded, constant after */

lmr_cuda_table::lmr_cuda_table(const char *its_layer, uint32_t its_abi, const void *f32, const void *f64)
    : layer(its_layer), abi(its_abi), tables{f32, f64}, next(all_tables)
{
    all_tables = this;
}

const void *lmr_cuda_table::find(const char *layer, uint32_t abi, int precision)
{
    for (const lmr_cuda_table *t = all_tables; t; t = t->next)
        if (!strcmp(t->layer, layer) && t->abi == abi) return t->tables[precision];
    return nullptr;
}

namespace
{

/* What the pool keeps for the next allocation: free to us, taken to cudaMemGetInfo. */
cudaError_t pool_reserve(const lmr_cuda *c, int64_t *bytes)
{
    uint64_t reserved = 0, used = 0;
    cudaError_t code = cudaMemPoolGetAttribute(c->pool, cudaMemPoolAttrReservedMemCurrent, &reserved);
    if (!code) code = cudaMemPoolGetAttribute(c->pool, cudaMemPoolAttrUsedMemCurrent, &used);
    *bytes = reserved > used ? (int64_t)(reserved - used) : 0;
    return code;
}

larmor_status memory(void *ctx, int64_t *available, int64_t *total)
{
    LMR_CUDA_ENTER(c, ctx);
    size_t free_bytes, all_bytes;
    int64_t reserve;
    CUDA_TRY(cudaMemGetInfo(&free_bytes, &all_bytes));
    CUDA_TRY(pool_reserve(c, &reserve));
    *total = (int64_t)all_bytes;
    *available = (int64_t)free_bytes + reserve < *total ? (int64_t)free_bytes + reserve : *total;
    return LARMOR_OK;
}

larmor_status no_memory(lmr_cuda *c, size_t bytes)
{
    int64_t available = 0, total = 0;
    LMR_TRY(memory(c, &available, &total));
    return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of memory on cuda:%d: %zu bytes asked for, %lld of %lld are free",
                         c->ordinal, bytes, (long long)available, (long long)total);
}

} // namespace

larmor_status lmr_cuda_alloc(lmr_cuda *c, size_t bytes, void **ptr)
{
    *ptr = nullptr;
    if (lmr_cuda_is_recording(c)) { /* else the memory would be the graph's own, there only while it runs */
        c->spoiled = c->recording;
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED,
                             "cuda:%d: %zu bytes asked for while a graph is recorded; create and set up before",
                             c->ordinal, bytes);
    }
    if (!bytes) bytes = 1;
    if (bytes > c->properties.totalGlobalMem) return no_memory(c, bytes);
    cudaError_t code = cudaMallocFromPoolAsync(ptr, bytes, c->pool, c->stream);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        CUDA_TRY(cudaStreamSynchronize(c->stream)); /* what was released is back only then */
        CUDA_TRY(cudaMemPoolTrimTo(c->pool, 0));
        code = cudaMallocFromPoolAsync(ptr, bytes, c->pool, c->stream);
    }
    if (!code) return LARMOR_OK;
    *ptr = nullptr;
    (void)cudaGetLastError();
    if (code == cudaErrorMemoryAllocation) return no_memory(c, bytes);
    return lmr_cuda_failed(code, "cudaMallocFromPoolAsync(ptr, bytes, pool, stream)", __func__, __LINE__);
}

void lmr_cuda_release(lmr_cuda *c, void *ptr)
{
    if (!ptr) return;
    if (c->recording) {
        /* without memory for the note, the block stays with the pool */
        auto *note = new (std::nothrow) lmr_cuda_released{ptr, c->released};
        if (note) c->released = note;
        return;
    }
    /* a fault of earlier work is reported by the next call that can say so */
    if (!cudaSetDevice(c->ordinal)) (void)cudaFreeAsync(ptr, lmr_cuda_is_recording(c) ? c->own : c->stream);
}

namespace
{

/* ---- the device ---- */

int device_count()
{
    int n = 0;
    const cudaError_t code = cudaGetDeviceCount(&n);
    if (code == cudaErrorInsufficientDriver) {
        int driver = 0;
        (void)cudaDriverGetVersion(&driver);
        char found[32] = "no driver is installed";
        if (driver) snprintf(found, sizeof found, "the driver knows %d.%d", driver / 1000, driver / 10 % 100);
        LMR_CUDA_FAIL(LARMOR_ERR_BACKEND, "cudaGetDeviceCount(&n): %s: this is CUDA %d.%d, %s",
                      cudaGetErrorString(code), CUDART_VERSION / 1000, CUDART_VERSION / 10 % 100, found);
        return -1;
    }
    if (code == cudaErrorNoDevice) return 0;
    if (code) {
        lmr_cuda_failed(code, "cudaGetDeviceCount(&n)", __func__, __LINE__);
        return -1;
    }
    return n;
}

__global__ void probe_kernel()
{
}

/* A GPU for which this plugin has no code is reported at once and not at the first launch. */
larmor_status check_code(const lmr_cuda *c)
{
    cudaFuncAttributes attributes;
    const cudaError_t code = cudaFuncGetAttributes(&attributes, probe_kernel);
    if (!code) return LARMOR_OK;
    if (code != cudaErrorNoKernelImageForDevice && code != cudaErrorInvalidDeviceFunction &&
        code != cudaErrorUnsupportedPtxVersion)
        return lmr_cuda_failed(code, "cudaFuncGetAttributes(&attributes, probe_kernel)", __func__, __LINE__);
    (void)cudaGetLastError();
    return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "cuda:%d is a %s of compute capability %d.%d: %s", c->ordinal,
                         c->properties.name, c->properties.major, c->properties.minor, cudaGetErrorString(code));
}

larmor_status set_up(lmr_cuda *c)
{
    CUDA_TRY(cudaGetDeviceProperties(&c->properties, c->ordinal));
    CUDA_TRY(cudaSetDevice(c->ordinal));
    LMR_TRY(check_code(c));
    if (!c->properties.memoryPoolsSupported)
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "cuda:%d is a %s without stream-ordered memory pools",
                             c->ordinal, c->properties.name);
    CUDA_TRY(cudaStreamCreateWithFlags(&c->own, cudaStreamNonBlocking));
    c->stream = c->own;
    CUDA_TRY(cudaDeviceGetDefaultMemPool(&c->pool, c->ordinal));
    uint64_t keep_all = UINT64_MAX;
    CUDA_TRY(cudaMemPoolSetAttribute(c->pool, cudaMemPoolAttrReleaseThreshold, &keep_all));
    void *ptr;
    LMR_TRY(lmr_cuda_alloc(c, 2 * LMR_CUDA_PARTIALS * sizeof(double) + sizeof *c->arrived, &ptr));
    c->partials = static_cast<double *>(ptr);
    c->arrived = reinterpret_cast<unsigned *>(c->partials + 2 * LMR_CUDA_PARTIALS);
    CUDA_TRY(cudaMemsetAsync(c->arrived, 0, sizeof *c->arrived, c->stream));
    CUDA_TRY(cudaEventCreateWithFlags(&c->passed, cudaEventDisableTiming));
    CUDA_TRY(cudaMallocHost(&ptr, LMR_CUDA_ANSWERS * sizeof(double)));
    c->answer = static_cast<double *>(ptr);
    return CUDA_STATUS(cudaStreamSynchronize(c->stream));
}

void close_cuda(void *ctx)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (!c) return;
    if (!cudaSetDevice(c->ordinal)) {
        lmr_cuda_stop_recording(c);
        lmr_cuda_close_lanes(c);
        lmr_cuda_close_la(c);
        lmr_cuda_close_fft(c);
        lmr_cuda_release(c, c->partials);
        if (c->stream) (void)cudaStreamSynchronize(c->stream);
        if (c->own) (void)cudaStreamDestroy(c->own);
        if (c->pool) (void)cudaMemPoolTrimTo(c->pool, 0);
        if (c->answer) (void)cudaFreeHost(c->answer);
        if (c->passed) (void)cudaEventDestroy(c->passed);
        (void)cudaGetLastError();
    }
    delete c;
}

larmor_status open_cuda(int ordinal, int threads, void **ctx)
{
    (void)threads;
    *ctx = nullptr;
    const int n = device_count();
    if (n < 0) return LARMOR_ERR_UNSUPPORTED;
    if (ordinal >= n)
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "this machine has %d GPU%s, counted from cuda:0", n,
                             n == 1 ? "" : "s");
    auto *c = new (std::nothrow) lmr_cuda{};
    if (!c) return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    c->ordinal = ordinal;
    lmr_cuda_current = ordinal;
    const larmor_status st = set_up(c);
    if (st)
        close_cuda(c);
    else
        *ctx = c;
    return st;
}

const char *describe(void *ctx)
{
    return static_cast<lmr_cuda *>(ctx)->properties.name;
}

int threads_of(void *ctx)
{
    (void)ctx;
    return 0;
}

/* ---- its memory ---- */

larmor_status zero(void *ctx, void *ptr, size_t bytes)
{
    LMR_CUDA_ENTER(c, ctx);
    if (bytes) CUDA_TRY(cudaMemsetAsync(ptr, 0, bytes, c->stream));
    return LARMOR_OK;
}

larmor_status allocate(void *ctx, size_t bytes, void **ptr)
{
    *ptr = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    LMR_TRY(lmr_cuda_alloc(c, bytes, ptr));
    const larmor_status st = zero(ctx, *ptr, bytes);
    if (!st) return LARMOR_OK;
    lmr_cuda_release(c, *ptr);
    *ptr = nullptr;
    return st;
}

void release(void *ctx, void *ptr)
{
    lmr_cuda_release(static_cast<lmr_cuda *>(ctx), ptr);
}

larmor_status reach(void *ctx, const void *ptr)
{
    LMR_CUDA_ENTER(c, ctx);
    cudaPointerAttributes a;
    CUDA_TRY(cudaPointerGetAttributes(&a, ptr));
    if (a.type == cudaMemoryTypeManaged || (a.type == cudaMemoryTypeDevice && a.device == c->ordinal))
        return LARMOR_OK;
    return LMR_CUDA_FAIL(LARMOR_ERR_ARG, "larmor_array_wrap: the memory is not on cuda:%d; copy it there first",
                         c->ordinal);
}

larmor_status copy_rows(void *ctx, void *dst, size_t dst_step, const void *src, size_t src_step, size_t width,
                        int64_t rows)
{
    LMR_CUDA_ENTER(c, ctx);
    const size_t most = c->properties.memPitch;
    if (!width || rows < 1) return LARMOR_OK;
    if (dst_step <= most && src_step <= most) {
        CUDA_TRY(cudaMemcpy2DAsync(dst, dst_step, src, src_step, width, (size_t)rows, cudaMemcpyDeviceToDevice,
                                   c->stream));
        return LARMOR_OK;
    }
    for (int64_t i = 0; i < rows; i++)
        CUDA_TRY(cudaMemcpyAsync(static_cast<char *>(dst) + (size_t)i * dst_step,
                                 static_cast<const char *>(src) + (size_t)i * src_step, width,
                                 cudaMemcpyDeviceToDevice, c->stream));
    return LARMOR_OK;
}

/* The GPU of `to` may reach the memory of from's pool; where that cannot be, copies go through the host's. */
void let_reach(lmr_cuda *from, const lmr_cuda *to)
{
    static std::mutex lock; /* of `reached`: each side's thread may pass */
    int can = 0;
    const std::lock_guard<std::mutex> guard(lock);
    if (from->ordinal == to->ordinal || to->ordinal >= 64 || (from->reached >> to->ordinal & 1)) return;
    from->reached |= (uint64_t)1 << to->ordinal;
    cudaMemAccessDesc access = {};
    access.location.type = cudaMemLocationTypeDevice;
    access.location.id = to->ordinal;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    if (!cudaDeviceCanAccessPeer(&can, to->ordinal, from->ordinal) && can)
        (void)cudaMemPoolSetAccess(from->pool, &access, 1);
    (void)cudaGetLastError();
}

/* What is queued on `later` from now on waits for what is queued on `c` now. */
larmor_status wait_for(lmr_cuda *c, lmr_cuda *later)
{
    {
        LMR_CUDA_ENTER(own, c);
        CUDA_TRY(cudaEventRecord(own->passed, own->stream));
    }
    LMR_CUDA_ENTER(other, later);
    return CUDA_STATUS(cudaStreamWaitEvent(other->stream, c->passed, 0));
}

larmor_status pass(void *ctx, void *dst, void *from_ctx, const void *src, size_t bytes)
{
    auto *from = static_cast<lmr_cuda *>(from_ctx);
    auto *to = static_cast<lmr_cuda *>(ctx);
    if (!bytes) return LARMOR_OK;
    if (from->recording || to->recording)
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "cuda:%d to cuda:%d: not while a graph is recorded",
                             from->ordinal, to->ordinal);
    let_reach(from, to);
    let_reach(to, from);
    LMR_TRY(wait_for(from, to));
    LMR_CUDA_ENTER(c, ctx);
    if (from->ordinal == c->ordinal)
        CUDA_TRY(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, c->stream));
    else
        CUDA_TRY(cudaMemcpyPeerAsync(dst, c->ordinal, src, from->ordinal, bytes, c->stream));
    return wait_for(c, from);
}

larmor_status sync(void *ctx)
{
    LMR_CUDA_ENTER(c, ctx);
    return CUDA_STATUS(cudaStreamSynchronize(c->stream));
}

const lmr_backend backend = {
    .abi = LMR_BACKEND_ABI,
    .name = "cuda",
    .device_count = device_count,
    .open = open_cuda,
    .close = close_cuda,
    .describe = describe,
    .threads = threads_of,
    .memory = memory,
    .alloc = allocate,
    .release = release,
    .reach = reach,
    .zero = zero,
    .copy = lmr_cuda_copy,
    .copy_rows = copy_rows,
    .pass = pass,
    .sync = sync,
    .convert = lmr_cuda_convert,
    .fill = lmr_cuda_fill,
    .vec = {&lmr_cuda_vec_f32, &lmr_cuda_vec_f64},
    .fft = {&lmr_cuda_fft_f32, &lmr_cuda_fft_f64},
    .modes = {&lmr_cuda_modes_f32, &lmr_cuda_modes_f64},
    .conv = {&lmr_cuda_conv_f32, &lmr_cuda_conv_f64},
    .la = {&lmr_cuda_la_f32, &lmr_cuda_la_f64},
    .mark = &lmr_cuda_mark,
    .graph = &lmr_cuda_graph,
    .communicator = &lmr_cuda_communicator,
    .table = lmr_cuda_table::find,
    .set_stream = lmr_cuda_set_stream,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const void *lmr_backend_entry(uint32_t abi, const lmr_host *host)
{
    if (abi == LMR_BACKEND_ABI) lmr_cuda_host = host;
    return &backend;
}
