/* Rigid motion from samples: the poses of a few groups of readouts with which one image explains the samples best, by
 * Gauss and Newton's steps on the misfit of the image that fits best (variable projection: Golub and Pereyra, SIAM J.
 * Numer. Anal. 10, 413 (1973)), from the centre of k-space outwards. SPDX-License-Identifier: Apache-2.0 */
#include "recon/motion/find.h"
#include "core/core.h"

enum {
    STATES = 4,
    MOST_STATES = 32,
    LEAST_READOUTS = 4, /* of a state */
    HELD_ONE_OF = 6,    /* readouts that are held out */
    FEW_HELD = 10,      /* with fewer, the samples of each coil count by themselves */
    SOLVE_STEPS = 12,
    PROJECT_STEPS = 3,
    MOST_STEPS = 6, /* of a level */
    MOST_REJECTED = 3,
    POWER_STEPS = 6,
    MOST_REACH = 64, /* 1/FOV */
    MOST_REACH_3D = 32,
};

/* 1/FOV: shifts of up to FOV / (2 reach) lead to the right place. Others were not tried,
 * nor were other limits; docs/records/motion.md has the scenes. */
static const double reaches[] = {5, 10, 20}, reaches_3d[] = {4, 8};
#define STEP_CYCLES 0.05     /* of a derivative, at the edge of the level */
#define OBJECT_FOVS 0.25     /* distance from the centre at which rotations are as far as that */
#define LAMBDA 1e-3          /* of the largest eigenvalue */
#define SETTLED 3e-3         /* relative fall of the misfit in a step */
#define LEAST_FALL 0.03      /* of the energy that held-out readouts leave */
#define LARGE_FALL 0.5       /* of which the ratios of single readouts tell, where few make up the difference */
#define LEAST_SIGNIFICANCE 3 /* of the fall, in its standard errors */
#define SETTLED_VOXELS 0.05  /* that a level moves the object's edge by, at most, if it is the last */

/* Where a search is. */
typedef struct search {
    const lmr_motion_scan *scan;
    const lmr_motion_level *level;
    const larmor_array *weights;
    double lambda, step[LARMOR_POSE]; /* of derivatives */
    double *poses;                    /* [6, states] */
    larmor_array *x, *r;
    double cost;
    int unknowns;
    double *H, *g; /* [unknowns, unknowns], [unknowns] */
    int steps;
} search;

/* Number q of a pose that is looked for: its place among the six. */
static int number_of(const lmr_motion_scan *s, int q)
{
    static const int in_plane[] = {0, 1, 5};
    return s->nd == 2 ? in_plane[q] : q;
}

/* ---- a step ---- */

/* *out <- the samples' derivative by number q of all poses but the first, [samples, readouts, coils] on the host. */
static larmor_status derive(const search *s, int q, float **out)
{
    const lmr_motion_scan *scan = s->scan;
    const int p = number_of(scan, q);
    LMR_FREED_BY(lmr_motion_fit_free) lmr_motion_fit fit = {.A = NULL};
    LMR_HEAP double *poses = lmr_new((int64_t)LARMOR_POSE * scan->states, sizeof *poses);
    *out = NULL;
    if (!poses) return LMR_NO_MEMORY();
    memcpy(poses, s->poses, LARMOR_POSE * (size_t)scan->states * sizeof *poses);
    for (int m = 1; m < scan->states; m++) poses[LARMOR_POSE * m + p] += s->step[p];
    LMR_TRY(lmr_motion_fit_open(scan, s->level, poses, s->weights, 0, &fit));
    LMR_OWN(larmor_array, moved, larmor_array_create(scan->dev, LARMOR_C64, larmor_array_shape(s->r), &moved));
    LMR_TRY(larmor_op_forward(fit.A, s->x, moved));
    LMR_TRY(larmor_axpby(-1, fit.y, 1, moved));
    LMR_TRY(larmor_axpby(-1 / s->step[p], s->r, 1 / s->step[p], moved));
    return larmor_array_download(moved, LARMOR_C64, out);
}

/* sums[m] += Re <a, b> over the readouts of state m. */
static void dot_by_state(const search *s, const float *a, const float *b, double *sums)
{
    const lmr_motion_scan *scan = s->scan;
    const int64_t samples = s->level->samples;
    for (int64_t row = 0; row < scan->readouts * scan->coils; row++) {
        double sum = 0;
        for (int64_t i = 2 * samples * row; i < 2 * samples * (row + 1); i++) sum += (double)a[i] * b[i];
        sums[scan->state[row % scan->readouts]] += sum;
    }
}

