/* The Fourier transform of a volume of which each rank has a slab. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/backend.h"
#include "recon/slabs/slab_transpose.h"

typedef struct lmr_slab_fft {
    larmor_device *dev;
    lmr_slab_transpose transpose; /* of lines of the last axis: line i0 + n0 i1 */
    int64_t n[3];
    const lmr_fft *fft;
    void *planes, *lines; /* plans: of this rank's planes, and of its lines */
    larmor_array *a, *b;  /* b: [n2, own lines] where a transform is asked for */
    int references;
} lmr_slab_fft;

/* n: of the whole volume; dtype: complex. Made by each rank for itself. */
larmor_status lmr_slab_fft_create(larmor_device *dev, larmor_ranks *ranks, larmor_dtype dtype, const int64_t n[3],
                                  lmr_slab_fft **f);
lmr_slab_fft *lmr_slab_fft_ref(lmr_slab_fft *f);
void lmr_slab_fft_free(lmr_slab_fft *f);

/* f->b [n2, own lines] <- the transform of all slabs, sign -1, in the FFT's order. Called by all; own: how it went
 * before, as for lmr_slab_transpose_to_lines. */
larmor_status lmr_slab_fft_forward(lmr_slab_fft *f, const larmor_array *slab, larmor_status own);

/* slab <- the unscaled inverse of f->b. Called by all; own as for lmr_slab_fft_forward. */
larmor_status lmr_slab_fft_back(lmr_slab_fft *f, larmor_array *slab, larmor_status own);

/* Bytes of it at most, for the rank that has most. */
double lmr_slab_fft_bytes(const larmor_device *dev, int ranks, larmor_dtype dtype, const int64_t n[3]);
