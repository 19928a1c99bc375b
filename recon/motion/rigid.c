/* Poses, and what they do to points and samples. SPDX-License-Identifier: Apache-2.0 */
#include "recon/motion/rigid.h"

#include "core/core.h"

#define MAX_SHIFT_MM 1e4
#define MAX_ROTATION_DEG 3600.

static void rotate_about(int axis, double degrees, double R[3][3])
{
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    const double c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    for (int d = 0; d < 3; d++) { /* R <- rotation R */
        const double at_a = R[a][d], at_b = R[b][d];
        R[a][d] = c * at_a - s * at_b;
        R[b][d] = s * at_a + c * at_b;
    }
}

/* The rotation alone, of coordinates in mm. */
static void rigid_rotation(const double pose[LARMOR_POSE], int nd, double R[3][3])
{
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) R[a][b] = a == b;
    for (int axis = nd > 2 ? 0 : 2; axis < 3; axis++) rotate_about(axis, pose[3 + axis], R);
}

void lmr_rigid_of(const double pose[LARMOR_POSE], int nd, const double *fov_mm, lmr_rigid *map)
{
    rigid_rotation(pose, nd, map->turn);
    for (int a = 0; a < 3; a++) {
        map->shift[a] = a < nd ? pose[a] / fov_mm[a] : 0;
        for (int b = 0; b < nd && a < nd; b++) map->turn[a][b] *= fov_mm[b] / fov_mm[a];
    }
}

static larmor_status check_pose(const char *who, int64_t row, const double pose[LARMOR_POSE])
{
    for (int p = 0; p < LARMOR_POSE; p++) {
        LMR_REFUSE(!isfinite(pose[p]), LARMOR_ERR_NUMERIC, "%s: row %lld holds a number that is not finite", who,
                   (long long)row);
        LMR_REFUSE(fabs(pose[p]) > (p < 3 ? MAX_SHIFT_MM : MAX_ROTATION_DEG), LARMOR_ERR_ARG,
                   "%s: row %lld has %s of %g, expected at most %g %s", who, (long long)row,
                   p < 3 ? "a shift" : "a rotation", pose[p], p < 3 ? MAX_SHIFT_MM : MAX_ROTATION_DEG,
                   p < 3 ? "mm" : "degrees");
    }
    return LARMOR_OK;
}

larmor_status larmor_pose_map(const double *pose, int nd, const double *fov_mm, double *turn, double *shift)
{
    LMR_NEED(pose, fov_mm, turn, shift);
    lmr_rigid map;
    LMR_TRY(lmr_rigid_check("pose", nd, fov_mm));
    LMR_TRY(check_pose("pose", 0, pose));
    lmr_rigid_of(pose, nd, fov_mm, &map);
    for (int a = 0; a < 3; a++) {
        shift[a] = map.shift[a];
        for (int b = 0; b < 3; b++) turn[3 * a + b] = map.turn[a][b];
    }
    return LARMOR_OK;
}

double lmr_rigid_angle(const double pose[LARMOR_POSE], int nd)
{
    double R[3][3];
    rigid_rotation(pose, nd, R);
    return acos(fmin(1, fmax(-1, (R[0][0] + R[1][1] + R[2][2] - 1) / 2))) * 180 / M_PI;
}

/* The norm of the difference of two rotations is their Frobenius distance over the root of 2. */
double lmr_rigid_distance(const double a[LARMOR_POSE], const double b[LARMOR_POSE], int nd, double radius_mm)
{
    double A[3][3], B[3][3], square = 0, turned = 0;
    rigid_rotation(a, nd, A);
    rigid_rotation(b, nd, B);
    for (int d = 0; d < 3; d++)
        for (int e = 0; e < 3; e++) turned += pow(A[d][e] - B[d][e], 2);
    for (int d = 0; d < nd; d++) square += pow(a[d] - b[d], 2);
    return sqrt(square) + radius_mm * sqrt(turned / 2);
}

larmor_status lmr_rigid_check(const char *who, int nd, const double *fov_mm)
{
    LMR_REFUSE(nd < 2 || nd > 3, LARMOR_ERR_SHAPE, "%s: got %d dimensions, expected 2 or 3", who, nd);
    for (int d = 0; d < nd; d++)
        LMR_REFUSE(!(fov_mm[d] > 0 && isfinite(fov_mm[d])), LARMOR_ERR_ARG,
                   "%s: got a field of view of %g mm, expected more than 0", who, fov_mm[d]);
    return LARMOR_OK;
}

/* ---- rows ---- */

larmor_status lmr_poses_read(const char *who, const larmor_array *motion, int64_t readouts, double **poses)
{
    *poses = NULL;
    LMR_REFUSE(!motion, LARMOR_ERR_ARG, "%s: no poses given, expected real [readouts, 6]", who);
    const larmor_shape shape = larmor_array_shape(motion);
    LMR_REFUSE(!lmr_is_real(motion->dtype) || shape.ndim != 2 || shape.dim[0] != readouts ||
                   shape.dim[1] != LARMOR_POSE,
               LARMOR_ERR_SHAPE, "%s: poses are %s, expected real [%lld, 6]", who, lmr_describe(motion).s,
               (long long)readouts);
    LMR_OWN_MEMORY(double, columns, larmor_array_download(motion, LARMOR_F64, &columns));
    LMR_HEAP LMR_NEW(double, rows, readouts *LARMOR_POSE);
    for (int64_t j = 0; j < readouts; j++) {
        for (int p = 0; p < LARMOR_POSE; p++) rows[LARMOR_POSE * j + p] = columns[j + readouts * p];
        LMR_TRY(check_pose(who, j, rows + LARMOR_POSE * j));
    }
    return LMR_HAND_ON(*poses, rows);
}

