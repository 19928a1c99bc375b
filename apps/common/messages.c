/* Messages and the line of progress on stderr. SPDX-License-Identifier: Apache-2.0 */
#include "messages.h"

#include <stdarg.h>
#include <stdio.h>

#define ERASE "\r\033[K"

pthread_mutex_t app_stderr = PTHREAD_MUTEX_INITIALIZER;
static const char *program = "larmor";
static int quiet, line_written;
static int silent;
static char last_error[1024];

void app_set_program(const char *name)
{
    program = name;
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

static void print_line(const char *before, const char *format, va_list arguments)
{
    pthread_mutex_lock(&app_stderr);
    app_line_erase();
    if (before) fprintf(stderr, "%s: ", before);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    pthread_mutex_unlock(&app_stderr);
}

void app_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    if (silent) return;
    va_start(arguments, format);
    print_line(program, format, arguments);
    va_end(arguments);
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
