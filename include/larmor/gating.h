/* Breath and heart from the samples of a scan: signals, rates, and images sorted by them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_GATING_H
#define LARMOR_GATING_H

#include "larmor/pipeline.h"

LARMOR_C_BEGIN

typedef struct larmor_rhythm { /* of breath or heart, [readouts] in their own order */
    double *signal;            /* in units of its standard deviation; of breath the shorter state is above 0 */
    double *phase;             /* in cycles since before the first readout; whole where the signal is highest */
    double rate;               /* cycles a minute; 0: nothing was found */
    double reliability;        /* from 0, as of noise alone, to 1; below LARMOR_RELIABLE it is no rhythm */
} larmor_rhythm;

#define LARMOR_RELIABLE 0.3

typedef struct larmor_gating { /* free with larmor_gating_free */
    larmor_rhythm breath, heart;
    int64_t readouts;
} larmor_gating;

/* Breath (0.1 to 0.7 Hz) and heart (0.7 to 3.5 Hz) from the sample of each readout that is nearest to the centre of
 * k-space.
 *
 * A trend and what depends on the readout's direction, as delays make it, are fitted and removed: polynomials of the
 * direction up to degree 8 in a plane and 6 in space. The principal components of all coils in a band are combined so
 * that as much of their power as possible is near one frequency and its double, that of the highest peak. Phase is
 * that of the component, demodulated at this frequency. What goes with the breath is removed before the heart is
 * looked for. Reliability is the share of the power near the frequency, beyond what the best of as many components of
 * white noise would have there.
 *
 * centre     complex [readouts, coils].
 * direction  [3 readouts], the unit vector of each readout, or 0; NULL: all alike.
 * seconds    [readouts], when they were taken, in any order.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for fewer than 64 readouts, times that are not finite, or less than 10 s
 *         or more than a day apart; LARMOR_ERR_NUMERIC for samples that are not finite; LARMOR_ERR_MEMORY.
 * Source  self-gating by coils: Feng et al., Magn. Reson. Med. 75, 775 (2016); components by the concentration of
 *         their spectrum: Nikulin, Nolte, Curio, NeuroImage 55, 1528 (2011); the largest share in noise: Wachter,
 *         Ann. Statist. 8, 937 (1980). */
LARMOR_API larmor_status larmor_gating_find(const larmor_array *centre, const double *direction,
                                            const double *seconds, larmor_gating *gating);
LARMOR_API void larmor_gating_free(larmor_gating *gating); /* NULL is fine; also sets all to zero */

typedef enum larmor_gating_way {
    LARMOR_GATING_SELF,     /* from the samples */
    LARMOR_GATING_HEADER,   /* the first physiology stamp is the time since a heartbeat, the second since a breath */
    LARMOR_GATING_AUTO,     /* waveforms, else stamps that restart as often as a heart or breath does, else samples */
    LARMOR_GATING_WAVEFORMS /* ECG or pulse, and respiration, of larmor_bins_opts.waveforms */
} larmor_gating_way;

typedef enum larmor_gating_from { /* what heart or breath was taken from */
                                  LARMOR_GATED_BY_NOTHING,
                                  LARMOR_GATED_BY_SAMPLES,
                                  LARMOR_GATED_BY_STAMPS,
                                  LARMOR_GATED_BY_WAVEFORM,
                                  LARMOR_GATED_BY_CALLER
} larmor_gating_from;

typedef struct larmor_gating_signal { /* of heart or breath; free with larmor_gating_signal_free */
    larmor_gating_from from;
    char report[240];   /* e.g. "R waves of the ECG"; from 0: why a waveform was not taken, or "" */
    double *at, *value; /* [points] s since the first readout of the first image, and a signal; or NULL */
    int64_t points;
    double *trigger; /* [triggers] s at which cycles begin; or NULL */
    int64_t triggers;
    double rate, reliability; /* as in larmor_rhythm; rate 0: it is not known */
} larmor_gating_signal;
LARMOR_API void larmor_gating_signal_free(larmor_gating_signal *signal); /* NULL is fine; also sets all to zero */

