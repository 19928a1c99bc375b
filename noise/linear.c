/* The noise of images by conjugate gradients: images of samples of noise alone. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "core/owned.h"
#include "core/status.h"
#include "larmor/solve.h"
#include "noise/noise.h"
#include "pipeline/problem.h"

/* What further steps change an image of noise by, relative to it. The error of a deviation is of second order in it: in
 * the median .1 % on golden-angle spokes, R = 3, and .8 % with 0.2. */
#define MAX_REL_CHANGE 0.1
enum { MOST_STEPS = 1000 };

typedef struct problem {
    larmor_op *A, *M;
    larmor_circulant *C;
    larmor_array *like, *x; /* like: the samples' shape */
} problem;

static void close_problem(problem *p)
{
    larmor_op_free(p->M);
    larmor_circulant_free(p->C);
    larmor_array_free(p->like);
    larmor_array_free(p->x);
    larmor_op_free(p->A);
}

static larmor_status open_problem(const lmr_noisy *n, double weight, problem *p)
{
    const lmr_job *job = n->job;
    const int image_ndim = lmr_grid_shape(&n->frames->grid).ndim;
    int toeplitz;
    LMR_TRY(lmr_problem_circulant(job, n->frames, n->count, LARMOR_LAMBDA_FROM_CALLER, &p->C));
    LMR_TRY(lmr_problem_operator(job, n->frames, n->count, &p->A, &toeplitz));
    const larmor_shape in = larmor_op_in_shape(p->A);
    if (p->C) LMR_TRY(lmr_problem_inverse(p->C, weight, image_ndim, in, &p->M));
    LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), in, &p->x));
    return larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), larmor_op_out_shape(p->A), &p->like);
}

typedef struct of_sample {
    const lmr_noisy *n;
    double **square;
} of_sample;

static larmor_status add_square(void *user, int image, const float *value)
{
    const of_sample *s = user;
    double *square = s->square[image];
    for (int64_t v = 0; v < s->n->voxels[image]; v++) {
        const double re = value[2 * v], im = value[2 * v + 1];
        square[v] += re * re + im * im;
    }
    return LARMOR_OK;
}

larmor_status lmr_noise_linear(const lmr_noisy *n, int samples, double **deviation)
{
    const double weight = lmr_scaled_weight(n->job, n->report);
    const larmor_solve_opts plain = {.max_iter = MOST_STEPS, .tol = -1, .lambda = weight, .relative = MAX_REL_CHANGE};
    LMR_FREED_BY(close_problem) problem p = {.A = NULL};
    of_sample each = {n, deviation};
    LMR_TRY(open_problem(n, weight, &p));
    for (int i = 0; i < samples; i++) {
        LMR_OWNED(larmor_array) *e = NULL;
        larmor_solve_opts opts = plain;
        opts.precondition = p.M;
        LMR_TRY(lmr_noise_step(n, i, samples));
        LMR_TRY(lmr_sample_noise(n->job, n->frames, n->count, p.like, n->deviation,
                                 LMR_NOISE_SEED + (uint64_t)(i + 1) * (uint64_t)n->count, &e));
        LMR_TRY(larmor_zero(p.x));
        LMR_TRY(larmor_cg(p.A, e, p.x, &opts, NULL));
        LMR_TRY(lmr_noise_each_image(n, n->frames, p.x, add_square, &each));
    }
    for (int i = 0; i < n->images; i++)
        for (int64_t v = 0; v < n->voxels[i]; v++) deviation[i][v] = sqrt(deviation[i][v] / (2. * samples));
    return LARMOR_OK;
}
