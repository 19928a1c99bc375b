/* A job: the options and inputs of a reconstruction, and values that follow from them. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LMR_PIPELINE_JOB_H
#define LMR_PIPELINE_JOB_H

#include "larmor/compress.h"
#include "pipeline/events.h"
#include "pipeline/source.h"

typedef enum lmr_method { LMR_METHOD_GRID, LMR_METHOD_CG, LMR_METHOD_REGULARISED } lmr_method;

/* A weight that was chosen, for the images of the scan that follow. */
typedef struct lmr_weight {
    double weight, noise; /* as in larmor_recon_report, but the noise as it was measured first */
    double unit;          /* the weight that is expected from the noise; the weight of a later image scales with it */
    double data;          /* samples of all coils that it was chosen from */
    double scale;         /* the job's then */
    double taken;         /* the part of the noise that such an image takes up (pipeline/misfit.h); 0: not known */
    double
        largest; /* as in larmor_recon_report: of another image with as many samples it differs by its maps alone */
    larmor_choice choice;
    int encoding;
    larmor_method_choice method; /* for all images of the scan; without a name: not chosen yet */
} lmr_weight;

/* What says whether a weight of other images holds for these. */
typedef struct lmr_likeness {
    int known;   /* 1: it was asked for */
    double data; /* samples of all coils */
    double scale;
    int encoding;
} lmr_likeness;

/* The angles of spokes where the file stores no trajectory, decided once for all images of a scan. */
typedef struct lmr_spoke_angles {
    int decided;    /* 1: by the fields below */
    double angle;   /* between a spoke and the next, in degrees; 0: turn / spokes */
    double turn;    /* 180 or 360 */
    char said[192]; /* what was taken, and why */
} lmr_spoke_angles;

/* The options and inputs of all images. Members with names of larmor_recon_opts are those options. */
typedef struct lmr_job {
    int automatic; /* 1: the first image chooses the method; until then method is that of conjugate gradients */
    larmor_method_from method_from; /* why it is the method, where no image chooses it */
    lmr_method method;
    const char *regulariser; /* the method's name, of LMR_METHOD_REGULARISED one of larmor_regulariser_create */
    unsigned takes;          /* its options, as in larmor_regulariser_info */
    int joint;
    larmor_density density;
    int weighted, no_maps, iters;
    larmor_image_scale scale_of_images;
    larmor_plan_effort effort;
    double tol, eps;
    int no_choice; /* 1: there is no memory to choose lambda */
    larmor_lambda choose;
    double lambda, time_weight;
    int64_t llr_block, calibration;
    larmor_array *basis; /* [frames, coefficients] on the device, or NULL */
    int basis_frames, basis_is_complex;
    double basis_scale; /* the mean of its columns' energies */
    double basis_skew;  /* how far its Gram matrix is from that times 1, relative to it */
    larmor_partial_fourier partial_fourier;
    int64_t block; /* coils at a time, 0 for all */
    int toeplitz, precondition;
    lmr_events *events;
    struct lmr_kept *checkpoint; /* of pipeline/checkpoint.h, or NULL */

    larmor_ranks *slabs; /* those that have a slab of the volume each (pipeline/slabs.h), or NULL */

    struct lmr_share *share; /* of pipeline/share.h: what images have in common; NULL: nothing is kept */
    struct lmr_ready *ready; /* the operator of the last image, or NULL; copies of the job have it, too */

    int keep_samples;          /* 1: memory is not limited, so that samples may stay that are looked at */
    struct lmr_reread *reread; /* of pipeline/reread.h: samples that are read again, or NULL */

    larmor_source *source;
    larmor_raw_info info; /* of the source */
    larmor_device *dev;
    double scale; /* that samples are multiplied by as they come from the source, a power of two; 0: not chosen yet */
    larmor_array *whitening; /* [coils, coils], of noise times scale, which then stays; or NULL */
    double
        noise_unit; /* with whitening: the unit of whitened samples in that of scaled ones, for images of one unit */
    larmor_array *compression; /* [coils, info.coils(, voxels along the readouts)], or NULL */
    larmor_compression_report compressed;
    int coils;                /* virtual ones, or info.coils: of samples and maps from here on */
    larmor_array *given;      /* the caller's maps, not whitened yet, or NULL; maps_method finds those beyond them */
    larmor_shape given_image; /* its voxels */
    larmor_grid *grid;        /* of every group of the scan; alike for all of an encoding */
    larmor_array *girf;       /* the gradients' impulse response, as in larmor_girf, or NULL */
    double girf_spacing_hz;
    larmor_delays *delays; /* of the gradients in each encoding, or NULL */
    int whole_readouts; /* 1: readouts keep their oversampling and the order of time, as the search for delays needs */
    int sets;           /* of maps, more than 1 (soft SENSE); 0 for maps without that dimension */
    const struct lmr_maps_method *maps_method; /* of pipeline/maps.h, for maps from the data, or NULL */
    larmor_crop_mode crop;
    larmor_normalise_mode normalise;
    int keep_eigenvalues;
    struct lmr_field *field; /* of pipeline/off_resonance.h, or NULL */

    /* made by the first group of a slice and kept for its other groups */
    larmor_array *maps;
    int maps_encoding, maps_slice, maps_from; /* maps_from: the group */
    int maps_elsewhere;                       /* 1: another process has them; maps is NULL */
    larmor_coils_report maps_report;          /* of maps from the data */
    larmor_array *eigenvalues;                /* of these maps, or NULL */
    lmr_weight chosen;                        /* by the last image that chose; weight 0: there is none */
    lmr_likeness likeness;                    /* of the last image, if its weight depended on it */
    lmr_spoke_angles spokes;
    larmor_density density_taken; /* by LARMOR_DENSITY_AUTO for the whole scan; AUTO: not decided yet */
    int keep_weights;             /* 1: the density weights of the last group stay in `weights` */
    larmor_array *weights;
    int weights_from; /* the group */
} lmr_job;

