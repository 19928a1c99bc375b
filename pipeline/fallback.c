/* From a GPU that fails to the processor, where "auto" chose the GPU and no image was given away yet: an image of another
 * series may lie in the memory that failed. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/fallback.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/status.h"
#include "pipeline/report.h"

/* What begins anew keeps: the caller's options with their texts, its maps and its source. */
static larmor_status begin_anew(larmor_recon *r, larmor_device *processor, const char *left, const char *why)
{
    larmor_recon_opts opts = r->opts;
    const larmor_counters only = r->only;
    char *method = r->method, *maps_name = r->maps_name, *maps_method = r->maps_method, *b0_name = r->b0_name;
    const larmor_image_meta b0_place = r->b0_place;
    const double readout_start_ms = r->readout_start_ms;
    larmor_source *source = larmor_source_ref(r->job.source);
    larmor_array *maps = r->maps, *b0 = r->b0, *basis = r->basis;
    larmor_checkpoint *checkpoint = opts.checkpoint ? larmor_checkpoint_ref(opts.checkpoint) : NULL;
    larmor_array *girf = larmor_array_ref(r->job.girf);
    opts.only = &only;
    opts.girf = girf;
    opts.maps = maps;
    opts.b0 = b0;
    opts.basis = basis;
    if (opts.b0_place) opts.b0_place = &b0_place;
    if (opts.readout_start_ms) opts.readout_start_ms = &readout_start_ms;
    r->method = r->maps_name = r->maps_method = r->b0_name = NULL;
    r->maps = r->b0 = r->basis = NULL;
    lmr_recon_clear(r);
    larmor_status st = lmr_options_read(&opts, r);
    if (!st) {
        lmr_report_left(r, left, why);
        st = lmr_recon_begin(r, source, processor);
    }
    free(method);
    free(maps_name);
    free(maps_method);
    free(b0_name);
    larmor_array_free(maps);
    larmor_array_free(b0);
    larmor_array_free(basis);
    larmor_array_free(girf);
    larmor_checkpoint_free(checkpoint);
    larmor_source_free(source);
    return st;
}

larmor_status lmr_leave_gpu(larmor_recon *r, larmor_status failed)
{
    char left[32], why[1024];
    larmor_device *processor;
    if (r->run || r->job.slabs || !larmor_device_may_be_left(r->job.dev, failed)) return failed;
    snprintf(left, sizeof left, "%s", larmor_device_spec(r->job.dev));
    snprintf(why, sizeof why, "%s", larmor_last_error());
    LMR_TRY(larmor_device_open("cpu", &processor));
    const larmor_status st = begin_anew(r, processor, left, why);
    larmor_device_free(processor);
    return st;
}
