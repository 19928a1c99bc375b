/* recon/motion: poses, samples and maps in the frame of an object that moves, and SENSE of readouts in several
 * states. SPDX-License-Identifier: Apache-2.0 */
#include "recon/motion/rigid.h"
#include "tests/recon/support.h"

ENDS_ITSELF_BY(larmor_motion_states_free, larmor_motion_states)

enum { SAMPLES = 7, COILS = 3, MOST_READOUTS = 12 };
static const double fov_mm[3] = {220, 180, 150};

/* R of a pose by the definition: about x, then y, then z. */
static void rotation(const double *pose, double R[3][3])
{
    const double c[3] = {cos(pose[3] * M_PI / 180), cos(pose[4] * M_PI / 180), cos(pose[5] * M_PI / 180)};
    const double s[3] = {sin(pose[3] * M_PI / 180), sin(pose[4] * M_PI / 180), sin(pose[5] * M_PI / 180)};
    const double X[3][3] = {{1, 0, 0}, {0, c[0], -s[0]}, {0, s[0], c[0]}};
    const double Y[3][3] = {{c[1], 0, s[1]}, {0, 1, 0}, {-s[1], 0, c[1]}};
    const double Z[3][3] = {{c[2], -s[2], 0}, {s[2], c[2], 0}, {0, 0, 1}};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            R[a][b] = 0;
            for (int d = 0; d < 3; d++)
                for (int e = 0; e < 3; e++) R[a][b] += Z[a][d] * Y[d][e] * X[e][b];
        }
}

/* Where u, in fields of view, has moved to. */
static void moved_to(const double *pose, int nd, const double u[3], double to[3])
{
    double R[3][3];
    const double in_plane[6] = {pose[0], pose[1], 0, 0, 0, pose[5]};
    rotation(nd == 3 ? pose : in_plane, R);
    for (int a = 0; a < nd; a++) {
        to[a] = pose[a];
        for (int b = 0; b < nd; b++) to[a] += R[a][b] * u[b] * fov_mm[b];
        to[a] /= fov_mm[a];
    }
}

/* A smooth coil. */
static cplx coil(int c, const double u[3])
{
    return (1 + .4 * sin(2 * u[0] + c) + .3 * cos(1.5 * u[1] - c)) *
           cexp(I * (.8 * u[0] * (c + 1) - .5 * u[1] + .7 * c * u[2]));
}

static double *poses_of(int states, const int *state, int64_t readouts, uint64_t seed, double *of_state)
{
    double *rows = malloc(sizeof *rows * (size_t)readouts * 6);
    assert_non_null(rows);
    for (int i = 0; i < 6 * states; i++) of_state[i] = (i % 6 < 3 ? 12 : 10) * test_random(&seed);
    for (int64_t j = 0; j < readouts; j++)
        for (int p = 0; p < 6; p++) rows[j + readouts * p] = of_state[6 * state[j] + p];
    return rows;
}

/* Readouts of a scan in some order of states; what it sees, by the sum over voxels. */
typedef struct scene {
    larmor_shape image;
    int states;
    int64_t voxels, readouts;
    const int *state;
    double *k, *rows, pose[6 * 6];
    larmor_array *traj, *motion, *maps[6];
} scene;

static void end_scene(scene *s)
{
    for (int m = 0; m < s->states; m++) larmor_array_free(s->maps[m]);
    LMR_FREE(s->traj, s->motion, s->k, s->rows);
}

