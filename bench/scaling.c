/* The measurements of `larmor-bench scaling`. SPDX-License-Identifier: Apache-2.0 */
#include "scaling.h"

#include <pthread.h>

#include "common.h"
#include "timing.h"

/* ---- the place ---- */

/* "cuda:0,1": the first `count` members. */
static larmor_status open_first(const larmor_device *all, int count, larmor_device **dev)
{
    char spec[1024] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof spec; i++)
        used += (size_t)snprintf(spec + used, sizeof spec - used, "%s%s", i ? "," : "",
                                 larmor_device_spec(larmor_device_member(all, i)));
    return larmor_device_open(spec, dev);
}

static larmor_status open_group(const char *device, int64_t threads, scaling_place *place)
{
    larmor_device *all;
    larmor_status st = app_open_devices(device, threads, &all);
    if (st) return st;
    const int members = larmor_device_members(all);
    if (!members) {
        place->group[place->devices++] = all;
        return LARMOR_OK;
    }
    for (int i = 1; i <= members && i <= SCALING_MOST && !st; i++) {
        st = open_first(all, i, &place->group[place->devices]);
        if (!st) place->devices++;
    }
    larmor_device_free(all);
    return st;
}

/* GPUs by the rank's number on its machine. */
static larmor_status open_of_rank(const char *device, int64_t threads, scaling_place *place)
{
    char spec[32];
    if (!device || strcmp(device, "cuda") != 0) return open_group(device, threads, place);
    snprintf(spec, sizeof spec, "cuda:%d", larmor_ranks_local(place->ranks));
    return open_group(spec, threads, place);
}

larmor_status scaling_open(const char *device, int64_t threads, int repeats, scaling_place *place)
{
    *place = (scaling_place){.repeats = repeats};
    if (larmor_ranks_started() < 2) return open_group(device, threads, place);
    TRY(larmor_ranks_open(&place->ranks));
    if (!scaling_is_first(place)) app_set_silent();
    larmor_status st = open_of_rank(device, threads, place);
    if (!st && place->devices > 1) st = larmor_fail(LARMOR_ERR_ARG, "scaling: one device for each rank expected");
    return larmor_ranks_agree(place->ranks, st, NULL);
}

void scaling_close(scaling_place *place)
{
    for (int i = 0; i < place->devices; i++) larmor_device_free(place->group[i]);
    larmor_ranks_free(place->ranks);
    *place = (scaling_place){.ranks = NULL};
}

int scaling_is_first(const scaling_place *place)
{
    return larmor_ranks_number(place->ranks) == 0;
}

/* All ranks meet; with an error of one all end. */
static larmor_status meet(const scaling_place *place, larmor_status own)
{
    return place->ranks ? larmor_ranks_agree(place->ranks, own, NULL) : own;
}

/* The most of all ranks. */
static larmor_status slowest(const scaling_place *place, larmor_status own, double *seconds)
{
    const double most = 1e9;
    int64_t left = (int64_t)((most - *seconds) * 1e9);
    if (!place->ranks) return own;
    own = larmor_ranks_agree(place->ranks, own, &left);
    *seconds = most - (double)left * 1e-9;
    return own;
}

