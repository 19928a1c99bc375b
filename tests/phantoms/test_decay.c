/* phantoms/scan/decay: samples of objects that decay. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/io/files.h"

static const double t2star[LARMOR_TISSUES] = {12, 4, 7, 4, 25, 5};

enum { DWELL_US = 80 };

static float complex *samples_of(const larmor_simulation_opts *opts, larmor_array **traj)
{
    float complex *host;
    OWN(larmor_simulation, *s, larmor_simulation_create(dev, opts, &s));
    OWN(larmor_array, *kspace, larmor_simulation_samples(s, 0, 0, 0, &kspace, traj));
    assert_ok(larmor_array_download(kspace, LARMOR_C64, &host));
    return host;
}

/* The whole readouts that tissues of such densities have. */
static float complex *expected_of(const larmor_array *traj, double ms, const larmor_phantom_field *field)
{
    double density[LARMOR_TISSUES];
    OWNED(larmor_array) *kspace, *times;
    float complex *host;
    const larmor_shape shape = larmor_array_shape(traj);
    double seconds[256];
    for (int64_t i = 0; i < shape.dim[1]; i++) seconds[i] = 1e-6 * DWELL_US * (double)(i - shape.dim[1] / 2);
    for (int i = 0; i < LARMOR_TISSUES; i++) density[i] = larmor_phantom_tissue(i).density * exp(-ms / t2star[i]);
    OWN(larmor_phantom, *object, larmor_phantom_of_tissues((int)shape.dim[0], density, &object));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(shape.dim[1]), LARMOR_F64, seconds, &times));
    assert_ok(larmor_phantom_kspace_off_resonance(object, traj, field, times, 2, LARMOR_C64, &kspace));
    assert_ok(larmor_array_download(kspace, LARMOR_C64, &host));
    return host;
}

static void assert_decays(const char *trajectory, const larmor_phantom_field *field)
{
    const larmor_simulation_opts opts = {.trajectory = trajectory,
                                         .traj = {.matrix = {16}, .readouts = 5},
                                         .phantom = "tissues",
                                         .coils = 2,
                                         .dwell_us = DWELL_US,
                                         .field = field,
                                         .t2stars = LARMOR_TISSUES,
                                         .t2star_ms = t2star};
    OWNED(larmor_array) *traj;
    HEAP float complex *got = samples_of(&opts, &traj);
    const int64_t samples = larmor_array_shape(traj).dim[1], all = 2 * larmor_array_shape(traj).dim[2];
    for (int64_t i = 0; i < samples; i += 5) {
        const double ms = 1e-3 * DWELL_US * (double)(i - samples / 2);
        HEAP float complex *expected = expected_of(traj, ms, field ? field : &(larmor_phantom_field){0});
        for (int64_t j = 0; j < all; j++)
            assert_at_most(cabsf(got[i + samples * j] - expected[i + samples * j]), field ? 1e-5 : 1e-7);
    }
}

TEST(each_sample_is_that_of_tissues_whose_densities_have_decayed_until_then)
{
    assert_decays("golden", NULL);
    assert_decays("golden", &(larmor_phantom_field){.hz = 40, .gradient = {30, -10}});
    assert_decays("koosh", NULL);
}

TEST(one_t2star_multiplies_the_samples_of_any_phantom)
{
    const double ms = 6, poses[6] = {4, -3, 0, 0, 0, 20};
    OWNED(larmor_array) *motion, *traj, *same;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(1, 6), LARMOR_F64, poses, &motion));
    larmor_simulation_opts opts = {.traj = {.matrix = {16}, .readouts = 5},
                                   .phantom = "texture",
                                   .coils = 2,
                                   .dwell_us = DWELL_US,
                                   .motion = motion};
    HEAP float complex *still = samples_of(&opts, &traj);
    opts.t2stars = 1;
    opts.t2star_ms = &ms;
    HEAP float complex *decayed = samples_of(&opts, &same);
    const int64_t samples = larmor_array_shape(traj).dim[1];
    for (int64_t i = 0; i < samples * 5 * 2; i++) {
        const double t = 1e-3 * DWELL_US * (double)(i % samples - samples / 2);
        assert_at_most(cabsf(decayed[i] - still[i] * (float)exp(-t / ms)), 1e-6);
    }
}

