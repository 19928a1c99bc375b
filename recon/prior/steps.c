/* Iterations with a denoiser: alternating directions (Venkatakrishnan et al. 2013), steps of the gradient with a
 * momentum (Kamilov et al. 2017), and regularisation by denoising (Romano et al. 2017; momentum: Reehorst and
 * Schniter, IEEE Trans. Comput. Imaging 5, 52 (2019)). SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/prior/prior.h"

enum { POWER_STEPS = 6 };
#define MARGIN 1.05 /* of the power method, which finds the largest eigenvalue from below */
/* Of the least squares of an iteration: its residual over the right side's, at most, and over the last change of x.
 * Not measured. */
#define MAX_INNER_TOL 1e-3
#define INNER_TOL_OVER_CHANGE 0.1

/* ---- alternating directions: y has v, Ny the multipliers, Nbefore the right side ---- */

larmor_status lmr_pnp_admm_begin(lmr_pnp *s)
{
    s->change = 1;
    LMR_TRY(larmor_copy(s->x, s->y));
    return larmor_zero(s->Ny);
}

/* v <- argmin |A v - b|^2 + weight |v - (x - u)|^2, from v */
static larmor_status fit_data(lmr_pnp *s)
{
    larmor_report report = {0};
    const double tol = fmax(0.1 * s->o.tol, fmin(MAX_INNER_TOL, INNER_TOL_OVER_CHANGE * s->change));
    const larmor_solve_opts opts = {.max_iter = s->o.inner, .tol = tol, .lambda = s->weight, .precondition = s->M};
    LMR_TRY(larmor_sum(3, (double[]){1, s->weight, -s->weight}, (const larmor_array *[]){s->f.rhs, s->x, s->Ny},
                       s->Nbefore));
    LMR_TRY(lmr_cg_normal(s->f.A, s->Nbefore, 0, s->y, &opts, &report));
    s->normals += report.iters + 1;
    return LARMOR_OK;
}

/* With scaled multipliers u: v as above, x <- D(v + u), u <- v + u - x. */
larmor_status lmr_pnp_admm(lmr_pnp *s)
{
    double norm[3];
    if (s->last > 0 && s->last != s->weight) LMR_TRY(larmor_axpby(s->last / s->weight, s->Ny, 0, s->Ny));
    s->last = s->weight;
    LMR_TRY(fit_data(s));
    LMR_TRY(larmor_copy(s->x, s->before));
    LMR_TRY(larmor_axpby(1, s->y, 1, s->Ny));
    LMR_TRY(lmr_pnp_denoise(s, s->Ny, s->x));
    LMR_TRY(larmor_axpby(-1, s->x, 1, s->Ny));
    LMR_TRY(larmor_distance(s->y, s->x, norm));
    s->split = norm[2] > 0 ? norm[2] / fmax(norm[0], norm[1]) : 0;
    return lmr_pnp_normal(s, s->x, s->Nx);
}

/* ---- gradients with a momentum, which begins anew where it leads uphill ---- */

larmor_status lmr_pnp_momentum_begin(lmr_pnp *s)
{
    s->age = 1;
    s->made = -1;
    LMR_TRY(larmor_copy(s->x, s->before));
    return larmor_copy(s->Nx, s->Nbefore);
}

/* y, N y <- x and N x, further on the way from those before, which become the ones of now. */
static larmor_status extrapolate(lmr_pnp *s)
{
    const double next = (1 + sqrt(1 + 4 * s->age * s->age)) / 2, by = (s->age - 1) / next;
    s->age = next;
    LMR_TRY(larmor_sum(2, (double[]){1 + by, -by}, (const larmor_array *[]){s->x, s->before}, s->y));
    LMR_TRY(larmor_sum(2, (double[]){1 + by, -by}, (const larmor_array *[]){s->Nx, s->Nbefore}, s->Ny));
    LMR_TRY(larmor_copy(s->x, s->before));
    return larmor_copy(s->Nx, s->Nbefore);
}

/* N + 2 weight, above the gradient's slope for denoisers that lengthen no difference. */
static larmor_status steepest(void *self, const larmor_array *x, larmor_array *z)
{
    const lmr_pnp *s = self;
    LMR_TRY(lmr_data_normal(&s->f, x, z));
    return larmor_axpby(2 * s->weight, x, 1, z);
}

/* What RED's gradient is divided by. */
static larmor_status choose_step(lmr_pnp *s)
{
    static const larmor_op_impl impl = {"pnp", steepest, steepest, steepest, NULL};
    LMR_OWNED(larmor_op) *slope = NULL;
    const larmor_shape image = larmor_op_in_shape(s->f.A);
    if (!s->M) s->step = s->largest + 2 * s->weight;
    if (!s->M || s->last == s->weight) return LARMOR_OK;
    s->last = s->weight;
    LMR_TRY(larmor_op_create(larmor_op_device(s->f.A), &impl, s, larmor_op_dtype(s->f.A), image, image, &slope));
    LMR_TRY(lmr_largest(slope, s->M, POWER_STEPS, &s->step));
    s->step *= MARGIN;
    return s->step > 0 ? LARMOR_OK
                       : LMR_FAIL(LARMOR_ERR_NUMERIC, "pnp: the preconditioner has no positive eigenvalue");
}

/* x <- y - M (N y - A^H b + weight (y - D(y))) / step; uphill: the gradient along x - before */
static larmor_status descend(lmr_pnp *s, double *uphill)
{
    LMR_TRY(choose_step(s));
    LMR_TRY(lmr_pnp_denoise(s, s->y, s->r));
    LMR_TRY(larmor_sum(4, (double[]){1, -1, s->weight, -s->weight},
                       (const larmor_array *[]){s->Ny, s->f.rhs, s->y, s->r}, s->r));
    if (s->M)
        LMR_TRY(larmor_op_forward(s->M, s->r, s->Ny));
    else
        LMR_TRY(larmor_copy(s->r, s->Ny));
    LMR_TRY(larmor_sum(2, (double[]){1, -1 / s->step}, (const larmor_array *[]){s->y, s->Ny}, s->x));
    LMR_TRY(larmor_sum(2, (double[]){1, -1}, (const larmor_array *[]){s->x, s->before}, s->Ny));
    return lmr_real_dot(s->r, s->Ny, uphill);
}

/* x <- D(y - (N y - A^H b) / weight); uphill: y - x along x - before */
static larmor_status denoise(lmr_pnp *s, double *uphill)
{
    LMR_TRY(larmor_sum(3, (double[]){1, -1 / s->weight, 1 / s->weight},
                       (const larmor_array *[]){s->y, s->Ny, s->f.rhs}, s->r));
    LMR_TRY(lmr_pnp_denoise(s, s->r, s->x));
    LMR_TRY(larmor_axpby(-1, s->x, 1, s->y));
    LMR_TRY(larmor_sum(2, (double[]){1, -1}, (const larmor_array *[]){s->x, s->before}, s->r));
    return lmr_real_dot(s->y, s->r, uphill);
}

larmor_status lmr_pnp_momentum(lmr_pnp *s)
{
    double uphill;
    LMR_TRY(extrapolate(s));
    if (s->o.method == LARMOR_PNP_RED)
        LMR_TRY(descend(s, &uphill));
    else
        LMR_TRY(denoise(s, &uphill));
    if (uphill > 0) s->age = 1;
    return lmr_pnp_normal(s, s->x, s->Nx);
}
