/* Radial trajectories in the plane and in space.
 *
 * Winkelmann et al., IEEE Trans. Med. Imaging 26, 68 (2007); Wundrak et al., IEEE Trans. Med. Imaging 34, 1262
 * (2015); Chan et al., Magn. Reson. Med. 61, 354 (2009); Piccini et al., Magn. Reson. Med. 66, 1049 (2011).
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/traj/traj.h"

void lmr_traj_spoke(const lmr_traj_plan *plan, const double *direction, double *k)
{
    const int64_t centre = plan->samples / 2;
    for (int64_t i = 0; i < plan->samples; i++)
        for (int d = 0; d < plan->nd; d++)
            k[d + plan->nd * i] =
                direction[d] * (double)((i - centre) * plan->opts.matrix[d]) / (double)plan->samples;
}

double lmr_traj_golden_angle(int64_t j, int64_t tiny)
{
    const double ratio = (1 + sqrt(5)) / 2;
    return fmod((double)j * (M_PI / (ratio + (double)tiny - 1)), 2 * M_PI);
}

double lmr_traj_golden_shift(const lmr_traj_plan *plan)
{
    const int64_t repetition = plan->opts.first / plan->readouts;
    return fmod((double)repetition * ((sqrt(5) - 1) / 2), 1);
}

/* Spokes that Nyquist asks for in the plane: neighbours 1/FOV apart at the rim. */
static larmor_status plane_size(lmr_traj_plan *plan)
{
    const int64_t *n = plan->opts.matrix;
    plan->nd = 2;
    if (!plan->samples) plan->samples = 2 * n[0];
    if (plan->readouts) return LARMOR_OK;
    return lmr_traj_readouts(M_PI / 2 * (double)(n[0] > n[1] ? n[0] : n[1]), plan->opts.undersampling,
                             &plan->readouts);
}

static larmor_status radial_size(lmr_traj_plan *plan)
{
    LMR_TRY(lmr_traj_flat(plan, "radial", "stars or koosh"));
    LMR_REFUSE(plan->opts.tiny > 1, LARMOR_ERR_ARG,
               "traj: radial got tiny %lld, but its spokes are uniform over pi; use golden",
               (long long)plan->opts.tiny);
    return plane_size(plan);
}

static void radial_fill(const lmr_traj_plan *plan, double *k)
{
    const double shift = lmr_traj_golden_shift(plan);
    for (int64_t j = 0; j < plan->readouts; j++) {
        const double angle = M_PI * ((double)j + shift) / (double)plan->readouts;
        lmr_traj_spoke(plan, (double[]){cos(angle), sin(angle)}, k + 2 * plan->samples * j);
    }
}

const lmr_traj lmr_traj_radial = {
    .info = {.name = "radial",
             .help = "2D spokes, uniform over pi (matrix X[,Y]; readouts, samples, undersampling)",
             .header = "radial"},
    .size = radial_size,
    .fill = radial_fill,
};

static larmor_status golden_size(lmr_traj_plan *plan)
{
    LMR_TRY(lmr_traj_flat(plan, "golden", "stars or koosh"));
    return plane_size(plan);
}

static void golden_fill(const lmr_traj_plan *plan, double *k)
{
    for (int64_t j = 0; j < plan->readouts; j++) {
        const double angle = lmr_traj_golden_angle(plan->opts.first + j, plan->opts.tiny);
        lmr_traj_spoke(plan, (double[]){cos(angle), sin(angle)}, k + 2 * plan->samples * j);
    }
}

const lmr_traj lmr_traj_golden = {
    .info = {.name = "golden",
             .help = "2D spokes, golden angle or tiny golden angles (matrix X[,Y]; readouts, samples, tiny, "
                     "undersampling)",
             .header = "goldenangle"},
    .size = golden_size,
    .fill = golden_fill,
};

