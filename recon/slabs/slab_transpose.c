/* From slabs of a volume to lines along its last axis, and back: an exchange between all ranks.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/slabs/slab_transpose.h"

#include "core/core.h"
#include "recon/slabs/slabs.h"
#include "recon/sparse.h"

void lmr_slab_transpose_free(lmr_slab_transpose *t)
{
    LMR_FREE(t->of_planes, t->of_lines);
}

larmor_status lmr_slab_transpose_make(larmor_ranks *ranks, int64_t side, int64_t planes, larmor_dtype dtype,
                                      lmr_slab_transpose *t)
{
    const int count = ranks->count;
    const int64_t size = (int64_t)larmor_dtype_size(dtype);
    *t = (lmr_slab_transpose){.ranks = ranks, .side = side, .planes = planes};
    t->own_planes = lmr_slab_share(planes, count, ranks->number, NULL);
    t->own_lines = lmr_slab_share(side, count, ranks->number, NULL);
    LMR_ALLOCATE_ZEROS(t->of_planes, count);
    LMR_ALLOCATE_ZEROS(t->of_lines, count);
    for (int i = 0; i < count; i++) {
        t->of_planes[i] = lmr_slab_share(side, count, i, NULL) * t->own_planes * size;
        t->of_lines[i] = lmr_slab_share(planes, count, i, NULL) * t->own_lines * size;
    }
    return LARMOR_OK;
}

int64_t lmr_slab_transpose_size(const lmr_slab_transpose *t)
{
    const int64_t slab = t->side * t->own_planes, lines = t->own_lines * t->planes;
    return slab > lines ? slab : lines;
}

/* slab [side, own planes] to blocks [lines of rank i, own planes], one after the other, or the other way round. */
static larmor_status arrange(const lmr_slab_transpose *t, larmor_array *slab, larmor_array *blocks, int to_blocks)
{
    const larmor_device *dev = slab->dev;
    const int64_t size = (int64_t)larmor_dtype_size(slab->dtype);
    for (int i = 0; i < t->ranks->count; i++) {
        int64_t first;
        const int64_t lines = lmr_slab_share(t->side, t->ranks->count, i, &first);
        const size_t plane = (size_t)(t->side * size), row = (size_t)(lines * size);
        char *in_slab = (char *)slab->data + first * size;
        char *in_block = (char *)blocks->data + first * t->own_planes * size;
        LMR_TRY(dev->be->copy_rows(dev->ctx, to_blocks ? in_block : in_slab, to_blocks ? row : plane,
                                   to_blocks ? in_slab : in_block, to_blocks ? plane : row, row, t->own_planes));
    }
    return LARMOR_OK;
}

larmor_status lmr_slab_transpose_to_lines(const lmr_slab_transpose *t, larmor_array *a, larmor_array *b,
                                          larmor_status own)
{
    if (!own) own = arrange(t, a, b, 1);
    const larmor_status st = lmr_ranks_exchange(t->ranks, b, t->of_planes, a, t->of_lines);
    return own ? own : st;
}

larmor_status lmr_slab_transpose_to_slab(const lmr_slab_transpose *t, larmor_array *a, larmor_array *b,
                                         larmor_status own)
{
    const larmor_status st = lmr_ranks_exchange(t->ranks, a, t->of_lines, b, t->of_planes);
    if (!own) own = st;
    return own ? own : arrange(t, a, b, 0);
}

larmor_status lmr_slab_transpose_local(const lmr_slab_transpose *t, int to_planes, const larmor_array *from,
                                       larmor_array *to)
{
    const int64_t columns = to_planes ? t->own_lines : t->planes;
    const int64_t rows = to_planes ? t->planes : t->own_lines;
    const int64_t dim[3] = {columns, rows, 1};
    const lmr_sparse_kernels *kernels;
    LMR_TRY(lmr_sparse_kernels_of(from->dev, from->dtype, &kernels));
    return columns > 0 && rows > 0 ? kernels->transpose(from->dev->ctx, dim, from->data, to->data) : LARMOR_OK;
}
