/* Maps by a dictionary, for larmor fit. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "common.h"

typedef struct fit_match {
    const char *dictionary, *table, *columns, *basis, *mask, *noise_map, *output;
    double noise;
    int64_t threads;
    int force, json, edge_bars;
} fit_match;

/* Returns an exit code. */
int fit_match_run(const fit_match *s, const app_files *files);
