/* check/band_sign.c and physics/multiband_phases.c: phases of slices that are excited together, their sign, and those
 * that do not grow evenly from slice to slice.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "tests/pipeline/slice.h"

enum { N = 24, BANDS = 3, COILS = 6 };
static const double offset[BANDS] = {-40, 0, 40};

typedef struct scene {
    larmor_array *kspace, *traj, *maps, *truth;
    larmor_source *inner;
} scene;

static void end_scene(scene *s)
{
    larmor_source_free(s->inner);
    LMR_FREE(s->maps, s->truth, s->traj, s->kspace);
}

static scene scene_of(const char *trajectory, int readouts, int shifts, double snr, uint64_t seed)
{
    scene s = {.kspace = NULL};
    const larmor_simulation_opts opts = {.trajectory = trajectory,
                                         .traj = {.matrix = {N, N}, .readouts = readouts},
                                         .phantom = "texture",
                                         .coils = COILS,
                                         .bands = BANDS,
                                         .band_shifts = shifts,
                                         .snr = snr,
                                         .seed = seed};
    larmor_image_meta meta;
    OWN(larmor_simulation, *simulation, larmor_simulation_create(dev, &opts, &simulation));
    assert_ok(larmor_simulation_samples(simulation, 0, 0, 0, &s.kspace, &s.traj));
    assert_ok(larmor_simulation_maps(simulation, NULL, &s.maps, &meta));
    OWN(larmor_expected, expected, larmor_simulation_expect(simulation, &expected));
    s.truth = larmor_array_ref(expected.image[0].data);
    s.inner = slice_of(s.kspace, s.traj, N);
    return s;
}

typedef struct notes {
    char text[8192];
} notes;

static int take_note(void *user, const larmor_event *event)
{
    notes *n = user;
    const size_t used = strlen(n->text);
    if (event->kind == LARMOR_EVENT_LOG || event->kind == LARMOR_EVENT_WARNING)
        snprintf(n->text + used, sizeof n->text - used, "%c:%s\n", event->kind == LARMOR_EVENT_LOG ? 'L' : 'W',
                 event->text);
    return 0;
}

/* What is said of the image by phases 2 pi turns s j / shifts. */
static notes said_of(const scene *s, int shifts, int turns, larmor_array *maps)
{
    OWNED(larmor_source) *volumes = NULL;
    OWNED(larmor_recon) *recon = NULL;
    OWNED(larmor_recon_result) result = {0};
    notes n = {.text = ""};
    assert_ok(larmor_source_of_multiband(
        s->inner, &(larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .shifts = shifts, .turns = turns},
        &volumes));
    const larmor_recon_opts opts =
        OPTS(.maps = maps, .method = "cg", .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-2, .iters = 4,
             .delays = LARMOR_DELAYS_OFF, .listener = take_note, .user = &n);
    assert_ok(larmor_recon_create(volumes, dev, &opts, &recon));
    assert_ok(larmor_recon_run(recon, 0, &result));
    return n;
}

static const char wrong[] = "W:multiband: phases of the other sign explain the samples better: ";

TEST(phases_of_the_wrong_sign_are_a_warning_and_right_ones_are_none)
{
    static const struct {
        const char *trajectory;
        int readouts;
    } scan[] = {{"golden", 30}, {"spiral", 8}, {"cartesian", 0}};
    static const double snr[] = {5, 50};
    for (size_t t = 0; t < sizeof scan / sizeof *scan; t++)
        for (int i = of_all(t > 0, 0); i <= of_all(t > 0, 1); i++) {
            const int shifts = i % 2 ? 6 : 3;
            OWNED(scene) s = scene_of(scan[t].trajectory, scan[t].readouts, shifts, snr[i], 1 + (uint64_t)i);
            const notes right = said_of(&s, shifts, 1, s.maps), other = said_of(&s, shifts, -1, s.maps);
            assert_null(strstr(right.text, wrong));
            assert_non_null(strstr(right.text, "L:multiband: the phases leave "));
            /* noise hides it in lines, whose coils alone tell slices apart */
            if (scan[t].readouts || snr[i] > 5) assert_non_null(strstr(other.text, wrong));
        }
}

/* Cycles of two phases have no sign, and maps from the samples fit the slices in either order. */
TEST(a_sign_that_nothing_tells_is_no_warning)
{
    OWNED(scene) s = scene_of("golden", 40, 2, 20, 3), t = scene_of("golden", 40, 3, 20, 3);
    const notes two = said_of(&s, 2, -1, s.maps), own = said_of(&t, 3, -1, NULL);
    assert_null(strstr(two.text, "other sign"));
    assert_null(strstr(own.text, wrong));
    assert_non_null(strstr(own.text, "L:multiband: the sign of the phases is not checked, as coil maps from the "
                                     "samples fit either one\n"));
}

