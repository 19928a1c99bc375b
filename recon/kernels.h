/* What reconstruction needs from a device beyond vectors and the NUFFT. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "larmor/status.h"

#define LMR_RECON_ABI 3

/* What `lines` says of a readout. The first that is wrong counts. */
typedef enum lmr_line_fault {
    LMR_LINE_GOOD,
    LMR_LINE_WITHOUT_EXTENT,
    LMR_LINE_LEFT,   /* by more than 0.5 from the straight line */
    LMR_LINE_AWAY,   /* from the centre */
    LMR_LINE_TURNED, /* back */
} lmr_line_fault;

/* A readout as positions t along its line: the outer edges of its outer cells; low is 0 for one that starts in the
 * centre. rising: 1 if t grows along the readout. Doubles alone, so that it is the same for every compiler. */
typedef struct lmr_line {
    double low, high, rising, fault;
} lmr_line;

/* What `survey` looks at: readouts first to first + count - 1 of complex samples [n, readouts, coils]. A spike is a
 * sample of a ring from `from` on, `ratio` times its ring's level, and the samples three to five samples away in its
 * readout, and `beside` times those at its place in the readouts before and after. All arrays are the host's. */
typedef struct lmr_survey_of {
    int64_t n, readouts, coils, first, count;
    int rings, from;
    double ratio, beside;
    const float *radius; /* [n, count], 0 to 1: ring i begins at i / rings */
    const double *level; /* [rings, coils] */
} lmr_survey_of;

/* What it finds in one coil, in single precision. Doubles alone, as in lmr_line. */
typedef struct lmr_survey {
    double most;            /* of the real and imaginary parts' sizes */
    double spikes, largest; /* how many; the magnitude of the largest one */
    double at;              /* and its sample, the first of those that are as large */
} lmr_survey;

/* A real or imaginary part of a coil's samples, number `at` of all parts, with the other part of that sample. */
typedef struct lmr_part {
    double at, own, other;
} lmr_part;

/* One table per precision. All arrays are on the device, but for those of faults, of which x alone is. Complex ones
 * are pairs of the table's precision; points, weights and whatever else is `double` is so in both tables. Points are
 * [nd, m]. Every sum is taken in an order that depends on the sizes alone. Outputs never alias inputs but where only
 * one array is named. */
