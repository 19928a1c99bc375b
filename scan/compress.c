/* Samples and maps of virtual coils, by the matrix of the scan. SPDX-License-Identifier: Apache-2.0 */
#include "scan/compress.h"

#include "core/core.h"

int lmr_compression_is_geometric(const lmr_job *job)
{
    return job->facts->compression && larmor_array_shape(job->facts->compression).ndim > 2;
}

larmor_status lmr_compress(const lmr_job *job, larmor_samples *samples)
{
    larmor_array *y;
    if (!job->facts->compression) return LARMOR_OK;
    if (lmr_compression_is_geometric(job)) {
        const larmor_status st =
            larmor_compress_readouts(job->facts->compression, samples->kspace, samples->traj, &y);
        LMR_REFUSE(st == LARMOR_ERR_ARG, LARMOR_ERR_FORMAT,
                   "readouts that are no lines of the grid, as those of other images of "
                   "the scan are; opts.compress_method svd takes them.");
        LMR_TRY(st);
    } else {
        LMR_TRY(larmor_compress_coils(job->facts->compression, samples->kspace, &y));
    }
    larmor_array_free(samples->kspace);
    samples->kspace = y;
    return LARMOR_OK;
}

static larmor_status mix(const lmr_job *job, int back, const larmor_array *x, larmor_array **y)
{
    return back ? larmor_expand_coils(job->facts->compression, x, y)
                : larmor_compress_coils(job->facts->compression, x, y);
}

/* Each set of maps by itself. back: 1: to all coils */
static larmor_status mix_sets(const lmr_job *job, int back, larmor_array *maps, larmor_array **mixed)
{
    larmor_shape shape = larmor_array_shape(maps);
    if (!job->facts->sets) return mix(job, back, maps, mixed);
    shape.dim[shape.ndim - 2] = back ? job->facts->info.coils : job->facts->coils;
    *mixed = NULL;
    LMR_OWN(larmor_array, all, larmor_array_create(job->facts->dev, larmor_array_dtype(maps), shape, &all));
    for (int m = 0; m < job->facts->sets; m++) {
        LMR_OWN(larmor_array, from, lmr_one_of(maps, m, &from));
        LMR_OWN(larmor_array, set, mix(job, back, from, &set));
        LMR_OWN(larmor_array, to, lmr_one_of(all, m, &to));
        LMR_TRY(larmor_copy(set, to));
    }
    return LMR_HAND_ON(*mixed, all);
}

larmor_status lmr_compress_maps(const lmr_job *job, larmor_array **maps)
{
    larmor_array *mixed;
    if (!job->facts->compression) return LARMOR_OK;
    LMR_TRY(mix_sets(job, 0, *maps, &mixed));
    larmor_array_free(*maps);
    *maps = mixed;
    return LARMOR_OK;
}

larmor_status lmr_expand_maps(const lmr_job *job, larmor_array *maps, larmor_array **all)
{
    return mix_sets(job, 1, maps, all);
}