/* ---- phases that grow unevenly from slice to slice ---- */

static larmor_array *array_of(const double *value, int64_t readouts)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(readouts, BANDS), &made));
    assert_ok(larmor_array_write(x, value, larmor_array_bytes(x)));
    return x;
}

/* In [-1, 1]. */
static double number_of(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 33) / (double)(1u << 30) - 1;
}

/* [readouts, BANDS] of cycles, and up to `most` rad for each beside them. */
static double *table_of(int64_t readouts, double most, uint64_t seed)
{
    double *phase = calloc((size_t)(readouts * BANDS), sizeof *phase);
    for (int64_t i = 0; i < readouts * BANDS; i++)
        phase[i] = 2 * M_PI * (double)(i / readouts * (i % readouts) % BANDS) / BANDS + most * number_of(&seed);
    return phase;
}

static larmor_source *source_of(larmor_array *kspace, larmor_array *traj, const double *phase)
{
    OWNED(larmor_array) *table = array_of(phase, larmor_array_shape(kspace).dim[1]);
    OWNED(larmor_source) *inner = NULL;
    const larmor_readouts image = {.kspace = kspace, .traj = traj};
    assert_ok(larmor_source_of_arrays(
        &(larmor_scan_arrays){.matrix = {N, N}, .fov_mm = {256, 256, 5}, .image = &image, .images = 1}, &inner));
    return MADE(larmor_source,
                larmor_source_of_multiband(
                    inner, &(larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .phase = table}, &made));
}

static void solve(larmor_source *source, larmor_array *maps, double lambda, int iters, larmor_recon_result *result)
{
    OWNED(larmor_recon) *recon = NULL;
    const larmor_recon_opts opts = OPTS(.maps = maps, .method = "cg", .lambda_mode = LARMOR_LAMBDA_RELATIVE,
                                        .lambda = lambda, .iters = iters, .tol = 1e-9, .delays = LARMOR_DELAYS_OFF,
                                        .memory = INT64_C(1) << 30); /* no other descriptions are tried */
    assert_ok(larmor_recon_create(source, dev, &opts, &recon));
    assert_ok(larmor_recon_run(recon, 0, result));
}

/* Samples that the operator of the exact sum makes of an image. */
static larmor_array *samples_of(const scene *s, const double *phase)
{
    const larmor_shape shape = larmor_array_shape(s->kspace);
    OWNED(larmor_array) *table = array_of(phase, shape.dim[1]), *x = NULL;
    OWNED(larmor_op) *A = NULL;
    larmor_op *slice[BANDS];
    for (int b = 0; b < BANDS; b++) {
        OWNED(larmor_array) *maps = NULL, *line = NULL, *own = NULL;
        assert_ok(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(N, N, COILS), &maps));
        for (int c = 0; c < COILS; c++) {
            OWNED(larmor_array) *from = NULL, *coil = NULL, *flat = NULL, *to = NULL;
            assert_ok(larmor_array_slice(s->maps, c, 1, &from));
            assert_ok(larmor_array_reshape(from, LARMOR_SHAPE(N * N, BANDS), &flat));
            assert_ok(larmor_array_slice(flat, b, 1, &coil));
            assert_ok(larmor_array_slice(maps, c, 1, &to));
            OWNED(larmor_array) *plane = NULL;
            assert_ok(larmor_array_reshape(coil, LARMOR_SHAPE(N, N, 1), &plane));
            assert_ok(larmor_copy(plane, to));
        }
        assert_ok(larmor_op_sense(maps, &(larmor_sense_opts){.traj = s->traj, .toeplitz = -1}, &slice[b]));
    }
    assert_ok(larmor_op_multiband(slice, BANDS, table, &A));
    assert_ok(larmor_array_create(dev, LARMOR_C64, larmor_op_in_shape(A), &x));
    assert_ok(larmor_noise_fill(x, 1, 11));
    larmor_array *y = MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, shape, &made));
    assert_ok(larmor_op_forward(A, x, y));
    for (int b = 0; b < BANDS; b++) larmor_op_free(slice[b]);
    return y;
}

/* The image of samples that the exact sum has made explains them to what the NUFFT, the kernels of the normal map and
 * the sum of products leave. By lines, whose steps converge. */
TEST(phases_of_any_kind_are_in_the_model_of_the_pipeline)
{
    OWNED(scene) s = scene_of("cartesian", 0, 3, 0, 1);
    HEAP double *phase = table_of(larmor_array_shape(s.kspace).dim[1], 3, 5);
    OWNED(larmor_array) *kspace = samples_of(&s, phase);
    OWNED(larmor_source) *source = source_of(kspace, s.traj, phase);
    OWNED(larmor_recon_result) result = {0};
    solve(source, s.maps, 1e-12, 400, &result);
    assert_int_equal(result.report.segments, BANDS);
    assert_at_most(result.report.misfit.relative, 5e-5);
}

