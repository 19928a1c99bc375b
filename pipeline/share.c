/* What images with the same trajectory have in common. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/share.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/device.h"
#include "core/op.h"
#include "core/refs.h"
#include "core/status.h"

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

struct lmr_common {
    lmr_refs refs;
    layout of;
    pthread_mutex_t lock; /* of what follows */
    part part[LMR_COMMON_PARTS];
    int64_t hits;
};

struct lmr_share {
    lmr_refs refs;
    pthread_mutex_t lock; /* of what follows */
    int room, count;
    lmr_common *known[LMR_SHARE_MOST]; /* the last one first */
};

/* ---- life ---- */

larmor_status lmr_share_create(int room, lmr_share **out)
{
    lmr_share *share = calloc(1, sizeof *share);
    *out = share;
    if (!share) return LMR_NO_MEMORY();
    atomic_init(&share->refs, 1);
    pthread_mutex_init(&share->lock, NULL);
    share->room = room < LMR_SHARE_MOST ? room : LMR_SHARE_MOST;
    return LARMOR_OK;
}

lmr_share *lmr_share_ref(lmr_share *share)
{
    if (share) lmr_refs_add(&share->refs);
    return share;
}

void lmr_share_free(lmr_share *share)
{
    if (!share || !lmr_refs_drop(&share->refs)) return;
    for (int i = 0; i < share->count; i++) lmr_common_free(share->known[i]);
    pthread_mutex_destroy(&share->lock);
    free(share);
}

lmr_common *lmr_common_ref(lmr_common *c)
{
    lmr_refs_add(&c->refs);
    return c;
}

