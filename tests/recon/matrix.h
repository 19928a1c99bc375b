/* Problems with dense matrices, solved directly, for the tests of the solvers. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/recon/support.h"

static inline larmor_status write_values(larmor_array *x, const cplx *values)
{
    const int64_t count = larmor_array_count(x);
    HEAP NEW(float complex, in_single, count + 1);
    for (int64_t i = 0; i < count; i++) in_single[i] = (float complex)values[i];
    return larmor_array_write(x, larmor_array_dtype(x) == LARMOR_C128 ? (const void *)values : in_single,
                              larmor_array_bytes(x));
}

typedef struct matrix {
    int rows, columns;
    cplx *a, *back;                  /* [rows, columns]; back: what the adjoint uses, a itself for a true one */
    int nan_after;                   /* forward gives NaN from this call on, if > 0 */
    int single;                      /* 1: of LARMOR_C64 */
    int forwards, adjoints, normals; /* calls so far */
} matrix;

static inline larmor_status matrix_forward(void *self, const larmor_array *x, larmor_array *y)
{
    matrix *m = self;
    m->forwards++;
    HEAP cplx *in = values_of(x), *out = calloc((size_t)m->rows, sizeof *out);
    for (int j = 0; j < m->columns; j++)
        for (int i = 0; i < m->rows; i++) out[i] += m->a[i + m->rows * j] * in[j];
    if (m->nan_after > 0 && --m->nan_after == 0) {
        m->nan_after = 1;
        out[0] = NAN;
    }
    return write_values(y, out);
}

static inline larmor_status matrix_adjoint(void *self, const larmor_array *y, larmor_array *x)
{
    matrix *m = self;
    m->adjoints++;
    HEAP cplx *in = values_of(y), *out = calloc((size_t)m->columns, sizeof *out);
    for (int j = 0; j < m->columns; j++)
        for (int i = 0; i < m->rows; i++) out[j] += conj(m->back[i + m->rows * j]) * in[i];
    return write_values(x, out);
}

static inline larmor_op *matrix_op(matrix *m)
{
    static const larmor_op_impl impl = {"matrix", matrix_forward, matrix_adjoint, NULL, NULL};
    const larmor_dtype dtype = m->single ? LARMOR_C64 : LARMOR_C128;
    return MADE(larmor_op,
                larmor_op_create(dev, &impl, m, dtype, LARMOR_SHAPE(m->columns), LARMOR_SHAPE(m->rows), &made));
}

/* x solves (A^H A + lambda) x = A^H b, by Gaussian elimination with pivots. */
static inline void solve_directly(const matrix *m, const cplx *b, double lambda, cplx *x)
{
    const int n = m->columns;
    HEAP cplx *g = calloc((size_t)(n * (n + 1)), sizeof *g); /* row-major, the right side last */
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            for (int r = 0; r < m->rows; r++)
                g[i * (n + 1) + j] += conj(m->a[r + m->rows * i]) * m->a[r + m->rows * j];
        g[i * (n + 1) + i] += lambda;
        for (int r = 0; r < m->rows; r++) g[i * (n + 1) + n] += conj(m->a[r + m->rows * i]) * b[r];
    }
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int i = c; i < n; i++)
            if (cabs(g[i * (n + 1) + c]) > cabs(g[pivot * (n + 1) + c])) pivot = i;
        for (int j = 0; j <= n; j++) {
            const cplx swap = g[c * (n + 1) + j];
            g[c * (n + 1) + j] = g[pivot * (n + 1) + j];
            g[pivot * (n + 1) + j] = swap;
        }
        for (int i = 0; i < n; i++) {
            const cplx factor = i == c ? 0 : g[i * (n + 1) + c] / g[c * (n + 1) + c];
            for (int j = c; j <= n; j++) g[i * (n + 1) + j] -= factor * g[c * (n + 1) + j];
        }
    }
    for (int i = 0; i < n; i++) x[i] = g[i * (n + 1) + n] / g[i * (n + 1) + i];
}

typedef struct problem {
    matrix m;
    cplx *values, *rhs;
    larmor_op *A;
    larmor_array *b, *x;
} problem;

static inline problem random_problem(int rows, int columns)
{
    problem p = {.values = random_values(rows * columns, 1), .rhs = random_values(rows, 2)};
    p.m = (matrix){.rows = rows, .columns = columns, .a = p.values, .back = p.values};
    p.A = NULL; /* made by the test: it keeps a pointer to the matrix */
    p.b = complex_array(LARMOR_C128, LARMOR_SHAPE(rows), p.rhs);
    p.x = zeros(LARMOR_C128, LARMOR_SHAPE(columns));
    return p;
}

static inline void end_problem(problem *p)
{
    LMR_FREE(p->A, p->b, p->x, p->values, p->rhs);
}

/* The same matrix with a normal map, which counts. */
static inline larmor_status matrix_normal(void *self, const larmor_array *x, larmor_array *z)
{
    matrix *m = self;
    OWNED(larmor_array) *y = zeros(larmor_array_dtype(x), LARMOR_SHAPE(m->rows));
    assert_ok(matrix_forward(m, x, y));
    assert_ok(matrix_adjoint(m, y, z));
    m->forwards--;
    m->adjoints--;
    m->normals++;
    return LARMOR_OK;
}

static inline larmor_op *normal_matrix_op(matrix *m)
{
    static const larmor_op_impl impl = {"matrix", matrix_forward, matrix_adjoint, matrix_normal, NULL};
    const larmor_dtype dtype = m->single ? LARMOR_C64 : LARMOR_C128;
    return MADE(larmor_op,
                larmor_op_create(dev, &impl, m, dtype, LARMOR_SHAPE(m->columns), LARMOR_SHAPE(m->rows), &made));
}

/* |A x - b|^2 */
static inline double misfit(const matrix *m, const cplx *b, const cplx *x)
{
    double sum = 0;
    for (int i = 0; i < m->rows; i++) {
        cplx r = -b[i];
        for (int j = 0; j < m->columns; j++) r += m->a[i + m->rows * j] * x[j];
        sum += pow(cabs(r), 2);
    }
    return sum;
}

static inline double squares(const cplx *x, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++) sum += pow(cabs(x[i]), 2);
    return sum;
}

/* ---- g(x) = weight |x|_1 ---- */

typedef struct lasso {
    double weight;
    int calls, nan_after; /* value gives NaN from this call on, if > 0 */
} lasso;

static inline larmor_status lasso_apply(void *self, double t, const larmor_array *x, larmor_array *z)
{
    const lasso *l = self;
    HEAP cplx *values = values_of(x);
    for (int64_t i = 0; i < larmor_array_count(x); i++) {
        const double size = cabs(values[i]);
        values[i] *= size > t * l->weight ? 1 - t * l->weight / size : 0;
    }
    return write_values(z, values);
}

static inline larmor_status lasso_value(void *self, const larmor_array *x, double *g)
{
    lasso *l = self;
    HEAP cplx *values = values_of(x);
    *g = 0;
    for (int64_t i = 0; i < larmor_array_count(x); i++) *g += l->weight * cabs(values[i]);
    if (++l->calls >= l->nan_after && l->nan_after > 0) *g = NAN;
    return LARMOR_OK;
}

static inline larmor_prox *lasso_prox(lasso *l, larmor_dtype dtype, int count)
{
    static const larmor_prox_impl impl = {"lasso", lasso_apply, lasso_value, NULL};
    return MADE(larmor_prox, larmor_prox_create(dev, &impl, l, dtype, LARMOR_SHAPE(count), &made));
}
