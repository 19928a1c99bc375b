/* Messages between the GPUs of several processes by NCCL (https://docs.nvidia.com/deeplearning/nccl/), which is
 * loaded when the first is to be sent: nothing is linked to it, and what is declared here of it is all that is
 * used. SPDX-License-Identifier: Apache-2.0 */
#include <cstring>
#include <dlfcn.h>
#include <mutex>
#include <new>

#include "core/cuda/tables.cuh"

namespace
{

/* Of NCCL's interface, which has been so since 2.7. */
typedef struct ncclComm *ncclComm_t;
struct ncclUniqueId {
    char internal[LMR_COMMUNICATOR_NAME];
};
enum { NCCL_INT8 = 0, NCCL_SUCCESS = 0 };

struct nccl {
    int (*GetUniqueId)(ncclUniqueId *name);
    int (*CommInitRank)(ncclComm_t *group, int count, ncclUniqueId name, int number);
    int (*CommDestroy)(ncclComm_t group);
    int (*CommAbort)(ncclComm_t group);
    int (*GroupStart)();
    int (*GroupEnd)();
    int (*Send)(const void *from, size_t count, int type, int peer, ncclComm_t group, cudaStream_t stream);
    int (*Recv)(void *to, size_t count, int type, int peer, ncclComm_t group, cudaStream_t stream);
    const char *(*GetErrorString)(int code);
};

template <typename F> bool find(void *library, const char *name, F &function)
{
    function = reinterpret_cast<F>(dlsym(library, name));
    return function != nullptr;
}

/* Once in a process; it stays loaded. */
larmor_status load(const nccl **found)
{
    static std::mutex lock;
    static nccl n;
    static bool is_there;
    static const char *const names[] = {"libnccl.so.2", "libnccl.so"};
    const std::lock_guard<std::mutex> guard(lock);
    void *library = nullptr;
    *found = &n;
    if (is_there) return LARMOR_OK;
    for (const char *name : names)
        if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "NCCL is not there: no %s", names[0]);
    is_there = find(library, "ncclGetUniqueId", n.GetUniqueId) && find(library, "ncclCommInitRank", n.CommInitRank) &&
               find(library, "ncclCommDestroy", n.CommDestroy) && find(library, "ncclCommAbort", n.CommAbort) &&
               find(library, "ncclGroupStart", n.GroupStart) && find(library, "ncclGroupEnd", n.GroupEnd) &&
               find(library, "ncclSend", n.Send) && find(library, "ncclRecv", n.Recv) &&
               find(library, "ncclGetErrorString", n.GetErrorString);
    if (is_there) return LARMOR_OK;
    return LMR_CUDA_FAIL(LARMOR_ERR_UNSUPPORTED, "%s has no messages between two GPUs: 2.7 or newer is needed",
                         names[0]);
}

struct communicator {
    const nccl *by;
    ncclComm_t group;
};

larmor_status check(const nccl *by, int code, const char *call, int line)
{
    if (code == NCCL_SUCCESS) return LARMOR_OK;
    return lmr_cuda_failed_as(LARMOR_ERR_BACKEND, call, by->GetErrorString(code), "nccl", line);
}
#define NCCL_TRY(call) LMR_TRY(check(by, by->call, "nccl" #call, __LINE__))

larmor_status name_group(void *ctx, unsigned char name[LMR_COMMUNICATOR_NAME])
{
    const nccl *by;
    LMR_CUDA_ENTER(c, ctx);
    (void)c;
    LMR_TRY(load(&by));
    if (name) NCCL_TRY(GetUniqueId(reinterpret_cast<ncclUniqueId *>(name)));
    return LARMOR_OK;
}

larmor_status open_group(void *ctx, const unsigned char name[LMR_COMMUNICATOR_NAME], int number, int count,
                         void **out)
{
    const nccl *by;
    *out = nullptr;
    LMR_CUDA_ENTER(c, ctx);
    (void)c;
    LMR_TRY(load(&by));
    ncclComm_t group = nullptr;
    ncclUniqueId id;
    memcpy(id.internal, name, sizeof id.internal);
    NCCL_TRY(CommInitRank(&group, count, id, number));
    auto *p = new (std::nothrow) communicator{by, group};
    if (!p) {
        (void)by->CommAbort(group);
        return LMR_CUDA_FAIL(LARMOR_ERR_MEMORY, "out of host memory");
    }
    *out = p;
    return LARMOR_OK;
}

larmor_status queue_all(const lmr_cuda *c, const communicator *p, int count, const void *const *send,
                        const int64_t *send_bytes, void *const *receive, const int64_t *receive_bytes)
{
    const nccl *by = p->by;
    for (int i = 0; i < count; i++) {
        if (send_bytes[i]) NCCL_TRY(Send(send[i], (size_t)send_bytes[i], NCCL_INT8, i, p->group, c->stream));
        if (receive_bytes[i]) NCCL_TRY(Recv(receive[i], (size_t)receive_bytes[i], NCCL_INT8, i, p->group, c->stream));
    }
    return LARMOR_OK;
}

larmor_status exchange(void *ctx, void *group, int count, const void *const *send, const int64_t *send_bytes,
                       void *const *receive, const int64_t *receive_bytes)
{
    const auto *p = static_cast<communicator *>(group);
    const nccl *by = p->by;
    LMR_CUDA_ENTER(c, ctx);
    NCCL_TRY(GroupStart());
    const larmor_status st = queue_all(c, p, count, send, send_bytes, receive, receive_bytes);
    const int ended = by->GroupEnd(); /* whatever happened, or the next group would be a part of this one */
    return st ? st : check(by, ended, "ncclGroupEnd()", __LINE__);
}

void close_group(void *ctx, void *group, int gives_up)
{
    auto *p = static_cast<communicator *>(group);
    auto *c = static_cast<lmr_cuda *>(ctx);
    if (!p) return;
    if (!cudaSetDevice(c->ordinal)) {
        if (!gives_up) (void)cudaStreamSynchronize(c->stream);
        (void)(gives_up ? p->by->CommAbort(p->group) : p->by->CommDestroy(p->group));
        (void)cudaGetLastError();
    }
    delete p;
}

} // namespace

const lmr_communicator lmr_cuda_communicator = {
    .name = name_group, .open = open_group, .exchange = exchange, .close = close_group};
