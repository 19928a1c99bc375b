/* Simulated scans: the exact k-space of a phantom along a trajectory, what goes wrong in a scanner, and the file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_SIMULATE_H
#define LARMOR_SIMULATE_H

#include "larmor/ghost.h"
#include "larmor/io.h"
#include "larmor/multiband.h"
#include "larmor/phantom.h"
#include "larmor/recon.h"

LARMOR_C_BEGIN

typedef struct larmor_simulation larmor_simulation; /* calls from several threads take turns */

/* Lines of an echo-planar scan: those of trajectory "cartesian" in 2D, in the order of their shots. A shot's lines
 * alternate between forward, along which k grows, and backward. Its navigators are before them, forward first,
 * flagged for phase correction. Zero means default. */
typedef struct larmor_simulation_epi {
    int64_t shots;      /* interleaved: each has every shots-th of the lines; default 1 */
    int64_t navigators; /* of a shot, lines through ky = 0; default 3, below 0 none */
    /* The gradient under which lines are sampled, which the header then describes; flat_us 0: samples are equally
     * far apart. Of it up_us, flat_us, down_us and delay_us count; delay_us 0: the samples are in its middle.
     * dwell_us and samples are those of the scan, by default 1.5 samples for each voxel along x. */
    larmor_ramp ramp;
    larmor_ghost ghost; /* between lines of both directions */
    double phase_step;  /* rad, by which the phase of it grows from shot to shot, over all images */
} larmor_simulation_epi;

/* What a file has beside readouts: an ECG at 400 Hz with R waves where cycles of the heart begin, and the signal of a
 * belt at 50 Hz, which is highest where the breath's shift is; both with noise. */
typedef enum larmor_phantom_waveforms {
    LARMOR_WAVEFORMS_NONE,
    LARMOR_WAVEFORMS_TRIGGERS, /* the ECG has a channel with a trigger at each R wave */
    LARMOR_WAVEFORMS_SIGNALS   /* it has not */
} larmor_phantom_waveforms;

/* The signal of the phantom "tissues", in the place of its densities. */
typedef enum larmor_phantom_signal {
    LARMOR_SIGNAL_DENSITY,
    /* (W + F c(t)) exp(-R2* t) at the time t of each sample after the excitation, c as larmor_fat_signal has it. */
    LARMOR_SIGNAL_WATER_FAT,
    /* By larmor_epg_fisp, repetition n after pulse n of 10 + 50 |sin(pi n / 120)| degrees, TR 12 ms, TE 3 ms, 20 ms
     * after an inversion. */
    LARMOR_SIGNAL_FISP
} larmor_phantom_signal;

/* Zero means default. The field of view is 256 mm along x, with square voxels; 2D slices are 5 mm thick and 6 mm
 * apart. */
