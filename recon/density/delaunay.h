/* Which points in the plane are neighbours: the Delaunay triangulation. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/status.h"

typedef struct lmr_neighbours { /* of point i: list[first[i]] to list[first[i + 1] - 1], some of them several times */
    int64_t *first;             /* [points + 1] */
    int *list;
} lmr_neighbours;

/* The neighbours of different points, [2, count]. A point that is too near to another one for the arithmetic may have
 * none.
 *
 * out     to be freed by lmr_neighbours_free, also after an error.
 * Errors  LARMOR_ERR_ARG for fewer than three points, and for points on a line; LARMOR_ERR_MEMORY; LARMOR_ERR_NUMERIC
 *         if the triangulation fails.
 * Source  Barber, Dobkin, Huhdanpaa, ACM Trans. Math. Softw. 22, 469 (1996): the library Qhull. */
larmor_status lmr_delaunay(int64_t count, const double *points, lmr_neighbours *out);
void lmr_neighbours_free(lmr_neighbours *neighbours);
