/* The weight of a penalty from the data: solutions from the samples that are kept, at one weight after the other, are
 * compared with the samples that are held out. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "core/ranks/ranks.h"
#include "recon/bytes.h"
#include "recon/choose/choose.h"
#include "recon/solve/solve.h"

#define MIN_DENSITY                                                                                                  \
    0.03                /* over the mean eigenvalue of A^H A: frequencies of less density are left out of the noise */
#define MIN_WEIGHT 1e-4 /* the smallest weight, relative to the mean eigenvalue of A^H A */
/* The same relative to the largest one, in single precision, whose rounding is 2e-8 / weight of the image. Without
 * noise golden spokes on 64^2 had errors of 1.8e-3, 6.0e-4, 5.5e-4, 1.6e-3 by weights of 1e-5, 3e-5, 1e-4, 3e-4. */
#define MIN_SINGLE_WEIGHT 3e-5
/* Lower bound of the search, relative to the weight predicted from the noise: on 30 scenes
 * (docs/records/choosing.md, "The criterion"). The steps and ends of the search below are measured with it, not
 * alone. */
#define MIN_WEIGHT_OVER_EXPECTED 0.65
#define SEARCH_START_OVER_EXPECTED 4. /* of the first weight but one step, over that predicted from the noise */
#define SEARCH_START_OVER_FLOOR 9.    /* the same, over the weight of the rough image, where gaps decide */
#define REL_ROUNDING 1e-6             /* relative difference of weights that are equal */
#define START_WEIGHT 1e-2       /* first weight without a prediction, relative to the mean eigenvalue of A^H A */
#define STEP_FACTOR 3.          /* from one weight to the next */
#define MAX_STEP_FACTOR 9.      /* the same while the misfit falls */
#define MAX_NEIGHBOUR_FACTOR 4. /* between the best weight and its neighbours */
#define CHOSEN_OVER_LOWEST 1.8 /* the weight that is taken over that of the least misfit (docs/records/choosing.md) */
/* Of the square of the samples held out: misfits that differ by less are alike. They do not decide then which
 * image is better, and the larger weight has the smoother one where there are none, such as the corners of
 * k-space. */
#define MIN_MISFIT_DIFFERENCE 1e-5
/* Of the square of the samples held out: while a step lowers their misfit by more, a smaller weight is tried than
 * the one that the noise is taken to ask for. Of 16 scans (14 and 26 spokes in 3D, 5 in 2D; noise .1 to 1 of the
 * mean sample) 8 came nearer to the truth, up to 1.5 times, and two farther, 1.4 and 1.01 times. */
#define STEEP_MISFIT_FALL 0.02
#define WEIGHT_OVER_FLAT_PRIOR 5. /* over a Gaussian prior's with a flat spectrum: images are weaker at the rim */
#define NOISE_ADDED_FRACTION 0.5  /* of a noise sample that is added to b where no samples are held out */
/* Noise between b with added noise and the data that it is compared with, in noise samples. */
#define NOISE_BETWEEN (NOISE_ADDED_FRACTION + 1 / NOISE_ADDED_FRACTION)
/* Of the solutions that are compared, relative to the noise in an image. With .05 and .1 errors of 36 scenes were up
 * to 1.13 and 1.27 times as large (docs/records/performance.md, "One image on the processor"). */
#define TRIAL_ERROR_OVER_NOISE 0.02
#define TRIAL_ERROR_OVER_IMAGE 2e-4 /* the same relative to the image: the larger one ends a trial */

/* Standard error of the intensity, over the signal in the samples that images are compared with, above which the
 * intensity is not measured. */
#define MAX_INTENSITY_ERROR 0.02

enum {
    TRIAL_ITERS = 60,  /* at one weight, at most; TRIAL_ERROR_OVER_NOISE ends it earlier */
    MOST_IN_SET = 300, /* steps of the split at one weight, where x is held to a set */
    LEAST_ITERS = 2,   /* the first step is near where samples are dense, not in the rest */
    ROUGH_ITERS = 4,   /* of the rough image: only its residual is used */
    MOST_TRIED = 14,   /* weights; MIN_WEIGHT is 5 steps of 3 below START_WEIGHT */
};

