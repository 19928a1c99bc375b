/* A volume that no process holds by itself: each rank has a slab of its planes, with the coil maps of these, and some of the
 * readouts. All solve at the same time, by operators and inner products that are those of the whole; rank 0 gives the orders
 * and gets the image. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/slabs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/random.h"
#include "core/rank_rows.h"
#include "core/ranks.h"
#include "larmor/ranks.h"
#include "pipeline/cartesian.h"
#include "pipeline/compress.h"
#include "pipeline/group.h"
#include "pipeline/maps.h"
#include "pipeline/report.h"
#include "pipeline/solve.h"
#include "pipeline/trajectory.h"

enum { READ_TOGETHER = 1 << 22 }; /* bytes of samples that are read at a time where all are looked at */

/* ---- whether ---- */

static const char *unfit_options(const larmor_recon *r)
{
    const lmr_job *job = &r->job;
    if (job->method != LMR_METHOD_CG) return "the method is not cg";
    if (job->weighted || job->keep_weights) return "samples are weighted by density";
    if (job->basis || job->joint) return "several images are one series";
    if (job->sets) return "there are several sets of maps";
    if (job->field) return "there is a field map";
    if (r->opts.maps) return "maps are given";
    if (job->normalise || (strcmp(r->maps_method, "auto") != 0 && strcmp(r->maps_method, "walsh") != 0))
        return "maps are not those of walsh";
    if (job->info.calibration || job->info.averaged) return "maps come from other readouts than the image's";
    return NULL;
}

static const char *unfit_group(const larmor_recon *r, int group)
{
    const larmor_grid *grid = &r->job.grid[group];
    int64_t repeats, left;
    if (grid->ndim != 3) return "images are 2D";
    if (grid->matrix[2] < larmor_ranks_count(r->opts.ranks)) return "there are fewer planes than processes";
    if (lmr_cartesian_expect(&r->job, group, &repeats, &left) || repeats) return "samples are on a grid";
    return NULL;
}

const char *lmr_slabs_unfit(const larmor_recon *r)
{
    if (larmor_ranks_count(r->opts.ranks) < 2) return "there is one process";
    if (larmor_device_members(r->job.dev)) return "a process has several devices";
    const char *why = unfit_options(r);
    if (!why && !r->job.info.traj_stored) why = "no trajectory is stored";
    for (int i = 0; i < r->list.groups && !why; i++) why = unfit_group(r, r->list.group[i]);
    return why;
}

void lmr_slabs_take(larmor_recon *r)
{
    lmr_job *job = &r->job;
    job->slabs = r->opts.ranks;
    job->dev->ranks = NULL;
    job->no_choice = lmr_chooses(job);
    job->toeplitz = r->opts.toeplitz < 0 ? -1 : 1;
    job->precondition = -1;
    job->block = 1;
    job->maps_method = job->coils > 1 ? lmr_maps_method_of("walsh") : NULL;
}

/* ---- readouts ---- */

/* Readouts first .. first + count - 1 of a group, on the grid. Where the job has no scale yet, larmor_nrm2 has to be that of all
 * ranks. */
static larmor_status read_some(lmr_job *job, int index, int64_t first, int64_t count, larmor_samples *samples)
{
    const larmor_grid *grid = &job->grid[index];
    int64_t *which = calloc((size_t)count + 1, sizeof *which);
    larmor_group group;
    larmor_status st;
    *samples = (larmor_samples){0};
    if (!which) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) which[i] = first + i;
    LMR_OR(done, lmr_source_group(job->source, index, &group));
    LMR_OR(done, lmr_source_readouts(job->source, index, which, count, grid, job->dev, samples));
    if (!samples->kspace || !samples->traj)
        LMR_OR(done, LMR_FAIL(LARMOR_ERR_FORMAT, "slabs: no trajectory is stored with the readouts"));
    LMR_OR(done, lmr_correct_trajectory(job, index, group.encoding, grid, samples));
    LMR_OR(done, lmr_scale_samples(job, samples->kspace));
    if (job->whitening) LMR_OR(done, larmor_whiten(job->whitening, samples->kspace));
    st = lmr_compress(job, samples);
done:
    free(which);
    if (st) larmor_samples_free(samples);
    return st;
}

/* ---- the centre of k-space, which gives the maps ---- */

