/* Trajectories by name: the table, its refusals, and what all trajectories have in common.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

/* 1 if the trajectory takes a matrix of three dimensions. */
static int takes_solid(const char *name)
{
    OWNED(larmor_array) *traj;
    const larmor_traj_opts opts = {.matrix = {8, 8, 4}};
    const larmor_status st = larmor_traj_create(dev, name, &opts, &traj);
    if (st) assert_non_null(strstr(larmor_last_error(), "got matrix 8 x 8 x 4, expected two dimensions; use "));
    return st == LARMOR_OK;
}

TEST(every_trajectory_stays_within_the_matrix)
{
    static const int64_t matrix[4][3] = {{32, 0, 0}, {31, 17, 0}, {16, 16, 12}, {9, 24, 7}};
    larmor_traj_info info;
    for (int t = 0; (info = larmor_traj_entry(t)).name; t++)
        for (int m = 0; m < (takes_solid(info.name) ? 4 : 2); m++)
            for (int64_t samples = 0; samples < 12; samples += 11) {
                larmor_traj_opts opts = {.samples = samples};
                memcpy(opts.matrix, matrix[m], sizeof opts.matrix);
                OWN(larmor_array, *traj, larmor_traj_create(dev, info.name, &opts, &traj));
                assert_int_equal(larmor_array_dtype(traj), LARMOR_F64);
                const larmor_shape shape = larmor_array_shape(traj);
                const int64_t nd = shape.dim[0];
                const int64_t ny = matrix[m][1] ? matrix[m][1] : matrix[m][0];
                const int64_t n[3] = {matrix[m][0], ny, matrix[m][2] ? matrix[m][2] : matrix[m][0]};
                assert_int_equal(shape.ndim, 3);
                assert_int_equal(nd, info.solid || m > 1 ? 3 : 2);
                if (samples) assert_int_equal(shape.dim[1], samples);
                HEAP double *k = host_of(traj);
                for (int64_t i = 0; i < larmor_array_count(traj); i++) {
                    const double half = (double)n[i % nd] / 2;
                    if (!(k[i] >= -half && k[i] < half))
                        fail_msg("%s: k = %g is not in [%g, %g)", info.name, k[i], -half, half);
                }
            }
    assert_true(takes_solid("stars") && !takes_solid("radial"));
}

TEST(every_trajectory_samples_the_centre_and_nine_tenths_of_the_way_to_the_rim)
{
    larmor_traj_info info;
    for (int t = 0; (info = larmor_traj_entry(t)).name; t++) {
        OWN(larmor_array, *traj, larmor_traj_create(dev, info.name, &(larmor_traj_opts){.matrix = {24}}, &traj));
        const int64_t nd = larmor_array_shape(traj).dim[0], points = larmor_array_count(traj) / nd;
        double *k = host_of(traj), nearest = INFINITY, reach[3] = {0};
        for (int64_t i = 0; i < points; i++) {
            double square = 0;
            for (int64_t d = 0; d < nd; d++) {
                square += k[d + nd * i] * k[d + nd * i];
                reach[d] = fmax(reach[d], fabs(k[d + nd * i]));
            }
            nearest = fmin(nearest, square);
        }
        assert_true(nearest == 0);
        for (int64_t d = 0; d < nd; d++) assert_true(reach[d] >= 0.9 * 12);
        free(k);
    }
}

TEST(every_trajectory_is_described_with_the_name_of_its_header)
{
    static const char *const headers[] = {"cartesian", "epi", "radial", "goldenangle", "spiral"};
    larmor_traj_info info;
    int count = 0;
    for (; (info = larmor_traj_entry(count)).name; count++) {
        assert_true(strlen(info.help) > 10 && strlen(info.name) < 16);
        int known = !info.header;
        for (int i = 0; i < 5 && !known; i++) known = !strcmp(info.header, headers[i]);
        assert_true(known);
        for (int i = 0; i < count; i++) assert_string_not_equal(larmor_traj_entry(i).name, info.name);
    }
    assert_true(count >= 6);
    assert_null(larmor_traj_entry(-1).name);
}

