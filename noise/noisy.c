/* The frames and images of a series that was run, as maps of them need them. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "noise/noise.h"
#include "pipeline/group.h"
#include "pipeline/method.h"
#include "schedule/state.h"

/* Voxels brighter than this part of the brightest one are those of the object. */
#define OBJECT_PART 0.1

larmor_status lmr_noisy_check(const char *who, const larmor_recon *recon, int series,
                              const larmor_recon_result *result)
{
    LMR_REFUSE(recon->facts.slabs, LARMOR_ERR_ARG, "%s: a volume in slabs has no such maps", who);
    LMR_REFUSE(recon->job.found.method.kind == LMR_METHOD_NLINV, LARMOR_ERR_ARG,
               "%s: nlinv finds image and coil maps together, of which there is no map", who);
    LMR_REFUSE(recon->settings.constraint, LARMOR_ERR_ARG,
               "%s: an image that is held to opts.constraint %s has no such maps", who, recon->settings.constraint);
    LMR_REFUSE(recon->settings.opts.prior, LARMOR_ERR_ARG, "%s: an image by opts.prior %s has no such maps", who,
               larmor_denoiser_name(recon->settings.opts.prior));
    LMR_REFUSE(lmr_solves_coils(&recon->job), LARMOR_ERR_ARG,
               "%s: images without coil maps by opts.method %s have no such maps", who, recon->job.found.method.name);
    LMR_REFUSE(recon->settings.opts.no_maps, LARMOR_ERR_ARG,
               "%s: without coil maps the image is no linear one of its samples", who);
    LMR_REFUSE(!recon->run || series < 0 || series >= recon->list.series ||
                   recon->last_group != recon->list.group[recon->list.first[series]],
               LARMOR_ERR_ARG, "%s: series %d is not the last one that was run", who, series);
    LMR_REFUSE(result->count < 1, LARMOR_ERR_ARG, "%s: the series has no images", who);
    LMR_REFUSE(!recon->job.found.maps.array, LARMOR_ERR_ARG,
               "%s: the coil maps of a series from a checkpoint or another process are not kept", who);
    return LARMOR_OK;
}

lmr_job lmr_noisy_job(const larmor_recon *recon, const larmor_recon_result *result)
{
    lmr_job job = recon->job;
    job.checkpoint = NULL;
    job.found = lmr_found_ref(&recon->job.found);
    lmr_method_take(&job, result->report.method.name);
    return job;
}

/* The job's maps on its device, where another of its members has them. */
static larmor_status bring_maps(lmr_job *job)
{
    larmor_array *maps = job->found.maps.array, *here;
    if (!maps || larmor_array_device(maps) == job->facts->dev) return LARMOR_OK;
    LMR_TRY(larmor_array_to(maps, job->facts->dev, &here));
    larmor_array_free(maps);
    job->found.maps.array = here;
    return LARMOR_OK;
}

larmor_status lmr_noisy_open(lmr_job *job, const larmor_recon *recon, int series, const larmor_recon_result *result,
                             lmr_noisy *n)
{
    const int *group = recon->list.group + recon->list.first[series];
    const int count = recon->list.first[series + 1] - recon->list.first[series];
    larmor_recon_report opened;
    *n = (lmr_noisy){.job = job, .count = count, .report = &result->report};
    LMR_TRY(bring_maps(job));
    LMR_TRY(lmr_frames_open(job, group, count, &n->frames, &opened));
    n->deviation = job->facts->colouring ? job->found.scale * n->frames->cartesian.deviation
                                         : lmr_scaled_noise(job, n->frames, &result->report);
    LMR_ALLOCATE_ZEROS(n->voxels, result->count);
    LMR_ALLOCATE_ZEROS(n->shape, result->count);
    LMR_ALLOCATE_ZEROS(n->value, result->count);
    n->images = result->count;
    for (int i = 0; i < n->images; i++) {
        n->shape[i] = larmor_array_shape(result->image[i].data);
        n->voxels[i] = larmor_array_count(result->image[i].data);
        LMR_TRY(larmor_array_download(result->image[i].data, LARMOR_C64, &n->value[i]));
    }
    return LARMOR_OK;
}

void lmr_noisy_close(lmr_noisy *n)
{
    lmr_free_each((void **)n->value, n->images);
    free(n->voxels);
    free(n->shape);
    lmr_frames_close(n->frames, n->count);
    lmr_found_free(&n->job->found);
}

void lmr_free_each(void **each, int count)
{
    for (int i = 0; i < count && each; i++) free(each[i]);
    free(each);
}

larmor_status lmr_noisy_room(const lmr_noisy *n, int numbers, double ***room)
{
    LMR_ALLOCATE_ZEROS(*room, n->images);
    for (int i = 0; i < n->images; i++) {
        (*room)[i] = calloc((size_t)n->voxels[i] + 1, (size_t)numbers * sizeof ***room);
        if (!(*room)[i]) return LMR_NO_MEMORY();
    }
    return LARMOR_OK;
}

larmor_status lmr_noisy_upload(const larmor_recon_image *image, const double *value, larmor_array **map)
{
    return larmor_array_upload(larmor_array_device(image->data), LARMOR_F32, larmor_array_shape(image->data),
                               LARMOR_F64, value, map);
}

double lmr_noisy_object(const lmr_noisy *n, int image)
{
    double most = 0;
    for (int64_t v = 0; v < n->voxels[image]; v++) {
        const double size = lmr_noisy_size(n, image, v);
        if (size > most) most = size;
    }
    return OBJECT_PART * most;
}
