/* io/twix: what is in a TWIX file of VB or VD comes back, through the reader and as an ISMRMRD file; files that are
 * damaged or cut. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"
#include "tests/support/twix.h"

enum { READOUTS = 5, SAMPLES = 16, CHANNELS = 3 };
#define BIT(n) (UINT64_C(1) << (n))

static twix_file file;

static float value(int readout, int c, int n)
{
    return (float)(100 * readout + 10 * c) + (float)n / 16;
}

static void sample(int readout, int c, int n, float x[2])
{
    x[0] = value(readout, c, n);
    x[1] = -(float)n;
}

static twix_readout readout(int i)
{
    const double half = 0.3 + 0.1 * i;
    twix_readout r = {.counter = {(uint16_t)i, 1, 2, 3, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13},
                      .centre = {SAMPLES / 2, 2, 1},
                      .samples = SAMPLES,
                      .channels = CHANNELS,
                      .time = 1000 + (uint32_t)i,
                      .pmu = 50,
                      .since_rf = 77,
                      .table = {1, -2, 3},
                      .position = {-1.5f, 2, 30},
                      .quaternion = {(float)cos(half), 0, 0, (float)sin(half)}};
    for (int k = 0; k < 24; k++) r.ice[k] = (uint16_t)(200 + k);
    return r;
}

static const uint16_t lead[2][4] = {{2048, 2049, 2050, 65535}, {1, 2, 3, 4}};
static const int beats[4] = {0, 1, 0, 0};

/* Two leads of an ECG every 2.5 ms, the pulse every 5 ms, respiration once; 10 ms in all. */
static size_t add_physiology(const char *name)
{
    static const uint16_t pulse[2] = {7, 8}, breath[1] = {9};
    const size_t begin_ = twix_pmu(&file, name, 990, 100);
    twix_signal(&file, 1, 25, lead[0], beats, 4);
    twix_signal(&file, 2, 25, lead[1], NULL, 4);
    twix_signal(&file, 5, 50, pulse, NULL, 2);
    twix_signal(&file, 6, 100, breath, NULL, 1);
    twix_pmu_end(&file, begin_);
    return begin_;
}

/* A measurement of five readouts, the first of them noise, with packets behind the second and the third. */
static void add_measurement(const char *name)
{
    twix_begin(&file, name, twix_yaps);
    for (int i = 0; i < READOUTS; i++) {
        twix_readout r = readout(i);
        if (!i) r.mask = BIT(25);
        if (i == 2) r.mask = BIT(24) | BIT(23) | BIT(22);
        twix_add(&file, &r, sample);
        if (i == 1) add_physiology("PMUData");
        if (i == 2) twix_packet(&file, 5, 160);
    }
    twix_packet(&file, 0, 160);
    twix_end(&file);
}

static void begin(int is_vb)
{
    memset(&file, 0, sizeof file);
    file.is_vb = is_vb;
}

static const char *put(size_t bytes)
{
    put_file(in_folder("meas.dat"), file.data, bytes);
    return in_folder("meas.dat");
}

static larmor_raw *opened(const larmor_raw_opts *opts)
{
    return MADE(larmor_raw, larmor_raw_open(put(file.bytes), opts, &made));
}

static larmor_raw *as_stored(void)
{
    return opened(&(larmor_raw_opts){.as_stored = 1});
}

/* A file of one measurement, which `ended` closes and opens. */
static void begin_gre(int is_vb)
{
    begin(is_vb);
    twix_begin(&file, "gre", twix_yaps);
}

static larmor_raw *ended(void)
{
    twix_packet(&file, 0, 160);
    twix_end(&file);
    return as_stored();
}

