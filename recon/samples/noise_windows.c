/* The level of the noise of lines on a grid, from windows of k-space. Of the object the windows span few dimensions
 * (Uecker et al., Magn. Reson. Med. 71, 990 (2014)): with G their Gram matrix and e one of their samples, v = G^-1 e
 * is a combination of samples that has next to nothing of the object, and v^H G v / |v|^2 the power of the noise.
 * SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "recon/inputs.h"
#include "recon/lapack.h"

/* Sides of windows of several coils, which predict one another, and of one. Tuned with the numbers below on ellipses
 * of 24 x 24 to 64 x 64 voxels, 1, 2 and 6 coils (docs/records/noise.md). */
/* Each image of a series is asked: so many coils at most, some of them where there are more. */
enum { SIDE = 5, SIDE_OF_ONE = 7, TOGETHER = 4, MOST_COILS = 2 * TOGETHER };
enum { MOST_WINDOWS = 900, LEAST_OVER_COLUMNS = 2, WELL_OVER_COLUMNS = 3 };

/* Windows beyond this part of the largest coordinates are taken, or further in by this step at a time, where signal
 * is least. */
#define OUTER_PART 0.9
#define OUTER_STEP 0.1

#define MAX_UNEVEN 1e-3 /* of a step: places that are on the grid but for rounding */

typedef struct line {
    double across[2]; /* coordinates that do not change along it */
    double from;      /* its lowest coordinate along the axis */
    int64_t first;    /* that sample */
    int back;         /* 1: later samples come before it */
} line;

typedef struct grid {
    const double *k;
    int nd, axis;
    int64_t n, count; /* samples of a line, lines, by their place */
    double step, apart;
    line *line;
} grid;

