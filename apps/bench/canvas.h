/* A grey picture to draw on. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_CANVAS_H
#define APP_CANVAS_H

#include "larmor/io.h"

enum { CANVAS_CELL_WIDTH = 6, CANVAS_CELL_HEIGHT = 8 }; /* of a letter */

#define CANVAS_INK 0.0f
#define CANVAS_FAINT 0.85f
#define CANVAS_PAPER 1.0f

typedef struct canvas {
    int width, height;
    float *pixel; /* [width, height], from above */
} canvas;

larmor_status canvas_create(int width, int height, canvas *c); /* blank; LARMOR_ERR_MEMORY */
void canvas_free(canvas *c);

/* Coordinates from the upper left corner; what lies outside is left out. */
void canvas_dot(canvas *c, int x, int y, float shade);
void canvas_box(canvas *c, int x0, int y0, int x1, int y1, float shade); /* both corners included */
void canvas_line(canvas *c, int x0, int y0, int x1, int y1, float shade);

/* In capitals; what the font lacks is blank. */
void canvas_text(canvas *c, int x, int y, const char *text);

/* To an output whose name ends in .png. */
larmor_status canvas_write(const canvas *c, larmor_output *out);

#endif
