/* FINUFFT and cuFINUFFT by dlopen: the calls and options that the documentation of version 2.5 gives. Both have the
 * same calls; FINUFFT's work on host pointers and wait, cuFINUFFT's on device pointers and CUDA's default stream.
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* struct finufft_opts */
typedef struct host_options {
    int modeord, spreadinterponly, debug, spread_debug, showwarn, nthreads, fftw, spread_sort, spread_kerevalmeth,
        spread_kerpad;
    double upsampfac;
    int spread_thread, maxbatchsize, spread_nthr_atomic, spread_max_sp_size;
} host_options;

/* struct cufinufft_opts */
typedef struct cuda_options {
    double upsampfac;
    int gpu_method, gpu_sort;
    int gpu_binsize[3], gpu_obinsize[3];
    int gpu_maxsubprobsize, gpu_kerevalmeth, gpu_spreadinterponly, gpu_maxbatchsize, gpu_device_id;
    void *gpu_stream;
    int modeord;
} cuda_options;

typedef union peer_options {
    host_options host;
    cuda_options cuda;
    unsigned char room[512]; /* for what a version adds behind */
} peer_options;

typedef int (*make_double)(int, int, const int64_t *, int, int, double, void **, peer_options *);
typedef int (*make_single)(int, int, const int64_t *, int, int, float, void **, peer_options *);
typedef int (*set_points)(void *, int64_t, void *, void *, void *, int64_t, void *, void *, void *);
typedef int (*execute)(void *, void *, void *);
typedef int (*destroy)(void *);

struct bench_peer {
    void *library;
    const char *name;
    int is_cuda, number; /* threads of a processor, number of a GPU */
    void (*default_opts)(peer_options *);
    make_double make_double;
    make_single make_single;
    set_points set_points[2]; /* single, double */
    execute execute[2];
    destroy destroy[2];
    larmor_timer *timer; /* of the host */
    /* of the CUDA runtime that the library uses: cudaDeviceSynchronize, cudaEventCreate, ... */
    int (*wait)(void);
    int (*event_create)(void **);
    int (*event_record)(void *, void *);
    int (*event_wait)(void *);
    int (*event_elapsed)(float *, void *, void *);
    void *event[2]; /* at start and stop; they live as long as the process */
};

typedef struct wanted {
    const char *name; /* behind the library's own prefix, or whole */
    void *function;
} wanted;

static larmor_status find_all(const bench_peer *peer, const char *prefix, const wanted *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s", prefix, list[i].name);
        void *found = dlsym(peer->library, name);
        if (!found) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "--peer-library: it has no %s", name);
        memcpy(list[i].function, &found, sizeof found); /* from data to function, as POSIX has it */
    }
    return LARMOR_OK;
}

static larmor_status find_functions(bench_peer *peer)
{
    const wanted of_both[] = {
        {"_default_opts", &peer->default_opts}, {"_makeplan", &peer->make_double}, {"f_makeplan", &peer->make_single},
        {"f_setpts", &peer->set_points[0]},     {"_setpts", &peer->set_points[1]}, {"f_execute", &peer->execute[0]},
        {"_execute", &peer->execute[1]},        {"f_destroy", &peer->destroy[0]},  {"_destroy", &peer->destroy[1]},
    };
    const wanted of_cuda[] = {
        {"cudaDeviceSynchronize", &peer->wait},         {"cudaEventCreate", &peer->event_create},
        {"cudaEventRecord", &peer->event_record},       {"cudaEventSynchronize", &peer->event_wait},
        {"cudaEventElapsedTime", &peer->event_elapsed},
    };
    larmor_status st = find_all(peer, peer->name, of_both, sizeof of_both / sizeof *of_both);
    if (!st && peer->is_cuda) st = find_all(peer, "", of_cuda, sizeof of_cuda / sizeof *of_cuda);
    return st;
}

