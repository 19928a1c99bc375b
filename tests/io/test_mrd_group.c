/* Which readouts make one image: counters beyond their limits, and counters that are joined on demand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

#define UP_TO_0(counter) "<" counter "><minimum>0</minimum><maximum>0</maximum><center>0</center></" counter ">"

/* 60 spokes of 64 samples, each with its own value of a counter; limits as given. */
static scan *spoke_by_spoke(const char *limits, size_t counter)
{
    space e = plane64;
    e.limits = limits;
    scan *s = empty_scan(&e);
    for (int i = 0; i < 60; i++) {
        const int r = add_readout(s, 64, 1, 2);
        set_spoke(s, r, M_PI * i / 60, 32, 32);
        s->r[r].head.idx.kspace_encode_step_1 = 0;
        *(uint16_t *)((char *)&s->r[r].head.idx + counter) = (uint16_t)i;
    }
    return s;
}

static larmor_raw *opened_joined(const char *join)
{
    return opened_with(&(larmor_raw_opts){.join = join});
}

/* The file has so many images, the first of so many readouts, and these warnings. */
static void assert_images(const char *join, int images, int64_t readouts, const char *warnings)
{
    OWNED(larmor_raw) *raw = opened_joined(join);
    const larmor_raw_info info = larmor_raw_describe(raw);
    larmor_group g;
    assert_string_equal(info.warnings, warnings);
    assert_int_equal(info.groups, images);
    assert_ok(larmor_raw_group(raw, 0, &g));
    assert_int_equal(g.readouts, readouts);
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_int_equal(larmor_array_shape(x.kspace).dim[1], readouts);
}

WITH_SCAN(a_counter_beyond_its_limit_makes_no_images_of_a_spoke_each)
{
    scan *s = spoke_by_spoke(UP_TO_0("slice"), offsetof(ISMRMRD_EncodingCounters, slice));
    write_scan(s);
    const char *said =
        "counter slice reaches 59, encodingLimits end at 0; it is ignored: 60 images of its 60 readouts "
        "would have too few samples, opts.join none makes them.\n";
    assert_images(NULL, 1, 60, said);
    assert_images("auto", 1, 60, said);
    assert_images(
        "none", 60, 1,
        "60 of 60 slices are at the same position as another one: where they lie is not known, which is what "
        "NIfTI files say (code 0).\n");
    assert_images("slice", 1, 60, "");
    free_scan(s);
    s = spoke_by_spoke(UP_TO_0("contrast"), offsetof(ISMRMRD_EncodingCounters, contrast));
    write_scan(s);
    assert_images(NULL, 1, 60,
                  "counter contrast reaches 59, encodingLimits end at 0; it is ignored: 60 images of its 60 readouts "
                  "would have too few samples, opts.join none makes them.\n");
    free_scan(s);
}

WITH_SCAN(slices_at_their_own_places_are_accepted_whatever_the_limits)
{
    OWNED(scan) *s = spoke_by_spoke(UP_TO_0("slice"), offsetof(ISMRMRD_EncodingCounters, slice));
    for (int i = 0; i < 60; i++) s->r[i].head.position[2] = (float)(5 * i);
    write_scan(s);
    assert_images(NULL, 60, 1,
                  "counter slice reaches 59, encodingLimits end at 0; it is accepted, opts.join slice ignores "
                  "it.\n60 images of 64 samples for 4096 voxels: opts.join slice makes one of them.\n");
}

WITH_SCAN(repetitions_with_enough_samples_are_accepted_whatever_the_limits)
{
    OWNED(scan) *s = spoke_by_spoke(UP_TO_0("repetition"), offsetof(ISMRMRD_EncodingCounters, repetition));
    for (int i = 0; i < 60; i++) s->r[i].head.idx.repetition = (uint16_t)(i / 20);
    write_scan(s);
    assert_images(NULL, 3, 20,
                  "counter repetition reaches 2, encodingLimits end at 0; it is accepted, opts.join repetition "
                  "ignores it.\n");
    assert_images("repetition", 1, 60, "");
}

WITH_SCAN(images_with_too_few_samples_name_the_flag_that_joins_them)
{
    OWNED(scan) *s = spoke_by_spoke("", offsetof(ISMRMRD_EncodingCounters, phase));
    for (int i = 0; i < 60; i++) s->r[i].head.idx.set = (uint16_t)(i % 2);
    write_scan(s);
    assert_images(NULL, 60, 1, "60 images of 64 samples for 4096 voxels: opts.join phase,set makes one of them.\n");
    assert_images("phase,set", 1, 60, "");
    assert_images("phase", 2, 30, "");
}

enum { SPOKES = 8 };

