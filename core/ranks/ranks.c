/* Ranks: their numbers, their devices, and what all must agree on. SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/array.h"
#include "core/owned.h"

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
    LMR_HEAP larmor_device_info *infos = calloc(MOST, sizeof *infos); /* too large for a small stack */
    int count = 0, gpus = 0;
    if (!infos || larmor_device_list(infos, MOST, &count)) count = 0;
    for (int i = 0; i < count && i < MOST; i++) gpus += infos[i].available && !strncmp(infos[i].spec, "cuda", 4);
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
    int64_t bytes = 0;
    LMR_OWN_MEMORY(void, data, r->by->receive(r->link, from, LMR_TAG_AGREE, NULL, NULL, &data, &bytes));
    if (bytes == sizeof *s)
        memcpy(s, data, sizeof *s);
    else
        return LMR_FAIL(LARMOR_ERR_FORMAT, "rank %d runs another version of larmor", from);
    return LARMOR_OK;
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
    LMR_REFUSE(larmor_device_members(dev), LARMOR_ERR_ARG, "ranks: one device for each rank expected, got %s",
               larmor_device_spec(dev));
    dev->whole = larmor_ranks_count(ranks) > 1 ? ranks : NULL;
    dev->total = lmr_ranks_total;
    return LARMOR_OK;
}

larmor_status larmor_ranks_agree(larmor_ranks *ranks, larmor_status own, int64_t *least)
{
    LMR_NEED(ranks);
    return lmr_ranks_agree(ranks, own, least, NULL);
}
