/* Samples of an object whose pose differs from readout to readout. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "phantoms/phantom.h"
#include "phantoms/scan/simulation.h"

enum { MOST_POSES = 64 }; /* of objects whose samples see more than the Fourier transform */

/* Where rows say from which readout on they hold, the last one begins within the scan. */
static larmor_status expect_begun(const larmor_array *rows, int64_t readouts)
{
    const larmor_shape shape = larmor_array_shape(rows);
    if (shape.dim[1] != LARMOR_POSE + 1) return LARMOR_OK;
    LMR_OWN_MEMORY(double, row, larmor_array_download(rows, LARMOR_F64, &row));
    if (row[shape.dim[0] - 1] < (double)readouts) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "simulation: a pose holds from readout %.0f on, but there are %lld, which count from 0; leave it "
                    "out.",
                    row[shape.dim[0] - 1], (long long)readouts);
}

/* [6, readouts] */
static larmor_status poses_of(const larmor_simulation *s, int64_t readouts, double **poses)
{
    LMR_OWN(larmor_array, motion, larmor_motion_rows(s->o.motion, readouts, &motion));
    LMR_TRY(expect_begun(s->o.motion, readouts));
    LMR_OWN_MEMORY(double, columns, larmor_array_download(motion, LARMOR_F64, &columns));
    LMR_ALLOCATE(*poses, readouts * LARMOR_POSE);
    for (int64_t j = 0; j < readouts; j++)
        for (int p = 0; p < LARMOR_POSE; p++) (*poses)[LARMOR_POSE * j + p] = columns[j + readouts * p];
    return LARMOR_OK;
}

larmor_status lmr_simulation_moving(const larmor_simulation *s, const larmor_phantom *object,
                                    const larmor_array *traj, larmor_array **kspace)
{
    const int64_t readouts = larmor_array_shape(traj).dim[2];
    LMR_HEAP LMR_NEW(lmr_moved, moved, readouts);
    LMR_OWN_MEMORY(double, poses, poses_of(s, readouts, &poses));
    for (int64_t j = 0; j < readouts; j++)
        LMR_TRY(larmor_pose_map(poses + LARMOR_POSE * j, s->info.ndim, s->encoding.recon_fov_mm, moved[j].turn,
                                moved[j].shift));
    return lmr_phantom_kspace_moving(object, traj, moved, s->o.coils, LARMOR_C64, kspace);
}

/* ---- beside what samples see ---- */

static int is_pose(const double *a, const double *b)
{
    for (int p = 0; p < LARMOR_POSE; p++)
        if (a[p] != b[p]) return 0;
    return 1;
}

/* part [nd, samples, count] of traj, and the poses of its readouts as columns */
static larmor_status take(const larmor_simulation *s, const double *k, larmor_shape shape, const int64_t *readout,
                          int64_t count, const double *pose, larmor_array **part, larmor_array **motion)
{
    const int64_t row = shape.dim[0] * shape.dim[1];
    LMR_HEAP double *own = lmr_new(row * count, sizeof *own), *rows = lmr_new(LARMOR_POSE * count, sizeof *rows);
    if (!own || !rows) return LMR_NO_MEMORY();
    for (int64_t j = 0; j < count; j++) {
        memcpy(own + row * j, k + row * readout[j], (size_t)row * sizeof *own);
        for (int p = 0; p < LARMOR_POSE; p++) rows[j + count * p] = pose[p];
    }
    LMR_TRY(larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(shape.dim[0], shape.dim[1], count), LARMOR_F64, own,
                                part));
    return larmor_array_upload(s->dev, LARMOR_F64, LARMOR_SHAPE(count, LARMOR_POSE), LARMOR_F64, rows, motion);
}

/* x [samples, count, coils], of the object's frame, to its readouts of y: the shift takes the phase that
 * larmor_motion_apply gives back. */
static larmor_status put(const larmor_array *x, const double *phase, const int64_t *readout, int64_t readouts,
                         float complex *y)
{
    const larmor_shape own = larmor_array_shape(x);
    const int64_t samples = own.dim[0], count = own.dim[1], coils = larmor_array_count(x) / (samples * count);
    LMR_OWN_MEMORY(double complex, from, larmor_array_download(x, LARMOR_C128, &from));
    for (int64_t i = 0; i < samples * count * coils; i++) {
        const int64_t sample = i % samples, j = i / samples % count, c = i / samples / count;
        const double *p = phase + 2 * (sample + samples * j);
        y[sample + samples * (readout[j] + readouts * c)] = (float complex)(from[i] * CMPLX(p[0], -p[1]));
    }
    return LARMOR_OK;
}

static larmor_status see_pose(const larmor_simulation *s, const larmor_phantom *object, const double *k,
                              larmor_shape shape, const double *seconds, const int64_t *readout, int64_t count,
                              const double *pose, float complex *y)
{
    LMR_OWNED(larmor_array) *part = NULL, *motion = NULL, *ones = NULL, *moved = NULL, *seen = NULL;
    LMR_TRY(take(s, k, shape, readout, count, pose, &part, &motion));
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C128, LARMOR_SHAPE(shape.dim[1], count, 1), &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(larmor_motion_apply(ones, part, motion, s->encoding.recon_fov_mm, &moved));
    LMR_OWN_MEMORY(double, phase, larmor_array_download(ones, LARMOR_C128, &phase));
    const lmr_seen_state state = {.pose = pose, .readout = readout, .traj = moved};
    LMR_TRY(lmr_simulation_seen(s, object, part, 0, seconds, &state, &seen));
    return put(seen, phase, readout, shape.dim[2], y);
}

larmor_status lmr_simulation_moving_seen(const larmor_simulation *s, const larmor_phantom *object,
                                         const larmor_array *traj, const double *seconds, larmor_array **kspace)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t readouts = shape.dim[2], coils = s->info.coils;
    LMR_HEAP LMR_NEW_ZEROS(char, done, readouts);
    LMR_HEAP LMR_NEW(int64_t, readout, readouts);
    LMR_HEAP LMR_NEW(float complex, y, shape.dim[1] * readouts * coils);
    LMR_OWN_MEMORY(double, poses, poses_of(s, readouts, &poses));
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    int states = 0;
    for (int64_t first = 0; first < readouts; first++) {
        int64_t count = 0;
        if (done[first]) continue;
        LMR_REFUSE(++states > MOST_POSES, LARMOR_ERR_UNSUPPORTED,
                   "simulation: got more than %d poses beside a field, concomitant fields or phase_terms",
                   MOST_POSES);
        for (int64_t j = first; j < readouts; j++) {
            if (!is_pose(poses + LARMOR_POSE * first, poses + LARMOR_POSE * j)) continue;
            done[j] = 1;
            readout[count++] = j;
        }
        LMR_TRY(see_pose(s, object, k, shape, seconds, readout, count, poses + LARMOR_POSE * first, y));
    }
    return larmor_array_upload(s->dev, LARMOR_C64, LARMOR_SHAPE(shape.dim[1], readouts, coils), LARMOR_C64, y,
                               kspace);
}
