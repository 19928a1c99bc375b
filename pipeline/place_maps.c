/* The caller's maps on the grid of the image. SPDX-License-Identifier: Apache-2.0 */
#include "pipeline/place_maps.h"

#include <complex.h>

#include "core/core.h"
#include "scan/source.h"

/* Lengths that differ by no more are the same, of a field of view; and places, of a voxel. Not measured. */
static const double same_length = 1e-3, same_voxel = 0.02;

/* The sine of the angle between planes that are the same one. Not measured: half a voxel at the edge of 20. */
static const double same_plane = 0.05;

typedef struct placing {
    int64_t from[3], to[3], images; /* voxels, and coils times sets */
    double first[3], step[3][3]; /* index a of the maps = first[a] + sum_d step[a][d] times index d of the target */
    int ndim;
    const float complex *given; /* [from, images] */
    float complex *placed;      /* [to, images] */
} placing;

static double dot(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static int is_oriented(const larmor_image_meta *m)
{
    const double *const axes[3] = {m->read_dir, m->phase_dir, m->slice_dir};
    for (int a = 0; a < 3; a++)
        if (fabs(dot(axes[a], axes[a]) - 1) > same_length) return 0;
    return 1;
}

/* ---- where they lie ---- */

/* The field of view of each axis: as asked for; where only the first is, it holds for axes that are as long in the
 * header. 0 along axes that nobody knows. */
static larmor_status find_fov(const larmor_recon *r, double fov[3])
{
    const double *asked = r->settings.opts.maps_place.fov_mm;
    larmor_encoding e;
    larmor_group g;
    LMR_TRY(lmr_source_group(r->facts.source, r->list.group[0], &g));
    LMR_TRY(lmr_source_encoding(r->facts.source, g.encoding, &e));
    for (int d = 0; d < 3; d++) {
        const int as_first = fabs(e.recon_fov_mm[d] / e.recon_fov_mm[0] - 1) < same_length;
        fov[d] = asked[d];
        if (asked[1] == 0 && asked[2] == 0 && as_first) fov[d] = asked[0];
    }
    return LARMOR_OK;
}

/* From a voxel of the target to that of the maps, by both geometries, or with one centre where a direction is not
 * known. */
static larmor_status find_way(const larmor_recon *r, const larmor_grid *grid, const double fov[3], placing *p)
{
    const larmor_image_meta *place = &r->settings.opts.maps_place;
    larmor_image_meta image;
    LMR_TRY(lmr_source_meta(r->facts.source, r->list.group[0], &image));
    const int known = is_oriented(place) && is_oriented(&image);
    const double *const to[3] = {place->read_dir, place->phase_dir, place->slice_dir};
    const double *const from[3] = {image.read_dir, image.phase_dir, image.slice_dir};
    LMR_REFUSE(known && p->ndim == 2 && 1 - fabs(dot(to[2], from[2])) > same_plane * same_plane / 2, LARMOR_ERR_SHAPE,
               "%s: the maps lie in another plane than the image.", r->settings.maps_name);
    for (int a = 0; a < p->ndim; a++) {
        const double voxel = fov[a] / (double)p->from[a];
        p->first[a] = (double)(p->from[a] / 2);
        for (int k = 0; k < 3 && known; k++)
            p->first[a] += (image.position_mm[k] - place->position_mm[k]) * to[a][k] / voxel;
        for (int d = 0; d < p->ndim; d++) {
            const double along = known ? dot(from[d], to[a]) : a == d;
            p->step[a][d] = along * grid->fov_mm[d] / (double)grid->matrix[d] / voxel;
            p->first[a] -= p->step[a][d] * (double)(p->to[d] / 2);
        }
    }
    return LARMOR_OK;
}

/* 1 if voxels of the maps are those of the target, so that nothing is to be done. */
static int is_same(const placing *p)
{
    for (int a = 0; a < p->ndim; a++) {
        if (p->from[a] != p->to[a] || fabs(p->first[a]) > same_voxel) return 0;
        for (int d = 0; d < p->ndim; d++)
            if (fabs(p->step[a][d] - (a == d)) * (double)p->to[d] > 2 * same_voxel) return 0;
    }
    return 1;
}

/* Where the maps end along axes that are theirs, too. */
static void keep_edges(const placing *p, const larmor_grid *grid, double edge[3][2])
{
    for (int d = 0; d < p->ndim; d++) {
        const double voxel = grid->fov_mm[d] / (double)grid->matrix[d];
        int is_axis = p->step[d][d] != 0;
        for (int a = 0; a < p->ndim; a++) is_axis &= a == d || fabs(p->step[d][a]) < same_plane * fabs(p->step[d][d]);
        for (int side = 0; side < 2 && is_axis; side++) {
            const double index = (side ? (double)p->from[d] : 0) - .5;
            edge[d][side] = voxel * ((index - p->first[d]) / p->step[d][d] - (double)(p->to[d] / 2));
        }
    }
}

/* ---- interpolation ---- */

/* The eight voxels around a place, with their weights; a place beyond the maps is taken for the nearest within. */
static void find_corners(const placing *p, const double at[3], int64_t voxel[8], double weight[8])
{
    int64_t low[3], high[3];
    double part[3];
    for (int a = 0; a < 3; a++) {
        const double inside = fmin(fmax(at[a], 0), (double)(p->from[a] - 1));
        low[a] = (int64_t)inside;
        high[a] = low[a] + 1 < p->from[a] ? low[a] + 1 : low[a];
        part[a] = inside - (double)low[a];
    }
    for (int c = 0; c < 8; c++) {
        int64_t i[3];
        weight[c] = 1;
        for (int a = 0; a < 3; a++) {
            const int upper = c >> a & 1;
            i[a] = upper ? high[a] : low[a];
            weight[c] *= upper ? part[a] : 1 - part[a];
        }
        voxel[c] = i[0] + p->from[0] * (i[1] + p->from[1] * i[2]);
    }
}

static int is_zero(const placing *p, int64_t voxel)
{
    const int64_t voxels = p->from[0] * p->from[1] * p->from[2];
    for (int64_t c = 0; c < p->images; c++)
        if (p->given[voxel + c * voxels] != 0) return 0;
    return 1;
}

/* Voxels without maps, as those outside of an object, do not count; where the nearest is one there are none. */
static void drop_empty(const placing *p, const int64_t voxel[8], double weight[8])
{
    double sum = 0;
    int nearest = 0;
    for (int c = 1; c < 8; c++)
        if (weight[c] > weight[nearest]) nearest = c;
    const int none = is_zero(p, voxel[nearest]);
    for (int c = 0; c < 8; c++) {
        if (none || (weight[c] > 0 && is_zero(p, voxel[c]))) weight[c] = 0;
        sum += weight[c];
    }
    for (int c = 0; c < 8 && sum > 0; c++) weight[c] /= sum;
}

static void interpolate_row(void *self, int64_t row)
{
    const placing *p = self;
    const int64_t from = p->from[0] * p->from[1] * p->from[2], to = p->to[0] * p->to[1] * p->to[2];
    for (int64_t x = 0; x < p->to[0]; x++) {
        const double index[3] = {(double)x, (double)(row % p->to[1]), (double)(row / p->to[1])};
        double at[3] = {0}, weight[8];
        int64_t voxel[8];
        for (int a = 0; a < p->ndim; a++) {
            at[a] = p->first[a];
            for (int d = 0; d < p->ndim; d++) at[a] += p->step[a][d] * index[d];
        }
        find_corners(p, at, voxel, weight);
        drop_empty(p, voxel, weight);
        for (int64_t c = 0; c < p->images; c++) {
            double _Complex sum = 0;
            for (int k = 0; k < 8; k++)
                if (weight[k] > 0) sum += weight[k] * (double _Complex)p->given[voxel[k] + c * from];
            p->placed[x + p->to[0] * row + c * to] = (float complex)sum;
        }
    }
}

static larmor_status interpolate(larmor_recon *r, placing *p, int64_t got[5])
{
    larmor_array *placed;
    LMR_HEAP float complex *given = NULL, *made = NULL;
    int64_t all = p->images;
    for (int d = 0; d < 3; d++)
        if (!lmr_mul(all, p->to[d], &all)) return LMR_NO_MEMORY();
    LMR_TRY(larmor_array_download(r->facts.given, LARMOR_C64, &given));
    LMR_ALLOCATE(made, all);
    p->given = given;
    p->placed = made;
    LMR_TRY(lmr_parallel(lmr_device_threads(r->facts.dev), p->to[1] * p->to[2], interpolate_row, p));
    for (int d = 0; d < 3; d++) got[d] = p->to[d];
    LMR_TRY(larmor_array_upload(r->facts.dev, LARMOR_C64, larmor_shape_of(5, got), LARMOR_C64, made, &placed));
    larmor_array_free(r->facts.given);
    r->facts.given = placed;
    return LARMOR_OK;
}

/* ---- the whole ---- */

static lmr_text sizes_of(const int64_t size[3], int ndim)
{
    lmr_text t = {""};
    for (int d = 0; d < ndim; d++) lmr_append_item(t.s, sizeof t.s, "x", "%lld", (long long)size[d]);
    return t;
}

static int has_sizes(const int64_t got[5], const int64_t size[3], int ndim)
{
    int same = 1;
    for (int d = 0; d < ndim; d++) same &= got[d] == size[d];
    return same;
}

/* Of maps that nobody says the field of view of: with the voxels of the grid they are on it, with those of
 * encodedSpace or of the image they cover that, which is said; else they are refused. */
static larmor_status assume_fov(larmor_recon *r, const larmor_grid *grid, const int64_t got[5], double fov[3])
{
    larmor_encoding e;
    larmor_group g;
    LMR_TRY(lmr_source_group(r->facts.source, r->list.group[0], &g));
    LMR_TRY(lmr_source_encoding(r->facts.source, g.encoding, &e));
    const int on_grid = has_sizes(got, grid->matrix, grid->ndim), encoded = has_sizes(got, e.matrix, grid->ndim),
              image = has_sizes(got, grid->crop, grid->ndim);
    LMR_REFUSE(!on_grid && !encoded && !image, LARMOR_ERR_SHAPE,
               "%s: maps of %s voxels without a field of view, and the grid has %s voxels over %g x %g x %g mm. "
               "Say what the maps cover (opts.maps_place X,Y,Z in mm), and they are interpolated.",
               r->settings.maps_name, sizes_of(got, grid->ndim).s, sizes_of(grid->matrix, grid->ndim).s,
               grid->fov_mm[0], grid->fov_mm[1], grid->fov_mm[2]);
    for (int d = 0; d < grid->ndim; d++) {
        fov[d] = grid->fov_mm[d];
        if (!on_grid)
            fov[d] = encoded ? e.fov_mm[d] : grid->fov_mm[d] * (double)grid->crop[d] / (double)grid->matrix[d];
    }
    if (!on_grid)
        lmr_log(&r->events,
                "coil maps: %s has no field of view, and is taken to cover that of %s, whose matrix it has",
                r->settings.maps_name, encoded ? "encodedSpace" : "the image");
    return LARMOR_OK;
}

larmor_status lmr_place_maps(larmor_recon *r, int64_t got[5])
{
    const larmor_grid *grid = &r->facts.grid[r->list.group[0]];
    double fov[3];
    placing p = {.ndim = grid->ndim, .images = got[3] * got[4], .from = {got[0], got[1], got[2]}, .to = {1, 1, 1}};
    if (grid->ndim == 2 && got[2] != 1) return LARMOR_OK; /* which is refused */
    LMR_TRY(find_fov(r, fov));
    int known = 1, within = 0;
    for (int d = 0; d < grid->ndim; d++) known &= fov[d] > 0;
    if (!known) LMR_TRY(assume_fov(r, grid, got, fov));
    for (int d = 0; d < grid->ndim; d++) {
        const double voxels = fov[d] / grid->fov_mm[d] * (double)grid->matrix[d];
        const int larger = voxels > (double)grid->matrix[d] * (1 + same_length) + same_voxel;
        p.to[d] = larger ? 2 * (int64_t)ceil(voxels / 2 - same_voxel) : grid->matrix[d];
        if (larger && fabs(voxels - (double)got[d]) < same_voxel * voxels) p.to[d] = got[d];
        within |= voxels < (double)grid->matrix[d] * (1 - same_length) - 1;
    }
    LMR_TRY(find_way(r, grid, fov, &p));
    if (is_same(&p)) return LARMOR_OK;
    if (within) keep_edges(&p, grid, r->facts.given_edge);
    lmr_log(&r->events, "coil maps: %s, %s voxels over %g x %g x %g mm, interpolated to %s%s", r->settings.maps_name,
            sizes_of(got, p.ndim).s, fov[0], fov[1], fov[2], sizes_of(p.to, p.ndim).s,
            within ? "; beyond their edge they go on as they are there" : "");
    return interpolate(r, &p, got);
}
