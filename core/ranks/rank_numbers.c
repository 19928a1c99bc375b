/* Numbers that go from rank to rank: straight between devices where the transport can, else through the host's
 * memory in pieces. SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/array.h"
#include "core/ranks/ranks.h"

/* Of the first one that failed. */
static void keep_first(larmor_status *first, larmor_status st)
{
    if (!*first) *first = st;
}

static int64_t piece_at(int64_t bytes, int64_t at, int64_t piece)
{
    return bytes - at < piece ? bytes - at : piece;
}

/* Part i of so many in `count` begins there. */
static int64_t part_at(const larmor_ranks *r, int64_t count, int i)
{
    return i * count / r->count;
}

static int64_t total_of(const int64_t *bytes, int count)
{
    int64_t total = 0;
    for (int i = 0; i < count; i++) total += bytes[i];
    return total;
}

/* ---- straight: by the transport between threads, by the vendor's library between the GPUs of processes ---- */

void lmr_ranks_close_communicator(larmor_ranks *r, int gives_up)
{
    if (r->communicator)
        r->communicator_device->be->communicator->close(r->communicator_device->ctx, r->communicator, gives_up);
    r->communicator = NULL;
}

/* All ranks, at the same place: whether none has failed, after which none has the communicator any more. */
static larmor_status stay_together(larmor_ranks *r, larmor_status own)
{
    own = lmr_ranks_agree(r, own, NULL, NULL);
    if (own) lmr_ranks_close_communicator(r, 1);
    return own;
}

/* What one of them lacks, the library or a GPU of its own, makes all go through the host's memory. */
static larmor_status open_communicator(larmor_ranks *r, larmor_device *dev)
{
    const lmr_communicator *communicator = dev->be->communicator;
    unsigned char name[LMR_COMMUNICATOR_NAME] = {0};
    larmor_status own = communicator ? communicator->name(dev->ctx, r->number ? NULL : name)
                                     : LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "the backend has no communicator");
    own = lmr_ranks_agree(r, own, NULL, NULL); /* who joins waits for all */
    if (own) return own;
    LMR_TRY(r->by->broadcast(r->link, name, sizeof name));
    return stay_together(r, communicator->open(dev->ctx, name, r->number, r->count, &r->communicator));
}

/* Called by all for the numbers of a device. */
static int is_straight(larmor_ranks *r, const larmor_array *x)
{
    if (r->by->exchange_on) return 1;
    if (lmr_device_is_processor(x->dev)) return 0;
    if (r->communicator_device != x->dev) {
        lmr_ranks_close_communicator(r, 0);
        larmor_device_free(r->communicator_device);
        r->communicator_device = lmr_device_ref(x->dev);
        (void)open_communicator(r, x->dev);
    }
    return r->communicator != NULL;
}

static larmor_status exchange_by_communicator(larmor_ranks *r, const larmor_device *dev)
{
    const int me = r->number;
    larmor_status own = LARMOR_OK;
    if (r->with.sent[me])
        own = dev->be->copy(dev->ctx, LMR_ON_DEVICE, r->with.receive[me], r->with.send[me], (size_t)r->with.sent[me]);
    r->with.sent[me] = r->with.received[me] = 0;
    if (!own)
        own = dev->be->communicator->exchange(dev->ctx, r->communicator, r->count, r->with.send, r->with.sent,
                                              r->with.receive, r->with.received);
    return stay_together(r, own);
}

static void expect_nothing(larmor_ranks *r)
{
    memset(r->with.sent, 0, (size_t)r->count * sizeof *r->with.sent);
    memset(r->with.received, 0, (size_t)r->count * sizeof *r->with.received);
}

static larmor_status exchange_straight(larmor_ranks *r, const larmor_device *dev)
{
    if (r->by->exchange_on)
        return r->by->exchange_on(r->link, dev, r->with.send, r->with.sent, r->with.receive, r->with.received);
    if (!r->communicator) return LARMOR_ERR_BACKEND; /* the message is that of an exchange before */
    return exchange_by_communicator(r, dev);
}