enum { MAPS_SIDE = 32 };  /* as larmor_coils_opts has it by default */
#define BEYOND 1.01 /* of its radius, so that none is missed by rounding */

static void centre_side(const lmr_job *job, const larmor_grid *grid, int64_t n[3])
{
    for (int d = 0; d < 3; d++) {
        n[d] = job->calibration > 0 ? job->calibration : MAPS_SIDE;
        if (n[d] > grid->matrix[d]) n[d] = grid->matrix[d];
    }
}

/* Samples of all readouts, of all coils, one after the other. */
typedef struct middle {
    int64_t count, room, coils;
    int keeps;       /* 0: they are counted alone */
    float *values;   /* [coils, room, 2] */
    double *points;  /* [room, 3] */
} middle;

static void free_centre(middle *c)
{
    free(c->values);
    free(c->points);
}

static int is_inside(const double *k, const int64_t n[3])
{
    double square = 0;
    for (int d = 0; d < 3; d++) square += pow(2 * k[d] / (BEYOND * (double)n[d]), 2);
    return square < 1;
}

/* Those of one lot of readouts. */
static larmor_status add_inside(const larmor_samples *samples, const int64_t n[3], middle *c)
{
    const int64_t m = larmor_array_count(samples->traj) / 3;
    float *values = NULL;
    double *k;
    larmor_status st;
    LMR_TRY(larmor_array_download(samples->traj, LARMOR_F64, &k));
    if (c->keeps) LMR_OR(done, larmor_array_download(samples->kspace, LARMOR_C64, &values));
    for (int64_t i = 0; i < m; i++) {
        if (!is_inside(k + 3 * i, n)) continue;
        const int64_t at = c->count++;
        if (!c->keeps) continue;
        if (at >= c->room) LMR_OR(done, LMR_FAIL(LARMOR_ERR_FORMAT, "slabs: the source gives other samples again"));
        memcpy(c->points + 3 * at, k + 3 * i, 3 * sizeof *k);
        for (int64_t j = 0; j < c->coils; j++)
            memcpy(c->values + 2 * (j * c->room + at), values + 2 * (j * m + i), 2 * sizeof *values);
    }
    st = LARMOR_OK;
done:
    free(values);
    free(k);
    return st;
}

static int64_t lot_of(const lmr_job *job, const larmor_group *g)
{
    const int64_t longest = g->samples > 0 ? g->samples : 1;
    const int64_t lot = READ_TOGETHER / (longest * (8 * (int64_t)job->info.coils + 24));
    return lot > 0 ? lot : 1;
}

static larmor_status look_at_centre(lmr_job *job, int index, middle *c)
{
    larmor_group g;
    int64_t n[3];
    LMR_TRY(lmr_source_group(job->source, index, &g));
    centre_side(job, &job->grid[index], n);
    const int64_t lot = lot_of(job, &g);
    c->count = 0;
    for (int64_t first = 0; first < g.readouts; first += lot) {
        const int64_t count = g.readouts - first < lot ? g.readouts - first : lot;
        larmor_samples samples;
        LMR_TRY(lmr_go_on());
        LMR_TRY(read_some(job, index, first, count, &samples));
        const larmor_status st = add_inside(&samples, n, c);
        larmor_samples_free(&samples);
        LMR_TRY(st);
    }
    return LARMOR_OK;
}

/* How many there are; whatever the scale is. */
static larmor_status count_centre(const larmor_recon *r, int index, int64_t *count)
{
    lmr_job look = r->job;
    middle c = {.coils = look.coils};
    look.scale = 1;
    LMR_TRY(look_at_centre(&look, index, &c));
    *count = c.count;
    return LARMOR_OK;
}

/* Room for as many as there are, and they. */
static larmor_status read_centre(lmr_job *job, int index, middle *c)
{
    *c = (middle){.coils = job->coils};
    LMR_TRY(look_at_centre(job, index, c));
    c->room = c->count;
    c->keeps = 1;
    c->values = malloc(2 * sizeof *c->values * (size_t)(c->room * c->coils) + 1);
    c->points = malloc(3 * sizeof *c->points * (size_t)c->room + 1);
    return c->values && c->points ? look_at_centre(job, index, c) : LMR_NO_MEMORY();
}

/* ---- maps ---- */

