/* The linear operators of MR reconstruction, for composition by larmor_op_chain, larmor_op_stack and the like.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_OPERATORS_H
#define LARMOR_OPERATORS_H

#include "larmor/nufft.h"

LARMOR_C_BEGIN

/* ---- coils ---- */

/* Multiplication by coil sensitivity maps: [image...] to [image..., coils], y_c = s_c .* x.
 *
 * maps    [image..., coils], complex; kept, not copied.
 * Errors  LARMOR_ERR_ARG without maps; LARMOR_ERR_SHAPE if they are real or have no coils. */
LARMOR_API larmor_status larmor_op_coils(larmor_array *maps, larmor_op **S);

/* ---- Fourier transform, masks, weights ---- */

typedef struct larmor_fft_opts { /* zero means default */
    int unitary;                 /* 1: scaled by 1/sqrt(n), n the numbers that a transform mixes; default: unscaled */
    int centred;                 /* 1: index floor(n/2) is the origin in both domains; default: index 0 */
} larmor_fft_opts;

/* The discrete Fourier transform along some axes: y(k) = sum_i x(i) exp(-2 pi i k i / n) along each.
 *
 * axes    bit d for dimension d; any subset, 0 for none. In and out have this shape.
 * opts    NULL: all defaults.
 * Errors  LARMOR_ERR_ARG for a dimension that is not there; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_op_fft(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, unsigned axes,
                                       const larmor_fft_opts *opts, larmor_op **F);

/* y = m .* x, for complex arrays of m's shape.
 *
 * mask    real, finite and >= 0: 0 and 1, or a taper; copied.
 * Errors  LARMOR_ERR_ARG for a mask or a dtype of another kind; LARMOR_ERR_NUMERIC for a number that is not finite.
 */
LARMOR_API larmor_status larmor_op_mask(larmor_array *mask, larmor_dtype dtype, larmor_op **M);

/* Removes from x what lies outside the ellipsoid of k-space that fits into the matrix, in place. The discrete spatial
 * frequencies k with sum_a (k_a / (n_a / 2))^2 < 1 stay, over some axes a of extent n_a.
 *
 * Spokes and spirals sample no more than that, so images can be compared there.
 *
 * x       complex; other dimensions hold images of their own.
 * axes    bit d for dimension d.
 * Errors  LARMOR_ERR_ARG for a real x or a dimension that is not there; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_band_limit(larmor_array *x, unsigned axes);

typedef struct larmor_compare_opts { /* zero means default */
    int magnitude;                   /* 1: compare magnitudes, up to a real factor */
    int transpose;                   /* 1: swap the first two dimensions of a first */
    int inside; /* compare what larmor_band_limit leaves along so many first dimensions; default: everything */
} larmor_compare_opts;

typedef struct larmor_comparison {
    double nrmse;      /* the least |s a - b| / |b| over all complex factors s */
    double largest;    /* max |s a - b| / max |b| with that s */
    double factor[2];  /* s, its real and imaginary part */
    int without_phase; /* 1: a, 2: b is real and not negative and the other is not: magnitudes were compared */
} larmor_comparison;

/* The error of an image against a reference, up to the factor that makes it least.
 *
 * a, b    the image and the reference, real or complex, of one shape; dimensions of 1 do not count. Both are
 *         copied to the host in double precision.
 * opts    NULL: all defaults.
 * Errors  LARMOR_ERR_SHAPE for two shapes; LARMOR_ERR_ARG for more dimensions to be inside of than there are;
 *         LARMOR_ERR_NUMERIC for values that are not finite or a reference that is all zero; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_compare(const larmor_array *a, const larmor_array *b, const larmor_compare_opts *opts,
                                        larmor_comparison *found);

enum { LARMOR_MAX_REGIONS = 1000 };
#define LARMOR_OBJECT_LEVEL 0.1 /* of the largest magnitude: without a mask, voxels above it are region 1 */

