/* Samples and maps of virtual coils. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_PIPELINE_COMPRESS_H
#define LMR_PIPELINE_COMPRESS_H

#include "pipeline/job.h"

/* Samples [..., coils] or maps become those of the virtual coils; nothing without compression. */
larmor_status lmr_compress(const lmr_job *job, larmor_array **x);

/* The same for maps [image..., coils, sets]. */
larmor_status lmr_compress_sets(const lmr_job *job, larmor_array **maps);

#endif
