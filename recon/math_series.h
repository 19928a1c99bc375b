/* Where a voxel goes when an image is cut into blocks: alike on every device. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "recon/kernels_series.h"
#include "recon/math.h"

/* The voxel of the image that is voxel `v` of block `b`, or -1 beyond the image. */
static inline LMR_DEVICE_TOO int64_t lmr_block_source(const lmr_blocks *cut, int64_t v, int64_t b)
{
    int64_t source = 0, step = 1;
    for (int d = 0; d < 3; d++) {
        const int64_t from = b % cut->count[d] * cut->block[d] + v % cut->block[d];
        if (from >= cut->dim[d]) return -1;
        const int64_t i = from + cut->shift[d];
        source += step * (i < cut->dim[d] ? i : i - cut->dim[d]);
        step *= cut->dim[d];
        b /= cut->count[d];
        v /= cut->block[d];
    }
    return source;
}

/* Its inverse: voxel i of the image is voxel *v of block *b. */
static inline LMR_DEVICE_TOO void lmr_block_place(const lmr_blocks *cut, int64_t i, int64_t *v, int64_t *b)
{
    int64_t voxels = 1, blocks = 1;
    *v = *b = 0;
    for (int d = 0; d < 3; d++) {
        const int64_t back = i % cut->dim[d] - cut->shift[d];
        const int64_t at = back < 0 ? back + cut->dim[d] : back;
        *v += voxels * (at % cut->block[d]);
        *b += blocks * (at / cut->block[d]);
        voxels *= cut->block[d];
        blocks *= cut->count[d];
        i /= cut->dim[d];
    }
}

/* The factor max(0, 1 - t / sqrt(w)) of a Gram matrix's eigenvalue w, which rounding may have made negative. */
static inline LMR_DEVICE_TOO double lmr_shrunk(double w, double t)
{
    return w > t * t ? 1 - t / sqrt(w) : 0;
}
