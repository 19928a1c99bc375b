/* cuFINUFFT by dlopen: the calls and options that the documentation of version 2.5 gives, which work on
 * device pointers and CUDA's default stream. SPDX-License-Identifier: Apache-2.0 */
#include "bench_peer.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* struct cufinufft_opts */
typedef struct peer_options {
    double upsampfac;
    int gpu_method, gpu_sort;
    int gpu_binsize[3], gpu_obinsize[3];
    int gpu_maxsubprobsize, gpu_kerevalmeth, gpu_spreadinterponly, gpu_maxbatchsize, gpu_device_id;
    void *gpu_stream;
    int modeord;
    unsigned char later[420]; /* what a version adds behind */
} peer_options;

typedef int (*make_double)(int, int, const int64_t *, int, int, double, void **, peer_options *);
typedef int (*make_single)(int, int, const int64_t *, int, int, float, void **, peer_options *);
typedef int (*set_points)(void *, int64_t, void *, void *, void *, int64_t, void *, void *, void *);
typedef int (*execute)(void *, void *, void *);
typedef int (*destroy)(void *);

struct bench_peer {
    void *library;
    int device;
    void (*default_opts)(peer_options *);
    make_double make_double;
    make_single make_single;
    set_points set_points[2]; /* single, double */
    execute execute[2];
    destroy destroy[2];
    /* of the CUDA runtime that the library uses: cudaDeviceSynchronize, cudaEventCreate, ... */
    int (*wait)(void);
    int (*event_create)(void **);
    int (*event_record)(void *, void *);
    int (*event_wait)(void *);
    int (*event_elapsed)(float *, void *, void *);
    void *event[2]; /* at start and stop */
};

static larmor_status find(bench_peer *peer, const char *name, void *function)
{
    void *found = dlsym(peer->library, name);
    if (!found) return larmor_fail(LARMOR_ERR_UNSUPPORTED, "--peer-library: it has no %s", name);
    memcpy(function, &found, sizeof found); /* a pointer to data becomes one to a function, as POSIX has it */
    return LARMOR_OK;
}

static larmor_status find_all(bench_peer *peer)
{
    const struct {
        const char *name;
        void *function;
    } wanted[] = {
        {"cufinufft_default_opts", &peer->default_opts}, {"cufinufft_makeplan", &peer->make_double},
        {"cufinufftf_makeplan", &peer->make_single},     {"cufinufftf_setpts", &peer->set_points[0]},
        {"cufinufft_setpts", &peer->set_points[1]},      {"cufinufftf_execute", &peer->execute[0]},
        {"cufinufft_execute", &peer->execute[1]},        {"cufinufftf_destroy", &peer->destroy[0]},
        {"cufinufft_destroy", &peer->destroy[1]},        {"cudaDeviceSynchronize", &peer->wait},
        {"cudaEventCreate", &peer->event_create},        {"cudaEventRecord", &peer->event_record},
        {"cudaEventSynchronize", &peer->event_wait},     {"cudaEventElapsedTime", &peer->event_elapsed},
    };
    larmor_status st = LARMOR_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && !st; i++)
        st = find(peer, wanted[i].name, wanted[i].function);
    return st;
}

/* Defaults that would not be there if the fields stood elsewhere: in a struct of all bits set, the known values. */
static larmor_status check_options(bench_peer *peer)
{
    peer_options o;
    memset(&o, 0xff, sizeof o);
    peer->default_opts(&o);
    const int fits = o.upsampfac >= 0 && o.upsampfac <= 4 && o.gpu_method == 0 && o.gpu_sort == 1 &&
                     o.gpu_maxsubprobsize >= 1 && o.gpu_maxsubprobsize <= 1 << 20 && o.gpu_kerevalmeth == 1 &&
                     o.gpu_spreadinterponly == 0 && o.gpu_maxbatchsize == 0 && o.gpu_device_id == 0 &&
                     !o.gpu_stream && o.modeord == 0;
    return fits ? LARMOR_OK
                : larmor_fail(LARMOR_ERR_UNSUPPORTED,
                              "--peer-library: its options are not laid out as in cuFINUFFT 2.5");
}

larmor_status bench_peer_open(const char *path, larmor_device *dev, bench_peer **out)
{
    *out = NULL;
    int device;
    if (sscanf(larmor_device_spec(dev), "cuda:%d", &device) != 1)
        return larmor_fail(LARMOR_ERR_ARG, "--peer cufinufft: got device %s, expected a CUDA device",
                           larmor_device_spec(dev));
    bench_peer *peer = calloc(1, sizeof *peer);
    if (!peer) return larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    peer->device = device;
    peer->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    larmor_status st =
        peer->library ? find_all(peer) : larmor_fail(LARMOR_ERR_UNSUPPORTED, "--peer-library: %s", dlerror());
    if (!st) st = check_options(peer);
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
    if (peer->library) dlclose(peer->library);
    free(peer);
}

