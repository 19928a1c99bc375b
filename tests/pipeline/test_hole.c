/* A hole in the centre of k-space is filled where the object determines it, and else said. SPDX-License-Identifier:
 * Apache-2.0 */
#include <complex.h>

#include "tests/pipeline/scan.h"

enum { HALF_SPOKES = 100, STEPS_PER_CYCLE = 2, HALF_SIDE = N / 2 };

static const double NOISE = 5e-6; /* of a sample, which ends nonlinear inversion early */
static const double pi = 3.14159265358979323846;

/* Half-spokes from `first` on, in cycles per field of view, of an object that covers .8 of it. */
static scan half_spokes(int coils, double first)
{
    const int samples = (int)(STEPS_PER_CYCLE * (HALF_SIDE - first)) + 1;
    scan s = {.arrays = {.matrix = {N, N}, .trajectory = "other", .images = 1}};
    double *k = malloc((size_t)(2 * samples * HALF_SPOKES) * sizeof *k), *at = k;
    assert_non_null(k);
    for (int r = 0; r < HALF_SPOKES; r++)
        for (int i = 0; i < samples; i++) {
            const double radius = first + (double)i / STEPS_PER_CYCLE, angle = 2 * pi * r / HALF_SPOKES;
            *at++ = radius * cos(angle);
            *at++ = radius * sin(angle);
        }
    const larmor_shape shape = LARMOR_SHAPE(2, samples, HALF_SPOKES);
    assert_ok(larmor_phantom_create("shepp-logan", 2, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, LARMOR_SHAPE(N, N), &s.truth));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, shape, LARMOR_F64, k, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, coils, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, NOISE, 1));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(N, N), NULL, coils, &s.maps));
    free(k);
    return s;
}

/* |c |x| - |t|| / |t| at the best factor c, t the object times the root sum of squares of its coils, which an
 * image from maps of the data has. */
static double magnitude_error(const larmor_array *image, const scan *s, int coils)
{
    HEAP float complex *x = (float complex *)host_of(image), *t = (float complex *)host_of(s->truth);
    HEAP float complex *maps = (float complex *)host_of(s->maps);
    double like = 0, own = 0, whole = 0;
    for (int i = 0; i < N * N; i++) {
        double energy = 0;
        for (int c = 0; c < coils; c++) energy += pow(cabsf(maps[i + N * N * c]), 2);
        const double right = sqrt(energy) * (double)cabsf(t[i]);
        like += (double)cabsf(x[i]) * right;
        own += pow(cabsf(x[i]), 2);
        whole += right * right;
    }
    return sqrt(fmax(0, 1 - like * like / (own * whole)));
}

/* The error of the image, and what was said on the way. */
static double error_with(int coils, double first, larmor_recon_opts opts, notes *n)
{
    OWNED(scan) s = half_spokes(coils, first);
    *n = (notes){.text = ""};
    opts.listener = take_note;
    opts.user = n;
    opts.delays = LARMOR_DELAYS_OFF;
    OWNED(larmor_recon_result) result = result_of(&s, &opts);
    return magnitude_error(result.image[0].data, &s, coils);
}

static const char warned[] = "W:k-space has a hole in its centre: no sample is nearer",
                  filled[] = "tv fills this hole", not_filled[] = "is not filled, as ";

TEST(holes_up_to_two_cycles_are_filled)
{
    for (int coils = 1; coils <= COILS; coils += COILS - 1) {
        notes n;
        const double right = error_with(coils, 0, OPTS(), &n);
        assert_null(strstr(n.text, "hole"));
        const double error = error_with(coils, 2, OPTS(), &n);
        print_message("%d coils: error %.4f, without a hole %.4f\n", coils, error, right);
        assert_true(error < 1.1 * right);
        assert_noted(n, filled);
        assert_null(strstr(n.text, "W:"));
    }
}

TEST(wider_holes_are_said)
{
    notes n;
    error_with(COILS, 3, OPTS(), &n);
    assert_noted(n, warned);
    assert_noted(n, "is not filled, as objects determine holes up to 2 cycles");
    assert_null(strstr(n.text, filled));
}

