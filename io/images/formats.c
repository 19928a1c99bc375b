/* Formats by suffix: the table, and writing by its rows. SPDX-License-Identifier: Apache-2.0 */
#include "io/images/formats.h"

#include <limits.h>
#include <strings.h>

#include "core/core.h"

/* A new format is a line here and a file in this folder, or for DICOM in io/dicom, that defines
 * lmr_format_<name>. */
#define FORMATS(X)                                                                                                   \
    X(h5)                                                                                                            \
    X(nii)                                                                                                           \
    X(nii_gz)                                                                                                        \
    X(png)                                                                                                           \
    X(gif)                                                                                                           \
    X(cfl)                                                                                                           \
    X(html)                                                                                                          \
    X(npy)                                                                                                           \
    X(dcm)                                                                                                           \
    X(dcm_file)

#define DECLARE(name) extern const lmr_format lmr_format_##name;
#define ROW(name) &lmr_format_##name,
FORMATS(DECLARE)
static const lmr_format *const table[] = {FORMATS(ROW)};
enum { COUNT = sizeof table / sizeof *table };

static larmor_format_info info_of(const lmr_format *f)
{
    if (!f) return (larmor_format_info){.suffix = NULL};
    return (larmor_format_info){f->suffix,     f->name,           f->can & LMR_CAN_READ, f->save != NULL,
                                f->is_picture, f->inside != NULL, f->sidecar != NULL};
}

larmor_format_info larmor_format_entry(int i)
{
    return info_of(i >= 0 && i < COUNT ? table[i] : NULL);
}

const lmr_format *lmr_format_of(const char *path)
{
    const size_t length = path ? strlen(path) : 0;
    for (int i = 0; i < COUNT; i++) {
        const size_t suffix = strlen(table[i]->suffix);
        if (length > suffix && !strcasecmp(path + length - suffix, table[i]->suffix) &&
            path[length - suffix - 1] != '/')
            return table[i];
    }
    return NULL;
}

larmor_format_info larmor_format_of(const char *path)
{
    return info_of(lmr_format_of(path));
}

typedef enum use { TO_WRITE, TO_READ, TO_SAVE } use;

/* ".h5, .nii, ...", those that can be used so. */
static const char *known(use how, char *text, size_t size)
{
    *text = 0;
    for (int i = 0; i < COUNT; i++)
        if (how == TO_WRITE || (how == TO_READ ? table[i]->can & LMR_CAN_READ : table[i]->save != NULL))
            lmr_append(text, size, "%s%s", *text ? ", " : "", table[i]->suffix);
    return text;
}

larmor_status lmr_unknown_suffix(const char *path, int reading)
{
    char text[256];
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: the suffix names no format that can be %s; use one of %s", path,
                    reading ? "read" : "written", known(reading ? TO_READ : TO_WRITE, text, sizeof text));
}

larmor_status larmor_output_open(const char *path, int force, larmor_output **out)
{
    LMR_REFUSE(!out, LARMOR_ERR_ARG, "output: no place for the result");
    *out = NULL;
    LMR_REFUSE(!path || !*path, LARMOR_ERR_ARG, "output: no path given");
    const lmr_format *format = lmr_format_of(path);
    if (!format) return lmr_unknown_suffix(path, 0);
    if (format->ready) LMR_TRY(format->ready(path));
    LMR_TRY(format->inside ? lmr_output_open_folder(path, format->inside, force, out)
                           : lmr_output_open(path, format->suffix, format->second, force, 0, out));
    (*out)->format = format;
    return LARMOR_OK;
}

larmor_status larmor_output_add_sidecar(larmor_output *out)
{
    LMR_TRY(lmr_output_ready(out));
    LMR_REFUSE(!out->format->sidecar, LARMOR_ERR_ARG, "%s: a sidecar belongs to a .nii or .nii.gz", out->path);
    return lmr_output_add(out, out->format->suffix, out->format->sidecar);
}

larmor_status larmor_output_add_phase(larmor_output *out)
{
    LMR_TRY(lmr_output_ready(out));
    LMR_REFUSE(!out->format->phase, LARMOR_ERR_ARG, "%s: a file of phases belongs to a .dcm", out->path);
    return lmr_output_add(out, out->format->suffix, out->format->phase);
}

