/* scan/grid.c and the maps of schedule/prepare.c. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/pipeline/scan.h"

static larmor_grid grid_of(const scan *s, const larmor_recon_opts *opts)
{
    larmor_recon_plan plan;
    OWNED(larmor_recon) *recon = recon_of(s, opts);
    assert_ok(larmor_recon_describe(recon, 0, &plan));
    return plan.grid;
}

static void expect_grid(larmor_grid g, int64_t matrix_x, int64_t matrix_y, int64_t crop_x, int64_t crop_y)
{
    assert_int_equal(g.matrix[0], matrix_x);
    assert_int_equal(g.matrix[1], matrix_y);
    assert_int_equal(g.crop[0], crop_x);
    assert_int_equal(g.crop[1], crop_y);
}

TEST(matrix_and_field_of_view_are_those_asked_for)
{
    scan s = scan_of(2, 1, 0);
    larmor_recon_opts opts = KNOWN(.method = "grid");
    expect_grid(grid_of(&s, &opts), N, N, N, N);
    opts = KNOWN(.method = "grid", .matrix = {16});
    expect_grid(grid_of(&s, &opts), 16, 16, 16, 16);
    opts = KNOWN(.method = "grid", .matrix = {16, 24});
    expect_grid(grid_of(&s, &opts), 16, 24, 16, 24);
    opts = KNOWN(.method = "grid", .oversample = {1.5});
    expect_grid(grid_of(&s, &opts), 48, 48, N, N);
    opts = KNOWN(.method = "grid", .oversample = {1, 2});
    expect_grid(grid_of(&s, &opts), N, 64, N, N);
    opts = KNOWN(.method = "grid", .fov_mm = {16}); /* smaller voxels: the encoded field of view has twice as many */
    expect_grid(grid_of(&s, &opts), 64, 64, N, N);
    end_scan(&s);
    /* where axes differ, the first value alone is of the axes that are as the first */
    s = scan_of(2, 1, 0);
    s.arrays.matrix[1] = 64;
    opts = KNOWN(.method = "grid", .matrix = {16});
    const larmor_grid g = grid_of(&s, &opts);
    assert_int_equal(g.crop[0], 16);
    assert_int_equal(g.crop[1], 64);
    larmor_recon *recon;
    opts = KNOWN(.matrix = {-1});
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "arrays: raw: grid: matrix -1");
    end_scan(&s);
}

/* The same phantom on half the field of view: it is twice as large as that, and what is outside must not fold. */
static scan wide_object(int images)
{
    scan s = scan_of(COILS, images, 0);
    for (int i = 0; i < 2; i++) s.arrays.matrix[i] = N * 3 / 4;
    for (int i = 0; i < images; i++) {
        HEAP double *k = (double *)host_of(s.image[i].traj);
        for (int j = 0; j < 2 * SAMPLES * SPOKES; j++) k[j] *= 0.75;
        assert_ok(larmor_array_write(s.image[i].traj, k, larmor_array_bytes(s.image[i].traj)));
    }
    return s;
}

TEST(a_wide_object_enlarges_the_grid)
{
    OWNED(scan) s = wide_object(1);
    notes n = {.text = ""};
    larmor_recon_opts opts = KNOWN(.listener = take_note, .user = &n);
    const larmor_grid g = grid_of(&s, &opts);
    assert_true(g.matrix[1] >= 28); /* the phantom is longest along y */
    assert_int_equal(g.crop[0], N * 3 / 4);
    assert_noted(n, "L:field of view: signal reaches to");
    opts.oversample[0] = 1; /* asked for: then nobody looks */
    expect_grid(grid_of(&s, &opts), N * 3 / 4, N * 3 / 4, N * 3 / 4, N * 3 / 4);
    opts = KNOWN(.method = "grid");
    expect_grid(grid_of(&s, &opts), N * 3 / 4, N * 3 / 4, N * 3 / 4, N * 3 / 4);
}

