/* A receiver's carrier in the samples. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "core/array.h"

/* Of complex samples [n, readouts, coils] the power of the frequency that the ends of some readouts have most of,
 * over that of any other, and the frequency, in cycles a sample; 0 where there is none.
 *
 * A small object has one frequency in all lines, too, but with a phase that is as its place tells.
 *
 * radius  [n, readouts] of |k|, in any unit.
 * k       [nd, n, readouts], cycles per field of view. */
larmor_status lmr_carrier_find(const larmor_array *kspace, const float *radius, const double *k, int nd,
                               double *carrier, double *frequency);