typedef struct larmor_region { /* of magnitudes m = |x|, in the image's unit */
    int label;
    int64_t voxels;
    double mean, lowest, highest, median; /* of an even number of voxels the mean of the two in the middle */
    double deviation;                     /* sqrt(sum (m - mean)^2 / (voxels - 1)); NAN of one voxel */
    double phase;     /* arg(sum x) in rad, -pi to pi: the mean phase, weighted by magnitudes; 0 of zeros */
    double coherence; /* |sum x| / sum |x|, 1 where all phases are alike; NAN of real images and of zeros */
    double ratio;     /* mean over that of region 1: of a region of a ghost the ghost ratio; NAN without it */
    /* mean (m + m2) / 2 over the deviation of m - m2 over sqrt(2), m2 of the second image; NAN without that or of
     * one voxel, INFINITY of equal images */
    double snr;
} larmor_region;

/* Statistics of an image in the regions of a mask.
 *
 * The SNR is that of the difference of two images (NEMA MS 1-2008, method 1; Reeder et al., Magn Reson Med
 * 54:748, 2005). Differences between them other than noise, as of motion or gain, count as noise.
 *
 * image   real or complex, any shape. It, the second image and the mask are copied to the host.
 * second  another image of the same shape, or NULL.
 * mask    real, of the image's shape; dimensions of 1 do not count. A voxel above n - 1/2, up to n + 1/2, belongs to
 *         region n, those up to 1/2 to none. NULL: voxels above LARMOR_OBJECT_LEVEL are region 1.
 * regions [LARMOR_MAX_REGIONS] in the order of their labels; those without a voxel are left out.
 * count   how many there are, at least 1.
 * Errors  LARMOR_ERR_SHAPE for two shapes; LARMOR_ERR_ARG for a complex mask, no voxel in a region, or a label above
 *         LARMOR_MAX_REGIONS; LARMOR_ERR_NUMERIC for values that are not finite or whose squares are not;
 *         LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_region_stats(const larmor_array *image, const larmor_array *second,
                                             const larmor_array *mask, larmor_region *regions, int *count);

typedef struct larmor_region_error { /* of s a against b in a region */
    int label;
    int64_t voxels;
    double nrmse;   /* |s a - b| / |b|; INFINITY where b is zero in all of the region */
    double rmse;    /* |s a - b| / sqrt(voxels), in the unit of b */
    double largest; /* max |s a - b|, in the unit of b */
    double ratio;   /* sum |s a| / sum |b|; NAN where b is zero */
} larmor_region_error;

/* The error of an image in the regions of a mask.
 *
 * a, b      the image and the reference, as those of larmor_compare.
 * mask      as that of larmor_region_stats. NULL: voxels of b above LARMOR_OBJECT_LEVEL are region 1.
 * magnitude 1: magnitudes are compared.
 * factor    [2], the real and imaginary part of s, such as larmor_compare finds for all frames of a series. NULL:
 *           that of the least |s a - b| over all voxels.
 * regions   [LARMOR_MAX_REGIONS] in the order of their labels; those without a voxel are left out.
 * count     how many there are, at least 1.
 * Errors    as larmor_region_stats. */
LARMOR_API larmor_status larmor_compare_regions(const larmor_array *a, const larmor_array *b,
                                                const larmor_array *mask, int magnitude, const double *factor,
                                                larmor_region_error *regions, int *count);

/* y_c = w .* x_c for every channel c of [samples..., batch].
 *
 * weights real [samples...], finite and >= 0; copied.
 * batch   channels; 0 for arrays [samples...] without that dimension.
 * W       [samples..., batch] to itself.
 * Errors  as larmor_op_mask. */
LARMOR_API larmor_status larmor_op_weights(larmor_array *weights, larmor_dtype dtype, int64_t batch, larmor_op **W);

/* ---- sparsity: gradients and wavelets ---- */