static void expect_readout(const larmor_raw *raw, int i, int is_vb)
{
    larmor_acquisition a;
    const twix_readout r = readout(i);
    assert_ok(larmor_raw_acquisition(raw, i, &a));
    const int stored[] = {a.step1, a.average, a.slice, a.step2, a.contrast, a.phase, a.repetition, a.set, a.segment};
    for (int k = 0; k < 9; k++) assert_int_equal(stored[k], r.counter[k]);
    for (int k = 0; k < 5; k++) assert_int_equal(a.user[k], r.counter[9 + k]);
    assert_int_equal(a.user[5], 2);
    assert_int_equal(a.user[6], 1);
    for (int k = 0; k < 7; k++) assert_int_equal(a.user_int[k], 200 + k);
    assert_int_equal(a.user_int[7], 77);
    assert_true(a.user_float[0] == (is_vb ? 207 : 208));
    assert_int_equal(a.samples, SAMPLES);
    assert_int_equal(a.coils, CHANNELS);
    assert_int_equal(a.center_sample, SAMPLES / 2);
    assert_int_equal(a.time_stamp, 1000 + i);
    assert_int_equal(a.physiology_stamp[0], 50);
    assert_int_equal(a.measurement_uid, 4711);
    const double angle = 2 * (0.3 + 0.1 * i), table[3] = {1, -2, 3}, position[3] = {-1.5, 2, 30};
    const double phase[3] = {cos(angle), sin(angle), 0}, read[3] = {-sin(angle), cos(angle), 0}, slice[3] = {0, 0, 1};
    for (int d = 0; d < 3; d++) {
        assert_true(a.position_mm[d] == position[d]);
        assert_true(a.table_mm[d] == (is_vb ? 0 : table[d]));
        assert_at_most(fabs(a.phase_dir[d] - phase[d]), 1e-6);
        assert_at_most(fabs(a.read_dir[d] - read[d]), 1e-6);
        assert_at_most(fabs(a.slice_dir[d] - slice[d]), 1e-6);
    }
    for (int c = 0; c < CHANNELS; c++)
        for (int n = 0; n < SAMPLES; n++) {
            assert_true(a.data[2 * (c * SAMPLES + n)] == value(i, c, n));
            assert_true(a.data[2 * (c * SAMPLES + n) + 1] == (float)-n);
        }
}

static uint64_t flags(const larmor_raw *raw, int i)
{
    larmor_acquisition a;
    assert_ok(larmor_raw_acquisition(raw, i, &a));
    return a.flags;
}

TEST_IN(samples_counters_and_geometry_come_back_exactly, make_folder, remove_folder)
{
    for (int is_vb = 0; is_vb < 2; is_vb++) {
        begin(is_vb);
        add_measurement("gre");
        OWNED(larmor_raw) *raw = as_stored();
        const larmor_raw_info info = larmor_raw_describe(raw);
        assert_int_equal(info.acquisitions, READOUTS);
        assert_int_equal(info.measurements, 1);
        assert_string_equal(info.warnings, "");
        for (int i = 0; i < READOUTS; i++) expect_readout(raw, i, is_vb);
    }
}

TEST_IN(noise_has_a_dwell_time_of_its_own_and_readouts_that_of_their_echo, make_folder, remove_folder)
{
    for (int is_vb = 0; is_vb < 2; is_vb++) {
        larmor_acquisition a;
        begin(is_vb);
        add_measurement("gre");
        OWNED(larmor_raw) *raw = as_stored();
        assert_ok(larmor_raw_acquisition(raw, 0, &a));
        assert_at_most(fabs(a.dwell_us - (is_vb ? 1e6 / 130 / SAMPLES : 480)), 1e-4);
        assert_ok(larmor_raw_acquisition(raw, 1, &a));
        assert_true(a.dwell_us == 5);
    }
}

