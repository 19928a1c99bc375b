/* recon/describe: what windows of k-space say of lines on a grid. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

enum { N = 48, LINES = 40 };

/* What is found for lines of a grid of which every second one goes backwards and is `late` samples behind;
 * described: whether the trajectory says that they go backwards. */
static larmor_description found_for_lines(int described, double late, int coils)
{
    HEAP double *is = malloc(sizeof *is * 2 * N * LINES), *said = malloc(sizeof *said * 2 * N * LINES);
    larmor_description found;
    for (int r = 0; r < LINES; r++)
        for (int i = 0; i < N; i++) {
            const int back = r % 2;
            double *k = is + 2 * (i + N * r), *s = said + 2 * (i + N * r);
            s[0] = back && described ? N / 2 - 1 - i : i - N / 2;
            k[0] = back ? N / 2 - 1 - i + late : i - N / 2;
            s[1] = k[1] = r - LINES / 2;
        }
    larmor_array *traj =
        MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, LINES), LARMOR_F64, is, &made));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, coils, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_noise(kspace, 2e-4, 1));
    larmor_array_free(traj);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, LINES), LARMOR_F64, said, &traj));
    assert_ok(larmor_compare_lines(kspace, traj, &found));
    assert_at_most(10, found.reach);
    LMR_FREE(traj);
    return found;
}

TEST(lines_that_are_described_rightly_get_no_warning)
{
    for (int coils = 1; coils <= 4; coils++) assert_int_equal(found_for_lines(1, 0, coils).is_clear, 0);
}

TEST(lines_that_are_described_wrongly_are_named)
{
    for (int coils = 2; coils <= 4; coils++) {
        const larmor_description back = found_for_lines(0, 0, coils), late = found_for_lines(1, 1, coils);
        assert_int_equal(back.is_clear, 1);
        assert_string_equal(back.name, "every second line reversed");
        assert_int_equal(late.is_clear, 1);
        assert_non_null(strstr(late.name, "every second line 1 samples"));
    }
}

/* The energy of echoes far from the centre of lines, or of golden-angle spokes that are described as lines. */
static double far_echo_of(int spokes, double sigma)
{
    HEAP double *is = malloc(sizeof *is * 2 * N * LINES), *said = malloc(sizeof *said * 2 * N * LINES);
    larmor_description found;
    for (int r = 0; r < LINES; r++)
        for (int i = 0; i < N; i++) {
            double *k = is + 2 * (i + N * r), *s = said + 2 * (i + N * r);
            const double angle = 1.94 * r;
            s[0] = k[0] = i - N / 2;
            s[1] = k[1] = r - LINES / 2;
            if (!spokes) continue;
            k[0] = (i - N / 2) * cos(angle);
            k[1] = (i - N / 2) * sin(angle);
        }
    larmor_array *traj =
        MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, LINES), LARMOR_F64, is, &made));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, 3, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_noise(kspace, sigma, 1));
    larmor_array_free(traj);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, LINES), LARMOR_F64, said, &traj));
    assert_ok(larmor_compare_lines(kspace, traj, &found));
    LMR_FREE(traj);
    return found.far_echo;
}

TEST(spokes_that_are_described_as_lines_all_have_the_echo)
{
    for (double sigma = 2e-4; sigma < 1e-2; sigma *= 10) {
        assert_at_most(fabs(far_echo_of(1, sigma) - 1), 0.3);
        assert_at_most(far_echo_of(0, sigma), 0.02);
    }
}

/* What is found where the lines from +3/FOV on, or every so many of them, are of an object that is shifted, and have
 * gain times the signal and another phase. The object is `size` times the phantom. */