/* *out <- J's readouts of a state, minus what an image can explain of them. */
static larmor_status project(const search *s, const lmr_motion_fit *fit, const float *J, int state, float **out)
{
    const lmr_motion_scan *scan = s->scan;
    const int64_t samples = s->level->samples, rows = scan->readouts * scan->coils;
    LMR_HEAP float *own = lmr_new(rows * samples, 2 * sizeof *own);
    LMR_OWNED(larmor_array) *b = NULL, *z = NULL, *seen = NULL;
    const larmor_solve_opts opts = {
        .max_iter = PROJECT_STEPS, .tol = 1e-3, .lambda = s->lambda, .precondition = fit->M};
    double size;
    *out = NULL;
    if (!own) return LMR_NO_MEMORY();
    for (int64_t row = 0; row < rows; row++)
        if (scan->state[row % scan->readouts] == state)
            memcpy(own + 2 * samples * row, J + 2 * samples * row, 2 * (size_t)samples * sizeof *own);
        else
            memset(own + 2 * samples * row, 0, 2 * (size_t)samples * sizeof *own);
    LMR_TRY(larmor_array_upload(scan->dev, LARMOR_C64, larmor_array_shape(s->r), LARMOR_C64, own, &b));
    LMR_TRY(larmor_nrm2(b, &size));
    if (size > 0) {
        LMR_TRY(larmor_array_create(scan->dev, LARMOR_C64, s->level->image, &z));
        LMR_TRY(larmor_array_create(scan->dev, LARMOR_C64, larmor_array_shape(s->r), &seen));
        LMR_TRY(larmor_cg(fit->A, b, z, &opts, NULL));
        LMR_TRY(larmor_op_forward(fit->A, z, seen));
        LMR_TRY(larmor_axpby(-1, seen, 1, b));
    }
    return larmor_array_download(b, LARMOR_C64, out);
}

/* H and g of all unknowns: number q of state m is unknown (m - 1) numbers + q. */
static larmor_status fill_normal(search *s, const lmr_motion_fit *fit, float *const *J)
{
    const int numbers = s->scan->numbers, states = s->scan->states, n = s->unknowns;
    LMR_HEAP LMR_NEW(double, sums, states);
    LMR_OWN_MEMORY(float, r, larmor_array_download(s->r, LARMOR_C64, &r));
    for (int i = 0; i < n; i++) {
        LMR_OWN_MEMORY(float, column, project(s, fit, J[i % numbers], 1 + i / numbers, &column));
        for (int q = 0; q < numbers; q++) {
            memset(sums, 0, (size_t)states * sizeof *sums);
            dot_by_state(s, column, J[q], sums);
            for (int m = 1; m < states; m++) s->H[i + n * ((m - 1) * numbers + q)] = sums[m];
        }
        memset(sums, 0, (size_t)states * sizeof *sums);
        dot_by_state(s, column, r, sums);
        s->g[i] = 0;
        for (int m = 0; m < states; m++) s->g[i] += sums[m];
    }
    return LARMOR_OK;
}

static larmor_status linearise(search *s, const lmr_motion_fit *fit)
{
    float *J[LARMOR_POSE] = {NULL};
    larmor_status st = LARMOR_OK;
    for (int q = 0; q < s->scan->numbers && !st; q++) st = derive(s, q, &J[q]);
    if (!st) st = fill_normal(s, fit, J);
    for (int q = 0; q < LARMOR_POSE; q++) free(J[q]);
    return st;
}

/* (H + damping diag H) d = -g by elimination, H as the mean with its transpose. 0: it is singular. */
static int solve_step(const search *s, double damping, double *work, double *d)
{
    const int n = s->unknowns;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) work[i + n * j] = (s->H[i + n * j] + s->H[j + n * i]) / 2;
        work[i + n * i] *= 1 + damping;
        d[i] = -s->g[i];
    }
    for (int i = 0; i < n; i++) { /* H is positive definite, about: no pivots */
        if (!(work[i + n * i] > 1e-12 * fabs(s->H[i + n * i]))) return 0;
        for (int j = i + 1; j < n; j++) {
            const double factor = work[j + n * i] / work[i + n * i];
            for (int k = i; k < n; k++) work[j + n * k] -= factor * work[i + n * k];
            d[j] -= factor * d[i];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) d[i] -= work[i + n * k] * d[k];
        d[i] /= work[i + n * i];
    }
    return 1;
}

