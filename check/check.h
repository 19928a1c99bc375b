/* What the sources of check offer each other and the layers that ask whether a scan is odd.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "larmor/array.h"
#include "larmor/check.h"
#include "larmor/describe.h"
#include "larmor/io.h"
#include "scan/job.h"

/* ---- the sign of the phases of slices that were excited together ---- */

/* Solve for the slices of a frame by a few steps, with their phases and with those of the other sign, and warn where
 * the other ones explain the samples better. Nothing is done where maps come from the same samples: these fit either
 * sign, as slices change their places with it. Images without such slices are left alone.
 *
 * misfit  of the image, by the phases that were taken.
 *
 * What cannot be compared is logged. Errors: LARMOR_STOPPED. */
larmor_status lmr_band_sign_check(const lmr_job *job, const lmr_frame *frame, const larmor_misfit *misfit);

/* Warns if one of slices that were excited together has all of the image x: there was one slice. */
larmor_status lmr_bands_check(const lmr_job *job, const lmr_frame *frame, const larmor_array *x);

/* ---- what changes in the centre of k-space in the course of a scan: the coils' shares and the signal's size ---- */

typedef struct lmr_coil_change {
    double change; /* of the coils' magnitudes at the centre, as a vector of length 1; 0: there is no step */
    double after;  /* part of the readouts that are before it */
    int coil;      /* that which changes most beside the others */
    double gain;   /* by this factor */
    double drift;  /* the size of all coils' signal at the end over that at the beginning; 0: it has no trend */
} lmr_coil_change;

/* Look for a step in the coils' magnitudes where readouts are nearest to the centre of k-space, relative to each
 * other: of an object that rests they are the same in all readouts, whatever its contrast as a whole, its phase or
 * the angle of the readout. An object that moves, and a coil that fails or gets another gain, change them.
 *
 * kspace  [samples, readouts, coils], complex, in the order of time.
 * traj    [nd, samples, readouts], real, in cycles per field of view.
 * found   change is 0 with fewer than two coils or ten readouts through the centre. drift is of at least ten readouts
 *         with a sample within 0.15/FOV of the centre, whose sizes follow an exponential.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_coil_change_find(const larmor_array *kspace, const larmor_array *traj, lmr_coil_change *found);

/* The same as lines. */
void lmr_describe_coil_change(const lmr_coil_change *found, char *line, size_t room);
void lmr_describe_drift(const lmr_coil_change *found, char *line, size_t room);
/* larmor_compare_coil_steps, which is not clear where lines say that the object has moved: it has moved in the coils
 * as well. */
larmor_status lmr_coil_step_find(const larmor_array *kspace, const larmor_array *traj,
                                 const larmor_description *lines, larmor_description *found);
void lmr_describe_coil_step(const larmor_description *found, char *line, size_t room);
/* The same of larmor_compare_repeats. */
void lmr_describe_repeats(const larmor_description *found, char *line, size_t room);

/* ---- a list of findings that grows ---- */

typedef struct lmr_findings {
    larmor_findings out;
    int64_t room;
    larmor_status st; /* LARMOR_ERR_MEMORY once a finding did not fit */
} lmr_findings;

