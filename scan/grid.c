/* The grid of each group: from the header or the options, or a larger one where the object exceeds the field of view.
 * SPDX-License-Identifier: Apache-2.0 */
#include "scan/grid.h"

#include "core/core.h"
#include "pipeline/choose_maps.h"
#include "pipeline/maps.h"
#include "scan/cartesian.h"
#include "scan/sample_cache.h"

/* ---- what was asked for ---- */

/* Value d of three. If only the first is given, it holds for all axes that equal the first one in the header. */
static double listed(const double value[3], int d, int as_first)
{
    if (value[d] > 0) return value[d];
    return value[1] == 0 && value[2] == 0 && as_first ? value[0] : 0;
}

void lmr_grid_asked(const larmor_recon_opts *o, const larmor_encoding *e, larmor_grid_opts *opts)
{
    const double matrix[3] = {(double)o->matrix[0], (double)o->matrix[1], (double)o->matrix[2]};
    *opts = (larmor_grid_opts){{0}, {0}, {0}};
    for (int d = 0; d < e->ndim; d++) {
        opts->matrix[d] = (int64_t)listed(matrix, d, e->recon_matrix[d] == e->recon_matrix[0]);
        opts->fov_mm[d] = listed(o->fov_mm, d, fabs(e->recon_fov_mm[d] / e->recon_fov_mm[0] - 1) < 1e-6);
        opts->oversample[d] = listed(o->oversample, d, 1);
    }
}

/* Axes whose voxels are no neighbours stay as they are, of any oversampling of all axes too. */
static larmor_status keep_apart(const larmor_recon *r, const larmor_encoding *e, larmor_grid_opts *opts)
{
    const larmor_recon_opts *o = &r->settings.opts;
    for (int d = 0; d < e->ndim; d++) {
        if (!e->apart[d]) continue;
        opts->matrix[d] = 0;
        opts->fov_mm[d] = 0;
        opts->oversample[d] = 1;
        if ((o->matrix[d] == 0 || o->matrix[d] == e->recon_matrix[d]) && !(o->fov_mm[d] > 0) &&
            !(o->oversample[d] > 1))
            continue;
        return LMR_FAIL(LARMOR_ERR_ARG,
                        "opts.matrix, opts.fov_mm and opts.oversample: %c are %lld separate slices, nothing lies "
                        "between them; give the other axes alone.",
                        "xyz"[d], (long long)e -> recon_matrix[d]);
    }
    return LARMOR_OK;
}

/* Values along z that no encoding has are handed on, so that they are refused. */
static larmor_status options_of(const larmor_recon *r, int encoding, larmor_grid_opts *opts)
{
    larmor_encoding e, other;
    int solid = 0;
    LMR_TRY(lmr_source_encoding(r->facts.source, encoding, &e));
    lmr_grid_asked(&r->settings.opts, &e, opts);
    for (int i = 0; i < r->facts.info.encodings; i++) {
        LMR_TRY(lmr_source_encoding(r->facts.source, i, &other));
        solid |= other.ndim > 2;
    }
    if (solid) return keep_apart(r, &e, opts);
    opts->matrix[2] = r->settings.opts.matrix[2];
    opts->fov_mm[2] = r->settings.opts.fov_mm[2];
    opts->oversample[2] = r->settings.opts.oversample[2];
    return LARMOR_OK;
}

/* Voxels per sample along readouts, and lines of the grid per readout, above which the header's matrix is not that
 * of the samples: zero filling takes 2 to 4 along an axis, and of lines an undersampling of up to 16 beside. */
enum { MAX_VOXELS_PER_SAMPLE = 16, MAX_LINES_PER_READOUT = 256 };

