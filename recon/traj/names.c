/* Trajectories by name. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/traj/traj.h"

/* A new trajectory is a line here and a file in this folder that defines lmr_traj_<name>. */
#define TRAJECTORIES(X)                                                                                              \
    X(radial)                                                                                                        \
    X(golden)                                                                                                        \
    X(spiral)                                                                                                        \
    X(stars)                                                                                                         \
    X(koosh)                                                                                                         \
    X(phyllotaxis)                                                                                                   \
    X(cartesian)

#define DECLARE(name) extern const lmr_traj lmr_traj_##name;
#define ROW(name) &lmr_traj_##name,
TRAJECTORIES(DECLARE)
static const lmr_traj *const table[] = {TRAJECTORIES(ROW)};
enum { COUNT = sizeof table / sizeof *table };

larmor_traj_info larmor_traj_entry(int i)
{
    return i >= 0 && i < COUNT ? table[i]->info : (larmor_traj_info){.name = NULL};
}

static larmor_status check(const larmor_traj_opts *o)
{
    for (int d = 0; d < 3; d++)
        LMR_REFUSE(o->matrix[d] < (d == 0) || o->matrix[d] > 32768, LARMOR_ERR_ARG,
                   "traj: got matrix %lld x %lld x %lld, expected sizes of 1 to 32768", (long long)o->matrix[0],
                   (long long)o->matrix[1], (long long)o->matrix[2]);
    const int64_t most = INT64_C(1) << 31;
    LMR_REFUSE(o->readouts < 0 || o->readouts > most, LARMOR_ERR_ARG,
               "traj: got %lld readouts, expected 1 to 2^31, or 0 for as many as are needed", (long long)o->readouts);
    LMR_REFUSE(o->samples < 0 || o->samples > most, LARMOR_ERR_ARG,
               "traj: got %lld samples, expected 1 to 2^31, or 0 for as many as are needed", (long long)o->samples);
    LMR_REFUSE(o->tiny < 0 || o->tiny > 1000000, LARMOR_ERR_ARG,
               "traj: got tiny %lld, expected the index of a golden angle, 1, 2, ...", (long long)o->tiny);
    LMR_REFUSE(o->density != 0 && !(o->density >= 1 && o->density <= 8), LARMOR_ERR_ARG,
               "traj: got density %g, expected 1 (Archimedean) to 8 (dense centre)", o->density);
    LMR_REFUSE(o->first < 0 || o->first > INT64_C(1) << 40, LARMOR_ERR_ARG,
               "traj: got %lld readouts before the first, expected 0 to 2^40", (long long)o->first);
    LMR_REFUSE(o->repetition < 0 || o->repetition > INT64_C(1) << 30, LARMOR_ERR_ARG,
               "traj: got repetition %lld, expected 0 to 2^30", (long long)o->repetition);
    LMR_REFUSE(o->undersampling != 0 && !(o->undersampling > 0 && o->undersampling <= 1e9), LARMOR_ERR_ARG,
               "traj: got undersampling %g, expected a factor above 0, 1 for none", o->undersampling);
    return LARMOR_OK;
}

/* What chooses among Cartesian lines. */
static larmor_status check_pattern(const lmr_traj *kind, const larmor_traj_opts *o)
{
    for (int d = 0; d < 2; d++)
        LMR_REFUSE(o->acceleration[d] < 0 || o->calibration[d] < 0, LARMOR_ERR_ARG,
                   "traj: got acceleration %lld and %lld calibration lines, expected numbers >= 0",
                   (long long)o->acceleration[d], (long long)o->calibration[d]);
    LMR_REFUSE(o->partial_fourier != 0 && !(o->partial_fourier > 0.5 && o->partial_fourier <= 1), LARMOR_ERR_ARG,
               "traj: got a partial Fourier factor of %g, expected more than 1/2, at most 1", o->partial_fourier);
    LMR_REFUSE(!kind->info.lines && lmr_traj_has_pattern(o), LARMOR_ERR_ARG,
               "traj: %s got acceleration, calibration lines or partial Fourier, which are for cartesian; "
               "use undersampling",
               kind->info.name);
    return LARMOR_OK;
}

static const char *name_at(int i)
{
    return larmor_traj_entry(i).name;
}

larmor_status larmor_traj_create(larmor_device *dev, const char *name, const larmor_traj_opts *opts,
                                 larmor_array **traj)
{
    LMR_NEED_OUT(traj);
    int entry;
    LMR_TRY(lmr_find_name("traj", name, name_at, &entry));
    const lmr_traj *kind = table[entry];
    LMR_REFUSE(!opts, LARMOR_ERR_ARG, "traj: got no options, expected at least the matrix");
    LMR_TRY(check(opts));
    LMR_TRY(check_pattern(kind, opts));
    lmr_traj_plan plan = {*opts, 0, opts->samples, opts->readouts, lmr_device_threads(dev)};
    if (!plan.opts.tiny) plan.opts.tiny = 1;
    if (plan.opts.density == 0) plan.opts.density = 1;
    if (plan.opts.undersampling == 0) plan.opts.undersampling = 1;
    if (!plan.opts.matrix[1]) plan.opts.matrix[1] = plan.opts.matrix[0];
    if (!plan.opts.matrix[2]) plan.opts.matrix[2] = kind->info.solid ? plan.opts.matrix[0] : 1;
    LMR_TRY(kind->size(&plan));
    plan.opts.first += opts->repetition * plan.readouts; /* below 2^62 */

    larmor_array *out;
    LMR_TRY(larmor_array_create(dev, LARMOR_F64, LARMOR_SHAPE(plan.nd, plan.samples, plan.readouts), &out));
    const int is_here = dev->be->threads(dev->ctx) > 0; /* a processor's array is filled in its place */
    double *k = is_here ? out->data : malloc(larmor_array_bytes(out));
    larmor_status st = k ? LARMOR_OK : LMR_NO_MEMORY();
    if (k) kind->fill(&plan, k);
    if (k) st = lmr_go_on(); /* who stops says so until a call has stopped */
    if (k && !is_here) {
        if (!st) st = larmor_array_write(out, k, larmor_array_bytes(out));
        free(k);
    }
    return LMR_GIVE(traj, out, larmor_array_free, st);
}
