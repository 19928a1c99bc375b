/* larmor check: what is wrong with a scan, and what recon would do. SPDX-License-Identifier: Apache-2.0 */

#include "choices.h"
#include "commands.h"
#include "common.h"
#include "given.h"
#include "in_options.h"
#include "json.h"

typedef struct settings {
    larmor_raw_opts raw;
    scan_given given;
    const char *device;
    int64_t threads;
    int json;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    GIVEN_OPTIONS(settings),
    SAMPLES_OPTIONS(settings),
    PHASE_ROWS_OPTION(settings),
    OPTION(
        APP_BYTES, raw.memory, 0, "memory", "SIZE",
        "most memory, of the file's samples and, as for recon, of the images, e.g. 512M or 8G (default: 64G for the "
        "samples, what is free for the images)"),
    OPTION(APP_FLAG, json, 0, "json", "", "print a JSON object"),
    APP_DEVICE_OPTIONS(settings),
    {0},
};

static void print_text(const char *path, const larmor_findings *f)
{
    for (int i = 0; i < f->count; i++)
        printf("%s: %s: %s\n", larmor_severity_name(f->list[i].severity), f->list[i].code,
               app_line_in_options(f->list[i].text).s);
    printf("%s: %s, %d error%s, %d warning%s\n", path, f->errors ? "recon would refuse it" : "can be reconstructed",
           f->errors, app_s(f->errors), f->warnings, app_s(f->warnings));
}

static void print_json(const char *path, const larmor_findings *f)
{
    json j = json_begin();
    json_text(&j, "file", path);
    json_flag(&j, "reconstructable", !f->errors);
    JSON_MEMBERS(&j, *f, errors, warnings);
    json_open(&j, "findings", '[');
    for (int i = 0; i < f->count; i++) {
        json_open(&j, NULL, '{');
        json_text(&j, "severity", larmor_severity_name(f->list[i].severity));
        json_text(&j, "code", f->list[i].code);
        json_text(&j, "text", app_line_in_options(f->list[i].text).s);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    const char *path = files->name[0];
    APP_OWNED(larmor_device) *dev = NULL;
    APP_FREED_BY(larmor_findings_free) larmor_findings findings = {0};
    larmor_raw_opts raw = s->raw;
    APP_FREED_BY(larmor_trajectory_free) larmor_trajectory trajectory;
    int code = given_read(&s->given, &raw, &trajectory);
    if (code) return code;
    APP_TRY(APP_RUN, app_open_device(s->device, s->threads, &dev));
    APP_TRY(APP_INPUT, larmor_check(path, &raw, dev, &findings));
    if (s->json)
        print_json(path, &findings);
    else
        print_text(path, &findings);
    if (findings.errors) code = APP_REFUSED;
    return code;
}

const app_command cmd_check = {
    .name = "check",
    .usage = "SCAN.h5 [options]",
    .summary = "what is wrong with a scan, and what recon would do with it",
    .details = "One finding a line: error, warning or note, its kind, what was found and what to do.\n"
               "Exit code 0: it can be reconstructed; 3: recon would refuse it. docs/checking.md lists the findings.",
    .min_files = 1,
    .max_files = 1,
    .computes = 1,
    APP_OWN_PARTS,
};
