/* The plugin larmor_mpi.so: messages by MPI. One lock is held around all of its calls, so that MPI need not know
 * of threads but for that; who waits sleeps in between. SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/ranks/transport.h"

static const lmr_host *host;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int own_number, ranks;
static MPI_Request *requests; /* [2 ranks] */

#define FAIL(status, ...) host->fail(status, __func__, __LINE__, __VA_ARGS__)

enum { PART = 1 << 30 }; /* MPI counts by int */

/* ns: a pause that is shorter is given to whoever wants the core; no pause is longer. */
enum { SHORTEST = 25000, LONGEST = 2000000 };

/* Tags beside the callers'. Between bulk messages of several calls MPI keeps the order. */
enum { BULK = 1 << 14, MEET };

/* Messages that MPI moves in parts, each when it is asked whether all is done: who asks seldom slows them. So both
 * sides of longer ones meet first, for which they wait asleep, and then they ask all the time. */
enum { SHORT = 1 << 12 };

static larmor_status check(int code, const char *call)
{
    char reason[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS) return LARMOR_OK;
    MPI_Error_string(code, reason, &length);
    return FAIL(LARMOR_ERR_BACKEND, "%s: %s", call, reason);
}

#define TRY(call)                                                                                                    \
    do {                                                                                                             \
        const larmor_status try_st_ = check(call, #call);                                                            \
        if (try_st_) return try_st_;                                                                                 \
    } while (0)

static larmor_status begin(void **link, int *number, int *count, int *local, int *local_count)
{
    MPI_Comm here;
    int given, begun;
    *link = NULL;
    TRY(MPI_Initialized(&begun)); /* a second MPI_Init would end the process */
    if (begun) return FAIL(LARMOR_ERR_BACKEND, "MPI was begun in this process before, and can be begun once");
    TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given));
    if (given < MPI_THREAD_SERIALIZED)
        return FAIL(LARMOR_ERR_UNSUPPORTED, "this MPI serves one thread alone, MPI_THREAD_SERIALIZED is needed");
    TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY(MPI_Comm_rank(MPI_COMM_WORLD, number));
    TRY(MPI_Comm_size(MPI_COMM_WORLD, count));
    own_number = *number;
    ranks = *count;
    requests = malloc(2 * (size_t)ranks * sizeof *requests);
    if (!requests) return FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    TRY(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    TRY(MPI_Comm_rank(here, local));
    TRY(MPI_Comm_size(here, local_count));
    TRY(MPI_Comm_free(&here));
    return LARMOR_OK;
}

static int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* An eighth of what was waited since `began`, so that little is lost, and cores are left to those that compute. */
static void pause_since(int64_t began)
{
    const int64_t eighth = (now() - began) / 8;
    const int64_t pause = eighth < LONGEST ? eighth : LONGEST;
    if (pause < SHORTEST)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
}

static int part_of(int64_t bytes, int64_t at)
{
    return bytes - at < PART ? (int)(bytes - at) : PART;
}

static larmor_status send_all(int to, int tag, const void *data, int64_t bytes)
{
    TRY(MPI_Send(&bytes, 1, MPI_INT64_T, to, tag, MPI_COMM_WORLD));
    for (int64_t at = 0; at < bytes; at += PART)
        TRY(MPI_Send((const char *)data + at, part_of(bytes, at), MPI_BYTE, to, tag, MPI_COMM_WORLD));
    return LARMOR_OK;
}

static larmor_status send_message(void *link, int to, int tag, const void *data, int64_t bytes)
{
    (void)link;
    pthread_mutex_lock(&lock);
    const larmor_status st = send_all(to, tag, data, bytes);
    pthread_mutex_unlock(&lock);
    return st;
}

