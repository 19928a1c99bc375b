/* A volume in slabs by default, with the weight that is chosen from the data and the preconditioner, against the
 * same volume whole: schedule/slab_plan.c, pipeline/weight.c. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/slab_threads.h"
#include "tests/pipeline/scan.h"

enum { CHANNELS = 12, MANY_CHANNELS = 18, SIDE = 20, LINES = 128 };

/* ---- trajectories ---- */

static larmor_array *named_traj(const char *name, int64_t readouts, int64_t first)
{
    const larmor_traj_opts opts = {
        .matrix = {SIDE, SIDE, SIDE}, .readouts = readouts, .samples = 2 * SIDE, .first = first};
    return MADE(larmor_array, larmor_traj_create(dev, name, &opts, &made));
}

/* Archimedean arms in each partition. */
static larmor_array *spirals_traj(int64_t arms, int64_t first)
{
    double *k = malloc(sizeof *k * 3 * LINES * (size_t)(arms * SIDE)), *at = k;
    assert_non_null(k);
    for (int z = 0; z < SIDE; z++)
        for (int64_t a = 0; a < arms; a++)
            for (int s = 0; s < LINES; s++) {
                const double part = (double)s / LINES,
                             angle = 2 * M_PI * ((double)(a + first) / (double)arms + 3 * part);
                *at++ = SIDE / 2. * part * cos(angle);
                *at++ = SIDE / 2. * part * sin(angle);
                *at++ = z - SIDE / 2;
            }
    larmor_array *traj = MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, LINES, arms * SIDE),
                                                                LARMOR_F64, k, &made));
    free(k);
    return traj;
}

/* ---- scenes ---- */

typedef struct scene {
    const char *name, *traj; /* traj NULL: spirals */
    int64_t readouts;
    double noise;
    int slabs, images, channels; /* channels 0: CHANNELS */
    larmor_readouts image[2];
    larmor_source *source;
} scene;

static void make(scene *s)
{
    const larmor_scan_arrays arrays = {.matrix = {SIDE, SIDE, SIDE}, .image = s->image, .images = s->images};
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 3, &phantom));
    for (int i = 0; i < s->images; i++) {
        larmor_readouts *r = &s->image[i];
        r->traj = s->traj ? named_traj(s->traj, s->readouts, i) : spirals_traj(s->readouts, i);
        assert_ok(
            larmor_phantom_kspace(phantom, r->traj, s->channels ? s->channels : CHANNELS, LARMOR_C64, &r->kspace));
        if (s->noise > 0) assert_ok(larmor_phantom_noise(r->kspace, s->noise, 1 + (uint64_t)i));
        r->meta.repetition = i;
    }
    assert_ok(larmor_source_of_arrays(&arrays, &s->source));
}

static void clear(scene *s)
{
    larmor_source_free(s->source);
    for (int i = 0; i < s->images; i++) LMR_FREE(s->image[i].kspace, s->image[i].traj);
}

static larmor_recon *begin(const scene *s, const char *spec, int64_t memory, larmor_recon_plan *plan)
{
    const larmor_recon_opts opts = OPTS(.method = "cg", .calibration = 8, .memory = memory);
    larmor_recon *recon;
    larmor_device *on = MADE(larmor_device, larmor_device_open(spec, &made));
    const larmor_status st = larmor_recon_create(s->source, on, &opts, &recon);
    larmor_device_free(on);
    if (st == LARMOR_ERR_MEMORY) return NULL;
    assert_ok(st);
    assert_ok(larmor_recon_describe(recon, 0, plan));
    return recon;
}

/* With the most memory, to 10 %, that makes slabs. */
static larmor_recon *begin_slabs(const scene *s, larmor_recon_plan *plan)
{
    const char *spec = s->slabs == 2 ? "cpu:1,1" : "cpu:1,1,1";
    larmor_recon *recon = begin(s, spec, 0, plan);
    assert_non_null(recon);
    for (double memory = (double)plan->bytes; recon && !plan->slabs; memory *= 0.9) {
        larmor_recon_free(recon);
        recon = begin(s, spec, (int64_t)memory, plan);
    }
    if (!recon) print_message("%s: no limit of memory makes slabs\n", s->name);
    assert_non_null(recon);
    return recon;
}

static float *run(larmor_recon *recon, int series, larmor_recon_report *report)
{
    OWN(larmor_recon_result, result, larmor_recon_run(recon, series, &result));
    float *values = host_of(result.image[0].data);
    *report = result.report;
    return values;
}

static double apart_by(const float *x, const float *y)
{
    double d = 0, whole = 0;
    for (int64_t i = 0; i < 2 * SIDE * SIDE * SIDE; i++) {
        d += (double)(x[i] - y[i]) * (x[i] - y[i]);
        whole += (double)y[i] * y[i];
    }
    return sqrt(d / whole);
}

/* So far apart are weights, relative to each other, and images in single precision. */
#define OF_WEIGHT 0.02
#define OF_IMAGE 1e-2