/* Defaults that would not be there if the fields stood elsewhere: in a struct of all bits set, the known values. */
static larmor_status check_options(const bench_peer *peer)
{
    peer_options o;
    memset(&o, 0xff, sizeof o);
    peer->default_opts(&o);
    const host_options *h = &o.host;
    const cuda_options *c = &o.cuda;
    const int fits_host = h->modeord == 0 && h->debug == 0 && h->spread_debug == 0 && h->showwarn == 1 &&
                          h->nthreads == 0 && h->fftw == 64 && h->spread_sort == 2 && h->upsampfac >= 0 &&
                          h->upsampfac <= 4 && h->spread_thread == 0 && h->maxbatchsize == 0;
    const int fits_cuda = c->upsampfac >= 0 && c->upsampfac <= 4 && c->gpu_method == 0 && c->gpu_sort == 1 &&
                          c->gpu_maxsubprobsize >= 1 && c->gpu_maxsubprobsize <= 1 << 20 && c->gpu_kerevalmeth == 1 &&
                          c->gpu_spreadinterponly == 0 && c->gpu_maxbatchsize == 0 && c->gpu_device_id == 0 &&
                          !c->gpu_stream && c->modeord == 0;
    if (peer->is_cuda ? fits_cuda : fits_host) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_UNSUPPORTED, "--peer-library: its options are not laid out as in %s 2.5",
                       peer->name);
}

static larmor_status load(bench_peer *peer, const char *path, larmor_device *dev)
{
    peer->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!peer->library) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "--peer-library: %s", dlerror());
    larmor_status st = find_functions(peer);
    if (!st) st = check_options(peer);
    if (!st && !peer->is_cuda) st = larmor_timer_create(dev, &peer->timer);
    return st;
}

larmor_status bench_peer_open(const char *name, const char *path, larmor_device *dev, bench_peer **out)
{
    *out = NULL;
    const int is_cuda = !strcmp(name, "cufinufft");
    int number;
    if (sscanf(larmor_device_spec(dev), is_cuda ? "cuda:%d" : "cpu:%d", &number) != 1)
        return larmor_fail(LARMOR_ERR_ARG, "--peer %s: got device %s, expected a %s", name, larmor_device_spec(dev),
                           is_cuda ? "CUDA device" : "processor");
    bench_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    peer->name = is_cuda ? "cufinufft" : "finufft";
    peer->is_cuda = is_cuda, peer->number = number;
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
    if (peer->library && peer->is_cuda) dlclose(peer->library); /* FINUFFT's threads may outlive a close */
    free(peer);
}

int bench_peer_methods(const bench_peer *peer)
{
    return peer->is_cuda ? 3 : 0;
}

/* Column d of x [ndim, count] times `unit`, in the case's precision; what it became goes to rounded unless that is
 * NULL. */
static larmor_status put_column(const bench_case *c, const bench_data *data, larmor_array *x, int d, double unit,
                                double *rounded, larmor_array **out)
{
    const int64_t count = larmor_array_count(x) / c->ndim;
    const double *from = larmor_array_data(x);
    larmor_array *host;
    larmor_status st = larmor_array_create(data->host, LARMOR_F64, LARMOR_SHAPE(count), &host);
    if (st) return st;
    double *column = larmor_array_data(host);
#pragma omp parallel for
    for (int64_t j = 0; j < count; j++) {
        column[j] = unit * from[c->ndim * j + d];
        if (!c->is_double) column[j] = (float)column[j];
        if (rounded) rounded[c->ndim * j + d] = column[j] / unit;
    }
    st = bench_reals(data->dev, c->is_double, host, out);
    larmor_array_free(host);
    return st;
}

larmor_status bench_peer_work_create(bench_peer *peer, const bench_case *c, const bench_data *data,
                                     bench_peer_work *work)
{
    *work = (bench_peer_work){.peer = peer, .c = c, .data = data};
    work->points = malloc((size_t)(c->ndim * c->points) * sizeof *work->points + 1);
    larmor_status st = work->points ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int d = 0; d < c->ndim && !st; d++) {
        const double radian = 2 * M_PI / (c->type == 3 ? 1 : (double)c->modes[d]);
        st = put_column(c, data, data->points, d, radian, work->points, &work->radians[d]);
        if (!st && c->type == 3) st = put_column(c, data, data->targets, d, 1, NULL, &work->aims[d]);
    }
    if (!st) st = larmor_device_sync(data->dev);
    return st;
}

