/* A hole in the centre of k-space, which readouts leave that begin after a dead time. An object that is confined
 * to the field of view determines the samples that are missing, the better the smaller hole and field of view are:
 * so the grid is not larger than the field of view, maps are found without the centre, and the penalty is one that
 * a uniform object does not pay. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/hole.h"

#include <math.h>
#include <string.h>

#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "pipeline/report.h"

/* Cycles per field of view of the grid, radius of the largest hole that is filled. Tuned on the grid of
 * docs/records/validation.md#a-hole-in-the-centre. */
#define MAX_FILLED_RADIUS 2.05

int lmr_hole_in_maps(const larmor_recon *r)
{
    return r->facts.info.hole > 0 && !r->facts.info.calibration;
}

/* In cycles per field of view of the grid, along the axis where that is largest. */
static double radius_on_grid(const larmor_recon *r)
{
    double most = 1;
    for (int i = 0; i < r->list.groups; i++) {
        const larmor_grid *g = &r->facts.grid[r->list.group[i]];
        for (int d = 0; d < g->ndim; d++) most = fmax(most, (double)g->matrix[d] / (double)g->crop[d]);
    }
    return most * r->facts.info.hole;
}

/* Why the hole is not filled, or NULL. */
static const char *obstacle(const larmor_recon *r)
{
    const lmr_scan_facts *facts = &r->facts;
    const int from_centre = facts->coils > 1 && !facts->given && facts->maps_method != lmr_maps_method_of("nlinv");
    if (strcmp(lmr_method_name(&r->job), "tv") != 0) return "only opts.method tv and auto fill it";
    if (from_centre && lmr_hole_in_maps(r))
        return "coil maps are found from the centre, which nonlinear inversion does not need";
    if (radius_on_grid(r) > MAX_FILLED_RADIUS)
        return "objects determine holes up to 2 cycles per field of view of the grid";
    return NULL;
}

void lmr_hole_judge(larmor_recon *r)
{
    if (!(r->facts.info.hole > 0)) return;
    const char *not_filled = obstacle(r);
    r->facts.fills_hole = !not_filled;
    lmr_report_hole(r, not_filled);
}
