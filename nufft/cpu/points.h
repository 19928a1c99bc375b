/* Points in the order of tiles of the fine grid, and the inner loops over them. Included with core/real.h.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/real.h"
#include "nufft/kernels.h"

/* Rows are computed in whole vectors, of 64 bytes at most: the tables of the window are padded to that. */
enum { PLAIN_PITCH = 16, DOUBLED_PITCH = 32, DEGREES = 24, COLOURS = 27 };

/* A point as the inner loops need it. In an array of them, those beyond ndim of t are left out, and so is the index
 * where points keep the order of their values: there a record begins in the end of the one before. Where values are
 * more than 2^32 the upper half of the index follows the last t. */
typedef struct lmr_point {
    uint32_t index; /* of its value, the lower half; not to be read where points are in order */
    int32_t at;     /* its first cell in the padded tile */
    real t[3];      /* the polynomials' arguments */
} lmr_point;

/* Where the upper half of a record's index lies. */
static inline size_t lmr_point_upper(int ndim)
{
    return offsetof(lmr_point, t) + (size_t)ndim * sizeof(real);
}

static inline size_t lmr_point_size(int ndim, int in_order, int has_upper)
{
    const size_t size =
        lmr_point_upper(ndim) - (in_order ? sizeof(uint32_t) : 0) + (has_upper ? sizeof(uint32_t) : 0);
    return (size + sizeof(real) - 1) / sizeof(real) * sizeof(real);
}

static inline const lmr_point *lmr_point_of(const void *points, size_t size, int64_t i)
{
    return (const lmr_point *)((const char *)points + (size_t)i * size);
}

/* upper: 0 where indices have no upper half. */
static inline int64_t lmr_point_index(const void *points, size_t size, size_t upper, int64_t i)
{
    const lmr_point *p = lmr_point_of(points, size, i);
    const int64_t index = p->index;
    return upper ? index | (int64_t) * (const uint32_t *)((const char *)p + upper) << 32 : index;
}

/* How a dimension of the grid is cut into tiles of nearly equal size: tile k begins at floor(cells k / tiles). All in
 * doubles, which hold these integers exactly: vectors of them are fast. */
typedef struct lmr_axis {
    double scale, scale_rest; /* cells per cycle, in two parts: to twice the precision */
    double half_modes, half_width;
    double cells, tiles;         /* their product is at most 2^50 */
    double per_cells, per_tiles; /* 1 / cells, 1 / tiles */
    double stride, tile_stride;  /* of the padded tile, in cells, and of the tiles */
} lmr_axis;

enum { PLACE_BLOCK = 512 };

typedef enum lmr_place_what { PLACE_ALL, PLACE_TILES, PLACE_NOTHING } lmr_place_what;

/* Where points go: tile, at and t [ndim, PLACE_BLOCK] come out, or tile alone, or nothing but whether all are finite.
 * Coordinate d of point i is that number from first[d] on, stride numbers from one point to the next, times
 * factor[d]. */
typedef struct lmr_place_job {
    lmr_place_what what;
    int ndim, count;
    int is_double; /* coordinates are doubles, whatever `real` is */
    const void *first[3];
    int64_t stride; /* 1 or ndim */
    double factor[3];
    lmr_axis axis[3];
    int32_t tile[PLACE_BLOCK], at[PLACE_BLOCK];
    real t[3][PLACE_BLOCK];
} lmr_place_job;

/* Some points of one tile, and the padded tile that they touch. Complex data are interleaved reals. */
typedef struct lmr_rows_job {
    int ndim, width, degree;
    const real *doubled; /* [degree + 1, DOUBLED_PITCH], every coefficient twice in a row, then zeros */
    const real *plain;   /* [degree + 1, PLAIN_PITCH] */
    int64_t count;
    const void *points;       /* lmr_point, point_size bytes from one to the next */
    size_t point_size, upper; /* upper: of lmr_point_index */
    int in_order;             /* points' values lie in their order: */
    int64_t first_value;      /* from this one on */
    const real *stored;       /* [count, ndim, width]: the points' window values; NULL: to be computed */
    ptrdiff_t row, plane;     /* strides of the padded tile, in reals */
    int64_t batch;
    real *tile;
    ptrdiff_t tile_pitch; /* reals from a transform's tile to the next one's */
    const real *from;     /* spread: values */
    real *to;             /* interp: values */
    ptrdiff_t value_pitch;
} lmr_rows_job;

/* Compressed sparse rows. Indices are int64_t if long_index, else int32_t. */
typedef struct lmr_sparse {
    int long_index;
    int64_t rows;
    void *offset, *column; /* [rows + 1], [entries] */
    real *value;           /* [entries] */
} lmr_sparse;

/* Rows first .. end - 1 of y = a x for complex x and y [batch, columns] and [batch, rows]. */
typedef struct lmr_product_job {
    const lmr_sparse *a;
    int64_t first, end, batch;
    const real *x;
    real *y;
} lmr_product_job;

