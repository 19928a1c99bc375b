/* Phases of slices that were excited together, of each readout. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/multiband.h"

/* Beside 1 in larmor_encoding.apart: what kz leaves of the slices' phases is a term of the model; slices are not
 * equally far apart, so that a volume does not say where they are. */
enum { LMR_APART_BY_PHASES = 2, LMR_APART_UNEVENLY = 4 };

typedef struct lmr_band_phases {
    double *even; /* [2, rows] the phase of the middle slice, and from one slice to the next, which kz has */
    double *rest; /* [bands, rows] what is left of each slice's; NULL: nothing */
    int bands;
    int64_t rows, *begin; /* readouts; the number of each image's first one in them */
} lmr_band_phases;

/* Those of a source's images that have such slices. */
typedef struct lmr_banded {
    const larmor_source *inner;
    const int *group; /* [count] */
    int count;
} lmr_banded;

/* Of an array [readouts, bands]. Steps of kz from slice to slice that are multiples of 2 pi / bands but for rounding
 * become these, and so do all where steps are not alike, so that lines stay on the grid.
 *
 * Errors  LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC. */
larmor_status lmr_band_phases_take(const lmr_banded *images, const larmor_array *phase, int bands,
                                   lmr_band_phases *out);
void lmr_band_phases_free(lmr_band_phases *phases);
uint64_t lmr_band_phases_hash(const lmr_band_phases *phases, uint64_t hash);

/* 1 if slice s of readout j of each image has the phase 2 pi turns s j / shifts. */
int lmr_band_phases_are(const lmr_banded *images, const lmr_band_phases *phases, int turns, int shifts);

/* Those of the source's images, which stay its own, and the number of the first readout of a group in them.
 *
 * Errors  LARMOR_ERR_UNSUPPORTED for a source of other images than those of larmor_source_of_multiband. */
larmor_status lmr_multiband_phases(const larmor_source *source, int group, lmr_band_phases *phases, int64_t *first);
