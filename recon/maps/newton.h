/* The iteratively regularised Gauss-Newton method of nonlinear inversion, on the normal equations of each step: of
 * one image, or of images one after the other. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/maps/nlinv_model.h"

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
