/* What a checkpoint must agree with: the scan, the options and the plan. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/hash.h"
#include "core/status.h"
#include "pipeline/off_resonance.h"
#include "schedule/archive.h"
#include "schedule/checkpoint.h"

/* Options that change the image. */
static larmor_status hash_options(const larmor_recon *r, uint64_t *hash)
{
    const larmor_recon_opts *o = &r->settings.opts;
    const larmor_counters *only = o->only;
    const int64_t whole[] = {o->joint,     o->iters,        o->lambda_mode,  o->llr_block,
                             o->no_maps,   o->calibration,  o->no_whitening, o->density,
                             o->weighted,  o->effort,       o->toeplitz,     o->precondition,
                             o->matrix[0], o->matrix[1],    o->matrix[2],    o->partial_fourier,
                             only->slice,  only->contrast,  only->phase,     only->repetition,
                             only->set,    o->coefficients, o->basis_frames, only->encoding > 0 ? only->encoding : 0};
    const double real[] = {o->tol,       o->lambda,    o->time_weight,   o->eps,           o->fov_mm[0],
                           o->fov_mm[1], o->fov_mm[2], o->oversample[0], o->oversample[1], o->oversample[2]};
    const int64_t maps[] = {o->map_sets, o->crop, o->normalise};
    const int64_t delays = o->delays, no_ghost = o->no_ghost;
    *hash = lmr_hash(0, o->method, strlen(o->method));
    *hash = lmr_hash(*hash, whole, sizeof whole);
    *hash = lmr_hash(*hash, real, sizeof real);
    LMR_TRY(lmr_hash_array(o->basis, hash));
    *hash = lmr_hash(*hash, &o->compress, sizeof o->compress);
    const larmor_image_meta *place = &o->maps_place;
    const double places[] = {place->fov_mm[0],      place->fov_mm[1],      place->fov_mm[2],    place->position_mm[0],
                             place->position_mm[1], place->position_mm[2], place->read_dir[0],  place->read_dir[1],
                             place->read_dir[2],    place->phase_dir[0],   place->phase_dir[1], place->phase_dir[2],
                             place->slice_dir[0],   place->slice_dir[1],   place->slice_dir[2]};
    *hash = lmr_hash(*hash, places, sizeof places);
    *hash = lmr_hash(*hash, &o->compress_method, sizeof o->compress_method);
    *hash = lmr_hash(*hash, &o->scale, sizeof o->scale);
    *hash = lmr_hash(*hash, o->maps_method, strlen(o->maps_method));
    *hash = lmr_hash(*hash, maps, sizeof maps);
    *hash = lmr_hash(*hash, &delays, sizeof delays);
    *hash = lmr_hash(*hash, &no_ghost, sizeof no_ghost);
    *hash = lmr_hash(*hash, o->delay, sizeof o->delay);
    LMR_TRY(lmr_field_hash(o, hash));
    *hash = lmr_hash(*hash, &o->girf_spacing_hz, sizeof o->girf_spacing_hz);
    LMR_TRY(lmr_hash_array(o->girf, hash));
    return lmr_hash_array(o->maps, hash);
}

/* What the memory that is free decides, beside what follows from the scan: each image's grid, and delays. */
static uint64_t hash_plan(const larmor_recon *r)
{
    const lmr_job *job = &r->job;
    const int64_t choices[] = {job->facts->block,     job->facts->toeplitz, job->facts->precondition,
                               job->facts->no_choice, job->facts->coils,    job->facts->automatic};
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
    f->plan = hash_plan(r);
    LMR_TRY(lmr_source_fingerprint(r->facts.source, &f->scan));
    return hash_options(r, &f->options);
}

larmor_status larmor_recon_fingerprint(const larmor_recon *recon, uint64_t *fingerprint)
{
    lmr_fingerprints f = {0};
    LMR_NEED(fingerprint);
    *fingerprint = 0;
    LMR_NEED(recon);
    LMR_TRY(lmr_fingerprints_of(recon, &f));
    *fingerprint = lmr_hash(f.scan, &f.options, sizeof f.options);
    return LARMOR_OK;
}
