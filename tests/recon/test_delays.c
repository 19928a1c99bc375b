/* Gradient delays are found from the samples. SPDX-License-Identifier: Apache-2.0 */
#include "recon/gradients/likelihood.h"
#include "recon/gradients/minimise.h"
#include "tests/support/test.h"

typedef struct scene {
    const char *name; /* of the trajectory */
    int64_t matrix[3], readouts, samples;
    int64_t first; /* sample that readouts begin with; they go in both directions then */
    int coils;
    double snr, size; /* 0: no noise; object's size */
    double delay[6];
} scene;

/* The samples from `first` on; every second readout backwards, as centre-out spokes go round a full turn. */
static larmor_array *begin_later(larmor_array *traj, int64_t first)
{
    const larmor_shape s = larmor_array_shape(traj);
    const int64_t nd = s.dim[0], n = s.dim[1], rest = n - first;
    OWN_MEMORY(double, *k, larmor_array_download(traj, LARMOR_F64, &k));
    HEAP NEW(double, part, nd *rest *s.dim[2]);
    for (int64_t r = 0; r < s.dim[2]; r++)
        for (int64_t i = 0; i < nd * rest; i++)
            part[nd * rest * r + i] = (r % 2 ? -1 : 1) * k[nd * (n * r + first) + i];
    larmor_array *later = MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(nd, rest, s.dim[2]),
                                                                 LARMOR_F64, part, &made));
    larmor_array_free(traj);
    return later;
}

static void simulate(const scene *s, larmor_array **traj, larmor_array **kspace)
{
    const larmor_traj_opts opts = {
        .matrix = {s->matrix[0], s->matrix[1], s->matrix[2]}, .readouts = s->readouts, .samples = s->samples};
    OWNED(larmor_phantom) *plain, *phantom;
    double sigma;
    assert_ok(larmor_traj_create(dev, s->name, &opts, traj));
    if (s->first) *traj = begin_later(*traj, s->first);
    OWN(larmor_array, *late, larmor_traj_delay(*traj, s->delay, NULL, &late));
    const int nd = (int)larmor_array_shape(*traj).dim[0];
    assert_ok(larmor_phantom_create("shepp-logan", nd, &plain));
    assert_ok(larmor_phantom_change(plain, &(larmor_phantom_state){.size = s->size > 0 ? s->size : 1}, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, late, s->coils, LARMOR_C64, kspace));
    if (s->snr > 0) {
        assert_ok(larmor_phantom_noise_level(phantom, dev, larmor_shape_of(nd, s->matrix), s->coils, s->snr, &sigma));
        assert_ok(larmor_phantom_noise(*kspace, sigma, 7));
    }
}

static larmor_delays find(const scene *s)
{
    OWNED(larmor_array) *traj, *kspace;
    larmor_delays found;
    simulate(s, &traj, &kspace);
    assert_ok(larmor_delays_estimate(kspace, traj, NULL, &found));
    return found;
}

static void expect_found(const scene *s, double within)
{
    const larmor_delays found = find(s);
    assert_int_equal(found.significant, 1);
    for (int e = 0; e < 6; e++) assert_at_most(fabs(found.delay[e] - s->delay[e]), within);
}

static const scene flat[] = {
    {"golden", {48, 48, 1}, 60, 96, 0, 8, 0, 0, {1.3, -0.7, 0, 0.4}},
    {"radial", {48, 48, 1}, 32, 96, 0, 8, 0, 0, {-2, 2, 0, -0.5}},
    {"golden", {48, 48, 1}, 9, 96, 0, 8, 0, 0, {2, 1.5, 0, -0.5}},   /* few spokes */
    {"golden", {48, 48, 1}, 40, 96, 40, 8, 0, 0, {-1, 0.5, 0, 0.3}}, /* asymmetric */
    {"golden", {48, 48, 1}, 40, 144, 0, 1, 0, 0, {1, -2, 0, 0.2}},   /* one coil */
    {"golden", {48, 48, 1}, 40, 96, 0, 8, 0, 1.6, {1, -2, 0, 0.2}},  /* an object beyond the field of view */
};
enum { FLAT = sizeof flat / sizeof *flat };

