/* Arrays: shapes, storage, views, conversion, algebra. SPDX-License-Identifier: Apache-2.0 */

#include <complex.h>
#include <limits.h>

#include "tests/support/test.h"

typedef double _Complex cx;

static larmor_array *make(larmor_dtype dtype, larmor_shape shape, const void *values)
{
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, dtype, shape, &made));
    if (values) assert_ok(larmor_array_write(x, values, larmor_array_bytes(x)));
    return x;
}

static void assert_values(const larmor_array *x, const void *expected, size_t bytes)
{
    unsigned char got[512];
    assert_true(bytes <= sizeof got);
    assert_ok(larmor_array_read(x, got, bytes));
    assert_memory_equal(got, expected, bytes);
}

/* ---- shapes ---- */

TEST(a_shape_counts_its_elements)
{
    assert_int_equal(larmor_shape_count(LARMOR_SHAPE(3, 4, 5)), 60);
    assert_int_equal(larmor_shape_count((larmor_shape){0}), 1);
    assert_int_equal(larmor_shape_count(LARMOR_SHAPE(3, 0, 5)), 0);
    assert_int_equal(larmor_shape_count(LARMOR_SHAPE(3, -1)), -1);
    assert_int_equal(larmor_shape_count(LARMOR_SHAPE(0, -1)), -1);
    assert_int_equal(larmor_shape_count(LARMOR_SHAPE(INT64_C(1) << 31, INT64_C(1) << 31)), INT64_C(1) << 62);
    assert_int_equal(larmor_shape_count(LARMOR_SHAPE(INT64_C(1) << 32, INT64_C(1) << 31)), -1);
    assert_int_equal(larmor_shape_count((larmor_shape){.ndim = 9}), -1);
}

TEST(shapes_are_made_appended_and_compared)
{
    const int64_t dims[] = {2, 3, 4};
    assert_true(larmor_shape_equal(larmor_shape_of(3, dims), LARMOR_SHAPE(2, 3, 4)));
    assert_true(larmor_shape_equal(larmor_shape_append(larmor_shape_of(2, dims), 9), LARMOR_SHAPE(2, 3, 9)));
    assert_false(larmor_shape_equal(LARMOR_SHAPE(2, 3), LARMOR_SHAPE(2, 3, 1)));
    assert_false(larmor_shape_equal(LARMOR_SHAPE(2, 3), LARMOR_SHAPE(3, 2)));
    assert_int_equal(larmor_shape_of(9, dims).ndim, 0);
    assert_int_equal(larmor_shape_of(-1, dims).ndim, 0);
    const larmor_shape full = LARMOR_SHAPE(1, 1, 1, 1, 1, 1, 1, 1);
    assert_int_equal(larmor_shape_count(larmor_shape_append(full, 1)), -1);
    assert_int_equal(larmor_shape_count(larmor_shape_append((larmor_shape){-1, {0}}, 1)), -1);
    assert_int_equal(larmor_shape_append((larmor_shape){INT_MAX, {0}}, 1).ndim, INT_MAX);
}

TEST(types_have_names_and_sizes)
{
    const char *const names[] = {"f32", "f64", "c64", "c128", "i64"};
    const size_t sizes[] = {4, 8, 8, 16, 8};
    for (int t = LARMOR_F32; t <= LARMOR_I64; t++) {
        assert_string_equal(larmor_dtype_name((larmor_dtype)t), names[t]);
        assert_int_equal(larmor_dtype_size((larmor_dtype)t), sizes[t]);
    }
}

/* ---- life ---- */

TEST(new_arrays_are_zero_and_may_be_empty)
{
    const double zeros[8] = {0};
    OWNED(larmor_array) *x = make(LARMOR_C128, LARMOR_SHAPE(4), NULL),
                        *none = make(LARMOR_C64, LARMOR_SHAPE(3, 0), NULL);
    assert_values(x, zeros, sizeof zeros);
    assert_int_equal(larmor_array_bytes(none), 0);
    assert_ok(larmor_array_write(none, NULL, 0));
    assert_ok(larmor_array_read(none, NULL, 0));
    assert_ok(larmor_zero(none));
    double norm = 1;
    assert_ok(larmor_nrm2(none, &norm));
    assert_true(norm == 0);
    larmor_array_free(NULL);
}