/* Neighbours 1/FOV apart at the rim: a spoke for each unit of area of the half sphere of radius N / 2. */
static larmor_status ball_size(const char *name, lmr_traj_plan *plan)
{
    const int64_t *n = plan->opts.matrix;
    int64_t most;
    plan->nd = 3;
    LMR_REFUSE(n[2] == 1, LARMOR_ERR_ARG,
               "traj: %s got matrix %lld x %lld x 1, expected three dimensions; use golden", name, (long long)n[0],
               (long long)n[1]);
    most = n[0] > n[1] ? n[0] : n[1];
    most = most > n[2] ? most : n[2];
    if (!plan->samples) plan->samples = 2 * n[0];
    if (plan->readouts) return LARMOR_OK;
    return lmr_traj_readouts(M_PI / 2 * (double)most * (double)most, plan->opts.undersampling, &plan->readouts);
}

static larmor_status koosh_size(lmr_traj_plan *plan)
{
    return ball_size("koosh", plan);
}

/* The golden means of two dimensions: with x = 1.4656 the real root of x^3 = x^2 + 1, they are x - 1 and x^-1. */
static void koosh_spoke(void *self, int64_t j)
{
    const lmr_traj_filling *filling = self;
    const lmr_traj_plan *plan = filling->plan;
    const double mean[2] = {0.465571231876768, 0.682327803828019}, number = (double)(plan->opts.first + j);
    const double z = fmod(number * mean[0], 1), angle = 2 * M_PI * fmod(number * mean[1], 1), rim = sqrt(1 - z * z);
    lmr_traj_spoke(plan, (double[]){rim * cos(angle), rim * sin(angle), z}, filling->k + 3 * plan->samples * j);
}

static void koosh_fill(const lmr_traj_plan *plan, double *k)
{
    lmr_parallel(plan->threads, plan->readouts, koosh_spoke, &(lmr_traj_filling){plan, k});
}

const lmr_traj lmr_traj_koosh = {
    .info = {.name = "koosh",
             .help =
                 "3D spokes over the half sphere, golden means (matrix X[,Y,Z]; readouts, samples, undersampling)",
             .header = "radial",
             .solid = 1},
    .size = koosh_size,
    .fill = koosh_fill,
};

enum { INTERLEAF = 22 }; /* readouts, the first one along z */

static larmor_status phyllotaxis_size(lmr_traj_plan *plan)
{
    return ball_size("phyllotaxis", plan);
}

/* Interleaf i has points i, i + interleaves, ... of one spiral over the half sphere. */
static void phyllotaxis_spoke(void *self, int64_t j)
{
    const lmr_traj_filling *filling = self;
    const lmr_traj_plan *plan = filling->plan;
    const int64_t interleaves = (plan->readouts + INTERLEAF - 1) / INTERLEAF;
    const int64_t point = j / INTERLEAF + (j % INTERLEAF - 1) * interleaves;
    const double golden = M_PI * (3 - sqrt(5)), of_all = (double)point / (double)((INTERLEAF - 1) * interleaves);
    const double polar = j % INTERLEAF ? M_PI / 2 * sqrt(of_all) : 0;
    const double turn = fmod((double)point * golden, 2 * M_PI) + 2 * M_PI * lmr_traj_golden_shift(plan);
    lmr_traj_spoke(plan, (double[]){sin(polar) * cos(turn), sin(polar) * sin(turn), cos(polar)},
                   filling->k + 3 * plan->samples * j);
}

static void phyllotaxis_fill(const lmr_traj_plan *plan, double *k)
{
    lmr_parallel(plan->threads, plan->readouts, phyllotaxis_spoke, &(lmr_traj_filling){plan, k});
}

const lmr_traj lmr_traj_phyllotaxis = {
    .info = {.name = "phyllotaxis",
             .help =
                 "3D spokes over the half sphere, spiral phyllotaxis in interleaves of 22, the first of each along "
                 "z (matrix X[,Y,Z]; readouts, samples, undersampling)",
             .header = "radial",
             .solid = 1},
    .size = phyllotaxis_size,
    .fill = phyllotaxis_fill,
};
