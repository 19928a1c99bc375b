/* larmor view: the page of an image, for a browser on this machine. SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include "commands.h"
#include "common.h"

typedef struct settings {
    const char *address;
    int64_t port;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_INTEGER, port, 'p', "port", "N", "TCP port; 0: any that is free", .preset = "0", .low = 0,
           .high = 65535),
    OPTION(APP_TEXT, address, 0, "address", "IP", "where to listen; other than 127.0.0.1 lets others look",
           .preset = "127.0.0.1"),
    {0},
};

enum { WAIT_MS = 200 };

typedef struct page {
    char *data;
    size_t bytes;
} page;

static larmor_status read_file(const char *path, page *p)
{
    FILE *f = fopen(path, "rb");
    if (!f) return larmor_fail(LARMOR_ERR_IO, "%s: no such file.", path);
    larmor_status st = LARMOR_OK;
    for (size_t got = 1; got && !st;) {
        char *more = realloc(p->data, p->bytes + (1 << 16));
        if (!more) st = NO_MEMORY();
        if (st) break;
        p->data = more;
        got = fread(p->data + p->bytes, 1, 1 << 16, f);
        p->bytes += got;
    }
    fclose(f);
    return st;
}

static larmor_status write_page(const char *from, const char *to)
{
    APP_FREED_BY(larmor_images_free) larmor_image_set set = {.count = 0};
    APP_OWN(larmor_device, dev, larmor_device_open("cpu", &dev));
    TRY(app_read_images(from, dev, &set));
    APP_OWN(larmor_output, out, app_outputs_open(&to, 1, 0, &out));
    const larmor_page shown = {.title = from, .image = set.image, .images = set.count};
    return larmor_page_write(out, &shown);
}

/* An .html is the page; of an image one is written to a folder of its own, which is removed. */
static larmor_status make_page(const char *path, page *p)
{
    char folder[PATH_MAX], file[PATH_MAX + 16];
    const char *temporary = getenv("TMPDIR");
    if (!strcmp(app_suffix(path), ".html")) return read_file(path, p);
    snprintf(folder, sizeof folder, "%s/larmor-view-XXXXXX", temporary && *temporary ? temporary : P_tmpdir);
    if (!mkdtemp(folder)) return larmor_fail(LARMOR_ERR_IO, "%s: cannot be made", folder);
    snprintf(file, sizeof file, "%s/page.html", folder);
    larmor_status st = write_page(path, file);
    if (!st) st = read_file(file, p);
    unlink(file);
    rmdir(folder);
    return st;
}

static int serve(const settings *s, const page *p)
{
    const larmor_view_opts opts = {.address = s->address, .port = (int)s->port};
    larmor_view *view;
    const larmor_status st = larmor_view_open(p->data, p->bytes, &opts, &view);
    if (st == LARMOR_ERR_ARG) return app_refuse(APP_USAGE, "%s", larmor_last_error());
    if (st) return app_fail(APP_RUN, st);
    printf("%s\n", larmor_view_address(view));
    fflush(stdout);
    while (!app_stopped()) poll(NULL, 0, WAIT_MS);
    larmor_view_close(view);
    return app_stopped();
}

static int run(const void *given, const app_files *files)
{
    page p = {.data = NULL};
    const larmor_status st = make_page(files->name[0], &p);
    const int code = st ? app_fail(APP_INPUT, st) : serve(given, &p);
    free(p.data);
    return code;
}
const app_command cmd_view = {
    .name = "view",
    .usage = "IMAGE|PAGE.html [options]",
    .summary = "show an image, or a page that recon --report wrote, to a browser on this machine",
    .details = "Prints the address to open, and serves that page alone until Ctrl-C.",
    .min_files = 1,
    .max_files = 1,
    APP_OWN_PARTS,
};
