/* The folders of a data set of BIDS and the files that describe it. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/atomic.h"
#include "core/core.h"
#include "io/bids/bids.h"
#include "io/bytes.h"
#include "io/page/parts.h"

#define DESCRIPTION "dataset_description.json"
#define PARTICIPANTS "participants.tsv"

enum { MOST_PARTICIPANTS = 1 << 24 /* bytes */, PATIENCE_S = 10 };

LMR_OWNS(larmor_output, larmor_output_free)

/* ---- folders ---- */

static larmor_status make_folder(const char *path)
{
    if (!mkdir(path, 0777) || errno == EEXIST) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_IO, "%s: cannot be made: %s", path, strerror(errno));
}

larmor_status larmor_bids_open(const char *folder, const char *name, int echo, int force, larmor_output **out)
{
    char path[PATH_MAX];
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "output: no place for the result");
    *out = NULL;
    LMR_TRY(larmor_bids_path(folder, name, echo, path, sizeof path));
    for (char *slash = path + strlen(folder); (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        LMR_TRY(make_folder(path));
        *slash = '/';
    }
    LMR_OWN(larmor_output, made, larmor_output_open(path, force, &made));
    LMR_TRY(larmor_output_add_sidecar(made));
    return LMR_HAND_ON(*out, made);
}

/* ---- files that describe ---- */

static larmor_status write_file(larmor_output *out, const lmr_bytes *b)
{
    LMR_TRY(lmr_output_put(out, 0, b->data, b->size));
    return lmr_output_commit(out);
}

static void add_text(lmr_bytes *b, const char *before, const char *text)
{
    lmr_bytes_print(b, "%s", before);
    lmr_json_string(b, text);
}

/* The last part of a path, which may end in slashes; "." and the like have a name, too. */
static larmor_status title_of(const char *folder, char title[NAME_MAX + 1])
{
    LMR_HEAP char *whole = realpath(folder, NULL);
    LMR_REFUSE(!whole, LARMOR_ERR_IO, "%s: %s", folder, strerror(errno));
    const char *slash = strrchr(whole, '/');
    snprintf(title, NAME_MAX + 1, "%s", slash && slash[1] ? slash + 1 : "larmor");
    return LARMOR_OK;
}

static larmor_status describe_set(const char *folder, const larmor_bids_opts *opts)
{
    char path[PATH_MAX], title[NAME_MAX + 1];
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes b = {0};
    snprintf(path, sizeof path, "%s/%s", folder, DESCRIPTION);
    if (!opts->replace && !access(path, F_OK)) return LARMOR_OK;
    LMR_TRY(title_of(folder, title));
    add_text(&b, "{\n  \"Name\": ", opts->title ? opts->title : title);
    add_text(&b, ",\n  \"BIDSVersion\": ", LMR_BIDS_VERSION);
    add_text(&b, ",\n  \"DatasetType\": ", opts->derivative ? "derivative" : "raw");
    add_text(&b, ",\n  \"GeneratedBy\": [\n    {\n      \"Name\": ", "larmor");
    add_text(&b, ",\n      \"Version\": ", LARMOR_VERSION);
    lmr_bytes_print(&b, "\n    }\n  ]\n}\n");
    LMR_TRY(lmr_bytes_end(&b));
    LMR_OWN(larmor_output, out, lmr_output_open(path, "", NULL, 1, PATIENCE_S, &out));
    if (!opts->replace && !access(path, F_OK)) return LARMOR_OK; /* another run was first */
    return write_file(out, &b);
}

/* The whole file; nothing of one that is not there. */
static larmor_status read_participants(const char *path, lmr_bytes *b)
{
    char part[4096];
    size_t got;
    FILE *f = fopen(path, "rb");
    if (!f && errno == ENOENT) return LARMOR_OK;
    LMR_REFUSE(!f, LARMOR_ERR_IO, "%s: %s", path, strerror(errno));
    while ((got = fread(part, 1, sizeof part, f)) && b->size < MOST_PARTICIPANTS) lmr_bytes_add(b, part, got);
    const int failed = ferror(f);
    fclose(f);
    LMR_REFUSE(failed, LARMOR_ERR_IO, "%s: cannot be read", path);
    return lmr_bytes_end(b);
}

/* Columns of the first line; 0 if the first one is not participant_id. */
static int count_columns(const char *text)
{
    static const char id[] = "participant_id";
    const size_t length = strlen(id);
    int columns = 1;
    if (strncmp(text, id, length) != 0 || !strchr("\t\r\n", text[length])) return 0;
    for (; *text && *text != '\n'; text++) columns += *text == '\t';
    return columns;
}

static int has_row(const char *text, const char *subject)
{
    const size_t length = strlen(subject);
    for (; text; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (!strncmp(text, "sub-", 4) && !strncmp(text + 4, subject, length) && strchr("\t\r\n", text[4 + length]))
            return 1;
    }
    return 0;
}

static larmor_status add_participant(const char *folder, const char *subject)
{
    char path[PATH_MAX];
    LMR_OWNED(larmor_output) *out = NULL;
    LMR_FREED_BY(lmr_bytes_free) lmr_bytes b = {0};
    snprintf(path, sizeof path, "%s/%s", folder, PARTICIPANTS);
    LMR_TRY(lmr_output_open(path, "", NULL, 1, PATIENCE_S, &out)); /* other runs wait from here on */
    LMR_TRY(read_participants(path, &b));
    if (!b.size) lmr_bytes_print(&b, "participant_id\n");
    LMR_TRY(lmr_bytes_end(&b));
    const char *text = (const char *)b.data;
    const int columns = count_columns(text);
    LMR_REFUSE(!columns || b.size > MOST_PARTICIPANTS, LARMOR_ERR_FORMAT,
               "%s: expected a table that begins with participant_id", path);
    if (has_row(text, subject)) return LARMOR_OK;
    if (text[b.size - 1] != '\n') lmr_bytes_print(&b, "\n");
    lmr_bytes_print(&b, "sub-%s", subject);
    for (int i = 1; i < columns; i++) lmr_bytes_print(&b, "\tn/a");
    lmr_bytes_print(&b, "\n");
    LMR_TRY(lmr_bytes_end(&b));
    return write_file(out, &b);
}

larmor_status larmor_bids_describe(const char *folder, const char *name, const larmor_bids_opts *opts)
{
    static const larmor_bids_opts none = {0};
    lmr_bids_name n;
    LMR_REFUSE(!folder || !*folder, LARMOR_ERR_ARG, "bids: no folder given");
    LMR_TRY(lmr_bids_parse(name, LMR_BIDS_ANY_ECHO, &n));
    LMR_TRY(describe_set(folder, opts ? opts : &none));
    return add_participant(folder, n.value[LMR_BIDS_SUB]);
}
