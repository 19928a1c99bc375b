/* Numbers of all ranks that have a slab of the volume each. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/slab_sums.h"

#include "core/core.h"
#include "core/ranks/ranks.h"

int lmr_slabs_stop(const lmr_job *job, int stop)
{
    double any[2] = {stop != 0, 0};
    if (!job->facts->slabs) return stop;
    return lmr_ranks_total(job->facts->slabs, LARMOR_OK, any) || any[0] > 0;
}

int lmr_slabs_failed(const lmr_job *job)
{
    return job->facts->slabs && job->facts->slabs->agreed;
}

larmor_status lmr_slabs_fill_noise(const lmr_job *job, double deviation, uint64_t seed, larmor_array *noise)
{
    const int64_t coils = job->facts->coils, own = larmor_array_count(noise) / coils;
    int64_t before;
    double all[2] = {(double)own, 0};
    LMR_TRY(lmr_ranks_total(job->facts->slabs, LARMOR_OK, all));
    LMR_TRY(lmr_ranks_before(job->facts->slabs, own, &before));
    for (int64_t c = 0; c < coils; c++) {
        larmor_array *coil;
        LMR_TRY(larmor_array_part(noise, c, 1, LARMOR_SHAPE(own), &coil));
        larmor_status st = lmr_random_fill_from(coil, seed, c * (int64_t)all[0] + before);
        if (!st) st = larmor_axpby(sqrt(3.) * deviation, coil, 0, coil); /* as larmor_noise_fill has it */
        larmor_array_free(coil);
        LMR_TRY(st);
    }
    return LARMOR_OK;
}
