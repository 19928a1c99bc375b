/* Lines of the library with the program's options. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "args.h"

/* Whose options those are: of the command that runs (NULL: none yet), and where it has none for a member, of the
 * program's other commands. */
void app_set_options(const app_program *program, const app_command *command);

/* The library's messages name what a caller gives as members of its structs: "use opts.traj_units". Writes the
 * line with options in their place, "use --traj-units", as app_option.member says. What is no member of any option
 * stays.
 *
 * to  [size] becomes the line, cut where it is longer; returned. */
const char *app_in_options(const char *line, char *to, size_t size);

/* The same for lines of up to 1023 characters: app_line_in_options(text).s. */
typedef struct app_line {
    char s[1024];
} app_line;
app_line app_line_in_options(const char *line);