/* The poses after a step, and 1 if they leave less, which then are the search's. */
static larmor_status try_step(search *s, const double *d, lmr_motion_fit *fit, int *is_better)
{
    const lmr_motion_scan *scan = s->scan;
    LMR_FREED_BY(lmr_motion_fit_free) lmr_motion_fit next = {.A = NULL};
    LMR_HEAP double *poses = lmr_new((int64_t)LARMOR_POSE * scan->states, sizeof *poses);
    double cost;
    *is_better = 0;
    if (!poses) return LMR_NO_MEMORY();
    memcpy(poses, s->poses, LARMOR_POSE * (size_t)scan->states * sizeof *poses);
    for (int i = 0; i < s->unknowns; i++) {
        const int p = number_of(scan, i % scan->numbers);
        const double most = s->step[p] * 0.25 / STEP_CYCLES; /* a quarter of a cycle */
        poses[LARMOR_POSE * (1 + i / scan->numbers) + p] += fmin(fmax(d[i], -most), most);
    }
    LMR_TRY(lmr_motion_fit_open(scan, s->level, poses, s->weights, s->lambda, &next));
    LMR_OWN(larmor_array, x, larmor_array_create(scan->dev, LARMOR_C64, s->level->image, &x));
    LMR_OWN(larmor_array, r, larmor_array_create(scan->dev, LARMOR_C64, larmor_array_shape(s->r), &r));
    LMR_TRY(larmor_copy(s->x, x));
    LMR_TRY(lmr_motion_fit_solve(&next, s->lambda, SOLVE_STEPS, x, r, &cost));
    if (!(cost < s->cost)) return LARMOR_OK;
    *is_better = 1;
    s->cost = cost;
    memcpy(s->poses, poses, LARMOR_POSE * (size_t)scan->states * sizeof *poses);
    LMR_TRY(larmor_copy(x, s->x));
    LMR_TRY(larmor_copy(r, s->r));
    lmr_motion_fit_free(fit);
    *fit = next;
    next = (lmr_motion_fit){.A = NULL};
    return LARMOR_OK;
}

/* ---- levels ---- */

/* Steps until the misfit settles; fit is that of the search's poses. */
static larmor_status descend(search *s, lmr_motion_fit *fit)
{
    LMR_HEAP double *work = lmr_new((int64_t)s->unknowns * s->unknowns, sizeof *work);
    LMR_HEAP double *d = lmr_new(s->unknowns, sizeof *d);
    double damping = 1e-2;
    if (!work || !d) return LMR_NO_MEMORY();
    for (int i = 0; i < MOST_STEPS; i++) {
        const double before = s->cost;
        int is_better = 0;
        LMR_TRY(linearise(s, fit));
        for (int rejected = 0; rejected < MOST_REJECTED && !is_better; rejected++) {
            if (solve_step(s, damping, work, d)) LMR_TRY(try_step(s, d, fit, &is_better));
            damping = is_better ? damping / 4 : 10 * damping;
        }
        s->steps += is_better;
        if (!is_better || before - s->cost < SETTLED * before) break;
    }
    return LARMOR_OK;
}

static larmor_status begin(search *s, lmr_motion_fit *fit)
{
    const lmr_motion_scan *scan = s->scan;
    double largest;
    for (int d = 0; d < scan->nd; d++) s->step[d] = STEP_CYCLES * scan->fov_mm[d] / s->level->reach;
    for (int d = 0; d < 3; d++) s->step[3 + d] = STEP_CYCLES / (OBJECT_FOVS * s->level->reach) * 180 / M_PI;
    LMR_TRY(lmr_motion_fit_open(scan, s->level, s->poses, s->weights, 0, fit));
    LMR_TRY(larmor_opnorm(fit->A, POWER_STEPS, &largest));
    s->lambda = LAMBDA * largest;
    lmr_motion_fit_free(fit);
    LMR_TRY(lmr_motion_fit_open(scan, s->level, s->poses, s->weights, s->lambda, fit));
    LMR_TRY(larmor_array_create(scan->dev, LARMOR_C64, s->level->image, &s->x));
    LMR_TRY(larmor_array_create(scan->dev, LARMOR_C64, larmor_array_shape(s->level->kspace), &s->r));
    return lmr_motion_fit_solve(fit, s->lambda, SOLVE_STEPS, s->x, s->r, &s->cost);
}

