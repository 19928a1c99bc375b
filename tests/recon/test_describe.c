/* recon/describe: whether another description of a scan explains its samples better. SPDX-License-Identifier:
 * Apache-2.0 */
#include "tests/support/test.h"

enum { N = 48, SAMPLES = 96, SPOKES = 75, COILS = 3 };

/* Spokes by an angle (degrees) from one to the next, [2, SAMPLES, SPOKES]. */
static double *spokes_of(double angle)
{
    double *k = malloc(sizeof *k * 2 * SAMPLES * SPOKES);
    for (int r = 0; r < SPOKES; r++)
        for (int i = 0; i < SAMPLES; i++) {
            const double at = (i - SAMPLES / 2) * (double)N / SAMPLES, a = angle * r * M_PI / 180;
            k[2 * (i + SAMPLES * r)] = at * cos(a);
            k[2 * (i + SAMPLES * r) + 1] = at * sin(a);
        }
    return k;
}

static larmor_array *upload(const double *k)
{
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, SPOKES), LARMOR_F64, k, &made));
}

/* Samples of the phantom with some noise where k has them. */
static larmor_array *sampled(const double *k, double noise)
{
    larmor_array *traj = upload(k), *kspace;
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_noise(kspace, noise, 1));
    larmor_array_free(traj);
    return kspace;
}

/* What is found for samples at `is`, which the trajectory says are at `said`. Frees both. */
static larmor_description found_for(double *is, double *said, double noise)
{
    larmor_description found;
    OWNED(larmor_array) *kspace = sampled(is, noise), *traj = upload(said);
    assert_ok(larmor_compare_descriptions(kspace, traj, &found));
    if (is != said) free(is);
    free(said);
    return found;
}

TEST(a_right_description_gets_no_warning)
{
    const double angle[] = {111.2461180, 23.6281, 180. / SPOKES}, noise[] = {1e-6, 1e-3, 5e-3};
    for (int a = 0; a < 3; a++)
        for (int i = of_all(a, 0); i <= of_all(a, 2); i++) {
            double *k = spokes_of(angle[a]);
            const larmor_description found = found_for(k, k, noise[i]);
            assert_at_most(3, found.reach);
            assert_int_equal(found.is_clear, 0);
            if (i == 0) assert_at_most(found.misfit, 0.02);
        }
}

/* Even arms that are taken for other ones turn the image, whose longer side then lies along the field's diagonal. */
TEST(even_arms_of_a_spiral_are_in_their_order)
{
    for (int arms = 8; arms <= 24; arms += of_all(16, 8)) {
        const larmor_traj_opts opts = {.matrix = {128, 128}, .readouts = arms};
        larmor_description found;
        OWN(larmor_array, *traj, larmor_traj_create(dev, "spiral", &opts, &traj));
        OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
        OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, 8, LARMOR_C64, &kspace));
        assert_ok(larmor_phantom_noise(kspace, 3e-5, 1));
        assert_ok(larmor_compare_descriptions(kspace, traj, &found));
        assert_true(found.reach > 0);
        assert_false(found.is_clear);
    }
}

/* Frames are made of such scans; the trajectory is right. */
TEST(a_contrast_that_falls_is_no_shift_of_readouts)
{
    static const char *const phantom_of[] = {"texture", "shepp-logan"};
    const larmor_traj_opts opts = {.matrix = {18, 18, 18}, .readouts = 600, .samples = 36};
    for (int p = of_all(1, 0); p < 2; p++) {
        larmor_description found;
        OWN(larmor_array, *traj, larmor_traj_create(dev, "koosh", &opts, &traj));
        OWN(larmor_phantom, *phantom, larmor_phantom_create(phantom_of[p], 3, &phantom));
        OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &kspace));
        OWN_MEMORY(float, *x, larmor_array_download(kspace, LARMOR_C64, &x));
        for (int64_t i = 0; i < 2 * 36 * 600 * COILS; i++) x[i] *= i / 2 / 36 % 600 < 300 ? 1.f : 0.5f;
        assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
        assert_ok(larmor_phantom_noise(kspace, 2e-5, 1));
        assert_ok(larmor_compare_descriptions(kspace, traj, &found));
        assert_false(found.is_clear && strstr(found.name, "samples later"));
    }
}