static larmor_coils_opts coils_opts(const lmr_job *job, const larmor_grid *grid, const larmor_encoding *e)
{
    larmor_coils_opts opts = {.calibration = job->calibration};
    for (int d = 0; d < 3 && e; d++) opts.encoded[d] = fmin(1, e->fov_mm[d] / grid->fov_mm[d]);
    return opts;
}

/* Of this rank's planes, as the whole volume has them. */
static larmor_status find_maps(lmr_job *job, int index, const lmr_frame *frame, int64_t first, int64_t planes)
{
    larmor_array *kspace = NULL, *traj = NULL;
    larmor_coils_opts opts = coils_opts(job, &frame->grid, &frame->encoding);
    middle c;
    larmor_status st;
    opts.first = first;
    opts.planes = planes;
    LMR_OR(done, read_centre(job, index, &c));
    LMR_OR(done, larmor_array_upload(job->dev, LARMOR_C64, LARMOR_SHAPE(c.count, 1, c.coils), LARMOR_C64, c.values,
                                     &kspace));
    LMR_OR(done, larmor_array_upload(job->dev, LARMOR_F64, LARMOR_SHAPE(3, c.count, 1), LARMOR_F64, c.points, &traj));
    free_centre(&c);
    c = (middle){.count = 0};
    st = larmor_coils_estimate(kspace, traj, NULL, lmr_grid_shape(&frame->grid), &opts, &job->maps,
                               &job->maps_report);
done:
    free_centre(&c);
    larmor_array_free(traj);
    larmor_array_free(kspace);
    return st;
}

static larmor_status make_maps(lmr_job *job, int index, const lmr_frame *frame)
{
    const larmor_group *g = &frame->group;
    int64_t first, planes;
    if (job->maps && job->maps_encoding == g->encoding && job->maps_slice == g->slice) return LARMOR_OK;
    larmor_array_free(job->maps);
    job->maps = NULL;
    job->maps_report = (larmor_coils_report){0};
    LMR_TRY(larmor_ranks_part(job->slabs, frame->grid.matrix[2], &first, &planes));
    LMR_TRY(lmr_enter(job->events, "coil maps"));
    if (job->coils > 1) {
        LMR_TRY(find_maps(job, index, frame, first, planes));
    } else {
        const larmor_shape slab = LARMOR_SHAPE(frame->grid.matrix[0], frame->grid.matrix[1], planes, 1);
        LMR_TRY(larmor_array_create(job->dev, LARMOR_C64, slab, &job->maps));
        LMR_TRY(larmor_fill(job->maps, 1));
    }
    job->maps_encoding = g->encoding;
    job->maps_slice = g->slice;
    job->maps_from = index;
    return LARMOR_OK;
}

/* ---- numbers of all ranks ---- */

int lmr_slabs_stop(const lmr_job *job, int stop)
{
    double any[2] = {stop != 0, 0};
    if (!job->slabs) return stop;
    return lmr_ranks_total(job->slabs, LARMOR_OK, any) || any[0] > 0;
}

int lmr_slabs_failed(const lmr_job *job)
{
    return job->slabs && job->slabs->agreed;
}

larmor_status lmr_slabs_noise_level(const lmr_job *job, const lmr_frame *frame, double *deviation)
{
    const double count = (double)larmor_array_count(frame->samples.kspace);
    double own = 0;
    LMR_TRY(larmor_ranks_sum_over(job->dev, NULL));
    const larmor_status st = count > 0 ? larmor_noise_level(frame->samples.kspace, frame->samples.traj, &own) : LARMOR_OK;
    LMR_TRY(larmor_ranks_sum_over(job->dev, job->slabs));
    double sum[2] = {count * own * own, count};
    LMR_TRY(lmr_ranks_total(job->slabs, st, sum));
    *deviation = sum[1] > 0 ? sqrt(sum[0] / sum[1]) : 0;
    return LARMOR_OK;
}

