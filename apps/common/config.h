/* Options of a command in a file: a subset of TOML. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_CONFIG_H
#define APP_CONFIG_H

#include "args.h"

/* Set the options that a file has and the command line has not.
 *
 * The file is lines `name = value`, below [COMMAND] or before any [table], or a line `COMMAND = {name = value, ...}`.
 * A value is a string in quotes, a number, true, false, or a list of these in brackets; `#` begins a comment.
 *
 * given   [options of the command] NULL for those that may be set, which become "".
 * Returns -1, or the exit code of a mistake, which was reported as "FILE:LINE: ...". */
int app_read_config(const app_command *command, const char *path, void *settings, const char **given);

/* The value of an option as that file has it, without quotes: "" of a flag that is not set. */
void app_value_text(const app_option *option, const void *settings, char *text, size_t size);

/* The options that have no default value as the one line of such a file; those that name what is written, and how it
 * is told, are left out. Cut where it is longer. */
void app_write_config(const app_command *command, const void *settings, char *text, size_t size);

#endif