TEST(the_map_has_the_t2star_of_each_tissue_in_voxels_within_it)
{
    const larmor_simulation_opts opts = {.traj = {.matrix = {48}, .readouts = 2},
                                         .phantom = "tissues",
                                         .object_size = 0.9,
                                         .t2stars = LARMOR_TISSUES,
                                         .t2star_ms = t2star};
    larmor_image_meta meta;
    HEAP float *map, *tissue;
    OWN(larmor_simulation, *s, larmor_simulation_create(dev, &opts, &s));
    OWN(larmor_array, *ms, larmor_simulation_t2star(s, &ms, &meta));
    assert_true(meta.fov_mm[0] == 256 && larmor_array_shape(ms).dim[1] == 48);
    assert_ok(larmor_array_download(ms, LARMOR_F32, &map));
    OWN(larmor_truth, truth, larmor_simulation_truth(s, &truth));
    assert_string_equal(truth.name[truth.count - 1], "tissue");
    assert_ok(larmor_array_download(truth.map[truth.count - 1].data, LARMOR_F32, &tissue));
    int within = 0;
    for (int i = 0; i < 48 * 48; i++) {
        const int number = (int)tissue[i];
        within += number > 0;
        assert_at_most(number ? fabs(map[i] - t2star[number - 1]) : 0, 1e-4);
        assert_true(map[i] >= 4 - 1e-4f && map[i] <= 25 + 1e-4f);
    }
    assert_true(within > 200 && map[0] == 12);
}

TEST(decay_that_makes_no_sense_is_refused)
{
    static const double zero = 0, all[LARMOR_TISSUES] = {1, 1, 1, 1, 1, 1};
    static const larmor_simulation_epi epi = {.shots = 1};
    static const struct {
        larmor_simulation_opts opts;
        const char *says;
    } refused[] = {
        {{.t2stars = 2, .t2star_ms = all}, "simulation: got 2 T2*, expected 1, or 6 of the phantom tissues"},
        {{.t2stars = 1}, "simulation: got 1 T2*, expected 1, or 6 of the phantom tissues"},
        {{.t2stars = -1, .t2star_ms = all}, "simulation: got -1 T2*"},
        {{.t2stars = 1, .t2star_ms = &zero}, "simulation: got a T2* of 0 ms, expected more than 0, at most 1e+06"},
        {{.t2stars = 6, .t2star_ms = all}, "simulation: got 6 T2* of shepp-logan, expected 1, or 6 of the phantom"},
        {{.t2stars = 6, .t2star_ms = all, .phantom = "tissues", .repetitions = 2, .contrast = 1},
         "simulation: got T2* of each tissue, expected no contrast agent"},
        {{.t2stars = 1, .t2star_ms = all, .trajectory = "cartesian", .epi = &epi},
         "simulation: got T2*, expected no signal of tissues, epi and bands"},
        {{.t2stars = 1, .t2star_ms = all, .phantom = "tissues", .signal = LARMOR_SIGNAL_WATER_FAT},
         "simulation: got T2*, expected no signal of tissues, epi and bands"},
        {{.t2stars = 1, .t2star_ms = all, .bands = 2}, "simulation: got T2*, expected no signal of tissues, epi"},
    };
    OWNED(larmor_simulation) *s;
    larmor_array *ms;
    larmor_image_meta meta;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_refused(larmor_simulation_create(dev, &refused[i].opts, &s), LARMOR_ERR_ARG, refused[i].says);
        assert_null(s);
    }
    const larmor_simulation_opts plain = {.traj = {.matrix = {16}, .readouts = 2}};
    assert_ok(larmor_simulation_create(dev, &plain, &s));
    assert_refused(larmor_simulation_t2star(s, &ms, &meta), LARMOR_ERR_ARG,
                   "simulation: got no T2*, expected opts.t2star_ms");
}
