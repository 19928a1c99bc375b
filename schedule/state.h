/* The members of a larmor_recon, whose calls are in schedule/recon.c. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "scan/series.h"
#include "schedule/plan.h"

typedef struct lmr_devices lmr_devices;           /* of schedule/devices.h */
typedef struct lmr_slab_threads lmr_slab_threads; /* of schedule/slab_threads.h */

/* Steps of the preparation that may find that a volume is to be in slabs. */
typedef enum lmr_slab_step {
    LMR_SLABS_NONE,
    LMR_SLABS_OF_ONE_COIL,
    LMR_SLABS_EXPECTED,
    LMR_SLABS_PLANNED
} lmr_slab_step;

/* What a group of devices has found before each became a rank, in the host's memory. */
typedef struct lmr_known {
    larmor_delays *delays; /* [encodings], or NULL */
    larmor_compression_report compressed;
    larmor_shape shape;
    float *compression; /* c64, or NULL */
} lmr_known;

struct larmor_recon {
    lmr_settings settings;
    lmr_scan_facts facts;
    lmr_caches caches;
    lmr_job job; /* of these */
    lmr_events events;
    lmr_series list;
    lmr_plan plan;
    int searched;               /* 1: the data were searched for objects beyond the field of view */
    int maps_enlarge, enlarged; /* 1: the grid is larger as the given maps are; as the data ask */
    larmor_device *home;        /* where the images of a group's devices go: the processor's memory; else NULL */
    lmr_devices *devices;       /* worker pool; NULL: series run in the caller's thread */
    int at_once,
        threads_each; /* of one device: series at the same time, once one was run; threads of each, 0: on a GPU */
    const struct lmr_known *known; /* what the group has found before the restart, or NULL */
    lmr_slab_step slabs_from;      /* of a group: preparation step that decided on slabs; used after the restart */
    larmor_device *group;          /* whose devices have a slab of the volume each, by: */
    lmr_slab_threads *threads;     /* or NULL; ended by `close_threads`, once nothing of rank 0 needs its ranks */
    void (*close_threads)(lmr_slab_threads *threads);
    int maps_before;          /* the group whose maps a checkpoint went on with, -1: none; of a volume in slabs */
    int memory_found;         /* 1: opts.memory was not asked for, it is what was free */
    int made_repeatable;      /* 1: the device is so until all ends */
    int run;                  /* 1: a series was run: */
    larmor_recon_report last; /* how it went */
    int last_group;           /* the first of its groups */

    struct {
        double images, maps; /* iterations of the images that one was asked of, and of the maps that were made */
    } quick;                 /* maps of noise (noise/noise.c) */
};

/* What the reconstruction is computed on. */
static inline const char *lmr_spec(const larmor_recon *r)
{
    return larmor_device_spec(r->group ? r->group : r->facts.dev);
}

/* Where images go. */
static inline larmor_device *lmr_home(const larmor_recon *r)
{
    return r->home ? r->home : r->facts.dev;
}
