/* A plot of positive numbers on a logarithmic axis, as a grey picture. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_PLOT_H
#define APP_PLOT_H

#include "larmor/io.h"

#define PLOT_SERIES 3

typedef struct plot_row {
    char label[112];
    double value[PLOT_SERIES]; /* not drawn unless > 0 */
} plot_row;

typedef struct plot {
    const char *title, *axis;
    const char *series[PLOT_SERIES]; /* names for the legend; NULL: not there */
    const plot_row *rows;            /* from above downwards */
    int count;
} plot;

/* Draw and write to an output whose name ends in .png. Texts are drawn in capitals; what the font lacks is blank. */
larmor_status plot_write(const plot *p, larmor_output *out);

#endif