static scene new_scene(larmor_shape image, int states, const int *state, int64_t readouts, larmor_dtype dtype)
{
    scene s = {.image = image, .states = states, .state = state, .readouts = readouts};
    s.voxels = larmor_shape_count(image);
    s.k = random_points(image, SAMPLES * readouts, 5);
    for (int64_t i = 0; i < SAMPLES * readouts * image.ndim; i++)
        s.k[i] *= .5; /* rotated ones are on the grid, too */
    s.rows = poses_of(states, state, readouts, (uint64_t)(states + image.ndim), s.pose);
    s.traj = real_array(LARMOR_SHAPE(image.ndim, SAMPLES, readouts), s.k);
    s.motion = real_array(LARMOR_SHAPE(readouts, 6), s.rows);
    HEAP cplx *map = random_values(s.voxels * COILS, 1);
    for (int m = 0; m < states; m++) {
        for (int64_t i = 0; i < s.voxels; i++) {
            const double u[3] = {position(image, i, 0), position(image, i, 1),
                                 image.ndim > 2 ? position(image, i, 2) : 0};
            double at[3] = {0, 0, 0};
            moved_to(s.pose + 6 * m, image.ndim, u, at);
            for (int c = 0; c < COILS; c++) map[i + s.voxels * c] = coil(c, at);
        }
        s.maps[m] = complex_array(dtype, larmor_shape_append(image, COILS), map);
    }
    return s;
}

/* Off-resonance: none, one that moves with the object, one that stays. */
enum { NO_FIELD, MOVES, STAYS };

static double hz_at(const double u[3])
{
    return 45 * u[0] - 30 * u[1] + 80 * u[0] * u[1] + 25 * u[2];
}

static double seconds_of(int64_t j)
{
    return 1e-3 * (double)(j % SAMPLES) + 2e-4 * (double)(j / SAMPLES);
}

/* y [samples, readouts, coils]: the object has moved, the coils and the trajectory are as they are. */
static cplx *seen_by_scanner(const scene *s, const cplx *x, int field)
{
    const int64_t m = SAMPLES * s->readouts;
    const int nd = s->image.ndim;
    NEW_ZEROS(cplx, y, m * COILS);
    for (int64_t j = 0; j < m; j++)
        for (int64_t i = 0; i < s->voxels; i++) {
            const double u[3] = {position(s->image, i, 0), position(s->image, i, 1),
                                 nd > 2 ? position(s->image, i, 2) : 0};
            double at[3] = {0, 0, 0}, turns = 0;
            moved_to(s->pose + 6 * s->state[j / SAMPLES], nd, u, at);
            for (int d = 0; d < nd; d++) turns += s->k[j * nd + d] * at[d];
            if (field) turns -= hz_at(field == STAYS ? at : u) * seconds_of(j);
            for (int c = 0; c < COILS; c++) y[j + m * c] += x[i] * coil(c, at) * cexp(-2 * M_PI * I * turns);
        }
    return y;
}

static larmor_op *op_of(const scene *s, const larmor_array *traj, const larmor_array *weights, int toeplitz)
{
    const larmor_sense_opts opts = {.traj = traj, .weights = weights, .nufft_tol = 1e-11, .toeplitz = toeplitz};
    return MADE(larmor_op, larmor_op_sense_states(s->maps, s->states, s->state, &opts, &made));
}

static const int in_turn[MOST_READOUTS] = {0, 1, 2, 0, 1, 2, 2, 1, 0, 0, 0, 1};
static const int in_groups[MOST_READOUTS] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 3};
static const int at_rest[MOST_READOUTS] = {0};

static void check_direct_sum(larmor_shape image, int states, const int *state)
{
    OWNED(scene) s = new_scene(image, states, state, MOST_READOUTS, LARMOR_C128);
    HEAP cplx *x = random_values(s.voxels, 3), *y = seen_by_scanner(&s, x, NO_FIELD);
    OWNED(larmor_array) *kspace = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, MOST_READOUTS, COILS), y), *moved;
    assert_ok(larmor_motion_apply(kspace, s.traj, s.motion, fov_mm, &moved));
    OWNED(larmor_op) *A = op_of(&s, moved, NULL, -1);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, image, x), *out = zeros(LARMOR_C128, larmor_op_out_shape(A));
    assert_ok(larmor_op_forward(A, in, out));
    assert_at_most(apart(out, kspace), 1e-9);
}

