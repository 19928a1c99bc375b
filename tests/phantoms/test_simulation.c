/* phantoms/scan: whole simulated scans. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/io/files.h"

static larmor_simulation *simulation_of(const larmor_simulation_opts *opts)
{
    return MADE(larmor_simulation, larmor_simulation_create(dev, opts, &made));
}

/* Samples of an image on the host, to be freed, and how many; the trajectory to *traj unless that is NULL. */
static float complex *samples_of(larmor_simulation *s, int slice, int repetition, int contrast, int64_t *count,
                                 double **traj)
{
    OWNED(larmor_array) *kspace, *points;
    float complex *host;
    assert_ok(larmor_simulation_samples(s, slice, repetition, contrast, &kspace, &points));
    assert_ok(larmor_array_download(kspace, LARMOR_C64, &host));
    *count = larmor_array_count(kspace);
    if (traj) assert_ok(larmor_array_download(points, LARMOR_F64, traj));
    return host;
}

static void assert_same(const larmor_simulation_opts *a, const larmor_simulation_opts *b)
{
    OWNED(larmor_simulation) *one = simulation_of(a), *other = simulation_of(b);
    int64_t count, others;
    HEAP float complex *x = samples_of(one, 0, 0, 0, &count, NULL), *y = samples_of(other, 0, 0, 0, &others, NULL);
    assert_int_equal(count, others);
    assert_memory_equal(x, y, (size_t)count * sizeof *x);
}

TEST(zero_options_are_the_documented_defaults)
{
    const larmor_simulation_opts zero = {.traj = {.readouts = 3}};
    const larmor_simulation_opts written = {
        .trajectory = "golden",
        .traj = {.matrix = {128, 128, 1}, .readouts = 3, .samples = 256, .tiny = 1},
        .units = "1/fov",
        .phantom = "shepp-logan",
        .object_size = 1,
        .dwell_us = 4,
        .noise_dwell_us = 20,
        .slices = 1,
        .repetitions = 1,
        .breathing_period = 8};
    assert_same(&zero, &written);
    OWNED(larmor_simulation) *s = simulation_of(&zero);
    const larmor_simulation_info i = larmor_simulation_describe(s);
    assert_string_equal(i.trajectory, "golden");
    assert_string_equal(i.phantom, "shepp-logan");
    assert_true(i.ndim == 2 && i.coils == 1 && i.contrasts == 1 && i.slices == 1 && i.repetitions == 1);
    assert_true(i.matrix[0] == 128 && i.matrix[1] == 128 && i.matrix[2] == 1 && i.readouts == 3 && i.samples == 256);
    assert_true(i.noise == 0 && !i.is_cartesian);
    assert_true(larmor_simulation_describe(NULL).samples == 0);
}

TEST(options_are_copied)
{
    unsigned char dead[2] = {0, 1};
    double echo_ms[2] = {2, 5}, start_ms = 1;
    char name[16] = "disc";
    larmor_phantom_field field = {.hz = 70};
    larmor_simulation_opts opts = {.traj = {.matrix = {16}, .readouts = 3},
                                   .phantom = name,
                                   .coils = 2,
                                   .dead = dead,
                                   .field = &field,
                                   .echoes = 2,
                                   .echo_ms = echo_ms,
                                   .readout_start_ms = &start_ms};
    OWNED(larmor_simulation) *s = simulation_of(&opts), *later = simulation_of(&opts);
    int64_t count;
    HEAP float complex *x = samples_of(s, 0, 0, 1, &count, NULL);
    memset(dead, 1, sizeof dead);
    echo_ms[1] = start_ms = field.hz = 300;
    memcpy(name, "nothing", 8);
    HEAP float complex *y = samples_of(later, 0, 0, 1, &count, NULL);
    assert_memory_equal(x, y, (size_t)count * sizeof *x);
    assert_string_equal(larmor_simulation_describe(later).phantom, "disc");
}

