/* How far coil maps by nonlinear inversion can be trusted. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/array.h"
#include "larmor/maps.h"

/* The typical distance of the samples of a readout near the centre of k-space, in 1/FOV; 0 where there are none, or
 * one readout alone. encoded: as that of lmr_maps_task. */
larmor_status lmr_maps_spacing(const larmor_array *traj, const double encoded[3], double *spacing);

/* How far maps by nonlinear inversion of these readouts can be trusted. encoded: as that of lmr_maps_task. residual:
 * what the inversion left, relative. */
larmor_status lmr_maps_judge_inversion(const larmor_array *traj, larmor_shape image, const double encoded[3],
                                       double residual, larmor_coils_report *report);