/* Volumes of three slices, without those whose number is in a range. */
static void assert_missing(const int repetition[4], int first_out, int last_out, const char *warnings)
{
    space e = plane64;
    e.limits = "";
    OWNED(scan) *s = empty_scan(&e);
    for (int i = 0; i < 12; i++) {
        if (i >= first_out && i <= last_out) continue;
        for (int v = 0; v < SPOKES; v++) {
            const int r = add_readout(s, 64, 1, 2);
            set_spoke(s, r, M_PI * v / SPOKES, 32, 32);
            s->r[r].head.idx.kspace_encode_step_1 = (uint16_t)v;
            s->r[r].head.idx.slice = (uint16_t)(i % 3);
            s->r[r].head.position[2] = (float)(5 * (i % 3));
            s->r[r].head.idx.repetition = (uint16_t)repetition[i / 3];
        }
    }
    OWNED(larmor_raw) *raw = written(s);
    assert_string_equal(larmor_raw_describe(raw).warnings, warnings);
}

/* Every second repetition, and volumes that have little in common, are the counters' own way of counting. */
WITH_SCAN(images_that_are_missing_between_others_are_said)
{
    assert_missing((int[]){0, 1, 2, 3}, -1, -1, "");
    assert_missing((int[]){0, 2, 4, 6}, -1, -1, "");
    assert_missing((int[]){5, 6, 7, 8}, -1, -1, "");
    assert_missing((int[]){0, 1, 2, 4}, -1, -1,
                   "1 of the repetitions 0 to 4 have no readouts, the first of them 3.\n");
    assert_missing((int[]){0, 1, 2, 6}, -1, -1,
                   "3 of the repetitions 0 to 6 have no readouts, the first of them 3.\n");
    assert_missing((int[]){0, 1, 2, 60}, -1, -1, "");
    assert_missing((int[]){0, 1, 2, 3}, 7, 7,
                   "1 of 12 images have no readouts, the first of them slice 1 of contrast 0, phase 0, repetition 2, "
                   "set 0.\n");
    assert_missing((int[]){0, 1, 2, 3}, 10, 11,
                   "2 of 12 images have no readouts, the first of them slice 1 of contrast 0, phase 0, repetition 3, "
                   "set 0.\n");
    assert_missing((int[]){0, 1, 2, 3}, 1, 8, "");
}

/* One readout each for 32 x 32 voxels: a spoke is no image, an arm of a fourth of the samples for them is. */
WITH_SCAN(a_spoke_is_no_image_of_a_small_matrix_and_an_arm_is)
{
    static const struct {
        int samples, images;
        const char *limits, *warning;
    } one[] = {
        {64, 3, "", "3 images of 64 samples for 1024 voxels: opts.join repetition makes one of them.\n"},
        {64, 1, UP_TO_0("repetition"),
         "counter repetition reaches 2, encodingLimits end at 0; it is ignored: 3 images of its 3 readouts would "
         "have "
         "too few samples, opts.join none makes them.\n"},
        {256, 3, "", ""},
    };
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        space e = {{32, 32, 1}, {32, 32, 1}, {192, 192, 5}, {192, 192, 5}, "other", one[i].limits};
        OWNED(scan) *s = empty_scan(&e);
        for (int r = 0; r < 3; r++) {
            add_readout(s, one[i].samples, 1, 2);
            set_spoke(s, r, M_PI * r / 3, 16, 16);
            s->r[r].head.idx.kspace_encode_step_1 = 0;
            s->r[r].head.idx.repetition = (uint16_t)r;
        }
        write_scan(s);
        assert_images(NULL, one[i].images, 3 / one[i].images, one[i].warning);
    }
}

WITH_SCAN(joined_images_have_the_counters_of_their_first_readout)
{
    OWNED(scan) *s = spoke_by_spoke("", offsetof(ISMRMRD_EncodingCounters, slice));
    for (int i = 0; i < 60; i++) {
        s->r[i].head.idx.slice = (uint16_t)(5 + i % 3);
        s->r[i].head.idx.set = 2;
    }
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_joined("slice,repetition");
    larmor_group g;
    assert_ok(larmor_raw_group(raw, 0, &g));
    assert_true(g.slice == 5 && g.set == 2 && g.readouts == 60);
}

WITH_SCAN(a_counter_that_cannot_be_joined_is_refused)
{
    OWNED(scan) *s = radial_scan(4, 1);
    write_scan(s);
    static const char *const wrong[] = {"segments", "slice,", "", "slices", "slice;set", "none,slice"};
    for (int i = 0; i < 6; i++) {
        char line[160];
        snprintf(line, sizeof line,
                 "opts.join \"%s\": auto, none, or slice, contrast, phase, repetition, set or segment, with commas "
                 "between, "
                 "expected.",
                 wrong[i]);
        refused_with(&(larmor_raw_opts){.join = wrong[i]}, LARMOR_ERR_ARG, line);
    }
}
