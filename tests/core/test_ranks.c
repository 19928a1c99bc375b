/* core/ranks/rank_rows.c and core/ranks/ranks.c, by mpirun: rows on all ranks against the same rows on rank 0.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/rank_rows.h"
#include "tests/support/ranks.h"

#include "tests/core/diagonals.h"

enum { SIZES = 3, FAILING = 3, MISFIT = 4 };             /* the scenes: one for each size, and those that cannot be */
static const int64_t size_of[SIZES] = {1, 700, 1200001}; /* the last is sent in pieces */

static larmor_status fails(void *self LMR_UNUSED, const larmor_array *x LMR_UNUSED, larmor_array *y LMR_UNUSED)
{
    return larmor_fail(LARMOR_ERR_NUMERIC, "this row cannot");
}

/* The row of a rank: of the failing scene the last rank's fails, of the misfit it is too long. */
static larmor_op *row_of(int scene, int rank)
{
    static const larmor_op_impl impl = {.name = "failing", .forward = fails, .adjoint = fails};
    const int is_last = rank == larmor_ranks_count(ranks) - 1;
    if (scene != FAILING || !is_last)
        return diagonals(dev, scene < SIZES ? size_of[scene] : 700 + (scene == MISFIT && is_last),
                         10 + 7 * (uint64_t)rank, 1 + rank % 2);
    return MADE(larmor_op,
                larmor_op_create(dev, &impl, NULL, LARMOR_C64, LARMOR_SHAPE(700, 1), LARMOR_SHAPE(700, 1), &made));
}

static larmor_status join(int scene, larmor_op **op)
{
    OWNED(larmor_op) *row = row_of(scene, larmor_ranks_number(ranks));
    return lmr_rows_join(ranks, scene, LARMOR_OK, row, op);
}

/* ---- the other ranks ---- */

static larmor_status follow_scene(int scene)
{
    larmor_op *none;
    const larmor_status st = join(scene, &none);
    if (st == LARMOR_STOPPED) return scene == MISFIT ? LARMOR_OK : st;
    while (!st) {
        lmr_row_order o;
        HEAP void *data = NULL;
        int64_t bytes;
        LMR_TRY(ranks->by->receive(ranks->link, 0, LMR_TAG_ORDER, NULL, NULL, &data, &bytes));
        if (bytes == sizeof o) memcpy(&o, data, sizeof o);
        if (bytes != sizeof o) return LARMOR_ERR_FORMAT; /* rank 0 has ended */
        LMR_TRY(lmr_rows_serve(ranks, &o));
        if (o.task == LMR_ROW_FREE) return LARMOR_OK;
    }
    return st;
}

static int follow(void)
{
    for (int scene = 0; scene <= MISFIT; scene++)
        if (follow_scene(scene)) return 1;
    return 0;
}

/* ---- rank 0 ---- */

static void expect_equal(larmor_op *together, larmor_op *apart, map apply, larmor_shape in, larmor_shape out)
{
    for (uint64_t round = 0; round < 2; round++) {
        OWNED(larmor_array) *x = random_on(dev, in, 100 + round), *y = random_on(dev, out, 1),
                            *z = random_on(dev, out, 2);
        assert_ok(apply(together, x, y));
        assert_ok(apply(apart, x, z));
        OWN_MEMORY(float, *a, larmor_array_download(y, LARMOR_C64, &a));
        OWN_MEMORY(float, *b, larmor_array_download(z, LARMOR_C64, &b));
        assert_memory_equal(a, b, larmor_array_bytes(y));
    }
}

/* The tests are in the order of the scenes. */
TEST(all_maps_are_those_of_rows_in_one_process)
{
    for (int scene = 0; scene < SIZES; scene++) {
        larmor_op *here[16];
        const int count = larmor_ranks_count(ranks);
        for (int i = 0; i < count; i++) here[i] = row_of(scene, i);
        OWN(larmor_op, *together, larmor_op_stack(here, count, &together));
        for (int i = 0; i < count; i++) larmor_op_free(here[i]);
        OWN(larmor_op, *apart, join(scene, &apart));
        const larmor_shape in = larmor_op_in_shape(together), out = larmor_op_out_shape(together);
        assert_true(larmor_shape_equal(in, larmor_op_in_shape(apart)));
        assert_true(larmor_shape_equal(out, larmor_op_out_shape(apart)));
        expect_equal(together, apart, larmor_op_forward, in, out);
        expect_equal(together, apart, larmor_op_adjoint, out, in);
        expect_equal(together, apart, larmor_op_normal, in, in);
    }
}

TEST(the_error_of_a_row_is_returned_with_its_rank_and_the_next_call_works)
{
    char expected[64];
    OWN(larmor_op, *A, join(FAILING, &A));
    OWNED(larmor_array) *x = random_on(dev, larmor_op_in_shape(A), 1), *y = random_on(dev, larmor_op_out_shape(A), 1),
                        *z = random_on(dev, larmor_op_in_shape(A), 1);
    snprintf(expected, sizeof expected, "rank %d: this row cannot", larmor_ranks_count(ranks) - 1);
    for (int i = 0; i < 2; i++) {
        assert_refused(larmor_op_forward(A, x, y), LARMOR_ERR_NUMERIC, expected);
        assert_refused(larmor_op_adjoint(A, y, x), LARMOR_ERR_NUMERIC, expected);
        assert_refused(larmor_op_normal(A, x, z), LARMOR_ERR_NUMERIC, expected);
    }
}

TEST(rows_that_do_not_fit_are_refused)
{
    assert_none_made(larmor_op, join(MISFIT, &made), LARMOR_ERR_SHAPE, "differs from that of rank 0");
}

int main(void)
{
    if (open_ranks()) return 1;
    return close_ranks(larmor_ranks_number(ranks) ? follow() : run_claims(NULL, NULL));
}
