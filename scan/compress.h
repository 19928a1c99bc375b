/* Samples and maps of virtual coils. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/job.h"

/* Samples become those of the virtual coils; nothing without compression. */
larmor_status lmr_compress(const lmr_job *job, larmor_samples *samples);

/* 1 if each place along the readouts has a matrix of its own. */
int lmr_compression_is_geometric(const lmr_job *job);

/* The same for maps [image..., coils(, sets)]. */
larmor_status lmr_compress_maps(const lmr_job *job, larmor_array **maps);

/* Maps of all coils from those of virtual ones; there is a compression. */
larmor_status lmr_expand_maps(const lmr_job *job, larmor_array *maps, larmor_array **all);
