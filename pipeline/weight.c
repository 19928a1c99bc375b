/* Where the weight of the penalty comes from, and how a scan's images share it. SPDX-License-Identifier: Apache-2.0
 * */
#include "pipeline/weight.h"

#include "core/core.h"
#include "core/ranks/ranks.h"
#include "pipeline/problem.h"
#include "pipeline/subspace.h"
#include "scan/cartesian.h"

LMR_OWNS(larmor_regulariser, larmor_regulariser_free)

#define MAX_DATA_RATIO 1.5 /* times the data of another image: a weight that was chosen from it still holds */
/* The same of the size of another slice's samples (docs/records/choosing.md, "Slices and echoes"). */
#define MAX_SIZE_RATIO 1.5

/* ---- the noise that weights are found by ---- */

larmor_status lmr_noise_or_of_lines(const lmr_job *job, const lmr_frame *frame, double *deviation)
{
    double of_lines;
    LMR_TRY(lmr_noise_level(job, frame, deviation));
    LMR_TRY(lmr_noise_of_lines(job, frame, &of_lines));
    if (lmr_lines_have_less(job, of_lines, *deviation)) *deviation = of_lines;
    return LARMOR_OK;
}

/* ---- the weight of an earlier image ---- */

/* Of a volume in slabs those of all ranks, which know them alike. */
static double data_of(const lmr_job *job, const lmr_frame *frames, int count)
{
    double data = 0;
    for (int i = 0; i < count && !job->facts->slabs; i++)
        data += (double)larmor_array_count(frames[i].samples.kspace);
    for (int i = 0; i < count && job->facts->slabs; i++) data += (double)frames[i].group.total * job->facts->coils;
    return data;
}

/* 1 if images of different contrasts are solved by themselves, each by one penalty. */
static int has_contrasts(const lmr_job *job, int count)
{
    return count == 1 && !job->facts->sets && !job->facts->basis && !job->settings->opts.prior &&
           !job->found.follow.on && !strchr(job->found.method.name, '+');
}

lmr_weight_conditions lmr_weight_conditions_of(const lmr_job *job, const lmr_frame *frames, int count)
{
    const double data = data_of(job, frames, count);
    double square = 0;
    for (int i = 0; i < count && !job->facts->slabs && !job->found.follow.on; i++)
        square += frames[i].size * frames[i].size;
    return (lmr_weight_conditions){.known = 1,
                                   .data = data,
                                   .scale = job->found.scale,
                                   .encoding = frames[0].group.encoding,
                                   .slice = frames[0].group.slice,
                                   .contrast = has_contrasts(job, count) ? frames[0].group.contrast : -1,
                                   .size = sqrt(square / data)};
}

static int are_near(double a, double b, double most)
{
    return a < most * b && b < most * a;
}

/* 1 if the weight was chosen from images like these, whatever their contrast. */
static int is_alike(const lmr_weight *known, const lmr_weight_conditions *now)
{
    const int is_data_alike =
        now->data == known->data || (known->unit > 0 && are_near(now->data, known->data, MAX_DATA_RATIO));
    const int is_size_alike = now->slice == known->slice || !(now->size > 0 && known->size > 0) ||
                              now->contrast != known->contrast || are_near(now->size, known->size, MAX_SIZE_RATIO);
    return known->weight > 0 && known->scale == now->scale && known->encoding == now->encoding && is_data_alike &&
           is_size_alike;
}

/* Of the known weight, that images of this contrast take; 0: they have not been asked yet. */
static double part_of(const lmr_weight *known, int contrast)
{
    if (contrast < 0 || known->contrast < 0 || contrast == known->contrast || contrast >= LMR_CONTRASTS) return 1;
    return known->part[contrast];
}

static larmor_lambda_from origin_of(const lmr_job *job, const lmr_weight *known, const lmr_weight_conditions *now)
{
    if (job->settings->opts.lambda_mode != LARMOR_LAMBDA_AUTO) return LARMOR_LAMBDA_FROM_CALLER;
    if (!lmr_chooses(job)) return LARMOR_LAMBDA_FROM_NOISE;
    return is_alike(known, now) && part_of(known, now->contrast) > 0 ? LARMOR_LAMBDA_FROM_SCAN
                                                                     : LARMOR_LAMBDA_FROM_DATA;
}

