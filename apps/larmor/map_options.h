/* The options of coil maps, for recon and maps. SPDX-License-Identifier: Apache-2.0 */
#ifndef APP_MAP_OPTIONS_H
#define APP_MAP_OPTIONS_H

#include "common.h"

/* Values of --maps that name no file; those of larmor_maps_method_entry are among them. */
#define RECON_MAPS_WORDS "auto|none|walsh|espirit|nlinv"

/* 1 if --maps names a file. */
int recon_maps_from_file(const char *maps);

/* Lines for the table of a command whose settings have `const char *map_sets, *crop, *normalise;`. */
#define MAPS_OPTIONS(settings)                                                                                       \
    APP_OPTION(                                                                                                      \
        settings, APP_TEXT, map_sets, 0, "map-sets", "N",                                                            \
        "espirit, nlinv: sets of maps; a second one takes what folds within the field of view; auto: 2 if it folds", \
        .preset = "auto", .choices = "auto|1|2"),                                                                    \
        APP_OPTION(settings, APP_TEXT, crop, 0, "crop", "HOW",                                                       \
                   "espirit: maps where the eigenvalue shows no signal: soft (weighted down), hard (zero) or none "  \
                   "(as elsewhere); auto: hard for samples on a grid, else none",                                    \
                   .preset = "auto", .choices = "auto|soft|hard|none"),                                              \
        APP_OPTION(settings, APP_TEXT, normalise, 0, "normalise", "BY",                                              \
                   "shading that stays in the image: rss (that of the root sum of squares of the coils), sum (that " \
                   "of the sum of magnitudes, flatter beside near coils) or body (that of the coils' dominant "      \
                   "combination)",                                                                                   \
                   .preset = "rss", .choices = "rss|sum|body")

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

/* Those options, and the method (or "auto"), as the library takes them. */
void map_options_read(const char *method, const char *map_sets, const char *crop, const char *normalise,
                      larmor_recon_opts *opts);

/* larmor_maps_save of maps [image..., coils] or, with sets > 1, [image..., coils, sets]. */
larmor_status map_save(larmor_output *out, larmor_array *maps, int sets, const larmor_image_meta *meta);

#endif
