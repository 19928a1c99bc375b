/* Images from samples: which method, how its weight is found, and how well the image explains the samples.
 * SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/solve.h"

#include "check/check.h"
#include "core/core.h"
#include "pipeline/gridding.h"
#include "pipeline/method.h"
#include "pipeline/nlinv_frames.h"
#include "pipeline/partial.h"
#include "pipeline/prior.h"
#include "pipeline/problem.h"
#include "pipeline/solution.h"
#include "pipeline/weight.h"
#include "scan/cartesian.h"
#include "schedule/checkpoint.h"
#include "schedule/slab_sums.h"

/* The noise in the image of a fully sampled grid, relative to the image, up to which --method auto is one FFT.
 * No record has a measurement. */
#define MAX_LINEAR_NOISE 0.02
/* Samples over voxels: real echo-planar scans of one coil with 60 of 64 lines lose nothing, where held-out samples
 * had 51 to 79 % of the intensity. */
#define MIN_FULL_PART 0.8
/* Of an image's energy, beyond the box that is sampled: .05 at most in 33 scans whose object lies within the field of
 * view, .12 and .39 to 1.0 in those whose object does not and which had .38 and .6 to 1.0 of error. */
#define MAX_BEYOND 0.2
/* Of the energy of an image by tv, beyond the box, up to which it is one FFT where there is little noise: 1e-6 to
 * 1e-3 in smooth objects, of which the box has all, 1.6e-3 to .05 in others (docs/records/choosing.md, "Sixty
 * scenes"). */
#define MIN_BEYOND 1e-3
/* Of an image's energy, what is filled in beyond twice what lies opposite: 1e-5 at most in 16 scans of lines and of
 * stacks of stars, .0026 and .014 in two stacks of stars without noise whose image by tv had not settled. */
#define MAX_EXCESS 1e-3
#define MAX_ENLARGEMENT                                                                                              \
    1.01 /* of the encoded field of view, for a grid on which samples are 1/FOV apart; not measured */

/* The last iterate of a failed solver is the image, unless it is zero or not finite. */
static larmor_status accept_last_iterate(larmor_status st, const larmor_array *x, larmor_recon_report *result)
{
    double size;
    if (st != LARMOR_ERR_NUMERIC || result->solver.iters == 0) return st;
    if (larmor_nrm2(x, &size) || !isfinite(size) || size == 0) return st;
    result->is_suspect = 1;
    result->status = st;
    snprintf(result->message, sizeof result->message, "%s", larmor_last_error());
    return LARMOR_OK;
}

/* 1 if held-out samples cannot be predicted: single-coil samples on a grid are orthogonal, and what was not sampled
 * is zero whatever the weight, which scales the image. */
static int predicts_nothing(const lmr_job *job, const lmr_frame *frames, int count)
{
    int nothing =
        job->facts->coils == 1 && !job->settings->opts.weighted && !job->facts->physics && !job->facts->basis;
    for (int i = 0; i < count; i++) nothing &= frames[i].cartesian.on_grid && !frames[i].has_phase;
    return nothing;
}

/* The part of the grid's k-space that a box of samples fills; 0 where they are none. */
static double box_part(const lmr_frame *frame)
{
    const lmr_cartesian *c = &frame->cartesian;
    double places = c->on_grid && c->box;
    for (int d = 0; d < frame->grid.ndim; d++) places *= (double)(c->high[d] - c->low[d] + 1);
    return places / (double)larmor_shape_count(lmr_grid_shape(&frame->grid));
}

/* 1 if the samples determine every image: all of a grid, equally often. Without the held-out samples another problem
 * would be solved, because held-out samples could not be predicted from their neighbours. With several coils a
 * penalty goes on beyond what is sampled, where noise is not all that errs: there the box is most of the grid. */
static int determines(const lmr_job *job, const lmr_frame *frames, int count, const larmor_coverage *coverage)
{
    const double least = job->facts->coils > 1 ? MIN_FULL_PART : 0;
    int all = !job->facts->basis && !lmr_is_partial(coverage);
    for (int i = 0; i < count; i++) all &= box_part(&frames[i]) > 0 && box_part(&frames[i]) >= least;
    return all;
}

