/* Ranks that are threads of one process: messages through its memory. Short ones are copied and wait in the
 * receiver's box; long ones are offered where they lie, and the receiver copies them from there, from one GPU's
 * memory to the other's without the processor's. Waiting for a rank that has ended is an error.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/device.h"
#include "core/owned.h"
#include "core/ranks/ranks.h"
#include "core/status.h"

/* Milliseconds after which one who waits asks whether it is to stop. */
enum { ASK_EVERY = 20 };

typedef struct message {
    int from, tag;
    int64_t bytes;
    void *data;
    struct message *next;
} message;

typedef enum offer_state { NOTHING, OFFERED, BEING_COPIED } offer_state;

typedef struct offer { /* of one rank to another */
    offer_state state;
    const larmor_device *at; /* whose memory data is; NULL: the host's */
    const void *data;
    int64_t bytes;
} offer;

typedef struct seat { /* of a rank: its link */
    struct room *room;
    int number, gone;
    pthread_cond_t news; /* for it */
    message *first, **last;
} seat;

typedef struct room {
    pthread_mutex_t lock; /* of all that follows */
    int count, open;      /* seats; those that have not ended */
    seat *seat;           /* [count] */
    offer *offer;         /* [from, to] */
} room;

static offer *offer_of(const room *r, int from, int to)
{
    return &r->offer[(int64_t)from * r->count + to];
}

static larmor_status has_ended(int number)
{
    return LMR_FAIL(LARMOR_ERR_BACKEND, "rank %d has ended", number);
}

/* ---- messages ---- */

/* Whoever waits sees that this one is no longer there. */
static void leave(seat *me)
{
    me->gone = 1;
    for (int i = 0; i < me->room->count; i++) pthread_cond_broadcast(&me->room->seat[i].news);
}

static message *make_message(int from, int tag, const void *data, int64_t bytes)
{
    message *m = calloc(1, sizeof *m);
    void *copy = malloc((size_t)bytes + 1);
    if (!m || !copy) {
        LMR_FREE(m, copy);
        return NULL;
    }
    if (bytes) memcpy(copy, data, (size_t)bytes);
    *m = (message){.from = from, .tag = tag, .bytes = bytes, .data = copy};
    return m;
}

static void free_message(message *m)
{
    LMR_FREE(m->data, m);
}

static larmor_status send_message(void *link, int to, int tag, const void *data, int64_t bytes)
{
    seat *me = link, *other = &me->room->seat[to];
    message *m = make_message(me->number, tag, data, bytes);
    pthread_mutex_lock(&me->room->lock);
    const int is_lost = other->gone;
    if (!m) leave(me); /* or others would wait for it */
    if (m && !is_lost) {
        *other->last = m;
        other->last = &m->next;
        pthread_cond_broadcast(&other->news);
    }
    pthread_mutex_unlock(&me->room->lock);
    if (!m) return LMR_NO_MEMORY();
    if (!is_lost) return LARMOR_OK;
    free_message(m);
    return has_ended(to);
}

/* Where the first such message hangs, or NULL. */
static message **find(seat *me, int from, int tag)
{
    message **at = &me->first;
    while (*at && ((*at)->from != from || (*at)->tag != tag)) at = &(*at)->next;
    return *at ? at : NULL;
}

static message *take_out(seat *me, message **at)
{
    message *m = *at;
    *at = m->next;
    if (!*at) me->last = at;
    return m;
}

static int is_there(void *link, int from, int tag)
{
    seat *me = link;
    pthread_mutex_lock(&me->room->lock);
    const int is = find(me, from, tag) != NULL;
    pthread_mutex_unlock(&me->room->lock);
    return is;
}

/* The lock is held here, but not while stop() is called, which may send and ask. */
static int wait_or_stop(seat *me, int (*stop)(void *user), void *user)
{
    lmr_wait_ms(&me->news, &me->room->lock, ASK_EVERY);
    pthread_mutex_unlock(&me->room->lock);
    const int stops = stop(user);
    pthread_mutex_lock(&me->room->lock);
    return stops;
}

static larmor_status receive(void *link, int from, int tag, int (*stop)(void *user), void *user, void **data,
                             int64_t *bytes)
{
    seat *me = link;
    message **at;
    int stops = 0;
    *data = NULL;
    pthread_mutex_lock(&me->room->lock);
    while (!(at = find(me, from, tag)) && !me->room->seat[from].gone && !stops) {
        if (stop)
            stops = wait_or_stop(me, stop, user);
        else
            pthread_cond_wait(&me->news, &me->room->lock);
    }
    LMR_HEAP message *m = at ? take_out(me, at) : NULL;
    pthread_mutex_unlock(&me->room->lock);
    if (!m) return stops ? LARMOR_STOPPED : has_ended(from);
    *data = m->data;
    *bytes = m->bytes;
    return LARMOR_OK;
}

/* ---- bulk: the lock is held in what has "held" in its name ---- */

/* Until the one to whom it was offered has it. */
static larmor_status wait_held(seat *me, int to)
{
    offer *o = offer_of(me->room, me->number, to);
    while (o->state != NOTHING && (o->state == BEING_COPIED || !me->room->seat[to].gone))
        pthread_cond_wait(&me->news, &me->room->lock);
    if (o->state == NOTHING) return LARMOR_OK;
    o->state = NOTHING;
    return has_ended(to);
}

static larmor_status offer_held(seat *me, int to, const larmor_device *at, const void *data, int64_t bytes)
{
    LMR_TRY(wait_held(me, to)); /* for what another thread of this rank offers */
    *offer_of(me->room, me->number, to) = (offer){.state = OFFERED, .at = at, .data = data, .bytes = bytes};
    pthread_cond_broadcast(&me->room->seat[to].news);
    return LARMOR_OK;
}