TEST(impossible_arrays_are_refused)
{
    larmor_array *x = (larmor_array *)&x;
    assert_refused(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(4, -1), &x), LARMOR_ERR_SHAPE, "[4, -1]");
    assert_null(x);
    const larmor_shape large = LARMOR_SHAPE(INT64_C(1) << 31, INT64_C(1) << 31);
    assert_refused(larmor_array_create(dev, LARMOR_C128, large, &x), LARMOR_ERR_SHAPE, "not a possible shape");
    assert_refused(larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(INT64_C(1) << 55), &x), LARMOR_ERR_MEMORY,
                   " bytes asked for");
    assert_int_equal(larmor_array_create(NULL, LARMOR_C64, LARMOR_SHAPE(4), &x), LARMOR_ERR_ARG);
    assert_int_equal(larmor_array_create(dev, (larmor_dtype)7, LARMOR_SHAPE(4), &x), LARMOR_ERR_ARG);
}

TEST(copies_from_and_to_the_host_must_fit)
{
    const float v[3] = {1, 2, 3};
    OWNED(larmor_array) *x = make(LARMOR_F32, LARMOR_SHAPE(3), v);
    float back[4];
    assert_values(x, v, sizeof v);
    assert_refused(larmor_array_read(x, back, 16), LARMOR_ERR_SHAPE, "got 16 bytes, expected 12 for f32 [3] on");
    assert_refused(larmor_array_write(x, v, 8), LARMOR_ERR_SHAPE, "got 8 bytes, expected 12");
    assert_refused(larmor_array_write(x, NULL, 12), LARMOR_ERR_ARG, "NULL");
}

/* ---- views ---- */

TEST(a_slice_shares_storage_and_keeps_it_alive)
{
    const float v[6] = {0, 1, 2, 3, 4, 5};
    larmor_array *x = make(LARMOR_F32, LARMOR_SHAPE(2, 3), v), *view, *inner;
    assert_ok(larmor_array_slice(x, 1, 2, &view));
    assert_true(larmor_shape_equal(larmor_array_shape(view), LARMOR_SHAPE(2, 2)));
    assert_values(view, v + 2, 16);
    assert_ok(larmor_array_slice(view, 1, 1, &inner));
    assert_ok(larmor_zero(inner));
    assert_values(x, (float[]){0, 1, 2, 3, 0, 0}, 24);
    LMR_FREE(x, view);
    assert_values(inner, (float[]){0, 0}, 8);
    larmor_array_free(inner);
}

TEST(a_slice_that_leaves_the_array_is_refused)
{
    OWNED(larmor_array) *x = make(LARMOR_F32, LARMOR_SHAPE(2, 3), NULL),
                        *scalar = make(LARMOR_F32, (larmor_shape){0}, NULL), *view;
    const int64_t wrong[][2] = {{-1, 1}, {0, 4}, {3, 1}, {2, 2}, {0, -1}, {1, INT64_MAX}, {INT64_MAX, 1}};
    for (int i = 0; i < 7; i++)
        assert_refused(larmor_array_slice(x, wrong[i][0], wrong[i][1], &view), LARMOR_ERR_SHAPE, "f32 [2, 3]");
    assert_null(view);
    assert_int_equal(larmor_array_slice(scalar, 0, 1, &view), LARMOR_ERR_SHAPE);
    assert_ok(larmor_array_slice(x, 3, 0, &view));
    assert_int_equal(larmor_array_count(view), 0);
}

