/* An exponential of place and time as a sum of products, without the matrix of all places and times: singular vectors
 * of some of its columns, and least squares over some of its rows and columns for all others (skeletons: Goreinov,
 * Tyrtyshnikov and Zamarashkin, Linear Algebra Appl. 261, 1 (1997); rows are chosen as by QR with pivots: Drmac and
 * Gugercin, SIAM J. Sci. Comput. 38, A631 (2016)). What a few columns do not tell, as a small region has a field of
 * its own, is added by the misfit of all rows and columns (adaptive sampling: Deshpande and Vempala, Proc. RANDOM 292
 * (2006)). SPDX-License-Identifier: Apache-2.0 */
#include "recon/field/separable.h"

#include "core/core.h"
#include "recon/field/exponential.h"
#include "recon/lapack.h"

typedef double complex number;

enum {
    CANDIDATES = 2048, /* places or times among which some are chosen, or this many for each product: */
    CANDIDATES_OF_PRODUCT = 8,
    FIRST_COLUMNS = 48,
    CHECKED = 128, /* places and times whose pairs are checked of each attempt */
    PARTNERS = 32, /* times with which each place is checked where those keep the bound, and places with each time */
    ADDED = 16,    /* places and times that are added where these do not */
    MOST_ADDED = 512,
    BLOCK = 4096 /* of places or times that are checked together */
};

/* The part of the error that the singular values left out may have at first: least squares on chosen rows make it
 * larger. A larger part needs fewer products, and more attempts. */
#define MOST_REACH_RAD 1e4 /* of a term: nothing separates phases beyond, which no scan has */
#define TAIL_PART 0.5

/* What earlier attempts have missed: places and times, and the least number of products. */
typedef struct missed {
    int64_t place[MOST_ADDED], time[MOST_ADDED];
    int places, times, least;
} missed;

void lmr_separated_free(lmr_separated *s)
{
    LMR_FREE(s->space, s->time);
    *s = (lmr_separated){.rank = 0};
}

/* Up to `most` of n, each once where all fit, else at random, and then those to be added. */
static larmor_status pick(int64_t n, int64_t most, uint64_t seed, const int64_t *added, int more, int64_t **which,
                          int64_t *count)
{
    *count = n < most ? n : most;
    if (n <= most) more = 0;
    LMR_ALLOCATE(*which, *count + more);
    for (int i = 0; i < more; i++) (*which)[*count + i] = added[i];
    for (int64_t i = 0; i < *count; i++) {
        const double at =
            n <= most ? (double)i : ((double)i + lmr_random_uniform(seed, (uint64_t)i)) * (double)n / (double)most;
        (*which)[i] = at < (double)n ? (int64_t)at : n - 1;
    }
    *count += more;
    return LARMOR_OK;
}

/* ---- which rows determine a basis ---- */

/* left[i] <- what row i of u has beside `unit` and those before. */
static void remove_along(const number *u, int64_t count, int rank, const number *unit, number *along, double *left)
{
    for (int64_t i = 0; i < count; i++) along[i] = 0;
    for (int q = 0; q < rank; q++) {
        const number by = conj(unit[q]);
        for (int64_t i = 0; i < count; i++) along[i] += u[i + count * q] * by;
    }
    for (int64_t i = 0; i < count; i++)
        left[i] -= creal(along[i]) * creal(along[i]) + cimag(along[i]) * cimag(along[i]);
}

/* unit <- row `best` of u without what it has along the units before, twice for rounding, of norm 1; its norm. */
static double next_unit(const number *u, int64_t count, int rank, int64_t best, number *units, int known)
{
    number *unit = units + (int64_t)rank * known;
    double square = 0;
    for (int q = 0; q < rank; q++) unit[q] = u[best + count * q];
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < known; k++) {
            const number *other = units + (int64_t)rank * k;
            number along = 0;
            for (int q = 0; q < rank; q++) along += unit[q] * conj(other[q]);
            for (int q = 0; q < rank; q++) unit[q] -= along * other[q];
        }
    for (int q = 0; q < rank; q++) square += creal(unit[q]) * creal(unit[q]) + cimag(unit[q]) * cimag(unit[q]);
    for (int q = 0; q < rank && square > 0; q++) unit[q] /= sqrt(square);
    return sqrt(square);
}
/* The rows that are farthest from what those before span, as of QR with pivots, each once: chosen [rank], fewer where
 * the rest is 0. taken [count]: those that are not to be chosen. */
