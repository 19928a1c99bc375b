/* The commands of larmor-bench, each in bench/cmd_<name>.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "args.h"

extern const app_command cmd_normal, cmd_nufft, cmd_planner, cmd_scaling, cmd_stream;
