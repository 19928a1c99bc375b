/* Copies between a GPU and the host. SPDX-License-Identifier: Apache-2.0
 *
 * CUDA copies pageable memory by one thread, 6 GB/s on an H200. Large copies go by several threads here: each takes
 * pieces in turn through two page-locked buffers of its own, one of which the GPU reads or writes meanwhile. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <cstring>
#include <new>

#include "core/cuda/tables.cuh"

namespace
{

/* 35 GB/s on an H200 with 16 cores, where PCIe gives 55; made in 11 ms (docs/records/performance.md). */
constexpr int LANES = 8;
constexpr size_t PIECE = (size_t)1 << 20; /* bytes */
constexpr size_t LARGE = 8 * PIECE;       /* below, threads take as long to start as they save */

struct lane {
    cudaStream_t stream;
    char *buffer[2];        /* page-locked */
    cudaEvent_t arrived[2]; /* the last copy from or to a buffer */
};

/* One copy, and the part of one thread. */
struct transfer {
    int ordinal, lanes;
    bool to_device;
    char *device, *host;
    size_t bytes;
};
struct part {
    const transfer *all;
    const lane *own;
    int number;
    bool started;
    pthread_t thread;
    cudaError_t code;
};

size_t piece_at(const transfer *t, size_t at)
{
    return t->bytes - at < PIECE ? t->bytes - at : PIECE;
}

cudaError_t send(const part *p)
{
    const transfer *t = p->all;
    const lane *l = p->own;
    int turn = 0;
    for (size_t at = PIECE * (size_t)p->number; at < t->bytes; at += PIECE * (size_t)t->lanes, turn ^= 1) {
        const size_t bytes = piece_at(t, at);
        if (const cudaError_t code = cudaEventSynchronize(l->arrived[turn])) return code;
        std::memcpy(l->buffer[turn], t->host + at, bytes);
        if (const cudaError_t code =
                cudaMemcpyAsync(t->device + at, l->buffer[turn], bytes, cudaMemcpyHostToDevice, l->stream))
            return code;
        if (const cudaError_t code = cudaEventRecord(l->arrived[turn], l->stream)) return code;
    }
    return cudaStreamSynchronize(l->stream);
}

cudaError_t ask_for(const part *p, size_t at, int turn)
{
    const transfer *t = p->all;
    const lane *l = p->own;
    if (at >= t->bytes) return cudaSuccess;
    const cudaError_t code =
        cudaMemcpyAsync(l->buffer[turn], t->device + at, piece_at(t, at), cudaMemcpyDeviceToHost, l->stream);
    return code ? code : cudaEventRecord(l->arrived[turn], l->stream);
}

cudaError_t receive(const part *p)
{
    const transfer *t = p->all;
    const size_t step = PIECE * (size_t)t->lanes;
    size_t at = PIECE * (size_t)p->number;
    cudaError_t code = ask_for(p, at, 0);
    for (int turn = 0; !code && at < t->bytes; at += step, turn ^= 1) {
        code = ask_for(p, at + step, turn ^ 1);
        if (!code) code = cudaEventSynchronize(p->own->arrived[turn]);
        if (!code) std::memcpy(t->host + at, p->own->buffer[turn], piece_at(t, at));
    }
    return code;
}

void do_part(part *p)
{
    p->code = cudaSetDevice(p->all->ordinal);
    if (!p->code) p->code = p->all->to_device ? send(p) : receive(p);
}

void *in_thread(void *user)
{
    do_part(static_cast<part *>(user));
    return nullptr;
}

/* Signals are for the caller's threads. */
void start(part *p)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before)) return;
    p->started = !pthread_create(&p->thread, nullptr, in_thread, p);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

int cores()
{
    cpu_set_t mine;
    return sched_getaffinity(0, sizeof mine, &mine) ? 1 : CPU_COUNT(&mine);
}

cudaError_t make_lane(lane *l)
{
    cudaError_t code = cudaStreamCreateWithFlags(&l->stream, cudaStreamNonBlocking);
    for (int i = 0; i < 2; i++) {
        void *ptr = nullptr;
        if (!code) code = cudaMallocHost(&ptr, PIECE);
        l->buffer[i] = static_cast<char *>(ptr);
        if (!code) code = cudaEventCreateWithFlags(&l->arrived[i], cudaEventDisableTiming);
    }
    return code;
}

