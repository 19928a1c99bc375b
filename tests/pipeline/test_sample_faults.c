/* check/sample_faults.c: what samples say of themselves. SPDX-License-Identifier: Apache-2.0 */
#include "check/sample_faults.h"
#include "tests/pipeline/scan.h"

/* The golden scan of the phantom with its noise, and a wave of this frequency, in cycles per sample, in all readouts
 * and coils, with a phase of its own in each. */
static larmor_sample_faults faults_with(double amplitude, double frequency)
{
    OWNED(scan) s = scan_of(COILS, 1, 1e-4);
    larmor_sample_faults found;
    const int64_t matrix[3] = {N, N, 1};
    const larmor_readouts *r = &s.image[0];
    const larmor_shape shape = larmor_array_shape(r->kspace);
    OWNED(larmor_array) *kspace;
    double size;
    assert_ok(larmor_nrm2(r->kspace, &size));
    size /= sqrt((double)larmor_array_count(r->kspace));
    OWN_MEMORY(float, *x, larmor_array_download(r->kspace, LARMOR_C64, &x));
    for (int64_t i = 0; i < larmor_array_count(r->kspace); i++) {
        const double phase = 2 * M_PI * frequency * (double)(i % shape.dim[0]) + (double)(i / shape.dim[0]);
        x[2 * i] += (float)(amplitude * size * cos(phase));
        x[2 * i + 1] += (float)(amplitude * size * sin(phase));
    }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, x, &kspace));
    const larmor_samples samples = {.kspace = kspace, .traj = r->traj};
    assert_ok(larmor_sample_faults_find(samples.kspace, samples.traj, matrix, &found));
    return found;
}

TEST(one_frequency_in_all_readouts_is_found_with_its_sign_and_none_in_a_right_scan)
{
    const double frequency[] = {0.25, -0.125, 0.40625}; /* whole numbers of 64ths */
    assert_true(faults_with(0, 0.25).carrier == 0);
    for (int i = 0; i < 3; i++) {
        const larmor_sample_faults found = faults_with(1, frequency[i]);
        assert_true(found.carrier > 0);
        assert_true(fabs(found.carrier_frequency - frequency[i]) < 1. / 128);
    }
}

/* Faults of the phantom on a trajectory, whose samples a function may change; x: [points, coils] complex. */
static larmor_sample_faults faults_of(const char *traj, int coils, double noise, uint64_t seed, double number,
                                      void (*change)(float *x, int64_t points, int coils, double number))
{
    const int64_t matrix[3] = {N, N, 1};
    const larmor_traj_opts opts = {.matrix = {N, N}};
    larmor_sample_faults found;
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    OWN(larmor_array, *k, larmor_traj_create(dev, traj, &opts, &k));
    OWN(larmor_array, *samples, larmor_phantom_kspace(phantom, k, coils, LARMOR_C64, &samples));
    if (noise > 0) assert_ok(larmor_phantom_noise(samples, noise, seed));
    OWN_MEMORY(float, *x, larmor_array_download(samples, LARMOR_C64, &x));
    change(x, larmor_array_count(samples) / coils, coils, number);
    assert_ok(larmor_array_write(samples, x, larmor_array_bytes(samples)));
    assert_ok(larmor_sample_faults_find(samples, k, matrix, &found));
    return found;
}

static void scale(float *x, int64_t points, int coils, double number)
{
    for (int64_t i = 0; i < 2 * points * coils; i++) x[i] *= (float)number;
}

/* Volts, teslas: squares of such samples are below the least number of single precision. */
TEST(the_place_of_the_echo_does_not_depend_on_the_unit_of_samples)
{
    const double units[] = {1, 1e-22, 1e-30, 1e15};
    for (int i = 0; i < 4; i++) {
        const larmor_sample_faults found = faults_of("golden", COILS, 1e-4, 1, units[i], scale);
        assert_true(found.echo_distance == 0 && found.zeros == 0 && found.copied == 0);
    }
}

/* Coil 1 has noise alone. */
static void drown(float *x, int64_t points, int coils, double number)
{
    uint64_t seed = 9;
    assert_true(coils > 1);
    for (int64_t i = 2 * points; i < 4 * points; i++)
        x[i] = (float)(number * (test_random(&seed) + test_random(&seed) + test_random(&seed)));
}

TEST(a_coil_of_noise_alone_is_named_and_moves_no_echo)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const larmor_sample_faults found = faults_of("golden", COILS, 1e-4, seed, 3, drown);
        assert_true(found.noisy == 1 && found.noisy_coil == 1);
        assert_true(found.echo_distance == 0);
    }
}

/* More noise in the last coil: nearly normal numbers of this deviation. */
static void amplify(float *x, int64_t points, int coils, double number)
{
    float *at = x + 2 * points * (coils - 1);
    uint64_t seed = 11;
    for (int64_t i = 0; i < 2 * points; i++)
        for (int k = 0; k < 12; k++) at[i] += (float)(number / 2 * test_random(&seed));
}

