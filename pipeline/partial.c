/* Partial Fourier: whether an image has the smooth phase that fills in what was not sampled, and which method takes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/partial.h"

#include <math.h>

#include "core/status.h"
#include "larmor/cartesian.h"
#include "pipeline/problem.h"

/* Of the signal in the centre, what no image of the phase explains, beyond noise: below the first the image is taken for
 * one of that phase; below the second, what was measured stays, and only the rest is filled in. */
#define SMOOTH 0.08
#define ROUGH 0.25
/* Of the image: with less noise than this, what was measured is better than what a phase makes of it. */
#define QUIET 0.025

#define FEWEST 3.5 /* lines on the shorter side of the centre: with less there is no phase to go by */
#define WEIGHT 1e-3 /* of the largest eigenvalue, for images that are looked at in low resolution alone */
#define ALONG 2     /* the other axes' part of k-space, in units of the partial one's */
enum { STEPS = 12, POWER_STEPS = 4, REFINEMENTS = 3 };

int lmr_is_partial(const larmor_coverage *c)
{
    return c->partial[0] || c->partial[1] || c->partial[2];
}

/* As far as both sides of every axis go: of the partial ones the shorter side. */
static double find_reach(const lmr_frame *frame, const larmor_coverage *c, double reach[3])
{
    double finest = INFINITY, shortest = INFINITY;
    for (int d = 0; d < frame->grid.ndim; d++) {
        if (!c->partial[d]) continue;
        reach[d] = fmin(-c->low[d], c->high[d]);
        shortest = fmin(shortest, reach[d]);
        finest = fmin(finest, reach[d] / frame->grid.fov_mm[d]);
    }
    for (int d = 0; d < frame->grid.ndim; d++) {
        if (c->partial[d]) continue;
        reach[d] = fmax(FEWEST, ALONG * finest * frame->grid.fov_mm[d]);
        if (reach[d] >= (double)(frame->grid.matrix[d] / 2)) reach[d] = 0;
    }
    return shortest;
}

/* ---- an image to look at ---- */

static larmor_status quick_image(larmor_op *A, const larmor_array *b, double weight, larmor_array **x)
{
    const larmor_solve_opts opts = {.max_iter = STEPS, .lambda = weight, .tol = 1e-3};
    LMR_TRY(larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), x));
    return larmor_cg(A, b, *x, &opts, NULL);
}

/* The image of just this phase that explains the data best. */
static larmor_status image_of_phase(larmor_op *A, const larmor_array *b, double weight, larmor_array *phase,
                                    larmor_array **image)
{
    larmor_op *P = NULL, *all = NULL;
    larmor_array *x = NULL;
    larmor_status st;
    *image = NULL;
    LMR_OR(done, larmor_op_phase(phase, 0, &P));
    LMR_OR(done, larmor_op_chain(A, P, &all));
    LMR_OR(done, quick_image(all, b, weight, &x));
    LMR_OR(done, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), image));
    st = larmor_op_forward(P, x, *image);
done:
    larmor_array_free(x);
    larmor_op_free(all);
    larmor_op_free(P);
    return st;
}

/* At low resolution an edge has the phase of what is beside it, in x and in an image of the phase that is sought alike: so
 * that phase is moved until the two agree. model <- the last such image. */
static larmor_status refine(larmor_op *A, const larmor_array *b, double weight, const larmor_array *x,
                            const double reach[3], larmor_array *phase, larmor_array **model)
{
    larmor_array *seen = NULL, *expected = NULL;
    larmor_status st;
    *model = NULL;
    LMR_OR(done, larmor_centre_phase(x, reach, &seen));
    for (int i = 0;; i++) {
        larmor_array_free(*model);
        *model = NULL;
        LMR_OR(done, image_of_phase(A, b, weight, phase, model));
        if (i == REFINEMENTS) break;
        LMR_OR(done, larmor_centre_phase(*model, reach, &expected));
        LMR_OR(done, larmor_mul(seen, 0, phase));
        LMR_OR(done, larmor_mul(expected, 1, phase));
        larmor_array_free(expected);
        expected = NULL;
    }
done:
    larmor_array_free(expected);
    larmor_array_free(seen);
    return st;
}

typedef struct look {
    double off;   /* of the centre of k-space what the model has not, beyond noise, relative to all of it */
    double noise; /* in the image, relative to that */
} look;

/* x is overwritten. */
static larmor_status compare(larmor_array *x, const larmor_array *model, const larmor_array *noise,
                             const double reach[3], const larmor_array *phase, look *seen)
{
    double all, left, by_noise, unused, whole, noisy;
    LMR_TRY(larmor_nrm2(x, &whole));
    LMR_TRY(larmor_nrm2(noise, &noisy));
    seen->noise = whole > 0 ? noisy / whole : 1;
    LMR_TRY(larmor_off_phase(x, reach, phase, &unused, &all));
    LMR_TRY(larmor_off_phase(noise, reach, phase, &by_noise, &unused));
    LMR_TRY(larmor_axpby(-1, model, 1, x));
    LMR_TRY(larmor_off_phase(x, reach, phase, &unused, &left));
    seen->off = all > 0 ? sqrt(fmax(0, left * left - by_noise * by_noise)) / all : 1;
    return LARMOR_OK;
}

