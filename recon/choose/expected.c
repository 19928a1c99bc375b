/* The weight that is expected from the level of the noise. A few steps of conjugate gradients, of the data and of a
 * sample of the noise, show how strong image and noise are. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/ranks/ranks.h"
#include "recon/prox/regulariser.h"

/* How near the expected weight is to the best one is in docs/records/choosing.md, "The weight expected from the
 * noise"; each of these alone is in no record. */
#define ROUGH_WEIGHT 0.03        /* the weight of those steps, relative to the mean eigenvalue of A^H A */
#define MIN_POWER_OVER_NOISE 0.1 /* the image's power relative to that of the noise in it, at least */
#define CG_WEIGHT_OVER_FLAT_PRIOR                                                                                    \
    5. /* times the weight that a Gaussian prior with a flat spectrum has: images are weaker at the rim */
#define PENALTY_WEIGHT_FACTOR 0.4 /* what strength counts are deviations averaged with the thinly sampled rim */

#define REGULAR_WEIGHT                                                                                               \
    1e-6 /* relative to the mean eigenvalue of A^H A: least squares but for voxels without signal in any coil */
#define MIN_NOISE_LEFT 0.3 /* of the noise: with less the image takes up whatever is measured */

enum { ROUGH_ITERS = 10 }; /* of the rough image: its residual is compared, no detail of it */

static double power_of(double norm, double count)
{
    return norm * norm / count;
}

/* The norms of the image that is nearly A x = y, to a floor, and of A x - y. */
static larmor_status rough(larmor_op *A, const larmor_array *y, double floor, larmor_array *x, larmor_array *Ax,
                           double *size, double *misfit)
{
    const larmor_solve_opts opts = {.max_iter = ROUGH_ITERS, .tol = 1e-3, .lambda = floor};
    LMR_TRY(larmor_zero(x));
    LMR_TRY(larmor_cg(A, y, x, &opts, NULL));
    LMR_TRY(larmor_nrm2(x, size));
    LMR_TRY(larmor_op_forward(A, x, Ax));
    LMR_TRY(larmor_axpby(-1, y, 1, Ax));
    return larmor_nrm2(Ax, misfit);
}

static larmor_status predict_from_noise(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                                        const larmor_regulariser *r, larmor_array *x, larmor_array *Ax,
                                        double *weight)
{
    double whole, folded, own, left, image, misfit, voxels, samples;
    LMR_TRY(lmr_count_all(x, &voxels));
    LMR_TRY(lmr_count_all(noise, &samples));
    LMR_TRY(larmor_nrm2(noise, &whole));
    LMR_TRY(larmor_op_adjoint(A, noise, x));
    LMR_TRY(larmor_nrm2(x, &folded));
    const double floor =
        ROUGH_WEIGHT * power_of(folded, voxels) / power_of(whole, samples); /* of the mean eigenvalue of A^H A */
    if (!(floor > 0) || !isfinite(floor)) return LARMOR_OK;                 /* no noise, or all maps are zero */
    LMR_TRY(rough(A, noise, floor, x, Ax, &own, &left));
    LMR_TRY(rough(A, b, floor, x, Ax, &image, &misfit));
    /* there is no more noise than the data are off the model */
    const double factor = misfit < left ? misfit / left : 1;
    const double power = factor * factor * power_of(whole, samples);
    own *= factor;
    if (r) {
        *weight = own > 0 ? r->kind.strength * PENALTY_WEIGHT_FACTOR * power / sqrt(power_of(own, voxels)) : 0;
        return LARMOR_OK;
    }
    const double signal = fmax(image * image - own * own, MIN_POWER_OVER_NOISE * own * own) / voxels;
    *weight = signal > 0 ? CG_WEIGHT_OVER_FLAT_PRIOR * power / signal : 0;
    return LARMOR_OK;
}

