/* The device that counts: vectors and matrices. SPDX-License-Identifier: Apache-2.0 */
#include "core/measure/tables.h"

#include "core/measure/measure.h"
#include "core/status.h"

/* NOLINTBEGIN(misc-unused-parameters) */
#pragma GCC diagnostic ignored "-Wunused-parameter"
LMR_MEASURE_NOTHING(axpby, void *ctx, int64_t n, double a, const void *x, double b, void *y)
LMR_MEASURE_NOTHING(axpby_complex, void *ctx, int64_t n, const double a[2], const void *x, const double b[2], void *y)
LMR_MEASURE_NOTHING(sum, void *ctx, int64_t n, int count, const double *factor, const void *const *x, void *y)
LMR_MEASURE_NOTHING(mul, void *ctx, int64_t n, int64_t rows, const void *d, const void *x, int conj, void *y)
LMR_MEASURE_NOTHING(expand, void *ctx, int64_t n, int64_t nc, const void *d, const void *x, void *y)
LMR_MEASURE_NOTHING(one_of_another, void *ctx, int64_t n, const void *x, void *y)
LMR_MEASURE_NOTHING(make_random, void *ctx, int64_t n, uint64_t seed, void *x)
LMR_MEASURE_NOTHING(gemm, void *ctx, char opa, char opb, int64_t m, int64_t n, int64_t k, const void *a, int64_t lda,
                    const void *b, int64_t ldb, void *c, int64_t ldc)

/* A GPU's solver works in a copy. */
static larmor_status heev(void *ctx, int64_t n, int64_t batch, int vectors, void *a, void *w)
{
    void *copy;
    LMR_TRY(lmr_measure_plan(ctx, 16 * (double)n * (double)n * (double)batch, &copy));
    lmr_measure_release(ctx, copy);
    return LARMOR_OK;
}

static larmor_status dot(void *ctx, int64_t n, const void *x, const void *y, double out[2])
{
    out[0] = 1;
    out[1] = 0;
    return LARMOR_OK;
}

static larmor_status distance(void *ctx, int64_t n, const void *x, const void *y, double out[3])
{
    out[0] = out[1] = 1;
    out[2] = 9; /* a penalty that balances then changes, and its preconditioner is made anew */
    return LARMOR_OK;
}

static larmor_status add_dot(void *ctx, int64_t n, double a, const void *x, void *y, double out[2])
{
    return dot(ctx, n, x, y, out);
}

static larmor_status advance(void *ctx, int64_t n, double a, const void *p, const void *q, void *x, void *r,
                             void *before, double out[3])
{
    return distance(ctx, n, x, r, out);
}
/* NOLINTEND(misc-unused-parameters) */

const lmr_vec lmr_measure_vec = {
    .axpby = axpby,
    .axpby_complex = axpby_complex,
    .sum = sum,
    .mul = mul,
    .expand = expand,
    .combine = expand,
    .dot = dot,
    .distance = distance,
    .add_dot = add_dot,
    .advance = advance,
    .magnitude = one_of_another,
    .real_part = one_of_another,
    .random = make_random,
};

const lmr_la lmr_measure_la = {.gemm = gemm, .heev = heev};
