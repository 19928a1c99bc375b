/* How much memory a slab of the volume takes of each rank. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/slab_plan.h"

#include "core/core.h"
#include "core/ranks/ranks.h"
#include "pipeline/maps.h"
#include "pipeline/report.h"
#include "schedule/slab_samples.h"
#include "schedule/slabs.h"

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* What is there while the maps are made: lots of samples, the centre on both sides of its upload, the estimate. */
static larmor_status maps_bytes(const lmr_job *job, const larmor_group *g, const larmor_problem *p, int64_t centre,
                                int64_t planes, double *bytes)
{
    larmor_problem own = *p;
    int64_t estimate;
    const double sample = 8 * (double)job->facts->coils + 24;
    const double lot =
        (double)lmr_slab_lot(job, g) * (double)g->samples * 2 * (8 * (double)job->facts->info.coils + 24);
    *bytes = 0;
    if (job->facts->coils == 1) return LARMOR_OK;
    own.samples = centre;
    own.dtype = LARMOR_C64;
    LMR_TRY(job->facts->maps_method->bytes(job, &own, planes, &estimate));
    *bytes = sample * (double)centre + most(lot, most(sample * (double)centre, (double)estimate));
    return LARMOR_OK;
}

/* What a rank has at most, of whom that has most. */
typedef struct share {
    int ranks;
    larmor_problem p; /* of the whole volume, with a rank's samples */
    larmor_shape slab;
    double voxels, samples; /* of a slab; of a coil, of a rank */
    double size;            /* bytes of a number */
} share;

/* SENSE, and where lambda is chosen that of the samples that are kept beside it. */
static larmor_status operator_bytes(const lmr_job *job, const lmr_plan *plan, const share *s, double *bytes)
{
    const larmor_sense_opts sense = {.nufft_tol = job->settings->eps, .toeplitz = plan->toeplitz};
    larmor_problem kept = s->p;
    int64_t all, between, other;
    kept.weighted = 1;
    LMR_TRY(larmor_sense_slabs_memory(job->facts->dev, s->ranks, &s->p, &sense, &all, &between));
    *bytes = (double)all;
    if (plan->choose < 0) return LARMOR_OK;
    LMR_TRY(larmor_sense_slabs_memory(job->facts->dev, s->ranks, &kept, &sense, &other, NULL));
    *bytes = most(*bytes, (double)between + (double)other);
    return LARMOR_OK;
}

/* Of a preconditioner, which the choice needs, too: before the operator is made, and after. */
static larmor_status circulant_bytes(const lmr_job *job, const lmr_plan *plan, const share *s, double *making,
                                     double *held)
{
    enum { IMAGES = 8 }; /* it, E, its inverse, what its FFTs work in, and what is computed of it */
    int64_t bytes;
    *making = *held = 0;
    if (plan->precondition < 0 && plan->choose < 0) return LARMOR_OK;
    LMR_TRY(larmor_circulant_slabs_memory(job->facts->dev, s->ranks, &s->p, &bytes));
    *making = (double)bytes;
    *held = IMAGES * s->size * s->voxels;
    return LARMOR_OK;
}

/* What it takes to choose lambda beside operators and solver: images, and the samples that are held out. */
static double choice_bytes(const lmr_plan *plan, const share *s)
{
    enum { IMAGES = 4, OF_SAMPLE = 80 };
    return plan->choose < 0 ? 0 : IMAGES * s->size * s->voxels + OF_SAMPLE * s->samples;
}

/* From the maps on, beside what is held: the iterate and that of the noise; noise, and residuals of samples. */
static larmor_status solving_bytes(const lmr_job *job, const lmr_plan *plan, const share *s, double *bytes)
{
    const double coils = (double)s->p.coils;
    int64_t solver;
    double operator, making, held;
    LMR_TRY(operator_bytes(job, plan, s, &operator));
    LMR_TRY(circulant_bytes(job, plan, s, &making, &held));
    LMR_TRY(larmor_cg_memory(s->p.dtype, s->slab, &solver));
    const double inside = held + operator+(double) solver + 2 * s->size * s->voxels +
                          2 * s->size * s->samples * coils + choice_bytes(plan, s);
    *bytes = most(making, inside);
    if (s->p.dtype == LARMOR_C128) *bytes += 16 * coils * (s->voxels + s->samples);
    return LARMOR_OK;
}