larmor_lambda_from lmr_weight_origin(const lmr_job *job, const lmr_frame *frames, int count)
{
    const lmr_weight_conditions now = lmr_weight_conditions_of(job, frames, count);
    return origin_of(job, &job->found.decided.chosen, &now);
}

/* What a weight is proportional to where the noise or the number of samples differ: the power of the noise for |x|^2,
 * the deviation of the noise in A^H b for a penalty. */
static larmor_status weight_unit(const lmr_job *job, larmor_op *A, const larmor_array *noise, double *unit)
{
    double size = 0, all;
    if (job->found.method.kind == LMR_METHOD_CG) {
        LMR_TRY(larmor_nrm2(noise, &size));
        LMR_TRY(lmr_count_all(noise, &all));
        *unit = size * size / all;
        return LARMOR_OK;
    }
    LMR_OWN(larmor_array, x, larmor_array_create(larmor_op_device(A), larmor_op_dtype(A), larmor_op_in_shape(A), &x));
    LMR_TRY(larmor_op_adjoint(A, noise, x));
    LMR_TRY(larmor_nrm2(x, &size));
    *unit = size / sqrt((double)larmor_array_count(x));
    return LARMOR_OK;
}

larmor_status lmr_weight_keep(lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                              const larmor_array *noise, const larmor_recon_report *result)
{
    double unit;
    LMR_TRY(weight_unit(job, A, noise, &unit));
    const lmr_weight_conditions now = lmr_weight_conditions_of(job, frames, count);
    job->found.decided.chosen = (lmr_weight){.weight = result->weight,
                                             .noise = result->noise,
                                             .unit = unit,
                                             .data = now.data,
                                             .scale = now.scale,
                                             .largest = result->largest,
                                             .choice = result->choice,
                                             .encoding = now.encoding,
                                             .slice = now.slice,
                                             .contrast = now.contrast,
                                             .size = now.size,
                                             .method = job->found.decided.chosen.method,
                                             .linear = job->found.decided.chosen.linear};
    if (job->facts->automatic && !job->found.decided.chosen.method.name[0])
        job->found.decided.chosen.method = result->method;
    return LARMOR_OK;
}

void lmr_weight_extend(lmr_job *job, const lmr_frame *frames, int count)
{
    job->found.decided.chosen.data = data_of(job, frames, count);
}

int lmr_weight_holds(const lmr_job *job, const lmr_frame *frames, int count)
{
    return data_of(job, frames, count) == job->found.decided.chosen.data;
}

larmor_status lmr_weight_kept(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                              const larmor_array *noise, larmor_recon_report *result)
{
    const lmr_weight *known = &job->found.decided.chosen;
    double unit = known->unit;
    if (!lmr_weight_holds(job, frames, count))
        LMR_TRY(weight_unit(job, A, noise, &unit));
    else
        result->largest = known->largest;
    const int contrast = lmr_weight_conditions_of(job, frames, count).contrast;
    const double part = part_of(known, contrast);
    result->choice = known->choice;
    result->weight = known->weight * (part > 0 ? part : 1) * (unit == known->unit ? 1 : unit / known->unit);
    return LARMOR_OK;
}

larmor_status lmr_weight_bound(const lmr_job *job, const lmr_frame *frames, int count, larmor_op *A,
                               const larmor_array *noise, lmr_weight_bounds *bound)
{
    lmr_weight_conditions now = lmr_weight_conditions_of(job, frames, count);
    const lmr_weight *known = &job->found.decided.chosen;
    larmor_recon_report kept = {.weight = 0};
    *bound = (lmr_weight_bounds){.is_most = is_alike(known, &now)};
    now.slice = known->slice;
    if (!is_alike(known, &now)) return LARMOR_OK;
    LMR_TRY(lmr_weight_kept(job, frames, count, A, noise, &kept));
    bound->weight = kept.weight;
    return LARMOR_OK;
}

void lmr_weight_keep_part(lmr_job *job, const lmr_frame *frame, const lmr_weight_bounds *bound, double weight)
{
    const int contrast = lmr_weight_conditions_of(job, frame, 1).contrast;
    if (contrast >= 0 && contrast < LMR_CONTRASTS && bound->weight > 0)
        job->found.decided.chosen.part[contrast] = weight / bound->weight;
}