/* Of lines without a trajectory, whose places are counted within the matrix; one that the caller gives is taken. */
static larmor_status check_filled(const larmor_recon *r, const larmor_group *g, const larmor_grid *grid)
{
    const int64_t *n = grid->matrix;
    const int64_t lines = grid->ndim > 2 ? n[1] * n[2] : n[1];
    larmor_encoding e;
    LMR_TRY(lmr_source_encoding(r->facts.source, g->encoding, &e));
    if (strcmp(e.trajectory, "cartesian") != 0 && strcmp(e.trajectory, "epi") != 0) return LARMOR_OK;
    if (r->facts.info.traj_stored || r->settings.opts.matrix[0] || !g->samples || !g->readouts) return LARMOR_OK;
    if (n[0] / g->samples <= MAX_VOXELS_PER_SAMPLE && lines / g->readouts <= MAX_LINES_PER_READOUT) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_FORMAT,
        "header: a matrix of %lld x %lld x %lld for %lld readouts of %lld samples, which cannot fill it: at "
        "most %d voxels a sample and %d lines a readout expected. Give the matrix by opts.matrix.",
        (long long)n[0], (long long)n[1], (long long)(grid->ndim > 2 ? n[2] : 1), (long long)g->readouts,
        (long long)g->samples, MAX_VOXELS_PER_SAMPLE, MAX_LINES_PER_READOUT);
}

larmor_status lmr_grids_choose(larmor_recon *r)
{
    LMR_ALLOCATE_ZEROS(r->facts.grid, (size_t)r->facts.info.groups + 1);
    for (int i = 0; i < r->facts.info.groups; i++) {
        larmor_group g;
        larmor_grid_opts opts;
        LMR_TRY(lmr_source_group(r->facts.source, i, &g));
        LMR_TRY(options_of(r, g.encoding, &opts));
        LMR_TRY(lmr_source_grid(r->facts.source, g.encoding, &opts, &r->facts.grid[i]));
        LMR_TRY(lmr_cartesian_grid(&r->job, g.encoding, opts.oversample, &r->facts.grid[i]));
        LMR_TRY(check_filled(r, &g, &r->facts.grid[i]));
    }
    return LARMOR_OK;
}

/* ---- given maps ---- */

/* 1 if the groups' grids are alike. */
static int same_grid(const larmor_grid *a, const larmor_grid *b)
{
    int same = a->ndim == b->ndim;
    for (int d = 0; d < 3; d++) same &= a->matrix[d] == b->matrix[d] && a->crop[d] == b->crop[d];
    return same;
}

int lmr_grids_fit_maps(larmor_recon *r, const int64_t size[4])
{
    const int of = r->list.group[0];
    const larmor_grid first = r->facts.grid[of];
    int fit = size[3] == r->facts.info.coils;
    for (int d = 0; d < 3; d++) fit &= d < first.ndim ? size[d] >= first.matrix[d] : size[d] == 1;
    for (int i = 0; i < r->facts.info.groups && fit; i++) {
        larmor_grid *g = &r->facts.grid[i];
        if (!same_grid(g, &first)) continue;
        for (int d = 0; d < g->ndim; d++) {
            g->fov_mm[d] *= (double)size[d] / (double)g->matrix[d];
            g->matrix[d] = size[d];
        }
    }
    r->maps_enlarge = fit && !same_grid(&first, &r->facts.grid[of]);
    if (r->maps_enlarge)
        lmr_log(&r->events, "field of view: the maps reach beyond it; reconstructed on their grid and cropped");
    return fit;
}

/* ---- what the data ask for ---- */

enum { MOST_LOOKS = 3 }; /* slices of an encoding: first, middle and last say enough of the others */

enum { LEAST_COILS = 3, LEAST_SIDE = 16 }; /* for a prediction */

/* The groups of an encoding to look at. */
static int looks_of(const larmor_recon *r, int encoding, int look[MOST_LOOKS])
{
    int *first = calloc((size_t)r->list.groups + 1, sizeof *first), slices = 0, count = 0;
    larmor_group g, other;
    for (int i = 0; first && i < r->list.groups; i++) {
        if (lmr_source_group(r->facts.source, r->list.group[i], &g) || g.encoding != encoding) continue;
        int known = 0;
        for (int j = 0; j < slices && !known; j++)
            known = !lmr_source_group(r->facts.source, first[j], &other) && other.slice == g.slice;
        if (!known) first[slices++] = r->list.group[i];
    }
    for (int i = 0; i < MOST_LOOKS && i < slices; i++)
        look[count++] = first[slices <= MOST_LOOKS ? i : i * (slices - 1) / (MOST_LOOKS - 1)];
    free(first);
    return count;
}

