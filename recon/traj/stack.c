/* A stack of golden-angle stars: the same spokes in every partition along z, partitions outermost.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/traj/traj.h"

static int64_t spokes(const lmr_traj_plan *plan)
{
    return plan->readouts / plan->opts.matrix[2];
}

static larmor_status size(lmr_traj_plan *plan)
{
    const int64_t *n = plan->opts.matrix;
    plan->nd = n[2] > 1 ? 3 : 2;
    if (!plan->samples) plan->samples = 2 * n[0];
    if (!plan->readouts)
        LMR_TRY(lmr_traj_readouts(M_PI / 2 * (double)(n[0] > n[1] ? n[0] : n[1]), plan->opts.undersampling,
                                  &plan->readouts));
    plan->readouts *= n[2];
    return LARMOR_OK;
}

static void fill_readout(void *self, int64_t j)
{
    const lmr_traj_filling *filling = self;
    const lmr_traj_plan *plan = filling->plan;
    const int64_t first = plan->opts.first / plan->opts.matrix[2];
    const double angle = lmr_traj_golden_angle(first + j % spokes(plan), plan->opts.tiny);
    double *line = filling->k + plan->nd * plan->samples * j;
    lmr_traj_spoke(plan, (double[]){cos(angle), sin(angle), 0}, line);
    if (plan->nd == 2) return;
    const int64_t kz = j / spokes(plan) - plan->opts.matrix[2] / 2;
    for (int64_t i = 0; i < plan->samples; i++) line[3 * i + 2] = (double)kz;
}

static void fill(const lmr_traj_plan *plan, double *k)
{
    lmr_parallel(plan->threads, plan->readouts, fill_readout, &(lmr_traj_filling){plan, k});
}

const lmr_traj lmr_traj_stars = {
    .info = {.name = "stars",
             .help =
                 "3D stack of golden-angle stars (matrix X,Y,Z; readouts: spokes of each partition, samples, tiny, "
                 "undersampling)",
             .header = "goldenangle"},
    .size = size,
    .fill = fill,
};