TEST(what_does_not_fill_a_hole_is_said)
{
    const struct {
        larmor_recon_opts opts;
        const char *reason;
    } cases[] = {{KNOWN(.method = "cg"), "as only opts.method tv and auto fill it"},
                 {KNOWN(.maps_method = "walsh"), "as coil maps are found from the centre"},
                 {KNOWN(.oversample = {2}), "as objects determine holes up to 2 cycles"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        notes n;
        error_with(COILS, 2, cases[i].opts, &n);
        assert_noted(n, warned);
        assert_noted(n, not_filled);
        assert_noted(n, cases[i].reason);
        assert_null(strstr(n.text, filled));
    }
}

/* The samples within half a cycle are missing, which hardly differ from their neighbours. */
TEST(a_centre_that_is_sampled_has_no_hole)
{
    notes n;
    error_with(COILS, 0.5, OPTS(), &n);
    assert_null(strstr(n.text, "hole"));
    assert_noted(n, "method from the data");
}

/* Steps of a weight that is raised begin the image anew. */
static int take_line(void *user, const larmor_event *e)
{
    return e->kind == LARMOR_EVENT_STEP ? 0 : take_note(user, e);
}

/* Two images, of which the one with the hole is slice or repetition number `at`; the error of that one. */
static double error_beside_whole(int slices, int at, notes *n)
{
    OWNED(scan) whole = half_spokes(COILS, 0), s = half_spokes(COILS, 2);
    const int other = 1 - at;
    s.arrays.images = 2;
    if (at) s.image[1] = s.image[0];
    s.image[other] = whole.image[0];
    whole.arrays.images = 0;
    for (int i = 0; i < 2; i++) {
        s.image[i].meta.slice = slices ? i : 0;
        s.image[i].meta.repetition = slices ? 0 : i;
        s.image[i].meta.position_mm[2] = slices ? 5. * i : 0;
    }
    *n = (notes){.text = ""};
    const larmor_recon_opts opts = KNOWN(.listener = take_line, .user = n);
    OWNED(larmor_recon) *recon = recon_of(&s, &opts);
    double error = 0;
    for (int i = 0; i < 2; i++) {
        OWN(larmor_recon_result, result, larmor_recon_run(recon, i, &result));
        if (i == at) error = magnitude_error(result.image[0].data, &s, COILS);
    }
    return error;
}

TEST(a_hole_of_one_image_is_filled_beside_others_without)
{
    notes n;
    const double alone = error_with(COILS, 2, KNOWN(), &n);
    for (int slices = 0; slices < 2; slices++)
        for (int at = of_all(slices, 0); at <= of_all(slices, 1); at++) {
            const double error = error_beside_whole(slices, at, &n);
            print_message("%s %d: error %.4f, alone %.4f\n", slices ? "slice" : "repetition", at, error, alone);
            assert_true(error < 1.15 * alone);
            assert_noted(n, filled);
            assert_null(strstr(n.text, "W:"));
        }
}

/* Half-spokes in all directions of a volume, evenly along a spiral on the sphere. */
static scan half_spokes_of_a_volume(double first)
{
    enum { SIDE = 16, SPOKES_3D = 600, DIRECTION_COILS = 4 };
    const int samples = (int)(STEPS_PER_CYCLE * (SIDE / 2 - first)) + 1;
    const larmor_shape image = LARMOR_SHAPE(SIDE, SIDE, SIDE);
    scan s = {.arrays = {.matrix = {SIDE, SIDE, SIDE}, .trajectory = "other", .images = 1}};
    double *k = malloc((size_t)(3 * samples * SPOKES_3D) * sizeof *k), *at = k;
    assert_non_null(k);
    for (int r = 0; r < SPOKES_3D; r++) {
        const double z = 1 - (2 * r + 1.) / SPOKES_3D, angle = pi * (3 - sqrt(5)) * r, across = sqrt(1 - z * z);
        for (int i = 0; i < samples; i++) {
            const double radius = first + (double)i / STEPS_PER_CYCLE;
            *at++ = radius * across * cos(angle);
            *at++ = radius * across * sin(angle);
            *at++ = radius * z;
        }
    }
    assert_ok(larmor_phantom_create("shepp-logan", 3, &s.phantom));
    assert_ok(larmor_phantom_bandlimited(s.phantom, dev, LARMOR_C64, image, &s.truth));
    assert_ok(
        larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, samples, SPOKES_3D), LARMOR_F64, k, &s.image[0].traj));
    assert_ok(larmor_phantom_kspace(s.phantom, s.image[0].traj, DIRECTION_COILS, LARMOR_C64, &s.image[0].kspace));
    assert_ok(larmor_phantom_noise(s.image[0].kspace, NOISE, 1));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C64, image, NULL, DIRECTION_COILS, &s.maps));
    free(k);
    return s;
}

TEST(holes_of_volumes_with_several_coils_are_filled)
{
    double error[2];
    for (int i = 0; i < 2; i++) {
        OWNED(scan) s = half_spokes_of_a_volume(i ? 1.5 : 0);
        notes n = {.text = ""};
        larmor_recon_opts opts = KNOWN(.maps = s.maps);
        if (i) opts.listener = take_note; /* a weight that is raised begins the other image anew */
        opts.user = &n;
        error[i] = error_of(&s, &opts);
        if (i) assert_noted(n, filled);
    }
    assert_true(error[1] < 1.15 * error[0]); /* 1.11 was measured, of one scan */
}
