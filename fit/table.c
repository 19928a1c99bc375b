/* Properties between the entries of a dictionary, with their deviations. SPDX-License-Identifier: Apache-2.0 */
#include <complex.h>

#include "core/core.h"
#include "fit/fit.h"

typedef double complex cplx;

enum { COLUMNS = LMR_FIT_PARAMETERS - 2, PAIRS = COLUMNS * (COLUMNS - 1) / 2, MOST_STEPS = 60, MOST_MOVES = 30 };

typedef struct job {
    int64_t voxels, entries, times;
    int columns, fails;
    const cplx *d;               /* [entries, times], compressed */
    const double *table;         /* [entries, columns] */
    int64_t *beside[COLUMNS][2]; /* [entries]: the next smaller and larger value of a column; -1 */
    const float complex *x;      /* [voxels, times] */
    const int64_t *entry;        /* [voxels] */
    const float *noises;         /* [voxels]; NULL */
    double noise;
    float *value, *deviation; /* [voxels, columns] */
    float complex *m0;
} job;

/* The signal about an entry: sum of by[c] u_c + twice[c] u_c^2 + both[c, e] u_c u_e. */
typedef struct expansion {
    cplx *at, *by[COLUMNS], *twice[COLUMNS], *both[COLUMNS][COLUMNS];
    double low[COLUMNS], high[COLUMNS]; /* of u */
} expansion;

static void free_job(job *b)
{
    for (int c = 0; c < COLUMNS; c++) LMR_FREE(b->beside[c][0], b->beside[c][1]);
    LMR_FREE(b->value, b->deviation, b->m0);
}

/* ---- the table ---- */

typedef struct row {
    double key[COLUMNS]; /* the other columns, then this one */
    int64_t entry;
} row;