static int by_place(const void *left, const void *right)
{
    const line *a = left, *b = right;
    for (int d = 1; d >= 0; d--)
        if (a->across[d] != b->across[d]) return a->across[d] < b->across[d] ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* 1 if readout r goes along the axis at the grid's step. */
static int is_line(const grid *g, int64_t r, line *found)
{
    const double *k = g->k + g->nd * g->n * r;
    const double step = k[g->nd + g->axis] - k[g->axis];
    int other = 0;
    if (fabs(fabs(step) - g->step) > MAX_UNEVEN * g->step) return 0;
    for (int64_t i = 0; i < g->n; i++)
        for (int d = 0; d < g->nd; d++) {
            const double to = d == g->axis ? step * (double)i : 0;
            if (fabs(k[g->nd * i + d] - k[d] - to) > MAX_UNEVEN * g->step) return 0;
        }
    *found = (line){.first = g->n * r + (step < 0 ? g->n - 1 : 0), .back = step < 0};
    found->from = g->k[g->nd * found->first + g->axis];
    for (int d = 0; d < g->nd; d++)
        if (d != g->axis) found->across[other++] = k[d];
    return 1;
}

/* The lines, each place once, and the least distance between them. */
static larmor_status find_lines(int64_t readouts, grid *g)
{
    int64_t kept = 0;
    LMR_ALLOCATE(g->line, readouts);
    for (int d = 0; d < g->nd; d++)
        if (fabs(g->k[g->nd + d] - g->k[d]) > g->step) {
            g->step = fabs(g->k[g->nd + d] - g->k[d]);
            g->axis = d;
        }
    for (int64_t r = 0; r < readouts && g->step > 0; r++) g->count += is_line(g, r, &g->line[g->count]);
    qsort(g->line, (size_t)g->count, sizeof *g->line, by_place);
    g->apart = INFINITY;
    for (int64_t i = 0; i < g->count; i++) {
        const line *now = &g->line[i];
        const line *before = kept ? &g->line[kept - 1] : now;
        const double gap = kept ? now->across[0] - before->across[0] : INFINITY;
        if (kept && now->across[1] == before->across[1]) {
            if (gap < MAX_UNEVEN) continue;
            g->apart = fmin(g->apart, gap);
        }
        g->line[kept++] = *now;
    }
    g->count = kept;
    return LARMOR_OK;
}

/* 1 if so many lines from number i on are beside each other, and sample for sample. */
static int are_beside(const grid *g, int64_t i, int side)
{
    const line *first = &g->line[i];
    if (i + side > g->count) return 0;
    for (int j = 1; j < side; j++) {
        const line *l = first + j;
        if (l->across[1] != first->across[1] || l->from != first->from) return 0;
        if (fabs(l->across[0] - first->across[0] - g->apart * j) > MAX_UNEVEN * g->apart) return 0;
    }
    return 1;
}

typedef struct windows {
    int side;
    int64_t count, step; /* every so many of those within the limit are taken */
    double most[3], limit;
    int64_t *at; /* [side^2, count] samples; NULL: they are counted */
} windows;

/* The place of a window's middle, over the largest one. */
static double distance(const windows *w, double along, const line *middle)
{
    const double at[3] = {along, middle->across[0], middle->across[1]};
    double most = 0;
    for (int d = 0; d < 3; d++)
        if (w->most[d] > 0) most = fmax(most, fabs(at[d]) / w->most[d]);
    return most;
}

static void find_windows(const grid *g, windows *w)
{
    const int side = w->side;
    int64_t number = 0;
    w->count = 0;
    for (int64_t i = 0; i < g->count; i++) {
        if (!are_beside(g, i, side)) continue;
        for (int64_t x = 0; x + side <= g->n; x++) {
            const double along = g->line[i].from + g->step * (double)(x + side / 2);
            if (distance(w, along, &g->line[i + side / 2]) < w->limit || number++ % w->step) continue;
            for (int j = 0; j < side * side && w->at; j++) {
                const line *l = &g->line[i + j / side];
                w->at[j + (int64_t)side * side * w->count] = l->first + (l->back ? -1 : 1) * (x + j % side);
            }
            w->count++;
        }
    }
}

/* Those farthest from the centre, as many as are enough. */
static larmor_status choose_windows(const grid *g, windows *w)
{
    w->step = 1;
    for (int64_t i = 0; i < g->count; i++) {
        const line *l = &g->line[i];
        w->most[0] = fmax(w->most[0], fmax(fabs(l->from), fabs(l->from + g->step * (double)(g->n - 1))));
        for (int d = 0; d < 2; d++) w->most[1 + d] = fmax(w->most[1 + d], fabs(l->across[d]));
    }
    for (double part = OUTER_PART; part > -OUTER_STEP / 2 && w->count < MOST_WINDOWS; part -= OUTER_STEP) {
        w->limit = part;
        find_windows(g, w);
    }
    w->step = 1 + w->count / (MOST_WINDOWS + 1);
    LMR_ALLOCATE(w->at, w->side * w->side * w->count + 1);
    find_windows(g, w);
    return LARMOR_OK;
}

/* y: [side^2, windows, coils] */
static larmor_status gather(const windows *w, larmor_array *kspace, float complex **y)
{
    const lmr_recon_kernels *kernels;
    const larmor_shape shape = larmor_array_shape(kspace);
    const int64_t m = w->side * w->side * w->count, coils = shape.dim[2];
    LMR_OWNED(larmor_array) *index = NULL, *ones = NULL, *values = NULL;
    LMR_TRY(lmr_recon_kernels_of(kspace->dev, kspace->dtype, &kernels));
    LMR_TRY(larmor_array_upload(kspace->dev, LARMOR_I64, LARMOR_SHAPE(m), LARMOR_I64, w->at, &index));
    LMR_TRY(larmor_array_create(kspace->dev, LARMOR_F64, LARMOR_SHAPE(m), &ones));
    LMR_TRY(larmor_fill(ones, 1));
    LMR_TRY(larmor_array_create(kspace->dev, kspace->dtype, LARMOR_SHAPE(m, coils), &values));
    LMR_TRY(kernels->gather(kspace->dev->ctx, shape.dim[0] * shape.dim[1], m, coils, index->data, ones->data,
                            kspace->data, values->data));
    return larmor_array_download(values, LARMOR_C64, y);
}

/* The root mean square of each coil's samples, by which they are divided: what predicts others costs as much noise in
 * each of them. */
static void find_scales(const windows *w, const float complex *y, int64_t coils, double *scale)
{
    const int64_t all = w->side * w->side * w->count;
    for (int64_t c = 0; c < coils; c++) {
        double sum = 0;
        for (int64_t i = 0; i < all; i++) sum += pow(cabs((double complex)y[i + all * c]), 2);
        scale[c] = sum > 0 ? sqrt(sum / (double)all) : 1;
    }
}

/* to[0 .. j] <- to + one[0 .. j] conj(one[j]), without the questions for infinity of C's product. */
static void add_product(const double complex *one, int64_t j, double complex *to)
{
    const double re = creal(one[j]), im = cimag(one[j]);
    for (int64_t i = 0; i <= j; i++) {
        const double a = creal(one[i]), b = cimag(one[i]);
        to[i] += CMPLX(a * re + b * im, b * re - a * im);
    }
}

/* G [columns, columns], its upper triangle, of a window's samples of some coils from the first on; windows that were
 * filled up with zeros are left out. */
static int64_t add_windows(const windows *w, const float complex *y, int64_t coils, const double *scale,
                           double complex *G, double complex *one)
{
    const int64_t of_coil = w->side * w->side, columns = of_coil * coils;
    int64_t used = 0;
    for (int64_t n = 0; n < w->count; n++) {
        int empty = 0;
        for (int64_t j = 0; j < columns; j++) {
            one[j] = (double complex)y[j % of_coil + of_coil * (n + w->count * (j / of_coil))] / scale[j / of_coil];
            empty |= one[j] == 0;
        }
        if (empty) continue;
        for (int64_t j = 0; j < columns; j++) add_product(one, j, G + columns * j);
        used++;
    }
    return used;
}

/* power[0 .. coils-1] <- of the noise of coils that are looked at together; infinite where it is not to be had. */
static larmor_status powers_of(const windows *w, const float complex *y, int64_t coils, double *power)
{
    const int64_t of_coil = w->side * w->side, columns = of_coil * coils;
    int solved = 0;
    LMR_HEAP LMR_NEW_ZEROS(double complex, G, columns *columns);
    LMR_HEAP LMR_NEW(double complex, one, columns);
    double scale[TOGETHER];
    find_scales(w, y, coils, scale);
    const int64_t used = add_windows(w, y, coils, scale, G, one);
    for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < j; i++) G[j + columns * i] = conj(G[i + columns * j]);
    if (used >= LEAST_OVER_COLUMNS * columns) LMR_TRY(lmr_lapack_inverse(columns, G, &solved));
    for (int64_t c = 0; c < coils; c++) {
        const int64_t middle = of_coil * c + of_coil / 2;
        const double complex *v = G + columns * middle;
        double square = 0;
        for (int64_t i = 0; i < columns; i++) square += pow(cabs(v[i]), 2);
        power[c] = solved && creal(v[middle]) > 0
                       ? pow(scale[c], 2) * creal(v[middle]) / square / (double)(used - columns)
                       : INFINITY;
    }
    return LARMOR_OK;
}

