/* What a checkpoint must agree with: the scan, the options and the plan. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "scan/setting_table.h"
#include "schedule/archive.h"
#include "schedule/checkpoint.h"

static larmor_status hash_arrays(larmor_recon_opts o, uint64_t *hash)
{
    larmor_array **array;
    *hash = 0;
    for (int i = 0; (array = lmr_settings_array(&o, i)); i++) LMR_TRY(lmr_hash_array(*array, hash));
    return LARMOR_OK;
}

uint64_t lmr_fingerprint_of_plan(const larmor_recon *r)
{
    const lmr_job *job = &r->job;
    const int64_t choices[] = {job->facts->block,     job->facts->toeplitz,        job->facts->precondition,
                               job->facts->no_choice, job->facts->coils,           job->facts->automatic,
                               job->facts->in_turn,   job->facts->has_room_for_tgv};
    uint64_t hash = lmr_hash(0, choices, sizeof choices);
    for (int i = 0; i < job->facts->info.groups; i++) {
        const larmor_grid *g = &job->facts->grid[i];
        hash = lmr_hash(hash, g->matrix, sizeof g->matrix);
        hash = lmr_hash(hash, g->fov_mm, sizeof g->fov_mm);
        hash = lmr_hash(hash, g->crop, sizeof g->crop);
    }
    for (int i = 0; i < job->facts->info.encodings && job->facts->delays; i++)
        hash = lmr_hash(hash, job->facts->delays[i].delay, sizeof job->facts->delays[i].delay);
    return hash;
}

larmor_status lmr_fingerprints_of(const larmor_recon *r, lmr_fingerprints *f)
{
    f->plan = lmr_fingerprint_of_plan(r);
    LMR_TRY(lmr_source_fingerprint(r->facts.source, &f->scan));
    LMR_TRY(hash_arrays(r->settings.opts, &f->options));
    lmr_settings_hash(&r->settings.opts, &f->options);
    return LARMOR_OK;
}
