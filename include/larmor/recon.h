/* MR reconstruction on top of operators: trajectories, density compensation, coils, SENSE.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_RECON_H
#define LARMOR_RECON_H

#include "larmor/nufft.h"
#include "larmor/operators.h"
#include "larmor/solve.h"

LARMOR_C_BEGIN

/* Shapes throughout: image [nx, ny] or [nx, ny, nz]; maps [image..., coils]; kspace [samples, readouts, coils]; traj
 * [nd, samples, readouts] real, cycles per field of view in [-N/2, N/2); weights [samples, readouts] real and >= 0.
 * The arrays of a call are on one device. Arrays that do not fit each other are LARMOR_ERR_SHAPE. */

/* ---- trajectories ---- */

/* Zero means default. Not every trajectory uses every field; `larmor traj --help` lists which uses which. */
typedef struct larmor_traj_opts {
    int64_t matrix[3]; /* N of the image the trajectory is for; needed; matrix[2] > 1 makes stars and cartesian 3D */
    int64_t readouts;  /* spokes, arms, or lines; default: as many as Nyquist asks for */
    int64_t samples;   /* per readout; default: 2 N_x for spokes, N_x for lines, as Nyquist asks for an arm */
    int64_t tiny; /* golden, stars: index of the tiny golden angle pi / (tau + tiny - 1); 0 or 1 is the golden one */
    double density; /* spiral: exponent of the radial growth, 1 Archimedean, > 1 denser in the centre; default 1 */
    double undersampling; /* divides the default number of readouts; default 1 */
    int64_t first;        /* readouts of the series before this trajectory: golden, stars and koosh continue their
                                angles; radial and spiral rotate, for every `readouts` of these, by the golden
                                fraction of the angle between neighbours; cartesian ignores it; default 0 */
    int64_t repetition; /* of a series of such trajectories: this many times its readouts count as well; default 0 */
    int64_t acceleration[2]; /* cartesian: every R-th line along y and z, the centre among them; default 1, 1 */
    int64_t calibration[2]; /* cartesian: fully sampled lines in the middle of y and z; default 0: none in y, and in z
                               as many as in y, at most all */
    double partial_fourier; /* cartesian: the sampled part of y, 1/2 < F <= 1; lines below centre - (F - 1/2) N are
                               left out unless they are for calibration; default 1 */
} larmor_traj_opts;

/* Make a trajectory by name, one of larmor_traj_entry.
 *
 * traj    [nd, samples, readouts] f64. Spokes are sampled at k = (i - floor(samples/2)) N / samples, so that sample
 *         floor(samples/2) is the centre of k-space; spiral arms start in the centre. Stars: readouts counts the
 *         spokes of a partition, and the array has readouts times N_z of them, partitions outermost.
 * Errors  LARMOR_ERR_ARG for an unknown name (the message lists the known ones) or sizes out of range;
 *         LARMOR_ERR_MEMORY.
 * Source  golden angle: Winkelmann et al., IEEE Trans. Med. Imaging 26, 68 (2007); tiny: Wundrak et al., IEEE Trans.
 *         Med. Imaging 34, 1262 (2015); koosh: Chan et al., Magn. Reson. Med. 61, 354 (2009); phyllotaxis, which
 *         turns as radial does after opts.first: Piccini et al., Magn. Reson. Med. 66, 1049 (2011). */
LARMOR_API larmor_status larmor_traj_create(larmor_device *dev, const char *name, const larmor_traj_opts *opts,
                                            larmor_array **traj);

enum { LARMOR_LINE_IMAGING = 1, LARMOR_LINE_CALIBRATION = 2 };

/* The purpose of a Cartesian line at (ky, kz) cycles per field of view: the sum of LARMOR_LINE_IMAGING, if it is
 * one of every R-th lines, and LARMOR_LINE_CALIBRATION, if it is in the fully sampled middle. 0: it is left out. */
LARMOR_API int larmor_traj_line_role(const larmor_traj_opts *opts, int64_t ky, int64_t kz);