TEST(a_reshape_keeps_the_order_and_the_count)
{
    const float v[6] = {0, 1, 2, 3, 4, 5};
    larmor_array *x = make(LARMOR_F32, LARMOR_SHAPE(2, 3), v), *y;
    assert_refused(larmor_array_reshape(x, LARMOR_SHAPE(4), &y), LARMOR_ERR_SHAPE, "f32 [2, 3]");
    assert_ok(larmor_array_reshape(x, LARMOR_SHAPE(3, 1, 2), &y));
    larmor_array_free(x);
    assert_true(larmor_shape_equal(larmor_array_shape(y), LARMOR_SHAPE(3, 1, 2)));
    assert_values(y, v, sizeof v);
    larmor_array_free(y);
}

TEST(the_same_device_or_type_gives_the_array_itself)
{
    larmor_array *x = make(LARMOR_C64, LARMOR_SHAPE(2), NULL), *same, *moved;
    assert_ok(larmor_array_to(x, dev, &same));
    assert_ptr_equal(x, same);
    larmor_array_free(same);
    assert_ok(larmor_array_convert(x, LARMOR_C64, &same));
    assert_ptr_equal(x, same);
    larmor_array_free(same);
    const float v[4] = {1, 2, 3, 4};
    assert_ok(larmor_array_write(x, v, sizeof v));
    larmor_device *other = MADE(larmor_device, larmor_device_open("cpu:2", &made));
    assert_ok(larmor_array_to(x, other, &moved));
    larmor_array_free(x);
    assert_ptr_equal(larmor_array_device(moved), other);
    larmor_device_free(other);
    assert_values(moved, v, sizeof v);
    larmor_array_free(moved);
}

TEST(conversion_keeps_values_and_makes_real_parts)
{
    const float v[2] = {1.5F, -2.25F};
    OWNED(larmor_array) *x = make(LARMOR_F32, LARMOR_SHAPE(2), v), *in_double, *complex_x;
    assert_ok(larmor_array_convert(x, LARMOR_F64, &in_double));
    assert_values(in_double, (double[]){1.5, -2.25}, 16);
    assert_ok(larmor_array_convert(x, LARMOR_C128, &complex_x));
    assert_values(complex_x, (double[]){1.5, 0, -2.25, 0}, 32);
    larmor_array *back = MADE(larmor_array, larmor_array_convert(complex_x, LARMOR_C64, &made));
    assert_values(back, (float[]){1.5F, 0, -2.25F, 0}, 16);
    larmor_array_free(back);
    assert_refused(larmor_array_convert(complex_x, LARMOR_F64, &back), LARMOR_ERR_ARG, "c128 [2] on");
    assert_null(back);
}

TEST(a_part_is_a_slice_in_another_shape)
{
    const float v[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    larmor_array *x = make(LARMOR_F32, LARMOR_SHAPE(2, 4), v), *part;
    assert_ok(larmor_array_part(x, 1, 2, LARMOR_SHAPE(4, 1), &part));
    larmor_array_free(x);
    assert_true(larmor_shape_equal(larmor_array_shape(part), LARMOR_SHAPE(4, 1)));
    assert_values(part, v + 2, 16);
    assert_refused(larmor_array_part(part, 0, 1, LARMOR_SHAPE(3), &x), LARMOR_ERR_SHAPE, "cannot become f32 [3]");
    assert_refused(larmor_array_part(part, 1, 1, LARMOR_SHAPE(4), &x), LARMOR_ERR_SHAPE, "1 indices from 1 on");
    assert_null(x);
    larmor_array_free(part);
}

TEST(upload_and_download_convert_between_the_hosts_type_and_the_arrays)
{
    const double v[3] = {1.5, -2, 0.25};
    HEAP double *back;
    larmor_array *x = MADE(larmor_array, larmor_array_upload(dev, LARMOR_C64, LARMOR_SHAPE(3), LARMOR_F64, v, &made));
    assert_values(x, (float[]){1.5F, 0, -2, 0, 0.25F, 0}, 24);
    OWN_MEMORY(float _Complex, *in_single, larmor_array_download(x, LARMOR_C64, &in_single));
    for (int i = 0; i < 3; i++) assert_true(crealf(in_single[i]) == (float)v[i] && cimagf(in_single[i]) == 0);
    back = (double *)&back;
    assert_refused(larmor_array_download(x, LARMOR_F64, &back), LARMOR_ERR_ARG, "c64 [3]");
    assert_null(back);
    larmor_array_free(x);
    assert_ok(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3), LARMOR_F64, v, &x));
    assert_ok(larmor_array_download(x, LARMOR_F64, &back));
    assert_memory_equal(back, v, sizeof v);
    larmor_array_free(x);
    assert_refused(larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(3), LARMOR_C64, v, &x), LARMOR_ERR_ARG,
                   "to f32");
    assert_null(x);
    assert_refused(larmor_array_upload(dev, LARMOR_F32, LARMOR_SHAPE(3), LARMOR_F64, NULL, &x), LARMOR_ERR_ARG,
                   "NULL");
    assert_null(x);
}

