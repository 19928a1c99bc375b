/* Pictures of a phantom. SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

TEST(a_voxel_holds_the_share_of_it_that_is_covered)
{
    /* an ellipse against a plain count of 4 x 4 points in each voxel */
    enum { NX = 31, NY = 24 };
    OWN(larmor_phantom, *p, larmor_phantom_create("disc", 2, &p));
    OWN(larmor_array, *image, larmor_phantom_image(p, dev, LARMOR_C128, LARMOR_SHAPE(NX, NY), &image));
    HEAP double complex *v = values_of(image);
    for (int i = 0; i < NX * NY; i++) {
        int inside = 0;
        for (int s = 0; s < 16; s++) {
            const double x = (i % NX - NX / 2 + (s % 4 - 1.5) / 4) / NX - 0.07;
            const double y = (i / NX - NY / 2 + (s / 4 - 1.5) / 4) / NY + 0.05, angle = M_PI / 6;
            const double a = (x * cos(angle) + y * sin(angle)) / 0.3, b = (y * cos(angle) - x * sin(angle)) / 0.22;
            inside += a * a + b * b <= 1;
        }
        assert_at_most(cabs(v[i] - inside / 16.0), 1e-15);
    }
}

TEST(the_mean_of_the_picture_is_the_integral)
{
    for (int ndim = 2; ndim <= 3; ndim++) {
        OWNED(larmor_array) *image, *traj = points_within(ndim, 1, 0, 1), *y;
        OWN(larmor_phantom, *p, larmor_phantom_create("shepp-logan", ndim, &p));
        assert_ok(larmor_phantom_image(p, dev, LARMOR_C128,
                                       ndim == 2 ? LARMOR_SHAPE(256, 200) : LARMOR_SHAPE(48, 65, 40), &image));
        assert_ok(larmor_phantom_kspace(p, traj, 0, LARMOR_C128, &y));
        HEAP double complex *v = values_of(image), *k = values_of(y);
        double complex mean = 0;
        const int64_t n = larmor_array_count(image);
        for (int64_t i = 0; i < n; i++) mean += v[i] / (double)n;
        assert_at_most(cabs(mean - k[0]), 3e-5);
    }
}

/* sum over voxels of x exp(-2 pi i k . r) / count, for integer k: the coefficient that the image was made of;
 * phase may be NULL */
static void assert_coefficients(larmor_shape shape, const larmor_phantom_phase *phase, larmor_dtype dtype,
                                double limit)
{
    const int nd = shape.ndim;
    const int64_t count = larmor_shape_count(shape);
    OWNED(larmor_array) *image, *traj, *y;
    OWN(larmor_phantom, *p, larmor_phantom_create("shepp-logan", nd, &p));
    if (phase)
        assert_ok(larmor_phantom_bandlimited_phase(p, phase, dev, dtype, shape, &image));
    else
        assert_ok(larmor_phantom_bandlimited(p, dev, dtype, shape, &image));
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(nd, count, 1), &traj));
    HEAP NEW_ZEROS(double, k, nd *count);
    for (int64_t j = 0; j < count; j++)
        for (int64_t d = 0, rest = j; d < nd; rest /= shape.dim[d], d++)
            k[d + nd * j] = (double)(rest % shape.dim[d] - shape.dim[d] / 2);
    assert_ok(larmor_array_write(traj, k, larmor_array_bytes(traj)));
    if (phase)
        assert_ok(larmor_phantom_kspace_phase(p, traj, phase, 0, LARMOR_C128, &y));
    else
        assert_ok(larmor_phantom_kspace(p, traj, 0, LARMOR_C128, &y));
    HEAP double complex *x = values_of(image), *expected = values_of(y);
    for (int64_t j = 0; j < count; j++) {
        double complex sum = 0;
        for (int64_t i = 0; i < count; i++) { /* k of element i, over N, is its place */
            double cycles = 0;
            for (int d = 0; d < nd; d++) cycles += k[d + nd * j] * k[d + nd * i] / (double)shape.dim[d];
            sum += x[i] * cexp(-2 * M_PI * I * cycles);
        }
        assert_at_most(cabs(sum / (double)count - expected[j]), limit);
    }
}

TEST(the_bandlimited_picture_has_the_exact_coefficients)
{
    const larmor_phantom_phase phase = {-2.5, {0.5, 1.25, 0.75}};
    assert_coefficients(LARMOR_SHAPE(16, 15), &phase, LARMOR_C128, 1e-14);
    assert_coefficients(LARMOR_SHAPE(9, 8, 7), &phase, LARMOR_C128, 1e-14);
    assert_coefficients(LARMOR_SHAPE(16, 16), NULL, LARMOR_C128, 1e-15);
    assert_coefficients(LARMOR_SHAPE(15, 22), NULL, LARMOR_C128, 1e-15);
    assert_coefficients(LARMOR_SHAPE(9, 8, 7), NULL, LARMOR_C128, 1e-15);
    assert_coefficients(LARMOR_SHAPE(1, 6), NULL, LARMOR_C128, 1e-15);
    assert_coefficients(LARMOR_SHAPE(20, 21), NULL, LARMOR_C64, 1e-7);
}

