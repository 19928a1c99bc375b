/* How long the processor takes for a scan, before anything is opened. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/pipeline.h"

typedef enum lmr_work_kind { LMR_WORK_GRID, LMR_WORK_CG, LMR_WORK_PENALTY } lmr_work_kind;

typedef struct lmr_workload {
    lmr_work_kind kind;
    int ndim, chooses, on_grid; /* chooses: 1: lambda from the data; on_grid: 1: FFTs without padding */
    int compresses;             /* 1: coils, if there are many */
    double images, coils;
    double cells;   /* of the grid of an image */
    double samples; /* of one image and coil */
} lmr_workload;

/* Seconds on so many threads, about; INFINITY for sizes that no processor is meant for. */
double lmr_predict_seconds(const lmr_workload *work, int threads);

/* That of a scan. Errors: those of the source; LARMOR_ERR_UNSUPPORTED, without a message, where it is not known. */
larmor_status lmr_predict_workload(larmor_source *source, const larmor_recon_opts *opts, lmr_workload *work);
