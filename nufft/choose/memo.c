/* What was chosen lately. Images of a scan, and the counts of memory before them, ask for the same grid again and
 * again, each of which takes a tenth of a millisecond and more; what is chosen follows from the request alone.
 * This is one of the few places with state that all of a process share (docs/reference/architecture.md).
 * SPDX-License-Identifier: Apache-2.0 */
#include "nufft/choose/memo.h"

#include <pthread.h>

#include "core/core.h"

enum { KEPT = 96, WINDOWS = 256 }; /* of some 2.5 kB each */

typedef struct entry {
    uint64_t hash; /* 0: empty */
    lmr_nufft_request request;
    lmr_nufft_rates rates;
    int64_t modes[3];
    lmr_nufft_choice choice;
} entry;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static entry kept[KEPT];
static int next;

/* Windows for one axis, each at its key's place, in that of another one. */
static struct tuned {
    int64_t key[3]; /* width, modes, cells; 0: empty */
    lmr_window window;
    lmr_window_error error;
} tuned[WINDOWS];

static uint64_t add(uint64_t hash, double value)
{
    return lmr_hash(hash, &value, sizeof value);
}

/* Member by member, as what lies between members is not theirs. */
static uint64_t hash_of(const lmr_nufft_request *r, const lmr_nufft_rates *rates, const int64_t modes[3])
{
    const int whole[] = {r->ndim, r->single, r->width, r->lattice, r->full, r->types, rates->prunes, rates->threads};
    uint64_t hash = lmr_hash(1, whole, sizeof whole);
    hash = add(hash, r->tol);
    hash = add(hash, r->upsample);
    hash = add(hash, r->points);
    hash = add(hash, r->terms);
    hash = add(hash, r->batch);
    hash = lmr_hash(hash, r->cells, sizeof r->cells);
    hash = lmr_hash(hash, r->at_ends, sizeof r->at_ends);
    hash = lmr_hash(hash, modes, sizeof(int64_t[3]));
    hash = lmr_hash(hash, rates->start, sizeof rates->start);
    hash = lmr_hash(hash, rates->cell, sizeof rates->cell);
    return hash ? hash : 1;
}

static int same_numbers(const double *a, const double *b, int count)
{
    return !memcmp(a, b, (size_t)count * sizeof *a);
}

static int same_request(const lmr_nufft_request *a, const lmr_nufft_request *b)
{
    return a->ndim == b->ndim && a->single == b->single && a->width == b->width && a->lattice == b->lattice &&
           a->full == b->full && a->types == b->types && same_numbers(&a->tol, &b->tol, 1) &&
           same_numbers(&a->upsample, &b->upsample, 1) && same_numbers(&a->points, &b->points, 1) &&
           same_numbers(&a->terms, &b->terms, 1) && same_numbers(&a->batch, &b->batch, 1) &&
           same_numbers(a->at_ends, b->at_ends, 3) && same_numbers(a->targets_at_ends, b->targets_at_ends, 3) &&
           !memcmp(a->cells, b->cells, sizeof a->cells);
}

/* 1 if it is this one's; where what lies between members differs, it is taken for another one. */
static int is_of(const entry *e, uint64_t hash, const lmr_nufft_request *r, const lmr_nufft_rates *rates,
                 const int64_t modes[3])
{
    return e->hash == hash && same_request(&e->request, r) && !memcmp(e->modes, modes, sizeof e->modes) &&
           !memcmp(&e->rates, rates, sizeof *rates);
}

int lmr_nufft_recall(const lmr_nufft_request *r, const lmr_nufft_rates *rates, const int64_t modes[3],
                     lmr_nufft_choice *choice)
{
    const uint64_t hash = hash_of(r, rates, modes);
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT && !found; i++) {
        found = is_of(&kept[i], hash, r, rates, modes);
        if (found) *choice = kept[i].choice;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void lmr_nufft_remember(const lmr_nufft_request *r, const lmr_nufft_rates *rates, const int64_t modes[3],
                        const lmr_nufft_choice *choice)
{
    pthread_mutex_lock(&lock);
    entry *e = &kept[next];
    next = (next + 1) % KEPT;
    e->hash = hash_of(r, rates, modes);
    e->request = *r;
    e->choice = *choice;
    memcpy(&e->rates, rates, sizeof *rates);
    memcpy(e->modes, modes, sizeof e->modes);
    pthread_mutex_unlock(&lock);
}

void lmr_nufft_tune_window(int width, int64_t modes, int64_t cells, lmr_window *window, lmr_window_error *error)
{
    const int64_t key[] = {width, modes, cells};
    struct tuned *t = &tuned[lmr_hash(1, key, sizeof key) % WINDOWS];
    pthread_mutex_lock(&lock);
    const int found = !memcmp(t->key, key, sizeof key);
    if (found) {
        *window = t->window;
        *error = t->error;
    }
    pthread_mutex_unlock(&lock);
    if (found) return;
    lmr_window_tune(width, modes, cells, window);
    *error = lmr_window_predict(window, modes, cells);
    pthread_mutex_lock(&lock);
    memcpy(t->key, key, sizeof key);
    t->window = *window;
    t->error = *error;
    pthread_mutex_unlock(&lock);
}
