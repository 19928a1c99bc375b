/* Ranks: what carries their messages, and what all must agree on. SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"

static int number_of(const char *name)
{
    const char *value = getenv(name);
    return value ? atoi(value) : 0;
}

int larmor_ranks_started(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (int i = 0; i < 2; i++)
        if (number_of(names[i]) > 1) return number_of(names[i]);
    return 1;
}

static larmor_status find(const lmr_transport **by)
{
    static const lmr_host host = {.abi = LMR_TRANSPORT_ABI, .fail = lmr_fail};
    char path[1200];
    void *symbol = lmr_plugin_entry("mpi", LMR_TRANSPORT_ENTRY, path, sizeof path);
    lmr_transport_entry_function entry;
    memcpy(&entry, &symbol, sizeof entry);
    *by = entry ? entry(LMR_TRANSPORT_ABI, &host) : NULL;
    if (!*by) return LARMOR_ERR_UNSUPPORTED;
    if ((*by)->abi == LMR_TRANSPORT_ABI) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "%s has ABI %u, expected %u; install plugin and library from one release",
                    path, (unsigned)(*by)->abi, LMR_TRANSPORT_ABI);
}

static void free_ranks(larmor_ranks *r)
{
    free(r->with.send);
    free(r->with.receive);
    free(r->with.sent);
    free(r->with.received);
    free(r->stage);
    free(r);
}

static larmor_status make_room(larmor_ranks *r)
{
    const size_t count = (size_t)r->count;
    r->with.send = calloc(count, sizeof *r->with.send);
    r->with.receive = calloc(count, sizeof *r->with.receive);
    r->with.sent = calloc(count, sizeof *r->with.sent);
    r->with.received = calloc(count, sizeof *r->with.received);
    return r->with.send && r->with.receive && r->with.sent && r->with.received ? LARMOR_OK : LMR_NO_MEMORY();
}

larmor_status larmor_ranks_open(larmor_ranks **ranks)
{
    const lmr_transport *by;
    LMR_NEED(ranks);
    *ranks = NULL;
    const larmor_status st = find(&by);
    if (st) return lmr_fail_in(st, "ranks: MPI unavailable");
    larmor_ranks *r = calloc(1, sizeof *r);
    if (!r) return LMR_NO_MEMORY();
    r->by = by;
    r->stage = malloc(2 * (size_t)LMR_STAGE);
    larmor_status begun = r->stage ? by->begin(&r->link, &r->number, &r->count, &r->local, &r->local_count) : LMR_NO_MEMORY();
    if (!begun) begun = make_room(r);
    if (begun) {
        free_ranks(r);
        return begun;
    }
    *ranks = r;
    return LARMOR_OK;
}

static larmor_status make_thread(larmor_ranks *r, int number, int count)
{
    r->by = &lmr_thread_transport;
    r->number = r->local = number;
    r->count = r->local_count = count;
    r->stage = malloc(2 * (size_t)LMR_STAGE);
    return r->stage ? make_room(r) : LMR_NO_MEMORY();
}

larmor_status lmr_ranks_of_threads(int count, larmor_ranks **ranks)
{
    void **links = calloc((size_t)count, sizeof *links);
    larmor_status st = links ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = 0; i < count; i++) {
        ranks[i] = calloc(1, sizeof **ranks);
        if (!st) st = ranks[i] ? make_thread(ranks[i], i, count) : LMR_NO_MEMORY();
    }
    if (!st) st = lmr_threads_link(count, links);
    for (int i = 0; i < count; i++) {
        if (!st) ranks[i]->link = links[i];
        if (st && ranks[i]) free_ranks(ranks[i]);
        if (st) ranks[i] = NULL;
    }
    free(links);
    return st;
}

void larmor_ranks_free(larmor_ranks *ranks)
{
    if (!ranks) return;
    for (int i = 1; ranks->is_shared && !ranks->number && i < ranks->count; i++) ranks->by->send(ranks->link, i, LMR_TAG_ORDER, NULL, 0);
    lmr_rows_clear(ranks);
    if (ranks->shared) ranks->shared->ranks = NULL;
    larmor_device_free(ranks->shared);
    ranks->by->end(ranks->link);
    free_ranks(ranks);
}

void lmr_ranks_take(larmor_ranks *ranks, larmor_device *dev)
{
    larmor_device_free(ranks->shared);
    ranks->shared = lmr_device_ref(dev);
    ranks->is_shared = 1;
    dev->ranks = ranks;
}

int larmor_ranks_number(const larmor_ranks *ranks)
{
    return ranks ? ranks->number : 0;
}

int larmor_ranks_count(const larmor_ranks *ranks)
{
    return ranks ? ranks->count : 1;
}

int larmor_ranks_local(const larmor_ranks *ranks)
{
    return ranks ? ranks->local : 0;
}

/* ---- devices of a machine ---- */

