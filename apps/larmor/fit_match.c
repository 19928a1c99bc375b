/* larmor fit --model dictionary: properties about the entries that match best. SPDX-License-Identifier: Apache-2.0 */
#include "fit_match.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fit_inputs.h"
#include "json.h"
#include "stack.h"

enum { COLUMNS = 8, NAME = 32, ROOM = 4096, OUTPUTS = 2 * COLUMNS + 2 };
enum { MOST_TEXT = 1 << 28 };

typedef struct table {
    char name[COLUMNS][NAME];
    int columns;
    int64_t rows;
    double *value; /* [rows, columns], rows fastest */
} table;

typedef struct match_run {
    const fit_settings *s;
    table table;
    larmor_device *dev;
    fit_inputs in;
    larmor_array *dictionary, *basis, *mask, *noise, *rows, *entry, *m0, *match, *value, *deviation;
    char path[OUTPUTS][ROOM];
    larmor_output *out[OUTPUTS]; /* of each column and its deviation, of M0, of the match */
    double beyond[COLUMNS];      /* what neighbours differ by beyond the noise, over the deviation */
    int64_t matched;
} match_run;

static void free_run(match_run *r)
{
    larmor_array *const owned[] = {r->dictionary, r->basis, r->mask,  r->noise, r->rows,
                                   r->entry,      r->m0,    r->match, r->value, r->deviation};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) larmor_array_free(owned[i]);
    for (int i = 0; i < OUTPUTS; i++) larmor_output_free(r->out[i]);
    free(r->table.value);
    fit_inputs_free(&r->in);
    larmor_device_free(r->dev);
}

/* ---- the table ---- */

/* "T1,T2": names of letters, digits, - and _, of which files are named. Returns 0 where it is none. */
static int read_names(const char *text, size_t length, table *t)
{
    for (size_t at = 0; at <= length; at++) {
        size_t end = at;
        while (end < length && text[end] != ',') end++;
        if (t->columns == COLUMNS || end == at || end - at >= NAME) return 0;
        for (size_t i = at; i < end; i++)
            if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-') return 0;
        snprintf(t->name[t->columns++], NAME, "%.*s", (int)(end - at), text + at);
        at = end;
    }
    return 1;
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++) lines += *text == '\n';
    return lines + 1;
}

static int refuse_table(const char *path, const char *why)
{
    return app_refuse(
        APP_REFUSED,
        "%s: got %s, expected a first line of up to %d names, as T1,T2, and a line of so many numbers for each "
        "entry.",
        path, why, COLUMNS);
}

static int parse_csv(const char *path, const char *text, table *t)
{
    const int lines = count_lines(text);
    const size_t first = strcspn(text, "\r\n");
    if (!read_names(text, first, t)) return refuse_table(path, "no names in the first line");
    t->value = calloc((size_t)lines * (size_t)t->columns, sizeof *t->value);
    if (!t->value) return app_fail(APP_RUN, NO_MEMORY());
    const char *at = text + first;
    for (at += strspn(at, "\r\n"); *at; at += strspn(at, "\r\n"), t->rows++)
        for (int c = 0; c < t->columns; c++) {
            char *end;
            t->value[t->rows + (int64_t)lines * c] = strtod(at, &end);
            const char *wanted = c + 1 < t->columns ? "," : "\r\n";
            if (end == at || (*end && !strchr(wanted, *end)) || !isfinite(t->value[t->rows + (int64_t)lines * c]))
                return refuse_table(path, "a line that is not so");
            at = *end && c + 1 < t->columns ? end + 1 : end;
        }
    for (int c = 1; c < t->columns; c++)
        memmove(t->value + t->rows * c, t->value + (int64_t)lines * c, (size_t)t->rows * sizeof *t->value);
    return APP_DONE;
}

static int read_csv(const char *path, table *t)
{
    FILE *f = fopen(path, "rb");
    size_t used = 0, room = 1 << 16;
    APP_HEAP char *text = malloc(room + 1);
    while (f && text && used < MOST_TEXT) {
        used += fread(text + used, 1, room - used, f);
        if (used < room) break;
        char *more = realloc(text, 2 * room + 1);
        if (!more) break;
        text = more;
        room *= 2;
    }
    const int is_read = f && text && feof(f) && !ferror(f);
    if (f) fclose(f);
    if (!is_read) return app_refuse(APP_REFUSED, "%s: cannot be read.", path);
    text[used] = 0;
    return parse_csv(path, text, t);
}

static int read_array_table(match_run *r)
{
    const char *path = r->s->table;
    APP_OWNED(larmor_array) *read = NULL;
    APP_TRY(APP_INPUT, app_read_array(path, r->dev, &read));
    APP_TRY(APP_INPUT, fit_make_real(&read, r->dev));
    APP_TRY(APP_INPUT, larmor_array_download(read, LARMOR_F64, &r->table.value));
    const larmor_shape shape = larmor_array_shape(read);
    const int64_t columns = shape.dim[0] < 1 ? 0 : larmor_array_count(read) / shape.dim[0];
    r->table.rows = shape.dim[0];
    const char *names = r->s->columns ? r->s->columns : "";
    if (!read_names(names, strlen(names), &r->table) || r->table.columns != columns)
        return app_refuse(APP_USAGE,
                          "--columns \"%s\": expected %lld name%s with commas between, one for each column of %s.",
                          names, (long long)columns, app_s(columns), path);
    return APP_DONE;
}

/* ---- maps ---- */