/* The phantom's samples with these phases, by sums of the slices' own, and noise. */
static larmor_array *phantom_of(const scene *s, const double *phase)
{
    const larmor_shape shape = larmor_array_shape(s->kspace);
    const int64_t n = shape.dim[0], readouts = shape.dim[1];
    OWNED(larmor_phantom) *object = NULL;
    HEAP void *one = malloc(larmor_array_bytes(s->kspace)), *sum = calloc(1, larmor_array_bytes(s->kspace));
    float complex *x = one, *y = sum;
    larmor_array *made;
    assert_ok(larmor_phantom_create("texture", 3, &object));
    for (int b = 0; b < BANDS; b++) {
        OWNED(larmor_phantom) *plane = NULL;
        OWNED(larmor_array) *alone = NULL;
        assert_ok(larmor_phantom_plane(object, offset[b] / 256, &plane));
        assert_ok(larmor_phantom_kspace(plane, s->traj, COILS, LARMOR_C64, &alone));
        assert_ok(larmor_array_read(alone, x, larmor_array_bytes(alone)));
        for (int64_t i = 0; i < larmor_array_count(alone); i++)
            y[i] += x[i] * (float complex)cexp(I * phase[i / n % readouts + readouts * b]);
    }
    assert_ok(larmor_array_create(dev, LARMOR_C64, shape, &made));
    assert_ok(larmor_array_write(made, y, larmor_array_bytes(made)));
    assert_ok(larmor_phantom_noise(made, 1e-3, 9));
    return made;
}

/* The error of the image by these phases of a scan with those. */
static double error_of(const scene *s, const double *phase, const double *model)
{
    OWNED(larmor_array) *kspace = phantom_of(s, phase);
    OWNED(larmor_source) *source = source_of(kspace, s->traj, model);
    OWNED(larmor_recon_result) result = {0};
    larmor_comparison c;
    solve(source, s->maps, 1e-3, 20, &result);
    assert_ok(larmor_compare(result.image[0].data, s->truth, &(larmor_compare_opts){.inside = 2}, &c));
    return c.nrmse;
}

TEST(images_by_uneven_phases_are_as_good_as_those_by_even_ones)
{
    static const struct {
        const char *trajectory;
        int readouts;
    } scan[] = {{"spiral", 12}, {"golden", 40}, {"cartesian", 0}};
    for (int t = 0; t < of_all(1, 3); t++) {
        OWNED(scene) s = scene_of(scan[t].trajectory, scan[t].readouts, 3, 0, 1);
        const int64_t readouts = larmor_array_shape(s.kspace).dim[1];
        HEAP double *even = table_of(readouts, 0, 5), *uneven = table_of(readouts, 0.3, 5);
        const double by_even = error_of(&s, even, even), by_uneven = error_of(&s, uneven, uneven);
        assert_true(error_of(&s, uneven, even) > 1.2 * by_even);
        assert_at_most(by_uneven, 1.05 * by_even);
    }
}

TEST(uneven_phases_are_refused_where_they_are_not_in_the_model)
{
    OWNED(scene) s = scene_of("golden", 30, 3, 20, 1);
    HEAP double *phase = table_of(30, 0.5, 5);
    OWNED(larmor_source) *volumes = source_of(s.kspace, s.traj, phase);
    OWNED(larmor_recon) *recon = NULL;
    assert_non_null(strstr(larmor_source_describe(volumes).bands_report,
                           "mm, whose phases are given, unevenly from slice to slice"));
    const larmor_recon_opts own = OPTS(.method = "cg");
    assert_refused(larmor_recon_create(volumes, dev, &own, &recon), LARMOR_ERR_UNSUPPORTED,
                   "multiband: phases that grow unevenly from slice to slice need coil maps, which samples with them "
                   "do not give; give maps by opts.maps, or scans of each slice alone.");
    OWNED(larmor_source) *frames = NULL;
    OWNED(larmor_recon) *of_frames = NULL;
    OWNED(larmor_recon_result) result = {0};
    const larmor_recon_opts given = OPTS(.method = "cg", .maps = s.maps);
    assert_ok(larmor_source_of_frames(volumes, &(larmor_frames_opts){.spokes = 10}, &frames));
    larmor_status st = larmor_recon_create(frames, dev, &given, &of_frames);
    if (!st) st = larmor_recon_run(of_frames, 0, &result);
    assert_refused(
        st, LARMOR_ERR_UNSUPPORTED,
        "multiband: frames and bins of arrays: phases that grow unevenly from slice to slice are for whole "
        "images alone");
}