static larmor_status copy_offer(const offer *o, const larmor_device *at, void *data)
{
    if (at) return at->be->pass(at->ctx, data, o->at->ctx, o->data, (size_t)o->bytes);
    memcpy(data, o->data, (size_t)o->bytes);
    return LARMOR_OK;
}

/* copied: how the copy went, which is no error of the messages. */
static larmor_status take_held(seat *me, int from, const larmor_device *at, void *data, int64_t bytes,
                               larmor_status *copied)
{
    room *r = me->room;
    offer *o = offer_of(r, from, me->number);
    while (o->state != OFFERED && !r->seat[from].gone) pthread_cond_wait(&me->news, &r->lock);
    if (o->state != OFFERED) return has_ended(from);
    const int64_t there = o->bytes;
    o->state = BEING_COPIED;
    pthread_mutex_unlock(&r->lock);
    *copied = there == bytes && bytes ? copy_offer(o, at, data) : LARMOR_OK;
    pthread_mutex_lock(&r->lock);
    o->state = NOTHING;
    pthread_cond_broadcast(&r->seat[from].news);
    if (there == bytes) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_FORMAT, "rank %d gives %lld bytes, expected %lld", from, (long long)there,
                    (long long)bytes);
}

/* What nobody has begun to copy is not offered any longer; nothing is read of the sender's memory afterwards. */
static void withdraw_held(seat *me)
{
    for (int i = 0; i < me->room->count; i++) {
        offer *o = offer_of(me->room, me->number, i);
        if (o->state == OFFERED) o->state = NOTHING;
        while (o->state == BEING_COPIED) pthread_cond_wait(&me->news, &me->room->lock);
    }
}

static larmor_status exchange_held(seat *me, const larmor_device *at, const void *const *send,
                                   const int64_t *send_bytes, void *const *data, const int64_t *bytes,
                                   larmor_status *copied)
{
    const int count = me->room->count;
    for (int i = 0; i < count; i++)
        if (i != me->number && send_bytes[i]) LMR_TRY(offer_held(me, i, at, send[i], send_bytes[i]));
    for (int step = 1; step < count; step++) { /* not all from the same one at first */
        const int from = (me->number + count - step) % count;
        larmor_status one = LARMOR_OK;
        if (bytes[from]) LMR_TRY(take_held(me, from, at, data[from], bytes[from], &one));
        if (!*copied) *copied = one;
    }
    for (int i = 0; i < count; i++)
        if (i != me->number && send_bytes[i]) LMR_TRY(wait_held(me, i));
    return LARMOR_OK;
}

/* A rank that cannot go on has ended for the others, who would wait for it. */
static larmor_status end_bulk(seat *me, larmor_status st)
{
    if (st) withdraw_held(me);
    if (st) leave(me);
    pthread_mutex_unlock(&me->room->lock);
    return st;
}

static larmor_status exchange_on(void *link, const larmor_device *dev, const void *const *send,
                                 const int64_t *send_bytes, void *const *data, const int64_t *bytes)
{
    seat *me = link;
    const int own = me->number;
    larmor_status copied = LARMOR_OK;
    if (send_bytes[own])
        copied = dev->be->copy(dev->ctx, LMR_ON_DEVICE, data[own], send[own], (size_t)send_bytes[own]);
    pthread_mutex_lock(&me->room->lock);
    LMR_TRY(end_bulk(me, exchange_held(me, dev, send, send_bytes, data, bytes, &copied)));
    return copied;
}

static larmor_status pass(void *link, int other, int sends, void *data, int64_t bytes)
{
    seat *me = link;
    larmor_status copied = LARMOR_OK;
    pthread_mutex_lock(&me->room->lock);
    larmor_status st =
        sends ? offer_held(me, other, NULL, data, bytes) : take_held(me, other, NULL, data, bytes, &copied);
    if (sends && !st) st = wait_held(me, other);
    return end_bulk(me, st);
}

/* ---- life ---- */

static void free_room(room *r)
{
    for (int i = 0; i < r->count; i++) pthread_cond_destroy(&r->seat[i].news);
    pthread_mutex_destroy(&r->lock);
    LMR_FREE(r->offer, r->seat, r);
}

static void end(void *link)
{
    seat *me = link;
    room *r = me->room;
    pthread_mutex_lock(&r->lock);
    leave(me);
    while (me->first) free_message(take_out(me, &me->first));
    const int is_last = !--r->open;
    pthread_mutex_unlock(&r->lock);
    if (is_last) free_room(r);
}

larmor_status lmr_threads_link(int count, void **links)
{
    room *r = calloc(1, sizeof *r);
    seat *seats = calloc((size_t)count, sizeof *seats);
    offer *offers = calloc((size_t)count * (size_t)count, sizeof *offers);
    if (!r || !seats || !offers) {
        LMR_FREE(r, seats, offers);
        return LMR_NO_MEMORY();
    }
    *r = (room){.count = count, .open = count, .seat = seats, .offer = offers};
    pthread_mutex_init(&r->lock, NULL);
    for (int i = 0; i < count; i++) {
        seats[i].room = r;
        seats[i].number = i;
        seats[i].last = &seats[i].first;
        pthread_cond_init(&seats[i].news, NULL);
        links[i] = &seats[i];
    }
    return LARMOR_OK;
}

/* Without begin(): all links are made together. */
const lmr_transport lmr_thread_transport = {.abi = LMR_TRANSPORT_ABI,
                                            .send = send_message,
                                            .receive = receive,
                                            .is_there = is_there,
                                            .pass = pass,
                                            .exchange_on = exchange_on,
                                            .end = end};