TEST(whole_numbers_are_stored_exactly_and_never_made_of_others)
{
    const int64_t v[3] = {(INT64_C(1) << 53) + 1, -7, INT64_MIN};
    larmor_array *x = make(LARMOR_I64, LARMOR_SHAPE(3), v), *y = make(LARMOR_I64, LARMOR_SHAPE(3), NULL), *in_double,
                 *none;
    assert_ok(larmor_copy(x, y));
    assert_values(y, v, sizeof v);
    assert_ok(larmor_fill(y, -3));
    assert_values(y, (int64_t[]){-3, -3, -3}, sizeof v);
    assert_refused(larmor_fill(y, 0.5), LARMOR_ERR_ARG, "0.5 is not a whole number");
    assert_refused(larmor_fill(y, 1e19), LARMOR_ERR_ARG, "not a whole number of 64 bits");
    assert_ok(larmor_array_convert(y, LARMOR_F64, &in_double));
    assert_values(in_double, (double[]){-3, -3, -3}, 24);
    assert_refused(larmor_array_convert(in_double, LARMOR_I64, &none), LARMOR_ERR_ARG, "f64 [3]");
    assert_refused(larmor_axpby(1, y, 1, y), LARMOR_ERR_SHAPE, "expected a complex array");
    LMR_FREE(in_double, y, x);
}

/* ---- memory of the caller's ---- */

typedef struct returned {
    int times;
    void *data;
} returned;

static void give_back(void *data, void *user)
{
    returned *r = user;
    r->times++;
    r->data = data;
}

static int on_a_processor(void)
{
    return !strncmp(larmor_device_spec(dev), "cpu", 3);
}

TEST(wrapped_memory_is_used_where_it_lies_and_released_once_after_the_last_view)
{
    if (!on_a_processor()) skip();
    float v[6] = {0, 1, 2, 3, 4, 5};
    returned r = {0};
    larmor_array *x, *view;
    assert_ok(larmor_array_wrap(dev, LARMOR_F32, LARMOR_SHAPE(2, 3), v, give_back, &r, &x));
    assert_ptr_equal(larmor_array_data(x), v);
    assert_ok(larmor_array_slice(x, 1, 1, &view));
    assert_ok(larmor_fill(view, 9));
    assert_true(v[1] == 1 && v[2] == 9 && v[3] == 9 && v[4] == 4);
    larmor_array_free(x);
    assert_int_equal(r.times, 0);
    larmor_array_free(view);
    assert_int_equal(r.times, 1);
    assert_ptr_equal(r.data, v);
    assert_ok(larmor_array_wrap(dev, LARMOR_F32, LARMOR_SHAPE(6), v, NULL, NULL, &x));
    larmor_array_free(x);
    assert_true(v[2] == 9);
}