static larmor_problem problem_of(const larmor_recon *r, int group, const larmor_samples *samples)
{
    const larmor_shape shape = larmor_array_shape(samples->kspace);
    return (larmor_problem){.image = lmr_grid_shape(&r->facts.grid[group]),
                            .samples = shape.dim[0] * shape.dim[1],
                            .coils = shape.dim[2],
                            .dtype = LARMOR_C64};
}

/* Fails where a search that takes so many bytes would not fit into memory beside the samples. */
static larmor_status expect_room(const larmor_recon *r, int64_t bytes, const larmor_samples *samples)
{
    const int64_t allowed = r->settings.opts.memory;
    int64_t available, total;
    LMR_TRY(larmor_device_memory(r->facts.dev, &available, &total));
    const int64_t limit = allowed ? allowed : available;
    const int64_t needed = bytes + (allowed ? (int64_t)larmor_array_bytes(samples->kspace) : 0);
    if (!limit || needed <= limit) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_MEMORY, "%lld MB needed, %lld MB %s", (long long)((needed + 999999) / 1000000),
                    (long long)(limit / 1000000), allowed ? "allowed" : "free");
}

/* Of the signal inside: outside of which a larger field of view is tried, as larmor_field_of_view_extent has it by
 * default. */
#define MIN_SIGNAL_OUTSIDE 0.03

static int is_wide(const larmor_extent *e)
{
    return e->factor[0] > 1 || e->factor[1] > 1 || e->factor[2] > 1;
}

static larmor_status seen_extent(larmor_recon *r, int group, const larmor_samples *samples, larmor_extent *extent)
{
    const larmor_problem p = problem_of(r, group, samples);
    int64_t bytes;
    LMR_TRY(larmor_extent_memory(r->facts.dev, &p, NULL, &bytes));
    LMR_TRY(expect_room(r, bytes, samples));
    LMR_TRY(larmor_field_of_view_extent(samples->kspace, samples->traj, p.image, NULL, extent));
    if (extent->outside >= MIN_SIGNAL_OUTSIDE)
        lmr_log(
            &r->events,
            "field of view: %s signal of %.2g outside: the misfit in the centre of k-space would be %.2g instead of "
            "%.2g%s",
            is_wide(extent) ? "enlarged for" : "not enlarged for", extent->outside, extent->enlarged, extent->misfit,
            is_wide(extent) ? "" : "; a delay, motion or off-resonance may appear there as well");
    return LARMOR_OK;
}

larmor_status lmr_grid_is_to_predict(const larmor_encoding *e, const larmor_grid *grid, const larmor_samples *samples,
                                     int *predict)
{
    const larmor_shape image = lmr_grid_shape(grid);
    double encoded[3] = {1, 1, 1}, aliasing;
    LMR_OWNED(larmor_array) *ramp = NULL;
    *predict = 0;
    if (grid->ndim != 2 || larmor_array_shape(samples->kspace).dim[2] < LEAST_COILS || image.dim[0] < LEAST_SIDE ||
        image.dim[1] < LEAST_SIDE || !larmor_density_ramp(samples->traj, image, &ramp))
        return LARMOR_OK;
    for (int d = 0; d < grid->ndim; d++) encoded[d] = fmin(1, e->fov_mm[d] / grid->fov_mm[d]);
    LMR_TRY(larmor_calibration_aliasing(samples->traj, image, encoded, &aliasing));
    *predict = isfinite(aliasing) && lmr_maps_alias(grid->ndim, aliasing);
    return LARMOR_OK;
}

