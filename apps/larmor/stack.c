/* Images of a file as one array, and masks for them. SPDX-License-Identifier: Apache-2.0 */
#include "stack.h"

#include "common.h"

void app_free_stack(app_stack *s)
{
    larmor_array_free(s->all);
}

larmor_status app_read_stack(const char *path, larmor_device *dev, app_stack *s)
{
    APP_FREED_BY(larmor_images_free) larmor_image_set set = {.count = 0};
    TRY(app_read_images(path, dev, &set));
    if (!set.count) return larmor_fail(LARMOR_ERR_ARG, "%s: an array of so many dimensions has no images", path);
    s->image = larmor_array_shape(set.image[0].data);
    s->voxels = larmor_array_count(set.image[0].data);
    if (set.has_counters)
        TRY(larmor_images_stack(set.image, set.count, &s->all));
    else
        s->all = larmor_array_ref(set.all);
    const larmor_shape all = larmor_array_shape(s->all);
    const int is_volume = s->image.ndim > 2 && s->image.dim[2] > 1;
    s->slices = !is_volume && all.ndim > 2 ? all.dim[2] : 1;
    return LARMOR_OK;
}

larmor_status app_read_in_order(const char *path, larmor_device *dev, larmor_array **x)
{
    APP_FREED_BY(larmor_images_free) larmor_image_set set = {.count = 0};
    TRY(app_read_images(path, dev, &set));
    if (set.has_counters && set.count > 1) return larmor_images_stack(set.image, set.count, x);
    *x = larmor_array_ref(set.all);
    return LARMOR_OK;
}

void app_log_slices(const char *path, const int *slice, int count)
{
    enum { LISTED = 16 };
    char text[LISTED * 8] = "";
    size_t used = 0;
    int in_order = 1;
    for (int i = 0; i < count; i++) in_order &= slice[i] == i;
    for (int i = 0; i < count && i < LISTED; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%d", i ? ", " : "", slice[i]);
    if (!in_order)
        app_log("%s: its slices are in the order of their places, which have the slice counters %s%s", path, text,
                count > LISTED ? ", ..." : "");
}

void app_log_written_slices(const larmor_output *out, const larmor_source *source, int encoding)
{
    APP_HEAP int *slice = NULL;
    const char *path = larmor_output_path(out);
    int count;
    if (larmor_format_of(path).saves && !larmor_source_slices(source, encoding, &slice, &count))
        app_log_slices(path, slice, count);
}

app_sizes app_sizes_of(larmor_shape shape)
{
    app_sizes text = {""};
    size_t used = 0;
    for (int d = 0; d < shape.ndim; d++)
        used += (size_t)snprintf(text.s + used, sizeof text.s - used, d ? ", %lld" : "%lld", (long long)shape.dim[d]);
    return text;
}

/* Of a mask for one image, for the slices of a volume, or for all: the part for image i. Its shape begins as that of
 * the images does. */
static larmor_status fits(const char *path, const larmor_array *mask, const app_stack *s)
{
    const int64_t voxels = larmor_array_count(mask);
    const larmor_shape m = larmor_array_shape(mask), all = larmor_array_shape(s->all);
    int alike = voxels == s->voxels || voxels == s->voxels * s->slices || voxels == larmor_array_count(s->all);
    for (int d = 0; d < m.ndim; d++)
        if (m.dim[d] != (d < all.ndim ? all.dim[d] : 1)) alike = 0;
    if (alike) return LARMOR_OK;
    return larmor_fail(
        LARMOR_ERR_SHAPE, "%s: the mask is [%s], expected [%s], or that of one image or one volume of it%s", path,
        app_sizes_of(m).s, app_sizes_of(all).s, s->image.ndim > 2 ? "; the first three axes are one volume" : "");
}

larmor_status app_read_mask(const char *path, larmor_device *dev, const app_stack *s, larmor_array **mask)
{
    APP_FREED_BY(app_free_stack) app_stack read = {.all = NULL};
    TRY(app_read_stack(path, dev, &read));
    TRY(fits(path, read.all, s));
    APP_OWN_MEMORY(double, value, larmor_array_download(read.all, LARMOR_C128, &value));
    const int64_t count = larmor_array_count(read.all);
    for (int64_t i = 0; i < count; i++) {
        if (value[2 * i + 1] != 0)
            return larmor_fail(LARMOR_ERR_ARG, "%s: the mask is complex, expected real numbers", path);
        value[i] = value[2 * i];
    }
    return larmor_array_upload(dev, LARMOR_F64, LARMOR_SHAPE(count), LARMOR_F64, value, mask);
}

larmor_status app_part_of(const larmor_array *flat, const app_stack *s, int64_t i, larmor_array **part)
{
    const int64_t first = i * s->voxels % larmor_array_count(flat);
    return larmor_array_part(flat, first, s->voxels, s->image, part);
}
