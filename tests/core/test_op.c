/* Operators: the laws of adjoint and normal, and how they compose. SPDX-License-Identifier: Apache-2.0 */

#include <complex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core/device.h"
#include "core/op.h"
#include "tests/support/test.h"

typedef double _Complex cx;

/* ---- a dense matrix as an operator; it counts the calls and can be wrong on purpose ---- */

typedef struct matrix {
    int rows, columns, forwards, adjoints, destroyed;
    cx adjoint_factor;
    cx a[8][8];
} matrix;

static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    matrix *m = self;
    cx in[8], out[8] = {0};
    m->forwards++;
    larmor_status st = larmor_array_read(x, in, larmor_array_bytes(x));
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->columns; j++) out[i] += m->a[i][j] * in[j];
    return st ? st : larmor_array_write(y, out, larmor_array_bytes(y));
}

static larmor_status adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    matrix *m = self;
    cx in[8], out[8] = {0};
    m->adjoints++;
    larmor_status st = larmor_array_read(y, in, larmor_array_bytes(y));
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->columns; j++) out[j] += m->adjoint_factor * conj(m->a[i][j]) * in[i];
    return st ? st : larmor_array_write(x, out, larmor_array_bytes(x));
}

static void destroy(void *self)
{
    ((matrix *)self)->destroyed++;
}

static const larmor_op_impl impl = {"matrix", forward, adjoint, NULL, destroy};

static larmor_op *make(matrix *m, int rows, int columns, uint64_t seed)
{
    *m = (matrix){.rows = rows, .columns = columns, .adjoint_factor = 1};
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            const double re = test_random(&seed);
            m->a[i][j] = re + I * test_random(&seed);
        }
    return MADE(larmor_op,
                larmor_op_create(dev, &impl, m, LARMOR_C128, LARMOR_SHAPE(columns), LARMOR_SHAPE(rows), &made));
}

static larmor_array *vector(int n, uint64_t seed)
{
    cx v[8];
    for (int i = 0; i < n; i++) v[i] = test_random(&seed) + I * test_random(&seed);
    larmor_array *x = MADE(larmor_array, larmor_array_create(dev, LARMOR_C128, LARMOR_SHAPE(n), &made));
    assert_ok(larmor_array_write(x, v, (size_t)n * sizeof *v));
    return x;
}

typedef larmor_status map(larmor_op *, const larmor_array *, larmor_array *);

/* f(op, x) is A x for the dense rows x columns matrix. */
static void assert_is(larmor_op *op, map *f, int rows, int columns, cx a[8][8])
{
    OWNED(larmor_array) *x = vector(columns, 5), *y = vector(rows, 6);
    cx in[8], out[8];
    assert_ok(f(op, x, y));
    assert_ok(larmor_array_read(x, in, larmor_array_bytes(x)));
    assert_ok(larmor_array_read(y, out, larmor_array_bytes(y)));
    for (int i = 0; i < rows; i++) {
        cx sum = 0;
        for (int j = 0; j < columns; j++) sum += a[i][j] * in[j];
        assert_at_most(cabs(sum - out[i]), 1e-13);
    }
}

/* c = op(a) b with a n x k after op */
static void multiply(int n, int k, int m, cx a[8][8], int conjugate, cx b[8][8], cx c[8][8])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            cx sum = 0;
            for (int l = 0; l < k; l++) sum += (conjugate ? conj(a[l][i]) : a[i][l]) * b[l][j];
            c[i][j] = sum;
        }
}

static void assert_adjoint(larmor_op *op)
{
    assert_at_most(adjoint_error(op, 1), 1e-14);
}

/* ---- one operator ---- */

TEST(an_operator_maps_and_its_normal_is_adjoint_after_forward)
{
    matrix m;
    larmor_op *A = make(&m, 5, 3, 1);
    cx normal[8][8];
    multiply(3, 5, 3, m.a, 1, m.a, normal);
    assert_is(A, larmor_op_forward, 5, 3, m.a);
    assert_is(A, larmor_op_normal, 3, 3, normal);
    assert_adjoint(A);
    assert_string_equal(larmor_op_name(A), "matrix");
    assert_int_equal(larmor_op_dtype(A), LARMOR_C128);
    assert_ptr_equal(larmor_op_device(A), dev);
    assert_true(larmor_shape_equal(larmor_op_in_shape(A), LARMOR_SHAPE(3)));
    assert_true(larmor_shape_equal(larmor_op_out_shape(A), LARMOR_SHAPE(5)));
    larmor_op_free(A);
    assert_int_equal(m.destroyed, 1);
}