/* The trajectory of delayed gradients: each coordinate at sample i is that of sample i - delay.
 *
 * traj     [nd, samples, readouts] real.
 * delay    in samples: x, y, z, xy, xz, yz; those of directions beyond nd are not used. Of a coupling such as xy,
 *          x is moved further by what y would be moved by such a delay, and y by what x would: along a straight
 *          readout the shift is minus the symmetric matrix of delays times the step from one sample to the next.
 * fov      [nd] relative lengths of the field of view, which couplings need; NULL: alike.
 * delayed  f64 of traj's shape. Between samples a cubic through four of them (fewer samples: a line), beyond the ends
 *          straight on: exact for straight, even readouts.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for a delay that is not finite; LARMOR_ERR_MEMORY.
 * Source   Rosenzweig, Holme, Uecker, Magn. Reson. Med. 81, 1898 (2019). */
LARMOR_API larmor_status larmor_traj_delay(const larmor_array *traj, const double delay[6], const double *fov,
                                           larmor_array **delayed);

typedef struct larmor_coverage { /* of k-space by samples, by axis */
    double low[3], high[3];      /* the outermost coordinates, 0 included */
    int partial[3];              /* 1: one side ends clearly before the other, as in partial Fourier acquisitions */
} larmor_coverage;

/* How far samples reach on either side of the centre of k-space.
 *
 * traj    [nd, samples, readouts] or [nd, m], real.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for a coordinate that is not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_traj_coverage(const larmor_array *traj, larmor_coverage *coverage);

/* How well one image on the field of view explains the centre of k-space, of the coil with most energy: 0 for data
 * that are consistent with the trajectory, towards 1 for others. Two trajectories for the same data may be
 * compared so, if there are more readouts than an image of that resolution needs.
 *
 * kspace    [samples, readouts, coils], complex; traj [2, samples, readouts], real.
 * residual  |W^(1/2) (F x - y)| / |W^(1/2) y| of the least squares image x, with weights |k|, within 6/FOV or as many
 *           1/FOV as there are sixths of readouts.
 * Errors    LARMOR_ERR_SHAPE; LARMOR_ERR_ARG for fewer than 10 readouts; LARMOR_ERR_NUMERIC; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_traj_consistency(const larmor_array *kspace, const larmor_array *traj,
                                                 double *residual);

typedef struct larmor_traj_info {
    const char *name, *help; /* help: one line, in brackets the options that count for it */
    const char *header;      /* in ISMRMRD headers: "cartesian", "radial", "goldenangle", "spiral"; NULL: "other" */
    int solid;               /* 1: 3D by default, a matrix[2] of 0 is matrix[0]; else it is 1 */
    int lines; /* 1: Cartesian lines, which may be chosen by acceleration, calibration, partial_fourier */
} larmor_traj_info;

/* Trajectory i of those that larmor_traj_create knows; past the last its name is NULL. */
LARMOR_API larmor_traj_info larmor_traj_entry(int i);

/* ---- density compensation ---- */

/* Weights for gridding: sum_j w_j over all samples approximates the sampled area of k-space in units of 1/FOV^nd, so
 * that A^H W A / prod(N) has unit gain for a fully sampled trajectory.
 *
 * ramp    analytic, for straight readouts through (or starting from) the centre, uniform in angle: |k|^(nd-1).
 *         LARMOR_ERR_ARG if the readouts are not such lines.
 * pipe    iters iterations (15 if 0) of w <- w / |G w|, G = gridding followed by interpolation, for any
 *         trajectory.
 * voronoi areas of the samples' Voronoi cells, for any 2D trajectory; of a 3D one whose samples lie in partitions
 * along
 *         z, times the length along z. Samples within 0.001/FOV share a cell. Cells at the rim end outwards where
 *         they
 *         end inwards. LARMOR_ERR_ARG for other 3D trajectories and for samples on a line.
 * spiral  analytic, for 2D arms that are rotated copies of each other, outwards, inwards or both: r dr/dt.
 *         LARMOR_ERR_ARG if the readouts are not such arms.
 * image   shape of the image, [nx, ny(, nz)].
 * w       [samples, readouts], real of traj's dtype.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for a coordinate that is not finite;
 *         LARMOR_ERR_MEMORY.
 * Source  Pipe and Menon, Magn. Reson. Med. 41, 179 (1999); Rasche et al., IEEE Trans. Med. Imaging 18, 385 (1999);
 *         Hoge, Kwan, Pike, Magn. Reson. Med. 38, 117 (1997). */
