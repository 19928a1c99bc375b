/* From slabs of a volume to lines along its last axis, and back. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RECON_DEAL_H
#define LMR_RECON_DEAL_H

#include "core/ranks/ranks.h"

/* Arrays [side of plane, planes] of which each rank has some planes, and after the exchange some of the side's lines with all
 * planes, of one type. */
typedef struct lmr_deal {
    larmor_ranks *ranks;
    int64_t side, planes, own_planes, own_lines;
    int64_t *of_planes,
        *of_lines; /* bytes: of this rank's planes the lines of each, of this rank's lines the planes of each */
} lmr_deal;

/* For arrays of this type; to be freed in either case. */
larmor_status lmr_deal_make(larmor_ranks *ranks, int64_t side, int64_t planes, larmor_dtype dtype, lmr_deal *d);
void lmr_deal_free(lmr_deal *d);

/* How many numbers both arrangements need room for. */
int64_t lmr_deal_room(const lmr_deal *d);

/* a: from [side, own planes] to [own lines, planes], and back; b is room. own: how it went before; what fails on a rank does not keep
 * the others waiting. */
larmor_status lmr_deal_to_lines(const lmr_deal *d, larmor_array *a, larmor_array *b, larmor_status own);
larmor_status lmr_deal_to_slab(const lmr_deal *d, larmor_array *a, larmor_array *b, larmor_status own);

/* to [planes, own lines] <- from [own lines, planes], or the other way round. */
larmor_status lmr_deal_turn(const lmr_deal *d, int to_planes, const larmor_array *from, larmor_array *to);

#endif