larmor_status lmr_slabs_fill_noise(const lmr_job *job, double deviation, uint64_t seed, larmor_array *noise)
{
    const int64_t coils = job->coils, own = larmor_array_count(noise) / coils;
    int64_t before;
    double all[2] = {(double)own, 0};
    LMR_TRY(lmr_ranks_total(job->slabs, LARMOR_OK, all));
    LMR_TRY(lmr_ranks_before(job->slabs, own, &before));
    for (int64_t c = 0; c < coils; c++) {
        larmor_array *coil;
        LMR_TRY(larmor_array_part(noise, c, 1, LARMOR_SHAPE(own), &coil));
        larmor_status st = lmr_random_fill_from(coil, seed, c * (int64_t)all[0] + before);
        if (!st) st = larmor_axpby(sqrt(3.) * deviation, coil, 0, coil); /* as larmor_noise_fill has it */
        larmor_array_free(coil);
        LMR_TRY(st);
    }
    return LARMOR_OK;
}

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
    LMR_TRY(lmr_source_group(job->source, index, &frame->group));
    LMR_TRY(lmr_source_encoding(job->source, frame->group.encoding, &frame->encoding));
    frame->grid = job->grid[index];
    LMR_TRY(larmor_ranks_part(job->slabs, frame->group.readouts, &first, &count));
    LMR_TRY(larmor_ranks_sum_over(job->dev, job->slabs)); /* the scale is that of all samples */
    LMR_TRY(read_some(job, index, first, count, &frame->samples));
    LMR_TRY(larmor_ranks_sum_over(job->dev, NULL));
    LMR_TRY(make_maps(job, index, frame));
    double outside[2] = {(double)frame->samples.outside, 0};
    LMR_TRY(lmr_ranks_total(job->slabs, LARMOR_OK, outside));
    result->outside = (int64_t)outside[0];
    result->maps = job->maps_report;
    memcpy(result->grid, frame->grid.matrix, sizeof result->grid);
    return LARMOR_OK;
}

/* Planes from .. end - 1 of the image that rank i has, and at which of its own they begin. */
static int64_t planes_of(const lmr_job *job, const larmor_grid *grid, int i, int64_t *from, int64_t *own)
{
    const int64_t all = grid->matrix[2], low = all / 2 - grid->crop[2] / 2, count = larmor_ranks_count(job->slabs);
    const int64_t first = i * all / count, end = (i + 1) * all / count;
    const int64_t begin = first > low ? first : low, stop = end < low + grid->crop[2] ? end : low + grid->crop[2];
    *from = begin - low;
    *own = begin - first;
    return stop > begin ? stop - begin : 0;
}

/* Rank i's planes to their place in the image of rank 0. */
static larmor_status gather_planes(const lmr_job *job, const larmor_grid *grid, int i, larmor_array *slab,
                                   larmor_array *image)
{
    const int me = larmor_ranks_number(job->slabs);
    int64_t from, own;
    larmor_array *part = NULL, *to = NULL;
    larmor_status st = LARMOR_OK;
    const int64_t planes = planes_of(job, grid, i, &from, &own);
    if (!planes || (me && me != i)) return LARMOR_OK;
    if (me == i) LMR_OR(done, larmor_array_slice(slab, own, planes, &part));
    if (!me) LMR_OR(done, larmor_array_slice(image, from, planes, &to));
    st = i ? lmr_ranks_pass(job->slabs, i, 0, me ? part : to) : larmor_copy(part, to);
done:
    larmor_array_free(part);
    larmor_array_free(to);
    return st;
}

/* x, this rank's slab of the solution, in the image's voxels. */
static larmor_status finish_slab(const lmr_job *job, const lmr_frame *frame, larmor_array *x, larmor_array **slab)
{
    const larmor_grid *grid = &frame->grid;
    const larmor_shape shape = LARMOR_SHAPE(grid->crop[0], grid->crop[1], larmor_array_shape(x).dim[2]);
    larmor_array *single;
    LMR_TRY(larmor_array_convert(x, LARMOR_C64, &single));
    larmor_status st = larmor_clear_unseen(job->maps, single);
    if (!st)
        st = larmor_crop(single, shape, lmr_density_scale(&frame->encoding, grid) * lmr_unscaled_image(job), slab);
    larmor_array_free(single);
    return st;
}

static larmor_status gather(const lmr_job *job, const lmr_frame *frame, larmor_array *slab, larmor_status own,
                            larmor_array **image)
{
    const int count = larmor_ranks_count(job->slabs);
    if (!own && !larmor_ranks_number(job->slabs))
        own = larmor_array_create(job->dev, LARMOR_C64, larmor_shape_of(3, frame->grid.crop), image);
    if (!own && *image) own = larmor_zero(*image);
    LMR_TRY(lmr_ranks_agree(job->slabs, own, NULL, NULL));
    for (int i = 0; i < count; i++) LMR_TRY(gather_planes(job, &frame->grid, i, slab, *image));
    return *image ? lmr_check_image(*image, &frame->group) : LARMOR_OK;
}