/* poses <- those that explain the samples with these weights best. */
static larmor_status refine(const lmr_motion_scan *scan, const lmr_motion_level *level, const larmor_array *weights,
                            double *poses, int *steps)
{
    const int n = (scan->states - 1) * scan->numbers;
    LMR_FREED_BY(lmr_motion_fit_free) lmr_motion_fit fit = {.A = NULL};
    LMR_HEAP double *H = lmr_new((int64_t)n * n, sizeof *H), *g = lmr_new(n, sizeof *g);
    search s = {.scan = scan, .level = level, .weights = weights, .poses = poses, .unknowns = n, .H = H, .g = g};
    if (!H || !g) return LMR_NO_MEMORY();
    larmor_status st = begin(&s, &fit);
    if (!st) st = descend(&s, &fit);
    *steps += s.steps;
    LMR_FREE(s.x, s.r);
    return st;
}

/* ---- whether it helps ---- */

/* error [readouts, coils] <- what the image of the other readouts leaves of those held out, in these poses. */
static larmor_status predict(const lmr_motion_scan *s, const lmr_motion_level *l, const double *poses, double *error,
                             double *energy)
{
    LMR_FREED_BY(lmr_motion_fit_free) lmr_motion_fit kept = {.A = NULL}, held = {.A = NULL};
    double largest, cost, size;
    LMR_TRY(lmr_motion_fit_open(s, l, poses, l->kept, 0, &kept));
    LMR_TRY(larmor_opnorm(kept.A, POWER_STEPS, &largest));
    lmr_motion_fit_free(&kept);
    LMR_TRY(lmr_motion_fit_open(s, l, poses, l->kept, LAMBDA * largest, &kept));
    LMR_OWN(larmor_array, x, larmor_array_create(s->dev, LARMOR_C64, l->image, &x));
    LMR_OWN(larmor_array, r, larmor_array_create(s->dev, LARMOR_C64, larmor_array_shape(l->kspace), &r));
    LMR_TRY(lmr_motion_fit_solve(&kept, LAMBDA * largest, SOLVE_STEPS, x, r, &cost));
    LMR_TRY(lmr_motion_fit_open(s, l, poses, l->held, 0, &held));
    LMR_TRY(larmor_op_forward(held.A, x, r));
    LMR_TRY(larmor_axpby(-1, held.y, 1, r));
    LMR_TRY(larmor_nrm2(held.y, &size));
    *energy = size * size;
    LMR_OWN_MEMORY(float, left, larmor_array_download(r, LARMOR_C64, &left));
    for (int64_t j = 0; j < s->readouts * s->coils; j++) error[j] = 0;
    for (int64_t i = 0; i < 2 * l->samples * s->readouts * s->coils; i++)
        error[i / 2 / l->samples] += (double)left[i] * left[i];
    return LARMOR_OK;
}

/* In place: all coils' is that of the first. */
static void add_coils(const lmr_motion_scan *s, double *error)
{
    for (int64_t j = s->readouts; j < s->readouts * s->coils; j++) error[j % s->readouts] += error[j];
}

/* The mean of what held-out readouts of so many coils tell, over its standard error. */
static double significance(const lmr_motion_scan *s, int64_t coils, const double *told)
{
    double mean = 0, square = 0, count = 0;
    for (int64_t j = 0; j < s->readouts * coils; j++) {
        if (!s->is_held[j % s->readouts]) continue;
        mean += told[j];
        square += told[j] * told[j];
        count++;
    }
    mean /= count;
    const double variance = fmax(0, square / count - mean * mean) / fmax(1, count - 1);
    return variance > 0 ? mean / sqrt(variance) : 0;
}

/* Readouts tell independently of each other whether the poses explain them better, and so do coils but for what the
 * model lacks. A difference of energies that few readouts make up has as large a standard error; the logarithms of
 * their ratios do not. */
