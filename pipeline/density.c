/* The density weights of an image. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/density.h"

#include "core/status.h"

larmor_status lmr_make_density(const lmr_job *job, const larmor_samples *samples, larmor_shape image,
                               larmor_array **w)
{
    *w = NULL;
    switch (job->density) {
    case LARMOR_DENSITY_NONE:
        return LARMOR_OK;
    case LARMOR_DENSITY_RAMP:
        return larmor_density_ramp(samples->traj, image, w);
    case LARMOR_DENSITY_PIPE:
        return larmor_density_pipe(samples->traj, image, 0, w);
    case LARMOR_DENSITY_STORED:
        *w = larmor_array_ref(samples->density);
        return *w ? LARMOR_OK
                  : LMR_FAIL(LARMOR_ERR_FORMAT, "--dcf file: the file stores no density weights. Use ramp or pipe.");
    case LARMOR_DENSITY_AUTO:
        break;
    }
    const larmor_status st = larmor_density_ramp(samples->traj, image, w);
    return st == LARMOR_ERR_ARG ? larmor_density_pipe(samples->traj, image, 0, w) : st;
}
