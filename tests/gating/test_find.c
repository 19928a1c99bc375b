/* gating/: breath and heart from the centre of k-space. SPDX-License-Identifier: Apache-2.0 */
#include "tests/gating/breathing.h"

static larmor_gating found_in(const seen *s)
{
    larmor_gating g;
    assert_ok(larmor_gating_find(s->centre, s->direction, s->when, &g));
    assert_int_equal(g.readouts, s->readouts);
    return g;
}

static double mean_rate(const larmor_phantom_cycle *cycle, double seconds)
{
    return larmor_phantom_cycles(cycle, seconds) / seconds * 60;
}

static void check_rates(const subject *u)
{
    OWNED(seen) s = watch(u);
    OWNED(larmor_gating) g = found_in(&s);
    const double b = mean_rate(&u->breath, u->seconds), h = mean_rate(&u->heart, u->seconds);
    const double c = correlation(g.breath.signal, s.breath, s.readouts);
    if (getenv("SHOW"))
        printf("%dD breath %.2f/%.2f (%.2f %%) heart %.2f/%.2f (%.2f %%) corr %.3f rel %.2f %.2f\n", u->ndim,
               g.breath.rate, b, 100 * (g.breath.rate / b - 1), g.heart.rate, h, 100 * (g.heart.rate / h - 1), c,
               g.breath.reliability, g.heart.reliability);
    else if (fabs(g.breath.rate / b - 1) > .01 || fabs(g.heart.rate / h - 1) > .01 || c < .9 ||
             g.breath.reliability < LARMOR_RELIABLE || g.heart.reliability < LARMOR_RELIABLE)
        fail_msg("%dD, noise %g, delay %g, seed %d: breath %g of %g, heart %g of %g, correlation %g, reliability %g, "
                 "%g",
                 u->ndim, u->noise, u->delay, (int)u->seed, g.breath.rate, b, g.heart.rate, h, c,
                 g.breath.reliability, g.heart.reliability);
}

static subject subject_of(int ndim, double breath, double heart, uint64_t seed)
{
    return (subject){.ndim = ndim,
                     .breath = {breath, .04, .03, seed},
                     .heart = {heart, .2, .03, seed + 100},
                     .seconds = 60,
                     .tr = .02,
                     .noise = .005,
                     .seed = seed};
}

TEST(rates_of_breath_and_heart_are_right_within_a_hundredth_and_the_signal_follows_the_breath)
{
    static const double breath[] = {8, 12, 17, 25}, heart[] = {45, 62, 85, 110};
    uint64_t seed = 1;
    for (int ndim = 2; ndim <= 3; ndim++)
        for (int b = 0; b < 4; b++)
            for (int h = 0; h < 4; h++) {
                subject u = subject_of(ndim, breath[b], heart[h], seed++);
                u.delay = (b + h) % 2 ? .5 : 0;
                u.noise = h % 2 ? .002 : .01;
                check_rates(&u);
            }
}

/* The largest reliability of breath and heart in what neither breathes nor beats. */
static double reliability_of(const subject *u, int only_noise)
{
    OWNED(seen) s = watch(u);
    if (only_noise) {
        assert_ok(larmor_zero(s.centre));
        assert_ok(larmor_phantom_noise(s.centre, 1, u->seed));
    }
    OWNED(larmor_gating) g = found_in(&s);
    const double most = fmax(g.breath.reliability, g.heart.reliability);
    if (getenv("SHOW")) printf("%dD still: %.2f %.2f\n", u->ndim, g.breath.reliability, g.heart.reliability);
    return most;
}

TEST(noise_and_objects_that_do_not_move_are_not_reliable)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        subject u = {.ndim = 2 + (int)(seed % 2), .seconds = 60, .tr = .02, .delay = seed % 3 ? .5 : 0};
        u.seed = seed;
        u.noise = seed % 4 ? .003 : 0;
        for (int only_noise = 0; only_noise < 2; only_noise++) {
            const double r = reliability_of(&u, only_noise);
            if (r >= LARMOR_RELIABLE && !getenv("SHOW"))
                fail_msg("seed %d, only noise %d: reliability %g", (int)seed, only_noise, r);
        }
    }
}

TEST(what_cannot_be_gated_is_refused)
{
    subject u = subject_of(2, 12, 60, 1);
    u.tr = .1;
    OWNED(seen) s = watch(&u);
    OWNED(larmor_array) *one = NULL;
    OWNED(larmor_gating) g;
    float value[2] = {1, 0};
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(1, 1), LARMOR_C64, value, &one));
    assert_refused(larmor_gating_find(one, s.direction, s.when, &g), LARMOR_ERR_ARG,
                   "gating: got 1 readouts, expected 64 at least");
    assert_refused(larmor_gating_find(s.centre, s.direction, NULL, &g), LARMOR_ERR_ARG, "seconds is NULL");
    for (int64_t i = 0; i < s.readouts; i++) s.when[i] = 3;
    assert_refused(larmor_gating_find(s.centre, s.direction, s.when, &g), LARMOR_ERR_ARG,
                   "gating: the readouts take 0 s, expected 10 to 86400");
    s.when[5] = NAN;
    assert_refused(larmor_gating_find(s.centre, s.direction, s.when, &g), LARMOR_ERR_ARG,
                   "gating: the time of readout 5 is not finite");
    for (int64_t i = 0; i < s.readouts; i++) s.when[i] = u.tr * (double)i;
    assert_ok(larmor_fill(s.centre, NAN));
    assert_refused(larmor_gating_find(s.centre, s.direction, s.when, &g), LARMOR_ERR_NUMERIC,
                   "gating: samples that are not finite");
    assert_ok(larmor_fill(s.centre, 1));
    assert_ok(larmor_gating_find(s.centre, s.direction, s.when, &g));
    assert_true(g.breath.reliability == 0 && g.heart.reliability == 0);
}