static void weaken(float *x, int64_t points, int coils, double number)
{
    for (int c = 0; c < coils; c++)
        for (int64_t i = 0; i < 2 * points; i++) x[2 * points * c + i] *= (float)pow(number, c);
}

TEST(a_coil_with_signal_and_twelve_times_the_noise_of_others_is_named_and_none_of_another_signal)
{
    const char *const traj[] = {"golden", "spiral", "cartesian"};
    const double noise[] = {0, 1e-5, 1e-4, 1e-3}, ratio[] = {.2, 1, 3};
    char line[512];
    for (int t = 0; t < 3; t++)
        for (int coils = 4; coils <= 8; coils *= 2) {
            const larmor_sample_faults loud = faults_of(traj[t], coils, 1e-3, 5, .012, amplify);
            lmr_describe_noisy(&loud, line, sizeof line);
            if (loud.noisy != 1 || loud.noisy_coil != coils - 1) fail_msg("%s, %d coils: %s", traj[t], coils, line);
            for (int i = 0; i < 12; i++)
                assert_int_equal(faults_of(traj[t], coils, noise[i / 3], 6, ratio[i % 3], weaken).noisy, 0);
        }
    lmr_describe_noisy(&(larmor_sample_faults){.noisy = 1, .noisy_coil = 3}, line, sizeof line);
    assert_string_equal(line, "1 coil has far more noise than the others, as the edge of k-space shows, the loudest "
                              "number 3 (from 0), and coils are combined as if they had the same. A noise scan lets "
                              "recon weigh it; else leave out what has hardly any signal.");
}

static void keep(float *x LMR_UNUSED, int64_t points LMR_UNUSED, int coils LMR_UNUSED, double number LMR_UNUSED)
{
}

/* A constant of this part of the largest value, of another phase in each coil. */
static void offset(float *x, int64_t points, int coils, double number)
{
    float most = 0;
    for (int64_t i = 0; i < 2 * points * coils; i++) most = fmaxf(most, fabsf(x[i]));
    for (int64_t i = 0; i < points * coils; i++) {
        x[2 * i] += (float)((double)most * number * cos((double)(i / points)));
        x[2 * i + 1] += (float)((double)most * number * sin((double)(i / points)));
    }
}

/* A wave that goes on from readout to readout, as one from outside does. */
static void add_wave(float *x, int64_t points, int coils, double number)
{
    float most = 0;
    for (int64_t i = 0; i < 2 * points * coils; i++) most = fmaxf(most, fabsf(x[i]));
    for (int64_t i = 0; i < points * coils; i++) {
        const double phase = 2 * M_PI * 0.15 * (double)(i % points) + (double)(i / points);
        x[2 * i] += (float)((double)most * number * cos(phase));
        x[2 * i + 1] += (float)((double)most * number * sin(phase));
    }
}

TEST(a_wave_that_goes_on_from_readout_to_readout_is_found_in_even_spokes)
{
    for (int coils = 1; coils <= 4; coils *= 4) {
        const larmor_sample_faults found = faults_of("radial", coils, 1e-5, 3, 0.1, add_wave);
        assert_true(found.carrier > 0);
        assert_true(fabs(found.carrier_frequency - 0.15) < 1. / 64);
    }
}

TEST(an_offset_of_all_samples_is_found_and_none_in_a_right_scan)
{
    static const char said[] = "all samples have a constant in common, with ";
    const char *const traj[] = {"golden", "spiral", "cartesian"};
    const double noise[] = {0, 1e-5, 1e-3};
    char line[512];
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 3; i++)
            for (int coils = 1; coils <= 8; coils *= 8) {
                larmor_sample_faults found = faults_of(traj[t], coils, noise[i], 3, 0, keep);
                assert_true(found.carrier == 0);
                found = faults_of(traj[t], coils, noise[i], 3, 0.03, offset);
                assert_true(found.carrier > 0 && found.carrier_frequency == 0);
                lmr_describe_carrier(&found, line, sizeof line);
                assert_memory_equal(line, said, sizeof said - 1);
            }
}

/* A point at a place, in parts of the field of view, in coils alike but for their phase. joined: readouts follow each
 * other in one, as those that differ in length do. */
