/* The range of values that a picture shows: from 0 to a white that shows the tissue, not its brightest rim.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/images/picture.h"

#define NEARLY_ALL 0.998     /* of all voxels: beyond are outliers */
#define OBJECT 0.1           /* of what nearly all reach; below is background */
#define OBJECT_WHITE 0.995   /* of the object's voxels */
#define TYPICAL_TO_WHITE 3.0 /* a typical voxel of the object is at least a third of white */

enum { BINS = 65536 };

/* Floats that are not negative are in the order of their bits, so the upper half of the bits makes a histogram of
 * relative steps below 1 %. Voxels that are not finite do not count. */
typedef struct histogram {
    int64_t *count;
    float most;
} histogram;

static uint32_t bin_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 16;
}

static larmor_status count_voxels(const float *voxels, int64_t count, histogram *h)
{
    *h = (histogram){calloc(BINS, sizeof *h->count), 0};
    if (!h->count) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(voxels[i])) continue;
        h->count[bin_of(voxels[i])]++;
        h->most = fmaxf(h->most, voxels[i]);
    }
    return LARMOR_OK;
}

/* What the share `part` of the voxels from bin `first` on does not exceed. */
static double quantile(const histogram *h, uint32_t first, double part)
{
    int64_t all = 0, below = 0;
    for (uint32_t b = first; b < BINS; b++) all += h->count[b];
    uint32_t bin = first;
    while (bin < BINS - 1 && (double)(below += h->count[bin]) < part * (double)all) bin++;
    const uint32_t bits = bin << 16 | 0xffff;
    float edge;
    memcpy(&edge, &bits, sizeof edge);
    return bin && edge < h->most ? edge : h->most;
}

larmor_status lmr_window(const float *voxels, int64_t count, double window[2])
{
    histogram h;
    LMR_TRY(count_voxels(voxels, count, &h));
    const uint32_t object = bin_of((float)(OBJECT * quantile(&h, 0, NEARLY_ALL)));
    const double white = quantile(&h, object, OBJECT_WHITE), typical = quantile(&h, object, 0.5);
    window[0] = 0;
    window[1] = fmin(white, TYPICAL_TO_WHITE * typical);
    free(h.count);
    return LARMOR_OK;
}

larmor_status lmr_magnitudes(const lmr_images *images, float **voxels)
{
    int64_t all = 0;
    *voxels = NULL;
    if (lmr_mul(images->voxels, images->count, &all)) *voxels = calloc((size_t)all, sizeof **voxels);
    larmor_status st = *voxels ? LARMOR_OK : LMR_NO_MEMORY();
    for (int i = 0; i < images->count && !st; i++)
        st = lmr_values(images->image[i].data, LMR_AS_MAGNITUDE, *voxels + i * images->voxels);
    if (st) LMR_CLEAR(*voxels);
    return st;
}

larmor_status larmor_image_window(const larmor_image *images, int count, double window[2])
{
    static const larmor_write_opts none = {0};
    lmr_images set;
    LMR_NEED(window);
    LMR_TRY(lmr_images_check("window", images, count, &none, &set));
    LMR_OWN_MEMORY(float, voxels, lmr_magnitudes(&set, &voxels));
    return lmr_window(voxels, set.voxels * count, window);
}