/* Samples at k s are those of an object s times as large. */
TEST(an_object_beyond_the_field_of_view_is_no_wrong_description)
{
    const double angle[] = {111.2461180, 180. / SPOKES}, size[] = {1.3, 1.5};
    for (int a = 0; a < 2; a++)
        for (int i = of_all(a, 0); i <= of_all(a, 1); i++) {
            double *k = spokes_of(angle[a]);
            for (int64_t j = 0; j < 2 * SAMPLES * SPOKES; j++) k[j] *= size[i];
            const larmor_description found = found_for(k, spokes_of(angle[a]), 1e-5);
            assert_int_equal(found.is_clear, 0);
        }
}

/* Of the phantom, and of two small ones beyond the field of view along x and along y. */
static larmor_array *sampled_with_arms(const double *k)
{
    const double size = 0.12, body = 0.8, away = 0.62; /* in fields of view */
    const double amplitude = 2 * pow(size / body, 2);
    HEAP double *smaller = spokes_of(0), *larger = spokes_of(0);
    for (int64_t j = 0; j < 2 * SAMPLES * SPOKES; j++) {
        smaller[j] = size * k[j];
        larger[j] = body * k[j];
    }
    larmor_array *kspace = sampled(larger, 1e-5);
    OWNED(larmor_array) *arm = sampled(smaller, 0);
    HEAP float *x = NULL, *y = NULL;
    assert_ok(larmor_array_download(kspace, LARMOR_C64, &x));
    assert_ok(larmor_array_download(arm, LARMOR_C64, &y));
    for (int64_t j = 0; j < (int64_t)SAMPLES * SPOKES * COILS; j++) {
        const double *at = k + 2 * (j % (SAMPLES * SPOKES)), turn = 2 * M_PI * away;
        const double re = cos(turn * at[0]) + cos(turn * at[1]), im = -sin(turn * at[0]) - sin(turn * at[1]);
        x[2 * j] += (float)(amplitude * (re * y[2 * j] - im * y[2 * j + 1]));
        x[2 * j + 1] += (float)(amplitude * (re * y[2 * j + 1] + im * y[2 * j]));
    }
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    return kspace;
}

/* Golden spokes in the opposite order are the same ones mirrored, and the arms then lie along the diagonals. */
TEST(a_trajectory_that_is_mirrored_as_a_whole_is_no_other_description)
{
    HEAP double *k = spokes_of(111.2461180);
    OWNED(larmor_array) *kspace = sampled_with_arms(k), *traj = upload(k);
    larmor_description found;
    assert_ok(larmor_compare_descriptions(kspace, traj, &found));
    assert_true(found.misfit > 0.05);
    assert_false(found.is_clear);
}

static void expect_clear(larmor_description found, const char *name)
{
    assert_int_equal(found.is_clear, 1);
    assert_at_most(found.better, 0.5 * found.misfit);
    assert_non_null(strstr(found.name, name));
}

TEST(every_second_readout_mirrored_is_named)
{
    double *said = spokes_of(111.2461180);
    for (int r = 0; r < SPOKES; r += 2)
        for (int i = 0; i < SAMPLES; i++) said[2 * (i + SAMPLES * r) + 1] *= -1;
    expect_clear(found_for(spokes_of(111.2461180), said, 1e-4), "every second readout mirrored along y");
}

/* Of an even number of samples from -k to k the one opposite of i is n - i. */
TEST(every_second_spoke_from_its_other_end_is_named)
{
    const double noise[] = {1e-6, 5e-4};
    for (int i = of_all(1, 0); i < 2; i++) {
        double *is = spokes_of(180. / SPOKES);
        for (int r = 1; r < SPOKES; r += 2)
            for (int j = 0; j < 2 * SAMPLES; j++) is[j + 2 * SAMPLES * r] *= -1;
        expect_clear(found_for(is, spokes_of(180. / SPOKES), noise[i]), "every second readout reversed");
    }
}

TEST(samples_that_are_later_than_described_are_named)
{
    double *said = spokes_of(111.2461180), *is = spokes_of(111.2461180);
    for (int r = 0; r < SPOKES; r++)
        for (int i = 0; i < SAMPLES; i++)
            for (int d = 0; d < 2; d++) {
                double *k = is + 2 * SAMPLES * r + d;
                k[2 * i] -= 3 * (said[2 * SAMPLES * r + d + 2] - said[2 * SAMPLES * r + d]);
            }
    expect_clear(found_for(is, said, 1e-4), "all readouts 3 samples later");
}

