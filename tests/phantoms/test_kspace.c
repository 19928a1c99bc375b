/* Exact k-space against integrals of the picture and the laws of the Fourier transform.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/phantoms/support.h"

ENDS_ITSELF_BY(lmr_coils_free, lmr_coils)

static larmor_phantom *phantom(const char *name, int ndim)
{
    return MADE(larmor_phantom, larmor_phantom_create(name, ndim, &made));
}

static double complex *kspace_of(const larmor_phantom *p, larmor_array *traj, int coils)
{
    OWN(larmor_array, *y, larmor_phantom_kspace(p, traj, coils, LARMOR_C128, &y));
    double complex *v = values_of(y);
    return v;
}

static double place(int64_t i, int64_t n)
{
    return ((double)i - floor((double)n / 2)) / (double)n;
}

/* A voxel's mean is a sum of point samples, 4 per direction: what that does to a plane wave of k cycles. */
static double averaging(double k, int64_t n)
{
    const double x = M_PI * k / (double)n;
    return fabs(x) < 1e-9 ? 1 : sin(x) / (4 * sin(x / 4));
}

/* sum of picture times map (if any) times exp(-2 pi i k . r), in units of the field of view */
static double complex integral(larmor_shape shape, const double complex *picture, const double complex *map,
                               const double *k)
{
    double complex sum = 0;
    const int ndim = shape.ndim;
    const int64_t *n = shape.dim;
    const int64_t nz = ndim == 3 ? n[2] : 1;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < n[1]; y++) {
            const double complex row =
                cexp(-2 * M_PI * I * (k[1] * place(y, n[1]) + (ndim == 3 ? k[2] * place(z, n[2]) : 0)));
            double complex line = 0;
            for (int64_t x = 0; x < n[0]; x++) {
                const int64_t i = x + n[0] * (y + n[1] * z);
                if (picture[i] == 0) continue;
                line += picture[i] * (map ? map[i] : 1) * cexp(-2 * M_PI * I * k[0] * place(x, n[0]));
            }
            sum += line * row;
        }
    sum /= (double)(n[0] * n[1] * nz);
    for (int d = 0; d < ndim; d++) sum /= averaging(k[d], n[d]);
    return sum;
}

/* The largest difference between exact k-space and the integral over a picture of n voxels. */
static double raster_error(const char *name, larmor_shape shape, int coils, double reach)
{
    enum { POINTS = 12 };
    const int ndim = shape.ndim;
    OWNED(larmor_phantom) *p = phantom(name, ndim);
    OWNED(larmor_array) *picture, *maps = NULL, *traj = points_within(ndim, POINTS, reach, 7);
    const int64_t voxels = larmor_shape_count(shape);
    assert_ok(larmor_phantom_image(p, dev, LARMOR_C128, shape, &picture));
    if (coils) assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C128, shape, NULL, coils, &maps));
    HEAP double complex *v = values_of(picture);
    HEAP double complex *s = coils ? values_of(maps) : NULL;
    HEAP double complex *y = kspace_of(p, traj, coils);
    double *k = host_of(traj), worst = 0;
    for (int64_t c = 0; c < (coils ? coils : 1); c++)
        for (int64_t j = 0; j < POINTS; j++) {
            const double complex expected = integral(shape, v, s ? s + voxels * c : NULL, k + ndim * j);
            worst = fmax(worst, cabs(y[j + POINTS * c] - expected));
        }
    free(k);
    return worst;
}

TEST(the_centre_of_kspace_is_the_integral_of_the_density)
{
    /* the sum of density times area or volume over the published tables, by hand */
    const struct {
        const char *name;
        int ndim;
        double integral;
    } known[] = {{"disc", 2, M_PI * 0.3 * 0.22},
                 {"disc", 3, 4 * M_PI / 3 * 0.3 * 0.22 * 0.26},
                 {"shepp-logan", 2,
                  M_PI / 4 *
                      (0.69 * 0.92 - 0.8 * 0.6624 * 0.874 - 0.2 * (0.11 * 0.31 + 0.16 * 0.41) +
                       0.1 * (0.21 * 0.25 + 2 * 0.046 * 0.046 + 2 * 0.046 * 0.023 + 0.023 * 0.023))}};
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_phantom) *p = phantom(known[i].name, known[i].ndim);
        OWNED(larmor_array) *traj = points_within(known[i].ndim, 1, 0, 1);
        HEAP double complex *y = kspace_of(p, traj, 0);
        assert_at_most(cabs(y[0] - known[i].integral), 1e-15);
    }
}

