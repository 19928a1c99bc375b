/* physics/multiband.c: slices that are excited together, as volumes. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "pipeline/maps.h"
#include "schedule/state.h"
#include "tests/pipeline/slice.h"

enum { N = 32, BANDS = 3, COILS = 6 };
static const double offset[BANDS] = {-40, 0, 40};

typedef struct scene {
    larmor_simulation *simulation;
    larmor_array *kspace, *traj, *maps;
    larmor_source *inner;
    int64_t readouts;
} scene;

static void end_scene(scene *s)
{
    larmor_source_free(s->inner);
    LMR_FREE(s->maps, s->traj, s->kspace);
    larmor_simulation_free(s->simulation);
}

/* turn: the phase in rad that all slices get in readout j is turn j^2. */
static scene scene_of(const char *trajectory, int readouts, double turn)
{
    scene s = {.readouts = readouts};
    const larmor_simulation_opts opts = {.trajectory = trajectory,
                                         .traj = {.matrix = {N, N}, .readouts = readouts},
                                         .phantom = "texture",
                                         .coils = COILS,
                                         .bands = BANDS};
    larmor_image_meta meta;
    assert_ok(larmor_simulation_create(dev, &opts, &s.simulation));
    assert_ok(larmor_simulation_samples(s.simulation, 0, 0, 0, &s.kspace, &s.traj));
    assert_ok(larmor_simulation_maps(s.simulation, NULL, &s.maps, &meta));
    const int64_t samples = larmor_array_shape(s.kspace).dim[0];
    HEAP void *host = host_of(s.kspace);
    float complex *y = host;
    for (int64_t i = 0; i < larmor_array_count(s.kspace); i++) {
        const double j = (double)(i / samples % readouts);
        y[i] *= (float complex)cexp(I * turn * j * j);
    }
    assert_ok(larmor_array_write(s.kspace, y, larmor_array_bytes(s.kspace)));
    s.inner = slice_of(s.kspace, s.traj, N);
    return s;
}

/* Of slices whose phases in readout j are turn j^2 + 2 pi s j / BANDS. */
static larmor_array *phases_of(const scene *s, double turn)
{
    HEAP double *phase = calloc((size_t)(s->readouts * BANDS), sizeof *phase);
    for (int64_t i = 0; i < s->readouts * BANDS; i++) {
        const double j = (double)(i % s->readouts);
        phase[i] = turn * j * j + 2 * M_PI * (double)(i / s->readouts) * j / BANDS;
    }
    larmor_array *x =
        MADE(larmor_array, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(s->readouts, BANDS), &made));
    assert_ok(larmor_array_write(x, phase, larmor_array_bytes(x)));
    return x;
}

static larmor_recon_result image_of(larmor_source *source, larmor_array *maps, const char *method)
{
    OWNED(larmor_recon) *recon = NULL;
    larmor_recon_result result;
    const larmor_recon_opts opts =
        OPTS(.maps = maps, .method = method, .lambda_mode = LARMOR_LAMBDA_RELATIVE, .lambda = 1e-5,
             .delays = LARMOR_DELAYS_OFF, .memory = INT64_C(1) << 30); /* no other descriptions are tried */
    assert_ok(larmor_recon_create(source, dev, &opts, &recon));
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_int_equal(result.count, 1);
    return result;
}

static double error_of(const scene *s, const larmor_recon_result *result)
{
    larmor_comparison c;
    OWN(larmor_expected, expected, larmor_simulation_expect(s->simulation, &expected));
    assert_ok(larmor_compare(result->image[0].data, expected.image[0].data, &(larmor_compare_opts){.inside = 2}, &c));
    assert_at_most(hypot(c.factor[0] - 1, c.factor[1]), 0.01); /* in the unit of the density */
    return c.nrmse;
}

