/* Maps by a dictionary, for larmor fit. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common.h"

typedef struct fit_settings { /* of larmor fit */
    const char *output, *model, *times, *times_file, *noise_map, *mask, *field_map;
    const char *dictionary, *table, *columns, *basis; /* of --model dictionary */
    double noise, threshold, field_strength;
    int64_t threads;
    int force, json, fat_above, edge_bars;
} fit_settings;

/* Returns an exit code. */
int fit_match_run(const fit_settings *s, const app_files *files);
