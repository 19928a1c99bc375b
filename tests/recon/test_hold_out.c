/* recon/choose/held_out.c: which samples are held out. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/choose_scan.h"

/* Of ten in a row one is held out: of readouts, or of a few samples that are 1 / FOV long together. */
static void check_held(const double *points, int64_t samples, int64_t readouts, int64_t step)
{
    OWNED(scan) s = noisy_scan(0);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples, readouts), points), *kept, *factors;
    HEAP double *w = malloc((size_t)(samples * readouts) * sizeof *w);
    for (int64_t i = 0; i < samples * readouts; i++) w[i] = 0.5;
    OWNED(larmor_array) *weights = real_array(LARMOR_SHAPE(samples, readouts), w);
    assert_ok(larmor_hold_out(traj, weights, s.C, 3, &kept, &factors));
    HEAP double *f = malloc((size_t)(samples * readouts) * sizeof *f);
    assert_ok(larmor_array_read(kept, w, larmor_array_bytes(kept)));
    assert_ok(larmor_array_read(factors, f, larmor_array_bytes(factors)));
    const int64_t count = samples * readouts / step;
    for (int64_t first = 0; first + 10 <= count; first += 10) {
        int held = 0;
        for (int64_t i = first; i < first + 10; i++) held += w[i * step] == 0;
        assert_int_equal(held, 1);
    }
    for (int64_t i = 0; i < samples * readouts; i++) {
        assert_true(w[i] == (f[i] > 0 ? 0 : 0.5));
        assert_true((w[i] == 0) == (w[i - i % step] == 0));
    }
}

TEST(of_many_spokes_one_of_ten_is_held_out_of_few_or_of_a_grid_a_tenth_of_the_samples)
{
    double *spokes = radial_points(N, 2 * N, 40), grid[2 * 24 * 24];
    for (int i = 0; i < 24 * 24; i++) {
        grid[2 * i] = i % 24 - 12;
        grid[2 * i + 1] = i / 24 - 12;
    }
    check_held(spokes, 2 * N, 40, 2 * N);
    check_held(spokes, 2 * N, 12, 2); /* half of 1 / FOV apart */
    check_held(grid, 24, 24, 1);
    free(spokes);
}

/* Which samples of spokes [2, samples, readouts] are held out; to be freed. */
static double *held_of(const double *points, int64_t samples, int64_t readouts)
{
    OWNED(scan) s = noisy_scan(0.1);
    OWNED(larmor_array) *traj = real_array(LARMOR_SHAPE(2, samples, readouts), points), *kept, *factors;
    double *held = malloc((size_t)(samples * readouts) * sizeof *held);
    assert_ok(larmor_hold_out(traj, NULL, s.C, 3, &kept, &factors));
    assert_ok(larmor_array_read(kept, held, larmor_array_bytes(kept)));
    for (int64_t i = 0; i < samples * readouts; i++) held[i] = held[i] == 0;
    return held;
}

/* How many readouts have samples that are held out and others that are not. */
static int64_t partly_held(const double *held, int64_t samples, int64_t readouts)
{
    int64_t count = 0;
    for (int64_t r = 0; r < readouts; r++) {
        int64_t of_readout = 0;
        for (int64_t i = 0; i < samples; i++) of_readout += held[r * samples + i] > 0;
        count += of_readout > 0 && of_readout < samples;
    }
    return count;
}

/* Each image of few arms that are played again and again has all of them: what is held out would be there still. */
TEST(parts_of_readouts_that_repeat_or_lie_within_a_quarter_of_each_other_are_held_out_together)
{
    enum { SAMPLES = 2 * N, MOST = 40, TIMES = 3 };
    static const int64_t distinct[] = {MOST, 12};
    static const double apart[] = {0, 0.24};
    for (int d = 0; d < 2; d++)
        for (int a = 0; a < 2; a++) {
            const int64_t arms = distinct[d], all = SAMPLES * arms;
            HEAP double *one = radial_points(N, SAMPLES, arms);
            HEAP double *k = malloc((size_t)(2 * all * TIMES) * sizeof *k);
            for (int64_t i = 0; i < 2 * all * TIMES; i++)
                k[i] = one[i % (2 * all)] + (i % 2 == 0 && i >= 2 * all ? apart[a] : 0);
            HEAP double *held = held_of(k, SAMPLES, TIMES * arms);
            int64_t count = 0;
            for (int64_t i = 0; i < all; i++) count += held[i] > 0;
            assert_true(count > all / 20 && count < all / 5);
            assert_true(partly_held(held, SAMPLES, arms) > arms / 2);
            for (int t = 1; t < TIMES; t++) assert_memory_equal(held + t * all, held, (size_t)all * sizeof *held);
        }
}