void free_lane(const lane *l)
{
    for (int i = 0; i < 2; i++) {
        if (l->arrived[i]) (void)cudaEventDestroy(l->arrived[i]);
        if (l->buffer[i]) (void)cudaFreeHost(l->buffer[i]);
    }
    if (l->stream) (void)cudaStreamDestroy(l->stream);
}

bool is_pageable(const void *host)
{
    cudaPointerAttributes a;
    if (!cudaPointerGetAttributes(&a, host)) return a.type == cudaMemoryTypeUnregistered;
    (void)cudaGetLastError();
    return true;
}

} // namespace

struct lmr_cuda_lanes {
    int count;
    lane lanes[LANES];
};

/* Where there is no memory for them CUDA's own copy is left. */
static lmr_cuda_lanes *lanes_of(lmr_cuda *c)
{
    if (c->lanes) return c->lanes->count > 1 ? c->lanes : nullptr;
    c->lanes = new (std::nothrow) lmr_cuda_lanes{};
    if (!c->lanes) return nullptr;
    const int most = cores() < LANES ? cores() : LANES;
    while (c->lanes->count < most && !make_lane(&c->lanes->lanes[c->lanes->count])) c->lanes->count++;
    (void)cudaGetLastError();
    return c->lanes->count > 1 ? c->lanes : nullptr;
}

void lmr_cuda_close_lanes(lmr_cuda *c)
{
    if (!c->lanes) return;
    for (const lane &l : c->lanes->lanes) free_lane(&l);
    delete c->lanes;
    c->lanes = nullptr;
}

/* What is queued before is waited for: the lanes have streams of their own. */
static larmor_status copy_by_lanes(lmr_cuda *c, lmr_cuda_lanes *lanes, const transfer *t)
{
    part parts[LANES];
    CUDA_TRY(cudaStreamSynchronize(c->stream));
    for (int i = 0; i < lanes->count; i++) {
        parts[i] = part{t, &lanes->lanes[i], i, false, {}, cudaSuccess};
        if (i) start(&parts[i]);
    }
    for (int i = 0; i < lanes->count; i++)
        if (!parts[i].started) do_part(&parts[i]);
    for (int i = 1; i < lanes->count; i++)
        if (parts[i].started) (void)pthread_join(parts[i].thread, nullptr);
    for (int i = 0; i < lanes->count; i++)
        if (parts[i].code)
            return lmr_cuda_failed(parts[i].code, "cudaMemcpyAsync of a large copy's piece", __func__, __LINE__);
    return LARMOR_OK;
}

/* Waits where the host's memory takes part: the caller may reuse it at once, page-locked or not. */
larmor_status lmr_cuda_copy(void *ctx, lmr_copy_dir dir, void *dst, const void *src, size_t bytes)
{
    static constexpr cudaMemcpyKind kind[] = {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost,
                                              cudaMemcpyDeviceToDevice};
    LMR_CUDA_ENTER(c, ctx);
    const bool up = dir == LMR_TO_DEVICE;
    if (dir != LMR_ON_DEVICE && bytes >= LARGE && !lmr_cuda_is_recording(c) && is_pageable(up ? src : dst)) {
        char *const from = static_cast<char *>(const_cast<void *>(src)), *const to = static_cast<char *>(dst);
        lmr_cuda_lanes *const lanes = lanes_of(c);
        const transfer t = {c->ordinal, lanes ? lanes->count : 0, up, up ? to : from, up ? from : to, bytes};
        if (lanes) return copy_by_lanes(c, lanes, &t);
    }
    /* a few bytes arrive in half the time where memory is page-locked */
    const bool few = dir == LMR_TO_HOST && bytes <= LMR_CUDA_ANSWERS * sizeof *c->answer && c->answer;
    if (bytes) CUDA_TRY(cudaMemcpyAsync(few ? c->answer : dst, src, bytes, kind[dir], c->stream));
    if (dir != LMR_ON_DEVICE) CUDA_TRY(cudaStreamSynchronize(c->stream));
    if (bytes && few) std::memcpy(dst, c->answer, bytes);
    return LARMOR_OK;
}
