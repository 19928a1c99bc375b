/* recon/field/camera.c: phases of probes as those of solid harmonics. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { SAMPLES = 400, READOUTS = 5, PROBES = 24, COUNT = SAMPLES * READOUTS };

typedef struct scene {
    double position[3 * PROBES], *terms, *phase; /* terms [COUNT, 16] */
} scene;

LMR_FREES(end_scene, scene, terms, phase)

static const double sizes[] = {2, 400, 300, 2000}; /* of the terms of each order */

/* Probes evenly on a sphere of 10 cm, phases of all harmonics up to an order that turn around many times. */
static scene scene_of(int order)
{
    scene s = {.terms = calloc(COUNT * 16, sizeof(double)), .phase = calloc(COUNT * PROBES, sizeof(double))};
    OWNED(larmor_array) *places, *harmonics;
    assert_true(s.terms && s.phase);
    for (int p = 0; p < PROBES; p++) {
        const double z = 1 - (2 * p + 1.) / PROBES, rim = sqrt(1 - z * z), angle = p * M_PI * (3 - sqrt(5));
        s.position[3 * p] = .1 * rim * cos(angle);
        s.position[3 * p + 1] = .1 * rim * sin(angle);
        s.position[3 * p + 2] = .1 * z * (1 + .2 * (p % 3));
    }
    places = real_array(LARMOR_SHAPE(3, PROBES), s.position);
    assert_ok(larmor_solid_harmonics(places, order, &harmonics));
    HEAP double *h = NULL;
    assert_ok(larmor_array_download(harmonics, LARMOR_F64, &h));
    for (int l = 0; l < (order + 1) * (order + 1); l++) {
        const double size = sizes[(l > 0) + (l > 3) + (l > 8)];
        for (int j = 0; j < COUNT; j++) {
            s.terms[j + COUNT * l] = size * (sin(.02 * (j % SAMPLES) + l) * (1 + .1 * (j / SAMPLES)));
            for (int p = 0; p < PROBES; p++) s.phase[j + COUNT * p] += s.terms[j + COUNT * l] * h[p + PROBES * l];
        }
    }
    return s;
}

static larmor_array *phases_of(const scene *s)
{
    return real_array(LARMOR_SHAPE(SAMPLES, READOUTS, PROBES), s->phase);
}

static double *fit(const scene *s, larmor_array *phase, int order, int64_t columns, larmor_camera_report *report)
{
    OWNED(larmor_array) *places = real_array(LARMOR_SHAPE(3, PROBES), s->position), *terms = NULL;
    assert_ok(larmor_field_camera(phase, places, &(larmor_camera_opts){.order = order}, &terms, report));
    const larmor_shape shape = larmor_array_shape(terms);
    assert_true(shape.dim[0] == SAMPLES && shape.dim[1] == READOUTS && shape.dim[2] == columns);
    return MADE(double, larmor_array_download(terms, LARMOR_F64, &made));
}

TEST(known_coefficients_are_found_to_rounding)
{
    for (int order = 1; order <= 3; order++) {
        OWNED(scene) s = scene_of(order);
        OWNED(larmor_array) *phase = phases_of(&s);
        larmor_camera_report report;
        HEAP double *found = fit(&s, phase, order, order == 3 ? 16 : 9, &report);
        for (int i = 0; i < COUNT * (order + 1) * (order + 1); i++)
            assert_at_most(fabs(found[i] - s.terms[i]), 1e-10 * 2000);
        assert_at_most(report.residual, 1e-10);
        assert_int_equal(report.order, order);
    }
}

/* Signals exp(-i phase) tell the phase but for whole turns, the first sample's among them. */
TEST(signals_give_what_their_phases_give)
{
    OWNED(scene) s = scene_of(3);
    HEAP NEW(cplx, signal, COUNT * PROBES);
    for (int i = 0; i < COUNT * PROBES; i++) signal[i] = 3 * cexp(-I * s.phase[i]);
    OWNED(larmor_array) *x = complex_array(LARMOR_C128, LARMOR_SHAPE(SAMPLES, READOUTS, PROBES), signal);
    OWNED(larmor_array) *phase = phases_of(&s), *places = real_array(LARMOR_SHAPE(3, PROBES), s.position);
    const larmor_camera_opts opts = {.order = 3, .relative = 1};
    OWNED(larmor_array) *a = NULL, *b = NULL;
    larmor_comparison c;
    assert_ok(larmor_field_camera(phase, places, &opts, &a, NULL));
    assert_ok(larmor_field_camera(x, places, &opts, &b, NULL));
    assert_ok(larmor_compare(b, a, NULL, &c));
    assert_at_most(c.largest, 1e-9);
    assert_at_most(hypot(c.factor[0] - 1, c.factor[1]), 1e-9);
}

