/* Devices by name. SPDX-License-Identifier: Apache-2.0 */
#include "core/device.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/owned.h"
#include "core/quiet.h"
#include "core/status.h"

enum { MAX_THREADS = 4096, MAX_GPUS = 1024, MAX_MEMBERS = 64 };

/* What a name asks for. */
typedef struct request {
    enum { NOTHING, CPU, CUDA } kind;
    int number; /* CPU: threads, 0 for all cores; CUDA: the GPU, -1 for the first that opens */
} request;

typedef struct requests {
    int count;
    request each[MAX_MEMBERS];
} requests;

/* spec is `name` or `name:number` with a number in first .. last: 1, and *number, which is kept without one. */
static int parse_name(const char *spec, const char *name, long first, long last, int *number)
{
    const size_t length = strlen(name);
    if (strncmp(spec, name, length) != 0) return 0;
    if (!spec[length]) return 1;
    const char *digits = spec + length + 1;
    if (spec[length] != ':' || digits[0] < '0' || digits[0] > '9') return 0;
    char *end;
    errno = 0;
    const long n = strtol(digits, &end, 10);
    if (*end || errno || n < first || n > last) return 0;
    *number = (int)n;
    return 1;
}

static request parse(const char *spec)
{
    request cpu = {CPU, 0}, cuda = {CUDA, -1};
    if (parse_name(spec, "cpu", 1, MAX_THREADS, &cpu.number)) return cpu;
    if (parse_name(spec, "cuda", 0, MAX_GPUS - 1, &cuda.number)) return cuda;
    return (request){NOTHING, 0};
}

static larmor_status open_on(const lmr_backend *be, int ordinal, int threads, larmor_device **out)
{
    LMR_NEW_ZEROS(larmor_device, dev, 1);
    dev->be = be;
    lmr_gate_init(&dev->gate);
    atomic_init(&dev->refs, 1);
    const larmor_status st = be->open(ordinal, threads, &dev->ctx);
    if (st) {
        lmr_gate_destroy(&dev->gate);
        free(dev);
        return st;
    }
    const int count = be->threads(dev->ctx);
    dev->threads = count ? count : lmr_cpu_team(0);
    snprintf(dev->spec, sizeof dev->spec, "%s:%d", be->name, count ? count : ordinal);
    *out = dev;
    return LARMOR_OK;
}

/* The plugin's table and how many GPUs there are, at least 1. */
static larmor_status find_gpus(const lmr_backend **be, int *count)
{
    *be = lmr_backend_find("cuda");
    if (!*be) return LARMOR_ERR_UNSUPPORTED;
    *count = (*be)->device_count();
    if (*count < 0) return LARMOR_ERR_UNSUPPORTED;
    return *count ? LARMOR_OK : LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "this machine has no NVIDIA GPU");
}

static larmor_status open_gpu(int number, larmor_device **out)
{
    const lmr_backend *be;
    int count;
    LMR_TRY(find_gpus(&be, &count));
    if (number >= 0) return open_on(be, number, 0, out);
    larmor_status st = LARMOR_ERR_UNSUPPORTED;
    for (int i = 0; i < count && st; i++) st = open_on(be, i, 0, out);
    return st;
}

/* "asked: cuda:0 (NVIDIA H200)", without what was asked for if that is the device's own name. */
static void set_reason(larmor_device *dev, const char *asked)
{
    const int plain = !strcmp(asked, dev->spec);
    snprintf(dev->reason, sizeof dev->reason, "%s%s%s (%s)", plain ? "" : asked, plain ? "" : ": ", dev->spec,
             dev->be->describe(dev->ctx));
}

static larmor_status open_best(larmor_device **out)
{
    if (!open_gpu(-1, out)) {
        set_reason(*out, "auto");
        (*out)->chosen = 1;
        return LARMOR_OK;
    }
    char why[sizeof(*out)->reason - 160];
    snprintf(why, sizeof why, "%s", larmor_last_error());
    LMR_TRY(open_on(&lmr_cpu_backend, 0, 0, out));
    snprintf((*out)->reason, sizeof(*out)->reason, "auto: %s, because cuda unavailable: %s", (*out)->spec, why);
    return LARMOR_OK;
}

