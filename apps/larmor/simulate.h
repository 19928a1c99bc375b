/* A simulated scan: what larmor phantom makes from its options. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_SIMULATE_H
#define APP_SIMULATE_H

#include "scan.h"

typedef struct simulation_settings {
    scan_trajectory trajectory;
    const char *output, *truth, *maps, *field_map, *phantom, *units, *device;
    const char *calibration, *dead_coils, *noiseless_coils;
    int64_t coils, seed, slices, repetitions, noise_samples, threads;
    double noise, snr, dwell, noise_dwell, tr;
    double object_size, rotation, breathing, breathing_period, contrast, off_resonance, image_phase;
    app_list maps_matrix, drift, gradient, shim, dipole, delays, phase_cycles, echo_times;
    double readout_start;
    int oblique, same_angles, force;
} simulation_settings;

#define SIMULATION_COILS 1024
typedef struct simulation {
    const simulation_settings *s;
    unsigned char dead[SIMULATION_COILS], noiseless[SIMULATION_COILS]; /* 1: without signal, without noise */
    larmor_device *dev;
    larmor_array *traj;      /* nominal, of the current repetition */
    larmor_phantom *phantom; /* in the beginning */
    larmor_encoding encoding;
    larmor_image_meta geometry; /* of slice 0 */
    int64_t grid[3];            /* of the image, 1 in dimensions that it has not */
    int ndim, cartesian;
    int64_t samples, readouts, centre; /* centre: the sample that is nearest to the centre of k-space */
    int coils;                         /* channels in the file */
    double unit[3];                    /* stored trajectory / (1/FOV) */
    double slice_step;
    double sigma; /* of the noise */
    larmor_raw_writer *writer;
} simulation;

/* 1 if the object is not the same in every repetition. */
int simulation_moves(const simulation *m);

/* 1 if the field is not the nominal one everywhere. */
int simulation_is_off_resonant(const simulation *m);

/* Trajectory, phantom, noise and geometry; device and coils are filled in. */
larmor_status simulation_prepare(simulation *m);

/* The whole scan into a new file. LARMOR_STOPPED after a signal. */
larmor_status simulation_write_scan(simulation *m, larmor_output *out);

/* One image for each group of the scan, in the order of recon: repetitions within slices. */
larmor_status simulation_write_truth(const simulation *m, larmor_output *out);

/* Maps of the coils, zero for dead ones, and of the field in Hz. */
larmor_status simulation_write_maps(const simulation *m, larmor_output *out);
larmor_status simulation_write_field(const simulation *m, larmor_output *out);

void simulation_free(simulation *m);

#endif
