/* What a test owns ends with its block, the last one first. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "core/owned.h" /* LMR_FREE */
#include "larmor/larmor.h"

/* OWNED(larmor_array) *x, *y; or OWNED(scan) s = scan_of(1); a local that nobody else ends. */
#define OWNED(type) __attribute__((cleanup(end_##type))) type

/* How one ends that is held by a pointer, and one that is held itself; they follow the function that ends it. What a
 * test defines itself ends by end_TYPE(TYPE *). */
#define ENDS_BY(release, type)                                                                                       \
    static inline void end_##type(type **x)                                                                          \
    {                                                                                                                \
        release(*x);                                                                                                 \
    }
#define ENDS_ITSELF_BY(release, type)                                                                                \
    static inline void end_##type(type *x)                                                                           \
    {                                                                                                                \
        release(x);                                                                                                  \
    }

/* Memory of malloc, whatever its type: HEAP double *x = values_of(array); */
#define HEAP __attribute__((cleanup(end_memory)))
static inline void end_memory(void *pointer)
{
    void *memory;
    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

ENDS_BY(larmor_array_free, larmor_array)
ENDS_BY(larmor_checkpoint_free, larmor_checkpoint)
ENDS_BY(larmor_circulant_free, larmor_circulant)
ENDS_BY(larmor_denoiser_free, larmor_denoiser)
ENDS_BY(larmor_device_free, larmor_device)
ENDS_BY(larmor_graph_free, larmor_graph)
ENDS_BY(larmor_nufft_free, larmor_nufft)
ENDS_BY(larmor_op_free, larmor_op)
ENDS_BY(larmor_output_free, larmor_output)
ENDS_BY(larmor_phantom_free, larmor_phantom)
ENDS_BY(larmor_prox_free, larmor_prox)
ENDS_BY(larmor_pulseq_free, larmor_pulseq)
ENDS_BY(larmor_raw_free, larmor_raw)
ENDS_BY(larmor_raw_writer_free, larmor_raw_writer)
ENDS_BY(larmor_recon_free, larmor_recon)
ENDS_BY(larmor_regulariser_free, larmor_regulariser)
ENDS_BY(larmor_segments_free, larmor_segments)
ENDS_BY(larmor_simulation_free, larmor_simulation)
ENDS_BY(larmor_source_free, larmor_source)
ENDS_BY(larmor_stream_free, larmor_stream)
ENDS_BY(larmor_timer_free, larmor_timer)
ENDS_ITSELF_BY(larmor_expected_free, larmor_expected)
ENDS_ITSELF_BY(larmor_gating_free, larmor_gating)
ENDS_ITSELF_BY(larmor_gating_trace_free, larmor_gating_trace)
ENDS_ITSELF_BY(larmor_images_free, larmor_image_set)
ENDS_ITSELF_BY(larmor_navigators_free, larmor_navigators)
ENDS_ITSELF_BY(larmor_noise_maps_free, larmor_noise_maps)
ENDS_ITSELF_BY(larmor_posterior_maps_free, larmor_posterior_maps)
ENDS_ITSELF_BY(larmor_recon_result_free, larmor_recon_result)
ENDS_ITSELF_BY(larmor_response_free, larmor_response)
ENDS_ITSELF_BY(larmor_response_maps_free, larmor_response_maps)
ENDS_ITSELF_BY(larmor_samples_free, larmor_samples)
ENDS_ITSELF_BY(larmor_trajectory_free, larmor_trajectory)
ENDS_ITSELF_BY(larmor_truth_free, larmor_truth)