LMR_FREES(free_grid, grid, line)

LMR_FREES(free_windows, windows, at)

/* of_coil: NULL where some coils are enough. */
static larmor_status level_of(larmor_array *kspace, grid *g, double *deviation, double *of_coil)
{
    const int64_t coils = kspace->shape.dim[2];
    const int64_t looked_at = of_coil || coils < MOST_COILS ? coils : MOST_COILS;
    int64_t together = coils < TOGETHER ? coils : TOGETHER;
    LMR_FREED_BY(free_windows) windows w = {.side = coils > 1 ? SIDE : SIDE_OF_ONE};
    double power[TOGETHER], sum = 0;
    int64_t count = 0;
    if (g->nd < 2 || g->nd > 3 || g->n < w.side) return LARMOR_OK;
    LMR_TRY(find_lines(kspace->shape.dim[1], g));
    if (g->count < w.side) return LARMOR_OK;
    LMR_TRY(choose_windows(g, &w));
    while (together > 2 && w.count < WELL_OVER_COLUMNS * w.side * w.side * together) together--;
    if (w.count < LEAST_OVER_COLUMNS * w.side * w.side * together) return LARMOR_OK;
    LMR_OWN_MEMORY(float complex, y, gather(&w, kspace, &y));
    for (int64_t c = 0; c < looked_at; c += together) {
        const int64_t first = c + together >= looked_at ? coils - together : c;
        LMR_TRY(lmr_go_on());
        LMR_TRY(powers_of(&w, y + w.side * w.side * w.count * first, together, power));
        for (int64_t j = 0; j < together; j++) sum += power[j];
        for (int64_t j = 0; j < together && of_coil; j++) of_coil[first + j] = sqrt(power[j] / 2);
        count += together;
    }
    *deviation = isfinite(sum) ? sqrt(sum / (double)count / 2) : 0;
    return LARMOR_OK;
}

larmor_status larmor_noise_of_lines(larmor_array *kspace, const larmor_array *traj, double *deviation,
                                    double *of_coil)
{
    LMR_NEED(deviation);
    *deviation = 0;
    LMR_TRY(lmr_expect_readouts("noise of lines", kspace, traj));
    if (kspace->dev->whole || kspace->shape.dim[2] < 1 || kspace->shape.dim[1] < 1)
        return LARMOR_OK; /* lines of other ranks are not at hand */
    LMR_OWN_MEMORY(double, k, larmor_array_download(traj, LARMOR_F64, &k));
    LMR_FREED_BY(free_grid)
    grid g = {.k = k, .nd = (int)traj->shape.dim[0], .n = kspace->shape.dim[0]};
    return level_of(kspace, &g, deviation, of_coil);
}
