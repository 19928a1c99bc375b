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

/* chosen [rows] of u [count, rank], those that are farthest from what the ones before span, twice over, so that least
 * squares have about twice as many equations as unknowns. u is not changed. */
static larmor_status choose_rows(const number *u, int64_t count, int rank, int64_t *chosen, int *rows)
{
    LMR_HEAP number *left = lmr_new(count * rank, sizeof *left);
    LMR_HEAP char *taken = lmr_new(count, 1);
    *rows = 0;
    if (!left || !taken) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) taken[i] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < count * rank; i++) left[i] = u[i];
        for (int k = 0; k < rank; k++) {
            double most = 0;
            int64_t best = -1;
            for (int64_t i = 0; i < count; i++) {
                double size = 0;
                for (int q = 0; q < rank && !taken[i]; q++)
                    size += creal(left[i + count * q] * conj(left[i + count * q]));
                if (!(size > most)) continue;
                most = size;
                best = i;
            }
            if (best < 0) break;
            taken[best] = 1;
            chosen[(*rows)++] = best;
            number row[LMR_MOST_RANK];
            for (int q = 0; q < rank; q++) row[q] = left[best + count * q] / sqrt(most);
            for (int64_t i = 0; i < count; i++) {
                number along = 0;
                for (int q = 0; q < rank; q++) along += left[i + count * q] * conj(row[q]);
                for (int q = 0; q < rank; q++) left[i + count * q] -= along * row[q];
            }
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
    number value[2 * LMR_MOST_RANK];
    for (int64_t i = s->count * piece / PIECES; i < s->count * (piece + 1) / PIECES; i++) {
        for (int k = 0; k < s->rows; k++)
            value[k] = s->in_time ? value_of(s->e, s->other[k], i) : value_of(s->e, i, s->other[k]);
        for (int q = 0; q < s->rank; q++) {
            number sum = 0;
            for (int k = 0; k < s->rows; k++) sum += s->P[q + s->rank * k] * value[k];
            s->out[i + s->count * q] = (float complex)sum;
        }
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

/* The singular vectors of the columns of `columns` places, as many as keep the tail; *resolved 0: not enough columns
 * to tell. */
static larmor_status find_basis(const lmr_exponential *e, int columns, int rank, double tail, basis *b, int *resolved)
{
    LMR_HEAP int64_t *place = NULL;
    int64_t count;
    int solved;
    LMR_TRY(pick(e->voxels, columns, 1, &place, &count));
    const int m = (int)count;
    LMR_TRY(pick(e->times, CANDIDATES, 2, &b->time, &b->times));
    LMR_HEAP number *A = lmr_new(b->times * m, sizeof *A), *G = lmr_new((int64_t)m * m, sizeof *G);
    LMR_HEAP double *value = lmr_new(m, sizeof *value);
    if (!A || !G || !value) return LMR_NO_MEMORY();
    for (int j = 0; j < m; j++)
        for (int64_t t = 0; t < b->times; t++) A[t + b->times * j] = value_of(e, place[j], b->time[t]);
    double energy = 0, rest = 0;
    for (int a = 0; a < m; a++)
        for (int c = 0; c <= a; c++) {
            number sum = 0;
            for (int64_t t = 0; t < b->times; t++) sum += conj(A[t + b->times * c]) * A[t + b->times * a];
            G[c + m * a] = sum;
            if (a == c) energy += creal(sum);
        }
    if (!isfinite(energy)) return LMR_FAIL(LARMOR_ERR_NUMERIC, "model: the terms are not finite, or too large");
    LMR_TRY(lmr_lapack_eigen(m, G, value, &solved));
    if (!solved) return LMR_FAIL(LARMOR_ERR_NUMERIC, "model: the terms are not finite, or too large");
    b->rank = m;
    while (b->rank > 1 && rest + fmax(0, value[m - b->rank]) <= tail * tail * energy)
        rest += fmax(0, value[m - b->rank--]);
    if (rank) b->rank = rank < m ? rank : m;
    *resolved = m == e->voxels || 3 * b->rank <= 2 * m;
    if (b->rank > LMR_MOST_RANK) b->rank = LMR_MOST_RANK;
    while (b->rank > 1 && !(value[m - b->rank] > 1e-15 * value[m - 1])) b->rank--;
    b->u = lmr_new(b->times * b->rank, sizeof *b->u);
    if (!b->u) return LMR_NO_MEMORY();
    for (int q = 0; q < b->rank; q++) {
        const number *v = G + (int64_t)m * (m - 1 - q);
        const double scale = sqrt((double)b->times / value[m - 1 - q]);
        for (int64_t t = 0; t < b->times; t++) {
            number sum = 0;
            for (int j = 0; j < m; j++) sum += A[t + b->times * j] * v[j];
            b->u[t + b->times * q] = scale * sum;
        }
    }
    return LARMOR_OK;
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