/* Spokes through the centre with a sample more on one side, and such without: the samples that lie on others are held
 * out with them. */
TEST(readouts_that_repeat_others_in_the_opposite_direction_are_held_out_with_them)
{
    enum { SAMPLES = 2 * N, ARMS = 40 };
    static const double centre[] = {N, N - .5, N - 1};
    for (int c = 0; c < 3; c++) {
        HEAP double *k = malloc((size_t)(4 * SAMPLES * ARMS) * sizeof *k);
        for (int64_t i = 0; i < 2 * SAMPLES * ARMS; i++) {
            const double angle = 2.4 * (double)(i / SAMPLES % ARMS);
            const double way = i < SAMPLES * ARMS ? 1 : -1;
            k[2 * i] = way * ((double)(i % SAMPLES) - centre[c]) / 2 * cos(angle);
            k[2 * i + 1] = way * ((double)(i % SAMPLES) - centre[c]) / 2 * sin(angle);
        }
        HEAP double *held = held_of(k, SAMPLES, 2 * ARMS);
        int64_t alone = 0, count = 0;
        for (int64_t i = 0; i < SAMPLES * ARMS; i++) {
            const int64_t opposite = (int64_t)(2 * centre[c]) - i % SAMPLES;
            count += held[i] > 0;
            if (opposite < 0 || opposite >= SAMPLES) continue;
            alone += held[i] != held[SAMPLES * ARMS + i / SAMPLES * SAMPLES + opposite];
        }
        assert_true(count > SAMPLES * ARMS / 20 && count < SAMPLES * ARMS / 5);
        assert_true(partly_held(held, SAMPLES, 2 * ARMS) > ARMS);
        assert_int_equal(alone, 0);
    }
}

TEST(whole_readouts_are_held_out_where_fewer_than_half_repeat_others)
{
    enum { SAMPLES = 2 * N, ARMS = 40, AGAIN = 30 };
    HEAP double *one = radial_points(N, SAMPLES, ARMS);
    HEAP double *k = malloc((size_t)(2 * SAMPLES * (ARMS + AGAIN)) * sizeof *k);
    for (int64_t i = 0; i < 2 * SAMPLES * (ARMS + AGAIN); i++) k[i] = one[i % (2 * SAMPLES * ARMS)];
    HEAP double *held = held_of(k, SAMPLES, ARMS + AGAIN);
    assert_int_equal(partly_held(held, SAMPLES, ARMS + AGAIN), 0);
    assert_memory_not_equal(held, held + SAMPLES * ARMS, SAMPLES * AGAIN * sizeof *held);
}

/* Beyond that they are apart: there are twice as many parts, of which a tenth is held out. */
TEST(readouts_further_apart_are_held_out_each_by_itself)
{
    enum { SAMPLES = 2 * N, ARMS = 40 };
    HEAP double *one = radial_points(N, SAMPLES, ARMS);
    HEAP double *k = malloc((size_t)(4 * SAMPLES * ARMS) * sizeof *k);
    for (int64_t i = 0; i < 4 * SAMPLES * ARMS; i++)
        k[i] = one[i % (2 * SAMPLES * ARMS)] + (i % 2 == 0 && i >= 2 * SAMPLES * ARMS ? 0.26 : 0);
    check_held(k, SAMPLES, 2 * ARMS, SAMPLES);
    HEAP double *held = held_of(k, SAMPLES, 2 * ARMS);
    assert_memory_not_equal(held, held + SAMPLES * ARMS, SAMPLES * ARMS * sizeof *held);
}