TEST(the_adjoint_test_finds_a_wrong_adjoint)
{
    matrix m;
    OWNED(larmor_op) *A = make(&m, 5, 3, 1);
    double error;
    m.adjoint_factor = 1 + 1e-6 * I;
    assert_ok(larmor_op_adjoint_error(A, 1, &error));
    assert_true(error > 1e-8);
    m.adjoint_factor = 0;
    assert_ok(larmor_op_adjoint_error(A, 1, &error));
    assert_true(error > 0.01);
}

TEST(arrays_of_another_shape_never_reach_the_operator)
{
    matrix m;
    OWNED(larmor_op) *A = make(&m, 5, 3, 1);
    OWNED(larmor_array) *x = vector(3, 1), *y = vector(5, 1);
    assert_refused(larmor_op_forward(A, y, x), LARMOR_ERR_SHAPE, "matrix: ");
    assert_refused(larmor_op_adjoint(A, x, y), LARMOR_ERR_SHAPE, "expected c128 [5] on");
    assert_refused(larmor_op_normal(A, x, y), LARMOR_ERR_SHAPE, "expected c128 [3] on");
    assert_int_equal(m.forwards + m.adjoints, 0);
}

TEST(every_map_refuses_arrays_that_share_memory)
{
    matrix a, b;
    larmor_op *A = make(&a, 4, 4, 1), *B = make(&b, 4, 4, 2), *all[6] = {A};
    larmor_array *d = vector(4, 3), *room = vector(8, 4), *part[3];
    assert_ok(larmor_op_chain(A, B, &all[1]));
    assert_ok(lmr_op_blocks("blocks", &A, &B, 1, NULL, &all[2]));
    assert_ok(larmor_op_stack(&A, 1, &all[3]));
    assert_ok(larmor_op_diag(d, &all[4]));
    assert_ok(larmor_op_with_normal(A, B, &all[5]));
    for (int i = 0; i < 3; i++) assert_ok(larmor_array_slice(room, 2 * i, 4, &part[i]));
    map *const maps[] = {larmor_op_forward, larmor_op_adjoint, larmor_op_normal};
    for (int i = 0; i < 6; i++)
        for (int m = 0; m < 3; m++) {
            assert_refused(maps[m](all[i], d, d), LARMOR_ERR_ARG, "input and output share memory");
            assert_refused(maps[m](all[i], part[0], part[1]), LARMOR_ERR_ARG, "share memory");
            assert_refused(maps[m](all[i], part[2], part[1]), LARMOR_ERR_ARG, "share memory");
            assert_ok(maps[m](all[i], part[0], part[2]));
        }
    for (int i = 0; i < 3; i++) larmor_array_free(part[i]);
    LMR_FREE(room, d);
    for (int i = 5; i > 0; i--) larmor_op_free(all[i]);
    LMR_FREE(B, A);
}

static larmor_status copy_map(void *self LMR_UNUSED, const larmor_array *x, larmor_array *y)
{
    return larmor_copy(x, y);
}

static larmor_status no_memory_left(void *ctx LMR_UNUSED, size_t bytes LMR_UNUSED, void **ptr)
{
    *ptr = NULL;
    return larmor_fail(LARMOR_ERR_MEMORY, "there is no memory left");
}

static const lmr_backend *counted;
static int allocations;

static larmor_status counted_alloc(void *ctx, size_t bytes, void **ptr)
{
    allocations++;
    return counted->alloc(ctx, bytes, ptr);
}