TEST(other_angles_are_named)
{
    expect_clear(found_for(spokes_of(111.2461180), spokes_of(23.6281), 1e-4), "111.25 degrees");
    expect_clear(found_for(spokes_of(111.2461180), spokes_of(111.9), 1e-4), "degrees");
    expect_clear(found_for(spokes_of(180. / SPOKES), spokes_of(360. / SPOKES), 1e-4), "degrees");
}

/* What is found for an object that is shifted along x and y by `shift` fields of view at a time from 0 to 1. */
static larmor_description found_moving(double (*shift)(double time), double noise)
{
    HEAP double *k = spokes_of(111.2461180);
    OWNED(larmor_array) *kspace = sampled(k, noise), *traj = upload(k);
    larmor_description found;
    OWN_MEMORY(float, *x, larmor_array_download(kspace, LARMOR_C64, &x));
    for (int c = 0; c < COILS; c++)
        for (int r = 0; r < SPOKES; r++)
            for (int i = 0; i < SAMPLES; i++) {
                const double *p = k + 2 * (i + SAMPLES * r);
                float *at = x + 2 * (i + SAMPLES * (r + SPOKES * c));
                const double turn = -2 * M_PI * shift((double)r / SPOKES) * (p[0] + p[1]), re = at[0], im = at[1];
                at[0] = (float)(re * cos(turn) - im * sin(turn));
                at[1] = (float)(re * sin(turn) + im * cos(turn));
            }
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    assert_ok(larmor_compare_descriptions(kspace, traj, &found));
    return found;
}

static double once(double time)
{
    return time < 0.4 ? 0 : 0.06;
}

static double steadily(double time)
{
    return 0.12 * time;
}

static double to_and_fro(double time)
{
    return 0.07 * pow(sin(M_PI * time * SPOKES / 9.3), 2);
}

TEST(an_object_that_moves_is_named)
{
    const larmor_description moved = found_moving(once, 1e-4);
    expect_clear(moved, "a move by 8.");
    expect_clear(moved, "after 40 % of the scan");
    expect_clear(found_moving(steadily, 1e-4), "drifts by 1");
    expect_clear(found_moving(to_and_fro, 1e-4), "moves to and fro");
}

static double twice(double time)
{
    if (time < 0.33) return 0;
    return time < 0.67 ? 0.02 : -0.02;
}

static double never(double time)
{
    return 0 * time;
}

/* What noise leaves is no part of what the move explains: with 1.6e-3 the misfit falls from 0.29 to 0.20 alone. */
TEST(a_small_move_is_named_at_any_noise_that_it_is_beyond)
{
    const double noise[] = {4e-4, 1.6e-3};
    for (int i = 0; i < 2; i++) {
        const larmor_description found = found_moving(twice, noise[i]);
        assert_true(found.is_clear);
        assert_non_null(strstr(found.name, "an object that moves to and fro, along readouts by 1."));
        assert_false(found_moving(never, noise[i]).is_clear);
    }
}

TEST(an_offset_of_the_frequency_is_named_with_its_value)
{
    const double offset[] = {0.02, -0.01};
    for (int j = 0; j < 2; j++) {
        HEAP double *k = spokes_of(111.2461180);
        OWNED(larmor_array) *kspace = sampled(k, 1e-4), *traj = upload(k);
        HEAP float *x;
        larmor_description found;
        assert_ok(larmor_array_download(kspace, LARMOR_C64, &x));
        for (int i = 0; i < SAMPLES * SPOKES * COILS; i++) {
            const double turn = 2 * M_PI * offset[j] * (i % SAMPLES), re = x[2 * i], im = x[2 * i + 1];
            x[2 * i] = (float)(re * cos(turn) - im * sin(turn));
            x[2 * i + 1] = (float)(re * sin(turn) + im * cos(turn));
        }
        assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
        assert_ok(larmor_compare_descriptions(kspace, traj, &found));
        expect_clear(found, "a frequency offset of ");
        assert_at_most(fabs(found.frequency - offset[j]), 1e-3);
    }
}