void lmr_note(lmr_findings *f, larmor_severity severity, const char *code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* check_heads.c: what the readouts' heads say: noise scans, coils, discards, lengths, images that lack readouts,
 * geometry. */
larmor_status lmr_check_heads(const larmor_raw *raw, lmr_findings *f);

/* check_samples.c: what the samples of the scan's images say. */
larmor_status lmr_check_samples(larmor_source *source, larmor_device *dev, lmr_findings *f);

/* ---- an object that reaches beyond the field of view of a grid ---- */

/* Of the axes, bit d for axis d, those along which the image goes on from its last plane to its first with half of
 * the root mean square of all planes or more: on a grid that was sampled at 1/FOV the object beyond an edge is
 * folded in at the other.
 *
 * x       the image [x, y(, z), ...], of ndim axes; what else it has is summed over.
 * axes    those that are looked at, whose samples are 1/FOV of the image apart; gets those that are found.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_fold_find(const larmor_array *x, int ndim, int *axes);

/* The part of the image's energy that is beyond edges, in mm from the middle along each axis, by more than a voxel;
 * of axes whose edges are both 0 there is none. Products of neighbours are summed, which noise alone does not have.
 *
 * x       [x, y(, z), ...], of the grid's axes.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_energy_beyond(const larmor_array *x, const larmor_grid *grid, const double edge[3][2],
                                double *part);

/* step[d] <- the fewest cycles per field of view between two places of samples along axis d of a grid: above 1 every
 * place of an image is one with others, which one coil cannot tell apart. 0 where all samples are at one place.
 *
 * traj    [nd, ...], whole cycles per field of view, within what a grid holds.
 * Errors  LARMOR_ERR_MEMORY. */
larmor_status lmr_fold_steps(const larmor_array *traj, int64_t step[3]);

/* ---- what an image leaves of its samples, A x - b, summed by readout, by coil and by radius of k-space ---- */

enum { LMR_RINGS = LARMOR_MISFIT_RINGS };

/* Sums of squares, of samples that are whitened, compressed and weighted as the solver has them. Readouts of
 * several frames are counted one frame after the other. Samples of readouts that differ in length are one readout.
 * In slabs readouts are those of this rank, and the sums over coils and rings those of all. */
typedef struct lmr_residuals {
    int64_t readouts, before; /* before: readouts of the ranks before this one */
    int coils;
    double *readout, *readout_data; /* [readouts] of |A x - b|^2, of |b|^2 */
    double *coil, *coil_data;       /* [coils] */
    double *coil_ring;              /* [LMR_RINGS, coils] of |A x - b|^2, of this rank */
    float *ring_of_readout;         /* [LMR_RINGS, readouts] of |A x - b|^2 */
    int32_t *count;                 /* [LMR_RINGS, readouts] samples of one coil */
    unsigned char
        *at_edge; /* [readouts] 1: all samples are within 2/FOV of the image from the grid's edge along one axis */
    double ring[LMR_RINGS],
        ring_data[LMR_RINGS]; /* |2 k / N| from i to i + 1 of LMR_RINGS, the last one beyond, too */
} lmr_residuals;

/* r: A x - b, and b, both in A's order, of these frames.
 *
 * out  to be freed, also after an error. */
larmor_status lmr_residuals_sum(const lmr_job *job, const lmr_frame *frames, int count, const larmor_array *r,
                                const larmor_array *b, lmr_residuals *out);
void lmr_residuals_free(lmr_residuals *r);

/* Readouts and coils that fit far worse than the others. With job->slabs called by all ranks.
 *
 * noise  what it is expected to leave of |A x - b|^2 in all coils; 0 where it is not known. */
larmor_status lmr_residuals_judge(const lmr_job *job, const lmr_residuals *r, double noise, larmor_misfit *out);

/* ---- whether a noise scan has the coils' covariance ---- */

/* A line for what makes the covariance of noise, complex [samples, coils] of so many readouts in a row, not
 * that of the coils' noise: too few samples, of which copies of other readouts do not count, or a constant in them.
 * An empty one if there is nothing. */
larmor_status lmr_noise_scan_describe(const larmor_array *noise, int64_t readouts, char *line, size_t room);

/* A line where the noise at the rim of k-space is not that of the noise scan; an empty one where it is.
 *
 * samples  whitened by W, of all coils */
larmor_status lmr_noise_scan_at_rim(const larmor_samples *samples, const larmor_array *W, char *line, size_t room);

/* Coils whose whitened samples have far more noise than the noise scan: out->noisier_coils and noise_ratio. An image
 * leaves noise at all radii alike, and differences along readouts at the edge of k-space have as much.
 *
 * samples  of a frame, without weights; r: what its image leaves, taken: of the noise by the image */
larmor_status lmr_noise_scan_compare(const larmor_samples *samples, const lmr_residuals *r, double taken,
                                     larmor_misfit *out);

/* ---- how well an image explains the samples that it was made from ---- */

/* Of the samples' norm, beyond noise: good images of 15 real scans have .04 to .28, and right simulated ones less. */
#define LMR_MAX_BEYOND_NOISE 0.30

/* What a solver had. */
typedef struct lmr_solved {
    const lmr_frame *frames;
    int count;
    larmor_op *A;
    const larmor_array *b; /* with the root of the weights, as A has it */
    const larmor_array *x;
    const larmor_circulant *C;  /* or NULL */
    double weight;              /* of |x|^2; below 0: that of another penalty, so that x gives one */
    double deviation;           /* of the noise, before weights; 0: there is none */
    larmor_array *noise;        /* a sample of it, like b, whose memory is used; or NULL */
    const larmor_array *folded; /* A^H noise; NULL: not known */
} lmr_solved;

/* The relative misfit of x, the part of it beyond the noise, and chi squared over the degrees of freedom: one
 * forward map, and a few normal maps for a probe of the part of the noise that the image takes up. With job->slabs
 * called by all ranks.
 *
 * taken      the part of the noise that images like this one take up, where it is known; 0: it is found. Gets it.
 * Errors     those of A; out is then zero. */
larmor_status lmr_misfit_measure(const lmr_job *job, const lmr_solved *solved, double *taken, larmor_misfit *out);

/* Warn where what the image leaves in the centre of k-space has a course through the frames that no sum of the
 * basis' functions has. Of frames without weights, whose centre is sampled in more frames than there are functions.
 *
 * r       A x - b
 * Errors  LARMOR_ERR_MEMORY; those of the device. */
larmor_status lmr_basis_course_check(const lmr_job *job, const lmr_solved *s, const larmor_array *r);

/* lmr_misfit_measure for an image x of one frame that took no solver. Of gridding, whose samples were multiplied by
 * their weights, the samples become those with their root. */
larmor_status lmr_misfit_of_image(lmr_job *job, const lmr_frame *frame, const larmor_array *x, double deviation,
                                  larmor_misfit *out);

/* No more noise than the image leaves is in the samples, whatever their differences say: without a noise scan the
 * report's noise becomes that where it is larger, noise_excess says by how much, and chi2 is 0. */
void lmr_misfit_lower_noise(const lmr_job *job, larmor_recon_report *result);

/* The same with a noise that is known to be less. */
void lmr_misfit_set_noise(double less, larmor_recon_report *result);

/* A line of the misfit for every image, or why it was not measured. name: of the image. */
void lmr_misfit_report(const lmr_job *job, const char *name, const larmor_recon_report *now);

/* ---- a step in the course of a scan that explains what an image leaves of its samples ---- */

/* Warn where what a single image leaves of its samples is explained by an object that moves as one body, or by a
 * coil whose gain changes, after a part of the readouts. The motion is that of first order: its derivatives are
 * those of the image. What the image itself takes up of it is not counted, so that both are larger than is said.
 *
 * misfit   of the image; nothing is looked for where it is small or that of the noise.
 * Errors   those of A; LARMOR_ERR_MEMORY. */
larmor_status lmr_misfit_step_check(const lmr_job *job, const lmr_solved *solved, const larmor_misfit *misfit);
