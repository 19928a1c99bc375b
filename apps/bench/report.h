/* What `larmor bench nufft` says: the table, the JSON file, the plot. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_BENCH_REPORT_H
#define APP_BENCH_REPORT_H

#include <stdio.h>

#include "run.h"

typedef struct bench_report {
    larmor_device *dev;       /* NULL if nothing runs */
    const char *title;        /* e.g. the device's name */
    const char *peer;         /* its name, NULL without one */
    const char *peer_library; /* NULL without one */
    int count;
    bench_result *result;
} bench_report;

/* On stdout: the head of the table, the line of a case, what holds for all cases. */
void bench_print_head(const bench_report *report);
void bench_print_case(const bench_result *result);
void bench_print_summary(const bench_report *report);

/* Points per second of every case, larmor's and the peer's; or, where upsampling factors were asked for, the seconds
 * of execute against the factor, with a mark at the chosen one. */
larmor_status bench_write_plot(const bench_report *report, larmor_output *out);

/* The peer's seconds over larmor's, over the cases that both ran. */
enum { BENCH_RATIOS = 5 };
extern const char *const bench_ratio_names[BENCH_RATIOS]; /* "execute", ... */
typedef struct bench_summary {
    int count;
    double mean, least; /* geometric mean */
    const bench_result *least_result;
} bench_summary;
bench_summary bench_summarise(const bench_report *report, int ratio);

/* larmor's least seconds of execute with the factor over those with the chosen one, same problem; 0 if one is lacking.
 * factor 0: the fastest of the fixed ones. */
double bench_gain(const bench_report *report, const bench_result *chosen, double factor);

#endif
