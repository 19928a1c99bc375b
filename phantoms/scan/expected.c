/* What to expect of a simulated scan: images, coil maps, the field. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "phantoms/scan/simulation.h"

static larmor_status create_object(const larmor_simulation *s, int repetition, larmor_array **image)
{
    LMR_TRY(lmr_go_on());
    LMR_OWN(larmor_phantom, object, lmr_simulation_object(s, repetition, &object));
    const larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    return s->o.bands ? lmr_simulation_bands_image(s, object, image)
                      : larmor_phantom_bandlimited_phase(object, &s->phase, s->dev, LARMOR_C64, shape, image);
}

/* The object with the density of a slice. */
static larmor_status create_slice(const larmor_simulation *s, int slice, const larmor_array *object,
                                  const larmor_array **image)
{
    larmor_array *scaled;
    LMR_TRY(larmor_array_create(s->dev, LARMOR_C64, larmor_array_shape(object), &scaled));
    *image = scaled;
    return larmor_axpby(lmr_simulation_density(s, slice), object, 0, scaled);
}

larmor_status larmor_simulation_expect(const larmor_simulation *simulation, larmor_expected *expected)
{
    LMR_NEED(expected);
    *expected = (larmor_expected){NULL, 0};
    LMR_NEED(simulation);
    const larmor_simulation *s = simulation;
    const int slices = (int)s->info.slices, repetitions = (int)s->info.repetitions;
    LMR_NEW_ZEROS(larmor_image, image, (size_t)slices * (size_t)repetitions);
    *expected = (larmor_expected){image, slices * repetitions};
    larmor_status st = LARMOR_OK;
    larmor_array *object = NULL;
    for (int r = 0; !st && r < repetitions; r++) {
        const int is_other = !r || lmr_simulation_moves(s);
        if (is_other) {
            LMR_CLEAR(object);
            st = create_object(s, r, &object);
        }
        for (int slice = 0; !st && slice < slices; slice++) {
            const int first = slice * repetitions;
            image[first + r].meta = s->o.bands ? lmr_simulation_bands_meta(s, r) : lmr_simulation_meta(s, slice, r);
            if (is_other)
                st = create_slice(s, slice, object, &image[first + r].data);
            else
                image[first + r].data = larmor_array_ref(image[first].data);
        }
    }
    larmor_array_free(object);
    if (st) larmor_expected_free(expected);
    return st;
}

void larmor_expected_free(larmor_expected *expected)
{
    if (!expected) return;
    for (int i = 0; i < expected->count; i++) larmor_array_free(expected->image[i].data);
    free(expected->image);
    *expected = (larmor_expected){NULL, 0};
}

larmor_status larmor_simulation_maps(const larmor_simulation *simulation, const int64_t maps_matrix[3],
                                     larmor_array **maps, larmor_image_meta *meta)
{
    LMR_NEED_OUT(maps, meta);
    const larmor_simulation *s = simulation;
    LMR_NEED(simulation);
    larmor_shape shape = larmor_shape_of(s->info.ndim, s->info.matrix);
    double extent[3] = {1, 1, 1}; /* of the same voxels */
    *meta = s->geometry;
    LMR_REFUSE(s->o.bands && maps_matrix && maps_matrix[0] > 0, LARMOR_ERR_ARG,
               "opts.maps_matrix: is not for slices that are excited together.");
    if (s->o.bands) *meta = lmr_simulation_bands_meta(s, 0);
    if (maps_matrix) LMR_TRY(lmr_check_axes_given("opts.maps_matrix", (double)maps_matrix[2], 1, s->info.ndim));
    for (int d = 0; maps_matrix && d < shape.ndim; d++) {
        LMR_REFUSE(maps_matrix[d] < 0, LARMOR_ERR_ARG,
                   "simulation: got maps of %lld voxels, expected 1 or more, or 0 for the image's",
                   (long long)maps_matrix[d]);
        if (!maps_matrix[d]) continue;
        shape.dim[d] = maps_matrix[d];
        extent[d] = (double)maps_matrix[d] / (double)s->info.matrix[d];
        meta->fov_mm[d] *= extent[d];
    }
    if (s->o.bands)
        LMR_TRY(lmr_simulation_bands_maps(s, maps));
    else
        LMR_TRY(larmor_phantom_coils_around(s->phantom, s->dev, LARMOR_C64, shape, extent, s->o.coils, maps));
    const larmor_status st = lmr_simulation_silence(s, s->dead, *maps);
    if (st) LMR_CLEAR(*maps);
    return st;
}

larmor_status larmor_simulation_field(const larmor_simulation *simulation, larmor_array **hz, larmor_image_meta *meta)
{
    LMR_NEED_OUT(hz, meta);
    const larmor_simulation *s = simulation;
    LMR_NEED(simulation);
    *meta = s->geometry;
    return larmor_phantom_field_map(&s->field, s->dev, LARMOR_F32, larmor_shape_of(s->info.ndim, s->info.matrix), hz);
}
