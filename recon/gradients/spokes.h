/* Readouts that delays are estimated from, and the steps from these to delays. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/delays.h"
#include "recon/gradients/delay.h"

enum { LMR_MOST_BLOCKS = 4 };

/* The part of a readout that is near the centre. */
typedef struct lmr_spoke {
    int64_t readout, first, count; /* samples first, first + stride, ... */
    int64_t at;                    /* its first one in the list of all samples */
    double step[3];                /* from one sample to the next, on average */
} lmr_spoke;

/* Where the signal of a readout is strongest, as an equation: along = row . (delays, centre of k-space). */
enum { LMR_ECHO_NUMBERS = LMR_DELAYS + 3 };
typedef struct lmr_echo {
    double row[LMR_ECHO_NUMBERS], along; /* along: cycles per field of view from the centre that is meant */
} lmr_echo;

/* Samples of all coils on the host: [total, coils] complex. */
typedef struct lmr_complex_samples {
    double *value;
    int64_t total, coils;
} lmr_complex_samples;

/* Samples of some readouts near the centre, in blocks that are fitted by themselves. */
typedef struct lmr_spokes {
    int nd, coils;
    int64_t samples, readouts;
    const double *fov; /* [nd] or NULL */
    double *k;         /* [nd, samples, readouts] of all */
    lmr_echo *echo;    /* [echoes] of those of echoes_tried readouts that are within them */
    int64_t echoes, echoes_tried;
    double start[LMR_DELAYS]; /* delays with which samples are near the centre; 0 unless echoes are far from it */
    lmr_spoke *spoke;
    int64_t count, stride, total; /* total: samples in the list */
    int curved;                   /* 1: spirals, whose steps are chords, or spokes that rest in the centre */
    int64_t tried;                /* readouts that were looked at */
    int64_t through;              /* of the spokes, those that begin clearly before the centre and end behind it */
    double *value;                /* [2 coils, total], coils by falling energy */
    int blocks;
    int64_t *begin; /* [blocks + 1] the first spoke of each */
} lmr_spokes;

/* recon/gradients/spokes.c: choose them. */
larmor_status lmr_spokes_choose(const larmor_array *kspace, const larmor_array *traj, const double *fov,
                                lmr_spokes *s);
void lmr_spokes_free(lmr_spokes *s);
/* Scales each readout's samples so that the strongest of each has the same norm: what remains has no drift of the
 * signal. */
void lmr_spokes_equalise(lmr_spokes *s);
/* recon/gradients/fetch.c: samples of all coils by their index among [samples, readouts]. */
larmor_status lmr_spokes_fetch(const lmr_spokes *s, const larmor_array *kspace, const int64_t *index, int64_t total,
                               lmr_complex_samples *out);

/* recon/gradients/shift.c: how far delays move a spoke at most from where others put it, NULL for none, in cycles
 * per field of view. */
double lmr_farthest_shift(const lmr_spokes *s, const double delay[LMR_DELAYS], const double from[LMR_DELAYS]);

/* recon/gradients/echoes.c: the echoes of these readouts; delays from them, 0 if they do not determine them; and the
 * part of the echoes that are near where delays put them. */
larmor_status lmr_echoes(lmr_spokes *s, const larmor_array *kspace, const lmr_spoke *spoke, int64_t count);
int lmr_echoes_delays(const lmr_spokes *s, double delay[LMR_DELAYS]);
double lmr_echoes_agree(const lmr_spokes *s, const double delay[LMR_DELAYS]);
/* The mean distance of echoes from where delays put them, in 1/FOV; 0 without echoes. A factor of a readout's signal
 * does not move its echo. */
double lmr_echoes_residual(const lmr_spokes *s, const double delay[LMR_DELAYS]);

/* recon/gradients/intersections.c: delays from where spokes intersect, 0 if too few do; and the part of the
 * intersections that are near where these delays put them. */
larmor_status lmr_intersections(const lmr_spokes *s, double delay[LMR_DELAYS]);
larmor_status lmr_intersections_agree(const lmr_spokes *s, const double delay[LMR_DELAYS], double *part);

/* recon/gradients/delay_lines.c: the delay along parallel readouts in two directions. are_lines: 0 for others;
 * then nothing is found. LARMOR_ERR_UNSUPPORTED where lines do not show delays. */
larmor_status lmr_delays_of_lines(const larmor_array *kspace, const larmor_array *traj, const double *fov,
                                  larmor_delays *found, int *are_lines);
