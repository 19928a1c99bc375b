/* The calls of a source for the pipeline. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

/* A source that stands before another one, whose name it has: what its table lacks is asked of that one, but for
 * samples, readouts and navigators.
 *
 * inner  where the other one is, for as long as this one is there; it may be exchanged between calls. */
larmor_status lmr_source_create_before(larmor_source *const *inner, const larmor_source_impl *impl, void *self,
                                       larmor_source **source);

/* Its own data, if it was made with the same describe; else NULL. */
void *lmr_source_self(const larmor_source *s, const larmor_source_impl *impl);

const char *lmr_source_name(const larmor_source *s);

/* 1 if its functions may be called from any thread without its maker having asked for several; and that it is so. */
int lmr_source_any_thread(const larmor_source *s);
void lmr_source_set_any_thread(larmor_source *s);
void lmr_source_set_parallel(larmor_source *s); /* by several at the same time */
/* The source asks the inner one and changes nothing of its own: it may be called as that one may. */
void lmr_source_call_as(larmor_source *s, const larmor_source *inner);

larmor_status lmr_source_encoding(const larmor_source *s, int encoding, larmor_encoding *out);
larmor_status lmr_source_group(const larmor_source *s, int group, larmor_group *out);
larmor_status lmr_source_meta(const larmor_source *s, int group, larmor_image_meta *meta);

/* A number that differs where the scan does. */
larmor_status lmr_source_fingerprint(const larmor_source *s, uint64_t *fingerprint);

/* The grid of an encoding: of opts, which may be NULL, or the header's. */
larmor_status lmr_source_grid(const larmor_source *s, int encoding, const larmor_grid_opts *opts, larmor_grid *out);

/* The samples of a group, or of its calibration, for this many coils; what a source gives is checked:
 * LARMOR_ERR_SHAPE. */
larmor_status lmr_source_samples(const larmor_source *s, int group, const larmor_grid *grid, int calibration,
                                 int64_t coils, larmor_device *dev, larmor_samples *out);

/* 1 if it gives single readouts. */
int lmr_source_has_readouts(const larmor_source *s);

/* Stamps of all readouts of a group, and the samples of some. LARMOR_ERR_ARG for a source that has neither. */
larmor_status lmr_source_stamps(const larmor_source *s, int group, larmor_stamp *stamps);
larmor_status lmr_source_readouts(const larmor_source *s, int group, const int64_t *readout, int64_t count,
                                  const larmor_grid *grid, larmor_device *dev, larmor_samples *out);

/* When samples were taken, in s, as larmor_raw_times; checked. LARMOR_ERR_UNSUPPORTED where the source does not
 * know. */
larmor_status lmr_source_times(const larmor_source *s, int group, const int64_t *readout, int64_t count,
                               const larmor_grid *grid, larmor_device *dev, larmor_array **times);

/* As larmor_raw_phase_terms; checked. */
larmor_status lmr_source_phases(const larmor_source *s, int group, const int64_t *readout, int64_t count,
                                const larmor_grid *grid, larmor_device *dev, larmor_array **phases);

#define LMR_CLOCK_WRAP_MS (24 * 3600 * 1000) /* the clock wraps at midnight */

/* When readouts were acquired by their time stamps, in ms since the first one that has one. A clock that passes
 * midnight goes on. Readouts without a stamp, 0 where the clock began long before, are evenly between their
 * neighbours, and at the ends as far apart as the others are on average; returns how many there are. *runs: 1 if
 * stamps differ. */
int64_t lmr_stamps_read(const larmor_stamp *stamp, int64_t count, double tick_ms, double *ms, int *runs);

/* A line about readouts without a stamp behind the other warnings; none for 0 of them. */
void lmr_stamps_warn(int64_t unstamped, char *warnings, size_t room);

/* Those of a group; shots is 0 if there are none. */
larmor_status lmr_source_navigators(const larmor_source *s, int group, const larmor_grid *grid, larmor_device *dev,
                                    larmor_navigators *out);

/* The source corrects ghosts of the inner one, which any thread may call as it may; and whether it does. */
void lmr_source_set_corrected(larmor_source *s, const larmor_source *inner);
int lmr_source_is_corrected(const larmor_source *s);

/* *noise is NULL if there is none. */
larmor_status lmr_source_noise(const larmor_source *s, larmor_device *dev, larmor_array **noise);

larmor_status lmr_source_keep_coils(const larmor_source *s, larmor_array *all, int axis, larmor_array **kept);
larmor_status lmr_source_restore_coils(const larmor_source *s, larmor_array *kept, int axis, larmor_array **all);

/* Bins of readouts as images. */
typedef struct lmr_bins {
    int phases, repetitions; /* of each image, at least 1 */
    char letter[2];          /* what phases and repetitions are: h, b or t */
    /* Of the readouts of all images, one after the other: phase + phases * repetition, -1 of one that is left out. It
     * is read while the source is made. */
    const int *bin;
} lmr_bins;

larmor_status lmr_source_of_bins(larmor_source *inner, const lmr_bins *bins, larmor_source **source);
