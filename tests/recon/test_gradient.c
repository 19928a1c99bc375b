/* recon/ops/gradient.c against the definitions, element by element. SPDX-License-Identifier: Apache-2.0 */
#include "tests/recon/support.h"

static const larmor_dtype type[] = {LARMOR_C64, LARMOR_C128};
static const double limit[] = {1e-6, 1e-14};

static const struct {
    larmor_shape shape;
    unsigned axes;
} cases[] = {
    {{1, {9}}, 1},       {{2, {7, 5}}, 3},        {{3, {4, 5, 6}}, 7},  {{3, {4, 5, 6}}, 4}, /* in time alone */
    {{3, {4, 5, 6}}, 5}, {{3, {1, 5, 6}}, 7},     {{3, {3, 1, 2}}, 7},  {{2, {2, 2}}, 3},
    {{2, {1, 1}}, 3},    {{4, {3, 2, 4, 3}}, 15}, {{2, {200, 150}}, 3}, /* several threads */
};
enum { CASES = sizeof cases / sizeof *cases };
static const double spacing[] = {0.5, 2, 1.25, 3};

/* The axes as the definition needs them. */
typedef struct axes {
    int count;
    int64_t n, step[4], length[4];
    double weight[4];
} axes;

static axes axes_of(int c, int spaced)
{
    axes a = {.n = 1};
    for (int d = 0; d < cases[c].shape.ndim; d++) {
        const int64_t length = cases[c].shape.dim[d];
        if (cases[c].axes >> d & 1) {
            a.step[a.count] = a.n;
            a.length[a.count] = length;
            a.weight[a.count++] = spaced ? 1 / spacing[d] : 1;
        }
        a.n *= length;
    }
    return a;
}

static int64_t place(const axes *a, int axis, int64_t i)
{
    return i / a->step[axis] % a->length[axis];
}

static int is_last(const axes *a, int axis, int64_t i)
{
    return place(a, axis, i) == a->length[axis] - 1;
}

static void direct_gradient(const axes *a, const cplx *x, cplx *y)
{
    for (int d = 0; d < a->count; d++)
        for (int64_t i = 0; i < a->n; i++)
            y[i + a->n * d] = is_last(a, d, i) ? 0 : a->weight[d] * (x[i + a->step[d]] - x[i]);
}

static void direct_symmetrised(const axes *a, const cplx *v, cplx *y)
{
    for (int e = 0; e < a->count; e++)
        for (int d = 0; d <= e; d++)
            for (int64_t i = 0; i < a->n; i++, y++) {
                const cplx *vd = v + a->n * d + i, *ve = v + a->n * e + i;
                *y = 0;
                if (d == e && place(a, d, i) > 0 && !is_last(a, d, i)) *y = a->weight[d] * (vd[0] - vd[-a->step[d]]);
                if (d != e && !is_last(a, d, i) && !is_last(a, e, i))
                    *y =
                        (a->weight[e] * (vd[a->step[e]] - vd[0]) + a->weight[d] * (ve[a->step[d]] - ve[0])) / sqrt(2);
            }
}

/* |got - expected|, relative to the largest difference possible: expected may be all zeros */
static void expect(int p, const larmor_array *x, const cplx *expected)
{
    HEAP cplx *got = values_of(x);
    double most = 0;
    for (int64_t i = 0; i < larmor_array_count(x); i++) most = fmax(most, cabs(got[i] - expected[i]));
    assert_at_most(most, 8 * limit[p]);
}

/* The normal map of x is the adjoint of y, the forward map of x. */
static void expect_normal(larmor_op *op, int p, const larmor_array *x, const larmor_array *y)
{
    OWNED(larmor_array) *normal = NULL, *adjoint = NULL;
    assert_ok(larmor_array_create(dev, type[p], larmor_op_in_shape(op), &normal));
    assert_ok(larmor_array_create(dev, type[p], larmor_op_in_shape(op), &adjoint));
    assert_ok(larmor_op_normal(op, x, normal));
    assert_ok(larmor_op_adjoint(op, y, adjoint));
    HEAP cplx *expected = values_of(adjoint);
    expect(p, normal, expected);
}

