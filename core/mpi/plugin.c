/* The plugin larmor_mpi.so: messages by MPI. One lock is held around all of its calls, so that MPI need not know of threads
 * but for that; who waits sleeps in between. SPDX-License-Identifier: Apache-2.0 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/transport.h"

static const lmr_host *host;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define FAIL(status, ...) host->fail(status, __func__, __LINE__, __VA_ARGS__)

enum { PART = 1 << 30 }; /* MPI counts by int */

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

static larmor_status begin(int *number, int *count, int *local, int *local_count)
{
    MPI_Comm here;
    int given, begun;
    TRY(MPI_Initialized(&begun)); /* a second MPI_Init would end the process */
    if (begun) return FAIL(LARMOR_ERR_BACKEND, "MPI was begun in this process before, and can be begun once");
    TRY(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given));
    if (given < MPI_THREAD_SERIALIZED)
        return FAIL(LARMOR_ERR_UNSUPPORTED, "this MPI serves one thread alone, MPI_THREAD_SERIALIZED is needed");
    TRY(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    TRY(MPI_Comm_rank(MPI_COMM_WORLD, number));
    TRY(MPI_Comm_size(MPI_COMM_WORLD, count));
    TRY(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here));
    TRY(MPI_Comm_rank(here, local));
    TRY(MPI_Comm_size(here, local_count));
    TRY(MPI_Comm_free(&here));
    return LARMOR_OK;
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

static larmor_status send_message(int to, int tag, const void *data, int64_t bytes)
{
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

static int is_there(int from, int tag)
{
    int is = 0;
    pthread_mutex_lock(&lock);
    MPI_Iprobe(from, tag, MPI_COMM_WORLD, &is, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&lock);
    return is;
}

static larmor_status receive(int from, int tag, int (*stop)(void *user), void *user, void **data, int64_t *bytes)
{
    long pause = 20000; /* ns */
    *data = NULL;
    while (!is_there(from, tag)) {
        if (stop && stop(user)) return LARMOR_STOPPED;
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
        if (pause < 2000000) pause *= 2;
    }
    pthread_mutex_lock(&lock);
    const larmor_status st = receive_all(from, tag, data, bytes);
    pthread_mutex_unlock(&lock);
    if (!st) return st;
    free(*data);
    *data = NULL;
    return st;
}

static void end(void)
{
    pthread_mutex_lock(&lock);
    MPI_Finalize();
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) const lmr_transport *lmr_transport_entry(uint32_t abi, const lmr_host *given);

const lmr_transport *lmr_transport_entry(uint32_t abi, const lmr_host *given)
{
    static const lmr_transport transport = {.abi = LMR_TRANSPORT_ABI,
                                            .begin = begin,
                                            .send = send_message,
                                            .receive = receive,
                                            .is_there = is_there,
                                            .end = end};
    if (abi == LMR_TRANSPORT_ABI) host = given;
    return &transport;
}
