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

/* Members of a struct under their own names, ten at most: `JSON_MEMBERS(&j, *region, label, voxels, mean);`. */
#define JSON_MEMBERS(j, of, ...)                                                                                     \
    do {                                                                                                             \
        JSON_PICK(__VA_ARGS__, JSON_10, JSON_9, JSON_8, JSON_7, JSON_6, JSON_5, JSON_4, JSON_3, JSON_2, JSON_1)      \
        (j, of, __VA_ARGS__);                                                                                        \
    } while (0)
#define JSON_PICK(a, b, c, d, e, f, g, h, i, j, chosen, ...) chosen
#define JSON_1(j, of, member)                                                                                        \
    _Generic((of).member,                                                                                            \
             char *: json_text,                                                                                      \
             const char *: json_text,                                                                                \
             float: json_number,                                                                                     \
             double: json_number,                                                                                    \
             default: json_integer)(j, #member, (of).member)
#define JSON_2(j, of, member, ...) JSON_1(j, of, member), JSON_1(j, of, __VA_ARGS__)
#define JSON_3(j, of, member, ...) JSON_1(j, of, member), JSON_2(j, of, __VA_ARGS__)
#define JSON_4(j, of, member, ...) JSON_1(j, of, member), JSON_3(j, of, __VA_ARGS__)
#define JSON_5(j, of, member, ...) JSON_1(j, of, member), JSON_4(j, of, __VA_ARGS__)
#define JSON_6(j, of, member, ...) JSON_1(j, of, member), JSON_5(j, of, __VA_ARGS__)
#define JSON_7(j, of, member, ...) JSON_1(j, of, member), JSON_6(j, of, __VA_ARGS__)
#define JSON_8(j, of, member, ...) JSON_1(j, of, member), JSON_7(j, of, __VA_ARGS__)
#define JSON_9(j, of, member, ...) JSON_1(j, of, member), JSON_8(j, of, __VA_ARGS__)
#define JSON_10(j, of, member, ...) JSON_1(j, of, member), JSON_9(j, of, __VA_ARGS__)
