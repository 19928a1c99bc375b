/* Noise by the signal-to-noise ratio of the image. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/phantom.h"

static const double background = 0.05; /* of the largest density: what is below is no object */

/* sqrt(sum_c |s_c|^2) of the maps [voxels, coils] at voxel i */
static double sensitivity(const double *maps, int64_t voxels, int coils, int64_t i)
{
    double sum = 0;
    for (int c = 0; c < coils; c++) {
        const double *s = maps + 2 * (i + voxels * c);
        sum += s[0] * s[0] + s[1] * s[1];
    }
    return sqrt(sum);
}

/* The mean over the object of density times sensitivity; maps may be NULL. */
static double mean_signal(const double *image, const double *maps, int64_t voxels, int coils)
{
    double largest = 0, sum = 0;
    int64_t inside = 0;
    for (int64_t i = 0; i < voxels; i++) largest = fmax(largest, image[2 * i]);
    for (int64_t i = 0; i < voxels; i++) {
        if (!(image[2 * i] > background * largest)) continue;
        sum += image[2 * i] * (maps ? sensitivity(maps, voxels, coils, i) : 1);
        inside++;
    }
    return inside ? sum / (double)inside : 0;
}

larmor_status larmor_phantom_noise_level(const larmor_phantom *phantom, larmor_device *dev, larmor_shape shape,
                                         int coils, double snr, double *sigma)
{
    LMR_NEED(sigma);
    *sigma = 0;
    LMR_NEED(phantom, dev);
    LMR_REFUSE(!(snr > 0 && snr <= 1e300), LARMOR_ERR_ARG,
               "phantom noise: got a signal-to-noise ratio of %g, expected a number > 0", snr);
    LMR_OWNED(larmor_array) *image = NULL, *maps = NULL;
    LMR_HEAP double *density = NULL, *sensitivities = NULL;
    LMR_TRY(larmor_phantom_image(phantom, dev, LARMOR_C128, shape, &image));
    LMR_TRY(larmor_array_download(image, LARMOR_C128, &density));
    if (coils) {
        LMR_TRY(larmor_phantom_coils_around(phantom, dev, LARMOR_C128, shape, NULL, coils, &maps));
        LMR_TRY(larmor_array_download(maps, LARMOR_C128, &sensitivities));
    }
    const int64_t voxels = larmor_shape_count(shape);
    *sigma = mean_signal(density, sensitivities, voxels, coils) / (snr * sqrt((double)voxels));
    return LARMOR_OK;
}
