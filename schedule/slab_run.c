/* A volume that no process holds by itself: each rank has a slab of its planes, with the coil maps of these, and
 * some of the readouts. All solve at the same time, by operators and inner products that are those of the whole;
 * rank 0 gives the orders and gets the image. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/slab_run.h"

#include "core/core.h"
#include "core/ranks/rank_rows.h"
#include "core/ranks/ranks.h"
#include "pipeline/group.h"
#include "pipeline/solve.h"
#include "schedule/slab_samples.h"

typedef struct slab_order { /* of rank 0 */
    int series, maps_from;  /* maps_from: the group that gave the maps of its slice before this run, or -1 */
    lmr_weight chosen;      /* the weight that holds for it, which a checkpoint may have gone on with */
} slab_order;

/* ---- a series ---- */

static void close_frame(lmr_frame *frame)
{
    larmor_samples_free(&frame->samples);
}

/* This rank's readouts, and the maps of its planes. */
static larmor_status open_frame(lmr_job *job, int index, lmr_frame *frame, larmor_recon_report *result)
{
    int64_t first, count;
    *frame = (lmr_frame){.cartesian.deviation = 1};
    LMR_TRY(lmr_enter(job->events, "samples"));
    LMR_TRY(lmr_source_group(job->facts->source, index, &frame->group));
    LMR_TRY(lmr_source_encoding(job->facts->source, frame->group.encoding, &frame->encoding));
    frame->grid = job->facts->grid[index];
    LMR_TRY(larmor_ranks_part(job->facts->slabs, frame->group.readouts, &first, &count));
    LMR_TRY(larmor_ranks_sum_over(job->facts->dev, job->facts->slabs)); /* the scale is that of all samples */
    LMR_TRY(lmr_slab_read(job, index, first, count, &frame->samples));
    LMR_TRY(larmor_ranks_sum_over(job->facts->dev, NULL));
    LMR_TRY(lmr_slab_maps(job, index, frame));
    double outside[2] = {(double)frame->samples.outside, 0};
    LMR_TRY(lmr_ranks_total(job->facts->slabs, LARMOR_OK, outside));
    result->outside = (int64_t)outside[0];
    result->maps = job->found.maps.report;
    memcpy(result->grid, frame->grid.matrix, sizeof result->grid);
    return LARMOR_OK;
}

/* Planes from .. end - 1 of the image that rank i has, and at which of its own they begin. */
static int64_t planes_of(const lmr_job *job, const larmor_grid *grid, int i, int64_t *from, int64_t *own)
{
    const int64_t all = grid->matrix[2], low = all / 2 - grid->crop[2] / 2,
                  count = larmor_ranks_count(job->facts->slabs);
    const int64_t first = i * all / count, end = (i + 1) * all / count;
    const int64_t begin = first > low ? first : low;
    const int64_t stop = end < low + grid->crop[2] ? end : low + grid->crop[2];
    *from = begin - low;
    *own = begin - first;
    return stop > begin ? stop - begin : 0;
}

/* Rank i's planes to their place in the image of rank 0. */
static larmor_status gather_planes(const lmr_job *job, const larmor_grid *grid, int i, larmor_array *slab,
                                   larmor_array *image)
{
    const int me = larmor_ranks_number(job->facts->slabs);
    int64_t from, own;
    LMR_OWNED(larmor_array) *part = NULL, *to = NULL;
    const int64_t planes = planes_of(job, grid, i, &from, &own);
    if (!planes || (me && me != i)) return LARMOR_OK;
    if (me == i) LMR_TRY(larmor_array_slice(slab, own, planes, &part));
    if (!me) LMR_TRY(larmor_array_slice(image, from, planes, &to));
    return i ? lmr_ranks_pass(job->facts->slabs, i, 0, me ? part : to) : larmor_copy(part, to);
}

/* x, this rank's slab of the solution, in the image's voxels. */
static larmor_status finish_slab(const lmr_job *job, const lmr_frame *frame, larmor_array *x, larmor_array **slab)
{
    const larmor_grid *grid = &frame->grid;
    const larmor_shape shape = LARMOR_SHAPE(grid->crop[0], grid->crop[1], larmor_array_shape(x).dim[2]);
    LMR_OWN(larmor_array, single, larmor_array_convert(x, LARMOR_C64, &single));
    LMR_TRY(larmor_clear_unseen(job->found.maps.array, single));
    return larmor_crop(single, shape, lmr_image_factor(job, &frame->encoding, grid), slab);
}

