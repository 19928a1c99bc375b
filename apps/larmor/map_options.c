/* The options of coil maps, for recon and maps. SPDX-License-Identifier: Apache-2.0 */
#include "map_options.h"

#include <string.h>

static int is_method(const char *name)
{
    larmor_maps_method_info info;
    for (int i = 0; (info = larmor_maps_method_entry(i)).name; i++)
        if (!strcmp(name, info.name)) return 1;
    return 0;
}

int recon_maps_from_file(const char *maps)
{
    return strcmp(maps, "auto") != 0 && strcmp(maps, "none") != 0 && !is_method(maps);
}

larmor_status map_save(larmor_output *out, larmor_array *maps, int sets, const larmor_image_meta *meta)
{
    const larmor_shape s = larmor_array_shape(maps);
    APP_OWNED(larmor_array) *view = NULL;
    if (sets < 2 || s.ndim != 4) return larmor_maps_save(out, maps, meta);
    TRY(larmor_array_reshape(maps, LARMOR_SHAPE(s.dim[0], s.dim[1], 1, s.dim[2], s.dim[3]), &view));
    return larmor_maps_save(out, view, meta);
}

larmor_status map_place(const char *path, const app_list *fov, larmor_image_meta *place)
{
    if (!larmor_format_of(path).saves) TRY(larmor_image_read_meta(path, place));
    for (int d = 0; d < 3 && fov->count; d++) place->fov_mm[d] = d < fov->count ? fov->value[d] : 0;
    return LARMOR_OK;
}