/* The extent grows to what predicts samples that are left out. */
static larmor_status predicted_extent(larmor_recon *r, int group, const larmor_samples *samples,
                                      larmor_extent *extent)
{
    const larmor_problem p = problem_of(r, group, samples);
    larmor_prediction found;
    larmor_encoding e;
    larmor_group g;
    int64_t bytes;
    int predict;
    LMR_TRY(lmr_source_group(r->facts.source, group, &g));
    LMR_TRY(lmr_source_encoding(r->facts.source, g.encoding, &e));
    LMR_TRY(lmr_grid_is_to_predict(&e, &r->facts.grid[group], samples, &predict));
    if (!predict || r->facts.info.hole > 0)
        return LARMOR_OK; /* next to a hole a larger image fits better, whatever the object */
    LMR_TRY(larmor_predict_field_of_view_memory(r->facts.dev, &p, &bytes));
    LMR_TRY(expect_room(r, bytes, samples));
    LMR_TRY(larmor_predict_field_of_view(samples->kspace, samples->traj, p.image, &found));
    if (found.factor > 1)
        lmr_log(&r->events,
                "field of view: %.3g times it predicts samples that are left out better, with %.2g times the error; "
                "the centre of k-space is undersampled",
                found.factor, found.gain);
    for (int d = 0; d < p.image.ndim; d++) extent->factor[d] = fmax(extent->factor[d], found.factor);
    return LARMOR_OK;
}

/* What k-space of the samples reaches of the edge, along the axis with most. */
static larmor_status reach_of(const larmor_samples *samples, const larmor_grid *grid, double *reach)
{
    const int64_t count = larmor_array_count(samples->traj);
    LMR_OWN_MEMORY(double, k, larmor_array_download(samples->traj, LARMOR_F64, &k));
    *reach = 0;
    for (int64_t i = 0; i < count; i++) {
        const int d = (int)(i % grid->ndim);
        *reach = fmax(*reach, 2 * fabs(k[i]) / (double)grid->matrix[d]);
    }
    return LARMOR_OK;
}

/* Of the edge of k-space: of readouts that end earlier another unit would take them there. Not
 * measured. */
#define MAX_SHORT_EXTENT 0.93
/* A larger field of view times the part of k-space, which are 1 where a wrong unit makes both. No
 * record has the scans. */
#define MIN_FOV_EXTENT_PRODUCT 0.85
#define MAX_FOV_EXTENT_PRODUCT 1.2

/* An object beyond the field of view and k-space that is not sampled to its edge have one cause where the
 * trajectory is in another unit. */
static void warn_of_unit(larmor_recon *r, double factor, double reach)
{
    const double product = factor * reach;
    if (!r->facts.info.traj_stored || reach > MAX_SHORT_EXTENT || product < MIN_FOV_EXTENT_PRODUCT ||
        product > MAX_FOV_EXTENT_PRODUCT)
        return;
    lmr_warn(
        &r->events,
        "signal reaches to %.3g times the field of view, and k-space ends at %.2g of its edge: both are so where the "
        "trajectory is taken to be %.2g of what it is. Check its unit, and the field of view of the header.",
        factor, reach, reach);
}

static larmor_status extent_of(larmor_recon *r, int group, larmor_extent *extent, double *reach)
{
    larmor_samples samples;
    lmr_cartesian cartesian;
    int made;
    larmor_status st = LARMOR_OK;
    LMR_TRY(lmr_group_average(&r->job, group, &samples, &made, &cartesian));
    *extent = (larmor_extent){.factor = {1, 1, 1}}; /* what is outside folds exactly onto the inside of a grid */
    if (!cartesian.on_grid) st = seen_extent(r, group, &samples, extent);
    if (!st && !cartesian.on_grid) st = predicted_extent(r, group, &samples, extent);
    if (!st && !cartesian.on_grid && is_wide(extent)) st = reach_of(&samples, &r->facts.grid[group], reach);
    lmr_samples_release(&r->job, group, &samples, made, &cartesian);
    return st;
}

/* The largest extent of all that are looked at. */
static larmor_status encoding_extent(larmor_recon *r, int encoding, larmor_extent *most, double *reach)
{
    int look[MOST_LOOKS];
    const int looks = looks_of(r, encoding, look);
    *most = (larmor_extent){.factor = {1, 1, 1}};
    for (int i = 0; i < looks; i++) {
        larmor_extent e;
        LMR_TRY(extent_of(r, look[i], &e, reach));
        for (int d = 0; d < 3; d++)
            if (!r->facts.grid[look[i]].apart[d]) most->factor[d] = fmax(most->factor[d], e.factor[d]);
        most->outside = fmax(most->outside, e.outside);
    }
    return LARMOR_OK;
}

