/* Plug and play: images by a denoiser of your own in the place of a penalty, by a program, by Python or from a plugin
 * (docs/reference/priors.md; what a plugin may do: docs/security.md). SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_PRIOR_H
#define LARMOR_PRIOR_H

#include "larmor/solve.h"

LARMOR_C_BEGIN

/* ---- denoisers ---- */

typedef struct larmor_denoiser larmor_denoiser; /* refcounted; calls from several threads take turns */

/* What a denoiser gets of a complex array x [image..., frames]. */
typedef enum larmor_denoiser_form {
    LARMOR_DENOISE_COMPLEX,  /* x itself */
    LARMOR_DENOISE_CHANNELS, /* its real and imaginary parts as real numbers [2, image..., frames], in x's memory */
    LARMOR_DENOISE_MAGNITUDE /* its magnitudes, complex with an imaginary part of 0; the result has the phase of x */
} larmor_denoiser_form;

typedef struct larmor_denoiser_impl {
    const char *name; /* of messages; stays the caller's */
    /* z <- x without noise whose real and imaginary parts have the deviation sigma, in x's unit. x and z are on x's
     * device, of one shape and type, and not one array. Fails by larmor_fail. */
    larmor_status (*apply)(void *self, double sigma, const larmor_array *x, larmor_array *z);
    void (*destroy)(void *self); /* or NULL */
    larmor_denoiser_form form;
    int is_residual; /* 1: apply gives the noise, which is subtracted from x */
} larmor_denoiser_impl;

/* A denoiser of your own, for arrays of any shape that it takes.
 *
 * impl    copied; name and apply are needed.
 * self    given to every function; belongs to d from a successful return on, still yours after an error.
 * Errors  LARMOR_ERR_ARG for a missing function; LARMOR_ERR_MEMORY. */
LARMOR_API larmor_status larmor_denoiser_create(const larmor_denoiser_impl *impl, void *self, larmor_denoiser **d);

/* z <- x without noise of the deviation sigma >= 0.
 *
 * z       like x, another array.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE where z is not like x; LARMOR_ERR_NUMERIC where z is not finite; those of
 *         the denoiser. */
LARMOR_API larmor_status larmor_denoiser_apply(larmor_denoiser *d, double sigma, const larmor_array *x,
                                               larmor_array *z);

/* Of its impl, for messages; one more reference; one less. */
LARMOR_API const char *larmor_denoiser_name(const larmor_denoiser *d);
LARMOR_API larmor_denoiser *larmor_denoiser_ref(larmor_denoiser *d); /* one more reference; returns d */
LARMOR_API void larmor_denoiser_free(larmor_denoiser *d);            /* NULL is fine */

/* The denoisers that larmor has: argmin_z |z - x|^2 / 2 + sigma weight R(z).
 *
 * name    of larmor_regulariser_create: R, at lambda = 1.
 * weight  default (0) 1.
 * Errors  those of larmor_regulariser_read; LARMOR_ERR_ARG for a weight that is not finite and at least 0. */
LARMOR_API larmor_status larmor_denoiser_named(const char *name, double weight, larmor_denoiser **d);

/* ---- images by a denoiser ---- */

typedef enum larmor_pnp_method {
    LARMOR_PNP_ADMM, /* alternating directions: least squares, then the denoiser */
    LARMOR_PNP_RED,  /* regularisation by denoising: the gradient of both, with a momentum */
    /* A step of the gradient, then the denoiser, with a momentum: for A^H A near the identity. Along trajectories
     * with a dense centre steps are short. */
    LARMOR_PNP_FISTA
} larmor_pnp_method;

typedef struct larmor_pnp_opts { /* zero means default */
    larmor_pnp_method method;
    int max_iter; /* default 50 */
    double tol;   /* end where x is changed by this part of itself; default 1e-4; negative: at rounding */
    double noise; /* end where |A x - b| is at most this, the norm of the noise in b; 0: never */
    /* What the denoiser is told, in x's unit; needed. It begins with `first` and falls to sigma within `falling`
     * iterations, each time by the same factor. Default: sigma from the beginning, in 10 iterations where only first
     * is given. */
    double sigma, first;
    int falling;
    /* Of the denoiser beside the data: absolute, in the unit of A^H A. Default: (deviation / sigma)^2 of the sigma
     * of this iteration where the deviation of the noise in the real and in the imaginary part of a number of b is
     * given, else the largest eigenvalue of A^H A. FISTA takes no less than that, and where the deviation is given
     * lowers sigma to deviation / sqrt(weight). */
    double weight, deviation;
    double largest; /* eigenvalue of A^H A; 0: found by the power method */
    int inner;      /* ADMM: conjugate gradient steps per iteration, at most; default 30 */
    /* ADMM, RED: self-adjoint, positive and close to the inverse of A^H A + weight; or the circulant of A^H A, of
     * which that is made for each weight; NULL: neither */
    larmor_op *precondition;
    const larmor_circulant *circulant;
    larmor_monitor monitor; /* gets images; residual is the relative change, objective is |A x - b|^2 / 2 */
    void *user;
} larmor_pnp_opts;

typedef enum larmor_pnp_end { /* why a run ended without an error */
                              LARMOR_PNP_END_TOLERANCE,
                              LARMOR_PNP_END_NOISE,     /* |A x - b| is at most opts.noise */
                              LARMOR_PNP_END_ITERATIONS /* max_iter is reached */
} larmor_pnp_end;

