/* What a page of images is put together from: JSON for the script in page.html. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "io/bytes.h"
#include "larmor/page.h"

/* The template, a text; PAGE_DATA in it stands for the data. Made from page.html. */
extern const unsigned char lmr_page_html[];

/* ---- text.c ---- */

/* A string of JSON that can stand in a script: "<" is escaped, too. NULL is null. */
void lmr_json_string(lmr_bytes *b, const char *text);

/* A number of so many digits, or null for what is not finite. */
void lmr_json_number(lmr_bytes *b, double value, int digits);

/* "data:image/png;base64,..." of a picture [channels, width, height] within so many characters; nothing is added
 * where they are not enough. */
larmor_status lmr_json_picture(lmr_bytes *b, const unsigned char *pixel, int64_t width, int64_t height, int channels,
                               int64_t most);

/* ---- volumes.c ---- */

/* An array of volumes, each with its frames, within about so many characters. */
larmor_status lmr_page_volumes(lmr_bytes *b, const larmor_page *page, int64_t most);

/* ---- plots.c ---- */

/* An array of what is known of each image: figures, its misfit over radii, the weights that were tried. */
void lmr_page_reports(lmr_bytes *b, const larmor_recon_report *report, int images);

/* The middle planes of coil maps, colours for phases, beside each other. */
larmor_status lmr_page_maps(lmr_bytes *b, const larmor_array *maps);

/* A part of the readouts, and how densely k-space is sampled over its radius. */
larmor_status lmr_page_trajectory(lmr_bytes *b, const larmor_array *traj);

/* ---- gating.c ---- */

/* What bins rest on, as SVG. */
larmor_status lmr_gating_svg(lmr_bytes *b, const larmor_gating_trace *trace);