static larmor_description found_for_step(double shift, double gain, double size, double noise, int coils,
                                         double phase, int every)
{
    HEAP double *k = malloc(sizeof *k * 2 * N * LINES), *is = malloc(sizeof *k * 2 * N * LINES);
    larmor_description found;
    for (int i = 0; i < N * LINES; i++) {
        k[2 * i] = i % N - N / 2;
        k[2 * i + 1] = i / N - LINES / 2;
        is[2 * i] = size * k[2 * i];
        is[2 * i + 1] = size * k[2 * i + 1];
    }
    larmor_array *traj =
        MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, LINES), LARMOR_F64, is, &made));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, coils, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_noise(kspace, noise, 1));
    larmor_array_free(traj);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, LINES), LARMOR_F64, k, &traj));
    OWN_MEMORY(float, *x, larmor_array_download(kspace, LARMOR_C64, &x));
    for (int i = 0; i < N * LINES * coils; i++) {
        const double *p = k + 2 * (i % (N * LINES)), turn = phase - 2 * M_PI * shift * (p[0] + p[1]);
        const double re = gain * x[2 * i], im = gain * x[2 * i + 1];
        if (every ? i / N % every : p[1] < 3) continue;
        x[2 * i] = (float)(re * cos(turn) - im * sin(turn));
        x[2 * i + 1] = (float)(re * sin(turn) + im * cos(turn));
    }
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    assert_ok(larmor_compare_lines(kspace, traj, &found));
    LMR_FREE(traj);
    return found;
}

TEST(a_step_between_lines_is_named)
{
    for (int coils = 1; coils <= 4; coils++)
        for (double noise = 2e-4; noise < (coils > 2 ? 3e-3 : 3e-4); noise *= 10) {
            const larmor_description still = found_for_step(0, 1, 1, noise, coils, 0, 0);
            const larmor_description moved = found_for_step(0.07, 1, 1, noise, coils, 0, 0);
            const larmor_description louder = found_for_step(0, 2.5, 1, noise, coils, 0, 0);
            double percent, line;
            assert_int_equal(still.is_clear, 0);
            if (coils == 1) continue; /* too little to compare by */
            assert_int_equal(moved.is_clear, 1);
            assert_int_equal(sscanf(moved.name,
                                    "an object that has moved by %lf %% of the field of view from the line at %lf",
                                    &percent, &line),
                             2);
            assert_at_most(fabs(percent - 7 * sqrt(2)), 2);
            assert_true(line == 3);
            if (noise > 3e-4) continue;
            assert_int_equal(louder.is_clear, 1);
            assert_non_null(strstr(louder.name, "from the line at +3/FOV on"));
        }
}

TEST(another_phase_from_a_line_on_is_no_motion)
{
    for (int i = 0; i < 3; i++) {
        const double phase = i == 1 ? -1.2 : 1.2;
        const larmor_description found = found_for_step(0, 1, 1, i == 2 ? 1e-3 : 2e-4, i == 2 ? 4 : 2, phase, 0);
        double degrees, line;
        assert_int_equal(found.is_clear, 1);
        assert_int_equal(sscanf(found.name, "another phase, by %lf degrees, from the line at %lf", &degrees, &line),
                         2);
        assert_at_most(fabs(degrees - 1.2 * 180 / M_PI), 5);
        assert_true(line == 3);
    }
}

TEST(every_fourth_line_with_less_signal_is_named)
{
    const larmor_description found = found_for_step(0, 0.8, 1, 2e-4, 4, 0, 4);
    assert_int_equal(found.is_clear, 1);
    assert_string_equal(found.name, "0.80 times the signal in every fourth line");
}

TEST(an_object_that_folds_has_no_step)
{
    for (int coils = 1; coils <= 4; coils++)
        for (double size = 1.3; size < 2; size += 0.2)
            assert_int_equal(found_for_step(0, 1, size, 0, coils, 0, 0).is_clear, 0);
}

/* Lines without those from -4/FOV to -1/FOV. */
static larmor_description found_with_gap(int coils, double noise)
{
    HEAP double *k = malloc(sizeof *k * 2 * N * (LINES - 4));
    OWNED(larmor_array) *traj, *kspace;
    larmor_description found;
    for (int i = 0; i < N * (LINES - 4); i++) {
        const int line = i / N - LINES / 2;
        k[2 * i] = i % N - N / 2;
        k[2 * i + 1] = line < -4 ? line : line + 4;
    }
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, LINES - 4), LARMOR_F64, k, &traj));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, coils, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_noise(kspace, noise, 1));
    assert_ok(larmor_compare_lines(kspace, traj, &found));
    return found;
}

