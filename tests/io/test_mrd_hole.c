/* Holes in the centre of k-space are said, and nothing else is taken for one. SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

enum { SPOKES = 60, SAMPLES = 64 };

/* Spokes from radius `first` in 1/FOV on. */
static scan *center_out(int dims, double first)
{
    const space volume = {{64, 64, 64}, {64, 64, 64}, {192, 192, 192}, {192, 192, 192}, "other", ""};
    scan *s = empty_scan(dims == 3 ? &volume : &plane64);
    for (int r = 0; r < SPOKES; r++) {
        const int i = add_readout(s, SAMPLES, 1, dims);
        const double z = dims == 3 ? 1 - (2. * r + 1) / SPOKES : 0;
        const double angle = r * 2.39996323;
        const double in_plane = sqrt(1 - z * z);
        for (int n = 0; n < SAMPLES; n++) {
            const double at = first + (32 - first) * n / (SAMPLES - 1);
            const double k[3] = {at * in_plane * cos(angle), at * in_plane * sin(angle), at * z};
            for (int d = 0; d < dims; d++) traj_of(s, i)[dims * n + d] = (float)k[d];
        }
    }
    return s;
}

static void assert_hole(scan *s, const char *said)
{
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(&(larmor_raw_opts){.join = "none"});
    const char *warnings = larmor_raw_describe(raw).warnings;
    const char *found = strstr(warnings, "k-space has a hole in its centre: ");
    assert_int_equal(found != NULL, said != NULL);
    if (said) assert_non_null(strstr(found, said));
    if (said && strstr(said, "no sample")) assert_true(larmor_raw_describe(raw).hole > .9);
    if (!said) assert_true(larmor_raw_describe(raw).hole == 0);
    free_scan(s);
}

WITH_SCAN(spokes_that_begin_late_leave_a_hole)
{
    for (int dims = 2; dims <= 3; dims++) {
        assert_hole(center_out(dims, 0), NULL);
        assert_hole(center_out(dims, .5), NULL);
        assert_hole(center_out(dims, 1), "no sample is nearer to k = 0 than 1/FOV, ");
        assert_hole(center_out(dims, 3), "no sample is nearer to k = 0 than 3/FOV, ");
    }
}

/* Places at random, a quarter of what the field of view asks for: gaps are everywhere. */
WITH_SCAN(gaps_by_chance_are_no_hole)
{
    unsigned seed = 1;
    for (int try = 0; try < 20; try++) {
        scan *s = empty_scan(&plane64);
        for (int r = 0; r < 16; r++) {
            const int i = add_readout(s, SAMPLES, 1, 2);
            for (int n = 0; n < 2 * SAMPLES; n++) {
                seed = seed * 1664525u + 1013904223u;
                traj_of(s, i)[n] = (float)((seed >> 8) / 16777216. * 64 - 32);
            }
        }
        assert_hole(s, NULL);
    }
}

WITH_SCAN(missing_lines_of_the_centre_are_a_hole)
{
    const space e = {{64, 32, 1}, {64, 32, 1}, {192, 192, 5}, {192, 192, 5}, "cartesian", ""};
    for (int way = 0; way < 5; way++) {
        scan *s = empty_scan(&e);
        for (int l = 0; l < 32; l++) {
            const int missing[] = {0, l == 16, l > 14 && l < 19, l % 2,
                                   l < 12}; /* none, some, every other one, early ones */
            if (!missing[way]) s->r[add_readout(s, 64, 1, 0)].head.idx.kspace_encode_step_1 = (uint16_t)l;
        }
        static const char *const said[] = {NULL, "lines 16 to 16 are missing", "lines 15 to 18 are missing", NULL,
                                           NULL};
        assert_hole(s, said[way]);
    }
}

/* Repetitions whose centre is sampled, but for one of them: of spokes from a radius on, or of lines without some. */
WITH_SCAN(a_hole_of_one_image_is_said_where_others_have_none)
{
    static const space plane = {{64, 32, 1}, {64, 32, 1}, {192, 192, 5}, {192, 192, 5}, "cartesian", ""};
    static const char *const said[] = {
        "k-space of 1 of 2 images has a hole in its centre: no sample is nearer to k = 0 than 2/FOV, the first of "
        "them slice 0 of contrast 0, phase 0, repetition 1, set 0: large and",
        "k-space of 1 of 2 images has a hole in its centre: lines or partitions are missing, the first of them slice "
        "0 of contrast 0, phase 0, repetition 1, set 0: large and"};
    for (int way = 0; way < 4; way++) {
        const int lines = way >= 2, is_missing = way % 2;
        OWNED(scan) *s = lines ? empty_scan(&plane) : center_out(2, 0);
        for (int l = 0; l < 32 && lines; l++)
            for (int repetition = 0; repetition < 2; repetition++) {
                if (is_missing && repetition && l > 13 && l < 18) continue;
                const int i = add_readout(s, 64, 1, 0);
                s->r[i].head.idx.kspace_encode_step_1 = (uint16_t)l;
                s->r[i].head.idx.repetition = (uint16_t)repetition;
                for (int n = 0; n < 64; n++) /* an echo in the middle */
                    data_of(s, i)[2 * n] = (float)(1 / (1 + pow(n - 32, 2) + pow(l - 16, 2)));
            }
        for (int r = 0; r < SPOKES && !lines; r++) {
            const int repetition = r % 2;
            s->r[r].head.idx.repetition = (uint16_t)repetition;
            for (int n = 0; n < SAMPLES && repetition && is_missing; n++) { /* all of it beyond radius 2 */
                const double angle = r * 2.39996323, at = 2 + 30. * n / (SAMPLES - 1);
                traj_of(s, r)[2 * n] = (float)(at * cos(angle));
                traj_of(s, r)[2 * n + 1] = (float)(at * sin(angle));
            }
        }
        OWNED(larmor_raw) *raw = written(s);
        const char *found = strstr(larmor_raw_describe(raw).warnings, "a hole in its centre");
        assert_int_equal(found != NULL, is_missing);
        if (is_missing) assert_non_null(strstr(larmor_raw_describe(raw).warnings, said[lines]));
        for (int g = 0; g < 2; g++) {
            larmor_group group;
            assert_ok(larmor_raw_group(raw, g, &group));
            assert_at_most(fabs(group.hole - 2 * (g && is_missing && !lines)), 1e-5);
        }
    }
}