TEST(noise_is_added_to_the_coils_that_have_some_and_dead_ones_have_nothing_else)
{
    const unsigned char dead[4] = {0, 1, 0, 0}, noiseless[4] = {0, 0, 1, 0};
    larmor_simulation_opts opts = {.traj = {.matrix = {24}, .readouts = 30}, .coils = 4, .dead = dead};
    OWNED(larmor_simulation) *clean = simulation_of(&opts);
    opts.noise = 1e-3;
    opts.noiseless = noiseless;
    OWNED(larmor_simulation) *noisy = simulation_of(&opts);
    int64_t count;
    float complex *exact = samples_of(clean, 0, 0, 0, &count, NULL), *x = samples_of(noisy, 0, 0, 0, &count, NULL);
    const int64_t each = count / 4;
    for (int c = 0; c < 4; c++) {
        double square = 0, signal = 0;
        for (int64_t i = c * each; i < (c + 1) * each; i++) {
            square += pow(cabsf(x[i] - exact[i]), 2);
            signal += cabsf(exact[i]);
        }
        const double deviation = sqrt(square / 2 / (double)each); /* of 2880 numbers: 1.3 % */
        if (noiseless[c]) assert_true(deviation == 0);
        if (!noiseless[c]) assert_at_most(fabs(deviation / 1e-3 - 1), 0.08);
        assert_true((signal == 0) == dead[c]);
    }
    LMR_FREE(x, exact);
}

TEST(slices_have_less_density_and_other_noise)
{
    larmor_simulation_opts opts = {.traj = {.matrix = {16}, .readouts = 4}, .slices = 2};
    larmor_simulation *s = simulation_of(&opts);
    int64_t count;
    float complex *first = samples_of(s, 0, 0, 0, &count, NULL), *second = samples_of(s, 1, 0, 0, &count, NULL);
    for (int64_t i = 0; i < count; i++) assert_true(second[i] == 0.75f * first[i]);
    LMR_FREE(second, first);
    larmor_simulation_free(s);
    opts.noise = 1e-3;
    opts.phantom = "disc";
    opts.repetitions = 2;
    opts.same_angles = 1;
    s = simulation_of(&opts);
    double sum = 0, square = 0;
    first = samples_of(s, 0, 0, 0, &count, NULL);
    second = samples_of(s, 0, 1, 0, &count, NULL);
    for (int64_t i = 0; i < count; i++) {
        sum += crealf(first[i] - second[i]);
        square += pow(cabsf(first[i] - second[i]), 2);
    }
    assert_at_most(fabs(sqrt(square / 4 / (double)count) / 1e-3 - 1), 0.3); /* two independent ones */
    assert_at_most(fabs(sum / (double)count), 1e-3);
    LMR_FREE(second, first);
    larmor_simulation_free(s);
}

TEST(any_image_can_be_asked_for_in_any_order)
{
    const larmor_phantom_field field = {.hz = 40};
    const double echo_ms[2] = {2, 6};
    larmor_simulation_opts opts = {.traj = {.matrix = {16}, .readouts = 4},
                                   .repetitions = 3,
                                   .rotation_deg = 30,
                                   .field = &field,
                                   .echoes = 2,
                                   .echo_ms = echo_ms};
    for (int same_angles = 0; same_angles < 2; same_angles++) {
        opts.same_angles = same_angles;
        OWNED(larmor_simulation) *s = simulation_of(&opts);
        for (int i = 5; i >= 0; i--) {
            OWNED(larmor_simulation) *fresh = simulation_of(&opts);
            int64_t count;
            HEAP double *k, *points;
            HEAP float complex *x = samples_of(s, 0, i % 3, i / 3, &count, &k),
                               *y = samples_of(fresh, 0, i % 3, i / 3, &count, &points);
            assert_memory_equal(x, y, (size_t)count * sizeof *x);
            assert_memory_equal(k, points, 2 * (size_t)count * sizeof *k);
        }
    }
}