static int compare_rows(const void *a, const void *b)
{
    const row *x = a, *y = b;
    for (int c = 0; c < COLUMNS; c++)
        if (x->key[c] != y->key[c]) return x->key[c] < y->key[c] ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

static int differ_in_last_alone(const row *a, const row *b, int columns)
{
    for (int c = 0; c + 1 < columns; c++)
        if (a->key[c] != b->key[c]) return 0;
    return a->key[columns - 1] < b->key[columns - 1];
}

static larmor_status find_beside(job *b)
{
    LMR_HEAP LMR_NEW_ZEROS(row, rows, b->entries + 1);
    for (int c = 0; c < b->columns; c++) {
        for (int side = 0; side < 2; side++) {
            b->beside[c][side] = lmr_new(b->entries, sizeof **b->beside[c]);
            if (!b->beside[c][side]) return LMR_NO_MEMORY();
            for (int64_t e = 0; e < b->entries; e++) b->beside[c][side][e] = -1;
        }
        for (int64_t e = 0; e < b->entries; e++) {
            rows[e].entry = e;
            for (int k = 0; k < b->columns; k++)
                rows[e].key[k] = b->table[e + b->entries * ((c + 1 + k) % b->columns)];
        }
        qsort(rows, (size_t)b->entries, sizeof *rows, compare_rows);
        for (int64_t i = 1; i < b->entries; i++) {
            if (!differ_in_last_alone(&rows[i - 1], &rows[i], b->columns)) continue;
            b->beside[c][1][rows[i - 1].entry] = rows[i].entry;
            b->beside[c][0][rows[i].entry] = rows[i - 1].entry;
        }
    }
    return LARMOR_OK;
}

static double distance(const job *b, int64_t from, int64_t to, int c)
{
    return b->table[to + b->entries * c] - b->table[from + b->entries * c];
}

/* Of entries beside one another in both columns, from what those beside in one have: the mean over the corners. */
static void expand_pair(const job *b, int64_t e, int c, int f, expansion *s)
{
    int corners = 0;
    for (int k = 0; k < 4; k++) {
        const int64_t one = b->beside[c][k / 2][e];
        const int64_t corner = one < 0 ? -1 : b->beside[f][k % 2][one];
        if (corner < 0) continue;
        const double u = distance(b, e, corner, c), v = distance(b, e, corner, f);
        corners++;
        for (int64_t t = 0; t < b->times; t++) {
            const cplx along = s->by[c][t] * u + s->twice[c][t] * u * u + s->by[f][t] * v + s->twice[f][t] * v * v;
            const cplx mixed = (b->d[corner + b->entries * t] - s->at[t] - along) / (u * v);
            s->both[c][f][t] += (mixed - s->both[c][f][t]) / corners;
        }
    }
}

static void expand(const job *b, int64_t e, cplx *memory, expansion *s)
{
    cplx *next = memory;
    memset(memory, 0, (size_t)(b->times * (1 + 2 * b->columns + PAIRS)) * sizeof *memory);
    s->at = next;
    for (int64_t t = 0; t < b->times; t++) s->at[t] = b->d[e + b->entries * t];
    for (int c = 0; c < b->columns; c++) {
        const int64_t less = b->beside[c][0][e], more = b->beside[c][1][e];
        s->by[c] = next += b->times;
        s->twice[c] = next += b->times;
        s->low[c] = less < 0 ? 0 : distance(b, e, less, c);
        s->high[c] = more < 0 ? 0 : distance(b, e, more, c);
        for (int64_t t = 0; t < b->times; t++) {
            const cplx below = less < 0 ? 0 : (b->d[less + b->entries * t] - s->at[t]) / s->low[c];
            const cplx above = more < 0 ? 0 : (b->d[more + b->entries * t] - s->at[t]) / s->high[c];
            if (less >= 0 && more >= 0) {
                s->twice[c][t] = (above - below) / (s->high[c] - s->low[c]);
                s->by[c][t] = above - s->twice[c][t] * s->high[c];
            } else {
                s->by[c][t] = below + above;
            }
        }
    }
    for (int c = 0; c < b->columns; c++)
        for (int f = c + 1; f < b->columns; f++) {
            s->both[c][f] = next += b->times;
            expand_pair(b, e, c, f, s);
        }
}

/* ---- a voxel ---- */

/* Squares of the residual at p: real and imaginary part of M0, then the columns, those of `free_ones` alone. */
static double linearise(const job *b, const expansion *s, int64_t voxel, const int *free_ones, int count,
                        const double *p, double *H, double *g)
{
    const int n = 2 + count;
    const cplx m = p[0] + I * p[1];
    double u[COLUMNS] = {0}, squares = 0;
    memset(H, 0, (size_t)(n * n) * sizeof *H);
    memset(g, 0, (size_t)n * sizeof *g);
    for (int k = 0; k < count; k++) u[free_ones[k]] = p[2 + k];
    for (int64_t t = 0; t < b->times; t++) {
        cplx signal = s->at[t], slope[COLUMNS], by[LMR_FIT_PARAMETERS];
        for (int c = 0; c < b->columns; c++) {
            signal += (s->by[c][t] + s->twice[c][t] * u[c]) * u[c];
            slope[c] = s->by[c][t] + 2 * s->twice[c][t] * u[c];
        }
        for (int c = 0; c < b->columns; c++)
            for (int f = c + 1; f < b->columns; f++) {
                signal += s->both[c][f][t] * u[c] * u[f];
                slope[c] += s->both[c][f][t] * u[f];
                slope[f] += s->both[c][f][t] * u[c];
            }
        const cplx rest = b->x[voxel + b->voxels * t] - m * signal;
        squares += creal(rest) * creal(rest) + cimag(rest) * cimag(rest);
        by[0] = signal;
        by[1] = I * signal;
        for (int k = 0; k < count; k++) by[2 + k] = m * slope[free_ones[k]];
        for (int a = 0; a < n; a++) {
            g[a] += creal(conj(by[a]) * rest);
            for (int c = 0; c < n; c++) H[a * n + c] += creal(conj(by[a]) * by[c]);
        }
    }
    return squares;
}

static double refine(const job *b, const expansion *s, int64_t voxel, const int *free_ones, int count, double *p,
                     double *H)
{
    enum { SIZE = LMR_FIT_PARAMETERS * LMR_FIT_PARAMETERS };
    double g[LMR_FIT_PARAMETERS], to[SIZE], of[LMR_FIT_PARAMETERS], step[LMR_FIT_PARAMETERS], damping = 1e-4;
    double squares = linearise(b, s, voxel, free_ones, count, p, H, g);
    for (int i = 0; i < MOST_STEPS && damping < 1e8; i++) {
        double next[LMR_FIT_PARAMETERS];
        if (!lmr_fit_solve(2 + count, H, damping, g, step)) {
            damping *= 10;
            continue;
        }
        for (int a = 0; a < 2 + count; a++) next[a] = p[a] + step[a];
        for (int k = 0; k < count; k++)
            next[2 + k] = fmin(fmax(next[2 + k], s->low[free_ones[k]]), s->high[free_ones[k]]);
        const double then = linearise(b, s, voxel, free_ones, count, next, to, of);
        if (!(then <= squares)) {
            damping *= 10;
            continue;
        }
        const int is_done = squares - then <= 1e-10 * squares;
        memcpy(p, next, sizeof next);
        memcpy(H, to, sizeof to);
        memcpy(g, of, sizeof of);
        squares = then;
        damping /= 10;
        if (is_done) break;
    }
    return squares;
}

/* The entry that is nearer to p than e along some column; e itself where there is none. */
static int64_t nearer(const job *b, const expansion *s, int64_t e, const int *free_ones, int count, const double *p)
{
    for (int k = 0; k < count; k++) {
        const int c = free_ones[k];
        if (s->low[c] < 0 && p[2 + k] < 0.6 * s->low[c]) return b->beside[c][0][e];
        if (s->high[c] > 0 && p[2 + k] > 0.6 * s->high[c]) return b->beside[c][1][e];
    }
    return e;
}

static void keep(job *b, int64_t voxel, int64_t e, const int *free_ones, int count, const double *p, const double *H,
                 double squares)
{
    const int64_t rest = 2 * b->times - 2 - count;
    const double noise = b->noises ? b->noises[voxel] : b->noise;
    const double left = rest > 0 ? squares / (double)rest : 0;
    const double variance = noise > 0 ? noise * noise : left;
    b->m0[voxel] = (float complex)(p[0] + I * p[1]);
    for (int c = 0; c < b->columns; c++) b->value[voxel + b->voxels * c] = (float)b->table[e + b->entries * c];
    for (int k = 0; k < count; k++) {
        double by[LMR_FIT_PARAMETERS] = {0};
        const int64_t at = voxel + b->voxels * free_ones[k];
        by[2 + k] = 1;
        const double deviation = lmr_fit_deviation(2 + count, H, variance, by);
        b->value[at] = (float)(b->table[e + b->entries * free_ones[k]] + p[2 + k]);
        b->deviation[at] = isfinite(deviation) ? (float)deviation : 0;
    }
}

static void fit_voxel(void *self, int64_t voxel)
{
    job *b = self;
    int64_t e = b->entry[voxel];
    double H[LMR_FIT_PARAMETERS * LMR_FIT_PARAMETERS], p[LMR_FIT_PARAMETERS], squares = 0;
    int free_ones[COLUMNS], count = 0;
    expansion s;
    if (e < 0 || e >= b->entries) return;
    LMR_HEAP cplx *memory = lmr_new(b->times * (1 + 2 * b->columns + PAIRS), sizeof *memory);
    if (!memory) {
        b->fails = 1;
        return;
    }
    for (int moves = 0; moves < MOST_MOVES; moves++) {
        cplx product = 0;
        double size = 0;
        expand(b, e, memory, &s);
        count = 0;
        for (int c = 0; c < b->columns; c++)
            if (s.low[c] < 0 || s.high[c] > 0) free_ones[count++] = c;
        for (int64_t t = 0; t < b->times; t++) {
            product += conj(s.at[t]) * b->x[voxel + b->voxels * t];
            size += creal(s.at[t]) * creal(s.at[t]) + cimag(s.at[t]) * cimag(s.at[t]);
        }
        memset(p, 0, sizeof p);
        p[0] = creal(product) / size;
        p[1] = cimag(product) / size;
        squares = refine(b, &s, voxel, free_ones, count, p, H);
        const int64_t next = nearer(b, &s, e, free_ones, count, p);
        if (next == e) break;
        if (moves + 1 < MOST_MOVES) e = next;
    }
    keep(b, voxel, e, free_ones, count, p, H, squares);
}

/* ---- all voxels ---- */

static larmor_status check_inputs(const larmor_array *images, const larmor_array *table, const larmor_array *entry,
                                  double noise, const larmor_array *noise_map, const job *b)
{
    const int fits = lmr_is_real(table->dtype) && table->shape.ndim == 2 && table->shape.dim[0] == b->entries &&
                     table->shape.dim[1] >= 1 && table->shape.dim[1] <= COLUMNS;
    LMR_REFUSE(!fits, LARMOR_ERR_SHAPE, "table: got %s, expected real numbers [%lld entries, 1 to %d columns]",
               lmr_describe(table).s, (long long)b->entries, COLUMNS);
    LMR_REFUSE(entry->dtype != LARMOR_I64 || larmor_array_count(entry) != b->voxels, LARMOR_ERR_SHAPE,
               "entry: got %s, expected that of larmor_fit_dictionary for %s", lmr_describe(entry).s,
               lmr_describe(images).s);
    LMR_REFUSE(!isfinite(noise) || noise < 0, LARMOR_ERR_ARG, "noise: got %g, expected a deviation, 0 or more",
               noise);
    LMR_REFUSE(noise_map && (!lmr_is_real(noise_map->dtype) || larmor_array_count(noise_map) != b->voxels),
               LARMOR_ERR_SHAPE, "noise_map: got %s, expected real numbers for %lld voxels",
               lmr_describe(noise_map).s, (long long)b->voxels);
    LMR_TRY(larmor_array_expect_finite(table, "table"));
    return noise_map ? larmor_array_expect_finite(noise_map, "noise_map") : LARMOR_OK;
}

larmor_status larmor_fit_table(const larmor_array *images, const larmor_array *dictionary, const larmor_array *basis,
                               const larmor_array *table, const larmor_array *entry, double noise,
                               const larmor_array *noise_map, larmor_array **value, larmor_array **deviation,
                               larmor_array **m0)
{
    LMR_NEED(value, deviation, m0);
    *value = *deviation = *m0 = NULL;
    LMR_NEED(images, dictionary, table, entry);
    LMR_TRY(lmr_fit_check_dictionary(images, dictionary, basis, NULL));
    LMR_FREED_BY(free_job) job b = {.entries = dictionary->shape.dim[0], .noise = noise};
    const int last = images->shape.ndim - 1;
    b.times = images->shape.dim[last];
    b.voxels = larmor_array_count(images) / b.times;
    LMR_TRY(check_inputs(images, table, entry, noise, noise_map, &b));
    b.columns = (int)table->shape.dim[1];
    LMR_HEAP float *noises = NULL;
    LMR_OWN_MEMORY(cplx, d, lmr_fit_compress(dictionary, basis, &d));
    LMR_OWN_MEMORY(double, numbers, larmor_array_download(table, LARMOR_F64, &numbers));
    LMR_OWN_MEMORY(float complex, x, larmor_array_download(images, LARMOR_C64, &x));
    LMR_OWN_MEMORY(int64_t, found, larmor_array_download(entry, LARMOR_I64, &found));
    if (noise_map) LMR_TRY(larmor_array_download(noise_map, LARMOR_F32, &noises));
    b.d = d;
    b.table = numbers;
    b.x = x;
    b.entry = found;
    b.noises = noises;
    LMR_ALLOCATE_ZEROS(b.value, b.voxels * b.columns + 1);
    LMR_ALLOCATE_ZEROS(b.deviation, b.voxels * b.columns + 1);
    LMR_ALLOCATE_ZEROS(b.m0, b.voxels + 1);
    LMR_TRY(find_beside(&b));
    LMR_TRY(lmr_parallel(lmr_device_threads(images->dev), b.voxels, fit_voxel, &b));
    if (b.fails) return LMR_NO_MEMORY();
    const larmor_shape shape = larmor_shape_of(last, images->shape.dim), all = larmor_shape_append(shape, b.columns);
    LMR_OWNED(larmor_array) *values = NULL, *deviations = NULL;
    LMR_TRY(larmor_array_upload(images->dev, LARMOR_F32, all, LARMOR_F32, b.value, &values));
    if (noise > 0 || noise_map || 2 * b.times > 2 + b.columns)
        LMR_TRY(larmor_array_upload(images->dev, LARMOR_F32, all, LARMOR_F32, b.deviation, &deviations));
    LMR_TRY(larmor_array_upload(images->dev, LARMOR_C64, shape, LARMOR_C64, b.m0, m0));
    *value = values;
    *deviation = deviations;
    values = deviations = NULL;
    return LARMOR_OK;
}
