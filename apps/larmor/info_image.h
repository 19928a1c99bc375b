/* The output of `larmor info` for an image. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_INFO_IMAGE_H
#define APP_INFO_IMAGE_H

#include "larmor/larmor.h"

void info_image_print(const char *path, const larmor_image_info *image);
void info_image_json(const char *path, const larmor_image_info *image);

#endif