TEST(samples_of_an_object_that_moves_between_coils_are_those_of_the_model)
{
    check_direct_sum(LARMOR_SHAPE(10, 9), 3, in_turn);
    check_direct_sum(LARMOR_SHAPE(10, 9), 4, in_groups);
    check_direct_sum(LARMOR_SHAPE(6, 7, 5), 3, in_turn);
    check_direct_sum(LARMOR_SHAPE(6, 7, 5), 4, in_groups);
    check_direct_sum(LARMOR_SHAPE(8, 8), 1, at_rest);
}

TEST(the_adjoint_of_states_is_exact_and_their_normal_map_is_its_product_with_or_without_weights)
{
    const larmor_shape images[] = {LARMOR_SHAPE(12, 9), LARMOR_SHAPE(6, 7, 5)};
    for (int i = 0; i < 4; i++) {
        OWNED(scene) s =
            new_scene(images[i % 2], i < 2 ? 3 : 4, i < 2 ? in_turn : in_groups, MOST_READOUTS, LARMOR_C128);
        double w[SAMPLES * MOST_READOUTS];
        for (int j = 0; j < SAMPLES * MOST_READOUTS; j++) w[j] = .2 + j % 5;
        OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(SAMPLES, MOST_READOUTS), w);
        OWNED(larmor_op) *A = op_of(&s, s.traj, i % 2 ? weights : NULL, -1);
        OWNED(larmor_op) *T = op_of(&s, s.traj, i % 2 ? weights : NULL, 1);
        assert_at_most(adjoint_error(A, 1), 1e-14);
        assert_at_most(normal_apart(A), 1e-12);
        assert_at_most(normal_apart(T), 1e-8);
        assert_int_equal(larmor_sense_uses_toeplitz(T), 1);
        assert_int_equal(larmor_sense_uses_toeplitz(A), 0);
    }
}

/* The field where the voxels of a state are, and the times of some readouts. */
static larmor_segments *segments_of(const scene *s, const double *pose, const int *readout, int64_t count,
                                    int by_terms)
{
    double *f = malloc(sizeof *f * (size_t)s->voxels), t[SAMPLES * MOST_READOUTS];
    larmor_segments *made;
    assert_non_null(f);
    for (int64_t i = 0; i < s->voxels; i++) {
        const double u[3] = {position(s->image, i, 0), position(s->image, i, 1),
                             s->image.ndim > 2 ? position(s->image, i, 2) : 0};
        double at[3] = {0, 0, 0};
        moved_to(pose, s->image.ndim, u, at);
        f[i] = (by_terms ? 2 * M_PI : 1) * hz_at(at);
    }
    for (int64_t j = 0; j < SAMPLES * count; j++) t[j] = seconds_of(j % SAMPLES + SAMPLES * readout[j / SAMPLES]);
    OWNED(larmor_array) *field = real_array(s->image, f), *times = real_array(LARMOR_SHAPE(SAMPLES, count), t);
    const larmor_off_resonance_opts opts = {.error = 1e-6};
    if (by_terms)
        assert_ok(larmor_segments_of_terms(&(larmor_model_term){field, times, 0}, 1, &opts, &made));
    else
        assert_ok(larmor_segments_create(field, times, &opts, &made));
    free(f);
    return made;
}

/* A field of all readouts that moves with the object, or one for each state that stays. */
static larmor_op *op_with_field(const scene *s, const larmor_array *traj, int field, int by_terms, int toeplitz)
{
    const double rest[6] = {0};
    larmor_segments *all, *each[6];
    int readout[MOST_READOUTS];
    larmor_op *A;
    for (int j = 0; j < MOST_READOUTS; j++) readout[j] = j;
    all = segments_of(s, rest, readout, MOST_READOUTS, by_terms);
    larmor_sense_opts opts = {.traj = traj, .nufft_tol = 1e-11, .toeplitz = toeplitz};
    for (int m = 0; m < s->states; m++) {
        int count = 0;
        for (int j = 0; j < MOST_READOUTS; j++)
            if (s->state[j] == m) readout[count++] = j;
        each[m] = segments_of(s, s->pose + 6 * m, readout, count, by_terms);
    }
    if (field == MOVES) opts.off_resonance = all;
    if (field == MOVES)
        assert_ok(larmor_op_sense_states(s->maps, s->states, s->state, &opts, &A));
    else
        assert_ok(larmor_op_sense_states_of(s->maps, each, s->states, s->state, &opts, &A));
    for (int m = 0; m < s->states; m++) larmor_segments_free(each[m]);
    larmor_segments_free(all);
    return A;
}

