/* A device that is opened while the caller does something else. SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device.h"
#include "core/owned.h"
#include "core/quiet.h"
#include "core/status.h"

struct larmor_opening {
    pthread_t thread;
    int started; /* 0: opened when it is waited for */
    char *spec;
    larmor_device *dev;
    larmor_status status;
    char message[1200]; /* of the thread that opened it */
};

static void *open_device(void *opening)
{
    larmor_opening *o = opening;
    o->status = larmor_device_open(o->spec, &o->dev);
    if (o->status) snprintf(o->message, sizeof o->message, "%s", larmor_last_error());
    return NULL;
}

/* A processor is opened at once, and so is the reason found why a GPU is none. */
static int takes_long(const char *spec)
{
    return strncmp(spec, "cpu", 3) != 0 && lmr_plugin_is_there("cuda");
}

larmor_status larmor_device_open_begin(const char *spec, larmor_opening **opening)
{
    LMR_NEED_OUT(opening);
    LMR_NEW_ZEROS(larmor_opening, o, 1);
    o->spec = strdup(spec ? spec : "auto");
    if (!o->spec) {
        free(o);
        return LMR_NO_MEMORY();
    }
    o->started = takes_long(o->spec) && lmr_quiet_thread(&o->thread, open_device, o);
    *opening = o;
    return LARMOR_OK;
}

larmor_status larmor_device_open_end(larmor_opening *opening, larmor_device **out)
{
    if (out) *out = NULL;
    LMR_REFUSE(!opening, LARMOR_ERR_ARG, "%s: opening is NULL", __func__);
    if (opening->started)
        pthread_join(opening->thread, NULL);
    else if (out)
        open_device(opening);
    const larmor_status st = opening->status;
    if (st && out) larmor_fail(st, "%s", opening->message);
    if (out)
        *out = opening->dev;
    else
        larmor_device_free(opening->dev);
    LMR_FREE(opening->spec, opening);
    return out ? st : LARMOR_OK;
}