/* 1 if images are better by the noise as it is than by the level from differences, which has some of the object:
 * of all of a grid, and of one coil's lines that leave others out. What lies beyond a box of fewer lines is filled in
 * too slowly at the smaller weights, and a search by samples held out begins at too small ones. */
static int noise_is_known(const lmr_job *job, const lmr_frame *frames, int count, const larmor_coverage *coverage)
{
    const double part = box_part(frames);
    if (determines(job, frames, count, coverage)) return part >= 1;
    return part == 0 && predicts_nothing(job, frames, count);
}

/* The report's noise becomes that of lines where differences have left signal in it; images that share a weight share
 * that of lines, too. */
static larmor_status lower_to_lines(lmr_job *job, const lmr_solution *p, larmor_recon_report *result)
{
    lmr_weight *chosen = &job->found.decided.chosen;
    const int kept = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN;
    double level = kept && chosen->scale > 0 ? chosen->of_lines * job->found.scale / chosen->scale : 0;
    if (job->facts->coils == 1 || noise_is_known(job, p->frames, p->count, &result->coverage)) return LARMOR_OK;
    if (!kept && !p->frames->weights) LMR_TRY(lmr_noise_of_lines(job, p->frames, &level));
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && lmr_weight_is_base(job, result)) chosen->of_lines = level;
    if (lmr_lines_have_less(job, level, result->noise)) lmr_misfit_set_noise(level, result);
    return LARMOR_OK;
}

/* The image is there: without memory the misfit is not measured. Ranks go on or fail alike. */
static larmor_status try_misfit(const lmr_job *job, larmor_status st)
{
    return st == LARMOR_ERR_MEMORY && !job->facts->slabs ? LARMOR_OK : st;
}

/* What the samples are that the image leaves. What the phase of the centre leaves in partial k-space is no motion. */
static larmor_status look_for_causes(const lmr_job *job, const lmr_solution *p, const lmr_solved *solved,
                                     const larmor_recon_report *result)
{
    if (job->events->series <= 1) {
        LMR_TRY(lmr_band_sign_check(job, p->frames, &result->misfit));
        LMR_TRY(lmr_bands_check(job, p->frames, solved->x));
    }
    return lmr_is_partial(&result->coverage) ? LARMOR_OK : lmr_misfit_step_check(job, solved, &result->misfit);
}

/* How well the image explains its samples. The part of the noise that it takes up is that of an earlier image with
 * as many samples and the same weight. */
static larmor_status measure_misfit(lmr_job *job, lmr_solution *p, const larmor_array *x, larmor_recon_report *result)
{
    const int kept = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN && lmr_weight_holds(job, p->frames, p->count);
    const int chosen = result->lambda_from == LARMOR_LAMBDA_FROM_DATA;
    double taken = kept && lmr_weight_is_base(job, result) ? job->found.decided.chosen.taken : 0;
    if (job->events->trial || result->interrupted || job->found.follow.on) return LARMOR_OK;
    const lmr_solved solved = {.frames = p->frames,
                               .count = p->count,
                               .A = p->A,
                               .b = p->b,
                               .x = x,
                               .C = p->C,
                               .weight = job->found.method.kind == LMR_METHOD_CG ? result->weight : -1,
                               .deviation = result->noise,
                               .noise = p->noise,
                               .folded = p->folded};
    larmor_status st = lmr_misfit_measure(job, &solved, &taken, &result->misfit);
    if (st != LARMOR_STOPPED) {
        LMR_TRY(try_misfit(job, st));
        st = look_for_causes(job, p, &solved, result);
    }
    if (!st) {
        lmr_misfit_lower_noise(job, result);
        st = try_misfit(job, lower_to_lines(job, p, result));
    }
    if (st == LARMOR_STOPPED && !job->facts->slabs) { /* the image is there */
        result->interrupted = 1;
        return LARMOR_OK;
    }
    LMR_TRY(st);
    if ((chosen || kept) && lmr_weight_is_base(job, result)) job->found.decided.chosen.taken = taken;
    return LARMOR_OK;
}

static void report_segments(const lmr_frame *frame, larmor_recon_report *result)
{
    larmor_segments_info info;
    if (!frame->segments || larmor_segments_describe(frame->segments, &info)) return;
    result->segments = info.segments;
    result->terms = result->toeplitz ? info.terms : 0;
}