TEST(fields_that_move_with_the_object_and_fields_that_stay_are_those_of_the_sum)
{
    const larmor_shape images[] = {LARMOR_SHAPE(10, 9), LARMOR_SHAPE(6, 7, 5)};
    for (int i = 0; i < 8; i++) {
        const int field = i & 2 ? STAYS : MOVES;
        OWNED(scene) s = new_scene(images[i & 1], 3, in_turn, MOST_READOUTS, LARMOR_C128);
        HEAP cplx *x = random_values(s.voxels, 3), *y = seen_by_scanner(&s, x, field);
        OWNED(larmor_array) *kspace = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, MOST_READOUTS, COILS), y),
                            *moved;
        assert_ok(larmor_motion_apply(kspace, s.traj, s.motion, fov_mm, &moved));
        OWNED(larmor_op) *A = op_with_field(&s, moved, field, i & 4, -1);
        OWNED(larmor_array) *in = complex_array(LARMOR_C128, s.image, x),
                            *out = zeros(LARMOR_C128, larmor_op_out_shape(A));
        assert_ok(larmor_op_forward(A, in, out));
        assert_at_most(apart(out, kspace), 2e-6);
        assert_at_most(adjoint_error(A, 1), 1e-13);
        OWNED(larmor_op) *T = op_with_field(&s, moved, field, 0, 1);
        assert_int_equal(larmor_sense_uses_toeplitz(T), 1);
        assert_at_most(normal_apart(T), 3e-4);
    }
}

TEST(segments_of_readouts_are_refused_where_there_are_none)
{
    OWNED(scene) s = new_scene(LARMOR_SHAPE(8, 8), 3, in_turn, MOST_READOUTS, LARMOR_C128);
    const double rest[6] = {0};
    const int readout[] = {0, 1};
    const int64_t beyond[] = {0, 2};
    larmor_segments *all = segments_of(&s, rest, readout, 2, 0), *part;
    assert_refused(larmor_segments_readouts(all, beyond, 2, &part), LARMOR_ERR_ARG,
                   "off-resonance: readout 2 asked for, expected 0 to 1");
    assert_refused(larmor_segments_readouts(all, beyond, 0, &part), LARMOR_ERR_SHAPE,
                   "off-resonance: times are f64 [7, 2]");
    larmor_segments_free(all);
}

TEST(weights_of_states_are_those_of_their_readouts)
{
    OWNED(scene) s = new_scene(LARMOR_SHAPE(9, 8), 3, in_turn, MOST_READOUTS, LARMOR_C128);
    const int64_t m = SAMPLES * MOST_READOUTS;
    double w[SAMPLES * MOST_READOUTS];
    for (int j = 0; j < SAMPLES * MOST_READOUTS; j++) w[j] = 1 + j;
    OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(SAMPLES, MOST_READOUTS), w);
    OWNED(larmor_op) *A = op_of(&s, s.traj, NULL, -1), *B = op_of(&s, s.traj, weights, -1);
    OWNED(larmor_array) *in = drawn(LARMOR_C128, s.image, 3), *plain = zeros(LARMOR_C128, larmor_op_out_shape(A));
    OWNED(larmor_array) *weighted = zeros(LARMOR_C128, larmor_op_out_shape(A));
    assert_ok(larmor_op_forward(A, in, plain));
    assert_ok(larmor_op_forward(B, in, weighted));
    HEAP cplx *y = values_of(plain), *got = values_of(weighted);
    for (int64_t j = 0; j < m * COILS; j++) y[j] *= sqrt(w[j % m]);
    assert_at_most(difference(got, y, m * COILS), 1e-13);
}

