/* How well an image explains the samples that it was made from. SPDX-License-Identifier: Apache-2.0
 *
 * With N = A^H A, H = (N + weight)^-1 and noise e in the samples, the image takes up A H A^H e of it. Of white
 * noise of deviation s in each part, |A x - b|^2 is then expected to be 2 s^2 (samples x coils - tr(A H A^H)),
 * where x has the power that the weight stands for. One sample of the noise gives the trace to about 1 / sqrt(its
 * size): e^H A H A^H e is a sum over the steps of conjugate gradients for A^H e, which grows to it from below
 * twice as fast as the solution does (Hestenes and Stiefel, J. Res. Natl. Bur. Stand. 49, 409 (1952), theorem
 * 6:1). */
#include "check/check.h"
#include "core/core.h"
#include "core/ranks/ranks.h"
#include "pipeline/problem.h"

#define PROBE_CHANGE_OVER_NOISE 5e-3 /* of the noise that is left: what a step of the probe adds, at its end */
#define PROBE_WEIGHT 1e-3            /* of a mean eigenvalue: the weight of the probe where there is no noise */
#define MIN_NOISE_LEFT                                                                                               \
    0.02 /* of the noise: with less left over, samples and image are as many, and chi squared says nothing */
#define REGULAR_WEIGHT 1e-3 /* of the largest eigenvalue: next to no weight */
enum { PROBE_STEPS = 8, POWER_STEPS = 4, MODEL_STEPS = 20 };

/* ---- the noise that an image takes up ---- */

typedef struct probe {
    larmor_array *r, *z, *p, *q; /* like the image */
    larmor_op *M;
    double weight;
} probe;

static void free_probe(probe *w)
{
    LMR_FREE(w->M, w->q, w->p);
    if (w->z != w->r) larmor_array_free(w->z);
    larmor_array_free(w->r);
}

static larmor_status real_dot(const larmor_array *x, const larmor_array *y, double *real)
{
    double both[2];
    LMR_TRY(larmor_dot(x, y, both));
    *real = both[0];
    return LARMOR_OK;
}

/* That of the solver; of another penalty that of a Gaussian prior with the image's own power. */
static larmor_status find_weight(const lmr_solved *s, const larmor_array *e, probe *w)
{
    double of_noise, of_image, of_rhs, numbers, voxels, product;
    w->weight = s->weight;
    if (s->weight >= 0) return LARMOR_OK;
    LMR_TRY(larmor_nrm2(e, &of_noise));
    LMR_TRY(larmor_nrm2(s->x, &of_image));
    LMR_TRY(lmr_count_all(e, &numbers));
    LMR_TRY(lmr_count_all(s->x, &voxels));
    w->weight = s->noise && of_image > 0 ? of_noise * of_noise / numbers / (of_image * of_image / voxels) : 0;
    if (w->weight > 0) return LARMOR_OK;
    LMR_TRY(larmor_nrm2(w->r, &of_rhs));
    LMR_TRY(larmor_op_normal(s->A, w->r, w->q));
    LMR_TRY(real_dot(w->r, w->q, &product));
    w->weight = of_rhs > 0 ? PROBE_WEIGHT * product / (of_rhs * of_rhs) : 0;
    return LARMOR_OK;
}

/* folded: A^H e, or NULL. */
static larmor_status open_probe(const lmr_solved *s, const larmor_array *e, const larmor_array *folded, probe *w)
{
    larmor_op *A = s->A;
    larmor_array **const of[] = {&w->r, &w->p, &w->q};
    for (int i = 0; i < 3; i++)
        LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), of[i]));
    LMR_TRY(folded ? larmor_copy(folded, w->r) : larmor_op_adjoint(A, e, w->r));
    LMR_TRY(find_weight(s, e, w));
    w->z = w->r;
    if (!s->C) return LARMOR_OK;
    larmor_array *z;
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &z));
    w->z = z;
    return lmr_problem_inverse(s->C, w->weight, lmr_grid_shape(&s->frames->grid).ndim, larmor_op_in_shape(A), &w->M);
}

