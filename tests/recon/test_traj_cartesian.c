/* Lines at the integers. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

static double *make(const larmor_traj_opts *opts, larmor_shape *shape)
{
    OWN(larmor_array, *traj, larmor_traj_create(dev, "cartesian", opts, &traj));
    *shape = larmor_array_shape(traj);
    return host_of(traj);
}

TEST(every_integer_of_the_matrix_is_sampled_in_order)
{
    const int64_t matrix[3][3] = {{6, 5, 0}, {7, 8, 1}, {4, 3, 5}};
    for (int m = 0; m < 3; m++) {
        larmor_traj_opts opts = {0};
        memcpy(opts.matrix, matrix[m], sizeof opts.matrix);
        larmor_shape s;
        HEAP double *k = make(&opts, &s);
        const int64_t *n = matrix[m];
        const int64_t nz = n[2] > 1 ? n[2] : 1;
        const int64_t nd = n[2] > 1 ? 3 : 2;
        assert_true(larmor_shape_equal(s, LARMOR_SHAPE(nd, n[0], n[1] * nz)));
        for (int64_t i = 0; i < n[0] * n[1] * nz; i++) {
            assert_true(k[nd * i] == (double)(i % n[0] - n[0] / 2));
            assert_true(k[nd * i + 1] == (double)(i / n[0] % n[1] - n[1] / 2));
            if (nd == 3) assert_true(k[3 * i + 2] == (double)(i / (n[0] * n[1]) - nz / 2));
        }
    }
}

TEST(fewer_lines_are_evenly_spread_and_keep_the_centre)
{
    for (int64_t lines = 1; lines <= 32; lines++) {
        larmor_shape s;
        HEAP double *k = make(&(larmor_traj_opts){.matrix = {4, 32}, .readouts = lines}, &s);
        int seen[32] = {0}, gap = 0, widest = 0;
        for (int64_t j = 0; j < lines; j++) seen[(int)k[2 * 4 * j + 1] + 16]++;
        assert_int_equal(seen[16], 1);
        for (int y = 0; y < 64; y++) {
            assert_true(seen[y % 32] <= 1);
            gap = seen[y % 32] ? 0 : gap + 1;
            widest = gap > widest ? gap : widest;
        }
        assert_int_equal(widest + 1 < 32 ? widest + 1 : 32, (32 + lines - 1) / lines);
    }
}

TEST(more_samples_make_a_finer_line)
{
    larmor_shape s;
    HEAP double *k = make(&(larmor_traj_opts){.matrix = {8, 2}, .samples = 16}, &s);
    for (int i = 0; i < 16; i++) assert_true(k[2 * i] == -4 + 0.5 * i);
}

TEST(more_lines_than_there_are_is_refused)
{
    larmor_array *traj;
    const larmor_traj_opts opts = {.matrix = {8, 8}, .readouts = 9};
    assert_refused(larmor_traj_create(dev, "cartesian", &opts, &traj), LARMOR_ERR_ARG,
                   "traj: cartesian got 9 readouts, expected at most the 8 lines of the matrix");
}

/* Counts of lines by role, and all lines that are listed twice or have none. */
static void count_roles(const larmor_traj_opts *opts, int count[4])
{
    larmor_shape s;
    HEAP double *k = make(opts, &s);
    memset(count, 0, 4 * sizeof *count);
    for (int64_t j = 0; j < s.dim[2]; j++) {
        const double *line = k + s.dim[0] * s.dim[1] * j;
        const int role = larmor_traj_line_role(opts, lround(line[1]), s.dim[0] == 3 ? lround(line[2]) : 0);
        assert_in_range(role, 1, 3);
        count[role]++;
        for (int64_t i = 0; i < j; i++) {
            const double *other = k + s.dim[0] * s.dim[1] * i;
            assert_false(other[1] == line[1] && (s.dim[0] == 2 || other[2] == line[2]));
        }
    }
}

