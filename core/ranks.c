/* Ranks: the plugin that carries their messages, and what all must agree on. SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

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
    const larmor_status begun = by->begin(&r->number, &r->count, &r->local, &r->local_count);
    if (begun) {
        free(r);
        return begun;
    }
    *ranks = r;
    return LARMOR_OK;
}

void larmor_ranks_free(larmor_ranks *ranks)
{
    if (!ranks) return;
    for (int i = 1; ranks->is_shared && i < ranks->count; i++) ranks->by->send(i, LMR_TAG_ORDER, NULL, 0);
    ranks->by->end();
    free(ranks);
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

int larmor_ranks_local_count(const larmor_ranks *ranks)
{
    return ranks ? ranks->local_count : 1;
}

/* ---- agreement ---- */

typedef struct state { /* of a rank, and of all in the answer */
    larmor_status st;
    char message[1024];
    int64_t least;
    uint64_t same[3];
} state;

static larmor_status receive_state(const larmor_ranks *r, int from, state *s)
{
    void *data;
    int64_t bytes = 0;
    LMR_TRY(r->by->receive(from, LMR_TAG_AGREE, NULL, NULL, &data, &bytes));
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
    for (int i = 1; i < r->count; i++) LMR_TRY(r->by->send(i, LMR_TAG_AGREE, all, sizeof *all));
    return LARMOR_OK;
}

larmor_status lmr_ranks_agree(larmor_ranks *r, larmor_status own, int64_t *least, const uint64_t same[3])
{
    state s = {.st = own, .least = least ? *least : 0};
    if (own) snprintf(s.message, sizeof s.message, "%s", larmor_last_error());
    if (same) memcpy(s.same, same, sizeof s.same);
    if (r->number == 0) {
        LMR_TRY(gather(r, &s));
    } else {
        LMR_TRY(r->by->send(0, LMR_TAG_AGREE, &s, sizeof s));
        LMR_TRY(receive_state(r, 0, &s));
    }
    if (least) *least = s.least;
    if (!s.st) return LARMOR_OK;
    return larmor_fail(r->number ? LARMOR_STOPPED : s.st, "%s", s.message);
}

larmor_status larmor_ranks_agree(larmor_ranks *ranks, larmor_status own, int64_t *least)
{
    LMR_NEED(ranks);
    return lmr_ranks_agree(ranks, own, least, NULL);
}
