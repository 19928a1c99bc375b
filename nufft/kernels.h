/* What the NUFFT needs from a device: sort, spread, interpolate, deconvolve. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/status.h"

#define LMR_NUFFT_ABI 8

/* How a device spreads and interpolates, where it has a choice; processors have none. */
typedef enum lmr_nufft_method {
    LMR_NUFFT_AUTO,
    LMR_NUFFT_GM,      /* a point adds to the grid, in the points' own order */
    LMR_NUFFT_GM_SORT, /* the same, in an order that keeps neighbours together */
    LMR_NUFFT_SM,      /* a tile of the grid in shared memory serves some points; spreading adds to it by atomics */
    LMR_NUFFT_OWNER    /* spreading alone: every thread owns a column of the tile; interpolation takes SM */
} lmr_nufft_method;

/* Shapes of tiles that a plan may be timed with; where they stand: cpu/tiles.h, cuda/bins.cuh. */
enum { LMR_NUFFT_SHAPES = 3 };

/* Whose rates the planner's model of cost has. */
typedef enum lmr_nufft_model { LMR_NUFFT_PROCESSOR, LMR_NUFFT_GPU, LMR_NUFFT_MODELS } lmr_nufft_model;

/* The part of a plan that kernels see. `real` is the table's precision; complex data are pairs of it. The arrays
 * cells [cells..., batch], modes [modes..., batch] and values [m, batch] are contiguous and on the device. */
typedef struct lmr_nufft_geometry {
    int ndim, width, degree;
    int type;                   /* 1: points are spread and hardly interpolated; others: both, or it is not known */
    int64_t batch;              /* most transforms in one call */
    int64_t modes[3], cells[3]; /* 1 beyond ndim; cells even and >= 2 width */
    const void *window;         /* device, real [degree + 1, width]: piece l as a polynomial in t, t^0 first */
    lmr_nufft_method method;    /* what sort prepares for */
    int tiles;                  /* shape of tiles: 0 the usual one, or another one below LMR_NUFFT_SHAPES */
    int fft_order;              /* of modes in crop and pad: 1: frequency 0 first; 0: -modes / 2 first */
    const void *factor[3];      /* device, real [modes[d]]: what deconvolution multiplies mode i - modes / 2 by */
} lmr_nufft_geometry;

enum { LMR_NUFFT_SERIES = 40 };

/* A phase factor for each point x of [ndim, m], with a modulus where g is not 0:
 * exp(sum_d (g(scale_d e_d) + 2 pi i by_d e_d)), e = x - from, where g is a Chebyshev series in 2 v^2 - 1, |v| <= 1.
 * All in double; phases are reduced to one cycle without loss. */
typedef struct lmr_nufft_phases {
    int ndim, terms; /* terms 0: g is 0 */
    double from[3], by[3], scale[3], series[LMR_NUFFT_SERIES];
} lmr_nufft_phases;

/* Points for sort_from: coordinate d of point j is that number from first[d] on, stride numbers from one point to the
 * next, times factor[d]. stride is 1 or ndim. */
typedef struct lmr_nufft_source {
    int is_double;
    int64_t stride;
    const void *first[3];
    double factor[3];
} lmr_nufft_source;

/* One table per precision. A point at x cells, 0 <= x < cells, touches cells i .. i + width - 1 (modulo the grid) in
 * each dimension, i = ceil(x - width / 2), with piece l of the window at t = 2 (i - x + width / 2) - 1 in cell i + l.
 */
typedef struct lmr_nufft_kernels {
    /* ---- what there is to choose from ---- */

    lmr_nufft_model model;
    int has_methods;              /* 1: every lmr_nufft_method, and points unsorted; 0: AUTO alone */
    lmr_nufft_method line_interp; /* what AUTO is to be where lines are interpolated and never spread */
    /* Whether the shapes of tiles differ in speed. */
    int (*has_shapes)(int ndim, lmr_nufft_method method);
    /* Bytes at most of m sorted points with g's tiles, and of what sorting takes for a moment; of the pointers in g
     * none is read. */
    double (*points_bytes)(void *ctx, const lmr_nufft_geometry *g, double m);

    /* ---- points ---- */

    /* out, in the host's memory, [count, width] numbers of 4 bytes <- those from byte at[i] of points on, i < count.
     * Waits. NULL: the host reaches them itself. */
    larmor_status (*collect)(void *ctx, int64_t count, const int64_t *at, int width, const void *points, void *out);

    /* Fold the points to the grid, x = k cells / modes, and keep them in an order that suits spread and interp.
     *
     * points   device, [ndim, m], cycles per field of view; is_double: 1 double, 0 float, whatever the table's
     *          precision.
     * bad      the index of the first point that is not finite, or -1; then *sorted is NULL.
     * sorted   to be given back with release. */
    larmor_status (*sort)(void *ctx, const lmr_nufft_geometry *g, int64_t m, int is_double, const void *points,
                          int64_t *bad, void **sorted);
    /* The same from other layouts, or NULL if the device has none.
     *
     * previous  NULL, or what sort or sort_from gave for the same g: where all goes well its memory may be taken, and
     *           all that it is good for then is release; else it is left as it was. */
    larmor_status (*sort_from)(void *ctx, const lmr_nufft_geometry *g, int64_t m, const lmr_nufft_source *from,
                               void *previous, int64_t *bad, void **sorted);
    void (*release)(void *ctx, void *sorted); /* NULL is fine */

    /* cells <- sum over the points of value times window; overwrites. interp is its transpose. */
    larmor_status (*spread)(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch, const void *values,
                            void *cells);
    larmor_status (*interp)(void *ctx, const lmr_nufft_geometry *g, void *sorted, int64_t batch, const void *cells,
                            void *values);

    /* modes <- the low frequencies of cells (index 0 is frequency 0), times the factors. pad is its transpose, for
     * the FFT's band: it fills the other frequencies with zeros, but on a processor, whose band does not read
     * them. */
    larmor_status (*crop)(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *cells, void *modes);
    larmor_status (*pad)(void *ctx, const lmr_nufft_geometry *g, int64_t batch, const void *modes, void *cells);

    /* How sorted points will be spread and interpolated; automatic where a device has no choice. */
    void (*methods)(const void *sorted, lmr_nufft_method *spread, lmr_nufft_method *interp);

    /* ---- type 3 ---- */

    /* The least and the largest coordinate of [ndim, m] points in each dimension, 0 for none; *bad as for sort, and
     * then nothing else. Waits. */
    larmor_status (*extent)(void *ctx, int ndim, int64_t m, int is_double, const void *points, double low[3],
                            double high[3], int64_t *bad);
    /* to <- (points - from) scale */
    larmor_status (*rescale)(void *ctx, int ndim, int64_t m, int is_double, const void *points, const double from[3],
                             const double scale[3], double *to);
    /* out, complex [m] */
    larmor_status (*phases)(void *ctx, const lmr_nufft_phases *w, int64_t m, int is_double, const void *points,
                            void *out);
    /* y [m, batch] <- d [m] x or conj(d) x; y may be x */
    larmor_status (*modulate)(void *ctx, int64_t m, int64_t batch, const void *d, int conj, const void *x, void *y);
} lmr_nufft_kernels;

extern const lmr_nufft_kernels lmr_cpu_nufft_f32, lmr_cpu_nufft_f64;
