/* The centre of k-space of readouts without a trajectory: by the header, and by the echo in the data.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

enum { LINE = 128, LINES = 48, COILS = 2 };
static const space lines = {{LINE, LINES, 1}, {64, 48, 1}, {384, 144, 5}, {192, 144, 5}, "cartesian", ""};

static double sinc(double x)
{
    return fabs(x) < 1e-9 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* k-space of a rectangle off the middle, with a sample's worth of a delay along the line. */
static void signal_of(double kx, double ky, int coil, float *to)
{
    const double phase = 2 * M_PI * (.1 * kx + .07 * ky) + coil;
    const double size = sinc(.3 * kx) * sinc(.6 * ky) / (1 + coil);
    to[0] = (float)(size * cos(phase));
    to[1] = (float)(size * sin(phase));
}

/* One line whose first `cut` samples in time are missing, of the given center_sample. late: samples by which it is
 * delayed. */
static void add_line(scan *s, int step, int line, int reversed, int cut, int center, int late)
{
    const int n = LINE - cut, i = add_readout(s, n, COILS, 0);
    for (int c = 0; c < COILS; c++)
        for (int t = 0; t < n; t++) {
            const int at = cut + t - late;
            const int place = reversed ? LINE - at : at; /* k from -64 on, or from 64 down */
            signal_of(place - LINE / 2, line - LINES / 2, c, data_of(s, i) + 2 * (c * n + t));
        }
    s->r[i].head.idx.kspace_encode_step_1 = (uint16_t)step;
    s->r[i].head.center_sample = (uint16_t)center;
    if (reversed) s->r[i].head.flags = LARMOR_ACQ_REVERSE;
}

/* Lines that go both ways, as EPI's do. */
static scan *both_ways(int cut, int forward, int reversed, int late)
{
    scan *s = empty_scan(&lines);
    for (int l = 0; l < LINES; l++) add_line(s, l, l, l % 2, cut, l % 2 ? reversed : forward, late);
    return s;
}

/* The largest distance between where samples are read and where they are. */
static double error_along(const larmor_raw *raw, int cut)
{
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    const int n = LINE - cut;
    double most = 0;
    assert_int_equal(x.outside, 0);
    for (int l = 0; l < LINES; l++)
        for (int t = 0; t < n; t++) {
            const double k = l % 2 ? LINE / 2 - cut - t : cut + t - LINE / 2;
            most = fmax(most, fabs(traj(&x)[2 * (t + (int64_t)n * l)] - k));
        }
    return most;
}

/* The sample at k = 0 is number 64 - cut in time in both directions. A reversed line's k ends one sample later
 * than a forward line's, as the first sample of a line of 128 is at -64 and its last at 63. */
WITH_SCAN(lines_in_reverse_are_placed_by_their_echo_however_they_count)
{
    static const struct {
        int cut, reversed;
        const char *said;
    } cases[] = {
        {0, LINE / 2, ""},
        {32, 32, ""},
        {32, 33, "center_sample of 24 readouts in reverse counts samples from 1: so the echo says.\n"},
        {32, 63, "center_sample of 24 readouts in reverse counts samples from the other end: so the echo says.\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(scan) *s = both_ways(cases[i].cut, LINE / 2 - cases[i].cut, cases[i].reversed, 0);
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).warnings, cases[i].said);
        if (cases[i].cut) assert_at_most(error_along(raw, cases[i].cut), 1e-9);
    }
}

/* ---- lines of other objects, in noise ---- */

enum { SHORT = 48, OBJECTS = 4, MOST_PARTS = 4 };
static const space echo_planar = {{SHORT, SHORT, 1}, {SHORT, SHORT, 1}, {240, 240, 5}, {240, 240, 5}, "epi", ""};
static const space square = {{SHORT, SHORT, 1}, {SHORT, SHORT, 1}, {240, 240, 5}, {240, 240, 5}, "cartesian", ""};

/* Rectangles: amplitude, centre and sides in fields of view. The frame has two peaks along the lines beside the
 * centre. */
