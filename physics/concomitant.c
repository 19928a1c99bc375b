/* Concomitant fields: what follows of them from the trajectory, the magnet and the image's place.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "physics/terms.h"

enum { TRIED_READOUTS = 32 }; /* of a group, when it is asked whether their phases matter */

/* k in cycles over the grid's field of view along the image's axes -> 1/m along those of the patient, f64
 * [3, samples, readouts]. */
static larmor_status turn(const lmr_job *job, const larmor_array *traj, const larmor_grid *grid,
                          const larmor_image_meta *image, larmor_shape samples, larmor_array **turned)
{
    const double *const along[3] = {image->read_dir, image->phase_dir, image->slice_dir};
    const int64_t count = larmor_shape_count(samples), nd = larmor_array_shape(traj).dim[0];
    LMR_HEAP LMR_NEW(double, g, 3 * count);
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    for (int64_t j = 0; j < count; j++)
        for (int a = 0; a < 3; a++) {
            g[3 * j + a] = 0;
            for (int64_t d = 0; d < nd; d++) g[3 * j + a] += along[d][a] * k[nd * j + d] / (1e-3 * grid->fov_mm[d]);
        }
    return larmor_array_upload(job->facts->dev, LARMOR_F64, LARMOR_SHAPE(3, samples.dim[0], samples.dim[1]),
                               LARMOR_F64, g, turned);
}

/* Seconds between samples: the least step, which is that of all readouts but for rounding. */
static double dwell_of(const double *times, larmor_shape samples)
{
    double least = INFINITY;
    for (int64_t j = 1; j < samples.dim[0]; j++) least = fmin(least, times[j] - times[j - 1]);
    return least > 0 && isfinite(least) ? least : 0;
}

/* phase [samples, 4] and place [voxels, 4] */
static larmor_status find(const lmr_job *job, const lmr_scene *scene, double tesla, double **phase, double **place)
{
    LMR_OWNED(larmor_array) *k = NULL, *time = NULL, *places = NULL, *h = NULL;
    const double dwell = dwell_of(scene->times, scene->samples);
    LMR_REFUSE(!(dwell > 0), LARMOR_ERR_UNSUPPORTED, "concomitant fields: samples have no times");
    LMR_TRY(turn(job, scene->traj, &job->facts->grid[scene->index], &scene->image, scene->samples, &k));
    LMR_TRY(larmor_concomitant_phase(k, dwell, tesla, 0, &time));
    LMR_TRY(larmor_array_download(time, LARMOR_F64, phase));
    LMR_OWN_MEMORY(double, position, lmr_positions_of(scene, &position));
    LMR_TRY(larmor_array_upload(job->facts->dev, LARMOR_F64, LARMOR_SHAPE(3, scene->voxels), LARMOR_F64, position,
                                &places));
    LMR_TRY(larmor_concomitant_places(places, &h));
    return larmor_array_download(h, LARMOR_F64, place);
}

larmor_status lmr_add_concomitant(const lmr_scene *scene, lmr_term_list *list)
{
    const lmr_physics *p = scene->job->facts->physics;
    LMR_HEAP double *phase = NULL, *place = NULL;
    double *space, *time;
    if (!p->concomitant) return LARMOR_OK;
    larmor_group group;
    LMR_TRY(lmr_source_group(scene->job->facts->source, scene->index, &group));
    LMR_REFUSE((scene->samples.dim[1] == 1 || scene->samples.dim[0] == 1) && group.readouts > 1,
               LARMOR_ERR_UNSUPPORTED,
               "opts.concomitant: the readouts of image %d differ in length or leave the grid; leave it out.",
               scene->index + 1);
    LMR_REFUSE(scene->image.place_unknown, LARMOR_ERR_UNSUPPORTED,
               "opts.concomitant: the scan does not say where the image lies, on which they depend.");
    LMR_TRY(find(scene->job, scene, p->tesla, &phase, &place));
    for (int l = 0; l < LARMOR_CONCOMITANT_PLACES; l++) {
        double most = 0;
        for (int64_t j = 0; j < scene->count; j++) most = fmax(most, fabs(phase[j + scene->count * l]));
        if (!(most > 0)) continue;
        LMR_TRY(lmr_term_add(scene, list, 0, &space, &time));
        for (int64_t i = 0; i < scene->voxels; i++) space[i] = place[i + scene->voxels * l];
        for (int64_t j = 0; j < scene->count; j++) time[j] = -phase[j + scene->count * l];
    }
    return LARMOR_OK;
}

