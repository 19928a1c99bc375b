/* What an execute costs: a few rates of the device times what there is to do. SPDX-License-Identifier: Apache-2.0 */
#ifndef LMR_NUFFT_COST_H
#define LMR_NUFFT_COST_H

#include <stdint.h>

#include "core/device.h"

/* Nanoseconds of one thread, or of the whole of a GPU. */
typedef struct lmr_nufft_rate {
    double point; /* for each point: its window values */
    double value; /* for each point and transform */
    double tap;   /* for each point, transform and vector of window values times cells */
    double pad;   /* for each cell of a tile with its margin, and transform */
} lmr_nufft_rate;

typedef struct lmr_nufft_rates {
    lmr_nufft_rate points[2][3]; /* of spreading and of interpolation, in 1, 2 and 3 dimensions */
    double fft[3];               /* for each cell of the fine grid and transform, times log2 of the cells */
    double cell[3];              /* for each such cell: zeroed, cropped, padded */
    int lanes;                   /* reals in a vector; 2: taps are counted one by one */
    int tiles;                   /* 1: cells are worked on in tiles */
    int threads;
} lmr_nufft_rates;

/* Measured over built-in, of one precision: what a calibration finds. */
typedef struct lmr_nufft_scales {
    double points[2][3], grid[3];
} lmr_nufft_scales;

/* Those that are built in for processors (gpu 0) and for GPUs. */
lmr_nufft_rates lmr_nufft_builtin_rates(int gpu, int precision, int threads);

/* Those of a device: built in, times the calibration in its wisdom if there is one. */
lmr_nufft_rates lmr_nufft_rates_of(const larmor_device *dev, int precision, int threads);

typedef struct lmr_nufft_work {
    int ndim, width;
    double cells[3]; /* of the fine grid */
    double points, batch;
    double together; /* transforms that share a pass */
    int types;       /* 1: type 1, 2: type 2, 0 or 3: both in turn, of which the mean counts */
} lmr_nufft_work;

/* Seconds of one execute. */
double lmr_nufft_cost(const lmr_nufft_rates *rates, const lmr_nufft_work *work);

/* The part of type `type` that is for the points, and that for the grid, in seconds. */
double lmr_nufft_cost_points(const lmr_nufft_rates *rates, const lmr_nufft_work *work, int type);
double lmr_nufft_cost_grid(const lmr_nufft_rates *rates, const lmr_nufft_work *work);

#endif
