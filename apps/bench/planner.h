/* `larmor bench planner`: what the planner's efforts choose, timed side by side. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_BENCH_PLANNER_H
#define APP_BENCH_PLANNER_H

#include <stdio.h>

#include "cases.h"

enum { PLANNER_CASES = 20, PLANNER_FACTORS = 8 };
extern const double planner_factors[PLANNER_FACTORS];

typedef struct planner_result {
    bench_case c;
    double seconds[3]; /* of an execute, by effort; the least of the rounds */
    double setting[3]; /* of the set_points that chose */
    larmor_nufft_info info[3];
    double fixed[PLANNER_FACTORS]; /* with these factors; 0: the tolerance is out of reach */
} planner_result;

/* Time the cases and print a table of them.
 *
 * rounds   of each measurement, in which all plans take turns.
 * wish     which of the cases; its scale multiplies the number of modes in each dimension.
 * results  [PLANNER_CASES]; *count are filled, also on error.
 * Errors   LARMOR_ERR_ARG for a wish that leaves no case; larmor's own; LARMOR_STOPPED after a signal. */
larmor_status bench_planner_run(larmor_device *dev, int rounds, const bench_wish *wish, planner_result *results,
                                int *count);

void bench_planner_write_json(larmor_device *dev, const planner_result *results, int count, FILE *out);

/* Seconds against the upsampling factor, with a mark at what MEASURE chose, after Fig. 8 of gNUFFTW. */
larmor_status bench_planner_plot(larmor_device *dev, const planner_result *results, int count, larmor_output *out);

#endif