/* A trajectory in three quarters of its unit makes the object seem wider, and k-space end at three quarters. */
TEST(an_object_that_is_wide_for_another_unit_is_a_warning)
{
    for (int wrong = 0; wrong < 2; wrong++) {
        OWNED(scan) s = wide_object(1);
        notes n = {.text = ""};
        const larmor_recon_opts opts = KNOWN(.method = "cg", .listener = take_note, .user = &n);
        for (int i = 0; i < 2 && wrong; i++) s.arrays.matrix[i] = N;
        grid_of(&s, &opts);
        assert_noted(n, "field of view: signal reaches to");
        assert_int_equal(strstr(n.text, "k-space ends at 0.75 of its edge: both are so") != NULL, wrong);
    }
}

/* A series, which takes more on the larger grid than to look for its field of view does. */
TEST(without_memory_for_it_the_grid_stays_small)
{
    OWNED(scan) s = wide_object(MOST_IMAGES);
    notes n = {.text = ""};
    larmor_recon_opts opts = OPTS(.method = "tv", .joint = 1, .eps = 1e-9, .precondition = 1, .toeplitz = 1,
                                  .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-3, .oversample = {1},
                                  .memory = INT64_C(1) << 40, .delays = LARMOR_DELAYS_OFF);
    larmor_recon *recon;
    for (; !try_recon(&s, &opts, &recon); opts.memory /= 2) larmor_recon_free(recon);
    for (opts.memory *= 2; !try_recon(&s, &opts, &recon); opts.memory -= opts.memory / 40) larmor_recon_free(recon);
    opts.memory += opts.memory / 39 + 1;
    opts.oversample[0] = 0;
    opts.listener = take_note;
    opts.user = &n;
    for (int looked = 0; !looked; opts.memory += opts.memory / 40) { /* fewer threads need less than to look does */
        n = (notes){.text = ""};
        expect_grid(grid_of(&s, &opts), N * 3 / 4, N * 3 / 4, N * 3 / 4, N * 3 / 4);
        looked = !strstr(n.text, "L:field of view: not looked beyond: ");
    }
    assert_noted(n, "the field of view is not enlarged, what is outside folds in");
    opts.memory = 1000000; /* not even enough for one coil */
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_MEMORY, "of memory needed with one coil at a time");
}

/* Of a phantom so many times as large, by a spiral that misses every second turn. */
static larmor_prediction prediction_of(double size, int coils)
{
    const larmor_traj_opts arms = {.matrix = {48, 48}, .undersampling = 2};
    larmor_prediction found, none;
    OWN(larmor_phantom, *plain, larmor_phantom_create("shepp-logan", 2, &plain));
    OWN(larmor_phantom, *phantom, larmor_phantom_change(plain, &(larmor_phantom_state){.size = size}, &phantom));
    OWN(larmor_array, *traj, larmor_traj_create(dev, "spiral", &arms, &traj));
    OWN(larmor_array, *kspace, larmor_phantom_kspace(phantom, traj, coils, LARMOR_C64, &kspace));
    assert_ok(larmor_predict_field_of_view(kspace, traj, LARMOR_SHAPE(48, 48), &found));
    print_message("%g times as large, %d coils: %g, error %g, gain %g\n", size, coils, found.factor, found.error,
                  found.gain);
    assert_refused(larmor_predict_field_of_view(traj, traj, LARMOR_SHAPE(48, 48), &none), LARMOR_ERR_SHAPE,
                   "expected complex [samples, readouts, coils]");
    assert_refused(larmor_predict_field_of_view(kspace, kspace, LARMOR_SHAPE(48, 48), &none), LARMOR_ERR_SHAPE,
                   "field of view: traj is");
    return found;
}

TEST(a_wide_object_is_predicted_by_a_larger_field_of_view_only)
{
    const larmor_prediction wide = prediction_of(1.3, 6), fits = prediction_of(0.9, 6);
    assert_true(wide.factor > 1);
    assert_at_most(wide.gain, 0.5);
    assert_true(fits.factor == 1);
    assert_at_most(fits.error, wide.error);
}

static larmor_array *maps_of(larmor_shape shape)
{
    const int64_t count = larmor_shape_count(shape);
    HEAP float *value = calloc((size_t)count, 2 * sizeof *value);
    assert_non_null(value);
    for (int64_t i = 0; i < count; i++) value[2 * i + 1] = 0.5f; /* with a phase */
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, value, &made));
}

/* A map of each coil that is a plane wave of the place in mm, at the voxels of n x n over fov mm, where axis a runs
 * along axis[a] of the plane and the middle is at `at`. */