TEST(delays_in_a_plane_are_found_to_a_hundredth_of_a_sample)
{
    for (int i = 0; i < FLAT; i++) expect_found(&flat[i], 0.01);
}

TEST(delays_in_a_plane_are_found_in_noise)
{
    for (int i = 0; i < FLAT; i++) {
        scene noisy = flat[i];
        noisy.snr = 20;
        expect_found(&noisy, 0.05);
    }
}

/* Spokes that pass the centre far from where they should: what is near it is found by the echoes. */
TEST(delays_of_many_samples_are_found_or_not_claimed)
{
    static const double snr[] = {0, 50, 20};
    const scene scenes[] = {{"golden", {48, 48, 1}, 55, 96, 0, 8, 0, 0, {6, 6}},
                            {"radial", {48, 48, 1}, 32, 48, 0, 4, 0, 0, {-5, 3, 0, 1}},
                            {"golden", {48, 48, 1}, 30, 96, 0, 1, 0, 1.3, {4, -4, 0, 1}},
                            {"golden", {32, 32, 1}, 16, 32, 0, 8, 0, 0, {-8, 7, 0, 0}}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            scene s = scenes[i];
            s.snr = snr[j];
            const larmor_delays found = find(&s);
            if (i < 3) assert_int_equal(found.significant, 1);
            for (int e = 0; e < 6 && found.significant; e++) assert_at_most(fabs(found.delay[e] - s.delay[e]), 0.05);
        }
}

/* Late ones stay in the centre until their gradient begins. Early ones leave a hole there: nothing is claimed
 * where it is wide. */
TEST(delays_of_spokes_from_the_centre_are_found_or_not_claimed)
{
    const struct {
        double x, y, xy;
        int claimed;
    } delay[] = {{0.5, 0.3, 0.1, 1},   {-0.3, 0.2, 0, 1}, {2, 1.5, 0, 1},
                 {-0.4, -0.3, 0.1, 1}, {-2, -2, 0, 0},    {0, 0, 0, 0}};
    for (int i = 0; i < 6; i++) {
        const int coils = i % 2 ? 8 : 4;
        const scene s = {"golden", {48, 48, 1}, 60, 96, 48, coils, 20, 0, {delay[i].x, delay[i].y, 0, delay[i].xy}};
        const larmor_delays found = find(&s);
        assert_int_equal(found.significant, delay[i].claimed);
        for (int e = 0; e < 6 && found.significant; e++) assert_at_most(fabs(found.delay[e] - s.delay[e]), 0.05);
    }
}

TEST(late_spokes_from_the_centre_do_not_move_before_they_start)
{
    enum { N = 16 };
    static const double late[6] = {1.5, 0.5};
    double k[2 * N], *moved;
    for (int i = 0; i < N; i++) {
        k[2 * i] = i / 2.;
        k[2 * i + 1] = -k[2 * i];
    }
    OWN(larmor_array, *traj, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, 1), LARMOR_F64, k, &traj));
    OWN(larmor_array, *delayed, larmor_traj_delay(traj, late, NULL, &delayed));
    assert_ok(larmor_array_download(delayed, LARMOR_F64, &moved));
    for (int i = 0; i < N; i++) {
        assert_at_most(fabs(moved[2 * i] - fmax(0, i - 1.5) / 2), 1e-9);
        assert_at_most(fabs(moved[2 * i + 1] + fmax(0, i - 0.5) / 2), 1e-9);
    }
    free(moved);
}

TEST(delays_in_space_are_found)
{
    scene s = {"koosh", {32, 32, 32}, 400, 64, 0, 8, 0, 0, {1, -1.5, 0.5, -0.5, 0.2, 0.3}};
    expect_found(&s, 0.01);
    s.snr = 20;
    expect_found(&s, 0.05);
}

