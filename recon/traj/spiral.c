/* Spirals from the centre outwards, in arms that are rotated copies of each other.
 *
 * With u the radius over N / 2, an arm is k(u) = N / 2 u exp(i (2 pi turns u^(1 / density) + phase)). Neighbouring
 * arms are furthest apart at the rim, where turns = density N / (2 arms) puts them 1/FOV apart. Samples are equally
 * far apart along the arm: du/dl = 1 / |dk/du| is integrated numerically, but every sample lies on the spiral.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/traj/table.h"

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

/* The arm's length, by Simpson's rule. */
static double arm_length(const arm *a)
{
    enum { PANELS = 2000 };
    double sum = 0;
    for (int i = 0; i < PANELS; i++) {
        const double u = (double)i / PANELS;
        sum += speed(a, u) + 4 * speed(a, u + 0.5 / PANELS) + speed(a, u + 1.0 / PANELS);
    }
    return sum / (6 * PANELS);
}

/* u after going a distance along the arm, by Runge-Kutta steps of at most 1/2. */
static double advance(const arm *a, double u, double distance)
{
    const double steps = ceil(2 * distance), h = distance / steps;
    for (double i = 0; i < steps; i++) {
        const double k1 = 1 / speed(a, u), k2 = 1 / speed(a, u + h / 2 * k1);
        const double k3 = 1 / speed(a, u + h / 2 * k2), k4 = 1 / speed(a, u + h * k3);
        u += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
    return u;
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
    const double turns = a.twist * a.density, distance = arm_length(&a) / (double)plan->samples;
    const double half[2] = {(double)plan->opts.matrix[0] / 2, (double)plan->opts.matrix[1] / 2};
    double u = 0;
    for (int64_t i = 0; i < plan->samples; i++) {
        for (int64_t j = 0; j < plan->readouts; j++) {
            double *point = k + 2 * (i + plan->samples * j);
            const double angle = turns * pow(u, 1 / a.density) + 2 * M_PI * (double)j / (double)plan->readouts;
            point[0] = half[0] * u * cos(angle);
            point[1] = half[1] * u * sin(angle);
        }
        u = advance(&a, u, distance);
    }
}

const lmr_traj lmr_traj_spiral = {
    "spiral", "2D spiral arms from the centre (matrix X[,Y]; readouts: arms, samples, density, undersampling)", size,
    fill};