TEST(a_volume_has_the_slices_where_they_were_excited)
{
    OWNED(scene) s = scene_of("golden", 90, 0);
    OWNED(larmor_source) *volumes = NULL;
    assert_ok(larmor_source_of_multiband(
        s.inner, &(larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .shifts = BANDS}, &volumes));
    OWNED(larmor_recon_result) result = image_of(volumes, s.maps, "cg");
    const larmor_shape shape = larmor_array_shape(result.image[0].data);
    assert_int_equal(shape.ndim, 3);
    assert_int_equal(shape.dim[2], BANDS);
    assert_true(result.image[0].meta.position_mm[2] == 7 && result.image[0].meta.fov_mm[2] == 3 * 40);
    assert_int_equal(larmor_source_describe(volumes).bands, BANDS);
    assert_at_most(error_of(&s, &result), 0.02);
}

TEST(phases_of_an_array_are_those_of_cycled_pulses_whatever_all_slices_share)
{
    const double turn = 0.37;
    OWNED(scene) s = scene_of("spiral", 12, 0), turned = scene_of("spiral", 12, turn);
    OWNED(larmor_array) *phase = phases_of(&turned, turn);
    OWNED(larmor_source) *volumes = NULL, *others = NULL;
    assert_ok(larmor_source_of_multiband(
        s.inner, &(larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .shifts = BANDS}, &volumes));
    assert_ok(larmor_source_of_multiband(
        turned.inner, &(larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .phase = phase}, &others));
    larmor_grid grid;
    larmor_comparison c;
    OWNED(larmor_samples) a = {0}, b = {0};
    assert_ok(larmor_source_samples(volumes, 0, NULL, dev, &grid, &a));
    assert_ok(larmor_source_samples(others, 0, NULL, dev, &grid, &b));
    assert_ok(larmor_compare(b.kspace, a.kspace, NULL, &c));
    assert_at_most(c.nrmse, 1e-6);
    assert_at_most(hypot(c.factor[0] - 1, c.factor[1]), 1e-6);
    assert_ok(larmor_compare(b.traj, a.traj, NULL, &c));
    assert_at_most(c.nrmse, 1e-9);
}

/* Slices are no neighbours: the penalty of one does not know the others. */
TEST(differences_between_slices_cost_nothing)
{
    OWNED(scene) s = scene_of("golden", 90, 0);
    OWNED(larmor_source) *volumes = NULL;
    assert_ok(larmor_source_of_multiband(
        s.inner, &(larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .shifts = BANDS}, &volumes));
    OWNED(larmor_recon_result) all = image_of(volumes, s.maps, "tv"), plane = image_of(volumes, s.maps, "tv:xy");
    larmor_comparison c;
    assert_ok(larmor_compare(all.image[0].data, plane.image[0].data, NULL, &c));
    assert_at_most(c.nrmse, 1e-3);
}

/* Places of slices are none of their phases: samples are the same, and a volume does not say where it lies. */
TEST(slices_need_not_be_equally_far_apart)
{
    const double uneven[BANDS] = {-40, 0, 50};
    OWNED(scene) s = scene_of("spiral", 12, 0);
    OWNED(larmor_source) *even = NULL, *volumes = NULL;
    larmor_multiband_opts opts = {.offset_mm = offset, .bands = BANDS, .shifts = BANDS};
    assert_ok(larmor_source_of_multiband(s.inner, &opts, &even));
    opts.offset_mm = uneven;
    assert_ok(larmor_source_of_multiband(s.inner, &opts, &volumes));
    const larmor_raw_info info = larmor_source_describe(volumes);
    assert_string_equal(info.bands_report, "3 slices at -40, 0, 50 mm, whose phases are 2 pi s j / 3");
    assert_non_null(strstr(info.warnings,
                           "multiband: slices are not equally far apart: images have the mean distance "
                           "of 45 mm, and do not say where they lie.\n"));
    larmor_grid grid;
    larmor_comparison c;
    OWNED(larmor_samples) x = {0}, y = {0};
    assert_ok(larmor_source_samples(even, 0, NULL, dev, &grid, &x));
    assert_ok(larmor_source_samples(volumes, 0, NULL, dev, &grid, &y));
    assert_ok(larmor_compare(y.kspace, x.kspace, NULL, &c));
    assert_at_most(c.nrmse, 1e-6);
    assert_ok(larmor_compare(y.traj, x.traj, NULL, &c));
    assert_at_most(c.nrmse, 1e-9);
    OWNED(larmor_recon_result) b = image_of(volumes, s.maps, "cg");
    assert_true(b.image[0].meta.place_unknown);
    assert_true(b.image[0].meta.fov_mm[2] == 3 * 45);
}