typedef larmor_status constructor(larmor_device *, larmor_dtype, larmor_shape, unsigned, const double *,
                                  larmor_op **);

static void expect_forward_and_adjoint(constructor *create, void direct(const axes *, const cplx *, cplx *), int c,
                                       int p, int spaced)
{
    const axes a = axes_of(c, spaced);
    OWN(larmor_op, *op, create(dev, type[p], cases[c].shape, cases[c].axes, spaced ? spacing : NULL, &op));
    const int64_t in_count = larmor_shape_count(larmor_op_in_shape(op));
    const int64_t out_count = larmor_shape_count(larmor_op_out_shape(op));
    HEAP cplx *x = random_values(in_count, 1), *y = random_values(out_count, 2);
    OWNED(larmor_array) *in = complex_array(type[p], larmor_op_in_shape(op), x);
    OWNED(larmor_array) *out = complex_array(type[p], larmor_op_out_shape(op), y); /* what it held must not matter */
    assert_ok(larmor_op_forward(op, in, out));
    direct(&a, x, y);
    expect(p, out, y);
    expect_normal(op, p, in, out);
    if (a.n > 1) {
        assert_at_most(adjoint_error(op, 3), limit[p]);
    }
}

TEST(gradients_are_forward_differences_and_their_adjoint_is_exact)
{
    for (int c = 0; c < CASES * 4; c++)
        expect_forward_and_adjoint(larmor_op_gradient, direct_gradient, c / 4, c % 2, c / 2 % 2);
}

TEST(symmetrised_gradients_are_as_defined_and_their_adjoint_is_exact)
{
    for (int c = 0; c < CASES * 4; c++)
        if (larmor_shape_count(cases[c / 4].shape) > 4) /* smaller fields have none */
            expect_forward_and_adjoint(larmor_op_symmetrised_gradient, direct_symmetrised, c / 4, c % 2, c / 2 % 2);
}

static larmor_op *op_of(constructor *create, larmor_shape shape)
{
    return MADE(larmor_op, create(dev, LARMOR_C128, shape, (1U << shape.ndim) - 1, spacing, &made));
}

static void expect_zero(larmor_op *op, larmor_array *x)
{
    OWNED(larmor_array) *y = zeros(LARMOR_C128, larmor_op_out_shape(op));
    assert_ok(larmor_op_forward(op, x, y));
    assert_at_most(norm_of(y), 1e-13);
    larmor_array_free(x);
}

TEST(affine_images_constant_fields_and_rotations_have_no_symmetrised_gradient)
{
    const larmor_shape shape = LARMOR_SHAPE(6, 5, 4);
    OWNED(larmor_op) *G = op_of(larmor_op_gradient, shape), *E = op_of(larmor_op_symmetrised_gradient, shape);
    cplx affine[120], constant[360], rotation[360];
    for (int i = 0; i < 120; i++) {
        const double at[] = {i % 6, i / 6 % 5, i / 30}, component[] = {0, 1, 2};
        affine[i] = 1 + (2 + I) * at[0] - 3 * at[1] + 0.5 * I * at[2];
        for (int d = 0; d < 3; d++) constant[i + 120 * d] = component[d] - I;
        rotation[i] = -at[1] * spacing[1];
        rotation[i + 120] = at[0] * spacing[0];
        rotation[i + 240] = 0;
    }
    OWNED(larmor_array) *image = complex_array(LARMOR_C128, shape, affine);
    larmor_array *field = zeros(LARMOR_C128, larmor_op_out_shape(G));
    assert_ok(larmor_op_forward(G, image, field));
    expect_zero(E, field);
    expect_zero(E, complex_array(LARMOR_C128, larmor_op_out_shape(G), constant));
    expect_zero(E, complex_array(LARMOR_C128, larmor_op_out_shape(G), rotation));
}

