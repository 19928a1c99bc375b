/* Inside of a simulated scan. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "core/gate.h"
#include "core/owned.h"
#include "larmor/simulate.h"

LMR_OWNS(larmor_phantom, larmor_phantom_free)

enum { LMR_SIMULATION_COILS = 1024 };
#define LMR_NOISE_BANDWIDTH 0.793 /* of the receiver, relative, as ISMRMRD's headers state it */

struct larmor_simulation {
    larmor_simulation_opts o; /* with all defaults; what it points at is here: */
    larmor_simulation_info info;
    unsigned char dead[LMR_SIMULATION_COILS], noiseless[LMR_SIMULATION_COILS];
    double echo_ms[LARMOR_MAX_ECHOES], readout_start_ms, t2star_ms[LARMOR_TISSUES];
    larmor_phantom_field field;
    larmor_phantom_phase phase;
    larmor_device *dev;
    larmor_phantom *phantom; /* in the beginning */
    double *fisp;            /* [repetitions, LARMOR_TISSUES] signals, or NULL */
    larmor_encoding encoding;
    larmor_image_meta geometry; /* of slice 0 */
    int64_t centre;             /* the sample that is nearest to the centre of k-space */
    int is_delayed;
    int is_epi;
    larmor_simulation_epi epi; /* with all defaults */
    int64_t *shot;             /* of each readout of an echo-planar scan, in the order of time; else NULL */
    unsigned char *backward;   /* of each of those readouts, else NULL: 1 if it goes from high to low k */
    /* of the repetition and contrast that were asked for last, those below 0 of none */
    int repetition, contrast;
    larmor_array *traj, *exact;
    lmr_gate gate; /* around them */
};

/* 1 if the object is not the same in every repetition. */
int lmr_simulation_moves(const larmor_simulation *s);

/* The object in a repetition. */
larmor_status lmr_simulation_object(const larmor_simulation *s, int repetition, larmor_phantom **object);
/* The same of another one in the beginning. */
larmor_status lmr_simulation_object_in(const larmor_simulation *s, const larmor_phantom *beginning, int repetition,
                                       larmor_phantom **object);

/* 1 if the object is not the same in every readout; and exact k-space of a repetition along such readouts. */
int lmr_simulation_beats(const larmor_simulation *s);
larmor_status lmr_simulation_beating(const larmor_simulation *s, const larmor_phantom *object,
                                     const larmor_array *traj, int repetition, larmor_array **kspace);

/* Exact k-space of an object that moves by o.motion. */
larmor_status lmr_simulation_moving(const larmor_simulation *s, const larmor_phantom *object,
                                    const larmor_array *traj, larmor_array **kspace);

/* Readouts that see the object in one pose. */
typedef struct lmr_seen_state {
    const double *pose;       /* [6] */
    const int64_t *readout;   /* which of the scan's they are */
    const larmor_array *traj; /* theirs, as the object sees it */
} lmr_seen_state;

/* 1 if samples see concomitant fields, or phases of a field camera; and such samples. seconds [samples]; state NULL:
 * the object rests. traj is the scanner's, of these readouts. */
int lmr_simulation_sees_more(const larmor_simulation *s);
larmor_status lmr_simulation_seen(const larmor_simulation *s, const larmor_phantom *object, const larmor_array *traj,
                                  int repetition, const double *seconds, const lmr_seen_state *state,
                                  larmor_array **kspace);

/* The same of an object that moves by o.motion: off-resonance moves with it, what gradients make stays. */
larmor_status lmr_simulation_moving_seen(const larmor_simulation *s, const larmor_phantom *object,
                                         const larmor_array *traj, const double *seconds, larmor_array **kspace);

/* Slices that are excited together, opts.bands: their places along the slice direction, the object in one of them,
 * samples, and what to expect. */
static inline double lmr_simulation_band_mm(const larmor_simulation *s, int band)
{
    return s->o.band_mm * (band - 0.5 * (s->o.bands - 1));
}

