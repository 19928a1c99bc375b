/* SENSE where its device says: on one device, on the members of a group, or on the ranks of several processes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/array.h"
#include "recon/bytes.h"
#include "recon/ops/ops.h"

larmor_status larmor_op_sense(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A)
{
    larmor_problem p;
    LMR_REFUSE(!A, LARMOR_ERR_ARG, "larmor_op_sense: A is NULL");
    *A = NULL;
    LMR_TRY(lmr_sense_check(maps, opts, &p));
    const int devices = lmr_sense_devices(maps->dev, p.coils, p.sets, opts);
    if (devices > 1) return lmr_sense_spread(maps, opts, devices, A);
    if (lmr_sense_is_served(maps->dev) && lmr_sense_ranks(maps->dev, p.coils, p.sets, opts) > 1)
        return lmr_sense_on_ranks(maps, opts, A);
    return lmr_sense_alone(maps, opts, A);
}

/* What a member of a group has beside its operator: maps, points, weights and samples of its coils, what goes in
 * and comes out, and once more where the sum is taken. */
static double spread_bytes(const larmor_problem *own)
{
    const double image = lmr_bytes_of(own->dtype, own->image), samples = (double)own->samples;
    const double coils = image + samples * (double)larmor_dtype_size(own->dtype);
    return 5 * image + coils * (double)own->coils + 8 * samples * (own->image.ndim + own->weighted);
}

larmor_status larmor_sense_memory(const larmor_device *dev, const larmor_problem *p, const larmor_sense_opts *opts,
                                  int64_t *bytes)
{
    LMR_NEED(bytes);
    LMR_TRY(lmr_bytes_begin(dev, p, bytes));
    const int devices = lmr_sense_devices(dev, p->coils, p->sets, opts);
    const int ranks = devices == 1 ? lmr_sense_ranks(dev, p->coils, p->sets, opts) : 1;
    larmor_problem own = *p;
    own.coils = (p->coils + devices * ranks - 1) / (devices * ranks);
    LMR_TRY(lmr_sense_alone_memory(dev, &own, opts, bytes));
    if (devices == 1) return LARMOR_OK; /* rank 0's row is made of parts of the inputs and gives part of the result */
    return lmr_bytes_store((double)*bytes + spread_bytes(&own), bytes);
}
