/* larmor warp: finished images without what non-linear gradients displace, or with it. SPDX-License-Identifier:
 * Apache-2.0 */
#include "commands.h"
#include "common.h"

typedef struct settings {
    const char *output, *gradient_field, *displacement;
    int distort, no_jacobian, cubic, magnitude, force;
} settings;

#define OPTION(...) APP_OPTION(settings, __VA_ARGS__)
static const app_option options[] = {
    OPTION(APP_WRITTEN_FILE, output, 'o', "output", "FILE", "the file to write: .h5, .nii, .nii.gz, .cfl or .npy",
           .needed = 1),
    OPTION(
        APP_READ_FILE, gradient_field, 0, "gradient-field", "FILE",
        "spherical harmonics of the gradients: Siemens' .grad, or radius and coefficients; images have to say where "
        "they lie"),
    OPTION(APP_READ_FILE, displacement, 0, "displacement", "FILE",
           "or a displacement in mm along the image's axes, from a place to where the image shows it: .npy or .cfl, "
           "[x, y, 2 or 3] or [x, y, z, 3]"),
    OPTION(APP_FLAG, distort, 0, "distort", "", "the other way: a true image becomes one that such gradients show"),
    OPTION(APP_FLAG, no_jacobian, 0, "no-jacobian", "",
           "leave intensities as they are (default: what is spread over more voxels becomes darker, and vice versa)"),
    OPTION(APP_FLAG, cubic, 0, "cubic", "",
           "by cubic convolution, which does not ring (default: exact for the image's own frequencies)"),
    OPTION(APP_FLAG, magnitude, 0, "magnitude", "", "write magnitudes where the format could be complex"),
    OPTION(APP_FLAG, force, 'f', "force", "", "replace a file that exists"),
    {0},
};

typedef struct work {
    const settings *s;
    larmor_device *dev;
    larmor_array *field, *given; /* either */
    larmor_image_set set;
    larmor_image *made; /* [set.count], with data of its own */
} work;

static void free_work(work *w)
{
    for (int i = 0; w->made && i < w->set.count; i++) larmor_array_free(w->made[i].data);
    free(w->made);
    larmor_images_free(&w->set);
    larmor_array_free(w->field);
    larmor_array_free(w->given);
    larmor_device_free(w->dev);
}

/* Without dimensions of 1 at the end, but of two at least. */
static larmor_shape shape_of(const larmor_array *image)
{
    larmor_shape s = larmor_array_shape(image);
    while (s.ndim > 2 && s.dim[s.ndim - 1] == 1) s.ndim--;
    return s;
}

/* mm -> voxels of the image; d is [image..., 2 or 3]. */
static larmor_status in_voxels(const larmor_array *given, const larmor_image_meta *meta, larmor_shape shape,
                               larmor_array **d)
{
    const larmor_shape have = larmor_array_shape(given);
    const int64_t voxels = larmor_shape_count(shape);
    int fits = have.ndim == shape.ndim + 1 && have.dim[shape.ndim] >= shape.ndim && have.dim[shape.ndim] <= 3;
    for (int a = 0; a < shape.ndim && fits; a++) fits = have.dim[a] == shape.dim[a];
    if (!fits)
        return larmor_fail(LARMOR_ERR_SHAPE, "its shape is not [image..., %d] of an image of %d dimensions",
                           shape.ndim, shape.ndim);
    APP_OWN_MEMORY(double, value, larmor_array_download(given, LARMOR_F64, &value));
    for (int64_t i = 0; i < voxels * shape.ndim; i++) {
        const int a = (int)(i / voxels);
        value[i] *= (double)shape.dim[a] / meta->fov_mm[a];
    }
    const larmor_shape need = larmor_shape_append(shape, shape.ndim);
    return larmor_array_upload(larmor_array_device(given), LARMOR_F64, need, LARMOR_F64, value, d);
}

static larmor_status displacement_of(const work *w, const larmor_image_meta *meta, larmor_shape shape,
                                     larmor_array **d)
{
    APP_OWN(larmor_array, there,
            w->given ? in_voxels(w->given, meta, shape, &there)
                     : larmor_gradient_displacement(w->field, meta, shape, &there));
    if (w->s->distort) return larmor_displacement_inverse(there, d);
    *d = there;
    there = NULL;
    return LARMOR_OK;
}

static larmor_status warp_one(work *w, int i)
{
    const larmor_image *from = &w->set.image[i];
    const larmor_warp_opts opts = {.by = w->s->cubic ? LARMOR_WARP_CUBIC : LARMOR_WARP_BAND,
                                   .jacobian = !w->s->no_jacobian};
    const larmor_shape shape = shape_of(from->data);
    larmor_array *shaped;
    APP_OWN(larmor_array, d, displacement_of(w, &from->meta, shape, &d));
    APP_OWN(larmor_array, x, larmor_array_reshape(from->data, shape, &x));
    APP_OWN(larmor_array, y, larmor_warp(x, d, &opts, &y));
    TRY(larmor_array_reshape(y, larmor_array_shape(from->data), &shaped));
    w->made[i] = (larmor_image){.data = shaped, .meta = from->meta};
    return LARMOR_OK;
}

static int open_work(const char *path, work *w)
{
    const settings *s = w->s;
    APP_TRY(APP_INPUT, larmor_device_open("cpu", &w->dev));
    APP_TRY(APP_INPUT, app_read_images(path, w->dev, &w->set));
    if (s->gradient_field) {
        if (!w->set.has_geometry)
            return app_fail_in(APP_INPUT,
                               larmor_fail(LARMOR_ERR_FORMAT,
                                           "does not say where its images lie, which the harmonics "
                                           "of gradients need; take a .nii or an .h5."),
                               path);
        APP_TRY(APP_INPUT, larmor_gradient_field_read(s->gradient_field, w->dev, &w->field));
    } else {
        APP_TRY(APP_INPUT, app_read_array(s->displacement, w->dev, &w->given));
    }
    w->made = calloc((size_t)w->set.count + 1, sizeof *w->made);
    if (!w->made) return app_fail(APP_RUN, larmor_fail(LARMOR_ERR_MEMORY, "out of memory"));
    return APP_DONE;
}

static int run(const void *given, const app_files *files)
{
    const settings *s = given;
    APP_OWNED(larmor_output) *out = NULL;
    APP_FREED_BY(free_work) work w = {.s = s};
    if (!s->gradient_field == !s->displacement)
        return app_refuse(APP_USAGE, "warp: either --gradient-field FILE or --displacement FILE expected.");
    APP_TRY(APP_RUN, app_output_open(s->output, s->force, &out));
    APP_DO(open_work(files->name[0], &w));
    for (int i = 0; i < w.set.count; i++) {
        const larmor_status st = warp_one(&w, i);
        if (st) return app_fail_in(APP_INPUT, st, w.given ? s->displacement : files->name[0]);
    }
    APP_TRY(APP_RUN, larmor_image_write(out, w.made, w.set.count,
                                        &(larmor_write_opts){.magnitude = s->magnitude, .header = w.set.header}));
    app_log("wrote %s: %d image%s", s->output, w.set.count, app_s(w.set.count));
    return APP_DONE;
}

const app_command cmd_warp = {
    .name = "warp",
    .usage = "IMAGE -o OUT --gradient-field FILE | --displacement FILE",
    .summary = "finished images without what non-linear gradients displace, or with it",
    .details = "A volume is corrected along three axes, an image of one slice along two. Where coils are folded or "
               "there is\noff-resonance, recon --gradient-field has it in the model instead.",
    .min_files = 1,
    .max_files = 1,
    APP_OWN_PARTS,
};