/* Of the rank that has most, and of rank 0 with an image. */
static larmor_status slab_bytes(const lmr_job *job, const lmr_plan *plan, int count, int index, int64_t centre,
                                double *bytes)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_group g;
    share s = {.ranks = count, .size = (double)larmor_dtype_size(lmr_job_precision(job))};
    double maps, solving;
    LMR_TRY(lmr_source_group(job->facts->source, index, &g));
    const int64_t planes = (grid->matrix[2] + count - 1) / count, readouts = (g.readouts + count - 1) / count;
    s.samples = (double)g.total / (double)(g.readouts > 0 ? g.readouts : 1) * (double)readouts;
    s.slab = LARMOR_SHAPE(grid->matrix[0], grid->matrix[1], planes);
    s.voxels = (double)larmor_shape_count(s.slab);
    s.p = (larmor_problem){.image = lmr_grid_shape(grid),
                           .samples = (int64_t)ceil(s.samples),
                           .coils = job->facts->coils,
                           .dtype = lmr_job_precision(job)};
    LMR_TRY(maps_bytes(job, &g, &s.p, centre, planes, &maps));
    LMR_TRY(solving_bytes(job, plan, &s, &solving));
    const double coils = job->facts->coils, all = job->facts->info.coils;
    const double kept = coils > 1 ? (8 * coils + 24) * (double)centre : 0; /* of k-space, for the maps */
    const double reading = (8 * all + 8 * coils) * s.samples + kept;
    const double held = (8 * coils + 24) * s.samples + 8 * s.voxels * coils + 2 * LMR_STAGE;
    *bytes = held + most(reading, most(maps, solving + 16 * s.voxels));
    return LARMOR_OK;
}

static double image_bytes(const larmor_recon *r)
{
    double bytes = 0;
    for (int i = 0; i < r->list.groups; i++)
        bytes += 8 * (double)larmor_shape_count(larmor_shape_of(3, r->facts.grid[r->list.group[i]].crop));
    return bytes;
}

/* What is asked, and what is known before anything is given up. */
typedef struct question {
    const larmor_recon *r;
    const lmr_job *job; /* on a single device; what r has is where it was found */
    int ranks;
    int64_t centre;
    double images; /* bytes of all */
} question;

/* By the scan's own job, as its readouts are compressed on the whole of its devices, with the maps in question. */
static larmor_status count_centre(question *q)
{
    if (q->job->facts->coils == 1) return LARMOR_OK;
    lmr_job job = q->r->job;
    lmr_scan_facts facts = *job.facts;
    facts.maps_method = q->job->facts->maps_method;
    job.facts = &facts;
    return lmr_slab_count_centre(&job, q->r->list.group[0], &q->centre);
}

static larmor_status begin(const larmor_recon *r, const lmr_job *job, int ranks, question *q)
{
    *q = (question){.r = r, .job = job, .ranks = ranks, .images = image_bytes(r)};
    return count_centre(q);
}

static larmor_status begin_plan(const question *q, int64_t limit, lmr_plan *plan)
{
    const lmr_job *job = q->job;
    *plan = (lmr_plan){.limit = limit,
                       .coils = job->facts->coils,
                       .block = 1,
                       .toeplitz = job->facts->toeplitz,
                       .precondition = job->facts->precondition,
                       .choose = lmr_chooses(job) ? 0 : -1};
    plan->bytes = calloc((size_t)q->r->list.series, sizeof *plan->bytes);
    return plan->bytes ? LARMOR_OK : LMR_NO_MEMORY();
}

/* All series, with what the plan has not given up. */
static larmor_status plan_all(const question *q, lmr_plan *plan)
{
    const lmr_series *list = &q->r->list;
    plan->planned = 0;
    for (int s = 0; s < list->series; s++) {
        double bytes;
        LMR_TRY(slab_bytes(q->job, plan, q->ranks, list->group[list->first[s]], q->centre, &bytes));
        plan->bytes[s] = (int64_t)(bytes + q->images);
        if (plan->bytes[s] > plan->planned) plan->planned = plan->bytes[s];
    }
    return LARMOR_OK;
}

static int is_too_large(const lmr_plan *plan)
{
    return plan->limit && plan->planned > plan->limit;
}