/* 1 if noise is added to samples in place of holding some out. Frames of a series predict each other's. */
static int compares_by_noise(const lmr_job *job, const lmr_frame *frames, int count, const larmor_coverage *coverage)
{
    if (determines(job, frames, count, coverage)) return 1;
    if (count > 1 || job->facts->coils == 1 || job->facts->basis || lmr_is_partial(coverage)) return 0;
    return lmr_is_aliased(job, frames, count);
}

/* 1 if one coil has about as many samples as voxels: none to spare, by which held-out ones could be predicted. */
static int is_one_coil_full(const lmr_job *job, const lmr_frame *frames, int count)
{
    const int64_t points = larmor_array_count(frames->samples.kspace);
    const int64_t voxels = larmor_shape_count(lmr_grid_shape(&frames->grid));
    return job->facts->coils == 1 && count == 1 && (double)points >= MIN_FULL_PART * (double)voxels;
}

/* The noise's level by what no image explains, of several coils: that measured from the samples has signal in it
 * where there is little noise. */
static larmor_status measure_noise(const lmr_job *job, const lmr_frame *frames, int count, lmr_solution *p,
                                   larmor_recon_report *result)
{
    LMR_HEAP larmor_array **none = calloc((size_t)count, sizeof *none);
    double factor = 1;
    if (!none) return LMR_NO_MEMORY();
    LMR_OWN(larmor_array, mixed, lmr_like_data(job, frames, none, count, p->b, LMR_ALTERNATING, 0, 0, &mixed));
    LMR_TRY(larmor_noise_left(p->A, p->b, p->noise, mixed, &factor));
    LMR_TRY(larmor_axpby(factor, p->noise, 0, p->noise));
    result->noise *= factor;
    p->deviation = NAN; /* no other image's noise is this one's */
    return LARMOR_OK;
}

/* Series do without where their weight is that of a penalty. */
static larmor_status fold_for_choice(const lmr_job *job, lmr_solution *p)
{
    LMR_OWNED(larmor_array) *folded = NULL;
    if (p->count == 1) LMR_TRY(lmr_solution_folded(job, p, &folded));
    p->held.folded = p->folded;
    return LARMOR_OK;
}

/* The weight is chosen by samples held out, or of a grid and of what aliases on it by noise that is added. */
static larmor_status prepare_choice(lmr_job *job, const lmr_frame *frames, int count, lmr_solution *p,
                                    larmor_recon_report *result)
{
    LMR_TRY(lmr_enter(job->events, "choosing lambda"));
    if (!compares_by_noise(job, frames, count, &result->coverage)) {
        LMR_TRY(lmr_hold_out_frames(job, frames, count, p->C, p->b, &p->held));
        p->held.noise = p->noise;
        LMR_TRY(lmr_hold_part(job, frames, count, p->b, &p->held));
        return fold_for_choice(job, p);
    }
    if (!job->facts->whitening && job->facts->coils > 1) LMR_TRY(measure_noise(job, frames, count, p, result));
    p->held.noise = p->noise;
    return fold_for_choice(job, p);
}

/* Where methods are compared, the best one becomes the job's; where no image predicts anything, that is cg. */
static larmor_status choose_method(lmr_job *job, const lmr_frame *frames, int count, lmr_solution *p,
                                   larmor_recon_report *result)
{
    const larmor_solve_opts solve = lmr_solution_opts(p);
    if (lmr_method_is_open(job, result)) LMR_TRY(larmor_lambda_unit(p->A, p->b, &p->held.unit));
    lmr_searched compared = lmr_solution_searched(p, 1, &solve);
    compared.is_determined = compares_by_noise(job, frames, count, &result->coverage);
    if (!lmr_method_is_open(job, result)) return LARMOR_OK;
    LMR_TRY(lmr_enter(job->events, "choosing the method"));
    LMR_TRY(lmr_method_choose(job, &compared, result));
    p->is_searched = 1;
    if (job->found.method.kind == LMR_METHOD_CG) return LARMOR_OK;
    if (lmr_solution_predicts_none(job, &result->choice)) return LARMOR_OK; /* tv needs hardly any weight */
    if (!lmr_solution_is_unpredicted(p, &result->choice, p->held.unit)) return LARMOR_OK;
    lmr_method_is_linear(job, LARMOR_METHOD_FROM_FAILURE, result);
    p->is_searched = 0;
    return LARMOR_OK;
}

