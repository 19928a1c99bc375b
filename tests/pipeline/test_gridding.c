/* pipeline/density.c, recon/density/density_auto.c and what check/warning.c says of gridded images: volumes beside
 * the truth. SPDX-License-Identifier: Apache-2.0 */
#include "tests/pipeline/scan.h"

typedef struct scene {
    const char *trajectory;
    int64_t matrix[3];
    double undersampling;
} scene;

static scan scan_in(const scene *of, double noise, uint64_t seed)
{
    const larmor_traj_opts opts = {.matrix = {of->matrix[0], of->matrix[1], of->matrix[2]},
                                   .undersampling = of->undersampling};
    const larmor_shape shape = larmor_shape_of(3, of->matrix);
    scan s = {.arrays = {.images = 1, .trajectory = "other"}};
    for (int d = 0; d < 3; d++) s.arrays.matrix[d] = of->matrix[d];
    assert_ok(larmor_phantom_create("shepp-logan", 3, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, shape, &s.truth));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, shape, NULL, COILS, &s.maps));
    assert_ok(larmor_traj_create(dev, of->trajectory, &opts, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, COILS, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, noise, seed));
    return s;
}

/* The error of the image gridded by this density, and whether it is warned of. */
static double error_by(const scan *s, larmor_density density, int *warned)
{
    const larmor_recon_opts opts = KNOWN(.maps = s->maps, .method = "grid", .density = density, .oversample = {1});
    OWNED(larmor_recon_result) result = result_of(s, &opts);
    *warned = has_warning(&result.report, "the gridded image does not explain its samples");
    return difference(result.image[0].data, s->truth);
}

/* A kooshball's angles are even in a cube alone, and phyllotaxis is not even; noise is little, and as loud as k-space
 * is at its edge. */
TEST(volumes_are_gridded_by_the_weights_that_are_nearer_to_the_object)
{
    const scene scenes[] = {{"koosh", {20, 12, 12}, 1},
                            {"koosh", {16, 16, 8}, 1},
                            {"koosh", {17, 14, 9}, 2},
                            {"phyllotaxis", {14, 14, 14}, 1},
                            {"koosh", {14, 14, 14}, 4}};
    for (int i = 0; i < 5; i += of_all(3, 1)) {
        OWNED(scan) s = scan_in(&scenes[i], i % 2 ? 1e-4 : 1e-6, 1 + (uint64_t)i);
        int warned[3];
        const double chosen = error_by(&s, LARMOR_DENSITY_AUTO, &warned[0]);
        const double ramp = error_by(&s, LARMOR_DENSITY_RAMP, &warned[1]);
        const double pipe = error_by(&s, LARMOR_DENSITY_PIPE, &warned[2]);
        print_message("%d: auto %.3f, ramp %.3f, pipe %.3f; warned %d%d%d\n", i, chosen, ramp, pipe, warned[0],
                      warned[1], warned[2]);
        assert_at_most(chosen, 1.05 * fmin(ramp, pipe));
        assert_false(warned[0] || warned[2]);
        if (i < 3) assert_true(warned[1] && ramp > 2 * chosen);
    }
}

/* Of a volume of more than 64^3 voxels the centre is compared; the weights are those of all samples. */
TEST(large_volumes_are_compared_by_their_centre)
{
    const larmor_traj_opts opts = {.matrix = {68, 64, 62}, .readouts = 100};
    const larmor_shape shape = {3, {68, 64, 62}};
    OWNED(larmor_array) *traj, *w, *pipe;
    const char *taken;
    assert_ok(larmor_traj_create(dev, "koosh", &opts, &traj));
    assert_ok(larmor_density_auto(traj, shape, &taken, &w));
    assert_string_equal(taken, "pipe");
    assert_ok(larmor_density_pipe(traj, shape, 0, &pipe));
    OWN_MEMORY(double, *chosen, larmor_array_download(w, LARMOR_F64, &chosen));
    OWN_MEMORY(double, *all, larmor_array_download(pipe, LARMOR_F64, &all));
    for (int64_t i = 0; i < larmor_array_count(w); i++) assert_at_most(fabs(chosen[i] / all[i] - 1), 1e-4);
}