/* x of rank `from` to rank `to`, or to all where `to` is -1. */
static larmor_status send_straight(larmor_ranks *r, int from, int to, const larmor_array *x)
{
    const int64_t bytes = (int64_t)larmor_array_bytes(x);
    expect_nothing(r);
    for (int i = 0; i < r->count && r->number == from; i++) {
        r->with.send[i] = x->data;
        r->with.sent[i] = i != from && (to < 0 || i == to) ? bytes : 0;
    }
    if (r->number != from) {
        r->with.receive[from] = x->data;
        r->with.received[from] = bytes;
    }
    return exchange_straight(r, x->dev);
}

/* `count` numbers at `data`, of which each rank sums its part, from rank 0's on, and rank `to` gets all parts. */
static larmor_status sum_straight(larmor_ranks *r, int to, int64_t count, const larmor_array *x, char *data)
{
    const int me = r->number;
    const int64_t size = (int64_t)larmor_dtype_size(x->dtype),
                  mine = part_at(r, count, me + 1) - part_at(r, count, me);
    const lmr_vec *vec = x->dev->be->vec[lmr_precision(x->dtype)];
    char *parts = r->parts->data;
    for (int i = 0; i < r->count; i++) {
        r->with.send[i] = data + part_at(r, count, i) * size;
        r->with.sent[i] = (part_at(r, count, i + 1) - part_at(r, count, i)) * size;
        r->with.receive[i] = parts + i * mine * size;
        r->with.received[i] = mine * size;
    }
    larmor_status own = exchange_straight(r, x->dev);
    for (int i = 1; i < r->count && !own; i++)
        own = vec->axpby(x->dev->ctx, mine, 1, parts + i * mine * size, 1, parts);
    for (int i = 0; i < r->count; i++) {
        const int64_t first = part_at(r, count, i);
        r->with.send[i] = parts;
        r->with.sent[i] = i == to ? mine * size : 0;
        r->with.receive[i] = data + first * size;
        r->with.received[i] = me == to ? (part_at(r, count, i + 1) - first) * size : 0;
    }
    keep_first(&own, exchange_straight(r, x->dev));
    return own;
}

/* All have them afterwards, or none has. */
static larmor_status make_parts(larmor_ranks *r, larmor_device *dev)
{
    const larmor_shape room = LARMOR_SHAPE(2 * LMR_STAGE / (int64_t)larmor_dtype_size(LARMOR_C128));
    const larmor_status st = lmr_ranks_agree(r, larmor_array_create(dev, LARMOR_C128, room, &r->parts), NULL, NULL);
    if (!st) return LARMOR_OK;
    larmor_array_free(r->parts);
    r->parts = NULL;
    return st;
}

static larmor_status sum_all_straight(larmor_ranks *r, int to, const larmor_array *x)
{
    const int64_t size = (int64_t)larmor_dtype_size(x->dtype), count = larmor_array_count(x);
    const int64_t piece = 2 * LMR_STAGE / size - r->count; /* parts differ by one number */
    larmor_status own = LARMOR_OK;
    if (!r->parts) LMR_TRY(make_parts(r, x->dev));
    for (int64_t at = 0; at < count; at += piece)
        keep_first(&own, sum_straight(r, to, piece_at(count, at, piece), x, (char *)x->data + at * size));
    return own;
}

/* ---- through the host's memory ---- */

static int is_in_host(const larmor_array *x)
{
    return x->dev->be == &lmr_cpu_backend;
}

/* Where bytes at .. at + bytes of x lie for messages: there, or, of a GPU, in `stage`. */
static void *place_of(const larmor_array *x, int64_t at, void *stage)
{
    return is_in_host(x) ? (char *)x->data + at : stage;
}

static larmor_status copy_out(const larmor_array *x, int64_t at, int64_t bytes, void *stage)
{
    if (is_in_host(x)) return LARMOR_OK;
    return x->dev->be->copy(x->dev->ctx, LMR_TO_HOST, stage, (const char *)x->data + at, (size_t)bytes);
}

