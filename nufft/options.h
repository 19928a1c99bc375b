/* The options of a plan. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/nufft.h"
#include "nufft/choose/choose.h"

/* A copy of the caller's options, whose struct may be that of another version: what an older one lacks is 0.
 * LARMOR_ERR_ARG for a newer one that says what this version does not know. */
larmor_status lmr_nufft_read_options(const larmor_nufft_opts *given, larmor_nufft_opts *opts);

/* The caller's options with all defaults filled in, checked one by one, against each other and against the device. */
larmor_status lmr_nufft_fill_options(const larmor_device *dev, const larmor_nufft_opts *opts,
                                     larmor_nufft_opts *filled);

/* What options that are filled in ask of the grid of types 1 and 2, or of both grids of type 3, for so many
 * points; it keeps the pointer to the rates. */
lmr_nufft_request lmr_nufft_request_of(const larmor_nufft_opts *filled, double points, const lmr_nufft_rates *rates);
