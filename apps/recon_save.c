/* What recon found on the way, for other runs and programs: coil maps and density weights.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon_save.h"

#include <stdlib.h>
#include <strings.h>

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

/* x [x, y(, z), last] as BART has it, [x, y, z, last]. */
static larmor_status with_four_dims(larmor_array *x, larmor_array **four)
{
    const larmor_shape s = larmor_array_shape(x);
    const int64_t nz = s.ndim > 3 ? s.dim[2] : 1;
    return larmor_array_reshape(x, LARMOR_SHAPE(s.dim[0], s.dim[1], nz, s.dim[s.ndim - 1]), four);
}

/* An ISMRMRD image for each coil. */
static larmor_status write_coils(const recon_run *r, larmor_output *out, larmor_array *maps)
{
    const larmor_shape shape = larmor_array_shape(maps);
    const int coils = (int)shape.dim[shape.ndim - 1];
    larmor_image *images = calloc((size_t)coils, sizeof *images);
    larmor_array **view = calloc((size_t)coils, sizeof *view);
    larmor_status st = images && view ? LARMOR_OK : NO_MEMORY();
    for (int c = 0; c < coils && !st; c++) {
        larmor_array *slice = NULL;
        st = larmor_array_slice(maps, c, 1, &slice);
        if (!st) st = larmor_array_reshape(slice, larmor_shape_of(shape.ndim - 1, shape.dim), &view[c]);
        images[c] = (larmor_image){.data = view[c], .meta = r->image[0].meta};
        larmor_array_free(slice);
    }
    if (!st) st = larmor_image_write(out, images, coils, NULL);
    for (int c = 0; view && c < coils; c++) larmor_array_free(view[c]);
    free(view), free(images);
    return st;
}

static larmor_status save_maps(const recon_run *r)
{
    larmor_array *maps = NULL, *four = NULL;
    larmor_status st;
    OR(done, original_maps(&r->job, &maps));
    if (!strcasecmp(app_suffix(r->s->save_maps), ".h5")) {
        st = write_coils(r, r->maps_output, maps);
        goto done;
    }
    OR(done, with_four_dims(maps, &four));
    st = larmor_array_save(r->maps_output, four);
done:
    larmor_array_free(four), larmor_array_free(maps);
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
        app_log("wrote %s: the maps of %d coil%s", r->s->save_maps, r->info.coils, app_s(r->info.coils));
    }
    if (r->density_output) {
        st = save_density(r);
        if (st) return app_fail(APP_RUN, st);
        app_log("wrote %s: density weights", r->s->save_density);
    }
    return APP_DONE;
}
