/* Arrays with the last axis fastest in memory, as C has them. SPDX-License-Identifier: Apache-2.0 */
#include "io/reverse_axes.h"

#include <string.h>

enum { TILE = 16 }; /* elements of both axes that are copied while their cache lines are there */

/* The first and the last axis, at one place of those between them: rows of the source become columns of the
 * target. */
typedef struct plane {
    int64_t rows, columns; /* of the source */
    int64_t row_stride,
        column_step; /* elements from one row of the source to the next, and from column to column of the target */
    size_t bytes;    /* of an element */
} plane;

static void copy_tile(const plane *p, int64_t row, int64_t column, const char *from, char *to)
{
    const int64_t last_row = row + TILE < p->rows ? row + TILE : p->rows;
    const int64_t last_column = column + TILE < p->columns ? column + TILE : p->columns;
    for (int64_t j = column; j < last_column; j++)
        for (int64_t i = row; i < last_row; i++)
            memcpy(to + (size_t)(i + j * p->column_step) * p->bytes,
                   from + (size_t)(i * p->row_stride + j) * p->bytes, p->bytes);
}

static void transpose(const plane *p, const char *from, char *to)
{
    for (int64_t column = 0; column < p->columns; column += TILE)
        for (int64_t row = 0; row < p->rows; row += TILE) copy_tile(p, row, column, from, to);
}

void lmr_reverse_axes(int axes, const int64_t *dim, size_t bytes, const void *from, void *to)
{
    int64_t between = 1;
    for (int d = 1; d < axes - 1; d++) between *= dim[d];
    if (axes < 2) {
        memcpy(to, from, (size_t)(axes ? dim[0] : 1) * bytes);
        return;
    }
    const int64_t last = dim[axes - 1];
    const plane p = {.rows = dim[0],
                     .columns = last,
                     .row_stride = between * last,
                     .column_step = dim[0] * between,
                     .bytes = bytes};
    for (int64_t i = 0; i < between; i++) {
        int64_t rest = i, place = 0,
                step = between; /* of the axes between the last is fastest in i, the first in place */
        for (int d = axes - 2; d > 0; d--) {
            step /= dim[d];
            place += rest % dim[d] * step;
            rest /= dim[d];
        }
        transpose(&p, (const char *)from + (size_t)(i * last) * bytes, (char *)to + (size_t)(place * dim[0]) * bytes);
    }
}
