/* A series as the sum of one of low rank and one whose Fourier transform along time is sparse: L + S (Otazo, Candes,
 * Sodickson 2015). SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "recon/prox/parts.h"
#include "recon/prox/regulariser.h"

extern const lmr_regulariser_kind lmr_regulariser_lowrank, lmr_regulariser_fft;

enum { L, S, PARTS };

/* Of exact data theory has 1 / sqrt(the larger side) (Candes, Li, Ma, Wright, J. ACM 58, 11 (2011)), in the unit of
 * lowrank. That unit is already the largest singular value of noise, the unit of S one deviation: at this ratio much
 * noise goes to S. Of 1, 2, 4 and 8 times, 2 had the least error in each of 5 series of golden-angle frames (13 and
 * 21 spokes of 48 x 48 voxels: contrast agent, breathing, both; SNR 10 to 40). */
#define RATIO_OVER_THEORY 2

static double ratio_of(const larmor_regulariser_opts *o, larmor_shape shape)
{
    const double frames = (double)shape.dim[shape.ndim - 1], voxels = (double)larmor_shape_count(shape) / frames;
    const double theory = 1 + sqrt(fmin(voxels, frames) / fmax(voxels, frames));
    return o->ratio > 0 ? o->ratio : RATIO_OVER_THEORY * theory;
}

static larmor_status make_parts(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                                larmor_shape shape, lmr_summand *parts)
{
    const larmor_regulariser_opts along_time = {.series = 1};
    LMR_TRY(lmr_regulariser_lowrank.make(dev, o, dtype, shape, &parts[L].penalty));
    LMR_TRY(lmr_regulariser_fft.make(dev, &along_time, dtype, shape, &parts[S].penalty));
    parts[L].scale = parts[S].scale = parts[L].ratio = 1;
    parts[S].ratio = ratio_of(o, shape);
    return LARMOR_OK;
}

static larmor_status make(larmor_device *dev, const larmor_regulariser_opts *o, larmor_dtype dtype,
                          larmor_shape shape, larmor_penalty *made)
{
    lmr_summand parts[PARTS] = {{.ratio = 0}};
    larmor_status st = make_parts(dev, o, dtype, shape, parts);
    if (!st) st = lmr_penalty_parts(dev, dtype, shape, parts, PARTS, made);
    lmr_summands_free(parts, PARTS);
    return st;
}

const lmr_regulariser_kind lmr_regulariser_lowrank_sparse = {
    .name = "lowrank-sparse",
    .help = "low rank + sparse (L+S): series, a background of low rank and a part sparse in temporal frequencies",
    .takes = LARMOR_TAKES_SERIES | LARMOR_NEEDS_SERIES,
    .strength = 1,
    .curvature = 1,
    .beside = 1,
    .make = make,
};
