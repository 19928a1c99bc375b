/* check/coil_change.c: a step in how the coils share the signal. SPDX-License-Identifier: Apache-2.0 */
#include "check/check.h"
#include "tests/support/test.h"

enum { SPOKES = 60, SAMPLES = 64, COILS = 4 };

typedef struct fault {
    double gain; /* of coil 2 from readout `from` on */
    int from;
    double each; /* all coils of readout r are multiplied by (1 + each r) exp(i r) */
} fault;

static larmor_array *golden_spokes(void)
{
    HEAP double *k = malloc(sizeof *k * 2 * SAMPLES * SPOKES);
    for (int r = 0; r < SPOKES; r++)
        for (int i = 0; i < SAMPLES; i++) {
            k[2 * (i + SAMPLES * r)] = (i - SAMPLES / 2) / 2. * cos(1.9416 * r);
            k[2 * (i + SAMPLES * r) + 1] = (i - SAMPLES / 2) / 2. * sin(1.9416 * r);
        }
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, SPOKES), LARMOR_F64, k, &made));
}

/* z times (1 + each r) exp(i r), and with the gain. */
static void spoil(float *z, const fault *f, int r, int c)
{
    const double gain = c == 2 && r >= f->from ? f->gain : 1;
    const double turn = f->each > 0 ? r : 0;
    const double size = (1 + f->each * r) * gain;
    const double re = z[0], im = z[1];
    z[0] = (float)(size * (re * cos(turn) - im * sin(turn)));
    z[1] = (float)(size * (re * sin(turn) + im * cos(turn)));
}

static lmr_coil_change found_with(fault f, double noise, uint64_t seed)
{
    OWNED(larmor_phantom) *phantom = NULL;
    OWNED(larmor_array) *traj = golden_spokes(), *kspace = NULL;
    HEAP float *x = NULL;
    lmr_coil_change found;
    assert_ok(larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_noise(kspace, noise, seed));
    assert_ok(larmor_array_download(kspace, LARMOR_C64, &x));
    for (int c = 0; c < COILS; c++)
        for (int r = 0; r < SPOKES; r++)
            for (int i = 0; i < SAMPLES; i++) spoil(x + 2 * (i + SAMPLES * (r + SPOKES * c)), &f, r, c);
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    assert_ok(lmr_coil_change_find(kspace, traj, &found));
    return found;
}

TEST(coils_of_an_object_that_rests_share_the_signal_alike_at_any_noise_and_contrast)
{
    const double noise[] = {0, 1e-2, 0.1};
    for (int i = 0; i < 3; i++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            assert_true(found_with((fault){.gain = 1}, noise[i], seed).change == 0);
            assert_true(found_with((fault){.gain = 1, .each = 0.05}, noise[i], seed).change == 0);
        }
}

TEST(a_coil_whose_gain_jumps_is_named_with_the_factor_and_the_time)
{
    const double gain[] = {3, 0.5, 1e-3};
    for (int i = 0; i < 3; i++)
        for (int from = 12; from <= 48; from += 18) {
            const lmr_coil_change found = found_with((fault){.gain = gain[i], .from = from, .each = 0.01}, 1e-5, 1);
            assert_int_equal(found.coil, 2);
            assert_at_most(fabs(found.gain / gain[i] - 1), 0.05);
            assert_at_most(fabs(found.after - from / (double)SPOKES), 1e-9);
        }
}

/* Of one coil or several, by golden angles; the trend of readout r is 1 + each r. */
TEST(a_signal_that_drifts_by_a_tenth_or_more_is_found_with_its_factor_and_one_that_rests_is_not)
{
    const double each[] = {-0.002, -0.005, 0.002, 0.01};
    for (uint64_t seed = 1; seed <= 3; seed++)
        for (int i = 0; i < 4; i++) {
            const double end = 1 + each[i] * (SPOKES - 1);
            const lmr_coil_change found = found_with((fault){.gain = 1, .each = each[i]}, 1e-3, seed);
            assert_at_most(fabs(found.drift / end - 1), 0.03);
            assert_true(found.change == 0);
            assert_true(found_with((fault){.gain = 1}, i * 1e-2, seed).drift == 0);
            assert_true(found_with((fault){.gain = 1, .each = each[i] / 4}, 1e-3, seed).drift == 0 || i == 3);
        }
}

TEST(the_line_of_a_drift_says_how_much_is_left)
{
    char line[512];
    lmr_describe_drift(&(lmr_coil_change){.drift = 0.7}, line, sizeof line);
    assert_string_equal(line,
                        "the signal in the centre of k-space falls steadily, to 0.7 of its size from the first "
                        "readout to the last, which one image does not have: contrast that comes or goes, or gain. "
                        "Readouts in the order of their angles or arms suffer most; divide them by it, or make "
                        "frames.");
}

TEST(the_line_names_the_time_the_coil_and_the_option)
{
    char line[512];
    lmr_describe_coil_change(&(lmr_coil_change){.change = 0.31, .after = 0.5, .coil = 2, .gain = 3}, line,
                             sizeof line);
    assert_string_equal(line,
                        "from 50 % of the scan on the coils share the signal in the centre of k-space otherwise, by "
                        "0.31 of it, most coil 2 (from 0), which has 3 times its part beside the others: the object "
                        "moved, or the coil's gain changed. opts.motion_states finds motion of a rigid object.");
}
