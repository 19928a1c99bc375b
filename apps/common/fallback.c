/* From a GPU that fails to the processor in commands that make arrays themselves; a reconstruction does so in the
 * library. SPDX-License-Identifier: Apache-2.0 */
#include "common.h"

static int only_cpu;              /* a GPU has failed, "auto" is now the processor */
static const larmor_device *used; /* while nothing is computed; else NULL */

const char *app_device_left(const char *device)
{
    return only_cpu && !strcmp(device, "auto") ? "cpu" : device;
}

void app_may_leave(const larmor_device *dev)
{
    used = dev;
}

void app_has_computed(void)
{
    used = NULL;
}

int app_leaves_gpu(larmor_status status)
{
    if (only_cpu || !larmor_device_may_be_left(used, status)) return 0;
    app_log("warning: %s failed before anything was computed, the processor takes over: %s", larmor_device_spec(used),
            larmor_last_error());
    only_cpu = 1;
    return 1;
}