TEST(acceleration_keeps_every_rth_line_and_the_middle_all)
{
    int count[4];
    /* ky -16 .. 15: -15, -12, .. 15 are of the grid; -6 .. 5 in the middle, of these -6, -3, 0 and 3 in both */
    count_roles(&(larmor_traj_opts){.matrix = {4, 32}, .acceleration = {3}, .calibration = {12}}, count);
    assert_int_equal(count[LARMOR_LINE_IMAGING], 11 - 4);
    assert_int_equal(count[LARMOR_LINE_CALIBRATION], 12 - 4);
    assert_int_equal(count[LARMOR_LINE_IMAGING | LARMOR_LINE_CALIBRATION], 4);
    /* without calibration the centre is there all the same */
    const larmor_traj_opts odd = {.matrix = {4, 31}, .acceleration = {4}};
    count_roles(&odd, count);
    assert_int_equal(count[LARMOR_LINE_IMAGING], 7); /* -12, -8, .. 12 */
    assert_int_equal(larmor_traj_line_role(&odd, 0, 0), LARMOR_LINE_IMAGING);
    assert_int_equal(larmor_traj_line_role(&odd, 1, 0), 0);
    assert_int_equal(larmor_traj_line_role(&odd, 16, 0), 0); /* outside of the matrix */
    const larmor_traj_opts none[] = {{.matrix = {16, 16}, .acceleration = {-1}},
                                     {.matrix = {16, INT64_MIN}},
                                     {.matrix = {16, 16}, .calibration = {INT64_MIN}},
                                     {.matrix = {16, 16}, .partial_fourier = NAN}};
    for (int i = 0; i < 4; i++) assert_int_equal(larmor_traj_line_role(&none[i], 0, 0), 0);
}

TEST(acceleration_and_calibration_go_along_y_and_z)
{
    int count[4];
    count_roles(&(larmor_traj_opts){.matrix = {2, 12, 9}, .acceleration = {2, 3}, .calibration = {4, 3}}, count);
    assert_int_equal(count[1] + count[3], 6 * 3); /* ky -6, -4 .. 4; kz -3, 0, 3 */
    assert_int_equal(count[2] + count[3], 4 * 3); /* ky -2 .. 1; kz -1 .. 1 */
    assert_int_equal(count[3], 2 * 1);            /* ky -2, 0; kz 0 */
    count_roles(&(larmor_traj_opts){.matrix = {2, 12, 5}, .acceleration = {1, 2}, .calibration = {8}}, count);
    assert_int_equal(count[2] + count[3], 8 * 5); /* as many partitions as lines, at most all */
}

TEST(partial_fourier_leaves_out_the_first_lines)
{
    larmor_shape s;
    double *k = make(&(larmor_traj_opts){.matrix = {2, 32}, .partial_fourier = 0.625}, &s);
    assert_int_equal(s.dim[2], 20);
    for (int j = 0; j < 20; j++) assert_true(k[4 * j + 1] == j - 4);
    free(k);
    k = make(&(larmor_traj_opts){.matrix = {2, 31}, .partial_fourier = 0.75, .acceleration = {2}}, &s);
    assert_int_equal(s.dim[2], 12); /* of 24 lines from -8 to 15 the even ones */
    for (int j = 0; j < 12; j++) assert_true(k[4 * j + 1] == 2 * j - 8);
    free(k);
    int count[4]; /* calibration is complete, whatever the part */
    count_roles(&(larmor_traj_opts){.matrix = {2, 32}, .partial_fourier = 0.625, .calibration = {16}}, count);
    assert_int_equal(count[2] + count[3], 16);
    assert_int_equal(count[1] + count[3], 20);
}

TEST(patterns_that_make_no_sense_are_refused)
{
    const struct {
        larmor_traj_opts opts;
        const char *message;
    } bad[] = {
        {{.matrix = {8}, .acceleration = {-1}},
         "traj: got acceleration -1 and 0 calibration lines, expected numbers"},
        {{.matrix = {8}, .acceleration = {2}, .readouts = 4}, "traj: cartesian got readouts or undersampling beside"},
        {{.matrix = {8}, .calibration = {9}}, "traj: cartesian got acceleration 1 and 9 calibration lines along y"},
        {{.matrix = {8, 8, 4}, .acceleration = {1, 5}}, "along z, expected at most its 4 lines"},
        {{.matrix = {8}, .partial_fourier = 0.5}, "traj: got a partial Fourier factor of 0.5"},
        {{.matrix = {8}, .partial_fourier = NAN}, "traj: got a partial Fourier factor of nan"},
    };
    larmor_array *traj;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_refused(larmor_traj_create(dev, "cartesian", &bad[i].opts, &traj), LARMOR_ERR_ARG, bad[i].message);
    assert_refused(larmor_traj_create(dev, "golden", &(larmor_traj_opts){.matrix = {8}, .calibration = {4}}, &traj),
                   LARMOR_ERR_ARG, "traj: golden got acceleration, calibration lines or partial Fourier");
}