typedef struct larmor_gating_trace { /* of the first image, for a picture; free with larmor_gating_trace_free */
    larmor_gating_signal heart, breath;
    double *seconds; /* [readouts] since the first one */
    int *bin;        /* [readouts] heart + heart bins * (breath + breath bins * time), -1 of one that is left out */
    int64_t readouts;
    int heart_bins, breath_bins, time_bins; /* 0: none */
} larmor_gating_trace;
LARMOR_API void larmor_gating_trace_free(larmor_gating_trace *trace); /* NULL is fine; also sets all to zero */

typedef struct larmor_bins_opts { /* bins of each image's readouts; one or two of the three numbers */
    int heart;                    /* by the phase between beats, equally long; 0: none */
    /* By the signal, with equally many readouts, or by the phase, which HEADER and breath_times give; 0: none. */
    int breath;
    int time;              /* with equally many readouts, one after the other; 0: none */
    larmor_gating_way way; /* of heart and breath for which nothing is given below */
    double tick_ms;        /* of the stamps; default 2.5 */

    /* Signals from elsewhere, real numbers of any type; at most one of a pair. Times are those when cycles begin, in
     * s since the first readout of the first image, ascending. Before the first and after the last one cycles are as
     * long as the median; one that is longer than 1.5 times that lost a trigger, and what comes later in it is left
     * out. Others have a number for each readout, those of all images one after the other. */
    larmor_array *heart_times, *heart_phase;    /* phase: in cycles */
    larmor_array *breath_times, *breath_signal; /* signal: the order of its numbers alone counts */
    const larmor_raw *waveforms; /* the file whose waveforms count; NULL: none do. By AUTO and WAVEFORMS alone */
    larmor_gating_trace *trace;  /* gets what the first image's bins rest on; NULL: not wanted */
} larmor_bins_opts;

typedef struct larmor_bins_found { /* of all images, the worst of them */
    /* cycles a minute, of the last image; 0: none was found, or it is by a given signal */
    double breath_rate, heart_rate;
    double breath_reliable, heart_reliable;     /* reliability; 1 for stamps and given signals */
    int bins, empty;                            /* of all images; empty ones have no readouts */
    int64_t fewest, most;                       /* readouts of a bin that is not empty */
    larmor_gating_from breath_from, heart_from; /* of the last image */
    char breath_report[240], heart_report[240]; /* what that is, in words; "" without bins of it */
    char unused[2][240]; /* why waveforms of heart and breath are not used; "": they are, or there are none */
    /* readouts of all images, and those that are in no bin, as a trigger was missed or a waveform has a gap */
    int64_t readouts, heart_unknown, breath_unknown;
    /* s by which a signal of the breath that was given, or is a waveform's, has to be earlier to be that of the
     * samples, up to half a cycle; 0: it is, or they do not say */
    double breath_late;
} larmor_bins_found;

/* The numbers of bins by a text as the program takes it, "heart:20,breath:4"; the other members stay as they are. And
 * the way by its word: auto, waveforms, header or self.
 *
 * Errors  LARMOR_ERR_ARG, and then nothing is set. */
LARMOR_API larmor_status larmor_bins_read(const char *text, larmor_bins_opts *opts);
LARMOR_API larmor_status larmor_gating_read(const char *word, larmor_gating_way *way);

/* A source whose images are the bins of another's, each image sorted by itself. Heart bins are counted as phases,
 * bins of time as repetitions, and breath bins as repetitions, or as phases beside those of time. Those of a second
 * repetition come after those of the first. A bin without readouts gives no image.
 *
 * found   what the bins rest on, for a warning where reliability is below LARMOR_RELIABLE; NULL: not wanted, and then
 *         such bins are refused by LARMOR_ERR_NUMERIC.
 * Errors  those of larmor_gating_find and larmor_source_of_frames. */
LARMOR_API larmor_status larmor_source_of_bins(larmor_source *inner, larmor_device *dev, const larmor_bins_opts *opts,
                                               larmor_bins_found *found, larmor_source **source);

/* Line `index` of what bins rest on, as a log has it; 0: there is none. *is_warning: 1 for a rhythm that is not
 * reliable, bins without readouts and bins of few. */
LARMOR_API int larmor_gating_line(const larmor_bins_found *found, int index, char *line, size_t bytes,
                                  int *is_warning);

LARMOR_C_END
#endif
