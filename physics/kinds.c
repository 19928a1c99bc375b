/* The terms of off-resonance, decay and a field camera. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "core/array.h"
#include "core/owned.h"
#include "core/status.h"
#include "physics/terms.h"

#define SHORTEST_T2STAR_MS                                                                                           \
    0.1 /* shorter ones, and those that are not above 0, count as this: nothing is seen of them */

void lmr_term_list_free(lmr_term_list *list)
{
    for (int l = 0; l < list->count; l++) {
        free(list->term[l].space);
        free(list->term[l].time);
    }
    list->count = 0;
}

larmor_status lmr_term_add(const lmr_scene *scene, lmr_term_list *list, int is_decay, double **space, double **time)
{
    if (list->count == (int)(sizeof list->term / sizeof *list->term))
        return LMR_FAIL(LARMOR_ERR_UNSUPPORTED, "more than %d terms beside the Fourier transform", list->count);
    *space = calloc((size_t)scene->voxels, sizeof **space);
    *time = calloc((size_t)scene->count + 1, sizeof **time);
    list->term[list->count].space = *space;
    list->term[list->count].time = *time;
    list->term[list->count++].is_decay = is_decay;
    return *space && *time ? LARMOR_OK : LMR_NO_MEMORY();
}

larmor_status lmr_add_off_resonance(const lmr_scene *scene, lmr_term_list *list)
{
    double *space, *time;
    if (!scene->hz) return LARMOR_OK;
    LMR_TRY(lmr_term_add(scene, list, 0, &space, &time));
    for (int64_t i = 0; i < scene->voxels; i++) space[i] = 2 * M_PI * scene->hz[i];
    for (int64_t j = 0; j < scene->count; j++) time[j] = scene->times[j];
    return LARMOR_OK;
}

larmor_status lmr_add_decay(const lmr_scene *scene, lmr_term_list *list)
{
    lmr_physics *p = scene->job->facts->physics;
    double *space, *time;
    if (!p->t2star.value) return LARMOR_OK;
    LMR_TRY(lmr_term_add(scene, list, 1, &space, &time));
    LMR_TRY(lmr_map_on_grid(scene->job, &p->t2star, scene->index, space));
    for (int64_t i = 0; i < scene->voxels; i++) space[i] = 1e3 / fmax(space[i], SHORTEST_T2STAR_MS);
    for (int64_t j = 0; j < scene->count; j++) time[j] = scene->times[j];
    return LARMOR_OK;
}

/* ---- a field camera ---- */

larmor_status lmr_camera_open(const larmor_array *phase, lmr_physics *physics)
{
    if (!phase) return LARMOR_OK;
    const larmor_shape s = larmor_array_shape(phase);
    const int64_t terms = s.ndim == 3 ? s.dim[2] : 0;
    if (terms != 9 && terms != 16)
        return LMR_FAIL(LARMOR_ERR_SHAPE,
                        "opts.phase_terms: the array is %s, expected [samples, readouts, 9 or 16 solid harmonics].",
                        lmr_describe(phase).s);
    if (lmr_is_complex(larmor_array_dtype(phase)))
        return LMR_FAIL(LARMOR_ERR_ARG, "opts.phase_terms: the array is complex; phases in rad expected.");
    physics->samples = s.dim[0];
    physics->readouts = s.dim[1];
    physics->terms = (int)terms;
    return larmor_array_download(phase, LARMOR_F64, &physics->phase);
}

static int is_linear(int l)
{
    return l >= 1 && l <= 3;
}

larmor_status lmr_add_camera(const lmr_scene *scene, lmr_term_list *list)
{
    const lmr_physics *p = scene->job->facts->physics;
    LMR_HEAP double *position = NULL, *h = NULL;
    LMR_OWNED(larmor_array) *places = NULL, *harmonics = NULL;
    double *space, *time;
    if (!p->phase) return LARMOR_OK;
    const int64_t own = p->samples * p->readouts;
    const int is_ragged = scene->samples.dim[0] == 1 || scene->samples.dim[1] == 1;
    const int fits =
        scene->samples.dim[0] == p->samples && (p->readouts == 1 || scene->samples.dim[1] == p->readouts);
    if (!fits && !(is_ragged && p->readouts == 1 && own == scene->count))
        return LMR_FAIL(
            LARMOR_ERR_SHAPE,
            "opts.phase_terms: %lld samples of %lld readouts, but image %d has %lld of %lld; give its, or "
            "those of one readout for all.",
            (long long)p->samples, (long long)p->readouts, scene->index + 1,
            (long long)(is_ragged ? scene->count : scene->samples.dim[0]),
            (long long)(is_ragged ? 1 : scene->samples.dim[1]));
    if (scene->image.place_unknown)
        return LMR_FAIL(LARMOR_ERR_UNSUPPORTED,
                        "opts.phase_terms: the scan does not say where the image lies, which the harmonics need.");
    LMR_TRY(lmr_positions_of(scene, &position));
    larmor_device *dev = scene->job->facts->dev;
    LMR_TRY(larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(3, scene->voxels), LARMOR_F64, position, &places));
    LMR_TRY(larmor_solid_harmonics(places, p->terms == 9 ? 2 : 3, &harmonics));
    LMR_TRY(larmor_array_download(harmonics, LARMOR_F64, &h));
    for (int l = 0; l < p->terms; l++) {
        if (is_linear(l)) continue; /* the trajectory has them */
        LMR_TRY(lmr_term_add(scene, list, 0, &space, &time));
        for (int64_t i = 0; i < scene->voxels; i++) space[i] = h[i + scene->voxels * l];
        for (int64_t j = 0; j < scene->count; j++) time[j] = -p->phase[j % own + own * l];
    }
    return LARMOR_OK;
}
