/* What the sources of coil maps offer each other and the rest of recon. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/array.h"
#include "larmor/maps.h"
#include "larmor/nlinv.h"
#include "recon/kernels.h"

/* ---- the samples in the centre of k-space ---- */

/* m samples of a scan, those within an ellipsoid around the centre. */
typedef struct lmr_centre {
    larmor_device *dev;
    const lmr_recon_kernels *kernels;
    int nd;
    double radius[3];
    int64_t samples, m;   /* of the scan; of them */
    larmor_array *index;  /* i64 [samples], of which m say which those are */
    larmor_array *points; /* f64 [nd, m] */
} lmr_centre;

/* Choose the samples with sum_d (k_d / radius_d)^2 < 1.
 *
 * k        f64 [nd, samples...], finite.
 * dtype    of the k-space that is to be gathered, for its kernels.
 * centre   to be freed in either case; m may be 0, then points is NULL. */
larmor_status lmr_centre_select(const larmor_array *k, larmor_dtype dtype, const double radius[3],
                                lmr_centre *centre);
void lmr_centre_free(lmr_centre *centre);

/* values, complex [m, coils] of kspace's dtype, <- w_j times the samples that were chosen; w: f64 [m]. */
larmor_status lmr_centre_gather(const lmr_centre *centre, const larmor_array *w, const larmor_array *kspace,
                                int64_t coils, larmor_array **values);

/* The part of the centre's cells of 1/encoded that hold one of the samples that were chosen, cells weighted by the
 * energy that Hann's window leaves them. encoded: field of view in units of that of the points. */
larmor_status lmr_part_sampled(const lmr_centre *centre, const double encoded[3], double *part);

/* ---- the space of a calibration region's windows ---- */

/* A region of k-space on the host, and the windows that move within it; unused dimensions are 1. */
typedef struct lmr_windows {
    const double _Complex *data; /* [side..., coils] */
    int64_t side[3], kernel[3], coils;
    double noise; /* mean of |noise|^2 of a sample at most; 0: not known */
} lmr_windows;

/* Differences of two places in a window. */
int64_t lmr_windows_lags(const lmr_windows *w);

/* G(r) = sum_l lags(l) exp(2 pi i l.r / fov) / places is, at each place r of the image, the part of the projection
 * onto the windows' space that keeps r: maps are its eigenvectors to eigenvalue 1.
 *
 * threshold  eigenvalues of the windows' Gram matrix that are signal, relative to the largest; those that noise may
 *            have are none, however.
 * lags       c128 [coils, coils, lags...] on dev, l from -(kernel - 1) to kernel - 1 along each axis.
 * signal     how many eigenvectors span the space.
 * noise      mean of |noise|^2 of a sample, from the smaller eigenvalues, at most w->noise where that is known; else
 *            too large where most are signal.
 * Errors     LARMOR_ERR_NUMERIC for a region without signal; LARMOR_ERR_MEMORY; LARMOR_STOPPED.
 * Source     Uecker et al., Magn. Reson. Med. 71, 990 (2014), Eqs. 9 to 17. */
larmor_status lmr_windows_space(larmor_device *dev, const lmr_windows *w, double threshold, larmor_array **lags,
                                int64_t *signal, double *noise);

/* Bytes that it takes on the device, the lags among them. */
double lmr_windows_bytes(const lmr_windows *w);

/* ---- maps of low resolution on the image's grid ---- */

/* Bytes of device memory that planes of maps take beside them; image: whole. */
double lmr_maps_interpolate_planes_bytes(larmor_dtype dtype, const int64_t n[3], larmor_shape image, int64_t planes);

/* maps [image..., coils] <- planes `first` and the following, as many as maps have, of low, c128 [n..., coils], as an
 * image with `planes` along its last axis: by cubic convolution. */
larmor_status lmr_maps_resize(const larmor_array *low, const int64_t n[3], int64_t first, int64_t planes,
                              larmor_array *maps);

