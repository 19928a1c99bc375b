/* Host copies of a layer's inputs, as doubles and checked. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_RECON_HOST_H
#define LMR_RECON_HOST_H

#include "core/array.h"

/* The values of a real array as doubles in a new buffer, which the caller frees.
 *
 * Errors  LARMOR_ERR_ARG if x is NULL or complex; LARMOR_ERR_NUMERIC for a value that is not finite; MEMORY. */
larmor_status lmr_host_real(const char *who, const char *what, const larmor_array *x, double **out);

/* lmr_host_real of a trajectory [nd, ...] that fits an image of nd = 1 to 3 dimensions.
 *
 * Errors  also LARMOR_ERR_SHAPE. */
larmor_status lmr_host_traj(const char *who, const larmor_array *traj, larmor_shape image, double **out);

/* The shape of traj without its first dimension: one weight per sample. */
larmor_shape lmr_weights_shape(const larmor_array *traj);

/* Elements first .. first+count-1 of a complex array. Errors: LARMOR_ERR_MEMORY and the backend's. */
larmor_status lmr_host_complex(const larmor_array *x, int64_t first, int64_t count, double _Complex *out);

/* Elements first .. first+count-1 of a complex array <- values. Errors: LARMOR_ERR_MEMORY and the backend's. */
larmor_status lmr_write_complex(larmor_array *x, int64_t first, int64_t count, const double _Complex *values);

/* A new array of any dtype from doubles; imaginary parts are 0. */
larmor_status lmr_array_of_real(larmor_device *dev, larmor_dtype dtype, larmor_shape shape, const double *values,
                                larmor_array **out);

#endif