TEST(kspace_in_the_plane_is_the_integral_of_the_picture)
{
    assert_at_most(raster_error("shepp-logan", LARMOR_SHAPE(512, 384), 0, 30), 3e-5);
    assert_at_most(raster_error("disc", LARMOR_SHAPE(255, 320), 0, 30), 3e-5);
    assert_at_most(raster_error("texture", LARMOR_SHAPE(512, 384), 0, 30), 3e-5);
}

TEST(kspace_in_space_is_the_integral_of_the_picture)
{
    assert_at_most(raster_error("shepp-logan", LARMOR_SHAPE(64, 63, 48), 0, 6), 1e-4);
    assert_at_most(raster_error("disc", LARMOR_SHAPE(33, 64, 48), 0, 6), 1e-4);
    assert_at_most(raster_error("texture", LARMOR_SHAPE(64, 63, 48), 0, 6), 1e-4);
}

TEST(coil_kspace_is_the_integral_of_coil_times_picture)
{
    assert_at_most(raster_error("shepp-logan", LARMOR_SHAPE(512, 512), 5, 6), 3e-5);
    assert_at_most(raster_error("shepp-logan", LARMOR_SHAPE(512, 512), 1, 6), 3e-5);
    assert_at_most(raster_error("disc", LARMOR_SHAPE(64, 64, 64), 3, 3), 1e-4);
    assert_at_most(raster_error("texture", LARMOR_SHAPE(256, 256), 3, 6), 3e-5);
    assert_at_most(raster_error("texture", LARMOR_SHAPE(64, 64, 64), 2, 3), 1e-4);
}

TEST(blobs_have_the_transform_of_gaussians)
{
    for (int ndim = 2; ndim <= 3; ndim++) {
        OWNED(larmor_phantom) *p = phantom("texture", ndim);
        OWNED(larmor_array) *traj = points_within(ndim, 200, 80, 6);
        HEAP double complex *all = kspace_of(p, traj, 0);
        const int blobs = p->blobs;
        p->blobs = 0;
        HEAP double complex *parts = kspace_of(p, traj, 0);
        HEAP double *k = host_of(traj);
        for (int j = 0; j < 200; j++) {
            double complex sum = 0;
            for (int i = 0; i < blobs; i++) {
                const lmr_blob *b = &p->blob[i];
                double cycles = 0, square = 0;
                for (int d = 0; d < ndim; d++) {
                    cycles += k[ndim * j + d] * b->centre[d];
                    square += k[ndim * j + d] * k[ndim * j + d];
                }
                const double size = pow(2 * M_PI * b->sigma * b->sigma, ndim / 2.0);
                sum += b->density * size * exp(-2 * M_PI * M_PI * b->sigma * b->sigma * square) *
                       cexp(-2 * M_PI * I * cycles);
            }
            assert_at_most(cabs(all[j] - parts[j] - sum), 1e-16);
        }
    }
}

/* Samples of one readout, their times, and the picture of the texture times the phase that it has gained. */
TEST(off_resonance_is_a_phase_that_grows_with_time)
{
    enum { SAMPLES = 3, COILS = 2 };
    const larmor_phantom_field fields[] = {
        {.hz = 70, .gradient = {150, -90, 60}},
        {.hz = 40, .gradient = {50, 0, 20}, .shim = {60, -30, 20}, .dipole = 50, .dipole_at = {.1, .2, -.1}}};
    const double seconds[SAMPLES] = {-2e-3, 1e-3, 7e-3};
    const larmor_shape shapes[] = {LARMOR_SHAPE(96, 90), LARMOR_SHAPE(32, 28, 30)};
    for (int i = 0; i < 4; i++) {
        const larmor_phantom_field field = fields[i / 2];
        const larmor_shape shape = shapes[i % 2];
        const int64_t voxels = larmor_shape_count(shape);
        OWNED(larmor_phantom) *p = phantom("texture", shape.ndim);
        OWNED(larmor_array) *picture, *maps, *map, *y, *times, *traj = points_within(shape.ndim, SAMPLES, 3, 11);
        assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(SAMPLES), &times));
        assert_ok(larmor_array_write(times, seconds, sizeof seconds));
        assert_ok(larmor_phantom_kspace_off_resonance(p, traj, &field, times, COILS, LARMOR_C128, &y));
        assert_ok(larmor_phantom_image(p, dev, LARMOR_C128, shape, &picture));
        assert_ok(larmor_phantom_coils_around(NULL, dev, LARMOR_C128, shape, NULL, COILS, &maps));
        assert_ok(larmor_phantom_field_map(&field, dev, LARMOR_F64, shape, &map));
        HEAP double complex *rho = values_of(picture), *s = values_of(maps), *f = values_of(map), *v = values_of(y);
        HEAP double complex *dephased = malloc((size_t)voxels * sizeof *dephased);
        HEAP double *k = host_of(traj);
        assert_non_null(dephased);
        for (int c = 0; c < COILS; c++)
            for (int j = 0; j < SAMPLES; j++) {
                for (int64_t r = 0; r < voxels; r++)
                    dephased[r] = rho[r] * cexp(2 * M_PI * I * creal(f[r]) * seconds[j]);
                const double complex expected = integral(shape, dephased, s + voxels * c, k + shape.ndim * j);
                assert_at_most(cabs(v[j + SAMPLES * c] - expected), 2e-4);
            }
    }
}

