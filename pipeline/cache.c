/* What images with the same trajectory have in common. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/cache.h"

#include <pthread.h>

#include "core/core.h"
#include "core/refs.h"

/* What must be equal. */
typedef struct layout {
    larmor_shape traj, kspace;
    larmor_dtype dtype; /* of the trajectory */
    int encoding;
    larmor_grid grid;
    size_t bytes;
    unsigned char *k; /* [bytes] */
} layout;

typedef struct part {
    larmor_array *x; /* or NULL */
    double by[2];
} part;

struct lmr_cached {
    lmr_refs refs;
    layout of;
    pthread_mutex_t lock; /* of what follows */
    part part[LMR_CACHED_PARTS];
    int64_t hits;
};

struct lmr_trajectory_cache {
    lmr_refs refs;
    pthread_mutex_t lock; /* of what follows */
    int room, count;
    lmr_cached *known[LMR_MAX_CACHED_TRAJECTORIES]; /* the last one first */
};

/* ---- life ---- */

static larmor_status trajectory_cache_create(int room, lmr_trajectory_cache **out)
{
    lmr_trajectory_cache *cache = calloc(1, sizeof *cache);
    *out = cache;
    if (!cache) return LMR_NO_MEMORY();
    atomic_init(&cache->refs, 1);
    pthread_mutex_init(&cache->lock, NULL);
    cache->room = room < LMR_MAX_CACHED_TRAJECTORIES ? room : LMR_MAX_CACHED_TRAJECTORIES;
    return LARMOR_OK;
}

lmr_trajectory_cache *lmr_trajectory_cache_ref(lmr_trajectory_cache *cache)
{
    if (cache) lmr_refs_add(&cache->refs);
    return cache;
}

