/* Lines at the integers. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "larmor/recon.h"
#include "tests/support/test.h"

static double *make(const larmor_traj_opts *opts, larmor_shape *shape)
{
    larmor_array *traj;
    assert_ok(larmor_traj_create(dev, "cartesian", opts, &traj));
    *shape = larmor_array_shape(traj);
    double *k = malloc(larmor_array_bytes(traj));
    assert_non_null(k);
    assert_ok(larmor_array_read(traj, k, larmor_array_bytes(traj)));
    larmor_array_free(traj);
    return k;
}

static void every_integer_of_the_matrix_is_sampled_in_order(void **state)
{
    (void)state;
    const int64_t matrix[3][3] = {{6, 5, 0}, {7, 8, 1}, {4, 3, 5}};
    for (int m = 0; m < 3; m++) {
        larmor_traj_opts opts = {0};
        memcpy(opts.matrix, matrix[m], sizeof opts.matrix);
        larmor_shape s;
        double *k = make(&opts, &s);
        const int64_t *n = matrix[m], nz = n[2] > 1 ? n[2] : 1, nd = n[2] > 1 ? 3 : 2;
        assert_true(larmor_shape_equal(s, LARMOR_SHAPE(nd, n[0], n[1] * nz)));
        for (int64_t i = 0; i < n[0] * n[1] * nz; i++) {
            assert_true(k[nd * i] == (double)(i % n[0] - n[0] / 2));
            assert_true(k[nd * i + 1] == (double)(i / n[0] % n[1] - n[1] / 2));
            if (nd == 3) assert_true(k[3 * i + 2] == (double)(i / (n[0] * n[1]) - nz / 2));
        }
        free(k);
    }
}

static void fewer_lines_are_evenly_spread_and_keep_the_centre(void **state)
{
    (void)state;
    for (int64_t lines = 1; lines <= 32; lines++) {
        larmor_shape s;
        double *k = make(&(larmor_traj_opts){.matrix = {4, 32}, .readouts = lines}, &s);
        int seen[32] = {0}, gap = 0, widest = 0;
        for (int64_t j = 0; j < lines; j++) seen[(int)k[2 * 4 * j + 1] + 16]++;
        assert_int_equal(seen[16], 1);
        for (int y = 0; y < 64; y++) {
            assert_true(seen[y % 32] <= 1);
            gap = seen[y % 32] ? 0 : gap + 1;
            widest = gap > widest ? gap : widest;
        }
        assert_int_equal(widest + 1 < 32 ? widest + 1 : 32, (32 + lines - 1) / lines);
        free(k);
    }
}

static void more_samples_make_a_finer_line(void **state)
{
    (void)state;
    larmor_shape s;
    double *k = make(&(larmor_traj_opts){.matrix = {8, 2}, .samples = 16}, &s);
    for (int i = 0; i < 16; i++) assert_true(k[2 * i] == -4 + 0.5 * i);
    free(k);
}

static void more_lines_than_there_are_is_refused(void **state)
{
    (void)state;
    larmor_array *traj;
    const larmor_traj_opts opts = {.matrix = {8, 8}, .readouts = 9};
    assert_refused(larmor_traj_create(dev, "cartesian", &opts, &traj), LARMOR_ERR_ARG,
                   "traj: cartesian got 9 readouts, expected at most the 8 lines of the matrix");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_integer_of_the_matrix_is_sampled_in_order),
        cmocka_unit_test(fewer_lines_are_evenly_spread_and_keep_the_centre),
        cmocka_unit_test(more_samples_make_a_finer_line),
        cmocka_unit_test(more_lines_than_there_are_is_refused),
    };
    RUN_TESTS(tests);
}
