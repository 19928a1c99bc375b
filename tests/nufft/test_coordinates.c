/* Points of coordinates that lie apart. SPDX-License-Identifier: Apache-2.0 */
#include "larmor/nufft.h"
#include "tests/support/test.h"

enum { M = 3000 };

static larmor_array *upload(larmor_dtype dtype, int64_t count, const double *x)
{
    larmor_array *array;
    assert_ok(larmor_array_upload(dev, dtype, LARMOR_SHAPE(count), LARMOR_F64, x, &array));
    return array;
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
                OWNED(double) *found;
                for (int d = 0; d < ndim; d++) apart[d] = upload(is_double ? LARMOR_F64 : LARMOR_F32, M, x[d]);
                assert_ok(larmor_nufft_join_coordinates(ndim, (const larmor_array *const *)apart,
                                                        scaled ? scale : NULL, &points));
                assert_true(larmor_shape_equal(larmor_array_shape(points), LARMOR_SHAPE(ndim, M)));
                assert_int_equal(larmor_array_dtype(points), LARMOR_F64);
                assert_ok(larmor_array_download(points, LARMOR_F64, &found));
                for (int i = 0; i < M * ndim; i++)
                    assert_true(found[i] == x[i % ndim][i / ndim] * (scaled ? scale[i % ndim] : 1));
                larmor_array_free(points);
                for (int d = 0; d < ndim; d++) larmor_array_free(apart[d]);
            }
}

TEST(no_coordinates_are_no_points)
{
    OWNED(larmor_array) *none, *points;
    assert_ok(larmor_array_create(dev, LARMOR_F32, LARMOR_SHAPE(0), &none));
    assert_ok(larmor_nufft_join_coordinates(2, (const larmor_array *[]){none, none}, NULL, &points));
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
