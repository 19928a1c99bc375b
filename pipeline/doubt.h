/* Why an image may not be what it seems. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_DOUBT_H
#define APP_RECON_DOUBT_H

#include <stddef.h>

#include "group.h"

/* Doubt number i of an image as one line, with what to do. Returns which kind it is, or 0 past the last. */
int recon_doubt(const recon_result *result, int i, char *line, size_t room);

#endif
