/* io/mrd2: what is in a stream of MRD version 2 comes back; streams that are damaged or cut.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/files.h"
#include "tests/support/mrd2.h"

enum { ROOM = 1 << 16, SAMPLES = 5, COILS = 2, READOUTS = 3 };

static unsigned char data[ROOM];
static size_t bytes;

static void add(const void *from, size_t count)
{
    memcpy(data + bytes, from, count);
    bytes += count;
}

static void whole(uint64_t value)
{
    for (; value >= 0x80; value >>= 7) data[bytes++] = (unsigned char)(0x80 | (value & 0x7f));
    data[bytes++] = (unsigned char)value;
}

static void with_sign(int64_t value)
{
    whole((uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static void number(float value)
{
    add(&value, sizeof value);
}

static void text(const char *s)
{
    whole(strlen(s));
    add(s, strlen(s));
}

static void none(int count)
{
    memset(data + bytes, 0, (size_t)count);
    bytes += (size_t)count;
}

static void present(void)
{
    data[bytes++] = 1;
}

static void space(uint64_t n)
{
    whole(n);
    whole(n);
    whole(1);
    number(200);
    number(150.5f);
    number(5);
}

/* Two slices that were excited together. */
static void parallel(void)
{
    present();
    whole(2); /* acceleration */
    whole(1);
    none(2);
    present(); /* multiband */
    whole(1);
    whole(2);
    number(-20);
    number(20.5f);
    number(-.5f);
    whole(2);
    with_sign(1); /* full3D */
    whole(3);
}

static void header(void)
{
    none(1); /* version */
    present();
    present();
    text("Doe <&");
    none(3);
    present();
    with_sign(-1); /* the day before 1970 */
    present();
    with_sign(1);
    none(1); /* study */
    present();
    none(1);
    present();
    with_sign(19782); /* 2024-02-29 */
    present();
    with_sign(INT64_C(47159) * 1000000000);
    with_sign(5); /* FFS */
    none(8 - 1);
    none(1);
    none(1);
    present(); /* scanner */
    none(2);
    present();
    number(1.5f);
    none(1);
    present();
    whole(COILS);
    whole(1);
    whole(3);
    text("left");
    none(4);
    with_sign(63870000);
    whole(1); /* encoding */
    space(16);
    space(16);
    none(1);
    present();
    whole(0);
    whole(300);
    whole(8);
    none(16);
    with_sign(2); /* radial */
    none(1);
    parallel();
    none(1);
    present(); /* sequence */
    whole(1);
    number(10);
    whole(2);
    number(3);
    number(4.5f);
    none(7);
    none(1);
    none(1);
}

static float value(int i, int c, int n)
{
    return (float)(100 * i + 10 * c) + (float)n / 8;
}

static float place(int i, int d, int n)
{
    return (float)(n - 2) * (float)(1 + d) + (float)i / 4;
}

static void acquisition(int i)
{
    data[bytes++] = 0;
    whole(i ? 1u << 21 : 1u << 18);
    for (int c = 0; c < 9; c++) {
        if (c == 4) {
            none(1);
            continue;
        }
        present();
        whole((uint64_t)(i + 1000 * c % 500));
    }
    whole(2);
    whole(7);
    whole(65535);
    whole(4711);
    none(1);
    present();
    whole(3000000000u + (unsigned)i);
    whole(1);
    whole(55);
    whole(2);
    whole(0);
    whole(1);
    present();
    whole(1);
    none(1);
    present();
    whole(2);
    none(1);
    present();
    number(2.5f);
    for (int d = 0; d < 15; d++) number((float)d);
    whole(2);
    with_sign(-5);
    with_sign(6);
    whole(1);
    number(.25f);
    whole(COILS);
    whole(SAMPLES);
    for (int c = 0; c < COILS; c++)
        for (int n = 0; n < SAMPLES; n++) {
            number(value(i, c, n));
            number((float)n);
        }
    whole(2);
    whole(SAMPLES);
    for (int d = 0; d < 2; d++)
        for (int n = 0; n < SAMPLES; n++) number(place(i, d, n));
}

static void waveform_of(uint64_t id, float us)
{
    data[bytes++] = 1;
    for (uint64_t k = 0; k < 4; k++) whole(200 * k);
    number(us);
    whole(id);
    whole(2);
    whole(3);
    for (uint64_t k = 0; k < 6; k++) whole(k == 5 ? UINT32_MAX : 1000 * k);
}

