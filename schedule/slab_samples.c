/* The samples of a rank that has a slab of the volume, and the coil maps of its planes from the centre of k-space
 * of all. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/slab_samples.h"

#include "core/core.h"
#include "pipeline/maps.h"
#include "scan/compress.h"
#include "scan/trajectory.h"

/* Bytes of samples that are read at a time where all are looked at; a GPU waits for its copies each time. */
enum { READ_TOGETHER = 1 << 22, READ_TOGETHER_GPU = 1 << 25 };

/* ---- readouts ---- */

/* Whatever the source computes is of these readouts alone. */
static larmor_status read_alone(const lmr_job *job, int index, const int64_t *which, int64_t count,
                                larmor_samples *samples)
{
    larmor_ranks *whole = job->facts->dev->whole;
    job->facts->dev->whole = NULL;
    LMR_TRY(lmr_source_readouts(job->facts->source, index, which, count, &job->facts->grid[index], job->facts->dev,
                                samples));
    job->facts->dev->whole = whole;
    return LARMOR_OK;
}

static larmor_status read_these(lmr_job *job, int index, const int64_t *which, int64_t count, larmor_samples *samples)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_group group;
    larmor_status st;
    *samples = (larmor_samples){0};
    LMR_OR(done, lmr_source_group(job->facts->source, index, &group));
    LMR_OR(done, read_alone(job, index, which, count, samples));
    if (!samples->kspace || !samples->traj)
        LMR_OR(done, LMR_FAIL(LARMOR_ERR_FORMAT, "slabs: no trajectory is stored with the readouts"));
    LMR_OR(done, lmr_correct_trajectory(job, index, group.encoding, grid, samples));
    LMR_OR(done, lmr_scale_samples(job, samples->kspace));
    if (job->facts->whitening) LMR_OR(done, larmor_whiten(job->facts->whitening, samples->kspace));
    st = lmr_compress(job, samples);
done:
    if (st) larmor_samples_free(samples);
    return st;
}

larmor_status lmr_slab_read(lmr_job *job, int index, int64_t first, int64_t count, larmor_samples *samples)
{
    LMR_HEAP int64_t *which = calloc((size_t)count + 1, sizeof *which);
    *samples = (larmor_samples){0};
    if (!which) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) which[i] = first + i;
    return read_these(job, index, which, count, samples);
}

larmor_status lmr_slab_some(lmr_job *job, int index, int64_t bytes, larmor_samples *samples)
{
    enum { RUNS = 16 };
    larmor_group g;
    int64_t count = 0;
    *samples = (larmor_samples){0};
    LMR_TRY(lmr_source_group(job->facts->source, index, &g));
    const int64_t each = (g.samples > 0 ? g.samples : 1) * (8 * (int64_t)job->facts->info.coils + 24);
    const int64_t most = bytes / each < RUNS ? RUNS : bytes / each;
    if (g.readouts <= most) return lmr_slab_read(job, index, 0, g.readouts, samples);
    LMR_HEAP LMR_NEW_ZEROS(int64_t, which, most);
    for (int run = 0; run < RUNS; run++)
        for (int64_t i = 0; i < most / RUNS; i++) which[count++] = run * g.readouts / RUNS + i;
    return read_these(job, index, which, count, samples);
}

/* ---- the centre of k-space, which gives the maps ---- */

#define RADIUS_MARGIN 1.01 /* of its radius, so that none is missed by rounding */

/* Samples of all readouts, of all coils, one after the other. */
typedef struct middle {
    double radius[3]; /* in 1/FOV */
    int64_t count, room, coils;
    int measures;          /* 1: the noise of all samples is measured, lot by lot: */
    double noise, samples; /* the squares of its deviation times the samples, and these */
    float *values;         /* [coils, room, 2] */
    double *points;        /* [room, 3] */
} middle;

LMR_FREES(free_centre, middle, values, points)

/* That of the plan, of samples that no scale was chosen for yet. */
struct lmr_slab_middle {
    int index; /* of the group */
    middle c;
};

void lmr_slab_forget_centre(lmr_caches *caches)
{
    if (caches->centre) free_centre(&caches->centre->c);
    free(caches->centre);
    caches->centre = NULL;
}

static int is_inside(const double *k, const double radius[3])
{
    double square = 0;
    for (int d = 0; d < 3; d++) square += pow(k[d] / (RADIUS_MARGIN * radius[d]), 2);
    return square < 1;
}

