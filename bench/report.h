/* The results of a case of `larmor-bench nufft`: a line of the table and one of the JSON file.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "lines.h"
#include "run.h"

/* On stdout. */
void bench_print_head(const char *title, int has_peer);
void bench_print_case(const bench_result *result);

/* A case that ran. Errors: those of bench_line_end. */
larmor_status bench_write_result(bench_lines *lines, const bench_result *result);