void lmr_common_free(lmr_common *c)
{
    if (!c || !lmr_refs_drop(&c->refs)) return;
    for (int p = 0; p < LMR_COMMON_PARTS; p++) larmor_array_free(c->part[p].x);
    pthread_mutex_destroy(&c->lock);
    free(c->of.k);
    free(c);
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
static void bring_forward(lmr_share *share, int i)
{
    lmr_common *c = share->known[i];
    for (; i > 0; i--) share->known[i] = share->known[i - 1];
    share->known[0] = c;
}

/* The one of this layout, to be freed; NULL where there is none. */
static lmr_common *known(lmr_share *share, const layout *of)
{
    for (int i = 0; i < share->count; i++) {
        if (!same_layout(&share->known[i]->of, of)) continue;
        bring_forward(share, i);
        return lmr_common_ref(share->known[0]);
    }
    return NULL;
}

/* In the place of the one that was not asked for the longest, where there is no other. */
static void add(lmr_share *share, lmr_common *c)
{
    if (share->count == share->room) lmr_common_free(share->known[--share->count]);
    share->known[share->count++] = lmr_common_ref(c);
    bring_forward(share, share->count - 1);
}

larmor_status lmr_share_find(const lmr_job *job, const lmr_frame *frame, lmr_common **common)
{
    lmr_share *share = job->caches->share;
    layout of;
    *common = NULL;
    if (!share || share->room < 1 || job->settings->opts.density == LARMOR_DENSITY_STORED) return LARMOR_OK;
    LMR_TRY(read_layout(frame, &of));
    pthread_mutex_lock(&share->lock);
    lmr_common *c = known(share, &of);
    if (!c && (c = calloc(1, sizeof *c))) {
        atomic_init(&c->refs, 1);
        pthread_mutex_init(&c->lock, NULL);
        c->of = of;
        of.k = NULL;
        add(share, c);
    }
    pthread_mutex_unlock(&share->lock);
    free(of.k);
    *common = c;
    return c ? LARMOR_OK : LMR_NO_MEMORY();
}

/* ---- parts ---- */

static int same_numbers(const double a[2], const double b[2])
{
    return a[0] == b[0] && a[1] == b[1];
}

larmor_status lmr_common_take(lmr_common *c, lmr_common_part which, const double by[2], larmor_device *dev,
                              larmor_array **x)
{
    larmor_array *there = NULL;
    *x = NULL;
    if (!c) return LARMOR_OK;
    const part *p = &c->part[which];
    pthread_mutex_lock(&c->lock);
    if (p->x && same_numbers(p->by, by)) there = larmor_array_ref(p->x);
    c->hits += there != NULL;
    pthread_mutex_unlock(&c->lock);
    if (!there) return LARMOR_OK;
    const larmor_status st = larmor_array_to(there, dev, x);
    larmor_array_free(there);
    return st;
}

void lmr_common_put(lmr_common *c, lmr_common_part which, const double by[2], larmor_array *x)
{
    if (!c) return;
    part *p = &c->part[which];
    pthread_mutex_lock(&c->lock);
    larmor_array *before = p->x;
    *p = (part){.x = larmor_array_ref(x), .by = {by[0], by[1]}};
    pthread_mutex_unlock(&c->lock);
    larmor_array_free(before);
}

int64_t lmr_share_hits(lmr_share *share)
{
    int64_t hits = 0;
    if (!share) return 0;
    pthread_mutex_lock(&share->lock);
    for (int i = 0; i < share->count; i++) {
        pthread_mutex_lock(&share->known[i]->lock);
        hits += share->known[i]->hits;
        pthread_mutex_unlock(&share->known[i]->lock);
    }
    pthread_mutex_unlock(&share->lock);
    return hits;
}

/* ---- the operator of a job's last image ---- */

void lmr_ready_clear(lmr_ready *ready)
{
    if (!ready) return;
    larmor_op_free(ready->A);
    lmr_common_free(ready->of);
    ready->A = NULL;
    ready->of = NULL;
}

double lmr_share_density(const lmr_job *job, const lmr_frame *frame)
{
    if (frame->cartesian.on_grid) return -1;
    return job->settings->opts.density == LARMOR_DENSITY_AUTO ? job->found.decided.density
                                                              : job->settings->opts.density;
}

int lmr_ready_suits(const lmr_job *job, const lmr_frame *frame)
{
    return job->caches->ready && frame->common && !job->facts->basis && !frame->segments &&
           !larmor_device_members(job->facts->dev) && !job->facts->dev->ranks;
}

larmor_status lmr_ready_take(const lmr_job *job, const lmr_frame *frame, larmor_array *maps, larmor_op **A)
{
    lmr_ready *ready = job->caches->ready;
    const int same = ready->A && ready->of == frame->common && ready->by == lmr_share_density(job, frame);
    *A = NULL;
    if (same && !lmr_op_is_held(ready->A) && larmor_op_dtype(ready->A) == larmor_array_dtype(maps)) {
        const larmor_status st = larmor_sense_set_maps(ready->A, maps);
        if (st && st != LARMOR_ERR_SHAPE) return st;
        ready->used += !st;
        if (!st) *A = larmor_op_ref(ready->A);
    }
    if (!*A) lmr_ready_clear(ready); /* before there is another */
    return LARMOR_OK;
}

void lmr_ready_keep(const lmr_job *job, const lmr_frame *frame, larmor_op *A)
{
    lmr_ready *ready = job->caches->ready;
    lmr_ready_clear(ready);
    ready->A = larmor_op_ref(A);
    ready->of = lmr_common_ref(frame->common);
    ready->by = lmr_share_density(job, frame);
}

/* ---- of a job ---- */

larmor_status lmr_share_open(int room, lmr_caches *caches)
{
    caches->ready = calloc(1, sizeof *caches->ready);
    if (!caches->ready) return LMR_NO_MEMORY();
    return lmr_share_create(room, &caches->share);
}

void lmr_share_close(lmr_caches *caches)
{
    lmr_ready_clear(caches->ready);
    free(caches->ready);
    lmr_share_free(caches->share);
    caches->ready = NULL;
    caches->share = NULL;
}