TEST(maps_that_ran_once_need_no_more_memory)
{
    const larmor_op_impl identity = {"identity", copy_map, copy_map, NULL, NULL};
    larmor_op *A, *all[4];
    assert_ok(larmor_op_create(dev, &identity, NULL, LARMOR_C128, LARMOR_SHAPE(3), LARMOR_SHAPE(3), &A));
    assert_ok(larmor_op_chain(A, A, &all[0]));
    assert_ok(lmr_op_blocks("blocks", (larmor_op *[]){A, A}, (larmor_op *[]){A, A}, 2, A, &all[1]));
    assert_ok(larmor_op_stack((larmor_op *[]){A, A}, 2, &all[2]));
    all[3] = larmor_op_ref(A);
    const lmr_backend *real = dev->be;
    lmr_backend full = *real;
    full.alloc = no_memory_left;
    for (int i = 0; i < 4; i++) {
        OWNED(larmor_array) *x = vector(3, 1);
        OWNED(larmor_array) *y = vector(i == 1 || i == 2 ? 6 : 3, 1);
        OWNED(larmor_array) *z = vector(3, 2);
        for (int call = 0; call < 2; call++) {
            if (call) dev->be = &full;
            assert_ok(larmor_op_forward(all[i], x, y));
            assert_ok(larmor_op_adjoint(all[i], y, x));
            assert_ok(larmor_op_normal(all[i], x, z));
        }
        dev->be = real;
        larmor_op_free(all[i]);
    }
    larmor_op_free(A);
}

TEST(an_incomplete_operator_is_refused_and_self_stays_the_callers)
{
    matrix m = {0};
    larmor_op *op = (larmor_op *)&op;
    const larmor_op_impl half = {"half", forward, NULL, NULL, destroy};
    assert_refused(larmor_op_create(dev, &half, &m, LARMOR_C64, LARMOR_SHAPE(2), LARMOR_SHAPE(2), &op),
                   LARMOR_ERR_ARG, "operator half");
    assert_null(op);
    assert_int_equal(larmor_op_create(dev, &impl, &m, LARMOR_F64, LARMOR_SHAPE(2), LARMOR_SHAPE(2), &op),
                     LARMOR_ERR_ARG);
    assert_int_equal(larmor_op_create(dev, &impl, &m, LARMOR_C64, LARMOR_SHAPE(-2), LARMOR_SHAPE(2), &op),
                     LARMOR_ERR_SHAPE);
    assert_int_equal(m.destroyed, 0);
    larmor_op_free(NULL);
}

/* ---- several threads ---- */

/* An operator that waits inside until the other threads have begun their calls and have had time to come in, too. */
typedef struct room {
    atomic_int inside, most, begun, expected, leave;
} room;

static larmor_status come_in(void *self, const larmor_array *x, larmor_array *y)
{
    room *r = self;
    const int now = atomic_fetch_add(&r->inside, 1) + 1;
    if (now > atomic_load(&r->most)) atomic_store(&r->most, now);
    while (atomic_load(&r->begun) < atomic_load(&r->expected) || !atomic_load(&r->leave)) sched_yield();
    for (int i = 0; i < 1000; i++) sched_yield();
    atomic_fetch_sub(&r->inside, 1);
    return larmor_copy(x, y);
}

static larmor_op *room_op(room *r)
{
    static const larmor_op_impl room_impl = {"room", come_in, come_in, NULL, NULL};
    return MADE(larmor_op,
                larmor_op_create(dev, &room_impl, r, LARMOR_C128, LARMOR_SHAPE(2), LARMOR_SHAPE(2), &made));
}

typedef struct caller {
    room *r;
    larmor_op *op;
    larmor_array *x, *y;
    larmor_stop_asked stop;
    larmor_status st;
} caller;

static int stop_at_once(void *user LMR_UNUSED)
{
    return 1;
}

static void *call(void *arg)
{
    caller *c = arg;
    larmor_stop_when(c->stop, NULL);
    atomic_fetch_add(&c->r->begun, 1);
    c->st = larmor_op_normal(c->op, c->x, c->y);
    return NULL;
}

TEST(threads_take_turns_in_an_operator_and_in_what_it_is_made_of)
{
    enum { THREADS = 4 };
    room r = {.expected = THREADS, .leave = 1};
    pthread_t thread[THREADS];
    caller c[THREADS];
    OWNED(larmor_op) *op = room_op(&r), *chain, *stack;
    assert_ok(larmor_op_chain(op, op, &chain));
    assert_ok(larmor_op_stack(&op, 1, &stack));
    larmor_op *const all[THREADS] = {op, chain, stack, op};
    for (int i = 0; i < THREADS; i++) {
        c[i] = (caller){&r, all[i], vector(2, 5), vector(2, 6), NULL, LARMOR_OK};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_int_equal(c[i].st, LARMOR_OK);
        LMR_FREE(c[i].x, c[i].y);
    }
    assert_int_equal(r.most, 1);
}

