/* Objects that are larger, that move and that change, by the laws of the Fourier transform.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

enum { POINTS = 60 };
static const char *const names[] = {"shepp-logan", "texture", "disc"};

static larmor_phantom *changed(const char *name, int ndim, larmor_phantom_state state)
{
    OWN(larmor_phantom, *plain, larmor_phantom_create(name, ndim, &plain));
    return MADE(larmor_phantom, larmor_phantom_change(plain, &state, &made));
}

/* k-space of a phantom at given points [nd, POINTS], which it frees. */
static double complex *kspace_at(larmor_phantom *p, const double *k, int coils)
{
    OWN(larmor_array, *traj, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(p->ndim, POINTS, 1), &traj));
    assert_ok(larmor_array_write(traj, k, larmor_array_bytes(traj)));
    OWN(larmor_array, *y, larmor_phantom_kspace(p, traj, coils, LARMOR_C128, &y));
    double complex *v = values_of(y);
    larmor_phantom_free(p);
    return v;
}

static double *random_points(int ndim, double reach)
{
    OWNED(larmor_array) *traj = points_within(ndim, POINTS, reach, 9);
    double *k = host_of(traj);
    return k;
}

TEST(a_larger_object_has_a_narrower_and_higher_kspace)
{
    const double size = 1.3;
    for (int i = 0; i < 6; i++) {
        const int ndim = 2 + i % 2;
        double *k = random_points(ndim, 30), scaled[3 * POINTS];
        for (int j = 0; j < ndim * POINTS; j++) scaled[j] = size * k[j];
        HEAP double complex *a = kspace_at(changed(names[i / 2], ndim, (larmor_phantom_state){.size = size}), k, 0);
        HEAP double complex *b = kspace_at(changed(names[i / 2], ndim, (larmor_phantom_state){0}), scaled, 0);
        for (int j = 0; j < POINTS; j++) assert_at_most(cabs(a[j] - pow(size, ndim) * b[j]), 1e-14);
        free(k);
    }
}

TEST(a_turned_object_has_a_turned_kspace)
{
    const double degrees = 33, c = cos(degrees * M_PI / 180), s = sin(degrees * M_PI / 180);
    for (int i = 0; i < 6; i++) {
        const int ndim = 2 + i % 2;
        double *k = random_points(ndim, 60), back[3 * POINTS];
        memcpy(back, k, (size_t)(ndim * POINTS) * sizeof *k);
        for (int j = 0; j < POINTS; j++) {
            back[ndim * j] = c * k[ndim * j] + s * k[ndim * j + 1];
            back[ndim * j + 1] = c * k[ndim * j + 1] - s * k[ndim * j];
        }
        HEAP double complex *a =
            kspace_at(changed(names[i / 2], ndim, (larmor_phantom_state){.degrees = degrees}), k, 0);
        HEAP double complex *b = kspace_at(changed(names[i / 2], ndim, (larmor_phantom_state){0}), back, 0);
        for (int j = 0; j < POINTS; j++) assert_at_most(cabs(a[j] - b[j]), 1e-14);
        LMR_FREE(k);
    }
}

TEST(a_moved_object_has_a_linear_phase)
{
    const larmor_phantom_state moved = {.shift = {0.05, -0.02, 0.03}};
    for (int i = 0; i < 6; i++) {
        const int ndim = 2 + i % 2;
        HEAP double *k = random_points(ndim, 60);
        HEAP double complex *a = kspace_at(changed(names[i / 2], ndim, moved), k, 0);
        HEAP double complex *b = kspace_at(changed(names[i / 2], ndim, (larmor_phantom_state){0}), k, 0);
        for (int j = 0; j < POINTS; j++) {
            double cycles = 0;
            for (int d = 0; d < ndim; d++) cycles += k[ndim * j + d] * moved.shift[d];
            assert_at_most(cabs(a[j] - b[j] * cexp(-2 * M_PI * I * cycles)), 1e-14);
        }
    }
}