/* Forward differences along some axes: [shape...] to [shape..., axes], in ascending order of the axes,
 * y_a(i) = (x(i + 1) - x(i)) / spacing_a along axis a, and 0 at its last index.
 *
 * axes     bit d for dimension d, at least one; e.g. the last for differences in time alone.
 * spacing  [shape.ndim] distances of neighbours, used for the axes alone; NULL: 1. A smaller distance gives its axis
 *          more weight.
 * Errors   LARMOR_ERR_ARG for axes or spacings out of range; LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_op_gradient(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, unsigned axes,
                                            const double *spacing, larmor_op **G);

/* The symmetrised gradient of a vector field with d components, those of larmor_op_gradient: [shape..., d] to the
 * symmetric tensors [shape..., d (d + 1) / 2], in the order (0,0), (0,1), (1,1), (0,2), ...
 *
 *     E_aa = D_a v_a,   E_ab = (D_b v_a + D_a v_b) / sqrt(2),
 *
 * so that the norm of the numbers stored is the tensor's Frobenius norm. The fields are those of a staggered grid,
 * component a half a voxel further along axis a: D is a backward difference in E_aa, 0 at the first and last index of
 * axis a, and a forward one in E_ab, 0 at the last index of either. So E of a constant field, of a rotation and of
 * the gradient of an affine image is exactly 0, and E of a gradient is the matrix of second differences.
 *
 * axes, spacing, Errors  as larmor_op_gradient.
 * Source  Bredies, Kunisch and Pock, SIAM J. Imaging Sci. 3, 492 (2010), whose differences are backward in E_ab, too;
 *         Knoll et al., Magn. Reson. Med. 65, 480 (2011). */
LARMOR_API larmor_status larmor_op_symmetrised_gradient(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                                        unsigned axes, const double *spacing, larmor_op **E);

typedef struct larmor_wavelet_opts { /* zero means default */
    int order;                       /* vanishing moments, 1 (Haar) to 10; default 2: Daubechies' wavelet of 4 taps */
    int levels; /* the most; default: while an axis has max(16, 4 order) numbers or more, or 4 order if none has 16 */
    unsigned axes;    /* bit d for dimension d, 1 to 3 of them; default: the first 3 longer than 1 */
    int64_t shift[3]; /* circular shift along each of the axes, ascending; see larmor_op_wavelet_shift */
} larmor_wavelet_opts;

/* The orthonormal, separable, periodic wavelet transform with Daubechies' filters; in and out have this shape. The
 * adjoint is the inverse, exactly.
 *
 * Every level splits what is left of each axis, n numbers, into n - n/2 low-pass and then n/2 high-pass numbers. If n
 * is odd the filters act on the first n - 1, periodically, and the last one stays as the last of the low-pass. An
 * axis is split no further when it is shorter than the filter.
 *
 * opts    NULL: all defaults.
 * Errors  LARMOR_ERR_ARG for an order, levels or axes out of range; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY.
 * Source  Daubechies, Ten Lectures on Wavelets, SIAM (1992), section 6.1; Mallat, IEEE Trans. Pattern Anal. Mach.
 *         Intell. 11, 674 (1989). */
LARMOR_API larmor_status larmor_op_wavelet(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                           const larmor_wavelet_opts *opts, larmor_op **W);

/* Changes the shift from the next call on, at no cost. W x becomes the transform of x(i + shift), and W's adjoint
 * shifts back. Random shifts between iterations average out the transform's dependence on the grid (cycle spinning).
 *
 * W       from larmor_op_wavelet; the shift also holds for operators that were composed of it.
 * Errors  LARMOR_ERR_ARG for another operator.
 * Source  Coifman and Donoho, in Wavelets and Statistics, Lect. Notes Stat. 103, 125 (1995); Figueiredo and Nowak,
 *         IEEE Trans. Image Process. 12, 906 (2003). */
LARMOR_API larmor_status larmor_op_wavelet_shift(larmor_op *W, const int64_t shift[3]);

/* ---- many images: frames, subspaces, blocks, stacks ---- */