/* Whatever its points are, the NUFFT at them has an adjoint. */
TEST(the_nufft_at_every_trajectory_has_its_adjoint)
{
    larmor_traj_info info;
    for (int t = 0; (info = larmor_traj_entry(t)).name; t++) {
        OWN(larmor_array, *traj, larmor_traj_create(dev, info.name, &(larmor_traj_opts){.matrix = {12}}, &traj));
        larmor_nufft_opts opts = {.ndim = (int)larmor_array_shape(traj).dim[0], .dtype = LARMOR_C128};
        for (int d = 0; d < opts.ndim; d++) opts.modes[d] = 12;
        OWN(larmor_op, *F, larmor_op_nufft(dev, &opts, traj, &F));
        assert_at_most(adjoint_error(F, 1), 1e-11);
    }
}

TEST(a_trajectory_is_the_same_on_every_device_with_any_number_of_threads)
{
    const larmor_traj_opts opts = {.matrix = {14, 12, 0}, .readouts = 37};
    larmor_device *others[2];
    assert_ok(larmor_device_open("cpu:1", &others[0]));
    assert_ok(larmor_device_open("cpu:3", &others[1]));
    larmor_traj_info info;
    for (int t = 0; (info = larmor_traj_entry(t)).name; t++)
        for (int i = 0; i < 2; i++) {
            larmor_traj_opts of = opts;
            if (takes_solid(info.name)) of.matrix[2] = 10;
            if (info.lines) of.readouts = 5;
            OWN(larmor_array, *traj, larmor_traj_create(dev, info.name, &of, &traj));
            OWN(larmor_array, *other, larmor_traj_create(others[i], info.name, &of, &other));
            assert_true(larmor_shape_equal(larmor_array_shape(traj), larmor_array_shape(other)));
            HEAP double *k = host_of(traj), *same = host_of(other);
            assert_memory_equal(k, same, larmor_array_bytes(traj));
        }
    LMR_FREE(others[0], others[1]);
}

TEST(the_centre_of_kspace_is_sampled_exactly_by_every_readout_through_it)
{
    const char *names[] = {"radial", "golden", "spiral", "koosh", "phyllotaxis"};
    for (int t = 0; t < 5; t++)
        for (int64_t samples = 20; samples <= 21; samples++) {
            OWN(larmor_array, *traj,
                larmor_traj_create(dev, names[t],
                                   &(larmor_traj_opts){.matrix = {24}, .samples = samples, .readouts = 13}, &traj));
            const larmor_shape shape = larmor_array_shape(traj);
            assert_int_equal(shape.dim[1], samples);
            assert_int_equal(shape.dim[2], 13);
            HEAP double *k = host_of(traj);
            const int64_t nd = shape.dim[0];
            const int64_t centre = t == 2 ? 0 : samples / 2;
            for (int64_t j = 0; j < 13; j++)
                for (int64_t d = 0; d < nd; d++) assert_true(k[d + nd * (centre + samples * j)] == 0);
        }
}

TEST(undersampling_divides_the_default_number_of_readouts)
{
    const char *name;
    for (int t = 0; (name = larmor_traj_entry(t).name); t++) {
        larmor_traj_opts opts = {.matrix = {64, 64, takes_solid(name) ? 8 : 1}};
        OWN(larmor_array, *full, larmor_traj_create(dev, name, &opts, &full));
        opts.undersampling = 4;
        OWN(larmor_array, *some, larmor_traj_create(dev, name, &opts, &some));
        const larmor_shape a = larmor_array_shape(full), b = larmor_array_shape(some);
        assert_int_equal(a.dim[1], b.dim[1]);
        assert_at_most(fabs((double)a.dim[2] / 4 - (double)b.dim[2]), 8);
        assert_true(b.dim[2] * 4 >= a.dim[2]);
    }
}

