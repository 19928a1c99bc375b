/* Devices by name. SPDX-License-Identifier: Apache-2.0 */
#include "core/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"

enum { MAX_THREADS = 4096 };

/* "cpu" or "cpu:4": *threads is 0 for all cores. 0 if the name is another one. */
static int parse_cpu(const char *spec, int *threads)
{
    *threads = 0;
    if (strncmp(spec, "cpu", 3) != 0) return 0;
    if (!spec[3]) return 1;
    if (spec[3] != ':' || spec[4] < '0' || spec[4] > '9') return 0;
    char *end;
    errno = 0;
    const long n = strtol(spec + 4, &end, 10);
    if (*end || errno || n < 1 || n > MAX_THREADS) return 0;
    *threads = (int)n;
    return 1;
}

static int is_cuda(const char *spec)
{
    return !strncmp(spec, "cuda", 4) && (!spec[4] || spec[4] == ':');
}

static const char no_cuda[] = "this version has no CUDA backend; use cpu or auto";

larmor_status larmor_device_open(const char *spec, larmor_device **out)
{
    if (!out) return LMR_FAIL(LARMOR_ERR_ARG, "larmor_device_open: out is NULL");
    *out = NULL;
    if (!spec || !strcmp(spec, "auto")) spec = "cpu";
    int threads;
    if (is_cuda(spec)) return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "device %s: %s", spec, no_cuda);
    if (!parse_cpu(spec, &threads))
        return LMR_FAIL(LARMOR_ERR_ARG, "device \"%s\": expected auto, cpu or cpu:THREADS (1 to %d)", spec,
                        MAX_THREADS);
    larmor_device *dev = calloc(1, sizeof *dev);
    if (!dev) return LMR_NO_MEMORY();
    dev->be = &lmr_cpu_backend;
    atomic_init(&dev->refs, 1);
    const larmor_status st = dev->be->open(0, threads, &dev->ctx);
    if (st) {
        free(dev);
        return st;
    }
    snprintf(dev->spec, sizeof dev->spec, "%s:%d", dev->be->name, dev->be->threads(dev->ctx));
    *out = dev;
    return LARMOR_OK;
}

larmor_device *lmr_device_ref(larmor_device *dev)
{
    atomic_fetch_add_explicit(&dev->refs, 1, memory_order_relaxed);
    return dev;
}

void larmor_device_free(larmor_device *dev)
{
    if (!dev || atomic_fetch_sub_explicit(&dev->refs, 1, memory_order_acq_rel) != 1) return;
    dev->be->close(dev->ctx);
    free(dev);
}

const char *larmor_device_spec(const larmor_device *dev)
{
    return dev->spec;
}

larmor_status larmor_device_sync(larmor_device *dev)
{
    return dev->be->sync(dev->ctx);
}

int lmr_device_threads(const larmor_device *dev)
{
    const int n = dev->be->threads(dev->ctx);
    return n > 0 ? n : 1;
}

larmor_status lmr_device_memory(const larmor_device *dev, int64_t *available, int64_t *total)
{
    return dev->be->memory(dev->ctx, available, total);
}

/* The processor's name as Linux tells it; "processor" elsewhere. */
static void cpu_name(char *name, size_t size)
{
    snprintf(name, size, "processor");
    FILE *f = fopen("/proc/cpuinfo", "r");
    if (!f) return;
    char line[256];
    while (fgets(line, sizeof line, f)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value[strcspn(value, "\n")] = 0;
        snprintf(name, size, "%s", value + 1 + strspn(value + 1, " "));
        break;
    }
    fclose(f);
}

static larmor_status describe_cpu(larmor_device_info *info)
{
    larmor_device *dev;
    LMR_TRY(larmor_device_open("cpu", &dev));
    *info = (larmor_device_info){.spec = "cpu", .available = 1, .threads = lmr_device_threads(dev)};
    cpu_name(info->name, sizeof info->name);
    int64_t total;
    const larmor_status st = lmr_device_memory(dev, &info->memory, &total);
    larmor_device_free(dev);
    return st;
}

larmor_status larmor_device_list(larmor_device_info *infos, int cap, int *count)
{
    if (!count || cap < 0 || (cap && !infos))
        return LMR_FAIL(LARMOR_ERR_ARG, "larmor_device_list: cap is %d, infos %s, count %s", cap,
                        infos ? "given" : "NULL", count ? "given" : "NULL");
    *count = 2;
    if (cap > 0) LMR_TRY(describe_cpu(&infos[0]));
    if (cap > 1) {
        infos[1] = (larmor_device_info){.spec = "cuda", .name = "NVIDIA GPU"};
        snprintf(infos[1].reason, sizeof infos[1].reason, "%s", no_cuda);
    }
    return LARMOR_OK;
}
