/* The program larmor-bench. SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"

static const app_command *const commands[] = {&cmd_nufft, &cmd_normal, &cmd_planner, &cmd_scaling, &cmd_stream, NULL};

const app_program app_self = {
    .name = "larmor-bench",
    .about = "How fast the NUFFT is on this machine.",
    .commands = commands,
};