static const double objects[OBJECTS][MOST_PARTS][5] = {
    {{1, 0, 0, .69, .92}, {-.8, 0, -.009, .662, .874}, {-.2, .11, 0, .11, .3}, {-.2, -.11, 0, .16, .4}},
    {{1, .2, .15, .2, .25}, {.7, -.2, -.2, .25, .2}, {.9, .22, -.2, .1, .1}},
    {{1, 0, 0, .8, .7}, {.8, -.25, .2, .05, .3}, {.8, .1, 0, .04, .4}, {.6, .2, -.2, .3, .04}},
    {{1, .1, -.1, .5, .3}, {-.5, .05, -.1, .2, .2}, {.4, .25, .25, .2, .2}}};

static void signal_of_object(const double (*part)[5], double kx, double ky, float *to)
{
    double re = 0, im = 0;
    for (int p = 0; p < MOST_PARTS; p++) {
        const double phase = -2 * M_PI * (part[p][1] * kx + part[p][2] * ky);
        const double size = part[p][0] * part[p][3] * part[p][4] * sinc(part[p][3] * kx) * sinc(part[p][4] * ky);
        re += size * cos(phase);
        im += size * sin(phase);
    }
    to[0] = (float)re;
    to[1] = (float)im;
}

/* Nearly Gaussian, of the standard deviation 1. */
static double normal(unsigned *seed)
{
    double sum = 0;
    for (int i = 0; i < 12; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        sum += (double)(*seed >> 8) / (1 << 24);
    }
    return sum - 6;
}

/* Lines of one coil that go both ways, the first `cut` samples in time missing. k = 0 is sample 24 of a line.
 * Reversed ones count as ISMRMRD says, from 1 or from the other end; late: samples by which they are behind. */
static scan *lines_of(const space *e, int object, double noise, unsigned seed, int cut, int counting, int late)
{
    scan *s = empty_scan(e);
    for (int l = 0; l < SHORT; l++) {
        const int n = SHORT - cut, i = add_readout(s, n, 1, 0);
        const int back = l % 2;
        const int centre = back ? SHORT - 1 - SHORT / 2 - cut : SHORT / 2 - cut;
        const int counted[] = {centre, centre + 1, n - 1 - centre};
        for (int t = 0; t < n; t++) {
            const int along = t + cut - late;
            const int place = back ? SHORT - 1 - along : along;
            float *to = data_of(s, i) + 2 * t;
            signal_of_object(objects[object], place - SHORT / 2, l - SHORT / 2, to);
            for (int part = 0; part < 2; part++) to[part] += (float)(noise * normal(&seed));
        }
        s->r[i].head.center_sample = (uint16_t)(back ? counted[counting] : centre);
        if (back) s->r[i].head.flags = LARMOR_ACQ_REVERSE;
    }
    return s;
}

/* Where the first sample of the first line in reverse is read, and what warnings say of these lines. */
static double first_of_reversed(scan *s, int *turned, int *is_delayed)
{
    OWNED(larmor_raw) *raw = written(s);
    *turned = strstr(larmor_raw_describe(raw).warnings, "in reverse counts samples") != NULL;
    *is_delayed = strstr(larmor_raw_describe(raw).warnings, "echoes of lines in reverse") != NULL;
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    const double k = traj(&x)[2 * s->r[0].head.number_of_samples];
    free_scan(s);
    return k;
}

WITH_SCAN(right_lines_in_reverse_are_never_counted_in_another_way)
{
    static const double noise[] = {0, .002, .005, .01, .05};
    for (int object = 0; object < OBJECTS; object++)
        for (int i = 0; i < 5; i++)
            for (int cut = 0; cut < 16; cut += 7) {
                int turned, is_delayed;
                const unsigned seed = (unsigned)(100 * object + 10 * i + cut);
                const double k =
                    first_of_reversed(lines_of(i % 2 ? &square : &echo_planar, object, noise[i], seed, cut, 0, 0),
                                      &turned, &is_delayed);
                assert_false(turned || is_delayed);
                assert_at_most(fabs(k - (SHORT / 2 - 1 - cut)), 1e-9);
            }
}

WITH_SCAN(lines_in_reverse_that_count_in_another_way_are_placed_as_they_are)
{
    for (int object = 0; object < OBJECTS; object++)
        for (int counting = 0; counting < 3; counting++)
            for (int cut = 0; cut < 16; cut += 7) {
                int turned, is_delayed;
                const double noise = cut % 2 ? .0002 : 0;
                const double k =
                    first_of_reversed(lines_of(&square, object, noise, 3, cut, counting, 0), &turned, &is_delayed);
                assert_at_most(fabs(k - (SHORT / 2 - 1 - cut)), 1e-9);
                assert_int_equal(turned, counting && cut); /* of a middle it is no matter */
            }
}

