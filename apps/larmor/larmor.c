/* The program larmor. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "serve_commands.h"

static const app_command *const commands[] = {
    &cmd_recon,   &cmd_maps,  &cmd_b0,      &cmd_dcf,  &cmd_phantom, &cmd_traj, &cmd_info,   &cmd_check,
    &cmd_compare, &cmd_stats, &cmd_convert, &cmd_warp, &cmd_fit,     &cmd_girf, &cmd_camera, &cmd_devices,
    &cmd_nufft,   &cmd_serve, &cmd_send,    &cmd_view, &cmd_version, NULL,
};

const app_program app_self = {
    .name = "larmor",
    .about = "MR images from non-Cartesian k-space.",
    .commands = commands,
    .moved = "bench",
    .moved_to = "larmor-bench",
    .make_ready = serve_make_ready,
};
