/* A page of HTML that shows images and how they came about: one file that needs nothing else, for a browser.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_PAGE_H
#define LARMOR_PAGE_H

#include "larmor/gating.h"
#include "larmor/io.h"
#include "larmor/pipeline.h"

LARMOR_C_BEGIN

typedef struct larmor_page {           /* what is NULL or 0 is not shown, but for the images */
    const char *title;                 /* NULL: the name of the file */
    const larmor_image *image;         /* [images] any shapes [nx, ny] or [nx, ny, nz], real or complex */
    const larmor_recon_report *report; /* [images] how each of them came about */
    int images;
    larmor_notes settings; /* what was asked for */
    const char *const *line;
    int lines;                  /* of the log */
    const char *const *warning; /* shown first */
    int warnings;
    const larmor_image *snr; /* [snrs] real: signal-to-noise ratios, beside the images */
    int snrs;
    const larmor_array *maps;          /* [nx, ny(, nz), coils(, sets)] coil sensitivity maps */
    const larmor_array *traj;          /* f64 [nd, ...] the trajectory of an image, cycles per field of view */
    const larmor_gating_trace *gating; /* what bins of readouts rest on */
    int magnitude;                     /* 1: without phases */
    int64_t most_bytes;                /* of the file; 0: 4.8e6. Pictures get smaller and frames fewer to keep it */
} larmor_page;

/* Write the page. Images that differ only in their slice are planes of one volume; those that differ in other
 * counters are its frames. Voxels that are not finite are black.
 *
 * out     of larmor_output_open, whose path ends in .html; larmor_image_write writes a page of images alone to it.
 * Errors  LARMOR_ERR_ARG without images, or for another suffix; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY;
 *         LARMOR_ERR_IO. */
LARMOR_API larmor_status larmor_page_write(larmor_output *out, const larmor_page *page);

/* Open an output for a drawing, a new .svg: as larmor_output_open, for larmor_gating_draw alone.
 *
 * Errors  LARMOR_ERR_ARG for another suffix; LARMOR_ERR_EXISTS; LARMOR_ERR_IO. */
LARMOR_API larmor_status larmor_drawing_open(const char *path, int force, larmor_output **out);

/* Write what bins rest on as a drawing: the signals of heart and breath with their triggers over the first minute,
 * the bin of each readout, and how many readouts each bin has. A page has the same.
 *
 * Errors  LARMOR_ERR_ARG for a trace without readouts and for an output of another suffix; LARMOR_ERR_MEMORY;
 *         LARMOR_ERR_IO. */
LARMOR_API larmor_status larmor_gating_draw(larmor_output *out, const larmor_gating_trace *trace);

LARMOR_C_END

#endif
