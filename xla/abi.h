/* What a handler of XLA's FFI reads and writes: the parts of its C interface that are used here, so that no header of
 * XLA is needed to build. Their places have been the same in all versions from 0.1 (jaxlib 0.6) to 0.5 (jaxlib 0.12);
 * python/tests/peers/test_jax_abi.py compares them with the header of the jaxlib that is installed.
 * Source: OpenXLA, xla/ffi/api/c_api.h, version 0.5. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LMR_XLA_MAJOR = 0, LMR_XLA_LEAST_MINOR = 1, LMR_XLA_MINOR = 5 };

/* XLA_FFI_DataType, XLA_FFI_ArgType, XLA_FFI_AttrType and XLA_FFI_InternalExtension_Type: those that are used. */
enum { LMR_XLA_S64 = 5, LMR_XLA_F32 = 11, LMR_XLA_F64 = 12, LMR_XLA_C64 = 15, LMR_XLA_C128 = 18 };
enum { LMR_XLA_BUFFER = 1, LMR_XLA_SCALAR = 3, LMR_XLA_METADATA = 1 };

/* XLA_FFI_Error_Code. */
enum {
    LMR_XLA_CANCELLED = 1,
    LMR_XLA_INVALID = 3,
    LMR_XLA_EXHAUSTED = 8,
    LMR_XLA_UNIMPLEMENTED = 12,
    LMR_XLA_INTERNAL = 13
};

typedef struct lmr_xla_error lmr_xla_error;     /* XLA's own */
typedef struct lmr_xla_context lmr_xla_context; /* likewise */

typedef struct lmr_xla_extension {
    size_t size;
    int type;
    struct lmr_xla_extension *next;
} lmr_xla_extension;

typedef struct lmr_xla_version {
    size_t size;
    lmr_xla_extension *extension;
    int major;
    int minor;
} lmr_xla_version;

typedef struct lmr_xla_error_args {
    size_t size;
    lmr_xla_extension *extension;
    const char *message;
    int code;
} lmr_xla_error_args;

typedef struct lmr_xla_stream_args {
    size_t size;
    lmr_xla_extension *extension;
    lmr_xla_context *context;
    void *stream; /* put out */
} lmr_xla_stream_args;

typedef struct lmr_xla_ordinal_args {
    size_t size;
    lmr_xla_extension *extension;
    lmr_xla_context *context;
    int32_t ordinal; /* put out */
} lmr_xla_ordinal_args;

typedef struct lmr_xla_api {
    size_t size;
    lmr_xla_extension *extension;
    lmr_xla_version version;
    const void *internal;
    lmr_xla_error *(*error)(lmr_xla_error_args *args);
    void (*unused_1[3])(void);
    lmr_xla_error *(*stream)(lmr_xla_stream_args *args);
    void (*unused_2[12])(void);
    lmr_xla_error *(*ordinal)(lmr_xla_ordinal_args *args);
} lmr_xla_api;

typedef struct lmr_xla_buffer {
    size_t size;
    lmr_xla_extension *extension;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} lmr_xla_buffer;

/* XLA_FFI_Args, and XLA_FFI_Rets, which has the same members. */
typedef struct lmr_xla_buffers {
    size_t size;
    lmr_xla_extension *extension;
    int64_t count;
    int *types;
    lmr_xla_buffer **at;
} lmr_xla_buffers;

typedef struct lmr_xla_span {
    const char *text;
    size_t length;
} lmr_xla_span;

typedef struct lmr_xla_scalar {
    int dtype;
    void *value;
} lmr_xla_scalar;

typedef struct lmr_xla_attributes {
    size_t size;
    lmr_xla_extension *extension;
    int64_t count;
    int *types;
    lmr_xla_span **names;
    void **at;
} lmr_xla_attributes;

typedef struct lmr_xla_frame {
    size_t size;
    lmr_xla_extension *extension;
    const lmr_xla_api *api;
    lmr_xla_context *context;
    int stage;
    lmr_xla_buffers arguments;
    lmr_xla_buffers results;
    lmr_xla_attributes attributes;
} lmr_xla_frame; /* XLA's has one more member, a future, which stays as it is */

typedef struct lmr_xla_metadata {
    size_t size;
    lmr_xla_version version;
    uint32_t traits;
} lmr_xla_metadata;

typedef struct lmr_xla_metadata_extension {
    lmr_xla_extension extension;
    lmr_xla_metadata *metadata;
} lmr_xla_metadata_extension;