/* Readout from which on row i holds: ascending, from 0. */
static larmor_status check_begin(const double *begin, int64_t rows)
{
    for (int64_t i = 0; i < rows; i++) {
        const double least = i ? begin[i - 1] : -1;
        LMR_REFUSE(!(begin[i] > least) || begin[i] != floor(begin[i]) || (!i && begin[i] != 0), LARMOR_ERR_ARG,
                   "motion: row %lld begins at readout %g, expected whole numbers that ascend, from 0", (long long)i,
                   begin[i]);
    }
    return LARMOR_OK;
}

larmor_status larmor_motion_rows(const larmor_array *rows, int64_t readouts, larmor_array **motion)
{
    LMR_NEED_OUT(motion, rows);
    const larmor_shape shape = larmor_array_shape(rows);
    const int64_t count = shape.ndim > 0 ? shape.dim[0] : 0;
    const int begins = shape.ndim == 2 && shape.dim[1] == LARMOR_POSE + 1;
    LMR_REFUSE(!lmr_is_real(rows->dtype) || shape.ndim != 2 || (shape.dim[1] != LARMOR_POSE && !begins) ||
                   count < 1 || (!begins && count != 1 && count != readouts),
               LARMOR_ERR_SHAPE,
               "motion: the array is %s, expected real [%lld, 6], one row for each readout, or [rows, 7], "
               "the first number of which is the readout from which on a row holds",
               lmr_describe(rows).s, (long long)readouts);
    LMR_HEAP double *given = NULL, *out = lmr_new(readouts * LARMOR_POSE, sizeof *out);
    if (!out) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(rows, LARMOR_F64, &given));
    if (begins) LMR_TRY(check_begin(given, count));
    for (int64_t i = 0; i < count; i++) {
        double pose[LARMOR_POSE];
        for (int p = 0; p < LARMOR_POSE; p++) pose[p] = given[i + count * (p + begins)];
        LMR_TRY(check_pose("motion", i, pose));
    }
    for (int64_t j = 0, i = 0; j < readouts; j++) {
        if (!begins) i = count > 1 ? j : 0;
        while (begins && i + 1 < count && given[i + 1] <= (double)j) i++;
        for (int p = 0; p < LARMOR_POSE; p++) out[j + readouts * p] = given[i + count * (p + begins)];
    }
    return larmor_array_upload(larmor_array_device(rows), LARMOR_F64, LARMOR_SHAPE(readouts, LARMOR_POSE), LARMOR_F64,
                               out, motion);
}

/* ---- samples ---- */

/* k <- R^T k, and the cycles that samples have turned by. */
static double move_point(const lmr_rigid *map, int64_t nd, double *k)
{
    double moved[3] = {0, 0, 0}, cycles = 0;
    for (int64_t a = 0; a < nd; a++) {
        cycles += k[a] * map->shift[a];
        for (int64_t b = 0; b < nd; b++) moved[b] += map->turn[a][b] * k[a];
    }
    for (int64_t b = 0; b < nd; b++) k[b] = moved[b];
    return cycles;
}

static void move_readout(const double *pose, int64_t nd, const double *fov_mm, int64_t samples, double *k,
                         double *phase)
{
    lmr_rigid map;
    lmr_rigid_of(pose, (int)nd, fov_mm, &map);
    for (int64_t i = 0; i < samples; i++) {
        const double cycles = move_point(&map, nd, k + nd * i);
        phase[2 * i] = cos(2 * M_PI * cycles);
        phase[2 * i + 1] = sin(2 * M_PI * cycles);
    }
}

larmor_status larmor_motion_apply(larmor_array *kspace, const larmor_array *traj, const larmor_array *motion,
                                  const double *fov_mm, larmor_array **moved)
{
    LMR_NEED_OUT(moved, traj, fov_mm);
    const larmor_shape shape = larmor_array_shape(traj);
    LMR_REFUSE(!lmr_is_real(traj->dtype) || shape.ndim != 3, LARMOR_ERR_SHAPE,
               "motion: trajectory is %s, expected real [nd, samples, readouts]", lmr_describe(traj).s);
    const int64_t nd = shape.dim[0], samples = shape.dim[1], readouts = shape.dim[2], count = samples * readouts;
    LMR_TRY(lmr_rigid_check("motion", (int)nd, fov_mm));
    const larmor_shape given = kspace ? larmor_array_shape(kspace) : shape;
    LMR_REFUSE(kspace && (!lmr_is_complex(kspace->dtype) || given.ndim < 2 || given.dim[0] != samples ||
                          given.dim[1] != readouts),
               LARMOR_ERR_SHAPE, "motion: k-space is %s, expected complex [%lld, %lld, coils]",
               lmr_describe(kspace).s, (long long)samples, (long long)readouts);
    LMR_HEAP double *poses = NULL, *k = NULL, *phase = lmr_new(2 * count, sizeof *phase);
    LMR_OWNED(larmor_array) *factor = NULL;
    if (!phase) return LMR_NO_MEMORY();
    LMR_TRY(lmr_poses_read("motion", motion, readouts, &poses));
    LMR_TRY(larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t j = 0; j < readouts; j++)
        move_readout(poses + LARMOR_POSE * j, nd, fov_mm, samples, k + nd * samples * j, phase + 2 * samples * j);
    if (kspace) {
        LMR_TRY(larmor_array_upload(kspace->dev, kspace->dtype, LARMOR_SHAPE(samples, readouts), LARMOR_C128, phase,
                                    &factor));
        LMR_TRY(larmor_mul(factor, 0, kspace));
    }
    return larmor_array_upload(traj->dev, traj->dtype, shape, LARMOR_F64, k, moved);
}