TEST_IN(each_bit_of_the_mask_becomes_its_flags, make_folder, remove_folder)
{
    static const struct {
        int bit, flag;
    } pairs[] = {{1, 23},  {1, 28},  {2, 26},  {11, 14}, {11, 25}, {14, 30}, {15, 31}, {21, 24}, {22, 20},
                 {23, 21}, {24, 22}, {25, 19}, {28, 7},  {29, 8},  {35, 29}, {46, 25}, {51, 27}};
    begin_gre(0);
    for (int bit = 1; bit < 64; bit++) {
        twix_readout r = readout(0);
        r.mask = bit == 5 ? 0 : BIT(bit);
        twix_add(&file, &r, sample);
    }
    OWNED(larmor_raw) *raw = ended();
    for (int bit = 1; bit < 64; bit++) {
        uint64_t expected = 0;
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
            if (pairs[k].bit == bit) expected |= LARMOR_ACQ_FLAG(pairs[k].flag);
        assert_int_equal(flags(raw, bit - 1), expected);
    }
}

TEST_IN(a_line_of_image_and_calibration_and_one_of_phase_correction_have_one_flag_alone, make_folder, remove_folder)
{
    begin_gre(0);
    twix_readout r = readout(0);
    r.mask = BIT(22) | BIT(23);
    twix_add(&file, &r, sample);
    r.mask = BIT(21) | BIT(1);
    twix_add(&file, &r, sample);
    twix_end(&file);
    OWNED(larmor_raw) *raw = as_stored();
    assert_int_equal(flags(raw, 0), LARMOR_ACQ_CALIBRATION_AND_IMAGING);
    assert_int_equal(flags(raw, 1), LARMOR_ACQ_PHASE_CORRECTION);
}

TEST_IN(the_protocol_gives_the_header, make_folder, remove_folder)
{
    begin(0);
    add_measurement("gre");
    OWNED(larmor_raw) *raw = as_stored();
    larmor_encoding e;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    const int64_t matrix[3] = {16, 6, 4}, recon[3] = {8, 4, 4};
    const double fov[3] = {320, 120.75, 40}, recon_fov[3] = {160, 80.5, 32};
    for (int d = 0; d < 3; d++) {
        assert_int_equal(e.matrix[d], matrix[d]);
        assert_int_equal(e.recon_matrix[d], recon[d]);
        assert_true(e.fov_mm[d] == fov[d]);
        assert_true(e.recon_fov_mm[d] == recon_fov[d]);
    }
    assert_string_equal(e.trajectory, "cartesian");
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.echoes, 2);
    assert_true(info.echo_ms[0] == 3 && info.echo_ms[1] == 5.5);
    static const char *const parts[] = {
        "<patientName>Doe^J\xc3\xb6</patientName>",
        "<patientBirthdate>1901-02-03</patientBirthdate>",
        "<measurementID>7</measurementID>",
        "<patientPosition>FFS</patientPosition>",
        "<protocolName>gre &amp; more</protocolName>",
        "<systemFieldStrength_T>2.89362</systemFieldStrength_T>",
        "<receiverChannels>3</receiverChannels>",
        "<H1resonanceFrequency_Hz>123200000</H1resonanceFrequency_Hz>",
        "<kspace_encoding_step_1><minimum>1</minimum><maximum>4</maximum><center>2</center></kspace_encoding_step_1>",
        "<set><minimum>7</minimum><maximum>7</maximum><center>0</center></set>",
        "<kspace_encoding_step_1>2</kspace_encoding_step_1>",
        "<calibrationMode>separate</calibrationMode>",
        "<TR>10</TR>",
        "<flipAngle_deg>12.5</flipAngle_deg>"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(larmor_raw_xml(raw), parts[i])) fail_msg("%s is missing in %s", parts[i], larmor_raw_xml(raw));
}

