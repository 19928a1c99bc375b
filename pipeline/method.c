/* The method of --method auto: what it is taken for, and how it is chosen from the data. SPDX-License-Identifier:
 * Apache-2.0 */
#include "pipeline/method.h"

#include "core/core.h"
#include "core/ranks/ranks.h"
#include "pipeline/partial.h"
#include "scan/cartesian.h"

/* cg is compared as well where tv's image predicts less than this part of what is held out, beyond its noise: of
 * 473 scenes with true maps and maps from the data (scripts/measure/scenes.py, seeds 31 and 32) the misfit of cg was
 * larger than that of tv in all, and of 240 (seed 33) tv predicted less than this in four. */
#define MIN_PREDICTED 0.9
/* cg, and tgv, are not taken where they predict less than this part: a nearly empty image leaves no more than zeros
 * do. */
#define MIN_OTHER_PREDICTED 0.02
/* |D D x| / |D x| of an image by tv, D the differences over the shortest side of voxels: with less it has no edges,
 * and tgv is compared as well (docs/records/choosing.md, "Images without edges"). */
#define MAX_ROUGHNESS 1.0
#define MIN_VOXEL 0.9 /* of an encoded one, of images whose roughness is known; not measured */
/* Methods are not compared with fewer numbers held out, real and imaginary parts of all coils together. The
 * least at which tv was better is 20 (docs/records/choosing.md, "Few samples"). */
#define MIN_HELD_NUMBERS 20
/* Of all samples, the part that is held out, as for weights (docs/records/choosing.md, "The criterion"). */
#define HELD_PART 0.1

/* ---- names ---- */

int lmr_method_acts_in_images(const char *name)
{
    for (const char *term = name; *term; term += *term == '+') {
        const size_t length = strcspn(term, "+");
        const char *axes = memchr(term, ':', length);
        const size_t letters = axes ? strcspn(axes, "=+") : 0;
        for (size_t i = 0; i < letters; i++)
            if (strchr("xyz", axes[i])) return 1;
        if (!axes) return 1;
        term += length;
    }
    return 0;
}

void lmr_method_take(lmr_job *job, const char *name)
{
    lmr_method *m = &job->found.method;
    *m = (lmr_method){.kind = LMR_METHOD_REGULARISED};
    if (!strcmp(name, "grid")) m->kind = LMR_METHOD_GRID;
    if (!strcmp(name, "cg")) m->kind = LMR_METHOD_CG;
    if (!strcmp(name, LMR_METHOD_NLINV_NAME)) m->kind = LMR_METHOD_NLINV;
    if (m->kind == LMR_METHOD_REGULARISED) m->takes = lmr_regulariser_named(name).takes;
    snprintf(m->name, sizeof m->name, "%s", name);
}

void lmr_method_settle(lmr_job *job, lmr_scan_facts *facts, const char *name, larmor_method_from from)
{
    if (!facts->automatic) return;
    facts->automatic = 0;
    facts->method_from = from;
    lmr_method_take(job, name);
}

const char *lmr_method_name(const lmr_job *job)
{
    if (job->facts->automatic) return LMR_METHOD_AUTO;
    if (job->found.method.kind == LMR_METHOD_REGULARISED) return job->found.method.name;
    if (job->found.method.kind == LMR_METHOD_NLINV) return LMR_METHOD_NLINV_NAME;
    return job->found.method.kind == LMR_METHOD_CG ? "cg" : "grid";
}

static void set_name(larmor_recon_report *result, const char *name)
{
    snprintf(result->method.name, sizeof result->method.name, "%s", name);
}

/* ---- an image ---- */

void lmr_method_begin(lmr_job *job, larmor_recon_report *result)
{
    const larmor_method_choice *known = &job->found.decided.chosen.method;
    result->method = (larmor_method_choice){.from = job->facts->method_from};
    if (job->facts->automatic && known->name[0]) {
        lmr_method_take(job, known->name);
        result->method = *known;
        if (known->from == LARMOR_METHOD_FROM_DATA) result->method.from = LARMOR_METHOD_FROM_SCAN;
        return;
    }
    if (job->facts->automatic) lmr_method_take(job, "cg");
    set_name(result, job->found.method.name);
}

