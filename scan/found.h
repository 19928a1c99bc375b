/* What an image found, for the images that follow. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nlinv.h"
#include "larmor/pipeline.h"

/* What an image is solved by. */
typedef enum lmr_method_kind {
    LMR_METHOD_GRID,
    LMR_METHOD_CG,
    LMR_METHOD_REGULARISED,
    LMR_METHOD_NLINV
} lmr_method_kind;

typedef struct lmr_method {
    lmr_method_kind kind;
    char name[96];  /* as larmor_recon_opts has it */
    unsigned takes; /* of a penalty, as in larmor_regulariser_info */
} lmr_method;

enum { LMR_CONTRASTS = 16 }; /* that have weights of their own; those beyond share that of their slice */

/* A weight that was chosen, for the images of the scan that follow. */
typedef struct lmr_weight {
    double weight, noise; /* as in larmor_recon_report, but the noise as it was measured first */
    double unit;          /* the weight that is expected from the noise; the weight of a later image scales with it */
    double data;          /* samples of all coils that it was chosen from */
    double scale;         /* that samples were multiplied by then */
    double of_lines;      /* larmor_noise_of_lines of that image; 0: there is none, or it is the noise already */
    double taken;         /* the part of the noise that such an image takes up (check/misfit.h); 0: not known */
    double
        largest; /* as in larmor_recon_report: of another image with as many samples it differs by its maps alone */
    larmor_choice choice;
    int encoding, slice, contrast; /* that it was chosen from; contrast -1: all share it */
    double size;                   /* root mean square of the samples that it was chosen from; 0: not compared */
    double part[LMR_CONTRASTS];    /* of the weight, that other contrasts of such slices take; 0: not known yet */
    larmor_method_choice method;   /* for all images of the scan; without a name: not chosen yet */
    double linear; /* samples of an image that is one FFT of each coil, as others of a whole grid with as many are
                    * whatever the method of the rest; 0: there is none */
} lmr_weight;

/* Compared before a weight of other images is reused. */
typedef struct lmr_weight_conditions {
    int known;   /* 1: it was asked for */
    double data; /* samples of all coils */
    double scale;
    int encoding, slice, contrast; /* contrast -1: not compared */
    double size;                   /* root mean square of the samples; 0: not compared */
} lmr_weight_conditions;

/* The angles of spokes where the file stores no trajectory, decided once for all images of a scan. */
typedef struct lmr_spoke_angles {
    int decided;    /* 1: by the fields below */
    double angle;   /* between a spoke and the next, in degrees; 0: turn / spokes */
    double turn;    /* 180 or 360 */
    char said[192]; /* what was taken, and why */
} lmr_spoke_angles;

/* What one image decides for all that follow. */
typedef struct lmr_series_state {
    lmr_weight chosen; /* by the last image that chose; weight 0: there is none */
    lmr_spoke_angles spokes;
    larmor_density density; /* by LARMOR_DENSITY_AUTO; AUTO: not decided yet */
} lmr_series_state;

/* The maps of a slice, for its other groups. */
typedef struct lmr_found_maps {
    larmor_array *array;        /* NULL: there are none */
    int encoding, slice, from;  /* from: the group that they are made from */
    int elsewhere;              /* 1: another process has them */
    larmor_coils_report report; /* of maps from the data */
    larmor_array *eigenvalues;  /* of these maps, or NULL */
} lmr_found_maps;

typedef struct lmr_found_density {
    larmor_array *weights; /* of the last group, with opts.keep_density */
    int from;              /* the group */
} lmr_found_density;

/* The image that the next one begins at and is held to, while a scan runs (live/). */
typedef struct lmr_follow {
    int on;                      /* 1: images follow each other; then by conjugate gradients */
    larmor_array *image;         /* on the grid, of samples that were multiplied by the scale; NULL: none yet */
    double largest;              /* eigenvalue of A^H A, as in larmor_recon_report; 0: not known */
    larmor_nlinv_series *series; /* of nonlinear inversion; NULL: none yet; no copy has it */
} lmr_follow;

typedef struct lmr_found {
    double scale;      /* that samples are multiplied by as they are read, a power of two; 0: not chosen yet */
    lmr_method method; /* of the image that is solved */
    lmr_series_state decided;
    lmr_weight_conditions weight_conditions; /* of the last image, if its weight depended on it */
    lmr_found_maps maps;
    lmr_found_density density;
    lmr_follow follow;
} lmr_found;

/* A reference to all that it holds, but for the series of frames. */
lmr_found lmr_found_ref(const lmr_found *found);

/* A copy whose maps and eigenvalues lie on dev, without density and the image before. */
larmor_status lmr_found_copy(const lmr_found *found, larmor_device *dev, lmr_found *copy);

/* What travels to another process: all but the arrays. */
lmr_found lmr_found_without_arrays(const lmr_found *found);

void lmr_found_free(lmr_found *found);
