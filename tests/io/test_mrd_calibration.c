/* Lines for calibration: which give the coil maps of a slice, and which complete an image that lacks them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

enum { EVERY = 3, FIRST = 24, LAST = 39 }; /* of 64 lines: those of the image, and the centre for calibration */

static const space lines64 = {{64, 64, 1}, {64, 64, 1}, {192, 192, 5}, {192, 192, 5}, "cartesian", ""};

/* A line whose samples are (1 + line, sample / 1024) times scale. */
static readout *add_line(scan *s, int line, uint64_t flags, double scale)
{
    const int i = add_readout(s, 64, 2, 0);
    s->r[i].head.idx.kspace_encode_step_1 = (uint16_t)line;
    s->r[i].head.flags = flags;
    for (int k = 0; k < 2 * 64; k++) {
        data_of(s, i)[2 * k] = (float)(scale * (1 + line));
        data_of(s, i)[2 * k + 1] = (float)(scale * k / 1024);
    }
    return &s->r[i];
}

/* Every third line; those of the centre flagged 21, or not at all. */
static void add_image(scan *s, int flagged, int repetition)
{
    for (int line = 0; line < 64; line += EVERY) {
        const int centre = flagged && line >= FIRST && line <= LAST;
        add_line(s, line, centre ? LARMOR_ACQ_CALIBRATION_AND_IMAGING : 0, 1)->head.idx.repetition =
            (uint16_t)repetition;
    }
}

/* Those of the centre that are left, flagged 20; or all of the centre. */
static void add_centre(scan *s, int all, double scale, void (*change)(ISMRMRD_AcquisitionHeader *))
{
    for (int line = FIRST; line <= LAST; line++)
        if (all || line % EVERY) {
            readout *r = add_line(s, line, LARMOR_ACQ_CALIBRATION, scale);
            if (change) change(&r->head);
        }
}

/* The lines of a group's image, or of its slice's calibration, in the order of the file, are exactly these. */
static void assert_lines(const larmor_raw *raw, int group, int calibration, const char *expected)
{
    char got[512] = "";
    size_t used = 0;
    OWNED(larmor_samples) x = samples_of(raw, group, calibration);
    const int64_t count = larmor_array_shape(x.kspace).dim[1];
    for (int64_t r = 0; r < count; r++) {
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%d", r ? " " : "", x.step1[r]);
        const float value = kspace(&x)[2 * 64 * r];
        assert_true(value == (float)(1 + x.step1[r])); /* and it is their own data */
    }
    assert_string_equal(got, expected);
}

#define OUTER_BEFORE "0 3 6 9 12 15 18 21"
#define OUTER_AFTER "42 45 48 51 54 57 60 63"
#define CENTRE_IMAGE "24 27 30 33 36 39"
#define CENTRE_LEFT "25 26 28 29 31 32 34 35 37 38"
#define IMAGE OUTER_BEFORE " " CENTRE_IMAGE " " OUTER_AFTER

WITH_SCAN(maps_come_from_all_lines_flagged_20_or_21_and_the_image_from_all_there_are)
{
    OWNED(scan) *s = empty_scan(&lines64);
    add_image(s, 1, 0);
    add_centre(s, 0, 1, NULL);
    OWNED(larmor_raw) *raw = written(s);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.calibration, 16);
    assert_int_equal(info.completing, 10);
    assert_int_equal(info.imaging, 32);
    assert_string_equal(info.warnings, "");
    assert_lines(raw, 0, 1, CENTRE_IMAGE " " CENTRE_LEFT);
    assert_lines(raw, 0, 0, IMAGE " " CENTRE_LEFT);
}

WITH_SCAN(lines_of_the_image_fill_a_calibration_that_skips_them)
{
    OWNED(scan) *s = empty_scan(&lines64);
    add_image(s, 0, 0);
    add_centre(s, 0, 1, NULL);
    OWNED(larmor_raw) *raw = written(s);
    assert_lines(raw, 0, 1, "27 30 33 36 " CENTRE_LEFT); /* 24 and 39 are no gaps */
}

