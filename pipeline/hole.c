/* A hole in the centre of k-space, which readouts leave that begin after a dead time. An object that is confined
 * to the field of view determines the samples that are missing, the better the smaller hole and field of view are:
 * so the grid is not larger than the field of view, maps are found without the centre, and the penalty is one that
 * a uniform object does not pay. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/hole.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/maps.h"
#include "pipeline/method.h"
#include "pipeline/report.h"

/* Cycles per field of view of the grid, radius of the largest hole that is filled. Tuned on the grid of
 * docs/records/validation.md#a-hole-in-the-centre. */
#define MAX_FILLED_RADIUS 2.05

int lmr_hole_in_maps(const lmr_scan_facts *facts, const larmor_group *group)
{
    return fmax(facts->info.hole, group ? group->hole : 0) > 0 && !facts->info.calibration;
}

/* The side of the grid over that of the image, along the axis where that is largest. */
static double enlargement(const larmor_grid *g)
{
    double most = 1;
    for (int d = 0; d < g->ndim; d++) most = fmax(most, (double)g->matrix[d] / (double)g->crop[d]);
    return most;
}

/* Why the hole is not filled, or NULL. larger: grids than images. */
static const char *obstacle(const lmr_job *job, const lmr_scan_facts *facts, int maps_need_centre, double larger)
{
    if (strcmp(lmr_method_name(job), "tv") != 0) return "only opts.method tv and auto fill it";
    if (maps_need_centre && facts->coils > 1 && !facts->given && !facts->info.calibration)
        return "coil maps are found from the centre, which nonlinear inversion does not need";
    if (larger * facts->info.hole > MAX_FILLED_RADIUS)
        return "objects determine holes up to 2 cycles per field of view of the grid";
    return NULL;
}

/* name: of the image, or "". */
static void report_hole(lmr_events *e, const char *name, double radius, const char *not_filled)
{
    if (not_filled)
        lmr_log(e, "%scentre of k-space: the hole of radius %.2g/FOV is not filled, as %s", name, radius, not_filled);
    else
        lmr_log(e,
                "%scentre of k-space: no sample is nearer to k = 0 than %.2g/FOV; tv fills this hole, as the object "
                "within the field of view determines it",
                name, radius);
}

static void judge_for_all(larmor_recon *r)
{
    double larger = 1;
    for (int i = 0; i < r->list.groups; i++) larger = fmax(larger, enlargement(&r->facts.grid[r->list.group[i]]));
    const char *not_filled =
        obstacle(&r->job, &r->facts, r->facts.maps_method != lmr_maps_method_of("nlinv"), larger);
    r->facts.fills_hole = !not_filled;
    if (not_filled) lmr_report_holes(r);
    report_hole(&r->events, "", r->facts.info.hole, not_filled);
}

/* ---- of single images ---- */

/* Maps that are found from this image's own centre. */
static int needs_centre(const lmr_job *job, const larmor_group *group)
{
    const char *asked = job->settings->maps_method;
    larmor_group from;
    if (lmr_maps_are_of(job, group) && !lmr_source_group(job->facts->source, job->found.maps.from, &from) &&
        !(from.hole > 0))
        return 0;
    return strcmp(asked, "auto") != 0 && strcmp(asked, "nlinv") != 0;
}

/* The facts and the job for an image of this hole; returns why it is not filled, or NULL. */
static const char *judge_image(lmr_job *job, const larmor_group *group, int index, lmr_scan_facts *own)
{
    *own = *job->facts;
    own->info.hole = group->hole;
    job->facts = own;
    lmr_method_settle(job, own, "tv", LARMOR_METHOD_FROM_HOLE);
    const char *not_filled = obstacle(job, own, needs_centre(job, group), enlargement(&own->grid[index]));
    own->fills_hole = !not_filled;
    return not_filled;
}

/* The group with the widest hole of these, or -1. */
static int widest_of(const lmr_job *job, const int *index, int count)
{
    larmor_group group;
    double most = 0;
    int widest = -1;
    for (int i = 0; i < count && !(job->facts->info.hole > 0); i++)
        if (!lmr_source_group(job->facts->source, index[i], &group) && group.hole > most) {
            most = group.hole;
            widest = index[i];
        }
    return widest;
}

void lmr_hole_begin(lmr_job *job, const int *index, int count, lmr_scan_facts *own, lmr_shared *shared)
{
    const int widest = widest_of(job, index, count);
    larmor_group group;
    char name[48];
    *shared = (lmr_shared){.facts = NULL};
    if (widest < 0 || lmr_source_group(job->facts->source, widest, &group)) return;
    *shared = (lmr_shared){job->facts, job->found.method, job->found.decided.chosen};
    job->found.decided.chosen = (lmr_weight){.weight = 0};
    const char *not_filled = judge_image(job, &group, widest, own);
    snprintf(name, sizeof name, "image %d of %d: ", job->events->series, job->events->count);
    report_hole(job->events, name, group.hole, not_filled);
}

void lmr_hole_end(lmr_job *job, const lmr_shared *shared)
{
    if (!shared->facts) return;
    job->facts = shared->facts;
    job->found.method = shared->method;
    job->found.decided.chosen = shared->chosen;
}

/* What readers have said of single images' holes is a warning where one of them is not filled. */
static void judge_images(larmor_recon *r)
{
    int not_filled = 0;
    for (int i = 0; i < r->list.groups; i++) {
        lmr_job job = r->job;
        lmr_scan_facts own;
        larmor_group group;
        if (lmr_source_group(r->facts.source, r->list.group[i], &group) || !(group.hole > 0)) continue;
        not_filled |= judge_image(&job, &group, r->list.group[i], &own) != NULL;
    }
    if (not_filled) lmr_report_holes(r);
}

void lmr_hole_judge(larmor_recon *r)
{
    if (r->facts.info.hole > 0)
        judge_for_all(r);
    else
        judge_images(r);
}