LARMOR_API larmor_status larmor_density_ramp(const larmor_array *traj, larmor_shape image, larmor_array **w);
LARMOR_API larmor_status larmor_density_pipe(const larmor_array *traj, larmor_shape image, int iters,
                                             larmor_array **w);
LARMOR_API larmor_status larmor_density_voronoi(const larmor_array *traj, larmor_shape image, larmor_array **w);
LARMOR_API larmor_status larmor_density_spiral(const larmor_array *traj, larmor_shape image, larmor_array **w);

/* ramp for straight readouts, else pipe; pipe also for straight readouts where its point spread function promises
 * less than 3/4 of the ramp's error (in 3D .95), for bodies that fill most of the field of view. Of a volume of more
 * than 64^3 voxels the centre of k-space with so many of them is compared.
 *
 * taken   gets the name, which is not to be freed.
 * Errors  as above. */
LARMOR_API larmor_status larmor_density_auto(const larmor_array *traj, larmor_shape image, const char **taken,
                                             larmor_array **w);

/* ---- noise and coils ---- */

/* The matrix that makes noise white with unit variance in its real and in its imaginary part: W = scale sqrt(2)
 * inv(chol(R)), R = n n^H / (M-1), loaded on the diagonal when M < 5 coils.
 *
 * noise   [samples, coils] complex, M samples.
 * scale   sqrt(dwell of the data / dwell of the noise * receiver bandwidth ratio); 1 if they were alike.
 * W       [coils, coils] complex, W(i, j) at i + coils j.
 * Errors  LARMOR_ERR_ARG for a scale that is not finite and > 0; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC if a coil
 *         has no noise at all or M < 2.
 * Source  Kellman and McVeigh, Magn. Reson. Med. 54, 1439 (2005). */
LARMOR_API larmor_status larmor_noise_whitening(const larmor_array *noise, double scale, larmor_array **W);

/* kspace <- kspace mixed over its last dimension (coils) by W, in place: y_i <- sum_j W(i, j) y_j.
 *
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE if W is not [coils, coils] of kspace's dtype. */
LARMOR_API larmor_status larmor_whiten(const larmor_array *W, larmor_array *kspace);

/* The inverse of a whitening matrix: larmor_whiten with it undoes W. White noise becomes that of the coils, and
 * maps of whitened coils become those of the coils themselves.
 *
 * W       [coils, coils] complex, as larmor_noise_whitening makes it.
 * C       as W.
 * Errors  LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC if W has no inverse. */
LARMOR_API larmor_status larmor_noise_colouring(const larmor_array *W, larmor_array **C);

/* The standard deviation of the real and of the imaginary part of the noise, estimated from the data themselves: the
 * root of the mean square over coils.
 *
 * It is found from the median of differences along the readouts at the rim of k-space, beyond 0.9 of its radius,
 * where signal is least and smooth. Readouts that have few samples there are used further in. The differences are
 * of the third order, or, where most samples are at most 0.6 cycles per field of view apart, of the eighth, by
 * which less of the object passes. Signal that is left makes the estimate too large, never too small.
 *
 * kspace     c64 [samples, readouts, coils], of readouts in their order.
 * traj       [nd, samples, readouts].
 * deviation  0 if no readout has four samples.
 * Errors     LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_noise_level(larmor_array *kspace, const larmor_array *traj, double *deviation);

/* The same of lines along one axis at even distances, by how well samples are predicted from those around them, in
 * windows of 5 x 5 samples of up to 4 coils, or of 7 x 7 of one: an object that does not fill the field of view, and
 * coils that are smooth, leave combinations of samples that hold noise alone. With six coils it was within a tenth of
 * the noise however little there was, with two up to 2.4 times it (docs/records/noise.md); of one coil whose object
 * fills the field of view more signal is left.
 *
 * deviation  0 where too few lines lie beside each other, or ranks have parts of them.
 * of_coil    [coils], of each by itself, where the deviation is above 0; NULL: not asked for, and only some of many
 *            coils are looked at. One of four times the noise of others has 2 to 3.5 times theirs, as it is a mean
 *            with those that predict it.
 * Errors     as above. */