static larmor_status copy_in(const larmor_array *x, int64_t at, int64_t bytes, const void *stage)
{
    if (is_in_host(x)) return LARMOR_OK;
    return x->dev->be->copy(x->dev->ctx, LMR_TO_DEVICE, (char *)x->data + at, stage, (size_t)bytes);
}

larmor_status lmr_ranks_broadcast(larmor_ranks *r, larmor_array *x)
{
    const int64_t bytes = (int64_t)larmor_array_bytes(x);
    larmor_status own = LARMOR_OK;
    if (is_straight(r, x)) return send_straight(r, 0, -1, x);
    for (int64_t at = 0; at < bytes; at += LMR_STAGE) {
        const int64_t now = piece_at(bytes, at, LMR_STAGE);
        if (r->number == 0 && !own) keep_first(&own, copy_out(x, at, now, r->stage));
        LMR_TRY(r->by->broadcast(r->link, place_of(x, at, r->stage), now));
        if (r->number > 0 && !own) keep_first(&own, copy_in(x, at, now, r->stage));
    }
    return own;
}

larmor_status lmr_ranks_pass(larmor_ranks *r, int from, int to, larmor_array *x)
{
    const int64_t bytes = (int64_t)larmor_array_bytes(x);
    const int sends = r->number == from;
    larmor_status own = LARMOR_OK;
    if (r->by->exchange_on) return send_straight(r, from, to, x); /* two take part: not by what all must agree on */
    for (int64_t at = 0; at < bytes; at += LMR_STAGE) {
        const int64_t now = piece_at(bytes, at, LMR_STAGE);
        if (sends && !own) keep_first(&own, copy_out(x, at, now, r->stage));
        LMR_TRY(r->by->pass(r->link, sends ? to : from, sends, place_of(x, at, r->stage), now));
        if (!sends && !own) keep_first(&own, copy_in(x, at, now, r->stage));
    }
    return own;
}

larmor_status lmr_ranks_spread(larmor_ranks *r, int from, larmor_array *x)
{
    if (is_straight(r, x)) return send_straight(r, from, -1, x);
    if (from && (r->number == from || !r->number)) LMR_TRY(lmr_ranks_pass(r, from, 0, x));
    return lmr_ranks_broadcast(r, x);
}

static void add_single(int64_t count, const void *from, void *to)
{
    const float *x = from;
    float *y = to;
    for (int64_t i = 0; i < count; i++) y[i] += x[i];
}

static void add_double(int64_t count, const void *from, void *to)
{
    const double *x = from;
    double *y = to;
    for (int64_t i = 0; i < count; i++) y[i] += x[i];
}

/* A piece of `count` real numbers of which each rank sums its part, from rank 0's on, and rank `to` gets all
 * parts. */
static larmor_status sum_piece(larmor_ranks *r, int to, int64_t count, size_t size, char *data)
{
    const int me = r->number;
    char *parts = r->stage + LMR_STAGE; /* of the others, one after the other */
    const int64_t mine = (me + 1) * count / r->count - me * count / r->count;
    const int64_t bytes = mine * (int64_t)size;
    for (int i = 0; i < r->count; i++) {
        const int64_t first = i * count / r->count, end = (i + 1) * count / r->count;
        r->with.send[i] = data + first * (int64_t)size;
        r->with.sent[i] = (end - first) * (int64_t)size;
        r->with.receive[i] = parts + i * bytes;
        r->with.received[i] = bytes;
    }
    LMR_TRY(r->by->exchange(r->link, r->with.send, r->with.sent, r->with.receive, r->with.received));
    for (int i = 1; i < r->count && size == sizeof(float); i++) add_single(mine, parts + i * bytes, parts);
    for (int i = 1; i < r->count && size == sizeof(double); i++) add_double(mine, parts + i * bytes, parts);
    for (int i = 0; i < r->count; i++) {
        const int64_t first = i * count / r->count, end = (i + 1) * count / r->count;
        r->with.send[i] = parts;
        r->with.sent[i] = i == to ? bytes : 0;
        r->with.receive[i] = data + first * (int64_t)size;
        r->with.received[i] = me == to ? (end - first) * (int64_t)size : 0;
    }
    return r->by->exchange(r->link, r->with.send, r->with.sent, r->with.receive, r->with.received);
}

