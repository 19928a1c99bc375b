/* A group of readouts becomes an image: the numerical part of `larmor recon`, on the public API alone.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_RECON_GROUP_H
#define APP_RECON_GROUP_H

#include "larmor/larmor.h"

typedef enum recon_method { RECON_GRID, RECON_CG, RECON_REGULARISED } recon_method;
typedef enum recon_density { DENSITY_AUTO, DENSITY_RAMP, DENSITY_PIPE, DENSITY_FILE, DENSITY_NONE } recon_density;

typedef enum recon_choose { CHOOSE_AUTO, CHOOSE_FIXED, CHOOSE_NOISE } recon_choose;

/* Where a weight comes from. */
typedef enum recon_origin {
    ORIGIN_USER,  /* --lambda */
    ORIGIN_DATA,  /* chosen from the image's own data */
    ORIGIN_SCAN,  /* chosen from those of an earlier image of the scan */
    ORIGIN_NOISE, /* expected from the level of the noise, where there is no memory for more */
} recon_origin;

/* A weight that was chosen, for the images of the scan that follow. */
typedef struct recon_weight {
    double weight, noise; /* as in recon_result */
    double unit;          /* what the noise makes of the weight: it is proportional to that */
    double data;          /* samples of all coils that it was chosen from */
    larmor_choice choice;
    int encoding;
} recon_weight;

typedef struct recon_job {
    recon_method method;
    const char *regulariser; /* of RECON_REGULARISED */
    int joint;               /* the repetitions, phases and contrasts of a slice are one series */
    recon_density density;
    int weighted; /* CG with density weights */
    int no_maps;  /* root sum of squares instead of maps */
    int iters;
    larmor_plan_effort effort; /* of the NUFFT's planner */
    double tol, eps;           /* tol negative: at rounding */
    int no_choice;             /* 1: there is no memory to choose lambda */
    recon_choose choose;       /* lambda from the data, as given, or as given in units of the noise */
    double lambda;             /* relative, see larmor_regularised; of CG to the largest eigenvalue of A^H A */
    double time_weight;        /* of tv, see larmor_regulariser_opts */
    int64_t llr_block;         /* side of llr's blocks, 0 for the default */
    int64_t calibration;       /* side of the centre for coil maps, 0 for the default */
    int64_t block;             /* coils at a time, 0 for all */
    int toeplitz;              /* as in larmor_sense_opts */
    int precondition;          /* iterate with a circulant preconditioner: 1 yes, -1 no, 0 if it fits */
    larmor_monitor monitor;
    int (*stage)(void *user, const char *name); /* is told what begins; not 0: stop. May be NULL */
    void *user;

    larmor_raw *raw;
    larmor_device *dev;
    larmor_array *whitening; /* [coils, coils], or NULL */
    larmor_array *given;     /* maps from a file, not whitened yet, or NULL */
    larmor_grid *grid;       /* of every group of the scan; alike for all of an encoding */
    int sets;                /* of those, more than 1 (soft SENSE); 0 for maps without that dimension */

    /* made by the first group of a slice and kept for its other groups */
    larmor_array *maps;
    int maps_encoding, maps_slice;
    larmor_coils_report maps_report; /* of maps from the data */
    recon_weight chosen;             /* by the last image that chose; weight 0: there is none */
    int keep_weights;                /* 1: the density weights of the last group stay in `weights` */
    larmor_array *weights;
} recon_job;

typedef struct recon_result {
    larmor_report report;
    double lambda, weight; /* of the penalty: relative and absolute */
    double noise;         /* deviation of the real and the imaginary part of a sample: 1 if whitened, else measured */
    recon_origin origin;  /* of the weight */
    larmor_choice choice; /* how the weight was found, if it was chosen, or was by an earlier image */
    double largest;       /* eigenvalue of A^H A; 0 if it was not needed */
    int64_t outside;      /* samples beyond the grid's k-space */
    int interrupted;      /* 1: stopped by the monitor, the image is the iterate reached */
    int toeplitz;         /* 1: the normal map was Toeplitz */
    double seconds;       /* for this image, or for the series that it is part of, from its samples on */
    int made_traj;        /* 1: the trajectory was made from the counters */
    int doubtful;         /* 1: the solver failed, the image is its best iterate; larmor_last_error says how */
    int64_t grid[3];      /* that it was reconstructed on; 1 in unused dimensions */
    larmor_coils_report maps; /* zeros if maps were given, or there is one coil */
    larmor_coverage coverage; /* of the first group */
} recon_result;

/* 1 if the weight was chosen from data, those of this image or of an earlier one. */
int recon_from_data(const recon_result *result);

/* Reconstruct groups of one encoding and slice together, or a single one.
 *
 * image   [count], c64, each cropped to reconSpace and in units of the density; the caller's to free.
 * Errors  those of the library, and LARMOR_ERR_FORMAT if the trajectory is neither stored nor one that counters define. */
larmor_status recon_groups(recon_job *job, const int *index, int count, larmor_array **image, recon_result *result);

/* The whitened samples of a group, with a trajectory that was made from the counters where the file stores none: then
 * *made is 1. */
larmor_status recon_samples(const recon_job *job, int index, larmor_samples *samples, int *made);

/* A view of x[..., index], without the last dimension. */
larmor_status recon_one_of(larmor_array *x, int64_t index, larmor_array **one);

/* 1 if the job reconstructs both groups in one series. */
int recon_joint(const recon_job *job, const larmor_group *a, const larmor_group *b);

/* Give up what the job keeps between groups. */
void recon_job_clear(recon_job *job);

#endif