larmor_status larmor_output_reserve(larmor_output *out, larmor_dtype dtype, larmor_shape shape, int magnitude)
{
    int64_t bytes = larmor_shape_count(shape);
    LMR_TRY(lmr_output_ready(out));
    int each = out->format->bytes;
    if (out->format->element) each = out->format->element(dtype, magnitude);
    if (!each) return LARMOR_OK;
    LMR_REFUSE(bytes < 0 || !lmr_mul(bytes, each, &bytes), LARMOR_ERR_SHAPE,
               "%s: the product of the sizes passes 2^62", out->path);
    return bytes ? lmr_output_reserve(out, 0, bytes) : LARMOR_OK;
}

/* ---- writing ---- */

/* The end of every write: in place, or gone without a trace. */
static larmor_status finish(larmor_output *out, larmor_status st)
{
    if (!st) st = lmr_output_commit(out);
    lmr_output_give_up(out);
    return st;
}

larmor_status larmor_image_write(larmor_output *out, const larmor_image *images, int count,
                                 const larmor_write_opts *opts)
{
    static const larmor_write_opts none = {0};
    lmr_images set;
    LMR_TRY(lmr_output_ready(out));
    LMR_TRY(lmr_images_check(out->path, images, count, opts ? opts : &none, &set));
    return finish(out, out->format->write(out, &set));
}

larmor_status larmor_array_save(larmor_output *out, const larmor_array *x)
{
    char text[256];
    LMR_TRY(lmr_output_ready(out));
    LMR_REFUSE(!x, LARMOR_ERR_ARG, "%s: no array to write", out->path);
    LMR_REFUSE(!out->format->save, LARMOR_ERR_ARG, "%s: arrays cannot be written to %s files; use one of %s",
               out->path, out->format->suffix, known(TO_SAVE, text, sizeof text));
    LMR_REFUSE(larmor_array_count(x) < 1, LARMOR_ERR_SHAPE, "%s: %s has no elements", out->path, lmr_describe(x).s);
    return finish(out, out->format->save(out, x));
}

/* Pictures have colours for phases, and planes of volumes. */
static larmor_status write_coils(larmor_output *out, const larmor_image *images, int coils, int is_volume)
{
    larmor_write_opts opts = {.colour = 1, .planes = is_volume};
    lmr_images set;
    LMR_TRY(lmr_images_check(out->path, images, coils, &opts, &set));
    opts.colour = set.is_complex;
    set.is_coils = 1;
    return finish(out, out->format->write(out, &set));
}

/* An image of each coil. */
static larmor_status save_coils(larmor_output *out, const larmor_array *maps, const larmor_image_meta *meta)
{
    const larmor_shape shape = larmor_array_shape(maps);
    const int coils = (int)shape.dim[shape.ndim - 1];
    LMR_HEAP larmor_image *images = calloc((size_t)coils, sizeof *images);
    LMR_HEAP larmor_array **view = calloc((size_t)coils, sizeof *view);
    larmor_status st = images && view ? LARMOR_OK : LMR_NO_MEMORY();
    for (int c = 0; c < coils && !st; c++) {
        st = lmr_one_of(maps, c, &view[c]);
        if (meta) images[c].meta = *meta;
        images[c].data = view[c];
    }
    if (!st) st = write_coils(out, images, coils, shape.ndim > 3);
    for (int c = 0; view && c < coils; c++) larmor_array_free(view[c]);
    return st;
}

larmor_status larmor_maps_save(larmor_output *out, const larmor_array *maps, const larmor_image_meta *meta)
{
    LMR_TRY(lmr_output_ready(out));
    LMR_REFUSE(!maps, LARMOR_ERR_ARG, "%s: no maps to write", out->path);
    const larmor_shape s = larmor_array_shape(maps);
    const char *suffix = out->format->suffix;
    char text[256];
    LMR_REFUSE(s.ndim < 3 || s.ndim > 5 || larmor_array_count(maps) < 1 || s.dim[s.ndim - 1] > INT_MAX,
               LARMOR_ERR_SHAPE,
               "%s: maps are %s, expected [nx, ny, coils], [nx, ny, nz, coils] or [nx, ny, nz, coils, sets]",
               out->path, lmr_describe(maps).s);
    LMR_REFUSE(s.ndim == 5 && !out->format->save, LARMOR_ERR_ARG,
               "%s: several sets of maps cannot be written to %s files; use one of %s", out->path, suffix,
               known(TO_SAVE, text, sizeof text));
    if (!out->format->save) return save_coils(out, maps, meta);
    if (s.ndim > 3 || strcmp(suffix, ".cfl") != 0) return larmor_array_save(out, maps);
    LMR_OWN(larmor_array, view, larmor_array_reshape(maps, LARMOR_SHAPE(s.dim[0], s.dim[1], 1, s.dim[2]), &view));
    return larmor_array_save(out, view);
}