static double largest_at_ends(const lmr_scene *scene, const double *phase, const double *place)
{
    double most = 0;
    for (int64_t r = 0; r < scene->samples.dim[1]; r++) {
        const int64_t end = scene->samples.dim[0] * (r + 1) - 1;
        for (int64_t i = 0; i < scene->voxels; i++) {
            double sum = 0;
            for (int l = 0; l < LARMOR_CONCOMITANT_PLACES; l++)
                sum += phase[end + scene->count * l] * place[i + scene->voxels * l];
            most = fmax(most, fabs(sum));
        }
    }
    return most;
}

larmor_status lmr_concomitant_most(const lmr_job *job, int index, double tesla, double *most)
{
    LMR_FREED_BY(larmor_samples_free) larmor_samples samples = {.kspace = NULL};
    LMR_OWNED(larmor_array) *when = NULL;
    LMR_HEAP double *times = NULL, *phase = NULL, *place = NULL;
    const larmor_grid *grid = &job->facts->grid[index];
    larmor_grid coarse = *grid;
    larmor_group group;
    int64_t readout[TRIED_READOUTS];
    lmr_scene scene = {.job = job, .index = index, .grid = &coarse};
    *most = -1;
    LMR_TRY(lmr_source_group(job->facts->source, index, &group));
    LMR_TRY(lmr_source_meta(job->facts->source, index, &scene.image));
    if (scene.image.place_unknown || !group.regular || !lmr_source_has_readouts(job->facts->source)) return LARMOR_OK;
    const int64_t count = group.readouts < TRIED_READOUTS ? group.readouts : TRIED_READOUTS;
    for (int64_t r = 0; r < count; r++) readout[r] = r * group.readouts / count;
    LMR_TRY(lmr_source_readouts(job->facts->source, index, readout, count, grid, job->facts->dev, &samples));
    if (!samples.traj) return LARMOR_OK;
    /* Scans that do not say when samples were taken are left as they are. */
    const larmor_status st =
        lmr_source_times(job->facts->source, index, readout, count, grid, job->facts->dev, &when);
    if (st && st != LARMOR_ERR_MEMORY && st != LARMOR_STOPPED) return LARMOR_OK;
    LMR_TRY(st);
    LMR_TRY(larmor_array_download(when, LARMOR_F64, &times));
    const larmor_shape shape = larmor_array_shape(samples.traj);
    scene.samples = LARMOR_SHAPE(shape.dim[1], shape.dim[2]);
    scene.count = larmor_shape_count(scene.samples);
    scene.times = times;
    scene.traj = samples.traj;
    if (!(dwell_of(times, scene.samples) > 0)) return LARMOR_OK;
    for (int d = 0; d < grid->ndim; d++) { /* of the image, on a few voxels */
        coarse.fov_mm[d] = grid->fov_mm[d] * (double)grid->crop[d] / (double)grid->matrix[d];
        coarse.matrix[d] = grid->crop[d] < 16 ? grid->crop[d] : 16;
    }
    scene.voxels = larmor_shape_count(lmr_grid_shape(&coarse));
    LMR_TRY(find(job, &scene, tesla, &phase, &place));
    *most = largest_at_ends(&scene, phase, place);
    return LARMOR_OK;
}
