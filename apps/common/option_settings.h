/* Options that are settings of the library: its table says what they are and sets them. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "args.h"

/* Complete the rows of a program's commands that APP_SETTING begins, once, before anything else looks at them. */
void app_complete_options(const app_program *program);