LARMOR_API larmor_status larmor_noise_of_lines(larmor_array *kspace, const larmor_array *traj, double *deviation,
                                               double *of_coil);

typedef struct larmor_coils_opts { /* zero means default */
    int64_t calibration; /* side of the centre of k-space that is used, in samples of 1/FOV; default 32, at most N */
    int64_t window;    /* side of the neighbourhood that shares a covariance, in calibration pixels; default 3, odd */
    double encoded[3]; /* the field of view that was encoded, as part of the image's, for the report; default 1 */
    int64_t first, planes; /* maps of these planes along the last axis alone, the same numbers; default: of all */
    const larmor_array *density; /* of larmor_coils_density, for images with the same trajectory; default: is found */
} larmor_coils_opts;

/* Why maps from the data may be wrong. */
typedef enum larmor_maps_warning {
    LARMOR_MAPS_TRUSTED,
    LARMOR_MAPS_UNDERSAMPLED, /* the centre has gaps, so that the images behind the maps are aliased */
    LARMOR_MAPS_AMBIGUOUS     /* neighbourhoods have no dominant eigenvector: mostly noise, or signal folded in */
} larmor_maps_warning;

typedef struct larmor_coils_report { /* how far the maps can be trusted */
    /* part of the centre's cells that hold a sample, weighted as the data are; cells of 1/FOV of the encoded one */
    double sampled;
    double dominance; /* part of the energy of all neighbourhoods that their dominant eigenvectors hold */
    larmor_maps_warning warning;
} larmor_coils_report;

/* Coil sensitivity maps from the centre of the data themselves: gridded at low resolution, then in every
 * neighbourhood the dominant eigenvector of the coil covariance; its phase is that of a fixed combination of coils.
 * sum_c |s_c|^2 = 1 wherever there is signal.
 *
 * kspace   [samples, readouts, coils], complex.
 * traj     [nd, samples, readouts].
 * weights  density compensation [samples, readouts] or NULL (then Pipe-Menon on the centre).
 * image    shape of the image, [nx, ny(, nz)].
 * opts     may be NULL.
 * maps     [image..., coils], dtype of kspace.
 * report   may be NULL.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC if the centre holds no samples or no signal.
 * Source   Walsh, Gmitro, Marcellin, Magn. Reson. Med. 43, 682 (2000). */
LARMOR_API larmor_status larmor_coils_estimate(const larmor_array *kspace, const larmor_array *traj,
                                               const larmor_array *weights, larmor_shape image,
                                               const larmor_coils_opts *opts, larmor_array **maps,
                                               larmor_coils_report *report);

/* The density weights that larmor_coils_estimate finds for the centre of k-space where it is given none: they
 * depend on the trajectory alone, and larmor_coils_opts.density takes them.
 *
 * traj, image, opts  as above; of opts the calibration counts.
 * density  becomes f64 [samples in the centre].
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC if the centre holds no samples. */
LARMOR_API larmor_status larmor_coils_density(const larmor_array *traj, larmor_shape image,
                                              const larmor_coils_opts *opts, larmor_array **density);

/* One image of the images of all coils, as a method without maps has them ("clear" of larmor_regulariser_create):
 * sum_c conj(s_c) x_c, with maps s by larmor_coils_estimate of the centre of their own k-space.
 *
 * images    [image..., coils], complex, of the whole field of view.
 * combined  [image...], dtype of images; its shading is that of their root sum of squares.
 * Errors    LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for images of zeros; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_coils_combine(const larmor_array *images, larmor_array **combined);

/* ---- field of view ---- */

typedef struct larmor_extent_opts { /* zero means default */
    double most;                    /* the largest factor to look for, above 1 and at most 4; default 2 */
    double threshold; /* signal outside that counts, relative to that inside as amplitudes; default 0.03 */
} larmor_extent_opts;

typedef struct larmor_extent {
    double factor[3]; /* of the field of view along each axis that hold the object, from 1 to most */
    double outside;   /* signal beyond the field of view along the axis that has most, relative to that inside */
    double misfit;    /* of an image on the field of view: what it leaves of the centre of k-space, beyond noise, over
                 * that */
    double enlarged;  /* the same on the largest field of view that was tried */
} larmor_extent;