static larmor_status judge(const lmr_motion_scan *s, const lmr_motion_level *l, const double *poses,
                           larmor_motion_found *found)
{
    LMR_HEAP double *rest = calloc((size_t)s->states * LARMOR_POSE, sizeof *rest);
    const int64_t room = s->readouts * s->coils;
    LMR_HEAP double *still = lmr_new(room, sizeof *still), *moved = lmr_new(room, sizeof *moved);
    LMR_HEAP double *fall = lmr_new(room, sizeof *fall), *ratio = lmr_new(room, sizeof *ratio);
    double energy, before = 0, after = 0;
    int64_t held = 0;
    if (!rest || !still || !moved || !fall || !ratio) return LMR_NO_MEMORY();
    LMR_TRY(predict(s, l, rest, still, &energy));
    LMR_TRY(predict(s, l, poses, moved, &energy));
    for (int64_t j = 0; j < s->readouts; j++) held += s->is_held[j] != 0;
    const int64_t coils = held < FEW_HELD ? s->coils : 1;
    if (coils < s->coils) {
        add_coils(s, still);
        add_coils(s, moved);
    }
    for (int64_t j = 0; j < s->readouts * coils; j++) {
        fall[j] = still[j] - moved[j];
        ratio[j] = still[j] > 0 && moved[j] > 0 ? log(still[j] / moved[j]) : 0;
        if (!s->is_held[j % s->readouts]) continue;
        before += still[j];
        after += moved[j];
    }
    found->misfit_still = energy > 0 ? sqrt(before / energy) : 0;
    found->misfit = energy > 0 ? sqrt(after / energy) : 0;
    found->significance = significance(s, coils, fall);
    if (after < (1 - LARGE_FALL) * before)
        found->significance = fmax(found->significance, significance(s, coils, ratio));
    found->helps = after < (1 - LEAST_FALL) * before && found->significance > LEAST_SIGNIFICANCE;
    return LARMOR_OK;
}

/* ---- the search ---- */

static double farthest(const double *k, int64_t nd, int64_t count)
{
    double most = 0;
    for (int64_t j = 0; j < count; j++) {
        double square = 0;
        for (int64_t d = 0; d < nd; d++) square += k[nd * j + d] * k[nd * j + d];
        most = fmax(most, square);
    }
    return sqrt(most);
}

/* How far these poses have the object's edge from where the others have it, at most, in voxels. */
static double farthest_moved(const lmr_motion_scan *s, const double *a, const double *b)
{
    double most = 0, voxel = INFINITY, radius = 0;
    for (int d = 0; d < s->nd; d++) {
        voxel = fmin(voxel, s->fov_mm[d] / (double)s->n[d]);
        radius = fmax(radius, OBJECT_FOVS * s->fov_mm[d]);
    }
    for (int m = 0; m < s->states; m++)
        most = fmax(most, lmr_rigid_distance(a + LARMOR_POSE * m, b + LARMOR_POSE * m, s->nd, radius));
    return most / voxel;
}

/* Of motion that is certain: by all readouts, and farther outwards until the poses settle. */
static larmor_status search_outwards(const lmr_motion_scan *s, const larmor_array *kspace, const larmor_array *traj,
                                     double limit, lmr_motion_level *level, double *poses, int *steps)
{
    const size_t bytes = LARMOR_POSE * (size_t)s->states * sizeof(double);
    LMR_HEAP double *before = malloc(bytes);
    double moved = INFINITY;
    if (!before) return LMR_NO_MEMORY();
    LMR_TRY(refine(s, level, level->all, poses, steps));
    while (level->reach < limit && moved > SETTLED_VOXELS) {
        const double reach = fmin(2 * level->reach, limit);
        memcpy(before, poses, bytes);
        lmr_motion_level_free(level);
        LMR_TRY(lmr_motion_level_open(s, kspace, traj, reach, level));
        LMR_TRY(refine(s, level, level->all, poses, steps));
        moved = farthest_moved(s, before, poses);
    }
    return LARMOR_OK;
}