/* An array's own memory stands for CuPy's. */
TEST(a_devices_own_memory_can_be_wrapped)
{
    const cx v[2] = {1, I};
    larmor_array *own = make(LARMOR_C128, LARMOR_SHAPE(2), v), *x;
    returned r = {0};
    assert_ok(larmor_array_wrap(dev, LARMOR_C128, LARMOR_SHAPE(2), larmor_array_data(own), give_back, &r, &x));
    assert_ok(larmor_axpby(2, x, 0, x));
    larmor_array_free(x);
    assert_int_equal(r.times, 1);
    assert_values(own, (cx[]){2, 2 * I}, 32);
    larmor_array_free(own);
}

TEST(memory_that_cannot_be_wrapped_is_refused_and_not_released)
{
    double v[2] = {0};
    returned r = {0};
    larmor_array *x;
    assert_refused(larmor_array_wrap(dev, LARMOR_F64, LARMOR_SHAPE(2), NULL, give_back, &r, &x), LARMOR_ERR_ARG,
                   "the memory is NULL");
    assert_null(x);
    assert_refused(larmor_array_wrap(dev, LARMOR_F64, LARMOR_SHAPE(1), (char *)v + 4, give_back, &r, &x),
                   LARMOR_ERR_ARG, "aligned to 8 bytes");
    assert_refused(larmor_array_wrap(dev, LARMOR_F64, LARMOR_SHAPE(-1), v, give_back, &r, &x), LARMOR_ERR_SHAPE,
                   "not a possible shape");
    if (!on_a_processor())
        assert_refused(larmor_array_wrap(dev, LARMOR_F64, LARMOR_SHAPE(2), v, give_back, &r, &x), LARMOR_ERR_ARG,
                       "the memory is not on");
    assert_int_equal(r.times, 0);
    assert_ok(larmor_array_wrap(dev, LARMOR_F64, LARMOR_SHAPE(0), NULL, give_back, &r, &x));
    larmor_array_free(x);
    assert_int_equal(r.times, 1);
}

/* ---- algebra ---- */

TEST(the_algebra_computes_what_it_says)
{
    const cx xv[2] = {1 + 2 * I, -3}, yv[2] = {I, 2 - I}, dv[2] = {2, I};
    OWNED(larmor_array) *x = make(LARMOR_C128, LARMOR_SHAPE(2), xv), *y = make(LARMOR_C128, LARMOR_SHAPE(2), yv),
                        *d = make(LARMOR_C128, LARMOR_SHAPE(2), dv);
    double dot[2];
    assert_ok(larmor_dot(x, y, dot)); /* (1-2i) i + (-3)(2-i) = -4 + 4i */
    assert_true(dot[0] == -4 && dot[1] == 4);
    assert_at_most(fabs(norm_of(x) - sqrt(14)), 1e-15);
    assert_ok(larmor_axpby(2, x, -1, y));
    assert_values(y, (cx[]){2 + 3 * I, -8 + I}, 32);
    assert_ok(larmor_mul(d, 1, y));
    assert_values(y, (cx[]){4 + 6 * I, 1 + 8 * I}, 32);
    assert_ok(larmor_copy(x, y));
    assert_values(y, xv, 32);
}

TEST(complex_factors_multiply_both_arrays)
{
    const cx xv[2] = {1 + 2 * I, -3 + I}, yv[2] = {I, 2 - I};
    OWNED(larmor_array) *x = make(LARMOR_C128, LARMOR_SHAPE(2), xv), *y = make(LARMOR_C128, LARMOR_SHAPE(2), yv);
    assert_ok(larmor_axpby_complex((double[]){0, 1}, x, (double[]){2, -1}, y)); /* i x + (2 - i) y */
    assert_values(y, (cx[]){-1 + 3 * I, 2 - 7 * I}, 32);
    assert_ok(larmor_axpby_complex((double[]){0, 1}, x, (double[]){0, 0}, x));
    assert_values(x, (cx[]){-2 + I, -1 - 3 * I}, 32);
}

