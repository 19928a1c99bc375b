/* Early returns of functions that call the library, and what ends with a function. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "larmor/larmor.h"

#define TRY(call)                                                                                                    \
    do {                                                                                                             \
        const larmor_status st_ = (call);                                                                            \
        if (st_) return st_;                                                                                         \
    } while (0)

#define NO_MEMORY() larmor_fail(LARMOR_ERR_MEMORY, "out of host memory")

/* Behind a parameter that the function has for the sake of its type. */
#define APP_UNUSED __attribute__((unused))

/* What is empty from the start and emptied where its name ends: `APP_FREED_BY(larmor_findings_free) larmor_findings
 * f = {0};`, `APP_HEAP char *name = NULL;`, `APP_OWNED(larmor_array) *x = NULL;` of the types below. */
#define APP_FREED_BY(function) __attribute__((cleanup(function)))
#define APP_HEAP APP_FREED_BY(app_drop_memory)
#define APP_OWNED(type) APP_FREED_BY(app_drop_##type) type
#define APP_OWNS(type, end)                                                                                          \
    static inline void app_drop_##type(type **x)                                                                     \
    {                                                                                                                \
        end(*x);                                                                                                     \
    }

/* Declare `name` where the call makes it, or return: `APP_OWN(larmor_array, x, app_read_array(path, dev, &x));`. */
#define APP_OWN(type, name, call)                                                                                    \
    APP_OWNED(type) *name = NULL;                                                                                    \
    TRY(call)
#define APP_OWN_MEMORY(type, name, call)                                                                             \
    APP_HEAP type *name = NULL;                                                                                      \
    TRY(call)

APP_OWNS(larmor_array, larmor_array_free)
APP_OWNS(larmor_device, larmor_device_free)
APP_OWNS(larmor_nufft, larmor_nufft_free)
APP_OWNS(larmor_output, larmor_output_free)
APP_OWNS(larmor_op, larmor_op_free)
APP_OWNS(larmor_pulseq, larmor_pulseq_free)
APP_OWNS(larmor_raw, larmor_raw_free)
APP_OWNS(larmor_recon, larmor_recon_free)
APP_OWNS(larmor_simulation, larmor_simulation_free)
APP_OWNS(larmor_source, larmor_source_free)
APP_OWNS(larmor_stream, larmor_stream_free)

static inline void app_drop_memory(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory); /* whatever its type is */
    free(memory);
}
