/* Poses of readouts as few states. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/motion/rigid.h"

typedef struct clustering {
    const double *poses; /* [6] of each readout */
    int64_t readouts;
    int nd, most;
    double radius_mm;
    int *state;
    double *pose; /* [6] of each state */
} clustering;

static double distance(const clustering *c, int64_t readout, int state)
{
    return lmr_rigid_distance(c->poses + LARMOR_POSE * readout, c->pose + LARMOR_POSE * state, c->nd, c->radius_mm);
}

static void begin_state(const clustering *c, int64_t readout, int state)
{
    for (int p = 0; p < LARMOR_POSE; p++) c->pose[LARMOR_POSE * state + p] = c->poses[LARMOR_POSE * readout + p];
}

/* A readout joins the nearest state that is near enough, or begins one. 0: too many. */
static int assign(const clustering *c, double tolerance_mm)
{
    int count = 0;
    for (int64_t j = 0; j < c->readouts; j++) {
        double least = INFINITY;
        for (int m = 0; m < count; m++) {
            const double own = distance(c, j, m);
            if (own < least) c->state[j] = m;
            least = fmin(least, own);
        }
        if (least <= tolerance_mm) continue;
        if (count == c->most) return 0;
        c->state[j] = count;
        begin_state(c, j, count++);
    }
    return count;
}

/* A state takes the middle of its readouts' poses, where they are nearer to that. */
static double centre(const clustering *c, int count)
{
    double within = 0;
    for (int m = 0; m < count; m++) {
        double low[LARMOR_POSE], high[LARMOR_POSE], middle[LARMOR_POSE], far = 0, far_from_middle = 0;
        for (int p = 0; p < LARMOR_POSE; p++) low[p] = high[p] = c->pose[LARMOR_POSE * m + p];
        for (int64_t j = 0; j < c->readouts; j++)
            for (int p = 0; p < LARMOR_POSE && c->state[j] == m; p++) {
                low[p] = fmin(low[p], c->poses[LARMOR_POSE * j + p]);
                high[p] = fmax(high[p], c->poses[LARMOR_POSE * j + p]);
            }
        for (int p = 0; p < LARMOR_POSE; p++) middle[p] = (low[p] + high[p]) / 2;
        for (int64_t j = 0; j < c->readouts; j++) {
            if (c->state[j] != m) continue;
            far = fmax(far, distance(c, j, m));
            far_from_middle =
                fmax(far_from_middle, lmr_rigid_distance(c->poses + LARMOR_POSE * j, middle, c->nd, c->radius_mm));
        }
        for (int p = 0; p < LARMOR_POSE && far_from_middle < far; p++) c->pose[LARMOR_POSE * m + p] = middle[p];
        within = fmax(within, fmin(far, far_from_middle));
    }
    return within;
}

static void find_largest(const clustering *c, larmor_motion_states *out)
{
    for (int64_t j = 0; j < c->readouts; j++) {
        const double *pose = c->poses + LARMOR_POSE * j;
        double square = 0;
        for (int d = 0; d < c->nd; d++) square += pose[d] * pose[d];
        out->largest_mm = fmax(out->largest_mm, sqrt(square));
        out->largest_deg = fmax(out->largest_deg, lmr_rigid_angle(pose, c->nd));
    }
}

void larmor_motion_states_free(larmor_motion_states *states)
{
    if (!states) return;
    LMR_FREE(states->state, states->pose);
    *states = (larmor_motion_states){.count = 0};
}

larmor_status larmor_motion_states_find(const larmor_array *motion, int nd, const double *fov_mm, double tolerance_mm,
                                        int most, larmor_motion_states *states)
{
    LMR_NEED(states);
    *states = (larmor_motion_states){.count = 0};
    LMR_NEED(motion, fov_mm);
    LMR_TRY(lmr_rigid_check("motion states", nd, fov_mm));
    LMR_REFUSE(!(tolerance_mm > 0) || most < 1, LARMOR_ERR_ARG,
               "motion states: got a tolerance of %g mm and at most %d, expected more than 0", tolerance_mm, most);
    const larmor_shape shape = larmor_array_shape(motion);
    const int64_t readouts = shape.ndim > 0 ? shape.dim[0] : 0;
    LMR_OWN_MEMORY(double, poses, lmr_poses_read("motion states", motion, readouts, &poses));
    clustering c = {.poses = poses, .readouts = readouts, .nd = nd, .most = most};
    for (int d = 0; d < nd; d++) c.radius_mm = fmax(c.radius_mm, fov_mm[d] / 2);
    const int64_t room = readouts < most ? readouts : most;
    c.state = states->state = lmr_new(readouts, sizeof *c.state);
    c.pose = states->pose = lmr_new(room * LARMOR_POSE, sizeof *c.pose);
    if (!c.state || !c.pose) {
        larmor_motion_states_free(states);
        return LMR_NO_MEMORY();
    }
    while (readouts && !(states->count = assign(&c, tolerance_mm))) tolerance_mm *= 2;
    states->readouts = readouts;
    states->within_mm = centre(&c, states->count);
    find_largest(&c, states);
    return LARMOR_OK;
}
