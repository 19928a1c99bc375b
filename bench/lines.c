/* JSON lines: each result is written at once, and found again by the case's description, with which each line
 * begins. SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "lines.h"

#include <errno.h>
#include <sys/file.h>
#include <time.h>

#include "common.h"

#define BEGINNING "{ \"case\": \""

struct bench_lines {
    const char *path, *peer_library;
    larmor_device *dev;
    FILE *out;
    char **known;      /* the descriptions that the file had */
    int count, is_new; /* is_new: the file was not there and has no line yet */
    json j;            /* of the line that is being written, into memory */
    char *text;
    size_t size;
};

/* ---- what the file has ---- */

/* Keep the description in a line; 0 if it has none. */
static int keep_description(bench_lines *lines, const char *line)
{
    const size_t skip = strlen(BEGINNING);
    const char *end = strncmp(line, BEGINNING, skip) ? NULL : strchr(line + skip, '"');
    const size_t length = strlen(line);
    if (!end || length < 3 || strcmp(line + length - 3, " }\n") != 0) return 0;
    char **more = realloc(lines->known, ((size_t)lines->count + 1) * sizeof *more);
    if (!more) return 0;
    lines->known = more;
    lines->known[lines->count] = strndup(line + skip, (size_t)(end - line) - skip);
    return lines->known[lines->count++] != NULL;
}

static larmor_status read_descriptions(bench_lines *lines)
{
    FILE *f = fopen(lines->path, "r");
    lines->is_new = !f && errno == ENOENT;
    if (lines->is_new) return LARMOR_OK;
    if (!f) return larmor_fail(LARMOR_ERR_IO, "%s: cannot be read: %s", lines->path, strerror(errno));
    APP_HEAP char *line = NULL;
    size_t room = 0;
    larmor_status st = LARMOR_OK;
    for (int number = 1; !st && getline(&line, &room, f) >= 0; number++)
        if (!keep_description(lines, line))
            st = larmor_fail(LARMOR_ERR_FORMAT, "%s: line %d is no result of larmor-bench; give another name",
                             lines->path, number);
    fclose(f);
    return st;
}

larmor_status bench_lines_open(const char *path, larmor_device *dev, const char *peer_library, bench_lines **out)
{
    *out = NULL;
    bench_lines *lines = calloc(1, sizeof *lines);
    if (!lines) return NO_MEMORY();
    lines->path = path;
    lines->dev = dev;
    lines->peer_library = peer_library;
    larmor_status st = read_descriptions(lines);
    if (!st && !(lines->out = fopen(path, "a")))
        st = larmor_fail(LARMOR_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    /* a run that began the file removes it in the end if it has no line */
    if (!st && flock(fileno(lines->out), LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
        lines->is_new = 0;
        st = larmor_fail(LARMOR_ERR_IO, "%s: is being written by another run; choose another name", path);
    }
    if (st)
        bench_lines_close(lines);
    else
        *out = lines;
    return st;
}

void bench_lines_close(bench_lines *lines)
{
    if (!lines) return;
    if (lines->out) fclose(lines->out);
    if (lines->out && lines->is_new) remove(lines->path);
    for (int i = 0; i < lines->count; i++) free(lines->known[i]);
    free(lines->known);
    free(lines);
}

int bench_lines_have(const bench_lines *lines, const char *description)
{
    for (int i = 0; lines && i < lines->count; i++)
        if (!strcmp(lines->known[i], description)) return 1;
    return 0;
}

/* ---- a line ---- */

/* Line breaks of JSON are only between its items: in texts they are escaped. */
static void put_in_one_line(const char *text, FILE *out)
{
    for (; *text; text++) {
        if (*text != '\n') {
            fputc(*text, out);
            continue;
        }
        while (text[1] == ' ') text++;
        if (text[1]) fputc(' ', out);
    }
    fputc('\n', out);
}

larmor_status bench_line_begin(bench_lines *lines, const char *description, const bench_case *c, json **j)
{
    FILE *memory = open_memstream(&lines->text, &lines->size);
    if (!memory) return NO_MEMORY();
    *j = &lines->j;
    lines->j = (json){memory, 0, 0};
    json_open(*j, NULL, '{');
    json_text(*j, "case", description);
    json_integer(*j, "type", c->type);
    json_integers(*j, "modes", c->modes, c->ndim);
    JSON_MEMBERS(*j, *c, points, batch, distribution);
    json_text(*j, "precision", c->is_double ? "double" : "single");
    json_number(*j, "tol", c->tol);
    return LARMOR_OK;
}

/* What holds for all cases of a run. */
static void put_run(json *j, const bench_lines *lines)
{
    char date[32] = "";
    const time_t seconds = time(NULL);
    struct tm utc;
    if (gmtime_r(&seconds, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    json_text(j, "version", larmor_version());
    json_text(j, "command", app_command_line());
    json_text(j, "date", date);
    json_text(j, "device", larmor_device_spec(lines->dev));
    json_text(j, "device_reason", larmor_device_reason(lines->dev));
    if (lines->peer_library) json_text(j, "peer_library", lines->peer_library);
}

larmor_status bench_line_end(bench_lines *lines)
{
    put_run(&lines->j, lines);
    json_close(&lines->j, '}');
    const int failed = fclose(lines->j.out);
    if (!failed) put_in_one_line(lines->text, lines->out);
    lines->is_new = 0;
    free(lines->text);
    if (failed) return NO_MEMORY();
    if (!fflush(lines->out) && !ferror(lines->out)) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_IO, "%s: cannot be written: %s", lines->path, strerror(errno));
}