/* To [coils, room]. */
static larmor_status change_room(middle *c, int64_t room)
{
    const size_t each = 2 * sizeof *c->values;
    LMR_HEAP float *values = malloc(each * (size_t)(room * c->coils) + 1);
    double *points = values ? realloc(c->points, 3 * sizeof *points * (size_t)room + 1) : NULL;
    if (!points) return LMR_NO_MEMORY();
    c->points = points;
    for (int64_t j = 0; j < c->coils && c->count; j++)
        memcpy(values + 2 * j * room, c->values + 2 * j * c->room, each * (size_t)c->count);
    float *const before = c->values;
    c->values = values;
    c->room = room;
    values = before;
    return LARMOR_OK;
}

/* Those of one lot of readouts. */
static larmor_status add_inside(const larmor_samples *samples, middle *c)
{
    const int64_t m = larmor_array_count(samples->traj) / 3;
    LMR_OWN_MEMORY(double, k, larmor_array_download(samples->traj, LARMOR_F64, &k));
    LMR_OWN_MEMORY(float, values, larmor_array_download(samples->kspace, LARMOR_C64, &values));
    for (int64_t i = 0; i < m; i++) {
        if (!is_inside(k + 3 * i, c->radius)) continue;
        if (c->count == c->room) LMR_TRY(change_room(c, 2 * c->room + m));
        const int64_t at = c->count++;
        memcpy(c->points + 3 * at, k + 3 * i, 3 * sizeof *k);
        for (int64_t j = 0; j < c->coils; j++)
            memcpy(c->values + 2 * (j * c->room + at), values + 2 * (j * m + i), 2 * sizeof *values);
    }
    return LARMOR_OK;
}

static larmor_status add_noise(const larmor_samples *samples, middle *c)
{
    const double count = (double)larmor_array_count(samples->kspace);
    double deviation;
    LMR_TRY(larmor_noise_level(samples->kspace, samples->traj, &deviation));
    c->noise += count * deviation * deviation;
    c->samples += count;
    return LARMOR_OK;
}

int64_t lmr_slab_lot(const lmr_job *job, const larmor_group *g)
{
    const int64_t longest = g->samples > 0 ? g->samples : 1;
    const int64_t most = lmr_device_is_processor(job->facts->dev) ? READ_TOGETHER : READ_TOGETHER_GPU;
    const int64_t lot = most / (longest * (8 * (int64_t)job->facts->info.coils + 24));
    return lot > 0 ? lot : 1;
}

/* All that c asks for, which is to be freed in either case. */
static larmor_status read_centre(lmr_job *job, int index, middle *c)
{
    larmor_group g;
    LMR_TRY(lmr_source_group(job->facts->source, index, &g));
    const int64_t lot = lmr_slab_lot(job, &g);
    c->coils = job->facts->coils;
    for (int64_t first = 0; first < g.readouts; first += lot) {
        const int64_t count = g.readouts - first < lot ? g.readouts - first : lot;
        larmor_samples samples;
        LMR_TRY(lmr_go_on());
        LMR_TRY(lmr_slab_read(job, index, first, count, &samples));
        larmor_status st = add_inside(&samples, c);
        if (!st && c->measures) st = add_noise(&samples, c);
        larmor_samples_free(&samples);
        LMR_TRY(st);
    }
    return change_room(c, c->count);
}

/* What the maps of a group are found from, without its samples. */
static larmor_status begin_task(lmr_job *job, int index, lmr_maps_task *task)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_group group;
    larmor_encoding encoding;
    *task = (lmr_maps_task){.job = job, .image = lmr_grid_shape(grid)};
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    LMR_TRY(lmr_source_encoding(job->facts->source, group.encoding, &encoding));
    lmr_maps_encoded(&encoding, grid, task->encoded);
    return LARMOR_OK;
}

static int same_radius(const double a[3], const double b[3])
{
    return a[0] == b[0] && a[1] == b[1] && a[2] == b[2];
}

/* 1 if the plan has found it. */
static int has_centre(const lmr_job *job, int index, const double radius[3])
{
    const struct lmr_slab_middle *known = job->caches->centre;
    return known && known->index == index && known->c.coils == job->facts->coils &&
           same_radius(known->c.radius, radius);
}

larmor_status lmr_slab_count_centre(const lmr_job *job, int index, int64_t *count)
{
    lmr_job look = *job;
    double radius[3];
    lmr_maps_task task;
    look.found.scale = 1;
    LMR_TRY(begin_task(&look, index, &task));
    lmr_maps_radius(job, task.image, task.encoded, radius);
    if (!has_centre(job, index, radius)) {
        lmr_slab_forget_centre(job->caches);
        LMR_NEW_ZEROS(struct lmr_slab_middle, found, 1);
        job->caches->centre = found;
        found->index = index;
        memcpy(found->c.radius, radius, sizeof radius);
        const larmor_status st = read_centre(&look, index, &found->c);
        if (st) lmr_slab_forget_centre(job->caches);
        LMR_TRY(st);
    }
    *count = job->caches->centre->c.count;
    return LARMOR_OK;
}

