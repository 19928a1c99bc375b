/* Lines that are sampled while the gradient goes up and down: by their header, and by hand.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/io/mrd_scan.h"

enum { LINE = 128, LINES = 48, COILS = 2, PER_US = 20 };

typedef struct gradient { /* in us */
    double up, flat, down, delay, dwell;
} gradient;

static double sinc(double x)
{
    return fabs(x) < 1e-9 ? 1 : sin(M_PI * x) / (M_PI * x);
}

/* The gradient's area up to a time, summed up step by step. */
static double area_until(const gradient *g, double us)
{
    const double end = g->up + g->flat + g->down;
    double sum = 0;
    for (int64_t i = 0; i < (int64_t)llround(us * PER_US); i++) {
        const double t = ((double)i + .5) / PER_US;
        if (t < end) sum += fmin(1, fmin(t / g->up, (end - t) / g->down)) / PER_US;
    }
    return sum;
}

/* k of all samples of a forward line, in cycles per encoded field of view. */
static void place_samples(const gradient *g, int cut, double k[LINE])
{
    const double middle = area_until(g, 1e4) / 2;
    const double scale = LINE / (area_until(g, g->delay + LINE * g->dwell) - area_until(g, g->delay));
    for (int t = cut; t < LINE; t++) k[t - cut] = scale * (area_until(g, g->delay + (t + .5) * g->dwell) - middle);
}

/* Of a rectangle off the middle. */
static void add_line(scan *s, int line, int cut, const double k[LINE])
{
    const int n = LINE - cut, i = add_readout(s, n, COILS, 0), reversed = line % 2;
    for (int c = 0; c < COILS; c++)
        for (int t = 0; t < n; t++) {
            const double ky = line - LINES / 2;
            const double kx = reversed ? -k[t] : k[t];
            const double phase = 2 * M_PI * (.1 * kx + .07 * ky) + c, size = sinc(.3 * kx) * sinc(.6 * ky);
            data_of(s, i)[2 * (c * n + t)] = (float)(size * cos(phase));
            data_of(s, i)[2 * (c * n + t) + 1] = (float)(size * sin(phase));
        }
    s->r[i].head.center_sample = (uint16_t)(LINE / 2 - cut);
    s->r[i].head.sample_time_us = 4;
    if (reversed) s->r[i].head.flags = LARMOR_ACQ_REVERSE;
}

/* A scan under gradient `g` whose header describes `said` (NULL: nothing). */
static void write_epi(const gradient *g, const gradient *said, int cut)
{
    static const space epi = {{LINE, LINES, 1}, {64, 48, 1}, {384, 144, 5}, {192, 144, 5}, "epi", ""};
    double k[LINE];
    OWNED(scan) *s = empty_scan(&epi);
    char *end = strstr(s->xml, "</encoding>");
    if (said)
        sprintf(end,
                "<trajectoryDescription><identifier>ConventionalEPI</identifier>"
                "<userParameterLong><name>rampUpTime</name><value>%g</value></userParameterLong>"
                "<userParameterLong><name>flatTopTime</name><value>%g</value></userParameterLong>"
                "<userParameterLong><name>rampDownTime</name><value>%g</value></userParameterLong>"
                "<userParameterLong><name>acqDelayTime</name><value>%g</value></userParameterLong>"
                "<userParameterLong><name>numSamples</name><value>%d</value></userParameterLong>"
                "<userParameterDouble><name>dwellTime</name><value>%g</value></userParameterDouble>"
                "</trajectoryDescription></encoding></ismrmrdHeader>\n",
                said->up, said->flat, said->down, said->delay, LINE, said->dwell);
    place_samples(g, cut, k);
    for (int l = 0; l < LINES; l++) add_line(s, l, cut, k);
    write_scan(s);
}

