/* Joint estimation of image and coil maps by regularised nonlinear inversion. SPDX-License-Identifier: Apache-2.0
 *
 * The samples are y_c = F (s_c x), with the image x and the maps s_c unknown; F is the Fourier transform at the
 * samples. Newton's method with a penalty that falls from step to step (iteratively regularised Gauss-Newton)
 * finds both at once, straight from undersampled data on any trajectory, without a calibration region. The penalty
 * of the maps is that of a Sobolev norm, which keeps them smooth: in Fourier space they are weighted by (1 +
 * smoothness |k|^2)^(order / 2), k in cycles per longest side of the field of view, voxels taken as cubes. Several
 * sets of maps, each with an image of its own, describe a field of view that folds (ENLIVE).
 *
 * Source  Uecker, Hohage, Block, Frahm, Magn. Reson. Med. 60, 674 (2008); with the convolution by the point spread
 *         function: Uecker, Zhang, Frahm, Magn. Reson. Med. 63, 1456 (2010); sets: Holme, Rosenzweig, Ong, Wilke,
 *         Lustig, Uecker, Sci. Rep. 9, 3034 (2019). */
#ifndef LARMOR_NLINV_H
#define LARMOR_NLINV_H

#include "larmor/recon.h"

LARMOR_C_BEGIN

typedef struct larmor_nlinv_opts { /* zero means default */
    int steps;                     /* of Newton's method, at most; default 26 */
    double least_gain;             /* they end after two that lower the residual by less than this part; default
                                      0.01, below 0: never */
    double alpha;                  /* weight of the penalty in the first step; default 1 */
    double reduction;              /* the weight of each step is that of the last by this; default 1.5 */
    double smoothness, order;      /* of the maps; default 0.15 and 16 */
    int64_t sets;                  /* of maps; default 1, without that dimension */
    int64_t side;     /* an image of more voxels along an axis is solved for with so many, of the samples that it can
                   * have; its maps are then interpolated; default: as many as there are */
    int inner;        /* conjugate gradient steps in each step, at most; default 100 */
    double inner_tol; /* where they end; default 0.1 */
    const larmor_array *weights; /* real >= 0, [samples, readouts]: of the samples' squares; NULL: 1 */
    double nufft_tol;            /* default 1e-4 */
    larmor_monitor monitor;      /* told of each step: the residual is that of the data, relative; or NULL */
    void *user;
} larmor_nlinv_opts;

typedef struct larmor_nlinv_report {
    int steps, inner; /* done, of Newton's method and of conjugate gradients in all */
    double residual;  /* |y - F (s x)| / |y| */
    double alpha;     /* weight of the penalty in the last step */
    double seconds;
} larmor_nlinv_report;

/* Image and maps from the samples of one image.
 *
 * kspace   [samples, readouts, coils], complex.
 * traj     [nd, samples, readouts], nd 2 or 3, cycles per field of view; Cartesian ones lie on whole numbers.
 * image    shape of the image, [nx, ny(, nz)], which is to hold the object.
 * opts     may be NULL.
 * x        [image...] or, with sets, [image..., sets], of kspace's dtype, in the unit of larmor_op_sense; may be
 *          NULL, and is to be NULL where `side` is less than the image has. It is that of the maps that are
 *          returned.
 * maps     [image..., coils] or [image..., coils, sets]; sum_c |s_c|^2 = 1 everywhere, over all
 *          sets, so that those with little signal are small there. The first set has the most energy.
 * report   may be NULL.
 * Errors   LARMOR_ERR_ARG for options that make no sense; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for samples that
 *          are zero or not finite; LARMOR_ERR_MEMORY; LARMOR_STOPPED by the monitor, without results. */
LARMOR_API larmor_status larmor_nlinv(const larmor_array *kspace, const larmor_array *traj, larmor_shape image,
                                      const larmor_nlinv_opts *opts, larmor_array **x, larmor_array **maps,
                                      larmor_nlinv_report *report);

/* Bytes of device memory that larmor_nlinv takes at most, beyond its inputs and its results. Errors:
 * LARMOR_ERR_ARG and LARMOR_ERR_SHAPE for impossible sizes. */
LARMOR_API larmor_status larmor_nlinv_memory(const larmor_device *dev, const larmor_problem *problem,
                                             const larmor_nlinv_opts *opts, int64_t *bytes);

/* ---- frames ---- */

typedef struct larmor_nlinv_series larmor_nlinv_series; /* one thread at a time */