/* Spokes in the order of their angles show a turn only where they begin, end and are turned. */
TEST(an_object_that_turns_is_named)
{
    double *said = spokes_of(180. / SPOKES), *is = spokes_of(180. / SPOKES);
    const double angle = -20 * M_PI / 180;
    for (int i = 0; i < 2 * SAMPLES * SPOKES; i++)
        is[i] = said[i] *= 2; /* so far out that little of the signal is there */
    for (int i = SAMPLES * (SPOKES / 2); i < SAMPLES * SPOKES; i++) {
        is[2 * i] = cos(angle) * said[2 * i] - sin(angle) * said[2 * i + 1];
        is[2 * i + 1] = sin(angle) * said[2 * i] + cos(angle) * said[2 * i + 1];
    }
    const larmor_description found = found_for(is, said, 1e-4);
    expect_clear(found, "a move by");
    double shift, turn, begin;
    assert_int_equal(
        sscanf(found.name, "a move by %lf %% of the field of view and %lf degrees after %lf", &shift, &turn, &begin),
        3);
    assert_at_most(fabs(turn - 20), 2);
    assert_at_most(fabs(begin - 50), 5);
    assert_at_most(shift, 2);
}

/* Each readout is of an object somewhere else. */
TEST(an_object_that_never_rests_is_explained_by_no_image)
{
    HEAP double *k = spokes_of(111.2461180);
    OWNED(larmor_array) *kspace = sampled(k, 1e-4), *traj = upload(k);
    larmor_description still, moving;
    uint32_t chance = 7;
    assert_ok(larmor_compare_descriptions(kspace, traj, &still));
    OWN_MEMORY(float, *x, larmor_array_download(kspace, LARMOR_C64, &x));
    for (int r = 0; r < SPOKES; r++) {
        double shift[2];
        for (int d = 0; d < 2; d++) {
            chance = 1664525 * chance + 1013904223;
            shift[d] = 0.4 * (chance / 4294967296. - 0.5);
        }
        for (int c = 0; c < COILS; c++)
            for (int i = 0; i < SAMPLES; i++) {
                const double *p = k + 2 * (i + SAMPLES * r);
                float *at = x + 2 * (i + SAMPLES * (r + SPOKES * c));
                const double turn = -2 * M_PI * (shift[0] * p[0] + shift[1] * p[1]), re = at[0], im = at[1];
                at[0] = (float)(re * cos(turn) - im * sin(turn));
                at[1] = (float)(re * sin(turn) + im * cos(turn));
            }
    }
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    assert_ok(larmor_compare_descriptions(kspace, traj, &moving));
    assert_true(still.unexplained == 0 && !still.is_clear);
    assert_at_most(moving.unexplained, moving.misfit);
    assert_at_most(1 / moving.unexplained, 1 / 0.3);
}

/* Arms that are as far apart as the field of view asks for: hardly two of them pass the same cell of k-space. */
TEST(arms_of_a_spiral_with_swapped_axes_are_named)
{
    enum { ARMS = 12, POINTS = 320 };
    HEAP double *is = malloc(sizeof *is * 2 * POINTS * ARMS), *said = malloc(sizeof *said * 2 * POINTS * ARMS);
    for (int a = 0; a < ARMS; a++)
        for (int i = 0; i < POINTS; i++) {
            double *k = is + 2 * (i + POINTS * a), *s = said + 2 * (i + POINTS * a);
            const double r = N / 2. * sqrt((double)i / POINTS), turn = 2 * M_PI * (r + a) / ARMS;
            k[0] = r * cos(turn);
            k[1] = r * sin(turn);
            s[0] = k[a % 2 == 0];
            s[1] = k[a % 2 != 0];
        }
    for (int wrong = 0; wrong < 2; wrong++) {
        larmor_array *traj;
        larmor_description found;
        const larmor_shape shape = LARMOR_SHAPE(2, POINTS, ARMS);
        assert_ok(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, is, &traj));
        OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
        OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, COILS, LARMOR_C64, &kspace));
        assert_ok(larmor_phantom_noise(kspace, 1e-4, 1));
        larmor_array_free(traj);
        assert_ok(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, wrong ? said : is, &traj));
        assert_ok(larmor_compare_descriptions(kspace, traj, &found));
        assert_at_most(3, found.reach);
        assert_int_equal(found.is_clear, wrong);
        if (wrong) assert_non_null(strstr(found.name, "every second readout with x and y swapped"));
        LMR_FREE(traj);
    }
}