/* By a sample, as a delay of half a sample moves lines of both directions against each other: ghost correction
 * does that. */
WITH_SCAN(echo_planar_lines_are_not_counted_in_another_way_by_a_sample)
{
    for (int counting = 1; counting < 3; counting++) {
        int turned, is_delayed;
        scan *s = lines_of(&echo_planar, 0, 0, 1, 14, counting, 0);
        const double k = first_of_reversed(s, &turned, &is_delayed);
        assert_int_equal(turned, counting == 2);
        assert_at_most(fabs(k - (SHORT / 2 - 1 - 14 + (counting == 1))), 1e-9);
    }
}

/* Lines of both directions that are 4 samples apart are no way of counting. */
WITH_SCAN(echoes_that_no_way_of_counting_explains_leave_the_standard_s)
{
    for (int object = 0; object < OBJECTS; object++) {
        int turned, is_delayed;
        first_of_reversed(lines_of(&square, object, 0, 1, 10, 0, 2), &turned, &is_delayed);
        assert_true(is_delayed && !turned);
    }
}

WITH_SCAN(a_centre_that_is_not_the_echo_s_is_said_and_replaced)
{
    static const int centers[] = {0, 20, 37, 60};
    for (int i = 0; i < 4; i++) {
        OWNED(scan) *s = empty_scan(&lines);
        for (int l = 0; l < LINES; l++) add_line(s, l, l, 0, 32, centers[i], 0);
        OWNED(larmor_raw) *raw = written(s);
        char said[200];
        snprintf(said, sizeof said,
                 "center_sample is %d in 48 readouts of 96 samples, k = 0 at sample %d of the line, but the echo is "
                 "at 32.0; "
                 "the echo is taken.\n",
                 centers[i], i < 2 ? 48 : centers[i]);
        assert_string_equal(larmor_raw_describe(raw).warnings, said);
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        for (int t = 0; t < 96; t++) assert_at_most(fabs(traj(&x)[2 * t] - (t - 32)), 1e-9);
    }
}

/* A gradient of the field makes the echo of the second contrast later: contrasts of one header have one centre, that
 * of the first one, as their phases are compared. center: of all headers, 32 is right. */
WITH_SCAN(later_contrasts_have_the_centre_of_the_first_one)
{
    static const int centers[] = {32, 20};
    for (int i = 0; i < 2; i++)
        for (int last = 0; last < 2; last++) {
            OWNED(scan) *s = empty_scan(&lines);
            for (int l = 0; l < 2 * LINES; l++) {
                const int contrast = l / LINES ^ last; /* the first contrast may be stored last */
                add_line(s, l % LINES, l % LINES, 0, 32, centers[i], 5 * contrast);
                s->r[l].head.idx.contrast = (uint16_t)contrast;
            }
            OWNED(larmor_raw) *raw = written(s);
            const char *said = larmor_raw_describe(raw).warnings;
            assert_int_equal(strstr(said, "48 readouts of 96 samples") != NULL, i == 1);
            assert_null(strstr(said, "echo is at 37"));
            for (int g = 0; g < 2; g++) {
                OWNED(larmor_samples) x = samples_of(raw, g, 0);
                for (int t = 0; t < 96; t++) assert_at_most(fabs(traj(&x)[2 * t] - (t - 32)), 1e-9);
            }
        }
}

/* Two samples off: said, but the header stays; one off: nothing. */
WITH_SCAN(small_differences_leave_the_header_s_centre)
{
    for (int off = -1; off <= 2; off++) {
        OWNED(scan) *s = empty_scan(&lines);
        for (int l = 0; l < LINES; l++) add_line(s, l, l, 0, 32, 32 + off, 0);
        OWNED(larmor_raw) *raw = written(s);
        assert_int_equal(strstr(larmor_raw_describe(raw).warnings, "; the header is taken.\n") != NULL,
                         abs(off) == 2);
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        assert_at_most(fabs(traj(&x)[0] + 32 + off), 1e-9);
    }
}