/* ---- groups ---- */

/* The names between commas. After the first a number alone is of the kind before it: "cuda:0,1". 1 if each is the
 * name of a processor or of a GPU. */
static int parse_list(const char *spec, requests *list)
{
    char text[1024];
    const char *kind = "";
    if (strlen(spec) >= sizeof text) return 0;
    memcpy(text, spec, strlen(spec) + 1);
    list->count = 0;
    for (char *name = text, *next; name; name = next) {
        char whole[sizeof text + 8];
        next = strchr(name, ',');
        if (next) *next++ = 0;
        snprintf(whole, sizeof whole, "%s%s", name[0] >= '0' && name[0] <= '9' ? kind : "", name);
        const request r = parse(whole);
        if (list->count == MAX_MEMBERS || (r.kind != CPU && r.kind != CUDA)) return 0;
        kind = r.kind == CPU ? "cpu:" : "cuda:";
        list->each[list->count++] = r;
    }
    return 1;
}

static int has_both(const requests *list)
{
    for (int i = 1; i < list->count; i++)
        if (list->each[i].kind != list->each[0].kind) return 1;
    return 0;
}

static larmor_status refuse_both(const char *spec)
{
    return LMR_FAIL(
        LARMOR_ERR_ARG,
        "device \"%s\": a processor and GPUs do not share a reconstruction: images would depend on which of them "
        "took which series, and all would wait for the processor; name devices of one kind",
        spec);
}

/* "cuda:0,1" of cuda:0 and cuda:1 */
static void name_group(larmor_device *group, const char *asked)
{
    size_t used = 0;
    for (int i = 0; i < group->members && used < sizeof group->spec; i++) {
        const char *own = group->member[i]->spec;
        used += (size_t)snprintf(group->spec + used, sizeof group->spec - used, "%s%s", i ? "," : "",
                                 i ? strchr(own, ':') + 1 : own);
    }
    set_reason(group, asked);
}

/* Processors without a number of threads share all cores. */
static larmor_status open_member(const larmor_device *group, const request *r, int members, larmor_device **out)
{
    if (r->kind == CUDA) {
        LMR_TRY(open_gpu(r->number, out));
        lmr_device_share_threads(*out, members);
        return LARMOR_OK;
    }
    const int share = lmr_device_threads(group) / members;
    const int threads = r->number ? r->number : share;
    return open_on(&lmr_cpu_backend, 0, threads > 0 ? threads : 1, out);
}

/* A member, which a thread opens. */
typedef struct coming {
    const larmor_device *group;
    const requests *list;
    int i, started;
    pthread_t thread;
    larmor_device *dev;
    larmor_status st;
    char message[1024];
} coming;

static void *come(void *user)
{
    coming *c = user;
    c->st = open_member(c->group, &c->list->each[c->i], c->list->count, &c->dev);
    if (c->st) snprintf(c->message, sizeof c->message, "%s", larmor_last_error());
    return NULL;
}

/* All at the same time: a GPU takes a tenth of a second. The first error is told. */
static larmor_status open_members(larmor_device *group, const requests *list)
{
    larmor_status st = LARMOR_OK;
    LMR_HEAP LMR_NEW_ZEROS(coming, all, list->count);
    LMR_ALLOCATE_ZEROS(group->member, list->count);
    for (int i = 0; i < list->count; i++) {
        all[i] = (coming){.group = group, .list = list, .i = i};
        all[i].started = list->each[i].kind == CUDA && lmr_quiet_thread(&all[i].thread, come, &all[i]);
    }
    for (int i = 0; i < list->count; i++) {
        if (all[i].started)
            pthread_join(all[i].thread, NULL);
        else
            come(&all[i]);
        if (all[i].st && !st) st = larmor_fail(all[i].st, "%s", all[i].message);
        if (all[i].st || st) larmor_device_free(all[i].dev);
        if (!all[i].st && !st) group->member[group->members++] = all[i].dev;
    }
    return st;
}

