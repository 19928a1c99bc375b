/* What samples see beside the Fourier transform: higher-order and concomitant fields, decay. SPDX-License-Identifier:
 * Apache-2.0 */
#ifndef LARMOR_PHYSICS_H
#define LARMOR_PHYSICS_H

#include "larmor/io.h"
#include "larmor/operators.h"

LARMOR_C_BEGIN

/* ---- a model of terms ---- */

/* One factor of the signal: exp(i space(r) time(t)), or exp(-space(r) time(t)). A field of f(r) Hz that acts until t
 * is 2 pi f(r) and t; a solid harmonic h(r) of a field camera with the coefficient phi(t) in rad is h(r) and -phi(t);
 * decay is R2*(r) and t. */
typedef struct larmor_model_term {
    const larmor_array *space; /* real [image...] */
    const larmor_array *time;  /* real [samples...] */
    int is_decay;
} larmor_model_term;

/* The product of all terms as the least sum of products that keeps opts->error,
 *
 *   exp(sum_l (i or -1) space_l(r) time_l(t)) ~ sum_q v_q(r) u_q(t),   A = sum_q diag(u_q) F diag(v_q),
 *
 * found from some of its rows and columns, without the matrix of all voxels and samples. larmor_op_segments makes A
 * of it, larmor_sense_opts.off_resonance takes it.
 *
 * terms   1 to 32, all of one shape of image and one of samples, on one device; may be freed after. Times at which
 *         all terms are alike count once.
 * opts    may be NULL. error is the root mean square over voxels and samples, relative to that of the product, 1e-3
 *         by default and at least 1e-6; segments is the number of products, by default the least that is found to
 *         keep it; normal_error is not used: the normal map is that of the products.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite or an error that 512
 *         products do not keep; LARMOR_ERR_MEMORY.
 * Source  Wilm et al., IEEE Trans. Med. Imaging 31, 1396 (2012). */
LARMOR_API larmor_status larmor_segments_of_terms(const larmor_model_term *terms, int count,
                                                  const larmor_off_resonance_opts *opts, larmor_segments **segments);

/* ---- functions of place ---- */

enum { LARMOR_HARMONICS = 16 }; /* of orders 0 to 3 */

/* Real solid harmonics at positions, in the order of field cameras:
 *
 *   1; x, y, z; xy, zy, 2z^2 - x^2 - y^2, xz, x^2 - y^2; 3yx^2 - y^3, xyz, y (4z^2 - x^2 - y^2), 2z^3 - 3z (x^2 +
 *   y^2), x (4z^2 - x^2 - y^2), z (x^2 - y^2), x^3 - 3xy^2.
 *
 * position  real [3, image...], in m.
 * order     0 to 3.
 * h         f64 [image..., (order + 1)^2], in m to the power of each one's order; the caller's.
 * Errors    LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC for positions that are not finite,
 * LARMOR_ERR_MEMORY.
 * Source    Vannesjo et al., Magn. Reson. Med. 72, 570 (2014), whose names of terms are those of their shims. */
LARMOR_API larmor_status larmor_solid_harmonics(const larmor_array *position, int order, larmor_array **h);

/* ---- concomitant fields ---- */

enum { LARMOR_CONCOMITANT_PLACES = 4 }; /* functions of place: z^2, x^2 + y^2, xz, yz */

/* The phase of the lowest-order concomitant fields of gradients of a magnet of horizontal or vertical bore whose main
 * field is along z, from the first sample of each readout on:
 *
 *   B_c = (gx^2 + gy^2) z^2 / (2 B0) + gz^2 (x^2 + y^2) / (8 B0) - gx gz x z / (2 B0) - gy gz y z / (2 B0).
 *
 * traj     real [3, samples, readouts]: the gradients' integral k(t) / (2 pi) = gamma-bar int g dt in 1/m along the
 *          magnet's x, y, z.
 * dwell_s  seconds between samples, of all readouts.
 * tesla    the main field.
 * gamma_hz gamma-bar in Hz/T; 0: of protons, 42.577478518e6.
 * time     f64 [samples, readouts, 4]: the phases in rad/m^2 of the functions of place; the signal has
 *          exp(-i sum_l time_l(t) place_l(r)), which is a term of larmor_segments_of_terms with -time.
 * Errors   LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY.
 * Source   Bernstein et al., Magn. Reson. Med. 39, 300 (1998), of symmetric gradients. */
LARMOR_API larmor_status larmor_concomitant_phase(const larmor_array *traj, double dwell_s, double tesla,
                                                  double gamma_hz, larmor_array **time);

/* The functions of place of larmor_concomitant_phase: f64 [image..., 4] in m^2 of positions real [3, image...] in m.
 * Errors: as there. */
