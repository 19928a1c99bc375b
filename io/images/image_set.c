/* The images of a file one by one, each with its own geometry and counters, and as volumes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "io/images/bart_axes.h"
#include "io/images/image_list.h"
#include "io/images/volume.h"

enum { SPACE = 3 }; /* axes of an image */

/* ---- from a file ---- */

static larmor_status drop_imaginary(lmr_image_list *list)
{
    const int64_t count = larmor_array_count(list->all);
    larmor_array *real = NULL;
    LMR_HEAP LMR_NEW(float, values, count);
    LMR_TRY(lmr_values(list->all, LMR_AS_REAL, values));
    LMR_TRY(
        larmor_array_upload(list->all->dev, LARMOR_F32, larmor_array_shape(list->all), LARMOR_F32, values, &real));
    larmor_array_free(list->all);
    list->all = real;
    return LARMOR_OK;
}

/* The sizes of an image, 1 for axes that the file has not. */
static void extent_of(const lmr_image_list *list, int64_t dim[SPACE])
{
    for (int d = 0; d < SPACE; d++) dim[d] = d < list->axes ? list->dim[d] : 1;
}

/* Of image i: what the file says of it, or what the axes beyond z are. */
static larmor_image_meta meta_of(const lmr_image_list *list, int64_t i)
{
    if (list->format->can & LMR_CAN_LIST) return list->meta[i / list->dim[SPACE]];
    larmor_image_meta meta = *list->meta;
    if (list->format->second) lmr_bart_counters(list->axes, list->dim, i, &meta);
    if (list->has_geometry)
        meta.repetition = (int)i;
    else
        memset(meta.read_dir, 0, 3 * sizeof meta.read_dir);
    return meta;
}

static larmor_status take_apart(const lmr_image_list *list, larmor_image_set *set)
{
    int64_t dim[SPACE];
    extent_of(list, dim);
    const larmor_shape one = larmor_shape_of(dim[2] > 1 ? 3 : 2, dim);
    const int64_t count = larmor_array_count(list->all) / larmor_shape_count(one);
    if (count > LMR_MOST_IMAGES && !list->has_geometry) return LARMOR_OK;
    LMR_REFUSE(count > LMR_MOST_IMAGES, LARMOR_ERR_FORMAT, "%lld images, at most %d are read one by one",
               (long long)count, LMR_MOST_IMAGES);
    LMR_OWN(larmor_array, rows, larmor_array_reshape(list->all, larmor_shape_append(one, count), &rows));
    LMR_ALLOCATE(set->image, count);
    for (int64_t i = 0; i < count; i++) {
        larmor_array *part;
        LMR_TRY(larmor_array_part(rows, i, 1, one, &part));
        set->image[set->count++] = (larmor_image){.data = part, .meta = meta_of(list, i)};
    }
    return LARMOR_OK;
}

larmor_status larmor_images_read(const char *path, larmor_device *dev, larmor_image_set *set)
{
    LMR_NEED(path, dev, set);
    *set = (larmor_image_set){.image = NULL};
    lmr_image_list list;
    LMR_TRY(lmr_image_list_read(path, dev, &list));
    set->has_geometry = list.has_geometry;
    set->has_counters = list.has_geometry || (list.format->second && lmr_is_bart_series(list.axes, list.dim));
    larmor_status st = list.is_real ? drop_imaginary(&list) : LARMOR_OK;
    if (!st) st = take_apart(&list, set);
    if (!st) set->all = larmor_array_ref(list.all);
    if (!st) set->header = list.header;
    if (!st) list.header = NULL;
    lmr_image_list_free(&list);
    if (st) larmor_images_free(set);
    return st == LARMOR_ERR_FORMAT ? lmr_fail_in(st, path) : st;
}

void larmor_images_free(larmor_image_set *set)
{
    if (!set) return;
    for (int i = 0; i < set->count; i++) larmor_array_free(set->image[i].data);
    LMR_FREE(set->all, set->image, set->header);
    *set = (larmor_image_set){.image = NULL};
}

/* ---- as volumes ---- */

static larmor_status gather(const lmr_images *images, const lmr_volumes *v, larmor_array **volumes)
{
    const larmor_array *first = images->image[0].data;
    const larmor_dtype dtype = larmor_array_dtype(first);
    const size_t bytes = larmor_array_bytes(first);
    const int64_t dim[4] = {images->dim[0], images->dim[1], images->dim[2] * v->slices, v->volumes};
    const int used = dim[3] > 1 ? 4 : 2 + (dim[2] > 1);
    LMR_HEAP unsigned char *host = lmr_new(images->count, bytes);
    if (!host) return LMR_NO_MEMORY();
    for (int i = 0; i < images->count; i++)
        LMR_TRY(larmor_array_read(images->image[v->order[i]].data, host + (size_t)i * bytes, bytes));
    return larmor_array_upload(first->dev, dtype, larmor_shape_of(used, dim), dtype, host, volumes);
}

larmor_status larmor_images_stack(const larmor_image *images, int count, larmor_array **volumes)
{
    static const larmor_write_opts none = {0};
    lmr_images set;
    LMR_FREED_BY(lmr_volumes_free) lmr_volumes v = {.order = NULL};
    LMR_NEED_OUT(volumes);
    LMR_TRY(lmr_images_check("images", images, count, &none, &set));
    LMR_TRY(lmr_order(&set, &v));
    return gather(&set, &v, volumes);
}
