/* The phantom of tissues and its signals. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/support/test.h"

enum { N = 48, SAMPLES = 32, READOUTS = 5 };

TEST(each_tissue_has_its_density_where_it_is_alone_and_tissues_have_names)
{
    OWNED(larmor_phantom) *phantom = NULL;
    OWNED(larmor_array) *image = NULL;
    double density[LARMOR_TISSUES];
    int seen[LARMOR_TISSUES] = {0};
    for (int i = 0; i < LARMOR_TISSUES; i++) density[i] = 7 + i * i;
    assert_ok(larmor_phantom_of_tissues(2, density, &phantom));
    assert_ok(larmor_phantom_image(phantom, dev, LARMOR_C128, LARMOR_SHAPE(N, N), &image));
    OWN_MEMORY(double, *host, larmor_array_download(image, LARMOR_C128, &host));
    for (int v = 0; v < N * N; v++)
        for (int i = 0; i < LARMOR_TISSUES; i++) seen[i] += fabs(host[2 * v] - density[i]) < 1e-9;
    for (int i = 0; i < LARMOR_TISSUES; i++) assert_true(seen[i] > 10 && larmor_phantom_tissue(i).name);
    assert_null(larmor_phantom_tissue(LARMOR_TISSUES).name);
    density[2] = NAN;
    larmor_phantom *none;
    assert_refused(larmor_phantom_of_tissues(2, density, &none), LARMOR_ERR_ARG,
                   "phantom: density 2 of the tissues is nan, a number expected");
}

static larmor_simulation *simulation_of(larmor_phantom_signal signal, int64_t repetitions, int ndim)
{
    static const double ms[2] = {1.5, 4};
    const larmor_simulation_opts opts = {
        .trajectory = ndim == 3 ? "koosh" : "golden",
        .traj = {.matrix = {N, N, ndim == 3 ? N : 1}, .samples = SAMPLES, .readouts = READOUTS},
        .phantom = "tissues",
        .coils = 2,
        .dwell_us = 20,
        .repetitions = repetitions,
        .echoes = signal == LARMOR_SIGNAL_WATER_FAT ? 2 : 0,
        .echo_ms = ms,
        .signal = signal,
        .r2star = signal == LARMOR_SIGNAL_WATER_FAT ? 50 : 0};
    return MADE(larmor_simulation, larmor_simulation_create(dev, &opts, &made));
}

/* The exact k-space of densities along the same trajectory. */
static float *kspace_of(const double *density, int ndim, const larmor_array *traj)
{
    OWNED(larmor_phantom) *phantom = NULL;
    OWNED(larmor_array) *y = NULL;
    assert_ok(larmor_phantom_of_tissues(ndim, density, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, 2, LARMOR_C64, &y));
    return MADE(float, larmor_array_download(y, LARMOR_C64, &made));
}

TEST(samples_of_water_and_fat_are_their_sum_at_the_time_of_each_sample_in_plane_and_space)
{
    for (int ndim = 2; ndim <= 3; ndim++)
        for (int echo = 0; echo < 2; echo++) {
            OWNED(larmor_simulation) *s = simulation_of(LARMOR_SIGNAL_WATER_FAT, 1, ndim);
            OWNED(larmor_array) *y = NULL, *traj = NULL;
            double of[2][LARMOR_TISSUES];
            for (int i = 0; i < LARMOR_TISSUES; i++) {
                const larmor_tissue t = larmor_phantom_tissue(i);
                of[0][i] = t.density * (1 - t.fat);
                of[1][i] = t.density * t.fat;
            }
            assert_ok(larmor_simulation_samples(s, 0, 0, echo, &y, &traj));
            OWN_MEMORY(float, *host, larmor_array_download(y, LARMOR_C64, &host));
            HEAP float *water = kspace_of(of[0], ndim, traj), *fat = kspace_of(of[1], ndim, traj);
            for (int j = 0; j < 2 * READOUTS; j++)
                for (int i = 0; i < SAMPLES; i++) { /* k = 0 is at the echo, at sample 16 */
                    const double ms = (echo ? 4 : 1.5) + .02 * (i - SAMPLES / 2);
                    double c[2];
                    assert_ok(larmor_fat_signal(3, ms, c));
                    const int at = 2 * (i + SAMPLES * j);
                    const double complex sum = (double)water[at] + I * (double)water[at + 1] +
                                               (c[0] + I * c[1]) * ((double)fat[at] + I * (double)fat[at + 1]);
                    const double complex all = sum * exp(-.05 * ms);
                    assert_true(cabs(all - (double)host[at] - I * (double)host[at + 1]) < 1e-6);
                }
        }
}

