/* SENSE as a product of operators: root of the weights, NUFFT, coils (Pruessmann et al. 2001).
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "larmor/recon.h"
#include "recon/host.h"

/* Multiplication of every coil's samples by the same real numbers. */
static larmor_status forward(void *self, const larmor_array *x, larmor_array *y)
{
    LMR_TRY(larmor_copy(x, y));
    return larmor_mul(self, 0, y);
}

static void destroy(void *self)
{
    larmor_array_free(self);
}

static const larmor_op_impl impl = {"weights", forward, forward, NULL, destroy};

/* sqrt(W) on k-space [samples, readouts, coils]. */
static larmor_status op_weights(larmor_device *dev, const larmor_array *weights, larmor_dtype dtype,
                                larmor_shape kspace, larmor_op **P)
{
    *P = NULL;
    double *root;
    LMR_TRY(lmr_host_real("sense", "weights", weights, &root));
    larmor_array *d = NULL;
    const larmor_shape samples = larmor_shape_of(kspace.ndim - 1, kspace.dim);
    larmor_status st;
    LMR_OR(done, lmr_expect("sense", "weight array", weights, dev, weights->dtype, samples));
    for (int64_t i = 0; i < larmor_shape_count(samples); i++) {
        if (root[i] < 0) {
            st = LMR_FAIL(LARMOR_ERR_ARG, "sense: weight %lld is %g, expected at least 0", (long long)i, root[i]);
            goto done;
        }
        root[i] = sqrt(root[i]);
    }
    LMR_OR(done, lmr_array_of_real(dev, dtype, samples, root, &d));
    LMR_OR(done, larmor_op_create(dev, &impl, d, dtype, kspace, kspace, P));
    d = NULL;
done:
    larmor_array_free(d);
    free(root);
    return st;
}

larmor_status larmor_op_sense(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A)
{
    *A = NULL;
    if (!opts || !opts->traj) return LMR_FAIL(LARMOR_ERR_ARG, "sense: no trajectory given, expected opts.traj");
    larmor_op *S = NULL, *F = NULL, *P = NULL, *PF = NULL;
    larmor_status st;
    LMR_OR(done, larmor_op_coils(maps, &S));
    const larmor_shape image = larmor_op_in_shape(S);
    if (image.ndim > 3) {
        st = LMR_FAIL(LARMOR_ERR_SHAPE, "sense: maps are %s, expected 1 to 3 dimensions and coils",
                      lmr_describe(maps).s);
        goto done;
    }
    larmor_nufft_opts nufft = {.type = 2, .ndim = image.ndim, .batch = maps->shape.dim[image.ndim]};
    for (int i = 0; i < image.ndim; i++) nufft.modes[i] = image.dim[i];
    nufft.tol = opts->nufft_tol;
    nufft.dtype = maps->dtype;
    LMR_OR(done, larmor_op_nufft(maps->dev, &nufft, opts->traj, &F));
    if (opts->weights) {
        /* chained to F first: a normal map that is given to their product survives the chain with S */
        LMR_OR(done, op_weights(maps->dev, opts->weights, maps->dtype, larmor_op_out_shape(F), &P));
        LMR_OR(done, larmor_op_chain(P, F, &PF));
    } else {
        PF = larmor_op_ref(F);
    }
    LMR_OR(done, larmor_op_chain(PF, S, A));
done:
    larmor_op_free(PF), larmor_op_free(P), larmor_op_free(F), larmor_op_free(S);
    return st;
}