/* How samples lie on the grid. */
typedef struct lmr_cartesian {
    int on_grid;             /* 1: all of them, exactly; then: */
    int64_t repeats;         /* the most at one place */
    int box;                 /* 1: every place from low to high is sampled equally often */
    int64_t low[3], high[3]; /* the outermost places */
    double deviation; /* of the noise, whitened or not, over that of the samples as they were acquired: below 1 where
                       * oversampling was removed: */
    int shifted;      /* 1: its lines were shifted by the delays, and coordinates stay */
    larmor_sample_faults faults; /* of the samples as they were acquired */
    double level; /* of the noise in the samples, before whitening and the job's scale, as measured with it; 0: not */
} lmr_cartesian;

/* The inputs of one image, which belong to their maker. */
typedef struct lmr_frame {
    larmor_group group;
    larmor_encoding encoding;
    larmor_grid grid;
    larmor_samples samples; /* whitened, with their trajectory */
    larmor_array *weights;  /* density, or NULL */
    larmor_array *phase;    /* [image...], of the job's precision: known before the image; or NULL */
    int has_phase;          /* 1: the solution is an image without that phase, nearly real: */
    double off_phase;       /* its imaginary part relative to all of it */
    lmr_cartesian cartesian;
    larmor_segments *segments; /* of off-resonance, or NULL */
    struct lmr_common *common; /* with others of its trajectory and weights; NULL: nothing, as with a phase */
} lmr_frame;

/* A view of x[..., index], without the last dimension. */
larmor_status lmr_one_of(larmor_array *x, int64_t index, larmor_array **one);

/* How many images a series of so many frames is solved for, and how many it gives. */
int lmr_unknowns(const lmr_job *job, int frames);
int lmr_outputs(const lmr_job *job, int frames);

/* 1 if the job reconstructs both groups in one series. */
int lmr_joint(const lmr_job *job, const larmor_group *a, const larmor_group *b);

/* Multiply samples by the job's scale. Where that is not chosen yet it is chosen from them: values whose squares single
 * precision does not hold are brought near 1. */
larmor_status lmr_scale_samples(lmr_job *job, larmor_array *samples);

/* What an image of scaled samples is to be multiplied by, and the report's numbers in the samples' own unit. */
double lmr_unscaled_image(const lmr_job *job);
void lmr_unscale_report(const lmr_job *job, larmor_recon_report *report);

/* The image's meta from its group: its geometry on the image's own field of view. first: the first group of the series,
 * whose coefficient number i it may be. */
larmor_status lmr_describe_image(const lmr_job *job, int first, int i, larmor_recon_image *image);

/* 1 if so many devices, or ranks, can work on one series: SENSE of coils that they share (larmor_op_sense). */
int lmr_shares_coils(const lmr_job *job, int devices);

/* 1 if the members of the job's device, a group, take whole series of so many. */
int lmr_spreads_series(const lmr_job *job, int series);

/* The group whose data gave the maps; -1: there are none. */
int lmr_maps_group(const lmr_job *job);

/* Free all that the job holds but its field, samples that are read again and what its images have in common, which are
 * others' to free. */
void lmr_job_clear(lmr_job *job);

/* The sides of a voxel, in mm; returns 0, and 1 for each of them, where they differ so much that they are not believed. */
int lmr_voxel_sides(const larmor_grid *grid, double side[3]);

/* The regulariser's options for so many frames at once, whose images have this grid. */
larmor_regulariser_opts lmr_regulariser_opts(const lmr_job *job, int frames, const larmor_grid *grid);

/* About how many normal maps the method needs; those of a penalty have inner steps, too. */
int64_t lmr_normals(const lmr_job *job);

/* 1 if lambda is to be found from the data. */
int lmr_chooses(const lmr_job *job);

/* 1 if the weight was chosen from data, those of this image or of an earlier one. */
int lmr_from_data(const larmor_recon_report *report);

/* The shape of an image on this grid. */
larmor_shape lmr_grid_shape(const larmor_grid *grid);

/* Single precision carries the NUFFT down to 1e-6; below that everything is done in double. */
larmor_dtype lmr_job_precision(const lmr_job *job);

#endif
