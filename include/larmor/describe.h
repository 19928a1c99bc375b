/* Whether another description of a scan explains its samples better. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_DESCRIBE_H
#define LARMOR_DESCRIBE_H

#include "larmor/array.h"
#include "larmor/report.h"

LARMOR_C_BEGIN

typedef struct larmor_description {
    double reach; /* 1/FOV: the centre of k-space that was compared; 0: it is sampled too sparsely, nothing was */
    double
        misfit; /* of the samples as described; one image of the field of view for each coil explains them to this */
    double unexplained; /* misfit beyond noise of images of 1.5 times the field of view; 0: not looked for */
    double better;      /* of the other description that explains them best; misfit itself if there is none */
    int is_clear;       /* 1: the difference is beyond what scans that are described rightly have */
    int leaves_out;     /* 1: that description is another object in a part of the scan: fewer samples are compared */
    double far_echo;  /* of lines alone: the energy of the echo far from the centre of k-space over that through it */
    double frequency; /* cycles per sample, of that description if it is an offset of the frequency; else 0 */
    char name[128];   /* of the other description, as a part of a sentence: "every second readout reversed" */
} larmor_description;

/* Compare how well samples off the grid fit their trajectory with how well they fit others: other places along the
 * readouts, every second readout mirrored, reversed or moved, axes of every second readout swapped, another order
 * of readouts, other angles of spokes, an object that moves as one body once, steadily, or to and fro, an offset of
 * the frequency, another image in the second part of the scan.
 *
 * The misfit is |F x - y| / |y| of the images x that fit best, one for each of up to four coils with most energy,
 * in a part of the centre of k-space that readouts cover about three times, or 1.5 times where that is small. A
 * linear map of all of k-space (a mirrored axis, another unit) leaves it as it is. Other descriptions are tried
 * only where the misfit beyond noise is above 0.025.
 *
 * kspace  [samples, readouts, coils], complex, in the order of time.
 * traj    [nd, samples, readouts], real, in cycles per field of view.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for samples without energy in the centre; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compare_descriptions(const larmor_array *kspace, const larmor_array *traj,
                                                     larmor_description *found);

/* Compare readouts that repeat the places of an earlier one with that: whether they have another phase, another
 * size, or an object that has moved. Those that are the second at their places are one repeat, the third another.
 *
 * misfit is how much the worst repeat differs from the first readouts in the centre of k-space beyond noise, in parts
 * of those; better what is left by the description in name: all 0 where that is not clear. The first 15 repeats are
 * compared.
 *
 * kspace  [samples, readouts, coils], complex, in the order of time.
 * traj    [nd, samples, readouts], real, in cycles per field of view; places that repeat are the same numbers.
 * found   reach is 0 where no places repeat. It is clear from a misfit of 0.3 on, of an object that has
 *         moved 0.12; not of a phase or size that leaves 0.9 of the signal in the mean.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compare_repeats(const larmor_array *kspace, const larmor_array *traj,
                                                larmor_description *found);

/* Compare lines of a grid along x with other descriptions of every second or third of them: reversed, earlier or
 * later by a quarter of a sample to 4 samples, turned by another phase; and with another gain of all lines, or an
 * object that has moved, from one line on.
 *
 * Windows of 4 x 4 samples of up to three coils in the centre of k-space span fewer dimensions the better the
 * description fits. misfit and better are the mean logarithm of the eigenvalues of their Gram matrix, relative to
 * the mean of these; of a step from one line on misfit - better is the logarithm of the factor by which the
 * windows across it fit better.
 *
 * kspace  [samples, lines, coils], complex; traj [nd, samples, lines], real, in cycles per field of view.
 * found   reach is 0 where fewer than 12 lines follow each other at 1/FOV around the centre. far_echo is of
 *         medians without noise, and 0 where the echo is less than half of what the far lines have: of an object
 *         it is next to nothing, as its k-space falls off, of spokes that are described as lines about 1.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compare_lines(const larmor_array *kspace, const larmor_array *traj,
                                              larmor_description *found);

/* Compare lines of a grid along x with scans in which a coil has another gain and phase, or two coils are in each
 * other's place, from one readout on.
 *
 * Each coil's samples in the centre of k-space are predicted from the samples of three others around them by
 * combinations that fit the lines before that readout, and, of those before it, by what fits the lines after it.
 * misfit is what is left as described, better what is left by the change, in parts of the coil's samples.
 *
 * kspace  [samples, lines, coils], complex, in the order of time, not compressed; of more than 12 coils those with
 *         most energy.
 * traj    [nd, samples, lines], real, in cycles per field of view.
 * found   reach is 0 where there is one coil, or fewer than 9 lines. Nothing is found where windows of three lines
 *         as far apart, before and after the readout, are fewer than three; or where noise hides it.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compare_coil_steps(const larmor_array *kspace, const larmor_array *traj,
                                                   larmor_description *found);

/* Compare how well the coils fit each other with how well they do with the samples of one of them conjugated, as a
 * receiver with its real and imaginary parts mixed up has them.
 *
 * Windows of 4 x 4 (3 x 3 x 3) samples of a coil and of the other one that fits best span fewer dimensions the
 * better they fit. misfit and better are those of larmor_compare_lines.
 *
 * kspace  [x, y(, z), coils], complex: the centre of k-space on a grid, as larmor_calibration_region makes it, not
 *         compressed.
 * found   reach is 0 where a side has fewer than 10 samples, or there is one coil; else half the smallest side.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compare_coils(const larmor_array *kspace, larmor_description *found);

/* Compare how well maps fit the coils' images of low resolution with how well others do: their conjugates, the
 * maps mirrored, moved by half the field of view, with two axes swapped, in another order of coils, times another
 * factor for each coil; and with what any maps would explain, as neighbouring voxels say.
 *
 * The misfit is the root of the part of the images' energy that no image times the maps explains.
 *
 * region  [x, y(, z), coils], complex: the centre of k-space on a grid, as larmor_calibration_region makes it.
 * fov     [nd] of the region's grid, as in larmor_region_report.
 * maps    [image..., coils], complex, of the same coils.
 * found   reach is half the region along x, and 0 where a side has fewer than 4 samples, as of regular undersampling
 *         without calibration lines: no image is compared then.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compare_maps(const larmor_array *region, const double fov[3],
                                             const larmor_array *maps, larmor_description *found);

#define LARMOR_SPIKE_RATIO 8 /* to the 90th percentile at the radius, and to the samples beside it in the readout */

