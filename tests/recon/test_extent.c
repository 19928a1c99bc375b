/* recon/samples/object_extent.c: objects whose k-space is known exactly, within and beyond the field of view.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

/* A Gaussian's full width at a twentieth of its maximum is 1.95 times its width here. */
typedef struct blob {
    double centre[3], width[3], density;
} blob;

static const blob inside[] = {
    {{0, 0, 0}, {0.4, 0.35, 0.35}, 1}, {{0.1, -0.12, 0.1}, {0.06, 0.08, 0.1}, 0.7}, {.density = 0}};
static const blob wide[] = {{{0, 0.5, 0}, {0.3, 0.2, 0.3}, 1}, {{0, -0.2, 0}, {0.3, 0.4, 0.3}, 1}, {.density = 0}};
static const blob bag[] = {
    {{0, 0, 0}, {0.4, 0.35, 0.35}, 1}, {{0.1, 0.62, 0}, {0.12, 0.1, 0.12}, 0.5}, {.density = 0}};

static const blob corner[] = {
    {{0, 0, 0}, {0.4, 0.35, 0.35}, 1}, {{0.62, 0.58, 0}, {0.1, 0.1, 0.12}, 0.6}, {.density = 0}};
static const blob far_away[] = {{{0, 0, 0}, {0.4, 0.35, 0.35}, 1},
                                {{0.88, 0, 0}, {0.1, 0.1, 0.12}, 0.6},
                                {{0, 0.57, 0}, {0.1, 0.1, 0.12}, 0.6},
                                {.density = 0}};

static cplx transform(const blob *b, const double *k, int nd)
{
    cplx sum = 0;
    for (; b->density > 0; b++) {
        double cycles = 0, square = 0, volume = b->density;
        for (int d = 0; d < nd; d++) {
            cycles += k[d] * b->centre[d];
            square += pow(k[d] * b->width[d], 2);
            volume *= b->width[d];
        }
        sum += volume * exp(-M_PI * square) * cexp(-2 * M_PI * I * cycles);
    }
    return sum;
}

typedef struct scan {
    const char *name;
    larmor_traj_opts opts;
} scan;

/* What samples have and the trajectory does not say. */
typedef struct fault {
    const scan *of;
    int64_t late;  /* samples by which readouts are behind along x */
    double cycles; /* of phase from the first to the last sample, of off-resonance */
} fault;

static fault at_fault;

static const scan scans[] = {
    {"golden", {.matrix = {48, 48}}},
    {"radial", {.matrix = {48, 48}}},
    {"spiral", {.matrix = {48, 48}}},
    {"spiral", {.matrix = {48, 48}, .density = 2}},
    {"koosh", {.matrix = {20, 20, 20}}},
    {"stars", {.matrix = {20, 20, 16}}},
    /* these sample along no axis, or along hardly any, more densely than the field of view asks for */
    {"radial", {.matrix = {48, 48}, .samples = 48}},
    {"cartesian", {.matrix = {48, 48}}},
};
enum { SCANS = sizeof scans / sizeof *scans, SEEING = SCANS - 2 };

/* Coil c sees the object with a phase that is linear in x, coils from `silent` on see nothing; noise: its standard
 * deviation relative to the root mean square of the samples. */
static larmor_extent extent_of(const scan *s, const blob *object, int coils, int silent, double noise)
{
    larmor_extent extent;
    uint64_t seed = 7;
    OWN(larmor_array, *traj, larmor_traj_create(dev, s->name, &s->opts, &traj));
    const larmor_shape shape = larmor_array_shape(traj);
    const int nd = (int)shape.dim[0];
    const int64_t m = shape.dim[1] * shape.dim[2];
    double *k = malloc(larmor_array_bytes(traj)), energy = 0;
    HEAP cplx *y = calloc((size_t)(m * coils), sizeof *y);
    assert_true(k && y);
    assert_ok(larmor_array_read(traj, k, larmor_array_bytes(traj)));
    for (int c = 0; c < silent; c++)
        for (int64_t j = 0; j < m; j++) {
            double shifted[3] = {0};
            const int64_t sample = j % shape.dim[1];
            const int64_t behind = sample < at_fault.late ? sample : at_fault.late;
            for (int d = 0; d < nd; d++) shifted[d] = k[(j - (d ? 0 : behind)) * nd + d] - (d ? 0 : (c - 1) / 2.);
            y[j + m * c] = object ? transform(object, shifted, nd) : 0;
            y[j + m * c] *= cexp(2 * M_PI * I * at_fault.cycles * (double)sample / (double)shape.dim[1]);
            energy += pow(cabs(y[j + m * c]), 2);
        }
    const double sigma = noise * (object ? sqrt(energy / (double)(m * silent)) : 1);
    for (int64_t j = 0; j < m * silent; j++) {
        const double re = test_random(&seed);
        y[j] += sigma * (re + I * test_random(&seed));
    }
    OWNED(larmor_array) *kspace = complex_array(LARMOR_C64, LARMOR_SHAPE(shape.dim[1], shape.dim[2], coils), y);
    const larmor_shape image = larmor_shape_of(nd, s->opts.matrix);
    assert_ok(larmor_field_of_view_extent(kspace, traj, image, NULL, &extent));
    free(k);
    return extent;
}

