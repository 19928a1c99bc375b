/* Readouts whose trajectories are nearly the same. SPDX-License-Identifier: Apache-2.0 */
#include "core/core.h"
#include "recon/choose/choose.h"

enum { MOST_COMPARED = 256 }; /* readouts that one is compared with: the rest of a crowd is taken to differ */

typedef struct table { /* of readouts that came first, by the cell in which one of their samples is */
    const double *k;   /* [nd, samples, ways, readouts] */
    int nd, ways;
    int64_t samples, at; /* at: of a readout's samples, the one that cells are of */
    double side;
    int64_t *first, *next; /* [size] and [readouts]: chains of readouts whose cells have one number; -1: the end */
    int64_t size;
} table;

static const double *readout_of(const table *t, int64_t readout, int way)
{
    return t->k + (readout * t->ways + way) * t->samples * t->nd;
}

/* The sample that is the farthest from the centre of k-space, for all readouts together. */
static int64_t find_outermost(const table *t, int64_t readouts)
{
    int64_t outermost = 0;
    double largest = -1;
    for (int64_t i = 0; i < t->samples; i++) {
        double sum = 0;
        for (int64_t r = 0; r < readouts; r++)
            for (int d = 0; d < t->nd; d++) sum += pow(readout_of(t, r, 0)[i * t->nd + d], 2);
        if (!(sum > largest)) continue;
        largest = sum;
        outermost = i;
    }
    return outermost;
}

/* The chain of the cell that a readout is in, or of one beside it: cells are 2 side wide, so that along each
 * dimension what lies within side is in that cell and in the nearer one of those beside it. */
static int64_t *chain_of(const table *t, int64_t readout, int way, const int beside[3])
{
    const double *k = readout_of(t, readout, way) + t->at * t->nd;
    uint64_t number = 0;
    for (int d = 0; d < t->nd; d++) {
        const double at = k[d] / (2 * t->side), cell = floor(at);
        const int nearer = at - cell < 0.5 ? -1 : 1;
        number = lmr_random_bits(number, (uint64_t)(int64_t)(cell + nearer * beside[d]));
    }
    return &t->first[number % (uint64_t)t->size];
}

static int is_near(const table *t, int64_t a, int way, int64_t b)
{
    const double *p = readout_of(t, a, way), *q = readout_of(t, b, 0);
    for (int64_t i = 0; i < t->samples; i++) {
        double square = 0;
        for (int d = 0; d < t->nd; d++) square += pow(p[i * t->nd + d] - q[i * t->nd + d], 2);
        if (!(square <= t->side * t->side)) return 0;
    }
    return 1;
}

/* The first readout in the cells around that of this one, taken in a way, which is near it; itself where there is
 * none. */
static int64_t find_first(const table *t, int64_t readout, int way)
{
    const int cells = t->nd == 3 ? 8 : 4;
    for (int c = 0, compared = 0; c < cells; c++) {
        const int beside[3] = {c % 2, c / 2 % 2, c / 4};
        for (int64_t other = *chain_of(t, readout, way, beside); other >= 0; other = t->next[other]) {
            if (is_near(t, readout, way, other)) return other;
            if (++compared == MOST_COMPARED) return readout;
        }
    }
    return readout;
}

larmor_status lmr_find_repeats(const double *k, int nd, int64_t samples, int ways, int64_t readouts, double side,
                               int64_t most, int64_t *first, int *way, int64_t *distinct)
{
    static const int own[3];
    table t = {.k = k, .nd = nd, .ways = ways, .samples = samples, .side = side, .size = 2 * readouts + 1};
    LMR_HEAP LMR_NEW(int64_t, chains, t.size);
    LMR_HEAP LMR_NEW(int64_t, next, readouts);
    t.at = find_outermost(&t, readouts);
    t.first = chains;
    t.next = next;
    for (int64_t i = 0; i < t.size; i++) chains[i] = -1;
    *distinct = 0;
    for (int64_t r = 0; r < readouts && *distinct <= most; r++) {
        first[r] = r;
        for (way[r] = 0; way[r] < ways && first[r] == r; way[r]++) first[r] = find_first(&t, r, way[r]);
        way[r] = first[r] == r ? 0 : way[r] - 1;
        if (first[r] != r) continue;
        ++*distinct;
        int64_t *chain = chain_of(&t, r, 0, own);
        next[r] = *chain;
        *chain = r;
    }
    return LARMOR_OK;
}
