/* Samples and maps of virtual coils, by the matrix of the scan. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/compress.h"

#include "core/status.h"

larmor_status lmr_compress(const lmr_job *job, larmor_array **x)
{
    larmor_array *y;
    if (!job->compression) return LARMOR_OK;
    LMR_TRY(larmor_compress_coils(job->compression, *x, &y));
    larmor_array_free(*x);
    *x = y;
    return LARMOR_OK;
}

larmor_status lmr_compress_sets(const lmr_job *job, larmor_array **maps)
{
    if (!job->compression || !job->sets) return lmr_compress(job, maps);
    larmor_shape shape = larmor_array_shape(*maps);
    larmor_array *all;
    shape.dim[shape.ndim - 2] = job->coils;
    LMR_TRY(larmor_array_create(job->dev, larmor_array_dtype(*maps), shape, &all));
    larmor_status st = LARMOR_OK;
    for (int m = 0; m < job->sets && !st; m++) {
        larmor_array *set = NULL, *to = NULL;
        st = lmr_one_of(*maps, m, &set);
        if (!st) st = lmr_compress(job, &set);
        if (!st) st = lmr_one_of(all, m, &to);
        if (!st) st = larmor_copy(set, to);
        larmor_array_free(to);
        larmor_array_free(set);
    }
    larmor_array_free(st ? all : *maps);
    if (!st) *maps = all;
    return st;
}