/* From rest, as gradients begin: a probe's phase moves by up to a turn from a sample to the next. */
TEST(steps_of_more_than_half_a_turn_follow_from_the_steps_before)
{
    OWNED(scene) s = scene_of(1);
    const double largest = 4 * .1 * sizes[1] * .02;
    assert_true(largest > M_PI);
    for (int i = 0; i < COUNT * 4; i++) {
        const double of_readout = i % COUNT < SAMPLES ? 4 : .5; /* the first one alone has such steps */
        s.terms[i] = of_readout * (i / COUNT ? sizes[1] : 1) * (1 - cos(.02 * (i % SAMPLES)));
    }
    for (int j = 0; j < COUNT * PROBES; j++) {
        double phase = s.terms[j % COUNT];
        for (int d = 0; d < 3; d++) phase += s.terms[j % COUNT + COUNT * (1 + d)] * s.position[3 * (j / COUNT) + d];
        s.phase[j] = remainder(phase, 2 * M_PI);
    }
    OWNED(larmor_array) *phase = phases_of(&s);
    larmor_camera_report report;
    HEAP double *found = fit(&s, phase, 1, 9, &report);
    for (int i = 0; i < COUNT * 4; i++) assert_at_most(fabs(found[i] - s.terms[i]), 1e-8);
    assert_at_most(report.residual, 1e-8);
    assert_at_most(report.largest, 1e-8);
}

TEST(deviations_are_those_of_noise)
{
    const double sigma = 0.01;
    OWNED(scene) s = scene_of(3);
    uint64_t seed = 8;
    for (int i = 0; i < COUNT * PROBES; i++) {
        double noise = 0;
        for (int n = 0; n < 12; n++) noise += test_random(&seed); /* of -1 to 1, of variance 1/3 each */
        s.phase[i] += sigma * noise / 2;
    }
    OWNED(larmor_array) *phase = phases_of(&s);
    larmor_camera_report report;
    HEAP double *found = fit(&s, phase, 3, 16, &report);
    for (int l = 0; l < 16; l++) {
        double sum = 0;
        for (int j = 0; j < COUNT; j++) sum += pow(found[j + COUNT * l] - s.terms[j + COUNT * l], 2);
        const double ratio = sqrt(sum / COUNT) / (sigma * report.deviation[l]);
        assert_at_most(fabs(ratio - 1), 0.08);
    }
    assert_at_most(fabs(report.residual / sigma / sqrt((PROBES - 16.) / PROBES) - 1), 0.05);
}

TEST(the_order_is_the_highest_that_the_probes_determine)
{
    OWNED(scene) s = scene_of(1);
    OWNED(larmor_array) *all = phases_of(&s), *some = NULL, *terms = NULL;
    OWNED(larmor_array) *places = real_array(LARMOR_SHAPE(3, 10), s.position);
    larmor_camera_report report;
    assert_ok(larmor_array_slice(all, 0, 10, &some));
    assert_ok(larmor_field_camera(some, places, NULL, &terms, &report));
    assert_int_equal(report.order, 2);
    larmor_array *none = NULL;
    assert_refused(
        larmor_field_camera(some, places, &(larmor_camera_opts){.order = 3}, &none, NULL), LARMOR_ERR_ARG,
        "camera: 10 probes do not determine 16 solid harmonics (condition inf); expected as many, at places "
        "that tell them apart.");
    assert_null(none);
    for (int p = 0; p < 10; p++) s.position[3 * p + 2] = 0;
    OWNED(larmor_array) *flat = real_array(LARMOR_SHAPE(3, 10), s.position);
    assert_refused(larmor_field_camera(some, flat, &(larmor_camera_opts){.order = 1}, &none, NULL), LARMOR_ERR_ARG,
                   "camera: 10 probes do not determine 4 solid harmonics");
    for (int p = 0; p < 10; p++) s.position[3 * p + 2] = p % 2 ? 1e-7 : 0; /* nearly in a plane */
    OWNED(larmor_array) *nearly = real_array(LARMOR_SHAPE(3, 10), s.position);
    for (int p = 0; p < 10; p++) s.position[3 * p + 2] += .05;
    OWNED(larmor_array) *aside = real_array(LARMOR_SHAPE(3, 10), s.position);
    assert_ok(
        larmor_field_camera(some, nearly, &(larmor_camera_opts){.order = 1}, &none, NULL)); /* about the centre */
    larmor_array_free(none);
    none = NULL;
    assert_refused(larmor_field_camera(some, aside, &(larmor_camera_opts){.order = 1}, &none, NULL), LARMOR_ERR_ARG,
                   "camera: 10 probes do not determine 4 solid harmonics (condition ");
}

TEST(a_trajectory_is_the_terms_of_first_order_in_fields_of_view)
{
    const double fov[2] = {.2, .3}, direction[2][3] = {{0, 1, 0}, {.6, 0, .8}};
    OWNED(scene) s = scene_of(1);
    OWNED(larmor_array) *terms = real_array(LARMOR_SHAPE(SAMPLES, READOUTS, 9), s.terms), *traj = NULL;
    HEAP double *k = NULL;
    assert_ok(larmor_camera_traj(terms, direction, fov, 2, &traj));
    assert_ok(larmor_array_download(traj, LARMOR_F64, &k));
    for (int j = 0; j < COUNT; j++) {
        const double x = s.terms[j + COUNT], y = s.terms[j + 2 * COUNT], z = s.terms[j + 3 * COUNT];
        assert_at_most(fabs(k[2 * j] - y * .2 / (2 * M_PI)), 1e-10);
        assert_at_most(fabs(k[2 * j + 1] - (.6 * x + .8 * z) * .3 / (2 * M_PI)), 1e-10);
    }
}
