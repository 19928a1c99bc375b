/* recon/field/field_map.c and recon/field/unwrap.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { N = 40, NZ = 12, MOST = N * N * NZ, ECHOES = 4 };

/* An ellipsoid whose frequencies rise along x and curve along y, of which echoes are made; darker towards +y. */
typedef struct object {
    int64_t dim[3], count;
    int ndim;
    double f[MOST], magnitude[MOST];
} object;

static double centred(int64_t i, int64_t n)
{
    return n > 1 ? 2 * ((double)i - (double)(n / 2)) / (double)n : 0;
}

static object *make_object(int ndim, double slope, double curve, double offset)
{
    NEW_ZEROS(object, o, 1);
    *o = (object){.dim = {N, N, ndim == 3 ? NZ : 1}, .ndim = ndim};
    o->count = o->dim[0] * o->dim[1] * o->dim[2];
    for (int64_t i = 0; i < o->count; i++) {
        const double x = centred(i % N, N), y = centred(i / N % N, N), z = centred(i / N / N, o->dim[2]);
        o->f[i] = offset + slope * x + curve * (y * y - 0.3 + 0.5 * z);
        o->magnitude[i] = x * x + y * y + z * z < 0.64 ? 1 - 0.7 * y : 0;
    }
    return o;
}

/* With a phase of the object's own and noise of this deviation. */
static larmor_array *make_echoes(const object *o, int echoes, const double *t, double noise)
{
    HEAP cplx *x = malloc((size_t)(o->count * echoes) * sizeof *x);
    uint64_t seed = 3;
    assert_non_null(x);
    for (int64_t j = 0; j < o->count * echoes; j++) {
        const int64_t i = j % o->count;
        x[j] = o->magnitude[i] * cexp(2 * M_PI * I * (o->f[i] * t[j / o->count] + 0.3 + 0.01 * (double)(i % N)));
        const double re = test_random(&seed) + test_random(&seed), im = test_random(&seed) + test_random(&seed);
        x[j] += noise * sqrt(1.5) * (re + I * im); /* sums of two uniform numbers of -1 .. 1 */
    }
    larmor_shape shape = larmor_shape_of(o->ndim, o->dim);
    larmor_array *all = complex_array(LARMOR_C64, larmor_shape_append(shape, echoes), x);
    return all;
}

/* Root mean square of map - truth where the object is. */
static double error_of(const object *o, const larmor_array *map)
{
    HEAP cplx *got = values_of(map);
    double sum = 0, count = 0;
    for (int64_t i = 0; i < o->count; i++) {
        if (!(o->magnitude[i] > 0)) continue;
        sum += pow(creal(got[i]) - o->f[i], 2);
        count++;
    }
    return sqrt(sum / count);
}

static larmor_array *map_of(const object *o, int echoes, const double *t, double noise,
                            const larmor_field_map_opts *opts, larmor_field_map_report *report)
{
    larmor_array *x = make_echoes(o, echoes, t, noise), *map;
    assert_ok(larmor_field_map(x, o->ndim, t, opts, &map, report));
    assert_int_equal(larmor_array_dtype(map), LARMOR_F32);
    assert_true(larmor_shape_equal(larmor_array_shape(map), larmor_shape_of(o->ndim, o->dim)));
    larmor_array_free(x);
    return map;
}

TEST(a_phase_that_rises_is_a_positive_frequency)
{
    HEAP object *o = make_object(2, 0, 0, 37);
    const double t[] = {2e-3, 5e-3};
    OWNED(larmor_array) *map = map_of(o, 2, t, 0, NULL, NULL);
    HEAP cplx *got = values_of(map);
    for (int64_t i = 0; i < o->count; i++) assert_at_most(fabs(creal(got[i]) - 37), 1e-3); /* outside, too */
}

TEST(wraps_in_space_are_undone_in_two_and_three_dimensions)
{
    const double t[] = {1e-3, 6e-3}; /* 200 Hz: the object spans 480 */
    for (int ndim = 2; ndim < 4; ndim++) {
        HEAP object *o = make_object(ndim, 300, 120, 20);
        larmor_field_map_report report;
        OWNED(larmor_array) *map = map_of(o, 2, t, 0, &(larmor_field_map_opts){.smooth = 0.5}, &report);
        assert_at_most(error_of(o, map), 0.5);
        assert_int_equal(report.regions, 1);
        assert_true(report.wraps > 0);
        assert_true(fabs(report.unambiguous - 200) < 1e-6);
        assert_true(report.low > -300 && report.low < -150 && report.high < 320 && report.high > 200);
    }
}