/* Block diagonal: an operator of its own for each frame, y_t = A_t x_t.
 *
 * ops     of one device, type and input shape [image...]; the same operator may stand for several frames.
 * A       [image..., count] to [kspace..., count]. If the operators' outputs differ in shape: to one vector of all
 *         samples, frame after frame. Its normal map is each operator's own, so that a Toeplitz normal survives.
 * Errors  LARMOR_ERR_ARG without operators; LARMOR_ERR_SHAPE if they disagree. */
LARMOR_API larmor_status larmor_op_frames(larmor_op *const *ops, int count, larmor_op **A);

/* The same of operators that write no memory in common, as each larmor_op_sense of its own trajectory: on a
 * processor its threads take frames, each a few, where that divides the work better than sharing every frame
 * would. The results are those of larmor_op_frames. An operator of the caller's own must then bear to be called by
 * several threads for several frames. */
LARMOR_API larmor_status larmor_op_frames_apart(larmor_op *const *ops, int count, larmor_op **A);

/* Samples of one image in several states, such as those of a breath: y_m = A_m x, where each A_m has the state's own
 * trajectory, maps and displacement (larmor_sense_opts.displacement). The least squares solution for all of them is
 * the image that all states agree on.
 *
 * ops     [count] from the same [image...] to [samples, readouts of the state, coils], on one device.
 * A       [image...] to [samples, all readouts, coils], state after state in each coil; [all samples, 1, coils] where
 *         numbers of samples differ. Its normal map is the sum of the states'.
 * Errors  LARMOR_ERR_ARG without operators; LARMOR_ERR_SHAPE if they disagree; LARMOR_ERR_MEMORY.
 * Source  Batchelor et al., Magn. Reson. Med. 54, 1273 (2005), who interpolate between voxels. */
LARMOR_API larmor_status larmor_op_states(larmor_op *const *ops, int count, larmor_op **A);

/* Frames that lie in the span of a few functions of time: y_t = sum_k basis(t, k) x_k.
 *
 * basis   complex [frames, coefficients]; it is taken to dev and to dtype, which may be wider than its own.
 * B       [image..., coefficients] to [image..., frames]. Its normal map is the basis's Gram matrix: the identity
 *         if the basis is orthonormal.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE.
 * Source  Petzschner et al., Magn. Reson. Med. 66, 706 (2011); Tamir et al., Magn. Reson. Med. 77, 180 (2017). */
LARMOR_API larmor_status larmor_op_subspace(larmor_device *dev, larmor_dtype dtype, larmor_shape image,
                                            larmor_array *basis, larmor_op **B);

typedef struct larmor_casorati_opts { /* zero means default */
    int64_t block[3];                 /* voxels; default 8, and never more than the image */
    int64_t shift[3];                 /* voxels by which the tiling is moved, around the image's edges; default 0 */
} larmor_casorati_opts;

/* A series of images cut into blocks, each a matrix of voxels and frames (Casorati matrix), for penalties of rank.
 *
 * shape   [nx, ny, frames] or [nx, ny, nz, frames] (or [nx, frames]).
 * C       shape to [block voxels, frames, blocks], x fastest among voxels and blocks. Where the image is no
 *         multiple of the block, the last blocks hold fewer voxels, and zeros. C is an isometry, C^H C = 1; C^H
 *         drops what stands in place of those zeros.
 * opts    may be NULL. A block of the image's size gives one matrix: global low rank.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE.
 * Source  Trzasko and Manduca, Proc. ISMRM 19, 4371 (2011); Zhang et al., Magn. Reson. Med. 73, 655 (2015). */
LARMOR_API larmor_status larmor_op_casorati(larmor_device *dev, larmor_dtype dtype, larmor_shape shape,
                                            const larmor_casorati_opts *opts, larmor_op **C);