/* The weight of |x|^2 is chosen by all sets of maps: an inversion may share an object among them. That of a penalty
 * comes out too small so, down to a quarter, as images of series, which its search takes sets for, begin at zeros
 * (docs/records/maps.md, "Two sets of an inversion"). */
static int is_chosen_by_first_set(const lmr_job *job)
{
    return job->facts->automatic || job->found.method.kind != LMR_METHOD_CG;
}

/* The samples have the root of the weights that A has; noise is that before they were multiplied by it. */
static larmor_status iterate(lmr_job *job, const lmr_frame *frames, int count, double noise, larmor_array **x,
                             larmor_recon_report *result)
{
    lmr_solution p = {.job = job, .frames = frames, .count = count};
    larmor_status st;
    result->lambda_from = lmr_weight_origin(job, frames, count);
    const int had_none = job->facts->sets && is_chosen_by_first_set(job); /* the first set */
    if ((had_none || job->settings->opts.prior) && result->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        result->lambda_from = LARMOR_LAMBDA_FROM_NOISE; /* where a prior begins, too */
    const int compares = lmr_method_is_open(job, result) && determines(job, frames, count, &result->coverage);
    const int is_full = determines(job, frames, count, &result->coverage);
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && predicts_nothing(job, frames, count) &&
        (!is_full || job->found.method.kind == LMR_METHOD_CG) && !compares)
        lmr_method_of_unpredicted(job, result);
    result->noise = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN ? job->found.decided.chosen.noise : noise;
    LMR_OR(done, lmr_problem_circulant(job, frames, count, result->lambda_from,
                                       &p.C)); /* first, while there is memory for its creation */
    LMR_OR(done, lmr_problem_operator(job, frames, count, &p.A, &result->toeplitz));
    report_segments(&frames[0], result);
    LMR_OR(done, lmr_problem_data(job, frames, count, p.A, &p.b));
    LMR_OR(done, larmor_array_create(job->facts->dev, larmor_op_dtype(p.A), larmor_op_in_shape(p.A), x));
    p.x = *x;
    LMR_OR(done, lmr_problem_set(job, frames, 0, larmor_op_dtype(p.A), larmor_op_in_shape(p.A), &p.set));
    p.deviation = result->noise;
    const int kept = result->lambda_from == LARMOR_LAMBDA_FROM_SCAN;
    const int chosen = result->lambda_from == LARMOR_LAMBDA_FROM_DATA;
    if (job->facts->slabs || chosen || (kept && !lmr_weight_holds(job, frames, count)))
        LMR_OR(done, lmr_solution_noise(job, &p));
    if (kept) LMR_OR(done, lmr_weight_kept(job, frames, count, p.A, p.noise, result));
    if (chosen) LMR_OR(done, lmr_weight_bound(job, frames, count, p.A, p.noise, &p.bound));
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && !lmr_keep_unfinished(job))
        LMR_OR(done, prepare_choice(job, frames, count, &p, result));
    if (result->lambda_from == LARMOR_LAMBDA_FROM_DATA && !lmr_keep_unfinished(job))
        LMR_OR(done, choose_method(job, frames, count, &p, result));
    st = lmr_solution_iterate(job, &p, result);
    if (!st && job->settings->opts.prior) st = lmr_prior_solve(job, &p, result);
    /* neighbours on the grid, or of one coil about as dense, predict held-out samples in part; the image has all */
    if ((p.held.A && is_one_coil_full(job, frames, count)) || (frames->cartesian.on_grid && !is_full))
        result->choice.intensity = 0;
    result->preconditioned = p.C && job->facts->precondition >= 0;
    if (!st && chosen && p.bound.is_most && result->lambda_from != LARMOR_LAMBDA_NONE)
        lmr_weight_keep_part(job, frames, &p.bound, result->weight);
    else if (!st && result->lambda_from == LARMOR_LAMBDA_FROM_DATA)
        st = lmr_weight_keep(job, frames, count, p.A, p.noise, result);
    if (st == LARMOR_STOPPED && result->solver.iters > 0 && !lmr_slabs_failed(job)) {
        result->interrupted = 1;
        st = LARMOR_OK;
    }
    if (!job->settings->opts.prior) st = accept_last_iterate(st, *x, result);
    lmr_held_out_free(&p.held); /* before more memory is taken */
    if (!st) st = measure_misfit(job, &p, *x, result);