enum { RADII = 40, ANGLES = 96 };

/* Nodes and weights of Gauss and Legendre on [0, 1]. */
static void gauss(double x[RADII], double w[RADII])
{
    for (int i = 0; i < RADII; i++) {
        double t = cos(M_PI * (i + .75) / (RADII + .5)), slope = 0;
        for (int step = 0; step < 20; step++) {
            double before = 1, p = t;
            for (int n = 2; n <= RADII; n++) {
                const double next = ((2 * n - 1) * t * p - (n - 1) * before) / n;
                before = p;
                p = next;
            }
            slope = RADII * (before - t * p) / (1 - t * t);
            t -= p / slope;
        }
        x[i] = (1 + t) / 2;
        w[i] = 1 / ((1 - t * t) * slope * slope);
    }
}

static double complex coil_at(const lmr_coils *coils, int c, const double r[3])
{
    double complex sum = 0;
    for (int m = 0; m < coils->modes; m++) {
        const double *w = coils->weight + 2 * (c * coils->modes + m), *f = coils->frequency[m];
        sum += (w[0] + I * w[1]) * cexp(2 * M_PI * I * (f[0] * r[0] + f[1] * r[1]));
    }
    return sum;
}

static double sawtooth(double x)
{
    return (45 * sin(M_PI * x) - 9 * sin(2 * M_PI * x) + sin(3 * M_PI * x)) / (30 * M_PI);
}

/* The dipole's field in the plane, as a sum of its waves; not scaled. */
static double dipole_at(double x, double y)
{
    double sum = 0;
    for (int l = -30; l <= 30; l++)
        for (int m = -30; m <= 30; m++)
            if (l || m)
                sum += (.5 - (double)m * m / (l * l + m * m)) * exp(-.0032 * M_PI * M_PI * (l * l + m * m)) *
                       cos(M_PI * (l * x + m * y));
    return sum;
}

static double field_at(const larmor_phantom_field *f, const double r[3], double peak)
{
    const double x = sawtooth(r[0]), y = sawtooth(r[1]);
    double hz = f->hz + f->gradient[0] * r[0] + f->gradient[1] * r[1];
    hz += 4 * f->shim[0] * (x * x - y * y) + 8 * f->shim[1] * x * y - 2 * f->shim[2] * (x * x + y * y);
    if (f->dipole != 0) hz += f->dipole * dipole_at(r[0] - f->dipole_at[0], r[1] - f->dipole_at[1]) / peak;
    return hz;
}

enum { NODES = RADII * ANGLES };

typedef struct quadrature { /* over the disc */
    double r[NODES][3], weight[NODES], hz[NODES];
    double complex coil[2][NODES];
} quadrature;

static void prepare(const larmor_phantom *p, const lmr_coils *coils, quadrature *q)
{
    const lmr_ellipsoid *e = &p->part[0];
    double x[RADII], w[RADII];
    gauss(x, w);
    for (int i = 0; i < NODES; i++) {
        const double radius = x[i / ANGLES], angle = 2 * M_PI * (i % ANGLES) / ANGLES;
        const double u = radius * cos(angle) * e->half_axis[0], v = radius * sin(angle) * e->half_axis[1];
        q->r[i][0] = e->centre[0] + e->cosine * u - e->sine * v;
        q->r[i][1] = e->centre[1] + e->sine * u + e->cosine * v;
        q->r[i][2] = 0;
        q->weight[i] = w[i / ANGLES] * radius * 2 * M_PI / ANGLES * e->half_axis[0] * e->half_axis[1];
        for (int c = 0; c < 2; c++) q->coil[c][i] = coil_at(coils, c, q->r[i]);
    }
}

