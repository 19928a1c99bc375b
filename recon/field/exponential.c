/* Values of an exponential of place and time, in blocks, and what linear maps make of them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "recon/field/exponential.h"

#include <stdatomic.h>

#include "core/core.h"
#include "recon/cpu/exponents.h"

larmor_status lmr_dense_open(int threads, lmr_dense *dense)
{
    dense->la = lmr_cpu_backend.la[LMR_F64];
    return lmr_cpu_backend.open(0, threads, &dense->ctx);
}

void lmr_dense_close(lmr_dense *dense)
{
    if (dense->ctx) lmr_cpu_backend.close(dense->ctx);
    dense->ctx = NULL;
}

/* ---- values ---- */

typedef struct values {
    const lmr_exponential *e;
    lmr_exponents exponents;
    const double *const *own_part; /* [terms] */
    const int64_t *own;
    int64_t count, others;
    const double *factor; /* [terms, others]: cycles, or logarithms of sizes */
    double complex *out;
} values;

/* What is beyond the last repeats it. */
static void gather(const values *v, int64_t begin, double (*own)[LMR_EXPONENTS])
{
    for (int l = 0; l < v->e->terms; l++)
        for (int64_t i = 0; i < LMR_EXPONENTS; i++) {
            const int64_t at = begin + i < v->count ? begin + i : v->count - 1;
            own[l][i] = v->own_part[l][v->own ? v->own[at] : at];
        }
}

/* out [count, others] with `stride` between columns, of those from `begin` on */
static void fill_values(const values *v, int64_t begin, int64_t count, double complex *out, int64_t stride)
{
    double own[LMR_MOST_TERMS][LMR_EXPONENTS], one[2 * LMR_EXPONENTS];
    gather(v, begin, own);
    for (int64_t k = 0; k < v->others; k++) {
        v->exponents(v->e->terms, (const double(*)[LMR_EXPONENTS])own, v->factor + v->e->terms * k, v->e->is_decay,
                     one);
        memcpy(out + stride * k, one, (size_t)count * sizeof *out);
    }
}

static void value_piece(void *self, int64_t piece)
{
    const values *v = self;
    const int64_t begin = piece * LMR_EXPONENTS, left = v->count - begin;
    fill_values(v, begin, left < LMR_EXPONENTS ? left : LMR_EXPONENTS, v->out + begin, v->count);
}

static int64_t pieces_of(int64_t count)
{
    return (count + LMR_EXPONENTS - 1) / LMR_EXPONENTS;
}

/* *factor is v's, and the caller's to free. */
static larmor_status find_values(const lmr_exponential *e, lmr_side side, const int64_t *own, int64_t count,
                                 const int64_t *other, int64_t others, double **factor, values *v)
{
    const double *const *part = side == LMR_OF_TIME ? e->space : e->time;
    LMR_ALLOCATE(*factor, e->terms * others);
    for (int64_t k = 0; k < others; k++)
        for (int l = 0; l < e->terms; l++)
            (*factor)[l + e->terms * k] = part[l][other[k]] / (e->is_decay[l] ? 1 : 2 * M_PI);
    *v = (values){.e = e,
                  .exponents = lmr_exponents_best(),
                  .own_part = side == LMR_OF_TIME ? e->time : e->space,
                  .own = own,
                  .count = count,
                  .others = others,
                  .factor = *factor};
    return LARMOR_OK;
}

larmor_status lmr_exponential_values(const lmr_exponential *e, lmr_side side, const int64_t *own, int64_t count,
                                     const int64_t *other, int64_t others, double complex *value)
{
    values v;
    LMR_OWN_MEMORY(double, factor, find_values(e, side, own, count, other, others, &factor, &v));
    v.out = value;
    return lmr_parallel(e->threads, pieces_of(count), value_piece, &v);
}

/* ---- factors ---- */

void lmr_factor_free(lmr_factor *f)
{
    LMR_FREE(f->other, f->P);
    *f = (lmr_factor){.rank = 0};
}

typedef struct filling {
    values v; /* of the chosen others; out is not used */
    const lmr_dense *dense;
    const lmr_factor *f;
    float complex *out;  /* [count, rank] */
    atomic_int has_room; /* 0: a thread had none */
} filling;

/* Values stay in a cache until their product. */
static larmor_status fill_piece(const filling *s, int64_t begin, int64_t count)
{
    const int64_t rows = s->f->rows, rank = s->f->rank;
    LMR_HEAP LMR_NEW(double complex, value, count *rows);
    LMR_HEAP LMR_NEW(double complex, product, count *rank);
    fill_values(&s->v, begin, count, value, count);
    LMR_TRY(
        s->dense->la->gemm(s->dense->ctx, 'N', 'N', count, rank, rows, value, count, s->f->P, rows, product, count));
    for (int64_t q = 0; q < rank; q++)
        for (int64_t i = 0; i < count; i++)
            s->out[begin + i + s->v.count * q] = (float complex)product[i + count * q];
    return LARMOR_OK;
}

static void fill_any(void *self, int64_t piece)
{
    filling *s = self;
    const int64_t begin = piece * LMR_EXPONENTS, left = s->v.count - begin;
    if (fill_piece(s, begin, left < LMR_EXPONENTS ? left : LMR_EXPONENTS)) atomic_store(&s->has_room, 0);
}

larmor_status lmr_factor_values(const lmr_exponential *e, const lmr_dense *dense, const lmr_factor *f,
                                const int64_t *own, int64_t count, float complex *out)
{
    filling s = {.dense = dense, .f = f, .out = out};
    LMR_OWN_MEMORY(double, factor, find_values(e, f->side, own, count, f->other, f->rows, &factor, &s.v));
    atomic_init(&s.has_room, 1);
    LMR_TRY(lmr_parallel(e->threads, pieces_of(count), fill_any, &s));
    return atomic_load(&s.has_room) ? LARMOR_OK : LMR_NO_MEMORY();
}
