/* A reconstruction by several processes, which mpirun has started. SPDX-License-Identifier: Apache-2.0 */
#include "recon_ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int recon_is_first(const recon_run *r)
{
    return larmor_ranks_number(r->ranks) == 0;
}

int recon_open_ranks(recon_run *r)
{
    const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    if (larmor_ranks_started() < 2) return APP_DONE;
    for (int i = 0; i < 2; i++) {
        const char *number = getenv(names[i]);
        if (number && atoi(number) > 0) app_set_silent();
    }
    const larmor_status st = larmor_ranks_open(&r->ranks);
    if (st) return app_fail(APP_RUN, st);
    if (recon_is_first(r)) app_log("%d processes share the reconstruction", larmor_ranks_count(r->ranks));
    return APP_DONE;
}

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

larmor_status recon_open_device(recon_run *r)
{
    const char *asked = r->s->device ? r->s->device : getenv("LARMOR_DEVICE");
    const int is_any = !asked || !*asked || !strcmp(asked, "auto") || !strcmp(asked, "cuda");
    const int gpus = r->ranks && is_any ? count_gpus() : 0;
    char spec[32];
    if (!gpus) return app_open_devices(r->s->device, r->s->threads, &r->dev);
    snprintf(spec, sizeof spec, "cuda:%d", larmor_ranks_local(r->ranks) % gpus);
    return larmor_device_open(spec, &r->dev);
}

/* What has been said here, for the first one to say; its own was said already. */
static larmor_status status_of(const recon_run *r, int code)
{
    if (!code) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_IO, "%s", recon_is_first(r) ? "stopped" : app_silent_error());
}

/* The processes of one machine share the processor's memory, or that of a GPU. */
static int64_t memory_of(const recon_run *r)
{
    int64_t available = 0, total;
    if (r->s->memory) return r->s->memory;
    if (!r->dev || larmor_device_memory(r->dev, &available, &total)) return 0;
    const int processes = larmor_ranks_local_count(r->ranks);
    const int gpus = strncmp(larmor_device_spec(r->dev), "cuda", 4) ? 0 : count_gpus();
    return available / (gpus ? (processes + gpus - 1) / gpus : processes);
}

static int judge(const recon_run *r, int code, larmor_status st)
{
    if (code || !st) return code;
    return recon_is_first(r) ? app_fail(APP_INPUT, st) : APP_FAILED;
}

int recon_agree(recon_run *r, int code, larmor_recon_opts *opts)
{
    if (!r->ranks) return code;
    int64_t least = memory_of(r);
    const larmor_status st = larmor_ranks_agree(r->ranks, status_of(r, code), &least);
    opts->memory = least;
    opts->ranks = r->ranks;
    return judge(r, code, st);
}

int recon_share(recon_run *r, int code)
{
    if (!r->ranks) return code;
    const larmor_status own = status_of(r, code);
    return judge(r, code, own ? larmor_ranks_agree(r->ranks, own, NULL) : larmor_recon_share(r->recon, r->ranks));
}