static void refuse(const scene *s, larmor_multiband_opts opts, larmor_status status, const char *text)
{
    assert_none_made(larmor_source, larmor_source_of_multiband(s->inner, &opts, &made), status, text);
}

TEST(what_makes_no_volume_is_refused)
{
    OWNED(scene) s = scene_of("golden", 12, 0);
    const double falling[BANDS] = {40, 0, -40};
    refuse(&s, (larmor_multiband_opts){.offset_mm = falling, .bands = BANDS, .shifts = 3}, LARMOR_ERR_ARG,
           "multiband: slices from 40 to -40 mm, expected ascending offsets");
    refuse(&s, (larmor_multiband_opts){.offset_mm = offset, .bands = 1, .shifts = 3}, LARMOR_ERR_ARG,
           "multiband: got 1 bands, expected 2 to 16 and their offsets");
    refuse(&s, (larmor_multiband_opts){.offset_mm = offset, .bands = BANDS}, LARMOR_ERR_ARG,
           "multiband: got 0 shifts, expected 1 to 1024, or phases");
    OWNED(larmor_array) *phase = phases_of(&s, 0.2), *few = NULL;
    assert_ok(larmor_array_slice(phase, 0, 2, &few));
    refuse(&s, (larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .phase = few}, LARMOR_ERR_SHAPE,
           "multiband: phases of 12 readouts and 2 slices, expected those of the 12 readouts and 3 slices");
    assert_ok(larmor_fill(few, NAN)); /* two slices of the three */
    refuse(&s, (larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .phase = phase}, LARMOR_ERR_NUMERIC,
           "multiband: the phase of readout 0 is not finite");
}

/* ---- kz of the trajectory ---- */

/* Cycles over the three slices' field of view, which differ within a readout, too. */
static double kz_of(int64_t sample, int64_t readout)
{
    return 1.4 * sin(0.1 * (double)sample + 2.4 * (double)readout);
}

/* The sum of the slices by direct sums of their phases, and the trajectory with kz. */
static void blip(const scene *s, larmor_array **kspace, larmor_array **traj)
{
    const larmor_shape shape = larmor_array_shape(s->kspace);
    const int64_t count = shape.dim[0] * shape.dim[1];
    HEAP double *flat = malloc(larmor_array_bytes(s->traj)), *k = calloc((size_t)count * 3, sizeof *k);
    HEAP void *one = malloc(larmor_array_bytes(s->kspace)), *sum = calloc(1, larmor_array_bytes(s->kspace));
    float complex *x = one, *y = sum;
    larmor_phantom *plane;
    larmor_array *alone;
    assert_ok(larmor_array_read(s->traj, flat, larmor_array_bytes(s->traj)));
    OWN(larmor_phantom, *object, larmor_phantom_create("texture", 3, &object));
    for (int b = 0; b < BANDS; b++) {
        assert_ok(larmor_phantom_plane(object, offset[b] / 256, &plane));
        assert_ok(larmor_phantom_kspace(plane, s->traj, COILS, LARMOR_C64, &alone));
        assert_ok(larmor_array_read(alone, x, larmor_array_bytes(alone)));
        for (int64_t i = 0; i < count * COILS; i++) {
            const double kz = kz_of(i % shape.dim[0], i / shape.dim[0] % shape.dim[1]);
            y[i] += x[i] * (float complex)cexp(-2 * M_PI * I * kz * offset[b] / 120);
        }
        larmor_array_free(alone);
        larmor_phantom_free(plane);
    }
    for (int64_t i = 0; i < count; i++) {
        k[3 * i] = flat[2 * i];
        k[3 * i + 1] = flat[2 * i + 1];
        k[3 * i + 2] = kz_of(i % shape.dim[0], i / shape.dim[0]);
    }
    assert_ok(larmor_array_create(dev, LARMOR_C64, shape, kspace));
    assert_ok(larmor_array_write(*kspace, y, larmor_array_bytes(*kspace)));
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(3, shape.dim[0], shape.dim[1]), traj));
    assert_ok(larmor_array_write(*traj, k, larmor_array_bytes(*traj)));
}