/* Tiles of points; tile += values times window; values = window times tile; sparse products. Compiled for several
 * instruction sets. */
typedef struct lmr_rows {
    int (*place)(lmr_place_job *job); /* returns the first point that is not finite, or -1 */
    void (*spread)(const lmr_rows_job *job);
    void (*interp)(const lmr_rows_job *job);
    void (*multiply)(const lmr_product_job *job);
} lmr_rows;

/* Consecutive points of one tile. */
typedef struct lmr_chunk {
    int64_t tile, first, count;
} lmr_chunk;

typedef struct lmr_points {
    int64_t m;
    int threads;
    void *points;                    /* lmr_point [m], point_size bytes from one to the next */
    size_t point_size, upper, bytes; /* upper: of lmr_point_index; bytes: of all points */
    int binned;   /* the points of a tile are sorted further, BIN_POINTS at a time, by bins of its cells */
    int in_order; /* one tile is the whole grid, and points are as they came, without their indices */

    int64_t tiles[3], tile_count;
    int64_t *first;    /* [tile_count + 1]: the first point of a tile */
    int64_t extent[3]; /* of the largest padded tile */
    ptrdiff_t padded;  /* reals of a padded tile, with room for one vector at the end */

    int64_t *light, light_first[COLOURS + 1]; /* tiles to spread one by one, by colour */
    lmr_chunk *heavy, *chunks;                /* of the tiles with many points; of all tiles; in_order: none, all */
    int64_t heavies, chunk_count;

    int64_t tile_batch;   /* transforms whose tiles a thread holds at once */
    int64_t spread_batch; /* and those that it spreads at once, not more */
    int64_t buffers;
    real *buffer; /* [buffers, tile_batch, padded] */
    size_t buffer_bytes;

    lmr_rows rows;
    real *doubled, *plain;
    const real *stored; /* [m, ndim, width], or NULL; not owned */
} lmr_points;

/* The first cell of tile k of a dimension; cells * tiles is at most 2^50. */
static inline int64_t lmr_tile_start(int64_t cells, int64_t tiles, int64_t k)
{
    return cells * k / tiles;
}

/* The range of cells of a tile, padded: origin and size, 0 and 1 beyond ndim. */
static inline void lmr_tile_box(const lmr_nufft_geometry *g, const lmr_points *p, int64_t tile, int64_t origin[3],
                                int64_t size[3])
{
    for (int d = 0; d < 3; d++) {
        const int64_t k = tile % p->tiles[d];
        tile /= p->tiles[d];
        origin[d] = lmr_tile_start(g->cells[d], p->tiles[d], k);
        const int64_t end = lmr_tile_start(g->cells[d], p->tiles[d], k + 1);
        size[d] = d < g->ndim ? end - origin[d] + g->width - 1 : 1;
    }
}

static inline int64_t lmr_index_of(const lmr_points *p, int64_t i)
{
    return p->in_order ? i : lmr_point_index(p->points, p->point_size, p->upper, i);
}

/* The work on a chunk; tile, batch, from, to are left to the caller. */
static inline lmr_rows_job lmr_chunk_job(const lmr_nufft_geometry *g, const lmr_points *p, int64_t first,
                                         int64_t count)
{
    return (lmr_rows_job){.ndim = g->ndim,
                          .width = g->width,
                          .degree = g->degree,
                          .doubled = p->doubled,
                          .plain = p->plain,
                          .count = count,
                          .points = lmr_point_of(p->points, p->point_size, first),
                          .point_size = p->point_size,
                          .upper = p->upper,
                          .in_order = p->in_order,
                          .first_value = first,
                          .stored = p->stored ? p->stored + first * g->ndim * g->width : NULL,
                          .row = 2 * p->extent[0],
                          .plane = 2 * p->extent[0] * p->extent[1],
                          .tile_pitch = p->padded,
                          .value_pitch = 2 * p->m};
}

extern const lmr_rows R(lmr_rows_base);
#if defined(__x86_64__)
extern const lmr_rows R(lmr_rows_avx2), R(lmr_rows_avx512);
#endif

/* Bytes that sorting a tile's points by bins takes for a moment, and that: in their old order otherwise, BIN_POINTS
 * at a time. */
size_t R(lmr_bins_scratch)(const lmr_points *p);
void R(lmr_bins_sort)(const lmr_points *p, void *scratch);

larmor_status R(lmr_cpu_nufft_spread)(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch,
                                      const void *values, void *cells);
larmor_status R(lmr_cpu_nufft_interp)(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch,
                                      const void *cells, void *values);
larmor_status R(lmr_cpu_nufft_crop)(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *cells,
                                    void *modes);
larmor_status R(lmr_cpu_nufft_pad)(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *modes,
                                   void *cells);