TEST(what_cannot_be_compared_says_so)
{
    larmor_description found;
    double k[2 * SAMPLES * 2] = {0};
    for (int i = 0; i < SAMPLES; i++) k[2 * i] = k[2 * (SAMPLES + i) + 1] = (i - SAMPLES / 2) / 2.;
    OWN(larmor_array, *traj, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, 2), LARMOR_F64, k, &traj));
    OWN(larmor_array, *kspace, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(SAMPLES, 2, COILS), &kspace));
    assert_ok(larmor_fill(kspace, 1));
    assert_ok(larmor_compare_descriptions(kspace, traj, &found));
    assert_true(found.reach == 0 && !found.is_clear);
    OWN(larmor_array, *other, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(SAMPLES, 3, COILS), &other));
    assert_int_equal(larmor_compare_descriptions(other, traj, &found), LARMOR_ERR_SHAPE);
}

/* ---- coils ---- */

enum { MAP_COILS = 4 };

/* What is found where the samples of one coil are conjugated; below 0: of none. */
static larmor_description found_for_coils(int conjugated, double noise)
{
    HEAP double *k = spokes_of(111.2461180);
    OWNED(larmor_array) *traj = upload(k), *kspace, *region;
    larmor_region_report report;
    larmor_description found;
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, MAP_COILS, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_noise(kspace, noise, 1));
    const int64_t points = larmor_array_count(kspace) / MAP_COILS;
    HEAP NEW(float, x, 2 * points * MAP_COILS);
    assert_ok(larmor_array_read(kspace, x, larmor_array_bytes(kspace)));
    for (int64_t i = points * conjugated; i >= 0 && i < points * (conjugated + 1); i++) x[2 * i + 1] *= -1;
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    assert_ok(larmor_calibration_region(kspace, traj, LARMOR_SHAPE(N, N), NULL, &region, &report));
    assert_ok(larmor_compare_coils(region, &found));
    return found;
}

TEST(a_coil_whose_samples_are_conjugated_is_named_and_others_are_not)
{
    for (int i = 0; i < 4; i++) {
        const double noise[] = {0, 1e-4, 5e-4, 2e-2};
        const larmor_description right = found_for_coils(-1, noise[i]);
        assert_false(right.is_clear);
        assert_true(right.reach >= 5);
        if (i > 0) continue; /* too noisy to tell from right ones */
        const larmor_description wrong = found_for_coils(2, noise[i]);
        assert_true(wrong.is_clear && wrong.better < wrong.misfit - 0.5);
        assert_string_equal(wrong.name, "the samples of coil 2 (from 0) conjugated");
    }
}

/* Of the centre of a Cartesian scan, `side` samples along both axes. */
static larmor_description found_in_centre(const char *name, int coils, int side, int conjugated)
{
    larmor_description found;
    HEAP double *k = malloc(sizeof *k * (size_t)(2 * side * side));
    assert_non_null(k);
    for (int i = 0; i < side * side; i++) {
        k[2 * i] = i % side - side / 2;
        k[2 * i + 1] = i / side - side / 2;
    }
    OWN(larmor_array, *traj, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, side, side), LARMOR_F64, k, &traj));
    OWN(larmor_phantom, *phantom, larmor_phantom_create(name, 2, &phantom));
    OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, coils, LARMOR_C64, &kspace));
    HEAP float *x = host_of(kspace);
    const int64_t points = (int64_t)side * side;
    for (int64_t i = points * conjugated; i >= 0 && i < points * (conjugated + 1); i++) x[2 * i + 1] *= -1;
    assert_ok(larmor_array_write(kspace, x, larmor_array_bytes(kspace)));
    assert_ok(larmor_compare_coils(kspace, &found));
    return found;
}

/* The mirrored signal of a coil is nearly that of the coil opposite, which is no reason to conjugate it. */
TEST(coils_of_a_symmetric_object_are_not_taken_for_conjugated_ones)
{
    static const char *const names[] = {"shepp-logan", "texture", "tissues"};
    static const int coils[] = {4, 8, 12}, sides[] = {12, 16, 24};
    for (int p = 0; p < 3; p++)
        for (int c = 0; c < 3; c++)
            for (int s = 0; s < 3; s++) assert_false(found_in_centre(names[p], coils[c], sides[s], -1).is_clear);
    for (int p = 0; p < 2; p++)
        for (int c = 1; c < 3; c++) {
            const larmor_description wrong = found_in_centre(names[p], coils[c], 24, 3);
            assert_true(wrong.is_clear);
            assert_string_equal(wrong.name, "the samples of coil 3 (from 0) conjugated");
        }
}

