/* Series that other processes compute: rank 0 sends orders, the others answer. All ranks run one program on
 * machines of one kind, so that structs travel as they are; lmr_ranks_agree has compared their sizes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/ranks.h"
#include "core/core.h"
#include "schedule/checkpoint.h"
#include "schedule/slab_run.h"
#include "schedule/task.h"

typedef struct order {
    int series, maps_from;
    lmr_series_state before;
} order;

/* The values of the images and the lines of the log follow it. */
typedef struct answer {
    larmor_status status;
    char message[1024];
    double seconds;
    larmor_recon_report report;
    lmr_found found; /* without arrays */
    int count, lines;
} answer;

/* ---- bytes ---- */

typedef struct parcel {
    char *bytes;
    int64_t size, room, at;
    int failed;
} parcel;

static void put(parcel *p, const void *from, int64_t bytes)
{
    if (p->failed) return;
    if (p->size + bytes > p->room) {
        const int64_t room = 2 * p->room + bytes;
        char *more = realloc(p->bytes, (size_t)room);
        p->failed = !more;
        if (!more) return;
        p->bytes = more;
        p->room = room;
    }
    if (bytes) memcpy(p->bytes + p->size, from, (size_t)bytes);
    p->size += bytes;
}

static void get(parcel *p, void *to, int64_t bytes)
{
    if (p->failed || bytes < 0 || bytes > p->size - p->at) {
        p->failed = 1;
        return;
    }
    if (bytes) memcpy(to, p->bytes + p->at, (size_t)bytes);
    p->at += bytes;
}

/* Bytes of image i of a series. */
static int64_t image_bytes(const larmor_recon *r, int group)
{
    const larmor_grid *grid = &r->facts.grid[group];
    return 8 * larmor_shape_count(larmor_shape_of(grid->ndim, grid->crop));
}

static void put_answer(parcel *p, const larmor_recon *r, const lmr_task *t)
{
    answer a = {.status = t->status,
                .seconds = t->seconds,
                .report = t->result.report,
                .found = lmr_found_without_arrays(&t->found),
                .count = t->status ? 0 : t->result.count};
    snprintf(a.message, sizeof a.message, "%s", t->message);
    for (const lmr_line *l = t->lines; l; l = l->next) a.lines++;
    put(p, &a, sizeof a);
    for (int i = 0; i < a.count; i++) put(p, t->values[i], image_bytes(r, t->result.image[i].group));
    for (const lmr_line *l = t->lines; l; l = l->next) {
        const char *text = l->text ? l->text : "";
        const int length = (int)strlen(text);
        put(p, &l->warning, sizeof l->warning);
        put(p, &length, sizeof length);
        put(p, text, length);
    }
}

static larmor_status get_images(parcel *p, const larmor_recon *r, int count, lmr_task *t)
{
    const int *group = r->list.group + r->list.first[t->series];
    const int most = r->list.first[t->series + 1] - r->list.first[t->series];
    if (count < 0 || count > lmr_outputs(&r->job, most)) p->failed = 1;
    if (p->failed || !count) return LARMOR_OK;
    LMR_ALLOCATE_ZEROS(t->result.image, count);
    LMR_ALLOCATE_ZEROS(t->values, count);
    t->result.count = count;
    for (int i = 0; i < count; i++) {
        const int64_t bytes = image_bytes(r, group[i]);
        t->result.image[i].group = group[i];
        t->values[i] = malloc((size_t)bytes + 1);
        if (!t->values[i]) return LMR_NO_MEMORY();
        get(p, t->values[i], bytes);
        LMR_TRY(lmr_describe_image(&r->job, group[0], i, &t->result.image[i]));
    }
    return LARMOR_OK;
}

static larmor_status get_answer(parcel *p, const larmor_recon *r, lmr_task *t)
{
    answer a = {.count = 0};
    get(p, &a, sizeof a);
    t->status = a.status;
    t->seconds = a.seconds;
    t->result.report = a.report;
    t->found = lmr_found_without_arrays(&a.found); /* pointers of another process are none here */
    snprintf(t->message, sizeof t->message, "%.*s", (int)sizeof a.message - 1, a.message);
    LMR_TRY(get_images(p, r, a.count, t));
    for (int i = 0; i < a.lines && !p->failed; i++) {
        char text[1024] = "";
        int warning = 0, length = 0;
        get(p, &warning, sizeof warning);
        get(p, &length, sizeof length);
        if (length >= (int)sizeof text) p->failed = 1;
        get(p, text, length);
        if (!p->failed) lmr_add_line(t, warning, text);
    }
    return p->failed ? LMR_FAIL(LARMOR_ERR_FORMAT, "an answer of another rank is not what was expected") : LARMOR_OK;
}

/* ---- rank 0 ---- */

typedef struct patience {
    lmr_worker *worker;
    int has_sent_stop;
} patience;

/* The rank is told once that it is to stop, and answers even so. */
static int send_stop(void *user)
{
    patience *p = user;
    const lmr_devices *d = p->worker->all;
    if (d->stop && !p->has_sent_stop) d->ranks->by->send(d->ranks->link, p->worker->rank, LMR_TAG_STOP, NULL, 0);
    p->has_sent_stop |= d->stop;
    return 0;
}

