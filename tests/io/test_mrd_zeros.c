/* Readouts that are used or not: noise with other flags, samples that are exactly 0, other channels, lines beyond
 * the matrix. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

enum { SPOKES = 8, SAMPLES = 64, COILS = 2 };

static void set_zero(scan *s, int i, int first, int end)
{
    for (int c = 0; c < COILS; c++)
        for (int n = first; n < end; n++)
            for (int part = 0; part < 2; part++) data_of(s, i)[2 * (c * SAMPLES + n) + part] = 0;
}

WITH_SCAN(a_noise_readout_is_noise_whatever_else_its_flags_say)
{
    static const int flags[] = {20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        OWNED(scan) *s = radial_scan(SPOKES, COILS);
        s->r[3].head.flags = LARMOR_ACQ_NOISE | LARMOR_ACQ_FLAG(flags[f]);
        OWNED(larmor_raw) *raw = written(s);
        const larmor_raw_info info = larmor_raw_describe(raw);
        assert_int_equal(info.noise, 1);
        assert_int_equal(info.noise_samples, SAMPLES);
        assert_int_equal(info.imaging, SPOKES - 1);
        assert_int_equal(info.dropped, 0);
        assert_string_equal(info.warnings, "");
        OWN(larmor_array, *noise, larmor_raw_noise(raw, dev, &noise));
        bring_to_host(&noise);
        assert_true(((const float *)larmor_array_data(noise))[0] == 4);
    }
}

/* Spokes of which every other one is padded at its end, and the first at its beginning. */
WITH_SCAN(zeros_at_the_ends_of_readouts_are_not_acquired)
{
    OWNED(scan) *s = radial_scan(SPOKES, COILS);
    set_zero(s, 0, 0, 5);
    for (int i = 1; i < SPOKES; i += 2) set_zero(s, i, SAMPLES - 20, SAMPLES);
    data_of(s, 2)[0] = data_of(s, 2)[1] = 0; /* in one coil alone */
    OWNED(larmor_raw) *raw = written(s);
    assert_string_equal(
        larmor_raw_describe(raw).warnings,
        "85 samples at the ends of 5 readouts are exactly 0 in all coils: they are taken for not acquired.\n");
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    const int64_t total = SPOKES * SAMPLES - 85;
    assert_int_equal(larmor_array_shape(x.kspace).dim[0], total);
    int64_t at = 0;
    for (int i = 0; i < SPOKES; i++)
        for (int n = i ? 0 : 5; n < (i % 2 ? SAMPLES - 20 : SAMPLES); n++, at++)
            for (int c = 0; c < COILS; c++) {
                const float *got = kspace(&x) + 2 * (at + c * total);
                const float *stored = data_of(s, i) + 2 * (c * SAMPLES + n);
                assert_true(got[0] == stored[0] && got[1] == stored[1]);
                const double k = 32 * (2. * n / SAMPLES - 1);
                assert_at_most(fabs(traj(&x)[2 * at] - k * cos(M_PI * i / SPOKES)), 1e-5);
            }
    assert_int_equal(at, total);
}

/* Samples of a coil are 1 and 0 by chance where they are rounded; 0 alone; or 0 as those of all coils. */
typedef enum zeros { ROUNDED, OF_ONE, OF_ALL } zeros;

static larmor_raw *scan_with(zeros what)
{
    OWNED(scan) *s = radial_scan(SPOKES, COILS);
    for (int i = 0; i < SPOKES; i++)
        for (int c = what == OF_ALL ? 0 : 1; c < (what == OF_ALL ? COILS : 2); c++) {
            float *x = data_of(s, i) + 2 * SAMPLES * c;
            for (int n = 0; n < 2 * SAMPLES && what == ROUNDED; n++) x[n] = (float)(n % 16 < 4);
            for (int n = 2 * 20; n < 2 * 30 && what != ROUNDED; n++) x[n] = 0;
            x[0] = what == ROUNDED ? x[0] : 0.125f; /* the smallest of its coil */
        }
    return written(s);
}

WITH_SCAN(a_coil_that_is_zero_where_others_have_signal_is_named)
{
    OWNED(larmor_raw) *rounded = scan_with(ROUNDED), *of_one = scan_with(OF_ONE), *of_all = scan_with(OF_ALL);
    assert_string_equal(larmor_raw_describe(rounded).warnings, "");
    assert_string_equal(
        larmor_raw_describe(of_one).warnings,
        "coil 1 (from 0) is exactly 0 in 80 samples of 8 of the 8 readouts that were looked at, where "
        "other coils have signal, first in readout 0 from sample 20 on: its samples were cut out or "
        "lost, but count as measured. Leave the coil out of the file.\n");
    assert_null(strstr(larmor_raw_describe(of_all).warnings, "other coils"));
}

WITH_SCAN(readouts_of_zeros_are_not_acquired)
{
    OWNED(scan) *s = radial_scan(SPOKES, COILS);
    set_zero(s, 2, 0, SAMPLES);
    set_zero(s, 7, 0, SAMPLES);
    OWNED(larmor_raw) *raw = written(s);
    assert_string_equal(larmor_raw_describe(raw).warnings,
                        "2 readouts are exactly 0 in all coils: they are taken for not acquired.\n");
    assert_int_equal(larmor_raw_describe(raw).imaging, SPOKES - 2);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(larmor_array_shape(x.kspace).dim[1], SPOKES - 2);
    assert_true(kspace(&x)[2 * SAMPLES * 2] == 4); /* the fourth readout is the third of these */
}