/* Stars do not move along z, so that its delay does not show and is not claimed. */
TEST(delays_of_a_stack_of_stars_are_found)
{
    const scene s = {"stars", {32, 32, 8}, 30, 64, 0, 8, 20, 0, {1, -1.5, 0, -0.5, 0.2, 0.3}};
    expect_found(&s, 0.05);
    assert_true(find(&s).deviation[2] > 1);
}

TEST(no_delays_are_claimed_where_there_are_none)
{
    static const double snr[] = {0, 5};
    for (int i = 0; i < FLAT; i++)
        for (int j = 0; j < 2; j++) {
            scene s = flat[i];
            memset(s.delay, 0, sizeof s.delay);
            s.snr = snr[j];
            const larmor_delays found = find(&s);
            assert_int_equal(found.significant, 0);
        }
}

/* The signal of a polarisation that is used up, and spokes with phases of their own: these are no delays. */
TEST(spokes_that_contradict_each_other_have_no_delays)
{
    const scene scenes[] = {{"koosh", {32, 32, 32}, 300, 64, 32, 1, 20, 0, {0}},
                            {"golden", {48, 48, 1}, 40, 96, 48, 1, 20, 0, {0}},
                            {"golden", {48, 48, 1}, 40, 96, 0, 4, 20, 0, {0}}};
    for (int i = 0; i < 6; i++) {
        const scene *s = &scenes[i / 2];
        OWNED(larmor_array) *traj, *kspace, *changed;
        larmor_delays found;
        simulate(s, &traj, &kspace);
        const larmor_shape shape = larmor_array_shape(kspace);
        const int64_t n = shape.dim[0], readouts = shape.dim[1];
        OWN_MEMORY(double, *y, larmor_array_download(kspace, LARMOR_C128, &y));
        for (int64_t j = 0; j < larmor_array_count(kspace); j++) {
            const double r = (double)(j / n % readouts);
            const double phase = i % 2 ? r * r : 0;
            const double scale = exp(-2 * r / (double)readouts), re = y[2 * j], im = y[2 * j + 1];
            y[2 * j] = scale * (re * cos(phase) - im * sin(phase));
            y[2 * j + 1] = scale * (re * sin(phase) + im * cos(phase));
        }
        assert_ok(larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C128, y, &changed));
        assert_ok(larmor_delays_estimate(changed, traj, NULL, &found));
        assert_int_equal(found.significant, 0);
    }
}

/* Samples [n, readouts, coils] become `from` times as large in the first readout and once in the last. */
static larmor_array *drifting(const larmor_array *kspace, double from)
{
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t n = shape.dim[0], readouts = shape.dim[1];
    OWN_MEMORY(double, *y, larmor_array_download(kspace, LARMOR_C128, &y));
    for (int64_t j = 0; j < 2 * larmor_array_count(kspace); j++)
        y[j] *= from + (1 - from) * (double)(j / 2 / n % readouts) / (double)(readouts - 1);
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C128, y, &made));
}

TEST(delays_of_spokes_in_order_are_those_of_the_gradients_where_the_signal_drifts)
{
    static const double from[] = {0.3, 2};
    static const scene scenes[] = {{"radial", {48, 48, 1}, 75, 96, 0, 6, 50, 0, {0}},
                                   {"radial", {48, 48, 1}, 40, 96, 0, 1, 50, 0, {0}},
                                   {"radial", {48, 48, 1}, 75, 96, 0, 6, 50, 0, {1, 0.4}},
                                   {"radial", {48, 48, 1}, 75, 96, 0, 6, 50, 0, {-0.5, -0.5}}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++) {
            const scene *s = &scenes[i];
            OWNED(larmor_array) *traj, *kspace, *changed;
            larmor_delays found;
            simulate(s, &traj, &kspace);
            changed = drifting(kspace, from[j]);
            assert_ok(larmor_delays_estimate(changed, traj, NULL, &found));
            assert_int_equal(found.significant, s->delay[0] != 0);
            for (int e = 0; e < 6 && found.significant; e++) assert_at_most(fabs(found.delay[e] - s->delay[e]), 0.01);
        }
}