TEST(sums_and_distances_take_one_pass)
{
    const cx xv[2] = {1 + 2 * I, -3 + I}, yv[2] = {I, 2 - I};
    OWNED(larmor_array) *x = make(LARMOR_C128, LARMOR_SHAPE(2), xv), *y = make(LARMOR_C128, LARMOR_SHAPE(2), yv),
                        *other = make(LARMOR_C64, LARMOR_SHAPE(2), NULL);
    const larmor_array *const terms[] = {x, y, x}, *const mixed[] = {x, other};
    double norms[3];
    assert_ok(larmor_distance(x, y, norms)); /* x - y is 1 + i, -5 + 2i */
    assert_at_most(fabs(norms[0] - sqrt(15)), 1e-15);
    assert_at_most(fabs(norms[1] - sqrt(6)), 1e-15);
    assert_at_most(fabs(norms[2] - sqrt(31)), 1e-15);
    assert_ok(larmor_sum(3, (double[]){2, -1, 0.5}, terms, y));
    assert_values(y, (cx[]){2.5 + 4 * I, -9.5 + 3.5 * I}, 32);
    assert_refused(larmor_sum(0, norms, terms, y), LARMOR_ERR_ARG, "got 0 arrays, expected 1 to 4");
    assert_refused(larmor_sum(5, norms, terms, y), LARMOR_ERR_ARG, "got 5 arrays, expected 1 to 4");
    assert_refused(larmor_sum(2, NULL, terms, y), LARMOR_ERR_ARG, "with a factor each");
    assert_refused(larmor_sum(2, norms, mixed, x), LARMOR_ERR_SHAPE, "larmor_sum: y is c128 [2]");
    assert_refused(larmor_distance(x, other, norms), LARMOR_ERR_SHAPE, "larmor_distance: y is c64 [2]");
    assert_refused(larmor_distance(x, y, NULL), LARMOR_ERR_ARG, "out is NULL");
}

/* That of the constraint to numbers >= 0 is max(0, Re x), written as a user of the library would. */
TEST(a_proximal_map_of_ones_own_runs_on_the_device)
{
    const cx v[4] = {3 + 5 * I, 0.5, -2 + I, 1.5 - I};
    OWNED(larmor_array) *x = make(LARMOR_C128, LARMOR_SHAPE(4), v),
                        *positive = make(LARMOR_C128, LARMOR_SHAPE(4), NULL);
    assert_ok(larmor_real(x, x));
    assert_values(x, (cx[]){3, 0.5, -2, 1.5}, 64);
    assert_ok(larmor_abs(x, positive));
    assert_values(positive, (cx[]){3, 0.5, 2, 1.5}, 64);
    assert_ok(larmor_axpby(0.5, x, 0.5, positive));
    assert_values(positive, (cx[]){3, 0.5, 0, 1.5}, 64);
}

TEST(mul_repeats_d_along_the_trailing_dimensions)
{
    const cx dv[2] = {2, I}, yv[4] = {1, 1, 3, 1 + I};
    OWNED(larmor_array) *d = make(LARMOR_C128, LARMOR_SHAPE(2), dv), *y = make(LARMOR_C128, LARMOR_SHAPE(2, 2), yv),
                        *wrong = make(LARMOR_C128, LARMOR_SHAPE(1, 2), NULL),
                        *none = make(LARMOR_C128, LARMOR_SHAPE(0, 4), NULL),
                        *empty = make(LARMOR_C128, LARMOR_SHAPE(0), NULL);
    assert_ok(larmor_mul(d, 0, y));
    assert_values(y, (cx[]){2, I, 6, I - 1}, 64);
    assert_int_equal(larmor_mul(wrong, 0, y), LARMOR_ERR_SHAPE);
    assert_int_equal(larmor_mul(y, 0, d), LARMOR_ERR_SHAPE);
    assert_ok(larmor_mul(empty, 0, none));
}

