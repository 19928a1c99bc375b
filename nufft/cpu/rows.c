/* The inner loops of the NUFFT: window values of a point, and its rows of cells. Compiled once per instruction set
 * and precision. SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "nufft/cpu/points.h"

#if defined(__AVX512F__)
enum { BYTES = 64 };
#elif defined(__AVX2__)
enum { BYTES = 32 };
#else
enum { BYTES = 16 };
#endif
enum { LANES = BYTES / sizeof(real), MOST = DOUBLED_PITCH / LANES, AHEAD = 12, ALIGNED = BYTES == 64 };

typedef real vec __attribute__((vector_size(BYTES), may_alias));
typedef real loose __attribute__((vector_size(BYTES), aligned(sizeof(real)), may_alias)); /* at any real's address */

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")

/* n vectors of window values at t, by Horner's scheme. */
INLINE void window_at(const int n, int degree, const real *coefficients, const int pitch, real t, vec *out)
{
    const real *c = coefficients + degree * pitch;
    UNROLL for (int v = 0; v < n; v++) out[v] = *(const loose *)(c + v * LANES);
    for (int k = degree; k > 0; k--) {
        c -= pitch;
        UNROLL for (int v = 0; v < n; v++) out[v] = out[v] * t + *(const loose *)(c + v * LANES);
    }
}

/* n vectors of stored window values, each number twice; zeros past the width. */
INLINE void stored_doubled(const int n, int w, const real *stored, vec *out)
{
    typedef __typeof__((vec){0} == (vec){0}) lanes;
    UNROLL for (int v = 0; v < n; v++)
    {
        const vec values = *(const loose *)(stored + v * (LANES / 2));
        vec twice, place;
        UNROLL for (int l = 0; l < LANES; l++)
        {
            twice[l] = values[l / 2];
            place[l] = (real)(v * LANES + l);
        }
        out[v] = (vec)((lanes)twice & (place < (real)(2 * w)));
    }
}

INLINE int64_t index_of(const lmr_rows_job *j, int64_t i)
{
    return j->in_order ? j->first_value + i : lmr_point_index(j->points, j->point_size, j->upper, i);
}

INLINE void first_values(const int w, const int n, const int ndim, const lmr_rows_job *j, int64_t i,
                         const lmr_point *p, vec *kx)
{
    if (j->stored)
        stored_doubled(n, w, j->stored + i * ndim * w, kx);
    else
        window_at(n, j->degree, j->doubled, DOUBLED_PITCH, p->t[0], kx);
}

/* Window values of the second and third dimension; 1 where there is none. */
INLINE void side_values(const int w, const int n, const int ndim, const lmr_rows_job *j, int64_t i,
                        const lmr_point *p, vec *ky, vec *kz)
{
    if (j->stored) {
        const real *stored = j->stored + (i * ndim + 1) * w;
        UNROLL for (int v = 0; v < n && ndim > 1; v++) ky[v] = *(const loose *)(stored + v * LANES);
        UNROLL for (int v = 0; v < n && ndim > 2; v++) kz[v] = *(const loose *)(stored + w + v * LANES);
        return;
    }
    if (ndim > 1) window_at(n, j->degree, j->plain, PLAIN_PITCH, p->t[1], ky);
    if (ndim > 2) window_at(n, j->degree, j->plain, PLAIN_PITCH, p->t[2], kz);
}

/* Rows begin at whole vectors plus an offset: with the window's values moved by it, no vector crosses cache lines.
 * n vectors go in, n + 1 come out. Returns the offset. */
INLINE int align_values(const int n, const real *cell, vec *k)
{
    const int offset = (int)((uintptr_t)cell % BYTES / sizeof(real));
    vec room[MOST + 1];
    room[0] = room[n] = (vec){0};
    UNROLL for (int v = 0; v < n; v++) * (loose *)((real *)room + offset + v * LANES) = k[v];
    UNROLL for (int v = 0; v <= n; v++) k[v] = room[v];
    return offset;
}

/* One plane of n vectors in each row. */
INLINE void spread_plane(const int n, const int rows, const lmr_rows_job *j, const vec *kc, const real *ky,
                         real *cell)
{
    for (int y = 0; y < rows; y++) {
        loose *row = (loose *)(cell + y * j->row);
        const real side = ky[y];
        UNROLL for (int v = 0; v < n; v++) row[v] += kc[v] * side;
    }
}

