/* Bins by the physiology of a TWIX file. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"
#include "tests/support/twix.h"

enum { READOUTS = 700, TICKS = 8, SAMPLES = 16, PACKET = 400 /* samples of the ECG, in 1 s */, BELT = 50 };

static twix_file file;

static void sample(int readout, int c, int n, float x[2])
{
    x[0] = (float)(readout + c);
    x[1] = (float)n;
}

/* A second of an ECG whose triggers come 75 times a minute, and of a breath every 4 s. */
static void add_second(int second)
{
    static uint16_t ecg[PACKET], belt[BELT];
    static int trigger[PACKET];
    for (int i = 0; i < PACKET; i++) {
        trigger[i] = (second * PACKET + i) % 320 < 4;
        ecg[i] = (uint16_t)(2048 + 900 * trigger[i]);
    }
    for (int i = 0; i < BELT; i++) belt[i] = (uint16_t)(2000 + 1000 * sin(2 * M_PI * (second + i / 50.) / 4));
    const size_t begin = twix_pmu(&file, "PMUData", (uint32_t)(5000 + 400 * second), 10000);
    twix_signal(&file, 1, 25, ecg, trigger, PACKET);
    twix_signal(&file, 6, 200, belt, NULL, BELT);
    twix_pmu_end(&file, begin);
}

TEST_IN(bins_of_a_twix_file_rest_on_the_scanners_triggers_and_its_belt, make_folder, remove_folder)
{
    twix_begin(&file, "gre", twix_yaps);
    for (int i = 0; i < READOUTS; i++) {
        const twix_readout r = {.counter = {(uint16_t)(i % 6)},
                                .centre = {SAMPLES / 2, 3, 0},
                                .samples = SAMPLES,
                                .channels = 1,
                                .time = 5000 + (uint32_t)(i * TICKS),
                                .quaternion = {1}};
        if (i % 50 == 0) add_second(i / 50);
        twix_add(&file, &r, sample);
    }
    twix_packet(&file, 0, 160);
    twix_end(&file);
    put_file(in_folder("meas.dat"), file.data, file.bytes);
    larmor_bins_found found;
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("meas.dat"), NULL, &raw));
    OWN(larmor_source, *source, larmor_source_of_raw(raw, "meas.dat", &source));
    const larmor_bins_opts opts = {.heart = 2, .breath = 2, .way = LARMOR_GATING_WAVEFORMS, .waveforms = raw};
    OWN(larmor_source, *bins, larmor_source_of_bins(source, dev, &opts, &found, &bins));
    assert_string_equal(found.heart_report, "the triggers of the ECG, channel 1");
    assert_at_most(fabs(found.heart_rate - 75), 0.1);
    assert_int_equal(found.breath_from, LARMOR_GATED_BY_WAVEFORM);
    assert_at_most(fabs(found.breath_rate - 15), 0.3);
    assert_int_equal(found.bins, 4);
    assert_int_equal(found.empty, 0);
}