static larmor_status exchange(lmr_worker *w, lmr_task *t, parcel *p)
{
    const larmor_ranks *ranks = w->all->ranks;
    const order o = {.series = t->series, .maps_from = t->maps_from, .before = t->before};
    patience patient = {.worker = w};
    void *data = NULL;
    LMR_TRY(ranks->by->send(ranks->link, w->rank, LMR_TAG_ORDER, &o, sizeof o));
    LMR_TRY(ranks->by->receive(ranks->link, w->rank, LMR_TAG_ANSWER, send_stop, &patient, &data, &p->size));
    p->bytes = data;
    return get_answer(p, w->all->recon, t);
}

void lmr_run_on_rank(lmr_worker *w, lmr_task *t)
{
    parcel p = {.bytes = NULL};
    const larmor_status st = exchange(w, t, &p);
    free(p.bytes);
    char device[sizeof t->result.report.device];
    snprintf(device, sizeof device, "rank %d: %.20s", w->rank, t->result.report.device);
    memcpy(t->result.report.device, device, sizeof device);
    if (!st) return;
    t->status = st;
    snprintf(t->message, sizeof t->message, "%s", larmor_last_error());
}

/* ---- the other ranks ---- */

static int hear_of_stop(void *user)
{
    lmr_devices *d = user;
    void *data;
    int64_t bytes;
    while (d->ranks->by->is_there(d->ranks->link, 0, LMR_TAG_STOP)) {
        if (d->ranks->by->receive(d->ranks->link, 0, LMR_TAG_STOP, NULL, NULL, &data, &bytes)) break;
        free(data);
        d->stop = 1;
    }
    return d->stop;
}

static int listen_for_stop(void *user, const larmor_event *e)
{
    const lmr_worker *w = user;
    hear_of_stop(w->all);
    return lmr_worker_listen(user, e);
}

static larmor_status answer_order(lmr_devices *d, const order *o)
{
    lmr_task t = {.series = o->series};
    parcel p = {.bytes = NULL};
    lmr_clear_task(&t);
    t.maps_from = o->maps_from;
    t.before = o->before;
    d->worker->task = &t;
    lmr_run_task(d->worker, &t);
    put_answer(&p, d->recon, &t);
    const larmor_status st =
        p.failed ? LMR_NO_MEMORY() : d->ranks->by->send(d->ranks->link, 0, LMR_TAG_ANSWER, p.bytes, p.size);
    free(p.bytes);
    lmr_clear_task(&t);
    return st;
}

static larmor_status serve(lmr_devices *d)
{
    for (;;) {
        void *data;
        order o;
        int64_t bytes = 0;
        LMR_TRY(d->ranks->by->receive(d->ranks->link, 0, LMR_TAG_ORDER, NULL, NULL, &data, &bytes));
        if (bytes == sizeof o) memcpy(&o, data, sizeof o);
        free(data);
        if (!bytes) return LARMOR_OK;
        LMR_REFUSE(bytes != sizeof o || o.series < 0 || o.series >= d->recon->list.series, LARMOR_ERR_FORMAT,
                   "an order of rank 0 is not what was expected");
        hear_of_stop(d);
        d->stop = 0; /* it was meant for an earlier one */
        LMR_TRY(answer_order(d, &o));
    }
}

/* Threads have one source and the same options. */
static larmor_status agree(const larmor_recon *r, larmor_ranks *ranks)
{
    lmr_fingerprints f = {0};
    larmor_status st = LARMOR_OK;
    if (larmor_device_members(r->facts.dev))
        st = LMR_FAIL(LARMOR_ERR_ARG, "ranks: one device for each rank expected, got %s",
                      larmor_device_spec(r->facts.dev));
    else if (ranks->by == &lmr_thread_transport)
        f.plan = lmr_fingerprint_of_plan(r);
    else
        st = lmr_fingerprints_of(r, &f);
    const uint64_t coils = r->facts.dev->ranks != NULL, slabs = r->facts.slabs != NULL;
    const uint64_t same[3] = {f.scan, f.options,
                              f.plan ^ (sizeof(answer) << 32) ^ sizeof(order) ^ coils << 63 ^ slabs << 62};
    return lmr_ranks_agree(ranks, st, NULL, same);
}

larmor_status larmor_recon_share(larmor_recon *recon, larmor_ranks *ranks)
{
    larmor_device *own = NULL;
    LMR_NEED(recon, ranks);
    LMR_TRY(agree(recon, ranks));
    if (larmor_ranks_count(ranks) < 2) return LARMOR_OK;
    if (recon->facts.slabs) {
        ranks->is_shared = 1;
        return larmor_ranks_number(ranks) ? lmr_slabs_serve(recon) : LARMOR_OK;
    }
    if (recon->facts.dev->ranks) {
        lmr_log(&recon->events, "coils: %d shared by %d processes", recon->facts.coils, larmor_ranks_count(ranks));
        return larmor_sense_share(recon->facts.dev, ranks);
    }
    LMR_TRY(larmor_device_open(larmor_device_spec(recon->facts.dev), &own));
    larmor_status st = lmr_devices_make(recon, &own, 1, ranks);
    larmor_device_free(own);
    ranks->is_shared = 1;
    if (st) return st;
    if (larmor_ranks_number(ranks) == 0) return larmor_device_open("cpu:1", &recon->home);
    lmr_devices *d = recon->devices;
    d->worker->events.listener = listen_for_stop;
    larmor_stop_when(hear_of_stop, d);
    st = serve(d);
    larmor_stop_when(NULL, NULL);
    return st;
}