/* 1 if maps by ESPIRiT, which nobody asked for, are what is too large: Walsh's take their place. */
static larmor_status give_up_maps(larmor_recon *r, question *q, lmr_plan *plan, int *given_up)
{
    const lmr_maps_method *method = r->facts.maps_method;
    const question by_espirit = *q;
    const int64_t before = plan->planned;
    *given_up = 0;
    if (!lmr_maps_give_way(&r->job)) return LARMOR_OK;
    r->facts.maps_method = lmr_maps_method_of("walsh");
    LMR_TRY(count_centre(q));
    LMR_TRY(plan_all(q, plan));
    *given_up = plan->planned < before;
    if (*given_up) {
        lmr_log(&r->events, "coil maps: by Walsh's method, as those by ESPIRiT do not fit into memory");
        return LARMOR_OK;
    }
    r->facts.maps_method = method;
    *q = by_espirit;
    return plan_all(q, plan);
}

/* As lmr_plan_make does, in its order, but for Toeplitz first, which changes no image; what was asked for stays. */
static int give_up(const larmor_recon *r, lmr_plan *plan)
{
    int *const what[] = {&plan->toeplitz, &plan->choose, &plan->precondition};
    const int asked[] = {r->settings.opts.toeplitz, 0, r->settings.opts.precondition};
    for (int i = 0; i < 3; i++)
        if (*what[i] >= 0 && asked[i] <= 0) {
            *what[i] = -1;
            return 1;
        }
    return 0;
}

larmor_status lmr_slabs_plan(larmor_recon *r)
{
    lmr_plan *plan = &r->plan;
    lmr_job *job = &r->job;
    question q;
    lmr_plan_free(plan);
    LMR_TRY(begin(r, job, larmor_ranks_count(job->facts->slabs), &q));
    LMR_TRY(begin_plan(&q, r->settings.opts.memory, plan));
    LMR_TRY(plan_all(&q, plan));
    while (is_too_large(plan)) {
        int given_up;
        LMR_TRY(give_up_maps(r, &q, plan, &given_up));
        if (given_up) continue;
        if (!give_up(r, plan)) break;
        LMR_TRY(plan_all(&q, plan));
    }
    if (is_too_large(plan)) return lmr_report_too_large(r);
    lmr_report_slabs(r);
    r->facts.no_choice = plan->choose < 0 && lmr_chooses(job);
    r->facts.precondition = plan->precondition;
    r->facts.toeplitz = plan->toeplitz;
    return LARMOR_OK;
}

/* The job as it would be in slabs, with Toeplitz or without. */
static larmor_status would_fit(const larmor_recon *r, const lmr_job *job, int ranks, int *fit)
{
    question q;
    LMR_FREED_BY(lmr_plan_free) lmr_plan plan = {.bytes = NULL};
    LMR_TRY(begin(r, job, ranks, &q));
    LMR_TRY(begin_plan(&q, r->plan.limit, &plan));
    LMR_TRY(plan_all(&q, &plan));
    if (is_too_large(&plan) && r->settings.opts.toeplitz <= 0) {
        plan.toeplitz = -1;
        LMR_TRY(plan_all(&q, &plan));
    }
    *fit = !is_too_large(&plan);
    return LARMOR_OK;
}

larmor_status lmr_slabs_keep_more(const larmor_recon *r, int *more)
{
    const lmr_plan *plan = &r->plan;
    const int members = larmor_device_members(r->facts.dev);
    const int lost =
        (plan->choose < 0 && lmr_chooses(&r->job)) || (plan->precondition < 0 && r->facts.precondition >= 0);
    lmr_scan_facts facts = r->facts;
    lmr_job job = r->job;
    *more = 0;
    if (!lost || lmr_slabs_unfit(r)) return LARMOR_OK;
    job.facts = &facts;
    facts.toeplitz = r->settings.opts.toeplitz < 0 ? -1 : 1;
    facts.precondition = r->settings.opts.precondition;
    facts.maps_method = lmr_slabs_maps(r);
    if (members) facts.dev = larmor_device_member(r->facts.dev, 0);
    const int ranks = members ? members : larmor_ranks_count(r->settings.opts.ranks);
    LMR_TRY(would_fit(r, &job, ranks, more));
    if (!*more && lmr_maps_give_way(&job)) {
        facts.maps_method = lmr_maps_method_of("walsh");
        LMR_TRY(would_fit(r, &job, ranks, more));
    }
    if (!*more) lmr_slab_forget_centre(r->job.caches);
    return LARMOR_OK;
}