typedef struct larmor_pnp_info {  /* of the image that is returned */
    int iters, denoised, normals; /* denoised, normals: calls of the denoiser, and of A^H A */
    double change;                /* by the last iteration, over |x| */
    double residual;              /* |A x - b| */
    double split;                 /* ADMM: |v - x| / max(|v|, |x|), v of the least squares; else 0 */
    double weight;                /* of the last iteration */
    double sigma;
    double seconds;
    larmor_pnp_end end;
} larmor_pnp_info;

/* An image that the data and the denoiser D agree on: with FISTA and ADMM x = D(x - A^H (A x - b) / weight), with RED
 * A^H (A x - b) + weight (x - D(x)) = 0. Where D is the proximal map of g with the step 1 / weight, x of the first
 * two minimises |A x - b|^2 / 2 + g(x). Where D is no such map, nothing promises that iterations settle: info says by
 * how much the last one changed x.
 *
 * x       start in, image out; zeros are a good start. After LARMOR_STOPPED it holds the current iterate, after other
 *         errors nothing of use.
 * opts    A is used through larmor_op_normal, and its adjoint once, so that a Toeplitz normal map serves.
 * info    may be NULL.
 * Errors  LARMOR_ERR_ARG; LARMOR_ERR_SHAPE; LARMOR_ERR_NUMERIC for values that are not finite and where |A x - b|
 *         exceeds 10 times the larger of |b| and its value at the start; LARMOR_STOPPED if the monitor said so; those
 *         of the denoiser.
 * Memory  7 arrays like x on the device, 6 more for ADMM.
 * Source  Venkatakrishnan, Bouman, Wohlberg, GlobalSIP 945 (2013); Kamilov, Mansour, Wohlberg, IEEE Signal Process.
 *         Lett. 24, 1872 (2017); Romano, Elad, Milanfar, SIAM J. Imaging Sci. 10, 1804 (2017); Ahmad et al., IEEE
 *         Signal Process. Mag. 37, 105 (2020). */
LARMOR_API larmor_status larmor_solve_pnp(larmor_op *A, const larmor_array *b, larmor_denoiser *d, larmor_array *x,
                                          const larmor_pnp_opts *opts, larmor_pnp_info *info);

/* ---- tensors ---- */

/* The memory layout of DLTensor in DLPack 1.x (https://dmlc.github.io/dlpack/latest/c_api.html), by names of larmor's
 * own, so that the header of DLPack may be included beside this one. */
typedef struct larmor_dl_device {
    int32_t device_type; /* 1: host memory; 2: CUDA */
    int32_t device_id;
} larmor_dl_device;

typedef struct larmor_dl_type {
    uint8_t code; /* 2: floating point; 5: complex */
    uint8_t bits; /* of a number, both parts of a complex one together */
    uint16_t lanes;
} larmor_dl_type;

typedef struct larmor_dl_tensor {
    void *data;
    larmor_dl_device device;
    int32_t ndim;
    larmor_dl_type dtype;
    int64_t *shape;   /* [ndim], the slowest dimension first, as NumPy has it */
    int64_t *strides; /* [ndim], in numbers */
    uint64_t byte_offset;
} larmor_dl_tensor;

/* A tensor in the memory of an array: COMPLEX and real arrays as they are; CHANNELS: a real [2, image...] with the
 * channels as the slowest dimension, (2, ..., y, x); MAGNITUDE: the real parts of a complex array.
 *
 * shape, strides  of LARMOR_MAX_DIMS numbers each; tensor points to them.
 * Errors          LARMOR_ERR_ARG; LARMOR_ERR_SHAPE for CHANNELS of another array. */
LARMOR_API larmor_status larmor_array_tensor(const larmor_array *x, larmor_denoiser_form form, int64_t *shape,
                                             int64_t *strides, larmor_dl_tensor *tensor);

/* ---- plugins ---- */

#define LARMOR_PRIOR_ABI 1

/* Before the initialiser of a plugin's table, which it makes visible. */
#define LARMOR_PRIOR_PLUGIN LARMOR_API const larmor_prior_table larmor_prior_plugin

/* A shared object with a denoiser exports one constant of this type, by the name larmor_prior_plugin. It needs
 * nothing of liblarmor. Functions return 0, or another number and a line in message, of `room` bytes. */
typedef struct larmor_prior_table {
    uint32_t abi;     /* LARMOR_PRIOR_ABI */
    uint32_t size;    /* sizeof(larmor_prior_table) */
    const char *name; /* a word for logs */
    int32_t form;     /* larmor_denoiser_form */
    int32_t is_residual;
    /* Once, before anything else; argument: the text behind the path, "" if there is none. *self is given to the
     * others. */
    int (*open)(const char *argument, void **self, char *message, size_t room);
    /* z <- x without noise of the deviation sigma. Calls take turns. On a GPU x is there when it is called, and z has
     * to be when it returns. */
    int (*denoise)(void *self, double sigma, const larmor_dl_tensor *x, larmor_dl_tensor *z, char *message,
                   size_t room);
    void (*close)(void *self); /* or NULL */
} larmor_prior_table;

/* Load a plugin, whose code then runs with the rights of this process.
 *
 * path    of a regular file; a colon behind ".so" and what follows it are the plugin's argument. A plugin stays
 *         loaded.
 * Errors  LARMOR_ERR_IO for a path that is not there; LARMOR_ERR_UNSUPPORTED for what is no such plugin, or has
 *         another ABI, and in a program with more rights than its user; LARMOR_ERR_ARG where open refuses its
 *         argument. */
LARMOR_API larmor_status larmor_prior_open(const char *path, larmor_denoiser **d);

LARMOR_C_END
#endif
