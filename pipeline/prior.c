/* Images by a denoiser of the caller's: how strong, how long, and where the run begins. SPDX-License-Identifier:
 * Apache-2.0 */
#include "pipeline/prior.h"

#include "core/core.h"
#include "core/ranks/ranks.h"

/* sigma of the last iterations, and of the first one, over the noise in the image by conjugate gradients. */
#define SIGMA_OVER_NOISE 1.0
#define FIRST_OVER_LAST 3.0
/* Of an image without noise, which its own size stands for. */
#define MIN_REL_SIGMA 1e-4
#define DEFAULT_TOL 1e-3
enum { DEFAULT_ITERS = 30, FALLING = 8, NOISE_ITERS = 15 };

/* The deviations of the noise in the samples, and in the image by conjugate gradients of a sample of it. */
static larmor_status find_noise(const lmr_job *job, lmr_solution *p, larmor_op *M, double weight, double *samples,
                                double *image)
{
    LMR_OWNED(larmor_array) *x = NULL;
    const larmor_solve_opts opts = {.max_iter = NOISE_ITERS, .tol = 1e-2, .lambda = weight, .precondition = M};
    double count, voxels, norm;
    LMR_TRY(lmr_solution_noise(job, p));
    LMR_TRY(lmr_count_all(p->b, &count));
    LMR_TRY(lmr_count_all(p->x, &voxels));
    LMR_TRY(larmor_nrm2(p->noise, &norm));
    *samples = norm / sqrt(2 * fmax(count, 1));
    LMR_TRY(larmor_array_create(larmor_op_device(p->A), larmor_op_dtype(p->A), larmor_op_in_shape(p->A), &x));
    LMR_TRY(larmor_cg(p->A, p->noise, x, &opts, NULL));
    LMR_TRY(larmor_nrm2(x, &norm));
    *image = norm / sqrt(2 * fmax(voxels, 1));
    return LARMOR_OK;
}

/* Without noise in the samples sigma is a small part of the image, and the samples count for as much more. */
static larmor_status choose_sigma(const lmr_job *job, lmr_solution *p, larmor_pnp_opts *o, double image)
{
    const double by = job->settings->opts.prior_sigma > 0 ? job->settings->opts.prior_sigma : SIGMA_OVER_NOISE;
    double size, voxels;
    LMR_TRY(larmor_nrm2(p->x, &size));
    LMR_TRY(lmr_count_all(p->x, &voxels));
    const double least = MIN_REL_SIGMA * size / sqrt(2 * fmax(voxels, 1));
    o->sigma = by * image;
    if (!(o->sigma > least)) {
        o->sigma = least > 0 ? least : 1;
        o->deviation = 0;
    }
    o->first = FIRST_OVER_LAST * o->sigma;
    o->falling = FALLING;
    return LARMOR_OK;
}

static const char *ends_by(larmor_pnp_end end)
{
    if (end == LARMOR_PNP_END_NOISE) return "at the noise";
    return end == LARMOR_PNP_END_TOLERANCE ? "settled" : "at the limit";
}

static void report(const lmr_job *job, const larmor_pnp_info *info, double largest, larmor_recon_report *result)
{
    static const char *const method[] = {"admm", "red"};
    lmr_log(job->events, "prior %s: %d iterations of %s, sigma %.3g, weight %.3g, last change %.2g, %s",
            larmor_denoiser_name(job->settings->opts.prior), info->iters, method[job->settings->opts.prior_method],
            info->sigma * lmr_unscaled_image(job), largest > 0 ? info->weight / largest : 0, info->change,
            ends_by(info->end));
    result->solver.iters += info->iters;
    result->solver.seconds += info->seconds;
    result->solver.residual = info->change;
    result->solver.objective = info->residual * info->residual / 2;
    result->solver.end = info->end == LARMOR_PNP_END_ITERATIONS ? LARMOR_END_ITERATIONS : LARMOR_END_TOLERANCE;
}

larmor_status lmr_prior_solve(const lmr_job *job, lmr_solution *p, larmor_recon_report *result)
{
    const larmor_recon_opts *asked = &job->settings->opts;
    const larmor_solve_opts watched = lmr_solution_opts(p);
    larmor_pnp_opts o = {.method = asked->prior_method,
                         .max_iter = asked->iters ? asked->iters : DEFAULT_ITERS,
                         .tol = asked->tol != 0 ? asked->tol : DEFAULT_TOL,
                         .circulant = job->facts->precondition < 0 ? NULL : p->C,
                         .monitor = watched.monitor,
                         .user = watched.user};
    LMR_OWNED(larmor_op) *M = NULL;
    larmor_pnp_info info = {0};
    double image = 0;
    LMR_REFUSE(job->facts->slabs || job->facts->sets, LARMOR_ERR_UNSUPPORTED, "opts.prior: is not for %s",
               job->facts->slabs ? "volumes in slabs" : "several sets of maps");
    LMR_TRY(lmr_enter(job->events, "prior"));
    if (o.circulant) LMR_TRY(larmor_circulant_inverse(o.circulant, result->weight, NULL, 0, &M));
    LMR_TRY(find_noise(job, p, M, result->weight, &o.deviation, &image));
    LMR_TRY(choose_sigma(job, p, &o, image));
    const larmor_status st = larmor_solve_pnp(p->A, p->b, asked->prior, p->x, &o, &info);
    if (!st || st == LARMOR_STOPPED) report(job, &info, result->largest, result);
    /* an image that a denoiser spoils is an error of the run, and not left out */
    return st == LARMOR_ERR_NUMERIC ? LARMOR_ERR_BACKEND : st;
}