static larmor_status solve(lmr_job *job, int index, larmor_array **image, larmor_recon_report *report)
{
    lmr_frame frame = {.phase = NULL};
    larmor_array *x = NULL, *slab = NULL;
    larmor_status st;
    *report = (larmor_recon_report){0};
    if (!job->whitening) job->scale = 0;
    LMR_OR(done, open_frame(job, index, &frame, report));
    LMR_OR(done, lmr_enter(job->events, "operator"));
    LMR_OR(done, larmor_ranks_sum_over(job->dev, job->slabs));
    LMR_OR(done, lmr_solve_frames(job, &frame, 1, &x, report));
    LMR_OR(done, larmor_ranks_sum_over(job->dev, NULL));
    lmr_unscale_report(job, report);
    st = gather(job, &frame, slab, finish_slab(job, &frame, x, &slab), image);
done:
    larmor_array_free(slab);
    larmor_array_free(x);
    close_frame(&frame);
    return st;
}

/* All ranks, at the same time. A rank that fails says so in the place of what all would do next. */
static larmor_status solve_all(larmor_recon *r, int s, larmor_array **image, larmor_recon_report *report)
{
    lmr_job *job = &r->job;
    struct lmr_kept *const checkpoint = job->checkpoint;
    *image = NULL;
    job->slabs->agreed = LARMOR_OK;
    job->checkpoint = NULL; /* a solver's state is in slabs, too */
    larmor_status st = solve(job, r->list.group[r->list.first[s]], image, report);
    job->checkpoint = checkpoint;
    const larmor_status ended = larmor_ranks_sum_over(job->dev, NULL);
    if (!st) st = ended;
    if (!job->slabs->agreed) st = lmr_ranks_agree(job->slabs, st, NULL, NULL);
    if (!st) return LARMOR_OK;
    larmor_array_free(*image);
    *image = NULL;
    return st;
}

larmor_status lmr_slabs_run(larmor_recon *r, int s, larmor_array **image, larmor_recon_report *report)
{
    *image = NULL;
    if (!r->job.slabs->is_shared)
        return LMR_FAIL(LARMOR_ERR_ARG, "recon: the volume is in slabs of several processes; call larmor_recon_share");
    LMR_TRY(lmr_ranks_order(r->job.slabs, &s, sizeof s));
    return solve_all(r, s, image, report);
}