/* How far the object reaches beyond the field of view, as far as the data show it.
 *
 * An image of low resolution that is confined to the field of view cannot explain all of the centre of k-space,
 * and the object outside is where the rest comes from. Errors of the trajectory, off-resonance and motion appear
 * outside as well, but a larger field of view does not explain them: where it leaves more than 0.15 of misfit^2
 * the factor is 1. Data do not show an object outside along Cartesian phase encoding, nor where the centre is
 * undersampled; the factor is then 1, and larmor_predict_field_of_view may tell more.
 *
 * kspace   [samples, readouts, coils], complex.
 * traj     [nd, samples, readouts], cycles per field of view.
 * image    shape of the image on that field of view, [nx, ny(, nz)].
 * opts     may be NULL.
 * Errors   LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_field_of_view_extent(const larmor_array *kspace, const larmor_array *traj,
                                                     larmor_shape image, const larmor_extent_opts *opts,
                                                     larmor_extent *extent);

/* ---- SENSE ---- */

typedef struct larmor_sense_opts { /* zero means default */
    const larmor_array *traj;      /* [nd, samples, readouts] or [nd, m]; needed */
    const larmor_array *weights; /* real >= 0, [samples, readouts]; NULL for 1. Forward and adjoint get their root */
    double nufft_tol;            /* default 1e-5 */
    larmor_segments *off_resonance; /* of a field map on the image and the times of the samples; NULL: on resonance */
    int64_t block;                  /* coils at a time: fewer need less memory; default: all at once */
    int toeplitz;  /* normal map by larmor_op_toeplitz: 1 on, -1 off; default: where it is expected to be quicker for
                      `iters` normal maps and fits into the memory that is free */
    int64_t iters; /* normal maps to expect; default 10 */
    larmor_plan_effort effort; /* how the NUFFT's grid is chosen; above ESTIMATE the default of toeplitz is what one
                                  normal map of each takes, unless the model finds it much slower */
    const larmor_array *displacement; /* real [image..., nd] in voxels: F is larmor_op_nufft_displaced; NULL: none */
} larmor_sense_opts;

/* SENSE: sqrt(W) F S, from an image to the k-space of all coils. With off_resonance F is larmor_op_segments of
 * what it is without, and Toeplitz is larmor_op_segments_toeplitz. F is larmor_op_nufft or, on a processor and
 * where the readouts are in partitions along z, larmor_op_stack_of_stars: the same within nufft_tol. The normal
 * map is S^H F^H W F S, the middle of which may be a Toeplitz operator, within nufft_tol again. Where all samples
 * are on the grid, to a third of nufft_tol, F is larmor_op_cartesian and the middle larmor_op_cartesian_normal,
 * whatever toeplitz says; the operator's name is then "sense-cartesian".
 *
 * With a displacement voxel r is at r + d(r): y(k) = sqrt(w(k)) sum_r s_c(r) x(r) exp(-2 pi i k.(r + d(r)) / N), for
 * maps at r, and what a field does to it is that of the voxel r. The normal map is the adjoint after the forward map.
 *
 * Where the maps are on a group of devices (larmor_device_open), its members share the coils, a part of them each
 * (larmor_op_distribute), without off_resonance and displacement and for one set of maps; block is then that of
 * each. Elsewhere, and with those, the group is one device.
 *
 * maps    [image..., coils], complex; the operator has their dtype and device. Or [image..., coils, sets], as ESPIRiT
 *         finds where the object folds within the field of view: then each set has an image of its own, A is from
 *         [image..., sets], and its coil images are the sums over the sets, sum_m s_cm x_m (soft SENSE).
 * A       [image...] to [samples, readouts, coils]. y(k) = sqrt(w(k)) sum_r s_c(r) x(r) exp(-2 pi i k.r / N), r
 *         centred at floor(N / 2), unscaled. With weights the data are multiplied by their root, too.
 * Errors  LARMOR_ERR_ARG without a trajectory, or for weights below 0; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for
 *         values that are not finite or a tolerance out of reach; LARMOR_ERR_MEMORY.
 * Source  Pruessmann, Weiger, Boernert, Boesiger, Magn. Reson. Med. 46, 638 (2001); sets: Uecker et al., Magn. Reson.
 *         Med. 71, 990 (2014); with Toeplitz: Fessler et al., IEEE Trans. Signal Process. 53, 3393 (2005). */
