/* What programs say on stderr: lines of messages, and one line of progress below them that gives way to each message.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* The program's name, which stands before errors. */
void app_set_program(const char *name);

/* What each line passes through before it is printed: app_in_options, as the library's messages have no options. */
typedef const char *(*app_wording)(const char *line, char *to, size_t size);
void app_set_wording(app_wording words);

/* The program's name, ": ...", and a newline on stderr. */
void app_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, and returns the exit code. */
int app_refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* From now on errors of this thread become this text, and are not printed; NULL: they are again. For a server, whose
 * clients are told. */
void app_catch_errors(char *text, size_t size);

/* "warning: ..." and a newline on stderr, whatever --quiet says: what makes an image suspect. */
void app_warn(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line of the log on stderr, unless --quiet was given. */
void app_log(const char *format, ...) __attribute__((format(printf, 1, 2)));
void app_set_quiet(void);

/* Errors are not printed either; app_silent_error is the last one. For a process whose errors another one tells. */
void app_set_silent(void);
const char *app_silent_error(void);
int app_is_silent(void);

/* The last error, printed or not; "" before there was any. */
const char *app_last_error(void);
int app_is_quiet(void);

/* What is printed behind the word for so many things: "" for 1, else "s". */
const char *app_s(int64_t count);

/* Held by whoever writes to stderr. */
extern pthread_mutex_t app_stderr;

/* With app_stderr held, on a terminal: write the line of progress, or erase it until it is written again. */
void app_line_write(const char *line);
void app_line_erase(void);
