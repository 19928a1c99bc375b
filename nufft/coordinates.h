/* What a device needs to put coordinates that lie apart together. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/array.h"
#include "larmor/status.h"

#define LMR_COORDINATES_ABI 1

/* 1 to 3 arrays of as many f32 or f64 on one device, or an error that begins with who. */
larmor_status lmr_coordinates_check(const char *who, int ndim, const larmor_array *const *coordinates);

/* One table per precision, that of `from`. */
typedef struct lmr_coordinates_kernels {
    /* to [ndim, m] <- scale[d] from[d] [m]; all but scale and the list of pointers is on the device */
    larmor_status (*join)(void *ctx, int ndim, int64_t m, const void *const from[3], const double scale[3],
                          double *to);
} lmr_coordinates_kernels;

extern const lmr_coordinates_kernels lmr_cpu_coordinates_f32, lmr_cpu_coordinates_f64;