/* maps [image..., coils] <- low, c128 [n..., coils] over the same field of view, by cubic convolution, divided so
 * that sum_c |s_c|^2 = 1. Dimensions of `low` may be joined; n has 1 in dimensions that the image lacks. */
larmor_status lmr_maps_interpolate(const larmor_array *low, const int64_t n[3], larmor_array *maps);

/* The same of planes `first` and the following of an image with `planes` along its last axis, as many as maps
 * have. */
larmor_status lmr_maps_interpolate_planes(const larmor_array *low, const int64_t n[3], int64_t first, int64_t planes,
                                          larmor_array *maps);

/* Bytes of device memory that it takes. */
double lmr_maps_interpolate_bytes(larmor_dtype dtype, larmor_shape image);

/* ---- the model of nonlinear inversion: coil images are products of images and smooth maps ---- */

/* Unknowns are one line of numbers: the images [image..., sets], then the maps' coefficients [box..., coils,
 * sets].
 *
 * Coefficients are those of a Fourier series on the doubled field of view, divided by the weights of the Sobolev
 * norm; box holds those that the weights leave. Its centre is at the highest frequency of the doubled grid, so
 * that maps and images have the signs (-1)^i along each axis: no phases are multiplied with on the way, and
 * lmr_nlinv_result takes the signs away. */
typedef struct lmr_nlinv {
    larmor_device *dev;
    larmor_dtype dtype;
    const lmr_recon_kernels *kernels;
    larmor_shape image, fine, box;             /* fine: twice the image */
    int64_t coils, sets, voxels, modes, block; /* of image and of box; coils that are transformed at a time */
    larmor_op *T;                              /* F^H W F, of mean eigenvalue 1, on [image..., coils] */
    double scale;                              /* of T */
    larmor_op *F;                              /* on [fine..., block] */
    larmor_array *weight;                      /* [box...] */
    larmor_array *wide, *spectrum;             /* [fine..., block] */
    larmor_array *part;                        /* [box..., block] */
    larmor_array *at;                          /* the unknowns at which the derivative is taken */
    larmor_array *maps;                        /* [image..., coils, sets], theirs */
    larmor_array *sum, *backprojected, *one;   /* [image..., coils] */
} lmr_nlinv;

/* image, coils and dtype are those of the problem; in opts are no zeros but for weights. */
larmor_status lmr_nlinv_create(larmor_device *dev, const larmor_problem *p, const larmor_nlinv_opts *opts,
                               const larmor_array *traj, lmr_nlinv *n);
void lmr_nlinv_free(lmr_nlinv *n);

/* Take other samples, at traj; the rest stays. */
larmor_status lmr_nlinv_sample(lmr_nlinv *n, const larmor_nlinv_opts *opts, const larmor_array *traj);

/* The number of unknowns. */
int64_t lmr_nlinv_unknowns(const lmr_nlinv *n);

/* Take the derivative at these unknowns from now on; sum becomes the coil images there. */
larmor_status lmr_nlinv_at(lmr_nlinv *n, const larmor_array *unknowns);

/* z <- D^H T D d, D the derivative. z and d do not share memory. */
larmor_status lmr_nlinv_normal(lmr_nlinv *n, const larmor_array *d, larmor_array *z);

/* z <- D^H y of coil images y, which may be n->backprojected. */
larmor_status lmr_nlinv_adjoint(lmr_nlinv *n, const larmor_array *y, larmor_array *z);

/* Image, scaled, and maps with sum_cm |s_cm|^2 = 1. x may be NULL. */
larmor_status lmr_nlinv_result(lmr_nlinv *n, double scale, larmor_array **x, larmor_array **maps);

/* Bytes of device memory of all that larmor_nlinv takes, and of so many more lines of unknowns. */
larmor_status lmr_nlinv_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_nlinv_opts *opts,
                              int lines, int64_t *bytes);

/* The iteratively regularised Gauss-Newton method of nonlinear inversion, on the normal equations of each step:
 * of one image, or of images one after the other. */