TEST(late_gradients_move_the_samples_and_not_the_stored_trajectory)
{
    const larmor_simulation_opts nominal = {.trajectory = "radial", .traj = {.matrix = {16}, .readouts = 5}};
    larmor_simulation_opts late = nominal;
    late.delay[0] = 0.5;
    late.delay[1] = -0.25;
    OWNED(larmor_simulation) *a = simulation_of(&nominal), *b = simulation_of(&late);
    OWNED(larmor_array) *kspace, *traj, *moved, *expected;
    int64_t count;
    HEAP double *k, *nominal_k;
    HEAP float complex *x = samples_of(b, 0, 0, 0, &count, &k), *y;
    free(samples_of(a, 0, 0, 0, &count, &nominal_k));
    assert_memory_equal(k, nominal_k, 2 * (size_t)count * sizeof *k);
    assert_ok(larmor_simulation_samples(a, 0, 0, 0, &kspace, &traj));
    assert_ok(larmor_traj_delay(traj, late.delay, NULL, &moved));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, moved, 0, LARMOR_C64, &expected));
    assert_ok(larmor_array_download(expected, LARMOR_C64, &y));
    assert_memory_equal(x, y, (size_t)count * sizeof *x);
}

/* The samples of each line are the phantom's k-space half of the shift away, turned by half of the phase, in the
 * order of the shots. */
TEST(echo_planar_lines_differ_by_a_phase_and_a_shift)
{
    enum { LINES = 6, SHOTS = 2 };
    static const int64_t line[LINES] = {0, 2, 4, 1, 3, 5};
    const larmor_simulation_epi epi = {.shots = SHOTS,
                                       .ghost = {.phase = 0.6, .shift = 0.5},
                                       .phase_step = 0.2,
                                       .ramp = {.up_us = 30, .flat_us = 40, .down_us = 30}};
    const larmor_simulation_opts opts = {.trajectory = "cartesian", .traj = {.matrix = {16, LINES}}, .epi = &epi};
    OWNED(larmor_simulation) *s = simulation_of(&opts);
    OWNED(larmor_array) *kspace, *traj, *moved, *expected;
    assert_ok(larmor_simulation_samples(s, 0, 0, 0, &kspace, &traj));
    const int64_t n = larmor_array_shape(traj).dim[1];
    assert_int_equal(n, 24);
    OWN_MEMORY(double, *k, larmor_array_download(traj, LARMOR_F64, &k));
    OWN_MEMORY(float complex, *x, larmor_array_download(kspace, LARMOR_C64, &x));
    for (int64_t j = 0; j < LINES; j++) {
        const int backward = j % (LINES / SHOTS) == 1;
        assert_true(k[2 * n * j + 1] == (double)(line[j] - LINES / 2));
        assert_true((k[2 * n * j] > 0) == backward);
        for (int64_t i = 0; i < n; i++) /* a symmetric gradient has samples that mirror each other */
            assert_at_most(fabs(k[2 * (i + n * j)] + k[2 * (n - 1 - i + n * j)]), 1e-9);
        for (int64_t i = 0; i < n; i++) k[2 * (i + n * j)] += backward ? -.25 : .25;
    }
    assert_ok(larmor_array_upload(dev, LARMOR_F64, larmor_array_shape(traj), LARMOR_F64, k, &moved));
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 2, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, moved, 0, LARMOR_C64, &expected));
    OWN_MEMORY(float complex, *y, larmor_array_download(expected, LARMOR_C64, &y));
    for (int64_t i = 0; i < n * LINES; i++) {
        const int64_t j = i / n;
        const double angle = (j % (LINES / SHOTS) == 1 ? -.5 : .5) * (0.6 + (j >= LINES / SHOTS ? 0.2 : 0));
        assert_at_most(cabs((double complex)x[i] - (double complex)y[i] * cexp(I * angle)), 1e-6);
    }
}

/* ---- the file ---- */