int lmr_weight_is_base(const lmr_job *job, const larmor_recon_report *result)
{
    return result->weight == job->found.decided.chosen.weight;
}

/* ---- weights that several devices chose ---- */

static int same_weight(const lmr_weight *a, const lmr_weight *b)
{
    return a->weight == b->weight && a->noise == b->noise && a->unit == b->unit && a->data == b->data &&
           a->scale == b->scale && a->largest == b->largest && a->encoding == b->encoding && a->linear == b->linear &&
           a->slice == b->slice && a->contrast == b->contrast && a->size == b->size &&
           !strcmp(a->method.name, b->method.name);
}

int lmr_weight_guess_holds(const lmr_job *job, const lmr_weight *known, const lmr_weight *guess,
                           const lmr_weight_conditions *now, larmor_lambda_from from)
{
    const larmor_lambda_from origin = origin_of(job, known, now);
    const int chosen = origin == LARMOR_LAMBDA_FROM_SCAN || origin == LARMOR_LAMBDA_FROM_DATA;
    if (origin != origin_of(job, guess, now) || is_alike(known, now) != is_alike(guess, now)) return 0;
    const int took_known = from == LARMOR_LAMBDA_FROM_SCAN || from == LARMOR_LAMBDA_UNPREDICTED;
    if (chosen && (is_alike(known, now) || took_known) && !same_weight(known, guess)) return 0;
    return origin != LARMOR_LAMBDA_FROM_SCAN || part_of(known, now->contrast) == part_of(guess, now->contrast);
}

void lmr_weight_take(const lmr_weight *before, const lmr_weight *after, lmr_weight *known)
{
    if (!same_weight(before, after)) {
        *known = *after;
        return;
    }
    for (int i = 0; i < LMR_CONTRASTS; i++)
        if (after->part[i] != before->part[i]) known->part[i] = after->part[i];
}

/* ---- samples that are held out ---- */

void lmr_held_out_free(larmor_held_out *held)
{
    LMR_FREE(held->A, held->factors);
    larmor_held_part_free(&held->part);
    *held = (larmor_held_out){.A = NULL};
}

/* frames: copies whose weights are replaced by those of the samples that are kept. */
static larmor_status hold_out_of(const lmr_job *job, lmr_frame *frames, larmor_array **factors, int count,
                                 const larmor_circulant *C, const larmor_array *b, larmor_held_out *held)
{
    larmor_array *all = NULL;
    int toeplitz;
    for (int i = 0; i < count; i++) {
        larmor_array *kept;
        frames[i].cached = NULL; /* their weights are others */
        LMR_TRY(larmor_hold_out(frames[i].samples.traj, frames[i].weights, C, LMR_NOISE_SEED + (uint64_t)i, &kept,
                                &factors[i]));
        frames[i].weights = kept;
    }
    if (job->facts->slabs || (count == 1 && !job->facts->basis && !frames->motion && !lmr_solves_coils(job)))
        all = larmor_array_ref(factors[0]); /* for every coil */
    else
        LMR_TRY(lmr_like_data(job, frames, factors, count, b, LMR_ONES, 0, 0, &all));
    held->factors = all;
    return lmr_problem_operator(job, frames, count, &held->A, &toeplitz);
}

larmor_status lmr_hold_out_frames(const lmr_job *job, const lmr_frame *frames, int count, const larmor_circulant *C,
                                  const larmor_array *b, larmor_held_out *held)
{
    LMR_HEAP lmr_frame *own = calloc((size_t)count, sizeof *own);
    LMR_HEAP larmor_array **factors = calloc((size_t)count, sizeof *factors);
    larmor_status st = own && factors ? LARMOR_OK : LMR_NO_MEMORY();
    if (!st) memcpy(own, frames, (size_t)count * sizeof *own);
    if (!st) st = hold_out_of(job, own, factors, count, C, b, held);
    for (int i = 0; own && factors && i < count; i++) {
        if (own[i].weights != frames[i].weights) larmor_array_free(own[i].weights);
        larmor_array_free(factors[i]);
    }
    return st;
}

