/* The options of coil maps, for recon and maps. SPDX-License-Identifier: Apache-2.0 */
#include "map_options.h"

#include <stdlib.h>
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

/* Which of the names, which end in NULL. */
static int index_of(const char *name, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(name, names[i])) return i;
    return 0;
}

void map_options_read(const char *method, const char *map_sets, const char *crop, const char *normalise,
                      larmor_recon_opts *opts)
{
    static const char *const crops[] = {"auto", "soft", "hard", "none", NULL}; /* of larmor_crop_mode */
    static const char *const shadings[] = {"rss", "sum", "body", NULL};        /* of larmor_normalise_mode */
    opts->maps_method = is_method(method) ? method : NULL;
    opts->map_sets = atoi(map_sets); /* auto is 0 */
    opts->crop = (larmor_crop_mode)index_of(crop, crops);
    opts->normalise = (larmor_normalise_mode)index_of(normalise, shadings);
}

larmor_status map_save(larmor_output *out, larmor_array *maps, int sets, const larmor_image_meta *meta)
{
    const larmor_shape s = larmor_array_shape(maps);
    larmor_array *view;
    if (sets < 2 || s.ndim != 4) return larmor_maps_save(out, maps, meta);
    larmor_status st = larmor_array_reshape(maps, LARMOR_SHAPE(s.dim[0], s.dim[1], 1, s.dim[2], s.dim[3]), &view);
    if (!st) st = larmor_maps_save(out, view, meta);
    larmor_array_free(view);
    return st;
}

larmor_status map_place(const char *path, const app_list *fov, larmor_image_meta *place)
{
    larmor_status st = LARMOR_OK;
    if (!larmor_format_of(path).saves) st = larmor_image_read_meta(path, place);
    for (int d = 0; d < 3 && fov->count; d++) place->fov_mm[d] = d < fov->count ? fov->value[d] : 0;
    return st;
}
