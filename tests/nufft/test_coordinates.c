/* Points of coordinates that lie apart. SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/test.h"

enum { M = 3000 };

static larmor_array *upload(larmor_dtype dtype, int64_t count, const double *x)
{
    return MADE(larmor_array, larmor_array_upload(dev, dtype, LARMOR_SHAPE(count), LARMOR_F64, x, &made));
}

TEST(points_have_each_coordinate_times_its_factor)
{
    static double x[3][M];
    const double scale[3] = {0.5, -4, 64}; /* exact, so that the sums of a device do not differ */
    uint64_t seed = 3;
    for (int i = 0; i < 3 * M; i++) x[i / M][i % M] = (float)test_random(&seed);
    for (int ndim = 1; ndim <= 3; ndim++)
        for (int is_double = 0; is_double < 2; is_double++)
            for (int scaled = 0; scaled < 2; scaled++) {
                larmor_array *apart[3] = {NULL, NULL, NULL}, *points;
                for (int d = 0; d < ndim; d++) apart[d] = upload(is_double ? LARMOR_F64 : LARMOR_F32, M, x[d]);
                assert_ok(larmor_nufft_join_coordinates(ndim, (const larmor_array *const *)apart,
                                                        scaled ? scale : NULL, &points));
                assert_true(larmor_shape_equal(larmor_array_shape(points), LARMOR_SHAPE(ndim, M)));
                assert_int_equal(larmor_array_dtype(points), LARMOR_F64);
                OWN_MEMORY(double, *found, larmor_array_download(points, LARMOR_F64, &found));
                for (int i = 0; i < M * ndim; i++)
                    assert_true(found[i] == x[i % ndim][i / ndim] * (scaled ? scale[i % ndim] : 1));
                larmor_array_free(points);
                for (int d = 0; d < ndim; d++) larmor_array_free(apart[d]);
            }
}

enum { SIDE = 24 };

/* A transform at the points that the plan has. */
static double *transform_there(larmor_nufft *plan, int64_t count)
{
    double numbers[2 * M], *found;
    for (int i = 0; i < 2 * M; i++) numbers[i] = cos(i);
    OWN(larmor_array, *values, larmor_array_upload(dev, LARMOR_C128, LARMOR_SHAPE(M), LARMOR_C128, numbers, &values));
    OWN(larmor_array, *modes, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(count), &modes));
    assert_ok(larmor_nufft_execute(plan, values, modes));
    assert_ok(larmor_array_download(modes, LARMOR_C128, &found));
    return found;
}

/* The same of these points, or of coordinates that lie apart where points is NULL. */
static double *transform(larmor_nufft *plan, const larmor_array *points, larmor_array *const *apart,
                         const double *scale, int64_t count)
{
    assert_ok(points ? larmor_nufft_set_points(plan, points, NULL)
                     : larmor_nufft_set_coordinates(plan, (const larmor_array *const *)apart, scale));
    return transform_there(plan, count);
}

/* The same of [ndim, M] with the last coordinate first, as a row-major array has it. */
static double *transform_reversed(larmor_nufft *plan, int ndim, larmor_dtype dtype, double x[3][M],
                                  const double *scale, int64_t count)
{
    static double mixed[3 * M];
    const int order[3] = {ndim - 1, ndim - 2, 0};
    for (int i = 0; i < ndim * M; i++) mixed[i] = x[ndim - 1 - i % ndim][i / ndim];
    OWN(larmor_array, *points, larmor_array_upload(dev, dtype, LARMOR_SHAPE(ndim, M), LARMOR_F64, mixed, &points));
    assert_ok(larmor_nufft_set_columns(plan, points, order, scale));
    return transform_there(plan, count);
}

TEST(a_plan_takes_coordinates_that_lie_apart_or_in_another_order_as_it_takes_points)
{
    static double x[3][M];
    const double scale[3] = {SIDE / 6.283185307179586, 0.75, -3};
    uint64_t seed = 8;
    for (int i = 0; i < 3 * M; i++) x[i / M][i % M] = (float)(4 * test_random(&seed)); /* outside of a period, too */
    for (int i = 0; i < 13; i++) {                                                     /* the last is timed */
        const int ndim = 1 + i % 3, is_double = i / 3 % 2, spread_only = i / 6 % 2;
        const larmor_nufft_opts o = {.size = sizeof o,
                                     .type = 1,
                                     .ndim = ndim,
                                     .modes = {SIDE, SIDE, SIDE},
                                     .tol = 1e-9,
                                     .dtype = LARMOR_C128,
                                     .spread_only = spread_only,
                                     .effort = i == 12 ? LARMOR_PLAN_MEASURE : LARMOR_PLAN_ESTIMATE};
        const int64_t counts[3] = {SIDE, SIDE * SIDE, SIDE * SIDE * SIDE}, count = counts[ndim - 1];
        larmor_array *apart[3] = {NULL, NULL, NULL}, *points;
        for (int d = 0; d < ndim; d++) apart[d] = upload(is_double ? LARMOR_F64 : LARMOR_F32, M, x[d]);
        assert_ok(larmor_nufft_join_coordinates(ndim, (const larmor_array *const *)apart, scale, &points));
        larmor_nufft *plan = MADE(larmor_nufft, larmor_nufft_create(dev, &o, &made));
        HEAP double *a = transform(plan, points, apart, scale, count);
        HEAP double *b = transform(plan, NULL, apart, scale, count);
        HEAP double *c = transform_reversed(plan, ndim, is_double ? LARMOR_F64 : LARMOR_F32, x, scale, count);
        /* a GPU adds in another order each time; timing may choose another width, which holds the tolerance */
        const double bound = i == 12 ? 1e-8 : 1e-10;
        double most = 0;
        for (int64_t k = 0; k < 2 * count; k++) most = fmax(most, fabs(a[k]));
        for (int64_t k = 0; k < 2 * count; k++) {
            assert_at_most(fabs(a[k] - b[k]), bound * most);
            assert_at_most(fabs(a[k] - c[k]), bound * most);
        }
        larmor_nufft_free(plan);
        larmor_array_free(points);
        for (int d = 0; d < ndim; d++) larmor_array_free(apart[d]);
    }
}