INLINE void spread_rows(const int n, const int w, const int ndim, const lmr_rows_job *j, const vec *kc,
                        const real *ky, const real *kz, real *cell)
{
    if (ndim == 1) {
        UNROLL for (int v = 0; v < n; v++)((loose *)cell)[v] += kc[v];
        return;
    }
    const int planes = ndim > 2 ? w : 1;
    for (int z = 0; z < planes; z++) {
        vec kp[MOST + 1];
        UNROLL for (int v = 0; v < n; v++) kp[v] = kc[v] * (ndim > 2 ? kz[z] : 1);
        spread_plane(n, w, j, kp, ky, cell + z * j->plane);
    }
}

INLINE void spread_points(const int w, const int n, const int ndim, const lmr_rows_job *j)
{
    const int more = ndim > 2 && n > 1 && ALIGNED;
    for (int64_t i = 0; i < j->count; i++) {
        vec k[MOST + 1], kc[MOST + 1], ky[MOST], kz[MOST];
        const lmr_point *p = lmr_point_of(j->points, j->point_size, i);
        const int64_t index = index_of(j, i);
        first_values(w, n, ndim, j, i, p, k);
        side_values(w, (n + 1) / 2, ndim, j, i, p, ky, kz);
        real *first = j->tile + 2 * (ptrdiff_t)p->at;
        const int offset = more ? align_values(n, first, k) : 0;
        /* values lie in the caller's order: without this, waiting for them takes most of the time */
        const int64_t soon = index_of(j, i + AHEAD < j->count ? i + AHEAD : i);
        for (int64_t b = 0; b < j->batch; b++) {
            const real *values = j->from + b * j->value_pitch, *value = values + 2 * index;
            __builtin_prefetch(values + 2 * soon);
            vec c;
            UNROLL for (int l = 0; l < LANES; l++) c[l] = value[l % 2];
            UNROLL for (int v = 0; v < n + more; v++) kc[v] = k[v] * c;
            real *cell = first + b * j->tile_pitch - offset;
            if (!more || offset + 2 * w <= n * LANES)
                spread_rows(n, w, ndim, j, kc, (const real *)ky, (const real *)kz, cell);
            else
                spread_rows(n + 1, w, ndim, j, kc, (const real *)ky, (const real *)kz, cell);
        }
    }
}

INLINE void interp_rows(const int n, const int w, const int ndim, const lmr_rows_job *j, const real *ky,
                        const real *kz, const real *cell, vec *sum)
{
    const int rows = ndim > 1 ? w : 1;
    const int planes = ndim > 2 ? w : 1;
    UNROLL for (int v = 0; v < n; v++) sum[v] = (vec){0};
    for (int z = 0; z < planes; z++) {
        vec plane[MOST + 1]; /* of their own, so that planes need not wait for each other */
        UNROLL for (int v = 0; v < n; v++) plane[v] = (vec){0};
        for (int y = 0; y < rows; y++) {
            const loose *row = (const loose *)(cell + z * j->plane + y * j->row);
            const real side = ndim > 1 ? ky[y] : 1;
            UNROLL for (int v = 0; v < n; v++) plane[v] += row[v] * side;
        }
        UNROLL for (int v = 0; v < n; v++) sum[v] += plane[v] * (ndim > 2 ? kz[z] : 1);
    }
}

INLINE void interp_points(const int w, const int n, const int ndim, const lmr_rows_job *j)
{
    const int more = ndim > 2 && n > 2 && ALIGNED;
    for (int64_t i = 0; i < j->count; i++) {
        vec k[MOST + 1], sum[MOST + 1], ky[MOST], kz[MOST];
        const lmr_point *p = lmr_point_of(j->points, j->point_size, i);
        const int64_t index = index_of(j, i);
        first_values(w, n, ndim, j, i, p, k);
        side_values(w, (n + 1) / 2, ndim, j, i, p, ky, kz);
        const real *first = j->tile + 2 * (ptrdiff_t)p->at;
        const int offset = more ? align_values(n, first, k) : 0;
        for (int64_t b = 0; b < j->batch; b++) {
            const real *cell = first + b * j->tile_pitch - offset;
            vec total;
            if (!more || offset + 2 * w <= n * LANES) {
                interp_rows(n, w, ndim, j, (const real *)ky, (const real *)kz, cell, sum);
                total = sum[0] * k[0];
                UNROLL for (int v = 1; v < n; v++) total += sum[v] * k[v];
            } else {
                interp_rows(n + 1, w, ndim, j, (const real *)ky, (const real *)kz, cell, sum);
                total = sum[0] * k[0];
                UNROLL for (int v = 1; v <= n; v++) total += sum[v] * k[v];
            }
            real re = 0, im = 0;
            UNROLL for (int l = 0; l < LANES; l += 2)
            {
                re += total[l];
                im += total[l + 1];
            }
            real *value = j->to + b * j->value_pitch + 2 * index;
            value[0] = re;
            value[1] = im;
        }
    }
}

