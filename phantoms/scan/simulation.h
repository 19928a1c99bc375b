/* Inside of a simulated scan. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_SIMULATION_H
#define LMR_SIMULATION_H

#include "core/array.h"
#include "core/gate.h"
#include "larmor/simulate.h"

enum { LMR_SIMULATION_COILS = 1024 };
#define LMR_NOISE_BANDWIDTH 0.793 /* of the receiver, relative, as ISMRMRD's headers state it */

struct larmor_simulation {
    larmor_simulation_opts o; /* with all defaults; what it points at is here: */
    larmor_simulation_info info;
    unsigned char dead[LMR_SIMULATION_COILS], noiseless[LMR_SIMULATION_COILS];
    double echo_ms[LARMOR_MAX_ECHOES], readout_start_ms;
    larmor_phantom_field field;
    larmor_phantom_phase phase;
    larmor_device *dev;
    larmor_phantom *phantom; /* in the beginning */
    larmor_encoding encoding;
    larmor_image_meta geometry; /* of slice 0 */
    int64_t centre;             /* the sample that is nearest to the centre of k-space */
    int is_delayed;
    /* of the repetition and contrast that were asked for last, those below 0 of none */
    int repetition, contrast;
    larmor_array *traj, *exact;
    lmr_gate gate; /* around them */
};

/* 1 if the object is not the same in every repetition. */
int lmr_simulation_moves(const larmor_simulation *s);

/* The object in a repetition. */
larmor_status lmr_simulation_object(const larmor_simulation *s, int repetition, larmor_phantom **object);

/* Geometry and counters of an image, and the density of its slice. */
larmor_image_meta lmr_simulation_meta(const larmor_simulation *s, int slice, int repetition);
double lmr_simulation_density(const larmor_simulation *s, int slice);

/* Coils, the last dimension of x, become zero where they are listed. */
larmor_status lmr_simulation_silence(const larmor_simulation *s, const unsigned char *listed, larmor_array *x);

/* As larmor_simulation_samples, for calibration lines that are acquired on their own with noise of their own, and with a view
 * of the trajectory that lasts until the next call. */
larmor_status lmr_simulation_samples(larmor_simulation *s, int slice, int repetition, int contrast, int calibration,
                                     larmor_array **kspace, const larmor_array **traj);

#endif
