/* From a GPU that fails to the processor, where the user leaves the choice and nothing is lost. SPDX-License-Identifier:
 * Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "common.h"

static int asked_auto, only_cpu; /* only_cpu: a GPU has failed, "auto" is now the processor */
static char left_behind[32];     /* the GPU that may be left while nothing is computed; else "" */

const char *app_device_left(const char *device)
{
    asked_auto = !strcmp(device, "auto");
    return asked_auto && only_cpu ? "cpu" : device;
}

void app_may_leave(const larmor_device *dev)
{
    const char *spec = larmor_device_spec(dev);
    if (asked_auto && !strncmp(spec, "cuda", 4)) snprintf(left_behind, sizeof left_behind, "%s", spec);
}

void app_has_computed(void)
{
    left_behind[0] = 0;
}

int app_leaves_gpu(larmor_status status)
{
    if (only_cpu || !*left_behind) return 0;
    if (status != LARMOR_ERR_BACKEND && status != LARMOR_ERR_MEMORY && status != LARMOR_ERR_UNSUPPORTED) return 0;
    app_log("warning: %s failed before anything was computed, the processor takes over: %s", left_behind,
            larmor_last_error());
    only_cpu = 1;
    return 1;
}
