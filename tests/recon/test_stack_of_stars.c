/* recon/ops/stack_of_stars.c. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

enum { SAMPLES = 7, NX = 8, NY = 9, BATCH = 2 };

/* What the readouts of a stack are: kz and angle, in the order of acquisition. */
typedef struct design {
    int64_t nz;
    int readouts;
    double kz[24], angle[24];
    int64_t sets;
} design;

static const design designs[] = {
    /* two angles in every partition of four, the same everywhere */
    {4, 8, {-2, -2, -1, -1, 0, 0, 1, 1}, {0, 1, 0, 1, 0, 1, 0, 1}, 1},
    /* any order, an odd number of partitions, one of them empty, one with the angles of another in another order */
    {5, 9, {0, 2, -2, 0, 1, 2, 1, -2, -2}, {0.1, 0.7, 0.5, 0.7, 0.9, 0.1, 0.3, 0.6, 0.5}, 3},
    /* each partition with its own angle; kz beyond the edge counts modulo nz */
    {6, 7, {3, -3, 2, 8, 1, -9, 0}, {0, 0.2, 0.4, 0.6, 0.8, 1, 1.2}, 4},
    /* a plane */
    {1, 2, {0, 0}, {0, 1}, 1},
    /* more partitions than a kernel transposes at a time, most of them empty */
    {20, 4, {-10, 0, 9, -1}, {0, 0.3, 0, 0.3}, 2},
    /* nothing */
    {3, 0, {0}, {0}, 0},
};
enum { DESIGNS = sizeof designs / sizeof *designs };

static double *points_of(const design *g)
{
    NEW(double, k, 3 * SAMPLES * g->readouts + 1);
    for (int j = 0; j < SAMPLES * g->readouts; j++) {
        const int r = j / SAMPLES;
        const double t = (double)(j % SAMPLES) - 3.3;
        k[3 * j] = t * cos(g->angle[r]);
        k[3 * j + 1] = t * sin(g->angle[r]);
        k[3 * j + 2] = g->kz[r];
    }
    return k;
}

static larmor_array *traj_of(const design *g)
{
    HEAP double *k = points_of(g);
    larmor_array *traj = real_array(LARMOR_SHAPE(3, SAMPLES, g->readouts), k);
    return traj;
}

static larmor_nufft_opts opts_of(const design *g, larmor_dtype dtype, double tol)
{
    return (larmor_nufft_opts){.ndim = 3, .modes = {NX, NY, g->nz}, .batch = BATCH, .tol = tol, .dtype = dtype};
}

TEST(it_is_the_fourier_sum_in_the_order_of_the_readouts)
{
    for (int i = 0; i < DESIGNS; i++) {
        const design *g = &designs[i];
        const larmor_shape image = LARMOR_SHAPE(NX, NY, g->nz);
        const int64_t voxels = larmor_shape_count(image), m = SAMPLES * g->readouts;
        const larmor_nufft_opts opts = opts_of(g, LARMOR_C128, 1e-10);
        HEAP double *k = points_of(g);
        HEAP cplx *x = random_values(voxels * BATCH, 1),
                  *expected = malloc((size_t)(m * BATCH + 1) * sizeof *expected);
        assert_non_null(expected);
        for (int b = 0; b < BATCH; b++) direct_forward(x + voxels * b, image, k, m, expected + m * b);
        OWNED(larmor_array) *traj = traj_of(g),
                            *in = complex_array(LARMOR_C128, larmor_shape_append(image, BATCH), x);
        OWNED(larmor_array) *out = zeros(LARMOR_C128, LARMOR_SHAPE(SAMPLES, g->readouts, BATCH));
        OWN(larmor_op, *A, larmor_op_stack_of_stars(dev, &opts, traj, &A));
        assert_ok(larmor_op_forward(A, in, out));
        if (m) assert_at_most(away(out, expected, m * BATCH), 1e-9);
    }
}

TEST(it_agrees_with_the_nufft_in_3d)
{
    for (int c = 0; c < 2 * DESIGNS; c++) {
        const design *g = &designs[c / 2];
        if (!g->readouts) continue;
        const larmor_dtype dtype = c % 2 ? LARMOR_C128 : LARMOR_C64;
        larmor_nufft_opts opts = opts_of(g, dtype, 1e-5);
        opts.sign = g->nz == 5 ? 1 : 0;
        opts.batch = 0; /* also the other sign, and without a batch */
        OWNED(larmor_array) *traj = traj_of(g);
        larmor_op *op[2];
        cplx *x = random_values(NX * NY * g->nz, 1), *y[2], *z[2];
        OWNED(larmor_array) *in = complex_array(dtype, LARMOR_SHAPE(NX, NY, g->nz), x);
        assert_ok(larmor_op_nufft(dev, &opts, traj, &op[0]));
        assert_ok(larmor_op_stack_of_stars(dev, &opts, traj, &op[1]));
        assert_true(larmor_shape_equal(larmor_op_in_shape(op[0]), larmor_op_in_shape(op[1])));
        assert_true(larmor_shape_equal(larmor_op_out_shape(op[0]), larmor_op_out_shape(op[1])));
        for (int i = 0; i < 2; i++) {
            OWNED(larmor_array) *out = zeros(dtype, larmor_op_out_shape(op[i])),
                                *back = zeros(dtype, larmor_op_in_shape(op[i]));
            assert_ok(larmor_op_forward(op[i], in, out));
            assert_ok(larmor_op_adjoint(op[i], out, back));
            y[i] = values_of(out);
            z[i] = values_of(back);
            larmor_op_free(op[i]);
        }
        assert_at_most(difference(y[1], y[0], SAMPLES * g->readouts), 2e-5);
        assert_at_most(difference(z[1], z[0], NX * NY * g->nz), 4e-5);
        for (int i = 0; i < 2; i++) LMR_FREE(y[i], z[i]);
        free(x);
    }
}

