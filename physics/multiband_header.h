/* What the header says of slices that were excited together. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "physics/multiband_phases.h"

/* 1 if the offsets ascend and are equally far apart. */
int lmr_multiband_is_even(const double *offset, int bands);

/* The encoding whose slices were excited together; multiband.factor 0: there is none.
 *
 * Errors  LARMOR_ERR_FORMAT for encodings that differ. */
larmor_status lmr_multiband_find(const larmor_source *inner, larmor_encoding *found);

/* 1 if scans of each slice alone, or a volume of them, are in an encoding of their own. */
int lmr_multiband_has_reference(const larmor_source *inner, const larmor_multiband_header *header);

/* As options; offset has room for LARMOR_MOST_BANDS. solid: the encoding is a volume, whose trajectory says kz, so
 * that deltaKz is not needed. name: of the source, for messages.
 *
 * Errors  LARMOR_ERR_FORMAT for what makes no slices. */
larmor_status lmr_multiband_of_header(const char *name, const larmor_multiband_header *header, int solid,
                                      double *offset, larmor_multiband_opts *opts);

/* Where options and header differ, as a line of a warning; "" where they agree, or the header has nothing usable.
 * images, phases: of opts->phase. */
void lmr_multiband_compare(const larmor_multiband_header *header, const larmor_multiband_opts *opts,
                           const lmr_banded *images, const lmr_band_phases *phases, char *line, size_t room);

/* What was taken, into info. reference: 1: each slice alone, 2: a volume of them, gives the coil maps. */
void lmr_multiband_report(const larmor_multiband_opts *opts, int solid, int by_header, int reference,
                          larmor_raw_info *info);