TEST(a_volume_of_the_slices_has_kz_of_its_trajectory)
{
    OWNED(scene) s = scene_of("spiral", 24, 0);
    OWNED(larmor_array) *kspace = NULL, *traj = NULL;
    OWNED(larmor_source) *inner = NULL, *volumes = NULL;
    larmor_source *refused;
    blip(&s, &kspace, &traj);
    const larmor_readouts image = {.kspace = kspace, .traj = traj};
    const larmor_scan_arrays scan = {
        .matrix = {N, N, BANDS}, .fov_mm = {256, 256, 120}, .image = &image, .images = 1};
    larmor_multiband_opts opts = {.offset_mm = offset, .bands = BANDS};
    assert_ok(larmor_source_of_arrays(&scan, &inner));
    assert_ok(larmor_source_of_multiband(inner, &opts, &volumes));
    OWNED(larmor_recon_result) result = image_of(volumes, s.maps, "cg");
    assert_at_most(error_of(&s, &result), 0.02);
    assert_string_equal(larmor_source_describe(volumes).bands_report,
                        "3 slices at -40, 0, 40 mm, kz is the trajectory's");
    opts.shifts = BANDS;
    assert_refused(
        larmor_source_of_multiband(inner, &opts, &refused), LARMOR_ERR_ARG,
        "multiband: arrays is a volume of the slices, whose kz its readouts have: no phases are to be given");
}

/* ---- a header, and scans of each slice alone ---- */

#define SPACE(name)                                                                                                  \
    "<" name "><matrixSize><x>32</x><y>32</y><z>%d</z></matrixSize><fieldOfView_mm><x>256</x><y>256</y><z>%d</z>"    \
    "</fieldOfView_mm></" name ">"
#define ENCODING(inside)                                                                                             \
    "<encoding>" SPACE("encodedSpace") SPACE("reconSpace") "<encodingLimits></encodingLimits><trajectory>%s"         \
                                                           "</trajectory>" inside "</encoding>"
#define MULTIBAND                                                                                                    \
    "<parallelImaging><accelerationFactor><kspace_encoding_step_1>1</"                                               \
    "kspace_encoding_step_1><kspace_encoding_step_2>"                                                                \
    "1</kspace_encoding_step_2></accelerationFactor><calibrationMode>separate</calibrationMode><multiband><spacing>" \
    "<dZ>-40</dZ><dZ>0</dZ><dZ>40</dZ></spacing><deltaKz>-1</deltaKz><multiband_factor>3</multiband_factor>"         \
    "<calibration>%s</calibration><calibration_encoding>%d</calibration_encoding></multiband></parallelImaging>"

enum { SAMPLES = 400, MOST = 600, PARTITIONS = 16, SPOKES = 30 };

typedef struct stored { /* a scan in memory */
    int count;
    larmor_acquisition each[MOST];
    float data[MOST][2 * SAMPLES * COILS], traj[MOST][3 * SAMPLES];
} stored;

/* The readouts of arrays, at an offset along z. Those of lines are stored without a trajectory. */
static void append(stored *to, larmor_array *kspace, larmor_array *traj, double mm, larmor_acquisition one)
{
    const int are_lines = one.traj_dims < 0;
    const larmor_shape k = larmor_array_shape(kspace);
    const int64_t n = k.dim[0], readouts = k.dim[1], nd = larmor_array_shape(traj).dim[0];
    HEAP float *y = malloc(larmor_array_bytes(kspace));
    HEAP double *at = malloc(larmor_array_bytes(traj));
    assert_ok(larmor_array_read(kspace, y, larmor_array_bytes(kspace)));
    assert_ok(larmor_array_read(traj, at, larmor_array_bytes(traj)));
    assert_true(n <= SAMPLES && to->count + readouts <= MOST);
    one.samples = (int)n;
    one.center_sample = (int)n / 2;
    one.coils = COILS;
    one.traj_dims = are_lines ? 0 : (int)nd;
    one.dwell_us = 4;
    one.read_dir[0] = one.phase_dir[1] = one.slice_dir[2] = 1;
    one.position_mm[2] = mm;
    for (int64_t j = 0; j < readouts; j++) {
        const int i = to->count++;
        for (int c = 0; c < COILS; c++)
            memcpy(to->data[i] + 2 * n * c, y + 2 * n * (j + readouts * c), (size_t)n * 2 * sizeof *y);
        for (int64_t d = 0; d < nd * n; d++) to->traj[i][d] = (float)at[nd * n * j + d];
        one.step1 = (int)j;
        one.data = to->data[i];
        one.traj = are_lines ? NULL : to->traj[i];
        to->each[i] = one;
    }
}