TEST_IN(the_kind_of_trajectory_is_the_protocols, make_folder, remove_folder)
{
    static const char *const kinds[][2] = {{"0x2", "radial"}, {"4", "spiral"}, {"8", "other"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char yaps[256];
        larmor_encoding e;
        snprintf(
            yaps, sizeof yaps,
            "x\nsKSpace.lBaseResolution = 8\nsKSpace.ucTrajectory = %s\nsSliceArray.asSlice[0].dReadoutFOV = 90\n"
            "sSliceArray.asSlice[0].dThickness = 5\n",
            kinds[i][0]);
        begin(0);
        twix_begin(&file, "x", yaps);
        const twix_readout r = readout(0);
        twix_add(&file, &r, sample);
        twix_end(&file);
        OWNED(larmor_raw) *raw = as_stored();
        assert_ok(larmor_raw_encoding(raw, 0, &e));
        assert_string_equal(e.trajectory, kinds[i][1]);
        assert_int_equal(e.matrix[0], 8); /* not twice as many: that is of lines */
        assert_true(e.fov_mm[0] == 90);
        assert_int_equal(e.matrix[2], 1);
    }
}

TEST_IN(a_measurement_is_chosen_by_its_number_and_the_last_one_without, make_folder, remove_folder)
{
    begin(0);
    add_measurement("AdjCoilSens");
    twix_begin(&file, "gre", twix_yaps);
    const twix_readout r = readout(4);
    twix_add(&file, &r, sample);
    twix_end(&file);
    const larmor_raw_opts first = {.as_stored = 1, .group = "1"}, third = {.as_stored = 1, .group = "3"};
    OWNED(larmor_raw) *one = opened(&first);
    OWNED(larmor_raw) *last = as_stored();
    assert_int_equal(larmor_raw_describe(one).acquisitions, READOUTS);
    assert_int_equal(larmor_raw_describe(last).acquisitions, 1);
    assert_int_equal(larmor_raw_describe(last).measurements, 2);
    assert_non_null(strstr(larmor_raw_describe(one).warnings,
                           "measurement 1 of 2 is read; opts.group takes the number "
                           "of another: 1 AdjCoilSens, 2 gre.\n"));
    larmor_raw *none;
    assert_refused(larmor_raw_open(put(file.bytes), &third, &none), LARMOR_ERR_FORMAT,
                   "no measurement 3: it has 2, counted from 1. Use opts.group.");
}

TEST_IN(a_scan_that_is_cut_is_read_as_far_as_it_is_complete, make_folder, remove_folder)
{
    for (int is_vb = 0; is_vb < 2; is_vb++) {
        begin(is_vb);
        twix_begin(&file, "gre", twix_yaps);
        for (int i = 0; i < 3; i++) {
            const twix_readout r = readout(i);
            twix_add(&file, &r, sample);
        }
        file.bytes -= 1;
        OWNED(larmor_raw) *raw = as_stored();
        assert_int_equal(larmor_raw_describe(raw).acquisitions, 2);
        assert_non_null(strstr(larmor_raw_describe(raw).warnings, "its 2 complete readouts are read.\n"));
        expect_readout(raw, 1, is_vb);
    }
}

TEST_IN(a_channel_of_another_readout_is_a_warning, make_folder, remove_folder)
{
    begin_gre(0);
    twix_readout r = readout(0);
    twix_add(&file, &r, sample);
    r.stray = 1;
    for (int i = 0; i < 2; i++) twix_add(&file, &r, sample);
    twix_packet(&file, 0, 0);
    twix_end(&file);
    OWNED(larmor_raw) *raw = as_stored();
    assert_string_equal(larmor_raw_describe(raw).warnings,
                        "a channel of readout 1 has the number of another readout: the file may be damaged.\n");
}

/* ---- physiology ---- */

static void add_readout(int i)
{
    const twix_readout r = readout(i);
    twix_add(&file, &r, sample);
}

static void expect_block(const larmor_raw *raw, int64_t i, larmor_waveform_kind kind, int channels, int samples,
                         double us, const uint32_t *data)
{
    larmor_waveform w;
    assert_ok(larmor_raw_waveform(raw, i, &w));
    assert_int_equal(w.kind, kind);
    assert_int_equal(w.id, (int)kind - 1);
    assert_int_equal(w.channels, channels);
    assert_int_equal(w.samples, samples);
    assert_int_equal(w.trigger, channels - 1);
    assert_int_equal(w.time_stamp, 990);
    assert_true(w.sample_us == us);
    assert_memory_equal(w.data, data, (size_t)(channels * samples) * sizeof *data);
}

static void expect_physiology(const larmor_raw *raw)
{
    static const uint32_t ecg[12] = {2048, 2049, 2050, 65535, 1, 2, 3, 4, 0, 0x4000, 0, 0};
    assert_int_equal(larmor_raw_waveforms(raw), 3);
    expect_block(raw, 0, LARMOR_WAVEFORM_ECG, 3, 4, 2500, ecg);
    expect_block(raw, 1, LARMOR_WAVEFORM_PULSE, 2, 2, 5000, (const uint32_t[]){7, 8, 0, 0});
    expect_block(raw, 2, LARMOR_WAVEFORM_RESPIRATION, 2, 1, 10000, (const uint32_t[]){9, 0});
}

TEST_IN(physiology_of_vd_is_read_as_waveforms_and_written_with_the_scan, make_folder, remove_folder)
{
    larmor_output *out;
    begin_gre(0);
    add_readout(0);
    add_physiology("PMULearnPhase"); /* before the scan: left out */
    add_physiology("PMUData");
    add_physiology("OTHERData");
    add_readout(1);
    OWNED(larmor_raw) *raw = ended();
    assert_string_equal(larmor_raw_describe(raw).warnings, "");
    assert_int_equal(larmor_raw_describe(raw).acquisitions, 2);
    expect_physiology(raw);
    assert_ok(larmor_output_open(in_folder("copy.h5"), 1, &out));
    assert_ok(larmor_raw_copy(raw, 0, out));
    larmor_output_free(out);
    OWN(larmor_raw, *copy, larmor_raw_open(in_folder("copy.h5"), &(larmor_raw_opts){.as_stored = 1}, &copy));
    expect_physiology(copy);
}

/* Each byte of a packet's layout, set to what it is not: the scan is read, with that packet's waveforms or
 * without. */
TEST_IN(physiology_that_is_damaged_or_of_another_layout_is_left_out_and_said, make_folder, remove_folder)
{
    static const size_t places[] = {192 + 60 + 12 + 3, 192 + 60 + 16 + 3, 192 + 60 + 16 + 2, 192 + 60 + 16 + 4};
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        begin_gre(0);
        add_readout(0);
        const size_t at = add_physiology("PMUData");
        file.data[at + places[k]] ^= 0xff;
        add_physiology("PMUData");
        add_readout(1);
        OWNED(larmor_raw) *raw = ended();
        assert_int_equal(larmor_raw_describe(raw).acquisitions, 2);
        expect_physiology(raw);
        assert_string_equal(larmor_raw_describe(raw).warnings,
                            "physiology (PMU) in a layout that is not that of VD and VE is left out: 1 packet.\n");
    }
}