/* The NUFFT of a stack of stars, spirals or any other planes: an FFT along z, and in the plane one NUFFT for all
 * partitions that have the same set of readouts. The same map as larmor_op_nufft, to its tolerance, in less time.
 *
 * opts    as for larmor_op_nufft, with ndim = 3; type is ignored.
 * traj    [3, samples, readouts], f32 or f64, cycles per field of view. kz is constant along each readout and a
 *         whole number, both to 1e-5; it counts modulo nz. Partitions may differ in number and angles of their
 *         readouts, and may have none; readouts come in any order. Two sets of angles are the same if their
 *         coordinates are exactly; each distinct set takes a plan with a fine grid of its own.
 * A       [nx, ny, nz, batch] to [samples, readouts, batch], readouts in the trajectory's order; batch dimension
 *         absent if opts.batch is 0. y(k) = sum_r x(r) exp(-2 pi i k.r / N), r centred at floor(N / 2), unscaled.
 * Errors  those of larmor_op_nufft; LARMOR_ERR_ARG with the first readout that is no part of a stack. */
LARMOR_API larmor_status larmor_op_stack_of_stars(larmor_device *dev, const larmor_nufft_opts *opts,
                                                  const larmor_array *traj, larmor_op **A);

/* Bytes of device memory that it takes at most, from its making to its maps, beyond the trajectory and the arrays
 * that it maps. Errors: as above. */
LARMOR_API larmor_status larmor_stack_of_stars_memory(const larmor_device *dev, const larmor_nufft_opts *opts,
                                                      const larmor_array *traj, int64_t *bytes);

/* Whether larmor_op_stack_of_stars takes this trajectory for nz partitions; waits.
 *
 * is_stack  1 or 0. 0 also for trajectories that are not [3, samples, readouts].
 * sets      how many distinct sets of angles it has, thus plans; may be NULL. As many as partitions: nothing is
 *           shared.
 * Errors    LARMOR_ERR_ARG; LARMOR_ERR_NUMERIC for a coordinate that is not finite. */
LARMOR_API larmor_status larmor_traj_is_stack(const larmor_array *traj, int64_t nz, int *is_stack, int64_t *sets);

/* ---- off-resonance ---- */

typedef struct larmor_off_resonance_opts { /* zero means default */
    int segments;                          /* 1 .. 512; default: the least that keep the error */
    double error;                          /* |sum - exp(2 pi i f t)| at most; default 1e-3; ignored with segments */
    double normal_error; /* of the normal map's terms, for differences of frequencies; default 1e-4 */
} larmor_off_resonance_opts;

/* F with the phase that spins at field[r] Hz gather until times[j] s, by time segmentation:
 *
 *   y(k_j) = sum_r x(r) exp(-2 pi i k_j . r / N) exp(+2 pi i field(r) times(j))   for F a Fourier transform,
 *   exp(2 pi i f t) ~ sum_l b_l(t) exp(2 pi i f tau_l),   A = sum_l diag(b_l(times)) F diag(exp(2 pi i field
 *   tau_l)),
 *
 * with tau_l spread evenly over all times and b_l(t), for each distinct time, the least squares fit over the
 * map's frequencies, all with the same weight, because `error` bounds that of the worst voxel.
 *
 * F       [image..., ...] to [samples..., ...], e.g. larmor_op_nufft, coils last; applied once for each segment.
 * field   f32 or f64, the leading dimensions of F's input: the same map for all coils.
 * times   f32 or f64, the leading dimensions of F's output, e.g. [samples] or [samples, readouts]; their zero is
 *         the time at which x has its phase. Making A takes time and memory with the number of distinct ones.
 * opts    may be NULL.
 * A       shapes of F. Of a Fourier transform no sample is off by more than `error` times the sum of |x|. Its normal
 *         map is the adjoint after the forward map, whatever F's own is.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite, or an error that
 *         cannot be kept: with 512 segments, or below about 1e-6, where least squares end at rounding.
 * Source  Noll et al., IEEE Trans. Med. Imaging 10, 629 (1991); the interpolators: Sutton, Noll and Fessler, IEEE
 *         Trans. Med. Imaging 22, 178 (2003); sums of separable terms: Fessler et al., IEEE Trans. Signal Process.
 *         53, 3393 (2005). */