/* How each slice alone is stored: `shift` mm from where it should be. */
typedef struct alone {
    double shift;
    const char *trajectory; /* "cartesian": without a trajectory, as the scan */
    int encoding;
    uint64_t flag;
    int64_t samples; /* of a readout; 0: the trajectory's */
} alone;

/* Each slice alone; then the scan. */
static void store(scene *s, double sigma, alone how, stored *to)
{
    const int dims = strcmp(how.trajectory, "cartesian") ? 0 : -1;
    larmor_phantom *plane;
    larmor_array *traj, *one;
    const larmor_traj_opts all = {.matrix = {N, N}, .readouts = dims ? 0 : 60, .samples = how.samples};
    OWN(larmor_phantom, *object, larmor_phantom_create("texture", 3, &object));
    assert_ok(larmor_traj_create(dev, how.trajectory, &all, &traj));
    for (int b = 0; b < BANDS; b++) {
        assert_ok(larmor_phantom_plane(object, offset[b] / 256, &plane));
        assert_ok(larmor_phantom_kspace(plane, traj, COILS, LARMOR_C64, &one));
        assert_ok(larmor_phantom_noise(one, sigma, 7 + (uint64_t)b));
        append(to, one, traj, offset[b] + how.shift,
               (larmor_acquisition){.encoding = how.encoding, .slice = b, .flags = how.flag, .traj_dims = dims});
        larmor_array_free(one);
        larmor_phantom_free(plane);
    }
    larmor_array_free(traj);
    assert_ok(larmor_phantom_noise(s->kspace, sigma, 1));
    append(to, s->kspace, s->traj, 0, (larmor_acquisition){.encoding = 0, .traj_dims = dims});
}

/* The scan by a header with this calibration. */
static larmor_source *source_with(const stored *all, const char *calibration, const larmor_raw_opts *opts,
                                  larmor_raw **raw)
{
    const char *type = all->each[0].traj_dims ? "other" : "cartesian";
    const int solid = !strcmp(calibration, "full3D");
    const int z = solid ? PARTITIONS : 1;
    const int fov = solid ? 256 : 5;
    char xml[4096];
    const int bytes = snprintf(xml, sizeof xml, "<ismrmrdHeader>" ENCODING(MULTIBAND) ENCODING("") "</ismrmrdHeader>",
                               1, 5, 1, 5, type, calibration, all->each[0].encoding, z, fov, z, fov, type);
    assert_ok(larmor_raw_of_acquisitions(xml, bytes, all->each, all->count, opts, raw));
    return MADE(larmor_source, larmor_source_of_raw(*raw, "scan", &made));
}

static larmor_source *source_by_header(const stored *all, const char *calibration, larmor_raw **raw)
{
    return source_with(all, calibration, NULL, raw);
}

/* The error of the magnitude of its image by given maps or a method; its log: *info. */
static double error_by_maps(scene *s, const stored *all, const char *calibration, larmor_array *maps,
                            const char *method, larmor_raw_info *info)
{
    OWNED(larmor_raw) *raw = NULL;
    OWNED(larmor_source) *source = source_by_header(all, calibration, &raw);
    larmor_comparison c;
    *info = larmor_source_describe(source);
    assert_int_equal(info->groups, 1);
    OWNED(larmor_recon) *recon = NULL;
    OWNED(larmor_recon_result) result = {0};
    const larmor_recon_opts opts =
        OPTS(.maps = maps, .maps_method = method, .method = "cg", .lambda_mode = LARMOR_LAMBDA_RELATIVE,
             .lambda = 1e-3, .iters = 12, .delays = LARMOR_DELAYS_OFF);
    assert_ok(larmor_recon_create(source, dev, &opts, &recon));
    assert_ok(larmor_recon_run(recon, 0, &result));
    OWN(larmor_expected, expected, larmor_simulation_expect(s->simulation, &expected));
    assert_ok(
        larmor_compare(result.image[0].data, expected.image[0].data, &(larmor_compare_opts){.magnitude = 1}, &c));
    return c.nrmse;
}

