/* Slices that are excited together: planes of a solid phantom, whose signals the readouts add with phases that differ
 * from readout to readout (CAIPIRINHA: Breuer et al., Magn. Reson. Med. 53, 684 (2005); of spokes: Yutzy et al.,
 * Magn. Reson. Med. 65, 1630 (2011)). SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

static larmor_status plane_of_band(const larmor_simulation *s, const larmor_phantom *object, int band,
                                   larmor_phantom **plane)
{
    return larmor_phantom_plane(object, lmr_simulation_band_mm(s, band) / s->encoding.recon_fov_mm[0], plane);
}

/* y <- y + exp(i phase of the band) x for each readout */
static larmor_status add_band(const larmor_simulation *s, int band, larmor_array *x, larmor_array *y)
{
    const larmor_shape shape = larmor_shape_of(2, larmor_array_shape(x).dim);
    const int64_t count = larmor_shape_count(shape);
    LMR_HEAP LMR_NEW(double, phase, 2 * count);
    for (int64_t i = 0; i < count; i++) {
        const int64_t step = i / shape.dim[0] % s->o.band_shifts * band;
        const double angle = 2 * M_PI * (double)step / s->o.band_shifts;
        phase[2 * i] = cos(angle);
        phase[2 * i + 1] = sin(angle);
    }
    LMR_OWN(larmor_array, turn, larmor_array_upload(s->dev, larmor_array_dtype(x), shape, LARMOR_C128, phase, &turn));
    LMR_TRY(larmor_mul(turn, 0, x));
    return larmor_axpby(1, x, 1, y);
}

larmor_status lmr_simulation_bands(const larmor_simulation *s, const larmor_phantom *object, const larmor_array *traj,
                                   larmor_array **kspace)
{
    LMR_OWNED(larmor_array) *sum = NULL;
    for (int b = 0; b < s->o.bands; b++) {
        LMR_OWN(larmor_phantom, plane, plane_of_band(s, object, b, &plane));
        LMR_OWN(larmor_array, one, larmor_phantom_kspace(plane, traj, s->o.coils, LARMOR_C64, &one));
        if (!sum) LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, larmor_array_shape(one), &sum));
        if (!b) LMR_TRY(larmor_zero(sum));
        LMR_TRY(add_band(s, b, one, sum));
    }
    return LMR_HAND_ON(*kspace, sum);
}

/* ---- what to expect ---- */

larmor_image_meta lmr_simulation_bands_meta(const larmor_simulation *s, int repetition)
{
    larmor_image_meta meta = lmr_simulation_meta(s, 0, repetition);
    const double offset = lmr_simulation_band_mm(s, s->o.bands / 2);
    for (int d = 0; d < 3; d++) meta.position_mm[d] += offset * meta.slice_dir[d];
    meta.fov_mm[2] = s->o.band_mm * s->o.bands;
    return meta;
}

/* to [x, y, bands, many] <- from [x, y, many], in the plane of a band */
static larmor_status put_plane(larmor_array *from, int band, larmor_array *to)
{
    const larmor_shape all = larmor_array_shape(to);
    const int64_t voxels = all.dim[0] * all.dim[1], many = larmor_array_count(from) / voxels;
    LMR_OWN(larmor_array, lines, larmor_array_reshape(from, LARMOR_SHAPE(voxels, many), &lines));
    LMR_OWN(larmor_array, planes, larmor_array_reshape(to, LARMOR_SHAPE(voxels, all.dim[2] * many), &planes));
    for (int64_t c = 0; c < many; c++) {
        LMR_OWN(larmor_array, one, larmor_array_slice(lines, c, 1, &one));
        LMR_OWN(larmor_array, place, larmor_array_slice(planes, band + all.dim[2] * c, 1, &place));
        LMR_TRY(larmor_copy(one, place));
    }
    return LARMOR_OK;
}

larmor_status lmr_simulation_bands_image(const larmor_simulation *s, const larmor_phantom *object,
                                         larmor_array **image)
{
    const int64_t *n = s->info.matrix;
    LMR_OWN(larmor_array, all, larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(n[0], n[1], s->o.bands), &all));
    for (int b = 0; b < s->o.bands; b++) {
        LMR_OWNED(larmor_array) *one = NULL;
        LMR_OWN(larmor_phantom, plane, plane_of_band(s, object, b, &plane));
        LMR_TRY(larmor_phantom_bandlimited(plane, s->dev, LARMOR_C64, LARMOR_SHAPE(n[0], n[1]), &one));
        LMR_TRY(put_plane(one, b, all));
    }
    return LMR_HAND_ON(*image, all);
}

larmor_status lmr_simulation_bands_maps(const larmor_simulation *s, larmor_array **maps)
{
    const int64_t *n = s->info.matrix;
    LMR_OWNED(larmor_array) *all = NULL;
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, LARMOR_SHAPE(n[0], n[1], s->o.bands, s->info.coils), &all));
    for (int b = 0; b < s->o.bands; b++) {
        LMR_OWN(larmor_phantom, plane, plane_of_band(s, s->phantom, b, &plane));
        LMR_OWN(
            larmor_array, one,
            larmor_phantom_coils_around(plane, s->dev, LARMOR_C64, LARMOR_SHAPE(n[0], n[1]), NULL, s->o.coils, &one));
        LMR_TRY(put_plane(one, b, all));
    }
    return LMR_HAND_ON(*maps, all);
}
