/* A loop in parts, by threads of its own. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "io/parts.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "core/core.h"

/* A thread is worth its start from about so many bytes on. */
#define LEAST ((int64_t)8 << 20)

enum { BETWEEN_ASKING_MS = 20 };

typedef struct shared {
    lmr_part_work work;
    void *user;
    atomic_int stop;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    int running;
} shared;

typedef struct part {
    shared *all;
    int number;
    int64_t first, end;
    pthread_t thread;
    int started;
    larmor_status status;
    char message[1024];
} part;

int lmr_parts_for(int64_t bytes)
{
    cpu_set_t mine;
    const int cores = sched_getaffinity(0, sizeof mine, &mine) ? 1 : CPU_COUNT(&mine);
    int64_t parts = bytes / LEAST;
    if (parts > cores) parts = cores;
    if (parts > LMR_MOST_PARTS) parts = LMR_MOST_PARTS;
    return parts > 1 ? (int)parts : 1;
}

static int is_to_stop(void *all)
{
    return atomic_load(&((shared *)all)->stop);
}

static void do_part(part *p)
{
    p->status = p->all->work(p->all->user, p->number, p->first, p->end);
    if (p->status) snprintf(p->message, sizeof p->message, "%s", larmor_last_error());
    if (p->status == LARMOR_STOPPED) atomic_store(&p->all->stop, 1);
}

static void *in_thread(void *user)
{
    part *p = user;
    larmor_stop_when(is_to_stop, p->all);
    do_part(p);
    pthread_mutex_lock(&p->all->lock);
    p->all->running--;
    pthread_cond_signal(&p->all->ended);
    pthread_mutex_unlock(&p->all->lock);
    return NULL;
}

/* Signals are for the caller's threads. */
static void start(part *p)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before)) return;
    pthread_mutex_lock(&p->all->lock);
    p->started = !pthread_create(&p->thread, NULL, in_thread, p);
    p->all->running += p->started;
    pthread_mutex_unlock(&p->all->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* The caller's own question whether to stop is asked meanwhile. */
static void wait_for_all(shared *all)
{
    pthread_mutex_lock(&all->lock);
    while (all->running) {
        lmr_wait_ms(&all->ended, &all->lock, BETWEEN_ASKING_MS);
        if (lmr_stop_asked()) atomic_store(&all->stop, 1);
    }
    pthread_mutex_unlock(&all->lock);
}

/* What fails does not end the other parts: the first failure is that of one part alone. */
static larmor_status first_failure(const part *p, int parts)
{
    for (int i = 0; i < parts; i++)
        if (p[i].status) return larmor_fail(p[i].status, "%s", p[i].message);
    return LARMOR_OK;
}

larmor_status lmr_in_parts(int64_t count, int parts, lmr_part_work work, void *user)
{
    part p[LMR_MOST_PARTS];
    shared all = {.work = work, .user = user};
    atomic_init(&all.stop, 0);
    if (parts > LMR_MOST_PARTS) parts = LMR_MOST_PARTS;
    if (parts > count) parts = count > 1 ? (int)count : 1;
    if (parts < 2) return work(user, 0, 0, count);
    pthread_mutex_init(&all.lock, NULL);
    pthread_cond_init(&all.ended, NULL);
    for (int i = 0; i < parts; i++)
        p[i] = (part){.all = &all, .number = i, .first = count * i / parts, .end = count * (i + 1) / parts};
    for (int i = 1; i < parts; i++) start(&p[i]);
    for (int i = 0; i < parts; i++)
        if (!p[i].started) do_part(&p[i]);
    wait_for_all(&all);
    for (int i = 1; i < parts; i++)
        if (p[i].started) pthread_join(p[i].thread, NULL);
    pthread_cond_destroy(&all.ended);
    pthread_mutex_destroy(&all.lock);
    return first_failure(p, parts);
}