TEST(the_symmetrised_gradient_of_a_gradient_holds_second_differences)
{
    enum { N = 8 };
    const larmor_shape shape = LARMOR_SHAPE(N, N);
    OWNED(larmor_op) *G = op_of(larmor_op_gradient, shape), *E = op_of(larmor_op_symmetrised_gradient, shape), *EG;
    assert_ok(larmor_op_chain(E, G, &EG));
    cplx square[N * N];
    for (int i = 0; i < N * N; i++) { /* 3 x^2 + x y in units of the spacing */
        const double x = i % N * spacing[0], y = i / N * spacing[1];
        square[i] = 3 * x * x + x * y;
    }
    OWNED(larmor_array) *image = complex_array(LARMOR_C128, shape, square);
    OWNED(larmor_array) *tensor = zeros(LARMOR_C128, larmor_op_out_shape(EG));
    assert_ok(larmor_op_forward(EG, image, tensor));
    HEAP cplx *h = values_of(tensor);
    for (int i = 0; i < N * N; i++)
        if (i % N > 0 && i % N < N - 1 && i / N > 0 && i / N < N - 1) {
            assert_at_most(cabs(h[i] - 6), 1e-12);
            assert_at_most(cabs(h[i + N * N] - sqrt(2)), 1e-12); /* twice the mixed derivative over sqrt(2) */
            assert_at_most(cabs(h[i + 2 * N * N]), 1e-12);
        }
}

TEST(axes_and_spacings_that_are_none_are_refused)
{
    OWNED(larmor_op) *G;
    const larmor_shape shape = LARMOR_SHAPE(4, 4);
    assert_refused(larmor_op_gradient(dev, LARMOR_C64, shape, 0, NULL, &G), LARMOR_ERR_ARG,
                   "gradient: no axes given, expected at least one");
    assert_null(G);
    assert_refused(larmor_op_symmetrised_gradient(dev, LARMOR_C64, shape, 4, NULL, &G), LARMOR_ERR_ARG,
                   "symmetrised gradient: axes are 0x4, expected bits of the 2 dimensions of c64 [4, 4] on");
    assert_refused(larmor_op_gradient(dev, LARMOR_C64, shape, 3, (double[]){1, 0}, &G), LARMOR_ERR_ARG,
                   "gradient: spacing is 0 along axis 1, expected a finite number > 0");
    OWN(larmor_op, *along_x,
        larmor_op_gradient(dev, LARMOR_C64, shape, 1, (double[]){1, 0}, &along_x)); /* that axis is none */
    assert_refused(larmor_op_gradient(dev, LARMOR_C64, LARMOR_SHAPE(2, 2, 2, 2, 2, 2, 2, 2), 1, NULL, &G),
                   LARMOR_ERR_SHAPE, "gradient: the image has 8 dimensions, expected at most 7");
}

TEST(images_without_elements_have_no_differences)
{
    const larmor_shape shapes[] = {LARMOR_SHAPE(0), LARMOR_SHAPE(0, 16), LARMOR_SHAPE(16, 0), LARMOR_SHAPE(1, 0, 4)};
    for (int i = 0; i < 4; i++) {
        OWNED(larmor_op) *G = NULL, *E = NULL;
        assert_ok(larmor_op_gradient(dev, LARMOR_C64, shapes[i], 1, NULL, &G));
        assert_ok(larmor_op_symmetrised_gradient(dev, LARMOR_C64, shapes[i], 1, NULL, &E));
        OWNED(larmor_array) *x = zeros(LARMOR_C64, larmor_op_in_shape(G)),
                            *y = zeros(LARMOR_C64, larmor_op_out_shape(G));
        OWNED(larmor_array) *z = zeros(LARMOR_C64, larmor_op_in_shape(G));
        assert_ok(larmor_op_forward(G, x, y));
        assert_ok(larmor_op_adjoint(G, y, x));
        assert_ok(larmor_op_normal(G, x, z));
        double error;
        assert_ok(larmor_op_adjoint_error(G, 1, &error));
        assert_ok(larmor_op_adjoint_error(E, 1, &error));
    }
}