/* *sum <- e^H A H A^H e of r = A^H e; all: |e|^2. */
static larmor_status sum_steps(const lmr_solved *s, probe *w, double all, double *sum)
{
    double rho, next, curvature, added = 0, before = 0;
    *sum = 0;
    if (w->M) LMR_TRY(larmor_op_forward(w->M, w->r, w->z));
    LMR_TRY(larmor_copy(w->z, w->p));
    LMR_TRY(real_dot(w->r, w->z, &rho));
    for (int i = 0; i < PROBE_STEPS && rho > 0; i++) {
        LMR_TRY(larmor_op_normal(s->A, w->p, w->q));
        LMR_TRY(larmor_axpby(w->weight, w->p, 1, w->q));
        LMR_TRY(real_dot(w->p, w->q, &curvature));
        if (!(curvature > 0)) break;
        before = added;
        added = rho / curvature * rho;
        *sum += added;
        if (added < PROBE_CHANGE_OVER_NOISE * (all - *sum)) break;
        LMR_TRY(larmor_axpby(-rho / curvature, w->q, 1, w->r));
        if (w->M) LMR_TRY(larmor_op_forward(w->M, w->r, w->z));
        LMR_TRY(real_dot(w->r, w->z, &next));
        LMR_TRY(larmor_axpby(1, w->z, next / rho, w->p));
        rho = next;
    }
    if (before > added) *sum += added * added / (before - added); /* steps to come, as they became smaller */
    return LARMOR_OK;
}

/* *taken <- the part of the noise that the image takes up. */
static larmor_status find_taken(const lmr_job *job, const lmr_solved *s, double *taken)
{
    LMR_OWNED(larmor_array) *e = larmor_array_ref(s->noise);
    LMR_FREED_BY(free_probe) probe w = {.r = NULL};
    const larmor_array *folded = s->folded;
    double norm = 0, sum;
    if (e) LMR_TRY(larmor_nrm2(e, &norm));
    if (!(norm > 0)) {
        LMR_CLEAR(e);
        folded = NULL;
        LMR_TRY(lmr_sample_noise(job, s->frames, s->count, s->b, 1, LMR_NOISE_SEED, &e));
        LMR_TRY(larmor_nrm2(e, &norm));
    }
    LMR_TRY(open_probe(s, e, folded, &w));
    LMR_TRY(sum_steps(s, &w, norm * norm, &sum));
    *taken = fmin(1, sum / (norm * norm));
    return LARMOR_OK;
}

/* ---- the misfit ---- */

/* The sum of the weights of all samples of all coils. */
static larmor_status sum_weights(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *b,
                                 double *sum)
{
    if (!frames[0].weights) return lmr_count_all(b, sum);
    *sum = 0;
    for (int i = 0; i < count; i++) {
        LMR_OWN_MEMORY(double, w, larmor_array_download(frames[i].weights, LARMOR_F64, &w));
        for (int64_t j = 0; j < larmor_array_count(frames[i].weights); j++) *sum += job->facts->coils * w[j];
    }
    return LARMOR_OK;
}

static void compare(double left, double data, double noise, double taken, double samples, larmor_misfit *out)
{
    const double expected = noise * (1 - taken);
    out->measured = 1;
    out->fitted = 1;
    out->samples = samples;
    out->freedom = samples * (1 - taken);
    out->relative = data > 0 ? left / data : 0;
    out->beyond_noise = data > 0 ? sqrt(fmax(0, left * left - expected)) / data : 0;
    out->beyond_model = out->beyond_noise;
    if (expected > 0 && 1 - taken > MIN_NOISE_LEFT) out->chi2 = left * left / expected;
}

static void take_rings(const lmr_residuals *sums, larmor_misfit *out)
{
    for (int j = 0; j < LMR_RINGS; j++)
        out->by_radius[j] = sums->ring_data[j] > 0 ? sqrt(sums->ring[j] / sums->ring_data[j]) : 0;
}

/* r: A x - b */
static larmor_status measure(const lmr_job *job, const lmr_solved *s, double taken, const larmor_array *r,
                             larmor_misfit *out, lmr_residuals *sums)
{
    double left, data, weights, samples;
    LMR_TRY(larmor_nrm2(s->b, &data));
    LMR_TRY(larmor_nrm2(r, &left));
    LMR_TRY(sum_weights(job, s->frames, s->count, s->b, &weights));
    LMR_TRY(lmr_count_all(s->b, &samples));
    LMR_TRY(lmr_residuals_sum(job, s->frames, s->count, r, s->b, sums));
    const double noise = 2 * s->deviation * s->deviation * weights;
    compare(left, data, noise, taken, samples, out);
    out->by_noise_scan = job->facts->whitening != NULL;
    take_rings(sums, out);
    if (out->by_noise_scan && out->chi2 > 0 && !s->frames[0].weights && !job->facts->slabs)
        LMR_TRY(lmr_noise_scan_compare(&s->frames[0].samples, sums, taken, out));
    return lmr_residuals_judge(job, sums, noise * (1 - taken), out);
}