larmor_status lmr_ranks_sum(larmor_ranks *r, int to, larmor_array *x)
{
    const size_t size = larmor_dtype_size(x->dtype) / 2;
    const int64_t bytes = (int64_t)larmor_array_bytes(x);
    const int64_t piece =
        (LMR_STAGE / r->count - (int64_t)size) / 64 * 64 * r->count; /* parts differ by one number */
    larmor_status own = LARMOR_OK;
    if (is_straight(r, x)) return sum_all_straight(r, to, x);
    for (int64_t at = 0; at < bytes; at += piece) {
        const int64_t now = piece_at(bytes, at, piece);
        if (!own) keep_first(&own, copy_out(x, at, now, r->stage));
        LMR_TRY(sum_piece(r, to, now / (int64_t)size, size, place_of(x, at, r->stage)));
        if (r->number == to && !own) keep_first(&own, copy_in(x, at, now, r->stage));
    }
    return own;
}

static void point_at(larmor_ranks *r, const larmor_array *from, const int64_t *sent, const larmor_array *to,
                     const int64_t *received)
{
    for (int i = 0; i < r->count; i++) {
        r->with.send[i] = (const char *)from->data + total_of(sent, i);
        r->with.receive[i] = (char *)to->data + total_of(received, i);
    }
}

/* All at once, between arrays in the host's memory. */
static larmor_status exchange_in_host(larmor_ranks *r, const larmor_array *from, const int64_t *sent,
                                      larmor_array *to, const int64_t *received)
{
    point_at(r, from, sent, to, received);
    return r->by->exchange(r->link, r->with.send, sent, r->with.receive, received);
}

/* With one rank to send to and one to receive from, in pieces through the host's memory. */
static larmor_status exchange_step(larmor_ranks *r, int next, int before, const larmor_array *from,
                                   const int64_t *sent, larmor_array *to, const int64_t *received, larmor_status *own)
{
    const int64_t most = sent[next] > received[before] ? sent[next] : received[before];
    char *in = r->stage + LMR_STAGE;
    for (int64_t at = 0; at < most; at += LMR_STAGE) {
        const int64_t out_bytes = at < sent[next] ? piece_at(sent[next], at, LMR_STAGE) : 0;
        const int64_t in_bytes = at < received[before] ? piece_at(received[before], at, LMR_STAGE) : 0;
        expect_nothing(r);
        r->with.send[next] = r->stage;
        r->with.sent[next] = out_bytes;
        r->with.receive[before] = in;
        r->with.received[before] = in_bytes;
        if (out_bytes && !*own) *own = copy_out(from, total_of(sent, next) + at, out_bytes, r->stage);
        LMR_TRY(r->by->exchange(r->link, r->with.send, r->with.sent, r->with.receive, r->with.received));
        if (in_bytes && !*own) *own = copy_in(to, total_of(received, before) + at, in_bytes, in);
    }
    return LARMOR_OK;
}

larmor_status lmr_ranks_exchange(larmor_ranks *r, const larmor_array *from, const int64_t *sent, larmor_array *to,
                                 const int64_t *received)
{
    const int me = r->number;
    if (is_straight(r, from)) {
        point_at(r, from, sent, to, received);
        memcpy(r->with.sent, sent, (size_t)r->count * sizeof *sent);
        memcpy(r->with.received, received, (size_t)r->count * sizeof *received);
        return exchange_straight(r, from->dev);
    }
    if (is_in_host(from)) return exchange_in_host(r, from, sent, to, received);
    larmor_status own = from->dev->be->copy(from->dev->ctx, LMR_ON_DEVICE, (char *)to->data + total_of(received, me),
                                            (const char *)from->data + total_of(sent, me), (size_t)sent[me]);
    for (int step = 1; step < r->count; step++) {
        const int next = (me + step) % r->count, before = (me + r->count - step) % r->count;
        LMR_TRY(exchange_step(r, next, before, from, sent, to, received, &own));
    }
    return own;
}
