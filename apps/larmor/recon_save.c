/* What recon found on the way, for other runs and programs: coil maps and density weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon_save.h"

#include <stdio.h>

#include "try.h"

/* How many slices the images are of. */
static int slices_of(const recon_run *r, const recon_series *l)
{
    int slices = 0;
    for (int i = 0; i < l->groups; i++) {
        larmor_group g, other;
        int known = larmor_raw_group(r->job.raw, l->group[i], &g) != LARMOR_OK;
        for (int j = 0; j < i && !known; j++)
            known = !larmor_raw_group(r->job.raw, l->group[j], &other) && other.slice == g.slice &&
                    other.encoding == g.encoding;
        slices += !known;
    }
    return slices;
}

int recon_save_check(const recon_run *r, const recon_series *l)
{
    const int slices = r->s->save_maps ? slices_of(r, l) : 1;
    if (slices > 1) {
        app_error("--save-maps: %s has maps for each of %d slices; choose one by --slice.", r->input, slices);
        return APP_USAGE;
    }
    if (r->s->save_density && l->groups > 1) {
        app_error(
            "--save-density: %s has weights for each of %d images; choose one by --slice, --repetition and so on.",
            r->input, l->groups);
        return APP_USAGE;
    }
    return APP_DONE;
}

/* A copy of the maps as the coils themselves have them, for recon whitens the maps that it is given. */
static larmor_status original_maps(const recon_job *job, larmor_array **maps)
{
    const larmor_shape shape = larmor_array_shape(job->maps);
    larmor_array *colouring = NULL;
    larmor_status st;
    OR(done, larmor_array_create(job->dev, larmor_array_dtype(job->maps), shape, maps));
    OR(done, larmor_copy(job->maps, *maps));
    if (!job->whitening) goto done;
    OR(done, larmor_noise_colouring(job->whitening, &colouring));
    st = larmor_whiten(colouring, *maps);
done:
    larmor_array_free(colouring);
    return st;
}

/* Where the maps are: as the images, but before these are cut to the field of view asked for. */
static larmor_status describe_maps(const recon_run *r, larmor_image_meta *meta)
{
    *meta = r->image[0].meta;
    for (int i = 0; i < r->info.groups; i++) {
        const larmor_grid *grid = &r->job.grid[i];
        larmor_group g;
        TRY(larmor_raw_group(r->job.raw, i, &g));
        if (g.encoding != meta->encoding) continue;
        for (int d = 0; d < grid->ndim; d++) meta->fov_mm[d] = grid->fov_mm[d];
    }
    return LARMOR_OK;
}

/* Maps of all channels, as other programs count them and as recon takes them. */
static larmor_status save_maps(const recon_run *r)
{
    larmor_array *maps = NULL, *all = NULL;
    larmor_image_meta meta;
    larmor_status st;
    OR(done, describe_maps(r, &meta));
    OR(done, original_maps(&r->job, &maps));
    OR(done, larmor_raw_restore_coils(r->job.raw, maps, larmor_array_shape(maps).ndim - 1, &all));
    st = larmor_maps_save(r->maps_output, all, &meta);
done:
    larmor_array_free(all), larmor_array_free(maps);
    return st;
}

/* [1, samples, readouts], as BART has it. */
static larmor_status save_density(const recon_run *r)
{
    const larmor_shape s = larmor_array_shape(r->job.weights);
    larmor_array *three;
    TRY(larmor_array_reshape(r->job.weights, LARMOR_SHAPE(1, s.dim[0], s.ndim > 1 ? s.dim[1] : 1), &three));
    const larmor_status st = larmor_array_save(r->density_output, three);
    larmor_array_free(three);
    return st;
}

int recon_save(recon_run *r)
{
    larmor_status st = LARMOR_OK;
    if (r->maps_output) {
        st = save_maps(r);
        if (st) return app_fail(APP_RUN, st);
        char left_out[64] = "";
        if (r->info.dead_coils) snprintf(left_out, sizeof left_out, ", zeros for %d left out", r->info.dead_coils);
        app_log("wrote %s: the maps of %d coil%s%s", r->s->save_maps, r->info.coils, app_s(r->info.coils), left_out);
    }
    if (r->density_output) {
        st = save_density(r);
        if (st) return app_fail(APP_RUN, st);
        app_log("wrote %s: density weights", r->s->save_density);
    }
    return APP_DONE;
}
