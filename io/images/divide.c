/* Images that one file cannot hold, in several. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/images/formats.h"

/* Images of one shape; class [count] is the same for those of one file, the number of one of them. */
static larmor_status divide_alike(const char *path, const lmr_format *format, const lmr_images *images, int *class)
{
    for (int i = 0; i < images->count; i++) class[i] = 0;
    return format->divide ? format->divide(path, images, class) : LARMOR_OK;
}

/* The places of class `which`, as images without data; where they are in the list goes to `at`. */
static int pick(const larmor_image_place *places, int count, const int *class, int which, larmor_image *image,
                int *at)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        if (class[i] != which) continue;
        image[number] = (larmor_image){.meta = places[i].meta};
        at[number++] = i;
    }
    return number;
}

static lmr_images set_of(const larmor_image *image, int count, larmor_shape shape)
{
    static const larmor_write_opts none = {0};
    return (lmr_images){.image = image,
                        .count = count,
                        .dim = {shape.dim[0], shape.dim[1], shape.ndim > 2 ? shape.dim[2] : 1},
                        .voxels = larmor_shape_count(shape),
                        .opts = &none};
}

/* By shape, then as the format has it; the class of an image is the number of the first in its file. */
static larmor_status find_classes(const char *path, const lmr_format *format, const larmor_image_place *places,
                                  int count, larmor_image *image, int *at, int *inner, int *class)
{
    for (int i = 0; i < count; i++) {
        int j = 0;
        while (!larmor_shape_equal(places[i].shape, places[j].shape)) j++;
        class[i] = j;
    }
    for (int c = 0; c < count; c++) {
        if (class[c] != c) continue;
        const int number = pick(places, count, class, c, image, at);
        const lmr_images set = set_of(image, number, places[c].shape);
        LMR_TRY(divide_alike(path, format, &set, inner));
        for (int k = 0; k < number; k++) {
            int first = 0;
            while (inner[first] != inner[k]) first++;
            class[at[k]] = at[first];
        }
    }
    return LARMOR_OK;
}

larmor_status larmor_images_divide(const char *path, const larmor_image_place *places, int count, int *file,
                                   int *files)
{
    LMR_NEED(path, places, file, files);
    const lmr_format *format = lmr_format_of(path);
    if (!format) return lmr_unknown_suffix(path, 0);
    LMR_REFUSE(count < 1, LARMOR_ERR_ARG, "%s: no image to write", path);
    for (int i = 0; i < count; i++)
        LMR_REFUSE(places[i].shape.ndim < 2 || places[i].shape.ndim > 3 || larmor_shape_count(places[i].shape) < 1,
                   LARMOR_ERR_SHAPE, "%s: image %d is not [nx, ny] or [nx, ny, nz]", path, i + 1);
    LMR_HEAP larmor_image *image = lmr_new(count, sizeof *image);
    LMR_HEAP int *at = lmr_new(2 * (int64_t)count, sizeof *at), *class = lmr_new(count, sizeof *class);
    if (!image || !at || !class) return LMR_NO_MEMORY();
    LMR_TRY(find_classes(path, format, places, count, image, at, at + count, class));
    *files = 0;
    for (int i = 0; i < count; i++) {
        file[i] = class[i] == i ? (*files)++ : file[class[i]];
        if (class[i] != i || !format->check) continue;
        const int number = pick(places, count, class, i, image, at);
        const lmr_images set = set_of(image, number, places[i].shape);
        LMR_TRY(format->check(path, &set));
    }
    return LARMOR_OK;
}

larmor_status larmor_divided_name(const char *path, int file, char *name, size_t room)
{
    LMR_NEED(path, name);
    const lmr_format *format = lmr_format_of(path);
    if (!format) return lmr_unknown_suffix(path, 0);
    const int stem = (int)(strlen(path) - strlen(format->suffix));
    if (snprintf(name, room, "%.*s_%d%s", stem, path, file + 1, path + stem) < (int)room) return LARMOR_OK;
    return LMR_FAIL(LARMOR_ERR_ARG, "%s: the name is too long", path);
}