TEST(what_cannot_tell_of_delays_is_refused)
{
    larmor_array *traj, *kspace;
    larmor_delays found;
    scene s = {"spiral", {32, 32, 1}, 1, 2000, 0, 2, 0, 0, {0}};
    simulate(&s, &traj, &kspace);
    assert_refused(larmor_delays_estimate(kspace, traj, NULL, &found), LARMOR_ERR_UNSUPPORTED,
                   "delays: 0 readouts go straight through the centre of k-space at different angles");
    assert_refused(larmor_delays_estimate(traj, traj, NULL, &found), LARMOR_ERR_SHAPE, "delays: k-space is f64");
    assert_refused(larmor_delays_estimate(kspace, kspace, NULL, &found), LARMOR_ERR_SHAPE,
                   "delays: trajectory is c64");
    LMR_FREE(kspace, traj);
    s = (scene){"cartesian", {32, 32, 1}, 0, 64, 0, 2, 0, 0, {0}};
    simulate(&s, &traj, &kspace);
    assert_refused(larmor_delays_estimate(kspace, traj, NULL, &found), LARMOR_ERR_UNSUPPORTED,
                   "different angles none");
    LMR_FREE(kspace, traj);
}

/* ---- spirals ---- */

TEST(delays_of_spirals_are_found_from_their_arms_near_the_centre)
{
    static const double delay[][2] = {{1, 1}, {-0.6, -0.4}, {0.5, 1.5}, {2.4, 2}};
    static const double snr[] = {0, 50, 5}, within[] = {0.01, 0.03, 0.1};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++) {
            const scene s = {"spiral", {48, 48, 1}, 12, 300, 0, i % 2 ? 1 : 8, snr[j], 0, {delay[i][0], delay[i][1]}};
            const larmor_delays found = find(&s);
            assert_int_equal(found.significant, 1);
            for (int e = 0; e < 6; e++) assert_at_most(fabs(found.delay[e] - s.delay[e]), within[j]);
        }
}

/* Arms that wind about z on cones, and a stack of spirals whose arms do not move along z: k of a readout, whose
 * gradient rises in the first tenth, at time t of 1. */
static void arm_in_space(int is_stack, int64_t arm, double t, double k[3])
{
    enum { N = 24, ARMS = 12 };
    const double r = N / 2. * (t < 0.1 ? 5 * t * t : t - 0.05) / 0.95;
    const double z = is_stack ? 0 : 1 - 2 * ((double)arm + 0.5) / 400;
    const double angle = is_stack ? 2 * M_PI * (double)(arm % ARMS) / ARMS : 2.39996 * (double)arm;
    const double turn = angle + (is_stack ? 6 : 2.5) * r / (N / 2.);
    const double flat_part = sqrt(1 - z * z);
    k[0] = flat_part * r * cos(turn);
    k[1] = flat_part * r * sin(turn);
    k[2] = is_stack ? (double)(arm / ARMS - 4) : z * r;
}

static larmor_delays find_in_space(int is_stack, int coils, double snr, const double delay[6])
{
    enum { SAMPLES = 60 };
    const int64_t arms = is_stack ? 96 : 400;
    double *k = malloc((size_t)(3 * SAMPLES * arms) * sizeof *k), sigma;
    OWNED(larmor_array) *traj, *late, *kspace;
    larmor_delays found;
    assert_non_null(k);
    for (int64_t j = 0; j < SAMPLES * arms; j++)
        arm_in_space(is_stack, j / SAMPLES, (double)(j % SAMPLES) / SAMPLES, k + 3 * j);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, SAMPLES, arms), LARMOR_F64, k, &traj));
    assert_ok(larmor_traj_delay(traj, delay, NULL, &late));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 3, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, late, coils, LARMOR_C64, &kspace));
    if (snr > 0) {
        assert_ok(larmor_phantom_noise_level(phantom, dev, LARMOR_SHAPE(24, 24, 24), coils, snr, &sigma));
        assert_ok(larmor_phantom_noise(kspace, sigma, 7));
    }
    assert_ok(larmor_delays_estimate(kspace, traj, NULL, &found));
    free(k);
    return found;
}