static larmor_status choose_pivots(const number *u, int64_t count, int rank, char *taken, int64_t *chosen, int *rows)
{
    LMR_HEAP number *units = lmr_new((int64_t)rank * rank, sizeof *units), *along = lmr_new(count, sizeof *along);
    LMR_HEAP double *left = lmr_new(count, sizeof *left);
    if (!units || !along || !left) return LMR_NO_MEMORY();
    for (int64_t i = 0; i < count; i++) left[i] = 0;
    for (int q = 0; q < rank; q++)
        for (int64_t i = 0; i < count; i++) {
            const number x = u[i + count * q];
            left[i] += creal(x) * creal(x) + cimag(x) * cimag(x);
        }
    for (int k = 0; k < rank; k++) {
        int64_t best = -1;
        for (int64_t i = 0; i < count; i++)
            if (!taken[i] && left[i] > (best < 0 ? 0 : left[best])) best = i;
        if (best < 0 || !(next_unit(u, count, rank, best, units, k) > 0)) break;
        taken[best] = 1;
        chosen[(*rows)++] = best;
        remove_along(u, count, rank, units + (int64_t)rank * k, along, left);
    }
    return LARMOR_OK;
}

/* chosen [rows] of u [count, rank], twice over, so that least squares have about twice as many equations as
 * unknowns. */
static larmor_status choose_rows(const number *u, int64_t count, int rank, int64_t *chosen, int *rows)
{
    LMR_HEAP char *taken = calloc((size_t)count, 1);
    *rows = 0;
    if (!taken) return LMR_NO_MEMORY();
    for (int pass = 0; pass < 2; pass++) LMR_TRY(choose_pivots(u, count, rank, taken, chosen, rows));
    return LARMOR_OK;
}

/* P [rows, rank] <- the transposed pseudo-inverse of the chosen rows of u [count, rank]. */
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
    LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC, "model: the products found cannot be told apart");
    for (int a = 0; a < rank; a++)
        for (int i = 0; i < rows; i++) {
            number sum = 0;
            for (int b = 0; b < rank; b++) sum += G[a + rank * b] * conj(u[chosen[i] + count * b]);
            P[i + (int64_t)rows * a] = sum;
        }
    return LARMOR_OK;
}

/* The factor of the other side from some rows of `from` [count, rank], whose numbers in all are which[]. */
static larmor_status fit_factor(lmr_side side, const number *from, const int64_t *which, int64_t count, int rank,
                                lmr_factor *f)
{
    *f = (lmr_factor){.side = side, .rank = rank};
    LMR_ALLOCATE(f->other, 2 * rank);
    LMR_ALLOCATE(f->P, 2 * (int64_t)rank * rank);
    LMR_TRY(choose_rows(from, count, rank, f->other, &f->rows));
    LMR_TRY(invert_rows(from, count, rank, f->other, f->rows, f->P));
    for (int i = 0; i < f->rows; i++) f->other[i] = which[f->other[i]];
    return LARMOR_OK;
}

/* ---- a basis of times ---- */

/* Columns of the matrix at the candidates among the times, and the eigenvectors of their inner products. */
typedef struct basis {
    int64_t *time, times; /* the candidates */
    int columns;
    int is_whole;  /* all places are columns */
    number *A, *G; /* [times, columns], [columns, columns] */
    double *value; /* [columns], ascending */
    double energy; /* their sum */
} basis;

LMR_FREES(free_basis, basis, time, A, G, value)

static larmor_status find_basis(const lmr_exponential *e, const lmr_dense *dense, int most, const missed *also,
                                basis *b)
{
    int64_t m;
    const int64_t candidates = most > CANDIDATES / CANDIDATES_OF_PRODUCT ? CANDIDATES_OF_PRODUCT * most : CANDIDATES;
    int solved;
    LMR_OWN_MEMORY(int64_t, place, pick(e->voxels, most, 1, also->place, also->places, &place, &m));
    LMR_TRY(pick(e->times, candidates, 2, also->time, also->times, &b->time, &b->times));
    b->columns = (int)m;
    b->is_whole = m == e->voxels;
    LMR_ALLOCATE(b->A, b->times * m);
    LMR_ALLOCATE(b->G, m * m);
    LMR_ALLOCATE(b->value, m);
    LMR_TRY(lmr_exponential_values(e, LMR_OF_TIME, b->time, b->times, place, m, b->A));
    LMR_TRY(dense->la->gemm(dense->ctx, 'C', 'N', m, m, b->times, b->A, b->times, b->A, b->times, b->G, m));
    for (int64_t a = 0; a < m; a++) b->energy += creal(b->G[a + m * a]);
    solved = isfinite(b->energy);
    if (solved) LMR_TRY(lmr_lapack_eigen(m, b->G, b->value, &solved));
    LMR_REFUSE(!solved, LARMOR_ERR_NUMERIC, "model: the terms are not finite, or too large");
    return LARMOR_OK;
}

