/* The images of a solution, one after the other, and what a listener hears of them. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "noise/noise.h"
#include "pipeline/group.h"

larmor_status lmr_noise_step(const lmr_noisy *n, int sample, int samples)
{
    char stage[64];
    snprintf(stage, sizeof stage, "noise map, sample %d of %d", sample + 1, samples);
    return lmr_enter(n->job->events, stage);
}

larmor_status lmr_noise_each_image(const lmr_noisy *n, const lmr_frame *frames, larmor_array *x, lmr_use_image use,
                                   void *user)
{
    LMR_HEAP larmor_array **image = calloc((size_t)n->images, sizeof *image);
    if (!image) return LMR_NO_MEMORY();
    LMR_TRY(lmr_frames_images(n->job, frames, n->count, x, image));
    larmor_status st = LARMOR_OK;
    for (int i = 0; i < n->images; i++) {
        LMR_HEAP float *value = NULL;
        if (!st) st = larmor_array_download(image[i], LARMOR_C64, &value);
        if (!st) st = use(user, i, value);
        larmor_array_free(image[i]);
    }
    return st;
}