/* 1 if a sample is its point of k-space and nothing else, of one image on one device. */
static int is_of_points(const lmr_job *job, const lmr_frame *frames, int count)
{
    const larmor_device *dev = job->facts->dev;
    return count == 1 && !job->facts->slabs && !job->facts->basis && !job->facts->sets && !frames->has_phase &&
           !frames->segments && !frames->displacement && !frames->motion && !frames->cartesian.on_grid &&
           !larmor_device_members(dev) && !dev->ranks;
}

larmor_status lmr_hold_part(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *b,
                            larmor_held_out *held)
{
    if (lmr_solves_coils(job) || !is_of_points(job, frames, count)) return LARMOR_OK;
    larmor_sense_opts sense = lmr_frame_sense(job, frames, -1);
    if (frames->grid.ndim > 2) sense.block = 1; /* a grid takes more than so few samples do */
    LMR_OWN(larmor_array, maps, larmor_array_convert(job->found.maps.array, lmr_job_precision(job), &maps));
    return larmor_hold_part(maps, &sense, b, held, &held->part);
}

larmor_status lmr_weight_search(const lmr_job *job, const lmr_searched *p, const char *name, double time,
                                larmor_choice *choice)
{
    larmor_regulariser_opts opts = lmr_regulariser_opts(job, p->frames, p->grid);
    LMR_OWNED(larmor_regulariser) *r = NULL;
    if (time > 0) opts.time = time;
    opts.set = p->solve->set;
    if (name)
        LMR_TRY(larmor_regulariser_create(job->facts->dev, name, &opts, larmor_op_dtype(p->A),
                                          larmor_op_in_shape(p->A), &r));
    return larmor_choose_weight(p->A, p->b, p->held, p->C, r, p->solve, choice);
}

/* ---- weights beside the weight: of differences in time, and of one penalty to another ---- */

/* From one weight to the next. Not measured. */
#define STEP_FACTOR 4.
/* With a larger weight in time the iterations stop far from the solution: 64 has 3 times the error of 16 for a
 * contrast agent, 25 spokes of 32 x 32 voxels a frame. */
#define MAX_TIME_WEIGHT 16
/* What is tried of a weight in time over that in space, and of one penalty to the first, lies between these. Beyond
 * next to nothing is left of one of both. */
#define MIN_RATIO (1 / 64.)
#define MAX_RATIO 64
/* Another weight in time has to lower the misfit by this part: smaller differences are of the noise. Tuned on 32
 * series of golden-angle frames of 8 and 25 spokes: contrast agent, breathing, drift, rest. */
#define MIN_MISFIT_FALL 0.0075

/* What a larger ratio lowers the misfit by is this many times its standard error, or it is taken for chance. Of 160
 * scenes (docs/records/regularisers.md) the error is above 1.05 times that of the better penalty alone in 2, with a
 * fall of 0.75 % in place of this in 8. */
#define LEAST_FALL_OVER_ERROR 3

/* Which of them: the weight in time, or the ratio of penalty i to the first. */
enum { TIME = 0 };

static double *coordinate(larmor_choice *choice, int i)
{
    return i == TIME ? &choice->time_weight : &choice->ratios[i];
}

int lmr_time_weight_is_open(const lmr_job *job, int frames)
{
    return job->found.method.kind == LMR_METHOD_REGULARISED && job->found.method.takes & LARMOR_TAKES_TIME &&
           job->settings->opts.time_weight == 0 && frames > 1 && !job->facts->sets && !job->facts->basis;
}

/* The ratios that the method's name has, and 1 for the others; the first is never open. */
static larmor_status read_ratios(const lmr_job *job, larmor_choice *choice, int open[LARMOR_MOST_PENALTIES])
{
    larmor_penalties p;
    LMR_TRY(larmor_regulariser_read(job->found.method.name, &p));
    for (int i = 0; i < p.count && p.count > 1; i++) {
        choice->ratios[i] = p.ratio[i] > 0 ? p.ratio[i] : 1;
        open[i] = i > 0 && p.ratio[i] == 0;
    }
    return LARMOR_OK;
}

