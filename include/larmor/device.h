/* Devices: where arrays live and operators compute. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_DEVICE_H
#define LARMOR_DEVICE_H

#include <stdint.h>

#include "larmor/status.h"

LARMOR_C_BEGIN

typedef struct larmor_device larmor_device; /* refcounted; one thread at a time */

typedef struct larmor_device_info {
    char spec[32];     /* what larmor_device_open takes, e.g. "cpu" or "cuda:0" */
    char name[128];    /* e.g. the processor's name */
    char reason[1024]; /* why it is unavailable; "" if it is available */
    int available;     /* 1 if larmor_device_open would succeed */
    int threads;       /* CPU: threads used by default; else 0 */
    int64_t memory;    /* bytes free for use, 0 if unknown */
} larmor_device_info;

/* Open a device by name: "cpu" (all cores, 32 at most, or OpenMP's own number where that was set), "cpu:4" (4
 * threads), "cuda" (the first GPU that opens), "cuda:1" (the second GPU), "auto" or NULL (the first GPU that opens,
 * else "cpu"; larmor_recon_open_device looks at the scan first).
 *
 * Several names with commas between them open a group of devices: "cuda:0,cuda:1" or "cuda:0,1", "cuda:all" for
 * every GPU, "cpu:2,2" for two workers of two threads, "cpu,cpu" for two that share the cores. The members are all
 * processors or all GPUs; one may be named several times. larmor_recon_create and larmor_op_distribute spread
 * their work over a group. To everything else it is one device: the first GPU, or a processor with the threads of
 * all.
 *
 * A GPU needs the plugin larmor_cuda.so, which is looked for at the first need of it: in $LARMOR_PLUGIN_DIR if that
 * is absolute, in the folder of liblarmor and in its larmor/. Programs with more rights than their user ignore
 * $LARMOR_PLUGIN_DIR, and a folder where any user may put files, such as /tmp, is not searched.
 *
 * Errors  LARMOR_ERR_ARG for a name that is not one of these; LARMOR_ERR_UNSUPPORTED for a backend that this
 *         build or machine lacks (the message names what is missing); LARMOR_ERR_MEMORY; LARMOR_ERR_BACKEND if the
 *         GPU fails. *out is NULL on error. */
LARMOR_API larmor_status larmor_device_open(const char *spec, larmor_device **out);

/* The same while the caller does something else, such as reading a file: a GPU's context takes a third of a
 * second. A GPU is opened in a thread of the library's own; a processor when it is waited for, which takes no
 * time.
 *
 * spec    as above; copied
 * Errors  of _begin: LARMOR_ERR_ARG if opening is NULL, LARMOR_ERR_MEMORY; *opening is NULL then. Of _end, which
 *         waits and frees the opening: those of larmor_device_open. With out NULL the device is given up, and
 *         there is no error. */
typedef struct larmor_opening larmor_opening;
LARMOR_API larmor_status larmor_device_open_begin(const char *spec, larmor_opening **opening);
LARMOR_API larmor_status larmor_device_open_end(larmor_opening *opening, larmor_device **out);

/* Give up one reference; NULL is fine. Arrays and operators keep references of their own. */
LARMOR_API void larmor_device_free(larmor_device *dev);

/* How many devices a group has; 0 for a single device. */
LARMOR_API int larmor_device_members(const larmor_device *dev);

/* Member i of a group, from 0; NULL past the last. It has a queue of its own and serves one thread at a time, as
 * any device does, whatever the group's other members do. Valid while dev lives. */
LARMOR_API larmor_device *larmor_device_member(const larmor_device *dev, int i);

/* The name under which the device was opened, resolved: "auto" becomes e.g. "cpu:8". Valid while dev lives. */
LARMOR_API const char *larmor_device_spec(const larmor_device *dev);

/* Which device it is and, if it was not asked for by name, why this one, in one line: "auto: cuda:0 (NVIDIA H200)" or
 * "auto: cpu:8, because cuda unavailable: ...". Valid while dev lives. */
LARMOR_API const char *larmor_device_reason(const larmor_device *dev);

/* 1 if a call on the device that ended with `status` may succeed on the processor: "auto" chose a GPU by itself,
 *   and the
 * GPU failed, had no memory or could not do it. What was computed on it may be lost. */
LARMOR_API int larmor_device_may_be_left(const larmor_device *dev, larmor_status status);

/* Wait until all that was queued on the device is done. Errors: LARMOR_ERR_BACKEND with an earlier call's fault. */
LARMOR_API larmor_status larmor_device_sync(larmor_device *dev);

/* 1: what is computed from now on has the same bits whenever the same is computed, on GPUs of the same model and
 * with the same version of CUDA; 0, as a device is opened: on a GPU sums of samples are taken in any order, and
 * last bits differ. On a processor bits are always the same. Of a group, all of its members.
 *
 * NUFFTs that spread on a GPU then take the full precomputed form (docs/nufft.md): two numbers and two indices for
 * each cell of each point's window in memory. Type 3 and efforts that measure are refused there. */
