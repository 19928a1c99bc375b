/* Coil maps against coil images of low resolution: at every place the coils' values must be those of the maps, up
 * to a factor that they share. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

#include <complex.h>

#include "recon/inputs.h"

enum {
    SIDE = 24,
    SIDE_3D = 12,
    MOST_ORDERED = 16,
    BLOCK = 3,
    POWER_STEPS = 8,
    /* Of the region: right maps leave .50 to .61 of images of one and of two lines, .31 to .34 of three, .25 of four
     * (48 lines, R = 2 to 4, 4 and 8 coils, two phantoms). */
    LEAST_SIDE = 4,
};

/* As docs/scans_coils.md says them; the scans are those of docs/records/validation.md, "Scans whose description is
 * wrong". */
static const double noticeable = 0.15;   /* misfit: below it nothing else is tried */
static const double clear_part = 0.6;    /* of the misfit: maps that leave less of it fit clearly better */
static const double most_left = 0.4;     /* misfit of those, at most */
static const double contradicted = 0.1;  /* of the energy, beyond: */
static const double over_neighbours = 4; /* times what no maps explain, as neighbouring voxels say */

typedef struct comparison {
    int nd;
    int64_t coils, side[3], voxels; /* of the coarse images */
    double complex *image, *maps;   /* [voxels, coils] */
    double complex *other;          /* [voxels, coils], of a candidate */
} comparison;

LMR_FREES(free_comparison, comparison, other, maps, image)

/* ---- coarse images ---- */

/* x [before, from, after] becomes [before, side, after]: from k-space to `side` places over the image along one
 * axis. */
static double complex *transform_axis(const double complex *x, int64_t before, int64_t from, int64_t after,
                                      int64_t side, double fov)
{
    double complex *y = lmr_new(before * side * after, sizeof *y);
    if (!y) return NULL;
    for (int64_t c = 0; c < after; c++)
        for (int64_t r = 0; r < side; r++)
            for (int64_t a = 0; a < before; a++) {
                double complex sum = 0;
                for (int64_t k = 0; k < from; k++) {
                    const double at = (double)(k - from / 2), place = (double)(r - side / 2) / (double)side / fov;
                    const double hann = 0.5 + 0.5 * cos(2 * M_PI * at / (double)(from + 1));
                    sum += hann * cexp(2 * M_PI * I * at * place) * x[a + before * (k + from * c)];
                }
                y[a + before * (r + side * c)] = sum;
            }
    return y;
}

/* Images of the region's coils, [side..., coils]. */
static double complex *transform(const double complex *region, larmor_shape shape, const double fov[3],
                                 const comparison *m)
{
    double complex *x = lmr_new(larmor_shape_count(shape), sizeof *x);
    if (x) memcpy(x, region, (size_t)larmor_shape_count(shape) * sizeof *x);
    int64_t before = 1, after = larmor_shape_count(shape);
    for (int d = 0; d < m->nd && x; d++) {
        after /= shape.dim[d];
        double complex *y = transform_axis(x, before, shape.dim[d], after, m->side[d], fov[d] > 0 ? fov[d] : 1);
        free(x);
        x = y;
        before *= m->side[d];
    }
    return x;
}

/* The maps at the coarse images' places. */
static void thin_out(const double complex *maps, larmor_shape shape, comparison *m)
{
    int64_t voxels = 1;
    for (int d = 0; d < m->nd; d++) voxels *= shape.dim[d];
    for (int64_t v = 0; v < m->voxels; v++) {
        int64_t rest = v, from = 0, stride = 1;
        for (int d = 0; d < m->nd; d++) {
            const double place = (double)(rest % m->side[d] - m->side[d] / 2) / (double)m->side[d];
            int64_t i = (int64_t)floor(place * (double)shape.dim[d] + 0.5) + shape.dim[d] / 2;
            if (i >= shape.dim[d]) i = shape.dim[d] - 1;
            from += stride * (i > 0 ? i : 0);
            rest /= m->side[d];
            stride *= shape.dim[d];
        }
        for (int64_t c = 0; c < m->coils; c++) m->maps[v + m->voxels * c] = maps[from + voxels * c];
    }
}

/* ---- the misfit ---- */