TEST(the_fat_signal_is_one_at_first_and_turns_as_its_main_peak_does)
{
    double c[2];
    assert_ok(larmor_fat_signal(3, 0, c));
    assert_true(fabs(c[0] - 1) < 1e-12 && fabs(c[1]) < 1e-12);
    assert_ok(larmor_fat_signal(3, 500 / (3.4 * 42.577478518 * 3), c)); /* half a turn */
    assert_true(c[0] < -.6 && fabs(c[1]) < .3);
    assert_refused(larmor_fat_signal(0, 1, c), LARMOR_ERR_ARG, "fat: got 0 T and 1 ms, expected up to 100 T and");
}

TEST(frames_of_fingerprinting_are_the_signals_of_the_pulses)
{
    enum { PULSES = 40 };
    OWNED(larmor_simulation) *s = simulation_of(LARMOR_SIGNAL_FISP, PULSES, 2);
    OWNED(larmor_array) *table = NULL, *signals = NULL;
    double t[2 * LARMOR_TISSUES], degrees[PULSES], tr[PULSES];
    for (int i = 0; i < LARMOR_TISSUES; i++) {
        t[i] = larmor_phantom_tissue(i).t1_ms;
        t[LARMOR_TISSUES + i] = larmor_phantom_tissue(i).t2_ms;
    }
    for (int n = 0; n < PULSES; n++) {
        degrees[n] = 10 + 50 * fabs(sin(M_PI * n / 120));
        tr[n] = 12;
    }
    const larmor_fisp sequence = {PULSES, degrees, tr, 3, 20};
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(LARMOR_TISSUES, 2), LARMOR_F64, t, &table));
    assert_ok(larmor_epg_fisp(table, &sequence, &signals));
    OWN_MEMORY(double, *signal, larmor_array_download(signals, LARMOR_F64, &signal));
    for (int n = 0; n < PULSES; n += 13) {
        OWNED(larmor_array) *y = NULL, *traj = NULL;
        double density[LARMOR_TISSUES];
        for (int i = 0; i < LARMOR_TISSUES; i++)
            density[i] = larmor_phantom_tissue(i).density * signal[i + LARMOR_TISSUES * n];
        assert_ok(larmor_simulation_samples(s, 0, n, 0, &y, &traj));
        OWN_MEMORY(float, *host, larmor_array_download(y, LARMOR_C64, &host));
        HEAP float *expected = kspace_of(density, 2, traj);
        for (int i = 0; i < 4 * SAMPLES * READOUTS; i++) assert_true(fabsf(host[i] - expected[i]) < 1e-6f);
    }
}

TEST(the_truth_has_the_values_of_tissues_within_them_and_other_phantoms_have_none)
{
    larmor_truth truth;
    for (int signal = LARMOR_SIGNAL_WATER_FAT; signal <= LARMOR_SIGNAL_FISP; signal++) {
        OWNED(larmor_simulation) *s = simulation_of((larmor_phantom_signal)signal, 2, 2);
        assert_ok(larmor_simulation_truth(s, &truth));
        assert_int_equal(truth.count, signal == LARMOR_SIGNAL_WATER_FAT ? 5 : 4);
        float *map[LARMOR_MOST_TRUTHS];
        int seen[LARMOR_TISSUES] = {0};
        for (int m = 0; m < truth.count; m++)
            assert_ok(larmor_array_download(truth.map[m].data, LARMOR_F32, &map[m]));
        assert_string_equal(truth.name[truth.count - 1], "tissue");
        for (int v = 0; v < N * N; v++) {
            const int i = (int)map[truth.count - 1][v] - 1;
            if (i < 0) continue;
            const larmor_tissue t = larmor_phantom_tissue(i);
            const double fat[] = {t.density * (1 - t.fat), t.density * t.fat, t.fat, 50},
                         times[] = {t.t1_ms, t.t2_ms, t.density};
            seen[i]++;
            for (int m = 0; m + 1 < truth.count; m++)
                assert_true(fabs((double)map[m][v] - (signal == LARMOR_SIGNAL_WATER_FAT ? fat : times)[m]) < 1e-3);
        }
        for (int i = 0; i < LARMOR_TISSUES; i++) assert_true(seen[i] > (i == 5 ? 0 : 5) || i == 0);
        for (int m = 0; m < truth.count; m++) free(map[m]);
        larmor_truth_free(&truth);
    }
    OWNED(larmor_simulation) *head = NULL;
    larmor_simulation *none;
    assert_ok(larmor_simulation_create(dev, &(larmor_simulation_opts){.coils = 1}, &head));
    assert_refused(larmor_simulation_truth(head, &truth), LARMOR_ERR_ARG,
                   "simulation: got maps of shepp-logan, expected those of tissues");
    const larmor_simulation_opts wrong = {.coils = 1, .signal = LARMOR_SIGNAL_FISP, .repetitions = 2};
    assert_refused(larmor_simulation_create(dev, &wrong, &none), LARMOR_ERR_ARG,
                   "simulation: got signal 2 of shepp-logan, expected 0 to 2, of tissues");
}