/* How many singular vectors keep the tail of the energy. */
static int count_needed(const basis *b, double tail)
{
    double rest = 0;
    int needed = b->columns;
    while (needed > 1 && rest + fmax(0, b->value[b->columns - needed]) <= tail * tail * b->energy)
        rest += fmax(0, b->value[b->columns - needed--]);
    return needed;
}

/* As many as differ from rounding. */
static int limit_rank(const basis *b, int rank)
{
    const int m = b->columns;
    if (rank > m) rank = m;
    if (rank > LMR_MOST_RANK) rank = LMR_MOST_RANK;
    while (rank > 1 && !(b->value[m - rank] > 1e-15 * b->value[m - 1])) rank--;
    return rank;
}

/* u [times, rank], their mean squares 1 */
static larmor_status singular_vectors(const lmr_dense *dense, const basis *b, int rank, number **u)
{
    const int64_t m = b->columns;
    LMR_HEAP LMR_NEW(number, v, m * rank);
    LMR_ALLOCATE(*u, b->times * rank);
    for (int q = 0; q < rank; q++) {
        const double scale = sqrt((double)b->times / b->value[m - 1 - q]);
        for (int64_t j = 0; j < m; j++) v[j + m * q] = scale * b->G[j + m * (m - 1 - q)];
    }
    return dense->la->gemm(dense->ctx, 'N', 'N', b->times, rank, m, b->A, b->times, v, m, *u, b->times);
}

/* ---- from a basis to both factors ---- */

typedef struct factors {
    lmr_factor space, time;
} factors;

static void free_factors(factors *f)
{
    lmr_factor_free(&f->space);
    lmr_factor_free(&f->time);
}

static larmor_status fit_both(const lmr_exponential *e, const lmr_dense *dense, const basis *b, int rank,
                              const missed *also, factors *f)
{
    int64_t count;
    LMR_OWN_MEMORY(number, u, singular_vectors(dense, b, rank, &u));
    LMR_TRY(fit_factor(LMR_OF_PLACE, u, b->time, b->times, rank, &f->space));
    LMR_OWN_MEMORY(int64_t, place,
                   pick(e->voxels,
                        rank > CANDIDATES / CANDIDATES_OF_PRODUCT ? CANDIDATES_OF_PRODUCT * rank : CANDIDATES, 3,
                        also->place, also->places, &place, &count));
    LMR_HEAP LMR_NEW(float complex, space, count *rank);
    LMR_HEAP LMR_NEW(number, v, count * rank);
    LMR_TRY(lmr_factor_values(e, dense, &f->space, place, count, space));
    for (int64_t i = 0; i < count * rank; i++) v[i] = space[i];
    return fit_factor(LMR_OF_TIME, v, place, count, rank, &f->time);
}

/* At pairs that played no part. */
static larmor_status check(const lmr_exponential *e, const lmr_dense *dense, const factors *f, lmr_separated *found)
{
    int64_t places, times;
    double sum = 0, energy = 0, most = 0;
    LMR_OWN_MEMORY(int64_t, place, pick(e->voxels, CHECKED, 4, NULL, 0, &place, &places));
    LMR_OWN_MEMORY(int64_t, time, pick(e->times, CHECKED, 5, NULL, 0, &time, &times));
    LMR_HEAP LMR_NEW(float complex, space, places * f->space.rank);
    LMR_HEAP LMR_NEW(float complex, evolution, times * f->time.rank);
    LMR_HEAP LMR_NEW(number, exact, places * times);
    LMR_TRY(lmr_factor_values(e, dense, &f->space, place, places, space));
    LMR_TRY(lmr_factor_values(e, dense, &f->time, time, times, evolution));
    LMR_TRY(lmr_exponential_values(e, LMR_OF_PLACE, place, places, time, times, exact));
    for (int64_t i = 0; i < places; i++)
        for (int64_t j = 0; j < times; j++) {
            const number x = exact[i + places * j];
            number made = 0;
            for (int q = 0; q < f->space.rank; q++) made += (number)space[i + places * q] * evolution[j + times * q];
            const double error = creal((made - x) * conj(made - x));
            sum += error;
            most = fmax(most, error);
            energy += creal(x * conj(x));
        }
    found->error = sqrt(sum / energy);
    found->largest = sqrt(most * (double)(places * times) / energy);
    return LARMOR_OK;
}

