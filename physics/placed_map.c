/* A map of the caller's on a group's grid: where it lies, or over the image's field of view. SPDX-License-Identifier:
 * Apache-2.0 */
#include "core/core.h"
#include "physics/multiband_phases.h"
#include "physics/terms.h"

/* Of a warning, and of files; neither was measured. */
#define MAX_UNCOVERED_PART 0.05 /* part of the grid's voxels beyond the map that is worth a warning */
#define MAX_IMAGINARY_PART 1e-3 /* imaginary parts of a map, relative to the largest value */

/* ---- the map ---- */

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static int is_oriented(const larmor_image_meta *m)
{
    return dot(m->read_dir, m->read_dir) > 0 && dot(m->phase_dir, m->phase_dir) > 0 &&
           dot(m->slice_dir, m->slice_dir) > 0;
}

/* value <- the real parts; imaginary ones are a mistake. */
static larmor_status take_values(const larmor_array *map, const char *option, const char *name, int64_t count,
                                 double *value)
{
    double most = 0, imaginary = 0;
    LMR_OWN_MEMORY(double, values, larmor_array_download(map, LARMOR_C128, &values));
    for (int64_t i = 0; i < count; i++) {
        value[i] = values[2 * i];
        most = fmax(most, fabs(value[i]));
        imaginary = fmax(imaginary, fabs(values[2 * i + 1]));
        LMR_REFUSE(!isfinite(value[i]) || !isfinite(values[2 * i + 1]), LARMOR_ERR_NUMERIC,
                   "opts.%s %s: voxel %lld is not finite.", option, name, (long long)i);
    }
    LMR_REFUSE(imaginary > MAX_IMAGINARY_PART * most, LARMOR_ERR_NUMERIC,
               "opts.%s %s: the values have imaginary parts, up to %g; a map of real numbers expected.", option, name,
               imaginary);
    return LARMOR_OK;
}

larmor_status lmr_map_open(const larmor_array *map, const char *option, const char *name,
                           const larmor_image_meta *place, lmr_placed_map *out)
{
    if (!map) return LARMOR_OK;
    const larmor_shape shape = larmor_array_shape(map);
    const int64_t count = larmor_shape_count(shape);
    LMR_REFUSE(shape.ndim < 2 || shape.ndim > 3 || count < 1, LARMOR_ERR_SHAPE,
               "opts.%s %s: the map is %s, expected [x, y] or [x, y, z].", option, name, lmr_describe(map).s);
    out->option = option;
    out->name = name;
    for (int d = 0; d < 3; d++) out->dim[d] = d < shape.ndim ? shape.dim[d] : 1;
    out->placed = place && is_oriented(place);
    if (out->placed) out->place = *place;
    for (int d = 0; d < 3; d++) out->placed &= !out->placed || out->place.fov_mm[d] > 0;
    out->value = malloc((size_t)count * sizeof *out->value);
    return out->value ? take_values(map, option, name, count, out->value) : LMR_NO_MEMORY();
}

/* ---- on a grid ---- */

/* The way from a voxel of the grid to the map's indices: index_a = first_a + sum_d step_a[d] i_d. */
typedef struct way {
    double first[3], step[3][3];
} way;

static int64_t middle(int64_t n)
{
    return n / 2;
}

/* By the geometries of both. */
static void find_way(const lmr_placed_map *f, const larmor_grid *grid, const larmor_image_meta *image, way *w)
{
    const double *const to[3] = {f->place.read_dir, f->place.phase_dir, f->place.slice_dir};
    const double *const from[3] = {image->read_dir, image->phase_dir, image->slice_dir};
    for (int a = 0; a < 3; a++) {
        const double voxel = f->place.fov_mm[a] / (double)f->dim[a];
        w->first[a] = (double)middle(f->dim[a]);
        for (int d = 0; d < 3; d++) {
            w->first[a] += (image->position_mm[d] - f->place.position_mm[d]) * to[a][d] / voxel;
            w->step[a][d] = 0;
        }
        for (int d = 0; d < grid->ndim; d++) {
            w->step[a][d] = dot(from[d], to[a]) * grid->fov_mm[d] / (double)grid->matrix[d] / voxel;
            w->first[a] -= w->step[a][d] * (double)middle(grid->matrix[d]);
        }
    }
}

