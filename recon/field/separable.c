/* An exponential of place and time as a sum of products, without the matrix of all places and times: singular vectors
 * of some of its columns, and least squares over some of its rows and columns for all others (skeletons: Goreinov,
 * Tyrtyshnikov and Zamarashkin, Linear Algebra Appl. 261, 1 (1997); rows are chosen as by QR with pivots: Drmac and
 * Gugercin, SIAM J. Sci. Comput. 38, A631 (2016)). SPDX-License-Identifier: Apache-2.0 */
#include "recon/field/separable.h"

#include <math.h>
#include <stdlib.h>

#include "core/owned.h"
#include "core/parallel.h"
#include "core/random.h"
#include "recon/lapack.h"

typedef double complex number;

enum {
    CANDIDATES = 8192, /* places or times among which some are chosen */
    FIRST_COLUMNS = 48,
    PIECES = 256, /* of the loops over all places and all times */
    CHECKED = 96  /* places and times whose pairs are checked */
};

/* The part of the error that the singular values left out may have: least squares on chosen rows make it larger. */
#define TAIL_PART 0.25

void lmr_separated_free(lmr_separated *s)
{
    free(s->space);
    free(s->time);
    *s = (lmr_separated){.rank = 0};
}

static number value_of(const lmr_exponential *e, int64_t r, int64_t t)
{
    double phase = 0, decay = 0;
    for (int l = 0; l < e->terms; l++) *(e->is_decay[l] ? &decay : &phase) += e->space[l][r] * e->time[l][t];
    const double size = decay != 0 ? exp(-decay) : 1;
    return CMPLX(size * cos(phase), size * sin(phase));
}

/* Up to `most` of n, each once where all fit, else at random. */
static larmor_status pick(int64_t n, int64_t most, uint64_t seed, int64_t **which, int64_t *count)
{
    *count = n < most ? n : most;
    *which = lmr_new(*count, sizeof **which);
    if (!*which) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < *count; i++) {
        const double at =
            n <= most ? (double)i : ((double)i + lmr_random_uniform(seed, (uint64_t)i)) * (double)n / (double)most;
        (*which)[i] = at < (double)n ? (int64_t)at : n - 1;
    }
    return LARMOR_OK;
}

/* ---- which rows determine a basis ---- */

/* row <- row of `left`, and its square, without what it has along `unit`, NULL for nothing. */
static double remove_along(int rank, const number *unit, number *row)
{
    number along = 0;
    double square = 0;
    for (int q = 0; q < rank && unit; q++) along += row[q] * conj(unit[q]);
    for (int q = 0; q < rank; q++) {
        if (unit) row[q] -= along * unit[q];
        square += creal(row[q]) * creal(row[q]) + cimag(row[q]) * cimag(row[q]);
    }
    return square;
}

/* chosen [rows] of u [count, rank], those that are farthest from what the ones before span, twice over, so that least
 * squares have about twice as many equations as unknowns. u is not changed. */
static larmor_status choose_rows(const number *u, int64_t count, int rank, int64_t *chosen, int *rows)
{
    LMR_HEAP number *left = lmr_new(count * rank, sizeof *left); /* row by row */
    LMR_HEAP char *taken = lmr_new(count, 1);
    number unit[LMR_MOST_RANK];
    *rows = 0;
    if (!left || !taken) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) taken[i] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < count * rank; i++) left[i] = u[i / rank + count * (i % rank)];
        for (int k = 0; k < rank; k++) {
            double most = 0;
            int64_t best = -1;
            for (int64_t i = 0; i < count; i++) {
                const double square = remove_along(rank, k ? unit : NULL, left + rank * i);
                if (taken[i] || !(square > most)) continue;
                most = square;
                best = i;
            }
            if (best < 0) break;
            taken[best] = 1;
            chosen[(*rows)++] = best;
            for (int q = 0; q < rank; q++) unit[q] = left[rank * best + q] / sqrt(most);
        }
    }
    return LARMOR_OK;
}

/* P [rank, rows] <- the pseudo-inverse of the chosen rows of u [count, rank]. */
static larmor_status invert_rows(const number *u, int64_t count, int rank, const int64_t *chosen, int rows, number *P)
{
    LMR_HEAP number *G = lmr_new((int64_t)rank * rank, sizeof *G);
    int solved;
    if (!G) return LMR_NO_MEMORY();
    double trace = 0;
    for (int a = 0; a < rank; a++)
        for (int b = 0; b < rank; b++) {
            number sum = 0;
            for (int i = 0; i < rows; i++) sum += conj(u[chosen[i] + count * a]) * u[chosen[i] + count * b];
            G[a + rank * b] = sum;
            if (a == b) trace += creal(sum);
        }
    for (int a = 0; a < rank; a++) G[a + rank * a] += 1e-15 * trace;
    LMR_TRY(lmr_lapack_inverse(rank, G, &solved));
    if (!solved) return LMR_FAIL(LARMOR_ERR_NUMERIC, "model: the products found cannot be told apart");
    for (int i = 0; i < rows; i++)
        for (int a = 0; a < rank; a++) {
            number sum = 0;
            for (int b = 0; b < rank; b++) sum += G[a + rank * b] * conj(u[chosen[i] + count * b]);
            P[a + rank * i] = sum;
        }
    return LARMOR_OK;
}

