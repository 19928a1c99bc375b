/* Samples on the grid: Fourier transforms by FFTs, with nothing to interpolate. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_CARTESIAN_H
#define LARMOR_CARTESIAN_H

#include "larmor/nufft.h"
#include "larmor/op.h"
#include "larmor/solve.h"

LARMOR_C_BEGIN

/* Whether all samples are on the grid: every coordinate a whole number to within `tol`.
 *
 * traj     [nd, samples, readouts] or [nd, m], f32 or f64, cycles per field of view.
 * tol      at least 0, in the same unit; with error e a sample is off by 2 pi e r / N of a radian at voxel r.
 * is_grid  1 or 0; 0 also where there are no samples.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_NUMERIC for a coordinate that is not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_traj_is_cartesian(const larmor_array *traj, double tol, int *is_grid);

/* The Fourier transform at samples on the grid: the map of larmor_op_nufft, by one FFT and the choice of its
 * numbers.
 *
 * Samples may be anywhere on the grid and in any order; several may be at one place. The normal map F^H F is an
 * FFT, a product with how often each place is sampled, and an FFT back, on the grid of the image; where all places
 * are sampled equally often it is a product with one number.
 *
 * opts    as for larmor_op_nufft; of it ndim, modes, batch, dtype and tol (default 1e-5) count. sign must be that of
 *         the forward transform, the default.
 * traj    as for larmor_op_nufft, every coordinate within tol / 3 of a whole number, which counts modulo modes.
 * A       [modes..., batch] to [samples, readouts, batch] (or [m, batch]); batch dimension absent if opts.batch is 0.
 *         y(k) = sum_r x(r) exp(-2 pi i k.r / N), r centred at floor(N / 2), unscaled.
 * Errors  LARMOR_ERR_ARG, with a coordinate that is off the grid; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for one
 *         that is not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_op_cartesian(larmor_device *dev, const larmor_nufft_opts *opts,
                                             const larmor_array *traj, larmor_op **A);

/* N = F^H W F of larmor_op_cartesian, which holds no samples.
 *
 * weights  real [samples...], or NULL for 1; any sign.
 * N        in and out [modes..., batch] (batch dimension absent if opts.batch is 0); self-adjoint to rounding.
 * Errors   as above; LARMOR_ERR_SHAPE if traj and weights disagree. */
LARMOR_API larmor_status larmor_op_cartesian_normal(larmor_device *dev, const larmor_nufft_opts *opts,
                                                    const larmor_array *traj, const larmor_array *weights,
                                                    larmor_op **N);

/* Readouts along x on a part of their field of view: their transform, cropped, and transformed back. So
 * oversampling is removed before all else, with the signal from beyond the part.
 *
 * Of readouts that do not reach as far to one side of the centre (asymmetric echoes) the missing samples are taken
 * for zeros, and what is made of them is not given back.
 *
 * kspace        [samples, readouts, coils], complex.
 * traj          [nd, samples, readouts] real, cycles per field of view; every readout even along x, in either
 *               direction, and on the same places.
 * part          of traj's field of view that stays; larger than 1 where it is beyond that, as samples are nearer to
 *               each other than 1.
 * cropped       [fewer samples, readouts, coils]; readouts run upwards.
 * cropped_traj  [nd, fewer samples, readouts] of traj's type: x in cycles per part, the other coordinates as they
 *               were.
 * noise         the deviation of white noise after this over that before; may be NULL.
 * Errors        LARMOR_ERR_ARG for readouts of another kind, or where the part is no whole number of voxels;
 *               LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_crop_readouts(const larmor_array *kspace, const larmor_array *traj, double part,
                                              larmor_array **cropped, larmor_array **cropped_traj, double *noise);

/* ---- partial Fourier: k-space that reaches further to one side of its centre than to the other ---- */

/* The phase of an image's centre of k-space, at low resolution: of what Hann's window leaves.
 *
 * x      complex [image...], 1 to 3 dimensions.
 * reach  cycles per field of view to which the window goes along each axis, those that both sides hold; 0: no window.
 * phase  complex numbers of magnitude 1, of x's shape and type; 1 where the centre is 0.
 * Errors LARMOR_ERR_SHAPE; LARMOR_ERR_ARG; LARMOR_ERR_MEMORY.
 * Source Noll, Nishimura and Macovski, IEEE Trans. Med. Imaging 10, 154 (1991). */
LARMOR_API larmor_status larmor_centre_phase(const larmor_array *x, const double reach[3], larmor_array **phase);

/* How much of x's centre of k-space, within reach, is at right angles to a phase: the norm of that, and of all of the
 * centre. Where it is more than noise the phase is not that of the image. Errors: as above. */
LARMOR_API larmor_status larmor_off_phase(const larmor_array *x, const double reach[3], const larmor_array *phase,
                                          double *off, double *all);

/* Images of about a given phase: P x = phase .* (Re x + i imaginary Im x). It is linear over the real numbers, and
 * so are products with it: |A P x - b|^2 is minimised by larmor_cg and the other solvers from zeros or any other
 * start, in the scalar product Re <x, y>. With A of a Cartesian scan and imaginary 0 this is homodyne
 * reconstruction as least squares. With a penalty on x what is off the phase costs 1 / imaginary^2 times as much,
 * as becomes an image of which it is that part in amplitude (larmor_off_phase).
 *
 * phase      complex [image...] of magnitude 1; kept, not copied.
 * imaginary  0: the image has the phase exactly; 1: any image.
 * Errors     LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY.
 * Source     Noll, Nishimura and Macovski, IEEE Trans. Med. Imaging 10, 154 (1991); as a penalty: Bydder and Robson,
 *            Magn. Reson. Med. 53, 1393 (2005). */
LARMOR_API larmor_status larmor_op_phase(larmor_array *phase, double imaginary, larmor_op **P);

/* Projections in turn: onto the images of a given phase, and from there to the nearest image that explains the
 * data. The last is the second, so that what was measured stays as it is.
 *
 * A, b    as for larmor_cg; A may be undersampled, in which case the second step is a few conjugate gradient
 *         steps.
 * phase   as for larmor_op_phase, of A's type.
 * x       in: an image, such as larmor_cg makes; out: the last one.
 * opts    max_iter, default 30; tol, of the relative change, default 1e-3; lambda, of the second step; monitor.
 *         NULL: all defaults.
 * report  may be NULL; the residual is the relative change.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY; LARMOR_STOPPED, and x is the current iterate.
 * Source  Haacke, Lindskog and Lin, J. Magn. Reson. 92, 126 (1991). */
LARMOR_API larmor_status larmor_pocs(larmor_op *A, const larmor_array *b, larmor_array *phase, larmor_array *x,
                                     const larmor_solve_opts *opts, larmor_report *report);

LARMOR_C_END
#endif