/* ---- one trial ---- */

int lmr_trial_watch(void *trial, const larmor_progress *progress)
{
    const lmr_trial *t = trial;
    larmor_progress uncounted = *progress;
    uncounted.max_iter = 0;
    uncounted.x = t->x;
    uncounted.state = NULL;
    return t->monitor ? t->monitor(t->user, &uncounted) : 0;
}

/* The same within a set. */
static larmor_status solve_in_set(lmr_trial *t, double weight)
{
    larmor_report report;
    const larmor_solve_opts o = {.max_iter = MOST_IN_SET,
                                 .lambda = weight,
                                 .circulant = t->c,
                                 .change = fmax(TRIAL_ERROR_OVER_NOISE * t->noise, TRIAL_ERROR_OVER_IMAGE * t->size),
                                 .monitor = lmr_trial_watch,
                                 .user = t};
    LMR_TRY(larmor_admm(t->kept, t->b, NULL, t->set, t->x, &o, &report));
    t->choice.iters += report.iters;
    t->there = report.end != LARMOR_END_ITERATIONS;
    return larmor_prox_apply(t->set, 1, t->x, t->x);
}

larmor_status lmr_trial_solve(lmr_trial *t, double weight)
{
    if (t->set) return solve_in_set(t, weight);
    larmor_report report;
    LMR_OWN(larmor_op, M, lmr_circulant_inverse_of(t->c, weight, 0, t->x->shape, &M));
    larmor_solve_opts o = {.max_iter = TRIAL_ITERS,
                           .tol = -1,
                           .lambda = weight,
                           .precondition = M,
                           .error = fmax(TRIAL_ERROR_OVER_NOISE * t->noise, TRIAL_ERROR_OVER_IMAGE * t->size),
                           .monitor = lmr_trial_watch,
                           .user = t};
    LMR_TRY(lmr_cg_normal(t->kept, t->rhs, t->square, t->x, &o, &report));
    t->choice.iters += report.iters;
    if (report.iters < LEAST_ITERS) {
        o.max_iter = LEAST_ITERS - report.iters;
        o.error = 0;
        LMR_TRY(lmr_cg_normal(t->kept, t->rhs, t->square, t->x, &o, &report));
        t->choice.iters += report.iters;
    }
    t->there = report.end != LARMOR_END_ITERATIONS || o.max_iter < TRIAL_ITERS;
    return LARMOR_OK;
}

/* What images are compared with: the samples held out, or all of them. */
static const larmor_array *compared(const lmr_trial *t)
{
    return t->held->part.A ? t->held->part.b : t->b;
}

/* Of the residual only what images are compared with. */
static larmor_status weight_held_out_residual(const lmr_trial *t)
{
    const larmor_array *f = t->held->factors;
    if (t->held->part.A) return larmor_sense_weigh(t->held->part.factors, t->residual);
    if (!f) return LARMOR_OK;
    return lmr_is_real(f->dtype) ? larmor_sense_weigh(f, t->residual) : larmor_mul(f, 0, t->residual);
}

/* Numbers that steps depend on are those of rank 0, where each rank has a part of the volume. */
static larmor_status broadcast_from_rank0(const lmr_trial *t, double *value)
{
    return lmr_ranks_lead(t->x->dev->whole, value);
}

/* The square of what the image differs by from the samples that are compared. */
static larmor_status find_misfit(lmr_trial *t, double *misfit)
{
    double norm;
    LMR_TRY(larmor_op_forward(t->held->part.A ? t->held->part.A : t->A, t->x, t->residual));
    LMR_TRY(larmor_axpby(-1, compared(t), 1, t->residual));
    if (t->disturbed) LMR_TRY(larmor_axpby(NOISE_BETWEEN, t->held->noise, 1, t->residual));
    if (!t->held->part.A) LMR_TRY(weight_held_out_residual(t));
    LMR_TRY(larmor_nrm2(t->residual, &norm));
    *misfit = norm * norm;
    return LARMOR_OK;
}

/* The projection of A x on the samples that it is compared with, relative to theirs without their noise, of which
 * x is independent. It follows find_misfit, whose residual it takes. */