void lmr_method_weighed(const lmr_job *job, const larmor_choice *choice, char text[96])
{
    const char *name = job->found.method.name, *end;
    text[0] = 0;
    for (int i = 0; *name && i < LARMOR_MOST_PENALTIES; i++, name = end + (*end == '+')) {
        end = name + strcspn(name, "+");
        char ratio[16] = "";
        const int has_ratio = memchr(name, '=', (size_t)(end - name)) != NULL;
        if (!has_ratio && choice->ratios[i] > 0) snprintf(ratio, sizeof ratio, "=%.6g", choice->ratios[i]);
        lmr_append(text, 96, "%s%.*s%s", i ? "+" : "", (int)(end - name), name, ratio);
    }
}

/* With the weight in time and the ratios of `at`. */
static larmor_status search_weight(const lmr_job *job, const lmr_searched *p, const larmor_choice *at,
                                   larmor_choice *choice)
{
    char name[96];
    lmr_method_weighed(job, at, name);
    LMR_TRY(lmr_weight_search(job, p, name, at->time_weight, choice));
    choice->time_weight = at->time_weight;
    memcpy(choice->ratios, at->ratios, sizeof choice->ratios);
    return lmr_ranks_lead(job->facts->dev->whole, &choice->misfit);
}

larmor_status lmr_weight_significance(const lmr_job *job, const larmor_choice *best, const larmor_choice *next,
                                      double *over)
{
    double sum = 0, square = 0;
    for (int i = 0; i < LARMOR_CHOICE_PARTS; i++) {
        const double fall = best->parts[i] - next->parts[i];
        sum += fall;
        square += fall * fall;
    }
    const double error = sqrt(fmax(0, square - sum * sum / LARMOR_CHOICE_PARTS));
    *over = error > 0 ? sum / error : 0;
    return lmr_ranks_lead(job->facts->dev->whole, over);
}

/* Steps by this factor as long as the misfit falls. */
static larmor_status descend(const lmr_job *job, const lmr_searched *p, int i, double factor, larmor_choice *best)
{
    const double high = i == TIME ? MAX_TIME_WEIGHT : MAX_RATIO;
    /* a penalty beside the first has to earn its part, but not the lack of it */
    const double least_fall = i == TIME ? MIN_MISFIT_FALL : 0;
    const double least_over = i != TIME && factor > 1 ? LEAST_FALL_OVER_ERROR : -INFINITY;
    for (int better = 1; better;) {
        larmor_choice at = *best, next;
        double over;
        *coordinate(&at, i) *= factor;
        if (*coordinate(&at, i) < MIN_RATIO || *coordinate(&at, i) > high) break;
        LMR_TRY(search_weight(job, p, &at, &next));
        const double seconds = best->seconds + next.seconds;
        const int tried = best->tried + next.tried, iters = best->iters + next.iters;
        LMR_TRY(lmr_weight_significance(job, best, &next, &over));
        better = next.misfit < (1 - least_fall) * best->misfit && over > least_over;
        if (better) *best = next;
        best->seconds = seconds;
        best->tried = tried;
        best->iters = iters;
    }
    return LARMOR_OK;
}

static larmor_status descend_both(const lmr_job *job, const lmr_searched *p, int i, larmor_choice *best)
{
    const double first = *coordinate(best, i);
    /* with a large weight in time images of few iterations are those of the start, which all frames resemble */
    const double factor = i == TIME ? 1 / STEP_FACTOR : STEP_FACTOR;
    LMR_TRY(descend(job, p, i, factor, best));
    return *coordinate(best, i) != first ? LARMOR_OK : descend(job, p, i, 1 / factor, best);
}

larmor_status lmr_weights_choose(const lmr_job *job, const lmr_searched *p, larmor_choice *choice, int *chosen)
{
    int open[LARMOR_MOST_PENALTIES] = {0};
    larmor_choice at = {.time_weight = 0};
    LMR_TRY(read_ratios(job, &at, open));
    open[TIME] = lmr_time_weight_is_open(job, p->frames);
    if (open[TIME]) at.time_weight = lmr_regulariser_opts(job, p->frames, p->grid).time;
    *chosen = 0;
    for (int i = 0; i < LARMOR_MOST_PENALTIES; i++) {
        if (!open[i]) continue;
        if (!*chosen) LMR_TRY(search_weight(job, p, &at, choice));
        *chosen = 1;
        LMR_TRY(descend_both(job, p, i, choice));
    }
    return LARMOR_OK;
}