LARMOR_API larmor_status larmor_concomitant_places(const larmor_array *position, larmor_array **h);

/* ---- displacement: gradients that are not linear, motion that is not rigid ---- */

enum { LARMOR_GRADIENT_ORDER = 24 }; /* the highest of harmonics of gradients */

/* The errors of a gradient system from a text file of its spherical harmonics, in one of two layouts.
 *
 * Of Siemens, .grad: a line "0.25 m = R0" and lines "1 A( 3, 1) -0.0123 x"; others are left out. x, y and z point to
 * the left, the front and the feet of a patient who lies head first on the back.
 *
 * Plain: lines "radius 0.25" in m, "axes LPS" (of L or R, P or A, S or I each; the default is LPS) and those of
 * Siemens' .coef, "Alpha_x 3 1 -0.0123" or "Beta_y 3 1 0.01"; # begins a comment, and ; ends a line.
 *
 * Alpha (A) and Beta (B) of order n and degree m along an axis are the displacement, over the radius R, by
 * (r / R)^n Q cos(m phi) or sin(m phi), where Q is P_n(cos theta) for m = 0 and else P_n^m(cos theta) sqrt((2n + 1)
 * (n - m)! / (2 (n + m)!)), positive near theta = 0. The ideal gradient is not among them.
 *
 * field   f64 [N + 1, N + 1, 2, 3], N the highest order: along L, P and S of the patient, the factors in m^(1 - n) of
 *         r^n P_n^m(cos theta) cos(m phi) and, second, sin(m phi). The caller's.
 * Errors  LARMOR_ERR_FORMAT with "FILE:LINE: "; LARMOR_ERR_IO; LARMOR_ERR_ARG; LARMOR_ERR_MEMORY.
 * Source  Jovicich et al., NeuroImage 30, 436 (2006); layouts and factors as gradunwarp reads them. */
LARMOR_API larmor_status larmor_gradient_field_read(const char *path, larmor_device *dev, larmor_array **field);

/* Where images show what is at their voxels: at r + d(r), with d in voxels of this image.
 *
 * field         of larmor_gradient_field_read.
 * image         field of view, position from the isocentre and directions count; a patient who lies head first on the
 *               back is assumed.
 * shape         of 1 to 3 dimensions. d across the plane of a 2D image is left out.
 * displacement  f64 [shape..., shape.ndim], on the field's device; the caller's.
 * Errors        LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_MEMORY.
 * Source        Janke et al., Magn. Reson. Med. 52, 115 (2004). */
LARMOR_API larmor_status larmor_gradient_displacement(const larmor_array *field, const larmor_image_meta *image,
                                                      larmor_shape shape, larmor_array **displacement);

/* The determinant of the derivatives of r + d(r) by central differences: f64 [image...] of a real displacement
 * [image..., nd] in voxels. Errors: LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_displacement_jacobian(const larmor_array *displacement, larmor_array **jacobian);

/* e(r) with e(r + d(r)) = -d(r): from where a place is shown to where it is. d between voxels is by cubic
 * convolution, beyond the image that of its edge. Errors: those of larmor_displacement_jacobian; LARMOR_ERR_NUMERIC
 * also where r + d(r) folds space. */
LARMOR_API larmor_status larmor_displacement_inverse(const larmor_array *displacement, larmor_array **inverse);

typedef enum larmor_warp_by {
    LARMOR_WARP_BAND, /* exact for the sum of the image's own frequencies, by an FFT and a NUFFT */
    LARMOR_WARP_CUBIC /* cubic convolution, which does not ring */
} larmor_warp_by;

typedef struct larmor_warp_opts { /* zero means default */
    larmor_warp_by by;
    int jacobian; /* 1: times that of the displacement: what an image shows in a smaller volume is brighter in it */
} larmor_warp_opts;

/* y(r) = x(r + d(r)), times the Jacobian if asked for; 0 where that is beyond the image.
 *
 * By the displacement of larmor_gradient_displacement and with the Jacobian it corrects a finished image; by
 * larmor_displacement_inverse of that it makes such an image of a true one.
 *
 * x             real or complex [image..., more].
 * displacement  real [image..., nd], in voxels.
 * opts          may be NULL.
 * y             of x's shape, type and device; the caller's.
 * Errors        LARMOR_ERR_ARG, LARMOR_ERR_SHAPE, LARMOR_ERR_NUMERIC, LARMOR_ERR_MEMORY.
 * Source        cubic: Keys, IEEE Trans. Acoust. Speech Signal Process. 29, 1153 (1981). */
LARMOR_API larmor_status larmor_warp(const larmor_array *x, const larmor_array *displacement,
                                     const larmor_warp_opts *opts, larmor_array **y);

LARMOR_C_END
#endif