larmor_status lmr_simulation_bands(const larmor_simulation *s, const larmor_phantom *object, const larmor_array *traj,
                                   larmor_array **kspace);
larmor_image_meta lmr_simulation_bands_meta(const larmor_simulation *s, int repetition);
larmor_status lmr_simulation_bands_image(const larmor_simulation *s, const larmor_phantom *object,
                                         larmor_array **image);
larmor_status lmr_simulation_bands_maps(const larmor_simulation *s, larmor_array **maps);

/* Geometry and counters of an image, and the density of its slice. */
larmor_image_meta lmr_simulation_meta(const larmor_simulation *s, int slice, int repetition);
double lmr_simulation_density(const larmor_simulation *s, int slice);

/* Coils, the last dimension of x, become zero where they are listed. */
larmor_status lmr_simulation_silence(const larmor_simulation *s, const unsigned char *listed, larmor_array *x);

/* As larmor_simulation_samples, for calibration lines that are acquired on their own with noise of their own, and
 * with a view of the trajectory that lasts until the next call. */
larmor_status lmr_simulation_samples(larmor_simulation *s, int slice, int repetition, int contrast, int calibration,
                                     larmor_array **kspace, const larmor_array **traj);

/* ---- echo-planar scans ---- */

int lmr_epi_has_ramps(const larmor_simulation *s);

/* Samples of a line: those that are asked for, or more than voxels where a gradient has ramps; 0: the trajectory's
 * default. */
int64_t lmr_epi_samples(const larmor_simulation_opts *o);

/* The lines of the trajectory become those of the shots, in the order of time and in both directions. */
larmor_status lmr_epi_arrange(larmor_simulation *s);

/* The lines of one shot's navigators, the first of them forward. */
larmor_status lmr_epi_navigator_lines(const larmor_simulation *s, larmor_array **traj);

/* Where lines are really sampled. */
larmor_status lmr_epi_shift(const larmor_simulation *s, const unsigned char *backward, const larmor_array *traj,
                            larmor_array **shifted);

/* Readouts [samples, readouts, coils] get the phase of their direction. */
larmor_status lmr_epi_turn(const larmor_simulation *s, int64_t image, const int64_t *shot,
                           const unsigned char *backward, larmor_array *kspace);

/* The navigators of a shot [samples, navigators, coils] with noise of their own, and their lines. */
larmor_status lmr_simulation_navigators(larmor_simulation *s, int slice, int repetition, int contrast, int64_t shot,
                                        larmor_array **kspace, larmor_array **traj);

/* waves.c: the waveforms of breath and heart that the file describes; how many. And append them to it. */
int lmr_simulation_waveforms(const larmor_simulation *s, larmor_waveform_info info[2]);
larmor_status lmr_simulation_append_waves(const larmor_simulation *s, larmor_raw_writer *writer);

/* signals.c: what the tissues' signals need, and the object in a repetition; a scan of water and fat. */
larmor_status lmr_signals_prepare(larmor_simulation *s, int sees_more);
larmor_status lmr_signals_object(const larmor_simulation *s, int repetition, larmor_phantom **object);
larmor_status lmr_signals_water_fat(const larmor_simulation *s, const larmor_array *traj, const double *seconds,
                                    larmor_array **kspace);

/* decay.c: whether the options make sense; and samples of an object that decays, each part of which is seen by `see`.
 * seconds [samples]. */
typedef larmor_status lmr_see(const larmor_simulation *s, const larmor_phantom *object, const larmor_array *traj,
                              int repetition, int contrast, larmor_array **kspace);
larmor_status lmr_decay_check(const larmor_simulation_opts *opts);
larmor_status lmr_simulation_decaying(const larmor_simulation *s, const larmor_array *traj, const double *seconds,
                                      int repetition, int contrast, lmr_see *see, larmor_array **kspace);

/* beating.c: the object as it is at a time. */
larmor_status lmr_simulation_object_at(const larmor_simulation *s, const larmor_phantom *object, double seconds,
                                       larmor_phantom **now);
