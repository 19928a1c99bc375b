/* The output of `larmor info` for an image. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "json.h"
#include "larmor/larmor.h"

void info_image_print(const char *path, const larmor_image_info *image);
void info_image_json(const char *path, const larmor_image_info *image);

/* How the process that reads files is kept from the rest of the system: a member "sandbox", and a line where
 * system calls are not filtered. */
void info_sandbox_json(json *j);
void info_sandbox_print(void);