TEST_IN(of_vb_physiology_is_left_out, make_folder, remove_folder)
{
    begin_gre(1);
    add_readout(0);
    add_physiology("PMUData");
    add_readout(1);
    OWNED(larmor_raw) *raw = ended();
    assert_int_equal(larmor_raw_describe(raw).acquisitions, 2);
    assert_int_equal(larmor_raw_waveforms(raw), 0);
}

TEST_IN(what_is_damaged_is_refused_with_its_place, make_folder, remove_folder)
{
    const larmor_raw_opts opts = {.as_stored = 1};
    larmor_raw *raw;
    begin_gre(0);
    twix_packet(&file, 0, 160);
    twix_end(&file);
    assert_refused(larmor_raw_open(put(file.bytes), &opts, &raw), LARMOR_ERR_FORMAT, "no readouts");
    const size_t text = (size_t)file.data[TWIX_FIRST] | (size_t)file.data[TWIX_FIRST + 1] << 8;
    const size_t mdh = TWIX_FIRST + text;
    char expected[128];
    twix_set(&file, mdh + 40, 0, 8);
    twix_set(&file, mdh + 50, 2000, 2);
    snprintf(expected, sizeof expected,
             "damaged TWIX file (a readout without samples or channels at byte %zu). Copy it again.", mdh);
    assert_refused(larmor_raw_open(put(file.bytes), &opts, &raw), LARMOR_ERR_FORMAT, expected);
    twix_set(&file, mdh, 5, 4);
    twix_set(&file, mdh + 40, BIT(5), 8);
    assert_refused(larmor_raw_open(put(file.bytes), &opts, &raw), LARMOR_ERR_FORMAT, "a packet without a length");
    twix_set(&file, TWIX_FIRST, TWIX_ROOM, 4);
    assert_refused(larmor_raw_open(put(file.bytes), &opts, &raw), LARMOR_ERR_FORMAT,
                   "a protocol that is longer than its measurement at byte 10240");
    assert_refused(larmor_raw_open(put(TWIX_FIRST), &opts, &raw), LARMOR_ERR_FORMAT,
                   "file cut short before measurement 1, which begins at byte 10240.");
}

