/* Energies of samples by rings of k-space. SPDX-License-Identifier: Apache-2.0 */
#include "core/status.h"
#include "larmor/describe.h"
#include "recon/inputs.h"

enum { MOST_RINGS = 32 };

static larmor_status check_rings(const unsigned char *ring, int64_t count, int rings)
{
    unsigned char most = 0;
    for (int64_t i = 0; i < count; i++) most = ring[i] > most ? ring[i] : most;
    if (most < rings) return LARMOR_OK;
    int64_t i = 0;
    while (ring[i] < rings) i++;
    return LMR_FAIL(LARMOR_ERR_ARG, "ring energies: sample %lld is in ring %d of %d", (long long)i, ring[i], rings);
}

larmor_status larmor_ring_energies(const larmor_array *x, int rings, const unsigned char *ring, double *sum)
{
    LMR_NEED(x, ring, sum);
    const lmr_recon_kernels *kernels;
    const larmor_shape shape = larmor_array_shape(x);
    LMR_REFUSE(rings < 1 || rings > MOST_RINGS, LARMOR_ERR_ARG, "ring energies: %d rings, expected 1 to %d", rings,
               MOST_RINGS);
    LMR_REFUSE(shape.ndim < 2 || shape.ndim > 3 || !lmr_is_complex(larmor_array_dtype(x)), LARMOR_ERR_SHAPE,
               "ring energies: samples are %s, expected complex [samples, readouts] or [samples, readouts, "
               "coils]",
               lmr_describe(x).s);
    LMR_TRY(check_rings(ring, shape.dim[0] * shape.dim[1], rings));
    LMR_TRY(lmr_recon_kernels_of(x->dev, x->dtype, &kernels));
    return kernels->energies(x->dev->ctx, shape.dim[0], shape.dim[1], shape.ndim > 2 ? shape.dim[2] : 1, rings, ring,
                             x->data, sum);
}
