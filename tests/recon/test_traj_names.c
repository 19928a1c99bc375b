/* Trajectories by name: the table, its refusals, and what all trajectories have in common.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "larmor/recon.h"
#include "tests/support/test.h"

static double *points_of(larmor_array *traj)
{
    double *k = malloc(larmor_array_bytes(traj));
    assert_non_null(k);
    assert_ok(larmor_array_read(traj, k, larmor_array_bytes(traj)));
    return k;
}

static int solid(const char *name)
{
    return !strcmp(name, "stars") || !strcmp(name, "koosh");
}

static void every_name_in_the_table_makes_a_trajectory_within_the_matrix(void **state)
{
    (void)state;
    int count = 0;
    for (const char *name; (name = larmor_traj_name(count)); count++) {
        assert_true(strlen(larmor_traj_help(count)) > 10);
        const int64_t matrix[4][3] = {{32, 0, 0}, {31, 17, 0}, {16, 16, 12}, {9, 24, 7}};
        for (int m = 0; m < 4; m++)
            for (int64_t samples = 0; samples < 12; samples += 11) {
                if (m > 1 && !solid(name) && strcmp(name, "cartesian")) continue;
                larmor_traj_opts opts = {.samples = samples};
                memcpy(opts.matrix, matrix[m], sizeof opts.matrix);
                larmor_array *traj;
                assert_ok(larmor_traj_create(dev, name, &opts, &traj));
                assert_int_equal(larmor_array_dtype(traj), LARMOR_F64);
                const larmor_shape shape = larmor_array_shape(traj);
                const int64_t nd = shape.dim[0], ny = matrix[m][1] ? matrix[m][1] : matrix[m][0];
                const int64_t n[3] = {matrix[m][0], ny, matrix[m][2] ? matrix[m][2] : matrix[m][0]};
                assert_int_equal(shape.ndim, 3);
                assert_int_equal(nd, !strcmp(name, "koosh") || m > 1 ? 3 : 2);
                double *k = points_of(traj);
                for (int64_t i = 0; i < larmor_array_count(traj); i++) {
                    const double half = (double)n[i % nd] / 2;
                    if (!(k[i] >= -half && k[i] < half))
                        fail_msg("%s: k = %g is not in [%g, %g)", name, k[i], -half, half);
                }
                free(k);
                larmor_array_free(traj);
            }
    }
    assert_int_equal(count, 6);
    assert_null(larmor_traj_help(count));
    assert_null(larmor_traj_name(-1));
}

static void a_trajectory_is_the_same_on_every_device_with_any_number_of_threads(void **state)
{
    (void)state;
    const larmor_traj_opts opts = {.matrix = {14, 12, 0}, .readouts = 37};
    larmor_device *others[2];
    assert_ok(larmor_device_open("cpu:1", &others[0]));
    assert_ok(larmor_device_open("cpu:3", &others[1]));
    const char *name;
    for (int t = 0; (name = larmor_traj_name(t)); t++)
        for (int i = 0; i < 2; i++) {
            larmor_array *traj, *other;
            larmor_traj_opts of = opts;
            if (solid(name)) of.matrix[2] = 10;
            if (!strcmp(name, "cartesian")) of.readouts = 5;
            assert_ok(larmor_traj_create(dev, name, &of, &traj));
            assert_ok(larmor_traj_create(others[i], name, &of, &other));
            assert_true(larmor_shape_equal(larmor_array_shape(traj), larmor_array_shape(other)));
            double *k = points_of(traj), *same = points_of(other);
            assert_memory_equal(k, same, larmor_array_bytes(traj));
            free(k);
            free(same);
            larmor_array_free(traj);
            larmor_array_free(other);
        }
    larmor_device_free(others[0]);
    larmor_device_free(others[1]);
}

static void the_centre_of_kspace_is_sampled_exactly_by_every_readout_through_it(void **state)
{
    (void)state;
    const char *names[] = {"radial", "golden", "spiral", "koosh"};
    for (int t = 0; t < 4; t++)
        for (int64_t samples = 20; samples <= 21; samples++) {
            larmor_array *traj;
            assert_ok(larmor_traj_create(
                dev, names[t], &(larmor_traj_opts){.matrix = {24}, .samples = samples, .readouts = 13}, &traj));
            const larmor_shape shape = larmor_array_shape(traj);
            assert_int_equal(shape.dim[1], samples);
            assert_int_equal(shape.dim[2], 13);
            double *k = points_of(traj);
            const int64_t nd = shape.dim[0], centre = t == 2 ? 0 : samples / 2;
            for (int64_t j = 0; j < 13; j++)
                for (int64_t d = 0; d < nd; d++) assert_true(k[d + nd * (centre + samples * j)] == 0);
            free(k);
            larmor_array_free(traj);
        }
}

static void undersampling_divides_the_default_number_of_readouts(void **state)
{
    (void)state;
    for (int t = 0; t < 6; t++) {
        larmor_traj_opts opts = {.matrix = {64, 64, solid(larmor_traj_name(t)) ? 8 : 1}};
        larmor_array *full, *some;
        assert_ok(larmor_traj_create(dev, larmor_traj_name(t), &opts, &full));
        opts.undersampling = 4;
        assert_ok(larmor_traj_create(dev, larmor_traj_name(t), &opts, &some));
        const larmor_shape a = larmor_array_shape(full), b = larmor_array_shape(some);
        assert_int_equal(a.dim[1], b.dim[1]);
        assert_at_most(fabs((double)a.dim[2] / 4 - (double)b.dim[2]), 8);
        assert_true(b.dim[2] * 4 >= a.dim[2]);
        larmor_array_free(some), larmor_array_free(full);
    }
}

static void an_unknown_name_is_answered_with_the_known_ones(void **state)
{
    (void)state;
    larmor_array *traj;
    const larmor_traj_opts opts = {.matrix = {32}};
    assert_refused(larmor_traj_create(dev, "rosette", &opts, &traj), LARMOR_ERR_ARG,
                   "traj: got \"rosette\", expected radial, golden, spiral, stars, koosh or cartesian");
    assert_null(traj);
    assert_refused(larmor_traj_create(dev, NULL, &opts, &traj), LARMOR_ERR_ARG, "expected radial, golden");
}

static void sizes_out_of_range_are_refused(void **state)
{
    (void)state;
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

static void trajectories_in_the_plane_refuse_a_solid_matrix(void **state)
{
    (void)state;
    const larmor_traj_opts opts = {.matrix = {32, 32, 16}}, flat = {.matrix = {32, 32, 1}};
    larmor_array *traj;
    assert_refused(larmor_traj_create(dev, "radial", &opts, &traj), LARMOR_ERR_ARG,
                   "traj: radial got matrix 32 x 32 x 16, expected two dimensions; use stars or koosh");
    assert_refused(larmor_traj_create(dev, "golden", &opts, &traj), LARMOR_ERR_ARG, "golden got matrix");
    assert_refused(larmor_traj_create(dev, "spiral", &opts, &traj), LARMOR_ERR_ARG, "spiral got matrix");
    assert_refused(larmor_traj_create(dev, "koosh", &flat, &traj), LARMOR_ERR_ARG,
                   "traj: koosh got matrix 32 x 32 x 1, expected three dimensions; use golden");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_in_the_table_makes_a_trajectory_within_the_matrix),
        cmocka_unit_test(a_trajectory_is_the_same_on_every_device_with_any_number_of_threads),
        cmocka_unit_test(the_centre_of_kspace_is_sampled_exactly_by_every_readout_through_it),
        cmocka_unit_test(undersampling_divides_the_default_number_of_readouts),
        cmocka_unit_test(an_unknown_name_is_answered_with_the_known_ones),
        cmocka_unit_test(sizes_out_of_range_are_refused),
        cmocka_unit_test(trajectories_in_the_plane_refuse_a_solid_matrix),
    };
    RUN_TESTS(tests);
}