TEST(one_state_is_sense)
{
    OWNED(scene) s = new_scene(LARMOR_SHAPE(9, 8), 1, at_rest, MOST_READOUTS, LARMOR_C64);
    const larmor_sense_opts opts = {.traj = s.traj, .toeplitz = -1};
    OWNED(larmor_op) *A = NULL, *S = NULL;
    assert_ok(larmor_op_sense_states(s.maps, 1, at_rest, &opts, &A));
    assert_ok(larmor_op_sense(s.maps[0], &opts, &S));
    OWNED(larmor_array) *in = drawn(LARMOR_C64, s.image, 3), *a = zeros(LARMOR_C64, larmor_op_out_shape(A));
    OWNED(larmor_array) *b = zeros(LARMOR_C64, larmor_op_out_shape(A));
    assert_ok(larmor_op_forward(A, in, a));
    assert_ok(larmor_op_forward(S, in, b));
    assert_at_most(apart(a, b), 0);
}

TEST(a_pose_turns_about_x_then_y_then_z_and_then_shifts)
{
    const double pose[6] = {11, -7, 5, 20, -35, 50}, u[3] = {.2, -.1, .3};
    double turn[9], shift[3], at[3] = {0, 0, 0};
    for (int nd = 2; nd <= 3; nd++) {
        assert_ok(larmor_pose_map(pose, nd, fov_mm, turn, shift));
        moved_to(pose, nd, u, at);
        for (int a = 0; a < nd; a++) {
            double got = shift[a];
            for (int b = 0; b < nd; b++) got += turn[3 * a + b] * u[b];
            assert_at_most(fabs(got - at[a]), 1e-14);
        }
    }
    const double quarter[6] = {0, 0, 0, 0, 0, 90}, same[3] = {100, 100, 100};
    assert_ok(larmor_pose_map(quarter, 2, same, turn, shift));
    assert_at_most(fabs(turn[3] - 1) + fabs(turn[0]) + fabs(turn[1] + 1), 1e-15); /* x becomes y */
}

/* ---- rows of a tracking file ---- */

static larmor_array *rows_of(int64_t count, int columns, const double *rows)
{
    HEAP double *by_column = malloc(sizeof *by_column * (size_t)count * (size_t)columns);
    assert_non_null(by_column);
    for (int64_t i = 0; i < count; i++)
        for (int p = 0; p < columns; p++) by_column[i + count * p] = rows[columns * i + p];
    larmor_array *x = real_array(LARMOR_SHAPE(count, columns), by_column);
    return x;
}

TEST(rows_hold_for_a_readout_each_or_from_a_readout_on_or_for_all)
{
    const double from[] = {0, 1, 2, 3, 4, 5, 6, 3, 10, 20, 30, 40, 50, 60, 4, 7, 7, 7, 7, 7, 7};
    OWNED(larmor_array) *rows = rows_of(3, 7, from), *motion, *again, *one, *all;
    assert_ok(larmor_motion_rows(rows, 6, &motion));
    HEAP cplx *got = values_of(motion);
    const double expected[6] = {2, 2, 2, 20, 7, 7};
    for (int j = 0; j < 6; j++) assert_true(creal(got[j + 6]) == expected[j]);
    assert_ok(larmor_motion_rows(motion, 6, &again));
    assert_at_most(away(again, got, 36), 0);
    one = rows_of(1, 6, from + 1);
    assert_ok(larmor_motion_rows(one, 5, &all));
    HEAP cplx *alike = values_of(all);
    for (int j = 0; j < 5; j++) assert_true(creal(alike[j + 5 * 5]) == 6);
}

static void refuse_rows(int64_t count, int columns, const double *rows, larmor_status status, const char *text)
{
    OWNED(larmor_array) *given = rows_of(count, columns, rows);
    larmor_array *motion = given;
    assert_refused(larmor_motion_rows(given, 4, &motion), status, text);
    assert_null(motion);
}

