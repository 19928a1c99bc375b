/* Proximal maps of functions, of your own and by name. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_PROX_H
#define LARMOR_PROX_H

#include "larmor/array.h"

LARMOR_C_BEGIN

typedef struct larmor_prox larmor_prox; /* of a function g; refcounted; calls from several threads take turns */

typedef struct larmor_prox_impl {
    const char *name;
    /* z <- argmin_z g(z) + |z - x|^2 / (2 t), t > 0; z may be x */
    larmor_status (*apply)(void *self, double t, const larmor_array *x, larmor_array *z);
    larmor_status (*value)(void *self, const larmor_array *x, double *g); /* g(x) */
    void (*destroy)(void *self);                                          /* or NULL */
} larmor_prox_impl;

/* A function of your own, of complex arrays of this shape.
 *
 * impl    copied; name, apply and value are needed.
 * self    given to every function; belongs to p from a successful return on, still yours after an error.
 * Errors  LARMOR_ERR_ARG for a missing function or a dtype that is not complex; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_prox_create(larmor_device *dev, const larmor_prox_impl *impl, void *self,
                                            larmor_dtype dtype, larmor_shape shape, larmor_prox **p);

/* z <- argmin_z g(z) + |z - x|^2 / (2 t), where z may be x; and g(x).
 *
 * Errors  LARMOR_ERR_ARG if t is not finite and > 0; LARMOR_ERR_SHAPE if shape, dtype or device differ from p's. */
LARMOR_API larmor_status larmor_prox_apply(larmor_prox *p, double t, const larmor_array *x, larmor_array *z);
LARMOR_API larmor_status larmor_prox_value(larmor_prox *p, const larmor_array *x, double *g);

/* The shape, the type and the device of p's arguments. */
LARMOR_API larmor_shape larmor_prox_shape(const larmor_prox *p);
LARMOR_API larmor_dtype larmor_prox_dtype(const larmor_prox *p);
LARMOR_API larmor_device *larmor_prox_device(const larmor_prox *p); /* no reference is taken */

LARMOR_API larmor_prox *larmor_prox_ref(larmor_prox *p); /* one more reference; returns p */
LARMOR_API void larmor_prox_free(larmor_prox *p);        /* NULL is fine */

/* Functions g of arrays x of this shape, as proximal maps.
 *
 * l2         weight |x|, the norm of all numbers together; square: weight |x|^2 / 2.
 * box        a set: real numbers from low to high, which may be infinite: from 0 to INFINITY nonnegative, from
 *            -INFINITY to INFINITY real ones. The map is the projection, whatever t; g counts as 0 everywhere.
 * support    a set: numbers that are 0 where the mask is, which is real, of the leading dimensions of shape.
 * translate  g(x - centre); centre is copied.
 * l1         weight sum_i |x_i|.
 * group_l1   weight sum_i sqrt(sum_g |x_ig|^2), g counting the last dimension: of a gradient, isotropic total
 *            variation.
 * nuclear    weight times the sum of the singular values of x [m, n], or of each matrix of x [m, n, count].
 * simplex    a set: real numbers of 0 and more whose sum is `sum`, > 0; as of box the map is the projection.
 * conjugate  g*(x) = max_z re <x, z> - g(z), by Moreau's identity z = x - t p, p the map of g at x / t with 1 / t.
 *            Of l1 the set of magnitudes up to weight, of l2 that of norms up to it. Its value is taken within 1e-6
 *            of x, relative, or where g* is infinite at x at the map of x with t = 1, in up to six maps of g.
 * stack      sum_j g_j(x_j), the x_j being ranges of the last dimension, of size 1 or more, in the order of parts.
 * Errors     LARMOR_ERR_ARG for a weight that is negative or not finite, or a dtype that is not complex;
 *            LARMOR_ERR_SHAPE if the parts of a stack differ in other dimensions.
 * Source     conjugate: Moreau, Bull. Soc. Math. France 93, 273 (1965); nuclear: Cai, Candes, Shen, SIAM J. Optim.
 *            20, 1956 (2010); simplex: Held, Wolfe, Crowder, Math. Program. 6, 62 (1974). */
LARMOR_API larmor_status larmor_prox_l1(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                        larmor_prox **p);
LARMOR_API larmor_status larmor_prox_group_l1(larmor_device *dev, double weight, larmor_dtype dtype,
                                              larmor_shape shape, larmor_prox **p);
LARMOR_API larmor_status larmor_prox_stack(larmor_prox *const *parts, int count, larmor_prox **p);
LARMOR_API larmor_status larmor_prox_l2(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                        larmor_prox **p);
LARMOR_API larmor_status larmor_prox_square(larmor_device *dev, double weight, larmor_dtype dtype, larmor_shape shape,
                                            larmor_prox **p);
LARMOR_API larmor_status larmor_prox_box(larmor_device *dev, double low, double high, larmor_dtype dtype,
                                         larmor_shape shape, larmor_prox **p);
LARMOR_API larmor_status larmor_prox_support(const larmor_array *mask, larmor_dtype dtype, larmor_shape shape,
                                             larmor_prox **p);
LARMOR_API larmor_status larmor_prox_translate(larmor_prox *g, const larmor_array *centre, larmor_prox **p);
LARMOR_API larmor_status larmor_prox_nuclear(larmor_device *dev, double weight, larmor_dtype dtype,
                                             larmor_shape shape, larmor_prox **p);
LARMOR_API larmor_status larmor_prox_simplex(larmor_device *dev, double sum, larmor_dtype dtype, larmor_shape shape,
                                             larmor_prox **p);
LARMOR_API larmor_status larmor_prox_conjugate(larmor_prox *g, larmor_prox **p);

/* What images are held to, as "nonnegative+support:mask.nii" lists it. */
typedef struct larmor_constraint {
    int real;            /* 1: their imaginary parts are 0 */
    double low, high;    /* bounds of their real parts, where they are real */
    const char *support; /* what stands behind "support:" in the text, its first character; NULL: nothing is said */
    int support_length;
} larmor_constraint;

/* nonnegative, real, box:LOW,HIGH and support or support:NAME, with + between; all of them hold. Errors:
 * LARMOR_ERR_ARG, also where no number is left. */
LARMOR_API larmor_status larmor_constraint_read(const char *text, larmor_constraint *constraint);

/* The projection on that: 0 outside of the mask, within it, or without one everywhere, in the box of real numbers.
 *
 * mask    as of larmor_prox_support, or NULL.
 * Errors  those of larmor_prox_box and larmor_prox_support; LARMOR_ERR_ARG where nothing is asked for. */
LARMOR_API larmor_status larmor_prox_constraint(larmor_device *dev, const larmor_constraint *constraint,
                                                const larmor_array *mask, larmor_dtype dtype, larmor_shape shape,
                                                larmor_prox **p);

LARMOR_C_END
#endif