LARMOR_API larmor_status larmor_op_off_resonance(larmor_op *F, const larmor_array *field, const larmor_array *times,
                                                 const larmor_off_resonance_opts *opts, larmor_op **A);

/* ---- off-resonance: segments that several operators share ---- */

/* What larmor_op_off_resonance finds before it makes anything: the segments and their interpolators. Refcounted; one
 * thread at a time. */
typedef struct larmor_segments larmor_segments;

/* field, times, opts, Errors  as for larmor_op_off_resonance; field and times are of the image and the samples
 * alone. */
LARMOR_API larmor_status larmor_segments_create(const larmor_array *field, const larmor_array *times,
                                                const larmor_off_resonance_opts *opts, larmor_segments **segments);
LARMOR_API larmor_segments *larmor_segments_ref(larmor_segments *segments); /* one more reference; returns segments */
LARMOR_API void larmor_segments_free(larmor_segments *segments);            /* NULL is fine */

/* The segments of some readouts alone, of one state of an object that moves for example.
 *
 * all       of larmor_segments_create or larmor_segments_of_terms, whose times are [samples, readouts]; may be freed
 *           after.
 * readout   [count] of them, in any order.
 * segments  of times [samples, count]; as many segments as all have, with the same error. The caller's.
 * Errors    LARMOR_ERR_ARG for a readout that is not there, LARMOR_ERR_SHAPE, LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_segments_readouts(const larmor_segments *all, const int64_t *readout, int64_t count,
                                                  larmor_segments **segments);

typedef struct larmor_segments_info {
    int segments; /* of the forward map and of the adjoint */
    double error; /* the largest over the map's frequencies and all times */
    int terms;    /* of the normal map; 0 before the operators that need them */
    double terms_error;
    double low_hz, high_hz, first_s, last_s; /* the ranges of the map and of the times, to a node of the search */
} larmor_segments_info;

/* What was found so far. Errors: LARMOR_ERR_ARG. */
LARMOR_API larmor_status larmor_segments_describe(const larmor_segments *segments, larmor_segments_info *info);

/* As larmor_op_off_resonance. */
LARMOR_API larmor_status larmor_op_segments(larmor_op *F, larmor_segments *segments, larmor_op **A);

/* The normal map A^H W A of A = larmor_op_segments of a NUFFT F, without samples: with the field's differences in
 * the place of its values,
 *
 *   exp(-2 pi i (f(r) - f(r')) t) ~ sum_k a_k(t) exp(-2 pi i (f(r) - f(r')) tau_k),
 *   N = sum_k diag(exp(-2 pi i f tau_k)) T_k diag(exp(2 pi i f tau_k)),
 *
 * where a_k is real, because with every difference its negative occurs, and T_k is the convolution of
 * larmor_op_toeplitz with the weights a_k(times) W. That is about twice as many terms as A has segments, each two
 * FFTs. The Q products v_q(r) u_q(t) of larmor_segments_of_terms go by the matrix of convolutions of
 * larmor_op_toeplitz_mixed with the factors u_q, 2 Q FFTs and Q^2 products of spectra.
 *
 * opts, traj, weights  as for larmor_op_toeplitz. The segments' times are the leading dimensions of the samples.
 * Errors               those of larmor_op_toeplitz; LARMOR_ERR_NUMERIC for more than 512 terms; LARMOR_ERR_ARG for
 *                      more than 32 products.
 * Source               Fessler et al., IEEE Trans. Signal Process. 53, 3393 (2005). */
LARMOR_API larmor_status larmor_op_segments_toeplitz(const larmor_nufft_opts *opts, const larmor_array *traj,
                                                     const larmor_array *weights, larmor_segments *segments,
                                                     larmor_op **N);

LARMOR_C_END
#endif