done:
    lmr_held_out_free(&p.held);
    larmor_array_free(p.folded);
    larmor_prox_free(p.set);
    larmor_circulant_free(p.C);
    LMR_FREE(p.noise, p.b, p.A);
    return st;
}

/* The weight, and what is chosen with it, from images of which the job's are more: `one` is the job with other facts.
 * The image of the run after the choice is not kept. */
static larmor_status choose_by_others(lmr_job *job, lmr_job *one, const lmr_frame *frames, int count, double noise,
                                      larmor_recon_report *result)
{
    lmr_settings settings = *job->settings;
    larmor_recon_report first = *result;
    larmor_array *x = NULL;
    settings.opts.iters = 1;
    settings.opts.tol = 0;
    one->settings = &settings;
    one->checkpoint = NULL;
    job->events->trial = 1;
    const larmor_status st = iterate(one, frames, count, noise, &x, &first);
    job->events->trial = 0;
    larmor_array_free(x);
    LMR_TRY(st);
    LMR_REFUSE(first.interrupted, LARMOR_STOPPED, "stopped by the caller while lambda was chosen");
    job->found.decided.chosen = one->found.decided.chosen;
    result->method = first.method;
    lmr_method_take(job, first.method.name);
    return LARMOR_OK;
}

/* By the first set of maps, which covers nearly all of the object; its frequencies have the circulant that the choice
 * needs. Images with other numbers of samples choose for themselves. */
static larmor_status choose_by_first_set(lmr_job *job, const lmr_frame *frame, double noise,
                                         larmor_recon_report *result)
{
    lmr_scan_facts facts = *job->facts;
    lmr_job one = *job;
    facts.sets = 0;
    facts.precondition = 0;
    one.facts = &facts;
    LMR_TRY(lmr_one_of(job->found.maps.array, 0, &one.found.maps.array));
    const larmor_status st = choose_by_others(job, &one, frame, 1, noise, result);
    larmor_array_free(one.found.maps.array);
    job->found.decided.chosen.unit = 0;
    return st;
}

/* Of bins along two dimensions, how many along the second one predict as all do: half of them
 * (docs/records/gating.md, "The weight from half of the bins"); 0: all are needed. */
static int bins_of_choice(const lmr_job *job, const lmr_frame *frames, int count)
{
    enum { LEAST_BINS = 4 };
    const int *bins = job->facts->info.bins;
    const int may = job->settings->joint && !job->settings->is_split && !job->facts->slabs && !job->facts->sets &&
                    !job->facts->basis && !lmr_solves_coils(job) && job->settings->opts.tol == 0;
    if (!may || bins[1] < LEAST_BINS || count != bins[0] * bins[1]) return 0;
    return lmr_weight_origin(job, frames, count) == LARMOR_LAMBDA_FROM_DATA ? bins[1] / 2 : 0;
}

/* By the bins in the middle along the second dimension. The functional is a sum over bins, so that its weight is that
 * of all of them. */
static larmor_status choose_by_bins(lmr_job *job, const lmr_frame *frames, int count, int taken, double noise,
                                    larmor_recon_report *result)
{
    lmr_scan_facts facts = *job->facts;
    lmr_job one = *job;
    const int *bins = job->facts->info.bins;
    facts.info.bins[1] = taken;
    one.facts = &facts;
    lmr_log(job->events, "lambda: searched in %d of %d bins, those in the middle along the second dimension",
            bins[0] * taken, count);
    LMR_TRY(choose_by_others(job, &one, frames + bins[0] * ((bins[1] - taken) / 2), bins[0] * taken, noise, result));
    lmr_weight_extend(job, frames, count);
    return LARMOR_OK;
}