static int count_gpus(void)
{
    enum { MOST = 65 };
    larmor_device_info *infos = calloc(MOST, sizeof *infos); /* too large for a small stack */
    int count = 0, gpus = 0;
    if (!infos || larmor_device_list(infos, MOST, &count)) count = 0;
    for (int i = 0; i < count && i < MOST; i++) gpus += infos[i].available && !strncmp(infos[i].spec, "cuda", 4);
    free(infos);
    return gpus;
}

larmor_status larmor_ranks_spec(const larmor_ranks *ranks, const char *spec, char *own, size_t room)
{
    LMR_NEED(own);
    const char *asked = spec && *spec ? spec : "auto";
    const int is_any = !strcmp(asked, "auto") || !strcmp(asked, "cuda");
    const int gpus = ranks && is_any ? count_gpus() : 0;
    const int length = gpus ? snprintf(own, room, "cuda:%d", ranks->local % gpus) : snprintf(own, room, "%s", asked);
    if (length >= 0 && (size_t)length < room) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "ranks: device \"%.40s\" has more than %zu letters", asked, room);
}

larmor_status larmor_ranks_memory(const larmor_ranks *ranks, larmor_device *dev, int64_t *bytes)
{
    int64_t total;
    LMR_NEED(bytes);
    *bytes = 0;
    LMR_NEED(dev);
    LMR_TRY(larmor_device_memory(dev, bytes, &total));
    const int processes = ranks ? ranks->local_count : 1;
    const int gpus = strncmp(larmor_device_spec(dev), "cuda", 4) ? 0 : count_gpus();
    *bytes /= gpus ? (processes + gpus - 1) / gpus : processes;
    return LARMOR_OK;
}

/* ---- agreement ---- */

typedef struct state { /* of a rank, and of all in the answer */
    larmor_status st;
    char message[1024];
    int64_t least;
    uint64_t same[3];
    double sum[2];
} state;

static larmor_status receive_state(const larmor_ranks *r, int from, state *s)
{
    void *data;
    int64_t bytes = 0;
    LMR_TRY(r->by->receive(r->link, from, LMR_TAG_AGREE, NULL, NULL, &data, &bytes));
    larmor_status st = LARMOR_OK;
    if (bytes == sizeof *s)
        memcpy(s, data, sizeof *s);
    else
        st = LMR_FAIL(LARMOR_ERR_FORMAT, "rank %d runs another version of larmor", from);
    free(data);
    return st;
}

static void add_state(state *all, int rank, const state *own)
{
    if (own->least && (!all->least || own->least < all->least)) all->least = own->least;
    for (int i = 0; i < 2; i++) all->sum[i] += own->sum[i];
    if (all->st) return;
    all->st = own->st;
    if (own->st) snprintf(all->message, sizeof all->message, "rank %d: %.1000s", rank, own->message);
    if (own->st || !memcmp(own->same, all->same, sizeof all->same)) return;
    all->st = LARMOR_ERR_FORMAT;
    snprintf(all->message, sizeof all->message,
             "rank %d has another %s than rank 0; give all ranks the same files and options", rank,
             own->same[0] != all->same[0] ? "scan" : "plan");
}

static larmor_status gather(larmor_ranks *r, state *all)
{
    for (int i = 1; i < r->count; i++) {
        state own;
        LMR_TRY(receive_state(r, i, &own));
        add_state(all, i, &own);
    }
    for (int i = 1; i < r->count; i++) LMR_TRY(r->by->send(r->link, i, LMR_TAG_AGREE, all, sizeof *all));
    return LARMOR_OK;
}

/* s: of this rank, and then of all. */
static larmor_status agree(larmor_ranks *r, state *s)
{
    if (s->st) snprintf(s->message, sizeof s->message, "%s", larmor_last_error());
    if (r->number == 0) {
        LMR_TRY(gather(r, s));
    } else {
        LMR_TRY(r->by->send(r->link, 0, LMR_TAG_AGREE, s, sizeof *s));
        LMR_TRY(receive_state(r, 0, s));
    }
    r->agreed = s->st;
    if (!s->st) return LARMOR_OK;
    return larmor_fail(r->number ? LARMOR_STOPPED : s->st, "%s", s->message);
}

larmor_status lmr_ranks_agree(larmor_ranks *r, larmor_status own, int64_t *least, const uint64_t same[3])
{
    state s = {.st = own, .least = least ? *least : 0};
    if (same) memcpy(s.same, same, sizeof s.same);
    const larmor_status st = agree(r, &s);
    if (least) *least = s.least;
    return st;
}

larmor_status lmr_ranks_total(larmor_ranks *r, larmor_status own, double sum[2])
{
    state s = {.st = own, .sum = {sum[0], sum[1]}};
    LMR_TRY(agree(r, &s));
    memcpy(sum, s.sum, sizeof s.sum);
    return LARMOR_OK;
}

