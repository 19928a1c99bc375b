/* SENSE on a group of devices: each has some of the coils with all of the trajectory, and the images are summed
 * (larmor_op_distribute). The rows are made at the same time, a thread for each. SPDX-License-Identifier:
 * Apache-2.0 */
#include <pthread.h>

#include "core/core.h"
#include "recon/ops/ops.h"

int lmr_sense_devices(const larmor_device *dev, int64_t coils, int64_t sets, const larmor_sense_opts *opts)
{
    const int members = larmor_device_members(dev);
    if (members < 2 || sets || (opts && (opts->off_resonance || opts->displacement))) return 1;
    return coils < members ? (int)coils : members;
}

typedef struct share {
    larmor_array *maps, *traj, *weights; /* on the member */
    larmor_sense_opts opts;
    larmor_op *op;
    pthread_t thread;
    int started;
    larmor_status st;
    char message[1024];
} share;

LMR_FREES(free_share, share, maps, traj, weights, op)

/* Share i of `count`: its coils, and all points. */
static larmor_status copy_share(larmor_array *maps, const larmor_sense_opts *opts, int i, int count, share *s)
{
    const int last = maps->shape.ndim - 1;
    const int64_t coils = maps->shape.dim[last], first = i * coils / count, end = (i + 1) * coils / count;
    larmor_device *member = larmor_device_member(maps->dev, i);
    LMR_OWN(larmor_array, part, larmor_array_slice(maps, first, end - first, &part));
    const larmor_status st = larmor_array_to(part, member, &s->maps);
    LMR_TRY(st);
    LMR_TRY(larmor_array_to(opts->traj, member, &s->traj));
    if (opts->weights) LMR_TRY(larmor_array_to(opts->weights, member, &s->weights));
    s->opts = *opts;
    s->opts.traj = s->traj;
    s->opts.weights = s->weights;
    return LARMOR_OK;
}

static void *make(void *user)
{
    share *s = user;
    s->st = lmr_sense_alone(s->maps, &s->opts, &s->op);
    if (s->st) snprintf(s->message, sizeof s->message, "%s", larmor_last_error());
    return NULL;
}

static larmor_status make_all(share *shares, int count)
{
    for (int i = 0; i < count; i++) shares[i].started = !pthread_create(&shares[i].thread, NULL, make, &shares[i]);
    for (int i = 0; i < count; i++) {
        if (shares[i].started)
            pthread_join(shares[i].thread, NULL);
        else
            make(&shares[i]);
    }
    for (int i = 0; i < count; i++)
        if (shares[i].st) return larmor_fail(shares[i].st, "%s", shares[i].message);
    return LARMOR_OK;
}

larmor_status lmr_sense_spread(larmor_array *maps, const larmor_sense_opts *opts, int count, larmor_op **A)
{
    LMR_HEAP share *shares = calloc((size_t)count, sizeof *shares);
    LMR_HEAP larmor_op **ops = calloc((size_t)count, sizeof *ops);
    larmor_status st;
    if (!shares || !ops) LMR_OR(done, LMR_NO_MEMORY());
    for (int i = 0; i < count; i++) LMR_OR(done, copy_share(maps, opts, i, count, &shares[i]));
    LMR_OR(done, make_all(shares, count));
    for (int i = 0; i < count; i++) ops[i] = shares[i].op;
    st = larmor_op_distribute(maps->dev, ops, count, A);
done:
    for (int i = 0; shares && i < count; i++) free_share(&shares[i]);
    return st;
}