static void trajectory_cache_free(lmr_trajectory_cache *cache)
{
    if (!cache || !lmr_refs_drop(&cache->refs)) return;
    for (int i = 0; i < cache->count; i++) lmr_cached_free(cache->known[i]);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

lmr_cached *lmr_cached_ref(lmr_cached *c)
{
    lmr_refs_add(&c->refs);
    return c;
}

void lmr_cached_free(lmr_cached *c)
{
    if (!c || !lmr_refs_drop(&c->refs)) return;
    for (int p = 0; p < LMR_CACHED_PARTS; p++) larmor_array_free(c->part[p].x);
    pthread_mutex_destroy(&c->lock);
    LMR_FREE(c->of.k, c);
}

/* ---- which trajectory ---- */

static int same_grid(const larmor_grid *a, const larmor_grid *b)
{
    if (a->ndim != b->ndim) return 0;
    for (int d = 0; d < a->ndim; d++)
        if (a->matrix[d] != b->matrix[d] || a->fov_mm[d] != b->fov_mm[d] || a->crop[d] != b->crop[d]) return 0;
    return 1;
}

static int same_layout(const layout *a, const layout *b)
{
    return a->dtype == b->dtype && a->encoding == b->encoding && a->bytes == b->bytes &&
           larmor_shape_equal(a->traj, b->traj) && larmor_shape_equal(a->kspace, b->kspace) &&
           same_grid(&a->grid, &b->grid) && !memcmp(a->k, b->k, a->bytes);
}

static larmor_status read_layout(const lmr_frame *frame, layout *of)
{
    const larmor_array *traj = frame->samples.traj;
    *of = (layout){.traj = larmor_array_shape(traj),
                   .kspace = larmor_array_shape(frame->samples.kspace),
                   .dtype = larmor_array_dtype(traj),
                   .encoding = frame->group.encoding,
                   .grid = frame->grid,
                   .bytes = larmor_array_bytes(traj)};
    of->k = malloc(of->bytes + 1);
    if (!of->k) return LMR_NO_MEMORY();
    const larmor_status st = larmor_array_read(traj, of->k, of->bytes);
    if (st) free(of->k);
    return st;
}

/* Place i becomes the first. */
static void bring_forward(lmr_trajectory_cache *cache, int i)
{
    lmr_cached *c = cache->known[i];
    for (; i > 0; i--) cache->known[i] = cache->known[i - 1];
    cache->known[0] = c;
}

/* The one of this layout, to be freed; NULL where there is none. */
static lmr_cached *known(lmr_trajectory_cache *cache, const layout *of)
{
    for (int i = 0; i < cache->count; i++) {
        if (!same_layout(&cache->known[i]->of, of)) continue;
        bring_forward(cache, i);
        return lmr_cached_ref(cache->known[0]);
    }
    return NULL;
}

/* In the place of the one that was not asked for the longest, where there is no other. */
static void add(lmr_trajectory_cache *cache, lmr_cached *c)
{
    if (cache->count == cache->room) lmr_cached_free(cache->known[--cache->count]);
    cache->known[cache->count++] = lmr_cached_ref(c);
    bring_forward(cache, cache->count - 1);
}

larmor_status lmr_trajectory_cache_find(const lmr_job *job, const lmr_frame *frame, lmr_cached **cached)
{
    lmr_trajectory_cache *cache = job->caches->trajectories;
    layout of;
    *cached = NULL;
    if (!cache || cache->room < 1 || job->settings->opts.density == LARMOR_DENSITY_STORED) return LARMOR_OK;
    LMR_TRY(read_layout(frame, &of));
    pthread_mutex_lock(&cache->lock);
    lmr_cached *c = known(cache, &of);
    if (!c && (c = calloc(1, sizeof *c))) {
        atomic_init(&c->refs, 1);
        pthread_mutex_init(&c->lock, NULL);
        c->of = of;
        of.k = NULL;
        add(cache, c);
    }
    pthread_mutex_unlock(&cache->lock);
    free(of.k);
    *cached = c;
    return c ? LARMOR_OK : LMR_NO_MEMORY();
}

/* ---- parts ---- */

static int same_numbers(const double a[2], const double b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

larmor_status lmr_cached_take(lmr_cached *c, lmr_cached_part which, const double by[2], larmor_device *dev,
                              larmor_array **x)
{
    LMR_OWNED(larmor_array) *there = NULL;
    *x = NULL;
    if (!c) return LARMOR_OK;
    const part *p = &c->part[which];
    pthread_mutex_lock(&c->lock);
    if (p->x && same_numbers(p->by, by)) there = larmor_array_ref(p->x);
    c->hits += there != NULL;
    pthread_mutex_unlock(&c->lock);
    if (!there) return LARMOR_OK;
    return larmor_array_to(there, dev, x);
}

void lmr_cached_put(lmr_cached *c, lmr_cached_part which, const double by[2], larmor_array *x)
{
    if (!c) return;
    part *p = &c->part[which];
    pthread_mutex_lock(&c->lock);
    larmor_array *before = p->x;
    *p = (part){.x = larmor_array_ref(x), .by = {by[0], by[1]}};
    pthread_mutex_unlock(&c->lock);
    larmor_array_free(before);
}

int64_t lmr_trajectory_cache_hits(lmr_trajectory_cache *cache)
{
    int64_t hits = 0;
    if (!cache) return 0;
    pthread_mutex_lock(&cache->lock);
    for (int i = 0; i < cache->count; i++) {
        pthread_mutex_lock(&cache->known[i]->lock);
        hits += cache->known[i]->hits;
        pthread_mutex_unlock(&cache->known[i]->lock);
    }
    pthread_mutex_unlock(&cache->lock);
    return hits;
}

/* ---- the operator of a job's last image ---- */

void lmr_operator_cache_clear(lmr_operator_cache *last)
{
    if (!last) return;
    larmor_op_free(last->A);
    lmr_cached_free(last->of);
    last->A = NULL;
    last->of = NULL;
}

double lmr_density_key(const lmr_job *job, const lmr_frame *frame)
{
    if (frame->cartesian.on_grid) return -1;
    return job->settings->opts.density == LARMOR_DENSITY_AUTO ? job->found.decided.density
                                                              : job->settings->opts.density;
}

int lmr_operator_cache_suits(const lmr_job *job, const lmr_frame *frame)
{
    return job->caches->last_operator && frame->cached && !job->facts->basis && !frame->segments &&
           !frame->displacement && !larmor_device_members(job->facts->dev) && !job->facts->dev->ranks;
}

larmor_status lmr_operator_cache_take(const lmr_job *job, const lmr_frame *frame, larmor_array *maps, larmor_op **A)
{
    lmr_operator_cache *last = job->caches->last_operator;
    const int same = last->A && last->of == frame->cached && last->by == lmr_density_key(job, frame);
    *A = NULL;
    if (same && !lmr_op_is_held(last->A) && larmor_op_dtype(last->A) == larmor_array_dtype(maps)) {
        const larmor_status st = larmor_sense_set_maps(last->A, maps);
        if (st && st != LARMOR_ERR_SHAPE) return st;
        last->used += !st;
        if (!st) *A = larmor_op_ref(last->A);
    }
    if (!*A) lmr_operator_cache_clear(last); /* before there is another */
    return LARMOR_OK;
}

void lmr_operator_cache_keep(const lmr_job *job, const lmr_frame *frame, larmor_op *A)
{
    lmr_operator_cache *last = job->caches->last_operator;
    lmr_operator_cache_clear(last);
    last->A = larmor_op_ref(A);
    last->of = lmr_cached_ref(frame->cached);
    last->by = lmr_density_key(job, frame);
}

/* ---- of a job ---- */

larmor_status lmr_caches_open(int room, lmr_caches *caches)
{
    LMR_ALLOCATE_ZEROS(caches->last_operator, 1);
    return trajectory_cache_create(room, &caches->trajectories);
}

void lmr_caches_close(lmr_caches *caches)
{
    lmr_operator_cache_clear(caches->last_operator);
    free(caches->last_operator);
    trajectory_cache_free(caches->trajectories);
    caches->last_operator = NULL;
    caches->trajectories = NULL;
}
