/* Matches of a dictionary, by products of blocks of voxels and entries (Ma et al., Nature 495, 187 (2013)).
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "fit/fit.h"

typedef float complex number;

enum { VOXELS = 2048, ENTRIES = 2048 }; /* of a block: products of 32 MiB; not tuned */

typedef struct work {
    int64_t voxels, entries, times;
    const number *x;                  /* [voxels, times] */
    number *d;                        /* [entries, times], each entry of norm 1 */
    double *norm;                     /* [entries] */
    number *product;                  /* [VOXELS, ENTRIES] */
    int64_t first_voxel, first_entry; /* of the block */
    int64_t block_voxels, block_entries;
    int64_t *entry; /* [voxels] */
    number *best;   /* [voxels]: that entry's product */
    float *match;
} work;

LMR_FREES(free_work, work, d, norm, product, entry, best, match)

/* The largest product of the block, if it is larger than those of blocks before. */
static void search_block(void *self, int64_t i)
{
    work *w = self;
    const int64_t voxel = w->first_voxel + i;
    float most = cabsf(w->best[voxel]);
    if (w->entry[voxel] < 0) return;
    for (int64_t e = 0; e < w->block_entries; e++) {
        const number product = w->product[i + w->block_voxels * e];
        if (!(cabsf(product) > most)) continue;
        most = cabsf(product);
        w->best[voxel] = product;
        w->entry[voxel] = w->first_entry + e;
    }
}

static larmor_status search_all(const larmor_device *dev, work *w)
{
    for (w->first_voxel = 0; w->first_voxel < w->voxels; w->first_voxel += VOXELS) {
        w->block_voxels = w->voxels - w->first_voxel < VOXELS ? w->voxels - w->first_voxel : VOXELS;
        for (w->first_entry = 0; w->first_entry < w->entries; w->first_entry += ENTRIES) {
            w->block_entries = w->entries - w->first_entry < ENTRIES ? w->entries - w->first_entry : ENTRIES;
            LMR_TRY(dev->be->la[LMR_F32]->gemm(dev->ctx, 'N', 'C', w->block_voxels, w->block_entries, w->times,
                                               w->x + w->first_voxel, w->voxels, w->d + w->first_entry, w->entries,
                                               w->product, w->block_voxels));
            LMR_TRY(lmr_parallel(lmr_device_threads(dev), w->block_voxels, search_block, w));
        }
    }
    return LARMOR_OK;
}

larmor_status lmr_fit_compress(const larmor_array *dictionary, const larmor_array *basis, double complex **out)
{
    const int64_t entries = dictionary->shape.dim[0], frames = dictionary->shape.dim[1];
    LMR_OWN_MEMORY(double complex, d, larmor_array_download(dictionary, LARMOR_C128, &d));
    if (!basis) {
        return LMR_HAND_ON(*out, d);
    }
    LMR_OWN_MEMORY(double complex, b, larmor_array_download(basis, LARMOR_C128, &b));
    const int64_t times = basis->shape.dim[1];
    LMR_NEW_ZEROS(double complex, made, entries *times + 1);
    for (int64_t k = 0; k < times; k++)
        for (int64_t t = 0; t < frames; t++)
            for (int64_t e = 0; e < entries; e++)
                made[e + entries * k] += d[e + entries * t] * conj(b[t + frames * k]);
    *out = made;
    return LARMOR_OK;
}

static larmor_status normalise(const larmor_array *dictionary, const larmor_array *basis, work *w)
{
    LMR_OWN_MEMORY(double complex, d, lmr_fit_compress(dictionary, basis, &d));
    LMR_ALLOCATE(w->d, w->entries * w->times);
    LMR_ALLOCATE(w->norm, w->entries);
    for (int64_t e = 0; e < w->entries; e++) {
        double squares = 0;
        for (int64_t k = 0; k < w->times; k++) {
            const double complex value = d[e + w->entries * k];
            squares += creal(value) * creal(value) + cimag(value) * cimag(value);
        }
        w->norm[e] = sqrt(squares);
        LMR_REFUSE(!(w->norm[e] > 0), LARMOR_ERR_NUMERIC, "dictionary: entry %lld is 0, expected a signal",
                   (long long)e);
        for (int64_t k = 0; k < w->times; k++)
            w->d[e + w->entries * k] = (number)(d[e + w->entries * k] / w->norm[e]);
    }
    return LARMOR_OK;
}

static double norm_of(const work *w, int64_t voxel)
{
    double squares = 0;
    for (int64_t k = 0; k < w->times; k++) {
        const number x = w->x[voxel + w->voxels * k];
        squares += (double)crealf(x) * crealf(x) + (double)cimagf(x) * cimagf(x);
    }
    return sqrt(squares);
}

