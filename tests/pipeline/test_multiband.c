/* scan/multiband.c: slices that are excited together, as volumes. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "larmor/larmor.h"
#include "tests/support/test.h"

enum { N = 32, BANDS = 3, COILS = 6 };
static const double offset[BANDS] = {-40, 0, 40};

typedef struct scene {
    larmor_simulation *simulation;
    larmor_array *kspace, *traj, *maps;
    larmor_source *inner;
    int64_t readouts;
} scene;

static void free_scene(scene *s)
{
    larmor_source_free(s->inner);
    larmor_array_free(s->maps);
    larmor_array_free(s->traj);
    larmor_array_free(s->kspace);
    larmor_simulation_free(s->simulation);
}

ENDS_ITSELF_BY(free_scene, scene)

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
    OWNED(void) *host = malloc(larmor_array_bytes(s.kspace));
    assert_ok(larmor_array_read(s.kspace, host, larmor_array_bytes(s.kspace)));
    float complex *y = host;
    for (int64_t i = 0; i < larmor_array_count(s.kspace); i++) {
        const double j = (double)(i / samples % readouts);
        y[i] *= (float complex)cexp(I * turn * j * j);
    }
    assert_ok(larmor_array_write(s.kspace, y, larmor_array_bytes(s.kspace)));
    const larmor_readouts image = {
        .kspace = s.kspace,
        .traj = s.traj,
        .meta = {.read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}, .position_mm = {0, 0, 7}}};
    assert_ok(larmor_source_of_arrays(
        &(larmor_scan_arrays){.matrix = {N, N}, .fov_mm = {256, 256, 5}, .image = &image, .images = 1}, &s.inner));
    return s;
}

/* Of slices whose phases in readout j are turn j^2 + 2 pi s j / BANDS. */
static larmor_array *phases_of(const scene *s, double turn)
{
    OWNED(double) *phase = calloc((size_t)(s->readouts * BANDS), sizeof *phase);
    larmor_array *x;
    for (int64_t i = 0; i < s->readouts * BANDS; i++) {
        const double j = (double)(i % s->readouts);
        phase[i] = turn * j * j + 2 * M_PI * (double)(i / s->readouts) * j / BANDS;
    }
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(s->readouts, BANDS), &x));
    assert_ok(larmor_array_write(x, phase, larmor_array_bytes(x)));
    return x;
}

static larmor_recon_result image_of(larmor_source *source, larmor_array *maps, const char *method)
{
    OWNED(larmor_recon) *recon = NULL;
    larmor_recon_result result;
    const larmor_recon_opts opts = {.size = sizeof opts,
                                    .maps = maps,
                                    .method = method,
                                    .lambda_mode = LARMOR_LAMBDA_RELATIVE,
                                    .lambda = 1e-5,
                                    .delays = LARMOR_DELAYS_OFF};
    assert_ok(larmor_recon_create(source, dev, &opts, &recon));
    assert_ok(larmor_recon_run(recon, 0, &result));
    assert_int_equal(result.count, 1);
    return result;
}

static double error_of(const scene *s, const larmor_recon_result *result)
{
    larmor_expected expected;
    larmor_comparison c;
    assert_ok(larmor_simulation_expect(s->simulation, &expected));
    assert_ok(larmor_compare(result->image[0].data, expected.image[0].data, &(larmor_compare_opts){.inside = 2}, &c));
    larmor_expected_free(&expected);
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

static void refuse(const scene *s, larmor_multiband_opts opts, larmor_status status, const char *text)
{
    larmor_source *volumes;
    assert_refused(larmor_source_of_multiband(s->inner, &opts, &volumes), status, text);
    assert_null(volumes);
}

TEST(what_makes_no_volume_is_refused)
{
    OWNED(scene) s = scene_of("golden", 12, 0);
    const double uneven[BANDS] = {-40, 0, 50}, falling[BANDS] = {40, 0, -40};
    refuse(&s, (larmor_multiband_opts){.offset_mm = uneven, .bands = BANDS, .shifts = 3}, LARMOR_ERR_ARG,
           "multiband: slices from -40 to 50 mm, expected ascending offsets that are equally far apart");
    refuse(&s, (larmor_multiband_opts){.offset_mm = falling, .bands = BANDS, .shifts = 3}, LARMOR_ERR_ARG,
           "multiband: slices from 40 to -40 mm, expected ascending offsets that are equally far apart");
    refuse(&s, (larmor_multiband_opts){.offset_mm = offset, .bands = 1, .shifts = 3}, LARMOR_ERR_ARG,
           "multiband: got 1 bands, expected 2 to 16 and their offsets");
    refuse(&s, (larmor_multiband_opts){.offset_mm = offset, .bands = BANDS}, LARMOR_ERR_ARG,
           "multiband: got 0 shifts, expected 1 to 1024, or phases");
    OWNED(larmor_array) *phase = phases_of(&s, 0.2), *few = NULL;
    assert_ok(larmor_array_slice(phase, 0, 2, &few));
    refuse(&s, (larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .phase = few}, LARMOR_ERR_SHAPE,
           "multiband: phases of 12 readouts and 2 slices, expected those of the 12 readouts and 3 slices");
    assert_ok(larmor_fill(few, 1)); /* two slices of the three */
    refuse(
        &s, (larmor_multiband_opts){.offset_mm = offset, .bands = BANDS, .phase = phase}, LARMOR_ERR_UNSUPPORTED,
        "multiband: the phases of readout 0 do not grow evenly from slice to slice, as blips and cycled pulses make "
        "them; larmor_op_multiband takes any.");
}