static void expect_alike(const scene *s)
{
    larmor_recon_plan plan;
    OWNED(larmor_recon) *whole = begin(s, "cpu:1", 0, &plan), *slabs = begin_slabs(s, &plan);
    assert_int_equal(plan.slabs, s->slabs);
    assert_true(plan.chooses && plan.precondition >= 0);
    assert_true(plan.bytes <= plan.limit);
    for (int i = 0; i < s->images; i++) {
        larmor_recon_report of_whole, of_slabs;
        HEAP float *x = run(whole, i, &of_whole), *y = run(slabs, i, &of_slabs);
        print_message("%s, %d slabs, image %d: lambda %.4g and %.4g, %d and %d iterations, %.2g apart\n", s->name,
                      s->slabs, i, of_whole.lambda, of_slabs.lambda, of_whole.solver.iters, of_slabs.solver.iters,
                      apart_by(y, x));
        assert_int_equal(of_slabs.lambda_from, of_whole.lambda_from);
        assert_int_equal(of_slabs.choice.tried, of_whole.choice.tried);
        assert_int_equal(of_slabs.preconditioned, of_whole.preconditioned);
        assert_true(of_slabs.preconditioned);
        assert_at_most(fabs(of_slabs.lambda / of_whole.lambda - 1), OF_WEIGHT);
        assert_at_most(apart_by(y, x), OF_IMAGE);
    }
}

TEST(by_default_slabs_give_the_image_of_the_whole)
{
    scene scenes[] = {
        {.name = "koosh", .traj = "koosh", .readouts = 600, .noise = 3e-4, .slabs = 2, .images = 2},
        {.name = "koosh, much noise, undersampled",
         .traj = "koosh",
         .readouts = 300,
         .noise = 2e-3,
         .slabs = 3,
         .images = 1},
        {.name = "koosh, no noise", .traj = "koosh", .readouts = 600, .noise = 0, .slabs = 2, .images = 1},
        {.name = "stars", .traj = "stars", .readouts = 26, .noise = 3e-4, .slabs = 3, .images = 1},
        {.name = "stars, much noise, undersampled",
         .traj = "stars",
         .readouts = 18,
         .noise = 2e-3,
         .slabs = 2,
         .images = 1},
        {.name = "spirals", .readouts = 8, .noise = 3e-4, .slabs = 2, .images = 1, .channels = MANY_CHANNELS},
        {.name = "spirals, much noise, undersampled", .readouts = 4, .noise = 2e-3, .slabs = 3, .images = 1},
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        make(&scenes[i]);
        expect_alike(&scenes[i]);
        clear(&scenes[i]);
    }
}

/* ---- what is found before there are images ---- */

/* Readouts begin so many 1/FOV later than the trajectory says. */
static larmor_array *delayed(const larmor_array *traj, double by)
{
    const larmor_shape shape = larmor_array_shape(traj);
    const int64_t samples = shape.dim[1];
    OWN_MEMORY(double, *k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t r = 0; r < shape.dim[2]; r++) {
        double *of = k + 3 * samples * r, along[3], size = 0;
        for (int d = 0; d < 3; d++) along[d] = of[3 * (samples - 1) + d] - of[d];
        for (int d = 0; d < 3; d++) size += along[d] * along[d];
        for (int64_t i = 0; i < 3 * samples; i++) of[i] += by * along[i % 3] / sqrt(size);
    }
    return MADE(larmor_array, larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, k, &made));
}

static larmor_source *late_scan(larmor_readouts *r)
{
    const larmor_scan_arrays arrays = {.matrix = {SIDE, SIDE, SIDE}, .image = r, .images = 1};
    *r = (larmor_readouts){.traj = named_traj("koosh", 600, 0)};
    OWNED(larmor_array) *traj = delayed(r->traj, 0.3);
    OWN(larmor_phantom, *phantom, larmor_phantom_create("shepp-logan", 3, &phantom));
    assert_ok(larmor_phantom_kspace(phantom, traj, MANY_CHANNELS, LARMOR_C64, &r->kspace));
    assert_ok(larmor_phantom_noise(r->kspace, 3e-4, 1));
    return MADE(larmor_source, larmor_source_of_arrays(&arrays, &made));
}

/* As where the volume of a single coil did not fit: nothing is known when slabs are taken. */
TEST(coils_are_compressed_and_delays_found_in_slabs_as_in_the_whole)
{
    const larmor_recon_opts opts = OPTS(.method = "cg", .calibration = 8, .oversample = {1, 1, 1});
    larmor_readouts readouts;
    OWNED(larmor_source) *source = late_scan(&readouts);
    larmor_recon_plan of_whole, of_slabs;
    larmor_recon_report whole_report, slabs_report;
    OWN(larmor_device, *group, larmor_device_open("cpu:1,1", &group));
    OWN(larmor_recon, *slabs, larmor_recon_create(source, group, &opts, &slabs));
    OWN(larmor_recon, *whole, larmor_recon_create(source, dev, &opts, &whole));
    slabs->slabs_from = LMR_SLABS_OF_ONE_COIL;
    assert_ok(lmr_slab_threads_open(slabs, source, group, &opts));
    assert_ok(larmor_recon_describe(whole, 0, &of_whole));
    assert_ok(larmor_recon_describe(slabs, 0, &of_slabs));
    assert_int_equal(of_slabs.slabs, 2);
    assert_int_equal(of_whole.compressed_from, MANY_CHANNELS);
    assert_int_equal(of_slabs.compressed_from, MANY_CHANNELS);
    assert_int_equal(of_slabs.coils, of_whole.coils);
    assert_at_most(fabs(of_slabs.compressed_energy - of_whole.compressed_energy), 1e-6);
    assert_true(fabs(of_whole.delay[0]) > 0.1);
    for (int e = 0; e < 6; e++) assert_at_most(fabs(of_slabs.delay[e] - of_whole.delay[e]), 2e-3);
    HEAP float *x = run(whole, 0, &whole_report), *y = run(slabs, 0, &slabs_report);
    assert_at_most(fabs(slabs_report.lambda / whole_report.lambda - 1), OF_WEIGHT);
    assert_at_most(apart_by(y, x), OF_IMAGE);
    LMR_FREE(readouts.kspace, readouts.traj);
}