larmor_status larmor_weight_of_noise(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                                     const larmor_regulariser *r, double *weight)
{
    LMR_OWNED(larmor_array) *x = NULL, *Ax = NULL;
    LMR_NEED(weight);
    *weight = 0;
    LMR_REFUSE(!A || !b || !noise, LARMOR_ERR_ARG, "weight of noise: A, b and a sample of the noise are needed");
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A), &Ax));
    return predict_from_noise(A, b, noise, r, x, Ax, weight);
}

/* ---- how much noise there is ---- */

enum {
    EXACT_ITERS = 20,      /* of all of a grid with a circulant: to 1e-6 */
    MOST_VALUES = 1 << 18, /* of a median, whose standard error is then 0.15 % */
};

/* The median of the magnitudes that are not 0, of no more than MOST_VALUES. */
static larmor_status median_of(const larmor_array *x, double *median)
{
    const int64_t all = larmor_array_count(x), step = 1 + all / MOST_VALUES;
    int64_t count = 0;
    LMR_OWN_MEMORY(double, values, larmor_array_download(x, LARMOR_C128, &values));
    LMR_HEAP float *size = malloc(sizeof *size * (size_t)(all / step + 1));
    for (int64_t i = 0; size && i < all; i += step) {
        const float one = (float)hypot(values[2 * i], values[2 * i + 1]);
        if (one > 0) size[count++] = one;
    }
    *median = size ? lmr_median_f32(size, count) : 0;
    if (!size) return LMR_NO_MEMORY();
    return LARMOR_OK;
}

/* An image of A x - y, x the solution of least squares, and its median. */
static larmor_status left_of(larmor_op *A, const larmor_array *y, const larmor_array *factors, double weight,
                             larmor_array *x, larmor_array *Ax, double *median)
{
    const larmor_solve_opts opts = {.max_iter = EXACT_ITERS, .tol = 1e-6, .lambda = weight};
    LMR_TRY(larmor_zero(x));
    LMR_TRY(larmor_cg(A, y, x, &opts, NULL));
    LMR_TRY(larmor_op_forward(A, x, Ax));
    LMR_TRY(larmor_axpby(-1, y, 1, Ax));
    LMR_TRY(larmor_mul(factors, 0, Ax));
    LMR_TRY(larmor_op_adjoint(A, Ax, x));
    return median_of(x, median);
}

static larmor_status left(larmor_op *A, const larmor_array *b, const larmor_array *noise, const larmor_array *factors,
                          larmor_array *x, larmor_array *Ax, double *factor)
{
    double whole, folded, typical, of_noise, of_b, voxels, samples;
    LMR_TRY(lmr_count_all(x, &voxels));
    LMR_TRY(lmr_count_all(noise, &samples));
    LMR_TRY(larmor_nrm2(noise, &whole));
    LMR_TRY(larmor_op_adjoint(A, noise, x));
    LMR_TRY(larmor_nrm2(x, &folded));
    LMR_TRY(median_of(x, &typical));
    const double weight = REGULAR_WEIGHT * power_of(folded, voxels) / power_of(whole, samples);
    if (!(weight > 0) || !isfinite(weight)) return LARMOR_OK;
    LMR_TRY(left_of(A, noise, factors, weight, x, Ax, &of_noise));
    if (of_noise < MIN_NOISE_LEFT * typical) return LARMOR_OK;
    LMR_TRY(left_of(A, b, factors, weight, x, Ax, &of_b));
    *factor = fmin(1, of_b / of_noise);
    return LARMOR_OK;
}

larmor_status larmor_noise_left(larmor_op *A, const larmor_array *b, const larmor_array *noise,
                                const larmor_array *factors, double *factor)
{
    LMR_OWNED(larmor_array) *x = NULL, *Ax = NULL;
    LMR_NEED(factor);
    *factor = 1;
    LMR_REFUSE(!A || !b || !noise || !factors, LARMOR_ERR_ARG,
               "noise left: A, b, a sample of the noise and factors are needed");
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_out_shape(A), &Ax));
    return left(A, b, noise, factors, x, Ax, factor);
}