/* The root of the part of the images' energy that no image times the maps explains. */
static double misfit_of(const comparison *m, const double complex *maps)
{
    double all = 0, explained = 0;
    for (int64_t v = 0; v < m->voxels; v++) {
        double complex product = 0;
        double energy = 0;
        for (int64_t c = 0; c < m->coils; c++) {
            const double complex s = maps[v + m->voxels * c], x = m->image[v + m->voxels * c];
            product += conj(s) * x;
            energy += creal(s * conj(s));
            all += creal(x * conj(x));
        }
        if (energy > 0) explained += creal(product * conj(product)) / energy;
    }
    return all > 0 ? sqrt(fmax(0, 1 - explained / all)) : 0;
}

/* The largest eigenvalue of the covariance of the coils over a block of voxels, and the block's energy. */
static void add_block(const comparison *m, const int64_t *voxel, int count, double *dominant, double *all)
{
    const int64_t C = m->coils;
    double complex x[BLOCK * BLOCK * BLOCK], y[BLOCK * BLOCK * BLOCK];
    double size = 0, value = 0;
    for (int i = 0; i < count; i++)
        for (int64_t c = 0; c < C; c++) {
            const double complex a = m->image[voxel[i] + m->voxels * c];
            size += creal(a * conj(a));
        }
    *all += size;
    for (int i = 0; i < count; i++) x[i] = 1 / sqrt(count);
    for (int step = 0; step < POWER_STEPS && size > 0; step++) { /* with the Gram matrix of the voxels */
        value = 0;
        for (int i = 0; i < count; i++) y[i] = 0;
        for (int64_t c = 0; c < C; c++) {
            double complex sum = 0;
            for (int i = 0; i < count; i++) sum += conj(m->image[voxel[i] + m->voxels * c]) * x[i];
            for (int i = 0; i < count; i++) y[i] += m->image[voxel[i] + m->voxels * c] * sum;
        }
        for (int i = 0; i < count; i++) value += creal(y[i] * conj(y[i]));
        value = sqrt(value);
        for (int i = 0; i < count && value > 0; i++) x[i] = y[i] / value;
    }
    *dominant += value;
}

/* The part of the energy that no maps explain, as neighbouring voxels, which have nearly the same maps, say. */
static double unexplained(const comparison *m)
{
    double dominant = 0, all = 0;
    const int64_t blocks[3] = {m->side[0] / BLOCK, m->side[1] / BLOCK, m->nd > 2 ? m->side[2] / BLOCK : 1};
    for (int64_t z = 0; z < blocks[2]; z++)
        for (int64_t y = 0; y < blocks[1]; y++)
            for (int64_t x = 0; x < blocks[0]; x++) {
                int64_t voxel[BLOCK * BLOCK * BLOCK];
                int count = 0;
                for (int i = 0; i < BLOCK * BLOCK * (m->nd > 2 ? BLOCK : 1); i++) {
                    const int64_t at[3] = {BLOCK * x + i % BLOCK, BLOCK * y + i / BLOCK % BLOCK,
                                           BLOCK * z + i / BLOCK / BLOCK};
                    voxel[count++] = at[0] + m->side[0] * (at[1] + m->side[1] * at[2]);
                }
                add_block(m, voxel, count, &dominant, &all);
            }
    return all > 0 ? fmax(0, 1 - dominant / all) : 1;
}

/* ---- other maps ---- */

static void try_maps(const comparison *m, const char *name, larmor_description *found)
{
    const double misfit = misfit_of(m, m->other);
    if (misfit >= found->better) return;
    found->better = misfit;
    snprintf(found->name, sizeof found->name, "%s", name);
}

/* Voxel v mirrored along the axes of a bit mask, moved by half the image along those of another. */
static int64_t moved(const comparison *m, int64_t v, int mirrored, int half)
{
    int64_t to = 0, stride = 1;
    for (int d = 0; d < m->nd; d++) {
        int64_t i = v % m->side[d];
        if (mirrored & 1 << d) i = (m->side[d] - i) % m->side[d];
        if (half & 1 << d) i = (i + m->side[d] / 2) % m->side[d];
        to += stride * i;
        v /= m->side[d];
        stride *= m->side[d];
    }
    return to;
}