/* What is left by an image of next to no weight, from x on; r: room like b. */
static larmor_status find_model(const lmr_job *job, const lmr_solved *s, double taken, larmor_array *r,
                                larmor_misfit *out)
{
    larmor_op *A = s->A;
    LMR_OWNED(larmor_op) *M = NULL;
    larmor_solve_opts o = {.max_iter = MODEL_STEPS, .tol = REGULAR_WEIGHT};
    larmor_misfit found = {.measured = 0};
    double data, left, weights, samples;
    LMR_OWN(larmor_array, y, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &y));
    LMR_TRY(larmor_copy(s->x, y));
    LMR_TRY(larmor_opnorm(A, POWER_STEPS, &o.lambda));
    o.lambda *= REGULAR_WEIGHT;
    if (s->C)
        LMR_TRY(
            lmr_problem_inverse(s->C, o.lambda, lmr_grid_shape(&s->frames->grid).ndim, larmor_op_in_shape(A), &M));
    o.precondition = M;
    LMR_TRY(larmor_cg(A, s->b, y, &o, NULL));
    LMR_TRY(larmor_op_forward(A, y, r));
    LMR_TRY(larmor_axpby(-1, s->b, 1, r));
    LMR_TRY(larmor_nrm2(s->b, &data));
    LMR_TRY(larmor_nrm2(r, &left));
    LMR_TRY(sum_weights(job, s->frames, s->count, s->b, &weights));
    LMR_TRY(lmr_count_all(s->b, &samples));
    compare(left, data, 2 * s->deviation * s->deviation * weights, taken, samples, &found);
    out->beyond_model = fmin(out->beyond_noise, found.beyond_noise);
    return LARMOR_OK;
}

larmor_status lmr_misfit_measure(const lmr_job *job, const lmr_solved *solved, double *taken, larmor_misfit *out)
{
    LMR_FREED_BY(lmr_residuals_free) lmr_residuals sums = {.readouts = 0};
    LMR_OWNED(larmor_array) *r = NULL;
    larmor_status st = LARMOR_OK;
    *out = (larmor_misfit){.measured = 0};
    if (!(*taken > 0)) LMR_OR(done, find_taken(job, solved, taken));
    if (solved->noise)
        r = larmor_array_ref(solved->noise);
    else
        LMR_OR(done, larmor_array_create(job->facts->dev, larmor_array_dtype(solved->b),
                                         larmor_array_shape(solved->b), &r));
    LMR_OR(done, larmor_op_forward(solved->A, solved->x, r));
    LMR_OR(done, larmor_axpby(-1, solved->b, 1, r));
    LMR_OR(done, measure(job, solved, *taken, r, out, &sums));
    st = lmr_basis_course_check(job, solved, r);
    if (st == LARMOR_STOPPED) goto done;
    st = LARMOR_OK; /* it only says something, and the misfit is there */
    if (out->beyond_noise > LMR_MAX_BEYOND_NOISE) st = find_model(job, solved, *taken, r, out);
done:
    if (st) *out = (larmor_misfit){.measured = 0};
    return st;
}

/* ---- images without a solver ---- */

/* Samples w b become sqrt(w) b. */
static larmor_status unweigh(const lmr_frame *frame)
{
    const larmor_array *weights = frame->weights;
    LMR_OWN_MEMORY(double, w, larmor_array_download(weights, LARMOR_F64, &w));
    for (int64_t i = 0; i < larmor_array_count(weights); i++) w[i] = w[i] > 0 ? 1 / w[i] : 0;
    LMR_OWN(larmor_array, inverse,
            larmor_array_upload(larmor_array_device(weights), LARMOR_F64, larmor_array_shape(weights), LARMOR_F64, w,
                                &inverse));
    return larmor_sense_weigh(inverse, frame->samples.kspace);
}