/* The phase of one frame, and how far it holds. */
static larmor_status phase_of(const lmr_job *job, lmr_frame *frame, const double reach[3], double noise,
                              larmor_array **phase, look *seen)
{
    larmor_op *A = NULL;
    larmor_array *b = NULL, *sample = NULL, *x = NULL, *of_noise = NULL, *model = NULL;
    double largest;
    int toeplitz;
    larmor_status st;
    *phase = NULL;
    LMR_OR(done, lmr_problem_operator(job, frame, 1, &A, &toeplitz));
    LMR_OR(done, lmr_problem_data(job, frame, 1, A, &b));
    LMR_OR(done, larmor_opnorm(A, POWER_STEPS, &largest));
    LMR_OR(done, quick_image(A, b, WEIGHT * largest, &x));
    LMR_OR(done, larmor_centre_phase(x, reach, phase));
    LMR_OR(done, refine(A, b, WEIGHT * largest, x, reach, *phase, &model));
    LMR_OR(done, lmr_sample_noise(job, frame, 1, b, noise, &sample));
    LMR_OR(done, quick_image(A, sample, WEIGHT * largest, &of_noise));
    st = compare(x, model, of_noise, reach, *phase, seen);
done:
    if (st) {
        larmor_array_free(*phase);
        *phase = NULL;
    }
    larmor_array_free(model);
    larmor_array_free(of_noise);
    larmor_array_free(x);
    larmor_array_free(sample);
    larmor_array_free(b);
    larmor_op_free(A);
    return st;
}

static larmor_partial_fourier method_of(const lmr_job *job, double shortest, const look *seen)
{
    const int projects = job->method == LMR_METHOD_CG;
    if (job->partial_fourier != LARMOR_PARTIAL_AUTO) return job->partial_fourier;
    if (shortest < FEWEST || seen->off > ROUGH) return LARMOR_PARTIAL_ZERO;
    if (projects && (seen->off > SMOOTH || seen->noise < QUIET)) return LARMOR_PARTIAL_POCS;
    return LARMOR_PARTIAL_HOMODYNE;
}

larmor_status lmr_partial_begin(const lmr_job *job, lmr_frame *frames, int count, double noise,
                                larmor_recon_report *result)
{
    double reach[3] = {0};
    if (!lmr_is_partial(&result->coverage)) return LARMOR_OK;
    result->partial_fourier = LARMOR_PARTIAL_ZERO;
    result->off_phase = 1;
    for (int i = 0; i < count; i++)
        if (!frames[i].cartesian.on_grid) return LARMOR_OK;
    if (job->partial_fourier == LARMOR_PARTIAL_ZERO || job->sets) return LARMOR_OK;
    LMR_TRY(lmr_enter(job->events, "phase"));
    const double shortest = find_reach(&frames[0], &result->coverage, reach);
    for (int i = 0; i < count; i++) {
        look seen = {1, 1};
        LMR_TRY(phase_of(job, &frames[i], reach, noise, &frames[i].phase, &seen));
        if (!i) result->off_phase = seen.off;
        if (!i) result->partial_fourier = method_of(job, shortest, &seen);
    }
    for (int i = 0; i < count; i++) {
        frames[i].has_phase = result->partial_fourier == LARMOR_PARTIAL_HOMODYNE;
        frames[i].off_phase = fmin(1, result->off_phase);
        if (result->partial_fourier != LARMOR_PARTIAL_ZERO) continue;
        larmor_array_free(frames[i].phase);
        frames[i].phase = NULL;
    }
    return LARMOR_OK;
}

/* ---- the image ---- */

static larmor_status project(const lmr_job *job, const lmr_frame *frame, larmor_array *x, larmor_recon_report *result)
{
    const larmor_solve_opts opts = {.lambda = result->weight};
    larmor_op *A = NULL;
    larmor_array *b = NULL;
    int toeplitz;
    larmor_status st;
    LMR_OR(done, lmr_enter(job->events, "projections"));
    LMR_OR(done, lmr_problem_operator(job, frame, 1, &A, &toeplitz));
    LMR_OR(done, lmr_problem_data(job, frame, 1, A, &b));
    st = larmor_pocs(A, b, frame->phase, x, &opts, NULL);
done:
    larmor_array_free(b);
    larmor_op_free(A);
    return st;
}

/* Frame i of x becomes the image. */
static larmor_status turn(const lmr_frame *frame, int i, int count, larmor_array *x)
{
    larmor_array *one = NULL, *image = NULL;
    larmor_op *P = NULL;
    larmor_status st;
    if (count > 1)
        LMR_OR(done, lmr_one_of(x, i, &one));
    else
        one = larmor_array_ref(x);
    LMR_OR(done, larmor_op_phase(frame->phase, frame->off_phase, &P));
    LMR_OR(done, larmor_array_create(larmor_array_device(x), larmor_array_dtype(x), larmor_array_shape(one), &image));
    LMR_OR(done, larmor_op_forward(P, one, image));
    st = larmor_copy(image, one);
done:
    larmor_op_free(P);
    larmor_array_free(image);
    larmor_array_free(one);
    return st;
}

larmor_status lmr_partial_end(const lmr_job *job, const lmr_frame *frames, int count, larmor_array *x,
                              larmor_recon_report *result)
{
    if (!frames[0].phase) return LARMOR_OK;
    if (!frames[0].has_phase) return project(job, frames, x, result);
    for (int i = 0; i < count; i++) LMR_TRY(turn(&frames[i], i, count, x));
    return LARMOR_OK;
}