typedef struct lmr_recon_kernels {
    /* ---- samples ---- */

    /* index <- that of the first number that is not finite or below low, or -1; waits. */
    larmor_status (*outlier)(void *ctx, int64_t n, const double *x, double low, int64_t *index);
    /* index [m, device] <- those of the points with sum_d (k_d / radius_d)^2 < limit^2, ascending, and their count
     * (host); waits. */
    larmor_status (*select)(void *ctx, int nd, int64_t m, const double *points, const double radius[3], double limit,
                            int64_t *index, int64_t *count);
    /* to [nd, m] <- scale times the columns index[j] of from [nd, ...]; index NULL: column j. */
    larmor_status (*pick)(void *ctx, int nd, int64_t m, const int64_t *index, double scale, const double *from,
                          double *to);
    /* to [m, coils] <- w[j] from[index[j], c]; from is complex [samples, coils]. */
    larmor_status (*gather)(void *ctx, int64_t samples, int64_t m, int64_t coils, const int64_t *index,
                            const double *w, const void *from, void *to);
    /* w <- w cos^2(pi/2 |k / radius|): Hann's window, 0 on the edge. */
    larmor_status (*taper)(void *ctx, int nd, int64_t m, const double *points, const double radius[3], double *w);

    /* ---- faults ---- */

    /* energy [n, count] <- the sums of |x|^2 over the coils; repeats [readouts] <- 0 where it was 1 and the readout's
     * samples are not those of the readout before in all coils; found [coils]; waits. */
    larmor_status (*survey)(void *ctx, const lmr_survey_of *of, const void *x, double *energy, unsigned char *repeats,
                            lmr_survey *found);
    /* part [room, coils] <- the parts of x, complex [points, coils], whose size is at least limit [coils], ascending;
     * count [coils] <- how many there are; where they are more than room, part has none of that coil; waits. */
    larmor_status (*ceiling)(void *ctx, int64_t points, int64_t coils, int64_t room, const float *limit,
                             const void *x, lmr_part *part, int64_t *count);
    /* sum [rings, readouts, coils] <- the sums of |x|^2, in single precision, over the samples of each readout that
     * are in each ring, of x, complex [n, readouts, coils]; ring [n, readouts]; at most 32 rings; waits. */
    larmor_status (*energies)(void *ctx, int64_t n, int64_t readouts, int64_t coils, int rings,
                              const unsigned char *ring, const void *x, double *sum);

    /* ---- density ---- */

    /* Positions t [n, readouts] along the readouts' lines, with the direction of the farthest sample, and the lines.
     */
    larmor_status (*lines)(void *ctx, int nd, int64_t n, int64_t readouts, const double *points, double *t,
                           lmr_line *line);
    /* w <- the integral of |t|^(nd-1) over each sample's cell, times the angle of a ray where as many reach it as ray
     * [rays], sorted by falling length, says. */
    larmor_status (*ramp)(void *ctx, int nd, int64_t n, int64_t readouts, const double *t, const lmr_line *line,
                          int64_t rays, const double *ray, double *w);
    /* y, complex [dim...], <- scale times the part of a ball that it shares with itself moved by rho diameters, rho
     * the distance from index dim/2 in units of dim/2. */
    larmor_status (*overlap)(void *ctx, int nd, const int64_t dim[3], double scale, void *y);
    /* w <- w / |g| where g, complex, is not 0; g <- w. */
    larmor_status (*balance)(void *ctx, int64_t m, double *w, void *g);

    /* ---- coils ---- */

    /* cov, complex double [coils, coils], <- sum_t x[t,i] conj(x[t,j]) of x, complex [m, coils]; sums in double. */
    larmor_status (*covariance)(void *ctx, int64_t m, int64_t coils, const void *x, void *cov);
    /* y [n, count] <- x[., i] conj(x[., j]) for the pairs i <= j number first .. first + count - 1, counted as
     * (0,0), (0,1), (1,1), (0,2), ...; x is complex [n, coils]. */
    larmor_status (*products)(void *ctx, int64_t n, int64_t first, int64_t count, const void *x, void *y);
    /* y [dim0, n, dim2] <- x [dim...] filtered along the middle: y[o] = sum_t taps[t] x[stride o + shift + (t -
     * count/2) step], 0 beyond the edges. taps: on the device. */
    larmor_status (*filter)(void *ctx, const int64_t dim[3], int64_t n, int64_t count, const double *taps,
                            int64_t step, int64_t stride, int64_t shift, const void *x, void *y);
    /* cov[i, j, p] <- sums[p, pair] for the pairs of products, and cov[i, j, pixels] <- their sum over all pixels. */
    larmor_status (*scatter)(void *ctx, int64_t pixels, int64_t coils, int64_t first, int64_t count, const void *sums,
                             void *cov);
    /* maps [pixels, coils] <- the last columns of vectors [coils, coils, pixels + 1], each with the phase with which
     * its product with that of the last matrix is real and positive. */
    larmor_status (*align)(void *ctx, int64_t pixels, int64_t coils, const void *vectors, void *maps);

    /* ---- images ---- */

    /* y [dim0, n, dim2] <- x [dim...] interpolated along the middle by cubic convolution, over the same field of
     * view; the outer pixels are repeated. */
    larmor_status (*resize)(void *ctx, const int64_t dim[3], int64_t n, const void *x, void *y);
    /* y [to...] <- scale x [from...], centre (index n/2) on centre; zeros around it where y is larger. */
    larmor_status (*crop)(void *ctx, const int64_t from[3], const int64_t to[3], double scale, const void *x,
                          void *y);
    /* y [n...] <- scale times the sum of all x [from...] whose index is that of y modulo n; from are multiples of
     * n. */
    larmor_status (*fold)(void *ctx, const int64_t from[3], const int64_t n[3], double scale, const void *x, void *y);
    /* x <- re(x)^(halves / 2) where re(x) > low, else 0; halves is 1, -1 or -2. */
    larmor_status (*power)(void *ctx, int64_t n, int halves, double low, void *x);
    /* out (host) <- the largest real part, at least 0; NaN counts as 0; waits. */
    larmor_status (*largest)(void *ctx, int64_t n, const void *x, double *out);
} lmr_recon_kernels;

extern const lmr_recon_kernels lmr_cpu_recon_f32, lmr_cpu_recon_f64;