larmor_status lmr_ranks_before(larmor_ranks *r, int64_t own, int64_t *before)
{
    *before = 0;
    for (int i = 0; i + 1 < larmor_ranks_count(r); i++) {
        double of_one[2] = {r->number == i ? (double)own : 0, 0};
        LMR_TRY(lmr_ranks_total(r, LARMOR_OK, of_one));
        if (i < r->number) *before += (int64_t)of_one[0];
    }
    return LARMOR_OK;
}

larmor_status lmr_ranks_most(larmor_ranks *r, double *value)
{
    double most = *value;
    for (int i = 0; i < larmor_ranks_count(r) && r; i++) {
        double of_one[2] = {r->number == i ? *value : 0, 0};
        LMR_TRY(lmr_ranks_total(r, LARMOR_OK, of_one));
        most = i && most > of_one[0] ? most : of_one[0];
    }
    *value = most;
    return LARMOR_OK;
}

larmor_status lmr_ranks_lead(larmor_ranks *r, double *value)
{
    double sum[2] = {larmor_ranks_number(r) ? 0 : *value, 0};
    if (!r) return LARMOR_OK;
    LMR_TRY(lmr_ranks_total(r, LARMOR_OK, sum));
    *value = sum[0];
    return LARMOR_OK;
}

larmor_status lmr_count_all(const larmor_array *x, double *count)
{
    double sum[2] = {(double)larmor_array_count(x), 0};
    if (x->dev->whole) LMR_TRY(lmr_ranks_total(x->dev->whole, LARMOR_OK, sum));
    *count = sum[0];
    return LARMOR_OK;
}

larmor_status larmor_ranks_sum_over(larmor_device *dev, larmor_ranks *ranks)
{
    LMR_NEED(dev);
    if (larmor_device_members(dev))
        return LMR_FAIL(LARMOR_ERR_ARG, "ranks: one device for each rank expected, got %s", larmor_device_spec(dev));
    dev->whole = larmor_ranks_count(ranks) > 1 ? ranks : NULL;
    dev->total = lmr_ranks_total;
    return LARMOR_OK;
}

larmor_status larmor_ranks_agree(larmor_ranks *ranks, larmor_status own, int64_t *least)
{
    LMR_NEED(ranks);
    return lmr_ranks_agree(ranks, own, least, NULL);
}

/* ---- numbers ---- */

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

/* Of the first one that failed. */
static void keep_first(larmor_status *first, larmor_status st)
{
    if (!*first) *first = st;
}

static int64_t piece_at(int64_t bytes, int64_t at, int64_t piece)
{
    return bytes - at < piece ? bytes - at : piece;
}

larmor_status lmr_ranks_broadcast(larmor_ranks *r, larmor_array *x)
{
    const int64_t bytes = (int64_t)larmor_array_bytes(x);
    larmor_status own = LARMOR_OK;
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

/* A piece of `count` real numbers of which each rank sums its part, from rank 0's on, and rank `to` gets all parts. */
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
    for (int64_t at = 0; at < bytes; at += piece) {
        const int64_t now = piece_at(bytes, at, piece);
        if (!own) keep_first(&own, copy_out(x, at, now, r->stage));
        LMR_TRY(sum_piece(r, to, now / (int64_t)size, size, place_of(x, at, r->stage)));
        if (r->number == to && !own) keep_first(&own, copy_in(x, at, now, r->stage));
    }
    return own;
}

static int64_t total_of(const int64_t *bytes, int count)
{
    int64_t total = 0;
    for (int i = 0; i < count; i++) total += bytes[i];
    return total;
}

/* All at once, between arrays in the host's memory. */
static larmor_status exchange_in_host(larmor_ranks *r, const larmor_array *from, const int64_t *sent,
                                      larmor_array *to, const int64_t *received)
{
    for (int i = 0; i < r->count; i++) {
        r->with.send[i] = (const char *)from->data + total_of(sent, i);
        r->with.receive[i] = (char *)to->data + total_of(received, i);
    }
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
        memset(r->with.sent, 0, (size_t)r->count * sizeof *r->with.sent);
        memset(r->with.received, 0, (size_t)r->count * sizeof *r->with.received);
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
    if (is_in_host(from)) return exchange_in_host(r, from, sent, to, received);
    larmor_status own = from->dev->be->copy(from->dev->ctx, LMR_ON_DEVICE, (char *)to->data + total_of(received, me),
                                            (const char *)from->data + total_of(sent, me), (size_t)sent[me]);
    for (int step = 1; step < r->count; step++) {
        const int next = (me + step) % r->count, before = (me + r->count - step) % r->count;
        LMR_TRY(exchange_step(r, next, before, from, sent, to, received, &own));
    }
    return own;
}