/* Given maps go on with maps from the data. Those have one set, and one encoding, whose grid the given ones fit. */
static int can_enlarge(const larmor_recon *r)
{
    return !r->facts.given || (!r->facts.sets && r->facts.info.encodings == 1);
}

static void report_enlarged(larmor_recon *r, const larmor_extent *e, const larmor_grid *from, const larmor_grid *to)
{
    lmr_events *events = &r->events;
    char factor[64], sides[96];
    int length = 0, size = 0;
    for (int d = 0; d < to->ndim; d++) {
        length += snprintf(factor + length, sizeof factor - (size_t)length, "%s%.3g", d ? "x" : "", e->factor[d]);
        size += snprintf(sides + size, sizeof sides - (size_t)size, "%s%lld", d ? "x" : "", (long long)to->matrix[d]);
    }
    if (!can_enlarge(r))
        lmr_warn(events,
                 "signal reaches to %s times the field of view, beyond maps of %lldx%lldx%lld; what is "
                 "outside folds in. Maps of %s with the same voxels are taken, too.",
                 factor, (long long)from->matrix[0], (long long)from->matrix[1],
                 (long long)(from->ndim > 2 ? from->matrix[2] : 1), sides);
    else
        lmr_log(events, "field of view: signal reaches to %s times it; reconstructed on a grid of %s and cropped%s",
                factor, sides,
                r->facts.given && r->facts.coils > 1 ? "; beyond the given maps, they are found from the data" : "");
}

static larmor_status enlarge_encoding(larmor_recon *r, int encoding)
{
    larmor_extent extent;
    larmor_grid_opts opts;
    larmor_encoding e;
    larmor_grid grid, before = {.ndim = 0};
    double reach = 1;
    LMR_TRY(encoding_extent(r, encoding, &extent, &reach));
    if (!is_wide(&extent)) return LARMOR_OK;
    warn_of_unit(r, fmax(extent.factor[0], fmax(extent.factor[1], extent.factor[2])), reach);
    LMR_TRY(options_of(r, encoding, &opts));
    LMR_TRY(lmr_source_encoding(r->facts.source, encoding, &e));
    for (int d = 0; d < e.ndim; d++) opts.oversample[d] = extent.factor[d];
    LMR_TRY(lmr_source_grid(r->facts.source, encoding, &opts, &grid));
    for (int i = 0; i < r->facts.info.groups; i++) {
        larmor_group g;
        LMR_TRY(lmr_source_group(r->facts.source, i, &g));
        if (g.encoding != encoding) continue;
        before = r->facts.grid[i];
        if (can_enlarge(r)) r->facts.grid[i] = grid;
    }
    r->enlarged |= can_enlarge(r);
    report_enlarged(r, &extent, &before, &grid);
    return r->facts.given && can_enlarge(r) ? lmr_choose_maps_beyond(r) : LARMOR_OK;
}

larmor_status lmr_grids_enlarge(larmor_recon *r)
{
    const double *asked = r->settings.opts.oversample;
    if (r->job.found.method.kind == LMR_METHOD_GRID || r->maps_enlarge) return LARMOR_OK;
    if (asked[0] > 0 || asked[1] > 0 || asked[2] > 0) return LARMOR_OK;
    for (int e = 0; e < r->facts.info.encodings; e++) {
        const larmor_status st = enlarge_encoding(r, e);
        if (st == LARMOR_STOPPED) return st;
        if (st) lmr_log(&r->events, "field of view: not looked beyond: %s", larmor_last_error());
    }
    return LARMOR_OK;
}

int lmr_grids_shrink(larmor_recon *r)
{
    if (!r->enlarged) return 0;
    free(r->facts.grid);
    r->enlarged = 0;
    r->facts.grid = NULL;
    if (r->facts.given) r->facts.maps_method = NULL;
    return lmr_grids_choose(r) == LARMOR_OK;
}