static larmor_status save(larmor_simulation *s, const char *name)
{
    OWN(larmor_output, *out, larmor_output_open(in_folder(name), 1, &out));
    return larmor_simulation_save(s, out);
}

IN_FOLDER(the_file_has_the_samples_of_each_image_and_its_trajectory)
{
    const larmor_simulation_opts opts = {.trajectory = "spiral",
                                         .traj = {.matrix = {16}, .readouts = 3},
                                         .units = "rad/m",
                                         .coils = 3,
                                         .noise = 1e-3,
                                         .noise_samples = 50,
                                         .slices = 2,
                                         .repetitions = 2};
    OWNED(larmor_simulation) *s = simulation_of(&opts);
    assert_ok(save(s, "scan.h5"));
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), NULL, &raw));
    const larmor_raw_info info = larmor_raw_describe(raw);
    assert_true(info.groups == 4 && info.imaging == 12 && info.noise_samples == 50 && info.coils == 3);
    assert_string_equal(info.traj_units, "rad/m");
    for (int g = 0; g < 4; g++) {
        larmor_group group;
        larmor_grid grid;
        int64_t count;
        HEAP double *k, *points;
        assert_ok(larmor_raw_group(raw, g, &group));
        HEAP float complex *x = samples_of(s, group.slice, group.repetition, 0, &count, &k);
        assert_ok(larmor_raw_grid(raw, 0, NULL, &grid));
        OWN(larmor_samples, samples, larmor_raw_samples(raw, g, &grid, 0, dev, &samples));
        assert_int_equal(larmor_array_count(samples.kspace), count);
        OWN_MEMORY(float complex, *y, larmor_array_download(samples.kspace, LARMOR_C64, &y));
        assert_ok(larmor_array_download(samples.traj, LARMOR_F64, &points));
        assert_memory_equal(x, y, (size_t)count * sizeof *x);
        for (int64_t i = 0; i < larmor_array_count(samples.traj); i++) assert_at_most(fabs(k[i] - points[i]), 1e-5);
    }
}

/* ISMRMRD's flags of loops: the first readout of one, and the last. */
typedef struct loop {
    int first, last;
    int (*same)(const larmor_acquisition *a, const larmor_acquisition *b); /* in one turn of it */
} loop;

static int in_repetition(const larmor_acquisition *a, const larmor_acquisition *b)
{
    return a->repetition == b->repetition;
}

static int in_contrast(const larmor_acquisition *a, const larmor_acquisition *b)
{
    return in_repetition(a, b) && a->contrast == b->contrast;
}

static int in_slice(const larmor_acquisition *a, const larmor_acquisition *b)
{
    return in_contrast(a, b) && a->slice == b->slice;
}

static int in_partition(const larmor_acquisition *a, const larmor_acquisition *b)
{
    return in_slice(a, b) && a->step2 == b->step2;
}

static int is_of_image(const larmor_acquisition *a, int separate)
{
    const uint64_t others = LARMOR_ACQ_NOISE | LARMOR_ACQ_PHASE_CORRECTION | (separate ? LARMOR_ACQ_CALIBRATION : 0);
    return !(a->flags & others);
}

static void assert_loops(const larmor_simulation_opts *opts)
{
    static const loop loops[] = {
        {1, 2, in_partition}, {7, 8, in_slice}, {9, 10, in_contrast}, {13, 14, in_repetition}};
    OWNED(larmor_simulation) *s = simulation_of(opts);
    assert_ok(save(s, "scan.h5"));
    OWN(larmor_raw, *raw, larmor_raw_open(in_folder("scan.h5"), &(larmor_raw_opts){.as_stored = 1}, &raw));
    const int64_t count = larmor_raw_describe(raw).acquisitions;
    HEAP larmor_acquisition *a = calloc((size_t)count, sizeof *a);
    int64_t images = 0;
    for (int64_t i = 0; i < count; i++) {
        assert_ok(larmor_raw_acquisition(raw, i, &a[images]));
        const int is_one = is_of_image(&a[images], opts->separate_calibration);
        if (!is_one) assert_false(a[images].flags & 0x3fff);
        images += is_one;
    }
    for (size_t l = 0; l < sizeof loops / sizeof *loops; l++)
        for (int64_t i = 0; i < images; i++) {
            const int begins = !i || !loops[l].same(&a[i - 1], &a[i]);
            const int ends = i + 1 == images || !loops[l].same(&a[i], &a[i + 1]);
            assert_int_equal(!!(a[i].flags & LARMOR_ACQ_FLAG(loops[l].first)), begins);
            assert_int_equal(!!(a[i].flags & LARMOR_ACQ_FLAG(loops[l].last)), ends);
        }
}