static larmor_sample_faults faults_of_readouts(const char *traj, int size, int length, const double place[2],
                                               double noise, int coils, double amplitude, int joined)
{
    const int64_t matrix[3] = {size, size, 1};
    const larmor_traj_opts opts = {.matrix = {size, size}, .samples = length};
    larmor_sample_faults found;
    OWN(larmor_array, *k, larmor_traj_create(dev, traj, &opts, &k));
    HEAP double *at = (double *)host_of(k);
    const larmor_shape shape = larmor_array_shape(k);
    const int64_t points = shape.dim[1] * shape.dim[2];
    HEAP float *x = calloc((size_t)(2 * points * coils), sizeof *x);
    for (int64_t i = 0; i < points * coils; i++) {
        const double *p = at + 2 * (i % points);
        const double phase = (double)(i / points) - 2 * M_PI * (place[0] * p[0] + place[1] * p[1]);
        x[2 * i] = (float)(amplitude * cos(phase));
        x[2 * i + 1] = (float)(amplitude * sin(phase));
    }
    OWN(larmor_array, *samples,
        larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(shape.dim[1], shape.dim[2], coils), LARMOR_C64, x,
                            &samples));
    assert_ok(larmor_phantom_noise(samples, noise, 5));
    if (joined) {
        OWN(larmor_array, *at_all, larmor_array_reshape(k, LARMOR_SHAPE(2, points, 1), &at_all));
        OWN(larmor_array, *all, larmor_array_reshape(samples, LARMOR_SHAPE(points, 1, coils), &all));
        assert_ok(larmor_sample_faults_find(all, at_all, matrix, &found));
        return found;
    }
    assert_ok(larmor_sample_faults_find(samples, k, matrix, &found));
    return found;
}

static larmor_sample_faults faults_of_point(const char *traj, int size, int length, const double place[2],
                                            double noise, int coils, double amplitude)
{
    return faults_of_readouts(traj, size, length, place, noise, coils, amplitude, 0);
}

/* Its k-space is as flat as noise, and each line has one frequency. */
TEST(a_small_object_is_no_carrier_and_neither_it_nor_noise_has_an_echo_elsewhere)
{
    const char *const traj[] = {"golden", "spiral", "cartesian", "radial"};
    const int size[] = {32, 32, 32, 48};
    for (int t = 0; t < 4; t++)
        for (int coils = 1; coils <= 4; coils *= 4)
            for (int noisy = 0; noisy < 3; noisy++) { /* the last one is noise alone */
                const larmor_sample_faults found = faults_of_point(traj[t], size[t], 96, (double[]){0.2, -0.11},
                                                                   noisy ? 0.1 : 0.02, coils, noisy < 2 ? 1 : 0);
                assert_true(found.carrier == 0);
                assert_true(found.echo_distance == 0);
            }
    /* Seen by spokes, it is at the same place in many of them where it is farthest. */
    for (int i = 0; i < 16; i++) {
        const double place[2] = {0.2 * cos(M_PI * i / 8), 0.2 * sin(M_PI * i / 8)};
        assert_true(faults_of_point("radial", 32, i % 2 ? 64 : 40, place, 0.02, 1, 1).carrier == 0);
        assert_true(faults_of_readouts("radial", 32, 96, place, 0.002, 1, 1, 1).carrier == 0);
    }
}

/* Parts of at most this part of the largest one of all coils. */
static void clip(float *x, int64_t points, int coils, double number)
{
    float most = 0;
    for (int64_t i = 0; i < 2 * points * coils; i++) most = fmaxf(most, fabsf(x[i]));
    for (int64_t i = 0; i < 2 * points * coils; i++)
        x[i] = fmaxf(fminf(x[i], most * (float)number), -most * (float)number);
}

TEST(clipped_lines_are_found_though_they_pass_the_centre_once)
{
    const double noise[] = {0, 1e-6, 1e-3};
    for (int i = 0; i < 3; i++)
        for (int coils = 1; coils <= 8; coils *= 2) {
            const larmor_sample_faults right = faults_of("cartesian", coils, noise[i], 2, 1, clip);
            const larmor_sample_faults wrong = faults_of("cartesian", coils, noise[i], 2, 0.5, clip);
            print_message("noise %g, %d coils: %lld and %lld\n", noise[i], coils, (long long)right.clipped,
                          (long long)wrong.clipped);
            assert_true(right.clipped == 0);
            if (coils == 8) assert_true(wrong.clipped > 0);
        }
}

TEST(an_echo_that_moves_with_the_echo_time_is_of_the_field)
{
    static const struct {
        double first_ms, first, echo_ms, distance, hz;
    } cases[] = {
        {2, 0, 25, 6.5, 260}, {12, 3.1, 25, 6.5, 260}, /* in proportion */
        {2, 6.5, 25, 6.5, 0}, {20, 0, 25, 6.5, 0},     /* alike; not seen where it would be */
        {0, 0, 25, 6.5, 0},   {25, 0, 25, 6.5, 0},     /* no time; no other one */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        larmor_sample_faults f = {.echo_distance = cases[i].distance};
        lmr_echo_is_of_field(cases[i].first_ms, cases[i].first, cases[i].echo_ms, &f);
        assert_at_most(fabs(f.echo_hz - cases[i].hz), 1e-9);
        assert_true((f.echo_distance > 0) == (cases[i].hz == 0));
    }
}
