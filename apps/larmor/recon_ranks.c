/* A reconstruction by several processes, which mpirun has started. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recon.h"

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

/* A small scan is read in no time, and then it is known whether it needs a GPU. */
static int is_left_open(const char *device, const char *scan)
{
    enum { SMALL = 64 << 20 };
    struct stat file;
    return !strcmp(device, "auto") && !stat(scan, &file) && file.st_size < SMALL;
}

static const char *asked_device(const recon_settings *s)
{
    return s->device ? s->device : getenv("LARMOR_DEVICE");
}

larmor_status recon_begin_device(recon_run *r)
{
    char own[32];
    const char *asked = asked_device(r->s);
    if (r->ranks || is_left_open(app_device_name(asked, r->s->threads, own), r->input)) return LARMOR_OK;
    return app_begin_devices(asked, r->s->threads, &r->opening);
}

/* Where the device's work is known. */
static larmor_status open_for_scan(recon_run *r, const larmor_recon_opts *opts)
{
    const recon_settings *s = r->s;
    char own[32];
    const char *name = app_device_name(asked_device(s), s->threads, own);
    app_see_one_gpu(name);
    if (s->b0 || s->basis || s->dictionary) return larmor_device_open(name, &r->dev);
    return larmor_recon_open_device(name, r->source, opts, &r->dev);
}

larmor_status recon_open_device(recon_run *r, const larmor_recon_opts *opts)
{
    const char *asked = asked_device(r->s);
    char own[256];
    if (r->opening) {
        larmor_opening *opening = r->opening;
        r->opening = NULL;
        return larmor_device_open_end(opening, &r->dev);
    }
    if (!r->ranks) return open_for_scan(r, opts);
    const larmor_status st = larmor_ranks_spec(r->ranks, asked, own, sizeof own);
    return st ? st : app_open_devices(own, r->s->threads, &r->dev);
}

/* What has been said here, for the first one to say; its own was said already. */
static larmor_status status_of(const recon_run *r, int code)
{
    if (!code) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_IO, "%s", recon_is_first(r) ? "stopped" : app_silent_error());
}

static int judge(const recon_run *r, int code, larmor_status st)
{
    if (code || !st) return code;
    return recon_is_first(r) ? app_fail(APP_INPUT, st) : APP_FAILED;
}

int recon_agree(recon_run *r, int code, larmor_recon_opts *opts)
{
    if (!r->ranks) return code;
    int64_t least = r->s->opts.memory;
    larmor_status st = status_of(r, code);
    if (!st && !least) st = larmor_ranks_memory(r->ranks, r->dev, &least);
    st = larmor_ranks_agree(r->ranks, st, &least);
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