/* Voxels that a coil sees, over all samples: a fully sampled grid's image takes up that part of the noise. */
static larmor_status taken_directly(const lmr_job *job, const lmr_frame *frame, double *taken)
{
    const larmor_shape image = lmr_grid_shape(&frame->grid);
    double norm;
    LMR_OWN(larmor_array, ones, larmor_array_create(job->facts->dev, LARMOR_C64, image, &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(larmor_clear_unseen(job->found.maps.array, ones));
    LMR_TRY(larmor_nrm2(ones, &norm));
    const double places =
        (double)larmor_array_count(frame->samples.kspace) / job->facts->coils / (double)frame->cartesian.repeats;
    *taken = fmin(norm * norm, places) / (double)larmor_array_count(frame->samples.kspace);
    return LARMOR_OK;
}

larmor_status lmr_misfit_of_image(lmr_job *job, const lmr_frame *frame, const larmor_array *x, double deviation,
                                  larmor_misfit *out)
{
    lmr_scan_facts direct = *job->facts;
    lmr_job plain = *job;
    lmr_frame unweighted = *frame;
    lmr_residuals sums = {.readouts = 0};
    LMR_OWNED(larmor_op) *A = NULL;
    LMR_OWNED(larmor_array) *b = NULL, *r = NULL, *own = NULL;
    int toeplitz;
    double taken = 0;
    larmor_status st;
    *out = (larmor_misfit){.measured = 0};
    direct.toeplitz = -1;
    plain.facts = &direct;
    unweighted.weights = NULL;
    if (frame->weights) LMR_OR(done, unweigh(frame)); /* gridding */
    if (!frame->weights && frame->cartesian.box) LMR_OR(done, taken_directly(job, frame, &taken));
    LMR_OR(done, lmr_problem_operator(&plain, &unweighted, 1, &A, &toeplitz));
    LMR_OR(done, lmr_problem_data(job, frame, 1, A, &b));
    LMR_OR(done, larmor_array_convert(x, larmor_op_dtype(A), &own));
    LMR_OR(done, larmor_array_create(job->facts->dev, larmor_array_dtype(b), larmor_array_shape(b), &r));
    LMR_OR(done, larmor_op_forward(A, own, r));
    LMR_OR(done, larmor_sense_weigh(frame->weights, r));
    LMR_OR(done, larmor_axpby(-1, b, 1, r));
    const lmr_solved s = {.frames = frame, .count = 1, .A = A, .b = b, .x = own, .deviation = deviation};
    st = measure(job, &s, taken, r, out, &sums);
    out->fitted = !frame->weights;
done:
    lmr_residuals_free(&sums);
    if (st) *out = (larmor_misfit){.measured = 0};
    return st;
}

/* ---- the noise ---- */

/* Of right scans chi squared is .91 or more at SNR 8 and 1000, of samples that are 1/FOV apart .0015 to .3. */
#define LEAST_CHI2 0.8
#define MIN_FREEDOM 200. /* numbers, so that chance is a tenth of it */

void lmr_misfit_set_noise(double less, larmor_recon_report *result)
{
    larmor_misfit *m = &result->misfit;
    m->noise_excess = fmax(m->noise_excess, 1) * result->noise / less;
    m->chi2 = 0;
    result->noise = less;
}

void lmr_misfit_lower_noise(const lmr_job *job, larmor_recon_report *result)
{
    const larmor_misfit *m = &result->misfit;
    if (job->facts->whitening || !(m->chi2 > 0) || m->chi2 >= LEAST_CHI2 || m->freedom < MIN_FREEDOM) return;
    lmr_misfit_set_noise(result->noise * sqrt(m->chi2), result);
}

/* ---- what is said of it ---- */

void lmr_misfit_report(const lmr_job *job, const char *name, const larmor_recon_report *now)
{
    const larmor_misfit *m = &now->misfit;
    lmr_events *e = job->events;
    char chi2[96] = "";
    if (!m->measured) {
        const char *why = now->interrupted ? "it was interrupted" : "there was no memory for it";
        if (job->settings->opts.no_maps && !lmr_solves_coils(job))
            why = "a root sum of squares is no image of a model";
        if (job->found.method.kind == LMR_METHOD_NLINV) why = "each frame has coil maps of its own";
        if (job->found.follow.on) why = "the next image waits";
        lmr_log(e, "%s: misfit: not measured, as %s", name, why);
        return;
    }
    if (m->chi2 > 0)
        snprintf(chi2, sizeof chi2, "; chi squared %.3g per degree of freedom", m->chi2);
    else if (m->freedom < MIN_NOISE_LEFT * m->samples)
        snprintf(chi2, sizeof chi2, "; with as many voxels as samples that says nothing");
    lmr_log(e, "%s: misfit: %.3g of the samples, %.3g beyond noise%s", name, m->relative, m->beyond_noise, chi2);
}
