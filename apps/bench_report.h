/* What `larmor bench nufft` says: the table, the JSON file, the plot. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_BENCH_REPORT_H
#define APP_BENCH_REPORT_H

#include <stdio.h>

#include "bench_run.h"

typedef struct bench_report {
    larmor_device *dev;
    const char *peer_library; /* NULL without a peer */
    int count;
    bench_result *result;
} bench_report;

/* On stdout: the head of the table, the line of a case, what holds for all cases. */
void bench_print_head(const bench_report *report);
void bench_print_case(const bench_report *report, const bench_result *result);
void bench_print_summary(const bench_report *report);

void bench_write_json(const bench_report *report, FILE *out);

/* Points per second of every case, larmor's and the peer's, on a logarithmic axis. */
larmor_status bench_write_plot(const bench_report *report, larmor_output *out);

#endif
