/* Falls back from a failed GPU to the processor, if "auto" chose the GPU and the caller has no image yet: an image
 * of another series may lie in the memory that failed. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/fallback.h"

#include "core/core.h"
#include "pipeline/report.h"

LMR_OWNS(larmor_source, larmor_source_free)

/* Keeps the settings and the source. */
static larmor_status restart_on_cpu(larmor_recon *r, larmor_device *processor, const char *left, const char *why)
{
    const lmr_settings settings = r->settings;
    LMR_OWNED(larmor_source) *source = larmor_source_ref(r->facts.source);
    lmr_report_left(r, left, why);
    r->settings = (lmr_settings){.method = NULL};
    lmr_recon_clear(r);
    r->settings = settings;
    return lmr_recon_begin(r, source, processor);
}

larmor_status lmr_fall_back_to_cpu(larmor_recon *r, larmor_status failed)
{
    char left[32], why[1024];
    if (r->run || r->facts.slabs || !larmor_device_may_be_left(r->facts.dev, failed)) return failed;
    snprintf(left, sizeof left, "%s", larmor_device_spec(r->facts.dev));
    snprintf(why, sizeof why, "%s", larmor_last_error());
    LMR_OWN(larmor_device, processor, larmor_device_open("cpu", &processor));
    return restart_on_cpu(r, processor, left, why);
}