static double median(double *values, int count)
{
    bench_sort(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* ---- weak: a NUFFT on each ---- */

typedef struct weak_job {
    larmor_device *dev;
    bench_case c;
    bench_data data;
    larmor_nufft *plan;
    double seconds;
    pthread_t thread;
    int started;
    larmor_status st;
    char message[512];
} weak_job;

static void keep(weak_job *job, larmor_status st)
{
    job->st = st;
    if (st) snprintf(job->message, sizeof job->message, "%s", larmor_last_error());
}

static larmor_status execute(weak_job *job)
{
    const double began = app_now();
    larmor_status st = app_stopped() ? LARMOR_STOPPED : larmor_nufft_execute(job->plan, job->data.in, job->data.out);
    if (!st) st = larmor_device_sync(job->dev);
    job->seconds = app_now() - began;
    return st;
}

static void *execute_one(void *user)
{
    keep(user, execute(user));
    return NULL;
}

static larmor_status prepare(weak_job *job)
{
    const bench_case *c = &job->c;
    larmor_nufft_opts opts = {.type = c->type,
                              .ndim = c->ndim,
                              .batch = c->batch,
                              .tol = c->tol,
                              .dtype = c->is_double ? LARMOR_C128 : LARMOR_C64};
    memcpy(opts.modes, c->modes, sizeof opts.modes);
    larmor_status st = bench_data_draw(job->dev, &job->c, &job->data);
    if (!st) st = larmor_nufft_create(job->dev, &opts, &job->plan);
    if (!st) st = larmor_nufft_set_points(job->plan, job->data.traj, job->data.aims);
    return st ? st : execute(job); /* the first one is cold */
}

static void *prepare_one(void *user)
{
    keep(user, prepare(user));
    return NULL;
}

/* A thread for each job; one alone is done by the caller's. */
static larmor_status on_all(weak_job *job, int count, void *(*what)(void *user))
{
    for (int i = 0; i < count; i++) {
        job[i].started = count > 1 && !pthread_create(&job[i].thread, NULL, what, &job[i]);
        if (!job[i].started) what(&job[i]);
    }
    for (int i = 0; i < count; i++)
        if (job[i].started) pthread_join(job[i].thread, NULL);
    for (int i = 0; i < count; i++)
        if (job[i].st) return larmor_fail(job[i].st, "%s", job[i].message);
    return LARMOR_OK;
}

static larmor_status repeat_weak(const scaling_place *place, weak_job *job, int count, double *seconds)
{
    larmor_status st = meet(place, on_all(job, count, prepare_one));
    for (int r = 0; r < place->repeats && !st; r++) {
        st = meet(place, on_all(job, count, execute_one));
        seconds[r] = 0;
        for (int i = 0; i < count; i++) seconds[r] = fmax(seconds[r], job[i].seconds);
        if (!st) st = slowest(place, LARMOR_OK, &seconds[r]);
    }
    return st;
}

larmor_status scaling_weak(scaling_place *place, const bench_case *c, int count, double *seconds)
{
    const int here = place->ranks ? 1 : count;
    APP_HEAP weak_job *job = calloc((size_t)here, sizeof *job);
    APP_HEAP double *each = calloc((size_t)place->repeats, sizeof *each);
    larmor_device *group = place->group[here - 1];
    larmor_status st = job && each ? LARMOR_OK : NO_MEMORY();
    for (int i = 0; i < here && !st; i++) {
        larmor_device *member = larmor_device_member(group, i);
        job[i].dev = member ? member : group;
        job[i].c = *c;
    }
    if (!st) st = repeat_weak(place, job, here, each);
    if (!st) *seconds = median(each, place->repeats);
    for (int i = 0; job && i < here; i++) {
        larmor_nufft_free(job[i].plan);
        bench_data_free(&job[i].data);
    }
    return st;
}

/* ---- strong: images ---- */

/* Samples without an object: what takes time does not depend on them. All images share the arrays. */
typedef struct scan {
    larmor_device *host;
    larmor_array *traj, *kspace, *maps;
    larmor_readouts *image;
    larmor_source *source;
} scan;

static void free_scan(scan *s)
{
    larmor_source_free(s->source);
    larmor_array_free(s->traj);
    larmor_array_free(s->kspace);
    larmor_array_free(s->maps);
    larmor_device_free(s->host);
    free(s->image);
}

static larmor_status noise(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, uint64_t seed,
                           larmor_array **x)
{
    const larmor_status st = larmor_array_create(dev, dtype, shape, x);
    return st ? st : larmor_noise_fill(*x, 1, seed);
}

/* Golden spokes of twice as many samples as voxels; slices where maps come from the data, else repetitions. */
static larmor_status make_scan(bench_case *c, int images, int given, scan *s)
{
    const int64_t samples = 2 * c->modes[0];
    const int64_t readouts = c->points > samples ? c->points / samples : 1;
    const larmor_traj_opts opts = {.matrix = {c->modes[0], c->modes[1], 1}, .samples = samples, .readouts = readouts};
    larmor_status st = larmor_device_open("cpu:1", &s->host);
    c->points = samples * readouts;
    if (!st) st = larmor_traj_create(s->host, "golden", &opts, &s->traj);
    if (!st) st = noise(s->host, LARMOR_C64, LARMOR_SHAPE(samples, readouts, c->batch), 1, &s->kspace);
    if (!st) st = noise(s->host, LARMOR_C64, LARMOR_SHAPE(c->modes[0], c->modes[1], c->batch), 2, &s->maps);
    s->image = calloc((size_t)images, sizeof *s->image);
    if (!st && !s->image) st = NO_MEMORY();
    for (int i = 0; i < images && !st; i++) {
        s->image[i] = (larmor_readouts){.kspace = s->kspace, .traj = s->traj};
        *(given ? &s->image[i].meta.repetition : &s->image[i].meta.slice) = i;
    }
    const larmor_scan_arrays all = {.matrix = {c->modes[0], c->modes[1], 1}, .image = s->image, .images = images};
    return st ? st : larmor_source_of_arrays(&all, &s->source);
}

static larmor_status run_all(larmor_recon *recon, double *seconds)
{
    larmor_status st = LARMOR_OK;
    const double began = app_now();
    for (int i = 0; i < larmor_recon_series(recon) && !st; i++) {
        larmor_recon_result result;
        st = app_stopped() ? LARMOR_STOPPED : larmor_recon_run(recon, i, &result);
        if (!st) larmor_recon_result_free(&result);
    }
    *seconds = app_now() - began;
    return st;
}

larmor_status scaling_series(scaling_place *place, bench_case *c, int count, int images, int given, int iters,
                             double *seconds)
{
    APP_FREED_BY(free_scan) scan s = {.host = NULL};
    larmor_recon *recon = NULL;
    APP_HEAP double *each = calloc((size_t)place->repeats, sizeof *each);
    larmor_recon_opts opts = {.size = sizeof opts,
                              .iters = iters,
                              .tol = -1,
                              .lambda_mode = LARMOR_LAMBDA_RELATIVE,
                              .lambda = 1e-3,
                              .compress = -1,
                              .oversample = {1, 1, 1},
                              .memory = INT64_C(1) << 50,
                              .ranks = place->ranks};
    larmor_status st = each ? make_scan(c, images, given, &s) : NO_MEMORY();
    if (given) opts.maps = s.maps;
    if (!st) st = larmor_recon_create(s.source, place->group[place->ranks ? 0 : count - 1], &opts, &recon);
    if (place->ranks && st)
        st = larmor_ranks_agree(place->ranks, st, NULL);
    else if (place->ranks)
        st = larmor_recon_share(recon, place->ranks);
    if (!scaling_is_first(place)) goto done;
    for (int r = -1; r < place->repeats && !st; r++) st = run_all(recon, &each[r < 0 ? 0 : r]); /* one is cold */
    if (!st) *seconds = median(each, place->repeats);
done:
    larmor_recon_free(recon);
    return st;
}

/* ---- strong: coils, and slabs ---- */

/* The normal map, or the map itself of one that is normal. */
static larmor_status time_maps(const scaling_place *place, larmor_op *A, int is_normal, double *seconds)
{
    larmor_device *dev = larmor_op_device(A);
    APP_HEAP double *each = calloc((size_t)place->repeats, sizeof *each);
    if (!each) return NO_MEMORY();
    APP_OWN(larmor_array, x, noise(dev, larmor_op_dtype(A), larmor_op_in_shape(A), 3, &x));
    APP_OWN(larmor_array, y, larmor_array_create(dev, larmor_op_dtype(A), larmor_op_in_shape(A), &y));
    for (int r = -1; r < place->repeats; r++) {
        const double began = app_now();
        if (app_stopped()) return LARMOR_STOPPED;
        TRY(is_normal ? larmor_op_forward(A, x, y) : larmor_op_normal(A, x, y));
        TRY(larmor_device_sync(dev));
        each[r < 0 ? 0 : r] = app_now() - began;
    }
    *seconds = median(each, place->repeats);
    return LARMOR_OK;
}

larmor_status scaling_coils(scaling_place *place, const bench_case *c, int count, double *seconds)
{
    bench_case own = *c;
    APP_FREED_BY(bench_data_free) bench_data data = {.dev = NULL};
    APP_OWNED(larmor_array) *maps = NULL;
    larmor_device *dev = place->group[place->ranks ? 0 : count - 1];
    if (place->ranks) TRY(larmor_sense_share(dev, place->ranks));
    if (!scaling_is_first(place)) return LARMOR_OK;
    own.batch = 1; /* of the samples, which nobody needs */
    TRY(bench_data_draw(dev, &own, &data));
    TRY(noise(dev, LARMOR_C64, larmor_shape_append(larmor_shape_of(c->ndim, c->modes), c->batch), 2, &maps));
    const larmor_sense_opts opts = {.traj = data.traj, .nufft_tol = c->tol, .toeplitz = 1};
    APP_OWN(larmor_op, A, larmor_op_sense(maps, &opts, &A));
    return time_maps(place, A, 0, seconds);
}

/* This rank's part of the points. */
static larmor_status points_of(const scaling_place *place, const bench_data *data, larmor_array **traj)
{
    int64_t first, count;
    const larmor_status st = larmor_ranks_part(place->ranks, larmor_array_count(data->traj) / 3, &first, &count);
    return st ? st : larmor_array_slice(data->traj, first, count, traj);
}

larmor_status scaling_slabs(scaling_place *place, const bench_case *c, int by_toeplitz, double *seconds)
{
    bench_case own = *c;
    APP_FREED_BY(bench_data_free) bench_data data = {.dev = NULL};
    APP_OWNED(larmor_op) *N = NULL;
    larmor_device *dev = place->group[0];
    larmor_nufft_opts opts = {.ndim = 3, .tol = c->tol, .dtype = c->is_double ? LARMOR_C128 : LARMOR_C64};
    memcpy(opts.modes, c->modes, sizeof opts.modes);
    own.batch = 1;
    TRY(meet(place, bench_data_draw(dev, &own, &data)));
    APP_OWN(larmor_array, traj, meet(place, points_of(place, &data, &traj)));
    if (!by_toeplitz) opts.type = 2;
    if (place->ranks && by_toeplitz)
        TRY(larmor_op_toeplitz_slabs(dev, place->ranks, &opts, traj, NULL, &N));
    else if (place->ranks)
        TRY(larmor_op_nufft_slabs(dev, place->ranks, &opts, traj, &N));
    else if (by_toeplitz)
        TRY(larmor_op_toeplitz(dev, &opts, traj, NULL, &N));
    else
        TRY(larmor_op_nufft(dev, &opts, traj, &N));
    TRY(time_maps(place, N, by_toeplitz, seconds));
    return slowest(place, LARMOR_OK, seconds);
}