WITH_SCAN(a_calibration_in_the_first_repetition_serves_all_and_completes_its_own)
{
    OWNED(scan) *s = empty_scan(&lines64);
    add_image(s, 1, 0);
    add_centre(s, 0, 1, NULL);
    add_image(s, 1, 1);
    OWNED(larmor_raw) *raw = written(s);
    for (int group = 0; group < 2; group++) assert_lines(raw, group, 1, CENTRE_IMAGE " " CENTRE_LEFT);
    assert_lines(raw, 0, 0, IMAGE " " CENTRE_LEFT);
    assert_lines(raw, 1, 0, IMAGE);
}

/* As in TSENSE: each repetition has other lines. */
WITH_SCAN(a_calibration_spread_over_repetitions_is_gathered)
{
    OWNED(scan) *s = empty_scan(&lines64);
    for (int repetition = 0; repetition < 4; repetition++)
        for (int line = FIRST; line <= LAST; line++)
            if (line % 3 == repetition % 3)
                add_line(s, line, LARMOR_ACQ_CALIBRATION_AND_IMAGING, 1)->head.idx.repetition = (uint16_t)repetition;
    OWNED(larmor_raw) *raw = written(s);
    for (int group = 0; group < 4; group++)
        assert_lines(raw, group, 1, CENTRE_IMAGE " 25 28 31 34 37 26 29 32 35 38");
    assert_lines(raw, 1, 0, "25 28 31 34 37");
}

/* ---- what does not fit ---- */

static void slower(ISMRMRD_AcquisitionHeader *h)
{
    h->sample_time_us = 5;
}
static void discarding(ISMRMRD_AcquisitionHeader *h)
{
    h->discard_pre = 4;
}
static void off_centre(ISMRMRD_AcquisitionHeader *h)
{
    h->center_sample = 16;
}
static void elsewhere(ISMRMRD_AcquisitionHeader *h)
{
    h->position[2] = 7;
}
static void turned(ISMRMRD_AcquisitionHeader *h)
{
    h->read_dir[0] = 0;
    h->read_dir[1] = 1;
    h->phase_dir[1] = 0;
    h->phase_dir[0] = 1;
}
static void of_another_contrast(ISMRMRD_AcquisitionHeader *h)
{
    h->idx.contrast = 1;
}
static void of_another_set(ISMRMRD_AcquisitionHeader *h)
{
    h->idx.set = 1;
}
static void of_another_slice(ISMRMRD_AcquisitionHeader *h)
{
    h->idx.slice = 1;
}
static void of_another_encoding(ISMRMRD_AcquisitionHeader *h)
{
    h->encoding_space_ref = 1;
}

WITH_SCAN(lines_with_another_timing_or_contrast_give_maps_alone_which_is_said)
{
    static const struct {
        void (*change)(ISMRMRD_AcquisitionHeader *);
        const char *what;
    } ways[] = {{slower, "dwell time differs"},
                {discarding, "centre or discards differ"},
                {off_centre, "centre or discards differ"},
                {elsewhere, "position or direction differ"},
                {turned, "position or direction differ"},
                {of_another_contrast, "contrast differs"},
                {of_another_set, "phase, repetition or set differ"},
                {of_another_encoding, "encoding space differs"}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char line[160];
        OWNED(scan) *s = empty_scan(&lines64);
        add_encoding(s, &lines64);
        add_image(s, 0, 0);
        add_centre(s, 0, 1, ways[i].change);
        OWNED(larmor_raw) *raw = written(s);
        const larmor_raw_info info = larmor_raw_describe(raw);
        snprintf(line, sizeof line, "10 readouts for calibration give coil maps alone: their %s from the image's",
                 ways[i].what);
        const int elsewhere = strstr(ways[i].what, "position") != NULL;
        assert_string_equal(info.calibration_report, elsewhere ? "" : line);
        strcat(line, ".\n");
        assert_string_equal(info.warnings, elsewhere ? line : "");
        assert_int_equal(info.completing, 0);
        assert_lines(raw, 0, 0, IMAGE);
        assert_lines(raw, 0, 1, CENTRE_LEFT);
    }
}

