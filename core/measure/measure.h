/* A device whose arrays have sizes and no memory: what is made on it is counted, its kernels and copies do nothing.
 * Constructors and solvers run on it to say what they would take. Sums and norms are 1, numbers that are read are 0.
 * Nothing may look at an array's numbers: its addresses belong to no memory. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/backend.h"
#include "larmor/op.h"

/* The kernels of a higher layer, as lmr_backend.table; NULL: none. */
typedef const void *lmr_measure_table(const char *layer, uint32_t abi, int precision);

/* Whose threads, and what plans of its FFTs take, are those of `like`, which outlives it; NULL: of one thread, whose
 * FFTs take as many bytes as their data. */
larmor_status lmr_measure_open(const larmor_device *like, lmr_measure_table *table, larmor_device **out);

/* 1 for such a device; and the device that it is like, or NULL. */
int lmr_measure_is(const larmor_device *dev);
const larmor_device *lmr_measure_like(const larmor_device *dev);

/* What constructors may not look at, the points of a trajectory, is said beforehand: 0 if they lie anywhere, else how
 * often at most they come to a place of the grid. */
void lmr_measure_set_repeats(larmor_device *dev, int64_t repeats);
int64_t lmr_measure_repeats(const larmor_device *dev);

/* An operator that takes so many bytes and does nothing. */
larmor_status lmr_measure_op(larmor_device *dev, double bytes, larmor_dtype dtype, larmor_shape in, larmor_shape out,
                             larmor_op **A);

/* Count the peak from now on. */
void lmr_measure_begin(larmor_device *dev);

/* Bytes that are held now, and of the peak since lmr_measure_begin, beyond those that were held then. */
double lmr_measure_held(const larmor_device *dev);
double lmr_measure_peak(const larmor_device *dev);

/* A kernel that does nothing and takes what its name and table say. */
#define LMR_MEASURE_NOTHING(name, ...)                                                                               \
    static larmor_status name(__VA_ARGS__)                                                                           \
    {                                                                                                                \
        return LARMOR_OK;                                                                                            \
    }
