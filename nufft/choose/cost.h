/* What an execute costs: a few rates of the device times what there is to do. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/backend.h"
#include "nufft/kernels.h"

enum { LMR_NUFFT_NARROWEST = 2, LMR_NUFFT_WIDTHS = 15 };

/* Nanoseconds of one thread, or of the whole of a GPU; arrays are of the widths from 2 on. */
typedef struct lmr_nufft_rate {
    double point;                    /* for each point and pass */
    double value[LMR_NUFFT_WIDTHS];  /* for each point and transform */
    double pad[LMR_NUFFT_WIDTHS];    /* for each cell of tiles that hold points, of a processor with their margins,
                                        and transform */
    double sparse[LMR_NUFFT_WIDTHS]; /* instead of all this for each point and transform where points are few and a
                                        device has a way without tiles; 0: it has none */
} lmr_nufft_rate;

/* How a processor cuts the grid and the points: what its threads share are tiles, or chunks of their points. */
typedef struct lmr_nufft_tiling {
    double side[3];     /* of a tile, in 1, 2 and 3 dimensions; 0: nothing is cut */
    double chunk;       /* points, at least */
    double most_chunks; /* of all points, where they are many */
    double few;         /* tiles in 3 dimensions, up to which all are cut into chunks */
} lmr_nufft_tiling;

typedef struct lmr_nufft_rates {
    lmr_nufft_rate points[2][3]; /* of spreading and of interpolation, in 1, 2 and 3 dimensions */
    double start[3];             /* for each execute */
    double cell[3];              /* for each cell of the fine grid and transform */
    double fft[3][4];            /* the same for each factor 2, 3, 5 and 7 of the grid's sides */
    int prunes;                  /* whether the FFT leaves out lines that hold no wanted modes: cell and fft are then
                                    for each cell of the lines that are left */
    lmr_nufft_tiling tiling;
    int threads;
} lmr_nufft_rates;

/* Printed by tests/bench/rates.py. */
extern const lmr_nufft_rates lmr_nufft_processor_rates[LMR_PRECISIONS], lmr_nufft_gpu_rates[LMR_PRECISIONS];

/* Measured over built-in, of one precision: what a calibration finds. */
typedef struct lmr_nufft_scales {
    double points[2][3], grid[3];
} lmr_nufft_scales;

/* Those that are built in, and the same times a calibration; threads below 1 count as 1. */
lmr_nufft_rates lmr_nufft_builtin_rates(lmr_nufft_model model, int precision, int threads);
void lmr_nufft_scale_rates(lmr_nufft_rates *rates, const lmr_nufft_scales *scales);

typedef struct lmr_nufft_work {
    int ndim, width;
    double cells[3]; /* of the fine grid */
    double modes[3]; /* that are wanted of them; 0: all */
    double points, batch;
    double per_pass; /* transforms that share a pass */
    int types;       /* 1: type 1, 2: type 2, 0 or 3: both, of which the mean counts */
} lmr_nufft_work;

/* Seconds of one execute. */
double lmr_nufft_cost(const lmr_nufft_rates *rates, const lmr_nufft_work *work);

/* The part of type `type` that is for the points, and that for the grid, in seconds. */
double lmr_nufft_cost_points(const lmr_nufft_rates *rates, const lmr_nufft_work *work, int type);
double lmr_nufft_cost_grid(const lmr_nufft_rates *rates, const lmr_nufft_work *work);