TEST(mismatched_shapes_are_named_in_the_message)
{
    OWNED(larmor_array) *x = make(LARMOR_C64, LARMOR_SHAPE(4, 4), NULL),
                        *y = make(LARMOR_C64, LARMOR_SHAPE(4, 5), NULL);
    double dot[2];
    assert_refused(larmor_axpby(1, x, 0, y), LARMOR_ERR_SHAPE, "c64 [4, 5] on");
    assert_refused(larmor_copy(x, y), LARMOR_ERR_SHAPE, "expected c64 [4, 4] on");
    assert_refused(larmor_dot(x, y, dot), LARMOR_ERR_SHAPE, "larmor_dot: y is c64 [4, 5]");
    assert_refused(larmor_axpby(1, x, 0, NULL), LARMOR_ERR_SHAPE, "y is NULL");
}

TEST(real_arrays_other_types_and_other_devices_do_not_mix)
{
    OWN(larmor_device, *other, larmor_device_open("cpu:2", &other));
    OWNED(larmor_array) *x = make(LARMOR_C64, LARMOR_SHAPE(2), NULL),
                        *in_double = make(LARMOR_C128, LARMOR_SHAPE(2), NULL),
                        *real = make(LARMOR_F32, LARMOR_SHAPE(2), NULL), *far;
    assert_ok(larmor_array_create(other, LARMOR_C64, LARMOR_SHAPE(2), &far));
    double norm;
    assert_refused(larmor_axpby(1, x, 1, in_double), LARMOR_ERR_SHAPE, "c128 [2]");
    assert_refused(larmor_axpby(1, x, 1, far), LARMOR_ERR_SHAPE, "on cpu:2");
    assert_refused(larmor_axpby(1, real, 1, real), LARMOR_ERR_SHAPE, "expected a complex array");
    assert_refused(larmor_nrm2(real, &norm), LARMOR_ERR_SHAPE, "f32 [2]");
}

TEST(values_that_are_not_finite_are_counted_and_the_first_is_named)
{
    static const larmor_dtype types[] = {LARMOR_F32, LARMOR_F64, LARMOR_C64, LARMOR_C128};
    const larmor_shape shape = LARMOR_SHAPE(3, 2, 4);
    double values[2 * 24];
    for (int t = 0; t < 4; t++) {
        const int step = types[t] == LARMOR_C64 || types[t] == LARMOR_C128 ? 2 : 1;
        const larmor_dtype from = step == 2 ? LARMOR_C128 : LARMOR_F64;
        larmor_array *x;
        for (int i = 0; i < 48; i++) values[i] = 1e30 * i; /* the norm of such floats is finite */
        assert_ok(larmor_array_upload(dev, types[t], shape, from, values, &x));
        assert_ok(larmor_array_expect_finite(x, "x"));
        larmor_array_free(x);
        values[11 * step + step - 1] = NAN; /* element [2, 1, 1], of a complex one the imaginary part */
        assert_ok(larmor_array_upload(dev, types[t], shape, from, values, &x));
        assert_int_equal(larmor_array_expect_finite(x, "maps.npy"), LARMOR_ERR_NUMERIC);
        assert_string_equal(larmor_last_error(), "maps.npy: 1 value is not finite, the first at [2, 1, 1].");
        larmor_array_free(x);
        values[23 * step] = -INFINITY;
        assert_ok(larmor_array_upload(dev, types[t], shape, from, values, &x));
        assert_int_equal(larmor_array_expect_finite(x, "y"), LARMOR_ERR_NUMERIC);
        assert_string_equal(larmor_last_error(), "y: 2 values are not finite, the first at [2, 1, 1].");
        larmor_array_free(x);
    }
    OWNED(larmor_array) *whole = make(LARMOR_I64, shape, NULL), *none = make(LARMOR_C64, LARMOR_SHAPE(0, 3), NULL);
    assert_ok(larmor_array_expect_finite(whole, "whole"));
    assert_ok(larmor_array_expect_finite(none, "none"));
    assert_refused(larmor_array_expect_finite(NULL, "x"), LARMOR_ERR_ARG, "x");
}
