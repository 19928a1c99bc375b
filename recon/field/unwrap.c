/* Phase unwrapping in space: neighbours are joined in the order of reliability, along a path that need not be
 * continuous (Herraez et al., Appl. Opt. 41, 7437 (2002); Abdul-Rahman et al., Appl. Opt. 46, 6623 (2007)).
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/field/unwrap.h"

#include "core/core.h"

typedef struct edge {
    double reliability;
    int64_t from; /* a voxel, and the axis to its neighbour, as 3 voxel + axis */
} edge;

typedef struct forest {
    int64_t *parent;
    int32_t *shift; /* cycles from the parent */
} forest;

static double wrapped(double cycles)
{
    return cycles - rint(cycles);
}

/* The root of voxel i, and the cycles from it to the voxel. Every voxel on the way becomes the root's child. */
static int64_t root_of(forest *f, int64_t i, int32_t *shift)
{
    int64_t root = i;
    int32_t sum = 0;
    for (; f->parent[root] != root; root = f->parent[root]) sum += f->shift[root];
    *shift = sum;
    while (f->parent[i] != root && i != root) {
        const int64_t next = f->parent[i];
        const int32_t own = f->shift[i];
        f->parent[i] = root;
        f->shift[i] = sum;
        sum -= own;
        i = next;
    }
    return root;
}

/* High where the phase is straight: weight over the square of the second differences. Where a neighbour is missing
 * these count as half a cycle. */
static double reliability(const int64_t dim[3], const int64_t at[3], const int64_t step[3], const double *weight,
                          const double *cycles, int64_t i)
{
    double square = 1e-6;
    for (int d = 0; d < 3; d++) {
        if (dim[d] < 2) continue;
        const int has = at[d] > 0 && at[d] + 1 < dim[d] && weight[i - step[d]] > 0 && weight[i + step[d]] > 0;
        double second = 0.5;
        if (has) second = wrapped(cycles[i - step[d]] - cycles[i]) - wrapped(cycles[i] - cycles[i + step[d]]);
        square += second * second;
    }
    return weight[i] / square;
}

static int most_reliable_first(const void *a_, const void *b_)
{
    const edge *a = a_, *b = b_;
    if (a->reliability != b->reliability) return a->reliability < b->reliability ? 1 : -1;
    return a->from < b->from ? -1 : a->from > b->from;
}

/* All pairs of neighbours in the object. */
static int64_t list_edges(const int64_t dim[3], const int64_t step[3], const double *weight, const double *cycles,
                          double *of_voxel, edge *list)
{
    const int64_t count = dim[0] * dim[1] * dim[2];
    int64_t edges = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t at[3] = {i % dim[0], i / dim[0] % dim[1], i / dim[0] / dim[1]};
        of_voxel[i] = weight[i] > 0 ? reliability(dim, at, step, weight, cycles, i) : 0;
    }
    for (int64_t i = 0; i < count; i++) {
        const int64_t at[3] = {i % dim[0], i / dim[0] % dim[1], i / dim[0] / dim[1]};
        if (!(weight[i] > 0)) continue;
        for (int d = 0; d < 3; d++) {
            if (at[d] + 1 >= dim[d] || !(weight[i + step[d]] > 0)) continue;
            list[edges].reliability = of_voxel[i] + of_voxel[i + step[d]];
            list[edges++].from = 3 * i + d;
        }
    }
    return edges;
}

static void join(forest *f, const double *cycles, int64_t a, int64_t b)
{
    int32_t from, to;
    const int64_t first = root_of(f, a, &from), second = root_of(f, b, &to);
    if (first == second) return;
    f->parent[second] = first;
    f->shift[second] = (int32_t)rint(cycles[a] + from - cycles[b] - to);
}

typedef struct part {
    int64_t size, root;
} part;

static int largest_first(const void *a_, const void *b_)
{
    const part *a = a_, *b = b_;
    if (a->size != b->size) return a->size < b->size ? 1 : -1;
    return a->root < b->root ? -1 : a->root > b->root;
}

/* Numbers for the trees, and the cycles of all voxels from their roots. */
static larmor_status number_regions(forest *f, int64_t count, const double *weight, double *cycles, int32_t *region,
                                    int *regions)
{
    int64_t trees = 0;
    for (int64_t i = 0; i < count; i++) trees += weight[i] > 0 && f->parent[i] == i;
    LMR_HEAP LMR_NEW_ZEROS(part, parts, trees + 1);
    if (trees > INT32_MAX) return LMR_NO_MEMORY();
    trees = 0;
    for (int64_t i = 0; i < count; i++) {
        region[i] = -1;
        if (!(weight[i] > 0) || f->parent[i] != i) continue;
        region[i] = (int32_t)trees;
        parts[trees++].root = i;
    }
    for (int64_t i = 0; i < count; i++) {
        int32_t shift;
        if (!(weight[i] > 0)) continue;
        const int64_t root = root_of(f, i, &shift);
        cycles[i] += shift;
        parts[region[root]].size++;
    }
    qsort(parts, (size_t)trees, sizeof *parts, largest_first);
    for (int64_t t = 0; t < trees; t++) region[parts[t].root] = (int32_t)t;
    for (int64_t i = 0; i < count; i++) {
        int32_t shift;
        if (weight[i] > 0) region[i] = region[root_of(f, i, &shift)];
    }
    *regions = (int)trees;
    return LARMOR_OK;
}

larmor_status lmr_unwrap(const int64_t dim[3], const double *weight, double *cycles, int32_t *region, int *regions)
{
    const int64_t count = dim[0] * dim[1] * dim[2], step[3] = {1, dim[0], dim[0] * dim[1]};
    int64_t inside = 0;
    for (int64_t i = 0; i < count; i++) inside += weight[i] > 0;
    LMR_HEAP LMR_NEW(edge, list, 3 * inside);
    LMR_HEAP LMR_NEW(double, of_voxel, count);
    LMR_HEAP LMR_NEW(int64_t, parent, count);
    LMR_HEAP LMR_NEW_ZEROS(int32_t, shift, count);
    forest f = {.parent = parent, .shift = shift};
    for (int64_t i = 0; i < count; i++) f.parent[i] = i;
    const int64_t edges = list_edges(dim, step, weight, cycles, of_voxel, list);
    qsort(list, (size_t)edges, sizeof *list, most_reliable_first);
    for (int64_t e = 0; e < edges; e++) {
        const int64_t i = list[e].from / 3;
        join(&f, cycles, i, i + step[list[e].from % 3]);
    }
    return number_regions(&f, count, weight, cycles, region, regions);
}
