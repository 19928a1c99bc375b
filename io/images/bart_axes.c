/* Which of BART's 16 axes an image's counters are. SPDX-License-Identifier: Apache-2.0 */
#include "io/images/bart_axes.h"
#include "core/core.h"

enum { SPACE = 3, ECHO = 5, TIME = 10, PHASE = 11, SLICE = 13, AVERAGE = 14, BATCH = 15 };

int lmr_is_bart_series(int axes, const int64_t *dim)
{
    for (int d = SPACE; d < axes; d++)
        if (dim[d] > 1 && d != ECHO && d != TIME && d != PHASE && d != SLICE && d != AVERAGE && d != BATCH) return 0;
    return 1;
}

void lmr_bart_counters(int axes, const int64_t *dim, int64_t i, larmor_image_meta *meta)
{
    for (int d = SPACE; d < axes; d++) {
        const int here = (int)(i % dim[d]);
        i /= dim[d];
        if (d == ECHO) meta->contrast = here;
        if (d == TIME) meta->repetition = here;
        if (d == PHASE) meta->phase = here;
        if (d == AVERAGE) meta->average = here;
        if (d == BATCH) meta->set = here;
        if (d != SLICE) continue;
        meta->slice = here;
        meta->position_mm[2] = (double)(here - dim[d] / 2);
    }
}

/* ---- writing ---- */

typedef struct axis { /* one counter of all images */
    int which;        /* axis of BART */
    int *value;       /* [images] then the rank among those that occur */
    int64_t distinct;
} axis;

static int ascending(const void *left, const void *right)
{
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Values become ranks. */
static larmor_status rank(axis *a, int count)
{
    LMR_NEW(int, sorted, count);
    for (int i = 0; i < count; i++) sorted[i] = a->value[i];
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    a->distinct = 0;
    for (int i = 0; i < count; i++)
        if (!i || sorted[i] != sorted[a->distinct - 1]) sorted[a->distinct++] = sorted[i];
    for (int i = 0; i < count; i++) {
        const int *found = bsearch(&a->value[i], sorted, (size_t)a->distinct, sizeof *sorted, ascending);
        a->value[i] = (int)(found - sorted);
    }
    free(sorted);
    return LARMOR_OK;
}

/* The places by the ranks; 0 if they are not those of a full grid. */
static int fill_grid(const axis *axes, int number, int count, int *place)
{
    int64_t all = 1;
    for (int a = 0; a < number; a++) {
        if (axes[a].distinct > count / all) return 0;
        all *= axes[a].distinct;
    }
    if (all != count) return 0;
    LMR_HEAP unsigned char *taken = calloc((size_t)count, 1);
    int full = taken != NULL;
    for (int i = 0; i < count && full; i++) {
        int64_t at = 0, step = 1;
        for (int a = 0; a < number; a++) {
            at += axes[a].value[i] * step;
            step *= axes[a].distinct;
        }
        place[i] = (int)at;
        full = !taken[at];
        taken[at] = 1;
    }
    return full;
}

larmor_status lmr_bart_axes(const lmr_images *images, int64_t *dim, int *place)
{
    enum { COUNTERS = 6 };
    static const int which[COUNTERS] = {ECHO, TIME, PHASE, SLICE, AVERAGE, BATCH};
    const int count = images->count;
    axis axes[COUNTERS];
    LMR_FREED_BY(lmr_volumes_free) lmr_volumes v = {.order = NULL};
    LMR_HEAP LMR_NEW(int, values, COUNTERS *(int64_t)count);
    LMR_TRY(lmr_order(images, &v));
    for (int i = 0; i < count; i++) {
        const int here = v.order[i];
        const larmor_image_meta *m = &images->image[here].meta;
        const int counter[COUNTERS] = {m->contrast, m->repetition, m->phase, i % v.slices, m->average, m->set};
        for (int a = 0; a < COUNTERS; a++) values[a * count + here] = counter[a];
    }
    for (int a = 0; a < COUNTERS; a++) {
        axes[a] = (axis){.which = which[a], .value = values + (size_t)a * (size_t)count};
        LMR_TRY(rank(&axes[a], count));
    }
    for (int d = 0; d < LMR_BART_AXES; d++) dim[d] = d < SPACE ? images->dim[d] : 1;
    if (fill_grid(axes, COUNTERS, count, place)) {
        for (int a = 0; a < COUNTERS; a++) dim[axes[a].which] = axes[a].distinct;
    } else { /* other counters, or none: slices of volumes, which follow each other in time */
        dim[TIME] = v.volumes;
        dim[SLICE] = v.slices;
        for (int i = 0; i < count; i++) place[v.order[i]] = i / v.slices + i % v.slices * v.volumes;
    }
    return LARMOR_OK;
}