static larmor_status receive_all(int from, int tag, void **data, int64_t *bytes)
{
    TRY(MPI_Recv(bytes, 1, MPI_INT64_T, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    *data = malloc((size_t)*bytes + 1);
    if (!*data) return FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    for (int64_t at = 0; at < *bytes; at += PART)
        TRY(MPI_Recv((char *)*data + at, part_of(*bytes, at), MPI_BYTE, from, tag, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE));
    return LARMOR_OK;
}

static int is_message_there(int from, int tag)
{
    int is = 0;
    pthread_mutex_lock(&lock);
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &is, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
    return is;
}

static int is_there(void *link, int from, int tag)
{
    (void)link;
    return is_message_there(from, tag);
}

static larmor_status receive(void *link, int from, int tag, int (*stop)(void *user), void *user, void **data,
                             int64_t *bytes)
{
    const int64_t began = now();
    (void)link;
    *data = NULL;
    while (!is_message_there(from, tag)) {
        if (stop && stop(user)) return LARMOR_STOPPED;
        pause_since(began);
    }
    pthread_mutex_lock(&lock);
    const larmor_status st = receive_all(from, tag, data, bytes);
    pthread_mutex_unlock(&lock);
    if (!st) return st;
    free(*data);
    *data = NULL;
    return st;
}

/* ---- bulk ---- */

static larmor_status finish(int count, int asleep)
{
    const int64_t began = now();
    for (;;) {
        int done = 0;
        pthread_mutex_lock(&lock);
        const int code = MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        pthread_mutex_unlock(&lock);
        TRY(code);
        if (done) return LARMOR_OK;
        if (asleep)
            pause_since(began);
        else
            sched_yield();
    }
}

static larmor_status meet_all(void)
{
    pthread_mutex_lock(&lock);
    const int code = MPI_Ibarrier(MPI_COMM_WORLD, requests);
    pthread_mutex_unlock(&lock);
    TRY(code);
    return finish(1, 1);
}

/* Add to the requests. */
static larmor_status begin_meeting(int other, int *count)
{
    TRY(MPI_Irecv(NULL, 0, MPI_BYTE, other, MEET, MPI_COMM_WORLD, &requests[(*count)++]));
    TRY(MPI_Isend(NULL, 0, MPI_BYTE, other, MEET, MPI_COMM_WORLD, &requests[(*count)++]));
    return LARMOR_OK;
}

static larmor_status meet_one(int other)
{
    int count = 0;
    pthread_mutex_lock(&lock);
    const larmor_status st = begin_meeting(other, &count);
    pthread_mutex_unlock(&lock);
    return st ? st : finish(count, 1);
}

/* Those with whom more than a short message is exchanged. */
static larmor_status meet_some(const int64_t *send_bytes, const int64_t *receive_bytes)
{
    larmor_status st = LARMOR_OK;
    int count = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < ranks && !st; i++) {
        const int is_long = send_bytes[i] > SHORT || receive_bytes[i] > SHORT;
        if (i != own_number && is_long) st = begin_meeting(i, &count);
    }
    pthread_mutex_unlock(&lock);
    return st ? st : finish(count, 1);
}

static larmor_status broadcast(void *link, void *data, int64_t bytes)
{
    const int is_short = bytes <= SHORT;
    (void)link;
    const larmor_status met = is_short ? LARMOR_OK : meet_all();
    if (met) return met;
    for (int64_t at = 0; at < bytes; at += PART) {
        pthread_mutex_lock(&lock);
        const int code = MPI_Ibcast((char *)data + at, part_of(bytes, at), MPI_BYTE, 0, MPI_COMM_WORLD, requests);
        pthread_mutex_unlock(&lock);
        TRY(code);
        const larmor_status st = finish(1, is_short);
        if (st) return st;
    }
    return LARMOR_OK;
}

static larmor_status pass(void *link, int other, int sends, void *data, int64_t bytes)
{
    const int is_short = bytes <= SHORT;
    (void)link;
    const larmor_status met = is_short ? LARMOR_OK : meet_one(other);
    if (met) return met;
    for (int64_t at = 0; at < bytes; at += PART) {
        char *from = (char *)data + at;
        const int part = part_of(bytes, at);
        pthread_mutex_lock(&lock);
        const int code = sends ? MPI_Isend(from, part, MPI_BYTE, other, BULK, MPI_COMM_WORLD, requests)
                               : MPI_Irecv(from, part, MPI_BYTE, other, BULK, MPI_COMM_WORLD, requests);
        pthread_mutex_unlock(&lock);
        TRY(code);
        const larmor_status st = finish(1, is_short);
        if (st) return st;
    }
    return LARMOR_OK;
}

/* The parts at `at` of what goes to rank i and comes from there. */
static larmor_status begin_parts(int i, int64_t at, const void *const *send, const int64_t *send_bytes,
                                 void *const *receive, const int64_t *receive_bytes, int *count)
{
    if (receive_bytes[i] > at)
        TRY(MPI_Irecv((char *)receive[i] + at, part_of(receive_bytes[i], at), MPI_BYTE, i, BULK, MPI_COMM_WORLD,
                      &requests[(*count)++]));
    if (send_bytes[i] > at)
        TRY(MPI_Isend((const char *)send[i] + at, part_of(send_bytes[i], at), MPI_BYTE, i, BULK, MPI_COMM_WORLD,
                      &requests[(*count)++]));
    return LARMOR_OK;
}

static larmor_status exchange(void *link, const void *const *send, const int64_t *send_bytes, void *const *receive,
                              const int64_t *receive_bytes)
{
    int64_t most = 0;
    (void)link;
    for (int i = 0; i < ranks; i++) {
        const int64_t larger = send_bytes[i] > receive_bytes[i] ? send_bytes[i] : receive_bytes[i];
        if (i != own_number && larger > most) most = larger;
    }
    const larmor_status met = meet_some(send_bytes, receive_bytes);
    if (met) return met;
    if (send_bytes[own_number]) memcpy(receive[own_number], send[own_number], (size_t)send_bytes[own_number]);
    for (int64_t at = 0; at < most; at += PART) {
        int count = 0;
        larmor_status st = LARMOR_OK;
        pthread_mutex_lock(&lock);
        for (int step = 1; step < ranks && !st; step++) /* not all to the same one at first */
            st = begin_parts((own_number + step) % ranks, at, send, send_bytes, receive, receive_bytes, &count);
        pthread_mutex_unlock(&lock);
        if (!st) st = finish(count, most <= SHORT);
        if (st) return st;
    }
    return LARMOR_OK;
}

static void end(void *link)
{
    (void)link;
    pthread_mutex_lock(&lock);
    MPI_Finalize();
    free(requests);
    requests = NULL;
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) lmr_plugin_entry lmr_transport_entry;

const void *lmr_transport_entry(uint32_t abi, const lmr_host *given)
{
    static const lmr_transport transport = {.abi = LMR_TRANSPORT_ABI,
                                            .begin = begin,
                                            .send = send_message,
                                            .receive = receive,
                                            .is_there = is_there,
                                            .broadcast = broadcast,
                                            .pass = pass,
                                            .exchange = exchange,
                                            .end = end};
    if (abi == LMR_TRANSPORT_ABI) host = given;
    return &transport;
}