/* 1 if the noise of an earlier image is this one's: both share the weight, and a phase is not judged by it. */
static int shares_noise(const lmr_job *job, const lmr_frame *frames, int count, const larmor_coverage *coverage)
{
    if (job->facts->slabs || lmr_is_partial(coverage)) return 0;
    return lmr_weight_origin(job, frames, count) == LARMOR_LAMBDA_FROM_SCAN;
}

/* Gridding multiplies the samples by their weights. A root sum of squares is no image of a model. */
static larmor_status grid(lmr_job *job, lmr_frame *frame, larmor_array **x, larmor_recon_report *result)
{
    double noise = 0;
    if (!job->settings->opts.no_maps) LMR_TRY(lmr_noise_or_of_lines(job, frame, &noise));
    result->noise = noise;
    LMR_TRY(lmr_grid_frame(job, frame, x));
    return job->settings->opts.no_maps ? LARMOR_OK
                                       : try_misfit(job, lmr_misfit_of_image(job, frame, *x, noise, &result->misfit));
}

/* 1 if the noise in the image of all of a grid is so little, relative to the image, that no penalty is worth its
 * assumptions. The level from differences along readouts is too large rather than too small, and so is what the
 * image leaves of the samples of several coils. */
static larmor_status has_little_noise(const lmr_job *job, const lmr_frame *frame, double deviation,
                                      const larmor_misfit *misfit, int *little)
{
    const double coils = job->facts->coils, count = (double)larmor_array_count(frame->samples.kspace);
    double norm;
    LMR_TRY(larmor_nrm2(frame->samples.kspace, &norm));
    double noise = 2 * deviation * deviation * count;
    if (misfit->measured && coils > 1 && !job->facts->whitening)
        noise = fmin(noise, pow(misfit->relative * norm, 2) * coils / (coils - 1));
    *little = noise / coils <= MAX_LINEAR_NOISE * MAX_LINEAR_NOISE * (norm * norm - noise);
    return LARMOR_OK;
}

/* One FFT of each coil makes the image of all of a grid. */
static larmor_status transform(lmr_job *job, lmr_frame *frame, double noise, larmor_array **x,
                               larmor_recon_report *result)
{
    LMR_TRY(lmr_cartesian_solve(job, frame, x));
    LMR_TRY(try_misfit(job, lmr_misfit_of_image(job, frame, *x, noise, &result->misfit)));
    result->direct = 1;
    if (lmr_is_partial(&result->coverage)) result->partial_fourier = LARMOR_PARTIAL_ZERO;
    if (lmr_is_partial(&result->coverage)) result->misfit.fitted = 0; /* coils mix what is there with what is not */
    result->lambda_from = LARMOR_LAMBDA_NONE;
    result->noise = noise;
    return LARMOR_OK;
}

/* Where the method is still open the image is made to see how much noise it has. *x stays NULL where that is not
 * little, and where the samples are those of a smaller box: what lies beyond it a penalty fills in. */
static larmor_status solve_directly(lmr_job *job, lmr_frame *frame, double noise, int *little, larmor_array **x,
                                    larmor_recon_report *result)
{
    const int open = lmr_method_is_open(job, result);
    const larmor_recon_report before = *result;
    *little = 0;
    if (open && lmr_is_partial(&result->coverage)) return LARMOR_OK;
    LMR_TRY(transform(job, frame, noise, x, result));
    if (!open) return LARMOR_OK;
    LMR_TRY(has_little_noise(job, frame, noise, &result->misfit, little));
    if (*little && determines(job, frame, 1, &result->coverage)) {
        lmr_method_is_fft(job, frame, result);
        return LARMOR_OK;
    }
    LMR_CLEAR(*x);
    *result = before;
    return LARMOR_OK;
}

/* The part of the energy of an image of several coils that lies beyond the box of k-space that is sampled. */
static larmor_status find_beyond(const lmr_job *job, const lmr_frame *frame, const larmor_array *x, double *beyond)
{
    const lmr_cartesian *c = &frame->cartesian;
    larmor_shape box = larmor_array_shape(x);
    double all, within;
    *beyond = 0;
    if (job->facts->coils == 1 || box_part(frame) == 1) return LARMOR_OK;
    for (int d = 0; d < box.ndim; d++) box.dim[d] = c->high[d] - c->low[d] + 1;
    LMR_OWN(larmor_array, sampled, larmor_resize_band(x, box, &sampled));
    LMR_TRY(larmor_nrm2(x, &all));
    LMR_TRY(larmor_nrm2(sampled, &within));
    const double larger = (double)larmor_array_count(x) / (double)larmor_shape_count(box);
    if (all > 0) *beyond = fmax(0, 1 - larger * within * within / (all * all));
    return LARMOR_OK;
}