/* The map covers the image's field of view; slices of 2D images are counted. */
static larmor_status assume_way(const lmr_placed_map *f, const larmor_grid *grid, int slice, int slices, way *w)
{
    *w = (way){.first = {0}};
    LMR_REFUSE(grid->ndim == 2 && f->dim[2] != 1 && f->dim[2] != slices, LARMOR_ERR_SHAPE,
               "opts.%s %s: %lldx%lldx%lld voxels, expected 1 or %d slices, as the scan has.", f->option, f->name,
               (long long)f->dim[0], (long long)f->dim[1], (long long)f->dim[2], slices);
    LMR_REFUSE(grid->ndim == 3 && f->dim[2] == 1, LARMOR_ERR_SHAPE,
               "opts.%s %s: %lldx%lld voxels, expected a volume, as the scan is.", f->option, f->name,
               (long long)f->dim[0], (long long)f->dim[1]);
    for (int d = 0; d < grid->ndim; d++) {
        w->step[d][d] = (double)f->dim[d] / (double)grid->crop[d];
        w->first[d] = (double)middle(f->dim[d]) - w->step[d][d] * (double)middle(grid->matrix[d]);
    }
    if (grid->ndim == 2) w->first[2] = f->dim[2] > 1 ? slice : 0;
    return LARMOR_OK;
}

/* Linear between voxels, constant beyond them. *outside: 1 if that is more than half a voxel. */
static double value_at(const lmr_placed_map *f, const double at[3], int *outside)
{
    int64_t low[3], high[3];
    double part[3], sum = 0;
    for (int a = 0; a < 3; a++) {
        const double last = (double)(f->dim[a] - 1);
        if (f->dim[a] > 1) *outside |= at[a] < -1 || at[a] > last + 1;
        const double inside = fmin(fmax(at[a], 0), last);
        low[a] = (int64_t)inside;
        high[a] = low[a] + 1 < f->dim[a] ? low[a] + 1 : low[a];
        part[a] = inside - (double)low[a];
    }
    for (int c = 0; c < 8; c++) {
        double weight = 1;
        int64_t i[3];
        for (int a = 0; a < 3; a++) {
            const int upper = c >> a & 1;
            i[a] = upper ? high[a] : low[a];
            weight *= upper ? part[a] : 1 - part[a];
        }
        if (weight > 0) sum += weight * f->value[i[0] + f->dim[0] * (i[1] + f->dim[1] * i[2])];
    }
    return sum;
}

/* The number of the group's slice among those of its encoding, and how many there are. */
static larmor_status count_slices(const lmr_job *job, const larmor_group *group, int *slices)
{
    *slices = 1;
    for (int i = 0; i < job->facts->info.groups; i++) {
        larmor_group other;
        LMR_TRY(lmr_source_group(job->facts->source, i, &other));
        if (other.encoding == group->encoding && other.slice >= *slices) *slices = other.slice + 1;
    }
    return LARMOR_OK;
}

larmor_status lmr_map_on_grid(const lmr_job *job, lmr_placed_map *f, int index, double *value)
{
    const larmor_grid *grid = &job->facts->grid[index];
    const int64_t count = larmor_shape_count(lmr_grid_shape(grid));
    larmor_group group;
    larmor_image_meta image;
    way w;
    int slices;
    int64_t outside = 0;
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    LMR_TRY(lmr_source_meta(job->facts->source, index, &image));
    LMR_TRY(count_slices(job, &group, &slices));
    LMR_REFUSE(f->placed && grid->apart[2] & LMR_APART_UNEVENLY, LARMOR_ERR_UNSUPPORTED,
               "opts.%s: %s lies in space, and slices that are not equally far apart have no volume there; "
               "give an array of the image's voxels.",
               f->option, f->name);
    if (f->placed && is_oriented(&image))
        find_way(f, grid, &image, &w);
    else
        LMR_TRY(assume_way(f, grid, group.slice, slices, &w));
    const int64_t *n = grid->matrix;
    for (int64_t i = 0; i < count; i++) {
        const int64_t place[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
        double at[3];
        int beyond = 0, in_image = 1;
        for (int a = 0; a < 3; a++) {
            at[a] = w.first[a];
            for (int d = 0; d < grid->ndim; d++) at[a] += w.step[a][d] * (double)place[d];
        }
        for (int d = 0; d < grid->ndim; d++) {
            const int64_t from_middle = place[d] - middle(n[d]) + middle(grid->crop[d]);
            in_image &= from_middle >= 0 && from_middle < grid->crop[d];
        }
        value[i] = value_at(f, at, &beyond);
        outside += beyond && in_image;
    }
    const double part = (double)outside / (double)larmor_shape_count(larmor_shape_of(grid->ndim, grid->crop));
    if (part > MAX_UNCOVERED_PART && !f->has_warned) {
        f->has_warned = 1;
        lmr_warn(job->events,
                 "opts.%s %s: %.0f %% of the image are beyond the map, where it is continued as at its edge",
                 f->option, f->name, 100 * part);
    }
    return LARMOR_OK;
}