static void waves(int n, double fov, const double (*axis)[2], const double *at, double complex *value)
{
    for (int c = 0; c < COILS; c++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++) {
                const double step[2] = {(i - n / 2) * fov / n, (j - n / 2) * fov / n};
                double phase = 0;
                for (int k = 0; k < 2; k++)
                    phase += 0.03 * cos(c + 2. * k) * (at[k] + step[0] * axis[0][k] + step[1] * axis[1][k]);
                value[i + n * (j + n * c)] = cexp(I * phase) / sqrt(COILS);
            }
}

TEST(maps_that_lie_elsewhere_and_turned_have_the_value_of_their_place)
{
    enum { FROM = 40 };
    const double angle = 0.5, maps_axis[2][2] = {{cos(angle), sin(angle)}, {-sin(angle), cos(angle)}};
    const double maps_at[2] = {10, -5}, image_axis[2][2] = {{0, 1}, {-1, 0}}, image_at[2] = {11.5, -4.25};
    static double complex given[FROM * FROM * COILS], expected[N * N * COILS];
    static float complex placed[N * N * COILS];
    OWNED(larmor_array) *maps = NULL, *found = NULL;
    waves(FROM, N, maps_axis, maps_at, given);
    waves(N, N, image_axis, image_at, expected);
    assert_ok(larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(FROM, FROM, COILS), LARMOR_C128, given, &maps));
    OWNED(scan) s = scan_of(COILS, 1, 0);
    for (int d = 0; d < 2; d++) s.arrays.fov_mm[d] = N;
    s.image[0].meta = (larmor_image_meta){.position_mm = {image_at[0], image_at[1], 7},
                                          .read_dir = {0, 1, 0},
                                          .phase_dir = {-1, 0, 0},
                                          .slice_dir = {0, 0, 1}};
    larmor_recon_opts opts = KNOWN(.maps = maps, .method = "grid");
    opts.maps_place = (larmor_image_meta){.fov_mm = {N, N},
                                          .position_mm = {maps_at[0], maps_at[1], 7},
                                          .read_dir = {maps_axis[0][0], maps_axis[0][1], 0},
                                          .phase_dir = {maps_axis[1][0], maps_axis[1][1], 0},
                                          .slice_dir = {0, 0, 1}};
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    OWN(larmor_recon_result, result, larmor_recon_run(recon, 0, &result));
    assert_ok(larmor_recon_maps(recon, &found, NULL));
    assert_ok(larmor_array_read(found, placed, sizeof placed));
    const int inside = 12; /* voxels from the middle that the maps cover, whatever the angle */
    for (int v = 0; v < N * N; v++)
        if (hypot(v % N - N / 2, v / N - N / 2) <= inside)
            for (int c = 0; c < COILS; c++)
                assert_at_most(cabs((double complex)placed[v + N * N * c] - expected[v + N * N * c]), 1e-3);
}

TEST(larger_maps_enlarge_the_grid)
{
    OWNED(scan) s = scan_of(COILS, 2, 0);
    OWNED(larmor_array) *maps = maps_of(LARMOR_SHAPE(48, 40, COILS));
    notes n = {.text = ""};
    larmor_recon_opts opts = KNOWN(.maps = maps, .listener = take_note, .user = &n);
    opts.maps_place.fov_mm[0] = 48;
    opts.maps_place.fov_mm[1] = 40;
    expect_grid(grid_of(&s, &opts), 48, 40, N, N);
    assert_noted(n, "L:field of view: the maps reach beyond it");
}

TEST(given_maps_go_on_where_a_wide_object_enlarges_the_grid)
{
    OWNED(scan) s = wide_object(1);
    OWNED(larmor_array) *maps = maps_of(LARMOR_SHAPE(N * 3 / 4, N * 3 / 4, COILS));
    notes n = {.text = ""};
    const larmor_recon_opts opts = KNOWN(.maps = maps, .listener = take_note, .user = &n);
    const larmor_grid g = grid_of(&s, &opts);
    assert_true(g.matrix[1] >= 28);
    assert_int_equal(g.crop[0], N * 3 / 4);
    assert_noted(n, "beyond the given maps, they are found from the data");
}