TEST(rows_that_make_no_sense_are_refused)
{
    const double good[14] = {0};
    refuse_rows(2, 6, good, LARMOR_ERR_SHAPE,
                ", expected real [4, 6], one row for each readout, or [rows, 7], the first number of which is the "
                "readout from which on a row holds");
    refuse_rows(2, 5, good, LARMOR_ERR_SHAPE, "motion: the array is f64 [2, 5]");
    refuse_rows(2, 7, good, LARMOR_ERR_ARG,
                "motion: row 1 begins at readout 0, expected whole numbers that ascend, from 0");
    const double half[7] = {.5}, far[7] = {0, 1e5}, nan[7] = {0, 0, 0, 0, NAN};
    refuse_rows(1, 7, half, LARMOR_ERR_ARG, "motion: row 0 begins at readout 0.5, ");
    refuse_rows(1, 7, far, LARMOR_ERR_ARG, "motion: row 0 has a shift of 100000, expected at most 10000 mm");
    refuse_rows(1, 7, nan, LARMOR_ERR_NUMERIC, "motion: row 0 holds a number that is not finite");
}

/* ---- states ---- */

TEST(readouts_of_a_state_are_within_its_bound_and_states_are_few)
{
    enum { READOUTS = 60 };
    double rows[6 * READOUTS];
    uint64_t seed = 7;
    for (int nd = 2; nd <= 3; nd++)
        for (int most = 100; most > 1; most /= 8) {
            for (int j = 0; j < READOUTS; j++)
                for (int p = 0; p < 6; p++)
                    rows[j + READOUTS * p] = (j / 20) * (p + 1) + .02 * test_random(&seed); /* three poses, nearly */
            OWNED(larmor_array) *motion = real_array(LARMOR_SHAPE(READOUTS, 6), rows);
            OWNED(larmor_motion_states) s = {.count = 0};
            assert_ok(larmor_motion_states_find(motion, nd, fov_mm, .5, most, &s));
            assert_int_equal(s.count, most < 3 ? 1 : 3);
            double farthest = 0;
            for (int j = 0; j < READOUTS; j++)
                for (int i = 0; i < 200; i++) { /* points of the sphere that the bound is of */
                    double pose[6], v[3] = {0, 0, 0}, at[2][3], size = 0, apart = 0;
                    for (int p = 0; p < 6; p++) pose[p] = rows[j + READOUTS * p];
                    for (int d = 0; d < nd; d++) size += pow(v[d] = test_random(&seed), 2);
                    for (int d = 0; d < nd; d++) v[d] *= 110 / sqrt(size) / fov_mm[d];
                    moved_to(pose, nd, v, at[0]);
                    moved_to(s.pose + 6 * s.state[j], nd, v, at[1]);
                    for (int d = 0; d < nd; d++) apart += pow((at[0][d] - at[1][d]) * fov_mm[d], 2);
                    farthest = fmax(farthest, sqrt(apart));
                }
            assert_at_most(farthest, s.within_mm * (1 + 1e-12));
            assert_at_most(s.within_mm, 3 * farthest);
            if (most >= 3) assert_at_most(s.within_mm, .5);
        }
}

/* ---- maps ---- */

TEST(moved_maps_are_those_of_the_coils_where_the_object_is)
{
    const larmor_shape images[] = {LARMOR_SHAPE(40, 44), LARMOR_SHAPE(24, 20, 22)};
    for (int i = 0; i < 2; i++) {
        OWNED(scene) s = new_scene(images[i], 2, in_groups, 5, LARMOR_C128);
        const double rest[6] = {0};
        HEAP cplx *map = random_values(s.voxels * COILS, 1);
        for (int64_t v = 0; v < s.voxels; v++) {
            const double u[3] = {position(s.image, v, 0), position(s.image, v, 1), i ? position(s.image, v, 2) : 0};
            for (int c = 0; c < COILS; c++) map[v + s.voxels * c] = coil(c, u);
        }
        OWNED(larmor_array) *maps = complex_array(LARMOR_C128, larmor_shape_append(s.image, COILS), map), *same,
                            *moved;
        assert_ok(larmor_maps_move(maps, rest, fov_mm, &same));
        assert_at_most(away(same, map, s.voxels * COILS), 1e-7);
        assert_ok(larmor_maps_move(maps, s.pose, fov_mm, &moved));
        HEAP cplx *got = values_of(moved), *expected = values_of(s.maps[0]);
        for (int64_t v = 0; v < s.voxels * COILS; v++) { /* where the object is within the field of view */
            double size = 0;
            for (int d = 0; d < s.image.ndim; d++) size += pow(position(s.image, v % s.voxels, d), 2);
            if (size > .09) got[v] = expected[v];
        }
        assert_at_most(difference(got, expected, s.voxels * COILS), 2e-4);
    }
}

