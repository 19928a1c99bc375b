/* FINUFFT and cuFINUFFT as subjects of timing. SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer_calls.h"

#include "try.h"

struct bench_peer {
    void *library;
    const bench_peer_calls *calls;
    bench_peer_functions *functions;
    int is_cuda, number; /* threads of a processor, number of a GPU */
    larmor_timer *timer; /* of the host */
};

/* NULL if the header was not there when this was built. */
static const bench_peer_calls *calls_of(int is_cuda)
{
    const bench_peer_calls *calls[2] = {NULL, NULL};
#ifdef BENCH_HAS_FINUFFT
    calls[0] = &bench_finufft;
#endif
#ifdef BENCH_HAS_CUFINUFFT
    calls[1] = &bench_cufinufft;
#endif
    return calls[is_cuda];
}

static larmor_status load(bench_peer *peer, const char *path, larmor_device *dev)
{
    peer->library = dlopen(path ? path : peer->calls->library, RTLD_NOW | RTLD_LOCAL);
    if (!peer->library) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "--peer-library: %s", dlerror());
    larmor_status st = peer->calls->find(peer->library, &peer->functions);
    if (!st && !peer->is_cuda) st = larmor_timer_create(dev, &peer->timer);
    return st;
}

larmor_status bench_peer_open(const char *name, const char *path, larmor_device *dev, bench_peer **out)
{
    *out = NULL;
    const int is_cuda = !strcmp(name, "cufinufft");
    const bench_peer_calls *calls = calls_of(is_cuda);
    int number;
    if (sscanf(larmor_device_spec(dev), is_cuda ? "cuda:%d" : "cpu:%d", &number) != 1)
        return larmor_fail(LARMOR_ERR_ARG, "--peer %s: got device %s, expected a %s", name, larmor_device_spec(dev),
                           is_cuda ? "CUDA device" : "processor");
    if (!calls)
        return larmor_fail(LARMOR_ERR_UNSUPPORTED,
                           "--peer %s: %s.h was not there when larmor-bench was built; build it again with "
                           "-DLARMOR_FINUFFT_ROOT=FOLDER, which has include/%s.h",
                           name, name, name);
    bench_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return NO_MEMORY();
    peer->calls = calls;
    peer->is_cuda = is_cuda;
    peer->number = number;
    const larmor_status st = load(peer, path, dev);
    if (st) {
        bench_peer_close(peer);
        return st;
    }
    *out = peer;
    return LARMOR_OK;
}

void bench_peer_close(bench_peer *peer)
{
    if (!peer) return;
    larmor_timer_free(peer->timer);
    free(peer->functions);
    if (peer->library && peer->is_cuda) dlclose(peer->library); /* FINUFFT's threads may outlive a close */
    free(peer);
}

int bench_peer_methods(const bench_peer *peer)
{
    return peer->calls->methods;
}

/* Column d of x [ndim, count] times `unit`, in the case's precision; what it became goes to rounded unless that is
 * NULL. */
static larmor_status put_column(const bench_case *c, const bench_data *data, larmor_array *x, int d, double unit,
                                double *rounded, larmor_array **out)
{
    const int64_t count = larmor_array_count(x) / c->ndim;
    const double *from = larmor_array_data(x);
    APP_OWN(larmor_array, host, larmor_array_create(data->host, LARMOR_F64, LARMOR_SHAPE(count), &host));
    double *column = larmor_array_data(host);
#pragma omp parallel for
    for (int64_t j = 0; j < count; j++) {
        column[j] = unit * from[c->ndim * j + d];
        if (!c->is_double) column[j] = (float)column[j];
        if (rounded) rounded[c->ndim * j + d] = column[j] / unit;
    }
    return bench_reals(data->dev, c->is_double, host, out);
}

larmor_status bench_peer_work_create(bench_peer *peer, const bench_case *c, const bench_data *data,
                                     bench_peer_work *work)
{
    *work = (bench_peer_work){.peer = peer, .c = c, .data = data};
    work->points = malloc((size_t)(c->ndim * c->points) * sizeof *work->points + 1);
    if (!work->points) return NO_MEMORY();
    for (int d = 0; d < c->ndim; d++) {
        const double radian = 2 * M_PI / (c->type == 3 ? 1 : (double)c->modes[d]);
        TRY(put_column(c, data, data->points, d, radian, work->points, &work->radians[d]));
        if (c->type == 3) TRY(put_column(c, data, data->targets, d, 1, NULL, &work->aims[d]));
    }
    return larmor_device_sync(data->dev);
}

void bench_peer_work_free(bench_peer_work *work)
{
    for (int d = 0; d < 3; d++) {
        larmor_array_free(work->radians[d]);
        larmor_array_free(work->aims[d]);
    }
    free(work->points);
}

static const bench_peer *peer_of(bench_subject *self)
{
    return ((bench_peer_subject *)self)->work->peer;
}

static larmor_status peer_create(bench_subject *self)
{
    bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_peer *peer = peer_of(self);
    const bench_peer_choice choice = {.number = peer->number, .method = s->method, .max_batch = s->max_batch};
    return peer->calls->create(peer->functions, s->work->c, &choice, &s->plan);
}

static larmor_status peer_set_points(bench_subject *self)
{
    const bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_peer_work *w = s->work;
    void *x[3] = {0}, *t[3] = {0};
    for (int d = 0; d < w->c->ndim; d++) {
        x[d] = larmor_array_data(w->radians[d]);
        if (w->aims[d]) t[d] = larmor_array_data(w->aims[d]);
    }
    return w->peer->calls->set_points(w->peer->functions, w->c, s->plan, x, t);
}

static larmor_status peer_execute(bench_subject *self)
{
    const bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_peer *peer = peer_of(self);
    const bench_data *data = s->work->data;
    const int from_modes = s->work->c->type == 2;
    void *values = larmor_array_data(from_modes ? data->out : data->in);
    void *modes = larmor_array_data(from_modes ? data->in : data->out);
    return peer->calls->execute(peer->functions, s->work->c, s->plan, values, modes);
}

static larmor_status peer_sync(bench_subject *self)
{
    const bench_peer *peer = peer_of(self);
    return peer->calls->wait ? peer->calls->wait(peer->functions) : LARMOR_OK;
}

static larmor_status peer_start(bench_subject *self)
{
    const bench_peer *peer = peer_of(self);
    return peer->timer ? larmor_timer_start(peer->timer) : peer->calls->start(peer->functions);
}

static larmor_status peer_stop(bench_subject *self, double *seconds)
{
    const bench_peer *peer = peer_of(self);
    return peer->timer ? larmor_timer_stop(peer->timer, seconds) : peer->calls->stop(peer->functions, seconds);
}

static void peer_destroy(bench_subject *self)
{
    bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_peer *peer = peer_of(self);
    if (s->plan) peer->calls->destroy(peer->functions, s->work->c, s->plan);
    s->plan = NULL;
}

void bench_peer_prepare(bench_peer_subject *subject, const bench_peer_work *work, int method, int64_t max_batch)
{
    *subject = (bench_peer_subject){
        .base = {peer_create,
                 peer_set_points,
                 peer_execute,
                 peer_sync,
                 peer_start,
                 peer_stop,
                 peer_destroy,
                 {{0}},
                 0,
                 ""},
        .work = work,
        .method = method,
        .max_batch = max_batch,
    };
}