void bench_peer_work_free(bench_peer_work *work)
{
    for (int d = 0; d < 3; d++) {
        larmor_array_free(work->radians[d]);
        larmor_array_free(work->aims[d]);
    }
    free(work->points);
}

static larmor_status told(const bench_peer *peer, const char *what, int code)
{
    return code ? larmor_fail(LARMOR_ERR_BACKEND, "%s: %s returned %d", peer->name, what, code) : LARMOR_OK;
}

static const bench_peer *peer_of(bench_subject *self)
{
    return ((bench_peer_subject *)self)->work->peer;
}

static peer_options options_of(const bench_peer_subject *s)
{
    const bench_peer *peer = s->work->peer;
    const bench_case *c = s->work->c;
    peer_options o = {.room = {0}};
    peer->default_opts(&o);
    if (peer->is_cuda) {
        if (c->upsample > 0) o.cuda.upsampfac = c->upsample;
        o.cuda.gpu_method = s->method;
        o.cuda.gpu_maxbatchsize = (int)s->max_batch;
        o.cuda.gpu_device_id = peer->number;
    } else {
        if (c->upsample > 0) o.host.upsampfac = c->upsample;
        o.host.nthreads = peer->number;
    }
    return o;
}

static larmor_status peer_create(bench_subject *self)
{
    bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_peer *peer = peer_of(self);
    const bench_case *c = s->work->c;
    const int sign = c->type == 2 ? -1 : 1, batch = (int)c->batch;
    peer_options o = options_of(s);
    const int code = c->is_double
                         ? peer->make_double(c->type, c->ndim, c->modes, sign, batch, c->tol, &s->plan, &o)
                         : peer->make_single(c->type, c->ndim, c->modes, sign, batch, (float)c->tol, &s->plan, &o);
    return told(peer, "makeplan", code);
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
    return told(w->peer, "setpts",
                w->peer->set_points[w->c->is_double](s->plan, w->c->points, x[0], x[1], x[2],
                                                     w->c->type == 3 ? bench_case_modes(w->c) : 0, t[0], t[1], t[2]));
}

static larmor_status peer_execute(bench_subject *self)
{
    const bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_data *data = s->work->data;
    const int from_modes = s->work->c->type == 2;
    return told(s->work->peer, "execute",
                s->work->peer->execute[s->work->c->is_double](s->plan,
                                                              larmor_array_data(from_modes ? data->out : data->in),
                                                              larmor_array_data(from_modes ? data->in : data->out)));
}

static larmor_status peer_sync(bench_subject *self)
{
    const bench_peer *peer = peer_of(self);
    return peer->is_cuda ? told(peer, "cudaDeviceSynchronize", peer->wait()) : LARMOR_OK;
}

/* On CUDA its work is in the legacy default stream, NULL, and so are the events. */
static larmor_status peer_start(bench_subject *self)
{
    bench_peer *peer = ((bench_peer_subject *)self)->work->peer;
    if (!peer->is_cuda) return larmor_timer_start(peer->timer);
    for (int i = 0; i < 2; i++)
        if (!peer->event[i]) {
            const larmor_status st = told(peer, "cudaEventCreate", peer->event_create(&peer->event[i]));
            if (st) return st;
        }
    return told(peer, "cudaEventRecord", peer->event_record(peer->event[0], NULL));
}

static larmor_status peer_stop(bench_subject *self, double *seconds)
{
    const bench_peer *peer = peer_of(self);
    if (!peer->is_cuda) return larmor_timer_stop(peer->timer, seconds);
    float milliseconds = 0;
    larmor_status st = told(peer, "cudaEventRecord", peer->event_record(peer->event[1], NULL));
    if (!st) st = told(peer, "cudaEventSynchronize", peer->event_wait(peer->event[1]));
    if (!st)
        st = told(peer, "cudaEventElapsedTime", peer->event_elapsed(&milliseconds, peer->event[0], peer->event[1]));
    *seconds = 1e-3 * milliseconds;
    return st;
}

static void peer_destroy(bench_subject *self)
{
    bench_peer_subject *s = (bench_peer_subject *)self;
    if (s->plan) s->work->peer->destroy[s->work->c->is_double](s->plan);
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