static void assert_within(const scan *s, const blob *object, int coils, int silent, double noise)
{
    const larmor_extent e = extent_of(s, object, coils, silent, noise);
    if (e.factor[0] > 1 || e.factor[1] > 1 || e.factor[2] > 1)
        fail_msg("%s, %d of %d coils, noise %g, undersampling %g: %.2f %.2f %.2f, outside %.3f", s->name, silent,
                 coils, noise, s->opts.undersampling, e.factor[0], e.factor[1], e.factor[2], e.outside);
}

TEST(an_object_within_the_field_of_view_asks_for_no_more)
{
    const double noise[] = {0, 0.1, 2};
    for (int i = 0; i < SCANS; i++)
        for (double under = 1; under <= 4; under *= 4)
            for (int n = of_all((i + (under > 1)) % 3, 0); n <= of_all((i + (under > 1)) % 3, 2); n++) {
                scan s = scans[i];
                s.opts.undersampling = under;
                assert_within(&s, inside, 2, 2, noise[n]);
            }
}

TEST(noise_is_no_object)
{
    for (int i = 0; i < SCANS; i++) assert_within(&scans[i], NULL, 2, 2, 1);
}

TEST(coils_without_signal_change_nothing)
{
    for (int i = 0; i < 4; i += 2) {
        assert_within(&scans[i], inside, 8, 2, 0.1);
        const double two = extent_of(&scans[i], wide, 2, 2, 0).factor[1];
        assert_at_most(fabs(extent_of(&scans[i], wide, 8, 2, 0).factor[1] - two), 0.051);
    }
}

TEST(an_object_beyond_the_field_of_view_is_found_along_its_axis)
{
    const double noise[] = {0, 0.1};
    for (int i = 0; i < SEEING; i++)
        for (int n = of_all(i % 2, 0); n <= of_all(i % 2, 1); n++) {
            const larmor_extent e = extent_of(&scans[i], wide, 2, 2, noise[n]);
            if (!(e.factor[0] == 1 && e.factor[2] == 1 && e.factor[1] > 1.15 && e.factor[1] < 1.6))
                fail_msg("%s: %.2f %.2f %.2f", scans[i].name, e.factor[0], e.factor[1], e.factor[2]);
            assert_true(e.outside > 0.03);
        }
}

TEST(a_small_object_apart_is_found)
{
    for (int i = 0; i < SEEING; i++) {
        const larmor_extent e = extent_of(&scans[i], bag, 1, 1, 0.05);
        if (!(e.factor[0] == 1 && e.factor[2] == 1 && e.factor[1] > 1.15 && e.factor[1] < 1.6))
            fail_msg("%s: %.2f %.2f %.2f, outside %.3f", scans[i].name, e.factor[0], e.factor[1], e.factor[2],
                     e.outside);
    }
}

/* Along one axis alone nothing is gained for what lies at the corner, nor on the way to what lies far away. */
TEST(an_object_beyond_two_axes_is_found_along_both)
{
    for (int i = 0; i < 3; i++)
        for (int is_far = 0; is_far < 2; is_far++) {
            const larmor_extent e = extent_of(&scans[i], is_far ? far_away : corner, 1 + i, 1 + i, 0.01);
            const double least = is_far ? 1.7 : 1.2;
            const double most = is_far ? 2 : 1.5;
            if (!(e.factor[0] > least && e.factor[0] <= most && e.factor[1] > 1.1 && e.factor[1] < 1.5))
                fail_msg("%s, far %d: %.2f %.2f, outside %.3f", scans[i].name, is_far, e.factor[0], e.factor[1],
                         e.outside);
        }
}

TEST(phase_encoding_cannot_tell_and_asks_for_nothing)
{
    assert_within(&scans[SCANS - 1], wide, 2, 2, 0);
    assert_within(&scans[SCANS - 1], bag, 2, 2, 0.1);
}

/* Signal outside that a larger field of view does not explain. */
TEST(errors_that_appear_outside_do_not_enlarge_the_field_of_view)
{
    const fault wrong[] = {{&scans[0], 2, 0}, {&scans[0], 3, 0}, {&scans[2], 0, 3}};
    int outside = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        at_fault = wrong[i];
        const larmor_extent e = extent_of(wrong[i].of, inside, 2, 2, 0.01);
        print_message("%s: outside %.3f, misfit %.3f, enlarged %.3f, factors %.2f %.2f\n", wrong[i].of->name,
                      e.outside, e.misfit, e.enlarged, e.factor[0], e.factor[1]);
        assert_true(e.factor[0] == 1 && e.factor[1] == 1);
        outside += e.outside > 0.03;
    }
    assert_true(outside >= 2);
    at_fault = (fault){NULL, 0, 0};
    const larmor_extent right = extent_of(&scans[2], wide, 2, 2, 0.01);
    assert_true(right.factor[1] > 1);
    assert_at_most(right.enlarged, 0.3 * right.misfit);
}

TEST(senseless_options_are_refused)
{
    OWNED(larmor_array) *k = zeros(LARMOR_C64, LARMOR_SHAPE(4, 4)), *traj = zeros(LARMOR_F64, LARMOR_SHAPE(2, 4, 4));
    larmor_extent e;
    assert_refused(larmor_field_of_view_extent(k, traj, LARMOR_SHAPE(8, 8), &(larmor_extent_opts){.most = 5}, &e),
                   LARMOR_ERR_ARG, "extent: most 5 and threshold 0.03");
    assert_refused(
        larmor_field_of_view_extent(k, traj, LARMOR_SHAPE(8, 8), &(larmor_extent_opts){.threshold = -1}, &e),
        LARMOR_ERR_ARG, "extent: most 2 and threshold -1");
}