static larmor_status fill(const lmr_exponential *e, const lmr_dense *dense, const factors *f, lmr_separated *found)
{
    found->rank = f->space.rank;
    LMR_ALLOCATE(found->space, e->voxels * found->rank);
    LMR_ALLOCATE(found->time, e->times * found->rank);
    LMR_TRY(lmr_factor_values(e, dense, &f->space, NULL, e->voxels, found->space));
    return lmr_factor_values(e, dense, &f->time, NULL, e->times, found->time);
}

/* ---- all places, and all times ---- */

/* Each place with some times, or each time with some places. */
typedef struct survey {
    lmr_side side;
    int64_t all, others, partners;
    const float complex *own, *other; /* factors [all, rank], [others, rank] */
    int rank;
    int64_t *partner; /* [partners] */
    number *by;       /* [rank, partners] what the other factor has there */
    double *misfit;   /* [all] */
    double sum, energy, most;
} survey;

LMR_FREES(free_survey, survey, partner, by, misfit)

static larmor_status begin_survey(const lmr_exponential *e, const lmr_separated *found, lmr_side side, survey *s)
{
    *s = (survey){.side = side, .all = e->voxels, .others = e->times, .rank = found->rank};
    s->own = found->space;
    s->other = found->time;
    if (side == LMR_OF_TIME) {
        s->all = e->times;
        s->others = e->voxels;
        s->own = found->time;
        s->other = found->space;
    }
    LMR_TRY(pick(s->others, PARTNERS, side == LMR_OF_TIME ? 7 : 6, NULL, 0, &s->partner, &s->partners));
    LMR_ALLOCATE(s->by, s->rank * s->partners);
    LMR_ALLOCATE(s->misfit, s->all);
    for (int64_t k = 0; k < s->partners; k++)
        for (int q = 0; q < s->rank; q++) s->by[q + s->rank * k] = s->other[s->partner[k] + s->others * q];
    return LARMOR_OK;
}

typedef struct survey_room {
    int64_t own[BLOCK];
    number *exact, *made, *factor; /* [BLOCK, partners] twice, [BLOCK, rank] */
} survey_room;

LMR_FREES(free_survey_room, survey_room, exact, made, factor)

static void add_misfits(const survey_room *room, int64_t begin, int64_t count, survey *s)
{
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t k = 0; k < s->partners; k++) {
            const number exact = room->exact[i + count * k], rest = room->made[i + count * k] - exact;
            const double square = creal(rest * conj(rest));
            s->energy += creal(exact * conj(exact));
            s->most = fmax(s->most, square);
            sum += square;
        }
        s->misfit[begin + i] = sum;
        s->sum += sum;
    }
}

static larmor_status survey_all(const lmr_exponential *e, const lmr_dense *dense, survey *s)
{
    LMR_FREED_BY(free_survey_room) survey_room room = {.exact = lmr_new(BLOCK * s->partners, sizeof *room.exact)};
    room.made = lmr_new(BLOCK * s->partners, sizeof *room.made);
    room.factor = lmr_new(BLOCK * s->rank, sizeof *room.factor);
    if (!room.exact || !room.made || !room.factor) return LMR_NO_MEMORY();
    for (int64_t begin = 0; begin < s->all; begin += BLOCK) {
        const int64_t count = s->all - begin < BLOCK ? s->all - begin : BLOCK;
        for (int64_t i = 0; i < count; i++) room.own[i] = begin + i;
        for (int q = 0; q < s->rank; q++)
            for (int64_t i = 0; i < count; i++) room.factor[i + count * q] = s->own[begin + i + s->all * q];
        LMR_TRY(lmr_exponential_values(e, s->side, room.own, count, s->partner, s->partners, room.exact));
        LMR_TRY(dense->la->gemm(dense->ctx, 'N', 'N', count, s->partners, s->rank, room.factor, count, s->by, s->rank,
                                room.made, count));
        add_misfits(&room, begin, count, s);
    }
    return LARMOR_OK;
}

/* Some of all, each as likely as its misfit is large. */
static void add_missed(const survey *s, int64_t *added, int *count)
{
    double before = 0;
    int64_t at = 0;
    for (int k = 0; k < ADDED && *count < MOST_ADDED; k++) {
        const double until = ((double)k + lmr_random_uniform(8, (uint64_t)*count)) / ADDED * s->sum;
        while (at + 1 < s->all && before + s->misfit[at] < until) before += s->misfit[at++];
        added[(*count)++] = at;
    }
}