/* Where the coils do not explain the samples, as of an object that is folded, an image that is fitted to them goes on
 * beyond what is sampled with more than any object has there: *x becomes that of one FFT. So it does where there is
 * little noise and next to nothing beyond, or samples that contradict the maps keep the image from settling. */
static larmor_status stay_within(lmr_job *job, lmr_frame *frame, double noise, int little,
                                 const larmor_recon_report *before, larmor_array **x, larmor_recon_report *result)
{
    double beyond;
    LMR_TRY(find_beyond(job, frame, *x, &beyond));
    const int is_folded = beyond > MAX_BEYOND;
    const int is_linear = little && (beyond <= MIN_BEYOND || result->solver.end == LARMOR_END_ITERATIONS);
    if ((!is_folded && !is_linear) || result->interrupted) return LARMOR_OK;
    LMR_CLEAR(*x);
    *result = *before;
    if (is_folded)
        lmr_method_is_linear(job, LARMOR_METHOD_FROM_MODEL, result);
    else
        lmr_method_is_fft(job, frame, result);
    return transform(job, frame, noise, x, result);
}

/* Of one image on a grid, of all its sets of maps together. Where the grid is larger than what was encoded,
 * samples are farther apart than at 1/FOV of it, and copies of the object meet its edges. So do those of lines
 * that are farther apart, of one coil or with maps that alias. */
static larmor_status look_for_fold(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *x,
                                   larmor_recon_report *result)
{
    const larmor_grid *grid = &frames->grid;
    if (count > 1 || !frames->cartesian.on_grid || job->facts->slabs || job->facts->basis) return LARMOR_OK;
    int64_t step[3] = {1, 1, 1};
    result->folded = 0;
    if (job->facts->coils == 1 || job->found.maps.report.warning == LARMOR_MAPS_UNDERSAMPLED)
        LMR_TRY(lmr_fold_steps(frames->samples.traj, step));
    for (int d = 0; d < grid->ndim; d++)
        if (step[d] <= 1 && grid->fov_mm[d] < MAX_ENLARGEMENT * frames->encoding.fov_mm[d]) result->folded |= 1 << d;
    LMR_OWN(larmor_array, seen, larmor_array_convert(x, LARMOR_C64, &seen));
    if (!job->settings->opts.no_maps && !lmr_solves_coils(job))
        LMR_TRY(lmr_each_set(job, seen, larmor_clear_unseen)); /* a penalty goes on where no coil sees anything */
    return lmr_fold_find(seen, grid->ndim, &result->folded);
}

/* With what is missing of partial k-space filled in, where it can be. */
static larmor_status solve_filled(lmr_job *job, lmr_frame *frames, int count, double noise, larmor_array **x,
                                  larmor_recon_report *result)
{
    lmr_job finer;
    larmor_status st = lmr_partial_begin(job, frames, count, noise, &finer, result);
    if (!st && lmr_method_is_open(job, result) && result->partial_fourier == LARMOR_PARTIAL_POCS)
        lmr_method_is_linear(&finer, LARMOR_METHOD_FROM_OPTIONS, result);
    if (!st) st = iterate(&finer, frames, count, noise, x, result);
    if (!st) st = lmr_partial_end(job, &finer, frames, count, x, result);
    lmr_partial_close(job, &finer);
    return st;
}

/* What is missing of partial k-space has about as much of an object as what lies opposite: an image by a penalty that
 * has far more there is far from its solution, or fits what is no image, and becomes that of cg. begun: the job and
 * the report before it. */
