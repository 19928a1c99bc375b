/* Curves in panels: a number against a factor, on a common logarithmic axis. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_PLOT_PANELS_H
#define APP_PLOT_PANELS_H

#include "larmor/io.h"

#define PLOT_CURVE_POINTS 16

typedef struct plot_curve {
    char label[24]; /* at the curve's end */
    int panel;      /* from 0 */
    int count;
    double x[PLOT_CURVE_POINTS], y[PLOT_CURVE_POINTS]; /* x ascending, y > 0 */
    double mark_x, mark_y;                             /* a square; none unless mark_y > 0 */
} plot_curve;

typedef struct plot_panels {
    const char *title, *x_axis, *y_axis;
    double low, high; /* of x */
    const double *ticks;
    int tick_count;
    const char (*panel)[64]; /* their titles */
    int panel_count;
    const plot_curve *curves;
    int curve_count;
} plot_panels;

/* Draw and write to an output whose name ends in .png. */
larmor_status plot_panels_write(const plot_panels *p, larmor_output *out);

#endif