TEST(contrast_is_density_that_one_part_gains)
{
    const double areas[] = {M_PI * 0.21 * 0.25 / 4, M_PI * 0.12 * 0.09, M_PI * 0.3 * 0.22};
    const double k[2 * POINTS] = {0};
    for (int i = 0; i < 3; i++) {
        HEAP double complex *a = kspace_at(changed(names[i], 2, (larmor_phantom_state){.contrast = 0.7}), k, 0);
        HEAP double complex *b = kspace_at(changed(names[i], 2, (larmor_phantom_state){0}), k, 0);
        assert_at_most(cabs(a[0] - b[0] - 0.7 * areas[i]), 1e-15);
    }
}

/* With maps s(r / size) around an object rho(r / size) all of it is the small scene, stretched. */
TEST(coils_stand_around_a_larger_object)
{
    const double size = 1.5, extent[3] = {size, size, size};
    enum { COILS = 5 };
    for (int ndim = 2; ndim <= 3; ndim++) {
        const larmor_phantom_state large = {.size = size};
        double *k = random_points(ndim, 20), scaled[3 * POINTS];
        for (int j = 0; j < ndim * POINTS; j++) scaled[j] = size * k[j];
        HEAP double complex *a = kspace_at(changed("shepp-logan", ndim, large), k, COILS);
        HEAP double complex *b = kspace_at(changed("shepp-logan", ndim, (larmor_phantom_state){0}), scaled, COILS);
        for (int j = 0; j < POINTS * COILS; j++) assert_at_most(cabs(a[j] - pow(size, ndim) * b[j]), 1e-14);
        free(k);

        const larmor_shape shape = ndim == 2 ? LARMOR_SHAPE(12, 9) : LARMOR_SHAPE(6, 5, 7);
        OWNED(larmor_phantom) *p = changed("shepp-logan", ndim, large);
        OWN(larmor_array, *around, larmor_phantom_coils_around(p, dev, LARMOR_C128, shape, extent, COILS, &around));
        OWN(larmor_array, *plain, larmor_phantom_coils_around(NULL, dev, LARMOR_C128, shape, NULL, COILS, &plain));
        HEAP double complex *u = values_of(around), *v = values_of(plain);
        for (int64_t j = 0; j < larmor_array_count(plain); j++) assert_at_most(cabs(u[j] - v[j]), 1e-14);
    }
}

TEST(maps_of_more_voxels_reach_further)
{
    OWNED(larmor_phantom) *p = changed("disc", 2, (larmor_phantom_state){0});
    OWNED(larmor_array) *around, *plain;
    assert_ok(larmor_phantom_coils_around(p, dev, LARMOR_C128, LARMOR_SHAPE(24, 8), (double[]){2, 1}, 3, &around));
    assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C128, LARMOR_SHAPE(12, 8), NULL, 3, &plain));
    HEAP double complex *u = values_of(around), *v = values_of(plain);
    for (int line = 0; line < 24; line++)
        for (int x = 0; x < 12; x++) assert_at_most(cabs(u[x + 6 + 24 * line] - v[x + 12 * line]), 1e-14);
    larmor_array *none;
    assert_refused(larmor_phantom_coils_around(p, dev, LARMOR_C128, LARMOR_SHAPE(4, 4), (double[]){1, 0}, 3, &none),
                   LARMOR_ERR_ARG, "phantom coils: got an extent of 0, expected more than 0, at most 100");
}