int lmr_method_is_open(const lmr_job *job, const larmor_recon_report *result)
{
    return job->facts->automatic && !job->found.decided.chosen.method.name[0] &&
           result->method.from == LARMOR_METHOD_FROM_CALLER;
}

void lmr_method_is_linear(lmr_job *job, larmor_method_from from, larmor_recon_report *result)
{
    lmr_method_take(job, "cg");
    result->method = (larmor_method_choice){.name = "cg", .from = from};
    if (from == LARMOR_METHOD_FROM_MODEL) job->found.decided.chosen.method = result->method;
}

void lmr_method_is_fft(lmr_job *job, const lmr_frame *frame, larmor_recon_report *result)
{
    lmr_method_is_linear(job, LARMOR_METHOD_FROM_LINEARITY, result);
    job->found.decided.chosen.linear = lmr_weight_conditions_of(job, frame, 1).data;
}

int lmr_method_is_known_fft(const lmr_job *job, const lmr_frame *frame, const larmor_coverage *coverage)
{
    const double linear = job->found.decided.chosen.linear;
    lmr_job by_cg = *job;
    lmr_method_take(&by_cg, "cg");
    return job->facts->automatic && linear > 0 && lmr_weight_conditions_of(job, frame, 1).data >= linear &&
           lmr_cartesian_is_direct(&by_cg, frame, coverage);
}

/* The open method is tv: samples of one coil on a grid predict no others, which leaves nothing to compare. */
static void take_tv_of_one_coil(lmr_job *job, larmor_recon_report *result)
{
    lmr_method_take(job, "tv");
    result->method = (larmor_method_choice){.name = "tv", .from = LARMOR_METHOD_FROM_ONE_COIL};
}

/* ---- the comparison ---- */

enum { TV, OTHER };

static larmor_status too_few(const lmr_searched *p, int *few)
{
    double count;
    LMR_TRY(lmr_count_all(p->b, &count));
    *few = 2 * (p->is_determined ? 1 : HELD_PART) * count < MIN_HELD_NUMBERS;
    return LARMOR_OK;
}

/* |D D x| / |D x|, by which edges have 1.2 and more whatever their height. */
static larmor_status find_roughness(const lmr_searched *p, const larmor_array *x, double *roughness)
{
    double side[3], shortest = INFINITY, first, second = 0;
    LMR_OWNED(larmor_op) *D = NULL;
    larmor_device *dev = larmor_op_device(p->A);
    const larmor_dtype dtype = larmor_op_dtype(p->A);
    const larmor_shape shape = larmor_array_shape(x);
    lmr_voxel_sides(p->grid, side);
    for (int d = 0; d < shape.ndim; d++) shortest = fmin(shortest, side[d]);
    for (int d = 0; d < shape.ndim; d++) side[d] /= shortest;
    LMR_TRY(larmor_op_gradient(dev, dtype, shape, (1U << shape.ndim) - 1, side, &D));
    LMR_OWN(larmor_array, g, larmor_array_create(dev, dtype, larmor_op_out_shape(D), &g));
    LMR_OWN(larmor_array, gg, larmor_array_create(dev, dtype, larmor_op_out_shape(D), &gg));
    LMR_TRY(larmor_op_forward(D, x, g));
    LMR_TRY(larmor_nrm2(g, &first));
    for (int d = 0; d < shape.ndim; d++) {
        double of_axis;
        LMR_OWN(larmor_array, along, lmr_one_of(g, d, &along));
        LMR_TRY(larmor_op_forward(D, along, gg));
        LMR_TRY(larmor_nrm2(gg, &of_axis));
        second = hypot(second, of_axis);
    }
    *roughness = first > 0 ? second / first : INFINITY;
    return LARMOR_OK;
}

/* 1 if voxels are finer than what was encoded, over which edges spread, or that is not known. */
static int is_finer(const lmr_job *job, const larmor_grid *grid)
{
    larmor_group group;
    larmor_encoding e;
    if (lmr_source_group(job->facts->source, job->facts->lead, &group)) return 1;
    if (lmr_source_encoding(job->facts->source, group.encoding, &e)) return 1;
    int finer = 0;
    for (int d = 0; d < grid->ndim; d++)
        finer |= grid->fov_mm[d] / (double)grid->matrix[d] < MIN_VOXEL * e.fov_mm[d] / (double)e.matrix[d];
    return finer;
}

