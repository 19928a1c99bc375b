/* One coil against the others: whether its samples fit them better conjugated. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"

#include <complex.h>
#include <stdatomic.h>

#include "recon/describe/windows.h"
#include "recon/inputs.h"

enum {
    KERNEL = 4,
    SOLID_KERNEL = 3,
    MIN_COILS = 3,
    LEAST_SIDE = 10,
    MOST_SIDE = 24,       /* of the centre that is looked at */
    MOST_SOLID_SIDE = 14, /* the same in 3D */
    EVERY = 2,            /* place along x, in 3D along all axes */
    ROWS = 2 * SOLID_KERNEL * SOLID_KERNEL * SOLID_KERNEL
};

/* Of the mean logarithm of an eigenvalue: right scans of 4 to 32 coils of three phantoms had up to 0.39; faulty ones
 * up to 1.9, and less where they are noisy or nearly symmetric, which is not told from those. */
static const double clear_gain = 0.5;
/* As clear_gain, by which the coil fits worse than the median of the others do: conjugated coils 0.54 to 1.6. Coils
 * placed evenly around an object that is its own mirror image have 0.1 and less, and fit as well conjugated. */
static const double clear_excess = 0.25;
static const double least_energy = 0.02; /* of the strongest coil's; not measured */

typedef struct region {
    int nd;
    int64_t side[3], points, coils;
    double complex *x;        /* [points, coils] */
    double *energy;           /* [coils] */
    int64_t begin, stride[3]; /* where the centre begins among the points, and how many there are along each axis */
    double (*spread)[2];      /* [pairs], as given and conjugated; of coils that are too weak INFINITY */
    double least;             /* energy of a coil that is not too weak */
    atomic_int no_memory;
} region;

LMR_FREES(free_region, region, x, energy, spread)

/* How many dimensions windows of two coils span, the first one's samples conjugated or not. gram [ROWS, ROWS]:
 * scratch, too much for a small stack. */
static double spread_of(const region *r, int64_t coil, int64_t other, int conjugate, double complex *gram)
{
    const int64_t K = r->nd > 2 ? SOLID_KERNEL : KERNEL;
    const int64_t step = r->nd > 2 ? EVERY : 1;
    const int64_t deep = r->nd > 2 ? K : 1;
    const int64_t size = K * K * deep, rows = 2 * size;
    double complex row[ROWS];
    memset(gram, 0, (size_t)(rows * rows) * sizeof *gram);
    for (int64_t z = 0; z + deep <= r->side[2]; z += step)
        for (int64_t y = 0; y + K <= r->side[1]; y += step)
            for (int64_t x = 0; x + K <= r->side[0]; x += EVERY) {
                for (int64_t i = 0; i < rows; i++) {
                    const int64_t of = i % size, at[3] = {x + of % K, y + of / K % K, z + of / K / K};
                    const double complex v = r->x[r->begin + at[0] + r->stride[0] * (at[1] + r->stride[1] * at[2]) +
                                                  r->points * (i < size ? coil : other)];
                    row[i] = i < size && conjugate ? conj(v) : v;
                }
                for (int64_t j = 0; j < rows; j++)
                    for (int64_t i = j; i < rows; i++) gram[i + rows * j] += row[i] * conj(row[j]);
            }
    return lmr_windows_spread(gram, rows);
}

/* Coils `first` > `second` of a pair, counted as (1, 0), (2, 0), (2, 1), ... */
static void coils_of(int64_t pair, int64_t *first, int64_t *second)
{
    *first = 1;
    for (*second = pair; *second >= *first; ++*first) *second -= *first;
}

static void compare_pair(void *self, int64_t pair)
{
    region *r = self;
    int64_t c, other;
    coils_of(pair, &c, &other);
    r->spread[pair][0] = r->spread[pair][1] = INFINITY;
    if (fmin(r->energy[c], r->energy[other]) < r->least) return;
    LMR_HEAP double complex *gram = lmr_new(ROWS * ROWS, sizeof *gram);
    if (!gram) r->no_memory = 1;
    for (int turned = 0; turned < 2 && gram; turned++) r->spread[pair][turned] = spread_of(r, c, other, turned, gram);
}

/* The least spread of each coil beside another one, as it is and conjugated. What is conjugated is the signal of the
 * mirrored object in the mirrored coil: of a nearly symmetric object that of the coil opposite, which is to be
 * compared with that of the coil's neighbours. Conjugating the other one of two does the same. */