TEST(missing_lines_beside_the_centre_are_no_step)
{
    for (int coils = 1; coils <= 4; coils++)
        for (double noise = 1e-6; noise < 1e-2; noise *= 30)
            assert_int_equal(found_with_gap(coils, noise).is_clear, 0);
}

/* What is found of lines that are scanned twice, the second time turned by an angle, of an object that is shifted
 * along x, and with noise of its own. */
static larmor_description found_of_twice(double angle, double gain, double shift, double noise)
{
    enum { COILS = 4, POINTS = 2 * N * LINES };
    HEAP double *k = malloc(sizeof *k * 2 * POINTS);
    OWNED(larmor_phantom) *phantom;
    OWNED(larmor_array) *traj, *kspace;
    HEAP float *x;
    larmor_description found;
    for (int i = 0; i < POINTS; i++) {
        k[2 * i] = i % N - N / 2;
        k[2 * i + 1] = i / N % LINES - LINES / 2;
    }
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, 2 * LINES), LARMOR_F64, k, &traj));
    assert_ok(larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &kspace));
    assert_ok(larmor_array_download(kspace, LARMOR_C64, &x));
    for (int i = 0; i < POINTS * COILS; i++) {
        const double turn = angle - 2 * M_PI * shift * k[2 * (i % POINTS)];
        const double re = gain * x[2 * i], im = gain * x[2 * i + 1];
        if (i % POINTS < POINTS / 2) continue;
        x[2 * i] = (float)(re * cos(turn) - im * sin(turn));
        x[2 * i + 1] = (float)(re * sin(turn) + im * cos(turn));
    }
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    assert_ok(larmor_phantom_noise(kspace, noise, 1));
    assert_ok(larmor_compare_repeats(kspace, traj, &found));
    return found;
}

TEST(repeats_that_contradict_the_first_are_named)
{
    for (double noise = 1e-4; noise < 5e-3; noise *= 30) {
        const larmor_description turned = found_of_twice(2.5, 1, 0, noise), moved = found_of_twice(0, 1, 0.08, noise);
        const larmor_description lost = found_of_twice(0, 0, 0, noise);
        double percent, degrees;
        assert_false(found_of_twice(0, 1, 0, noise).is_clear);
        assert_false(found_of_twice(0.35, 1, 0, noise).is_clear); /* .98 of the signal is left */
        assert_false(found_of_twice(0, 0.9, 0, noise).is_clear);
        assert_true(turned.is_clear);
        assert_int_equal(sscanf(turned.name, "repeat 1 (from 0) turned by %lf degrees", &degrees), 1);
        assert_at_most(fabs(degrees - 2.5 * 180 / M_PI), 2);
        assert_at_most(fabs(turned.misfit - 2 * sin(1.25)), 0.05);
        assert_true(lost.is_clear);
        assert_non_null(strstr(lost.name, "repeat 1 (from 0) at 0.0"));
        assert_true(moved.is_clear);
        assert_int_equal(
            sscanf(moved.name, "repeat 1 (from 0) of an object that has moved by about %lf %%", &percent), 1);
        assert_at_most(fabs(percent - 8), 1);
    }
}

TEST(places_that_do_not_repeat_are_not_compared)
{
    OWNED(larmor_phantom) *phantom;
    OWNED(larmor_array) *traj, *kspace;
    const larmor_traj_opts opts = {.matrix = {N, N}, .readouts = LINES, .samples = N};
    larmor_description found;
    assert_ok(larmor_traj_create(dev, "golden", &opts, &traj));
    assert_ok(larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, 2, LARMOR_C64, &kspace));
    assert_ok(larmor_compare_repeats(kspace, traj, &found));
    assert_true(found.reach == 0);
}