static larmor_status search_levels(const lmr_motion_scan *s, const larmor_array *kspace, const larmor_array *traj,
                                   double *poses, larmor_motion_found *found)
{
    const double *reach = s->nd == 3 ? reaches_3d : reaches;
    const int levels = (int)(s->nd == 3 ? sizeof reaches_3d / sizeof *reaches_3d : sizeof reaches / sizeof *reaches);
    LMR_FREED_BY(lmr_motion_level_free) lmr_motion_level level = {.reach = 0};
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    const double most = farthest(k, s->nd, larmor_array_count(traj) / s->nd);
    for (int i = 0; i < levels && (!i || reach[i - 1] < most); i++) {
        lmr_motion_level_free(&level);
        LMR_TRY(lmr_motion_level_open(s, kspace, traj, fmin(reach[i], most), &level));
        LMR_TRY(refine(s, &level, level.kept, poses, &found->steps));
    }
    LMR_TRY(judge(s, &level, poses, found));
    const double limit = fmin(most, s->nd == 3 ? MOST_REACH_3D : MOST_REACH);
    if (found->helps) LMR_TRY(search_outwards(s, kspace, traj, limit, &level, poses, &found->steps));
    found->reach = level.reach;
    return LARMOR_OK;
}

/* One of each few readouts is held out, of every state as many. */
static void hold_out(lmr_motion_scan *s)
{
    for (int64_t j = 0; j < s->readouts; j++)
        s->is_held[j] = j % HELD_ONE_OF == (int64_t)(lmr_random_bits(1, (uint64_t)(j / HELD_ONE_OF)) % HELD_ONE_OF);
}

static larmor_status check(const larmor_array *kspace, const larmor_array *traj, const larmor_array *maps,
                           const double *fov_mm, int states)
{
    LMR_NEED(kspace, traj, maps, fov_mm);
    const larmor_shape t = traj->shape, y = kspace->shape, m = maps->shape;
    LMR_REFUSE(t.ndim != 3 || t.dim[0] < 2 || t.dim[0] > 3 || y.ndim != 3 || y.dim[0] != t.dim[1] ||
                   y.dim[1] != t.dim[2] || m.ndim != t.dim[0] + 1 || m.dim[m.ndim - 1] != y.dim[2] ||
                   !lmr_is_complex(kspace->dtype) || !lmr_is_complex(maps->dtype) || !lmr_is_real(traj->dtype),
               LARMOR_ERR_SHAPE,
               "motion: k-space is %s, trajectory %s, maps %s; expected complex [samples, readouts, coils], "
               "real [2 or 3, samples, readouts] and complex [image..., coils]",
               lmr_describe(kspace).s, lmr_describe(traj).s, lmr_describe(maps).s);
    LMR_REFUSE(states < 2 || states > MOST_STATES || states * LEAST_READOUTS > t.dim[2], LARMOR_ERR_ARG,
               "motion: got %d states of %lld readouts, expected 2 to %d of at least %d readouts each", states,
               (long long)t.dim[2], MOST_STATES, LEAST_READOUTS);
    return lmr_rigid_check("motion", (int)t.dim[0], fov_mm);
}

larmor_status larmor_motion_find(const larmor_array *kspace, const larmor_array *traj, const larmor_array *maps,
                                 const double *fov_mm, int states, larmor_array **motion, larmor_motion_found *found)
{
    LMR_NEED(motion, found);
    *motion = NULL;
    *found = (larmor_motion_found){.states = states ? states : STATES};
    LMR_TRY(check(kspace, traj, maps, fov_mm, found->states));
    const int nd = (int)traj->shape.dim[0];
    lmr_motion_scan s = {.dev = kspace->dev,
                         .nd = nd,
                         .states = found->states,
                         .numbers = nd == 2 ? 3 : LARMOR_POSE,
                         .readouts = traj->shape.dim[2],
                         .coils = kspace->shape.dim[2],
                         .n = {1, 1, 1},
                         .fov_mm = fov_mm};
    LMR_HEAP int *state = lmr_new(s.readouts, sizeof *state);
    LMR_HEAP unsigned char *is_held = lmr_new(s.readouts, 1);
    LMR_HEAP double *poses = calloc((size_t)s.states * LARMOR_POSE, sizeof *poses);
    if (!state || !is_held || !poses) return LMR_NO_MEMORY();
    for (int64_t j = 0; j < s.readouts; j++) state[j] = (int)(j * s.states / s.readouts);
    for (int d = 0; d < nd; d++) s.n[d] = maps->shape.dim[d];
    LMR_OWN_MEMORY(float, host, larmor_array_download(maps, LARMOR_C64, &host));
    LMR_TRY(lmr_maps_extend(s.n, s.coils, host));
    s.state = state;
    s.maps = host;
    s.is_held = is_held;
    hold_out(&s);
    LMR_TRY(search_levels(&s, kspace, traj, poses, found));
    return lmr_motion_poses(&s, found->helps ? poses : NULL, motion);
}
