/* What FINUFFT's and cuFINUFFT's interfaces have in common: a plan of FINUFFT's on larmor's NUFFT, on any device
 * and in both precisions. The codes are FINUFFT's. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "finufft/finufft_errors.h"
#include "larmor/larmor.h"

typedef struct lmr_transform lmr_transform;

typedef struct lmr_transform_request {
    const char *who; /* for messages; it lives as long as the plan */
    int warns;       /* 1: warnings and errors on stderr */
    int on_host;     /* 1: memory is the host's, and that of values may be aligned for half a number only */
    int raises_tol;  /* 1: a tolerance below the machine's precision becomes that; 0: it is refused */
    int type, dim, sign, ntrans;
    const int64_t *modes; /* [dim]; not read for type 3 */
    double tol, upsample; /* upsample 0: chosen */
    larmor_dtype dtype;   /* of the values */
    int fft_order, spread_only, max_batch;
} lmr_transform_request;

/* Prints text as an error if `warns`; returns code. */
int lmr_transform_complain(const char *who, int warns, int code, const char *text);

/* The code for what larmor said, which is printed if `warns`. */
int lmr_transform_code(const char *who, int warns, larmor_status st);

/* 0, or the code for a type, a dimension or a number of transforms that is none. */
int lmr_transform_check(const lmr_transform_request *r);

/* A request that was checked. The device becomes the plan's, also after an error. */
int lmr_transform_create(const lmr_transform_request *r, larmor_device *dev, lmr_transform **out);

/* nj points at from[0][j], from[1][j], ..., and of type 3 nk targets; real numbers of the values' precision. */
int lmr_transform_set_points(lmr_transform *t, int64_t nj, const void *const from[3], int64_t nk,
                             const void *const to[3]);

int lmr_transform_execute(lmr_transform *t, int adjoint, void *at_points, void *at_modes);

int lmr_transform_free(lmr_transform *t);