WITH_SCAN(data_without_an_echo_leave_the_header_s_centre)
{
    OWNED(scan) *s = empty_scan(&lines);
    unsigned seed = 1;
    for (int l = 0; l < LINES; l++) {
        add_line(s, l, l, 0, 32, 40, 0);
        for (int n = 0; n < 2 * COILS * 96; n++) {
            seed = seed * 1664525u + 1013904223u;
            data_of(s, l)[n] = (float)(seed >> 8) / (1 << 24) - .5f;
        }
    }
    OWNED(larmor_raw) *raw = written(s);
    assert_string_equal(larmor_raw_describe(raw).warnings, "");
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    assert_at_most(fabs(traj(&x)[0] + 40), 1e-9);
}

WITH_SCAN(delays_between_both_directions_are_said)
{
    for (int late = 0; late < 2; late++) {
        OWNED(scan) *s = both_ways(0, LINE / 2, LINE / 2, late);
        OWNED(larmor_raw) *raw = written(s);
        const char *warnings = larmor_raw_describe(raw).warnings;
        assert_int_equal(strstr(warnings, "echoes of lines in reverse are ") != NULL, late);
    }
}

/* 34 of 48 lines, counted from 0, of which line 10, or 30, is at ky = 0. */
WITH_SCAN(the_centre_line_is_where_the_data_have_most_energy)
{
    static const struct {
        int center; /* of the header; -1: none */
        const char *said;
        int at; /* the line at ky = 0 */
    } cases[] = {
        {10, "", 10},
        {11, "", 10},
        {24, "center of kspace_encoding_step_1 is 24, but the data have most energy at 10; 10 is taken.\n", 10},
        {0, "center of kspace_encoding_step_1 is 0, but the data have most energy at 10; 10 is taken.\n", 10},
        {-1,
         "center of kspace_encoding_step_1 is 24, half of the matrix, but the data have most energy at 10; 10 is "
         "taken.\n",
         10},
        {30,
         "kspace_encoding_step_1 from 0 to 33 around its center 30 reaches beyond the encoded matrix of 48, whose "
         "lines "
         "are used; the center is taken, as the data have most energy there.\n",
         30}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int at = cases[i].at;
        char limits[200];
        snprintf(limits, sizeof limits,
                 "<kspace_encoding_step_1><minimum>0</minimum><maximum>33</maximum><center>%d</center>"
                 "</kspace_encoding_step_1>",
                 cases[i].center);
        space e = lines;
        if (cases[i].center >= 0) e.limits = limits;
        OWNED(scan) *s = empty_scan(&e);
        for (int l = 0; l < 34; l++) add_line(s, l, l - at + LINES / 2, 0, 0, LINE / 2, 0);
        OWNED(larmor_raw) *raw = written(s);
        assert_string_equal(larmor_raw_describe(raw).warnings, cases[i].said);
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        const int out = at > LINES / 2 ? at - LINES / 2 : 0; /* lines beyond the matrix */
        assert_int_equal(larmor_array_count(x.traj) / 2, (34 - out) * LINE);
        for (int l = out; l < 34; l++)
            assert_at_most(fabs(traj(&x)[2 * (int64_t)LINE * (l - out) + 1] - (l - (i == 1 ? 11 : at))), 1e-9);
    }
}

/* A sample of four times the echo's size, or a line of noise of half of it. */
WITH_SCAN(a_spike_or_a_loud_line_is_no_centre)
{
    for (int loud = 0; loud < 2; loud++) {
        OWNED(scan) *s = empty_scan(&lines);
        unsigned seed = 7;
        for (int l = 0; l < LINES; l++) add_line(s, l, l, 0, 0, LINE / 2, 0);
        for (int c = 0; c < COILS; c++)
            for (int n = 0; n < 2 * LINE && loud; n++) {
                seed = seed * 1664525u + 1013904223u;
                data_of(s, 41)[n + 2 * LINE * c] += (float)(seed >> 8) / (1 << 24) - .5f;
            }
        if (!loud) data_of(s, 7)[2 * 101] += 4;
        OWNED(larmor_raw) *raw = written(s);
        assert_null(strstr(larmor_raw_describe(raw).warnings, "center"));
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        assert_at_most(fabs(traj(&x)[0] + LINE / 2.), 1e-9);
        assert_at_most(fabs(traj(&x)[1] + LINES / 2.), 1e-9);
    }
}
