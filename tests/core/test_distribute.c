/* core/ranks/distribute.c: rows on several handles of the device, and of all GPUs where there are several, against
 * the same rows on one. SPDX-License-Identifier: Apache-2.0 */
#include "tests/core/diagonals.h"

enum { N = 700, ROWS = 3 };

/* Rows of diagonals on the handles, and on dev; each twice, so that a row has several columns of output. */
typedef struct scene {
    larmor_device *handle[ROWS];
    larmor_op *together, *apart;
} scene;

static scene scene_on(larmor_device *const *devices, int count)
{
    scene s;
    larmor_op *here[ROWS], *there[ROWS];
    for (int i = 0; i < ROWS; i++) {
        s.handle[i] = NULL;
        if (i < count)
            s.handle[i] = devices[i];
        else
            assert_ok(larmor_device_open(larmor_device_spec(dev), &s.handle[i]));
        here[i] = diagonals(dev, N, 10 + 7 * (uint64_t)i, 1 + i % 2);
        there[i] = diagonals(s.handle[i], N, 10 + 7 * (uint64_t)i, 1 + i % 2);
        if (i >= count) larmor_device_free(s.handle[i]);
    }
    assert_ok(larmor_op_stack(here, ROWS, &s.together));
    assert_ok(larmor_op_distribute(dev, there, ROWS, &s.apart));
    for (int i = 0; i < ROWS; i++) LMR_FREE(here[i], there[i]);
    return s;
}

LMR_FREES(end_scene, scene, together, apart)

static void expect_equal(const scene *s, map apply, larmor_shape in, larmor_shape out)
{
    static float a[2 * N * 4], b[2 * N * 4];
    for (uint64_t round = 0; round < 5; round++) {
        OWNED(larmor_array) *x = random_on(dev, in, 100 + round), *y = random_on(dev, out, 1),
                            *z = random_on(dev, out, 2);
        const size_t bytes = larmor_array_bytes(y);
        assert_ok(apply(s->together, x, y));
        assert_ok(apply(s->apart, x, z));
        assert_ok(larmor_array_read(y, a, bytes));
        assert_ok(larmor_array_read(z, b, bytes));
        assert_memory_equal(a, b, bytes);
    }
}

TEST(all_maps_are_those_of_rows_on_one_device)
{
    larmor_device *all = NULL, *member[ROWS];
    int members = 0;
    if (!strncmp(larmor_device_spec(dev), "cuda", 4)) assert_ok(larmor_device_open("cuda:all", &all));
    for (; members < ROWS && larmor_device_member(all, members); members++)
        member[members] = larmor_device_member(all, members);
    for (int several = 0; several < 2; several++) {
        OWNED(scene) s = scene_on(member, several ? members : 0);
        const larmor_shape in = larmor_op_in_shape(s.together), out = larmor_op_out_shape(s.together);
        assert_true(larmor_shape_equal(in, larmor_op_in_shape(s.apart)));
        assert_true(larmor_shape_equal(out, larmor_op_out_shape(s.apart)));
        assert_int_equal(out.dim[1], 4);
        assert_ptr_equal(larmor_op_device(s.apart), dev);
        expect_equal(&s, larmor_op_forward, in, out);
        expect_equal(&s, larmor_op_adjoint, out, in);
        expect_equal(&s, larmor_op_normal, in, in);
        assert_at_most(adjoint_error(s.apart, 3), 1e-6);
    }
    larmor_device_free(all);
}

static larmor_status fails(void *self LMR_UNUSED, const larmor_array *x LMR_UNUSED, larmor_array *y LMR_UNUSED)
{
    return larmor_fail(LARMOR_ERR_NUMERIC, "this row cannot");
}

TEST(the_error_of_a_row_is_returned_with_its_message_and_the_next_call_works)
{
    static const larmor_op_impl impl = {.name = "failing", .forward = fails, .adjoint = fails};
    larmor_device *other[2];
    larmor_op *rows[2], *A;
    for (int i = 0; i < 2; i++) assert_ok(larmor_device_open(larmor_device_spec(dev), &other[i]));
    rows[0] = diagonals(other[0], N, 1, 1);
    assert_ok(larmor_op_create(other[1], &impl, NULL, LARMOR_C64, LARMOR_SHAPE(N, 1), LARMOR_SHAPE(N, 1), &rows[1]));
    assert_ok(larmor_op_distribute(dev, rows, 2, &A));
    larmor_array *x = random_on(dev, LARMOR_SHAPE(N, 1), 1), *y = random_on(dev, LARMOR_SHAPE(N, 2), 1);
    for (int i = 0; i < 3; i++) assert_refused(larmor_op_forward(A, x, y), LARMOR_ERR_NUMERIC, "this row cannot");
    LMR_FREE(x, y, A);
    for (int i = 0; i < 2; i++) LMR_FREE(rows[i], other[i]);
}

TEST(rows_that_do_not_fit_are_refused)
{
    larmor_device *other[2];
    for (int i = 0; i < 2; i++) assert_ok(larmor_device_open(larmor_device_spec(dev), &other[i]));
    larmor_op *one = diagonals(other[0], N, 1, 1), *beside = diagonals(other[0], N, 2, 1),
              *here = diagonals(dev, N, 3, 1), *shorter, *A;
    larmor_array *d = MADE(larmor_array, larmor_array_create(other[1], LARMOR_C64, LARMOR_SHAPE(N - 1, 1), &made));
    assert_ok(larmor_op_diag(d, &shorter));
    larmor_array_free(d);
    assert_refused(larmor_op_distribute(dev, (larmor_op *[]){one, beside}, 2, &A), LARMOR_ERR_ARG,
                   "rows 0 and 1 share");
    assert_null(A);
    assert_refused(larmor_op_distribute(dev, (larmor_op *[]){one, here}, 2, &A), LARMOR_ERR_ARG,
                   "row 1 and the operator share");
    assert_refused(larmor_op_distribute(dev, (larmor_op *[]){one, shorter}, 2, &A), LARMOR_ERR_SHAPE, "row 1 is");
    assert_refused(larmor_op_distribute(dev, (larmor_op *[]){one, NULL}, 2, &A), LARMOR_ERR_ARG,
                   "operator 1 is NULL");
    assert_refused(larmor_op_distribute(dev, NULL, 2, &A), LARMOR_ERR_ARG, "got 0 operators");
    assert_refused(larmor_op_distribute(NULL, &one, 1, &A), LARMOR_ERR_ARG, "dev");
    assert_refused(larmor_op_distribute(dev, &one, 1, NULL), LARMOR_ERR_ARG, "op");
    LMR_FREE(one, beside, here, shorter);
    for (int i = 0; i < 2; i++) larmor_device_free(other[i]);
}