/* Two shots, each of three navigators before every second line. */
WITH_SCAN(navigators_belong_to_the_lines_of_their_shot)
{
    static const space epi = {{LINE, LINES, 1}, {64, 48, 1}, {384, 144, 5}, {192, 144, 5}, "epi", ""};
    const gradient flat = {1, 1000, 1, 100, 4};
    double k[LINE];
    OWNED(scan) *s = empty_scan(&epi);
    place_samples(&flat, 0, k);
    for (int shot = 0; shot < 2; shot++) {
        for (int l = 0; l < 3; l++) {
            add_line(s, 24 + (l + 1) % 2, 0, k);
            s->r[s->count - 1].head.flags |= LARMOR_ACQ_PHASE_CORRECTION;
        }
        for (int l = 0; l < LINES / 2; l++) {
            add_line(s, l, 0, k);
            s->r[s->count - 1].head.idx.kspace_encode_step_1 = (uint16_t)(2 * l + shot);
        }
    }
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_int_equal(info.navigators, 6);
    assert_int_equal(info.imaging, LINES);
    assert_string_equal(info.dropped_report, "");
    larmor_grid grid;
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    OWN(larmor_navigators, n, larmor_raw_navigators(raw, 0, &grid, dev, &n));
    assert_int_equal(n.shots, 2);
    assert_true(n.first[0] == 0 && n.first[1] == 3 && n.first[2] == 6);
    for (int r = 0; r < LINES; r++) assert_int_equal(n.shot[r], r / (LINES / 2));
    HEAP double *at = NULL;
    assert_ok(larmor_array_download(n.traj, LARMOR_F64, &at));
    for (int l = 0; l < 6; l++)
        for (int t = 1; t < LINE; t++)
            assert_at_most(fabs(at[t + LINE * l] - at[t - 1 + LINE * l] - (l % 3 == 1 ? 1 : -1)), 1e-9);
}

/* A reference of its own navigators before, or after, the image's: neither's ghost is the other's. */
static void expect_shots_of_reference(int is_first)
{
    static const space epi = {{LINE, LINES, 1}, {64, 48, 1}, {384, 144, 5}, {192, 144, 5}, "epi", ""};
    const gradient flat = {1, 1000, 1, 100, 4};
    double k[LINE];
    OWNED(scan) *s = empty_scan(&epi);
    place_samples(&flat, 0, k);
    for (int part = 0; part < 2; part++) {
        const int is_reference = part != is_first;
        for (int l = 0; l < 3; l++) {
            add_line(s, 24 + (l + 1) % 2, 0, k);
            s->r[s->count - 1].head.flags |= LARMOR_ACQ_PHASE_CORRECTION;
        }
        for (int l = 0; l < LINES / 2; l++) {
            add_line(s, l, 0, k);
            ISMRMRD_AcquisitionHeader *head = &s->r[s->count - 1].head;
            head->idx.kspace_encode_step_1 = (uint16_t)(is_reference ? LINES / 4 + l : 2 * l);
            head->sample_time_us *= is_reference ? 2 : 1;
            if (is_reference) head->flags |= LARMOR_ACQ_CALIBRATION;
        }
    }
    write_scan(s);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    larmor_grid grid;
    assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
    OWN(larmor_navigators, n, larmor_raw_navigators(raw, 0, &grid, dev, &n));
    assert_int_equal(n.shots, 2);
    assert_true(n.first[0] == 0 && n.first[1] == 3 && n.first[2] == 6);
    for (int r = 0; r < LINES / 2; r++) assert_int_equal(n.shot[r], is_first ? 1 : 0);
    assert_int_equal(n.calibration, LINES / 2);
    for (int r = 0; r < LINES / 2; r++) assert_int_equal(n.calibration_shot[r], is_first ? 0 : 1);
}

WITH_SCAN(navigators_of_a_reference_are_not_the_image_s)
{
    expect_shots_of_reference(1);
    expect_shots_of_reference(0);
}

/* The largest distance between where samples are read and where they are. */
static double error_along(const larmor_raw *raw, const gradient *g, int cut)
{
    double k[LINE], most = 0;
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    place_samples(g, cut, k);
    assert_int_equal(x.outside, 0);
    for (int l = 0; l < LINES; l++)
        for (int t = 0; t < LINE - cut; t++)
            most = fmax(most, fabs(traj(&x)[2 * (t + (int64_t)(LINE - cut) * l)] - (l % 2 ? -k[t] : k[t])));
    return most;
}

static const gradient usual = {100, 350, 100, 19, 4}, lopsided = {90, 360, 110, 19, 4},
                      triangle = {250, 40, 250, 14, 4};

WITH_SCAN(samples_on_ramps_are_where_the_gradient_s_area_is)
{
    const gradient *all[] = {&usual, &lopsided, &triangle};
    for (int i = 0; i < 3; i++)
        for (int cut = 0; cut <= 30; cut += 30) {
            write_epi(all[i], all[i], cut);
            OWNED(larmor_raw) *raw = opened_with(NULL);
            assert_null(strstr(larmor_raw_describe(raw).warnings, "gradient"));
            assert_null(strstr(larmor_raw_describe(raw).warnings, "trajectoryDescription"));
            assert_at_most(error_along(raw, all[i], cut), cut ? .6 : 1e-3); /* its centre is a whole sample */
        }
}

