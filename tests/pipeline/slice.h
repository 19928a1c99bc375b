/* One slice in memory, 7 mm from the isocentre. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "tests/support/test.h"

/* The caller's, as are the arrays, of side x side voxels of 256 mm. */
static inline larmor_source *slice_of(larmor_array *kspace, larmor_array *traj, int64_t side)
{
    const larmor_readouts image = {
        .kspace = kspace,
        .traj = traj,
        .meta = {.read_dir = {1}, .phase_dir = {0, 1}, .slice_dir = {0, 0, 1}, .position_mm = {0, 0, 7}}};
    return MADE(larmor_source, larmor_source_of_arrays(
                                   &(larmor_scan_arrays){
                                       .matrix = {side, side}, .fov_mm = {256, 256, 5}, .image = &image, .images = 1},
                                   &made));
}
