/* How many readouts trajectories have, and in how many dimensions. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/traj/traj.h"

larmor_status lmr_traj_readouts(double count, double undersampling, int64_t *readouts)
{
    const double n = fmax(1, ceil(count / undersampling - 1e-9)); /* 64 / 2 lines are 32, whatever the rounding */
    LMR_REFUSE(!(n <= 0x1p31), LARMOR_ERR_ARG,
               "traj: got undersampling %g, which asks for %g readouts, expected at most 2^31", undersampling, n);
    *readouts = (int64_t)n;
    return LARMOR_OK;
}

larmor_status lmr_traj_flat(const lmr_traj_plan *plan, const char *name, const char *instead)
{
    const int64_t *n = plan->opts.matrix;
    if (n[2] <= 1) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "traj: %s got matrix %lld x %lld x %lld, expected two dimensions; use %s", name,
                    (long long)n[0], (long long)n[1], (long long)n[2], instead);
}