static void waveform(void)
{
    waveform_of(0, 1);
}

/* A block of two acquisitions, one of a waveform and one of the last acquisition. */
static void stream(void)
{
    mrd2_begin(data);
    bytes = MRD2_BEGIN;
    present();
    header();
    whole(2);
    acquisition(0);
    acquisition(1);
    whole(1);
    waveform();
    whole(1);
    acquisition(2);
    whole(0);
}

static const char *put(size_t count)
{
    put_file(in_folder("scan.mrd2"), data, count);
    return in_folder("scan.mrd2");
}

static larmor_raw *as_stored(size_t count)
{
    return MADE(larmor_raw, larmor_raw_open(put(count), &(larmor_raw_opts){.as_stored = 1}, &made));
}

TEST_IN(samples_trajectories_and_heads_come_back_exactly, make_folder, remove_folder)
{
    stream();
    OWNED(larmor_raw) *raw = as_stored(bytes);
    assert_int_equal(larmor_raw_describe(raw).acquisitions, READOUTS);
    assert_string_equal(larmor_raw_describe(raw).warnings, "");
    for (int i = 0; i < READOUTS; i++) {
        larmor_acquisition a;
        assert_ok(larmor_raw_acquisition(raw, i, &a));
        const int counter[] = {a.step1, a.step2,      a.average, a.slice,  a.contrast,
                               a.phase, a.repetition, a.set,     a.segment};
        for (int c = 0; c < 9; c++) assert_int_equal(counter[c], c == 4 ? 0 : i + 1000 * c % 500);
        assert_int_equal(a.flags, i ? LARMOR_ACQ_REVERSE : LARMOR_ACQ_NOISE);
        assert_int_equal(a.user[1], 65535);
        assert_int_equal(a.time_stamp, 3000000000u + (unsigned)i);
        assert_int_equal(a.physiology_stamp[0], 55);
        assert_int_equal(a.measurement_uid, 4711);
        assert_int_equal(a.discard_pre, 1);
        assert_int_equal(a.discard_post, 0);
        assert_int_equal(a.center_sample, 2);
        assert_true(a.dwell_us == 2.5);
        assert_true(a.position_mm[1] == 1 && a.read_dir[0] == 3 && a.slice_dir[2] == 11 && a.table_mm[2] == 14);
        assert_int_equal(a.user_int[0], -5);
        assert_true(a.user_float[0] == .25f);
        assert_int_equal(a.traj_dims, 2);
        for (int n = 0; n < SAMPLES; n++) {
            for (int c = 0; c < COILS; c++) assert_true(a.data[2 * (c * SAMPLES + n)] == value(i, c, n));
            for (int d = 0; d < 2; d++) assert_true(a.traj[2 * n + d] == place(i, d, n));
        }
    }
}

TEST_IN(waveforms_come_back_exactly_and_those_without_even_steps_are_left_out, make_folder, remove_folder)
{
    static const uint32_t expected[] = {0, 1000, 2000, 3000, 4000, UINT32_MAX};
    stream();
    bytes--;
    whole(4);
    waveform_of(2, 2500);
    waveform_of(1, NAN);
    waveform_of(70000, 2500);
    waveform_of(1030, 2500);
    whole(0);
    OWNED(larmor_raw) *raw = as_stored(bytes);
    const int id[] = {0, 2, 1030};
    const larmor_waveform_kind kind[] = {LARMOR_WAVEFORM_ECG, LARMOR_WAVEFORM_RESPIRATION, LARMOR_WAVEFORM_OTHER};
    assert_int_equal(larmor_raw_describe(raw).acquisitions, READOUTS);
    assert_int_equal(larmor_raw_waveforms(raw), 3);
    for (int i = 0; i < 3; i++) {
        larmor_waveform w;
        assert_ok(larmor_raw_waveform(raw, i, &w));
        assert_true(w.id == id[i] && w.kind == kind[i] && w.trigger == -1 && w.channels == 2 && w.samples == 3);
        assert_true(w.time_stamp == 600 && w.sample_us == (i ? 2500 : 1));
        assert_memory_equal(w.data, expected, sizeof expected);
    }
}