TEST(a_course_drifts_breathes_and_enhances)
{
    const larmor_phantom_course course = {
        .drift = {0.2, 0, -0.1}, .degrees = 40, .breathing = {0, 0.05, 0}, .breaths = 2, .contrast = 3};
    larmor_phantom_state s = {0};
    larmor_phantom_at(&course, 0, &s);
    for (int d = 0; d < 3; d++) assert_true(s.shift[d] == 0);
    assert_true(s.degrees == 0 && s.contrast == 0);
    s = (larmor_phantom_state){.size = 2, .shift = {1, 1, 1}, .degrees = 5, .contrast = 1};
    larmor_phantom_at(&course, 0.25, &s); /* the middle of the first breath */
    assert_at_most(fabs(s.shift[0] - 1.05) + fabs(s.shift[1] - 1.05) + fabs(s.shift[2] - 0.975), 1e-15);
    assert_at_most(fabs(s.degrees - 15), 1e-14);
    assert_true(s.size == 2);
    double least = INFINITY;
    for (int i = 0; i <= 100; i++) { /* the peak of contrast is at 0.4, and none is there before 0.1 */
        larmor_phantom_state now = {0};
        larmor_phantom_at(&course, i / 100.0, &now);
        assert_true(i > 10 || now.contrast == 0);
        assert_at_most(now.contrast, 3);
        if (i == 40) assert_at_most(fabs(now.contrast - 3), 1e-12);
        least = fmin(least, now.contrast);
    }
    assert_true(least == 0);
    larmor_phantom_state end = {0};
    larmor_phantom_at(&course, 1, &end);
    assert_at_most(fabs(end.shift[0] - 0.2) + fabs(end.shift[1]) + fabs(end.degrees - 40), 1e-12);
}

TEST(a_state_that_makes_no_sense_is_refused)
{
    OWN(larmor_phantom, *plain, larmor_phantom_create("disc", 2, &plain));
    assert_none_made(larmor_phantom, larmor_phantom_change(plain, &(larmor_phantom_state){.size = -1}, &made),
                     LARMOR_ERR_ARG, "phantom: got a size of -1, expected more than 0, at most 10");
    assert_none_made(larmor_phantom, larmor_phantom_change(plain, &(larmor_phantom_state){.size = NAN}, &made),
                     LARMOR_ERR_ARG, "size");
    assert_none_made(larmor_phantom,
                     larmor_phantom_change(plain, &(larmor_phantom_state){.degrees = INFINITY}, &made),
                     LARMOR_ERR_ARG, "phantom: got inf degrees");
    assert_none_made(larmor_phantom, larmor_phantom_change(plain, &(larmor_phantom_state){.shift = {0, NAN}}, &made),
                     LARMOR_ERR_ARG, "expected numbers");
}

/* The Fourier transform along z of its planes, by the midpoint rule. */
TEST(planes_of_a_solid_phantom_are_it_together_seen_by_the_same_coils)
{
    enum { PLANES = 1200, COILS = 3 };
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_phantom) *solid = NULL;
        HEAP double *k = random_points(3, 8);
        double flat[2 * POINTS];
        double complex sum[POINTS * COILS] = {0};
        assert_ok(larmor_phantom_create(names[i], 3, &solid));
        for (int j = 0; j < POINTS; j++) memcpy(flat + 2 * j, k + 3 * j, 2 * sizeof *flat);
        for (int p = 0; p < PLANES; p++) {
            const double z = 1.2 * ((p + 0.5) / PLANES - 0.5);
            larmor_phantom *plane = MADE(larmor_phantom, larmor_phantom_plane(solid, z, &made));
            HEAP void *y = kspace_at(plane, flat, COILS);
            for (int j = 0; j < POINTS * COILS; j++)
                sum[j] += ((double complex *)y)[j] * cexp(-2 * M_PI * I * k[3 * (j % POINTS) + 2] * z) * 1.2 / PLANES;
        }
        larmor_phantom *copy = MADE(larmor_phantom, larmor_phantom_change(solid, &(larmor_phantom_state){0}, &made));
        HEAP void *expected = kspace_at(copy, k, COILS);
        for (int j = 0; j < POINTS * COILS; j++) assert_at_most(cabs(sum[j] - ((double complex *)expected)[j]), 1e-5);
    }
}

TEST(flat_phantoms_have_no_planes)
{
    larmor_phantom *plane;
    OWN(larmor_phantom, *flat, larmor_phantom_create("disc", 2, &flat));
    assert_refused(larmor_phantom_plane(flat, 0, &plane), LARMOR_ERR_ARG,
                   "phantom plane: got a phantom in 2D and z 0, expected 3D and a number");
    assert_null(plane);
}