typedef struct larmor_simulation_opts {
    const char *trajectory; /* one of larmor_traj_entry; default "golden" */
    larmor_traj_opts traj;  /* of the first repetition; of matrix, x is 128 by default */
    int same_angles;        /* 1: every repetition has the angles of the first; else they continue */
    const char *units;      /* of the stored trajectory, one of larmor_traj_unit_entry; default "1/fov" */
    const char *phantom;    /* one of larmor_phantom_entry; default "shepp-logan" */
    double object_size;     /* size of larmor_phantom_state */
    int coils;              /* as in larmor_phantom_kspace: 0 is a single one without any profile */
    const unsigned char *dead, *noiseless; /* [coils] 1: without signal, without noise; NULL: none is */
    double noise;                          /* standard deviation, see larmor_phantom_noise */
    double snr;                            /* the noise by larmor_phantom_noise_level instead */
    uint64_t seed;                         /* of the noise */
    int64_t noise_samples;                 /* of a noise scan before the readouts, up to 65535; it needs noise */
    double dwell_us, noise_dwell_us;       /* time per sample; default 4 and 20 */
    double tr_ms;                          /* from a readout to the next: they get stamps; 0: none */
    int64_t slices;                        /* of a 2D scan; slice s has density 1 - s / (2 slices) */
    int64_t repetitions;                   /* of the series, in which the object may change: */
    double drift_mm[3], rotation_deg;      /* shift, and rotation about z, from the first to the last */
    double breathing_mm;                   /* shift along y at the end of a breath in */
    double breathing_period;               /* repetitions of a breath; default 8 */
    double contrast;                       /* of larmor_phantom_course */
    /* By the time of each readout, which tr_ms tells; the breath's size is in mm. Not beside a field, a phase of the
     * image, epi or several slices. */
    larmor_phantom_cycle breath, heart;
    larmor_phantom_waveforms waveforms; /* of breath and heart, in the file */
    /* Of the phantom "tissues", in one slice, without phase, epi, bands, motion, breath, heart and what displaces. */
    larmor_phantom_signal signal;
    double r2star; /* of water and fat, in 1/s */
    /* The object decays, by exp(-t / T2*) with the t of field: 1 T2*, or LARMOR_TISSUES of the phantom "tissues",
     * each of which decays by its own; 0: it does not. Not beside signal, epi and bands, several not beside
     * contrast. */
    int t2stars;
    const double *t2star_ms; /* [t2stars] */
    const larmor_phantom_field
        *field; /* off-resonance; NULL: none. t = 0 is in the centre of k-space, but for the next: */
    const double
        *readout_start_ms; /* when the first sample is taken, after the echo, as the header states; may be NULL */
    int echoes;            /* contrasts, at most LARMOR_MAX_ECHOES; 0: one without an echo time */
    const double *echo_ms; /* [echoes] */
    const larmor_phantom_phase *phase; /* of the image, not beside a field; NULL: none */
    const larmor_simulation_epi
        *epi;        /* echo-planar lines; NULL: others. Not beside a field or separate_calibration */
    double tesla;    /* of the magnet, as the header states; default 3 */
    int concomitant; /* 1: with concomitant fields; of one slice, without phase, epi, breath and heart */
    const larmor_array *phase_terms; /* as larmor_recon_opts.phase_terms, under the same conditions; or NULL */
    int phase_rows; /* 1: the trajectory is stored with phase_terms as rows, as of larmor_acquisitions */
    /* The object moves, as in larmor_motion_rows for the readouts of an image, alike in all images; the coils stay.
     * Off-resonance moves with it; concomitant fields and phase_terms stay. Beside one of those there are 64 poses at
     * most. Not beside phase, epi, breath, heart, bands and what displaces. NULL: it rests. */
    const larmor_array *motion;
    /* As larmor_recon_opts.gradient_field and displacement, under the same conditions; the latter [matrix..., as many
     * as dimensions]. Either, or NULL. */
    const larmor_array *gradient_field, *displacement;
    const larmor_array *motion_fields; /* the object moves by this, [matrix..., as many, repetitions]; or NULL */
    double position_mm[3];             /* of the centre, beside that of oblique, from the isocentre */
    /* Slices that are excited together, planes of the phantom in 3D, 1 to LARMOR_MOST_BANDS of a 2D scan; 0: none.
     * Their places are about that of the slice. Of one slice without field, phase, epi, breath, heart, concomitant
     * fields and phase_terms. snr is that of an image of the middle one alone. */
    int bands;
    double band_mm;           /* from one to the next; default 40 */
    int band_shifts;          /* N: band s of readout j has the phase 2 pi s j / N; default: the number of bands */
    double delay[6];          /* of the gradients, as in larmor_traj_delay; the stored trajectory is nominal */
    int separate_calibration; /* 1: calibration lines are acquired on their own before the others (flag 20); else
                               * embedded */
    int oblique;              /* 1: the volume is rotated and shifted, as in an oblique scan */
    larmor_monitor monitor;   /* called after each image's readouts, iter of max_iter; or NULL */
    void *user;
} larmor_simulation_opts;

/* Prepare a scan. opts and what it points at are copied.
 *
 * Errors  those of larmor_traj_create, larmor_phantom_create and larmor_phantom_noise_level; LARMOR_ERR_ARG for
 *         values out of range and for what does not go together. */
LARMOR_API larmor_status larmor_simulation_create(larmor_device *dev, const larmor_simulation_opts *opts,
                                                  larmor_simulation **simulation);
LARMOR_API void larmor_simulation_free(larmor_simulation *simulation); /* NULL is fine */

typedef struct larmor_simulation_info {
    const char *trajectory, *phantom; /* their names */
    int ndim, coils, contrasts;       /* coils: at least 1 */
    int64_t matrix[3];                /* of the image, 1 in dimensions that it has not */
    int64_t samples, readouts;        /* of an image, one of slices x repetitions x contrasts */
    int64_t slices, repetitions;
    int is_cartesian;
    double noise; /* standard deviation of the real and of the imaginary part of a sample */
} larmor_simulation_info;

