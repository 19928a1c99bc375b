/* Where each group is reconstructed: as the header has it or as was asked, or on a larger grid where the object is wider
 * than the field of view. SPDX-License-Identifier: Apache-2.0 */
#include "recon_grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recon_series.h"
#include "recon_solve.h"
#include "try.h"

/* ---- what was asked for ---- */

/* Value d of a list of which the first stands for all axes that are as the first one in the header. */
static double listed(const app_list *list, int d, int as_first)
{
    if (d < list->count) return list->value[d];
    return list->count == 1 && as_first ? list->value[0] : 0;
}

static larmor_status options_of(const recon_run *r, int encoding, larmor_grid_opts *opts)
{
    larmor_encoding e;
    *opts = (larmor_grid_opts){{0}, {0}, {0}};
    TRY(larmor_raw_encoding(r->job.raw, encoding, &e));
    for (int d = 0; d < e.ndim; d++) {
        opts->matrix[d] = (int64_t)listed(&r->s->matrix, d, e.recon_matrix[d] == e.recon_matrix[0]);
        opts->fov_mm[d] = listed(&r->s->fov, d, fabs(e.recon_fov_mm[d] / e.recon_fov_mm[0] - 1) < 1e-6);
        opts->oversample[d] = listed(&r->s->oversample, d, 1);
    }
    return LARMOR_OK;
}

static larmor_status choose(recon_run *r)
{
    r->job.grid = calloc((size_t)r->info.groups + 1, sizeof *r->job.grid);
    if (!r->job.grid) return NO_MEMORY();
    for (int i = 0; i < r->info.groups; i++) {
        larmor_group g;
        larmor_grid_opts opts;
        TRY(larmor_raw_group(r->job.raw, i, &g));
        TRY(options_of(r, g.encoding, &opts));
        TRY(larmor_raw_grid(r->job.raw, g.encoding, &opts, &r->job.grid[i]));
    }
    return LARMOR_OK;
}

int recon_grids_choose(recon_run *r)
{
    const larmor_status st = choose(r);
    return st ? app_fail_in(APP_INPUT, st, r->input) : APP_DONE;
}

/* ---- maps from a file ---- */

/* 1 if the groups' grids are alike. */
static int same_grid(const larmor_grid *a, const larmor_grid *b)
{
    int same = a->ndim == b->ndim;
    for (int d = 0; d < 3; d++) same &= a->matrix[d] == b->matrix[d] && a->crop[d] == b->crop[d];
    return same;
}

int recon_grids_fit_maps(recon_run *r, const int64_t size[4])
{
    const larmor_grid first = r->job.grid[0];
    int fit = size[3] == r->info.coils;
    for (int d = 0; d < 3; d++) fit &= d < first.ndim ? size[d] >= first.matrix[d] : size[d] == 1;
    for (int i = 0; i < r->info.groups && fit; i++) {
        larmor_grid *g = &r->job.grid[i];
        if (i && !same_grid(g, &first)) continue;
        for (int d = 0; d < g->ndim; d++) {
            g->fov_mm[d] *= (double)size[d] / (double)g->matrix[d];
            g->matrix[d] = size[d];
        }
    }
    r->maps_enlarge = fit && !same_grid(&first, &r->job.grid[0]);
    if (r->maps_enlarge) app_log("field of view: the maps reach beyond it; reconstructed on their grid and cropped");
    return fit;
}

/* ---- what the data ask for ---- */

enum { MOST_LOOKS = 3 }; /* slices of an encoding: first, middle and last say enough of the others */

/* The groups of an encoding to look at. */
static int looks_of(const recon_run *r, int encoding, int look[MOST_LOOKS])
{
    int *first = calloc((size_t)r->info.groups + 1, sizeof *first), slices = 0, count = 0;
    larmor_group g, other;
    for (int i = 0; first && i < r->info.groups; i++) {
        if (larmor_raw_group(r->job.raw, i, &g) || g.encoding != encoding || !recon_wanted(r->s, &g)) continue;
        int known = 0;
        for (int j = 0; j < slices && !known; j++)
            known = !larmor_raw_group(r->job.raw, first[j], &other) && other.slice == g.slice;
        if (!known) first[slices++] = i;
    }
    for (int i = 0; i < MOST_LOOKS && i < slices; i++)
        look[count++] = first[slices <= MOST_LOOKS ? i : i * (slices - 1) / (MOST_LOOKS - 1)];
    free(first);
    return count;
}

