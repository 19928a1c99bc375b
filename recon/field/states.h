/* Samples of one image in several states, whose readouts come in any order. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/op.h"

/* Rows of one state that follow each other: readouts or, where readouts differ in length, samples. */
typedef struct lmr_run {
    int state;
    int64_t first, count; /* among all */
    int64_t own;          /* its first one among those of its state */
} lmr_run;

typedef struct lmr_runs {
    lmr_run *run; /* [count] */
    int64_t count;
} lmr_runs;

/* A state's rows, of `bytes` each, from all to its part or back, in each of `planes`. */
larmor_status lmr_runs_copy(const lmr_runs *runs, int state, int to_all, int64_t planes, size_t bytes,
                            const larmor_array *all, const larmor_array *part);

/* y = [A_m x], its rows in the order of the runs. ops agree in all but their readouts.
 *
 * runs  its memory is A's, also after an error.
 * row   samples of a row.
 * out   [samples, readouts, coils]. */
larmor_status lmr_op_states(const char *name, larmor_op *const *ops, int count, lmr_runs runs, int64_t row,
                            larmor_shape out, larmor_op **A);