/* What it is; all zero of NULL. */
LARMOR_API larmor_simulation_info larmor_simulation_describe(const larmor_simulation *simulation);

/* The readouts of one image: c64 [samples, readouts, coils] with their noise, and the nominal trajectory f64 [nd,
 * samples, readouts]. They are those of the file, where calibration is embedded.
 *
 * Errors  LARMOR_ERR_ARG for an image that is not there; LARMOR_ERR_MEMORY; LARMOR_STOPPED. */
LARMOR_API larmor_status larmor_simulation_samples(larmor_simulation *simulation, int slice, int repetition,
                                                   int contrast, larmor_array **kspace, larmor_array **traj);

/* The whole scan into a new ISMRMRD file, which is put in place: the noise scan, then the slices of each contrast
 * of each repetition. A Cartesian one stores counters instead of a trajectory.
 *
 * Errors  those of larmor_raw_create; LARMOR_STOPPED by the monitor or larmor_stop_when. */
LARMOR_API larmor_status larmor_simulation_save(larmor_simulation *simulation, larmor_output *out);

enum { LARMOR_MOST_TRUTHS = 5 };
typedef struct larmor_truth { /* free with larmor_truth_free */
    int count;
    const char *name[LARMOR_MOST_TRUTHS]; /* as larmor_fit names its maps, and "tissue" */
    larmor_image map[LARMOR_MOST_TRUTHS];
} larmor_truth;

/* The maps that a fit of the scan's images should find, of the phantom "tissues", f32: water, fat, FF and R2star of
 * water and fat, else T1, T2 in ms and M0; and the number of the tissue from 1 on in voxels that it fills alone, with
 * those beside them, else 0.
 *
 * Errors  LARMOR_ERR_ARG for other phantoms; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_simulation_truth(const larmor_simulation *simulation, larmor_truth *truth);
LARMOR_API void larmor_truth_free(larmor_truth *truth); /* NULL is fine; also sets all to zero */

typedef struct larmor_expected { /* free with larmor_expected_free */
    larmor_image *image;         /* [count] of each slice all repetitions, as larmor_recon_run has them */
    int count;
} larmor_expected;

/* The images to expect, those of larmor_phantom_bandlimited_phase. Images that are alike are one array. */
LARMOR_API larmor_status larmor_simulation_expect(const larmor_simulation *simulation, larmor_expected *expected);
/* The images to expect of bins of heart and breath, of one slice and one repetition of an object that has them, in
 * the order of larmor_source_of_bins: the mean of the object over some readouts of each bin, which is by the true
 * phase of the heart from where it is largest, and by the order of the true shift of the breath. Bins without
 * readouts have no image.
 *
 * heart, breath  how many; 0: none of it. Errors: LARMOR_ERR_ARG; LARMOR_ERR_MEMORY; LARMOR_STOPPED. */
LARMOR_API larmor_status larmor_simulation_states(const larmor_simulation *simulation, int heart, int breath,
                                                  larmor_expected *expected);
LARMOR_API void larmor_expected_free(larmor_expected *expected); /* NULL is fine; also sets all to zero */

/* The coils' sensitivities, zero for dead ones, and where they are.
 *
 * maps_matrix  of the maps, as large as the image's voxels, so that more of them reach beyond the field of view;
 *              0: the image's.
 * maps         c64 [image..., coils]. Errors: LARMOR_ERR_ARG without coils and for a matrix below 0. */
LARMOR_API larmor_status larmor_simulation_maps(const larmor_simulation *simulation, const int64_t maps_matrix[3],
                                                larmor_array **maps, larmor_image_meta *meta);

/* The off-resonance in Hz, f32, and where it is; zero without a field. */
LARMOR_API larmor_status larmor_simulation_field(const larmor_simulation *simulation, larmor_array **hz,
                                                 larmor_image_meta *meta);

/* T2* in ms, f32, and where it is: in voxels of several tissues by the mean of 1 / T2* over the density, beyond the
 * object that of the outermost tissue. Errors: LARMOR_ERR_ARG without opts.t2star_ms; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_simulation_t2star(const larmor_simulation *simulation, larmor_array **ms,
                                                  larmor_image_meta *meta);

LARMOR_C_END
#endif