/* Fails where the search would not fit into memory beside the samples. */
static larmor_status expect_room(const recon_run *r, int group, const larmor_samples *samples)
{
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    const larmor_problem p = {.image = recon_image_shape(&r->job.grid[group]),
                              .samples = shape.dim[0] * shape.dim[1],
                              .coils = shape.dim[2],
                              .dtype = LARMOR_C64};
    int64_t bytes, available, total;
    TRY(larmor_extent_memory(r->job.dev, &p, NULL, &bytes));
    TRY(larmor_device_memory(r->job.dev, &available, &total));
    const int64_t limit = r->s->memory ? r->s->memory : available,
                  needed = bytes + (r->s->memory ? (int64_t)larmor_array_bytes(samples->kspace) : 0);
    if (!limit || needed <= limit) return LARMOR_OK;
    return larmor_fail(LARMOR_ERR_MEMORY, "%lld MB needed, %lld MB %s", (long long)((needed + 999999) / 1000000),
                       (long long)(limit / 1000000), r->s->memory ? "allowed" : "free");
}

static larmor_status extent_of(const recon_run *r, int group, larmor_extent *extent)
{
    larmor_samples samples;
    int made;
    TRY(recon_samples(&r->job, group, &samples, &made));
    larmor_status st = expect_room(r, group, &samples);
    if (!st)
        st = larmor_field_of_view_extent(samples.kspace, samples.traj, recon_image_shape(&r->job.grid[group]), NULL,
                                         extent);
    larmor_samples_free(&samples);
    return st;
}

/* The largest extent of all that are looked at. */
static larmor_status encoding_extent(const recon_run *r, int encoding, larmor_extent *most)
{
    int look[MOST_LOOKS];
    const int looks = looks_of(r, encoding, look);
    *most = (larmor_extent){{1, 1, 1}, 0};
    for (int i = 0; i < looks; i++) {
        larmor_extent e;
        TRY(extent_of(r, look[i], &e));
        for (int d = 0; d < 3; d++) most->factor[d] = fmax(most->factor[d], e.factor[d]);
        most->outside = fmax(most->outside, e.outside);
    }
    return LARMOR_OK;
}

static void say_enlarged(const recon_run *r, const larmor_extent *e, const larmor_grid *from, const larmor_grid *to)
{
    char factor[64], sides[96];
    int length = 0, size = 0;
    for (int d = 0; d < to->ndim; d++) {
        length += snprintf(factor + length, sizeof factor - (size_t)length, "%s%.3g", d ? "x" : "", e->factor[d]);
        size += snprintf(sides + size, sizeof sides - (size_t)size, "%s%lld", d ? "x" : "", (long long)to->matrix[d]);
    }
    if (r->job.given)
        app_log("warning: signal reaches to %s times the field of view, beyond maps of %lldx%lldx%lld; what is "
                "outside folds in. Maps of %s with the same voxels are taken, too.",
                factor, (long long)from->matrix[0], (long long)from->matrix[1],
                (long long)(from->ndim > 2 ? from->matrix[2] : 1), sides);
    else
        app_log("field of view: signal reaches to %s times it; reconstructed on a grid of %s and cropped", factor,
                sides);
}

static larmor_status enlarge_encoding(recon_run *r, int encoding)
{
    larmor_extent extent;
    larmor_grid_opts opts;
    larmor_grid grid, before = {.ndim = 0};
    TRY(encoding_extent(r, encoding, &extent));
    if (!(extent.factor[0] > 1 || extent.factor[1] > 1 || extent.factor[2] > 1)) return LARMOR_OK;
    TRY(options_of(r, encoding, &opts));
    for (int d = 0; d < 3; d++) opts.oversample[d] = extent.factor[d];
    TRY(larmor_raw_grid(r->job.raw, encoding, &opts, &grid));
    for (int i = 0; i < r->info.groups; i++) {
        larmor_group g;
        TRY(larmor_raw_group(r->job.raw, i, &g));
        if (g.encoding != encoding) continue;
        before = r->job.grid[i];
        if (!r->job.given) r->job.grid[i] = grid;
    }
    r->enlarged |= !r->job.given;
    say_enlarged(r, &extent, &before, &grid);
    return LARMOR_OK;
}

int recon_grids_enlarge(recon_run *r)
{
    if (r->job.method == RECON_GRID || r->s->oversample.count || r->maps_enlarge) return APP_DONE;
    for (int e = 0; e < r->info.encodings; e++) {
        const larmor_status st = enlarge_encoding(r, e);
        if (st) app_log("field of view: not looked beyond: %s", larmor_last_error());
    }
    return APP_DONE;
}

int recon_grids_shrink(recon_run *r)
{
    if (!r->enlarged) return 0;
    free(r->job.grid);
    r->enlarged = 0, r->job.grid = NULL;
    return choose(r) == LARMOR_OK;
}
