/* A volume in slabs on the devices of a group. What processes do that mpirun starts, threads do here: each has a
 * reconstruction of its own of the same scan and options, on its device, and its rank. The caller's thread is rank 0,
 * which alone tells of events, keeps checkpoints and gives the image. SPDX-License-Identifier: Apache-2.0 */
#include "schedule/slab_threads.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/core.h"
#include "core/ranks/ranks.h"
#include "schedule/fallback.h"

typedef struct rank_thread {
    lmr_slab_threads *all;
    larmor_ranks *ranks; /* its own; freed by the thread once that was started */
    larmor_device *dev;
    pthread_t thread;
    int started;
} rank_thread;

struct lmr_slab_threads {
    int count;
    rank_thread *thread; /* [count]; the first is the caller's, which is not started */
    atomic_int stop;     /* 1: what they do before the first series is to end */
    larmor_source *source;
    larmor_recon_opts opts; /* of the others; its pointers hold until all have begun */
    int slabs_from;
    lmr_known known; /* where the group has looked for it as each rank would */
};

static void close_threads(lmr_slab_threads *all)
{
    if (!all) return;
    all->stop = 1;
    for (int i = 0; i < all->count; i++)
        if (!all->thread[i].started) larmor_ranks_free(all->thread[i].ranks); /* rank 0's ends the others */
    for (int i = 0; i < all->count; i++) {
        if (all->thread[i].started) pthread_join(all->thread[i].thread, NULL);
        larmor_device_free(all->thread[i].dev);
    }
    larmor_source_free(all->source);
    LMR_FREE(all->known.compression, all->known.delays, all->thread, all);
}

static const lmr_known *known_of(const lmr_slab_threads *all)
{
    return all->slabs_from == LMR_SLABS_OF_ONE_COIL ? NULL : &all->known;
}

/* What a step after them has found too large. */
static larmor_status keep_known(larmor_recon *r, lmr_slab_threads *all)
{
    lmr_known *known = &all->known;
    if (all->slabs_from == LMR_SLABS_OF_ONE_COIL) return LARMOR_OK;
    known->compressed = r->facts.compressed;
    (void)LMR_HAND_ON(known->delays, r->facts.delays);
    if (!r->facts.compression) return LARMOR_OK;
    known->shape = larmor_array_shape(r->facts.compression);
    return larmor_array_download(r->facts.compression, LARMOR_C64, &known->compression);
}

static larmor_status make(const larmor_recon *r, larmor_source *source, const larmor_device *group,
                          lmr_slab_threads **threads)
{
    lmr_slab_threads *all = calloc(1, sizeof *all);
    *threads = all;
    if (!all) return LMR_NO_MEMORY();
    all->thread = calloc((size_t)group->members, sizeof *all->thread);
    larmor_ranks **ranks = calloc((size_t)group->members, sizeof(larmor_ranks *));
    larmor_status st = all->thread && ranks ? lmr_ranks_of_threads(group->members, ranks) : LMR_NO_MEMORY();
    if (!st) all->count = group->members;
    for (int i = 0; i < all->count; i++)
        all->thread[i] = (rank_thread){.all = all, .ranks = ranks[i], .dev = lmr_device_ref(group->member[i])};
    free(ranks);
    all->source = larmor_source_ref(source);
    all->slabs_from = r->slabs_from;
    return st;
}

/* ---- the other ranks ---- */

static int is_to_stop(void *user)
{
    const lmr_slab_threads *all = user;
    return all->stop;
}

/* From here on it is one of the ranks, and takes slabs at that step of the preparation. */
static larmor_status begin_rank(larmor_recon *r, const rank_thread *t, const larmor_recon_opts *opts)
{
    const larmor_raw_info scan = larmor_source_describe(t->all->source);
    larmor_recon_opts own = *opts;
    own.ranks = t->ranks;
    LMR_TRY(lmr_settings_read(&own, &scan, &r->settings));
    r->slabs_from = t->all->slabs_from;
    r->known = known_of(t->all);
    return lmr_recon_begin(r, t->all->source, t->dev);
}

static void *play(void *user)
{
    rank_thread *t = user;
    larmor_recon *r = calloc(1, sizeof *r);
    larmor_stop_when(is_to_stop, t->all);
    const larmor_status st = r ? begin_rank(r, t, &t->all->opts) : LMR_NO_MEMORY();
    if (st)
        larmor_ranks_agree(t->ranks, st, NULL); /* rank 0 says what it is */
    else
        larmor_recon_share(r, t->ranks);
    larmor_recon_free(r);
    larmor_ranks_free(t->ranks);
    return NULL;
}

static larmor_status start(lmr_slab_threads *all)
{
    for (int i = 1; i < all->count; i++) {
        all->thread[i].started = !pthread_create(&all->thread[i].thread, NULL, play, &all->thread[i]);
        LMR_REFUSE(!all->thread[i].started, LARMOR_ERR_MEMORY, "no thread could be started for device %d of %d",
                   i + 1, all->count);
    }
    return LARMOR_OK;
}

/* ---- the caller's ---- */

/* The members that are rank 0's alone. */
static larmor_status become_rank0(larmor_recon *r, larmor_device *group)
{
    r->group = lmr_device_ref(group);
    r->events.is_quiet = 1; /* its lines were in the log before */
    return larmor_device_open("cpu:1", &r->home);
}

/* r is empty, but for its threads. */
static larmor_status begin_all(larmor_recon *r, larmor_device *group, const larmor_recon_opts *opts)
{
    lmr_slab_threads *all = r->threads;
    rank_thread *first = &all->thread[0];
    const larmor_raw_info scan = larmor_source_describe(all->source);
    larmor_recon_opts own = *opts;
    own.ranks = first->ranks;
    LMR_TRY(lmr_settings_read(&own, &scan, &r->settings));
    LMR_TRY(become_rank0(r, group));
    LMR_TRY(start(all));
    r->slabs_from = all->slabs_from;
    r->known = known_of(all);
    const larmor_status st = lmr_recon_begin(r, all->source, first->dev);
    all->stop = st != LARMOR_OK;
    return st ? larmor_ranks_agree(first->ranks, st, NULL) : larmor_recon_share(r, first->ranks);
}

larmor_status lmr_slab_threads_open(larmor_recon *r, larmor_source *source, larmor_device *group,
                                    const larmor_recon_opts *opts)
{
    lmr_slab_threads *all = NULL;
    larmor_recon_opts own;
    const int found = !r->settings.opts.memory;
    larmor_status st = lmr_options_copy(opts, &own);
    if (!st) st = make(r, source, group, &all);
    if (!st) st = keep_known(r, all);
    if (st) {
        close_threads(all);
        return st;
    }
    own.memory = r->plan.limit;
    all->opts = own;
    all->opts.listener = NULL;
    all->opts.checkpoint = NULL;
    lmr_recon_clear(r);
    r->threads = all;
    r->close_threads = close_threads;
    r->memory_found = found;
    return begin_all(r, group, &own);
}
