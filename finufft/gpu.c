/* The GPU of cuFINUFFT's plans. What is current is asked of CUDA's driver, if the process has it: larmor itself is
 * not linked to CUDA. SPDX-License-Identifier: Apache-2.0 */
#include "finufft/gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const uintptr_t legacy_stream = 1; /* cudaStreamLegacy */

larmor_status lmr_gpu_open(int ordinal, void *stream, larmor_device **dev)
{
    char spec[32];
    snprintf(spec, sizeof spec, "cuda:%d", ordinal);
    larmor_status st = larmor_device_open(spec, dev);
    if (!st) st = larmor_device_set_stream(*dev, stream ? stream : (void *)legacy_stream);
    if (!st) return LARMOR_OK;
    larmor_device_free(*dev);
    *dev = NULL;
    return st;
}

/* A function of the driver, NULL if the process has not loaded it. */
static void *find(const char *name)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!driver) return NULL;
    void *found = dlsym(driver, name);
    dlclose(driver); /* it stays: others have loaded it */
    return found;
}

void *lmr_gpu_current(void)
{
    int (*get)(void **context) = NULL;
    void *current = NULL;
    void *const found = find("cuCtxGetCurrent");
    memcpy(&get, &found, sizeof get); /* from data to function, as POSIX has it */
    if (get && get(&current)) return NULL;
    return current;
}

void lmr_gpu_make_current(void *current)
{
    int (*set)(void *context) = NULL;
    if (!current) return;
    void *const found = find("cuCtxSetCurrent");
    memcpy(&set, &found, sizeof set);
    if (set) set(current);
}
