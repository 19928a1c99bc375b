/* Slices that are excited together (simultaneous multi-slice, CAIPIRINHA), on any trajectory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_MULTIBAND_H
#define LARMOR_MULTIBAND_H

#include "larmor/op.h"
#include "larmor/pipeline.h"

LARMOR_C_BEGIN

/* Several slices in the same samples, each with a phase of its own in each readout:
 *
 *   y_j = sum_s exp(i phase_s(j)) A_s x_s.
 *
 * A       [bands] 1 to LARMOR_MOST_BANDS operators with equal inputs and outputs [samples, readouts, coils], such as
 *         those of larmor_op_sense, each with the maps of its slice. References are kept.
 * phase   real [readouts, bands], in rad, on the operators' device.
 * op      from [image..., bands] to [samples, readouts, coils]. Its normal map is the adjoint after the forward map.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE for operators or phases that do not fit; LARMOR_ERR_NUMERIC for phases
 *         that are not finite; LARMOR_ERR_MEMORY.
 * Source  Larkman et al., J. Magn. Reson. Imaging 13, 313 (2001); phases: Breuer et al., Magn. Reson. Med. 53, 684
 *         (2005). */
LARMOR_API larmor_status larmor_op_multiband(larmor_op *const *A, int bands, const larmor_array *phase,
                                             larmor_op **op);

/* How the slices of a scan were excited. */
typedef struct larmor_multiband_opts {
    const double
        *offset_mm; /* [bands] along the slice direction from the scan's position, ascending; where they are not
                     * equally far apart images do not say where they lie */
    int bands;      /* 2 to LARMOR_MOST_BANDS */
    int shifts;     /* N: slice s has the phase 2 pi p s j / N in readout j of an image, from 0; 0: by the array */
    int turns;      /* p; default 1 */
    /* The phases in rad, real [readouts, bands] of the readouts of each image, or of those of all images one after
     * the other. Where steps from slice to slice are not alike, to 1e-3 rad and but for full turns, what kz leaves is
     * a term of the model (larmor_segments_of_terms), and coil maps must not come from the samples. NULL without
     * shifts: the scan is a volume of as many partitions as slices, whose trajectory or counters say kz, in cycles
     * over the encoded field of view. */
    const larmor_array *phase;
} larmor_multiband_opts;

/* A source whose images are the slices of those of another, a volume of each: x, y and the slices as z, which the
 * readouts encode by their phases as partitions of a 3D scan do. So every trajectory, method and model that volumes
 * have is for them; voxels of different slices are not neighbours (larmor_encoding.apart). Coil maps are found from
 * images of calibration_encoding: by separable2D each slice alone, at its place, all by the same readouts; by full3D
 * a stack of the same readouts in each partition, whose volume reaches over all slices. Others that are not of these
 * slices, by the header, are left out.
 *
 * inner   of 2D images, or of volumes of as many partitions; a reference is kept. Spokes whose angles follow from
 *         counters, without a stored trajectory, need phases that are multiples of 2 pi / bands. One that this
 *         function made, or larmor_source_of_raw by the header, is taken without its volumes; where its header
 *         differs from opts its warnings say so.
 * opts    NULL: as the header says (larmor_encoding.multiband): dZ are offsets in mm, as many as slices, or the
 *         distances between them, deltaKz is the step along kz from readout to readout in cycles over bands times the
 *         distance, so that slice s has the phase -2 pi deltaKz s j / bands in readout j.
 * Errors  LARMOR_ERR_ARG for options that make no sense, and for a source of other volumes; LARMOR_ERR_FORMAT for a
 *         header that has no such slices, or impossible ones; LARMOR_ERR_SHAPE for an array
 *         that does not fit; LARMOR_ERR_NUMERIC for phases that are not finite; LARMOR_ERR_MEMORY. Reconstructions
 *         give LARMOR_ERR_UNSUPPORTED for uneven phases of frames, of bins and of readouts of several lengths.
 * Source  Yutzy et al., Magn. Reson. Med. 65, 1630 (2011); Zahneisen et al., Magn. Reson. Med. 71, 2071 (2014). */
LARMOR_API larmor_status larmor_source_of_multiband(larmor_source *inner, const larmor_multiband_opts *opts,
                                                    larmor_source **source);

LARMOR_C_END
#endif
