/* One coil against the others: whether its samples fit them better conjugated. SPDX-License-Identifier: Apache-2.0 */
#include "core/owned.h"
#include "larmor/describe.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "recon/describe/windows.h"
#include "recon/inputs.h"

enum { KERNEL = 4, SOLID_KERNEL = 3, TOGETHER = 3, LEAST_SIDE = 10, EVERY = 2 }; /* EVERY: place along x */
enum { ROWS = TOGETHER * SOLID_KERNEL * SOLID_KERNEL * SOLID_KERNEL };

/* Of the mean logarithm of an eigenvalue: right scans of two coils had up to 0.47, of eight 0.41; faulty ones 0.8
 * to 1.9, and less where they are noisy, which is not told from those. */
static const double clear_gain = 0.6;
static const double least_energy = 0.02; /* of the strongest coil's; not measured */

typedef struct region {
    int nd;
    int64_t side[3], points, coils;
    double complex *x;    /* [points, coils] */
    double *energy;       /* [coils] */
    double complex *gram; /* [ROWS, ROWS], scratch: too much for a small stack */
} region;

/* Adds the Gram matrix (its lower triangle) of windows of the first coil, conjugated or not, and of the others
 * with it. */
static double spread_of(const region *r, const int64_t coil[TOGETHER], int count, int conjugate)
{
    const int64_t K = r->nd > 2 ? SOLID_KERNEL : KERNEL;
    const int64_t deep = r->nd > 2 ? K : 1;
    const int64_t size = K * K * deep;
    const int64_t rows = size * count;
    double complex row[ROWS];
    memset(r->gram, 0, (size_t)(rows * rows) * sizeof *r->gram);
    for (int64_t z = 0; z + deep <= r->side[2]; z++)
        for (int64_t y = 0; y + K <= r->side[1]; y++)
            for (int64_t x = 0; x + K <= r->side[0]; x += EVERY) {
                for (int64_t i = 0; i < rows; i++) {
                    const int64_t of = i % size, at[3] = {x + of % K, y + of / K % K, z + of / K / K};
                    const double complex v =
                        r->x[at[0] + r->side[0] * (at[1] + r->side[1] * at[2]) + r->points * coil[i / size]];
                    row[i] = i < size && conjugate ? conj(v) : v;
                }
                for (int64_t j = 0; j < rows; j++)
                    for (int64_t i = j; i < rows; i++) r->gram[i + rows * j] += row[i] * conj(row[j]);
            }
    return lmr_windows_spread(r->gram, rows);
}

/* The strongest coils beside one. */
static int company(const region *r, int64_t coil, int64_t with[TOGETHER])
{
    int count = 1;
    with[0] = coil;
    while (count < TOGETHER) {
        int64_t best = -1;
        for (int64_t c = 0; c < r->coils; c++) {
            int taken = 0;
            for (int i = 0; i < count; i++) taken |= with[i] == c;
            if (!taken && r->energy[c] > 0 && (best < 0 || r->energy[c] > r->energy[best])) best = c;
        }
        if (best < 0) break;
        with[count++] = best;
    }
    return count;
}

static void compare(const region *r, larmor_description *found)
{
    double most = 0, least = INFINITY;
    for (int64_t c = 0; c < r->coils; c++) most = fmax(most, r->energy[c]);
    for (int64_t c = 0; c < r->coils; c++) {
        int64_t with[TOGETHER];
        const int count = company(r, c, with);
        if (count < 2 || r->energy[c] < least_energy * most) continue;
        const double own = spread_of(r, with, count, 0), other = spread_of(r, with, count, 1);
        if (other - own >= least) continue;
        least = other - own;
        found->misfit = own;
        found->better = other;
        snprintf(found->name, sizeof found->name, "the samples of coil %lld (from 0) conjugated", (long long)c);
    }
    found->is_clear = found->misfit - found->better > clear_gain;
}

larmor_status larmor_compare_coils(const larmor_array *kspace, larmor_description *found)
{
    larmor_status st;
    LMR_NEED(kspace, found);
    *found = (larmor_description){.reach = 0};
    const larmor_shape shape = larmor_array_shape(kspace);
    if (shape.ndim != 3 && shape.ndim != 4)
        return LMR_FAIL(LARMOR_ERR_SHAPE, "coils: the region is %s, expected [x, y(, z), coils]",
                        lmr_describe(kspace).s);
    region r = {.nd = shape.ndim - 1, .side = {1, 1, 1}, .points = 1, .coils = shape.dim[shape.ndim - 1]};
    int64_t least = shape.dim[0];
    for (int d = 0; d < r.nd; d++) {
        r.side[d] = shape.dim[d];
        r.points *= shape.dim[d];
        if (shape.dim[d] < least) least = shape.dim[d];
    }
    if (least < LEAST_SIDE || r.coils < TOGETHER) return LARMOR_OK;
    r.energy = lmr_new(r.coils, sizeof *r.energy);
    r.gram = lmr_new(ROWS * ROWS, sizeof *r.gram);
    if (!r.energy || !r.gram) LMR_OR(done, LMR_NO_MEMORY());
    LMR_OR(done, larmor_array_download(kspace, LARMOR_C128, (void *)&r.x));
    for (int64_t c = 0; c < r.coils; c++) {
        r.energy[c] = 0;
        for (int64_t i = 0; i < r.points; i++) r.energy[c] += pow(cabs(r.x[i + r.points * c]), 2);
    }
    found->reach = (double)least / 2;
    compare(&r, found);
done:
    LMR_FREE(r.x, r.energy, r.gram);
    return st;
}