TEST(the_adjoint_is_exact_and_the_normal_map_follows)
{
    for (int c = 0; c < 2 * DESIGNS; c++) {
        const design *g = &designs[c / 2];
        if (!g->readouts) continue;
        const larmor_dtype dtype = c % 2 ? LARMOR_C128 : LARMOR_C64;
        const larmor_nufft_opts opts = opts_of(g, dtype, 1e-4);
        OWNED(larmor_array) *traj = traj_of(g);
        OWN(larmor_op, *A, larmor_op_stack_of_stars(dev, &opts, traj, &A));
        assert_at_most(adjoint_error(A, 5), c % 2 ? 1e-14 : 1e-6);
        assert_at_most(normal_apart(A), c % 2 ? 1e-14 : 1e-6);
    }
}

TEST(without_readouts_the_adjoint_is_zero)
{
    const design *g = &designs[DESIGNS - 1];
    const larmor_nufft_opts opts = opts_of(g, LARMOR_C64, 1e-4);
    OWNED(larmor_array) *traj = traj_of(g);
    OWN(larmor_op, *A, larmor_op_stack_of_stars(dev, &opts, traj, &A));
    OWNED(larmor_array) *y = zeros(LARMOR_C64, larmor_op_out_shape(A)), *x = zeros(LARMOR_C64, larmor_op_in_shape(A));
    assert_ok(larmor_fill(x, NAN));
    assert_ok(larmor_op_adjoint(A, y, x));
    assert_true(norm_of(x) == 0);
}

TEST(a_stack_is_known_by_its_kz_and_its_sets_of_angles)
{
    int is;
    int64_t sets;
    for (int i = 0; i < DESIGNS; i++) {
        OWNED(larmor_array) *traj = traj_of(&designs[i]);
        assert_ok(larmor_traj_is_stack(traj, designs[i].nz, &is, &sets));
        assert_int_equal(is, 1);
        assert_int_equal(sets, designs[i].sets);
    }
    HEAP double *k = points_of(&designs[0]);
    k[3 * (5 * SAMPLES + 2) + 2] += 9e-6; /* what a change of units may leave */
    larmor_array *traj = real_array(LARMOR_SHAPE(3, SAMPLES, 8), k);
    assert_ok(larmor_traj_is_stack(traj, 4, &is, NULL));
    assert_int_equal(is, 1);
    larmor_array_free(traj);
    k[3 * (5 * SAMPLES + 2) + 2] += 1e-3;
    traj = real_array(LARMOR_SHAPE(3, SAMPLES, 8), k);
    assert_ok(larmor_traj_is_stack(traj, 4, &is, &sets));
    assert_int_equal(is, 0);
    assert_int_equal(sets, 0);
    OWNED(larmor_array) *flat = zeros(LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, 8));
    assert_ok(larmor_traj_is_stack(flat, 4, &is, &sets));
    assert_int_equal(is, 0);
    larmor_array_free(traj);
}

TEST(what_is_no_stack_is_named)
{
    const larmor_nufft_opts opts = opts_of(&designs[0], LARMOR_C64, 0);
    HEAP double *k = points_of(&designs[0]);
    k[3 * (5 * SAMPLES + 2) + 2] = 0.25;
    k[3 * (6 * SAMPLES) + 2] = 0.5;
    larmor_array *traj = real_array(LARMOR_SHAPE(3, SAMPLES, 8), k);
    assert_none_made(
        larmor_op, larmor_op_stack_of_stars(dev, &opts, traj, &made), LARMOR_ERR_ARG,
        "stack of stars: readout 5 has kz 0.25 at sample 2, expected one integer at all its samples; use "
        "larmor_op_nufft");
    larmor_array_free(traj);
    for (int i = 0; i < SAMPLES; i++) k[3 * (3 * SAMPLES + i) + 2] = -1.5;
    traj = real_array(LARMOR_SHAPE(3, SAMPLES, 8), k);
    assert_none_made(larmor_op, larmor_op_stack_of_stars(dev, &opts, traj, &made), LARMOR_ERR_ARG,
                     "stack of stars: readout 3 has kz -1.5 at sample 0");
    larmor_array_free(traj);
    k[0] = NAN;
    traj = real_array(LARMOR_SHAPE(3, SAMPLES, 8), k);
    assert_none_made(larmor_op, larmor_op_stack_of_stars(dev, &opts, traj, &made), LARMOR_ERR_NUMERIC,
                     "stack of stars: trajectory holds");
    OWNED(larmor_array) *flat = zeros(LARMOR_F64, LARMOR_SHAPE(2, SAMPLES, 8));
    assert_none_made(larmor_op, larmor_op_stack_of_stars(dev, &opts, flat, &made), LARMOR_ERR_SHAPE,
                     "stack of stars: trajectory is f64 [2, 7, 8] on");
    larmor_nufft_opts plane = opts;
    plane.ndim = 2;
    assert_none_made(larmor_op, larmor_op_stack_of_stars(dev, &plane, traj, &made), LARMOR_ERR_ARG,
                     "stack of stars: got 2 dimensions of 8 x 9 x 4 modes");
    larmor_array_free(traj);
}