static larmor_status open_outputs(match_run *r)
{
    const char *names[OUTPUTS];
    const int all = 2 * r->table.columns + 2;
    for (int i = 0; i < all; i++) {
        const char *last = i == all - 2 ? "M0" : "match";
        TRY(fit_name_map(r->s->output, i < all - 2 ? r->table.name[i / 2] : last, i < all - 2 && i % 2 ? "_std" : "",
                         r->path[i], ROOM));
        names[i] = r->path[i];
    }
    return app_outputs_open(names, all, r->s->force, r->out);
}

static int read_inputs(match_run *r, const app_files *files)
{
    const fit_settings *s = r->s;
    APP_DO(fit_inputs_read(files, "TE", r->dev, &r->in));
    APP_TRY(APP_INPUT, app_read_array(s->dictionary, r->dev, &r->dictionary));
    if (s->basis) APP_TRY(APP_INPUT, app_read_array(s->basis, r->dev, &r->basis));
    if (s->mask) APP_TRY(APP_INPUT, app_read_in_order(s->mask, r->dev, &r->mask));
    if (s->noise_map) APP_TRY(APP_INPUT, app_read_in_order(s->noise_map, r->dev, &r->noise));
    APP_TRY(APP_RUN, fit_make_real(&r->mask, r->dev));
    APP_TRY(APP_RUN, fit_join_noise(&r->noise, r->in.images, r->dev));
    const int64_t entries = larmor_array_shape(r->dictionary).dim[0];
    if (entries == r->table.rows) return APP_DONE;
    return app_refuse(APP_REFUSED, "%s: got %lld rows, expected %lld, one for each entry of %s.", s->table,
                      (long long)r->table.rows, (long long)entries, s->dictionary);
}

static larmor_status write_column(match_run *r, int c)
{
    const larmor_shape shape = larmor_array_shape(r->entry);
    APP_OWN(larmor_array, map, larmor_array_part(r->value, c, 1, shape, &map));
    TRY(fit_write_map(&r->in, map, r->out[2 * c]));
    if (!r->deviation) return LARMOR_OK;
    APP_OWN(larmor_array, bars, larmor_array_part(r->deviation, c, 1, shape, &bars));
    TRY(fit_judge_bars(&r->in, r->table.name[c], r->s->edge_bars, map, &bars, &r->beyond[c]));
    return fit_write_map(&r->in, bars, r->out[2 * c + 1]);
}

static larmor_status write_maps(match_run *r)
{
    const int columns = r->table.columns;
    APP_OWN_MEMORY(int64_t, entry, larmor_array_download(r->entry, LARMOR_I64, &entry));
    for (int64_t i = 0; i < larmor_array_count(r->entry); i++) r->matched += entry[i] >= 0;
    for (int c = 0; c < columns; c++) TRY(write_column(r, c));
    TRY(fit_write_map(&r->in, r->m0, r->out[2 * columns]));
    TRY(fit_write_map(&r->in, r->match, r->out[2 * columns + 1]));
    for (int i = 0; i < 2 * columns + 2; i++)
        if (i >= 2 * columns || i % 2 == 0 || r->deviation) app_log("wrote %s", r->path[i]);
    return LARMOR_OK;
}

static larmor_status match_and_fit(match_run *r)
{
    APP_OWNED(larmor_array) *rough = NULL;
    const larmor_shape shape = LARMOR_SHAPE(r->table.rows, r->table.columns);
    TRY(larmor_array_upload(r->dev, LARMOR_F64, shape, LARMOR_F64, r->table.value, &r->rows));
    TRY(larmor_fit_dictionary(r->in.images, r->dictionary, r->basis, r->mask, &r->entry, &rough, &r->match));
    return larmor_fit_table(r->in.images, r->dictionary, r->basis, r->rows, r->entry, r->s->noise, r->noise,
                            &r->value, &r->deviation, &r->m0);
}

static void report(const match_run *r, const app_files *files, double seconds)
{
    json j = json_begin();
    json_text(&j, "input", files->name[0]);
    json_text(&j, "model", "dictionary");
    json_integer(&j, "entries", r->table.rows);
    json_open(&j, "maps", '[');
    for (int i = 0; i < 2 * r->table.columns + 2; i++)
        if (i >= 2 * r->table.columns || i % 2 == 0 || r->deviation) json_text(&j, NULL, r->path[i]);
    json_close(&j, ']');
    if (r->deviation) {
        json_open(&j, "beyond_noise", '{');
        for (int c = 0; c < r->table.columns; c++) json_number(&j, r->table.name[c], r->beyond[c]);
        json_close(&j, '}');
    }
    json_integer(&j, "voxels", r->matched);
    json_number(&j, "seconds", seconds);
    json_close(&j, '}');
}

int fit_match_run(const fit_settings *s, const app_files *files)
{
    const double began = app_now();
    APP_FREED_BY(free_run) match_run r = {.s = s};
    if (!s->dictionary || !s->table)
        return app_refuse(APP_USAGE, "--model dictionary: needs --dictionary and --table.");
    APP_TRY(APP_RUN, app_open_device("cpu", s->threads, &r.dev));
    APP_DO(strcasecmp(app_suffix(s->table), ".csv") ? read_array_table(&r) : read_csv(s->table, &r.table));
    larmor_status st = open_outputs(&r);
    if (st) return app_fail(st == LARMOR_ERR_ARG ? APP_INPUT : APP_RUN, st);
    APP_DO(read_inputs(&r, files));
    st = match_and_fit(&r);
    if (st) return st == LARMOR_STOPPED ? app_stopped() : app_fail(APP_INPUT, st);
    app_has_computed();
    APP_TRY(APP_RUN, write_maps(&r));
    if (s->json) report(&r, files, app_now() - began);
    app_log("%lld voxels matched to %lld entries in %.2f s", (long long)r.matched, (long long)r.table.rows,
            app_now() - began);
    return APP_DONE;
}