IN_FOLDER(the_first_and_the_last_readout_of_each_loop_have_their_flags)
{
    static const larmor_simulation_epi epi = {.shots = 2, .navigators = 3};
    static const double echo_ms[] = {4, 9};
    static const larmor_simulation_opts scans[] = {
        {.traj = {.matrix = {16}, .readouts = 3},
         .slices = 2,
         .repetitions = 2,
         .echoes = 2,
         .echo_ms = echo_ms,
         .noise = 1e-3,
         .noise_samples = 50},
        {.trajectory = "spiral", .traj = {.matrix = {16}, .readouts = 1}, .repetitions = 2},
        {.trajectory = "stars", .traj = {.matrix = {16, 16, 4}, .readouts = 5}, .repetitions = 2},
        {.trajectory = "cartesian", .traj = {.matrix = {16, 12, 4}}, .repetitions = 2},
        {.trajectory = "cartesian",
         .traj = {.matrix = {16, 16, 1}, .acceleration = {2}, .calibration = {4}},
         .slices = 3,
         .separate_calibration = 1},
        {.trajectory = "cartesian",
         .traj = {.matrix = {16, 16, 1}, .acceleration = {2}, .calibration = {4}},
         .slices = 3},
        {.trajectory = "cartesian", .traj = {.matrix = {16, 16, 1}}, .slices = 2, .epi = &epi},
    };
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++) assert_loops(&scans[i]);
}

static int stop_at_the_second(void *user, const larmor_progress *p)
{
    assert_int_equal(p->max_iter, 4);
    *(int *)user = p->iter;
    return p->iter == 2;
}

IN_FOLDER(a_monitor_stops_the_file_which_is_then_not_there)
{
    int seen = 0;
    larmor_raw *raw;
    const larmor_simulation_opts opts = {
        .traj = {.matrix = {16}, .readouts = 3}, .repetitions = 4, .monitor = stop_at_the_second, .user = &seen};
    OWNED(larmor_simulation) *s = simulation_of(&opts);
    assert_int_equal(save(s, "stopped.h5"), LARMOR_STOPPED);
    assert_int_equal(seen, 2);
    assert_int_equal(larmor_raw_open(in_folder("stopped.h5"), NULL, &raw), LARMOR_ERR_IO);
}

/* ---- what to expect ---- */

TEST(images_that_are_alike_are_one_array_and_others_follow_the_object)
{
    larmor_simulation_opts opts = {.traj = {.matrix = {16, 12}}, .slices = 2, .repetitions = 3};
    for (int moves = 0; moves < 2; moves++) {
        opts.drift_mm[1] = moves ? 20 : 0;
        OWNED(larmor_simulation) *s = simulation_of(&opts);
        larmor_expected expected;
        assert_ok(larmor_simulation_expect(s, &expected));
        assert_int_equal(expected.count, 6);
        const larmor_image *images = expected.image;
        for (int i = 0; i < 6; i++) {
            HEAP float complex *x, *first, *still;
            double difference = 0, motion = 0;
            assert_int_equal(images[i].meta.slice, i / 3);
            assert_int_equal(images[i].meta.repetition, i % 3);
            assert_true(larmor_shape_equal(larmor_array_shape(images[i].data), LARMOR_SHAPE(16, 12)));
            assert_ok(larmor_array_download(images[i].data, LARMOR_C64, &x));
            assert_ok(larmor_array_download(images[i % 3].data, LARMOR_C64, &first));
            assert_ok(larmor_array_download(images[i - i % 3].data, LARMOR_C64, &still));
            for (int v = 0; v < 16 * 12; v++) motion += cabsf(x[v] - still[v]);
            assert_int_equal(motion > 0, moves && i % 3 > 0);
            for (int v = 0; v < 16 * 12; v++) difference += cabsf(x[v] - (i < 3 ? 1 : 0.75f) * first[v]);
            assert_true(difference == 0);
            assert_int_equal(images[i].data == images[i - i % 3].data, !moves || i % 3 == 0);
        }
        larmor_expected_free(&expected);
        assert_true(!expected.image && !expected.count);
    }
}

