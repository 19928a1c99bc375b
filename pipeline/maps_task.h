/* What the methods for coil maps get and give. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "larmor/maps.h"
#include "scan/job.h"

/* What a method finds maps from. */
typedef struct lmr_maps_task {
    lmr_job *job;
    const larmor_samples *samples; /* readouts for calibration or, where there are none, the image's; whitened */
    larmor_shape image;
    int apart;                 /* 1: along z images have slices that are no neighbours: each has maps of its own */
    double encoded[3];         /* the field of view that was encoded, as part of the image's */
    int64_t shared;            /* slices whose signal is in the samples; 0: the one */
    int64_t first, planes;     /* maps of these planes along z alone, the same numbers; 0, 0: of all */
    struct lmr_cached *cached; /* of the image's readouts, where these are the samples; or NULL */
} lmr_maps_task;

/* A way to find maps from data. */
typedef struct lmr_maps_method {
    const char *name, *help;
    const char *said; /* in the log */
    int sets;         /* the most that it makes */
    /* maps [image..., coils(, job->sets)]; the report is zero before. Eigenvalues go to the job, if it keeps them. */
    larmor_status (*make)(const lmr_maps_task *task, larmor_array **maps, larmor_coils_report *report);
    /* the most bytes that it takes on the device, beyond its inputs and the maps; of so many planes, 0: of all */
    larmor_status (*bytes)(const lmr_job *job, const larmor_problem *p, int64_t planes, int64_t *bytes);
} lmr_maps_method;
