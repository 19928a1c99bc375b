/* Tracking files: poses of an object that moves. SPDX-License-Identifier: Apache-2.0 */
#include "motion_file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "fit_inputs.h"

enum { MOST_COLUMNS = LARMOR_POSE + 1, MOST_ROWS = 1 << 22 };

typedef struct table { /* [MOST_COLUMNS] numbers a row */
    double *number;
    int64_t rows, room;
    int columns;
} table;

static int refuse(const char *path, int64_t line)
{
    return app_refuse(
        APP_REFUSED,
        "--motion %s: line %lld: 6 numbers expected, shifts in mm and rotations in degrees, or 7 with the "
        "readout from which on they hold first; as many in each line.",
        path, (long long)line);
}

/* The numbers of a line; -1 for anything else. */
static int read_numbers(char *line, double number[MOST_COLUMNS])
{
    char *at = line + strspn(line, " \t"), *end;
    int columns = 0;
    for (; *at; at = end + strspn(end, " \t,;"), columns++) {
        const double value = strtod(at, &end);
        if (end == at || columns == MOST_COLUMNS) return -1;
        number[columns] = value;
    }
    return columns;
}

static int add_row(table *t, int columns, const double number[MOST_COLUMNS])
{
    if (t->rows == t->room) {
        const int64_t room = t->room ? 2 * t->room : 256;
        double *more = room <= MOST_ROWS ? realloc(t->number, (size_t)room * MOST_COLUMNS * sizeof *more) : NULL;
        if (!more) return 0;
        t->number = more;
        t->room = room;
    }
    t->columns = columns;
    memcpy(t->number + MOST_COLUMNS * t->rows++, number, MOST_COLUMNS * sizeof *number);
    return 1;
}

static int read_table(const char *path, FILE *f, table *t)
{
    char line[1024];
    for (int64_t i = 1; fgets(line, sizeof line, f); i++) {
        double number[MOST_COLUMNS] = {0};
        if (!strchr(line, '\n') && !feof(f)) return refuse(path, i);
        line[strcspn(line, "#\r\n")] = 0;
        if (i == 1 && isalpha((unsigned char)line[strspn(line, " \t\"")])) continue; /* names of columns */
        const int columns = read_numbers(line, number);
        if (columns == 0) continue;
        if (columns < LARMOR_POSE || (t->rows && columns != t->columns)) return refuse(path, i);
        if (!add_row(t, columns, number)) return app_fail(APP_RUN, NO_MEMORY());
    }
    if (ferror(f) || !t->rows) return refuse(path, t->rows + 1);
    return APP_DONE;
}

static int read_lines(const char *path, larmor_device *host, larmor_array **rows)
{
    APP_HEAP double *columns = NULL;
    table t = {.number = NULL};
    FILE *f = fopen(path, "rb");
    if (!f) return app_refuse(APP_REFUSED, "--motion %s: cannot be read.", path);
    int code = read_table(path, f, &t);
    fclose(f);
    APP_HEAP double *number = t.number;
    if (code) return code;
    columns = malloc((size_t)t.rows * (size_t)t.columns * sizeof *columns);
    if (!columns) return app_fail(APP_RUN, NO_MEMORY());
    for (int64_t i = 0; i < t.rows; i++)
        for (int p = 0; p < t.columns; p++) columns[i + t.rows * p] = number[MOST_COLUMNS * i + p];
    APP_TRY(APP_INPUT,
            larmor_array_upload(host, LARMOR_F64, LARMOR_SHAPE(t.rows, t.columns), LARMOR_F64, columns, rows));
    return APP_DONE;
}

int motion_read(const char *path, larmor_array **rows)
{
    APP_OWNED(larmor_device) *host = NULL;
    *rows = NULL;
    APP_TRY(APP_INPUT, larmor_device_open("cpu:1", &host));
    if (strcmp(app_suffix(path), ".npy") != 0) return read_lines(path, host, rows);
    APP_TRY(APP_INPUT, app_read_array(path, host, rows));
    APP_TRY(APP_INPUT, fit_make_real(rows, host));
    return APP_DONE;
}