LARMOR_API larmor_status larmor_op_sense(larmor_array *maps, const larmor_sense_opts *opts, larmor_op **A);

/* The samples that are held out, by themselves, of an operator of larmor_op_sense.
 *
 * maps, sense  of the operator of all samples, A: a sample is its point of k-space and nothing else, so that
 *              off_resonance and displacement are NULL.
 * b            [samples, readouts, coils], what images are made from.
 * held         factors as larmor_hold_out gives them, and noise like b or NULL.
 * part         to be freed by larmor_held_part_free; zeros where nothing is held out.
 * Errors       LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; those of larmor_op_sense. */
LARMOR_API larmor_status larmor_hold_part(larmor_array *maps, const larmor_sense_opts *sense, const larmor_array *b,
                                          const larmor_held_out *held, larmor_held_part *part);
LARMOR_API void larmor_held_part_free(larmor_held_part *part); /* NULL is fine; it is zeros then */

/* A becomes the operator for the maps of another image with the same trajectory and weights. What depends on these
 * alone stays, such as the points in their order and the point spread function, so that it takes next to no time.
 *
 * A       of larmor_op_sense; it must not be part of others, nor in use.
 * maps    of the shape, the type and the device of those before. A reference is kept.
 * Errors  LARMOR_ERR_UNSUPPORTED if A is another operator, or devices or processes share its coils; LARMOR_ERR_SHAPE;
 *         LARMOR_ERR_MEMORY. A is as it was then. */
LARMOR_API larmor_status larmor_sense_set_maps(larmor_op *A, larmor_array *maps);

/* The adjoint in two steps, of which the first depends on no maps: images <- F^H sqrt(W) y, then x <- S^H images.
 * Together they give the bits of larmor_op_adjoint.
 *
 * A       as for larmor_sense_set_maps.
 * y       [samples, readouts, coils]. images: [image..., coils]. x: [image...], with sets [image..., sets].
 * Errors  LARMOR_ERR_UNSUPPORTED; LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_sense_coil_images(larmor_op *A, const larmor_array *y, larmor_array *images);
LARMOR_API larmor_status larmor_sense_combine(larmor_op *A, const larmor_array *images, larmor_array *x);

/* kspace <- sqrt(weights) .* kspace, in place: prepares data for a larmor_op_sense with these weights.
 *
 * weights  real >= 0, [samples, readouts]; NULL for 1. kspace: complex [samples, readouts, coils].
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_ARG; LARMOR_ERR_NUMERIC for weights that are not finite. */
LARMOR_API larmor_status larmor_sense_weigh(const larmor_array *weights, larmor_array *kspace);

/* 1 if A is an operator of larmor_op_sense whose normal map is Toeplitz, else 0. */
LARMOR_API int larmor_sense_uses_toeplitz(const larmor_op *A);

/* ---- memory ---- */

typedef struct larmor_problem { /* the sizes of a reconstruction */
    larmor_shape image;
    int64_t samples, coils; /* samples: of one coil */
    larmor_dtype dtype;     /* LARMOR_C64 or LARMOR_C128 */
    int weighted;           /* 1: larmor_op_sense gets weights */
    int64_t sets;           /* of maps, as larmor_op_sense takes them; 0 for maps without that dimension */
    int64_t repeats;        /* all samples are on the grid, and so many at one place at most; 0: they are not */
} larmor_problem;

/* Bytes of device memory that a step takes at most, beyond its inputs and its result: estimates from above, before
 * anything is made.
 *
 * sense      larmor_op_sense and its forward, adjoint and normal maps; of opts all but weights; with traj it is
 *            known whether the readouts are in partitions. The vectors of a solver are not in it
 *            (larmor_cg_memory, larmor_regularised_memory). Where ranks share the coils (larmor_sense_share) it is
 *            that of rank 0; each of the others has copies of its coils' maps, of trajectory and weights, and two
 *            images and its coils' samples beside.
 * density    larmor_density_pipe; larmor_density_ramp takes less.
 * coils      larmor_coils_estimate without weights.
 * extent     larmor_field_of_view_extent.
 * circulant  larmor_circulant_create. Its result, the inverse and the work buffers of that take 3 images.
 * Errors     LARMOR_ERR_ARG and LARMOR_ERR_SHAPE for impossible sizes. */
