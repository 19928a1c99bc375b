/* A step between two lines of a grid: an object that moved, or another gain from there on.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <complex.h>
#include <stdint.h>

#include "larmor/describe.h"

enum {
    LMR_LINES_SIDE = 19,  /* samples of a line around k = 0 */
    LMR_LINES_MOST = 32,  /* lines */
    LMR_LINES_KERNEL = 4, /* samples of a window along each axis */
    LMR_LINES_COILS = 3
};

/* The centre of k-space on a grid. */
typedef struct lmr_line_block {
    int64_t count, coils;        /* lines that follow each other at 1/FOV, coils */
    double step;                 /* 1/FOV, between the samples of a line */
    const double *at;            /* [count], 1/FOV across the lines */
    const double complex *block; /* [LMR_LINES_SIDE, count, coils] */
} lmr_line_block;

/* Adds the Gram matrix (its lower triangle) of the windows that begin at line y. */
void lmr_steps_add_windows(const lmr_line_block *b, int64_t y, double complex *gram);

/* 1 if found->better is clearly less than found->misfit. */
int lmr_steps_are_clear(const larmor_description *found);

/* Compare the block with one whose lines from one on have another gain, or are of an object that has moved.
 * found->misfit is that of the block as described, found->better that of the best description so far.
 *
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_steps_compare(const lmr_line_block *b, larmor_description *found);