static double complex disc_integral(const quadrature *q, int c, const double *k, double t)
{
    double complex sum = 0;
    for (int i = 0; i < NODES; i++)
        sum += q->weight[i] * q->coil[c][i] *
               cexp(2 * M_PI * I * (q->hz[i] * t - k[0] * q->r[i][0] - k[1] * q->r[i][1]));
    return sum;
}

TEST(a_curved_field_is_integrated_to_1e_5_of_the_largest_sample)
{
    enum { SAMPLES = 5, COILS = 2 };
    const larmor_phantom_field fields[] = {{.shim = {50, 0, 0}},
                                           {.shim = {0, 40, 60}, .hz = -30, .gradient = {40, 90, 0}},
                                           {.dipole = 60, .dipole_at = {.15, -.1, 0}}};
    const double seconds[SAMPLES] = {0, -3e-3, 2e-3, 8e-3, 15e-3};
    OWNED(larmor_phantom) *p = phantom("disc", 2);
    OWNED(larmor_array) *times, *traj = points_within(2, SAMPLES, 12, 5);
    OWN(lmr_coils, coils, lmr_coils_create(2, COILS, p->reach, &coils));
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(SAMPLES), LARMOR_F64, seconds, &times));
    double *k = host_of(traj), peak = 0;
    HEAP NEW_ZEROS(quadrature, q, 1);
    prepare(p, &coils, q);
    for (int i = 0; i < 200; i++) peak = fmax(peak, dipole_at(0, i / 200.));
    for (int i = 0; i < 3; i++) {
        OWN(larmor_array, *y,
            larmor_phantom_kspace_off_resonance(p, traj, &fields[i], times, COILS, LARMOR_C128, &y));
        HEAP double complex *v = values_of(y);
        for (int n = 0; n < NODES; n++) q->hz[n] = field_at(&fields[i], q->r[n], peak);
        for (int c = 0; c < COILS; c++)
            for (int j = 0; j < SAMPLES; j++) {
                const double complex expected = disc_integral(q, c, k + 2 * j, seconds[j]);
                assert_at_most(cabs(v[j + SAMPLES * c] - expected), 1e-5 * cabs(v[SAMPLES * c]));
            }
    }
    free(k);
}

/* Fields in a vacuum are harmonic: each value is the mean of the values around it. Shims are, near the centre, and
 * what is four standard deviations away from a magnetised region. */
TEST(shims_and_dipoles_are_fields_that_a_magnet_can_have)
{
    const larmor_phantom_field fields[] = {
        {.shim = {100, 50, 0}}, {.shim = {0, 0, 100}}, {.dipole = 200, .dipole_at = {.375, -.375, .375}}};
    enum { SIDE = 64 };
    for (int i = 0; i < 3; i++) {
        OWN(larmor_array, *map,
            larmor_phantom_field_map(&fields[i], dev, LARMOR_F64, LARMOR_SHAPE(SIDE, SIDE, SIDE), &map));
        OWN_MEMORY(double, *f, larmor_array_download(map, LARMOR_F64, &f));
        for (int at = 24; at < 42; at += 4) {
            const int64_t steps[] = {1, SIDE, SIDE * SIDE}, here = at + SIDE * (at + 3) + SIDE * SIDE * (at - 2);
            double sum = 0, size = 0;
            for (int d = 0; d < 3; d++) {
                const double bend = f[here + steps[d]] + f[here - steps[d]] - 2 * f[here];
                sum += bend;
                size += fabs(bend);
            }
            assert_true(size > 1e-4);
            assert_at_most(fabs(sum), 2e-2 * size);
        }
        if (fields[i].dipole !=
            0) { /* no field in the middle of the region, as all directions cancel, and all of it at the poles */
            double most = 0;
            for (int64_t at = 0; at < SIDE * SIDE * SIDE; at++) most = fmax(most, f[at]);
            assert_at_most(fabs(f[56 + SIDE * 8 + SIDE * SIDE * 56]), 1e-3 * most);
            assert_at_most(fabs(most - fields[i].dipole), .02 * most);
        }
    }
}