/* Bodies differ by what is a constant in them: the dimension, the vectors of a row and, in one dimension and where
 * rows are short, the width: loops over rows are unrolled then. Bodies are most of the compiler's work, so x86
 * without AVX2, which is rare, has fewer: one for all dimensions, and for some numbers of vectors. */
#if defined(__x86_64__) && !defined(__AVX2__)
enum { FEW = 1, SHORT = 0 };
#else
enum { FEW = 0, SHORT = 8 };
#endif

/* Vectors that hold 2 w reals; the window's values are zeros in those beyond. */
INLINE int vectors_of(const int w)
{
    const int n = (2 * w + LANES - 1) / LANES;
    if (!FEW || n < 2) return n;
    return n <= 8 ? (n + 1) / 2 * 2 : (n + 3) / 4 * 4;
}

#if defined(__SANITIZE_ADDRESS__)
/* One body: it touches the same memory, and compiles much faster. */
#define DIMENSION(body, ndim) body(j->width, vectors_of(j->width), ndim, j);
#else
#define WIDTH(body, w, ndim)                                                                                         \
    case w:                                                                                                          \
        if (w <= SHORT || (ndim == 1 && !FEW)) {                                                                     \
            body(w, vectors_of(w), ndim, j);                                                                         \
            return;                                                                                                  \
        }                                                                                                            \
        break;
#define VECTORS(body, n, ndim)                                                                                       \
    case n:                                                                                                          \
        if (n <= MOST && (FEW ? n < 2 || n % (n > 8 ? 4 : 2) == 0 : ndim > 1))                                       \
            body(j->width, n <= MOST ? n : 1, ndim, j);                                                              \
        break;
#define DIMENSION(body, ndim)                                                                                        \
    switch (j->width) {                                                                                              \
        WIDTH(body, 2, ndim)                                                                                         \
        WIDTH(body, 3, ndim)                                                                                         \
        WIDTH(body, 4, ndim)                                                                                         \
        WIDTH(body, 5, ndim)                                                                                         \
        WIDTH(body, 6, ndim)                                                                                         \
        WIDTH(body, 7, ndim)                                                                                         \
        WIDTH(body, 8, ndim)                                                                                         \
        WIDTH(body, 9, ndim)                                                                                         \
        WIDTH(body, 10, ndim)                                                                                        \
        WIDTH(body, 11, ndim)                                                                                        \
        WIDTH(body, 12, ndim)                                                                                        \
        WIDTH(body, 13, ndim)                                                                                        \
        WIDTH(body, 14, ndim)                                                                                        \
        WIDTH(body, 15, ndim)                                                                                        \
        WIDTH(body, 16, ndim)                                                                                        \
    }                                                                                                                \
    switch (vectors_of(j->width)) {                                                                                  \
        VECTORS(body, 1, ndim)                                                                                       \
        VECTORS(body, 2, ndim)                                                                                       \
        VECTORS(body, 3, ndim)                                                                                       \
        VECTORS(body, 4, ndim)                                                                                       \
        VECTORS(body, 5, ndim)                                                                                       \
        VECTORS(body, 6, ndim)                                                                                       \
        VECTORS(body, 7, ndim)                                                                                       \
        VECTORS(body, 8, ndim)                                                                                       \
        VECTORS(body, 9, ndim)                                                                                       \
        VECTORS(body, 10, ndim)                                                                                      \
        VECTORS(body, 11, ndim)                                                                                      \
        VECTORS(body, 12, ndim)                                                                                      \
        VECTORS(body, 13, ndim)                                                                                      \
        VECTORS(body, 14, ndim)                                                                                      \
        VECTORS(body, 15, ndim)                                                                                      \
        VECTORS(body, 16, ndim)                                                                                      \
    }
#endif