TEST(delays_of_arms_in_space_are_found_and_none_claimed_where_there_are_none)
{
    static const double late[6] = {1, 0.7, 0.4}, late_stack[6] = {1, 0.7}, none[6] = {0};
    for (int is_stack = 0; is_stack < 2; is_stack++)
        for (int snr = 0; snr <= 30; snr += 30) {
            const double *delay = is_stack ? late_stack : late;
            larmor_delays found = find_in_space(is_stack, snr ? 4 : 1, snr, delay);
            assert_int_equal(found.significant, 1);
            for (int e = 0; e < 6; e++) assert_at_most(fabs(found.delay[e] - delay[e]), 0.05);
            assert_true(!is_stack || found.deviation[2] > 1);
            found = find_in_space(is_stack, snr ? 4 : 1, snr, none);
            assert_int_equal(found.significant, 0);
        }
}

/* k-space of a head with a part of another frequency, in cycles per sample. */
static larmor_array *off_resonant(larmor_array *traj, int coils, double snr, double cycles)
{
    const double size[] = {1, 0.6};
    larmor_array *part[2], *both;
    double *y[2], sigma;
    larmor_phantom *phantom;
    OWN(larmor_phantom, *plain, larmor_phantom_create("shepp-logan", 2, &plain));
    for (int p = 0; p < 2; p++) {
        assert_ok(larmor_phantom_change(plain, &(larmor_phantom_state){.size = size[p]}, &phantom));
        assert_ok(larmor_phantom_kspace(phantom, traj, coils, LARMOR_C64, &part[p]));
        assert_ok(larmor_array_download(part[p], LARMOR_C128, &y[p]));
        larmor_phantom_free(phantom);
    }
    const larmor_shape shape = larmor_array_shape(part[0]);
    for (int64_t j = 0; j < larmor_array_count(part[0]); j++) {
        const double phase = 2 * M_PI * cycles * (double)(j % shape.dim[0]);
        const double re = y[1][2 * j], im = y[1][2 * j + 1];
        y[0][2 * j] += 0.7 * (re * cos(phase) - im * sin(phase));
        y[0][2 * j + 1] += 0.7 * (re * sin(phase) + im * cos(phase));
    }
    assert_ok(larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C128, y[0], &both));
    assert_ok(larmor_phantom_noise_level(plain, dev, LARMOR_SHAPE(48, 48), coils, snr > 0 ? snr : 1, &sigma));
    if (snr > 0) assert_ok(larmor_phantom_noise(both, sigma, 7));
    for (int p = 0; p < 2; p++) LMR_FREE(y[p], part[p]);
    return both;
}

/* Arms as far apart as Nyquist asks for and twice as far, denser in the centre and not, on and off resonance. */
TEST(no_delays_of_spirals_are_claimed_where_there_are_none)
{
    static const double density[] = {1, 1.5, 2.5};
    static const double snr[] = {0, 30, 8};
    for (int i = 0; i < 12; i++) {
        const int arms = i < 6 ? 24 : 8;
        const int coils = i % 4 ? 8 : 1;
        const larmor_traj_opts opts = {.matrix = {48, 48, 1},
                                       .readouts = i % 2 ? arms : arms / 2,
                                       .density = density[i / 2 % 3],
                                       .samples = 3000 / arms};
        larmor_delays found;
        OWN(larmor_array, *traj, larmor_traj_create(dev, "spiral", &opts, &traj));
        OWNED(larmor_array) *kspace = off_resonant(traj, coils, snr[i % 3], i % 2 ? 6e-4 : 0);
        assert_ok(larmor_delays_estimate(kspace, traj, NULL, &found));
        assert_int_equal(found.significant, 0);
    }
}