static larmor_status compare_pairs(region *r, int threads, double *own, double *conjugated)
{
    const int64_t pairs = r->coils * (r->coils - 1) / 2;
    double most = 0;
    for (int64_t c = 0; c < r->coils; c++) {
        most = fmax(most, r->energy[c]);
        own[c] = conjugated[c] = INFINITY;
    }
    r->least = least_energy * most;
    LMR_TRY(lmr_parallel(threads, pairs, compare_pair, r));
    if (r->no_memory) return LMR_NO_MEMORY();
    for (int64_t pair = 0; pair < pairs; pair++) {
        int64_t of[2];
        coils_of(pair, &of[0], &of[1]);
        for (int i = 0; i < 2; i++) {
            own[of[i]] = fmin(own[of[i]], r->spread[pair][0]);
            conjugated[of[i]] = fmin(conjugated[of[i]], r->spread[pair][1]);
        }
    }
    return LARMOR_OK;
}

/* own[c] beside the median of those of all other coils. */
static larmor_status excess_of(const region *r, const double *own, int64_t c, double *excess)
{
    LMR_HEAP double *others = lmr_new(r->coils, sizeof *others);
    int64_t count = 0;
    if (!others) return LMR_NO_MEMORY();
    for (int64_t other = 0; other < r->coils; other++)
        if (other != c && isfinite(own[other])) others[count++] = own[other];
    *excess = count ? own[c] - lmr_median_f64(others, count) : 0;
    return LARMOR_OK;
}

static larmor_status compare(region *r, int threads, double *own, double *conjugated, larmor_description *found)
{
    double gain = -INFINITY, excess = 0;
    LMR_TRY(compare_pairs(r, threads, own, conjugated));
    for (int64_t c = 0; c < r->coils; c++) {
        if (!isfinite(own[c]) || own[c] - conjugated[c] <= gain) continue;
        LMR_TRY(excess_of(r, own, c, &excess));
        if (excess <= clear_excess) continue;
        gain = own[c] - conjugated[c];
        found->misfit = own[c];
        found->better = conjugated[c];
        snprintf(found->name, sizeof found->name, "the samples of coil %lld (from 0) conjugated", (long long)c);
    }
    found->is_clear = gain > clear_gain;
    return LARMOR_OK;
}

/* The centre of the region. */
static void take_centre(region *r)
{
    const int64_t most = r->nd > 2 ? MOST_SOLID_SIDE : MOST_SIDE;
    int64_t step = 1;
    for (int d = 0; d < r->nd; d++) {
        r->stride[d] = r->side[d];
        if (r->side[d] > most) {
            r->begin += step * (r->side[d] / 2 - most / 2);
            r->side[d] = most;
        }
        step *= r->stride[d];
    }
}

larmor_status larmor_compare_coils(const larmor_array *kspace, larmor_description *found)
{
    LMR_NEED(kspace, found);
    *found = (larmor_description){.reach = 0};
    const larmor_shape shape = larmor_array_shape(kspace);
    LMR_REFUSE(shape.ndim != 3 && shape.ndim != 4, LARMOR_ERR_SHAPE,
               "coils: the region is %s, expected [x, y(, z), coils]", lmr_describe(kspace).s);
    LMR_FREED_BY(free_region)
    region r = {.nd = shape.ndim - 1,
                .side = {1, 1, 1},
                .stride = {1, 1, 1},
                .points = 1,
                .coils = shape.dim[shape.ndim - 1]};
    int64_t least = shape.dim[0];
    for (int d = 0; d < r.nd; d++) {
        r.side[d] = shape.dim[d];
        r.points *= shape.dim[d];
        if (shape.dim[d] < least) least = shape.dim[d];
    }
    if (least < LEAST_SIDE || r.coils < MIN_COILS) return LARMOR_OK;
    LMR_ALLOCATE(r.energy, r.coils);
    LMR_ALLOCATE(r.spread, r.coils * r.coils);
    LMR_HEAP LMR_NEW(double, own, r.coils);
    LMR_HEAP LMR_NEW(double, conjugated, r.coils);
    LMR_TRY(larmor_array_download(kspace, LARMOR_C128, &r.x));
    for (int64_t c = 0; c < r.coils; c++) {
        r.energy[c] = 0;
        for (int64_t i = 0; i < r.points; i++) r.energy[c] += pow(cabs(r.x[i + r.points * c]), 2);
    }
    found->reach = (double)least / 2;
    take_centre(&r);
    return compare(&r, lmr_device_threads(larmor_array_device(kspace)), own, conjugated, found);
}
