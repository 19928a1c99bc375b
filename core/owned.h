/* What a function owns alone is freed where its name ends, on every way out, so that it may return early by LMR_TRY:
 * `LMR_OWNED(larmor_array) *x = NULL;`. Names end in reverse order. What a function hands on it sets to NULL; what
 * has no value yet is NULL or {0} from the start. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_OWNED_H
#define LMR_OWNED_H

#include <stdlib.h>
#include <string.h>

#include "larmor/array.h"
#include "larmor/device.h"
#include "larmor/op.h"

/* A structure that `function` empties. */
#define LMR_FREED_BY(function) __attribute__((cleanup(function)))

/* Pointers to memory of malloc: `LMR_HEAP double *x = NULL;`. */
#define LMR_HEAP LMR_FREED_BY(lmr_drop_memory)

/* Pointers to objects: larmor_array, larmor_op, larmor_device. */
#define LMR_OWNED(type) LMR_FREED_BY(lmr_drop_##type) type

static inline void lmr_drop_memory(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory); /* whatever its type is */
    free(memory);
}

static inline void lmr_drop_larmor_array(larmor_array **x)
{
    larmor_array_free(*x);
}

static inline void lmr_drop_larmor_op(larmor_op **A)
{
    larmor_op_free(*A);
}

static inline void lmr_drop_larmor_device(larmor_device **dev)
{
    larmor_device_free(*dev);
}

#endif
