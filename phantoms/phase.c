/* Objects with a smooth phase, whose k-space stays exact: a phase that is a sine of the position is a sum of plane
 * waves, exp(i a sin t) = sum_n J_n(a) exp(i n t), each of which shifts k-space. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "phantoms/phantom.h"

#define MOST_RADIANS 20
#define LEAST_PART 1e-9 /* of a plane wave that counts */

static larmor_status check(const larmor_phantom_phase *phase)
{
    int good = fabs(phase->radians) <= MOST_RADIANS;
    for (int d = 0; d < 3; d++) good &= fabs(phase->cycles[d]) <= 1e3;
    if (good) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG,
                    "phantom phase: got %g radians and %g, %g, %g cycles, expected at most %d and numbers",
                    phase->radians, phase->cycles[0], phase->cycles[1], phase->cycles[2], MOST_RADIANS);
}

larmor_status lmr_phase_waves(const larmor_phantom_phase *phase, lmr_waves *waves)
{
    LMR_TRY(check(phase));
    *waves = (lmr_waves){.most = 0};
    for (int d = 0; d < 3; d++) waves->cycles[d] = phase->cycles[d];
    for (int n = 0; n <= LMR_MOST_WAVES; n++) {
        waves->part[LMR_MOST_WAVES + n] = jn(n, phase->radians);
        waves->part[LMR_MOST_WAVES - n] = jn(-n, phase->radians);
        waves->most = n;
        if (n >= fabs(phase->radians) && fabs(jn(n, phase->radians)) < LEAST_PART) break;
    }
    return LARMOR_OK;
}

/* sum <- sum + the part of wave n times k-space at k - n cycles */
static larmor_status add_wave(const larmor_phantom *phantom, larmor_device *dev, const double *k, larmor_shape traj,
                              const lmr_waves *waves, int n, int coils, larmor_dtype dtype, larmor_array **sum)
{
    const int64_t count = larmor_shape_count(traj), nd = traj.dim[0];
    LMR_HEAP LMR_NEW(double, moved, count);
    for (int64_t i = 0; i < count; i++) moved[i] = k[i] - n * waves->cycles[i % nd];
    LMR_OWN(larmor_array, points, larmor_array_upload(dev, LARMOR_F64, traj, LARMOR_F64, moved, &points));
    LMR_OWN(larmor_array, part, larmor_phantom_kspace(phantom, points, coils, dtype, &part));
    if (!*sum) LMR_TRY(larmor_array_create(dev, larmor_array_dtype(part), larmor_array_shape(part), sum));
    return larmor_axpby(waves->part[LMR_MOST_WAVES + n], part, 1, *sum);
}

larmor_status larmor_phantom_kspace_phase(const larmor_phantom *phantom, const larmor_array *traj,
                                          const larmor_phantom_phase *phase, int coils, larmor_dtype dtype,
                                          larmor_array **kspace)
{
    LMR_NEED_OUT(kspace, phantom, traj, phase);
    lmr_waves waves;
    LMR_TRY(lmr_phase_waves(phase, &waves));
    larmor_device *dev = larmor_array_device(traj);
    larmor_array *sum = NULL, *plain;
    LMR_TRY(larmor_phantom_kspace(phantom, traj, coils, dtype, &plain)); /* which checks the others */
    larmor_array_free(plain);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    larmor_status st = LARMOR_OK;
    for (int n = -waves.most; n <= waves.most && !st; n++)
        st = add_wave(phantom, dev, k, larmor_array_shape(traj), &waves, n, coils, dtype, &sum);
    return LMR_GIVE(kspace, sum, larmor_array_free, st);
}
