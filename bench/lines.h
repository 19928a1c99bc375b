/* The file that --json names: a line of JSON for each case. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "case.h"
#include "json.h"
#include "try.h"

typedef struct bench_lines bench_lines;

/* Open a file that is there, or a new one, to add lines.
 *
 * peer_library  NULL without one; it and path must outlive the lines.
 * Errors        LARMOR_ERR_FORMAT for a file that has other lines; LARMOR_ERR_IO; LARMOR_ERR_MEMORY. */
larmor_status bench_lines_open(const char *path, larmor_device *dev, const char *peer_library, bench_lines **lines);
void bench_lines_close(bench_lines *lines); /* NULL is fine */
APP_OWNS(bench_lines, bench_lines_close)

/* 1 if the file had a line of this case when it was opened; 0 without a file, lines NULL. */
int bench_lines_have(const bench_lines *lines, const char *description);

/* A line: its case, then what the caller puts into *j, then device, date and command.
 *
 * Errors  LARMOR_ERR_MEMORY; LARMOR_ERR_IO. A line that was begun must be ended. */
larmor_status bench_line_begin(bench_lines *lines, const char *description, const bench_case *c, json **j);
larmor_status bench_line_end(bench_lines *lines);
