/* A plugin larmor_cuda.so that lets a call of the device fail: it stands before the one in $FAULTY_PLUGIN, a
 * GPU's, or else before the processor's backend, which then passes for a GPU.
 *
 * FAULTY_ENTRY  what fails, e.g. vec.axpby; all: whatever comes
 * FAULTY_AT     which of its calls, from 1; 0 or none: none
 * FAULTY_MORE   1: all that follow fail as well
 * FAULTY_ONE    1: in one thread alone, the first that comes to it
 * FAULTY_COUNT  a file for a line "ENTRY CALLS" for each entry at the end
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/backend.h"
#include "core/device.h"
#include "nufft/kernels.h"
#include "nufft/precompute_kernels.h"
#include "recon/kernels.h"
#include "recon/kernels_series.h"
#include "recon/kernels_sparse.h"

static const lmr_host *host;
static int is_gpu;

static int fails(int entry);
static larmor_status injected(int entry);

/* The message of this library's own copy of larmor's core becomes the host's; a GPU's plugin has told the host
 * itself. */
static larmor_status passed_on(larmor_status st)
{
    if (st && !is_gpu) host->fail(st, __func__, __LINE__, "%s", larmor_last_error());
    return st;
}

#include "wrappers.inc"

enum { ENTRIES = sizeof entries / sizeof *entries };
static long calls[ENTRIES], all_calls;

/* 1 in the thread that is to fail: any, or the first that asks. */
static int is_meant(void)
{
    static long chosen;
    const char *one = getenv("FAULTY_ONE");
    const long own = (long)gettid();
    long none = 0;
    if (!one || strcmp(one, "1") != 0) return 1;
    return __atomic_compare_exchange_n(&chosen, &none, own, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || none == own;
}

static int fails(int entry)
{
    const char *wanted = getenv("FAULTY_ENTRY"), *number = getenv("FAULTY_AT");
    const long one = __atomic_add_fetch(&calls[entry], 1, __ATOMIC_RELAXED);
    const long any = __atomic_add_fetch(&all_calls, 1, __ATOMIC_RELAXED);
    const long at = number ? atol(number) : 0;
    if (!wanted || at <= 0) return 0;
    const int is_any = !strcmp(wanted, "all");
    if (!is_any && strcmp(wanted, entries[entry]) != 0) return 0;
    const long now = is_any ? any : one;
    return (getenv("FAULTY_MORE") ? now >= at : now == at) && is_meant();
}

/* What a GPU's plugin would say. */
static larmor_status injected(int entry)
{
    const int is_memory = !strcmp(entries[entry], "device.alloc");
    return host->fail(is_memory ? LARMOR_ERR_MEMORY : LARMOR_ERR_BACKEND, __func__, __LINE__,
                      "cuda:0: %s failed, as was asked for", entries[entry]);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("FAULTY_COUNT");
    FILE *f = path ? fopen(path, "w") : NULL;
    if (!f) return;
    for (int i = 0; i < ENTRIES; i++) fprintf(f, "%s %ld\n", entries[i], calls[i]);
    fprintf(f, "all %ld\n", all_calls);
    fclose(f);
}

static const lmr_backend *inner;

static int one_device(void)
{
    return 1;
}

static int no_threads(void *ctx)
{
    (void)ctx;
    return 0;
}

/* The kernels of the higher layers, wrapped at their first use; one thread at a time asks. */
#define KERNELS(layer, type)                                                                                         \
    if (!strcmp(name, #layer)) {                                                                                     \
        static type wrapped[LMR_PRECISIONS];                                                                         \
        const void *own = precision == LMR_F64 ? (const void *)&lmr_cpu_##layer##_f64 : &lmr_cpu_##layer##_f32;      \
        const void *table = inner->table ? inner->table(name, abi, precision) : own;                                 \
        if (!table) return NULL;                                                                                     \
        wrap_##layer(table, precision, &wrapped[precision]);                                                         \
        return &wrapped[precision];                                                                                  \
    }

static const void *table_of(const char *name, uint32_t abi, int precision)
{
    KERNELS(nufft, lmr_nufft_kernels)
    KERNELS(precompute, lmr_precompute_kernels)
    KERNELS(recon, lmr_recon_kernels)
    KERNELS(sparse, lmr_sparse_kernels)
    KERNELS(series, lmr_series_kernels)
    return NULL;
}

static const lmr_backend *find_inner(uint32_t abi, const lmr_host *given)
{
    const char *path = getenv("FAULTY_PLUGIN");
    if (!path || !*path) return &lmr_cpu_backend;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, LMR_BACKEND_ENTRY) : NULL;
    lmr_plugin_entry *entry;
    memcpy(&entry, &symbol, sizeof entry);
    is_gpu = 1;
    return entry ? entry(abi, given) : NULL;
}

__attribute__((visibility("default"))) lmr_plugin_entry lmr_backend_entry;

const void *lmr_backend_entry(uint32_t abi, const lmr_host *given)
{
    static lmr_backend outer;
    static lmr_vec vec[LMR_PRECISIONS];
    static lmr_fft fft[LMR_PRECISIONS];
    static lmr_conv conv[LMR_PRECISIONS];
    static lmr_la la[LMR_PRECISIONS];
    static lmr_mark mark;
    static lmr_graph graph;
    host = given;
    inner = find_inner(abi, given);
    if (!inner) return NULL;
    wrap_device(inner, 0, &outer);
    for (int p = 0; p < LMR_PRECISIONS; p++) {
        wrap_vec(inner->vec[p], p, &vec[p]);
        wrap_fft(inner->fft[p], p, &fft[p]);
        wrap_conv(inner->conv[p], p, &conv[p]);
        wrap_la(inner->la[p], p, &la[p]);
        outer.vec[p] = &vec[p];
        outer.fft[p] = &fft[p];
        outer.conv[p] = &conv[p];
        outer.la[p] = &la[p];
    }
    wrap_mark(inner->mark, 0, &mark);
    outer.mark = &mark;
    if (inner->graph) {
        wrap_graph(inner->graph, 0, &graph);
        outer.graph = &graph;
    }
    outer.table = table_of;
    if (!is_gpu) {
        outer.name = "cuda";
        outer.device_count = one_device;
        outer.threads = no_threads;
    }
    return &outer;
}