typedef struct larmor_nlinv_series_opts { /* zero means default */
    /* Of the first frame, and but for the next four of all. Without side and weights. */
    larmor_nlinv_opts all;
    int steps, inner;        /* of each frame that follows, all of which are done; default 6 and 6 */
    double alpha, reduction; /* of those; default 0.1 and 2 */
    double damping; /* of the frame before, which the next one is held to; default 0.9; negative: 0, so that a frame
                     * is begun at the one before and held to nothing */
    int median;     /* images are the median of so many frames, the last one among them; default 1 */
} larmor_nlinv_series_opts;

/* Frames of a moving object, one after the other, of a few readouts each. A step of a frame that follows solves
 *
 *   (D^H T D + alpha) du = D^H (F^H W y - T G(u)) - alpha (u - damping u_before),
 *
 * from u_before on, image and maps of the frame before, so that both follow the object. The first frame has none
 * before it, and is that of larmor_nlinv: best of more readouts than the others. Data have the scale of the first
 * frame's.
 *
 * image    shape of all images, [nx, ny(, nz)].
 * opts     copied, but for its monitor's user; may be NULL.
 * Errors   LARMOR_ERR_ARG for options that make no sense; LARMOR_ERR_SHAPE; LARMOR_ERR_MEMORY.
 * Source   Uecker, Zhang, Voit, Karaus, Merboldt, Frahm, NMR Biomed. 23, 986 (2010). */
LARMOR_API larmor_status larmor_nlinv_series_create(larmor_shape image, const larmor_nlinv_series_opts *opts,
                                                    larmor_nlinv_series **series);
LARMOR_API void larmor_nlinv_series_free(larmor_nlinv_series *series); /* NULL is fine */

/* The next frame.
 *
 * kspace, traj, x, maps, report   as of larmor_nlinv; kspace has the coils, type and device of the first one, and
 *          as many readouts as there are. Both x and maps may be NULL. With `median` a voxel of x is the one that has
 *          the median of the magnitudes, of an even number the lower one; maps are those of the last frame.
 * Errors   those of larmor_nlinv, after which the next frame follows the one before, as if this one had not been. */
LARMOR_API larmor_status larmor_nlinv_series_add(larmor_nlinv_series *series, const larmor_array *kspace,
                                                 const larmor_array *traj, larmor_array **x, larmor_array **maps,
                                                 larmor_nlinv_report *report);

/* Bytes of device memory that a series takes at most, beyond its inputs and its results, with frames of the problem's
 * samples. Errors: those of larmor_nlinv_memory. */
LARMOR_API larmor_status larmor_nlinv_series_memory(const larmor_device *dev, const larmor_problem *problem,
                                                    const larmor_nlinv_series_opts *opts, int64_t *bytes);

/* ---- field of view ---- */

typedef struct larmor_prediction {
    double factor; /* 1, or the factor of the field of view that predicts samples clearly better: 1.25 or 1.5 */
    double error;  /* of the prediction on the field of view itself, relative to the samples */
    double gain;   /* the error with the best larger factor, in units of that */
} larmor_prediction;

/* Whether a larger field of view predicts samples better, for scans whose centre of k-space is undersampled.
 *
 * Parts of readouts are left out of the samples within 10/FOV of the centre. larmor_nlinv finds image and maps of
 * low resolution from the others, on the field of view and on larger ones, and predicts those parts. An object
 * that exceeds the field of view is predicted badly by an image that is confined to it. Where the object fits, a
 * larger image has more unknowns than it needs, and predicts no better. Errors are medians over three choices of
 * what is left out.
 *
 * kspace   [samples, readouts, coils], complex; several coils, as one alone shows nothing.
 * traj     [nd, samples, readouts], cycles per field of view.
 * image    shape of the image on that field of view, [nx, ny(, nz)]. In 3D inversion takes long.
 * Errors   LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite, and without signal in the centre;
 *          LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_predict_field_of_view(const larmor_array *kspace, const larmor_array *traj,
                                                      larmor_shape image, larmor_prediction *prediction);

/* Bytes of device memory that larmor_predict_field_of_view takes at most, beyond its inputs. Errors:
 * LARMOR_ERR_ARG and LARMOR_ERR_SHAPE for impossible sizes. */
LARMOR_API larmor_status larmor_predict_field_of_view_memory(const larmor_device *dev, const larmor_problem *problem,
                                                             int64_t *bytes);

LARMOR_C_END
#endif
