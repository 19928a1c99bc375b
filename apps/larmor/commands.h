/* The commands of the program, each in apps/larmor/cmd_<name>.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"

extern const app_command cmd_recon, cmd_maps, cmd_b0, cmd_dcf, cmd_phantom, cmd_traj, cmd_info, cmd_check,
    cmd_compare, cmd_stats, cmd_convert, cmd_fit, cmd_girf, cmd_camera, cmd_devices, cmd_nufft, cmd_serve, cmd_send,
    cmd_view, cmd_version, cmd_warp;
