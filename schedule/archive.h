/* Numbers and arrays to and from a checkpoint, by one sequence of calls that says what it holds. A checkpoint is not
 * trusted: all sizes are this program's own, and numbers that anything follows from are in a range.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/checkpoint.h"
#include "core/status.h"
#include "larmor/array.h"

typedef enum lmr_way { LMR_COUNT, LMR_PUT, LMR_GET } lmr_way; /* COUNT: only the bytes that PUT would put */

typedef struct lmr_archive {
    const larmor_checkpoint *place;
    lmr_way way;
    int64_t at, end; /* end: of what is there to GET */
} lmr_archive;

/* What is wrong with it, and what to do. */
larmor_status lmr_archive_damaged(const lmr_archive *a, const char *what);

/* Each puts *x, or gets it, within the bounds. Errors: LARMOR_ERR_FORMAT; those of the place. */
larmor_status lmr_archive_bytes(lmr_archive *a, void *x, size_t bytes);
larmor_status lmr_archive_integer(lmr_archive *a, int *x, int low, int high);
larmor_status lmr_archive_number(lmr_archive *a, double *x);
larmor_status lmr_archive_text(lmr_archive *a, char *text, size_t room);

/* The values of an array that is there; another type or shape is an error. */
larmor_status lmr_archive_array(lmr_archive *a, larmor_array *x);

/* *hash <- that of what gave *hash and then of x's type, shape and values; of NULL, too. */
larmor_status lmr_hash_array(const larmor_array *x, uint64_t *hash);