/* *end: 1 if rank 0 is done. */
static larmor_status serve_one(larmor_recon *r, int *end)
{
    larmor_recon_report report;
    larmor_array *image;
    int s = -1;
    void *data;
    int64_t bytes;
    LMR_TRY(r->job.slabs->by->receive(0, LMR_TAG_ORDER, NULL, NULL, &data, &bytes));
    *end = !bytes;
    if (bytes == sizeof s) memcpy(&s, data, sizeof s);
    free(data);
    if (*end) return LARMOR_OK;
    if (s < 0 || s >= r->list.series)
        return LMR_FAIL(LARMOR_ERR_FORMAT, "an order of rank 0 is not what was expected");
    lmr_begin_series(&r->events, s + 1, r->list.series);
    const larmor_status st = solve_all(r, s, &image, &report);
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

/* ---- memory ---- */

static double most(double a, double b)
{
    return a > b ? a : b;
}

/* What is there while the maps are made: lots of samples, the centre on both sides of its upload, the estimate. */
static larmor_status maps_bytes(const lmr_job *job, const larmor_group *g, const larmor_problem *p, int64_t centre,
                                int64_t planes, double *bytes)
{
    larmor_coils_opts opts = coils_opts(job, NULL, NULL);
    larmor_problem own = *p;
    int64_t estimate;
    const double sample = 8 * (double)job->coils + 24;
    const double lot = (double)lot_of(job, g) * (double)g->samples * 2 * (8 * (double)job->info.coils + 24);
    opts.planes = planes;
    own.samples = centre;
    own.dtype = LARMOR_C64;
    LMR_TRY(larmor_coils_memory(job->dev, &own, &opts, &estimate));
    *bytes = sample * (double)centre + most(lot, most(sample * (double)centre, (double)estimate));
    if (job->coils == 1) *bytes = 0;
    return LARMOR_OK;
}

/* Of the rank that has most, and of rank 0 with an image. */
static larmor_status slab_bytes(const larmor_recon *r, int index, int64_t centre, double *bytes)
{
    const lmr_job *job = &r->job;
    const larmor_grid *grid = &job->grid[index];
    const int count = larmor_ranks_count(job->slabs);
    const larmor_dtype dtype = lmr_job_precision(job);
    larmor_group g;
    int64_t operator, solver;
    double maps;
    LMR_TRY(lmr_source_group(job->source, index, &g));
    const int64_t planes = (grid->matrix[2] + count - 1) / count, readouts = (g.readouts + count - 1) / count;
    const double samples = (double)g.total / (double)(g.readouts > 0 ? g.readouts : 1) * (double)readouts;
    const larmor_problem p = {.image = lmr_grid_shape(grid),
                              .samples = (int64_t)ceil(samples),
                              .coils = job->coils,
                              .dtype = dtype};
    const larmor_sense_opts sense = {.nufft_tol = job->eps, .toeplitz = job->toeplitz};
    const larmor_shape slab = LARMOR_SHAPE(grid->matrix[0], grid->matrix[1], planes);
    const double voxels = (double)larmor_shape_count(slab), coils = job->coils, all = job->info.coils;
    const double size = (double)larmor_dtype_size(dtype);
    LMR_TRY(maps_bytes(job, &g, &p, centre, planes, &maps));
    LMR_TRY(larmor_sense_slabs_memory(job->dev, count, &p, &sense, &operator));
    LMR_TRY(larmor_cg_memory(dtype, slab, &solver));
    double inside = (double)operator + (double)solver + 2 * size * voxels; /* the iterate, and that of the noise */
    inside += 2 * size * samples * coils;                                  /* noise, and residuals of samples */
    if (dtype == LARMOR_C128) inside += 16 * coils * (voxels + samples);
    const double reading = (8 * all + 8 * coils) * samples;
    const double held = (8 * coils + 24) * samples + 8 * voxels * coils + 2 * LMR_STAGE;
    *bytes = held + most(reading, most(maps, inside + 16 * voxels));
    return LARMOR_OK;
}

static double image_bytes(const larmor_recon *r)
{
    double bytes = 0;
    for (int i = 0; i < r->list.groups; i++)
        bytes += 8 * (double)larmor_shape_count(larmor_shape_of(3, r->job.grid[r->list.group[i]].crop));
    return bytes;
}

/* All series, with the job's choice of Toeplitz. */
static larmor_status plan_all(larmor_recon *r, int64_t centre)
{
    lmr_plan *plan = &r->plan;
    const double images = image_bytes(r);
    plan->planned = 0;
    plan->toeplitz = r->job.toeplitz;
    for (int s = 0; s < r->list.series; s++) {
        double bytes;
        LMR_TRY(slab_bytes(r, r->list.group[r->list.first[s]], centre, &bytes));
        plan->bytes[s] = (int64_t)(bytes + images);
        if (plan->bytes[s] > plan->planned) plan->planned = plan->bytes[s];
    }
    return LARMOR_OK;
}

larmor_status lmr_slabs_plan(larmor_recon *r)
{
    lmr_plan *plan = &r->plan;
    int64_t centre = 0;
    lmr_plan_free(plan);
    *plan = (lmr_plan){
        .limit = r->opts.memory, .coils = r->job.coils, .block = 1, .precondition = -1, .choose = -1};
    plan->bytes = calloc((size_t)r->list.series, sizeof *plan->bytes);
    if (!plan->bytes) return LMR_NO_MEMORY();
    if (r->job.coils > 1) LMR_TRY(count_centre(r, r->list.group[0], &centre));
    LMR_TRY(plan_all(r, centre));
    if (plan->limit && plan->planned > plan->limit && !r->opts.toeplitz) {
        r->job.toeplitz = -1;
        LMR_TRY(plan_all(r, centre));
    }
    if (plan->limit && plan->planned > plan->limit) return lmr_report_too_large(r);
    lmr_report_slabs(r);
    return LARMOR_OK;
}
