/* The JSON files of `larmor bench nufft`: a whole report, or a line for each case. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef APP_BENCH_FILE_H
#define APP_BENCH_FILE_H

#include <stdio.h>

#include "report.h"

void bench_write_json(const bench_report *report, FILE *out);

/* The case alone, in one line. Errors: LARMOR_ERR_MEMORY, LARMOR_ERR_IO. */
larmor_status bench_write_line(const bench_report *report, const bench_result *result, FILE *out);

/* Such a line; 0 if it is none. */
int bench_read_line(const char *line, bench_result *result);

#endif
