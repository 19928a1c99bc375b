/* The NUFFT's window: a prolate spheroidal wave function, its transform, its error and its polynomials.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

enum {
    LMR_WINDOW_MIN = 2, /* widths, in cells of the fine grid */
    LMR_WINDOW_MAX = 16,
    LMR_WINDOW_TERMS = 48,  /* of the Legendre series */
    LMR_WINDOW_DEGREE = 23, /* of the piecewise polynomials, at most */
    LMR_WINDOW_LOG_TERMS = 24,
};

/* psi_0(x; c) on [-1, 1] with psi_0(0) = 1, stretched to |u| <= width / 2 cells. */
typedef struct lmr_window {
    int width;
    double bandlimit; /* c */
    int terms;
    long double legendre[LMR_WINDOW_TERMS];  /* coefficients of P_0, P_2, P_4, ... */
    long double ratio[2 * LMR_WINDOW_TERMS]; /* k / (k + 1), for the recurrence */
    double energy;                           /* integral of its square */
} lmr_window;

void lmr_window_make(int width, double bandlimit, lmr_window *window);

/* The window at u cells from its centre; 0 outside. */
long double lmr_window_value(const lmr_window *window, long double u);

/* Its transform, the integral of the window times exp(2 pi i xi u), xi in cycles per cell; real and even. */
double lmr_window_transform(const lmr_window *window, double xi);

/* 1 / transform at (first + i) / cells for i < count, all inside the band; count at most cells / 64 + 1. */
void lmr_window_invert(const lmr_window *window, int64_t first, int64_t count, int64_t cells, double *inverse);

/* What a window of this shape costs in accuracy in one dimension of `modes` modes on `cells` cells: means over the
 * modes of the square and the fourth power of the relative error by aliasing (what the transform lets through at xi +
 * m, m != 0, against the transform at xi), and of the square of the amplification of white noise on the fine grid;
 * edge2, edge_gain2: the first and the last of them at the outermost mode alone. */
typedef struct lmr_window_error {
    double alias2, alias4, gain2, edge2, edge_gain2;
    double lattice2, own; /* as alias2 for points at whole numbers of cycles, or all half a cycle from these, where
                             aliases may add up; and the mean of what they add to the mode itself, with its sign */
} lmr_window_error;
lmr_window_error lmr_window_predict(const lmr_window *window, int64_t modes, int64_t cells);

/* The window of this width whose bandlimit makes the aliasing error least: within 3 percent of the minimum next to
 * the band. At a width of 16 a further minimum is up to 19 percent lower. */
void lmr_window_tune(int width, int64_t modes, int64_t cells, lmr_window *window);

/* Piecewise polynomials: piece l covers u in [l - width/2, l + 1 - width/2), t in [-1, 1] across it.
 *
 * error         largest absolute error allowed.
 * coefficients  [width][degree + 1], that of t^0 first; room for width * (LMR_WINDOW_DEGREE + 1).
 * returns       the degree. */
int lmr_window_fit(const lmr_window *window, double error, double *coefficients);

/* The transform's logarithm on |xi| <= xi_max < 1 / 2, inside the band, as a Chebyshev series in 2 (xi / xi_max)^2
 * - 1: the transform has no zero there, and its logarithm is of order 1 throughout.
 *
 * error         largest absolute error allowed, of the logarithm; 2^-53 is the least that is kept.
 * coefficients  room for LMR_WINDOW_LOG_TERMS.
 * returns       how many there are. */
int lmr_window_fit_log_transform(const lmr_window *window, double xi_max, double error, double *coefficients);