/* ---- all places, or all times, by least squares ---- */

typedef struct all {
    const lmr_exponential *e;
    int in_time;          /* 1: all times, from chosen places; 0: all places, from chosen times */
    const int64_t *other; /* [rows] the chosen ones */
    int rank, rows;
    const number *P; /* [rank, rows] */
    int64_t count;
    float complex *out; /* [count, rank] */
} all;

static void fill_piece(void *self, int64_t piece)
{
    const all *s = self;
    number value[2 * LMR_MOST_RANK], sum[LMR_MOST_RANK];
    for (int64_t i = s->count * piece / PIECES; i < s->count * (piece + 1) / PIECES; i++) {
        for (int k = 0; k < s->rows; k++)
            value[k] = s->in_time ? value_of(s->e, s->other[k], i) : value_of(s->e, i, s->other[k]);
        for (int q = 0; q < s->rank; q++) sum[q] = 0;
        for (int k = 0; k < s->rows; k++)
            for (int q = 0; q < s->rank; q++) sum[q] += s->P[q + s->rank * k] * value[k];
        for (int q = 0; q < s->rank; q++) s->out[i + s->count * q] = (float complex)sum[q];
    }
}

static larmor_status fill(all *s)
{
    s->out = lmr_new(s->count * s->rank, sizeof *s->out);
    if (!s->out) return LMR_NO_MEMORY();
    return lmr_parallel(s->e->threads, PIECES, fill_piece, s);
}

/* ---- a basis of times ---- */

typedef struct basis {
    int64_t *time, times; /* the candidates */
    int rank;
    number *u; /* [times, rank], their mean squares 1 */
} basis;

static void free_basis(basis *b)
{
    free(b->time);
    free(b->u);
}

typedef struct some_columns {
    const lmr_exponential *e;
    const int64_t *place, *time;
    int64_t times;
    int count;
    number *A, *G;       /* [times, count], [count, count] */
    const double *value; /* of G's eigenvectors */
    number *u;           /* [times, rank] */
} some_columns;

static void fill_column(void *self, int64_t j)
{
    const some_columns *s = self;
    for (int64_t t = 0; t < s->times; t++) s->A[t + s->times * j] = value_of(s->e, s->place[j], s->time[t]);
}

/* The upper triangle's column a. */
static void gram_column(void *self, int64_t a)
{
    const some_columns *s = self;
    for (int64_t c = 0; c <= a; c++) {
        number sum = 0;
        for (int64_t t = 0; t < s->times; t++) sum += conj(s->A[t + s->times * c]) * s->A[t + s->times * a];
        s->G[c + s->count * a] = sum;
    }
}

static void singular_vector(void *self, int64_t q)
{
    const some_columns *s = self;
    const int64_t m = s->count;
    const number *v = s->G + m * (m - 1 - q);
    const double scale = sqrt((double)s->times / s->value[m - 1 - q]);
    for (int64_t t = 0; t < s->times; t++) s->u[t + s->times * q] = 0;
    for (int64_t j = 0; j < m; j++) {
        const number factor = scale * v[j];
        for (int64_t t = 0; t < s->times; t++) s->u[t + s->times * q] += factor * s->A[t + s->times * j];
    }
}

/* How many singular vectors keep the tail of the energy. */
static int count_needed(int m, const double *value, double tail, double energy)
{
    double rest = 0;
    int needed = m;
    while (needed > 1 && rest + fmax(0, value[m - needed]) <= tail * tail * energy)
        rest += fmax(0, value[m - needed--]);
    return needed;
}

/* The singular vectors of the columns of `most` places, as many as keep the tail; *resolved 0: not enough columns to
 * tell. */
static larmor_status find_basis(const lmr_exponential *e, int most, int rank, double tail, basis *b, int *resolved)
{
    LMR_HEAP int64_t *place = NULL;
    int64_t count;
    int solved;
    double energy = 0;
    LMR_TRY(pick(e->voxels, most, 1, &place, &count));
    const int m = (int)count;
    LMR_TRY(pick(e->times, CANDIDATES, 2, &b->time, &b->times));
    LMR_HEAP number *A = lmr_new(b->times * m, sizeof *A), *G = lmr_new((int64_t)m * m, sizeof *G);
    LMR_HEAP double *value = lmr_new(m, sizeof *value);
    if (!A || !G || !value) return LMR_NO_MEMORY();
    some_columns s = {
        .e = e, .place = place, .time = b->time, .times = b->times, .count = m, .A = A, .G = G, .value = value};
    LMR_TRY(lmr_parallel(e->threads, m, fill_column, &s));
    LMR_TRY(lmr_parallel(e->threads, m, gram_column, &s));
    for (int a = 0; a < m; a++) energy += creal(G[a + m * a]);
    solved = isfinite(energy);
    if (solved) LMR_TRY(lmr_lapack_eigen(m, G, value, &solved));
    if (!solved) return LMR_FAIL(LARMOR_ERR_NUMERIC, "model: the terms are not finite, or too large");
    b->rank = count_needed(m, value, tail, energy);
    if (rank) b->rank = rank < m ? rank : m;
    *resolved = m == e->voxels || 3 * b->rank <= 2 * m;
    if (!*resolved) return LARMOR_OK;
    if (b->rank > LMR_MOST_RANK) b->rank = LMR_MOST_RANK;
    while (b->rank > 1 && !(value[m - b->rank] > 1e-15 * value[m - 1])) b->rank--;
    b->u = lmr_new(b->times * b->rank, sizeof *b->u);
    if (!b->u) return LMR_NO_MEMORY();
    s.u = b->u;
    return lmr_parallel(e->threads, b->rank, singular_vector, &s);
}

