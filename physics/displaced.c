/* Voxels that are not where the grid has them: by a gradient system that is not linear, or as the caller has found.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "physics/physics.h"
#include "physics/terms.h"

/* ---- what was given ---- */

/* Component a of the displacement, in mm, as a map of its own. */
static larmor_status open_component(const larmor_array *given, int a, const char *option, lmr_placed_map *map)
{
    LMR_OWN(larmor_array, one, lmr_one_of(given, a, &one));
    return lmr_map_open(one, option, "file", NULL, map);
}

static larmor_status open_map(const larmor_array *given, lmr_physics *p)
{
    const larmor_shape s = larmor_array_shape(given);
    const int nd = s.ndim - 1;
    LMR_REFUSE(nd < 2 || nd > 3 || s.dim[nd] < 2 || s.dim[nd] > 3, LARMOR_ERR_SHAPE,
               "opts.displacement: the array is %s, expected [x, y, 2 or 3] or [x, y, z, 3], in mm along the "
               "image's axes.",
               lmr_describe(given).s);
    p->moves = (int)s.dim[nd];
    for (int a = 0; a < p->moves; a++) LMR_TRY(open_component(given, a, "displacement", &p->moved[a]));
    return LARMOR_OK;
}

/* [image..., moves, frames], of each frame and component a map. */
static larmor_status open_motion(const larmor_array *given, lmr_physics *p)
{
    const larmor_shape s = larmor_array_shape(given);
    const int64_t frames = s.dim[s.ndim - 1];
    p->moves = (int)s.dim[s.ndim - 2];
    LMR_ALLOCATE_ZEROS(p->motion, frames * p->moves);
    for (; p->frames < frames; p->frames++) {
        LMR_OWNED(larmor_array) *frame = NULL;
        LMR_TRY(lmr_one_of(given, p->frames, &frame));
        for (int a = 0; a < p->moves; a++)
            LMR_TRY(open_component(frame, a, "motion_fields", &p->motion[a + p->moves * p->frames]));
    }
    return LARMOR_OK;
}

larmor_status lmr_displaced_open(const larmor_recon_opts *o, const lmr_scan_facts *facts, lmr_physics *p)
{
    if (o->gradient_field) LMR_TRY(larmor_array_to(o->gradient_field, facts->dev, &p->gradient_field));
    if (o->motion_fields) LMR_TRY(open_motion(o->motion_fields, p));
    return o->displacement ? open_map(o->displacement, p) : LARMOR_OK;
}

void lmr_displaced_free(lmr_physics *p)
{
    LMR_FREE(p->gradient_field, p->displaced.array);
    for (int a = 0; a < 3; a++) free(p->moved[a].value);
    for (int i = 0; p->motion && i < p->moves * p->frames; i++) free(p->motion[i].value);
    free(p->motion);
}

/* ---- on a grid ---- */

/* mm along the image's axes -> voxels of the grid */
static larmor_status from_map(const lmr_job *job, int index, lmr_placed_map *moved, larmor_array **d)
{
    lmr_physics *p = job->facts->physics;
    const larmor_grid *grid = &job->facts->grid[index];
    const larmor_shape image = lmr_grid_shape(grid);
    const int64_t voxels = larmor_shape_count(image);
    LMR_HEAP LMR_NEW(double, value, voxels * grid->ndim);
    LMR_REFUSE(p->moves < grid->ndim, LARMOR_ERR_SHAPE,
               "opts.%s: it has 2 components, expected 3, as the scan is a volume.", moved->option);
    for (int a = 0; a < grid->ndim; a++) {
        double *own = value + voxels * a;
        LMR_TRY(lmr_map_on_grid(job, &moved[a], index, own));
        for (int64_t i = 0; i < voxels; i++) own[i] *= (double)grid->matrix[a] / grid->fov_mm[a];
    }
    return larmor_array_upload(job->facts->dev, LARMOR_F64, larmor_shape_append(image, grid->ndim), LARMOR_F64, value,
                               d);
}

static larmor_status from_gradients(const lmr_job *job, int index, const larmor_image_meta *image, larmor_array **d)
{
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_image_meta own = *image;
    LMR_REFUSE(image->place_unknown, LARMOR_ERR_UNSUPPORTED,
               "opts.gradient_field: the scan does not say where the image lies, which the harmonics need.");
    for (int a = 0; a < 3; a++) own.fov_mm[a] = grid->fov_mm[a];
    return larmor_gradient_displacement(job->facts->physics->gradient_field, &own, lmr_grid_shape(grid), d);
}

static larmor_status report(const lmr_job *job, int index, const larmor_array *d)
{
    const larmor_grid *grid = &job->facts->grid[index];
    const int64_t voxels = larmor_shape_count(lmr_grid_shape(grid));
    double most_mm = 0;
    LMR_OWN_MEMORY(double, value, larmor_array_download(d, LARMOR_F64, &value));
    for (int64_t i = 0; i < voxels; i++) {
        double square = 0;
        for (int a = 0; a < grid->ndim; a++)
            square += pow(value[i + voxels * a] * grid->fov_mm[a] / (double)grid->matrix[a], 2);
        most_mm = fmax(most_mm, sqrt(square));
    }
    const int of_gradients = job->facts->physics->gradient_field != NULL;
    lmr_log(job->events, "displacement: voxels are up to %.2g mm from where images show them, %s%s", most_mm,
            of_gradients ? "by the gradients' harmonics, the patient head first on the back" : "as given",
            grid->ndim == 2 ? "; what is across the slice is left" : "");
    return LARMOR_OK;
}

/* That of the last image stays: frames of a series lie at the same place. */
larmor_status lmr_find_displacement(const lmr_job *job, int index, larmor_array **displacement)
{
    lmr_physics *p = job->facts->physics;
    larmor_image_meta image;
    larmor_group group;
    *displacement = NULL;
    if (!p || (!p->gradient_field && (!p->moves || p->motion))) return LARMOR_OK;
    LMR_TRY(lmr_source_meta(job->facts->source, index, &image));
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    uint64_t key = lmr_hash((uint64_t)group.slice, image.position_mm, sizeof image.position_mm);
    key = lmr_hash(key, image.read_dir, sizeof image.read_dir);
    key = lmr_hash(key, image.phase_dir, sizeof image.phase_dir);
    key = lmr_hash(key, image.slice_dir, sizeof image.slice_dir);
    key = lmr_hash(key, job->facts->grid[index].matrix, sizeof job->facts->grid[index].matrix);
    key = lmr_hash(key, job->facts->grid[index].fov_mm, sizeof job->facts->grid[index].fov_mm);
    if (!p->displaced.array || p->displaced.key != key) {
        LMR_CLEAR(p->displaced.array);
        LMR_TRY(p->moves ? from_map(job, index, p->moved, &p->displaced.array)
                         : from_gradients(job, index, &image, &p->displaced.array));
        p->displaced.key = key;
        LMR_TRY(report(job, index, p->displaced.array));
    }
    *displacement = larmor_array_ref(p->displaced.array);
    return LARMOR_OK;
}

larmor_status lmr_find_motion(const lmr_job *job, int index, int frame, larmor_array **displacement)
{
    lmr_physics *p = job->facts->physics;
    *displacement = NULL;
    if (!p || !p->motion || frame >= p->frames) return LARMOR_OK;
    return from_map(job, index, &p->motion[p->moves * frame], displacement);
}