WITH_SCAN(ramps_by_hand_are_those_of_the_header)
{
    char text[80];
    snprintf(text, sizeof text, "%g,%g,%g,%g", lopsided.up, lopsided.flat, lopsided.down, lopsided.delay);
    write_epi(&lopsided, NULL, 0);
    larmor_raw *raw = opened_with(&(larmor_raw_opts){.ramp = text}); /* the dwell time is the readouts' */
    assert_at_most(error_along(raw, &lopsided, 0), 1e-3);
    larmor_raw_free(raw);
    write_epi(&usual, &lopsided, 0);
    raw = opened_with(&(larmor_raw_opts){.ramp = "100,350,100"}); /* in the middle */
    assert_at_most(error_along(raw, &usual, 0), 1e-3);
    assert_non_null(strstr(larmor_raw_describe(raw).traj_report,
                           "gradient of 100 + 350 + 100 us, samples of 4 us from 19 us on"));
    larmor_raw_free(raw);
    raw = opened_with(&(larmor_raw_opts){.ramp = "even"});
    OWNED(larmor_samples) x = samples_of(raw, 0, 0);
    for (int t = 0; t < LINE; t++) assert_at_most(fabs(traj(&x)[2 * t] - (t - LINE / 2)), 1e-9);
    larmor_raw_free(raw);
}

/* Six samples off by the header, while the echoes are in the middle. */
WITH_SCAN(a_delay_that_the_echoes_contradict_is_said_and_replaced)
{
    gradient said = usual;
    said.delay += 16;
    write_epi(&usual, &said, 0);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    assert_string_equal(
        larmor_raw_describe(raw).warnings,
        "trajectoryDescription: samples begin 35 us after the gradient by acqDelayTime, but the echoes are not "
        "there; they are taken to be in its middle, from 19 us on.\n");
    assert_at_most(error_along(raw, &usual, 0), 1e-3);
}

/* k = 0 lies between two samples, unless the gradient is half a sample early or late. */
WITH_SCAN(samples_on_the_flat_top_are_equally_far_apart_about_the_middle_of_the_gradient)
{
    for (int late = 0; late < 2; late++) {
        const gradient flat = {100, 540, 100, late ? 116 : 114, 4};
        write_epi(&flat, &flat, 0);
        OWNED(larmor_raw) *raw = opened_with(NULL);
        OWNED(larmor_samples) x = samples_of(raw, 0, 0);
        for (int t = 0; t < LINE; t++) assert_at_most(fabs(traj(&x)[2 * t] - (t - LINE / 2 + (late ? 1 : .5))), 1e-9);
        assert_at_most(error_along(raw, &flat, 0), 1e-3);
    }
}

WITH_SCAN(a_gradient_that_is_not_the_samples_is_said)
{
    gradient said = usual;
    said.dwell = 8;
    write_epi(&usual, &said, 0);
    OWNED(larmor_raw) *raw = opened_with(NULL);
    assert_non_null(
        strstr(larmor_raw_describe(raw).warnings,
               "the gradient of 100 + 350 + 100 us is not that of 128 samples of 8 us: the samples take longer than "
               "the gradient. The samples are taken to be equally far apart.\n"));
}

WITH_SCAN(what_is_no_gradient_is_refused)
{
    static const char *const wrong[] = {"",          "1",           "100,350", "100,350,",     "100,350,100,",
                                        "a,b,c",     "100,0,100",   "-1,2,3",  "1,2,3,4,5,6",  "100,350,100 us",
                                        "100;50;10", "1e9,1e9,1e9", "nan,1,1", "0x10,100,100", "100,350,100,-5"};
    larmor_raw *raw;
    write_epi(&usual, NULL, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(larmor_raw_open(path, &(larmor_raw_opts){.ramp = wrong[i]}, &raw), LARMOR_ERR_ARG);
        assert_non_null(strstr(larmor_last_error(), "auto, even, or UP,FLAT,DOWN[,DELAY[,DWELL]] in us, expected."));
    }
    assert_int_equal(larmor_raw_open(path, &(larmor_raw_opts){.ramp = "0,600,0"}, &raw), LARMOR_ERR_ARG);
    assert_non_null(strstr(larmor_last_error(), "no lines without a trajectory are sampled on such ramps"));
}
