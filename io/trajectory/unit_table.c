/* The units of trajectories by name, and what stored values are in them. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/trajectory/mrd_units.h"

#define NO_EXTENT 1e-5 /* of the largest range of values, for an axis along which all are the same */

static const struct unit {
    larmor_traj_unit is;
    const char *label;
    double bound; /* values end here by definition; 0: they do not */
} units_table[LMR_UNITS] = {
    [LMR_PER_FOV] = {{"1/fov", 1, 0, 0, 0}, "1/FOV", 0},
    [LMR_NORM] = {{"norm", 0, 1, 0, 0}, "norm", .5},
    [LMR_PM1] = {{"pm1", 0, .5, 0, 0}, "pm1", 1},
    [LMR_RAD] = {{"rad", 0, .5 / M_PI, 0, 0}, "rad", M_PI},
    [LMR_PER_M] = {{"1/m", 0, 0, 1e-3, 0}, "1/m", 0},
    [LMR_RAD_PER_M] = {{"rad/m", 0, 0, .5e-3 / M_PI, 0}, "rad/m", 0},
    [LMR_PER_MM] = {{"1/mm", 0, 0, 1, 0}, "1/mm", 0},
    [LMR_PER_RECON_FOV] = {{"1/recon-fov", 0, 0, 0, 1}, "1/FOV of reconSpace", 0},
    [LMR_PER_CM] = {{"1/cm", 0, 0, .1, 0}, "1/cm", 0},
};

larmor_traj_unit larmor_traj_unit_entry(int i)
{
    return i >= 0 && i < LMR_UNITS ? units_table[i].is : (larmor_traj_unit){.name = NULL};
}

static const char *name_at(int i)
{
    return larmor_traj_unit_entry(i).name;
}

/* The unit of that name, or LMR_UNITS. */
static int unit_named(const char *name, size_t length)
{
    int unit = 0;
    while (unit < LMR_UNITS &&
           (strncmp(name, units_table[unit].is.name, length) != 0 || units_table[unit].is.name[length]))
        unit++;
    return unit;
}

int lmr_units_named(const char *names, int unit[3])
{
    for (int d = 0; d < 3; d++) {
        const size_t length = strcspn(names, ",");
        unit[d] = unit_named(names, length);
        if (unit[d] == LMR_UNITS) return 0;
        if (names[length] && d == 2) return 0;
        if (names[length]) names += length + 1;
    }
    return 1;
}

const char *lmr_unit_label(int unit)
{
    return units_table[unit].label;
}

double lmr_unit_bound(int unit)
{
    return units_table[unit].bound;
}

int lmr_unit_is_recon(int unit)
{
    return units_table[unit].is.per_recon > 0;
}

lmr_names lmr_unit_names(void)
{
    return lmr_list_names(name_at);
}

double lmr_unit_scale(int unit, const larmor_encoding *space, int d)
{
    const larmor_traj_unit *u = &units_table[unit].is;
    double scale = u->fixed + u->per_voxel * (double)space->matrix[d] + u->per_mm * space->fov_mm[d];
    if (u->per_recon > 0 && space->recon_fov_mm[d] > 0)
        scale += u->per_recon * space->fov_mm[d] / space->recon_fov_mm[d];
    return scale;
}

lmr_reading lmr_read_in(const int unit[3], const larmor_encoding *space, const lmr_stored *s)
{
    lmr_reading r = {.axis = 0};
    double range = 0;
    for (int d = 0; d < s->axes; d++) range = fmax(range, s->e.high[d] - s->e.low[d]);
    for (int d = 0; d < 3; d++) {
        r.unit[d] = unit[d];
        if (d >= s->axes || s->e.high[d] - s->e.low[d] <= NO_EXTENT * range) continue;
        const double scale = lmr_unit_scale(unit[d], space, d);
        r.reach[d] = lmr_largest(&s->e, d) * scale / ((double)space->matrix[d] / 2);
        if (r.reach[d] > r.reach[r.axis] * (1 + 1e-4)) r.axis = d; /* of equal ones the first */
        r.step += s->e.step2[d] * scale * scale;
    }
    r.step = sqrt(r.step);
    return r;
}

lmr_text lmr_reading_name(const lmr_reading *r, int axes)
{
    lmr_text name;
    int same = 1;
    for (int d = 1; d < axes; d++) same &= r->unit[d] == r->unit[0];
    int n = snprintf(name.s, sizeof name.s, "%s", name_at(r->unit[0]));
    for (int d = 1; d < axes && !same; d++)
        n += snprintf(name.s + n, sizeof name.s - (size_t)n, ",%s", name_at(r->unit[d]));
    return name;
}