static double error_by_header(scene *s, const stored *all, const char *calibration, larmor_array *maps,
                              larmor_raw_info *info)
{
    return error_by_maps(s, all, calibration, maps, NULL, info);
}

/* Where the scan itself does not tell the slices apart: a few arms. */
TEST(scans_of_each_slice_alone_give_the_coil_maps)
{
    OWNED(scene) s = scene_of("spiral", 12, 0);
    HEAP void *memory = calloc(1, sizeof(stored));
    stored *all = memory;
    larmor_raw_info info;
    store(&s, 1e-3, (alone){0, "golden", 1, LARMOR_ACQ_CALIBRATION, 0}, all);
    const double by_truth = error_by_header(&s, all, "separable2D", s.maps, &info);
    const double by_reference = error_by_header(&s, all, "separable2D", NULL, &info);
    assert_int_equal(info.calibration, 3 * 60);
    assert_string_equal(info.bands_report, "3 slices at -40, 0, 40 mm, whose phases are 2 pi s j / 3, by the header; "
                                           "each alone for the coil maps");
    const double by_data = error_by_header(&s, all, "other", NULL, &info);
    assert_int_equal(info.calibration, 0);
    assert_at_most(by_reference, 1.15 * by_truth);
    assert_at_most(by_data, 1.5 * by_truth); /* by Walsh's method above 2.3 */
}

/* Spokes whose samples are 1.5/FOV apart, so that the object comes again in maps from their centre. */
TEST(maps_of_each_slice_are_by_the_rules_of_other_scans)
{
    OWNED(scene) s = scene_of("spiral", 12, 0);
    HEAP void *memory = calloc(1, sizeof(stored));
    stored *all = memory;
    larmor_raw_info info;
    store(&s, 1e-3, (alone){0, "golden", 1, LARMOR_ACQ_CALIBRATION, 22}, all);
    const double by_truth = error_by_header(&s, all, "separable2D", s.maps, &info);
    assert_at_most(error_by_header(&s, all, "separable2D", NULL, &info), 1.3 * by_truth);
    all->count = 0;
    store(&s, 1e-4, (alone){0, "golden", 1, LARMOR_ACQ_CALIBRATION, 0}, all);
    const double by_hand = error_by_maps(&s, all, "separable2D", NULL, "espirit", &info);
    assert_at_most(by_hand, 1.3 * by_truth);
}

static int64_t bytes_of_maps(const larmor_recon *recon, const char *method, int64_t slices, int apart)
{
    larmor_grid grid = recon->facts.grid[0];
    const larmor_problem p = {
        .image = LARMOR_SHAPE(N, N, slices), .samples = 4096, .coils = COILS, .dtype = LARMOR_C64};
    int64_t bytes;
    grid.apart[2] = apart;
    assert_ok(lmr_maps_bytes(&recon->job, lmr_maps_method_of(method), &grid, &p, &bytes));
    return bytes;
}

TEST(maps_of_one_slice_at_a_time_take_what_one_slice_takes)
{
    static const char *const method[] = {"walsh", "espirit", "nlinv"};
    OWNED(scene) s = scene_of("golden", 90, 0);
    OWN(larmor_recon, *recon, larmor_recon_create(s.inner, dev, &OPTS(.method = "cg"), &recon));
    for (int i = 0; i < 3; i++) {
        const int64_t one = bytes_of_maps(recon, method[i], 1, 1);
        assert_int_equal(bytes_of_maps(recon, method[i], 8, 1), one);
        assert_true(bytes_of_maps(recon, method[i], 8, 0) > one);
    }
}

