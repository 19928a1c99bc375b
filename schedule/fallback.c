/* Falls back from a failed GPU to the processor, if "auto" chose the GPU and the caller has no image yet: an image
 * of another series may lie in the memory that failed. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/fallback.h"

#include <stdio.h>

#include "core/owned.h"
#include "core/status.h"
#include "pipeline/report.h"

/* Keeps the caller's options with their texts, its arrays and its source. */
static larmor_status restart_on_cpu(larmor_recon *r, larmor_device *processor, const char *left, const char *why)
{
    lmr_settings settings = r->settings;
    larmor_source *source = larmor_source_ref(r->facts.source);
    larmor_array *maps = r->maps, *b0 = r->b0, *basis = r->basis;
    larmor_recon_opts opts = settings.opts;
    larmor_checkpoint *checkpoint = opts.checkpoint ? larmor_checkpoint_ref(opts.checkpoint) : NULL;
    opts.maps = maps;
    opts.b0 = b0;
    opts.basis = basis;
    r->settings = (lmr_settings){.method = NULL};
    r->maps = r->b0 = r->basis = NULL;
    lmr_recon_clear(r);
    larmor_status st = lmr_settings_read(&opts, &r->settings);
    r->settings.arrays = settings.arrays;
    r->settings.has_arrays = settings.has_arrays;
    if (!st) {
        r->events.listener = opts.listener;
        r->events.user = opts.user;
        lmr_report_left(r, left, why);
        st = lmr_recon_begin(r, source, processor);
    }
    lmr_settings_free(&settings);
    larmor_array_free(maps);
    larmor_array_free(b0);
    larmor_array_free(basis);
    larmor_checkpoint_free(checkpoint);
    larmor_source_free(source);
    return st;
}

larmor_status lmr_fall_back_to_cpu(larmor_recon *r, larmor_status failed)
{
    char left[32], why[1024];
    LMR_OWNED(larmor_device) *processor = NULL;
    if (r->run || r->facts.slabs || !larmor_device_may_be_left(r->facts.dev, failed)) return failed;
    snprintf(left, sizeof left, "%s", larmor_device_spec(r->facts.dev));
    snprintf(why, sizeof why, "%s", larmor_last_error());
    LMR_TRY(larmor_device_open("cpu", &processor));
    return restart_on_cpu(r, processor, left, why);
}