/* The group is a device by itself, too: the first of its members, with a queue of its own; of processors with the
 * threads of all. */
static larmor_status open_group(const char *spec, const requests *list, larmor_device **out)
{
    int threads = 0, all = 0;
    for (int i = 0; i < list->count; i++) {
        threads += list->each[i].number;
        all |= !list->each[i].number;
    }
    if (list->each[0].kind == CPU)
        LMR_TRY(open_on(&lmr_cpu_backend, 0, all ? 0 : threads, out));
    else
        LMR_TRY(open_gpu(list->each[0].number, out));
    larmor_device *group = *out;
    const larmor_status st = open_members(group, list);
    if (!st) {
        name_group(group, spec);
        return LARMOR_OK;
    }
    *out = NULL;
    larmor_device_free(group);
    return st;
}

static larmor_status list_gpus(requests *list)
{
    const lmr_backend *be;
    int count;
    LMR_TRY(find_gpus(&be, &count));
    list->count = count < MAX_MEMBERS ? count : MAX_MEMBERS;
    for (int i = 0; i < list->count; i++) list->each[i] = (request){CUDA, i};
    return LARMOR_OK;
}

static larmor_status open_named(const char *spec, larmor_device **out)
{
    requests list;
    larmor_status st = LARMOR_OK;
    char prefix[64];
    if (!strcmp(spec, "cpu+cuda") || !strcmp(spec, "cuda+cpu")) return refuse_both(spec);
    if (!strcmp(spec, "cuda:all"))
        st = list_gpus(&list);
    else if (!parse_list(spec, &list))
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "device \"%s\": expected auto, cpu or cpu:THREADS (1 to %d), cuda or cuda:NUMBER (from 0), "
                        "cuda:all, or several with commas between them",
                        spec, MAX_THREADS);
    if (!st && has_both(&list)) return refuse_both(spec);
    const int is_gpu = st || list.each[0].kind == CUDA;
    if (!st && list.count > 1) {
        st = open_group(spec, &list, out);
    } else if (!st) {
        st = is_gpu ? open_gpu(list.each[0].number, out) : open_on(&lmr_cpu_backend, 0, list.each[0].number, out);
        if (!st) set_reason(*out, spec);
    }
    snprintf(prefix, sizeof prefix, "device %s: cuda unavailable", spec);
    return st && is_gpu ? lmr_fail_in(st, prefix) : st;
}

larmor_status larmor_device_open(const char *spec, larmor_device **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "larmor_device_open: out is NULL");
    *out = NULL;
    return !spec || !strcmp(spec, "auto") ? open_best(out) : open_named(spec, out);
}

void larmor_device_set_repeatable(larmor_device *dev, int on)
{
    if (!dev) return;
    dev->repeatable = on != 0;
    for (int i = 0; i < dev->members; i++) larmor_device_set_repeatable(dev->member[i], on);
}

int larmor_device_members(const larmor_device *dev)
{
    return dev ? dev->members : 0;
}

larmor_device *larmor_device_member(const larmor_device *dev, int i)
{
    return dev && i >= 0 && i < dev->members ? dev->member[i] : NULL;
}

int lmr_device_has_memory_of(const larmor_device *dev, const larmor_device *other)
{
    return dev->be == &lmr_cpu_backend || !strcmp(dev->spec, other->spec);
}

int lmr_device_sharers(const larmor_device *dev)
{
    int most = 1;
    for (int i = 0; i < dev->members; i++) {
        int alike = 0;
        for (int j = 0; j < dev->members; j++) alike += lmr_device_has_memory_of(dev->member[i], dev->member[j]);
        if (alike > most) most = alike;
    }
    return most;
}

