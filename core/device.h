/* Inside of a device handle. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_DEVICE_H
#define LMR_DEVICE_H

#include <stdatomic.h>

#include "core/backend.h"
#include "larmor/device.h"

struct larmor_device {
    const lmr_backend *be;
    void *ctx;
    char spec[32];
    char reason[1024];
    int recording; /* between larmor_graph_begin and larmor_graph_end */
    void *learnt;  /* what a higher layer keeps about the device; NULL: nothing */
    void (*forget)(void *learnt);
    atomic_int refs;
};

larmor_device *lmr_device_ref(larmor_device *dev); /* one more reference; returns dev */

/* Threads of a processor device, 1 elsewhere. */
int lmr_device_threads(const larmor_device *dev);

#endif
