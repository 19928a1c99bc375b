/* Handlers of XLA's FFI for the NUFFT. SPDX-License-Identifier: Apache-2.0 */
#include "xla/xla.h"

#include <stddef.h>

#include "xla/plans.h"

/* cudaStreamLegacy, which CUDA's own functions know as NULL, too. */
static void *const legacy_stream = (void *)1;

static int code_of(larmor_status st)
{
    switch (st) {
    case LARMOR_ERR_ARG:
    case LARMOR_ERR_SHAPE:
    case LARMOR_ERR_NUMERIC:
        return LMR_XLA_INVALID;
    case LARMOR_ERR_MEMORY:
        return LMR_XLA_EXHAUSTED;
    case LARMOR_ERR_UNSUPPORTED:
        return LMR_XLA_UNIMPLEMENTED;
    case LARMOR_STOPPED:
        return LMR_XLA_CANCELLED;
    default:
        return LMR_XLA_INTERNAL;
    }
}

static lmr_xla_error *error_of(const lmr_xla_frame *frame, larmor_status st)
{
    if (!st) return NULL;
    lmr_xla_error_args args = {
        .size = offsetof(lmr_xla_error_args, code) + sizeof args.code,
        .message = larmor_last_error(),
        .code = code_of(st),
    };
    return frame->api->error(&args);
}

/* XLA asks once which version the handler is for, and gets its own one if it is among those whose parts that are used
 * here are the same. Older ones hide theirs. */
static int minor_version(const lmr_xla_api *api)
{
    if (!api || api->version.minor < LMR_XLA_LEAST_MINOR) return LMR_XLA_LEAST_MINOR;
    return api->version.minor < LMR_XLA_MINOR ? api->version.minor : LMR_XLA_MINOR;
}

static int answered(const lmr_xla_frame *frame)
{
    if (!frame->extension || frame->extension->type != LMR_XLA_METADATA) return 0;
    lmr_xla_metadata *metadata = ((lmr_xla_metadata_extension *)frame->extension)->metadata;
    metadata->version.size = sizeof metadata->version;
    metadata->version.extension = NULL;
    metadata->version.major = LMR_XLA_MAJOR;
    metadata->version.minor = minor_version(frame->api);
    metadata->traits = 0;
    return 1;
}

static larmor_status run_sets(lmr_xla_device *dev, const lmr_xla_call *call)
{
    for (int64_t set = 0; set < call->sets; set++) {
        lmr_xla_plan *plan;
        XLA_TRY(lmr_xla_plan_take(dev, call, set, &plan));
        const larmor_status st = lmr_xla_plan_run(plan, call, set);
        lmr_xla_plan_put(plan);
        if (st) return st;
    }
    return LARMOR_OK;
}

static larmor_status run(const lmr_xla_frame *frame, int ordinal, void *stream)
{
    lmr_xla_call call;
    lmr_xla_device *dev;
    XLA_TRY(lmr_xla_call_read(frame, &call));
    if (!call.sets || !call.out) return LARMOR_OK;
    XLA_TRY(lmr_xla_device_find(ordinal, &dev));
    XLA_TRY(lmr_xla_device_begin(dev, stream));
    const larmor_status st = run_sets(dev, &call);
    lmr_xla_device_end(dev);
    return st;
}

void *larmor_xla_nufft(void *call_frame)
{
    const lmr_xla_frame *frame = call_frame;
    if (answered(frame)) return NULL;
    return error_of(frame, run(frame, LMR_XLA_PROCESSOR, NULL));
}

void *larmor_xla_nufft_cuda(void *call_frame)
{
    const lmr_xla_frame *frame = call_frame;
    const lmr_xla_api *api = frame->api;
    if (answered(frame)) return NULL;
    if (api->size < offsetof(lmr_xla_api, ordinal) + sizeof api->ordinal)
        return error_of(frame, larmor_fail(LARMOR_ERR_UNSUPPORTED,
                                           "larmor.jax on a GPU: this jaxlib is too old; install jax >= 0.6"));
    lmr_xla_stream_args stream = {.size = offsetof(lmr_xla_stream_args, stream) + sizeof stream.stream,
                                  .context = frame->context};
    lmr_xla_ordinal_args device = {.size = offsetof(lmr_xla_ordinal_args, ordinal) + sizeof device.ordinal,
                                   .context = frame->context};
    lmr_xla_error *error = api->stream(&stream);
    if (!error) error = api->ordinal(&device);
    if (error) return error;
    void *own = stream.stream ? stream.stream : legacy_stream;
    return error_of(frame, run(frame, device.ordinal, own));
}