/* ---- from rest in the centre ---- */

TEST(readouts_at_rest_in_the_centre_do_not_move_before_they_start)
{
    enum { N = 24 };
    static const double late[6] = {1.5, 0.5};
    double k[2 * N], *moved;
    for (int i = 0; i < N; i++) { /* a ramp of 4 samples to x and against y, then a plateau */
        k[2 * i] = i < 4 ? i * i / 8. : i - 2;
        k[2 * i + 1] = -k[2 * i];
    }
    OWN(larmor_array, *traj, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, N, 1), LARMOR_F64, k, &traj));
    OWN(larmor_array, *delayed, larmor_traj_delay(traj, late, NULL, &delayed));
    assert_ok(larmor_array_download(delayed, LARMOR_F64, &moved));
    assert_true(moved[0] == 0 && moved[2] == 0 && moved[1] == 0);
    for (int i = 0; i < N; i++) assert_true(moved[2 * i] >= 0 && moved[2 * i + 1] <= 0);
    assert_at_most(fabs(moved[2 * 10] - (k[2 * 10] - 1.5)), 1e-9);
    free(moved);
}

/* ---- lines in both directions ---- */

typedef struct epi {
    int64_t matrix, samples; /* of a line; more than the matrix: oversampled, or on ramps */
    int coils, ramped, axis; /* axis: of the lines */
    double snr, late;        /* samples */
} epi;

/* Every second line backwards; a line's samples even, or as a trapezoid with ramps of a fifth of its duration has
 * them. */
static larmor_array *zigzag(const epi *s)
{
    HEAP NEW(double, k, 2 * s->samples * s->matrix);
    for (int64_t r = 0; r < s->matrix; r++)
        for (int64_t i = 0; i < s->samples; i++) {
            const double t = ((double)i + (s->ramped ? 0.5 : 0)) / (double)s->samples;
            const double f = 0.2;
            double part = t;
            if (s->ramped && t < f) part = t * t / (2 * f) / (1 - f);
            if (s->ramped && t >= f) part = (t - f / 2) / (1 - f);
            if (s->ramped && t > 1 - f) part = 1 - (1 - t) * (1 - t) / (2 * f) / (1 - f);
            const double along = (part - 0.5) * (double)s->matrix;
            k[2 * (i + s->samples * r) + s->axis] = r % 2 ? -along : along;
            k[2 * (i + s->samples * r) + !s->axis] = (double)(r - s->matrix / 2);
        }
    return MADE(larmor_array,
                larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(2, s->samples, s->matrix), LARMOR_F64, k, &made));
}

static larmor_delays find_lines(const epi *s)
{
    const double delay[6] = {s->late, s->late};
    OWNED(larmor_array) *traj = zigzag(s), *late, *kspace;
    larmor_delays found;
    double sigma;
    assert_ok(larmor_traj_delay(traj, delay, NULL, &late));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, late, s->coils, LARMOR_C64, &kspace));
    if (s->snr > 0) {
        assert_ok(
            larmor_phantom_noise_level(phantom, dev, LARMOR_SHAPE(s->matrix, s->matrix), s->coils, s->snr, &sigma));
        assert_ok(larmor_phantom_noise(kspace, sigma, 7));
    }
    assert_ok(larmor_delays_estimate(kspace, traj, NULL, &found));
    return found;
}

/* Along the lines alone: nothing else moves parallel lines against each other. */
TEST(the_delay_of_lines_in_both_directions_is_found_along_them)
{
    static const epi scans[] = {{48, 48, 8, 0, 0, 0, 0.4},   {48, 96, 8, 0, 0, 20, -0.8}, {48, 80, 8, 1, 0, 20, 0.6},
                                {48, 48, 8, 0, 1, 10, -0.3}, {48, 48, 2, 0, 0, 20, 1.7},  {48, 96, 1, 0, 0, 50, 0.5}};
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) {
        const larmor_delays found = find_lines(&scans[i]);
        assert_int_equal(found.significant, 1);
        for (int e = 0; e < 6; e++)
            assert_at_most(fabs(found.delay[e] - (e == scans[i].axis ? scans[i].late : 0)), 0.03);
        assert_true(found.after < found.before);
        assert_true(found.deviation[3] > 1);
    }
}

