/* Inside of a device handle. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>

#include "core/backend.h"
#include "core/gate.h"
#include "core/refs.h"
#include "larmor/device.h"

struct larmor_device {
    const lmr_backend *be;
    void *ctx;
    char spec[96];
    char reason[1024];
    int chosen;     /* 1: a GPU that "auto" chose */
    int threads;    /* lmr_device_threads */
    int recording;  /* between larmor_graph_begin and larmor_graph_end */
    int repeatable; /* larmor_device_set_repeatable */
    void *learnt;   /* what a higher layer keeps about the device; NULL: nothing */
    lmr_gate gate;  /* around that */
    void (*forget)(void *learnt);
    larmor_device **member;     /* [members] of a group, in the order in which they were named */
    int members;                /* 0: a single device */
    struct larmor_ranks *ranks; /* processes that share the coils of operators here (core/ranks/); NULL: none */
    struct larmor_ranks
        *whole; /* those that have the parts of arrays here (larmor_ranks_sum_over); NULL: they are whole */
    larmor_status (*total)(struct larmor_ranks *whole, larmor_status own, double sum[2]); /* over those ranks */
    lmr_refs refs;
};

larmor_device *lmr_device_ref(larmor_device *dev); /* one more reference; returns dev */

/* LMR_KERNELS(dev, nufft, LMR_NUFFT_ABI, precision): the kernels of a layer for this device, NULL if it has none.
 * Those of the processor are linked into the layer itself, lmr_cpu_nufft_f32 and _f64. */
#define LMR_KERNELS(dev, layer, abi, precision)                                                                      \
    lmr_kernels_of(dev, #layer, abi, precision, &lmr_cpu_##layer##_f32, &lmr_cpu_##layer##_f64)
static inline const void *lmr_kernels_of(const larmor_device *on, const char *layer, uint32_t abi, int precision,
                                         const void *cpu_f32, const void *cpu_f64)
{
    if (on->be->table) return on->be->table(layer, abi, precision);
    return precision == LMR_F64 ? cpu_f64 : cpu_f32;
}

/* 1 if both are parts of one processor, or the same GPU, and so have one memory. */
int lmr_device_has_memory_of(const larmor_device *dev, const larmor_device *other);

/* How many members share one processor or one GPU, and so its memory: 1 for a single device. */
int lmr_device_sharers(const larmor_device *dev);

/* 1 if the device is the processor, so that its memory is the program's own; 0 for a GPU. */
int lmr_device_is_processor(const larmor_device *dev);

/* Threads of loops on the processor: those of a processor device; for a GPU those of all cores, which its members
 * share in a group. */
int lmr_device_threads(const larmor_device *dev);

/* The device gets one share of several. */
void lmr_device_share_threads(larmor_device *dev, int shares);
