/* The centre of k-space of a scan whose object moves, and the image that explains it in given poses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/motion/find.h"

LMR_OWNS(larmor_circulant, larmor_circulant_free)

enum { MARGIN = 2, LEAST_SIDE = 8 };
#define NUFFT_ERROR 1e-5
#define SOLVED 1e-3 /* residual of the normal equations */

void lmr_motion_level_free(lmr_motion_level *l)
{
    larmor_array *const all[] = {l->kspace, l->traj, l->kept, l->held, l->all};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) larmor_array_free(all[i]);
    *l = (lmr_motion_level){.reach = 0};
}

static double distance(const double *k, int nd)
{
    double square = 0;
    for (int d = 0; d < nd; d++) square += k[d] * k[d];
    return sqrt(square);
}

/* Samples first .. first + count - 1 of readouts reach into the centre. */
static void find_window(const double *k, int nd, int64_t samples, int64_t readouts, double reach, int64_t *first,
                        int64_t *count)
{
    int64_t low = samples, high = -1;
    for (int64_t j = 0; j < samples * readouts; j++) {
        const int64_t i = j % samples;
        if (distance(k + nd * j, nd) > reach) continue;
        if (i < low) low = i;
        if (i > high) high = i;
    }
    *first = high < 0 ? 0 : low;
    *count = high < 0 ? 0 : high - low + 1;
}

/* kept, held, all [samples, readouts]: 1 of samples in the centre that are for this. */
static larmor_status make_weights(const lmr_motion_scan *s, const double *k, lmr_motion_level *l)
{
    const int64_t count = l->samples * s->readouts;
    const larmor_shape shape = LARMOR_SHAPE(l->samples, s->readouts);
    larmor_array **const to[] = {&l->all, &l->kept, &l->held};
    LMR_HEAP LMR_NEW(double, w, count);
    for (int which = 0; which < 3; which++) {
        for (int64_t j = 0; j < count; j++) {
            const int is_held = s->is_held[j / l->samples];
            const int counts = which == 0 || is_held == (which == 2);
            w[j] = counts && distance(k + s->nd * j, s->nd) <= l->reach;
        }
        LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, shape, LARMOR_F64, w, to[which]));
    }
    return LARMOR_OK;
}

/* [samples, readouts(, coils)] of rows of so many bytes a sample <- their window. */
static void cut(const char *from, size_t bytes, int64_t samples, int64_t rows, int64_t first, int64_t count, char *to)
{
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + bytes * (size_t)(count * r), from + bytes * (size_t)(samples * r + first), bytes * (size_t)count);
}

larmor_status lmr_motion_level_open(const lmr_motion_scan *s, const larmor_array *kspace, const larmor_array *traj,
                                    double reach, lmr_motion_level *l)
{
    const int64_t samples = larmor_array_shape(traj).dim[1];
    int64_t first;
    *l = (lmr_motion_level){.reach = reach, .n = {1, 1, 1}};
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    find_window(k, s->nd, samples, s->readouts, reach, &first, &l->samples);
    LMR_REFUSE(!l->samples, LARMOR_ERR_NUMERIC, "motion: no sample is within %g/FOV of k = 0", reach);
    for (int d = 0; d < s->nd; d++) {
        l->n[d] = 2 * (int64_t)ceil(reach) + MARGIN;
        if (l->n[d] < LEAST_SIDE) l->n[d] = LEAST_SIDE;
    }
    l->image = larmor_shape_of(s->nd, l->n);
    LMR_HEAP LMR_NEW(double, near, l->samples * s->readouts * s->nd);
    LMR_HEAP LMR_NEW(float, seen, 2 * l->samples * s->readouts * s->coils);
    LMR_OWN_MEMORY(float, y, larmor_array_download(kspace, LARMOR_C64, &y));
    cut((const char *)k, sizeof *k * (size_t)s->nd, samples, s->readouts, first, l->samples, (char *)near);
    cut((const char *)y, 2 * sizeof *y, samples, s->readouts * s->coils, first, l->samples, (char *)seen);
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(s->nd, l->samples, s->readouts), LARMOR_F64, near,
                                &l->traj));
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_C64, LARMOR_SHAPE(l->samples, s->readouts, s->coils), LARMOR_C64, seen,
                                &l->kspace));
    return make_weights(s, near, l);
}

