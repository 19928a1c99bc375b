/* Coordinates that lie apart become points, on the processor. SPDX-License-Identifier: Apache-2.0 */
#include "nufft/coordinates.h"

#include "core/backend.h"
#include "core/real.h"

enum { SERIAL_WORK = 1 << 15 }; /* points that are not worth a second thread */

static larmor_status join(void *ctx, int ndim, int64_t m, const void *const from[3], const double scale[3],
                          double *to)
{
    const int threads = m > SERIAL_WORK ? lmr_cpu_backend.threads(ctx) : 1;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t j = 0; j < m; j++)
        for (int d = 0; d < ndim; d++) to[j * ndim + d] = (double)((const real *)from[d])[j] * scale[d];
    return LARMOR_OK;
}

const lmr_coordinates_kernels R(lmr_cpu_coordinates) = {.join = join};