TEST(the_bandlimited_picture_looks_like_the_averaged_one)
{
    enum { N = 256 };
    OWN(larmor_phantom, *p, larmor_phantom_create("disc", 2, &p));
    OWN(larmor_array, *averaged, larmor_phantom_image(p, dev, LARMOR_C128, LARMOR_SHAPE(N, N), &averaged));
    OWN(larmor_array, *limited, larmor_phantom_bandlimited(p, dev, LARMOR_C128, LARMOR_SHAPE(N, N), &limited));
    HEAP double complex *a = values_of(averaged), *b = values_of(limited);
    double square = 0;
    int smooth = 0;
    for (int i = 0; i < N * N; i++) { /* at least 16 voxels from the rim, where the ringing has faded */
        double q[3],
            r[3] = {lmr_voxel(i % N, N) - p->part[0].centre[0], lmr_voxel(i / N, N) - p->part[0].centre[1], 0};
        lmr_ellipsoid_point(&p->part[0], 2, r, q);
        if (fabs(hypot(q[0], q[1]) - 1) * 0.22 * N < 16) continue;
        assert_at_most(cabs(a[i] - b[i]), 0.03);
        square += pow(cabs(a[i] - b[i]), 2);
        smooth++;
    }
    assert_true(smooth > N * N / 2);
    assert_at_most(sqrt(square / smooth), 0.005);
}

/* The mean difference of the two pictures of a disc that reaches 1.3 times as far as the field of view. */
TEST(what_is_beyond_the_field_of_view_does_not_fold)
{
    const larmor_shape shapes[] = {LARMOR_SHAPE(64, 63), LARMOR_SHAPE(24, 25, 20)};
    for (int i = 0; i < 2; i++) {
        OWN(larmor_phantom, *plain, larmor_phantom_create("disc", shapes[i].ndim, &plain));
        OWN(larmor_phantom, *p, larmor_phantom_change(plain, &(larmor_phantom_state){.size = 2, .degrees = 20}, &p));
        assert_true(lmr_phantom_extent(p) > 0.65);
        OWN(larmor_array, *averaged, larmor_phantom_image(p, dev, LARMOR_C128, shapes[i], &averaged));
        OWN(larmor_array, *limited, larmor_phantom_bandlimited(p, dev, LARMOR_C128, shapes[i], &limited));
        assert_true(larmor_shape_equal(larmor_array_shape(limited), shapes[i]));
        HEAP double complex *a = values_of(averaged), *b = values_of(limited);
        const int64_t count = larmor_array_count(averaged);
        double square = 0;
        for (int64_t j = 0; j < count; j++) square += pow(cabs(a[j] - b[j]), 2) / (double)count;
        assert_at_most(sqrt(square), 0.08); /* ringing; what folds would be 1 where it lies */
    }
}

TEST(pictures_do_not_depend_on_threads)
{
    OWN(larmor_phantom, *p, larmor_phantom_create("shepp-logan", 3, &p));
    OWN(larmor_device, *one, larmor_device_open("cpu:1", &one));
    OWN(larmor_device, *three, larmor_device_open("cpu:3", &three));
    OWN(larmor_array, *a, larmor_phantom_image(p, one, LARMOR_C64, LARMOR_SHAPE(20, 21, 22), &a));
    OWN(larmor_array, *b, larmor_phantom_image(p, three, LARMOR_C64, LARMOR_SHAPE(20, 21, 22), &b));
    HEAP double complex *u = values_of(a), *v = values_of(b);
    for (int i = 0; i < 20 * 21 * 22; i++) assert_true(u[i] == v[i]);
}

TEST(shapes_that_do_not_fit_are_refused)
{
    OWN(larmor_phantom, *p, larmor_phantom_create("disc", 2, &p));
    assert_none_made(larmor_array, larmor_phantom_image(p, dev, LARMOR_C64, LARMOR_SHAPE(8, 8, 8), &made),
                     LARMOR_ERR_SHAPE, "phantom image: got an image of 3 dimensions, expected 2");
    assert_none_made(larmor_array, larmor_phantom_image(p, dev, LARMOR_C64, LARMOR_SHAPE(8, 0), &made),
                     LARMOR_ERR_SHAPE, "none of them empty");
    assert_none_made(larmor_array, larmor_phantom_image(p, dev, LARMOR_F32, LARMOR_SHAPE(8, 8), &made),
                     LARMOR_ERR_ARG, "phantom image: got f32, expected c64 or c128");
    assert_none_made(larmor_array, larmor_phantom_bandlimited(p, dev, LARMOR_C64, LARMOR_SHAPE(8), &made),
                     LARMOR_ERR_SHAPE, "got an image of 1 dimensions, expected 2");
}