/* ---- from a basis to both factors ---- */

/* From some rows of `from` [count, rank], whose numbers in all are which[], all of the other factor. */
static larmor_status fit_other(const lmr_exponential *e, int in_time, const number *from, const int64_t *which,
                               int64_t count, int rank, float complex **out)
{
    int64_t chosen[2 * LMR_MOST_RANK], other[2 * LMR_MOST_RANK];
    int rows;
    LMR_HEAP number *P = lmr_new(2 * (int64_t)rank * rank, sizeof *P);
    if (!P) return LMR_NO_MEMORY();
    LMR_TRY(choose_rows(from, count, rank, chosen, &rows));
    LMR_TRY(invert_rows(from, count, rank, chosen, rows, P));
    for (int i = 0; i < rows; i++) other[i] = which[chosen[i]];
    all s = {.e = e,
             .in_time = in_time,
             .other = other,
             .rank = rank,
             .rows = rows,
             .P = P,
             .count = in_time ? e->times : e->voxels};
    const larmor_status st = fill(&s);
    *out = s.out;
    return st;
}

static larmor_status fit_both(const lmr_exponential *e, const basis *b, lmr_separated *found)
{
    LMR_HEAP int64_t *place = NULL;
    int64_t count;
    found->rank = b->rank;
    LMR_TRY(fit_other(e, 0, b->u, b->time, b->times, b->rank, &found->space));
    LMR_TRY(pick(e->voxels, CANDIDATES, 3, &place, &count));
    LMR_HEAP number *v = lmr_new(count * b->rank, sizeof *v);
    if (!v) return LMR_NO_MEMORY();
    for (int q = 0; q < b->rank; q++)
        for (int64_t i = 0; i < count; i++) v[i + count * q] = found->space[place[i] + e->voxels * q];
    return fit_other(e, 1, v, place, count, b->rank, &found->time);
}

static larmor_status check(const lmr_exponential *e, lmr_separated *found)
{
    LMR_HEAP int64_t *place = NULL, *time = NULL;
    int64_t places, times;
    double sum = 0, energy = 0, most = 0;
    LMR_TRY(pick(e->voxels, CHECKED, 4, &place, &places));
    LMR_TRY(pick(e->times, CHECKED, 5, &time, &times));
    for (int64_t i = 0; i < places; i++)
        for (int64_t j = 0; j < times; j++) {
            const number exact = value_of(e, place[i], time[j]);
            number made = 0;
            for (int q = 0; q < found->rank; q++)
                made += (number)found->space[place[i] + e->voxels * q] * found->time[time[j] + e->times * q];
            const double error = creal((made - exact) * conj(made - exact));
            sum += error;
            most = fmax(most, error);
            energy += creal(exact * conj(exact));
        }
    found->error = sqrt(sum / energy);
    found->largest = sqrt(most * (double)(places * times) / energy);
    return LARMOR_OK;
}

static larmor_status try_columns(const lmr_exponential *e, int columns, int rank, double tail, lmr_separated *found,
                                 int *resolved)
{
    LMR_FREED_BY(free_basis) basis b = {.rank = 0};
    LMR_TRY(find_basis(e, columns, rank, tail, &b, resolved));
    if (!*resolved) return LARMOR_OK;
    LMR_TRY(fit_both(e, &b, found));
    return check(e, found);
}

larmor_status lmr_separate(const lmr_exponential *e, int rank, double bound, lmr_separated *found)
{
    double tail = TAIL_PART * bound;
    int columns = FIRST_COLUMNS;
    *found = (lmr_separated){.rank = 0};
    while (columns < 2 * rank) columns *= 2;
    for (;;) {
        int resolved = 0;
        lmr_separated_free(found);
        LMR_TRY(try_columns(e, columns, rank, tail, found, &resolved));
        if (resolved && (rank || found->error <= bound)) return LARMOR_OK;
        if (columns >= 2 * LMR_MOST_RANK)
            return LMR_FAIL(LARMOR_ERR_NUMERIC,
                            "model: %d products have an error of %.1e, expected at most %.1e; allow a larger error",
                            resolved ? found->rank : LMR_MOST_RANK, resolved ? found->error : NAN, bound);
        if (resolved) tail /= 2;
        columns *= 2;
    }
}