static larmor_status find_intensity(lmr_trial *t, double weight)
{
    double product, of_noise;
    const double signal = t->compared_square - t->compared_noise;
    if (!(t->compared_noise > 0 && t->compared_error <= MAX_INTENSITY_ERROR * signal)) return LARMOR_OK;
    if (!t->held->part.A) LMR_TRY(weight_held_out_residual(t)); /* twice, as in both factors of a product */
    LMR_TRY(lmr_real_dot(compared(t), t->residual, &product));
    if (t->disturbed) {
        LMR_TRY(lmr_real_dot(t->held->noise, t->residual, &of_noise));
        product -= NOISE_BETWEEN * of_noise;
    }
    lmr_curve_add(&t->intensity, log(weight), (t->compared_square + product) / signal);
    return LARMOR_OK;
}

/* The parts of the misfit that find_misfit has left in the residual. */
static larmor_status find_parts(lmr_trial *t)
{
    const int64_t count = larmor_array_count(t->residual);
    LMR_OWN(larmor_array, line, larmor_array_reshape(t->residual, LARMOR_SHAPE(count), &line));
    for (int i = 0; i < LARMOR_CHOICE_PARTS; i++) {
        const int64_t first = count * i / LARMOR_CHOICE_PARTS, length = count * (i + 1) / LARMOR_CHOICE_PARTS - first;
        double norm;
        LMR_OWN(larmor_array, part, larmor_array_part(line, first, length, LARMOR_SHAPE(length), &part));
        LMR_TRY(larmor_nrm2(part, &norm));
        t->choice.parts[i] = t->held_square > 0 ? norm * norm / t->held_square : 0;
    }
    return LARMOR_OK;
}

larmor_status lmr_trial_judge(lmr_trial *t, double weight)
{
    double misfit;
    LMR_TRY(find_misfit(t, &misfit));
    if (t->curve.count == 0 || misfit < t->curve.value[lmr_curve_index(&t->curve)]) {
        LMR_TRY(find_parts(t));
        if (t->best) LMR_TRY(larmor_axpby(1, t->x, 0, t->best));
    }
    LMR_TRY(find_intensity(t, weight));
    t->choice.tried++;
    LMR_REFUSE(!lmr_curve_add(&t->curve, log(weight), misfit), LARMOR_ERR_NUMERIC,
               "choose: the misfit of the samples held out is %g at weight %g", misfit, weight);
    return LARMOR_OK;
}

double lmr_trial_largest(const lmr_trial *t)
{
    return exp(lmr_curve_within(&t->curve, t->disturbed ? 0 : MIN_MISFIT_DIFFERENCE * t->held_square));
}

/* ---- the weight from the noise ---- */

