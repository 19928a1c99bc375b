/* What a call of XLA asks for, checked. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nufft.h"
#include "xla/abi.h"

/* Return from the function if call fails. */
#define XLA_TRY(call)                                                                                                \
    do {                                                                                                             \
        const larmor_status try_st_ = (call);                                                                        \
        if (try_st_) return try_st_;                                                                                 \
    } while (0)

/* Transforms of sets of points, each of `batch` inputs: inputs [sets, batch, ...], points and for type 3 targets
 * [sets, ndim, count] in the order of C, in which the last axis is the fastest. */
typedef struct lmr_xla_call {
    larmor_nufft_opts nufft; /* of type 2 or 3, with the batch, the modes in larmor's order */
    int adjoint;             /* 1: type 1, the conjugate transpose of that type 2, whose plan it shares */
    int radians;             /* 1: points are 2 pi k / N, targets 2 pi s */
    int64_t sets;
    int64_t points;  /* of a set */
    int64_t targets; /* of a set; 0 for types 1 and 2 */
    int64_t in;      /* numbers of an input of a set, with its batch */
    int64_t out;
    larmor_dtype real; /* of points and targets */
    char *from;
    char *at;
    char *there; /* NULL for types 1 and 2 */
    char *to;
} lmr_xla_call;

/* Errors  LARMOR_ERR_ARG for attributes and LARMOR_ERR_SHAPE for arrays that are missing or do not fit. */
larmor_status lmr_xla_call_read(const lmr_xla_frame *frame, lmr_xla_call *call);