TEST(without_a_scan_at_a_slices_place_maps_come_from_the_data)
{
    OWNED(scene) s = scene_of("golden", 90, 0);
    HEAP void *memory = calloc(1, sizeof(stored));
    stored *all = memory;
    larmor_raw_info info;
    store(&s, 0, (alone){15, "golden", 1, LARMOR_ACQ_CALIBRATION, 0}, all);
    error_by_header(&s, all, "separable2D", NULL, &info);
    assert_int_equal(info.calibration, 0);
    assert_non_null(strstr(info.warnings,
                           "multiband: no reference image of scan lies at -40 mm, where a slice is; the "
                           "nearest one is 15 mm off; coil maps are found from the data.\n"));
}

/* Within the scan's own encoding, and as lines without a trajectory. */
TEST(flagged_readouts_of_each_slice_give_the_coil_maps)
{
    static const struct {
        const char *scan, *reference;
        int readouts;
        uint64_t flag;
    } scenes[] = {{"spiral", "golden", 12, LARMOR_ACQ_CALIBRATION},
                  {"golden", "golden", 40, LARMOR_ACQ_CALIBRATION_AND_IMAGING},
                  {"cartesian", "cartesian", 0, LARMOR_ACQ_CALIBRATION}};
    HEAP void *memory = calloc(1, sizeof(stored));
    for (int i = of_all(1, 0); i < 3; i++) {
        OWNED(scene) s = scene_of(scenes[i].scan, scenes[i].readouts ? scenes[i].readouts : N, 0);
        stored *all = memory;
        larmor_raw_info info;
        all->count = 0;
        store(&s, 1e-3, (alone){0, scenes[i].reference, 0, scenes[i].flag, 0}, all);
        const double by_truth = error_by_header(&s, all, "separable2D", s.maps, &info);
        const double by_reference = error_by_header(&s, all, "separable2D", NULL, &info);
        assert_non_null(strstr(info.bands_report, "by the header; each alone for the coil maps"));
        assert_int_equal(info.groups, 1);
        assert_at_most(by_reference, 1.25 * by_truth);
    }
}

TEST(without_the_header_flagged_readouts_of_each_slice_are_left_out_or_images_as_is_asked)
{
    OWNED(scene) s = scene_of("golden", 12, 0);
    HEAP void *memory = calloc(1, sizeof(stored));
    stored *all = memory;
    for (int encoding = 0; encoding < 2; encoding++) {
        all->count = 0;
        store(&s, 1e-3, (alone){0, "golden", encoding, LARMOR_ACQ_CALIBRATION, 0}, all);
        for (int asked = 1; asked < 3; asked++) {
            OWNED(larmor_raw) *raw = NULL;
            OWNED(larmor_source) *source =
                source_with(all, "separable2D", &(larmor_raw_opts){.multiband_left_out = asked}, &raw);
            const larmor_raw_info info = larmor_source_describe(source);
            assert_int_equal(info.groups, asked == 1 ? 1 + BANDS : 1);
            assert_int_equal(info.imaging, 12 + (asked == 1 ? BANDS * 60 : 0));
            assert_string_equal(info.dropped_report, asked == 1 ? "" : "180 of each slice for calibration");
            assert_int_equal(info.calibration, 0);
        }
    }
}

/* References have readouts of their own, which no phase belongs to. */
TEST(phases_of_an_array_are_of_the_readouts_of_images_and_not_of_references)
{
    OWNED(scene) s = scene_of("spiral", 12, 0);
    HEAP void *memory = calloc(1, sizeof(stored));
    stored *all = memory;
    store(&s, 1e-3, (alone){0, "golden", 0, LARMOR_ACQ_CALIBRATION, 0}, all);
    OWNED(larmor_raw) *raw = NULL;
    OWNED(larmor_source) *source = source_by_header(all, "separable2D", &raw), *given = NULL, *refused = NULL;
    OWNED(larmor_array) *phase = phases_of(&s, 0), *more = NULL;
    larmor_multiband_opts opts = {.offset_mm = offset, .bands = BANDS, .phase = phase};
    assert_ok(larmor_source_of_multiband(source, &opts, &given));
    assert_int_equal(larmor_source_describe(given).groups, 1);
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(12 + 3 * 60, BANDS), &more));
    opts.phase = more;
    assert_refused(larmor_source_of_multiband(source, &opts, &refused), LARMOR_ERR_SHAPE,
                   "multiband: phases of 192 readouts and 3 slices, expected those of the 12 readouts and 3 slices");
}