LARMOR_API void larmor_device_set_repeatable(larmor_device *dev, int on);

/* Queue everything that follows on a stream of the caller's, after all that was queued before.
 *
 * stream  a cudaStream_t of this GPU, which must live until the device is freed or has been given another; NULL: the
 *         device's own stream again. CUDA's default streams are cudaStreamLegacy and cudaStreamPerThread.
 * Errors  LARMOR_ERR_UNSUPPORTED on a processor; LARMOR_ERR_ARG while a graph is recorded; LARMOR_ERR_BACKEND. */
LARMOR_API larmor_status larmor_device_set_stream(larmor_device *dev, void *stream);

/* A stop-watch that runs on the device: it measures queued work without waiting for it to be queued. On a GPU the
 * time comes from events on the device's own stream, elsewhere from the monotonic clock.
 *
 * Errors  LARMOR_ERR_ARG if out is NULL; LARMOR_ERR_MEMORY; LARMOR_ERR_BACKEND. *out is NULL on error. */
typedef struct larmor_timer larmor_timer; /* keeps a reference to its device */
LARMOR_API larmor_status larmor_timer_create(larmor_device *dev, larmor_timer **out);
LARMOR_API void larmor_timer_free(larmor_timer *timer); /* NULL is fine */

/* Start when all that is queued so far is done; returns at once. A second start replaces the first. */
LARMOR_API larmor_status larmor_timer_start(larmor_timer *timer);

/* The seconds from the start until all that is queued so far is done, for which it waits. May be called again: the
 * start stays.
 *
 * Errors  LARMOR_ERR_ARG if the timer was not started; LARMOR_ERR_BACKEND with an earlier call's fault. */
LARMOR_API larmor_status larmor_timer_stop(larmor_timer *timer, double *seconds);

/* Record what is queued on a device once, to replay it at the cost of a single call: for loops of small transforms,
 * in which queueing takes longer than computing (examples/momentum.c). In a capture of the caller's own stream
 * (larmor_device_set_stream), which others such as PyTorch make by CUDA, the same can be called; what was queued on
 * the device before must be done when it begins.
 *
 * Between larmor_graph_begin and larmor_graph_end calls on the device are recorded instead of queued.
 * Plans and operators can be executed, and those functions of the arrays' algebra called that do not wait.
 * Anything else is refused, by the call itself or by larmor_graph_end: to create arrays, plans and operators, to set
 * points, to wait for the device, to copy from or to the host (larmor_array_read, larmor_dot, ...).
 * A call that was never made before may have to load its code, so make each once before it is recorded.
 *
 * A replay reads and writes the same arrays as the recorded calls, with the contents that they have at that time.
 * These arrays, and the plans and operators with their points, must stay as they are as long as the graph is
 * launched.
 *
 * Errors  LARMOR_ERR_UNSUPPORTED on a device that cannot record, such as the processor; LARMOR_ERR_ARG for a begin
 *         while recording and an end without a begin; LARMOR_ERR_BACKEND or LARMOR_ERR_UNSUPPORTED from end if a call
 *         could not be recorded. After a failed end the device works as before. *graph is NULL on error. */
typedef struct larmor_graph larmor_graph; /* keeps a reference to its device */
LARMOR_API larmor_status larmor_graph_begin(larmor_device *dev);
LARMOR_API larmor_status larmor_graph_end(larmor_device *dev, larmor_graph **graph);

/* Queue all that was recorded, in its order. Errors: LARMOR_ERR_BACKEND. */
LARMOR_API larmor_status larmor_graph_launch(larmor_graph *graph);

/* NULL is fine; waits for the last launch. */
LARMOR_API void larmor_graph_free(larmor_graph *graph);

/* The library plans FFTs by FFTW, whose planner serves all of a process. It asks FFTW to lock it
 * (fftw_make_planner_thread_safe), so that a program can plan its own FFTs at the same time. FFTW cannot do so where
 * the program is linked to libfftw3_omp or to a replacement of FFTW. Such a program gives, before it opens a device,
 * the functions that lock and unlock its own lock around planning. NULL for both: no such lock. Holds for the whole
 * process. */
LARMOR_API void larmor_set_fftw_lock(void (*lock)(void *user), void (*unlock)(void *user), void *user);

/* 1 while this thread is in FFTW, which ends the process by abort() where it gets no memory: for a program's
 *   handler of
 * SIGABRT, which can then say so. Safe there. */
LARMOR_API int larmor_fftw_runs(void);

/* Bytes of the device's memory, and how many are free; 0 where that is unknown. */
LARMOR_API larmor_status larmor_device_memory(const larmor_device *dev, int64_t *available, int64_t *total);

/* Describe the processor, every GPU, and every backend that is not available; to do so it opens them for a moment.
 *
 * infos   room for cap entries, filled up to min(cap, *count); may be NULL if cap is 0.
 * count   how many there are.
 * Errors  LARMOR_ERR_ARG if cap is negative or count is NULL. */
LARMOR_API larmor_status larmor_device_list(larmor_device_info *infos, int cap, int *count);

LARMOR_C_END
#endif
