/* The stream of a GPU as a queue of work: events in it, and stretches of it recorded as graphs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <new>

#include "core/cuda/tables.cuh"

namespace
{

/* ---- marks ---- */

larmor_status create_mark(void *ctx, void **mark)
{
    *mark = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    (void)c;
    cudaEvent_t event;
    CUDA_TRY(cudaEventCreate(&event));
    *mark = event;
    return LARMOR_OK;
}

larmor_status put(void *ctx, void *mark)
{
    LMR_CUDA_ENTER(c, ctx);
    return CUDA_STATUS(cudaEventRecord(static_cast<cudaEvent_t>(mark), c->stream));
}

larmor_status seconds_between(void *ctx, void *from, void *to, double *seconds)
{
    LMR_CUDA_ENTER(c, ctx);
    (void)c;
    float milliseconds;
    CUDA_TRY(cudaEventSynchronize(static_cast<cudaEvent_t>(to)));
    CUDA_TRY(cudaEventElapsedTime(&milliseconds, static_cast<cudaEvent_t>(from), static_cast<cudaEvent_t>(to)));
    *seconds = 1e-3 * milliseconds;
    return LARMOR_OK;
}

void destroy_mark(void *ctx, void *mark)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (mark && !cudaSetDevice(c->ordinal)) (void)cudaEventDestroy(static_cast<cudaEvent_t>(mark));
}

/* ---- graphs ---- */

/* Calls of this thread that could disturb the recording fail; other threads with other devices are free. */
larmor_status begin(void *ctx)
{
    LMR_CUDA_ENTER(c, ctx);
    CUDA_TRY(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
    c->recording = true;
    c->spoiled = false;
    return LARMOR_OK;
}

/* The stream runs again whatever this returns, and memory released meanwhile is given back. */
cudaError_t end_capture(lmr_cuda *c, cudaGraph_t *graph)
{
    *graph = nullptr;
    const cudaError_t code = cudaStreamEndCapture(c->stream, graph);
    c->recording = false;
    while (c->released) {
        lmr_cuda_released *const note = c->released;
        c->released = note->next;
        lmr_cuda_release(c, note->ptr);
        delete note;
    }
    return code;
}

larmor_status end(void *ctx, void **out)
{
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    cudaGraph_t graph;
    cudaGraphExec_t ready = nullptr;
    const cudaError_t ended = end_capture(c, &graph);
    cudaError_t made = cudaSuccess;
    if (!ended && !c->spoiled) made = cudaGraphInstantiate(&ready, graph, 0);
    if (graph) (void)cudaGraphDestroy(graph);
    if (ended) return lmr_cuda_failed(ended, "cudaStreamEndCapture(stream, &graph)", __func__, __LINE__);
    if (c->spoiled)
        return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED,
                             "cuda:%d: a call that needs memory cannot be recorded; create and set up before",
                             c->ordinal);
    if (made) return lmr_cuda_failed(made, "cudaGraphInstantiate(&ready, graph, 0)", __func__, __LINE__);
    *out = ready;
    return LARMOR_OK;
}

larmor_status launch(void *ctx, void *graph)
{
    LMR_CUDA_ENTER(c, ctx);
    return CUDA_STATUS(cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), c->stream));
}

void destroy_graph(void *ctx, void *graph)
{
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (!graph || cudaSetDevice(c->ordinal)) return;
    if (!c->recording) (void)cudaStreamSynchronize(c->stream);
    (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
    (void)cudaGetLastError();
}

} // namespace

void lmr_cuda_stop_recording(lmr_cuda *c)
{
    cudaGraph_t graph;
    if (!c->recording) return;
    (void)end_capture(c, &graph);
    if (graph) (void)cudaGraphDestroy(graph);
    (void)cudaGetLastError();
}

/* Another library records the work of this stream. */
static bool is_captured(cudaStream_t stream)
{
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    if (!cudaStreamIsCapturing(stream, &status)) return status != cudaStreamCaptureStatusNone;
    (void)cudaGetLastError(); /* the legacy stream while another one is captured */
    return false;
}

bool lmr_cuda_is_recording(const lmr_cuda *c)
{
    return c->recording || is_captured(c->stream);
}

/* The new stream waits for an event at the old one's end. Libraries' handles get it when they are next used.
 * A capture cannot wait for work outside of it: what was queued before must be done when it begins. */
larmor_status lmr_cuda_set_stream(void *ctx, void *stream)
{
    LMR_CUDA_ENTER(c, ctx);
    const cudaStream_t next = stream ? static_cast<cudaStream_t>(stream) : c->own;
    if (is_captured(next)) {
        c->stream = next;
        return LARMOR_OK;
    }
    cudaEvent_t event;
    CUDA_TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    cudaError_t code = cudaEventRecord(event, c->stream);
    if (!code) code = cudaStreamWaitEvent(next, event, 0);
    (void)cudaEventDestroy(event);
    if (code) return lmr_cuda_failed(code, "cudaStreamWaitEvent(next, event, 0)", __func__, __LINE__);
    c->stream = next;
    return LARMOR_OK;
}

const lmr_mark lmr_cuda_mark = {create_mark, put, seconds_between, destroy_mark};
const lmr_graph lmr_cuda_graph = {begin, end, launch, destroy_graph};