/* A stack of golden spokes through all of the object, whose centre is `shift` mm from that of the scan; uneven: the
 * spokes of one partition are others. Then the scan. */
static void store_volume(scene *s, double shift, int uneven, stored *to)
{
    const larmor_traj_opts spokes = {.matrix = {N, N}, .readouts = SPOKES};
    OWNED(larmor_array) *flat = NULL, *traj = NULL, *kspace = NULL;
    OWNED(larmor_phantom) *object = NULL;
    assert_ok(larmor_phantom_create("texture", 3, &object));
    assert_ok(larmor_traj_create(dev, "golden", &spokes, &flat));
    const int64_t n = larmor_array_shape(flat).dim[1], count = n * SPOKES * PARTITIONS;
    HEAP double *in = malloc(larmor_array_bytes(flat)), *k = calloc((size_t)count * 3, sizeof *k);
    assert_ok(larmor_array_read(flat, in, larmor_array_bytes(flat)));
    for (int64_t i = 0; i < count; i++) {
        const int64_t p = i / (n * SPOKES), turn = uneven && p == 3;
        k[3 * i] = in[2 * (i % (n * SPOKES)) + turn];
        k[3 * i + 1] = in[2 * (i % (n * SPOKES)) + 1 - turn];
        k[3 * i + 2] = (double)(p - PARTITIONS / 2);
    }
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(3, n, SPOKES * PARTITIONS), &traj));
    assert_ok(larmor_array_write(traj, k, larmor_array_bytes(traj)));
    assert_ok(larmor_phantom_kspace(object, traj, COILS, LARMOR_C64, &kspace));
    HEAP void *host = malloc(larmor_array_bytes(kspace));
    float complex *y = host;
    assert_ok(larmor_array_read(kspace, y, larmor_array_bytes(kspace)));
    for (int64_t i = 0; i < count * COILS; i++)
        y[i] *= (float complex)cexp(2 * M_PI * I * k[3 * (i % count) + 2] * shift / 256);
    assert_ok(larmor_array_write(kspace, y, larmor_array_bytes(kspace)));
    assert_ok(larmor_phantom_noise(kspace, 1e-3, 5));
    assert_ok(larmor_phantom_noise(s->kspace, 1e-3, 1));
    to->count = 0;
    append(to, kspace, traj, shift, (larmor_acquisition){.encoding = 1, .flags = LARMOR_ACQ_CALIBRATION});
    append(to, s->kspace, s->traj, 0, (larmor_acquisition){.encoding = 0});
}

TEST(a_volume_of_all_slices_gives_the_coil_maps)
{
    HEAP void *memory = calloc(1, sizeof(stored));
    OWNED(scene) s = scene_of("spiral", 12, 0);
    larmor_raw_info info;
    store_volume(&s, 10, 0, memory);
    const double by_truth = error_by_header(&s, memory, "full3D", s.maps, &info);
    const double by_reference = error_by_header(&s, memory, "full3D", NULL, &info);
    assert_string_equal(info.bands_report,
                        "3 slices at -40, 0, 40 mm, whose phases are 2 pi s j / 3, by the header; a "
                        "volume of them for the coil maps");
    assert_at_most(by_reference, 1.25 * by_truth);
}

TEST(a_volume_that_is_no_stack_is_refused)
{
    HEAP void *memory = calloc(1, sizeof(stored));
    OWNED(scene) s = scene_of("spiral", 12, 0);
    OWNED(larmor_raw) *raw = NULL;
    OWNED(larmor_recon) *recon = NULL;
    OWNED(larmor_recon_result) result = {0};
    store_volume(&s, 0, 1, memory);
    OWNED(larmor_source) *source = source_by_header(memory, "full3D", &raw);
    const larmor_recon_opts opts = OPTS(.method = "cg", .delays = LARMOR_DELAYS_OFF);
    larmor_status st = larmor_recon_create(source, dev, &opts, &recon);
    if (!st) st = larmor_recon_run(recon, 0, &result);
    assert_refused(
        st, LARMOR_ERR_UNSUPPORTED,
        "multiband: the reference volume of scan is no stack of the same readouts in each partition, which "
        "slices can be cut from; give maps by opts.maps.");
}