static larmor_status gather(const lmr_job *job, const lmr_frame *frame, larmor_array *slab, larmor_status own,
                            larmor_array **image)
{
    const int count = larmor_ranks_count(job->facts->slabs);
    if (!own && !larmor_ranks_number(job->facts->slabs))
        own = larmor_array_create(job->facts->dev, LARMOR_C64, larmor_shape_of(3, frame->grid.crop), image);
    if (!own && *image) own = larmor_zero(*image);
    LMR_TRY(lmr_ranks_agree(job->facts->slabs, own, NULL, NULL));
    for (int i = 0; i < count; i++) LMR_TRY(gather_planes(job, &frame->grid, i, slab, *image));
    return *image ? lmr_check_image(*image, &frame->group) : LARMOR_OK;
}

static larmor_status solve(lmr_job *job, int index, larmor_array **image, larmor_recon_report *report)
{
    lmr_frame frame = {.phase = NULL};
    LMR_OWNED(larmor_array) *x = NULL, *slab = NULL;
    larmor_status st;
    *report = (larmor_recon_report){0};
    lmr_scale_begin(job);
    LMR_OR(done, open_frame(job, index, &frame, report));
    LMR_OR(done, lmr_enter(job->events, "operator"));
    LMR_OR(done, larmor_ranks_sum_over(job->facts->dev, job->facts->slabs));
    LMR_OR(done, lmr_solve_frames(job, &frame, 1, &x, report));
    LMR_OR(done, larmor_ranks_sum_over(job->facts->dev, NULL));
    lmr_unscale_report(job, report);
    st = finish_slab(job, &frame, x, &slab);
    st = gather(job, &frame, slab, st, image); /* which all ranks enter, whatever became of theirs */
done:
    close_frame(&frame);
    return st;
}

/* All ranks, at the same time. A rank that fails says so in the place of what all would do next. */
static larmor_status solve_all(larmor_recon *r, slab_order o, larmor_array **image, larmor_recon_report *report)
{
    lmr_job *job = &r->job;
    struct lmr_kept *const checkpoint = job->checkpoint;
    *image = NULL;
    job->facts->slabs->agreed = LARMOR_OK;
    if (!job->found.maps.array) job->found.maps.from = o.maps_from;
    job->found.decided.chosen = o.chosen;
    job->checkpoint = NULL; /* a solver's state is in slabs, too */
    larmor_status st = solve(job, r->list.group[r->list.first[o.series]], image, report);
    job->checkpoint = checkpoint;
    const larmor_status ended = larmor_ranks_sum_over(job->facts->dev, NULL);
    if (!st) st = ended;
    if (!job->facts->slabs->agreed) st = lmr_ranks_agree(job->facts->slabs, st, NULL, NULL);
    if (st) LMR_CLEAR(*image);
    return st;
}

larmor_status lmr_slabs_run(larmor_recon *r, int s, larmor_array **image, larmor_recon_report *report)
{
    *image = NULL;
    LMR_REFUSE(!r->facts.slabs->is_shared, LARMOR_ERR_ARG,
               "recon: the volume is in slabs of several processes; call larmor_recon_share");
    const slab_order o = {s, r->maps_before, r->job.found.decided.chosen};
    LMR_TRY(lmr_ranks_order(r->facts.slabs, &o, sizeof o));
    return solve_all(r, o, image, report);
}

/* *end: 1 if rank 0 is done. */
static larmor_status serve_one(larmor_recon *r, int *end)
{
    const larmor_ranks *ranks = r->facts.slabs;
    larmor_recon_report report;
    larmor_array *image;
    slab_order o = {.series = -1};
    int64_t bytes;
    LMR_OWN_MEMORY(void, data, ranks->by->receive(ranks->link, 0, LMR_TAG_ORDER, NULL, NULL, &data, &bytes));
    *end = !bytes;
    if (bytes == sizeof o) memcpy(&o, data, sizeof o);
    if (*end) return LARMOR_OK;
    LMR_REFUSE(o.series < 0 || o.series >= r->list.series || o.maps_from >= r->facts.info.groups, LARMOR_ERR_FORMAT,
               "an order of rank 0 is not what was expected");
    lmr_begin_series(&r->events, o.series + 1, r->list.series);
    const larmor_status st = solve_all(r, o, &image, &report);
    lmr_end_series(&r->events);
    larmor_array_free(image);
    return st == LARMOR_ERR_BACKEND ? st : LARMOR_OK; /* rank 0 has said what failed */
}

larmor_status lmr_slabs_serve(larmor_recon *r)
{
    int end = 0;
    while (!end) LMR_TRY(serve_one(r, &end));
    return LARMOR_OK;
}