#define DIMENSIONS(name)                                                                                             \
    static void name##_1d(const lmr_rows_job *j)                                                                     \
    {                                                                                                                \
        DIMENSION(name##_points, 1)                                                                                  \
    }                                                                                                                \
    static void name##_2d(const lmr_rows_job *j)                                                                     \
    {                                                                                                                \
        DIMENSION(name##_points, 2)                                                                                  \
    }                                                                                                                \
    static void name##_3d(const lmr_rows_job *j)                                                                     \
    {                                                                                                                \
        DIMENSION(name##_points, 3)                                                                                  \
    }                                                                                                                \
    static void name##_nd(const lmr_rows_job *j)                                                                     \
    {                                                                                                                \
        DIMENSION(name##_points, j->ndim)                                                                            \
    }                                                                                                                \
    static void name(const lmr_rows_job *j)                                                                          \
    {                                                                                                                \
        if (FEW)                                                                                                     \
            name##_nd(j);                                                                                            \
        else if (j->ndim == 1)                                                                                       \
            name##_1d(j);                                                                                            \
        else if (j->ndim == 2)                                                                                       \
            name##_2d(j);                                                                                            \
        else                                                                                                         \
            name##_3d(j);                                                                                            \
    }
/* NOLINTBEGIN(bugprone-branch-clone): with FEW, or one body for the sanitizer, both widths are the same call */
DIMENSIONS(spread)
DIMENSIONS(interp)
/* NOLINTEND(bugprone-branch-clone) */

/* ---- where points go ---- */

#if LMR_REAL == 64 && !defined(__FMA__) && !defined(__ARM_FEATURE_FMA)
/* a b - x where x is the product rounded (Dekker, Numer. Math. 18, 224 (1971)): halves of 26 bits multiply
 * exactly. */
INLINE double product_rest(double a, double b, double x)
{
    const double split = 0x1p27 + 1, a_top = a * split - (a * split - a), b_top = b * split - (b * split - b),
                 a_end = a - a_top, b_end = b - b_top;
    return ((a_top * b_top - x) + a_top * b_end + a_end * b_top) + a_end * b_end;
}
#endif

/* x = k scale, split into a double and a small rest, so that the position within a cell keeps all bits of `real`. */
INLINE double cells_of(const lmr_axis *a, double k, double *rest)
{
    const double x = k * a->scale;
#if LMR_REAL == 32
    *rest = 0;
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    *rest = __builtin_fma(k, a->scale, -x) + k * a->scale_rest;
#else
    *rest = product_rest(k, a->scale, x) + k * a->scale_rest;
#endif
    return x;
}

/* The first cell that a point touches. Compilers contract a product and a sum in one place and not in the other:
 * points must be counted and placed by the same cells, so it is said which. */
INLINE double first_cell(const lmr_axis *a, double k)
{
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
    return __builtin_ceil(__builtin_fma(k, a->scale, -a->half_width));
#else
    return __builtin_ceil(k * a->scale - a->half_width);
#endif
}

/* Floor and ceil of quotients of integers, n / cells and n / tiles, by products with the reciprocals: with a half
 * added or subtracted quotients are at least half a unit of the divisor away from an integer, and rounding moves them
 * by less, as cells * tiles is below 2^51. */
INLINE void place_axis(const lmr_axis *of, const int is_all, int count, const double *restrict k,
                       double *restrict tile, double *restrict at, real *restrict t)
{
    const lmr_axis a = *of; /* else conditional loads keep loops from being vectorized */
    for (int i = 0; i < count; i++) {
        double rest;
        const double x = cells_of(&a, k[i], &rest);
        double cell = first_cell(&a, k[i]);
        if (is_all) t[i] = (real)(2 * (cell + a.half_width - x - rest) - 1);
        cell += cell < 0 ? a.cells : 0;
        const double side = __builtin_floor(((cell + 1) * a.tiles - 0.5) * a.per_cells);
        tile[i] += a.tile_stride * side;
        if (is_all) at[i] += a.stride * (cell - __builtin_floor((side * a.cells + 0.5) * a.per_tiles));
    }
}

/* What remainder(k, 2 half) is, of all, exactly, for |k| below 2^52: product and difference are not rounded, and a
 * quotient that is not a tie does not become one, as its neighbours in k are more than half its unit away. */
INLINE void fold(double half, int count, double *restrict k)
{
    for (int i = 0; i < count; i++) k[i] -= __builtin_rint(k[i] / (2 * half)) * (2 * half);
}

/* Coordinate d of the points, folded to the grid. Returns the first that is not finite, or the count. */
INLINE int load_axis(const lmr_place_job *j, const int stride, int d, double *restrict k)
{
    const double half = j->axis[d].half_modes, factor = j->factor[d];
    const double *doubles = j->first[d];
    const float *floats = j->first[d];
    const int count = j->count;
    int outside = 0, far = 0;
    if (j->is_double)
        for (int i = 0; i < count; i++) k[i] = doubles[i * stride] * factor;
    else
        for (int i = 0; i < count; i++) k[i] = (double)floats[i * stride] * factor;
    for (int i = 0; i < count; i++) outside |= !(__builtin_fabs(k[i]) <= half);
    if (!outside) return count;
    for (int i = 0; i < count; i++) far |= !(__builtin_fabs(k[i]) < 0x1p52);
    if (!far) fold(half, count, k);
    for (int i = 0; far && i < count; i++) {
        if (!isfinite(k[i])) return i;
        if (fabs(k[i]) > half) k[i] = remainder(k[i], 2 * half);
    }
    return count;
}

INLINE void tiles_of(lmr_place_job *j, const int ndim, double (*k)[PLACE_BLOCK])
{
    double tile[PLACE_BLOCK] = {0};
    for (int d = 0; d < ndim; d++) place_axis(&j->axis[d], 0, j->count, k[d], tile, NULL, NULL);
    for (int i = 0; i < j->count; i++) j->tile[i] = (int32_t)tile[i];
}

INLINE void places_of(lmr_place_job *j, const int ndim, double (*k)[PLACE_BLOCK])
{
    double tile[PLACE_BLOCK] = {0}, at[PLACE_BLOCK] = {0};
    for (int d = 0; d < ndim; d++) place_axis(&j->axis[d], 1, j->count, k[d], tile, at, j->t[d]);
    for (int i = 0; i < j->count; i++) {
        j->tile[i] = (int32_t)tile[i];
        j->at[i] = (int32_t)at[i];
    }
}

INLINE int place_points(lmr_place_job *j, const int ndim)
{
    double k[3][PLACE_BLOCK];
    int good = j->count;
    for (int d = 0; d < ndim; d++) {
        const int finite = j->stride == 1 ? load_axis(j, 1, d, k[d]) : load_axis(j, ndim, d, k[d]);
        good = finite < good ? finite : good;
    }
    if (good < j->count) return good;
    if (j->what == PLACE_ALL) places_of(j, ndim, k);
    if (j->what == PLACE_TILES) tiles_of(j, ndim, k);
    return -1;
}

static int place(lmr_place_job *j)
{
    if (j->ndim == 1) return place_points(j, 1);
    return j->ndim == 2 ? place_points(j, 2) : place_points(j, 3);
}

/* ---- sparse products ---- */

INLINE int64_t index_at(const int long_index, const void *indices, int64_t i)
{
    return long_index ? ((const int64_t *)indices)[i] : ((const int32_t *)indices)[i];
}

/* Reals from .. from + n - 1 of all rows: each entry is read once for n / 2 transforms. Two sums, so that additions
 * need not wait for each other. */
#define PRODUCT(n)                                                                                                   \
    typedef real group##n __attribute__((vector_size((n) * sizeof(real))));                                          \
    typedef real loose##n __attribute__((vector_size((n) * sizeof(real)), aligned(sizeof(real)), may_alias));        \
    INLINE void product##n(const int long_index, const lmr_product_job *j, int64_t from)                             \
    {                                                                                                                \
        const lmr_sparse *a = j->a;                                                                                  \
        const int64_t pitch = 2 * j->batch;                                                                          \
        const real *x = j->x + from;                                                                                 \
        for (int64_t r = j->first; r < j->end; r++) {                                                                \
            const int64_t end = index_at(long_index, a->offset, r + 1);                                              \
            int64_t e = index_at(long_index, a->offset, r);                                                          \
            group##n sum = {0}, other = {0};                                                                         \
            for (; e + 1 < end; e += 2) {                                                                            \
                sum += a->value[e] * *(const loose##n *)(x + pitch * index_at(long_index, a->column, e));            \
                other += a->value[e + 1] * *(const loose##n *)(x + pitch * index_at(long_index, a->column, e + 1));  \
            }                                                                                                        \
            if (e < end) sum += a->value[e] * *(const loose##n *)(x + pitch * index_at(long_index, a->column, e));   \
            *(loose##n *)(j->y + r * pitch + from) = sum + other;                                                    \
        }                                                                                                            \
    }
PRODUCT(2)
PRODUCT(4)
PRODUCT(8)
PRODUCT(16)

INLINE void product(const int long_index, const lmr_product_job *j)
{
    const int64_t reals = 2 * j->batch;
    int64_t from = 0;
    for (; from + 16 <= reals; from += 16) product16(long_index, j, from);
    if (from + 8 <= reals) {
        product8(long_index, j, from);
        from += 8;
    }
    if (from + 4 <= reals) {
        product4(long_index, j, from);
        from += 4;
    }
    if (from < reals) product2(long_index, j, from);
}

static void multiply(const lmr_product_job *j)
{
    if (j->a->long_index)
        product(1, j);
    else
        product(0, j);
}

const lmr_rows LMR_ROWS = {place, spread, interp, multiply};