/* All spokes of slice 1 are zeros, and one of slice 0. */
WITH_SCAN(a_slice_of_zeros_at_a_place_of_its_own_is_an_image)
{
    for (int apart = 0; apart < 2; apart++) {
        OWNED(scan) *s = radial_scan(2 * SPOKES, COILS);
        for (int i = SPOKES; i < 2 * SPOKES; i++) {
            set_zero(s, i, 0, SAMPLES);
            s->r[i].head.idx.slice = 1;
            s->r[i].head.position[2] = apart ? 5 : 0;
        }
        set_zero(s, 2, 0, SAMPLES);
        OWNED(larmor_raw) *raw = written(s);
        const larmor_raw_info info = larmor_raw_describe(raw);
        assert_int_equal(info.groups, 1 + apart);
        assert_non_null(strstr(info.warnings, apart ? "1 readouts are exactly 0" : "9 readouts are exactly 0"));
        assert_true(apart == (strstr(info.warnings, "8 readouts, all those of their slices, are exactly 0 in all "
                                                    "coils: so are the images.\n") != NULL));
    }
}

/* Every third sample is 0, as of weak signal that was rounded to integers. */
WITH_SCAN(zeros_among_rounded_samples_are_values)
{
    OWNED(scan) *s = radial_scan(SPOKES, COILS);
    for (int i = 0; i < SPOKES; i++)
        for (int n = i % 3; n < SAMPLES; n += 3) set_zero(s, i, n, n + 1);
    larmor_raw *raw = written(s);
    assert_string_equal(larmor_raw_describe(raw).warnings, "");
    larmor_raw_free(raw);
    for (int i = 0; i < SPOKES; i++) set_zero(s, i, SAMPLES - 16, SAMPLES);
    write_scan(s);
    raw = opened_with(NULL);
    assert_non_null(strstr(larmor_raw_describe(raw).warnings, " samples at the ends of 8 readouts are exactly 0"));
    larmor_raw_free(raw);
}

/* Two of eight spokes have one channel, and so has the noise. */
WITH_SCAN(readouts_with_other_channels_are_left_out)
{
    OWNED(scan) *s = empty_scan(&plane64);
    for (int i = 0; i < SPOKES; i++)
        set_spoke(s, add_readout(s, SAMPLES, i < 2 ? 1 : COILS, 2), M_PI * i / SPOKES, 32, 32);
    const int noise = add_readout(s, SAMPLES, 1, 0);
    s->r[noise].head.flags = LARMOR_ACQ_NOISE;
    OWNED(larmor_raw) *raw = written(s);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_string_equal(
        info.warnings,
        "2 readouts are left out, as they have another number of channels than the others: acquisition 0 has "
        "1, the others 2.\n"
        "1 noise readouts are left out, as they have another number of channels than the others: acquisition "
        "8 has 1, the others 2.\n");
    assert_int_equal(info.channels, 2);
    assert_int_equal(info.imaging, 6);
    assert_int_equal(info.noise, 0);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_true(kspace(&x)[0] == 3);
}

/* 20 lines of a matrix of 16: those within its resolution are used, at their places. */
WITH_SCAN(lines_beyond_the_matrix_enlarge_it)
{
    const char *limits = "<kspace_encoding_step_1><minimum>0</minimum><maximum>19</maximum><center>10</center>"
                         "</kspace_encoding_step_1>";
    const space e = {{16, 16, 1}, {16, 16, 1}, {160, 160, 5}, {160, 160, 5}, "cartesian", limits};
    OWNED(scan) *s = empty_scan(&e);
    for (int l = 0; l < 20; l++) add_readout(s, 16, 1, 0);
    OWNED(larmor_raw) *raw = written(s);
    assert_string_equal(
        larmor_raw_describe(raw).warnings,
        "lines 0 to 19 are more than the encoded matrix has, 16: it is taken to be 20, with line 10 at k = 0.\n");
    larmor_encoding found;
    assert_ok(larmor_raw_encoding(raw, 0, &found));
    assert_true(found.matrix[1] == 20 && found.fov_mm[1] == 160 && found.recon_matrix[1] == 16);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(x.outside, 16 * 3); /* lines 0, 1 and 19 */
    for (int l = 2; l < 19; l++) assert_true(traj(&x)[2 * 16 * (l - 2) + 1] == l - 10);
}

/* Spokes of a slice: with two components, and with a third one of one value. */
WITH_SCAN(a_slice_under_the_header_of_a_volume_is_a_slice)
{
    const space e = {{64, 64, 64}, {64, 64, 64}, {192, 192, 192}, {192, 192, 192}, "radial", ""};
    for (int dims = 2; dims <= 3; dims++) {
        OWNED(scan) *s = empty_scan(&e);
        for (int i = 0; i < SPOKES; i++) set_spoke(s, add_readout(s, SAMPLES, 1, dims), M_PI * i / SPOKES, 32, 32);
        OWNED(larmor_raw) *raw = written(s);
        const char *said = "64 partitions in the header, but kspace_encode_step_2 is 0 in all readouts";
        assert_memory_equal(larmor_raw_describe(raw).warnings, said, strlen(said));
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        assert_int_equal(larmor_array_shape(x.traj).dim[0], 2);
    }
}