TEST_IN(the_header_is_that_of_version_1, make_folder, remove_folder)
{
    static const char *const parts[] = {
        "<patientName>Doe &lt;&amp;</patientName>",
        "<patientBirthdate>1969-12-31</patientBirthdate>",
        "<patientGender>F</patientGender>",
        "<seriesDate>2024-02-29</seriesDate>",
        "<seriesTime>13:05:59</seriesTime>",
        "<patientPosition>FFS</patientPosition>",
        "<systemFieldStrength_T>1.5</systemFieldStrength_T>",
        "<coilLabel><coilNumber>3</coilNumber>\n<coilName>left</coilName>",
        "<H1resonanceFrequency_Hz>63870000</H1resonanceFrequency_Hz>",
        "<kspace_encoding_step_1><minimum>0</minimum>\n<maximum>300</maximum>\n<center>8</center>",
        "<TE>3</TE>\n<TE>4.5</TE>"};
    stream();
    OWNED(larmor_raw) *raw = as_stored(bytes);
    larmor_encoding e;
    assert_ok(larmor_raw_encoding(raw, 0, &e));
    assert_string_equal(e.trajectory, "radial");
    assert_int_equal(e.matrix[1], 16);
    assert_true(e.fov_mm[1] == 150.5);
    const larmor_multiband_header *m = &e.multiband;
    assert_true(m->factor == 2 && m->offsets == 2 && m->offset_mm[0] == -20 && m->offset_mm[1] == 20.5);
    assert_true(m->delta_kz == -.5 && m->calibration_encoding == 3);
    assert_string_equal(m->calibration, "full3D");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(larmor_raw_xml(raw), parts[i])) fail_msg("%s is missing in %s", parts[i], larmor_raw_xml(raw));
}

TEST_IN(a_stream_that_is_cut_is_read_as_far_as_it_is_complete, make_folder, remove_folder)
{
    stream();
    OWNED(larmor_raw) *raw = as_stored(bytes - 2);
    assert_int_equal(larmor_raw_describe(raw).acquisitions, READOUTS - 1);
    assert_string_equal(larmor_raw_describe(raw).warnings,
                        "the stream was not ended, or is cut short: its 2 complete acquisitions are read.\n");
}

TEST_IN(another_schema_and_what_cannot_be_are_refused, make_folder, remove_folder)
{
    larmor_raw *raw;
    stream();
    const size_t all = bytes;
    data[100] ^= 1;
    assert_refused(larmor_raw_open(put(all), NULL, &raw), LARMOR_ERR_FORMAT, "of another schema than that of 2.1");
    data[100] ^= 1;
    data[MRD2_BEGIN] = 0;
    assert_refused(larmor_raw_open(put(all), NULL, &raw), LARMOR_ERR_FORMAT, "without a header");
    data[MRD2_BEGIN] = 1;
    assert_refused(larmor_raw_open(put(MRD2_BEGIN + 20), NULL, &raw), LARMOR_ERR_FORMAT, "no acquisitions.");
    memset(data + MRD2_BEGIN + 1, 0xff, 12);
    assert_refused(larmor_raw_open(put(all), NULL, &raw), LARMOR_ERR_FORMAT, "a number of more than 64 bits before");
}

TEST_IN(changed_bytes_and_cuts_are_read_or_refused_in_one_line, make_folder, remove_folder)
{
    static unsigned char good[ROOM];
    uint32_t seed = 1;
    stream();
    memcpy(good, data, bytes);
    for (int i = 0; i < 300; i++) {
        larmor_raw *raw;
        memcpy(data, good, bytes);
        for (int k = 0; k <= i % 4; k++) {
            seed = seed * 1664525 + 1013904223;
            data[MRD2_BEGIN + (seed >> 8) % (bytes - MRD2_BEGIN)] = (unsigned char)(i % 3 ? seed >> 4 : 0xff);
        }
        const size_t count = i % 5 ? bytes : MRD2_BEGIN + (seed >> 8) % (bytes - MRD2_BEGIN);
        const larmor_status st = larmor_raw_open(put(count), NULL, &raw);
        if (!st) larmor_raw_free(raw);
        if (st && (strchr(larmor_last_error(), '\n') || strstr(larmor_last_error(), "signal") ||
                   strstr(larmor_last_error(), "cannot be true")))
            fail_msg("mutant %d: %s", i, larmor_last_error());
    }
}
