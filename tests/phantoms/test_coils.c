/* Coils see all of the object, differ from each other, and sit in a ring. SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

static double complex *maps_of(larmor_shape shape, int coils)
{
    OWN(larmor_array, *maps, larmor_phantom_coils_around(NULL, dev, LARMOR_C128, shape, NULL, coils, &maps));
    assert_true(larmor_shape_equal(larmor_array_shape(maps), larmor_shape_append(shape, coils)));
    double complex *s = values_of(maps);
    return s;
}

/* 1 where the phantom is. */
static unsigned char *support_of(const char *name, larmor_shape shape)
{
    OWN(larmor_phantom, *p, larmor_phantom_create(name, shape.ndim, &p));
    p->parts = 1; /* the skull, filled */
    OWN(larmor_array, *image, larmor_phantom_image(p, dev, LARMOR_C128, shape, &image));
    HEAP double complex *v = values_of(image);
    const int64_t n = larmor_shape_count(shape);
    unsigned char *inside = malloc((size_t)n);
    assert_non_null(inside);
    for (int64_t i = 0; i < n; i++) inside[i] = v[i] != 0;
    return inside;
}

TEST(the_coils_together_see_all_of_the_object)
{
    const int counts[] = {1, 2, 3, 4, 5, 6, 8, 12, 16, 32};
    for (int ndim = 2; ndim <= 3; ndim++) {
        const larmor_shape shape = ndim == 2 ? LARMOR_SHAPE(64, 65) : LARMOR_SHAPE(24, 25, 26);
        const int64_t n = larmor_shape_count(shape);
        for (int which = 0; which < 2; which++) {
            HEAP unsigned char *inside = support_of(which ? "disc" : "shepp-logan", shape);
            for (int i = 0; i < 10; i++) {
                HEAP double complex *s = maps_of(shape, counts[i]);
                double least = 1e9;
                for (int64_t r = 0; r < n; r++) {
                    double sum = 0;
                    for (int c = 0; c < counts[i]; c++) sum += pow(cabs(s[r + n * c]), 2);
                    if (inside[r]) least = fmin(least, sum);
                }
                if (least < 0.2) fail_msg("%dD, %d coils: %g, expected at least 0.2", ndim, counts[i], least);
            }
        }
    }
}

/* The largest noise amplification by SENSE with every second line along axis (Pruessmann et al., Magn. Reson. Med.
 * 42, 952 (1999)): voxels half the field of view apart fold onto each other. */
static double worst_g_factor(const double complex *s, const unsigned char *inside, int side, int coils, int axis)
{
    const int n = side * side, half = side / 2;
    double worst = 1;
    for (int i = 0; i < n / 2; i++) {
        const int r = axis ? i : i % half + side * (i / half);
        const int alias = r + half * (axis ? side : 1);
        if (!inside[r] || !inside[alias]) continue;
        double a = 0, b = 0;
        double complex cross = 0;
        for (int c = 0; c < coils; c++) {
            const double complex u = s[r + n * c], v = s[alias + n * c];
            a += creal(u * conj(u));
            b += creal(v * conj(v));
            cross += conj(u) * v;
        }
        worst = fmax(worst, sqrt(a * b / (a * b - creal(cross * conj(cross)))));
    }
    return worst;
}

TEST(eight_coils_tell_apart_what_folds_onto_itself)
{
    const larmor_shape shape = LARMOR_SHAPE(64, 64);
    HEAP unsigned char *inside = support_of("shepp-logan", shape);
    HEAP double complex *s = maps_of(shape, 8);
    for (int axis = 0; axis < 2; axis++) assert_at_most(worst_g_factor(s, inside, 64, 8, axis), 1.2);
}

TEST(each_coil_of_a_ring_is_its_neighbour_turned)
{
    enum { N = 33 }; /* odd: the grid cycles onto itself */
    HEAP double complex *s = maps_of(LARMOR_SHAPE(N, N), 4);
    for (int c = 0; c < 3; c++)
        for (int y = 0; y < N; y++)
            for (int x = 0; x < N; x++) {
                const double complex rotated = s[(N - 1 - y) + N * x + N * N * (c + 1)]; /* (x, y) goes to (-y, x) */
                assert_at_most(cabs(rotated - I * s[x + N * y + N * N * c]), 1e-14);
            }
}

TEST(a_coil_fades_with_the_distance)
{
    enum { N = 64 };
    HEAP double complex *s = maps_of(LARMOR_SHAPE(N, N), 4); /* coil 0 is at the upper end of the diagonal */
    for (int i = N / 4; i + 1 < N * 3 / 4; i++) assert_true(cabs(s[i * (N + 1)]) < cabs(s[(i + 1) * (N + 1)]));
    assert_at_most(cabs(s[(N / 4) * (N + 1)]), 0.1 * cabs(s[(N * 3 / 4) * (N + 1)]));
}

TEST(maps_do_not_depend_on_threads)
{
    OWN(larmor_device, *one, larmor_device_open("cpu:1", &one));
    OWN(larmor_device, *three, larmor_device_open("cpu:3", &three));
    OWN(larmor_array, *a, larmor_phantom_coils_around(NULL, one, LARMOR_C128, LARMOR_SHAPE(9, 8, 7), NULL, 5, &a));
    OWN(larmor_array, *b, larmor_phantom_coils_around(NULL, three, LARMOR_C128, LARMOR_SHAPE(9, 8, 7), NULL, 5, &b));
    HEAP double complex *u = values_of(a), *v = values_of(b);
    assert_memory_equal(u, v, larmor_array_bytes(a));
}

TEST(coils_that_make_no_sense_are_refused)
{
    assert_none_made(larmor_array,
                     larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(8, 8), NULL, 0, &made),
                     LARMOR_ERR_ARG, "phantom: got 0 coils, expected 1 to 1024");
    assert_none_made(larmor_array,
                     larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(8, 8), NULL, 1025, &made),
                     LARMOR_ERR_ARG, "got 1025 coils");
    assert_none_made(larmor_array,
                     larmor_phantom_coils_around(NULL, dev, LARMOR_F32, LARMOR_SHAPE(8, 8), NULL, 4, &made),
                     LARMOR_ERR_ARG, "phantom coils: got f32, expected c64 or c128");
    assert_none_made(larmor_array,
                     larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(INT64_MAX, 1), NULL, 4, &made),
                     LARMOR_ERR_SHAPE, "too many to count");
    assert_none_made(larmor_array,
                     larmor_phantom_coils_around(NULL, dev, LARMOR_C64, LARMOR_SHAPE(8), NULL, 4, &made),
                     LARMOR_ERR_SHAPE, "phantom coils: got an image of 1 dimensions");
}
