/* Whether a volume can be in slabs, and what follows for the job. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/slabs.h"

#include "core/core.h"
#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "scan/cartesian.h"
#include "scan/compress.h"

static const char *unfit_options(const larmor_recon *r)
{
    const lmr_job *job = &r->job;
    if (job->found.method.kind != LMR_METHOD_CG) return "the method is not cg";
    if (job->settings->opts.weighted || job->settings->opts.keep_density) return "samples are weighted by density";
    if (job->facts->basis || job->settings->joint) return "several images are one series";
    if (job->facts->sets) return "there are several sets of maps";
    if (job->settings->opts.motion || job->settings->opts.motion_states) return "the object moves";
    if (job->facts->physics) return "there is a field map";
    if (job->facts->compression && lmr_compression_is_geometric(job))
        return "coils are compressed along the readouts";
    if (r->settings.opts.maps) return "maps are given";
    if (job->settings->opts.normalise || !strcmp(r->settings.maps_method, "nlinv"))
        return "maps are not those of walsh or espirit";
    if (job->facts->info.calibration || job->facts->info.averaged)
        return "maps come from other readouts than the image's";
    return NULL;
}

static const char *unfit_group(const larmor_recon *r, int group)
{
    const larmor_grid *grid = &r->facts.grid[group];
    int64_t repeats, left;
    if (grid->ndim != 3) return "images are 2D";
    if (grid->matrix[2] < larmor_ranks_count(r->settings.opts.ranks)) return "there are fewer planes than processes";
    if (grid->matrix[2] < larmor_device_members(r->facts.dev)) return "there are fewer planes than devices";
    if (lmr_cartesian_expect(&r->job, group, &repeats, &left) || repeats) return "samples are on a grid";
    return NULL;
}

const char *lmr_slabs_unfit(const larmor_recon *r)
{
    const int ranks = larmor_ranks_count(r->settings.opts.ranks), members = larmor_device_members(r->facts.dev);
    if (ranks < 2 && members < 2) return "there is one process";
    if (ranks > 1 && members) return "a process has several devices";
    const char *why = unfit_options(r);
    if (!why && !lmr_source_has_readouts(r->facts.source)) why = "the source gives no single readouts";
    if (!why && !r->facts.info.traj_stored) why = "no trajectory is stored";
    for (int i = 0; i < r->list.groups && !why; i++) why = unfit_group(r, r->list.group[i]);
    return why;
}

const lmr_maps_method *lmr_slabs_maps(const larmor_recon *r)
{
    if (r->facts.coils == 1) return NULL;
    return lmr_maps_method_of(strcmp(r->settings.maps_method, "walsh") != 0 ? "espirit" : "walsh");
}

void lmr_slabs_take(larmor_recon *r)
{
    lmr_job *job = &r->job;
    r->events.is_quiet = 0;
    lmr_method_settle(&r->job, &r->facts, "cg", LARMOR_METHOD_FROM_MEMORY);
    r->facts.slabs = r->settings.opts.ranks;
    job->facts->dev->ranks = NULL;
    r->facts.toeplitz = r->settings.opts.toeplitz < 0 ? -1 : 1;
    r->facts.precondition = r->settings.opts.precondition;
    r->facts.block = 1;
    r->facts.maps_method = lmr_slabs_maps(r);
}