static void axes_of(int mask, char name[8])
{
    int length = 0;
    for (int d = 0; d < 3; d++)
        if (mask & 1 << d) name[length++] = "xyz"[d];
    name[length] = 0;
}

static void try_moved(const comparison *m, larmor_description *found)
{
    char name[96], axes[8];
    for (int conjugate = 0; conjugate < 2; conjugate++)
        for (int mask = 0; mask < 2 << m->nd; mask++) {
            const int is_half = mask >> m->nd, axis = mask & ((1 << m->nd) - 1);
            if (!axis && (is_half || !conjugate)) continue;
            for (int64_t c = 0; c < m->coils; c++)
                for (int64_t v = 0; v < m->voxels; v++) {
                    const double complex s =
                        m->maps[moved(m, v, is_half ? 0 : axis, is_half ? axis : 0) + m->voxels * c];
                    m->other[v + m->voxels * c] = conjugate ? conj(s) : s;
                }
            axes_of(axis, axes);
            if (!axis) snprintf(name, sizeof name, "their conjugates");
            if (axis)
                snprintf(name, sizeof name, "%s %s along %s", conjugate ? "their conjugates," : "the maps",
                         is_half ? "moved by half the field of view" : "mirrored", axes);
            try_maps(m, name, found);
        }
}

static void try_transposed(const comparison *m, larmor_description *found)
{
    static const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
    char name[96];
    for (int p = 0; p < (m->nd > 2 ? 3 : 1); p++) {
        const int a = pair[p][0], b = pair[p][1];
        int64_t stride[3] = {1, m->side[0], m->side[0] * m->side[1]};
        if (m->side[a] != m->side[b]) continue;
        for (int64_t v = 0; v < m->voxels; v++) {
            int64_t at[3] = {v % m->side[0], v / m->side[0] % m->side[1], v / m->side[0] / m->side[1]};
            const int64_t kept = at[a];
            at[a] = at[b];
            at[b] = kept;
            const int64_t from = at[0] * stride[0] + at[1] * stride[1] + at[2] * stride[2];
            for (int64_t c = 0; c < m->coils; c++) m->other[v + m->voxels * c] = m->maps[from + m->voxels * c];
        }
        snprintf(name, sizeof name, "the maps with %c and %c swapped", "xyz"[a], "xyz"[b]);
        try_maps(m, name, found);
    }
}

static void swap_coils(const comparison *m, int64_t a, int64_t b)
{
    for (int64_t v = 0; v < m->voxels; v++) {
        const double complex kept = m->other[v + m->voxels * a];
        m->other[v + m->voxels * a] = m->other[v + m->voxels * b];
        m->other[v + m->voxels * b] = kept;
    }
}

/* Cyclic orders, and from the best of them swaps of two coils as long as they help. */
static void try_orders(const comparison *m, larmor_description *found)
{
    const int64_t C = m->coils, size = m->voxels;
    double least = INFINITY;
    int64_t best = 0;
    if (C > MOST_ORDERED) return;
    for (int64_t by = 0; by < C; by++) {
        for (int64_t c = 0; c < C; c++)
            memcpy(m->other + size * c, m->maps + size * ((c + by) % C), (size_t)size * sizeof *m->other);
        const double misfit = misfit_of(m, m->other);
        if (misfit < least) best = by;
        least = fmin(least, misfit);
    }
    for (int64_t c = 0; c < C; c++)
        memcpy(m->other + size * c, m->maps + size * ((c + best) % C), (size_t)size * sizeof *m->other);
    for (int better = 1; better;) {
        better = 0;
        for (int64_t a = 0; a < C; a++)
            for (int64_t b = a + 1; b < C; b++) {
                swap_coils(m, a, b);
                const double misfit = misfit_of(m, m->other);
                if (misfit < least) {
                    least = misfit;
                    better = 1;
                } else {
                    swap_coils(m, a, b);
                }
            }
    }
    try_maps(m, "the maps of the coils in another order", found);
}

