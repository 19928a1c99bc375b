/* Images on a terminal, each in the place of the one before. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/io.h"

typedef struct show { /* start with {0} */
    int shown;        /* images */
    int rows;         /* of text that the last one took */
    double white;     /* the largest magnitude of the first image */
} show;

/* Draw the middle slice of an image on standard output where that is a terminal, else write a line of it. */
larmor_status show_image(show *s, const larmor_image *image);
