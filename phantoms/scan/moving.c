/* Samples of an object whose pose differs from readout to readout. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "core/owned.h"
#include "larmor/motion.h"
#include "phantoms/phantom.h"
#include "phantoms/scan/simulation.h"

larmor_status lmr_simulation_moving(const larmor_simulation *s, const larmor_phantom *object,
                                    const larmor_array *traj, larmor_array **kspace)
{
    const int64_t readouts = larmor_array_shape(traj).dim[2];
    LMR_OWNED(larmor_array) *motion = NULL;
    LMR_HEAP double *poses = NULL;
    LMR_HEAP lmr_moved *moved = lmr_new(readouts, sizeof *moved);
    if (!moved) return LMR_NO_MEMORY();
    LMR_TRY(larmor_motion_rows(s->o.motion, readouts, &motion));
    LMR_TRY(larmor_array_download(motion, LARMOR_F64, &poses));
    for (int64_t j = 0; j < readouts; j++) {
        double pose[LARMOR_POSE];
        for (int p = 0; p < LARMOR_POSE; p++) pose[p] = poses[j + readouts * p];
        LMR_TRY(larmor_pose_map(pose, s->info.ndim, s->encoding.recon_fov_mm, moved[j].turn, moved[j].shift));
    }
    return lmr_phantom_kspace_moving(object, traj, moved, s->o.coils, LARMOR_C64, kspace);
}
