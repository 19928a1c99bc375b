/* A page of HTML out of its template and its data. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/images/formats.h"
#include "io/page/parts.h"

enum { MOST_BYTES = 4800000, LEAST_BYTES = 200000 };
enum { LOG_ROOM = 400000 }; /* of the log; what is more is left out */

static const char mark[] = "PAGE_DATA";

/* ---- the data ---- */

static void add_lines(lmr_bytes *b, const char *name, const char *const *line, int lines, size_t room)
{
    const size_t began = b->size;
    lmr_bytes_print(b, ",\n\"%s\":[", name);
    for (int i = 0; i < lines; i++) {
        lmr_bytes_print(b, i ? "," : "");
        if (b->size - began > room) {
            lmr_json_string(b, "...");
            break;
        }
        lmr_json_string(b, line[i]);
    }
    lmr_bytes_print(b, "]");
}

static void add_settings(lmr_bytes *b, const larmor_notes *n)
{
    lmr_bytes_print(b, ",\n\"settings\":[");
    for (int i = 0; i < n->count; i++) {
        lmr_bytes_print(b, i ? ",[" : "[");
        lmr_json_string(b, n->keys[i]);
        lmr_bytes_print(b, ",");
        lmr_json_string(b, n->values[i]);
        lmr_bytes_print(b, "]");
    }
    lmr_bytes_print(b, "]");
}

static larmor_status add_gating(lmr_bytes *b, const larmor_gating_trace *trace)
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes svg = {0};
    if (trace && trace->readouts > 0) {
        LMR_TRY(lmr_gating_svg(&svg, trace));
        LMR_TRY(lmr_bytes_end(&svg));
    }
    lmr_json_string(b, (const char *)svg.data);
    return LARMOR_OK;
}

/* All but the volumes, which get the room that is left. */
static larmor_status add_rest(lmr_bytes *b, const larmor_output *out, const larmor_page *page)
{
    lmr_bytes_print(b, "{\"title\":");
    lmr_json_string(b, page->title ? page->title : out->path);
    lmr_bytes_print(b, ",\"version\":");
    lmr_json_string(b, LARMOR_VERSION);
    add_settings(b, &page->settings);
    add_lines(b, "warnings", page->warning, page->warnings, LOG_ROOM / 4);
    add_lines(b, "log", page->line, page->lines, LOG_ROOM);
    lmr_bytes_print(b, ",\n\"reports\":");
    lmr_page_reports(b, page->report, page->images);
    lmr_bytes_print(b, ",\n\"maps\":");
    LMR_TRY(lmr_page_maps(b, page->maps));
    lmr_bytes_print(b, ",\n\"trajectory\":");
    LMR_TRY(lmr_page_trajectory(b, page->traj));
    lmr_bytes_print(b, ",\n\"gating\":");
    LMR_TRY(add_gating(b, page->gating));
    lmr_bytes_print(b, ",\n\"volumes\":");
    return LARMOR_OK;
}

static larmor_status add_page(lmr_bytes *b, const larmor_output *out, const larmor_page *page)
{
    const char *html = (const char *)lmr_page_html, *at = strstr(html, mark);
    const int64_t most = page->most_bytes ? page->most_bytes : MOST_BYTES;
    LMR_REFUSE(!at, LARMOR_ERR_BACKEND, "page: the template has no place for data");
    lmr_bytes_add(b, html, (size_t)(at - html));
    LMR_TRY(add_rest(b, out, page));
    const int64_t left = most - (int64_t)b->size - (int64_t)strlen(at);
    LMR_TRY(lmr_page_volumes(b, page, left > LEAST_BYTES / 2 ? left : LEAST_BYTES / 2));
    lmr_bytes_print(b, "}");
    lmr_bytes_add(b, at + sizeof mark - 1, strlen(at) - (sizeof mark - 1));
    return lmr_bytes_end(b);
}

/* ---- checks ---- */

static larmor_status check_image(const larmor_image *image, int i)
{
    LMR_REFUSE(!image[i].data, LARMOR_ERR_ARG, "page: image %d has no data", i + 1);
    const larmor_shape s = larmor_array_shape(image[i].data);
    if (s.ndim >= 2 && s.ndim <= 3 && larmor_shape_count(s) > 0) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_SHAPE, "page: image %d is %s, expected [nx, ny] or [nx, ny, nz]", i + 1,
                    lmr_describe(image[i].data).s);
}

static larmor_status check(const larmor_page *page)
{
    LMR_REFUSE(!page->image || page->images < 1 || page->images > LMR_MOST_IMAGES, LARMOR_ERR_ARG,
               "page: %d images, expected 1 to %d", page->images, LMR_MOST_IMAGES);
    LMR_REFUSE(page->most_bytes && page->most_bytes < LEAST_BYTES, LARMOR_ERR_ARG,
               "page: most_bytes is %lld, expected at least %d", (long long)page->most_bytes, LEAST_BYTES);
    LMR_REFUSE(page->settings.count < 0 ||
                   (page->settings.count && (!page->settings.keys || !page->settings.values)) || page->lines < 0 ||
                   (page->lines && !page->line) || page->warnings < 0 || (page->warnings && !page->warning),
               LARMOR_ERR_ARG, "page: settings, lines or warnings are missing");
    for (int i = 0; i < page->images; i++) LMR_TRY(check_image(page->image, i));
    LMR_REFUSE(page->snrs < 0 || page->snrs > LMR_MOST_IMAGES || (page->snrs && !page->snr), LARMOR_ERR_ARG,
               "page: %d signal-to-noise ratios, expected 0 to %d", page->snrs, LMR_MOST_IMAGES);
    for (int i = 0; i < page->snrs; i++) LMR_TRY(check_image(page->snr, i));
    return LARMOR_OK;
}

/* ---- files ---- */

static larmor_status put(larmor_output *out, const larmor_page *page)
{
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes file = {0};
    LMR_TRY(add_page(&file, out, page));
    LMR_TRY(lmr_output_reserve(out, 0, (int64_t)file.size));
    return lmr_output_put(out, 0, file.data, file.size);
}

larmor_status larmor_page_write(larmor_output *out, const larmor_page *page)
{
    LMR_NEED(page);
    LMR_TRY(lmr_output_ready(out));
    LMR_TRY(check(page));
    LMR_REFUSE(!out->format || strcmp(out->format->suffix, ".html") != 0, LARMOR_ERR_ARG,
               "%s: a page is written to .html", out->path);
    larmor_status st = put(out, page);
    if (!st) st = lmr_output_commit(out);
    lmr_output_give_up(out);
    return st;
}

static larmor_status write_images(larmor_output *out, const lmr_images *images)
{
    const larmor_notes *notes = &images->opts->notes;
    return put(out, &(larmor_page){.image = images->image,
                                   .images = images->count,
                                   .settings = *notes,
                                   .magnitude = images->opts->magnitude});
}

const lmr_format lmr_format_html = {
    .suffix = ".html",
    .name = "HTML",
    .write = write_images,
};
