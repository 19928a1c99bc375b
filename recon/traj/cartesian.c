/* Lines along x at the integers of y (and z, outermost). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/traj/traj.h"

/* Which lines of a matrix are there: the options with their defaults, for y and z. */
typedef struct pattern {
    int64_t lines[2], step[2], middle[2];
    int64_t lowest; /* ky of imaging lines */
} pattern;

static pattern pattern_of(const larmor_traj_opts *o)
{
    pattern p;
    const int64_t lines[2] = {o->matrix[1] ? o->matrix[1] : o->matrix[0], o->matrix[2] ? o->matrix[2] : 1};
    for (int d = 0; d < 2; d++) {
        p.lines[d] = lines[d];
        p.step[d] = o->acceleration[d] ? o->acceleration[d] : 1;
        p.middle[d] = o->calibration[d];
    }
    if (!p.middle[1]) p.middle[1] = p.middle[0] < lines[1] ? p.middle[0] : lines[1];
    const double part = o->partial_fourier != 0 ? o->partial_fourier : 1;
    const int64_t kept = (int64_t)ceil(part * (double)lines[0] - 1e-9);
    p.lowest = lines[0] - lines[0] / 2 - kept;
    return p;
}

static int in_middle(int64_t k, int64_t count)
{
    return k >= -(count / 2) && k < count - count / 2;
}

static int role_of(const pattern *p, int64_t ky, int64_t kz)
{
    int role = 0;
    if (!in_middle(ky, p->lines[0]) || !in_middle(kz, p->lines[1])) return 0;
    if (ky >= p->lowest && ky % p->step[0] == 0 && kz % p->step[1] == 0) role |= LARMOR_LINE_IMAGING;
    if (in_middle(ky, p->middle[0]) && in_middle(kz, p->middle[1])) role |= LARMOR_LINE_CALIBRATION;
    return role;
}

/* larmor_traj_create has its own words for these. */
static int is_possible(const larmor_traj_opts *o)
{
    int is = o->partial_fourier == 0 || (o->partial_fourier > 0 && o->partial_fourier <= 1);
    for (int d = 0; d < 3; d++) is &= o->matrix[d] >= 0;
    for (int d = 0; d < 2; d++) is &= o->acceleration[d] >= 0 && o->calibration[d] >= 0;
    return is;
}

int larmor_traj_line_role(const larmor_traj_opts *opts, int64_t ky, int64_t kz)
{
    if (!opts || !is_possible(opts)) return 0;
    const pattern p = pattern_of(opts);
    return role_of(&p, ky, kz);
}

int lmr_traj_has_pattern(const larmor_traj_opts *o)
{
    return o->acceleration[0] > 1 || o->acceleration[1] > 1 || o->calibration[0] || o->calibration[1] ||
           (o->partial_fourier != 0 && o->partial_fourier != 1);
}

static larmor_status check_pattern(const lmr_traj_plan *plan)
{
    const larmor_traj_opts *o = &plan->opts;
    LMR_REFUSE(plan->readouts || o->undersampling != 1, LARMOR_ERR_ARG,
               "traj: cartesian got readouts or undersampling beside acceleration, "
               "calibration or partial Fourier; leave one of them out");
    for (int d = 0; d < 2; d++)
        LMR_REFUSE(o->acceleration[d] > o->matrix[1 + d] || o->calibration[d] > o->matrix[1 + d], LARMOR_ERR_ARG,
                   "traj: cartesian got acceleration %lld and %lld calibration lines along %c, expected at "
                   "most its %lld lines",
                   (long long)(o->acceleration[d] ? o->acceleration[d] : 1), (long long)o->calibration[d], "yz"[d],
                   (long long)o -> matrix[1 + d]);
    return LARMOR_OK;
}

static void fill_line(const lmr_traj_plan *plan, int64_t ky, int64_t kz, double *line)
{
    const int64_t n = plan->opts.matrix[0], half = plan->samples / 2;
    for (int64_t i = 0; i < plan->samples; i++) {
        double *point = line + plan->nd * i;
        point[0] = (double)((i - half) * n) / (double)plan->samples;
        point[1] = (double)ky;
        if (plan->nd == 3) point[2] = (double)kz;
    }
}

/* The lines of the pattern, y first; k NULL counts them alone. */
static int64_t fill_pattern(const lmr_traj_plan *plan, double *k)
{
    const pattern p = pattern_of(&plan->opts);
    int64_t count = 0;
    for (int64_t i = 0; i < p.lines[0] * p.lines[1]; i++) {
        const int64_t ky = i % p.lines[0] - p.lines[0] / 2, kz = i / p.lines[0] - p.lines[1] / 2;
        if (!role_of(&p, ky, kz)) continue;
        if (k) fill_line(plan, ky, kz, k + plan->nd * plan->samples * count);
        count++;
    }
    return count;
}

static larmor_status size(lmr_traj_plan *plan)
{
    const int64_t *n = plan->opts.matrix;
    plan->nd = n[2] > 1 ? 3 : 2;
    const int64_t lines = n[1] * n[2];
    if (!plan->samples) plan->samples = n[0];
    if (lmr_traj_has_pattern(&plan->opts)) {
        LMR_TRY(check_pattern(plan));
        plan->readouts = fill_pattern(plan, NULL);
    }
    if (!plan->readouts) LMR_TRY(lmr_traj_readouts((double)lines, plan->opts.undersampling, &plan->readouts));
    LMR_REFUSE(plan->readouts > lines, LARMOR_ERR_ARG,
               "traj: cartesian got %lld readouts, expected at most the %lld lines of the matrix",
               (long long)plan->readouts, (long long)lines);
    return LARMOR_OK;
}

/* Fewer readouts than lines are spread evenly over them, and one goes through the centre. */
static void fill(const lmr_traj_plan *plan, double *k)
{
    if (lmr_traj_has_pattern(&plan->opts)) {
        fill_pattern(plan, k);
        return;
    }
    const int64_t *n = plan->opts.matrix, lines = n[1] * n[2];
    const int64_t half[2] = {n[1] / 2, n[2] / 2}, centre = half[0] + n[1] * half[1];
    const int64_t nearest = centre * plan->readouts / lines; /* the readout that comes just before the centre */
    const int64_t shift = centre - nearest * lines / plan->readouts;
    for (int64_t j = 0; j < plan->readouts; j++) {
        const int64_t line = (j * lines / plan->readouts + shift) % lines;
        fill_line(plan, line % n[1] - half[0], line / n[1] - half[1], k + plan->nd * plan->samples * j);
    }
}

const lmr_traj lmr_traj_cartesian = {
    .info = {.name = "cartesian",
             .help = "2D or 3D lines along x (matrix X[,Y[,Z]]; readouts, samples, undersampling; acceleration, "
                     "calibration-lines, partial-fourier)",
             .header = "cartesian",
             .lines = 1},
    .size = size,
    .fill = fill,
};
