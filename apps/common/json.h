/* Writing JSON. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "args.h"

/* Of commands that have no option but --json. */
typedef struct json_settings {
    int json;
} json_settings;
extern const app_option json_options[];

typedef struct json {
    FILE *out;
    int depth, items; /* items: whether the innermost container has any yet */
} json;

/* 1 once an object was written to stdout. */
int json_is_written(void);

/* What a command says that failed and has written no object of its own: {"command", "exit_code", "error"}. */
void json_failure(const char *command, int code, const char *error);

/* The object that a command prints, opened. */
json json_begin(void);

/* Values take the name under which they stand in an object, NULL in an array or at the top. */
void json_open(json *j, const char *name, char bracket); /* '{' or '[' */
void json_close(json *j, char bracket);                  /* '}' or ']'; the last one ends the line */
void json_text(json *j, const char *name, const char *value);
void json_integer(json *j, const char *name, int64_t value);
void json_number(json *j, const char *name, double value); /* null if it is not finite */
void json_flag(json *j, const char *name, int value);
void json_numbers(json *j, const char *name, const double *values, int count);
void json_integers(json *j, const char *name, const int64_t *values, int count);
