/* The diagonal preconditioner in k-space (Ong, Uecker, Lustig 2020). SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/precond/precond.h"

/* With G = A A^H, whose rows are (coil c, sample i): the diagonal P that minimises |P (G + lambda) - I| in Frobenius'
 * norm is p_i = (G_ii + lambda) / sum_j |G_ij + lambda delta_ij|^2. G_ij is the transform of s_c conj(s_d) at
 * k_i - k_j, so that the sum of its squares over j is a transform at k_i: that of the autocorrelation of
 * s_c conj(s_d), times the point spread function. */
typedef struct sums {
    larmor_array *psf, *values; /* values: at the samples */
    larmor_op *F;               /* from the doubled grid to the samples */
    lmr_autocorrelation correlation;
} sums;

static void sums_free(sums *s)
{
    lmr_autocorrelation_free(&s->correlation);
    LMR_FREE(s->F, s->psf, s->values);
}

/* The autocorrelation of s_c conj(s_d), all d; without maps, of 1. */
static larmor_status correlate(sums *s, larmor_array *maps, larmor_shape image, larmor_dtype dtype, int64_t c)
{
    LMR_OWNED(larmor_array) *product = NULL, *mine = NULL, *other = NULL;
    const int64_t coils = maps ? maps->shape.dim[image.ndim] : 1;
    LMR_TRY(larmor_array_create(s->psf->dev, dtype, image, &product));
    if (maps) LMR_TRY(larmor_array_part(maps, c, 1, image, &mine));
    for (int64_t d = 0; d < coils; d++) {
        LMR_TRY(lmr_go_on());
        if (maps) {
            LMR_TRY(larmor_array_part(maps, d, 1, image, &other));
            LMR_TRY(larmor_copy(mine, product));
            LMR_TRY(larmor_mul(other, 1, product));
            LMR_CLEAR(other);
        } else {
            LMR_TRY(larmor_fill(product, 1));
        }
        LMR_TRY(lmr_autocorrelation_add(&s->correlation, product));
    }
    return LARMOR_OK;
}

/* p <- the weights of coil c */
static larmor_status weigh(sums *s, larmor_array *maps, larmor_shape image, larmor_dtype dtype, int64_t c,
                           double lambda, double *p)
{
    LMR_OWNED(larmor_array) *sum = NULL, *mine = NULL;
    double norm = sqrt((double)larmor_shape_count(image));
    LMR_TRY(correlate(s, maps, image, dtype, c));
    LMR_TRY(lmr_autocorrelation_end(&s->correlation, &sum));
    LMR_TRY(larmor_mul(s->psf, 0, sum));
    LMR_TRY(larmor_op_forward(s->F, sum, s->values));
    LMR_OWN_MEMORY(double complex, host, larmor_array_download(s->values, LARMOR_C128, &host));
    if (maps) LMR_TRY(larmor_array_part(maps, c, 1, image, &mine));
    if (maps) LMR_TRY(larmor_nrm2(mine, &norm));
    const double own = norm * norm; /* G_ii */
    for (int64_t i = 0; i < larmor_array_count(s->values); i++) {
        /* the sum holds its own G_ii^2: rounding must not take it below */
        const double squares = fmax(creal(host[i]), own * own) + 2 * lambda * own + lambda * lambda;
        p[i] = squares > 0 ? (own + lambda) / squares : 0;
    }
    return LARMOR_OK;
}

larmor_status larmor_precondition_kspace(larmor_array *maps, const larmor_array *traj, larmor_shape image,
                                         larmor_dtype dtype, double lambda, larmor_array **p)
{
    LMR_REFUSE(!p, LARMOR_ERR_ARG, "k-space preconditioner: p is NULL");
    *p = NULL;
    LMR_REFUSE(!(lambda >= 0) || !isfinite(lambda), LARMOR_ERR_ARG,
               "k-space preconditioner: lambda is %g, expected a finite number >= 0", lambda);
    LMR_HEAP double *host = NULL;
    LMR_FREED_BY(sums_free) sums s = {0};
    LMR_OWN(larmor_array, k, lmr_precond_inputs("k-space preconditioner", maps, traj, NULL, image, dtype, &k));
    larmor_shape shape = lmr_weights_shape(traj);
    const int64_t m = larmor_shape_count(shape);
    const int64_t coils = maps ? maps->shape.dim[image.ndim] : 1;
    if (maps) shape = larmor_shape_append(shape, coils);
    if (!(host = lmr_new(larmor_shape_count(shape), sizeof *host))) return LMR_NO_MEMORY();
    LMR_TRY(lmr_doubled_fourier(k, dtype, image, &s.F));
    LMR_TRY(lmr_point_spread(s.F, k, NULL, dtype, image, &s.psf));
    LMR_TRY(larmor_array_create(k->dev, dtype, LARMOR_SHAPE(m), &s.values));
    LMR_TRY(lmr_autocorrelation_begin(k->dev, dtype, image, &s.correlation));
    for (int64_t c = 0; c < coils; c++) LMR_TRY(weigh(&s, maps, image, dtype, c, lambda, host + c * m));
    return larmor_array_upload(k->dev, lmr_real_of(dtype), shape, LARMOR_F64, host, p);
}
