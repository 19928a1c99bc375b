/* Heart and breath from the waveforms of a file. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gating/gating.h"

#define LMR_MAX_GAP                                                                                                  \
    0.25 /* of a cycle of pulse or breath, over which its signal is straight; longer ones are left out */

typedef struct lmr_gap {
    double from, to; /* s: the samples on either side */
} lmr_gap;

typedef struct lmr_track { /* a waveform at even steps; free with lmr_track_free */
    double *x;             /* [channels][count]; straight lines over gaps, of triggers the value before */
    lmr_gap *gap;          /* [gaps] in the order of time */
    int64_t channels, count, gaps;
    double first, dt; /* s: of the first sample, and from one to the next */
    int trigger;      /* the channel with the scanner's triggers, or -1 */
    char note[160];   /* what is left out or assumed, "; " before each; "" if all is as it should be */
} lmr_track;

/* The blocks of a kind of waveform, placed as lmr_blocks_place does, whose clock is at `begin` at 0 s. count is 0
 * where there are none, or gaps are longer than the rest. Errors: MEMORY. */
larmor_status lmr_track_read(const larmor_raw *raw, larmor_waveform_kind kind, uint32_t begin, double tick_ms,
                             lmr_track *track);
void lmr_track_free(lmr_track *track);
/* 1 if a gap of more than `least` s, made wider by `beside` s at both ends, is at a time. */
int lmr_track_lacks(const lmr_track *track, double s, double least, double beside);
/* 1 if a gap reaches between two times. */
int lmr_track_is_parted(const lmr_track *track, double from, double to);

/* Times [*count] in s at which the trigger channel rises, but for those in gaps; to be freed. Errors: MEMORY. */
larmor_status lmr_track_triggers(const lmr_track *track, double **times, int64_t *count);

/* Times of R waves, by the power of the slope (Pan and Tompkins, IEEE Trans. Biomed. Eng. 32, 230, 1985).
 * *reliability from 0, as of noise, to 1. Errors: MEMORY. */
larmor_status lmr_track_r_waves(const lmr_track *track, double **times, int64_t *count, double *reliability);

/* The rhythm of a band in the channels but that of the triggers, at even steps that *even gets, whose x stays NULL;
 * found's arrays are to be freed. hz is 0 where the waveform is too short. Errors: MEMORY. */
larmor_status lmr_track_rhythm(const lmr_track *track, const lmr_band *band, lmr_track *even, lmr_found *found);

typedef struct lmr_beats { /* of a heart */
    int64_t whole;         /* cycles without a gap */
    double cycle, hz;      /* the median of whole cycles in s, and the mean rate; 0: there are none */
    double known;          /* which part of the time from the first to the last beat is in a known cycle */
} lmr_beats;

/* Add the beats that short gaps of the waveform took, at even distances: two at most in a row, where the cycles on
 * both sides have room for them. What is longer remains one cycle. Errors: MEMORY. */
larmor_status lmr_track_bridge(const lmr_track *track, double **times, int64_t *count, lmr_beats *beats);

/* What is taken for heart or breath, and the signal that a picture shows. */
typedef struct lmr_wave_rhythm {
    lmr_given given; /* heart: times; breath: a number for each readout */
    larmor_gating_signal shown;
} lmr_wave_rhythm;

/* The heart from ECG, else pulse; the breath from respiration. shown.from stays 0 where there is none that covers the
 * readouts, of the times seconds [readouts]; shown.report then says why. Errors: MEMORY. */
larmor_status lmr_heart_of_waves(const larmor_raw *raw, uint32_t begin, double tick_ms, const double *seconds,
                                 int64_t readouts, lmr_wave_rhythm *heart);
larmor_status lmr_breath_of_waves(const larmor_raw *raw, uint32_t begin, double tick_ms, const double *seconds,
                                  int64_t readouts, lmr_wave_rhythm *breath);
void lmr_wave_rhythm_free(lmr_wave_rhythm *rhythm);