TEST(a_thread_that_waits_for_its_turn_can_be_stopped)
{
    room r = {.expected = 2};
    pthread_t thread[2];
    OWNED(larmor_op) *op = room_op(&r);
    caller c[2];
    for (int i = 0; i < 2; i++) {
        c[i] = (caller){&r, op, vector(2, 5), vector(2, 6), i ? stop_at_once : NULL, LARMOR_OK};
        assert_int_equal(pthread_create(&thread[i], NULL, call, &c[i]), 0);
        while (!atomic_load(&r.inside)) sched_yield(); /* the first one is in before the second one comes */
    }
    assert_int_equal(pthread_join(thread[1], NULL), 0);
    assert_int_equal(c[1].st, LARMOR_STOPPED);
    assert_int_equal(r.inside, 1);
    atomic_store(&r.leave, 1);
    assert_int_equal(pthread_join(thread[0], NULL), 0);
    assert_int_equal(c[0].st, LARMOR_OK);
    for (int i = 0; i < 2; i++) LMR_FREE(c[i].x, c[i].y);
}

static larmor_status call_myself(void *self, const larmor_array *x, larmor_array *y)
{
    return larmor_op_adjoint(*(larmor_op **)self, x, y);
}

static larmor_status end_of_calls(void *self LMR_UNUSED, const larmor_array *y, larmor_array *x)
{
    return larmor_copy(y, x);
}

TEST(an_operator_may_use_itself)
{
    static const larmor_op_impl own_impl = {"own", call_myself, end_of_calls, NULL, NULL};
    OWN(larmor_op, *op, larmor_op_create(dev, &own_impl, &op, LARMOR_C128, LARMOR_SHAPE(2), LARMOR_SHAPE(2), &op));
    OWNED(larmor_array) *x = vector(2, 5), *y = vector(2, 6);
    assert_ok(larmor_op_forward(op, x, y));
}

/* ---- composition ---- */

TEST(a_chain_is_the_product)
{
    matrix a, b;
    larmor_op *A = make(&a, 5, 4, 1), *B = make(&b, 4, 3, 2), *AB;
    cx product[8][8], normal[8][8];
    assert_ok(larmor_op_chain(A, B, &AB));
    LMR_FREE(B, A);
    multiply(5, 4, 3, a.a, 0, b.a, product);
    multiply(3, 5, 3, product, 1, product, normal);
    assert_is(AB, larmor_op_forward, 5, 3, product);
    assert_is(AB, larmor_op_normal, 3, 3, normal);
    assert_adjoint(AB);
    assert_int_equal(a.destroyed + b.destroyed, 0);
    larmor_op_free(AB);
    assert_int_equal(a.destroyed, 1);
    assert_int_equal(b.destroyed, 1);
}

TEST(a_chain_uses_the_left_factors_own_normal)
{
    matrix a, b, n;
    larmor_op *A = make(&a, 5, 4, 1), *B = make(&b, 4, 3, 2), *N = make(&n, 4, 4, 3), *A2, *A2B;
    cx right[8][8], normal[8][8];
    assert_ok(larmor_op_with_normal(A, N, &A2)); /* deliberately not A^H A */
    assert_ok(larmor_op_chain(A2, B, &A2B));
    LMR_FREE(A2, N, B, A);
    multiply(4, 4, 3, n.a, 0, b.a, right);
    multiply(3, 4, 3, b.a, 1, right, normal);
    assert_is(A2B, larmor_op_normal, 3, 3, normal);
    assert_int_equal(a.forwards + a.adjoints, 0);
    assert_adjoint(A2B);
    larmor_op_free(A2B);
}

TEST(a_stack_puts_rows_below_each_other_and_adds_their_normals)
{
    matrix a, b, n;
    larmor_op *A = make(&a, 5, 3, 1), *B = make(&b, 2, 3, 2), *N = make(&n, 3, 3, 3), *B2, *S;
    cx tall[8][8], normal[8][8];
    memcpy(tall, a.a, sizeof tall);
    memcpy(tall[5], b.a[0], 2 * sizeof tall[0]);
    assert_ok(larmor_op_with_normal(B, N, &B2));
    assert_ok(larmor_op_stack((larmor_op *[]){A, B2}, 2, &S));
    assert_true(larmor_shape_equal(larmor_op_out_shape(S), LARMOR_SHAPE(7)));
    LMR_FREE(A, B, N, B2);
    assert_is(S, larmor_op_forward, 7, 3, tall);
    multiply(3, 5, 3, a.a, 1, a.a, normal);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) normal[i][j] += n.a[i][j];
    assert_is(S, larmor_op_normal, 3, 3, normal);
    assert_adjoint(S);
    larmor_op_free(S);
}

