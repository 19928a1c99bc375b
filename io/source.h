/* An input file: opened read-only, known to be regular and not empty. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_SOURCE_H
#define LMR_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "core/status.h"

typedef struct lmr_source {
    char *path;   /* for messages and for files beside it */
    char *inside; /* what follows the colon in FILE.h5:/group, or NULL */
    int fd;
    int64_t size;
} lmr_source;

/* Errors  LARMOR_ERR_IO: missing, not permitted, not regular; LARMOR_ERR_FORMAT: empty; LARMOR_ERR_MEMORY. */
larmor_status lmr_source_open(const char *path, lmr_source *source);
void lmr_source_close(lmr_source *source);

/* Exactly `bytes` from `offset` on. Errors: LARMOR_ERR_IO; LARMOR_ERR_FORMAT past the end. */
larmor_status lmr_source_read(const lmr_source *source, int64_t offset, void *to, size_t bytes);

#endif
