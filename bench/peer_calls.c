/* FINUFFT or cuFINUFFT by its own header: compiled for the first, and with PEER_IS_CUDA for the second. The
 * functions are found in a shared library at run time, so that larmor-bench starts without it. FINUFFT works on
 * host pointers and waits; cuFINUFFT works on device pointers, in CUDA's default stream, where its events are too.
 * SPDX-License-Identifier: Apache-2.0 */
#include "peer_calls.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#ifdef PEER_IS_CUDA
#include <cuda_runtime_api.h>
#include <cufinufft.h>
#define CALLS bench_cufinufft
#define NAME "cufinufft"
#define DOUBLE(name) cufinufft_##name
#define SINGLE(name) cufinufftf_##name
#define FUNCTIONS_OF_CLOCK(X)                                                                                        \
    X(cudaDeviceSynchronize) X(cudaEventCreate) X(cudaEventRecord) X(cudaEventSynchronize) X(cudaEventElapsedTime)
typedef int target_count;
#else
#include <complex.h>
#include <finufft.h>
#define CALLS bench_finufft
#define NAME "finufft"
#define DOUBLE(name) finufft_##name
#define SINGLE(name) finufftf_##name
#define FUNCTIONS_OF_CLOCK(X)
typedef int64_t target_count;
#endif

#define BOTH(X, name) X(DOUBLE(name)) X(SINGLE(name))
#define FUNCTIONS(X)                                                                                                 \
    X(DOUBLE(default_opts)) BOTH(X, makeplan) BOTH(X, setpts) BOTH(X, execute) BOTH(X, destroy) FUNCTIONS_OF_CLOCK(X)
#define MEMBER(name) __typeof__(name) *name;
#define ENTRY_OF(name) {#name, offsetof(bench_peer_functions, name)},
#define ENTRY(name) ENTRY_OF(name) /* after the name was expanded */

struct bench_peer_functions {
    FUNCTIONS(MEMBER)
#ifdef PEER_IS_CUDA
    cudaEvent_t event[2]; /* at start and stop; they live as long as the process */
#endif
};

/* A library of another version than the header writes fewer or more options. */
static larmor_status check_options(const bench_peer_functions *f)
{
    union {
        DOUBLE(opts) options;
        unsigned char byte[1024];
    } o;
    size_t written = sizeof o;
    memset(&o, 0xa5, sizeof o);
    f->DOUBLE(default_opts)(&o.options);
    while (written && o.byte[written - 1] == 0xa5) written--;
    if (written <= sizeof o.options && written + sizeof(double) > sizeof o.options) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_UNSUPPORTED,
                       "--peer " NAME ": the library has %zu bytes of options, the header %zu; build larmor-bench by "
                       "the header of the library's version",
                       written, sizeof o.options);
}

static larmor_status find(void *library, bench_peer_functions **functions)
{
    static const struct {
        const char *name;
        size_t at;
    } list[] = {FUNCTIONS(ENTRY)};
    bench_peer_functions *f = calloc(1, sizeof *f);
    larmor_status st = f ? LARMOR_OK : larmor_fail(LARMOR_ERR_MEMORY, "out of host memory");
    for (size_t i = 0; i < sizeof list / sizeof *list && !st; i++) {
        void *found = dlsym(library, list[i].name);
        if (!found) st = larmor_fail(LARMOR_ERR_UNSUPPORTED, "--peer " NAME ": the library has no %s", list[i].name);
        memcpy((char *)f + list[i].at, &found, sizeof found); /* from data to function, as POSIX has it */
    }
    if (!st) st = check_options(f);
    if (!st) *functions = f;
    if (st) free(f);
    return st;
}

static larmor_status status_of(const char *what, int code)
{
    return code ? larmor_fail(LARMOR_ERR_BACKEND, NAME ": %s returned %d", what, code) : LARMOR_OK;
}

static larmor_status create(const bench_peer_functions *f, const bench_case *c, const bench_peer_choice *choice,
                            void **plan)
{
    const int sign = c->type == 2 ? -1 : 1;
    const int batch = (int)c->batch;
    DOUBLE(opts) o;
    f->DOUBLE(default_opts)(&o);
    if (c->upsample > 0) o.upsampfac = c->upsample;
#ifdef PEER_IS_CUDA
    o.gpu_method = choice->method;
    o.gpu_maxbatchsize = (int)choice->max_batch;
    o.gpu_device_id = choice->number;
#else
    o.nthreads = choice->number;
    o.showwarn = 0; /* else it prints a line for every plan where threads share cores */
#endif
    DOUBLE(plan) in_double = NULL;
    SINGLE(plan) in_single = NULL;
    const int code =
        c->is_double ? f->DOUBLE(makeplan)(c->type, c->ndim, c->modes, sign, batch, c->tol, &in_double, &o)
                     : f->SINGLE(makeplan)(c->type, c->ndim, c->modes, sign, batch, (float)c->tol, &in_single, &o);
    *plan = c->is_double ? (void *)in_double : (void *)in_single;
    return status_of("makeplan", code);
}

static larmor_status set_points(const bench_peer_functions *f, const bench_case *c, void *plan, void *const x[3],
                                void *const targets[3])
{
    void *const *t = targets;
    const int64_t count = c->type == 3 ? bench_case_modes(c) : 0;
    const target_count n = (target_count)count;
    if (n != count) return larmor_fail(LARMOR_ERR_BACKEND, NAME ": more targets than its int counts");
    return status_of("setpts", c->is_double
                                   ? f->DOUBLE(setpts)(plan, c->points, x[0], x[1], x[2], n, t[0], t[1], t[2])
                                   : f->SINGLE(setpts)(plan, c->points, x[0], x[1], x[2], n, t[0], t[1], t[2]));
}

static larmor_status execute(const bench_peer_functions *f, const bench_case *c, void *plan, void *values,
                             void *modes)
{
    return status_of("execute", c->is_double ? f->DOUBLE(execute)(plan, values, modes)
                                             : f->SINGLE(execute)(plan, values, modes));
}

static void destroy(const bench_peer_functions *f, const bench_case *c, void *plan)
{
    if (c->is_double)
        f->DOUBLE(destroy)(plan);
    else
        f->SINGLE(destroy)(plan);
}

#ifdef PEER_IS_CUDA
static larmor_status wait_for_all(const bench_peer_functions *f)
{
    return status_of("cudaDeviceSynchronize", f->cudaDeviceSynchronize());
}

static larmor_status start(bench_peer_functions *f)
{
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < 2 && !st; i++)
        if (!f->event[i]) st = status_of("cudaEventCreate", f->cudaEventCreate(&f->event[i]));
    return st ? st : status_of("cudaEventRecord", f->cudaEventRecord(f->event[0], NULL));
}

static larmor_status stop(const bench_peer_functions *f, double *seconds)
{
    float milliseconds = 0;
    larmor_status st = status_of("cudaEventRecord", f->cudaEventRecord(f->event[1], NULL));
    if (!st) st = status_of("cudaEventSynchronize", f->cudaEventSynchronize(f->event[1]));
    if (!st) st = status_of("cudaEventElapsedTime", f->cudaEventElapsedTime(&milliseconds, f->event[0], f->event[1]));
    *seconds = 1e-3 * milliseconds;
    return st;
}
#endif

const bench_peer_calls CALLS = {
    .library = "lib" NAME ".so",
    .find = find,
    .create = create,
    .set_points = set_points,
    .execute = execute,
    .destroy = destroy,
#ifdef PEER_IS_CUDA
    .methods = 4, /* 2.5 refuses the last */
    .wait = wait_for_all,
    .start = start,
    .stop = stop,
#endif
};
