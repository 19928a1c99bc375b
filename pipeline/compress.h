/* Coil compression of a scan. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_COMPRESS_H
#define LMR_PIPELINE_COMPRESS_H

#include "pipeline/state.h"

/* Decide whether the coils are compressed, and find the matrix: the job's compression, compressed and coils. One for all
 * images of the scan, whichever are wanted; from samples that are whitened. */
larmor_status lmr_find_compression(larmor_recon *r);

/* Samples [..., coils] or maps become those of the virtual coils; nothing without compression. */
larmor_status lmr_compress(const lmr_job *job, larmor_array **x);

/* The same for maps [image..., coils, sets]. */
larmor_status lmr_compress_sets(const lmr_job *job, larmor_array **maps);

#endif
