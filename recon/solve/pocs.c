/* Projections onto convex sets for partial Fourier data (Haacke, Lindskog and Lin 1991), with a solver in the
 * place of the projection onto the data, so that they may be undersampled. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

enum {
    DEFAULT_ITERS = 30,
    INNER_ITERS = 6, /* of the change to the data, which grows small as projections go on */
};
#define MAX_REL_CHANGE 1e-3 /* of the image in a projection, relative to it; not measured */

/* z <- the image nearest to x that has the phase: P P^H x */
static larmor_status to_phase(larmor_op *P, const larmor_array *x, larmor_array *along, larmor_array *z)
{
    LMR_TRY(larmor_op_adjoint(P, x, along));
    return larmor_op_forward(P, along, z);
}

/* x <- z + the least change that brings it to the data. */
static larmor_status to_data(larmor_op *A, const larmor_array *b, const larmor_array *z, double lambda,
                             larmor_array *r, larmor_array *change, larmor_array *x)
{
    const larmor_solve_opts opts = {.max_iter = INNER_ITERS, .lambda = lambda, .tol = 1e-3};
    double size;
    LMR_TRY(larmor_op_forward(A, z, r));
    LMR_TRY(larmor_axpby(1, b, -1, r));
    LMR_TRY(larmor_nrm2(r, &size));
    LMR_TRY(larmor_zero(change));
    if (size > 0) LMR_TRY(larmor_cg(A, r, change, &opts, NULL));
    LMR_TRY(larmor_copy(z, x));
    return larmor_axpby(1, change, 1, x);
}

larmor_status larmor_pocs(larmor_op *A, const larmor_array *b, larmor_array *phase, larmor_array *x,
                          const larmor_solve_opts *opts, larmor_report *report)
{
    LMR_REFUSE(!A || !b || !phase || !x, LARMOR_ERR_ARG, "pocs: an operator, data, a phase and x are needed");
    const larmor_solve_opts o = opts ? *opts : (larmor_solve_opts){.tol = 0};
    const int most = o.max_iter > 0 ? o.max_iter : DEFAULT_ITERS;
    const double tol = o.tol == 0 ? MAX_REL_CHANGE : o.tol;
    const double began = lmr_seconds();
    larmor_report own = {.residual = 1, .end = LARMOR_END_ITERATIONS};
    LMR_OWNED(larmor_op) *P = NULL;
    LMR_OWNED(larmor_array) *z = NULL, *before = NULL, *change = NULL, *r = NULL;
    larmor_status st;
    LMR_OR(done, larmor_op_phase(phase, 0, &P));
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &z));
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &before));
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &change));
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A), &r));
    while (own.iters < most && own.end != LARMOR_END_TOLERANCE) {
        double moved, size;
        LMR_OR(done, lmr_go_on());
        LMR_OR(done, larmor_copy(x, before));
        LMR_OR(done, to_phase(P, x, change, z));
        LMR_OR(done, to_data(A, b, z, o.lambda, r, change, x));
        LMR_OR(done, larmor_axpby(1, x, -1, before));
        LMR_OR(done, larmor_nrm2(before, &moved));
        LMR_OR(done, larmor_nrm2(x, &size));
        own.iters++;
        own.residual = size > 0 ? moved / size : 0;
        own.objective = NAN;
        own.seconds = lmr_seconds() - began;
        if (own.residual <= tol) own.end = LARMOR_END_TOLERANCE;
        const larmor_progress step = {.iter = own.iters,
                                      .max_iter = most,
                                      .residual = own.residual,
                                      .objective = NAN,
                                      .seconds = own.seconds,
                                      .x = x};
        if (o.monitor && o.monitor(o.user, &step))
            LMR_OR(done, LMR_FAIL(LARMOR_STOPPED, "pocs: stopped by the caller"));
    }
    st = LARMOR_OK;
done:
    if (report) *report = own;
    return st;
}
