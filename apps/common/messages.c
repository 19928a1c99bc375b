/* Messages and the line of progress on stderr. SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <stdarg.h>
#include <stdio.h>

#define ERASE "\r\033[K"

enum { MOST_BYTES = 8192 }; /* of a line: those of the library are below 1024 */

pthread_mutex_t app_stderr = PTHREAD_MUTEX_INITIALIZER;
static const char *program = "larmor";
static int quiet, line_written;
static int silent;
static app_wording wording;
static char last_error[1024];
static _Thread_local char *caught; /* where errors of this thread go instead */
static _Thread_local size_t caught_room;

void app_set_program(const char *name)
{
    program = name;
}

void app_set_wording(app_wording words)
{
    wording = words;
}

void app_line_write(const char *line)
{
    fprintf(stderr, ERASE "%s", line);
    fflush(stderr);
    line_written = 1;
}

void app_line_erase(void)
{
    if (line_written) fputs(ERASE, stderr);
    line_written = 0;
}

/* What the library says is in the program's words from here on. */
static void put_in_words(char *line, size_t size, const char *format, va_list arguments)
{
    char said[MOST_BYTES];
    vsnprintf(said, sizeof said, format, arguments);
    if (wording)
        wording(said, line, size);
    else
        snprintf(line, size, "%s", said);
}

static void print_line(const char *before, const char *format, va_list arguments)
{
    char line[MOST_BYTES];
    put_in_words(line, sizeof line, format, arguments);
    pthread_mutex_lock(&app_stderr);
    app_line_erase();
    if (before) fprintf(stderr, "%s: ", before);
    fprintf(stderr, "%s\n", line);
    pthread_mutex_unlock(&app_stderr);
}

void app_catch_errors(char *text, size_t size)
{
    caught = text;
    caught_room = size;
    if (text) *text = '\0';
}

static void put_error(const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    put_in_words(caught ? caught : last_error, caught ? caught_room : sizeof last_error, format, arguments);
    if (!caught && !silent) print_line(program, format, again);
    va_end(again);
}

void app_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_error(format, arguments);
    va_end(arguments);
}

int app_refuse(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    put_error(format, arguments);
    va_end(arguments);
    return code;
}

void app_warn(const char *format, ...)
{
    if (silent) return;
    va_list arguments;
    va_start(arguments, format);
    print_line("warning", format, arguments);
    va_end(arguments);
}

void app_log(const char *format, ...)
{
    if (quiet) return;
    va_list arguments;
    va_start(arguments, format);
    print_line(NULL, format, arguments);
    va_end(arguments);
}

void app_set_silent(void)
{
    silent = 1;
    quiet = 1;
}

const char *app_silent_error(void)
{
    return silent ? last_error : "";
}

int app_is_silent(void)
{
    return silent;
}

const char *app_last_error(void)
{
    return last_error;
}

void app_set_quiet(void)
{
    quiet = 1;
}

int app_is_quiet(void)
{
    return quiet;
}

const char *app_s(int64_t count)
{
    return count == 1 ? "" : "s";
}