LARMOR_API larmor_status larmor_sense_memory(const larmor_device *dev, const larmor_problem *problem,
                                             const larmor_sense_opts *opts, int64_t *bytes);
LARMOR_API larmor_status larmor_density_memory(const larmor_device *dev, const larmor_problem *problem,
                                               int64_t *bytes);
LARMOR_API larmor_status larmor_circulant_memory(const larmor_device *dev, const larmor_problem *problem,
                                                 int64_t *bytes);
LARMOR_API larmor_status larmor_coils_memory(const larmor_device *dev, const larmor_problem *problem,
                                             const larmor_coils_opts *opts, int64_t *bytes);
LARMOR_API larmor_status larmor_coils_combine_memory(const larmor_device *dev, const larmor_problem *problem,
                                                     int64_t *bytes);
LARMOR_API larmor_status larmor_extent_memory(const larmor_device *dev, const larmor_problem *problem,
                                              const larmor_extent_opts *opts, int64_t *bytes);

/* ---- images ---- */

/* x <- sqrt(sum_c |coils_c|^2) of coil images [image..., coils], x of their dtype. Errors: LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_root_sum_of_squares(const larmor_array *coils, larmor_array *x);

/* x <- x / sum_c |s_c|^2 with maps [image..., coils]; 0 where that is at most 1e-6 of its maximum, or `least` of it.
 * sets > 1: maps are [image..., coils, sets], and each of the images x [image..., sets] is divided by the largest
 * energy of the sets at its voxel. Errors: LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_divide_by_energy(const larmor_array *maps, larmor_array *x);
LARMOR_API larmor_status larmor_divide_by_energy_above(const larmor_array *maps, int sets, double least,
                                                       larmor_array *x);

/* x <- 0 where all maps [image..., coils] are 0: values there come from a penalty and are not measured. x is of the
 * maps' dtype. Errors: LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_clear_unseen(const larmor_array *maps, larmor_array *x);

/* Of several sets of maps, [image..., coils, sets], m one of them:
 *
 * normalise  maps <- maps / sqrt(max_m sum_c |s_cm|^2): the strongest set has the energy 1 at each voxel.
 * join       joined [image...] <- sqrt(sum_c |sum_m s_cm x_m|^2 / max_m sum_c |s_cm|^2), the root sum of squares of
 *            the coils' images. Of one set it is |x|, of orthogonal ones of the same energy the root sum of squares
 *            of their images; how sets share them does not matter.
 * Errors     LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_sets_normalise(larmor_array *maps);
LARMOR_API larmor_status larmor_sets_join(larmor_array *maps, larmor_array *x, larmor_array *joined);

/* y <- scale x in another shape of as many dimensions, 1 to 3. The centre, index floor(N/2), stays the centre, and
 * new voxels are 0. x is complex. Errors: LARMOR_ERR_SHAPE. */
LARMOR_API larmor_status larmor_crop(const larmor_array *x, larmor_shape shape, double scale, larmor_array **y);

/* The same field of view with other voxels. The centre, index floor(N/2), stays the centre.
 *
 * larmor_resize       x complex [image..., more], coil maps for example; shape: of the image, 1 to 3 dimensions.
 *                     By cubic convolution; the outer voxels are repeated, and zeros make none beside them ring
 *                     far.
 * larmor_resize_band  x complex [image...] of 1 to 3 dimensions. By the Fourier transform, whose missing
 *                     frequencies are 0 and whose others are cut off.
 * Errors              LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY.
 * Source              Keys, IEEE Trans. Acoust. Speech Signal Process. 29, 1153 (1981). */
LARMOR_API larmor_status larmor_resize(const larmor_array *x, larmor_shape shape, larmor_array **y);
LARMOR_API larmor_status larmor_resize_band(const larmor_array *x, larmor_shape shape, larmor_array **y);

LARMOR_C_END
#endif