larmor_device *lmr_device_ref(larmor_device *dev)
{
    lmr_refs_add(&dev->refs);
    return dev;
}

void larmor_device_free(larmor_device *dev)
{
    if (!dev || !lmr_refs_drop(&dev->refs)) return;
    if (dev->learnt) dev->forget(dev->learnt);
    for (int i = 0; i < dev->members; i++) larmor_device_free(dev->member[i]);
    free(dev->member);
    dev->be->close(dev->ctx);
    lmr_gate_destroy(&dev->gate);
    free(dev);
}

const char *larmor_device_spec(const larmor_device *dev)
{
    return dev ? dev->spec : "";
}

const char *larmor_device_reason(const larmor_device *dev)
{
    return dev ? dev->reason : "";
}

int larmor_device_may_be_left(const larmor_device *dev, larmor_status status)
{
    const int is_its =
        status == LARMOR_ERR_BACKEND || status == LARMOR_ERR_MEMORY || status == LARMOR_ERR_UNSUPPORTED;
    return dev && dev->chosen && is_its;
}

larmor_status larmor_device_sync(larmor_device *dev)
{
    LMR_NEED(dev);
    return dev->be->sync(dev->ctx);
}

int lmr_device_is_processor(const larmor_device *dev)
{
    return dev->be->threads(dev->ctx) > 0;
}

int lmr_device_threads(const larmor_device *dev)
{
    return dev->threads;
}

void lmr_device_share_threads(larmor_device *dev, int shares)
{
    dev->threads = dev->threads > shares ? dev->threads / shares : 1;
}

larmor_status larmor_device_memory(const larmor_device *dev, int64_t *available, int64_t *total)
{
    LMR_NEED(dev, available, total);
    return dev->be->memory(dev->ctx, available, total);
}

/* Fills *info from a device that has just been opened, and frees the device. */
static larmor_status describe(larmor_device *dev, const char *spec, larmor_device_info *info)
{
    int64_t total;
    const char *name = dev->be->describe(dev->ctx);
    *info = (larmor_device_info){.available = 1, .threads = dev->be->threads(dev->ctx)};
    snprintf(info->spec, sizeof info->spec, "%s", spec);
    snprintf(info->name, sizeof info->name, "%.*s", (int)sizeof info->name - 1, name);
    const larmor_status st = larmor_device_memory(dev, &info->memory, &total);
    larmor_device_free(dev);
    return st;
}

/* number -1: no GPU at all, for the reason in the thread's message. */
static void describe_gpu(int number, larmor_device_info *info)
{
    larmor_device *dev = NULL;
    char spec[sizeof info->spec] = "cuda";
    if (number >= 0) {
        snprintf(spec, sizeof spec, "cuda:%d", number);
        if (!open_gpu(number, &dev) && !describe(dev, spec, info)) return;
    }
    *info = (larmor_device_info){.name = "NVIDIA GPU"};
    memcpy(info->spec, spec, sizeof spec);
    snprintf(info->reason, sizeof info->reason, "%s", larmor_last_error());
}

larmor_status larmor_device_list(larmor_device_info *infos, int cap, int *count)
{
    LMR_REFUSE(!count || cap < 0 || (cap && !infos), LARMOR_ERR_ARG,
               "larmor_device_list: cap is %d, infos %s, count %s", cap, infos ? "given" : "NULL",
               count ? "given" : "NULL");
    const lmr_backend *be;
    larmor_device *dev = NULL;
    int gpus = 0;
    const int none = find_gpus(&be, &gpus) != LARMOR_OK;
    *count = 1 + (none ? 1 : gpus);
    if (none && cap > 1) describe_gpu(-1, &infos[1]);
    for (int i = 0; !none && i < gpus && i + 1 < cap; i++) describe_gpu(i, &infos[i + 1]);
    if (!cap) return LARMOR_OK;
    LMR_TRY(open_on(&lmr_cpu_backend, 0, 0, &dev));
    return describe(dev, "cpu", &infos[0]);
}