static larmor_status survey_side(const lmr_exponential *e, const lmr_dense *dense, lmr_side side, double bound,
                                 missed *also, lmr_separated *found)
{
    LMR_FREED_BY(free_survey) survey s;
    LMR_TRY(begin_survey(e, found, side, &s));
    LMR_TRY(survey_all(e, dense, &s));
    const double error = sqrt(s.sum / s.energy);
    if (!(error <= found->error)) found->error = error; /* also where it is no number */
    found->largest = fmax(found->largest, sqrt(s.most * (double)(s.all * s.partners) / s.energy));
    if (error <= bound || !isfinite(error)) return LARMOR_OK;
    if (side == LMR_OF_TIME)
        add_missed(&s, also->time, &also->times);
    else
        add_missed(&s, also->place, &also->places);
    return LARMOR_OK;
}

/* Factors in full; their error is that of all places and all times, and what keeps it above the bound is noted. */
static larmor_status finish(const lmr_exponential *e, const lmr_dense *dense, const factors *f, double bound,
                            missed *also, lmr_separated *found)
{
    LMR_TRY(fill(e, dense, f, found));
    LMR_TRY(survey_side(e, dense, LMR_OF_PLACE, bound, also, found));
    return survey_side(e, dense, LMR_OF_TIME, bound, also, found);
}

/* More products until they keep the bound, from a few columns; found->rank stays 0 where those cannot tell, or where
 * some places or times have been missed. */
static larmor_status try_columns(const lmr_exponential *e, const lmr_dense *dense, int columns, int rank,
                                 double bound, missed *also, lmr_separated *found)
{
    LMR_FREED_BY(free_basis) basis b = {.columns = 0};
    LMR_TRY(find_basis(e, dense, columns, also, &b));
    int needed = rank ? rank : count_needed(&b, TAIL_PART * bound);
    for (needed = needed < also->least ? also->least : needed;; needed += 1 + needed / 16) {
        LMR_FREED_BY(free_factors) factors f = {.space = {.rank = 0}};
        const int tried = limit_rank(&b, needed);
        if (!rank && !b.is_whole && 3 * needed > 2 * b.columns) return LARMOR_OK;
        LMR_TRY(fit_both(e, dense, &b, tried, also, &f));
        LMR_TRY(check(e, dense, &f, found));
        if (rank || found->error <= bound) {
            LMR_TRY(finish(e, dense, &f, rank ? INFINITY : bound, also, found));
            if (rank || found->error <= bound) return LARMOR_OK;
            const double error = found->error;
            lmr_separated_free(found);
            found->error = error;
            also->least = tried + 1;
            return LARMOR_OK;
        }
        if (tried < needed) return LARMOR_OK;
    }
}

static double largest(const double *x, int64_t count)
{
    double most = 0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
    return most;
}

/* At most, the phase of the term that has most, in rad. */
static double reach_of(const lmr_exponential *e)
{
    double most = 0;
    for (int l = 0; l < e->terms; l++)
        if (!e->is_decay[l]) most = fmax(most, largest(e->space[l], e->voxels) * largest(e->time[l], e->times));
    return most;
}

static larmor_status refuse_terms(const lmr_exponential *e, double bound)
{
    return LMR_FAIL(LARMOR_ERR_NUMERIC,
                    "model: terms that reach %.2g rad need more than %d products for an error of %.1e; check their "
                    "unit, or allow a larger error",
                    reach_of(e), LMR_MOST_RANK, bound);
}

larmor_status lmr_separate(const lmr_exponential *e, int rank, double bound, lmr_separated *found)
{
    LMR_FREED_BY(lmr_dense_close) lmr_dense dense = {0};
    larmor_status st;
    int columns = FIRST_COLUMNS;
    *found = (lmr_separated){.error = NAN};
    LMR_HEAP LMR_NEW(missed, also, 1);
    also->places = also->times = also->least = 0;
    while (columns < 2 * rank) columns *= 2;
    if (reach_of(e) > MOST_REACH_RAD) return refuse_terms(e, bound);
    LMR_TRY(lmr_dense_open(e->threads, &dense));
    for (;;) {
        const int least = also->least;
        st = try_columns(e, &dense, columns, rank, bound, also, found);
        if (st || found->rank) break;
        if (also->least > least) continue;
        columns *= 2;
        if (columns <= 2 * LMR_MOST_RANK) continue;
        st = refuse_terms(e, bound);
        break;
    }
    return st;
}