/* On the device; c is cleared but for its numbers. */
static larmor_status upload_centre(const lmr_job *job, middle *c, larmor_array **kspace, larmor_array **traj)
{
    LMR_TRY(larmor_array_upload(job->facts->dev, LARMOR_C64, LARMOR_SHAPE(c->count, 1, c->coils), LARMOR_C64,
                                c->values, kspace));
    LMR_TRY(
        larmor_array_upload(job->facts->dev, LARMOR_F64, LARMOR_SHAPE(3, c->count, 1), LARMOR_F64, c->points, traj));
    free_centre(c);
    c->values = NULL;
    c->points = NULL;
    return LARMOR_OK;
}

larmor_status lmr_slab_centre(lmr_job *job, int index, int64_t radius, larmor_array **kspace, larmor_array **traj,
                              double *noise)
{
    LMR_FREED_BY(free_centre) middle c = {.radius = {(double)radius, (double)radius, (double)radius}, .measures = 1};
    LMR_TRY(read_centre(job, index, &c));
    LMR_TRY(upload_centre(job, &c, kspace, traj));
    *noise = c.samples > 0 ? sqrt(c.noise / c.samples) : 0;
    return LARMOR_OK;
}

/* ---- maps ---- */

/* That which the plan has found, where samples keep their scale; c has the radius. */
static larmor_status take_centre(lmr_job *job, int index, middle *c)
{
    if (job->found.scale != 1 || !has_centre(job, index, c->radius)) {
        lmr_slab_forget_centre(job->caches);
        return read_centre(job, index, c);
    }
    *c = job->caches->centre->c;
    job->caches->centre->c = (middle){.count = 0};
    lmr_slab_forget_centre(job->caches);
    return LARMOR_OK;
}

/* Of this rank's planes, as the whole volume has them. */
static larmor_status find_maps(lmr_job *job, int index, int64_t first, int64_t planes)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples samples = {0};
    LMR_FREED_BY(free_centre) middle c = {.count = 0};
    lmr_maps_task task;
    LMR_TRY(begin_task(job, index, &task));
    lmr_maps_radius(job, task.image, task.encoded, c.radius);
    LMR_TRY(take_centre(job, index, &c));
    LMR_TRY(upload_centre(job, &c, &samples.kspace, &samples.traj));
    task.samples = &samples;
    task.first = first;
    task.planes = planes;
    return job->facts->maps_method->make(&task, &job->found.maps.array, &job->found.maps.report);
}

/* Where there are no maps yet, those of a slice are of the group that gave them before a checkpoint, if that is of
 * the slice. */
static int maps_group_of(const lmr_job *job, int index, const larmor_group *g)
{
    larmor_group before;
    if (job->found.maps.array || job->found.maps.from < 0 ||
        lmr_source_group(job->facts->source, job->found.maps.from, &before))
        return index;
    return before.encoding == g->encoding && before.slice == g->slice ? job->found.maps.from : index;
}

larmor_status lmr_slab_maps(lmr_job *job, int index, const lmr_frame *frame)
{
    const larmor_group *g = &frame->group;
    int64_t first, planes;
    if (job->found.maps.array && job->found.maps.encoding == g->encoding && job->found.maps.slice == g->slice)
        return LARMOR_OK;
    const int from = maps_group_of(job, index, g);
    LMR_CLEAR(job->found.maps.array);
    job->found.maps.report = (larmor_coils_report){0};
    LMR_TRY(larmor_ranks_part(job->facts->slabs, frame->grid.matrix[2], &first, &planes));
    LMR_TRY(lmr_enter(job->events, "coil maps"));
    if (job->facts->coils > 1) {
        LMR_TRY(find_maps(job, from, first, planes));
    } else {
        const larmor_shape slab = LARMOR_SHAPE(frame->grid.matrix[0], frame->grid.matrix[1], planes, 1);
        LMR_TRY(larmor_array_create(job->facts->dev, LARMOR_C64, slab, &job->found.maps.array));
        LMR_TRY(larmor_fill(job->found.maps.array, 1));
    }
    job->found.maps.encoding = g->encoding;
    job->found.maps.slice = g->slice;
    job->found.maps.from = from;
    return LARMOR_OK;
}