/* Find clipped samples, spikes, interference, the place of the echo, and readouts that repeat others, in samples as
 * they were acquired, before whitening, on the device that has them.
 *
 * kspace  [samples, readouts, coils], complex; traj [nd, samples, readouts], real, in cycles per field of view.
 * matrix  [3] voxels, whose k-space the radius of samples is relative to.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY; LARMOR_STOPPED. */
LARMOR_API larmor_status larmor_sample_faults_find(const larmor_array *kspace, const larmor_array *traj,
                                                   const int64_t matrix[3], larmor_sample_faults *out);

/* Some samples of all coils, of which the others stay where they are.
 *
 * kspace  [samples, readouts, coils], complex.
 * index   [count], of samples of a coil.
 * x       complex [count, coils] in single precision on the host, to be freed by free().
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for an index that is none; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_pick_samples(const larmor_array *kspace, const int64_t *index, int64_t count,
                                             float **x);

/* Energies of samples by rings of k-space, on the device that has them: sum |x|^2, in single precision, of each
 * readout of each coil.
 *
 * x     [samples, readouts] or [samples, readouts, coils], complex.
 * ring  [samples, readouts] on the host: the number of each sample's ring, below rings, which are at most 32.
 * sum   [rings, readouts] or [rings, readouts, coils] on the host.
 * Errors  LARMOR_ERR_ARG for a number of rings; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_ring_energies(const larmor_array *x, int rings, const unsigned char *ring,
                                              double *sum);

LARMOR_C_END
#endif