TEST(with_two_sets_of_given_maps_a_wide_object_is_only_said)
{
    OWNED(scan) s = wide_object(1);
    OWNED(larmor_array) *maps = maps_of(LARMOR_SHAPE(N * 3 / 4, N * 3 / 4, 1, COILS, 2));
    notes n = {.text = ""};
    const larmor_recon_opts opts = KNOWN(.maps = maps, .listener = take_note, .user = &n);
    expect_grid(grid_of(&s, &opts), N * 3 / 4, N * 3 / 4, N * 3 / 4, N * 3 / 4);
    assert_noted(n, "W:signal reaches to");
}

TEST(maps_that_do_not_fit_are_refused_by_their_name)
{
    OWNED(scan) s = scan_of(COILS, 2, 0);
    larmor_recon *recon;
    OWNED(larmor_array) *small = maps_of(LARMOR_SHAPE(16, N, COILS)), *few = maps_of(LARMOR_SHAPE(N, N, 3));
    OWNED(larmor_array) *two = maps_of(LARMOR_SHAPE(N, N, 1, COILS, 2)),
                        *nothing = maps_of(LARMOR_SHAPE(N, N, COILS));
    assert_ok(larmor_zero(nothing));
    larmor_recon_opts opts = KNOWN(.maps = small);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_SHAPE,
                   "maps: maps of 16x32 voxels without a field of view, and the grid has 32x32 voxels over");
    opts = KNOWN(.maps = small, .maps_place = {.fov_mm = {-1}});
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "got -1 mm, expected more than 0");
    opts = KNOWN(.maps_place = {.fov_mm = {32}});
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "has no effect without maps");
    opts = KNOWN(.maps = few, .maps_name = "m.cfl");
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_SHAPE, "m.cfl: 32x32x1x3, data needs 32x32x1x4.");
    opts = KNOWN(.maps = nothing);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_NUMERIC, "maps: maps are zero at all pixels.");
    OWNED(larmor_array) *tiny = maps_of(LARMOR_SHAPE(N, N, COILS));
    assert_ok(larmor_axpby(1e-20, tiny, 0, tiny));
    opts = KNOWN(.maps = tiny);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_NUMERIC, "expected about 1; scale them.");
    OWN(larmor_array, *magnitudes, larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(N, N, COILS), &magnitudes));
    assert_ok(larmor_fill(magnitudes, 0.5));
    opts = KNOWN(.maps = magnitudes);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_FORMAT, "maps: maps without phase");
    opts = KNOWN(.maps = two, .method = "tgv", .precondition = 1);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "is not for several sets of maps, and maps has 2");
    opts = KNOWN(.maps = two, .method = "tv", .joint = 1);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "without opts.joint; got tv");
    opts = KNOWN(.maps = two, .precondition = 1);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "is not for several sets of maps, and maps has 2");
    opts = KNOWN(.maps = two, .motion_states = 2);
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "opts.motion_states: is not for several sets");
    opts = KNOWN(.maps = two, .constraint = "nonnegative");
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_ARG, "opts.constraint: is not for several sets");
}

/* 4096 x 32 voxels of 60 lines of 64 samples: by hand a smaller matrix is taken. */
TEST(a_matrix_that_the_samples_cannot_fill_is_refused)
{
    OWNED(scan) s = scan_of(COILS, 1, 0);
    OWNED(larmor_recon) *recon;
    larmor_array_free(s.image[0].traj);
    s.image[0].traj = NULL;
    s.arrays.trajectory = "cartesian";
    s.arrays.matrix[0] = 4096;
    const larmor_recon_opts opts = KNOWN(.method = "cg"), smaller = KNOWN(.method = "cg", .matrix = {64, 32});
    assert_refused(try_recon(&s, &opts, &recon), LARMOR_ERR_FORMAT,
                   "a matrix of 4096 x 32 x 1 for 60 readouts of 64 samples, which cannot fill it");
    assert_ok(try_recon(&s, &smaller, &recon));
    s.arrays.matrix[2] = 2;
    OWNED(larmor_recon) *volume;
    assert_refused(try_recon(&s, &opts, &volume), LARMOR_ERR_FORMAT, "a matrix of 4096 x 32 x 2 for 60 readouts");
}