typedef struct lmr_newton { /* start with {.o = the options, with defaults in them} */
    lmr_nlinv model;
    larmor_nlinv_opts o;
    larmor_array *data;                 /* F^H W y [image..., coils], scaled like T and by `factor` */
    double square, factor;              /* square: sum w |y|^2, scaled as data */
    larmor_array *x, *dx, *rhs, *p, *q; /* unknowns, step, right hand side and residual, direction, its image */
    larmor_array *centre;               /* the unknowns without a penalty; NULL: 0 */
    double begin;
    larmor_nlinv_report report;
} lmr_newton;

void lmr_newton_free(lmr_newton *s);

/* Take the samples of an image. traj is f64; kspace, traj and the options' weights are checked. Of the first one the
 * scale is chosen, and unknowns are where they begin; those of later ones have the shape of the first, and unknowns
 * and scale stay. */
larmor_status lmr_newton_take(lmr_newton *s, const larmor_array *kspace, const larmor_array *traj,
                              larmor_shape image);

/* The steps of the options. */
larmor_status lmr_newton_run(lmr_newton *s);

/* What callers of nonlinear inversion give: options within bounds, with defaults in *o, and arrays that fit. */
larmor_status lmr_newton_opts(const larmor_nlinv_opts *given, larmor_nlinv_opts *o);
larmor_status lmr_newton_check(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                               const larmor_array *weights);

/* ---- how large a calibration region may be ---- */

/* Its most samples along each axis, 1 in unused dimensions; opts may be NULL. */
void lmr_region_most(const larmor_region_opts *opts, larmor_shape image, int64_t most[3]);

/* Bytes that larmor_calibration_region takes, the region among them. */
larmor_status lmr_region_bytes(const larmor_device *dev, const larmor_problem *p, const larmor_region_opts *opts,
                               double *bytes);

/* ---- where the images of a calibration region show more than noise ---- */

/* shown <- 1 at the places of a grid where the coils' energy, by Hann's window over the region, is more than noise
 * has; else 0. Noise that coils share, or have unlike, leaves some places of noise alone shown.
 *
 * w      the region.
 * noise  mean of |noise|^2 of a sample of a coil.
 * fov    of the region's grid as part of that of the places; 0: 1.
 * grid   places along each axis, 1 for unused ones. */
larmor_status lmr_region_shown(const lmr_windows *w, double noise, const double fov[3], const int64_t grid[3],
                               unsigned char *shown);

/* ---- from low-resolution coil images to smooth coil maps ---- */

/* Pixels of the coil images for n pixels of the maps, so that products of two images do not alias. */
static inline int64_t lmr_fine_size(int64_t n)
{
    return n > 1 ? 2 * n : 1;
}

/* Low-resolution maps [pixels, coils] from coil images [lmr_fine_size(n)..., coils], both c128; unused dimensions are
 * 1 in n.
 *
 * window   side of the neighbourhood, in pixels of n.
 * dominance  the part of the energy of all neighbourhoods that their dominant eigenvectors hold; may be NULL.
 * maps     unit vectors over the coils.
 * Errors   LARMOR_ERR_NUMERIC if the images are zero or not finite; LARMOR_ERR_MEMORY. */
larmor_status lmr_walsh(const larmor_array *images, const int64_t n[3], int64_t coils, int64_t window,
                        double *dominance, larmor_array **maps);

/* The coils' images (or k-space) c128 [fine, coils] as those of `kept` mixtures [fine, kept], the strongest last,
 * whose conjugated factors are the last columns of *vectors [coils, coils]; part: of the energy that they hold. */
larmor_status lmr_mix_coils(const larmor_array *images, int64_t fine, int64_t coils, int64_t kept,
                            larmor_array **vectors, larmor_array **mixed, double *part);

/* Bytes that lmr_walsh takes, the maps among them. */
double lmr_walsh_bytes(const larmor_device *dev, const int64_t n[3], int64_t coils);
