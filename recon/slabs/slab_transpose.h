/* From slabs of a volume to lines along its last axis, and back. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/ranks/ranks.h"

/* Arrays [side of plane, planes] of which each rank has some planes, and after the exchange some of the side's
 * lines with all planes, of one type. */
typedef struct lmr_slab_transpose {
    larmor_ranks *ranks;
    int64_t side, planes, own_planes, own_lines;
    int64_t *of_planes,
        *of_lines; /* bytes: of this rank's planes the lines of each, of this rank's lines the planes of each */
} lmr_slab_transpose;

/* For arrays of this type; to be freed in either case. */
larmor_status lmr_slab_transpose_make(larmor_ranks *ranks, int64_t side, int64_t planes, larmor_dtype dtype,
                                      lmr_slab_transpose *t);
void lmr_slab_transpose_free(lmr_slab_transpose *t);

/* How many numbers both arrangements need room for. */
int64_t lmr_slab_transpose_size(const lmr_slab_transpose *t);

/* a: from [side, own planes] to [own lines, planes], and back; b is room. own: how it went before; what fails on a
 * rank does not keep the others waiting. */
larmor_status lmr_slab_transpose_to_lines(const lmr_slab_transpose *t, larmor_array *a, larmor_array *b,
                                          larmor_status own);
larmor_status lmr_slab_transpose_to_slab(const lmr_slab_transpose *t, larmor_array *a, larmor_array *b,
                                         larmor_status own);

/* to [planes, own lines] <- from [own lines, planes], or the other way round. */
larmor_status lmr_slab_transpose_local(const lmr_slab_transpose *t, int to_planes, const larmor_array *from,
                                       larmor_array *to);