WITH_SCAN(a_calibration_of_another_slice_is_not_this_ones)
{
    OWNED(scan) *s = empty_scan(&lines64);
    add_image(s, 0, 0);
    add_centre(s, 0, 1, of_another_slice);
    OWNED(larmor_raw) *raw = written(s);
    assert_string_equal(larmor_raw_describe(raw).warnings,
                        "10 readouts for calibration give coil maps alone: their slice differs from the image's.\n");
    OWNED(larmor_samples) x = samples_of(raw, 0, 1);
    assert_null(x.kspace);
}

/* A block of its own that has some of the image's lines once more tells whether it may complete the image. */
WITH_SCAN(lines_acquired_twice_tell_another_contrast)
{
    for (int other = 0; other < 2; other++) {
        OWNED(scan) *s = empty_scan(&lines64);
        add_centre(s, 1, other ? .3 : 1.05, NULL); /* acquired before the image */
        add_image(s, 0, 0);
        for (int i = 0; i < s->count && !other; i++) /* whatever its scale: assert_lines looks at the value */
            for (int k = 0; k < 2 * 64; k++)
                data_of(s, i)[2 * k] = (float)(1 + s->r[i].head.idx.kspace_encode_step_1);
        OWNED(larmor_raw) *raw = written(s);
        const larmor_raw_info info = larmor_raw_describe(raw);
        assert_string_equal(info.warnings, other
                                               ? "10 readouts for calibration give coil maps alone: their signal on "
                                                 "the same lines differs from the image's.\n"
                                               : "");
        assert_lines(raw, 0, 0, other ? IMAGE : CENTRE_LEFT " " IMAGE);
        OWNED(larmor_samples) x = samples_of(raw, 0, 1);
        assert_int_equal(larmor_array_shape(x.kspace).dim[1], 16);
    }
}

/* The same signal, at the middle of readouts, under noise of a tenth of its energy; or another one. */
WITH_SCAN(noise_is_no_other_contrast)
{
    for (int other = 0; other < 2; other++) {
        OWNED(scan) *s = empty_scan(&lines64);
        add_centre(s, 1, 1, NULL);
        const int first = s->count;
        add_image(s, 0, 0);
        uint64_t seed = 3;
        for (int i = 0; i < s->count; i++)
            for (int k = 0; k < 2 * 2 * 64; k++) {
                const double place = (k / 2 % 64 - 32) / 6.;
                const double signal = exp(-place * place) * (other && i < first ? .6 : 1);
                data_of(s, i)[k] = (float)(signal + .2 * test_random(&seed));
            }
        OWNED(larmor_raw) *raw = written(s);
        assert_int_equal(larmor_raw_describe(raw).completing, other ? 0 : 10);
    }
}

/* ---- with a trajectory ---- */

WITH_SCAN(spokes_that_the_image_lacks_complete_it)
{
    OWNED(scan) *s = radial_scan(16, 2);
    for (int i = 8; i < 16; i++) {
        s->r[i].head.flags = LARMOR_ACQ_CALIBRATION;
        s->r[i].head.idx.kspace_encode_step_1 = (uint16_t)(i - 8); /* counted anew */
    }
    const int twin = add_readout(s, 64, 2, 2); /* of spoke 3 */
    set_spoke(s, twin, M_PI * 3 / 16, 32, 32);
    memcpy(data_of(s, twin), data_of(s, 3), s->r[3].data.len * sizeof(float));
    s->r[twin].head.flags = LARMOR_ACQ_CALIBRATION;
    s->r[twin].head.idx.kspace_encode_step_1 = 3;
    OWNED(larmor_raw) *raw = written(s);
    assert_int_equal(larmor_raw_describe(raw).completing, 8);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0), c = samples_of(raw, 0, 1);
    assert_int_equal(larmor_array_shape(x.kspace).dim[1], 16);
    for (int r = 0; r < 16; r++) assert_at_most(fabs(traj(&x)[2 * 64 * r] + 32 * cos(M_PI * r / 16)), 1e-5);
    assert_int_equal(larmor_array_shape(c.kspace).dim[1], 9);
}
