/* The options of trajectories, and delays as text. SPDX-License-Identifier: Apache-2.0 */
#include "scan.h"

#include <string.h>

#include "try.h"

larmor_traj_opts scan_trajectory_opts(const scan_trajectory *options)
{
    larmor_traj_opts opts = options->opts;
    for (int d = 0; d < options->matrix.count; d++) opts.matrix[d] = (int64_t)options->matrix.value[d];
    for (int d = 0; d < 2; d++) {
        if (d < options->acceleration.count) opts.acceleration[d] = (int64_t)options->acceleration.value[d];
        if (d < options->calibration.count) opts.calibration[d] = (int64_t)options->calibration.value[d];
    }
    return opts;
}

int scan_trajectory_dimensions(const scan_trajectory *options)
{
    larmor_traj_info info;
    if (options->matrix.count > 2) return options->matrix.value[2] > 1 ? 3 : 2;
    for (int i = 0; (info = larmor_traj_entry(i)).name && strcmp(options->name, info.name) != 0;) i++;
    return info.solid ? 3 : 2;
}

int scan_delays(int ndim, const app_list *list, double delay[6])
{
    static const int flat[] = {0, 1, 3};
    memset(delay, 0, 6 * sizeof *delay);
    const int pairs = ndim > 2 ? 6 : 3;
    if (list->count && list->count != ndim && list->count != pairs) return 0; /* none is given: no delays */
    for (int i = 0; i < list->count; i++) delay[ndim > 2 ? i : flat[i]] = list->value[i];
    return 1;
}

const char *scan_delays_expected(int ndim)
{
    return ndim > 2 ? "X,Y,Z or X,Y,Z,XY,XZ,YZ expected, because the scan is 3D"
                    : "X,Y or X,Y,XY expected, because the scan is 2D";
}

scan_delays_text scan_describe_delays(int ndim, const double delay[6])
{
    static const int flat[] = {0, 1, 3};
    scan_delays_text text = {""};
    size_t used = 0;
    for (int i = 0; i < (ndim > 2 ? 6 : 3); i++)
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, "%s%.4f", i ? "," : "",
                                 delay[ndim > 2 ? i : flat[i]]);
    return text;
}

static int is_wanted(int only, int value)
{
    return only < 0 || only == value;
}

/* Of the encoding whose slices were excited together; 1: none were, or that is left out. */
static larmor_status multiband_factor(const larmor_raw *raw, int *factor)
{
    const larmor_raw_info info = larmor_raw_describe(raw);
    *factor = 1;
    for (int i = 0; i < info.encodings && !info.multiband_left_out; i++) {
        larmor_encoding e;
        TRY(larmor_raw_encoding(raw, i, &e));
        if (e.multiband.factor > *factor) *factor = e.multiband.factor;
    }
    return LARMOR_OK;
}

larmor_status scan_count(const larmor_raw *raw, const larmor_counters *only, int *images, int *slices)
{
    const int groups = larmor_raw_describe(raw).groups;
    APP_HEAP unsigned char *known = calloc((size_t)larmor_raw_describe(raw).encodings + 1, UINT16_MAX + 1);
    larmor_group g;
    if (!known) return NO_MEMORY();
    int factor;
    TRY(multiband_factor(raw, &factor));
    *images = *slices = 0;
    for (int i = 0; i < groups; i++) {
        larmor_encoding e;
        TRY(larmor_raw_group(raw, i, &g));
        TRY(larmor_raw_encoding(raw, g.encoding, &e));
        if (factor > 1 && e.multiband.factor != factor) continue; /* a reference */
        if ((only->encoding > 0 && only->encoding != g.encoding + 1) || !is_wanted(only->slice, g.slice) ||
            !is_wanted(only->contrast, g.contrast) || !is_wanted(only->phase, g.phase) ||
            !is_wanted(only->repetition, g.repetition) || !is_wanted(only->set, g.set))
            continue;
        unsigned char *own = &known[(size_t)g.encoding * (UINT16_MAX + 1) + (size_t)(g.slice & UINT16_MAX)];
        *slices += !*own;
        *own = 1;
        ++*images;
    }
    return LARMOR_OK;
}
