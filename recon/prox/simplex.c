/* The projection onto numbers of 0 and more with a given sum (Held, Wolfe, Crowder, Math. Program. 6, 62 (1974)):
 * real parts less a threshold, which is found between bounds. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prox/prox.h"
#include "recon/sparse.h"

enum { MOST_STEPS = 200 };
/* Of the sum, relative. */
#define SUM_ERROR 1e-14

typedef struct simplex {
    const lmr_sparse_kernels *kernels;
    double sum;
    larmor_array *ones, *real, *over; /* over: max(real - threshold, 0) */
} simplex;

/* A threshold, and how much larger than the one that is wanted the sum of s->over is with it. */
typedef struct bound {
    double at, excess;
} bound;

/* s->over <- max(s->real - b->at, 0), and the excess of its sum, which falls with b->at */
static larmor_status cut(const simplex *s, bound *b)
{
    double product[2];
    LMR_TRY(larmor_sum(2, (double[]){1, -b->at}, (const larmor_array *[]){s->real, s->ones}, s->over));
    LMR_TRY(
        s->kernels->clip(s->over->dev->ctx, larmor_array_count(s->over), 0, INFINITY, s->over->data, s->over->data));
    LMR_TRY(larmor_dot(s->ones, s->over, product));
    b->excess = product[0] - s->sum;
    return LARMOR_OK;
}

/* From the threshold without the bound at 0, which is too low, to one that leaves nothing. */
static larmor_status bracket(const simplex *s, bound *low, bound *high)
{
    double product[2], largest;
    LMR_TRY(larmor_dot(s->ones, s->real, product));
    LMR_TRY(larmor_nrm2(s->real, &largest));
    low->at = (product[0] - s->sum) / (double)larmor_array_count(s->real);
    *high = (bound){fmax(largest, low->at), -s->sum};
    return cut(s, low);
}

static larmor_status simplex_apply(void *self, double t LMR_UNUSED, const larmor_array *x, larmor_array *z)
{
    const simplex *s = self;
    const double rounding = larmor_array_dtype(x) == LARMOR_C128 ? 1e-16 : 1e-8;
    bound low, high, next;
    if (!larmor_array_count(x)) return LARMOR_OK;
    LMR_TRY(larmor_real(x, s->real));
    LMR_TRY(bracket(s, &low, &high));
    next = low;
    for (int i = 0; i < MOST_STEPS && fabs(next.excess) > SUM_ERROR * s->sum; i++) {
        /* every third step halves: the function is convex, and secants alone would move one bound */
        const double part = i % 3 == 2 ? 0.5 : low.excess / (low.excess - high.excess);
        next.at = low.at + part * (high.at - low.at);
        LMR_TRY(cut(s, &next));
        *(next.excess > 0 ? &low : &high) = next;
        if (high.at - low.at <= rounding * fabs(high.at)) break;
    }
    return larmor_copy(s->over, z);
}

LMR_DESTROYS(simplex_destroy, simplex, ones, real, over)

larmor_status larmor_prox_simplex(larmor_device *dev, double sum, larmor_dtype dtype, larmor_shape shape,
                                  larmor_prox **p)
{
    static const larmor_prox_impl impl = {"simplex", simplex_apply, lmr_prox_no_value, simplex_destroy};
    LMR_TRY(lmr_prox_begin("simplex", dev, 0, dtype, p));
    LMR_REFUSE(!(sum > 0 && isfinite(sum)), LARMOR_ERR_ARG, "simplex: the sum is %g, expected a finite number > 0",
               sum);
    LMR_MAKE(simplex, s, simplex_destroy);
    s->sum = sum;
    LMR_TRY(lmr_sparse_kernels_of(dev, dtype, &s->kernels));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->ones));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->real));
    LMR_TRY(larmor_array_create(dev, dtype, shape, &s->over));
    LMR_TRY(larmor_fill(s->ones, 1));
    return lmr_hand_on(&s_made, larmor_prox_create(dev, &impl, s, dtype, shape, p));
}
