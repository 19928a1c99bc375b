/* The options of coil maps, for recon and maps. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common.h"

/* 1 if --maps names a file. */
int recon_maps_from_file(const char *maps);

/* A line for the table of a command whose settings have `app_list maps_fov;`. */
#define MAPS_FOV_OPTION(settings)                                                                                    \
    APP_OPTION(settings, APP_NUMBERS, maps_fov, 0, "maps-fov", "X[,Y[,Z]]",                                          \
               "what the maps of a file cover in mm, from which they are interpolated to the image's grid; X "       \
               "alone: for all axes "                                                                                \
               "that are as long as x in the header (default: what an .h5 or a complex .nii states; of others, "     \
               "that of the grid, "                                                                                  \
               "encodedSpace or the image, whose matrix they must have)",                                            \
               .low = 1e-3, .high = 1e6, .member = "maps_place")

/* Where the maps of a file lie, for larmor_recon_opts.maps_place: as --maps-fov says, or the file. */
larmor_status map_place(const char *path, const app_list *fov, larmor_image_meta *place);

/* larmor_maps_save of maps [image..., coils] or, with sets > 1, [image..., coils, sets]. */
larmor_status map_save(larmor_output *out, larmor_array *maps, int sets, const larmor_image_meta *meta);