static larmor_status match_all(const larmor_device *dev, const float *mask, work *w)
{
    LMR_ALLOCATE(w->product, (int64_t)VOXELS * ENTRIES);
    LMR_ALLOCATE(w->entry, w->voxels);
    LMR_ALLOCATE_ZEROS(w->best, w->voxels + 1);
    LMR_ALLOCATE_ZEROS(w->match, w->voxels + 1);
    for (int64_t i = 0; i < w->voxels; i++) w->entry[i] = norm_of(w, i) > 0 && (!mask || mask[i] != 0) ? 0 : -1;
    LMR_TRY(search_all(dev, w));
    for (int64_t i = 0; i < w->voxels; i++) {
        if (w->entry[i] < 0) continue;
        w->match[i] = (float)fmin(1, cabsf(w->best[i]) / norm_of(w, i));
        w->best[i] /= (float)w->norm[w->entry[i]];
    }
    return LARMOR_OK;
}

larmor_status lmr_fit_check_dictionary(const larmor_array *images, const larmor_array *dictionary,
                                       const larmor_array *basis, const larmor_array *mask)
{
    const int last = images->shape.ndim - 1;
    const int64_t times = last >= 0 ? images->shape.dim[last] : 0;
    LMR_REFUSE(times < 1 || images->dtype == LARMOR_I64 || !larmor_array_count(images), LARMOR_ERR_SHAPE,
               "images: got %s, expected real or complex [..., times]", lmr_describe(images).s);
    LMR_REFUSE(dictionary->shape.ndim != 2 || dictionary->dtype == LARMOR_I64 || dictionary->shape.dim[0] < 1,
               LARMOR_ERR_SHAPE, "dictionary: got %s, expected real or complex [entries, times]",
               lmr_describe(dictionary).s);
    const int64_t frames = dictionary->shape.dim[1];
    LMR_REFUSE(!basis && frames != times, LARMOR_ERR_SHAPE,
               "dictionary: got %lld times, expected %lld as of the images", (long long)frames, (long long)times);
    const int fits = !basis || (basis->shape.ndim == 2 && basis->dtype != LARMOR_I64 &&
                                basis->shape.dim[0] == frames && basis->shape.dim[1] == times);
    LMR_REFUSE(!fits, LARMOR_ERR_SHAPE, "basis: got %s, expected [%lld, %lld]: times of the dictionary, images",
               lmr_describe(basis).s, (long long)frames, (long long)times);
    LMR_REFUSE(mask && (!lmr_is_real(mask->dtype) || larmor_array_count(mask) != larmor_array_count(images) / times),
               LARMOR_ERR_SHAPE, "mask: got %s, expected real numbers for %lld voxels", lmr_describe(mask).s,
               (long long)(larmor_array_count(images) / times));
    LMR_TRY(larmor_array_expect_finite(images, "images"));
    LMR_TRY(larmor_array_expect_finite(dictionary, "dictionary"));
    return basis ? larmor_array_expect_finite(basis, "basis") : LARMOR_OK;
}

larmor_status larmor_fit_dictionary(const larmor_array *images, const larmor_array *dictionary,
                                    const larmor_array *basis, const larmor_array *mask, larmor_array **entry,
                                    larmor_array **m0, larmor_array **match)
{
    LMR_NEED(entry, m0, match);
    *entry = *m0 = *match = NULL;
    LMR_NEED(images, dictionary);
    LMR_TRY(lmr_fit_check_dictionary(images, dictionary, basis, mask));
    larmor_device *dev = images->dev;
    LMR_REFUSE(!lmr_device_is_processor(dev), LARMOR_ERR_UNSUPPORTED,
               "images: got %s, expected an array of a processor", lmr_describe(images).s);
    const int last = images->shape.ndim - 1;
    const larmor_shape shape = larmor_shape_of(last, images->shape.dim);
    LMR_HEAP float *inside = NULL;
    LMR_FREED_BY(free_work) work w = {.times = images->shape.dim[last], .entries = dictionary->shape.dim[0]};
    w.voxels = larmor_array_count(images) / w.times;
    LMR_OWN_MEMORY(number, x, larmor_array_download(images, LARMOR_C64, &x));
    if (mask) LMR_TRY(larmor_array_download(mask, LARMOR_F32, &inside));
    w.x = x;
    LMR_TRY(normalise(dictionary, basis, &w));
    LMR_TRY(match_all(dev, inside, &w));
    LMR_OWN(larmor_array, entries, larmor_array_upload(dev, LARMOR_I64, shape, LARMOR_I64, w.entry, &entries));
    LMR_OWN(larmor_array, factors, larmor_array_upload(dev, LARMOR_C64, shape, LARMOR_C64, w.best, &factors));
    LMR_TRY(larmor_array_upload(dev, LARMOR_F32, shape, LARMOR_F32, w.match, match));
    *entry = entries;
    *m0 = factors;
    entries = factors = NULL;
    return LARMOR_OK;
}
