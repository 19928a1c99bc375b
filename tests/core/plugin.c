/* A plugin without hardware: two GPUs, or $FAKE_GPUS of them, of which the first never opens. With another PLUGIN_ABI
 * or another name of its entry it is one that must be refused. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/backend.h"

#ifndef PLUGIN_ABI
#define PLUGIN_ABI LMR_BACKEND_ABI
#endif

static const lmr_host *host;

static int device_count(void)
{
    const char *asked = getenv("FAKE_GPUS");
    const int n = asked ? atoi(asked) : 2;
    if (n < 0) host->fail(LARMOR_ERR_BACKEND, __func__, __LINE__, "the driver is %d versions too old", -n);
    return n;
}

static larmor_status open_fake(int ordinal, int threads, void **ctx)
{
    (void)threads;
    *ctx = NULL;
    if (ordinal == 0) return host->fail(LARMOR_ERR_BACKEND, __func__, __LINE__, "GPU %d is lost", ordinal);
    if (ordinal >= device_count()) return host->fail(LARMOR_ERR_UNSUPPORTED, __func__, __LINE__, "no such GPU");
    *ctx = malloc(1);
    return *ctx ? LARMOR_OK : LARMOR_ERR_MEMORY;
}

static const char *describe(void *ctx)
{
    (void)ctx;
    return "Fake GPU";
}

static int threads_of(void *ctx)
{
    (void)ctx;
    return 0;
}

static larmor_status memory(void *ctx, int64_t *available, int64_t *total)
{
    (void)ctx;
    *available = 3000;
    *total = 4000;
    return LARMOR_OK;
}

__attribute__((visibility("default"))) lmr_plugin_entry lmr_backend_entry;

const void *lmr_backend_entry(uint32_t abi, const lmr_host *given)
{
    static const lmr_backend backend = {
        .abi = PLUGIN_ABI,
        .name = "cuda",
        .device_count = device_count,
        .open = open_fake,
        .close = free,
        .describe = describe,
        .threads = threads_of,
        .memory = memory,
    };
    if (abi == PLUGIN_ABI) host = given;
    return &backend;
}