TEST(maps_and_field_are_those_of_the_phantom)
{
    const unsigned char dead[3] = {0, 0, 1};
    const larmor_phantom_field field = {.hz = 5, .gradient = {30, -10}};
    const int64_t larger[3] = {32};
    const larmor_simulation_opts opts = {.traj = {.matrix = {16, 12}}, .coils = 3, .dead = dead, .field = &field};
    OWNED(larmor_simulation) *s = simulation_of(&opts);
    OWNED(larmor_array) *maps, *wide, *expected, *hz, *expected_hz;
    larmor_image_meta meta;
    assert_ok(larmor_simulation_maps(s, NULL, &maps, &meta));
    assert_true(meta.fov_mm[0] == 256 && meta.fov_mm[1] == 192 && meta.fov_mm[2] == 5);
    assert_ok(larmor_simulation_maps(s, larger, &wide, &meta));
    assert_true(meta.fov_mm[0] == 512 && meta.fov_mm[1] == 192);
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(16, 12), NULL, 3, &expected));
    OWN_MEMORY(float complex, *x, larmor_array_download(maps, LARMOR_C64, &x));
    OWN_MEMORY(float complex, *w, larmor_array_download(wide, LARMOR_C64, &w));
    OWN_MEMORY(float complex, *y, larmor_array_download(expected, LARMOR_C64, &y));
    for (int i = 0; i < 3 * 16 * 12; i++) {
        const float complex in_the_middle = w[i % 16 + 8 + 32 * (i / 16)];
        assert_true(x[i] == (i < 2 * 16 * 12 ? y[i] : 0));
        assert_at_most(cabsf(in_the_middle - x[i]), 1e-6);
    }
    assert_ok(larmor_simulation_field(s, &hz, &meta));
    assert_ok(larmor_phantom_field_map(&field, dev, LARMOR_F32, LARMOR_SHAPE(16, 12), &expected_hz));
    OWN_MEMORY(float, *f, larmor_array_download(hz, LARMOR_F32, &f));
    OWN_MEMORY(float, *g, larmor_array_download(expected_hz, LARMOR_F32, &g));
    assert_memory_equal(f, g, 16 * 12 * sizeof *f);
}