/* A deterministic sequence. */
static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

TEST_IN(changed_bytes_and_cuts_are_read_or_refused_in_one_line, make_folder, remove_folder)
{
    static unsigned char good[TWIX_ROOM];
    uint32_t seed = 1;
    for (int is_vb = 0; is_vb < 2; is_vb++) {
        begin(is_vb);
        add_measurement("gre");
        const size_t bytes = file.bytes;
        const size_t from = is_vb ? 0 : TWIX_FIRST;
        memcpy(good, file.data, bytes);
        for (int i = 0; i < 200; i++) {
            larmor_raw *raw;
            memcpy(file.data, good, bytes);
            for (uint32_t k = 0; k < 1 + next(&seed) % 8; k++) {
                const size_t place = i % 4 ? from + next(&seed) % (bytes - from) : next(&seed) % 200;
                file.data[place] = (unsigned char)(i % 3 ? next(&seed) : 0xff);
            }
            const larmor_status st = larmor_raw_open(put(i % 5 ? bytes : next(&seed) % bytes + 1), NULL, &raw);
            if (!st) larmor_raw_free(raw);
            if (st && (strchr(larmor_last_error(), '\n') || strstr(larmor_last_error(), "signal") ||
                       strstr(larmor_last_error(), "cannot be true")))
                fail_msg("mutant %d: %s", i, larmor_last_error());
        }
    }
}

TEST_IN(an_ismrmrd_file_of_it_has_the_same, make_folder, remove_folder)
{
    larmor_raw *copy;
    larmor_output *out;
    begin(0);
    add_measurement("gre");
    OWNED(larmor_raw) *raw = as_stored();
    for (int anonymous = 0; anonymous < 2; anonymous++) {
        assert_ok(larmor_output_open(in_folder("scan.h5"), 1, &out));
        assert_ok(larmor_raw_copy(raw, anonymous, out));
        larmor_output_free(out);
        assert_ok(larmor_raw_open(in_folder("scan.h5"), &(larmor_raw_opts){.as_stored = 1}, &copy));
        assert_int_equal(larmor_raw_describe(copy).acquisitions, READOUTS);
        for (int i = 0; i < READOUTS; i++) {
            expect_readout(copy, i, 0);
            assert_int_equal(flags(copy, i), flags(raw, i));
        }
        if (!anonymous) assert_string_equal(larmor_raw_xml(copy), larmor_raw_xml(raw));
        if (anonymous) assert_null(strstr(larmor_raw_xml(copy), "Doe"));
        if (anonymous) assert_non_null(strstr(larmor_raw_xml(copy), "<measurementInformation>"));
        larmor_raw_free(copy);
    }
    OWNED(larmor_raw) *looked_at = opened(NULL);
    assert_ok(larmor_output_open(in_folder("other.h5"), 1, &out));
    assert_refused(larmor_raw_copy(looked_at, 0, out), LARMOR_ERR_ARG,
                   "a scan that is opened as it is stored expected");
    larmor_output_free(out);
}
