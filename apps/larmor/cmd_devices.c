/* larmor devices: what this machine can compute on, or why not. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "common.h"
#include "json.h"

#define MAX_DEVICES 64

static void print_text(const larmor_device_info *infos, int count)
{
    for (int i = 0; i < count; i++) {
        const larmor_device_info *d = &infos[i];
        if (!d->available) {
            printf("%-8s unavailable: %s\n", d->spec, d->reason);
            continue;
        }
        printf("%-8s %s", d->spec, d->name);
        if (d->threads) printf(", %d thread%s", d->threads, app_s(d->threads));
        if (d->memory) printf(", %.1f GiB free", (double)d->memory * 0x1p-30);
        putchar('\n');
    }
}

static void print_json(const larmor_device_info *infos, int count)
{
    json j = json_begin();
    json_open(&j, "devices", '[');
    for (int i = 0; i < count; i++) {
        json_open(&j, NULL, '{');
        JSON_MEMBERS(&j, infos[i], spec, name);
        json_flag(&j, "available", infos[i].available);
        JSON_MEMBERS(&j, infos[i], reason, threads, memory);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static int run(const void *given, const app_files *files APP_UNUSED)
{
    const json_settings *s = given;
    APP_HEAP larmor_device_info *infos = calloc(MAX_DEVICES, sizeof *infos); /* too large for a small stack */
    int count;
    if (!infos) return app_fail(APP_RUN, NO_MEMORY());
    APP_TRY(APP_RUN, larmor_device_list(infos, MAX_DEVICES, &count));
    if (count > MAX_DEVICES) count = MAX_DEVICES;
    if (s->json)
        print_json(infos, count);
    else
        print_text(infos, count);
    return APP_DONE;
}

const app_command cmd_devices = {
    .name = "devices",
    .usage = "[--json]",
    .summary = "the devices of this machine",
    .options = json_options,
    .settings = sizeof(json_settings),
    .run = run,
};