TEST(fields_that_cannot_be_simulated_are_refused)
{
    const struct {
        larmor_phantom_field field;
        const char *text;
    } refused[] = {{{.dipole = 10, .dipole_at = {2, 0, 0}}, "a dipole of 10 Hz at 2, 0, 0"},
                   {{.shim = {NAN, 0, 0}}, "phantom field: got"},
                   {{.shim = {1e6, 0, 0}}, "phantom field: it varies too much over 0.01 s"},
                   {{.shim = {1, 0, 0}}, "an enlarged one"}};
    const double seconds = 1e-2;
    OWNED(larmor_phantom) *p = phantom("disc", 2);
    OWNED(larmor_array) *times, *traj = points_within(2, 1, 1, 5);
    larmor_array *y;
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(1), LARMOR_F64, &seconds, &times));
    for (int i = 0; i < 3; i++)
        assert_refused(larmor_phantom_kspace_off_resonance(p, traj, &refused[i].field, times, 1, LARMOR_C64, &y),
                       LARMOR_ERR_ARG, refused[i].text);
    OWN(larmor_phantom, *large, larmor_phantom_change(p, &(larmor_phantom_state){.size = 1.3}, &large));
    assert_refused(larmor_phantom_kspace_off_resonance(large, traj, &refused[3].field, times, 1, LARMOR_C64, &y),
                   LARMOR_ERR_ARG, "enlarged 1.3 times");
}

TEST(times_are_those_of_samples_or_of_all_readouts)
{
    const larmor_phantom_field field = {.hz = 100};
    OWNED(larmor_phantom) *p = phantom("disc", 2);
    const double t[3] = {0, 1e-3, 2e-3}, repeated[6] = {0, 1e-3, 2e-3, 0, 1e-3, 2e-3};
    OWN(larmor_array, *traj, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(2, 3, 2), &traj));
    OWN(larmor_array, *each, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(3), &each));
    OWN(larmor_array, *all, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(3, 2), &all));
    OWN(larmor_array, *wrong, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(2), &wrong));
    assert_ok(larmor_array_write(each, t, sizeof t));
    assert_ok(larmor_array_write(all, repeated, sizeof repeated));
    OWN(larmor_array, *a, larmor_phantom_kspace_off_resonance(p, traj, &field, each, 0, LARMOR_C128, &a));
    larmor_array *b =
        MADE(larmor_array, larmor_phantom_kspace_off_resonance(p, traj, &field, all, 0, LARMOR_C128, &made));
    HEAP double complex *u = values_of(a), *v = values_of(b);
    assert_memory_equal(u, v, larmor_array_bytes(a));
    for (int j = 0; j < 6; j++)
        assert_at_most(cabs(u[j] - M_PI * 0.3 * 0.22 * cexp(0.2 * M_PI * I * (j % 3))), 1e-15);
    larmor_array_free(b);
    assert_refused(larmor_phantom_kspace_off_resonance(p, traj, &field, wrong, 0, LARMOR_C128, &b), LARMOR_ERR_SHAPE,
                   "phantom kspace: times are f64 [2]");
    assert_refused(larmor_phantom_field_map(&field, dev, LARMOR_C64, LARMOR_SHAPE(4, 4), &b), LARMOR_ERR_ARG,
                   "phantom field: got c64, expected f32 or f64");
}

TEST(a_real_density_has_a_conjugate_symmetric_kspace)
{
    for (int ndim = 2; ndim <= 3; ndim++) {
        OWNED(larmor_phantom) *p = phantom("shepp-logan", ndim);
        OWNED(larmor_array) *traj = points_within(ndim, 100, 200, 3);
        HEAP double complex *y = kspace_of(p, traj, 0);
        HEAP double *k = host_of(traj);
        for (int i = 0; i < 100 * ndim; i++) k[i] = -k[i];
        assert_ok(larmor_array_write(traj, k, larmor_array_bytes(traj)));
        HEAP double complex *opposite = kspace_of(p, traj, 0);
        for (int j = 0; j < 100; j++) assert_at_most(cabs(opposite[j] - conj(y[j])), 1e-16);
    }
}

