/* The device that counts, with the kernels of reconstruction; and a problem on it, for solvers that are run to see
 * what they take. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/measure/measure.h"
#include "core/owned.h"
#include "larmor/recon.h"

/* Errors: LARMOR_ERR_MEMORY. */
larmor_status lmr_recon_measure(const larmor_device *like, larmor_device **dev);

/* min |A x - b|, A from `shape` to the same, which does nothing. */
typedef struct lmr_measure_problem {
    larmor_op *A;
    larmor_array *x, *b;
} lmr_measure_problem;

/* The caller frees *m, also after an error. */
larmor_status lmr_measure_problem_create(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                         lmr_measure_problem *m);
void lmr_measure_problem_free(lmr_measure_problem *m);

/* What p says of a scan; numbers of trajectory and weights are in single precision, so that what reads them in double
 * has copies. Counting has begun. */
typedef struct lmr_measure_scan {
    larmor_device *dev;
    larmor_array *maps, *traj, *weights;
} lmr_measure_scan;

/* The caller frees *s, also after an error. */
larmor_status lmr_measure_scan_create(const larmor_device *like, const larmor_problem *p, lmr_measure_scan *s);
void lmr_measure_scan_free(lmr_measure_scan *s);
