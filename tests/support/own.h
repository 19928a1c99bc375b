/* What a test owns ends with its block, the last one first. SPDX-License-Identifier: Apache-2.0 */
#ifndef LARMOR_TESTS_SUPPORT_OWN_H
#define LARMOR_TESTS_SUPPORT_OWN_H

#include <stdlib.h>

#include "larmor/larmor.h"

/* OWNED(larmor_array) *x, *y; or OWNED(scan) s = scan_of(1); a local that nobody else ends. */
#define OWNED(type) __attribute__((cleanup(end_##type))) type

/* How one ends that is held by a pointer, and one that is held itself; they follow the function that ends it. */
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

ENDS_BY(free, char)
ENDS_BY(free, double)
ENDS_BY(free, float)
ENDS_BY(free, int64_t)
ENDS_BY(free, void)
ENDS_BY(larmor_array_free, larmor_array)
ENDS_BY(larmor_checkpoint_free, larmor_checkpoint)
ENDS_BY(larmor_circulant_free, larmor_circulant)
ENDS_BY(larmor_denoiser_free, larmor_denoiser)
ENDS_BY(larmor_graph_free, larmor_graph)
ENDS_BY(larmor_nufft_free, larmor_nufft)
ENDS_BY(larmor_op_free, larmor_op)
ENDS_BY(larmor_output_free, larmor_output)
ENDS_BY(larmor_phantom_free, larmor_phantom)
ENDS_BY(larmor_prox_free, larmor_prox)
ENDS_BY(larmor_raw_free, larmor_raw)
ENDS_BY(larmor_raw_writer_free, larmor_raw_writer)
ENDS_BY(larmor_recon_free, larmor_recon)
ENDS_BY(larmor_regulariser_free, larmor_regulariser)
ENDS_BY(larmor_segments_free, larmor_segments)
ENDS_BY(larmor_simulation_free, larmor_simulation)
ENDS_BY(larmor_source_free, larmor_source)
ENDS_BY(larmor_timer_free, larmor_timer)
ENDS_ITSELF_BY(larmor_images_free, larmor_image_set)
ENDS_ITSELF_BY(larmor_navigators_free, larmor_navigators)
ENDS_ITSELF_BY(larmor_noise_maps_free, larmor_noise_maps)
ENDS_ITSELF_BY(larmor_response_maps_free, larmor_response_maps)
ENDS_ITSELF_BY(larmor_posterior_maps_free, larmor_posterior_maps)
ENDS_ITSELF_BY(larmor_recon_result_free, larmor_recon_result)
ENDS_ITSELF_BY(larmor_samples_free, larmor_samples)

#endif