TEST(what_makes_no_sense_is_refused)
{
    static const unsigned char dead[2] = {1, 1};
    static const larmor_phantom_field field = {.hz = 1};
    static const larmor_phantom_phase phase = {.radians = 1}, waves = {1, {0, 0, 1}};
    static const larmor_simulation_epi epi = {.shots = 1}, many = {.shots = 17},
                                       peaks = {.ramp = {.up_us = 50, .down_us = 50}},
                                       brief = {.ramp = {.up_us = 5, .flat_us = 5, .down_us = 5}};
    static const larmor_phantom_field across = {.gradient = {0, 0, 5}};
    static const struct {
        larmor_simulation_opts opts;
        const char *says;
    } refused[] = {
        {{.trajectory = "straight"}, "traj: got \"straight\", expected radial"},
        {{.phantom = "cat"}, "phantom: got \"cat\", expected "},
        {{.units = "furlong"}, "trajectory units: got \"furlong\", expected 1/fov"},
        {{.noise = 1, .snr = 1}, "simulation: got noise 1 and snr 1, expected one of them"},
        {{.noise = -1}, "simulation: got noise -1 and snr 0, expected numbers >= 0"},
        {{.noise = NAN}, "expected numbers >= 0"},
        {{.noise_samples = 8}, "simulation: got a noise scan of 8 samples, but there is no noise"},
        {{.noise_samples = 65536, .noise = 1}, "expected up to 65535"},
        {{.dwell_us = -1}, "simulation: got dwell times of -1 and 20 us"},
        {{.coils = 1025}, "simulation: got 1025 coils, expected 0 to 1024"},
        {{.coils = 2, .dead = dead}, "simulation: all 2 coils are dead"},
        {{.slices = -1}, "simulation: got -1 slices"},
        {{.slices = 65536, .repetitions = 65536}, "simulation: got 65536 slices x 65536 repetitions, expected fewer"},
        {{.trajectory = "koosh", .slices = 2, .traj = {.matrix = {8}}}, "expected 1, because the trajectory is 3D"},
        {{.rotation_deg = 3}, "simulation: got one repetition of an object that changes"},
        {{.breathing_period = -1}, "simulation: got -1 repetitions of a breath"},
        {{.echoes = 17}, "simulation: got 17 echoes, expected 0 to 16"},
        {{.echoes = 1}, "simulation: got 1 echoes"},
        {{.field = &field, .phase = &phase}, "simulation: got a phase of the image and off-resonance"},
        {{.traj = {.repetition = -1}}, "traj: got repetition -1"},
        {{.drift_mm = {1, 2, 3}, .repetitions = 2}, "opts.drift_mm: got 3 along z, but the scan is 2D"},
        {{.field = &across}, "opts.field.gradient: got 5 along z, but the scan is 2D"},
        {{.phase = &waves}, "opts.phase.cycles: got 1 along z, but the scan is 2D"},
        {{.epi = &epi}, "simulation: got echo-planar lines along the trajectory golden"},
        {{.trajectory = "cartesian", .traj = {.matrix = {16}}, .epi = &many},
         "simulation: got 17 shots, expected 1 to 16"},
        {{.trajectory = "cartesian", .traj = {.matrix = {16}}, .epi = &peaks}, "got a gradient without a flat top"},
        {{.trajectory = "cartesian", .traj = {.matrix = {16}}, .epi = &brief},
         "which do not fit into a gradient of 15 us"},
        {{.trajectory = "cartesian", .traj = {.matrix = {16}}, .epi = &epi, .field = &field}, "got off-resonance or"},
        {{.delay = {1, 1, 2}}, "opts.delay: got 2 along z, but the scan is 2D"},
    };
    OWNED(larmor_simulation) *s;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_refused(larmor_simulation_create(dev, &refused[i].opts, &s), LARMOR_ERR_ARG, refused[i].says);
        assert_null(s);
    }
    const larmor_simulation_opts opts = {.traj = {.matrix = {16}}, .slices = 2};
    const int64_t matrix[3] = {-1}, solid[3] = {16, 16, 4};
    larmor_array *a, *b;
    larmor_image_meta meta;
    s = simulation_of(&opts);
    assert_refused(larmor_simulation_samples(s, 2, 0, 0, &a, &b), LARMOR_ERR_ARG,
                   "simulation: got slice 2, repetition 0, contrast 0, expected less than 2, 1, 1");
    assert_refused(larmor_simulation_maps(s, matrix, &a, &meta), LARMOR_ERR_ARG, "simulation: got maps of -1 voxels");
    assert_refused(larmor_simulation_maps(s, solid, &a, &meta), LARMOR_ERR_ARG,
                   "opts.maps_matrix: got 4 along z, but the scan is 2D");
    assert_int_equal(larmor_simulation_maps(s, NULL, &a, &meta), LARMOR_ERR_ARG);
}