/* The deviation of the noise in A^H b, averaged over the cells of k-space as each makes the noise of an image. */
static larmor_status find_deviation(lmr_trial *t, double power)
{
    const larmor_circulant *c = t->c;
    const larmor_array *d = c->eigenvalues;
    double sum[2];
    LMR_OWN(larmor_array, factors, larmor_array_create(d->dev, d->dtype, d->shape, &factors));
    LMR_OWN(larmor_array, ones, larmor_array_create(d->dev, d->dtype, d->shape, &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(lmr_circulant_affine(c, 1, MIN_DENSITY * (c->mean > 0 ? c->mean : 1), factors));
    LMR_TRY(lmr_circulant_invert(c->mean > 0 ? c->mean : 1, factors));
    LMR_TRY(larmor_dot(ones, factors, sum));
    t->deviation = sum[0] > 0 ? sqrt(power * c->count / (c->square * sum[0])) : 0;
    return LARMOR_OK;
}

/* The image, nearly: a few steps, as M alone makes images of densely sampled centres several times too bright. */
static larmor_status rough_image(lmr_trial *t, larmor_op *M, double floor)
{
    const larmor_solve_opts o = {.max_iter = ROUGH_ITERS, .tol = 1e-3, .lambda = floor, .precondition = M};
    LMR_TRY(lmr_cg_normal(t->kept, t->rhs, t->square, t->x, &o, NULL));
    return larmor_nrm2(t->x, &t->size);
}

double lmr_trial_gaps(const lmr_trial *t, double times)
{
    return fmin(times * t->floor, t->excess * t->expected);
}

/* The square of the samples that images are compared with, the part of the noise in it, and how much that varies.
 * power: of the noise of a sample; t->residual holds the noise as it is compared. */
static larmor_status find_compared(lmr_trial *t, double power)
{
    double norm, count;
    t->compared_square = t->held_square;
    t->compared_noise = t->held_noise;
    if (t->disturbed) {
        LMR_TRY(lmr_count_all(t->residual, &count));
        LMR_TRY(larmor_axpby(1, t->b, -NOISE_BETWEEN, t->residual));
        LMR_TRY(larmor_nrm2(t->residual, &norm));
        t->compared_square = norm * norm;
        t->compared_noise = (1 + 1 / (NOISE_ADDED_FRACTION * NOISE_ADDED_FRACTION)) * t->held_noise;
    } else {
        LMR_TRY(weight_held_out_residual(t));
        LMR_TRY(larmor_nrm2(t->residual, &norm));
        count = norm > 0 ? pow(t->held_noise / norm, 2) / power : 0; /* of equal factors, how many there are */
    }
    t->compared_error = count > 0 ? t->compared_noise / sqrt(count) : INFINITY;
    return LARMOR_OK;
}

/* The noise's power over the image's is the best weight where the image's spectrum is flat. */
static larmor_status predict_from_noise(lmr_trial *t)
{
    const larmor_array *e = t->held->noise;
    const int series = t->c->image.ndim < t->x->shape.ndim;
    const double floor = MIN_DENSITY * (t->c->mean > 0 ? t->c->mean : 1) / t->c->square;
    const double images = series ? (double)t->x->shape.dim[t->x->shape.ndim - 1] : 1;
    double size = 0, count = 1, misfit;
    if (e) LMR_TRY(larmor_nrm2(e, &size));
    if (e) LMR_TRY(lmr_count_all(e, &count));
    const double power = size > 0 ? size * size / count : 0;
    if (size > 0) LMR_TRY(find_deviation(t, power));
    if (series && t->has_penalty) return LARMOR_OK; /* more is not needed */
    LMR_OWN(larmor_op, M, lmr_circulant_inverse_of(t->c, floor, 0, t->x->shape, &M));
    LMR_TRY(rough_image(t, M, floor));
    LMR_TRY(find_misfit(t, &misfit));
    if (!(size > 0)) return LARMOR_OK;
    LMR_TRY(larmor_copy(t->held->part.A ? t->held->part.noise : e, t->residual));
    if (!t->held->part.A) LMR_TRY(weight_held_out_residual(t));
    LMR_TRY(larmor_nrm2(t->residual, &size));
    t->held_noise = size * size;
    LMR_TRY(find_compared(t, power));
    if (!t->held->folded) LMR_TRY(larmor_op_adjoint(t->A, e, t->factors));
    LMR_TRY(larmor_op_forward(M, t->held->folded ? t->held->folded : t->factors, t->image));
    LMR_TRY(larmor_nrm2(t->image, &t->noise));
    const double image =
        fmax(t->size * t->size - t->noise * t->noise, 0.1 * t->noise * t->noise) / (t->c->support_voxels * images);
    t->expected = image > 0 ? WEIGHT_OVER_FLAT_PRIOR * power / image : 0;
    t->floor = floor;
    t->excess = t->held_noise > 0 && !t->disturbed ? misfit / t->held_noise : 1;
    LMR_TRY(broadcast_from_rank0(t, &t->expected));
    return broadcast_from_rank0(t, &t->excess);
}

/* Another measurement: b with half of the noise added has as little to do with b - 2 noise as two scans have. */
static larmor_status perturb_with_noise(lmr_trial *t, const larmor_array *b)
{
    LMR_TRY(larmor_array_create(b->dev, b->dtype, b->shape, &t->disturbed));
    LMR_TRY(larmor_axpby(1, b, 0, t->disturbed));
    t->b = t->disturbed;
    return larmor_axpby(NOISE_ADDED_FRACTION, t->held->noise, 1, t->disturbed);
}

/* x and A^H b; and what only the start from conjugate gradients takes, which a series with a penalty has not. */
enum { IMAGES = 2, IMAGES_TO_BEGIN = 2 };

larmor_status lmr_trial_create(larmor_op *A, const larmor_array *b, const larmor_held_out *held,
                               const larmor_circulant *c, lmr_trial *t)
{
    larmor_array **images[IMAGES] = {&t->x, &t->rhs}, **to_begin[IMAGES_TO_BEGIN] = {&t->image, &t->factors};
    const int is_series = c->image.ndim < larmor_op_in_shape(A).ndim;
    double norm;
    t->A = A;
    t->b = b;
    t->held = held;
    t->kept = held->A ? held->A : A;
    t->c = c;
    t->least = MIN_WEIGHT * (c->mean > 0 ? c->mean : 1) / c->square;
    if (b->dtype == LARMOR_C64) t->least = fmax(t->least, MIN_SINGLE_WEIGHT * c->largest / c->square);
    if (held->factors && !lmr_is_real(held->factors->dtype))
        LMR_TRY(lmr_expect("choose", "factors of the samples held out", held->factors, b->dev, b->dtype, b->shape));
    LMR_TRY(lmr_arrays_create(A, larmor_op_in_shape(A), IMAGES, images));
    if (!is_series || !t->has_penalty)
        LMR_TRY(lmr_arrays_create(A, larmor_op_in_shape(A), IMAGES_TO_BEGIN, to_begin));
    LMR_TRY(larmor_array_create(b->dev, b->dtype, compared(t)->shape, &t->residual));
    if (!held->A) LMR_TRY(perturb_with_noise(t, b));
    LMR_TRY(larmor_nrm2(t->b, &norm));
    t->square = norm * norm;
    LMR_TRY(larmor_copy(compared(t), t->residual));
    if (!t->held->part.A) LMR_TRY(weight_held_out_residual(t));
    LMR_TRY(larmor_nrm2(t->residual, &norm));
    t->held_square = norm * norm;
    LMR_TRY(larmor_op_adjoint(t->kept, t->b, t->rhs));
    LMR_TRY(larmor_nrm2(t->rhs, &norm));
    LMR_REFUSE(!isfinite(norm) || !isfinite(t->square), LARMOR_ERR_NUMERIC,
               "choose: |b|^2 is %g and |A^H b| is %g, expected finite numbers; look for NaN or Inf in the "
               "data and the maps",
               t->square, norm);
    return predict_from_noise(t);
}

void lmr_trial_free(lmr_trial *t)
{
    LMR_FREE(t->x, t->rhs, t->image, t->factors, t->residual, t->disturbed);
}

/* ---- the search ---- */

/* What is not a solution is better than that, where the weight is too small for the noise: it is not judged. */
static larmor_status try_weight(lmr_trial *t, double weight)
{
    LMR_TRY(broadcast_from_rank0(t, &weight));
    LMR_TRY(lmr_trial_solve(t, weight));
    return t->there || weight >= SEARCH_START_OVER_EXPECTED * (1 - REL_ROUNDING) * t->expected
               ? lmr_trial_judge(t, weight)
               : LARMOR_OK;
}

/* True as well where nothing has been judged. */
static int best_is_largest(const lmr_trial *t)
{
    return t->curve.count == 0 || lmr_curve_index(&t->curve) == t->curve.count - 1;
}

/* Halfway to a neighbour of the best that is far from it; 0 if both are near. */
static double between(const lmr_curve *c)
{
    const int i = lmr_curve_index(c);
    const double apart = log(MAX_NEIGHBOUR_FACTOR);
    if (i + 1 < c->count && c->at[i + 1] - c->at[i] > apart) return exp(0.5 * (c->at[i] + c->at[i + 1]));
    if (i > 0 && c->at[i] - c->at[i - 1] > apart) return exp(0.5 * (c->at[i] + c->at[i - 1]));
    return 0;
}

/* The smallest weight that is tried. There is no more noise than the samples held out differ from the best image. */
static double least_weight(const lmr_trial *t)
{
    const double misfit = t->curve.count > 0 ? t->curve.value[lmr_curve_index(&t->curve)] : INFINITY;
    const double excess = misfit < t->held_noise ? misfit / t->held_noise : 1;
    if (t->disturbed) return t->least;
    return fmax(MIN_WEIGHT_OVER_EXPECTED * excess * t->expected, t->least);
}

/* True if the last step down lowered the misfit so much that it is the signal which asks for a smaller weight. */
static int falls_steeply(const lmr_trial *t)
{
    const lmr_curve *c = &t->curve;
    return c->count > 1 && lmr_curve_index(c) == 0 && c->value[1] - c->value[0] > STEEP_MISFIT_FALL * t->held_square;
}

/* Up while the misfit falls, or where no trial has come near to its solution. */
static larmor_status ascend(lmr_trial *t, double first)
{
    double weight = first;
    double step = STEP_FACTOR;
    for (int i = 0; best_is_largest(t) && i < MOST_TRIED; i++) {
        weight *= step;
        LMR_TRY(try_weight(t, weight));
        step = fmin(step * STEP_FACTOR, MAX_STEP_FACTOR);
    }
    return LARMOR_OK;
}

/* Down from the first weight until the misfit rises, or to the least weight. */
static larmor_status descend(lmr_trial *t, double first)
{
    for (double weight = first; lmr_curve_index(&t->curve) == 0 && t->choice.tried < MOST_TRIED;) {
        double least = falls_steeply(t) ? t->least : least_weight(t);
        LMR_TRY(broadcast_from_rank0(t, &least));
        if (weight <= least * (1 + REL_ROUNDING)) break;
        weight = fmax(weight / STEP_FACTOR, least);
        LMR_TRY(try_weight(t, weight));
        if (!t->there) break;
    }
    return LARMOR_OK;
}

static larmor_status fill_gaps(lmr_trial *t)
{
    while (t->choice.tried < MOST_TRIED) {
        double weight = between(&t->curve);
        LMR_TRY(broadcast_from_rank0(t, &weight));
        if (!(weight > 0)) break;
        LMR_TRY(try_weight(t, weight));
    }
    return LARMOR_OK;
}

/* Large weights first: their solutions take few steps, and a smaller one begins at that of a larger one. */
larmor_status lmr_choose_tikhonov(lmr_trial *t)
{
    const double known =
        STEP_FACTOR * fmax(SEARCH_START_OVER_EXPECTED * t->expected, lmr_trial_gaps(t, SEARCH_START_OVER_FLOOR));
    const double first = fmax(t->expected > 0 ? known : START_WEIGHT / MIN_WEIGHT * t->least, t->least);
    LMR_TRY(try_weight(t, first));
    LMR_TRY(descend(t, first));
    LMR_TRY(ascend(t, first));
    if (t->curve.count == 0) {
        t->choice.weight = first;
        return LARMOR_OK;
    }
    LMR_TRY(fill_gaps(t));
    if (t->disturbed)
        t->choice.weight = lmr_trial_largest(t) / LMR_DISTURBED;
    else
        t->choice.weight = fmax(CHOSEN_OVER_LOWEST * exp(lmr_curve_lowest(&t->curve)), lmr_trial_largest(t));
    return broadcast_from_rank0(t, &t->choice.weight);
}

larmor_status larmor_choose_memory(larmor_dtype dtype, larmor_shape x, larmor_shape kspace, int64_t *bytes)
{
    enum { DATA = 2, REAL = 3 }; /* the residual and the factors; the scan's weights, those kept, their factors */
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_REFUSE(kspace.ndim < 1, LARMOR_ERR_SHAPE, "choose: k-space needs at least one dimension");
    LMR_REFUSE(larmor_shape_count(x) < 0 || larmor_shape_count(kspace) < 0, LARMOR_ERR_SHAPE,
               "choose: image or k-space have no possible shape");
    const double samples = (double)larmor_shape_count(larmor_shape_of(kspace.ndim - 1, kspace.dim));
    return lmr_bytes_store((IMAGES + IMAGES_TO_BEGIN) * lmr_bytes_of(dtype, x) + DATA * lmr_bytes_of(dtype, kspace) +
                               8 * (x.ndim + REAL) * samples,
                           bytes);
}