TEST(no_delay_of_lines_is_claimed_where_there_is_none)
{
    static const double snr[] = {0, 20, 5};
    for (int coils = 1; coils <= 8; coils *= 8)
        for (int j = 0; j < 6; j++) {
            const epi s = {48, j % 2 ? 80 : 48, coils, j % 2, 0, snr[j / 2], 0};
            assert_int_equal(find_lines(&s).significant, 0);
        }
}

/* ---- the parts ---- */

static double likelihood(double *place, const double *value, int64_t m, double size, double noise, double *by_place,
                         double *by)
{
    const lmr_sampled s = {.nd = 2, .m = m, .columns = 4, .place = place, .value = value};
    lmr_likelihood out = {.by_place = by_place};
    HEAP NEW(double, work, (size_t)lmr_likelihood_work(m, 4));
    assert_ok(lmr_likelihood_of(&s, size, noise, work, &out));
    if (by) {
        by[0] = out.by_size;
        by[1] = out.by_noise;
    }
    return out.value;
}

TEST(the_likelihood_changes_by_its_derivatives)
{
    enum { M = 13 };
    double place[2 * M], value[4 * M], by_place[2 * M], by[2];
    for (int i = 0; i < 2 * M; i++) place[i] = 1.3 * sin(1 + i * i);
    for (int i = 0; i < 4 * M; i++) value[i] = cos(3 + i * i);
    const double size = 0.3, noise = 0.05, h = 1e-5;
    likelihood(place, value, M, size, noise, by_place, by);
    for (int i = 0; i < 2 * M; i++) {
        const double here = place[i];
        place[i] = here + h;
        const double more = likelihood(place, value, M, size, noise, NULL, NULL);
        place[i] = here - h;
        const double less = likelihood(place, value, M, size, noise, NULL, NULL);
        place[i] = here;
        assert_at_most(fabs((more - less) / (2 * h) - by_place[i]), 1e-5 * (1 + fabs(by_place[i])));
    }
    const double of_size = (likelihood(place, value, M, size * exp(h), noise, NULL, NULL) -
                            likelihood(place, value, M, size * exp(-h), noise, NULL, NULL)) /
                           (2 * h);
    const double of_noise = (likelihood(place, value, M, size, noise * exp(h), NULL, NULL) -
                             likelihood(place, value, M, size, noise * exp(-h), NULL, NULL)) /
                            (2 * h);
    assert_at_most(fabs(of_size - by[0]), 1e-5 * (1 + fabs(by[0])));
    assert_at_most(fabs(of_noise - by[1]), 1e-5 * (1 + fabs(by[1])));
}

/* Rosenbrock's valley, which ends at (1, 1). */
static larmor_status valley(void *self, const double *x, double *value, double *gradient)
{
    ++*(int *)self;
    const double a = 1 - x[0], b = x[1] - x[0] * x[0];
    *value = a * a + 100 * b * b;
    gradient[0] = -2 * a - 400 * b * x[0];
    gradient[1] = 200 * b;
    return LARMOR_OK;
}

TEST(the_least_value_of_a_curved_valley_is_found)
{
    const lmr_minimise how = {.n = 2, .scale = {1, 1}, .tol = 1e-8, .most = 200};
    double x[2] = {-1.2, 1}, value, gradient[2];
    int calls = 0;
    assert_ok(lmr_minimise_by_bfgs(&how, valley, &calls, x, &value, gradient));
    assert_at_most(fabs(x[0] - 1) + fabs(x[1] - 1), 1e-6);
    assert_at_most(calls, 80);
}
