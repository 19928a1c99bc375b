/* The samples in the centre of k-space. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/inputs.h"
#include "recon/maps/maps.h"

void lmr_centre_free(lmr_centre *c)
{
    LMR_FREE(c->index, c->points);
    *c = (lmr_centre){0};
}

larmor_status lmr_centre_select(const larmor_array *k, larmor_dtype dtype, const double radius[3], lmr_centre *c)
{
    *c = (lmr_centre){.dev = k->dev, .nd = (int)k->shape.dim[0]};
    for (int d = 0; d < 3; d++) c->radius[d] = radius[d];
    c->samples = larmor_array_count(k) / c->nd;
    LMR_TRY(lmr_recon_kernels_of(k->dev, dtype, &c->kernels));
    LMR_TRY(larmor_array_create(c->dev, LARMOR_I64, LARMOR_SHAPE(c->samples), &c->index));
    /* samples on the edge get no weight later; a margin keeps rounding of the trajectory from deciding who is in */
    LMR_TRY(c->kernels->select(c->dev->ctx, c->nd, c->samples, k->data, c->radius, 1 - 1e-4, c->index->data, &c->m));
    if (!c->m) return LARMOR_OK;
    LMR_TRY(larmor_array_create(c->dev, LARMOR_F64, LARMOR_SHAPE(c->nd, c->m), &c->points));
    return c->kernels->pick(c->dev->ctx, c->nd, c->m, c->index->data, 1, k->data, c->points->data);
}

larmor_status lmr_centre_gather(const lmr_centre *c, const larmor_array *w, const larmor_array *kspace, int64_t coils,
                                larmor_array **values)
{
    LMR_TRY(larmor_array_create(c->dev, kspace->dtype, LARMOR_SHAPE(c->m, coils), values));
    return c->kernels->gather(c->dev->ctx, c->samples, c->m, coils, c->index->data, w->data, kspace->data,
                              (*values)->data);
}

/* Cells are around whole numbers, as the lines of a Cartesian scan; they are counted from -floor(radius). */
typedef struct cells {
    double per_unit[3], radius[3]; /* cells per unit of k; of the centre, in cells */
    int64_t side[3], total;
} cells;

static cells cells_of(const lmr_centre *c, const double encoded[3])
{
    cells a = {.side = {1, 1, 1}, .total = 1};
    for (int d = 0; d < c->nd; d++) {
        a.per_unit[d] = encoded[d] > 0 ? encoded[d] : 1;
        a.radius[d] = c->radius[d] * a.per_unit[d];
        a.side[d] = 2 * (int64_t)floor(a.radius[d]) + 1;
        a.total *= a.side[d];
    }
    return a;
}

/* Of a cell: a sample that is so near to its border counts for both cells. */
static const double border = 0.02;

/* The cell of a point that is moved by shift along each axis, or -1. */
static int64_t cell_at(const lmr_centre *c, const cells *a, const double *k, double shift)
{
    int64_t cell = 0;
    for (int d = c->nd - 1; d >= 0; d--) {
        const int64_t i = (int64_t)floor(k[d] * a->per_unit[d] + shift + .5) + a->side[d] / 2;
        if (i < 0 || i >= a->side[d]) return -1;
        cell = cell * a->side[d] + i;
    }
    return cell;
}

static double cell_weight(const lmr_centre *c, const cells *a, int64_t cell)
{
    double square = 0;
    for (int d = 0; d < c->nd; d++) {
        const double k = (double)(cell % a->side[d] - a->side[d] / 2);
        square += pow(k / a->radius[d], 2);
        cell /= a->side[d];
    }
    return square < 1 ? pow(cos(M_PI / 2 * sqrt(square)), 4) : 0;
}

larmor_status lmr_part_sampled(const lmr_centre *c, const double encoded[3], double *part)
{
    const cells a = cells_of(c, encoded);
    double all = 0, sampled = 0;
    LMR_OWN_MEMORY(double, k, larmor_array_download(c->points, LARMOR_F64, &k));
    LMR_HEAP LMR_NEW_ZEROS(unsigned char, hit, a.total);
    for (int64_t j = 0; j < c->m; j++)
        for (int side = -1; side <= 1; side += 2) { /* a point between two cells is in both */
            const int64_t cell = cell_at(c, &a, k + j * c->nd, side * border);
            if (cell >= 0) hit[cell] = 1;
        }
    for (int64_t i = 0; i < a.total; i++) {
        const double weight = cell_weight(c, &a, i);
        all += weight;
        sampled += hit[i] ? weight : 0;
    }
    *part = all > 0 ? sampled / all : 0;
    return LARMOR_OK;
}