TEST(coordinates_that_are_refused_leave_the_plan_as_it_was)
{
    static double x[M], y[M];
    uint64_t seed = 9;
    for (int i = 0; i < M; i++) x[i] = y[i] = 7 * test_random(&seed);
    y[M - 2] = NAN;
    OWNED(larmor_array) *good = upload(LARMOR_F32, M, x), *bad = upload(LARMOR_F32, M, y);
    const larmor_nufft_opts o = {
        .size = sizeof o, .type = 1, .ndim = 2, .modes = {SIDE, SIDE}, .tol = 1e-6, .dtype = LARMOR_C128};
    const larmor_nufft_opts o3 = {.size = sizeof o3, .type = 3, .ndim = 2, .tol = 1e-6, .dtype = LARMOR_C128};
    OWN(larmor_nufft, *plan, larmor_nufft_create(dev, &o, &plan));
    OWN(larmor_nufft, *type3, larmor_nufft_create(dev, &o3, &type3));
    larmor_array *const apart[] = {good, good};
    HEAP double *before = transform(plan, NULL, apart, NULL, SIDE * SIDE), *after, *numbers = calloc(2 * M, 8);
    assert_refused(larmor_nufft_set_coordinates(plan, (const larmor_array *[]){good, bad}, NULL), LARMOR_ERR_NUMERIC,
                   "point 2998 is not finite");
    assert_refused(larmor_nufft_set_coordinates(plan, (const larmor_array *[]){good, NULL}, NULL), LARMOR_ERR_ARG,
                   "larmor_nufft_set_coordinates: coordinate 1 is NULL");
    assert_refused(larmor_nufft_set_coordinates(NULL, (const larmor_array *[]){good, good}, NULL), LARMOR_ERR_ARG,
                   "a plan is needed");
    assert_refused(larmor_nufft_set_coordinates(type3, (const larmor_array *[]){good, good}, NULL), LARMOR_ERR_ARG,
                   "type 3");
    OWN(larmor_array, *pairs, larmor_array_reshape(bad, LARMOR_SHAPE(2, M / 2), &pairs));
    assert_refused(larmor_nufft_set_columns(plan, pairs, NULL, NULL), LARMOR_ERR_NUMERIC, "point 1499 is not finite");
    assert_refused(larmor_nufft_set_columns(plan, pairs, (const int[]){1, 1}, NULL), LARMOR_ERR_ARG,
                   "larmor_nufft_set_columns: order[1] is 1, expected each of 0 to 1 once");
    assert_refused(larmor_nufft_set_columns(type3, pairs, NULL, NULL), LARMOR_ERR_ARG, "type 3");
    for (int i = 0; i < 2 * M; i++) numbers[i] = cos(i);
    OWN(larmor_array, *values, larmor_array_upload(dev, LARMOR_C128, LARMOR_SHAPE(M), LARMOR_C128, numbers, &values));
    OWN(larmor_array, *modes, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(SIDE * SIDE), &modes));
    assert_ok(larmor_nufft_execute(plan, values, modes));
    assert_ok(larmor_array_download(modes, LARMOR_C128, &after));
    for (int k = 0; k < 2 * SIDE * SIDE; k++) assert_at_most(fabs(after[k] - before[k]), 1e-9 * M);
}

TEST(no_coordinates_are_no_points)
{
    OWN(larmor_array, *none, larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(0), &none));
    OWN(larmor_array, *points, larmor_nufft_join_coordinates(2, (const larmor_array *[]){none, none}, NULL, &points));
    assert_true(larmor_shape_equal(larmor_array_shape(points), LARMOR_SHAPE(2, 0)));
}

TEST(coordinates_that_differ_are_refused)
{
    const double v[4] = {0};
    OWNED(larmor_array) *x = upload(LARMOR_F32, 4, v), *shorter = upload(LARMOR_F32, 3, v),
                        *longer = upload(LARMOR_F64, 4, v);
    larmor_array *numbers = upload(LARMOR_C64, 4, v), *points = x;
    larmor_array *const others[] = {shorter, longer, numbers};
    for (int i = 0; i < 3; i++) {
        assert_refused(larmor_nufft_join_coordinates(2, (const larmor_array *[]){x, others[i]}, NULL, &points),
                       LARMOR_ERR_SHAPE, "coordinate 1 is");
        assert_null(points);
    }
    assert_refused(larmor_nufft_join_coordinates(1, (const larmor_array *[]){numbers}, NULL, &points),
                   LARMOR_ERR_SHAPE, "coordinate 0 is c64");
    assert_refused(larmor_nufft_join_coordinates(2, (const larmor_array *[]){x, NULL}, NULL, &points), LARMOR_ERR_ARG,
                   "coordinate 1 is NULL");
    assert_refused(larmor_nufft_join_coordinates(4, (const larmor_array *[]){x, x, x, x}, NULL, &points),
                   LARMOR_ERR_ARG, "1 to 3");
    larmor_array_free(numbers);
}
