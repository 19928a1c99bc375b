/* When samples were taken, from the time at which the image has its phase; and where voxels are.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "physics/terms.h"

/* ---- times ---- */

#define LEAST_DWELL_S 50e-9 /* readouts of scanners have bandwidths of some MHz at most */

/* times <- times - that of the sample nearest to k = 0: there the image has its phase, whatever its echo time. */
static larmor_status begin_at_centre(const larmor_array *traj, int64_t count, double *times)
{
    double *k, least = INFINITY, zero = 0;
    const int64_t nd = larmor_array_shape(traj).dim[0];
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t i = 0; i < count; i++) {
        double square = 0;
        for (int64_t d = 0; d < nd; d++) square += k[nd * i + d] * k[nd * i + d];
        if (square < least * (1 - 1e-9)) {
            least = square;
            zero = times[i];
        }
    }
    for (int64_t i = 0; i < count; i++) times[i] -= zero;
    free(k);
    return LARMOR_OK;
}

/* As the source has them, one group after the other; *times NULL after errors. */
static larmor_status stored_times(const lmr_job *job, const int *index, int count, larmor_shape *shape,
                                  double **times)
{
    int64_t total = 0, readouts = 0, samples = 0;
    int regular = 1;
    larmor_status st = LARMOR_OK;
    *times = NULL;
    for (int i = 0; i < count && !st; i++) {
        larmor_array *stored;
        double *own = NULL, *all = NULL;
        st = lmr_source_times(job->facts->source, index[i], NULL, 0, &job->facts->grid[index[i]], job->facts->dev,
                              &stored);
        if (st) break;
        const larmor_shape one = larmor_array_shape(stored);
        const int64_t more = larmor_shape_count(one);
        st = larmor_array_download(stored, LARMOR_F64, &own);
        larmor_array_free(stored);
        if (!st) all = realloc(*times, (size_t)(total + more + 1) * sizeof *all);
        if (!st && !all) st = LMR_NO_MEMORY();
        if (all) {
            memcpy(all + total, own, (size_t)more * sizeof *all);
            *times = all;
        }
        free(own);
        if (!i) samples = one.dim[0];
        regular &= one.dim[0] == samples;
        total += more;
        readouts += one.ndim > 1 ? one.dim[1] : 1;
    }
    *shape = regular ? LARMOR_SHAPE(samples, readouts) : LARMOR_SHAPE(total, 1);
    if (st) {
        free(*times);
        *times = NULL;
    }
    return st;
}

/* The mean step of the first readout, in s. */
static double step_of(larmor_shape shape, const double *times)
{
    const int64_t last = shape.dim[0] - 1;
    return shape.dim[1] > 1 && last > 0 ? fabs(times[last] - times[0]) / (double)last : 0;
}

/* A unit that is not us makes phases of fields vanish. */
static larmor_status check_step(const lmr_job *job, larmor_shape shape, const double *times)
{
    const double step = step_of(shape, times);
    if (!(step > 0) || step >= LEAST_DWELL_S) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT,
                    "%s: a sample takes %.3g ns by the times of its readouts, expected at least %.0f ns; state "
                    "sample_time_us in us.",
                    lmr_source_name(job->facts->source), 1e9 * step, 1e9 * LEAST_DWELL_S);
}

larmor_status lmr_times_of(const lmr_job *job, const int *index, int groups, const larmor_array *traj,
                           larmor_shape *shape, double **times)
{
    const lmr_physics *f = job->facts->physics;
    LMR_TRY(stored_times(job, index, groups, shape, times));
    const int64_t count = larmor_shape_count(*shape);
    LMR_REFUSE(traj && count * larmor_array_shape(traj).dim[0] != larmor_array_count(traj), LARMOR_ERR_SHAPE,
               "%s: %lld times of %lld samples", lmr_source_name(job->facts->source), (long long)count,
               (long long)(larmor_array_count(traj) / larmor_array_shape(traj).dim[0]));
    LMR_TRY(check_step(job, *shape, *times));
    if (traj) *shape = LARMOR_SHAPE(larmor_array_shape(traj).dim[1], larmor_array_shape(traj).dim[2]);
    for (int64_t i = 0; i < count && f->has_start; i++) (*times)[i] += f->start_s;
    if (traj && !f->has_start) LMR_TRY(begin_at_centre(traj, count, *times));
    return LARMOR_OK;
}

/* Where voxel `place` of a grid is, in fields of view from its middle; in a pose, where that has moved it. */
static void position_in_grid(const larmor_grid *grid, const int64_t place[3], const double turn[9],
                             const double shift[3], double at[3])
{
    double u[3] = {0, 0, 0};
    for (int d = 0; d < grid->ndim; d++) u[d] = (double)(place[d] - grid->matrix[d] / 2) / (double)grid->matrix[d];
    for (int d = 0; d < 3; d++)
        at[d] = shift[d] + turn[3 * d] * u[0] + turn[3 * d + 1] * u[1] + turn[3 * d + 2] * u[2];
}

larmor_status lmr_positions_of(const lmr_scene *scene, double **position)
{
    const larmor_grid *grid = scene->grid;
    const larmor_image_meta *image = &scene->image;
    const double *const along[3] = {image->read_dir, image->phase_dir, image->slice_dir};
    const int64_t *n = grid->matrix, voxels = larmor_shape_count(lmr_grid_shape(grid));
    double turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, shift[3] = {0, 0, 0};
    if (scene->pose) LMR_TRY(larmor_pose_map(scene->pose, grid->ndim, grid->fov_mm, turn, shift));
    double *r = lmr_new(3 * voxels, sizeof *r);
    *position = r;
    if (!r) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < voxels; i++) {
        const int64_t place[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        double at[3];
        position_in_grid(grid, place, turn, shift, at);
        for (int a = 0; a < 3; a++) {
            double mm = image->position_mm[a];
            for (int d = 0; d < grid->ndim; d++) mm += along[d][a] * at[d] * grid->fov_mm[d];
            r[3 * i + a] = 1e-3 * mm;
        }
    }
    return LARMOR_OK;
}