larmor_status bench_peer_work_create(bench_peer *peer, const bench_case *c, const bench_data *data,
                                     bench_peer_work *work)
{
    *work = (bench_peer_work){.peer = peer, .c = c, .data = data};
    double *x = malloc((size_t)c->points * sizeof *x + 1);
    work->points = malloc((size_t)(c->ndim * c->points) * sizeof *work->points + 1);
    larmor_status st = x && work->points ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (int d = 0; d < c->ndim && !st; d++) {
        const double radian = 2 * M_PI / (double)c->modes[d];
        for (int64_t j = 0; j < c->points; j++) {
            x[j] = radian * data->points[c->ndim * j + d];
            if (!c->is_double) x[j] = (float)x[j];
            work->points[c->ndim * j + d] = x[j] / radian;
        }
        st = bench_reals(data->dev, c->is_double, LARMOR_SHAPE(c->points), x, &work->radians[d]);
    }
    free(x);
    if (!st) st = larmor_device_sync(data->dev);
    return st;
}

void bench_peer_work_free(bench_peer_work *work)
{
    for (int d = 0; d < 3; d++) larmor_array_free(work->radians[d]);
    free(work->points);
}

static larmor_status told(const char *what, int code)
{
    return code ? larmor_fail(LARMOR_ERR_BACKEND, "cufinufft: %s returned %d", what, code) : LARMOR_OK;
}

static larmor_status peer_create(bench_subject *self)
{
    bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_peer *peer = s->work->peer;
    const bench_case *c = s->work->c;
    const int sign = c->type == 1 ? 1 : -1, batch = (int)c->batch;
    peer_options o = {0};
    peer->default_opts(&o);
    o.gpu_method = s->method;
    o.gpu_maxbatchsize = (int)s->max_batch;
    o.gpu_device_id = peer->device;
    return told("makeplan",
                c->is_double
                    ? peer->make_double(c->type, c->ndim, c->modes, sign, batch, c->tol, &s->plan, &o)
                    : peer->make_single(c->type, c->ndim, c->modes, sign, batch, (float)c->tol, &s->plan, &o));
}

static larmor_status peer_set_points(bench_subject *self)
{
    const bench_peer_subject *s = (bench_peer_subject *)self;
    void *x[3] = {0};
    for (int d = 0; d < s->work->c->ndim; d++) x[d] = larmor_array_data(s->work->radians[d]);
    return told("setpts", s->work->peer->set_points[s->work->c->is_double](s->plan, s->work->c->points, x[0], x[1],
                                                                           x[2], 0, NULL, NULL, NULL));
}

static larmor_status peer_execute(bench_subject *self)
{
    const bench_peer_subject *s = (bench_peer_subject *)self;
    const bench_data *data = s->work->data;
    const int to_modes = s->work->c->type == 1;
    return told("execute", s->work->peer->execute[s->work->c->is_double](
                               s->plan, larmor_array_data(to_modes ? data->in : data->out),
                               larmor_array_data(to_modes ? data->out : data->in)));
}

static larmor_status peer_sync(bench_subject *self)
{
    return told("cudaDeviceSynchronize", ((bench_peer_subject *)self)->work->peer->wait());
}

/* Its work is in the legacy default stream, NULL, and so are the events. They live as long as the process. */
static larmor_status peer_start(bench_subject *self)
{
    bench_peer *peer = ((bench_peer_subject *)self)->work->peer;
    for (int i = 0; i < 2; i++)
        if (!peer->event[i]) {
            const larmor_status st = told("cudaEventCreate", peer->event_create(&peer->event[i]));
            if (st) return st;
        }
    return told("cudaEventRecord", peer->event_record(peer->event[0], NULL));
}

static larmor_status peer_stop(bench_subject *self, double *seconds)
{
    bench_peer *peer = ((bench_peer_subject *)self)->work->peer;
    float milliseconds = 0;
    larmor_status st = told("cudaEventRecord", peer->event_record(peer->event[1], NULL));
    if (!st) st = told("cudaEventSynchronize", peer->event_wait(peer->event[1]));
    if (!st) st = told("cudaEventElapsedTime", peer->event_elapsed(&milliseconds, peer->event[0], peer->event[1]));
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
        .base = {peer_create, peer_set_points, peer_execute, peer_sync, peer_start, peer_stop, peer_destroy, {{0}}},
        .work = work,
        .method = method,
        .max_batch = max_batch,
    };
}