/* ---- in given poses ---- */

void lmr_motion_fit_free(lmr_motion_fit *f)
{
    LMR_FREE(f->A, f->M, f->y);
    *f = (lmr_motion_fit){.A = NULL};
}

larmor_status lmr_motion_poses(const lmr_motion_scan *s, const double *poses, larmor_array **motion)
{
    LMR_HEAP LMR_NEW(double, rows, s->readouts *LARMOR_POSE);
    for (int64_t j = 0; j < s->readouts; j++)
        for (int p = 0; p < LARMOR_POSE; p++)
            rows[j + s->readouts * p] = poses ? poses[LARMOR_POSE * s->state[j] + p] : 0;
    return larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(s->readouts, LARMOR_POSE), LARMOR_F64, rows, motion);
}

static larmor_status maps_in(const lmr_motion_scan *s, const lmr_motion_level *l, const double *pose,
                             larmor_array **maps)
{
    const larmor_shape shape = larmor_shape_append(l->image, s->coils);
    LMR_HEAP float *to = lmr_new(larmor_shape_count(shape), 2 * sizeof *to);
    lmr_rigid map;
    if (!to) return LMR_NO_MEMORY();
    lmr_rigid_of(pose, s->nd, s->fov_mm, &map);
    LMR_TRY(lmr_maps_resample(lmr_device_threads(s->dev), s->nd, s->n, l->n, s->coils, &map, s->maps, to));
    return larmor_array_upload(s->dev, LARMOR_C64, shape, LARMOR_C64, to, maps);
}

static larmor_status make_fit(const lmr_motion_scan *s, const lmr_motion_level *l, const double *poses,
                              const larmor_array *weights, double lambda, larmor_array **maps, lmr_motion_fit *f)
{
    for (int m = 0; m < s->states; m++) LMR_TRY(maps_in(s, l, poses + LARMOR_POSE * m, &maps[m]));
    LMR_OWN(larmor_array, motion, lmr_motion_poses(s, poses, &motion));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, larmor_array_shape(l->kspace), &f->y));
    LMR_TRY(larmor_copy(l->kspace, f->y));
    LMR_OWN(larmor_array, moved, larmor_motion_apply(f->y, l->traj, motion, s->fov_mm, &moved));
    LMR_TRY(larmor_sense_weigh(weights, f->y));
    const larmor_sense_opts opts = {.traj = moved, .weights = weights, .nufft_tol = NUFFT_ERROR, .toeplitz = -1};
    LMR_TRY(larmor_op_sense_states(maps, s->states, s->state, &opts, &f->A));
    if (!(lambda > 0)) return LARMOR_OK;
    LMR_OWN(larmor_circulant, C, larmor_circulant_create(maps[0], moved, weights, l->image, LARMOR_C64, &C));
    return larmor_circulant_inverse(C, lambda, NULL, 0, &f->M);
}

larmor_status lmr_motion_fit_open(const lmr_motion_scan *s, const lmr_motion_level *l, const double *poses,
                                  const larmor_array *weights, double lambda, lmr_motion_fit *f)
{
    LMR_HEAP larmor_array **maps = calloc((size_t)s->states, sizeof(larmor_array *));
    *f = (lmr_motion_fit){.A = NULL};
    if (!maps) return LMR_NO_MEMORY();
    const larmor_status st = make_fit(s, l, poses, weights, lambda, maps, f);
    for (int m = 0; m < s->states; m++) larmor_array_free(maps[m]);
    if (st) lmr_motion_fit_free(f);
    return st;
}

larmor_status lmr_motion_fit_solve(const lmr_motion_fit *f, double lambda, int steps, larmor_array *x,
                                   larmor_array *r, double *cost)
{
    const larmor_solve_opts opts = {.max_iter = steps, .tol = SOLVED, .lambda = lambda, .precondition = f->M};
    double left, size;
    LMR_TRY(larmor_cg(f->A, f->y, x, &opts, NULL));
    LMR_TRY(larmor_op_forward(f->A, x, r));
    LMR_TRY(larmor_axpby(-1, f->y, 1, r));
    LMR_TRY(larmor_nrm2(r, &left));
    LMR_TRY(larmor_nrm2(x, &size));
    *cost = left * left + lambda * size * size;
    return LARMOR_OK;
}
