/* Options of a command in a file, by the library's reader of such files. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"
#include "larmor/settings.h"

/* Set the options that a file has (larmor_settings_read) and the command line has not.
 *
 * given   [options of the command] NULL for those that may be set, which become "".
 * Returns -1, or the exit code of a mistake, which was reported as "FILE:LINE: ...". */
int app_read_config(const app_command *command, const char *path, void *settings, const char **given);

/* The value of an option as that file has it, without quotes: "" of a flag that is not set. */
void app_value_text(const app_option *option, const void *settings, char *text, size_t size);

/* The options that are not the default as the one line of such a file, those of the library from opts; those that
 * name what is written, and how it is told, are left out. "" where it is longer. */
void app_write_config(const app_command *command, const void *settings, const larmor_recon_opts *opts, char *text,
                      size_t size);
