/* From slabs of a volume to lines along its last axis, and back: an exchange between all ranks. SPDX-License-Identifier: Apache-2.0 */
#include "recon/slabs/slab_transpose.h"

#include <stdlib.h>

#include "core/array.h"
#include "recon/slabs/slabs.h"
#include "recon/sparse.h"

void lmr_deal_free(lmr_deal *d)
{
    free(d->of_planes);
    free(d->of_lines);
}

larmor_status lmr_deal_make(larmor_ranks *ranks, int64_t side, int64_t planes, larmor_dtype dtype, lmr_deal *d)
{
    const int count = ranks->count;
    const int64_t size = (int64_t)larmor_dtype_size(dtype);
    *d = (lmr_deal){.ranks = ranks, .side = side, .planes = planes};
    d->own_planes = lmr_slab_share(planes, count, ranks->number, NULL);
    d->own_lines = lmr_slab_share(side, count, ranks->number, NULL);
    d->of_planes = calloc((size_t)count, sizeof *d->of_planes);
    d->of_lines = calloc((size_t)count, sizeof *d->of_lines);
    if (!d->of_planes || !d->of_lines) return LMR_NO_MEMORY();
    for (int i = 0; i < count; i++) {
        d->of_planes[i] = lmr_slab_share(side, count, i, NULL) * d->own_planes * size;
        d->of_lines[i] = lmr_slab_share(planes, count, i, NULL) * d->own_lines * size;
    }
    return LARMOR_OK;
}

int64_t lmr_deal_room(const lmr_deal *d)
{
    const int64_t slab = d->side * d->own_planes, lines = d->own_lines * d->planes;
    return slab > lines ? slab : lines;
}

/* slab [side, own planes] to blocks [lines of rank i, own planes], one after the other, or the other way round. */
static larmor_status arrange(const lmr_deal *d, larmor_array *slab, larmor_array *blocks, int to_blocks)
{
    const larmor_device *dev = slab->dev;
    const int64_t size = (int64_t)larmor_dtype_size(slab->dtype);
    for (int i = 0; i < d->ranks->count; i++) {
        int64_t first;
        const int64_t lines = lmr_slab_share(d->side, d->ranks->count, i, &first);
        const size_t plane = (size_t)(d->side * size), row = (size_t)(lines * size);
        char *in_slab = (char *)slab->data + first * size;
        char *in_block = (char *)blocks->data + first * d->own_planes * size;
        LMR_TRY(dev->be->copy_rows(dev->ctx, to_blocks ? in_block : in_slab, to_blocks ? row : plane,
                                   to_blocks ? in_slab : in_block, to_blocks ? plane : row, row, d->own_planes));
    }
    return LARMOR_OK;
}

larmor_status lmr_deal_to_lines(const lmr_deal *d, larmor_array *a, larmor_array *b, larmor_status own)
{
    if (!own) own = arrange(d, a, b, 1);
    const larmor_status st = lmr_ranks_exchange(d->ranks, b, d->of_planes, a, d->of_lines);
    return own ? own : st;
}

larmor_status lmr_deal_to_slab(const lmr_deal *d, larmor_array *a, larmor_array *b, larmor_status own)
{
    const larmor_status st = lmr_ranks_exchange(d->ranks, a, d->of_lines, b, d->of_planes);
    if (!own) own = st;
    return own ? own : arrange(d, a, b, 0);
}

larmor_status lmr_deal_turn(const lmr_deal *d, int to_planes, const larmor_array *from, larmor_array *to)
{
    const int64_t columns = to_planes ? d->own_lines : d->planes;
    const int64_t rows = to_planes ? d->planes : d->own_lines;
    const int64_t dim[3] = {columns, rows, 1};
    const lmr_sparse_kernels *kernels;
    LMR_TRY(lmr_sparse_kernels_of(from->dev, from->dtype, &kernels));
    return columns > 0 && rows > 0 ? kernels->transpose(from->dev->ctx, dim, from->data, to->data) : LARMOR_OK;
}