/* [A_0 B_0; A_1 B_1] with an A_1 that takes fewer numbers than A_0. */
TEST(blocks_are_the_products_below_each_other)
{
    for (int own = 0; own < 2; own++) {
        matrix a[2], b[2], n;
        larmor_op *A[2] = {make(&a[0], 4, 3, 1), make(&a[1], 3, 2, 2)}, *S;
        larmor_op *B[2] = {make(&b[0], 3, 2, 3), make(&b[1], 2, 2, 4)};
        larmor_op *N = make(&n, 3, 3, 5); /* deliberately not A^H A */
        for (int i = 0; i < 3; i++) n.a[0][i] = n.a[1][i] = n.a[2][i] = 0;
        for (int i = 0; i < 3; i++) n.a[i][i] = 2;
        cx tall[8][8], low[8][8], normal[8][8];
        multiply(4, 3, 2, a[0].a, 0, b[0].a, tall);
        multiply(3, 2, 2, a[1].a, 0, b[1].a, low);
        memcpy(tall[4], low[0], 3 * sizeof low[0]);
        assert_ok(lmr_op_blocks("mine", A, B, 2, own ? N : NULL, &S));
        assert_string_equal(larmor_op_name(S), "mine");
        for (int i = 0; i < 2; i++) LMR_FREE(A[i], B[i]);
        larmor_op_free(N);
        assert_is(S, larmor_op_forward, 7, 2, tall);
        assert_adjoint(S);
        multiply(2, 7, 2, tall, 1, tall, normal);
        if (own) { /* 2 B_0^H B_0 + 2 B_1^H B_1 */
            multiply(2, 3, 2, b[0].a, 1, b[0].a, normal);
            multiply(2, 2, 2, b[1].a, 1, b[1].a, low);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 2; j++) normal[i][j] = 2 * (normal[i][j] + low[i][j]);
        }
        assert_is(S, larmor_op_normal, 2, 2, normal);
        larmor_op_free(S);
        assert_int_equal(a[0].destroyed + a[1].destroyed + b[0].destroyed + b[1].destroyed + n.destroyed, 5);
    }
}

TEST(blocks_hold_the_memory_of_one)
{
    enum { ROWS = 4 };
    matrix m;
    larmor_op *A = make(&m, 3, 3, 1), *all[ROWS] = {A, A, A, A}, *S;
    OWNED(larmor_array) *x = vector(3, 1), *z = vector(3, 2);
    const lmr_backend *real = dev->be;
    lmr_backend counting = *real;
    counting.alloc = counted_alloc;
    counted = real;
    allocations = 0;
    dev->be = &counting;
    assert_ok(lmr_op_blocks("blocks", all, all, ROWS, A, &S));
    assert_ok(larmor_op_normal(S, x, z));
    dev->be = real;
    assert_int_equal(allocations, 3); /* between, after N, and what a row adds */
    LMR_FREE(S, A);
}

TEST(columns_are_the_operators_beside_each_other)
{
    matrix a, b;
    larmor_op *A = make(&a, 4, 3, 1), *B = make(&b, 4, 3, 2), *C;
    larmor_array *more = vector(5, 1), *x = vector(6, 5), *y = vector(4, 1), *wide;
    assert_ok(lmr_op_columns((larmor_op *[]){A, B}, 2, more, &C));
    LMR_FREE(A, B, more);
    assert_true(larmor_shape_equal(larmor_op_in_shape(C), LARMOR_SHAPE(3, 2)));
    assert_ok(larmor_array_reshape(x, LARMOR_SHAPE(3, 2), &wide));
    assert_ok(larmor_op_forward(C, wide, y));
    cx in[8], out[8];
    assert_ok(larmor_array_read(x, in, larmor_array_bytes(x)));
    assert_ok(larmor_array_read(y, out, larmor_array_bytes(y)));
    for (int i = 0; i < 4; i++) {
        cx sum = 0;
        for (int j = 0; j < 3; j++) sum += a.a[i][j] * in[j] + b.a[i][j] * in[3 + j];
        assert_at_most(cabs(sum - out[i]), 1e-13);
    }
    assert_adjoint(C);
    LMR_FREE(C, wide, y, x);
    assert_int_equal(a.destroyed + b.destroyed, 2);
}