TEST(noise_is_smoothed_away_by_confidence)
{
    const double t[] = {1e-3, 3e-3};
    HEAP object *o = make_object(2, 150, 60, -10);
    OWNED(larmor_array) *rough = map_of(o, 2, t, 0.05, &(larmor_field_map_opts){.smooth = -1}, NULL);
    OWNED(larmor_array) *usual = map_of(o, 2, t, 0.05, NULL, NULL);
    assert_true(error_of(o, rough) > 5); /* phases of the dark part are off by 0.1 and more */
    assert_at_most(error_of(o, usual), 2);
}

TEST(echoes_further_apart_make_it_exact_in_any_order)
{
    HEAP object *o = make_object(2, 150, 60, -10);
    const double near[] = {1e-3, 2.5e-3}, far[ECHOES] = {21e-3, 1e-3, 2.5e-3, 9e-3}; /* wraps in time */
    const larmor_field_map_opts opts = {.smooth = -1};
    OWNED(larmor_array) *two = map_of(o, 2, near, 0.01, &opts, NULL),
                        *four = map_of(o, ECHOES, far, 0.01, &opts, NULL);
    assert_true(error_of(o, two) > 5 * error_of(o, four));
    assert_at_most(error_of(o, four), 0.5);
}

TEST(parts_that_do_not_touch_continue_each_other)
{
    const double t[] = {1e-3, 6e-3};
    HEAP object *o = make_object(2, 250, 0, 0);
    for (int64_t i = 0; i < o->count; i++)
        if (i % N > 16 && i % N < 20) o->magnitude[i] = 0;
    larmor_field_map_report report;
    OWNED(larmor_array) *map = map_of(o, 2, t, 0.01, NULL, &report);
    assert_int_equal(report.regions, 2);
    assert_at_most(error_of(o, map), 2);
}

TEST(beyond_the_object_it_goes_on_and_stays_in_range)
{
    const double t[] = {1e-3, 3e-3};
    HEAP object *o = make_object(2, 100, 0, 0);
    larmor_field_map_report report;
    OWNED(larmor_array) *map = map_of(o, 2, t, 0.01, NULL, &report);
    HEAP cplx *got = values_of(map);
    for (int64_t i = 0; i < o->count; i++)
        assert_true(creal(got[i]) > report.low - 1e-3 && creal(got[i]) < report.high + 1e-3);
    assert_true(creal(got[N / 2 * N + N - 1]) > 60); /* the edge at +x, where the object ends at 80 */
    assert_true(creal(got[N / 2 * N]) < -60);
}

TEST(unusable_echoes_are_named)
{
    const double t[] = {1e-3, 3e-3}, same[] = {1e-3, 1e-3}, nan[] = {1e-3, NAN};
    HEAP object *o = make_object(2, 100, 0, 0);
    OWNED(larmor_array) *x = make_echoes(o, 2, t, 0), *none = zeros(LARMOR_C64, LARMOR_SHAPE(N, N, 2));
    larmor_array *map;
    assert_refused(larmor_field_map(x, 2, same, NULL, &map, NULL), LARMOR_ERR_ARG,
                   "field map: two echoes have the same time, 1 ms");
    assert_null(map);
    assert_refused(larmor_field_map(x, 2, nan, NULL, &map, NULL), LARMOR_ERR_ARG,
                   "field map: the time of echo 1 is not finite");
    assert_refused(larmor_field_map(x, 3, t, NULL, &map, NULL), LARMOR_ERR_SHAPE,
                   "field map: echoes are c64 [40, 40, 2]");
    assert_refused(larmor_field_map(x, 2, t, &(larmor_field_map_opts){.threshold = 2}, &map, NULL), LARMOR_ERR_ARG,
                   "threshold 2");
    assert_refused(larmor_field_map(none, 2, t, NULL, &map, NULL), LARMOR_ERR_NUMERIC,
                   "field map: the echoes show no object");
    assert_ok(larmor_fill(none, INFINITY));
    assert_refused(larmor_field_map(none, 2, t, NULL, &map, NULL), LARMOR_ERR_NUMERIC, "not finite at element 0");
}