/* A factor for each coil, by turns with the image. */
static void try_factors(const comparison *m, larmor_description *found)
{
    const int64_t C = m->coils, size = m->voxels;
    memcpy(m->other, m->maps, (size_t)(size * C) * sizeof *m->other);
    for (int step = 0; step < 2 * POWER_STEPS; step++)
        for (int64_t c = 0; c < C; c++) {
            double complex product = 0;
            double energy = 0;
            for (int64_t v = 0; v < size; v++) {
                double complex x = 0;
                double norm = 0;
                for (int64_t o = 0; o < C; o++) {
                    const double complex s = m->other[v + size * o];
                    if (o == c) continue;
                    x += conj(s) * m->image[v + size * o];
                    norm += creal(s * conj(s));
                }
                if (!(norm > 0)) continue;
                const double complex y = m->other[v + size * c] * x / norm;
                product += conj(y) * m->image[v + size * c];
                energy += creal(y * conj(y));
            }
            const double complex factor = energy > 0 ? product / energy : 1;
            for (int64_t v = 0; v < size; v++) m->other[v + size * c] *= factor;
        }
    try_maps(m, "the maps times another factor for each coil", found);
}

static void compare(const comparison *m, larmor_description *found)
{
    found->misfit = found->better = misfit_of(m, m->maps);
    if (found->misfit < noticeable) return;
    try_moved(m, found);
    try_transposed(m, found);
    try_orders(m, found);
    try_factors(m, found);
    found->is_clear = found->better < clear_part * found->misfit && found->better < most_left;
    if (found->is_clear) return;
    const double left = pow(found->misfit, 2), least = unexplained(m);
    if (left < contradicted + over_neighbours * least) return;
    found->is_clear = 1;
    found->better = sqrt(least);
    snprintf(found->name, sizeof found->name, "maps from the data");
}

/* ---- the call ---- */

/* 1 if an image of the region is smeared over so much of the field of view that it is no coil's any more. */
static int is_too_coarse(larmor_shape region, larmor_shape maps)
{
    int coarse = 0;
    for (int d = 0; d < maps.ndim - 1; d++) coarse |= region.dim[d] < LEAST_SIDE && region.dim[d] < maps.dim[d];
    return coarse;
}

static larmor_status check_shapes(const larmor_array *region, const larmor_array *maps)
{
    const larmor_shape a = larmor_array_shape(region), b = larmor_array_shape(maps);
    int fit = a.ndim == b.ndim && (a.ndim == 3 || a.ndim == 4) && a.dim[a.ndim - 1] == b.dim[b.ndim - 1];
    if (fit) return LARMOR_OK;
    return LMR_FAIL(
        LARMOR_ERR_SHAPE,
        "maps: the region is %s and the maps are %s, expected [x, y(, z), coils] of both, for as many coils",
        lmr_describe(region).s, lmr_describe(maps).s);
}

larmor_status larmor_compare_maps(const larmor_array *region, const double fov[3], const larmor_array *maps,
                                  larmor_description *found)
{
    LMR_NEED(region, fov, maps, found);
    *found = (larmor_description){.reach = 0};
    LMR_TRY(check_shapes(region, maps));
    if (is_too_coarse(larmor_array_shape(region), larmor_array_shape(maps))) return LARMOR_OK;
    const larmor_shape shape = larmor_array_shape(maps), centre = larmor_array_shape(region);
    LMR_FREED_BY(free_comparison)
    comparison m = {.nd = shape.ndim - 1, .coils = shape.dim[shape.ndim - 1], .side = {1, 1, 1}, .voxels = 1};
    for (int d = 0; d < m.nd; d++) {
        const int64_t most = m.nd > 2 ? SIDE_3D : SIDE;
        m.side[d] = shape.dim[d] < most ? shape.dim[d] : most;
        m.voxels *= m.side[d];
    }
    LMR_OWN_MEMORY(double complex, data, larmor_array_download(region, LARMOR_C128, &data));
    LMR_OWN_MEMORY(double complex, all, larmor_array_download(maps, LARMOR_C128, &all));
    m.image = transform(data, centre, fov, &m);
    if (!m.image) return LMR_NO_MEMORY();
    LMR_ALLOCATE(m.maps, m.voxels * m.coils);
    LMR_ALLOCATE(m.other, m.voxels * m.coils);
    thin_out(all, shape, &m);
    found->reach = (double)centre.dim[0] / 2;
    if (m.coils > 1) compare(&m, found);
    return LARMOR_OK;
}
