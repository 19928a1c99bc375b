/* The readouts that a session holds. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"
#include "larmor/stream.h"

typedef struct lmr_readouts { /* start with {0} */
    larmor_acquisition *each; /* [count] in the order in which they came */
    void **payload;           /* [count] that their numbers lie in */
    int64_t *size;            /* [count] bytes that each takes */
    int64_t count, room;
    int64_t bytes; /* of all */
} lmr_readouts;

/* What is reconstructed together: all, or what belongs to a slice or a repetition. */
typedef struct lmr_readouts_part {
    larmor_session_images by;
    int slice, repetition;
} lmr_readouts_part;

/* Keep one; the payload, of so many bytes, is taken over, also after an error. */
larmor_status lmr_readouts_add(lmr_readouts *readouts, const larmor_acquisition *a, int64_t bytes, void *payload);

/* 1 if a part is complete with this readout. */
int lmr_readouts_ends(const larmor_acquisition *a, larmor_session_images by);

/* The readouts of a part, with the noise and the calibration that it needs: *chosen is the caller's to free, their
 * numbers are not. *count is 0, and *chosen NULL, where none of them makes an image. */
larmor_status lmr_readouts_choose(const lmr_readouts *readouts, lmr_readouts_part part, larmor_acquisition **chosen,
                                  int64_t *count);

/* Free those of a part that no other one needs. */
void lmr_readouts_drop(lmr_readouts *readouts, lmr_readouts_part part);
void lmr_readouts_free(lmr_readouts *readouts);
