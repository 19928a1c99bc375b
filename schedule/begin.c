/* A reconstruction from its source to its first series, and its end. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "physics/physics.h"
#include "pipeline/cache.h"
#include "pipeline/group.h"
#include "pipeline/method.h"
#include "scan/sample_cache.h"
#include "schedule/checkpoint.h"
#include "schedule/devices.h"
#include "schedule/fallback.h"
#include "schedule/prepare.h"
#include "schedule/slab_samples.h"

void lmr_recon_clear(larmor_recon *r)
{
    if (r->made_repeatable) larmor_device_set_repeatable(r->group ? r->group : r->facts.dev, 0);
    lmr_devices_close(r);
    lmr_keep_close(r);
    lmr_series_free(&r->list);
    lmr_plan_free(&r->plan);
    lmr_physics_free(r->facts.physics);
    if (r->facts.dev && r->facts.dev->ranks == r->settings.opts.ranks) r->facts.dev->ranks = NULL;
    lmr_caches_close(&r->caches);
    lmr_sample_cache_clear(&r->caches);
    lmr_slab_forget_centre(&r->caches);
    lmr_found_free(&r->job.found);
    lmr_scan_facts_free(&r->facts);
    lmr_settings_free(&r->settings);
    larmor_device_free(r->group);
    if (r->threads) r->close_threads(r->threads);
    *r = (larmor_recon){.last_group = 0};
}

void larmor_recon_free(larmor_recon *recon)
{
    if (!recon) return;
    lmr_recon_clear(recon);
    free(recon);
}

/* All that is known of a scan before it is looked at. */
static void begin_facts(larmor_recon *r, larmor_source *source, larmor_device *dev)
{
    const char *method = lmr_settings_method(&r->settings.opts);
    const int is_named = strcmp(r->settings.method, LMR_METHOD_AUTO) != 0;
    r->facts = (lmr_scan_facts){.source = larmor_source_ref(source),
                                .dev = lmr_device_ref(dev),
                                .info = larmor_source_describe(source),
                                .automatic = !method,
                                .method_from = method && !is_named ? LARMOR_METHOD_FROM_OPTIONS : 0,
                                .toeplitz = r->settings.opts.toeplitz,
                                .precondition = r->settings.opts.precondition};
    r->facts.coils = r->facts.info.coils;
    r->events.listener = r->settings.opts.listener;
    r->events.user = r->settings.opts.user;
    r->events.energy = 1;
    r->job = (lmr_job){.settings = &r->settings, .facts = &r->facts, .caches = &r->caches, .events = &r->events};
    lmr_method_take(&r->job, method ? method : "cg");
}

larmor_status lmr_recon_begin(larmor_recon *r, larmor_source *source, larmor_device *dev)
{
    int maps_from, weights_from;
    begin_facts(r, source, dev);
    if (r->settings.opts.repeatable && !dev->repeatable) {
        larmor_device_set_repeatable(dev, 1);
        r->made_repeatable = 1;
    }
    LMR_TRY(lmr_prepare(r));
    LMR_TRY(lmr_devices_open(r));
    if (r->devices && (larmor_device_members(r->facts.dev) || !lmr_averages(&r->job)))
        lmr_sample_cache_clear(&r->caches);
    LMR_TRY(lmr_keep_open(r, &maps_from, &weights_from));
    r->maps_before = maps_from;
    return r->facts.slabs ? LARMOR_OK : lmr_group_restore(&r->job, maps_from, weights_from);
}