TEST(maps_go_on_where_all_coils_are_zero)
{
    enum { N = 16 };
    HEAP cplx *map = random_values(N * N * 2, 1);
    for (int i = 0; i < N * N; i++) {
        const int inside = i % N > 3 && i % N < 10;
        map[i] = inside ? 2 : 0;
        map[i + N * N] = inside ? -I : 0;
    }
    const double rest[6] = {0};
    OWNED(larmor_array) *maps = complex_array(LARMOR_C64, LARMOR_SHAPE(N, N, 2), map), *out, *none;
    assert_ok(larmor_maps_move(maps, rest, fov_mm, &out));
    HEAP cplx *got = values_of(out);
    for (int i = 0; i < N * N; i++) assert_at_most(cabs(got[i] - 2) + cabs(got[i + N * N] + I), 1e-6);
    OWNED(larmor_array) *zero = zeros(LARMOR_C64, LARMOR_SHAPE(N, N, 2));
    assert_refused(larmor_maps_move(zero, rest, fov_mm, &none), LARMOR_ERR_NUMERIC,
                   "motion: coil maps are zero at all voxels");
    none = NULL;
}

TEST(what_does_not_fit_is_refused)
{
    OWNED(scene) s = new_scene(LARMOR_SHAPE(8, 8), 3, in_turn, MOST_READOUTS, LARMOR_C64);
    const int beyond[MOST_READOUTS] = {0, 1, 3};
    larmor_sense_opts opts = {.traj = s.traj};
    larmor_op *A;
    larmor_array *moved;
    assert_refused(larmor_op_sense_states(s.maps, 3, beyond, &opts, &A), LARMOR_ERR_ARG,
                   "sense states: readout 2 is in state 3, expected 0 to 2");
    assert_refused(larmor_op_sense_states(s.maps, 3, at_rest, &opts, &A), LARMOR_ERR_ARG,
                   "sense states: state 1 has no readout, expected some");
    opts.traj = NULL;
    assert_refused(larmor_op_sense_states(s.maps, 3, in_turn, &opts, &A), LARMOR_ERR_ARG,
                   "sense states: maps, states");
    const double flat[3] = {100, 0, 100};
    assert_refused(larmor_motion_apply(NULL, s.traj, s.motion, flat, &moved), LARMOR_ERR_ARG,
                   "motion: got a field of view of 0 mm, expected more than 0");
    OWNED(larmor_array) *few = zeros(LARMOR_F64, LARMOR_SHAPE(3, 6));
    assert_refused(larmor_motion_apply(NULL, s.traj, few, fov_mm, &moved), LARMOR_ERR_SHAPE,
                   ", expected real [12, 6]");
}

TEST(the_angle_of_a_pose_is_that_of_its_rotation_about_whichever_axis)
{
    for (int axis = 0; axis < 3; axis++) {
        double pose[LARMOR_POSE] = {1, 2, 3};
        pose[3 + axis] = axis == 1 ? -10 : 10;
        assert_at_most(fabs(lmr_rigid_angle(pose, 3) - 10), 1e-9);
        assert_at_most(fabs(lmr_rigid_angle(pose, 2) - (axis == 2 ? 10 : 0)), 1e-6);
    }
    assert_at_most(fabs(lmr_rigid_angle((const double[]){0, 0, 0, 90, 90, 0}, 3) - 120), 1e-9);
}
