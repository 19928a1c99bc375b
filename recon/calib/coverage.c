/* How far samples reach on either side of the centre of k-space. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "larmor/recon.h"
#include "recon/inputs.h"

/* Of the shorter side to the longer one; 7/8 of the lines have 3/4. Arms and spokes end less than this apart. */
static const double shorter = 0.85, least_difference = 2;

static int is_partial(double low, double high)
{
    const double near = fmin(-low, high), far = fmax(-low, high);
    return near < shorter * far && far - near > least_difference;
}

larmor_status larmor_traj_coverage(const larmor_array *traj, larmor_coverage *coverage)
{
    *coverage = (larmor_coverage){{0}, {0}, {0}};
    const int nd = traj && traj->shape.ndim > 1 && traj->shape.dim[0] <= 3 ? (int)traj->shape.dim[0] : 0;
    if (nd < 1)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "coverage: trajectory is %s, expected [1 to 3, samples, readouts]",
                        traj ? lmr_describe(traj).s : "missing");
    larmor_array *k;
    LMR_TRY(lmr_input_real("coverage", "trajectory", traj, &k));
    const int64_t m = larmor_array_count(k) / nd;
    double *point;
    const larmor_status st = larmor_array_download(k, LARMOR_F64, &point);
    for (int64_t i = 0; i < nd * m && !st; i++) {
        coverage->low[i % nd] = fmin(coverage->low[i % nd], point[i]);
        coverage->high[i % nd] = fmax(coverage->high[i % nd], point[i]);
    }
    for (int d = 0; d < nd; d++) coverage->partial[d] = is_partial(coverage->low[d], coverage->high[d]);
    free(point), larmor_array_free(k);
    return st;
}