TEST(an_unknown_name_is_answered_with_the_known_ones)
{
    larmor_array *traj;
    const larmor_traj_opts opts = {.matrix = {32}};
    assert_refused(larmor_traj_create(dev, "raidal", &opts, &traj), LARMOR_ERR_ARG,
                   "traj: got \"raidal\", expected ");
    const char *name, *at = strstr(larmor_last_error(), "expected ");
    for (int t = 0; (name = larmor_traj_entry(t).name); t++) {
        const char *comma = larmor_traj_entry(t + 1).name ? ", " : " or ";
        const char *joint = t ? comma : "expected ";
        assert_true(!strncmp(at, joint, strlen(joint)));
        at += strlen(joint);
        assert_true(!strncmp(at, name, strlen(name)));
        at += strlen(name);
    }
    assert_true(!*at);
    assert_null(traj);
    assert_refused(larmor_traj_create(dev, NULL, &opts, &traj), LARMOR_ERR_ARG, "traj: got \"(null)\", expected ");
}

TEST(sizes_out_of_range_are_refused)
{
    const struct {
        larmor_traj_opts opts;
        const char *message;
    } bad[] = {
        {{.matrix = {0}}, "traj: got matrix 0 x 0 x 0, expected sizes of 1 to 32768"},
        {{.matrix = {64, -1}}, "traj: got matrix 64 x -1 x 0, expected sizes of 1 to 32768"},
        {{.matrix = {32769}}, "expected sizes of 1 to 32768"},
        {{.matrix = {64}, .readouts = -1}, "traj: got -1 readouts"},
        {{.matrix = {64}, .readouts = INT64_MAX}, "traj: got 9223372036854775807 readouts"},
        {{.matrix = {64}, .samples = INT64_MAX}, "traj: got 9223372036854775807 samples"},
        {{.matrix = {64}, .tiny = -3}, "traj: got tiny -3"},
        {{.matrix = {64}, .density = 0.5}, "traj: got density 0.5, expected 1 (Archimedean) to 8 (dense centre)"},
        {{.matrix = {64}, .density = NAN}, "traj: got density nan"},
        {{.matrix = {64}, .undersampling = -2}, "traj: got undersampling -2, expected a factor above 0"},
        {{.matrix = {64}, .undersampling = 1e-9}, "expected at most 2^31"},
        {{.matrix = {64}, .repetition = -1}, "traj: got repetition -1, expected 0 to 2^30"},
    };
    larmor_array *traj;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(larmor_traj_create(dev, "golden", &bad[i].opts, &traj), LARMOR_ERR_ARG, bad[i].message);
        assert_null(traj);
    }
    assert_refused(larmor_traj_create(dev, "golden", NULL, &traj), LARMOR_ERR_ARG, "expected at least the matrix");
    const larmor_traj_opts huge = {.matrix = {64}, .readouts = INT64_C(1) << 31, .samples = INT64_C(1) << 31};
    assert_refused(larmor_traj_create(dev, "golden", &huge, &traj), LARMOR_ERR_SHAPE, "");
}

TEST(trajectories_in_the_plane_refuse_a_solid_matrix)
{
    const larmor_traj_opts opts = {.matrix = {32, 32, 16}}, flat = {.matrix = {32, 32, 1}};
    larmor_array *traj;
    assert_refused(larmor_traj_create(dev, "radial", &opts, &traj), LARMOR_ERR_ARG,
                   "traj: radial got matrix 32 x 32 x 16, expected two dimensions; use stars or koosh");
    assert_refused(larmor_traj_create(dev, "golden", &opts, &traj), LARMOR_ERR_ARG, "golden got matrix");
    assert_refused(larmor_traj_create(dev, "spiral", &opts, &traj), LARMOR_ERR_ARG, "spiral got matrix");
    assert_refused(larmor_traj_create(dev, "koosh", &flat, &traj), LARMOR_ERR_ARG,
                   "traj: koosh got matrix 32 x 32 x 1, expected three dimensions; use golden");
}
