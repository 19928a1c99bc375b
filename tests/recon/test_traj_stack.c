/* A stack of stars. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

TEST(every_partition_holds_the_same_golden_star)
{
    enum { SPOKES = 11, SAMPLES = 20, NZ = 5 };
    larmor_traj_opts opts = {.matrix = {16, 16, NZ}, .samples = SAMPLES, .readouts = SPOKES, .tiny = 3};
    OWN(larmor_array, *stack, larmor_traj_create(dev, "stars", &opts, &stack));
    opts.matrix[2] = 1;
    OWN(larmor_array, *star, larmor_traj_create(dev, "golden", &opts, &star));
    assert_true(larmor_shape_equal(larmor_array_shape(stack), LARMOR_SHAPE(3, SAMPLES, SPOKES * NZ)));
    static double k[3 * SAMPLES * SPOKES * NZ], flat[2 * SAMPLES * SPOKES];
    assert_ok(larmor_array_read(stack, k, sizeof k));
    assert_ok(larmor_array_read(star, flat, sizeof flat));
    for (int i = 0; i < SAMPLES * SPOKES * NZ; i++) {
        const int same = i % (SAMPLES * SPOKES);
        assert_true(k[3 * i] == flat[2 * same] && k[3 * i + 1] == flat[2 * same + 1]);
        assert_true(k[3 * i + 2] == i / (SAMPLES * SPOKES) - NZ / 2); /* -2, -1, 0, 1, 2: partitions outermost */
    }
}

TEST(a_single_partition_is_a_star_in_the_plane)
{
    const larmor_traj_opts opts = {.matrix = {16}, .readouts = 9};
    OWN(larmor_array, *stack, larmor_traj_create(dev, "stars", &opts, &stack));
    OWN(larmor_array, *star, larmor_traj_create(dev, "golden", &opts, &star));
    assert_true(larmor_shape_equal(larmor_array_shape(stack), LARMOR_SHAPE(2, 32, 9)));
    static double a[2 * 32 * 9], b[2 * 32 * 9];
    assert_ok(larmor_array_read(stack, a, sizeof a));
    assert_ok(larmor_array_read(star, b, sizeof b));
    assert_memory_equal(a, b, sizeof a);
}