/* ---- maps ---- */

/* What is found for the true maps after a change. */
static larmor_description found_for_maps(void (*change)(float *maps))
{
    double *k = spokes_of(111.2461180), fov[3];
    OWNED(larmor_array) *traj = upload(k), *kspace, *region, *maps, *changed;
    larmor_region_report report;
    larmor_description found;
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, MAP_COILS, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, MAP_COILS, &maps));
    assert_ok(larmor_calibration_region(kspace, traj, LARMOR_SHAPE(N, N), NULL, &region, &report));
    memcpy(fov, report.fov, sizeof fov);
    OWN_MEMORY(float, *s, larmor_array_download(maps, LARMOR_C64, &s));
    change(s);
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(N, N, MAP_COILS), LARMOR_C64, s, &changed));
    assert_ok(larmor_compare_maps(region, fov, changed, &found));
    free(k);
    return found;
}

static void keep(float *s LMR_UNUSED)
{
}

static void conjugate(float *s)
{
    for (int i = 0; i < N * N * MAP_COILS; i++) s[2 * i + 1] *= -1;
}

static void mirror(float *s)
{
    for (int row = 0; row < N * MAP_COILS; row++)
        for (int i = 1; i < N / 2; i++)
            for (int part = 0; part < 2; part++) {
                float *a = s + 2 * (i + N * row) + part, *b = s + 2 * (N - i + N * row) + part;
                const float kept = *a;
                *a = *b;
                *b = kept;
            }
}

static void reorder(float *s)
{
    for (int i = 0; i < 2 * N * N; i++) {
        const float kept = s[i];
        s[i] = s[i + 2 * N * N];
        s[i + 2 * N * N] = kept;
    }
}

static void turn_one(float *s)
{
    for (int i = 0; i < 2 * N * N; i++) s[i] *= -1;
}

/* Maps of coils that sit elsewhere. */
static void replace(float *s)
{
    for (int c = 0; c < MAP_COILS; c++)
        for (int i = 0; i < N * N; i++) {
            s[2 * (i + N * N * c)] = (float)cos(c * 1.7 * (i % N) / N * M_PI + c);
            s[2 * (i + N * N * c) + 1] = (float)sin(c * (i / N) * 1.1 / N * M_PI);
        }
}

/* The region of so many lines in the centre of a right scan, and its maps. */
static larmor_description found_for_central(int64_t lines)
{
    enum { MOST = 6 };
    float at[2 * N * MOST];
    OWNED(larmor_array) *traj, *kspace, *region, *maps;
    larmor_region_report report;
    larmor_description found;
    for (int64_t i = 0; i < N * lines; i++) {
        at[2 * i] = (float)(i % N - N / 2);
        at[2 * i + 1] = (float)(i / N - lines / 2);
    }
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, lines), LARMOR_F32, at, &traj));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, MAP_COILS, LARMOR_C64, &kspace));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, MAP_COILS, &maps));
    assert_ok(larmor_calibration_region(kspace, traj, LARMOR_SHAPE(N, N), NULL, &region, &report));
    assert_int_equal(larmor_array_shape(region).dim[1], lines);
    assert_ok(larmor_compare_maps(region, report.fov, maps, &found));
    return found;
}

/* As regular undersampling without calibration lines leaves one. */
TEST(right_maps_are_not_judged_by_an_image_of_three_lines)
{
    for (int64_t lines = 1; lines <= 6; lines++) {
        const larmor_description found = found_for_central(lines);
        assert_false(found.is_clear);
        assert_int_equal(found.reach > 0, lines > 3);
    }
}

TEST(true_maps_get_no_warning)
{
    const larmor_description found = found_for_maps(keep);
    assert_int_equal(found.is_clear, 0);
    assert_at_most(found.misfit, 0.05);
}

TEST(maps_that_do_not_fit_are_named)
{
    expect_clear(found_for_maps(conjugate), "their conjugates");
    expect_clear(found_for_maps(mirror), "the maps mirrored along x");
    expect_clear(found_for_maps(reorder), "another order");
    expect_clear(found_for_maps(turn_one), "another factor for each coil");
    expect_clear(found_for_maps(replace), "maps from the data");
}
