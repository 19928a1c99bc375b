/* Ranks from beginning to end: what carries their messages is found, and what belongs to them freed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/ranks/ranks.h"

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

static void free_ranks(larmor_ranks *r)
{
    LMR_FREE(r->with.send, r->with.receive, r->with.sent, r->with.received, r->stage, r->parts);
    lmr_ranks_close_communicator(r, 0);
    LMR_FREE(r->communicator_device, r);
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
    static lmr_plugin mpi = LMR_PLUGIN("mpi", LMR_TRANSPORT_ENTRY, LMR_TRANSPORT_ABI);
    LMR_NEED_OUT(ranks);
    const lmr_transport *by = lmr_plugin_table(&mpi);
    if (!by) return lmr_fail_in(LARMOR_ERR_UNSUPPORTED, "ranks: MPI unavailable");
    LMR_NEW_ZEROS(larmor_ranks, r, 1);
    r->by = by;
    r->stage = malloc(2 * (size_t)LMR_STAGE);
    larmor_status begun =
        r->stage ? by->begin(&r->link, &r->number, &r->count, &r->local, &r->local_count) : LMR_NO_MEMORY();
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
    return make_room(r);
}

larmor_status lmr_ranks_of_threads(int count, larmor_ranks **ranks)
{
    LMR_HEAP void **links = calloc((size_t)count, sizeof *links);
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
    return st;
}

void larmor_ranks_free(larmor_ranks *ranks)
{
    if (!ranks) return;
    for (int i = 1; ranks->is_shared && !ranks->number && i < ranks->count; i++)
        ranks->by->send(ranks->link, i, LMR_TAG_ORDER, NULL, 0);
    lmr_rows_clear(ranks);
    if (ranks->shared) ranks->shared->ranks = NULL;
    larmor_device_free(ranks->shared);
    ranks->by->end(ranks->link);
    free_ranks(ranks);
}
