/* Images regularised as they are: A the identity. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/recon/support.h"

static inline larmor_op *identity(larmor_dtype dtype, larmor_shape shape)
{
    OWNED(larmor_array) *ones = zeros(dtype, shape);
    assert_ok(larmor_fill(ones, 1));
    return MADE(larmor_op, larmor_op_diag(ones, &made));
}

/* min_x 1/2 |x - b|^2 + R(x), converged; free it. */
static inline cplx *denoise(const char *name, const larmor_regulariser_opts *opts, larmor_shape shape, const cplx *b)
{
    OWNED(larmor_op) *A = identity(LARMOR_C128, shape);
    OWNED(larmor_array) *data = complex_array(LARMOR_C128, shape, b), *x = zeros(LARMOR_C128, shape);
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, name, opts, LARMOR_C128, shape, &r));
    const larmor_solve_opts solve = {.max_iter = 300, .tol = 1e-7, .inner = 4, .penalty = 1};
    assert_ok(larmor_regularised(A, data, r, x, &solve, NULL));
    cplx *values = values_of(x);
    return values;
}

/* R(x) at lambda = 1, of a regulariser without extended variable. */
static inline double penalty_of(const char *name, const larmor_regulariser_opts *opts, larmor_shape shape,
                                const cplx *x)
{
    OWN(larmor_regulariser, *r, larmor_regulariser_create(dev, name, opts, LARMOR_C128, shape, &r));
    const larmor_penalty p = larmor_regulariser_penalty(r);
    OWNED(larmor_array) *in = complex_array(LARMOR_C128, shape, x), *y = zeros(LARMOR_C128, larmor_prox_shape(p.g));
    double g;
    if (p.K) assert_ok(larmor_op_forward(p.K, in, y));
    assert_ok(larmor_prox_value(p.g, p.K ? y : in, &g));
    return g;
}

/* Samples of a part of the Fourier transform, where `kept` is not 0, of an image with noise. */
typedef struct problem {
    larmor_op *A;
    larmor_array *b;
    larmor_shape shape;
} problem;

static inline void end_problem(problem *p)
{
    LMR_FREE(p->A, p->b);
}

static inline problem problem_from(larmor_shape shape, const cplx *truth, const double *kept)
{
    problem p = {.shape = shape, .b = zeros(LARMOR_C128, shape)};
    HEAP cplx *noise = random_values(larmor_shape_count(shape), 6);
    OWNED(larmor_array) *mask = real_array(shape, kept), *x = complex_array(LARMOR_C128, shape, truth),
                        *e = complex_array(LARMOR_C128, shape, noise);
    const larmor_fft_opts unitary = {.unitary = 1};
    OWN(larmor_op, *M, larmor_op_mask(mask, LARMOR_C128, &M));
    OWN(larmor_op, *F, larmor_op_fft(dev, LARMOR_C128, shape, 3, &unitary, &F));
    assert_ok(larmor_op_chain(M, F, &p.A));
    assert_ok(larmor_axpby(0.1, e, 1, x));
    assert_ok(larmor_op_forward(p.A, x, p.b));
    return p;
}