TEST(a_shifted_phantom_has_a_linear_phase)
{
    const double shift[3] = {0.031, -0.017, 0.009};
    for (int ndim = 2; ndim <= 3; ndim++) {
        OWNED(larmor_phantom) *p = phantom("shepp-logan", ndim);
        OWNED(larmor_array) *traj = points_within(ndim, 100, 100, 4);
        HEAP double complex *y = kspace_of(p, traj, 0);
        for (int i = 0; i < p->parts; i++)
            for (int d = 0; d < ndim; d++) p->part[i].centre[d] += shift[d];
        HEAP double complex *moved = kspace_of(p, traj, 0);
        HEAP double *k = host_of(traj);
        for (int j = 0; j < 100; j++) {
            double cycles = 0;
            for (int d = 0; d < ndim; d++) cycles += k[ndim * j + d] * shift[d];
            assert_at_most(cabs(moved[j] - y[j] * cexp(-2 * M_PI * I * cycles)), 1e-14);
        }
    }
}

TEST(precision_and_threads_do_not_change_the_answer)
{
    OWNED(larmor_phantom) *p = phantom("shepp-logan", 2);
    OWNED(larmor_array) *traj = points_within(2, 1000, 64, 5), *single;
    larmor_array *y[3];
    assert_ok(larmor_phantom_kspace(p, traj, 4, LARMOR_C64, &single));
    const char *spec[] = {"cpu:1", "cpu:2", "cpu:3"};
    for (int i = 0; i < 3; i++) {
        OWN(larmor_device, *other, larmor_device_open(spec[i], &other));
        OWN(larmor_array, *there, larmor_array_to(traj, other, &there));
        assert_ok(larmor_phantom_kspace(p, there, 4, LARMOR_C128, &y[i]));
    }
    HEAP double complex *a = values_of(y[0]), *b = values_of(y[1]), *c = values_of(y[2]), *s = values_of(single);
    assert_memory_equal(a, b, larmor_array_bytes(y[0]));
    assert_memory_equal(a, c, larmor_array_bytes(y[0]));
    for (int j = 0; j < 4000; j++) assert_at_most(cabs(s[j] - a[j]), 1e-7 * cabs(a[j]) + 1e-30);
    for (int i = 0; i < 3; i++) larmor_array_free(y[i]);
}

TEST(kspace_has_the_shape_of_the_trajectory_and_the_coils)
{
    OWNED(larmor_phantom) *p = phantom("disc", 2);
    larmor_array *traj, *y;
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(2, 5, 7), &traj));
    assert_ok(larmor_phantom_kspace(p, traj, 0, LARMOR_C64, &y));
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(5, 7)));
    larmor_array_free(y);
    assert_ok(larmor_phantom_kspace(p, traj, 3, LARMOR_C64, &y));
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(5, 7, 3)));
    LMR_FREE(y, traj);
    assert_ok(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(2, 5, 0), &traj));
    assert_ok(larmor_phantom_kspace(p, traj, 3, LARMOR_C64, &y));
    assert_int_equal(larmor_array_count(y), 0);
    LMR_FREE(y, traj);
}

TEST(what_does_not_fit_is_refused)
{
    OWNED(larmor_phantom) *p = phantom("disc", 2);
    OWN(larmor_array, *flat, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(2, 4, 4), &flat));
    OWN(larmor_array, *solid, larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(3, 4, 4), &solid));
    assert_none_made(larmor_array, larmor_phantom_kspace(p, solid, 0, LARMOR_C64, &made), LARMOR_ERR_SHAPE,
                     "phantom kspace: trajectory is f64 [3, 4, 4]");
    assert_none_made(larmor_array, larmor_phantom_kspace(p, solid, 0, LARMOR_C64, &made), LARMOR_ERR_SHAPE,
                     "expected f32 or f64 [2, samples, readouts]");
    assert_none_made(larmor_array, larmor_phantom_kspace(p, flat, 1025, LARMOR_C64, &made), LARMOR_ERR_ARG,
                     "phantom: got 1025 coils, expected 0 to 1024");
    assert_none_made(larmor_array, larmor_phantom_kspace(p, flat, -1, LARMOR_C64, &made), LARMOR_ERR_ARG,
                     "got -1 coils");
    assert_none_made(larmor_array, larmor_phantom_kspace(p, flat, 0, LARMOR_F64, &made), LARMOR_ERR_ARG,
                     "phantom kspace: got f64, expected c64 or c128");
}