/* 1 if images of this kind are measured and there is memory for tgv: not on a grid, whose split settles late, not
 * beside a hole, in slabs or within a set. */
static int may_take_tgv(const lmr_job *job, const lmr_searched *p)
{
    if (is_finer(job, p->grid)) return 0;
    return job->facts->has_room_for_tgv && !p->on_grid && !job->facts->fills_hole && !job->facts->slabs &&
           !p->solve->set && larmor_op_in_shape(p->A).ndim == p->grid->ndim;
}

/* The search of tv, and which method is compared with it; NULL: none is. */
static larmor_status search_tv(const lmr_job *job, const lmr_searched *p, larmor_choice *choice, const char **other)
{
    double roughness = INFINITY;
    LMR_OWNED(larmor_array) *image = NULL;
    larmor_solve_opts solve = *p->solve;
    lmr_searched kept = *p;
    kept.solve = &solve;
    if (may_take_tgv(job, p))
        LMR_TRY(larmor_array_create(job->facts->dev, larmor_op_dtype(p->A), larmor_op_in_shape(p->A), &image));
    solve.best = image;
    LMR_TRY(lmr_weight_search(job, &kept, "tv", 0, choice));
    if (image) LMR_TRY(find_roughness(p, image, &roughness));
    const int is_predicted = p->is_determined || choice->predicted >= MIN_PREDICTED;
    *other = roughness < MAX_ROUGHNESS ? "tgv" : NULL;
    if (!is_predicted) *other = "cg";
    return LARMOR_OK;
}

larmor_status lmr_method_choose(lmr_job *job, const lmr_searched *p, larmor_recon_report *result)
{
    larmor_choice choice[LARMOR_METHODS_COMPARED];
    const char *name[LARMOR_METHODS_COMPARED] = {"tv", NULL};
    int few, best = TV;
    double seconds = 0;
    LMR_TRY(too_few(p, &few));
    if (few) {
        lmr_method_is_linear(job, LARMOR_METHOD_FROM_FEW_SAMPLES, result);
        return lmr_weight_search(job, p, NULL, 0, &result->choice);
    }
    LMR_TRY(search_tv(job, p, &choice[TV], &name[OTHER]));
    const int count = name[OTHER] ? 2 : 1;
    if (name[OTHER]) {
        LMR_TRY(lmr_weight_search(job, p, strcmp(name[OTHER], "cg") ? name[OTHER] : NULL, 0, &choice[OTHER]));
        if (choice[OTHER].predicted >= MIN_OTHER_PREDICTED && choice[OTHER].misfit < choice[TV].misfit) best = OTHER;
    }
    lmr_method_take(job, name[best]);
    result->method = (larmor_method_choice){.from = LARMOR_METHOD_FROM_DATA, .compared = count};
    set_name(result, name[best]);
    for (int i = 0; i < count; i++) {
        larmor_method_trial *t = &result->method.trial[i];
        *t = (larmor_method_trial){.misfit = choice[i].misfit, .weight = choice[i].weight};
        snprintf(t->name, sizeof t->name, "%s", name[i]);
        seconds += choice[i].seconds;
    }
    result->choice = choice[best];
    result->choice.seconds = seconds;
    return LARMOR_OK;
}

void lmr_method_of_unpredicted(lmr_job *job, larmor_recon_report *result)
{
    if (lmr_method_is_open(job, result) && lmr_is_partial(&result->coverage))
        lmr_method_is_linear(job, LARMOR_METHOD_FROM_FEW_SAMPLES, result);
    else if (lmr_method_is_open(job, result))
        take_tv_of_one_coil(job, result);
    if (job->found.method.kind == LMR_METHOD_REGULARISED)
        result->lambda_from = LARMOR_LAMBDA_OF_ONE_COIL;
    else if (result->partial_fourier == LARMOR_PARTIAL_POCS)
        result->lambda_from = LARMOR_LAMBDA_FROM_NOISE;
    else
        result->lambda_from = LARMOR_LAMBDA_NONE;
}
