/* Spirals from the centre outwards, in arms that are rotated copies of each other.
 *
 * With u the radius over N / 2, an arm is k(u) = N / 2 u exp(i (2 pi turns u^(1 / density) + phase)). Neighbouring
 * arms are furthest apart at the rim, where turns = density N / (2 arms) puts them 1/FOV apart. Samples are equally
 * far apart along the arm: du/dl = 1 / |dk/du| is integrated numerically, but every sample lies on the spiral.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/traj/traj.h"

typedef struct arm {
    double radius, twist, density; /* |dk/du| = radius sqrt(1 + (twist u^(1/density))^2) */
} arm;

static double largest(const lmr_traj_plan *plan)
{
    const int64_t *n = plan->opts.matrix;
    return (double)(n[0] > n[1] ? n[0] : n[1]);
}

/* Short readouts: 8 matrix lines to an arm. */
static double default_arms(const lmr_traj_plan *plan)
{
    return ceil(largest(plan) / 8);
}

static arm arm_of(const lmr_traj_plan *plan)
{
    const double n = largest(plan), u = plan->opts.undersampling;
    const double full = plan->opts.readouts ? (double)plan->readouts * u : default_arms(plan);
    return (arm){.radius = n / 2, .twist = M_PI * n / full, .density = plan->opts.density};
}

static double speed(const arm *a, double u)
{
    return a->radius * hypot(1, a->twist * pow(u, 1 / a->density));
}

enum { PANELS = 20000 }; /* of the arm, short in the centre, where it bends most */

static double panel_start(const arm *a, int i)
{
    return pow((double)i / PANELS, a->density + 1);
}

/* The length of a panel, by Simpson's rule. */
static double panel_length(const arm *a, int i)
{
    const double from = panel_start(a, i), to = panel_start(a, i + 1);
    return (to - from) / 6 * (speed(a, from) + 4 * speed(a, (from + to) / 2) + speed(a, to));
}

static double arm_length(const arm *a)
{
    double sum = 0;
    for (int i = 0; i < PANELS; i++) sum += panel_length(a, i);
    return sum;
}

static larmor_status size(lmr_traj_plan *plan)
{
    LMR_TRY(lmr_traj_flat(plan, "spiral", "stars or koosh"));
    plan->nd = 2;
    if (!plan->readouts) LMR_TRY(lmr_traj_readouts(default_arms(plan), plan->opts.undersampling, &plan->readouts));
    if (plan->samples) return LARMOR_OK;
    const arm a = arm_of(plan);
    plan->samples = (int64_t)ceil(2 * arm_length(&a)); /* 1/2 apart, as on a spoke */
    return LARMOR_OK;
}

static void fill(const lmr_traj_plan *plan, double *k)
{
    const arm a = arm_of(plan);
    const double twist = a.twist * a.density, total = arm_length(&a);
    const double half[2] = {(double)plan->opts.matrix[0] / 2, (double)plan->opts.matrix[1] / 2};
    const double shift = lmr_traj_golden_shift(plan);
    int panel = 0;
    double before = 0, length = panel_length(&a, 0); /* of all panels up to this one, and of this one */
    for (int64_t i = 0; i < plan->samples; i++) {
        const double target = total * (double)i / (double)plan->samples;
        while (target > before + length && panel + 1 < PANELS) {
            before += length;
            length = panel_length(&a, ++panel);
        }
        const double from = panel_start(&a, panel), to = panel_start(&a, panel + 1);
        const double u = from + (target - before) / length * (to - from);
        for (int64_t j = 0; j < plan->readouts; j++) {
            double *point = k + 2 * (i + plan->samples * j);
            const double start = 2 * M_PI * ((double)j + shift) / (double)plan->readouts;
            const double angle = twist * pow(u, 1 / a.density) + start;
            point[0] = half[0] * u * cos(angle);
            point[1] = half[1] * u * sin(angle);
        }
    }
}

const lmr_traj lmr_traj_spiral = {
    .info = {.name = "spiral",
             .help = "2D spiral arms from the centre (matrix X[,Y]; readouts: arms, samples, density: 1 is "
                     "Archimedean, more is denser in the centre, undersampling)",
             .header = "spiral"},
    .size = size,
    .fill = fill,
};