TEST(a_diagonal_multiplies_and_its_adjoint_conjugates)
{
    larmor_array *d = vector(4, 9);
    cx v[8], diagonal[8][8] = {{0}}, normal[8][8] = {{0}};
    assert_ok(larmor_array_read(d, v, larmor_array_bytes(d)));
    for (int i = 0; i < 4; i++) {
        diagonal[i][i] = v[i];
        normal[i][i] = v[i] * conj(v[i]);
    }
    OWN(larmor_op, *D, larmor_op_diag(d, &D));
    larmor_array_free(d);
    assert_is(D, larmor_op_forward, 4, 4, diagonal);
    assert_is(D, larmor_op_normal, 4, 4, normal);
    assert_adjoint(D);
}

TEST(parts_that_do_not_fit_are_refused)
{
    matrix a, b;
    larmor_op *A = make(&a, 5, 4, 1), *B = make(&b, 3, 4, 2), *out = (larmor_op *)&out;
    assert_refused(larmor_op_chain(A, B, &out), LARMOR_ERR_SHAPE, "chain: output of the right factor: got c128 [3]");
    assert_null(out);
    assert_refused(larmor_op_with_normal(A, B, &out), LARMOR_ERR_SHAPE, "with_normal: output of the normal");
    assert_refused(lmr_op_blocks("mine", &A, &B, 1, NULL, &out), LARMOR_ERR_SHAPE, "mine: output of the right");
    assert_refused(lmr_op_columns((larmor_op *[]){A, B}, 2, NULL, &out), LARMOR_ERR_SHAPE, "output of a column");
    assert_refused(larmor_op_stack(NULL, 0, &out), LARMOR_ERR_ARG, "stack: got 0 operators");
    assert_refused(larmor_op_chain(A, NULL, &out), LARMOR_ERR_ARG, "an operator is NULL");
    larmor_array *in_single = MADE(larmor_array, larmor_array_create(dev, LARMOR_C64, LARMOR_SHAPE(4), &made));
    larmor_op *D = MADE(larmor_op, larmor_op_diag(in_single, &made));
    assert_refused(larmor_op_chain(A, D, &out), LARMOR_ERR_SHAPE, "both must agree");
    LMR_FREE(D, in_single);
    assert_int_equal(a.destroyed + b.destroyed, 0);
    LMR_FREE(A, B);
    assert_int_equal(a.destroyed + b.destroyed, 2);
}

static larmor_status failing(void *self LMR_UNUSED, const larmor_array *x LMR_UNUSED, larmor_array *y LMR_UNUSED)
{
    return larmor_fail(LARMOR_ERR_NUMERIC, "failing on purpose");
}

TEST(a_failure_inside_comes_out_of_every_composition)
{
    const larmor_op_impl broken = {"broken", failing, failing, NULL, NULL};
    matrix m;
    larmor_op *A = make(&m, 3, 3, 1), *F, *all[3];
    assert_ok(larmor_op_create(dev, &broken, NULL, LARMOR_C128, LARMOR_SHAPE(3), LARMOR_SHAPE(3), &F));
    assert_ok(larmor_op_chain(A, F, &all[0]));
    assert_ok(lmr_op_blocks("blocks", (larmor_op *[]){A, F}, (larmor_op *[]){F, A}, 2, NULL, &all[1]));
    assert_ok(larmor_op_stack((larmor_op *[]){A, F}, 2, &all[2]));
    for (int i = 0; i < 3; i++) {
        OWNED(larmor_array) *x = vector(3, 1);
        OWNED(larmor_array) *y = vector(i ? 6 : 3, 1);
        OWNED(larmor_array) *z = vector(3, 2);
        assert_refused(larmor_op_forward(all[i], x, y), LARMOR_ERR_NUMERIC, "failing on purpose");
        assert_refused(larmor_op_adjoint(all[i], y, x), LARMOR_ERR_NUMERIC, "failing on purpose");
        assert_refused(larmor_op_normal(all[i], x, z), LARMOR_ERR_NUMERIC, "failing on purpose");
        larmor_op_free(all[i]);
    }
    LMR_FREE(F, A);
}
