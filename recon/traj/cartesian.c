/* Lines along x at the integers of y (and z, outermost). SPDX-License-Identifier: Apache-2.0 */
#include "recon/traj/table.h"

static larmor_status size(lmr_traj_plan *plan)
{
    int64_t *n = plan->opts.matrix;
    if (!n[2]) n[2] = 1;
    plan->nd = n[2] > 1 ? 3 : 2;
    const int64_t lines = n[1] * n[2];
    if (!plan->samples) plan->samples = n[0];
    if (!plan->readouts) LMR_TRY(lmr_traj_readouts((double)lines, plan->opts.undersampling, &plan->readouts));
    if (plan->readouts > lines)
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "traj: cartesian got %lld readouts, expected at most the %lld lines of the matrix",
                        (long long)plan->readouts, (long long)lines);
    return LARMOR_OK;
}

/* Fewer readouts than lines are spread evenly over them, and one goes through the centre. */
static void fill(const lmr_traj_plan *plan, double *k)
{
    const int64_t *n = plan->opts.matrix, lines = n[1] * n[2], nd = plan->nd;
    const int64_t half[3] = {plan->samples / 2, n[1] / 2, n[2] / 2}, centre = half[1] + n[1] * half[2];
    const int64_t nearest = centre * plan->readouts / lines; /* the readout that comes just before the centre */
    const int64_t shift = centre - nearest * lines / plan->readouts;
    for (int64_t j = 0; j < plan->readouts; j++) {
        const int64_t line = (j * lines / plan->readouts + shift) % lines, z = line / n[1];
        for (int64_t i = 0; i < plan->samples; i++) {
            double *point = k + nd * (i + plan->samples * j);
            point[0] = (double)((i - half[0]) * n[0]) / (double)plan->samples;
            point[1] = (double)(line % n[1] - half[1]);
            if (nd == 3) point[2] = (double)(z - half[2]);
        }
    }
}

const lmr_traj lmr_traj_cartesian = {
    "cartesian", "2D or 3D lines along x (matrix X[,Y[,Z]]; readouts, samples, undersampling)", size, fill};