static larmor_status stay_opposite(lmr_job *job, lmr_frame *frame, double noise, const lmr_job *begun,
                                   const larmor_recon_report *before, larmor_array **x, larmor_recon_report *result)
{
    double excess;
    if (job->found.method.kind == LMR_METHOD_CG || result->interrupted || job->facts->slabs) return LARMOR_OK;
    LMR_TRY(lmr_partial_excess(*x, &result->coverage, &excess));
    if (excess <= MAX_EXCESS) return LARMOR_OK;
    LMR_FREE(*x, frame->phase);
    *x = frame->phase = NULL;
    frame->has_phase = 0;
    *result = *before;
    job->found.decided.chosen = begun->found.decided.chosen;
    job->checkpoint = NULL; /* which has the image that was left */
    lmr_method_is_linear(job, LARMOR_METHOD_FROM_MODEL, result);
    const larmor_status st = solve_filled(job, frame, 1, noise, x, result);
    job->checkpoint = begun->checkpoint;
    return st;
}

static larmor_status solve_frames(lmr_job *job, lmr_frame *frames, int count, larmor_array **x,
                                  larmor_recon_report *result)
{
    const lmr_unfinished *before = lmr_keep_unfinished(job);
    double noise = 0;
    int little = 0;
    *x = NULL;
    lmr_method_begin(job, result);
    const int is_fft = count == 1 && !before && lmr_method_is_known_fft(job, frames, &result->coverage);
    if (is_fft) lmr_method_is_linear(job, LARMOR_METHOD_FROM_LINEARITY, result);
    if (job->facts->automatic && before) {
        result->method = before->report.method;
        lmr_method_take(job, result->method.name);
    }
    if (job->found.method.kind == LMR_METHOD_GRID) return grid(job, frames, x, result);
    if (job->found.method.kind == LMR_METHOD_NLINV) return lmr_nlinv_frames(job, frames, count, x, result);
    const int direct = count == 1 && lmr_cartesian_is_direct(job, frames, &result->coverage);
    const int known = noise_is_known(job, frames, count, &result->coverage);
    if (direct || !shares_noise(job, frames, count, &result->coverage))
        LMR_TRY(known ? lmr_noise_or_of_lines(job, &frames[0], &noise) : lmr_noise_level(job, &frames[0], &noise));
    if (direct) LMR_TRY(solve_directly(job, frames, noise, &little, x, result));
    if (*x) return LARMOR_OK;
    const int is_open = lmr_method_is_open(job, result), may_be_linear = direct && is_open;
    const larmor_recon_report before_it = *result;
    for (int i = 0; i < count; i++) LMR_TRY(larmor_sense_weigh(frames[i].weights, frames[i].samples.kspace));
    job->found.weight_conditions = lmr_weight_conditions_of(job, frames, count);
    const int by_first_set = job->facts->sets && is_chosen_by_first_set(job) &&
                             lmr_weight_origin(job, frames, count) == LARMOR_LAMBDA_FROM_DATA;
    const int by_bins = bins_of_choice(job, frames, count);
    if ((by_first_set || by_bins) && before)
        job->found.decided.chosen = before->chosen;
    else if (by_first_set)
        LMR_TRY(choose_by_first_set(job, frames, noise, result));
    else if (by_bins)
        LMR_TRY(choose_by_bins(job, frames, count, by_bins, noise, result));
    const lmr_job begun = *job;
    LMR_TRY(solve_filled(job, frames, count, noise, x, result));
    if (is_open && count == 1 && lmr_is_partial(&result->coverage))
        LMR_TRY(stay_opposite(job, frames, noise, &begun, &before_it, x, result));
    if ((by_first_set || by_bins) && result->lambda_from == LARMOR_LAMBDA_FROM_SCAN)
        result->lambda_from = LARMOR_LAMBDA_FROM_DATA;
    return may_be_linear ? stay_within(job, frames, noise, little, &before_it, x, result) : LARMOR_OK;
}

larmor_status lmr_solve_frames(lmr_job *job, lmr_frame *frames, int count, larmor_array **x,
                               larmor_recon_report *result)
{
    LMR_TRY(solve_frames(job, frames, count, x, result));
    if (job->found.follow.on) {
        larmor_array_free(job->found.follow.image);
        job->found.follow.image = larmor_array_ref(*x);
        job->found.follow.largest = result->largest;
    }
    LMR_TRY(lmr_energy_beyond(*x, &frames->grid, job->facts->given_edge, &result->beyond_maps));
    return look_for_fold(job, frames, count, *x, result);
}
