/* Which maps are found, and how many sets of them. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/choose_maps.h"

#include <string.h>

#include "core/status.h"
#include "pipeline/cartesian.h"
#include "pipeline/group.h"
#include "pipeline/maps.h"

/* The object folds where so much of it has two eigenvalues near 1; noise and edges alone make less. */
static const double is_folded = 0.1;

/* Several sets of maps are for the methods whose parts know what to do with them. */
static int takes_sets(const lmr_job *job)
{
    return !job->joint && (job->method != LMR_METHOD_REGULARISED || job->takes & LARMOR_TAKES_SERIES);
}

larmor_status lmr_take_sets(larmor_recon *r, const char *what, int64_t sets)
{
    lmr_job *job = &r->job;
    if (sets == 1) return LARMOR_OK;
    if (!takes_sets(job))
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "%s: several sets of maps are for --method cg, grid and tv, without --joint; got %s.", what,
                        r->method);
    if (job->precondition > 0)
        return LMR_FAIL(LARMOR_ERR_ARG, "--precond circulant: is not for several sets of maps, and %s has %lld.",
                        what, (long long)sets);
    job->sets = (int)sets;
    job->precondition = -1;
    return LARMOR_OK;
}

static larmor_status find_folded(larmor_recon *r, int index, double *folded)
{
    lmr_job *job = &r->job;
    larmor_group group;
    larmor_samples samples;
    lmr_cartesian unused;
    int made;
    if (!job->whitening) job->scale = 0;
    LMR_TRY(lmr_source_group(job->source, index, &group));
    LMR_TRY(lmr_group_average(job, index, &samples, &made, &unused));
    const larmor_status st = lmr_maps_folded(job, index, &group, &job->grid[index], &samples, folded);
    larmor_samples_free(&samples);
    return st;
}

/* As many as the first image asks for. */
static larmor_status choose_sets(larmor_recon *r)
{
    const lmr_job *job = &r->job;
    double folded;
    if (job->maps_method->sets < 2 || !takes_sets(job) || job->precondition > 0 || !r->list.groups) return LARMOR_OK;
    LMR_TRY(lmr_enter(&r->events, "coil maps"));
    LMR_TRY(find_folded(r, r->list.group[0], &folded));
    if (folded <= is_folded) return LARMOR_OK;
    lmr_log(&r->events, "coil maps: the object folds in %.0f %% of its extent; two sets of maps are found",
            100 * folded);
    return lmr_take_sets(r, "the object, which folds within the field of view,", 2);
}

larmor_status lmr_choose_maps(larmor_recon *r)
{
    const larmor_recon_opts *o = &r->opts;
    lmr_job *job = &r->job;
    if (job->given || job->no_maps || job->coils == 1) return LARMOR_OK;
    job->maps_method = lmr_maps_method_of(strcmp(o->maps_method, "auto") != 0 ? o->maps_method : "walsh");
    if (o->map_sets > job->maps_method->sets)
        return LMR_FAIL(LARMOR_ERR_ARG, "--map-sets %d: maps by %s come in one set; espirit finds two.", o->map_sets,
                        job->maps_method->name);
    return o->map_sets ? lmr_take_sets(r, "--map-sets", o->map_sets) : choose_sets(r);
}
